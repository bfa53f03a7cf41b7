//! Parallel calls: what goes to the frames of pieces, and comes back.
//!
//! ```text
//! frame of the caller                    frame of a worker
//! plain arguments    ── copied once ──>  inputs
//! arrays that stay   ── lent once ────>  inputs, read in place
//! arrays that change ── before each piece, its window is lent
//! numbers of trips   ── before each piece
//! ```
//!
//! 1. Windows of different pieces have no element in common.
//! 2. When the call ends, nothing is lent to a frame any more.

use crate::array::meter::Meter;
use crate::frame::Frame;
use crate::frame::frame::FrameBase;
use crate::layout::TypedSlot;
use crate::layout::element_place::{Axis, ElementPlace};
use crate::layout::nd_handle::{NdHandle, RawElements};
use crate::operator::copy::copy_elements;
use crate::program::parallel::{Parallel, Window};
use crate::program::{Program, Routine, ValueId};
use crate::value::array::cell_size;
use crate::value::nd_type::NdType;
use crate::value::{Fault, QType};

/// Most pieces of a call.
const MOST_PIECES: u64 = 64;

/// A call of a parallel routine.
#[derive(Debug)]
pub(super) struct ParallelCall {
    pub(super) routine: u32,
    pub(super) combine: u32,
    /// The numbers of the first trip and the one behind the last, in the frames of caller and callee.
    trips: [Argument; 2],
    /// Other arguments without handles.
    plain: Box<[Argument]>,
    /// Arrays that the routine reads.
    read: Box<[Argument]>,
    windows: Box<[BoundWindow]>,
    /// What a piece gives, and where the caller wants it.
    output: TypedSlot,
    pub(super) result: TypedSlot,
    /// Inputs and output of the combining routine.
    pub(super) so_far: TypedSlot,
    pub(super) next: TypedSlot,
    pub(super) combined: TypedSlot,
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
pub(super) struct Pieces {
    first: i64,
    trips: u64,
    pub(super) count: u64,
}

impl Pieces {
    /// The trips from a first one to the one behind the last.
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
pub(super) unsafe fn copy_plain(from: *const u8, frame: *mut u8, to: &TypedSlot) {
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

    /// The trips of the call.
    ///
    /// # Safety
    /// The frame is that of the caller.
    pub(super) unsafe fn pieces(&self, caller: *const u8) -> Pieces {
        // SAFETY: the caller's promise; the verifier has seen the types.
        let [first, end] = [0, 1].map(|end| unsafe { int(caller, &self.trips[end].from) });
        Pieces::new(first, end)
    }

    /// Copies arrays that are shared before pieces change them, and sees to it that each trip has its elements.
    ///
    /// # Errors
    /// There is no memory, or a trip has no element.
    ///
    /// # Safety
    /// The frame is that of the caller, and nobody else accesses it.
    pub(super) unsafe fn open(
        &self,
        caller: *mut u8,
        pieces: &Pieces,
        meter: &Meter<'_>,
    ) -> Result<(), Fault> {
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
    pub(super) unsafe fn is_apart(&self, caller: *const u8) -> bool {
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
pub(super) struct Worker<'c> {
    pub(super) call: &'c ParallelCall,
    pub(super) caller: FrameBase,
    pub(super) frame: Box<Frame>,
}

impl Worker<'_> {
    /// Hands the arguments that pieces have in common to the frame.
    ///
    /// # Errors
    /// There is no memory for an array that the routine reads as a whole, one of `whole`.
    ///
    /// # Safety
    /// The caller's frame is one, and nobody changes it until [`Worker::leave`].
    pub(super) unsafe fn enter(&mut self, whole: &[TypedSlot], meter: &Meter<'_>) -> Result<(), Fault> {
        let (FrameBase(caller), callee) = (self.caller, self.frame.base());
        // SAFETY: the caller's promise; the frames are distinct, and the verifier has seen the types.
        unsafe {
            self.call.plain.iter().for_each(|argument| argument.copy(caller, callee));
            for Argument { from, to } in &self.call.read {
                let array = &*caller.add(from.offset() as usize).cast::<NdHandle>();
                let target = &mut *callee.add(to.offset() as usize).cast::<NdHandle>();
                let (qtype, view) = array.find();
                match whole.iter().any(|slot| slot.overlaps(to)) {
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
    pub(super) unsafe fn begin(&mut self, pieces: &Pieces, number: u64) {
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
    pub(super) fn leave(&mut self) {
        let arrays = self.call.read.iter().chain(self.call.windows.iter().map(|window| &window.array));
        for Argument { to, .. } in arrays {
            // SAFETY: a handle of an n-dimensional array stands there.
            unsafe { (*self.frame.base().add(to.offset() as usize).cast::<NdHandle>()).take_back() };
        }
    }

    /// The result of the last piece.
    pub(super) fn output(&self) -> *const u8 {
        self.frame.base().wrapping_add(self.call.output.offset() as usize)
    }
}

impl Worker<'_> {
    /// A copy of the result of the last piece.
    pub(super) fn result(&self) -> Vec<u8> {
        let size = self.call.output.qtype().size() as usize;
        // SAFETY: plain values have all their bytes.
        unsafe { std::slice::from_raw_parts(self.output(), size) }.to_vec()
    }
}
