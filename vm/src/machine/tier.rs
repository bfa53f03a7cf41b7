//! Compiled tiers: machine code that runs routines of a bound program in place of its cells.
//!
//! ```text
//! BoundExpr ── parts(routine) ──> what a compiler needs: fuel, roles, the cell of each instruction
//!     ^                                 │
//!     └── attach(tier) <── entries <────┘        from then on `execute` and `execute_with` run them
//! ```
//!
//! Higher rooms make tiers; the machine knows this trait only, and loaders, pools and observers do not know it at all. A
//! run with an observer steps through cells, as ever.
//!
//! A compiled routine stops at the same instruction, with the same error and the same fuel used, as its cells do. What it
//! cannot do itself it has done by the cell of the instruction ([`native`](crate::machine::native)).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A run of compiled code, which only the machine looks into.
#[derive(Debug)]
pub enum NativeRun {}

/// Compiled code of a routine, called with the run and the frame of the routine; what it returns is for the machine.
pub type Entry = unsafe extern "C" fn(run: *mut NativeRun, frame: *mut u8) -> u32;

/// Machine code of the routines of one program.
///
/// # Safety
/// Entries are code for the program that the tier is attached to, made of the parts of that bound program; they
/// stay where they are as long as the tier does.
pub unsafe trait CompiledTier: Send + Sync + fmt::Debug {
    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// The code of routines, by number; `None` of those that cells run.
    fn entries(&self) -> &[Option<Entry>];
}

/// What runs a bound program besides the interpreter, if anything does.
#[derive(Debug, Default)]
pub(super) struct Tiers {
    /// Compiled code, once somebody has asked for it.
    pub(super) compiled: OnceLock<Attached>,
    /// What waits for the program to have run often.
    pub(super) warm_up: OnceLock<WarmUp>,
}

/// Compiled code of a program.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) tier: Box<dyn CompiledTier>,
    /// The code of the main routine, if it does not need a run: there are scalar cells only.
    pub(super) alone: Option<Entry>,
}

/// Counts the runs of a program until it has run often.
pub(crate) struct WarmUp {
    left: AtomicU64,
    then: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl WarmUp {
    /// Does something once a program has run so often, on the thread of that run.
    pub(crate) fn new(runs: u64, then: Box<dyn FnOnce() + Send>) -> WarmUp {
        WarmUp { left: AtomicU64::new(runs.max(1)), then: Mutex::new(Some(then)) }
    }

    /// Counts a run. Runs of other threads may be counted at the same time; one of them is the last.
    pub(super) fn count(&self) {
        let counted =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if counted == Ok(1) {
            self.finish();
        }
    }

    #[cold]
    fn finish(&self) {
        let then = self.then.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(then) = then {
            then();
        }
    }
}

impl fmt::Debug for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmUp").field("left", &self.left).finish_non_exhaustive()
    }
}

/// Whether this process asks by the environment variable `CEMBRA_TIER=jit` to have every program compiled that can be, for
/// tests and comparisons.
pub fn is_compiled_by_default() -> bool {
    static IS_COMPILED: OnceLock<bool> = OnceLock::new();
    *IS_COMPILED.get_or_init(|| std::env::var("CEMBRA_TIER").is_ok_and(|tier| tier == "jit"))
}
