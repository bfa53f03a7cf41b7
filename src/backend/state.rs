//! State: the values of the nodes of one graph, and what evaluating them needs.
//!
//! A state remembers: a node that has a value is never evaluated again, whether the value was set or
//! computed, and values stay when an evaluation fails. Another evaluation of the graph takes another state.

use crate::backend::compute::{Ahead, Context};
use crate::backend::console::{Console, Standard};
use crate::backend::error::EvalError;
use crate::backend::flags::Flags;
use crate::backend::function::Function;
use crate::backend::profile::Profile;
use crate::dag::printing::Spelling;
use crate::dag::{Array, DagError, Graph, Node, NodeId};
use cembra_vm::machine::SharedBudget;
use hashbrown::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The values of the nodes of a graph.
pub struct State {
    graph: Graph,
    /// By id.
    values: Vec<Option<Array>>,
    /// Nodes with values, in the order in which they got them.
    order: Vec<NodeId>,
    /// How many of `order` the trace has shown, or has been asked not to.
    pub(crate) announced: usize,
    pub(crate) functions: HashMap<Arc<str>, Function>,
    pub(crate) flags: Flags,
    pub(crate) spelling: Spelling,
    pub(crate) console: Box<dyn Console>,
    pub(crate) profile: Option<Profile>,
    /// What all evaluations may use up.
    pub(crate) budget: Arc<SharedBudget>,
    /// Bytes of the values that were computed.
    pub(crate) alive: AtomicU64,
    /// Results that are there before their turn: the step backend takes them instead of computing.
    pub(crate) ahead: HashMap<NodeId, Ahead>,
}

impl State {
    /// A state without values, with the flags of the environment, printing to the standard output.
    pub fn new(graph: &Graph) -> State {
        State {
            graph: graph.clone(),
            values: Vec::new(),
            order: Vec::new(),
            announced: 0,
            functions: HashMap::new(),
            flags: Flags::from_environment(),
            spelling: Spelling::Cembra,
            console: Box::new(Standard),
            profile: None,
            budget: Arc::default(),
            alive: AtomicU64::new(0),
            ahead: HashMap::new(),
        }
    }

    /// The same state whose evaluations use up this budget, instead of one with the limits of
    /// [`Budget::default`](cembra_vm::value::Budget).
    pub fn with_budget(self, budget: Arc<SharedBudget>) -> State {
        State { budget, ..self }
    }

    /// The same state with other flags.
    pub fn with_flags(self, flags: Flags) -> State {
        State { flags, ..self }
    }

    /// The same state printing elsewhere.
    pub fn with_console(self, console: impl Console + 'static) -> State {
        State { console: Box::new(console), ..self }
    }

    /// The same state measuring time and bytes of each node.
    pub fn with_profile(self) -> State {
        State { profile: Some(Profile::default()), ..self }
    }

    /// The same state with the texts of the published engine in its trace.
    pub fn with_spelling(self, spelling: Spelling) -> State {
        State { spelling, ..self }
    }

    /// Supplies the function of a name.
    pub fn set_function(&mut self, name: &str, function: Function) {
        self.functions.insert(name.into(), function);
    }

    /// Gives a node a value, a placeholder or any other; the node is not evaluated then, nor what only it
    /// needs.
    ///
    /// # Errors
    /// The node belongs to another graph.
    pub fn set_node_value<T>(&mut self, node: &Node<T>, value: Array) -> Result<(), EvalError> {
        self.check_graph(node)?;
        self.store(node.id(), value);
        Ok(())
    }

    /// The value of a node.
    ///
    /// # Errors
    /// It has none, or belongs to another graph.
    pub fn get_node_value<T>(&self, node: &Node<T>) -> Result<&Array, EvalError> {
        self.check_graph(node)?;
        let missing = || EvalError::NodeValueNotFound { node: node.data().place() };
        self.value(node.id()).ok_or_else(missing)
    }

    /// Nodes with values, in the order in which they got them.
    pub fn evaluated(&self) -> &[NodeId] {
        &self.order
    }

    /// Time and bytes of the nodes evaluated so far, if they are measured.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Its flags.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Its graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All values, by id.
    pub(crate) fn values(&self) -> &[Option<Array>] {
        &self.values
    }

    pub(crate) fn context(&self) -> Context<'_> {
        let State { graph, functions, spelling, budget, alive, profile, .. } = self;
        Context { graph, functions, spelling: *spelling, budget, alive, is_measured: profile.is_some() }
    }

    pub(crate) fn value(&self, id: NodeId) -> Option<&Array> {
        self.values.get(id.index()).and_then(Option::as_ref)
    }

    /// The value of a node, also one that waits for its turn.
    pub(crate) fn value_or_ahead(&self, id: NodeId) -> Option<&Array> {
        let ahead = || self.ahead.get(&id).and_then(|ahead| ahead.result.as_ref().ok());
        self.value(id).or_else(ahead)
    }

    pub(crate) fn store(&mut self, id: NodeId, value: Array) {
        if self.values.len() <= id.index() {
            self.values.resize(self.graph.largest_id() as usize, None);
        }
        if self.values[id.index()].replace(value).is_none() {
            self.order.push(id);
        }
    }

    pub(crate) fn check_graph<T>(&self, node: &Node<T>) -> Result<(), EvalError> {
        match self.graph.is_same(node.graph()) {
            true => Ok(()),
            false => Err(DagError::ForeignNode { id: node.id() }.into()),
        }
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = self.order.iter().map(|id| (id, self.value(*id)));
        f.debug_struct("State").field("values", &values.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
