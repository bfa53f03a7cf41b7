//! Temporaries: intermediates that are computed once and kept, because they are read at several shifts.
//!
//! ```text
//! lap  = -4*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]              5 operations
//! v    = -4*lap + lap[I-1] + lap[I+1] + lap[J-1] + lap[J+1]    lap at 5 places: 4 * 5 operations are saved
//!
//! box of v   I 2:62, J 2:62        lap kept on   I 1:63, J 1:63
//! ```
//!
//! The rule: an operation is kept if computing it once saves at least [`LEAST_SAVED`] additions a point, or
//! [`LEAST_SAVED_FAR`] on boxes of [`FAR_POINTS`] and more, whose fields come from memory: there additions are done while loads
//! are waited for. A kept value is stored once, loaded at each place, and costs a program of its own for each band.
//!
//! Time with the value kept, to that without: medians of three runs on an AMD EPYC with AVX-512, fields of FLOAT64, 2026-11-28.
//! *Cheap* are additions and multiplications, *dear* has a division and a square root besides.
//!
//! ```text
//! saved    1     2     4     8     8     12    16      one dear    two dear
//! read at  2     2     2     2     3     5     5       2           3 times
//! 64²      1.70  1.62  1.36  1.07  1.05  0.96  0.96    0.69        0.48
//! 512²     1.86  1.74  1.43  1.11  1.13  0.93  0.90    0.63        0.43
//! 2048²    1.67  1.63  1.45  1.45  1.39  1.37  1.27    1.15        0.83
//! ```
//!
//! Of a chain of operations that nothing else reads, all at the same places, the last one is kept: `lap`, not `-4*u + u[I-1]`.
//!
//! 1. Only operations of numbers that nobody chose by a table or an index are kept: they are the same everywhere.
//! 2. The box of a temporary is that of the stage with the least and greatest offsets along each axis. Its corners may be
//!    points that the stage does not need, but what they read lies in the box of what the stage reads.
//! 3. Operations that may raise are not kept, because of those corners.

use crate::expr;
use crate::field::element::{has_all, held_as, is_float};
use crate::field::error::Stop;
use crate::field::expression::{FieldBinary, FieldNode, FieldNodeId, FieldUnary};
use crate::field::place::{Coordinate, PlaceId};
use crate::field::program::FieldProgram;
use crate::field::stage::{AxisRead, FieldRead, ReadOf, StageSource};
use crate::field::to_expr::{BoxLowering, Key};
use crate::field::types::FieldTypes;
use cembra_vm::value::{NdType, QType};
use hashbrown::{HashMap, HashSet};

/// Additions a point that a temporary has to save.
const LEAST_SAVED: usize = 12;

/// The same on boxes of many points.
const LEAST_SAVED_FAR: usize = 32;

/// Points whose values are far.
const FAR_POINTS: usize = 1 << 20;

/// Additions that a division or a square root takes as long as, and those of a longer function.
const LONG: usize = 8;
const LONGEST: usize = 20;

/// Operations, shifts and leaves of a value that are looked at.
const MOST_SEEN: usize = 64;

/// Temporaries of a stage.
const MOST_TEMPORARIES: usize = 16;

/// The operations of a lowered box that are worth being kept, operands first.
pub(crate) fn worth_keeping(lowering: &BoxLowering<'_>) -> Vec<FieldNodeId> {
    let mut places: HashMap<FieldNodeId, HashSet<PlaceId>> = HashMap::new();
    for (id, place) in lowering.done.keys() {
        places.entry(*id).or_default().insert(*place);
    }
    if places.values().all(|places| places.len() < 2) {
        return Vec::new();
    }
    let mut ids: Vec<FieldNodeId> = places.keys().copied().collect();
    ids.sort_unstable();
    let program = lowering.program;
    let nodes = |id: FieldNodeId| program.nodes.get(id);
    let mut plain: HashSet<FieldNodeId> = HashSet::new();
    let mut users: HashMap<FieldNodeId, Vec<FieldNodeId>> = HashMap::new();
    for id in &ids {
        let is_plain = is_plain(program, lowering.types, *id)
            && nodes(*id).operands().all(|operand| plain.contains(&operand));
        if is_plain {
            plain.insert(*id);
        }
        for operand in nodes(*id).operands() {
            let of_operand = users.entry(operand).or_default();
            if !of_operand.contains(id) {
                of_operand.push(*id);
            }
        }
    }
    let goes_on = |id: FieldNodeId| match users.get(&id).map(Vec::as_slice) {
        Some([user]) => {
            plain.contains(user) && is_operation(nodes(*user)) && places.get(user) == places.get(&id)
        }
        _ => false,
    };
    let points = lowering.ranges.iter().fold(1usize, |points, range| points.saturating_mul(range.len()));
    let least = if points < FAR_POINTS { LEAST_SAVED } else { LEAST_SAVED_FAR };
    let mut chosen: Vec<FieldNodeId> = Vec::new();
    for id in ids.iter().copied().filter(|id| plain.contains(id) && !goes_on(*id)) {
        let at = &places[&id];
        let saved = (at.len() - 1) * additions(program, id, &chosen);
        let varies = at.iter().all(|place| lowering.is_plain_place(*place));
        if saved >= least && varies && is_operation(nodes(id)) && chosen.len() < MOST_TEMPORARIES {
            chosen.push(id);
        }
    }
    chosen
}

/// True for operations on numbers that never raise.
fn is_plain(program: &FieldProgram, types: &FieldTypes, id: FieldNodeId) -> bool {
    match program.nodes.get(id) {
        FieldNode::Literal(_)
        | FieldNode::Scalar(_)
        | FieldNode::Field(_)
        | FieldNode::Shift(..)
        | FieldNode::Broadcast(..)
        | FieldNode::Where(..) => true,
        FieldNode::Unary(op, _) => *op != FieldUnary::Gamma,
        // A remainder of integers raises if the divisor is zero.
        FieldNode::Binary(FieldBinary::Fmod, a, _) => types.get(*a).is_some_and(|of| is_float(of.dtype)),
        FieldNode::Binary(op, ..) => !matches!(op, FieldBinary::FloorDiv | FieldBinary::Mod),
        FieldNode::Cast(a, dtype) => {
            let from = types.get(*a).map(|of| of.dtype);
            from.is_some_and(|from| has_all(*dtype, from))
        }
        FieldNode::Carry(..)
        | FieldNode::Gather(..)
        | FieldNode::ShiftAll(..)
        | FieldNode::Column(..)
        | FieldNode::Reduce(..)
        | FieldNode::ConcatWhere(..) => false,
    }
}

fn is_operation(node: &FieldNode) -> bool {
    matches!(node, FieldNode::Unary(..) | FieldNode::Binary(..) | FieldNode::Where(..) | FieldNode::Cast(..))
}

/// Additions that a node takes as long as, without its operands.
fn cost(node: &FieldNode) -> usize {
    match node {
        FieldNode::Unary(op, _) => match op {
            FieldUnary::Neg | FieldUnary::Abs | FieldUnary::Not => 1,
            FieldUnary::Floor | FieldUnary::Ceil | FieldUnary::Trunc => 1,
            FieldUnary::IsNan | FieldUnary::IsInf | FieldUnary::IsFinite => 1,
            FieldUnary::Sqrt => LONG,
            _ => LONGEST,
        },
        FieldNode::Binary(op, ..) => match op {
            FieldBinary::Div => LONG,
            FieldBinary::Pow | FieldBinary::Fmod => LONGEST,
            _ => 1,
        },
        _ => usize::from(is_operation(node)),
    }
}

/// Additions that a value takes as long as, without values that are kept. Nobody asks how many more than some there are.
fn additions(program: &FieldProgram, root: FieldNodeId, kept: &[FieldNodeId]) -> usize {
    let (mut stack, mut seen, mut count) = (vec![root], HashSet::new(), 0);
    while let Some(id) = stack.pop() {
        if id != root && kept.contains(&id) || !seen.insert(id) {
            continue;
        }
        if count >= LEAST_SAVED_FAR || seen.len() > MOST_SEEN {
            break;
        }
        let node = program.nodes.get(id);
        count += cost(node);
        stack.extend(node.operands());
    }
    count
}

impl BoxLowering<'_> {
    /// True if all coordinates of a place are axes of the box.
    fn is_plain_place(&self, place: PlaceId) -> bool {
        let mut coordinates = self.places.coordinates(place).iter();
        coordinates.all(|coordinate| matches!(coordinate, Coordinate::Axis { .. } | Coordinate::Unused))
    }

    /// A temporary where it is needed.
    pub(super) fn read_kept(&mut self, (id, place): Key) -> Result<expr::NodeId, Stop> {
        let of_place: Vec<(usize, i64)> = self
            .places
            .coordinates(place)
            .iter()
            .filter_map(|coordinate| match *coordinate {
                Coordinate::Axis { axis, offset } => Some((axis, offset)),
                _ => None,
            })
            .collect();
        let kept = self.kept.get_mut(&id).expect("the caller looked");
        let mut axes = vec![AxisRead::Absent; self.ranges.len()];
        for (axis, offset) in of_place {
            axes[axis] = AxisRead::Window { place: axis, first: self.ranges[axis].first + offset };
            let (least, most) = kept.offsets[axis].get_or_insert((offset, offset));
            (*least, *most) = ((*least).min(offset), (*most).max(offset));
        }
        let units = axes.iter().map(|axis| *axis == AxisRead::Absent);
        let dtype = held_as(self.types.get(id).expect("the program was checked").dtype);
        let qtype = QType::NdArray(NdType::of_axes(dtype, units).expect("boxes have few axes"));
        let read =
            FieldRead { of: ReadOf::Temporary(kept.number), axes, fixed: Vec::new(), lists: Vec::new() };
        Ok(self.leaf(StageSource::Field(read), qtype)?)
    }
}
