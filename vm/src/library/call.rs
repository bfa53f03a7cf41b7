//! Calling a library: arguments are checked once, when they are bound.

use crate::frame::Frame;
use crate::frame::typed::read_value;
use crate::layout::{FrameLayout, TypedSlot};
use crate::library::error::{BoundaryError, Raised};
use crate::library::open::{Library, RawError};
use crate::library::signature::Parameter;
use crate::machine::NdViewMut;
use crate::value::array::cell_size;
use crate::value::nd_type::{MAX_RANK, NdType};
use crate::value::nd_view::c_strides;
use crate::value::{Category, NdView, ScalarType, Value};
use std::ffi::{CStr, c_void};
use std::fmt;
use std::marker::PhantomData;

/// An argument.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A plain value, or an array that is read.
    Value(&'a Value),
    /// An array that is read where it lies.
    Elements(NdView<'a>),
    /// An array that is changed where it lies.
    Update(NdViewMut<'a>),
}

/// An array in C: `cembra_array`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct RawArray {
    data: *mut u8,
    shape: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
}

/// A library with arguments: it can be run any number of times, without a check and without allocating.
///
/// Arrays stay borrowed:
///
/// ```compile_fail,E0505
/// # use cembra_vm::{library::{Argument, Library}, value::NdView};
/// # fn f(library: &Library) {
/// let rows = vec![1.0, 2.0];
/// let view = NdView::from_slice(&rows, &[2]).expect("two rows");
/// let mut call = library.bind(vec![Argument::Elements(view)]).expect("the library takes rows");
/// drop(rows); // still lent
/// call.run().expect("no error");
/// # }
/// ```
pub struct BoundCall<'a> {
    library: Library,
    /// Plain arguments and results.
    frame: Frame,
    results: Vec<TypedSlot>,
    /// The addresses of arguments and results; those of arrays lead into `_arrays`.
    addresses: Box<[*mut c_void]>,
    _arrays: Box<[RawArray]>,
    lent: PhantomData<&'a mut [u8]>,
}

impl fmt::Debug for BoundCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BoundCall({:?})", self.library)
    }
}

impl Library {
    /// Checks arguments, and keeps them for calls.
    ///
    /// # Errors
    /// Another number of arguments, or one of another type, with other axes, in another layout, or to be read only where
    /// the library changes it.
    pub fn bind<'a>(&self, arguments: Vec<Argument<'a>>) -> Result<BoundCall<'a>, BoundaryError> {
        let signature = self.signature();
        let (expected, actual) = (signature.parameters.len(), arguments.len());
        if expected != actual {
            return Err(BoundaryError::Count { expected, actual });
        }
        let memory = |error: &dyn fmt::Display| BoundaryError::Memory { message: error.to_string() };
        let mut builder = FrameLayout::builder();
        let plain = signature.parameters.iter().filter(|parameter| parameter.qtype.nd().is_none());
        let slots: Vec<TypedSlot> = plain.map(|parameter| builder.typed(parameter.qtype.clone())).collect();
        let results = signature.results.iter().map(|(_, qtype)| builder.typed(qtype.clone()));
        let results: Vec<TypedSlot> = results.collect();
        slots.iter().for_each(|slot| builder.place_input(slot));
        results.iter().for_each(|slot| builder.place_output(slot));
        let layout = builder.build().map_err(|error| memory(&error))?;
        let mut frame = Frame::new(&layout).map_err(|error| memory(&error))?;
        let mut slots = slots.into_iter();
        let (mut arrays, mut places) = (Vec::new(), Vec::new());
        for (parameter, argument) in signature.parameters.iter().zip(&arguments) {
            match parameter.qtype.nd() {
                Some(array) => {
                    arrays.push(array_of(parameter, array, argument)?);
                    places.push(Err(arrays.len() - 1));
                }
                None => {
                    let slot = slots.next().expect("a slot for each plain parameter");
                    let Argument::Value(value) = argument else {
                        return Err(mismatch(parameter, "an array".to_owned()));
                    };
                    if value.qtype().storage() != parameter.qtype.storage() {
                        return Err(mismatch(parameter, value.qtype().to_string()));
                    }
                    frame.write(&slot, value).map_err(|_| mismatch(parameter, value.qtype().to_string()))?;
                    places.push(Ok(slot.offset()));
                }
            }
        }
        let arrays = arrays.into_boxed_slice();
        let in_frame = |offset: u32| frame.base().wrapping_add(offset as usize).cast::<c_void>();
        let of_arguments = places.into_iter().map(|place| match place {
            Ok(offset) => in_frame(offset),
            Err(number) => (&raw const arrays[number]).cast_mut().cast(),
        });
        let addresses = of_arguments.chain(results.iter().map(|slot| in_frame(slot.offset()))).collect();
        Ok(BoundCall { library: self.clone(), frame, results, addresses, _arrays: arrays, lent: PhantomData })
    }
}

impl BoundCall<'_> {
    /// Calls the library.
    ///
    /// # Errors
    /// What it raises. Arrays that it changes may have been changed in part by then.
    pub fn run(&mut self) -> Result<(), Raised> {
        let mut error = RawError {
            category: 0,
            routine: 0,
            instruction: 0,
            line: 0,
            message: std::ptr::null(),
            operands: [0; 4],
        };
        // SAFETY: the library takes these types, and every argument was checked for its own; the frame, the arrays and what
        // they lead to are borrowed by this call.
        let status = unsafe { (self.library.inner.entry)(self.addresses.as_ptr(), &raw mut error) };
        if status != 0 {
            return Err(raised(status, &error));
        }
        Ok(())
    }

    /// A result of the last run, by its number.
    ///
    /// # Panics
    /// There is no such result.
    pub fn result(&self, number: usize) -> Value {
        let slot = &self.results[number];
        // SAFETY: the slot is plain and in the frame; a library gives values of the types that it says.
        let value = unsafe { read_value(self.frame.base(), slot.offset(), slot.qtype()) };
        value.expect("plain values take no memory")
    }
}

#[cold]
fn raised(status: i32, error: &RawError) -> Raised {
    let category = usize::try_from(status).ok().and_then(|status| status.checked_sub(1)).and_then(|number| Category::ALL.get(number).copied());
    // SAFETY: a message is a string of the library that ends with 0; it stays while the library is loaded.
    let message = (!error.message.is_null()).then(|| unsafe { CStr::from_ptr(error.message) });
    Raised {
        category: category.unwrap_or(Category::Host),
        routine: error.routine.try_into().unwrap_or(0),
        instruction: error.instruction.try_into().unwrap_or(0),
        line: error.line.try_into().unwrap_or(0),
        message: message.map(|text| text.to_string_lossy().into_owned()),
        operands: error.operands,
    }
}

fn mismatch(parameter: &Parameter, actual: String) -> BoundaryError {
    BoundaryError::Type { name: parameter.name.clone(), expected: parameter.qtype.to_string(), actual }
}

/// The array of an argument, for a parameter of this type.
fn array_of(
    parameter: &Parameter,
    expected: NdType,
    argument: &Argument<'_>,
) -> Result<RawArray, BoundaryError> {
    let of_view = |view: &NdView<'_>| {
        let first = view.bytes().as_ptr().wrapping_add(view.start()).cast_mut();
        raw_array(parameter, expected, view.element(), (view.shape(), view.strides()), first)
    };
    let is_read = || match parameter.is_updated {
        true => Err(BoundaryError::ReadOnly { name: parameter.name.clone() }),
        false => Ok(()),
    };
    match argument {
        Argument::Update(view) => {
            let strides = c_strides(view.shape(), cell_size(view.element()));
            let axes = (view.shape(), &strides[..view.shape().len()]);
            raw_array(parameter, expected, view.element(), axes, view.first())
        }
        Argument::Elements(view) => is_read().and_then(|()| of_view(view)),
        Argument::Value(Value::NdArray(rows)) => is_read().and_then(|()| of_view(&rows.view())),
        Argument::Value(value) => Err(mismatch(parameter, value.qtype().to_string())),
    }
}

fn raw_array(
    parameter: &Parameter,
    expected: NdType,
    element: ScalarType,
    (shape, strides): (&[usize], &[isize]),
    data: *mut u8,
) -> Result<RawArray, BoundaryError> {
    let is_unit = |axis: usize| !expected.is_unit(axis) || shape[axis] == 1;
    let fits =
        element == expected.element() && shape.len() == expected.rank() && (0..shape.len()).all(is_unit);
    if !fits {
        return Err(mismatch(parameter, format!("an array of {element} of shape {shape:?}")));
    }
    let own = c_strides(shape, cell_size(element));
    let is_along = |axis: usize| shape[axis] == 1 || strides[axis] == own[axis];
    let is_empty = shape.contains(&0);
    if parameter.is_contiguous && !is_empty && !(0..shape.len()).all(is_along) {
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        return Err(BoundaryError::Layout { name: parameter.name.clone(), shape, strides });
    }
    let mut raw = RawArray { data, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
    for axis in 0..shape.len() {
        (raw.shape[axis], raw.strides[axis]) = (shape[axis] as i64, strides[axis] as i64);
    }
    Ok(raw)
}
