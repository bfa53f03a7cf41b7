//! Speed and energy of every trip in a CSV file, written as an NPZ file, from a program.
//!
//! `cembra run` does the same from the command line.

use cembra::columns::{OnError, OpenOptions, Plan, create, open};
use cembra::syntax::parse;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let (trips, results) = (directory.path().join("trips.csv"), directory.path().join("results.npz"));
    std::fs::write(&trips, "distance,time\n120.5,2\n9,oops\n,3\n")?;

    let mut plan = Plan::new([
        ("speed", parse("distance / time")?),
        ("energy", parse("v = distance / time\n0.5 * mass * v**2")?),
    ]);
    plan.constants = vec![("mass".into(), 2.0.into())];
    plan.run.on_error = OnError::Null;

    // `time` would be TEXT because of its second cell; as a number, that cell is one that fails.
    let types = vec![("time".into(), cembra::vm::value::ScalarType::Float64)];
    let source = open(&trips, &OpenOptions { types, ..OpenOptions::default() })?;
    let job = plan.job(vec![source])?;
    let sink = create(&results, job.outputs())?;
    let summary = job.run(sink, &mut |progress| println!("{} rows", progress.rows))?;

    println!("{} rows written, {} failed", summary.written, summary.failed);
    if let Some(failure) = summary.first_failure {
        println!("the first: row {}: {}", failure.row, failure.problem);
    }
    assert_eq!((summary.written, summary.failed), (3, 1));
    assert!(results.exists());
    Ok(())
}
