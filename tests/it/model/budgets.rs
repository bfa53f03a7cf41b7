//! Budgets of models: evaluations and fits end where the budget does, with any evaluator, and go on with another one.

use cembra::backend::model::{CompiledModel, EvaluatorKind};
use cembra::fit::confidence::confidence_intervals;
use cembra::fit::method::fit_objective;
use cembra::fit::residuals::Residuals;
use cembra::fit::slices::fit_slices;
use cembra::fit::{FitError, Method, Problem, Settings, fit_with};
use cembra::model::graph::from_model::graph_of;
use cembra::model::{Model, ModelErrorKind, interpret, load, schedule};
use cembra::vm::machine::SharedBudget;
use cembra::vm::value::{Budget, CancelToken, Category};
use std::sync::Arc;
use std::time::{Duration, Instant};

const KINDS: [EvaluatorKind; 3] =
    [EvaluatorKind::Interpreter, EvaluatorKind::Compiled, EvaluatorKind::Compare];

/// A line on a background, at some energies.
fn line(energies: usize) -> Model {
    let text = format!(
        "
cembra: {{model: m, energy: {{from: 80, to: 90, points: {energies}}}}}
m: {{Offset: {{y0: [2.0, True]}}, Gauss: {{A: [8.0, True], x0: [84.0, True], SD: [1.0, True]}}}}
"
    );
    load::read([("m.yaml", &*text)]).unwrap_or_else(|errors| panic!("{}", errors[0])).model
}

fn shared(budget: Budget) -> Option<Arc<SharedBudget>> {
    Some(Arc::new(SharedBudget::new(budget)))
}

fn category(error: &ModelErrorKind) -> Category {
    assert!(error.is_exhausted(), "{error}");
    error.category()
}

/// Spectra of every evaluator until the budget of all of them is used up.
#[test]
fn every_evaluator_obeys_every_limit() {
    let model = line(100);
    let token = CancelToken::new();
    token.cancel();
    let budgets = [
        (Budget::new().rows(99), Category::FuelExhausted),
        (Budget::new().instructions(0), Category::FuelExhausted),
        (Budget::new().bytes_alive(100), Category::Limit),
        (Budget::new().time(Duration::ZERO), Category::DeadlineExceeded),
        (Budget::new().cancel(&token), Category::Cancelled),
    ];
    for kind in KINDS {
        for (budget, expected) in &budgets {
            let mut evaluator = kind.open_within(&model, shared(budget.clone()));
            let error = evaluator.evaluate(&model.theta()).map(<[f64]>::to_vec).expect_err("too little");
            assert_eq!(category(&error), *expected, "{kind:?}: {error}");
            let error = evaluator.components(&model.theta()).expect_err("too little");
            assert_eq!(category(&error), *expected, "{kind:?}: {error}");
        }
        let mut evaluator = kind.open_within(&model, shared(Budget::new().rows(20_000)));
        let expected = interpret::evaluate(&model, &model.theta()).expect("its own theta").values;
        let mut evaluations = 0;
        let error = loop {
            match evaluator.evaluate(&model.theta()) {
                Ok(spectrum) => assert!(spectrum.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9)),
                Err(error) => break error,
            }
            evaluations += 1;
        };
        assert!((5..=100).contains(&evaluations), "{kind:?}: {evaluations}");
        assert!(error.to_string().contains("more than 20000 rows"), "{error}");
    }
}

/// A frame goes on with another budget after it has used one up.
#[test]
fn frames_are_used_again() {
    let model = line(50);
    let schedule = schedule::schedule(&graph_of(&model).expect("a graph")).expect("a schedule");
    let compiled = CompiledModel::new(&schedule).expect("a program");
    let theta = compiled.initial_theta().to_vec();
    let token = CancelToken::new();
    let budget = Arc::new(SharedBudget::new(Budget::new().cancel(&token)));
    let mut frame = compiled.new_frame().expect("memory").within(budget.clone());
    let first = compiled.evaluate(&theta, &mut frame).expect("nobody cancels").to_vec();
    let used = budget.used();
    assert!(used.rows >= 50 && used.instructions > 0, "{used:?}");
    let mut columns = vec![0.0; 50 * theta.len()];
    compiled.evaluate_jacobian_into(&theta, &mut frame, &mut columns).expect("nobody cancels");
    compiled.evaluate_squares(&theta, &first, &mut frame).expect("nobody cancels");
    assert!(budget.used().rows > used.rows);
    token.cancel();
    let cancelled = |error: cembra::backend::model::ModelRunError| {
        error.run_error().unwrap_or_else(|| panic!("{error}")).category()
    };
    let results = [
        compiled.evaluate(&theta, &mut frame).map(drop).map_err(cancelled),
        compiled.evaluate_curves(&theta, &mut frame).map(drop).map_err(cancelled),
        compiled.evaluate_jacobian(&theta, &mut frame).map(drop).map_err(cancelled),
        compiled.evaluate_jacobian_into(&theta, &mut frame, &mut columns).map(drop).map_err(cancelled),
        compiled.evaluate_linear(&theta, &mut frame).map(drop).map_err(cancelled),
        compiled.evaluate_squares(&theta, &first, &mut frame).map(drop).map_err(cancelled),
    ];
    assert_eq!(results, [Err(Category::Cancelled); 6]);
    let mut frame = frame.within(Arc::default());
    assert_eq!(compiled.evaluate(&theta, &mut frame).expect("another budget"), first);
}

fn data(model: &Model) -> Vec<f64> {
    let theta: Vec<f64> = model.theta().iter().map(|value| value * 1.01).collect();
    interpret::evaluate(model, &theta).expect("a spectrum").values
}

#[test]
fn fits_end_with_their_budget() {
    let model = line(60);
    let problem = Problem::new(&model, data(&model)).expect("all data");
    let methods =
        [Method::LevenbergMarquardt, Method::NelderMead, Method::TwoStage, Method::VariableProjection];
    for evaluator in KINDS {
        for method in methods {
            let settings = |budget| Settings { method, evaluator, budget: shared(budget) };
            let enough = fit_with(&problem, settings(Budget::new().rows(u64::MAX)), &()).expect("a fit");
            assert_eq!(
                Ok(enough),
                fit_with(&problem, Settings { budget: None, ..settings(Budget::new()) }, &())
            );
            for budget in [Budget::new().rows(1000), Budget::new().time(Duration::ZERO)] {
                let error = fit_with(&problem, settings(budget), &()).expect_err("too little");
                assert!(error.is_exhausted(), "{evaluator:?} {method:?}: {error}");
            }
        }
    }
    let settings = Settings { budget: shared(Budget::new().rows(8000)), ..Settings::default() };
    let evaluator = settings.open(&model);
    let mut residuals = Residuals::with_evaluator(&problem, evaluator, &()).expect("numbers");
    let fit = fit_objective(&mut residuals, Method::default()).expect("rows enough");
    let error = confidence_intervals(&mut residuals, &fit).expect_err("no rows are left");
    assert!(error.is_exhausted(), "{error}");
}

/// Slices share their budget: the last ones have none left.
#[test]
fn slices_share_a_budget() {
    let model = line(40);
    let row = data(&model);
    let problems: Vec<Problem<'_>> =
        (0..30).map(|_| Problem::new(&model, row.clone()).expect("all data")).collect();
    let settings = Settings { budget: shared(Budget::new().rows(20_000)), ..Settings::default() };
    let fits = fit_slices(&problems, &settings, 2, &());
    let failed = fits.iter().filter(|fit| fit.as_ref().is_err_and(FitError::is_exhausted)).count();
    assert!((1..30).contains(&failed), "{failed} of {}", fits.len());
    assert!(fits.iter().filter_map(|fit| fit.as_ref().err()).all(FitError::is_exhausted));
}

/// A deadline ends the evaluation that it falls into.
#[test]
fn deadlines_end_long_evaluations() {
    let text = "
cembra: {model: m, energy: {from: 0, to: 1, points: 200000}, time: {from: 0, to: 1, points: 20}}
m: {Offset: {y0: [2.0, True]}, Voigt: {A: [1.0, True], x0: [0.5, False], SD: [0.2, False], W: [0.1, False]}}
";
    let model = load::read([("m.yaml", text)]).unwrap_or_else(|errors| panic!("{}", errors[0])).model;
    for kind in [EvaluatorKind::Interpreter, EvaluatorKind::Compiled] {
        let mut evaluator = kind.open_within(&model, shared(Budget::new().time(Duration::from_millis(20))));
        let start = Instant::now();
        let evaluations = (0..10_000).take_while(|_| evaluator.evaluate(&model.theta()).is_ok()).count();
        assert!(evaluations < 10_000 && start.elapsed() < Duration::from_secs(5), "{kind:?}: {evaluations}");
    }
}
