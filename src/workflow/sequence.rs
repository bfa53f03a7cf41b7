//! Named sequences: a plain struct of steps, in order, each of which can be replaced.
//!
//! ```text
//! named_sequence! {
//!     /// What the sequence is.
//!     pub struct Sum: error SumError, observer () {
//!         split: Split = StandardSplit => Words, "split", with_split;
//!         └ field └ its type └ default  └ stage  └ name   └ what replaces it
//!         …
//! ```
//!
//! The macro makes, for steps `A`, `B` and `C`:
//!
//! | item | meaning |
//! | --- | --- |
//! | `struct Sum<A, B, C, Observer>` | the steps; parameters have the defaults that are given |
//! | `STEPS` | names of the steps, in order |
//! | `new(a, b, c, observer)` | the sequence of these steps |
//! | `with_b(step)` | the same sequence with another step, of any type |
//! | `observed_by(observer)` | the same sequence with one more observer, behind those there are |
//! | `run(input)`, `Step` | the steps in order, and after each the observer with its name and what it made |
//!
//! 1. Every error of a step converts into that of the sequence by `From`.
//! 2. A replaced step may change the stage around it, the input and the result included, as long as its neighbours
//!    take what they get; whether they do is checked where the sequence runs.
//! 3. The names are those of the declaration, whatever the steps in their places are called.
//! 4. `Input` and `Observer` are taken as names of type parameters.
//!
//! ```
//! use cembra::workflow::{FnStep, Step, StepObserver, named_sequence, step};
//! use std::cell::RefCell;
//! use std::num::ParseIntError;
//!
//! type Function<I, O> = FnStep<I, O, ParseIntError, fn(I) -> Result<O, ParseIntError>>;
//!
//! named_sequence! {
//!     /// A text to the sum of its numbers.
//!     pub struct Sum: error ParseIntError, observer () {
//!         /// A text to words.
//!         split: Split = Function<&'static str, Vec<&'static str>> => Words, "split", with_split;
//!         /// Words to a number.
//!         add: Add = Function<Vec<&'static str>, i64> => Number, "add", with_add;
//!     }
//! }
//!
//! # fn main() -> Result<(), ParseIntError> {
//! fn split(text: &'static str) -> Result<Vec<&'static str>, ParseIntError> {
//!     Ok(text.split(' ').collect())
//! }
//! fn add(words: Vec<&'static str>) -> Result<i64, ParseIntError> {
//!     words.iter().map(|word| word.parse::<i64>()).sum()
//! }
//! let sum: Sum = Sum::new(step("split", split), step("add", add), ());
//! assert_eq!(sum.run("1 2 39")?, 42);
//!
//! // A step of another type, with another result.
//! let longest = step("longest", |words: Vec<&'static str>| {
//!     Ok::<_, ParseIntError>(words.into_iter().max_by_key(|word| word.len()))
//! });
//! let longest = sum.with_add(longest);
//! assert_eq!(longest.run("1 2 39")?, Some("39"));
//!
//! // An observer of all artifacts that can be printed.
//! #[derive(Default)]
//! struct Log(RefCell<Vec<String>>);
//! impl<A: std::fmt::Debug, E> StepObserver<A, E> for Log {
//!     fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E> {
//!         self.0.borrow_mut().push(format!("{step}: {artifact:?}"));
//!         Ok(())
//!     }
//! }
//! let log = Log::default();
//! longest.observed_by(&log).run("1 2")?;
//! assert_eq!(*log.0.borrow(), [r#"split: ["1", "2"]"#, r#"add: Some("2")"#]);
//! # Ok(())
//! # }
//! ```
//!
//! A step that does not take what it gets does not compile:
//!
//! ```compile_fail,E0271
//! # use cembra::workflow::{Step, named_sequence, step};
//! named_sequence! {
//!     /// Two steps.
//!     pub struct Two: error (), observer () {
//!         /// The first.
//!         first: First => Between, "first", with_first;
//!         /// The second.
//!         second: Second => Last, "second", with_second;
//!     }
//! }
//! struct Half;
//! impl Step<i64> for Half {
//!     type Out = i64;
//!     type Err = ();
//!     fn name(&self) -> &str { "half" }
//!     fn run(&self, n: i64) -> Result<i64, ()> { Ok(n / 2) }
//! }
//! let two = Two::new(Half, Half, ());
//! assert_eq!(two.run(8), Ok(2));
//! // Texts where numbers are wanted.
//! let text = step("text", |n: i64| Ok::<_, ()>(n.to_string()));
//! two.with_first(text).run(8);
//! ```
//!
//! nor one whose error the sequence does not know:
//!
//! ```compile_fail,E0277
//! # use cembra::workflow::{named_sequence, step};
//! named_sequence! {
//!     /// One step.
//!     pub struct One: error String, observer () {
//!         /// The step.
//!         only: Only => Last, "only", with_only;
//!     }
//! }
//! One::new(step("parse", |text: &str| text.parse::<i64>()), ()).run("8");
//! ```

/// Declares a named sequence; see [`sequence`](mod@crate::workflow::sequence).
#[macro_export]
#[doc(hidden)]
macro_rules! __named_sequence {
    // Each `with_…`: what stands before the step, the step, what stands behind it.
    (@replace $name:ident [$($before_field:ident $before:ident)*] []) => {};
    (@replace $name:ident [$($before_field:ident $before:ident)*]
        [{ $field:ident $step:ident $label:literal $with:ident }
         $({ $after_field:ident $after:ident $after_label:literal $after_with:ident })*]
    ) => {
        impl<$($before,)* $step, $($after,)* Observer> $name<$($before,)* $step, $($after,)* Observer> {
            #[doc = concat!("Replaces the step `", $label, "` by one of any type.")]
            pub fn $with<Replacement>(
                self,
                step: Replacement,
            ) -> $name<$($before,)* Replacement, $($after,)* Observer> {
                $name {
                    $($before_field: self.$before_field,)*
                    $field: step,
                    $($after_field: self.$after_field,)*
                    observer: self.observer,
                }
            }
        }
        $crate::workflow::sequence::named_sequence!(@replace $name [$($before_field $before)* $field $step]
            [$({ $after_field $after $after_label $after_with })*]);
    };

    // The flow: gives every step the stage before it, then writes the steps out.
    (@flow $name:ident [$($error:tt)*] [$($done:tt)*] $before:ident
        [{ $field:ident $step:ident $stage:ident $label:literal } $($rest:tt)*]
    ) => {
        $crate::workflow::sequence::named_sequence!(@flow $name [$($error)*]
            [$($done)* { $before $field $step $stage $label }] $stage [$($rest)*]);
    };
    (@flow $name:ident [$error:ty]
        [$({ $before:ident $field:ident $step:ident $stage:ident $label:literal })+] $last:ident []
    ) => {
        impl<$($step,)+ Observer> $name<$($step,)+ Observer> {
            /// Names of the steps, in order.
            pub const STEPS: &'static [&'static str] = &[$($label),+];

            /// Runs the steps in order, and shows the observer what each has made.
            ///
            /// # Errors
            /// What the first failing step reports, or the observer.
            pub fn run<Input, $($stage),+>(&self, input: Input) -> Result<$last, $error>
            where
                $(
                    $step: $crate::workflow::step::Step<$before, Out = $stage>,
                    $error: From<<$step as $crate::workflow::step::Step<$before>>::Err>,
                    Observer: $crate::workflow::observer::StepObserver<$stage, $error>,
                )+
            {
                let artifact = input;
                $(
                    let artifact = $crate::workflow::step::Step::run(&self.$field, artifact)?;
                    $crate::workflow::observer::StepObserver::observe(&self.observer, $label, &artifact)?;
                )+
                Ok(artifact)
            }
        }

        impl<Input, $($stage,)+ $($step,)+ Observer> $crate::workflow::step::Step<Input>
            for $name<$($step,)+ Observer>
        where
            $(
                $step: $crate::workflow::step::Step<$before, Out = $stage>,
                $error: From<<$step as $crate::workflow::step::Step<$before>>::Err>,
                Observer: $crate::workflow::observer::StepObserver<$stage, $error>,
            )+
        {
            type Out = $last;
            type Err = $error;

            fn name(&self) -> &str {
                stringify!($name)
            }

            fn run(&self, input: Input) -> Result<$last, $error> {
                $name::run(self, input)
            }
        }
    };

    ($(#[$about:meta])* $visible:vis struct $name:ident: error $error:ty, observer $observer:ty {
        $($(#[$doc:meta])* $field:ident: $step:ident $(= $default:ty)? => $stage:ident, $label:literal, $with:ident;)+
    }) => {
        $(#[$about])*
        $visible struct $name<$($step $(= $default)?,)+ Observer = $observer> {
            $($(#[$doc])* $field: $step,)+
            /// What looks at the artifacts.
            observer: Observer,
        }

        impl<$($step,)+ Observer> $name<$($step,)+ Observer> {
            /// The sequence of these steps.
            #[allow(clippy::too_many_arguments)]
            pub fn new($($field: $step,)+ observer: Observer) -> Self {
                $name { $($field,)+ observer }
            }

            /// Adds an observer behind those there are.
            pub fn observed_by<Another>(self, observer: Another) -> $name<$($step,)+ (Observer, Another)> {
                $name { $($field: self.$field,)+ observer: (self.observer, observer) }
            }
        }

        impl<$($step,)+ Observer> std::fmt::Debug for $name<$($step,)+ Observer> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), " "))?;
                f.debug_list().entries([$($label),+]).finish()
            }
        }

        $crate::workflow::sequence::named_sequence!(@replace $name [] [$({ $field $step $label $with })+]);
        $crate::workflow::sequence::named_sequence!(@flow $name [$error] [] Input
            [$({ $field $step $stage $label })+]);
    };
}

#[doc(inline)]
pub use __named_sequence as named_sequence;

#[cfg(test)]
mod tests {
    use crate::workflow::cached::Cached;
    use crate::workflow::observer::StepObserver;
    use crate::workflow::sequence::named_sequence;
    use crate::workflow::step::{Step, identity, step};
    use crate::workflow::store::MemoryStore;
    use std::cell::RefCell;
    use std::num::ParseIntError;

    #[derive(Clone, Debug, PartialEq)]
    enum Failed {
        NoNumber,
        Odd(i64),
        Refused,
    }

    impl From<ParseIntError> for Failed {
        fn from(_: ParseIntError) -> Failed {
            Failed::NoNumber
        }
    }

    named_sequence! {
        /// A text to the half of its number, as a text.
        #[derive(Clone)]
        struct Halves: error Failed, observer () {
            /// A text to a number.
            parse: Parse => Number, "parse", with_parse;
            /// A number to its half.
            half: Half => Halved, "half", with_half;
            /// A number to a text.
            print: Print => Printed, "print", with_print;
        }
    }

    /// The type of a step from a function pointer.
    macro_rules! fn_step {
        ($from:ty => $to:ty, $error:ty) => {
            crate::workflow::step::FnStep<$from, $to, $error, fn($from) -> Result<$to, $error>>
        };
    }

    type Halving = Halves<
        fn_step![&'static str => i64, ParseIntError],
        fn_step![i64 => i64, Failed],
        fn_step![i64 => String, Failed],
    >;

    fn halves() -> Halving {
        fn half(n: i64) -> Result<i64, Failed> {
            if n % 2 == 0 { Ok(n / 2) } else { Err(Failed::Odd(n)) }
        }
        Halves::new(step("a", |text| text.parse()), step("b", half), step("c", |n| Ok(n.to_string())), ())
    }

    /// Notes what it sees.
    #[derive(Default)]
    struct Notes(RefCell<Vec<(&'static str, String)>>);

    impl<A: std::fmt::Debug, E> StepObserver<A, E> for Notes {
        fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E> {
            self.0.borrow_mut().push((step, format!("{artifact:?}")));
            Ok(())
        }
    }

    #[test]
    fn steps_run_in_order_and_errors_become_one() {
        assert_eq!(halves().run("8").as_deref(), Ok("4"));
        assert_eq!((halves().run("x"), halves().run("7")), (Err(Failed::NoNumber), Err(Failed::Odd(7))));
        assert_eq!(Halving::STEPS, ["parse", "half", "print"]);
        assert_eq!(format!("{:?}", halves()), r#"Halves ["parse", "half", "print"]"#);
    }

    #[test]
    fn a_replaced_step_leaves_the_others() {
        let thirds = halves().with_half(step("third", |n: i64| Ok::<_, Failed>(n / 3)));
        assert_eq!(thirds.run("9").as_deref(), Ok("3"));
        // The input, a stage in the middle and the result change their types.
        let lengths = halves().with_parse(identity::<i64, Failed>("is a number"));
        assert_eq!(lengths.run(8).as_deref(), Ok("4"));
        let float = step("float half", |n: i64| Ok::<_, Failed>(n as f64 / 2.0));
        let print = step("print", |n: f64| Ok::<_, Failed>((n, n.to_string())));
        assert_eq!(halves().with_half(float).with_print(print).run("7"), Ok((3.5, "3.5".to_owned())));
    }

    #[test]
    fn a_shared_step_keeps_the_type_of_a_sequence() {
        let boxed = halves().with_half(step("b", |n: i64| Ok::<_, Failed>(n)).shared());
        let choose = |negate: bool| match negate {
            true => boxed.clone().with_half(step("negate", |n: i64| Ok::<_, Failed>(-n)).shared()),
            false => boxed.clone(),
        };
        assert_eq!(
            (choose(true).run("8").as_deref(), choose(false).run("8").as_deref()),
            (Ok("-8"), Ok("8"))
        );
    }

    #[test]
    fn observers_see_every_artifact_in_order() {
        let (first, second) = (Notes::default(), Notes::default());
        let sequence = halves().observed_by(&first).observed_by(&second);
        assert_eq!(sequence.run("8").as_deref(), Ok("4"));
        let seen = [("parse", "8".to_owned()), ("half", "4".to_owned()), ("print", "\"4\"".to_owned())];
        assert_eq!((&first.0.borrow()[..], &second.0.borrow()[..]), (&seen[..], &seen[..]));
        // Behind a step that fails there is nothing to see.
        first.0.borrow_mut().clear();
        assert_eq!(sequence.run("7"), Err(Failed::Odd(7)));
        assert_eq!(first.0.borrow()[..], [("parse", "7".to_owned())]);
    }

    #[test]
    fn an_observer_may_end_a_run() {
        struct NoFours;
        impl StepObserver<i64, Failed> for NoFours {
            fn observe(&self, _: &'static str, artifact: &i64) -> Result<(), Failed> {
                if *artifact == 4 { Err(Failed::Refused) } else { Ok(()) }
            }
        }
        impl StepObserver<String, Failed> for NoFours {
            fn observe(&self, _: &'static str, _: &String) -> Result<(), Failed> {
                Ok(())
            }
        }
        let checked = halves().observed_by(NoFours);
        assert_eq!((checked.run("8"), checked.run("12").as_deref()), (Err(Failed::Refused), Ok("6")));
    }

    #[test]
    fn a_sequence_is_a_step() {
        let cached = Cached::new(halves(), "halves", MemoryStore::new(4));
        assert_eq!(Step::<&'static str>::name(&cached), "Halves");
        let twice =
            cached.chain(halves().with_parse(step("parse", |text: String| Ok::<i64, Failed>(text.parse()?))));
        assert_eq!((twice.run("8").as_deref(), twice.run("6")), (Ok("2"), Err(Failed::Odd(3))));
    }
}
