//! Scans: a row for each row of an array, by the rows of its group before it or all of them.

use crate::builtins::aggregate::check_children;
use crate::operator::{Family, Overload};
use crate::value::qtype::{BOOLEAN, FLOAT64};
use crate::value::{ArrayRows, QType, ScalarType, ScalarValue};
use crate::vector::order;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        scan(
            "math._cum_sum",
            None,
            "Sum of the present rows up to this one. Integers wrap.",
            Gives::Numbers,
            |rows, element, _| match rows {
                Numbers::Floats(rows) => Numbers::Floats(accumulate(rows, |sum, x| sum + x)),
                Numbers::Integers(rows) if element == ScalarType::Int32 => {
                    Numbers::Integers(accumulate(rows, |sum, x| i64::from((sum + x) as i32)))
                }
                Numbers::Integers(rows) => Numbers::Integers(accumulate(rows, i64::wrapping_add)),
            },
        ),
        scan(
            "math._cum_max",
            None,
            "The greatest present row up to this one.",
            Gives::Numbers,
            |rows, _, _| match rows {
                Numbers::Floats(rows) => {
                    Numbers::Floats(accumulate(rows, |max, x| if max.is_nan() || max >= x { max } else { x }))
                }
                Numbers::Integers(rows) => Numbers::Integers(accumulate(rows, i64::max)),
            },
        ),
        scan(
            "array._cum_count",
            None,
            "Number of present rows up to this one.",
            Gives::Counts,
            |rows, _, _| {
                let ones: Vec<Option<i64>> = rows.presence().map(|there| there.then_some(1)).collect();
                Numbers::Integers(accumulate(&ones, |count, _| count + 1))
            },
        ),
        scan("array._agg_index", None, "Number of the row in its group.", Gives::Counts, |rows, _, _| {
            Numbers::Integers(
                (0..).zip(rows.presence()).map(|(place, there)| there.then_some(place)).collect(),
            )
        }),
        scan(
            "array._ordinal_rank",
            Some(BOOLEAN),
            "Place of each present row in their order; of equal rows the first comes first, NaN comes last.",
            Gives::Ranks,
            |rows, _, descending| match rows {
                Numbers::Floats(rows) => Numbers::Floats(order::ordinal_ranks(rows, descending != 0.0)),
                Numbers::Integers(rows) => Numbers::Floats(order::ordinal_ranks(rows, descending != 0.0)),
            },
        ),
        scan(
            "array._dense_rank",
            Some(BOOLEAN),
            "Place of each present row among the distinct values in their order; NaN comes last.",
            Gives::Ranks,
            |rows, _, descending| match rows {
                Numbers::Floats(rows) => Numbers::Floats(order::dense_ranks(rows, descending != 0.0)),
                Numbers::Integers(rows) => Numbers::Floats(order::dense_ranks(rows, descending != 0.0)),
            },
        ),
        scan(
            "math._cdf",
            None,
            "Share of the present rows that are not above the row.",
            Gives::Shares,
            |rows, _, _| match rows {
                Numbers::Floats(rows) => Numbers::Floats(order::cdf(rows)),
                Numbers::Integers(rows) => Numbers::Floats(order::cdf(rows)),
            },
        ),
        scan(
            "math._softmax",
            Some(FLOAT64),
            "exp(beta * (x - max)), over the sum of it for all present rows.",
            Gives::Shares,
            |rows, _, beta| Numbers::Floats(order::softmax(&rows.to_floats(), beta)),
        ),
    ]
}

/// What a scan gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// Numbers of the type of the rows.
    Numbers,
    /// Floats: those of float rows, FLOAT64 of integers.
    Shares,
    /// INT64, by the order of the rows.
    Ranks,
    /// INT64, by where rows are present.
    Counts,
}

impl Gives {
    /// The element of the result; `None` if the rows cannot be scanned.
    fn result(self, element: ScalarType) -> Option<ScalarType> {
        match self {
            Gives::Numbers => element.is_numeric().then_some(element),
            Gives::Shares if element.is_integer() => Some(ScalarType::Float64),
            Gives::Shares => element.is_numeric().then_some(element),
            Gives::Ranks => element.is_numeric().then_some(ScalarType::Int64),
            Gives::Counts => Some(ScalarType::Int64),
        }
    }
}

/// The rows of a group. Not every INT64 is a double, so integers stay what they are.
enum Numbers {
    /// Rows of floats; of what is no number, only presence means something.
    Floats(Vec<Option<f64>>),
    /// Rows of INT32 or INT64.
    Integers(Vec<Option<i64>>),
}

impl Numbers {
    fn of_rows(rows: &ArrayRows, numbers: impl Iterator<Item = usize>) -> Numbers {
        match rows.element().is_integer() {
            true => Numbers::Integers(numbers.map(|row| rows.get(row)?.as_i64()).collect()),
            false => {
                let float = |row| rows.get(row).map(|value| value.as_f64().unwrap_or(0.0));
                Numbers::Floats(numbers.map(float).collect())
            }
        }
    }

    fn presence(&self) -> impl Iterator<Item = bool> {
        let (floats, integers) = match self {
            Numbers::Floats(rows) => (&rows[..], &[][..]),
            Numbers::Integers(rows) => (&[][..], &rows[..]),
        };
        floats.iter().map(Option::is_some).chain(integers.iter().map(Option::is_some))
    }

    fn to_floats(&self) -> Vec<Option<f64>> {
        match self {
            Numbers::Floats(rows) => rows.clone(),
            Numbers::Integers(rows) => rows.iter().map(|row| row.map(|x| x as f64)).collect(),
        }
    }

    /// The rows as values of an element.
    fn into_values(self, element: ScalarType) -> Vec<Option<ScalarValue>> {
        let float = |x: f64| match element {
            ScalarType::Int64 => ScalarValue::Int64(x as i64),
            ScalarType::Float32 => ScalarValue::Float32(x as f32),
            _ => ScalarValue::Float64(x),
        };
        let integer = |x: i64| match element {
            ScalarType::Int32 => ScalarValue::Int32(x as i32),
            _ => ScalarValue::Int64(x),
        };
        match self {
            Numbers::Floats(rows) => rows.into_iter().map(|row| row.map(float)).collect(),
            Numbers::Integers(rows) => rows.into_iter().map(|row| row.map(integer)).collect(),
        }
    }
}

/// The rows of a group, their type, and the option as a number, to the rows of the result.
type Scan = fn(&Numbers, ScalarType, f64) -> Numbers;

fn accumulate<T: Copy>(rows: &[Option<T>], next: impl Fn(T, T) -> T) -> Vec<Option<T>> {
    let mut last: Option<T> = None;
    let step = |row: &Option<T>| {
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
        let mut values: Vec<Option<ScalarValue>> = vec![None; rows.len()];
        let scanned = |numbers| f(&numbers, of, option).into_values(element);
        if edge {
            check_children(rows, call.edge(1))?;
            for group in call.edge(1).groups().iter() {
                let results = scanned(Numbers::of_rows(rows, group.iter().copied()));
                group.iter().zip(results).for_each(|(row, value)| values[*row] = value);
            }
        } else {
            values = scanned(Numbers::of_rows(rows, 0..rows.len()));
        }
        let mut out = call.array_out();
        out.start(element);
        values.into_iter().try_for_each(|value| out.push(value.as_ref()))
    }))
}
