//! Loops: which values the innermost loop around an instruction leaves as they are.

use crate::program::program::Owners;
use crate::program::{Routine, ValueId};
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// Where each value is written.
pub(super) struct Written {
    /// By owner: the instructions that write it, in their order.
    by: HashMap<ValueId, Vec<usize>>,
}

impl Written {
    /// Where the values of a routine are written.
    pub(super) fn of(routine: &Routine, owners: &Owners) -> Written {
        let mut by: HashMap<ValueId, Vec<usize>> = HashMap::new();
        for (ip, instruction) in routine.body.instructions().iter().enumerate() {
            let written = routine.body.writes(instruction).iter();
            written.for_each(|value| by.entry(owners.owner(*value)).or_default().push(ip));
        }
        Written { by }
    }

    /// True if one of these instructions writes the value of an owner.
    pub(super) fn within(&self, owner: ValueId, instructions: &RangeInclusive<usize>) -> bool {
        self.by.get(&owner).is_some_and(|written| {
            let first = written.partition_point(|ip| ip < instructions.start());
            written.get(first).is_some_and(|ip| ip <= instructions.end())
        })
    }
}
