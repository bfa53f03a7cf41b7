//! Arrays of the graph: numpy's element types, any rank, shared memory.
//!
//! | dtype | where it comes from |
//! | --- | --- |
//! | bool, int32, int64, float32, float64 | inputs and results |
//! | int8, float16 | results only: powers of truth values, exponentials of truth values |
//! | `<Uk` | texts of up to `k` characters, stored as codes of a table |
//!
//! Cloning an array shares its elements. Invariant: every code of a [`TextArray`] is an
//! index of its table, and no text stands in the table twice.

use crate::dag::scalar::Scalar;
use half::f16;
use ndarray::{ArcArray, IxDyn};
use std::fmt;
use std::sync::Arc;

/// Axes an array may have.
pub const RANK_LIMIT: usize = 64;

/// Elements of one type.
pub type Elements<T> = ArcArray<T, IxDyn>;

/// Element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DType {
    /// `bool`.
    Bool,
    /// `int8`.
    Int8,
    /// `int32`.
    Int32,
    /// `int64`.
    Int64,
    /// `float16`.
    Float16,
    /// `float32`.
    Float32,
    /// `float64`.
    Float64,
    /// `<Uk`: texts of up to this many characters.
    Text(usize),
}

impl DType {
    /// The type with one of numpy's names.
    pub fn from_name(name: &str) -> Option<DType> {
        const NUMBERS: [DType; 7] = [
            DType::Bool,
            DType::Int8,
            DType::Int32,
            DType::Int64,
            DType::Float16,
            DType::Float32,
            DType::Float64,
        ];
        let text = || name.strip_prefix("<U").and_then(|width| width.parse().ok()).map(DType::Text);
        NUMBERS.into_iter().find(|dtype| dtype.to_string() == name).or_else(text)
    }

    /// True for floats.
    pub fn is_float(self) -> bool {
        matches!(self, DType::Float16 | DType::Float32 | DType::Float64)
    }

    /// True for texts.
    pub fn is_text(self) -> bool {
        matches!(self, DType::Text(_))
    }

    /// Bytes of an element; texts count as numpy stores them.
    pub fn item_size(self) -> usize {
        match self {
            DType::Bool | DType::Int8 => 1,
            DType::Float16 => 2,
            DType::Int32 | DType::Float32 => 4,
            DType::Int64 | DType::Float64 => 8,
            DType::Text(width) => 4 * width,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DType::Bool => f.write_str("bool"),
            DType::Int8 => f.write_str("int8"),
            DType::Int32 => f.write_str("int32"),
            DType::Int64 => f.write_str("int64"),
            DType::Float16 => f.write_str("float16"),
            DType::Float32 => f.write_str("float32"),
            DType::Float64 => f.write_str("float64"),
            DType::Text(width) => write!(f, "<U{width}"),
        }
    }
}

/// Texts, interned: each element is a code, an index of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct TextArray {
    pub(crate) codes: Elements<u32>,
    pub(crate) table: Arc<[Arc<str>]>,
    pub(crate) width: usize,
}

impl TextArray {
    /// Texts in row-major order, of a shape with as many elements. The width is that of the longest
    /// text, and at least `width`; nothing if the shape does not fit.
    pub fn new(texts: &[impl AsRef<str>], shape: &[usize], width: usize) -> Option<TextArray> {
        let mut codes = Vec::with_capacity(texts.len());
        let mut interned: hashbrown::HashMap<&str, u32> = hashbrown::HashMap::new();
        let mut table: Vec<Arc<str>> = Vec::new();
        for text in texts {
            let text = text.as_ref();
            codes.push(*interned.entry(text).or_insert_with(|| {
                table.push(text.into());
                table.len() as u32 - 1
            }));
        }
        let longest = table.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        // numpy has no type of width 0.
        let width = longest.max(width).max(1);
        Some(TextArray { codes: elements(codes, shape)?, table: table.into(), width })
    }

    /// The text of a code.
    pub fn text(&self, code: u32) -> &str {
        &self.table[code as usize]
    }

    /// All texts in row-major order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(|code| self.text(*code))
    }
}

/// An array of the graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// `bool`.
    Bool(Elements<bool>),
    /// `int8`.
    Int8(Elements<i8>),
    /// `int32`.
    Int32(Elements<i32>),
    /// `int64`.
    Int64(Elements<i64>),
    /// `float16`.
    Float16(Elements<f16>),
    /// `float32`.
    Float32(Elements<f32>),
    /// `float64`.
    Float64(Elements<f64>),
    /// `<Uk`.
    Text(TextArray),
}

/// Runs an expression on the elements of an array, whatever their type; texts give their codes.
macro_rules! each_type {
    ($array:expr, $elements:ident => $body:expr) => {
        match $array {
            Array::Bool($elements) => $body,
            Array::Int8($elements) => $body,
            Array::Int32($elements) => $body,
            Array::Int64($elements) => $body,
            Array::Float16($elements) => $body,
            Array::Float32($elements) => $body,
            Array::Float64($elements) => $body,
            Array::Text(texts) => {
                let $elements = &texts.codes;
                $body
            }
        }
    };
}

/// Makes an array of the same type from the elements of an array.
macro_rules! same_type {
    ($array:expr, $elements:ident => $body:expr) => {
        match $array {
            $crate::dag::array::Array::Bool($elements) => $crate::dag::array::Array::Bool($body),
            $crate::dag::array::Array::Int8($elements) => $crate::dag::array::Array::Int8($body),
            $crate::dag::array::Array::Int32($elements) => $crate::dag::array::Array::Int32($body),
            $crate::dag::array::Array::Int64($elements) => $crate::dag::array::Array::Int64($body),
            $crate::dag::array::Array::Float16($elements) => $crate::dag::array::Array::Float16($body),
            $crate::dag::array::Array::Float32($elements) => $crate::dag::array::Array::Float32($body),
            $crate::dag::array::Array::Float64($elements) => $crate::dag::array::Array::Float64($body),
            $crate::dag::array::Array::Text(texts) => {
                let $elements = &texts.codes;
                let codes = $body;
                $crate::dag::array::Array::Text($crate::dag::array::TextArray { codes, ..texts.clone() })
            }
        }
    };
}
pub(crate) use same_type;

impl Array {
    /// Numbers or truth values in row-major order, of a shape with as many elements.
    pub fn new<T: Element>(values: Vec<T>, shape: &[usize]) -> Option<Array> {
        elements(values, shape).map(T::wrap)
    }

    /// An array of one axis.
    pub fn vector<T: Element>(values: impl Into<Vec<T>>) -> Array {
        let values = values.into();
        T::wrap(ndarray::Array1::from_vec(values).into_dyn().into_shared())
    }

    /// Texts of one axis.
    pub fn texts<S: AsRef<str>>(texts: &[S]) -> Array {
        let made = TextArray::new(texts, &[texts.len()], 0);
        Array::Text(made.expect("a vector has as many elements as texts"))
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        match self {
            Array::Bool(_) => DType::Bool,
            Array::Int8(_) => DType::Int8,
            Array::Int32(_) => DType::Int32,
            Array::Int64(_) => DType::Int64,
            Array::Float16(_) => DType::Float16,
            Array::Float32(_) => DType::Float32,
            Array::Float64(_) => DType::Float64,
            Array::Text(texts) => DType::Text(texts.width),
        }
    }

    /// Sizes of the axes; empty for a single value.
    pub fn shape(&self) -> &[usize] {
        each_type!(self, elements => elements.shape())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        each_type!(self, elements => elements.len())
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all elements, as numpy counts them.
    pub fn byte_size(&self) -> usize {
        self.len() * self.dtype().item_size()
    }

    /// The elements, if they are of that type.
    pub fn elements<T: Element>(&self) -> Option<&Elements<T>> {
        T::unwrap(self)
    }
}

impl From<&Scalar> for Array {
    fn from(scalar: &Scalar) -> Array {
        match scalar {
            Scalar::Bool(v) => Array::from(*v),
            Scalar::Int(v) => Array::from(*v),
            Scalar::Float(v) => Array::from(*v),
            Scalar::Text(v) => {
                Array::Text(TextArray::new(&[v], &[], 0).expect("a shape without axes has one element"))
            }
        }
    }
}

impl<T: Element> From<T> for Array {
    fn from(value: T) -> Array {
        T::wrap(ndarray::arr0(value).into_dyn().into_shared())
    }
}

/// Elements of a shape with as many elements.
fn elements<T: Clone>(values: Vec<T>, shape: &[usize]) -> Option<Elements<T>> {
    ndarray::ArrayD::from_shape_vec(IxDyn(shape), values).ok().map(|array| array.into_shared())
}

/// Rust types of elements.
pub trait Element: Copy + fmt::Debug + Send + Sync + 'static {
    /// Their type.
    const DTYPE: DType;
    /// An array of them.
    fn wrap(elements: Elements<Self>) -> Array;
    /// The elements of an array of that type.
    fn unwrap(array: &Array) -> Option<&Elements<Self>>;
}

macro_rules! element {
    ($($rust:ty, $variant:ident;)*) => { $(
        impl Element for $rust {
            const DTYPE: DType = DType::$variant;
            fn wrap(elements: Elements<$rust>) -> Array {
                Array::$variant(elements)
            }
            fn unwrap(array: &Array) -> Option<&Elements<$rust>> {
                match array {
                    Array::$variant(elements) => Some(elements),
                    _ => None,
                }
            }
        }
    )* };
}

element! {
    bool, Bool;
    i8, Int8;
    i32, Int32;
    i64, Int64;
    f16, Float16;
    f32, Float32;
    f64, Float64;
}
