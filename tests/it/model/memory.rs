//! Memory of many evaluations on one frame: nothing is allocated, and the process does not grow.
//!
//! `CEMBRA_EVALUATIONS=1000000,1000` says how many of the model over energy and of that over time and energy;
//! without it they are few.

use super::recorded::{folder, id, model};
use allocation_counter::measure;
use cembra::backend::model::CompiledModel;
use cembra::model::graph::from_model::graph_of;
use cembra::model::schedule::schedule;

/// How many evaluations of each model.
fn counts() -> [usize; 2] {
    let Ok(text) = std::env::var("CEMBRA_EVALUATIONS") else { return [2000, 20] };
    let number = |part: &str| part.trim().parse().unwrap_or_else(|_| panic!("`{part}` is no count"));
    let counts: Vec<usize> = text.split(',').map(number).collect();
    counts.try_into().unwrap_or_else(|_| panic!("two counts, not `{text}`"))
}

/// Pages of this process in memory, where the system says so.
fn resident_pages() -> Option<i64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn evaluations_leave_memory_as_it_is() {
    let cases = folder("cases");
    for (name, count) in ["s_1d_simple_energy", "s_2d_simple_exp"].into_iter().zip(counts()) {
        let case = cases.iter().find(|case| id(case) == name).unwrap_or_else(|| panic!("no case {name}"));
        let schedule = schedule(&graph_of(&model(case)).expect("a graph")).expect("a schedule");
        let compiled = CompiledModel::new(&schedule).unwrap_or_else(|e| panic!("{e}"));
        let mut frame = compiled.new_frame().expect("memory");
        let mut theta = compiled.initial_theta().to_vec();
        let data = vec![1.0; compiled.shape().iter().product()];
        let mut run = |evaluations: usize| {
            for _ in 0..evaluations {
                theta[0] += 1e-9;
                compiled.evaluate(&theta, &mut frame).expect("a spectrum");
                compiled.evaluate_squares(&theta, &data, &mut frame).expect("a sum");
            }
        };
        // Pages of the code are read when it first runs, and regions are compiled after many rows.
        measure(|| run(500));
        let before = resident_pages();
        let counted = measure(|| run(count));
        let grown = resident_pages().zip(before).map_or(0, |(after, before)| after - before);
        assert_eq!(counted.count_total, 0, "{name}");
        // Other tests of this process have memory too: only a run by hand is held to its pages, and runs alone.
        if std::env::var_os("CEMBRA_EVALUATIONS").is_some() {
            assert!(grown <= 64, "{name}: {grown} more pages after {count} evaluations");
        }
        println!("{name}: {count} evaluations, 0 allocations, {grown} more pages");
    }
}
