//! The graph workloads for `graphs.py`: answers each line `workload times` with the processor nanoseconds that so many
//! evaluations by a plan took.
//!
//! The plan is used again, and results keep their buffers.

#[path = "../../../workloads/graphs.rs"]
mod workloads;

use cembra::backend::Plan;
use cpu_time::ProcessTime;
use std::hint::black_box;
use std::io::{BufRead, Write};
use workloads::Workload;

fn main() {
    let mut all: Vec<(Workload, Option<Plan>)> = Workload::all().map(|workload| (workload, None)).into();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let Some((name, times)) = line.split_once(' ') else { panic!("workload times") };
        let times: usize = times.parse().expect("times");
        let ready = all.iter_mut().find(|(workload, _)| workload.name == name);
        let (workload, plan) = ready.expect("a workload");
        let plan = plan.get_or_insert_with(|| {
            workload.check();
            Plan::new(&workload.dag)
        });
        let values = workload.values();
        let start = ProcessTime::now();
        for _ in 0..times {
            drop(black_box(plan.call(black_box(&values)).expect("it evaluates")));
        }
        println!("{}", start.elapsed().as_nanos());
        std::io::stdout().flush().expect("a reader");
        assert!(plan.compilations() <= 1, "a plan is used again");
    }
}
