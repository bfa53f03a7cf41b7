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

/// A row for each type of elements: variant, Rust type, numpy's name. `$d` is a dollar sign, for the macros inside.
macro_rules! types {
    ($d:tt $($variant:ident $rust:ty, $name:literal;)*) => {
        /// Element types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`.")] $variant,)*
            /// `<Uk`: texts of up to this many characters.
            Text(usize),
        }

        impl DType {
            /// The type with one of numpy's names.
            pub fn from_name(name: &str) -> Option<DType> {
                match name {
                    $($name => Some(DType::$variant),)*
                    _ => name.strip_prefix("<U").and_then(|width| width.parse().ok()).map(DType::Text),
                }
            }

            /// Bytes of an element; texts count as numpy stores them.
            pub fn item_size(self) -> usize {
                match self {
                    $(DType::$variant => size_of::<$rust>(),)*
                    DType::Text(width) => 4 * width,
                }
            }
        }

        impl fmt::Display for DType {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(DType::$variant => f.write_str($name),)*
                    DType::Text(width) => write!(f, "<U{width}"),
                }
            }
        }

        /// An array of the graph.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Array {
            $(#[doc = concat!("`", $name, "`.")] $variant(Elements<$rust>),)*
            /// `<Uk`.
            Text(TextArray),
        }

        impl Array {
            /// The type of the elements.
            pub fn dtype(&self) -> DType {
                match self {
                    $(Array::$variant(_) => DType::$variant,)*
                    Array::Text(texts) => DType::Text(texts.width),
                }
            }
        }

        $(impl Element for $rust {
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
        })*

        /// Runs an expression on the elements of an array, whatever their type; texts give their codes.
        macro_rules! each_type {
            ($d array:expr, $d elements:ident => $d body:expr) => {
                match $d array {
                    $(Array::$variant($d elements) => $d body,)*
                    Array::Text(TextArray { codes: $d elements, .. }) => $d body,
                }
            };
        }

        /// Makes an array of the same type from the elements of an array.
        macro_rules! same_type {
            ($d array:expr, $d elements:ident => $d body:expr) => {
                match $d array {
                    $($d crate::dag::array::Array::$variant($d elements) => {
                        $d crate::dag::array::Array::$variant($d body)
                    })*
                    $d crate::dag::array::Array::Text(texts) => {
                        let $d elements = &texts.codes;
                        let codes = $d body;
                        $d crate::dag::array::Array::Text($d crate::dag::array::TextArray { codes, ..texts.clone() })
                    }
                }
            };
        }
        pub(crate) use same_type;
    };
}

types! { $
    Bool bool, "bool";
    Int8 i8, "int8";
    Int32 i32, "int32";
    Int64 i64, "int64";
    Float16 f16, "float16";
    Float32 f32, "float32";
    Float64 f64, "float64";
}

impl DType {
    /// True for floats.
    pub fn is_float(self) -> bool {
        matches!(self, DType::Float16 | DType::Float32 | DType::Float64)
    }

    /// True for texts.
    pub fn is_text(self) -> bool {
        matches!(self, DType::Text(_))
    }

    /// True for the types that numpy's literals have, so that texts need not name them.
    pub(crate) fn is_literal(self) -> bool {
        matches!(self, DType::Bool | DType::Int64 | DType::Float64)
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
