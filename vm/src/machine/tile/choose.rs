//! The choice of a run: strips where they are compiled, else passes; and when to compile them.

use crate::machine::tile::region::Region;
use crate::machine::tile::report::StripReport;
use crate::machine::tile::schedule::{Presence, Schedule};
use crate::machine::tile::strips::{Group, LoadedStrip, Recording, Variant};
use crate::operator::block::Column;
use crate::operator::cell::Strips;
use crate::strip::Refused;
use bumpalo::Bump;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// Rows times members from which on compiling pays: code takes some 50 µs, and a pass over a row 0.1 ns more than an
/// operation in a strip.
const WORTHWHILE: u64 = 1 << 18;

/// Variants of a region that are compiled.
const MAX_VARIANTS: usize = 8;

impl Region {
    /// What runs for each block of a run over these columns: strips where they are compiled, else passes.
    pub(super) fn choose(
        &self,
        columns: &[Column],
        presence: &[Presence],
        rows: usize,
        strips: Strips,
    ) -> (&Schedule, &[LoadedStrip]) {
        let passes = (&self.passes, &[][..]);
        let Some(plan) = self.strips.as_ref().filter(|_| strips.of_process() != Strips::Never && rows > 0)
        else {
            return passes;
        };
        let Some(signature) = self.signature(columns) else { return passes };
        let mut place = &plan.variants;
        let mut count = 0;
        while let Some(variant) = place.get() {
            if variant.signature == signature {
                return match &variant.strips {
                    Some(strips) => (&plan.schedule, strips),
                    None => passes,
                };
            }
            place = &variant.next;
            count += 1;
        }
        if strips.of_process() == Strips::Auto {
            let more = (rows as u64).saturating_mul(self.members.len() as u64);
            // Others may count at the same time: it need not be exact, but must not begin again.
            let seen = plan.seen.load(Ordering::Relaxed).saturating_add(more);
            plan.seen.store(seen, Ordering::Relaxed);
            if seen < WORTHWHILE {
                return passes;
            }
        }
        if count >= MAX_VARIANTS {
            return passes;
        }
        let made = || {
            let strips = plan.compile(columns, presence);
            Box::new(Variant { signature, strips, next: OnceLock::new() })
        };
        match place.get_or_init(made) {
            variant if variant.signature == signature => match &variant.strips {
                Some(strips) => (&plan.schedule, strips),
                None => passes,
            },
            // Another thread was faster, with another signature.
            _ => passes,
        }
    }

    /// What runs as strips when no input misses a row.
    pub(super) fn strip_reports(&self) -> Vec<StripReport> {
        let Some(plan) = &self.strips else { return Vec::new() };
        let mut columns = self.columns.clone();
        for (column, input) in columns.iter_mut().zip(&self.inputs) {
            column.all = u64::MAX;
            column.step = usize::from(input.is_array());
        }
        let arena = Bump::new();
        let presence = self.plan_presence(&mut columns, &arena);
        let report = |group: &Group| {
            let ip =
                |member: &Recording| self.members[member.column as usize - self.inputs.len()].ip as usize;
            let lowered = plan.lower(group, &columns, presence);
            let code = lowered.map_or(Err(Refused::Empty), |lowered| lowered.compile());
            StripReport {
                members: group.members.iter().map(ip).collect(),
                code: code.map(|code| *code.report()),
            }
        };
        plan.groups.iter().map(report).collect()
    }

    /// What a variant is for: two bits an input. None for what no variant is: a value for all rows that is missing.
    fn signature(&self, columns: &[Column]) -> Option<u64> {
        let inputs = &columns[..self.inputs.len()];
        inputs.iter().enumerate().try_fold(0, |signature, (number, column)| {
            let has_presence = !column.presence.is_null();
            let bits = u64::from(has_presence) | u64::from(column.step == 0) << 1;
            (has_presence || column.all != 0).then_some(signature | bits << (2 * number))
        })
    }
}
