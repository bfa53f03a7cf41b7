//! Cached: a step, or a whole sequence, that runs once for each key.
//!
//! ```text
//! input ─> key ─> store ──has it──> result
//!                   └──has not──> step ─> result ─> store
//! ```
//!
//! The key is of the *identity* of the step and of the input. The identity says all that results depend on besides
//! the input: the name of the step, its version, its options. Two steps may share a store if their identities
//! differ.
//!
//! 1. Of several callers that want one key at one time, one runs the step; the others wait for its outcome,
//!    whether a result or an error (*single flight*). This holds among the callers of one `Cached`.
//! 2. Errors are not stored: the next caller runs the step again.
//! 3. If the step panics, those who wait run it themselves.
//! 4. A step must not want its own key while it runs: it would wait for itself.
//!
//! ```
//! use cembra::workflow::{Cached, MemoryStore, Step, step};
//! use std::cell::Cell;
//! let runs = Cell::new(0);
//! let square = step("square", |n: i64| {
//!     runs.set(runs.get() + 1);
//!     n.checked_mul(n).ok_or("too large")
//! });
//! let square = Cached::new(square, &("square", 1u32), MemoryStore::new(100));
//! assert_eq!((square.run(12), square.run(12), runs.get()), (Ok(144), Ok(144), 1));
//! ```
//!
//! A step whose input has no fingerprint does not compile:
//!
//! ```compile_fail,E0599
//! use cembra::workflow::{Cached, MemoryStore, Step, step};
//! struct Opaque;
//! let size = step("size", |_: Opaque| Ok::<_, ()>(0));
//! Cached::new(size, "size", MemoryStore::new(1)).run(Opaque);
//! ```

use crate::workflow::fingerprint::{Fingerprint, StepKey};
use crate::workflow::flight::{Boarded, Flights};
use crate::workflow::step::Step;
use crate::workflow::store::Store;
use std::fmt;

/// A step in front of which stands a store.
pub struct Cached<S, T, O, E> {
    step: S,
    identity: StepKey,
    store: T,
    flights: Flights<Result<O, E>>,
}

impl<S, T, O, E> Cached<S, T, O, E> {
    /// Keeps the results of a step in a store. The identity says all that results depend on besides the input.
    ///
    /// The version of this crate is part of every key, so that a store on disk outlives no release.
    pub fn new(step: S, identity: &(impl Fingerprint + ?Sized), store: T) -> Cached<S, T, O, E> {
        let identity = StepKey::of(&(env!("CARGO_PKG_VERSION"), identity));
        Cached { step, identity, store, flights: Flights::default() }
    }

    /// The key of an input.
    fn key(&self, input: &impl Fingerprint) -> StepKey {
        StepKey::of(&(self.identity, input))
    }

    /// The store.
    #[cfg(test)]
    fn store(&self) -> &T {
        &self.store
    }
}

impl<S: fmt::Debug, T, O, E> fmt::Debug for Cached<S, T, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cached({:?})", self.step)
    }
}

impl<I, S, T> Step<I> for Cached<S, T, S::Out, S::Err>
where
    I: Fingerprint,
    S: Step<I, Out: Clone, Err: Clone>,
    T: Store<S::Out>,
{
    type Out = S::Out;
    type Err = S::Err;

    fn name(&self) -> &str {
        self.step.name()
    }

    fn run(&self, input: I) -> Result<S::Out, S::Err> {
        let key = self.key(&input);
        loop {
            if let Some(result) = self.store.load(&key) {
                return Ok(result);
            }
            let leader = match self.flights.board(key) {
                Boarded::Leads(leader) => leader,
                Boarded::Waited(Some(outcome)) => return outcome,
                Boarded::Waited(None) => continue,
            };
            // A flight may have landed since the store was asked.
            let outcome = match self.store.load(&key) {
                Some(result) => Ok(result),
                None => self.step.run(input).inspect(|result| self.store.save(&key, result)),
            };
            leader.land(outcome.clone());
            return outcome;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::step::step;
    use crate::workflow::store::MemoryStore;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, Barrier};
    use std::time::{Duration, Instant};

    /// A count of runs.
    #[derive(Default)]
    struct Runs(AtomicUsize);

    impl Runs {
        /// Counts one, and tells which it is.
        fn next(&self) -> usize {
            self.0.fetch_add(1, SeqCst) + 1
        }

        fn count(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    /// Waits until something holds; fails after ten seconds.
    fn until(holds: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !holds() {
            assert!(Instant::now() < end, "nothing happens");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_result_is_computed_once() {
        let runs = Runs::default();
        let double = step("double", |n: i64| -> Result<i64, ()> {
            runs.next();
            Ok(2 * n)
        });
        let double = Cached::new(double, "double", MemoryStore::new(8));
        assert_eq!((double.run(3), double.run(3), runs.count()), (Ok(6), Ok(6), 1));
        assert_eq!((double.run(4), runs.count()), (Ok(8), 2));
        assert_eq!((double.name(), double.store().len()), ("double", 2));
    }

    #[test]
    fn steps_of_other_identities_share_a_store() {
        let store = Arc::new(MemoryStore::new(8));
        let times = |factor: i64| {
            let times = step("times", move |n: i64| Ok::<_, ()>(factor * n));
            Cached::new(times, &("times", factor), store.clone())
        };
        assert_eq!((times(2).run(5), times(3).run(5), times(2).run(5)), (Ok(10), Ok(15), Ok(10)));
        assert_eq!(store.len(), 2);
        assert_ne!(times(2).key(&5i64), times(3).key(&5i64));
    }

    #[test]
    fn a_whole_chain_is_a_step() {
        let runs = Runs::default();
        let parse = step("parse", |text: &str| {
            runs.next();
            text.parse::<i64>()
        });
        let chain = Cached::new(parse.chain(step("double", |n| Ok(2 * n))), "chain", MemoryStore::new(1));
        assert_eq!((chain.run("21"), chain.run("21"), runs.count()), (Ok(42), Ok(42), 1));
        // The store has room for one.
        assert_eq!((chain.run("1"), chain.run("21"), runs.count()), (Ok(2), Ok(42), 3));
    }

    #[test]
    fn errors_are_not_stored() {
        let runs = Runs::default();
        let second = step("second", |n: i64| if runs.next() < 2 { Err("not yet") } else { Ok(n) });
        let second = Cached::new(second, "second", MemoryStore::new(8));
        assert_eq!((second.run(7), second.store().len()), (Err("not yet"), 0));
        assert_eq!((second.run(7), second.run(7), runs.count()), (Ok(7), Ok(7), 2));
    }

    /// Calls one cached step from eight threads at once. The first to run the step holds until the others have had
    /// time to arrive.
    fn eight_at_once<T: Send>(call: impl Fn() -> T + Sync) -> Vec<T> {
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        call()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("the call does not panic")).collect()
        })
    }

    #[test]
    fn eight_threads_compute_once() {
        for _ in 0..20 {
            let runs = Runs::default();
            let slow = step("slow", |n: i64| -> Result<i64, ()> {
                runs.next();
                std::thread::sleep(Duration::from_millis(5));
                Ok(n + 1)
            });
            let slow = Cached::new(slow, "slow", MemoryStore::new(8));
            assert_eq!(eight_at_once(|| slow.run(1)), [Ok(2); 8]);
            assert_eq!(runs.count(), 1);
        }
    }

    #[test]
    fn single_flight_does_not_lean_on_the_store() {
        let (runs, arrived) = (Runs::default(), Runs::default());
        let slow = step("slow", |n: i64| -> Result<i64, ()> {
            runs.next();
            until(|| arrived.count() == 8);
            std::thread::sleep(Duration::from_millis(50));
            Ok(n + 1)
        });
        let slow = Cached::new(slow, "slow", MemoryStore::new(0));
        let call = || {
            arrived.next();
            slow.run(1)
        };
        assert_eq!(eight_at_once(call), [Ok(2); 8]);
        assert!(runs.count() < 8, "those who arrive in time wait: {} runs", runs.count());
    }

    #[test]
    fn those_who_wait_get_the_error_and_the_next_tries_again() {
        let (runs, arrived) = (Runs::default(), Runs::default());
        let fails = step("fails", |_: i64| -> Result<i64, usize> {
            let run = runs.next();
            until(|| arrived.count() == 8);
            std::thread::sleep(Duration::from_millis(50));
            Err(run)
        });
        let fails = Cached::new(fails, "fails", MemoryStore::new(8));
        let outcomes = eight_at_once(|| {
            arrived.next();
            fails.run(1)
        });
        assert!(outcomes.iter().all(Result::is_err) && outcomes.contains(&Err(1)));
        let before = runs.count();
        assert_eq!((fails.run(1), fails.store().len()), (Err(before + 1), 0));
    }

    #[test]
    fn a_panic_blocks_nobody() {
        let (runs, arrived) = (Runs::default(), Runs::default());
        let once = step("once", |n: i64| -> Result<i64, ()> {
            if runs.next() == 1 {
                until(|| arrived.count() == 8);
                std::panic::panic_any("the first run is lost");
            }
            Ok(n + 1)
        });
        let once = Cached::new(once, "once", MemoryStore::new(8));
        let outcomes = eight_at_once(|| {
            arrived.next();
            catch_unwind(AssertUnwindSafe(|| once.run(1))).ok()
        });
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_none()).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Some(Ok(2))).count(), 7);
        assert_eq!(runs.count(), 2);
    }

    #[test]
    fn other_keys_do_not_wait() {
        let both = Barrier::new(2);
        let meet = step("meet", |n: i64| -> Result<i64, ()> {
            both.wait();
            Ok(n)
        });
        let meet = Cached::new(meet, "meet", MemoryStore::new(8));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| meet.run(1));
            assert_eq!((meet.run(2), other.join().expect("no panic")), (Ok(2), Ok(1)));
        });
    }
}
