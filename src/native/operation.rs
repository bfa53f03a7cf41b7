//! An operation: an instruction that applies an operator, as translators look at it.
//!
//! ```text
//! 7: v2 = math.add(v0, v1)        ip 7, the overload, its operands v0 and v1, its result v2
//! ```

use cembra_vm::operator::Overload;
use cembra_vm::program::{Program, ValueId};

/// An instruction that applies an operator.
#[derive(Clone, Copy)]
pub(in crate::native) struct Operation<'o> {
    /// Its number in its routine.
    pub(in crate::native) ip: usize,
    pub(in crate::native) overload: &'o Overload,
    pub(in crate::native) operands: &'o [ValueId],
    pub(in crate::native) result: ValueId,
}

impl<'o> Operation<'o> {
    /// The name of the operator.
    pub(in crate::native) fn name(&self) -> &'o str {
        self.overload.name()
    }
}

/// The operators of a program, each once a routine.
pub(in crate::native) fn operators(program: &Program) -> impl Iterator<Item = &Overload> {
    program.routines().iter().flat_map(|routine| routine.body.operators()).map(|overload| &**overload)
}

/// A text, if a program needs it for one of its operators.
pub(in crate::native) fn text_for(
    program: &Program,
    text: &'static str,
    needs: impl FnMut(&Overload) -> bool,
) -> &'static str {
    if operators(program).any(needs) { text } else { "" }
}
