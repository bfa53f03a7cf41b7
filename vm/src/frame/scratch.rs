//! Scratch memory of a frame: what lives until the end of a run, and what lives while a tile region runs, of which there may be any
//! number in a run.

use bumpalo::Bump;
use std::cell::UnsafeCell;

/// Most bytes that are kept for the next run.
const KEPT: usize = 16 << 20;

/// Scratch memory of the current run.
#[derive(Debug, Default)]
pub(crate) struct FrameScratch {
    of_run: Bump,
    of_region: UnsafeCell<Bump>,
}

impl FrameScratch {
    /// Memory until the end of the run.
    pub(crate) fn of_run(&self) -> *const Bump {
        &self.of_run
    }

    /// Memory while a region runs, which gives it back: it may be reset when nobody uses it.
    pub(crate) fn of_region(&self) -> *mut Bump {
        self.of_region.get()
    }

    /// Gives all of it back, keeping the largest chunk of each kind for the next run.
    pub(crate) fn reset(&mut self) {
        for arena in [&mut self.of_run, self.of_region.get_mut()] {
            match arena.allocated_bytes() {
                0 => {}
                bytes if bytes > KEPT => *arena = Bump::new(),
                _ => arena.reset(),
            }
        }
    }
}
