//! Bindings: what C and Python call a library by.

use crate::native::c::header;
use crate::native::error::NotTranslated;
use crate::native::stage::{CompilableSource, ENGINE, Language, ProgramSource};
use crate::workflow::{Fingerprint, Fingerprinter, Step};
use cembra_vm::library::{ABI_VERSION, BoundaryArray, Signature};
use cembra_vm::value::{Category, QType, ScalarType};

/// A C header and a Python module that uses ctypes: neither needs Cembra. They are those of sources of any language.
#[derive(Clone, Copy, Debug, Default)]
pub struct CBindings;

impl Fingerprint for CBindings {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("CBindings", ENGINE.as_bytes());
    }
}

impl<L: Language> Step<ProgramSource<L>> for CBindings {
    type Out = CompilableSource<L>;
    type Err = NotTranslated;

    fn name(&self) -> &str {
        "bind"
    }

    fn run(&self, source: ProgramSource<L>) -> Result<CompilableSource<L>, NotTranslated> {
        let entry = &source.entry;
        let files = [
            (format!("{entry}.h"), header(entry, &source.signature)?),
            (format!("{entry}.py"), module(&format!("lib{entry}.so"), [(entry.as_str(), &source.signature)])),
        ];
        Ok(CompilableSource { bindings: files.into(), source })
    }
}

/// The Python module of functions in a library beside it.
pub fn module<'s>(library: &str, functions: impl IntoIterator<Item = (&'s str, &'s Signature)>) -> String {
    let names: Vec<&str> = Category::ALL.iter().map(|category| category.name()).collect();
    let text = include_str!("bindings.py");
    let mut text = text.replace("@LIBRARY@", library).replace("@CATEGORIES@", &format!("{names:?}"));
    text = text.replace("@ABI@", &ABI_VERSION.to_string());
    functions.into_iter().for_each(|(entry, signature)| text += &function(entry, signature));
    text
}

fn function(entry: &str, signature: &Signature) -> String {
    let parameters = signature.parameters.iter().map(|parameter| match BoundaryArray::of(&parameter.qtype) {
        Some(array) if array.has_rows() => format!(
            "_Rows({:?}, {:?}, {})",
            parameter.name,
            code(array.element()),
            truth(parameter.is_contiguous)
        ),
        Some(array) => format!(
            "_Elements({:?}, {:?}, {}, {}, {})",
            parameter.name,
            code(array.element()),
            array.rank(),
            truth(parameter.is_updated),
            truth(parameter.is_contiguous)
        ),
        None if parameter.qtype.is_edge() => {
            let is_to_scalar = matches!(parameter.qtype, QType::EdgeToScalar(_));
            format!("_EdgeArgument({:?}, {})", parameter.name, truth(is_to_scalar))
        }
        None => ctype(&parameter.qtype),
    });
    let parameters: Vec<String> = parameters.collect();
    let is_contiguous = truth(signature.has_contiguous_results);
    let results = signature.results.iter().map(|(_, qtype)| match BoundaryArray::of(qtype) {
        Some(array) if array.has_rows() => {
            format!("_made_rows({entry:?}, {:?}, {is_contiguous})", code(array.element()))
        }
        Some(array) => {
            format!("_made({entry:?}, {:?}, {}, {is_contiguous})", code(array.element()), array.rank())
        }
        None if qtype.is_edge() => format!("_made_edge({entry:?})"),
        None => ctype(qtype),
    });
    let results: Vec<String> = results.collect();
    let numbered = signature.parameters.iter().enumerate();
    let names: Vec<String> =
        numbered.map(|(number, parameter)| python_name(number, &parameter.name)).collect();
    format!(
        "\n\n_function_{entry} = _Function(\n    \"{entry}\",\n    {:?},\n    [{}],\n    [{}],\n)\n\n\ndef {}({typed}*, out=None):\n    \"\"\"{}\"\"\"\n    \
         return _function_{entry}({typed}out=out)\n",
        signature.types(),
        parameters.join(", "),
        results.join(", "),
        function_name(entry),
        signature.to_string().replace('"', "'").replace('\\', "/"),
        typed = names.iter().map(|name| format!("{name}, ")).collect::<String>()
    )
}

fn truth(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
}

/// A function's name in Python: with `_` behind it if it is a word of the language, or one that the module has for itself.
fn function_name(entry: &str) -> String {
    let mut words = include_str!("bindings.py").split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_global = entry.starts_with('_') || GLOBALS.split_whitespace().any(|name| name == entry);
    let is_taken = KEYWORDS.contains(&entry) || ["None", "True", "False"].contains(&entry);
    let is_taken = is_taken || is_global && words.any(|word| word == entry);
    format!("{entry}{}", if is_taken { "_" } else { "" })
}

/// Names that Python has from the start, and those of the module that do not begin with `_`.
const GLOBALS: &str = "Array Edge Rows builtins ctypes os \
    AttributeError Exception ImportError IndexError KeyError OverflowError RecursionError RuntimeError TypeError UnboundLocalError \
    ValueError ZeroDivisionError abs all any bool bytearray bytes callable classmethod complex dict divmod enumerate filter float format \
    frozenset getattr globals hasattr hash id int isinstance issubclass iter len list locals map max memoryview min next object ord pow \
    print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip";

/// A parameter's name in Python: its own where that is a word.
fn python_name(number: usize, name: &str) -> String {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_free = !KEYWORDS.contains(&name) && name != "out";
    match is_word && name.starts_with(|c: char| c.is_ascii_lowercase()) && is_free {
        true => name.to_owned(),
        false => format!("p{number}"),
    }
}

const KEYWORDS: [&str; 33] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not",
    "or", "out", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The letter of an element in the array interface of Python, with its size; a mask has none.
fn code(element: ScalarType) -> &'static str {
    match element {
        ScalarType::Unit => "",
        ScalarType::Boolean => "b1",
        ScalarType::Int8 => "i1",
        ScalarType::Int16 => "i2",
        ScalarType::Int32 => "i4",
        ScalarType::Int64 => "i8",
        ScalarType::Uint8 => "u1",
        ScalarType::Uint16 => "u2",
        ScalarType::Uint32 => "u4",
        ScalarType::Uint64 => "u8",
        ScalarType::Float32 => "f4",
        _ => "f8",
    }
}

/// A plain type of ctypes.
fn ctype(qtype: &QType) -> String {
    match qtype {
        QType::Scalar(scalar) => match scalar {
            ScalarType::Boolean => "ctypes.c_bool",
            ScalarType::Int32 => "ctypes.c_int32",
            ScalarType::Int64 => "ctypes.c_int64",
            ScalarType::Float32 => "ctypes.c_float",
            ScalarType::Unit => "_Nothing",
            _ => "ctypes.c_double",
        }
        .to_owned(),
        QType::ArrayShape(_) => "ctypes.c_int64".to_owned(),
        QType::Optional(ScalarType::Unit) => "_optional(None)".to_owned(),
        QType::Optional(scalar) => format!("_optional({})", ctype(&QType::Scalar(*scalar))),
        QType::Tuple(tuple) => {
            let fields: Vec<String> = tuple.fields().iter().map(ctype).collect();
            format!("_tuple({})", fields.join(", "))
        }
        _ => "None".to_owned(),
    }
}
