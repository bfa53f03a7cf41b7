//! Periods: operands that repeat every few elements, or have one element for each few, laid out so that runs are long.
//!
//! ```text
//! result (10000, 10)    operand strides 80, 8    in order
//!                       operand strides  0, 8    written 24 times, to 240 cells: the same ones in each run of 240
//!                       operand strides  8, 0    spread, a block at a time: ten cells of each element
//! ```
//!
//! A [space](Space) whose runs are short costs some nanoseconds for each of them. A *period* is all of a space but its first
//! axis. If every operand stands in order, repeats along the first axis, or has one element for each period, then the elements
//! of the result are as good as one run, or runs of many periods, of which the last one may be shorter.
//!
//! Invariant: an operand has the same element for each element of the result as before.

use crate::array::nd_space::{Position, Space};
use crate::array::nd_walk::{Operand, Walk};
use crate::value::array::cell_size;
use crate::value::nd_type::{MAX_RANK, NdType};
use crate::value::shape::padded;
use crate::vector::Level;
use crate::vector::level::Loop;
use crate::vector::python::gcd;
use bumpalo::Bump;
use std::alloc::Layout;
use std::num::NonZero;

/// Most elements of a period.
const MOST: usize = 512;

/// Most elements of a period that has one element of an operand: to write so many costs what a run of them costs.
const MOST_OF_ONE: usize = 32;

/// Most elements of a run of periods: what repeats stays in the first cache.
pub(crate) const RUN: usize = 1024;

/// Elements from which on a longer run saves nothing, but takes more memory.
const ENOUGH: usize = 256;

/// Cells that are written at once.
const AT_ONCE: usize = 8;

/// The periods of a space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    /// Elements of one.
    period: NonZero<usize>,
    /// Elements of all.
    elements: usize,
    /// Elements of a run of whole periods, or of all of them.
    run: usize,
}

impl Periods {
    /// Those of a space, if its runs are short and these operands may be laid out. A run then has a multiple of `unit` elements,
    /// or all there are. Operands that `are_spread` may have one element for each period.
    pub(crate) fn of(
        space: &Space,
        operands: &[Operand<'_>],
        unit: usize,
        are_spread: bool,
    ) -> Option<Periods> {
        let (count, axes) = space.sizes().split_first()?;
        if axes.is_empty() || *count == 0 || space.has_long_runs() {
            return None;
        }
        let period = NonZero::new(axes.iter().product()).filter(|period| period.get() <= MOST)?;
        let are_spread = are_spread && period.get() <= MOST_OF_ONE;
        let is_laid_out = |operand: &Operand<'_>| {
            operand.is_in_order(space) || operand.strides[0] == 0 || are_spread && operand.is_by_period(space)
        };
        if !operands.iter().all(is_laid_out) {
            return None;
        }
        let elements = period.get() * count;
        let repeats = |operand: &Operand<'_>| operand.strides[0] == 0 && !operand.is_one_value(space);
        let run = match elements <= RUN || !operands.iter().any(repeats) {
            true => elements,
            false => {
                let unit = lcm(period.get(), unit);
                (unit <= RUN).then(|| ENOUGH.max(unit) / unit * unit)?
            }
        };
        Some(Periods { period, elements, run })
    }

    /// The space of runs of periods.
    pub(crate) fn space(&self) -> Space {
        match self.run < self.elements {
            true => Space::of_runs(self.elements.div_ceil(self.run), self.run),
            false => Space::of_run(self.elements),
        }
    }

    /// An operand of a space as one over [runs of its periods](Periods::space); what repeats is written to the arena.
    pub(crate) fn lay_out<'a>(&self, operand: &mut Operand<'a>, space: &Space, arena: &'a Bump) {
        if operand.is_one_value(space) {
            return;
        }
        let strides = arena.alloc([0; MAX_RANK]);
        let (step, along) = (operand.size as isize, usize::from(self.run < self.elements));
        if operand.is_in_order(space) {
            strides[0] = step * self.run as isize;
            strides[along] = step;
        } else if operand.strides[0] != 0 {
            strides[0] = operand.strides[0];
            operand.spread = Some(self.period);
        } else {
            operand.first = self.repeat(*operand, space, arena);
            strides[along] = step;
        }
        operand.strides = strides;
    }

    /// Writes an operand that repeats along the first axis, for a run.
    #[inline(never)]
    fn repeat<'a>(&self, operand: Operand<'a>, space: &Space, arena: &'a Bump) -> *const u8 {
        let (period, all) = (self.period.get(), self.run * operand.size);
        let to = room(all, arena);
        // SAFETY: there is room for a run, of one period at least, which the space has.
        unsafe {
            Walk::gathered(operand).data(space, &Position::default(), period, to);
            write_again(to, period * operand.size, all);
        }
        to
    }
}

/// Room for so many bytes of a run.
fn room(bytes: usize, arena: &Bump) -> *mut u8 {
    arena.alloc_layout(Layout::from_size_align(bytes, 64).expect("a run is small")).as_ptr()
}

/// Writes the bytes that have been written again and again, up to all of them.
///
/// # Safety
/// There is room for all; some have been written, and no more.
unsafe fn write_again(to: *mut u8, mut written: usize, all: usize) {
    while written < all {
        let more = written.min(all - written);
        // SAFETY: the caller's promise.
        unsafe { to.add(written).copy_from_nonoverlapping(to, more) };
        written += more;
    }
}

/// True if arrays of fewer axes may be [laid out](lay_out) over this shape: it has few elements, and some.
pub(crate) fn is_laid_out(shape: &[usize]) -> bool {
    (1..=RUN).contains(&shape.iter().product())
}

/// An array of a few elements in order, and its sizes, with all elements of a shape: it repeats along the first axes, or has one
/// element for all along the last ones, by its type; nothing if it is neither, or if the shape has many elements.
///
/// # Safety
/// The array has these elements, and nobody changes them meanwhile.
pub(crate) unsafe fn lay_out(
    (first, sizes): (*const u8, &[usize]),
    qtype: NdType,
    shape: &[usize],
    arena: &Bump,
) -> Option<*const u8> {
    let all: usize = shape.iter().product();
    let last = &shape[shape.len().checked_sub(sizes.len())?..];
    let rank = sizes.len();
    let leading = (0..rank).take_while(|axis| qtype.is_unit(*axis)).count();
    let axes = rank - (0..rank).rev().take_while(|axis| qtype.is_unit(*axis)).count();
    let size = cell_size(qtype.element());
    let is_repeated = sizes[leading..] == last[leading..];
    if !is_laid_out(shape) || !is_repeated && (last.len() < shape.len() || sizes[..axes] != last[..axes]) {
        return None;
    }
    let to = room(all * size, arena);
    if is_repeated {
        let bytes = sizes.iter().product::<usize>() * size;
        // SAFETY: the caller's promise; a shape with elements has one period at least.
        unsafe {
            to.copy_from_nonoverlapping(first, bytes);
            write_again(to, bytes, all * size);
        }
    } else {
        let strides = padded(&[size as isize], 0);
        let period = NonZero::new(last[axes..].iter().product())?;
        // SAFETY: there is an element for each period, and room for all.
        unsafe { Operand::new(first, qtype.element(), &strides, false).spread_cells(period, 0, all, to) };
    }
    Some(to)
}

impl Operand<'_> {
    /// True if it is one element by its type as well.
    fn is_one_value(&self, space: &Space) -> bool {
        self.repeats && self.is_one(space)
    }

    /// True if it has one element for each period.
    fn is_by_period(&self, space: &Space) -> bool {
        let (_, axes) = self.strides[..space.sizes().len()].split_at(1);
        axes.iter().all(|stride| *stride == 0)
    }

    /// Writes `count` cells of an operand that is spread, from that of an element of the result on.
    ///
    /// # Safety
    /// The result has these elements, and there is room for them.
    #[inline(never)]
    pub(super) unsafe fn spread_cells(
        &self,
        period: NonZero<usize>,
        element: usize,
        count: usize,
        to: *mut u8,
    ) {
        match self.size {
            1 => Level::best().run(Spread::<u8> { of: self, period, element, count, to }),
            4 => Level::best().run(Spread::<u32> { of: self, period, element, count, to: to.cast() }),
            _ => Level::best().run(Spread::<u64> { of: self, period, element, count, to: to.cast() }),
        }
    }
}

/// Cells of the size of `T`, of which a period has the same one each.
struct Spread<'o, T> {
    of: &'o Operand<'o>,
    period: NonZero<usize>,
    element: usize,
    count: usize,
    to: *mut T,
}

impl<T: Copy> Loop for Spread<'_, T> {
    type Output = ();
    const GAINS_BY_WIDTH: bool = false;

    #[inline(always)]
    fn run(self) {
        let Spread { of, period, element, count, mut to } = self;
        let (mut left, by) = (count, of.strides[0]);
        let number = element / period;
        let mut from = of.first.wrapping_offset(by.wrapping_mul(number as isize)).cast::<T>();
        let (mut size, at_once) = (period.get() - element % period, period.get().next_multiple_of(AT_ONCE));
        while left > 0 {
            // SAFETY: the operand has an element for each period, and there is room for `left` cells; what is written behind a
            // period is written over.
            unsafe {
                let cell = from.read_unaligned();
                if left >= at_once {
                    for first in (0..at_once).step_by(AT_ONCE) {
                        to.add(first).cast::<[T; AT_ONCE]>().write_unaligned([cell; AT_ONCE]);
                    }
                } else {
                    size = size.min(left);
                    for place in 0..size {
                        to.add(place).write(cell);
                    }
                }
                to = to.add(size);
            }
            left -= size;
            (from, size) = (from.wrapping_byte_offset(by), period.get());
        }
    }
}

/// The least common multiple, or the largest number if it is larger.
pub(crate) fn lcm(x: usize, y: usize) -> usize {
    let common = gcd(x as i64, y as i64).max(1) as usize;
    (x / common).saturating_mul(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::block::Column;
    use crate::value::ScalarType;
    use crate::value::shape::Strides;
    use fastrand::Rng;

    /// Strides over some axes, in cells: in order, the same along the first ones or the last ones, or along all of them.
    fn strides_of(rng: &mut Rng, shape: &[usize]) -> Strides {
        let mut strides = [0; MAX_RANK];
        let axis = rng.usize(..=shape.len());
        let axes = if rng.bool() { axis..shape.len() } else { 0..axis };
        let mut next = 8;
        for axis in axes.rev() {
            strides[axis] = next;
            next *= shape[axis] as isize;
        }
        strides
    }

    #[test]
    fn operands_have_the_elements_that_they_had() {
        let mut rng = Rng::with_seed(11);
        let cells: Vec<u64> = (0..1 << 17).collect();
        let mut laid_out = 0;
        for _ in 0..2000 {
            let arena = Bump::new();
            let shape: Vec<usize> = (0..rng.usize(2..4)).map(|_| rng.usize(0..40)).collect();
            let mut all: Vec<Strides> = (0..rng.usize(1..4)).map(|_| strides_of(&mut rng, &shape)).collect();
            let before = all.clone();
            let space = Space::join(&shape, &mut all);
            let repeats = rng.bool();
            let operand = |strides| Operand::new(cells.as_ptr().cast(), ScalarType::Int64, strides, repeats);
            let mut operands: Vec<Operand<'_>> = all.iter().map(operand).collect();
            let unit = [1, 8, 24][rng.usize(..3)];
            let Some(periods) = Periods::of(&space, &operands, unit, true) else { continue };
            laid_out += 1;
            operands.iter_mut().for_each(|operand| periods.lay_out(operand, &space, &arena));
            let (space, elements) = (periods.space(), shape.iter().product::<usize>());
            for (operand, strides) in operands.into_iter().zip(&before) {
                let walk = Walk::new(operand, &space);
                let (mut at, mut first) = (Position::default(), 0);
                let most = rng.usize(1..600);
                while first < elements {
                    space.go_to(&mut at, first);
                    let end = space.end_of_block(&at, space.block(most), elements);
                    let mut buffer = vec![0u64; end - first];
                    let column = match walk.changes_by_block() {
                        true => {
                            let buffer = buffer.as_mut_ptr().cast();
                            // SAFETY: the space has this block, and there is room for it.
                            let data = unsafe { walk.data(&space, &at, end - first, buffer) };
                            Column { data, ..walk.column() }
                        }
                        false => walk.column().at_row(first),
                    };
                    for element in first..end {
                        let mut rest = element;
                        let mut place = 0;
                        for (size, stride) in shape.iter().zip(strides).rev() {
                            place += (rest % size) as isize * stride;
                            rest /= size;
                        }
                        // SAFETY: the column has an element for each of the block.
                        let found = unsafe {
                            column.data.wrapping_add((element - first) * column.step).cast::<u64>().read()
                        };
                        assert_eq!(found, place as u64 / 8, "element {element} of {shape:?}, {strides:?}");
                    }
                    first = end;
                }
            }
        }
        assert!(laid_out > 500, "{laid_out} spaces with periods");
    }
}
