//! Spilling: which floats of a stretch stand in registers, and which in memory of the routine's own.
//!
//! ```text
//! place    0      1      2      3        …      90
//! made     v0     v1     v2     v3
//! reads           v0     v1     v2, v1          v0        v0 is stored behind its place, and is an operand in memory at 90
//! ```
//!
//! The order of a stretch is known, so that the value that is read last of all leaves its register (Belady 1966). It is stored once;
//! where it is read it is loaded, and a load for one instruction becomes its operand. Without this, Cranelift loads every operand to a
//! register, and takes long to find one.
//!
//! 1. What a stretch makes may be in memory for good: all that read it stand behind the stretch. What was there before it leaves its
//!    register only until the stretch ends: other ways lead to its readers, too.
//! 2. What is stored stays as it is for as long as somebody may read it.

use crate::jit::emitter::Emitter;
use crate::jit::order::Operation;
use crate::jit::variables::Key;
use crate::program::ValueId;
use cranelift_codegen::ir::Value;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// Floats that stand in registers at a time: those of x86-64 without AVX-512, less what an operation needs on the way.
const REGISTERS: usize = 13;

/// Behind all places of a stretch.
const NEVER: usize = usize::MAX;

/// The floats of a stretch while its code is made.
pub(super) struct Spilling {
    /// By value: the places at which it is read from now on, the next one last.
    reads: HashMap<Key, Vec<usize>>,
    /// What the stretch makes.
    made: HashSet<Key>,
    /// What stands in registers.
    resident: Vec<Key>,
    /// What was there before the stretch and has left its register: what it was, and whether it is in memory. Sorted, so that the same
    /// program becomes the same code.
    before: BTreeMap<Key, (Option<Value>, bool)>,
}

impl Spilling {
    /// The floats of operations in their order; by operation, what it reads and makes.
    pub(super) fn new<'r>(
        e: &Emitter<'r, '_>,
        order: &[usize],
        operations: &[Operation],
        values: impl Fn(usize) -> (&'r [ValueId], &'r [ValueId]),
    ) -> Spilling {
        let (mut reads, mut made) = (HashMap::<Key, Vec<usize>>::new(), HashSet::new());
        for (place, number) in order.iter().enumerate().rev() {
            let (operands, results) = values(*number);
            let is_kept = operations[*number].is_kept;
            for key in e.floats(results) {
                made.insert(key);
                if is_kept {
                    reads.entry(key).or_default().insert(0, NEVER);
                }
            }
            for key in e.floats(operands) {
                let places = reads.entry(key).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        // Who reads the others behind the stretch is not known.
        let others = reads.iter_mut().filter(|(key, _)| !made.contains(*key));
        others.for_each(|(_, places)| places.insert(0, NEVER));
        Spilling { reads, made, resident: Vec::new(), before: BTreeMap::new() }
    }

    /// Emits the next operation, with what it reads in registers or in memory.
    pub(super) fn emit(
        &mut self,
        e: &mut Emitter<'_, '_>,
        (operands, results): (&[ValueId], &[ValueId]),
        operation: impl FnOnce(&mut Emitter<'_, '_>),
    ) {
        let (mut read, mut dead) = (e.floats(operands), Vec::new());
        read.sort_unstable();
        read.dedup();
        for key in &read {
            self.reads.get_mut(key).and_then(Vec::pop);
            if self.next(*key).is_none() {
                dead.push(*key);
            }
        }
        self.resident.retain(|key| !dead.contains(key));
        let is_loaded = |key: &Key| !dead.contains(key) && !self.resident.contains(key);
        let mut loaded: Vec<Key> = read.iter().copied().filter(is_loaded).collect();
        self.resident.extend(&loaded);
        let made = e.floats(results).into_iter().filter(|key| self.next(*key).is_some());
        self.resident.extend(made.collect::<Vec<_>>());
        let mut leaving = Vec::new();
        while self.resident.len() > REGISTERS {
            let last = (0..self.resident.len()).max_by_key(|at| self.next(self.resident[*at]));
            let key = self.resident.swap_remove(last.expect("there are residents"));
            match loaded.iter().position(|other| *other == key) {
                Some(at) => _ = loaded.swap_remove(at),
                None => leaving.push(key),
            }
        }
        for key in loaded {
            self.load(e, key);
        }
        operation(e);
        for key in leaving {
            self.leave(e, key);
        }
        dead.into_iter().filter(|key| self.made.contains(key)).for_each(|key| e.spilled.give_back(key));
    }

    /// Puts back what was there before the stretch.
    pub(super) fn finish(self, e: &mut Emitter<'_, '_>) {
        for (key, (value, is_spilled)) in self.before {
            match value {
                Some(value) => e.defined.insert(key, value),
                None => e.defined.remove(&key),
            };
            if !is_spilled {
                e.spilled.give_back(key);
            }
        }
    }

    /// Where a value is read next; nothing if nobody does.
    fn next(&self, key: Key) -> Option<usize> {
        self.reads.get(&key).and_then(|places| places.last()).copied()
    }

    /// Has a value in a register, if it is in memory.
    fn load(&mut self, e: &mut Emitter<'_, '_>, key: Key) {
        if e.defined.contains_key(&key) {
            return;
        }
        self.note(e, key);
        if let Some(loaded) = e.spilled.load(&mut e.b, key) {
            e.defined.insert(key, loaded);
        }
    }

    /// Has a value in memory only.
    fn leave(&mut self, e: &mut Emitter<'_, '_>, key: Key) {
        let Some(value) = e.defined.get(&key).copied().filter(|_| e.spilled.has_room(key)) else { return };
        self.note(e, key);
        e.spilled.store(&mut e.b, key, value);
        e.defined.remove(&key);
    }

    /// Notes what a value from before the stretch was.
    fn note(&mut self, e: &Emitter<'_, '_>, key: Key) {
        if !self.made.contains(&key) {
            self.before.entry(key).or_insert_with(|| (e.defined.get(&key).copied(), e.spilled.has(key)));
        }
    }
}
