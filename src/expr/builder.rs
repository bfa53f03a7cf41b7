//! ExprBuilder: expressions in Rust, with operators.
//!
//! ```
//! use cembra::expr::ExprBuilder;
//! # fn main() -> Result<(), cembra::expr::GraphError> {
//! let b = ExprBuilder::new();
//! let (x, y) = (b.leaf("x"), b.leaf("y"));
//! let expr = ((x + y) * (x + y) - 1.0).build()?;
//! assert_eq!(expr.to_string(), "_1 = x + y\n_1 * _1 - float64(1)");
//! # Ok(())
//! # }
//! ```
//!
//! Rust numbers become literals of their own type: `f64` FLOAT64, `i32` INT32. A builder that runs out
//! of nodes says so in `build`.

use crate::expr::expr::Expr;
use crate::expr::graph::{Copier, Graph, GraphError, NodeId};
use crate::expr::literal::Literal;
use cembra_vm::value::{QType, ScalarValue, Value};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Rem, Sub};
use std::sync::Arc;

/// Builds expressions that share one graph.
#[derive(Debug, Default)]
pub struct ExprBuilder {
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    graph: Graph,
    copier: Copier,
    /// The first error; nodes after it are meaningless.
    error: Option<GraphError>,
}

impl State {
    fn keep(&mut self, node: Result<NodeId, GraphError>) -> NodeId {
        node.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            NodeId(0)
        })
    }
}

/// A node under construction; copy it freely.
#[derive(Clone, Copy, Debug)]
pub struct ExprRef<'b> {
    builder: &'b ExprBuilder,
    id: NodeId,
}

impl ExprBuilder {
    /// A builder under the default node limit.
    pub fn new() -> ExprBuilder {
        ExprBuilder::default()
    }

    /// A builder that takes up to `limit` distinct nodes.
    pub fn with_limit(limit: usize) -> ExprBuilder {
        let state = State { graph: Graph::with_limit(limit), ..State::default() };
        ExprBuilder { state: RefCell::new(state) }
    }

    /// An input by name.
    pub fn leaf(&self, name: &str) -> ExprRef<'_> {
        self.make(|graph| graph.leaf(name))
    }

    /// A parameter by name, to be replaced before evaluation.
    pub fn placeholder(&self, name: &str) -> ExprRef<'_> {
        self.make(|graph| graph.placeholder(name))
    }

    /// A literal: a Rust number, bool or text, or any [`Value`].
    pub fn literal(&self, value: impl Into<Value>) -> ExprRef<'_> {
        let value = value.into();
        self.make(|graph| graph.add_literal(value))
    }

    /// A WEAK_FLOAT literal, which adopts the float type it meets.
    pub fn weak(&self, value: f64) -> ExprRef<'_> {
        self.literal(Value::Scalar(ScalarValue::WeakFloat(value)))
    }

    /// A type as an argument, as in `core.cast(x, INT64)`.
    pub fn qtype(&self, qtype: QType) -> ExprRef<'_> {
        self.make(|graph| graph.add_literal(Literal::Type(qtype)))
    }

    /// An operator as an argument, as in `seq.reduce(math.add, …)`.
    pub fn operator(&self, name: &str) -> ExprRef<'_> {
        let name: Arc<str> = name.into();
        self.make(|graph| graph.add_literal(Literal::Operator(name)))
    }

    /// An operator applied to all its arguments, defaults included.
    pub fn call<'b>(&'b self, operator: &str, args: &[ExprRef<'b>]) -> ExprRef<'b> {
        let operands: Vec<NodeId> = args.iter().map(|a| a.id).collect();
        self.make(|graph| {
            let operator = graph.symbol(operator);
            graph.apply(operator, &operands)
        })
    }

    /// `core.where`: one of two values, by a presence mask.
    pub fn select<'b>(
        &'b self,
        condition: ExprRef<'b>,
        yes: impl Operand<'b>,
        no: impl Operand<'b>,
    ) -> ExprRef<'b> {
        let (yes, no) = (yes.node(self), no.node(self));
        self.call("core.where", &[condition, yes, no])
    }

    /// A node of an existing expression, copied into this builder.
    pub fn import(&self, expr: &Expr) -> ExprRef<'_> {
        self.make(|graph| Ok(expr.graph().copy_into(graph, &[expr.root()])?[0]))
    }

    fn make(&self, make: impl FnOnce(&mut Graph) -> Result<NodeId, GraphError>) -> ExprRef<'_> {
        let mut state = self.state.borrow_mut();
        if state.error.is_some() {
            return ExprRef { builder: self, id: NodeId(0) };
        }
        let node = make(&mut state.graph);
        ExprRef { builder: self, id: state.keep(node) }
    }
}

impl<'b> ExprRef<'b> {
    /// The finished expression, in time of its own nodes, however many the builder has.
    ///
    /// # Errors
    /// The builder ran out of nodes.
    pub fn build(self) -> Result<Expr, GraphError> {
        let state = &mut *self.builder.state.borrow_mut();
        match &state.error {
            Some(error) => Err(error.clone()),
            None => Expr::copied(&mut state.copier, &state.graph, self.id),
        }
    }

    /// The builder it belongs to.
    pub fn builder(self) -> &'b ExprBuilder {
        self.builder
    }

    /// Its number; equal nodes of one builder have one number.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// An operator applied to this node.
    pub fn apply(self, operator: &str) -> ExprRef<'b> {
        self.builder.call(operator, &[self])
    }

    fn with(self, operator: &str, other: impl Operand<'b>) -> ExprRef<'b> {
        let other = other.node(self.builder);
        self.builder.call(operator, &[self, other])
    }
}

/// What can stand beside a node: another node, or a Rust value that becomes a literal.
pub trait Operand<'b> {
    /// The node in this builder.
    fn node(self, builder: &'b ExprBuilder) -> ExprRef<'b>;
}

impl<'b> Operand<'b> for ExprRef<'b> {
    fn node(self, builder: &'b ExprBuilder) -> ExprRef<'b> {
        debug_assert!(std::ptr::eq(builder, self.builder), "nodes of one builder combine");
        self
    }
}

macro_rules! rust_operands {
    ($($rust:ty),*) => {$(
        impl<'b> Operand<'b> for $rust {
            fn node(self, builder: &'b ExprBuilder) -> ExprRef<'b> {
                builder.literal(self)
            }
        }
    )*};
}

rust_operands!(f64, f32, i32, i64, bool, &str);

macro_rules! binary_operators {
    ($($trait:ident, $method:ident => $name:literal;)*) => {$(
        impl<'b, O: Operand<'b>> $trait<O> for ExprRef<'b> {
            type Output = ExprRef<'b>;

            fn $method(self, other: O) -> ExprRef<'b> {
                self.with($name, other)
            }
        }

        binary_operators!(@left $trait, $method, $name, f64);
        binary_operators!(@left $trait, $method, $name, f32);
        binary_operators!(@left $trait, $method, $name, i32);
        binary_operators!(@left $trait, $method, $name, i64);
    )*};
    (@left $trait:ident, $method:ident, $name:literal, $rust:ty) => {
        impl<'b> $trait<ExprRef<'b>> for $rust {
            type Output = ExprRef<'b>;

            fn $method(self, other: ExprRef<'b>) -> ExprRef<'b> {
                other.builder.literal(self).with($name, other)
            }
        }
    };
}

binary_operators! {
    Add, add => "math.add";
    Sub, sub => "math.subtract";
    Mul, mul => "math.multiply";
    Div, div => "math.divide";
    Rem, rem => "math.mod";
    BitAnd, bitand => "core.presence_and";
    BitOr, bitor => "core.presence_or";
}

impl<'b> Neg for ExprRef<'b> {
    type Output = ExprRef<'b>;

    fn neg(self) -> ExprRef<'b> {
        self.apply("math.neg")
    }
}

impl<'b> Not for ExprRef<'b> {
    type Output = ExprRef<'b>;

    fn not(self) -> ExprRef<'b> {
        self.apply("core.presence_not")
    }
}

macro_rules! named_operators {
    ($($(#[$doc:meta])* $method:ident => $name:literal;)*) => {
        impl<'b> ExprRef<'b> {
            $(
                $(#[$doc])*
                pub fn $method(self, other: impl Operand<'b>) -> ExprRef<'b> {
                    self.with($name, other)
                }
            )*
        }
    };
}

named_operators! {
    /// `math.pow`.
    pow => "math.pow";
    /// `math.floordiv`.
    floordiv => "math.floordiv";
    /// `math.maximum`.
    maximum => "math.maximum";
    /// `math.minimum`.
    minimum => "math.minimum";
    /// `core.equal`, a presence mask.
    equal => "core.equal";
    /// `core.not_equal`, a presence mask.
    not_equal => "core.not_equal";
    /// `core.less`, a presence mask.
    less => "core.less";
    /// `core.less_equal`, a presence mask.
    less_equal => "core.less_equal";
    /// `core.greater`, a presence mask.
    greater => "core.greater";
    /// `core.greater_equal`, a presence mask.
    greater_equal => "core.greater_equal";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_operators_build_nodes() {
        let b = ExprBuilder::new();
        let (x, y) = (b.leaf("x"), b.leaf("y"));
        let expr = b.select(x.less(0.5), 2.0 * x - y, -y % 3i64).build().expect("room");
        assert_eq!(expr.node_count(), 11);
        assert_eq!(expr.leaves().iter().map(|n| &**n).collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn deep_expressions_neither_recurse_nor_overflow() {
        let deep = || {
            let b = ExprBuilder::new();
            let x = b.leaf("x");
            let mut e = x;
            for i in 0..1_000_000 {
                e = e * x + f64::from(i);
            }
            e.build().expect("room")
        };
        let run = move || {
            let (first, second) = (deep(), deep());
            assert_eq!(first.node_count(), 3_000_001);
            assert!(first == second);
            assert!(first.to_string().len() > 8_000_000);
        };
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run);
        thread.expect("a thread").join().expect("no overflow");
    }

    #[test]
    fn a_full_builder_says_so() {
        let b = ExprBuilder::with_limit(2);
        let sum = b.leaf("x") + b.leaf("y") + 1.0;
        assert!(matches!(sum.build(), Err(GraphError::TooManyNodes { limit: 2 })));
    }
}
