//! Scans: a row for each row of an array, by the rows of its group before it or all of them.

use crate::builtins::aggregate::check_children;
use crate::operator::{Family, Overload};
use crate::value::qtype::{BOOLEAN, FLOAT64};
use crate::value::{QType, ScalarType, ScalarValue};
use crate::vector::order;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        scan(
            "math._cum_sum",
            None,
            "Sum of the present rows up to this one.",
            Gives::Numbers,
            |rows, element, _| {
                // Every sum of INT32 wraps, so that it stays exact in a double.
                let wrapped =
                    |sum: f64| if element == ScalarType::Int32 { f64::from(sum as i64 as i32) } else { sum };
                accumulate(rows, |sum, x| wrapped(sum + x))
            },
        ),
        scan(
            "math._cum_max",
            None,
            "The greatest present row up to this one.",
            Gives::Numbers,
            |rows, _, _| accumulate(rows, |max, x| if max.is_nan() || max >= x { max } else { x }),
        ),
        scan(
            "array._cum_count",
            None,
            "Number of present rows up to this one.",
            Gives::Counts,
            |rows, _, _| {
                accumulate(&rows.iter().map(|row| row.map(|_| 1.0)).collect::<Vec<_>>(), |n, _| n + 1.0)
            },
        ),
        scan("array._agg_index", None, "Number of the row in its group.", Gives::Counts, |rows, _, _| {
            rows.iter().enumerate().map(|(place, row)| row.map(|_| place as f64)).collect()
        }),
        scan(
            "array._ordinal_rank",
            Some(BOOLEAN),
            "Place of each present row in their order; of equal rows the first comes first, NaN comes last.",
            Gives::Ranks,
            |rows, _, descending| order::ordinal_ranks(rows, descending != 0.0),
        ),
        scan(
            "array._dense_rank",
            Some(BOOLEAN),
            "Place of each present row among the distinct values in their order; NaN comes last.",
            Gives::Ranks,
            |rows, _, descending| order::dense_ranks(rows, descending != 0.0),
        ),
        scan(
            "math._cdf",
            None,
            "Share of the present rows that are not above the row.",
            Gives::Numbers,
            |rows, _, _| order::cdf(rows),
        ),
        scan(
            "math._softmax",
            Some(FLOAT64),
            "exp(beta * (x - max)), over the sum of it for all present rows.",
            Gives::Numbers,
            |rows, _, beta| order::softmax(rows, beta),
        ),
    ]
}

/// What a scan gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// Numbers of the type of the rows.
    Numbers,
    /// INT64, by the order of the rows.
    Ranks,
    /// INT64, by where rows are present.
    Counts,
}

impl Gives {
    /// The element of the result; `None` if the rows cannot be scanned: INT64 does not fit into the
    /// doubles that are compared and added here.
    fn result(self, element: ScalarType) -> Option<ScalarType> {
        let fits = matches!(element, ScalarType::Int32 | ScalarType::Float32 | ScalarType::Float64);
        match self {
            Gives::Numbers => fits.then_some(element),
            Gives::Ranks => fits.then_some(ScalarType::Int64),
            Gives::Counts => Some(ScalarType::Int64),
        }
    }
}

/// The rows of a group, their type, and the option as a number, to the rows of the result.
type Scan = fn(&[Option<f64>], ScalarType, f64) -> Vec<Option<f64>>;

fn accumulate(rows: &[Option<f64>], next: impl Fn(f64, f64) -> f64) -> Vec<Option<f64>> {
    let mut last: Option<f64> = None;
    let step = |row: &Option<f64>| {
        let value = (*row).map(|x| last.map_or(x, |last| next(last, x)));
        last = value.or(last);
        value
    };
    rows.iter().map(step).collect()
}

/// An operator of an array, perhaps an edge, and perhaps an option of a type.
fn scan(name: &str, option: Option<QType>, meaning: &str, gives: Gives, f: Scan) -> Family {
    Family::new(name, &["x", "*grouping"], meaning)
        .cost_of(30)
        .on_demand(move |family, args| scan_overload(family, args, option.as_ref(), gives, f))
}

fn scan_overload(
    family: &Family,
    args: &[QType],
    option: Option<&QType>,
    gives: Gives,
    f: Scan,
) -> Option<Overload> {
    let (QType::Array(t), rest) = args.split_first()? else { return None };
    let edge = matches!(rest.first(), Some(QType::Edge(_) | QType::EdgeToScalar(_)));
    let rest = if edge { &rest[1..] } else { rest };
    if rest.len() > 1 || rest.first() != option {
        return None;
    }
    let of = t.element;
    let element = gives.result(t.element)?;
    // An edge may have another number of children than the array has rows.
    let family = if edge { family.clone().raises() } else { family.clone() };
    Some(family.make_general(args, QType::Array(t.of(element)), move |call| {
        let rows = call.array(0);
        let last = call.len() - 1;
        let option = match call.qtype(last) {
            qtype if *qtype == BOOLEAN => f64::from(u8::from(call.plain::<bool>(last))),
            qtype if *qtype == FLOAT64 => call.plain::<f64>(last),
            _ => 0.0,
        };
        let number = |row: usize| rows.get(row).map(|value| value.as_f64().unwrap_or(0.0));
        let mut values: Vec<Option<f64>> = vec![None; rows.len()];
        if edge {
            check_children(rows, call.edge(1))?;
            for group in call.edge(1).groups().iter() {
                let numbers: Vec<Option<f64>> = group.iter().map(|row| number(*row)).collect();
                group.iter().zip(f(&numbers, of, option)).for_each(|(row, value)| values[*row] = value);
            }
        } else {
            values = f(&(0..rows.len()).map(number).collect::<Vec<_>>(), of, option);
        }
        let mut out = call.array_out();
        out.start(element);
        values.into_iter().try_for_each(|value| out.push(value.map(|value| rounded(value, element)).as_ref()))
    }))
}

/// A number as a row.
fn rounded(value: f64, element: ScalarType) -> ScalarValue {
    match element {
        // A sum of INT32 wraps.
        ScalarType::Int32 => ScalarValue::Int32(value as i64 as i32),
        ScalarType::Int64 => ScalarValue::Int64(value as i64),
        ScalarType::Float32 => ScalarValue::Float32(value as f32),
        _ => ScalarValue::Float64(value),
    }
}
