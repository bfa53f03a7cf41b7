//! Methods of lists, and numbers of all elements of an array.

use super::cells::Cells;
use super::python::{Item, as_float, integer, number, plus};
use super::{Step, Stop, raise};
use crate::function::reference::{Datum, binary, compares};
use cembra::function::library::{LibraryKind, ListMethod};
use cembra::vm::value::ScalarType;
use std::cmp::Ordering;

fn cells(item: &Item) -> Step<&Cells> {
    match item {
        Item::Array(cells) => Ok(cells),
        _ => Err(Stop::Unknown("list")),
    }
}

/// A method of a list, which comes first.
pub(super) fn method(method: ListMethod, args: &[Item]) -> Step<Item> {
    let list = cells(&args[0])?;
    let place = || {
        let (wanted, data) = (number(&args[1])?, list.data.borrow());
        let found = data.iter().position(|element| compares("==", *element, wanted));
        found.ok_or(Stop::Raised("ValueError".into()))
    };
    match method {
        ListMethod::PopAt => {
            let (at, mut data) = (integer(&args[1])?, list.data.borrow_mut());
            let at = if at < 0 { at.saturating_add(data.len() as i64) } else { at };
            if !(0..data.len() as i64).contains(&at) {
                return raise("IndexError");
            }
            return Ok(Item::Number(data.remove(at as usize)));
        }
        ListMethod::Insert => {
            let one = Cells::filled(list.element, &[1], number(&args[2])?, false)?.elements()?[0];
            let (at, mut data) = (integer(&args[1])?, list.data.borrow_mut());
            let length = data.len() as i64;
            let at = if at < 0 { at.saturating_add(length).max(0) } else { at.min(length) };
            data.insert(at as usize, one);
        }
        ListMethod::Index => return Ok(Item::Number(Datum::Int(place()? as i64))),
        ListMethod::Count => {
            let (wanted, data) = (number(&args[1])?, list.data.borrow());
            let count = data.iter().filter(|element| compares("==", **element, wanted)).count();
            return Ok(Item::Number(Datum::Int(count as i64)));
        }
        ListMethod::Remove => {
            let at = place()?;
            list.data.borrow_mut().remove(at);
        }
        ListMethod::Reverse => list.data.borrow_mut().reverse(),
        ListMethod::Clear => list.data.borrow_mut().clear(),
        ListMethod::Sort if list.is_list => list.data.borrow_mut().sort_by(order),
        ListMethod::Sort => {
            let sorted = list.copied(None)?;
            sorted.data.borrow_mut().sort_by(order);
            list.assign(&sorted)?;
        }
        ListMethod::Fill => list.fill(number(&args[1])?)?,
    }
    Ok(Item::None)
}

/// The order of elements: NaN is last.
fn order(a: &Datum, b: &Datum) -> Ordering {
    match (plus(*a), plus(*b)) {
        (Datum::Int(a), Datum::Int(b)) => a.cmp(&b),
        (a, b) => {
            let (a, b) = (as_float(a), as_float(b));
            a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(&b).unwrap_or(Ordering::Equal))
        }
    }
}

/// One number of all elements of an array, or of those of two arrays.
pub(super) fn reduction(kind: LibraryKind, args: &[Item]) -> Step<Item> {
    let elements = cells(&args[0])?.elements()?;
    let apply = |op: &'static str, x: Datum, y: Datum| {
        binary(op, plus(x), plus(y)).map_err(|class| Stop::Raised(class.to_owned()))
    };
    if kind == LibraryKind::CumulativeSum {
        let holds_floats = || elements.iter().any(|element| matches!(element, Datum::Float(_)));
        let is_float = cells(&args[0])?.element.map_or_else(holds_floats, ScalarType::is_float);
        let element = if is_float { ScalarType::Float64 } else { ScalarType::Int64 };
        let mut sums = cells(&args[0])?.copied(Some(element))?;
        let mut sum = if is_float { Datum::Float(-0.0) } else { Datum::Int(0) };
        for (at, element) in elements.into_iter().enumerate() {
            sum = apply("+", sum, element)?;
            sums.set(at, sum)?;
        }
        sums.is_list = false;
        return Ok(Item::Array(sums));
    }
    Ok(Item::Number(match kind {
        LibraryKind::Dot => {
            let other = cells(&args[1])?.elements()?;
            if elements.len() != other.len() {
                return raise("ValueError");
            }
            let is_float = elements.iter().chain(&other).any(|x| matches!(x, Datum::Float(_)));
            let start = if is_float { Datum::Float(0.0) } else { Datum::Int(0) };
            let products = elements.iter().zip(&other);
            products.into_iter().try_fold(start, |sum, (x, y)| apply("+", sum, apply("*", *x, *y)?))?
        }
        LibraryKind::Mean => {
            let sum: f64 = elements.iter().fold(0.0, |sum, element| sum + as_float(*element));
            Datum::Float(sum / elements.len() as f64)
        }
        LibraryKind::Product => {
            elements.iter().try_fold(Datum::Int(1), |product, element| apply("*", product, *element))?
        }
        kind => {
            if elements.is_empty() {
                return raise("ValueError");
            }
            let is_less = kind == LibraryKind::ArgMin;
            let sign = if is_less { "<" } else { ">" };
            let is_nan = |x: Datum| as_float(x).is_nan();
            let mut best = 0;
            for (at, element) in elements.iter().enumerate() {
                let is_first_nan = is_nan(*element) && !is_nan(elements[best]);
                if compares(sign, *element, elements[best]) || is_first_nan {
                    best = at;
                }
            }
            Datum::Int(best as i64)
        }
    }))
}
