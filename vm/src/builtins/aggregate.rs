//! Aggregations: from the present rows of an array to one value.

use crate::layout::PlainSlot;
use crate::operator::{Call, Family, Overload};
use crate::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use crate::value::{ArrayRows, QType, ScalarType};
use crate::vector::reduce::{self, Number};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new("math.sum", &["x"], "Sum of the present rows; 0 without any. Integers wrap.")
            .cost_of(10)
            .on_demand(|family, args| numbers(family, args, Sum)),
        Family::new("math.prod", &["x"], "Product of the present rows. Integers wrap.")
            .cost_of(10)
            .on_demand(|family, args| numbers(family, args, Prod)),
        Family::new("math.min", &["x"], "The least present row; NaN if there is one.")
            .cost_of(10)
            .on_demand(|family, args| numbers(family, args, Min)),
        Family::new("math.max", &["x"], "The greatest present row; NaN if there is one.")
            .cost_of(10)
            .on_demand(|family, args| numbers(family, args, Max)),
        Family::new(
            "math.median",
            &["x"],
            "The present row in the middle of their order, of an even number the lower one; NaN if there is one.",
        )
        .cost_of(30)
        .on_demand(|family, args| numbers(family, args, Median)),
        Family::new("math.argmin", &["x"], "Number of the first row that is the least, or of the first NaN.")
            .cost_of(10)
            .on_demand(|family, args| numbers(family, args, ArgMin)),
        Family::new("math.argmax", &["x"], "Number of the first row that is the greatest, or of the first NaN.")
            .cost_of(10)
            .on_demand(|family, args| numbers(family, args, ArgMax)),
        Family::new("math.mean", &["x"], "Arithmetic mean of the present rows.")
            .cost_of(10)
            .on_demand(|family, args| reals(family, args, reduce::mean::<f32>, reduce::mean::<f64>)),
        Family::new("math.skew", &["x"], "Third standardised moment of the present rows.")
            .cost_of(20)
            .on_demand(|family, args| reals(family, args, reduce::skew::<f32>, reduce::skew::<f64>)),
        Family::new("math.kurtosis", &["x"], "Fourth standardised moment of the present rows, less 3.")
            .cost_of(20)
            .on_demand(|family, args| reals(family, args, reduce::kurtosis::<f32>, reduce::kurtosis::<f64>)),
        Family::new(
            "math.var",
            &["x", "unbiased"],
            "Variance of the present rows: of the squares over their number, less one if unbiased.",
        )
        .cost_of(20)
        .on_demand(|family, args| spread(family, args, reduce::var::<f32>, reduce::var::<f64>)),
        Family::new("math.std", &["x", "unbiased"], "Square root of the variance of the present rows.")
            .cost_of(20)
            .on_demand(|family, args| spread(family, args, reduce::std::<f32>, reduce::std::<f64>)),
        Family::new("array.count", &["x"], "Number of present rows.").cost_of(5).on_demand(|family, args| {
            of_rows(family, args, |rows| present_count(rows) as i64)
        }),
        Family::new("array.size", &["x"], "Number of rows.")
            .on_demand(|family, args| of_rows(family, args, |rows| rows.len() as i64)),
        Family::new("core._all_rows", &["x"], "Present if every row of the mask is.")
            .cost_of(5)
            .on_demand(|family, args| mask(family, args, |present, rows| present == rows)),
        Family::new("core._any_row", &["x"], "Present if one row of the mask is.")
            .cost_of(5)
            .on_demand(|family, args| mask(family, args, |present, _| present > 0)),
        Family::new("bool.logical_all", &["x"], "False if a row is false, else missing if one is, else true.")
            .cost_of(5)
            .on_demand(|family, args| kleene(family, args, false)),
        Family::new("bool.logical_any", &["x"], "True if a row is true, else missing if one is, else false.")
            .cost_of(5)
            .on_demand(|family, args| kleene(family, args, true)),
    ]
}

/// The present rows one after the other, with their numbers if some are missing.
struct Present<'a, T> {
    values: &'a mut [T],
    numbers: Option<BumpVec<'a, usize>>,
}

fn present<'a, T: bytemuck::AnyBitPattern>(rows: &ArrayRows, arena: &'a Bump) -> Present<'a, T> {
    let cell = |row: usize| {
        bytemuck::pod_read_unaligned::<T>(&rows.bytes()[row * size_of::<T>()..][..size_of::<T>()])
    };
    match rows.presence() {
        None => Present { values: arena.alloc_slice_fill_with(rows.len(), cell), numbers: None },
        Some(_) => {
            let present = (0..rows.len()).filter(|row| rows.is_present(*row));
            let numbers = BumpVec::from_iter_in(present, arena);
            let values = arena.alloc_slice_fill_with(numbers.len(), |i| cell(numbers[i]));
            Present { values, numbers: Some(numbers) }
        }
    }
}

impl<T> Present<'_, T> {
    /// The number that a value had among all rows.
    fn number(&self, index: usize) -> i64 {
        self.numbers.as_ref().map_or(index, |numbers| numbers[index]) as i64
    }
}

fn present_count(rows: &ArrayRows) -> usize {
    let count = |words: &[u64]| words.iter().map(|word| word.count_ones() as usize).sum();
    rows.presence().map_or(rows.len(), count)
}

/// A reduction of numbers of any type.
trait Reduce: Copy + Send + Sync + 'static {
    /// Type of the result for rows of a type.
    fn result(element: ScalarType) -> QType;

    /// Reduces and writes the result.
    fn apply<T: Number + PlainSlot>(call: &mut Call<'_>, rows: Present<'_, T>)
    where
        Option<T>: PlainSlot;
}

macro_rules! reductions {
    ($($name:ident: $result:expr, |$rows:ident| $value:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        impl Reduce for $name {
            fn result(element: ScalarType) -> QType {
                ($result)(element)
            }

            fn apply<T: Number + PlainSlot>(call: &mut Call<'_>, $rows: Present<'_, T>)
            where
                Option<T>: PlainSlot,
            {
                call.set_plain($value);
            }
        }
    )*};
}

reductions! {
    Sum: QType::Scalar, |rows| T::sum(rows.values);
    Prod: QType::Optional, |rows| reduce::prod(rows.values);
    Min: QType::Optional, |rows| reduce::min(rows.values);
    Max: QType::Optional, |rows| reduce::max(rows.values);
    Median: QType::Optional, |rows| reduce::median(rows.values);
    ArgMin: |_| QType::Optional(ScalarType::Int64), |rows| reduce::argmin(rows.values).map(|at| rows.number(at));
    ArgMax: |_| QType::Optional(ScalarType::Int64), |rows| reduce::argmax(rows.values).map(|at| rows.number(at));
}

fn numbers<R: Reduce>(family: &Family, args: &[QType], _: R) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    macro_rules! kernel {
        ($rust:ty) => {
            family.make_general(args, R::result(t.element), |call| {
                let rows = present::<$rust>(call.array(0), call.arena());
                R::apply(call, rows);
                Ok(())
            })
        };
    }
    Some(match t.element {
        ScalarType::Int32 => kernel!(i32),
        ScalarType::Int64 => kernel!(i64),
        ScalarType::Float32 => kernel!(f32),
        ScalarType::Float64 => kernel!(f64),
        _ => return None,
    })
}

fn reals(
    family: &Family,
    args: &[QType],
    single: fn(&[f32]) -> Option<f32>,
    double: fn(&[f64]) -> Option<f64>,
) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    let result = QType::Optional(t.element);
    match t.element {
        ScalarType::Float32 => Some(family.make_general(args, result, move |call| {
            call.set_plain(single(present::<f32>(call.array(0), call.arena()).values));
            Ok(())
        })),
        ScalarType::Float64 => Some(family.make_general(args, result, move |call| {
            call.set_plain(double(present::<f64>(call.array(0), call.arena()).values));
            Ok(())
        })),
        _ => None,
    }
}

fn spread(
    family: &Family,
    args: &[QType],
    single: fn(&[f32], bool) -> Option<f32>,
    double: fn(&[f64], bool) -> Option<f64>,
) -> Option<Overload> {
    let [QType::Array(t), unbiased] = args else { return None };
    if *unbiased != BOOLEAN {
        return None;
    }
    let result = QType::Optional(t.element);
    match t.element {
        ScalarType::Float32 => Some(family.make_general(args, result, move |call| {
            let rows = present::<f32>(call.array(0), call.arena());
            call.set_plain(single(rows.values, call.plain(1)));
            Ok(())
        })),
        ScalarType::Float64 => Some(family.make_general(args, result, move |call| {
            let rows = present::<f64>(call.array(0), call.arena());
            call.set_plain(double(rows.values, call.plain(1)));
            Ok(())
        })),
        _ => None,
    }
}

fn of_rows(family: &Family, args: &[QType], f: fn(&ArrayRows) -> i64) -> Option<Overload> {
    let [QType::Array(_)] = args else { return None };
    Some(family.make_general(args, QType::Scalar(ScalarType::Int64), move |call| {
        call.set_plain(f(call.array(0)));
        Ok(())
    }))
}

fn mask(family: &Family, args: &[QType], holds: fn(usize, usize) -> bool) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    (t.element == ScalarType::Unit).then(|| {
        family.make_general(args, OPTIONAL_UNIT, move |call| {
            let rows = call.array(0);
            call.set_plain(holds(present_count(rows), rows.len()).then_some(()));
            Ok(())
        })
    })
}

/// The value that decides wherever it stands, else missing if a row is, else the other one.
fn kleene(family: &Family, args: &[QType], decides: bool) -> Option<Overload> {
    let [QType::Array(t)] = args else { return None };
    (t.element == ScalarType::Boolean).then(|| {
        family.make_general(args, QType::Optional(ScalarType::Boolean), move |call| {
            let rows = call.array(0);
            let present = present::<u8>(rows, call.arena()).values;
            let value = match present.iter().any(|truth| (*truth != 0) == decides) {
                true => Some(decides),
                false => (present.len() == rows.len()).then_some(!decides),
            };
            call.set_plain(value);
            Ok(())
        })
    })
}
