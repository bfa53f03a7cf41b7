//! The step: one stage to the next, and how steps combine.
//!
//! The input is a parameter of the trait and the output follows from it, so that one step may serve several
//! inputs. Two steps chain if the output of the first is an input of the second and their errors are of one
//! type; [`map_err`](Step::map_err) and [`err_into`](Step::err_into) bring errors to one type first. Conversion is a
//! combinator of its own because a chain that converted on the way would not be associative.
//!
//! ```
//! use cembra::workflow::{Step, step};
//! use std::num::ParseIntError;
//!
//! #[derive(Debug, PartialEq)]
//! enum Failed { NoNumber, TooLarge(i64) }
//! impl From<ParseIntError> for Failed {
//!     fn from(_: ParseIntError) -> Failed { Failed::NoNumber }
//! }
//!
//! let parse = step("parse", |text: &str| text.parse::<i64>());
//! let small = step("small", |n: i64| u8::try_from(n).map_err(|_| Failed::TooLarge(n)));
//! let byte = parse.err_into::<Failed>().chain(small);
//! assert_eq!(byte.run("7"), Ok(7));
//! assert_eq!(byte.run("x"), Err(Failed::NoNumber));
//! assert_eq!(byte.run("300"), Err(Failed::TooLarge(300)));
//! ```
//!
//! A neighbour that takes another stage does not compile:
//!
//! ```compile_fail,E0277
//! use cembra::workflow::{FnStep, Step, step};
//! let parse = step("parse", |text: &str| text.parse::<i64>());
//! let length = step("length", |text: String| Ok(text.len()));
//! let wrong = parse.chain(length);
//! ```
//!
//! nor one that fails with another error:
//!
//! ```compile_fail,E0271
//! use cembra::workflow::{Step, step};
//! let parse = step("parse", |text: &str| text.parse::<i64>());
//! let small = step("small", |n: i64| u8::try_from(n).map_err(|_| "too large"));
//! let wrong = parse.chain(small);
//! ```
//!
//! nor a step that is left out although it changes the stage:
//!
//! ```compile_fail,E0271
//! use cembra::workflow::{Step, step};
//! let parse = step("parse", |text: &'static str| text.parse::<i64>());
//! let wrong = parse.skip_if(|text| text.is_empty());
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

    /// Name for dumps and messages.
    fn name(&self) -> &str;

    /// Does the step.
    ///
    /// # Errors
    /// Whatever the step reports.
    fn run(&self, input: I) -> Result<Self::Out, Self::Err>;

    /// This step and then another, which fails with errors of the same type.
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

    /// This step with its errors mapped by a function.
    fn map_err<F, E>(self, f: F) -> MapErr<Self, F>
    where
        Self: Sized,
        F: Fn(Self::Err) -> E,
    {
        MapErr { step: self, f }
    }

    /// This step with its errors converted by `From`.
    fn err_into<E: From<Self::Err>>(self) -> MapErr<Self, fn(Self::Err) -> E>
    where
        Self: Sized,
    {
        MapErr { step: self, f: E::from }
    }

    /// This step behind a pointer, for a choice that is made at run time: all steps of these stages are of one type.
    fn shared(self) -> SharedStep<I, Self::Out, Self::Err>
    where
        Self: Sized + Send + Sync + 'static,
    {
        Arc::new(self)
    }
}

/// A shared step of known stages; its type does not say what it does.
pub type SharedStep<I, O, E> = Arc<dyn Step<I, Out = O, Err = E> + Send + Sync>;

impl<I, S: Step<I> + ?Sized> Step<I> for Arc<S> {
    type Out = S::Out;
    type Err = S::Err;

    fn name(&self) -> &str {
        (**self).name()
    }

    fn run(&self, input: I) -> Result<S::Out, S::Err> {
        (**self).run(input)
    }
}

impl<I, S: Step<I> + ?Sized> Step<I> for &S {
    type Out = S::Out;
    type Err = S::Err;

    fn name(&self) -> &str {
        (**self).name()
    }

    fn run(&self, input: I) -> Result<S::Out, S::Err> {
        (**self).run(input)
    }
}

/// A step from a function.
pub fn step<I, O, E, F: Fn(I) -> Result<O, E>>(name: &str, f: F) -> FnStep<I, O, E, F> {
    FnStep { name: name.into(), f, stages: PhantomData }
}

/// The type of [`identity`].
pub type IdentityStep<I, E> = FnStep<I, I, E, fn(I) -> Result<I, E>>;

/// The step that gives its input: the unit of chains, and what stands in the place of a step that is left out.
pub fn identity<I, E>(name: &str) -> IdentityStep<I, E> {
    step(name, Ok)
}

/// A step from a function.
pub struct FnStep<I, O, E, F> {
    name: Arc<str>,
    f: F,
    stages: PhantomData<fn(I) -> Result<O, E>>,
}

impl<I, O, E, F: Clone> Clone for FnStep<I, O, E, F> {
    fn clone(&self) -> Self {
        FnStep { name: self.name.clone(), f: self.f.clone(), stages: PhantomData }
    }
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

/// A step with other errors.
#[derive(Clone, Debug)]
pub struct MapErr<S, F> {
    step: S,
    f: F,
}

impl<I, E, S: Step<I>, F: Fn(S::Err) -> E> Step<I> for MapErr<S, F> {
    type Out = S::Out;
    type Err = E;

    fn name(&self) -> &str {
        self.step.name()
    }

    fn run(&self, input: I) -> Result<S::Out, E> {
        self.step.run(input).map_err(&self.f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn half() -> impl Step<i32, Out = i32, Err = i32> + Clone {
        step("half", |n: i32| if n % 2 == 0 { Ok(n / 2) } else { Err(n) })
    }

    fn less(by: i32) -> impl Step<i32, Out = i32, Err = i32> + Clone {
        step("less", move |n: i32| if n >= by { Ok(n - by) } else { Err(-n) })
    }

    #[test]
    fn steps_chain_and_skip() {
        let halves = half().skip_if(|n| *n > 100).chain(step("text", |n: i32| Ok(n.to_string())));
        assert_eq!(halves.name(), "half, text");
        assert_eq!(halves.run(8).as_deref(), Ok("4"));
        assert_eq!(halves.run(101).as_deref(), Ok("101"));
        assert_eq!(halves.run(7), Err(7));
    }

    #[test]
    fn chains_are_associative_and_have_a_unit() {
        let left = half().chain(less(3)).chain(half());
        let right = half().chain(less(3).chain(half()));
        let with_unit = identity("start").chain(half()).chain(less(3)).chain(half()).chain(identity("end"));
        assert_eq!(Step::<i32>::name(&left), Step::<i32>::name(&right));
        let outcomes: Vec<_> = (-20..60).map(|n| left.run(n)).collect();
        assert!(outcomes.iter().any(Result::is_ok) && outcomes.iter().any(Result::is_err));
        assert_eq!((-20..60).map(|n| right.run(n)).collect::<Vec<_>>(), outcomes);
        assert_eq!((-20..60).map(|n| with_unit.run(n)).collect::<Vec<_>>(), outcomes);
    }

    #[test]
    fn a_step_that_fails_is_the_last_that_runs() {
        let never = step("never", |n: i32| -> Result<i32, i32> { panic!("{n}") });
        assert_eq!(half().chain(never).run(3), Err(3));
    }

    #[test]
    fn errors_come_to_one_type_by_from_or_by_a_function() {
        let parse = step("parse", |text: &str| text.parse::<i32>());
        let text_errors =
            parse.clone().map_err(|error| error.to_string()).chain(half().map_err(|n| format!("{n} is odd")));
        assert_eq!(text_errors.run("3"), Err("3 is odd".to_owned()));
        assert!(text_errors.run("x").is_err_and(|error| error.contains("invalid digit")));
        let boxed = parse.err_into::<Box<dyn std::error::Error>>();
        assert!(boxed.run("x").is_err());
        assert_eq!(boxed.name(), "parse");
    }

    #[test]
    fn the_choice_of_a_shared_step_is_made_at_run_time() {
        let choose = |halve: bool| if halve { half().shared() } else { identity("keep").shared() };
        let steps: SharedStep<i32, i32, i32> = choose(true).chain(choose(false)).shared();
        assert_eq!((steps.name(), steps.run(8)), ("half, keep", Ok(4)));
    }

    #[test]
    fn one_step_serves_several_inputs() {
        struct Length;
        impl<T: AsRef<str>> Step<T> for Length {
            type Out = usize;
            type Err = Infallible;
            fn name(&self) -> &str {
                "length"
            }
            fn run(&self, input: T) -> Result<usize, Infallible> {
                Ok(input.as_ref().len())
            }
        }
        assert_eq!((Length.run("one"), Length.run("three".to_owned())), (Ok(3), Ok(5)));
    }
}
