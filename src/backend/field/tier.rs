//! Tiers: what runs the operations of field programs.
//!
//! The order of statements, their ways to the targets, bands and halos are those of [`FieldPlan`](super::plan::FieldPlan) on every
//! tier: a tier runs the program of one stage on one part. Values and errors are the same.

#[cfg(feature = "native")]
use crate::native::cache::NativeCache;

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
