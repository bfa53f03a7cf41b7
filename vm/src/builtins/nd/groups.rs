//! Groups: the elements that become one, found where they lie and given to functions as slices.
//!
//! ```text
//! (2, 300) -> (2)     each group where it lies
//! (300, 2) -> (2)     columns side by side, by rows of the array; or gathered, up to sixteen groups at a time
//! ```

use crate::array::meter::{Meter, STRIDE};
use crate::array::runs::{Runs, result_shape, runs};
use crate::layout::PlainSlot;
use crate::operator::KernelCall;
use crate::operator::copy::copy_elements;
use crate::value::nd_view::NdCell;
use crate::value::shape::PerAxis;
use crate::value::{Axes, Fault, NdView, QType};

/// True if there are only unit axes between the axes that are reduced.
pub(super) fn are_together(axes: Axes, is_unit: impl Fn(usize) -> bool) -> bool {
    let reduced = || axes.iter().filter(|axis| !is_unit(*axis));
    let (first, last) = (reduced().min().unwrap_or(0), reduced().max().unwrap_or(0));
    (first..last).all(|axis| axes.contains(axis) || is_unit(axis))
}

/// Elements in order, of runs that are not empty and stand side by side or follow each other, and the bytes of the results.
pub(super) struct InOrder<'c, C> {
    pub(super) values: &'c [C],
    pub(super) runs: Runs,
    pub(super) out: &'c mut [u8],
}

impl<'c, C: NdCell> InOrder<'c, C> {
    /// The elements of an array, if that is so of its runs, and they are wanted.
    pub(super) fn of(
        call: &'c mut KernelCall<'_>,
        axes: Axes,
        is_wanted: impl Fn(Runs) -> bool,
    ) -> Result<Option<InOrder<'c, C>>, Fault> {
        let view = call.nd(0);
        let (shape, runs) = (view.shape(), runs(view.shape(), axes));
        let is_so = runs.run > 0 && is_wanted(runs) && are_together(axes, |axis| shape[axis] == 1);
        let result = call.result_type().nd();
        let Some((values, result)) = view.as_slice::<C>().filter(|_| is_so).zip(result) else {
            return Ok(None);
        };
        let out = call.nd_out(result, &result_shape(shape, axes, result))?;
        Ok(Some(InOrder { values, runs, out }))
    }
}

/// Makes one value of each run of an array, if its runs stand side by side, or follow each other and have at most so many
/// elements; false if not. The function is called with some runs: their elements and those along the last axis, and where the
/// values go.
pub(super) fn by_runs<C: NdCell, R: NdCell>(
    call: &mut KernelCall<'_>,
    axes: Axes,
    most: usize,
    f: impl Fn(&[C], (usize, usize), &mut dyn FnMut(R)),
) -> Result<bool, Fault> {
    let meter = call.meter();
    let of = InOrder::<C>::of(call, axes, |runs| runs.width > 1 || runs.run <= most)?;
    let Some(InOrder { values, runs: Runs { run, width, .. }, out }) = of else { return Ok(false) };
    if values.is_empty() {
        return Ok(true);
    }
    let several = if width == 1 { (STRIDE / run).max(1) } else { width };
    for (values, out) in values.chunks(run * several).zip(out.chunks_mut(several * size_of::<R>())) {
        let mut cells = out.chunks_exact_mut(size_of::<R>());
        f(values, (run, width), &mut |value| {
            let cell = cells.next().expect("the result has a cell for each run");
            cell.copy_from_slice(bytemuck::bytes_of(&value));
        });
        meter.poll()?;
    }
    Ok(true)
}

/// Outputs that are gathered at once where the elements of one do not lie together.
const GATHERED: usize = 16;

/// Makes one value of the elements along the axes, for every place along the others.
pub(super) fn reduce<T: NdCell, R: NdCell + PlainSlot>(
    call: &mut KernelCall<'_>,
    axes: Axes,
    mut f: impl FnMut(&[T]) -> Result<R, Fault>,
) -> Result<(), Fault> {
    reduce_with(call, axes, &mut f)
}

/// The same with a function behind a pointer: groups are found by one code for all reductions of a type.
fn reduce_with<T: NdCell, R: NdCell + PlainSlot>(
    call: &mut KernelCall<'_>,
    axes: Axes,
    f: &mut dyn FnMut(&[T]) -> Result<R, Fault>,
) -> Result<(), Fault> {
    let (view, meter) = (call.nd(0), call.meter());
    let mut sorted: PerAxis = axes.iter().collect();
    sorted.sort();
    let kept: PerAxis = (0..view.rank()).filter(|axis| !axes.contains(*axis)).collect();
    let QType::NdArray(result) = *call.result_type() else {
        let mut value = None;
        each_group(meter, &view, (kept, sorted), &mut |values| {
            value = Some(f(values)?);
            meter.poll()
        })?;
        call.set_plain(value.expect("without axes there is one group"));
        return Ok(());
    };
    let shape = result_shape(view.shape(), axes, result);
    let mut cells = call.nd_out(result, &shape)?.chunks_exact_mut(size_of::<R>());
    let mut pace = meter.pace();
    each_group(meter, &view, (kept, sorted), &mut |values: &[T]| {
        let cell = cells.next().expect("the result has a cell for each group");
        cell.copy_from_slice(bytemuck::bytes_of(&f(values)?));
        pace.over(values.len() + 1)
    })?;
    meter.poll()
}

/// Calls with the elements along some axes at every place along the others, in order.
fn each_group<T: NdCell>(
    meter: &Meter<'_>,
    view: &NdView<'_>,
    (kept, reduced): (PerAxis, PerAxis),
    f: &mut dyn FnMut(&[T]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let axes = |list: &PerAxis| view.select_axes(list.iter().copied());
    let (outer, inner) = (axes(&kept), axes(&reduced));
    let count = inner.len();
    // Groups that follow each other in memory.
    let is_last = reduced.iter().zip(kept.len()..).all(|(axis, place)| *axis == place);
    if let Some(values) = view.as_slice::<T>().filter(|_| is_last && count > 0) {
        return values.chunks_exact(count).try_for_each(f);
    }
    if inner.is_contiguous() && outer.offsets().next().is_none_or(|at| inner.at(at).as_slice::<T>().is_some())
    {
        let mut run = |at| match inner.at(at).as_slice() {
            Some(values) => f(values),
            None => f(&meter.collect(inner.at(at).cells())?),
        };
        return outer.offsets().try_for_each(&mut run);
    }
    // Neighbours along the last of the other axes go together: their elements are neighbours in memory, too.
    let (last, before) = kept.split_last().map_or((None, &[][..]), |(last, before)| (Some(*last), before));
    let places = last.map_or(1, |axis| view.shape()[axis]);
    let together = view.select_axes(last.into_iter().chain(reduced.iter().copied()));
    let mut words = meter.zeros::<u64>((places.min(GATHERED) * count * size_of::<T>()).div_ceil(8))?;
    for at in view.select_axes(before.iter().copied()).offsets() {
        for first in (0..places).step_by(GATHERED) {
            let groups = GATHERED.min(places - first);
            let part = match last {
                Some(_) => together.at(at).narrowed(0, first..first + groups),
                None => together.at(at),
            };
            let cells =
                &mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..groups * count * size_of::<T>()];
            // What becomes of groups is slow: it is polled before some of them.
            copy_elements(&part, cells, meter)?;
            let values: &[T] = bytemuck::checked::cast_slice(cells);
            (0..groups).try_for_each(|group| f(&values[group * count..][..count]))?;
        }
    }
    Ok(())
}
