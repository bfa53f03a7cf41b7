//! The sequence of a native build, and loading, which is no part of it.

use crate::native::bindings::CBindings;
use crate::native::build_system::BuildSystem;
use crate::native::c::TranslateToC;
use crate::native::compiler::{CompileC, CompileRust, CompileSource, CompiledLanguage};
use crate::native::error::NativeError;
use crate::native::folder::Artifact;
use crate::native::rust::TranslateToRust;
use crate::workflow::{Fingerprint, Fingerprinter, named_sequence};
use cembra_vm::library::Library;

named_sequence! {
    /// From a program to a library on disk. Every step can be replaced.
    #[derive(Clone)]
    pub struct NativeBuild: error NativeError, observer () {
        /// Makes a source of a program.
        translate: Translate = TranslateToC => Translated, "translate", with_translate;
        /// Adds what others call it by.
        bind: Bind = CBindings => Bound, "bind", with_bind;
        /// Makes a library of the source.
        compile: Compile = CompileC => Compiled, "compile", with_compile;
    }
}

impl NativeBuild {
    /// C, with a header and a Python module, compiled as the step says.
    pub fn c(compile: CompileC) -> NativeBuild {
        NativeBuild::new(TranslateToC::default(), CBindings, compile, ())
    }
}

impl NativeBuild<TranslateToRust, CBindings, CompileRust> {
    /// Rust, with the same header and module.
    pub fn rust(compile: CompileRust) -> NativeBuild<TranslateToRust, CBindings, CompileRust> {
        NativeBuild::new(TranslateToRust, CBindings, compile, ())
    }
}

impl<L: CompiledLanguage, T: Clone, B: Clone, S: BuildSystem + Clone> NativeBuild<T, B, CompileSource<L, S>> {
    /// The last step.
    pub fn compiling(&self) -> &CompileSource<L, S> {
        &self.compile
    }

    /// The same build in another folder.
    pub fn in_folder(&self, folder: &std::path::Path) -> NativeBuild<T, B, CompileSource<L, S>> {
        self.clone().with_compile(self.compile.clone().in_folder(folder))
    }
}

/// The steps; not the folder, which results do not depend on.
impl<T: Fingerprint, B: Fingerprint, K: Fingerprint> Fingerprint for NativeBuild<T, B, K> {
    fn feed(&self, to: &mut Fingerprinter) {
        to.group("NativeBuild", &[&self.translate, &self.bind, &self.compile]);
    }
}

/// Loads the library of a build into this process.
///
/// # Errors
/// The file is not the one that was built, or not for this version.
pub fn load(artifact: &Artifact) -> Result<Library, NativeError> {
    Ok(Library::open(&artifact.library(), artifact.digest(), artifact.entry(), artifact.signature())?)
}
