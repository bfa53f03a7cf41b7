//! Order of instructions: what reductions read comes early, and what is made of them waits until something reads it.
//!
//! ```text
//! v3 = mean(x)                       v3 = mean(x)
//! v4 = subtract(x, v3)               v5 = mean(y)
//! v5 = mean(y)                ─>     v4 = subtract(x, v3)
//! v6 = subtract(y, v5)               v6 = subtract(y, v5)
//! v7 = multiply(v4, v6)              v7 = multiply(v4, v6)
//! ```
//!
//! A tile region ends where one of its reductions is read, so that on the left `v4` goes to memory. Only what is
//! [total](cembra_vm::operator::Effects::Total) waits: a fault stays the first one. Nothing waits across a jump, nor behind
//! an instruction that reads or writes one of its values, or overlapping bytes of a tuple.
//!
//! - A single value that is made of single values waits if it is made of a reduction.
//! - Rows that a member of a region makes of rows wait if no more arrays are alive for it: all rows that they are made of are
//!   inputs, literals, or wait as well; or they are made of a reduction, and all of this but one array, which lives in place
//!   of the result.

use crate::compile::emission::{Emission, Role};
use cembra_vm::program::cfg::block_starts;
use cembra_vm::program::{Instruction, ValueId};
use std::ops::Range;

/// Postpones what can wait.
pub(super) fn postpone(emission: &mut Emission) {
    if !emission.body.operators().iter().any(|operator| operator.reduces()) {
        return;
    }
    let starts = block_starts(&emission.body);
    let ends = starts.iter().skip(1).copied().chain([emission.body.instructions().len()]);
    let mut marks = vec![Mark::default(); emission.values.len()];
    // Those whose instructions have moved.
    let mut moved: Vec<Range<usize>> = Vec::new();
    for block in starts.iter().zip(ends).map(|(start, end)| *start..end) {
        let order = Walk::new(emission, block.clone(), &mut marks).order();
        if !order.is_sorted() {
            emission.body.reorder(&order, block.start);
            moved.push(block);
        }
    }
    // A literal is there before the first that may read it now.
    for value in &mut emission.values {
        let Role::Literal(_, at) = &mut value.role else { continue };
        let next = moved.partition_point(|block| block.end <= *at);
        if let Some(block) = moved.get(next).filter(|block| block.contains(at)) {
            *at = block.start;
        }
    }
}

/// What is known of the bytes of a value, and in which block.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The end of the block; of another, nothing is known.
    block: usize,
    /// They are made of a reduction.
    is_behind: bool,
    /// The instruction that waits and writes them.
    writer: Option<usize>,
    /// An instruction that waits reads them.
    is_waited_for: bool,
    /// Instructions that wait write fields of them, which are values of their own.
    has_written_fields: bool,
    /// Instructions that wait read such fields.
    has_read_fields: bool,
    /// Of rows that wait: arrays that they keep alive.
    held: usize,
}

/// A walk over a block.
struct Walk<'a> {
    emission: &'a Emission,
    block: Range<usize>,
    marks: &'a mut [Mark],
    /// By instruction of the block: true while it waits.
    waits: Vec<bool>,
    /// Those that wait, and some that have waited.
    waiting: Vec<usize>,
    /// Values that are marked for what waits.
    touched: Vec<ValueId>,
    order: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn new(emission: &'a Emission, block: Range<usize>, marks: &'a mut [Mark]) -> Walk<'a> {
        let waits = vec![false; block.len()];
        let order = Vec::with_capacity(block.len());
        Walk { emission, block, marks, waits, waiting: Vec::new(), touched: Vec::new(), order }
    }

    /// The instructions of the block in their new order.
    fn order(mut self) -> Vec<usize> {
        let body = &self.emission.body;
        for ip in self.block.clone() {
            let instruction = &body.instructions()[ip];
            let (reads, writes) = (body.reads(instruction), body.writes(instruction));
            let is_touched = writes.iter().any(|value| self.is_touched(*value));
            if !is_touched && let Some(mark) = self.can_wait(instruction) {
                self.wait(ip, mark);
                continue;
            }
            match instruction {
                Instruction::Operator { .. } if !is_touched => self.emit_writers(reads),
                _ => self.emit_all(),
            }
            if let Instruction::Operator { operator, result, .. } = instruction {
                let is_behind = body.operators()[*operator as usize].reduces();
                let (part, whole) = self.place(*result);
                *self.mark(part) = Mark { block: self.block.end, is_behind, ..Mark::default() };
                self.mark(whole).is_behind |= is_behind;
            }
            self.order.push(ip);
        }
        self.emit_all();
        self.order
    }

    /// The value that stands for the bytes, and the one that they are a part of: a field of a tuple that is no part of
    /// another stands for itself.
    fn place(&self, value: ValueId) -> (ValueId, ValueId) {
        let whole = self.emission.holder(value);
        match self.emission.values[value.index()].role {
            Role::Field(tuple, _) if tuple == whole => (value, whole),
            _ => (whole, whole),
        }
    }

    fn known(&self, value: ValueId) -> Mark {
        let mark = self.marks[value.index()];
        if mark.block == self.block.end { mark } else { Mark::default() }
    }

    fn mark(&mut self, value: ValueId) -> &mut Mark {
        self.marks[value.index()] = Mark { block: self.block.end, ..self.known(value) };
        &mut self.marks[value.index()]
    }

    /// True if something that waits reads or writes some of these bytes.
    fn is_touched(&self, value: ValueId) -> bool {
        let (part, whole) = self.place(value);
        let is_touched = |mark: Mark| mark.writer.is_some() || mark.is_waited_for;
        let known = self.known(whole);
        is_touched(known)
            || is_touched(self.known(part))
            || (part == whole && (known.has_written_fields || known.has_read_fields))
    }

    /// What is known of the result of an operator that can wait: it never raises, and nothing more is alive for it.
    fn can_wait(&self, instruction: &Instruction) -> Option<Mark> {
        let Instruction::Operator { operator, operands, result } = instruction else { return None };
        let (body, values) = (&self.emission.body, &self.emission.values);
        let overload = &body.operators()[*operator as usize];
        if !overload.effects().is_total() {
            return None;
        }
        let is_plain = |value: &ValueId| values[value.index()].qtype.is_plain();
        let mut mark = Mark { block: self.block.end, ..Mark::default() };
        for operand in body.list(*operands) {
            let (part, whole) = self.place(*operand);
            let (known, of_whole) = (self.known(part), self.known(whole));
            if part == whole && known.has_written_fields {
                return None;
            }
            mark.is_behind |= known.is_behind || of_whole.is_behind;
            if !is_plain(operand) {
                mark.held += match values[whole.index()].role {
                    Role::Input(_) | Role::Literal(..) => 0,
                    _ if known.writer.is_some() => known.held,
                    _ => 1,
                };
            }
        }
        let can_wait = match is_plain(result) {
            true => mark.is_behind && body.list(*operands).iter().all(is_plain),
            false => {
                overload.goes_over_rows() && !overload.reduces() && mark.held <= usize::from(mark.is_behind)
            }
        };
        can_wait.then_some(mark)
    }

    fn wait(&mut self, ip: usize, mark: Mark) {
        let body = &self.emission.body;
        let instruction = &body.instructions()[ip];
        for value in body.reads(instruction) {
            let (part, whole) = self.place(*value);
            self.mark(part).is_waited_for = true;
            self.mark(whole).has_read_fields |= part != whole;
            self.touched.extend([part, whole]);
        }
        for value in body.writes(instruction) {
            let (part, whole) = self.place(*value);
            *self.mark(part) = Mark { writer: Some(ip), ..mark };
            let of_whole = self.mark(whole);
            of_whole.has_written_fields |= part != whole;
            of_whole.is_behind |= mark.is_behind;
            self.touched.extend([part, whole]);
        }
        self.waits[ip - self.block.start] = true;
        self.waiting.push(ip);
    }

    /// What waits and writes one of these values, and what that is made of.
    fn emit_writers(&mut self, reads: &[ValueId]) {
        let places = || reads.iter().map(|value| self.place(*value));
        if places().any(|(part, whole)| part == whole && self.known(part).has_written_fields) {
            return self.emit_all();
        }
        let body = &self.emission.body;
        let mut stack: Vec<usize> = reads.iter().rev().flat_map(|value| self.writers(*value)).collect();
        while let Some(ip) = stack.last().copied() {
            let operands = body.reads(&body.instructions()[ip]);
            let depth = stack.len();
            stack.extend(operands.iter().rev().flat_map(|value| self.writers(*value)));
            if stack.len() == depth {
                stack.pop();
                self.emit(ip);
            }
        }
    }

    /// Instructions that wait and write the value.
    fn writers(&self, value: ValueId) -> impl Iterator<Item = usize> + use<> {
        let (part, whole) = self.place(value);
        let of_whole = self.known(whole).writer.filter(|_| part != whole);
        self.known(part).writer.into_iter().chain(of_whole)
    }

    /// An instruction that waits, unless it has been emitted.
    fn emit(&mut self, ip: usize) {
        if !std::mem::take(&mut self.waits[ip - self.block.start]) {
            return;
        }
        let body = &self.emission.body;
        for value in body.writes(&body.instructions()[ip]) {
            let (part, _) = self.place(*value);
            self.mark(part).writer = None;
        }
        self.order.push(ip);
    }

    /// All that waits, in its order.
    fn emit_all(&mut self) {
        for value in std::mem::take(&mut self.touched) {
            let is_behind = self.known(value).is_behind;
            *self.mark(value) = Mark { block: self.block.end, is_behind, ..Mark::default() };
        }
        for ip in std::mem::take(&mut self.waiting) {
            if std::mem::take(&mut self.waits[ip - self.block.start]) {
                self.order.push(ip);
            }
        }
    }
}
