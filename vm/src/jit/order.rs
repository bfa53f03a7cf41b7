//! Order: in which order operations without effects are computed, so that chains of them run side by side.
//!
//! ```text
//! chains, one behind the other    a1 a2 a3 a4 b1 b2 b3 b4      each waits for the one before it
//! in order                        a1 b1 a2 b2 a3 b3 a4 b4
//! ```
//!
//! A processor looks a few hundred instructions ahead; what stands farther apart does not overlap. This is list scheduling
//! for a machine that begins two operations a cycle: of what is ready, the operation with the longest way to the end comes
//! first. While more values are alive than there are registers, it is the one that frees most of them, among the first of the
//! program: these keep close what the program has close, which frees registers later.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Values that are alive before freeing registers comes first: those of x86-64 without AVX-512, less two for what an
/// operation needs on the way.
const REGISTERS: usize = 14;

/// Operations that begin in a cycle.
const WIDTH: u64 = 2;

/// Ready operations that are looked at for one that frees registers. With more of them short programs gain, and long ones lose.
const CANDIDATES: usize = 12;

/// An operation of a stretch without effects.
#[derive(Clone, Debug, Default)]
pub(super) struct Operation {
    /// The earlier operations of the stretch whose results it reads, each once.
    pub(super) reads: Vec<usize>,
    /// Cycles until its result is there.
    pub(super) latency: u64,
    /// True if the result is read behind the stretch.
    pub(super) is_kept: bool,
}

/// The numbers of the operations in the order in which to compute them: each behind those that it reads.
pub(super) fn order(operations: &[Operation]) -> Vec<usize> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
    for (number, operation) in operations.iter().enumerate() {
        operation.reads.iter().for_each(|read| readers[*read].push(number));
    }
    let mut to_end = vec![0; operations.len()];
    for (number, operation) in operations.iter().enumerate().rev() {
        let behind = readers[number].iter().map(|reader| to_end[*reader]).max().unwrap_or(0);
        to_end[number] = behind + operation.latency;
    }
    let mut schedule = Schedule {
        operations,
        to_end,
        missing: operations.iter().map(|operation| operation.reads.len()).collect(),
        unread: readers.iter().map(Vec::len).collect(),
        is_there_at: vec![0; operations.len()],
        ready: BTreeSet::new(),
        waiting: BTreeSet::new(),
        by_number: BTreeSet::new(),
        alive: 0,
    };
    let first = (0..operations.len()).filter(|number| operations[*number].reads.is_empty());
    first.for_each(|number| schedule.wait(number));
    let mut ordered = Vec::with_capacity(operations.len());
    let mut slot = 0;
    while let Some(number) = schedule.next(slot / WIDTH) {
        let cycle = schedule.begin(number, slot / WIDTH);
        slot = slot.max(cycle * WIDTH) + 1;
        ordered.push(number);
        for reader in &readers[number] {
            schedule.missing[*reader] -= 1;
            if schedule.missing[*reader] == 0 {
                schedule.wait(*reader);
            }
        }
    }
    ordered
}

struct Schedule<'o> {
    operations: &'o [Operation],
    /// By operation: cycles from its beginning to the end of all that needs it.
    to_end: Vec<u64>,
    /// By operation: how many that it reads have not begun.
    missing: Vec<usize>,
    /// By operation: how many that read it have not begun.
    unread: Vec<usize>,
    /// By operation: the cycle in which its result is there, if it has begun.
    is_there_at: Vec<u64>,
    /// What can begin, the longest way to the end first.
    ready: BTreeSet<(Reverse<u64>, usize)>,
    /// What can begin in a later cycle.
    waiting: BTreeSet<(u64, usize)>,
    /// Both, as they stand in the program.
    by_number: BTreeSet<usize>,
    /// Results that are still read.
    alive: usize,
}

impl Schedule<'_> {
    /// All that an operation reads has begun.
    fn wait(&mut self, number: usize) {
        let reads = self.operations[number].reads.iter();
        let at = reads.map(|read| self.is_there_at[*read]).max().unwrap_or(0);
        self.waiting.insert((at, number));
        self.by_number.insert(number);
    }

    /// The operation to begin, in a cycle or later; none at the end.
    fn next(&mut self, cycle: u64) -> Option<usize> {
        while let Some((at, number)) = self.waiting.first().copied().filter(|(at, _)| *at <= cycle) {
            self.waiting.remove(&(at, number));
            self.ready.insert((Reverse(self.to_end[number]), number));
        }
        if self.alive >= REGISTERS {
            let candidates = self.by_number.iter().take(CANDIDATES).copied();
            return candidates
                .max_by_key(|number| (self.freed(*number), self.to_end[*number], Reverse(*number)));
        }
        let ready = self.ready.first().map(|(_, number)| *number);
        ready.or_else(|| self.waiting.first().map(|(_, number)| *number))
    }

    /// How many results nobody else reads.
    fn freed(&self, number: usize) -> usize {
        let is_freed = |read: &&usize| self.unread[**read] == 1 && !self.operations[**read].is_kept;
        self.operations[number].reads.iter().filter(is_freed).count()
    }

    /// Begins an operation in a cycle or later; gives the cycle.
    fn begin(&mut self, number: usize, cycle: u64) -> u64 {
        let operation = &self.operations[number];
        let at = operation.reads.iter().map(|read| self.is_there_at[*read]).max().unwrap_or(0);
        self.ready.remove(&(Reverse(self.to_end[number]), number));
        self.waiting.remove(&(at, number));
        self.by_number.remove(&number);
        self.alive -= self.freed(number);
        operation.reads.iter().for_each(|read| self.unread[*read] -= 1);
        self.alive += usize::from(self.unread[number] > 0);
        let begins = at.max(cycle);
        self.is_there_at[number] = begins + operation.latency;
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(reads: impl Into<Vec<usize>>) -> Operation {
        Operation { reads: reads.into(), latency: 4, is_kept: false }
    }

    #[test]
    fn chains_run_side_by_side() {
        // Four chains of three, one behind the other.
        let operations: Vec<Operation> = (0..12)
            .map(|number| operation(if number % 3 == 0 { vec![] } else { vec![number - 1] }))
            .collect();
        assert_eq!(order(&operations), [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    }

    #[test]
    fn a_chain_stays_as_it_is() {
        let operations: Vec<Operation> = (0..50)
            .map(|number: usize| operation(number.checked_sub(1).into_iter().collect::<Vec<_>>()))
            .collect();
        assert_eq!(order(&operations), (0..50).collect::<Vec<_>>());
    }

    /// All operations, each behind those that it reads.
    #[test]
    fn operations_stand_behind_what_they_read() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for round in 0..200 {
            let len = 1 + random(120);
            let operations: Vec<Operation> = (0..len)
                .map(|number| {
                    let reads: BTreeSet<usize> = (0..random(4).min(number)).map(|_| random(number)).collect();
                    let reads = reads.into_iter().collect();
                    Operation { reads, latency: 1 + random(20) as u64, is_kept: random(3) == 0 }
                })
                .collect();
            let ordered = order(&operations);
            let mut place = vec![usize::MAX; len];
            ordered.iter().enumerate().for_each(|(at, number)| place[*number] = at);
            assert_eq!(ordered.len(), len, "round {round}");
            for (number, operation) in operations.iter().enumerate() {
                assert!(operation.reads.iter().all(|read| place[*read] < place[number]), "round {round}");
            }
        }
    }
}
