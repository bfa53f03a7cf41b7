//! Reads of fields: from the place of a leaf to a view of a buffer, and to elements taken by lists.

use crate::expr;
use crate::field::error::FieldProblem;
use crate::field::expression::FieldNode;
use crate::field::geometry::{PointRange, outside};
use crate::field::place::{Coordinate, PointList};
use crate::field::stage::{AxisRead, FieldRead, StageSource};
use crate::field::to_expr::{BoxLowering, Key, Stop};
use cembra_vm::value::{Axes, NdType, QType, ScalarType, Value};

impl BoxLowering<'_> {
    /// A field where it is needed.
    pub(super) fn read(&mut self, (id, place): Key) -> Result<expr::NodeId, Stop> {
        let FieldNode::Field(field) = *self.program.nodes.get(id) else {
            unreachable!("only fields are read")
        };
        let declared = &self.program.fields[field.0];
        let mut read =
            FieldRead { field, axes: vec![AxisRead::Absent; self.ranges.len()], fixed: Vec::new() };
        let mut lists = Vec::new();
        for (at, dim) in declared.dims.iter().enumerate() {
            let extent = self.geometry.extents[field.0][at];
            let has = |range: PointRange| extent.first <= range.first && range.end <= extent.end;
            let needed = match self.places.coordinate(place, *dim) {
                Coordinate::Axis { axis, offset } => {
                    let PointRange { first, end } = self.ranges[axis];
                    read.axes[axis] = AxisRead::Window { place: at, first: first + offset };
                    PointRange { first: first + offset, end: end + offset }
                }
                Coordinate::Fixed(point) => {
                    read.fixed.push((at, point));
                    PointRange { first: point, end: point + 1 }
                }
                Coordinate::List { axis, list } => {
                    read.axes[axis] = AxisRead::Whole { place: at };
                    let list = self.places.points(list);
                    self.check_points(declared.name.as_ref(), list, extent, self.program.dim_name(*dim))?;
                    let places: Vec<i64> = list.points.iter().map(|point| point - extent.first).collect();
                    lists.push((axis, places));
                    continue;
                }
                Coordinate::Unused => unreachable!("a place has the dimensions of its value"),
            };
            if !has(needed) {
                let dim = self.program.dim_name(*dim);
                return Err(outside(self.program, field, dim, needed, extent).into());
            }
        }
        let units = read.axes.iter().map(|axis| *axis == AxisRead::Absent);
        let qtype = QType::NdArray(NdType::of_axes(declared.dtype, units).expect("boxes have few axes"));
        let mut node = self.leaf(StageSource::Field(read), qtype)?;
        for (axis, places) in lists {
            let qtype = NdType::of_axes(ScalarType::Int64, [false]).expect("one axis");
            let places = self.leaf(StageSource::Places(places.into()), QType::NdArray(qtype))?;
            let axes = self.graph.add_literal(Value::Axes(Axes::new([axis]).expect("one axis")))?;
            node = self.apply("nd._take", &[node, places, axes])?;
        }
        Ok(node)
    }

    /// Checks that a field has the points of a list.
    fn check_points(
        &self,
        field: &str,
        list: &PointList,
        extent: PointRange,
        dimension: &str,
    ) -> Result<(), FieldProblem> {
        let is_outside = |point: &i64| *point < extent.first || *point >= extent.end;
        let Some(at) = list.points.iter().position(is_outside) else { return Ok(()) };
        let (field, dimension) = (field.to_owned(), dimension.to_owned());
        Err(match &list.from {
            Some((table, column, rows)) => FieldProblem::TableIndex {
                table: self.program.tables[table.0].name.to_string(),
                row: rows[at],
                column: *column,
                index: list.points[at],
                field,
                dimension,
                first: extent.first,
                end: extent.end,
            },
            None => FieldProblem::OutOfDomain {
                field,
                dimension,
                needed_first: list.points.iter().copied().min().unwrap_or(0),
                needed_end: list.points.iter().copied().max().unwrap_or(0).saturating_add(1),
                first: extent.first,
                end: extent.end,
            },
        })
    }
}
