//! Refusing: rules that compute the usual case, and leave the rest to the cell of the instruction.
//!
//! ```text
//!             usual ──> compute ──────────────────────────────> next block
//!  refused? <                                                     ^
//!             rare ───> store operands ─> run_cells ─> load ──────┘      or return, if the run has stopped
//! ```

use crate::jit::emitter::{Emitter, Instructed};
use cranelift_codegen::ir::{InstBuilder, Value};

impl Emitter<'_, '_> {
    /// Computes the usual case of an instruction, and has the cell do it where operands are refused.
    pub(super) fn unless(
        &mut self,
        refused: &[Value],
        instructed: Instructed<'_>,
        usual: impl FnOnce(&mut Self) -> Option<Value>,
    ) {
        let (rare, fast, next) = (self.cold_block(), self.b.create_block(), self.b.create_block());
        let of_refused = refused.len();
        let result = instructed.results.first().map(|value| (*value, self.leaves(*value)));
        let leaf = result.and_then(|(value, leaves)| Some((value, *leaves.first()?)));
        let joined = leaf.map(|(_, leaf)| self.b.append_block_param(next, leaf.variable));
        for (number, refused) in refused.iter().enumerate() {
            let next = if number + 1 == of_refused { fast } else { self.b.create_block() };
            self.b.ins().brif(*refused, rare, &[], next, &[]);
            self.enter(next);
        }
        let computed = usual(self);
        let args: Vec<_> = computed.into_iter().map(Into::into).collect();
        self.b.ins().jump(next, &args);
        self.enter(rare);
        let clean = self.clean.clone();
        instructed.operands.iter().for_each(|value| self.store(*value));
        self.clean = clean;
        let cell = self.cell(instructed.cell);
        let status = self.ask_rarely(self.rare.run_cells, &[self.frame, cell]);
        self.unless_stopped(status, self.stopped);
        let loaded = leaf.map(|(_, leaf)| self.load_leaf(leaf));
        // Only an array that is written may be another one now.
        if let Some(result) = instructed.results.first() {
            self.load_moved(self.routine.slot(*result).offset());
        }
        let args: Vec<_> = loaded.into_iter().map(Into::into).collect();
        self.b.ins().jump(next, &args);
        self.enter(next);
        if let Some(((value, leaf), joined)) = leaf.zip(joined) {
            self.define(value, leaf, joined);
        }
    }
}
