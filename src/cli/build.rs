//! `cembra build`: functions and programs as a library for C and Python. `cembra cache`: the builds of other commands.

use crate::cli::build_args::{BuildArgs, CacheCommand, LayoutArg};
use crate::cli::dump_stages::StageDump;
use crate::cli::eval::read_source;
use crate::cli::export::{Export, leaf_type};
use crate::cli::float_mode_arg::FloatModeArg;
use crate::cli::function_call::{options, report};
use crate::cli::report::{Phase, Report, Source};
use crate::cli::tier_arg::SourceArg;
use crate::cli::{complain, print};
use crate::compile::{Options, compile};
use crate::expr::graph::DEFAULT_NODE_LIMIT;
use crate::function::{FunctionModule, compile_function};
use crate::native::bindings::module;
use crate::native::cache::{self, default_root};
use crate::native::folder::{BUILD_LOG, remove};
use crate::native::made::verify;
use crate::native::stage::file_text;
use crate::native::{
    ArrayLayout, C, CompileSource, CompiledLanguage, Compiler, Format, NativeError, NotTranslated,
    ProgramCall, ProgramSource, Rust, Scripted, TranslateToC, TranslateToRust, c::header, rust::root_of,
};
use crate::prepare::{Prepare, RuleSet, Source as Preparation};
use crate::registry::{Dialect, Registry};
use crate::syntax::parse;
use crate::workflow::Step;
use cembra_vm::builtins::table;
use cembra_vm::program::dump::dump as dump_program;
use cembra_vm::program::{Program, text};
use cembra_vm::value::{Category, QType};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

type Failed = (Vec<Report>, Option<Source>);

/// Translates a program, which may be made of a text.
type Translate<L> = fn(ProgramCall, Option<&str>) -> Result<ProgramSource<L>, NotTranslated>;

/// A file besides the sources, by its name, of which they are parts.
type Root<L> = fn(&str, &[ProgramSource<L>]) -> Option<(String, String)>;

fn to_c(call: ProgramCall, text: Option<&str>) -> Result<ProgramSource<C>, NotTranslated> {
    text.map_or_else(TranslateToC::default, TranslateToC::with_lines_of).run(call)
}

fn to_rust(call: ProgramCall, _: Option<&str>) -> Result<ProgramSource<Rust>, NotTranslated> {
    TranslateToRust.run(call)
}

/// Several sources of Rust are modules. No function begins like the name of the root.
fn rust_root(name: &str, sources: &[ProgramSource<Rust>]) -> Option<(String, String)> {
    let entries = sources.iter().map(|source| source.entry.as_str());
    (sources.len() > 1).then(|| (format!("_{name}.rs"), root_of(entries)))
}

/// Builds a library.
pub fn run(args: &BuildArgs) -> ExitCode {
    let built = |dump: &StageDump| match args.backend {
        SourceArg::C => built::<C>(args, to_c, |_, _| None, dump),
        SourceArg::Rust => built::<Rust>(args, to_rust, rust_root, dump),
    };
    let of_dump = |report| (vec![report], None);
    let dump = StageDump::open(args.dump_stages.as_deref()).map_err(of_dump);
    let built = dump.and_then(|dump| {
        let text = built(&dump)?;
        dump.finish().map_err(of_dump)?;
        Ok(text)
    });
    match built {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err((reports, source)) => {
            reports.iter().for_each(|report| complain(&report.render(source.as_ref(), true)));
            ExitCode::from(1)
        }
    }
}

fn built<L: CompiledLanguage>(
    args: &BuildArgs,
    translate: Translate<L>,
    root: Root<L>,
    dump: &StageDump,
) -> Result<String, Failed> {
    let sources = sources(args, translate, dump)?;
    let Some(first) = sources.first() else {
        return Err(usage(
            "no function to build: name one by --export 'FUNCTION(TYPES)', or --expr 'NAME=EXPR'",
        ));
    };
    let name = args.name.clone().unwrap_or_else(|| first.entry.clone());
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(usage(&format!("--name {name:?}: use letters, digits and _")));
    }
    let mut target = Target::open(&args.out, &args.files).map_err(|error| native(&error))?;
    match write_all(args, &mut target, &name, (&sources, root), dump) {
        Ok(()) => {
            Ok(target.written.iter().map(|file| format!("{}\n", args.out.join(file).display())).collect())
        }
        Err(error) => {
            target.remove_all();
            Err(native(&error))
        }
    }
}

/// The folder of a build, and the files of the build.
struct Target {
    folder: PathBuf,
    is_new: bool,
    /// The files that are read, which are never written.
    sources: Vec<PathBuf>,
    written: Vec<String>,
}

impl Target {
    fn open(folder: &Path, sources: &[PathBuf]) -> Result<Target, NativeError> {
        let is_new = !folder.exists();
        let made = std::fs::create_dir_all(folder).and_then(|()| folder.canonicalize());
        let made = made.map_err(|error| NativeError::file(folder, error))?;
        let sources = sources.iter().filter_map(|source| source.canonicalize().ok()).collect();
        Ok(Target { folder: made, is_new, sources, written: Vec::new() })
    }

    fn write(&mut self, file: String, text: &str) -> Result<(), NativeError> {
        let path = self.folder.join(&file);
        if path.canonicalize().is_ok_and(|path| self.sources.contains(&path)) {
            let what = "this is a source of the build: choose another folder by --out, or another --name";
            return Err(NativeError::file(&path, what));
        }
        self.written.push(file);
        std::fs::write(&path, text).map_err(|error| NativeError::file(&path, error))
    }

    /// Nothing is left of a build that has failed, as far as that goes.
    fn remove_all(&self) {
        for file in self.written.iter().map(String::as_str).chain([BUILD_LOG]) {
            let _ = remove(&self.folder.join(file));
        }
        if self.is_new {
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

/// Writes all files of a build, and makes the library.
fn write_all<L: CompiledLanguage>(
    args: &BuildArgs,
    target: &mut Target,
    name: &str,
    (sources, root): (&[ProgramSource<L>], Root<L>),
    dump: &StageDump,
) -> Result<(), NativeError> {
    // No module is beside the library of another build, whatever comes between.
    let library = format!("lib{name}.so");
    remove(&target.folder.join(&library))?;
    let file_of = |source: &ProgramSource<L>| format!("{}.{}", source.entry, L::EXTENSION);
    let mut headers = String::new();
    for source in sources {
        target.write(file_of(source), &source.text)?;
        headers += &header(&source.entry, &source.signature)?;
        headers.push('\n');
    }
    let root = root(name, sources);
    if let Some((file, text)) = &root {
        target.write(file.clone(), text)?;
    }
    let functions = sources.iter().map(|source| (source.entry.as_str(), &source.signature));
    let bindings = [(format!("{name}.h"), headers), (format!("{name}.py"), module(&library, functions))];
    dump.write("bind", || bindings.iter().map(|(file, text)| file_text(file, text)).collect());
    for (file, text) in bindings {
        target.write(file, &text)?;
    }
    if args.source_only {
        return Ok(());
    }
    let compiler = Compiler::find_for::<L>(args.compiler.as_deref())?;
    let mut compile = CompileSource::<L>::new(compiler.clone(), &target.folder);
    if args.debug {
        compile = compile.flag("-g");
    }
    if args.float_mode == FloatModeArg::Contract {
        compile = compile.contracting();
    }
    let files: Vec<PathBuf> = root
        .into_iter()
        .map(|(file, _)| file)
        .chain(sources.iter().map(file_of))
        .map(PathBuf::from)
        .collect();
    let (library_file, dependencies) = (Path::new(&library), &sources[0].dependencies);
    if args.makefile {
        target.written.extend(["build.sh", "Makefile"].map(str::to_owned));
    }
    target.written.push(library.clone());
    let linked = match args.makefile {
        true => compile.by(Scripted).link(&files, library_file, dependencies),
        false => compile.link(&files, library_file, dependencies),
    };
    let log = std::fs::read_to_string(target.folder.join(BUILD_LOG)).unwrap_or_default();
    dump.write("compile", || file_text(BUILD_LOG, &log));
    linked?;
    let made = target.folder.join(&library);
    sources.iter().try_for_each(|source| verify(&made, &compiler.path, &source.entry, &source.signature))
}

/// The sources of all functions and programs.
fn sources<L: CompiledLanguage>(
    args: &BuildArgs,
    translate: Translate<L>,
    dump: &StageDump,
) -> Result<Vec<ProgramSource<L>>, Failed> {
    let exports: Result<Vec<Export>, String> = args.exports.iter().map(|text| Export::parse(text)).collect();
    let exports = exports.map_err(|message| usage(&message))?;
    let mut is_found = vec![false; exports.len()];
    let mut all: Vec<ProgramSource<L>> = Vec::new();
    let translated = |name: &str, program: Program, text: Option<&str>| {
        let failed = |error: NotTranslated| native(&error.into());
        let call = ProgramCall::new(name, Arc::new(program), layout(args)).map_err(failed)?;
        dump.write(&format!("program {name}"), || dump_program(call.program()));
        let mut source = translate(call, text).map_err(failed)?;
        if args.format {
            source = Format::usual::<L>().run(source).map_err(|error| native(&error))?;
        }
        dump.write(&format!("translate {name}"), || source.text.clone());
        Ok(source)
    };
    for file in &args.files {
        let source = read_source(file).map_err(|report| (vec![report], None))?;
        if source.text.starts_with("cembra-program ") {
            let program = text::parse(&source.text, &table()).map_err(|error| {
                (vec![Report::new(Category::InvalidProgram, Phase::Compile, error.to_string())], None)
            })?;
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            all.push(translated(stem, program, None)?);
            continue;
        }
        let failed = |errors: Vec<crate::function::FunctionError>| {
            let reports = errors.iter().map(report).collect();
            (reports, Some(Source { name: source.name.clone(), text: source.text.clone() }))
        };
        let module = FunctionModule::parse(&source.text).map_err(failed)?;
        for (export, is_found) in exports.iter().zip(&mut is_found) {
            if *is_found || !module.function_names().any(|name| name == export.function) {
                continue;
            }
            *is_found = true;
            let types = export.types.clone();
            let compiled = compile_function(&module, &export.function, &types, &options(&args.semantics));
            let bound = compiled.map_err(failed)?.into_bound();
            all.push(translated(&export.function, (**bound.program()).clone(), Some(&source.text))?);
        }
    }
    if let Some(number) = is_found.iter().position(|found| !found) {
        return Err(usage(&format!("no file has a function {}", exports[number].function)));
    }
    let mut leaves = Vec::new();
    for text in &args.types {
        leaves.push((leaf_type(text).map_err(|report| (vec![report], None))?, false));
    }
    for text in &args.expressions {
        let (name, program) = of_expression(text, &mut leaves, args.float_mode)?;
        all.push(translated(&name, program, None)?);
    }
    if let Some(((name, _), _)) = leaves.iter().find(|(_, is_read)| !is_read) {
        return Err(usage(&format!("--type of {name}: no expression has a leaf of this name")));
    }
    let mut names: Vec<&str> = all.iter().map(|source| source.entry.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(usage(&format!("two functions are called {}", pair[0]))),
        None => Ok(all),
    }
}

/// The name and the program of `NAME=EXPR`, for leaves of these types; marks those that it has.
fn of_expression(
    text: &str,
    types: &mut [((Arc<str>, QType), bool)],
    mode: FloatModeArg,
) -> Result<(String, Program), Failed> {
    let form = || usage(&format!("--expr {text:?} has not the form NAME=EXPR"));
    let (name, expression) = text.split_once('=').ok_or_else(form)?;
    let source = || Some(Source { name: "<expression>".to_owned(), text: expression.to_owned() });
    let failed = |report: Report| (vec![report], source());
    let expr = parse(expression).map_err(|error| failed(error.into()))?;
    let mut inputs = Vec::new();
    for leaf in expr.leaves() {
        let Some((input, is_read)) = types.iter_mut().find(|((name, _), _)| *name == leaf) else {
            let message = format!("the leaf {leaf} of --expr {text:?} has no type: add --type '{leaf}=f64'");
            return Err(usage(&message));
        };
        *is_read = true;
        inputs.push(input.clone());
    }
    let preparation = Preparation {
        expr: expr.clone(),
        inputs,
        side_outputs: Vec::new(),
        registry: Registry::standard(),
        dialect: Dialect::default(),
        node_limit: DEFAULT_NODE_LIMIT,
    };
    let prepared = Prepare::with_rules(mode.rules(RuleSet::strict()))
        .run(preparation)
        .map_err(|error| failed(error.into()))?;
    let bound = compile(&prepared, &Options::default()).map_err(|error| failed(error.into()))?;
    Ok((name.trim().to_owned(), (**bound.program()).clone()))
}

fn layout(args: &BuildArgs) -> ArrayLayout {
    match args.layout {
        LayoutArg::Contiguous => ArrayLayout::Contiguous,
        LayoutArg::Strided => ArrayLayout::Strided,
    }
}

fn usage(message: &str) -> Failed {
    (vec![Report::new(Category::Syntax, Phase::Compile, message.to_owned())], None)
}

fn native(error: &NativeError) -> Failed {
    let category = match error {
        NativeError::NotTranslated(_) => Category::Type,
        NativeError::Time { .. } => Category::DeadlineExceeded,
        _ => Category::Io,
    };
    (vec![Report::new(category, Phase::Compile, error.to_string())], None)
}

/// Lists, verifies or clears the cache of builds, or prints where it is.
pub fn run_cache(command: &CacheCommand) -> ExitCode {
    match cache_text(command) {
        Ok((text, is_sound)) => {
            print(&text);
            ExitCode::from(u8::from(!is_sound))
        }
        Err(error) => {
            native(&error).0.iter().for_each(|report| complain(&report.render(None, true)));
            ExitCode::from(1)
        }
    }
}

/// What a command prints, and whether all is as it should be.
fn cache_text(command: &CacheCommand) -> Result<(String, bool), NativeError> {
    let root = default_root()?;
    match command {
        CacheCommand::Path => Ok((format!("{}\n", root.display()), true)),
        CacheCommand::Clear => Ok((format!("{} builds removed\n", cache::clear(&root)?), true)),
        CacheCommand::List => {
            let line = |entry: cache::Entry| {
                let age = SystemTime::now().duration_since(entry.used).unwrap_or_default().as_secs();
                format!("{:>10} B  {:>8} s ago  {} {}\n", entry.size, age, entry.name, entry.types)
            };
            Ok((cache::entries(&root).into_iter().map(line).collect(), true))
        }
        CacheCommand::Verify => {
            let entries = cache::entries(&root);
            let line = |entry: &cache::Entry| {
                let damage = entry.damage.as_ref()?;
                Some(format!("damaged: {}: {damage}\n", entry.folder.display()))
            };
            let lines: Vec<String> = entries.iter().filter_map(line).collect();
            let sound = entries.len() - lines.len();
            Ok((
                format!("{}{sound} of {} builds are sound\n", lines.concat(), entries.len()),
                lines.is_empty(),
            ))
        }
    }
}
