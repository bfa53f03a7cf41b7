//! From the stage `low` to routines: out of SSA, instructions in order, slots.
//!
//! ```text
//! head: branch c < n ? body : exit       …; jump head
//! body: …; jump head               body: …
//!                                  head: c < n?  jump_if body        one jump a round: the head stands last
//! ```
//!
//! 1. Values that share a register are one value of the program with several definitions.
//! 2. A comparison that only the branch behind it reads is a mask, which the machine fuses with the jump.
//! 3. What the function returns is computed in the place of the output, if nothing pins it elsewhere.
//! 4. An array is in one handle. Where handles would have to be copied between names, the new name is not written, and the
//!    old one not behind that place.

use crate::compile::binder::routine;
use crate::compile::emission::Emission;
use crate::compile::{CompileError, Options};
use crate::function::array_names::returned_parameters;
use crate::function::draft::Draft;
use crate::function::emitter::emit;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::InstanceId;
use crate::function::low::{LowFunction, LowOp, Pieces};
use crate::ssa::InstId;
use crate::ssa::destruct::MOST_PAIRS;
use cembra_vm::operator::OperatorTable;
use cembra_vm::program::instruction::Span;
use cembra_vm::program::parallel::{Parallel, Window};
use cembra_vm::program::{Program, Routine};
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Makes the program of instances, the first of which is the main routine.
///
/// # Errors
/// Names of arrays that cannot be told apart, a frame that is too large.
pub fn program(
    functions: Vec<LowFunction>,
    table: &Arc<OperatorTable>,
    options: &Options,
) -> Result<Program, FunctionError> {
    let drafts: Option<Vec<Draft>> =
        functions.into_iter().map(|function| Draft::new(function, table)).collect();
    let mut drafts = drafts.ok_or_else(|| {
        let problem = FunctionProblem::Limit { name: "function-variables", limit: MOST_PAIRS };
        FunctionError::new(problem, Span::default())
    })?;
    let updated = updated_parameters(&drafts);
    let returned = returned_parameters(&drafts);
    let in_pieces = in_pieces(&drafts)?;
    let mut routines = Vec::new();
    for (number, draft) in drafts.iter_mut().enumerate() {
        draft.check_arrays(&updated, &returned)?;
        let pieces = in_pieces.get(&InstanceId(number as u32));
        routines.push(draft.routine(table, options, &updated[number], pieces.map(|pieces| &**pieces))?);
    }
    Ok(Program::new(routines))
}

/// By instance, the parameters whose arrays it changes: found from callees to callers.
fn updated_parameters(drafts: &[Draft]) -> Vec<HashSet<u32>> {
    let mut updated: Vec<HashSet<u32>> = vec![HashSet::new(); drafts.len()];
    loop {
        let mut grew = false;
        for (number, draft) in drafts.iter().enumerate() {
            for register in draft.updated_registers(&updated) {
                if let Some(LowOp::Input(position)) = draft.flow().operation(register) {
                    grew |= updated[number].insert(*position);
                }
            }
        }
        if !grew {
            return updated;
        }
    }
}

/// How the instances are called that run in pieces: each in one way only.
fn in_pieces(drafts: &[Draft]) -> Result<HashMap<InstanceId, Arc<Pieces>>, FunctionError> {
    let (mut found, mut called) = (HashMap::new(), HashSet::new());
    for draft in drafts {
        let flow = draft.flow();
        for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
            let other = match flow.operation(*inst) {
                Some(LowOp::Call(callee)) => {
                    called.insert(*callee);
                    found.contains_key(callee)
                }
                Some(LowOp::Pieces(pieces)) => {
                    let known: &Arc<Pieces> = found.entry(pieces.callee).or_insert_with(|| pieces.clone());
                    known != pieces || called.contains(&pieces.callee)
                }
                _ => false,
            };
            if other {
                let message = "a function that is called in pieces is called in one way only";
                return Err(FunctionError::types(message.to_owned(), flow.inst(*inst).span));
            }
        }
    }
    Ok(found)
}

impl Draft {
    /// Registers of arrays that are changed in place.
    fn updated_registers(&self, updated: &[HashSet<u32>]) -> HashSet<InstId> {
        let insts = self.flow().blocks.iter().flat_map(|block| &block.insts);
        insts.flat_map(|inst| self.updated_by(*inst, updated)).collect()
    }

    /// Registers of arrays that an instruction changes in place.
    pub(super) fn updated_by(&self, inst: InstId, updated: &[HashSet<u32>]) -> Vec<InstId> {
        let args = &self.flow().inst(inst).args;
        let places: Vec<u32> = match self.flow().operation(inst) {
            Some(LowOp::Update(_)) => vec![0],
            Some(op) => match op.callee() {
                Some(callee) => updated[callee.0 as usize].iter().copied().collect(),
                None => Vec::new(),
            },
            None => Vec::new(),
        };
        places.into_iter().map(|place| self.register(args[place as usize])).collect()
    }

    fn routine(
        &mut self,
        table: &Arc<OperatorTable>,
        options: &Options,
        updated: &HashSet<u32>,
        pieces: Option<&Pieces>,
    ) -> Result<Routine, FunctionError> {
        let inputs = self.function.parameters.iter().map(|(_, qtype)| qtype.clone());
        let (output, limit) = (self.function.result.clone(), options.instruction_limit);
        let emission = Emission::with_interface(inputs, output, table.clone(), limit);
        let emission = emit(self, emission)?;
        let names = self.function.parameters.iter().map(|(name, _)| name.as_str().into()).collect();
        let failed = |error: CompileError| {
            FunctionError::new(FunctionProblem::Compile(Arc::new(error)), Span::default())
        };
        let inputs = emission.inputs.clone();
        // Arguments of pieces stay, for the next one.
        let kept = Options {
            allow_overriding_input_slots: options.allow_overriding_input_slots && pieces.is_none(),
            ..options.clone()
        };
        let mut routine = routine(emission, names, &kept).map_err(failed)?;
        let input = |position: u32| inputs[position as usize];
        routine.parallel = pieces.map(|pieces| Parallel {
            combine: pieces.combine.0,
            windows: pieces
                .windows
                .iter()
                .map(|window| Window {
                    array: input(window.array),
                    axis: window.axis,
                    first: input(window.first),
                    step: input(window.step),
                })
                .collect(),
        });
        let mut positions: Vec<u32> = updated.iter().copied().collect();
        positions.sort_unstable();
        routine.updated_inputs = positions.into_iter().map(|position| inputs[position as usize]).collect();
        Ok(routine)
    }
}
