//! Programs as Rust: scalars, tuples and optional values, with jumps, loops, calls and errors; no arrays.
//!
//! ```text
//! prelude.txt    arithmetic of the operators, in functions that refuse where they do
//! special_exp    special functions; angles.txt and gamma.txt have what is kept by hand
//! r0, r1, …      a function for each routine: a loop over its blocks
//! NAME_call      takes addresses of all arguments and results: what loaders call
//! NAME           the same with types, as the header of the C bindings has it
//! ```
//!
//! The boundary is that of C, and so are the names of locals and the table of operators that are kept by hand; what is written
//! otherwise is in `syntax`.

mod entry;
mod operators;
mod routine;
mod syntax;

use crate::native::c::composed::{composed, in_rust, is_composed, special_functions};
use crate::native::c::special::Special;
use crate::native::error::NotTranslated;
use crate::native::rust::syntax::special_function;
use crate::native::stage::{ENGINE, ProgramCall, ProgramSource, Rust};
use crate::workflow::{Fingerprint, Fingerprinter, Step};
use cembra_vm::value::Category;
use std::fmt::Write;

/// What operators do, as functions of Rust.
const PRELUDE: &str = include_str!("prelude.txt");

/// Sines, cosines and tangents of large angles.
const ANGLES: &str = include_str!("angles.txt");

/// Translates programs to Rust.
///
/// Arrays and operators that have neither a recipe nor a function in the table of C, and are no special function, have no form: the
/// error names them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TranslateToRust;

impl TranslateToRust {
    /// The functions of the routines, with the instruction in front of its statements: for people.
    ///
    /// # Errors
    /// As for the step.
    pub fn explained(&self, call: &ProgramCall) -> Result<String, NotTranslated> {
        let program = call.translated();
        let functions = (0..program.routines().len()).map(|number| routine::function(number, &program, true));
        Ok(functions.collect::<Result<Vec<String>, _>>()?.join("\n"))
    }
}

/// Words of Rust that names of C may be.
const WORDS: &str = include_str!("words.txt");

/// True for names that the text uses itself, and for words of Rust.
fn is_used(name: &str) -> bool {
    let is_routine = name
        .strip_prefix('r')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    let is_of_text = ["cembra_", "CEMBRA_", "special_"].iter().any(|prefix| name.starts_with(prefix));
    is_routine
        || is_of_text
        || is_composed(name)
        || PRELUDE.contains(&format!("fn {name}("))
        || WORDS.split_whitespace().any(|word| word == name)
}

/// The root of a library of several sources, which are its modules, by the names of their functions.
pub fn root_of<'e>(entries: impl IntoIterator<Item = &'e str>) -> String {
    let modules = entries.into_iter().map(|entry| format!("mod {entry};\n"));
    std::iter::once("#![allow(warnings)]\n\n".to_owned()).chain(modules).collect()
}

impl Fingerprint for TranslateToRust {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("TranslateToRust", ENGINE.as_bytes());
    }
}

impl Step<ProgramCall> for TranslateToRust {
    type Out = ProgramSource<Rust>;
    type Err = NotTranslated;

    fn name(&self) -> &str {
        "translate"
    }

    fn run(&self, call: ProgramCall) -> Result<ProgramSource<Rust>, NotTranslated> {
        let (program, signature) = (&call.translated(), call.signature());
        let name = call.name();
        if is_used(name) {
            return Err(NotTranslated::Name { name: name.to_owned() });
        }
        let mut text = String::from("#![allow(warnings)]\n\n");
        for (number, category) in (1..).zip(Category::ALL) {
            let _ = writeln!(text, "const CEMBRA_{}: i32 = {number};", category.name());
        }
        text += PRELUDE;
        let found = special_functions(program);
        text += if found.values().any(Special::needs_angles) { ANGLES } else { "" };
        found.values().for_each(|special| text += &special_function(special));
        text += &composed(program, in_rust);
        for number in 0..program.routines().len() {
            text.push('\n');
            text += &routine::function(number, program, false)?;
        }
        text.push('\n');
        text += &entry::entry(name, program, &signature)?;
        Ok(ProgramSource::new(&call, text, Vec::new()))
    }
}
