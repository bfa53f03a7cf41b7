//! Emission: prepared nodes become instructions over values.
//!
//! The walk is a depth-first search with its own stack. A node's result is a new value, or the value
//! its user gave it as *destination*: the output for the root, the value of a `where` for the roots of
//! its branches, a field's place for an operand of a tuple.
//!
//! ```text
//! where(c, a, b) to v:    c; what both branches share
//!                         jump_if_not(c) else
//!                         a to v
//!                         jump end
//!                 else:   b to v
//!                  end:
//! ```
//!
//! A node that a branch needs but that belongs to a region outside is a *dependency* of the `where`
//! whose branch leads there: it is emitted before the jump. An operator that always fails becomes a
//! trap, and the rest of its region is not emitted.

use crate::compile::order::Needs;
use crate::expr::{Node, NodeId};
use crate::prepare::branches::RegionId;
use crate::prepare::extend::Emitter;
use crate::prepare::{PrepareError, Prepared};
use cembra_vm::operator::{OperatorTable, Overload};
use cembra_vm::program::instruction::{Span, Trap};
use cembra_vm::program::{Body, Instruction, ValueId};
use cembra_vm::value::{QType, Value};
use hashbrown::HashMap;
use std::sync::Arc;

/// What a value is, before it has a slot.
#[derive(Clone, Debug)]
pub enum Role {
    /// An input, by position.
    Input(usize),
    /// The main output.
    Output,
    /// A literal, met before this instruction.
    Literal(Value, usize),
    /// A result.
    Temporary,
    /// Bytes of another value: at an offset from its start.
    View(ValueId, u32),
    /// A result that lies in a field of a tuple from the start.
    Field(ValueId, usize),
}

/// A value of a body under construction.
#[derive(Clone, Debug)]
pub struct VirtualValue {
    /// Its type.
    pub qtype: QType,
    /// What it is.
    pub role: Role,
}

/// Instructions over values without slots.
#[derive(Debug)]
pub struct Emission {
    /// The instructions.
    pub body: Body,
    /// The values.
    pub values: Vec<VirtualValue>,
    /// Values of the inputs, in order.
    pub inputs: Vec<ValueId>,
    /// Value of the output.
    pub output: ValueId,
    /// Values of the side outputs, in order.
    pub side_outputs: Vec<ValueId>,
    table: Arc<OperatorTable>,
    operators: HashMap<*const Overload, u32>,
    literals: HashMap<Value, ValueId>,
}

impl Emission {
    /// Emits a prepared expression.
    ///
    /// # Errors
    /// An extension cannot emit its operator.
    pub fn new(prepared: &Prepared) -> Result<Emission, PrepareError> {
        let mut emission = Emission {
            body: Body::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            output: ValueId(0),
            side_outputs: Vec::new(),
            table: prepared.draft().registry.table().clone(),
            operators: HashMap::new(),
            literals: HashMap::new(),
        };
        for (position, (_, qtype)) in prepared.inputs().iter().enumerate() {
            let input = emission.value(qtype.clone(), Role::Input(position));
            emission.inputs.push(input);
        }
        let main = prepared.outputs()[0];
        emission.output = emission.value(prepared.qtype(main).clone(), Role::Output);
        let (inputs, output) = (emission.inputs.clone(), emission.output);
        let results = Walk::new(prepared, &mut emission, &inputs).run(output)?;
        emission.side_outputs = results;
        Ok(emission)
    }

    fn value(&mut self, qtype: QType, role: Role) -> ValueId {
        self.values.push(VirtualValue { qtype, role });
        ValueId(self.values.len() as u32 - 1)
    }

    fn literal_value(&mut self, literal: &Value) -> ValueId {
        if let Some(known) = self.literals.get(literal) {
            return *known;
        }
        let role = Role::Literal(literal.clone(), self.body.instructions().len());
        let value = self.value(literal.qtype(), role);
        self.literals.insert(literal.clone(), value);
        value
    }

    fn push(&mut self, overload: &Arc<Overload>, operands: &[ValueId], result: ValueId, span: Span) {
        let body = &mut self.body;
        let operator = *self
            .operators
            .entry(Arc::as_ptr(overload))
            .or_insert_with(|| body.add_operator(overload.clone()));
        self.body.push_operator(operator, operands, result, span);
    }

    /// `result = operator(operands)`, the overload found by types.
    fn push_named(
        &mut self,
        name: &str,
        operands: &[ValueId],
        result: ValueId,
        span: Span,
    ) -> Result<(), PrepareError> {
        let types: Vec<QType> = operands.iter().map(|v| self.values[v.index()].qtype.clone()).collect();
        match self.find(name, &types) {
            Some(overload) => {
                self.push(&overload, operands, result, span);
                Ok(())
            }
            None => Err(PrepareError::NoOverload { operator: name.into(), types, span }),
        }
    }

    /// The overload of an operator; the same object for the same types.
    fn find(&mut self, name: &str, types: &[QType]) -> Option<Arc<Overload>> {
        let known = self.body.operators().iter().find(|o| &*o.name == name && o.accepts(types.iter()));
        known.cloned().or_else(|| self.table.overload(name, types))
    }
}

/// What the walk still has to do, the last first.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// Emit a node and what it needs, its result to a value.
    Visit(NodeId, Option<ValueId>),
    /// The operands are there: emit the operator itself.
    Operate(NodeId, Option<ValueId>),
    /// Condition and dependencies are there: jump, then the true branch.
    Branch(NodeId, ValueId),
    /// The true branch is done: jump over the false one.
    Else(NodeId, ValueId, usize),
    /// The false branch is done. The number is the jump to the end, if there is one.
    End(Option<usize>),
    /// Copy a node's value unless it was computed in place.
    Deliver(NodeId, ValueId),
}

/// Emits one prepared expression into an emission.
struct Walk<'p, 'e> {
    prepared: &'p Prepared,
    emission: &'e mut Emission,
    of_node: Vec<Option<ValueId>>,
    /// Operand positions that use a node, over all reachable nodes.
    uses: Vec<u32>,
    /// What must be emitted before the jumps of a `where`.
    dependencies: Vec<Vec<NodeId>>,
    needs: Needs,
    tasks: Vec<Task>,
}

impl<'p, 'e> Walk<'p, 'e> {
    fn new(prepared: &'p Prepared, emission: &'e mut Emission, leaves: &[ValueId]) -> Walk<'p, 'e> {
        let reached = prepared.draft().reachable();
        let mut uses = vec![0; reached.len()];
        let mut of_node = vec![None; reached.len()];
        let bound: HashMap<&str, ValueId> =
            prepared.inputs().iter().map(|(name, _)| &**name).zip(leaves.iter().copied()).collect();
        for id in (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at) {
            prepared.graph().operands(id).iter().for_each(|o| uses[o.index()] += 1);
            if let Node::Leaf(name) = prepared.graph().node(id) {
                of_node[id.index()] = bound.get(&**prepared.graph().name(name)).copied();
            }
        }
        let dependencies = dependencies(prepared, &reached);
        let needs = Needs::new(prepared, &reached, &dependencies);
        Walk { prepared, emission, of_node, uses, dependencies, needs, tasks: Vec::new() }
    }

    /// Emits everything; gives the values of the side outputs.
    fn run(mut self, output: ValueId) -> Result<Vec<ValueId>, PrepareError> {
        let outputs = self.prepared.outputs();
        let mut side_outputs = Vec::new();
        for (position, node) in outputs.iter().enumerate() {
            match position {
                0 => self.tasks.extend([Task::Deliver(*node, output), Task::Visit(*node, Some(output))]),
                _ => self.tasks.push(Task::Visit(*node, None)),
            }
            while let Some(task) = self.tasks.pop() {
                self.step(task)?;
            }
            if position > 0 {
                side_outputs.push(self.operand(*node));
            }
        }
        Ok(side_outputs)
    }

    fn step(&mut self, task: Task) -> Result<(), PrepareError> {
        match task {
            Task::Visit(id, destination) => self.visit(id, destination),
            Task::Operate(id, destination) => self.operate(id, destination)?,
            Task::Branch(id, result) => self.branch(id, result),
            Task::Else(id, result, jump) => self.start_false_branch(id, result, jump, true),
            Task::End(jump) => {
                if let Some(jump) = jump {
                    self.emission.body.jump_to_here(jump);
                }
            }
            Task::Deliver(id, result) => self.deliver(id, result)?,
        }
        Ok(())
    }

    fn visit(&mut self, id: NodeId, destination: Option<ValueId>) {
        if self.of_node[id.index()].is_some() {
            return;
        }
        match self.prepared.graph().node(id) {
            Node::Literal(literal) => {
                // Literal types and operators have been used up; views name their type by one.
                if let Some(value) = literal.value() {
                    self.of_node[id.index()] = Some(self.emission.literal_value(value));
                }
            }
            Node::Leaf(_) | Node::Placeholder(_) => {}
            Node::Operator(..) => match self.prepared.regions().short_circuit(id) {
                Some(_) => self.visit_where(id, destination),
                None => self.visit_operator(id, destination),
            },
        }
    }

    fn visit_operator(&mut self, id: NodeId, destination: Option<ValueId>) {
        if self.prepared.fault(id).is_some() {
            self.tasks.push(Task::Operate(id, destination));
            return;
        }
        let mut operands = match self.viewed(id) {
            Some((source, _)) => vec![source],
            None => self.prepared.graph().operands(id).to_vec(),
        };
        if self.assembles(id) {
            return self.visit_tuple(id, &operands, destination);
        }
        self.needs.sort(&mut operands);
        self.tasks.push(Task::Operate(id, destination));
        self.tasks.extend(operands.iter().rev().map(|o| Task::Visit(*o, None)));
    }

    fn assembles(&self, id: NodeId) -> bool {
        let overload = self.prepared.signature(id).and_then(|s| s.overload.as_ref());
        overload.is_some_and(|o| o.assembles())
    }

    /// Operands that only this tuple uses are computed in their fields.
    fn visit_tuple(&mut self, id: NodeId, operands: &[NodeId], destination: Option<ValueId>) {
        let result = destination.unwrap_or_else(|| self.temporary(id));
        self.tasks.push(Task::Operate(id, Some(result)));
        let mut visits: Vec<(NodeId, Option<ValueId>)> = Vec::new();
        for (field, operand) in operands.iter().enumerate() {
            let in_place = self.uses[operand.index()] == 1 && self.computes(*operand);
            let place = in_place.then(|| {
                let qtype = self.stored_type(*operand);
                self.emission.value(qtype, Role::Field(result, field))
            });
            visits.push((*operand, place));
        }
        visits.sort_by_key(|(o, _)| std::cmp::Reverse(self.needs.rank(*o)));
        self.tasks.extend(visits.into_iter().rev().map(|(o, place)| Task::Visit(o, place)));
    }

    /// True if a node's value is written by an instruction of its own.
    fn computes(&self, id: NodeId) -> bool {
        let operator = self.prepared.signature(id).is_some_and(|s| s.overload.is_some());
        (operator || self.prepared.packed(id).is_some()) && self.prepared.fault(id).is_none()
    }

    fn visit_where(&mut self, id: NodeId, destination: Option<ValueId>) {
        let result = destination.unwrap_or_else(|| self.temporary(id));
        self.tasks.push(Task::Branch(id, result));
        let mut first = vec![self.prepared.graph().operands(id)[0]];
        first.extend_from_slice(self.dependencies.get(id.index()).map_or(&[][..], Vec::as_slice));
        self.needs.sort(&mut first);
        self.tasks.extend(first.into_iter().rev().map(|o| Task::Visit(o, None)));
    }

    fn branch(&mut self, id: NodeId, result: ValueId) {
        let [condition, yes, _] = *self.prepared.graph().operands(id) else { return };
        let condition = self.operand(condition);
        let span = self.prepared.graph().span(id);
        let jump = self.emission.body.push(Instruction::JumpIfNot { condition, offset: 0 }, span);
        self.of_node[id.index()] = Some(result);
        self.tasks.push(Task::Else(id, result, jump));
        self.visit_branch(id, yes, result);
    }

    fn start_false_branch(&mut self, id: NodeId, result: ValueId, jump: usize, reaches_end: bool) {
        let [_, _, no] = *self.prepared.graph().operands(id) else { return };
        let span = self.prepared.graph().span(id);
        let over = reaches_end.then(|| self.emission.body.push(Instruction::Jump { offset: 0 }, span));
        self.emission.body.jump_to_here(jump);
        self.tasks.push(Task::End(over));
        self.visit_branch(id, no, result);
    }

    /// Emits the root of a branch, in place if only this `where` uses it.
    fn visit_branch(&mut self, id: NodeId, root: NodeId, result: ValueId) {
        let (yes, no) = match self.prepared.regions().branches(id) {
            Some(both) => both,
            None => return,
        };
        let inside = self.prepared.regions().of(root).is_some_and(|r| r == yes || r == no);
        let in_place = inside && self.uses[root.index()] == 1 && self.computes(root);
        self.tasks.push(Task::Deliver(root, result));
        self.tasks.push(Task::Visit(root, in_place.then_some(result)));
    }

    fn deliver(&mut self, id: NodeId, result: ValueId) -> Result<(), PrepareError> {
        let value = self.operand(id);
        if value == result {
            return Ok(());
        }
        let span = self.prepared.graph().span(id);
        self.emission.push_named("core._copy", &[value], result, span)
    }

    fn operate(&mut self, id: NodeId, destination: Option<ValueId>) -> Result<(), PrepareError> {
        if let Some(fault) = self.prepared.fault(id) {
            let trap = Trap { category: fault.category(), message: fault.to_string().into() };
            let trap = self.emission.body.add_trap(trap);
            self.emission.body.push(Instruction::Trap { trap }, self.prepared.graph().span(id));
            self.abandon_region();
            return Ok(());
        }
        if let Some((source, offset)) = self.viewed(id) {
            let role = Role::View(self.operand(source), offset);
            self.of_node[id.index()] = Some(self.emission.value(self.stored_type(id), role));
            return Ok(());
        }
        let operands: Vec<NodeId> = self.prepared.graph().operands(id).to_vec();
        let values: Vec<ValueId> = operands.iter().map(|o| self.operand(*o)).collect();
        let result = destination.unwrap_or_else(|| self.temporary(id));
        let span = self.prepared.graph().span(id);
        self.of_node[id.index()] = Some(result);
        if let Some(overload) = self.prepared.signature(id).and_then(|s| s.overload.as_ref()) {
            self.emission.push(overload, &values, result, span);
            return Ok(());
        }
        match self.prepared.packed(id) {
            Some(packed) => packed.emit(&mut Emitting { emission: self.emission, span }, &values, result),
            None => Err(PrepareError::PostCondition {
                step: "emit".to_owned(),
                what: format!(
                    "nothing computes {}",
                    crate::expr::print::print_graph(self.prepared.graph(), id)
                ),
            }),
        }
    }

    /// After a trap nothing in the region runs: its tasks go, up to the end of the branch.
    fn abandon_region(&mut self) {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Else(id, result, jump) => return self.start_false_branch(id, result, jump, false),
                Task::End(Some(jump)) => {
                    self.emission.body.jump_to_here(jump);
                    return;
                }
                // The true branch did not reach the end either, so what follows is not reached.
                Task::End(None)
                | Task::Visit(..)
                | Task::Operate(..)
                | Task::Branch(..)
                | Task::Deliver(..) => {}
            }
        }
    }

    /// The value of an operand, in its storage type.
    fn operand(&mut self, id: NodeId) -> ValueId {
        let value = self.of_node[id.index()].expect("operands are emitted before their users");
        let qtype = self.emission.values[value.index()].qtype.clone();
        let stored = qtype.storage();
        if qtype == stored || !matches!(self.emission.values[value.index()].role, Role::Input(_)) {
            return value;
        }
        let view = self.emission.value(stored, Role::View(value, 0));
        self.of_node[id.index()] = Some(view);
        view
    }

    /// For a node that only shows bytes of an operand: the operand, and where the bytes lie in it.
    fn viewed(&self, id: NodeId) -> Option<(NodeId, u32)> {
        let graph = self.prepared.graph();
        let operands = graph.operands(id);
        match &**graph.name(graph.operator(id)?) {
            "core.get_nth" => {
                let index = graph.value(operands[1])?.scalar()?.as_i64()?;
                let tuple = self.prepared.qtype(operands[0]).tuple()?;
                Some((operands[0], tuple.offset(usize::try_from(index).ok()?)))
            }
            "core.has._optional" => Some((operands[0], 0)),
            "derived_qtype.upcast" | "derived_qtype.downcast" => Some((operands[1], 0)),
            _ => None,
        }
    }

    /// The type a node's value has in a slot: stored form for scalars.
    fn stored_type(&self, id: NodeId) -> QType {
        self.prepared.qtype(id).storage()
    }

    fn temporary(&mut self, id: NodeId) -> ValueId {
        let qtype = self.stored_type(id);
        self.emission.value(qtype, Role::Temporary)
    }
}

/// For each `where`, the nodes outside its branches that its branches need.
fn dependencies(prepared: &Prepared, reached: &[bool]) -> Vec<Vec<NodeId>> {
    let regions = prepared.regions();
    if regions.is_empty() {
        return Vec::new();
    }
    let mut dependencies: Vec<Vec<NodeId>> = vec![Vec::new(); reached.len()];
    let mut depend = |inner: RegionId, operand: NodeId| {
        let Some(outer) = regions.of(operand) else { return };
        if outer != inner {
            let branch = regions.ancestor_at(inner, regions.depth(outer) + 1);
            let list = &mut dependencies[regions.get(branch).owner.index()];
            if list.last() != Some(&operand) {
                list.push(operand);
            }
        }
    };
    for id in (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at) {
        let Some(here) = regions.of(id) else { continue };
        for (position, operand) in prepared.graph().operands(id).iter().enumerate() {
            let region = match (regions.short_circuit(id), position) {
                (Some((yes, _)), 1) => yes,
                (Some((_, no)), 2) => no,
                _ => here,
            };
            depend(region, *operand);
        }
    }
    for list in &mut dependencies {
        list.sort_unstable();
        list.dedup();
    }
    dependencies
}

/// The emission as compile halves of extensions see it.
struct Emitting<'e> {
    emission: &'e mut Emission,
    span: Span,
}

impl Emitter for Emitting<'_> {
    fn qtype(&self, value: ValueId) -> QType {
        self.emission.values[value.index()].qtype.clone()
    }

    fn temporary(&mut self, qtype: QType) -> ValueId {
        self.emission.value(qtype.storage(), Role::Temporary)
    }

    fn literal(&mut self, value: Value) -> ValueId {
        self.emission.literal_value(&value)
    }

    fn operator(&mut self, name: &str, operands: &[ValueId], result: ValueId) -> Result<(), PrepareError> {
        self.emission.push_named(name, operands, result, self.span)
    }

    fn inline(&mut self, body: &Prepared, leaves: &[ValueId], result: ValueId) -> Result<(), PrepareError> {
        Walk::new(body, self.emission, leaves).run(result).map(|_| ())
    }

    fn here(&self) -> usize {
        self.emission.body.instructions().len()
    }

    fn jump_if_not(&mut self, condition: ValueId) -> usize {
        self.emission.body.push(Instruction::JumpIfNot { condition, offset: 0 }, self.span)
    }

    fn land(&mut self, jump: usize) {
        self.emission.body.jump_to_here(jump);
    }

    fn jump_back(&mut self, target: usize) {
        let jump = self.emission.body.push(Instruction::Jump { offset: 0 }, self.span);
        self.emission.body.set_target(jump, target);
    }
}
