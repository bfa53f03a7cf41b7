//! Shapes: sizes of axes, strides, and where the elements of both stand.

use crate::value::array::MAX_ROWS;
use crate::value::nd_type::MAX_RANK;

/// Sizes of the axes; those beyond the last axis are 1.
pub type Shape = [usize; MAX_RANK];
/// Bytes from one element to the next along each axis.
pub type Strides = [isize; MAX_RANK];

/// A number for each axis, such as its size, without a buffer of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerAxis {
    len: usize,
    numbers: Shape,
}

impl FromIterator<usize> for PerAxis {
    /// # Panics
    /// If there are more numbers than an array can have axes.
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> PerAxis {
        let mut list = PerAxis::default();
        for number in numbers {
            list.numbers[list.len] = number;
            list.len += 1;
        }
        list
    }
}

impl std::ops::Deref for PerAxis {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.numbers[..self.len]
    }
}

impl std::ops::DerefMut for PerAxis {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.numbers[..self.len]
    }
}

/// Where each element begins in a buffer, the last axis fastest.
#[derive(Clone, Debug)]
pub struct Offsets {
    rank: usize,
    shape: Shape,
    strides: Strides,
    index: Shape,
    at: isize,
    left: usize,
}

impl Offsets {
    /// The elements of a shape, the first of which begins at a byte.
    pub(crate) fn new(rank: usize, shape: Shape, strides: Strides, start: usize, count: usize) -> Offsets {
        Offsets { rank, shape, strides, index: [0; MAX_RANK], at: start as isize, left: count }
    }
}

impl Iterator for Offsets {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at as usize;
        for axis in (0..self.rank).rev() {
            self.index[axis] += 1;
            self.at += self.strides[axis];
            if self.index[axis] < self.shape[axis] {
                break;
            }
            self.at -= self.strides[axis] * self.shape[axis] as isize;
            self.index[axis] = 0;
        }
        Some(at)
    }

    fn nth(&mut self, count: usize) -> Option<usize> {
        self.left = self.left.saturating_sub(count);
        if self.left == 0 {
            return None;
        }
        let mut carry = count;
        for axis in (0..self.rank).rev() {
            let (place, size) = (self.index[axis] + carry, self.shape[axis]);
            self.at += self.strides[axis] * ((place % size) as isize - self.index[axis] as isize);
            self.index[axis] = place % size;
            carry = place / size;
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets {}

/// Number of elements of a shape; `None` if there are more than [`MAX_ROWS`]. A shape is refused as well if its
/// sizes other than 0 have too large a product, so that no stride overflows.
#[inline]
pub fn element_count(shape: &[usize]) -> Option<usize> {
    let product = shape.iter().try_fold(1usize, |n, size| n.checked_mul((*size).max(1)))?;
    let count = if shape.contains(&0) { 0 } else { product };
    (product <= MAX_ROWS).then_some(count)
}

/// Strides of elements one after the other, the last axis fastest.
pub fn c_strides(shape: &[usize], cell: usize) -> Strides {
    let mut strides = [0; MAX_RANK];
    let mut next = cell;
    for axis in (0..shape.len().min(MAX_RANK)).rev() {
        strides[axis] = next as isize;
        next = next.saturating_mul(shape[axis].max(1));
    }
    strides
}

/// Fills in those of elements one after the other over as many axes or more, aligned from the last one; where elements repeat,
/// strides stay.
pub(crate) fn fill_strides(strides: &mut [isize], shape: &[usize], cell: usize) {
    let mut next = cell;
    for (stride, size) in strides.iter_mut().rev().zip(shape.iter().rev()) {
        if *size != 1 {
            (*stride, next) = (next as isize, next.wrapping_mul(*size));
        }
    }
}

/// True if there are elements, which stand one after the other, the last axis fastest, each at a multiple of its size, a power of two
/// of bytes.
#[inline]
pub(crate) fn are_in_order(first: *const u8, (shape, strides): (&[usize], &[isize]), cell: usize) -> bool {
    let mut next = cell;
    for (size, stride) in shape.iter().zip(strides).rev() {
        if *size != 1 && *stride != next as isize {
            return false;
        }
        next = next.wrapping_mul(*size);
    }
    next > 0 && first.addr() & (cell - 1) == 0
}

/// A list filled up to the largest number of axes.
pub fn padded<T: Copy>(list: &[T], with: T) -> [T; MAX_RANK] {
    std::array::from_fn(|axis| list.get(axis).copied().unwrap_or(with))
}
