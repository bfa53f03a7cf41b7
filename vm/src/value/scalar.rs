//! Scalar types: the atoms of every value type.
//!
//! | type | bytes | meaning |
//! | --- | --: | --- |
//! | UNIT | 1 | the value that carries no information; its optional is a presence mask |
//! | BOOLEAN | 1 | true or false |
//! | INT32, INT64 | 4, 8 | two's complement |
//! | FLOAT32, FLOAT64 | 4, 8 | IEEE 754 |
//! | WEAK_FLOAT | 8 | a FLOAT64 payload that adopts the float type it meets |
//! | TEXT, BYTES | 24 | handle of a string buffer owned by the frame |

use std::fmt;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ScalarType {
    /// The type with a single value, `unit`.
    Unit,
    /// Truth values.
    Boolean,
    /// 32-bit signed integers.
    Int32,
    /// 64-bit signed integers.
    Int64,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// A binary64 payload whose type gives way to the float type it meets.
    WeakFloat,
    /// UTF-8 text.
    Text,
    /// Raw bytes.
    Bytes,
}

impl ScalarType {
    /// Every scalar type, in declaration order.
    pub const ALL: [ScalarType; 9] = [
        ScalarType::Unit,
        ScalarType::Boolean,
        ScalarType::Int32,
        ScalarType::Int64,
        ScalarType::Float32,
        ScalarType::Float64,
        ScalarType::WeakFloat,
        ScalarType::Text,
        ScalarType::Bytes,
    ];

    /// The type's name as dumps print it, such as `FLOAT64`.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::Unit => "UNIT",
            ScalarType::Boolean => "BOOLEAN",
            ScalarType::Int32 => "INT32",
            ScalarType::Int64 => "INT64",
            ScalarType::Float32 => "FLOAT32",
            ScalarType::Float64 => "FLOAT64",
            ScalarType::WeakFloat => "WEAK_FLOAT",
            ScalarType::Text => "TEXT",
            ScalarType::Bytes => "BYTES",
        }
    }

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes a value occupies in a frame.
    pub const fn size(self) -> u32 {
        match self {
            ScalarType::Unit | ScalarType::Boolean => 1,
            ScalarType::Int32 | ScalarType::Float32 => 4,
            ScalarType::Int64 | ScalarType::Float64 | ScalarType::WeakFloat => 8,
            ScalarType::Text | ScalarType::Bytes => HANDLE_SIZE,
        }
    }

    /// Alignment of a value in a frame, in bytes.
    pub const fn align(self) -> u32 {
        match self {
            ScalarType::Text | ScalarType::Bytes => 8,
            plain => plain.size(),
        }
    }

    /// True if a value is plain bytes; false if it is the handle of a buffer.
    pub const fn is_plain(self) -> bool {
        !matches!(self, ScalarType::Text | ScalarType::Bytes)
    }

    /// True for INT32 and INT64.
    pub const fn is_integer(self) -> bool {
        matches!(self, ScalarType::Int32 | ScalarType::Int64)
    }

    /// True for FLOAT32, FLOAT64 and WEAK_FLOAT.
    pub const fn is_float(self) -> bool {
        matches!(self, ScalarType::Float32 | ScalarType::Float64 | ScalarType::WeakFloat)
    }

    /// True for integers and floats.
    pub const fn is_numeric(self) -> bool {
        self.is_integer() || self.is_float()
    }

    /// The type that stores this one: FLOAT64 for WEAK_FLOAT, itself otherwise.
    pub const fn storage(self) -> ScalarType {
        match self {
            ScalarType::WeakFloat => ScalarType::Float64,
            other => other,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bytes of a buffer handle in a frame (text, bytes, sequences).
pub const HANDLE_SIZE: u32 = 24;
