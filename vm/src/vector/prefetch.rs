//! Prefetch: asks for memory that will be read or written soon.

/// Bytes that memory moves at once.
const CACHE_LINE: usize = 64;

/// Asks for these bytes, which need not exist; nothing else comes of it.
#[inline(always)]
pub fn prefetch(start: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(CACHE_LINE) {
        prefetch_line(start.wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every x86-64 has the instruction, which never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const u8) {}
