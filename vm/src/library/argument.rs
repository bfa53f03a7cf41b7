//! Arguments of a library: what is compared with the type of an array before it crosses the boundary.

use crate::library::boundary_array::BoundaryArray;
use crate::library::error::BoundaryError;
use crate::library::open::RawArray;
use crate::library::signature::Parameter;
use crate::machine::NdViewMut;
use crate::value::array::{ArrayClass, ArrayType, cell_size};
use crate::value::nd_type::MAX_RANK;
use crate::value::shape::c_strides;
use crate::value::{ArrayRows, NdView, ScalarType, Value};

/// An argument.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A plain value, or an array that is read; of rows, some may be missing.
    Value(&'a Value),
    /// An array that is read where it lies. Of [rows](crate::library::BoundaryArray::Rows) some may be missing.
    Elements(NdView<'a>),
    /// An array that is changed where it lies.
    Update(NdViewMut<'a>),
}

/// A place for an array that is not there yet.
pub(super) const NO_ARRAY: RawArray = RawArray {
    data: std::ptr::null_mut(),
    shape: [0; MAX_RANK],
    strides: [0; MAX_RANK],
    validity: std::ptr::null_mut(),
    offset: 0,
};

/// What an array has to be.
#[derive(Clone, Copy)]
pub(super) struct Expected<'s> {
    pub(super) name: &'s str,
    pub(super) array: BoundaryArray,
    pub(super) is_updated: bool,
    pub(super) is_contiguous: bool,
}

impl Expected<'_> {
    pub(super) fn of(parameter: &Parameter, array: BoundaryArray) -> Expected<'_> {
        let Parameter { name, is_updated, is_contiguous, .. } = parameter;
        Expected { name, array, is_updated: *is_updated, is_contiguous: *is_contiguous }
    }

    pub(super) fn mismatch(&self, actual: String) -> BoundaryError {
        BoundaryError::Type { name: self.name.to_owned(), expected: self.array.to_string(), actual }
    }

    /// Refuses memory without a bitmap for rows.
    pub(super) fn needs_no_bitmap(&self, element: ScalarType, shape: &[usize]) -> Result<(), BoundaryError> {
        match self.array.has_rows() {
            true => Err(self.mismatch(format!("an array of {element} of shape {shape:?} without a bitmap"))),
            false => Ok(()),
        }
    }
}

/// The array of an argument.
pub(super) fn array_of(expected: &Expected<'_>, argument: &Argument<'_>) -> Result<RawArray, BoundaryError> {
    let of_view = |view: &NdView<'_>| {
        let first = view.bytes().as_ptr().wrapping_add(view.start()).cast_mut();
        let raw = raw_array(expected, view.element(), (view.shape(), view.strides()), first)?;
        match view.validity() {
            None => Ok(raw),
            Some((bitmap, offset)) if expected.array.has_rows() => {
                // The bits are inside, so that their number is one of an address.
                Ok(RawArray { validity: bitmap.as_ptr().cast_mut(), offset: offset as i64, ..raw })
            }
            Some(_) => {
                let (element, shape) = (view.element(), view.shape());
                Err(expected.mismatch(format!("rows of {element} of shape {shape:?} that may be missing")))
            }
        }
    };
    let is_read = || match expected.is_updated {
        true => Err(BoundaryError::ReadOnly { name: expected.name.to_owned() }),
        false => Ok(()),
    };
    match argument {
        Argument::Update(view) => {
            let strides = c_strides(view.shape(), cell_size(view.element()));
            let axes = (view.shape(), &strides[..view.shape().len()]);
            raw_array(expected, view.element(), axes, view.first())
        }
        Argument::Elements(view) => is_read().and_then(|()| of_view(view)),
        Argument::Value(Value::NdArray(rows)) => is_read().and_then(|()| of_view(&rows.view())),
        Argument::Value(Value::Array(class, rows))
            if expected.array == BoundaryArray::Rows(rows_type(*class, rows)) =>
        {
            is_read().map(|()| raw_rows(rows))
        }
        Argument::Value(value) => Err(expected.mismatch(value.qtype().to_string())),
    }
}

fn rows_type(class: ArrayClass, rows: &ArrayRows) -> ArrayType {
    ArrayType { class, element: rows.element().storage() }
}

/// Rows as they stand.
pub(super) fn raw_rows(rows: &ArrayRows) -> RawArray {
    // Words of presence are a bitmap where the lowest byte comes first.
    const { assert!(cfg!(target_endian = "little"), "words of presence are read as bytes") };
    let mut raw = RawArray { data: rows.bytes().as_ptr().cast_mut(), shape: [1; MAX_RANK], ..NO_ARRAY };
    (raw.shape[0], raw.strides[0]) = (rows.len() as i64, cell_size(rows.element()) as i64);
    raw.validity = rows.presence().map_or(std::ptr::null_mut(), |words| words.as_ptr().cast_mut().cast());
    raw
}

pub(super) fn raw_array(
    expected: &Expected<'_>,
    element: ScalarType,
    (shape, strides): (&[usize], &[isize]),
    data: *mut u8,
) -> Result<RawArray, BoundaryError> {
    let array = expected.array;
    let is_unit = |axis: usize| !array.is_unit(axis) || shape[axis] == 1;
    let fits = element == array.element() && shape.len() == array.rank() && (0..shape.len()).all(is_unit);
    if !fits {
        return Err(expected.mismatch(format!("an array of {element} of shape {shape:?}")));
    }
    let own = c_strides(shape, expected.array.size());
    let is_along = |axis: usize| shape[axis] == 1 || strides[axis] == own[axis];
    let is_empty = shape.contains(&0);
    if expected.is_contiguous && !is_empty && !(0..shape.len()).all(is_along) {
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        return Err(BoundaryError::Layout { name: expected.name.to_owned(), shape, strides });
    }
    let mut raw = RawArray { data, shape: [1; MAX_RANK], ..NO_ARRAY };
    for axis in 0..shape.len() {
        (raw.shape[axis], raw.strides[axis]) = (shape[axis] as i64, strides[axis] as i64);
    }
    Ok(raw)
}

/// The refusal of an argument of another type.
pub(super) fn mismatch(parameter: &Parameter, actual: String) -> BoundaryError {
    BoundaryError::Type { name: parameter.name.clone(), expected: parameter.qtype.to_string(), actual }
}
