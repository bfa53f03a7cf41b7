//! Tiers: what runs the operations of field programs.
//!
//! The order of statements, their ways to the targets, bands and halos are those of [`FieldPlan`](super::plan::FieldPlan) on every
//! tier: a tier runs the program of one stage on one part. Values and errors are the same.

#[cfg(feature = "native")]
use crate::native::cache::NativeCache;
#[cfg(feature = "native")]
use crate::native::observer::BuildObserver;
use crate::workflow::Artifact;
use cembra_vm::program::Program;
use cembra_vm::program::dump::dump;
#[cfg(feature = "native")]
use std::cell::RefCell;

/// What runs the operations of a field program.
#[derive(Clone, Debug, Default)]
pub enum FieldTier {
    /// The interpreter, with strips.
    #[default]
    Interpreter,
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
}

/// Looks at nothing.
impl TierObserver for () {
    fn ended(&self, _: usize, _: &str, _: &'static str, _: &dyn Artifact) {}
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
