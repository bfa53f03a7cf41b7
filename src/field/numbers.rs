//! Checks that the numbers in a program lead to its own declarations and operations, and that bounds and conditions are expressions.
//!
//! Texts and JSON name what they mean, so that only programs from Rust can be wrong: one that mixes two builders, or was made as data.

use crate::field::dimension::DimensionId;
use crate::field::error::FieldProblem;
use crate::field::expression::{BoundTerm, FieldBound, FieldNode, FieldNodeId, IndexCondition, IndexTerm};
use crate::field::program::{FieldProgram, FieldScan, FieldStatement, FieldValue};

/// Checks all numbers.
///
/// # Errors
/// The first one that leads nowhere.
pub(super) fn check_numbers(program: &FieldProgram) -> Result<(), FieldProblem> {
    let numbers = Numbers { program };
    for field in &program.fields {
        field.dims.iter().try_for_each(|dim| numbers.dimension(*dim))?;
    }
    for table in &program.tables {
        [table.from, table.to, table.local].into_iter().try_for_each(|dim| numbers.dimension(dim))?;
    }
    program.nodes.iter().try_for_each(|(_, node)| numbers.node(node))?;
    program.statements.iter().try_for_each(|statement| numbers.statement(statement))
}

struct Numbers<'p> {
    program: &'p FieldProgram,
}

/// An error unless a number is below a count.
fn below(role: &'static str, number: usize, count: usize) -> Result<(), FieldProblem> {
    match number < count {
        true => Ok(()),
        false => Err(FieldProblem::UnknownName { role, name: format!("number {number}") }),
    }
}

impl Numbers<'_> {
    fn dimension(&self, id: DimensionId) -> Result<(), FieldProblem> {
        below("dimension", id.0, self.program.dims.len())
    }

    fn node(&self, node: &FieldNode) -> Result<(), FieldProblem> {
        let program = self.program;
        match node {
            FieldNode::Field(id) => below("field", id.0, program.fields.len()),
            FieldNode::Scalar(id) => below("scalar", id.0, program.scalars.len()),
            FieldNode::Shift(_, offsets) => offsets.iter().try_for_each(|(dim, _)| self.dimension(*dim)),
            FieldNode::Broadcast(_, dims) => dims.iter().try_for_each(|dim| self.dimension(*dim)),
            FieldNode::Gather(_, table, _) | FieldNode::ShiftAll(_, table) => {
                below("table", table.0, program.tables.len())
            }
            FieldNode::Reduce(_, _, dim) | FieldNode::Column(_, dim, _) => self.dimension(*dim),
            FieldNode::ConcatWhere(condition, ..) => self.condition(condition),
            _ => Ok(()),
        }
    }

    fn statement(&self, statement: &FieldStatement) -> Result<(), FieldProblem> {
        let program = self.program;
        for target in &statement.targets {
            below("field", target.field.0, program.fields.len())?;
            for range in target.domain.iter().flatten() {
                self.dimension(range.dimension)?;
                [&range.first, &range.end].into_iter().try_for_each(|bound| self.bound(bound))?;
            }
        }
        let roots = statement.value.roots();
        roots.iter().try_for_each(|id| below("operation", id.index(), program.nodes.len()))?;
        match &statement.value {
            FieldValue::Scan(scan) => self.scan(scan),
            FieldValue::Pointwise(_) => Ok(()),
        }
    }

    fn scan(&self, scan: &FieldScan) -> Result<(), FieldProblem> {
        self.dimension(scan.axis)?;
        let carry = |id: FieldNodeId| match *self.program.nodes.get(id) {
            FieldNode::Carry(number, dtype) => {
                below("value that the scan hands on,", number, scan.carry.len())?;
                let (name, expected) = (&scan.carry[number].name, scan.carry[number].init.dtype());
                match dtype == expected {
                    true => Ok(()),
                    false => {
                        let value = format!("what reads `{name}` of a scan");
                        Err(FieldProblem::WrongDtype { value, found: dtype, expected })
                    }
                }
            }
            _ => Ok(()),
        };
        self.program.nodes.needed(&scan.body).into_iter().try_for_each(carry)
    }

    fn bound(&self, bound: &FieldBound) -> Result<(), FieldProblem> {
        bound.scalars().try_for_each(|id| below("scalar", id.0, self.program.scalars.len()))?;
        let is_leaf = |term: &BoundTerm| matches!(term, BoundTerm::Literal(_) | BoundTerm::Scalar(_));
        one_value("a bound", bound.0.iter().map(is_leaf))
    }

    fn condition(&self, condition: &IndexCondition) -> Result<(), FieldProblem> {
        self.dimension(condition.dimension)?;
        for term in &condition.terms {
            if let IndexTerm::Compare(_, bound) = term {
                self.bound(bound)?;
            }
        }
        let is_leaf = |term: &IndexTerm| matches!(term, IndexTerm::Compare(..));
        one_value("a condition", condition.terms.iter().map(is_leaf))
    }
}

/// Checks that terms, leaves and operations on the two values before, leave one value.
fn one_value(what: &str, are_leaves: impl Iterator<Item = bool>) -> Result<(), FieldProblem> {
    let mut values = 0usize;
    for is_leaf in are_leaves {
        values = match (is_leaf, values) {
            (true, _) => values + 1,
            (false, 2..) => values - 1,
            (false, _) => return Err(no_expression(what)),
        };
    }
    if values == 1 { Ok(()) } else { Err(no_expression(what)) }
}

fn no_expression(what: &str) -> FieldProblem {
    FieldProblem::Syntax { what: format!("the terms of {what} are no expression") }
}
