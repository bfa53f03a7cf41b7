//! Strip: code in memory that can be executed, and the call of it.
//!
//! ```text
//! mapping   | code of strip 0 | code of strip 1 | …      written, then made read + execute, never both
//! ```
//!
//! One mapping holds the strips of one bound expression, and is freed with the last of them. A system that refuses
//! executable memory refuses [`load`]: who asks runs passes instead.

use crate::strip::list::List;
use crate::strip::memory::Mapping;
use crate::strip::options::{Code, Line, Options, Refused};
use crate::vector::Level;
use std::io;
use std::sync::Arc;

/// Compiles a list for a level.
///
/// # Errors
/// The level has no strips, or the list has what the level has no code for.
pub fn compile(list: &List, level: Level, options: Options) -> Result<Code, Refused> {
    #[cfg(target_arch = "x86_64")]
    if level != Level::Baseline {
        return crate::strip::x86::compile::compile(list, level, options);
    }
    let _ = (list, options);
    Err(Refused::Level(level))
}

/// The instructions of a code, in order.
pub fn listing(code: &Code) -> Vec<Line> {
    #[cfg(target_arch = "x86_64")]
    return crate::strip::x86::listing::lines(code);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = code;
        Vec::new()
    }
}

/// A loop over rows that can be called.
#[derive(Clone, Debug)]
pub struct Strip {
    mapping: Arc<Mapping>,
    /// Where its instructions begin in the mapping.
    entry: usize,
    level: Level,
    /// Numbers of the columns of presence that it writes.
    presence_out: Box<[u16]>,
}

/// Puts codes into one mapping of executable memory.
///
/// # Errors
/// The system gives no such memory.
pub fn load(codes: &[Code]) -> io::Result<Vec<Strip>> {
    let (mapping, starts) = Mapping::new(codes)?;
    let mapping = Arc::new(mapping);
    let strip = |(code, start): (&Code, &usize)| Strip {
        mapping: mapping.clone(),
        entry: start + code.entry,
        level: code.report.level,
        presence_out: code.presence_out.clone().into(),
    };
    Ok(codes.iter().zip(&starts).map(strip).collect())
}

impl Strip {
    /// The instruction set.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Computes the rows from `first` to `end`, and gives a number other than 0 if a mask that fires was true in one of
    /// them. Pointers of columns are those of row 0, whatever `first` is. Results of the rows are written even if
    /// something fires.
    ///
    /// # Safety
    /// 1. The machine has the level of the strip.
    /// 2. `columns` has a pointer for each number of a column in the list. From row `first` to `end` it can be read, or
    ///    written if it is that of a sink, as rows of its type; rows that are read are initialised, truths are 0 or 1.
    ///    Nobody else writes these rows, or reads those that are written. Pointers need no alignment.
    /// 3. What is written overlaps nothing else that is read or written, unless it begins where a column begins that is
    ///    read with the same type.
    /// 4. If the list has columns of presence, `first` is a multiple of 64, and each of them has whole words up to the
    ///    one of row `end - 1`, for reading or writing.
    /// 5. If the list has folds in any order, their columns have 64 bytes of lanes; spread sums have 32 lanes. If it has sums of leaves, the column of
    ///    ends of leaves has ascending numbers from `first` on, without `first`, up to `end`, and the columns of sums have
    ///    64 bytes of lanes and a part for each. If it has presence or spread sums as well, leaves begin at multiples of 8. Columns of
    ///    running results have 64 bytes, and leaves begin at multiples of 8 with them, too.
    /// 6. Of a column that is [taken](List::take), the cells at all positions of the rows can be read instead, and the rows of its
    ///    positions.
    /// 7. `constants` has 8 readable bytes for each number of a scalar in the list, the value in the first of them.
    #[inline]
    pub unsafe fn run(
        &self,
        columns: *const *mut u8,
        first: usize,
        end: usize,
        constants: *const u64,
    ) -> u64 {
        if first >= end {
            return 0;
        }
        // SAFETY: the strip begins there; the rest is the caller's promise.
        let fired = unsafe { self.mapping.call(self.entry, columns, first..end, constants, ONE_RUN) };
        for column in &*self.presence_out {
            // SAFETY: the column has whole words; the strip has written the bytes of its rows.
            unsafe {
                let bytes = *columns.add(*column as usize);
                let written = end.div_ceil(8);
                bytes.add(written).write_bytes(0, written.next_multiple_of(8) - written);
            }
        }
        fired
    }

    /// Computes as many runs of the rows from 0 to `end`, one after the other: behind each but the last one the pointer of a column
    /// moves by the bytes that a list of steps has for its number, and that of the constants by its first ones. `steps` is the list
    /// behind the first run; each has the bytes from there to that of the next run, which are 0 where all runs have one. Gives a
    /// number other than 0 if a mask that fires was true in one of all rows.
    ///
    /// # Safety
    /// 1. The list has neither folds nor running results nor presence that is stored, and if it reads presence it is one run.
    /// 2. The contract of [`run`](Strip::run) for each run, with the pointers that it has, of which `columns` is left with any.
    /// 3. Each list of steps has a number for constants, that to the next list, where one is, then one for each number of a column.
    #[inline]
    pub unsafe fn run_often(
        &self,
        columns: *mut *mut u8,
        end: usize,
        constants: *const u64,
        runs: usize,
        steps: *const isize,
    ) -> u64 {
        if end == 0 || runs == 0 {
            return 0;
        }
        // SAFETY: the strip begins there; the rest is the caller's promise.
        unsafe { self.mapping.call(self.entry, columns, 0..end, constants, (runs, steps)) }
    }
}

/// A run without another one behind it.
const ONE_RUN: (usize, *const isize) = (1, std::ptr::null());
