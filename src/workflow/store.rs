//! Stores: where results are kept under their keys.
//!
//! A store never fails. One that cannot read or write, such as one on a disk that is full, gives nothing or keeps
//! nothing, and the step runs again; what went wrong is the store's to tell.
//!
//! [`MemoryStore`] is bounded: those that were used longest ago go first.
//!
//! ```text
//! 3 results    save a  save b  save c  load a  save d          used: b, c, a, d ─> b goes
//! ```

use crate::workflow::fingerprint::StepKey;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps results under their keys.
pub trait Store<V> {
    /// The result under a key, if it is there and whole.
    fn load(&self, key: &StepKey) -> Option<V>;

    /// Keeps a result, if the store can.
    fn save(&self, key: &StepKey, value: &V);
}

impl<V, T: Store<V> + ?Sized> Store<V> for Arc<T> {
    fn load(&self, key: &StepKey) -> Option<V> {
        (**self).load(key)
    }

    fn save(&self, key: &StepKey, value: &V) {
        (**self).save(key, value);
    }
}

/// A number of results in memory. Threads may share it.
pub struct MemoryStore<V> {
    limit: usize,
    kept: Mutex<Kept<V>>,
}

struct Kept<V> {
    results: HashMap<StepKey, KeptResult<V>>,
    /// Keys by last use; the first was used longest ago.
    by_use: BTreeMap<u64, StepKey>,
    uses: u64,
}

struct KeptResult<V> {
    value: V,
    used: u64,
}

impl<V> MemoryStore<V> {
    /// A store for a number of results.
    pub fn new(results: usize) -> MemoryStore<V> {
        let kept = Kept { results: HashMap::new(), by_use: BTreeMap::new(), uses: 0 };
        MemoryStore { limit: results, kept: Mutex::new(kept) }
    }

    /// Number of results that are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.kept().results.len()
    }

    /// A panic while the lock is held can only come from `V::clone` or `V::drop`, with all fields in order.
    fn kept(&self) -> MutexGuard<'_, Kept<V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> fmt::Debug for MemoryStore<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} of {} results)", self.kept().results.len(), self.limit)
    }
}

impl<V: Clone> Store<V> for MemoryStore<V> {
    fn load(&self, key: &StepKey) -> Option<V> {
        let mut kept = self.kept();
        kept.touch(key);
        kept.results.get(key).map(|result| result.value.clone())
    }

    fn save(&self, key: &StepKey, value: &V) {
        if self.limit == 0 {
            return;
        }
        let value = value.clone();
        let mut kept = self.kept();
        kept.remove(key);
        while kept.results.len() >= self.limit {
            let Some(oldest) = kept.by_use.first_key_value().map(|(_, key)| *key) else { break };
            kept.remove(&oldest);
        }
        kept.insert(*key, value);
    }
}

impl<V> Kept<V> {
    /// Notes a use of a result.
    fn touch(&mut self, key: &StepKey) {
        let Some(result) = self.results.get_mut(key) else { return };
        self.by_use.remove(&result.used);
        self.uses += 1;
        result.used = self.uses;
        self.by_use.insert(self.uses, *key);
    }

    fn insert(&mut self, key: StepKey, value: V) {
        self.uses += 1;
        self.by_use.insert(self.uses, key);
        self.results.insert(key, KeptResult { value, used: self.uses });
    }

    fn remove(&mut self, key: &StepKey) {
        let Some(result) = self.results.remove(key) else { return };
        self.by_use.remove(&result.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: i64) -> StepKey {
        StepKey::of(&n)
    }

    fn has<V: Clone>(store: &MemoryStore<V>, keys: &[i64]) -> Vec<i64> {
        let kept = store.kept();
        keys.iter().copied().filter(|n| kept.results.contains_key(&key(*n))).collect()
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let store = MemoryStore::new(3);
        (1..=3).for_each(|n| store.save(&key(n), &n));
        assert_eq!(store.load(&key(1)), Some(1));
        store.save(&key(4), &4);
        assert_eq!(has(&store, &[1, 2, 3, 4]), [1, 3, 4]);
        assert_eq!(store.load(&key(2)), None);
        store.save(&key(3), &30);
        store.save(&key(5), &5);
        assert_eq!(has(&store, &[1, 2, 3, 4, 5]), [3, 4, 5]);
        assert_eq!(store.load(&key(3)), Some(30));
        let kept = store.kept();
        assert_eq!((kept.results.len(), kept.by_use.len()), (3, 3));
    }

    #[test]
    fn a_store_for_nothing_keeps_nothing() {
        let store = MemoryStore::new(0);
        store.save(&key(1), &1);
        assert_eq!((store.load(&key(1)), has(&store, &[1])), (None, vec![]));
    }
}
