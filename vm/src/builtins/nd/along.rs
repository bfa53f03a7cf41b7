//! Along axes: sums up to each element, elements taken by their places, arrays put one after the other.

use crate::builtins::nd::reduce::wide;
use crate::operator::copy::copy_elements_since;
use crate::operator::general::GeneralKernel;
use crate::operator::meter::{Meter, STRIDE};
use crate::operator::scan::{self, Direction, ScanKernel, Summand};
use crate::operator::{Family, Kernel, KernelCall, Overload};
use crate::value::array::cell_size;
use crate::value::broadcast::check_count;
use crate::value::nd_view::NdCell;
use crate::value::shape::PerAxis;
use crate::value::{Axes, Fault, NdType, NdView, QType, ScalarType};
use std::ops::Add;

/// Name of `nd._cumsum`.
pub const CUMSUM: &str = "nd._cumsum";
/// Name of `nd._cumsum_back`.
pub const CUMSUM_BACK: &str = "nd._cumsum_back";
/// Name of `nd._cumsum_in_groups`.
pub const CUMSUM_IN_GROUPS: &str = "nd._cumsum_in_groups";
/// Name of `nd._cumsum_in_groups_back`.
pub const CUMSUM_IN_GROUPS_BACK: &str = "nd._cumsum_in_groups_back";
/// Name of `nd._take`.
pub const TAKE: &str = "nd._take";
/// Name of `nd._concatenate`.
pub const CONCATENATE: &str = "nd._concatenate";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        running_sum(CUMSUM, "up to this one", Direction::Forward, Additions::OneByOne),
        running_sum(CUMSUM_BACK, "from this one on", Direction::Back, Additions::OneByOne),
        running_sum(CUMSUM_IN_GROUPS, "up to this one", Direction::Forward, Additions::InGroups),
        running_sum(CUMSUM_IN_GROUPS_BACK, "from this one on", Direction::Back, Additions::InGroups),
        Family::new(
            TAKE,
            &["x", "indices", "axis"],
            "The elements at these places of an axis; places below 0 count from its end.",
        )
        .cost_of(10)
        .raises()
        .on_demand(take),
        Family::new(CONCATENATE, &["axis", "*arrays"], "Arrays one after the other along an axis.")
            .cost_of(10)
            .raises()
            .on_demand(concatenate),
    ]
}

/// The order of the additions of a running sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Additions {
    /// Each element is added to the sum before it.
    OneByOne,
    /// Eight elements are added up by themselves, along the last axis only.
    InGroups,
}

fn running_sum(name: &str, which: &str, direction: Direction, additions: Additions) -> Family {
    let meaning = match additions {
        Additions::OneByOne => {
            format!("Sum of the elements {which}, along each of the axes. Integers and truths become INT64.")
        }
        Additions::InGroups => format!("Sum of the floats {which}, along the last axis, in groups of eight."),
    };
    Family::new(name, &["x", "axes"], &meaning).cost_of(10).on_demand(move |family, args| {
        let [QType::NdArray(t), QType::Axes(axes)] = args else { return None };
        let result = t.with_element(wide(t.element())?)?;
        let kernel = match additions {
            Additions::OneByOne => cumsum(*t, *axes, result, direction),
            Additions::InGroups => cumsum_in_groups(*t, *axes, direction),
        };
        Some(family.make(args, QType::NdArray(result), kernel?))
    })
}

fn cumsum(t: NdType, axes: Axes, result: NdType, direction: Direction) -> Option<Kernel> {
    if !axes.iter().all(|axis| axis < t.rank()) {
        return None;
    }
    let whole = GeneralKernel::new(move |call| {
        let view = call.nd(0);
        match view.element() {
            ScalarType::Boolean => {
                running(call, &view, result, axes, direction, |x: bool| i64::from(x), i64::wrapping_add)
            }
            ScalarType::Int32 => {
                running(call, &view, result, axes, direction, |x: i32| i64::from(x), i64::wrapping_add)
            }
            ScalarType::Int64 => running(call, &view, result, axes, direction, |x: i64| x, i64::wrapping_add),
            ScalarType::Float32 => running(call, &view, result, axes, direction, |x: f32| x, f32::add),
            _ => running(call, &view, result, axes, direction, |x: f64| x, f64::add),
        }
    });
    let block = match t.element() {
        ScalarType::Float32 => scan::one_by_one::<f32>(direction),
        ScalarType::Float64 => scan::one_by_one::<f64>(direction),
        _ => return Some(Kernel::General(whole)),
    };
    Some(match is_last(t, axes) {
        true => Kernel::Scan(ScanKernel { whole, block, direction }),
        false => Kernel::General(whole),
    })
}

fn is_last(t: NdType, axes: Axes) -> bool {
    axes.iter().eq([t.rank() - 1])
}

fn cumsum_in_groups(t: NdType, axes: Axes, direction: Direction) -> Option<Kernel> {
    match t.element() {
        _ if !is_last(t, axes) => None,
        ScalarType::Float32 => Some(in_groups::<f32>(t, direction)),
        ScalarType::Float64 => Some(in_groups::<f64>(t, direction)),
        _ => None,
    }
}

fn in_groups<R: NdCell + bytemuck::Pod + Summand>(t: NdType, direction: Direction) -> Kernel {
    let whole = GeneralKernel::new(move |call| {
        let view = call.nd(0);
        let meter = call.meter();
        let cells: &mut [R] = bytemuck::cast_slice_mut(call.nd_out(t, view.shape())?);
        widened(&view, cells, |x: R| x, meter)?;
        let size = view.shape().last().copied().unwrap_or(1);
        scan::sum_in_groups(cells, size, direction, meter)
    });
    Kernel::Scan(ScanKernel { whole, block: scan::in_groups::<R>(direction), direction })
}

/// Writes the elements in another type.
fn widened<T: NdCell, R: Copy>(
    view: &NdView<'_>,
    cells: &mut [R],
    widen: impl Fn(T) -> R,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let (values, mut walked) = (view.as_slice::<T>(), view.cells::<T>());
    for stride in meter.strides(cells.len()) {
        let stride = stride?;
        let cells = &mut cells[stride.clone()];
        match values {
            Some(values) => cells.iter_mut().zip(&values[stride]).for_each(|(cell, x)| *cell = widen(*x)),
            None => cells.iter_mut().zip(&mut walked).for_each(|(cell, x)| *cell = widen(x)),
        }
    }
    Ok(())
}

/// Writes the elements in the type of the sums, then adds each to the one after it, axis by axis. Rows of
/// neighbours are added up while they are in the first-level cache.
fn running<T: NdCell, R: NdCell + bytemuck::Pod>(
    call: &mut KernelCall<'_>,
    view: &NdView<'_>,
    result: NdType,
    axes: Axes,
    direction: Direction,
    widen: impl Fn(T) -> R,
    add: impl Fn(R, R) -> R,
) -> Result<(), Fault> {
    let (shape, meter): (PerAxis, _) = (view.shape().iter().copied().collect(), call.meter());
    let inner = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let cells: &mut [R] = bytemuck::cast_slice_mut(call.nd_out(result, &shape)?);
    let values = view.as_slice::<T>();
    let rows = axes.iter().next().filter(|axis| axes.len() == 1 && inner(*axis) == 1);
    let rows = rows.filter(|axis| shape[*axis] <= STRIDE);
    if let (Some(values), Some(axis)) = (values, rows) {
        let size = shape[axis].max(1);
        let mut since_poll = 0;
        for (cells, values) in cells.chunks_mut(size * ROWS).zip(values.chunks(size * ROWS)) {
            since_poll += values.len();
            if since_poll >= STRIDE {
                meter.poll()?;
                since_poll = 0;
            }
            cells.iter_mut().zip(values).for_each(|(cell, x)| *cell = widen(*x));
            running_rows(cells, size, direction, &add);
        }
        return Ok(());
    }
    widened(view, cells, widen, meter)?;
    for axis in axes.iter() {
        match (inner(axis), shape[axis].max(1)) {
            (1, size) if size > STRIDE => {
                cells.chunks_exact_mut(size).try_for_each(|row| running_long(row, direction, &add, meter))?;
            }
            (1, size) => {
                for cells in cells.chunks_mut(size * ROWS * STRIDE.div_ceil(size * ROWS)) {
                    meter.poll()?;
                    running_rows(cells, size, direction, &add);
                }
            }
            (inner, size) => running_planes(cells, size, inner, direction, &add, meter)?,
        }
    }
    Ok(())
}

/// Running sums along a long row.
fn running_long<R: Copy>(
    row: &mut [R],
    direction: Direction,
    add: impl Fn(R, R) -> R,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let last = row.len() - 1;
    for stride in meter.strides(last) {
        for step in stride? {
            let (from, to) = match direction {
                Direction::Forward => (step, step + 1),
                Direction::Back => (last - step, last - step - 1),
            };
            row[to] = add(row[from], row[to]);
        }
    }
    Ok(())
}

/// Rows in one pass: each waits for its last sum, but not for the other rows.
const ROWS: usize = 8;

/// Running sums along rows of elements that lie side by side.
fn running_rows<R: Copy>(cells: &mut [R], size: usize, direction: Direction, add: impl Fn(R, R) -> R) {
    let mut blocks = cells.chunks_exact_mut(size * ROWS);
    for block in &mut blocks {
        let mut rows = block.chunks_exact_mut(size);
        running_side_by_side::<ROWS, R>(
            std::array::from_fn(|_| rows.next().expect("a block has its rows")),
            direction,
            &add,
        );
    }
    for row in blocks.into_remainder().chunks_exact_mut(size) {
        running_side_by_side([row], direction, &add);
    }
}

/// Running sums along rows of one size, which is not 0.
fn running_side_by_side<const N: usize, R: Copy>(
    mut rows: [&mut [R]; N],
    direction: Direction,
    add: impl Fn(R, R) -> R,
) {
    let last = rows[0].len() - 1;
    let place = |step: usize| match direction {
        Direction::Forward => step,
        Direction::Back => last - step,
    };
    let mut sums: [R; N] = rows.each_ref().map(|row| row[place(0)]);
    for step in 1..=last {
        let at = place(step);
        for (row, sum) in rows.iter_mut().zip(&mut sums) {
            *sum = add(*sum, row[at]);
            row[at] = *sum;
        }
    }
}

/// Running sums of planes: whole planes are added to the next ones.
fn running_planes<R: Copy>(
    cells: &mut [R],
    size: usize,
    inner: usize,
    direction: Direction,
    add: impl Fn(R, R) -> R,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let mut since_poll = 0;
    for block in cells.chunks_exact_mut((size * inner).max(1)) {
        for step in 1..size {
            let (from, to) = match direction {
                Direction::Forward => (step - 1, step),
                Direction::Back => (size - step, size - step - 1),
            };
            for start in (0..inner).step_by(STRIDE) {
                let end = inner.min(start + STRIDE);
                since_poll += end - start;
                if since_poll >= STRIDE {
                    meter.poll()?;
                    since_poll = 0;
                }
                for place in start..end {
                    block[to * inner + place] = add(block[from * inner + place], block[to * inner + place]);
                }
            }
        }
    }
    Ok(())
}

/// The single axis of a list.
fn only(axes: &Axes) -> Option<usize> {
    axes.iter().next().filter(|_| axes.len() == 1)
}

/// The axes of `x`, with those of the indices in the place of the one taken from.
fn take(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(x), indices, QType::Axes(axis)] = args else { return None };
    let axis = only(axis).filter(|axis| *axis < x.rank())?;
    let indexed: Vec<bool> = match indices {
        QType::NdArray(t) if t.element() == ScalarType::Int64 => t.units().collect(),
        QType::Scalar(ScalarType::Int64) => Vec::new(),
        _ => return None,
    };
    let mut units: Vec<bool> = x.units().collect();
    units.splice(axis..=axis, indexed);
    let result = match units.is_empty() {
        true => QType::Scalar(x.element()),
        false => QType::NdArray(NdType::of_axes(x.element(), units)?),
    };
    Some(family.make_general(args, result, move |call| take_along(call, axis)))
}

/// The position that an index means, which may count from the end; one outside if there is none.
#[inline(always)]
fn position(index: i64, size: usize) -> usize {
    let from_end = if index < 0 { size as i64 } else { 0 };
    index.wrapping_add(from_end) as usize
}

/// An error for the first index that means no position.
fn check_indices(indices: &[i64], axis: usize, size: usize, meter: &Meter<'_>) -> Result<(), Fault> {
    let is_wrong = |index: &i64| position(*index, size) >= size;
    for stride in meter.strides(indices.len()) {
        let indices = &indices[stride?];
        // Without a way out of the loop, it is one over vectors.
        if indices.iter().fold(false, |one_is, index| one_is | is_wrong(index)) {
            let wrong = indices.iter().find(|index| is_wrong(index)).expect("one of them is wrong");
            let message = format!("index {wrong} is out of range for axis {axis} of size {size}");
            return Err(Fault::Range { message });
        }
    }
    Ok(())
}

fn take_along(call: &mut KernelCall<'_>, axis: usize) -> Result<(), Fault> {
    let (x, indices, meter) = (call.nd(0), call.nd(1), call.meter());
    let kept;
    let places = match indices.as_slice::<i64>() {
        Some(places) => places,
        None => {
            kept = meter.collect(indices.cells::<i64>())?;
            &kept
        }
    };
    let size = x.shape()[axis];
    check_indices(places, axis, size, meter)?;
    let QType::NdArray(result) = *call.result_type() else {
        let value =
            places.iter().map(|index| x.narrowed(0, position(*index, size)..position(*index, size) + 1));
        let value = value.map(|one| one.scalars().next()).next().flatten();
        call.set_value(&crate::value::Value::Scalar(value.expect("one index of one axis")));
        return Ok(());
    };
    let (before, behind) = (&x.shape()[..axis], &x.shape()[axis + 1..]);
    let shape: PerAxis = before.iter().chain(indices.shape()).chain(behind).copied().collect();
    check_count(&shape)?;
    let inner: usize = behind.iter().product();
    let target = call.nd_out(result, &shape)?;
    let bytes = cell_size(x.element());
    if target.is_empty() {
        return Ok(());
    }
    if x.is_contiguous() && inner <= STRIDE {
        let from = &x.bytes()[x.start()..][..x.len() * bytes];
        return match bytes {
            1 => take_cells::<1>(from, (size, inner), places, target, meter),
            2 => take_cells::<2>(from, (size, inner), places, target, meter),
            4 => take_cells::<4>(from, (size, inner), places, target, meter),
            _ => take_cells::<8>(from, (size, inner), places, target, meter),
        };
    }
    let (outer, rest) = (x.select_axes(0..axis), x.select_axes(axis + 1..x.rank()));
    let starts = outer.offsets().flat_map(|at| {
        let along = |index: &i64| position(*index, size) as isize * x.strides()[axis];
        places.iter().map(move |index| (at as isize + along(index)) as usize)
    });
    let mut since_poll = STRIDE;
    for (target, at) in target.chunks_exact_mut(inner * bytes).zip(starts) {
        copy_elements_since(&mut since_poll, &rest.at(at), target, meter)?;
    }
    Ok(())
}

/// Takes cells that stand one after the other: `size` positions of `inner` cells each, again and again.
fn take_cells<const SIZE: usize>(
    from: &[u8],
    (size, inner): (usize, usize),
    indices: &[i64],
    target: &mut [u8],
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    /// More cells are copied by a call.
    const FEW: usize = 8;
    let (from, to) = (from.as_chunks::<SIZE>().0, target.as_chunks_mut::<SIZE>().0);
    // So many indices between polls that a stride of cells is copied.
    let together = STRIDE.div_ceil(inner);
    let mut since_poll = STRIDE;
    for (from, to) in from.chunks_exact(size * inner).zip(to.chunks_exact_mut(indices.len() * inner)) {
        for (indices, to) in indices.chunks(together).zip(to.chunks_mut(together * inner)) {
            since_poll += to.len();
            if since_poll >= STRIDE {
                since_poll = 0;
                meter.poll()?;
            }
            if inner == 1 {
                to.iter_mut().zip(indices).for_each(|(to, index)| *to = from[position(*index, size)]);
                continue;
            }
            for (to, index) in to.chunks_exact_mut(inner).zip(indices) {
                let from = &from[position(*index, size) * inner..][..inner];
                match inner <= FEW {
                    true => to.iter_mut().zip(from).for_each(|(to, cell)| *to = *cell),
                    false => to.copy_from_slice(from),
                }
            }
        }
    }
    Ok(())
}

/// Other axes must have one size; the axis itself is dynamic.
fn concatenate(family: &Family, args: &[QType]) -> Option<Overload> {
    let (QType::Axes(axis), arrays) = args.split_first()? else { return None };
    let arrays: Vec<NdType> = arrays.iter().map(QType::nd).collect::<Option<_>>()?;
    let first = *arrays.first()?;
    let axis = only(axis).filter(|axis| *axis < first.rank())?;
    let alike = |t: &NdType| (t.element(), t.rank()) == (first.element(), first.rank());
    let unit = |other: usize| other != axis && arrays.iter().any(|t| t.is_unit(other));
    let result = NdType::of_axes(first.element(), (0..first.rank()).map(unit))?;
    arrays
        .iter()
        .all(alike)
        .then(|| family.make_general(args, QType::NdArray(result), move |call| join(call, axis, result)))
}

fn join(call: &mut KernelCall<'_>, axis: usize, result: NdType) -> Result<(), Fault> {
    let views = || (1..call.len()).map(|index| call.nd(index));
    let mut shape: PerAxis = call.nd(1).shape().iter().copied().collect();
    for other in (0..shape.len()).filter(|other| *other != axis) {
        if views().any(|view| view.shape()[other] != shape[other]) {
            let sizes = |view: NdView<'_>| view.shape().iter().map(|size| *size as u64).collect();
            return Err(Fault::Shapes { shapes: views().map(sizes).collect(), axis: other as u64 });
        }
    }
    shape[axis] = views().map(|view| view.shape()[axis]).sum();
    check_count(&shape)?;
    let count = call.len();
    let arena = call.arena();
    let views = arena.alloc_slice_fill_iter((1..count).map(|index| call.nd(index)));
    let size = cell_size(result.element());
    let inner: usize = shape[axis + 1..].iter().product();
    let whole = shape[axis] * inner * size;
    let meter = call.meter();
    let target = call.nd_out(result, &shape)?;
    let (mut before, mut since_poll) = (0, STRIDE);
    for view in views.iter() {
        let part = view.shape()[axis] * inner * size;
        let (outer, rest) = (view.select_axes(0..axis), view.select_axes(axis..view.rank()));
        if part > 0 && part <= STRIDE * size && view.is_contiguous() {
            let parts = view.bytes()[view.start()..].chunks_exact(part);
            for (block, from) in target.chunks_exact_mut(whole).zip(parts) {
                since_poll += part / size;
                if since_poll >= STRIDE {
                    since_poll = 0;
                    meter.poll()?;
                }
                block[before..before + part].copy_from_slice(from);
            }
        } else if part > 0 {
            for (block, at) in target.chunks_exact_mut(whole).zip(outer.offsets()) {
                copy_elements_since(&mut since_poll, &rest.at(at), &mut block[before..before + part], meter)?;
            }
        }
        before += part;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_summed_alike_together_and_alone() {
        for (rows, size) in [(1, 5), (7, 1), (8, 3), (19, 4), (3, 0)] {
            let cells: Vec<f64> = (0..rows * size).map(|i| 0.1 + f64::from(i as u32) / 3.0).collect();
            let mut forward = cells.clone();
            running_rows(&mut forward, size.max(1), Direction::Forward, f64::add);
            let mut back = cells.clone();
            running_rows(&mut back, size.max(1), Direction::Back, f64::add);
            for (row, values) in cells.chunks_exact(size.max(1)).enumerate() {
                let sums = values.iter().scan(0.0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                });
                assert!(sums.eq(forward[row * size..][..size].iter().copied()), "{rows} rows of {size}");
                let total: f64 = values.iter().rev().sum();
                assert_eq!(back[row * size], total, "{rows} rows of {size}");
            }
        }
    }
}
