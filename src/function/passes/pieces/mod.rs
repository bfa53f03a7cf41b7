//! Pieces: loops over `prange` become functions of their own, which the machine runs in pieces.
//!
//! ```text
//! s = 0.0                                  part(first, end, a, y, y0, ystep):      first <= k < end
//! for i in prange(n):                          s = -0.0;  rounds k: …  y[k - first] = …
//!     s += a[i]                  ─>            return s
//!     y[i] = 2.0 * a[i]                    combine(p, q): return p + q
//!                                          s = 0.0 + pieces part combine (0, n, a, y, 0, 1)
//! ```
//!
//! Every scalar of the loop is one of these, or the loop runs serially and says why:
//!
//! | kind | example | in a piece |
//! | --- | --- | --- |
//! | read only | `n` | an argument |
//! | private: written before it is read | `t = a[i]` | its own; after the loop it has the value of the last round |
//! | reduction by one of `+ - * min max & \| ^` | `s += t` | begins with the neutral number |
//! | a value of the round before | `x = 0.5 * x + t` | none: the loop runs serially |
//!
//! An array that the loop changes is indexed, at every access and along one axis, by the number of the loop, by a
//! multiple of it and a literal: rounds then have elements of their own. Whether these are inside of the array is asked before the loop; if
//! they are not, the serial loop runs, which raises what Python does, or counts from the end.
//!
//! 1. What a run gives depends on the number of rounds, not on threads: sums of floats are added up by pieces.
//! 2. Afterwards no value is a [`LowOp::Round`](crate::function::low::LowOp::Round).

mod classify;
mod find;
mod outline;
mod part;
mod writer;

use crate::function::check::FunctionWarning;
use crate::function::infer::InstanceId;
use crate::function::low::{LowFunction, LowOp};
use crate::ssa::{InstId, SsaOp};
use cembra_vm::program::instruction::Span;
use hashbrown::HashSet;

/// Most loops of a function that are looked at; each look goes over all blocks.
const MOST_LOOPS: usize = 64;

/// Splits the loops of all functions; gives those that run serially, with the reasons.
pub(super) fn split(functions: &mut Vec<LowFunction>) -> Vec<FunctionWarning> {
    let updated = updated_parameters(functions);
    let mut warnings = Vec::new();
    for at in 0..functions.len() {
        for _ in 0..MOST_LOOPS {
            let Some(found) = find::outermost(&functions[at]) else { break };
            match found.and_then(|rounds| classify::classify(&functions[at], rounds, &updated)) {
                Ok(plan) => outline::outline(functions, at, &plan),
                Err(serial) => {
                    forget(&mut functions[at], serial.round);
                    warnings.extend(serial.reason.map(|reason| FunctionWarning {
                        message: format!("this prange loop runs serially: {reason}"),
                        span: serial.span,
                    }));
                }
            }
        }
        forget_all(&mut functions[at]);
    }
    warnings
}

/// A loop that stays as it is.
struct Serial {
    round: InstId,
    span: Span,
    /// None if the loop has at most one round.
    reason: Option<String>,
}

/// Takes the mark of a round away.
fn forget(function: &mut LowFunction, round: InstId) {
    let counter = function.flow.inst(round).args[0];
    function.flow.replace_values(|value| if value == round { counter } else { value });
    function.flow.blocks.iter_mut().for_each(|block| block.insts.retain(|inst| *inst != round));
}

/// Takes all marks of rounds away.
fn forget_all(function: &mut LowFunction) {
    let flow = &mut function.flow;
    let is_round: Vec<bool> =
        flow.insts.iter().map(|inst| matches!(inst.op, SsaOp::Do(LowOp::Round))).collect();
    let counters: Vec<Option<InstId>> = flow.insts.iter().map(|inst| inst.args.first().copied()).collect();
    flow.replace_values(|value| match is_round[value.index()] {
        true => counters[value.index()].unwrap_or(value),
        false => value,
    });
    flow.blocks.iter_mut().for_each(|block| block.insts.retain(|inst| !is_round[inst.index()]));
}

/// By function, the parameters whose arrays it may change, itself or by a call.
fn updated_parameters(functions: &[LowFunction]) -> Vec<HashSet<u32>> {
    let mut updated: Vec<HashSet<u32>> = vec![HashSet::new(); functions.len()];
    loop {
        let mut grew = false;
        for (number, function) in functions.iter().enumerate() {
            let flow = &function.flow;
            for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
                for array in updated_by(function, *inst, &updated) {
                    grew |= match flow.operation(array) {
                        Some(LowOp::Input(position)) => updated[number].insert(*position),
                        Some(_) => false,
                        // A name of several arrays: any of them.
                        None => (0..function.parameters.len() as u32)
                            .fold(false, |grew, position| updated[number].insert(position) | grew),
                    };
                }
            }
        }
        if !grew {
            return updated;
        }
    }
}

/// The arrays that an instruction may change.
fn updated_by(function: &LowFunction, inst: InstId, updated: &[HashSet<u32>]) -> Vec<InstId> {
    let row = function.flow.inst(inst);
    match &row.op {
        SsaOp::Do(LowOp::Update(_)) => vec![row.args[0]],
        SsaOp::Do(op) => {
            let of = |callee: InstanceId| updated.get(callee.0 as usize);
            let positions = op.callee().and_then(of).into_iter().flatten();
            positions.map(|position| row.args[*position as usize]).collect()
        }
        _ => Vec::new(),
    }
}
