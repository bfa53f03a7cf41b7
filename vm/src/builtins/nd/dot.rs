//! Sums over the pairs of elements of two arrays: inner product, squared distance.

use crate::array::fold_kernel::FoldKernel;
use crate::array::meter::{Meter, STRIDE, Scratch};
use crate::array::nd_pairs::{OfPair, Product, SquaredDifference, kernel, sum_of_pairs};
use crate::layout::PlainSlot;
use crate::operator::facts::{Facts, Linear};
use crate::operator::general::GeneralKernel;
use crate::operator::{Family, Kernel, KernelCall, Overload};
use crate::value::broadcast::common_shape;
use crate::value::nd_view::NdCell;
use crate::value::{Axes, Fault, NdView, QType, ScalarType};
use crate::vector::fold::Number;

/// Name of `nd.dot`.
pub const DOT: &str = "nd.dot";
/// Name of `nd.squared_distance`.
pub const SQUARED_DISTANCE: &str = "nd.squared_distance";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        of_pairs::<Product>(
            DOT,
            "Sum of the products of the elements of two arrays with the same axes; of integers as INT64. It is added up \
            in 32 running sums for each 65,536 elements, which takes less time than nd.sum and is less exact.",
        )
        .with_facts(Facts::pairs().with_linear(Linear::InEach).differential("nd.sum(d_x * y + d_y * x)")),
        of_pairs::<SquaredDifference>(
            SQUARED_DISTANCE,
            "Sum of the squares of the differences of the elements of two arrays with the same axes, added up as nd.dot.",
        )
        .with_facts(Facts::pairs().differential("half = nd.sum(d_x * (x - y) + d_y * (y - x))\nhalf + half")),
    ]
}

fn of_pairs<P: OfPair>(name: &str, meaning: &str) -> Family {
    Family::new(name, &["x", "y"], meaning).cost_of(10).raises().on_demand(overload::<P>)
}

fn overload<P: OfPair>(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::NdArray(t), QType::NdArray(other)] = args else { return None };
    let axes = Axes::new(0..t.rank()).filter(|_| t == other)?;
    let (result, run, fold): (ScalarType, Run, FoldKernel) = match t.element() {
        ScalarType::Int32 => (ScalarType::Int64, whole::<i32, P>, kernel::<i32, P>()),
        ScalarType::Int64 => (ScalarType::Int64, whole::<i64, P>, kernel::<i64, P>()),
        ScalarType::Float32 => (ScalarType::Float32, whole::<f32, P>, kernel::<f32, P>()),
        ScalarType::Float64 => (ScalarType::Float64, whole::<f64, P>, kernel::<f64, P>()),
        _ => return None,
    };
    let whole = GeneralKernel::new(run);
    Some(family.make(args, QType::Scalar(result), Kernel::Fold { whole, fold, axes }))
}

/// The code over whole arrays.
type Run = fn(&mut KernelCall<'_>) -> Result<(), Fault>;

fn whole<T: Number<Wide: PlainSlot> + NdCell, P: OfPair>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (x, y) = (call.nd(0), call.nd(1));
    let arrays = [0, 1].into_iter().zip([x.shape(), y.shape()]);
    let arrays = arrays.map(|(index, shape)| (shape, call.qtype(index).nd().expect("an array")));
    common_shape(arrays, x.rank())?;
    let (mut spare_x, mut spare_y) = (call.meter().vec(0)?, call.meter().vec(0)?);
    let (x, y) = (elements(&x, &mut spare_x, call.meter())?, elements(&y, &mut spare_y, call.meter())?);
    let sum = sum_of_pairs::<T, P>(x, y, call.arena(), &|| call.meter().stop())?;
    call.meter().poll()?;
    call.set_plain(sum);
    Ok(())
}

/// The elements in order, laid out if they do not stand so.
fn elements<'a, T: NdCell>(
    view: &'a NdView<'_>,
    spare: &'a mut Scratch<'_, T>,
    meter: &Meter<'_>,
) -> Result<&'a [T], Fault> {
    if let Some(elements) = view.as_slice() {
        return Ok(elements);
    }
    spare.reserve_exact(view.len())?;
    for (number, cell) in view.cells().enumerate() {
        if number.is_multiple_of(STRIDE) {
            meter.poll()?;
        }
        spare.push(cell);
    }
    Ok(spare)
}
