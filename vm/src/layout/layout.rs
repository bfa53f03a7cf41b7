//! FrameLayout: the finished, immutable layout.

use crate::layout::access::SlotType;
use crate::layout::handle::HandleKind;
use crate::layout::slot::{NumberSlot, READ_ONLY, Slot, TypedSlot};
use crate::value::nd_type::is_element;
use crate::value::scalar::{HANDLE_SIZE, ScalarType};
use crate::value::{QType, ScalarValue, Value};
use sha2::{Digest, Sha256};
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// 128-bit content hash of a layout, equal across processes and machines.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayoutId(pub [u8; 16]);

impl fmt::Display for LayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for LayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LayoutId({self})")
    }
}

/// Where every slot of a frame lies.
#[derive(Debug)]
pub struct FrameLayout {
    pub(crate) size: u32,
    pub(crate) align: u32,
    /// Handles by ascending offset.
    pub(crate) handles: Box<[(u32, HandleKind)]>,
    /// The type of each, in storage form; none of a handle that only the text of a program names.
    pub(crate) handle_types: Box<[Option<QType>]>,
    /// Slots with a written-bit: inputs first, then outputs.
    pub(crate) inputs: Box<[TypedSlot]>,
    pub(crate) outputs: Box<[TypedSlot]>,
    pub(crate) literals: Box<[(u32, Value)]>,
    /// First byte and end of each literal that has bytes, ascending.
    pub(crate) literal_bytes: Box<[(u32, u32)]>,
    /// Offset and position of each slot with a written-bit, ascending.
    pub(crate) bits: Box<[(u32, u32)]>,
    /// The plain bytes of a new frame: literals in place, zero elsewhere.
    pub(crate) template: Box<[u8]>,
    pub(crate) tag: u64,
    pub(crate) id: OnceLock<LayoutId>,
}

impl FrameLayout {
    /// Bytes of a frame.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Alignment of a frame in bytes.
    pub fn align(&self) -> u32 {
        self.align
    }

    /// Slots that a host writes before a run; the position is the slot's written-bit.
    pub fn inputs(&self) -> &[TypedSlot] {
        &self.inputs
    }

    /// Slots that a run writes for the host.
    pub fn outputs(&self) -> &[TypedSlot] {
        &self.outputs
    }

    /// Literals and their offsets, placed when a frame is made.
    pub fn literals(&self) -> &[(u32, Value)] {
        &self.literals
    }

    /// Buffer handles and their offsets, ascending.
    pub fn handles(&self) -> &[(u32, HandleKind)] {
        &self.handles
    }

    /// The plain bytes of a new frame.
    pub fn template(&self) -> &[u8] {
        &self.template
    }

    /// The layout's identity: a hash over size, handles, inputs, outputs and literals. Frames may be
    /// exchanged between expressions exactly if it is equal.
    pub fn id(&self) -> LayoutId {
        *self.id.get_or_init(|| self.compute_id())
    }

    fn compute_id(&self) -> LayoutId {
        let mut digest = Sha256::new();
        let mut line = |kind: &str, offset: u32, what: &dyn fmt::Display| {
            digest.update(format!("{kind} {offset} {what}\n"));
        };
        line("layout", self.size, &self.align);
        self.handles.iter().for_each(|(at, kind)| line("handle", *at, &format_args!("{kind:?}")));
        self.inputs.iter().for_each(|s| line("input", s.offset(), s.qtype()));
        self.outputs.iter().for_each(|s| line("output", s.offset(), s.qtype()));
        for (at, value) in &self.literals {
            digest.update(format!("literal {at} {}\n", value.qtype()));
            hash_value(&mut digest, value);
        }
        let digest = digest.finalize();
        LayoutId(std::array::from_fn(|i| digest[i]))
    }

    /// Handles with the type of what they hold, by ascending offset; none of a handle that only the text of a
    /// program names, and that no slot of the program has.
    pub(crate) fn typed_handles(&self) -> impl Iterator<Item = (u32, HandleKind, Option<&QType>)> {
        self.handles.iter().zip(&self.handle_types).map(|((at, kind), qtype)| (*at, *kind, qtype.as_ref()))
    }

    /// Gives handles without a type that of a slot, as far as they are of its kind.
    pub(crate) fn name_handles(&mut self, slot: &TypedSlot) {
        for_each_handle(slot.offset(), slot.qtype(), &mut |offset, qtype| {
            let Ok(found) = self.handles.binary_search_by_key(&offset, |h| h.0) else { return };
            if Some(self.handles[found].1) == HandleKind::of(qtype) {
                self.handle_types[found].get_or_insert_with(|| qtype.storage());
            }
        });
    }

    /// True if a value of the slot's type can live at its offset: inside the frame, aligned, its
    /// handles on handles of the same type, up to storage, and its plain bytes on plain bytes. This is the one
    /// check of a slot that is not known to be of the layout: what a handle holds is always of the type that
    /// the layout has for it.
    pub fn accepts(&self, slot: &TypedSlot) -> bool {
        slot.end() <= u64::from(self.size)
            && slot.offset().is_multiple_of(slot.qtype().align())
            && self.accepts_parts(slot.offset(), slot.qtype())
    }

    fn accepts_parts(&self, offset: u32, qtype: &QType) -> bool {
        match qtype {
            QType::Tuple(t) => {
                t.fields().iter().enumerate().all(|(i, f)| self.accepts_parts(offset + t.offset(i), f))
            }
            QType::Optional(s) if *s != ScalarType::Unit && !s.is_narrow() => {
                self.is_plain(offset, 1) && self.accepts_parts(offset + s.align(), &QType::Scalar(*s))
            }
            leaf if !leaf.is_type_of_values() => false,
            leaf => match HandleKind::of(leaf) {
                Some(_) => self.handle_type(offset).is_some_and(|held| *held == leaf.storage()),
                None => self.is_plain(offset, leaf.size()),
            },
        }
    }

    /// The type of what the handle at this offset holds, in storage form.
    fn handle_type(&self, offset: u32) -> Option<&QType> {
        let found = self.handles.binary_search_by_key(&offset, |h| h.0).ok()?;
        self.handle_types[found].as_ref()
    }

    /// The handle that starts at this offset.
    pub fn handle_at(&self, offset: u32) -> Option<HandleKind> {
        let found = self.handles.binary_search_by_key(&offset, |h| h.0).ok()?;
        Some(self.handles[found].1)
    }

    fn is_plain(&self, offset: u32, size: u32) -> bool {
        let next = self.handles.partition_point(|h| h.0 + HANDLE_SIZE <= offset);
        self.handles.get(next).is_none_or(|h| offset + size <= h.0)
    }

    /// True if the slot has a byte in common with a literal: it may be read, not written.
    pub fn is_literal(&self, slot: &TypedSlot) -> bool {
        let next = self.literal_bytes.partition_point(|(_, end)| *end <= slot.offset());
        self.literal_bytes.get(next).is_some_and(|(start, _)| u64::from(*start) < slot.end())
    }

    /// The bytes of a slot that is, or is inside of, one literal: they are the same in every frame.
    pub(crate) fn literal_bytes(&self, offset: u32, size: u32) -> Option<&[u8]> {
        let next = self.literal_bytes.partition_point(|(_, end)| *end <= offset);
        let (start, end) = self.literal_bytes.get(next)?;
        let is_inside = *start <= offset && u64::from(offset) + u64::from(size) <= u64::from(*end);
        is_inside.then(|| &self.template[offset as usize..(offset + size) as usize])
    }

    /// The statically typed form of a slot of this layout; `None` if the slot is not of type `T` or
    /// does not belong here. A frame refuses to write it where a literal stands.
    pub fn slot<T: SlotType>(&self, slot: &TypedSlot) -> Option<Slot<T>> {
        let fits = self.accepts(slot) && slot.qtype().storage() == T::qtype().storage();
        fits.then(|| Slot {
            offset: slot.offset(),
            bit: self.bit_of(slot),
            tag: self.tag_of(slot),
            value: PhantomData,
        })
    }

    /// The checked form of a slot of a number or truth value; `None` if the slot is of another type or does not belong here.
    pub fn number_slot(&self, slot: &TypedSlot) -> Option<NumberSlot> {
        let QType::Scalar(scalar) = slot.qtype() else { return None };
        let (element, offset) = (scalar.storage(), slot.offset());
        let fits = is_element(element) && self.accepts(slot);
        fits.then(|| NumberSlot { offset, bit: self.bit_of(slot), tag: self.tag_of(slot), element })
    }

    fn tag_of(&self, slot: &TypedSlot) -> u64 {
        if self.is_literal(slot) { self.tag | READ_ONLY } else { self.tag }
    }

    /// Position of a slot's written-bit plus one; 0 if the slot has none.
    pub(crate) fn bit_of(&self, slot: &TypedSlot) -> u32 {
        let first = self.bits.partition_point(|(offset, _)| *offset < slot.offset());
        let here = self.bits[first..].iter().take_while(|(offset, _)| *offset == slot.offset());
        here.map(|(_, bit)| *bit).find(|bit| self.slot_of_bit(*bit) == slot).map_or(0, |bit| bit + 1)
    }

    fn slot_of_bit(&self, bit: u32) -> &TypedSlot {
        let bit = bit as usize;
        self.inputs.get(bit).unwrap_or_else(|| &self.outputs[bit - self.inputs.len()])
    }
}

/// Calls a function for the handles of a type at an offset: where each stands, and its type.
pub(super) fn for_each_handle(offset: u32, qtype: &QType, each: &mut impl FnMut(u32, &QType)) {
    match qtype {
        QType::Tuple(t) => {
            let fields = t.fields().iter().enumerate();
            fields.for_each(|(i, field)| for_each_handle(offset.saturating_add(t.offset(i)), field, each));
        }
        QType::Optional(s) if HandleKind::of_scalar(*s).is_some() => {
            each(offset.saturating_add(s.align()), &QType::Scalar(*s));
        }
        leaf if HandleKind::of(leaf).is_some() => each(offset, leaf),
        _ => {}
    }
}

/// Hashes a value of a known type, bit for bit: whether it is there, and then what it is.
fn hash_value(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Missing(_) => return digest.update([0]),
        Value::Present(_) => digest.update([1]),
        _ => {}
    }
    let mut bytes = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    match value {
        Value::Scalar(v) | Value::Present(v) => match v {
            ScalarValue::Text(text) => bytes(text.as_bytes()),
            ScalarValue::Bytes(raw) => bytes(raw),
            plain => bytes(&plain.plain_bits().unwrap_or_default().to_le_bytes()),
        },
        Value::Edge(class, edge) => {
            bytes(&(edge.parent_size() as u64).to_le_bytes());
            hash_value(digest, &Value::Array(*class, edge.mapping().into()));
        }
        Value::ArrayShape(_, size) => bytes(&size.to_le_bytes()),
        Value::NdArray(rows) => {
            rows.shape().iter().for_each(|size| bytes(&(*size as u64).to_le_bytes()));
            rows.view().scalars().for_each(|value| {
                bytes(&value.plain_bits().unwrap_or_default().to_le_bytes());
            });
        }
        Value::Missing(_) | Value::ScalarShape | Value::OptionalScalarShape | Value::Axes(_) => {}
        Value::Tuple(t) => t.fields().iter().for_each(|field| hash_value(digest, field)),
        Value::Sequence(s) => bytes(bytemuck::cast_slice(s.cells())),
        Value::Array(_, rows) => rows.iter().for_each(|row| {
            hash_value(digest, &row.map_or(Value::Missing(rows.element()), Value::Present));
        }),
    }
}
