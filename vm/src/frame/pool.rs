//! FramePool: initialised frames of one layout, ready for the next call.
//!
//! ```text
//! warm: [frame used last]      one atomic exchange to take, one to return
//! idle: mutex of a stack       for what does not fit there: several threads at once
//! ```
//!
//! Taking a frame forgets its inputs and outputs, so no call sees the values of another; a poisoned
//! frame is dropped instead of returned. Frames are boxed: taking and returning one moves a pointer.

use crate::frame::error::FrameError;
use crate::frame::frame::Frame;
use crate::layout::FrameLayout;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Frames a pool keeps unless told otherwise.
pub const DEFAULT_CAPACITY: usize = 64;

#[allow(clippy::vec_box, reason = "frames come and go as boxes")]
type Idle = Vec<Box<Frame>>;

/// A pool of frames of one layout.
#[derive(Debug)]
pub struct FramePool {
    layout: Arc<FrameLayout>,
    /// Null, or a box of the pool's own.
    warm: AtomicPtr<Frame>,
    idle: Mutex<Idle>,
    capacity: usize,
}

impl FramePool {
    /// An empty pool that keeps up to [`DEFAULT_CAPACITY`] frames.
    pub fn new(layout: &Arc<FrameLayout>) -> FramePool {
        FramePool::with_capacity(layout, DEFAULT_CAPACITY)
    }

    /// An empty pool that keeps up to `capacity` frames.
    pub fn with_capacity(layout: &Arc<FrameLayout>, capacity: usize) -> FramePool {
        FramePool {
            layout: layout.clone(),
            warm: AtomicPtr::default(),
            idle: Mutex::new(Vec::with_capacity(capacity.min(1024))),
            capacity,
        }
    }

    /// The layout of the pool's frames.
    pub fn layout(&self) -> &Arc<FrameLayout> {
        &self.layout
    }

    /// Takes an idle frame or makes one. Its inputs and outputs count as not written.
    ///
    /// # Errors
    /// [`FrameError::OutOfMemory`] if a new frame cannot be allocated.
    #[inline]
    pub fn take(&self) -> Result<PooledFrame<'_>, FrameError> {
        let mut frame = match self.take_warm() {
            Some(frame) => frame,
            None => self.take_idle()?,
        };
        frame.clear_written();
        Ok(PooledFrame { pool: self, frame: Some(frame) })
    }

    /// Number of idle frames.
    pub fn idle(&self) -> usize {
        let warm = !self.warm.load(Ordering::Relaxed).is_null();
        self.idle_frames().len() + usize::from(warm)
    }

    fn idle_frames(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn take_idle(&self) -> Result<Box<Frame>, FrameError> {
        let idle = self.idle_frames().pop();
        idle.map_or_else(|| Ok(Box::new(Frame::new(&self.layout)?)), Ok)
    }

    fn take_warm(&self) -> Option<Box<Frame>> {
        let frame = self.warm.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: a pointer in `warm` is a box given up in `put`; the exchange makes this call its only
        // owner, and `Acquire` sees what the thread that returned it wrote.
        (!frame.is_null()).then(|| unsafe { Box::from_raw(frame) })
    }

    fn put(&self, frame: Box<Frame>) {
        // A frame of another layout can be assigned to a pooled one.
        if self.capacity == 0 || !Arc::ptr_eq(frame.layout(), &self.layout) {
            return;
        }
        let frame = Box::into_raw(frame);
        let kept = self.warm.compare_exchange(ptr::null_mut(), frame, Ordering::Release, Ordering::Relaxed);
        if kept.is_err() {
            // SAFETY: the exchange failed, so the box given up above is still this call's own.
            let frame = unsafe { Box::from_raw(frame) };
            let mut idle = self.idle_frames();
            if idle.len() + 1 < self.capacity {
                idle.push(frame);
            }
        }
    }
}

impl Drop for FramePool {
    fn drop(&mut self) {
        drop(self.take_warm());
    }
}

/// A frame that returns to its pool when dropped.
#[derive(Debug)]
pub struct PooledFrame<'p> {
    pool: &'p FramePool,
    frame: Option<Box<Frame>>,
}

impl Deref for PooledFrame<'_> {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        self.frame.as_ref().expect("the frame leaves only on drop")
    }
}

impl DerefMut for PooledFrame<'_> {
    fn deref_mut(&mut self) -> &mut Frame {
        self.frame.as_mut().expect("the frame leaves only on drop")
    }
}

impl Drop for PooledFrame<'_> {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take().filter(|f| !f.is_poisoned()) {
            self.pool.put(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_return_and_forget() {
        let mut b = FrameLayout::builder();
        let x = b.input::<f64>();
        let pool = FramePool::new(&b.build().expect("small"));
        {
            let mut frame = pool.take().expect("memory");
            frame.set(x, 1.0);
            assert!(frame.is_written(0));
        }
        assert_eq!(pool.idle(), 1);
        let frame = pool.take().expect("memory");
        assert!(!frame.is_written(0));
    }

    #[test]
    fn a_pool_keeps_as_many_frames_as_it_may() {
        let layout = FrameLayout::builder().build().expect("small");
        for (capacity, kept) in [(0, 0), (1, 1), (2, 2), (9, 3)] {
            let pool = FramePool::with_capacity(&layout, capacity);
            let frames = [pool.take(), pool.take(), pool.take()];
            assert_eq!(pool.idle(), 0);
            drop(frames);
            assert_eq!(pool.idle(), kept);
            let again = [pool.take(), pool.take()];
            assert_eq!(pool.idle(), kept.saturating_sub(again.len()));
        }
    }

    #[test]
    fn threads_share_a_pool() {
        let mut b = FrameLayout::builder();
        let x = b.input::<f64>();
        let pool = FramePool::new(&b.build().expect("small"));
        let work = |id: f64| {
            for _ in 0..1000 {
                let mut frame = pool.take().expect("memory");
                assert!(!frame.is_written(0));
                frame.set(x, id);
                std::hint::spin_loop();
                assert_eq!(frame.get(x), id);
            }
        };
        std::thread::scope(|scope| (0..4u8).for_each(|id| drop(scope.spawn(move || work(f64::from(id))))));
        assert!((1..=4).contains(&pool.idle()));
    }

    #[test]
    fn foreign_frames_are_dropped() {
        let layout = |slots: usize| {
            let mut b = FrameLayout::builder();
            for _ in 0..slots {
                b.input::<f64>();
            }
            b.build().expect("small")
        };
        let pool = FramePool::new(&layout(1));
        *pool.take().expect("memory") = Frame::new(&layout(2)).expect("memory");
        assert_eq!(pool.idle(), 0);
        assert!(!pool.take().expect("memory").is_written(99));
    }

    #[test]
    fn poisoned_frames_are_dropped() {
        let pool = FramePool::new(&FrameLayout::builder().build().expect("small"));
        pool.take().expect("memory").poison();
        assert_eq!(pool.idle(), 0);
    }
}
