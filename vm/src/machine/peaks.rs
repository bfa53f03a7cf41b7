//! Measures the resident memory of runs beside the bytes that they may have alive. Not a test of every day: it takes
//! minutes and a gigabyte of arguments. Linux only.
//!
//! ```text
//! resident   |── arguments ──|────────── run ──────────|
//!                            ↑ peak forgotten          ↑ peak: at most the budget, a tenth of it, and 64 MiB
//! ```
//!
//! ```sh
//! cargo test --release -p cembra-vm --lib -- --ignored --nocapture --test-threads 1 peaks::of_every_operator
//! ```
//!
//! The runs are those of a child, in which every large allocation has pages of its own: what is freed is gone.
//! `CEMBRA_ROWS` gives another number of rows, `CEMBRA_ONLY` a part of the names of operators.

use crate::builtins::table;
use crate::frame::Frame;
use crate::machine::asks::{arguments, lists};
use crate::machine::bound::BoundExpr;
use crate::machine::code::Style;
use crate::machine::error::RunErrorKind;
use crate::machine::invoke::bind;
use crate::machine::latency::{is_chosen, number};
use crate::machine::options::RunOptions;
use crate::machine::stops::chain;
use crate::value::{Exhausted, Fault, Value};
use std::process::Command;

/// Bytes that runs may have alive.
const BUDGETS: [u64; 4] = [16 << 20, 64 << 20, 256 << 20, 1 << 30];

/// Resident bytes that a run of a budget may take.
fn allowed(budget: u64) -> u64 {
    budget + budget / 10 + (64 << 20)
}

/// A number of bytes that the system knows of this process.
fn resident(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(what)).expect("a line of the status");
    let kilobytes = line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok());
    kilobytes.expect("a number") * 1024
}

fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux lets a process forget its peak");
}

/// What one run took, beyond what was resident before.
struct Peak {
    name: String,
    budget: u64,
    taken: u64,
    is_enough: bool,
}

fn measure(name: &str, bound: &BoundExpr, frame: &mut Frame, budget: u64) -> Peak {
    let given = frame.count_alive();
    frame.set_alive(given);
    let before = resident("VmRSS");
    forget_peak();
    let outcome = bound.execute_with(frame, RunOptions::new().bytes_alive(given + budget));
    let taken = resident("VmHWM").saturating_sub(before);
    let alive = frame.alive();
    assert!(alive <= given + budget && alive == frame.count_alive(), "{name}: {alive} bytes alive");
    let is_enough = match outcome.map_err(|error| error.kind) {
        Err(RunErrorKind::Fault(Fault::Exhausted(Exhausted::Bytes { .. }))) => false,
        Ok(()) | Err(RunErrorKind::Fault(_)) => true,
        Err(error) => panic!("{name}: {error}"),
    };
    Peak { name: name.to_owned(), budget, taken, is_enough }
}

#[test]
#[ignore = "run by `of_every_operator`"]
fn of_the_child() {
    let arguments = arguments(number("CEMBRA_ROWS", 10_000_000).next_multiple_of(512));
    let most = number("CEMBRA_LISTS", 2);
    let mut peaks: Vec<Peak> = Vec::new();
    let mut measure_all = |name: &str, new: &dyn Fn() -> (BoundExpr, Frame)| {
        for budget in BUDGETS {
            let (bound, mut frame) = new();
            peaks.push(measure(name, &bound, &mut frame, budget));
            if peaks.last().is_some_and(|peak| peak.is_enough) {
                break;
            }
        }
    };
    for family in table().families().filter(|family| is_chosen(family.name())) {
        let lists = lists(family, &arguments);
        let step = lists.len().div_ceil(most).max(1);
        for (overload, args) in lists.into_iter().step_by(step) {
            let args: Vec<Value> = args.into_iter().cloned().collect();
            measure_all(&overload.to_string(), &|| {
                bind(&overload, &args, Style::Fused).expect("an operator on its types")
            });
        }
    }
    for names in [
        &["math.add", "math.erf", "math.multiply"][..],
        &["math.multiply", "math.exp", "math._sum"],
        &["math.add", "math.multiply", "math.subtract", "math.fma", "math.hypot", "math.abs"],
    ] {
        measure_all(&format!("region of {names:?}"), &|| {
            let (bound, input) = chain(names, &arguments[0]);
            let mut frame = bound.new_frame().expect("memory");
            frame.write(&input, &arguments[0]).expect("rows");
            (bound, frame)
        });
    }
    let share = |peak: &Peak| peak.taken * 1000 / allowed(peak.budget);
    peaks.sort_by_key(|peak| std::cmp::Reverse(share(peak)));
    let late = peaks.iter().filter(|peak| peak.taken > allowed(peak.budget)).count();
    println!("  MiB taken    budget   allowed");
    for peak in peaks.iter().take(late.max(12)) {
        let [taken, budget, allowed] =
            [peak.taken, peak.budget, allowed(peak.budget)].map(|bytes| bytes as f64 / f64::from(1 << 20));
        println!("{taken:11.1} {budget:9.1} {allowed:9.1}  {}", peak.name);
    }
    println!("{late} of {} runs above what is allowed", peaks.len());
    assert_eq!(late, 0, "runs take more than they are allowed");
}

#[test]
#[ignore = "a measurement of minutes"]
fn of_every_operator() {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program);
    child.args(["--ignored", "--exact", "--nocapture", "machine::peaks::of_the_child"]);
    let status = child.env("MALLOC_MMAP_THRESHOLD_", "131072").status().expect("the child starts");
    assert!(status.success(), "the child ends with {status}");
}
