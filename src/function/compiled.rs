//! A compiled function: a bound program, and what it looks like from outside.

use crate::function::check::FunctionWarning;
use crate::function::types::FunctionType;
use cembra_vm::machine::BoundExpr;
use cembra_vm::value::Value;

/// What a function looks like from outside.
#[derive(Clone, Debug)]
pub struct FunctionInterface {
    /// Its name.
    pub name: String,
    /// Types of all parameters.
    pub args: Vec<FunctionType>,
    /// Type of the result.
    pub result: FunctionType,
    /// Values of the last parameters, which a caller leaves out.
    pub defaults: Vec<Value>,
}

/// A function that is ready to be called with arguments of its types.
#[derive(Debug)]
pub struct CompiledFunction {
    pub(super) interface: FunctionInterface,
    pub(super) bound: BoundExpr,
    pub(super) warnings: Vec<FunctionWarning>,
}

impl AsRef<BoundExpr> for CompiledFunction {
    fn as_ref(&self) -> &BoundExpr {
        &self.bound
    }
}

impl CompiledFunction {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.interface.name
    }

    /// Types of the arguments.
    pub fn args(&self) -> &[FunctionType] {
        &self.interface.args
    }

    /// Type of the result.
    pub fn result(&self) -> &FunctionType {
        &self.interface.result
    }

    /// Values of the arguments that were left out: those of the last parameters. A host that calls the program on a
    /// frame of its own writes them into the last inputs.
    pub fn defaults(&self) -> &[Value] {
        &self.interface.defaults
    }

    /// Loops over `prange` that run serially, with the reasons.
    pub fn warnings(&self) -> &[FunctionWarning] {
        &self.warnings
    }

    /// The bound program alone.
    pub fn into_bound(self) -> BoundExpr {
        self.bound
    }

    /// The bound program: inputs by the names of the parameters.
    pub fn bound(&self) -> &BoundExpr {
        &self.bound
    }
}
