//! Field programs from Rust.
//!
//! ```
//! use cembra::field::FieldBuilder;
//! use cembra::vm::value::ScalarType;
//! # fn main() -> Result<(), Vec<cembra::field::FieldError>> {
//! let b = FieldBuilder::new();
//! let (i, j) = (b.horizontal("I"), b.horizontal("J"));
//! let k = b.scalar("k", ScalarType::Float64);
//! let n = b.scalar("n", ScalarType::Int32);
//! let u = b.output("u", &[i, j], ScalarType::Float64);
//! let lap = (u.shift(i, -1) + u.shift(i, 1) + u.shift(j, -1) + u.shift(j, 1) - u * 4.0).named("lap");
//! let inner = b.bound(1).to(n.bound() - 1);
//! b.store(u, &[(i, inner.clone()), (j, inner)], u + k * lap);
//! let program = b.build()?;
//! assert_eq!(cembra::field::print_field_program(&program).map_err(|e| vec![e.into()])?, "\
//! horizontal I, J
//! output u[I, J]
//! scalar k
//! scalar n: int32
//! lap = u[I-1] + u[I+1] + u[J-1] + u[J+1] - u*4.0
//! u[I=1:n - 1, J=1:n - 1] = u + k*lap
//! ");
//! # Ok(())
//! # }
//! ```
//!
//! Names and values of one builder are copied freely. What is wrong is kept, and reported by [`FieldBuilder::build`].

use crate::field::check::check_program;
use crate::field::dimension::{Dimension, DimensionId, DimensionKind};
use crate::field::element::FieldLiteral;
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::{
    BoundTerm, FieldBinary, FieldBound, FieldId, FieldNode, FieldNodeId, FieldReduction, FieldScalarId,
    FieldUnary, IndexCondition, TableId,
};
use crate::field::program::{
    FieldDeclaration, FieldProgram, FieldRange, FieldRole, FieldScan, FieldStatement, FieldTarget,
    FieldValue, ScalarDeclaration, ScanCarry, ScanDirection, TableDeclaration,
};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::ScalarType;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Builds a program.
#[derive(Debug, Default)]
pub struct FieldBuilder {
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    program: FieldProgram,
    /// The first error; what comes after it is meaningless.
    error: Option<FieldProblem>,
}

/// A value under construction, of one builder; copy it freely.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef<'b> {
    builder: &'b FieldBuilder,
    id: FieldNodeId,
}

/// A range of points under construction: first, and one past the last.
pub type BoundRange = (FieldBound, FieldBound);

/// A target of a scan under construction: an output and its domain.
pub type ScanStore<'b, 'd> = (FieldRef<'b>, &'d [(DimensionId, BoundRange)]);

/// A target under construction: an output, its domain, and its value.
pub type FieldStore<'b, 'd> = (FieldRef<'b>, &'d [(DimensionId, BoundRange)], FieldRef<'b>);

impl FieldBound {
    /// The points from this one up to another one, which is not one of them.
    pub fn to(self, end: impl Into<FieldBound>) -> BoundRange {
        (self, end.into())
    }

    fn joined(mut self, other: FieldBound, term: BoundTerm) -> FieldBound {
        self.0.extend(other.0);
        self.0.push(term);
        self
    }
}

impl From<i32> for FieldBound {
    fn from(value: i32) -> FieldBound {
        FieldBound::literal(i64::from(value))
    }
}

macro_rules! bound_operators {
    ($($trait:ident $method:ident,)*) => {$(
        impl<B: Into<FieldBound>> $trait<B> for FieldBound {
            type Output = FieldBound;

            fn $method(self, other: B) -> FieldBound {
                self.joined(other.into(), BoundTerm::$trait)
            }
        }
    )*};
}

bound_operators! { Add add, Sub sub, Mul mul, }

impl FieldBuilder {
    /// A program without anything.
    pub fn new() -> FieldBuilder {
        FieldBuilder::default()
    }

    fn dimension(&self, name: &str, kind: DimensionKind) -> DimensionId {
        let program = &mut self.state.borrow_mut().program;
        program.dims.push(Dimension { name: name.into(), kind });
        DimensionId(program.dims.len() - 1)
    }

    /// A horizontal dimension.
    pub fn horizontal(&self, name: &str) -> DimensionId {
        self.dimension(name, DimensionKind::Horizontal)
    }

    /// A vertical dimension.
    pub fn vertical(&self, name: &str) -> DimensionId {
        self.dimension(name, DimensionKind::Vertical)
    }

    /// A dimension of columns, for tables that do not have one of their name.
    pub fn local(&self, name: &str) -> DimensionId {
        self.dimension(name, DimensionKind::Local)
    }

    /// A neighbour table with all that it may have: a local dimension of another name, the point of its first row.
    pub fn declare_table(&self, table: TableDeclaration) -> TableId {
        let program = &mut self.state.borrow_mut().program;
        program.tables.push(table);
        TableId(program.tables.len() - 1)
    }

    /// A neighbour table of so many columns, and its local dimension of the same name. `skip` is the entry for a
    /// missing neighbour.
    pub fn table(
        &self,
        name: &str,
        from: DimensionId,
        to: DimensionId,
        width: usize,
        skip: Option<i64>,
    ) -> (TableId, DimensionId) {
        let local = self.local(name);
        let name = name.into();
        let table = TableDeclaration { name, from, to, local, width, skip, origin: 0 };
        (self.declare_table(table), local)
    }

    fn field(&self, name: &str, role: FieldRole, dims: &[DimensionId], dtype: ScalarType) -> FieldRef<'_> {
        let id = {
            let program = &mut self.state.borrow_mut().program;
            let (name, dims) = (name.into(), dims.to_vec());
            let declared =
                FieldDeclaration { name, role, dtype, dims, origin: None, shape: None, fill: None };
            program.fields.push(declared);
            FieldId(program.fields.len() - 1)
        };
        self.node(FieldNode::Field(id))
    }

    /// A field that is read.
    pub fn input(&self, name: &str, dims: &[DimensionId], dtype: ScalarType) -> FieldRef<'_> {
        self.field(name, FieldRole::Input, dims, dtype)
    }

    /// A field that is written, and may be read.
    pub fn output(&self, name: &str, dims: &[DimensionId], dtype: ScalarType) -> FieldRef<'_> {
        self.field(name, FieldRole::Output, dims, dtype)
    }

    /// A scalar of the run.
    pub fn scalar(&self, name: &str, dtype: ScalarType) -> FieldRef<'_> {
        let id = {
            let program = &mut self.state.borrow_mut().program;
            let name = name.into();
            program.scalars.push(ScalarDeclaration { name, dtype, value: None, is_static: false });
            FieldScalarId(program.scalars.len() - 1)
        };
        self.node(FieldNode::Scalar(id))
    }

    /// A number or a truth value.
    pub fn literal(&self, value: impl Into<FieldLiteral>) -> FieldRef<'_> {
        self.node(FieldNode::Literal(value.into()))
    }

    /// A bound of a domain.
    pub fn bound(&self, value: i32) -> FieldBound {
        value.into()
    }

    /// Any operation on values of this builder.
    pub fn node(&self, node: FieldNode) -> FieldRef<'_> {
        let state = &mut *self.state.borrow_mut();
        if !node.operands().all(|id| id.index() < state.program.nodes.len()) {
            state.error.get_or_insert_with(of_another_builder);
            return FieldRef { builder: self, id: FieldNodeId(0) };
        }
        let id = state.program.nodes.add(node, Span::default());
        let id = id.unwrap_or_else(|problem| {
            state.error.get_or_insert(problem);
            FieldNodeId(0)
        });
        FieldRef { builder: self, id }
    }

    /// The number of a value, which has to be one of this builder.
    fn own(&self, value: FieldRef<'_>) -> FieldNodeId {
        if !std::ptr::eq(self, value.builder) {
            self.state.borrow_mut().error.get_or_insert_with(of_another_builder);
        }
        value.id
    }

    /// `where(condition, a, b)`.
    pub fn select<'b>(&'b self, condition: FieldRef<'b>, a: FieldRef<'b>, b: FieldRef<'b>) -> FieldRef<'b> {
        self.node(FieldNode::Where(self.own(condition), self.own(a), self.own(b)))
    }

    /// `concat_where(condition, a, b)`.
    pub fn concat_where<'b>(
        &'b self,
        condition: IndexCondition,
        a: FieldRef<'b>,
        b: FieldRef<'b>,
    ) -> FieldRef<'b> {
        self.node(FieldNode::ConcatWhere(condition, self.own(a), self.own(b)))
    }

    fn target(&self, target: FieldRef<'_>, domain: &[(DimensionId, BoundRange)]) -> Option<FieldTarget> {
        let id = self.own(target);
        let state = &mut *self.state.borrow_mut();
        let Some(FieldNode::Field(field)) = state.program.nodes.find(id) else {
            let what = "a store goes to an output".to_owned();
            state.error.get_or_insert(FieldProblem::Dimensions { what });
            return None;
        };
        let range = |(dimension, (first, end)): &(DimensionId, BoundRange)| FieldRange {
            dimension: *dimension,
            first: first.clone(),
            end: end.clone(),
        };
        let domain = (!domain.is_empty()).then(|| domain.iter().map(range).collect());
        Some(FieldTarget { field: *field, domain })
    }

    fn statement(&self, targets: Vec<FieldTarget>, value: FieldValue) {
        let statements = &mut self.state.borrow_mut().program.statements;
        statements.push(FieldStatement { targets, value, span: Span::default() });
    }

    /// A statement: the value goes to the output on a domain, or on all of it if the domain names no dimension.
    pub fn store<'b>(
        &'b self,
        output: FieldRef<'b>,
        domain: &[(DimensionId, BoundRange)],
        value: FieldRef<'b>,
    ) {
        self.store_all(&[(output, domain, value)]);
    }

    /// A statement of several targets, each with its domain and its value.
    pub fn store_all(&self, stores: &[FieldStore<'_, '_>]) {
        let targets = stores.iter().filter_map(|(output, domain, _)| self.target(*output, domain)).collect();
        let values = stores.iter().map(|(.., value)| self.own(*value)).collect();
        self.statement(targets, FieldValue::Pointwise(values));
    }

    /// A statement: a scan along a dimension. `body` gets what the level before hands on, first the values of
    /// `init`, and gives what goes to the outputs and to the next level.
    pub fn scan<'b>(
        &'b self,
        outputs: &[FieldRef<'b>],
        domain: &[(DimensionId, BoundRange)],
        axis: DimensionId,
        direction: ScanDirection,
        init: &[(&str, impl Into<FieldLiteral> + Clone)],
        body: impl FnOnce(&[FieldRef<'b>]) -> Vec<FieldRef<'b>>,
    ) {
        let stores: Vec<ScanStore<'b, '_>> = outputs.iter().map(|output| (*output, domain)).collect();
        self.scan_all(&stores, axis, direction, init, body);
    }

    /// The same with a domain for each output.
    pub fn scan_all<'b>(
        &'b self,
        stores: &[ScanStore<'b, '_>],
        axis: DimensionId,
        direction: ScanDirection,
        init: &[(&str, impl Into<FieldLiteral> + Clone)],
        body: impl FnOnce(&[FieldRef<'b>]) -> Vec<FieldRef<'b>>,
    ) {
        let carry = init.iter();
        let carry = carry.map(|(name, init)| ScanCarry { name: (*name).into(), init: init.clone().into() });
        let carry: Vec<ScanCarry> = carry.collect();
        let before =
            |(number, carry): (usize, &ScanCarry)| self.node(FieldNode::Carry(number, carry.init.dtype()));
        let before: Vec<FieldRef<'b>> = carry.iter().enumerate().map(before).collect();
        let body = body(&before).iter().map(|value| self.own(*value)).collect();
        let targets = stores.iter().filter_map(|(output, domain)| self.target(*output, domain)).collect();
        self.statement(targets, FieldValue::Scan(FieldScan { axis, direction, carry, body }));
    }

    /// The program, checked.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn build(self) -> Result<FieldProgram, Vec<FieldError>> {
        let State { program, error } = self.state.into_inner();
        if let Some(problem) = error {
            return Err(vec![problem.into()]);
        }
        check_program(&program)?;
        Ok(program)
    }
}

fn of_another_builder() -> FieldProblem {
    FieldProblem::Dimensions { what: "a value of another builder".to_owned() }
}

impl<'b> FieldRef<'b> {
    /// The operation.
    pub fn id(self) -> FieldNodeId {
        self.id
    }

    /// The value at p is that of this one at p plus an offset.
    #[must_use]
    pub fn shift(self, dimension: DimensionId, by: i32) -> FieldRef<'b> {
        self.builder.node(FieldNode::Shift(self.id, vec![(dimension, i64::from(by))]))
    }

    /// The same along several dimensions.
    #[must_use]
    pub fn shift_by(self, offsets: &[(DimensionId, i64)]) -> FieldRef<'b> {
        self.builder.node(FieldNode::Shift(self.id, offsets.to_vec()))
    }

    /// The same value under a name, for texts.
    #[must_use]
    pub fn named(self, name: &str) -> FieldRef<'b> {
        self.builder.state.borrow_mut().program.nodes.set_name(self.id, name);
        self
    }

    /// The value of a scalar as a bound; of anything else an error.
    pub fn bound(self) -> FieldBound {
        let state = &mut *self.builder.state.borrow_mut();
        match state.program.nodes.find(self.id) {
            Some(FieldNode::Scalar(id)) => FieldBound::scalar(*id),
            _ => {
                let what = "a bound is a scalar or an integer".to_owned();
                state.error.get_or_insert(FieldProblem::Dimensions { what });
                FieldBound::literal(0)
            }
        }
    }

    /// A function of one operand.
    #[must_use]
    pub fn unary(self, op: FieldUnary) -> FieldRef<'b> {
        self.builder.node(FieldNode::Unary(op, self.id))
    }

    /// A function of two operands.
    #[must_use]
    pub fn binary(self, op: FieldBinary, other: FieldRef<'b>) -> FieldRef<'b> {
        self.builder.node(FieldNode::Binary(op, self.id, self.builder.own(other)))
    }

    /// The value in another element type.
    #[must_use]
    pub fn cast(self, dtype: ScalarType) -> FieldRef<'b> {
        self.builder.node(FieldNode::Cast(self.id, dtype))
    }

    /// The value along further dimensions.
    #[must_use]
    pub fn broadcast(self, dims: &[DimensionId]) -> FieldRef<'b> {
        self.builder.node(FieldNode::Broadcast(self.id, dims.to_vec()))
    }

    /// The value at a column of a table.
    #[must_use]
    pub fn gather(self, table: TableId, column: usize) -> FieldRef<'b> {
        self.builder.node(FieldNode::Gather(self.id, table, column))
    }

    /// The values at all columns of a table.
    #[must_use]
    pub fn neighbors(self, table: TableId) -> FieldRef<'b> {
        self.builder.node(FieldNode::ShiftAll(self.id, table))
    }

    /// The value at one position of a local dimension.
    #[must_use]
    pub fn column(self, local: DimensionId, column: usize) -> FieldRef<'b> {
        self.builder.node(FieldNode::Column(self.id, local, column))
    }

    /// A reduction over a local dimension.
    #[must_use]
    pub fn reduce(self, op: FieldReduction, local: DimensionId) -> FieldRef<'b> {
        self.builder.node(FieldNode::Reduce(op, self.id, local))
    }
}

impl<'b> FieldRef<'b> {
    /// Changes what is declared.
    pub(super) fn declared(
        self,
        change: impl FnOnce(Declared<'_>) -> Result<(), FieldProblem>,
    ) -> FieldRef<'b> {
        let state = &mut *self.builder.state.borrow_mut();
        let FieldProgram { nodes, fields, scalars, .. } = &mut state.program;
        let declared = match nodes.find(self.id) {
            Some(FieldNode::Field(id)) => fields.get_mut(id.0).map(Declared::Field),
            Some(FieldNode::Scalar(id)) => scalars.get_mut(id.0).map(Declared::Scalar),
            _ => None,
        };
        let declared = declared.unwrap_or(Declared::Nothing);
        if let Err(problem) = change(declared) {
            state.error.get_or_insert(problem);
        }
        self
    }
}

/// What a value stands for, if that is declared.
pub(super) enum Declared<'s> {
    Field(&'s mut FieldDeclaration),
    Scalar(&'s mut ScalarDeclaration),
    Nothing,
}

macro_rules! value_operators {
    ($($trait:ident $method:ident,)*) => {$(
        impl<'b> $trait for FieldRef<'b> {
            type Output = FieldRef<'b>;

            fn $method(self, other: FieldRef<'b>) -> FieldRef<'b> {
                self.binary(FieldBinary::$trait, other)
            }
        }

        impl<'b> $trait<f64> for FieldRef<'b> {
            type Output = FieldRef<'b>;

            fn $method(self, other: f64) -> FieldRef<'b> {
                self.binary(FieldBinary::$trait, self.builder.literal(other))
            }
        }

        impl<'b> $trait<FieldRef<'b>> for f64 {
            type Output = FieldRef<'b>;

            fn $method(self, other: FieldRef<'b>) -> FieldRef<'b> {
                other.builder.literal(self).binary(FieldBinary::$trait, other)
            }
        }
    )*};
}

value_operators! { Add add, Sub sub, Mul mul, Div div, }

impl<'b> Neg for FieldRef<'b> {
    type Output = FieldRef<'b>;

    fn neg(self) -> FieldRef<'b> {
        self.unary(FieldUnary::Neg)
    }
}
