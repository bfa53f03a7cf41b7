//! Schemas: a language for the shapes of trees, an extended ASDL, and documents that follow them.
//!
//! ```text
//! text ─parser─> definitions ─import, bind, check─> Schema ─print─> canonical text, hash
//!                                                     │
//! tree, flat ──┐                                      │ names, fields, what a type admits
//! ATerm, table ┼─read─> Document (arena) ─validate────┘
//! LLVM ────────┘           │
//!                          └─ visit, transform, compare, print as any of the forms
//! ```
//!
//! The language is ASDL (Zephyr's, as Python uses it) with
//!
//! | | |
//! | --- | --- |
//! | `@Foo(…)` | a unique object: compared by identity, has a number in texts, may be part of a cycle |
//! | `phi \all_phis` | a hidden field: written and validated, but no child for visitors, not compared |
//! | `type = nbtype` | an alias; a sum may include whole types |
//! | `expr \|= Promote(…)` | further alternatives of a type |
//! | `from python import *` | the types of a module; its names bind late, to what the importing module defines |
//!
//! Every stage of functions has a schema, so that one reader, one printer and one verifier serve them all.
//! Nothing here recurses on the depth of a document.

mod assemble;
pub mod aterm_text;
pub mod bind;
pub mod builtin;
mod check;
pub mod datum_text;
pub mod definition;
pub mod doc;
pub mod document;
pub mod equality;
pub mod error;
pub mod flat_text;
pub mod import;
mod lexer;
pub mod llvm_text;
pub mod model;
mod parser;
pub mod print;
pub mod python_layer;
pub mod rust_layer;
mod scan;
pub mod table_text;
pub mod text_error;
pub mod transform;
pub mod tree_text;
mod typed_operand;
pub mod validate;
pub mod walk;

pub use aterm_text::{aterm_text, read_aterm};
pub use bind::{SchemaReading, parse_schema, read_schema};
pub use builtin::{Builtin, Builtins, Datum, SourcePosition};
pub use definition::Multiplicity;
pub use document::{Document, DocumentError, TermId, TermValue};
pub use error::{SchemaError, SchemaProblem, Severity};
pub use flat_text::{flat_text, read_flat};
pub use llvm_text::{llvm_text, read_llvm};
pub use model::{
    Alternative, Constructor, ConstructorId, FieldDef, Schema, SchemaId, Sort, SortForm, SortId,
};
pub use print::{schema_id, schema_text};
pub use python_layer::python_layer;
pub use rust_layer::rust_layer;
pub use table_text::{read_table, table_text};
pub use text_error::{TextError, TextProblem};
pub use transform::{Edit, TransformError, transform};
pub use tree_text::{read_tree, tree_outline, tree_text};
pub use validate::{Offence, Violation, validate};
