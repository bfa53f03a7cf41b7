//! Loops that lowering adds: over the elements of arrays.

use super::{Lower, Lowering};
use crate::function::build::RaisedFailure;
use crate::ssa::{InstId, SsaOp, Tail};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::{BOOLEAN, INT64};
use cembra_vm::value::{Category, QType};

/// One round: its number and the value of the round before give the value of this one.
pub(super) type Round<'a, L> = dyn FnMut(&mut L, InstId, Option<InstId>) -> Lower<Option<InstId>> + 'a;

impl Lowering<'_> {
    /// Runs a body for 0, 1, … below a count, with a value that each round makes of that of the round before.
    pub(super) fn fold(
        &mut self,
        count: InstId,
        start: Option<(InstId, QType)>,
        body: &mut Round<'_, Self>,
    ) -> Lower<Option<InstId>> {
        let depth = self.flow.block(self.block).depth;
        let (before, zero) = (self.block, self.int(0));
        let head = self.flow.add_block(depth + 1);
        let inside = self.flow.add_block(depth + 1);
        let behind = self.flow.add_block(depth);
        self.close(Tail::Jump(head));
        self.block = head;
        let number = self.empty_phi(INT64);
        let value = start.as_ref().map(|(_, qtype)| self.empty_phi(qtype.clone()));
        let condition = self.total("bool.less", vec![number, count], BOOLEAN);
        self.close(Tail::Branch { condition, then: inside, orelse: behind });
        self.block = inside;
        let next = body(self, number, value)?;
        let one = self.int(1);
        let next_number = self.total("math.add", vec![number, one], INT64);
        self.close(Tail::Jump(head));
        let end = self.block;
        self.flow.blocks[head.index()].predecessors = vec![before, end];
        self.flow.blocks[inside.index()].predecessors = vec![head];
        self.flow.blocks[behind.index()].predecessors = vec![head];
        self.flow.insts[number.index()].args = vec![zero, next_number];
        if let (Some(value), Some((start, _)), Some(next)) = (value, start, next) {
            self.flow.insts[value.index()].args = vec![start, next];
        }
        self.block = behind;
        Ok(value)
    }

    /// Raises ValueError if a number is zero; goes on behind.
    pub(super) fn fail_if_zero(&mut self, number: InstId, message: String) {
        let zero = self.int(0);
        let condition = self.total("bool.equal", vec![number, zero], BOOLEAN);
        self.fail_if(condition, message);
    }

    /// Raises ValueError if a condition holds; goes on behind.
    pub(super) fn fail_if(&mut self, condition: InstId, message: String) {
        self.raise_if(condition, RaisedFailure { category: Category::Domain, message });
    }

    /// Raises an error if a condition holds; goes on behind.
    pub(super) fn raise_if(&mut self, condition: InstId, failure: RaisedFailure) {
        let (before, depth) = (self.block, self.flow.block(self.block).depth);
        let known = self.failures.iter().position(|known| *known == failure);
        let failure = known.unwrap_or_else(|| {
            self.failures.push(failure);
            self.failures.len() - 1
        });
        let (fails, behind) = (self.flow.add_block(depth), self.flow.add_block(depth));
        self.close(Tail::Branch { condition, then: fails, orelse: behind });
        self.block = fails;
        self.close(Tail::Fail(failure as u32));
        self.flow.blocks[fails.index()].predecessors = vec![before];
        self.flow.blocks[behind.index()].predecessors = vec![before];
        self.block = behind;
    }

    pub(super) fn close(&mut self, tail: Tail) {
        let (block, span) = (&mut self.flow.blocks[self.block.index()], self.span);
        (block.tail, block.tail_span) = (tail, span);
    }

    fn empty_phi(&mut self, qtype: QType) -> InstId {
        let phi = self.flow.push(self.block, SsaOp::Phi, vec![], Span::default());
        self.types.push(Some(qtype));
        phi
    }
}
