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
//! | INT8, INT16, UINT8 to UINT64 | 1 to 8 | elements of n-dimensional arrays only |

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
    /// 8-bit signed integers. This and the following are elements of n-dimensional arrays only, which operators read and
    /// write one by one, as INT64.
    Int8,
    /// 16-bit signed integers.
    Int16,
    /// 8-bit unsigned integers.
    Uint8,
    /// 16-bit unsigned integers.
    Uint16,
    /// 32-bit unsigned integers.
    Uint32,
    /// 64-bit unsigned integers.
    Uint64,
}

impl ScalarType {
    /// Every type of a value, in declaration order. Not those that are [narrow](ScalarType::is_narrow).
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

    /// The types that only elements of n-dimensional arrays have.
    pub const NARROW: [ScalarType; 6] = [
        ScalarType::Int8,
        ScalarType::Int16,
        ScalarType::Uint8,
        ScalarType::Uint16,
        ScalarType::Uint32,
        ScalarType::Uint64,
    ];

    /// True if only elements of n-dimensional arrays have the type: operators read and write them one by one, as INT64.
    pub const fn is_narrow(self) -> bool {
        matches!(
            self,
            ScalarType::Int8
                | ScalarType::Int16
                | ScalarType::Uint8
                | ScalarType::Uint16
                | ScalarType::Uint32
                | ScalarType::Uint64
        )
    }

    /// The type of the value that operators take and give for an element of this type.
    pub const fn of_value(self) -> ScalarType {
        if self.is_narrow() { ScalarType::Int64 } else { self }
    }

    /// The number that a narrow element is, from its bytes; a UINT64 beyond INT64 wraps around, and so do numbers of
    /// other types, of which the low bits count.
    ///
    /// # Panics
    /// If there are fewer bytes.
    pub fn widen(self, bytes: &[u8]) -> i64 {
        match self {
            ScalarType::Int8 => i64::from(bytes[0] as i8),
            ScalarType::Int16 => i64::from(i16::from_ne_bytes([bytes[0], bytes[1]])),
            ScalarType::Uint8 => i64::from(bytes[0]),
            ScalarType::Uint16 => i64::from(u16::from_ne_bytes([bytes[0], bytes[1]])),
            ScalarType::Uint32 => i64::from(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            _ => i64::from_ne_bytes(std::array::from_fn(|i| bytes[i])),
        }
    }

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
            ScalarType::Int8 => "INT8",
            ScalarType::Int16 => "INT16",
            ScalarType::Uint8 => "UINT8",
            ScalarType::Uint16 => "UINT16",
            ScalarType::Uint32 => "UINT32",
            ScalarType::Uint64 => "UINT64",
        }
    }

    /// The type of a value with this name.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes a value occupies in a frame.
    pub const fn size(self) -> u32 {
        match self {
            ScalarType::Unit | ScalarType::Boolean | ScalarType::Int8 | ScalarType::Uint8 => 1,
            ScalarType::Int16 | ScalarType::Uint16 => 2,
            ScalarType::Int32 | ScalarType::Float32 | ScalarType::Uint32 => 4,
            ScalarType::Int64 | ScalarType::Float64 | ScalarType::WeakFloat | ScalarType::Uint64 => 8,
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
