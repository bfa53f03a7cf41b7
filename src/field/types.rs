//! Types of operations: an element type and a set of dimensions each, known before any size is.
//!
//! Operands of one operation have one element type, dimensions are joined, and a value has at most one local dimension.

use crate::field::dimension::{DimensionKind, DimensionSet};
use crate::field::element::{FIELD_DTYPES, FieldLiteral, integer_of, is_float};
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::{FieldBinary, FieldBound, FieldNode, FieldNodeId, FieldUnary, TableId};
use crate::field::expression::{IndexCondition, IndexTerm};
use crate::field::program::FieldProgram;
use cembra_vm::value::ScalarType;

/// Terms that a bound or a condition may have.
const MOST_TERMS: usize = 256;

/// What is known of the value of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldNodeType {
    /// The element type.
    pub dtype: ScalarType,
    /// The dimensions along which it varies; none for scalars.
    pub dims: DimensionSet,
    /// True if it depends on what a scan hands on.
    pub is_carried: bool,
}

/// The types of all operations of a program.
#[derive(Clone, Debug, Default)]
pub struct FieldTypes {
    types: Vec<Option<FieldNodeType>>,
}

impl FieldTypes {
    /// The type of an operation; none if it has an error.
    pub fn get(&self, id: FieldNodeId) -> Option<FieldNodeType> {
        self.types.get(id.index()).copied().flatten()
    }

    /// Finds the types of the operations that were added since the last time.
    ///
    /// # Errors
    /// Everything that is wrong with them, each where it is first found.
    pub fn extend(&mut self, program: &FieldProgram) -> Result<(), Vec<FieldError>> {
        let mut errors = Vec::new();
        for index in self.types.len()..program.nodes.len() {
            let id = FieldNodeId(index as u32);
            let node = program.nodes.get(id);
            let known = node.operands().all(|operand| self.get(operand).is_some());
            let found = match known {
                true => self.infer(program, node),
                false => {
                    self.types.push(None);
                    continue;
                }
            };
            match found {
                Ok(found) => self.types.push(Some(found)),
                Err(problem) => {
                    self.types.push(None);
                    errors.push(FieldError::at(problem, program.nodes.span(id)));
                }
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn of(&self, id: FieldNodeId) -> FieldNodeType {
        self.get(id).expect("operands have types")
    }

    fn infer(&self, program: &FieldProgram, node: &FieldNode) -> Result<FieldNodeType, FieldProblem> {
        let leaf = |dtype, dims, is_carried| FieldNodeType { dtype, dims, is_carried };
        match node {
            FieldNode::Literal(value) if !FIELD_DTYPES.contains(&value.dtype()) => {
                Err(not_defined("a literal", value.dtype()))
            }
            FieldNode::Literal(value) => Ok(leaf(value.dtype(), DimensionSet::default(), false)),
            FieldNode::Scalar(id) => Ok(leaf(program.scalars[id.0].dtype, DimensionSet::default(), false)),
            FieldNode::Field(id) => {
                let field = &program.fields[id.0];
                Ok(leaf(field.dtype, field.dim_set(), false))
            }
            FieldNode::Carry(_, dtype) => Ok(leaf(*dtype, DimensionSet::default(), true)),
            FieldNode::Unary(op, a) => {
                let of = self.of(*a);
                match unary_takes(*op, of.dtype) {
                    true if is_predicate(*op) => Ok(FieldNodeType { dtype: ScalarType::Boolean, ..of }),
                    true => Ok(of),
                    false => Err(not_defined(op.name(), of.dtype)),
                }
            }
            FieldNode::Binary(op, left, right) => {
                let (a, b) = (self.of(*left), self.of(*right));
                same_dtype(binary_symbol(*op), a.dtype, b.dtype)?;
                let exponent = |literal: &FieldLiteral| integer_exponent(literal).is_some();
                let is_power = *op == FieldBinary::Pow
                    && matches!(program.nodes.get(*right), FieldNode::Literal(literal) if exponent(literal));
                if !binary_takes(*op, a.dtype) && !is_power {
                    return Err(not_defined(binary_symbol(*op), a.dtype));
                }
                let dtype = if is_truth(*op) { ScalarType::Boolean } else { a.dtype };
                joined(program, dtype, &[a, b])
            }
            FieldNode::Where(c, a, b) => {
                let (c, a, b) = (self.of(*c), self.of(*a), self.of(*b));
                has_dtype("the condition of where", c.dtype, ScalarType::Boolean)?;
                same_dtype("where", a.dtype, b.dtype)?;
                joined(program, a.dtype, &[c, a, b])
            }
            FieldNode::Cast(_, dtype) if !FIELD_DTYPES.contains(dtype) => Err(not_defined("a cast", *dtype)),
            FieldNode::Cast(a, dtype) => Ok(FieldNodeType { dtype: *dtype, ..self.of(*a) }),
            FieldNode::Shift(a, offsets) => {
                let of = self.not_carried(*a, "a shift")?;
                for (dim, by) in offsets {
                    if i32::try_from(*by).is_err() {
                        let what = format!("a shift by {by} along {}", program.dim_name(*dim));
                        return Err(FieldProblem::Limit { limit: "field-shift", what });
                    }
                    if program.dim_kind(*dim) == DimensionKind::Local {
                        let what = format!("a shift along the local dimension {}", program.dim_name(*dim));
                        return Err(FieldProblem::LocalDimension { what });
                    }
                    if !of.dims.contains(*dim) {
                        let (dim, dims) = (program.dim_name(*dim), program.dim_names(of.dims));
                        let what = format!("a shift along {dim} of a value with the dimensions {dims}");
                        return Err(FieldProblem::Dimensions { what });
                    }
                }
                Ok(of)
            }
            FieldNode::Broadcast(a, dims) => {
                let of = self.not_carried(*a, "broadcast")?;
                let all: DimensionSet = dims.iter().copied().collect();
                if !of.dims.is_subset(all) {
                    let (old, new) = (program.dim_names(of.dims), program.dim_names(all));
                    let what = format!("broadcast to {new} of a value with the dimensions {old}");
                    return Err(FieldProblem::Dimensions { what });
                }
                one_local(program, all)?;
                Ok(FieldNodeType { dims: all, ..of })
            }
            FieldNode::Gather(a, table, column) => {
                let declared = &program.tables[table.0];
                if *column >= declared.width {
                    let (table, width) = (declared.name.to_string(), declared.width);
                    return Err(FieldProblem::TableColumn { table, width, column: *column });
                }
                self.gathered(program, *a, *table)
            }
            FieldNode::ShiftAll(a, table) => {
                let of = self.gathered(program, *a, *table)?;
                if let Some(local) = program.local_of(of.dims) {
                    let (local, table) = (program.dim_name(local), &program.tables[table.0].name);
                    let what =
                        format!("neighbours by `{table}` of a value that has the local dimension {local}");
                    return Err(FieldProblem::LocalDimension { what });
                }
                Ok(FieldNodeType { dims: of.dims.with(program.tables[table.0].local), ..of })
            }
            FieldNode::Column(a, local, column) => {
                let of = self.not_carried(*a, "a column")?;
                let name = program.dim_name(*local);
                if program.dim_kind(*local) != DimensionKind::Local || !of.dims.contains(*local) {
                    let dims = program.dim_names(of.dims);
                    let what = format!("a column of {name} of a value with the dimensions {dims}");
                    return Err(FieldProblem::LocalDimension { what });
                }
                if let Some(table) = program.table_of(*local).map(|table| &program.tables[table.0])
                    && *column >= table.width
                {
                    let (table, width) = (table.name.to_string(), table.width);
                    return Err(FieldProblem::TableColumn { table, width, column: *column });
                }
                Ok(FieldNodeType { dims: of.dims.without(*local), ..of })
            }
            FieldNode::Reduce(op, a, local) => {
                let of = self.not_carried(*a, op.name())?;
                let name = program.dim_name(*local);
                if program.dim_kind(*local) != DimensionKind::Local || program.table_of(*local).is_none() {
                    let what = format!("{} over {name}, which is no local dimension of a table", op.name());
                    return Err(FieldProblem::LocalDimension { what });
                }
                if !of.dims.contains(*local) {
                    let dims = program.dim_names(of.dims);
                    let what = format!("{} over {name} of a value with the dimensions {dims}", op.name());
                    return Err(FieldProblem::LocalDimension { what });
                }
                let table = program.table_of(*local).expect("it was found");
                let from = program.tables[table.0].from;
                if !of.dims.contains(from) {
                    let what = format!(
                        "{} over {name} of a value without the dimension {} of the rows",
                        op.name(),
                        program.dim_name(from)
                    );
                    return Err(FieldProblem::LocalDimension { what });
                }
                match of.dtype == ScalarType::Boolean {
                    true => Err(not_defined(op.name(), of.dtype)),
                    false => Ok(FieldNodeType { dims: of.dims.without(*local), ..of }),
                }
            }
            FieldNode::ConcatWhere(condition, a, b) => {
                let (a, b) = (self.not_carried(*a, "concat_where")?, self.not_carried(*b, "concat_where")?);
                same_dtype("concat_where", a.dtype, b.dtype)?;
                check_condition(program, condition)?;
                let of = joined(program, a.dtype, &[a, b])?;
                Ok(FieldNodeType { dims: of.dims.with(condition.dimension), ..of })
            }
        }
    }

    fn not_carried(&self, id: FieldNodeId, operation: &str) -> Result<FieldNodeType, FieldProblem> {
        let of = self.of(id);
        match of.is_carried {
            true => {
                let what = format!("{operation} of what a scan hands on from level to level");
                Err(FieldProblem::Scan { what })
            }
            false => Ok(of),
        }
    }

    /// The type of a value at neighbours.
    fn gathered(
        &self,
        program: &FieldProgram,
        id: FieldNodeId,
        table: TableId,
    ) -> Result<FieldNodeType, FieldProblem> {
        let of = self.not_carried(id, "a read at neighbours")?;
        let table = &program.tables[table.0];
        let wrong = |what: &str| {
            let what = format!("`{}` reads {what}: it has {}", table.name, program.dim_names(of.dims));
            FieldProblem::Dimensions { what }
        };
        if !of.dims.contains(table.to) {
            let to = program.dim_name(table.to);
            return Err(wrong(&format!("a value without the dimension {to}")));
        }
        if table.from != table.to && of.dims.contains(table.from) {
            let from = program.dim_name(table.from);
            return Err(wrong(&format!("a value that already has the dimension {from}")));
        }
        Ok(FieldNodeType { dims: of.dims.without(table.to).with(table.from), ..of })
    }
}

fn not_defined(operation: &str, dtype: ScalarType) -> FieldProblem {
    FieldProblem::NotDefined { operation: operation.to_owned(), dtype }
}

/// Checks that a value has the element type of its place.
pub(crate) fn has_dtype(value: &str, found: ScalarType, expected: ScalarType) -> Result<(), FieldProblem> {
    match found == expected {
        true => Ok(()),
        false => Err(FieldProblem::WrongDtype { value: value.to_owned(), found, expected }),
    }
}

/// Checks that the element types of operands are equal.
fn same_dtype(operation: &str, left: ScalarType, right: ScalarType) -> Result<(), FieldProblem> {
    match left == right {
        true => Ok(()),
        false => Err(FieldProblem::DtypeMismatch { operation: operation.to_owned(), left, right }),
    }
}

fn joined(
    program: &FieldProgram,
    dtype: ScalarType,
    of: &[FieldNodeType],
) -> Result<FieldNodeType, FieldProblem> {
    let dims = of.iter().fold(DimensionSet::default(), |dims, of| dims.union(of.dims));
    one_local(program, dims)?;
    Ok(FieldNodeType { dtype, dims, is_carried: of.iter().any(|of| of.is_carried) })
}

/// Checks that there is at most one local dimension.
pub(crate) fn one_local(program: &FieldProgram, dims: DimensionSet) -> Result<(), FieldProblem> {
    let mut locals = dims.iter().filter(|id| program.dim_kind(*id) == DimensionKind::Local);
    match (locals.next(), locals.next()) {
        (Some(first), Some(second)) => {
            let (first, second) = (program.dim_name(first), program.dim_name(second));
            let what = format!("a value with two local dimensions, {first} and {second}");
            Err(FieldProblem::LocalDimension { what })
        }
        _ => Ok(()),
    }
}

/// Checks that a bound reads int32 scalars.
pub(crate) fn check_bound(program: &FieldProgram, bound: &FieldBound) -> Result<(), FieldProblem> {
    at_most(bound.0.len(), MOST_TERMS)?;
    let mut scalars = bound.scalars().map(|id| &program.scalars[id.0]);
    match scalars.find(|scalar| scalar.dtype != ScalarType::Int32) {
        Some(scalar) => {
            let value = format!("the scalar `{}` in a bound", scalar.name);
            has_dtype(&value, scalar.dtype, ScalarType::Int32)
        }
        None => Ok(()),
    }
}

fn at_most(count: usize, most: usize) -> Result<(), FieldProblem> {
    match count > most {
        true => {
            let what = format!("a bound or a condition of {count} terms; at most {most} are allowed");
            Err(FieldProblem::Limit { limit: "field-terms", what })
        }
        false => Ok(()),
    }
}

fn check_condition(program: &FieldProgram, condition: &IndexCondition) -> Result<(), FieldProblem> {
    at_most(condition.terms.len(), MOST_TERMS)?;
    if program.dim_kind(condition.dimension) == DimensionKind::Local {
        let what = format!("concat_where on the local dimension {}", program.dim_name(condition.dimension));
        return Err(FieldProblem::LocalDimension { what });
    }
    condition.terms.iter().try_for_each(|term| match term {
        IndexTerm::Compare(_, bound) => check_bound(program, bound),
        _ => Ok(()),
    })
}

fn is_number(dtype: ScalarType) -> bool {
    dtype != ScalarType::Boolean
}

fn unary_takes(op: FieldUnary, dtype: ScalarType) -> bool {
    match op {
        FieldUnary::Not => dtype == ScalarType::Boolean,
        FieldUnary::Neg | FieldUnary::Abs => is_number(dtype),
        _ => is_float(dtype),
    }
}

/// Greatest exponent of a power of integers, which is made of at most 40 products.
const GREATEST_EXPONENT: i128 = 1 << 20;

/// The exponent of a power of integers: a number that is written there, from 0 to [`GREATEST_EXPONENT`].
pub(crate) fn integer_exponent(literal: &FieldLiteral) -> Option<u32> {
    let exponent = integer_of(literal.value(), literal.dtype())?;
    u32::try_from(exponent).ok().filter(|exponent| i128::from(*exponent) <= GREATEST_EXPONENT)
}

/// True for functions of a number whose result is a truth value.
fn is_predicate(op: FieldUnary) -> bool {
    matches!(op, FieldUnary::IsNan | FieldUnary::IsInf | FieldUnary::IsFinite)
}

fn binary_takes(op: FieldBinary, dtype: ScalarType) -> bool {
    match op {
        FieldBinary::Add | FieldBinary::Sub | FieldBinary::Mul | FieldBinary::Min | FieldBinary::Max => {
            is_number(dtype)
        }
        FieldBinary::Fmod => is_number(dtype),
        FieldBinary::Div | FieldBinary::Pow => is_float(dtype),
        FieldBinary::FloorDiv | FieldBinary::Mod => is_number(dtype) && !is_float(dtype),
        FieldBinary::Lt | FieldBinary::Le | FieldBinary::Gt | FieldBinary::Ge => is_number(dtype),
        FieldBinary::Eq | FieldBinary::Ne => true,
        FieldBinary::And | FieldBinary::Or | FieldBinary::Xor => dtype == ScalarType::Boolean,
    }
}

/// True for operations whose result is a truth value.
fn is_truth(op: FieldBinary) -> bool {
    use FieldBinary::{And, Eq, Ge, Gt, Le, Lt, Ne, Or, Xor};
    matches!(op, Lt | Le | Gt | Ge | Eq | Ne | And | Or | Xor)
}

/// The way an operation of two operands is written in texts.
pub(crate) fn binary_symbol(op: FieldBinary) -> &'static str {
    match op {
        FieldBinary::Add => "+",
        FieldBinary::Sub => "-",
        FieldBinary::Mul => "*",
        FieldBinary::Div => "/",
        FieldBinary::FloorDiv => "//",
        FieldBinary::Mod => "%",
        FieldBinary::Pow => "**",
        FieldBinary::Lt => "<",
        FieldBinary::Le => "<=",
        FieldBinary::Gt => ">",
        FieldBinary::Ge => ">=",
        FieldBinary::Eq => "==",
        FieldBinary::Ne => "!=",
        other => other.name(),
    }
}
