//! Compilers of C: which one there is, and what it is asked to do.
//!
//! ```text
//! named, CEMBRA_CC, CC, cc, clang, gcc     the first that runs
//! cc --version, cc -march=native -dM -E    what it is, and what it takes the processor for: parts of keys
//! cc FLAGS -shared -o libNAME.so NAME.c    in the build folder, within a time limit; all it prints goes to build.log
//! ```

use crate::native::build_system::{BuildJob, BuildSystem, Direct};
use crate::native::error::NativeError;
use crate::native::folder::{Artifact, BUILD_LOG};
use crate::native::stage::{C, CompilableSource, Language};
use crate::workflow::{Fingerprint, Fingerprinter, Step, StepKey};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a compiler may take by default.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// What a question to a compiler may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of a log that an error carries.
const LONGEST_LOG: u64 = 16 << 10;

/// Optimised for this processor. Nothing is contracted or reordered: values are those of the interpreter.
const FLAGS: [&str; 8] = [
    "-std=gnu11",
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-w",
];

/// A compiler that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its program.
    pub path: PathBuf,
    /// The first line that it prints about itself.
    pub version: String,
    /// A digest of the macros that it defines for this processor.
    pub target: String,
}

impl Fingerprint for Compiler {
    fn feed(&self, to: &mut Fingerprinter) {
        let path = self.path.to_string_lossy().into_owned();
        to.group("Compiler", &[&path, &self.version, &self.target]);
    }
}

impl Compiler {
    /// The compiler that is named, or the first of `CEMBRA_CC`, `CC`, cc, clang and gcc that runs. One that is named, by an
    /// argument or a variable, has no substitute.
    ///
    /// # Errors
    /// There is none.
    pub fn find(named: Option<&Path>) -> Result<Compiler, NativeError> {
        if let Some(named) = preferred(named) {
            return Compiler::at(&named);
        }
        let mut tried = Vec::new();
        for name in NAMES {
            match Compiler::at(Path::new(name)) {
                Ok(compiler) => return Ok(compiler),
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(NativeError::NoCompiler { tried: tried.join("; ") })
    }

    /// The compiler of this name, along `PATH` if it is a plain one.
    ///
    /// # Errors
    /// It does not run.
    pub fn at(program: &Path) -> Result<Compiler, NativeError> {
        let none = |why: String| NativeError::NoCompiler { tried: format!("{}: {why}", program.display()) };
        let path = found(program).ok_or_else(|| none("not found".to_owned()))?;
        let answer = |arguments: &[&str]| {
            let mut output = tempfile::tempfile().map_err(|error| none(error.to_string()))?;
            let copy = output.try_clone().map_err(|error| none(error.to_string()))?;
            let mut command = Command::new(&path);
            command.args(arguments).stdin(Stdio::null()).stdout(copy).stderr(Stdio::null());
            match finished(command, ANSWER_LIMIT).map_err(|error| none(error.to_string()))? {
                Some(status) if status.success() => {}
                Some(status) => return Err(none(format!("{} gives {status}", arguments[0]))),
                None => return Err(none(format!("{} gives no answer", arguments[0]))),
            }
            let mut text = String::new();
            output
                .seek(SeekFrom::Start(0))
                .and_then(|_| output.read_to_string(&mut text))
                .map_err(|error| none(error.to_string()))?;
            Ok(text)
        };
        let version = answer(&["--version"])?.lines().next().unwrap_or_default().to_owned();
        let macros = answer(&["-march=native", "-dM", "-E", "-x", "c", "/dev/null"])?;
        let target = StepKey::of(&macros).to_string()[..32].to_owned();
        Ok(Compiler { path, version, target })
    }
}

/// Names of compilers, the first one that there is being taken.
const NAMES: [&str; 3] = ["cc", "clang", "gcc"];

/// The compiler that somebody named.
fn preferred(named: Option<&Path>) -> Option<PathBuf> {
    let of_variable = || ["CEMBRA_CC", "CC"].into_iter().find_map(std::env::var_os).map(PathBuf::from);
    named.map(Path::to_owned).or_else(of_variable)
}

/// The file of the compiler that [`Compiler::find`] asks first.
pub(super) fn chosen(named: Option<&Path>) -> Option<PathBuf> {
    match preferred(named) {
        Some(named) => found(&named),
        None => NAMES.iter().find_map(|name| found(Path::new(name))),
    }
}

/// A program along `PATH`, with all links followed.
fn found(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.canonicalize().ok();
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())?
        .canonicalize()
        .ok()
}

/// Runs a command to its end; `None` if it has not ended in time, and is stopped.
fn finished(mut command: Command, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let begin = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > limit {
            stop(&mut child);
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Stops a process and those that it has begun.
fn stop(child: &mut std::process::Child) {
    #[cfg(unix)]
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The step that compiles a C source in a folder, by a build system.
#[derive(Clone, Debug)]
pub struct CompileC<S = Direct> {
    compiler: Compiler,
    folder: PathBuf,
    flags: Vec<String>,
    time_limit: Duration,
    system: S,
}

impl CompileC {
    /// Compiles in a folder that exists. What stands there under the names of the build is replaced.
    pub fn new(compiler: Compiler, folder: impl Into<PathBuf>) -> CompileC {
        let flags = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        CompileC { compiler, folder: folder.into(), flags, time_limit: TIME_LIMIT, system: Direct }
    }
}

impl<S: BuildSystem> CompileC<S> {
    /// The same by another build system.
    pub fn by<T: BuildSystem>(self, system: T) -> CompileC<T> {
        let CompileC { compiler, folder, flags, time_limit, .. } = self;
        CompileC { compiler, folder, flags, time_limit, system }
    }

    /// The same with further flags behind the usual ones, such as `-g`.
    pub fn flag(mut self, flag: impl Into<String>) -> CompileC<S> {
        self.flags.push(flag.into());
        self
    }

    /// The same with another time limit; 120 s is the usual one.
    pub fn time_limit(mut self, limit: Duration) -> CompileC<S> {
        self.time_limit = limit;
        self
    }

    /// The same in another folder.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> CompileC<S> {
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
        let log_path = self.folder.join(BUILD_LOG);
        let mut arguments = self.flags.clone();
        arguments.extend(["-shared".to_owned(), "-o".to_owned(), library.to_string_lossy().into_owned()]);
        arguments.extend(sources.iter().map(|path| path.to_string_lossy().into_owned()));
        arguments.extend(dependencies.iter().map(|dependency| format!("-l{dependency}")));
        let job =
            BuildJob { folder: &self.folder, compiler: &self.compiler.path, library, sources, arguments };
        let mut command = self.system.command(&job)?;
        let log = File::create(&log_path).map_err(|error| NativeError::file(&log_path, error))?;
        let copy = log.try_clone().map_err(|error| NativeError::file(&log_path, error))?;
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(copy).stderr(log);
        let compiler = self.compiler.path.clone();
        let status =
            finished(command, self.time_limit).map_err(|error| NativeError::file(&compiler, error))?;
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let log = end_of(&log_path);
                Err(NativeError::Compiler { compiler, status: status.to_string(), log })
            }
            None => Err(NativeError::Time { compiler, seconds: self.time_limit.as_secs() }),
        }
    }
}

/// The end of a log.
fn end_of(path: &Path) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(LONGEST_LOG)))?;
        let mut bytes = Vec::new();
        file.take(LONGEST_LOG).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_else(|error| format!("the log cannot be read: {error}"))
}

/// All that a library depends on besides its source; the folder is not part of it.
impl<S: BuildSystem> Fingerprint for CompileC<S> {
    fn feed(&self, to: &mut Fingerprinter) {
        to.group("CompileC", &[&self.compiler, &self.flags, &self.system]);
    }
}

impl<S: BuildSystem> Step<CompilableSource<C>> for CompileC<S> {
    type Out = Artifact;
    type Err = NativeError;

    fn name(&self) -> &str {
        "compile"
    }

    fn run(&self, compilable: CompilableSource<C>) -> Result<Artifact, NativeError> {
        let source = &compilable.source;
        let file = format!("{}.{}", source.entry, C::EXTENSION);
        let bindings = compilable.bindings.iter().map(|(name, text)| (name.clone(), text));
        for (name, text) in std::iter::once((file.clone(), &source.text)).chain(bindings) {
            let path = self.folder.join(name);
            std::fs::write(&path, text).map_err(|error| NativeError::file(&path, error))?;
        }
        let library = format!("lib{}.so", source.entry);
        self.link(&[file.into()], Path::new(&library), &source.dependencies)?;
        Artifact::note(&self.folder, &library, source)
    }
}
