//! Dialects: what a bare number means, and which casts happen unasked.
//!
//! ```text
//! arolla:  INT32 ─> INT64 ─> FLOAT32 ─> FLOAT64         cembra:  INT32 ─> INT64 ──> FLOAT64
//!                   WEAK_FLOAT ─┘                                  FLOAT32 ───────────┘
//!                                                                  WEAK_FLOAT ─> FLOAT32, FLOAT64
//! ```
//!
//! The `arolla` dialect follows the published lattice, in which an INT64 that meets a FLOAT32 loses
//! digits. The `cembra` dialect casts only where no value is lost, except INT64 to FLOAT64, which
//! rounds beyond 2^53. A scalar may always become optional.

use cembra_vm::value::{QType, ScalarType, ScalarValue};

/// The literal types and the casting lattice of an expression language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Bare floats are WEAK_FLOAT; integers become FLOAT64 among floats.
    #[default]
    Cembra,
    /// Bare floats are FLOAT32; the published lattice.
    Arolla,
}

impl Dialect {
    /// The dialect with this name.
    pub fn from_name(name: &str) -> Option<Dialect> {
        match name {
            "cembra" => Some(Dialect::Cembra),
            "arolla" => Some(Dialect::Arolla),
            _ => None,
        }
    }

    /// `cembra` or `arolla`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Cembra => "cembra",
            Dialect::Arolla => "arolla",
        }
    }

    /// The literal a bare float stands for.
    pub fn float_literal(self, value: f64) -> ScalarValue {
        match self {
            Dialect::Cembra => ScalarValue::WeakFloat(value),
            Dialect::Arolla => ScalarValue::Float32(value as f32),
        }
    }

    /// The literal a bare integer stands for: INT32, or INT64 if it does not fit.
    pub fn integer_literal(self, value: i64) -> ScalarValue {
        i32::try_from(value).map_or(ScalarValue::Int64(value), ScalarValue::Int32)
    }

    /// True if a scalar of one type becomes the other unasked.
    pub fn casts_scalar(self, from: ScalarType, to: ScalarType) -> bool {
        use ScalarType::{Float32, Float64, Int32, Int64, WeakFloat};
        match (from, to) {
            _ if from == to => true,
            (Int32, Int64 | Float64) | (Int64 | Float32, Float64) | (WeakFloat, Float32 | Float64) => true,
            (Int32 | Int64, Float32) => self == Dialect::Arolla,
            _ => false,
        }
    }

    /// True if a value of one type becomes the other unasked.
    pub fn casts(self, from: &QType, to: &QType) -> bool {
        match (from, to) {
            (QType::Scalar(a), QType::Scalar(b) | QType::Optional(b)) => self.casts_scalar(*a, *b),
            (QType::Optional(a), QType::Optional(b)) => self.casts_scalar(*a, *b),
            (QType::Array(a), QType::Array(b)) => {
                a.class == b.class && self.casts_scalar(a.element, b.element)
            }
            (QType::NdArray(a), QType::NdArray(b)) => {
                a.has_axes_of(*b) && self.casts_scalar(a.element(), b.element())
            }
            _ => from == to,
        }
    }

    /// The smallest type that both become unasked; `None` if there is none.
    pub fn common(self, a: &QType, b: &QType) -> Option<QType> {
        if a == b {
            return Some(a.clone());
        }
        let scalar = self.common_scalar(a.scalar()?, b.scalar()?)?;
        match a.is_optional() || b.is_optional() {
            true => Some(QType::Optional(scalar)),
            false => Some(QType::Scalar(scalar)),
        }
    }

    /// The smallest scalar type that both become unasked.
    pub fn common_scalar(self, a: ScalarType, b: ScalarType) -> Option<ScalarType> {
        let both = |t: &ScalarType| self.casts_scalar(a, *t) && self.casts_scalar(b, *t);
        let candidates: Vec<ScalarType> = ScalarType::ALL.into_iter().filter(both).collect();
        let least = |t: &ScalarType| candidates.iter().all(|other| self.casts_scalar(*t, *other));
        candidates.iter().copied().find(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_lattice() {
        let common = |dialect: Dialect, a: &str, b: &str| {
            let parse = |name: &str| name.parse::<QType>().expect("a type name");
            dialect.common(&parse(a), &parse(b)).map(|q| q.to_string())
        };
        let arolla = |a, b| common(Dialect::Arolla, a, b);
        assert_eq!(arolla("INT64", "FLOAT32").as_deref(), Some("FLOAT32"));
        assert_eq!(arolla("INT64", "WEAK_FLOAT").as_deref(), Some("FLOAT32"));
        assert_eq!(arolla("WEAK_FLOAT", "OPTIONAL_FLOAT64").as_deref(), Some("OPTIONAL_FLOAT64"));
        assert_eq!(arolla("OPTIONAL_INT64", "INT32").as_deref(), Some("OPTIONAL_INT64"));
        assert_eq!(arolla("TEXT", "INT32"), None);
        assert_eq!(arolla("BOOLEAN", "INT32"), None);
        let cembra = |a, b| common(Dialect::Cembra, a, b);
        assert_eq!(cembra("INT64", "FLOAT32").as_deref(), Some("FLOAT64"));
        assert_eq!(cembra("INT32", "WEAK_FLOAT").as_deref(), Some("FLOAT64"));
        assert_eq!(cembra("FLOAT32", "WEAK_FLOAT").as_deref(), Some("FLOAT32"));
        assert_eq!(cembra("UNIT", "OPTIONAL_UNIT").as_deref(), Some("OPTIONAL_UNIT"));
    }
}
