//! The order of blocks: each before those that it dominates.

use crate::ssa::flow::{BlockId, Flow, SsaOperation, Tail};

/// Numbers the blocks of a flow, all reachable, in reverse postorder. Predecessors of a block keep their order, and
/// with it operands of phis.
pub fn order_blocks<O: SsaOperation>(flow: &mut Flow<O>) {
    let order = flow.reverse_postorder();
    let mut number = vec![BlockId(0); flow.blocks.len()];
    order.iter().zip(0..).for_each(|(old, new)| number[old.index()] = BlockId(new));
    let mut blocks = Vec::with_capacity(order.len());
    for old in order {
        let mut block = flow.blocks[old.index()].clone();
        block.predecessors.iter_mut().for_each(|from| *from = number[from.index()]);
        match &mut block.tail {
            Tail::Jump(to) => *to = number[to.index()],
            Tail::Branch { then, orelse, .. } | Tail::Guard { then, orelse, .. } => {
                (*then, *orelse) = (number[then.index()], number[orelse.index()])
            }
            Tail::Open | Tail::Return(_) | Tail::Fail(_) | Tail::Again(_) => {}
        }
        blocks.push(block);
    }
    flow.blocks = blocks;
}
