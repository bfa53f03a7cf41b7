//! Tiers: what runs a program that has been bound.
//!
//! Every program runs on the interpreter. With the feature `jit` a host may have it compiled to machine code as well
//! ([`run_as_machine_code`]), or all programs of a process by the environment variable `CEMBRA_TIER=jit`, for tests and
//! comparisons: what cannot be compiled stays on the interpreter. Values, errors and fuel are the same.

use cembra_vm::machine::{BindError, BoundExpr};
use cembra_vm::program::Program;
use std::sync::Arc;

/// Has a program run as machine code from now on, where that gains anything. Runs with an observer go on stepping through
/// the interpreter.
///
/// # Errors
/// Why the program stays on the interpreter, for people: `cembra_vm::jit::compile` says it in types. Without the feature
/// `jit` every program does.
pub fn run_as_machine_code(bound: &BoundExpr) -> Result<(), String> {
    #[cfg(feature = "jit")]
    {
        use cembra_vm::jit::{NotCompiled, compile};
        match compile(bound) {
            Ok(()) | Err(NotCompiled::Already) if bound.compiled_tier().is_some() => Ok(()),
            outcome => outcome.map_err(|reason| reason.to_string()),
        }
    }
    #[cfg(not(feature = "jit"))]
    {
        let _ = bound;
        Err("built without the feature `jit`".to_owned())
    }
}

/// Binds a program, and compiles it if all programs of this process are.
///
/// # Errors
/// As [`BoundExpr::new`].
pub(crate) fn bind(program: Program) -> Result<BoundExpr, BindError> {
    let bound = BoundExpr::new(Arc::new(program))?;
    #[cfg(feature = "jit")]
    if cembra_vm::machine::tier::is_compiled_by_default() {
        use cembra_vm::jit::{NotCompiled, compile};
        // Tests are told of bugs; nobody else is stopped by one.
        let outcome = compile(&bound);
        debug_assert!(!matches!(outcome, Err(NotCompiled::Compiler { .. })), "{outcome:?}");
    }
    Ok(bound)
}
