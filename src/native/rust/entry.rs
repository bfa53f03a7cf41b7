//! The boundary of a library in Rust: the functions and constants that the header of the C bindings declares.

use crate::native::c::locals::{CType, leaves};
use crate::native::error::NotTranslated;
use crate::native::rust::routine::plain;
use crate::native::rust::syntax::type_name;
use cembra_vm::library::{ABI_VERSION, Signature};
use cembra_vm::program::Program;
use cembra_vm::value::QType;
use std::fmt::Write;

/// The functions that others call.
pub(super) fn entry(name: &str, program: &Program, signature: &Signature) -> Result<String, NotTranslated> {
    let types = signature.types();
    let mut text = format!(
        "#[no_mangle]\npub static {name}_abi: u32 = {ABI_VERSION};\n#[no_mangle]\npub static {name}_signature: [u8; {}] = *b\"{types}\\0\";\n\n\
         #[no_mangle]\npub unsafe extern \"C\" fn {name}_call(values: *const *mut u8, error: *mut CembraError) -> i32 {{\n    \
         let mut own = NO_ERROR;\n    let run = if error.is_null() {{ &mut own }} else {{ error.write(NO_ERROR); &mut *error }};\n",
        types.len() + 1
    );
    let mut args = String::new();
    for (number, parameter) in signature.parameters.iter().enumerate() {
        plain(&parameter.qtype, || format!("argument {}", parameter.name))?;
        for leaf in leaves(&parameter.qtype).unwrap_or_default() {
            let local = format!("p{number}_{}", leaf.at);
            let ctype = type_name(leaf.ctype);
            let _ = writeln!(text, "    let {local}: {ctype} = cembra_read(values, {number}, {});", leaf.at);
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
    let _ = write!(
        text,
        "    match r0(run, 0{args}) {{\n        Ok(({names})) => {{ {put}0 }}\n        Err(k) => k,\n    }}\n}}\n\n"
    );
    let mut declared = Types { name, count: 0, declared: String::new() };
    let (mut parameters, mut addresses) = (String::new(), String::new());
    for (number, parameter) in signature.parameters.iter().enumerate() {
        let _ = write!(parameters, "mut p{number}: {}, ", declared.of(&parameter.qtype));
        let _ = write!(addresses, "(&raw mut p{number}).cast(), ");
    }
    for (number, (_, qtype)) in signature.results.iter().enumerate() {
        let _ = write!(parameters, "result{number}: *mut {}, ", declared.of(qtype));
        let _ = write!(addresses, "result{number}.cast(), ");
    }
    let _ = write!(
        text,
        "{}#[no_mangle]\npub unsafe extern \"C\" fn {name}({parameters}error: *mut CembraError) -> i32 {{\n    \
         let values: [*mut u8; {}] = [{addresses}];\n    {name}_call(values.as_ptr(), error)\n}}\n",
        declared.declared,
        first + signature.results.len()
    );
    Ok(text)
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
