//! Large pages: asks Linux to lay large arrays out in pages of two megabytes, as numpy does.
//!
//! ```text
//! memory   | . [ page | page | page | … ] . |       advice is for whole pages of the block
//! ```
//!
//! A pass over 8 MB touches 2,000 pages of 4 KiB: each is cleared and mapped when it is touched first, and the processor looks up where
//! it stands again and again. Of large pages there are four. Where the system has none (`/sys/kernel/mm/transparent_hugepage/enabled`
//! says `never`, or the process asked by `prctl` for none) nothing changes.

/// Bytes of a block from which on large pages are asked for: two of them.
const LEAST: usize = 4 << 20;

/// Asks for large pages below a block, if it is large.
#[inline]
pub(super) fn ask(block: &Vec<u64>) {
    if block.capacity() >= LEAST / size_of::<u64>() {
        advise(block.as_ptr().cast(), block.capacity() * size_of::<u64>());
    }
}

#[cfg(target_os = "linux")]
#[cold]
fn advise(block: *const u8, bytes: usize) {
    /// The smallest page of most systems; on others advice that begins elsewhere is refused.
    const PAGE: usize = 4096;
    let before = block.align_offset(PAGE);
    let first = block.wrapping_add(before).cast_mut().cast();
    // SAFETY: the pages are those of a block that is allocated, behind its first bytes; this advice changes no byte, whoever may read or
    // write them. A refusal leaves pages as they are.
    unsafe { libc::madvise(first, bytes.saturating_sub(before), libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *const u8, _: usize) {}
