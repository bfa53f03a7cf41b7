//! Stages as documents and texts, and back.
//!
//! ```text
//! Vec<Instance> ──document──> Document ──tree_text──> text
//!       ^                                               │
//!       └──────────── from_document <──── read_tree ────┘
//! ```
//!
//! A text says a stage up to its canonical form (`canonical.rs`): reading gives that form, and printing what was
//! read gives the same text.

use crate::function::build::BuiltFunction;
use crate::function::infer::{Instance, InstanceId};
use crate::function::low::LowFunction;
use crate::function::op::{FunctionId, FunctionOp};
use crate::function::stage::error::{StageError, StageProblem};
use crate::function::stage::form::{FunctionOf, StageFunction, StageParameter};
use crate::function::stage::from_document::from_document;
use crate::function::stage::machine_ops::LowForm;
use crate::function::stage::python_ops::{TypedForm, UntypedForm};
use crate::function::stage::schemas::StageName;
use crate::function::stage::to_document::to_document;
use crate::function::types::FunctionType;
use crate::python::SourceLines;
use crate::schema::{Document, TextError, read_tree, tree_text};
use crate::ssa::{InstId, SsaOp};
use cembra_vm::value::QType;
use hashbrown::HashMap;
use std::sync::Arc;

impl From<TextError> for StageError {
    fn from(error: TextError) -> StageError {
        StageError { problem: StageProblem::Text(error.problem), span: error.span }
    }
}

/// The functions of the stage `ussa`: that of the first instance comes first. Each is there once, unless types leave one of them
/// other ways for other arguments: then there is one for each instance.
pub fn untyped_functions(instances: &[Instance]) -> Vec<BuiltFunction> {
    let mut first: HashMap<FunctionId, &Arc<BuiltFunction>> = HashMap::new();
    let is_other = |instance: &Instance, first: &Arc<BuiltFunction>| !Arc::ptr_eq(first, &instance.untyped);
    let differ = |instance| is_other(instance, first.entry(instance.id).or_insert(&instance.untyped));
    if instances.iter().any(differ) {
        return instances.iter().map(untyped_instance).collect();
    }
    let mut number: HashMap<FunctionId, u32> = HashMap::new();
    let mut functions: Vec<FunctionOf<UntypedForm>> = Vec::new();
    for instance in instances {
        if !number.contains_key(&instance.id) {
            number.insert(instance.id, functions.len() as u32);
            functions.push(untyped_parts(&instance.untyped));
        }
    }
    for function in &mut functions {
        for inst in &mut function.flow.insts {
            if let SsaOp::Do(FunctionOp::Call(id)) = &mut inst.op {
                *id = FunctionId(number.get(id).copied().unwrap_or(u32::MAX));
            }
        }
    }
    functions.into_iter().map(built).collect()
}

/// The function of an instance, whose calls are of instances.
fn untyped_instance(instance: &Instance) -> BuiltFunction {
    let mut function = (*instance.untyped).clone();
    for (inst, callee) in &instance.calls {
        function.flow.insts[inst.index()].op = SsaOp::Do(FunctionOp::Call(FunctionId(callee.0)));
    }
    built(untyped_parts(&function))
}

/// The instances in canonical form: each is the function of its own number.
pub fn canonical_instances(instances: &[Instance]) -> Vec<Instance> {
    instances.iter().map(typed_parts).enumerate().map(|(at, parts)| instance(at, parts)).collect()
}

/// The functions in canonical form.
pub fn canonical_low(functions: &[LowFunction]) -> Vec<LowFunction> {
    functions.iter().map(|function| low_function(low_parts(function))).collect()
}

/// The document of functions in `ussa`; positions are written if the lines of the source are given.
pub fn ussa_document(functions: &[BuiltFunction], lines: Option<&SourceLines>) -> Document {
    let functions: Vec<_> = functions.iter().map(untyped_parts).collect();
    to_document::<UntypedForm>(&functions, lines)
}

/// The document of instances, the stage `tssa`.
pub fn tssa_document(instances: &[Instance], lines: Option<&SourceLines>) -> Document {
    let functions: Vec<_> = instances.iter().map(typed_parts).collect();
    to_document::<TypedForm>(&functions, lines)
}

/// The document of functions in `low`.
pub fn low_document(functions: &[LowFunction], lines: Option<&SourceLines>) -> Document {
    let functions: Vec<_> = functions.iter().map(low_parts).collect();
    to_document::<LowForm>(&functions, lines)
}

/// The text of a stage's document.
///
/// # Errors
/// A text that is too large.
pub fn stage_text(stage: StageName, document: &Document) -> Result<String, StageError> {
    Ok(tree_text(stage.schema(), document)?)
}

/// The document of a stage's text.
///
/// # Errors
/// What is wrong with the text, all that is found.
pub fn read_stage_text(stage: StageName, text: &str) -> Result<Document, Vec<StageError>> {
    let read = read_tree(stage.schema(), stage.root(), text);
    read.map_err(|errors| errors.into_iter().map(StageError::from).collect())
}

/// The functions of a document of `ussa`. Positions are of the source whose lines are given; without them, places are
/// those of the text that the document was read from.
///
/// # Errors
/// What the stage cannot hold, all that is found.
pub fn ussa_functions(
    document: &Document,
    lines: Option<&SourceLines>,
) -> Result<Vec<BuiltFunction>, Vec<StageError>> {
    Ok(from_document::<UntypedForm>(document, lines)?.into_iter().map(built).collect())
}

/// The instances of a document of `tssa`.
///
/// # Errors
/// As [`ussa_functions`].
pub fn tssa_instances(
    document: &Document,
    lines: Option<&SourceLines>,
) -> Result<Vec<Instance>, Vec<StageError>> {
    let functions = from_document::<TypedForm>(document, lines)?;
    Ok(functions.into_iter().enumerate().map(|(at, parts)| instance(at, parts)).collect())
}

/// The functions of a document of `low`.
///
/// # Errors
/// As [`ussa_functions`].
pub fn low_functions(
    document: &Document,
    lines: Option<&SourceLines>,
) -> Result<Vec<LowFunction>, Vec<StageError>> {
    Ok(from_document::<LowForm>(document, lines)?.into_iter().map(low_function).collect())
}

fn untyped_parts(function: &BuiltFunction) -> FunctionOf<UntypedForm> {
    let parameter = |(name, default): &(String, _)| StageParameter {
        name: name.clone(),
        of: None,
        default: Clone::clone(default),
    };
    StageFunction {
        name: function.name.clone(),
        parameters: function.parameters.iter().map(parameter).collect(),
        result: None,
        failures: function.failures.clone(),
        variables: function.variables.clone(),
        flow: function.flow.clone(),
        types: Vec::new(),
    }
    .canonical()
}

fn typed_parts(instance: &Instance) -> FunctionOf<TypedForm> {
    let mut function = untyped_parts_of(instance);
    for (inst, callee) in &instance.calls {
        if let SsaOp::Do(FunctionOp::Call(id)) = &mut function.flow.insts[inst.index()].op {
            *id = FunctionId(callee.0);
        }
    }
    function.canonical()
}

fn untyped_parts_of(instance: &Instance) -> FunctionOf<TypedForm> {
    let built = &instance.function;
    let parameters = built.parameters.iter().zip(&instance.args);
    StageFunction {
        name: built.name.clone(),
        parameters: parameters
            .map(|((name, default), of)| StageParameter {
                name: name.clone(),
                of: Some(of.clone()),
                default: default.clone(),
            })
            .collect(),
        result: instance.result.clone(),
        failures: built.failures.clone(),
        variables: built.variables.clone(),
        flow: built.flow.clone(),
        types: instance.types.clone(),
    }
}

fn low_parts(function: &LowFunction) -> FunctionOf<LowForm> {
    let parameter = |(name, of): &(String, QType)| StageParameter {
        name: name.clone(),
        of: Some(of.clone()),
        default: None,
    };
    StageFunction {
        name: function.name.clone(),
        parameters: function.parameters.iter().map(parameter).collect(),
        result: Some(function.result.clone()),
        failures: function.failures.clone(),
        variables: function.variables.clone(),
        flow: function.flow.clone(),
        types: function.types.clone(),
    }
    .canonical()
}

fn built<T>(function: StageFunction<FunctionOp, T>) -> BuiltFunction {
    BuiltFunction {
        name: function.name,
        flow: function.flow,
        parameters: function.parameters.into_iter().map(|p| (p.name, p.default)).collect(),
        variables: function.variables,
        failures: function.failures,
        unreachable: Vec::new(),
        loop_targets: Vec::new(),
        free_reads: Default::default(),
    }
}

fn instance(at: usize, mut function: FunctionOf<TypedForm>) -> Instance {
    let args = function.parameters.iter().map(|p| p.of.clone().unwrap_or(FunctionType::None)).collect();
    let (types, result) = (std::mem::take(&mut function.types), function.result.take());
    let mut calls = HashMap::new();
    for (number, inst) in (0..).zip(&function.flow.insts) {
        if let SsaOp::Do(FunctionOp::Call(id)) = inst.op {
            calls.insert(InstId(number), InstanceId(id.0));
        }
    }
    Instance::new(FunctionId(at as u32), args, Arc::new(built(function)), types, result, calls)
}

fn low_function(function: FunctionOf<LowForm>) -> LowFunction {
    let unit = QType::Scalar(cembra_vm::value::ScalarType::Unit);
    LowFunction {
        name: function.name,
        flow: function.flow,
        types: function.types,
        parameters: function.parameters.into_iter().map(|p| (p.name, p.of.unwrap_or(unit.clone()))).collect(),
        result: function.result.unwrap_or(unit.clone()),
        failures: function.failures,
        variables: function.variables,
    }
}
