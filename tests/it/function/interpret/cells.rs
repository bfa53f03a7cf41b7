//! Arrays of the interpreters: cells that several names share, and views of them.

use super::{Step, Stop, raise};
use crate::function::reference::Datum;
use cembra::cli::function_value::python_float;
use cembra::vm::value::{ScalarType, Value};
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::rc::Rc;

/// Cells of arrays that a test makes at most.
const MAX_CELLS: i64 = 1 << 20;
/// Cells of arrays that the machine makes at most.
const MACHINE_CELLS: i128 = 134_217_728;

/// An array, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub(super) data: Rc<RefCell<Vec<Datum>>>,
    /// Type of the elements; none of a list that says it by what it holds.
    pub(super) element: Option<ScalarType>,
    pub(super) is_list: bool,
    start: i64,
    /// Size and distance of each axis; a list has as many cells as it holds.
    axes: Vec<(i64, i64)>,
}

/// A place along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    At(i64),
    Slice(Option<i64>, Option<i64>, i64),
}

impl Cells {
    /// An array of one value.
    pub(super) fn filled(
        element: Option<ScalarType>,
        sizes: &[i64],
        value: Datum,
        is_list: bool,
    ) -> Step<Cells> {
        if sizes.iter().any(|size| *size < 0) {
            return raise("ValueError");
        }
        let count: i128 = sizes
            .iter()
            .map(|size| i128::from(*size))
            .try_fold(1i128, i128::checked_mul)
            .unwrap_or(i128::MAX);
        if count > MACHINE_CELLS {
            return raise("MemoryError");
        }
        if count as i64 > MAX_CELLS {
            return Err(Stop::Unknown("memory"));
        }
        let value = stored(element, value)?;
        let mut axes: Vec<(i64, i64)> = Vec::new();
        let mut distance = 1;
        for size in sizes.iter().rev() {
            axes.push((*size, distance));
            distance *= size;
        }
        axes.reverse();
        let data = Rc::new(RefCell::new(vec![value; count as usize]));
        Ok(Cells { data, element, is_list, start: 0, axes })
    }

    /// An argument.
    pub(super) fn argument(value: &Value) -> Option<Cells> {
        let Value::NdArray(rows) = value else { return None };
        let sizes: Vec<i64> = rows.shape().iter().map(|size| *size as i64).collect();
        let element = rows.qtype().element();
        let cells = Cells::filled(Some(element), &sizes, Datum::Int(0), false).ok()?;
        let datum = |scalar: cembra::vm::value::ScalarValue| match element {
            ScalarType::Boolean => Datum::Bool(scalar == cembra::vm::value::ScalarValue::Boolean(true)),
            element if element.is_float() => Datum::Float(scalar.as_f64().unwrap_or(f64::NAN)),
            _ => Datum::Int(scalar.as_i64().unwrap_or(0)),
        };
        *cells.data.borrow_mut() = rows.view().scalars().map(datum).collect();
        Some(cells)
    }

    pub(super) fn sizes(&self) -> Vec<i64> {
        match self.is_list {
            true => vec![self.data.borrow().len() as i64],
            false => self.axes.iter().map(|axis| axis.0).collect(),
        }
    }

    /// The part at places along the first axes.
    pub(super) fn part(&self, places: &[Place]) -> Step<Cells> {
        let (sizes, mut start, mut axes) = (self.sizes(), self.start, Vec::new());
        for (axis, size) in sizes.iter().enumerate() {
            let distance = self.axes[axis].1;
            match places.get(axis) {
                Some(Place::At(index)) => {
                    let at = if *index < 0 { index.saturating_add(*size) } else { *index };
                    if !(0..*size).contains(&at) {
                        return raise("IndexError");
                    }
                    start += at * distance;
                }
                Some(Place::Slice(lower, upper, step)) => {
                    let (first, count) = slice(*lower, *upper, *step, *size);
                    start += first * distance;
                    axes.push((count, step * distance));
                }
                None => axes.push((*size, distance)),
            }
        }
        let part = Cells { data: self.data.clone(), element: self.element, is_list: false, start, axes };
        // A slice of an array is a view, one of a list a list of its own.
        match self.is_list && matches!(places, [Place::Slice(..)]) {
            true => part.copied(self.element).map(|copy| Cells { is_list: true, ..copy }),
            false => Ok(part),
        }
    }

    /// Positions of the elements in the cells, in order.
    fn positions(&self) -> Vec<usize> {
        let mut all = vec![self.start];
        for (axis, size) in self.sizes().iter().enumerate() {
            let distance = self.axes[axis].1;
            all = all.into_iter().flat_map(|at| (0..*size).map(move |index| at + index * distance)).collect();
        }
        all.into_iter().map(|at| at as usize).collect()
    }

    /// The elements, in order.
    pub(super) fn elements(&self) -> Step<Vec<Datum>> {
        let data = self.data.borrow();
        // A part of a list that has become shorter has cells no more.
        self.positions()
            .into_iter()
            .map(|at| data.get(at).copied().ok_or(Stop::Raised("IndexError".into())))
            .collect()
    }

    /// Writes a number into every element.
    pub(super) fn fill(&self, value: Datum) -> Step<()> {
        let positions = self.positions();
        if positions.is_empty() {
            return Ok(());
        }
        let value = stored(self.element, value)?;
        let mut data = self.data.borrow_mut();
        for at in positions {
            *data.get_mut(at).ok_or(Stop::Raised("IndexError".into()))? = value;
        }
        Ok(())
    }

    /// Writes the elements of another array, stretched as numpy's rules say.
    pub(super) fn assign(&self, values: &Cells) -> Step<()> {
        let (sizes, given) = (self.sizes(), values.sizes());
        let places = self.positions();
        // The position of the value of each place, by its indices.
        let mut from = vec![0i64; places.len()];
        let (mut inner, mut distance) = (1, 1);
        for axis in (0..sizes.len()).rev() {
            let at = (axis + given.len()).checked_sub(sizes.len());
            let size = at.map_or(1, |at| given[at]);
            if size != 1 && size != sizes[axis] {
                return raise("ValueError");
            }
            for (number, from) in from.iter_mut().enumerate() {
                let index = number as i64 / inner % sizes[axis];
                *from += if size == 1 { 0 } else { index * distance };
            }
            inner *= sizes[axis].max(1);
            distance *= size;
        }
        let elements = values.elements()?;
        for (place, from) in places.into_iter().zip(from) {
            let value = stored(self.element, elements[from as usize])?;
            *self.data.borrow_mut().get_mut(place).ok_or(Stop::Raised("IndexError".into()))? = value;
        }
        Ok(())
    }

    /// Writes the elements of a list or an array of one axis anew.
    pub(super) fn set(&self, at: usize, value: Datum) -> Step<()> {
        self.part(&[Place::At(at as i64)])?.fill(value)
    }

    /// An array of its own with these elements.
    pub(super) fn copied(&self, element: Option<ScalarType>) -> Step<Cells> {
        let copy = Cells::filled(element, &self.sizes(), Datum::Int(0), self.is_list)?;
        let elements: Step<Vec<Datum>> =
            self.elements()?.into_iter().map(|value| stored(element, value)).collect();
        *copy.data.borrow_mut() = elements?;
        Ok(copy)
    }

    /// The form of recorded calls.
    pub(super) fn json(&self) -> Json {
        let elements = self.elements().unwrap_or_default();
        let element = self.element.unwrap_or(match elements.first() {
            Some(Datum::Float(_)) | None => ScalarType::Float64,
            Some(Datum::Bool(_)) => ScalarType::Boolean,
            Some(Datum::Int(_)) => ScalarType::Int64,
        });
        let dtype = if element == ScalarType::Boolean { "bool" } else { element.name() };
        let text = |value: &Datum| match value {
            Datum::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Datum::Int(value) if element == ScalarType::Uint64 => (*value as u64).to_string(),
            Datum::Int(value) => value.to_string(),
            Datum::Float(value) => python_float(*value),
        };
        let data: Vec<String> = elements.iter().map(text).collect();
        json!({ "t": "array", "dtype": dtype.to_ascii_lowercase(), "shape": self.sizes(), "order": "C", "data": data })
    }
}

/// First index and number of a slice, as Python clips them.
fn slice(lower: Option<i64>, upper: Option<i64>, step: i64, size: i64) -> (i64, i64) {
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let clip = |bound: Option<i64>, default: i64| match bound {
        None => default,
        Some(bound) if bound < 0 => bound.saturating_add(size).clamp(low, high),
        Some(bound) => bound.clamp(low, high),
    };
    let (first, last) =
        if step > 0 { (clip(lower, 0), clip(upper, size)) } else { (clip(lower, size - 1), clip(upper, -1)) };
    (first, super::python::range_count(first, last, step).unwrap_or(0))
}

/// A number as an element: integers wrap, floats are cut.
fn stored(element: Option<ScalarType>, value: Datum) -> Step<Datum> {
    let Some(element) = element else { return Ok(value) };
    let int = || match value {
        Datum::Float(value) if value.is_nan() => raise("ValueError"),
        Datum::Float(value) if (-2f64.powi(63)..2f64.powi(63)).contains(&value.trunc()) => {
            Ok(value.trunc() as i64)
        }
        Datum::Float(_) => raise("OverflowError"),
        Datum::Int(value) => Ok(value),
        Datum::Bool(value) => Ok(i64::from(value)),
    };
    let float = match value {
        Datum::Float(value) => value,
        Datum::Int(value) => value as f64,
        Datum::Bool(value) => f64::from(u8::from(value)),
    };
    Ok(match element {
        ScalarType::Boolean => Datum::Bool(float != 0.0),
        ScalarType::Float64 => Datum::Float(float),
        ScalarType::Float32 => Datum::Float(f64::from(float as f32)),
        ScalarType::Int8 => Datum::Int(i64::from(int()? as i8)),
        ScalarType::Int16 => Datum::Int(i64::from(int()? as i16)),
        ScalarType::Int32 => Datum::Int(i64::from(int()? as i32)),
        ScalarType::Uint8 => Datum::Int(i64::from(int()? as u8)),
        ScalarType::Uint16 => Datum::Int(i64::from(int()? as u16)),
        ScalarType::Uint32 => Datum::Int(i64::from(int()? as u32)),
        _ => Datum::Int(int()?),
    })
}
