//! Nodes that are not operators: leaves, selections, axes, functions.

use crate::dag::array::Array;
use crate::dag::error::DagError;
use crate::dag::graph::Graph;
use crate::dag::kind::{Axis, AxisOp, Clause, Dims, Kind, NodeId, Reduction};
use crate::dag::node::{IntoNode, Mixed, MixesWith, Node, Unknown};
use crate::dag::scalar::Scalar;

impl Graph {
    /// The node with an id.
    pub fn node(&self, id: u32) -> Option<Node> {
        let id = NodeId(id);
        (id.0 > 0 && self.data(id).is_some()).then(|| Node::new(self, id))
    }

    /// A value given at evaluation.
    pub fn placeholder(&self, name: &str) -> Node {
        Node::new(self, self.add(Kind::Placeholder { default: None }, name))
    }

    /// A value given at evaluation, with one for evaluations that give none.
    pub fn placeholder_with_default(&self, name: &str, default: impl Into<Scalar>) -> Node {
        Node::new(self, self.add(Kind::Placeholder { default: Some(default.into()) }, name))
    }

    /// A scalar.
    pub fn constant(&self, value: impl Into<Scalar>) -> Node {
        value.into().into_node(self)
    }

    /// An array that is part of the graph.
    pub fn timeseries_constant(&self, values: Array) -> Node {
        Node::made(self, Kind::TimeseriesConstant(values))
    }

    /// An array given at evaluation, without a default.
    pub fn timeseries_placeholder(&self, name: &str) -> Node {
        Node::new(self, self.add(Kind::TimeseriesPlaceholder, name))
    }

    /// A call of the function that the state supplies under this name, with arguments by position.
    ///
    /// # Panics
    /// An argument belongs to another graph.
    pub fn function_call<T>(&self, name: &str, args: &[&Node<T>]) -> Node {
        self.function_call_with(name, args, &[] as &[(&str, &Node<T>)])
    }

    /// A call of the function that the state supplies under this name, with arguments by position and by
    /// keyword.
    ///
    /// # Panics
    /// An argument belongs to another graph.
    pub fn function_call_with<T, U>(
        &self,
        name: &str,
        args: &[&Node<T>],
        kwargs: &[(&str, &Node<U>)],
    ) -> Node {
        let args = args.iter().map(|node| self.own(*node)).collect();
        let kwargs = kwargs.iter().map(|(key, node)| ((*key).into(), self.own(*node))).collect();
        Node::new(self, self.add(Kind::FunctionCall { args, kwargs }, name))
    }

    /// Keeps the nodes of variants together: depends on the selector and all nodes of the branches.
    ///
    /// # Panics
    /// A node belongs to another graph.
    pub fn variant_selector<T>(
        &self,
        selector: &Node<T>,
        branches: &[(&str, &[Node])],
        merge_nodes: &[Node],
    ) -> Node {
        let own = |nodes: &[Node]| nodes.iter().map(|node| self.own(node)).collect::<Vec<_>>();
        Node::made(
            self,
            Kind::VariantSelector {
                selector: self.own(selector),
                branches: branches.iter().map(|(key, nodes)| ((*key).into(), own(nodes))).collect(),
                merge_nodes: own(merge_nodes),
            },
        )
    }

    /// The id of a node of this graph.
    fn own(&self, operand: impl IntoNode) -> NodeId {
        operand.into_node(self).id()
    }
}

/// The type of nodes whose operands are a node of type `C` and two others.
pub type MixedOfThree<C, A, B> = Mixed<Mixed<C, <A as IntoNode>::Type>, <B as IntoNode>::Type>;

/// `then` where the condition is true, else `otherwise`, which are nodes like others: both have values.
///
/// # Panics
/// The nodes belong to several graphs.
pub fn where_<C, A, B>(condition: &Node<C>, then: A, otherwise: B) -> Node<MixedOfThree<C, A, B>>
where
    A: IntoNode,
    B: IntoNode,
    C: MixesWith<A::Type>,
    Mixed<C, A::Type>: MixesWith<B::Type>,
{
    let graph = condition.graph();
    let (then, otherwise) = (graph.own(then), graph.own(otherwise));
    Node::made(graph, Kind::Where { condition: condition.id(), then, otherwise })
}

/// The value of the first clause, `(condition, value)`, whose condition is true, else the default. All
/// are evaluated; conditions must be truth values.
///
/// # Panics
/// The nodes belong to several graphs.
pub fn multi_clause_where<T, D>(clauses: &[(&Node<T>, &Node<T>)], default: &Node<D>) -> Node<Mixed<T, D>>
where
    T: MixesWith<D>,
{
    let graph = default.graph();
    let clauses = own_clauses(graph, clauses);
    Node::made(graph, Kind::MultiClauseWhere { clauses, default: default.id() })
}

/// As [`multi_clause_where`], for conditions that exclude each other; the companion, which tells that
/// they do, is evaluated before and not read.
///
/// # Panics
/// The nodes belong to several graphs.
pub fn exclusive_multi_clause_where<T, D, C>(
    clauses: &[(&Node<T>, &Node<T>)],
    default: &Node<D>,
    companion: &Node<C>,
) -> Node<Mixed<T, D>>
where
    T: MixesWith<D>,
{
    let graph = default.graph();
    let clauses = own_clauses(graph, clauses);
    let companion = graph.own(companion);
    Node::made(graph, Kind::ExclusiveMultiClauseWhere { clauses, default: default.id(), companion })
}

fn own_clauses<T>(graph: &Graph, clauses: &[(&Node<T>, &Node<T>)]) -> Vec<Clause> {
    clauses.iter().map(|(condition, value)| (graph.own(*condition), graph.own(*value))).collect()
}

/// When a piece of a [`piecewise`] function holds.
pub enum Condition<T = Unknown> {
    /// Where this node is true.
    Node(Node<T>),
    /// Everywhere, or nowhere.
    Literal(bool),
}

/// A function of pieces, each an expression and its condition; the first that holds counts. What comes
/// after the first literal `True` is dropped, and its expression is the default; without it the default
/// is NaN.
///
/// # Errors
/// There are no pieces.
///
/// # Panics
/// The nodes belong to several graphs.
pub fn piecewise<T>(pieces: &[(&Node<T>, Condition<T>)]) -> Result<Node<T>, DagError> {
    let (first, _) = pieces.first().ok_or(DagError::NoClauses)?;
    let graph = first.graph();
    let always = pieces.iter().position(|(_, condition)| matches!(condition, Condition::Literal(true)));
    let clauses: Vec<Clause> = pieces[..always.unwrap_or(pieces.len())]
        .iter()
        .map(|(value, condition)| match condition {
            Condition::Node(condition) => (graph.own(condition), graph.own(*value)),
            Condition::Literal(condition) => (graph.own(*condition), graph.own(*value)),
        })
        .collect();
    let default = always.map_or_else(|| graph.own(f64::NAN), |at| graph.own(pieces[at].0));
    let id = match clauses.is_empty() {
        true => default,
        false => graph.add(Kind::MultiClauseWhere { clauses, default }, ""),
    };
    Ok(Node::new(graph, id))
}

/// Reductions as methods: one that keeps the reduced axes with size 1, and one that drops them.
macro_rules! reductions {
    ($($reduction:ident $keep:ident $drop:ident $what:literal;)*) => {
        impl<T> Node<T> {
            $(
                #[doc = concat!($what, " over axes, which stay with size 1.")]
                pub fn $keep(&self, axis: impl Into<Axis>) -> Node<T> {
                    self.on_axis(AxisOp::Reduce(Reduction::$reduction, Dims::Keep), axis)
                }

                #[doc = concat!($what, " over axes, which go.")]
                pub fn $drop(&self, axis: impl Into<Axis>) -> Node<T> {
                    self.on_axis(AxisOp::Reduce(Reduction::$reduction, Dims::Drop), axis)
                }
            )*
        }
    };
}

reductions! {
    Sum project_using_sum reduce_sum "The sum";
    Mean project_using_mean reduce_mean "The mean";
    Min project_using_min reduce_min "The smallest element";
    Max project_using_max reduce_max "The largest element";
    Std project_using_std reduce_std "The standard deviation of the population";
    Var project_using_var reduce_var "The variance of the population";
    Median project_using_median reduce_median "The median";
    Prod project_using_prod reduce_prod "The product";
    Any project_using_any reduce_any "Whether some element is true,";
    All project_using_all reduce_all "Whether all elements are true,";
    CountNonzero project_using_count_nonzero reduce_count_nonzero "The number of elements that are not zero";
}

impl<T> Node<T> {
    /// The `q`-quantile over axes, which stay with size 1; linear between neighbours.
    pub fn project_using_quantile(&self, axis: impl Into<Axis>, q: f64) -> Node<T> {
        self.on_axis(AxisOp::Quantile { q, dims: Dims::Keep }, axis)
    }

    /// The `q`-quantile over axes, which go; linear between neighbours.
    pub fn reduce_quantile(&self, axis: impl Into<Axis>, q: f64) -> Node<T> {
        self.on_axis(AxisOp::Quantile { q, dims: Dims::Drop }, axis)
    }

    /// Inserts axes of size 1 at these places of the result.
    pub fn expand_dims(&self, axis: impl Into<Axis>) -> Node<T> {
        self.on_axis(AxisOp::ExpandDims, axis)
    }

    /// Removes axes, which must have size 1.
    pub fn squeeze(&self, axis: impl Into<Axis>) -> Node<T> {
        self.on_axis(AxisOp::Squeeze, axis)
    }

    fn on_axis(&self, op: AxisOp, axis: impl Into<Axis>) -> Node<T> {
        Node::made(self.graph(), Kind::Axis { op, node: self.id(), axis: axis.into() })
    }
}
