//! Value types (QType), typed values, and the fault an operator raises.
//!
//! Everything here is plain immutable data that exists outside frames: what a host passes in,
//! what a literal holds, what a dump prints.

pub mod array;
pub(crate) mod array_memory;
pub mod array_view;
pub mod broadcast;
pub mod budget;
pub mod edge;
pub mod fault;
mod large_pages;
mod nd_copy;
pub mod nd_error;
pub mod nd_host;
mod nd_rearranged;
pub mod nd_type;
pub mod nd_view;
pub mod ndarray;
pub mod number;
pub mod parse;
pub(crate) mod part;
pub mod qtype;
pub mod repr;
pub mod scalar;
pub mod scalar_value;
pub mod sequence;
pub mod shape;
pub mod tuple;
pub mod value;
mod words;

pub use array::{ArrayClass, ArrayRows, ArrayType};
pub use budget::{Budget, CancelToken, Exhausted};
pub use edge::Edge;
pub use fault::{Category, Fault};
pub use nd_error::NdError;
pub use nd_type::{Axes, NdType};
pub use nd_view::NdView;
pub use ndarray::NdRows;
pub use qtype::QType;
pub use scalar::ScalarType;
pub use scalar_value::ScalarValue;
pub use value::Value;
