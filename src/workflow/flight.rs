//! Flights: of those who want one result at one time, one computes it and the others wait.
//!
//! ```text
//! thread 1   board: leads   ── computes ── land(outcome)
//! thread 2   board: waits   ┄┄┄┄┄┄┄┄┄┄┄┄┄┄ outcome
//! thread 3                                                board: leads
//! ```
//!
//! 1. At any time at most one flight of a key is in the air.
//! 2. A flight ends when its leader lands it or is dropped, as by a panic. Those who wait then get the outcome, or
//!    nothing and board again.

use crate::workflow::fingerprint::StepKey;
use hashbrown::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The flights in the air, by key.
pub(super) struct Flights<T> {
    by_key: Mutex<HashMap<StepKey, Arc<Flight<T>>>>,
}

/// One computation that others may wait for.
struct Flight<T> {
    state: Mutex<FlightState<T>>,
    ended: Condvar,
}

enum FlightState<T> {
    InTheAir,
    Landed(T),
    Lost,
}

/// Who computes, and who waits.
pub(super) enum Boarded<'f, T> {
    /// The caller computes, and lands.
    Leads(Leader<'f, T>),
    /// Somebody else has computed; nothing if that was lost.
    Waited(Option<T>),
}

/// The one who computes.
pub(super) struct Leader<'f, T> {
    flights: &'f Flights<T>,
    flight: Arc<Flight<T>>,
    key: StepKey,
}

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Flights { by_key: Mutex::new(HashMap::new()) }
    }
}

impl<T: Clone> Flights<T> {
    /// Leads the flight of a key, or waits until it ends.
    pub(super) fn board(&self, key: StepKey) -> Boarded<'_, T> {
        let flight = {
            let mut flights = lock(&self.by_key);
            match flights.get(&key) {
                Some(flight) => flight.clone(),
                None => {
                    let state = Mutex::new(FlightState::InTheAir);
                    let flight = Arc::new(Flight { state, ended: Condvar::new() });
                    flights.insert(key, flight.clone());
                    return Boarded::Leads(Leader { flights: self, flight, key });
                }
            }
        };
        Boarded::Waited(flight.wait())
    }
}

impl<T: Clone> Flight<T> {
    fn wait(&self) -> Option<T> {
        let in_the_air = |state: &mut FlightState<T>| matches!(state, FlightState::InTheAir);
        let state =
            self.ended.wait_while(lock(&self.state), in_the_air).unwrap_or_else(PoisonError::into_inner);
        match &*state {
            FlightState::Landed(outcome) => Some(outcome.clone()),
            FlightState::InTheAir | FlightState::Lost => None,
        }
    }
}

impl<T> Leader<'_, T> {
    /// Gives the outcome to all who wait.
    pub(super) fn land(self, outcome: T) {
        *lock(&self.flight.state) = FlightState::Landed(outcome);
    }
}

impl<T> Drop for Leader<'_, T> {
    /// Ends the flight; it is lost if it has not landed.
    fn drop(&mut self) {
        lock(&self.flights.by_key).remove(&self.key);
        let mut state = lock(&self.flight.state);
        if matches!(*state, FlightState::InTheAir) {
            *state = FlightState::Lost;
        }
        self.flight.ended.notify_all();
    }
}

/// A panic while a lock is held leaves nothing half done: each holder makes one change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
