//! Field programs as data: declarations, and statements in their order.

use crate::field::dimension::{Dimension, DimensionId, DimensionKind, DimensionSet};
use crate::field::element::FieldLiteral;
use crate::field::expression::{
    FieldBound, FieldId, FieldNode, FieldNodeId, FieldNodes, FieldScalarId, TableId,
};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{ScalarType, ScalarValue};
use std::sync::Arc;

/// What a program does with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRole {
    /// It is read.
    Input,
    /// It is written, and may be read as well.
    Output,
}

/// A field: named axes with an origin, and elements of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldDeclaration {
    /// Its name.
    pub name: Arc<str>,
    /// What the program does with it.
    pub role: FieldRole,
    /// Type of the elements.
    pub dtype: ScalarType,
    /// Its dimensions in the order of its axes.
    pub dims: Vec<DimensionId>,
    /// First point along each axis, if the program says so.
    pub origin: Option<Vec<i64>>,
    /// Points along each axis, if the program says so.
    pub shape: Option<Vec<usize>>,
    /// What an output starts as where no data is given.
    pub fill: Option<ScalarValue>,
}

impl FieldDeclaration {
    /// Its dimensions as a set.
    pub fn dim_set(&self) -> DimensionSet {
        self.dims.iter().copied().collect()
    }
}

/// A scalar.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarDeclaration {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub dtype: ScalarType,
    /// Its value, unless the data has one, as the machine [holds](crate::field::element::held_as) it.
    pub value: Option<ScalarValue>,
    /// True if it becomes part of the compiled program.
    pub is_static: bool,
}

/// A neighbour table: for each point of one dimension a row of points of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDeclaration {
    /// Its name, which is that of its local dimension.
    pub name: Arc<str>,
    /// The dimension of the rows.
    pub from: DimensionId,
    /// The dimension of the entries.
    pub to: DimensionId,
    /// The dimension of the columns.
    pub local: DimensionId,
    /// Columns of a row.
    pub width: usize,
    /// The entry that stands for a missing neighbour.
    pub skip: Option<i64>,
    /// The point of the first row.
    pub origin: i64,
}

/// A range of points along a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRange {
    /// The dimension.
    pub dimension: DimensionId,
    /// The first point.
    pub first: FieldBound,
    /// One past the last point; without points if it is not above the first.
    pub end: FieldBound,
}

/// What a statement writes to.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldTarget {
    /// An output.
    pub field: FieldId,
    /// The points that are written, a range for each dimension of the output; all of them if it is missing.
    pub domain: Option<Vec<FieldRange>>,
}

/// A value that a scan hands on from level to level.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanCarry {
    /// Its name.
    pub name: Arc<str>,
    /// What it is before the first level.
    pub init: FieldLiteral,
}

/// The order of the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanDirection {
    /// From the first level on.
    Forward,
    /// From the last level on.
    Backward,
}

/// Values that are computed level by level, each from those of the level before.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldScan {
    /// The dimension of the levels.
    pub axis: DimensionId,
    /// Their order.
    pub direction: ScanDirection,
    /// What is handed on; the results too, one for each target.
    pub carry: Vec<ScanCarry>,
    /// The next value of each carry.
    pub body: Vec<FieldNodeId>,
}

/// What a statement computes.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// A value for each target, point by point.
    Pointwise(Vec<FieldNodeId>),
    /// A scan.
    Scan(FieldScan),
}

impl FieldValue {
    /// The values, one for each target.
    pub fn roots(&self) -> &[FieldNodeId] {
        match self {
            FieldValue::Pointwise(roots) => roots,
            FieldValue::Scan(scan) => &scan.body,
        }
    }
}

/// A statement: all values are computed from the contents before it, and then stored.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldStatement {
    /// What is written.
    pub targets: Vec<FieldTarget>,
    /// What is computed.
    pub value: FieldValue,
    /// The place in the text.
    pub span: Span,
}

/// A program on fields.
#[derive(Clone, Debug, Default)]
pub struct FieldProgram {
    /// The dimensions.
    pub dims: Vec<Dimension>,
    /// The neighbour tables.
    pub tables: Vec<TableDeclaration>,
    /// The fields: inputs, then outputs.
    pub fields: Vec<FieldDeclaration>,
    /// The scalars.
    pub scalars: Vec<ScalarDeclaration>,
    /// The operations.
    pub nodes: FieldNodes,
    /// The statements.
    pub statements: Vec<FieldStatement>,
}

impl FieldProgram {
    /// The dimension of a name.
    pub fn dimension(&self, name: &str) -> Option<DimensionId> {
        self.dims.iter().position(|dim| &*dim.name == name).map(DimensionId)
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<FieldId> {
        self.fields.iter().position(|field| &*field.name == name).map(FieldId)
    }

    /// The scalar of a name.
    pub fn scalar(&self, name: &str) -> Option<FieldScalarId> {
        self.scalars.iter().position(|scalar| &*scalar.name == name).map(FieldScalarId)
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.tables.iter().position(|table| &*table.name == name).map(TableId)
    }

    /// The name of a dimension.
    pub fn dim_name(&self, id: DimensionId) -> &str {
        &self.dims[id.0].name
    }

    /// The kind of a dimension.
    pub fn dim_kind(&self, id: DimensionId) -> DimensionKind {
        self.dims[id.0].kind
    }

    /// Dimensions in the order of the axes of a result.
    pub fn in_order(&self, dims: DimensionSet) -> Vec<DimensionId> {
        let mut ordered: Vec<DimensionId> = dims.iter().collect();
        ordered.sort_by_key(|id| (self.dim_kind(*id), self.dims[id.0].name.clone()));
        ordered
    }

    /// The names of dimensions, as messages show them.
    pub fn dim_names(&self, dims: DimensionSet) -> String {
        let names: Vec<&str> = self.in_order(dims).into_iter().map(|id| self.dim_name(id)).collect();
        format!("[{}]", names.join(", "))
    }

    /// The local dimension of a set, if there is one.
    pub fn local_of(&self, dims: DimensionSet) -> Option<DimensionId> {
        dims.iter().find(|id| self.dim_kind(*id) == DimensionKind::Local)
    }

    /// The table whose columns a local dimension has.
    pub fn table_of(&self, local: DimensionId) -> Option<TableId> {
        self.tables.iter().position(|table| table.local == local).map(TableId)
    }

    /// The fields that a statement reads.
    pub fn fields_read(&self, statement: &FieldStatement) -> Vec<FieldId> {
        let mut read = Vec::new();
        for id in self.nodes.needed(statement.value.roots()) {
            if let FieldNode::Field(field) = self.nodes.get(id)
                && !read.contains(field)
            {
                read.push(*field);
            }
        }
        read
    }

    /// The name of a statement's first target.
    pub fn target_name(&self, statement: &FieldStatement) -> &str {
        statement.targets.first().map_or("", |target| &self.fields[target.field.0].name)
    }
}
