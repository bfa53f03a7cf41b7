//! Calling a library: arguments are checked once, when they are bound.

use crate::frame::Frame;
use crate::frame::typed::read_value;
use crate::layout::{FrameLayout, TypedSlot};
use crate::library::error::{BoundaryError, Raised};
use crate::library::open::{Library, RawArray, RawError};
use crate::library::signature::Parameter;
use crate::machine::NdViewMut;
use crate::value::array::cell_size;
use crate::value::nd_type::{MAX_RANK, NdType};
use crate::value::shape::c_strides;
use crate::value::{Category, NdRows, NdView, ScalarType, Value};
use std::ffi::{CStr, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

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

/// Where a result stands.
enum ResultPlace {
    /// In the frame.
    Plain(TypedSlot),
    /// Among the arrays.
    Array(usize, NdType),
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
    results: Vec<ResultPlace>,
    /// The addresses of arguments and results; those of arrays lead into `arrays`.
    addresses: Box<[*mut c_void]>,
    /// Arrays of arguments, then those of results, which the library makes and this call frees.
    arrays: Vec<RawArray>,
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
        let mut next_array = signature.parameters.len() - slots.len();
        let results = signature.results.iter().map(|(_, qtype)| match qtype.nd() {
            Some(array) => {
                next_array += 1;
                ResultPlace::Array(next_array - 1, array)
            }
            None => ResultPlace::Plain(builder.typed(qtype.clone())),
        });
        let results: Vec<ResultPlace> = results.collect();
        slots.iter().for_each(|slot| builder.place_input(slot));
        for result in &results {
            if let ResultPlace::Plain(slot) = result {
                builder.place_output(slot);
            }
        }
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
        arrays.resize(next_array, NO_ARRAY);
        let first_array = arrays.as_mut_ptr();
        let in_frame = |offset: u32| frame.base().wrapping_add(offset as usize).cast::<c_void>();
        let in_arrays = |number: usize| first_array.wrapping_add(number).cast::<c_void>();
        let of_arguments = places.into_iter().map(|place| match place {
            Ok(offset) => in_frame(offset),
            Err(number) => in_arrays(number),
        });
        let of_results = results.iter().map(|result| match result {
            ResultPlace::Plain(slot) => in_frame(slot.offset()),
            ResultPlace::Array(number, _) => in_arrays(*number),
        });
        let addresses = of_arguments.chain(of_results).collect();
        Ok(BoundCall { library: self.clone(), frame, results, addresses, arrays, lent: PhantomData })
    }
}

impl BoundCall<'_> {
    /// Calls the library.
    ///
    /// # Errors
    /// What it raises. Arrays that it changes may have been changed in part by then.
    pub fn run(&mut self) -> Result<(), Raised> {
        self.free_results();
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
        let slot = match &self.results[number] {
            ResultPlace::Plain(slot) => slot,
            ResultPlace::Array(number, qtype) => return self.array(*number, *qtype),
        };
        // SAFETY: the slot is plain and in the frame; a library gives values of the types that it says.
        let value = unsafe { read_value(self.frame.base(), slot.offset(), slot.qtype()) };
        value.expect("plain values take no memory")
    }

    /// A copy of an array that the library has made; one without elements if it has made none.
    fn array(&self, number: usize, qtype: NdType) -> Value {
        let raw = &self.arrays[number];
        if raw.data.is_null() {
            return Value::NdArray(Arc::new(NdRows::empty(qtype)));
        }
        let shape: Vec<usize> = raw.shape[..qtype.rank()].iter().map(|size| *size as usize).collect();
        let bytes = shape.iter().product::<usize>() * cell_size(qtype.element());
        // SAFETY: the elements of an array that a library makes stand one after the other, and stay until the next run.
        let bytes = unsafe { std::slice::from_raw_parts(raw.data, bytes) };
        let strides = c_strides(&shape, cell_size(qtype.element()));
        let view = NdView::new(qtype.element(), bytes, 0, &shape, &strides[..shape.len()]);
        let rows = view.and_then(|view| NdRows::from_view(qtype, &view));
        Value::NdArray(Arc::new(rows.expect("a library gives arrays of the types that it says")))
    }

    /// Frees the arrays of the last run.
    fn free_results(&mut self) {
        let Some(free) = self.library.inner.free else { return };
        for result in &self.results {
            if let ResultPlace::Array(number, _) = result {
                // SAFETY: the array is one that the library has made, or none.
                unsafe { free(&raw mut self.arrays[*number]) };
            }
        }
    }
}

impl Drop for BoundCall<'_> {
    fn drop(&mut self) {
        self.free_results();
    }
}

/// A place for an array that is not there yet.
const NO_ARRAY: RawArray =
    RawArray { data: std::ptr::null_mut(), shape: [0; MAX_RANK], strides: [0; MAX_RANK] };

#[cold]
fn raised(status: i32, error: &RawError) -> Raised {
    let category = usize::try_from(status)
        .ok()
        .and_then(|status| status.checked_sub(1))
        .and_then(|number| Category::ALL.get(number).copied());
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
