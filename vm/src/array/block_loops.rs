//! Block kernels: the plain functions of the operator table, compiled as loops over rows.
//!
//! | function | loop |
//! | --- | --- |
//! | can raise | row by row, present rows only |
//! | plain arguments and result | all rows in the widest steps that the compiler finds, cells only |
//! | takes or gives an `Option` | 64 rows at a time, one byte of presence each, then packed to a word |
//! | gives a mask of cells of 8 bytes | 64 rows at a time, straight to the bits of a word |
//!
//! Each loop but the first is compiled twice, for [`Level::Baseline`](crate::vector::Level) and for AVX2, which serves AVX-512
//! as well: what runs often is in [strips](crate::strip). An operand that is one value for all rows is either read once, or laid
//! out 64 times, so that its loop is the one of rows.

use crate::array::block::{BlockKernel, Column, Operands, RowFault, Target, rows_of_word};
use crate::array::function::{Outcome, function};
use crate::layout::PlainSlot;
use crate::value::ScalarType;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use std::mem::MaybeUninit;

/// Success, or the first fault.
type Ran = Result<(), Box<RowFault>>;

/// One value laid out for all rows of a word.
type Spread = [MaybeUninit<u64>; ROWS_OF_A_WORD];

const EMPTY: Spread = [const { MaybeUninit::uninit() }; ROWS_OF_A_WORD];

/// Where the rows of a word begin and how far it is to those of the next word, in bytes: the column's own
/// cells, or the spread of its one value.
///
/// # Safety
/// The column has a cell of the type of `A`; of rows it has as many as are read.
#[inline(always)]
unsafe fn stream<A: PlainSlot>(column: &Column, spread: &mut Spread, rows: usize) -> (*const u8, usize) {
    let size = cell_size(A::SCALAR);
    if column.step == size {
        return (column.data, ROWS_OF_A_WORD * size);
    }
    let at = spread.as_mut_ptr().cast::<u8>();
    if !column.data.is_null() {
        for row in 0..rows.min(ROWS_OF_A_WORD) {
            // SAFETY: the caller's promise; a cell has at most 8 bytes, for which the spread has room.
            unsafe { at.add(row * size).copy_from_nonoverlapping(column.data, size) };
        }
    }
    (at, 0)
}

/// The bits of bytes that are 0 or 1.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn pack(bytes: &[u8; ROWS_OF_A_WORD]) -> u64 {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_movemask_epi8, _mm_slli_epi16};
    bytes.as_chunks::<16>().0.iter().enumerate().fold(0, |word, (i, chunk)| {
        // SAFETY: every x86-64 has SSE2; the load is of the chunk's 16 bytes. The lowest bit of a byte
        // becomes its highest, which is the one that is collected.
        let bits = unsafe {
            _mm_movemask_epi8(_mm_slli_epi16::<7>(_mm_loadu_si128(chunk.as_ptr().cast::<__m128i>())))
        };
        word | u64::from(bits as u16) << (16 * i)
    })
}

/// The bits of bytes that are 0 or 1.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn pack(bytes: &[u8; ROWS_OF_A_WORD]) -> u64 {
    // Byte i of a chunk is bit 8i; the product moves it to bit 56 + i.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let chunks = bytes.as_chunks::<8>().0.iter().enumerate();
    chunks.fold(0, |word, (i, chunk)| word | u64::from_le_bytes(*chunk).wrapping_mul(GATHER) >> 56 << (8 * i))
}

/// True if presence becomes the bits of a word row by row, without bytes in between: of a result that is nothing else, by
/// cells as wide as words.
const fn by_bits(arguments: &[(ScalarType, bool)], result: ScalarType) -> bool {
    are_wide(arguments) && matches!(result, ScalarType::Unit)
}

/// True if no argument can miss, and the widest cells are as wide as words.
const fn are_wide(arguments: &[(ScalarType, bool)]) -> bool {
    let (mut widest, mut index) = (0, 0);
    while index < arguments.len() {
        let (scalar, is_optional) = arguments[index];
        if is_optional {
            return false;
        }
        if cell_size(scalar) > widest {
            widest = cell_size(scalar);
        }
        index += 1;
    }
    widest == 8
}

macro_rules! block_kernel {
    ($name:ident, $kernel:ident, $plain:ident, $avx2:ident, $each:ident, $words:ident;
     $($A:ident $a:ident $word:ident $spread:ident $index:tt),+) => {
        /// The block kernel of a function of this many arguments.
        pub fn $kernel<F, $($A,)+ R, O>() -> BlockKernel
        where
            F: Fn($($A),+) -> O + Copy, $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            BlockKernel {
                runs: if const { O::FALLIBLE } {
                    [$each::<F, $($A,)+ R, O>; 3]
                } else {
                    [$name::<F, $($A,)+ R, O>, $avx2::<F, $($A,)+ R, O>, $avx2::<F, $($A,)+ R, O>]
                },
                is_lifted: !R::OPTIONAL $(&& !$A::OPTIONAL)+,
                is_fallible: O::FALLIBLE,
                recipe: None,
                special: None,
            }
        }

        /// Row by row, for functions that can raise.
        ///
        /// # Safety
        /// The contract of [`BlockRun`](crate::array::block::BlockRun).
        unsafe fn $each<F, $($A,)+ R, O>(args: Operands<'_>, target: Target, rows: usize) -> Ran
        where
            F: Fn($($A),+) -> O + Copy, $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            let is_lifted = !R::OPTIONAL $(&& !$A::OPTIONAL)+;
            let f = function::<F>();
            $(
                // SAFETY: the caller's promise.
                let $a = unsafe { args.column($index) };
            )+
            for number in 0..rows.div_ceil(ROWS_OF_A_WORD) {
                let mut known = rows_of_word(number, rows);
                $(if !$A::OPTIONAL {
                    // SAFETY: the caller's promise.
                    known &= unsafe { $a.word(number) };
                })+
                let (mut present, mut left) = (known, known);
                if known != rows_of_word(number, rows) {
                    // What is under missing rows is a value of the type as well.
                    let first = number * ROWS_OF_A_WORD;
                    let bytes = ROWS_OF_A_WORD.min(rows - first) * cell_size(R::SCALAR);
                    // SAFETY: the caller's promise.
                    unsafe { target.data.add(first * cell_size(R::SCALAR)).write_bytes(0, bytes) };
                }
                while left != 0 {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    let row = number * ROWS_OF_A_WORD + bit as usize;
                    // SAFETY: the caller's promise.
                    let value = unsafe { f($($a.load::<$A>(row)),+) };
                    let value = value.outcome().map_err(|fault| Box::new(RowFault { row, fault }))?;
                    // SAFETY: the caller's promise.
                    let there = unsafe { value.store_row(target.data.add(row * cell_size(R::SCALAR))) };
                    present &= !(u64::from(!there) << bit);
                }
                if !is_lifted {
                    // SAFETY: the caller's promise.
                    unsafe { target.set_word(number, present) };
                }
            }
            Ok(())
        }

        /// All rows, for functions that cannot raise.
        ///
        /// # Safety
        /// The contract of [`BlockRun`](crate::array::block::BlockRun).
        #[inline(always)]
        unsafe fn $name<F, $($A,)+ R, O>(args: Operands<'_>, target: Target, rows: usize) -> Ran
        where
            F: Fn($($A),+) -> O + Copy, $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            let is_lifted = !R::OPTIONAL $(&& !$A::OPTIONAL)+;
            // SAFETY: the caller's promise.
            unsafe {
                match is_lifted {
                    // A lifted UNIT is nothing but its presence.
                    true if R::SCALAR == ScalarType::Unit => {}
                    true => $plain::<F, $($A,)+ R, O>(args, target, rows),
                    false => $words::<F, $($A,)+ R, O>(args, target, rows),
                }
            }
            Ok(())
        }

        /// # Safety
        /// The contract of [`BlockRun`](crate::array::block::BlockRun); the machine has the features.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $avx2<F, $($A,)+ R, O>(args: Operands<'_>, target: Target, rows: usize) -> Ran
        where
            F: Fn($($A),+) -> O + Copy, $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            // SAFETY: the caller's promise.
            unsafe { $name::<F, $($A,)+ R, O>(args, target, rows) }
        }

        #[cfg(not(target_arch = "x86_64"))]
        use $name as $avx2;

        /// The cells of all rows.
        ///
        /// # Safety
        /// The contract of [`BlockRun`](crate::array::block::BlockRun).
        #[inline(always)]
        unsafe fn $plain<F, $($A,)+ R, O>(args: Operands<'_>, target: Target, rows: usize)
        where
            F: Fn($($A),+) -> O + Copy, $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            let f = function::<F>();
            let apply = |$($a: $A),+| f($($a),+).outcome().ok();
            let size = cell_size(R::SCALAR);
            $(
                // SAFETY: the caller's promise.
                let $a = unsafe { args.column($index) };
            )+
            if $($a.step == cell_size($A::SCALAR))&&+ {
                $(let $a = $a.data;)+
                for row in 0..rows {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let value = apply($($A::load_row($a.add(row * cell_size($A::SCALAR)), true)),+);
                        if let Some(value) = value {
                            value.store_row(target.data.add(row * size));
                        }
                    }
                }
                return;
            }
            block_kernel!(@scalars apply, size, target, rows; $($A $a $spread),+);
        }

        /// The cells and the presence of all rows, a word of presence at a time.
        ///
        /// # Safety
        /// The contract of [`BlockRun`](crate::array::block::BlockRun).
        #[inline(always)]
        unsafe fn $words<F, $($A,)+ R, O>(args: Operands<'_>, target: Target, rows: usize)
        where
            F: Fn($($A),+) -> O + Copy, $($A: PlainSlot,)+ R: PlainSlot, O: Outcome<R>,
        {
            let f = function::<F>();
            // SAFETY: the caller's promise; every stream has the rows of the word.
            unsafe {
                $(
                    let column = args.column($index);
                    let mut $spread: Spread = EMPTY;
                    let ($a, $word) = (stream::<$A>(column, &mut $spread, rows), column);
                )+
                for number in 0..rows.div_ceil(ROWS_OF_A_WORD) {
                    let mut known = rows_of_word(number, rows);
                    $(
                        let $a = $a.0.add(number * $a.1);
                        let $word = $word.word(number);
                        if !$A::OPTIONAL {
                            known &= $word;
                        }
                    )+
                    let out = target.data.add(number * ROWS_OF_A_WORD * cell_size(R::SCALAR));
                    // The number of rows is known to the compiler for all words but the last, whose rows go one by one.
                    let there = match rows - number * ROWS_OF_A_WORD {
                        0..ROWS_OF_A_WORD => {
                            let (mut bits, mut left) = (0, rows_of_word(number, rows));
                            while left != 0 {
                                let row = left.trailing_zeros() as usize;
                                let there: u8 = block_kernel!(@row f, R, out, row; $($A $a $word),+);
                                bits |= u64::from(there) << row;
                                left &= left - 1;
                            }
                            bits
                        }
                        _ if const { by_bits(&[$(($A::SCALAR, $A::OPTIONAL)),+], R::SCALAR) } => {
                            let mut bits = 0;
                            for row in 0..ROWS_OF_A_WORD {
                                let there: u8 = block_kernel!(@row f, R, out, row; $($A $a $word),+);
                                bits |= u64::from(there) << row;
                            }
                            bits
                        }
                        _ => {
                            let mut there = [0; ROWS_OF_A_WORD];
                            for row in 0..ROWS_OF_A_WORD {
                                there[row] = block_kernel!(@row f, R, out, row; $($A $a $word),+);
                            }
                            pack(&there)
                        }
                    };
                    target.set_word(number, there & known);
                }
            }
        }
    };
    (@row $f:ident, $R:ident, $out:ident, $row:ident; $($A:ident $a:ident $word:ident),+) => {{
        $(let $a = $A::load_row($a.add($row * cell_size($A::SCALAR)), $word >> $row & 1 == 1);)+
        match $f($($a),+).outcome() {
            Ok(value) => u8::from(value.store_row($out.add($row * cell_size($R::SCALAR)))),
            Err(_) => 0,
        }
    }};
    (@scalars $apply:ident, $size:ident, $target:ident, $rows:ident;
     $A:ident $a:ident $sa:ident, $B:ident $b:ident $sb:ident) => {
        // SAFETY: as above. If the second operand has rows, the first is one value; else it is the first
        // that has rows. A UNIT has no cells: its step of 0 tells nothing, and it is not read.
        unsafe {
            if $b.step == cell_size($B::SCALAR) {
                let x = $A::load_row($a.data, true);
                let b = $b.data;
                for row in 0..$rows {
                    let y = $B::load_row(b.add(row * cell_size($B::SCALAR)), true);
                    if let Some(value) = $apply(x, y) {
                        value.store_row($target.data.add(row * $size));
                    }
                }
            } else {
                let y = $B::load_row($b.data, true);
                let a = $a.data;
                for row in 0..$rows {
                    let x = $A::load_row(a.add(row * cell_size($A::SCALAR)), true);
                    if let Some(value) = $apply(x, y) {
                        value.store_row($target.data.add(row * $size));
                    }
                }
            }
        }
    };
    (@scalars $apply:ident, $size:ident, $target:ident, $rows:ident; $($A:ident $a:ident $spread:ident),+) => {
        // SAFETY: as above.
        unsafe {
            $(
                let mut $spread: Spread = EMPTY;
                let $a = stream::<$A>($a, &mut $spread, $rows);
            )+
            for number in 0..$rows.div_ceil(ROWS_OF_A_WORD) {
                $(let $a = $a.0.add(number * $a.1);)+
                let out = $target.data.add(number * ROWS_OF_A_WORD * $size);
                for row in 0..ROWS_OF_A_WORD.min($rows - number * ROWS_OF_A_WORD) {
                    let value = $apply($($A::load_row($a.add(row * cell_size($A::SCALAR)), true)),+);
                    if let Some(value) = value {
                        value.store_row(out.add(row * $size));
                    }
                }
            }
        }
    };
}

block_kernel!(run1, block1, plain1, avx2_1, each1, words1; A a wa sa 0);
block_kernel!(run2, block2, plain2, avx2_2, each2, words2; A a wa sa 0, B b wb sb 1);
block_kernel!(run3, block3, plain3, avx2_3, each3, words3; A a wa sa 0, B b wb sb 1, C c wc sc 2);
block_kernel!(
    run4, block4, plain4, avx2_4, each4, words4;
    A a wa sa 0, B b wb sb 1, C c wc sc 2, D d wd sd 3
);
