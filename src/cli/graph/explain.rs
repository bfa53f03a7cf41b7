//! `cembra graph explain`: what the machine makes of a graph.
//!
//! ```text
//! program 1: n12, n9, n7 of n1, n2       a program for each stage, as `cembra explain` shows programs
//! apart: n5 = graph.function(…)          nodes computed after it, one by one
//! ```

use crate::backend::Plan;
use crate::cli::args::GraphExplainArgs;
use crate::cli::graph::reports::{dag_report, eval_report, read_program};
use crate::cli::report::Report;
use crate::dag::ir::compile_nodes;
use crate::dag::linearize;
use crate::inspect::program_text;

/// Evaluates a program file on the machine and shows how.
pub fn explain(args: &GraphExplainArgs) -> Result<String, Report> {
    let program = read_program(&args.program)?;
    let order = linearize::forest(&program.roots, &[]).map_err(dag_report)?;
    let plan = Plan::new(&compile_nodes(&order));
    let mut plan = if args.all_values { plan.with_all_values() } else { plan };
    let mut state = program.new_state().map_err(eval_report)?.with_budget(args.budget.shared());
    plan.evaluate(&mut state).map_err(eval_report)?;
    let mut text = String::new();
    for stage in plan.stages() {
        if let Some(bound) = stage.program {
            text.push_str(&format!("{}\n", program_text(bound)));
        }
        for node in stage.apart {
            text.push_str(&format!("Apart: {node}\n"));
        }
    }
    Ok(text)
}
