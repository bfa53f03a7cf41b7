//! Slots: typed places in a frame.
//!
//! [`TypedSlot`] is data: an offset and a type, as dumps print it (`FLOAT64 [0x10]`). Whoever uses
//! one checks it against a layout first. [`Slot`] carries its type statically and the tag of the
//! layout that made it, so that a frame checks it with one comparison.

use crate::value::{QType, ScalarType};
use std::fmt;
use std::marker::PhantomData;

/// Position of a type-erased slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypedSlot {
    offset: u32,
    qtype: QType,
}

impl TypedSlot {
    /// A slot of this type at this byte offset.
    pub fn new(offset: u32, qtype: QType) -> TypedSlot {
        TypedSlot { offset, qtype }
    }

    /// Byte offset from the frame start.
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// Type of the value.
    pub fn qtype(&self) -> &QType {
        &self.qtype
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.qtype.size())
    }

    /// True if the two slots have a byte in common.
    pub fn overlaps(&self, other: &TypedSlot) -> bool {
        u64::from(self.offset) < other.end() && u64::from(other.offset) < self.end()
    }

    /// True if `inner` lies within this slot.
    pub fn contains(&self, inner: &TypedSlot) -> bool {
        self.offset <= inner.offset && inner.end() <= self.end()
    }

    /// A field of a tuple.
    pub fn field(&self, index: usize) -> Option<TypedSlot> {
        let tuple = self.qtype.tuple()?;
        let qtype = tuple.fields().get(index)?.clone();
        Some(TypedSlot { offset: self.offset + tuple.offset(index), qtype })
    }

    /// The presence byte of an optional, as a presence mask.
    pub fn presence(&self) -> Option<TypedSlot> {
        let qtype = crate::value::qtype::OPTIONAL_UNIT;
        self.qtype.is_optional().then_some(TypedSlot { offset: self.offset, qtype })
    }

    /// The value behind the presence byte of an optional.
    pub fn value(&self) -> Option<TypedSlot> {
        let offset = self.offset + self.qtype.value_offset()?;
        Some(TypedSlot { offset, qtype: QType::Scalar(self.qtype.scalar()?) })
    }

    /// The same place seen as its storage type (WEAK_FLOAT as FLOAT64).
    pub fn storage(&self) -> TypedSlot {
        TypedSlot { offset: self.offset, qtype: self.qtype.storage() }
    }
}

impl fmt::Display for TypedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [0x{:02X}]", self.qtype, self.offset)
    }
}

/// Bit of a slot's tag that no layout's tag has.
pub(crate) const READ_ONLY: u64 = 1 << 63;

/// A slot whose type is known to the Rust compiler.
///
/// Made only by a [`LayoutBuilder`](crate::layout::LayoutBuilder) or by looking up a named input or
/// output of a bound expression; a frame of another layout refuses it.
pub struct Slot<T> {
    pub(crate) offset: u32,
    /// Position of the slot's written-bit plus one; 0 for a slot without one.
    pub(crate) bit: u32,
    /// Tag of the layout that made the slot, with [`READ_ONLY`] if a literal stands there.
    pub(crate) tag: u64,
    pub(crate) value: PhantomData<fn() -> T>,
}

impl<T> Slot<T> {
    /// Byte offset from the frame start.
    pub fn offset(&self) -> u32 {
        self.offset
    }
}

/// A slot of a number or truth value whose type is known at run time. A layout has checked it, so that writing costs no
/// more than with a [`Slot`]; a frame of another layout refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSlot {
    pub(crate) offset: u32,
    /// As those of a [`Slot`].
    pub(crate) bit: u32,
    pub(crate) tag: u64,
    /// What stands there.
    pub(crate) element: ScalarType,
}

// Derives would ask for `T: Clone`.
impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot<{}>[0x{:02X}]", std::any::type_name::<T>(), self.offset)
    }
}
