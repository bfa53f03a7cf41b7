//! The boundary of a library in Rust: the functions and constants that the header of the C bindings declares.

use crate::native::c::locals::{CType, leaves};
use crate::native::error::NotTranslated;
use crate::native::rust::routine::plain;
use crate::native::rust::syntax::type_name;
use cembra_vm::library::{ABI_VERSION, Signature};
use cembra_vm::program::Program;
use cembra_vm::value::QType;
use std::fmt::Write;

/// The functions that others call, with marks for what differs.
const ENTRY: &str = include_str!("entry.txt");

/// The functions that others call.
pub(super) fn entry(name: &str, program: &Program, signature: &Signature) -> Result<String, NotTranslated> {
    let (mut read, mut args) = (String::new(), String::new());
    for (number, parameter) in signature.parameters.iter().enumerate() {
        plain(&parameter.qtype, || format!("argument {}", parameter.name))?;
        for leaf in leaves(&parameter.qtype).unwrap_or_default() {
            let local = format!("p{number}_{}", leaf.at);
            let ctype = type_name(leaf.ctype);
            let _ = writeln!(read, "    let {local}: {ctype} = cembra_read(values, {number}, {});", leaf.at);
            // A truth is 0 or 1 inside.
            let truth = if leaf.ctype == CType::U8 { format!("({local} != 0) as u8") } else { local };
            let _ = write!(args, ", {truth}");
        }
    }
    let (mut names, mut put, first) = (String::new(), String::new(), signature.parameters.len());
    for (number, (result, qtype)) in signature.results.iter().enumerate() {
        plain(qtype, || format!("result {result}"))?;
        for leaf in leaves(qtype).unwrap_or_default() {
            let _ = write!(names, "q{number}_{}, ", leaf.at);
            let _ = write!(put, "cembra_write(values, {}, {}, q{number}_{1}); ", first + number, leaf.at);
        }
    }
    debug_assert_eq!(program.main().inputs.len(), first);
    let mut types = Types { name, count: 0, declared: String::new() };
    let (mut parameters, mut addresses) = (String::new(), String::new());
    for (number, parameter) in signature.parameters.iter().enumerate() {
        let _ = write!(parameters, "mut p{number}: {}, ", types.of(&parameter.qtype));
        let _ = write!(addresses, "(&raw mut p{number}).cast(), ");
    }
    for (number, (_, qtype)) in signature.results.iter().enumerate() {
        let _ = write!(parameters, "result{number}: *mut {}, ", types.of(qtype));
        let _ = write!(addresses, "result{number}.cast(), ");
    }
    let marks = [
        ("@NAME@", name.to_owned()),
        ("@ABI@", ABI_VERSION.to_string()),
        ("@LENGTH@", (signature.types().len() + 1).to_string()),
        ("@TYPES@", signature.types()),
        ("@READ@", read),
        ("@ARGS@", args),
        ("@NAMES@", names),
        ("@PUT@", put),
        ("@DECLARED@", types.declared),
        ("@PARAMETERS@", parameters),
        ("@COUNT@", (first + signature.results.len()).to_string()),
        ("@ADDRESSES@", addresses),
    ];
    Ok(marks.into_iter().fold(ENTRY.to_owned(), |text, (mark, by)| text.replace(mark, &by)))
}

/// Declares types for tuples and optionals, as the header does.
struct Types<'n> {
    name: &'n str,
    count: usize,
    declared: String,
}

impl Types<'_> {
    /// The name of a plain type.
    fn of(&mut self, qtype: &QType) -> String {
        let fields: Vec<String> = match qtype {
            QType::Optional(_) => {
                let leaves = leaves(qtype).unwrap_or_default();
                leaves.iter().map(|leaf| type_name(leaf.ctype).to_owned()).collect()
            }
            QType::Tuple(tuple) => tuple.fields().iter().map(|field| self.of(field)).collect(),
            other => {
                let leaf = leaves(other).and_then(|leaves| leaves.first().copied());
                return leaf.map_or("u8", |leaf| type_name(leaf.ctype)).to_owned();
            }
        };
        self.count += 1;
        let name = format!("{}_type{}", self.name, self.count);
        let fields = fields.into_iter().enumerate().map(|(number, field)| format!("_{number}: {field}"));
        let fields = fields.collect::<Vec<_>>().join(", ");
        let _ =
            writeln!(self.declared, "#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{ {fields} }}");
        name
    }
}
