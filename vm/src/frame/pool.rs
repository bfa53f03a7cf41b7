//! FramePool: initialised frames of one layout, ready for the next call.
//!
//! A pool is a mutex around a stack: the last frame used is the warmest. Taking a frame forgets its
//! inputs and outputs, so no call sees the values of another; a poisoned frame is dropped instead
//! of returned.

use crate::frame::error::FrameError;
use crate::frame::frame::Frame;
use crate::layout::FrameLayout;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// Frames a pool keeps unless told otherwise.
pub const DEFAULT_CAPACITY: usize = 64;

/// A pool of frames of one layout.
#[derive(Debug)]
pub struct FramePool {
    layout: Arc<FrameLayout>,
    idle: Mutex<Vec<Frame>>,
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
    pub fn take(&self) -> Result<PooledFrame<'_>, FrameError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let frame = match idle {
            Some(mut frame) => {
                frame.clear_written();
                frame
            }
            None => Frame::new(&self.layout)?,
        };
        Ok(PooledFrame { pool: self, frame: Some(frame) })
    }

    /// Number of idle frames.
    pub fn idle(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn put(&self, frame: Frame) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.capacity {
            idle.push(frame);
        }
    }
}

/// A frame that returns to its pool when dropped.
#[derive(Debug)]
pub struct PooledFrame<'p> {
    pool: &'p FramePool,
    frame: Option<Frame>,
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
    fn poisoned_frames_are_dropped() {
        let pool = FramePool::new(&FrameLayout::builder().build().expect("small"));
        pool.take().expect("memory").poison();
        assert_eq!(pool.idle(), 0);
    }
}
