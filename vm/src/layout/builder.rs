//! LayoutBuilder: appends or places slots and checks that they fit together.
//!
//! Rules:
//! 1. `slot`, `typed`, `input`, `output`, `literal`, `nested` append at the next aligned offset.
//! 2. `place_*` put a slot at a given offset; a compiler that reuses bytes decides offsets itself.
//!    Plain slots may overlap, a handle overlaps nothing but the same handle, a literal overlaps no
//!    other literal.
//! 3. A handle holds values of one type: that of the literal there, else that of the slot placed first. Slots of
//!    another type at its offset are none of the layout: [`FrameLayout::accepts`] refuses them.
//! 4. `build` checks rule 2 and the frame limit; a layout that exists is sound to make frames of.

use crate::layout::access::SlotType;
use crate::layout::handle::HandleKind;
use crate::layout::layout::{FrameLayout, for_each_handle};
use crate::layout::slot::{Slot, TypedSlot};
use crate::value::scalar::{HANDLE_SIZE, ScalarType};
use crate::value::{QType, ScalarValue, Value};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// Largest frame a layout may describe unless the host asks for another limit: 16 MiB.
pub const DEFAULT_FRAME_LIMIT: u32 = 16 << 20;
/// Bytes that the offset of a handle is a multiple of.
const HANDLE_ALIGN: u32 = 8;
/// Largest limit a host can ask for.
pub const MAX_FRAME_LIMIT: u32 = 1 << 30;

/// A layout cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// The frame would be larger than the limit.
    #[error("limit frame-bytes: the frame needs {actual} bytes, at most {limit} are allowed")]
    TooLarge {
        /// Bytes needed.
        actual: u64,
        /// Bytes allowed.
        limit: u32,
    },
    /// The limit that was set is larger than any layout may have.
    #[error("limit frame-bytes: a limit of {limit} bytes is more than the largest, {largest}")]
    Limit {
        /// Bytes asked for.
        limit: u32,
        /// [`MAX_FRAME_LIMIT`].
        largest: u32,
    },
    /// The alignment asked for is no power of two.
    #[error("a frame cannot be aligned to {align} bytes, which is no power of two")]
    Align {
        /// Bytes asked for.
        align: u32,
    },
    /// A slot does not stand at a multiple of its alignment.
    #[error("{slot} is not aligned to {} bytes", slot.qtype().align())]
    Misaligned {
        /// The slot.
        slot: TypedSlot,
    },
    /// A handle does not stand at a multiple of its alignment.
    #[error("the buffer handle at 0x{at:02X} is not aligned to 8 bytes")]
    MisalignedHandle {
        /// Offset of the handle.
        at: u32,
    },
    /// A buffer handle shares bytes with something else.
    #[error("the buffer handle at 0x{at:02X} shares bytes with another slot")]
    HandleOverlap {
        /// Offset of the handle.
        at: u32,
    },
    /// Two literals share bytes.
    #[error("the literals at 0x{first:02X} and 0x{second:02X} share bytes")]
    LiteralOverlap {
        /// Offset of one literal.
        first: u32,
        /// Offset of the other.
        second: u32,
    },
}

/// Builds a [`FrameLayout`].
#[derive(Debug)]
pub struct LayoutBuilder {
    size: u64,
    align: u32,
    limit: u32,
    handles: Vec<(u32, HandleKind)>,
    /// The types of those that slots have, in the order in which they were placed.
    handle_types: Vec<(u32, QType)>,
    /// Plain byte ranges in use, `(start, end)`.
    plain: Vec<(u32, u32)>,
    inputs: Vec<TypedSlot>,
    outputs: Vec<TypedSlot>,
    literals: Vec<(u32, Value)>,
    tag: u64,
    error: Option<LayoutError>,
}

/// Tags tell the layouts of one process apart; they are never printed or stored.
static NEXT_TAG: AtomicU64 = AtomicU64::new(1);

/// A tag that no layout has.
pub(super) fn next_tag() -> u64 {
    NEXT_TAG.fetch_add(1, Ordering::Relaxed)
}

/// Offset and written-bit of each slot that has one, ascending.
pub(super) fn written_bits<'s>(slots: impl Iterator<Item = &'s TypedSlot>) -> Box<[(u32, u32)]> {
    let mut bits: Vec<(u32, u32)> = slots.zip(0..).map(|(slot, bit)| (slot.offset(), bit)).collect();
    bits.sort_unstable();
    bits.into()
}

impl Default for LayoutBuilder {
    fn default() -> Self {
        LayoutBuilder::new()
    }
}

impl FrameLayout {
    /// Starts a layout.
    pub fn builder() -> LayoutBuilder {
        LayoutBuilder::new()
    }
}

impl LayoutBuilder {
    /// An empty layout under the default frame limit.
    pub fn new() -> LayoutBuilder {
        LayoutBuilder {
            size: 0,
            align: 1,
            limit: DEFAULT_FRAME_LIMIT,
            handles: Vec::new(),
            handle_types: Vec::new(),
            plain: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            literals: Vec::new(),
            tag: next_tag(),
            error: None,
        }
    }

    /// Sets the largest frame allowed; more than [`MAX_FRAME_LIMIT`] is an error of the layout.
    pub fn frame_limit(mut self, bytes: u32) -> LayoutBuilder {
        if bytes > MAX_FRAME_LIMIT {
            self.fail(LayoutError::Limit { limit: bytes, largest: MAX_FRAME_LIMIT });
        }
        self.limit = bytes.min(MAX_FRAME_LIMIT);
        self
    }

    /// Appends a slot for a Rust type.
    pub fn slot<T: SlotType>(&mut self) -> Slot<T> {
        let slot = self.typed(T::qtype());
        self.static_slot(&slot, 0)
    }

    /// Appends a slot that a host writes before each run, or once and keeps.
    pub fn input<T: SlotType>(&mut self) -> Slot<T> {
        let slot = self.typed(T::qtype());
        self.inputs.push(slot.clone());
        self.static_slot(&slot, self.inputs.len() as u32)
    }

    /// Appends a slot of a type known at run time.
    pub fn typed(&mut self, qtype: QType) -> TypedSlot {
        let slot = TypedSlot::new(self.aligned_end(qtype.align()), qtype);
        self.place(&slot);
        slot
    }

    /// Appends a literal.
    pub fn literal(&mut self, value: Value) -> TypedSlot {
        let slot = TypedSlot::new(self.aligned_end(value.qtype().align()), value.qtype());
        self.place_literal(slot.offset(), value);
        slot
    }

    /// Appends another layout as a nested block with its literals; returns the block's offset, to be
    /// added to the offsets of the inner slots.
    pub fn nested(&mut self, inner: &FrameLayout) -> u32 {
        let base = self.aligned_end(inner.align());
        if self.extend_to(u64::from(base) + u64::from(inner.size()), inner.align()) {
            self.handles.extend(inner.handles().iter().map(|(at, kind)| (base + at, *kind)));
            let typed = inner.typed_handles().filter_map(|(at, _, qtype)| Some((base + at, qtype?.clone())));
            self.handle_types.extend(typed);
            self.literals.extend(inner.literals().iter().map(|(at, v)| (base + at, v.clone())));
            let handles: Vec<u32> = inner.handles().iter().map(|h| h.0).collect();
            let starts = std::iter::once(0).chain(handles.iter().map(|h| h + HANDLE_SIZE));
            let ends = handles.iter().copied().chain(std::iter::once(inner.size()));
            self.plain.extend(starts.zip(ends).filter(|(s, e)| s < e).map(|(s, e)| (base + s, base + e)));
        }
        base
    }

    /// Declares a slot at its offset. Plain bytes may be shared with other plain slots.
    pub fn place(&mut self, slot: &TypedSlot) {
        if !slot.offset().is_multiple_of(slot.qtype().align()) {
            self.fail(LayoutError::Misaligned { slot: slot.clone() });
        } else if self.extend_to(slot.end(), slot.qtype().align()) {
            self.place_parts(slot.offset(), slot.qtype());
        }
    }

    /// Declares an input at its offset; its written-bit is the number of inputs before it.
    pub fn place_input(&mut self, slot: &TypedSlot) {
        self.place(slot);
        self.inputs.push(slot.clone());
    }

    /// Declares an output at its offset.
    pub fn place_output(&mut self, slot: &TypedSlot) {
        self.place(slot);
        self.outputs.push(slot.clone());
    }

    /// Declares a literal at its offset.
    pub fn place_literal(&mut self, offset: u32, value: Value) {
        self.place(&TypedSlot::new(offset, value.qtype()));
        self.literals.push((offset, value));
    }

    /// Declares a handle whose type is not known here.
    pub(crate) fn place_handle(&mut self, offset: u32, kind: HandleKind) {
        if !offset.is_multiple_of(HANDLE_ALIGN) {
            self.fail(LayoutError::MisalignedHandle { at: offset });
        } else if self.extend_to(u64::from(offset) + u64::from(HANDLE_SIZE), HANDLE_ALIGN) {
            self.handles.push((offset, kind));
        }
    }

    /// Makes the frame at least this large, and aligned to a power of two.
    pub fn reserve(&mut self, size: u32, align: u32) {
        match align.is_power_of_two() {
            true => drop(self.extend_to(u64::from(size), align)),
            false => self.fail(LayoutError::Align { align }),
        }
    }

    /// Checks the slots and finishes the layout.
    pub fn build(mut self) -> Result<Arc<FrameLayout>, LayoutError> {
        let size = self.size.next_multiple_of(u64::from(self.align));
        self.extend_to(size, self.align);
        let literal_bytes = self.check_overlaps();
        let handle_types = self.types_of_handles();
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut template = vec![0; size as usize];
        for (at, value) in &self.literals {
            write_plain(&mut template, *at, value);
        }
        let bits = written_bits(self.inputs.iter().chain(&self.outputs));
        Ok(Arc::new(FrameLayout {
            size: size as u32,
            align: self.align,
            handles: self.handles.into(),
            handle_types,
            inputs: self.inputs.into(),
            outputs: self.outputs.into(),
            literals: self.literals.into(),
            literal_bytes: literal_bytes.into(),
            bits,
            template: template.into(),
            tag: self.tag,
            id: OnceLock::new(),
        }))
    }

    fn static_slot<T>(&self, slot: &TypedSlot, bit: u32) -> Slot<T> {
        Slot { offset: slot.offset(), bit, tag: self.tag, value: PhantomData }
    }

    fn aligned_end(&self, align: u32) -> u32 {
        let end = self.size.next_multiple_of(u64::from(align));
        end.min(u64::from(MAX_FRAME_LIMIT)) as u32
    }

    fn extend_to(&mut self, end: u64, align: u32) -> bool {
        self.align = self.align.max(align);
        if end > u64::from(self.limit) {
            self.fail(LayoutError::TooLarge { actual: end, limit: self.limit });
            return false;
        }
        self.size = self.size.max(end);
        true
    }

    fn fail(&mut self, error: LayoutError) {
        self.error.get_or_insert(error);
    }

    fn place_parts(&mut self, offset: u32, qtype: &QType) {
        match qtype {
            QType::Tuple(t) => {
                for (i, field) in t.fields().iter().enumerate() {
                    self.place_parts(offset + t.offset(i), field);
                }
            }
            QType::Optional(s) if *s != ScalarType::Unit => {
                self.plain.push((offset, offset + 1));
                self.place_parts(offset + s.align(), &QType::Scalar(*s));
            }
            leaf => match HandleKind::of(leaf) {
                Some(kind) => {
                    self.handles.push((offset, kind));
                    self.handle_types.push((offset, leaf.storage()));
                }
                None => self.plain.push((offset, offset + leaf.size())),
            },
        }
    }

    /// The type of each handle (rule 3). Literals were placed among other slots; theirs come first.
    fn types_of_handles(&mut self) -> Box<[Option<QType>]> {
        let mut types = Vec::new();
        for (at, value) in &self.literals {
            for_each_handle(*at, &value.qtype(), &mut |at, qtype| types.push((at, qtype.storage())));
        }
        types.append(&mut self.handle_types);
        // Stable, so that of the types of one handle the first stays first.
        types.sort_by_key(|(at, _)| *at);
        types.dedup_by_key(|(at, _)| *at);
        let mut types = types.into_iter().peekable();
        let type_of = |at: u32| types.next_if(|(typed, _)| *typed == at).map(|(_, qtype)| qtype);
        self.handles.iter().map(|(at, _)| *at).map(type_of).collect()
    }

    /// Gives the byte ranges of the literals, ascending.
    fn check_overlaps(&mut self) -> Vec<(u32, u32)> {
        self.handles.sort_unstable();
        self.handles.dedup();
        if let Some(pair) = self.handles.windows(2).find(|w| w[0].0 + HANDLE_SIZE > w[1].0) {
            self.error.get_or_insert(LayoutError::HandleOverlap { at: pair[1].0 });
        }
        // Without handles every byte is plain, and there is nothing to compare.
        let plain = if self.handles.is_empty() { &[] } else { self.plain.as_slice() };
        for (start, end) in plain {
            let next = self.handles.partition_point(|h| h.0 + HANDLE_SIZE <= *start);
            if let Some((at, _)) = self.handles.get(next).filter(|h| h.0 < *end) {
                self.error.get_or_insert(LayoutError::HandleOverlap { at: *at });
            }
        }
        let mut literals: Vec<(u32, u32)> =
            self.literals.iter().map(|(at, v)| (*at, at.saturating_add(v.qtype().size()))).collect();
        literals.sort_unstable();
        if let Some(pair) = literals.windows(2).find(|w| w[0].1 > w[1].0) {
            self.error.get_or_insert(LayoutError::LiteralOverlap { first: pair[0].0, second: pair[1].0 });
        }
        literals.retain(|(start, end)| start < end);
        literals
    }
}

/// Writes the plain parts of a value into the bytes of a new frame.
fn write_plain(bytes: &mut [u8], offset: u32, value: &Value) {
    match value {
        Value::Scalar(v) => write_plain_scalar(bytes, offset, v),
        Value::Present(v) => {
            bytes[offset as usize] = 1;
            if v.scalar_type() != ScalarType::Unit {
                write_plain_scalar(bytes, offset + v.scalar_type().align(), v);
            }
        }
        Value::Tuple(t) => {
            for (i, field) in t.fields().iter().enumerate() {
                write_plain(bytes, offset + t.qtype().offset(i), field);
            }
        }
        Value::ArrayShape(_, size) => {
            bytes[offset as usize..][..8].copy_from_slice(bytemuck::bytes_of(size));
        }
        Value::Missing(_)
        | Value::ScalarShape
        | Value::OptionalScalarShape
        | Value::Sequence(_)
        | Value::Array(..)
        | Value::NdArray(_)
        | Value::Axes(_)
        | Value::Edge(..) => {}
    }
}

fn write_plain_scalar(bytes: &mut [u8], offset: u32, value: &ScalarValue) {
    let mut put = |source: &[u8]| bytes[offset as usize..][..source.len()].copy_from_slice(source);
    match value {
        ScalarValue::Unit | ScalarValue::Text(_) | ScalarValue::Bytes(_) => {}
        ScalarValue::Boolean(v) => put(&[u8::from(*v)]),
        ScalarValue::Int32(v) => put(bytemuck::bytes_of(v)),
        ScalarValue::Int64(v) => put(bytemuck::bytes_of(v)),
        ScalarValue::Float32(v) => put(bytemuck::bytes_of(v)),
        ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => put(bytemuck::bytes_of(v)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::access::Text;
    use crate::value::qtype::{FLOAT64, INT32};

    #[test]
    fn slots_are_appended_at_their_alignment() {
        let mut b = FrameLayout::builder();
        assert_eq!(b.slot::<f32>().offset(), 0);
        assert_eq!(b.slot::<f64>().offset(), 8);
        assert_eq!(b.slot::<Option<()>>().offset(), 16);
        assert_eq!(b.slot::<Text>().offset(), 24);
        let layout = b.build().expect("small");
        assert_eq!((layout.size(), layout.align()), (48, 8));
        assert_eq!(layout.handle_at(24), Some(HandleKind::Text));
    }

    #[test]
    fn nested_layouts_bring_their_literals() {
        let mut inner = FrameLayout::builder();
        inner.slot::<f64>();
        inner.literal(7i32.into());
        let inner = inner.build().expect("small");
        let mut b = FrameLayout::builder();
        b.slot::<i32>();
        assert_eq!(b.nested(&inner), 8);
        let layout = b.build().expect("small");
        assert_eq!(layout.literals(), [(16, 7i32.into())]);
        assert_eq!(layout.template()[16..20], [7, 0, 0, 0]);
    }

    #[test]
    fn misplaced_slots_are_refused() {
        let refused = |place: &dyn Fn(&mut LayoutBuilder)| {
            let mut b = FrameLayout::builder();
            place(&mut b);
            b.build().unwrap_err().to_string()
        };
        let text = || TypedSlot::new(0, crate::value::qtype::TEXT);
        assert_eq!(
            refused(&|b| {
                b.place(&text());
                b.place(&TypedSlot::new(16, FLOAT64));
            }),
            "the buffer handle at 0x00 shares bytes with another slot"
        );
        assert_eq!(
            refused(&|b| b.place(&TypedSlot::new(4, FLOAT64))),
            "FLOAT64 [0x04] is not aligned to 8 bytes"
        );
        assert_eq!(
            refused(&|b| {
                b.place_literal(0, 1.0.into());
                b.place_literal(4, 1i32.into());
            }),
            "the literals at 0x00 and 0x04 share bytes"
        );
        assert_eq!(
            refused(&|b| b.place(&TypedSlot::new(DEFAULT_FRAME_LIMIT, INT32))),
            "limit frame-bytes: the frame needs 16777220 bytes, at most 16777216 are allowed"
        );
        let beyond = FrameLayout::builder().frame_limit(MAX_FRAME_LIMIT + 1).build();
        assert_eq!(
            beyond.unwrap_err().to_string(),
            "limit frame-bytes: a limit of 1073741825 bytes is more than the largest, 1073741824"
        );
    }

    #[test]
    fn identity_covers_literals() {
        let with = |v: f64| {
            let mut b = FrameLayout::builder();
            b.literal(v.into());
            b.build().expect("small").id()
        };
        assert_eq!(with(1.0), with(1.0));
        assert_ne!(with(0.0), with(-0.0));
    }
}
