//! Compiling what has run often, on a thread that the host lends.
//!
//! ```text
//! run 1 … run n      the interpreter; run n gives the job to the host ──> job.run() on another thread
//! run n+1 …          the interpreter, until code is attached; compiled code from the next run on
//! ```
//!
//! 1. No run waits for a compiler, unless the host runs the job at once.
//! 2. A job keeps no program alive: for one that is gone nothing is compiled.

use crate::jit::compiled::compile;
use crate::jit::error::NotCompiled;
use crate::machine::BoundExpr;
use crate::machine::tier::WarmUp;
use std::fmt;
use std::sync::{Arc, Weak};

/// The work of compiling one program, for a thread of the host.
pub struct CompileJob {
    work: Box<dyn FnOnce() -> Result<(), NotCompiled> + Send>,
}

impl CompileJob {
    /// Compiles the program, which runs as machine code from its next run on.
    ///
    /// # Errors
    /// Why it stays on the interpreter.
    pub fn run(self) -> Result<(), NotCompiled> {
        (self.work)()
    }
}

impl fmt::Debug for CompileJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileJob").finish_non_exhaustive()
    }
}

/// Has a program compiled when it has run so often (observed runs and those of routines by themselves do not count): the
/// run that makes it full calls `lend` with the job, and goes on with the interpreter. `owner` is the bound program or
/// whatever has one, such as a compiled function.
///
/// ```
/// # use cembra_vm::{machine::BoundExpr, jit};
/// # use std::sync::Arc;
/// # fn example(bound: Arc<BoundExpr>) {
/// let lend = |job: jit::CompileJob| {
///     std::thread::spawn(|| job.run().unwrap_or_else(|reason| eprintln!("not compiled: {reason}")));
/// };
/// jit::compile_when_hot(&bound, 1_000, lend).expect("nobody has asked before");
/// # }
/// ```
///
/// # Errors
/// [`NotCompiled::Already`] if code is attached, or somebody has asked for it before.
pub fn compile_when_hot<O>(
    owner: &Arc<O>,
    runs: u64,
    lend: impl FnOnce(CompileJob) + Send + 'static,
) -> Result<(), NotCompiled>
where
    O: AsRef<BoundExpr> + Send + Sync + 'static,
{
    let weak: Weak<O> = Arc::downgrade(owner);
    let work = move || match weak.upgrade() {
        Some(owner) => compile((*owner).as_ref()),
        None => Err(NotCompiled::Gone),
    };
    let job = CompileJob { work: Box::new(work) };
    let warm_up = WarmUp::new(runs, Box::new(move || lend(job)));
    (**owner).as_ref().count_runs(warm_up).map_err(|_| NotCompiled::Already)
}
