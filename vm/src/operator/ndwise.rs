//! Pointwise operators on n-dimensional arrays: an overload of plain types, applied to each element.
//!
//! ```text
//! math.add(NDARRAY_FLOAT64_NN, NDARRAY_FLOAT64_1N)     is math.add(FLOAT64, FLOAT64) over all elements
//! ```

use crate::operator::block::RowFault;
use crate::operator::call::Call;
use crate::operator::nd_pointwise::{MAX_OPERANDS, NdPointwise, arguments, in_element};
use crate::operator::row_by_row::RowByRow;
use crate::operator::signature::{Kernel, Overload};
use crate::value::nd_type::ND_ELEMENTS;
use crate::value::{Fault, NdType, NdView, QType, ScalarType};

/// Argument types of the overload that is applied to the elements: arrays become their elements. `None` unless
/// there is an n-dimensional array, and all other arguments are scalars.
pub fn cell_types(args: &[QType]) -> Option<Vec<QType>> {
    args.iter().find(|qtype| qtype.nd().is_some())?;
    let cell = |qtype: &QType| match qtype {
        QType::NdArray(t) => Some(QType::Scalar(t.element())),
        QType::Scalar(_) => Some(qtype.clone()),
        _ => None,
    };
    args.iter().map(cell).collect()
}

/// The type of an array of this element that the arguments are broadcast to; `None` without arrays, or if there
/// are no arrays of the element.
pub fn broadcast_type(args: &[QType], element: ScalarType) -> Option<NdType> {
    let arrays = || args.iter().filter_map(QType::nd);
    let rank = arrays().map(NdType::rank).max()?;
    let unit = |axis: usize| {
        // The axis counted from the last one; an array that does not have it repeats.
        let back = rank - axis;
        arrays().filter(|t| t.rank() >= back).all(|t| t.is_unit(t.rank() - back))
    };
    NdType::of_axes(element, (0..rank).map(unit))
}

/// The overload on arrays, made of that on elements; `None` if one of its types is no element.
pub fn over_elements(args: &[QType], cells: &Overload) -> Option<Overload> {
    let element = |qtype: &QType| matches!(qtype, QType::Scalar(t) if ND_ELEMENTS.contains(t));
    if !cells.args().iter().chain([cells.result()]).all(element) || args.len() > MAX_OPERANDS {
        return None;
    }
    let result = broadcast_type(args, cells.result().scalar()?)?;
    let code = match cells.kernel() {
        Kernel::Scalar(kernel) => Kernel::NdPointwise(NdPointwise { kernel: kernel.block, result }),
        _ => {
            let kernel = RowByRow::new(cells)?;
            Kernel::general(move |call| apply_one_by_one(&kernel, result, call))
        }
    };
    Some(cells.over_arrays(args, QType::NdArray(result), code))
}

/// Applies a kernel that needs slots.
fn apply_one_by_one(kernel: &RowByRow, result: NdType, call: &mut Call<'_>) -> Result<(), Fault> {
    let (views, shape) = arguments(call, result.rank())?;
    let shape = &shape[..result.rank()];
    let repeated = views.iter().flatten().map(|view| view.broadcast_to(shape));
    let views: Option<Vec<NdView<'_>>> = repeated.collect();
    let views = views.expect("the shape is that of all arguments");
    let (arena, meter) = (call.arena(), call.meter());
    let outcome = kernel.run_elements(arena, meter, &views, call.nd_out(result, shape)?);
    outcome.map_err(|RowFault { row, fault }| in_element(row, shape, fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_axes_broadcast_by_type() {
        let of = |names: &[&str]| {
            let types: Vec<QType> = names.iter().map(|name| name.parse().expect("a type")).collect();
            broadcast_type(&types, ScalarType::Boolean).map(|t| t.to_string())
        };
        assert_eq!(
            of(&["NDARRAY_INT32_1N", "FLOAT64", "NDARRAY_INT32_N11"]).as_deref(),
            Some("NDARRAY_BOOLEAN_N1N")
        );
        assert_eq!(of(&["NDARRAY_INT32_11", "NDARRAY_INT32_1"]).as_deref(), Some("NDARRAY_BOOLEAN_11"));
        assert_eq!(of(&["INT32"]), None);
    }
}
