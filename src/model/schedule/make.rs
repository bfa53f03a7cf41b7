//! A graph to its schedule, or to all reasons why it has none.
//!
//! Asking whether a graph can be scheduled and scheduling it are one function: whatever it accepts, it
//! has scheduled. Ties in the topological order are broken by the order in which nodes were made, so
//! theta comes in the order of the model file.

use crate::model::graph::ir::GraphIR;
use crate::model::graph::order::topological;
use crate::model::schedule::operations::Operations;
use crate::model::schedule::plan::Schedule;
use crate::model::schedule::reason::{Obstacle, Reason, Reasons};
use crate::model::schedule::rows::Rows;
use crate::model::schedule::steps;
use crate::model::tree::Domain;

/// The schedule of a graph of any domain.
///
/// # Errors
/// All obstacles.
pub fn schedule(graph: &GraphIR) -> Result<Schedule, Vec<Reason>> {
    let order = topological(graph).expect("a graph that was built has no circle");
    let rows = Rows::new(graph, &order);
    let mut reasons = Reasons::default();
    let steps = steps::steps(graph, &order, &rows, &mut reasons);
    let made = Operations::of(graph, &order, &rows, &mut reasons);
    if !reasons.0.is_empty() {
        return Err(reasons.0);
    }
    let numbers = rows.numbers().iter().map(|id| graph.nodes[*id].value.unwrap_or(f64::NAN)).collect();
    Ok(Schedule {
        domain: graph.domain,
        semantics: graph.semantics,
        energy: graph.energy.clone(),
        time: graph.time.clone(),
        aux: graph.nodes.iter().find_map(|n| n.arrays.get("aux_axis")).cloned().unwrap_or_default(),
        row_names: rows.nodes.iter().map(|id| graph.nodes[*id].name.clone()).collect(),
        numbers,
        free: rows.free,
        steps,
        samples: made.samples,
        sample_expressions: made.sample_expressions,
        operations: made.operations,
        output: made.output,
    })
}

/// The schedule of a graph over energy and time.
///
/// # Errors
/// All obstacles; for a graph of another domain only that.
pub fn schedule_2d(graph: &GraphIR) -> Result<Schedule, Vec<Reason>> {
    of_domain(graph, Domain::EnergyTime2D)
}

/// The schedule of a graph over energy.
///
/// # Errors
/// All obstacles; for a graph of another domain only that.
pub fn schedule_1d(graph: &GraphIR) -> Result<Schedule, Vec<Reason>> {
    of_domain(graph, Domain::Energy1D)
}

fn of_domain(graph: &GraphIR, expected: Domain) -> Result<Schedule, Vec<Reason>> {
    match graph.domain == expected {
        true => schedule(graph),
        false => {
            let obstacle = Obstacle::Domain { actual: graph.domain.name(), expected: expected.name() };
            Err(vec![Reason { obstacle, nodes: Vec::new() }])
        }
    }
}
