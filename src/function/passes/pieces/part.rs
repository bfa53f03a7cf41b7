//! The function of a loop's rounds, some of them.
//!
//! | parameter | what it is |
//! | --- | --- |
//! | `first`, `end` | the numbers of the first round and the one behind the last |
//! | for each window: the array, its index at round 0, the distance to the next | see [`Window`](cembra_vm::program::parallel::Window) |
//! | lengths | of whole arrays of which a piece has its window only |
//! | others | what the loop reads |

use super::classify::{Carried, Plan, handed_on};
use super::writer::LowWriter;
use crate::function::low::{LowFunction, LowOp, LowWindow};
use crate::ssa::{BlockId, Inst, InstId, SsaOp, Tail, order_blocks};
use cembra_vm::value::qtype::INT64;
use cembra_vm::value::{QType, Value};
use hashbrown::{HashMap, HashSet};

/// The function of a loop.
pub(super) struct Part {
    pub(super) function: LowFunction,
    pub(super) windows: Vec<LowWindow>,
}

/// Makes the function of a loop.
pub(super) fn outlined(of: &LowFunction, plan: &Plan) -> Part {
    let mut function = LowFunction {
        name: format!("{}.prange{}", of.name, plan.rounds.round.0),
        flow: Default::default(),
        types: Vec::new(),
        parameters: Vec::new(),
        result: handed_on(of, &plan.carried).expect("the classifier has seen to it"),
        failures: of.failures.clone(),
        variables: of.variables.clone(),
    };
    function.flow.variables = of.flow.variables;
    let writer = LowWriter { function: &mut function, block: BlockId(0), span: plan.rounds.span };
    let mut outliner =
        Outliner { of, plan, writer, values: HashMap::new(), blocks: HashMap::new(), windows: Vec::new() };
    let [first, end] = outliner.parameters();
    outliner.make_blocks();
    outliner.make_insts();
    outliner.fill(first, end);
    let windows = outliner.windows;
    Part { function, windows }
}

struct Outliner<'f> {
    of: &'f LowFunction,
    plan: &'f Plan,
    writer: LowWriter<'f>,
    /// Values of the loop and what it reads, in the new function.
    values: HashMap<InstId, InstId>,
    blocks: HashMap<BlockId, BlockId>,
    windows: Vec<LowWindow>,
}

impl Outliner<'_> {
    fn parameter(&mut self, name: &str, of: QType) -> (u32, InstId) {
        let position = self.writer.function.parameters.len() as u32;
        self.writer.function.parameters.push((name.to_owned(), of.clone()));
        (position, self.writer.push(LowOp::Input(position), vec![], of))
    }

    fn qtype(&self, value: InstId) -> QType {
        self.of.types[value.index()].clone().expect("what is read has a type")
    }

    /// Gives the numbers of the first round and the one behind the last.
    fn parameters(&mut self) -> [InstId; 2] {
        let trips = ["first", "end"].map(|name| self.parameter(name, INT64).1);
        for (number, window) in self.plan.windows.iter().enumerate() {
            let (array, root) = self.parameter(&format!("array{number}"), self.qtype(window.root));
            let (first, _) = self.parameter(&format!("index{number}"), INT64);
            let (step, _) = self.parameter(&format!("step{number}"), INT64);
            self.values.insert(window.root, root);
            self.windows.push(LowWindow { array, axis: window.axis as u32, first, step });
        }
        for (number, length) in self.plan.lengths.iter().enumerate() {
            let (_, value) = self.parameter(&format!("length{number}"), INT64);
            self.values.insert(*length, value);
        }
        for (number, value) in self.plan.free.iter().enumerate() {
            let (_, new) = self.parameter(&format!("value{number}"), self.qtype(*value));
            self.values.insert(*value, new);
        }
        trips
    }

    fn make_blocks(&mut self) {
        let rounds = &self.plan.rounds;
        let mut old: Vec<BlockId> = rounds.inside.iter().copied().collect();
        old.sort_unstable();
        let around = self.of.flow.block(rounds.natural.header).depth.saturating_sub(1);
        for block in old {
            let depth = self.of.flow.block(block).depth.saturating_sub(around);
            self.blocks.insert(block, self.writer.function.flow.add_block(depth));
        }
        self.blocks.insert(rounds.preheader, BlockId(0));
        let exit = self.writer.function.flow.add_block(0);
        self.blocks.insert(rounds.exit, exit);
    }

    /// New instructions, which have their operands later: a phi may read what comes behind it.
    fn make_insts(&mut self) {
        let flow = &self.of.flow;
        for block in self.sorted_blocks() {
            for inst in &flow.block(block).insts {
                if self.values.contains_key(inst) {
                    continue;
                }
                let Inst { op, span, name, .. } = flow.inst(*inst).clone();
                let new = self.writer.function.flow.add_inst(op, Vec::new(), span);
                self.writer.function.flow.insts[new.index()].name = name;
                self.writer.function.types.push(self.of.types[inst.index()].clone());
                self.values.insert(*inst, new);
            }
        }
    }

    fn sorted_blocks(&self) -> Vec<BlockId> {
        let mut blocks: Vec<BlockId> = self.plan.rounds.inside.iter().copied().collect();
        blocks.sort_unstable();
        blocks
    }

    /// A value that the loop reads; a literal of elsewhere gets its place in the entry.
    fn value(&mut self, of: InstId) -> InstId {
        if let Some(known) = self.values.get(&of) {
            return *known;
        }
        let row = self.of.flow.inst(of);
        let new = match &row.op {
            SsaOp::Do(LowOp::Literal(value)) => self.writer.literal(value.clone()),
            // No path reads it.
            _ => self.writer.literal(Value::zero(&self.qtype(of))),
        };
        self.values.insert(of, new);
        new
    }

    fn fill(&mut self, first: InstId, end: InstId) {
        let (flow, rounds) = (&self.of.flow, &self.plan.rounds);
        let accesses = self.plan.windows.iter().flat_map(|window| window.accesses.iter().copied());
        let accesses: HashSet<(InstId, usize)> = accesses.collect();
        let index = self.values[&rounds.round];
        for block in self.sorted_blocks() {
            let mut insts = Vec::new();
            for inst in &flow.block(block).insts {
                if self.plan.lengths.contains(inst) {
                    continue;
                }
                let args = flow.inst(*inst).args.clone();
                let mut args: Vec<InstId> = match *inst == rounds.round {
                    // The place in a window; whoever read the number of the round reads that of the header.
                    true => vec![self.value(args[0]), first],
                    false => args.into_iter().map(|arg| self.number(arg)).collect(),
                };
                for (position, arg) in args.iter_mut().enumerate() {
                    if accesses.contains(&(*inst, position)) {
                        *arg = index;
                    }
                }
                let new = self.values[inst];
                self.writer.function.flow.insts[new.index()].args = args;
                insts.push(new);
            }
            let tail = self.tail(&flow.block(block).tail);
            let span = flow.block(block).tail_span;
            let from = flow.block(block).predecessors.iter().map(|from| self.blocks[from]).collect();
            let new = &mut self.writer.function.flow.blocks[self.blocks[&block].index()];
            (new.insts, new.tail, new.tail_span, new.predecessors) = (insts, tail, span, from);
        }
        let place = &mut self.writer.function.flow.insts[index.index()];
        (place.op, place.name) = (SsaOp::Do(LowOp::Operator("math.subtract", false)), None);
        self.begin(first, end);
        self.end();
    }

    /// The number of a round where the loop reads its mark, any other value as it is.
    fn number(&mut self, of: InstId) -> InstId {
        match of == self.plan.rounds.round {
            true => self.value(self.plan.rounds.counter),
            false => self.value(of),
        }
    }

    fn tail(&mut self, of: &Tail) -> Tail {
        let to = |block: &BlockId| self.blocks[block];
        match of {
            Tail::Jump(block) => Tail::Jump(to(block)),
            Tail::Branch { condition, then, orelse } => {
                let (then, orelse) = (to(then), to(orelse));
                Tail::Branch { condition: self.number(*condition), then, orelse }
            }
            other => other.clone(),
        }
    }

    /// The phis of the header begin anew, and its test is on the last round of the piece.
    fn begin(&mut self, first: InstId, end: InstId) {
        let rounds = &self.plan.rounds;
        let from = &self.of.flow.block(rounds.natural.header).predecessors;
        let at = from.iter().position(|from| *from == rounds.preheader).expect("it leads to the header");
        let mut starts = vec![(rounds.counter, first)];
        for (phi, kind) in &self.plan.carried {
            let start = match kind {
                Carried::Last => self.value(self.of.flow.inst(*phi).args[at]),
                Carried::Fold(fold) => self.writer.literal(fold.neutral.clone()),
            };
            starts.push((*phi, start));
        }
        for (phi, start) in starts {
            let phi = self.values[&phi];
            self.writer.function.flow.insts[phi.index()].args[at] = start;
        }
        let condition = self.values[&rounds.condition];
        self.writer.function.flow.insts[condition.index()].args[1] = end;
        let header = self.blocks[&rounds.natural.header];
        self.writer.function.flow.blocks[0].tail = Tail::Jump(header);
        self.writer.function.flow.blocks[0].tail_span = rounds.span;
    }

    fn end(&mut self) {
        let rounds = &self.plan.rounds;
        let (header, exit) = (self.blocks[&rounds.natural.header], self.blocks[&rounds.exit]);
        self.writer.function.flow.blocks[exit.index()].predecessors = vec![header];
        self.writer.block = exit;
        let results = self.plan.carried.iter().map(|(phi, _)| self.values[phi]).collect();
        self.writer.finish(results);
        order_blocks(&mut self.writer.function.flow);
    }
}
