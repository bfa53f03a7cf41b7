//! Steps that the input chooses.
//!
//! ```text
//! input ──choose──> step, or list of steps ──run──> output
//! ```
//!
//! The function that chooses looks at the input and gives a step for it: one of several shared steps, or a
//! [`StepList`] of steps that all stay at one stage. Where a list passes through several stages, the stage is an
//! enum of them.
//!
//! ```
//! use cembra::workflow::{Step, StepList, by_input, step};
//! let trim = step("trim", |text: String| Ok::<_, ()>(text.trim().to_owned())).shared();
//! let upper = step("upper", |text: String| Ok(text.to_uppercase())).shared();
//! let tidy = by_input("tidy", move |text: &String| match text.starts_with('!') {
//!     true => StepList::from([trim.clone(), upper.clone()]),
//!     false => StepList::from([trim.clone()]),
//! });
//! assert_eq!(tidy.run(" a ".to_owned()).as_deref(), Ok("a"));
//! assert_eq!(tidy.run("!a ".to_owned()).as_deref(), Ok("!A"));
//! ```

use crate::workflow::step::{SharedStep, Step};
use std::fmt;
use std::sync::Arc;

/// The step that a function of the input gives.
pub fn by_input<C>(name: &str, choose: C) -> ByInput<C> {
    ByInput { name: name.into(), choose }
}

/// The step that a function of the input gives.
#[derive(Clone)]
pub struct ByInput<C> {
    name: Arc<str>,
    choose: C,
}

impl<C> fmt::Debug for ByInput<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByInput({})", self.name)
    }
}

impl<I, S: Step<I>, C: Fn(&I) -> S> Step<I> for ByInput<C> {
    type Out = S::Out;
    type Err = S::Err;

    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, input: I) -> Result<S::Out, S::Err> {
        (self.choose)(&input).run(input)
    }
}

/// Steps in order that all stay at one stage.
pub struct StepList<T, E> {
    steps: Vec<SharedStep<T, T, E>>,
    name: String,
}

impl<T, E, L: Into<Vec<SharedStep<T, T, E>>>> From<L> for StepList<T, E> {
    fn from(steps: L) -> StepList<T, E> {
        let steps = steps.into();
        let name = steps.iter().map(|step| step.name()).collect::<Vec<_>>().join(", ");
        StepList { steps, name }
    }
}

impl<T, E> Clone for StepList<T, E> {
    fn clone(&self) -> Self {
        StepList { steps: self.steps.clone(), name: self.name.clone() }
    }
}

impl<T, E> fmt::Debug for StepList<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StepList({})", self.name)
    }
}

impl<T, E> Step<T> for StepList<T, E> {
    type Out = T;
    type Err = E;

    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, input: T) -> Result<T, E> {
        self.steps.iter().try_fold(input, |stage, step| step.run(stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::step::step;

    /// Stages of a number on its way.
    #[derive(Debug, PartialEq)]
    enum Stage {
        Text(String),
        Number(i64),
    }

    fn parse() -> SharedStep<Stage, Stage, String> {
        let parse = |stage| match stage {
            Stage::Text(text) => text.parse().map(Stage::Number).map_err(|_| text),
            number => Ok(number),
        };
        step("parse", parse).shared()
    }

    fn double() -> SharedStep<Stage, Stage, String> {
        let double = |stage| match stage {
            Stage::Number(number) => Ok(Stage::Number(2 * number)),
            Stage::Text(text) => Err(text),
        };
        step("double", double).shared()
    }

    #[test]
    fn the_input_chooses_the_list() {
        let steps = by_input("double what comes", |stage: &Stage| match stage {
            Stage::Text(_) => StepList::from([parse(), double()]),
            Stage::Number(_) => StepList::from([double()]),
        });
        assert_eq!(steps.run(Stage::Text("21".to_owned())), Ok(Stage::Number(42)));
        assert_eq!(steps.run(Stage::Number(4)), Ok(Stage::Number(8)));
        assert_eq!(steps.run(Stage::Text("x".to_owned())), Err("x".to_owned()));
        assert_eq!(Step::<Stage>::name(&steps), "double what comes");
    }

    #[test]
    fn a_list_runs_in_order_and_ends_at_an_error() {
        let list = StepList::from(vec![double(), parse()]);
        assert_eq!(list.name(), "double, parse");
        assert_eq!(list.run(Stage::Text("1".to_owned())), Err("1".to_owned()));
        assert_eq!(StepList::<i32, ()>::from([]).run(3), Ok(3));
    }

    #[test]
    fn the_input_chooses_one_of_several_ways() {
        let ways = by_input("length", |text: &String| match text.len() {
            0 => step("nothing", |_| Err("empty")).shared(),
            _ => step("count", |text: String| Ok(text.len())).shared(),
        });
        assert_eq!((ways.run(String::new()), ways.run("abc".to_owned())), (Err("empty"), Ok(3)));
    }
}
