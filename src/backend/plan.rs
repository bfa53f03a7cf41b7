//! Plan: the machine backend. A graph compiled for the types of its inputs, and used again.
//!
//! ```text
//! values of placeholders ─> program ─> user function ─> program ─> roots
//!                           └──────────── stages ────────────┘
//! ```
//!
//! A *stage* is one program of the machine, for all nodes whose types are known, and then the nodes the machine has
//! no operator for, each by the step backend: user functions, whose types are known only when they have been called,
//! and a few rarities ([`ToExpr`] says which). A graph without them is one program.
//!
//! 1. The programs are used as long as the same nodes are given values, and these have the same dtypes, numbers of
//!    axes and axes of size 1; sizes may change. What differs is compiled again, from the first stage that it
//!    concerns on. [`Plan::compilations`] counts programs.
//! 2. Values of the roots come into the state, and those of user functions, which are called at most once. Other
//!    nodes get values on request ([`Plan::with_all_values`]), and if the state traces, dumps, waits or measures:
//!    the values are then computed before their turn, and the step backend shows them in its order.
//! 3. The step backend has the say on errors. If a program fails, nobody asks why: the step backend evaluates what is
//!    left, and meets the error with the values before it. A budget that is used up is an error at once.
//! 4. A plan is about the graph as it was when the plan was made; later changes of nodes do not show.

use crate::backend::compiled::{Compiled, ProgramError};
use crate::backend::compute::Ahead;
use crate::backend::error::EvalError;
use crate::backend::flags::Flags;
use crate::backend::state::State;
use crate::backend::step::{self, Needed};
use crate::backend::trace;
use crate::compile::CompileError;
use crate::dag::graph::NodeData;
use crate::dag::kind::Kind;
use crate::dag::{Array, Dag, Element, Node, NodeId, ToExpr, ValueType};
use crate::expr::GraphError;
use cembra_vm::machine::BoundExpr;
use cembra_vm::value::nd_view::NdCell;
use hashbrown::HashSet;
use ndarray::ArrayViewD;
use std::sync::Arc;
use std::time::Instant;

/// A graph compiled for the types of its inputs.
#[derive(Debug, Default)]
pub struct Plan {
    dag: Dag,
    /// All nodes of the graph, each after its operands.
    nodes: Vec<Arc<NodeData>>,
    /// By id: the place among `nodes`.
    places: Vec<Option<usize>>,
    /// True if nodes have flags of their own.
    has_flags: bool,
    wants: Wants,
    threads: usize,
    /// Whose values the programs were compiled for, by place; and how many nodes were given values.
    roles: Vec<Role>,
    given: usize,
    compiled_for: Wants,
    stages: Vec<Stage>,
    /// Nodes behind the last stage, by place.
    remaining: Vec<usize>,
    compilations: usize,
    failure: Option<ProgramError>,
}

/// The results of [`Plan::call`].
#[derive(Debug)]
pub struct Results<'p> {
    plan: &'p Plan,
    /// The state, unless one program did it all.
    state: Option<State>,
}

impl Results<'_> {
    /// The value of a root.
    pub fn value(&self, root: &Node) -> Option<Array> {
        match &self.state {
            Some(state) => state.value(root.id()).cloned(),
            None => self.programs().find_map(|program| program.value(root.id())),
        }
    }

    /// The elements of a root of at least one axis, where they stand; nothing if they are of another type, or of one
    /// that the machine holds otherwise: int8, float16 and texts.
    pub fn view<T: Element + NdCell>(&self, root: &Node) -> Option<ArrayViewD<'_, T>> {
        let set = self.state.as_ref().and_then(|state| state.value(root.id())?.elements::<T>());
        set.map(|elements| elements.view()).or_else(|| self.programs().find_map(|p| p.view(root.id())))
    }

    fn programs(&self) -> impl Iterator<Item = &Compiled> {
        self.plan.stages.iter().filter_map(|stage| stage.program.as_ref())
    }
}

/// A program, and the nodes that are computed after it by the step backend.
#[derive(Debug)]
pub struct StageView<'p> {
    /// The program; none if nodes without an operator on the machine come first.
    pub program: Option<&'p BoundExpr>,
    /// The nodes, in order.
    pub apart: Vec<Node>,
}

/// Which values are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wants {
    #[default]
    Roots,
    All,
}

/// What a node is in an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Nobody needs it.
    Unneeded,
    /// It has a value of this type.
    Given(ValueType),
    /// It is to be computed.
    Computed,
}

/// A program, and the nodes that are computed after it one by one.
#[derive(Debug)]
struct Stage {
    program: Option<Compiled>,
    apart: Vec<usize>,
    /// All nodes of the stage, by place.
    nodes: Vec<usize>,
}

impl Plan {
    /// A plan without programs; the first evaluation compiles them.
    pub fn new(dag: &Dag) -> Plan {
        let mut plan = Plan { dag: dag.clone(), threads: 1, ..Plan::default() };
        for node in dag.leaves().chain(dag.body_nodes()).chain(&dag.roots) {
            plan.add(node.data());
        }
        plan
    }

    fn add(&mut self, data: Arc<NodeData>) {
        let index = data.id.index();
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        if self.places[index].is_none() {
            self.places[index] = Some(self.nodes.len());
            self.has_flags |= data.flags.trace || data.flags.breakpoint;
            self.nodes.push(data);
        }
    }

    /// The same plan, which gives values to all nodes that the roots need.
    pub fn with_all_values(self) -> Plan {
        Plan { wants: Wants::All, ..self }
    }

    /// The same plan on this many threads, where arrays are large. Results do not depend on it.
    pub fn with_threads(self, threads: usize) -> Plan {
        Plan { threads, ..self }
    }

    /// Programs compiled so far.
    pub fn compilations(&self) -> usize {
        self.compilations
    }

    /// The stages of the last evaluation, in order.
    pub fn stages(&self) -> impl Iterator<Item = StageView<'_>> {
        let node = |place: &usize| {
            let id = self.nodes[*place].id;
            self.dag
                .graph()
                .and_then(|graph| graph.node(id.number()))
                .expect("the plan is about nodes of the graph")
        };
        self.stages.iter().map(move |stage| StageView {
            program: stage.program.as_ref().map(Compiled::bound),
            apart: stage.apart.iter().map(node).collect(),
        })
    }

    /// Why the last evaluation was left to the step backend, if a program failed.
    pub fn failure(&self) -> Option<&ProgramError> {
        self.failure.as_ref()
    }

    /// Evaluates what the roots need, as [`step::evaluate_dag`] does.
    ///
    /// # Errors
    /// As [`step::evaluate_dag`].
    pub fn evaluate(&mut self, state: &mut State) -> Result<Option<Array>, EvalError> {
        let Some(last_root) = self.dag.roots.last() else { return Ok(None) };
        self.dag.roots.iter().try_for_each(|root| state.check_graph(root))?;
        let last = self.dag.body_nodes().next_back().unwrap_or(last_root).id();
        if self.dag.roots.iter().all(|root| state.value(root.id()).is_some()) {
            return step::evaluate_dag(state, &self.dag);
        }
        trace::announce(state);
        let is_shown = self.has_flags || state.flags.shows() || state.profile.is_some();
        let wants = if is_shown { Wants::All } else { self.wants };
        let is_complete = self.compute_ahead(state, wants);
        if let Some(exhausted) = self.failure.as_ref().and_then(ProgramError::exhausted) {
            state.ahead.clear();
            return Err(exhausted);
        }
        if is_complete && !is_shown {
            self.store(state);
            return Ok(state.value(last).cloned());
        }
        let result = step::evaluate_dag(state, &self.dag);
        state.ahead.clear();
        result
    }

    /// Computes what it can before its turn, for another evaluation of the same nodes on the same state, which then
    /// only shows them.
    pub fn compute_before_its_turn(&mut self, state: &mut State) {
        self.compute_ahead(state, Wants::All);
    }

    /// Nodes that the last evaluation left to the step backend.
    pub fn left(&self) -> impl Iterator<Item = NodeId> {
        self.remaining.iter().map(|place| self.nodes[*place].id)
    }

    /// Evaluates for these values without a state, for loops over small graphs: the results stay where the program
    /// has left them, until the next evaluation. Graphs that call user functions need a state.
    ///
    /// # Errors
    /// As [`Plan::evaluate`].
    pub fn call(&mut self, values: &[(&Node, &Array)]) -> Result<Results<'_>, EvalError> {
        let find = |id: NodeId| values.iter().find(|(node, _)| node.id() == id).map(|(_, array)| *array);
        let takes_its_place = |(node, _): &(&Node, &Array)| {
            self.role(node.id()) != Role::Computed && node.graph().is_same(self.dag.roots[0].graph())
        };
        let is_single =
            self.stages.len() == 1 && self.remaining.is_empty() && values.iter().all(takes_its_place);
        if let ([Stage { program: Some(program), apart, .. }], true) = (&mut self.stages[..], is_single)
            && apart.is_empty()
            && program.input_count() == self.given
            && program.fits(find)
            && program.run(self.threads, None, find).is_ok()
        {
            return Ok(Results { plan: self, state: None });
        }
        let Some(graph) = self.dag.graph() else { return Ok(Results { plan: self, state: None }) };
        let mut state = State::new(graph).with_flags(Flags::default());
        for (node, array) in values {
            state.set_node_value(node, (*array).clone())?;
        }
        self.evaluate(&mut state)?;
        Ok(Results { plan: self, state: Some(state) })
    }

    /// Moves results into the state, each after its operands.
    fn store(&self, state: &mut State) {
        for stage in &self.stages {
            let outputs = stage.program.iter().flat_map(Compiled::output_nodes);
            let apart = stage.apart.iter().map(|place| self.nodes[*place].id);
            for id in outputs.chain(apart) {
                if let Some(Ahead { result: Ok(value), .. }) = state.ahead.remove(&id) {
                    state.store(id, value);
                }
            }
        }
        state.announced = state.evaluated().len();
    }

    /// Runs the stages; false if something is left.
    fn compute_ahead(&mut self, state: &mut State, wants: Wants) -> bool {
        if !self.fits(state, wants) {
            self.assign_roles(state, wants);
        }
        self.failure = self.run_stages(state).err();
        self.failure.is_none() && self.remaining.is_empty()
    }

    fn run_stages(&mut self, state: &mut State) -> Result<(), ProgramError> {
        for at in 0.. {
            if self.stages.get(at).is_some_and(|stage| !stage.fits(state)) {
                self.forget_from(at);
            }
            if at == self.stages.len() {
                match self.next_stage(state) {
                    Ok(Some(stage)) => self.stages.push(stage),
                    Ok(None) => break,
                    Err(error) => {
                        // What is left is not known: the next evaluation begins anew.
                        self.roles.clear();
                        self.stages.clear();
                        return Err(error);
                    }
                }
            }
            self.run_stage(at, state)?;
        }
        Ok(())
    }

    /// True if the values in the state are those that the programs were compiled for.
    fn fits(&self, state: &State, wants: Wants) -> bool {
        let mut given = 0;
        let fits = |id: &NodeId| match self.role(*id) {
            Role::Unneeded => true,
            Role::Computed => false,
            Role::Given(of) => {
                given += 1;
                state.value(*id).is_some_and(|value| ValueType::of(value) == of)
            }
        };
        !self.roles.is_empty()
            && wants == self.compiled_for
            && state.evaluated().iter().all(fits)
            && given == self.given
    }

    fn role(&self, id: NodeId) -> Role {
        let place = self.places.get(id.index()).copied().flatten();
        place.map_or(Role::Unneeded, |place| self.roles[place])
    }

    /// Which nodes are needed, by the values in the state.
    fn assign_roles(&mut self, state: &State, wants: Wants) {
        (self.stages, self.compiled_for) = (Vec::new(), wants);
        let needed = Needed::new(state, &self.dag);
        let role = |data: &Arc<NodeData>| match state.value(data.id) {
            _ if !needed.contains(data.id) => Role::Unneeded,
            Some(value) => Role::Given(ValueType::of(value)),
            None => Role::Computed,
        };
        self.roles = self.nodes.iter().map(role).collect();
        self.given = self.roles.iter().filter(|role| matches!(role, Role::Given(_))).count();
        let computed = self.roles.iter().enumerate().filter(|(_, role)| **role == Role::Computed);
        self.remaining = computed.map(|(place, _)| place).collect();
    }

    /// Drops stages, whose nodes are then to be planned again.
    fn forget_from(&mut self, at: usize) {
        for stage in self.stages.drain(at..) {
            self.remaining.extend(stage.nodes);
        }
        self.remaining.sort_unstable();
    }
}

impl Plan {
    /// The next stage: what can be computed from values that are there. Nothing if nothing can.
    fn next_stage(&mut self, state: &State) -> Result<Option<Stage>, ProgramError> {
        if self.remaining.is_empty() {
            return Ok(None);
        }
        let mut expr = ToExpr::new();
        let mut sorted: [Vec<usize>; 3] = Default::default();
        for place in std::mem::take(&mut self.remaining) {
            let sort = self.sort(place, &mut expr, state).map_err(CompileError::from)?;
            sorted[sort as usize].push(place);
        }
        let outputs = self.outputs(&sorted, &expr);
        let [lowered, apart, deferred] = sorted;
        self.remaining = deferred;
        let program = match outputs.is_empty() {
            true => None,
            false => {
                self.compilations += 1;
                Some(Compiled::new(expr.finish(outputs))?)
            }
        };
        let nodes: Vec<usize> = lowered.iter().chain(&apart).copied().collect();
        Ok((!nodes.is_empty()).then_some(Stage { program, apart, nodes }))
    }

    fn sort(&self, place: usize, expr: &mut ToExpr, state: &State) -> Result<Sort, GraphError> {
        let data = &self.nodes[place];
        let operands = data.kind.operands();
        let value = |id: NodeId| state.value_or_ahead(id);
        let is_missing =
            matches!(data.kind, Kind::Placeholder { default: None } | Kind::TimeseriesPlaceholder);
        if is_missing || !operands.iter().all(|id| expr.has(*id) || value(*id).is_some()) {
            return Ok(Sort::Deferred);
        }
        for id in operands {
            if let Some(value) = value(id).filter(|_| !expr.has(id))
                && !expr.input(id, ValueType::of(value))?
            {
                return Ok(Sort::Apart);
            }
        }
        match expr.lower(data.id, &data.kind)? {
            true => Ok(Sort::Lowered),
            false => Ok(Sort::Apart),
        }
    }

    /// Lowered nodes whose values are wanted, or read where the program cannot reach.
    fn outputs(&self, [lowered, apart, deferred]: &[Vec<usize>; 3], expr: &ToExpr) -> Vec<NodeId> {
        let mut wanted: HashSet<NodeId> = self.dag.roots.iter().map(Node::id).collect();
        for place in apart.iter().chain(deferred) {
            wanted.extend(self.nodes[*place].kind.operands());
        }
        for place in lowered {
            // These are evaluated and not read.
            match &self.nodes[*place].kind {
                kind @ Kind::VariantSelector { .. } => wanted.extend(kind.operands()),
                Kind::ExclusiveMultiClauseWhere { companion, .. } => {
                    wanted.insert(*companion);
                }
                _ => {}
            }
        }
        let is_all = self.compiled_for == Wants::All;
        let is_wanted = |data: &NodeData| wanted.contains(&data.id) || (is_all && !data.kind.is_leaf());
        let lowered = lowered.iter().map(|place| &*self.nodes[*place]);
        lowered.filter(|data| is_wanted(data) && expr.has(data.id)).map(|data| data.id).collect()
    }

    /// Runs the program, then the nodes that are computed apart.
    fn run_stage(&mut self, at: usize, state: &mut State) -> Result<(), ProgramError> {
        let stage = &mut self.stages[at];
        if let Some(program) = &mut stage.program {
            let start = state.profile.is_some().then(Instant::now);
            let (budget, alive) = (state.budget.clone(), *state.alive.get_mut());
            program.run_within(&budget, alive, self.threads, |id| state.value_or_ahead(id))?;
            let (mut bytes, mut last) = (0, None);
            for (id, value) in program.outputs() {
                (bytes, last) = (bytes + value.byte_size(), Some(id));
                state.ahead.insert(id, Ahead { result: Ok(value), time: None });
            }
            *state.alive.get_mut() += bytes as u64;
            if let (Some(profile), Some(start), Some(last)) = (&mut state.profile, start, last) {
                profile.record_program(last, stage.nodes.len() - stage.apart.len(), start.elapsed(), bytes);
            }
        }
        for place in &stage.apart {
            let data = &self.nodes[*place];
            let ahead = state.context().timed(data, &|id| state.value_or_ahead(id));
            let is_error = ahead.result.is_err();
            state.ahead.insert(data.id, ahead);
            if is_error {
                return Err(ProgramError::Apart);
            }
        }
        Ok(())
    }
}

/// What becomes of a node in a stage.
enum Sort {
    Lowered,
    Apart,
    Deferred,
}

impl Stage {
    fn fits(&self, state: &State) -> bool {
        self.program.as_ref().is_none_or(|program| program.fits(|id| state.value_or_ahead(id)))
    }
}
