//! What languages write differently: literals, declarations, and the operations of recipes.

use crate::native::c::locals::CType;
use cembra_vm::strip::{Lane, List, Op, Term};

/// How a language writes what recipes consist of. Truths are numbers of one byte, 0 or 1.
pub(in crate::native) trait Syntax {
    /// A number of these bits.
    fn literal(&self, bits: u64, lane: Lane) -> String;

    /// The declaration of a local that does not change, with a blank behind it.
    fn declared(&self, name: &str, ctype: CType, value: &str) -> String;

    /// The expression of an operation on terms, whose own expressions the function gives.
    fn operation(&self, list: &List, op: Op, lane: Lane, of: &dyn Fn(Term) -> String) -> String;
}
