//! Blocks: rows of columns, and the code that an operator has for them.
//!
//! ```text
//! x         x0  x1  x2  x3          step 8      presence …1011
//! y         y                       step 0      all present
//! f(x, y)   f0  f1  ?   f3                      presence …1011
//! ```
//!
//! A function of plain arguments is *lifted*: a row is present if it is in all of them. Whoever runs its
//! kernel computes that with [`intersect`], the kernel only the cells. A kernel of a function that takes
//! or gives an `Option` computes the presence as well.
//!
//! 1. A function that can raise is applied to present rows only, from the first row on.
//! 2. One that cannot is applied to every row, as fast as the machine can: what stands under a missing
//!    row is a value of its type, and what comes of it is not looked at.
//! 3. The result does not depend on the machine: no operation is reordered or contracted.

use crate::array::recipe::Recipe;
use crate::array::special::SpecialFunction;
use crate::layout::PlainSlot;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::value::{ArrayRows, Fault, ScalarType};
use crate::vector::Level;

/// Rows of one operand, or one value for all rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Column {
    /// The first cell.
    pub data: *const u8,
    /// Bytes from one row to the next: the size of a cell, or 0 for one value; the largest
    /// number where positions choose the cells.
    pub step: usize,
    /// Words of presence; null if all rows are alike. Positions of 32 bits of cells that are taken.
    pub presence: *const u64,
    /// The word of presence where all rows are alike.
    pub all: u64,
}

/// The step of cells that positions choose.
const TAKEN: usize = usize::MAX;

impl Column {
    /// A missing value for every row.
    pub const MISSING: Column =
        Column { data: std::ptr::null(), step: 0, presence: std::ptr::null(), all: 0 };

    /// Cells of which none is missing.
    pub fn of_cells(data: *const u8, step: usize) -> Column {
        Column { data, step, presence: std::ptr::null(), all: u64::MAX }
    }

    /// All rows of an array of plain elements.
    pub fn of_rows(rows: &ArrayRows, element: ScalarType) -> Column {
        Column {
            data: rows.bytes().as_ptr(),
            step: cell_size(element),
            presence: rows.presence().map_or(std::ptr::null(), <[u64]>::as_ptr),
            all: u64::MAX,
        }
    }

    /// The column from a row on, the first one of a word of presence.
    pub(crate) fn at_row(self, row: usize) -> Column {
        let presence = match self.presence.is_null() {
            true => self.presence,
            false => self.presence.wrapping_add(row / ROWS_OF_A_WORD),
        };
        Column { data: self.data.wrapping_add(row * self.step), presence, ..self }
    }

    /// Cells that positions choose, one for each row.
    pub(crate) fn of_taken(positions: *const u32) -> Column {
        Column { data: std::ptr::null(), step: TAKEN, presence: positions.cast(), all: u64::MAX }
    }

    /// True if positions choose the cells; they stand where words of presence do.
    pub(crate) fn is_taken(&self) -> bool {
        self.step == TAKEN
    }

    /// One value for all rows.
    pub fn of_value(data: *const u8, is_present: bool) -> Column {
        Column { data, step: 0, presence: std::ptr::null(), all: if is_present { u64::MAX } else { 0 } }
    }

    /// True if no row is missing, as far as can be told without looking at rows.
    pub fn is_all_present(&self) -> bool {
        self.presence.is_null() && self.all == u64::MAX
    }

    /// # Safety
    /// The column has a word of this number.
    #[inline(always)]
    pub unsafe fn word(&self, number: usize) -> u64 {
        match self.presence.is_null() {
            true => self.all,
            // SAFETY: the caller's promise.
            false => unsafe { self.presence.add(number).read() },
        }
    }

    /// # Safety
    /// The column has this row, a cell of the type of `A`.
    #[inline(always)]
    pub(super) unsafe fn load<A: PlainSlot>(&self, row: usize) -> A {
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
    /// Words of presence, one for 64 rows begun; null if all rows are present. For a lifted kernel they are there
    /// already; any other kernel writes them.
    pub presence: *mut u64,
}

impl Target {
    /// The target from a row on, the first one of a word of presence.
    pub(crate) fn at_row(self, row: usize, element: ScalarType) -> Target {
        let presence = match self.presence.is_null() {
            true => self.presence,
            false => self.presence.wrapping_add(row / ROWS_OF_A_WORD),
        };
        Target { data: self.data.wrapping_add(row * cell_size(element)), presence }
    }

    /// Writes a word of presence, if there are words.
    ///
    /// # Safety
    /// If there are, there is room for one of this number.
    #[inline(always)]
    pub(super) unsafe fn set_word(&self, number: usize, word: u64) {
        if !self.presence.is_null() {
            // SAFETY: the caller's promise.
            unsafe { self.presence.add(number).write(word) };
        }
    }
}

/// A row that raises; all rows before it do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// The row.
    pub row: usize,
    /// What it raises.
    pub fault: Fault,
}

/// Most operands of an operator over rows.
pub const MAX_OPERANDS: usize = 4;

/// The positions of operands that are the first columns.
pub const IN_ORDER: [u16; MAX_OPERANDS] = [0, 1, 2, 3];

/// Columns, and which of them are the operands; what is beyond their number is not looked at.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// The first column.
    pub columns: *const Column,
    /// Positions of the operands among the columns.
    pub positions: &'a [u16; MAX_OPERANDS],
}

impl<'a> Operands<'a> {
    /// An operand.
    ///
    /// # Safety
    /// There are that many operands, and nobody writes the column for `'a`.
    #[inline(always)]
    pub unsafe fn column(self, index: usize) -> &'a Column {
        // SAFETY: the caller's promise.
        unsafe { &*self.columns.add(self.positions[index] as usize) }
    }
}

/// The code of a block kernel. The fault is boxed, so that success is one register.
///
/// # Safety
/// Every column of an argument has this many rows of the argument's type, and the words of presence for
/// them; the target has room for as many rows of the result's type and their words, and shares no byte
/// with an argument.
pub type BlockRun = unsafe fn(args: Operands<'_>, target: Target, rows: usize) -> Result<(), Box<RowFault>>;

/// An operator over rows of columns.
#[derive(Clone, Copy, Debug)]
pub struct BlockKernel {
    /// The code, by [`Level`].
    pub runs: [BlockRun; Level::ALL.len()],
    /// True if presence is the intersection of the arguments', which the caller computes.
    pub is_lifted: bool,
    /// True if a row can raise.
    pub is_fallible: bool,
    /// What it computes of a row, for strips.
    pub recipe: Option<Recipe>,
    /// The special function that it is.
    pub special: Option<SpecialFunction>,
}

impl BlockKernel {
    /// The code for a level.
    pub fn run(&self, level: Level) -> BlockRun {
        self.runs[level as usize]
    }

    /// What a strip computes of a row: its own recipe, or the special function.
    pub(crate) fn recipe_or_function(&self) -> Option<Recipe> {
        self.recipe.or_else(|| self.special.filter(|_| self.is_lifted).map(Recipe::Function))
    }
}

/// The words of presence of rows that are present in all columns.
///
/// # Safety
/// Every column has the words for this many rows; `words` has room for as many.
pub unsafe fn intersect<'c>(columns: impl Iterator<Item = &'c Column> + Clone, words: *mut u64, rows: usize) {
    for number in 0..rows.div_ceil(ROWS_OF_A_WORD) {
        let mut word = rows_of_word(number, rows);
        for column in columns.clone() {
            // SAFETY: the caller's promise.
            word &= unsafe { column.word(number) };
        }
        // SAFETY: the caller's promise.
        unsafe { words.add(number).write(word) };
    }
}

/// The bits of the rows that a word has.
pub fn rows_of_word(number: usize, rows: usize) -> u64 {
    match rows - number * ROWS_OF_A_WORD {
        rest if rest < ROWS_OF_A_WORD => (1 << rest) - 1,
        _ => u64::MAX,
    }
}

/// Bytes of cells, and words of presence.
#[cfg(test)]
type Packed = (Vec<u8>, Vec<u64>);

#[cfg(test)]
impl BlockKernel {
    /// Cells of present rows, and words of presence. For columns of the kernel's types with at least so many
    /// rows; the kernel cannot raise.
    pub(crate) fn rows(&self, level: Level, columns: &[Column], size: usize, rows: usize) -> Packed {
        let mut cells = vec![0u64; rows + 1];
        let mut words = vec![0u64; rows.div_ceil(ROWS_OF_A_WORD)];
        let target = Target { data: cells.as_mut_ptr().cast(), presence: words.as_mut_ptr() };
        let args = Operands { columns: columns.as_ptr(), positions: &IN_ORDER };
        // SAFETY: the columns have the rows, of the kernel's types; the target has room for them.
        unsafe { (self.run(level))(args, target, rows) }.expect("the kernel cannot fail");
        let mut bytes = bytemuck::cast_slice(&cells)[..size * rows].to_vec();
        if !self.is_lifted {
            clear_missing(&mut bytes, &words, size, rows);
        }
        (bytes, words)
    }

    /// The same with the presence that a lifted kernel leaves to its caller, and zeros in all missing rows.
    pub(crate) fn present_rows(&self, level: Level, columns: &[Column], size: usize, rows: usize) -> Packed {
        let (mut bytes, mut words) = self.rows(level, columns, size, rows);
        if self.is_lifted {
            // SAFETY: the columns have the words, and there is room for as many.
            unsafe { intersect(columns.iter(), words.as_mut_ptr(), rows) };
        }
        clear_missing(&mut bytes, &words, size, rows);
        (bytes, words)
    }
}

/// Makes the cells of missing rows zero.
#[cfg(test)]
pub(super) fn clear_missing(bytes: &mut [u8], words: &[u64], size: usize, rows: usize) {
    let is_missing = |row: &usize| words[row / ROWS_OF_A_WORD] >> (row % ROWS_OF_A_WORD) & 1 == 0;
    for row in (0..rows).filter(is_missing) {
        bytes[row * size..][..size].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mask has presence and no cells: it is neither one value nor taken.
    #[test]
    fn masks_are_not_taken() {
        let words = [0b101u64];
        let mask = Column { data: std::ptr::null(), step: 0, presence: words.as_ptr(), all: u64::MAX };
        assert!(!mask.is_taken() && !Column::MISSING.is_taken());
        assert!(Column::of_taken([3u32].as_ptr()).is_taken());
    }
}
