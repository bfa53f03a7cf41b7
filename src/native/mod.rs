//! Native code: programs as libraries that need no Cembra, built on the fly or ahead.
//!
//! ```text
//! ProgramCall ──translate──> ProgramSource<C> ──bind──> CompilableSource<C> ──compile──> Artifact ┄load┄> Library
//! program, layouts           C text, entry               header, ctypes module           folder with       of this
//! of arrays; never data                                                                  library, json     process
//! ```
//!
//! The three stages are a named sequence, [`NativeBuild`]; loading is no step: building may happen in another process,
//! loading happens in the one that calls.
//!
//! | file | what it has |
//! | --- | --- |
//! | [`stage`] | the stages, and the language that a source is written in |
//! | [`c`] | programs as C11: locals, operators, elements, jumps, calls, errors |
//! | [`rust`] | programs on scalars as Rust, at the same boundary |
//! | [`backend`] | the sets of steps that there are |
//! | [`backends`] | backends by name, with the interpreter: programs that can be called |
//! | [`bindings`] | what lets others call a source: C header, Python module |
//! | [`compiler`] | which compiler there is, what it is asked to do, and for how long |
//! | `compiler_file`, `known_compiler` | which files a compiler is, and what it said about itself as long as they stay |
//! | [`process`] | how long a compiler runs, and how it is stopped with all that it has begun |
//! | [`build_system`] | how the compiler is asked: itself, or by a script and a Makefile |
//! | [`format`](mod@format) | tools that lay out a source, for those who ask |
//! | [`made`] | whether what a compiler made is the library that was wanted |
//! | `elf` | what is known of a library without loading it: its end, its version of the boundary |
//! | [`folder`] | a build folder: its files, what says that it is complete, how it is published |
//! | [`cache`] | build folders by key, shared by processes |
//! | [`own_folder`] | folders that live as long as the process |
//! | [`store`] | results of cached steps on disk |
//! | `files` | files that anybody may have changed |
//! | [`build`](mod@build) | the sequence, and loading |
//! | [`variants`] | variants of a program, built by threads while others run |
//! | [`observer`] | what looks at the stages of a build in a cache |
//! | [`call`] | calls of a library with values |
//!
//! 1. A source depends on the program, the layouts and the steps, and on nothing else: no data, no paths, no clock.
//! 2. A library gives the bits of the interpreter (NaN being one value), and raises where it does, or is not made.
//! 3. No operand of any operator is undefined behaviour in C.
//! 4. A folder is complete when its `build.json` says so, and that is written last.

pub mod backend;
pub mod backends;
pub mod bindings;
pub mod build;
pub mod build_system;
pub mod c;
pub mod cache;
pub mod call;
pub mod compiler;
mod compiler_file;
mod elf;
pub mod error;
mod files;
pub mod folder;
pub mod format;
mod known_compiler;
pub mod made;
pub mod observer;
mod operation;
pub mod own_folder;
mod private;
pub mod process;
pub mod rust;
pub mod stage;
pub mod store;
mod syntax;
pub mod variants;

pub use backend::Backend;
pub use backends::{Backends, CompiledProgram, InterpretedProgram, Interpreter, ProgramCompiler};
pub use bindings::CBindings;
pub use build::{NativeBuild, load};
pub use build_system::{BuildSystem, Direct, Scripted};
pub use c::TranslateToC;
pub use cache::NativeCache;
pub use call::{NativeCallError, NativeResult, call_library};
pub use compiler::{CompileC, CompileRust, CompileSource, CompiledLanguage, Compiler};
pub use error::{NativeError, NotTranslated};
pub use folder::Artifact;
pub use format::Format;
pub use observer::BuildObserver;
pub use rust::TranslateToRust;
pub use stage::{ArrayLayout, C, CompilableSource, Language, ProgramCall, ProgramSource, Rust};
pub use store::{DiskStore, KeptText};
