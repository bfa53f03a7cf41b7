//! Arguments of `cembra schema`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Commands on schemas.
#[derive(Debug, Subcommand)]
pub enum SchemaCommand {
    /// Report everything that is wrong with a schema.
    Check(SchemaCheckArgs),
    /// Report everything that is wrong with a document.
    Validate(SchemaDocumentArgs),
    /// Write a document in another form.
    Convert(SchemaConvertArgs),
    /// Describe a schema, or print it with its imports resolved.
    Doc(SchemaDocArgs),
}

/// A schema.
#[derive(Debug, Args)]
pub struct SchemaFile {
    /// The file of the schema, or `pyast`, `norm`, `ussa`, `tssa`, `low`.
    pub schema: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `schema check`.
#[derive(Debug, Args)]
pub struct SchemaCheckArgs {
    #[command(flatten)]
    /// The schema.
    pub file: SchemaFile,
}

/// Arguments of `schema doc`.
#[derive(Debug, Args)]
pub struct SchemaDocArgs {
    #[command(flatten)]
    /// The schema.
    pub file: SchemaFile,
    /// What to print.
    #[arg(long = "as", value_enum, default_value_t = DocArg::Page)]
    pub what: DocArg,
}

/// What `schema doc` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DocArg {
    /// A page in Markdown.
    Page,
    /// The schema itself, imports resolved, in its canonical form.
    Asdl,
    /// A Rust module with a view for each type.
    Rust,
    /// A Python module with a class for each constructor.
    Python,
}

/// Arguments of `schema validate`.
#[derive(Debug, Args)]
pub struct SchemaDocumentArgs {
    #[command(flatten)]
    /// The schema.
    pub file: SchemaFile,
    /// The file of the document; `-` is standard input.
    pub document: PathBuf,
    /// The form of the document; without it, the first word tells.
    #[arg(long, value_enum)]
    pub from: Option<FormArg>,
    /// The type of the document; without it, the schema's first type.
    #[arg(long, value_name = "TYPE")]
    pub root: Option<String>,
}

/// Arguments of `schema convert`.
#[derive(Debug, Args)]
pub struct SchemaConvertArgs {
    #[command(flatten)]
    /// The document.
    pub document: SchemaDocumentArgs,
    /// The form to write.
    #[arg(long, value_enum, default_value_t = FormArg::Tree)]
    pub to: FormArg,
}

/// Forms of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormArg {
    /// Nested terms.
    Tree,
    /// One line a term.
    Flat,
    /// ATerm, of rewriting tools.
    Aterm,
    /// Rows of unique objects.
    Table,
    /// Calls of opaque functions, as LLVM text.
    Llvm,
    /// Nested terms with `...` for cycles, for reading only.
    Outline,
}
