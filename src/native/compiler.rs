//! Compilers: which one there is, and what it is asked to do.
//!
//! ```text
//! named, CEMBRA_CC, CC, cc, clang, gcc     the first that runs
//! cc --version, cc -march=native -dM -E    what it is, and what it takes the processor for: parts of keys
//! cc FLAGS -shared -o libNAME.so NAME.c    in the build folder, within a time limit; all it prints goes to build.log
//! ```
//!
//! What differs between languages is in [`CompiledLanguage`].

use crate::native::build_system::{BuildJob, BuildSystem, Direct};
use crate::native::compiler_file::{environment, file_identity, program_of};
use crate::native::error::NativeError;
use crate::native::files::shown;
use crate::native::folder::{Artifact, BUILD_LOG, BuildFolder, BuildState, PROGRAM_TXT, remove};
use crate::native::process::{Ended, MOST_PRINTED, finished};
use crate::native::stage::{C, CompilableSource, Language, Rust};
use crate::workflow::{Fingerprint, Fingerprinter, Step, StepKey};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a compiler may take by default.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(120);
/// What a question to a compiler may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const LONGEST_ANSWER: u64 = 4 << 20;
/// Bytes of a log that an error carries.
const LONGEST_LOG: u64 = 16 << 10;
/// Bytes of a log that are kept.
const LONGEST_KEPT: u64 = 1 << 20;

/// A language with compilers.
pub trait CompiledLanguage: Language + Clone + std::fmt::Debug {
    /// What a step that compiles is called in keys.
    const STEP: &'static str;
    /// Variables that name a compiler, the first one that is set.
    const VARIABLES: &'static [&'static str];
    /// Names of compilers, the first one that there is being taken.
    const NAMES: &'static [&'static str];
    /// True if the program that is called is the compiler, or calls the same one as long as it stays the same.
    const IS_ITSELF: bool;
    /// Questions for the program that compiles, and where that is below the answer; the first one that leads to a program.
    const BEHIND: &'static [(&'static [&'static str], &'static str)];
    /// The question what it takes the processor for.
    const TARGET: &'static [&'static str];
    /// Optimised for this processor. Nothing is contracted or reordered: values are those of the interpreter.
    const FLAGS: &'static [&'static str];
    /// Of these the one that forbids to round a product and a sum once, and the one that allows it.
    const CONTRACTION: Option<(&'static str, &'static str)>;
    /// What to do without a compiler.
    const HINT: &'static str;

    /// What follows the flags: sources become a library, linked with others.
    fn arguments(sources: &[PathBuf], library: &Path, dependencies: &[String]) -> Vec<String>;
}

impl CompiledLanguage for C {
    const STEP: &'static str = "CompileC";
    const VARIABLES: &'static [&'static str] = &["CEMBRA_CC", "CC"];
    const NAMES: &'static [&'static str] = &["cc", "clang", "gcc"];
    const IS_ITSELF: bool = true;
    const BEHIND: &'static [(&'static [&'static str], &'static str)] =
        &[(&["-print-prog-name=cc1"], ""), (&["-print-prog-name=clang"], "")];
    const TARGET: &'static [&'static str] = &["-march=native", "-dM", "-E", "-x", "c", "/dev/null"];
    const FLAGS: &'static [&'static str] = &[
        "-std=gnu11",
        "-O3",
        "-march=native",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fPIC",
        "-w",
    ];
    const CONTRACTION: Option<(&'static str, &'static str)> =
        Some(("-ffp-contract=off", "-ffp-contract=fast"));
    const HINT: &'static str = "install gcc or clang, or name one by CEMBRA_CC";

    fn arguments(sources: &[PathBuf], library: &Path, dependencies: &[String]) -> Vec<String> {
        let mut arguments =
            vec!["-shared".to_owned(), "-o".to_owned(), library.to_string_lossy().into_owned()];
        arguments.extend(sources.iter().map(|path| path.to_string_lossy().into_owned()));
        arguments.extend(dependencies.iter().map(|dependency| format!("-l{dependency}")));
        arguments
    }
}

impl CompiledLanguage for Rust {
    const STEP: &'static str = "CompileRust";
    const VARIABLES: &'static [&'static str] = &["CEMBRA_RUSTC", "RUSTC"];
    const NAMES: &'static [&'static str] = &["rustc"];
    // That of rustup chooses by folder and environment.
    const IS_ITSELF: bool = false;
    const BEHIND: &'static [(&'static [&'static str], &'static str)] =
        &[(&["--print", "sysroot"], "bin/rustc")];
    const TARGET: &'static [&'static str] = &["--print", "cfg", "-C", "target-cpu=native"];
    const FLAGS: &'static [&'static str] = &[
        "--edition=2021",
        "--crate-type=cdylib",
        "-Copt-level=3",
        "-Ctarget-cpu=native",
        "-Cpanic=abort",
        "-Cstrip=debuginfo",
    ];
    // Its compiler never does.
    const CONTRACTION: Option<(&'static str, &'static str)> = None;
    const HINT: &'static str = "install rustc, or name one by CEMBRA_RUSTC";

    fn arguments(sources: &[PathBuf], library: &Path, _: &[String]) -> Vec<String> {
        // One source is the root; it has the others as modules.
        let root = sources.first().map(|path| path.to_string_lossy().into_owned());
        let output = ["-o".to_owned(), library.to_string_lossy().into_owned()];
        output.into_iter().chain(root).collect()
    }
}

/// A compiler that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its program.
    pub path: PathBuf,
    /// The first line that it prints about itself.
    pub version: String,
    /// A digest of the macros that it defines for this processor.
    pub target: String,
    /// The program that compiles where that is another one.
    pub behind: Option<PathBuf>,
    /// Both programs with all links followed: paths, sizes, times, and digests of scripts; and variables of the environment that
    /// change what they make.
    pub files: Vec<String>,
}

impl Fingerprint for Compiler {
    fn feed(&self, to: &mut Fingerprinter) {
        let path = self.path.to_string_lossy().into_owned();
        to.group("Compiler", &[&path, &self.version, &self.target, &self.files]);
    }
}

impl Compiler {
    /// The compiler that is named, or the first of `CEMBRA_CC`, `CC`, cc, clang and gcc that runs. One that is named, by an
    /// argument or a variable, has no substitute.
    ///
    /// # Errors
    /// There is none.
    pub fn find(named: Option<&Path>) -> Result<Compiler, NativeError> {
        Compiler::find_for::<C>(named)
    }

    /// The compiler of a language: the one that is named, by an argument or a variable, or the first one that runs.
    ///
    /// # Errors
    /// There is none.
    pub fn find_for<L: CompiledLanguage>(named: Option<&Path>) -> Result<Compiler, NativeError> {
        if let Some(named) = preferred::<L>(named) {
            return Compiler::at_for::<L>(&named);
        }
        let mut tried = Vec::new();
        for name in L::NAMES {
            match Compiler::at_for::<L>(Path::new(name)) {
                Ok(compiler) => return Ok(compiler),
                Err(NativeError::NoCompiler { tried: this, .. }) => tried.push(this),
                Err(other) => return Err(other),
            }
        }
        Err(NativeError::NoCompiler { language: L::NAME, hint: L::HINT, tried: tried.join("; ") })
    }

    /// The C compiler of this name, along `PATH` if it is a plain one.
    ///
    /// # Errors
    /// It does not run.
    pub fn at(program: &Path) -> Result<Compiler, NativeError> {
        Compiler::at_for::<C>(program)
    }

    /// The same of a language.
    ///
    /// # Errors
    /// As [`Compiler::at`].
    pub fn at_for<L: CompiledLanguage>(program: &Path) -> Result<Compiler, NativeError> {
        let none = |why: String| NativeError::NoCompiler {
            language: L::NAME,
            hint: L::HINT,
            tried: format!("{}: {why}", program.display()),
        };
        let words = program.to_string_lossy();
        let hint =
            if words.contains(' ') { "not found; arguments are no part of its name" } else { "not found" };
        let path = found(program).ok_or_else(|| none(hint.to_owned()))?;
        let answer = |arguments: &[&str]| {
            let file = |error| none(format!("a temporary file for its answer: {error}"));
            let mut output = tempfile::tempfile().map_err(file)?;
            let copy = output.try_clone().map_err(file)?;
            let mut command = Command::new(&path);
            command.args(arguments).stdin(Stdio::null()).stdout(copy).stderr(Stdio::null());
            let question = arguments[0];
            match finished(command, &[&output], ANSWER_LIMIT).map_err(|error| none(error.to_string()))? {
                Ended::With(status) if status.success() => {}
                Ended::With(status) => return Err(none(format!("{question} gives {status}"))),
                Ended::OutOfTime => return Err(none(format!("{question} gives no answer"))),
                Ended::TooMuchPrinted => return Err(none(format!("{question} gives an answer without end"))),
            }
            let mut text = String::new();
            output
                .seek(SeekFrom::Start(0))
                .and_then(|_| output.take(LONGEST_ANSWER).read_to_string(&mut text))
                .map_err(|error| none(error.to_string()))?;
            Ok(text)
        };
        let version = answer(&["--version"])?.lines().next().unwrap_or_default().to_owned();
        let target = StepKey::of(&answer(L::TARGET)?).to_string()[..32].to_owned();
        let behind =
            L::BEHIND.iter().find_map(|(question, below)| program_of(&answer(question).ok()?, below));
        Ok(Compiler::of_answers(path, version, target, behind))
    }

    /// True if its files are those of which it said what it said.
    pub(super) fn is_unchanged(&self) -> bool {
        let Compiler { path, version, target, behind, .. } = self.clone();
        Compiler::of_answers(path, version, target, behind).files == self.files
    }

    /// A compiler that has said this, with its files as they are.
    pub(super) fn of_answers(
        path: PathBuf,
        version: String,
        target: String,
        behind: Option<PathBuf>,
    ) -> Compiler {
        let files = std::iter::once(&path).chain(&behind).map(|path| file_identity(path).unwrap_or_default());
        Compiler { files: files.chain(environment()).collect(), path, version, target, behind }
    }
}

/// The compiler that somebody named.
fn preferred<L: CompiledLanguage>(named: Option<&Path>) -> Option<PathBuf> {
    // An empty one is as good as none.
    let value = |name: &&str| std::env::var_os(name).filter(|value| !value.is_empty());
    let of_variable = || L::VARIABLES.iter().find_map(value).map(PathBuf::from);
    named.map(Path::to_owned).or_else(of_variable)
}

/// The file of the compiler that [`Compiler::find`] asks first.
pub(super) fn chosen<L: CompiledLanguage>(named: Option<&Path>) -> Option<PathBuf> {
    match preferred::<L>(named) {
        Some(named) => found(&named),
        None => L::NAMES.iter().find_map(|name| found(Path::new(name))),
    }
}

/// A program along `PATH`. Links are not followed: some programs look at the name that they are called by.
fn found(program: &Path) -> Option<PathBuf> {
    let absolute = |path: PathBuf| std::path::absolute(path).ok().filter(|path| path.is_file());
    if program.components().count() > 1 {
        return absolute(program.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    absolute(std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())?)
}

/// The step that compiles a source of a language in a folder, by a build system.
///
/// A source of another language does not meet it:
///
/// ```compile_fail,E0308
/// use cembra::native::{CompilableSource, CompileC, Rust};
/// use cembra::workflow::Step;
/// fn compiled(compile: &CompileC, source: CompilableSource<Rust>) {
///     let _ = compile.run(source);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct CompileSource<L, S = Direct> {
    compiler: Compiler,
    folder: PathBuf,
    flags: Vec<String>,
    time_limit: Duration,
    system: S,
    language: PhantomData<fn() -> L>,
}

/// Compiles C.
pub type CompileC<S = Direct> = CompileSource<C, S>;

/// Compiles Rust.
pub type CompileRust<S = Direct> = CompileSource<Rust, S>;

impl<L: CompiledLanguage> CompileSource<L> {
    /// Compiles in a folder that exists. What stands there under the names of the build is replaced.
    pub fn new(compiler: Compiler, folder: impl Into<PathBuf>) -> CompileSource<L> {
        let (folder, time_limit, language) = (folder.into(), TIME_LIMIT, PhantomData);
        let flags = L::FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        CompileSource { compiler, folder, flags, time_limit, system: Direct, language }
    }
}

impl<L: CompiledLanguage, S: BuildSystem> CompileSource<L, S> {
    /// The same by another build system.
    pub fn by<T: BuildSystem>(self, system: T) -> CompileSource<L, T> {
        let CompileSource { compiler, folder, flags, time_limit, language, .. } = self;
        CompileSource { compiler, folder, flags, time_limit, system, language }
    }

    /// The same with further flags behind the usual ones, such as `-g`.
    pub fn flag(mut self, flag: impl Into<String>) -> CompileSource<L, S> {
        self.flags.push(flag.into());
        self
    }

    /// The same where a product and the sum that it is added to may be rounded once, as the compiler likes: results are no longer
    /// those of the interpreter to the last bit, nor the same on all machines. Compilers of Rust never do it.
    pub fn contracting(mut self) -> CompileSource<L, S> {
        if let Some((forbidden, allowed)) = L::CONTRACTION {
            self.flags.iter_mut().filter(|flag| *flag == forbidden).for_each(|flag| allowed.clone_into(flag));
        }
        self
    }

    /// The same with another time limit; 120 s is the usual one.
    pub fn time_limit(mut self, limit: Duration) -> CompileSource<L, S> {
        self.time_limit = limit;
        self
    }

    /// The same in another folder.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> CompileSource<L, S> {
        self.folder = folder.into();
        self
    }

    /// The compiler.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Its flags.
    pub fn flags(&self) -> &[String] {
        &self.flags
    }

    /// Compiles sources of the folder to one library in it, linked with others.
    ///
    /// # Errors
    /// The compiler says no, or takes too long.
    pub fn link(
        &self,
        sources: &[PathBuf],
        library: &Path,
        dependencies: &[String],
    ) -> Result<(), NativeError> {
        self.make(self.configure(sources, library, dependencies)?, library)
    }

    /// The command that makes the library.
    fn configure(
        &self,
        sources: &[PathBuf],
        library: &Path,
        dependencies: &[String],
    ) -> Result<Command, NativeError> {
        let mut arguments = self.flags.clone();
        arguments.extend(L::arguments(sources, library, dependencies));
        let (folder, compiler) = (&*self.folder, &*self.compiler.path);
        self.system.command(&BuildJob { folder, compiler, library, sources, arguments })
    }

    /// Runs the command.
    fn make(&self, mut command: Command, library: &Path) -> Result<(), NativeError> {
        let (log_path, made) = (self.folder.join(BUILD_LOG), self.folder.join(library));
        remove(&made)?;
        let log = File::create(&log_path).map_err(|error| NativeError::file(&log_path, error))?;
        let copies = log.try_clone().and_then(|copy| Ok((copy, log.try_clone()?)));
        let (copy, other) = copies.map_err(|error| NativeError::file(&log_path, error))?;
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(copy).stderr(other);
        let compiler = self.compiler.path.clone();
        let ended = finished(command, &[&log], self.time_limit);
        let status = match ended.map_err(|error| NativeError::file(&compiler, error))? {
            Ended::With(status) if status.success() && made.is_file() => return shortened(&log_path),
            Ended::With(status) if status.success() => format!("{status}, and made no library"),
            Ended::With(status) => status.to_string(),
            Ended::TooMuchPrinted => format!("stopped, it printed more than {MOST_PRINTED} bytes"),
            Ended::OutOfTime => {
                return Err(NativeError::Time { compiler, seconds: self.time_limit.as_secs() });
            }
        };
        Err(NativeError::Compiler { compiler, status, log: end_of(&log_path) })
    }
}

/// Keeps the beginning of a long log.
fn shortened(path: &Path) -> Result<(), NativeError> {
    let shorten = || match std::fs::metadata(path)?.len() > LONGEST_KEPT {
        true => File::options().write(true).open(path)?.set_len(LONGEST_KEPT),
        false => Ok(()),
    };
    shorten().map_err(|error: std::io::Error| NativeError::file(path, error))
}

/// The end of a log.
fn end_of(path: &Path) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(LONGEST_LOG)))?;
        let mut bytes = Vec::new();
        file.take(LONGEST_LOG).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(shown(&String::from_utf8_lossy(&bytes), &['\n', '\t']))
    };
    read().unwrap_or_else(|error| format!("the log cannot be read: {error}"))
}

/// All that a library depends on besides its source; the folder is not part of it.
impl<L: CompiledLanguage, S: BuildSystem> Fingerprint for CompileSource<L, S> {
    fn feed(&self, to: &mut Fingerprinter) {
        to.group(L::STEP, &[&self.compiler, &self.flags, &self.system]);
    }
}

impl<L: CompiledLanguage, S: BuildSystem> Step<CompilableSource<L>> for CompileSource<L, S> {
    type Out = Artifact;
    type Err = NativeError;

    fn name(&self) -> &str {
        "compile"
    }

    fn run(&self, compilable: CompilableSource<L>) -> Result<Artifact, NativeError> {
        let source = &compilable.source;
        let mut folder = BuildFolder::begin(&self.folder, source)?;
        let file = format!("{}.{}", source.entry, L::EXTENSION);
        folder.write(PROGRAM_TXT, &source.program)?;
        folder.write(&file, &source.text)?;
        for (name, text) in &compilable.bindings {
            folder.write(name, text)?;
        }
        folder.reach(BuildState::Initialized)?;
        let library = format!("lib{}.so", source.entry);
        let command = self.configure(&[file.into()], Path::new(&library), &source.dependencies)?;
        for name in self.system.files() {
            folder.note(name)?;
        }
        folder.reach(BuildState::Configured)?;
        self.make(command, Path::new(&library))?;
        folder.compiled(&library)
    }
}
