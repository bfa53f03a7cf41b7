//! What a run of a stage may use, and errors that no program should meet.

use crate::field::error::FieldProblem;
use cembra_vm::machine::{Share, SharedBudget, Strips};
use cembra_vm::value::Category;
use cembra_vm::value::budget::Account;

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct StageLimits<'l> {
    pub budget: Option<&'l SharedBudget>,
    /// Bytes of fields and tables, and of what statements keep, which count against the budget.
    pub beside: u64,
    /// Threads that work on a region of many elements.
    pub threads: usize,
    /// When regions run as strips.
    pub strips: Strips,
}

impl StageLimits<'_> {
    /// Charges work of the host as one instruction that goes over so many rows.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn charge(&self, rows: usize) -> Result<(), FieldProblem> {
        let Some(share) = self.share() else { return Ok(()) };
        share.metered(|meter| Ok(meter.rows(rows)?))
    }

    /// Charges memory that a statement makes while it runs, and keeps; counts as an instruction.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn charge_bytes(&self, bytes: u64) -> Result<(), FieldProblem> {
        let Some(share) = self.share() else { return Ok(()) };
        share.metered(|meter| Ok(meter.charge(bytes)?))
    }

    /// What one run may use.
    pub fn share(&self) -> Option<Share<'_>> {
        self.budget.map(|budget| budget.share().beside(self.beside))
    }
}

/// An error that no program should meet.
pub(super) fn ours(error: impl ToString) -> FieldProblem {
    FieldProblem::Run { category: Category::InvalidProgram, what: error.to_string() }
}
