//! Geometry: the points that fields, tables and statements have once scalars and buffers are known.

use crate::field::buffer::{FieldData, TableEntries};
use crate::field::dimension::DimensionId;
use crate::field::element::{dtype_name, held_as, integer_of, is_value_of};
use crate::field::error::{FieldProblem, MissingData};
use crate::field::expression::{
    BoundFault, FieldBound, FieldId, FieldScalarId, IndexComparison, IndexCondition, IndexTerm,
};
use crate::field::points::PointRange;
use crate::field::program::{FieldDeclaration, FieldProgram, FieldTarget};
use crate::field::text::bound_text;
use crate::field::types::has_dtype;
use cembra_vm::value::ScalarValue;

/// What is known of the data when statements are lowered.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldGeometry {
    /// The points of each field, by axis.
    pub extents: Vec<Vec<PointRange>>,
    /// The value of each scalar.
    pub scalars: Vec<ScalarValue>,
    /// The rows of each table.
    pub tables: Vec<TableEntries>,
}

impl FieldGeometry {
    /// The geometry of data for a program, which was checked.
    ///
    /// # Errors
    /// Something is missing, or has another type, another number of axes or other sizes than the program declares.
    pub fn of(program: &FieldProgram, data: &FieldData) -> Result<FieldGeometry, FieldProblem> {
        let wrong = |what: String| FieldProblem::Data { what };
        let mut extents = Vec::new();
        for field in &program.fields {
            let name = &field.name;
            let buffer = data.fields.get(&**name);
            let buffer = buffer.ok_or_else(|| FieldProblem::missing(MissingData::Field, name))?;
            buffer.has_axes_of(field)?;
            has_dtype(&format!("the data of `{name}`"), buffer.dtype(), field.dtype)?;
            let (origin, shape) = (buffer.origin(), buffer.shape());
            if field.shape.as_ref().is_some_and(|declared| declared != shape)
                || field.origin.as_ref().is_some_and(|declared| declared != origin)
            {
                let what = format!("the data of `{name}` has shape {shape:?} from {origin:?}");
                return Err(wrong(format!("{what}, which is not what the program declares")));
            }
            let range =
                |(first, size): (&i64, &usize)| PointRange { first: *first, end: first + *size as i64 };
            extents.push(origin.iter().zip(shape).map(range).collect::<Vec<_>>());
            for (dim, range) in field.dims.iter().zip(&extents[extents.len() - 1]) {
                if program.local_of(field.dim_set()) == Some(*dim) && range.first != 0 {
                    let what = format!("`{name}` begins at {} of {}", range.first, program.dim_name(*dim));
                    return Err(wrong(format!("{what}; a local dimension begins at 0")));
                }
            }
        }
        let mut scalars = Vec::new();
        for scalar in &program.scalars {
            let name = &scalar.name;
            let value = data.scalars.get(&**name).or(scalar.value.as_ref());
            let value = value.ok_or_else(|| FieldProblem::missing(MissingData::Scalar, name))?;
            if !is_value_of(value, scalar.dtype) {
                let (found, expected) = (dtype_name(value.scalar_type()), dtype_name(scalar.dtype));
                return Err(wrong(match integer_of(value, scalar.dtype) {
                    Some(number) if value.scalar_type() == held_as(scalar.dtype) => {
                        format!("the scalar `{name}` is {expected}, and {number} is none")
                    }
                    _ => format!("the scalar `{name}` is {expected} and its value {found}"),
                }));
            }
            scalars.push(value.clone());
        }
        let mut tables = Vec::new();
        for table in &program.tables {
            let (name, width) = (&table.name, table.width);
            let entries = data.tables.get(&**name);
            let entries = entries.ok_or_else(|| FieldProblem::missing(MissingData::Table, name))?;
            if entries.width() != width {
                let found = entries.width();
                return Err(wrong(format!("the table `{name}` has {width} columns and its data {found}")));
            }
            tables.push(entries.clone());
        }
        Ok(FieldGeometry { extents, scalars, tables })
    }

    /// Takes the scalars of data whose sizes, tables and fixed scalars are those that are known; false if something else
    /// is so, or missing.
    pub(crate) fn take_scalars(&mut self, program: &FieldProgram, data: &FieldData, fixed: &[bool]) -> bool {
        let is_as_before = |(field, extents): (&FieldDeclaration, &Vec<PointRange>)| {
            let Some(buffer) = data.fields.get(&*field.name) else { return false };
            let axes = buffer.origin().iter().zip(buffer.shape()).zip(extents);
            buffer.dtype() == field.dtype
                && buffer.shape().len() == extents.len()
                && axes
                    .into_iter()
                    .all(|((first, size), extent)| *first == extent.first && *size == extent.len())
        };
        if !program.fields.iter().zip(&self.extents).all(is_as_before) {
            return false;
        }
        let mut tables = program.tables.iter().zip(&self.tables);
        if !tables.all(|(table, entries)| data.tables.get(&*table.name) == Some(entries)) {
            return false;
        }
        for ((scalar, known), is_fixed) in program.scalars.iter().zip(&mut self.scalars).zip(fixed) {
            let value = data.scalars.get(&*scalar.name).or(scalar.value.as_ref());
            match value {
                Some(value) if is_value_of(value, scalar.dtype) && (!is_fixed || value == known) => {
                    known.clone_from(value);
                }
                _ => return false,
            }
        }
        true
    }

    /// True if what was lowered for this geometry is right for another one.
    pub(crate) fn fits(&self, other: &FieldGeometry, fixed: &[bool]) -> bool {
        let mut scalars = other.scalars.iter().zip(&self.scalars).zip(fixed);
        other.extents == self.extents
            && other.tables == self.tables
            && scalars.all(|((new, old), is_fixed)| !is_fixed || new == old)
    }

    /// The value of a bound along a dimension.
    ///
    /// # Errors
    /// It does not fit 32 bits.
    pub fn bound(
        &self,
        program: &FieldProgram,
        dimension: DimensionId,
        bound: &FieldBound,
    ) -> Result<i64, FieldProblem> {
        let scalar = |id: FieldScalarId| self.scalars.get(id.0).and_then(ScalarValue::as_i64);
        let problem = |fault| match fault {
            BoundFault::TooLarge(value) => FieldProblem::BoundTooLarge {
                bound: bound_text(program, bound),
                dimension: program.dim_name(dimension).to_owned(),
                value,
            },
            BoundFault::NoExpression => {
                let what = format!("a bound on {} is no expression", program.dim_name(dimension));
                FieldProblem::Data { what }
            }
        };
        bound.evaluate(scalar).map_err(problem)
    }

    /// The points that a target is written on, by axis of its field; nothing if there are none.
    ///
    /// # Errors
    /// The field does not have them, or a bound does not fit 32 bits.
    pub fn domain(
        &self,
        program: &FieldProgram,
        target: &FieldTarget,
    ) -> Result<Option<Vec<PointRange>>, FieldProblem> {
        let (field, extents) = (&program.fields[target.field.0], &self.extents[target.field.0]);
        let mut ranges = extents.clone();
        for range in target.domain.iter().flatten() {
            let axis = field.dims.iter().position(|dim| *dim == range.dimension);
            let axis = axis.expect("the program was checked");
            let bound = |bound| self.bound(program, range.dimension, bound);
            ranges[axis] = PointRange { first: bound(&range.first)?, end: bound(&range.end)? };
        }
        if ranges.iter().any(|range| range.is_empty()) {
            return Ok(None);
        }
        for ((range, extent), dim) in ranges.iter().zip(extents).zip(&field.dims) {
            if range.first < extent.first || range.end > extent.end {
                return Err(outside(program, target.field, program.dim_name(*dim), *range, *extent));
            }
        }
        Ok(Some(ranges))
    }

    /// Says where a condition holds: a function of the point, constant between the breaks, which are sorted.
    ///
    /// # Errors
    /// A bound does not fit 32 bits.
    pub fn condition(
        &self,
        program: &FieldProgram,
        condition: &IndexCondition,
    ) -> Result<PointCondition, FieldProblem> {
        let value = |bound| self.bound(program, condition.dimension, bound);
        let mut terms = Vec::new();
        for term in &condition.terms {
            terms.push(match term {
                IndexTerm::Compare(comparison, bound) => PointTerm::Compare(*comparison, value(bound)?),
                IndexTerm::And => PointTerm::And,
                IndexTerm::Or => PointTerm::Or,
            });
        }
        let mut breaks: Vec<i64> = Vec::new();
        for term in &terms {
            if let PointTerm::Compare(_, bound) = term {
                breaks.extend([*bound, bound + 1]);
            }
        }
        breaks.sort_unstable();
        breaks.dedup();
        Ok(PointCondition { terms, breaks })
    }
}

/// The error for points that a field does not have.
pub(crate) fn outside(
    program: &FieldProgram,
    field: FieldId,
    dimension: &str,
    needed: PointRange,
    has: PointRange,
) -> FieldProblem {
    FieldProblem::OutOfDomain {
        field: program.fields[field.0].name.to_string(),
        dimension: dimension.to_owned(),
        needed_first: needed.first,
        needed_end: needed.end,
        first: has.first,
        end: has.end,
    }
}

#[derive(Clone, Copy, Debug)]
enum PointTerm {
    Compare(IndexComparison, i64),
    And,
    Or,
}

/// A condition on points, with the values of its bounds.
#[derive(Clone, Debug)]
pub struct PointCondition {
    terms: Vec<PointTerm>,
    breaks: Vec<i64>,
}

impl PointCondition {
    /// True if it holds at a point.
    pub fn holds(&self, point: i64) -> bool {
        let mut stack: Vec<bool> = Vec::new();
        for term in &self.terms {
            let value = match term {
                PointTerm::Compare(comparison, bound) => match comparison {
                    IndexComparison::Lt => point < *bound,
                    IndexComparison::Le => point <= *bound,
                    IndexComparison::Gt => point > *bound,
                    IndexComparison::Ge => point >= *bound,
                    IndexComparison::Eq => point == *bound,
                    IndexComparison::Ne => point != *bound,
                },
                PointTerm::And | PointTerm::Or => {
                    let (right, left) = (stack.pop().unwrap_or(false), stack.pop().unwrap_or(false));
                    if matches!(term, PointTerm::And) { left && right } else { left || right }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(false)
    }

    /// The first point inside of a range, behind its first one, where the condition changes.
    pub fn change(&self, range: PointRange) -> Option<i64> {
        let inside = self.breaks.iter().copied().filter(|point| range.first < *point && *point < range.end);
        inside.into_iter().find(|point| self.holds(*point) != self.holds(*point - 1))
    }
}
