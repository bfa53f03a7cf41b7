//! Shapes: axes added, dropped and exchanged, other shapes of the same elements, conversions.

use crate::builtins::nd::reduce::without_axes;
use crate::builtins::recipes;
use crate::operator::copy::copy_elements;
use crate::operator::facts::Linear;
use crate::operator::operand_view::{ElementsOf, MOST_NUMBERS, OperandView};
use crate::operator::{Family, KernelCall, Overload};
use crate::value::array::cell_size;
use crate::value::broadcast::{SizesDiffer, check_count, common_sizes, shapes_differ};
use crate::value::nd_type::MAX_RANK;
use crate::value::qtype::INT64;
use crate::value::shape::PerAxis;
use crate::value::{ArrayClass, ArrayType, Axes, Fault, NdType, NdView, QType, ScalarType, Value};
use std::sync::Arc;

/// Name of `nd._broadcast_to`.
pub const BROADCAST_TO: &str = "nd._broadcast_to";
/// Name of `nd.shape`.
pub const SHAPE: &str = "nd.shape";
/// Name of `nd._size`.
pub const SIZE: &str = "nd._size";
/// Name of `nd.to_dense_array`.
pub const TO_DENSE_ARRAY: &str = "nd.to_dense_array";
/// Name of `array.to_nd`.
pub const TO_ND: &str = "array.to_nd";
/// Name of `nd._expand_dims`.
pub const EXPAND_DIMS: &str = "nd._expand_dims";
/// Name of `nd._reshape`.
pub const RESHAPE: &str = "nd._reshape";
/// Name of `nd._squeeze`.
pub const SQUEEZE: &str = "nd._squeeze";
/// Name of `nd.where`.
pub const WHERE: &str = "nd.where";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            WHERE,
            &["condition", "x", "y"],
            "x where the condition is true, else y; what is not chosen does not raise.",
        )
        .cells(recipes::chosen)
        .linear(Linear::In(&[1, 2]))
        .exact_ternary(|condition: bool, x: bool, y: bool| if condition { x } else { y })
        .exact_ternary(|condition: bool, x: i32, y: i32| if condition { x } else { y })
        .exact_ternary(|condition: bool, x: i64, y: i64| if condition { x } else { y })
        .exact_ternary(|condition: bool, x: f32, y: f32| if condition { x } else { y })
        .exact_ternary(|condition: bool, x: f64, y: f64| if condition { x } else { y }),
        Family::new(
            EXPAND_DIMS,
            &["x", "axes"],
            "The elements with unit axes at these places of the result.",
        )
        .cost_of(5)
        .on_demand(expand_dims),
        Family::new(SQUEEZE, &["x", "axes"], "The elements without these axes, which must have the size 1.")
            .cost_of(5)
            .raises()
            .on_demand(squeeze),
        Family::new("nd._transpose", &["x", "axes"], "The elements under the axes in this order.")
            .cost_of(10)
            .on_demand(transpose),
        Family::new(
            BROADCAST_TO,
            &["x", "units", "*sizes"],
            "The elements repeated along axes that are new or unit axes, up to these sizes.",
        )
        .cost_of(10)
        .raises()
        .on_demand(|family, args| keeps_axes(args).then(|| resized(family, args, broadcast)).flatten()),
        Family::new(
            RESHAPE,
            &["x", "units", "*sizes"],
            "The elements in their order under axes of these sizes, of which one may be -1.",
        )
        .cost_of(5)
        .raises()
        .on_demand(|family, args| resized(family, args, reshape)),
        Family::new(SHAPE, &["x"], "The size of each axis.").on_demand(shape),
        Family::new(SIZE, &["x", "axes"], "Number of elements along these axes.").on_demand(size),
        Family::new(
            TO_ND,
            &["x"],
            "The rows as an array of one axis without missing values. Raises if a row is missing.",
        )
        .cost_of(5)
        .raises()
        .on_demand(to_nd),
        Family::new(TO_DENSE_ARRAY, &["x"], "The elements of an array of one axis as present rows.")
            .cost_of(5)
            .on_demand(to_dense_array),
    ]
}

fn axes_of(args: &[QType]) -> Option<(NdType, Axes)> {
    match args {
        [QType::NdArray(t), QType::Axes(axes)] => Some((*t, *axes)),
        _ => None,
    }
}

/// Writes the elements of a view under a shape; a result without axes is a scalar.
fn write(call: &mut KernelCall<'_>, view: &NdView<'_>, shape: &[usize]) -> Result<(), Fault> {
    match *call.result_type() {
        QType::NdArray(result) => {
            let meter = call.meter();
            copy_elements(view, call.nd_out(result, shape)?, meter)
        }
        _ => {
            call.set_value(&Value::Scalar(view.scalars().next().expect("there is one element")));
            Ok(())
        }
    }
}

/// An overload whose result is a view of its only array; the result may be a scalar.
pub(super) fn viewing(
    family: &Family,
    args: &[QType],
    result: QType,
    view: impl for<'v> Fn(&NdView<'v>, &[i64]) -> Result<NdView<'v>, Fault> + Send + Sync + 'static,
) -> Overload {
    let view: Arc<ElementsOf> = Arc::new(view);
    let (run, is_array) = (Arc::clone(&view), result.nd().is_some());
    let is_number = args.iter().map(|arg| *arg == INT64);
    let places: Vec<usize> = is_number.enumerate().filter_map(|(at, is)| is.then_some(at)).collect();
    let overload = family.make_general(args, result, move |call| {
        let mut numbers = [0; MOST_NUMBERS];
        numbers.iter_mut().zip(&places).for_each(|(number, at)| *number = call.plain(*at));
        let view = run(&call.nd(0), &numbers[..places.len()])?;
        write(call, &view, view.shape())
    });
    if is_array { overload.viewing(OperandView::Elements(view)) } else { overload }
}

fn expand_dims(family: &Family, args: &[QType]) -> Option<Overload> {
    let (t, axes) = axes_of(args)?;
    let rank = t.rank() + axes.len();
    let mut old = t.units();
    let units: Option<Vec<bool>> =
        (0..rank).map(|axis| if axes.contains(axis) { Some(true) } else { old.next() }).collect();
    let result = NdType::of_axes(t.element(), units?)?;
    Some(viewing(family, args, QType::NdArray(result), move |view, _| {
        Ok(view.with_unit_axes(|axis| axes.contains(axis)))
    }))
}

fn squeeze(family: &Family, args: &[QType]) -> Option<Overload> {
    let (t, axes) = axes_of(args)?;
    let result = without_axes(t, axes, t.element()).filter(|_| axes.iter().all(|axis| axis < t.rank()))?;
    Some(viewing(family, args, result, move |view, _| {
        if let Some(axis) = axes.iter().find(|axis| view.shape()[*axis] != 1) {
            let message = format!("axis {axis} has the size {}, not 1", view.shape()[axis]);
            return Err(Fault::Range { message });
        }
        Ok(view.select_axes((0..view.rank()).filter(|axis| !axes.contains(*axis))))
    }))
}

fn transpose(family: &Family, args: &[QType]) -> Option<Overload> {
    let (t, axes) = axes_of(args)?;
    (axes.len() == t.rank() && axes.iter().all(|axis| axis < t.rank())).then_some(())?;
    let result = NdType::of_axes(t.element(), axes.iter().map(|axis| t.is_unit(axis)))?;
    // Copied by tiles, once, where a region would collect the elements one by one.
    Some(family.make_general(args, QType::NdArray(result), move |call| {
        let view = call.nd(0).select_axes(axes.iter());
        write(call, &view, view.shape())
    }))
}

/// An operator of an array or a scalar, the unit axes of the result, and a size for each axis.
fn resized(
    family: &Family,
    args: &[QType],
    run: fn(&mut KernelCall<'_>, &NdView<'_>, &[i64]) -> Result<(), Fault>,
) -> Option<Overload> {
    let [x, QType::Axes(units), sizes @ ..] = args else { return None };
    let element = match x {
        QType::NdArray(t) => t.element(),
        QType::Scalar(element) => *element,
        _ => return None,
    };
    let fits = sizes.iter().all(|size| *size == INT64) && units.iter().all(|axis| axis < sizes.len());
    let result =
        NdType::of_axes(element, (0..sizes.len()).map(|axis| units.contains(axis))).filter(|_| fits)?;
    Some(family.make_general(args, QType::NdArray(result), move |call| {
        let (view, mut sizes) = (call.nd(0), [0; MAX_RANK]);
        for (axis, size) in sizes[..result.rank()].iter_mut().enumerate() {
            *size = call.plain::<i64>(2 + axis);
            if result.is_unit(axis) && *size != 1 {
                return Err(refuse_size(*size));
            }
        }
        run(call, &view, &sizes[..result.rank()])
    }))
}

/// True if there is a size for every axis of the array, and perhaps for more.
fn keeps_axes(args: &[QType]) -> bool {
    let rank = args.first().and_then(QType::nd).map_or(0, |t| t.rank());
    args.len() >= rank + 2
}

fn refuse_size(size: i64) -> Fault {
    Fault::Range { message: format!("an axis cannot have the size {size}") }
}

fn broadcast(call: &mut KernelCall<'_>, view: &NdView<'_>, sizes: &[i64]) -> Result<(), Fault> {
    let size = |size: &i64| usize::try_from(*size).map_err(|_| refuse_size(*size));
    let shape = sizes.iter().map(size).collect::<Result<PerAxis, Fault>>()?;
    check_count(&shape)?;
    // Only a unit axis repeats; a dynamic one must have the size already.
    let arrays = [(view.shape(), call.qtype(0).nd()), (&*shape, None)];
    let with_units = arrays.map(|(shape, t)| (shape, move |axis| t.is_some_and(|t| t.is_unit(axis))));
    let mut sizes = shape;
    if let Err(SizesDiffer { axis, .. }) = common_sizes(with_units.iter().copied(), &mut sizes) {
        return Err(shapes_differ(arrays.iter().map(|(shape, _)| *shape), axis));
    }
    let broadcast = view.broadcast_to(&shape).expect("all axes fit");
    write(call, &broadcast, &shape)
}

fn reshape(call: &mut KernelCall<'_>, view: &NdView<'_>, sizes: &[i64]) -> Result<(), Fault> {
    let known = sizes.iter().filter(|size| **size != -1);
    let known = known.map(|size| usize::try_from(*size).map_err(|_| refuse_size(*size)));
    let known = known.collect::<Result<PerAxis, Fault>>()?;
    let product = check_count(&known)?;
    let open = sizes.len() - known.len();
    let rest = view.len().checked_div(product).filter(|rest| rest * product == view.len());
    let fits = match open {
        0 => product == view.len(),
        1 => rest.is_some(),
        _ => false,
    };
    if !fits {
        let message = format!("{} elements cannot have the shape {sizes:?}", view.len());
        return Err(Fault::Range { message });
    }
    let size = |size: &i64| usize::try_from(*size).unwrap_or(rest.unwrap_or(0));
    let shape: PerAxis = sizes.iter().map(size).collect();
    write(call, view, &shape)
}

fn shape(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(_)] = args else { return None };
    let result = NdType::new(ScalarType::Int64, 1, 0)?;
    Some(family.make_general(args, QType::NdArray(result), move |call| {
        let view = call.nd(0);
        let cells = call.nd_out(result, &[view.rank()])?.chunks_exact_mut(size_of::<i64>());
        for (cell, size) in cells.zip(view.shape()) {
            cell.copy_from_slice(&(*size as i64).to_ne_bytes());
        }
        Ok(())
    }))
}

fn size(family: &Family, args: &[QType]) -> Option<Overload> {
    let (t, axes) = axes_of(args)?;
    axes.iter().all(|axis| axis < t.rank()).then(|| {
        family.make_general(args, INT64, move |call| {
            let view = call.nd(0);
            call.set_plain(axes.iter().map(|axis| view.shape()[axis] as i64).product::<i64>());
            Ok(())
        })
    })
}

fn to_nd(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    let (t, result) = (*t, NdType::new(t.element, 1, 0)?);
    Some(family.make_general(args, QType::NdArray(result), move |call| {
        let rows = call.array(0);
        if let Some(row) = (0..rows.len()).find(|row| !rows.is_present(*row)) {
            let fault = Box::new(Fault::MissingValue { operator: TO_ND });
            return Err(Fault::Row { row: row as u64, fault });
        }
        check_count(&[rows.len()])?;
        let bytes = &rows.bytes()[..rows.len() * cell_size(t.element)];
        let view = NdView::new(t.element, bytes, 0, &[rows.len()], &[cell_size(t.element) as isize]);
        write(call, &view.expect("rows stand in order"), &[rows.len()])
    }))
}

fn to_dense_array(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(t)] = args else { return None };
    let element = t.element();
    (t.rank() == 1).then(|| {
        let result = QType::Array(ArrayType { class: ArrayClass::Dense, element });
        family.make_general(args, result, move |call| {
            let view = call.nd(0);
            let meter = call.meter();
            let mut out = call.rows_out(element, view.len())?;
            copy_elements(&view, &mut out.cells_mut()[..view.len() * cell_size(element)], meter)
        })
    })
}
