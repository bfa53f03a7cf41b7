//! Where the elements of an array stand, as operators that read or write one of them look it up.
//!
//! ```text
//! handle ─> place   read key, write key │ first element │ size, stride │ size, stride │ …
//!                   = 0 where unknown                     axis 0         axis 1
//! ```
//!
//! The place is found once and kept beside what the handle holds. One comparison with the key of an array type says that
//! the place is known, that the array has this element and this number of axes, and that it may be read or written.
//!
//! Usage rules:
//! 1. Whoever changes what a handle holds, or gives out a reference that can, forgets the place first.
//! 2. The keys are set last: a place with a key is complete.

use crate::value::ScalarType;
use crate::value::nd_type::{MAX_RANK, NdType};
use crate::value::shape::{Shape, Strides};
use std::ptr::NonNull;

/// Where the elements of an array stand.
#[derive(Debug)]
#[repr(C)]
pub struct ElementPlace {
    /// The key of the array's type if its elements may be read; 0 if the place is unknown.
    pub read_key: u32,
    /// The key of the array's type if its elements may be written; else 0.
    pub write_key: u32,
    /// The first element, of any alignment.
    pub first: *mut u8,
    /// The axes; those beyond the last one have the size 1.
    pub axes: [Axis; MAX_RANK],
}

/// An axis of an array.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Axis {
    /// Its size.
    pub size: u64,
    /// Bytes from one element to the next.
    pub stride: i64,
}

// SAFETY: the address is used by whoever has the handle only.
unsafe impl Send for ElementPlace {}
// SAFETY: as above; a shared place is only looked at.
unsafe impl Sync for ElementPlace {}

impl ElementPlace {
    /// The number of axes; 0 if the place is unknown.
    #[inline(always)]
    pub fn rank(&self) -> u64 {
        u64::from(self.read_key >> 8)
    }
}

/// The number of an element type and a number of axes, which is not 0. Unit axes do not count.
pub const fn key(element: ScalarType, rank: usize) -> u32 {
    (rank as u32) << 8 | element as u32
}

/// The place of a handle for which there is no memory yet.
static UNKNOWN: ElementPlace = ElementPlace {
    read_key: 0,
    write_key: 0,
    first: std::ptr::null_mut(),
    axes: [Axis { size: 1, stride: 0 }; MAX_RANK],
};

/// The place that a handle keeps. Its memory comes with the first look and stays.
#[derive(Debug)]
pub(super) struct KeptPlace {
    /// The place, in a box of its own, or [`UNKNOWN`].
    place: NonNull<ElementPlace>,
}

// SAFETY: the box is the handle's own.
unsafe impl Send for KeptPlace {}
// SAFETY: through a shared handle it is only read.
unsafe impl Sync for KeptPlace {}

impl KeptPlace {
    /// Where compiled code finds the address of the place.
    #[cfg(feature = "jit")]
    pub(super) const ADDRESS: usize = std::mem::offset_of!(KeptPlace, place);

    /// None that is known.
    pub(super) fn unknown() -> KeptPlace {
        KeptPlace { place: NonNull::from(&UNKNOWN) }
    }

    /// The place.
    #[inline(always)]
    pub(super) fn get(&self) -> &ElementPlace {
        // SAFETY: it is a box of this handle, or static.
        unsafe { self.place.as_ref() }
    }

    fn own(&mut self) -> Option<&mut ElementPlace> {
        match std::ptr::eq(self.place.as_ptr(), &raw const UNKNOWN) {
            true => None,
            // SAFETY: it is a box of this handle, which is borrowed.
            false => Some(unsafe { self.place.as_mut() }),
        }
    }

    /// Forgets the place; the memory stays.
    #[inline]
    pub(super) fn forget(&mut self) {
        if let Some(place) = self.own() {
            (place.read_key, place.write_key) = (0, 0);
        }
    }

    /// Notes where the elements of an array stand.
    pub(super) fn note(
        &mut self,
        qtype: NdType,
        first: *mut u8,
        (shape, strides): (&Shape, &Strides),
        is_mutable: bool,
    ) -> &ElementPlace {
        let read_key = key(qtype.element(), qtype.rank());
        let axes =
            std::array::from_fn(|axis| Axis { size: shape[axis] as u64, stride: strides[axis] as i64 });
        let write_key = if is_mutable { read_key } else { 0 };
        let place = ElementPlace { read_key, write_key, first, axes };
        match self.own() {
            Some(own) => *own = place,
            None => self.place = NonNull::from(Box::leak(Box::new(place))),
        }
        self.get()
    }
}

impl Drop for KeptPlace {
    fn drop(&mut self) {
        if let Some(own) = self.own() {
            // SAFETY: the box was leaked by `note`, and goes with the handle.
            drop(unsafe { Box::from_raw(own) });
        }
    }
}
