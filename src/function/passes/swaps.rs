//! Swaps: arrays that change names in every round of a loop.
//!
//! ```text
//! for t in range(n):              round 0, 2, …: step(u, v)
//!     step(u, v)                  round 1, 3, …: step(v, u)
//!     u, v = v, u
//! ```
//!
//! An array is in one handle, and a name in a register. Where the names of a loop only exchange their arrays, the body is
//! there once for each order of them, one after the other: then every name is one array, and may be written.
//!
//! Afterwards no phi of such a loop is over arrays that it exchanges.

use super::copies::Copies;
use super::is_array;
use crate::function::low::LowFunction;
use crate::ssa::{Dominators, InstId, NaturalLoop, natural_loops};
use hashbrown::{HashMap, HashSet};

/// Most orders of names.
const MOST_ORDERS: usize = 6;
/// Most instructions of all copies of a loop.
const MOST_INSTRUCTIONS: usize = 20_000;
/// Most loops that are copied.
const MOST_LOOPS: usize = 16;

/// Copies the bodies of loops that exchange arrays.
pub(super) fn unroll(function: &mut LowFunction) {
    for _ in 0..MOST_LOOPS {
        let dominators = Dominators::new(&function.flow);
        let loops = natural_loops(&function.flow, &dominators);
        let Some(copies) = loops.into_iter().find_map(|natural| exchanging(function, natural)) else { break };
        copies.make(function);
    }
}

/// The copies of a loop whose names of arrays change places: one for each order of them.
fn exchanging(function: &LowFunction, natural: NaturalLoop) -> Option<Copies> {
    let flow = &function.flow;
    let names: Vec<InstId> = flow.phis(natural.header).filter(|phi| is_array(function, *phi)).collect();
    let mut copies = Copies::of(function, natural).filter(|_| !names.is_empty())?;
    // Where the array of each name goes to comes from one name, and none is lost.
    let of = |phi: &InstId| copies.first_and_next(function, *phi);
    let next: HashMap<InstId, InstId> = names.iter().map(|phi| (*phi, of(phi)[1])).collect();
    let reached: HashSet<InstId> = next.values().copied().collect();
    if reached.len() != names.len() || !names.iter().all(|phi| reached.contains(phi)) {
        return None;
    }
    let mut arrays: Vec<(InstId, Vec<InstId>)> = names.iter().map(|phi| (*phi, Vec::new())).collect();
    let mut now = names.clone();
    loop {
        for ((_, rounds), name) in arrays.iter_mut().zip(&now) {
            rounds.push(of(name)[0]);
        }
        now.iter_mut().for_each(|name| *name = next[name]);
        if now == names {
            break;
        }
        if arrays[0].1.len() == MOST_ORDERS {
            return None;
        }
    }
    copies.rounds = arrays[0].1.len();
    copies.given = arrays;
    (copies.size(function) <= MOST_INSTRUCTIONS).then_some(copies)
}
