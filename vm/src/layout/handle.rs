//! Handles: the headers of variable-size values inside a frame.
//!
//! A handle owns a buffer that is refilled run after run, or shares an immutable literal. All kinds
//! are [`HANDLE_SIZE`] bytes, so a layout needs to know only their kind.

use crate::layout::held::{Held, Kept};
use crate::value::array::ArrayRows;
use crate::value::budget::{Exhausted, Unlimited};
use crate::value::edge::Edge;
use crate::value::scalar::{HANDLE_SIZE, ScalarType};
use crate::value::sequence::SequenceValue;
use crate::value::{NdView, QType};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a handle holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HandleKind {
    /// A [`TextHandle`].
    Text,
    /// A [`BytesHandle`].
    Bytes,
    /// A [`SequenceHandle`].
    Sequence,
    /// An [`ArrayHandle`].
    Array,
    /// An [`EdgeHandle`].
    Edge,
    /// An [`NdHandle`](crate::layout::nd_handle::NdHandle).
    NdArray,
}

impl HandleKind {
    /// All kinds.
    pub const ALL: [HandleKind; 6] = [
        HandleKind::Text,
        HandleKind::Bytes,
        HandleKind::Sequence,
        HandleKind::Array,
        HandleKind::Edge,
        HandleKind::NdArray,
    ];

    /// The handle of a scalar type; `None` for plain scalars.
    pub fn of_scalar(scalar: ScalarType) -> Option<HandleKind> {
        match scalar {
            ScalarType::Text => Some(HandleKind::Text),
            ScalarType::Bytes => Some(HandleKind::Bytes),
            _ => None,
        }
    }

    /// The handle that a value of the type is; `None` of plain bytes, and of what has handles inside.
    pub fn of(qtype: &QType) -> Option<HandleKind> {
        match qtype {
            QType::Scalar(scalar) => HandleKind::of_scalar(*scalar),
            QType::Sequence(_) => Some(HandleKind::Sequence),
            QType::Array(_) => Some(HandleKind::Array),
            QType::Edge(_) | QType::EdgeToScalar(_) => Some(HandleKind::Edge),
            QType::NdArray(_) => Some(HandleKind::NdArray),
            _ => None,
        }
    }
}

/// A string of an array that stands in a slot while a kernel runs on its row.
#[derive(Debug)]
pub struct LentString<T: ?Sized>(NonNull<T>);

impl<T: ?Sized> LentString<T> {
    /// Lends a string.
    ///
    /// # Safety
    /// It stays as it is until the handle that holds this is replaced.
    pub(crate) unsafe fn new(string: &T) -> LentString<T> {
        LentString(NonNull::from(string))
    }

    fn get(&self) -> &T {
        // SAFETY: the string stays as long as the handle holds this.
        unsafe { self.0.as_ref() }
    }
}

/// A text buffer.
#[derive(Debug)]
pub enum TextHandle {
    /// A buffer of the frame, kept between runs.
    Owned(String),
    /// A literal shared with the layout.
    Shared(Arc<str>),
    /// A row of an array.
    Lent(LentString<str>),
}

/// A byte buffer.
#[derive(Debug)]
pub enum BytesHandle {
    /// A buffer of the frame, kept between runs.
    Owned(Vec<u8>),
    /// A literal shared with the layout.
    Shared(Arc<[u8]>),
    /// A row of an array.
    Lent(LentString<[u8]>),
}

/// A buffer of sequence elements, one 8-byte cell each.
#[derive(Debug)]
pub enum SequenceHandle {
    /// A buffer of the frame, kept between runs.
    Owned(Vec<u64>),
    /// A literal shared with the layout.
    Shared(Arc<SequenceValue>),
}

/// The rows of an array. While rows are lent, only code that knows of that reads the handle.
pub type ArrayHandle = Held<ArrayRows>;

impl Kept for ArrayRows {
    type Loan = Option<RawRows>;

    fn emptied(&self) -> ArrayRows {
        ArrayRows::new(self.element())
    }

    fn give_way(loan: &mut Option<RawRows>) {
        *loan = None;
    }
}

impl ArrayHandle {
    /// No rows of a type.
    pub fn empty(element: ScalarType) -> ArrayHandle {
        Held::Owned(Box::new(ArrayRows::new(element)))
    }

    /// The rows under a type of their storage, copied unless they are shared; none of another storage, as in a slot that
    /// has not been written.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn read(&self, element: ScalarType) -> Result<Arc<ArrayRows>, Exhausted> {
        match self {
            Held::Shared(rows) if rows.element() == element => Ok(rows.clone()),
            _ => self.own().retyped_within(element, &Unlimited).map(Arc::new),
        }
    }

    /// Number of rows, of those that are lent if some are.
    pub fn len(&self) -> usize {
        self.lent().map_or_else(|| self.own().len(), |lent| lent.len)
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows that are lent.
    pub fn lent(&self) -> Option<&RawRows> {
        self.loan()?.as_ref()
    }

    /// Lends rows, until [`ArrayHandle::take_back`].
    pub fn lend(&mut self, rows: RawRows) {
        *self.begin_loan() = Some(rows);
    }

    /// Forgets rows that are lent.
    pub fn take_back(&mut self) {
        self.loan_mut().and_then(Option::take);
    }
}

/// Rows of an [`NdView`] of one axis whose lifetime somebody else guards.
#[derive(Clone, Copy, Debug)]
pub struct RawRows {
    /// Type of the rows.
    pub element: ScalarType,
    /// Number of rows.
    pub len: usize,
    /// The first cell, of any alignment.
    pub first: *const u8,
    /// Bytes from one row to the next.
    pub step: isize,
    /// The validity bitmap and the bit of the first row; null if all rows are present.
    pub bitmap: *const u8,
    /// Bit of the first row.
    pub offset: usize,
}

// SAFETY: the rows are only read, and whoever lends them keeps them as they are.
unsafe impl Send for RawRows {}
// SAFETY: as above.
unsafe impl Sync for RawRows {}

impl RawRows {
    /// The rows of a view.
    ///
    /// # Panics
    /// If it has not one axis.
    pub fn new(view: &NdView<'_>) -> RawRows {
        let (&[len], &[step]) = (view.shape(), view.strides()) else { panic!("rows of {:?}", view.shape()) };
        let (bitmap, offset) = view.validity().map_or((std::ptr::null(), 0), |(b, at)| (b.as_ptr(), at));
        let first = view.bytes().as_ptr().wrapping_add(view.start());
        RawRows { element: view.element(), len, first, step, bitmap, offset }
    }
}

/// An edge, shared with whoever made it.
#[derive(Debug)]
pub struct EdgeHandle(pub Arc<Edge>);

const _: () = assert!(size_of::<EdgeHandle>() <= HANDLE_SIZE as usize && align_of::<EdgeHandle>() <= 8);

const _: () = assert!(size_of::<ArrayHandle>() <= HANDLE_SIZE as usize && align_of::<ArrayHandle>() <= 8);

/// The access every handle gives: read what it holds, or take its buffer to refill it.
macro_rules! impl_handle {
    ($handle:ident, $buffer:ty, $view:ty, $as_view:ident, $($shared:pat => $shared_view:expr),*) => {
        impl $handle {
            /// The contents.
            pub fn view(&self) -> &$view {
                match self {
                    $handle::Owned(buffer) => buffer.$as_view(),
                    $($shared => $shared_view,)*
                }
            }

            /// Items that the frame's own buffer has room for.
            pub fn capacity(&self) -> usize {
                match self {
                    $handle::Owned(buffer) => buffer.capacity(),
                    _ => 0,
                }
            }

            /// The frame's own buffer, emptied but with its capacity.
            pub fn cleared(&mut self) -> &mut $buffer {
                if !matches!(self, $handle::Owned(_)) {
                    *self = $handle::Owned(Default::default());
                }
                match self {
                    $handle::Owned(buffer) => {
                        buffer.clear();
                        buffer
                    }
                    _ => unreachable!("another handle was replaced above"),
                }
            }
        }

        const _: () = assert!(size_of::<$handle>() <= HANDLE_SIZE as usize && align_of::<$handle>() <= 8);
    };
}

impl_handle!(TextHandle, String, str, as_str, TextHandle::Shared(shared) => shared, TextHandle::Lent(lent) => lent.get());
impl_handle!(BytesHandle, Vec<u8>, [u8], as_slice, BytesHandle::Shared(shared) => shared, BytesHandle::Lent(lent) => lent.get());
impl_handle!(SequenceHandle, Vec<u64>, [u64], as_slice, SequenceHandle::Shared(shared) => shared.cells());
