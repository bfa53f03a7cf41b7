//! What looks at the stages of a build that a cache makes or finds.
//!
//! ```text
//! cache miss ─ translate ─ bind ─ compile ─ publish ─ load
//! cache hit  ──────────────────────────────────────── load
//! ```
//!
//! A backend is chosen at run time, so that its stages have no common type: an observer gets them as texts, and only if it
//! asks for them. It changes nothing, and no key depends on it.

use crate::native::error::NativeError;
use crate::workflow::{Artifact, StepObserver};

/// The stage of a build that was found.
pub const CACHE_HIT: &str = "cache hit";
/// The stage of a key that has no build yet.
pub const CACHE_MISS: &str = "cache miss";
/// The stage in which a build is verified and renamed into its place.
pub const PUBLISH: &str = "publish";
/// The stage in which a library is loaded.
pub const LOAD: &str = "load";

/// Is told when a stage has ended, and what it has made.
pub trait BuildObserver {
    /// A stage has ended.
    fn ended(&self, stage: &'static str, made: &dyn Artifact);
}

/// Looks at nothing.
impl BuildObserver for () {
    fn ended(&self, _: &'static str, _: &dyn Artifact) {}
}

/// A stage that leaves nothing to be read.
pub(super) struct NoText;

impl Artifact for NoText {
    fn texts(&self, _: &'static str) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Tells an observer of the steps of a sequence.
pub(super) struct Told<'o>(pub &'o dyn BuildObserver);

impl<A: Artifact> StepObserver<A, NativeError> for Told<'_> {
    fn observe(&self, step: &'static str, artifact: &A) -> Result<(), NativeError> {
        self.0.ended(step, artifact);
        Ok(())
    }
}
