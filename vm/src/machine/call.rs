//! Calls with borrowed inputs: the host lends its rows for one run, the results are read where they are.
//!
//! ```text
//! bound.call(&mut frame).input(&x, view)?.run()? ── Outputs ── rows(slot) ──> the frame's own rows
//!             └──────────── 'f ───────────┘
//! ```
//!
//! 1. A view lives as long as the frame is borrowed for the call.
//! 2. Whatever happens, panics included, no lent rows are left in the frame, and their inputs count as not
//!    written.
//! 3. An input that only tile regions read is read in place; any other is copied into the frame's own rows,
//!    whose memory is kept.

use crate::frame::{Frame, FrameError};
use crate::layout::TypedSlot;
use crate::layout::handle::{ArrayHandle, RawRows};
use crate::machine::bound::BoundExpr;
use crate::machine::error::RunError;
use crate::machine::options::RunOptions;
use crate::value::{ArrayRows, ArrayView, QType, ScalarType, Value};
use thiserror::Error;

/// Why rows cannot be lent or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The slot is no input of the expression.
    #[error("{slot} is no input of the expression")]
    NoInput {
        /// The slot.
        slot: TypedSlot,
    },
    /// The rows are of another type than the slot.
    #[error("{slot} takes no rows of {element}")]
    Type {
        /// The slot.
        slot: TypedSlot,
        /// Type of the rows.
        element: ScalarType,
    },
    /// The slot cannot be read or written.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A call being prepared. Borrowed rows cannot outlive it:
///
/// ```compile_fail,E0505
/// # use cembra_vm::{frame::Frame, layout::TypedSlot, machine::BoundExpr, value::ArrayView};
/// # fn f(bound: &BoundExpr, frame: &mut Frame, x: &TypedSlot) {
/// let rows = vec![1.0, 2.0];
/// let call = bound.call(frame).input(x, ArrayView::of(&rows)).expect("a FLOAT64 array");
/// drop(rows); // still lent
/// call.run().expect("no error");
/// # }
/// ```
///
/// The frame is the call's own until its outputs have been read:
///
/// ```compile_fail,E0499
/// # use cembra_vm::{frame::Frame, layout::TypedSlot, machine::BoundExpr};
/// # fn f(bound: &BoundExpr, frame: &mut Frame, y: &TypedSlot) {
/// let outputs = bound.call(frame).run().expect("no error");
/// bound.execute(frame).expect("no error"); // would overwrite them
/// outputs.rows(y).expect("an array");
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a call does nothing until `run`"]
pub struct Call<'b, 'f> {
    bound: &'b BoundExpr,
    frame: &'f mut Frame,
    /// The first views, which need no memory of their own, and how many there are.
    first: [Option<(u32, ArrayView<'f>)>; INLINE],
    count: usize,
    rest: Vec<(u32, ArrayView<'f>)>,
    options: RunOptions<'f>,
}

/// Views that a call holds without allocating.
const INLINE: usize = 8;

/// The results of a call, in the frame that it ran on.
#[derive(Debug)]
pub struct Outputs<'f> {
    frame: &'f Frame,
}

/// Calls a function for the input and the rows of every view.
type EachView<'g, 'f> = dyn Fn(&mut dyn FnMut(u32, ArrayView<'f>)) + 'g;

/// Takes lent rows back when it goes. It lives inside of [`Call::run`] only, so that nobody can forget it.
struct Guard<'g, 'f> {
    frame: &'g mut Frame,
    lent: &'g EachView<'g, 'f>,
}

impl Drop for Guard<'_, '_> {
    fn drop(&mut self) {
        (self.lent)(&mut |bit, _| {
            self.frame.written_mut().unset(bit);
            input_handle(self.frame, bit).take_back();
        });
    }
}

/// The array handle of an input.
fn input_handle(frame: &mut Frame, bit: u32) -> &mut ArrayHandle {
    let slot = &frame.layout().inputs()[bit as usize];
    assert!(slot.qtype().array().is_some(), "{slot} is no array");
    // SAFETY: an array handle stands in an array slot of the layout, and the frame is borrowed alone.
    unsafe { &mut *frame.base().add(slot.offset() as usize).cast::<ArrayHandle>() }
}

impl BoundExpr {
    /// Begins a call with borrowed inputs. Inputs that the frame holds already stay.
    pub fn call<'b, 'f>(&'b self, frame: &'f mut Frame) -> Call<'b, 'f> {
        let options = RunOptions::new();
        Call { bound: self, frame, first: [None; INLINE], count: 0, rest: Vec::new(), options }
    }
}

impl<'f> Call<'_, 'f> {
    /// Lends rows to an input.
    ///
    /// # Errors
    /// The frame has another layout, the slot is no input, or takes no such rows.
    pub fn input(mut self, slot: &TypedSlot, view: ArrayView<'f>) -> Result<Self, CallError> {
        self.bound.check_layout(self.frame).map_err(RunError::before_start)?;
        let layout = self.frame.layout();
        let bit = layout.inputs().iter().position(|input| input == slot);
        let Some(bit) = bit else { return Err(CallError::NoInput { slot: slot.clone() }) };
        match slot.qtype() {
            QType::Array(t) if t.element.storage() == view.element() => {}
            _ => return Err(CallError::Type { slot: slot.clone(), element: view.element() }),
        }
        match self.first.get_mut(self.count) {
            Some(place) => *place = Some((bit as u32, view)),
            None => self.rest.push((bit as u32, view)),
        }
        self.count += 1;
        Ok(self)
    }

    /// Writes any other input.
    ///
    /// # Errors
    /// As [`Frame::write`].
    pub fn value(self, slot: &TypedSlot, value: &Value) -> Result<Self, CallError> {
        self.frame.write(slot, value)?;
        Ok(self)
    }

    /// Threads that may work on regions of many rows.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options = self.options.threads(threads);
        self
    }

    /// Runs.
    ///
    /// # Errors
    /// As [`BoundExpr::execute`].
    pub fn run(self) -> Result<Outputs<'f>, CallError> {
        let Call { bound, frame, first, rest, options, .. } = self;
        let lent = |each: &mut dyn FnMut(u32, ArrayView<'f>)| {
            first.iter().flatten().chain(&rest).for_each(|(bit, view)| each(*bit, *view));
        };
        let guard = Guard { frame, lent: &lent };
        lent(&mut |bit, view| {
            let is_whole = bound.reads_whole(&guard.frame.layout().inputs()[bit as usize]);
            let handle = input_handle(guard.frame, bit);
            match is_whole {
                true => view.copy_to(handle.owned()),
                false => handle.lend(RawRows::from(view)),
            }
            guard.frame.written_mut().set(bit);
        });
        let outcome = bound.execute_with(guard.frame, options);
        drop(guard);
        outcome?;
        Ok(Outputs { frame })
    }
}

impl<'f> Outputs<'f> {
    /// The rows of an array output, where they stand.
    ///
    /// # Errors
    /// The slot is no array of the layout, or has not been written.
    pub fn rows(&self, slot: &TypedSlot) -> Result<&'f ArrayRows, FrameError> {
        self.frame.rows(slot)
    }

    /// An output as a value.
    ///
    /// # Errors
    /// As [`Frame::read`].
    pub fn read(&self, slot: &TypedSlot) -> Result<Value, FrameError> {
        self.frame.read(slot)
    }

    /// The frame.
    pub fn frame(&self) -> &'f Frame {
        self.frame
    }
}
