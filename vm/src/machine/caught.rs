//! Caught: a fault that a guard has taken, kept until it is raised again or another one takes its place.

use crate::program::{Instruction, Program};
use crate::value::Fault;

/// A fault, and where it was raised.
#[derive(Clone, Debug)]
pub(super) struct Caught {
    pub(super) fault: Fault,
    pub(super) routine: usize,
    pub(super) ip: u32,
    /// How many calls are open where it was taken.
    pub(super) depth: usize,
    /// Under which number it is kept there.
    pub(super) number: u32,
}

impl Caught {
    /// The fault that was raised; where that was done by an instruction that raises again, what was kept.
    pub(super) fn again(self, program: &Program, kept: &[Caught]) -> Caught {
        match program.routines()[self.routine].body.instructions().get(self.ip as usize) {
            Some(Instruction::Again { number }) => {
                let found = kept.iter().find(|kept| (kept.depth, kept.number) == (self.depth, *number));
                found.cloned().unwrap_or(self)
            }
            _ => self,
        }
    }
}
