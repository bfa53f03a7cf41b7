//! Pieces: calls of parallel routines, on frames of their own.
//!
//! ```text
//! trips 0..1000 ─> 64 pieces ─┬─ worker 0, on its frame: piece 0, 2, 5, …
//!                             └─ worker 1, on its frame: piece 1, 3, 4, …       each gives a result
//! results of pieces 0, 1, 2, … in this order ── combining routine ──> the result of the call
//! ```
//!
//! 1. A run gives the same result, the same error and uses the same fuel, whatever the number of threads: what pieces
//!    used and raised is looked at in their order.
//! 2. Pieces run at the same time only if the bytes of their windows lie apart; else one after the other.

use crate::array::meter::{Meter, MeterLimits, Watch};
use crate::frame::Frame;
use crate::frame::frame::FrameBase;
use crate::machine::error::RunErrorKind;
use crate::machine::observer::Observer;
use crate::machine::options::{RunLimits, RunWatch};
use crate::machine::parallel::{ParallelCall, Pieces, Worker, copy_plain};
use crate::machine::routine_code::Code;
use crate::machine::run::{Halt, Run};
use crate::operator::cell::Strips;
use crate::program::Program;
use crate::value::budget::Account;
use crate::value::{Exhausted, Fault};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Most calls in pieces that are open at once: each takes a part of the thread's own stack.
const MOST_NESTED: usize = 32;

/// Time that is left, as far as the pieces so far tell, from which on threads are started.
const WORTH_THREADS: Duration = Duration::from_micros(200);

/// What a piece did.
struct Done {
    number: u64,
    outcome: Result<Vec<u8>, Box<Halt>>,
    fuel: i64,
    rows: u64,
}

/// What pieces on other threads need of the run.
struct Setting<'r> {
    program: &'r Program,
    codes: &'r [Code],
    watch: Option<&'r RunWatch<'r>>,
    fuel: u64,
    meter: MeterLimits,
    rows_used: u64,
    alive: u64,
    call_depth: usize,
    call_frame_bytes: u64,
    nested: usize,
    strips: Strips,
}

// SAFETY: nobody changes code that is bound, see `BoundExpr`; all else may be shared.
unsafe impl Sync for Setting<'_> {}

impl Setting<'_> {
    /// Runs pieces, the next one that nobody has taken, until there are none or one has failed; gives what they did, and by
    /// how much the memory of the worker's frame has grown.
    fn work(
        &self,
        pieces: &Pieces,
        worker: &mut Worker<'_>,
        next: &AtomicU64,
        failed: &AtomicU64,
    ) -> (Vec<Done>, i64) {
        let watch = self.watch.map(|watch| watch as &dyn Watch);
        let meter = Meter::new(&self.meter, self.alive).after(self.rows_used).watched(watch);
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= pieces.count || number > failed.load(Ordering::Relaxed) {
                return (done, meter.alive() as i64 - self.alive as i64);
            }
            // SAFETY: each piece is taken once, and those that run at the same time lie apart.
            unsafe { worker.begin(pieces, number) };
            let limits = RunLimits {
                fuel: self.fuel,
                meter: self.meter,
                call_depth: self.call_depth,
                call_frame_bytes: self.call_frame_bytes,
                nested: self.nested,
                strips: self.strips,
                ..RunLimits::DEFAULT
            };
            let (rows, frame) = (meter.rows_used(), &mut worker.frame);
            let run = Run::new(self.program, self.codes, frame, &limits, None, &meter, self.watch);
            let mut run = run.of_routine(worker.call.routine, 0);
            let outcome = run.run();
            let fuel = self.fuel as i64 - run.registers.left();
            run.end();
            let outcome = outcome.map(|()| worker.result()).inspect_err(|_| {
                failed.fetch_min(number, Ordering::Relaxed);
            });
            done.push(Done { number, outcome, fuel, rows: meter.rows_used() - rows });
        }
    }
}

impl<'r> Run<'r, '_> {
    /// Runs a call in pieces.
    pub(super) fn in_pieces(&mut self, call: &'r ParallelCall) -> Result<(), Box<Halt>> {
        if self.limits.nested >= MOST_NESTED {
            return Err(self.halt(RunErrorKind::CallDepth { limit: MOST_NESTED }));
        }
        let caller = FrameBase(self.calls.base);
        // SAFETY: the frame is that of the routine running.
        let pieces = unsafe { call.pieces(caller.0) };
        // SAFETY: the frame is that of the routine running, and no cell runs at the moment.
        unsafe { call.open(caller.0, &pieces, self.meter) }.map_err(|fault| self.halt(fault.into()))?;
        let mut worker = self.worker(call)?;
        let mut combine = self.calls.take_frame(call.combine).map_err(|kind| self.halt(kind))?;
        let outcome = self.pieces(&pieces, &mut worker, &mut combine);
        worker.leave();
        self.calls.keep_frame(call.routine, worker.frame);
        self.calls.keep_frame(call.combine, combine);
        outcome
    }

    fn worker(&mut self, call: &'r ParallelCall) -> Result<Worker<'r>, Box<Halt>> {
        let frame = self.calls.take_frame(call.routine).map_err(|kind| self.halt(kind))?;
        Ok(Worker { call, caller: FrameBase(self.calls.base), frame })
    }

    fn pieces(
        &mut self,
        pieces: &Pieces,
        worker: &mut Worker<'r>,
        combine: &mut Frame,
    ) -> Result<(), Box<Halt>> {
        let call = worker.call;
        let code = &self.codes[call.routine as usize];
        // SAFETY: the frame of the caller stays as it is until the call ends, but for elements of windows.
        unsafe { worker.enter(&code.whole, self.meter) }.map_err(|fault| self.halt(fault.into()))?;
        // SAFETY: as above.
        let may_share =
            self.limits.threads > 1 && self.observer.is_none() && unsafe { call.is_apart(self.calls.base) };
        let started = may_share.then(Instant::now);
        for number in 0..pieces.count {
            if let Some(started) = started.filter(|_| number > 0) {
                let left =
                    started.elapsed().as_nanos() * u128::from(pieces.count - number) / u128::from(number);
                if left >= WORTH_THREADS.as_nanos() {
                    self.share(pieces, number, worker, combine)?;
                    break;
                }
            }
            // SAFETY: pieces run one after the other here.
            unsafe { worker.begin(pieces, number) };
            self.run_on(call.routine, &mut worker.frame)?;
            self.combine(call, number, worker.output(), combine)?;
        }
        // SAFETY: the results are plain values of one type, and the frames distinct.
        unsafe {
            let so_far = combine.base().add(call.so_far.offset() as usize);
            copy_plain(so_far, self.calls.base, &call.result);
        }
        Ok(())
    }

    /// Adds the result of a piece to that of the pieces before.
    fn combine(
        &mut self,
        call: &ParallelCall,
        number: u64,
        result: *const u8,
        frame: &mut Frame,
    ) -> Result<(), Box<Halt>> {
        let target = if number == 0 { &call.so_far } else { &call.next };
        // SAFETY: results and inputs have one type, without handles.
        unsafe { copy_plain(result, frame.base(), target) };
        if number > 0 {
            self.run_on(call.combine, frame)?;
            let combined = frame.base().wrapping_add(call.combined.offset() as usize);
            // SAFETY: as above; inputs and output of a routine lie apart.
            unsafe { copy_plain(combined, frame.base(), &call.so_far) };
        }
        Ok(())
    }

    /// Runs a routine on a frame that has its inputs, as a part of this run.
    fn run_on(&mut self, routine: u32, frame: &mut Frame) -> Result<(), Box<Halt>> {
        let (call_depth, call_frame_bytes) = self.calls.room();
        let fuel = self.registers.left().max(0) as u64;
        let nested = self.limits.nested + 1;
        let limits = RunLimits { fuel, nested, call_depth, call_frame_bytes, used: None, ..*self.limits };
        let depth = self.outer_depth + self.calls.depth() + 1;
        let observer = self.observer.as_mut().map(|observer| &mut **observer as &mut dyn Observer);
        let run = Run::new(self.program, self.codes, frame, &limits, observer, self.meter, self.watch);
        let mut run = run.of_routine(routine, depth);
        let outcome = run.run();
        let left = run.registers.left();
        run.end();
        self.registers.reserve -= fuel as i64 - left;
        outcome.map_err(|halt| self.as_of_whole(halt))
    }

    /// An error of a part of this run, with the limits of the whole.
    fn as_of_whole(&mut self, mut halt: Box<Halt>) -> Box<Halt> {
        halt.kind = match halt.kind {
            // Where a piece runs out depends on what others have used, so it is the call that is said to.
            RunErrorKind::OutOfFuel { .. } => {
                return self.halt(RunErrorKind::OutOfFuel { fuel: self.limits.fuel });
            }
            RunErrorKind::CallDepth { limit } if limit != MOST_NESTED => {
                RunErrorKind::CallDepth { limit: self.limits.call_depth }
            }
            RunErrorKind::CallFrameBytes { actual, .. } => {
                let limit = self.limits.call_frame_bytes;
                RunErrorKind::CallFrameBytes { actual: actual + self.calls.bytes(), limit }
            }
            RunErrorKind::Fault(Fault::Exhausted(Exhausted::Bytes { asked, alive, .. })) => {
                let limit = self.limits.meter.bytes_alive;
                RunErrorKind::Fault(Fault::Exhausted(Exhausted::Bytes { asked, alive, limit }))
            }
            kind => kind,
        };
        halt
    }

    /// Runs pieces from a number on, on several threads, and combines their results.
    fn share(
        &mut self,
        pieces: &Pieces,
        from: u64,
        worker: &mut Worker<'r>,
        combine: &mut Frame,
    ) -> Result<(), Box<Halt>> {
        let call = worker.call;
        let threads = self.limits.threads.min((pieces.count - from) as usize);
        let before = self.meter.alive();
        let mut others = self.others(call, threads - 1).inspect_err(|_| {
            self.meter.give_back(self.meter.alive().saturating_sub(before));
        })?;
        let setting = self.setting(threads as u64);
        let (next, failed) = (AtomicU64::new(from), AtomicU64::new(u64::MAX));
        let work = |worker: &mut Worker<'r>| setting.work(pieces, worker, &next, &failed);
        let (mut done, grown) = thread::scope(|scope| {
            let others: Vec<_> = others.iter_mut().map(|other| scope.spawn(|| work(other).0)).collect();
            let (mut done, grown) = work(worker);
            for other in others {
                done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            (done, grown)
        });
        // The frames of the other workers go, with what they hold.
        drop(others);
        let alive = before.saturating_add_signed(grown);
        self.meter.give_back(self.meter.alive().saturating_sub(alive));
        let charged = self.meter.charge(alive.saturating_sub(self.meter.alive()));
        charged.map_err(|error| self.halt(Fault::from(error).into()))?;
        done.sort_unstable_by_key(|done| done.number);
        for Done { number, outcome, fuel, rows } in done {
            self.registers.reserve -= fuel;
            let charged = self.meter.rows(rows as usize);
            if self.registers.left() < 0 {
                return Err(self.halt(RunErrorKind::OutOfFuel { fuel: self.limits.fuel }));
            }
            let result = outcome.map_err(|halt| self.as_of_whole(halt))?;
            charged.map_err(|fault| self.halt(fault.into()))?;
            self.combine(call, number, result.as_ptr(), combine)?;
        }
        Ok(())
    }

    /// Further workers, ready to begin.
    fn others(&mut self, call: &'r ParallelCall, count: usize) -> Result<Vec<Worker<'r>>, Box<Halt>> {
        let code = &self.codes[call.routine as usize];
        let mut others = Vec::new();
        for _ in 0..count {
            let mut other = self.worker(call)?;
            // SAFETY: as for the first worker.
            unsafe { other.enter(&code.whole, self.meter) }.map_err(|fault| self.halt(fault.into()))?;
            others.push(other);
        }
        Ok(others)
    }

    fn setting(&self, threads: u64) -> Setting<'r> {
        let (call_depth, call_frame_bytes) = self.calls.room();
        let (alive, limit) = (self.meter.alive(), self.limits.meter.bytes_alive);
        let share = alive + limit.saturating_sub(alive) / threads;
        Setting {
            program: self.program,
            codes: self.codes,
            watch: self.watch,
            fuel: self.registers.left().max(0) as u64,
            meter: MeterLimits { bytes_alive: share, ..self.limits.meter },
            rows_used: self.meter.rows_used(),
            alive,
            call_depth,
            call_frame_bytes,
            nested: self.limits.nested + 1,
            strips: self.limits.strips,
        }
    }
}
