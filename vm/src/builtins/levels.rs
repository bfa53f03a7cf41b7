//! Test: every operator of rows gives the same bits with all instructions of this machine.

use crate::builtins::table;
use crate::operator::block::{BlockKernel, Column};
use crate::operator::{Kernel, Overload};
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::value::{QType, ScalarType};
use crate::vector::Level;

/// Around words, and more than one word.
const SIZES: [usize; 6] = [1, 7, 63, 64, 65, 300];
const MOST: usize = 300;

/// Numbers that are cheap to make and never the same twice in a row.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A cell: any number, or one of those where operators behave in their own way.
    fn cell(&mut self, scalar: ScalarType) -> u64 {
        let bits = self.next();
        let special = (bits >> 40).is_multiple_of(4);
        match scalar {
            ScalarType::Boolean => bits & 1,
            ScalarType::Float64 | ScalarType::WeakFloat => {
                let specials =
                    [0.0, -0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE / 4.0, 1e300];
                let near = (bits >> 12) as f64 / (1u64 << 48) as f64 - 8.0;
                if special { specials[bits as usize % 8] } else { near }.to_bits()
            }
            ScalarType::Float32 => {
                let specials = [0.0, -0.0, 1.0, -1.5, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 4.0, 1e30];
                let near = (bits >> 40) as f32 / (1u64 << 20) as f32 - 8.0;
                u64::from(if special { specials[bits as usize % 8] } else { near }.to_bits())
            }
            _ if special => [0, 1, u64::MAX, i64::MIN as u64][bits as usize % 4],
            _ => (bits >> 32) % 1000,
        }
    }
}

/// Rows of an operand: cells, one after the other, and words of presence.
struct Rows {
    cells: Vec<u64>,
    words: Vec<u64>,
    step: usize,
}

impl Rows {
    fn new(numbers: &mut Numbers, scalar: ScalarType, is_one: bool) -> Rows {
        let size = cell_size(scalar);
        let mut cells = vec![0u64; MOST];
        for cell in bytemuck::cast_slice_mut::<u64, u8>(&mut cells).chunks_exact_mut(size.max(1)).take(MOST) {
            cell[..size].copy_from_slice(&numbers.cell(scalar).to_le_bytes()[..size]);
        }
        let words = (0..MOST.div_ceil(ROWS_OF_A_WORD)).map(|_| numbers.next() | numbers.next()).collect();
        let step = if is_one { 0 } else { size };
        Rows { cells, words, step }
    }

    fn column(&self, has_presence: bool) -> Column {
        Column {
            data: self.cells.as_ptr().cast(),
            step: self.step,
            presence: if has_presence { self.words.as_ptr() } else { std::ptr::null() },
            all: u64::MAX,
        }
    }
}

/// The kernel of an overload that cannot raise; NaN of a result is one value.
fn kernel(overload: &Overload) -> Option<BlockKernel> {
    match overload.kernel() {
        Kernel::Scalar(kernel) if !kernel.block.is_fallible => Some(kernel.block),
        _ => None,
    }
}

fn with_one_nan(mut bytes: Vec<u8>, scalar: ScalarType) -> Vec<u8> {
    match scalar {
        ScalarType::Float64 | ScalarType::WeakFloat => {
            for cell in bytes.as_chunks_mut::<8>().0 {
                if f64::from_le_bytes(*cell).is_nan() {
                    *cell = f64::NAN.to_le_bytes();
                }
            }
        }
        ScalarType::Float32 => {
            for cell in bytes.as_chunks_mut::<4>().0 {
                if f32::from_le_bytes(*cell).is_nan() {
                    *cell = f32::NAN.to_le_bytes();
                }
            }
        }
        _ => {}
    }
    bytes
}

#[test]
fn all_levels_give_the_same_bits() {
    let mut numbers = Numbers(0x5eed);
    let table = table();
    let mut compared = 0;
    let families = table.families().flat_map(|family| family.overloads());
    for overload in families {
        let Some(kernel) = kernel(overload) else { continue };
        // The kernel of a lifted overload is that of the plain one.
        let scalars: Vec<ScalarType> = overload.args().iter().filter_map(QType::element).collect();
        let result = overload.result().element().expect("a plain result");
        for one in 0..=scalars.len() {
            let rows: Vec<Rows> = scalars
                .iter()
                .enumerate()
                .map(|(index, scalar)| {
                    Rows::new(&mut numbers, *scalar, index + 1 == one && scalars.len() > 1)
                })
                .collect();
            let columns: Vec<Column> = rows.iter().map(|rows| rows.column(!kernel.is_lifted)).collect();
            for count in SIZES {
                let expected = kernel.rows(Level::Baseline, &columns, cell_size(result), count);
                let expected = (with_one_nan(expected.0, result), expected.1);
                for level in Level::available() {
                    let found = kernel.rows(*level, &columns, cell_size(result), count);
                    let found = (with_one_nan(found.0, result), found.1);
                    assert!(found == expected, "{overload}, {count} rows, {}", level.name());
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 2_000, "only {compared}");
}
