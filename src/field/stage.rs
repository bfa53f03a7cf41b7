//! Stages: a statement on one box of points, as an expression with the reads that feed it.
//!
//! ```text
//! out[I=1:5] = x[I-1] + a         leaves   r0: x on I 0:4    s0: the scalar a
//!                                 graph    math.add(r0, s0)
//!                                 result   of node 2, to out on I 1:5
//! ```

use crate::expr;
use crate::field::dimension::DimensionId;
use crate::field::element::dtype_name;
use crate::field::expression::{FieldId, FieldScalarId};
use cembra_vm::value::shape::PerAxis;
use cembra_vm::value::{Fault, QType, ScalarType, ScalarValue};
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
    /// Points of an axis of the field that a list chooses.
    Taken {
        /// The axis of the field.
        place: usize,
        /// The list, by its number in the read.
        list: usize,
    },
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadOf {
    /// A field of the program.
    Field(FieldId),
    /// An intermediate that is kept while the stage runs, by number.
    Temporary(usize),
}

/// A read of a field: a strided view of its buffer with the axes of the box, or elements that lists choose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRead {
    /// What is read.
    pub of: ReadOf,
    /// By axis of the box.
    pub axes: Vec<AxisRead>,
    /// Axes of the field that stay at one point.
    pub fixed: Vec<(usize, i64)>,
    /// Lists of positions along axes of the field, from 0 on, one for each position of the axis of the box.
    pub lists: Vec<Arc<[u32]>>,
}

impl FieldRead {
    /// Sizes of the axes of what is read on a box of this shape.
    pub(crate) fn sizes(&self, shape: &[usize]) -> PerAxis {
        let size = |(axis, size): (&AxisRead, &usize)| if *axis == AxisRead::Absent { 1 } else { *size };
        self.axes.iter().zip(shape).map(size).collect()
    }
}

/// What a leaf of the expression is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StageSource {
    /// Elements of a field.
    Field(FieldRead),
    /// A scalar of the run.
    Scalar(FieldScalarId),
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
    /// The dimension of each axis of the box.
    pub axes: Vec<DimensionId>,
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
    /// The element types that casts go to by way of int64, which is what the machine names if a number does not fit that.
    pub casts: Vec<ScalarType>,
    /// Intermediates that are kept, each before those that read it.
    pub temporaries: Vec<FieldTemporary>,
}

impl FieldStage {
    /// What an operator of the stage has raised, in the words of the program: types are those of its casts, and numbers stand
    /// without a type.
    pub(crate) fn fault_text(&self, fault: &Fault) -> String {
        let Fault::Cast { value, target } = fault else { return fault.to_string() };
        let number = value.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}')).unwrap_or(value);
        let is_on_the_way = *target == ScalarType::Int64 && !self.casts.is_empty();
        let targets = if is_on_the_way { &self.casts[..] } else { std::slice::from_ref(target) };
        let names: Vec<&str> = targets.iter().map(|dtype| dtype_name(*dtype)).collect();
        format!("cannot cast {number} to {}", names.join(" or "))
    }
}

/// An intermediate that a stage keeps: it is computed before the stage, and read at several shifts.
#[derive(Clone, Debug)]
pub struct FieldTemporary {
    /// What computes it, on the points that are needed.
    pub stage: FieldStage,
    /// The element type.
    pub dtype: ScalarType,
    /// By axis of the box: the points before and behind those of the box; nothing if the intermediate does not vary.
    pub reach: Vec<Option<(i64, i64)>>,
}
