//! Access: how strips reach the memory of a run.
//!
//! ```text
//! bytes of all columns      8 MiB        16 MiB
//! AMD          cached                    | streamed
//! others       cached       | prefetched
//! ```
//!
//! Rows that come from memory are asked for ahead where that helps. On processors of AMD it does for stencils only, whose many
//! columns are few fields; ten arrays take half as long again. There results that are more than the caches hold go to memory past
//! them, by streaming stores: a line that is written as a whole need
//! not be read first, and what is read later stays in the caches. Figures: docs/decisions/0048-rows-that-come-from-memory.md. Strips
//! of fields begin at lines of the cache where runs are long (page 0062).

use std::sync::LazyLock;

/// Bytes of columns from which on they come from memory, or from a cache that many processors share.
const FAR: usize = 8 << 20;

/// Rows below which they do not, whatever their bytes.
pub(super) const FEWEST_FAR: usize = 1 << 16;

/// Bytes of columns from which on results are streamed.
const STREAMED: usize = 16 << 20;

/// Columns of fields that the hardware of AMD looks ahead in well.
const FORESEEN: usize = 4;

/// How a strip reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// As it stands in caches.
    Cached,
    /// The same, in loops that begin where results are at lines of the cache.
    AtLines,
    /// Lines are asked for before they are read or written.
    Prefetched,
    /// Results are stored past the caches.
    Streamed,
    /// The same, and lines are asked for.
    StreamedAhead,
}

impl Access {
    /// That of so many rows, and the bytes that they have together.
    #[inline(always)]
    pub(super) fn of(rows: usize, bytes: usize) -> Access {
        if bytes < FAR || rows < FEWEST_FAR { Access::Cached } else { Access::of_far(bytes) }
    }

    /// That of so many columns of fields, which may be many places of one.
    pub(super) fn of_fields(self, columns: usize) -> Access {
        if self == Access::Streamed && columns > FORESEEN { Access::StreamedAhead } else { self }
    }

    /// True if lines are asked for ahead.
    pub(super) fn prefetches(self) -> bool {
        matches!(self, Access::Prefetched | Access::StreamedAhead)
    }

    /// True if results are stored past the caches.
    pub(super) fn streams(self) -> bool {
        matches!(self, Access::Streamed | Access::StreamedAhead)
    }

    #[cold]
    fn of_far(bytes: usize) -> Access {
        match *STREAMS {
            true if bytes < STREAMED => Access::Cached,
            true => Access::Streamed,
            false => Access::Prefetched,
        }
    }
}

/// True if the processor gains by streaming stores, and not by asking for the rows of a few columns: if it is one of AMD.
static STREAMS: LazyLock<bool> = LazyLock::new(gains_by_streaming);

/// The one of AMD that was measured does, an EPYC of the fourth generation; the Xeon that was measured loses.
#[cfg(target_arch = "x86_64")]
fn gains_by_streaming() -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
    name.as_flattened() == b"AuthenticAMD"
}

#[cfg(not(target_arch = "x86_64"))]
fn gains_by_streaming() -> bool {
    false
}
