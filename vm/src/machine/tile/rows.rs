//! Inputs of a region of rows: how many there are, and where they stand.
//!
//! ```text
//! x                       rows of the frame         in place
//! array.slice(x, 1, -1)   seen through a view       in place, from row 1 on; presence is laid out
//! array.take(x, ids)      seen through a view       laid out block by block
//! y                       lent by the host          in place, or laid out block by block
//! ```

use crate::array::block::Column;
use crate::array::meter::Meter;
use crate::layout::handle::ArrayHandle;
use crate::machine::tile::lent::{Lent, SeenRows};
use crate::machine::tile::region::{Input, InputPlace, MemberFault, Region};
use crate::operator::call::check_rows;
use crate::value::{ArrayRows, Fault, ScalarType};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

/// What the inputs of a region of rows turned out to be.
pub(super) struct Loaded {
    /// How many rows there are.
    pub(super) rows: usize,
    /// How many there were to see through views.
    pub(super) seen: usize,
    /// True if some are lent.
    pub(super) is_lent: bool,
    /// True if no input misses a row, as far as can be told without looking at rows.
    pub(super) is_complete: bool,
}

impl Region {
    /// Looks at the inputs and fills in their columns.
    ///
    /// # Safety
    /// `frame` is a frame that the slots of inputs were verified for.
    #[inline(always)]
    pub(super) unsafe fn load(
        &self,
        frame: *const u8,
        columns: &mut [Column],
        meter: &Meter<'_>,
    ) -> Result<Loaded, Box<MemberFault>> {
        let (mut first, mut agree) = (None, true);
        let (mut seen, mut is_lent, mut is_complete) = (0, false, true);
        for (input, column) in self.inputs.iter().zip(columns) {
            // SAFETY: the caller's promise: array slots hold array handles, and a presence byte is there.
            unsafe {
                match input.place {
                    InputPlace::Array { element, .. } if !input.through.is_empty() => {
                        let (lent, of) = input.rows_through(frame, element, Some(meter))?;
                        seen += of;
                        (column.data, column.presence) = (lent.of.first, lent.bitmap().cast());
                        is_lent |= !lent.are_in_place();
                        agree &= *first.get_or_insert(lent.len()) == lent.len();
                    }
                    InputPlace::Array { offset, element } => {
                        let rows = match &*frame.add(offset as usize).cast::<ArrayHandle>() {
                            ArrayHandle::Owned(rows) => load_rows(rows, element, column),
                            ArrayHandle::Shared(rows) => load_rows(rows, element, column),
                            other => load_others_rows(other, element, column, &mut is_lent),
                        };
                        agree &= *first.get_or_insert(rows) == rows;
                    }
                    InputPlace::Scalar { offset, presence, .. } => {
                        column.data = frame.add(offset as usize);
                        if let Some(at) = presence {
                            column.all = if frame.add(at as usize).read() != 0 { u64::MAX } else { 0 };
                        }
                    }
                    InputPlace::Elements { .. } => unreachable!("a region of rows"),
                }
            }
            is_complete &= column.is_all_present();
        }
        match agree {
            true => {
                let rows = first.expect("a region has an array");
                Ok(Loaded { rows, seen, is_lent, is_complete })
            }
            // SAFETY: the caller's promise.
            false => Err(unsafe { self.find_mismatch(frame) }),
        }
    }

    /// The inputs that are lent, and those seen through views that cannot be read where they are: a worker lays out a block of
    /// each.
    ///
    /// # Safety
    /// As [`Region::load`].
    pub(super) unsafe fn lent<'a>(&self, frame: *const u8, arena: &'a Bump) -> &'a [Lent] {
        let mut lent = BumpVec::new_in(arena);
        for (column, input) in self.inputs.iter().enumerate() {
            let InputPlace::Array { offset, element } = input.place else { continue };
            if !input.through.is_empty() {
                // SAFETY: the caller's promise; a view that raises has raised before.
                let seen = unsafe { input.rows_through(frame, element, None) }.ok();
                let apart = seen.map(|(rows, _)| rows).filter(|rows| !rows.are_in_place());
                lent.extend(apart.map(|rows| Lent { column, rows }));
                continue;
            }
            // SAFETY: the caller's promise.
            let handle = unsafe { &*frame.add(offset as usize).cast::<ArrayHandle>() };
            lent.extend(handle.lent().map(|rows| Lent { column, rows: SeenRows::all(*rows) }));
        }
        lent.into_bump_slice()
    }

    /// The first member whose arrays are of different sizes.
    ///
    /// # Safety
    /// As [`Region::load`].
    #[cold]
    unsafe fn find_mismatch(&self, frame: *const u8) -> Box<MemberFault> {
        let size_of = |input: &Input| {
            let InputPlace::Array { offset, element } = input.place else { return None };
            if !input.through.is_empty() {
                // SAFETY: the caller's promise; a view that raises has raised before.
                return unsafe { input.rows_through(frame, element, None) }.ok().map(|(rows, _)| rows.len());
            }
            // SAFETY: the caller's promise.
            let handle = unsafe { &*frame.add(offset as usize).cast::<ArrayHandle>() };
            Some(handle.len())
        };
        let mut sizes: Vec<Option<usize>> = self.inputs.iter().map(size_of).collect();
        for member in &self.members {
            let of_args: Vec<usize> = member.args().iter().filter_map(|arg| sizes[*arg as usize]).collect();
            if of_args.iter().any(|size| *size != of_args[0]) {
                let sizes = of_args.iter().map(|size| *size as u64).collect();
                return Box::new(MemberFault { ip: member.ip, fault: Fault::Sizes { sizes } });
            }
            sizes.push(of_args.first().copied());
        }
        unreachable!("connected members whose arrays agree have one size")
    }
}

/// Fills in the column of rows of the frame, of which the step is known; gives how many there are.
#[inline(always)]
fn load_rows(rows: &ArrayRows, element: ScalarType, column: &mut Column) -> usize {
    check_rows(rows, element);
    column.data = rows.bytes().as_ptr();
    if let Some(words) = rows.presence() {
        column.presence = words.as_ptr();
    }
    rows.len()
}

/// The same of rows that are shared or lent. Lent rows are taken as if they were in order; a worker lays those out that are
/// not. The words of presence are those of a worker as well: that there are some is all that counts here.
#[inline(never)]
fn load_others_rows(
    handle: &ArrayHandle,
    element: ScalarType,
    column: &mut Column,
    is_lent: &mut bool,
) -> usize {
    let Some(lent) = handle.lent() else { return load_rows(handle.own(), element, column) };
    assert_eq!(lent.element.storage(), element.storage(), "rows of the slot's type");
    (column.data, column.presence) = (lent.first, lent.bitmap.cast());
    *is_lent = true;
    lent.len
}
