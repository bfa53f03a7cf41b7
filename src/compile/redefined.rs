//! Values with several definitions: which there are, and what is alive where they are written.
//!
//! ```text
//! i = 0
//! loop:  t = …       `t` is alive where `i` is written: they share no byte
//!        i = i + 1
//! ```

use crate::compile::emission::Emission;
use cembra_vm::program::ValueId;
use cembra_vm::program::cfg::Cfg;
use cembra_vm::program::liveness::Liveness;
use std::collections::BTreeSet;

/// Values with several definitions that may be alive at once and give bytes to others.
pub(super) const MOST_SHARING: usize = 200;

/// By value, how many instructions write it.
pub(super) fn definitions(emission: &Emission) -> Vec<u32> {
    let mut definitions = vec![0; emission.values.len()];
    let writes = emission.body.instructions().iter().flat_map(|i| emission.body.writes(i));
    writes.for_each(|value| definitions[value.index()] += 1);
    definitions
}

/// By value of a function, whether it has several definitions, or is alive before the first.
pub(super) fn redefined_values(emission: &Emission, cfg: &Cfg, live: &Liveness) -> Vec<bool> {
    if !emission.redefines {
        return vec![false; emission.values.len()];
    }
    let early = met_before_definition(emission, cfg, live);
    definitions(emission).into_iter().zip(early).map(|(count, is_early)| count > 1 || is_early).collect()
}

/// True if more than [`MOST_SHARING`] values with several definitions are alive at once.
pub(super) fn is_crowded(cfg: &Cfg, live: &Liveness, redefined: &[bool]) -> bool {
    let count = |block| live.live_in(block).iter().filter(|value| redefined[value.index()]).count();
    (0..cfg.len()).any(|block| count(block) > MOST_SHARING)
}

/// By value, whether it is alive in a block that stands before its definition: the walk chooses its slot there.
fn met_before_definition(emission: &Emission, cfg: &Cfg, live: &Liveness) -> Vec<bool> {
    let body = &emission.body;
    let mut first_definition = vec![usize::MAX; emission.values.len()];
    for (ip, instruction) in body.instructions().iter().enumerate() {
        for value in body.writes(instruction) {
            let first = &mut first_definition[value.index()];
            *first = (*first).min(ip);
        }
    }
    let mut early = vec![false; emission.values.len()];
    for block in 0..cfg.len() {
        for value in live.live_in(block) {
            early[value.index()] |= first_definition[value.index()] >= cfg.block(block).start;
        }
    }
    early
}

/// Pairs of values of which one has several definitions, and one is alive where the other is defined.
pub(super) fn alive_at_definitions(
    emission: &Emission,
    cfg: &Cfg,
    live: &Liveness,
    owner: &impl Fn(ValueId) -> Option<ValueId>,
    shares: &[bool],
) -> BTreeSet<(ValueId, ValueId)> {
    let (body, is_redefined) = (&emission.body, |value: ValueId| shares[value.index()]);
    let mut pairs = BTreeSet::new();
    if !shares.contains(&true) {
        return pairs;
    }
    for block in 0..cfg.len() {
        let mut alive: BTreeSet<ValueId> = live.live_out(block).iter().copied().collect();
        let mut redefined: BTreeSet<ValueId> = alive.iter().copied().filter(|v| is_redefined(*v)).collect();
        for ip in cfg.block(block).rev() {
            let instruction = &body.instructions()[ip];
            let written: Vec<ValueId> = body.writes(instruction).iter().filter_map(|v| owner(*v)).collect();
            for value in &written {
                let others = if is_redefined(*value) { &alive } else { &redefined };
                pairs.extend(others.iter().filter(|other| *other != value).map(|other| (*value, *other)));
            }
            for value in written {
                alive.remove(&value);
                redefined.remove(&value);
            }
            for value in body.reads(instruction).iter().filter_map(|v| owner(*v)) {
                alive.insert(value);
                if is_redefined(value) {
                    redefined.insert(value);
                }
            }
        }
    }
    pairs
}
