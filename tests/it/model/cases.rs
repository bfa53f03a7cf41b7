//! Recorded spectra, within 1e-10 absolute and relative.

use super::recorded::{difference, floats, folder, id, model, theta};
use cembra::backend::model::EvaluatorKind;
use cembra::model::Model;
use cembra::model::interpret;
use serde_json::Value as Json;

/// Absolute and relative.
const TOLERANCE: f64 = 1e-10;

/// Cases left out, with the deliberate difference.
const EXCLUDED: [(&str, &str); 1] =
    [("s_1d_param_order", "recorded with parameters bound by position; here they are bound by name")];

/// What the published system gives: its interpreter where it has an answer, else its plan. Where the two
/// disagree, the file's order counts as it does in the interpreter.
fn expected(eval: &Json) -> Option<Vec<f64>> {
    eval.get("interpreter").or_else(|| eval.get("gir")).map(floats)
}

/// Runs an evaluator on all recorded evaluations of a folder; gives cases and evaluations that agree.
fn check(name: &str, evaluate: impl Fn(&Model, &[f64]) -> Vec<f64>) -> (usize, usize) {
    let (mut cases, mut evaluations, mut wrong) = (0, 0, Vec::new());
    for case in folder(name) {
        let model = model(&case);
        let excluded = EXCLUDED.iter().any(|e| id(&case) == e.0);
        let mut differences = Vec::new();
        for (index, eval) in case["evals"].as_array().expect("evaluations").iter().enumerate() {
            let values = evaluate(&model, &theta(&case, eval, &model.theta_names()));
            // Where the published system raises, arithmetic goes on with infinities and NaN.
            let Some(expected) = expected(eval) else { continue };
            match difference(&expected, &values, TOLERANCE) {
                Some(what) => differences.push(format!("{} eval {index}: {what}", id(&case))),
                None => evaluations += 1,
            }
        }
        assert_eq!(excluded, excluded && !differences.is_empty(), "{} need not be excluded", id(&case));
        if !excluded {
            cases += usize::from(differences.is_empty());
            wrong.extend(differences);
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    (cases, evaluations)
}

fn interpreted(model: &Model, theta: &[f64]) -> Vec<f64> {
    interpret::evaluate(model, theta).expect("theta is in order").values
}

#[test]
fn spectra_of_the_interpreter() {
    assert_eq!(check("cases", interpreted), (66, 157));
}

#[test]
fn spectra_of_semantics_0_9() {
    assert_eq!(check("legacy_0_9_3", interpreted), (9, 18));
}

/// Models at random: lines, backgrounds, time courses, kernels, subcycles, profiles and expressions; also outside of the
/// bounds, and where components of several models would have one number.
#[test]
fn spectra_of_random_models() {
    assert_eq!(check("random", interpreted), (39, 110));
    assert_eq!(check("random", compiled), (39, 110));
}

fn compiled(model: &Model, theta: &[f64]) -> Vec<f64> {
    let mut evaluator = EvaluatorKind::Compiled.open(model);
    assert!(evaluator.fallback_reasons().is_empty(), "{:?}", evaluator.fallback_reasons());
    evaluator.evaluate(theta).expect("theta is in order").to_vec()
}

#[test]
fn components_add_up_to_the_spectrum() {
    for case in folder("cases") {
        let model = model(&case);
        let theta = model.theta();
        let curves = interpret::component_curves(&model, &theta).expect("theta is in order");
        let mut sum = vec![0.0; curves[0].values.len()];
        for curve in &curves {
            sum.iter_mut().zip(&curve.values).for_each(|(sum, value)| *sum += value);
        }
        let whole = interpreted(&model, &theta);
        assert_eq!(difference(&whole, &sum, 1e-12), None, "{}", id(&case));
    }
}
