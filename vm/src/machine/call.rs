//! Calls with borrowed inputs: the host lends its rows for one run, the results are read where they are.
//!
//! ```text
//! bound.call(&mut frame).input(&x, &view)?.run()? ── Outputs ── rows(slot), elements(slot) ──> the frame's own
//!             └──────────── 'f ───────────┘
//! ```
//!
//! Memory that the program changes in place is lent by [`Call::update`]. Results that tile regions compute can go to memory of the host at once, see [`Call::run_into`].
//!
//! 1. A view lives as long as the frame is borrowed for the call.
//! 2. Whatever happens, panics included, no lent rows are left in the frame, and their inputs count as not
//!    written.
//! 3. An input that only tile regions and code that knows of lent rows read is read in place; any other is copied into the
//!    frame's own rows, whose memory is kept. So is every one if the run is observed.

use crate::frame::{Frame, FrameError};
use crate::layout::TypedSlot;
use crate::layout::handle::{ArrayHandle, RawRows};
use crate::layout::nd_handle::{NdHandle, RawElements};
use crate::machine::bound::BoundExpr;
use crate::machine::error::RunError;
use crate::machine::options::RunOptions;
use crate::machine::room::{self, Room, RoomError};
use crate::machine::shared::Share;
use crate::machine::update::NdViewMut;
use crate::value::budget::{Exhausted, Grown};
use crate::value::ndarray::check_shape;
use crate::value::{ArrayRows, NdView, QType, ScalarType, Value};
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
    /// There are not so many inputs.
    #[error("the expression has no input {number}")]
    NoSuchInput {
        /// The number, from 0 on.
        number: u32,
    },
    /// The program does not change the input.
    #[error("{slot} is not changed by the expression")]
    NotUpdated {
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
    /// The array has another element than the slot, or axes that the slot's type excludes.
    #[error("{slot} takes no array of {element} of shape {shape:?}")]
    Axes {
        /// The slot.
        slot: TypedSlot,
        /// Type of the elements.
        element: ScalarType,
        /// Sizes of the axes.
        shape: Vec<usize>,
    },
    /// An output does not go to a room.
    #[error(transparent)]
    Room(#[from] RoomError),
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
/// # use cembra_vm::{frame::Frame, layout::TypedSlot, machine::BoundExpr, value::NdView};
/// # fn f(bound: &BoundExpr, frame: &mut Frame, x: &TypedSlot) {
/// let rows = vec![1.0, 2.0];
/// let view = NdView::of(&rows);
/// let call = bound.call(frame).input(x, &view).expect("a FLOAT64 array");
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
    first: [Option<(u32, Lent<'f>)>; INLINE],
    count: usize,
    rest: Vec<(u32, Lent<'f>)>,
    options: RunOptions<'f>,
}

/// What is lent to an input.
#[derive(Clone, Copy, Debug)]
enum Lent<'f> {
    /// To be read.
    Borrowed(&'f NdView<'f>),
    /// To be changed in place; whoever lends it has borrowed it alone.
    Updated(&'f NdViewMut<'f>),
}

impl Lent<'_> {
    /// Says why a slot does not take it.
    fn check(&self, slot: &TypedSlot) -> Result<(), CallError> {
        match (*self, slot.qtype()) {
            (Lent::Borrowed(view), QType::Array(t)) => match t.element.storage() == view.element() {
                true if view.rank() == 1 => Ok(()),
                true => Err(axes_differ(slot, view.element(), view.shape())),
                false => Err(CallError::Type { slot: slot.clone(), element: view.element() }),
            },
            (Lent::Borrowed(view), _) => {
                check_axes(slot, view.element(), view.shape())?;
                match view.validity() {
                    Some(_) => Err(FrameError::Missing { slot: slot.clone() }.into()),
                    None => Ok(()),
                }
            }
            (Lent::Updated(view), _) => check_axes(slot, view.element(), view.shape()),
        }
    }

    /// Hands it to an input; what is not read in place is copied into the frame's own memory.
    ///
    /// # Errors
    /// There is no memory for a copy.
    ///
    /// # Safety
    /// An array handle of the slot's type stands at `at`, nobody else accesses it, and what was lent is
    /// taken back before the borrow ends.
    unsafe fn enter(
        &self,
        slot: &TypedSlot,
        at: *mut u8,
        is_whole: bool,
        grown: &Grown,
    ) -> Result<(), Exhausted> {
        // SAFETY: the caller's promise; the view was checked to be of the slot's type. What is to be changed is
        // borrowed alone.
        unsafe {
            match (*self, slot.qtype()) {
                (Lent::Borrowed(view), QType::NdArray(t)) => {
                    let handle = &mut *at.cast::<NdHandle>();
                    match is_whole {
                        true => handle.owned().copy_within(*t, view, grown)?,
                        false => handle.lend(RawElements::read_only(*t, view)),
                    }
                }
                (Lent::Borrowed(view), _) => {
                    let handle = &mut *at.cast::<ArrayHandle>();
                    match is_whole {
                        true => view.copy_to_rows(handle.owned(), grown)?,
                        false => handle.lend(RawRows::new(view)),
                    }
                }
                (Lent::Updated(view), qtype) => {
                    let qtype = qtype.nd().expect("an array with axes");
                    (*at.cast::<NdHandle>()).lend(view.elements(qtype));
                }
            }
        }
        Ok(())
    }

    /// Ends what [`Lent::enter`] began.
    ///
    /// # Safety
    /// As there.
    unsafe fn leave(&self, slot: &TypedSlot, at: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match slot.qtype() {
                QType::Array(_) => (*at.cast::<ArrayHandle>()).take_back(),
                _ => {
                    (*at.cast::<NdHandle>()).take_back();
                }
            }
        }
    }
}

/// Says why a slot does not take an array of this element and shape.
fn check_axes(slot: &TypedSlot, element: ScalarType, shape: &[usize]) -> Result<(), CallError> {
    match slot.qtype() {
        QType::NdArray(t) if t.element() == element && check_shape(*t, shape).is_ok() => Ok(()),
        _ => Err(axes_differ(slot, element, shape)),
    }
}

#[cold]
fn axes_differ(slot: &TypedSlot, element: ScalarType, shape: &[usize]) -> CallError {
    CallError::Axes { slot: slot.clone(), element, shape: shape.to_vec() }
}

/// Views that a call holds without allocating.
const INLINE: usize = 8;

/// The results of a call, in the frame that it ran on.
#[derive(Debug)]
pub struct Outputs<'f> {
    frame: &'f Frame,
}

/// Calls a function for every input and what is lent to it.
type EachView<'g, 'f> = dyn Fn(&mut dyn FnMut(u32, Lent<'f>)) + 'g;

/// Takes lent rows back when it goes. It lives inside of [`Call::run`] only, so that nobody can forget it.
struct Guard<'g, 'f, 'r> {
    frame: &'g mut Frame,
    lent: &'g EachView<'g, 'f>,
    rooms: &'g mut [Room<'r>],
}

impl Drop for Guard<'_, '_, '_> {
    fn drop(&mut self) {
        // SAFETY: the rooms were checked.
        self.rooms.iter_mut().for_each(|room| unsafe { room.take_back(self.frame) });
        (self.lent)(&mut |bit, lent| {
            self.frame.written_mut().unset(bit);
            let slot = &self.frame.layout().inputs()[bit as usize];
            // SAFETY: the input was checked to be of this kind, and the frame is borrowed alone.
            unsafe { lent.leave(slot, self.frame.base().add(slot.offset() as usize)) };
        });
    }
}

impl BoundExpr {
    /// Begins a call with borrowed inputs. Inputs that the frame holds already stay.
    pub fn call<'b, 'f>(&'b self, frame: &'f mut Frame) -> Call<'b, 'f> {
        let (first, rest) = ([None; INLINE], Vec::new());
        Call { bound: self, frame, first, count: 0, rest, options: RunOptions::new() }
    }

    /// Runs on arrays that are lent to inputs by their [numbers](BoundExpr::input_number), and puts outputs into
    /// rooms, as [`Call::run_into`] does: for hosts that call often, which look no slot up. Inputs that the frame holds
    /// already stay.
    ///
    /// # Errors
    /// As [`Call::input`] and [`Call::run_into`].
    pub fn run_on(
        &self,
        frame: &mut Frame,
        views: &[(u32, NdView<'_>)],
        rooms: &mut [Room<'_>],
        options: RunOptions<'_>,
    ) -> Result<(), CallError> {
        self.check_layout(frame).map_err(RunError::before_start)?;
        let inputs = frame.layout().inputs();
        for (number, view) in views {
            let slot = inputs.get(*number as usize).ok_or(CallError::NoSuchInput { number: *number })?;
            Lent::Borrowed(view).check(slot)?;
        }
        run_lent(
            self,
            frame,
            &|each| {
                views.iter().for_each(|(bit, view)| each(*bit, Lent::Borrowed(view)));
            },
            rooms,
            options,
        )
    }

    /// The number of an input, for [`BoundExpr::run_on`].
    pub fn input_number(&self, slot: &TypedSlot) -> Option<u32> {
        self.layout().inputs().iter().position(|input| input == slot).map(|number| number as u32)
    }
}

impl<'f> Call<'_, 'f> {
    /// Lends rows or an n-dimensional array to an input. Rows have one axis, and may be missing.
    ///
    /// # Errors
    /// The frame has another layout, the slot is no input, or takes nothing of the kind.
    pub fn input(self, slot: &TypedSlot, view: &'f NdView<'f>) -> Result<Self, CallError> {
        self.lend(slot, Lent::Borrowed(view))
    }

    /// Lends elements to an input, which the run changes in place.
    ///
    /// # Errors
    /// As [`input`](Call::input), or the program does not change the input.
    pub fn update(self, slot: &TypedSlot, view: &'f mut NdViewMut<'_>) -> Result<Self, CallError> {
        let main = self.bound.program().main();
        match main.updated_inputs.iter().any(|value| main.slot(*value) == slot) {
            true => self.lend(slot, Lent::Updated(view)),
            false => Err(CallError::NotUpdated { slot: slot.clone() }),
        }
    }

    fn lend(mut self, slot: &TypedSlot, view: Lent<'f>) -> Result<Self, CallError> {
        self.bound.check_layout(self.frame).map_err(RunError::before_start)?;
        let layout = self.frame.layout();
        let bit = layout.inputs().iter().position(|input| input == slot);
        let Some(bit) = bit else { return Err(CallError::NoInput { slot: slot.clone() }) };
        view.check(slot)?;
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

    /// Options of the run.
    pub fn options(mut self, options: RunOptions<'f>) -> Self {
        self.options = options;
        self
    }

    /// The share of a budget that the run may use, if there is one; errors name the limits of the whole.
    pub fn within(mut self, share: Option<&'f Share<'f>>) -> Self {
        self.options = self.options.within(share);
        self
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
        self.run_into(&mut [])
    }

    /// Runs, and puts the elements of some outputs into memory of the host, where tile regions write them at once;
    /// what other operators compute is copied. Outputs that were not copied count as not written in the frame.
    ///
    /// # Errors
    /// As [`run`](Call::run); or a room is not for elements of its slot, or, after the run, not for as many.
    pub fn run_into(self, rooms: &mut [Room<'_>]) -> Result<Outputs<'f>, CallError> {
        let Call { bound, frame, first, rest, options, .. } = self;
        let lent = |each: &mut dyn FnMut(u32, Lent<'f>)| {
            first.iter().flatten().chain(&rest).for_each(|(bit, view)| each(*bit, *view));
        };
        run_lent(bound, frame, &lent, rooms, options)?;
        Ok(Outputs { frame })
    }
}

/// Runs on inputs that were checked to take what is lent to them.
fn run_lent<'f>(
    bound: &BoundExpr,
    frame: &mut Frame,
    lent: &EachView<'_, 'f>,
    rooms: &mut [Room<'_>],
    options: RunOptions<'_>,
) -> Result<(), CallError> {
    if !rooms.is_empty() {
        bound.check_layout(frame).map_err(RunError::before_start)?;
        rooms.iter().try_for_each(|room| room.check(frame.layout()))?;
    }
    // Code that is observed has no regions.
    let is_observed = options.observer.is_some();
    let guard = Guard { frame, lent, rooms };
    // SAFETY: the rooms were checked, and the guard takes them back.
    guard.rooms.iter_mut().for_each(|room| unsafe { room.lend(guard.frame) });
    let (grown, mut entered) = (Grown::default(), Ok(()));
    lent(&mut |bit, view| {
        let slot = &guard.frame.layout().inputs()[bit as usize];
        // SAFETY: the slot is of the layout and was checked to take the view; the frame is borrowed alone,
        // and the guard takes back what is lent.
        let outcome = unsafe {
            let at = guard.frame.base().add(slot.offset() as usize);
            view.enter(slot, at, is_observed || bound.reads_whole(slot), &grown)
        };
        match outcome {
            Ok(()) => guard.frame.written_mut().set(bit),
            Err(error) => entered = Err(error),
        }
    });
    guard.frame.set_alive(guard.frame.alive().saturating_add_signed(grown.bytes()));
    entered.map_err(FrameError::from)?;
    let outcome = bound.execute_with(guard.frame, options);
    drop(guard);
    outcome?;
    room::finish(rooms, frame)?;
    Ok(())
}

impl<'f> Outputs<'f> {
    /// The rows of an array output, where they stand.
    ///
    /// # Errors
    /// The slot is no array of the layout, or has not been written.
    pub fn rows(&self, slot: &TypedSlot) -> Result<&'f ArrayRows, FrameError> {
        self.frame.rows(slot)
    }

    /// The elements of an output, where they stand.
    ///
    /// # Errors
    /// As [`Frame::nd_view`].
    pub fn elements(&self, slot: &TypedSlot) -> Result<NdView<'f>, FrameError> {
        self.frame.nd_view(slot)
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
