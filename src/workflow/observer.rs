//! Observers: what looks at the artifact of each step of a named sequence.
//!
//! ```text
//! input ─step─> artifact ─step─> artifact ─step─> output
//!                  │                │                │
//!                  └──── observer, with the name of the step
//! ```
//!
//! An observer is typed: it says for each artifact what it does with it, so that a sequence whose artifacts it does
//! not know does not compile. It sees artifacts by reference and cannot change them; all that it can do to a run
//! is to end it with an error, as a check of post-conditions does.
//!
//! `()` observes nothing and costs nothing; a pair observes one after the other; a reference leaves the observer
//! with the caller.

/// Looks at the artifacts of a sequence that fails with `E`.
pub trait StepObserver<A: ?Sized, E> {
    /// A step has made an artifact.
    ///
    /// # Errors
    /// The run shall end here.
    fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E>;
}

/// What a step has made, for people.
pub trait Artifact {
    /// Its texts, each under the name of a stage: mostly one, under the name of the step.
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)>;
}

impl<A: ?Sized, E> StepObserver<A, E> for () {
    #[inline]
    fn observe(&self, _: &'static str, _: &A) -> Result<(), E> {
        Ok(())
    }
}

impl<A: ?Sized, E, F: StepObserver<A, E>, S: StepObserver<A, E>> StepObserver<A, E> for (F, S) {
    #[inline]
    fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E> {
        self.0.observe(step, artifact)?;
        self.1.observe(step, artifact)
    }
}

impl<A: ?Sized, E, O: StepObserver<A, E> + ?Sized> StepObserver<A, E> for &O {
    #[inline]
    fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E> {
        (**self).observe(step, artifact)
    }
}
