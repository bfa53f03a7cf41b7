//! Slot checker: proves that every read finds the value it means, on every path.
//!
//! The checker runs the program symbolically. Its state says, for each byte of the frame, which value
//! the byte belongs to; two paths that disagree about a byte meet in "nobody's". A read is right if
//! every byte of the operand's slot belongs to the operand. The checker knows nothing of live ranges,
//! free lists or how slots were chosen; it shares no code with the allocator.
//!
//! ```text
//! v2 = o0(v0)         bytes 0x10..0x18 belong to v2
//! v3 = o1(v2, v1)     reads v2: right; writes 0x10..0x18, which now belong to v3
//! v4 = o1(v2, v3)     reads v2: wrong, its bytes belong to v3
//! ```
//!
//! - Inputs belong to themselves at the start, literals always.
//! - A view belongs to its owner.
//! - A tuple assembled around an operand that already stands in its field takes the operand's bytes;
//!   the operand may still be read afterwards, until those bytes change.
//! - What changes a value in place, an operator or a routine called, reads it and writes it.
//! - Where an instruction raises, what it would have given is nobody's, and what it changes in place is still whole.
//! - At the end of the body, output and side outputs must be whole.

use crate::layout::TypedSlot;
use crate::program::cfg::Cfg;
use crate::program::instruction::{Instruction, ValueId};
use crate::program::program::{Owners, Program, Routine};
use std::collections::BTreeSet;
use std::rc::Rc;
use thiserror::Error;

/// A read that does not find its value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SlotCheckError {
    /// A byte of the value has been overwritten, or was never written, on some path.
    #[error("routine {routine}, {reader}: byte 0x{byte:02X} of {value} {found}")]
    Lost {
        /// Routine number.
        routine: usize,
        /// Who reads: an instruction or the end.
        reader: Reader,
        /// The value read.
        value: ValueId,
        /// The byte that is not the value's.
        byte: u32,
        /// What the byte holds instead.
        found: Found,
    },
}

/// Who reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// An instruction.
    Instruction(usize),
    /// The host, after the run.
    End,
}

/// Whose a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Another value's.
    Value(ValueId),
    /// Different values' on different paths, or not written.
    Nobody,
}

impl std::fmt::Display for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reader::Instruction(ip) => write!(f, "instruction {ip}"),
            Reader::End => f.write_str("at the end"),
        }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Found::Value(v) => write!(f, "holds {v}"),
            Found::Nobody => f.write_str("is not written on every path"),
        }
    }
}

/// Checks every routine of a verified program.
pub fn check(program: &Program) -> Result<(), SlotCheckError> {
    let mut routines = program.routines().iter().enumerate();
    routines.try_for_each(|(number, routine)| Checker::new(program, number, routine).check())
}

const NOBODY: u32 = u32::MAX;
/// Bytes per shared piece of a state.
const PIECE: usize = 256;

/// Whose each byte is. Pieces are shared between states until one changes.
#[derive(Clone, PartialEq)]
struct State {
    pieces: Vec<Rc<[u32; PIECE]>>,
}

impl State {
    fn new(bytes: usize) -> State {
        let nobody = Rc::new([NOBODY; PIECE]);
        State { pieces: std::iter::repeat_n(nobody, bytes.div_ceil(PIECE)).collect() }
    }

    fn get(&self, byte: u32) -> u32 {
        self.pieces[byte as usize / PIECE][byte as usize % PIECE]
    }

    fn set(&mut self, byte: u32, value: u32) {
        let piece = &mut self.pieces[byte as usize / PIECE];
        if piece[byte as usize % PIECE] != value {
            Rc::make_mut(piece)[byte as usize % PIECE] = value;
        }
    }

    /// Keeps what both states agree on; true if something was lost.
    fn meet(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.pieces.iter_mut().zip(&other.pieces) {
            if Rc::ptr_eq(mine, theirs) || mine == theirs {
                continue;
            }
            for i in 0..PIECE {
                if mine[i] != theirs[i] && mine[i] != NOBODY {
                    Rc::make_mut(mine)[i] = NOBODY;
                    changed = true;
                }
            }
        }
        changed
    }
}

/// Lets a state reach a block; true if the block knows less than before.
fn meet(entry: &mut Option<State>, state: &State) -> bool {
    match entry {
        Some(entry) => entry.meet(state),
        none => {
            *none = Some(state.clone());
            true
        }
    }
}

/// True if the slot is the whole place of a field. The tuple nests deeper, so no chain of tuples
/// comes back to where it began.
fn is_field(slot: &TypedSlot, tuple: &TypedSlot, index: usize) -> bool {
    let place = |s: &TypedSlot| (s.offset(), s.end());
    let same = tuple.field(index).is_some_and(|field| place(&field) == place(slot));
    same && slot.qtype().depth() < tuple.qtype().depth()
}

struct Checker<'p> {
    program: &'p Program,
    number: usize,
    routine: &'p Routine,
    owners: Owners,
    /// The tuple that took a value's bytes, by value.
    taken_by: Vec<Option<ValueId>>,
}

impl<'p> Checker<'p> {
    fn new(program: &'p Program, number: usize, routine: &'p Routine) -> Checker<'p> {
        let (body, owners) = (&routine.body, routine.owners());
        let mut writers = vec![0u32; routine.values.len()];
        for instruction in body.instructions() {
            body.writes(instruction).iter().for_each(|v| writers[v.index()] += 1);
        }
        let mut taken_by = vec![None; routine.values.len()];
        for instruction in body.instructions() {
            let Instruction::Operator { operator, operands, result } = instruction else { continue };
            if !body.operators()[*operator as usize].assembles() || writers[result.index()] > 1 {
                continue;
            }
            for (index, operand) in body.list(*operands).iter().enumerate() {
                let owner = owners.owner(*operand);
                if is_field(routine.slot(owner), routine.slot(*result), index) {
                    taken_by[owner.index()] = Some(*result);
                }
            }
        }
        Checker { program, number, routine, owners, taken_by }
    }

    fn check(&self) -> Result<(), SlotCheckError> {
        let body = &self.routine.body;
        let cfg = Cfg::new(body);
        let end = cfg.len();
        let mut entries: Vec<Option<State>> = vec![None; end + 1];
        entries[0] = Some(self.initial());
        // The lowest block first: without backward jumps each block is then entered once.
        let mut work: BTreeSet<usize> = (0..end.min(1)).collect();
        while let Some(block) = work.pop_first() {
            let Some(mut state) = entries[block].clone() else { continue };
            let last = cfg.block(block).end - 1;
            let caught_at: Vec<usize> = body.guards(last).filter_map(|guard| body.target(guard)).collect();
            let mut raised = None;
            for ip in cfg.block(block) {
                if ip == last && !caught_at.is_empty() {
                    raised = Some(self.raised(ip, &state));
                }
                self.step(ip, &mut state)?;
            }
            let goes_to = |to: usize| {
                let start = cfg.block(to).start;
                let is_next = start == last + 1 && body.instructions()[last].falls_through();
                is_next || body.target(last) == Some(start)
            };
            if let Some(raised) = raised {
                for successor in cfg.successors(block) {
                    if caught_at.contains(&cfg.block(successor).start)
                        && meet(&mut entries[successor], &raised)
                    {
                        work.insert(successor);
                    }
                }
            }
            let mut next: Vec<usize> = cfg.successors(block).filter(|to| goes_to(*to)).collect();
            let len = body.instructions().len();
            let falls_off = last + 1 == len && body.instructions()[last].falls_through();
            if falls_off || body.target(last) == Some(len) {
                next.push(end);
            }
            for successor in next {
                if meet(&mut entries[successor], &state) && successor != end {
                    work.insert(successor);
                }
            }
        }
        let Some(last) = &entries[end] else { return Ok(()) };
        self.routine.results().try_for_each(|v| self.read(last, v, Reader::End))
    }

    fn initial(&self) -> State {
        let mut state = State::new(self.routine.layout.size() as usize);
        let inputs = self.routine.inputs.iter().map(|(_, v)| *v);
        let literals = self.routine.literals.iter().map(|(v, _)| *v);
        inputs.chain(literals).for_each(|v| self.write(&mut state, v));
        state
    }

    fn step(&self, ip: usize, state: &mut State) -> Result<(), SlotCheckError> {
        let instruction = &self.routine.body.instructions()[ip];
        let reads = self.routine.body.reads(instruction);
        reads.iter().try_for_each(|v| self.read(state, *v, Reader::Instruction(ip)))?;
        self.updated(instruction).for_each(|v| self.write(state, v));
        self.routine.body.writes(instruction).iter().for_each(|v| self.write(state, *v));
        Ok(())
    }

    /// The state where an instruction raises.
    fn raised(&self, ip: usize, before: &State) -> State {
        let (body, mut state) = (&self.routine.body, before.clone());
        let instruction = &body.instructions()[ip];
        let updates = match instruction {
            Instruction::Operator { operator, .. } => body.operators()[*operator as usize].updates(),
            _ => false,
        };
        for value in body.writes(instruction).iter().filter(|_| !updates) {
            let slot = self.routine.slot(*value);
            (slot.offset()..slot.end() as u32).for_each(|byte| state.set(byte, NOBODY));
        }
        state
    }

    /// The operands that a routine called changes in place. Of an operator such an operand is the result as well.
    fn updated(&self, instruction: &Instruction) -> impl Iterator<Item = ValueId> {
        let (callee, operands) = match instruction {
            Instruction::Call { routine, operands, .. } => {
                (Some(&self.program.routines()[*routine as usize]), self.routine.body.list(*operands))
            }
            _ => (None, &[][..]),
        };
        let inputs = callee
            .into_iter()
            .flat_map(|callee| callee.inputs.iter().map(|(_, input)| callee.updated_inputs.contains(input)));
        operands.iter().zip(inputs).filter(|(_, updated)| *updated).map(|(value, _)| *value)
    }

    fn write(&self, state: &mut State, value: ValueId) {
        let slot = self.routine.slot(value);
        (slot.offset()..slot.end() as u32).for_each(|byte| state.set(byte, value.0));
    }

    fn read(&self, state: &State, value: ValueId, reader: Reader) -> Result<(), SlotCheckError> {
        let slot = self.routine.slot(value);
        let owner = self.owners.owner(value);
        for byte in slot.offset()..slot.end() as u32 {
            let holder = state.get(byte);
            if !self.belongs(owner, holder) {
                let found = if holder == NOBODY { Found::Nobody } else { Found::Value(ValueId(holder)) };
                return Err(SlotCheckError::Lost { routine: self.number, reader, value, byte, found });
            }
        }
        Ok(())
    }

    /// True if the holder of a byte is the value or a tuple that took its bytes.
    fn belongs(&self, value: ValueId, holder: u32) -> bool {
        let mut value = value;
        loop {
            if value.0 == holder {
                return true;
            }
            match self.taken_by[value.index()] {
                Some(tuple) => value = tuple,
                None => return false,
            }
        }
    }
}
