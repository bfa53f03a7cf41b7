//! Call: what a general kernel sees of the frame while it runs.
//!
//! Arguments are read by position and type, the result is written once. A wrong type is a bug of the
//! operator and panics; the machine turns the panic into an error and discards the frame. A kernel
//! that ends well without a result is an error too: the slot may hold what an earlier run left there.
//!
//! Invariants (established by the verifier, rule "operands"):
//! 1. Every argument slot holds a valid value, and the result slot a valid or stale one.
//! 2. The result shares no byte with an argument, except that a tuple's field may already stand in
//!    its place.

use crate::array::block::Column;
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::frame::typed::{read_value, write_value};
use crate::layout::access::{PlainSlot, SlotType, Text};
use crate::layout::handle::{ArrayHandle, BytesHandle, EdgeHandle, SequenceHandle, TextHandle};
use crate::layout::nd_handle::NdHandle;
use crate::layout::slot::TypedSlot;
use crate::operator::copy::move_value;
use crate::value::nd_type::ND_ELEMENTS;
use crate::value::{ArrayRows, Edge, Fault, NdView, QType, ScalarType, Value};
use bumpalo::Bump;
use std::sync::Arc;

/// Arguments and result of one operator.
#[derive(Debug)]
pub struct KernelCall<'f> {
    frame: *mut u8,
    pub(super) args: &'f [TypedSlot],
    pub(super) out: &'f TypedSlot,
    arena: &'f Bump,
    pub(super) meter: &'f Meter<'f>,
    /// Rows that have been charged for this operator.
    pub(super) charged: usize,
    /// True once the result, or a part of it, has been written.
    pub(super) written: bool,
}

impl<'f> KernelCall<'f> {
    /// A view of the operands of one instruction.
    ///
    /// # Safety
    /// For `'f`, `frame` is the base of a frame for which the invariants of this module hold, and
    /// nobody else accesses it.
    pub unsafe fn new(
        frame: *mut u8,
        args: &'f [TypedSlot],
        out: &'f TypedSlot,
        arena: &'f Bump,
        meter: &'f Meter<'f>,
    ) -> KernelCall<'f> {
        KernelCall { frame, args, out, arena, meter, charged: 0, written: false }
    }

    /// True if the kernel has written its result.
    pub(super) fn is_written(&self) -> bool {
        self.written
    }

    /// Declares the result written: its parts stand in their places already.
    pub(crate) fn keep_result(&mut self) {
        self.written = true;
    }

    /// Number of arguments.
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// True without arguments.
    pub fn is_empty(&self) -> bool {
        self.args.is_empty()
    }

    /// Type of an argument.
    pub fn qtype(&self, index: usize) -> &'f QType {
        self.args[index].qtype()
    }

    /// Type of the result.
    pub fn result_type(&self) -> &'f QType {
        self.out.qtype()
    }

    /// Scratch memory that lives until the end of the run, for what does not grow with rows.
    pub fn arena(&self) -> &'f Bump {
        self.arena
    }

    /// What the run may still use; see there how kernels ask.
    pub fn meter(&self) -> &'f Meter<'f> {
        self.meter
    }

    /// Reads an argument.
    ///
    /// # Panics
    /// If the argument is not of type `T`.
    pub fn get<T: SlotType>(&self, index: usize) -> T::View<'f> {
        let slot = &self.args[index];
        check_type(slot, &T::qtype());
        // SAFETY: invariant 1, and by invariant 2 writing the result does not change it.
        unsafe { T::view(self.at(slot)) }
    }

    /// Reads a plain argument.
    ///
    /// # Panics
    /// If the argument is not of type `T`.
    pub fn plain<T: PlainSlot>(&self, index: usize) -> T {
        let slot = &self.args[index];
        check_type(slot, &T::plain_qtype());
        // SAFETY: invariant 1.
        unsafe { T::load(self.at(slot)) }
    }

    /// Writes a plain result.
    ///
    /// # Panics
    /// If the result is not of type `T`.
    pub fn set_plain<T: PlainSlot>(&mut self, value: T) {
        check_type(self.out, &T::plain_qtype());
        self.written = true;
        // SAFETY: invariant 1; `&mut self` makes the access exclusive.
        unsafe { T::store(self.at(self.out), value) }
    }

    /// Reads a text argument.
    pub fn text(&self, index: usize) -> &'f str {
        self.get::<Text>(index)
    }

    /// Reads an argument of any type as a value; allocates for texts, tuples, sequences and rows.
    ///
    /// # Errors
    /// No memory for rows.
    pub fn value(&self, index: usize) -> Result<Value, Fault> {
        let slot = &self.args[index];
        // SAFETY: invariant 1.
        unsafe { read_value(self.frame, slot.offset(), slot.qtype()) }.map_err(Fault::from)
    }

    /// Cells of a sequence argument.
    pub fn sequence(&self, index: usize) -> &'f [u64] {
        let slot = &self.args[index];
        assert!(matches!(slot.qtype(), QType::Sequence(_)), "argument {index} is {slot}, not a sequence");
        // SAFETY: a sequence slot holds a sequence handle.
        unsafe { (*self.at(slot).cast::<SequenceHandle>()).view() }
    }

    /// Writes the result.
    ///
    /// # Panics
    /// If the result is not of type `T`.
    pub fn set<T: SlotType>(&mut self, value: T::View<'_>) {
        check_type(self.out, &T::qtype());
        self.written = true;
        // SAFETY: invariant 1; `&mut self` makes the access exclusive.
        unsafe { T::assign(self.at(self.out), value) }
    }

    /// Writes the result from a value.
    ///
    /// # Panics
    /// If the result is of another type.
    pub fn set_value(&mut self, value: &Value) {
        check_type(self.out, &value.qtype());
        self.written = true;
        // SAFETY: the types agree; `&mut self` makes the access exclusive.
        unsafe { write_value(self.frame, self.out.offset(), value) }
    }

    /// The buffer of a TEXT result, emptied, to be filled with text. For an OPTIONAL_TEXT result the
    /// value counts as present.
    pub fn text_out(&mut self) -> &mut String {
        let at = self.handle_out(ScalarType::Text);
        // SAFETY: the result slot holds a text handle there.
        unsafe { (*at.cast::<TextHandle>()).cleared() }
    }

    /// The buffer of a BYTES result, emptied.
    pub fn bytes_out(&mut self) -> &mut Vec<u8> {
        let at = self.handle_out(ScalarType::Bytes);
        // SAFETY: the result slot holds a bytes handle there.
        unsafe { (*at.cast::<BytesHandle>()).cleared() }
    }

    /// The cells of a sequence result, emptied.
    pub fn sequence_out(&mut self) -> &mut Vec<u64> {
        assert!(matches!(self.out.qtype(), QType::Sequence(_)), "the result {} is no sequence", self.out);
        self.written = true;
        // SAFETY: a sequence slot holds a sequence handle.
        unsafe { (*self.at(self.out).cast::<SequenceHandle>()).cleared() }
    }

    /// Rows of an array argument that nobody changes: of a literal, or as a host has written them.
    pub(crate) fn shared_array(&self, index: usize) -> Option<Arc<ArrayRows>> {
        let slot = &self.args[index];
        assert!(slot.qtype().array().is_some(), "argument {index} is {slot}, not an array");
        // SAFETY: an array slot holds an array handle.
        match unsafe { &*self.at(slot).cast::<ArrayHandle>() } {
            ArrayHandle::Shared(rows) => Some(rows.clone()),
            _ => None,
        }
    }

    /// Rows of an array argument.
    pub fn array(&self, index: usize) -> &'f ArrayRows {
        let slot = &self.args[index];
        assert!(slot.qtype().array().is_some(), "argument {index} is {slot}, not an array");
        // SAFETY: an array slot holds an array handle.
        let rows = unsafe { (*self.at(slot).cast::<ArrayHandle>()).own() };
        check_rows(rows, slot.qtype().element().expect("an array has rows"));
        rows
    }

    /// Rows of an array argument where they are, lent ones too.
    pub(crate) fn rows(&self, index: usize) -> ReadRows<'f> {
        let slot = &self.args[index];
        assert!(slot.qtype().array().is_some(), "argument {index} is {slot}, not an array");
        // SAFETY: an array slot holds an array handle.
        let handle = unsafe { &*self.at(slot).cast::<ArrayHandle>() };
        match handle.lent() {
            None => ReadRows::kept(self.array(index)),
            Some(lent) => {
                let element = slot.qtype().element().expect("an array has rows");
                assert_eq!(lent.element.storage(), element.storage(), "rows of the slot's type");
                // SAFETY: a host has lent them for the run that this call is a part of.
                unsafe { ReadRows::lent(lent) }
            }
        }
    }

    /// Moves an argument to another frame.
    ///
    /// # Safety
    /// The slot is one of the frame at `target`, of the argument's type or its optional, and nobody else
    /// accesses it.
    pub(super) unsafe fn move_to(
        &self,
        index: usize,
        target: *mut u8,
        slot: &TypedSlot,
    ) -> Result<(), Fault> {
        let from = &self.args[index];
        // SAFETY: the caller's promise; a presence byte is the first of its slot.
        unsafe {
            if slot.qtype().is_optional() && !from.qtype().is_optional() {
                target.add(slot.offset() as usize).write(1);
                // The value of a mask is its presence byte.
                match slot.value().filter(|value| value.offset() > slot.offset()) {
                    Some(value) => move_value(
                        self.frame,
                        from.offset(),
                        target,
                        value.offset(),
                        from.qtype(),
                        self.meter,
                    ),
                    None => Ok(()),
                }
            } else {
                move_value(self.frame, from.offset(), target, slot.offset(), from.qtype(), self.meter)
            }
        }
    }

    /// An argument as rows of a column, or as one value for all rows.
    pub(super) fn column(&self, index: usize) -> Column {
        let slot = &self.args[index];
        match slot.qtype() {
            QType::Array(t) => Column::of_rows(self.array(index), t.element),
            _ => {
                let value = slot.value().map_or(slot.offset(), |value| value.offset());
                // SAFETY: verified slots lie inside the frame.
                Column::of_value(unsafe { self.frame.add(value as usize) }, self.is_present(index))
            }
        }
    }

    /// An edge argument.
    pub fn edge(&self, index: usize) -> &'f Edge {
        let slot = &self.args[index];
        assert!(slot.qtype().is_edge(), "argument {index} is {slot}, not an edge");
        // SAFETY: an edge slot holds an edge handle.
        unsafe { &(*self.at(slot).cast::<EdgeHandle>()).0 }
    }

    /// An n-dimensional array argument where it lies; a scalar as an array of no axes.
    ///
    /// # Panics
    /// If the argument is neither.
    pub fn nd(&self, index: usize) -> NdView<'f> {
        let slot = &self.args[index];
        match slot.qtype() {
            QType::NdArray(t) => {
                // SAFETY: a slot of an n-dimensional array holds such a handle.
                let (qtype, view) = unsafe { (*self.at(slot).cast::<NdHandle>()).computed() };
                assert_eq!(qtype, *t, "what {slot} holds");
                view
            }
            QType::Scalar(t) if ND_ELEMENTS.contains(t) => {
                // SAFETY: a plain scalar slot has initialised bytes of its size (invariant 1), and by
                // invariant 2 writing the result does not change them.
                let bytes = unsafe { std::slice::from_raw_parts(self.at(slot), t.size() as usize) };
                NdView::new(*t, bytes, 0, &[], &[]).expect("one element")
            }
            other => panic!("argument {index} is of type {other}, not an array or its element"),
        }
    }

    /// Where a plain result goes; it counts as written.
    pub(super) fn result_place(&mut self) -> *mut u8 {
        self.written = true;
        self.at(self.out)
    }

    /// Marks an optional result as missing.
    pub fn set_missing(&mut self) {
        match self.out.qtype() {
            QType::Optional(t) => self.set_value(&Value::Missing(*t)),
            other => panic!("a result of type {other} cannot be missing"),
        }
    }

    /// Copies an argument to the result, which has the same storage type.
    ///
    /// # Errors
    /// No memory for rows or texts.
    pub fn copy(&mut self, index: usize) -> Result<(), Fault> {
        let from = &self.args[index];
        check_type(from, self.out.qtype());
        self.written = true;
        // SAFETY: both slots hold values of this type, apart by invariant 2.
        unsafe { self.copy_value(from.offset(), self.out.offset(), from.qtype()) }
    }

    /// Copies an argument into a field of a tuple result, unless it stands there already.
    ///
    /// # Errors
    /// No memory for rows or texts.
    pub fn copy_to_field(&mut self, index: usize, field: usize) -> Result<(), Fault> {
        let from = &self.args[index];
        let to = self.out.field(field).expect("the field exists in the result type");
        check_type(from, to.qtype());
        self.written = true;
        match from.offset() == to.offset() {
            true => Ok(()),
            // SAFETY: both slots hold values of this type, apart by invariant 2.
            false => unsafe { self.copy_value(from.offset(), to.offset(), from.qtype()) },
        }
    }

    /// Copies a present scalar argument into an optional result.
    ///
    /// # Errors
    /// No memory for rows or texts.
    pub fn copy_as_present(&mut self, index: usize) -> Result<(), Fault> {
        let from = &self.args[index];
        let to = self.out.value().expect("the result is optional");
        check_type(from, to.qtype());
        self.written = true;
        // SAFETY: both slots hold values of this type, apart by invariant 2; the presence byte is the
        // first of the result.
        unsafe {
            self.at(self.out).write(1);
            self.copy_value(from.offset(), to.offset(), from.qtype())
        }
    }

    /// Copies the value behind the presence byte of a present optional argument to a scalar result.
    ///
    /// # Errors
    /// No memory for rows or texts.
    pub fn copy_value_behind(&mut self, index: usize) -> Result<(), Fault> {
        let from = self.args[index].value().expect("the argument is optional");
        check_type(&from, self.out.qtype());
        self.written = true;
        // SAFETY: both slots hold values of this type, apart by invariant 2.
        unsafe { self.copy_value(from.offset(), self.out.offset(), from.qtype()) }
    }

    /// True unless the argument is a missing optional.
    pub fn is_present(&self, index: usize) -> bool {
        let slot = &self.args[index];
        // SAFETY: the first byte of an optional is its presence.
        !slot.qtype().is_optional() || unsafe { self.at(slot).read() != 0 }
    }

    fn handle_out(&mut self, scalar: ScalarType) -> *mut u8 {
        self.written = true;
        match self.out.qtype() {
            QType::Scalar(t) if *t == scalar => self.at(self.out),
            QType::Optional(t) if *t == scalar => {
                let value = self.out.value().expect("an optional has a value slot");
                // SAFETY: the presence byte is the first of the result.
                unsafe { self.at(self.out).write(1) };
                self.at(&value)
            }
            other => panic!("the result is of type {other}, not {scalar}"),
        }
    }

    /// Copies a value of a type from one offset to another.
    ///
    /// # Safety
    /// Both offsets hold values of this type; they do not overlap.
    unsafe fn copy_value(&self, from: u32, to: u32, qtype: &QType) -> Result<(), Fault> {
        // SAFETY: the caller's promise.
        unsafe { move_value(self.frame, from, self.frame, to, qtype, self.meter) }
    }

    pub(super) fn at(&self, slot: &TypedSlot) -> *mut u8 {
        // SAFETY: verified slots lie inside the frame.
        unsafe { self.frame.add(slot.offset() as usize) }
    }
}

/// A kernel may have filled an array result with other rows; a slot not yet written has none.
///
/// # Panics
/// If the rows are of another type.
#[inline]
pub(crate) fn check_rows(rows: &ArrayRows, element: ScalarType) {
    let fits = rows.element() == element || rows.element().storage() == element.storage();
    assert!(fits || rows.is_empty(), "an array of {element} holds rows of {}", rows.element());
}

#[inline]
fn check_type(slot: &TypedSlot, qtype: &QType) {
    let same = slot.qtype() == qtype || slot.qtype().storage() == qtype.storage();
    assert!(same, "{slot} was accessed as {qtype}");
}
