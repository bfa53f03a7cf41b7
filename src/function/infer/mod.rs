//! Type inference: the least types that explain every value.
//!
//! A function is typed once for the types of its arguments: an [`Instance`]. All values begin without a type; an
//! operation whose operands have types gives its result one (`rules`), a phi joins those of its operands, and
//! whatever grows makes its readers look again, across calls too. The lattice is of small height and all rules are
//! monotone, so that the result is the least fixpoint: no order of functions, statements or calls can be seen
//! in it, and recursion needs no rule of its own. What no types lead to has none (`none.rs`).
//!
//! Errors are looked for at the end, with the final types.

mod arrays;
mod builtins;
mod calls;
mod dictionaries;
mod expressions;
mod instance;
mod joins;
mod library;
mod list_calls;
mod lists;
mod new_arrays;
mod none;
mod numpy_calls;
mod rules;
mod verify;

pub use instance::{Instance, InstanceId};
pub use verify::type_errors;

use crate::function::build::{BuiltFunction, build};
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::library::LibraryKind;
use crate::function::module::FunctionModule;
use crate::function::op::{FunctionId, FunctionOp};
use crate::function::ssa::to_ssa;
use crate::function::types::FunctionType;
use crate::python::SourceLines;
use crate::ssa::{BlockId, InstId, SsaOp, Tail};
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Types that the functions of one program may be called with.
const MAX_INSTANCES: usize = 4_000;

/// Types a function for types of its arguments, with all that it calls; the function itself comes first.
///
/// # Errors
/// Names, types and constructs that cannot be: all that are found.
pub fn infer(
    module: &FunctionModule,
    id: FunctionId,
    args: &[FunctionType],
) -> Result<Vec<Instance>, Vec<FunctionError>> {
    Inference::new(Some(module), module.tree().lines()).infer(id, args)
}

/// Types functions that are in SSA already, of which the first is called; calls give positions in the list.
///
/// # Errors
/// As [`infer`].
pub(crate) fn infer_built(
    functions: Vec<BuiltFunction>,
    lines: &SourceLines,
    args: &[FunctionType],
) -> Result<Vec<Instance>, Vec<FunctionError>> {
    let mut inference = Inference::new(None, lines);
    let numbered = (0..).map(FunctionId).zip(functions.into_iter().map(Arc::new));
    inference.functions = numbered.collect();
    inference.infer(FunctionId(0), args)
}

struct Inference<'m> {
    /// Where functions are built from; none if all are there.
    module: Option<&'m FunctionModule>,
    lines: &'m SourceLines,
    functions: HashMap<FunctionId, Arc<BuiltFunction>>,
    instances: Vec<Instance>,
    keys: HashMap<(FunctionId, Vec<FunctionType>), InstanceId>,
    /// Instances to look at again. Those made last are called by the others, and come first.
    work: BTreeSet<InstanceId>,
    errors: Vec<FunctionError>,
}

impl<'m> Inference<'m> {
    fn new(module: Option<&'m FunctionModule>, lines: &'m SourceLines) -> Inference<'m> {
        Inference {
            module,
            lines,
            functions: HashMap::new(),
            instances: Vec::new(),
            keys: HashMap::new(),
            work: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// Types a function and all that it calls; the function itself comes first.
    fn infer(mut self, id: FunctionId, args: &[FunctionType]) -> Result<Vec<Instance>, Vec<FunctionError>> {
        let root = self.instance(id, args.to_vec());
        self.settle();
        // Values without any are behind reads that fail, so that any type does.
        while self.errors.is_empty() && self.type_unreached() {
            self.settle();
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        self.finish(root)
    }

    /// Lets all types grow until nothing changes.
    fn settle(&mut self) {
        while let Some(at) = self.work.pop_last() {
            self.round(at);
        }
    }

    /// Gives a phi that only undefined values and itself reach a type; true if there was one.
    fn type_unreached(&mut self) -> bool {
        for (at, instance) in (0..).map(InstanceId).zip(&mut self.instances) {
            let flow = &instance.function.flow;
            let has_undefined = |phi: &InstId| {
                flow.inst(*phi).args.iter().any(|arg| matches!(flow.inst(*arg).op, SsaOp::Undef))
            };
            let phis = flow.block_ids().flat_map(|block| flow.phis(block));
            let found =
                phis.into_iter().find(|phi| instance.types[phi.index()].is_none() && has_undefined(phi));
            let is_empty_list = |inst: &InstId| {
                let op = flow.operation(*inst);
                let is_empty =
                    |kind| matches!(kind, LibraryKind::NewList | LibraryKind::NewDict | LibraryKind::NewSet);
                matches!(op, Some(FunctionOp::LibraryFunction(builtin)) if is_empty(builtin.kind()))
                    && instance.types[inst.index()].is_none()
            };
            let list = flow.blocks.iter().flat_map(|block| &block.insts).find(|inst| is_empty_list(inst));
            if let (None, Some(list)) = (found, list) {
                // Nothing typed is appended: the elements may be of any type.
                let kind = match flow.operation(*list) {
                    Some(FunctionOp::LibraryFunction(builtin)) => builtin.kind(),
                    _ => LibraryKind::NewList,
                };
                instance.types[list.index()] = Some(lists::type_of_empty(kind));
                self.work.insert(at);
                return true;
            }
            if let Some(phi) = found {
                instance.types[phi.index()] = Some(FunctionType::Int);
                self.work.insert(at);
                return true;
            }
        }
        false
    }

    /// The instance for these types.
    fn instance(&mut self, id: FunctionId, args: Vec<FunctionType>) -> InstanceId {
        if let Some(known) = self.keys.get(&(id, args.clone())) {
            return *known;
        }
        let function = self.function(id);
        let instance = InstanceId(self.instances.len() as u32);
        if self.instances.len() == MAX_INSTANCES && self.errors.is_empty() {
            let problem = FunctionProblem::Limit { name: "function-instances", limit: MAX_INSTANCES };
            self.errors.push(FunctionError::new(problem, Span::default()));
        }
        self.keys.insert((id, args.clone()), instance);
        let unreached = std::iter::repeat_n(false, function.flow.blocks.len() - 1);
        self.instances.push(Instance {
            id,
            args,
            types: vec![None; function.flow.insts.len()],
            untyped: function.clone(),
            function,
            result: None,
            calls: HashMap::new(),
            callers: Vec::new(),
            reached: std::iter::once(true).chain(unreached).collect(),
        });
        self.work.insert(instance);
        instance
    }

    fn function(&mut self, id: FunctionId) -> Arc<BuiltFunction> {
        if let Some(known) = self.functions.get(&id) {
            return known.clone();
        }
        let module = self.module.expect("functions that are not built have a module");
        let built = build(module, id).and_then(|built| to_ssa(built).map_err(|error| vec![error]));
        let function = Arc::new(built.unwrap_or_else(|errors| {
            self.errors.extend(errors);
            BuiltFunction::failed(module.name(id))
        }));
        self.functions.insert(id, function.clone());
        function
    }

    /// Lets the types of one instance grow until they are stable.
    fn round(&mut self, at: InstanceId) {
        if !self.errors.is_empty() {
            return;
        }
        let function = self.instances[at.0 as usize].function.clone();
        let order = function.flow.reverse_postorder();
        loop {
            let mut grew = false;
            for block in order.iter().copied() {
                if !self.instances[at.0 as usize].reached[block.index()] {
                    continue;
                }
                for inst in &function.flow.block(block).insts {
                    let new = self.type_of_result(at, block, *inst).unwrap_or(None);
                    grew |= self.grow(at, *inst, new);
                }
                grew |= none::go_on(&mut self.instances[at.0 as usize], block);
            }
            if !grew || !self.errors.is_empty() {
                break;
            }
        }
        let mut result = None;
        for block in self.reached(at) {
            if let Tail::Return(value) = function.flow.block(block).tail
                && let Some(new) = &self.instances[at.0 as usize].types[value.index()]
            {
                result = match result {
                    None => Some(new.clone()),
                    Some(old) => FunctionType::join(&old, new).or(Some(old)),
                };
            }
        }
        let instance = &mut self.instances[at.0 as usize];
        if instance.result != result {
            instance.result = result;
            self.work.extend(instance.callers.iter().copied());
        }
    }

    /// The blocks of an instance that its types lead to.
    fn reached(&self, at: InstanceId) -> Vec<BlockId> {
        let instance = &self.instances[at.0 as usize];
        let is_reached = |block: &BlockId| instance.reached.get(block.index()) == Some(&true);
        instance.function.flow.block_ids().filter(is_reached).collect()
    }

    fn grow(&mut self, at: InstanceId, inst: InstId, new: Option<FunctionType>) -> bool {
        let known = &mut self.instances[at.0 as usize].types[inst.index()];
        let Some(new) = new else { return false };
        let joined = match &*known {
            None => new,
            Some(old) => match old.join(&new) {
                Some(joined) => joined,
                // Types that no other explains: the end reports them.
                None => return false,
            },
        };
        let grew = known.as_ref() != Some(&joined);
        *known = Some(joined);
        grew
    }

    /// Type of an instruction's result by those of its operands; none as long as one of them has none.
    fn type_of_result(
        &mut self,
        at: InstanceId,
        block: BlockId,
        inst: InstId,
    ) -> Result<Option<FunctionType>, FunctionError> {
        let instance = &self.instances[at.0 as usize];
        let function = instance.function.clone();
        let row = function.flow.inst(inst);
        if let SsaOp::Phi = row.op {
            let args = none::operands_of_phi(instance, block, inst);
            return Ok(self.type_of_phi(at, &args));
        }
        let SsaOp::Do(op) = &row.op else { return Ok(None) };
        let mut args: Vec<FunctionType> = Vec::with_capacity(row.args.len());
        for arg in &row.args {
            match &instance.types[arg.index()] {
                Some(known) => args.push(known.clone()),
                None => return Ok(None),
            }
        }
        let problem = |problem| FunctionError::new(problem, row.span);
        match op {
            FunctionOp::Param(position) => match instance.args.get(*position as usize) {
                Some(known) => Ok(Some(known.clone())),
                None => Err(FunctionError::types("an argument is missing", row.span)),
            },
            FunctionOp::Call(id) => Ok(self.type_of_call(at, inst, *id, args)),
            FunctionOp::LibraryFunction(builtin) => {
                library::type_of_library(instance, inst, *builtin, &args).map_err(problem)
            }
            FunctionOp::GetItem(parts) => {
                let constant = |index: usize| constant_of(&function, row.args[index]);
                arrays::type_of_item(parts, &args, constant).map(Some).map_err(problem)
            }
            FunctionOp::SetItem(parts) => arrays::type_of_store(parts, &args).map(Some).map_err(problem),
            FunctionOp::Attribute(name) => {
                arrays::type_of_attribute(name, &args[0]).map(Some).map_err(problem)
            }
            _ => {
                let exponent = row.args.last().and_then(|last| constant_of(&function, *last));
                expressions::type_of(op, &args, exponent.as_ref()).map(Some).map_err(problem)
            }
        }
    }

    fn type_of_phi(&self, at: InstanceId, args: &[InstId]) -> Option<FunctionType> {
        let types = &self.instances[at.0 as usize].types;
        let mut known = args.iter().filter_map(|arg| types[arg.index()].as_ref());
        let first = known.next()?.clone();
        Some(known.fold(first, |joined, next| joined.join(next).unwrap_or(joined)))
    }

    fn type_of_call(
        &mut self,
        at: InstanceId,
        inst: InstId,
        id: FunctionId,
        args: Vec<FunctionType>,
    ) -> Option<FunctionType> {
        let callee = self.instance(id, args);
        self.instances[at.0 as usize].calls.insert(inst, callee);
        let callers = &mut self.instances[callee.0 as usize].callers;
        if !callers.contains(&at) {
            callers.push(at);
        }
        self.instances[callee.0 as usize].result.clone()
    }

    /// Looks for errors in what the root leads to, and gives those instances, numbered anew.
    fn finish(mut self, root: InstanceId) -> Result<Vec<Instance>, Vec<FunctionError>> {
        let mut order = vec![root];
        let mut number: HashMap<InstanceId, InstanceId> = HashMap::from([(root, InstanceId(0))]);
        let mut next = 0;
        while let Some(at) = order.get(next).copied() {
            next += 1;
            let mut calls: Vec<_> =
                self.instances[at.0 as usize].calls.iter().map(|(k, v)| (*k, *v)).collect();
            calls.sort_unstable();
            for (_, callee) in calls {
                number.entry(callee).or_insert_with(|| {
                    order.push(callee);
                    InstanceId(order.len() as u32 - 1)
                });
            }
        }
        let mut errors = Vec::new();
        for at in &order {
            self.check(*at, &mut errors);
        }
        if !errors.is_empty() {
            errors.sort_by_key(|error| (error.span.start, error.span.end));
            errors.dedup_by_key(|error| (error.span, error.to_string()));
            return Err(errors);
        }
        let mut instances: Vec<Instance> =
            order.iter().map(|at| self.instances[at.0 as usize].clone()).collect();
        for instance in &mut instances {
            instance.calls.values_mut().for_each(|callee| *callee = number[&*callee]);
            none::settle_none(instance);
        }
        Ok(instances)
    }

    fn check(&mut self, at: InstanceId, errors: &mut Vec<FunctionError>) {
        let before = errors.len();
        let function = self.instances[at.0 as usize].function.clone();
        let mut untyped = Vec::new();
        for block in self.reached(at) {
            for inst in &function.flow.block(block).insts {
                let row = function.flow.inst(*inst);
                match self.type_of_result(at, block, *inst) {
                    Err(error) => errors.push(error),
                    Ok(None) if !matches!(row.op, SsaOp::Undef) => {
                        let is_typed = self.instances[at.0 as usize].types[inst.index()].is_some();
                        untyped.extend((!is_typed).then_some(*inst));
                    }
                    Ok(_) => {}
                }
                if let SsaOp::Phi = row.op {
                    let what = row.name.map_or("", |name| &function.variables[name.index()]);
                    let what = if what.is_empty() { "the value".to_owned() } else { format!("`{what}`") };
                    let instance = &self.instances[at.0 as usize];
                    let args = none::operands_of_phi(instance, block, *inst);
                    self.check_joins(at, &args, &what, errors);
                    self.check_arrays(at, (*inst, &args), &what, errors);
                }
            }
        }
        let returned: Vec<InstId> = self
            .reached(at)
            .iter()
            .filter_map(|block| match function.flow.block(*block).tail {
                Tail::Return(value) => Some(value),
                _ => None,
            })
            .collect();
        self.check_joins(at, &returned, &format!("the result of `{}`", function.name), errors);
        if errors.len() > before {
            return;
        }
        let instance = &self.instances[at.0 as usize];
        if instance.result.is_none() && !returned.is_empty() {
            let problem = FunctionProblem::RunawayRecursion { name: function.name.clone() };
            let span = untyped.first().map_or(Span::default(), |inst| function.flow.inst(*inst).span);
            errors.push(FunctionError::new(problem, span));
        } else if let Some(first) = untyped.first() {
            // What stands behind a call that never returns has no type, and never runs.
            let of_call = |inst: &InstId| matches!(function.flow.operation(*inst), Some(FunctionOp::Call(_)));
            if !untyped.iter().any(of_call) {
                let row = function.flow.inst(*first);
                let what = row
                    .name
                    .map_or("a value".to_owned(), |name| format!("`{}`", function.variables[name.index()]));
                errors.push(FunctionError::new(FunctionProblem::NoType { what }, row.span));
            } else {
                let problem = FunctionProblem::RunawayRecursion { name: function.name.clone() };
                errors.push(FunctionError::new(problem, function.flow.inst(*first).span));
            }
        }
    }
}

/// The constant that a value is.
pub(crate) fn constant_of(function: &BuiltFunction, value: InstId) -> Option<Constant> {
    match function.flow.operation(value)? {
        FunctionOp::Constant(constant) => Some(constant.clone()),
        _ => None,
    }
}
