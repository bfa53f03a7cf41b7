//! Operations of the stages `ussa` and `tssa`: what Python's operators, calls and loops become.

use crate::function::constant::Constant;
use crate::function::library::LibraryFunction;
use crate::python::{BinaryOp, CompareOp, UnaryOp};
use crate::ssa::{Flow, InstId, SsaOperation};
use std::fmt;
use std::sync::Arc;

/// Number of a function of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// One place of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// One index: one operand.
    At,
    /// `lower:upper:step`: an operand for each that is there.
    Slice {
        /// True if the lower bound is given.
        lower: bool,
        /// True if the upper bound is given.
        upper: bool,
        /// True if the step is given.
        step: bool,
    },
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionOp {
    /// A parameter, by position.
    Param(u32),
    /// A constant.
    Constant(Constant),
    /// `op x`.
    Unary(UnaryOp),
    /// `x op y`.
    Binary(BinaryOp),
    /// `x op= y` of a name: an array is changed in place, and is the result; anything else as [`FunctionOp::Binary`].
    InPlace(BinaryOp),
    /// `x op y`, a truth value.
    Compare(CompareOp),
    /// The truth of a value.
    Truth,
    /// A function of the library.
    LibraryFunction(LibraryFunction),
    /// A function of the module.
    Call(FunctionId),
    /// A tuple of the operands.
    Tuple,
    /// A part of a value: the value, then an operand for each place.
    GetItem(Vec<IndexPart>),
    /// Assigns to a part of an array: the array, the value, then an operand for each place.
    SetItem(Vec<IndexPart>),
    /// The same value, if it is a tuple with so many fields.
    Unpack(u32),
    /// `value.name`.
    Attribute(Arc<str>),
    /// A bound or the step of a range: an integer.
    RangeBound,
    /// How many numbers a range has: start, stop, step.
    RangeCount,
    /// The sum of counters, which the loop keeps inside of 64 bits.
    Step,
    /// The number of a round of a `prange`, whose rounds may run at the same time: the same value.
    Round,
    /// The same value, which the module keeps: an array of it is not written.
    ModuleConstant,
    /// The value as a float, put where a phi of floats needs one.
    Promote,
    /// The same value, which is not None: a test has said so, or else `TypeError` with this message is raised where it is.
    NotNone(Option<Arc<str>>),
}

impl SsaOperation for FunctionOp {
    fn has_effects(&self) -> bool {
        // What may raise stays; types decide that, which are not known here.
        !matches!(
            self,
            FunctionOp::Param(_)
                | FunctionOp::Constant(_)
                | FunctionOp::Tuple
                | FunctionOp::Step
                | FunctionOp::ModuleConstant
                | FunctionOp::Promote
                | FunctionOp::NotNone(None)
        )
    }
}

/// What a condition compares with None, and true if it asks whether it is None.
pub fn none_test(flow: &Flow<FunctionOp>, condition: InstId) -> Option<(InstId, bool)> {
    let is_none = match flow.operation(condition) {
        Some(FunctionOp::Compare(CompareOp::Is)) => true,
        Some(FunctionOp::Compare(CompareOp::IsNot)) => false,
        _ => return None,
    };
    let [x, y] = flow.inst(condition).args[..] else { return None };
    let constant = |value| matches!(flow.operation(value), Some(FunctionOp::Constant(Constant::None)));
    match (constant(x), constant(y)) {
        (_, true) => Some((x, is_none)),
        (true, false) => Some((y, is_none)),
        _ => None,
    }
}

/// The word of a stage text for an operator.
pub fn binary_word(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::FloorDiv => "floordiv",
        BinaryOp::Mod => "mod",
        BinaryOp::Pow => "pow",
        BinaryOp::ShiftLeft => "shl",
        BinaryOp::ShiftRight => "shr",
        BinaryOp::BitAnd => "and",
        BinaryOp::BitOr => "or",
        BinaryOp::BitXor => "xor",
        BinaryOp::MatMul => "matmul",
    }
}

/// The word of a stage text for a comparison.
pub fn compare_word(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "eq",
        CompareOp::NotEqual => "ne",
        CompareOp::Less => "lt",
        CompareOp::LessEqual => "le",
        CompareOp::Greater => "gt",
        CompareOp::GreaterEqual => "ge",
        CompareOp::Is => "is",
        CompareOp::IsNot => "isnot",
        CompareOp::In => "in",
        CompareOp::NotIn => "notin",
    }
}

impl fmt::Display for FunctionOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FunctionOp::Param(position) => write!(f, "param {position}"),
            FunctionOp::Constant(constant) => write!(f, "const {constant}"),
            FunctionOp::Unary(op) => f.write_str(match op {
                UnaryOp::Neg => "neg",
                UnaryOp::Pos => "pos",
                UnaryOp::Invert => "invert",
                UnaryOp::Not => "not",
            }),
            FunctionOp::Binary(op) => f.write_str(binary_word(*op)),
            FunctionOp::InPlace(op) => write!(f, "i{}", binary_word(*op)),
            FunctionOp::Compare(op) => f.write_str(compare_word(*op)),
            FunctionOp::Truth => f.write_str("truth"),
            FunctionOp::LibraryFunction(builtin) => write!(f, "call {}", builtin.name()),
            FunctionOp::Call(id) => write!(f, "call f{}", id.0),
            FunctionOp::Tuple => f.write_str("tuple"),
            FunctionOp::GetItem(parts) => write!(f, "getitem{}", places(parts)),
            FunctionOp::SetItem(parts) => write!(f, "setitem{}", places(parts)),
            FunctionOp::Unpack(count) => write!(f, "unpack {count}"),
            FunctionOp::Attribute(name) => write!(f, "attribute {name}"),
            FunctionOp::RangeBound => f.write_str("rangebound"),
            FunctionOp::RangeCount => f.write_str("rangecount"),
            FunctionOp::Step => f.write_str("step"),
            FunctionOp::Round => f.write_str("round"),
            FunctionOp::ModuleConstant => f.write_str("moduleconstant"),
            FunctionOp::Promote => f.write_str("promote"),
            FunctionOp::NotNone(None) => f.write_str("notnone"),
            FunctionOp::NotNone(Some(message)) => write!(f, "notnone {message:?}"),
        }
    }
}

/// The form of places that are not single indices.
fn places(parts: &[IndexPart]) -> String {
    if parts.iter().all(|part| *part == IndexPart::At) {
        return String::new();
    }
    let part = |part: &IndexPart| match part {
        IndexPart::At => ".".to_owned(),
        IndexPart::Slice { lower, upper, step } => {
            let mark = |given: bool| if given { "." } else { "" };
            format!("{}:{}:{}", mark(*lower), mark(*upper), mark(*step))
        }
    };
    format!(" [{}]", parts.iter().map(part).collect::<Vec<_>>().join(", "))
}
