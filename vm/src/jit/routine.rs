//! Routines: from instructions to the code of one function.
//!
//! ```text
//! entry      load inputs, fuel           block of 0
//! 3: …       <── jump ── charge fuel ─── a block for each instruction that a jump leads to, or that follows one
//! end        store results, put down fuel, return
//! ```

use crate::jit::choosing;
use crate::jit::counted::{TwiceLoop, read_outside, twice_loops};
use crate::jit::elements;
use crate::jit::emitter::{Emitter, Instructed};
use crate::jit::error::NotCompiled;
use crate::jit::order::{Operation, order};
use crate::jit::preserving::Preserving;
use crate::jit::primitives;
use crate::jit::recipes::{self, Recording};
use crate::jit::sealing::Sealing;
use crate::jit::spilling::Spilling;
use crate::jit::variables::{is_all_leaves, leaves};
use crate::machine::parts::{RoutineParts, Step};
use crate::operator::cell::YIELD_INTERVAL;
use crate::operator::{Kernel, Overload};
use crate::program::affine::IntegerOperation;
use crate::program::written::Written;
use crate::program::{Instruction, Routine, ValueId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, FuncRef, Function, InstBuilder, SourceLoc, Value, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use hashbrown::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Operations of usual values in a routine, at most: they take a hundredth of a second to compile.
const MOST_IN_PLACE: usize = 4_096;

/// Makes the code of a routine; gives false if every instruction would be done by its cell.
///
/// # Errors
/// A value has no variables.
pub(super) fn translate(
    function: &mut Function,
    frontend: &mut FunctionBuilderContext,
    isa: &dyn TargetIsa,
    number: usize,
    routine: &Routine,
    parts: &RoutineParts,
    rare: Preserving<FuncRef>,
) -> Result<bool, NotCompiled> {
    check_views(number, routine)?;
    let has_jumps = parts.steps.contains(&Step::Jump);
    let mut emitter =
        Emitter::new(FunctionBuilder::new(function, frontend), isa, routine, parts, has_jumps, rare);
    let reads = reads(&emitter);
    let written = Written::of(routine, &emitter.owners);
    let twice = twice_loops(&emitter, &written);
    let of_both = read_outside(&emitter, &twice);
    emitter.redefined.extend(of_both);
    let mut translator = Translator {
        e: emitter,
        blocks: Vec::new(),
        sealing: Sealing::default(),
        gains: has_jumps,
        since_look: 0,
        reads,
        written,
        twice,
        choices: HashMap::new(),
        in_place: 0,
        unchecked: None,
    };
    translator.make_blocks();
    translator.instructions(0..parts.steps.len());
    translator.end();
    let gains = translator.gains;
    translator.e.finish(isa);
    Ok(gains)
}

/// By value that has leaves of its own: how often it is read, at the end too.
fn reads(e: &Emitter<'_, '_>) -> Vec<u32> {
    let body = &e.routine.body;
    let mut reads = vec![0; e.routine.values.len()];
    let read = body.instructions().iter().flat_map(|instruction| body.reads(instruction)).copied();
    read.chain(e.routine.results()).for_each(|value| reads[e.owner(value).index()] += 1);
    reads
}

/// Every leaf of a view is one of its owner.
fn check_views(number: usize, routine: &Routine) -> Result<(), NotCompiled> {
    let owners = routine.owners();
    for (value, info) in (0..).map(ValueId).zip(&routine.values) {
        let of_view = leaves(&info.slot);
        if info.view_of.is_none() || of_view.is_empty() {
            continue;
        }
        let of_owner = leaves(routine.slot(owners.owner(value)));
        let is_there = |leaf: &crate::jit::variables::Leaf| {
            of_owner.iter().any(|own| own.offset == leaf.offset && own.variable == leaf.variable)
        };
        if !of_view.iter().all(is_there) {
            return Err(NotCompiled::View { routine: number, value });
        }
    }
    Ok(())
}

struct Translator<'r, 'f> {
    e: Emitter<'r, 'f>,
    /// By instruction, and behind the last one: its block, if one begins there.
    blocks: Vec<Option<Block>>,
    sealing: Sealing,
    /// True if code does what a cell would.
    gains: bool,
    /// Instructions since the watch was looked at.
    since_look: usize,
    /// By value that has leaves of its own: how often it is read.
    reads: Vec<u32>,
    written: Written,
    /// By the jump that leads there: loops of which two [versions](crate::jit::versions) are made.
    twice: HashMap<usize, Rc<TwiceLoop>>,
    /// By begin of such a loop that goes on: where it is chosen between them.
    choices: HashMap<usize, Block>,
    /// Operations of usual values so far.
    in_place: usize,
    /// The loop whose turns are made without checks.
    unchecked: Option<Unchecked>,
}

struct Unchecked {
    twice: Rc<TwiceLoop>,
    /// The counter where the turn begins.
    counter: Value,
}

impl<'r> Translator<'r, '_> {
    fn make_blocks(&mut self) {
        let body = &self.e.routine.body;
        let len = body.instructions().len();
        let mut begins = vec![false; len + 1];
        begins[len] = true;
        for ip in (0..len).filter(|ip| self.e.parts.steps[*ip] == Step::Jump) {
            begins[ip + 1] = true;
            if let Some(target) = body.target(ip) {
                begins[target] = true;
                self.sealing.note(ip, target);
            }
        }
        let block = |begins: bool| begins.then(|| self.e.b.create_block());
        self.blocks = begins.into_iter().map(block).collect();
    }

    /// All instructions, in their order but for stretches of operations without effects.
    fn instructions(&mut self, all: Range<usize>) {
        let mut ip = all.start;
        while ip < all.end {
            self.e.b.set_srcloc(SourceLoc::new(ip as u32));
            if let Some(block) = self.blocks[ip] {
                self.enter(ip, block);
            }
            if self.e.b.is_unreachable() || self.is_filled() {
                ip += 1;
                continue;
            }
            let stretch = self.stretch(ip..all.end);
            if stretch.is_empty() {
                self.instruction(ip);
                ip += 1;
                continue;
            }
            let operations = self.operations(ip, &stretch);
            let ordered = order(&operations);
            let values = |number| self.values(ip + number);
            let mut spilling = Spilling::new(&self.e, &ordered, &operations, values);
            for number in ordered {
                let at = ip + number;
                self.look_at_times(at);
                self.e.b.set_srcloc(SourceLoc::new(at as u32));
                let (operands, results) = self.values(at);
                spilling.emit(&mut self.e, (operands, results), |e| {
                    recipes::emit(e, &stretch[number], operands, results[0]);
                });
            }
            spilling.finish(&mut self.e);
            self.gains = true;
            ip += stretch.len();
        }
    }

    fn instruction(&mut self, ip: usize) {
        self.look_at_times(ip);
        let routine = self.e.routine;
        let instruction = &routine.body.instructions()[ip];
        let (reads, writes) = (routine.body.reads(instruction), routine.body.writes(instruction));
        let parts = self.e.parts;
        match &parts.steps[ip] {
            Step::Nothing => {}
            Step::Jump => self.jump(ip, instruction),
            // A handle that stays where it is keeps its place.
            Step::InPlace => self.e.assign(reads, writes[0]),
            Step::Call(cell) => {
                self.since_look = 0;
                self.e.call(Instructed { cell: *cell, operands: reads, results: writes });
            }
            Step::Region { cell, reads, writes } => {
                self.e.run_general_cell(Instructed { cell: *cell, operands: reads, results: writes });
            }
            Step::Alone(cell) => match *instruction {
                Instruction::Operator { operator, .. } => {
                    let overload = &routine.body.operators()[operator as usize];
                    self.operator(ip, overload, Instructed { cell: *cell, operands: reads, results: writes });
                }
                _ => self.e.trap(*cell),
            },
        }
    }

    /// What the operators from an instruction on compute, as far as they have no effects and each result is the only value
    /// that its owner ever has.
    fn stretch(&self, instructions: Range<usize>) -> Vec<Recording> {
        let first = instructions.start;
        let of = |ip: usize| {
            (ip == first || self.blocks[ip].is_none()).then(|| self.without_effects(ip)).flatten()
        };
        instructions.map_while(of).collect()
    }

    fn without_effects(&self, ip: usize) -> Option<Recording> {
        let can_move = matches!(self.e.parts.steps[ip], Step::Alone(_))
            && self.values(ip).1.first().is_some_and(|result| self.e.is_defined_once(*result));
        can_move.then(|| recipes::of_instruction(&self.e, ip)).flatten()
    }

    /// A stretch, for its order.
    fn operations(&self, first: usize, stretch: &[Recording]) -> Vec<Operation> {
        let owner = |value: &ValueId| self.e.owner(*value);
        let made: HashMap<ValueId, usize> =
            (0..stretch.len()).map(|number| (owner(&self.values(first + number).1[0]), number)).collect();
        let mut inside = vec![0; stretch.len()];
        let mut operations: Vec<Operation> = Vec::with_capacity(stretch.len());
        for (number, recording) in stretch.iter().enumerate() {
            let operands = self.values(first + number).0.iter();
            let mut reads: Vec<usize> =
                operands.filter_map(|value| made.get(&owner(value)).copied()).collect();
            reads.iter().for_each(|read| inside[*read] += 1);
            reads.sort_unstable();
            reads.dedup();
            operations.push(Operation { reads, latency: recording.latency(), is_kept: false });
        }
        for (value, number) in made {
            operations[number].is_kept = self.reads[value.index()] > inside[number];
        }
        operations
    }

    /// What an instruction reads and writes.
    fn values(&self, ip: usize) -> (&'r [ValueId], &'r [ValueId]) {
        let body = &self.e.routine.body;
        let instruction = &body.instructions()[ip];
        (body.reads(instruction), body.writes(instruction))
    }

    fn look_at_times(&mut self, ip: usize) {
        self.since_look += 1;
        if self.since_look >= YIELD_INTERVAL {
            self.since_look = 0;
            self.e.look(ip);
        }
    }

    fn is_filled(&self) -> bool {
        let block = self.e.b.current_block();
        block.is_none_or(|block| {
            let last = self.e.b.func.layout.last_inst(block);
            last.is_some_and(|last| self.e.b.func.dfg.insts[last].opcode().is_terminator())
        })
    }

    fn enter(&mut self, ip: usize, block: Block) {
        if !self.is_filled() {
            self.e.b.ins().jump(block, &[]);
        }
        self.e.begin(block);
        if self.sealing.begin(ip, block) {
            self.e.b.seal_block(block);
        }
    }

    fn end(&mut self) {
        self.e.b.set_srcloc(SourceLoc::default());
        let last = self.blocks.last().copied().flatten().expect("a block begins at the end");
        self.enter(self.e.parts.steps.len(), last);
        self.e.leave();
    }

    fn jump(&mut self, ip: usize, instruction: &Instruction) {
        self.since_look = 0;
        if let Some(twice) = self.twice.get(&ip).cloned() {
            self.versions(ip, &twice);
            return;
        }
        let target = self.target(ip);
        match *instruction {
            Instruction::JumpIf { .. } | Instruction::JumpIfNot { .. } => self.branch(ip, None),
            _ => self.go(ip, target, self.block(target)),
        }
        if self.unchecked.is_some() {
            return;
        }
        for (number, block) in self.sealing.behind(ip, target, self.block(target)).into_iter().enumerate() {
            self.e.b.seal_block(block);
            if let Some(choice) = self.choices.remove(&target).filter(|_| number == 0) {
                self.e.b.seal_block(choice);
                self.e.moved = None;
            }
        }
    }

    fn target(&self, ip: usize) -> usize {
        self.e.routine.body.target(ip).expect("the verifier checked every jump")
    }

    fn block(&self, to: usize) -> Block {
        self.blocks[to].expect("a block begins where a jump leads")
    }

    /// Goes to a block, with which the run goes on at an instruction.
    fn go(&mut self, ip: usize, next: usize, block: Block) {
        let is_paid =
            self.unchecked.as_ref().is_some_and(|unchecked| unchecked.twice.counted.within.contains(&next));
        match self.choices.get(&next).copied() {
            _ if is_paid => self.e.go_paid(next, block),
            Some(choice) if next <= ip => self.go_back(ip, next, block, choice),
            _ => self.e.go(ip, next, block),
        }
    }

    /// The next turn with checks, or a new choice.
    fn go_back(&mut self, ip: usize, next: usize, block: Block, choice: Block) {
        if let Some(moved) = self.e.moved {
            let (again, on) = (self.e.cold_block(), self.e.b.create_block());
            let moved = self.e.b.use_var(moved);
            self.e.b.ins().brif(moved, again, &[], on, &[]);
            self.e.enter(again);
            self.e.go(ip, next, choice);
            self.e.enter(on);
        }
        self.e.go_or(ip, next, block, choice);
    }

    /// A conditional jump, whose target may have another block here.
    fn branch(&mut self, ip: usize, to: Option<Block>) {
        let target = self.target(ip);
        let (condition, sense) = match self.e.routine.body.instructions()[ip] {
            Instruction::JumpIf { condition, .. } => (condition, true),
            Instruction::JumpIfNot { condition, .. } => (condition, false),
            _ => unreachable!("it is a conditional jump"),
        };
        let begins = |ip: usize| self.blocks[ip].is_some();
        if let Some(sides) = choosing::sides(&self.e, ip, begins) {
            let join = self.block(sides.join);
            sides.begins().for_each(|ip| self.e.b.set_cold_block(self.block(ip)));
            choosing::emit(&mut self.e, &sides, condition, join);
        }
        let condition = self.e.scalar(condition);
        let (to_taken, to_fall) = (self.e.b.create_block(), self.e.b.create_block());
        let (yes, no) = if sense { (to_taken, to_fall) } else { (to_fall, to_taken) };
        self.e.b.ins().brif(condition, yes, &[], no, &[]);
        self.e.enter(to_taken);
        match to {
            Some(block) => self.e.go(ip, target, block),
            None => self.go(ip, target, self.block(target)),
        }
        self.e.enter(to_fall);
        self.go(ip, ip + 1, self.block(ip + 1));
    }

    /// The way into a counted loop, and its turns without checks. The turns with checks follow.
    fn versions(&mut self, ip: usize, twice: &Rc<TwiceLoop>) {
        let counted = &twice.counted;
        let (begin, back) = (*counted.within.start(), *counted.within.end());
        let [test, choice, turn] = [(); 3].map(|()| self.e.b.create_block());
        self.e.go(ip, counted.test, test);
        self.e.enter(test);
        (counted.test..back).for_each(|ip| self.instruction(ip));
        self.branch(back, Some(choice));
        self.e.begin(choice);
        let (last, moved) = (self.e.b.declare_var(types::I64), self.e.b.declare_var(types::I8));
        let no = self.e.b.ins().iconst(types::I8, 0);
        self.e.b.def_var(moved, no);
        self.e.choose_version(twice, last, [turn, self.block(begin)]);
        // The blocks of the other version are put back afterwards.
        let checked: Vec<Option<Block>> = self.blocks[counted.within.clone()].to_vec();
        self.blocks[begin] = None;
        for ip in begin + 1..=back {
            self.blocks[ip] = self.blocks[ip].map(|_| self.e.b.create_block());
        }
        self.e.begin(turn);
        let counter = self.e.scalar(counted.counter.owner);
        self.unchecked = Some(Unchecked { twice: twice.clone(), counter });
        self.instructions(begin..back);
        self.unchecked = None;
        let (reached, last) = (self.e.scalar(counted.counter.owner), self.e.b.use_var(last));
        let goes_on = self.e.b.ins().icmp(IntCC::NotEqual, reached, last);
        let end = self.e.b.create_block();
        self.e.go_paid_if(goes_on, begin, turn, end);
        self.e.b.seal_block(turn);
        self.branch(back, Some(choice));
        self.blocks[counted.within.clone()].copy_from_slice(&checked);
        self.choices.insert(begin, choice);
        self.e.moved = Some(moved);
    }

    /// Emits what needs no check in this version of a loop; false of anything else.
    fn unchecked(&mut self, ip: usize, instructed: Instructed<'_>) -> bool {
        let Some(Unchecked { twice, counter }) = &self.unchecked else { return false };
        if let Some(inside) = twice.counted.elements.get(&ip) {
            elements::emit_inside(&mut self.e, instructed, inside, *counter);
            return true;
        }
        let sum = twice.exact.get(&ip).copied();
        sum.is_some_and(|sum| {
            let [x, y] = [0, 1].map(|number| self.e.scalar(instructed.operands[number]));
            let computed = match sum {
                IntegerOperation::Plus => self.e.b.ins().iadd(x, y),
                IntegerOperation::Minus => self.e.b.ins().isub(x, y),
                IntegerOperation::Times => self.e.b.ins().imul(x, y),
            };
            let leaf = self.e.leaves(instructed.results[0])[0];
            self.e.define(instructed.results[0], leaf, computed);
            true
        })
    }

    /// By value: true if the innermost loop changes it.
    fn varies(&self, values: &[ValueId]) -> Vec<bool> {
        let unchecked = self.unchecked.as_ref().map(|unchecked| unchecked.twice.counted.within.clone());
        let inner = unchecked.or_else(|| self.sealing.inner());
        let varies = |value: &ValueId| {
            inner.as_ref().is_some_and(|inner| self.written.within(self.e.owner(*value), inner))
        };
        values.iter().map(varies).collect()
    }

    fn by_recipe(&mut self, overload: &Overload, instructed: Instructed<'_>) -> bool {
        if let Some(recording) = recipes::record(&self.e, overload, instructed.operands) {
            recipes::emit(&mut self.e, &recording, instructed.operands, instructed.results[0]);
            return true;
        }
        let usual = recipes::record_usual(&self.e, overload, instructed.operands);
        usual.is_some_and(|recording| {
            self.in_place += recording.len();
            if self.in_place > MOST_IN_PLACE {
                return false;
            }
            recipes::emit_usual(&mut self.e, &recording, instructed);
            true
        })
    }

    fn operator(&mut self, ip: usize, overload: &Overload, instructed: Instructed<'_>) {
        let has_rule = self.unchecked(ip, instructed)
            || match overload.kernel() {
                Kernel::Assemble if is_all_leaves(overload.result()) => {
                    self.e.assign(instructed.operands, instructed.results[0]);
                    true
                }
                Kernel::Element(_) => {
                    let varies = self.varies(instructed.operands);
                    elements::emit(&mut self.e, overload.primitive(), instructed, &varies)
                }
                Kernel::Scalar(_) => {
                    primitives::emit(&mut self.e, overload.primitive(), overload, instructed)
                        || self.by_recipe(overload, instructed)
                }
                _ => false,
            };
        self.gains |= has_rule;
        match overload.kernel() {
            _ if has_rule => {}
            Kernel::Scalar(_) => self.e.run_cell(instructed),
            _ => self.e.run_general_cell(instructed),
        }
    }
}
