//! Arguments of the commands.

use crate::cli::budget_args::BudgetArgs;
use crate::cli::build_args::{BuildArgs, CacheCommand};
use crate::cli::field_args::FieldCommand;
use crate::cli::float_mode_arg::FloatModeArg;
use crate::cli::function_args::FunctionCommand;
use crate::cli::model_args::ModelArgs;
use crate::cli::schema_args::SchemaCommand;
use crate::cli::tier_arg::{CacheArg, SourceArg, TierArg};
use crate::columns::OnError;
use crate::columns::progress::DEFAULT_BATCH_ROWS;
use crate::prepare::{FoldLimits, Prepare, RuleSet};
use crate::registry::Dialect;
use cembra_vm::layout::builder::{DEFAULT_FRAME_LIMIT, MAX_FRAME_LIMIT};
use cembra_vm::value::array::MAX_ROWS;
use cembra_vm::vector::Level;
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use std::path::PathBuf;

/// Compiles expressions to frames and evaluates them.
#[derive(Debug, Parser)]
#[command(name = "cembra", version, about, max_term_width = 110)]
pub struct Arguments {
    /// The best instruction set to use, for comparisons; results do not depend on it
    #[arg(long, value_enum, value_name = "LEVEL", global = true)]
    pub level: Option<LevelArg>,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// An instruction set.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LevelArg {
    /// What every machine of this architecture has.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ, BW and VL.
    Avx512,
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Level {
        match level {
            LevelArg::Baseline => Level::Baseline,
            LevelArg::Avx2 => Level::Avx2,
            LevelArg::Avx512 => Level::Avx512,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Evaluate an expression, or a file of cases.
    Eval(EvalArgs),
    /// Show how an expression is compiled: stages, program, frame.
    Explain(ExplainArgs),
    /// Evaluate expressions for every row of files.
    Run(RunArgs),
    /// List the operators, or describe one.
    Ops(OpsArgs),
    /// Check, explain, draw and evaluate models of spectra.
    Model(ModelArgs),
    /// Evaluate or print a graph of array operations.
    #[command(subcommand)]
    Graph(GraphCommand),
    /// Check schemas; validate and convert documents.
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Call, check and show functions in Python-like text.
    #[command(subcommand)]
    Function(FunctionCommand),
    /// Build functions and programs as a library for C and Python.
    Build(BuildArgs),
    /// Look at the cache of native builds.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Run, check, explain and convert programs on fields: stencils, scans, neighbours.
    #[command(subcommand)]
    Field(FieldCommand),
}

/// Where an expression comes from and how it is read.
#[derive(Debug, Args)]
pub struct ExprArgs {
    /// The expression, such as 'math.sqrt(x*x + y*y)'.
    #[arg(required_unless_present_any = ["file", "instead"], allow_hyphen_values = true)]
    pub expr: Option<String>,
    /// Read the expression from a file; `-` is standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "expr")]
    pub file: Option<PathBuf>,
    /// A value of a leaf: x=1.5, n=3, s='text', x:OPTIONAL_FLOAT32=NA.
    #[arg(short, long = "input", value_name = "NAME[:TYPE]=VALUE", allow_hyphen_values = true)]
    pub input: Vec<String>,
    /// Functions of a Python-like file as operators: of `physics.py` those called `physics.…`.
    #[arg(long, value_name = "FILE")]
    pub functions: Vec<PathBuf>,
    /// What a bare number means, and which casts happen unasked.
    #[arg(long, value_enum, default_value_t = DialectArg::Cembra)]
    pub dialect: DialectArg,
    /// Which rewriting rules the optimizer uses.
    #[arg(long, value_enum, default_value_t = OptimizerArg::Strict)]
    pub optimizer: OptimizerArg,
    /// How often floats are rounded.
    #[arg(long, value_enum, default_value_t = FloatModeArg::Strict)]
    pub float_mode: FloatModeArg,
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
    /// Rows that operators on literals may go over while an expression is compiled.
    #[arg(long, value_name = "N", default_value_t = FoldLimits::default().rows, hide_short_help = true)]
    pub limit_fold_rows: u64,
    /// Bytes of rows and texts that become literals while an expression is compiled.
    #[arg(long, value_name = "BYTES", default_value_t = FoldLimits::default().bytes_kept, hide_short_help = true)]
    pub limit_fold_bytes: u64,
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The expression.
    #[command(flatten)]
    pub expr: ExprArgs,
    /// What an evaluation may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Write what each step makes to a folder, one numbered file a stage.
    #[arg(long, value_name = "DIR", conflicts_with = "instead")]
    pub dump_stages: Option<PathBuf>,
    /// Evaluate a file of cases, {"cases": [{"id", "expr", "inputs"}]}, and print one JSON line each.
    #[arg(id = "instead", long = "batch", value_name = "FILE", conflicts_with_all = ["expr", "file", "input"])]
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
    /// Show what this tier makes of the program instead of a stage, and how long each stage takes.
    #[arg(long, value_enum, conflicts_with_all = ["stage", "format"])]
    pub tier: Option<TierArg>,
    /// The language of `--tier native`.
    #[arg(long, value_enum, default_value_t = SourceArg::C, requires = "tier")]
    pub backend: SourceArg,
    /// How long libraries of `--tier native` are kept.
    #[arg(long, value_enum, default_value_t = CacheArg::Persistent, requires = "tier")]
    pub cache: CacheArg,
    /// Results may take the bytes of inputs that are no longer needed.
    #[arg(long)]
    pub allow_overriding_input_slots: bool,
    /// Write what each step makes to a folder, one numbered file a stage.
    #[arg(long, value_name = "DIR")]
    pub dump_stages: Option<PathBuf>,
    /// Never given: `explain` has no batch.
    #[arg(id = "instead", long = "batch", value_name = "BATCH", hide = true, value_parser = no_batch)]
    pub batch: Option<PathBuf>,
}

fn no_batch(_: &str) -> Result<PathBuf, &'static str> {
    Err("only `eval` takes a batch")
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The expression, or the name of a file `….cembra` with it.
    #[command(flatten)]
    pub expr: ExprArgs,
    /// A file with columns: CSV, TSV, NPY, NPZ; with the feature `columns` Parquet and Arrow IPC; `-` is CSV from standard input.
    #[arg(short, long, value_name = "FILE", required = true)]
    pub data: Vec<PathBuf>,
    /// The file to write, in the format that its name tells; `-` is CSV on standard output.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// A result column: ratio='a / b'. Without it the expression's value is the column `result`.
    #[arg(id = "instead", short = 'e', long = "expr", value_name = "NAME=EXPR", allow_hyphen_values = true)]
    pub named: Vec<String>,
    /// Type of a CSV column: x=FLOAT32.
    #[arg(short, long = "type", value_name = "NAME=TYPE")]
    pub types: Vec<String>,
    /// What happens to a row that cannot be read or computed.
    #[arg(long, value_enum, default_value_t = OnErrorArg::Fail)]
    pub on_error: OnErrorArg,
    /// Print the first rows of the results as a table; without --out, compute no more than these.
    #[arg(long, value_name = "N")]
    pub head: Option<usize>,
    /// Read all rows into memory as one batch, for expressions that do not work row by row.
    #[arg(long, conflicts_with = "batch_rows")]
    pub whole: bool,
    /// Rows that are computed at once.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BATCH_ROWS, value_parser = batch_rows, hide_short_help = true)]
    pub batch_rows: usize,
    /// Rows of a CSV file that tell the types of its columns.
    #[arg(long, value_name = "N", default_value_t = 1000, hide_short_help = true)]
    pub infer_rows: usize,
    /// Print no summary and no progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// What the run may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

fn batch_rows(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rows) if (1..=MAX_ROWS).contains(&rows) => Ok(rows),
        _ => Err(format!("a number from 1 to {MAX_ROWS} is expected")),
    }
}

/// What happens to a row that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnErrorArg {
    /// The run ends, and no file is written.
    Fail,
    /// All results of the row are missing.
    Null,
    /// The row is left out.
    Skip,
}

impl OnErrorArg {
    /// What the driver does.
    pub fn on_error(self) -> OnError {
        match self {
            OnErrorArg::Fail => OnError::Fail,
            OnErrorArg::Null => OnError::Null,
            OnErrorArg::Skip => OnError::Skip,
        }
    }
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
    /// Bare floats are weak; integers become FLOAT64 beside floats, exact up to 2^53, and wrap as INT32 or INT64.
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

impl ExprArgs {
    /// True if there is an expression, and no batch of cases in its place.
    pub fn is_given(&self) -> bool {
        self.expr.is_some() || self.file.is_some()
    }

    /// The preparation with the rules that are asked for.
    pub fn prepare(&self) -> Prepare {
        let rules = match self.optimizer {
            OptimizerArg::None => RuleSet::none(),
            OptimizerArg::Strict => RuleSet::strict(),
            OptimizerArg::FastMath => RuleSet::fast_math(),
        };
        let prepare = match (self.optimizer, self.float_mode) {
            (OptimizerArg::None, FloatModeArg::Strict) => Prepare::standard().without_optimizer(),
            (_, mode) => Prepare::with_rules(mode.rules(rules)),
        };
        let LimitArgs { limit_fold_rows: rows, limit_fold_bytes: bytes_kept, .. } = self.limits;
        prepare.fold_limits(FoldLimits { rows, bytes_kept, ..FoldLimits::default() })
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
    /// Which operators on arrays run together, block by block, and why others do not.
    Regions,
    /// The machine code of regions that run as strips, instruction by instruction.
    Code,
    /// Expression, prepared expression, program, frame and, if there are arrays, regions.
    All,
}

/// How `explain` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For Graphviz: the program, or the stage `expr` or `prepared`.
    Dot,
}

/// What to do with a graph.
#[derive(Debug, Subcommand)]
pub enum GraphCommand {
    /// Evaluate the roots of a graph, or a file of recorded cases.
    Run(GraphRunArgs),
    /// Print a graph.
    Print(GraphPrintArgs),
    /// Show the programs that the machine evaluates a graph with, for the values of a program file.
    Explain(GraphExplainArgs),
}

/// Arguments of `graph run`.
#[derive(Debug, Args)]
pub struct GraphRunArgs {
    /// The graph with its values, as JSON.
    #[arg(required_unless_present = "batch")]
    pub program: Option<PathBuf>,
    /// How the graph is brought into order.
    #[arg(long, value_enum, default_value_t = GraphMode::DagNodes)]
    pub mode: GraphMode,
    /// What evaluates it; by default `step`, or `machine` if `CEMBRA_FLAGS` has `jit`.
    #[arg(long, value_enum)]
    pub backend: Option<BackendArg>,
    /// Threads: for trees that do not need each other (`--mode dag-trees`), or on the machine for large arrays.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Print each node and its value as numpy code instead of the values of the roots; `full` shows large
    /// arrays whole.
    #[arg(long, value_enum, value_name = "DETAIL", num_args = 0..=1, require_equals = true, default_missing_value = "summary")]
    pub trace: Option<TraceArg>,
    /// Print time and bytes of each node.
    #[arg(long)]
    pub profile: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "trace")]
    pub json: bool,
    /// Show what another engine shows; the batch always does.
    #[arg(long, value_enum)]
    pub compat: Option<Compat>,
    /// Evaluate a file of recorded cases, {"cases": [{"name", "engine", "program"}]}, and print one JSON line each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "trace", "profile", "json"])]
    pub batch: Option<PathBuf>,
    /// What the evaluation, or each case of the batch, may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// Arguments of `graph print`.
#[derive(Debug, Args)]
pub struct GraphPrintArgs {
    /// The graph, as JSON.
    pub program: PathBuf,
    /// What to print.
    #[arg(long, value_enum, default_value_t = GraphView::Ir)]
    pub view: GraphView,
    /// Write as another engine does.
    #[arg(long, value_enum)]
    pub compat: Option<Compat>,
}

/// Arguments of `graph explain`.
#[derive(Debug, Args)]
pub struct GraphExplainArgs {
    /// The graph with its values, as JSON.
    pub program: PathBuf,
    /// Keep the values of all nodes, not only of the roots.
    #[arg(long)]
    pub all_values: bool,
    /// What the evaluation may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// How a graph is brought into order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphMode {
    /// Nodes in linear order.
    Nodes,
    /// Nodes behind their placeholders and constants.
    DagNodes,
    /// A tree for each root.
    DagTrees,
}

/// Backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendArg {
    /// One node after the other.
    Step,
    /// Compiled, with equal nodes computed once, and loops over arrays joined.
    Machine,
}

/// How much of large arrays a trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceArg {
    /// The ends of each axis.
    Summary,
    /// All.
    Full,
}

/// Engines whose output can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compat {
    /// The published engine of graphs.
    #[value(name = "dt_model")]
    DtModel,
}

/// Views of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphView {
    /// All nodes, by id.
    Nodes,
    /// What the roots need, each node after its operands.
    Linearized,
    /// A function for each root.
    Trees,
    /// Placeholders, constants and nodes.
    Ir,
    /// A numpy function for each root.
    Functions,
}
