//! Compiled models: recorded spectra, derivatives against differences, no allocations.

use super::recorded::{difference, folder, id, model, theta};
use allocation_counter::measure;
use cembra::backend::model::{CompiledModel, Evaluator, EvaluatorKind};
use cembra::model::graph::from_model::graph_of;
use cembra::model::schedule::schedule;
use cembra::model::{Model, interpret, load};
use cembra::vm::program::dump::dump;
use std::cell::RefCell;

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
            let mut evaluator = EvaluatorKind::Compare.open(&model);
            let mut machine = EvaluatorKind::Compiled.open(&model);
            assert!(
                evaluator.fallback_reasons().is_empty(),
                "{}: {:?}",
                id(&case),
                evaluator.fallback_reasons()
            );
            for (index, eval) in case["evals"].as_array().expect("evaluations").iter().enumerate() {
                let theta = theta(&case, eval, &model.theta_names());
                match evaluator.evaluate(&theta) {
                    Ok(spectrum) => {
                        let data: Vec<f64> = spectrum.iter().map(|value| value.mul_add(0.9, 0.25)).collect();
                        let squares = data.iter().zip(spectrum).map(|(data, value)| (data - value).powi(2));
                        let expected: f64 = squares.sum();
                        let found = machine.squares(&theta, &data).expect("the machine adds up squares");
                        let found = found.unwrap_or_else(|e| panic!("{}: {e}", id(&case)));
                        let is_nan = found.is_nan() && expected.is_nan();
                        let is_close = is_nan || (found / expected - 1.0).abs() < 1e-12;
                        assert!(is_close, "{} eval {index}: {found}, not {expected}", id(&case));
                        evaluations += 1;
                    }
                    Err(error) => wrong.push(format!("{} eval {index}: {error}", id(&case))),
                }
            }
            cases += 1;
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((cases, evaluations), (76, 180));
}

/// Central differences of order eight.
fn differences(at: impl Fn(f64) -> Vec<f64>, step: f64) -> Vec<f64> {
    const WEIGHTS: [f64; 4] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];
    let mut slope: Vec<f64> = Vec::new();
    for (index, weight) in WEIGHTS.iter().enumerate() {
        let by = step * (index + 1) as f64;
        let (above, below) = (at(by), at(-by));
        slope.resize(above.len(), 0.0);
        for (slope, (above, below)) in slope.iter_mut().zip(above.iter().zip(&below)) {
            *slope += weight * (above - below) / step;
        }
    }
    slope
}

/// The points where a column of derivatives is wrong by more than differences can tell.
fn wrong_points(compiled: &CompiledModel, theta: &[f64], index: usize, column: &[f64]) -> Vec<String> {
    let frame = RefCell::new(compiled.new_frame().expect("memory"));
    let spectrum = |by: f64| {
        let mut moved = theta.to_vec();
        moved[index] += by;
        compiled.evaluate(&moved, &mut frame.borrow_mut()).expect("a spectrum").to_vec()
    };
    let size = largest(&spectrum(0.0), 1e-3);
    let mut best: Vec<f64> = vec![f64::INFINITY; column.len()];
    let scale = theta[index].abs().clamp(0.05, 1.0);
    for step in [3e-2, 1e-2, 3e-3, 1e-3].map(|step| step * scale) {
        // Rounding of the spectrum, over the step.
        let rounding = 4e-14 * size / step;
        for (best, (exact, difference)) in best.iter_mut().zip(column.iter().zip(differences(spectrum, step)))
        {
            *best = best.min(((exact - difference).abs() - rounding).max(0.0));
        }
    }
    let allowed = 1e-10 * largest(column, 1e-6);
    let is_wrong = |(_, error): &(usize, &f64)| **error > allowed || error.is_nan();
    let describe = |(at, error): (usize, &f64)| format!("at {at}: {} is off by {error:e}", column[at]);
    best.iter().enumerate().filter(is_wrong).map(describe).collect()
}

/// The largest finite size of some numbers, at least this.
fn largest(values: &[f64], least: f64) -> f64 {
    values.iter().copied().filter(|v| v.is_finite()).fold(least, |most, v| most.max(v.abs()))
}

/// Parameters at which a spectrum has steps or kinks, where differences say nothing: the points there may be off.
fn has_steps(name: &str) -> bool {
    name.ends_with("_t0") || name.ends_with("xStart") || name.ends_with("xStop") || name.ends_with("width")
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn derivatives_are_those_of_differences() {
    let (mut columns, mut wrong) = (0, Vec::new());
    for name in ["cases", "legacy_0_9_3"] {
        for case in folder(name).iter().filter(|case| !id(case).starts_with("s_edge")) {
            let model = model(case);
            let compiled = compiled(&model);
            let theta = compiled.initial_theta().to_vec();
            let mut frame = compiled.new_frame().expect("memory");
            let jacobian = compiled.evaluate_jacobian(&theta, &mut frame).expect("a Jacobian");
            let size = jacobian.spectrum.len();
            let mut all = vec![0.0; size * jacobian.columns()];
            for (index, column) in all.chunks_mut(size).enumerate() {
                jacobian.column(index).copy_to(column);
            }
            let spectrum = jacobian.spectrum.to_vec();
            // The same with every column in place, and then again where they stand in a frame.
            let mut written = vec![f64::NAN; all.len()];
            let found = compiled.evaluate_jacobian_into(&theta, &mut frame, &mut written).expect("columns");
            assert_eq!(bits(found), bits(&spectrum), "{}", id(case));
            assert_eq!(bits(&written), bits(&all), "{}", id(case));
            let again = compiled.evaluate_jacobian(&theta, &mut frame).expect("a Jacobian");
            again.column(0).copy_to(&mut written[..size]);
            assert_eq!(bits(&written[..size]), bits(&all[..size]), "{}", id(case));
            for (index, column) in all.chunks(size).enumerate() {
                columns += 1;
                let found = wrong_points(&compiled, &theta, index, column);
                let allowed = if has_steps(&compiled.theta_names()[index]) { size / 8 } else { 0 };
                if found.len() > allowed {
                    let name = &compiled.theta_names()[index];
                    wrong.push(format!("{} {name}: {} points, {}", id(case), found.len(), found[0]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {columns} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(columns, 496);
}

/// A dynamics model by itself has times and no energies; parts of it stand along the times.
#[test]
fn parts_of_time_models_stand_along_times() {
    let text = "
cembra: {time_model: m, time: {from: -1, to: 9, points: 21}}
m:
  linFun: {m: [0.5, True], t0: [-2, False]}
  expFun: {A: [2, True], tau: [3, True], t0: [0.1, False]}
";
    let model = load::read([("m.yaml", text)]).unwrap_or_else(|errors| panic!("{}", errors[0])).model;
    let compiled = compiled(&model);
    let theta = compiled.initial_theta().to_vec();
    let mut frame = compiled.new_frame().expect("memory");
    let jacobian = compiled.evaluate_jacobian(&theta, &mut frame).expect("a Jacobian");
    let mut column = vec![0.0; 21];
    for index in 0..theta.len() {
        jacobian.column(index).copy_to(&mut column);
        assert_eq!(wrong_points(&compiled, &theta, index, &column), Vec::<String>::new(), "{index}");
    }
    let mut evaluator = EvaluatorKind::Compare.open(&model);
    assert_eq!(evaluator.components(&theta).expect("equal components").len(), 2);
}

/// Whoever computes it: the same spectrum, the same components in the same order, and errors for a theta that does
/// not fit. Lent evaluators are evaluators.
#[test]
fn evaluators_do_the_same() {
    let case =
        folder("cases").into_iter().find(|case| id(case) == "s_2d_simple_exp").expect("a recorded case");
    let model = model(&case);
    let theta = model.theta();
    let kinds = [
        ("interpreter", EvaluatorKind::Interpreter),
        ("compiled", EvaluatorKind::Compiled),
        ("compare", EvaluatorKind::Compare),
    ];
    let expected = interpret::evaluate(&model, &theta).expect("a spectrum").values;
    let curves = interpret::component_curves(&model, &theta).expect("components");
    for (name, kind) in kinds {
        assert_eq!(kind.name(), name);
        let mut opened = kind.open(&model);
        let evaluator: &mut dyn Evaluator = &mut *opened;
        assert!(evaluator.fallback_reasons().is_empty());
        assert_eq!(
            difference(&expected, evaluator.evaluate(&theta).expect("a spectrum"), 1e-10),
            None,
            "{name}"
        );
        let found = evaluator.components(&theta).expect("components");
        for (found, expected) in found.iter().zip(&curves) {
            assert_eq!(found.name, expected.name, "{name}");
            assert_eq!(difference(&expected.values, &found.values, 1e-10), None, "{name} {}", found.name);
        }
        let knows_derivatives = evaluator.linearize(&theta, &[0]).is_some();
        assert_eq!(
            knows_derivatives,
            matches!(kind, EvaluatorKind::Compiled | EvaluatorKind::Compare),
            "{name}"
        );
        let error = evaluator.evaluate(&theta[1..]).expect_err("a value is missing").to_string();
        assert!(error.contains(&(theta.len() - 1).to_string()), "{name}: {error}");
        assert!(evaluator.components(&theta[1..]).is_err(), "{name}");
    }
}

#[test]
fn components_of_a_frame_add_up() {
    for case in folder("cases") {
        let model = model(&case);
        let compiled = compiled(&model);
        let mut frame = compiled.new_frame().expect("memory");
        let theta = compiled.initial_theta().to_vec();
        let curves = compiled.evaluate_curves(&theta, &mut frame).expect("curves");
        let mut sum = vec![0.0; curves.spectrum.len()];
        let mut curve = sum.clone();
        let names: Vec<&str> = compiled.curve_names().collect();
        let interpreted = interpret::component_curves(&model, &model.theta()).expect("theta is in order");
        for (index, name) in names.iter().enumerate() {
            curves.curve(index).copy_to(&mut curve);
            sum.iter_mut().zip(&curve).for_each(|(sum, value)| *sum += value);
            let expected = interpreted.iter().find(|c| c.name == *name);
            let expected = expected.unwrap_or_else(|| panic!("{}: no component {name}", id(&case)));
            assert_eq!(difference(&expected.values, &curve, 1e-10), None, "{} {name}", id(&case));
        }
        assert_eq!(names.len(), interpreted.len(), "{}", id(&case));
        assert_eq!(difference(curves.spectrum, &sum, 1e-10), None, "{}", id(&case));
    }
}

/// The case of that name.
fn case(name: &str) -> Model {
    let cases = folder("cases");
    model(cases.iter().find(|case| id(case) == name).unwrap_or_else(|| panic!("no case {name}")))
}

#[test]
fn evaluations_allocate_nothing() {
    for name in ["s_1d_simple_energy", "s_2d_simple_exp", "s_2d_conv_gaussCONV", "s_2d_op_voigt"] {
        let compiled = compiled(&case(name));
        let mut frame = compiled.new_frame().expect("memory");
        let mut theta = compiled.initial_theta().to_vec();
        let mut run = |evaluations: usize| {
            for _ in 0..evaluations {
                theta[0] += 1e-6;
                compiled.evaluate(&theta, &mut frame).expect("a spectrum");
            }
            compiled.evaluate_curves(&theta, &mut frame).expect("curves");
            compiled.evaluate_jacobian(&theta, &mut frame).expect("a Jacobian");
        };
        // Scratch memory grows to its size within some runs, and a region is compiled once, after many rows.
        (0..10).for_each(|_| run(100));
        let is_busy = |_: &usize| measure(|| run(100)).count_total > 0;
        let busy: Vec<usize> = (0..20).filter(is_busy).collect();
        assert!(busy.len() <= 6 && busy.iter().all(|window| *window < 15), "{name}: {busy:?}");
    }
}

#[test]
fn threads_share_a_compiled_model() {
    let compiled = compiled(&case("s_2d_simple_exp"));
    let initial = compiled.initial_theta();
    let mut frame = compiled.new_frame().expect("memory");
    let expected = compiled.evaluate(initial, &mut frame).expect("a spectrum").to_vec();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (compiled, expected) = (&compiled, &expected);
            scope.spawn(move || {
                let mut other = initial.to_vec();
                other[0] += f64::from(thread);
                let mut frame = compiled.new_frame().expect("memory");
                for _ in 0..50 {
                    // The first thread compiles the derivatives, the others wait for them.
                    let jacobian = compiled.evaluate_jacobian(&other, &mut frame).expect("a Jacobian");
                    assert_eq!(jacobian.columns(), other.len());
                    assert_eq!(compiled.evaluate(initial, &mut frame).expect("a spectrum"), expected);
                }
            });
        }
    });
}

#[test]
fn theta_is_found_by_name() {
    let compiled = compiled(&case("s_1d_simple_energy"));
    let names: Vec<&str> = compiled.theta_names().iter().map(String::as_str).collect();
    let mut values: Vec<(&str, f64)> =
        names.iter().copied().zip(compiled.initial_theta().iter().copied()).collect();
    values.reverse();
    values.push(("not_free", 1.0));
    assert_eq!(compiled.extract_theta(&values).expect("all names"), compiled.initial_theta());
    let error = compiled.extract_theta(&values[..2]).expect_err("names are missing").to_string();
    assert!(error.starts_with("`Offset_y0` is no free parameter with a value"), "{error}");
    let mut frame = compiled.new_frame().expect("memory");
    let error = compiled.evaluate(&[1.0], &mut frame).expect_err("too short").to_string();
    assert_eq!(error, format!("theta has 1 values; the model has {} free parameters", names.len()));
}

#[test]
fn what_does_not_change_with_time_is_computed_once() {
    let compiled = compiled(&case("s_2d_simple_exp"));
    let mut frame = compiled.new_frame().expect("memory");
    let theta = compiled.initial_theta().to_vec();
    let by_name = |wanted: &str| compiled.theta_names().iter().position(|n| n == wanted).expect("a name");
    let jacobian = compiled.evaluate_jacobian(&theta, &mut frame).expect("a Jacobian");
    let energies = compiled.shape()[1];
    assert_eq!(jacobian.column(by_name("GLP_02_x0")).shape(), [1, energies]);
    assert_eq!(jacobian.column(by_name("GLP_01_A_expFun_01_tau")).shape(), [compiled.shape()[0], energies]);
    // The exponential of the line has one time, that of the trace one energy.
    let program = dump(compiled.bound().program());
    for line in program.lines().filter(|line| line.contains("math.exp")) {
        assert!(!line.contains("NDARRAY_FLOAT64_NN"), "{line}");
    }
}
