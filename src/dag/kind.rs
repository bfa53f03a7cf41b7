//! Kinds of nodes: what a node computes and which nodes it reads.
//!
//! Operands are ids in the node's own graph. [`Kind::operands`] gives them in *field order*, the order
//! in which linear sorting visits them; an operand can stand there more than once.

use crate::dag::array::Array;
use crate::dag::scalar::Scalar;
use cembra_vm::builtins::nd::reduce;
use cembra_vm::builtins::{bools, math};
use std::fmt;
use std::sync::Arc;

/// Number of a node in its graph, from 1 in the order of creation; prints as `n7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The place in tables by id, from 0.
    pub(crate) fn index(self) -> usize {
        self.0 as usize - 1
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// A node in messages: `n7 'total'`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlace {
    /// Its id.
    pub id: NodeId,
    /// Its name, or an empty text.
    pub name: Arc<str>,
}

impl fmt::Display for NodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.is_empty() {
            true => write!(f, "{}", self.id),
            false => write!(f, "{} '{}'", self.id, self.name),
        }
    }
}

/// Declares operators: one variant each with its name in the graph and in numpy, and what it is on the machine.
macro_rules! operators {
    ($(#[$meta:meta])* $name:ident -> $on_machine:ty { $($variant:ident $graph:literal $numpy:literal $operator:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("`np.", $numpy, "`.")] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The name in node texts, as `add`.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $graph,)* }
            }

            /// The name of the numpy function, as `negative`.
            pub fn numpy_name(self) -> &'static str {
                match self { $($name::$variant => $numpy,)* }
            }

            /// The operator of the machine.
            pub(crate) fn operator(self) -> $on_machine {
                match self { $($name::$variant => $operator,)* }
            }

            /// The operator with a name in node texts.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|operator| operator.name() == name)
            }
        }
    };
}

operators! {
    /// Element-wise functions of one array.
    UnaryOp -> &'static str {
        Negate "negate" "negative" math::NEG,
        LogicalNot "logical_not" "logical_not" bools::LOGICAL_NOT,
        Exp "exp" "exp" math::EXP,
        Log "log" "log" math::LOG,
    }
}

/// What an element-wise function of two arrays is on the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BinaryMeaning {
    /// An operator on numbers, for dtypes that have no other.
    Arithmetic(&'static str),
    /// A comparison.
    Comparison(&'static str),
    /// A comparison whose operands change places.
    Reversed(&'static str),
    /// An operator on truths.
    Logic(&'static str),
}
use BinaryMeaning::{Arithmetic, Comparison, Logic, Reversed};

operators! {
    /// Element-wise functions of two arrays, broadcast to one shape.
    BinaryOp -> BinaryMeaning {
        Add "add" "add" Arithmetic(math::ADD),
        Subtract "subtract" "subtract" Arithmetic(math::SUBTRACT),
        Multiply "multiply" "multiply" Arithmetic(math::MULTIPLY),
        Divide "divide" "divide" Arithmetic(math::DIVIDE),
        Power "power" "power" Arithmetic(math::POW),
        Maximum "maximum" "maximum" Arithmetic("graph._maximum"),
        Equal "equal" "equal" Comparison(bools::EQUAL),
        NotEqual "not_equal" "not_equal" Comparison(bools::NOT_EQUAL),
        Less "less" "less" Comparison(bools::LESS),
        LessEqual "less_equal" "less_equal" Comparison(bools::LESS_EQUAL),
        Greater "greater" "greater" Reversed(bools::LESS),
        GreaterEqual "greater_equal" "greater_equal" Reversed(bools::LESS_EQUAL),
        LogicalAnd "logical_and" "logical_and" Logic(bools::LOGICAL_AND),
        LogicalOr "logical_or" "logical_or" Logic(bools::LOGICAL_OR),
        LogicalXor "logical_xor" "logical_xor" Logic(bools::NOT_EQUAL),
    }
}

operators! {
    /// Reductions over axes, apart from [`AxisOp::Quantile`], which has a parameter.
    Reduction -> &'static str {
        Sum "sum" "sum" reduce::SUM,
        Mean "mean" "mean" reduce::MEAN,
        Min "min" "min" reduce::MIN,
        Max "max" "max" reduce::MAX,
        Std "std" "std" reduce::STD,
        Var "var" "var" reduce::VAR,
        Median "median" "median" reduce::MEDIAN,
        Prod "prod" "prod" reduce::PROD,
        Any "any" "any" reduce::ANY,
        All "all" "all" reduce::ALL,
        CountNonzero "count_nonzero" "count_nonzero" reduce::COUNT,
    }
}

/// What a reduction does with the axes it has reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dims {
    /// They stay with size 1: a projection, `project_using_sum`.
    Keep,
    /// They go: `reduce_sum`.
    Drop,
}

/// Operations on axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AxisOp {
    /// Inserts axes of size 1.
    ExpandDims,
    /// Removes axes of size 1.
    Squeeze,
    /// Reduces axes.
    Reduce(Reduction, Dims),
    /// Reduces axes to their quantile, with linear interpolation between neighbours.
    Quantile {
        /// The share of elements below, from 0 to 1.
        q: f64,
        /// What becomes of the axes.
        dims: Dims,
    },
}

/// An axis or several; negative numbers count from the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Prints as `axis=1`.
    One(isize),
    /// Prints as `axis=(0, 1)`.
    Many(Vec<isize>),
}

impl Axis {
    /// The numbers.
    pub fn numbers(&self) -> &[isize] {
        match self {
            Axis::One(axis) => std::slice::from_ref(axis),
            Axis::Many(axes) => axes,
        }
    }
}

impl From<isize> for Axis {
    fn from(axis: isize) -> Axis {
        Axis::One(axis)
    }
}

impl<const N: usize> From<[isize; N]> for Axis {
    fn from(axes: [isize; N]) -> Axis {
        Axis::Many(axes.into())
    }
}

/// A condition and the value where it holds.
pub type Clause = (NodeId, NodeId);

/// A key of a variant and its nodes.
pub type Branch = (Arc<str>, Vec<NodeId>);

/// What a node computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A scalar of the graph.
    Constant(Scalar),
    /// A value given at evaluation, or the default.
    Placeholder {
        /// The value if none is given.
        default: Option<Scalar>,
    },
    /// An array of the graph, usually over time.
    TimeseriesConstant(Array),
    /// An array given at evaluation; has no default.
    TimeseriesPlaceholder,
    /// A function of each element.
    Unary(UnaryOp, NodeId),
    /// A function of each pair of elements.
    Binary(BinaryOp, NodeId, NodeId),
    /// `then` where the condition is true, else `otherwise`, which are nodes like others: both have values.
    Where {
        /// Any element that is not zero, empty or false counts as true.
        condition: NodeId,
        /// Values where it is true.
        then: NodeId,
        /// Values where it is false.
        otherwise: NodeId,
    },
    /// The value of the first clause that holds; all are evaluated.
    MultiClauseWhere {
        /// Clauses in the order they are tried.
        clauses: Vec<Clause>,
        /// Values where none holds.
        default: NodeId,
    },
    /// As [`Kind::MultiClauseWhere`], with conditions that exclude each other; the companion is
    /// evaluated before and not read.
    ExclusiveMultiClauseWhere {
        /// Clauses in the order they are tried.
        clauses: Vec<Clause>,
        /// Values where none holds.
        default: NodeId,
        /// A further dependency.
        companion: NodeId,
    },
    /// Keeps the nodes of variants together: depends on the selector and the nodes of all branches;
    /// its own value is an empty array.
    VariantSelector {
        /// The node that chooses.
        selector: NodeId,
        /// Nodes of each branch.
        branches: Vec<Branch>,
        /// Nodes that join the branches; not dependencies.
        merge_nodes: Vec<NodeId>,
    },
    /// An operation on axes.
    Axis {
        /// The operation.
        op: AxisOp,
        /// The array.
        node: NodeId,
        /// Its axes.
        axis: Axis,
    },
    /// A function that the state supplies under the node's name.
    FunctionCall {
        /// Arguments by position.
        args: Vec<NodeId>,
        /// Arguments by keyword.
        kwargs: Vec<(Arc<str>, NodeId)>,
    },
}

impl Kind {
    /// Nodes read, in field order.
    pub fn operands(&self) -> Vec<NodeId> {
        match self {
            Kind::Constant(_)
            | Kind::Placeholder { .. }
            | Kind::TimeseriesConstant(_)
            | Kind::TimeseriesPlaceholder => Vec::new(),
            Kind::Unary(_, node) | Kind::Axis { node, .. } => vec![*node],
            Kind::Binary(_, left, right) => vec![*left, *right],
            Kind::Where { condition, then, otherwise } => vec![*condition, *then, *otherwise],
            Kind::MultiClauseWhere { clauses, default } => flat(clauses).chain([*default]).collect(),
            Kind::ExclusiveMultiClauseWhere { clauses, default, companion } => {
                flat(clauses).chain([*default, *companion]).collect()
            }
            Kind::VariantSelector { selector, branches, .. } => {
                std::iter::once(*selector).chain(branches.iter().flat_map(|(_, b)| b).copied()).collect()
            }
            Kind::FunctionCall { args, kwargs } => {
                args.iter().copied().chain(kwargs.iter().map(|(_, node)| *node)).collect()
            }
        }
    }

    /// The operation, as `add`; in node texts reductions have `reduce_` or `project_using_` before it.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Constant(_) => "constant",
            Kind::Placeholder { .. } => "placeholder",
            Kind::TimeseriesConstant(_) => "timeseries_constant",
            Kind::TimeseriesPlaceholder => "timeseries_placeholder",
            Kind::Unary(op, _) => op.name(),
            Kind::Binary(op, ..) => op.name(),
            Kind::Where { .. } => "where",
            Kind::MultiClauseWhere { .. } => "multi_clause_where",
            Kind::ExclusiveMultiClauseWhere { .. } => "exclusive_multi_clause_where",
            Kind::VariantSelector { .. } => "variant_selector",
            Kind::Axis { op: AxisOp::ExpandDims, .. } => "expand_dims",
            Kind::Axis { op: AxisOp::Squeeze, .. } => "squeeze",
            Kind::Axis { op: AxisOp::Reduce(reduction, _), .. } => reduction.name(),
            Kind::Axis { op: AxisOp::Quantile { .. }, .. } => "quantile",
            Kind::FunctionCall { .. } => "function_call",
        }
    }

    /// The single operand in the field of a name, as `left`.
    pub(crate) fn field_mut(&mut self, field: &str) -> Option<&mut NodeId> {
        match (self, field) {
            (Kind::Unary(_, node) | Kind::Axis { node, .. }, "node") => Some(node),
            (Kind::Binary(_, left, _), "left") => Some(left),
            (Kind::Binary(_, _, right), "right") => Some(right),
            (Kind::Where { condition, .. }, "condition") => Some(condition),
            (Kind::Where { then, .. }, "then") => Some(then),
            (Kind::Where { otherwise, .. }, "otherwise") => Some(otherwise),
            (
                Kind::MultiClauseWhere { default, .. } | Kind::ExclusiveMultiClauseWhere { default, .. },
                "default_value",
            ) => Some(default),
            (Kind::ExclusiveMultiClauseWhere { companion, .. }, "companion") => Some(companion),
            (Kind::VariantSelector { selector, .. }, "selector_node") => Some(selector),
            _ => None,
        }
    }

    /// True for values that are part of the graph.
    pub fn is_constant(&self) -> bool {
        matches!(self, Kind::Constant(_) | Kind::TimeseriesConstant(_))
    }

    /// True for values that come from outside.
    pub fn is_placeholder(&self) -> bool {
        matches!(self, Kind::Placeholder { .. } | Kind::TimeseriesPlaceholder)
    }

    /// True for what is not computed from operands.
    pub fn is_leaf(&self) -> bool {
        self.is_constant() || self.is_placeholder()
    }
}

fn flat(clauses: &[Clause]) -> impl Iterator<Item = NodeId> + '_ {
    clauses.iter().flat_map(|(condition, value)| [*condition, *value])
}
