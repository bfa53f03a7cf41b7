//! Calling a library: arguments are checked once, when they are bound.

use crate::frame::Frame;
use crate::frame::typed::read_value;
use crate::library::argument::{Argument, Expected, NO_ARRAY, array_of, mismatch, raw_array};
use crate::library::boundary_array::BoundaryArray;
use crate::library::call_layout::Place;
use crate::library::edge::{NO_EDGE, RawEdge, edge_of};
use crate::library::error::{BoundaryError, Raised};
use crate::library::open::{Library, Loaded, RawArray, RawColumn, RawError};
use crate::machine::{NdViewMut, Room};
use crate::value::array::{ArrayType, ROWS_OF_A_WORD};
use crate::value::nd_type::MAX_RANK;
use crate::value::shape::{PerAxis, c_strides};
use crate::value::{ArrayRows, Category, NdRows, NdView, Value};
use std::borrow::BorrowMut;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The memory of calls of a library, which is used again from call to call.
///
/// ```
/// # use cembra_vm::{library::{Argument, Library}, value::{NdView, Value}};
/// # fn f(library: &Library, rows: &[[f64; 2]]) -> Result<(), Box<dyn std::error::Error>> {
/// let mut memory = library.call_memory()?;
/// for pair in rows {
///     let view = NdView::from_slice(pair, &[2]).expect("two elements");
///     memory.bind([Argument::Elements(view)])?.run()?; // every check, no allocation
///     println!("{:?}", memory.result(0));
/// }
/// # Ok(())
/// # }
/// ```
pub struct CallMemory {
    pub(super) library: Library,
    /// Plain arguments and results.
    pub(super) frame: Frame,
    /// The addresses of arguments and results; those of arrays lead into `arrays`.
    pub(super) addresses: Box<[*mut c_void]>,
    /// Arrays of arguments, then those of results: lent, or made by the library and freed by this memory.
    arrays: Box<[RawArray]>,
    /// For each array the memory that is lent for it, if it is a result; without data if none is.
    lent: Box<[RawArray]>,
    /// For each array whether it stands in memory that was lent for the last run.
    is_lent: Box<[bool]>,
    /// Edges of arguments, then those of results, which the library has made.
    edges: Box<[RawEdge]>,
    /// Where the operands and the results of a sweep stand, in the order of `arrays`.
    pub(super) columns: Box<[RawColumn]>,
    /// The same for the first step of a sweep in order.
    pub(super) first_columns: Box<[RawColumn]>,
    /// For each argument the positions of a sweep.
    pub(super) lists: Box<[*const u32]>,
}

impl fmt::Debug for CallMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallMemory({:?})", self.library)
    }
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
/// let mut call = library.bind([Argument::Elements(view)]).expect("the library takes rows");
/// drop(rows); // still lent
/// call.run().expect("no error");
/// # }
/// ```
///
/// So they do in memory that is used again:
///
/// ```compile_fail,E0505
/// # use cembra_vm::{library::{Argument, CallMemory}, value::NdView};
/// # fn f(memory: &mut CallMemory) {
/// let rows = vec![1.0, 2.0];
/// let view = NdView::from_slice(&rows, &[2]).expect("two rows");
/// let mut call = memory.bind([Argument::Elements(view)]).expect("the library takes rows");
/// drop(rows); // still lent
/// call.run().expect("no error");
/// # }
/// ```
#[derive(Debug)]
pub struct BoundCall<'a, M = CallMemory> {
    memory: M,
    lent: PhantomData<&'a mut [u8]>,
}

impl Library {
    /// Memory for calls.
    ///
    /// # Errors
    /// There is none.
    pub fn call_memory(&self) -> Result<CallMemory, BoundaryError> {
        let layout = &self.inner.layout;
        let frame = Frame::new(&layout.frame)
            .map_err(|error| BoundaryError::Memory { message: error.to_string() })?;
        let mut arrays = vec![NO_ARRAY; layout.arrays].into_boxed_slice();
        let first_array = arrays.as_mut_ptr();
        let mut edges = vec![NO_EDGE; layout.edges].into_boxed_slice();
        let first_edge = edges.as_mut_ptr();
        let address = |place: &Place| match place {
            Place::Plain(slot) => frame.base().wrapping_add(slot.offset() as usize).cast::<c_void>(),
            Place::Array(number, _) => first_array.wrapping_add(*number).cast::<c_void>(),
            Place::Edge(number, _) => first_edge.wrapping_add(*number).cast::<c_void>(),
        };
        let addresses = layout.arguments.iter().chain(&layout.results).map(address).collect();
        let lent = vec![NO_ARRAY; layout.arrays].into_boxed_slice();
        let is_lent = vec![false; layout.arrays].into_boxed_slice();
        let no_column = RawColumn { data: std::ptr::null_mut(), strides: [0; MAX_RANK] };
        let columns = vec![no_column; layout.arrays].into_boxed_slice();
        let first_columns = columns.clone();
        let lists = vec![std::ptr::null(); layout.arguments.len()].into_boxed_slice();
        let library = self.clone();
        Ok(CallMemory {
            library,
            frame,
            addresses,
            arrays,
            lent,
            is_lent,
            edges,
            columns,
            first_columns,
            lists,
        })
    }

    /// Checks arguments, and keeps them for calls.
    ///
    /// # Errors
    /// Another number of arguments, or one of another type, with other axes, in another layout, or to be read only where
    /// the library changes it.
    pub fn bind<'a>(
        &self,
        arguments: impl IntoIterator<Item = Argument<'a>, IntoIter: ExactSizeIterator>,
    ) -> Result<BoundCall<'a>, BoundaryError> {
        let mut memory = self.call_memory()?;
        memory.fill(arguments)?;
        Ok(BoundCall { memory, lent: PhantomData })
    }
}

impl CallMemory {
    /// Checks arguments for a call in this memory, as [`Library::bind`] does. What was bound before is not any more.
    ///
    /// # Errors
    /// As for [`Library::bind`].
    pub fn bind<'m>(
        &'m mut self,
        arguments: impl IntoIterator<Item = Argument<'m>, IntoIter: ExactSizeIterator>,
    ) -> Result<BoundCall<'m, &'m mut CallMemory>, BoundaryError> {
        self.lent.fill(NO_ARRAY);
        self.fill(arguments)?;
        Ok(BoundCall { memory: self, lent: PhantomData })
    }

    fn fill<'a>(
        &mut self,
        arguments: impl IntoIterator<Item = Argument<'a>, IntoIter: ExactSizeIterator>,
    ) -> Result<(), BoundaryError> {
        let Loaded { layout, signature, .. } = &*self.library.inner;
        let arguments = arguments.into_iter();
        let (expected, actual) = (layout.arguments.len(), arguments.len());
        if expected != actual {
            return Err(BoundaryError::Count { expected, actual });
        }
        for ((place, parameter), argument) in
            layout.arguments.iter().zip(&signature.parameters).zip(arguments)
        {
            match place {
                Place::Array(number, array) => {
                    self.arrays[*number] = array_of(&Expected::of(parameter, *array), &argument)?;
                }
                Place::Edge(number, qtype) => {
                    self.edges[*number] = edge_of(qtype, parameter, &argument)?;
                }
                Place::Plain(slot) => {
                    let Argument::Value(value) = argument else {
                        return Err(mismatch(parameter, "an array".to_owned()));
                    };
                    // A layout has the storage types of its values, and writing compares them.
                    let written = self.frame.write(slot, value);
                    written.map_err(|_| mismatch(parameter, value.qtype().to_string()))?;
                }
            }
        }
        Ok(())
    }

    /// Calls the library.
    fn run(&mut self) -> Result<(), Raised> {
        self.free_results();
        let mut error = RawError {
            category: 0,
            routine: 0,
            instruction: 0,
            line: 0,
            message: std::ptr::null(),
            operands: [0; 4],
            text: [0; 40],
        };
        // SAFETY: the library takes these types, and every argument was checked for its own; the frame, the arrays and what
        // they lead to are borrowed by the bound call that runs.
        let status = unsafe { (self.library.inner.entry)(self.addresses.as_ptr(), &raw mut error) };
        if status != 0 {
            return Err(raised(status, &error));
        }
        Ok(())
    }

    fn lend(&mut self, number: usize, memory: NdViewMut<'_>) -> Result<(), BoundaryError> {
        let (place, result) = self.array_result(number)?;
        result.needs_no_bitmap(memory.element(), memory.shape())?;
        self.lent[place] = array_of(&result, &Argument::Update(memory))?;
        Ok(())
    }

    fn lend_rows(
        &mut self,
        number: usize,
        cells: NdViewMut<'_>,
        bitmap: &mut [u8],
    ) -> Result<(), BoundaryError> {
        let (place, result) = self.array_result(number)?;
        let fits =
            result.array.has_rows() && bitmap.len() >= cells.shape().iter().product::<usize>().div_ceil(8);
        if !fits {
            let (shape, bits) = (cells.shape(), 8 * bitmap.len());
            return Err(result
                .mismatch(format!("an array of {} of shape {shape:?} with {bits} bits", cells.element())));
        }
        let raw = array_of(&result, &Argument::Update(cells))?;
        self.lent[place] = RawArray { validity: bitmap.as_mut_ptr(), ..raw };
        Ok(())
    }

    fn lend_room(&mut self, number: usize, room: &mut Room<'_>) -> Result<(), BoundaryError> {
        let (place, result) = self.array_result(number)?;
        let (first, element, shape, strides) = room.elements();
        result.needs_no_bitmap(element, shape)?;
        self.lent[place] = raw_array(&result, element, (shape, &strides[..shape.len()]), first)?;
        Ok(())
    }

    /// The place of a result that is an array, and what memory for it has to be.
    fn array_result(&self, number: usize) -> Result<(usize, Expected<'_>), BoundaryError> {
        let Loaded { layout, signature, .. } = &*self.library.inner;
        match (layout.results.get(number), signature.results.get(number)) {
            (Some(Place::Array(place, array)), Some((name, _))) => {
                let is_contiguous = signature.has_contiguous_results;
                Ok((*place, Expected { name, array: *array, is_updated: true, is_contiguous }))
            }
            _ => Err(BoundaryError::NoArray { number }),
        }
    }

    /// A result of the last run, by its number. One that was made in memory of the host stands there.
    ///
    /// # Panics
    /// There is no such result, or it was made in memory of the host.
    pub fn result(&self, number: usize) -> Value {
        let slot = match &self.library.inner.layout.results[number] {
            Place::Plain(slot) => slot,
            Place::Array(number, array) => return self.array(*number, *array),
            Place::Edge(number, qtype) => return self.edges[*number].value(qtype),
        };
        // SAFETY: the slot is plain and in the frame; a library gives values of the types that it says.
        let value = unsafe { read_value(self.frame.base(), slot.offset(), slot.qtype()) };
        value.expect("plain values take no memory")
    }

    /// An array that the last run has made, by the number of the result, where it lies; nothing if the result is no array or
    /// a mask, or none was made.
    ///
    /// # Panics
    /// There is no such result, or it was made in memory of the host.
    pub fn elements(&self, number: usize) -> Option<NdView<'_>> {
        match &self.library.inner.layout.results[number] {
            Place::Plain(_) | Place::Edge(..) => None,
            Place::Array(_, array) if array.size() == 0 => None,
            Place::Array(number, array) => self.made(*number, *array),
        }
    }

    /// An array that the library has made, and its bitmap.
    fn memory_of(&self, number: usize, array: BoundaryArray) -> Option<MadeMemory<'_>> {
        assert!(!self.is_lent[number], "the result stands in memory of the host");
        let raw = &self.arrays[number];
        if raw.data.is_null() {
            return None;
        }
        let shape: PerAxis = raw.shape[..array.rank()].iter().map(|size| *size as usize).collect();
        let count = shape.iter().product::<usize>();
        // SAFETY: the elements of an array that a library makes stand one after the other, and stay until the next run.
        let cells = unsafe { std::slice::from_raw_parts(raw.data, count * array.size()) };
        // SAFETY: so does its bitmap, which begins with a byte.
        let bitmap = (!raw.validity.is_null())
            .then(|| unsafe { std::slice::from_raw_parts(raw.validity, count.div_ceil(8)) });
        Some((shape, cells, bitmap))
    }

    /// The view of an array that the library has made.
    fn made(&self, number: usize, array: BoundaryArray) -> Option<NdView<'_>> {
        let (shape, cells, bitmap) = self.memory_of(number, array)?;
        let strides = c_strides(&shape, array.size());
        let view = NdView::new(array.element(), cells, 0, &shape, &strides[..shape.len()]);
        let view = view.expect("a library gives arrays of the types that it says");
        Some(match bitmap {
            Some(bitmap) => view.with_validity(bitmap, 0).expect("a bit for each row"),
            None => view,
        })
    }

    /// A copy of an array that the library has made; one without elements if it has made none.
    fn array(&self, number: usize, array: BoundaryArray) -> Value {
        let qtype = match array {
            BoundaryArray::Nd(qtype) => qtype,
            BoundaryArray::Rows(rows) => return self.rows(number, rows),
        };
        let Some(view) = self.made(number, array) else {
            return Value::NdArray(Arc::new(NdRows::empty(qtype)));
        };
        let rows = NdRows::from_view(qtype, &view);
        Value::NdArray(Arc::new(rows.expect("a library gives arrays of the types that it says")))
    }

    fn rows(&self, number: usize, array: ArrayType) -> Value {
        let mut rows = ArrayRows::new(array.element);
        if let Some((shape, cells, bitmap)) = self.memory_of(number, BoundaryArray::Rows(array)) {
            rows.resize(array.element, shape[0]);
            rows.cells_mut()[..cells.len()].copy_from_slice(cells);
            if let Some(bitmap) = bitmap {
                for (word, bits) in rows.presence_mut().iter_mut().zip(bitmap.chunks(ROWS_OF_A_WORD / 8)) {
                    let mut bytes = [0; ROWS_OF_A_WORD / 8];
                    bytes[..bits.len()].copy_from_slice(bits);
                    *word &= u64::from_le_bytes(bytes);
                }
            }
            rows.normalize();
        }
        Value::Array(array.class, Arc::new(rows))
    }

    /// Frees the arrays of the last run, and lends memory for those of the next one.
    fn free_results(&mut self) {
        let Loaded { free: Some(free), layout, .. } = &*self.library.inner else { return };
        for result in &layout.results {
            if let Place::Edge(number, _) = result {
                let edge = &mut self.edges[*number];
                // SAFETY: the numbers are an array that the library has made, or none.
                unsafe { free(&raw mut edge.numbers) };
                *edge = NO_EDGE;
            }
            if let Place::Array(number, _) = result {
                let (array, lent) = (&mut self.arrays[*number], &self.lent[*number]);
                // What is lent now was lent for the last run, or that run has made an array of its own.
                if self.is_lent[*number] {
                    *array = NO_ARRAY;
                }
                // SAFETY: the array is one that the library has made, or none.
                unsafe { free(array) };
                *array = *lent;
                self.is_lent[*number] = !lent.data.is_null();
            }
        }
    }
}

impl<'a, M: BorrowMut<CallMemory>> BoundCall<'a, M> {
    /// Calls the library.
    ///
    /// # Errors
    /// What it raises. Arrays that it changes may have been changed in part by then.
    pub fn run(&mut self) -> Result<(), Raised> {
        self.memory.borrow_mut().run()
    }

    /// Memory in which runs make a result, by its number. A result of another shape raises. An argument may lie in the
    /// memory as well: the result is then made elsewhere, and copied.
    ///
    /// # Errors
    /// The result is no array, or one of another element or other axes.
    pub fn lend(&mut self, number: usize, memory: NdViewMut<'a>) -> Result<(), BoundaryError> {
        self.memory.borrow_mut().lend(number, memory)
    }

    /// The same for a result whose rows may be missing: memory for cells, and for a bitmap, lowest bit first. Bits behind the last
    /// row become 0 as far as its byte goes.
    ///
    /// # Errors
    /// The result has no rows, or ones of another element, or is a mask; or the bitmap has no bit for a row.
    pub fn lend_rows(
        &mut self,
        number: usize,
        cells: NdViewMut<'a>,
        bitmap: &'a mut [u8],
    ) -> Result<(), BoundaryError> {
        self.memory.borrow_mut().lend_rows(number, cells, bitmap)
    }

    /// The same in memory of any strides, if the library was built for these ([`has_contiguous_results`](crate::library::Signature::has_contiguous_results)). The slot
    /// of the room does not matter.
    ///
    /// # Errors
    /// As [`BoundCall::lend`]; or the library needs elements one after the other.
    pub fn lend_room(&mut self, number: usize, room: &'a mut Room<'_>) -> Result<(), BoundaryError> {
        self.memory.borrow_mut().lend_room(number, room)
    }

    /// A result of the last run, by its number: as [`CallMemory::result`].
    ///
    /// # Panics
    /// As [`CallMemory::result`].
    pub fn result(&self, number: usize) -> Value {
        self.memory.borrow().result(number)
    }
}

impl Drop for CallMemory {
    fn drop(&mut self) {
        self.lent.fill(NO_ARRAY);
        self.free_results();
    }
}

/// Sizes, cells and the bitmap of an array that a library has made.
type MadeMemory<'m> = (PerAxis, &'m [u8], Option<&'m [u8]>);

#[cold]
fn raised(status: i32, error: &RawError) -> Raised {
    let category = usize::try_from(status)
        .ok()
        .and_then(|status| status.checked_sub(1))
        .and_then(|number| Category::ALL.get(number).copied());
    // SAFETY: a message is a string that ends with 0, of the library, which is loaded, or in the error itself.
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
