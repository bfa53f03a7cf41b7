//! General kernels: closures over a [`KernelCall`], and kernels bound to slots.

use crate::array::meter::Meter;
use crate::frame::typed::write_zero;
use crate::layout::slot::TypedSlot;
use crate::operator::call::KernelCall;
use crate::value::budget::Account;
use crate::value::{Category, Fault, QType};
use bumpalo::Bump;
use std::fmt;
use std::sync::Arc;

/// The code of a general kernel.
pub type GeneralFn = dyn Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync;

/// A shared general kernel.
#[derive(Clone)]
pub struct GeneralKernel(pub Arc<GeneralFn>);

impl GeneralKernel {
    /// A kernel from a closure.
    pub fn new(
        f: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> GeneralKernel {
        GeneralKernel(Arc::new(f))
    }
}

impl fmt::Debug for GeneralKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GeneralKernel")
    }
}

/// A general kernel to be used on optional arguments.
#[derive(Clone, Debug)]
pub(crate) struct LiftedKernel {
    pub(super) kernel: GeneralKernel,
    /// By argument: true if the kernel itself takes an optional.
    pub(super) takes_optional: Box<[bool]>,
    /// True if the kernel itself gives an optional.
    pub(super) gives_optional: bool,
}

/// A general kernel bound to slots.
#[derive(Debug)]
pub struct GeneralCall {
    pub(super) kernel: GeneralKernel,
    pub(super) args: Box<[TypedSlot]>,
    pub(super) out: TypedSlot,
    pub(super) lift: Option<Lift>,
    /// True if an argument has rows.
    has_rows: bool,
    /// True if the result is a text, bytes or a sequence, whose buffer kernels fill as they like.
    fills_buffer: bool,
}

/// What comes before the kernel of a lifted call; see [`GeneralCall::lifted`].
#[derive(Debug)]
pub(super) struct Lift {
    /// Presence bytes of the arguments that must be present.
    pub(super) tested: Box<[u32]>,
    /// The presence byte of the result.
    pub(super) result: u32,
    /// What stands behind it.
    pub(super) value: TypedSlot,
    /// True if the kernel writes the presence byte as well.
    pub(super) is_whole: bool,
}

impl GeneralCall {
    /// Binds a kernel to slots of its own types.
    pub fn new(kernel: GeneralKernel, args: Box<[TypedSlot]>, out: TypedSlot) -> GeneralCall {
        let (has_rows, fills_buffer) = (args.iter().any(has_rows), fills_buffer(&out));
        GeneralCall { kernel, args, out, lift: None, has_rows, fills_buffer }
    }

    /// The same for an operator that updates, which counts the elements it goes over itself.
    pub(super) fn updating(kernel: GeneralKernel, args: Box<[TypedSlot]>, out: TypedSlot) -> GeneralCall {
        GeneralCall { has_rows: false, ..GeneralCall::new(kernel, args, out) }
    }

    /// Binds a kernel that takes scalars to optionals: the result is missing if an argument is that the
    /// kernel takes as a scalar, otherwise the kernel sees the values behind the presence bytes. What it
    /// takes or gives as an optional itself, it sees as it stands.
    ///
    /// # Panics
    /// If the result is not optional.
    pub(super) fn lifted(lifted: &LiftedKernel, args: &[TypedSlot], out: TypedSlot) -> GeneralCall {
        let is_tested = |(arg, optional): &(&TypedSlot, &bool)| !**optional && arg.qtype().is_optional();
        let pairs = || args.iter().zip(&lifted.takes_optional);
        let value = out.value().expect("the result of a lifted operator is optional");
        let inner = |pair: (&TypedSlot, &bool)| match is_tested(&pair) {
            true => pair.0.value().expect("it is optional"),
            false => pair.0.clone(),
        };
        GeneralCall {
            kernel: lifted.kernel.clone(),
            args: pairs().map(inner).collect(),
            lift: Some(Lift {
                tested: pairs().filter(is_tested).map(|(arg, _)| arg.offset()).collect(),
                result: out.offset(),
                value: value.clone(),
                is_whole: lifted.gives_optional,
            }),
            // Optionals have no rows.
            has_rows: false,
            fills_buffer: fills_buffer(&value),
            out: if lifted.gives_optional { out } else { value },
        }
    }

    /// Runs the kernel on a frame.
    ///
    /// # Errors
    /// What the kernel raises.
    ///
    /// # Safety
    /// For the slots the call was bound to, the contract of [`KernelCall::new`] holds.
    pub unsafe fn run(&self, frame: *mut u8, arena: &Bump, meter: &Meter<'_>) -> Result<(), Fault> {
        // SAFETY: the caller's promise; presence bytes are the first of their slots.
        unsafe {
            if let Some(lift) = &self.lift {
                let present = lift.tested.iter().all(|at| frame.add(*at as usize).read() != 0);
                if !present || !lift.is_whole {
                    frame.add(lift.result as usize).write(u8::from(present));
                }
                if !present {
                    write_zero(frame, &lift.value);
                    return Ok(());
                }
            }
            let mut call = KernelCall::new(frame, &self.args, &self.out, arena, meter);
            if self.has_rows {
                call.charge_arguments()?;
            }
            if self.fills_buffer {
                let (bytes, alive) = (call.result_bytes(), meter.alive());
                let outcome = (self.kernel.0)(&mut call);
                // What the kernel has counted itself, as it should, is not counted again.
                let counted = alive.saturating_add(call.result_bytes()).saturating_sub(bytes);
                match counted.checked_sub(meter.alive()) {
                    Some(more) => outcome.and(meter.charge(more).map_err(Fault::from))?,
                    None => {
                        meter.give_back(meter.alive() - counted);
                        outcome?;
                    }
                }
            } else {
                (self.kernel.0)(&mut call)?;
            }
            if !call.is_written() {
                return Err(no_result());
            }
            call.keep_truths();
            Ok(())
        }
    }
}

fn has_rows(slot: &TypedSlot) -> bool {
    matches!(slot.qtype(), QType::Array(_) | QType::NdArray(_) | QType::Edge(_) | QType::EdgeToScalar(_))
}

/// Kernels of hosts fill a string as they like; it is counted when it is there.
fn fills_buffer(slot: &TypedSlot) -> bool {
    let string = slot.qtype().scalar().is_some_and(|scalar| !scalar.is_plain());
    string || matches!(slot.qtype(), QType::Sequence(_))
}

#[cold]
fn no_result() -> Fault {
    Fault::Trap { category: Category::Panic, message: "the operator wrote no result".into() }
}
