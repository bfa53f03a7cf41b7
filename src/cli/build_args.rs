//! Arguments of `cembra build` and `cembra cache`.

use crate::cli::float_mode_arg::FloatModeArg;
use crate::cli::function_args::SemanticsArgs;
use crate::cli::tier_arg::SourceArg;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Arguments of `build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Files with functions (`.py`), and stored programs, which are functions of the file's name.
    #[arg(required_unless_present = "expressions")]
    pub files: Vec<PathBuf>,
    /// A function of the files with the types of its arguments, such as `dot(f64[:], f64[:])`.
    ///
    /// Types are i64, f64, bool, and arrays of i8 to u64, f32, f64 and bool with a colon for each axis.
    #[arg(short, long = "export", value_name = "FUNCTION(TYPES)")]
    pub exports: Vec<String>,
    /// An expression as a function, such as `axpy='a*x + y'`, whose leaves have the types of `--type`.
    #[arg(short = 'x', long = "expr", value_name = "NAME=EXPR", allow_hyphen_values = true)]
    pub expressions: Vec<String>,
    /// Type of a leaf of all expressions that have it: `a=f64`, `x=f64[:]`, `y=NDARRAY_FLOAT32_N1`.
    #[arg(short, long = "type", value_name = "NAME=TYPE")]
    pub types: Vec<String>,
    /// The folder for the library, its header and its Python module.
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// The library's name; that of the first function if not given.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// How the elements of arrays stand in memory.
    #[arg(long, value_enum, default_value_t = LayoutArg::Contiguous)]
    pub layout: LayoutArg,
    /// The language that functions are written in.
    #[arg(long, value_enum, default_value_t = SourceArg::C)]
    pub backend: SourceArg,
    /// The compiler; of C it is `CEMBRA_CC`, `CC`, cc, clang or gcc if not given, of Rust `CEMBRA_RUSTC`, `RUSTC` or rustc.
    #[arg(long, value_name = "PROGRAM")]
    pub compiler: Option<PathBuf>,
    /// Write `build.sh` and a Makefile too, by which the folder builds again without Cembra.
    #[arg(long, conflicts_with = "source_only")]
    pub makefile: bool,
    /// How often floats are rounded. With `contract`, `a*b + c` of an expression is `math.fma(a, b, c)`, and a C compiler may do
    /// the same with any product: the last bits are its own.
    #[arg(long, value_enum, default_value_t = FloatModeArg::Strict)]
    pub float_mode: FloatModeArg,
    /// Keep what debuggers need.
    #[arg(long)]
    pub debug: bool,
    /// Have a tool lay out the sources: clang-format, or rustfmt.
    #[arg(long)]
    pub format: bool,
    /// Write what each step makes to a folder, one numbered file a stage.
    #[arg(long, value_name = "DIR")]
    pub dump_stages: Option<PathBuf>,
    /// Write the sources, and compile nothing.
    #[arg(long)]
    pub source_only: bool,
    /// How functions are compiled.
    #[command(flatten)]
    pub semantics: SemanticsArgs,
}

/// How elements stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayoutArg {
    /// One after the other, the last axis fastest.
    Contiguous,
    /// Anywhere.
    Strided,
}

/// Commands on the cache of native builds.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the builds, those used last at the end.
    List,
    /// Compare all files with what their builds have noted, and what libraries say of themselves with this version.
    Verify,
    /// Remove all builds.
    Clear,
    /// Print the folder.
    Path,
}
