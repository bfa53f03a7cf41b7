//! Phis: one for each leaf, their operands cast at the ends of the predecessors.

use super::leaves::leaf_types;
use super::{Lower, Lowering};
use crate::function::types::FunctionType;
use crate::ssa::{BlockId, InstId, SsaOp};
use cembra_vm::program::instruction::Span;

impl Lowering<'_> {
    /// Phis for the leaves of a phi; their operands come when all blocks are there.
    pub(super) fn phi(&mut self, inst: InstId) -> Lower<Vec<InstId>> {
        let mut types = Vec::new();
        leaf_types(self.type_of(inst), &mut types);
        let mut phis = Vec::new();
        for leaf in &types {
            let qtype = self.qtype(leaf)?;
            let phi = self.flow.add_inst(SsaOp::Phi, vec![], Span::default());
            self.types.push(Some(qtype));
            phis.push(phi);
        }
        let block = &mut self.flow.blocks[self.block.index()].insts;
        let at =
            block.iter().take_while(|inst| matches!(self.flow.insts[inst.index()].op, SsaOp::Phi)).count();
        block.splice(at..at, phis.iter().copied());
        Ok(phis)
    }

    /// Gives all phis their operands, cast at the ends of the predecessors.
    pub(super) fn join_phis(&mut self) -> Lower<()> {
        let function = self.instance.function.clone();
        for block in function.flow.block_ids() {
            let from: Vec<BlockId> = function
                .flow
                .block(block)
                .predecessors
                .iter()
                .map(|from| self.ends[from.index()].1)
                .collect();
            self.flow.blocks[block.index()].predecessors = from.clone();
            for phi in function.flow.phis(block) {
                let wanted = self.type_of(phi);
                let phis = self.leaves(phi);
                for (position, arg) in function.flow.inst(phi).args.iter().enumerate() {
                    self.block = from[position];
                    self.span = function.flow.inst(*arg).span;
                    let leaves = match function.flow.inst(*arg).op {
                        SsaOp::Undef => self.undefined(wanted)?,
                        _ => self.leaves_as(*arg, wanted)?,
                    };
                    for (phi, leaf) in phis.iter().zip(leaves) {
                        self.flow.insts[phi.index()].args.push(leaf);
                    }
                }
            }
        }
        Ok(())
    }

    /// Operands of phis that nobody reads.
    fn undefined(&mut self, wanted: &FunctionType) -> Lower<Vec<InstId>> {
        let mut types = Vec::new();
        leaf_types(wanted, &mut types);
        let mut leaves = Vec::new();
        for leaf in types {
            let qtype = self.qtype(&leaf)?;
            let undef = self.flow.add_inst(SsaOp::Undef, vec![], Span::default());
            self.types.push(Some(qtype));
            self.flow.blocks[0].insts.insert(0, undef);
            leaves.push(undef);
        }
        Ok(leaves)
    }
}
