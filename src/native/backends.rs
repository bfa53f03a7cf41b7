//! Backends by name: what makes a program that can be called.
//!
//! ```text
//! interpreter   the program itself, bound          every program, at once
//! c, rust       a library of a cache               programs that have a form in the language
//! …             what a host adds
//! ```
//!
//! A caller chooses by name, and may allow the interpreter where another backend has no form for a program or no compiler.

use crate::native::cache::NativeCache;
use crate::native::call::{NativeCallError, NativeResult, call_library};
use crate::native::error::NativeError;
use crate::native::observer::BuildObserver;
use crate::native::stage::ProgramCall;
use cembra_vm::library::{BoundaryError, Library, Signature};
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::ValueId;
use cembra_vm::value::Value;
use std::fmt::{self, Debug};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Makes programs that can be called.
pub trait ProgramCompiler: Debug + Send + Sync {
    /// The program, ready for calls; an observer is told of the stages of a build, if there are any.
    ///
    /// # Errors
    /// The backend has no form for the program, or cannot make one.
    fn compiled_observed(
        &self,
        call: &ProgramCall,
        observer: &dyn BuildObserver,
    ) -> Result<CompiledProgram, NativeError>;

    /// The program, ready for calls.
    ///
    /// # Errors
    /// As [`ProgramCompiler::compiled_observed`].
    fn compiled(&self, call: &ProgramCall) -> Result<CompiledProgram, NativeError> {
        self.compiled_observed(call, &())
    }
}

/// A program that can be called, whatever runs it.
#[derive(Clone, Debug)]
pub enum CompiledProgram {
    /// A library.
    Library(Library),
    /// The program itself.
    Interpreted(InterpretedProgram),
}

impl CompiledProgram {
    /// What it takes and gives.
    pub fn signature(&self) -> &Signature {
        match self {
            CompiledProgram::Library(library) => library.signature(),
            CompiledProgram::Interpreted(program) => &program.signature,
        }
    }

    /// Calls it with values, which stay as they are.
    ///
    /// # Errors
    /// Arguments that it does not take, and what it raises.
    pub fn call(&self, values: &[Value]) -> Result<NativeResult, NativeCallError> {
        match self {
            CompiledProgram::Library(library) => call_library(library, values),
            CompiledProgram::Interpreted(program) => program.call(values),
        }
    }
}

/// A program that the interpreter runs, with the signature of a library of it.
#[derive(Clone, Debug)]
pub struct InterpretedProgram {
    bound: Arc<BoundExpr>,
    signature: Signature,
    /// The inputs that it takes, in the order of the signature.
    taken: Vec<ValueId>,
    /// The inputs that are part of the program.
    fixed: Vec<(ValueId, Value)>,
}

impl InterpretedProgram {
    fn new(call: &ProgramCall) -> Result<InterpretedProgram, NativeError> {
        let bound = BoundExpr::new(call.program().clone())
            .map_err(|error| NativeError::NotBound { name: call.name().to_owned(), error })?;
        let (mut taken, mut fixed) = (Vec::new(), Vec::new());
        for (name, input) in &call.program().main().inputs {
            match call.fixed_value(name) {
                Some(value) => fixed.push((*input, value.clone())),
                None => taken.push(*input),
            }
        }
        Ok(InterpretedProgram { bound: Arc::new(bound), signature: call.signature(), taken, fixed })
    }

    fn call(&self, values: &[Value]) -> Result<NativeResult, NativeCallError> {
        let (expected, actual) = (self.taken.len(), values.len());
        if expected != actual {
            return Err(BoundaryError::Count { expected, actual }.into());
        }
        let main = self.bound.program().main();
        let mut frame = self.bound.new_frame()?;
        for (position, (input, value)) in self.taken.iter().zip(values).enumerate() {
            frame.write(main.slot(*input), value).map_err(|_| BoundaryError::Type {
                name: self.signature.parameters[position].name.clone(),
                expected: main.slot(*input).qtype().to_string(),
                actual: value.qtype().to_string(),
            })?;
        }
        for (input, value) in &self.fixed {
            frame.write(main.slot(*input), value)?;
        }
        self.bound.execute(&mut frame).map_err(|error| NativeCallError::Run(Box::new(error)))?;
        let outputs = std::iter::once(main.output).chain(main.side_outputs.iter().map(|(_, value)| *value));
        let results = outputs.map(|value| frame.read(main.slot(value))).collect::<Result<_, _>>()?;
        let is_array = |value: &Value| matches!(value, Value::NdArray(_));
        let of_arrays = self.taken.iter().zip(values).enumerate().filter(|(_, (_, value))| is_array(value));
        let read = |(position, (input, _)): (usize, (&ValueId, &Value))| {
            Ok::<_, NativeCallError>((position, frame.read(main.slot(*input))?))
        };
        Ok(NativeResult { results, arrays: of_arrays.map(read).collect::<Result<_, _>>()? })
    }
}

/// The backend that makes nothing: programs are run as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interpreter;

impl ProgramCompiler for Interpreter {
    fn compiled_observed(
        &self,
        call: &ProgramCall,
        _: &dyn BuildObserver,
    ) -> Result<CompiledProgram, NativeError> {
        InterpretedProgram::new(call).map(CompiledProgram::Interpreted)
    }
}

impl ProgramCompiler for NativeCache {
    fn compiled_observed(
        &self,
        call: &ProgramCall,
        observer: &dyn BuildObserver,
    ) -> Result<CompiledProgram, NativeError> {
        self.library_observed(call, observer).map(CompiledProgram::Library)
    }
}

/// A cache that is opened when it is first needed; where there is no compiler, it is looked for again.
struct CacheOnDemand {
    open: Box<OpenCache>,
    cache: OnceLock<NativeCache>,
}

/// Opens a cache.
type OpenCache = dyn Fn() -> Result<NativeCache, NativeError> + Send + Sync;

impl Debug for CacheOnDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheOnDemand({:?})", self.cache.get())
    }
}

impl ProgramCompiler for CacheOnDemand {
    fn compiled_observed(
        &self,
        call: &ProgramCall,
        observer: &dyn BuildObserver,
    ) -> Result<CompiledProgram, NativeError> {
        let cache = match self.cache.get() {
            Some(cache) => cache,
            None => {
                let cache = (self.open)()?;
                self.cache.get_or_init(|| cache)
            }
        };
        cache.compiled_observed(call, observer)
    }
}

/// Backends by their names.
#[derive(Clone, Debug, Default)]
pub struct Backends {
    named: Vec<(String, Arc<dyn ProgramCompiler>)>,
}

impl Backends {
    /// `interpreter`, `c` and `rust`, the latter two with a cache in a folder.
    pub fn standard(root: impl Into<PathBuf>) -> Backends {
        let root: PathBuf = root.into();
        let of_rust = root.clone();
        Backends::default()
            .with("interpreter", Interpreter)
            .with_cache("c", move || NativeCache::new(&root, None))
            .with_cache("rust", move || NativeCache::rust(&of_rust, None))
    }

    /// The same with the libraries of a cache, which is opened when it is first needed.
    pub fn with_cache(
        self,
        name: impl Into<String>,
        open: impl Fn() -> Result<NativeCache, NativeError> + Send + Sync + 'static,
    ) -> Backends {
        self.with(name, CacheOnDemand { open: Box::new(open), cache: OnceLock::new() })
    }

    /// The same with one more; one of the same name is replaced.
    pub fn with(mut self, name: impl Into<String>, backend: impl ProgramCompiler + 'static) -> Backends {
        let name = name.into();
        self.named.retain(|(known, _)| *known != name);
        self.named.push((name, Arc::new(backend)));
        self
    }

    /// The names, those added last at the end.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// A program by the backend of this name.
    ///
    /// # Errors
    /// There is none of this name, or it cannot make the program.
    pub fn compiled(&self, name: &str, call: &ProgramCall) -> Result<CompiledProgram, NativeError> {
        self.compiled_observed(name, call, &())
    }

    /// The same; an observer is told of the stages of a build.
    ///
    /// # Errors
    /// As [`Backends::compiled`].
    pub fn compiled_observed(
        &self,
        name: &str,
        call: &ProgramCall,
        observer: &dyn BuildObserver,
    ) -> Result<CompiledProgram, NativeError> {
        let found = self.named.iter().find(|(known, _)| known == name);
        let none = || NativeError::NoBackend {
            name: name.to_owned(),
            known: self.names().collect::<Vec<_>>().join(", "),
        };
        found.ok_or_else(none)?.1.compiled_observed(call, observer)
    }

    /// The same, by the interpreter if that fails; then with the reason.
    ///
    /// # Errors
    /// There is no backend of this name, or the interpreter does not take the program either.
    pub fn compiled_or_interpreted(
        &self,
        name: &str,
        call: &ProgramCall,
    ) -> Result<(CompiledProgram, Option<NativeError>), NativeError> {
        match self.compiled(name, call) {
            Ok(compiled) => Ok((compiled, None)),
            Err(error @ NativeError::NoBackend { .. }) => Err(error),
            Err(reason) => Ok((Interpreter.compiled(call)?, Some(reason))),
        }
    }
}
