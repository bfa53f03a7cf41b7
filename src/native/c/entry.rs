//! The boundary of a library in C: its types, and the functions that others call.

use crate::native::c::calls::{Through, results, returns};
use crate::native::c::constants::{category_name, quoted};
use crate::native::c::locals::{CType, Leaf, leaves};
use crate::native::error::NotTranslated;
use cembra_vm::library::{ABI_VERSION, BoundaryArray, Parameter, Signature};
use cembra_vm::program::Program;
use cembra_vm::value::{Category, QType};
use std::fmt::Write;

/// Names of functions that are words of C++: from there only `NAME_call` can be called.
const WORDS_OF_CPP: [&str; 47] = [
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "bool",
    "catch",
    "class",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_cast",
    "template",
    "this",
    "throw",
    "true",
    "typename",
    "virtual",
    "wchar_t",
    "xor",
];

/// The header of a function: what a program in C or C++ includes, once or several times.
///
/// # Errors
/// A type does not cross the boundary.
pub fn header(name: &str, signature: &Signature) -> Result<String, NotTranslated> {
    let mut text = include_str!("header.c").to_owned();
    let categories = (1..).zip(Category::ALL);
    let categories =
        categories.map(|(number, category)| format!("    {} = {number}", category_name(category)));
    let categories: Vec<String> = categories.collect();
    let _ = write!(text, "\nenum {{\n{}\n}};\n#endif\n\n", categories.join(",\n"));
    let _ = write!(text, "#ifndef CEMBRA_FUNCTION_{name}\n#define CEMBRA_FUNCTION_{name}\n");
    text.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    let mut types = Types { name, count: 0, declared: String::new() };
    let prototype = prototype(name, signature, &mut types)?;
    text += &types.declared;
    let declared = match WORDS_OF_CPP.contains(&name) {
        true => format!("#ifndef __cplusplus\n{prototype};\n#endif\n"),
        false => format!("{prototype};\n"),
    };
    let _ = write!(
        text,
        "/* {}\n   Gives 0, or the category of an error, which is explained in `error` unless that is NULL. */\n{declared}",
        signature.to_string().replace("*/", "* /")
    );
    let _ = write!(
        text,
        "\n/* The same, with the addresses of all arguments and results in the order of the text above. */\n\
         int32_t {name}_call(void *const *values, cembra_error *error);\n\
         extern const uint32_t {name}_abi;\nextern const char {name}_signature[];\n"
    );
    if signature.gives_arrays() {
        let elements = match signature.has_contiguous_results {
            true => "elements one after the other",
            false => "elements of any strides that share no byte",
        };
        let _ = write!(
            text,
            "\n/* An array of a result has `data` NULL before the call, and new memory after it; or it has memory of the caller, with the\n   \
             shape of the result and {elements}, and the result is made there.\n   \
             This frees an array that a call has given, and the numbers of an edge. */\nvoid {name}_free(cembra_array *array);\n"
        );
    }
    text.push_str("#ifdef __cplusplus\n}\n#endif\n#endif\n");
    Ok(text)
}

/// Declares types for tuples and optionals.
struct Types<'n> {
    name: &'n str,
    count: usize,
    declared: String,
}

impl Types<'_> {
    /// The name of a plain type.
    fn of(&mut self, qtype: &QType) -> Option<String> {
        let fields: Vec<(String, String)> = match qtype {
            QType::Scalar(scalar) => return CType::of(*scalar).map(|ctype| ctype.name().to_owned()),
            QType::ArrayShape(_) => return Some(CType::I64.name().to_owned()),
            QType::Optional(scalar) => {
                let value = leaves(qtype)?.get(1).copied();
                debug_assert!(value.is_some() || CType::of(*scalar) == Some(CType::U8));
                let presence = ("uint8_t".to_owned(), "present".to_owned());
                let value = value.map(|leaf| (leaf.ctype.name().to_owned(), "value".to_owned()));
                std::iter::once(presence).chain(value).collect()
            }
            QType::Tuple(tuple) => {
                let fields = tuple.fields().iter().enumerate();
                fields
                    .map(|(number, field)| Some((self.of(field)?, format!("_{number}"))))
                    .collect::<Option<_>>()?
            }
            _ => return None,
        };
        self.count += 1;
        let name = format!("{}_type{}", self.name, self.count);
        let members: Vec<String> = fields.iter().map(|(ctype, field)| format!("{ctype} {field};")).collect();
        let _ = writeln!(self.declared, "typedef struct {{ {} }} {name}; /* {qtype} */", members.join(" "));
        Some(name)
    }
}

fn refused(what: &str, qtype: &QType) -> NotTranslated {
    NotTranslated::Type { what: what.to_owned(), qtype: qtype.to_string() }
}

/// The function with types, without an end.
fn prototype(name: &str, signature: &Signature, types: &mut Types<'_>) -> Result<String, NotTranslated> {
    let mut all = Vec::new();
    for (number, parameter) in signature.parameters.iter().enumerate() {
        let local = local_name(number, &parameter.name);
        all.push(match BoundaryArray::of(&parameter.qtype) {
            Some(_) => format!("const cembra_array *{local}"),
            None if parameter.qtype.is_edge() => format!("const cembra_edge *{local}"),
            None => {
                let what = || refused(&format!("argument {}", parameter.name), &parameter.qtype);
                format!("{} {local}", types.of(&parameter.qtype).ok_or_else(what)?)
            }
        });
    }
    for (number, (result, qtype)) in signature.results.iter().enumerate() {
        let what = || refused(&format!("result {result}"), qtype);
        let ctype = match BoundaryArray::of(qtype) {
            Some(_) => "cembra_array".to_owned(),
            None if qtype.is_edge() => "cembra_edge".to_owned(),
            None => types.of(qtype).ok_or_else(what)?,
        };
        all.push(format!("{ctype} *result{number}"));
    }
    all.push("cembra_error *error".to_owned());
    Ok(format!("int32_t {name}({})", all.join(", ")))
}

/// A parameter's name in C: its own where that is a plain word, with its number otherwise.
fn local_name(number: usize, name: &str) -> String {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_word && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => format!("{name}_"),
        false => format!("p{number}_"),
    }
}

/// The functions that others call.
pub(super) fn entry(name: &str, program: &Program, signature: &Signature) -> Result<String, NotTranslated> {
    let mut text = format!(
        "const uint32_t {name}_abi = {ABI_VERSION};\nconst char {name}_signature[] = {};\n\n",
        quoted(&signature.types())
    );
    let _ = write!(
        text,
        "int32_t {name}_call(void *const *values, cembra_error *error)\n{{\n    cembra_error own;\n    \
         cembra_run state = {{ error != NULL ? error : &own }}, *run = &state;\n    \
         memset(run->error, 0, sizeof *run->error);\n"
    );
    let (mut args, mut edges) = (String::from("run, 0"), Vec::new());
    for (number, parameter) in signature.parameters.iter().enumerate() {
        if let Some(array) = BoundaryArray::of(&parameter.qtype) {
            let _ = write!(args, ", values[{number}]");
            text += &checked_axes(number, parameter, array);
            continue;
        }
        if parameter.qtype.is_edge() {
            let _ = write!(args, ", &p{number}");
            text += &checked_edge(number, parameter);
            edges.push(number);
            continue;
        }
        for leaf in plain(&parameter.qtype, &parameter.name)? {
            let local = format!("p{number}_{}", leaf.at);
            let _ = writeln!(
                text,
                "    {} {local}; memcpy(&{local}, (const char *)values[{number}] + {}, sizeof {local});",
                leaf.ctype.name(),
                leaf.at
            );
            // A truth is 0 or 1 inside.
            let truth = if leaf.ctype == CType::U8 { format!("{local} != 0") } else { local };
            let _ = write!(args, ", {truth}");
        }
    }
    text += &separate(signature);
    let (mut put, first) = (String::new(), signature.parameters.len());
    let through_pointers = results(program.main())?;
    for (number, result) in &through_pointers {
        match result {
            Through::Leaf(leaf) => {
                let local = format!("q{number}_{}", leaf.at);
                let _ = writeln!(text, "    {} {local} = 0;", leaf.ctype.name());
                let _ = write!(args, ", &{local}");
                put += &stored(first + number, leaf.at, &local);
            }
            Through::Array(array) => {
                let place = first + number;
                let _ =
                    writeln!(text, "    cembra_array *q{number} = values[{place}], m{number} = *q{number};");
                text += &lent(*number, *array, signature, &through_pointers);
                let _ = write!(args, ", &m{number}");
                put += &given(*number, *array);
            }
            Through::Edge => {
                let place = first + number;
                let _ = writeln!(text, "    cembra_edge m{number};");
                let _ = write!(args, ", &m{number}");
                let _ = writeln!(put, "    *(cembra_edge *)values[{place}] = m{number};");
            }
        }
    }
    if through_pointers.is_empty() {
        let leaves = signature
            .results
            .iter()
            .zip(0..)
            .filter_map(|((_, qtype), number)| Some((number, leaves(qtype)?)));
        let only =
            leaves.flat_map(|(number, leaves)| leaves.into_iter().map(move |leaf| (number, leaf))).next();
        put += &only.map_or(String::new(), |(number, leaf): (usize, Leaf)| {
            stored(first + number, leaf.at, "z.value")
        });
    }
    let returns = returns(program.main())?;
    debug_assert_eq!(program.main().inputs.len(), first);
    let _ = write!(
        text,
        "{}    {returns} z = r0({args});\n{}    if (z.status != 0) return z.status;\n{put}",
        taken_edges(&edges),
        edges.iter().map(|edge| format!("    free_grouping(&p{edge});\n")).collect::<String>()
    );
    // What has been made becomes the caller's, even if there is no place for another result.
    let failed = through_pointers.iter().filter(|(_, result)| matches!(result, Through::Array(_)));
    let failed: Vec<String> = failed.map(|(number, _)| format!("k{number}")).collect();
    let message = quoted("the memory for a result has another shape than the result");
    for k in failed {
        let _ = writeln!(
            text,
            "    if ({k} != 0) return cembra_raise(run, {k}, 0, 0, 0, {message}, CEMBRA_OPERANDS(0));"
        );
    }
    text.push_str("    return 0;\n}\n\n");
    if signature.gives_arrays() {
        let _ = write!(
            text,
            "void {name}_free(cembra_array *array)\n{{\n    free(array->data);\n    array->data = NULL;\n}}\n\n"
        );
    }
    let mut types = Types { name, count: 0, declared: String::new() };
    let typed = prototype(name, signature, &mut types)?;
    let address = |(number, parameter): (usize, &Parameter)| {
        let local = local_name(number, &parameter.name);
        match BoundaryArray::of(&parameter.qtype).is_some() || parameter.qtype.is_edge() {
            true => format!("(void *){local}"),
            false => format!("&{local}"),
        }
    };
    let parameters = signature.parameters.iter().enumerate().map(address);
    let results = (0..signature.results.len()).map(|number| format!("result{number}"));
    let all: Vec<String> = parameters.chain(results).collect();
    let _ = write!(
        text,
        "{typed}\n{{\n    void *values[] = {{ {} }};\n    return {name}_call(values, error);\n}}\n",
        all.join(", ")
    );
    Ok(text)
}

fn stored(number: usize, at: u32, local: &str) -> String {
    format!("    memcpy((char *)values[{number}] + {at}, &{local}, sizeof {local});\n")
}

fn plain(qtype: &QType, what: &str) -> Result<Vec<Leaf>, NotTranslated> {
    leaves(qtype).ok_or_else(|| refused(what, qtype))
}

/// Looks at the memory that is lent for a result: it is not used while the result is made if an argument lies there.
fn lent(number: usize, array: BoundaryArray, signature: &Signature, results: &[(usize, Through)]) -> String {
    let refuse = |what: &str| {
        let message = quoted(&format!("the memory for result {number} {what}"));
        format!("return cembra_raise(run, CEMBRA_TYPE, 0, 0, 0, {message}, CEMBRA_OPERANDS({number}));")
    };
    let order = match signature.has_contiguous_results && array.size() > 0 {
        true => format!(
            "if (!is_in_order(&m{number}, {}, {})) {} ",
            array.rank(),
            array.size(),
            refuse("has elements that are not one after the other")
        ),
        false => String::new(),
    };
    let bitmap = match array.has_rows() {
        true => format!(
            "if (m{number}.validity == NULL || m{number}.offset < 0) {} ",
            refuse("has no bitmap of the rows that are there")
        ),
        false => String::new(),
    };
    let mut text = format!("    if (m{number}.data != NULL) {{ uint64_t x[2], y[2]; {order}{bitmap}");
    for own in extents(&format!("(&m{number})"), array, "x") {
        text += &own;
        for (other, array) in results.iter().filter_map(|(other, through)| match through {
            Through::Array(array) if *other < number => Some((other, array)),
            _ => None,
        }) {
            for extent in extents(&format!("q{other}"), *array, "y") {
                let taken = refuse("is that for another one");
                let _ =
                    write!(text, "if (q{other}->data != NULL) {{ {extent}if (overlaps(x, y)) {taken} }} ");
            }
        }
        for (argument, parameter) in signature.parameters.iter().enumerate() {
            let of_argument = BoundaryArray::of(&parameter.qtype);
            for extent in
                of_argument.into_iter().flat_map(|array| extents(&format!("values[{argument}]"), array, "y"))
            {
                let _ = write!(text, "{extent}if (overlaps(x, y)) m{number}.data = NULL; ");
            }
        }
    }
    text + "}\n"
}

/// Refuses an array that the function changes if another argument lies in its memory: arguments are values of their own.
fn separate(signature: &Signature) -> String {
    let arrays = signature.parameters.iter().enumerate();
    let arrays = arrays.filter_map(|(number, of)| Some((number, of, BoundaryArray::of(&of.qtype)?)));
    let mut text = String::new();
    for (number, changed, array) in arrays.clone().filter(|(_, of, _)| of.is_updated) {
        // Of two that are changed the one that comes first looks.
        for (other, parameter, of_other) in
            arrays.clone().filter(|(other, of, _)| *other != number && (!of.is_updated || *other > number))
        {
            let what = format!("shares memory with {}, and is changed by the function", parameter.name);
            let refused = refuse(number, changed, &what);
            let (a, b) = (format!("values[{number}]"), format!("values[{other}]"));
            let beside = match changed.is_contiguous || of_other.has_rows() {
                true => String::new(),
                false => format!(" && !is_beside({a}, {}, x, {b}, {}, y)", array.rank(), of_other.rank()),
            };
            for own in extents(&a, array, "x") {
                for extent in extents(&b, of_other, "y") {
                    let _ = writeln!(
                        text,
                        "    {{ uint64_t x[2], y[2]; {own}{extent}if (overlaps(x, y){beside}) {refused} }}"
                    );
                }
            }
        }
    }
    text
}

/// Statements that find the bytes of an array, each as two numbers: those of its cells, and those of its bitmap.
fn extents(array: &str, of: BoundaryArray, to: &str) -> Vec<String> {
    let cells = (of.size() > 0).then(|| format!("extent_of({array}, {}, {}, {to}); ", of.rank(), of.size()));
    let bits = of.has_rows().then(|| format!("extent_of_bits({array}, {to}); "));
    cells.into_iter().chain(bits).collect()
}

/// Stores an array that the main routine has given.
fn given(number: usize, array: BoundaryArray) -> String {
    let give = match array.has_rows() {
        true => format!("give_rows(&m{number}, {}", array.size()),
        false => format!("give_array(&m{number}, {}, {}", array.rank(), array.size()),
    };
    format!(
        "    int32_t k{number} = 0; if (q{number}->data == NULL) *q{number} = m{number}; \
         else if (m{number}.data != q{number}->data) {{ k{number} = {give}, NULL, q{number}); free(m{number}.data); }}\n"
    )
}

/// What can be wrong with an edge, in the order of `what_is_wrong`.
const WRONG_EDGES: [&str; 5] = [
    "is of another kind",
    "has a number of rows that no edge has",
    "has numbers that are not there",
    "has split points that are missing, fall, or do not begin with 0",
    "has a row whose parent there is not",
];

/// Refuses an edge that leads beyond its parent or has another form than its type.
fn checked_edge(number: usize, parameter: &Parameter) -> String {
    let is_to_scalar = u8::from(matches!(parameter.qtype, QType::EdgeToScalar(_)));
    let messages = WRONG_EDGES.map(|what| quoted(&format!("the edge {} {what}", parameter.name)));
    format!(
        "    {{ int k = what_is_wrong(values[{number}], {is_to_scalar}); static const char *const messages[] = {{ {} }}; \
         if (k != 0) return cembra_raise(run, CEMBRA_TYPE, 0, 0, 0, messages[k - 1], CEMBRA_OPERANDS({number})); }}\n",
        messages.join(", ")
    )
}

/// Takes over the edges of arguments with these numbers.
fn taken_edges(edges: &[usize]) -> String {
    if edges.is_empty() {
        return String::new();
    }
    let (mut declared, mut taken, mut freed) = (String::new(), String::new(), String::new());
    for edge in edges {
        let _ = writeln!(declared, "    cembra_grouping p{edge} = {{ 0 }};");
        let _ = writeln!(taken, "    if (taken == 0) taken = take_edge(values[{edge}], &p{edge});");
        let _ = write!(freed, "free_grouping(&p{edge}); ");
    }
    let message = quoted("there is no memory for an edge");
    format!(
        "{declared}    int32_t taken = 0;\n{taken}    if (taken != 0) {{ {freed}return cembra_raise(run, taken, 0, 0, 0, {message}, \
         CEMBRA_OPERANDS(0)); }}\n"
    )
}

/// Refuses an array of a negative size, or whose elements do not stand as the library needs them.
fn checked_axes(number: usize, parameter: &Parameter, array: BoundaryArray) -> String {
    let size = array.size();
    let mut text =
        format!("    {{ const cembra_array *a = values[{number}]; int64_t stride = {size}; int is = 1; ");
    text += &match array.has_rows() {
        true => {
            let what = "has a bitmap that begins before its memory";
            format!("if (a->validity != NULL && a->offset < 0) {} ", refuse(number, parameter, what))
        }
        false => {
            format!(
                "if (a->validity != NULL) {} ",
                refuse(number, parameter, "has elements that may be missing")
            )
        }
    };
    for axis in (0..array.rank()).rev() {
        let size = format!("a->shape[{axis}]");
        if parameter.is_contiguous && array.size() > 0 {
            let _ = write!(
                text,
                "is &= {size} == 1 || a->strides[{axis}] == stride; stride = mul_i64(stride, {size}); "
            );
        }
        let _ =
            write!(text, "if ({size} < 0) {} ", refuse(number, parameter, "has an axis of a negative size"));
        if array.is_unit(axis) {
            let what = "has not the size 1 along an axis that broadcasts";
            let _ = write!(text, "if ({size} != 1) {} ", refuse(number, parameter, what));
        }
    }
    // Along a single axis there may be more than an operator makes.
    if array.rank() != 1 {
        let _ = write!(
            text,
            "int64_t count; if (count_of({}, a->shape, &count) != 0) {} ",
            array.rank(),
            refuse(number, parameter, "has too many elements")
        );
    }
    let layout = refuse(number, parameter, "has elements that are not one after the other");
    text + &format!("if (!is && stride != 0) {layout} }}\n")
}

fn refuse(number: usize, parameter: &Parameter, what: &str) -> String {
    let message = quoted(&format!("the array {} {what}", parameter.name));
    format!("return cembra_raise(run, CEMBRA_TYPE, 0, 0, 0, {message}, CEMBRA_OPERANDS({number}));")
}
