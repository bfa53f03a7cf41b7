//! The backends of `--tier native`, with caches as `--cache` says.

use crate::cli::tier_arg::{CacheArg, SourceArg};
use crate::native::cache::default_root;
use crate::native::{Backends, CompileC, CompileRust, Compiler, NativeBuild, NativeCache, NativeError, Rust};

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

/// The backends of `--backend` by their names.
pub(super) fn native_backends(cache: CacheArg) -> Backends {
    [SourceArg::C, SourceArg::Rust].into_iter().fold(Backends::default(), |backends, source| {
        backends.with_cache(source.name(), move || native_cache(cache, source))
    })
}
