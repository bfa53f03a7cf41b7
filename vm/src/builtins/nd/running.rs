//! Running sums: along axes, each element becomes the sum up to it.

use crate::array::meter::{Meter, STRIDE};
use crate::array::scan::{self, Direction, ScanKernel, Summand};
use crate::builtins::nd::along::only;
use crate::builtins::nd::reduce::wide;
use crate::operator::general::GeneralKernel;
use crate::operator::{Family, Kernel, KernelCall};
use crate::value::nd_view::NdCell;
use crate::value::shape::PerAxis;
use crate::value::{Axes, Fault, NdType, NdView, QType, ScalarType};
use std::ops::{Add, Range};

/// Name of `nd._cumsum`.
pub const CUMSUM: &str = "nd._cumsum";
/// Name of `nd._cumsum_back`.
pub const CUMSUM_BACK: &str = "nd._cumsum_back";
/// Name of `nd._cumsum_in_groups`.
pub const CUMSUM_IN_GROUPS: &str = "nd._cumsum_in_groups";
/// Name of `nd._cumsum_in_groups_back`.
pub const CUMSUM_IN_GROUPS_BACK: &str = "nd._cumsum_in_groups_back";
/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        running_sum(CUMSUM, "up to this one", Direction::Forward, Additions::OneByOne),
        running_sum(CUMSUM_BACK, "from this one on", Direction::Back, Additions::OneByOne),
        running_sum(CUMSUM_IN_GROUPS, "up to this one", Direction::Forward, Additions::InGroups),
        running_sum(CUMSUM_IN_GROUPS_BACK, "from this one on", Direction::Back, Additions::InGroups),
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
        true => Kernel::Scan { whole, scan: ScanKernel::along_axis(block, direction) },
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
    Kernel::Scan { whole, scan: ScanKernel::along_axis(scan::in_groups::<R>(direction), direction) }
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
/// neighbours are added up while they are in the first-level cache. Not inlined: as one function, its five copies
/// take the compiler seconds.
#[inline(never)]
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
        let mut pace = meter.pace();
        for (cells, values) in cells.chunks_mut(size * ROWS).zip(values.chunks(size * ROWS)) {
            pace.over(values.len())?;
            cells.iter_mut().zip(values).for_each(|(cell, x)| *cell = widen(*x));
            running_rows(cells, size, direction, &add);
        }
        return Ok(());
    }
    if let (Some(values), Some(axis)) = (values, only(&axes).filter(|axis| inner(*axis) > 1)) {
        let fill = |range: Range<usize>, cells: &mut [R]| {
            cells.iter_mut().zip(&values[range]).for_each(|(cell, x)| *cell = widen(*x));
        };
        return running_planes(cells, (shape[axis], inner(axis)), direction, fill, &add, meter);
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
            (inner, size) => running_planes(cells, (size, inner), direction, |_, _| {}, &add, meter)?,
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

/// Running sums of planes: whole planes are added to the next ones. `fill` writes the elements of a range into cells that hold
/// none yet.
fn running_planes<R: Copy>(
    cells: &mut [R],
    (size, inner): (usize, usize),
    direction: Direction,
    fill: impl Fn(Range<usize>, &mut [R]),
    add: impl Fn(R, R) -> R,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let mut pace = meter.pace();
    // Some planes, if they are small: a plane costs more than its elements then.
    let most = (STRIDE / inner.max(1)).max(1);
    for (number, block) in cells.chunks_exact_mut((size * inner).max(1)).enumerate() {
        let first = number * size * inner;
        for start in (0..inner).step_by(STRIDE) {
            let count = STRIDE.min(inner - start);
            for step in (0..size).step_by(most) {
                let steps = step..size.min(step + most);
                pace.over(count * steps.len())?;
                let planes = match direction {
                    Direction::Forward => steps.clone(),
                    Direction::Back => size - steps.end..size - steps.start,
                };
                // Of several planes these are all elements.
                let filled = planes.start * inner + start..(planes.end - 1) * inner + start + count;
                fill(first + filled.start..first + filled.end, &mut block[filled]);
                for step in steps.start.max(1)..steps.end {
                    let (before, plane) = match direction {
                        Direction::Forward => (step - 1, step),
                        Direction::Back => (size - step, size - 1 - step),
                    };
                    let part = |plane: usize| plane * inner + start..plane * inner + start + count;
                    let parts = block.get_disjoint_mut([part(before), part(plane)]);
                    let [from, to] = parts.expect("two planes");
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = add(*from, *to));
                }
            }
        }
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
