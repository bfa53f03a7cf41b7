//! Reads of fields: from the place of a leaf to a view of a buffer, or to elements that lists choose.

use crate::expr;
use crate::field::element::held_as;
use crate::field::error::{FieldProblem, Stop};
use crate::field::expression::{FieldNode, TableId};
use crate::field::geometry::outside;
use crate::field::place::{Coordinate, PointList};
use crate::field::points::PointRange;
use crate::field::stage::{AxisRead, FieldRead, ReadOf, StageSource};
use crate::field::to_expr::{BoxLowering, Key};
use cembra_vm::value::{NdType, QType};

impl BoxLowering<'_> {
    /// A field where it is needed.
    pub(super) fn read(&mut self, (id, place): Key) -> Result<expr::NodeId, Stop> {
        let FieldNode::Field(field) = *self.program.nodes.get(id) else {
            unreachable!("only fields are read")
        };
        let declared = &self.program.fields[field.0];
        let mut read = FieldRead {
            of: ReadOf::Field(field),
            axes: vec![AxisRead::Absent; self.ranges.len()],
            fixed: Vec::new(),
            lists: Vec::new(),
        };
        let written = self.written.filter(|written| written.is_part(field));
        let mut ranges: Vec<Vec<PointRange>> = Vec::new();
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
                    read.axes[axis] = AxisRead::Taken { place: at, list: read.lists.len() };
                    let list = self.places.points(list);
                    self.check_points(declared.name.as_ref(), list, extent, self.program.dim_name(*dim))?;
                    // The points are those of the field, which has fewer than 32 bits count.
                    let positions = list.points.iter().map(|point| (point - extent.first) as u32);
                    read.lists.push(positions.collect());
                    if written.is_some() {
                        ranges.push(runs(&list.points));
                    }
                    continue;
                }
                Coordinate::Unused => unreachable!("a place has the dimensions of its value"),
            };
            if !has(needed) {
                let dim = self.program.dim_name(*dim);
                return Err(outside(self.program, field, dim, needed, extent).into());
            }
            ranges.push(vec![needed]);
        }
        if let Some(written) = written {
            written.check(self.program, field, &ranges)?;
        }
        let units = read.axes.iter().map(|axis| *axis == AxisRead::Absent);
        let qtype =
            QType::NdArray(NdType::of_axes(held_as(declared.dtype), units).expect("boxes have few axes"));
        Ok(self.leaf(StageSource::Field(read), qtype)?)
    }

    /// Checks that a table has these rows.
    pub(super) fn check_rows(&self, table: TableId, rows: &[i64]) -> Result<(), FieldProblem> {
        let (declared, entries) = (&self.program.tables[table.0], &self.geometry.tables[table.0]);
        let has = PointRange { first: declared.origin, end: declared.origin + entries.rows() as i64 };
        match rows.iter().find(|row| **row < has.first || **row >= has.end) {
            None => Ok(()),
            Some(_) => Err(FieldProblem::OutOfDomain {
                field: format!("table {}", declared.name),
                dimension: self.program.dim_name(declared.from).to_owned(),
                needed_first: rows.iter().copied().min().unwrap_or(0),
                needed_end: rows.iter().copied().max().unwrap_or(0).saturating_add(1),
                first: has.first,
                end: has.end,
            }),
        }
    }

    /// The entry of a row that the table has; nothing for a missing neighbour.
    pub(super) fn entry(&self, table: TableId, row: i64, column: usize) -> Option<i64> {
        let declared = &self.program.tables[table.0];
        let entry = self.geometry.tables[table.0].entry((row - declared.origin) as usize, column);
        (declared.skip != Some(entry)).then_some(entry)
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

/// The points of a list as ranges, in order.
fn runs(points: &[i64]) -> Vec<PointRange> {
    let mut points = points.to_vec();
    points.sort_unstable();
    let mut runs: Vec<PointRange> = Vec::new();
    for point in points {
        match runs.last_mut() {
            Some(run) if point <= run.end => run.end = run.end.max(point + 1),
            _ => runs.push(PointRange { first: point, end: point + 1 }),
        }
    }
    runs
}
