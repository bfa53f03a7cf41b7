//! Compiled: the module of a program with the cells that its code asks for, as the machine runs it.

use crate::jit::emitter::redefined;
use crate::jit::error::{Interpreted, NotCompiled};
use crate::jit::places::variables_of_places;
use crate::jit::preserving::{Preserving, preserving};
use crate::jit::routine::translate;
use crate::machine::BoundExpr;
use crate::machine::parts::{RoutineParts, Step, parts};
use crate::machine::tier::{CompiledTier, Entry};
use crate::program::slot_check;
use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CompiledCode, Context, isa};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Mutex;

/// Instructions of a program that are compiled at most: a second of work.
const MOST_INSTRUCTIONS: usize = 100_000;

/// Variables with several definitions times instructions of a routine, at most: some 128 MB.
const MOST_DEFINITIONS: usize = 1 << 23;

/// Machine code of a program.
struct Compiled {
    /// Freed with this, and not touched before.
    module: Mutex<ManuallyDrop<JITModule>>,
    entries: Vec<Option<Entry>>,
    /// What the code refers to by address.
    parts: Vec<RoutineParts>,
}

/// Compiles a bound program, which runs as machine code from then on, also where it runs at the moment. Runs with an
/// observer go on stepping through the interpreter.
///
/// ```
/// # use cembra_vm::{machine::BoundExpr, jit};
/// # fn example(bound: &BoundExpr) {
/// if let Err(reason) = jit::compile(bound) {
///     eprintln!("not compiled: {reason}"); // it runs as before
/// }
/// # }
/// ```
///
/// # Errors
/// Why the program stays on the interpreter, as a whole.
pub fn compile(bound: &BoundExpr) -> Result<(), NotCompiled> {
    if bound.compiled_tier().is_some() {
        return Err(NotCompiled::Already);
    }
    let mut compiler = Compiler::new(bound)?;
    compiler.routines(&mut |_, _| {})?;
    let compiled = compiler.finish()?;
    bound.attach(Box::new(compiled)).map_err(|_| NotCompiled::Already)
}

/// The compiler for this processor.
/// The optimizer of the compiler places a value where it is first used, chain behind chain: programs without jumps, which
/// have their [order](crate::jit::order) and nothing that is computed twice, go without it.
fn target(has_jumps: bool) -> Result<OwnedTargetIsa, NotCompiled> {
    let refused = |reason: &dyn fmt::Display| NotCompiled::Processor { reason: reason.to_string() };
    let mut flags = settings::builder();
    let wanted = [
        ("opt_level", if has_jumps { "speed" } else { "none" }),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        // A large frame touches every page of the stack, so that it meets the guard page.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ];
    for (name, value) in wanted {
        flags.set(name, value).map_err(|error| refused(&error))?;
    }
    let builder: isa::Builder = cranelift_native::builder().map_err(|reason| refused(&reason))?;
    builder.finish(settings::Flags::new(flags)).map_err(|error| refused(&error))
}

/// Is told of each routine: its code, or why cells run it.
pub(super) type Tell<'t> = dyn FnMut(usize, Result<&CompiledCode, Interpreted>) + 't;

/// Makes the code of a program, routine by routine.
pub(super) struct Compiler<'b> {
    bound: &'b BoundExpr,
    /// Freed also where compiling ends early.
    compiled: Compiled,
    functions: Vec<Option<FuncId>>,
    rare: Preserving<FuncId>,
}

impl<'b> Compiler<'b> {
    /// # Errors
    /// The program is too large, or its slots are wrong; or there is no compiler for this processor.
    pub(super) fn new(bound: &'b BoundExpr) -> Result<Compiler<'b>, NotCompiled> {
        let instructions =
            bound.program().routines().iter().map(|routine| routine.body.instructions().len()).sum();
        if instructions > MOST_INSTRUCTIONS {
            return Err(NotCompiled::TooLarge { instructions, limit: MOST_INSTRUCTIONS });
        }
        slot_check::check(bound.program())?;
        let parts: Vec<RoutineParts> =
            (0..bound.program().routines().len()).map(|routine| parts(bound, routine)).collect();
        let has_jumps = parts.iter().any(|parts| parts.steps.contains(&Step::Jump));
        let builder = || target(has_jumps).map(|isa| JITBuilder::with_isa(isa, default_libcall_names()));
        let preserving = preserving(|| Ok(JITModule::new(builder()?)))?;
        let mut builder = builder()?;
        preserving.name(&mut builder);
        let mut module = JITModule::new(builder);
        let rare = Preserving::declare(&mut module)?;
        let module = Mutex::new(ManuallyDrop::new(module));
        let compiled = Compiled { module, entries: Vec::new(), parts };
        Ok(Compiler { bound, compiled, functions: Vec::new(), rare })
    }

    /// Compiles all routines that gain by it, the main one last: a call of a compiled routine is a gain. The interpreter
    /// runs routines with guards, and the pieces of parallel ones. Tells what became of each.
    ///
    /// # Errors
    /// Why the whole program stays on the interpreter.
    pub(super) fn routines(&mut self, tell: &mut Tell<'_>) -> Result<(), NotCompiled> {
        let mut frontend = FunctionBuilderContext::new();
        let module = self.compiled.module.get_mut().expect("nobody panicked with the module");
        let mut context = module.make_context();
        let routines = self.bound.program().routines();
        if !routines[0].body.catches().is_empty() {
            return Err(NotCompiled::Guards);
        }
        self.functions = vec![None; routines.len()];
        for number in (0..routines.len()).rev() {
            let routine = &routines[number];
            let by_cells = match () {
                () if routine.parallel.is_some() => Some(Interpreted::Pieces),
                () if !routine.body.catches().is_empty() => Some(Interpreted::Guards),
                () => None,
            };
            if let Some(reason) = by_cells {
                tell(number, Err(reason));
                continue;
            }
            let variables = redefined(routine).len() + variables_of_places(routine);
            let instructions = routine.body.instructions().len();
            if variables.saturating_mul(instructions) > MOST_DEFINITIONS {
                return Err(NotCompiled::TooManyVariables { routine: number, instructions, variables });
            }
            let refused = |reason: String| NotCompiled::Compiler { routine: number, reason };
            context.func.signature = signature(module);
            context.func.name = UserFuncName::user(0, number as u32);
            let parts = &self.compiled.parts[number];
            let rare = self.rare.for_routine(module, &mut context.func);
            let gains =
                translate(&mut context.func, &mut frontend, module.isa(), number, routine, parts, rare)?;
            let calls_code = number == 0 && self.functions.iter().any(Option::is_some);
            if !gains && !calls_code {
                module.clear_context(&mut context);
                tell(number, Err(Interpreted::NothingToGain));
                continue;
            }
            let id = module
                .declare_function(&format!("routine{number}"), Linkage::Local, &context.func.signature)
                .map_err(|error| refused(error.to_string()))?;
            define(module, id, &mut context, &refused)?;
            tell(number, Ok(context.compiled_code().expect("it has just been compiled")));
            module.clear_context(&mut context);
            self.functions[number] = Some(id);
        }
        match self.functions[0] {
            Some(_) => Ok(()),
            None => Err(NotCompiled::NothingToGain),
        }
    }

    fn finish(mut self) -> Result<Compiled, NotCompiled> {
        let module = self.compiled.module.get_mut().expect("nobody panicked with the module");
        module.finalize_definitions().map_err(|error| NotCompiled::Memory { reason: error.to_string() })?;
        let entry = |id: FuncId| {
            let code = module.get_finalized_function(id);
            // SAFETY: the function was made with the signature of an entry.
            unsafe { std::mem::transmute::<*const u8, Entry>(code) }
        };
        self.compiled.entries = self.functions.iter().map(|id| id.map(entry)).collect();
        Ok(self.compiled)
    }
}

/// The signature of [`Entry`].
fn signature(module: &JITModule) -> Signature {
    let mut signature = module.make_signature();
    signature.params = vec![AbiParam::new(types::I64), AbiParam::new(types::I64)];
    signature.returns = vec![AbiParam::new(types::I32)];
    signature
}

fn define(
    module: &mut JITModule,
    id: FuncId,
    context: &mut Context,
    refused: &dyn Fn(String) -> NotCompiled,
) -> Result<(), NotCompiled> {
    module.define_function(id, context).map_err(|error| match error {
        ModuleError::Allocation { .. } => NotCompiled::Memory { reason: error.to_string() },
        ModuleError::Compilation(error) => refused(format!("{error:?}")),
        error => refused(error.to_string()),
    })
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: the module is taken once, here. Nobody runs its code: a run borrows the bound program, which owns this.
        unsafe { ManuallyDrop::take(module).free_memory() };
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("entries", &self.entries).finish_non_exhaustive()
    }
}

// SAFETY: entries are code for the program of the bound expression that the parts are from; both stay with this.
unsafe impl CompiledTier for Compiled {
    fn name(&self) -> &'static str {
        "jit"
    }

    fn entries(&self) -> &[Option<Entry>] {
        &self.entries
    }
}
