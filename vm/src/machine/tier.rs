//! Compiled tiers: machine code that runs routines of a bound program in place of its cells.
//!
//! ```text
//! BoundExpr ── parts(routine) ──> what a compiler needs: fuel, roles, the cell of each instruction
//!     ^                                 │
//!     └── attach(tier) <── entries <────┘        from then on `execute` and `execute_with` run them
//! ```
//!
//! Higher rooms make tiers; the machine knows this trait only, and loaders, pools and observers do not know it at all. A
//! run with an observer steps through cells, as ever.
//!
//! A compiled routine stops at the same instruction, with the same error and the same fuel used, as its cells do. What it
//! cannot do itself it has done by the cell of the instruction ([`native`](crate::machine::native)).

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
use std::fmt;

/// A run of compiled code, which only the machine looks into.
#[derive(Debug)]
pub enum NativeRun {}

/// Compiled code of a routine, called with the run and the frame of the routine; what it returns is for the machine.
pub type Entry = unsafe extern "C" fn(run: *mut NativeRun, frame: *mut u8) -> u32;

/// Machine code of the routines of one program.
///
/// # Safety
/// Entries are code for the program that the tier is attached to, made of [parts](RoutineParts) of that bound program; they
/// stay where they are as long as the tier does.
pub unsafe trait CompiledTier: Send + Sync + fmt::Debug {
    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// The code of routines, by number; `None` of those that cells run.
    fn entries(&self) -> &[Option<Entry>];
}

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

impl BoundExpr {
    /// What a compiler needs to know of a routine.
    pub(crate) fn parts(&self, routine: usize) -> RoutineParts {
        let (routine, code) = (&self.program().routines()[routine], &self.codes()[routine]);
        Builder::new(routine, code).finish()
    }
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
            reads.extend(operands.filter(|(_, source)| source.is_none()).map(|(value, _)| *value));
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
