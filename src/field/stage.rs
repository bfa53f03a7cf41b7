//! Stages: a statement on one box of points, as an expression with the reads that feed it.
//!
//! ```text
//! out[I=1:5] = x[I-1] + a         leaves   r0: x on I 0:4    s0: the scalar a
//!                                 graph    math.add(r0, s0)
//!                                 result   of node 2, to out on I 1:5
//! ```

use crate::expr;
use crate::field::expression::{FieldId, FieldScalarId};
use cembra_vm::value::{QType, ScalarValue};
use std::sync::Arc;

/// How an axis of the box reads a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisRead {
    /// The field does not vary along the axis.
    Absent,
    /// As many points as the axis has, from one on.
    Window {
        /// The axis of the field.
        place: usize,
        /// The first point.
        first: i64,
    },
    /// All points of an axis of the field; a list of places chooses among them.
    Whole {
        /// The axis of the field.
        place: usize,
    },
}

/// A read of a field: a strided view of its buffer with the axes of the box.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRead {
    /// The field.
    pub field: FieldId,
    /// By axis of the box.
    pub axes: Vec<AxisRead>,
    /// Axes of the field that stay at one point.
    pub fixed: Vec<(usize, i64)>,
}

/// What a leaf of the expression is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StageSource {
    /// Elements of a field.
    Field(FieldRead),
    /// A scalar of the run.
    Scalar(FieldScalarId),
    /// Places along an axis, from 0 on, as an array of one axis.
    Places(Arc<[i64]>),
    /// Truth values along an axis of the box.
    Mask {
        /// The axis of the box.
        axis: usize,
        /// A value for each position.
        values: Arc<[bool]>,
    },
    /// What a scan hands on: the plane of the level before.
    Carry(usize),
}

/// A leaf of the expression.
#[derive(Clone, Debug)]
pub struct StageInput {
    /// Its name in the expression.
    pub name: Arc<str>,
    /// Its type.
    pub qtype: QType,
    /// Where its value comes from.
    pub source: StageSource,
}

/// Where a result comes from.
#[derive(Clone, Debug)]
pub enum StageResult {
    /// An operation of the expression.
    Node(expr::NodeId),
    /// A field, copied.
    Read(FieldRead),
    /// What a scan handed on.
    Carry(usize),
    /// A scalar of the run.
    Scalar(FieldScalarId),
    /// A constant.
    Literal(ScalarValue),
}

/// A result and where it goes.
#[derive(Clone, Debug)]
pub struct StageOutput {
    /// Number of the target in its statement.
    pub target: usize,
    /// The point of the target's local dimension, if it has one.
    pub local: Option<i64>,
    /// The value.
    pub result: StageResult,
}

/// A statement on one box.
#[derive(Clone, Debug)]
pub struct FieldStage {
    /// First point of each axis of the box.
    pub first: Vec<i64>,
    /// Points of each axis of the box.
    pub shape: Vec<usize>,
    /// The expression.
    pub graph: expr::Graph,
    /// Its leaves.
    pub inputs: Vec<StageInput>,
    /// Its results.
    pub outputs: Vec<StageOutput>,
}
