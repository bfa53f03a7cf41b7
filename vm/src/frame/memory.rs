//! The raw block behind a frame: allocation, handles, and destruction.

use crate::frame::error::FrameError;
use crate::layout::FrameLayout;
use crate::layout::handle::{ArrayHandle, BytesHandle, EdgeHandle, HandleKind, SequenceHandle, TextHandle};
use crate::layout::nd_handle::NdHandle;
use crate::value::{Edge, NdType, QType, ScalarType, ScalarValue, Value};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

/// Frames start on a cache line, whatever their layout asks for, and share it with no other frame.
const FRAME_ALIGN: usize = 64;

/// Alignment that the allocator is asked for. It has blocks of its own alignment, 16, sooner at hand, so
/// the frame is aligned inside of one. With debug assertions the allocator aligns, and no spare byte lies
/// behind the frame: a sanitizer sees every access beyond its end.
const BLOCK_ALIGN: usize = if cfg!(debug_assertions) { FRAME_ALIGN } else { 16 };

/// Owns the bytes of a frame and the handles in them.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The first byte of the allocation.
    block: NonNull<u8>,
    /// The first byte of the frame, which lies in the allocation.
    base: NonNull<u8>,
    layout: Arc<FrameLayout>,
}

// SAFETY: the block is owned by this value alone, and everything a handle can hold (`String`,
// `Vec`, `Arc` of plain data) is `Send` and `Sync`; there is no interior mutability.
unsafe impl Send for Memory {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Memory {}

impl Memory {
    /// A new block: literals in place, every other plain byte zero, every other handle empty.
    pub(crate) fn new(layout: &Arc<FrameLayout>) -> Result<Memory, FrameError> {
        let (size, align) = block_layout(layout);
        // SAFETY: the block has a size of at least 1.
        let block = unsafe { alloc(size) };
        let block = NonNull::new(block).ok_or(FrameError::OutOfMemory { bytes: layout.size() })?;
        let skipped = block.addr().get().wrapping_neg() % align;
        // SAFETY: the block has room to align the frame in it.
        let base = unsafe { block.add(skipped) };
        let memory = Memory { block, base, layout: layout.clone() };
        let template = layout.template();
        // SAFETY: the frame is at least as long as the template, which has the layout's size, and
        // its block is new, so nothing overlaps it.
        unsafe { base.as_ptr().copy_from_nonoverlapping(template.as_ptr(), template.len()) };
        for (at, kind, qtype) in layout.typed_handles() {
            // SAFETY: the layout reserves 24 bytes at an 8-aligned offset inside the block.
            unsafe { write_empty(memory.at(at), kind, qtype) };
        }
        for (at, value) in layout.literals() {
            memory.share_literal(*at, value);
        }
        Ok(memory)
    }

    pub(crate) fn layout(&self) -> &Arc<FrameLayout> {
        &self.layout
    }

    /// Start of the block.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The address of an offset inside the frame.
    pub(crate) fn at(&self, offset: u32) -> *mut u8 {
        debug_assert!(offset <= self.layout.size());
        // SAFETY: offsets given by a layout lie inside its block.
        unsafe { self.base.as_ptr().add(offset as usize) }
    }

    /// Puts the shared handles of a literal in place; its plain bytes came with the template.
    fn share_literal(&self, offset: u32, value: &Value) {
        match value {
            // SAFETY: `build` placed a text handle at this offset for the literal, and `new` has made
            // it an empty, valid one; the same holds for the two arms below.
            Value::Scalar(ScalarValue::Text(v)) => unsafe {
                *self.at(offset).cast() = TextHandle::Shared(v.clone());
            },
            // SAFETY: as above.
            Value::Scalar(ScalarValue::Bytes(v)) => unsafe {
                *self.at(offset).cast() = BytesHandle::Shared(v.clone());
            },
            // SAFETY: as above.
            Value::Sequence(v) => unsafe {
                *self.at(offset).cast() = SequenceHandle::Shared(v.clone());
            },
            // SAFETY: as above.
            Value::Edge(_, edge) => unsafe {
                *self.at(offset).cast() = EdgeHandle(edge.clone());
            },
            // SAFETY: as above.
            Value::Array(_, rows) => unsafe {
                *self.at(offset).cast() = ArrayHandle::Shared(rows.clone());
            },
            // SAFETY: as above.
            Value::NdArray(rows) => unsafe {
                (*self.at(offset).cast::<NdHandle>()).share(rows.clone());
            },
            Value::Present(v @ (ScalarValue::Text(_) | ScalarValue::Bytes(_))) => {
                self.share_literal(offset + v.scalar_type().align(), &Value::Scalar(v.clone()));
            }
            Value::Tuple(t) => {
                for (i, field) in t.fields().iter().enumerate() {
                    self.share_literal(offset + t.qtype().offset(i), field);
                }
            }
            _ => {}
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for (at, kind) in self.layout.handles() {
            let at = self.at(*at);
            // SAFETY: every handle of the layout is valid (frame invariant 1) and dropped once.
            unsafe {
                match kind {
                    HandleKind::Text => at.cast::<TextHandle>().drop_in_place(),
                    HandleKind::Bytes => at.cast::<BytesHandle>().drop_in_place(),
                    HandleKind::Sequence => at.cast::<SequenceHandle>().drop_in_place(),
                    HandleKind::Array => at.cast::<ArrayHandle>().drop_in_place(),
                    HandleKind::Edge => at.cast::<EdgeHandle>().drop_in_place(),
                    HandleKind::NdArray => at.cast::<NdHandle>().drop_in_place(),
                }
            }
        }
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.block.as_ptr(), block_layout(&self.layout).0) };
    }
}

/// What to allocate for a frame, and the alignment of the frame inside.
fn block_layout(layout: &FrameLayout) -> (Layout, usize) {
    let align = FRAME_ALIGN.max(layout.align() as usize);
    let size = layout.size().max(1) as usize;
    let size = if BLOCK_ALIGN < align { size.next_multiple_of(align) + align - BLOCK_ALIGN } else { size };
    let block = Layout::from_size_align(size, BLOCK_ALIGN);
    (block.expect("a frame limit of 1 GiB keeps every block addressable"), align)
}

/// Writes the zero of a type. What no slot of the layout has is never read; it is of any type of its kind.
///
/// # Safety
/// `at` is 8-aligned, with 24 writable bytes behind it that hold no live handle. The type is of the kind.
unsafe fn write_empty(at: *mut u8, kind: HandleKind, qtype: Option<&QType>) {
    let element = || qtype.and_then(QType::element).unwrap_or(ScalarType::Unit);
    let array = || qtype.and_then(QType::nd).or(NdType::new(ScalarType::Float64, 1, 0)).expect("one axis");
    let edge = || match qtype {
        Some(QType::EdgeToScalar(_)) => Edge::to_scalar(0),
        _ => Edge::empty(),
    };
    // SAFETY: the caller's promise; every handle fits 24 bytes at alignment 8.
    unsafe {
        match kind {
            HandleKind::Text => at.cast::<TextHandle>().write(TextHandle::Owned(String::new())),
            HandleKind::Bytes => at.cast::<BytesHandle>().write(BytesHandle::Owned(Vec::new())),
            HandleKind::Sequence => at.cast::<SequenceHandle>().write(SequenceHandle::Owned(Vec::new())),
            HandleKind::Array => at.cast::<ArrayHandle>().write(ArrayHandle::empty(element())),
            HandleKind::Edge => at.cast::<EdgeHandle>().write(EdgeHandle(Arc::new(edge()))),
            HandleKind::NdArray => at.cast::<NdHandle>().write(NdHandle::empty(array())),
        }
    }
}
