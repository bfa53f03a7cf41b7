//! Parts: results that broadcast to the spectrum, read where they stand in a frame.

use cembra_vm::frame::{Frame, FrameError};
use cembra_vm::layout::{Slot, TypedSlot};
use cembra_vm::machine::{BindError, BoundExpr};
use cembra_vm::value::NdView;

/// Where a part stands.
#[derive(Clone, Debug)]
pub(super) enum PartSlot {
    /// Zero everywhere: nothing is computed.
    Zero,
    /// One number.
    Scalar(Slot<f64>),
    /// An array of two axes.
    Array(TypedSlot),
}

impl PartSlot {
    /// The side output of that name.
    pub(super) fn side_output(bound: &BoundExpr, name: &str) -> Result<PartSlot, BindError> {
        let slot = bound.side_output_slot(name)?;
        match slot.qtype().nd() {
            Some(_) => Ok(PartSlot::Array(slot.clone())),
            None => Ok(PartSlot::Scalar(bound.side_output(name)?)),
        }
    }

    /// What stands there, of a spectrum of so many times and energies.
    pub(super) fn read<'f>(&self, frame: &'f Frame, sizes: [usize; 2]) -> Result<Part<'f>, FrameError> {
        let values = match self {
            PartSlot::Zero => Values::Everywhere(0.0),
            PartSlot::Scalar(slot) => Values::Everywhere(frame.get(*slot)),
            PartSlot::Array(slot) => Values::Array(frame.nd_view(slot)?),
        };
        Ok(Part { values, sizes })
    }
}

/// A curve or a derivative: an array that may have unit axes, which stand for all times or energies.
#[derive(Clone, Copy, Debug)]
pub struct Part<'f> {
    values: Values<'f>,
    /// Times and energies of the spectrum.
    sizes: [usize; 2],
}

#[derive(Clone, Copy, Debug)]
enum Values<'f> {
    Everywhere(f64),
    Array(NdView<'f>),
}

impl Part<'_> {
    /// The values as they stand, row after row, and the sizes of the axes time and energy, of which any may be
    /// 1 and stand for all.
    pub fn values(&self) -> (&[f64], [usize; 2]) {
        match &self.values {
            Values::Everywhere(value) => (std::slice::from_ref(value), [1, 1]),
            Values::Array(view) => {
                let mut sizes = [1, 1];
                let known = view.shape();
                sizes[2 - known.len()..].copy_from_slice(known);
                (view.as_slice().expect("results of operators are contiguous"), sizes)
            }
        }
    }

    /// The values at a time, or one value that stands for all energies.
    pub fn row(&self, time: usize) -> &[f64] {
        let (values, [rows, columns]) = self.values();
        &values[if rows == 1 { 0 } else { time * columns }..][..columns]
    }

    /// Writes a value for each time and energy, row after row.
    ///
    /// # Panics
    /// The target has another length than the spectrum.
    pub fn copy_to(&self, target: &mut [f64]) {
        let [times, energies] = self.sizes;
        assert_eq!(target.len(), times * energies, "a place for each value of the spectrum");
        for (time, row) in target.chunks_exact_mut(energies.max(1)).enumerate() {
            match self.row(time) {
                [value] => row.fill(*value),
                values => row.copy_from_slice(values),
            }
        }
    }
}
