//! Expressions of field programs: nodes of one store, each after its operands.
//!
//! ```text
//! -4*u + u[I-1]     0: literal -4.0   1: field u   2: mul(0, 1)   3: shift(1, I-1)   4: add(2, 3)
//! ```
//!
//! A node may be used many times. It has a value for each point of its dimensions; a statement evaluates it from the
//! contents that fields have before the statement. A name that a text or a `let` gives to a node is kept for printing.

use crate::field::dimension::DimensionId;
use crate::field::element::FieldLiteral;
use crate::field::error::FieldProblem;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::ScalarType;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Nodes that a program may have.
pub const MOST_FIELD_NODES: usize = 100_000;

/// Number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldNodeId(pub u32);

impl FieldNodeId {
    /// Place in the store.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a field among the inputs and outputs of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub usize);

/// Number of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldScalarId(pub usize);

/// Number of a neighbour table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub usize);

macro_rules! functions {
    ($(#[doc = $doc:literal])* $name:ident: $($(#[doc = $of:literal])* $variant:ident $word:literal,)*) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $of])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name in JSON.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// The one of this name.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|function| function.name() == name)
            }
        }
    };
}

functions! {
    /// Functions of one operand.
    FieldUnary:
    /// The negative number.
    Neg "neg",
    /// The absolute value.
    Abs "abs",
    /// The square root.
    Sqrt "sqrt",
    /// The exponential.
    Exp "exp",
    /// The natural logarithm.
    Log "log",
    /// The hyperbolic tangent.
    Tanh "tanh",
    /// The sine.
    Sin "sin",
    /// The cosine.
    Cos "cos",
    /// The tangent.
    Tan "tan",
    /// The angle of a sine.
    Arcsin "arcsin",
    /// The angle of a cosine.
    Arccos "arccos",
    /// The angle of a tangent.
    Arctan "arctan",
    /// The hyperbolic sine.
    Sinh "sinh",
    /// The hyperbolic cosine.
    Cosh "cosh",
    /// The inverse of the hyperbolic sine.
    Arcsinh "arcsinh",
    /// The inverse of the hyperbolic cosine.
    Arccosh "arccosh",
    /// The inverse of the hyperbolic tangent.
    Arctanh "arctanh",
    /// The cube root.
    Cbrt "cbrt",
    /// The gamma function.
    Gamma "gamma",
    /// The largest integer not above.
    Floor "floor",
    /// The smallest integer not below.
    Ceil "ceil",
    /// The integer part.
    Trunc "trunc",
    /// True of NaN.
    IsNan "isnan",
    /// True of both infinities.
    IsInf "isinf",
    /// True of all numbers but NaN and the infinities.
    IsFinite "isfinite",
    /// The other truth value.
    Not "not",
}

functions! {
    /// Functions of two operands.
    FieldBinary:
    /// Sum.
    Add "add",
    /// Difference.
    Sub "sub",
    /// Product.
    Mul "mul",
    /// Quotient of floats.
    Div "div",
    /// Quotient of integers, rounded towards minus infinity.
    FloorDiv "floordiv",
    /// Remainder of integers, with the sign of the divisor.
    Mod "mod",
    /// Power of floats, and of integers to an exponent that is a literal.
    Pow "pow",
    /// The smaller one; a NaN wins, of equal numbers the first.
    Min "min",
    /// The larger one; a NaN wins, of equal numbers the first.
    Max "max",
    /// Remainder with the sign of the dividend.
    Fmod "fmod",
    /// Less.
    Lt "lt",
    /// Less or equal.
    Le "le",
    /// Greater.
    Gt "gt",
    /// Greater or equal.
    Ge "ge",
    /// Equal.
    Eq "eq",
    /// Not equal.
    Ne "ne",
    /// Both are true.
    And "and",
    /// One is true, or both.
    Or "or",
    /// Exactly one is true.
    Xor "xor",
}

functions! {
    /// Reductions over neighbours.
    FieldReduction:
    /// Sum in the order of the row, from 0 on.
    Sum "neighbor_sum",
    /// The greatest.
    Max "max_over",
    /// The least.
    Min "min_over",
}

/// An integer that may depend on scalars: a bound of a domain. Terms stand behind their operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldBound(pub Vec<BoundTerm>);

/// A term of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundTerm {
    /// An integer.
    Literal(i64),
    /// An int32 scalar.
    Scalar(FieldScalarId),
    /// Sum of the two values before.
    Add,
    /// Difference of the two values before.
    Sub,
    /// Product of the two values before.
    Mul,
}

/// Why a bound has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundFault {
    /// It, or a part of it, is this number, which does not fit 32 bits.
    TooLarge(i64),
    /// The terms are no expression.
    NoExpression,
}

impl FieldBound {
    /// A fixed bound.
    pub fn literal(value: i64) -> FieldBound {
        FieldBound(vec![BoundTerm::Literal(value)])
    }

    /// The value of a scalar.
    pub fn scalar(id: FieldScalarId) -> FieldBound {
        FieldBound(vec![BoundTerm::Scalar(id)])
    }

    /// The scalars that it reads.
    pub fn scalars(&self) -> impl Iterator<Item = FieldScalarId> + '_ {
        self.0.iter().filter_map(|term| match term {
            BoundTerm::Scalar(id) => Some(*id),
            _ => None,
        })
    }

    /// Its value.
    ///
    /// # Errors
    /// It does not fit 32 bits, or the terms are no expression.
    pub fn evaluate(&self, scalar: impl Fn(FieldScalarId) -> Option<i64>) -> Result<i64, BoundFault> {
        let mut stack: Vec<i64> = Vec::new();
        let there = |value: Option<i64>| value.ok_or(BoundFault::NoExpression);
        for term in &self.0 {
            let value = match term {
                BoundTerm::Literal(value) => *value,
                BoundTerm::Scalar(id) => there(scalar(*id))?,
                BoundTerm::Add | BoundTerm::Sub | BoundTerm::Mul => {
                    let (right, left) = (there(stack.pop())?, there(stack.pop())?);
                    match term {
                        BoundTerm::Add => left + right,
                        BoundTerm::Sub => left - right,
                        _ => left * right,
                    }
                }
            };
            // Within 32 bits no operation on two values overflows 64.
            stack.push(i64::from(i32::try_from(value).map_err(|_| BoundFault::TooLarge(value))?));
        }
        let value = there(stack.pop())?;
        if stack.is_empty() { Ok(value) } else { Err(BoundFault::NoExpression) }
    }
}

/// How an index is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexComparison {
    /// Below.
    Lt,
    /// Not above.
    Le,
    /// Above.
    Gt,
    /// Not below.
    Ge,
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
}

/// A term of a condition on an index. Terms stand behind their operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexTerm {
    /// The index compared with a bound.
    Compare(IndexComparison, FieldBound),
    /// Both conditions before hold.
    And,
    /// One of the two conditions before holds.
    Or,
}

/// A condition on the index along one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexCondition {
    /// The dimension.
    pub dimension: DimensionId,
    /// What has to hold.
    pub terms: Vec<IndexTerm>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldNode {
    /// A number or a truth value.
    Literal(FieldLiteral),
    /// The content of a field before the statement.
    Field(FieldId),
    /// A scalar.
    Scalar(FieldScalarId),
    /// A value of a scan from the level before: its number among the carried ones, and its element type.
    Carry(usize, ScalarType),
    /// The value at p is that of the operand at p plus these offsets.
    Shift(FieldNodeId, Vec<(DimensionId, i64)>),
    /// A function of one operand.
    Unary(FieldUnary, FieldNodeId),
    /// A function of two operands.
    Binary(FieldBinary, FieldNodeId, FieldNodeId),
    /// The second operand where the first is true, else the third.
    Where(FieldNodeId, FieldNodeId, FieldNodeId),
    /// The value in another element type.
    Cast(FieldNodeId, ScalarType),
    /// The value along further dimensions.
    Broadcast(FieldNodeId, Vec<DimensionId>),
    /// The value at a column of a table.
    Gather(FieldNodeId, TableId, usize),
    /// The values at all columns of a table.
    ShiftAll(FieldNodeId, TableId),
    /// The value at one position of a local dimension.
    Column(FieldNodeId, DimensionId, usize),
    /// A reduction over a local dimension.
    Reduce(FieldReduction, FieldNodeId, DimensionId),
    /// The first value where the condition holds, else the second; each is needed only there.
    ConcatWhere(IndexCondition, FieldNodeId, FieldNodeId),
}

impl FieldNode {
    /// The operands.
    pub fn operands(&self) -> impl Iterator<Item = FieldNodeId> {
        let (operands, count) = match *self {
            FieldNode::Literal(_) | FieldNode::Field(_) | FieldNode::Scalar(_) | FieldNode::Carry(..) => {
                ([FieldNodeId(0); 3], 0)
            }
            FieldNode::Shift(a, _)
            | FieldNode::Unary(_, a)
            | FieldNode::Cast(a, _)
            | FieldNode::Broadcast(a, _)
            | FieldNode::Gather(a, ..)
            | FieldNode::ShiftAll(a, _)
            | FieldNode::Column(a, ..)
            | FieldNode::Reduce(_, a, _) => ([a; 3], 1),
            FieldNode::Binary(_, a, b) | FieldNode::ConcatWhere(_, a, b) => ([a, b, b], 2),
            FieldNode::Where(a, b, c) => ([a, b, c], 3),
        };
        operands.into_iter().take(count)
    }

    /// True without operands.
    pub fn is_leaf(&self) -> bool {
        self.operands().next().is_none()
    }
}

/// The nodes of a program.
#[derive(Clone, Debug, Default)]
pub struct FieldNodes {
    nodes: Vec<FieldNode>,
    spans: Vec<Span>,
    names: HashMap<FieldNodeId, Arc<str>>,
}

impl FieldNodes {
    /// Adds a node.
    ///
    /// # Errors
    /// There are too many.
    ///
    /// # Panics
    /// If an operand is no node of this store.
    pub fn add(&mut self, node: FieldNode, span: Span) -> Result<FieldNodeId, FieldProblem> {
        assert!(node.operands().all(|id| id.index() < self.nodes.len()), "operands come first");
        if self.nodes.len() >= MOST_FIELD_NODES {
            let what = format!("the program has more than {MOST_FIELD_NODES} operations");
            return Err(FieldProblem::Limit { limit: "field-nodes", what });
        }
        self.nodes.push(node);
        self.spans.push(span);
        Ok(FieldNodeId(self.nodes.len() as u32 - 1))
    }

    /// The operation of a node.
    pub fn get(&self, id: FieldNodeId) -> &FieldNode {
        &self.nodes[id.index()]
    }

    /// The operation of a node, if there is one.
    pub fn find(&self, id: FieldNodeId) -> Option<&FieldNode> {
        self.nodes.get(id.index())
    }

    /// The place of a node in its text.
    pub fn span(&self, id: FieldNodeId) -> Span {
        self.spans[id.index()]
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True without nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, each after its operands.
    pub fn iter(&self) -> impl Iterator<Item = (FieldNodeId, &FieldNode)> {
        self.nodes.iter().enumerate().map(|(index, node)| (FieldNodeId(index as u32), node))
    }

    /// The name that was given to a node.
    pub fn name(&self, id: FieldNodeId) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// Gives a name to a node; the first one stays.
    pub fn set_name(&mut self, id: FieldNodeId, name: &str) {
        self.names.entry(id).or_insert_with(|| name.into());
    }

    /// The nodes that these need, themselves included, in order.
    pub fn needed(&self, roots: &[FieldNodeId]) -> Vec<FieldNodeId> {
        let mut needed: HashSet<FieldNodeId> = HashSet::new();
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            if needed.insert(id) {
                stack.extend(self.get(id).operands());
            }
        }
        let mut needed: Vec<FieldNodeId> = needed.into_iter().collect();
        needed.sort_unstable();
        needed
    }
}
