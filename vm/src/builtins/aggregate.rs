//! Aggregations: from the present rows of an array, or of each group of its rows, to one value.
//!
//! ```text
//! sum(x)            one value of all rows
//! sum(x, edge)      a row for each parent of the edge
//! ```

use crate::array::group_fold::{counted, counts_of_groups, fold_groups};
use crate::array::group_rows::{PlaceOfBest, ProductOf, fold_in_turn};
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::array::row_fold::{
    ALL, ANY, BestOf, COUNT, MeanOf, RowFold, SumOf, count_of_rows, fold_of_rows, fold_present,
};
use crate::array::rows_out::RowsOut;
use crate::builtins::present::{
    Cell, Gathered, GroupsOf, Present, SideBySide, Unit, check_children, with_number,
};
use crate::layout::PlainSlot;
use crate::operator::{Family, Kernel, Overload};
use crate::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use crate::value::{Edge, Fault, QType, ScalarType};
use crate::vector::reduce::{self, Reducible};
use crate::vector::stop::StopCheck;
use bytemuck::Pod;

/// Name of `core._any_row`.
pub const ANY_ROW: &str = "core._any_row";

/// Name of `core._all_rows`.
pub const ALL_ROWS: &str = "core._all_rows";
/// Name of `array._count`.
pub const COUNT_ROWS: &str = "array._count";
/// Name of `math._max`.
pub const MAX_ROWS: &str = "math._max";
/// Name of `math._mean`.
pub const MEAN_ROWS: &str = "math._mean";
/// Name of `math._min`.
pub const MIN_ROWS: &str = "math._min";
/// Name of `math._prod`.
pub const PROD_ROWS: &str = "math._prod";
/// Name of `math._median`.
pub const MEDIAN_ROWS: &str = "math._median";
/// Name of `math._argmin`.
pub const ARGMIN_ROWS: &str = "math._argmin";
/// Name of `math._argmax`.
pub const ARGMAX_ROWS: &str = "math._argmax";
/// Name of `math._var`.
pub const VAR_ROWS: &str = "math._var";
/// Name of `math._std`.
pub const STD_ROWS: &str = "math._std";
/// Name of `math._skew`.
pub const SKEW_ROWS: &str = "math._skew";
/// Name of `math._kurtosis`.
pub const KURTOSIS_ROWS: &str = "math._kurtosis";
/// Name of `bool._logical_all`.
pub const EVERY_TRUTH: &str = "bool._logical_all";
/// Name of `bool._logical_any`.
pub const ONE_TRUTH: &str = "bool._logical_any";
/// Name of `array.size`.
pub const SIZE: &str = "array.size";
/// Name of `math._sum`.
pub const SUM_ROWS: &str = "math._sum";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(SUM_ROWS, &["x", "*grouping"], "Sum of the present rows; 0 without any. Integers wrap.")
            .cost_of(10)
            .on_demand(|family, args| {
                Some(with_number!(grouped(args)?, T => folded::<SumOf<T>>(family, args)))
            }),
        numbers(PROD_ROWS, "Product of the present rows. Integers wrap.", QType::Optional, Prod),
        best::<false>(MIN_ROWS, "The least present row; NaN if there is one."),
        best::<true>(MAX_ROWS, "The greatest present row; NaN if there is one."),
        numbers(
            MEDIAN_ROWS,
            "The present row in the middle of their order, of an even number the lower one; NaN if there is one.",
            QType::Optional,
            Median,
        ),
        numbers(
            ARGMIN_ROWS,
            "Number in the group of its first row that is the least, or of its first NaN.",
            |_| QType::Optional(ScalarType::Int64),
            ArgMin,
        ),
        numbers(
            ARGMAX_ROWS,
            "Number in the group of its first row that is the greatest, or of its first NaN.",
            |_| QType::Optional(ScalarType::Int64),
            ArgMax,
        ),
        Family::new(MEAN_ROWS, &["x", "*grouping"], "Arithmetic mean of the present rows.")
            .cost_of(20)
            .on_demand(|family, args| match grouped(args)? {
                ScalarType::Float32 => Some(folded::<MeanOf<f32>>(family, args)),
                ScalarType::Float64 => Some(folded::<MeanOf<f64>>(family, args)),
                _ => None,
            }),
        reals(
            SKEW_ROWS,
            "Third standardised moment of the present rows.",
            |x, _, stop| reduce::skew(x, stop),
            |x, _, stop| reduce::skew(x, stop),
        ),
        reals(
            KURTOSIS_ROWS,
            "Fourth standardised moment of the present rows, less 3.",
            |x, _, stop| reduce::kurtosis(x, stop),
            |x, _, stop| reduce::kurtosis(x, stop),
        ),
        reals(
            VAR_ROWS,
            "Variance of the present rows: of the squares over their number, less one if unbiased.",
            reduce::var,
            reduce::var,
        ),
        reals(STD_ROWS, "Square root of the variance of the present rows.", reduce::std, reduce::std),
        Family::new(COUNT_ROWS, &["x", "*grouping"], "Number of present rows.").cost_of(5).on_demand(
            |family, args| {
                grouped(args)?;
                if let [QType::Array(_)] = args {
                    let kernel = Kernel::fold_of_rows(count_of_rows::<COUNT>());
                    return Some(family.make(args, QType::Scalar(ScalarType::Int64), kernel));
                }
                let at_once: AtOnce = |rows, edge, out, meter| {
                    by_counts(rows, edge, out, meter, false, |[_, present]| present as i64)
                };
                let result = QType::Scalar(ScalarType::Int64);
                Some(over_groups_at_once::<Unit, i64>(family, args, result, at_once, |rows, _, _| {
                    rows.values.len() as i64
                }))
            },
        ),
        Family::new(SIZE, &["x"], "Number of rows.").on_demand(|family, args| {
            let [QType::Array(_)] = args else { return None };
            let size = family.make_general(args, QType::Scalar(ScalarType::Int64), |call| {
                call.set_plain(call.rows(0).len() as i64);
                Ok(())
            });
            Some(size.reading_lent())
        }),
        mask::<ALL>(
            ALL_ROWS,
            "Present if every row of the mask is.",
            |rows, edge, out, meter| {
                by_counts(rows, edge, out, meter, true, |[size, present]| (present == size).then_some(()))
            },
            |rows| rows.values.len() == rows.size,
        ),
        mask::<ANY>(
            ANY_ROW,
            "Present if one row of the mask is.",
            |rows, edge, out, meter| {
                by_counts(rows, edge, out, meter, false, |[_, present]| (present > 0).then_some(()))
            },
            |rows| !rows.values.is_empty(),
        ),
        kleene(EVERY_TRUTH, "False if a row is false, else missing if one is, else true.", false),
        kleene(ONE_TRUTH, "True if a row is true, else missing if one is, else false.", true),
    ]
}

/// The element of the first argument; `None` if it is no array, the edge is one of the other family, or what follows is more than a
/// BOOLEAN, the option.
fn grouped(args: &[QType]) -> Option<ScalarType> {
    let (t, options) = match args {
        [QType::Array(t), QType::Edge(class) | QType::EdgeToScalar(class), options @ ..] => {
            (t.class == *class).then_some((t, options))?
        }
        [QType::Array(t), options @ ..] => (t, options),
        _ => return None,
    };
    (options.is_empty() || *options == [BOOLEAN]).then_some(t.element)
}

/// Appends a row for each parent without a look at one group after the other; `false` if it cannot.
type AtOnce = fn(&ReadRows<'_>, &Edge, &mut RowsOut<'_>, &Meter<'_>) -> Result<bool, Fault>;

/// An overload that gives one value, or with an edge one row for each parent. A BOOLEAN at the end is an
/// option.
fn over_groups<T: Cell + 'static, R: PlainSlot>(
    family: &Family,
    args: &[QType],
    result: QType,
    f: impl Fn(Present<'_, T>, bool, StopCheck<'_>) -> R + Send + Sync + 'static,
) -> Overload {
    over_groups_at_once(family, args, result, |_, _, _, _| Ok(false), f)
}

/// The same with a faster way for edges that hold parents.
fn over_groups_at_once<T: Cell + 'static, R: PlainSlot>(
    family: &Family,
    args: &[QType],
    result: QType,
    at_once: AtOnce,
    f: impl Fn(Present<'_, T>, bool, StopCheck<'_>) -> R + Send + Sync + 'static,
) -> Overload {
    let option = (args.last() == Some(&BOOLEAN)).then(|| args.len() - 1);
    let edge = args.get(1).is_some_and(QType::is_edge);
    let (QType::Array(t), Some(element)) = (&args[0], result.scalar()) else {
        unreachable!("the caller has looked at the types")
    };
    let array = matches!(args.get(1), Some(QType::Edge(_))).then(|| QType::Array(t.of(element)));
    let is_array = array.is_some();
    // An edge may have another number of children than the array has rows.
    let family = if edge { family.clone().raises() } else { family.clone() };
    let overload = family.make_general(args, array.unwrap_or(result), move |call| {
        let (rows, meter) = (call.rows(0), call.meter());
        let option = option.is_some_and(|index| call.plain::<bool>(index));
        if edge {
            check_children(rows.len(), call.edge(1))?;
        }
        let mut gathered = Gathered::<T>::new(meter, call.arena())?;
        let stop = || meter.stop();
        if !is_array {
            let value = f(gathered.of_all(rows, meter)?, option, &stop);
            meter.poll()?;
            call.set_plain(value);
            return Ok(());
        }
        let edge = call.edge(1);
        call.charge_rows(edge.parent_size())?;
        let (mut out, parents) = (call.array_out(), edge.parent_size());
        if at_once(&rows, edge, &mut out, meter)? {
            return meter.poll();
        }
        let mut pace = meter.pace();
        let mut folded = |present: Present<'_, T>| {
            pace.over(present.size + 1)?;
            Ok(f(present, option, &stop))
        };
        if let Some(groups) = SideBySide::new(&rows, edge, meter)? {
            out.fill_plain(parents, |group| folded(groups.group(group)))?;
        } else {
            let groups = GroupsOf::new(edge, meter)?;
            out.fill_plain(parents, |group| folded(gathered.present(rows, groups.of(group), meter)?))?;
        }
        meter.poll()
    });
    overload.reading_lent()
}

/// A reduction of numbers of any type.
trait Reduce: Copy + Send + Sync + 'static {
    type Of<T: Reducible + PlainSlot>: PlainSlot
    where
        Option<T>: PlainSlot;

    fn apply<T: Reducible + PlainSlot>(rows: Present<'_, T>, stop: StopCheck<'_>) -> Self::Of<T>
    where
        Option<T>: PlainSlot;

    /// The same of all groups at once.
    fn at_once<T: Reducible + PlainSlot>() -> AtOnce
    where
        Option<T>: PlainSlot,
    {
        |_, _, _, _| Ok(false)
    }
}

macro_rules! reductions {
    ($($name:ident: $result:ty, |$rows:ident, $stop:ident| $value:expr $(, at once $at_once:ty)?;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        impl Reduce for $name {
            type Of<T: Reducible + PlainSlot>
                = $result
            where
                Option<T>: PlainSlot;

            fn apply<T: Reducible + PlainSlot>($rows: Present<'_, T>, $stop: StopCheck<'_>) -> $result
            where
                Option<T>: PlainSlot,
            {
                $value
            }

            $(fn at_once<T: Reducible + PlainSlot>() -> AtOnce
            where
                Option<T>: PlainSlot,
            {
                fold_in_turn::<$at_once>
            })?
        }
    )*};
}

reductions! {
    Prod: Option<T>, |rows, stop| reduce::prod(rows.values, stop), at once ProductOf<T>;
    Median: Option<T>, |rows, stop| reduce::median(rows.values, stop);
    ArgMin: Option<i64>, |rows, stop| reduce::argmin(rows.values, stop).map(|at| rows.place(at)),
        at once PlaceOfBest<T, false>;
    ArgMax: Option<i64>, |rows, stop| reduce::argmax(rows.values, stop).map(|at| rows.place(at)),
        at once PlaceOfBest<T, true>;
}

/// The overload of a fold: over a whole array as a member of regions, over the groups of an edge by itself.
fn folded<R: RowFold<Row: Cell + Pod>>(family: &Family, args: &[QType]) -> Overload {
    let result = R::Out::plain_qtype();
    match args {
        [QType::Array(_)] => family.make(args, result, Kernel::fold_of_rows(fold_of_rows::<R>())),
        _ => {
            over_groups_at_once::<R::Row, R::Out>(family, args, result, fold_groups::<R>, |rows, _, stop| {
                fold_present::<R>(rows.values, rows.places, rows.size, stop)
            })
        }
    }
}

fn best<const GREATEST: bool>(name: &str, meaning: &str) -> Family {
    Family::new(name, &["x", "*grouping"], meaning).cost_of(10).on_demand(|family, args| {
        Some(with_number!(grouped(args)?, T => folded::<BestOf<T, GREATEST>>(family, args)))
    })
}

fn numbers<R: Reduce>(name: &str, meaning: &str, result: fn(ScalarType) -> QType, _: R) -> Family {
    Family::new(name, &["x", "*grouping"], meaning).cost_of(10).on_demand(move |family, args| {
        let element = grouped(args)?;
        let result = result(element);
        Some(with_number!(element, T => {
            over_groups_at_once::<T, _>(family, args, result, R::at_once::<T>(), |rows, _, stop| {
                R::apply(rows, stop)
            })
        }))
    })
}

fn reals(
    name: &str,
    meaning: &str,
    single: fn(&[f32], bool, StopCheck<'_>) -> Option<f32>,
    double: fn(&[f64], bool, StopCheck<'_>) -> Option<f64>,
) -> Family {
    Family::new(name, &["x", "*grouping"], meaning).cost_of(20).on_demand(move |family, args| {
        let element = grouped(args)?;
        let result = QType::Optional(element);
        Some(match element {
            ScalarType::Float32 => over_groups::<f32, _>(family, args, result, move |rows, option, stop| {
                single(rows.values, option, stop)
            }),
            ScalarType::Float64 => over_groups::<f64, _>(family, args, result, move |rows, option, stop| {
                double(rows.values, option, stop)
            }),
            _ => return None,
        })
    })
}

/// Appends for each parent what its numbers of rows, if that is asked for, and of present ones tell.
fn by_counts<R: PlainSlot>(
    rows: &ReadRows<'_>,
    edge: &Edge,
    out: &mut RowsOut<'_>,
    meter: &Meter<'_>,
    asks_size: bool,
    result: impl Fn([usize; 2]) -> R,
) -> Result<bool, Fault> {
    let Some(counts) = counts_of_groups(rows, edge, asks_size, meter)? else { return Ok(false) };
    out.fill_plain(counts.len(), |group| Ok(result(counted(counts[group]))))?;
    Ok(true)
}

fn mask<const WHAT: u8>(
    name: &str,
    meaning: &str,
    at_once: AtOnce,
    holds: fn(Present<'_, Unit>) -> bool,
) -> Family {
    Family::new(name, &["x", "*grouping"], meaning).cost_of(5).on_demand(move |family, args| {
        if let [QType::Array(t)] = args
            && t.element == ScalarType::Unit
        {
            return Some(family.make(args, OPTIONAL_UNIT, Kernel::fold_of_rows(count_of_rows::<WHAT>())));
        }
        (grouped(args)? == ScalarType::Unit).then(|| {
            over_groups_at_once::<Unit, _>(family, args, OPTIONAL_UNIT, at_once, move |rows, _, _| {
                holds(rows).then_some(())
            })
        })
    })
}

/// The value that decides wherever it stands, else missing if a row is, else the other one.
fn kleene(name: &str, meaning: &str, decides: bool) -> Family {
    Family::new(name, &["x", "*grouping"], meaning).cost_of(5).on_demand(move |family, args| {
        let result = QType::Optional(ScalarType::Boolean);
        (grouped(args)? == ScalarType::Boolean).then(|| {
            over_groups::<u8, _>(family, args, result, move |rows, _, _| {
                match rows.values.iter().any(|truth| (*truth != 0) == decides) {
                    true => Some(decides),
                    false => (rows.values.len() == rows.size).then_some(!decides),
                }
            })
        })
    })
}
