//! Operations of the stage `low`, and a function of it.

use crate::function::build::RaisedFailure;
use crate::function::infer::InstanceId;
use crate::ssa::{Flow, SsaOperation};
use cembra_vm::value::{QType, Value};
use std::fmt;
use std::sync::Arc;

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
    /// The number of a round of a loop whose rounds may run at the same time: the same value.
    Round,
    /// Another instance, in pieces.
    Pieces(Arc<Pieces>),
}

/// A call in pieces: what makes the routine that is called [parallel](cembra_vm::program::parallel).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The instance that is called.
    pub callee: InstanceId,
    /// The instance that makes one result of two.
    pub combine: InstanceId,
    /// The arrays that it changes.
    pub windows: Vec<LowWindow>,
}

/// The part of an array that belongs to a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowWindow {
    /// The parameter with the array.
    pub array: u32,
    /// The axis.
    pub axis: u32,
    /// The parameter with the index of round 0.
    pub first: u32,
    /// The parameter with the distance between indices of rounds.
    pub step: u32,
}

impl LowOp {
    /// The instance that it calls.
    pub fn callee(&self) -> Option<InstanceId> {
        match self {
            LowOp::Call(callee) => Some(*callee),
            LowOp::Pieces(pieces) => Some(pieces.callee),
            _ => None,
        }
    }
}

impl SsaOperation for LowOp {
    fn has_effects(&self) -> bool {
        matches!(
            self,
            LowOp::Operator(_, true) | LowOp::Update(_) | LowOp::Call(_) | LowOp::Round | LowOp::Pieces(_)
        )
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
            LowOp::Round => f.write_str("round"),
            LowOp::Pieces(pieces) => {
                write!(f, "pieces f{} combine f{}", pieces.callee.0, pieces.combine.0)?;
                let mut windows = pieces.windows.iter();
                windows.try_for_each(|w| {
                    write!(f, " window {} axis {} first {} step {}", w.array, w.axis, w.first, w.step)
                })
            }
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
