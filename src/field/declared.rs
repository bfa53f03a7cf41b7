//! What declarations of the builder may have besides names, dimensions and types.
//!
//! ```
//! # use cembra::field::{FieldBuilder, print_field_program};
//! # use cembra::vm::value::ScalarType;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let b = FieldBuilder::new();
//! let i = b.horizontal("I");
//! let k = b.scalar("k", ScalarType::Float64).starting_as(0.5).fixed();
//! let u = b.output("u", &[i], ScalarType::Float64).extent(&[(-1, 7)]).starting_as(20.0);
//! b.store(u, &[], k * u);
//! let program = b.build().map_err(|mut errors| errors.remove(0))?;
//! assert_eq!(print_field_program(&program)?, "\
//! horizontal I
//! output u[I=-1:7] fill 20.0
//! static k = 0.5
//! u = k*u
//! ");
//! # Ok(())
//! # }
//! ```
//!
//! Of a value that is not declared they are an error, which [`FieldBuilder::build`](crate::field::FieldBuilder::build) reports.

use crate::field::builder::{Declared, FieldRef};
use crate::field::element::FieldLiteral;
use crate::field::error::FieldProblem;
use crate::field::types::has_dtype;

impl<'b> FieldRef<'b> {
    /// The points of a field: along each axis the first, and one past the last.
    pub fn extent(self, ranges: &[(i64, i64)]) -> FieldRef<'b> {
        self.declared(|declared| {
            let Declared::Field(field) = declared else { return Err(no("a field has an extent")) };
            let size = |(first, end): &(i64, i64)| {
                let size = end.checked_sub(*first).and_then(|size| usize::try_from(size).ok());
                size.ok_or_else(|| no("the end of a range lies before its first point"))
            };
            field.shape = Some(ranges.iter().map(size).collect::<Result<_, _>>()?);
            field.origin = Some(ranges.iter().map(|(first, _)| *first).collect());
            Ok(())
        })
    }

    /// The first point of a field along each axis; its data says how many there are.
    pub fn origin(self, first: &[i64]) -> FieldRef<'b> {
        self.declared(|declared| {
            let Declared::Field(field) = declared else { return Err(no("a field has an origin")) };
            field.origin = Some(first.to_vec());
            Ok(())
        })
    }

    /// What an output starts as where no data is given, or what a scalar is.
    pub fn starting_as(self, value: impl Into<FieldLiteral>) -> FieldRef<'b> {
        let literal = value.into();
        self.declared(|declared| {
            let (name, dtype, into) = match declared {
                Declared::Field(field) => (&field.name, field.dtype, &mut field.fill),
                Declared::Scalar(scalar) => (&scalar.name, scalar.dtype, &mut scalar.value),
                Declared::Nothing => return Err(no("a field or a scalar has a first value")),
            };
            has_dtype(&format!("the first value of `{name}`"), literal.dtype(), dtype)?;
            *into = Some(literal.value().clone());
            Ok(())
        })
    }

    /// A scalar that becomes part of the compiled program.
    pub fn fixed(self) -> FieldRef<'b> {
        self.declared(|declared| {
            let Declared::Scalar(scalar) = declared else { return Err(no("a scalar is fixed")) };
            scalar.is_static = true;
            Ok(())
        })
    }
}

fn no(what: &str) -> FieldProblem {
    FieldProblem::Dimensions { what: what.to_owned() }
}
