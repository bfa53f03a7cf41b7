//! Schedules: what is recorded as lowered has one, so has what was not, and packed they are as recorded.

use super::recorded::{difference, float, floats, folder, id, model, theta};
use crate::reference::replay;
use cembra::model::graph::GraphBuilder;
use cembra::model::graph::from_model::graph_of;
use cembra::model::schedule::packed::{Field, pack};
use cembra::model::schedule::{schedule, schedule_1d, schedule_2d};
use cembra::model::tree::Domain;
use cembra::model::{interpret, load};
use serde_json::Value as Json;

fn all_cases() -> Vec<Json> {
    folder("cases").into_iter().chain(folder("legacy_0_9_3")).collect()
}

#[test]
fn every_recorded_model_has_a_schedule() {
    let (mut lowered, mut fallback) = (0, 0);
    for case in all_cases() {
        let graph = graph_of(&model(&case)).unwrap_or_else(|e| panic!("{}: {e}", id(&case)));
        let was_lowered = case["can_lower_1d"] == true || case["can_lower_2d"] == true;
        let is_1d = case["dim"] == 1;
        assert_eq!(schedule_1d(&graph).is_ok(), is_1d, "{}", id(&case));
        assert_eq!(schedule_2d(&graph).is_ok(), !is_1d, "{}", id(&case));
        *(if was_lowered { &mut lowered } else { &mut fallback }) += 1;
    }
    assert_eq!((lowered, fallback), (73, 3));
}

/// The schedule gives the spectrum of the interpreter, for every recorded theta.
#[test]
fn schedules_agree_with_the_interpreter() {
    let mut evaluations = 0;
    for case in all_cases() {
        let model = model(&case);
        let graph = graph_of(&model).unwrap_or_else(|e| panic!("{}: {e}", id(&case)));
        let schedule = schedule(&graph).unwrap_or_else(|reasons| panic!("{}: {}", id(&case), reasons[0]));
        let names: Vec<&str> = schedule.theta_names().iter().map(String::as_str).collect();
        for eval in case["evals"].as_array().expect("evaluations") {
            let theta_of_model = theta(&case, eval, &model.theta_names());
            let expected = interpret::evaluate(&model, &theta_of_model).expect("theta is in order");
            let actual = replay::evaluate(&schedule, &theta(&case, eval, &names));
            assert_eq!(actual.shape, expected.shape, "{}", id(&case));
            assert_eq!(difference(&expected.values, &actual.values, 1e-10), None, "{}", id(&case));
            evaluations += 1;
        }
    }
    assert_eq!(evaluations, 180);
}

#[test]
fn theta_comes_in_the_recorded_order() {
    for case in all_cases() {
        let schedule = schedule(&graph_of(&model(&case)).expect("a graph")).expect("a schedule");
        let recorded = case["opt_param_names"].as_array().expect("names");
        assert!(recorded.iter().eq(schedule.theta_names()), "{}", id(&case));
    }
}

#[test]
fn recorded_schedules() {
    let cases = all_cases();
    let mut compared = 0;
    for recorded in folder("graphs") {
        // The published system has no plan for a kernel with a subcycle.
        let Some(plan) = recorded["plan"].as_object() else { continue };
        let case = cases.iter().find(|c| c["id"] == recorded["id"]).expect("a case of that name");
        let schedule = schedule(&graph_of(&model(case)).expect("a graph")).expect("a schedule");
        let packed = pack(&schedule).unwrap_or_else(|e| panic!("{}: {e}", id(&recorded)));
        assert_eq!(plan["_type"], packed.kind, "{}", id(&recorded));
        assert_eq!(plan.len(), packed.fields.len() + 1, "{}", id(&recorded));
        let json: Json = serde_json::from_str(&packed.json()).expect("JSON");
        for (name, expected) in plan.iter().filter(|(name, _)| *name != "_type") {
            assert!(packed.field(name).is_some(), "{} has no {name}", id(&recorded));
            let same = same(expected, &json[name]);
            assert!(same, "{} {name}:\n{expected}\n{}", id(&recorded), json[name]);
        }
        compared += 1;
    }
    assert_eq!(compared, 14);
}

/// Equal JSON, where numbers may differ in their last digits.
fn same(expected: &Json, actual: &Json) -> bool {
    match (expected, actual) {
        (Json::Array(e), Json::Array(a)) => e.len() == a.len() && e.iter().zip(a).all(|(e, a)| same(e, a)),
        (Json::Object(e), Json::Object(a)) => {
            e.len() == a.len() && e.iter().all(|(k, e)| a.get(k).is_some_and(|a| same(e, a)))
        }
        (Json::Number(_), Json::Number(_)) => {
            difference(&floats(expected), &[float(actual)], 1e-12).is_none()
        }
        _ => expected == actual,
    }
}

/// All obstacles are told at once, each with its nodes.
#[test]
fn reasons_name_their_nodes() {
    let mut graph =
        GraphBuilder::new("m", Domain::EnergyTime2D).with_energy(vec![1.0, 2.0]).with_time(vec![0.0, 1.0]);
    let height = graph.free("A", 1.0, (0.0, 2.0));
    let fancy = graph.component("Fancy_01", "Fancy", "energy", &[height]);
    let short = graph.component("Gauss_01", "Gauss", "energy", &[height]);
    let fed = graph.component("Offset", "Offset", "energy", &[fancy]);
    graph.sum("total", &[fancy, short, fed]);
    let graph = graph.build().expect("sound as a graph");
    let reasons = schedule_2d(&graph).expect_err("three obstacles");
    let text: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "Fancy_01: no evaluator has a function `Fancy`",
            "Gauss_01: Gauss has 3 parameters, not 1",
            "Offset: it reads a node that is no parameter",
        ]
    );
    let other = schedule_1d(&graph).expect_err("another domain");
    assert_eq!(other[0].to_string(), "the graph is ENERGY_TIME_2D, not ENERGY_1D");
}

/// A dynamics model by itself has a graph, a schedule and a file.
#[test]
fn a_time_model_by_itself() {
    let text = "
cembra: {time_model: d, time: {from: -2, to: 6, points: 33}}
d:
  sinFun: {A: [0.5, True], f: [0.2, True], phi: [0.1, False], t0: [0.0, False]}
  gaussCONV: {SD: [0.4, True, 0.001, 5.0]}
  expFun: {A: [2.0, True], tau: ['3*sinFun_01_A', ], t0: [0.0, False]}
  stepFun: {A: [1.0, True], t0: [1.0, False]}
";
    let model = load::read([("d.yaml", text)]).unwrap_or_else(|e| panic!("{}", e[0])).model;
    let graph = graph_of(&model).expect("a graph");
    let schedule = schedule(&graph).expect("a schedule");
    let expected = interpret::evaluate(&model, &model.theta()).expect("its own theta");
    let actual = replay::evaluate(&schedule, schedule.theta());
    assert_eq!(difference(&expected.values, &actual.values, 1e-12), None);
    assert_eq!(expected.shape, [33]);
    let field = pack(&schedule).expect("a plan").field("opt_param_names").cloned();
    let names = ["sinFun_01_A", "sinFun_01_f", "gaussCONV_SD", "expFun_01_A", "stepFun_01_A"];
    assert_eq!(field, Some(Field::Names(names.map(str::to_owned).to_vec())));
    let yaml = cembra::model::to_yaml::yaml(&model);
    let again =
        load::read([("again.yaml", yaml.as_str())]).unwrap_or_else(|e| panic!("{}\n{yaml}", e[0])).model;
    let values = interpret::evaluate(&again, &again.theta()).expect("its own theta").values;
    assert_eq!(difference(&expected.values, &values, 0.0), None, "{yaml}");
}
