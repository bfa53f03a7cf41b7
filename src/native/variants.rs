//! Variants of a program, built by threads while others run: each is loaded when it is first called.
//!
//! ```text
//! waiting ──a thread, or whoever calls it first──> building ──> built, or failed
//! ```
//!
//! 1. A variant is built once. Who calls one that is being built waits for it; one that waits is built by its caller.
//! 2. The error of a variant is given to all who call it. If nobody does, it is reported once, when the variants go.
//! 3. When the variants go, what has not been begun is not built any more.

use crate::native::cache::NativeCache;
use crate::native::error::NativeError;
use crate::native::stage::ProgramCall;
use cembra_vm::library::Library;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// What is done with the error of a variant that nobody has called.
type Report = dyn Fn(&ProgramCall, &NativeError) + Send + Sync;

/// Variants that are being built.
pub struct Variants {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    report: Box<Report>,
}

struct Shared {
    cache: NativeCache,
    calls: Vec<ProgramCall>,
    states: Mutex<Vec<State>>,
    changed: Condvar,
    /// The first one that no thread has looked at.
    next: AtomicUsize,
    is_over: AtomicBool,
}

/// How far a variant is.
#[derive(Clone)]
enum State {
    Waiting,
    Building,
    /// On disk.
    Built,
    Loaded(Library),
    Failed {
        error: NativeError,
        is_told: bool,
    },
}

impl fmt::Debug for Variants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variants({})", self.shared.calls.len())
    }
}

impl Variants {
    /// Begins to build variants in a cache, by so many threads of their own; without any, each is built when it is first
    /// called. `report` gets the errors of those that nobody has called.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn begin(
        cache: NativeCache,
        calls: Vec<ProgramCall>,
        threads: usize,
        report: impl Fn(&ProgramCall, &NativeError) + Send + Sync + 'static,
    ) -> Result<Variants, NativeError> {
        let threads = threads.min(calls.len());
        let shared = Arc::new(Shared {
            cache,
            states: Mutex::new(vec![State::Waiting; calls.len()]),
            calls,
            changed: Condvar::new(),
            next: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let mut variants = Variants { shared, workers: Vec::new(), report: Box::new(report) };
        for _ in 0..threads {
            let shared = variants.shared.clone();
            let worker = std::thread::Builder::new().name("variants".to_owned()).spawn(move || shared.work());
            variants.workers.push(worker.map_err(|error| NativeError::file("thread", error))?);
        }
        Ok(variants)
    }

    /// The variants, in the order in which they were given.
    pub fn calls(&self) -> &[ProgramCall] {
        &self.shared.calls
    }

    /// The library of a variant, as soon as it is there.
    ///
    /// # Errors
    /// Why it cannot be built.
    ///
    /// # Panics
    /// There is no variant of this number.
    pub fn library(&self, number: usize) -> Result<Library, NativeError> {
        self.shared.library(number)
    }
}

impl Drop for Variants {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            // A thread that panicked has said so, and leaves its variant to others.
            let _ = worker.join();
        }
        for (call, state) in self.shared.calls.iter().zip(self.shared.states().iter()) {
            if let State::Failed { error, is_told: false } = state {
                (self.report)(call, error);
            }
        }
    }
}

impl Shared {
    fn states(&self) -> MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds what waits, until nothing does.
    fn work(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.calls.len() || self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let is_waiting = {
                let state = &mut self.states()[number];
                let is_waiting = matches!(state, State::Waiting);
                if is_waiting {
                    *state = State::Building;
                }
                is_waiting
            };
            if is_waiting {
                self.build(number);
            }
        }
    }

    /// Builds a variant whose state says so.
    fn build(&self, number: usize) {
        let mut building = Building { shared: self, number, becomes: State::Waiting };
        building.becomes = match self.cache.artifact(&self.calls[number]) {
            Ok(_) => State::Built,
            Err(error) => State::Failed { error, is_told: false },
        };
    }

    fn library(&self, number: usize) -> Result<Library, NativeError> {
        loop {
            let mut states = self.states();
            match &mut states[number] {
                State::Loaded(library) => return Ok(library.clone()),
                State::Failed { error, is_told } => {
                    *is_told = true;
                    return Err(error.clone());
                }
                State::Building => drop(self.changed.wait(states)),
                state @ State::Waiting => {
                    *state = State::Building;
                    drop(states);
                    self.build(number);
                }
                State::Built => {
                    drop(states);
                    let library = self.cache.library(&self.calls[number])?;
                    self.states()[number] = State::Loaded(library.clone());
                    return Ok(library);
                }
            }
        }
    }
}

/// A variant that is being built; the next state is known when it goes, also by a panic.
struct Building<'s> {
    shared: &'s Shared,
    number: usize,
    becomes: State,
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.shared.states()[self.number] = std::mem::replace(&mut self.becomes, State::Waiting);
        self.shared.changed.notify_all();
    }
}
