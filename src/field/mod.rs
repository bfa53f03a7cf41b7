//! Field programs: stencils, scans and neighbours on fields with named dimensions.
//!
//! ```text
//! text ────────text──┐                                                        stages: an Expr for each box,
//! JSON ────────json──┼─> FieldProgram ──check──> types ──lower, with sizes──> views of buffers, where results go
//! builder ───────────┘
//! ```
//!
//! A *field* has named dimensions, a first point along each, and elements of one type. A *statement* gives outputs new
//! values on a domain, all of them from the contents before it. Programs are data; [`crate::backend`] runs them.
//!
//! | file | content |
//! | --- | --- |
//! | [`dimension`], [`expression`], [`program`] | the program as data |
//! | [`builder`], `declared` | the program from Rust |
//! | [`text`] | the text: lexer, parser, printer |
//! | [`rust`] | the program as calls of the builder |
//! | [`json`] | the published JSON form |
//! | [`element`] | element types, and what the machine holds them as |
//! | [`types`], [`check`], `numbers` | element types and dimensions, rules that need no sizes |
//! | [`remarks`] | what was hardly meant |
//! | [`halo`], [`span`] | domains and halos by name, before sizes are known |
//! | [`buffer`], [`cells`], [`geometry`] | data; points of fields and domains |
//! | [`written`] | where fields that began without values have some |
//! | [`lower`], [`stage`] | statements as expressions on boxes |

mod arithmetic;
mod bounds;
pub mod buffer;
pub mod builder;
pub mod cells;
pub mod check;
mod declared;
pub mod dimension;
pub mod element;
pub mod error;
pub mod expression;
pub mod geometry;
pub mod halo;
#[cfg(feature = "cli")]
pub mod json;
pub(crate) mod lines;
pub mod lower;
mod numbers;
mod operators;
pub(crate) mod part;
mod place;
mod points;
pub mod program;
mod reads;
pub mod remarks;
pub mod rust;
mod sharing;
pub mod span;
pub mod stage;
mod temporaries;
pub mod text;
mod to_expr;
pub mod types;
pub mod written;

pub use buffer::{FieldBuffer, FieldData, TableEntries};
pub use builder::{BoundRange, FieldBuilder, FieldRef, FieldStore, ScanStore};
pub use cells::FieldCells;
pub use check::check_program;
pub use dimension::{Dimension, DimensionId, DimensionKind, DimensionSet};
pub use element::FieldLiteral;
pub use error::{FieldError, FieldProblem, MissingData};
pub use expression::{
    BoundFault, BoundTerm, FieldBinary, FieldBound, FieldId, FieldNode, FieldNodeId, FieldNodes,
    FieldReduction, FieldScalarId, FieldUnary, IndexComparison, IndexCondition, IndexTerm, TableId,
};
pub use geometry::FieldGeometry;
pub use halo::{DefinitionAccess, FieldAccess, FieldReach, definition_accesses, field_accesses};
pub use lower::{LoweredStatement, lower_program};
pub use points::PointRange;
pub use program::{
    FieldDeclaration, FieldProgram, FieldRange, FieldRole, FieldScan, FieldStatement, FieldTarget,
    FieldValue, ScalarDeclaration, ScanCarry, ScanDirection, TableDeclaration,
};
pub use remarks::field_remarks;
pub use rust::print_field_builder;
pub use span::FieldSpan;
pub use text::{parse_field_program, print_field_program};
pub use types::{FieldNodeType, FieldTypes};
pub use written::WrittenFields;
