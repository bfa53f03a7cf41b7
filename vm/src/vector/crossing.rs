//! Cells that are read along one axis and written along another: tile by tile, so that what lies together in memory is read at
//! once.
//!
//! ```text
//! memory    a e i m | b f j n | c g k o | d h l p      four lines of four
//! cells     a b c d   e f g h   i j k l   m n o p      four rows of four
//! ```

use crate::vector::level::{Level, Loop};
use std::marker::PhantomData;

/// Rows that are written together: they read all of a line of the cache.
const BAND: usize = 8;

/// Rows of cells in memory, and where they go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing<T> {
    /// The first cell. That of the next row stands behind it.
    pub(crate) from: *const T,
    /// Bytes from a cell to the next one of its row.
    pub(crate) step: isize,
    /// Where the first cell goes. Those of its row go behind it.
    pub(crate) to: *mut T,
    /// Cells from there to where the next row goes.
    pub(crate) to_next: usize,
    /// Cells of a row.
    pub(crate) run: usize,
    /// How many rows there are.
    pub(crate) rows: usize,
}

impl<T: Copy> Crossing<T> {
    /// Copies the cells.
    ///
    /// # Safety
    /// There are these cells, which may have any address, and room for them.
    #[inline(always)]
    pub(crate) unsafe fn copy(self) {
        // SAFETY: the caller's promise; there are as many rows and cells as a tile has.
        unsafe {
            match (self.run.min(self.rows), size_of::<T>()) {
                (..2, _) => self.by_tiles::<Cells<T, 1>>(),
                #[cfg(target_arch = "x86_64")]
                (_, 8) => self.by_tiles::<TwoOf64>(),
                #[cfg(target_arch = "x86_64")]
                (4.., 4) => self.by_tiles::<FourOf32>(),
                (4.., _) => self.by_tiles::<Cells<T, 4>>(),
                _ => self.by_tiles::<Cells<T, 2>>(),
            }
        }
    }

    /// The last tiles lie over those before.
    ///
    /// # Safety
    /// As [`Crossing::copy`]; there are as many rows and cells as a tile has, and they have its size.
    #[inline(always)]
    unsafe fn by_tiles<A: Tile>(self) {
        let Crossing { from, step, to, to_next, run, rows } = self;
        for band in (0..rows).step_by(BAND) {
            for cell in (0..run).step_by(A::SIZE).map(|cell| cell.min(run - A::SIZE)) {
                let from = from.wrapping_byte_offset(step.wrapping_mul(cell as isize));
                for row in (band..rows.min(band + BAND)).step_by(A::SIZE).map(|row| row.min(rows - A::SIZE)) {
                    let (from, to) = (from.wrapping_add(row), to.wrapping_add(row * to_next + cell));
                    // SAFETY: the caller's promise.
                    unsafe { A::copy(from.cast(), step, to.cast(), to_next) };
                }
            }
        }
    }
}

/// As many rows as cells of each.
trait Tile {
    /// How many.
    const SIZE: usize;

    /// # Safety
    /// There are these cells, and room for them; `to_next` counts cells, all others bytes.
    unsafe fn copy(from: *const u8, step: isize, to: *mut u8, to_next: usize);
}

/// Any cells.
struct Cells<T, const SIZE: usize>(PhantomData<T>);

impl<T: Copy, const COUNT: usize> Tile for Cells<T, COUNT> {
    const SIZE: usize = COUNT;

    #[inline(always)]
    unsafe fn copy(from: *const u8, step: isize, to: *mut u8, to_next: usize) {
        let line = |number: usize| {
            let line = from.wrapping_offset(step.wrapping_mul(number as isize));
            // SAFETY: the caller's promise.
            unsafe { line.cast::<[T; COUNT]>().read_unaligned() }
        };
        let lines: [[T; COUNT]; COUNT] = std::array::from_fn(line);
        for (number, to) in (0..COUNT).map(|number| (number, to.cast::<T>().wrapping_add(number * to_next))) {
            let cells: [T; COUNT] = std::array::from_fn(|line| lines[line][number]);
            // SAFETY: the caller's promise.
            unsafe { to.cast::<[T; COUNT]>().write_unaligned(cells) };
        }
    }
}

/// Two cells of 64 bits: the compiler takes each for a number, in a register of its own.
#[cfg(target_arch = "x86_64")]
struct TwoOf64;

#[cfg(target_arch = "x86_64")]
impl Tile for TwoOf64 {
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn copy(from: *const u8, step: isize, to: *mut u8, to_next: usize) {
        use std::arch::x86_64::{_mm_loadu_pd, _mm_storeu_pd, _mm_unpackhi_pd, _mm_unpacklo_pd};
        let to = to.cast::<f64>();
        // SAFETY: the caller's promise; every machine of the target has these instructions, which change no bit.
        unsafe {
            let first = _mm_loadu_pd(from.cast());
            let second = _mm_loadu_pd(from.wrapping_offset(step).cast());
            _mm_storeu_pd(to, _mm_unpacklo_pd(first, second));
            _mm_storeu_pd(to.wrapping_add(to_next), _mm_unpackhi_pd(first, second));
        }
    }
}

/// Four cells of 32 bits.
#[cfg(target_arch = "x86_64")]
struct FourOf32;

#[cfg(target_arch = "x86_64")]
impl Tile for FourOf32 {
    const SIZE: usize = 4;

    #[inline(always)]
    unsafe fn copy(from: *const u8, step: isize, to: *mut u8, to_next: usize) {
        use std::arch::x86_64::{_mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps};
        use std::arch::x86_64::{_mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps};
        let line = |number: isize| from.wrapping_offset(step.wrapping_mul(number)).cast();
        let row = |number: usize| to.cast::<f32>().wrapping_add(number * to_next);
        // SAFETY: as above.
        unsafe {
            let lines = [0, 1, 2, 3].map(|number| _mm_loadu_ps(line(number)));
            let low = [0, 2].map(|line| _mm_unpacklo_ps(lines[line], lines[line + 1]));
            let high = [0, 2].map(|line| _mm_unpackhi_ps(lines[line], lines[line + 1]));
            _mm_storeu_ps(row(0), _mm_movelh_ps(low[0], low[1]));
            _mm_storeu_ps(row(1), _mm_movehl_ps(low[1], low[0]));
            _mm_storeu_ps(row(2), _mm_movelh_ps(high[0], high[1]));
            _mm_storeu_ps(row(3), _mm_movehl_ps(high[1], high[0]));
        }
    }
}

/// Copies cells of a size, of which the first one begins at a byte, with the instructions of the best level. They are read and written
/// as [those](Crossing) are.
///
/// # Panics
/// If a cell lies outside of the bytes, or there is no room for it.
pub(crate) fn copy_crossing<const SIZE: usize>(
    bytes: &[u8],
    (first, step): (usize, isize),
    (to, to_next): (&mut [[u8; SIZE]], usize),
    run: usize,
    rows: usize,
) {
    let (Some(last), Some(last_row)) = (run.checked_sub(1), rows.checked_sub(1)) else { return };
    let last_cell = isize::try_from(last).ok().and_then(|last| last.checked_mul(step));
    let last_cell = last_cell.and_then(|way| first.checked_add_signed(way)).expect("a cell inside the bytes");
    let end = rows.checked_mul(SIZE).and_then(|row| row.checked_add(first.max(last_cell)));
    assert!(end.is_some_and(|end| end <= bytes.len()), "all cells inside the bytes");
    let end = last_row.checked_mul(to_next).and_then(|row| row.checked_add(run));
    assert!(end.is_some_and(|end| end <= to.len()), "room for all cells");
    let (from, to) = (bytes.as_ptr().wrapping_add(first), to.as_mut_ptr());
    let level = Level::best();
    match SIZE {
        2 => {
            level.run(Checked(Crossing::<u16> { from: from.cast(), step, to: to.cast(), to_next, run, rows }))
        }
        4 => {
            level.run(Checked(Crossing::<u32> { from: from.cast(), step, to: to.cast(), to_next, run, rows }))
        }
        8 => {
            level.run(Checked(Crossing::<u64> { from: from.cast(), step, to: to.cast(), to_next, run, rows }))
        }
        _ => level.run(Checked(Crossing { from: from.cast::<[u8; SIZE]>(), step, to, to_next, run, rows })),
    }
}

/// Cells that there are, and that there is room for.
struct Checked<T>(Crossing<T>);

impl<T: Copy> Loop for Checked<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: there are these cells, and room for them.
        unsafe { self.0.copy() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_one_by_one() {
        fn check<const SIZE: usize>(run: usize, rows: usize, step: isize, to_next: usize) {
            let way = step * (run as isize - 1);
            let first = (-way).max(0) as usize;
            let bytes: Vec<u8> =
                (0..first + way.max(0) as usize + rows * SIZE).map(|i| (i * 37 % 251) as u8).collect();
            let mut to = vec![[7; SIZE]; (rows - 1) * to_next + run];
            let mut expected = to.clone();
            copy_crossing(&bytes, (first, step), (&mut to, to_next), run, rows);
            for (row, cell) in (0..rows).flat_map(|row| (0..run).map(move |cell| (row, cell))) {
                let at = (first + row * SIZE).wrapping_add_signed(step * cell as isize);
                expected[row * to_next + cell] = bytes[at..][..SIZE].try_into().expect("a cell");
            }
            assert_eq!(to, expected, "{rows} rows of {run}, {step}, {to_next}");
        }
        for (run, rows) in (1..14).flat_map(|run| (1..14).map(move |rows| (run, rows))) {
            for step in [8 * rows as isize, -(8 * rows as isize + 3), 0] {
                check::<1>(run, rows, step, run);
                check::<2>(run, rows, step, run + 1);
                check::<4>(run, rows, step, run + 5);
                check::<8>(run, rows, step, run);
            }
        }
    }

    #[test]
    #[should_panic = "inside the bytes"]
    fn cells_outside_are_not_read() {
        copy_crossing(&[0; 31], (0, 16), (&mut [[0; 8]; 4], 2), 2, 2);
    }
}
