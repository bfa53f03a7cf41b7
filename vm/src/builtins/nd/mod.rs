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
//! | along | sums up to each element; elements taken along an axis; arrays put one after the other |
//! | element | one element read or written, sizes of axes, new arrays |
//! | hash_table | positions of the keys of dictionaries and sets |
//! | shape | axes added, dropped, exchanged; other shapes; conversions |

pub mod along;
pub mod dot;
pub mod element;
pub mod hash_table;
pub mod reduce;
pub mod shape;

use crate::operator::Family;

/// The rows of this folder.
pub fn rows() -> Vec<Family> {
    [reduce::rows(), dot::rows(), along::rows(), shape::rows(), element::rows(), hash_table::rows()]
        .into_iter()
        .flatten()
        .collect()
}
