//! The argument `--cache`: how long libraries of `--tier native` are kept.

use crate::cli::build_args::SourceArg;
use crate::native::cache::default_root;
use crate::native::{CompileC, CompileRust, Compiler, NativeBuild, NativeCache, NativeError, Rust};
use clap::ValueEnum;

/// How long libraries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CacheArg {
    /// In the cache folder, for later runs.
    Persistent,
    /// In a folder of this process, which it removes.
    Process,
}

/// The cache for libraries of a language.
///
/// # Errors
/// There is no compiler, or no folder.
pub(super) fn native_cache(cache: CacheArg, backend: SourceArg) -> Result<NativeCache, NativeError> {
    match (cache, backend) {
        (CacheArg::Persistent, SourceArg::C) => NativeCache::new(default_root()?, None),
        (CacheArg::Persistent, SourceArg::Rust) => NativeCache::rust(default_root()?, None),
        (CacheArg::Process, SourceArg::C) => {
            NativeCache::of_process(NativeBuild::c(CompileC::new(Compiler::find(None)?, "")))
        }
        (CacheArg::Process, SourceArg::Rust) => {
            let compiler = Compiler::find_for::<Rust>(None)?;
            NativeCache::of_process(NativeBuild::rust(CompileRust::new(compiler, "")))
        }
    }
}
