//! Liveness: where each value is needed later, over jumps in both directions.
//!
//! A value is live at a point if some path from there reads it before it is written again. The
//! fixpoint is found value by value: from each reading block the walk goes backwards through the
//! blocks until it meets a block that writes the value or one it has been to. Every step marks one
//! new (block, value) pair, so the work is proportional to the result.

use crate::program::body::Body;
use crate::program::cfg::Cfg;
use crate::program::instruction::ValueId;

/// Values that are live at block boundaries. Only values that cross a boundary appear.
#[derive(Debug, Default)]
pub struct Liveness {
    live_in: Vec<Vec<ValueId>>,
    live_out: Vec<Vec<ValueId>>,
}

impl Liveness {
    /// Values read after the start of the block, in ascending order.
    pub fn live_in(&self, block: usize) -> &[ValueId] {
        &self.live_in[block]
    }

    /// Values read after the end of the block, in ascending order.
    pub fn live_out(&self, block: usize) -> &[ValueId] {
        &self.live_out[block]
    }
}

/// Computes liveness; none if the lists have more than `most` values together. `owner` maps a view to the value that has a life (it may map several values to
/// one); `None` leaves a value out, as for literals, which live everywhere. `at_end` are read when
/// the body ends.
pub fn liveness(
    body: &Body,
    cfg: &Cfg,
    values: usize,
    owner: impl Fn(ValueId) -> Option<ValueId>,
    at_end: &[ValueId],
    most: usize,
) -> Option<Liveness> {
    let mut result = Liveness { live_in: vec![Vec::new(); cfg.len()], live_out: vec![Vec::new(); cfg.len()] };
    if cfg.len() == 1 && at_end.is_empty() {
        return Some(result);
    }
    // Blocks that read a value before writing it, by value.
    let mut readers: Vec<Vec<u32>> = vec![Vec::new(); values];
    // The last block that wrote a value; and every (block, value) that is written before it is read.
    let mut writers: Vec<Vec<u32>> = vec![Vec::new(); values];
    for block in 0..cfg.len() {
        for ip in cfg.block(block) {
            let instruction = &body.instructions()[ip];
            for value in body.reads(instruction).iter().filter_map(|v| owner(*v)) {
                let unwritten = writers[value.index()].last() != Some(&(block as u32));
                if unwritten && readers[value.index()].last() != Some(&(block as u32)) {
                    readers[value.index()].push(block as u32);
                }
            }
            for value in body.writes(instruction).iter().filter_map(|v| owner(*v)) {
                if writers[value.index()].last() != Some(&(block as u32)) {
                    writers[value.index()].push(block as u32);
                }
            }
        }
    }
    let mut read_at_end = vec![false; values];
    at_end.iter().for_each(|v| read_at_end[v.index()] = true);
    let last: Vec<usize> = (0..cfg.len()).filter(|b| ends_body(body, cfg, *b)).collect();
    let mut entered = vec![u32::MAX; cfg.len()];
    let mut left = vec![u32::MAX; cfg.len()];
    let (mut work, mut listed): (Vec<u32>, usize) = (Vec::new(), 0);
    for value in (0..values as u32).map(ValueId) {
        work.extend(&readers[value.index()]);
        listed += work.len();
        for block in &work {
            entered[*block as usize] = value.0;
            result.live_in[*block as usize].push(value);
        }
        if read_at_end[value.index()] {
            for block in &last {
                listed += leave(*block, value, &writers, &mut result, &mut entered, &mut left, &mut work);
            }
        }
        while let Some(block) = work.pop() {
            for before in cfg.predecessors(block as usize) {
                listed += leave(before, value, &writers, &mut result, &mut entered, &mut left, &mut work);
            }
        }
        if listed > most {
            return None;
        }
    }
    Some(result)
}

/// Marks a value as live out of a block and, unless the block writes it, as live into it; gives how often it was listed.
fn leave(
    block: usize,
    value: ValueId,
    writers: &[Vec<u32>],
    result: &mut Liveness,
    entered: &mut [u32],
    left: &mut [u32],
    work: &mut Vec<u32>,
) -> usize {
    if left[block] == value.0 {
        return 0;
    }
    left[block] = value.0;
    result.live_out[block].push(value);
    let written = writers[value.index()].binary_search(&(block as u32)).is_ok();
    if written || entered[block] == value.0 {
        return 1;
    }
    entered[block] = value.0;
    result.live_in[block].push(value);
    work.push(block as u32);
    2
}

/// True if the body can end after this block.
fn ends_body(body: &Body, cfg: &Cfg, block: usize) -> bool {
    let last = cfg.block(block).end - 1;
    let len = body.instructions().len();
    let instruction = &body.instructions()[last];
    (last + 1 == len && instruction.falls_through()) || body.target(last) == Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::instruction::{Instruction, Span};

    /// `v1 = f(v0)`, then a loop that rewrites v1 from v1 and v2 until v3 is missing, then `v4 = f(v1)`.
    #[test]
    fn values_used_in_a_loop_live_through_it() {
        let mut body = Body::new();
        let v = ValueId;
        let span = Span::default();
        body.push_operator(0, &[v(0)], v(1), span);
        body.push_operator(0, &[v(1), v(2)], v(1), span);
        body.push_operator(0, &[v(1)], v(3), span);
        body.push(Instruction::JumpIf { condition: v(3), offset: -3 }, span);
        body.push_operator(0, &[v(1)], v(4), span);
        let cfg = Cfg::new(&body);
        assert_eq!((0..cfg.len()).map(|b| cfg.block(b)).collect::<Vec<_>>(), [0..1, 1..4, 4..5]);
        let live = liveness(&body, &cfg, 5, Some, &[v(4)], 10).expect("there are ten in the lists");
        assert!(liveness(&body, &cfg, 5, Some, &[v(4)], 9).is_none());
        assert_eq!(live.live_in(1), [v(1), v(2)]);
        assert_eq!(live.live_out(1), [v(1), v(2)]);
        assert_eq!(live.live_in(2), [v(1)]);
        assert_eq!(live.live_out(2), [v(4)]);
        assert_eq!(live.live_in(0), [v(0), v(2)]);
    }

    /// A value read in one branch only is dead in the other.
    #[test]
    fn exclusive_branches_do_not_extend_lives() {
        let mut body = Body::new();
        let (v, span) = (ValueId, Span::default());
        body.push(Instruction::JumpIfNot { condition: v(0), offset: 2 }, span);
        body.push_operator(0, &[v(1)], v(3), span);
        body.push(Instruction::Jump { offset: 1 }, span);
        body.push_operator(0, &[v(2)], v(3), span);
        let cfg = Cfg::new(&body);
        let live = liveness(&body, &cfg, 4, Some, &[v(3)], usize::MAX).expect("there is no limit");
        assert_eq!(live.live_in(1), [v(1)]);
        assert_eq!(live.live_in(2), [v(2)]);
        assert_eq!(live.live_out(0), [v(1), v(2)]);
    }
}
