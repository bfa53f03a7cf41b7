//! The compile half of an extension, and the emitter it speaks to.
//!
//! An operator that an extension packed becomes instructions by the extension's own code. That code sees
//! values, operators and jumps, and the bodies packed with it by number; it knows neither the expression
//! nor the slots.

use crate::prepare::error::PrepareError;
use cembra_vm::operator::Effects;
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::{QType, Value};
use std::fmt;
use std::sync::Arc;

/// The compile half of an extension: emits the instructions of one packed operator.
pub trait CompileOperator: Send + Sync + fmt::Debug {
    /// Emits instructions that compute `result` from `operands`.
    ///
    /// # Errors
    /// The operator needs something that the machine does not have.
    fn emit(
        &self,
        emitter: &mut dyn Emitter,
        operands: &[ValueId],
        result: ValueId,
    ) -> Result<(), PrepareError>;

    /// What evaluation can do besides giving a value.
    fn effects(&self) -> Effects {
        Effects::Raises
    }

    /// What its errors say of rows, for operands of these types; none unless it gives each row of its result by that row of
    /// the operands alone.
    fn row_errors(&self, _: &[QType]) -> Option<RowErrors> {
        None
    }
}

/// What an error of an operator that works row by row says of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowErrors {
    /// Which one it is.
    Named,
    /// Nothing.
    Unnamed,
}

/// What a compile half can emit.
pub trait Emitter {
    /// Type of a value.
    fn qtype(&self, value: ValueId) -> QType;

    /// A new temporary.
    fn temporary(&mut self, qtype: QType) -> ValueId;

    /// Whether an optional value is present: its mask, which needs no instruction.
    fn presence(&mut self, optional: ValueId) -> ValueId;

    /// A literal.
    fn literal(&mut self, value: Value) -> ValueId;

    /// `result = operator(operands)` for exact types.
    ///
    /// # Errors
    /// The machine has no such operator.
    fn operator(&mut self, name: &str, operands: &[ValueId], result: ValueId) -> Result<(), PrepareError>;

    /// The instructions of a body packed into the operator, by number; its leaves are bound in the order
    /// of its inputs.
    ///
    /// # Errors
    /// As in compiling the body.
    ///
    /// # Panics
    /// If the operator has no such body.
    fn inline(&mut self, body: usize, leaves: &[ValueId], result: ValueId) -> Result<(), PrepareError>;

    /// A call of the main routine of a program. Its routines become routines of this program; their instructions stand
    /// where the operator stands.
    ///
    /// The program changes none of its inputs in place, and its layout is its own.
    fn call(&mut self, program: &Arc<Program>, operands: &[ValueId], result: ValueId);

    /// The position of the next instruction.
    fn here(&self) -> usize;

    /// A forward jump taken if the mask is missing; [`Emitter::land`] sets its target.
    fn jump_if_not(&mut self, condition: ValueId) -> usize;

    /// Makes a forward jump lead to the next instruction.
    fn land(&mut self, jump: usize);

    /// A jump to an earlier position.
    fn jump_back(&mut self, target: usize);
}
