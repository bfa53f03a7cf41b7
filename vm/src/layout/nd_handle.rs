//! The handle of an n-dimensional array: what it [holds](crate::layout::held), and where the elements stand. A host lends
//! elements, to be read or changed, or memory for a result.
//!
//! Invariants:
//! 1. No two handles have memory in common that one of them writes. A shared array is only read, memory is lent once.
//! 2. What is lent is in a handle only during the run that it is lent for.
//! 3. The place that a handle keeps is that of what it holds, or unknown.

use crate::layout::element_place::{ElementPlace, KeptPlace};
use crate::layout::held::{Held, Kept};
use crate::value::NdView;
use crate::value::array::cell_size;
use crate::value::budget::{Account, Exhausted, Unlimited};
use crate::value::nd_type::NdType;
use crate::value::ndarray::{NdRows, check_shape};
use crate::value::scalar::{HANDLE_SIZE, ScalarType};
use crate::value::shape::{Shape, Strides, are_in_order, c_strides, padded};
use std::sync::Arc;

/// An n-dimensional array.
#[derive(Debug)]
pub struct NdHandle {
    held: Held<NdRows>,
    /// Where its elements stand, for operators that read or write one of them.
    place: KeptPlace,
}

/// What a host lends.
#[derive(Debug, Default)]
pub struct NdLoan {
    /// Where the host's elements stand, during the run.
    elements: Option<RawElements>,
    /// Memory for elements that the run computes.
    room: Option<RawRoom>,
    /// What has been written there.
    written: Option<Written>,
}

impl Kept for NdRows {
    type Loan = NdLoan;

    fn emptied(&self) -> NdRows {
        NdRows::empty(self.qtype())
    }

    fn give_way(loan: &mut NdLoan) {
        (loan.elements, loan.written) = (None, None);
    }
}

/// The axes of elements that stand in a room.
#[derive(Clone, Copy, Debug)]
struct Written {
    qtype: NdType,
    shape: Shape,
    strides: Strides,
}

/// Elements of a host whose lifetime somebody else guards.
#[derive(Clone, Copy, Debug)]
pub struct RawElements {
    qtype: NdType,
    /// The buffer, and its bytes.
    bytes: *mut u8,
    len: usize,
    /// Where the first element begins in the buffer.
    start: usize,
    shape: Shape,
    strides: Strides,
    /// True if operators may change the elements in place.
    is_mutable: bool,
}

// SAFETY: whoever lends the elements sees to it that nobody else changes them meanwhile, and nobody reads them
// either if they are mutable.
unsafe impl Send for RawElements {}
// SAFETY: as above; through a shared handle they are only read.
unsafe impl Sync for RawElements {}

impl RawElements {
    /// The elements of a view, to be read.
    pub fn read_only(qtype: NdType, view: &NdView<'_>) -> RawElements {
        RawElements {
            is_mutable: false,
            ..RawElements::mutable(qtype, view, view.bytes().as_ptr().cast_mut())
        }
    }

    /// Elements that lie in the buffer as those of a view do, to be read and changed.
    pub fn mutable(qtype: NdType, view: &NdView<'_>, bytes: *mut u8) -> RawElements {
        debug_assert!(view.validity().is_none(), "elements of an n-dimensional array are always there");
        let (shape, strides) = (padded(view.shape(), 1), padded(view.strides(), 0));
        RawElements {
            qtype,
            bytes,
            len: view.bytes().len(),
            start: view.start(),
            shape,
            strides,
            is_mutable: true,
        }
    }

    /// Some elements along an axis of an array that stands at a place, and all along the others, to be read and changed:
    /// the element `first` and those in steps of `step` behind it, `count` of them. No byte outside of them is touched.
    ///
    /// The positions are inside of the axis, and the place is one of the type that may be written.
    pub(crate) fn window(
        qtype: NdType,
        place: &ElementPlace,
        axis: usize,
        (first, step): (i64, i64),
        count: usize,
    ) -> RawElements {
        let (mut shape, mut strides) = (padded(&[], 1), padded(&[], 0));
        for (number, of) in place.axes.iter().enumerate().take(qtype.rank()) {
            (shape[number], strides[number]) = (of.size as usize, of.stride as isize);
        }
        let offset = first as isize * strides[axis];
        shape[axis] = count;
        strides[axis] = if count > 1 { strides[axis] * step as isize } else { 0 };
        let is_empty = shape.contains(&0);
        let (mut before, mut behind) = (0, 0);
        for (size, stride) in shape.iter().zip(&strides).filter(|_| !is_empty) {
            let way = (*size as isize - 1) * stride;
            (before, behind) = (before + way.min(0), behind + way.max(0));
        }
        let len = if is_empty { 0 } else { (behind - before) as usize + cell_size(qtype.element()) };
        RawElements {
            qtype,
            bytes: place.first.wrapping_offset(offset + before),
            len,
            start: before.unsigned_abs(),
            shape,
            strides,
            is_mutable: true,
        }
    }

    fn view(&self) -> NdView<'_> {
        // SAFETY: who lent the elements keeps the buffer, and nobody changes it while the handle is borrowed.
        let bytes = unsafe { std::slice::from_raw_parts(self.bytes, self.len) };
        NdView::trusted(self.qtype, bytes, self.start, (&self.shape, &self.strides))
    }
}

/// Memory for elements whose lifetime somebody else guards.
#[derive(Clone, Copy, Debug)]
pub struct RawRoom {
    /// Type of the elements. No others are ever written there.
    pub element: ScalarType,
    /// The first byte, aligned for the elements.
    pub first: *mut u8,
    /// How many there are, up to the last one of an element.
    pub bytes: usize,
    /// Sizes of the axes, and bytes from element to element along each, if elements do not stand one after the other: no
    /// stride is negative, no two elements share a byte.
    pub axes: Option<(Shape, Strides)>,
}

// SAFETY: whoever lends it sees to it that nobody else accesses the memory meanwhile.
unsafe impl Send for RawRoom {}
// SAFETY: as above.
unsafe impl Sync for RawRoom {}

impl NdHandle {
    fn new(held: Held<NdRows>) -> NdHandle {
        NdHandle { held, place: KeptPlace::unknown() }
    }

    /// Another array, shared with whoever made it, instead of what the handle holds.
    pub(crate) fn share(&mut self, rows: Arc<NdRows>) {
        *self.changed() = Held::Shared(rows);
    }

    /// What the handle holds, to be changed: where its elements stand is unknown from here on.
    fn changed(&mut self) -> &mut Held<NdRows> {
        self.place.forget();
        &mut self.held
    }

    /// Lends elements for a run. The frame's own array stays for later.
    ///
    /// # Safety
    /// Until [`NdHandle::take_back`] the buffer stays, and nobody else changes it, nor reads it if it is mutable.
    pub unsafe fn lend(&mut self, elements: RawElements) {
        self.changed().begin_loan().elements = Some(elements);
    }

    /// Lends memory for what a run computes, unless there is some already. The frame's own array stays for later.
    ///
    /// # Safety
    /// Nobody else accesses the memory until [`NdHandle::take_back`].
    pub unsafe fn lend_room(&mut self, room: RawRoom) -> bool {
        let lent = self.changed().begin_loan();
        let is_free = lent.room.is_none();
        lent.room.get_or_insert(room);
        is_free
    }

    /// Ends what [`NdHandle::lend`] or [`NdHandle::lend_room`] began; true if elements stand in a lent room.
    pub fn take_back(&mut self) -> bool {
        let Some(lent) = self.changed().loan_mut() else { return false };
        (lent.elements, lent.room) = (None, None);
        lent.written.take().is_some()
    }

    /// Makes room for elements one after the other: in lent memory that is as large, or in the frame's own. What
    /// stands there is zero or what stood there.
    ///
    /// # Errors
    /// The account or the system refuses.
    ///
    /// # Panics
    /// If the shape is not one of the type; operators check sizes before.
    pub fn make_room(
        &mut self,
        qtype: NdType,
        shape: &[usize],
        account: &dyn Account,
    ) -> Result<*mut u8, Exhausted> {
        if let Some(first) = self.changed().loan_mut().and_then(|loan| loan.begin_room(qtype, shape)) {
            return Ok(first);
        }
        self.owned().resize_within(qtype, shape, account).map(<[u8]>::as_mut_ptr)
    }

    /// The same if that takes no more memory than there is.
    #[inline]
    pub(crate) fn reuse_room(&mut self, qtype: NdType, shape: &[usize]) -> Option<*mut u8> {
        match self.changed() {
            Held::Owned(rows) => rows.reuse_room(qtype, shape),
            Held::Lent(lent) => lent.loan.begin_room(qtype, shape),
            Held::Shared(_) => None,
        }
    }

    /// Lent memory for elements of this shape that do not stand one after the other, and their strides.
    pub(crate) fn strided_room(&self, qtype: NdType, shape: &[usize]) -> Option<(*mut u8, Strides)> {
        let room = self.held.loan()?.room.as_ref().filter(|room| room.element == qtype.element())?;
        let (sizes, strides) = room.axes?;
        (sizes == padded(shape, 1)).then_some((room.first, strides))
    }

    /// The same for whoever then writes all elements there.
    pub(crate) fn make_strided_room(&mut self, qtype: NdType, shape: &[usize]) -> Option<*mut u8> {
        let (first, strides) = self.strided_room(qtype, shape)?;
        self.changed().loan_mut()?.written = Some(Written { qtype, shape: padded(shape, 1), strides });
        Some(first)
    }

    /// The elements where they lie, lent or not.
    pub fn view(&self) -> NdView<'_> {
        match self.lent_elements() {
            Some(elements) => elements.view(),
            None => self.computed().1,
        }
    }

    /// Where in a handle compiled code finds the address of the place.
    #[cfg(feature = "jit")]
    pub(crate) const PLACE: usize = std::mem::offset_of!(NdHandle, place) + KeptPlace::ADDRESS;

    /// Where the elements stand, as far as that is known: [`NdHandle::locate`] finds out.
    #[inline(always)]
    pub fn place(&self) -> &ElementPlace {
        self.place.get()
    }

    /// Finds out where the elements stand, lent or not.
    pub fn locate(&mut self) -> &ElementPlace {
        let NdHandle { held, place } = self;
        match held {
            Held::Owned(rows) => note_own(place, rows),
            Held::Shared(rows) => {
                let first = rows.first().cast_mut();
                place.note(rows.qtype(), first, (rows.padded_shape(), rows.strides()), false)
            }
            Held::Lent(lent) => match (&lent.loan.elements, lent.loan.room, &lent.loan.written) {
                (Some(elements), ..) => {
                    let first = elements.bytes.wrapping_add(elements.start);
                    let axes = (&elements.shape, &elements.strides);
                    place.note(elements.qtype, first, axes, elements.is_mutable)
                }
                (None, Some(room), Some(Written { qtype, shape, strides })) => {
                    place.note(*qtype, room.first, (shape, strides), true)
                }
                _ => note_own(place, &mut lent.own),
            },
        }
    }

    /// Where the elements stand, and with which type, lent or not.
    pub fn find(&self) -> (NdType, NdView<'_>) {
        match self.lent_elements() {
            Some(elements) => (elements.qtype, elements.view()),
            None => self.computed(),
        }
    }

    fn lent_elements(&self) -> Option<&RawElements> {
        self.held.loan()?.elements.as_ref()
    }

    /// As [`NdHandle::locate`], after `copy` has copied what is shared or lent to be read into the frame's own array:
    /// the elements may be changed.
    ///
    /// # Errors
    /// What `copy` says; the handle then holds what it held.
    pub fn make_mutable<E>(
        &mut self,
        copy: impl FnOnce(NdType, &NdView<'_>, &mut NdRows) -> Result<(), E>,
    ) -> Result<&ElementPlace, E> {
        match self.changed() {
            Held::Owned(_) => {}
            Held::Shared(shared) => {
                let mut own = NdRows::empty(shared.qtype());
                copy(shared.qtype(), &shared.view(), &mut own)?;
                self.held = Held::Owned(Box::new(own));
            }
            Held::Lent(lent) => {
                if let Some(elements) = lent.loan.elements.filter(|elements| !elements.is_mutable) {
                    copy(elements.qtype, &elements.view(), &mut lent.own)?;
                    NdRows::give_way(&mut lent.loan);
                }
            }
        }
        Ok(self.locate())
    }

    /// True if a host has lent elements or memory, or did for an earlier run.
    pub(crate) fn is_lent(&self) -> bool {
        self.held.loan().is_some()
    }

    /// The array, to be resized; `None` unless it is the frame's own.
    pub(crate) fn resizable(&mut self) -> Option<&mut NdRows> {
        match self.changed() {
            Held::Owned(rows) => Some(rows),
            _ => None,
        }
    }

    /// Bytes of the frame's own array.
    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> u64 {
        match &self.held {
            Held::Owned(array) => array.heap_bytes(),
            _ => 0,
        }
    }

    /// The frame's own array, copied unless it is shared; an empty one of the type if it is of another, as in a slot that
    /// has not been written.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn read(&self, qtype: NdType) -> Result<Arc<NdRows>, Exhausted> {
        let own = self.rows();
        match &self.held {
            _ if own.qtype() != qtype => Ok(Arc::new(NdRows::empty(qtype))),
            Held::Shared(rows) => Ok(rows.clone()),
            _ => {
                let mut rows = NdRows::empty(qtype);
                rows.copy_within(qtype, &own.view(), &Unlimited)?;
                Ok(Arc::new(rows))
            }
        }
    }

    /// The type and the elements of what is no array of a host to be read: the frame's own, what stands in a lent room,
    /// or what is lent to be changed.
    pub fn computed(&self) -> (NdType, NdView<'_>) {
        if let Some(lent) = self.held.loan() {
            if let Some(elements) = lent.elements.as_ref().filter(|elements| elements.is_mutable) {
                return (elements.qtype, elements.view());
            }
            if let Some((room, Written { qtype, shape, strides })) = lent.in_room() {
                // SAFETY: whoever made this room has written it, and nobody does while the handle is borrowed.
                let bytes = unsafe { std::slice::from_raw_parts(room.first, room.bytes) };
                return (*qtype, NdView::trusted(*qtype, bytes, 0, (shape, strides)));
            }
        }
        (self.rows().qtype(), self.rows().view())
    }

    /// The first element and the sizes of axes, if the elements are of this type and stand one after the other, the last axis
    /// fastest, each at a multiple of its size. It copies no axes, as a view does.
    #[inline]
    pub(crate) fn in_order(&self, qtype: NdType) -> Option<(*const u8, &[usize])> {
        let loan = self.held.loan();
        let (of, first, shape, strides) = match loan.and_then(|loan| loan.elements.as_ref()) {
            Some(lent) => {
                (lent.qtype, lent.bytes.cast_const().wrapping_add(lent.start), &lent.shape, &lent.strides)
            }
            None => match loan.and_then(NdLoan::in_room) {
                Some((room, written)) => {
                    (written.qtype, room.first.cast_const(), &written.shape, &written.strides)
                }
                None => self.rows().place(),
            },
        };
        let (rank, cell) = (qtype.rank(), cell_size(qtype.element()));
        let are_in_order = of == qtype && are_in_order(first, (&shape[..rank], &strides[..rank]), cell);
        are_in_order.then_some((first, &shape[..rank]))
    }

    /// Makes the bytes of truth values that a kernel has written 0 or 1; a shared array was checked when it was made.
    pub(crate) fn keep_truths(&mut self) {
        match &mut self.held {
            Held::Owned(rows) => rows.keep_truths(),
            Held::Lent(lent) => lent.own.keep_truths(),
            Held::Shared(_) => {}
        }
    }

    /// The zero of a type.
    pub fn empty(qtype: NdType) -> NdHandle {
        NdHandle::new(Held::Owned(Box::new(NdRows::empty(qtype))))
    }

    /// The array, of one that is lent the frame's own.
    pub fn rows(&self) -> &NdRows {
        self.held.own()
    }

    /// The frame's own array, to be resized and written.
    pub fn owned(&mut self) -> &mut NdRows {
        self.changed().owned()
    }
}

impl NdLoan {
    /// The lent memory, if it is for elements of this shape one after the other, which are written then.
    fn begin_room(&mut self, qtype: NdType, shape: &[usize]) -> Option<*mut u8> {
        let room = self.room.filter(|room| room.axes.is_none() && room.element == qtype.element())?;
        let (count, cell) =
            (check_shape(qtype, shape).expect("a shape of the type"), cell_size(room.element));
        if count * cell != room.bytes {
            return None;
        }
        self.written = Some(Written { qtype, shape: padded(shape, 1), strides: c_strides(shape, cell) });
        Some(room.first)
    }

    /// The memory that a result has been written to, and its axes.
    fn in_room(&self) -> Option<(RawRoom, &Written)> {
        Some((self.room?, self.written.as_ref()?))
    }
}

/// Notes where the elements of the frame's own array stand.
fn note_own<'p>(place: &'p mut KeptPlace, rows: &mut NdRows) -> &'p ElementPlace {
    let first = rows.first_mut();
    place.note(rows.qtype(), first, (rows.padded_shape(), rows.strides()), true)
}

const _: () = assert!(size_of::<NdHandle>() <= HANDLE_SIZE as usize && align_of::<NdHandle>() <= 8);
