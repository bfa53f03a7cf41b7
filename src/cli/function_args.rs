//! Arguments of `cembra function`.

use crate::cli::budget_args::BudgetArgs;
use crate::cli::tier_arg::{CacheArg, SourceArg, TierArg};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Commands on functions.
#[derive(Debug, Subcommand)]
pub enum FunctionCommand {
    /// Call a function with arguments, or run a file of recorded calls.
    Run(FunctionRunArgs),
    /// Report everything that is wrong with the functions of a module.
    Check(FunctionCheckArgs),
    /// Print a stage of a function.
    Dump(FunctionDumpArgs),
    /// Say why a variable has its type.
    ExplainType(FunctionExplainArgs),
}

/// How functions are compiled.
#[derive(Debug, Args)]
pub struct SemanticsArgs {
    /// What an integer result does that does not fit 64 bits.
    #[arg(long, value_enum, default_value_t = OverflowArg::Raise)]
    pub overflow: OverflowArg,
    /// What division of floats by zero and arguments outside of a domain do.
    #[arg(long, value_enum, default_value_t = ErrorModelArg::Python)]
    pub error_model: ErrorModelArg,
}

/// What an integer result does that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OverflowArg {
    /// It raises OverflowError.
    Raise,
    /// It wraps around.
    Wrap,
}

/// What arguments outside of a domain do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ErrorModelArg {
    /// They raise, as in Python.
    Python,
    /// They give infinities and NaN, as in numpy.
    Numpy,
}

/// Arguments of `function run`.
#[derive(Debug, Args)]
pub struct FunctionRunArgs {
    /// The file with the functions; `-` is standard input.
    #[arg(required_unless_present = "batch")]
    pub file: Option<PathBuf>,
    /// The function.
    #[arg(required_unless_present_any = ["batch", "from_stage"])]
    pub function: Option<String>,
    /// The file is the text of a stage, as `dump --tree` prints it; its first function is called.
    #[arg(long, value_name = "STAGE", value_enum, conflicts_with_all = ["batch", "function"])]
    pub from_stage: Option<TreeStageArg>,
    /// The arguments, a JSON list: numbers, true, false, null, lists for arrays, {"tuple": [...]}.
    #[arg(long, value_name = "JSON", default_value = "[]", allow_hyphen_values = true)]
    pub args: String,
    /// Run the recorded calls of a JSON file instead; prints a line a call.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "function", "args"])]
    pub batch: Option<PathBuf>,
    /// Write what each step makes to a folder, one numbered file a stage.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["batch", "from_stage"])]
    pub dump_stages: Option<PathBuf>,
    /// Threads for loops over prange; all processors if not given. The result does not depend on it.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// What runs the function; the result does not depend on it.
    #[arg(long, value_enum, default_value_t = TierArg::Interpreter, conflicts_with = "batch")]
    pub tier: TierArg,
    /// The language of `--tier native`.
    #[arg(long, value_enum, default_value_t = SourceArg::C, conflicts_with = "batch")]
    pub backend: SourceArg,
    /// How long libraries of `--tier native` are kept.
    #[arg(long, value_enum, default_value_t = CacheArg::Persistent, conflicts_with = "batch")]
    pub cache: CacheArg,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    /// How the function is compiled.
    pub semantics: SemanticsArgs,
    #[command(flatten)]
    /// What the call may use up.
    pub budget: BudgetArgs,
}

/// Arguments of `function check`.
#[derive(Debug, Args)]
pub struct FunctionCheckArgs {
    /// The file with the functions; `-` is standard input.
    #[arg(required_unless_present = "batch")]
    pub file: Option<PathBuf>,
    /// The file is the text of a stage, as `dump --tree` prints it: its schema, names and rules are checked.
    #[arg(long, value_name = "STAGE", value_enum, conflicts_with = "batch")]
    pub stage: Option<TreeStageArg>,
    /// Check the sources of a JSON file of recorded calls instead; prints a line a source.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub batch: Option<PathBuf>,
    /// Report assignments that nobody reads, too.
    #[arg(long, conflicts_with = "stage")]
    pub notes: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `function explain-type`.
#[derive(Debug, Args)]
pub struct FunctionExplainArgs {
    /// The file with the functions; `-` is standard input.
    pub file: PathBuf,
    /// The function.
    pub function: String,
    /// The variable.
    pub name: String,
    /// Arguments whose types are taken, a JSON list as for `run`.
    #[arg(long, value_name = "JSON", default_value = "[]", allow_hyphen_values = true)]
    pub args: String,
}

/// Arguments of `function dump`.
#[derive(Debug, Args)]
pub struct FunctionDumpArgs {
    /// The file with the functions; `-` is standard input.
    pub file: PathBuf,
    /// The function.
    pub function: String,
    /// Arguments whose types are taken, a JSON list as for `run`.
    #[arg(long, value_name = "JSON", default_value = "[]", allow_hyphen_values = true)]
    pub args: String,
    /// The stage.
    #[arg(long, value_enum, default_value_t = StageArg::Code)]
    pub stage: StageArg,
    /// Print the stage as a tree of its schema, which reads back.
    #[arg(long)]
    pub tree: bool,
    #[command(flatten)]
    /// How the function is compiled.
    pub semantics: SemanticsArgs,
}

/// A stage whose text reads back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TreeStageArg {
    /// Values and phis, without types.
    Ussa,
    /// The same with types.
    Tssa,
    /// Operators of the machine.
    Low,
}

/// A stage of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StageArg {
    /// The syntax tree.
    Pyast,
    /// The normalised tree: statements that do one thing each.
    Norm,
    /// Values and phis, without types.
    Ussa,
    /// The same with types.
    Tssa,
    /// Operators of the machine.
    Low,
    /// The same in fewer instructions.
    Passes,
    /// The program with its frame.
    Code,
    /// The form that is stored.
    Stored,
    /// The machine code that `run --tier jit` runs.
    MachineCode,
    /// The C of `run --tier native`, beside the instructions.
    C,
    /// The same in Rust.
    Rust,
}
