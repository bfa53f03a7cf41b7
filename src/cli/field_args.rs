//! Arguments of `cembra field`.

use crate::cli::budget_args::BudgetArgs;
use crate::cli::tier_arg::{CacheArg, SourceArg, TierArg};
use clap::{Args, Subcommand, ValueEnum, value_parser};
use std::path::PathBuf;

/// Commands on field programs.
#[derive(Debug, Subcommand)]
pub enum FieldCommand {
    /// Run a program on the fields of an NPZ file, or a file of recorded cases.
    Run(FieldRunArgs),
    /// Print domains, and how far each statement reads its fields.
    Explain(FieldExplainArgs),
    /// Report everything that is wrong with programs.
    Check(FieldCheckArgs),
    /// Print a program as text, JSON or Rust.
    Convert(FieldConvertArgs),
}

/// Arguments of `field run`.
#[derive(Debug, Args)]
pub struct FieldRunArgs {
    /// The program, as text or JSON; `-` is standard input.
    #[arg(required_unless_present = "batch")]
    pub file: Option<PathBuf>,
    /// The fields, scalars and tables by name; a member `NAME.origin` has the first point of a field.
    #[arg(long, value_name = "NPZ")]
    pub data: Option<PathBuf>,
    /// Where the outputs go; without it they are printed as JSON.
    #[arg(long, value_name = "NPZ")]
    pub out: Option<PathBuf>,
    /// A value of a scalar: k=0.1.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub scalars: Vec<String>,
    /// How often the program runs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub steps: u64,
    /// Two fields that are exchanged between two steps: u:v.
    #[arg(long, value_name = "A:B")]
    pub swap: Vec<String>,
    /// Draw a field on one or two dimensions as it is in the end: u=warm.svg.
    #[arg(long, value_name = "NAME=FILE")]
    pub plot: Vec<String>,
    /// Run the cases of a JSON file instead; prints a line a case.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "data", "out", "scalars", "steps", "swap", "plot"])]
    pub batch: Option<PathBuf>,
    /// Threads that share the points of large boxes; the values are the same.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..))]
    pub threads: u16,
    /// What runs the operations; values and errors are the same.
    #[arg(long, value_enum, default_value_t = TierArg::Interpreter)]
    pub tier: TierArg,
    /// The language of `--tier native`; statements without a form in it run on the interpreter.
    #[arg(long, value_enum, default_value_t = SourceArg::C)]
    pub backend: SourceArg,
    /// How long libraries of `--tier native` are kept.
    #[arg(long, value_enum, default_value_t = CacheArg::Persistent)]
    pub cache: CacheArg,
    /// Write what each step makes to a folder, one numbered file a stage.
    #[arg(long, value_name = "DIR", conflicts_with = "batch")]
    pub dump_stages: Option<PathBuf>,
    /// What all steps or cases may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Print errors as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `field explain`.
#[derive(Debug, Args)]
pub struct FieldExplainArgs {
    /// The program, as text or JSON; `-` is standard input.
    pub file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Draw domains and halos.
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Print what a tier makes of the programs of all statements, on fields of the sizes at hand, and how long each stage takes.
    #[arg(long, value_enum, conflicts_with = "json")]
    pub tier: Option<TierArg>,
    /// The language of `--tier native`.
    #[arg(long, value_enum, default_value_t = SourceArg::C, requires = "tier")]
    pub backend: SourceArg,
    /// How long libraries of `--tier native` are kept.
    #[arg(long, value_enum, default_value_t = CacheArg::Persistent, requires = "tier")]
    pub cache: CacheArg,
    /// The fields and tables for `--tier`, as for `run`.
    #[arg(long, value_name = "NPZ", requires = "tier")]
    pub data: Option<PathBuf>,
    /// A value of a scalar for `--tier`: n=10.
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "tier")]
    pub scalars: Vec<String>,
}

/// Arguments of `field check`.
#[derive(Debug, Args)]
pub struct FieldCheckArgs {
    /// The programs, as text or JSON; `-` is standard input.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `field convert`.
#[derive(Debug, Args)]
pub struct FieldConvertArgs {
    /// The program, as text or JSON; `-` is standard input.
    pub file: PathBuf,
    /// The form that is printed.
    #[arg(long, value_enum)]
    pub to: FieldFormArg,
}

/// A form of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FieldFormArg {
    /// One declaration or statement a line; data is left out.
    Text,
    /// The published JSON form, version 2, with the data that the program had.
    Json,
    /// A function in Rust that makes the program with the builder; data is left out.
    Rust,
}
