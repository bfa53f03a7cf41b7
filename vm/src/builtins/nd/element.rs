//! Elements: one read or written where it stands, the sizes of axes, and arrays of one value.

use crate::operator::element::{getter, length_code, setter};
use crate::operator::{Family, Kernel, KernelCall, Overload};
use crate::value::broadcast::check_count;
use crate::value::nd_type::MAX_RANK;
use crate::value::qtype::INT64;
use crate::value::shape::PerAxis;
use crate::value::{Fault, NdType, QType, ScalarType};

/// Name of `nd.append`.
pub const APPEND: &str = "nd.append";
/// Name of `nd.remove_last`.
pub const REMOVE_LAST: &str = "nd.remove_last";
/// Name of `nd.sort`.
pub const SORT: &str = "nd.sort";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    [elements(), ScalarType::NARROW.map(full_of).to_vec()].concat()
}

fn elements() -> Vec<Family> {
    vec![
        Family::new(
            "nd.get",
            &["array", "*indices"],
            "The element at these indices, one for each axis; a negative one counts from the end. INT64 of a narrow element.",
        )
        .raises()
        .narrow()
        .on_demand(get),
        Family::new(
            "nd.set",
            &["array", "value", "*indices"],
            "The array itself, in which the value now stands at these indices; of a narrow element its low bits.",
        )
        .updating()
        .narrow()
        .on_demand(set),
        Family::new(
            APPEND,
            &["array", "value"],
            "The array itself, of one axis, with the value as one more element behind the others.",
        )
        .cost_of(4)
        .updating()
        .on_demand(append),
        Family::new(
            REMOVE_LAST,
            &["array"],
            "The array itself, of one axis, without its last element. Raises if it has none.",
        )
        .cost_of(4)
        .updating()
        .on_demand(remove_last),
        Family::new(
            SORT,
            &["array"],
            "The array itself, of one axis, with its elements in order: the least first, NaN last; what is equal stays in order.",
        )
        .cost_of(20)
        .updating()
        .on_demand(sort),
        Family::new(
            "nd.length",
            &["array", "axis"],
            "The size of an axis; a negative one counts from the last.",
        )
        .raises()
        .narrow()
        .on_demand(length),
        Family::new(
            "nd.full",
            &["value", "*sizes"],
            "An array of these sizes, each an INT64 such as `int64(3)`, in which every element is the value.",
        )
        .cost_of(10)
        .raises()
        .on_demand(full),
    ]
}

/// The row that makes arrays of a narrow element.
fn full_of(element: ScalarType) -> Family {
    let name = format!("nd.full_{}", element.name().to_ascii_lowercase());
    let meaning =
        format!("An array of these sizes in which every element is {element}, the low bits of the value.");
    Family::new(&name, &["value", "*sizes"], &meaning).cost_of(10).raises().narrow().on_demand(
        move |family, args| {
            let [value, sizes @ ..] = args else { return None };
            let result = NdType::new(element, sizes.len(), 0)?;
            let fits = args.iter().all(|arg| *arg == INT64) && *value == INT64;
            fits.then(|| family.make_general(args, QType::NdArray(result), move |call| fill(call, result)))
        },
    )
}

/// True if there is an INT64 for every axis.
fn has_axes(array: NdType, indices: &[QType]) -> bool {
    indices.len() == array.rank() && indices.iter().all(|index| *index == INT64)
}

fn get(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array), indices @ ..] = args else { return None };
    let code = getter(*array).filter(|_| has_axes(*array, indices))?;
    Some(family.make(args, QType::Scalar(array.element().of_value()), Kernel::Element(code)))
}

fn set(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array), value, indices @ ..] = args else { return None };
    let fits = *value == QType::Scalar(array.element().of_value()) && has_axes(*array, indices);
    let code = setter(*array).filter(|_| fits)?;
    Some(family.make(args, QType::NdArray(*array), Kernel::Element(code)))
}

fn append(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array), value] = args else { return None };
    let fits = *value == QType::Scalar(array.element()) && array.rank() == 1 && !array.is_unit(0);
    fits.then(|| family.make_general(args, QType::NdArray(*array), |call| call.append_element()))
}

fn remove_last(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array)] = args else { return None };
    let fits = array.rank() == 1 && !array.is_unit(0);
    fits.then(|| {
        family.make_general(args, QType::NdArray(*array), |call: &mut KernelCall<'_>| {
            call.remove_last_element()
        })
    })
}

fn sort(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(array)] = args else { return None };
    let is_ordered = matches!(array.element(), ScalarType::Float64 | ScalarType::Int64 | ScalarType::Boolean);
    let fits = array.rank() == 1 && !array.is_unit(0) && is_ordered;
    fits.then(|| {
        family.make_general(args, QType::NdArray(*array), |call: &mut KernelCall<'_>| call.sort_elements())
    })
}

fn length(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(_), axis] = args else { return None };
    (*axis == INT64).then(|| family.make(args, INT64, Kernel::Element(length_code())))
}

fn full(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Scalar(element), sizes @ ..] = args else { return None };
    let result = NdType::new(*element, sizes.len(), 0).filter(|_| !element.is_narrow())?;
    let fits = sizes.iter().all(|size| *size == INT64);
    fits.then(|| family.make_general(args, QType::NdArray(result), move |call| fill(call, result)))
}

/// Makes an array of the first argument; the others are its sizes.
fn fill(call: &mut KernelCall<'_>, result: NdType) -> Result<(), Fault> {
    let mut sizes = [0; MAX_RANK];
    for (axis, size) in sizes[..result.rank()].iter_mut().enumerate() {
        let asked = call.plain::<i64>(1 + axis);
        *size = usize::try_from(asked)
            .map_err(|_| Fault::Domain { message: "negative dimensions are not allowed".into() })?;
    }
    let shape: PerAxis = sizes[..result.rank()].iter().copied().collect();
    check_count(&shape)?;
    match result.element() {
        ScalarType::Boolean => fill_with(call, result, &shape, u8::from(call.plain::<bool>(0))),
        ScalarType::Int32 => fill_with(call, result, &shape, call.plain::<i32>(0)),
        ScalarType::Int64 => fill_with(call, result, &shape, call.plain::<i64>(0)),
        ScalarType::Float32 => fill_with(call, result, &shape, call.plain::<f32>(0)),
        ScalarType::Int8 => fill_with(call, result, &shape, call.plain::<i64>(0) as i8),
        ScalarType::Uint8 => fill_with(call, result, &shape, call.plain::<i64>(0) as u8),
        ScalarType::Int16 => fill_with(call, result, &shape, call.plain::<i64>(0) as i16),
        ScalarType::Uint16 => fill_with(call, result, &shape, call.plain::<i64>(0) as u16),
        ScalarType::Uint32 => fill_with(call, result, &shape, call.plain::<i64>(0) as u32),
        ScalarType::Uint64 => fill_with(call, result, &shape, call.plain::<i64>(0) as u64),
        _ => fill_with(call, result, &shape, call.plain::<f64>(0)),
    }
}

fn fill_with<T: bytemuck::Pod>(
    call: &mut KernelCall<'_>,
    qtype: NdType,
    shape: &[usize],
    value: T,
) -> Result<(), Fault> {
    let meter = call.meter();
    let cells: &mut [T] = bytemuck::cast_slice_mut(call.nd_out(qtype, shape)?);
    for part in meter.strides(cells.len()) {
        cells[part?].fill(value);
    }
    Ok(())
}
