//! Tiers: what runs the operations of field programs.
//!
//! The order of statements, their ways to the targets, bands and halos are those of [`FieldPlan`](super::plan::FieldPlan) on every
//! tier: a tier runs the program of one stage on one part. Values and errors are the same.

#[cfg(feature = "native")]
use crate::native::cache::NativeCache;
#[cfg(feature = "native")]
use crate::native::error::NativeError;
#[cfg(feature = "native")]
use crate::native::observer::BuildObserver;
#[cfg(feature = "native")]
use crate::native::stage::ProgramCall;
#[cfg(feature = "native")]
use crate::native::variants::Variants;
use crate::workflow::Artifact;
#[cfg(feature = "native")]
use cembra_vm::library::Library;
use cembra_vm::program::Program;
use cembra_vm::program::dump::dump;
#[cfg(feature = "native")]
use std::cell::RefCell;
#[cfg(feature = "native")]
use std::sync::Arc;

/// What runs the operations of a field program.
#[derive(Clone, Debug, Default)]
pub enum FieldTier {
    /// The interpreter, with strips.
    #[default]
    Interpreter,
    /// One operator after the other, each on whole arrays: slow, and without anything that goes over several operators at once.
    Steps,
    /// Machine code of the process, by the feature `jit`, where there is something to gain.
    Jit,
    /// Libraries that a C compiler makes, of this cache: one for each stage.
    #[cfg(feature = "native")]
    Native(NativeCache),
}

/// A stage that stays on the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpretedStage {
    /// The statement, counted from 1.
    pub statement: usize,
    /// The first target of the statement.
    pub target: String,
    /// Why.
    pub reason: String,
}

/// Is told what is made of each stage when a tier takes it.
pub trait TierObserver {
    /// A step has ended, for a stage of this statement, which is counted from 1 and has this first target: its `program`, then
    /// the steps of a build as a `BuildObserver` is told of them.
    fn ended(&self, statement: usize, target: &str, step: &'static str, made: &dyn Artifact);

    /// False if nothing is done with that: libraries are built side by side then.
    fn is_watching(&self) -> bool {
        true
    }
}

/// Looks at nothing.
impl TierObserver for () {
    fn ended(&self, _: usize, _: &str, _: &'static str, _: &dyn Artifact) {}

    fn is_watching(&self) -> bool {
        false
    }
}

/// Libraries that threads build while stages are given theirs, or else none: each stage has its own built.
#[derive(Debug, Default)]
pub(super) struct StageLibraries {
    #[cfg(feature = "native")]
    begun: Option<Variants>,
}

#[cfg(feature = "native")]
impl StageLibraries {
    /// Begins to build some; whoever asks for one builds as well, and is told the error. One alone is not begun.
    pub fn begin(cache: &NativeCache, calls: Vec<ProgramCall>) -> StageLibraries {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let begin = || Variants::begin(cache.clone(), calls, threads - 1, |_, _| ());
        StageLibraries { begun: (threads > 1).then(begin).and_then(Result::ok) }
    }

    /// The library of a stage.
    ///
    /// # Errors
    /// Why there is none.
    pub fn library(
        &self,
        cache: &NativeCache,
        call: &ProgramCall,
        observer: &dyn BuildObserver,
    ) -> Result<Library, NativeError> {
        let is_it = |begun: &ProgramCall| Arc::ptr_eq(begun.program(), call.program());
        let begun = self.begun.as_ref();
        match begun.and_then(|begun| Some((begun, begun.calls().iter().position(is_it)?))) {
            Some((begun, number)) => begun.library(number),
            None => cache.library_observed(call, observer),
        }
    }
}

/// The program of a stage, as observers see it.
pub(super) struct ProgramText<'p>(pub &'p Program);

impl Artifact for ProgramText<'_> {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        vec![(step, dump(self.0))]
    }
}

/// What a stage tells when a tier takes it.
pub(super) enum StageNews<'n> {
    /// A step has ended.
    Ended(&'static str, &'n dyn Artifact),
    /// Why the interpreter goes on running it.
    Interpreted(String),
}

/// Hands the steps of a build on.
#[cfg(feature = "native")]
pub(super) struct Telling<'t>(pub RefCell<&'t mut dyn FnMut(StageNews<'_>)>);

#[cfg(feature = "native")]
impl BuildObserver for Telling<'_> {
    fn ended(&self, stage: &'static str, made: &dyn Artifact) {
        (self.0.borrow_mut())(StageNews::Ended(stage, made));
    }
}
