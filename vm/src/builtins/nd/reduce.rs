//! Reductions: along some axes, many elements become one.
//!
//! ```text
//! nd._sum(x, AXES_1)         [[1, 2, 3], [4, 5, 6]]  ->  [6, 15]
//! nd._sum_kept(x, AXES_1)                            ->  [[6], [15]], whose last axis is a unit axis
//! ```
//!
//! The elements that become one are taken in the order of their places, the last axis fastest, however they lie in
//! memory: the result does not depend on strides.

use crate::array::fold_kernel::FoldKernel;
use crate::array::meter::STRIDE;
use crate::array::runs::{Runs, check_elements, runs};
use crate::array::whole_fold::fold_cells;
use crate::builtins::nd::groups::{InOrder, are_together, by_runs, reduce};
use crate::layout::PlainSlot;
use crate::operator::general::GeneralKernel;
use crate::operator::{Family, Kernel, KernelCall, Overload};
use crate::value::nd_view::NdCell;
use crate::value::qtype::{FLOAT64, INT64};
use crate::value::{Axes, Fault, NdType, QType, ScalarType};
use crate::vector::extremes::Best;
use crate::vector::fold::{Fold, Mean, Product, Sum, fold, fold_each};
use crate::vector::nonzero::{CountNonZero, Truth};
use crate::vector::reduce::{Reducible, argmax, argmin};
use crate::vector::spread::{self, SummedFloat};
use crate::vector::stop::StopCheck;
use crate::vector::variance::{
    MOST_OF_RUN, variance_by, variance_of_integer_runs, variance_of_integers, variance_of_runs,
};

/// Name of `nd._all`.
pub const ALL: &str = "nd._all";
/// Name of `nd._argmax`.
pub const ARGMAX: &str = "nd._argmax";
/// Name of `nd._argmin`.
pub const ARGMIN: &str = "nd._argmin";
/// Name of `nd._any`.
pub const ANY: &str = "nd._any";
/// Name of `nd._count`.
pub const COUNT: &str = "nd._count";
/// Name of `nd._max`.
pub const MAX: &str = "nd._max";
/// Name of `nd._mean`.
pub const MEAN: &str = "nd._mean";
/// Name of `nd._median`.
pub const MEDIAN: &str = "nd._median";
/// Name of `nd._min`.
pub const MIN: &str = "nd._min";
/// Name of `nd._prod`.
pub const PROD: &str = "nd._prod";
/// Name of `nd._quantile`.
pub const QUANTILE: &str = "nd._quantile";
/// Name of `nd._std`.
pub const STD: &str = "nd._std";
/// Name of `nd._sum`.
pub const SUM: &str = "nd._sum";
/// Name of `nd._var`.
pub const VAR: &str = "nd._var";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    let folds = [
        folding(SUM, "Sum; 0 of no elements. Integers and truths are added as INT64.", wide, sum),
        folding(MEAN, "Mean; NaN of no elements.", real, mean),
        folding(MIN, "The least element; NaN if there is one. Raises without elements.", same, |element| {
            best::<false>(element, "minimum")
        }),
        folding(
            MAX,
            "The greatest element; NaN if there is one. Raises without elements.",
            same,
            |element| best::<true>(element, "maximum"),
        ),
        folding(ANY, "True if an element is not zero.", truth, is_true::<false>),
        folding(ALL, "True if no element is zero.", truth, is_true::<true>),
        folding(PROD, "Product; 1 of no elements, as INT64 of integers and truths.", wide, prod),
        folding(COUNT, "Number of the elements that are not zero.", place, count),
    ];
    let others = [
        reduction(VAR, "Mean square of the deviations from the mean.", &[INT64], real, var),
        reduction(STD, "Square root of the variance.", &[INT64], real, std),
        reduction(MEDIAN, "The element in the middle, or the mean of two.", &[], real, median),
        reduction(
            ARGMIN,
            "Place of the first element that is the least, or of the first NaN, among those that become one. Raises without elements.",
            &[],
            place,
            place_of_best::<false>,
        ),
        reduction(
            ARGMAX,
            "Place of the first element that is the greatest, or of the first NaN, among those that become one. Raises without elements.",
            &[],
            place,
            place_of_best::<true>,
        ),
        reduction(
            QUANTILE,
            "The element at a share of the way from least to greatest. Raises without elements.",
            &[FLOAT64],
            quantiles,
            quantile,
        ),
    ];
    folds.into_iter().chain(others).flatten().collect()
}

/// The code of a reduction.
type Run = fn(&mut KernelCall<'_>, Axes) -> Result<(), Fault>;

/// The row of a reduction that drops the axes, and of one that keeps them as unit axes. Further arguments are of
/// these types.
fn reduction(
    name: &str,
    meaning: &str,
    more: &'static [QType],
    element: fn(ScalarType) -> Option<ScalarType>,
    run: Run,
) -> [Family; 2] {
    both(name, meaning, more, element, move |_, axes| Kernel::general(move |call| run(call, axes)))
}

/// The rows of a fold, which is a member of regions along axes that stand together.
fn folding(
    name: &str,
    meaning: &str,
    element: fn(ScalarType) -> Option<ScalarType>,
    code: fn(ScalarType) -> Folding,
) -> [Family; 2] {
    both(name, meaning, &[], element, move |t, axes| {
        let Folding { whole, fold } = code(t.element());
        let whole = GeneralKernel::new(move |call| {
            fold.check_elements(runs(call.nd(0).shape(), axes))?;
            whole(call, axes)
        });
        match are_together(axes, |axis| t.is_unit(axis)) {
            true => Kernel::Fold { whole, fold, axes },
            false => Kernel::General(whole),
        }
    })
}

/// The rows of a reduction with this code for arrays of a type along axes.
fn both(
    name: &str,
    meaning: &str,
    more: &'static [QType],
    element: fn(ScalarType) -> Option<ScalarType>,
    kernel: impl Fn(NdType, Axes) -> Kernel + Clone + Send + Sync + 'static,
) -> [Family; 2] {
    let row = |name: &str, result: fn(NdType, Axes, ScalarType) -> Option<QType>| {
        let kernel = kernel.clone();
        Family::new(name, &["x", "axes", "*more"], meaning).cost_of(10).raises().on_demand(
            move |family: &Family, args: &[QType]| -> Option<Overload> {
                let [QType::NdArray(t), QType::Axes(axes), given @ ..] = args else { return None };
                let (t, axes) = (*t, *axes);
                let fits = axes.iter().all(|axis| axis < t.rank()) && given == more;
                let result = result(t, axes, element(t.element())?).filter(|_| fits)?;
                Some(family.make(args, result, kernel(t, axes)))
            },
        )
    };
    [row(name, without_axes), row(&format!("{name}_kept"), with_unit_axes)]
}

/// The code of a fold: over whole arrays, and over blocks.
struct Folding {
    whole: fn(&mut KernelCall<'_>, Axes) -> Result<(), Fault>,
    fold: FoldKernel,
}

impl Folding {
    fn new<C: NdCell, F: Fold<Out: NdCell + PlainSlot>>(needs: Option<&'static str>) -> Folding {
        Folding {
            whole: |call, axes| {
                if fold_in_order::<C, F>(call, axes)? {
                    return Ok(());
                }
                let (arena, meter) = (call.arena(), call.meter());
                reduce(call, axes, |cells: &[C]| {
                    if cells.len() <= STRIDE {
                        return Ok(fold::<F>(bytemuck::cast_slice(cells)));
                    }
                    let (run, mut word) = (Runs { run: cells.len(), count: 1, width: 1 }, [0u64]);
                    let result = &mut bytemuck::cast_slice_mut(&mut word)[..size_of::<F::Out>()];
                    fold_cells::<C, F>(cells, run, result, arena, meter)?;
                    Ok(F::Out::read(result))
                })
            },
            fold: FoldKernel::new::<C, F>(needs),
        }
    }
}

/// Folds an array in the order of its elements, if its runs stand side by side, or are short; false if not.
fn fold_in_order<C: NdCell, F: Fold<Out: NdCell + PlainSlot>>(
    call: &mut KernelCall<'_>,
    axes: Axes,
) -> Result<bool, Fault> {
    let (arena, meter) = (call.arena(), call.meter());
    let of = InOrder::<C>::of(call, axes, |runs| runs.width > 1 || runs.run <= STRIDE)?;
    let Some(InOrder { values, runs, out }) = of else { return Ok(false) };
    if runs.width > 1 {
        return fold_cells::<C, F>(values, runs, out, arena, meter).map(|()| true);
    }
    let (size, together) = (size_of::<F::Out>(), STRIDE / runs.run);
    for (values, out) in values.chunks(together * runs.run).zip(out.chunks_mut(together * size)) {
        meter.poll()?;
        let mut cells = out.chunks_exact_mut(size);
        fold_each::<F>(bytemuck::cast_slice(values), runs.run, |value| {
            let cell = cells.next().expect("the result has a cell for each run");
            cell.copy_from_slice(bytemuck::bytes_of(&value));
        });
    }
    Ok(true)
}

/// The type of an array without some of its axes; without any, that of a scalar.
pub(super) fn without_axes(t: NdType, axes: Axes, element: ScalarType) -> Option<QType> {
    let kept = t.units().enumerate().filter(|(axis, _)| !axes.contains(*axis)).map(|(_, unit)| unit);
    match axes.len() == t.rank() {
        true => Some(QType::Scalar(element)),
        false => NdType::of_axes(element, kept).map(QType::NdArray),
    }
}

fn with_unit_axes(t: NdType, axes: Axes, element: ScalarType) -> Option<QType> {
    let units = t.units().enumerate().map(|(axis, unit)| unit || axes.contains(axis));
    NdType::of_axes(element, units).map(QType::NdArray)
}

fn same(element: ScalarType) -> Option<ScalarType> {
    Some(element)
}

fn truth(_: ScalarType) -> Option<ScalarType> {
    Some(ScalarType::Boolean)
}

/// Sums of integers and truths are INT64.
pub(super) fn wide(element: ScalarType) -> Option<ScalarType> {
    Some(if element.is_float() { element } else { ScalarType::Int64 })
}

/// Means of integers and truths are FLOAT64.
fn real(element: ScalarType) -> Option<ScalarType> {
    Some(if element.is_float() { element } else { ScalarType::Float64 })
}

/// Places and numbers of elements are INT64.
fn place(_: ScalarType) -> Option<ScalarType> {
    Some(ScalarType::Int64)
}

/// Truths lie in no order that could be interpolated.
fn quantiles(element: ScalarType) -> Option<ScalarType> {
    real(element).filter(|_| element != ScalarType::Boolean)
}

/// Calls the same code for the element of the first argument, under a name for its Rust type.
macro_rules! by_element {
    ($call:ident, $($element:ident => $run:expr),+ $(,)?) => {
        match $call.nd(0).element() {
            $(ScalarType::$element => $run,)+
            other => unreachable!("no overload takes {other}"),
        }
    };
}

/// The same for an element that is known when an operator is made.
macro_rules! folding_of {
    ($element:expr, $fold:ident $(<$parameter:ident>)?, $needs:expr) => {
        match $element {
            ScalarType::Boolean => Folding::new::<bool, $fold<u8 $(, $parameter)?>>($needs),
            ScalarType::Int32 => Folding::new::<i32, $fold<i32 $(, $parameter)?>>($needs),
            ScalarType::Int64 => Folding::new::<i64, $fold<i64 $(, $parameter)?>>($needs),
            ScalarType::Float32 => Folding::new::<f32, $fold<f32 $(, $parameter)?>>($needs),
            ScalarType::Float64 => Folding::new::<f64, $fold<f64 $(, $parameter)?>>($needs),
            other => unreachable!("no overload takes {other}"),
        }
    };
}

fn sum(element: ScalarType) -> Folding {
    folding_of!(element, Sum, None)
}

fn prod(element: ScalarType) -> Folding {
    folding_of!(element, Product, None)
}

fn mean(element: ScalarType) -> Folding {
    folding_of!(element, Mean, None)
}

fn best<const GREATEST: bool>(element: ScalarType, what: &'static str) -> Folding {
    match (element, GREATEST) {
        // Of truths the least one says whether all of them hold.
        (ScalarType::Boolean, false) => Folding::new::<bool, Truth<u8, true>>(Some(what)),
        (ScalarType::Boolean, true) => Folding::new::<bool, Truth<u8, false>>(Some(what)),
        (ScalarType::Int32, _) => Folding::new::<i32, Best<i32, GREATEST>>(Some(what)),
        (ScalarType::Int64, _) => Folding::new::<i64, Best<i64, GREATEST>>(Some(what)),
        (ScalarType::Float32, _) => Folding::new::<f32, Best<f32, GREATEST>>(Some(what)),
        (ScalarType::Float64, _) => Folding::new::<f64, Best<f64, GREATEST>>(Some(what)),
        (other, _) => unreachable!("no overload takes {other}"),
    }
}

fn is_true<const ALL: bool>(element: ScalarType) -> Folding {
    folding_of!(element, Truth<ALL>, None)
}

fn count(element: ScalarType) -> Folding {
    folding_of!(element, CountNonZero, None)
}

fn var(call: &mut KernelCall<'_>, axes: Axes) -> Result<(), Fault> {
    variance(call, axes, |x| x, |x| x)
}

fn std(call: &mut KernelCall<'_>, axes: Axes) -> Result<(), Fault> {
    variance(call, axes, f32::root, f64::root)
}

/// What functions make of the variances.
fn variance(
    call: &mut KernelCall<'_>,
    axes: Axes,
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
) -> Result<(), Fault> {
    let (used, meter) = (call.plain::<i64>(2), call.meter());
    let stop = &|| meter.stop();
    if of_runs(call, axes, used, single, double)? {
        return Ok(());
    }
    by_element!(call,
        Boolean => reduce(call, axes, |x: &[bool]| Ok(double(variance_of_integers(x, used, stop, i64::from)))),
        Int32 => reduce(call, axes, |x: &[i32]| Ok(double(variance_of_integers(x, used, stop, i64::from)))),
        Int64 => reduce(call, axes, |x: &[i64]| Ok(double(variance_of_integers(x, used, stop, |x| x)))),
        Float32 => reduce(call, axes, |x: &[f32]| Ok(single(variance_by(x, used, stop, |x| x)))),
        Float64 => reduce(call, axes, |x: &[f64]| Ok(double(variance_by(x, used, stop, |x| x)))),
    )
}

/// The same if runs stand in order, side by side or one after the other; false if not.
fn of_runs(
    call: &mut KernelCall<'_>,
    axes: Axes,
    used: i64,
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
) -> Result<bool, Fault> {
    let meter = call.meter();
    let stop = &|| meter.stop();
    by_element!(call,
        Boolean => by_runs(call, axes, MOST_OF_RUN, |x: &[bool], shape, out| {
            variance_of_integer_runs(x, shape, used, stop, i64::from, |var| out(double(var)));
        }),
        Int32 => by_runs(call, axes, MOST_OF_RUN, |x: &[i32], shape, out| {
            variance_of_integer_runs(x, shape, used, stop, i64::from, |var| out(double(var)));
        }),
        Int64 => by_runs(call, axes, MOST_OF_RUN, |x: &[i64], shape, out| {
            variance_of_integer_runs(x, shape, used, stop, |x| x, |var| out(double(var)));
        }),
        Float32 => by_runs(call, axes, MOST_OF_RUN, |x: &[f32], shape, out| {
            variance_of_runs(x, shape, used, stop, |x| x, |var| out(single(var)));
        }),
        Float64 => by_runs(call, axes, MOST_OF_RUN, |x: &[f64], shape, out| {
            variance_of_runs(x, shape, used, stop, |x| x, |var| out(double(var)));
        }),
    )
}

fn median(call: &mut KernelCall<'_>, axes: Axes) -> Result<(), Fault> {
    let meter = call.meter();
    let stop = &|| meter.stop();
    let truth = |x: bool| f64::from(u8::from(x));
    by_element!(call,
        Boolean => reduce(call, axes, |x: &[bool]| Ok(spread::median_by(x, stop, truth))),
        Int32 => reduce(call, axes, |x: &[i32]| Ok(spread::median_by(x, stop, f64::from))),
        Int64 => reduce(call, axes, |x: &[i64]| Ok(spread::median_by(x, stop, |x| x as f64))),
        Float32 => reduce(call, axes, |x: &[f32]| Ok(spread::median_by(x, stop, |x| x))),
        Float64 => reduce(call, axes, |x: &[f64]| Ok(spread::median_by(x, stop, |x| x))),
    )
}

/// The place of the first value that is the least, or the greatest, or of the first NaN.
fn place_in<T: Reducible, const GREATEST: bool>(values: &[T], stop: StopCheck<'_>) -> Option<usize> {
    if GREATEST { argmax(values, stop) } else { argmin(values, stop) }
}

fn place_of_best<const GREATEST: bool>(call: &mut KernelCall<'_>, axes: Axes) -> Result<(), Fault> {
    let what = if GREATEST { "argmax" } else { "argmin" };
    check_elements(what, runs(call.nd(0).shape(), axes))?;
    let meter = call.meter();
    let stop = &|| meter.stop();
    let number = |place: Option<usize>| Ok(place.map_or(0, |place| place as i64));
    by_element!(call,
        Boolean => reduce(call, axes, |x: &[bool]| {
            for (stretch, truths) in x.chunks(STRIDE).enumerate() {
                if let Some(place) = truths.iter().position(|truth| *truth == GREATEST) {
                    return number(Some(stretch * STRIDE + place));
                }
                meter.poll()?;
            }
            number(None)
        }),
        Int32 => reduce(call, axes, |x: &[i32]| number(place_in::<_, GREATEST>(x, stop))),
        Int64 => reduce(call, axes, |x: &[i64]| number(place_in::<_, GREATEST>(x, stop))),
        Float32 => reduce(call, axes, |x: &[f32]| number(place_in::<_, GREATEST>(x, stop))),
        Float64 => reduce(call, axes, |x: &[f64]| number(place_in::<_, GREATEST>(x, stop))),
    )
}

fn quantile(call: &mut KernelCall<'_>, axes: Axes) -> Result<(), Fault> {
    let (share, meter) = (call.plain::<f64>(2), call.meter());
    if !(0.0..=1.0).contains(&share) {
        return Err(Fault::Range { message: format!("a quantile is from 0 to 1, got {share}") });
    }
    check_elements("quantile", runs(call.nd(0).shape(), axes))?;
    let stop = &|| meter.stop();
    by_element!(call,
        Int32 => reduce(call, axes, |x: &[i32]| Ok(spread::quantile_by(x, share, stop, f64::from))),
        Int64 => reduce(call, axes, |x: &[i64]| Ok(spread::quantile_by(x, share, stop, |x| x as f64))),
        Float32 => reduce(call, axes, |x: &[f32]| Ok(spread::quantile_by(x, share as f32, stop, |x| x))),
        Float64 => reduce(call, axes, |x: &[f64]| Ok(spread::quantile_by(x, share, stop, |x| x))),
    )
}
