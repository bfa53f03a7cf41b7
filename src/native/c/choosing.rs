//! Choosing: where a branch leads around one operation on integers, it is computed and the condition chooses.
//!
//! ```text
//! jump_if_not<+2>(c)          x = c ? add_i64(x, 1) : x;
//! x = x + 1
//! ```
//!
//! A branch that depends on data is guessed wrong half of the time, which takes longer than the operation. It is one that
//! refuses nothing and has no effect: an expression of C, defined for all operands.

use crate::native::c::locals::CType;
use crate::native::c::writer::Writer;
use crate::native::operation::Operation;
use cembra_vm::program::Instruction;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

impl Writer<'_> {
    /// Statements that stand for a branch and for the operation behind it, by the branch. `targets` are those of all jumps.
    pub(super) fn choices(&self, range: Range<usize>, targets: &HashSet<usize>) -> HashMap<usize, String> {
        range.filter_map(|ip| Some((ip, self.chosen_behind(ip, targets)?))).collect()
    }

    fn chosen_behind(&self, ip: usize, targets: &HashSet<usize>) -> Option<String> {
        let body = &self.routine.body;
        let (condition, not) = match body.instructions()[ip] {
            Instruction::JumpIf { condition, .. } => (condition, "!"),
            Instruction::JumpIfNot { condition, .. } => (condition, ""),
            _ => return None,
        };
        let behind = ip + 1;
        if body.target(ip) != Some(behind + 1) || targets.contains(&behind) {
            return None;
        }
        let Instruction::Operator { operator, operands, result } = *body.instructions().get(behind)? else {
            return None;
        };
        // What cannot overflow in a loop need not be defined where it is not computed.
        let is_exact = self.without_checks.as_ref().is_some_and(|again| again.exact.contains_key(&behind));
        let is_of_region = self.regions.values().any(|region| (region.first..region.end).contains(&behind));
        let [(local, CType::I64 | CType::I32 | CType::U8)] = &self.locals.all(result)[..] else {
            return None;
        };
        if is_exact || is_of_region {
            return None;
        }
        let overload = &body.operators()[operator as usize];
        let operation = Operation { ip: behind, overload, operands: body.list(operands), result };
        let statement = self.operator(operation)?;
        let value = statement.trim_end().strip_prefix(local)?.strip_prefix(" = ")?.strip_suffix(';')?;
        let is_expression = !value.contains([';', '{']);
        is_expression.then(|| format!("{local} = {not}{} ? {value} : {local};", self.locals.only(condition)))
    }
}
