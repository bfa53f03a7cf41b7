//! Code: a routine as cells.
//!
//! The builder walks the instructions once and keeps track of which value is in which accumulator.
//!
//! ```text
//! v3 = math.multiply(v2, v0)      multiply, result not stored      (v3 has one reader)
//! v4 = math.add(v3, v1)           add, first operand in accumulator
//! v5 = core.less(v4, v1)     ┐
//! jump_if_not<+2>(v5)        ┘    compare_and_jump
//! ```
//!
//! 1. An operand that is in its accumulator is not loaded.
//! 2. A result whose every reader finds it in the accumulator is not stored.
//! 3. A comparison read only by the jump behind it becomes part of the jump.
//! 4. Two cells of which the second reads what the first computes become [one step](crate::operator::fused), if there is
//!    code for the pair.
//! 5. Copies onto themselves and tuples assembled in place need no cell.
//! 6. At a jump target the accumulators count as unknown.
//! 7. On every way forward there are at most [`YIELD_INTERVAL`] cells between two pauses. Ways backward return to
//!    the interpreter loop by their [fuel](crate::operator::cell).
//!
//! A guard is no cell: the interpreter loop asks the guards of an instruction that has raised.
//!
//! Stepped code does none of this and has a pause before every instruction.

use crate::builtins::core;
use crate::layout::access::Accumulator;
use crate::layout::slot::TypedSlot;
use crate::machine::call_cells;
use crate::machine::cells::{self, IN_ACCUMULATOR, IN_FRAME};
use crate::machine::pairs::Pairs;
use crate::machine::parallel::ParallelCall;
use crate::machine::routine_code::{Code, CodeGuard};
use crate::machine::stretches::stretches;
use crate::machine::tile::build::build;
use crate::machine::tile::plan::{Plan, Role};
use crate::machine::tile::planner::plan;
use crate::machine::tile::run::run_region;
use crate::machine::transfer::RoutineCall;
use crate::operator::Overload;
use crate::operator::cell::{Cell, Run, YIELD_INTERVAL};
use crate::operator::general::{GeneralCall, GeneralKernel};
use crate::operator::general_cell::run_general;
use crate::operator::threaded::{
    FIRST_IN_ACCUMULATOR, OPERANDS_OF_A_CELL, RESULT_NOT_STORED, SECOND_IN_ACCUMULATOR, Threaded,
};
use crate::program::cfg::reachable;
use crate::program::instruction::Trap;
use crate::program::program::Owners;
use crate::program::{Instruction, Program, Routine, ValueId};
use crate::value::{Category, Fault, qtype};

/// The mode bits of the operands that can be in accumulators.
const CARRIED_BITS: [usize; 2] = [FIRST_IN_ACCUMULATOR, SECOND_IN_ACCUMULATOR];

/// How cells follow instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As few cells as possible.
    Fused,
    /// One instruction after the other, with a pause before each.
    Stepped,
}

impl Code {
    /// Makes the code of a verified routine.
    pub(super) fn new(program: &Program, routine: &Routine, style: Style) -> Code {
        let mut builder = Builder::new(program, routine, style);
        (0..routine.body.instructions().len()).for_each(|ip| builder.instruction(ip));
        builder.finish()
    }
}

/// The value in an accumulator, and the cell that computed it.
#[derive(Clone, Copy)]
struct Held {
    value: ValueId,
    cell: usize,
    mode: usize,
}

/// A jump cell whose distance waits for the target's cell.
struct OpenJump {
    cell: usize,
    ip: usize,
    /// Which of the cell's `args` takes the distance.
    distance_arg: usize,
}

struct Builder<'p> {
    program: &'p Program,
    routine: &'p Routine,
    owners: Owners,
    style: Style,
    /// Which instructions run as tile regions.
    plan: Plan,
    code: Code,
    /// Fuel from an instruction to the next jump, trap or call.
    fuel: Vec<u32>,
    /// True where a jump leads.
    is_target: Vec<bool>,
    /// True of what some path from the first instruction leads to; the rest has no cells.
    is_reachable: Vec<bool>,
    /// First cell of each instruction.
    cell_of: Vec<u32>,
    open_jumps: Vec<OpenJump>,
    /// Cells since the last pause on the longest way to a jump target.
    run_length_at: Vec<u32>,
    /// Reads of each value that need it in the frame.
    reads: Vec<u32>,
    float: Option<Held>,
    bits: Option<Held>,
    pairs: Pairs,
    since_pause: u32,
}

impl<'p> Builder<'p> {
    fn new(program: &'p Program, routine: &'p Routine, style: Style) -> Builder<'p> {
        let body = &routine.body;
        let len = body.instructions().len();
        let (owners, is_reachable) = (routine.owners(), reachable(body));
        let fuel = stretches(body);
        let mut is_target = vec![false; len + 1];
        let mut reads = vec![0; routine.values.len()];
        for (ip, instruction) in body.instructions().iter().enumerate().rev() {
            if !is_reachable[ip] {
                continue;
            }
            if let Some(target) = body.target(ip) {
                is_target[target] = true;
            }
            for value in body.reads(instruction) {
                reads[owners.same_bytes(*value).index()] += 1;
            }
        }
        // A view keeps its owner's bytes in the frame, and so does whoever reads the results.
        for (index, info) in routine.values.iter().enumerate() {
            if info.view_of.is_some() && owners.same_bytes(ValueId(index as u32)).index() == index {
                reads[owners.owner(ValueId(index as u32)).index()] += 1;
            }
        }
        for value in routine.results() {
            reads[owners.same_bytes(value).index()] += 1;
        }
        let plan = match style {
            Style::Fused => plan(routine, &is_target, &is_reachable),
            Style::Stepped => Plan::default(),
        };
        let code = Code {
            cells: Vec::with_capacity(len + len / YIELD_INTERVAL + 1),
            general: Vec::new(),
            regions: Vec::new(),
            whole: plan.read_whole(routine, &is_reachable),
            calls: Vec::new(),
            guards: Vec::new(),
            entry_fuel: fuel[0],
            is_scalar: true,
            is_lone_region: false,
            frame_bytes: routine.layout.size(),
            uses_arena: false,
        };
        Builder {
            program,
            routine,
            owners,
            style,
            plan,
            code,
            fuel,
            is_target,
            is_reachable,
            cell_of: Vec::with_capacity(len + 1),
            open_jumps: Vec::new(),
            run_length_at: vec![0; len + 1],
            reads,
            float: None,
            bits: None,
            pairs: Pairs::default(),
            since_pause: 0,
        }
    }

    fn instruction(&mut self, ip: usize) {
        if self.is_target[ip] {
            (self.float, self.bits) = (None, None);
            self.since_pause = self.since_pause.max(self.run_length_at[ip]);
        }
        self.cell_of.push(self.code.cells.len() as u32);
        if !self.is_reachable[ip] {
            return;
        }
        if self.style == Style::Stepped || self.since_pause >= YIELD_INTERVAL as u32 {
            self.push(ip, cells::pause, 0, [0; 4]);
            self.since_pause = 0;
        }
        match self.plan.role(ip) {
            Role::Alone => {}
            Role::Member => return,
            Role::Runs(region) => return self.region(ip, region),
        }
        let body = &self.routine.body;
        match body.instructions()[ip] {
            Instruction::Operator { operator, operands, result } => {
                let overload: &'p Overload = &body.operators()[operator as usize];
                self.operator(ip, overload, body.list(operands), result);
            }
            Instruction::Jump { .. } => self.jump(ip, cells::jump, 0),
            Instruction::JumpIf { condition, .. } => self.jump_on::<true>(ip, condition),
            Instruction::JumpIfNot { condition, .. } => self.jump_on::<false>(ip, condition),
            Instruction::Trap { trap } => self.trap(ip, trap),
            Instruction::Call { .. } => self.call(ip),
            // Whoever finds a fault asks the guards; before that there is nothing to do.
            Instruction::Guard { .. } => {}
            Instruction::Again { .. } => {
                let message = "RuntimeError: No active exception to reraise".into();
                self.raise(ip, Trap { category: Category::Raised, message });
            }
        }
    }

    fn finish(mut self) -> Code {
        let ip = self.cell_of.len();
        self.cell_of.push(self.code.cells.len() as u32);
        let done = if self.style == Style::Fused { call_cells::leave } else { cells::done };
        self.push(ip, done, 0, [0; 4]);
        for jump in &self.open_jumps {
            let target = self.routine.body.target(jump.ip).expect("the verifier checked every jump");
            let distance = i64::from(self.cell_of[target]) - jump.cell as i64;
            self.code.cells[jump.cell].args[jump.distance_arg] = distance as i32 as u32;
        }
        self.guards();
        let code = &mut self.code;
        self.pairs.fuse(&mut code.cells);
        // What fails behind a region has it run again, on the same inputs.
        let may_begin_anew =
            self.open_jumps.is_empty() && code.guards.is_empty() && !self.routine.overrides_inputs;
        let is_simple = may_begin_anew && code.is_scalar && code.general.is_empty() && code.calls.is_empty();
        code.is_lone_region &= is_simple && code.regions.len() == 1 && code.regions[0].may_run_alone();
        code.uses_arena = !code.general.is_empty() || !code.regions.is_empty();
        code.is_scalar &= code.general.is_empty() && code.regions.is_empty() && code.calls.is_empty();
        code.is_scalar &= code.guards.is_empty();
        self.code
    }

    /// Lists the guards, now that all cells are there.
    fn guards(&mut self) {
        let body = &self.routine.body;
        for ip in (0..body.instructions().len()).filter(|ip| self.is_reachable[*ip]) {
            for guard in body.guards(ip) {
                let Instruction::Guard { catch, .. } = body.instructions()[guard] else { continue };
                let Some(target) = body.target(guard) else { continue };
                let (cell, fuel) = (self.cell_of[target], self.fuel[target]);
                self.code.guards.push(CodeGuard { ip: ip as u32, catch, cell, fuel });
            }
        }
    }

    fn operator(&mut self, ip: usize, overload: &'p Overload, operands: &[ValueId], result: ValueId) {
        let fused = self.style == Style::Fused;
        if fused && is_in_place(self.routine, overload, operands, result) {
            // What an accumulator holds of the result is from an earlier definition.
            self.forget(result);
            return;
        }
        self.code.is_scalar &= !overload.updates();
        match overload.kernel().threaded() {
            Some(code) => self.threaded(ip, code, operands, result),
            None => {
                let args = operands.iter().map(|v| self.routine.slot(*v).clone()).collect();
                let out = self.routine.slot(result).clone();
                let call = overload.bind_general(args, out).expect("the kernel is no scalar kernel");
                self.general(ip, call);
                self.forget(result);
            }
        }
    }

    fn region(&mut self, ip: usize, number: u32) {
        let group = &self.plan.regions[number as usize];
        self.code.regions.push(build(self.routine, &self.owners, &self.plan.views, group, &self.reads));
        let members: Vec<u32> = group.members.iter().map(|member| member.ip).collect();
        self.code.is_lone_region |= self.code.cells.is_empty();
        self.push(ip, run_region, 0, [self.code.regions.len() as u32 - 1, 0, 0, 0]);
        // What an accumulator holds of their results is from earlier definitions.
        for member in members {
            let written = self.routine.body.writes(&self.routine.body.instructions()[member as usize]);
            written.iter().for_each(|value| self.forget(*value));
        }
    }

    fn threaded(&mut self, ip: usize, code: &'p Threaded, operands: &[ValueId], result: ValueId) {
        let mode = if self.style == Style::Fused { self.operand_mode(code, operands) } else { 0 };
        for (carried, bit) in code.carried.iter().zip(CARRIED_BITS) {
            if mode & bit != 0 {
                self.consume(carried.accumulator, operands[carried.operand]);
            }
        }
        let run = code.modes[mode].expect("the mode was chosen among those there are");
        let out = self.routine.slot(result).offset();
        let (first, rest) = operands.split_at(operands.len().min(OPERANDS_OF_A_CELL));
        let cell = self.push(ip, run, out, self.offsets(first));
        self.pairs.note(cell, code, mode);
        for more in rest.chunks(OPERANDS_OF_A_CELL) {
            self.push(ip, cells::done, 0, self.offsets(more));
        }
        self.forget(result);
        let held = Some(Held { value: self.owners.same_bytes(result), cell, mode });
        match code.result {
            Some(Accumulator::Float) => self.float = held,
            Some(Accumulator::Bits) => self.bits = held,
            None => {}
        }
    }

    fn offsets(&self, operands: &[ValueId]) -> [u32; OPERANDS_OF_A_CELL] {
        let mut args = [0; OPERANDS_OF_A_CELL];
        for (arg, value) in args.iter_mut().zip(operands) {
            *arg = self.routine.slot(*value).offset();
        }
        args
    }

    /// Which operands are in accumulators, as far as there is code for that.
    fn operand_mode(&self, code: &Threaded, operands: &[ValueId]) -> usize {
        let mut mode = 0;
        for (carried, bit) in code.carried.iter().zip(CARRIED_BITS) {
            let Some(operand) = operands.get(carried.operand) else { break };
            let value = self.owners.same_bytes(*operand);
            let held = carried.accumulator.and_then(|a| self.held(a));
            if held.is_some_and(|h| h.value == value) && code.modes[mode | bit].is_some() {
                mode |= bit;
            }
        }
        mode
    }

    fn held(&self, accumulator: Accumulator) -> Option<Held> {
        match accumulator {
            Accumulator::Float => self.float,
            Accumulator::Bits => self.bits,
        }
    }

    /// Notes that a reader took a value from its accumulator; after the last one the store goes.
    fn consume(&mut self, accumulator: Option<Accumulator>, operand: ValueId) {
        let value = self.owners.same_bytes(operand);
        self.reads[value.index()] -= 1;
        let Some(held) = accumulator.and_then(|a| self.held(a)) else { return };
        if self.reads[value.index()] == 0 {
            let unstored = self.code_of(held.cell).and_then(|code| code.modes[held.mode | RESULT_NOT_STORED]);
            if let Some(run) = unstored {
                self.code.cells[held.cell].run = run;
                self.pairs.note_unstored(held.cell);
            }
        }
    }

    /// The threaded code behind a cell.
    fn code_of(&self, cell: usize) -> Option<&'p Threaded> {
        let ip = self.code.cells[cell].ip as usize;
        let Instruction::Operator { operator, .. } = self.routine.body.instructions()[ip] else {
            return None;
        };
        self.routine.body.operators()[operator as usize].kernel().threaded()
    }

    /// A value about to be rewritten is in no accumulator any more.
    fn forget(&mut self, value: ValueId) {
        let value = self.owners.same_bytes(value);
        self.float = self.float.filter(|h| h.value != value);
        self.bits = self.bits.filter(|h| h.value != value);
    }

    /// Merges the comparison in the last cell into the jump that alone reads it.
    fn fuse_comparison<const SENSE: bool>(&mut self, ip: usize, condition: ValueId) -> bool {
        let condition = self.owners.same_bytes(condition);
        let Some(held) = self.bits.filter(|h| h.value == condition) else { return false };
        let last = self.code.cells.len() - 1;
        let (taken, fall) = (self.fuel_at_target(ip), self.fuel[ip + 1]);
        let fits = taken < 1 << 16 && fall < 1 << 16;
        let only_reader = self.reads[condition.index()] == 1;
        if self.style != Style::Fused || held.cell != last || !fits || !only_reader {
            return false;
        }
        let operand_mode = held.mode & (FIRST_IN_ACCUMULATOR | SECOND_IN_ACCUMULATOR);
        let Some(code) = self.code_of(last) else { return false };
        let jumps = if SENSE { &code.jump_if } else { &code.jump_if_not };
        let Some(run) = jumps[operand_mode] else { return false };
        self.pairs.note_jump(last, code, operand_mode, SENSE);
        let [a, b, ..] = self.code.cells[last].args;
        self.code.cells[last] = Cell { run, out: 0, args: [a, b, 0, taken << 16 | fall], ip: ip as u32 };
        self.open_jump(OpenJump { cell: last, ip, distance_arg: 2 });
        self.bits = None;
        true
    }

    fn jump_on<const SENSE: bool>(&mut self, ip: usize, condition: ValueId) {
        if self.fuse_comparison::<SENSE>(ip, condition) {
            return;
        }
        let value = self.owners.same_bytes(condition);
        let held = self.style == Style::Fused && self.bits.is_some_and(|h| h.value == value);
        let run: Run = match held {
            false => cells::jump_on::<SENSE, IN_FRAME>,
            true => cells::jump_on::<SENSE, IN_ACCUMULATOR>,
        };
        if held {
            self.consume(Some(Accumulator::Bits), condition);
        }
        self.jump(ip, run, self.routine.slot(condition).offset());
    }

    fn jump(&mut self, ip: usize, run: Run, condition: u32) {
        let args = [condition, 0, self.fuel_at_target(ip), self.fuel[ip + 1]];
        let cell = self.push(ip, run, 0, args);
        self.open_jump(OpenJump { cell, ip, distance_arg: 1 });
    }

    fn open_jump(&mut self, jump: OpenJump) {
        if let Some(target) = self.routine.body.target(jump.ip) {
            let longest = &mut self.run_length_at[target];
            *longest = self.since_pause.max(*longest);
        }
        if !self.routine.body.instructions()[jump.ip].falls_through() {
            self.since_pause = 0;
        }
        self.open_jumps.push(jump);
    }

    fn trap(&mut self, ip: usize, trap: u32) {
        self.raise(ip, self.routine.body.traps()[trap as usize].clone());
    }

    fn raise(&mut self, ip: usize, trap: Trap) {
        let raise = GeneralKernel::new(move |_| {
            Err(Fault::Trap { category: trap.category, message: trap.message.clone() })
        });
        self.general(ip, GeneralCall::new(raise, [].into(), TypedSlot::new(0, qtype::UNIT)));
    }

    fn general(&mut self, ip: usize, call: GeneralCall) {
        self.code.general.push(call);
        self.push(ip, run_general, 0, [self.code.general.len() as u32 - 1, 0, 0, 0]);
    }

    fn call(&mut self, ip: usize) {
        let body = &self.routine.body;
        let Instruction::Call { routine, operands, results } = body.instructions()[ip] else { return };
        let (operands, results) = (body.list(operands), body.list(results));
        let mut call =
            RoutineCall::new(self.program, self.routine, routine, operands, results, self.fuel[ip + 1]);
        if let Some(parallel) = &self.program.routines()[routine as usize].parallel {
            let in_pieces =
                ParallelCall::new(self.program, self.routine, (routine, parallel), operands, results[0]);
            call = RoutineCall::in_pieces(in_pieces, routine, self.fuel[ip + 1]);
        }
        let is_plain_call = self.style == Style::Fused && call.parallel.is_none();
        let copied = call.copied().filter(|slot| !slot.qtype().is_plain());
        self.code.whole.extend(copied.cloned());
        call.cell = self.code.cells.len() as u32;
        self.code.calls.push(call);
        let run = if is_plain_call { call_cells::call } else { cells::call };
        self.push(ip, run, 0, [self.code.calls.len() as u32 - 1, 0, 0, 0]);
        (self.float, self.bits) = (None, None);
    }

    fn push(&mut self, ip: usize, run: Run, out: u32, args: [u32; 4]) -> usize {
        self.code.cells.push(Cell { run, out, args, ip: ip as u32 });
        self.since_pause += 1;
        self.code.cells.len() - 1
    }

    fn fuel_at_target(&self, ip: usize) -> u32 {
        self.routine.body.target(ip).map_or(0, |target| self.fuel[target])
    }
}

/// True if an operator of a routine would copy bytes onto themselves.
pub(super) fn is_in_place(
    routine: &Routine,
    overload: &Overload,
    operands: &[ValueId],
    result: ValueId,
) -> bool {
    let (out, slot) = (routine.slot(result), |value: ValueId| routine.slot(value));
    let copies = &**overload.name() == core::COPY && slot(operands[0]).offset() == out.offset();
    let stands_in =
        |(i, v): (usize, &ValueId)| out.field(i).is_some_and(|field| field.offset() == slot(*v).offset());
    copies || overload.assembles() && operands.iter().enumerate().all(stands_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{FrameLayout, Slot};
    use crate::program::Body;
    use crate::program::instruction::Span;
    use crate::program::program::ValueInfo;
    use crate::value::qtype::INT64;

    /// `v1 = copy(v0)`, and `v2 = v1 + v1`; `v0` lies at 0.
    fn copy_to(at: u32) -> Program {
        let mut layout = FrameLayout::builder();
        let _: [Slot<i64>; 2] = [layout.input(), layout.slot()];
        let slot = |at| ValueInfo { slot: TypedSlot::new(at, INT64), view_of: None };
        let table = crate::builtins::table();
        let mut body = Body::new();
        for (name, operands, result) in [("core._copy", &[0][..], 1), ("math.add", &[1, 1], 2)] {
            let overload = table.overload(name, &vec![INT64; operands.len()]).expect("a standard operator");
            let operator = body.add_operator(overload);
            let operands: Vec<ValueId> = operands.iter().copied().map(ValueId).collect();
            body.push_operator(operator, &operands, ValueId(result), Span::default());
        }
        Program::new(vec![Routine {
            overrides_inputs: true,
            ..Routine::new(
                layout.build().expect("small"),
                vec![slot(0), slot(at), slot(8)],
                vec![("x".into(), ValueId(0))],
                ValueId(2),
                body,
            )
        }])
    }

    #[test]
    fn copies_onto_themselves_have_no_cell_but_their_fuel() {
        let sizes = [(0, Style::Fused), (8, Style::Fused), (0, Style::Stepped)].map(|(at, style)| {
            let program = copy_to(at);
            let code = Code::new(&program, program.main(), style);
            (code.cells.len(), code.entry_fuel)
        });
        // The end has a cell; stepped, every instruction has a pause.
        assert_eq!(sizes, [(2, 2), (3, 2), (5, 2)]);
    }
}
