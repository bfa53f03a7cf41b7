//! Spilled: leaves in memory of the routine's own, a part of its stack frame.

use crate::jit::variables::Key;
use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::FunctionBuilder;
use hashbrown::HashMap;

/// Bytes of a value in memory.
const BYTES: u32 = 8;

/// Most bytes of all of them: what is more stays with Cranelift, whose frame it then enlarges.
const MOST_BYTES: u32 = 1 << 16;

/// Floats in memory of the routine, by their keys.
pub(super) struct Spilled {
    slot: StackSlot,
    base: Value,
    size: u32,
    /// Where nobody reads any more.
    free: Vec<u32>,
    at: HashMap<Key, (u32, Type)>,
}

impl Spilled {
    pub(super) fn new(b: &mut FunctionBuilder<'_>) -> Spilled {
        let data = StackSlotData { kind: StackSlotKind::ExplicitSlot, size: 0, align_shift: 3, key: None };
        let slot = b.create_sized_stack_slot(data);
        let place = b.ins().stack_addr(types::I64, slot, 0);
        // It ends in these zeros anyway. From an address that is known to be one of the stack, Cranelift computes the address of each operand
        // in memory by an instruction of its own.
        let base = b.ins().band_imm_s(place, -i64::from(BYTES));
        Spilled { slot, base, size: 0, free: Vec::new(), at: HashMap::new() }
    }

    /// Gives the memory the size that it has come to.
    pub(super) fn finish(&self, b: &mut FunctionBuilder<'_>) {
        b.func.sized_stack_slots[self.slot].size = self.size;
    }

    /// Loads a value that is in memory.
    pub(super) fn load(&self, b: &mut FunctionBuilder<'_>, key: Key) -> Option<Value> {
        let (offset, variable) = *self.at.get(&key)?;
        Some(b.ins().load(variable, MemFlagsData::trusted(), self.base, offset as i32))
    }

    /// Forgets a value, which is made anew.
    pub(super) fn forget(&mut self, key: Key) {
        self.at.remove(&key);
    }

    /// True if a value is in memory.
    pub(super) fn has(&self, key: Key) -> bool {
        self.at.contains_key(&key)
    }

    /// True if a value is in memory, or there is room for it.
    pub(super) fn has_room(&self, key: Key) -> bool {
        self.has(key) || !self.free.is_empty() || self.size < MOST_BYTES
    }

    /// Stores a value that is not in memory.
    pub(super) fn store(&mut self, b: &mut FunctionBuilder<'_>, key: Key, value: Value) {
        if self.has(key) {
            return;
        }
        let offset = self.free.pop().unwrap_or_else(|| {
            self.size += BYTES;
            self.size - BYTES
        });
        b.ins().store(MemFlagsData::trusted(), value, self.base, offset as i32);
        self.at.insert(key, (offset, b.func.dfg.value_type(value)));
    }

    /// Nobody reads a value any more.
    pub(super) fn give_back(&mut self, key: Key) {
        self.free.extend(self.at.remove(&key).map(|(offset, _)| offset));
    }
}
