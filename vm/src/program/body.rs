//! Body: instructions over values, before and after slots are assigned.

use crate::operator::Overload;
use crate::program::catch::Catch;
use crate::program::instruction::{Instruction, Span, Trap, ValueId, ValueList};
use hashbrown::HashMap;
use std::sync::Arc;

/// The instructions of a routine with everything they refer to, except slots.
#[derive(Clone, Debug, Default)]
pub struct Body {
    instructions: Vec<Instruction>,
    /// Source of each instruction.
    spans: Vec<Span>,
    /// Operands of all instructions, one after the other.
    pool: Vec<ValueId>,
    operators: Vec<Arc<Overload>>,
    traps: Vec<Trap>,
    trap_numbers: HashMap<Trap, u32>,
    catches: Vec<Catch>,
    catch_numbers: HashMap<Catch, u32>,
}

impl Body {
    /// A body without instructions.
    pub fn new() -> Body {
        Body::default()
    }

    /// The instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The distinct overloads used, by operator number.
    pub fn operators(&self) -> &[Arc<Overload>] {
        &self.operators
    }

    /// The traps used, by trap number.
    pub fn traps(&self) -> &[Trap] {
        &self.traps
    }

    /// What guards take, by catch number.
    pub fn catches(&self) -> &[Catch] {
        &self.catches
    }

    /// Source of an instruction.
    pub fn span(&self, ip: usize) -> Span {
        self.spans.get(ip).copied().unwrap_or_default()
    }

    /// The values of a list.
    pub fn list(&self, list: ValueList) -> &[ValueId] {
        &self.pool[list.start as usize..][..list.len as usize]
    }

    /// True if the list lies in the operand pool.
    pub(crate) fn has_list(&self, list: ValueList) -> bool {
        u64::from(list.start) + u64::from(list.len) <= self.pool.len() as u64
    }

    /// What an instruction reads; conditions of jumps included.
    pub fn reads<'b>(&'b self, instruction: &'b Instruction) -> &'b [ValueId] {
        match instruction {
            Instruction::Operator { operands, .. } | Instruction::Call { operands, .. } => {
                self.list(*operands)
            }
            Instruction::JumpIf { condition, .. } | Instruction::JumpIfNot { condition, .. } => {
                std::slice::from_ref(condition)
            }
            Instruction::Jump { .. }
            | Instruction::Trap { .. }
            | Instruction::Guard { .. }
            | Instruction::Again { .. } => &[],
        }
    }

    /// What an instruction writes.
    pub fn writes<'b>(&'b self, instruction: &'b Instruction) -> &'b [ValueId] {
        match instruction {
            Instruction::Operator { result, .. } => std::slice::from_ref(result),
            Instruction::Call { results, .. } => self.list(*results),
            _ => &[],
        }
    }

    /// Registers an overload under a new number.
    pub fn add_operator(&mut self, overload: Arc<Overload>) -> u32 {
        self.operators.push(overload);
        self.operators.len() as u32 - 1
    }

    /// Registers a trap; equal traps share a number.
    pub fn add_trap(&mut self, trap: Trap) -> u32 {
        let next = self.traps.len() as u32;
        let number = *self.trap_numbers.entry(trap.clone()).or_insert(next);
        if number == next {
            self.traps.push(trap);
        }
        number
    }

    /// Registers what a guard takes; equal ones share a number.
    pub fn add_catch(&mut self, catch: Catch) -> u32 {
        let next = self.catches.len() as u32;
        let number = *self.catch_numbers.entry(catch.clone()).or_insert(next);
        if number == next {
            self.catches.push(catch);
        }
        number
    }

    /// Puts values into the operand pool.
    pub fn add_list(&mut self, values: impl IntoIterator<Item = ValueId>) -> ValueList {
        let start = self.pool.len() as u32;
        self.pool.extend(values);
        ValueList { start, len: self.pool.len() as u32 - start }
    }

    /// Appends an instruction; returns its position.
    pub fn push(&mut self, instruction: Instruction, span: Span) -> usize {
        self.instructions.push(instruction);
        self.spans.push(span);
        self.instructions.len() - 1
    }

    /// Gives the instructions from a position on a place in the source, unless they have one.
    pub fn set_spans_from(&mut self, start: usize, span: Span) {
        self.spans[start..].iter_mut().filter(|known| known.is_unknown()).for_each(|known| *known = span);
    }

    /// Gives all instructions a place in the source.
    pub fn replace_spans(&mut self, span: Span) {
        self.spans.fill(span);
    }

    /// Puts the instructions from `start` on into another order, given by their positions, which has to be one of a basic
    /// block: no jump leads into it.
    ///
    /// # Panics
    /// If a position is not among those from `start` on.
    pub fn reorder(&mut self, order: &[usize], start: usize) {
        let instructions: Vec<Instruction> = order.iter().map(|ip| self.instructions[*ip]).collect();
        let spans: Vec<Span> = order.iter().map(|ip| self.spans[*ip]).collect();
        self.instructions[start..start + order.len()].copy_from_slice(&instructions);
        self.spans[start..start + order.len()].copy_from_slice(&spans);
    }

    /// Adds to the numbers of routines that are called: the routines move behind so many others.
    pub fn offset_calls(&mut self, by: u32) {
        for instruction in &mut self.instructions {
            if let Instruction::Call { routine, .. } = instruction {
                *routine += by;
            }
        }
    }

    /// Appends `result = operator(operands)`.
    pub fn push_operator(
        &mut self,
        operator: u32,
        operands: &[ValueId],
        result: ValueId,
        span: Span,
    ) -> usize {
        let operands = self.add_list(operands.iter().copied());
        self.push(Instruction::Operator { operator, operands, result }, span)
    }

    /// Makes a jump appended earlier lead to the next instruction to be appended.
    ///
    /// # Panics
    /// If the instruction is no jump.
    pub fn jump_to_here(&mut self, jump: usize) {
        self.set_target(jump, self.instructions.len());
    }

    /// Makes a jump lead to an instruction.
    ///
    /// # Panics
    /// If the instruction is no jump.
    pub fn set_target(&mut self, jump: usize, target: usize) {
        let distance = target as i64 - (jump as i64 + 1);
        match &mut self.instructions[jump] {
            Instruction::Jump { offset }
            | Instruction::JumpIf { offset, .. }
            | Instruction::JumpIfNot { offset, .. }
            | Instruction::Guard { offset, .. } => *offset = distance as i32,
            other => panic!("{other:?} is not a jump"),
        }
    }

    /// The guards of an instruction, in the order in which they are asked: those directly before it, the last one first.
    pub fn guards(&self, ip: usize) -> impl Iterator<Item = usize> + '_ {
        let is_guard = |ip: usize| matches!(self.instructions[ip], Instruction::Guard { .. });
        let last = if is_guard(ip) { 0 } else { ip };
        (0..last).rev().take_while(move |before| is_guard(*before))
    }

    /// The instruction a jump leads to, the end included; `None` if it leaves the body.
    pub fn target(&self, ip: usize) -> Option<usize> {
        let offset = self.instructions[ip].offset()?;
        let target = ip as i64 + 1 + i64::from(offset);
        (0..=self.instructions.len() as i64).contains(&target).then_some(target as usize)
    }
}
