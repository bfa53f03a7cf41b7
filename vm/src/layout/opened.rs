//! Layouts whose literals have become inputs.

use crate::layout::builder::{next_tag, written_bits};
use crate::layout::layout::FrameLayout;
use crate::layout::slot::TypedSlot;
use std::sync::OnceLock;

impl FrameLayout {
    /// The same layout where the literals in these slots are inputs, behind all others: whoever runs a frame of it says what
    /// they are. Slots are those of literals of this layout.
    pub(crate) fn opening(&self, slots: &[TypedSlot]) -> FrameLayout {
        let is_opened = |offset: u32| slots.iter().any(|slot| slot.offset() == offset);
        let inputs: Box<[TypedSlot]> = self.inputs.iter().chain(slots).cloned().collect();
        let literals = self.literals.iter().filter(|(offset, _)| !is_opened(*offset));
        let literal_bytes = self.literal_bytes.iter().filter(|(offset, _)| !is_opened(*offset));
        let mut template = self.template.clone();
        slots.iter().for_each(|slot| template[slot.offset() as usize..slot.end() as usize].fill(0));
        FrameLayout {
            size: self.size,
            align: self.align,
            handles: self.handles.clone(),
            handle_types: self.handle_types.clone(),
            bits: written_bits(inputs.iter().chain(&self.outputs)),
            inputs,
            outputs: self.outputs.clone(),
            literals: literals.cloned().collect(),
            literal_bytes: literal_bytes.copied().collect(),
            template,
            tag: next_tag(),
            id: OnceLock::new(),
        }
    }
}
