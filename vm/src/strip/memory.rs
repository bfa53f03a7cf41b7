//! Memory that holds code: written first, then made executable, never both at once.
//!
//! Other processors than x86-64 have no strips, hence no such memory.

use crate::strip::options::Code;
use std::io;

#[cfg(target_arch = "x86_64")]
pub(super) use executable::Mapping;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use nothing::Mapping;

#[cfg(target_arch = "x86_64")]
mod executable {
    use super::{Code, io};
    use memmap2::{Mmap, MmapOptions};

    /// Code begins at multiples of this.
    const ALIGNMENT: usize = 64;

    /// Code of strips.
    #[derive(Debug)]
    pub struct Mapping(Mmap);

    impl Mapping {
        /// A mapping with codes, and where each begins.
        pub fn new(codes: &[Code]) -> io::Result<(Mapping, Vec<usize>)> {
            let mut starts = Vec::with_capacity(codes.len());
            let mut size = 0_usize;
            for code in codes {
                starts.push(size);
                size += code.bytes.len().next_multiple_of(ALIGNMENT);
            }
            // All pages are written at once: the system gives them together, without a page fault for each.
            let mut memory = MmapOptions::new().len(size.max(1)).populate().map_anon()?;
            for (code, start) in codes.iter().zip(&starts) {
                memory[*start..][..code.bytes.len()].copy_from_slice(&code.bytes);
            }
            Ok((Mapping(memory.make_exec()?), starts))
        }

        /// Calls the code at an offset.
        ///
        /// # Safety
        /// A strip begins there; the contract of [`Strip::run`](crate::strip::Strip::run).
        #[inline]
        pub unsafe fn call(
            &self,
            entry: usize,
            columns: *const *mut u8,
            rows: std::ops::Range<usize>,
            constants: *const u64,
            (runs, steps): (usize, *const isize),
        ) -> u64 {
            type Entry = unsafe extern "sysv64" fn(
                *const *mut u8,
                usize,
                usize,
                *const u64,
                usize,
                *const isize,
            ) -> u64;
            // SAFETY: the code of a function of this type begins there, and lives as long as the mapping; the rest is the
            // caller's promise.
            unsafe {
                let entry = std::mem::transmute::<*const u8, Entry>(self.0.as_ptr().add(entry));
                entry(columns, rows.start, rows.end, constants, runs, steps)
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod nothing {
    use super::{Code, io};

    /// There is none.
    #[derive(Debug)]
    pub enum Mapping {}

    impl Mapping {
        /// Refuses.
        pub fn new(_: &[Code]) -> io::Result<(Mapping, Vec<usize>)> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Cannot be called.
        ///
        /// # Safety
        /// There is no mapping.
        pub unsafe fn call(
            &self,
            _: usize,
            _: *const *mut u8,
            _: std::ops::Range<usize>,
            _: *const u64,
            _: (usize, *const isize),
        ) -> u64 {
            match *self {}
        }
    }
}
