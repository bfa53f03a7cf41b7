//! Parts: results that broadcast to the spectrum, read where they stand in a frame.
//!
//! ```text
//! part = factor (T, 1) · values (1, E)     a product is not multiplied before somebody asks for its elements
//! ```

use cembra_vm::frame::{Frame, FrameError};
use cembra_vm::layout::TypedSlot;

/// Where a part stands.
#[derive(Clone, Debug)]
pub(super) enum PartSlot {
    /// Zero everywhere: nothing is computed.
    Zero,
    /// Its values.
    Values(TypedSlot),
    /// What its values are to be multiplied by, the same at all energies; and those.
    Product(TypedSlot, TypedSlot),
}

impl PartSlot {
    /// The slot of an array that has a value for each time and energy, so many of them, whatever theta is.
    pub(super) fn whole(&self, sizes: [usize; 2]) -> Option<&TypedSlot> {
        let PartSlot::Values(slot) = self else { return None };
        let qtype = slot.qtype().nd()?;
        let (missing, sizes) = sizes.split_at(2 - qtype.rank());
        let is_repeated = |(is_unit, size): (bool, &usize)| is_unit && *size != 1;
        let is_whole = missing.iter().all(|size| *size == 1) && !qtype.units().zip(sizes).any(is_repeated);
        is_whole.then_some(slot)
    }

    /// What stands there, of a spectrum of so many times and energies.
    pub(super) fn read<'f>(&self, frame: &'f Frame, sizes: [usize; 2]) -> Result<Part<'f>, FrameError> {
        let (factor, values) = match self {
            PartSlot::Zero => (Values::everywhere(&1.0), Values::everywhere(&0.0)),
            PartSlot::Values(slot) => (Values::everywhere(&1.0), Values::new(frame, slot)?),
            PartSlot::Product(factor, slot) => (Values::new(frame, factor)?, Values::new(frame, slot)?),
        };
        Ok(Part { factor, values, sizes })
    }
}

/// A curve or a derivative: an array that may have unit axes, which stand for all times or energies, times a factor
/// that is the same at all energies.
#[derive(Clone, Copy, Debug)]
pub struct Part<'f> {
    factor: Values<'f>,
    values: Values<'f>,
    /// Times and energies of the spectrum.
    sizes: [usize; 2],
}

/// Numbers for all times and energies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'f> {
    /// Row after row.
    all: &'f [f64],
    /// Sizes of the axes time and energy.
    sizes: [usize; 2],
}

impl<'f> Values<'f> {
    /// What stands in a slot: a number or an array of up to two axes.
    pub(super) fn new(frame: &'f Frame, slot: &TypedSlot) -> Result<Values<'f>, FrameError> {
        let view = frame.nd_view(slot)?;
        let mut sizes = [1, 1];
        sizes[2 - view.rank()..].copy_from_slice(view.shape());
        Ok(Values { all: view.as_slice().expect("results of operators are contiguous"), sizes })
    }

    fn everywhere(value: &'f f64) -> Values<'f> {
        Values { all: std::slice::from_ref(value), sizes: [1, 1] }
    }

    /// Writes the products of these values, which are the same at all energies, and others, one for each time and energy.
    pub(super) fn multiply(&self, values: &[f64], [_, energies]: [usize; 2], target: &mut [f64]) {
        let rows = target.chunks_exact_mut(energies.max(1)).zip(values.chunks_exact(energies.max(1)));
        for (time, (target, values)) in rows.enumerate() {
            let factor = self.row(time)[0];
            target.iter_mut().zip(values).for_each(|(target, value)| *target = factor * value);
        }
    }

    /// The values at a time.
    fn row(&self, time: usize) -> &[f64] {
        let [rows, columns] = self.sizes;
        &self.all[if rows == 1 { 0 } else { time * columns }..][..columns]
    }
}

/// A part at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartRow<'p> {
    /// What the values are to be multiplied by.
    pub factor: f64,
    /// A value for each energy, or one that stands for all. Parts that differ by a factor only have the same
    /// slice.
    pub values: &'p [f64],
}

impl Part<'_> {
    /// Sizes of the axes time and energy, of which any may be 1 and stand for all.
    pub fn shape(&self) -> [usize; 2] {
        let ([times, _], [rows, columns]) = (self.factor.sizes, self.values.sizes);
        [times.max(rows), columns]
    }

    /// The part at a time.
    pub fn row(&self, time: usize) -> PartRow<'_> {
        PartRow { factor: self.factor.row(time)[0], values: self.values.row(time) }
    }

    /// Writes a value for each time and energy, row after row.
    ///
    /// # Panics
    /// The target has another length than the spectrum.
    pub fn copy_to(&self, target: &mut [f64]) {
        let [times, energies] = self.sizes;
        assert_eq!(target.len(), times * energies, "a place for each value of the spectrum");
        for (time, row) in target.chunks_exact_mut(energies.max(1)).enumerate() {
            let PartRow { factor, values } = self.row(time);
            match values {
                [value] => row.fill(factor * value),
                _ => row.iter_mut().zip(values).for_each(|(target, value)| *target = factor * value),
            }
        }
    }
}
