//! Nodes of slopes, added to the typed graph of the expression whose slopes they are.
//!
//! The type rules of operators type the nodes of a draft, each when somebody first asks. Slopes have fewer axes than their
//! nodes, so operators along axes need to know both; axes are part of types.

use crate::autodiff::error::AutodiffError;
use crate::expr::{Expr, Graph, Literal, Node, NodeId, Symbol};
use crate::prepare::draft::Draft;
use crate::registry::derived::nd::axes_of;
use crate::registry::{Dialect, OperatorDef, Registry, TypeError};
use cembra_vm::builtins::math;
use cembra_vm::value::{QType, ScalarType};
use std::sync::Arc;

/// A slope; `None` is zero.
pub(super) type Slope = Option<NodeId>;

/// For each axis whether it is dynamic; unit axes are not. A scalar has no axes.
pub(super) type Dynamic = Vec<bool>;

/// The nodes of an expression and of the slopes so far.
#[derive(Debug)]
pub(super) struct SlopeBuilder {
    draft: Draft,
    /// Nodes below this number have a type, or cannot have one.
    typed: usize,
    /// How many nodes the expression has, operands first, the root last; all others are of slopes.
    pub(super) nodes: usize,
    /// How many leaves there are slopes by.
    leaves: usize,
}

impl SlopeBuilder {
    /// No nodes yet. Leaves have these types.
    pub(super) fn new(leaves: &[(&str, QType)], registry: &Registry, limit: usize) -> SlopeBuilder {
        let graph = Graph::with_limit(limit);
        let mut draft = Draft::new(graph, NodeId::at(0), registry.clone(), Dialect::default());
        draft.binds = false;
        draft.inputs = leaves.iter().map(|(name, qtype)| ((*name).into(), qtype.clone())).collect();
        SlopeBuilder { draft, typed: 0, nodes: 0, leaves: leaves.len() }
    }

    /// Adds the nodes of an expression, with defaults for the arguments left out, and gives its root.
    ///
    /// # Errors
    /// A leaf has no type, or there are too many nodes.
    pub(super) fn import(&mut self, expr: &Expr) -> Result<NodeId, AutodiffError> {
        let graph = expr.graph();
        let mut copies = vec![NodeId::at(0); graph.len()];
        for id in graph.post_order(&[expr.root()]) {
            copies[id.index()] = match graph.node(id) {
                Node::Leaf(name) => {
                    let name = graph.name(name);
                    let known = self.draft.inputs.iter().find(|(leaf, _)| leaf == name).cloned();
                    let (_, qtype) = known.ok_or_else(|| AutodiffError::Leaf { name: name.clone() })?;
                    let (leaf, number) = (self.draft.graph.leaf(name)?, self.draft.intern_type(&qtype));
                    self.draft.set_type(leaf, number);
                    leaf
                }
                Node::Placeholder(name) => self.draft.graph.placeholder(graph.name(name))?,
                Node::Literal(literal) => self.literal(literal.clone())?,
                Node::Operator(operator, operands) => {
                    let mut operands: Vec<NodeId> = operands.iter().map(|o| copies[o.index()]).collect();
                    let operator = self.draft.graph.symbol(graph.name(operator));
                    // What preparation refuses has no types, and so no axes; it says why.
                    for literal in self.defaults(operator, operands.len()).unwrap_or_default() {
                        operands.push(self.literal(literal)?);
                    }
                    self.draft.graph.apply(operator, &operands)?
                }
            };
            self.draft.graph.set_span(copies[id.index()], graph.span(id));
        }
        self.nodes = self.graph().len();
        Ok(copies[expr.root().index()])
    }

    fn defaults(&mut self, operator: Symbol, given: usize) -> Result<Vec<Literal>, TypeError> {
        self.draft.definition(operator)?.complete(given)
    }

    /// All nodes.
    pub(super) fn graph(&self) -> &Graph {
        &self.draft.graph
    }

    /// The operators.
    pub(super) fn registry(&self) -> &Registry {
        &self.draft.registry
    }

    /// The leaf of that name, if there is one.
    pub(super) fn leaf(&self, name: &str) -> Option<NodeId> {
        (0..self.graph().len()).map(NodeId::at).find(|id| match self.graph().node(*id) {
            Node::Leaf(leaf) => &**self.graph().name(leaf) == name,
            _ => false,
        })
    }

    /// The definition of an operator.
    ///
    /// # Errors
    /// Nobody defined it.
    pub(super) fn definition(&mut self, operator: Symbol) -> Result<Arc<OperatorDef>, AutodiffError> {
        let def = self.draft.definition(operator);
        def.map_err(|_| AutodiffError::NotDifferentiable { operator: self.graph().name(operator).clone() })
    }

    /// A product of two as they are, without factors of one; `None` if a factor is zero.
    pub(super) fn times(&mut self, x: NodeId, y: NodeId) -> Result<Slope, AutodiffError> {
        match (self.literal_number(x), self.literal_number(y)) {
            (Some(0.0), _) | (_, Some(0.0)) => Ok(None),
            (Some(1.0), _) => Ok(Some(y)),
            (_, Some(1.0)) => Ok(Some(x)),
            (Some(-1.0), _) => self.apply(math::NEG, &[y]).map(Some),
            (_, Some(-1.0)) => self.apply(math::NEG, &[x]).map(Some),
            _ => self.apply(math::MULTIPLY, &[x, y]).map(Some),
        }
    }

    /// A quotient. Slopes by several leaves share one over an array: a division takes as long as three multiplications.
    pub(super) fn quotient(&mut self, x: NodeId, y: NodeId) -> Result<Slope, AutodiffError> {
        if self.leaves < 2 || !self.is_array(y) {
            return self.apply(math::DIVIDE, &[x, y]).map(Some);
        }
        let one = self.literal(1.0)?;
        let reciprocal = self.apply(math::DIVIDE, &[one, y])?;
        self.product(x, reciprocal)
    }

    /// True unless the node is known to have one element.
    pub(super) fn is_array(&mut self, id: NodeId) -> bool {
        self.axes(id).is_none_or(|axes| axes.contains(&true))
    }

    /// The number that a literal is.
    pub(super) fn literal_number(&self, id: NodeId) -> Option<f64> {
        self.graph().value(id).and_then(|value| value.scalar()?.as_f64())
    }

    /// The slope as a node.
    pub(super) fn or_zero(&mut self, slope: Slope) -> Result<NodeId, AutodiffError> {
        slope.map_or_else(|| self.literal(0.0), Ok)
    }

    /// A literal.
    pub(super) fn literal(&mut self, literal: impl Into<Literal>) -> Result<NodeId, AutodiffError> {
        Ok(self.draft.literal_node(literal.into())?)
    }

    /// An operator with defaults for the arguments left out.
    pub(super) fn apply(&mut self, name: &str, operands: &[NodeId]) -> Result<NodeId, AutodiffError> {
        let operator = self.draft.graph.symbol(name);
        let defaults = self.defaults(operator, operands.len());
        let defaults = defaults.map_err(|error| AutodiffError::slope(name, error))?;
        let mut operands = operands.to_vec();
        for literal in defaults {
            operands.push(self.literal(literal)?);
        }
        Ok(self.draft.graph.apply(operator, &operands)?)
    }

    /// The axes of a node; `None` if its type is not known.
    pub(super) fn axes(&mut self, id: NodeId) -> Option<Dynamic> {
        let nd = self.qtype(id)?.nd();
        Some(nd.map_or_else(Vec::new, |t| t.units().map(|unit| !unit).collect()))
    }

    /// True if the values of a node change in steps: truths, masks, whole numbers.
    pub(super) fn has_steps_only(&mut self, id: NodeId) -> bool {
        use ScalarType::{Float32, Float64, WeakFloat};
        let element = self.qtype(id).and_then(QType::scalar_inside);
        element.is_some_and(|element| !matches!(element, Float32 | Float64 | WeakFloat))
    }

    /// The type of a node, if it has one.
    fn qtype(&mut self, id: NodeId) -> Option<&QType> {
        // Operands have smaller numbers, so nothing recurses.
        for next in (self.typed..=id.index()).map(NodeId::at) {
            let operands = self.draft.graph.operands(next);
            if operands.iter().all(|operand| self.draft.type_id(*operand).is_known()) {
                // What has no type has no known axes; preparation says why.
                let _ = self.draft.type_operator(next);
            }
        }
        self.typed = self.typed.max(id.index() + 1);
        self.draft.type_id(id).is_known().then(|| self.draft.qtype_of(id))
    }

    /// The axes that a literal argument names, of so many; `all` of them if it names none in particular. `None` if it is no
    /// such literal.
    pub(super) fn axes_argument(&self, argument: NodeId, rank: usize, all: &[usize]) -> Option<Vec<usize>> {
        let axes = axes_of(self.graph().literal(argument)?, rank, all.iter().copied())?;
        axes.ok().map(|axes| axes.iter().collect())
    }
}
