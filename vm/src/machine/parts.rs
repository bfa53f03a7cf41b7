//! Parts of a bound routine, as a compiler needs them: what becomes of each instruction, and the cell that does it where
//! compiled code cannot.
//!
//! ```text
//! v2 = o0(v0)             Nothing       a region does it
//! v3 = o1(v2)             Region        its cell, what it reads and writes
//! jump_if<+2>(v3)         Jump
//! v4 = o2(v3)             Alone         its cell, with all operands in the frame
//! ```

use crate::machine::bound::BoundExpr;
use crate::machine::cells;
use crate::machine::code::is_in_place;
use crate::machine::routine_code::Code;
use crate::machine::stretches::stretches;
use crate::machine::tile::plan::{Plan, Role};
use crate::machine::tile::planner::plan;
use crate::operator::Overload;
use crate::operator::cell::Cell;
use crate::operator::threaded::{OPERANDS_OF_A_CELL, Threaded};
use crate::program::cfg::reachable;
use crate::program::{Instruction, Routine, ValueId};

/// What a compiler needs to know of a routine, besides the routine.
#[derive(Debug)]
pub(crate) struct RoutineParts {
    /// Fuel from each instruction on.
    pub(crate) fuel: Vec<u32>,
    /// What becomes of each instruction.
    pub(crate) steps: Vec<Step>,
    /// By instruction, and behind the last one: the instruction that a run goes on with there, as errors say it.
    pub(crate) resumed: Vec<u32>,
    /// Cells that steps ask for. Whoever compiles keeps them where they are.
    pub(crate) cells: Box<[Cell]>,
}

/// What becomes of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing leads there, or a region does it later.
    Nothing,
    /// A jump.
    Jump,
    /// An operator that would copy bytes onto themselves.
    InPlace,
    /// An operator or a trap, with the position of its cell.
    Alone(usize),
    /// A call, with the position of its cell.
    Call(usize),
    /// A region: its cell, and what it reads and writes.
    Region {
        /// Position of the cell.
        cell: usize,
        /// Values that stand in the frame before.
        reads: Vec<ValueId>,
        /// Values that stand there afterwards.
        writes: Vec<ValueId>,
    },
}

/// What a compiler needs to know of a routine of a program, by number.
pub(crate) fn parts(bound: &BoundExpr, routine: usize) -> RoutineParts {
    let (routine, code) = (&bound.program().routines()[routine], &bound.codes()[routine]);
    Builder::new(routine, code).finish()
}

struct Builder<'b> {
    routine: &'b Routine,
    code: &'b Code,
    plan: Plan,
    is_reachable: Vec<bool>,
    cells: Vec<Cell>,
}

impl<'b> Builder<'b> {
    fn new(routine: &'b Routine, code: &'b Code) -> Builder<'b> {
        let body = &routine.body;
        let is_reachable = reachable(body);
        let mut is_target = vec![false; body.instructions().len() + 1];
        for ip in (0..body.instructions().len()).filter(|ip| is_reachable[*ip]) {
            body.target(ip).into_iter().for_each(|target| is_target[target] = true);
        }
        let plan = plan(routine, &is_target, &is_reachable);
        Builder { routine, code, plan, is_reachable, cells: Vec::new() }
    }

    fn finish(mut self) -> RoutineParts {
        let len = self.routine.body.instructions().len();
        let steps = (0..len).map(|ip| self.step(ip)).collect();
        let resumed = (0..=len).map(|ip| self.first_cell_from(ip).ip).collect();
        RoutineParts { fuel: stretches(&self.routine.body), steps, resumed, cells: self.cells.into() }
    }

    fn step(&mut self, ip: usize) -> Step {
        if !self.is_reachable[ip] {
            return Step::Nothing;
        }
        match self.plan.role(ip) {
            Role::Alone => {}
            Role::Member => return Step::Nothing,
            Role::Runs(region) => return self.region(ip, region as usize),
        }
        let body = &self.routine.body;
        match body.instructions()[ip] {
            Instruction::Operator { operator, operands, result } => {
                let overload: &Overload = &body.operators()[operator as usize];
                let operands = body.list(operands);
                match overload.kernel().threaded() {
                    _ if is_in_place(self.routine, overload, operands, result) => Step::InPlace,
                    Some(code) => Step::Alone(self.threaded(ip, code, operands, result)),
                    None => Step::Alone(self.copied(ip)),
                }
            }
            Instruction::Trap { .. } => Step::Alone(self.copied(ip)),
            Instruction::Call { .. } => Step::Call(self.copied(ip)),
            _ => Step::Jump,
        }
    }

    fn region(&mut self, ip: usize, region: usize) -> Step {
        let cell = self.copied(ip);
        let body = &self.routine.body;
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for member in &self.plan.regions[region].members {
            let instruction = &body.instructions()[member.ip as usize];
            let operands = body.reads(instruction).iter().zip(&member.sources);
            let operands = operands.enumerate().filter(|(_, (_, source))| source.is_none());
            for (number, (value, _)) in operands {
                let views = self.plan.views.of(member.ip, number);
                let of_views = views.iter().flat_map(|view| body.reads(&body.instructions()[*view as usize]));
                reads.extend(of_views.chain((views.is_empty()).then_some(value)));
            }
            if !member.is_overwritten {
                writes.extend(body.writes(instruction));
            }
        }
        Step::Region { cell, reads, writes }
    }

    /// Code of an operator with all operands in the frame, which stores the result.
    fn threaded(&mut self, ip: usize, code: &Threaded, operands: &[ValueId], result: ValueId) -> usize {
        let slot = |value: ValueId| self.routine.slot(value).offset();
        let run = code.modes[0].expect("mode 0 is always there");
        let first = self.cells.len();
        let (out, ip) = (slot(result), ip as u32);
        for (number, some) in operands.chunks(OPERANDS_OF_A_CELL).enumerate() {
            let mut args = [0; OPERANDS_OF_A_CELL];
            args.iter_mut().zip(some).for_each(|(arg, value)| *arg = slot(*value));
            let run = if number == 0 { run } else { cells::done };
            self.cells.push(Cell { run, out, args, ip });
        }
        if operands.is_empty() {
            self.cells.push(Cell { run, out, args: [0; OPERANDS_OF_A_CELL], ip });
        }
        self.end(ip as usize);
        first
    }

    /// The own cell of an instruction that has one: the last of those that stem from it.
    fn copied(&mut self, ip: usize) -> usize {
        let behind = self.code.cells.partition_point(|cell| cell.ip <= ip as u32);
        self.cells.push(self.code.cells[behind - 1]);
        self.end(ip);
        self.cells.len() - 2
    }

    /// Puts the way back behind the cells of an instruction.
    fn end(&mut self, ip: usize) {
        let ip = self.first_cell_from(ip + 1).ip;
        self.cells.push(Cell { run: cells::back, out: 0, args: [0; OPERANDS_OF_A_CELL], ip });
    }

    /// The first cell that stems from this instruction or one behind it.
    fn first_cell_from(&self, ip: usize) -> &Cell {
        &self.code.cells[self.code.cells.partition_point(|cell| (cell.ip as usize) < ip)]
    }
}
