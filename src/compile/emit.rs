//! Emission of nodes: a depth-first walk with its own stack.
//!
//! A node's result is a new value, or the value its user gave it as *destination*: the output for the
//! root, the value of a `where` for the roots of its branches, a field's place for an operand of a
//! tuple.
//!
//! ```text
//! where(c, a, b) to v:    c; what the branches need from outside
//!                         jump_if_not(c) else
//!                         a to v
//!                         jump end
//!                 else:   b to v
//!                  end:
//! ```
//!
//! A node that a branch needs but that belongs to a region outside is a *dependency* of the `where`
//! whose branch leads there: it is emitted before the jump. A lazy node
//! ([`lazy`](crate::prepare::lazy)) is only *delayed* there, and *forced* wherever it is needed, at most
//! once on any path:
//!
//! ```text
//! delay x:    x = zero; known = missing          force x:    jump_if(known) end
//!                                                            x = …
//!                                                            known = present
//!                                                      end:
//! ```
//!
//! A lazy node with a single use needs none of this: it is emitted where its user is forced.
//!
//! What is emitted inside a branch or a forced node is forgotten at its end, so that the same nodes can
//! be emitted again in another place. An operator that always fails becomes a trap, and the rest of its
//! region is not emitted.

use crate::compile::emission::{Emission, Role};
use crate::compile::known::{Delayed, Known, Mark};
use crate::compile::order::{Needs, dependencies};
use crate::expr::{Node, NodeId};
use crate::prepare::emitter::Emitter;
use crate::prepare::prepared::Packed;
use crate::prepare::{PrepareError, Prepared};
use cembra_vm::builtins::core;
use cembra_vm::program::instruction::{Span, Trap};
use cembra_vm::program::{Instruction, Program, ValueId};
use cembra_vm::value::qtype::OPTIONAL_UNIT;
use cembra_vm::value::{QType, Value};
use hashbrown::HashMap;
use std::sync::Arc;

/// Emits a prepared expression.
///
/// # Errors
/// An extension cannot emit its operator, or there are more instructions than the limit allows.
pub fn emit(prepared: &Prepared, instruction_limit: usize) -> Result<Emission, PrepareError> {
    let mut emission = Emission::new(prepared, instruction_limit);
    let (inputs, output) = (emission.inputs.clone(), emission.output);
    emission.side_outputs = Walk::new(prepared, &mut emission, &inputs).run(output)?;
    Ok(emission)
}

/// What the walk still has to do, the last first.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// Emit a node and what it needs, its result to a value.
    Visit(NodeId, Option<ValueId>),
    /// Emit a node that a branch may need, or delay it if it is lazy.
    Provide(NodeId),
    /// What a lazy node needs is provided: note that it has no value yet.
    Delay(NodeId),
    /// A lazy node has been emitted: note that it has its value.
    Note(NodeId),
    /// The end of a forced node, with the jump around it, and what was known where it began.
    Forced(NodeId, usize, Mark),
    /// The operands are there: emit the operator itself.
    Operate(NodeId, Option<ValueId>),
    /// Condition and dependencies are there: jump, then the true branch.
    Branch(NodeId, ValueId),
    /// The true branch is done: jump over the false one. With the jump to it, and what was
    /// known where the true branch began.
    Else(NodeId, ValueId, usize, Mark),
    /// The false branch is done. With the jump to the end, if there is one, and what was known
    /// where the false branch began.
    End(Option<usize>, Mark),
    /// Copy a node's value unless it was computed in place.
    Deliver(NodeId, ValueId),
}

/// Emits one prepared expression into an emission.
struct Walk<'p, 'e> {
    prepared: &'p Prepared,
    emission: &'e mut Emission,
    known: Known,
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
        let mut known = Known::new(reached.len());
        let bound: HashMap<&str, ValueId> =
            prepared.inputs().iter().map(|(name, _)| &**name).zip(leaves.iter().copied()).collect();
        for id in (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at) {
            // A view shows its operand wherever the view is used.
            let times = if prepared.viewed(id).is_some() { 2 } else { 1 };
            prepared.graph().operands(id).iter().for_each(|o| uses[o.index()] += times);
            if let Node::Leaf(name) = prepared.graph().node(id)
                && let Some(value) = bound.get(&**prepared.graph().name(name))
            {
                known.set(id, *value);
            }
        }
        let dependencies = dependencies(prepared, &reached);
        let needs = Needs::new(prepared, &reached, &dependencies);
        Walk { prepared, emission, known, uses, dependencies, needs, tasks: Vec::new() }
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
                self.emission.check_length()?;
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
            Task::Provide(id) => self.provide(id),
            Task::Delay(id) => self.delay(id)?,
            Task::Note(id) => {
                if let Some(Delayed { known, .. }) = self.known.delayed(id) {
                    self.copy_literal(&Value::presence(true), known, id)?;
                }
            }
            Task::Forced(id, jump, began) => self.end_forced(id, jump, began),
            Task::Operate(id, destination) => self.operate(id, destination)?,
            Task::Branch(id, result) => self.branch(id, result),
            Task::Else(id, result, jump, began) => self.start_false_branch(id, result, jump, began, true),
            Task::End(jump, began) => {
                self.known.end_branch(began);
                if let Some(jump) = jump {
                    self.emission.body.jump_to_here(jump);
                }
            }
            Task::Deliver(id, result) => self.deliver(id, result)?,
        }
        Ok(())
    }

    fn visit(&mut self, id: NodeId, destination: Option<ValueId>) {
        if self.known.value(id).is_some() {
            return;
        }
        match self.prepared.graph().node(id) {
            Node::Literal(literal) => {
                // Literal types and operators have been used up; views name their type by one.
                if let Some(value) = literal.value() {
                    self.known.set(id, self.emission.literal_value(value));
                }
            }
            Node::Leaf(_) | Node::Placeholder(_) => {}
            Node::Operator(..) => match self.known.delayed(id) {
                Some(delayed) => self.force(id, delayed),
                None => self.visit_operands(id, destination),
            },
        }
    }

    fn visit_operands(&mut self, id: NodeId, destination: Option<ValueId>) {
        match self.prepared.regions().short_circuit(id) {
            Some(_) => self.visit_where(id, destination),
            None => self.visit_operator(id, destination),
        }
    }

    /// True for a lazy node that is delayed where its region begins, and forced where it is needed.
    fn is_delayed(&self, id: NodeId) -> bool {
        let value = self.uses[id.index()] > 1 && self.prepared.viewed(id).is_none();
        self.prepared.regions().is_lazy(id) && value && self.prepared.fault(id).is_none()
    }

    fn provide(&mut self, id: NodeId) {
        if !self.prepared.regions().is_lazy(id) {
            return self.visit(id, None);
        }
        if self.known.value(id).is_some() || self.known.delayed(id).is_some() {
            return;
        }
        if self.is_delayed(id) {
            self.tasks.push(Task::Delay(id));
        }
        let operands = match self.prepared.regions().short_circuit(id) {
            Some(_) => &self.prepared.graph().operands(id)[..1],
            None => self.prepared.graph().operands(id),
        };
        let outside = self.dependencies.get(id.index()).map_or(&[][..], Vec::as_slice);
        self.tasks.extend(outside.iter().chain(operands).map(|o| Task::Provide(*o)));
    }

    /// What the branches of a `where` need from outside.
    fn outside(&self, id: NodeId) -> &[NodeId] {
        self.dependencies.get(id.index()).map_or(&[][..], Vec::as_slice)
    }

    fn delay(&mut self, id: NodeId) -> Result<(), PrepareError> {
        let (value, known) = (self.temporary(id), self.emission.value(OPTIONAL_UNIT, Role::Temporary));
        let zero = Value::zero(&self.stored_type(id));
        self.copy_literal(&zero, value, id)?;
        self.copy_literal(&Value::presence(false), known, id)?;
        self.known.delay(id, Delayed { value, known });
        Ok(())
    }

    fn copy_literal(&mut self, literal: &Value, to: ValueId, id: NodeId) -> Result<(), PrepareError> {
        let literal = self.emission.literal_value(literal);
        self.emission.push_named(core::COPY, &[literal], to, self.prepared.graph().span(id))
    }

    fn force(&mut self, id: NodeId, delayed: Delayed) {
        let around = Instruction::JumpIf { condition: delayed.known, offset: 0 };
        let jump = self.emission.body.push(around, self.prepared.graph().span(id));
        self.tasks.extend([Task::Forced(id, jump, self.known.mark()), Task::Note(id)]);
        self.visit_operands(id, Some(delayed.value));
    }

    fn end_forced(&mut self, id: NodeId, jump: usize, began: Mark) {
        self.emission.body.jump_to_here(jump);
        self.known.end_forced(id, began);
    }

    fn visit_operator(&mut self, id: NodeId, destination: Option<ValueId>) {
        if self.prepared.fault(id).is_some() {
            self.tasks.push(Task::Operate(id, destination));
            return;
        }
        let mut operands = match self.prepared.viewed(id) {
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
            let in_place = self.computes_once(*operand);
            let place = in_place.then(|| {
                let qtype = self.stored_type(*operand);
                self.emission.value(qtype, Role::Field(result, field))
            });
            visits.push((*operand, place));
        }
        visits.sort_by_key(|(o, _)| std::cmp::Reverse(self.needs.rank(*o)));
        self.tasks.extend(visits.into_iter().rev().map(|(o, place)| Task::Visit(o, place)));
    }

    /// True if a node has a single use, and its value is written by an instruction of its own.
    fn computes_once(&self, id: NodeId) -> bool {
        if self.uses[id.index()] != 1 {
            return false;
        }
        let operator = self.prepared.signature(id).is_some_and(|s| s.overload.is_some());
        (operator || self.prepared.packed(id).is_some()) && self.prepared.fault(id).is_none()
    }

    fn visit_where(&mut self, id: NodeId, destination: Option<ValueId>) {
        let result = destination.unwrap_or_else(|| self.temporary(id));
        self.tasks.push(Task::Branch(id, result));
        let condition = self.prepared.graph().operands(id)[0];
        let mut first = vec![condition];
        first.extend_from_slice(self.outside(id));
        self.needs.sort(&mut first);
        self.tasks.extend(first.into_iter().rev().map(|o| match o == condition {
            true => Task::Visit(o, None),
            false => Task::Provide(o),
        }));
    }

    fn branch(&mut self, id: NodeId, result: ValueId) {
        let [condition, yes, _] = *self.prepared.graph().operands(id) else { return };
        let condition = self.operand(condition);
        let span = self.prepared.graph().span(id);
        let jump = self.emission.body.push(Instruction::JumpIfNot { condition, offset: 0 }, span);
        self.known.emitted(id, result);
        self.tasks.push(Task::Else(id, result, jump, self.known.mark()));
        self.visit_branch(id, yes, result);
    }

    fn start_false_branch(
        &mut self,
        id: NodeId,
        result: ValueId,
        jump: usize,
        began: Mark,
        reaches_end: bool,
    ) {
        self.known.end_branch(began);
        let [_, _, no] = *self.prepared.graph().operands(id) else { return };
        let span = self.prepared.graph().span(id);
        let over = reaches_end.then(|| self.emission.body.push(Instruction::Jump { offset: 0 }, span));
        self.emission.body.jump_to_here(jump);
        self.tasks.push(Task::End(over, self.known.mark()));
        self.visit_branch(id, no, result);
    }

    /// Emits the root of a branch, in place if only this `where` uses it.
    fn visit_branch(&mut self, id: NodeId, root: NodeId, result: ValueId) {
        let (yes, no) = match self.prepared.regions().branches(id) {
            Some(both) => both,
            None => return,
        };
        let inside = self.prepared.regions().of(root).is_some_and(|r| r == yes || r == no);
        let in_place = inside && self.computes_once(root);
        self.tasks.push(Task::Deliver(root, result));
        self.tasks.push(Task::Visit(root, in_place.then_some(result)));
    }

    fn deliver(&mut self, id: NodeId, result: ValueId) -> Result<(), PrepareError> {
        let value = self.operand(id);
        if value == result {
            return Ok(());
        }
        let span = self.prepared.graph().span(id);
        self.emission.push_named(core::COPY, &[value], result, span)
    }

    fn operate(&mut self, id: NodeId, destination: Option<ValueId>) -> Result<(), PrepareError> {
        if let Some(fault) = self.prepared.fault(id) {
            let trap = Trap { category: fault.category(), message: fault.to_string().into() };
            let trap = self.emission.body.add_trap(trap);
            self.emission.body.push(Instruction::Trap { trap }, self.prepared.graph().span(id));
            self.abandon_region();
            return Ok(());
        }
        if let Some((source, offset)) = self.prepared.viewed(id) {
            let role = Role::View(self.operand(source), offset);
            let view = self.emission.value(self.stored_type(id), role);
            self.known.emitted(id, view);
            return Ok(());
        }
        let operands: Vec<NodeId> = self.prepared.graph().operands(id).to_vec();
        let values: Vec<ValueId> = operands.iter().map(|o| self.operand(*o)).collect();
        let result = destination.unwrap_or_else(|| self.temporary(id));
        let span = self.prepared.graph().span(id);
        self.known.emitted(id, result);
        if let Some(overload) = self.prepared.signature(id).and_then(|s| s.overload.as_ref()) {
            self.emission.push(overload, &values, result, span);
            return Ok(());
        }
        match self.prepared.packed(id) {
            Some(Packed { compile, bodies }) => {
                compile.emit(&mut Emitting { emission: self.emission, bodies, span }, &values, result)
            }
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
                Task::Else(id, result, jump, began) => {
                    return self.start_false_branch(id, result, jump, began, false);
                }
                Task::End(Some(jump), began) => {
                    self.known.end_branch(began);
                    self.emission.body.jump_to_here(jump);
                    return;
                }
                Task::Forced(id, jump, began) => return self.end_forced(id, jump, began),
                // The true branch did not reach the end either, so what follows is not reached.
                Task::End(None, began) => self.known.end_branch(began),
                Task::Visit(..)
                | Task::Provide(_)
                | Task::Delay(_)
                | Task::Note(_)
                | Task::Operate(..)
                | Task::Branch(..)
                | Task::Deliver(..) => {}
            }
        }
    }

    /// The value of an operand, in its storage type.
    fn operand(&mut self, id: NodeId) -> ValueId {
        let value = self.known.value(id).expect("operands are emitted before their users");
        let qtype = self.emission.values[value.index()].qtype.clone();
        let stored = qtype.storage();
        if qtype == stored || !matches!(self.emission.values[value.index()].role, Role::Input(_)) {
            return value;
        }
        let view = self.emission.value(stored, Role::View(value, 0));
        self.known.set(id, view);
        view
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

/// The emission as compile halves of extensions see it.
struct Emitting<'e> {
    emission: &'e mut Emission,
    /// What is packed into the operator that is emitted.
    bodies: &'e [Prepared],
    span: Span,
}

impl Emitter for Emitting<'_> {
    fn qtype(&self, value: ValueId) -> QType {
        self.emission.values[value.index()].qtype.clone()
    }

    fn temporary(&mut self, qtype: QType) -> ValueId {
        self.emission.value(qtype.storage(), Role::Temporary)
    }

    fn presence(&mut self, optional: ValueId) -> ValueId {
        self.emission.value(OPTIONAL_UNIT, Role::View(optional, 0))
    }

    fn literal(&mut self, value: Value) -> ValueId {
        self.emission.literal_value(&value)
    }

    fn operator(&mut self, name: &str, operands: &[ValueId], result: ValueId) -> Result<(), PrepareError> {
        self.emission.push_named(name, operands, result, self.span)
    }

    fn inline(&mut self, body: usize, leaves: &[ValueId], result: ValueId) -> Result<(), PrepareError> {
        let start = self.here();
        Walk::new(&self.bodies[body], self.emission, leaves).run(result)?;
        self.emission.body.set_spans_from(start, self.span);
        Ok(())
    }

    fn call(&mut self, program: &Arc<Program>, operands: &[ValueId], result: ValueId) {
        self.emission.push_call(program, operands, result, self.span);
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
