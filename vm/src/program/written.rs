//! Where values are written, and so which of them a loop leaves as they are.
//!
//! ```text
//! 3: v5 = o1(v5, v2)         by owner: v5 is written at 3 and 9
//! 9: v5 = o2()               within 2..=7: once; v2: never
//! ```

use crate::program::instruction::ValueId;
use crate::program::program::{Owners, Routine};
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// Where each value is written.
#[derive(Debug)]
pub struct Written {
    /// By owner: the instructions that write it, in their order.
    by: HashMap<ValueId, Vec<usize>>,
}

impl Written {
    /// Where the values of a routine are written.
    pub fn of(routine: &Routine, owners: &Owners) -> Written {
        let mut by: HashMap<ValueId, Vec<usize>> = HashMap::new();
        for (ip, instruction) in routine.body.instructions().iter().enumerate() {
            let written = routine.body.writes(instruction).iter();
            written.for_each(|value| by.entry(owners.owner(*value)).or_default().push(ip));
        }
        Written { by }
    }

    /// The instruction that writes the value of an owner, if it is the only one in the routine.
    pub fn only(&self, owner: ValueId) -> Option<usize> {
        match self.by.get(&owner)?[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Those of these instructions that write the value of an owner.
    pub fn within_loop<'w>(
        &'w self,
        owner: ValueId,
        instructions: &'w RangeInclusive<usize>,
    ) -> impl Iterator<Item = usize> + 'w {
        let written = self.by.get(&owner).map_or(&[][..], Vec::as_slice);
        let first = written.partition_point(|ip| ip < instructions.start());
        written[first..].iter().copied().take_while(|ip| ip <= instructions.end())
    }

    /// True if one of these instructions writes the value of an owner.
    pub fn within(&self, owner: ValueId, instructions: &RangeInclusive<usize>) -> bool {
        self.within_loop(owner, instructions).next().is_some()
    }
}
