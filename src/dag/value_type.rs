//! Value types: what is known of an array before anything is computed.
//!
//! ```text
//! float64 (T, 1, S)     dtype float64, three axes, the middle one of size 1
//! ```
//!
//! Axes of size 1 repeat, all others must have one size; so the dtype, the number of axes and which of them have
//! size 1 decide which operators compute a node. Sizes themselves are free.

use crate::dag::array::{Array, DType};
use cembra_vm::value::broadcast::common_axes;
use cembra_vm::value::{NdType, QType, ScalarType};

/// The dtype of an array, its number of axes, and which of them have size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueType {
    /// Type of the elements.
    pub dtype: DType,
    rank: usize,
    /// Bit `i` for an axis `i` of size 1.
    units: u64,
}

impl ValueType {
    /// The type of a single value.
    pub fn single(dtype: DType) -> ValueType {
        ValueType { dtype, rank: 0, units: 0 }
    }

    /// The type with these axes, each of size 1 or not. There are at most 64.
    pub fn of_axes(dtype: DType, units: impl IntoIterator<Item = bool>) -> ValueType {
        let mut made = ValueType::single(dtype);
        for unit in units {
            made.units |= u64::from(unit) << made.rank;
            made.rank += 1;
        }
        made
    }

    /// The type of an array.
    pub fn of(array: &Array) -> ValueType {
        ValueType::of_axes(array.dtype(), array.shape().iter().map(|size| *size == 1))
    }

    /// The type of a dtype to whose axes these broadcast: an axis has size 1 if it has in all of them.
    pub fn broadcast(dtype: DType, of: &[ValueType]) -> ValueType {
        ValueType::of_axes(dtype, common_axes(of.iter().map(|t| (t.rank, |axis| t.is_unit(axis)))))
    }

    /// The same axes with another dtype.
    pub fn with_dtype(self, dtype: DType) -> ValueType {
        ValueType { dtype, ..self }
    }

    /// Number of axes.
    pub fn rank(self) -> usize {
        self.rank
    }

    /// True for an axis of size 1.
    pub fn is_unit(self, axis: usize) -> bool {
        self.units >> axis & 1 == 1
    }

    /// For each axis whether its size is 1.
    pub fn units(self) -> impl Iterator<Item = bool> {
        (0..self.rank).map(move |axis| self.is_unit(axis))
    }

    /// The element that stands for the dtype on the machine: int8 is widened to INT32 and float16 to FLOAT32,
    /// which hold all their values, and texts are codes.
    pub fn element(self) -> ScalarType {
        match self.dtype {
            DType::Bool => ScalarType::Boolean,
            DType::Int8 | DType::Int32 | DType::Text(_) => ScalarType::Int32,
            DType::Int64 => ScalarType::Int64,
            DType::Float16 | DType::Float32 => ScalarType::Float32,
            DType::Float64 => ScalarType::Float64,
        }
    }

    /// The type of such arrays on the machine: without axes a scalar; nothing if there are more axes than the
    /// machine's arrays have.
    pub fn qtype(self) -> Option<QType> {
        match self.rank {
            0 => Some(QType::Scalar(self.element())),
            _ => NdType::of_axes(self.element(), self.units()).map(QType::NdArray),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_align_at_the_end() {
        let of = |axes: &str| ValueType::of_axes(DType::Float64, axes.chars().map(|axis| axis == '1'));
        let broadcast = |of: &[ValueType]| ValueType::broadcast(DType::Float64, of);
        assert_eq!(broadcast(&[of("N11"), of("1N"), of("")]), of("N1N"));
        assert_eq!(broadcast(&[of("11"), of("1")]), of("11"));
        assert_eq!(broadcast(&[of("")]), of(""));
    }

    #[test]
    fn types_on_the_machine() {
        let of = |dtype, units: &[bool]| ValueType::of_axes(dtype, units.iter().copied()).qtype();
        assert_eq!(of(DType::Float16, &[]), Some(QType::Scalar(ScalarType::Float32)));
        let text = of(DType::Text(3), &[true, false]).expect("two axes");
        assert_eq!(text.to_string(), "NDARRAY_INT32_1N");
        assert_eq!(of(DType::Bool, &[false; 7]), None);
    }
}
