//! Why there is no library.

use cembra_vm::library::LibraryError;
use cembra_vm::machine::BindError;
use cembra_vm::program::ValueId;
use std::path::PathBuf;
use thiserror::Error;

/// What a program has that the language of a source has no form for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotTranslated {
    /// The name cannot be that of a function.
    #[error(
        "{name:?} cannot name a function of a library: use letters, digits and _, and no name of C or its library"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// An operator has no rule.
    #[error("routine {routine}, instruction {instruction}: {operator} has no form in {language}")]
    Operator {
        /// The language.
        language: &'static str,
        /// The routine.
        routine: usize,
        /// The instruction.
        instruction: usize,
        /// The operator with its types.
        operator: String,
    },
    /// An argument or result has a type that does not cross the boundary.
    #[error("{what} has the type {qtype}, which a library neither takes nor gives")]
    Type {
        /// Which argument or result.
        what: String,
        /// The type.
        qtype: String,
    },
    /// A value has a type without locals.
    #[error("routine {routine}: {value} has the type {qtype}, which has no form in {language}")]
    Value {
        /// The language.
        language: &'static str,
        /// The routine.
        routine: usize,
        /// The value.
        value: ValueId,
        /// The type.
        qtype: String,
    },
    /// A literal is too large for a source.
    #[error(
        "routine {routine}: the literal {value} has {bytes} bytes, a source in {language} takes {most}: make it an argument"
    )]
    Literal {
        /// The language.
        language: &'static str,
        /// The routine.
        routine: usize,
        /// The literal.
        value: ValueId,
        /// Its bytes.
        bytes: usize,
        /// The bytes that are taken at most.
        most: usize,
    },
    /// An input cannot be fixed.
    #[error("input {name:?} cannot be fixed: {what}")]
    Fixed {
        /// The input.
        name: String,
        /// Why.
        what: String,
    },
    /// Literals cannot be arguments.
    #[error("literals cannot be arguments: the program calls itself without them")]
    Opened,
    /// A call may run in pieces, on several threads.
    #[error("routine {routine} is parallel, which has no form in {language} yet")]
    Parallel {
        /// The language.
        language: &'static str,
        /// The routine.
        routine: usize,
    },
}

/// Why a build gives no library.
#[derive(Clone, Debug, Error)]
pub enum NativeError {
    /// The program has no form in the language.
    #[error(transparent)]
    NotTranslated(#[from] NotTranslated),
    /// There is no compiler.
    #[error("no {language} compiler: {tried}; {hint}")]
    NoCompiler {
        /// The language.
        language: &'static str,
        /// What to do.
        hint: &'static str,
        /// What was tried.
        tried: String,
    },
    /// The compiler says no.
    #[error("{compiler} failed ({status}):\n{log}")]
    Compiler {
        /// The compiler.
        compiler: PathBuf,
        /// How it ended.
        status: String,
        /// What it printed, its end if that is long.
        log: String,
    },
    /// The compiler did not end in time.
    #[error("{compiler} took longer than {seconds} s and was stopped")]
    Time {
        /// The compiler.
        compiler: PathBuf,
        /// The limit.
        seconds: u64,
    },
    /// The compiler ended well, and made something else than the library of the source.
    #[error("{compiler} made no library of {entry}: {error}")]
    OtherLibrary {
        /// The compiler.
        compiler: PathBuf,
        /// The function.
        entry: String,
        /// What is wrong.
        error: LibraryError,
    },
    /// There is no backend of this name.
    #[error("there is no backend {name}: there are {known}")]
    NoBackend {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The machine does not take the program.
    #[error("{name}: {error}")]
    NotBound {
        /// The function.
        name: String,
        /// Why.
        error: BindError,
    },
    /// A file or folder.
    #[error("{}: {message}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The library cannot be loaded.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl NativeError {
    /// An error of a file.
    pub(crate) fn file(path: impl Into<PathBuf>, error: impl ToString) -> NativeError {
        NativeError::File { path: path.into(), message: error.to_string() }
    }
}
