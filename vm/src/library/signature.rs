//! What a library takes and gives.

use crate::library::boundary_array::BoundaryArray;
use crate::value::QType;
use std::fmt::{self, Write};

/// The version of the boundary. A library says for which one it was made.
pub const ABI_VERSION: u32 = 6;

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type: a plain one, an array, or an edge.
    pub qtype: QType,
    /// True if the library changes the elements of the array in place.
    pub is_updated: bool,
    /// True if the elements of an array have to stand one after the other, the last axis fastest.
    pub is_contiguous: bool,
    /// True if positions choose the elements of a [sweep](crate::library::CallMemory::sweep) along the last axis of the array.
    pub is_taken: bool,
}

/// What a library takes and gives, in order. It is written like `(a: NDARRAY_FLOAT64_N updated, n: INT64) -> result: FLOAT64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The arguments.
    pub parameters: Vec<Parameter>,
    /// Names and types of the results: plain ones, and arrays and edges, which the library makes.
    pub results: Vec<(String, QType)>,
    /// True if memory that is lent for an array of the results has to have its elements one after the other.
    pub has_contiguous_results: bool,
}

impl Signature {
    /// The same without names: what has to agree for a call to be right.
    pub fn types(&self) -> String {
        self.text(false)
    }

    /// True if the library makes arrays, or edges, which have some.
    pub fn gives_arrays(&self) -> bool {
        self.results.iter().any(|(_, qtype)| BoundaryArray::of(qtype).is_some() || qtype.is_edge())
    }

    fn text(&self, has_names: bool) -> String {
        let mut text = String::from("(");
        let name = |name: &str| if has_names { format!("{name}: ") } else { String::new() };
        for (number, parameter) in self.parameters.iter().enumerate() {
            let between = if number == 0 { "" } else { ", " };
            let _ = write!(text, "{between}{}{}", name(&parameter.name), parameter.qtype);
            if BoundaryArray::of(&parameter.qtype).is_some() {
                text.push_str(if parameter.is_contiguous { " contiguous" } else { "" });
                text.push_str(if parameter.is_updated { " updated" } else { "" });
                text.push_str(if parameter.is_taken { " taken" } else { "" });
            }
        }
        text.push_str(") -> ");
        for (number, (result, qtype)) in self.results.iter().enumerate() {
            let between = if number == 0 { "" } else { ", " };
            let _ = write!(text, "{between}{}{qtype}", name(result));
            let is_contiguous = BoundaryArray::of(qtype).is_some() && self.has_contiguous_results;
            text.push_str(if is_contiguous { " contiguous" } else { "" });
        }
        text
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(true))
    }
}
