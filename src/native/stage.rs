//! Stages: what the steps of a native build take and give.

use crate::native::error::NotTranslated;
use crate::workflow::{Artifact, Fingerprint, Fingerprinter};
use cembra_vm::library::{Parameter, Signature};
use cembra_vm::program::{Instruction, Program, Routine, text};
use cembra_vm::value::{QType, Value};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// What translates and binds: the version, and a digest of its sources, as builds of one version may differ.
pub(super) const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("CEMBRA_SOURCES"));

/// How the elements of an array argument stand in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrayLayout {
    /// Anywhere: every axis has a stride.
    #[default]
    Strided,
    /// One after the other, the last axis fastest. Compilers make more of it.
    Contiguous,
}

/// A program, and how it will be called: types and layouts, never data.
#[derive(Clone, Debug)]
pub struct ProgramCall {
    name: String,
    program: Arc<Program>,
    layout: ArrayLayout,
    /// Inputs that are part of the program, by their names.
    fixed: Vec<(Arc<str>, Value)>,
    /// Arrays from which positions choose elements when the library sweeps.
    taken: Vec<Arc<str>>,
}

impl ProgramCall {
    /// A program under the name of its function in the library.
    ///
    /// # Errors
    /// The name is no identifier of C, or one that C or the library uses itself.
    pub fn new(
        name: impl Into<String>,
        program: Arc<Program>,
        layout: ArrayLayout,
    ) -> Result<ProgramCall, NotTranslated> {
        let name = name.into();
        match is_name(&name) {
            true => Ok(ProgramCall { name, program, layout, fixed: Vec::new(), taken: Vec::new() }),
            false => Err(NotTranslated::Name { name }),
        }
    }

    /// The same with an input that becomes part of the program: the library does not take it, and its compiler knows it.
    ///
    /// # Errors
    /// There is no such input, it has another type or is an array, or the program calls itself with other values.
    pub fn fixing(mut self, input: &str, value: Value) -> Result<ProgramCall, NotTranslated> {
        let (name, main) = (input.to_owned(), self.program.main());
        let Some((input, slot)) = main.inputs.iter().find(|(known, _)| **known == *input) else {
            return Err(NotTranslated::Fixed { name, what: "the program has no such input".to_owned() });
        };
        let (expected, actual) = (main.slot(*slot).qtype(), value.qtype());
        let is_fixed = self.fixed.iter().any(|(known, _)| known == input);
        let what = match () {
            () if is_fixed => "it is fixed already".to_owned(),
            () if !is_plain(expected) => format!("an input of type {expected} cannot be part of the program"),
            () if actual.storage() != expected.storage() => {
                format!("it has the type {expected}, not {actual}")
            }
            () if calls_main(&self.program) => "the program calls itself with other values".to_owned(),
            () => {
                self.fixed.push((input.clone(), value));
                return Ok(self);
            }
        };
        Err(NotTranslated::Fixed { name, what })
    }

    /// The same with literals of the program as further arguments, behind all others, and what they are in this program. Programs
    /// that differ in these literals alone are one library then, and its compiler does not know them.
    ///
    /// Which ones is asked for each number and truth value, such as "all floats": an integer may say how often a loop runs or which
    /// element is read, and a compiler that does not know it makes less of the loop.
    ///
    /// # Errors
    /// The program calls itself, without these arguments.
    pub fn opening(
        &self,
        is_opened: impl Fn(&Value) -> bool,
    ) -> Result<(ProgramCall, Vec<Value>), NotTranslated> {
        let mut routines = self.program.routines().to_vec();
        let main = &routines[0];
        let is_chosen = |(_, value): &&(_, Value)| is_plain(&value.qtype()) && is_opened(value);
        let (mut opened, mut values) = (Vec::new(), Vec::new());
        let mut names = (0..).map(|number| format!("literal_{number}"));
        for (literal, value) in main.literals.iter().filter(is_chosen) {
            let name = names.find(|name| main.input(name).is_none()).expect("names without end");
            opened.push((Arc::from(name), *literal));
            values.push(value.clone());
        }
        if !opened.is_empty() && calls_main(&self.program) {
            return Err(NotTranslated::Opened);
        }
        routines[0] = main.opening(&opened);
        Ok((ProgramCall { program: Arc::new(Program::new(routines)), ..self.clone() }, values))
    }

    /// The same with an array input from which positions choose the elements when the library
    /// [sweeps](cembra_vm::library::CallMemory::sweep); calls take all of them, as before.
    ///
    /// # Errors
    /// There is no such input, or it is no array.
    pub fn taking(mut self, input: &str) -> Result<ProgramCall, NotTranslated> {
        let main = self.program.main();
        let found = main.inputs.iter().find(|(known, _)| **known == *input);
        match found.filter(|(_, value)| main.slot(*value).qtype().nd().is_some()) {
            Some((name, _)) => {
                self.taken.push(name.clone());
                Ok(self)
            }
            None => {
                let what = "positions choose from arrays, and the program has no such input".to_owned();
                Err(NotTranslated::Fixed { name: input.to_owned(), what })
            }
        }
    }

    /// The program as it is translated: fixed inputs are literals. It is not for running: its layout is that of all inputs.
    pub(crate) fn translated(&self) -> Program {
        let mut routines = self.program.routines().to_vec();
        for (name, value) in &self.fixed {
            let main = &mut routines[0];
            let place = main.inputs.iter().position(|(known, _)| known == name);
            let (_, input) = main.inputs.remove(place.expect("it was looked up when it was fixed"));
            main.literals.push((input, value.clone()));
        }
        Program::new(routines)
    }

    /// The function's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The inputs that are part of the program, by number, with their values; the lowest number first.
    pub(super) fn fixed_inputs(&self) -> Vec<(usize, String)> {
        let of_input = |(name, value): &(Arc<str>, Value)| (self.number(name), text::print_value(value));
        let mut fixed: Vec<(usize, String)> = self.fixed.iter().map(of_input).collect();
        fixed.sort();
        fixed
    }

    /// The value of an input that is part of the program.
    pub(super) fn fixed_value(&self, input: &str) -> Option<&Value> {
        self.fixed.iter().find(|(name, _)| **name == *input).map(|(_, value)| value)
    }

    /// The place of an input among all.
    fn number(&self, name: &Arc<str>) -> usize {
        let inputs = &self.program.main().inputs;
        inputs.iter().position(|(known, _)| known == name).unwrap_or_default()
    }

    /// How all arrays stand in memory.
    pub fn layout(&self) -> ArrayLayout {
        self.layout
    }

    /// What a library of the program looks like from outside.
    pub fn signature(&self) -> Signature {
        let main = self.program.main();
        let is_taken = |name: &Arc<str>| !self.fixed.iter().any(|(fixed, _)| fixed == name);
        let parameter = |(name, value): &(Arc<str>, _)| Parameter {
            name: name.to_string(),
            qtype: main.slot(*value).qtype().clone(),
            is_updated: main.updated_inputs.contains(value),
            is_contiguous: self.layout == ArrayLayout::Contiguous,
            is_taken: self.taken.iter().any(|taken| taken == name),
        };
        let side = main.side_outputs.iter().map(|(name, value)| (name.to_string(), *value));
        let results = std::iter::once(("result".to_owned(), main.output)).chain(side);
        Signature {
            parameters: main.inputs.iter().filter(|(name, _)| is_taken(name)).map(parameter).collect(),
            results: results.map(|(name, value)| (name, main.slot(value).qtype().clone())).collect(),
            has_contiguous_results: self.layout == ArrayLayout::Contiguous,
        }
    }
}

/// The program without names and places of its text, the layout, what is fixed or taken, and the name of the function.
impl Fingerprint for ProgramCall {
    fn feed(&self, to: &mut Fingerprinter) {
        let (layout, fixed) = (self.layout as u8, self.fixed_inputs());
        let mut taken: Vec<usize> = self.taken.iter().map(|name| self.number(name)).collect();
        taken.sort_unstable();
        to.group(
            "ProgramCall",
            &[&self.name, &text::print(&anonymous(&self.program)), &layout, &fixed, &taken],
        );
    }
}

/// True if a routine calls the first one.
fn calls_main(program: &Program) -> bool {
    let instructions = program.routines().iter().flat_map(|routine| routine.body.instructions());
    instructions.into_iter().any(|instruction| matches!(instruction, Instruction::Call { routine: 0, .. }))
}

/// The same program with numbers for names, and without places of its text.
pub fn anonymous(program: &Program) -> Program {
    let numbered = |list: &[(Arc<str>, _)]| {
        list.iter().enumerate().map(|(number, (_, value))| (number.to_string().into(), *value)).collect()
    };
    let routine = |routine: &Routine| {
        let mut routine = routine.clone();
        (routine.inputs, routine.side_outputs) = (numbered(&routine.inputs), numbered(&routine.side_outputs));
        routine.body.replace_spans(Default::default());
        routine
    };
    Program::new(program.routines().iter().map(routine).collect())
}

/// A language that sources are written in. It is a type, so that a source cannot meet the compiler of another language.
pub trait Language: 'static {
    /// Its name for people.
    const NAME: &'static str;
    /// The ending of source files, such as `c`.
    const EXTENSION: &'static str;
    /// The usual formatter and its arguments: from standard input to standard output.
    const FORMATTER: &'static [&'static str];
    /// A comment of one line.
    fn comment(text: &str) -> String;
}

/// C11.
#[derive(Clone, Copy, Debug)]
pub enum C {}

impl Language for C {
    const NAME: &'static str = "C";
    const EXTENSION: &'static str = "c";
    const FORMATTER: &'static [&'static str] = &["clang-format", "--assume-filename=x.c"];

    fn comment(text: &str) -> String {
        format!("/* {} */", text.replace("*/", "* /"))
    }
}

/// Rust, of the edition 2021.
#[derive(Clone, Copy, Debug)]
pub enum Rust {}

impl Language for Rust {
    const NAME: &'static str = "Rust";
    const EXTENSION: &'static str = "rs";
    const FORMATTER: &'static [&'static str] = &["rustfmt", "--edition=2021"];

    fn comment(text: &str) -> String {
        C::comment(text)
    }
}

/// A source, and how it wants to be called.
pub struct ProgramSource<L> {
    /// The name of its function.
    pub entry: String,
    /// What the function takes and gives.
    pub signature: Signature,
    /// The program in its stored form.
    pub program: String,
    /// The text.
    pub text: String,
    /// Libraries that it is linked with, such as `m`.
    pub dependencies: Vec<String>,
    language: PhantomData<fn() -> L>,
}

impl<L> ProgramSource<L> {
    /// The source of a program, in the language.
    pub fn new(call: &ProgramCall, text: String, dependencies: Vec<String>) -> Self {
        let (entry, signature) = (call.name.clone(), call.signature());
        let program = text::print(&call.program);
        ProgramSource { entry, signature, program, text, dependencies, language: PhantomData }
    }
}

impl<L> Clone for ProgramSource<L> {
    fn clone(&self) -> Self {
        let ProgramSource { entry, signature, program, text, dependencies, language } = self;
        ProgramSource {
            entry: entry.clone(),
            signature: signature.clone(),
            program: program.clone(),
            text: text.clone(),
            dependencies: dependencies.clone(),
            language: *language,
        }
    }
}

impl<L: Language> fmt::Debug for ProgramSource<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramSource({}, {} bytes of {})", self.entry, self.text.len(), L::EXTENSION)
    }
}

impl<L> Artifact for ProgramSource<L> {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        vec![(step, self.text.clone())]
    }
}

/// A source with what others call it by.
pub struct CompilableSource<L> {
    /// The source.
    pub source: ProgramSource<L>,
    /// Further files: their names and contents. None is needed to compile the source.
    pub bindings: Vec<(String, String)>,
}

impl<L> Clone for CompilableSource<L> {
    fn clone(&self) -> Self {
        CompilableSource { source: self.source.clone(), bindings: self.bindings.clone() }
    }
}

impl<L: Language> fmt::Debug for CompilableSource<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.bindings.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "CompilableSource({:?}, {names:?})", self.source)
    }
}

/// The further files: the source is that of the step before.
impl<L> Artifact for CompilableSource<L> {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        let files = self.bindings.iter().map(|(name, text)| file_text(name, text));
        vec![(step, files.collect())]
    }
}

/// A file among others in one text.
pub(crate) fn file_text(name: &str, text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("file {name}\n\n{text}{end}\n")
}

/// Words of C, and names of its library that a function of the same name would take the place of.
const TAKEN: &str = "auto break case char const continue default do double else enum extern float for goto if inline int \
    long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while \
    asm typeof main abort abs access acos acosh alarm asin asinh atan atan2 atanh atexit atof atoi atol bsearch calloc cbrt \
    ceil close connect copysign cos cosh div dup environ erf erfc errno exit exp exp2 expm1 fabs fclose fdim ferror fflush \
    fgets floor fma fmax fmin fmod fopen fork fprintf fputs fread free frexp fscanf fseek ftell fwrite gamma getc getenv \
    getpid hypot index ioctl isatty j0 j1 jn kill labs ldexp lgamma link listen log log10 log1p log2 logb longjmp lrint \
    lround lseek malloc memchr memcmp memcpy memmove memset mmap modf nan nearbyint open pause perror pipe poll pow printf \
    putc putchar puts qsort raise rand read realloc recv remainder remove rename rindex rint round scalbn scanf select send \
    setjmp signal significand sin sinh sleep snprintf socket sprintf sqrt srand stat stderr stdin stdout strcat strchr \
    strcmp strcpy strlen strncmp strncpy strstr strtod strtol system sync tan tanh tgamma time times trunc umask unlink \
    wait write y0 y1 yn";

/// True for an identifier that can name a function of a library.
fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_taken = TAKEN.split_whitespace().any(|taken| taken == name);
    begins && name.len() <= 200 && name.chars().all(is_word) && !is_taken
}

/// True for types that cross the boundary of a library: plain values, and arrays as arguments.
pub(crate) fn is_plain(qtype: &QType) -> bool {
    match qtype {
        QType::Scalar(scalar) | QType::Optional(scalar) => scalar.is_plain(),
        QType::ArrayShape(_) => true,
        QType::Tuple(tuple) => tuple.fields().iter().all(is_plain),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_a_version_and_a_digest_of_sources() {
        let (version, digest) = ENGINE.split_once('+').expect("both");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        assert!(digest.len() == 16 && digest.chars().all(|digit| digit.is_ascii_hexdigit()), "{digest}");
    }
}
