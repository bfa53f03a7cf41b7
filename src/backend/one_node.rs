//! Programs of one node: how the step backend computes what the machine has operators for.
//!
//! ```text
//! n7 = graph.add(left=n4, right=n6)     kind:  add(n1, n2)               the operands are numbered from 1
//! n4: int64 of shape (3, 1)             types: int64 (N), float64 (N)    axes are broadcast before, and flat
//! n6: float64 of shape (4,)             program: math.add(core.to_float64(n1), n2), as in plans
//! ```
//!
//! A program is found by kind and types, so that it fits every graph and every shape. Invariants:
//!
//! 1. A program is either in the list or with the thread that runs it; two threads that want the same one make two.
//! 2. The list has a bound; the program that was not used for the longest time goes. No program there holds large arrays.

use crate::backend::compiled::{Compiled, ProgramError};
use crate::backend::error::OpError;
use crate::compile::CompileError;
use crate::dag::kind::{Kind, NodeId};
use crate::dag::{Array, ToExpr, ValueType};
use std::sync::{Mutex, PoisonError};

/// Programs that are kept.
const KEPT: usize = 256;

/// Bytes of operands and results that a program may keep memory for.
const KEPT_BYTES: usize = 1 << 16;

/// The operands of kinds of nodes that read one, two or three.
pub(super) const FIRST: NodeId = NodeId(1);
pub(super) const SECOND: NodeId = NodeId(2);
pub(super) const THIRD: NodeId = NodeId(3);

static PROGRAMS: Mutex<Vec<OneNode>> = Mutex::new(Vec::new());

/// The program of a node whose operands are numbered from 1.
pub(super) struct OneNode {
    kind: Kind,
    types: Vec<ValueType>,
    program: Box<Compiled>,
}

impl OneNode {
    /// The program of a kind for types of operands; nothing if the machine has no operator for it.
    ///
    /// # Errors
    /// The program is refused: a limit of compilation.
    pub fn find(kind: Kind, types: Vec<ValueType>) -> Result<Option<OneNode>, ProgramError> {
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let place = programs.iter().rposition(|one| one.kind == kind && one.types == types);
        if let Some(place) = place {
            return Ok(Some(programs.remove(place)));
        }
        drop(programs);
        let (mut expr, result) = (ToExpr::new(), NodeId(types.len() as u32 + 1));
        for (index, of) in types.iter().enumerate() {
            expr.input(NodeId(index as u32 + 1), *of).map_err(CompileError::from)?;
        }
        match expr.lower(result, &kind).map_err(CompileError::from)? {
            true => {
                let program = Box::new(Compiled::new(expr.finish(vec![result]))?);
                Ok(Some(OneNode { kind, types, program }))
            }
            false => Ok(None),
        }
    }

    /// The result for operands of the types.
    ///
    /// # Errors
    /// An operator raises, or a limit is reached.
    pub fn run(mut self, operands: &[Array]) -> Result<Array, ProgramError> {
        self.program.run(1, None, |id| operands.get(id.index()))?;
        let (_, result) = self.program.outputs().next().expect("the node is an output");
        let bytes = result.byte_size() + operands.iter().map(Array::byte_size).sum::<usize>();
        if bytes > KEPT_BYTES {
            self.program.forget_values()?;
        }
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() == KEPT {
            programs.remove(0);
        }
        programs.push(self);
        Ok(result)
    }
}

impl From<ProgramError> for OpError {
    fn from(error: ProgramError) -> OpError {
        OpError::Program { problem: error.to_string() }
    }
}
