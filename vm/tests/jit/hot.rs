//! Programs that are compiled when they have run often.

use crate::agree::outcome;
use crate::draft::Draft;
use cembra_vm::jit::{CompileJob, NotCompiled, compile_when_hot};
use cembra_vm::machine::{BoundExpr, RunOptions, Trace};
use cembra_vm::program::Program;
use cembra_vm::value::Value;
use cembra_vm::value::qtype::INT64;
use std::sync::{Arc, mpsc};

/// `x + x`.
fn twice() -> Arc<BoundExpr> {
    let mut draft = Draft::new();
    let x = draft.next_input(INT64);
    let out = draft.next_output(INT64);
    draft.run("python.add", &[x, x], out);
    let program = Program::new(vec![draft.finish(&[("x", x)], out)]);
    Arc::new(BoundExpr::new(Arc::new(program)).expect("it binds"))
}

/// Doubles 21.
#[track_caller]
fn run(bound: &BoundExpr, options: RunOptions<'_>) {
    assert_eq!(outcome(bound, &[Value::from(21i64)], options), format!("{:?}", [Value::from(42i64)]));
}

#[test]
fn the_run_that_makes_it_full_gives_the_job_away() {
    let bound = twice();
    let (sender, jobs) = mpsc::channel::<CompileJob>();
    compile_when_hot(&bound, 3, move |job| sender.send(job).expect("somebody waits"))
        .expect("the first to ask");
    let mut trace = Trace::default();
    for runs in 1..=5 {
        run(&bound, RunOptions::default());
        // Observed runs do not count.
        run(&bound, RunOptions::default().observer(&mut trace));
        assert!(bound.compiled_tier().is_none());
        if runs == 3 {
            let job = jobs.try_recv().expect("it has run three times");
            assert!(jobs.try_recv().is_err());
            std::thread::scope(|scope| {
                let done = scope.spawn(|| job.run());
                run(&bound, RunOptions::default());
                assert_eq!(done.join().expect("no panic"), Ok(()));
            });
            break;
        }
        assert!(jobs.try_recv().is_err(), "after {runs} runs");
    }
    assert_eq!(bound.compiled_tier().map(|tier| tier.name()), Some("jit"));
    run(&bound, RunOptions::default());
}

#[test]
fn whoever_has_no_thread_compiles_at_once() {
    let bound = twice();
    compile_when_hot(&bound, 0, |job| job.run().expect("it is compiled")).expect("the first to ask");
    run(&bound, RunOptions::default());
    assert!(bound.compiled_tier().is_some());
    run(&bound, RunOptions::default());
    assert_eq!(compile_when_hot(&bound, 1, |_| {}), Err(NotCompiled::Already));
}

#[test]
fn a_job_keeps_no_program_alive() {
    let bound = twice();
    let (sender, jobs) = mpsc::channel::<CompileJob>();
    compile_when_hot(&bound, 1, move |job| sender.send(job).expect("somebody waits"))
        .expect("the first to ask");
    assert_eq!(compile_when_hot(&bound, 1, |_| {}), Err(NotCompiled::Already));
    run(&bound, RunOptions::default());
    let job = jobs.try_recv().expect("it has run");
    drop(bound);
    assert_eq!(job.run(), Err(NotCompiled::Gone));
}

#[test]
fn many_threads_make_it_full_once() {
    let bound = twice();
    let (sender, jobs) = mpsc::channel::<CompileJob>();
    compile_when_hot(&bound, 100, move |job| sender.send(job).expect("somebody waits"))
        .expect("the first to ask");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| run(&bound, RunOptions::default())));
        }
    });
    assert_eq!(jobs.iter().map(CompileJob::run).collect::<Vec<_>>(), [Ok(())]);
}
