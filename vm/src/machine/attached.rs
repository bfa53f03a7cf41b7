//! Which tier runs a bound program.
//!
//! ```text
//! execute ── has_tiers? ── no ──> the quick ways of the interpreter
//!                └─ yes ──> compiled_alone: code that needs no run
//!                           run_tier: compiled code, or the interpreter if none is attached yet or somebody observes
//! ```

use crate::machine::bound::BoundExpr;
use crate::machine::run::{Halt, Run};
#[cfg(feature = "jit")]
use crate::machine::{
    routine_code::Code,
    tier::{Attached, CompiledTier, Entry, WarmUp},
};

#[cfg(not(feature = "jit"))]
impl BoundExpr {
    /// There is the interpreter only.
    #[inline(always)]
    pub(super) fn has_tiers(&self) -> bool {
        false
    }

    /// Runs the interpreter.
    #[inline(always)]
    pub(super) fn run_tier<'r>(&'r self, run: &mut Run<'r, '_>) -> Result<(), Box<Halt>> {
        run.run()
    }
}

#[cfg(feature = "jit")]
impl BoundExpr {
    /// The code of the machine, by routine.
    pub(super) fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// Runs compiled code from now on, on all threads. The first tier stays; another one is given back.
    ///
    /// # Errors
    /// There is one already.
    pub(crate) fn attach(&self, tier: Box<dyn CompiledTier>) -> Result<(), Box<dyn CompiledTier>> {
        let code = &self.codes[0];
        let is_alone = code.is_scalar && code.calls.is_empty() && code.guards.is_empty();
        let alone = tier.entries().first().copied().flatten().filter(|_| is_alone);
        self.tiers.compiled.set(Attached { tier, alone }).map_err(|attached| attached.tier)
    }

    /// The code of the main routine, if it needs no run.
    #[inline]
    pub(super) fn compiled_alone(&self) -> Option<Entry> {
        self.tiers.compiled.get()?.alone
    }

    /// Counts runs from now on, until there are enough or code is attached.
    ///
    /// # Errors
    /// They are counted already, or code is attached.
    pub(crate) fn count_runs(&self, warm_up: WarmUp) -> Result<(), WarmUp> {
        match self.compiled_tier() {
            Some(_) => Err(warm_up),
            None => self.tiers.warm_up.set(warm_up),
        }
    }

    /// The compiled tier that runs the program; `None` if the interpreter does.
    pub fn compiled_tier(&self) -> Option<&dyn CompiledTier> {
        self.tiers.compiled.get().map(|attached| &*attached.tier)
    }

    /// True if compiled code is attached, or runs are counted.
    #[inline]
    pub(super) fn has_tiers(&self) -> bool {
        self.tiers.compiled.get().is_some() || self.tiers.warm_up.get().is_some()
    }

    /// Runs compiled code, if there is some and nobody observes the run.
    pub(super) fn run_tier<'r>(&'r self, run: &mut Run<'r, '_>) -> Result<(), Box<Halt>> {
        if run.is_observed() {
            return run.run();
        }
        if let Some(tier) = self.compiled_tier() {
            return run.run_compiled(tier);
        }
        if let Some(warm_up) = self.tiers.warm_up.get() {
            warm_up.count();
        }
        run.run()
    }
}
