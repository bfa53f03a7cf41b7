//! Compiled models: recorded spectra, derivatives against differences, no allocations.

use super::recorded::{difference, floats, folder, id, model, theta};
use cembra::backend::model::{CompiledModel, EvaluatorChoice, ModelEvaluator};
use cembra::model::Model;
use cembra::model::graph::from_model::graph_of;
use cembra::model::schedule::schedule;

/// The compiled model of a recorded case.
fn compiled(model: &Model) -> CompiledModel {
    let schedule = schedule(&graph_of(model).expect("a graph")).expect("a schedule");
    CompiledModel::new(&schedule).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn spectra_of_the_machine_are_those_of_the_interpreter() {
    let (mut cases, mut evaluations) = (0, 0);
    let mut wrong = Vec::new();
    for name in ["cases", "legacy_0_9_3"] {
        for case in folder(name) {
            let model = model(&case);
            let mut evaluator = ModelEvaluator::new(&model, EvaluatorChoice::Compare);
            assert!(
                evaluator.fallback_reasons().is_empty(),
                "{}: {:?}",
                id(&case),
                evaluator.fallback_reasons()
            );
            for (index, eval) in case["evals"].as_array().expect("evaluations").iter().enumerate() {
                let theta = theta(&case, eval, &model.theta_names());
                match evaluator.spectrum(&theta) {
                    Ok(_) => evaluations += 1,
                    Err(error) => wrong.push(format!("{} eval {index}: {error}", id(&case))),
                }
            }
            cases += 1;
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((cases, evaluations), (76, 181));
}
