//! Views that a region makes for itself, of what stands in the frame.

use crate::array::meter::Meter;
use crate::layout::handle::{ArrayHandle, EdgeHandle, RawRows};
use crate::layout::nd_handle::NdHandle;
use crate::machine::tile::chosen::ChosenBy;
use crate::machine::tile::lent::SeenRows;
use crate::machine::tile::region::{Input, MemberFault, Through};
use crate::operator::call::check_rows;
use crate::operator::operand_view::{MOST_NUMBERS, OperandView};
use crate::value::array::cell_size;
use crate::value::ndarray::has_shape;
use crate::value::{ArrayRows, Fault, NdType, NdView, QType, ScalarType};
use std::ops::Range;

impl Through {
    fn fault(&self, fault: Fault) -> Box<MemberFault> {
        Box::new(MemberFault { ip: self.ip, fault })
    }

    /// # Safety
    /// The frame has the operands that say which rows.
    unsafe fn rows_of(&self, len: usize, frame: *const u8) -> Result<Range<usize>, Box<MemberFault>> {
        let OperandView::Rows(rows_of) = &self.view else { unreachable!("a view of rows") };
        let [first, second] = self.sizes[..] else { unreachable!("a view of rows has two bounds") };
        // SAFETY: the caller's promise.
        let bound = |at: u32| unsafe { frame.add(at as usize).cast::<i64>().read() };
        rows_of(len, [bound(first), bound(second)]).map_err(|fault| self.fault(fault))
    }
}

impl Through {
    /// What chooses among so many rows.
    ///
    /// # Safety
    /// The frame has the operand that chooses, which stands while the region runs.
    unsafe fn chosen_by(
        &self,
        rows: usize,
        frame: *const u8,
        meter: Option<&Meter<'_>>,
    ) -> Result<ChosenBy, Fault> {
        let chooser = self.chooser.as_ref().expect("an operand that chooses");
        let at = frame.wrapping_add(chooser.offset() as usize);
        if let QType::Array(t) = chooser.qtype() {
            // SAFETY: the caller's promise: an array handle stands in the slot of an array.
            let by = ChosenBy::Numbers(raw_rows(unsafe { &*at.cast::<ArrayHandle>() }, t.element));
            meter.map_or(Ok(()), |meter| by.check(rows, meter))?;
            return Ok(by);
        }
        // SAFETY: as above: an edge handle stands in the slot of an edge.
        let edge = unsafe { &(*at.cast::<EdgeHandle>()).0 };
        if rows != edge.parent_size() {
            return Err(Fault::Sizes { sizes: vec![rows as u64, edge.parent_size() as u64] });
        }
        Ok(match edge.stored_mapping() {
            Some(parents) => ChosenBy::Numbers(raw_of(parents, ScalarType::Int64)),
            None => ChosenBy::Points(edge.split_points().expect("an edge of rows has a form")),
        })
    }
}

impl Input {
    /// The rows that it sees through its views, and how many there are to see. Without a meter, numbers that choose rows are
    /// known to be those of some.
    ///
    /// # Errors
    /// What an operator of a view raises.
    ///
    /// # Safety
    /// `frame` is a frame that the slots of the views' operands were verified for, and they have been written.
    #[inline(never)]
    pub(super) unsafe fn rows_through(
        &self,
        frame: *const u8,
        element: ScalarType,
        meter: Option<&Meter<'_>>,
    ) -> Result<(SeenRows, usize), Box<MemberFault>> {
        // SAFETY: the caller's promise: an array handle stands in the slot of an array.
        let handle = unsafe { &*frame.add(self.through[0].array.offset() as usize).cast::<ArrayHandle>() };
        let mut rows = raw_rows(handle, element);
        let seen = rows.len;
        for through in &self.through {
            if through.view.chooses() {
                // SAFETY: the caller's promise; it is the last view.
                let by = unsafe { through.chosen_by(rows.len, frame, meter) };
                let by = by.map_err(|fault| through.fault(fault))?;
                return Ok((SeenRows { of: rows, chosen_by: Some(by) }, seen.max(by.len())));
            }
            // SAFETY: the caller's promise.
            let Range { start, end } = unsafe { through.rows_of(rows.len, frame)? };
            (rows.first, rows.len) = (rows.first.wrapping_offset(rows.step * start as isize), end - start);
            rows.offset += start;
        }
        Ok((SeenRows::all(rows), seen))
    }

    /// Its elements, which are those of a slot or lie in an array that it sees through its views; of that, how many there
    /// are to see.
    ///
    /// # Errors
    /// What an operator of a view raises.
    ///
    /// # Safety
    /// `frame` is a frame that the slot and those of the views' operands were verified for, and they have been written;
    /// nobody writes the elements for `'a`.
    pub(super) unsafe fn elements<'a>(
        &self,
        frame: *const u8,
        offset: u32,
        qtype: NdType,
    ) -> Result<(NdView<'a>, usize), Box<MemberFault>> {
        if self.through.is_empty() {
            // SAFETY: the caller's promise.
            return Ok((unsafe { elements(frame, offset, qtype) }, 0));
        }
        let array = &self.through[0].array;
        // SAFETY: the caller's promise.
        let mut view = unsafe { elements(frame, array.offset(), array.qtype().nd().expect("it has axes")) };
        let seen = view.len();
        for through in &self.through {
            let OperandView::Elements(of) = &through.view else { unreachable!("a view of elements") };
            let mut numbers = [0; MOST_NUMBERS];
            for (number, at) in numbers.iter_mut().zip(&through.sizes) {
                // SAFETY: the caller's promise: an INT64 stands there.
                *number = unsafe { frame.add(*at as usize).cast::<i64>().read() };
            }
            let numbers = &numbers[..through.sizes.len()];
            view = of(&view, numbers).map_err(|fault| through.fault(fault))?;
        }
        check_elements(&view, qtype);
        Ok((view, seen))
    }
}

/// Rows of a handle, wherever they stand.
///
/// # Panics
/// If they are of another type.
fn raw_rows(handle: &ArrayHandle, element: ScalarType) -> RawRows {
    if let Some(lent) = handle.lent() {
        assert_eq!(lent.element.storage(), element.storage(), "rows of the slot's type");
        return *lent;
    }
    raw_of(handle.own(), element)
}

/// The same of rows of the frame.
fn raw_of(rows: &ArrayRows, element: ScalarType) -> RawRows {
    check_rows(rows, element);
    let bitmap = rows.presence().map_or(std::ptr::null(), |words| words.as_ptr().cast());
    let first = rows.bytes().as_ptr();
    RawRows { element, len: rows.len(), first, step: cell_size(element) as isize, bitmap, offset: 0 }
}

/// The elements in a slot of this type.
///
/// # Safety
/// `frame` is a frame that the slot was verified for; nobody writes the elements for `'a`.
unsafe fn elements<'a>(frame: *const u8, offset: u32, qtype: NdType) -> NdView<'a> {
    // SAFETY: the caller's promise: the handle of an array stands in its slot.
    let view = unsafe { (*frame.add(offset as usize).cast::<NdHandle>()).view() };
    check_elements(&view, qtype);
    view
}

/// Blocks lean on the type: a unit axis is repeated without a look at its size.
fn check_elements(view: &NdView<'_>, qtype: NdType) {
    let fits = view.element() == qtype.element() && has_shape(qtype, view.shape()).is_some();
    assert!(fits, "an array of {qtype}");
}
