//! Operations of the stage `low`, and a function of it.

use crate::function::build::RaisedFailure;
use crate::function::infer::InstanceId;
use crate::ssa::{Flow, SsaOperation};
use cembra_vm::value::{QType, Value};
use std::fmt;

/// An operation of the stage `low`.
#[derive(Clone, Debug, PartialEq)]
pub enum LowOp {
    /// A parameter, by position.
    Input(u32),
    /// A literal.
    Literal(Value),
    /// Bytes of the operand, a parameter or the result of a call, from an offset on.
    Part(u32),
    /// An operator of the machine; true if it may raise.
    Operator(&'static str, bool),
    /// An operator that changes its first operand in place, and has no other result.
    Update(&'static str),
    /// Another instance.
    Call(InstanceId),
}

impl SsaOperation for LowOp {
    fn has_effects(&self) -> bool {
        matches!(self, LowOp::Operator(_, true) | LowOp::Update(_) | LowOp::Call(_))
    }
}

impl fmt::Display for LowOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LowOp::Input(position) => write!(f, "input {position}"),
            LowOp::Literal(value) => write!(f, "literal {value}"),
            LowOp::Part(offset) => write!(f, "part +{offset}"),
            LowOp::Operator(name, _) | LowOp::Update(name) => f.write_str(name),
            LowOp::Call(instance) => write!(f, "call f{}", instance.0),
        }
    }
}

/// A function on the machine's types.
#[derive(Clone, Debug)]
pub struct LowFunction {
    /// Its name.
    pub name: String,
    /// The blocks, in SSA.
    pub flow: Flow<LowOp>,
    /// Type of each value, none of updates.
    pub types: Vec<Option<QType>>,
    /// Names and types of the parameters.
    pub parameters: Vec<(String, QType)>,
    /// Type of the result.
    pub result: QType,
    /// What tails raise.
    pub failures: Vec<RaisedFailure>,
    /// Names of variables, for texts.
    pub variables: Vec<String>,
}
