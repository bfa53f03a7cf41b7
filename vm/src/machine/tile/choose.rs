//! The choice of a run: strips where they are compiled, else passes; and when to compile them.

use crate::array::block::Column;
use crate::machine::tile::access::Access;
use crate::machine::tile::lowered::Lowered;
use crate::machine::tile::region::Region;
use crate::machine::tile::report::{ColumnOf, StripReport};
use crate::machine::tile::schedule::{Presence, Schedule};
use crate::machine::tile::strips::{Case, Group, LoadedStrip, StripPlan, Variant};
use crate::operator::cell::Strips;
use crate::strip::{Code, Refused, load};
use bumpalo::Bump;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// Rows, times the passes over them that strips save, from which on compiling pays: code takes some 200 µs, its memory
/// included, and a pass over a row 0.1 ns more than an operation in a strip.
const WORTHWHILE: u64 = 1 << 21;

/// As many more for each pass that is saved, and each operation of special functions: they make long code.
const FOR_EACH_OPERATION: u64 = WORTHWHILE >> 8;

/// What a run that is kept saves, as rows of a pass: some microseconds.
const RUN_THAT_IS_KEPT: u64 = 1 << 14;

/// Rows from which on strips run among passes.
const FEW_ROWS: usize = 128;

/// Variants of a region that are compiled.
const MAX_VARIANTS: usize = 8;

/// What runs for each block of a run.
#[derive(Clone, Copy)]
pub(super) struct Choice<'r> {
    /// The steps.
    pub(super) schedule: &'r Schedule,
    /// The strips among them.
    pub(super) strips: &'r [LoadedStrip],
}

impl Choice<'_> {
    /// True if so many rows are few, and there is nothing but to run the steps over them.
    #[inline(always)]
    pub(super) fn is_at_once(&self, rows: usize) -> bool {
        (1..=self.schedule.at_once).contains(&rows)
    }
}

impl Region {
    /// The plan of strips; for [short runs](Region::short) if that is what a run has.
    #[inline(always)]
    pub(super) fn plan(&self, is_short: bool) -> Option<&StripPlan> {
        if is_short { self.short.as_ref() } else { self.strips.as_ref() }
    }

    /// What runs for each block of a run over these columns, with their signature if that is known: strips where they are
    /// compiled, else passes.
    #[inline(always)]
    pub(super) fn choose<'r>(
        &'r self,
        plan: Option<&'r StripPlan>,
        columns: &[Column],
        presence: &[Presence],
        signature: Option<u64>,
        rows: usize,
        strips: Strips,
    ) -> Choice<'r> {
        if let Some(plan) = plan
            && let Some(strips) = self.strips_of_run(plan, columns, presence, (signature, 1), rows, strips)
        {
            return Choice { schedule: &plan.schedule, strips };
        }
        self.passes()
    }

    /// The same for elements that become one side by side, if strips take in so many rows of a run at once: as soon as there are
    /// strips for them row by row.
    pub(super) fn choose_whole_runs(
        &self,
        columns: &[Column],
        elements: usize,
        (rows_at_once, pays): (usize, bool),
        strips: Strips,
    ) -> Option<Choice<'_>> {
        let plan = self.strips.as_ref()?;
        let is_wanted = pays && plan.variants.get().is_some() || plan.mode(strips) == Strips::Always;
        let strips = is_wanted
            .then(|| self.strips_of_run(plan, columns, &[], (None, rows_at_once), elements, strips))
            .flatten()?;
        Some(Choice { schedule: &plan.schedule, strips })
    }

    /// Passes, whatever there is besides.
    #[inline(always)]
    pub(super) fn passes(&self) -> Choice<'_> {
        Choice { schedule: &self.passes, strips: &[] }
    }

    /// The inputs that passes read among strips which have been compiled, or always are, and can take several runs of elements a call.
    pub(super) fn by_passes_among_runs(&self, is_short: bool, strips: Strips) -> Option<&[u16]> {
        let plan = self.plan(is_short)?;
        let is_compiled = plan.variants.get().is_some() || plan.mode(strips) == Strips::Always;
        plan.by_passes.as_deref().filter(|_| is_compiled)
    }

    /// True if strips take in elements that become one side by side, unless runs are short.
    pub(super) fn is_side_by_side(&self) -> bool {
        self.strips.as_ref().is_some_and(|plan| plan.is_side_by_side)
    }

    /// Notes a run that could have been kept; true if all members run as one strip, which is compiled, or pays by now.
    pub(in crate::machine) fn may_keep(&self) -> bool {
        self.plan_of_one_strip().is_some_and(|plan| {
            let is_compiled = plan.variants.get().is_some();
            is_compiled || plan.auto == Strips::Auto && self.has_paid(plan, RUN_THAT_IS_KEPT)
        })
    }

    /// The strips, if they are one for all members that takes in no fold and cannot fire.
    pub(super) fn plan_of_one_strip(&self) -> Option<&StripPlan> {
        let is_one = |plan: &&StripPlan| plan.schedule.is_one_strip && !plan.has_folds && !plan.can_fire;
        self.strips.as_ref().filter(is_one)
    }

    /// The strips of a run over these columns; none if it is one for passes.
    fn strips_of_run<'r>(
        &self,
        plan: &'r StripPlan,
        columns: &[Column],
        presence: &[Presence],
        (signature, rows_at_once): (Option<u64>, usize),
        rows: usize,
        strips: Strips,
    ) -> Option<&'r [LoadedStrip]> {
        let mode = plan.mode(strips);
        // Among passes a strip of few rows saves less than it costs to be called.
        if mode == Strips::Auto && rows < FEW_ROWS && !plan.schedule.is_one_strip {
            return None;
        }
        if mode == Strips::Auto && plan.is_often_vain() {
            return None;
        }
        // As on all runs of a region that has not gone over many rows.
        let is_cold =
            plan.variants.get().is_none() && mode == Strips::Auto && !self.is_worthwhile(plan, rows);
        match is_cold || mode == Strips::Never || rows == 0 {
            true => None,
            false => {
                let signature = match signature {
                    Some(known) => known,
                    None => self.signature(columns)?,
                };
                let case = match rows_at_once {
                    1 => Case::new(signature, self.access(columns, rows)),
                    rows => Case { rows, ..Case::new(signature, Access::Cached) },
                };
                self.variant(plan, case, columns, presence, rows, mode)
            }
        }
    }

    /// Counts rows; true if there have been so many that compiling pays.
    fn is_worthwhile(&self, plan: &StripPlan, rows: usize) -> bool {
        self.has_paid(plan, (rows as u64).saturating_mul(plan.saved))
    }

    /// The same for so many rows of one pass.
    pub(super) fn has_paid(&self, plan: &StripPlan, more: u64) -> bool {
        // Others may count at the same time: it need not be exact, but must not begin again.
        let seen = plan.seen.load(Ordering::Relaxed).saturating_add(more);
        plan.seen.store(seen, Ordering::Relaxed);
        seen >= WORTHWHILE + (plan.saved + plan.of_functions) * FOR_EACH_OPERATION
    }

    /// How strips reach so many rows of all columns.
    #[inline(always)]
    fn access(&self, columns: &[Column], rows: usize) -> Access {
        let columns = self.moving.iter().map(|column| &columns[*column as usize]);
        let row_bytes: usize = columns.filter(|column| !column.is_taken()).map(|column| column.step).sum();
        Access::of(rows, rows.saturating_mul(row_bytes))
    }

    /// The strips for columns of a case, compiled if that has not been done.
    pub(super) fn variant<'r>(
        &self,
        plan: &'r StripPlan,
        case: Case,
        columns: &[Column],
        presence: &[Presence],
        rows: usize,
        mode: Strips,
    ) -> Option<&'r [LoadedStrip]> {
        let of_variant = |variant: &'r Variant| variant.strips.as_deref();
        let mut place = &plan.variants;
        let mut count = 0;
        while let Some(variant) = place.get() {
            if variant.case == case {
                return of_variant(variant);
            }
            place = &variant.next;
            count += 1;
        }
        // There is room for those that take rows as they come.
        let most = if case.rows > 1 { MAX_VARIANTS / 2 } else { MAX_VARIANTS };
        if count >= most || mode == Strips::Auto && !self.is_worthwhile(plan, rows) {
            return None;
        }
        let made = || {
            let strips = plan.compile(columns, presence, case, &self.moving);
            Box::new(Variant { case, strips, presence: presence.into(), next: OnceLock::new() })
        };
        // Another thread may have been faster, with another case.
        Some(place.get_or_init(made)).filter(|made| made.case == case).and_then(|made| of_variant(made))
    }

    /// Instructions of the members whose results stand in registers of strips only, in order.
    pub(super) fn in_registers(&self) -> Vec<usize> {
        let plan = self.strips.as_ref().filter(|plan| plan.auto != Strips::Never);
        let groups = plan.iter().flat_map(|plan| &plan.groups);
        let kept = groups.flat_map(|group| {
            let columns = group.members.iter().map(|member| member.column);
            columns.filter(|column| !group.results.contains(column))
        });
        let mut ips: Vec<usize> = kept.map(|column| self.ip_of(column)).collect();
        ips.sort_unstable();
        ips
    }

    /// The instruction of the member that computes a column.
    fn ip_of(&self, column: u16) -> usize {
        self.members[column as usize - self.inputs.len()].ip as usize
    }

    /// What runs as strips when no input misses a row; nothing in a process without strips.
    pub(super) fn strip_reports(&self) -> Vec<StripReport> {
        let plan = self.strips.as_ref().filter(|plan| plan.auto != Strips::Never);
        let Some(plan) = plan else { return Vec::new() };
        let mut columns = self.columns.clone();
        for (column, input) in columns.iter_mut().zip(&self.inputs) {
            column.all = u64::MAX;
            column.step = usize::from(input.is_array());
        }
        let arena = Bump::new();
        let presence = self.plan_presence(&mut columns, &arena);
        let inputs = self.inputs.iter().map(|input| ColumnOf::Input(input.value));
        let results = self.members.iter().map(|member| ColumnOf::Member(member.ip as usize));
        let report = |group: &Group| {
            let (inputs, results) = (inputs.clone(), results.clone());
            let lowered = plan.lower(group, &columns, presence, 1);
            let scalars = lowered.as_ref().map_or(Vec::new(), Lowered::scalars);
            let code = lowered.map_or(Err(Refused::Empty), |lowered| lowered.compile()).and_then(loadable);
            let mut columns: Vec<u16> = group.members.iter().map(|member| member.column).collect();
            columns.extend(group.folds.iter().map(|fold| fold.column));
            columns.sort_unstable();
            StripReport {
                members: columns.into_iter().map(|column| self.ip_of(column)).collect(),
                code,
                columns: inputs.chain(results).collect(),
                scalars,
            }
        };
        plan.groups.iter().map(report).collect()
    }

    /// What a variant for these columns is for; none of what no variant is for: a value for all rows that is missing, and an input
    /// that a signature has no bits for and that is not as most are, with a cell for each row, or one value.
    pub(super) fn signature(&self, columns: &[Column]) -> Option<u64> {
        let columns = &columns[..self.varying];
        let is_missing = |column: &Column| column.presence.is_null() && column.all == 0;
        let is_usual =
            |(column, usual): (&Column, &Column)| column.presence.is_null() && column.step == usual.step;
        let are_usual = || columns.iter().zip(&*self.columns).skip(MOST_IN_SIGNATURE).all(is_usual);
        let has_variant = !columns.iter().any(is_missing) && are_usual();
        has_variant.then(|| signature(columns))
    }
}

/// The code, if the system lets it be executed: passes run where it does not.
fn loadable(code: Code) -> Result<Code, Refused> {
    match load(std::slice::from_ref(&code)) {
        Ok(_) => Ok(code),
        Err(error) => Err(Refused::Memory { reason: error.to_string() }),
    }
}

/// Inputs that a signature tells apart, by two bits each.
pub(super) const MOST_IN_SIGNATURE: usize = (u64::BITS as usize) / COLUMN_BITS;

/// Two bits for each column of an input, or of the first of them.
pub(super) fn signature(columns: &[Column]) -> u64 {
    columns.iter().take(MOST_IN_SIGNATURE).fold(0, |signature, column| {
        let has_no_rows = column.step == 0 || column.is_taken();
        let may_miss = if column.presence.is_null() { 0 } else { MAY_MISS };
        signature << COLUMN_BITS | may_miss | u64::from(has_no_rows)
    })
}

/// Bits of a column in a signature.
const COLUMN_BITS: usize = 2;

/// The one of a column with presence.
const MAY_MISS: u64 = 2;

/// That of a column among those of so many inputs.
pub(super) fn may_miss(inputs: usize, column: u16) -> u64 {
    MAY_MISS << ((inputs - 1 - usize::from(column)) * COLUMN_BITS)
}
