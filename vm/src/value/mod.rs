//! Value types (QType), typed values, and the fault an operator raises.
//!
//! Everything here is plain immutable data that exists outside frames: what a host passes in,
//! what a literal holds, what a dump prints.

pub mod array;
pub mod array_view;
pub mod edge;
pub mod fault;
pub mod number;
pub mod parse;
pub mod qtype;
pub mod repr;
pub mod scalar;
pub mod scalar_value;
pub mod sequence;
pub mod tuple;
pub mod value;

pub use array::{ArrayClass, ArrayRows, ArrayType};
pub use array_view::ArrayView;
pub use edge::Edge;
pub use fault::{Category, Fault};
pub use qtype::QType;
pub use scalar::ScalarType;
pub use scalar_value::ScalarValue;
pub use value::Value;
