//! Tiers: what runs a program that has been bound.
//!
//! Every program runs on the interpreter. With the feature `jit` a host may have it compiled to machine code as well
//! (`cembra_vm::jit::compile`), or all programs of a process by the environment variable `CEMBRA_TIER=jit`, for tests and
//! comparisons: what cannot be compiled stays on the interpreter. Values, errors and fuel are the same.

use cembra_vm::machine::{BindError, BoundExpr};
use cembra_vm::program::Program;
use std::sync::Arc;

/// Binds a program, and compiles it if all programs of this process are.
///
/// # Errors
/// As [`BoundExpr::new`].
pub(crate) fn bind(program: Program) -> Result<BoundExpr, BindError> {
    let bound = BoundExpr::new(Arc::new(program))?;
    #[cfg(feature = "jit")]
    if is_compiled_by_default() {
        use cembra_vm::jit::{NotCompiled, compile};
        match compile(&bound) {
            Err(bug @ NotCompiled::Compiler { .. }) if cfg!(debug_assertions) => panic!("{bug}"),
            _ => {}
        }
    }
    Ok(bound)
}

#[cfg(feature = "jit")]
fn is_compiled_by_default() -> bool {
    use std::sync::OnceLock;
    static IS_COMPILED: OnceLock<bool> = OnceLock::new();
    *IS_COMPILED.get_or_init(|| std::env::var("CEMBRA_TIER").is_ok_and(|tier| tier == "jit"))
}
