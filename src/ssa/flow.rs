//! Flow: blocks of instructions, each a value.
//!
//! ```text
//! bb1:                       predecessors bb0, bb4
//!   s.1 = phi [s.0, s.3]     one operand for each predecessor, in their order
//!   c.0 = less(i.0, n.0)
//!   branch c.0 ? bb2 : bb5   the tail
//! ```
//!
//! Invariants:
//! 1. Block 0 is the entry and has no predecessors.
//! 2. `predecessors` are the blocks whose tails lead here, once for each way.
//! 3. A phi has as many operands as its block has predecessors, and phis stand first.
//!
//! 4. A guard leads to a block with no other predecessor, the guarded block: where an instruction or the tail of that
//!    block raises what the guard takes, control goes on at the handler. Of several guards in a row the last one is asked first.
//!
//! ```text
//! bb3:  guard (DIVISION_BY_ZERO) ? bb7 : bb4        nothing that bb4 computes is known in bb7
//! bb4:  q.0 = floordiv(a.0, b.0)
//! ```
//!
//! Before [`construct`](mod@crate::ssa::construct) variables are read and written by [`SsaOp::Read`] and
//! [`SsaOp::Write`]; after it neither occurs.

use cembra_vm::program::Catch;
use cembra_vm::program::instruction::Span;
use std::fmt;
use std::sync::Arc;

macro_rules! number {
    ($name:ident, $prefix:literal, $what:literal) => {
        #[doc = $what]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in its list.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

number!(BlockId, "bb", "Number of a block.");
number!(InstId, "%", "Number of an instruction, which is a value.");
number!(VarId, "x", "Number of a variable.");

/// What an operation of a stage is to the passes.
pub trait SsaOperation: Clone {
    /// True if the instruction stays although nobody reads its value: it raises, or writes memory.
    fn has_effects(&self) -> bool;
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum SsaOp<O> {
    /// The operand that belongs to the predecessor control came from.
    Phi,
    /// No value: an operand of phis only.
    Undef,
    /// Reads a variable.
    Read(VarId),
    /// Writes its operand to a variable.
    Write(VarId),
    /// An operation of the stage.
    Do(O),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst<O> {
    /// What it does.
    pub op: SsaOp<O>,
    /// Its operands.
    pub args: Vec<InstId>,
    /// Where it stands in the source.
    pub span: Span,
    /// The variable that it is a version of.
    pub name: Option<VarId>,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Tail {
    /// Not set yet.
    Open,
    /// Continues elsewhere.
    Jump(BlockId),
    /// Continues in one of two blocks.
    Branch {
        /// The condition.
        condition: InstId,
        /// Where to if it holds.
        then: BlockId,
        /// Where to if not.
        orelse: BlockId,
    },
    /// Ends the function with a value.
    Return(InstId),
    /// Ends the function with an error, by its number.
    Fail(u32),
    /// Continues with the guarded block.
    Guard {
        /// What is taken.
        catch: Arc<Catch>,
        /// The guarded block.
        then: BlockId,
        /// Where to if it raises that: the handler.
        orelse: BlockId,
    },
    /// Raises the error once more that a guard has kept under a number.
    Again(u32),
}

impl Tail {
    /// Blocks that can follow.
    pub fn successors(&self) -> impl Iterator<Item = BlockId> + use<> {
        let (first, second) = match self {
            Tail::Jump(to) => (Some(*to), None),
            Tail::Branch { then, orelse, .. } | Tail::Guard { then, orelse, .. } => {
                (Some(*then), Some(*orelse))
            }
            Tail::Open | Tail::Return(_) | Tail::Fail(_) | Tail::Again(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The value that the tail reads.
    pub fn operand(&self) -> Option<InstId> {
        match self {
            Tail::Branch { condition, .. } => Some(*condition),
            Tail::Return(value) => Some(*value),
            _ => None,
        }
    }

    /// The same value, to be replaced.
    pub fn operand_mut(&mut self) -> Option<&mut InstId> {
        match self {
            Tail::Branch { condition, .. } => Some(condition),
            Tail::Return(value) => Some(value),
            _ => None,
        }
    }

    /// Leads to another block where it led to `from`.
    pub fn redirect(&mut self, from: BlockId, to: BlockId) {
        match self {
            Tail::Jump(target) if *target == from => *target = to,
            Tail::Branch { then, orelse, .. } | Tail::Guard { then, orelse, .. } => {
                for target in [then, orelse] {
                    if *target == from {
                        *target = to;
                    }
                }
            }
            _ => {}
        }
    }
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowBlock {
    /// Its instructions, phis first.
    pub insts: Vec<InstId>,
    /// How it ends.
    pub tail: Tail,
    /// Where the tail stands in the source.
    pub tail_span: Span,
    /// Blocks that lead here.
    pub predecessors: Vec<BlockId>,
    /// Loops around it.
    pub depth: u32,
}

/// The blocks of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow<O> {
    /// Blocks; the first is the entry.
    pub blocks: Vec<FlowBlock>,
    /// Instructions of all blocks.
    pub insts: Vec<Inst<O>>,
    /// Number of variables.
    pub variables: usize,
}

impl<O: SsaOperation> Flow<O> {
    /// An entry without instructions.
    pub fn new() -> Flow<O> {
        let mut flow = Flow { blocks: Vec::new(), insts: Vec::new(), variables: 0 };
        flow.add_block(0);
        flow
    }

    /// The blocks' numbers.
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + use<O> {
        (0..self.blocks.len() as u32).map(BlockId)
    }

    /// A new block.
    pub fn add_block(&mut self, depth: u32) -> BlockId {
        let tail_span = Span::default();
        self.blocks.push(FlowBlock {
            insts: Vec::new(),
            tail: Tail::Open,
            tail_span,
            predecessors: Vec::new(),
            depth,
        });
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// A new variable.
    pub fn add_variable(&mut self) -> VarId {
        self.variables += 1;
        VarId(self.variables as u32 - 1)
    }

    /// A new instruction that stands in no block yet.
    pub fn add_inst(&mut self, op: SsaOp<O>, args: Vec<InstId>, span: Span) -> InstId {
        self.insts.push(Inst { op, args, span, name: None });
        InstId(self.insts.len() as u32 - 1)
    }

    /// Appends an instruction to a block.
    pub fn push(&mut self, block: BlockId, op: SsaOp<O>, args: Vec<InstId>, span: Span) -> InstId {
        let inst = self.add_inst(op, args, span);
        self.blocks[block.index()].insts.push(inst);
        inst
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> &FlowBlock {
        &self.blocks[id.index()]
    }

    /// An instruction.
    pub fn inst(&self, id: InstId) -> &Inst<O> {
        &self.insts[id.index()]
    }

    /// The stage's operation of an instruction.
    pub fn operation(&self, id: InstId) -> Option<&O> {
        match &self.inst(id).op {
            SsaOp::Do(operation) => Some(operation),
            _ => None,
        }
    }

    /// True for a phi.
    pub fn is_phi(&self, id: InstId) -> bool {
        matches!(self.inst(id).op, SsaOp::Phi)
    }

    /// The blocks whose guards hold for a block, the one that is asked first before the others.
    pub fn guards(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let guard_of = |block: BlockId| match self.block(block).predecessors[..] {
            [from] => match self.block(from).tail {
                Tail::Guard { then, orelse, .. } if then == block && orelse != block => Some(from),
                _ => None,
            },
            _ => None,
        };
        let is_guard = matches!(self.block(block).tail, Tail::Guard { .. });
        let first = if is_guard { None } else { guard_of(block) };
        std::iter::successors(first, move |guard| {
            self.block(*guard).insts.is_empty().then(|| guard_of(*guard)).flatten()
        })
    }

    /// True if something is caught.
    pub fn has_guards(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block.tail, Tail::Guard { .. }))
    }

    /// True if an instruction or the tail of a block may raise.
    pub fn may_raise(&self, block: BlockId) -> bool {
        let rows = self.block(block);
        let raises = |inst: &InstId| self.operation(*inst).is_some_and(SsaOperation::has_effects);
        matches!(rows.tail, Tail::Fail(_) | Tail::Again(_)) || rows.insts.iter().any(raises)
    }

    /// Puts the guards of a block before another block as well; gives the first of them, or the other block if there are
    /// none, to which nothing leads yet. The handlers have no phis.
    pub fn guard_like(&mut self, guarded: BlockId, other: BlockId) -> BlockId {
        let guards: Vec<BlockId> = self.guards(guarded).collect();
        let (depth, span) = (self.block(other).depth, self.block(guarded).tail_span);
        let mut first = other;
        for guard in guards {
            let Tail::Guard { catch, orelse, .. } = self.block(guard).tail.clone() else { continue };
            let before = self.add_block(depth);
            self.blocks[orelse.index()].predecessors.push(before);
            let rows = &mut self.blocks[before.index()];
            (rows.tail, rows.tail_span) = (Tail::Guard { catch, then: first, orelse }, span);
            self.blocks[first.index()].predecessors = vec![before];
            first = before;
        }
        first
    }

    /// Guards a block that is in use as another one is: its predecessors and phis move to the first guard.
    pub fn guard_in_place(&mut self, guarded: BlockId, block: BlockId) {
        let before = self.block(block).predecessors.clone();
        let first = self.guard_like(guarded, block);
        if first == block {
            return;
        }
        let count = self.phis(block).count();
        let phis: Vec<InstId> = self.blocks[block.index()].insts.drain(..count).collect();
        for from in &before {
            self.blocks[from.index()].tail.redirect(block, first);
        }
        self.blocks[first.index()].insts = phis;
        self.blocks[first.index()].predecessors = before;
    }

    /// The phis of a block.
    pub fn phis(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.block(block).insts.iter().copied().take_while(|inst| self.is_phi(*inst))
    }

    /// Finds the predecessors of all blocks anew.
    pub fn set_predecessors(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.predecessors.clear());
        for block in self.block_ids() {
            for to in self.block(block).tail.clone().successors() {
                self.blocks[to.index()].predecessors.push(block);
            }
        }
    }

    /// Reads other values instead: `stands_for` gives the one for each, itself where it stays.
    pub fn replace_values(&mut self, stands_for: impl Fn(InstId) -> InstId) {
        for inst in &mut self.insts {
            inst.args.iter_mut().for_each(|arg| *arg = stands_for(*arg));
        }
        for block in &mut self.blocks {
            if let Some(operand) = block.tail.operand_mut() {
                *operand = stands_for(*operand);
            }
        }
    }

    /// Takes a way between two blocks away, with the operands of phis that belong to it.
    pub fn remove_edge(&mut self, from: BlockId, to: BlockId) {
        let rows = &mut self.blocks[to.index()];
        let Some(position) = rows.predecessors.iter().position(|block| *block == from) else { return };
        rows.predecessors.remove(position);
        let phis: Vec<InstId> = self.phis(to).collect();
        for phi in phis {
            self.insts[phi.index()].args.remove(position);
        }
    }

    /// Removes the blocks that no path leads to, before there are phis; gives the spans of what stood there.
    pub fn remove_unreachable(&mut self) -> Vec<Span> {
        let order = self.reverse_postorder();
        let mut new_number = vec![None; self.blocks.len()];
        let mut kept: Vec<BlockId> = order;
        kept.sort_unstable();
        kept.iter().zip(0..).for_each(|(old, new)| new_number[old.index()] = Some(BlockId(new)));
        let mut removed = Vec::new();
        let old = std::mem::take(&mut self.blocks);
        for (mut block, number) in old.into_iter().zip(&new_number) {
            if number.is_none() {
                let first = block.insts.first().map(|inst| self.insts[inst.index()].span);
                removed.extend(first.filter(|span| !span.is_unknown()));
                continue;
            }
            let target = |to: BlockId| new_number[to.index()].expect("a successor is reachable");
            match &mut block.tail {
                Tail::Jump(to) => *to = target(*to),
                Tail::Branch { then, orelse, .. } | Tail::Guard { then, orelse, .. } => {
                    (*then, *orelse) = (target(*then), target(*orelse))
                }
                _ => {}
            }
            self.blocks.push(block);
        }
        self.set_predecessors();
        removed
    }

    /// Reachable blocks, each before those it dominates.
    pub fn reverse_postorder(&self) -> Vec<BlockId> {
        let mut seen = vec![false; self.blocks.len()];
        let mut postorder = Vec::new();
        // A block, and its successors still to be visited.
        let successors = |block: BlockId| self.block(block).tail.successors().collect::<Vec<_>>();
        let mut stack = vec![(BlockId(0), successors(BlockId(0)))];
        seen[0] = true;
        while let Some((block, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if !std::mem::replace(&mut seen[next.index()], true) => {
                    stack.push((next, successors(next)));
                }
                Some(_) => {}
                None => {
                    postorder.push(*block);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        postorder
    }
}

impl<O: SsaOperation> Default for Flow<O> {
    fn default() -> Self {
        Flow::new()
    }
}
