//! Guards: what raises by row runs for the rows that are needed.
//!
//! ```text
//! where(n != 0, 100 // n, 0)   ->   where(n != 0, 100 // (n & (n != 0)), 0)
//! ```
//!
//! A missing operand gives a missing result and never raises, and the choice does not look at it. Each operator
//! that may raise gets such an operand, unless its rows are needed always or jumps alone keep it from running
//! ([`needs`](crate::prepare::rows::needs) says where a node is needed):
//!
//! | what may raise | guard |
//! | --- | --- |
//! | each row | an operand is missing elsewhere; of arrays without presence, and for operators that raise for missing rows, it has a value elsewhere with which no row raises |
//! | a value that is no row | a `where` that jumps over it if no row needs it; over what uses it, if it has rows that nobody can count beforehand |
//!
//! A node is evaluated once, for all rows that somebody needs. The exception is a mask that needs the node in
//! some rows to say whether another user needs it in others, `where(where(c, x, 0) > 2, x, 1)`: there each
//! need has a node of its own.
//!
//! Nothing changes in expressions without choices between rows, nor where no operator can raise.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::prepare::rows::needs::{Choice, Need, NeedId, RowNeeds, choice};
use crate::prepare::rows::raising::{Raising, raising_nodes};
use crate::registry::define::LowerError;
use crate::registry::derived::{aggregate, nd};
use cembra_vm::builtins::nd::shape;
use cembra_vm::builtins::{bools, core};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{NdType, QType, ScalarType, ScalarValue, Value};
use hashbrown::{HashMap, HashSet};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;

/// The step.
///
/// # Errors
/// The graph is full.
pub fn guard_rows(mut draft: Draft) -> Result<Draft, PrepareError> {
    let reached = draft.reachable();
    let nodes = || (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at);
    let chooses = |id: NodeId| matches!(choice(&draft, id), Some(Choice::Rows | Choice::Whole));
    if !nodes().any(chooses) {
        return Ok(draft);
    }
    let needs = RowNeeds::new(&draft, &reached);
    let raising = raising_nodes(&draft, &needs, &reached);
    let is_guarded = |id: NodeId| raising[id.index()].is_some() && !needs.jumps(needs.of(id));
    if !nodes().any(is_guarded) {
        return Ok(draft);
    }
    let waits_for_itself = waits_for_itself(&draft, &needs, &raising, &reached);
    let most_values = 8 * reached.len() + 4096;
    let root = draft.root;
    let known = draft.graph.len();
    let mut guards = Guards {
        draft: &mut draft,
        known,
        needs,
        raising,
        waits_for_itself,
        most_values,
        values: HashMap::new(),
        masks: HashMap::from_iter([(NeedId::ALWAYS, None)]),
    };
    let root = guards.evaluate(root)?;
    draft.root = root;
    Ok(draft)
}

/// By node: true if the mask of its rows needs the node itself.
fn waits_for_itself(
    draft: &Draft,
    needs: &RowNeeds,
    raising: &[Option<Raising>],
    reached: &[bool],
) -> Vec<bool> {
    let nodes = reached.len();
    let mut graph: DiGraph<(), (), u32> = DiGraph::with_capacity(nodes + needs.count(), 4 * nodes);
    (0..nodes + needs.count()).for_each(|_| _ = graph.add_node(()));
    let vertex = |number: usize| petgraph::graph::NodeIndex::new(number);
    for index in (0..nodes).filter(|i| reached[*i]) {
        let id = NodeId::at(index);
        for operand in draft.graph.operands(id) {
            graph.add_edge(vertex(index), vertex(operand.index()), ());
        }
        if raising[index].is_some() {
            graph.add_edge(vertex(index), vertex(nodes + needs.of(id).index()), ());
        }
    }
    for need in needs.all() {
        for part in needs.parts(need) {
            graph.add_edge(vertex(nodes + need.index()), vertex(nodes + part.index()), ());
        }
        if let Need::Side { owner, .. } = needs.get(need) {
            let condition = draft.graph.operands(*owner)[0];
            graph.add_edge(vertex(nodes + need.index()), vertex(condition.index()), ());
        }
    }
    let mut waits = vec![false; nodes];
    for circle in kosaraju_scc(&graph).iter().filter(|circle| circle.len() > 1) {
        circle.iter().filter(|v| v.index() < nodes).for_each(|v| waits[v.index()] = true);
    }
    waits
}

/// Something to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Task {
    /// A node for the rows of a need.
    Value(NodeId, NeedId),
    /// The mask of a need.
    Mask(NeedId),
}

struct Guards<'d> {
    draft: &'d mut Draft,
    /// Nodes that there were before.
    known: usize,
    needs: RowNeeds,
    raising: Vec<Option<Raising>>,
    waits_for_itself: Vec<bool>,
    most_values: usize,
    /// What has been made of nodes.
    values: HashMap<(NodeId, NeedId), NodeId>,
    /// Masks; `None` for every row.
    masks: HashMap<NeedId, Option<NodeId>>,
}

impl Guards<'_> {
    /// The node with all that it needs, guarded.
    fn evaluate(&mut self, root: NodeId) -> Result<NodeId, PrepareError> {
        let first = Task::Value(root, NeedId::ALWAYS);
        let mut tasks = vec![first];
        let mut begun: HashSet<Task> = HashSet::new();
        while let Some(task) = tasks.last().copied() {
            if self.is_done(task) {
                tasks.pop();
                continue;
            }
            let wanted: Vec<Task> = self.wanted(task).into_iter().filter(|t| !self.is_done(*t)).collect();
            begun.insert(task);
            if wanted.is_empty() {
                self.make(task)?;
                begun.remove(&task);
            } else if wanted.iter().any(|t| begun.contains(t)) {
                self.give_up_mask(&mut tasks, &mut begun);
            } else {
                tasks.extend(wanted);
            }
        }
        Ok(self.values.get(&(root, NeedId::ALWAYS)).copied().unwrap_or(root))
    }

    /// Ends a circle of tasks: its last mask becomes that of every row.
    fn give_up_mask(&mut self, tasks: &mut Vec<Task>, begun: &mut HashSet<Task>) {
        while let Some(task) = tasks.pop() {
            if let (Task::Mask(need), true) = (task, begun.remove(&task)) {
                self.masks.insert(need, None);
                return;
            }
        }
    }

    fn is_done(&self, task: Task) -> bool {
        match task {
            Task::Value(id, need) => self.values.contains_key(&(id, need)),
            Task::Mask(need) => self.masks.contains_key(&need),
        }
    }

    /// What a task waits for.
    fn wanted(&mut self, task: Task) -> Vec<Task> {
        match task {
            Task::Value(id, here) => {
                let count = self.draft.graph.operands(id).len();
                let mut wanted: Vec<Task> =
                    (0..count).filter_map(|position| self.operand(id, here, position)).collect();
                if self.guard_of(id, here).is_some() {
                    wanted.push(Task::Mask(here));
                    wanted.push(Task::Mask(self.needs.any_row(self.draft, here)));
                }
                wanted
            }
            Task::Mask(need) => {
                let mut wanted: Vec<Task> = self.needs.parts(need).into_iter().map(Task::Mask).collect();
                if let Need::Side { owner, within, .. } = *self.needs.get(need) {
                    wanted.extend(self.operand(owner, within, 0));
                }
                wanted
            }
        }
    }

    /// How the node is guarded, if it is.
    fn guard_of(&self, id: NodeId, here: NeedId) -> Option<Raising> {
        self.raising[id.index()].filter(|_| !self.needs.jumps(here))
    }

    /// The task that makes an operand; `None` for a leaf or literal.
    fn operand(&mut self, id: NodeId, here: NeedId, position: usize) -> Option<Task> {
        let operand = self.draft.graph.operands(id)[position];
        self.draft.graph.operator(operand)?;
        let is_split = self.waits_for_itself[operand.index()] && self.values.len() < self.most_values;
        let need = match is_split {
            true => {
                let need = self.needs.of_operand(self.draft, id, here, position);
                self.needs.around(operand, need)
            }
            false => self.needs.of(operand),
        };
        Some(Task::Value(operand, need))
    }

    fn made(&mut self, id: NodeId, here: NeedId, position: usize) -> NodeId {
        match self.operand(id, here, position) {
            Some(Task::Value(operand, need)) => self.values[&(operand, need)],
            _ => self.draft.graph.operands(id)[position],
        }
    }

    fn make(&mut self, task: Task) -> Result<(), PrepareError> {
        let id = match task {
            Task::Value(id, _) => id,
            Task::Mask(need) => match *self.needs.get(need) {
                Need::Side { owner, .. } => owner,
                _ => self.draft.root,
            },
        };
        let made = match task {
            Task::Value(id, here) => {
                self.make_value(id, here).map(|made| _ = self.values.insert((id, here), made))
            }
            Task::Mask(need) => self.make_mask(need).map(|mask| _ = self.masks.insert(need, mask)),
        };
        made.map_err(|error| {
            let graph = &self.draft.graph;
            let operator = graph.operator(id).map_or_else(|| core::WHERE.into(), |op| graph.name(op).clone());
            PrepareError::of_node(graph.span(id), &operator, error)
        })
    }

    fn make_value(&mut self, id: NodeId, here: NeedId) -> Result<NodeId, LowerError> {
        let Some(operator) = self.draft.graph.operator(id) else { return Ok(id) };
        let span = self.draft.graph.span(id);
        let count = self.draft.graph.operands(id).len();
        let mut operands: Vec<NodeId> = (0..count).map(|position| self.made(id, here, position)).collect();
        let guard = self.guard_of(id, here);
        if guard == Some(Raising::ByRow)
            && let Some(mask) = self.masks[&here]
        {
            self.guard_operands(id, &mut operands, mask)?;
        }
        let mut made = id;
        if self.draft.graph.operands(id) != operands {
            made = self.draft.apply(operator, &operands, span)?;
            made = self.draft.fold_exact(made)?;
        }
        match guard {
            Some(Raising::Whole) => self.jump_over(made, here, span),
            _ => Ok(made),
        }
    }

    /// Operands with which no row outside of a mask raises.
    fn guard_operands(
        &mut self,
        id: NodeId,
        operands: &mut [NodeId],
        mask: NodeId,
    ) -> Result<(), LowerError> {
        let span = self.draft.graph.span(id);
        let overload = self.draft.signature(id).and_then(|s| s.overload.clone());
        let is_lifted = overload.as_ref().is_some_and(|overload| overload.misses_rows());
        let is_taken = |i: &usize| overload.as_ref().is_some_and(|overload| overload.takes_rows_of(*i));
        let is_array = |draft: &Draft, id: NodeId| draft.qtype_of(id).array().is_some();
        let has_presence = is_array(self.draft, id);
        if !(has_presence && is_lifted)
            && let Some((position, value)) = self.harmless_operand(id, operands)
        {
            operands[position] = self.choose(mask, operands[position], value, span)?;
            return Ok(());
        }
        let arrays: Vec<usize> = (0..operands.len())
            .filter(is_taken)
            .filter(|i| has_presence && is_array(self.draft, operands[*i]))
            .collect();
        let guarded = if is_lifted { &arrays[..arrays.len().min(1)] } else { &arrays[..] };
        for position in guarded {
            operands[*position] = self.exact(core::PRESENCE_AND, &[operands[*position], mask], span)?;
        }
        Ok(())
    }

    /// The operand with whose harmless value no row raises, and the value.
    fn harmless_operand(&mut self, id: NodeId, operands: &[NodeId]) -> Option<(usize, Value)> {
        let operator = self.draft.graph.operator(id)?;
        let def = self.draft.definition(operator).ok()?;
        let (position, number) = def.family.as_ref()?.harmless()?;
        let qtype = self.draft.qtype_of(*operands.get(position)?);
        let element = qtype.nd().map(NdType::element).or(qtype.element())?;
        let value = match element {
            ScalarType::Unit => ScalarValue::Unit,
            ScalarType::Int32 => ScalarValue::Int32(i32::from(number)),
            ScalarType::Int64 => ScalarValue::Int64(i64::from(number)),
            ScalarType::Float32 => ScalarValue::Float32(f32::from(number)),
            ScalarType::Float64 => ScalarValue::Float64(f64::from(number)),
            ScalarType::WeakFloat => ScalarValue::WeakFloat(f64::from(number)),
            _ => return None,
        };
        Some((position, Value::Scalar(value)))
    }

    /// The operand in the rows of a mask, else a value.
    fn choose(
        &mut self,
        mask: NodeId,
        operand: NodeId,
        value: Value,
        span: Span,
    ) -> Result<NodeId, LowerError> {
        let value = self.draft.value_node(value)?;
        let (operator, mask) = match self.draft.qtype_of(operand).nd().is_some() || self.is_nd(mask) {
            true => (shape::WHERE, self.truths_of(mask, span)?),
            false => (core::WHERE, mask),
        };
        self.exact(operator, &[mask, operand, value], span)
    }

    /// A value of which no row is needed is not evaluated.
    fn jump_over(&mut self, made: NodeId, here: NeedId, span: Span) -> Result<NodeId, LowerError> {
        let any = self.needs.any_row(self.draft, here);
        let Some(any) = self.masks[&any] else { return Ok(made) };
        let qtype = self.draft.qtype_of(made).clone();
        let default = match (&qtype, self.masks[&here]) {
            (QType::Array(t), Some(mask)) if self.draft.qtype_of(mask).array().is_some() => {
                let zero = self.draft.value_node(Value::Scalar(ScalarValue::zero(t.element)))?;
                self.exact(core::PRESENCE_AND, &[zero, mask], span)?
            }
            (QType::NdArray(t), Some(mask)) if self.is_nd(mask) => {
                let zero = self.draft.value_node(Value::Scalar(ScalarValue::zero(t.element())))?;
                let zeros = self.exact(shape::WHERE, &[mask, zero, zero], span)?;
                match *self.draft.qtype_of(zeros) == qtype {
                    true => zeros,
                    // It has other axes than the mask.
                    false => return Ok(made),
                }
            }
            // Nobody knows how many rows or elements the value has: who uses it is jumped over.
            (QType::Array(_) | QType::NdArray(_), _) => return Ok(made),
            // What uses an edge raises if it has other rows, and is not jumped over if the mask has none.
            (QType::Edge(_) | QType::EdgeToScalar(_), mask)
                if mask.is_none_or(|mask| self.draft.qtype_of(mask).array().is_none()) =>
            {
                return Ok(made);
            }
            _ => self.draft.value_node(Value::zero(&qtype))?,
        };
        let jump = self.exact(core::WHERE, &[any, made, default], span)?;
        if jump.index() >= self.known {
            self.draft.set_jumped_over(jump, made);
        }
        Ok(jump)
    }

    fn make_mask(&mut self, need: NeedId) -> Result<Option<NodeId>, LowerError> {
        match self.needs.get(need).clone() {
            Need::Always => Ok(None),
            Need::Side { owner, taken, within } => self.side_mask(owner, taken, within).map(Some),
            Need::AnyRow(within) => match self.masks[&within] {
                None => Ok(None),
                Some(mask) => self.any_row(mask).map(Some),
            },
            Need::OneOf(members) => {
                let Some(masks) = members.iter().map(|m| self.masks[m]).collect::<Option<Vec<NodeId>>>()
                else {
                    return Ok(None);
                };
                let mut masks = masks.into_iter();
                let Some(mut joined) = masks.next() else { return Ok(None) };
                for mask in masks {
                    joined = self.both((core::PRESENCE_OR, bools::LOGICAL_OR), joined, mask)?;
                }
                Ok(Some(joined))
            }
        }
    }

    fn side_mask(&mut self, owner: NodeId, taken: bool, within: NeedId) -> Result<NodeId, LowerError> {
        let span = self.draft.graph.span(owner);
        let mut mask = self.made(owner, within, 0);
        if self.draft.qtype_of(mask).element() == Some(ScalarType::Boolean) && !self.is_nd(mask) {
            let truth = self.draft.value_node(true)?;
            mask = self.exact(core::EQUAL, &[mask, truth], span)?;
        }
        if !taken {
            let not = if self.is_nd(mask) { bools::LOGICAL_NOT } else { core::PRESENCE_NOT };
            mask = self.exact(not, &[mask], span)?;
        }
        let Some(around) = self.masks[&within] else { return Ok(mask) };
        let is_scalar = |draft: &Draft, id: NodeId| draft.qtype_of(id).is_optional();
        if is_scalar(self.draft, around) && is_scalar(self.draft, mask) {
            // A condition that is not needed does not run.
            let missing = self.draft.value_node(Value::presence(false))?;
            return self.exact(core::WHERE, &[around, mask, missing], span);
        }
        self.both((core::PRESENCE_AND, bools::LOGICAL_AND), mask, around)
    }

    /// Two masks, joined by the operator for presence or by that for truths.
    fn both(&mut self, by: (&str, &str), a: NodeId, b: NodeId) -> Result<NodeId, LowerError> {
        let span = self.draft.graph.span(a);
        if self.is_nd(a) || self.is_nd(b) {
            let (a, b) = (self.truths_of(a, span)?, self.truths_of(b, span)?);
            return self.exact(by.1, &[a, b], span);
        }
        match self.draft.qtype_of(b).array().is_some() {
            true => self.exact(by.0, &[b, a], span),
            false => self.exact(by.0, &[a, b], span),
        }
    }

    fn any_row(&mut self, mask: NodeId) -> Result<NodeId, LowerError> {
        let span = self.draft.graph.span(mask);
        if !self.is_nd(mask) {
            let is_array = self.draft.qtype_of(mask).array().is_some();
            return if is_array { self.exact(aggregate::ANY, &[mask], span) } else { Ok(mask) };
        }
        let any = self.exact(nd::ANY, &[mask], span)?;
        let truth = self.draft.value_node(true)?;
        self.exact(core::EQUAL, &[any, truth], span)
    }

    /// A mask as truths, as arrays without presence have them.
    fn truths_of(&mut self, mask: NodeId, span: Span) -> Result<NodeId, LowerError> {
        if self.is_nd(mask) {
            return Ok(mask);
        }
        let (yes, no) = (self.draft.value_node(true)?, self.draft.value_node(false)?);
        self.exact(core::WHERE, &[mask, yes, no], span)
    }

    fn is_nd(&self, id: NodeId) -> bool {
        self.draft.qtype_of(id).nd().is_some()
    }

    fn exact(&mut self, operator: &str, args: &[NodeId], span: Span) -> Result<NodeId, LowerError> {
        self.draft.lowest(operator, args, span)
    }
}
