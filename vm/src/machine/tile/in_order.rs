//! Rows or elements in order: a region whose inputs are whole arrays and plain values.
//!
//! ```text
//! any run          views, loans, presence | sizes | room | strips or passes, and which | blocks
//! in order         presence               | sizes | room | the strip of rows with such presence
//!
//! x (100, 10) in order    v (10,) laid out: v v v … a hundred times    k (100, 1) laid out: each ten times
//! ```
//!
//! What a run finds out before its first row takes longer than some hundred rows do. A run that is as most are looks for no more
//! than it has to. Any other one, or one that is wrong, is left as it is to the code for all of them, which says what is wrong.
//!
//! Over axes, an input with fewer axes than others is written with all of them where the elements are few: that takes less time than
//! to find out in which runs to read it.

use crate::array::fold_kernel::CHUNK;
use crate::array::periods::{is_laid_out, lay_out};
use crate::layout::handle::ArrayHandle;
use crate::layout::nd_handle::NdHandle;
use crate::machine::tile::access::{Access, FEWEST_FAR};
use crate::machine::tile::choose::{Choice, MOST_IN_SIGNATURE, may_miss};
use crate::machine::tile::plan::Extent;
use crate::machine::tile::region::{
    Arrays, Input, InputPlace, MemberFault, Region, WholeElements, WholeInputs, WholeRows,
};
use crate::machine::tile::run::{Attempt, Settled};
use crate::machine::tile::schedule::Presence;
use crate::machine::tile::strips::{Case, LoadedStrip, StripPlan};
use crate::operator::cell::{Registers, Strips};
use crate::value::NdType;
use crate::value::broadcast::common_shape;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::ptr;

// Rows below a chunk are always reached as those in caches are, and for a whole chunk another way would hardly be faster.
const _: () = assert!(CHUNK <= FEWEST_FAR);

/// Rows or elements that stand in order in all inputs.
#[derive(Clone, Copy)]
pub(super) struct InOrder<'f> {
    pub(super) count: usize,
    /// Sizes of the axes of elements.
    pub(super) sizes: Option<&'f [usize]>,
    /// How many elements there were to see through views.
    pub(super) seen: usize,
    /// What the signature has for inputs that may miss rows.
    pub(super) may_miss: u64,
}

impl<'f> InOrder<'f> {
    #[inline(always)]
    fn of_elements(sizes: &'f [usize], seen: usize) -> InOrder<'f> {
        InOrder { count: sizes.iter().product(), sizes: Some(sizes), seen, may_miss: 0 }
    }
}

impl WholeInputs {
    /// Those of a region with these inputs, so many of which are not fixed; nothing if one of them that has all axes is seen through
    /// a view, or one may be a missing value, or there are more than a signature has bits for.
    pub(super) fn of(
        extent: Extent,
        (inputs, varying): (&[Input], usize),
        has_folds: bool,
    ) -> Option<WholeInputs> {
        if varying > MOST_IN_SIGNATURE {
            return None;
        }
        let (mut rows, mut whole, mut fewer, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (column, input) in (0..).zip(inputs) {
            match input.place {
                InputPlace::Scalar { offset, presence: None, .. } => values.push((column, offset)),
                InputPlace::Array { offset, element } if input.through.is_empty() => {
                    rows.push(WholeRows { column, offset, element, may_miss: may_miss(varying, column) });
                }
                InputPlace::Elements { .. } if input.extent() != Some(extent) => fewer.push(column),
                InputPlace::Elements { offset, qtype: of } if input.through.is_empty() => {
                    whole.push(WholeElements { column, offset, of });
                }
                _ => return None,
            }
        }
        let arrays = match extent {
            Extent::Rows => Arrays::Rows(rows.into()),
            Extent::Elements(axes) => {
                Arrays::Elements { rank: axes.rank(), whole: whole.into(), fewer: fewer.into() }
            }
        };
        let are_for_strips = extent == Extent::Rows || !has_folds;
        Some(WholeInputs { arrays, values: values.into(), are_for_strips })
    }

    /// True if [placing](WholeInputs::place) inputs may lay them out in the arena.
    pub(super) fn may_be_laid_out(&self) -> bool {
        matches!(&self.arrays, Arrays::Elements { fewer, .. } if !fewer.is_empty())
    }

    /// Gives where the rows or the value of each input stand, and presence if there is any, by column, and says how many rows there are;
    /// nothing if they are not in order. What has fewer axes than others, and few elements, is laid out in the arena.
    ///
    /// # Safety
    /// The slots were verified for the layout of the frame, and hold what is read from them, which nobody changes for `'f`.
    #[inline(always)]
    pub(super) unsafe fn place<'f>(
        &self,
        inputs: &[Input],
        frame: *mut u8,
        arena: &'f Bump,
        mut put: impl FnMut(u16, *const u8, *const u64),
    ) -> Option<InOrder<'f>> {
        let mut put_cells = |column, cells| put(column, cells, ptr::null());
        for (column, offset) in &self.values {
            put_cells(*column, frame.wrapping_add(*offset as usize));
        }
        // SAFETY: the caller's promise.
        unsafe {
            match &self.arrays {
                Arrays::Rows(arrays) => place_rows(arrays, frame, put),
                Arrays::Elements { whole, fewer, .. } if fewer.is_empty() => {
                    let sizes = place_whole(whole, frame, put_cells)??;
                    Some(InOrder::of_elements(sizes, 0))
                }
                Arrays::Elements { rank, whole, fewer } => {
                    let sizes = place_whole(whole, frame, &mut put_cells)?;
                    place_fewer(sizes, (inputs, fewer), *rank, frame, arena, put_cells)
                }
            }
        }
    }
}

/// # Safety
/// As [`WholeInputs::place`].
#[inline(always)]
unsafe fn place_rows<'f>(
    arrays: &[WholeRows],
    frame: *mut u8,
    mut put: impl FnMut(u16, *const u8, *const u64),
) -> Option<InOrder<'f>> {
    let (mut rows, mut may_miss) = (None, 0);
    for input in arrays {
        // SAFETY: the caller's promise: array slots hold array handles.
        let array = match unsafe { &*frame.add(input.offset as usize).cast::<ArrayHandle>() } {
            ArrayHandle::Owned(array) => &**array,
            ArrayHandle::Shared(array) => &**array,
            ArrayHandle::Lent(_) => return None,
        };
        let are_as_many = *rows.get_or_insert(array.len()) == array.len();
        if array.element() != input.element || !are_as_many {
            return None;
        }
        let presence = array.presence().map_or(ptr::null(), |words| {
            may_miss |= input.may_miss;
            words.as_ptr()
        });
        put(input.column, array.bytes().as_ptr(), presence);
    }
    Some(InOrder { count: rows?, sizes: None, seen: 0, may_miss })
}

/// The sizes of all arrays, if they stand in order and have the same; `None` inside if there are none.
///
/// # Safety
/// As [`WholeInputs::place`].
#[inline(always)]
unsafe fn place_whole<'f>(
    arrays: &[WholeElements],
    frame: *mut u8,
    mut put: impl FnMut(u16, *const u8),
) -> Option<Option<&'f [usize]>> {
    let mut shape: Option<&[usize]> = None;
    for input in arrays {
        // SAFETY: the caller's promise: the handle of an array stands in its slot.
        let handle: &'f NdHandle = unsafe { &*frame.add(input.offset as usize).cast() };
        let (first, sizes) = handle.in_order(input.of)?;
        if *shape.get_or_insert(sizes) != sizes {
            return None;
        }
        put(input.column, first);
    }
    Some(shape)
}

/// Lays out arrays that have fewer axes than those of a shape, or than that which all of them have.
///
/// # Safety
/// As [`WholeInputs::place`].
#[inline(always)]
unsafe fn place_fewer<'f>(
    shape: Option<&'f [usize]>,
    (inputs, columns): (&[Input], &[u16]),
    rank: usize,
    frame: *mut u8,
    arena: &'f Bump,
    mut put: impl FnMut(u16, *const u8),
) -> Option<InOrder<'f>> {
    // SAFETY: the caller's promise.
    let few = |column: &u16| unsafe { few_elements(&inputs[*column as usize], frame, arena) };
    let mut seen_by_all = 0;
    let mut place = |column: &u16, Few { first, sizes, qtype, seen }: Few<'f>, shape: &[usize]| {
        seen_by_all += seen;
        // SAFETY: the array has these elements in order.
        put(*column, unsafe { lay_out((first, sizes), qtype, shape, arena)? });
        Some(())
    };
    let sizes = match shape {
        Some(sizes) => {
            if !is_laid_out(sizes) {
                return None;
            }
            for column in columns {
                place(column, few(column)?, sizes)?;
            }
            sizes
        }
        None => {
            let mut all = BumpVec::with_capacity_in(columns.len(), arena);
            for column in columns {
                all.push(few(column)?);
            }
            let shapes = all.iter().map(|few: &Few<'_>| (few.sizes, few.qtype));
            let sizes = &*arena.alloc_slice_copy(&common_shape(shapes, rank).ok()?[..rank]);
            for (column, few) in columns.iter().zip(all) {
                place(column, few, sizes)?;
            }
            sizes
        }
    };
    Some(InOrder::of_elements(sizes, seen_by_all))
}

/// An array with fewer axes than others.
struct Few<'f> {
    first: *const u8,
    sizes: &'f [usize],
    qtype: NdType,
    /// How many elements there were to see through views.
    seen: usize,
}

/// The elements of an input, if they stand in order.
///
/// # Safety
/// As [`WholeInputs::place`].
#[inline(always)]
unsafe fn few_elements<'f>(input: &Input, frame: *mut u8, arena: &'f Bump) -> Option<Few<'f>> {
    let InputPlace::Elements { offset, qtype } = input.place else { unreachable!("an array with axes") };
    if input.through.is_empty() {
        // SAFETY: the caller's promise: the handle of an array stands in its slot.
        let handle: &'f NdHandle = unsafe { &*frame.add(offset as usize).cast() };
        let (first, sizes) = handle.in_order(qtype)?;
        return Some(Few { first, sizes, qtype, seen: 0 });
    }
    // SAFETY: the caller's promise.
    let (view, seen) = unsafe { input.elements(frame, offset, qtype).ok()? };
    Some(Few { first: view.in_order()?, sizes: arena.alloc_slice_copy(view.shape()), qtype, seen })
}

impl StripPlan {
    /// True if rows in order may run as one strip, which is compiled for some of them.
    #[inline(always)]
    pub(super) fn may_take_rows(&self, strips: Strips) -> bool {
        self.schedule.is_one_strip
            && strips != Strips::Never
            && self.variants.get().is_some()
            && !self.is_often_vain()
    }

    /// The strip for rows in order with this signature, if it is compiled, and where the presence of columns stands.
    #[inline(always)]
    pub(super) fn of_rows(&self, signature: u64) -> Option<(Choice<'_>, &LoadedStrip, &[Presence])> {
        let mut variant = self.variants.get()?;
        let case = Case::new(signature, Access::Cached);
        while variant.case != case {
            variant = variant.next.get()?;
        }
        let choice = Choice { schedule: &self.schedule, strips: variant.strips.as_deref()? };
        Some((choice, choice.strips.first()?, &variant.presence))
    }
}

impl Region {
    /// Computes all rows or elements where they are in order, and says whether that has settled all results; nothing if they are not, or
    /// too many, or if no strip is compiled, or there is no room yet for elements.
    ///
    /// # Safety
    /// As [`Region::run`].
    #[inline(always)]
    pub(super) unsafe fn run_in_order(
        &self,
        frame: *mut u8,
        registers: &Registers,
    ) -> Option<Result<Settled, Box<MemberFault>>> {
        let inputs = self.in_order.as_ref().filter(|inputs| inputs.are_for_strips)?;
        let plan = self.strips.as_ref().filter(|plan| plan.may_take_rows(registers.strips))?;
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.region_arena, &*registers.meter) };
        let columns = arena.alloc_slice_copy(&self.columns);
        self.begin_scans(columns, arena);
        let mut put = |column: u16, data, presence| {
            let column = &mut columns[column as usize];
            (column.data, column.presence) = (data, presence);
        };
        // SAFETY: the caller's promise.
        let found = unsafe { inputs.place(&self.inputs, frame, arena, &mut put)? };
        let rows = found.count;
        let (choice, strip, presence) = plan.of_rows(self.complete_signature | found.may_miss)?;
        let of_lanes = choice.strip_of_lanes(rows);
        if of_lanes.is_none() && !choice.is_at_once(rows) {
            return None;
        }
        // SAFETY: the caller's promise; no input shares the array of an output, and columns have these rows then.
        let outcome = unsafe {
            // Elements go where those of the last run went, or all the way.
            let has_room = found.sizes.is_some() && self.reuse_outputs(frame, found, presence, put);
            if found.sizes.is_some() && !has_room {
                return None;
            }
            let charged = self.charge(rows, found.seen, meter, Attempt::First);
            let ready = match has_room {
                true => charged,
                false => charged.and_then(|()| self.place(frame, rows, columns, presence, meter)),
            };
            ready.map(|()| match of_lanes {
                Some(strip) => self.fold_chunk(strip, rows, columns.as_mut_ptr(), frame),
                None => strip.run_once(columns.as_ptr(), rows),
            })
        };
        Some(outcome.map(|is_settled| {
            if found.sizes.is_none() {
                // SAFETY: the caller's promise.
                unsafe { self.normalize(frame, presence) };
            }
            if is_settled { Settled::All } else { Settled::NotAll }
        }))
    }
}
