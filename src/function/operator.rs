//! Functions in expressions: each is an operator, `module.function`.
//!
//! ```text
//! physics.py     def energy(m, v): return 0.5 * m * v * v        physics.energy(m, v) + potential
//! ```
//!
//! The type rule compiles the function for the types at hand, and gives the type of its result. A function of
//! one block becomes its operators in the place of the node, on rows too; any other is a call of a routine.
//!
//! A cached step compiles: each function for each types once, and the types used last are kept.
//!
//! What is missing in an argument is missing in the result; `packed.rs` has the code.
//!
//! A function that changes an array is no operator: expressions have values, and no places.

use crate::expr::NodeId;
use crate::function::compile::FunctionPipeline;
use crate::function::error::FunctionError;
use crate::function::low::{LowFunction, LowOp};
use crate::function::module::FunctionModule;
use crate::function::options::FunctionOptions;
use crate::function::packed::{FunctionBody, Kind, PackedFunction};
use crate::function::steps::{AssembleProgram, BindFunction, FunctionRequest, LowFunctions};
use crate::function::types::FunctionType;
use crate::prepare::PrepareError;
use crate::prepare::draft::Draft;
use crate::prepare::extend::{Extension, PackedNode};
use crate::prepare::prepared::Packed;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use crate::registry::register::RegisterError;
use crate::registry::{OperatorDef, Registry};
use crate::ssa::{InstId, Tail};
use crate::workflow::{Cached, MemoryStore, SharedStep, Step, identity, step};
use cembra_vm::program::Program;
use cembra_vm::value::{QType, ScalarType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Makes every function of a module an operator `prefix.function` of a registry. The extensions belong into the
/// preparation of expressions that use them ([`Prepare::add_extensions`](crate::prepare::Prepare::add_extensions)).
///
/// # Errors
/// A name is taken, or no operator of expressions can have it.
pub fn define_functions(
    registry: &mut Registry,
    prefix: &str,
    module: &Arc<FunctionModule>,
    options: &FunctionOptions,
) -> Result<Vec<Arc<dyn Extension>>, RegisterError> {
    let mut extensions: Vec<Arc<dyn Extension>> = Vec::new();
    // Of several functions of one name it is the last.
    let names: BTreeSet<&str> = module.function_names().collect();
    for function in names {
        let Ok(id) = module.function(function) else { continue };
        let name: Arc<str> = format!("{prefix}.{function}").into();
        let source =
            FunctionSource { function: function.into(), module: module.clone(), options: options.clone() };
        let compile = step("compile function", move |types: Vec<QType>| source.compile(&types));
        let compile = Cached::new(compile, &name, MemoryStore::new(MOST_KEPT)).shared();
        let operator = Arc::new(FunctionOperator { name, compile });
        let mut parameters: Vec<String> = module.parameter_names(id).into_iter().map(str::to_owned).collect();
        if let (Some(_), Some(rest)) = (module.rest_parameter(id), parameters.last_mut()) {
            rest.insert(0, '*');
        }
        let names: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let rule = operator.clone();
        let meaning = format!("The function {function}.");
        registry.define(OperatorDef::new(&operator.name, &names, &meaning, move |cx| rule.infer(cx)))?;
        extensions.push(Arc::new(FunctionExtension(operator)));
    }
    Ok(extensions)
}

/// Types of arguments for which a compiled function is kept.
const MOST_KEPT: usize = 256;

/// A function as an operator.
struct FunctionOperator {
    name: Arc<str>,
    /// Compiles the function for types of numbers and arrays, once.
    compile: SharedStep<Vec<QType>, Compiled, Arc<str>>,
}

/// Where a function comes from.
struct FunctionSource {
    function: String,
    module: Arc<FunctionModule>,
    options: FunctionOptions,
}

/// A function for types, or why there is none.
type Outcome = Result<Compiled, Arc<str>>;

/// A function for types of its arguments.
#[derive(Clone)]
struct Compiled {
    program: Arc<Program>,
    /// The main function, if it is one block of operators.
    block: Option<Arc<LowFunction>>,
    result: QType,
}

impl FunctionSource {
    fn compile(&self, types: &[QType]) -> Outcome {
        let args: Option<Vec<FunctionType>> = types.iter().map(FunctionType::of_qtype).collect();
        let args = args.ok_or("functions take numbers, truth values, tuples and n-dimensional arrays")?;
        let failed = |errors: Vec<FunctionError>| -> Arc<str> {
            let lines = errors.iter().map(|error| {
                let line = self.module.line(error.span);
                let at = if error.span.is_unknown() { String::new() } else { format!("line {line}: ") };
                format!("{at}{error}")
            });
            lines.collect::<Vec<_>>().join("; ").into()
        };
        let request = FunctionRequest { module: &self.module, name: &self.function, args };
        let low = self.to_low().run(request).map_err(failed)?;
        let result = low.interface.result.qtype().ok_or("its result is no value of expressions")?;
        let main = low.functions[0].clone();
        let assemble = AssembleProgram { options: self.options.compile.clone() };
        let function = assemble.chain(BindFunction).run(low).map_err(failed)?;
        let program = function.bound().program().clone();
        if !program.main().updated_inputs.is_empty() {
            return Err("it changes an array that it is given, and expressions change nothing".into());
        }
        let block = is_block_of_operators(&main).then(|| Arc::new(main));
        Ok(Compiled { program, block, result })
    }

    /// The function stages as far as the passes, whose result says whether the function is one block.
    fn to_low(&self) -> impl for<'m> Step<FunctionRequest<'m>, Out = LowFunctions, Err = Vec<FunctionError>> {
        let stays = || identity::<LowFunctions, Vec<FunctionError>>("stays low");
        FunctionPipeline::standard(&self.options).with_program(stays()).with_bind(stays())
    }
}

impl FunctionOperator {
    /// The type rule: weak and narrow numbers become those of functions, and the result is of the kind of the arguments.
    fn infer(&self, cx: &InferContext<'_>) -> Result<Resolution, TypeError> {
        let failed = |reason: Arc<str>| TypeError::Function { operator: self.name.clone(), reason };
        let args: Vec<QType> = cx.types.iter().map(as_argument).collect();
        let kind = Kind::of(&args).map_err(|reason| failed(reason.into()))?;
        let compiled = self.compile.run(kind.single(&args)).map_err(failed)?;
        let result = kind.result(&compiled.result);
        let result = result.ok_or_else(|| {
            failed("it gives no number, and is not applied to rows or optional values".into())
        })?;
        Ok(Resolution { args, result })
    }
}

/// The type that functions take for one of expressions; others stay.
fn as_argument(qtype: &QType) -> QType {
    let number = |scalar: ScalarType| match scalar.storage() {
        ScalarType::Int32 => ScalarType::Int64,
        ScalarType::Float32 => ScalarType::Float64,
        other => other,
    };
    match qtype {
        QType::Scalar(scalar) => QType::Scalar(number(*scalar)),
        QType::Optional(scalar) => QType::Optional(number(*scalar)),
        QType::Array(array) => QType::Array(array.of(number(array.element))),
        other => other.clone(),
    }
}

/// True for one block of operators on numbers, with a number as the result.
fn is_block_of_operators(function: &LowFunction) -> bool {
    let [block] = &function.flow.blocks[..] else { return false };
    let is_number = |inst: &InstId| matches!(function.types[inst.index()], Some(QType::Scalar(_)));
    let is_operator = |inst: &InstId| {
        matches!(
            function.flow.operation(*inst),
            Some(LowOp::Input(_) | LowOp::Literal(_) | LowOp::Operator(..))
        )
    };
    matches!(block.tail, Tail::Return(_))
        && block.insts.iter().all(|inst| is_number(inst) && is_operator(inst))
}

/// The prepare half.
struct FunctionExtension(Arc<FunctionOperator>);

impl Extension for FunctionExtension {
    fn name(&self) -> &str {
        "functions"
    }

    fn operator(&self) -> &str {
        &self.0.name
    }

    fn transform(&self, draft: &mut Draft, id: NodeId) -> Result<Option<PackedNode>, PrepareError> {
        let operands = draft.graph.operands(id).to_vec();
        let types: Vec<QType> = operands.iter().map(|operand| draft.qtype_of(*operand).storage()).collect();
        // The type rule has found the kind, and compiled it.
        let Ok(kind) = Kind::of(&types) else { return Ok(None) };
        let Ok(compiled) = self.0.compile.run(kind.single(&types)) else { return Ok(None) };
        let result = draft.qtype_of(id).clone();
        let written: Vec<String> = types.iter().map(QType::to_string).collect();
        let parameters: Vec<String> = (0..operands.len()).map(|position| format!("x{position}")).collect();
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let name = format!("packed_{}[{}]", self.0.name, written.join(","));
        let operator = OperatorDef::new(&name, &parameters, "A function for these types.", move |cx| {
            cx.unchanged(result.clone())
        });
        let body = match compiled.block {
            Some(function) => FunctionBody::Block(function),
            None => FunctionBody::Call(compiled.program),
        };
        let compile = Arc::new(PackedFunction { body, kind, result: compiled.result });
        Ok(Some(PackedNode { operator, operands, packed: Packed { compile, bodies: Vec::new() } }))
    }
}
