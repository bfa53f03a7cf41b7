//! Arguments of the commands.

use crate::cli::model_args::ModelArgs;
use crate::prepare::{Prepare, RuleSet};
use crate::registry::Dialect;
use cembra_vm::layout::builder::{DEFAULT_FRAME_LIMIT, MAX_FRAME_LIMIT};
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use std::path::PathBuf;

/// Compiles expressions to frames and evaluates them.
#[derive(Debug, Parser)]
#[command(name = "cembra", version, about, max_term_width = 110)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Evaluate an expression, or a file of cases.
    Eval(EvalArgs),
    /// Show how an expression is compiled: stages, program, frame.
    Explain(ExplainArgs),
    /// List the operators, or describe one.
    Ops(OpsArgs),
    /// Check, explain, draw and evaluate models of spectra.
    Model(ModelArgs),
}

/// Where an expression comes from and how it is read.
#[derive(Debug, Args)]
pub struct ExprArgs {
    /// The expression, such as 'math.sqrt(x*x + y*y)'.
    #[arg(required_unless_present_any = ["file", "batch"], allow_hyphen_values = true)]
    pub expr: Option<String>,
    /// Read the expression from a file; `-` is standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "expr")]
    pub file: Option<PathBuf>,
    /// A value of a leaf: x=1.5, n=3, s='text', x:OPTIONAL_FLOAT32=NA.
    #[arg(short, long = "input", value_name = "NAME[:TYPE]=VALUE", allow_hyphen_values = true)]
    pub input: Vec<String>,
    /// What a bare number means, and which casts happen unasked.
    #[arg(long, value_enum, default_value_t = DialectArg::Cembra)]
    pub dialect: DialectArg,
    /// Which rewriting rules the optimizer uses.
    #[arg(long, value_enum, default_value_t = OptimizerArg::Strict)]
    pub optimizer: OptimizerArg,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    /// Limits.
    pub limits: LimitArgs,
}

/// Limits of one expression.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Characters an expression may have.
    #[arg(long, value_name = "N", default_value_t = 100_000, hide_short_help = true)]
    pub limit_text: usize,
    /// Levels of brackets and calls in a text.
    #[arg(long, value_name = "N", default_value_t = 250, hide_short_help = true)]
    pub limit_nesting: usize,
    /// Distinct nodes of an expression.
    #[arg(long, value_name = "N", default_value_t = crate::expr::graph::DEFAULT_NODE_LIMIT, hide_short_help = true)]
    pub limit_nodes: usize,
    /// Bytes of a frame.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_FRAME_LIMIT, value_parser = value_parser!(u32).range(..=i64::from(MAX_FRAME_LIMIT)), hide_short_help = true)]
    pub limit_frame: u32,
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The expression.
    #[command(flatten)]
    pub expr: ExprArgs,
    /// Instructions an evaluation may use.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub fuel: Option<u64>,
    /// Evaluate a file of cases, {"cases": [{"id", "expr", "inputs"}]}, and print one JSON line each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["expr", "file", "input"])]
    pub batch: Option<PathBuf>,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The expression.
    #[command(flatten)]
    pub expr: ExprArgs,
    /// Type of a leaf: x=FLOAT32.
    #[arg(short, long = "type", value_name = "NAME=TYPE")]
    pub types: Vec<String>,
    /// A further result: prod='x*y'.
    #[arg(long = "side-output", value_name = "NAME=EXPR", allow_hyphen_values = true)]
    pub side_outputs: Vec<String>,
    /// What to show.
    #[arg(long, value_enum, default_value_t = Stage::All)]
    pub stage: Stage,
    /// How to show it.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Results may take the bytes of inputs that are no longer needed.
    #[arg(long)]
    pub allow_overriding_input_slots: bool,
    /// Never given: `explain` has no batch.
    #[arg(long, hide = true, value_parser = no_batch)]
    pub batch: Option<PathBuf>,
}

fn no_batch(_: &str) -> Result<PathBuf, &'static str> {
    Err("only `eval` takes a batch")
}

/// Arguments of `ops`.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// An operator, or the beginning of its name.
    pub name: Option<String>,
    /// Print the whole table as Markdown.
    #[arg(long, conflicts_with = "name")]
    pub markdown: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
}

/// Names of the dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DialectArg {
    /// Bare floats are weak, no value is lost in silence.
    Cembra,
    /// Bare floats are FLOAT32, the published casting lattice.
    Arolla,
}

impl DialectArg {
    /// The dialect.
    pub fn dialect(self) -> Dialect {
        match self {
            DialectArg::Cembra => Dialect::Cembra,
            DialectArg::Arolla => Dialect::Arolla,
        }
    }
}

/// Sets of optimizer rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OptimizerArg {
    /// No rule.
    None,
    /// Rules that change no bit.
    Strict,
    /// All rules.
    FastMath,
}

impl OptimizerArg {
    /// The preparation with these rules.
    pub fn prepare(self) -> Prepare {
        match self {
            OptimizerArg::None => Prepare::standard().without_optimizer(),
            OptimizerArg::Strict => Prepare::standard(),
            OptimizerArg::FastMath => Prepare::with_rules(RuleSet::fast_math()),
        }
    }
}

/// What `explain` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// The expression as it was read.
    Expr,
    /// The expression after each step of preparation that changed it.
    Steps,
    /// The prepared expression.
    Prepared,
    /// The program.
    Program,
    /// The program in the form that is stored and reads back.
    Stored,
    /// The frame, byte by byte.
    Layout,
    /// Expression, prepared expression, program and frame.
    All,
}

/// How `explain` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For Graphviz.
    Dot,
}
