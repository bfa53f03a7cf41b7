//! The library of functions: Python's builtins, `math`, and the scalars and constructors of `numpy`.
//!
//! One row a function: its dotted name, and what it is. `math` functions refuse arguments as CPython's do; those
//! of numpy follow IEEE 754.

use crate::function::constant::Constant;
use cembra_vm::value::ScalarType;

/// What a function of the library does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryKind {
    /// Floats to a float, by the operators of the machine: the one that refuses arguments, and the one that does not.
    Float {
        /// Number of arguments.
        arity: usize,
        /// The operator that raises as CPython does.
        checked: &'static str,
        /// The operator of IEEE 754.
        plain: &'static str,
    },
    /// A float to an integer; an integer is itself.
    Rounded(&'static str),
    /// True of floats that are NaN.
    IsNan,
    /// True of infinities.
    IsInf,
    /// True of numbers that are neither.
    IsFinite,
    /// `abs`.
    Abs,
    /// `min` of two or more, or of a tuple or an array.
    Min,
    /// `max`.
    Max,
    /// `np.maximum` of two numbers: NaN if one is.
    Greater,
    /// `np.minimum` of two numbers: NaN if one is.
    Less,
    /// `len`.
    Len,
    /// `int`.
    ToInt,
    /// `float`.
    ToFloat,
    /// `bool`.
    ToBool,
    /// `round`.
    Round,
    /// `pow` with two or three arguments.
    Pow,
    /// `divmod`.
    DivMod,
    /// `sum`.
    Sum,
    /// `any`.
    Any,
    /// `all`.
    All,
    /// `math.log` with an optional base.
    Log,
    /// Greatest common divisor.
    Gcd,
    /// Integer square root.
    Isqrt,
    /// An array of one value: `np.zeros`, `np.ones`, `np.empty`, by the value.
    Filled(i8),
    /// The same with `dtype=a.dtype`: the array comes first, the sizes behind it.
    FilledAs(i8),
    /// `np.full`.
    Full,
    /// `np.arange`.
    Arange,
    /// `np.array` of a list or tuple.
    ArrayOf,
    /// `np.array` of a value: an array, a list or a tuple.
    ArrayFrom,
    /// `copy` of an array.
    Copy,
    /// A list of the arguments.
    NewList,
    /// `append` of a list.
    Append,
    /// `pop` of a list.
    Pop,
    /// A list of one value, so many times.
    Repeat,
    /// `in` of an array, a list or a tuple.
    Contains,
    /// An array of one value with the sizes of another array, by the value.
    FilledLike(i8),
    /// `np.linspace`.
    Linspace,
    /// The character with a code point.
    Chr,
    /// The code point of a character.
    Ord,
    /// An empty dictionary.
    NewDict,
    /// An empty set.
    NewSet,
    /// `add` of a set.
    AddKey,
    /// `get` of a dictionary.
    DictGet,
    /// What a loop gets by a number: the element, or the key of a dictionary.
    Element,
    /// The value behind the key of a number.
    ValueAt,
    /// How many elements a loop goes over, and how many there were when it began.
    IterationLength,
    /// The product of counters of a loop, which wraps around.
    CounterProduct,
    /// `np.sign`: -1, 0 or 1.
    Sign,
    /// `np.square`.
    Square,
    /// `np.power`.
    Power,
    /// `np.where` of a condition and two numbers.
    Where,
    /// A number in a narrow type: integers that do not fit raise, floats are rounded.
    Narrow(ScalarType),
    /// `np.full_like`.
    FullLike,
    /// `np.eye`.
    Eye,
    /// `np.dot` of two arrays with one axis.
    Dot,
    /// `np.mean`.
    Mean,
    /// `np.prod`.
    Product,
    /// `np.cumsum` of an array with one axis.
    CumulativeSum,
    /// `np.argmin`.
    ArgMin,
    /// `np.argmax`.
    ArgMax,
    /// A method of lists.
    List(ListMethod),
}

/// A method of lists, or of arrays, that is more than one operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMethod {
    /// `pop` of a place.
    PopAt,
    /// `insert`.
    Insert,
    /// `index` of a number.
    Index,
    /// `count` of a number.
    Count,
    /// `remove` of a number.
    Remove,
    /// `reverse`.
    Reverse,
    /// `clear`.
    Clear,
    /// `sort`, of an array with one axis as well.
    Sort,
    /// `fill` of an array.
    Fill,
}

impl ListMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ListMethod::PopAt => "pop",
            ListMethod::Insert => "insert",
            ListMethod::Index => "index",
            ListMethod::Count => "count",
            ListMethod::Remove => "remove",
            ListMethod::Reverse => "reverse",
            ListMethod::Clear => "clear",
            ListMethod::Sort => "sort",
            ListMethod::Fill => "fill",
        }
    }
}

/// A function of the library, with the element of arrays where it makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryFunction {
    row: &'static Row,
    /// Type of the elements that are asked for by `dtype`.
    pub dtype: Option<ScalarType>,
    /// True of the functions of numpy, which follow IEEE 754.
    pub plain: bool,
}

/// A row of the library.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: &'static str,
    kind: LibraryKind,
}

impl LibraryFunction {
    /// The function with a dotted name: `len`, `math.sqrt`, `numpy.zeros`.
    pub fn find(name: &str) -> Option<LibraryFunction> {
        let row = ROWS.iter().find(|row| row.name == name)?;
        Some(LibraryFunction { row, dtype: None, plain: name.starts_with("numpy.") })
    }

    /// A function that the library has.
    pub(crate) fn named(name: &str) -> LibraryFunction {
        LibraryFunction::find(name).expect("the library has it")
    }

    /// True of the functions of numbers that numpy applies to each element of arrays.
    pub(super) fn is_of_elements(self) -> bool {
        use LibraryKind::{
            Abs, Float, Greater, IsFinite, IsInf, IsNan, Less, Log, Power, Sign, Square, Where,
        };
        let is_kind = matches!(
            self.kind(),
            Abs | Float { .. }
                | Greater
                | IsFinite
                | IsInf
                | IsNan
                | Less
                | Log
                | Power
                | Sign
                | Square
                | Where
        );
        self.plain && is_kind
    }

    /// The dotted name.
    pub fn name(self) -> &'static str {
        self.row.name
    }

    /// What it does.
    pub fn kind(self) -> LibraryKind {
        self.row.kind
    }
}

/// A constant of a library module.
pub fn constant(name: &str) -> Option<Constant> {
    use std::f64::consts::{E, PI, TAU};
    let value = match name {
        "math.pi" | "numpy.pi" => PI,
        "math.e" | "numpy.e" => E,
        "math.tau" => TAU,
        "math.inf" | "numpy.inf" => f64::INFINITY,
        "math.nan" | "numpy.nan" => f64::NAN,
        _ => return None,
    };
    Some(Constant::Float(value))
}

/// The element type with a name of numpy: `np.int64`, `int`, `np.bool_`.
pub fn element_named(name: &str) -> Option<ScalarType> {
    Some(match name {
        "float" | "numpy.float64" | "numpy.double" => ScalarType::Float64,
        "int" | "numpy.int64" | "numpy.intp" => ScalarType::Int64,
        "bool" | "numpy.bool_" | "numpy.bool" => ScalarType::Boolean,
        "numpy.float32" => ScalarType::Float32,
        "numpy.int32" => ScalarType::Int32,
        other => {
            let name = other.strip_prefix("numpy.")?.to_ascii_uppercase();
            ScalarType::NARROW.into_iter().find(|narrow| narrow.name() == name)?
        }
    })
}

/// True for what CPython's `math` has and functions lack, and for whatever stands in numpy or numba, whose names are many.
pub fn is_left_out(name: &str) -> bool {
    const MATH: [&str; 16] = [
        "comb",
        "dist",
        "factorial",
        "frexp",
        "fsum",
        "isclose",
        "lcm",
        "ldexp",
        "modf",
        "nextafter",
        "perm",
        "prod",
        "remainder",
        "sumprod",
        "ulp",
        "fma",
    ];
    match name.split_once('.') {
        Some(("math", name)) => MATH.contains(&name),
        Some((module, _)) => is_module(module),
        None => false,
    }
}

/// True for modules that functions may import.
pub fn is_module(name: &str) -> bool {
    matches!(name, "math" | "numpy" | "numba" | "np")
}

/// Names similar to one that the library lacks.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

const fn float1(name: &'static str, checked: &'static str, plain: &'static str) -> Row {
    Row { name, kind: LibraryKind::Float { arity: 1, checked, plain } }
}

const fn float2(name: &'static str, checked: &'static str, plain: &'static str) -> Row {
    Row { name, kind: LibraryKind::Float { arity: 2, checked, plain } }
}

const fn row(name: &'static str, kind: LibraryKind) -> Row {
    Row { name, kind }
}

static ROWS: &[Row] = &[
    row("abs", LibraryKind::Abs),
    row("min", LibraryKind::Min),
    row("max", LibraryKind::Max),
    row("len", LibraryKind::Len),
    row("int", LibraryKind::ToInt),
    row("float", LibraryKind::ToFloat),
    row("bool", LibraryKind::ToBool),
    row("round", LibraryKind::Round),
    row("pow", LibraryKind::Pow),
    row("divmod", LibraryKind::DivMod),
    row("sum", LibraryKind::Sum),
    row("any", LibraryKind::Any),
    row("all", LibraryKind::All),
    float1("math.sqrt", "python.sqrt", "math.sqrt"),
    float1("math.exp", "python.exp", "math.exp"),
    float1("math.expm1", "python.expm1", "math.expm1"),
    float1("math.exp2", "math.exp2", "math.exp2"),
    float1("math.cbrt", "math.cbrt", "math.cbrt"),
    row("math.log", LibraryKind::Log),
    float1("math.log2", "python.log2", "math.log2"),
    float1("math.log10", "python.log10", "math.log10"),
    float1("math.log1p", "python.log1p", "math.log1p"),
    float1("math.sin", "python.sin", "math.trig.sin"),
    float1("math.cos", "python.cos", "math.trig.cos"),
    float1("math.tan", "python.tan", "math.trig.tan"),
    float1("math.asin", "python.asin", "math.trig.asin"),
    float1("math.acos", "python.acos", "math.trig.acos"),
    float1("math.atan", "math.trig.atan", "math.trig.atan"),
    float1("math.sinh", "python.sinh", "math.trig.sinh"),
    float1("math.cosh", "python.cosh", "math.trig.cosh"),
    float1("math.tanh", "math.trig.tanh", "math.trig.tanh"),
    float1("math.asinh", "math.trig.asinh", "math.trig.asinh"),
    float1("math.acosh", "python.acosh", "math.trig.acosh"),
    float1("math.atanh", "python.atanh", "math.trig.atanh"),
    float1("math.erf", "math.erf", "math.erf"),
    float1("math.erfc", "math.erfc", "math.erfc"),
    float1("math.gamma", "python.gamma", "python.gamma"),
    float1("math.lgamma", "python.lgamma", "math.lgamma"),
    float1("math.fabs", "math.abs", "math.abs"),
    float1("math.degrees", "python.degrees", "python.degrees"),
    float1("math.radians", "python.radians", "python.radians"),
    float2("math.atan2", "math.trig.atan2", "math.trig.atan2"),
    float2("math.hypot", "math.hypot", "math.hypot"),
    float2("math.pow", "python.pow", "math.pow"),
    float2("math.fmod", "python.fmod", "math.fmod"),
    float2("math.copysign", "python.copysign", "python.copysign"),
    row("math.floor", LibraryKind::Rounded("python.floor")),
    row("math.ceil", LibraryKind::Rounded("python.ceil")),
    row("math.trunc", LibraryKind::Rounded("python.to_int")),
    row("math.isnan", LibraryKind::IsNan),
    row("math.isinf", LibraryKind::IsInf),
    row("math.isfinite", LibraryKind::IsFinite),
    row("math.gcd", LibraryKind::Gcd),
    row("math.isqrt", LibraryKind::Isqrt),
    float1("numpy.sqrt", "math.sqrt", "math.sqrt"),
    float1("numpy.exp", "math.exp", "math.exp"),
    float1("numpy.expm1", "math.expm1", "math.expm1"),
    float1("numpy.exp2", "math.exp2", "math.exp2"),
    float1("numpy.cbrt", "math.cbrt", "math.cbrt"),
    float1("numpy.log", "math.log", "math.log"),
    float1("numpy.log2", "math.log2", "math.log2"),
    float1("numpy.log10", "math.log10", "math.log10"),
    float1("numpy.log1p", "math.log1p", "math.log1p"),
    float1("numpy.sin", "math.trig.sin", "math.trig.sin"),
    float1("numpy.cos", "math.trig.cos", "math.trig.cos"),
    float1("numpy.tan", "math.trig.tan", "math.trig.tan"),
    float1("numpy.arcsin", "math.trig.asin", "math.trig.asin"),
    float1("numpy.arccos", "math.trig.acos", "math.trig.acos"),
    float1("numpy.arctan", "math.trig.atan", "math.trig.atan"),
    float1("numpy.sinh", "math.trig.sinh", "math.trig.sinh"),
    float1("numpy.cosh", "math.trig.cosh", "math.trig.cosh"),
    float1("numpy.tanh", "math.trig.tanh", "math.trig.tanh"),
    float1("numpy.floor", "math.floor", "math.floor"),
    float1("numpy.ceil", "math.ceil", "math.ceil"),
    float1("numpy.trunc", "math.trunc", "math.trunc"),
    float1("numpy.fabs", "math.abs", "math.abs"),
    float1("numpy.arcsinh", "math.trig.asinh", "math.trig.asinh"),
    float1("numpy.arccosh", "math.trig.acosh", "math.trig.acosh"),
    float1("numpy.arctanh", "math.trig.atanh", "math.trig.atanh"),
    float1("numpy.degrees", "python.degrees", "python.degrees"),
    float1("numpy.radians", "python.radians", "python.radians"),
    float1("numpy.rad2deg", "python.degrees", "python.degrees"),
    float1("numpy.deg2rad", "python.radians", "python.radians"),
    float2("numpy.fmod", "math.fmod", "math.fmod"),
    float2("numpy.arctan2", "math.trig.atan2", "math.trig.atan2"),
    float2("numpy.hypot", "math.hypot", "math.hypot"),
    float2("numpy.copysign", "python.copysign", "python.copysign"),
    row("numpy.abs", LibraryKind::Abs),
    row("numpy.absolute", LibraryKind::Abs),
    row("numpy.isnan", LibraryKind::IsNan),
    row("numpy.isinf", LibraryKind::IsInf),
    row("numpy.isfinite", LibraryKind::IsFinite),
    row("numpy.maximum", LibraryKind::Greater),
    row("numpy.minimum", LibraryKind::Less),
    row("numpy.sign", LibraryKind::Sign),
    row("numpy.square", LibraryKind::Square),
    row("numpy.power", LibraryKind::Power),
    row("numpy.where", LibraryKind::Where),
    row("numpy.int8", LibraryKind::Narrow(ScalarType::Int8)),
    row("numpy.int16", LibraryKind::Narrow(ScalarType::Int16)),
    row("numpy.int32", LibraryKind::Narrow(ScalarType::Int32)),
    row("numpy.uint8", LibraryKind::Narrow(ScalarType::Uint8)),
    row("numpy.uint16", LibraryKind::Narrow(ScalarType::Uint16)),
    row("numpy.uint32", LibraryKind::Narrow(ScalarType::Uint32)),
    row("numpy.float32", LibraryKind::Narrow(ScalarType::Float32)),
    row("numpy.int64", LibraryKind::ToInt),
    row("numpy.float64", LibraryKind::ToFloat),
    row("numpy.bool_", LibraryKind::ToBool),
    row("numpy.zeros", LibraryKind::Filled(0)),
    row("numpy.empty", LibraryKind::Filled(0)),
    row("numpy.ones", LibraryKind::Filled(1)),
    row("numpy.full", LibraryKind::Full),
    row("numpy.arange", LibraryKind::Arange),
    row("numpy.array", LibraryKind::ArrayOf),
    row("numpy.copy", LibraryKind::Copy),
    row("chr", LibraryKind::Chr),
    row("ord", LibraryKind::Ord),
    row("_dict", LibraryKind::NewDict),
    row("_set", LibraryKind::NewSet),
    row("_add", LibraryKind::AddKey),
    row("_dict_get", LibraryKind::DictGet),
    row("_element", LibraryKind::Element),
    row("_value_at", LibraryKind::ValueAt),
    row("_iteration_length", LibraryKind::IterationLength),
    row("_multiply", LibraryKind::CounterProduct),
    row("_array", LibraryKind::ArrayFrom),
    row("_astype", LibraryKind::ArrayFrom),
    row("_zeros_as", LibraryKind::FilledAs(0)),
    row("_ones_as", LibraryKind::FilledAs(1)),
    row("_list", LibraryKind::NewList),
    row("_append", LibraryKind::Append),
    row("_pop", LibraryKind::Pop),
    row("_repeat", LibraryKind::Repeat),
    row("_contains", LibraryKind::Contains),
    row("numpy.zeros_like", LibraryKind::FilledLike(0)),
    row("numpy.empty_like", LibraryKind::FilledLike(0)),
    row("numpy.ones_like", LibraryKind::FilledLike(1)),
    row("numpy.full_like", LibraryKind::FullLike),
    row("numpy.eye", LibraryKind::Eye),
    row("numpy.identity", LibraryKind::Eye),
    row("numpy.linspace", LibraryKind::Linspace),
    row("numpy.dot", LibraryKind::Dot),
    row("numpy.mean", LibraryKind::Mean),
    row("numpy.prod", LibraryKind::Product),
    row("numpy.cumsum", LibraryKind::CumulativeSum),
    row("numpy.argmin", LibraryKind::ArgMin),
    row("numpy.argmax", LibraryKind::ArgMax),
    row("numpy.any", LibraryKind::Any),
    row("numpy.all", LibraryKind::All),
    row("_pop_at", LibraryKind::List(ListMethod::PopAt)),
    row("_insert", LibraryKind::List(ListMethod::Insert)),
    row("_index", LibraryKind::List(ListMethod::Index)),
    row("_count", LibraryKind::List(ListMethod::Count)),
    row("_remove", LibraryKind::List(ListMethod::Remove)),
    row("_reverse", LibraryKind::List(ListMethod::Reverse)),
    row("_clear", LibraryKind::List(ListMethod::Clear)),
    row("_sort", LibraryKind::List(ListMethod::Sort)),
    row("_fill", LibraryKind::List(ListMethod::Fill)),
    row("numpy.sum", LibraryKind::Sum),
    row("numpy.min", LibraryKind::Min),
    row("numpy.max", LibraryKind::Max),
];
