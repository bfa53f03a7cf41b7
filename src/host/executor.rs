//! ModelExecutor: compile once, evaluate from anywhere.
//!
//! ```
//! use cembra::host::{Accessors, ModelExecutor};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! struct Equation { a: f64, b: f64, c: f64 }
//! let expr = cembra::syntax::parse("(-b + math.sqrt(b*b - 4.0*a*c)) / (2.0*a)")?;
//! let loader = Accessors::new()
//!     .with("a", |e: &Equation| e.a)
//!     .with("b", |e: &Equation| e.b)
//!     .with("c", |e: &Equation| e.c);
//! let root = ModelExecutor::<Equation, f64>::compile(&expr, &loader)?;
//! assert_eq!(root.execute(&Equation { a: 1.0, b: -3.0, c: 2.0 })?, 2.0);
//! # Ok(())
//! # }
//! ```

use crate::compile::{Binder, CompileError, Options};
use crate::expr::graph::DEFAULT_NODE_LIMIT;
use crate::expr::{Expr, Graph, Literal};
use crate::host::error::HostError;
use crate::host::export::side_outputs;
use crate::host::listener::{SlotListener, Teller};
use crate::host::loader::{InputLoader, Setter};
use crate::host::output::{Output, Reader};
use crate::prepare::error::{GivenInputs, MissingInput};
use crate::prepare::{Prepare, PrepareError, Prepared, Source};
use crate::registry::derived::cast;
use crate::registry::{Dialect, Registry};
use cembra_vm::builtins::core;
use cembra_vm::frame::{Frame, FramePool};
use cembra_vm::machine::{BoundExpr, RunOptions};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use cembra_vm::value::{Budget, QType, ScalarType};
use std::collections::HashSet;
use std::sync::Arc;

/// Options of a model.
#[derive(Clone, Debug, Default)]
pub struct ExecutorOptions {
    /// The preparation steps.
    pub prepare: Prepare,
    /// Slot options. Inputs are loaded before every run, so their slots may be overridden unless there
    /// are side outputs.
    pub compile: Options,
    /// The operators.
    pub registry: Registry,
    /// The dialect of the expression.
    pub dialect: Dialect,
    /// An optional output may be read as its scalar; a missing one is then an error.
    pub force_non_optional_output: bool,
    /// An output of another type is cast to the type read, where the dialect casts unasked.
    pub allow_output_casting: bool,
    /// Side outputs that nobody listens to are not an error.
    pub ignore_not_listened_outputs: bool,
    /// What a run may use up.
    pub budget: Budget,
}

/// A compiled model: from data of type `I` to a value of type `O`, side outputs to sinks of type `S`.
pub struct ModelExecutor<I: ?Sized, O, S: ?Sized = ()> {
    shared: Arc<Shared<I, O, S>>,
}

struct Shared<I: ?Sized, O, S: ?Sized> {
    plain: Model<I, O>,
    /// The model with its side outputs, in the same layout.
    listened: Option<Listened<I, O, S>>,
    pool: FramePool,
    budget: Budget,
}

/// A model with side outputs, and who is told them.
type Listened<I, O, S> = (Model<I, O>, Vec<Teller<S>>);

struct Model<I: ?Sized, O> {
    bound: BoundExpr,
    setters: Vec<Setter<I>>,
    reader: Reader<O>,
}

impl<I: ?Sized, O, S: ?Sized> Clone for ModelExecutor<I, O, S> {
    fn clone(&self) -> Self {
        ModelExecutor { shared: self.shared.clone() }
    }
}

impl<I: ?Sized, O, S: ?Sized> std::fmt::Debug for ModelExecutor<I, O, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelExecutor")
            .field("frame_bytes", &self.shared.pool.layout().size())
            .finish_non_exhaustive()
    }
}

impl<I: ?Sized + 'static, O: Output> ModelExecutor<I, O> {
    /// Compiles with the default options.
    ///
    /// # Errors
    /// The expression is wrong, the loader lacks an input, or the output is of another type.
    pub fn compile(expr: &Expr, loader: &dyn InputLoader<I>) -> Result<Self, HostError> {
        ModelExecutor::compile_with(expr, loader, None, ExecutorOptions::default())
    }
}

impl<I: ?Sized + 'static, O: Output, S: ?Sized + 'static> ModelExecutor<I, O, S> {
    /// Compiles; with a listener, side outputs that the expression exports are computed for it.
    ///
    /// # Errors
    /// The expression is wrong, the loader lacks an input, nobody listens to a side output, or the
    /// output is of another type.
    pub fn compile_with(
        expr: &Expr,
        loader: &dyn InputLoader<I>,
        listener: Option<&dyn SlotListener<S>>,
        options: ExecutorOptions,
    ) -> Result<Self, HostError> {
        let exports = side_outputs(expr)?;
        let wanted = wanted_outputs(exports, listener, options.ignore_not_listened_outputs)?;
        let prepare = |expr: &Expr, outputs: &[(Arc<str>, Expr)]| prepare(expr, outputs, loader, &options);
        let prepared = prepare(expr, &[])?;
        let cast = cast_to(expr, prepared.qtype(prepared.root()), O::qtype(), &options)?;
        let expr = cast.as_ref().unwrap_or(expr);
        let prepared = if cast.is_some() { prepare(expr, &[])? } else { prepared };
        let mut compile = options.compile.clone();
        compile.allow_overriding_input_slots = wanted.is_empty();
        let mut binder = Binder::new(compile);
        binder.add(&prepared)?;
        if !wanted.is_empty() {
            binder.add(&prepare(expr, &wanted)?)?;
        }
        let mut bound = binder.build()?.into_iter();
        let models: Vec<Model<I, O>> =
            bound.by_ref().map(|b| Model::new(b, loader)).collect::<Result<_, _>>()?;
        let mut models = models.into_iter();
        let Some(plain) = models.next() else { return Err(HostError::MissingOutput) };
        let listened = match (models.next(), listener) {
            (Some(model), Some(listener)) => {
                let tellers = wanted.iter().map(|(name, _)| listener.bind(name, &model.bound));
                let tellers = tellers.collect::<Result<Vec<_>, _>>()?;
                Some((model, tellers))
            }
            _ => None,
        };
        let pool = plain.bound.new_pool();
        let shared = Arc::new(Shared { plain, listened, pool, budget: options.budget });
        Ok(ModelExecutor { shared })
    }

    /// Evaluates on a pooled frame; safe from any thread.
    ///
    /// # Errors
    /// An input cannot be loaded, the run fails, or the output is missing.
    pub fn execute(&self, input: &I) -> Result<O, HostError> {
        self.execute_within(input, &self.shared.budget)
    }

    /// The same within a budget of its own, such as one with the token or the deadline of a request.
    ///
    /// # Errors
    /// As [`ModelExecutor::execute`].
    pub fn execute_within(&self, input: &I, budget: &Budget) -> Result<O, HostError> {
        let mut frame = self.shared.pool.take()?;
        self.shared.run(&mut frame, input, budget)
    }

    /// Evaluates and tells the side outputs to a sink.
    ///
    /// # Errors
    /// As [`ModelExecutor::execute`].
    pub fn execute_into(&self, input: &I, sink: &mut S) -> Result<O, HostError> {
        self.execute_into_within(input, sink, &self.shared.budget)
    }

    /// The same within a budget of its own.
    ///
    /// # Errors
    /// As [`ModelExecutor::execute`].
    pub fn execute_into_within(&self, input: &I, sink: &mut S, budget: &Budget) -> Result<O, HostError> {
        let mut frame = self.shared.pool.take()?;
        self.shared.run_into(&mut frame, input, sink, budget)
    }

    /// An executor with a frame of its own, for a loop in one thread.
    ///
    /// # Errors
    /// The frame cannot be allocated.
    pub fn local(&self) -> Result<LocalExecutor<I, O, S>, HostError> {
        let frame = self.shared.plain.bound.new_frame()?;
        Ok(LocalExecutor { shared: self.shared.clone(), frame })
    }

    /// The bound expression, for dumps.
    pub fn bound(&self) -> &BoundExpr {
        &self.shared.plain.bound
    }
}

/// A model with a frame of its own.
pub struct LocalExecutor<I: ?Sized, O, S: ?Sized = ()> {
    shared: Arc<Shared<I, O, S>>,
    frame: Frame,
}

impl<I: ?Sized, O, S: ?Sized> std::fmt::Debug for LocalExecutor<I, O, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LocalExecutor")
    }
}

impl<I: ?Sized + 'static, O: Output, S: ?Sized + 'static> LocalExecutor<I, O, S> {
    /// Evaluates on the own frame.
    ///
    /// # Errors
    /// As [`ModelExecutor::execute`]. After a panic of an operator the frame is replaced.
    pub fn execute(&mut self, input: &I) -> Result<O, HostError> {
        self.replace_poisoned()?;
        self.shared.run(&mut self.frame, input, &self.shared.budget)
    }

    /// The same within a budget of its own, such as one with the token or the deadline of a request.
    ///
    /// # Errors
    /// As [`LocalExecutor::execute`].
    pub fn execute_within(&mut self, input: &I, budget: &Budget) -> Result<O, HostError> {
        self.replace_poisoned()?;
        self.shared.run(&mut self.frame, input, budget)
    }

    /// Evaluates on the own frame and tells the side outputs to a sink.
    ///
    /// # Errors
    /// As [`LocalExecutor::execute`].
    pub fn execute_into(&mut self, input: &I, sink: &mut S) -> Result<O, HostError> {
        self.replace_poisoned()?;
        self.shared.run_into(&mut self.frame, input, sink, &self.shared.budget)
    }

    /// The same within a budget of its own.
    ///
    /// # Errors
    /// As [`LocalExecutor::execute`].
    pub fn execute_into_within(&mut self, input: &I, sink: &mut S, budget: &Budget) -> Result<O, HostError> {
        self.replace_poisoned()?;
        self.shared.run_into(&mut self.frame, input, sink, budget)
    }

    fn replace_poisoned(&mut self) -> Result<(), HostError> {
        if self.frame.is_poisoned() {
            self.frame = self.shared.plain.bound.new_frame()?;
        }
        Ok(())
    }
}

impl<I: ?Sized + 'static, O: Output, S: ?Sized + 'static> Shared<I, O, S> {
    fn run(&self, frame: &mut Frame, input: &I, budget: &Budget) -> Result<O, HostError> {
        self.plain.run(frame, input, budget)?;
        (self.plain.reader)(frame).ok_or(HostError::MissingOutput)
    }

    fn run_into(&self, frame: &mut Frame, input: &I, sink: &mut S, budget: &Budget) -> Result<O, HostError> {
        let Some((model, tellers)) = &self.listened else { return self.run(frame, input, budget) };
        model.run(frame, input, budget)?;
        tellers.iter().for_each(|tell| tell(frame, sink));
        (model.reader)(frame).ok_or(HostError::MissingOutput)
    }
}

impl<I: ?Sized + 'static, O: Output> Model<I, O> {
    fn new(bound: BoundExpr, loader: &dyn InputLoader<I>) -> Result<Model<I, O>, HostError> {
        let names: Vec<Arc<str>> = bound.program().main().inputs.iter().map(|i| i.0.clone()).collect();
        let setters = names.iter().map(|name| loader.bind(name, &bound)).collect::<Result<_, _>>()?;
        Ok(Model { reader: O::reader(&bound), bound, setters })
    }

    fn run(&self, frame: &mut Frame, input: &I, budget: &Budget) -> Result<(), HostError> {
        // Buffers that earlier runs left in the frame count: this run has half of its bytes at least.
        if frame.alive() > budget.bytes_alive / 2 {
            *frame = Frame::new(frame.layout())?;
        }
        for setter in &self.setters {
            setter(input, frame)?;
        }
        match budget.is_default() {
            true => self.bound.execute(frame)?,
            false => self.bound.execute_with(frame, RunOptions::new().budget(budget))?,
        }
        Ok(())
    }
}

/// The side outputs to compute.
fn wanted_outputs<S: ?Sized>(
    exports: Vec<(Arc<str>, Expr)>,
    listener: Option<&dyn SlotListener<S>>,
    ignore_others: bool,
) -> Result<Vec<(Arc<str>, Expr)>, HostError> {
    let Some(listener) = listener else { return Ok(Vec::new()) };
    let (wanted, others): (Vec<_>, Vec<_>) = exports.into_iter().partition(|(name, _)| listener.wants(name));
    match others.is_empty() || ignore_others {
        true => Ok(wanted),
        false => Err(HostError::NotListened { names: others.into_iter().map(|o| o.0).collect() }),
    }
}

fn prepare<I: ?Sized>(
    expr: &Expr,
    outputs: &[(Arc<str>, Expr)],
    loader: &dyn InputLoader<I>,
    options: &ExecutorOptions,
) -> Result<Prepared, HostError> {
    let mut inputs: Vec<(Arc<str>, QType)> = Vec::new();
    let mut missing: Vec<MissingInput> = Vec::new();
    let mut met: HashSet<Arc<str>> = HashSet::new();
    for name in expr.leaves().into_iter().chain(outputs.iter().flat_map(|(_, e)| e.leaves())) {
        if !met.insert(name.clone()) {
            continue;
        }
        match loader.qtype(&name) {
            Some(qtype) => inputs.push((name, qtype)),
            None => MissingInput::note(&mut missing, name, Span::default(), loader.names().into_iter()),
        }
    }
    if !missing.is_empty() {
        let given = GivenInputs::new(loader.names());
        return Err(CompileError::Prepare(PrepareError::MissingInputs { inputs: missing, given }).into());
    }
    let source = Source {
        expr: expr.clone(),
        inputs,
        side_outputs: outputs.to_vec(),
        registry: options.registry.clone(),
        dialect: options.dialect,
        node_limit: DEFAULT_NODE_LIMIT,
    };
    options.prepare.run(source).map_err(|e| CompileError::Prepare(e).into())
}

/// True if the mask that an expression gives is present, else false.
fn truth_of_mask(expr: &Expr) -> Result<Expr, HostError> {
    let mut graph = Graph::with_limit(expr.graph().limit().saturating_add(3));
    let root = expr.graph().copy_into(&mut graph, &[expr.root()])?[0];
    let (yes, no) = (graph.add_literal(true)?, graph.add_literal(false)?);
    let choose = graph.symbol(core::WHERE);
    let root = graph.apply(choose, &[root, yes, no])?;
    Ok(Expr::new(&graph, root)?)
}

/// The expression with its result cast to what the host reads, if that is needed and allowed.
fn cast_to(
    expr: &Expr,
    actual: &QType,
    expected: Option<QType>,
    options: &ExecutorOptions,
) -> Result<Option<Expr>, HostError> {
    let Some(expected) = expected.filter(|e| e.storage() != actual.storage()) else { return Ok(None) };
    if expected == BOOLEAN && matches!(actual, QType::Scalar(ScalarType::Unit) | &OPTIONAL_UNIT) {
        return truth_of_mask(expr).map(Some);
    }
    // A missing output read as a scalar is an error of the run, not of the type.
    let target = match (actual, &expected) {
        (QType::Optional(_), QType::Scalar(scalar)) if options.force_non_optional_output => {
            QType::Optional(*scalar)
        }
        _ => expected.clone(),
    };
    if target.storage() == actual.storage() {
        return Ok(None);
    }
    if !(options.allow_output_casting && options.dialect.casts(actual, &target)) {
        return Err(HostError::OutputType { actual: actual.clone(), expected });
    }
    let mut graph = Graph::with_limit(expr.graph().limit().saturating_add(3));
    let root = expr.graph().copy_into(&mut graph, &[expr.root()])?[0];
    let to = graph.add_literal(Literal::Type(target))?;
    let implicit_only = graph.add_literal(false)?;
    let cast = graph.symbol(cast::CAST);
    let root = graph.apply(cast, &[root, to, implicit_only])?;
    Ok(Some(Expr::new(&graph, root)?))
}
