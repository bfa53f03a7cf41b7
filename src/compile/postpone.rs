//! Order of instructions: single values that are made of reductions wait until something else reads them.
//!
//! ```text
//! v3 = sum(x*x)                      v3 = sum(x*x)
//! v4 = sqrt(v3)                      v5 = sum(y*y)
//! v5 = sum(y*y)            ─>        v4 = sqrt(v3)
//! v6 = divide(v4, v5)                v6 = divide(v4, v5)
//! ```
//!
//! A tile region ends where one of its reductions is read, so that on the left the rows are read twice. Only what is
//! [total](cembra_vm::operator::Effects::Total) waits: a fault stays the first one. Nothing waits across a jump, nor behind
//! an instruction that reads or writes one of its values, or bytes of the same tuple.

use crate::compile::assign::holder;
use crate::compile::emission::{Emission, Role};
use cembra_vm::program::cfg::block_starts;
use cembra_vm::program::{Instruction, ValueId};
use std::ops::Range;

/// Postpones what can wait.
pub(super) fn postpone(emission: &mut Emission) {
    if !emission.body.operators().iter().any(|operator| operator.reduces()) {
        return;
    }
    let starts = block_starts(&emission.body);
    let ends = starts.iter().skip(1).copied().chain([emission.body.instructions().len()]);
    let mut marks = vec![Mark::default(); emission.values.len()];
    // Those whose instructions have moved.
    let mut moved: Vec<Range<usize>> = Vec::new();
    for block in starts.iter().zip(ends).map(|(start, end)| *start..end) {
        let order = order(emission, block.clone(), &mut marks);
        if !order.is_sorted() {
            emission.body.reorder(&order, block.start);
            moved.push(block);
        }
    }
    // A literal is there before the first that may read it now.
    for value in &mut emission.values {
        let Role::Literal(_, at) = &mut value.role else { continue };
        let next = moved.partition_point(|block| block.end <= *at);
        if let Some(block) = moved.get(next).filter(|block| block.contains(at)) {
            *at = block.start;
        }
    }
}

/// What is known of the bytes of a value, and in which block.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The end of the block; of another, nothing is known.
    block: usize,
    /// A reduction has written it.
    is_reduction: bool,
    /// Something that waits reads or writes it.
    is_waited_for: bool,
    /// Something that waits writes it.
    waits: bool,
}

/// The instructions of a block in their new order.
fn order(emission: &Emission, block: Range<usize>, marks: &mut [Mark]) -> Vec<usize> {
    let body = &emission.body;
    let (mut order, mut waiting) = (Vec::with_capacity(block.len()), Vec::new());
    // Bytes that are marked for what waits.
    let mut touched: Vec<ValueId> = Vec::new();
    for ip in block.clone() {
        let instruction = &body.instructions()[ip];
        let (reads, writes) = (body.reads(instruction), body.writes(instruction));
        let bytes = |value: &ValueId| holder(emission, *value);
        let mark = |marks: &[Mark], value: &ValueId| {
            let mark = marks[bytes(value).index()];
            if mark.block == block.end { mark } else { Mark::default() }
        };
        let reads_reduction = reads.iter().any(|v| mark(marks, v).is_reduction || mark(marks, v).waits);
        if reads_reduction && can_wait(emission, instruction) {
            for (values, is_written) in [(reads, false), (writes, true)] {
                for value in values {
                    let known = mark(marks, value);
                    let value = bytes(value);
                    marks[value.index()] = Mark {
                        block: block.end,
                        is_waited_for: true,
                        waits: known.waits || is_written,
                        ..known
                    };
                    touched.push(value);
                }
            }
            waiting.push(ip);
            continue;
        }
        let is_in_the_way = reads.iter().any(|v| mark(marks, v).waits)
            || writes.iter().any(|v| mark(marks, v).is_waited_for)
            || !matches!(instruction, Instruction::Operator { .. });
        if is_in_the_way {
            order.append(&mut waiting);
            for value in touched.drain(..) {
                (marks[value.index()].is_waited_for, marks[value.index()].waits) = (false, false);
            }
        }
        if let Instruction::Operator { operator, result, .. } = instruction {
            let is_reduction = body.operators()[*operator as usize].reduces();
            let known = mark(marks, result);
            marks[bytes(result).index()] = Mark { block: block.end, is_reduction, ..known };
        }
        order.push(ip);
    }
    order.append(&mut waiting);
    order
}

/// True of an operator that makes a single value of single values, and never raises.
fn can_wait(emission: &Emission, instruction: &Instruction) -> bool {
    let Instruction::Operator { operator, operands, result } = instruction else { return false };
    let is_plain = |value: &ValueId| emission.values[value.index()].qtype.is_plain();
    let overload = &emission.body.operators()[*operator as usize];
    overload.effects().is_total() && is_plain(result) && emission.body.list(*operands).iter().all(is_plain)
}
