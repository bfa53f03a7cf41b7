//! What the values and arrays of a loop are to its rounds: see the table of the [room](super).

use super::find::Rounds;
use super::writer::result_type;
use super::{Serial, updated_by};
use crate::function::low::{LowFunction, LowOp};
use crate::function::passes::{int_literal, is_array};
use crate::ssa::{BlockId, InstId, SsaOp};
use cembra_vm::builtins::nd::part::{ASSIGN, PART, SUM_IN_ORDER};
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{QType, Value};
use hashbrown::{HashMap, HashSet};

/// How a loop becomes a function.
pub(super) struct Plan {
    pub(super) rounds: Rounds,
    /// The values that rounds hand on, but for the number of the round: phis of the header.
    pub(super) carried: Vec<(InstId, Carried)>,
    /// The arrays that the loop changes.
    pub(super) windows: Vec<WindowPlan>,
    /// Lengths of these arrays that the loop asks for.
    pub(super) lengths: Vec<InstId>,
    /// Other values from outside that the loop reads, but for literals.
    pub(super) free: Vec<InstId>,
}

/// What a value that rounds hand on is.
pub(super) enum Carried {
    /// Private; read behind the loop.
    Last,
    /// A reduction.
    Fold(Fold),
}

/// A reduction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fold {
    /// The operator that makes one result of two.
    pub(super) combine: LowOp,
    /// What a piece begins with.
    pub(super) neutral: Value,
}

/// The type of what a loop hands on; none of too many values.
pub(super) fn handed_on(function: &LowFunction, carried: &[(InstId, Carried)]) -> Option<QType> {
    let of = |(phi, _): &(InstId, Carried)| function.types[phi.index()].clone();
    result_type(carried.iter().map(of).collect::<Option<Vec<_>>>()?)
}

/// An array that the loop changes.
pub(super) struct WindowPlan {
    pub(super) root: InstId,
    pub(super) axis: usize,
    pub(super) place: Place,
    /// Operands that are this index: instruction and position.
    pub(super) accesses: Vec<(InstId, usize)>,
}

/// The index of a round: `number * scale + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) number: Number,
    pub(super) scale: i64,
    pub(super) offset: i64,
}

/// The number of a loop: `start + round * step`; none is 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) start: Option<InstId>,
    pub(super) step: Option<InstId>,
}

/// An access to an element: the instruction, and the positions of its indices.
type Access = (InstId, Vec<Option<usize>>);

struct Classifier<'f> {
    function: &'f LowFunction,
    rounds: &'f Rounds,
    /// The blocks in which values are defined.
    home: Vec<Option<BlockId>>,
    /// By value, the instructions of the loop that read it.
    readers: HashMap<InstId, Vec<InstId>>,
    /// Values of the loop that its tails read.
    read_by_tails: HashSet<InstId>,
}

/// Finds out how a loop can become a function.
pub(super) fn classify(
    function: &LowFunction,
    rounds: Rounds,
    updated: &[HashSet<u32>],
) -> Result<Plan, Serial> {
    let classifier = Classifier::new(function, &rounds);
    let parts = classifier.parts(updated).map_err(|reason| Serial {
        round: rounds.round,
        span: rounds.span,
        reason: Some(reason),
    });
    let (carried, windows, lengths, free) = parts?;
    Ok(Plan { carried, windows, lengths, free, rounds })
}

type Parts = (Vec<(InstId, Carried)>, Vec<WindowPlan>, Vec<InstId>, Vec<InstId>);

impl<'f> Classifier<'f> {
    fn new(function: &'f LowFunction, rounds: &'f Rounds) -> Classifier<'f> {
        let flow = &function.flow;
        let mut home = vec![None; flow.insts.len()];
        for block in flow.block_ids() {
            flow.block(block).insts.iter().for_each(|inst| home[inst.index()] = Some(block));
        }
        let mut readers: HashMap<InstId, Vec<InstId>> = HashMap::new();
        let mut read_by_tails = HashSet::new();
        for block in &rounds.inside {
            for inst in &flow.block(*block).insts {
                for arg in &flow.inst(*inst).args {
                    readers.entry(*arg).or_default().push(*inst);
                }
            }
            read_by_tails.extend(flow.block(*block).tail.operand());
        }
        Classifier { function, rounds, home, readers, read_by_tails }
    }

    fn parts(&self, updated: &[HashSet<u32>]) -> Result<Parts, String> {
        let carried = self.carried()?;
        if handed_on(self.function, &carried).is_none() {
            return Err("it hands on too many values".to_owned());
        }
        self.check_values_behind()?;
        let windows = self.windows(updated)?;
        let roots: HashSet<InstId> = windows.iter().map(|window| window.root).collect();
        let lengths = self.lengths(&roots);
        let free = self.free(&carried, &roots, &lengths)?;
        Ok((carried, windows, lengths, free))
    }

    fn is_inside(&self, value: InstId) -> bool {
        self.home[value.index()].is_some_and(|block| self.rounds.inside.contains(&block))
    }

    /// Instructions of the loop, in the order of their numbers.
    fn insts(&self) -> Vec<InstId> {
        let flow = &self.function.flow;
        let blocks = self.rounds.inside.iter();
        let mut insts: Vec<InstId> = blocks.flat_map(|block| flow.block(*block).insts.clone()).collect();
        insts.sort_unstable();
        insts
    }

    fn name(&self, value: InstId) -> String {
        let name = self.function.flow.inst(value).name.map(|name| &*self.function.variables[name.index()]);
        let parameter = match self.function.flow.operation(value) {
            Some(LowOp::Input(position)) => Some(&*self.function.parameters[*position as usize].0),
            _ => None,
        };
        match name.filter(|name| !name.is_empty()).or(parameter) {
            Some(name) => format!("`{name}`"),
            None => "a value".to_owned(),
        }
    }

    fn qtype(&self, value: InstId) -> Option<&QType> {
        self.function.types[value.index()].as_ref()
    }

    fn carried(&self) -> Result<Vec<(InstId, Carried)>, String> {
        let (flow, header) = (&self.function.flow, self.rounds.natural.header);
        let phis = flow.phis(header).filter(|phi| *phi != self.rounds.counter);
        let kind = |phi: InstId| {
            if !matches!(self.qtype(phi), Some(QType::Scalar(_))) {
                return Err(format!("{} is another array or tuple in each round", self.name(phi)));
            }
            let is_read = self.readers.get(&phi).is_some_and(|readers| readers.iter().any(|by| *by != phi));
            match is_read || self.read_by_tails.contains(&phi) {
                true => self.fold(phi).map(|fold| (phi, Carried::Fold(fold))),
                false => Ok((phi, Carried::Last)),
            }
        };
        phis.map(kind).collect()
    }

    /// The reduction that a phi is: on every way through the round, one operator takes it, and nothing else reads it.
    fn fold(&self, phi: InstId) -> Result<Fold, String> {
        let flow = &self.function.flow;
        let carried = || format!("{} has a value of the round before", self.name(phi));
        let (mut members, mut work): (HashSet<InstId>, _) = ([phi].into_iter().collect(), vec![phi]);
        let mut found: Option<Fold> = None;
        while let Some(value) = work.pop() {
            if self.read_by_tails.contains(&value) {
                return Err(carried());
            }
            for reader in self.readers.get(&value).into_iter().flatten() {
                if *reader == phi || members.contains(reader) {
                    continue;
                }
                match &flow.inst(*reader).op {
                    SsaOp::Phi if !flow.phis(self.rounds.natural.header).any(|other| other == *reader) => {}
                    SsaOp::Do(op) => {
                        let fold = self.qtype(phi).and_then(|of| fold_of(op, of)).ok_or_else(carried)?;
                        if found.get_or_insert_with(|| fold.clone()) != &fold {
                            return Err(format!("{} is reduced by several operators", self.name(phi)));
                        }
                    }
                    _ => return Err(carried()),
                }
                members.insert(*reader);
                work.push(*reader);
            }
        }
        let is_whole = members.iter().all(|member| {
            let args = &flow.inst(*member).args;
            let inside = |arg: &InstId| members.contains(arg);
            match &flow.inst(*member).op {
                _ if *member == phi => args.iter().any(|arg| *arg != phi && inside(arg)),
                SsaOp::Phi => args.iter().all(inside),
                SsaOp::Do(op) => {
                    let others = args.iter().filter(|arg| !inside(arg)).count();
                    others + 1 == args.len() && (inside(&args[0]) || is_symmetric(op, self.qtype(*member)))
                }
                _ => false,
            }
        });
        found.filter(|_| is_whole).ok_or_else(carried)
    }

    /// Behind the loop nothing is read of it but what rounds hand on.
    fn check_values_behind(&self) -> Result<(), String> {
        let flow = &self.function.flow;
        let phis: HashSet<InstId> = flow.phis(self.rounds.natural.header).collect();
        let is_kept = |value: &InstId| {
            !self.is_inside(*value) || (phis.contains(value) && *value != self.rounds.counter)
        };
        for block in flow.block_ids().filter(|block| !self.rounds.inside.contains(block)) {
            let rows = flow.block(block);
            let args = rows.insts.iter().flat_map(|inst| &flow.inst(*inst).args);
            if let Some(value) = args.chain(&rows.tail.operand()).find(|value| !is_kept(value)) {
                return Err(format!("{} is read behind it", self.name(*value)));
            }
        }
        Ok(())
    }

    fn windows(&self, updated: &[HashSet<u32>]) -> Result<Vec<WindowPlan>, String> {
        let flow = &self.function.flow;
        let mut roots: Vec<InstId> = Vec::new();
        for inst in self.insts() {
            for array in updated_by(self.function, inst, updated) {
                if flow.is_phi(array) {
                    return Err(format!("{} is one of several arrays, and is written", self.name(array)));
                }
                if self.is_inside(array) {
                    continue;
                }
                if !matches!(flow.operation(inst), Some(LowOp::Update("nd.set" | ASSIGN))) {
                    return Err(format!("{} is changed as a whole", self.name(array)));
                }
                if !roots.contains(&array) {
                    roots.push(array);
                }
            }
        }
        roots.into_iter().map(|root| self.window(root)).collect()
    }

    /// The window of an array that rounds change: all accesses have one index that is the number of the round's own.
    fn window(&self, root: InstId) -> Result<WindowPlan, String> {
        let accesses = self.accesses(root)?;
        let axes = accesses.iter().map(|(_, indices)| indices.len()).min().unwrap_or(0);
        let args = |inst: InstId| &self.function.flow.inst(inst).args;
        for axis in 0..axes {
            let index = |(inst, indices): &Access| self.index(args(*inst)[indices[axis]?]);
            let mut found = accesses.iter().map(index);
            let Some(Some(place)) = found.next() else { continue };
            if found.all(|other| other == Some(place)) {
                let operands = accesses.iter().filter_map(|(inst, indices)| Some((*inst, indices[axis]?)));
                return Ok(WindowPlan { root, axis, place, accesses: operands.collect() });
            }
        }
        let name = self.name(root);
        Err(format!("elements of {name} that one round writes may be elements of another round"))
    }

    fn accesses(&self, root: InstId) -> Result<Vec<Access>, String> {
        let flow = &self.function.flow;
        let mut accesses = Vec::new();
        for reader in self.readers.get(&root).into_iter().flatten() {
            let row = flow.inst(*reader);
            let uses = row.args.iter().filter(|arg| **arg == root).count();
            match flow.operation(*reader) {
                Some(LowOp::Operator("nd.get", _)) if uses == 1 => {
                    accesses.push((*reader, (1..row.args.len()).map(Some).collect()));
                }
                Some(LowOp::Update("nd.set")) if uses == 1 => {
                    accesses.push((*reader, (2..row.args.len()).map(Some).collect()));
                }
                Some(LowOp::Operator(PART | SUM_IN_ORDER, _)) if uses == 1 => {
                    accesses.push((*reader, self.indices_of_part(&row.args, 1)));
                }
                Some(LowOp::Update(ASSIGN)) if uses == 1 => {
                    accesses.push((*reader, self.indices_of_part(&row.args, 2)));
                }
                Some(LowOp::Operator("nd.length", _)) if int_literal(flow, row.args[1]).is_some() => {}
                _ => return Err(format!("{} is used as a whole, and written", self.name(root))),
            }
        }
        Ok(accesses)
    }

    /// The operands that are the index of a part on an axis, by axis; the axes that it keeps have none.
    fn indices_of_part(&self, args: &[InstId], kept: usize) -> Vec<Option<usize>> {
        let Some(LowOp::Literal(Value::Axes(axes))) = self.function.flow.operation(args[kept]) else {
            return Vec::new();
        };
        let (mut indices, mut at) = (Vec::new(), kept + 1);
        while at < args.len() {
            let is_kept = axes.contains(indices.len());
            indices.push((!is_kept).then_some(at));
            at += if is_kept { 3 } else { 1 };
        }
        indices
    }

    /// The index of a round, as a number of the loop, what it is multiplied with, and what is added.
    fn index(&self, value: InstId) -> Option<Place> {
        if let Some(place) = self.multiple(value) {
            return Some(place);
        }
        let flow = &self.function.flow;
        let args = &flow.inst(value).args;
        let literal = |at: usize| int_literal(flow, args[at]).filter(|value| value.unsigned_abs() < 1 << 31);
        let (number, offset) = match flow.operation(value)? {
            LowOp::Operator("python.add" | "math.add", _) => match literal(1) {
                Some(offset) => (args[0], offset),
                None => (args[1], literal(0)?),
            },
            LowOp::Operator("python.subtract" | "math.subtract", _) => (args[0], -literal(1)?),
            _ => return None,
        };
        Some(Place { offset, ..self.multiple(number)? })
    }

    /// A number of the loop, or one that is multiplied with a literal.
    fn multiple(&self, value: InstId) -> Option<Place> {
        if let Some(number) = self.number(value) {
            return Some(Place { number, scale: 1, offset: 0 });
        }
        let flow = &self.function.flow;
        let LowOp::Operator("python.multiply" | "math.multiply", _) = flow.operation(value)? else {
            return None;
        };
        let args = &flow.inst(value).args;
        let literal = |at: usize| {
            int_literal(flow, args[at]).filter(|scale| *scale != 0 && scale.unsigned_abs() < 1 << 31)
        };
        let (number, scale) = match literal(1) {
            Some(scale) => (args[0], scale),
            None => (args[1], literal(0)?),
        };
        Some(Place { number: self.number(number)?, scale, offset: 0 })
    }

    fn number(&self, value: InstId) -> Option<Number> {
        let flow = &self.function.flow;
        if value == self.rounds.round {
            return Some(Number { start: None, step: None });
        }
        let args = &flow.inst(value).args;
        let is_sum = flow.operation(value) == Some(&LowOp::Operator("math.add", false));
        if !is_sum || self.is_inside(args[0]) {
            return None;
        }
        let (start, way) = (Some(args[0]), args[1]);
        if way == self.rounds.round {
            return Some(Number { start, step: None });
        }
        let args = &flow.inst(way).args;
        let is_way = flow.operation(way) == Some(&LowOp::Operator("math.multiply", false))
            && args[0] == self.rounds.round
            && !self.is_inside(args[1]);
        is_way.then(|| Number { start, step: Some(args[1]) })
    }

    fn lengths(&self, roots: &HashSet<InstId>) -> Vec<InstId> {
        let flow = &self.function.flow;
        let is_length = |inst: &InstId| {
            matches!(flow.operation(*inst), Some(LowOp::Operator("nd.length", _)))
                && roots.contains(&flow.inst(*inst).args[0])
        };
        self.insts().into_iter().filter(is_length).collect()
    }

    /// Values from outside that become arguments.
    fn free(
        &self,
        carried: &[(InstId, Carried)],
        roots: &HashSet<InstId>,
        lengths: &[InstId],
    ) -> Result<Vec<InstId>, String> {
        let flow = &self.function.flow;
        let preheader = |phi: InstId| {
            let from = &flow.block(self.rounds.natural.header).predecessors;
            let at = from.iter().position(|from| *from == self.rounds.preheader);
            at.map(|at| flow.inst(phi).args[at])
        };
        let phis: HashSet<InstId> = flow.phis(self.rounds.natural.header).collect();
        let mut read: Vec<InstId> = Vec::new();
        for inst in self.insts() {
            let is_own = inst == self.rounds.condition || phis.contains(&inst) || lengths.contains(&inst);
            if !is_own {
                read.extend(&flow.inst(inst).args);
            }
        }
        for phi in phis {
            read.extend(flow.inst(phi).args.iter().filter(|arg| Some(**arg) != preheader(phi)));
        }
        read.extend(&self.read_by_tails);
        let last = carried.iter().filter(|(_, kind)| matches!(kind, Carried::Last));
        read.extend(last.filter_map(|(phi, _)| preheader(*phi)));
        read.sort_unstable();
        read.dedup();
        let is_argument = |value: &InstId| {
            let is_literal = matches!(flow.inst(*value).op, SsaOp::Undef | SsaOp::Do(LowOp::Literal(_)));
            !self.is_inside(*value) && !is_literal && !roots.contains(value)
        };
        read.retain(is_argument);
        let fits = |value: &InstId| {
            self.qtype(*value).is_some_and(QType::is_plain) || is_array(self.function, *value)
        };
        match read.iter().find(|value| !fits(value)) {
            Some(value) => Err(format!("{} is a tuple with arrays", self.name(*value))),
            None => Ok(read),
        }
    }
}

/// The reduction by an operator, of values of a type.
fn fold_of(op: &LowOp, of: &QType) -> Option<Fold> {
    let LowOp::Operator(name, raises) = *op else { return None };
    let (is_int, is_float, is_truth) = (*of == INT64, *of == FLOAT64, *of == BOOLEAN);
    let int = |value: i64| is_int.then(|| Value::from(value));
    let number = |int_value: i64, float: f64| match is_float {
        true => Some(Value::from(float)),
        false => int(int_value),
    };
    let truth = |value: bool| is_truth.then(|| Value::from(value));
    let (combine, neutral) = match name {
        // The sum of none is the negative zero: it changes no float that is added.
        "python.add" | "math.add" => (name, number(0, -0.0)),
        "python.subtract" => ("python.add", number(0, -0.0)),
        "math.subtract" => ("math.add", number(0, -0.0)),
        "python.multiply" | "math.multiply" => (name, number(1, 1.0)),
        "python.min" => (name, number(i64::MAX, f64::INFINITY)),
        "python.max" => (name, number(i64::MIN, f64::NEG_INFINITY)),
        "bitwise.bitwise_and" => (name, int(-1)),
        "bitwise.bitwise_or" | "bitwise.bitwise_xor" => (name, int(0)),
        "bool.logical_and" => (name, truth(true)),
        "bool.logical_or" => (name, truth(false)),
        _ => return None,
    };
    Some(Fold { combine: LowOp::Operator(combine, raises), neutral: neutral? })
}

/// True if the operands of a reduction may change places.
fn is_symmetric(op: &LowOp, of: Option<&QType>) -> bool {
    let LowOp::Operator(name, _) = op else { return false };
    match *name {
        "python.subtract" | "math.subtract" => false,
        // Of two floats that are equal, or none of which is less, the first one counts.
        "python.min" | "python.max" => of == Some(&INT64),
        _ => true,
    }
}
