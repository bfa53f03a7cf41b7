//! Calls in pieces: a parallel routine on frames of its own, and its results combined.
//!
//! ```text
//! trips 0..1000 ─> 64 pieces ─┬─ worker 0, on its frame: piece 0, 2, 5, …
//!                             └─ worker 1, on its frame: piece 1, 3, 4, …       each gives a result
//! results of pieces 0, 1, 2, … in this order ── combining routine ──> the result of the call
//! ```
//!
//! A frame of a worker gets the plain arguments once, and the arrays that are read are lent to it. Before each piece it
//! gets the numbers of its trips and its windows.
//!
//! 1. A run gives the same result, the same error and uses the same fuel, whatever the number of threads: what pieces
//!    used and raised is looked at in their order.
//! 2. Pieces run at the same time only if the bytes of their windows lie apart; else one after the other.
//! 3. When the call ends, nothing is lent to a frame any more.

use crate::frame::Frame;
use crate::frame::frame::FrameBase;
use crate::layout::TypedSlot;
use crate::layout::element_place::{Axis, ElementPlace};
use crate::layout::nd_handle::{NdHandle, RawElements};
use crate::machine::error::RunErrorKind;
use crate::machine::observer::Observer;
use crate::machine::options::{RunLimits, RunWatch};
use crate::machine::routine_code::Code;
use crate::machine::run::{Halt, Run};
use crate::operator::cell::Strips;
use crate::operator::copy::copy_elements;
use crate::operator::meter::{Meter, MeterLimits, Watch};
use crate::program::parallel::{Parallel, Window};
use crate::program::{Program, Routine, ValueId};
use crate::value::array::cell_size;
use crate::value::budget::Account;
use crate::value::nd_type::NdType;
use crate::value::{Exhausted, Fault, QType};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Most pieces of a call.
const MOST_PIECES: u64 = 64;

/// Most calls in pieces that are open at once: each takes a part of the thread's own stack.
const MOST_NESTED: usize = 32;

/// Time that is left, as far as the pieces so far tell, from which on threads are started.
const WORTH_THREADS: Duration = Duration::from_micros(200);

/// A call of a parallel routine.
#[derive(Debug)]
pub(super) struct ParallelCall {
    routine: u32,
    combine: u32,
    /// The numbers of the first trip and the one behind the last, in the frames of caller and callee.
    trips: [Argument; 2],
    /// Other arguments without handles.
    plain: Box<[Argument]>,
    /// Arrays that the routine reads.
    read: Box<[Argument]>,
    windows: Box<[BoundWindow]>,
    /// What a piece gives, and where the caller wants it.
    output: TypedSlot,
    result: TypedSlot,
    /// Inputs and output of the combining routine.
    so_far: TypedSlot,
    next: TypedSlot,
    combined: TypedSlot,
}

/// A value in the frame of the caller, and where a frame of the callee takes it.
#[derive(Clone, Debug)]
struct Argument {
    from: TypedSlot,
    to: TypedSlot,
}

/// A window of a call.
#[derive(Debug)]
struct BoundWindow {
    array: Argument,
    qtype: NdType,
    axis: usize,
    first: TypedSlot,
    step: TypedSlot,
}

/// The trips of a call, in pieces.
#[derive(Clone, Copy)]
struct Pieces {
    first: i64,
    trips: u64,
    count: u64,
}

impl Pieces {
    fn new(first: i64, end: i64) -> Pieces {
        let trips = if end > first { end.abs_diff(first) } else { 0 };
        Pieces { first, trips, count: trips.clamp(1, MOST_PIECES) }
    }

    /// The first trip of a piece; of the one behind the last piece, the trip behind the last.
    fn start(&self, number: u64) -> i64 {
        let trips = u128::from(self.trips) * u128::from(number) / u128::from(self.count);
        self.first.wrapping_add_unsigned(trips as u64)
    }
}

impl Argument {
    /// Copies a value without handles.
    ///
    /// # Safety
    /// The slots are of these frames, which are distinct, and nobody else accesses them meanwhile.
    unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise; the slots have one type.
        unsafe { copy_plain(from.add(self.from.offset() as usize), to, &self.to) }
    }
}

/// Copies a value without handles to a slot.
///
/// # Safety
/// A value of the slot's type stands at `from`, and the slot is one of the frame, which nobody else accesses.
unsafe fn copy_plain(from: *const u8, frame: *mut u8, to: &TypedSlot) {
    // SAFETY: the caller's promise.
    unsafe {
        let target = frame.add(to.offset() as usize);
        std::ptr::copy_nonoverlapping(from, target, to.qtype().size() as usize);
    }
}

/// Reads an INT64.
///
/// # Safety
/// An INT64 stands in the slot.
unsafe fn int(frame: *const u8, slot: &TypedSlot) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { frame.add(slot.offset() as usize).cast::<i64>().read_unaligned() }
}

impl ParallelCall {
    /// The call of a parallel routine with these operands and this result of the caller.
    pub(super) fn new(
        program: &Program,
        caller: &Routine,
        (routine, parallel): (u32, &Parallel),
        operands: &[ValueId],
        result: ValueId,
    ) -> ParallelCall {
        let callee = &program.routines()[routine as usize];
        let combine = &program.routines()[parallel.combine as usize];
        let arguments = operands.iter().zip(&callee.inputs).map(|(operand, (_, input))| {
            let (from, to) = (caller.slot(*operand).clone(), callee.slot(*input).clone());
            (*input, Argument { from, to })
        });
        let arguments: Vec<(ValueId, Argument)> = arguments.collect();
        let of_input = |input: ValueId| {
            let found = arguments.iter().find(|(value, _)| *value == input);
            found.expect("a window has inputs").1.clone()
        };
        let window = |window: &Window| {
            let array = of_input(window.array);
            let qtype = array.to.qtype().nd().expect("a window has an array");
            let (first, step) = (of_input(window.first).from, of_input(window.step).from);
            BoundWindow { array, qtype, axis: window.axis as usize, first, step }
        };
        let others = |is_array: bool| {
            let is_wanted = move |(value, argument): &&(ValueId, Argument)| {
                let is_window = callee.updated_inputs.contains(value);
                !is_window && matches!(argument.to.qtype(), QType::NdArray(_)) == is_array
            };
            arguments[2..].iter().filter(is_wanted).map(|(_, argument)| argument.clone())
        };
        ParallelCall {
            routine,
            combine: parallel.combine,
            trips: [arguments[0].1.clone(), arguments[1].1.clone()],
            plain: others(false).collect(),
            read: others(true).collect(),
            windows: parallel.windows.iter().map(window).collect(),
            output: callee.slot(callee.output).clone(),
            result: caller.slot(result).clone(),
            so_far: combine.slot(combine.inputs[0].1).clone(),
            next: combine.slot(combine.inputs[1].1).clone(),
            combined: combine.slot(combine.output).clone(),
        }
    }

    /// Copies arrays that are shared before pieces change them, and sees to it that each trip has its elements.
    ///
    /// # Errors
    /// There is no memory, or a trip has no element.
    ///
    /// # Safety
    /// The frame is that of the caller, and nobody else accesses it.
    unsafe fn open(&self, caller: *mut u8, pieces: &Pieces, meter: &Meter<'_>) -> Result<(), Fault> {
        for window in &self.windows {
            // SAFETY: the caller's promise; the verifier has seen the types.
            let (handle, first, step) = unsafe {
                let handle = caller.add(window.array.from.offset() as usize).cast::<NdHandle>();
                (&mut *handle, int(caller, &window.first), int(caller, &window.step))
            };
            let place = handle.make_mutable(|qtype, view, own| {
                copy_elements(view, own.resize_within(qtype, view.shape(), meter)?, meter)
            })?;
            if pieces.trips == 0 {
                continue;
            }
            let size = place.axes[window.axis].size;
            let ends = [pieces.first, pieces.start(pieces.count).wrapping_sub(1)];
            let position = |trip: i64| i128::from(first) + i128::from(step) * i128::from(trip);
            for at in ends.map(position) {
                if at < 0 || at >= i128::from(size) {
                    let index = at.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                    return Err(Fault::Index { index, size: size as i64 });
                }
            }
        }
        Ok(())
    }

    /// True if no byte between the first and the last element of a piece belongs to another piece.
    ///
    /// # Safety
    /// The frame is that of the caller, [`ParallelCall::open`] came before, and nobody changes the frame.
    unsafe fn is_apart(&self, caller: *const u8) -> bool {
        self.windows.iter().all(|window| {
            // SAFETY: the caller's promise.
            let (place, step) = unsafe { (window.place(caller), int(caller, &window.step)) };
            let axes = &place.axes[..window.qtype.rank()];
            let reach = |axis: &Axis| i128::from(axis.size.saturating_sub(1)) * i128::from(axis.stride).abs();
            let others = axes.iter().enumerate().filter(|(number, _)| *number != window.axis);
            let of_trip =
                others.map(|(_, axis)| reach(axis)).sum::<i128>() + cell_size(window.qtype.element()) as i128;
            of_trip <= (i128::from(axes[window.axis].stride) * i128::from(step)).abs()
        })
    }
}

impl BoundWindow {
    /// Where the elements stand.
    ///
    /// # Safety
    /// As [`ParallelCall::is_apart`].
    unsafe fn place<'f>(&self, caller: *const u8) -> &'f ElementPlace {
        // SAFETY: the caller's promise.
        unsafe { (*caller.add(self.array.from.offset() as usize).cast::<NdHandle>()).place() }
    }
}

/// A frame of the routine, with all arguments that pieces have in common.
struct Worker<'c> {
    call: &'c ParallelCall,
    caller: FrameBase,
    frame: Box<Frame>,
}

impl Worker<'_> {
    /// Hands the arguments that pieces have in common to the frame.
    ///
    /// # Errors
    /// There is no memory for an array that the routine reads as a whole, see [`Code::whole`].
    ///
    /// # Safety
    /// The caller's frame is one, and nobody changes it until [`Worker::leave`].
    unsafe fn enter(&mut self, code: &Code, meter: &Meter<'_>) -> Result<(), Fault> {
        let (FrameBase(caller), callee) = (self.caller, self.frame.base());
        // SAFETY: the caller's promise; the frames are distinct, and the verifier has seen the types.
        unsafe {
            self.call.plain.iter().for_each(|argument| argument.copy(caller, callee));
            for Argument { from, to } in &self.call.read {
                let array = &*caller.add(from.offset() as usize).cast::<NdHandle>();
                let target = &mut *callee.add(to.offset() as usize).cast::<NdHandle>();
                let (qtype, view) = array.find();
                match code.whole.iter().any(|slot| slot.overlaps(to)) {
                    true => target.owned().copy_within(qtype, &view, meter)?,
                    false => target.lend(RawElements::read_only(qtype, &view)),
                }
            }
        }
        Ok(())
    }

    /// Hands a piece to the frame.
    ///
    /// # Safety
    /// As [`Worker::enter`]; no other piece runs that has the same windows, nor one whose windows do not lie apart.
    unsafe fn begin(&mut self, pieces: &Pieces, number: u64) {
        let (FrameBase(caller), callee) = (self.caller, self.frame.base());
        let trips = [pieces.start(number), pieces.start(number + 1)];
        let count = trips[1].wrapping_sub(trips[0]) as usize;
        // SAFETY: the caller's promise; `open` has seen that all trips are inside of the arrays.
        unsafe {
            for (trip, argument) in trips.iter().zip(&self.call.trips) {
                copy_plain((&raw const *trip).cast(), callee, &argument.to);
            }
            for window in &self.call.windows {
                let (first, step) = (int(caller, &window.first), int(caller, &window.step));
                let first = if count == 0 { 0 } else { first.wrapping_add(step.wrapping_mul(trips[0])) };
                let place = window.place(caller);
                let elements = RawElements::window(window.qtype, place, window.axis, (first, step), count);
                (*callee.add(window.array.to.offset() as usize).cast::<NdHandle>()).lend(elements);
            }
        }
    }

    /// Takes back what is lent to the frame.
    fn leave(&mut self) {
        let arrays = self.call.read.iter().chain(self.call.windows.iter().map(|window| &window.array));
        for Argument { to, .. } in arrays {
            // SAFETY: a handle of an n-dimensional array stands there.
            unsafe { (*self.frame.base().add(to.offset() as usize).cast::<NdHandle>()).take_back() };
        }
    }

    /// The result of the last piece.
    fn output(&self) -> *const u8 {
        self.frame.base().wrapping_add(self.call.output.offset() as usize)
    }
}

impl Worker<'_> {
    /// A copy of the result of the last piece.
    fn result(&self) -> Vec<u8> {
        let size = self.call.output.qtype().size() as usize;
        // SAFETY: plain values have all their bytes.
        unsafe { std::slice::from_raw_parts(self.output(), size) }.to_vec()
    }
}

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
        let [first, end] = [0, 1].map(|end| {
            // SAFETY: the frame is that of the routine running, and the verifier has seen the type.
            unsafe { int(caller.0, &call.trips[end].from) }
        });
        let pieces = Pieces::new(first, end);
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
        unsafe { worker.enter(code, self.meter) }.map_err(|fault| self.halt(fault.into()))?;
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
        let mut others = Vec::new();
        let before = self.meter.alive();
        for _ in 1..threads {
            let mut other = self.worker(call)?;
            let code = &self.codes[call.routine as usize];
            // SAFETY: as for the first worker.
            unsafe { other.enter(code, self.meter) }.map_err(|fault| self.halt(fault.into()))?;
            others.push(other);
        }
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
        self.meter.give_back(self.meter.alive().saturating_sub(before.saturating_add_signed(grown)));
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
