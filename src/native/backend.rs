//! Backends: named sets of the steps that make a library.
//!
//! ```text
//! c       TranslateToC     CBindings   CompileC        any program that has a form in C
//! rust    TranslateToRust  CBindings   CompileRust     scalars, tuples and optional values
//! ```
//!
//! A host adds its own by its steps: every [`NativeBuild`] of steps with fingerprints is one.

use crate::native::build::NativeBuild;
use crate::native::build_system::BuildSystem;
use crate::native::compiler::{CompileSource, CompiledLanguage, Compiler};
use crate::native::error::{NativeError, NotTranslated};
use crate::native::folder::Artifact;
use crate::native::observer::{BuildObserver, Told};
use crate::native::stage::{CompilableSource, ProgramCall, ProgramSource};
use crate::workflow::{Fingerprint, Step};
use std::fmt::Debug;
use std::path::Path;

/// The steps from a program to a library, and what they depend on.
pub trait Backend: Fingerprint + Debug + Send + Sync {
    /// The language of its sources.
    fn language(&self) -> &'static str;

    /// Its compiler.
    fn compiler(&self) -> &Compiler;

    /// The flags of the compiler.
    fn flags(&self) -> &[String];

    /// Makes a library in a folder that exists, and tells the observer of each step.
    ///
    /// # Errors
    /// The program has no form in the language, the compiler fails, or files cannot be written.
    fn build(
        &self,
        call: &ProgramCall,
        folder: &Path,
        observer: &dyn BuildObserver,
    ) -> Result<Artifact, NativeError>;
}

impl<L, T, B, S> Backend for NativeBuild<T, B, CompileSource<L, S>>
where
    L: CompiledLanguage,
    T: Step<ProgramCall, Out = ProgramSource<L>, Err = NotTranslated> + Fingerprint + Clone + Send + Sync,
    B: Step<ProgramSource<L>, Out = CompilableSource<L>, Err = NotTranslated>
        + Fingerprint
        + Clone
        + Send
        + Sync,
    S: BuildSystem + Clone + Send + Sync,
{
    fn language(&self) -> &'static str {
        L::NAME
    }

    fn compiler(&self) -> &Compiler {
        self.compiling().compiler()
    }

    fn flags(&self) -> &[String] {
        self.compiling().flags()
    }

    fn build(
        &self,
        call: &ProgramCall,
        folder: &Path,
        observer: &dyn BuildObserver,
    ) -> Result<Artifact, NativeError> {
        self.in_folder(folder).observed_by(Told(observer)).run(call.clone())
    }
}
