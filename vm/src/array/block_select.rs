//! The choice between two operands by a mask, row by row.
//!
//! ```text
//! mask      1  0  1  1        presence of the first operand, which has no cells
//! x         x0 x1 x2 x3
//! y         y0 y1 y2 y3
//! result    x0 y1 x2 x3       cells by rows, presence by words: mask & of_x | !mask & of_y
//! ```
//!
//! Cells are chosen by their size, whatever type they are of.

use crate::array::block::{BlockKernel, BlockRun, Column, Operands, RowFault, Target, rows_of_word};
use crate::value::ScalarType;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::vector::Level;

/// The block kernel of `(mask, x, y) -> x or y` for plain elements and their optionals.
pub fn select(element: ScalarType) -> BlockKernel {
    let runs = match cell_size(element) {
        0 => runs::<()>(),
        1 => runs::<u8>(),
        4 => runs::<u32>(),
        _ => runs::<u64>(),
    };
    BlockKernel { runs, is_lifted: false, is_fallible: false, recipe: None, special: None }
}

fn runs<C: Bits>() -> [BlockRun; Level::ALL.len()] {
    [run::<C>, run_avx2::<C>, run_avx512::<C>]
}

/// The bits of a cell.
trait Bits: Copy + Default {
    /// `x` if the lowest bit of the mask is set, and `y` if it is not. Compilers make a masked move of this, and of
    /// a condition at times a branch.
    fn choose(mask: u64, x: Self, y: Self) -> Self;
}

macro_rules! bits {
    ($($cell:ty)*) => {$(
        impl Bits for $cell {
            #[inline(always)]
            fn choose(mask: u64, x: Self, y: Self) -> Self {
                let all = (0 as $cell).wrapping_sub((mask & 1) as $cell);
                y ^ (all & (x ^ y))
            }
        }
    )*};
}

bits!(u8 u32 u64);

impl Bits for () {
    fn choose(_: u64, (): Self, (): Self) -> Self {}
}

/// Rows that are chosen at a time.
const GROUP: usize = 8;

/// Cells in groups: a column's own, or its one value laid out for all rows of a group.
#[derive(Clone, Copy)]
struct Groups<C> {
    first: *const [C; GROUP],
    /// How far it is from one group to the next.
    step: usize,
}

impl<C: Bits> Groups<C> {
    /// # Safety
    /// The column has rows of cells of the type, or one such cell, or none of it is present.
    #[inline(always)]
    unsafe fn of(column: &Column, spread: &mut [C; GROUP]) -> Groups<C> {
        let cells = column.data.cast::<C>();
        if column.step != 0 {
            return Groups { first: cells.cast(), step: 1 };
        }
        if !cells.is_null() {
            // SAFETY: the caller's promise.
            *spread = [unsafe { cells.read() }; GROUP];
        }
        Groups { first: spread, step: 0 }
    }

    /// # Safety
    /// The column has such a group, or rows of it.
    #[inline(always)]
    unsafe fn at(self, group: usize) -> *const [C; GROUP] {
        // SAFETY: the caller's promise.
        unsafe { self.first.add(group * self.step) }
    }
}

/// # Safety
/// The contract of [`BlockRun`].
#[inline(always)]
unsafe fn run<C: Bits>(args: Operands<'_>, target: Target, rows: usize) -> Result<(), Box<RowFault>> {
    let mut spreads = [[C::default(); GROUP]; 2];
    let [of_x, of_y] = &mut spreads;
    // SAFETY: the caller's promise.
    unsafe {
        let (mask, x, y) = (args.column(0), args.column(1), args.column(2));
        let (from_x, from_y) = (Groups::of(x, of_x), Groups::of(y, of_y));
        let out = target.data.cast::<[C; GROUP]>();
        for number in 0..rows.div_ceil(ROWS_OF_A_WORD) {
            let bits = mask.word(number);
            let present = bits & x.word(number) | !bits & y.word(number);
            target.set_word(number, present & rows_of_word(number, rows));
            let groups = number * GROUPS_OF_A_WORD..(number + 1) * GROUPS_OF_A_WORD;
            if rows >= groups.end * GROUP {
                for (index, group) in groups.enumerate() {
                    let (x, y) = (from_x.at(group).read(), from_y.at(group).read());
                    let bits = bits >> (index * GROUP);
                    out.add(group).write(std::array::from_fn(|row| C::choose(bits >> row, x[row], y[row])));
                }
                continue;
            }
            for row in groups.start * GROUP..rows {
                let (group, place) = (row / GROUP, row % GROUP);
                let cell = |groups: Groups<C>| groups.at(group).cast::<C>().add(place).read();
                let chosen = C::choose(bits >> (row % ROWS_OF_A_WORD), cell(from_x), cell(from_y));
                out.cast::<C>().add(row).write(chosen);
            }
        }
    }
    Ok(())
}

/// Groups of the rows of a word of presence.
const GROUPS_OF_A_WORD: usize = ROWS_OF_A_WORD / GROUP;

macro_rules! compiled {
    ($name:ident, $features:literal) => {
        /// # Safety
        /// The contract of [`run`]; the machine has the features.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<C: Bits>(
            args: Operands<'_>,
            target: Target,
            rows: usize,
        ) -> Result<(), Box<RowFault>> {
            // SAFETY: the caller's promise.
            unsafe { run::<C>(args, target, rows) }
        }

        #[cfg(not(target_arch = "x86_64"))]
        use run as $name;
    };
}

compiled!(run_avx2, "avx2,fma");
compiled!(run_avx512, "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_presence_of_either_operand() {
        let rows = 131;
        let cells: Vec<f64> = (0..2 * rows).map(|i| i as f64).collect();
        let words: Vec<u64> =
            (0..9u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7)).collect();
        let column = |from: usize, step, words: &[u64]| Column {
            presence: words.as_ptr(),
            ..Column::of_cells(cells[from..].as_ptr().cast(), step)
        };
        let mask = Column { presence: words.as_ptr(), ..Column::MISSING };
        for steps in [[8, 8], [8, 0], [0, 8]] {
            let columns = [mask, column(0, steps[0], &words[3..]), column(rows, steps[1], &words[6..])];
            for level in Level::available() {
                let (bytes, present) = select(ScalarType::Float64).rows(*level, &columns, 8, rows);
                let values: &[f64] = bytemuck::cast_slice(&bytes);
                for (row, value) in values.iter().enumerate() {
                    let bit = |words: &[u64]| words[row / 64] >> (row % 64) & 1 == 1;
                    let (from, step, of_operand) = match bit(&words) {
                        true => (0, steps[0], bit(&words[3..])),
                        false => (rows, steps[1], bit(&words[6..])),
                    };
                    assert_eq!(bit(&present), of_operand, "{steps:?} {level:?} {row}");
                    let expected = if of_operand { cells[from + row * step / 8] } else { 0.0 };
                    assert_eq!(*value, expected, "{steps:?} {level:?} {row}");
                }
                assert_eq!(present[2] >> (rows % 64), 0, "no row behind the last");
            }
        }
    }
}
