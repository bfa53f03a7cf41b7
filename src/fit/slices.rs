//! Slices: many small fits of one model, in parallel, each as if it were alone.
//!
//! Every thread has an evaluator of its own and takes the next slice that nobody has taken. A slice
//! begins at the initial values of the model, so its result does not depend on the others.

use crate::fit::error::FitError;
use crate::fit::method::{Settings, fit_objective};
use crate::fit::problem::Problem;
use crate::fit::residuals::{Observer, Residuals};
use crate::fit::statistics::Fit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fits problems of one model; results stand in the order of the problems.
pub fn fit_slices(
    problems: &[Problem<'_>],
    settings: &Settings,
    threads: usize,
    observer: &dyn Observer,
) -> Vec<Result<Fit, FitError>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<Fit, FitError>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, problems.len().max(1)) {
            scope.spawn(|| {
                let done = work(problems, settings, &next, observer);
                results.lock().expect("no thread panics while it holds the lock").extend(done);
            });
        }
    });
    let mut results = results.into_inner().expect("all threads have ended");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Fits what is left, one after the other.
fn work(
    problems: &[Problem<'_>],
    settings: &Settings,
    next: &AtomicUsize,
    observer: &dyn Observer,
) -> Vec<(usize, Result<Fit, FitError>)> {
    let mut done = Vec::new();
    let Some(first) = problems.first() else { return done };
    let mut idle = None;
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(problem) = problems.get(index) else { return done };
        let evaluator = idle.take().unwrap_or_else(|| settings.open(first.model));
        let result = Residuals::with_evaluator(problem, evaluator, observer).and_then(|mut residuals| {
            let result = fit_objective(&mut residuals, settings.method);
            idle = Some(residuals.into_evaluator());
            result
        });
        done.push((index, result));
    }
}
