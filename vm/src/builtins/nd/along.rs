//! Along axes: elements taken by their places, arrays put one after the other.

use crate::array::meter::{Meter, STRIDE};
use crate::operator::copy::copy_elements_since;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::array::cell_size;
use crate::value::broadcast::check_count;
use crate::value::shape::PerAxis;
use crate::value::{Axes, Fault, NdType, NdView, QType, ScalarType};

/// Name of `nd._take`.
pub const TAKE: &str = "nd._take";
/// Name of `nd._concatenate`.
pub const CONCATENATE: &str = "nd._concatenate";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
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

/// The single axis of a list.
pub(super) fn only(axes: &Axes) -> Option<usize> {
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

/// An error for the first index that means no position; true if some count from the end.
fn check_indices(indices: &[i64], axis: usize, size: usize, meter: &Meter<'_>) -> Result<bool, Fault> {
    let mut signs = 0;
    let is_wrong = |index: &i64| position(*index, size) >= size;
    for stride in meter.strides(indices.len()) {
        let indices = &indices[stride?];
        // Without a way out of the loops, they are ones over vectors.
        signs |= indices.iter().fold(0, |signs, index| signs | index);
        if indices.iter().fold(false, |one_is, index| one_is | is_wrong(index)) {
            let wrong = indices.iter().find(|index| is_wrong(index)).expect("one of them is wrong");
            let message = format!("index {wrong} is out of range for axis {axis} of size {size}");
            return Err(Fault::Range { message });
        }
    }
    Ok(signs < 0)
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
    let count_from_end = check_indices(places, axis, size, meter)?;
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
        // Whether indices count from the end is asked once, not for each cell.
        return match count_from_end {
            false => {
                take_in_order(from, (size, inner), places, (target, bytes), meter, |index| index as usize)
            }
            true => take_in_order(from, (size, inner), places, (target, bytes), meter, |index| {
                position(index, size)
            }),
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

/// Takes cells of so many bytes that stand one after the other: `size` positions of `inner` cells each, again and again.
/// `position` is what an index means.
fn take_in_order(
    from: &[u8],
    sizes: (usize, usize),
    indices: &[i64],
    (target, bytes): (&mut [u8], usize),
    meter: &Meter<'_>,
    position: impl Fn(i64) -> usize + Copy,
) -> Result<(), Fault> {
    match bytes {
        1 => take_cells::<1>(from, sizes, indices, target, meter, position),
        2 => take_cells::<2>(from, sizes, indices, target, meter, position),
        4 => take_cells::<4>(from, sizes, indices, target, meter, position),
        _ => take_cells::<8>(from, sizes, indices, target, meter, position),
    }
}

/// The same of a number of bytes that is known.
fn take_cells<const SIZE: usize>(
    from: &[u8],
    (size, inner): (usize, usize),
    indices: &[i64],
    target: &mut [u8],
    meter: &Meter<'_>,
    position: impl Fn(i64) -> usize,
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
                to.iter_mut().zip(indices).for_each(|(to, index)| *to = from[position(*index)]);
                continue;
            }
            for (to, index) in to.chunks_exact_mut(inner).zip(indices) {
                let from = &from[position(*index) * inner..][..inner];
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
