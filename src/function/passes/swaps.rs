//! Swaps: arrays that change names in every round of a loop, and names that get a new array in each.
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
//!
//! ```text
//! for t in range(n):              round 0, 2, …: y = x + dx     two arrays in turn: nothing is copied from one to the other,
//!     x = x + dx                  round 1, 3, …: x = y + dx     and the new one is not made where the old one is read
//! ```
//!
//! Where a name gets an array that is computed of the one before, and nobody writes to either, the body is there twice.

use super::copies::Copies;
use super::is_array;
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{Dominators, InstId, NaturalLoop, SsaOp, natural_loops};
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
        let found = loops.into_iter().find_map(|natural| {
            exchanging(function, natural.clone()).or_else(|| renewing(function, natural))
        });
        let Some(copies) = found else { break };
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

/// Two copies of a loop in which a name gets an array that is computed of the one before.
fn renewing(function: &LowFunction, natural: NaturalLoop) -> Option<Copies> {
    let flow = &function.flow;
    let blocks = natural.blocks.clone();
    let phis: Vec<InstId> = flow.phis(natural.header).filter(|phi| is_array(function, *phi)).collect();
    let mut copies = Copies::of(function, natural).filter(|_| !phis.is_empty())?;
    let is_renewed = |phi: &InstId| {
        let [_, next] = copies.first_and_next(function, *phi);
        let computes = |inst: &InstId| matches!(flow.operation(*inst), Some(LowOp::Operator(..)));
        let of_next =
            blocks.iter().map(|block| &flow.block(*block).insts).find(|insts| insts.contains(&next));
        computes(&next)
            && of_next.is_some_and(|insts| insts.iter().any(|inst| flow.inst(*inst).args.contains(phi)))
            && [*phi, next].iter().all(|array| is_only_read(function, *array, *phi))
    };
    let has_renewed = phis.iter().any(is_renewed);
    copies.rounds = 2;
    (has_renewed && copies.size(function) <= MOST_INSTRUCTIONS).then_some(copies)
}

/// True of an array that operators read, and one phi takes at most.
fn is_only_read(function: &LowFunction, array: InstId, phi: InstId) -> bool {
    let flow = &function.flow;
    let mut readers = flow.blocks.iter().flat_map(|block| &block.insts).filter(|inst| {
        let row = flow.inst(**inst);
        **inst != phi && row.args.contains(&array)
    });
    readers.all(|inst| matches!(&flow.inst(*inst).op, SsaOp::Do(LowOp::Operator(..))))
}
