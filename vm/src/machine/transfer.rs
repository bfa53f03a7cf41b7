//! Transfer: how arguments enter the frame of a routine called, and results leave it.
//!
//! ```text
//!            caller                         callee
//! plain      [ 8 bytes ]  ── copied ──────> [ 8 bytes ]
//! array      [ handle  ]  <─ exchanged ───> [ handle  ]     and exchanged back at the end: the callee has read it, or
//!                                                           changed it in place
//! others     texts, tuples with arrays: copied, into buffers that are kept
//! results    plain ones are copied, arrays exchanged: the callee keeps what the caller had there, for its memory
//! ```
//!
//! 1. An array is exchanged if nobody else means its place in the callee: no result, and no value that overrides
//!    inputs. Otherwise it is copied, unless the callee updates it, where the verifier has seen to it.
//! 2. An array that is passed twice is copied for the second place.
//! 3. Memory that a host lends never stays with the callee: an argument goes back, whatever happens, and a result is
//!    copied to it.
//! 4. At the end results that stand on inputs leave first, then what was exchanged goes back, then other results leave.

use crate::array::meter::Meter;
use crate::layout::TypedSlot;
use crate::layout::handle::{ArrayHandle, HandleKind};
use crate::layout::nd_handle::NdHandle;
use crate::machine::parallel::ParallelCall;
use crate::operator::cell::Cell;
use crate::operator::copy::move_value;
use crate::program::{Program, Routine, ValueId};
use crate::value::scalar::HANDLE_SIZE;
use crate::value::{Fault, QType};
use hashbrown::{HashMap, HashSet};

/// A call of a routine: what goes where.
#[derive(Debug)]
pub(super) struct RoutineCall {
    /// The routine called.
    pub(super) routine: u32,
    /// Bytes of its frame.
    pub(super) frame_bytes: u64,
    /// Instructions charged on return.
    pub(super) fuel: u32,
    /// Instructions charged on entry.
    pub(super) entry_fuel: u32,
    /// The number of the cell that calls.
    pub(super) cell: u32,
    /// The first cell of the routine called; null until the code is linked.
    pub(super) entry: *const Cell,
    /// True if all arguments and results are plain values of 8 bytes or one, and the callee uses no scratch memory.
    pub(super) is_plain: bool,
    /// True if the caller uses scratch memory.
    pub(super) returns_to_arena: bool,
    /// From the caller to the callee.
    arguments: Copies,
    /// Arguments that are exchanged: places in the caller and in the callee.
    exchanged: Box<[Pair]>,
    /// From the callee to the caller, before arguments are exchanged back.
    first_results: Copies,
    /// From the callee to the caller, afterwards.
    results: Copies,
    /// Results that are exchanged: places in the callee and in the caller.
    given: Box<[(TypedSlot, TypedSlot)]>,
    /// Arrays among the arguments that the callee finds where the host lends them, as far as it does itself: places in
    /// the caller and in the callee.
    pub(super) passed: Box<[(TypedSlot, TypedSlot)]>,
    /// What is done instead if the routine is a parallel one.
    pub(super) parallel: Option<Box<ParallelCall>>,
}

/// Two offsets in two frames.
#[derive(Clone, Copy, Debug)]
struct Pair {
    from: u32,
    to: u32,
}

/// The mark behind pairs, which begins nowhere: a value does not fit behind the last offset.
const END: Pair = Pair { from: u32::MAX, to: 0 };

/// Values that are copied from frame to frame.
#[derive(Debug)]
struct Copies {
    /// Plain values of 8 bytes, which most are, up to an [`END`]; then those of one byte, such as truth values, and
    /// another one. A loop up to a mark is less code than one over lengths: most calls have one or two values.
    plain: Box<[Pair]>,
    /// Any other.
    others: Box<[(TypedSlot, TypedSlot)]>,
}

impl Copies {
    fn of(pairs: impl Iterator<Item = (TypedSlot, TypedSlot)>) -> Copies {
        let is_of = |size: u32, slot: &TypedSlot| slot.qtype().is_plain() && slot.qtype().size() == size;
        let (words, others): (Vec<_>, Vec<_>) = pairs.partition(|(from, _)| is_of(8, from));
        let (bytes, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|(from, _)| is_of(1, from));
        let [words, bytes] = [&words, &bytes].map(|pairs| pairs.iter().map(Pair::of).chain([END]));
        Copies { plain: words.chain(bytes).collect(), others: others.into() }
    }

    /// Copies the plain values of 8 bytes and of one.
    ///
    /// # Safety
    /// As [`Copies::run`].
    #[inline(always)]
    unsafe fn copy_plain(&self, source: *mut u8, target: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let behind = copy_to_end::<u64>(self.plain.as_ptr(), source, target);
            copy_to_end::<u8>(behind, source, target);
        }
    }

    /// Copies them.
    ///
    /// # Safety
    /// The slots are verified slots of distinct frames, which nobody else accesses.
    unsafe fn run(&self, source: *mut u8, target: *mut u8, meter: &Meter<'_>) -> Result<(), Fault> {
        // SAFETY: the caller's promise.
        unsafe {
            self.copy_plain(source, target);
            for (from, to) in &self.others {
                move_value(source, from.offset(), target, to.offset(), from.qtype(), meter)?;
            }
        }
        Ok(())
    }
}

/// Copies plain values of a size up to the mark, and gives the pair behind that.
///
/// # Safety
/// As [`Pair::copy`], of every pair up to an [`END`].
#[inline(always)]
unsafe fn copy_to_end<T: Copy>(first: *const Pair, source: *mut u8, target: *mut u8) -> *const Pair {
    let mut at = first;
    // SAFETY: the caller's promise.
    unsafe {
        while (*at).from != END.from {
            (*at).copy::<T>(source, target);
            at = at.add(1);
        }
        at.add(1)
    }
}

impl Pair {
    fn of((from, to): &(TypedSlot, TypedSlot)) -> Pair {
        Pair { from: from.offset(), to: to.offset() }
    }

    /// Copies a plain value.
    ///
    /// # Safety
    /// A value of this size stands in both places, which nobody else accesses.
    #[inline(always)]
    unsafe fn copy<T: Copy>(self, source: *mut u8, target: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let value = source.add(self.from as usize).cast::<T>().read_unaligned();
            target.add(self.to as usize).cast::<T>().write_unaligned(value);
        }
    }

    /// Exchanges two handles.
    ///
    /// # Safety
    /// Handles of one type stand in both places, which nobody else accesses.
    #[inline(always)]
    unsafe fn exchange(self, source: *mut u8, target: *mut u8) {
        // SAFETY: the caller's promise; whatever a handle is, it may lie anywhere.
        unsafe {
            let (a, b) = (source.add(self.from as usize), target.add(self.to as usize));
            std::ptr::swap_nonoverlapping(a.cast::<[u64; WORDS]>(), b.cast(), 1);
        }
    }
}

/// Bytes of some slots, as ascending ranges that do not touch.
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    fn of<'s>(slots: impl Iterator<Item = &'s TypedSlot>) -> Ranges {
        let mut all: Vec<(u64, u64)> = slots.map(|slot| (u64::from(slot.offset()), slot.end())).collect();
        all.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (start, end) in all {
            match ranges.last_mut().filter(|last| start <= last.1) {
                Some(last) => last.1 = last.1.max(end),
                None => ranges.push((start, end)),
            }
        }
        Ranges(ranges)
    }

    fn share_a_byte(&self, slot: &TypedSlot) -> bool {
        let next = self.0.partition_point(|(_, end)| *end <= u64::from(slot.offset()));
        self.0.get(next).is_some_and(|(start, _)| *start < slot.end())
    }
}

/// Words of a handle.
const WORDS: usize = HANDLE_SIZE as usize / size_of::<u64>();

/// Gives an array to the caller. Where a host lends memory to the caller, it stays there, and the array is copied.
///
/// # Safety
/// Handles of one type stand in both slots, which nobody else accesses.
unsafe fn give(
    source: *mut u8,
    from: &TypedSlot,
    target: *mut u8,
    to: &TypedSlot,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    // SAFETY: the caller's promise.
    unsafe {
        let handle = target.add(to.offset() as usize);
        let is_lent = match to.qtype() {
            QType::NdArray(_) => (*handle.cast::<NdHandle>()).is_lent(),
            _ => matches!(*handle.cast::<ArrayHandle>(), ArrayHandle::Lent(_)),
        };
        if is_lent {
            return move_value(source, from.offset(), target, to.offset(), from.qtype(), meter);
        }
        Pair { from: from.offset(), to: to.offset() }.exchange(source, target);
    }
    Ok(())
}

/// True if a value is the handle of an array.
fn is_array(slot: &TypedSlot) -> bool {
    matches!(HandleKind::of(slot.qtype()), Some(HandleKind::Array | HandleKind::NdArray))
}

impl RoutineCall {
    /// The call of a routine with these operands and results of the caller.
    pub(super) fn new(
        program: &Program,
        caller: &Routine,
        routine: u32,
        operands: &[ValueId],
        results: &[ValueId],
        fuel: u32,
    ) -> RoutineCall {
        let callee = &program.routines()[routine as usize];
        let slots = |values: &[ValueId]| values.iter().map(|v| caller.slot(*v).clone()).collect::<Vec<_>>();
        let inputs = callee.inputs.iter().map(|(_, value)| callee.slot(*value).clone());
        let arguments: Vec<(TypedSlot, TypedSlot)> = slots(operands).into_iter().zip(inputs).collect();
        let outputs = callee.results().map(|value| callee.slot(value).clone());
        let results: Vec<(TypedSlot, TypedSlot)> = outputs.zip(slots(results)).collect();
        // Results that stand where an updated input does leave first: their targets must not be exchanged.
        let updated_inputs = Ranges::of(callee.updated_inputs.iter().map(|value| callee.slot(*value)));
        let (first, later): (Vec<_>, Vec<_>) =
            results.iter().cloned().partition(|(from, _)| updated_inputs.share_a_byte(from));
        let is_updated = |index: usize| callee.updated_inputs.contains(&callee.inputs[index].1);
        let sources = Ranges::of(results.iter().map(|(from, _)| from));
        let targets = Ranges::of(first.iter().map(|(_, to)| to));
        let (mut operands, mut inputs) = (HashSet::new(), HashSet::new());
        let mut is_exchanged = |(index, (operand, input)): (usize, &(TypedSlot, TypedSlot))| {
            let is_free = || !callee.overrides_inputs && !sources.share_a_byte(input);
            let is_wanted = is_updated(index) || (is_free() && !targets.share_a_byte(operand));
            is_array(input) && is_wanted && operands.insert(operand.offset()) && inputs.insert(input.offset())
        };
        let exchanged: Vec<bool> = arguments.iter().enumerate().map(&mut is_exchanged).collect();
        let chosen = |wanted: bool| {
            let pairs = arguments.iter().zip(&exchanged).filter(move |(_, exchanged)| **exchanged == wanted);
            pairs.map(|(pair, _)| pair.clone())
        };
        let mut places = HashMap::new();
        later.iter().for_each(|(from, _)| *places.entry(from.offset()).or_insert(0) += 1);
        let is_given = |from: &TypedSlot| {
            is_array(from) && !callee.layout.is_literal(from) && places[&from.offset()] == 1
        };
        let given = |wanted: bool| later.iter().filter(move |(from, _)| is_given(from) == wanted).cloned();
        let (given_later, kept) = (given(true).collect::<Box<_>>(), Copies::of(given(false)));
        let copied = Copies::of(chosen(false));
        let is_plain = copied.others.is_empty()
            && kept.others.is_empty()
            && given_later.is_empty()
            && first.is_empty()
            && !exchanged.contains(&true);
        RoutineCall {
            routine,
            is_plain,
            frame_bytes: u64::from(callee.layout.size()),
            fuel,
            entry_fuel: 0,
            cell: 0,
            entry: std::ptr::null(),
            returns_to_arena: false,
            arguments: copied,
            exchanged: chosen(true).map(|pair| Pair::of(&pair)).collect(),
            first_results: Copies::of(first.iter().cloned()),
            results: kept,
            given: given_later,
            passed: chosen(true).collect(),
            parallel: None,
        }
    }

    /// The call of a parallel routine, which hands over its arguments itself.
    pub(super) fn in_pieces(parallel: ParallelCall, routine: u32, fuel: u32) -> RoutineCall {
        let none = || Copies::of(std::iter::empty());
        RoutineCall {
            routine,
            is_plain: false,
            frame_bytes: 0,
            fuel,
            entry_fuel: 0,
            cell: 0,
            entry: std::ptr::null(),
            returns_to_arena: false,
            arguments: none(),
            exchanged: Box::default(),
            first_results: none(),
            results: none(),
            given: Box::default(),
            passed: Box::default(),
            parallel: Some(Box::new(parallel)),
        }
    }

    /// The arguments that are copied.
    pub(super) fn copied(&self) -> impl Iterator<Item = &TypedSlot> {
        self.arguments.others.iter().map(|(from, _)| from)
    }

    /// [`RoutineCall::enter`] of a plain call.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn enter_plain(&self, caller: *mut u8, callee: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.arguments.copy_plain(caller, callee) }
    }

    /// [`RoutineCall::leave`] of a plain call.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn leave_plain(&self, caller: *mut u8, callee: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.results.copy_plain(callee, caller) }
    }

    /// Hands the arguments to the frame of the callee. If that fails, nothing is exchanged.
    ///
    /// # Errors
    /// There is no memory for a copy, or the run has to stop.
    ///
    /// # Safety
    /// The frames are those of the caller and, at `target`, of the callee; nobody else accesses them.
    pub(super) unsafe fn enter(
        &self,
        caller: *mut u8,
        callee: *mut u8,
        meter: &Meter<'_>,
    ) -> Result<(), Fault> {
        // SAFETY: the caller's promise; the verifier has seen that the types agree.
        unsafe {
            self.arguments.run(caller, callee, meter)?;
            self.exchanged.iter().for_each(|pair| pair.exchange(caller, callee));
        }
        Ok(())
    }

    /// Takes the results out of the frame of the callee, and back what was exchanged. If it fails, that is back too.
    ///
    /// # Errors
    /// As [`RoutineCall::enter`].
    ///
    /// # Safety
    /// As [`RoutineCall::enter`], which came before.
    pub(super) unsafe fn leave(
        &self,
        caller: *mut u8,
        callee: *mut u8,
        meter: &Meter<'_>,
    ) -> Result<(), Fault> {
        // SAFETY: the caller's promise.
        unsafe {
            let outcome = self.first_results.run(callee, caller, meter);
            self.take_back(caller, callee);
            outcome?;
            self.results.run(callee, caller, meter)?;
            self.given.iter().try_for_each(|(from, to)| give(callee, from, caller, to, meter))
        }
    }

    /// Takes back what was exchanged, the last one first.
    ///
    /// # Safety
    /// As [`RoutineCall::enter`], which came before.
    pub(super) unsafe fn take_back(&self, caller: *mut u8, callee: *mut u8) {
        // SAFETY: the caller's promise.
        self.exchanged.iter().rev().for_each(|pair| unsafe { pair.exchange(caller, callee) });
    }
}
