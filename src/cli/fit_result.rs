//! Results of fits, as tables and as JSON.

use crate::cli::fit_args::FitArgs;
use crate::cli::fit_task::Task;
use crate::cli::table::{Align, TableColumn, table};
use crate::fit::confidence::{ConfidenceInterval, SIGMAS};
use crate::fit::statistics::FittedParameter;
use crate::fit::{Fit, FitError, Noise};
use crate::model::quantity::{Number, Quantity};
use serde_json::{Value as Json, json};

/// Correlations that a table shows.
const NOTABLE: f64 = 0.5;

/// How near a value is to a bound to be at it, relative to its size.
const AT_BOUND: f64 = 1e-6;

/// What came out.
#[derive(Debug)]
pub enum Outcome {
    /// One fit.
    Whole {
        /// The fit.
        fit: Fit,
        /// Confidence intervals, if they were asked for.
        confidence: Vec<ConfidenceInterval>,
    },
    /// A fit a time.
    Slices(Vec<Slice>),
}

/// The fit of one time.
#[derive(Debug)]
pub struct Slice {
    /// The time.
    pub time: f64,
    /// The fit.
    pub fit: Result<Fit, FitError>,
}

/// The result for people.
pub fn text(args: &FitArgs, tasks: &[Task], outcome: &Outcome) -> String {
    let files = tasks.iter().map(|task| task.file.as_str()).collect::<Vec<_>>().join(", ");
    let head = format!("{} fit of {files} by {}\n\n", args.kind.name(), args.method.method().name());
    match outcome {
        Outcome::Whole { fit, confidence } => {
            head + &parameters(fit) + &statistics(fit) + &correlations(fit) + &intervals(confidence)
        }
        Outcome::Slices(slices) => head + &traces(slices),
    }
}

fn left(heading: &str, cells: impl Iterator<Item = String>) -> TableColumn {
    (Align::Left, std::iter::once(heading.to_owned()).chain(cells).collect())
}

fn right(heading: &str, cells: impl Iterator<Item = String>) -> TableColumn {
    (Align::Right, std::iter::once(heading.to_owned()).chain(cells).collect())
}

fn parameters(fit: &Fit) -> String {
    let all = &fit.parameters;
    table(&[
        left("parameter", all.iter().map(|p| p.name.clone())),
        right("value", all.iter().map(|p| measured(p.value, p.standard_error))),
        right("error", all.iter().map(error_cell)),
        right("initial", all.iter().map(initial)),
        left("", all.iter().map(remark)),
    ])
}

fn error_cell(parameter: &FittedParameter) -> String {
    match (&parameter.initial, parameter.standard_error) {
        (Quantity::Number(number), _) if !number.vary.is_free() => String::new(),
        (_, Some(error)) => format!("± {}", measured(error, Some(error))),
        (_, None) => "?".to_owned(),
    }
}

/// A value with the digits that its error leaves it, two of the error.
fn measured(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) if error > 0.0 && error.is_finite() && value.is_finite() => {
            let decimals = 1 - error.log10().floor() as i32;
            match decimals {
                0..=12 => format!("{value:.*}", decimals as usize),
                _ => format!("{value:.6e}"),
            }
        }
        _ => format!("{value}"),
    }
}

fn initial(parameter: &FittedParameter) -> String {
    match &parameter.initial {
        Quantity::Number(number) => number.value.to_string(),
        Quantity::Expression(_) => String::new(),
    }
}

fn remark(parameter: &FittedParameter) -> String {
    match &parameter.initial {
        Quantity::Expression(expression) => format!("= {}", expression.text()),
        Quantity::Number(number) if !number.vary.is_free() => "fixed".to_owned(),
        Quantity::Number(number) => at_bound(number, parameter.value).map_or(String::new(), str::to_owned),
    }
}

fn at_bound(number: &Number, value: f64) -> Option<&'static str> {
    // A bound that is not there is infinite, and so would be its neighbourhood.
    let is_near = |bound: f64| bound.is_finite() && (value - bound).abs() <= AT_BOUND * bound.abs().max(1.0);
    match () {
        () if is_near(number.min) => Some("at its lower bound"),
        () if is_near(number.max) => Some("at its upper bound"),
        () => None,
    }
}

fn statistics(fit: &Fit) -> String {
    let unsure = match fit.covariance {
        Some(_) => "",
        None => "\nthe data do not determine all parameters: there are no errors",
    };
    format!(
        "\nchi² {:.6}, reduced {:.6}, AIC {:.3}, BIC {:.3}\n{} points, {} free parameters, {} evaluations{unsure}\n",
        fit.chi_square,
        fit.reduced_chi_square,
        fit.aic,
        fit.bic,
        fit.points,
        fit.theta.len(),
        fit.evaluations,
    )
}

/// Pairs that vary together, the strongest first.
fn correlations(fit: &Fit) -> String {
    let count = fit.theta.len();
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
    let mut notable: Vec<(f64, usize, usize)> = pairs
        .filter_map(|(i, j)| Some((fit.correlation(i, j)?, i, j)))
        .filter(|(correlation, ..)| correlation.abs() >= NOTABLE)
        .collect();
    notable.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    if notable.is_empty() {
        return String::new();
    }
    let name = |index: usize| fit.theta_names[index].clone();
    "\n".to_owned()
        + &table(&[
            left("correlated", notable.iter().map(|(_, i, _)| name(*i))),
            left("with", notable.iter().map(|(.., j)| name(*j))),
            right("by", notable.iter().map(|(c, ..)| format!("{c:.3}"))),
        ])
}

fn intervals(intervals: &[ConfidenceInterval]) -> String {
    if intervals.is_empty() {
        return String::new();
    }
    let cell = |i: &ConfidenceInterval, end: f64| measured(end, Some((i.above[0] - i.below[0]).abs() / 20.0));
    let lower = (0..SIGMAS.len())
        .rev()
        .map(|at| right(&format!("-{}σ", SIGMAS[at]), intervals.iter().map(move |i| cell(i, i.below[at]))));
    let upper = (0..SIGMAS.len())
        .map(|at| right(&format!("+{}σ", SIGMAS[at]), intervals.iter().map(move |i| cell(i, i.above[at]))));
    let names = left("confidence", intervals.iter().map(|i| i.name.clone()));
    let best = right("best", intervals.iter().map(|i| cell(i, i.best)));
    let columns: Vec<TableColumn> =
        std::iter::once(names).chain(lower).chain(std::iter::once(best)).chain(upper).collect();
    "\n".to_owned() + &table(&columns)
}

/// A line a time; a failed fit says why.
fn traces(slices: &[Slice]) -> String {
    let names = slices.iter().find_map(|s| s.fit.as_ref().ok()).map(|fit| fit.theta_names.clone());
    let mut columns = vec![right("time", slices.iter().map(|s| s.time.to_string()))];
    for (index, name) in names.unwrap_or_default().iter().enumerate() {
        let error = |fit: &Fit| fit.covariance.as_ref().map(|c| c[index][index].sqrt());
        let value = |s: &Slice| s.fit.as_ref().map_or(String::new(), |f| measured(f.theta[index], error(f)));
        let error = |s: &Slice| {
            let error = s.fit.as_ref().ok().and_then(error);
            error.map_or(String::new(), |e| format!("± {}", measured(e, Some(e))))
        };
        columns.push(right(name, slices.iter().map(value)));
        columns.push(left("", slices.iter().map(error)));
    }
    let chi_square = |s: &Slice| s.fit.as_ref().map_or(String::new(), |fit| format!("{:.6}", fit.chi_square));
    columns.push(right("chi²", slices.iter().map(chi_square)));
    if slices.iter().any(|s| s.fit.is_err()) {
        let reason = |s: &Slice| s.fit.as_ref().err().map_or(String::new(), ToString::to_string);
        columns.push(left("", slices.iter().map(reason)));
    }
    table(&columns)
}

/// The result for programs; numbers that JSON has not are texts.
pub fn json(args: &FitArgs, tasks: &[Task], outcome: &Outcome, warnings: &[String]) -> String {
    let mut json = json!({
        "kind": args.kind.name(),
        "method": args.method.method().name(),
        "evaluator": args.evaluator.kind().name(),
        "noise": noise_json(args.noise),
        "files": tasks.iter().map(|task| task.file.as_str()).collect::<Vec<_>>(),
        "warnings": warnings,
    });
    match outcome {
        Outcome::Whole { fit, confidence } => {
            json["fit"] = fit_json(fit);
            if !confidence.is_empty() {
                json["confidence"] = confidence.iter().map(interval_json).collect();
            }
        }
        Outcome::Slices(slices) => json["slices"] = slices.iter().map(slice_json).collect(),
    }
    format!("{json:#}\n")
}

fn number(value: f64) -> Json {
    match value {
        v if v.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        v => json!(v),
    }
}

fn numbers(values: &[f64]) -> Json {
    values.iter().map(|value| number(*value)).collect()
}

fn noise_json(noise: Noise) -> Json {
    match noise {
        Noise::Unknown => json!({ "kind": "unknown" }),
        Noise::Gaussian { sigma } => json!({ "kind": "gaussian", "sigma": sigma }),
        Noise::Poisson { scale } => json!({ "kind": "poisson", "scale": scale }),
    }
}

fn fit_json(fit: &Fit) -> Json {
    json!({
        "points": fit.points,
        "free": fit.theta.len(),
        "evaluations": fit.evaluations,
        "chi_square": number(fit.chi_square),
        "reduced_chi_square": number(fit.reduced_chi_square),
        "aic": number(fit.aic),
        "bic": number(fit.bic),
        "parameters": fit.parameters.iter().map(parameter_json).collect::<Vec<_>>(),
        "theta_names": fit.theta_names,
        "theta": numbers(&fit.theta),
        "covariance": fit.covariance.as_ref().map(|c| c.iter().map(|row| numbers(row)).collect::<Vec<_>>()),
    })
}

fn parameter_json(parameter: &FittedParameter) -> Json {
    let mut json = json!({
        "name": parameter.name,
        "value": number(parameter.value),
        "standard_error": parameter.standard_error.map(number),
    });
    match &parameter.initial {
        Quantity::Expression(expression) => json["expression"] = expression.text().into(),
        Quantity::Number(Number { value, vary, min, max }) => {
            json["initial"] = number(*value);
            json["free"] = vary.is_free().into();
            json["min"] = number(*min);
            json["max"] = number(*max);
        }
    }
    json
}

fn interval_json(interval: &ConfidenceInterval) -> Json {
    json!({
        "name": interval.name,
        "best": number(interval.best),
        "sigmas": SIGMAS,
        "below": numbers(&interval.below),
        "above": numbers(&interval.above),
    })
}

fn slice_json(slice: &Slice) -> Json {
    match &slice.fit {
        Ok(fit) => json!({ "time": number(slice.time), "fit": fit_json(fit) }),
        Err(error) => json!({ "time": number(slice.time), "error": error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::quantity::Vary;

    #[test]
    fn only_bounds_that_are_there_are_met() {
        let at = |min, max, value| at_bound(&Number { value: 1.0, vary: Vary::File, min, max }, value);
        assert_eq!(at(f64::NEG_INFINITY, f64::INFINITY, 0.3), None);
        assert_eq!(at(0.0, f64::INFINITY, 1e-9), Some("at its lower bound"));
        assert_eq!(at(f64::NEG_INFINITY, 25.0, 25.0 - 1e-7), Some("at its upper bound"));
    }
}
