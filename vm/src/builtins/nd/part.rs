//! Parts: elements at places of each axis that are known at run time, read and written where they stand.
//!
//! ```text
//! nd._part(m, [0], 1, 2, 1, 3)         m[1:3, 3]              axis 0: from 1 on, 2 elements, each the next; axis 1: at 3
//! nd._assign(m, x, [0], 1, 2, 1, 3)    m[1:3, 3] = x
//! nd._stretch(x, 5)                    x, or its only element five times
//! nd._sum_in_order(m, [0], 0, 4, 1, 3) m[0, 3] + m[1, 3] + …   one after the other
//! ```
//!
//! For each axis of the array there are three numbers if it is kept: the first place, how many, and the distance; and the place
//! otherwise, from the end if it is negative.

use crate::builtins::nd::shape::viewing;
use crate::operator::operand_view::MOST_NUMBERS;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::broadcast::check_count;
use crate::value::qtype::{FLOAT64, INT64};
use crate::value::shape::PerAxis;
use crate::value::{Axes, Fault, NdType, QType, ScalarType};

/// Name of `nd._part`.
pub const PART: &str = "nd._part";
/// Name of `nd._stretch`.
pub const STRETCH: &str = "nd._stretch";
/// Name of `nd._sum_in_order`.
pub const SUM_IN_ORDER: &str = "nd._sum_in_order";
/// Name of `nd._assign`.
pub const ASSIGN: &str = "nd._assign";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            PART,
            &["x", "kept", "*places"],
            "The elements at places of each axis: of one that is kept the first, how many, and the distance; else the index.",
        )
        .cost_of(5)
        .raises()
        .narrow()
        .on_demand(part),
        Family::new(
            STRETCH,
            &["x", "*sizes"],
            "The elements of an array of these sizes; along an axis of one element that is repeated. Raises if others differ.",
        )
        .cost_of(5)
        .raises()
        .on_demand(stretch),
        Family::new(
            SUM_IN_ORDER,
            &["x", "kept", "*places"],
            "0.0 and the FLOAT64 elements at places of each axis, as nd._part has them, added one after the other.",
        )
        .cost_of(10)
        .raises()
        .on_demand(sum_in_order),
        Family::new(
            ASSIGN,
            &["array", "x", "kept", "*places"],
            "The array itself, with the elements of x, stretched, at places of each axis, as nd._part has them.",
        )
        .cost_of(10)
        .updating()
        .narrow()
        .on_demand(assign),
    ]
}

/// True if there is a number for each that the places of an array take.
fn are_places(array: NdType, kept: Axes, places: &[QType]) -> bool {
    let numbers: usize = (0..array.rank()).map(|axis| if kept.contains(axis) { 3 } else { 1 }).sum();
    let is_ascending = kept.iter().zip(kept.iter().skip(1)).all(|(axis, next)| axis < next);
    is_ascending
        && kept.iter().all(|axis| axis < array.rank())
        && places.len() == numbers
        && places.iter().all(|place| *place == INT64)
}

fn part(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array), QType::Axes(kept), places @ ..] = args else { return None };
    let (array, kept) = (*array, *kept);
    let result = NdType::new(array.element(), kept.len(), 0)?;
    let fits = are_places(array, kept, places) && !kept.is_empty();
    fits.then(|| viewing(family, args, QType::NdArray(result), move |view, numbers| view.part(kept, numbers)))
}

fn sum_in_order(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array), QType::Axes(kept), places @ ..] = args else { return None };
    let kept = *kept;
    (array.element() == ScalarType::Float64 && are_places(*array, kept, places)).then(|| {
        family.make_general(args, FLOAT64, move |call: &mut KernelCall<'_>| {
            let (view, meter) = (call.nd(0), call.meter());
            let view = view.part(kept, &numbers(call, 2))?;
            call.charge_rows(view.len())?;
            let mut sum = 0.0;
            match view.as_slice::<f64>() {
                Some(elements) => {
                    for stride in meter.strides(elements.len()) {
                        sum = elements[stride?].iter().fold(sum, |sum, element| sum + element);
                    }
                }
                None => {
                    let mut elements = view.cells::<f64>();
                    for stride in meter.strides(elements.len()) {
                        sum = elements.by_ref().take(stride?.len()).fold(sum, |sum, element| sum + element);
                    }
                }
            }
            call.set_plain(sum);
            Ok(())
        })
    })
}

/// The INT64 operands from one on.
fn numbers(call: &KernelCall<'_>, first: usize) -> [i64; MOST_NUMBERS] {
    let mut numbers = [0; MOST_NUMBERS];
    numbers.iter_mut().zip(first..call.len()).for_each(|(number, at)| *number = call.plain(at));
    numbers
}

fn stretch(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array), sizes @ ..] = args else { return None };
    let fits = sizes.len() == array.rank()
        && sizes.iter().all(|size| *size == INT64)
        && !(0..array.rank()).any(|axis| array.is_unit(axis));
    fits.then(|| {
        viewing(family, args, QType::NdArray(*array), |view, sizes| {
            let differ = || Fault::Domain { message: "operands could not be broadcast together".into() };
            let size = |size: &i64| usize::try_from(*size).map_err(|_| differ());
            let shape = sizes.iter().map(size).collect::<Result<PerAxis, Fault>>()?;
            check_count(&shape)?;
            view.broadcast_to(&shape).ok_or_else(differ)
        })
    })
}

fn assign(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array), x, QType::Axes(kept), places @ ..] = args else { return None };
    let kept = *kept;
    let fits_kept = match x {
        QType::NdArray(x) => x.element() == array.element() && x.rank() <= kept.len(),
        x => *x == QType::Scalar(array.element()) && !array.element().is_narrow(),
    };
    (fits_kept && are_places(*array, kept, places)).then(|| {
        family.make_general(args, QType::NdArray(*array), move |call: &mut KernelCall<'_>| {
            run_assign(call, kept)
        })
    })
}

/// Writes the elements of the second argument to places of the result, which is the first one.
fn run_assign(call: &mut KernelCall<'_>, kept: Axes) -> Result<(), Fault> {
    let numbers = numbers(call, 3);
    let (source, meter) = (call.nd(1), call.meter());
    let mut place = call.elements_to_change()?;
    place.narrow(kept, &numbers)?;
    let source = source.broadcast_to(place.shape()).ok_or_else(|| Fault::Domain {
        message: "could not broadcast input array into the shape of its place".into(),
    })?;
    meter.rows(source.len())?;
    place.write(&source, meter)?;
    call.keep_result();
    Ok(())
}
