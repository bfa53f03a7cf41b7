//! JSON that is written while it is made: a result takes no memory besides its own, however many elements it has.
//!
//! A tree of `serde_json::Value` takes tens of bytes an element, and a system that refuses them ends the process.

use crate::cli::print_with;
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::io::Write;

/// Prints a value as a line of JSON, as [`print`](crate::cli::print) prints a text.
pub(super) fn print_json(value: &impl Serialize) {
    print_with(|out| {
        serde_json::to_writer(&mut *out, value)?;
        out.write_all(b"\n")
    });
}

/// A list of the elements that a function gives.
pub(super) struct List<F>(pub F);

impl<F, I> Serialize for List<F>
where
    F: Fn() -> I,
    I: IntoIterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Lists in lists, one level for each axis, of the elements that a function gives, the last axis fastest.
pub(super) struct Nested<'s, F> {
    pub shape: &'s [usize],
    pub elements: F,
}

impl<F, I> Serialize for Nested<'_, F>
where
    F: Fn() -> I,
    I: Iterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let elements = RefCell::new((self.elements)());
        Axes { shape: self.shape, elements: &elements }.serialize(serializer)
    }
}

/// The elements that come next, as lists for each of these axes.
struct Axes<'s, I> {
    shape: &'s [usize],
    elements: &'s RefCell<I>,
}

impl<I> Serialize for Axes<'_, I>
where
    I: Iterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.shape {
            [] => {
                let element = self.elements.borrow_mut().next();
                element.serialize(serializer)
            }
            [size, shape @ ..] => {
                serializer.collect_seq((0..*size).map(|_| Axes { shape, elements: self.elements }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_nest_as_the_axes_say() {
        let text = |shape: &[usize]| {
            let nested = Nested { shape, elements: || 1..=6 };
            serde_json::to_string(&nested).expect("numbers are JSON")
        };
        assert_eq!(text(&[]), "1");
        assert_eq!(text(&[6]), "[1,2,3,4,5,6]");
        assert_eq!(text(&[2, 3]), "[[1,2,3],[4,5,6]]");
        assert_eq!(text(&[2, 0]), "[[],[]]");
        assert_eq!(serde_json::to_string(&List(|| [true, false])).expect("JSON"), "[true,false]");
    }
}
