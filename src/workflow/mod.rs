//! Typed steps: what pipelines are made of.
//!
//! A [`Step`] turns one stage into the next. A pipeline is a plain struct of named steps whose `run`
//! is written out, so a chain that does not fit does not compile; each step can be replaced by another
//! of the same type. Steps are pure: no files, clocks or threads.
//!
//! ```
//! use cembra::workflow::{Step, step};
//! let parse = step("parse", |text: &str| text.parse::<i32>());
//! let double = step("double", |n: i32| Ok(2 * n));
//! assert_eq!(parse.chain(double).run("21"), Ok(42));
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// One stage to the next.
pub trait Step<I> {
    /// The next stage.
    type Out;
    /// Why there is none.
    type Err;

    /// Name for dumps and observers.
    fn name(&self) -> &str;

    /// Does the step.
    ///
    /// # Errors
    /// Whatever the step reports.
    fn run(&self, input: I) -> Result<Self::Out, Self::Err>;

    /// This step and then another.
    fn chain<S>(self, next: S) -> Chain<Self, S>
    where
        Self: Sized,
        S: Step<Self::Out, Err = Self::Err>,
    {
        let name = format!("{}, {}", self.name(), next.name());
        Chain { first: self, next, name }
    }

    /// This step, or nothing where the condition holds; only for steps that stay at one stage.
    fn skip_if<C>(self, condition: C) -> SkipIf<Self, C>
    where
        Self: Sized + Step<I, Out = I>,
        C: Fn(&I) -> bool,
    {
        SkipIf { step: self, condition }
    }
}

/// A shared step of known stages.
pub type SharedStep<I, O, E> = Arc<dyn Step<I, Out = O, Err = E> + Send + Sync>;

/// A step from a function.
pub fn step<I, O, E, F: Fn(I) -> Result<O, E>>(name: &str, f: F) -> FnStep<I, O, E, F> {
    FnStep { name: name.to_owned(), f, stages: PhantomData }
}

/// A step from a function.
pub struct FnStep<I, O, E, F> {
    name: String,
    f: F,
    stages: PhantomData<fn(I) -> Result<O, E>>,
}

impl<I, O, E, F> fmt::Debug for FnStep<I, O, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FnStep({})", self.name)
    }
}

impl<I, O, E, F: Fn(I) -> Result<O, E>> Step<I> for FnStep<I, O, E, F> {
    type Out = O;
    type Err = E;

    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, input: I) -> Result<O, E> {
        (self.f)(input)
    }
}

/// Two steps in a row.
#[derive(Clone, Debug)]
pub struct Chain<A, B> {
    first: A,
    next: B,
    name: String,
}

impl<I, A: Step<I>, B: Step<A::Out, Err = A::Err>> Step<I> for Chain<A, B> {
    type Out = B::Out;
    type Err = A::Err;

    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, input: I) -> Result<B::Out, A::Err> {
        self.next.run(self.first.run(input)?)
    }
}

/// A step that is sometimes left out.
#[derive(Clone, Debug)]
pub struct SkipIf<S, C> {
    step: S,
    condition: C,
}

impl<I, S: Step<I, Out = I>, C: Fn(&I) -> bool> Step<I> for SkipIf<S, C> {
    type Out = I;
    type Err = S::Err;

    fn name(&self) -> &str {
        self.step.name()
    }

    fn run(&self, input: I) -> Result<I, S::Err> {
        match (self.condition)(&input) {
            true => Ok(input),
            false => self.step.run(input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_chain_and_skip() {
        let half = step("half", |n: i32| if n % 2 == 0 { Ok(n / 2) } else { Err(n) });
        let halves = half.skip_if(|n| *n > 100).chain(step("text", |n: i32| Ok(n.to_string())));
        assert_eq!(halves.name(), "half, text");
        assert_eq!(halves.run(8).as_deref(), Ok("4"));
        assert_eq!(halves.run(101).as_deref(), Ok("101"));
        assert_eq!(halves.run(7), Err(7));
    }
}
