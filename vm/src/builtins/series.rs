//! `experimental.*`: averages over the rows of a series up to each row. Sums are FLOAT64, whatever the rows are.

use crate::array::meter::{Meter, STRIDE};
use crate::builtins::present::{GroupsOf, check_children};
use crate::layout::access::PlainScalar;
use crate::operator::{Family, KernelCall, Overload};
use crate::value::qtype::{BOOLEAN, FLOAT64, INT64};
use crate::value::{ArrayRows, Fault, QType, ScalarType};
use bytemuck::Pod;

/// Name of `experimental._ewma`.
pub const EWMA: &str = "experimental._ewma";
/// Name of `experimental._moving_average`.
pub const MOVING_AVERAGE: &str = "experimental._moving_average";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            EWMA,
            &["series", "alpha", "adjust", "ignore_missing"],
            "The exponentially weighted average of the rows up to each one.",
        )
        .cost_of(20)
        .raises()
        .on_demand(ewma),
        Family::new(
            MOVING_AVERAGE,
            &["series", "window_size", "over"],
            "The average of the last rows of a group up to each one.",
        )
        .cost_of(20)
        .on_demand(moving_average),
    ]
}

/// Rows of floats as FLOAT64.
trait Float: Pod + PlainScalar {
    fn wide(self) -> f64;
    fn rounded(x: f64) -> Self;
}

impl Float for f32 {
    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn rounded(x: f64) -> f32 {
        x as f32
    }
}

impl Float for f64 {
    fn wide(self) -> f64 {
        self
    }

    fn rounded(x: f64) -> f64 {
        x
    }
}

/// The rows of an array, and which of them are present.
struct Series<'a, T> {
    cells: &'a [T],
    rows: &'a ArrayRows,
}

impl<'a, T: Float> Series<'a, T> {
    fn new(rows: &'a ArrayRows) -> Series<'a, T> {
        Series { cells: &bytemuck::cast_slice(rows.bytes())[..rows.len()], rows }
    }

    fn get(&self, row: usize) -> Option<f64> {
        self.rows.is_present(row).then(|| self.cells[row].wide())
    }
}

fn ewma(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t), alpha, adjust, ignore_missing] = args else { return None };
    if *alpha != FLOAT64 || *adjust != BOOLEAN || *ignore_missing != BOOLEAN {
        return None;
    }
    Some(match t.element {
        ScalarType::Float32 => family.make_general(args, args[0].clone(), averages::<f32>),
        ScalarType::Float64 => family.make_general(args, args[0].clone(), averages::<f64>),
        _ => return None,
    })
}

fn averages<T: Float>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (alpha, adjust, ignores_missing) =
        (call.plain::<f64>(1), call.plain::<bool>(2), call.plain::<bool>(3));
    if !(alpha > 0.0 && alpha <= 1.0) {
        let message = format!("alpha must be in range (0, 1], got {alpha}");
        return Err(Fault::Domain { message: message.into() });
    }
    let rows = call.array(0);
    let series = Series::<T>::new(rows);
    // Behind the last row that is present there is no average.
    let end = (0..rows.len()).rev().find(|row| rows.is_present(*row)).map_or(0, |last| last + 1);
    let mut weights = Weights { alpha, adjust, before: 1.0 };
    let mut average = None;
    call.array_out().fill_plain(rows.len(), |row| {
        if row >= end {
            return Ok(None);
        }
        let value = series.get(row);
        average = match (average, value) {
            (Some(average), Some(value)) => {
                weights.pass();
                Some(weights.merge(average, value))
            }
            (Some(average), None) => {
                if !ignores_missing {
                    weights.pass();
                }
                Some(average)
            }
            (None, Some(value)) => Some(weights.first(value)),
            (None, None) => None,
        };
        Ok(average.map(T::rounded))
    })
}

/// The weight of what came before, beside that of the next row: 1, or alpha if weights are not adjusted.
struct Weights {
    alpha: f64,
    adjust: bool,
    before: f64,
}

impl Weights {
    /// A row has passed.
    fn pass(&mut self) {
        self.before *= 1.0 - self.alpha;
    }

    fn first(&mut self, value: f64) -> f64 {
        match self.adjust {
            true => value,
            // As if the value had been there before.
            false => {
                self.pass();
                self.merge(value, value)
            }
        }
    }

    fn merge(&mut self, average: f64, value: f64) -> f64 {
        let next = if self.adjust { 1.0 } else { self.alpha };
        let merged = (self.before * average + next * value) / (self.before + next);
        self.before = if self.adjust { self.before + next } else { 1.0 };
        merged
    }
}

fn moving_average(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Array(t), window, over] = args else { return None };
    let is_edge = matches!(over, QType::Edge(class) | QType::EdgeToScalar(class) if *class == t.class);
    if !is_edge || *window != INT64 {
        return None;
    }
    Some(match t.element {
        ScalarType::Float32 => family.make_general(args, args[0].clone(), moving_averages::<f32>),
        ScalarType::Float64 => family.make_general(args, args[0].clone(), moving_averages::<f64>),
        _ => return None,
    })
}

fn moving_averages<T: Float>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (rows, window, edge, meter) = (call.array(0), call.plain::<i64>(1), call.edge(2), call.meter());
    check_children(rows.len(), edge)?;
    let groups = GroupsOf::new(edge, meter)?;
    let series = Series::<T>::new(rows);
    let mut out = call.array_out();
    out.resize(T::SCALAR, rows.len())?;
    out.presence_mut()?.fill(0);
    // Without rows, a window has no average.
    let window = usize::try_from(window).unwrap_or(0);
    let mut pace = meter.pace();
    for members in groups.iter() {
        pace.over(members.count() + 1)?;
        let value = |place: usize| series.get(members.row(place));
        each_average(members.count(), window, meter, value, |place, average| {
            out.put_plain(members.row(place), T::rounded(average))
        })?;
    }
    out.normalize();
    Ok(())
}

/// The averages of full windows over values, of which there are `count`; called with the place of each.
///
/// # Errors
/// What `put` fails with, or the run has to stop.
fn each_average(
    count: usize,
    window: usize,
    meter: &Meter<'_>,
    value: impl Fn(usize) -> Option<f64>,
    mut put: impl FnMut(usize, f64) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // Values one after the other up to here, of one window at most, and their sum.
    let (mut full, mut sum) = (0, 0.0);
    for place in 0..count {
        if place % STRIDE == STRIDE - 1 {
            meter.poll()?;
        }
        let Some(next) = value(place).filter(|_| window > 0) else {
            (full, sum) = (0, 0.0);
            continue;
        };
        match full == window {
            true => sum -= value(place - window).unwrap_or(0.0),
            false => full += 1,
        }
        sum += next;
        if full == window {
            put(place, sum / window as f64)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_full_or_have_no_average() {
        let values = [Some(1.0), Some(2.0), Some(4.0), None, Some(8.0), Some(10.0)];
        let averages = |window: usize| -> [Option<f64>; 6] {
            let mut averages = [None; 6];
            let put = |place: usize, average| {
                averages[place] = Some(average);
                Ok(())
            };
            each_average(values.len(), window, &Meter::of_default(), |place| values[place], put)
                .expect("no limit");
            averages
        };
        assert_eq!(averages(2), [None, Some(1.5), Some(3.0), None, None, Some(9.0)]);
        assert_eq!(averages(0), [None; 6]);
        assert_eq!(averages(7), [None; 6]);
    }
}
