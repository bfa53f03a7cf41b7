//! Recorded fits: the same optimum, the same errors.

use super::recorded::{float, floats, folder, id, model};
use cembra::fit::{Fit, FitError, Method, Noise, Problem, Settings, fit, fit_with};
use serde_json::Value as Json;

/// How much worse the sum of squares may be, relatively.
const WORSE: f64 = 1e-9;

/// How far a parameter may be, in standard errors.
const FAR: f64 = 1e-3;

/// How far a standard error may be, relatively.
const ERROR: f64 = 2e-3;

/// Errors that may be further away: (fit, parameter, relative difference, reason).
const INEXACT: [(&str, &str, f64, &str); 1] = [(
    "f10_1d_at_bound",
    "GLP_01_m",
    3e-3,
    "recorded with the derivatives of the step before the last, which the slope at the bound magnifies; \
     continued to convergence, the published solver gives our value",
)];

fn noise(case: &Json) -> Noise {
    let declared = &case["noise"]["declared"];
    match declared[0][0].as_str() {
        Some("gaussian") => Noise::Gaussian { sigma: float(&declared[1]["sigma"]) },
        Some("poisson") => Noise::Poisson { scale: float(&declared[1]["scale"]) },
        _ => Noise::Unknown,
    }
}

fn window(case: &Json, name: &str, all: usize) -> std::ops::Range<usize> {
    match floats(&case["fit_window"][name])[..] {
        [from, to] => from as usize..to as usize,
        _ => 0..all,
    }
}

fn fitted(case: &Json) -> Fit {
    fitted_by(case, Method::LevenbergMarquardt).unwrap_or_else(|e| panic!("{}: {e}", id(case)))
}

fn fitted_by(case: &Json, method: Method) -> Result<Fit, FitError> {
    let model = model(case);
    let (energies, times) =
        (window(case, "e_lim", model.energy.len()), window(case, "t_lim", model.time.len().max(1)));
    let problem = Problem::new(&model, floats(&case["data"]))
        .and_then(|problem| problem.with_window(energies, times))
        .and_then(|problem| problem.with_noise(noise(case)));
    let problem = problem.unwrap_or_else(|e| panic!("{}: {e}", id(case)));
    fit_with(&problem, Settings { method, ..Settings::default() }, &())
}

/// What differs from the recorded result.
fn differences(case: &str, result: &Json, fit: &Fit) -> Vec<String> {
    let mut found = Vec::new();
    let chi_square = float(&result["chisqr"]);
    if fit.chi_square > chi_square * (1.0 + WORSE) {
        found.push(format!("chi² {} instead of {chi_square}", fit.chi_square));
    }
    for expected in result["params"].as_array().expect("parameters") {
        let name = expected["name"].as_str().expect("a name");
        let (value, error) = (float(&expected["value"]), float(&expected["stderr"]));
        let actual = fit.parameters.iter().find(|p| p.name == name).expect("the same parameters");
        let actual_error = actual.standard_error.expect("a covariance");
        if (actual.value - value).abs() > FAR * error + 1e-12 * value.abs() {
            found.push(format!("{name} {} instead of {value} ± {error}", actual.value));
        }
        let inexact = INEXACT.iter().find(|e| e.0 == case && e.1 == name);
        if (actual_error - error).abs() > inexact.map_or(ERROR, |e| e.2) * error {
            found.push(format!("error of {name} {actual_error} instead of {error}"));
        }
    }
    found
}

#[test]
fn recorded_fits() {
    let (mut right, mut wrong) = (0, Vec::new());
    // One fit ends somewhere else if its start is changed by 1e-14; it is recorded as no oracle.
    for case in folder("fits").iter().filter(|case| case["strict_oracle"] == true) {
        let fit = fitted(case);
        let result = &case["result"];
        let found = differences(id(case), result, &fit);
        assert_eq!(result["ndata"], fit.points, "{}", id(case));
        if !fit_is_declared(case) {
            for (name, actual) in [("redchi", fit.reduced_chi_square), ("aic", fit.aic), ("bic", fit.bic)] {
                let expected = float(&result[name]);
                assert!((expected - actual).abs() <= 1e-6 * expected.abs(), "{} {name}: {actual}", id(case));
            }
        }
        right += usize::from(found.is_empty());
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", id(case))));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(right, 13);
}

/// Variable projection ends where the others end; counts have no linear residuals.
#[test]
fn recorded_fits_by_variable_projection() {
    let (mut right, mut wrong, mut refused) = (0, Vec::new(), Vec::new());
    for case in folder("fits").iter().filter(|case| case["strict_oracle"] == true) {
        match fitted_by(case, Method::VariableProjection) {
            Ok(fit) => {
                let found = differences(id(case), &case["result"], &fit);
                right += usize::from(found.is_empty());
                wrong.extend(found.into_iter().map(|what| format!("{}: {what}", id(case))));
            }
            Err(error) => refused.push(format!("{}: {error}", id(case))),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let reason = "variable projection does not apply: the residuals of counts are not linear in the spectrum";
    assert!(refused.len() == 1 && refused[0].contains(reason), "{refused:?}");
    assert_eq!(right, 12);
}

fn fit_is_declared(case: &Json) -> bool {
    noise(case).is_declared()
}

#[test]
fn problems_that_cannot_be_fitted() {
    let cases = folder("fits");
    let case = &cases[0];
    let model = model(case);
    assert_eq!(Problem::new(&model, vec![1.0]).err(), Some(FitError::DataSize { expected: 120, actual: 1 }));
    let problem = || Problem::new(&model, floats(&case["data"])).expect("all data");
    let window = problem().with_window(0..121, 0..1).err();
    assert_eq!(window, Some(FitError::Window { axis: "energy", from: 0, to: 121, points: 120 }));
    let few = problem().with_window(3..6, 0..1).expect("a window");
    assert_eq!(fit(&few).err(), Some(FitError::TooFewPoints { free: 5, points: 3 }));
    assert!(problem().with_noise(Noise::Gaussian { sigma: -1.0 }).is_err());
}

/// A fitted model begins where the fit ended.
#[test]
fn values_are_written_back() {
    let case = &folder("fits")[0];
    let fitted_values = fitted(case);
    let again = fitted_values.fitted(&model(case));
    assert_eq!(again.theta(), fitted_values.theta);
    assert!((fitted_values.correlation(0, 0).expect("a covariance") - 1.0).abs() < 1e-12);
}
