//! From operations on fields to an expression of the machine, for one box of points.
//!
//! ```text
//! out[I=1:5] = x[I-1] + x[I+1]      r0 = x on I 0:4, r1 = x on I 2:6       math.add(r0, r1)
//! ```
//!
//! An operation is lowered once for each place that it is needed at. Shifts and tables end in the reads of fields: a
//! shifted read is a window, and a list of points takes elements. What [`temporaries`](super::temporaries) keeps is read
//! as a field is. Local dimensions are unrolled, column by column, so
//! that sums keep the order of the row. All arrays have the axes of the box; an axis that a value does not vary along is a
//! unit axis.
//!
//! Where a value is needed in some positions only (neighbours that exist, parts of a `concat_where`), the others get the
//! points of a position where it is needed: nothing is read, and nothing raises, that the result does not depend on.

use crate::expr::{self, Graph};
use crate::field::element::held_as;
use crate::field::error::{FieldProblem, Stop};
use crate::field::expression::{
    FieldBinary, FieldNode, FieldNodeId, FieldReduction, FieldUnary, IndexCondition, TableId,
};
use crate::field::geometry::FieldGeometry;
use crate::field::place::{Coordinate, KeptReach, PlaceId, Places, PointList};
use crate::field::points::PointRange;
use crate::field::program::FieldProgram;
use crate::field::stage::{StageInput, StageResult, StageSource};
use crate::field::types::FieldTypes;
use crate::field::written::WrittenFields;
use cembra_vm::builtins::nd::shape;
use cembra_vm::value::budget::Account;
use cembra_vm::value::{NdType, QType, ScalarType, ScalarValue, Value};
use hashbrown::HashMap;
use std::sync::Arc;

/// Operations that a statement may need, on all boxes together.
pub(super) const MOST_LOWERED: usize = 200_000;

/// Points that lists may have, on one box.
const MOST_POINTS: usize = 1 << 26;

/// An operation at a place.
pub(super) type Key = (FieldNodeId, PlaceId);

/// How the values of the operands become that of the operation.
enum Combine {
    /// There are no operands.
    Leaf(expr::NodeId),
    /// The value of the only operand.
    Same,
    /// A choice by truth values.
    Where,
    /// An operation on elements of a type.
    Unary(FieldUnary, ScalarType),
    Binary(FieldBinary, ScalarType),
    /// From an element type to another one.
    Cast(ScalarType, ScalarType),
    /// The first operand where the mask along an axis is true, else the second.
    Masked(usize, Arc<[bool]>),
    /// A reduction; for each operand the positions where it counts, and those where one before it counted. Nothing
    /// stands for all positions.
    Reduce(FieldReduction, ScalarType, usize, Vec<(Positions, Positions)>),
}

/// Positions along an axis of the box; nothing stands for all of them.
type Positions = Option<Arc<[bool]>>;

/// What is left to do for an operation.
struct Pending {
    key: Key,
    operands: Vec<Key>,
    next: usize,
    combine: Combine,
}

/// A box while it is lowered.
pub(crate) struct BoxLowering<'p> {
    pub(super) program: &'p FieldProgram,
    pub(super) types: &'p FieldTypes,
    pub(super) geometry: &'p FieldGeometry,
    /// Where fields have values, unless reads were checked before.
    pub(super) written: Option<&'p WrittenFields>,
    pub(super) ranges: Vec<PointRange>,
    /// The axis of a scan.
    scan: Option<usize>,
    pub graph: Graph,
    pub inputs: Vec<StageInput>,
    /// The element types that casts go to by way of int64.
    pub casts: Vec<ScalarType>,
    leaves: HashMap<StageSource, expr::NodeId>,
    sources: HashMap<expr::NodeId, StageSource>,
    pub(super) places: Places,
    pub(super) done: HashMap<Key, expr::NodeId>,
    /// Operations that are kept as temporaries, with the points around the box that are read, once some are.
    pub(super) kept: HashMap<FieldNodeId, KeptReach>,
    /// Operations that may be lowered.
    most: usize,
    /// Asked before each operation; counts the points of lists, of which so many were charged.
    account: &'p dyn Account,
    charged: usize,
}

impl<'p> BoxLowering<'p> {
    /// A box of points by axis, in a scan with its axis, the operations that may be lowered, and the account that is asked.
    pub fn new(
        program: &'p FieldProgram,
        types: &'p FieldTypes,
        (geometry, written): (&'p FieldGeometry, Option<&'p WrittenFields>),
        ranges: Vec<PointRange>,
        scan: Option<usize>,
        (most, account): (usize, &'p dyn Account),
    ) -> BoxLowering<'p> {
        BoxLowering {
            program,
            types,
            geometry,
            written,
            ranges,
            scan,
            graph: Graph::new(),
            inputs: Vec::new(),
            casts: Vec::new(),
            leaves: HashMap::new(),
            sources: HashMap::new(),
            places: Places::default(),
            done: HashMap::new(),
            kept: HashMap::new(),
            most,
            account,
            charged: 0,
        }
    }

    /// The same for reads that were checked: corners of temporaries may be points that nobody needs.
    pub fn of_checked_reads(self) -> BoxLowering<'p> {
        BoxLowering { written: None, ..self }
    }

    /// Operations that were lowered.
    pub fn count(&self) -> usize {
        self.done.len()
    }

    fn check_kept(&mut self) -> Result<(), FieldProblem> {
        let points = self.places.points_kept;
        if points > MOST_POINTS {
            let what = format!("tables are read at more than {MOST_POINTS} points by one statement");
            return Err(FieldProblem::Limit { limit: "field-points", what });
        }
        let bytes = (points - self.charged) * size_of::<i64>();
        self.charged = points;
        Ok(self.account.charge(bytes as u64)?)
    }

    /// Lowers an operation where the coordinates say.
    pub fn lower(&mut self, root: FieldNodeId, at: Vec<Coordinate>) -> Result<StageResult, Stop> {
        let place = self.places.place(at);
        let root = self.key(root, place);
        let mut stack = vec![self.pending(root)?];
        while let Some(top) = stack.last_mut() {
            self.account.ask().map_err(FieldProblem::from)?;
            if let Some(operand) = top.operands.get(top.next).copied() {
                top.next += 1;
                if !self.done.contains_key(&operand) {
                    stack.push(self.pending(operand)?);
                }
                continue;
            }
            let pending = stack.pop().expect("the loop looks at it");
            let operands: Vec<expr::NodeId> = pending.operands.iter().map(|key| self.done[key]).collect();
            let node = self.combine(&pending.combine, &operands)?;
            self.done.insert(pending.key, node);
            if self.done.len() > self.most {
                let what = format!(
                    "the statement needs more than {MOST_LOWERED} operations; an output can keep intermediates"
                );
                return Err(FieldProblem::Limit { limit: "field-operations", what }.into());
            }
        }
        Ok(self.result(self.done[&root]))
    }

    fn result(&self, node: expr::NodeId) -> StageResult {
        match self.sources.get(&node) {
            Some(StageSource::Field(read)) => StageResult::Read(read.clone()),
            Some(StageSource::Scalar(id)) => StageResult::Scalar(*id),
            Some(StageSource::Carry(number)) => StageResult::Carry(*number),
            _ => match self.graph.value(node) {
                Some(Value::Scalar(value)) => StageResult::Literal(value.clone()),
                _ => StageResult::Node(node),
            },
        }
    }

    /// An operation at the part of a place that it depends on.
    fn key(&mut self, id: FieldNodeId, place: PlaceId) -> Key {
        let dims = self.types.get(id).expect("the program was checked").dims;
        (id, self.places.restricted(place, dims))
    }

    fn dtype(&self, id: FieldNodeId) -> ScalarType {
        self.types.get(id).expect("the program was checked").dtype
    }

    fn pending(&mut self, key: Key) -> Result<Pending, Stop> {
        let (id, place) = key;
        let program = self.program;
        self.check_kept()?;
        let leaf = |node| (Vec::new(), Combine::Leaf(node));
        if self.kept.contains_key(&id) {
            return Ok(Pending {
                key,
                operands: Vec::new(),
                next: 0,
                combine: Combine::Leaf(self.read_kept(key)?),
            });
        }
        let (operands, combine) = match program.nodes.get(id) {
            FieldNode::Literal(value) => leaf(self.literal(value.value())?),
            FieldNode::Scalar(scalar) => match program.scalars[scalar.0].is_static {
                true => leaf(self.literal(&self.geometry.scalars[scalar.0])?),
                false => {
                    let qtype = QType::Scalar(held_as(program.scalars[scalar.0].dtype));
                    leaf(self.leaf(StageSource::Scalar(*scalar), qtype)?)
                }
            },
            FieldNode::Carry(number, dtype) => {
                let qtype = NdType::of_axes(held_as(*dtype), self.ranges.iter().map(|_| false));
                leaf(self.leaf(StageSource::Carry(*number), QType::NdArray(qtype.expect("few axes")))?)
            }
            FieldNode::Field(_) => leaf(self.read(key)?),
            FieldNode::Shift(a, offsets) => {
                let mut shifted = place;
                for (dim, by) in offsets {
                    self.check_kept()?;
                    shifted = self.places.shifted(shifted, *dim, *by);
                }
                (vec![self.key(*a, shifted)], Combine::Same)
            }
            FieldNode::Broadcast(a, _) => (vec![self.key(*a, place)], Combine::Same),
            FieldNode::Unary(op, a) => (vec![self.key(*a, place)], Combine::Unary(*op, self.dtype(*a))),
            FieldNode::Binary(op, a, b) => {
                let operands = vec![self.key(*a, place), self.key(*b, place)];
                (operands, Combine::Binary(*op, self.dtype(*a)))
            }
            FieldNode::Where(c, a, b) => {
                let operands = vec![self.key(*c, place), self.key(*a, place), self.key(*b, place)];
                (operands, Combine::Where)
            }
            FieldNode::Cast(a, dtype) => (vec![self.key(*a, place)], Combine::Cast(self.dtype(*a), *dtype)),
            FieldNode::Gather(a, table, column) => {
                (vec![self.gathered(*a, place, *table, *column)?], Combine::Same)
            }
            FieldNode::ShiftAll(a, table) => {
                let Coordinate::Fixed(column) = self.places.coordinate(place, program.tables[table.0].local)
                else {
                    unreachable!("local dimensions are unrolled");
                };
                let width = program.tables[table.0].width;
                let column = usize::try_from(column).ok().filter(|column| *column < width);
                let column = column.ok_or_else(|| FieldProblem::LocalDimension {
                    what: format!("`{}` has {width} columns", program.tables[table.0].name),
                })?;
                (vec![self.gathered(*a, place, *table, column)?], Combine::Same)
            }
            FieldNode::Column(a, local, column) => {
                let place = self.places.with(place, *local, Coordinate::Fixed(*column as i64));
                (vec![self.key(*a, place)], Combine::Same)
            }
            FieldNode::Reduce(op, a, local) => {
                let table = program.table_of(*local).expect("the program was checked");
                self.reduced(*op, *a, place, table)?
            }
            FieldNode::ConcatWhere(condition, a, b) => self.parts(condition, *a, *b, place)?,
        };
        Ok(Pending { key, operands, next: 0, combine })
    }

    /// The points of a coordinate, one for each position of its axis.
    fn points(&self, coordinate: Coordinate) -> (usize, PointList) {
        match coordinate {
            Coordinate::Axis { axis, offset } => {
                let PointRange { first, end } = self.ranges[axis];
                (axis, PointList { points: (first + offset..end + offset).collect(), from: None })
            }
            Coordinate::List { axis, list } => (axis, self.places.points(list).clone()),
            Coordinate::Fixed(_) | Coordinate::Unused => unreachable!("only local dimensions are fixed"),
        }
    }

    /// A value at a column of a table.
    fn gathered(
        &mut self,
        id: FieldNodeId,
        place: PlaceId,
        table: TableId,
        column: usize,
    ) -> Result<Key, FieldProblem> {
        let declared = &self.program.tables[table.0];
        let (axis, rows) = self.points(self.places.coordinate(place, declared.from));
        self.check_rows(table, &rows.points)?;
        let entry = |row: &i64| {
            self.entry(table, *row, column).ok_or_else(|| FieldProblem::MissingNeighbor {
                table: declared.name.to_string(),
                row: *row,
                column,
            })
        };
        let points = rows.points.iter().map(entry).collect::<Result<Arc<[i64]>, _>>()?;
        let list = self.places.list(PointList { points, from: Some((table, column, rows.points)) });
        let place = self.places.with(place, declared.from, Coordinate::Unused);
        let place = self.places.with(place, declared.to, Coordinate::List { axis, list });
        Ok(self.key(id, place))
    }

    /// A coordinate that has the points of a chosen position where the mask is false.
    fn substituted(&mut self, list: &PointList, axis: usize, mask: &[bool], is: bool) -> Coordinate {
        let chosen = mask.iter().position(|holds| *holds == is).unwrap_or(0);
        let choose = |points: &[i64]| -> Arc<[i64]> {
            let at = |(point, holds): (&i64, &bool)| if *holds == is { *point } else { points[chosen] };
            points.iter().zip(mask).map(at).collect()
        };
        let from = list.from.as_ref().map(|(table, column, rows)| (*table, *column, choose(rows)));
        let list = PointList { points: choose(&list.points), from };
        Coordinate::List { axis, list: self.places.list(list) }
    }

    fn reduced(
        &mut self,
        op: FieldReduction,
        id: FieldNodeId,
        place: PlaceId,
        table: TableId,
    ) -> Result<(Vec<Key>, Combine), FieldProblem> {
        let declared = &self.program.tables[table.0];
        let (axis, rows) = self.points(self.places.coordinate(place, declared.from));
        self.check_rows(table, &rows.points)?;
        let mut seen = vec![false; rows.points.len()];
        let (mut operands, mut steps) = (Vec::new(), Vec::new());
        for column in 0..declared.width {
            self.check_kept()?;
            let counts: Vec<bool> =
                rows.points.iter().map(|row| self.entry(table, *row, column).is_some()).collect();
            if !counts.contains(&true) {
                continue;
            }
            let at = self.places.with(place, declared.local, Coordinate::Fixed(column as i64));
            let at = match counts.contains(&false) {
                false => at,
                true => {
                    let coordinate = self.substituted(&rows, axis, &counts, true);
                    self.places.with(at, declared.from, coordinate)
                }
            };
            operands.push(self.key(id, at));
            let positions = |list: &[bool]| list.contains(&false).then(|| Arc::from(list));
            steps.push((positions(&counts), positions(&seen)));
            seen.iter_mut().zip(&counts).for_each(|(seen, counts)| *seen |= counts);
        }
        if let (FieldReduction::Max | FieldReduction::Min, Some(at)) = (op, seen.iter().position(|s| !s)) {
            let (reduction, table, row) = (op.name(), declared.name.to_string(), rows.points[at]);
            return Err(FieldProblem::NoNeighbor { reduction, table, row });
        }
        Ok((operands, Combine::Reduce(op, self.dtype(id), axis, steps)))
    }

    fn parts(
        &mut self,
        condition: &IndexCondition,
        a: FieldNodeId,
        b: FieldNodeId,
        place: PlaceId,
    ) -> Result<(Vec<Key>, Combine), Stop> {
        let dim = condition.dimension;
        let condition = self.geometry.condition(self.program, condition)?;
        let coordinate = self.places.coordinate(place, dim);
        if let Coordinate::Axis { axis, offset } = coordinate {
            let PointRange { first, end } = self.ranges[axis];
            let range = PointRange { first: first + offset, end: end + offset };
            match (condition.change(range), self.scan) {
                (Some(at), None) => return Err(Stop::Split { axis, at: at - offset }),
                (None, _) if !range.is_empty() => {
                    let part = if condition.holds(range.first) { a } else { b };
                    return Ok((vec![self.key(part, place)], Combine::Same));
                }
                _ => {}
            }
        }
        let (axis, list) = self.points(coordinate);
        let mask: Vec<bool> = list.points.iter().map(|point| condition.holds(*point)).collect();
        if !mask.contains(&false) {
            return Ok((vec![self.key(a, place)], Combine::Same));
        }
        if !mask.contains(&true) {
            return Ok((vec![self.key(b, place)], Combine::Same));
        }
        let mut part = |id, is| {
            let coordinate = self.substituted(&list, axis, &mask, is);
            let place = self.places.with(place, dim, coordinate);
            self.key(id, place)
        };
        Ok((vec![part(a, true), part(b, false)], Combine::Masked(axis, mask.into())))
    }

    pub(super) fn literal(&mut self, value: &ScalarValue) -> Result<expr::NodeId, expr::GraphError> {
        self.graph.add_literal(Value::Scalar(value.clone()))
    }

    pub(super) fn leaf(
        &mut self,
        source: StageSource,
        qtype: QType,
    ) -> Result<expr::NodeId, expr::GraphError> {
        if let Some(node) = self.leaves.get(&source) {
            return Ok(*node);
        }
        let name: Arc<str> = format!("r{}", self.inputs.len()).into();
        let node = self.graph.leaf(&name)?;
        self.inputs.push(StageInput { name, qtype, source: source.clone() });
        self.sources.insert(node, source.clone());
        self.leaves.insert(source, node);
        Ok(node)
    }

    fn mask(&mut self, axis: usize, values: Arc<[bool]>) -> Result<expr::NodeId, expr::GraphError> {
        let units = (0..self.ranges.len()).map(|other| other != axis);
        let qtype = NdType::of_axes(ScalarType::Boolean, units).expect("boxes have few axes");
        self.leaf(StageSource::Mask { axis, values }, QType::NdArray(qtype))
    }

    pub(super) fn apply(
        &mut self,
        operator: &str,
        operands: &[expr::NodeId],
    ) -> Result<expr::NodeId, expr::GraphError> {
        let operator = self.graph.symbol(operator);
        self.graph.apply(operator, operands)
    }

    fn combine(
        &mut self,
        combine: &Combine,
        operands: &[expr::NodeId],
    ) -> Result<expr::NodeId, expr::GraphError> {
        match combine {
            Combine::Leaf(node) => Ok(*node),
            Combine::Same => Ok(operands[0]),
            Combine::Where => self.apply(shape::WHERE, operands),
            Combine::Unary(op, dtype) => self.unary(*op, *dtype, operands[0]),
            Combine::Binary(op, dtype) => self.binary(*op, *dtype, operands),
            Combine::Cast(from, to) => self.cast(*from, *to, operands[0]),
            Combine::Masked(axis, mask) => {
                let mask = self.mask(*axis, mask.clone())?;
                self.apply(shape::WHERE, &[mask, operands[0], operands[1]])
            }
            Combine::Reduce(op, dtype, axis, steps) => {
                let zero = self.literal(&ScalarValue::zero(held_as(*dtype)))?;
                let mut result = (*op == FieldReduction::Sum).then_some(zero);
                for (operand, (counts, seen)) in operands.iter().zip(steps) {
                    let Some(before) = result else {
                        result = Some(*operand);
                        continue;
                    };
                    let mut next = self.reduce(*op, *dtype, &[before, *operand])?;
                    if let (Some(seen), true) = (seen, *op != FieldReduction::Sum) {
                        let seen = self.mask(*axis, seen.clone())?;
                        next = self.apply(shape::WHERE, &[seen, next, *operand])?;
                    }
                    if let Some(counts) = counts {
                        let counts = self.mask(*axis, counts.clone())?;
                        next = self.apply(shape::WHERE, &[counts, next, before])?;
                    }
                    result = Some(next);
                }
                Ok(result.unwrap_or(zero))
            }
        }
    }
}
