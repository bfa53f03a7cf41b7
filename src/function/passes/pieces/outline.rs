//! A loop as a function of its own, and what stands in its place.
//!
//! ```text
//! preheader: are the ends of all windows inside? ─ yes ─> call in pieces ──────────┐
//!                 └─ no ─> header of the serial loop ─> … ─> header ─> behind it ──┴─> join ─> exit
//! ```
//!
//! Without windows there is no question, and the serial loop goes.

use super::classify::{Carried, Plan, WindowPlan};
use super::part::{Part, outlined};
use super::writer::{LowWriter, result_places};
use super::{forget, forget_all};
use crate::function::infer::InstanceId;
use crate::function::low::{LowFunction, LowOp, Pieces};
use crate::function::passes::int_literal;
use crate::ssa::{BlockId, InstId, SsaOp, Tail, order_blocks};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::{BOOLEAN, INT64};
use hashbrown::HashMap;
use std::sync::Arc;

/// Numbers that are multiplied are between these.
const MOST: i64 = 1 << 31;

/// Moves a loop of a function to a new one, with another one behind it that combines results.
pub(super) fn outline(functions: &mut Vec<LowFunction>, at: usize, plan: &Plan) {
    let (callee, combine) = (InstanceId(functions.len() as u32), InstanceId(functions.len() as u32 + 1));
    let Part { mut function, windows } = outlined(&functions[at], plan);
    forget_all(&mut function);
    let combining = combining(&functions[at], plan, &function);
    let pieces = Arc::new(Pieces { callee, combine, windows });
    Caller::new(&mut functions[at], plan).replace(pieces, &function);
    forget(&mut functions[at], plan.rounds.round);
    functions.extend([function, combining]);
}

/// The function that makes one result of two.
fn combining(function: &LowFunction, plan: &Plan, part: &LowFunction) -> LowFunction {
    let (of, entry) = (&part.result, BlockId(0));
    let mut combining = LowFunction {
        name: part.name.replace("prange", "combine"),
        flow: Default::default(),
        types: Vec::new(),
        parameters: vec![("p".to_owned(), of.clone()), ("q".to_owned(), of.clone())],
        result: of.clone(),
        failures: Vec::new(),
        variables: function.variables.clone(),
    };
    combining.flow.variables = function.flow.variables;
    let mut writer = LowWriter { function: &mut combining, block: entry, span: plan.rounds.span };
    let places = result_places(of);
    let [p, q] = [0, 1].map(|position| {
        let whole = writer.push(LowOp::Input(position), vec![], of.clone());
        writer.parts(whole, &places)
    });
    let mut results = Vec::new();
    for ((_, kind), ((p, q), (_, of))) in plan.carried.iter().zip(p.into_iter().zip(q).zip(&places)) {
        results.push(match kind {
            Carried::Last => q,
            Carried::Fold(fold) => writer.push(fold.combine.clone(), vec![p, q], of.clone()),
        });
    }
    writer.finish(results);
    combining
}

/// The function with the loop.
struct Caller<'f> {
    writer: LowWriter<'f>,
    plan: &'f Plan,
    /// Where the call stands.
    call: BlockId,
}

/// The ends of a window, in the function with the loop.
struct Ends {
    first: InstId,
    step: InstId,
    is_inside: InstId,
}

impl<'f> Caller<'f> {
    fn new(function: &'f mut LowFunction, plan: &'f Plan) -> Caller<'f> {
        let depth = function.flow.block(plan.rounds.preheader).depth;
        let call = function.flow.add_block(depth);
        let writer = LowWriter { function, block: plan.rounds.preheader, span: plan.rounds.span };
        Caller { writer, plan, call }
    }

    fn replace(mut self, pieces: Arc<Pieces>, part: &LowFunction) {
        let rounds = &self.plan.rounds;
        let (zero, one) = (self.writer.int(0), self.writer.int(1));
        let ends: Vec<Ends> = self.plan.windows.iter().map(|window| self.ends(window, zero, one)).collect();
        let tests: Vec<InstId> = ends.iter().map(|ends| ends.is_inside).collect();
        let condition = self.writer.all(tests);
        let (preheader, call) = (rounds.preheader, self.call);
        self.writer.block = call;
        let mut args = vec![zero, rounds.count];
        for (window, ends) in self.plan.windows.iter().zip(&ends) {
            args.extend([window.root, ends.first, ends.step]);
        }
        for length in &self.plan.lengths {
            let flow = &self.writer.function.flow;
            let (root, axis) = (flow.inst(*length).args[0], int_literal(flow, flow.inst(*length).args[1]));
            let axis = self.writer.int(axis.expect("the classifier has seen to it"));
            args.push(self.writer.total("nd.length", vec![root, axis], INT64));
        }
        args.extend(&self.plan.free);
        let whole = self.writer.push(LowOp::Pieces(pieces), args, part.result.clone());
        let places = result_places(&part.result);
        let results = self.writer.parts(whole, &places);
        let mut values: HashMap<InstId, InstId> = HashMap::new();
        for (((phi, kind), result), (_, of)) in self.plan.carried.iter().zip(results).zip(&places) {
            let value = match kind {
                Carried::Last => result,
                Carried::Fold(fold) => {
                    let start = self.start_of(*phi);
                    self.writer.push(fold.combine.clone(), vec![start, result], of.clone())
                }
            };
            values.insert(*phi, value);
        }
        match condition {
            Some(condition) => self.keep_serial(condition, &values),
            None => {
                let flow = &mut self.writer.function.flow;
                flow.blocks[preheader.index()].tail = Tail::Jump(call);
                flow.blocks[call.index()].predecessors = vec![preheader];
                self.leads_to_exit(call);
                self.replace_behind(&values);
            }
        }
        order_blocks(&mut self.writer.function.flow);
    }

    /// The value that a phi of the header has before the loop.
    fn start_of(&self, phi: InstId) -> InstId {
        let flow = &self.writer.function.flow;
        let from = &flow.block(self.plan.rounds.natural.header).predecessors;
        let at = from.iter().position(|from| *from == self.plan.rounds.preheader);
        flow.inst(phi).args[at.expect("the preheader leads to the header")]
    }

    /// The index of round 0, its distance to the next, and whether the first and the last round are inside of the array.
    fn ends(&mut self, window: &WindowPlan, zero: InstId, one: InstId) -> Ends {
        let (writer, place) = (&mut self.writer, window.place);
        let rounds = writer.total("math.subtract", vec![self.plan.rounds.count, one], INT64);
        let mut start = place.number.start.unwrap_or(zero);
        let mut step = place.number.step.unwrap_or(one);
        let mut tests = Vec::new();
        if place.scale != 1 {
            // A multiple of numbers of 32 bits fits.
            let way = writer.total("math.multiply", vec![rounds, step], INT64);
            let end = writer.total("math.add", vec![start, way], INT64);
            let [low, high] = [-MOST, MOST].map(|bound| writer.int(bound));
            for number in [start, end] {
                tests.push(writer.total("bool.less_equal", vec![low, number], BOOLEAN));
                tests.push(writer.total("bool.less_equal", vec![number, high], BOOLEAN));
            }
            let scale = writer.int(place.scale);
            start = writer.total("math.multiply", vec![start, scale], INT64);
            step = writer.total("math.multiply", vec![step, scale], INT64);
        }
        let offset = writer.int(place.offset);
        let first = writer.total("math.add", vec![start, offset], INT64);
        let way = writer.total("math.multiply", vec![rounds, step], INT64);
        let last = writer.total("math.add", vec![first, way], INT64);
        let axis = writer.int(window.axis as i64);
        let length = writer.total("nd.length", vec![window.root, axis], INT64);
        for end in [first, last] {
            tests.push(writer.total("bool.less_equal", vec![zero, end], BOOLEAN));
            tests.push(writer.total("bool.less", vec![end, length], BOOLEAN));
        }
        let is_inside = writer.all(tests).expect("there are tests");
        Ends { first, step, is_inside }
    }

    /// Chooses between the call and the serial loop, which meet behind it.
    fn keep_serial(&mut self, condition: InstId, values: &HashMap<InstId, InstId>) {
        let rounds = &self.plan.rounds;
        let (preheader, header, call) = (rounds.preheader, rounds.natural.header, self.call);
        let flow = &mut self.writer.function.flow;
        let depth = flow.block(preheader).depth;
        let (serial, join) = (flow.add_block(depth), flow.add_block(depth));
        flow.blocks[preheader.index()].tail = Tail::Branch { condition, then: call, orelse: serial };
        flow.blocks[preheader.index()].tail_span = rounds.span;
        flow.blocks[call.index()].tail = Tail::Jump(join);
        flow.blocks[serial.index()].tail = Tail::Jump(header);
        flow.blocks[call.index()].predecessors = vec![preheader];
        flow.blocks[serial.index()].predecessors = vec![preheader];
        let from = flow.blocks[header.index()].predecessors.iter_mut();
        from.filter(|from| **from == preheader).for_each(|from| *from = serial);
        flow.blocks[header.index()].tail.redirect(rounds.exit, join);
        flow.blocks[join.index()].predecessors = vec![header, call];
        let mut joined = HashMap::new();
        for (phi, value) in values {
            let both = flow.add_inst(SsaOp::Phi, vec![*phi, *value], Span::default());
            flow.insts[both.index()].name = flow.inst(*phi).name;
            let of = self.writer.function.types[phi.index()].clone();
            self.writer.function.types.push(of);
            joined.insert(*phi, both);
        }
        self.leads_to_exit(join);
        self.replace_behind(&joined);
        let mut phis: Vec<InstId> = joined.into_values().collect();
        phis.sort_unstable();
        self.writer.function.flow.blocks[join.index()].insts = phis;
    }

    /// Goes on behind the loop from another block than the header.
    fn leads_to_exit(&mut self, from: BlockId) {
        let (flow, exit) = (&mut self.writer.function.flow, self.plan.rounds.exit);
        flow.blocks[from.index()].tail = Tail::Jump(exit);
        flow.blocks[from.index()].tail_span = self.plan.rounds.span;
        flow.blocks[exit.index()].predecessors = vec![from];
    }

    /// What is read behind the loop instead of its phis.
    fn replace_behind(&mut self, values: &HashMap<InstId, InstId>) {
        let inside = &self.plan.rounds.inside;
        let flow = &mut self.writer.function.flow;
        let value = |of: InstId| values.get(&of).copied().unwrap_or(of);
        for block in flow.block_ids().filter(|block| !inside.contains(block)) {
            for inst in flow.block(block).insts.clone() {
                flow.insts[inst.index()].args.iter_mut().for_each(|arg| *arg = value(*arg));
            }
            if let Some(operand) = flow.blocks[block.index()].tail.operand_mut() {
                *operand = value(*operand);
            }
        }
    }
}
