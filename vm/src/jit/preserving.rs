//! Functions of the machine for the rare cases, behind a convention that keeps all registers.
//!
//! ```text
//! compiled code ── rare ──> run_cells, all registers kept ──> machine::native::run_cells
//!     ^                                                           │
//!     └──────── status in the registers of the run <──────────────┘
//! ```
//!
//! Code around a call of the usual convention keeps no float in a register, even if the call is rare: every value would be
//! stored where it is made. These calls change nothing but memory.
//!
//! They are made once a process, and stay. Code calls them by name: an address as a constant would be used in many places, and
//! so be kept in a register, all along a loop.

use crate::jit::error::NotCompiled;
use crate::machine::native::{STATUS, go_on, locate, run_cells};
use cranelift_codegen::ir::{
    AbiParam, FuncRef, Function, InstBuilder, MemFlagsData, Signature, Type, UserFuncName, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module};
use std::sync::OnceLock;

/// The arguments of `run_cells` and `locate`.
pub(super) const OF_CELLS: [Type; 3] = [types::I64, types::I64, types::I64];
/// Those of `go_on`.
const OF_GO_ON: [Type; 3] = [types::I64, types::I32, types::I32];

/// The functions: their addresses, how a module knows them, or the code of a routine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preserving<F> {
    pub(super) run_cells: F,
    pub(super) locate: F,
    pub(super) go_on: F,
}

impl Preserving<usize> {
    /// Gives the functions names, for a module.
    pub(super) fn name(&self, builder: &mut JITBuilder) {
        let addresses = [self.run_cells, self.locate, self.go_on];
        for ((name, ..), address) in wanted().into_iter().zip(addresses) {
            builder.symbol(name, std::ptr::with_exposed_provenance(address));
        }
    }
}

impl Preserving<FuncId> {
    /// Makes the functions known to a module that has their names.
    ///
    /// # Errors
    /// The module has others of these names.
    pub(super) fn declare(module: &mut JITModule) -> Result<Preserving<FuncId>, NotCompiled> {
        let mut declare = |(name, _, params): (&str, usize, [Type; 3])| {
            let declared = module.declare_function(name, Linkage::Import, &signature(&params));
            declared.map_err(|error| NotCompiled::Memory { reason: error.to_string() })
        };
        let [run_cells, locate, go_on] = wanted();
        Ok(Preserving { run_cells: declare(run_cells)?, locate: declare(locate)?, go_on: declare(go_on)? })
    }

    /// The same for the code of a routine.
    pub(super) fn for_routine(&self, module: &mut JITModule, function: &mut Function) -> Preserving<FuncRef> {
        let mut known = |id| module.declare_func_in_func(id, function);
        Preserving { run_cells: known(self.run_cells), locate: known(self.locate), go_on: known(self.go_on) }
    }
}

/// Names, what is called, and arguments.
fn wanted() -> [(&'static str, usize, [Type; 3]); 3] {
    [
        ("run_cells", run_cells as *const () as usize, OF_CELLS),
        ("locate", locate as *const () as usize, OF_CELLS),
        ("go_on", go_on as *const () as usize, OF_GO_ON),
    ]
}

/// The signature of such a function.
fn signature(params: &[Type]) -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params = params.iter().map(|qtype| AbiParam::new(*qtype)).collect();
    signature
}

/// The functions of this process, made by a compiler that is given where they are not there yet.
///
/// # Errors
/// They cannot be made, now or when it was tried before.
pub(super) fn preserving(
    module: impl FnOnce() -> Result<JITModule, NotCompiled>,
) -> Result<Preserving<usize>, NotCompiled> {
    static MADE: OnceLock<Result<Preserving<usize>, NotCompiled>> = OnceLock::new();
    MADE.get_or_init(|| make(module()?)).clone()
}

fn make(mut module: JITModule) -> Result<Preserving<usize>, NotCompiled> {
    let refused = |error: &dyn std::fmt::Display| NotCompiled::Memory { reason: error.to_string() };
    let mut made = Vec::new();
    for (number, (name, target, params)) in (0..).zip(wanted()) {
        let mut context = module.make_context();
        context.func.signature = signature(&params);
        context.func.name = UserFuncName::user(1, number);
        translate(&mut context.func, module.isa(), target, &params);
        let id = module
            .declare_function(name, Linkage::Local, &context.func.signature)
            .map_err(|error| refused(&error))?;
        module.define_function(id, &mut context).map_err(|error| refused(&error))?;
        made.push(id);
    }
    module.finalize_definitions().map_err(|error| refused(&error))?;
    let address = |number: usize| module.get_finalized_function(made[number]).expose_provenance();
    // The module is dropped without being freed: its code stays.
    Ok(Preserving { run_cells: address(0), locate: address(1), go_on: address(2) })
}

/// Calls the target, and leaves what it returns in the registers of the run.
fn translate(function: &mut Function, isa: &dyn TargetIsa, target: usize, params: &[Type]) {
    let mut frontend = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(function, &mut frontend);
    let mut of_target = Signature::new(isa.default_call_conv());
    of_target.params = params.iter().map(|qtype| AbiParam::new(*qtype)).collect();
    of_target.returns = vec![AbiParam::new(types::I32)];
    let of_target = b.import_signature(of_target);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let args = b.block_params(entry).to_vec();
    let target = b.ins().iconst(types::I64, target as i64);
    let call = b.ins().call_indirect(of_target, target, &args);
    let status = b.inst_results(call)[0];
    b.ins().store(MemFlagsData::trusted(), status, args[0], STATUS as i32);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
}
