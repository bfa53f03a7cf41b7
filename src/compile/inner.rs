//! Arrays that stay inside of a tile region, so that nobody ever writes their rows to memory.
//!
//! ```text
//! v4 = subtract(x, v3)      made and read between two instructions at which regions end: inside
//! v7 = multiply(v4, v6)     read by a fold, which is a member as well: inside
//! v8 = sum(v7)              what reads `v8` reads it behind the region
//! ```
//!
//! A guess, made before there are slots, of what the machine will find: a wrong one costs a buffer, or a region that
//! is cut in two, and no value.

use crate::compile::emission::{Emission, Role};
use cembra_vm::program::Instruction;
use cembra_vm::program::cfg::Cfg;
use cembra_vm::program::liveness::Liveness;
use cembra_vm::value::QType;

/// By value, true for arrays that are made and read inside of one region.
pub(super) fn inner_arrays(emission: &Emission, cfg: &Cfg, live: &Liveness) -> Vec<bool> {
    let body = &emission.body;
    let mut is_inner = vec![false; emission.values.len()];
    if !body.operators().iter().any(|operator| operator.goes_over_rows()) {
        return is_inner;
    }
    let is_array = |qtype: &QType| matches!(qtype, QType::Array(_) | QType::NdArray(_));
    // Instructions at which regions end are counted: by value, how many there were before its definition, and whether it is
    // made of more elements.
    let mut made_at = vec![None; emission.values.len()];
    let mut ends = 0u32;
    for block in 0..cfg.len() {
        ends += 1;
        for ip in cfg.block(block) {
            let instruction = &body.instructions()[ip];
            let overload = match instruction {
                Instruction::Operator { operator, .. } => Some(&body.operators()[*operator as usize]),
                _ => None,
            };
            let is_member = overload.is_some_and(|overload| overload.goes_over_rows());
            let reads = || body.reads(instruction).iter().map(|value| emission.owner(*value));
            // What folds make is read behind their region, and all that members make by others.
            let is_behind = |made: Option<(u32, bool)>| {
                made.is_some_and(|(at, is_fold)| at == ends && (is_fold || !is_member))
            };
            if reads().any(|value| is_behind(made_at[value.index()])) {
                ends += 1;
            }
            for value in reads() {
                is_inner[value.index()] &= made_at[value.index()].is_some_and(|(at, _)| at == ends);
            }
            let is_fold = overload.is_some_and(|overload| overload.reduces());
            for value in body.writes(instruction) {
                let row = &emission.values[value.index()];
                let is_first = made_at[value.index()].is_none();
                made_at[value.index()] = is_member.then_some((ends, is_fold));
                let is_rows = is_array(&row.qtype) && is_member && !is_fold;
                is_inner[value.index()] = is_rows && is_first && matches!(row.role, Role::Temporary);
            }
        }
    }
    // What another block reads, even one that stands before in a loop, is written.
    let alive = (0..cfg.len()).flat_map(|block| live.live_in(block).iter().copied());
    let read_after = emission.side_outputs.iter().map(|value| emission.owner(*value));
    alive.chain(read_after).for_each(|value| is_inner[value.index()] = false);
    is_inner
}
