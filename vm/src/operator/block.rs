//! Block kernels: the plain functions of the operator table over rows of columns.
//!
//! ```text
//! x         x0  x1  x2  x3          step 8      presence …1011
//! y         y                       step 0      all present
//! f(x, y)   f0  f1  ?   f3                      presence …1011
//! ```
//!
//! A function of plain arguments is *lifted*: a row is present if it is in all of them. A function that
//! takes an `Option` sees whether the row is there, and decides itself.
//!
//! 1. A function that can raise is applied to present rows only, from the first row on.
//! 2. One that cannot is applied to every row, as fast as the machine can: what stands under a missing
//!    row is a value of its type, and what comes of it is not looked at.
//! 3. The result does not depend on the machine: no operation is reordered or contracted.

use crate::layout::PlainSlot;
use crate::operator::function::{Outcome, function};
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::value::{Fault, ScalarType};

/// Rows of one operand, or one value for all rows.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The first cell.
    pub data: *const u8,
    /// Bytes from one row to the next; 0 for one value.
    pub step: usize,
    /// Words of presence; null if all rows are alike.
    pub presence: *const u64,
    /// The word of presence where all rows are alike.
    pub all: u64,
}

impl Column {
    /// A missing value for every row.
    pub const MISSING: Column =
        Column { data: std::ptr::null(), step: 0, presence: std::ptr::null(), all: 0 };

    /// # Safety
    /// The column has a word of this number.
    #[inline(always)]
    unsafe fn word(&self, number: usize) -> u64 {
        match self.presence.is_null() {
            true => self.all,
            // SAFETY: the caller's promise.
            false => unsafe { self.presence.add(number).read() },
        }
    }

    /// # Safety
    /// The column has this row, a cell of the type of `A`.
    #[inline(always)]
    unsafe fn load<A: PlainSlot>(&self, row: usize) -> A {
        // SAFETY: the caller's promise.
        unsafe {
            let word = if A::OPTIONAL { self.word(row / ROWS_OF_A_WORD) } else { u64::MAX };
            A::load_row(self.data.add(row * self.step), word >> (row % ROWS_OF_A_WORD) & 1 == 1)
        }
    }
}

/// Where the rows of a result go.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The first cell.
    pub data: *mut u8,
    /// Words of presence, one for 64 rows begun.
    pub presence: *mut u64,
}

/// A row that raises; all rows before it do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// The row.
    pub row: usize,
    /// What it raises.
    pub fault: Fault,
}

/// The code of a block kernel.
///
/// # Safety
/// Every column of an argument has this many rows of the argument's type, and the words of presence for
/// them; the target has room for as many rows of the result's type and their words, and shares no byte
/// with an argument.
pub type BlockRun = unsafe fn(args: &[Column], target: Target, rows: usize) -> Result<(), RowFault>;

/// The words of presence of a lifted result: present in all arguments.
///
/// # Safety
/// As [`BlockRun`].
unsafe fn intersect(args: &[Column], target: Target, rows: usize) {
    for number in 0..rows.div_ceil(ROWS_OF_A_WORD) {
        let mut word = rows_of_word(number, rows);
        for column in args {
            // SAFETY: the caller's promise.
            word &= unsafe { column.word(number) };
        }
        // SAFETY: the caller's promise.
        unsafe { target.presence.add(number).write(word) };
    }
}

/// The bits of the rows that a word has.
fn rows_of_word(number: usize, rows: usize) -> u64 {
    match rows - number * ROWS_OF_A_WORD {
        rest if rest < ROWS_OF_A_WORD => (1 << rest) - 1,
        _ => u64::MAX,
    }
}

macro_rules! block_kernel {
    ($name:ident, $fast:ident, $fast_avx2:ident; $($A:ident $a:ident $index:tt),+) => {
        /// The block kernel of a function of this many arguments.
        ///
        /// # Safety
        /// The contract of [`BlockRun`].
        pub unsafe fn $name<F, $($A,)+ R, O>(
            args: &[Column],
            target: Target,
            rows: usize,
        ) -> Result<(), RowFault>
        where
            F: Fn($($A),+) -> O + Copy,
            $($A: PlainSlot,)+
            R: PlainSlot,
            O: Outcome<R>,
        {
            let plain = !R::OPTIONAL && !O::FALLIBLE && R::SCALAR != ScalarType::Unit;
            if plain && $(!$A::OPTIONAL)&&+ {
                // SAFETY: the caller's promise; the second function runs only where the machine has AVX2 and FMA.
                unsafe {
                    intersect(args, target, rows);
                    #[cfg(target_arch = "x86_64")]
                    if std::arch::is_x86_feature_detected!("avx2")
                        && std::arch::is_x86_feature_detected!("fma")
                    {
                        $fast_avx2::<F, $($A,)+ R, O>(args, target, rows);
                        return Ok(());
                    }
                    $fast::<F, $($A,)+ R, O>(args, target, rows);
                }
                return Ok(());
            }
            let f = function::<F>();
            for number in 0..rows.div_ceil(ROWS_OF_A_WORD) {
                let mut known = rows_of_word(number, rows);
                $(if !$A::OPTIONAL {
                    // SAFETY: the caller's promise.
                    known &= unsafe { args[$index].word(number) };
                })+
                let (mut present, mut left) = (known, known);
                while left != 0 {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    let row = number * ROWS_OF_A_WORD + bit as usize;
                    // SAFETY: the caller's promise.
                    let value = unsafe { f($(args[$index].load::<$A>(row)),+) };
                    let value = value.outcome().map_err(|fault| RowFault { row, fault })?;
                    // SAFETY: the caller's promise.
                    let there = unsafe { value.store_row(target.data.add(row * cell_size(R::SCALAR))) };
                    present &= !(u64::from(!there) << bit);
                }
                // SAFETY: the caller's promise.
                unsafe { target.presence.add(number).write(present) };
            }
            Ok(())
        }

        /// The values of all rows, in the widest steps that the compiler finds.
        ///
        /// # Safety
        /// The contract of [`BlockRun`].
        #[inline(always)]
        unsafe fn $fast<F, $($A,)+ R, O>(args: &[Column], target: Target, rows: usize)
        where
            F: Fn($($A),+) -> O + Copy,
            $($A: PlainSlot,)+
            R: PlainSlot,
            O: Outcome<R>,
        {
            let f = function::<F>();
            let apply = |$($a: $A),+| f($($a),+).outcome().ok();
            let size = cell_size(R::SCALAR);
            // A column of one value is loaded once; the compiler sees the step of every other.
            $(let $a = args[$index];)+
            // SAFETY: the caller's promise.
            unsafe {
                if $($a.step == cell_size($A::SCALAR))&&+ {
                    for row in 0..rows {
                        let value = apply($($A::load_row($a.data.add(row * cell_size($A::SCALAR)), true)),+);
                        if let Some(value) = value {
                            value.store_row(target.data.add(row * size));
                        }
                    }
                    return;
                }
            }
            block_kernel!(@scalars apply, size, target, rows; $($A $a),+);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $fast_avx2<F, $($A,)+ R, O>(args: &[Column], target: Target, rows: usize)
        where
            F: Fn($($A),+) -> O + Copy,
            $($A: PlainSlot,)+
            R: PlainSlot,
            O: Outcome<R>,
        {
            // SAFETY: the caller's promise.
            unsafe { $fast::<F, $($A,)+ R, O>(args, target, rows) }
        }
    };
    (@scalars $apply:ident, $size:ident, $target:ident, $rows:ident; $A:ident $a:ident, $B:ident $b:ident) => {
        // SAFETY: as above. If the second operand has rows, the first is one value; else it is the first
        // that has rows. A UNIT has no cells: its step of 0 tells nothing, and it is not read.
        unsafe {
            if $b.step == cell_size($B::SCALAR) {
                let x = $A::load_row($a.data, true);
                for row in 0..$rows {
                    let y = $B::load_row($b.data.add(row * cell_size($B::SCALAR)), true);
                    if let Some(value) = $apply(x, y) {
                        value.store_row($target.data.add(row * $size));
                    }
                }
            } else {
                let y = $B::load_row($b.data, true);
                for row in 0..$rows {
                    let x = $A::load_row($a.data.add(row * cell_size($A::SCALAR)), true);
                    if let Some(value) = $apply(x, y) {
                        value.store_row($target.data.add(row * $size));
                    }
                }
            }
        }
    };
    (@scalars $apply:ident, $size:ident, $target:ident, $rows:ident; $($A:ident $a:ident),+) => {
        // SAFETY: as above.
        unsafe {
            for row in 0..$rows {
                if let Some(value) = $apply($($A::load_row($a.data.add(row * $a.step), true)),+) {
                    value.store_row($target.data.add(row * $size));
                }
            }
        }
    };
}

block_kernel!(block1, fast1, fast1_avx2; A a 0);
block_kernel!(block2, fast2, fast2_avx2; A a 0, B b 1);
block_kernel!(block3, fast3, fast3_avx2; A a 0, B b 1, C c 2);
block_kernel!(block4, fast4, fast4_avx2; A a 0, B b 1, C c 2, D d 3);
