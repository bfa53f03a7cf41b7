//! `nd.*`: n-dimensional arrays, by the rules of numpy as far as our types go.
//!
//! Pointwise operators need no row here: those of scalars are applied to elements
//! (`operator/ndwise.rs`). What is here joins, moves and reduces axes. Which axes is part of the types: an
//! argument `AXES_02` has one value, so that the type of every result follows from the types of the arguments.
//!
//! | file | operators |
//! | --- | --- |
//! | reduce | sum, mean, min, quantile, …: many elements to one |
//! | dot | the inner product |
//! | groups | *the elements that become one, where they lie* |
//! | running | sums up to each element |
//! | along | elements taken along an axis; arrays put one after the other |
//! | element | one element read or written, sizes of axes, new arrays |
//! | part | elements at places known at run time, read and written |
//! | hash_table | positions of the keys of dictionaries and sets |
//! | shape | axes added, dropped, exchanged; other shapes; conversions |

pub mod along;
pub mod dot;
pub mod element;
mod groups;
pub mod hash_table;
pub mod part;
pub mod reduce;
pub mod running;
pub mod shape;

use crate::operator::Family;

/// The rows of this folder.
pub fn rows() -> Vec<Family> {
    let moved = [along::rows(), shape::rows(), part::rows(), element::rows(), hash_table::rows()];
    [reduce::rows(), dot::rows(), running::rows()].into_iter().chain(moved).flatten().collect()
}
