//! From the tree to blocks: statements and expressions become operations on variables.
//!
//! ```text
//! while test:          jump head
//!     body       head: branch test ? body : else
//! else:          body: …; jump head                    `continue` leads to head, `break` behind else
//!     orelse     else: …; jump end
//! ```
//!
//! Operands are computed from left to right, each once; what is stored comes before the place where it goes, as in
//! Python. Conditions are branches: `and`, `or`, `not` and chained comparisons need no truth values there.
//!
//! Calls of functions of the module, inner functions and lambdas are built in place, as long as they do not
//! recurse and a function does not grow beyond 200 of them; other calls stay calls. What is
//! passed as a function is known where it is called.

mod arguments;
mod calls;
mod comprehensions;
mod conditions;
mod exceptions;
mod expressions;
mod generators;
mod loops;
mod rounds;
mod scope;
mod statements;

use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::module::FunctionModule;
use crate::function::op::{FunctionId, FunctionOp};
use crate::python::{ExprId, PyTree, StmtId, StmtKind};
use crate::ssa::{BlockId, Flow, InstId, SsaOp, SsaOperation, Tail, VarId};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Category;
use exceptions::Protection;
use generators::Consumer;
use hashbrown::{HashMap, HashSet};
use scope::{Binding, Scope, Source};

/// Calls that are built in place in one function.
const MAX_INLINED: usize = 200;
/// Statements, operators, brackets and conditions inside of each other.
const MAX_DEPTH: usize = 500;
/// Depth beyond which calls are not built in place.
const MAX_INLINE_DEPTH: usize = 100;
/// Errors of a function that are kept.
const MAX_ERRORS: usize = 1_000;
/// Instructions of a function.
const MAX_INSTRUCTIONS: usize = 1_000_000;

/// An error that a function raises itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaisedFailure {
    /// Category of the fault.
    pub category: Category,
    /// CPython's class, and the message behind `: `.
    pub message: String,
}

/// A function as blocks over variables.
#[derive(Clone, Debug)]
pub struct BuiltFunction {
    /// Its name.
    pub name: String,
    /// The blocks.
    pub flow: Flow<FunctionOp>,
    /// Names of parameters, with the default values that constants give.
    pub parameters: Vec<(String, Option<Constant>)>,
    /// Names of variables; empty for those that the compiler made.
    pub variables: Vec<String>,
    /// What tails raise.
    pub failures: Vec<RaisedFailure>,
    /// Places of statements that no path leads to.
    pub unreachable: Vec<Span>,
    /// Variables that are targets of `for`.
    pub loop_targets: Vec<VarId>,
    /// Reads by an inner function, a lambda or a comprehension of variables of the function around it.
    pub free_reads: HashSet<InstId>,
}

impl BuiltFunction {
    /// Stands for a function that could not be built.
    pub(super) fn failed(name: &str) -> BuiltFunction {
        BuiltFunction {
            name: name.to_owned(),
            flow: Flow::new(),
            parameters: Vec::new(),
            variables: Vec::new(),
            failures: Vec::new(),
            unreachable: Vec::new(),
            loop_targets: Vec::new(),
            free_reads: HashSet::new(),
        }
    }
}

/// Builds a function.
///
/// # Errors
/// What functions cannot do: all of it.
pub fn build(module: &FunctionModule, id: FunctionId) -> Result<BuiltFunction, Vec<FunctionError>> {
    Builder::new(module).build(id)
}

/// The same with all calls of functions of the module as calls: what is found is in this function. The errors of
/// [`build`] stand beside what could be built.
pub fn build_alone(module: &FunctionModule, id: FunctionId) -> (BuiltFunction, Vec<FunctionError>) {
    let mut builder = Builder::new(module);
    builder.keeps_calls = true;
    builder.built(id)
}

impl Builder<'_> {
    fn build(self, id: FunctionId) -> Result<BuiltFunction, Vec<FunctionError>> {
        match self.built(id) {
            (function, errors) if errors.is_empty() => Ok(function),
            (_, errors) => Err(errors),
        }
    }

    fn built(self, id: FunctionId) -> (BuiltFunction, Vec<FunctionError>) {
        let module = self.module;
        let mut builder = self;
        let parameters = builder.function(module.definition(id));
        let Builder { mut flow, errors, variables, failures, loop_targets, free_reads, .. } = builder;
        let unreachable = flow.remove_unreachable();
        let name = module.name(id).to_owned();
        let function = BuiltFunction {
            name,
            flow,
            parameters,
            variables,
            failures,
            unreachable,
            loop_targets,
            free_reads,
        };
        (function, errors)
    }
}

/// Where `return` leads.
#[derive(Clone, Copy, Debug)]
enum ReturnTo {
    /// Out of the function.
    Caller,
    /// Behind a call that was built in place, its result in a variable.
    Inline { result: VarId, exit: BlockId },
    /// Behind the loop over a generator that was built in place.
    Exhausted(BlockId),
}

/// Where `break` and `continue` lead.
#[derive(Clone, Copy, Debug)]
struct LoopTargets {
    next: BlockId,
    end: BlockId,
}

struct Builder<'m> {
    module: &'m FunctionModule,
    tree: &'m PyTree,
    flow: Flow<FunctionOp>,
    /// The block that is being filled.
    block: BlockId,
    /// Loops around it.
    loop_depth: u32,
    scopes: Vec<Scope>,
    /// The scope of the statement at hand.
    scope: usize,
    loops: Vec<LoopTargets>,
    returns: ReturnTo,
    /// Where `yield` leads, innermost last.
    yields: Vec<Consumer>,
    yields_built: usize,
    /// Definitions that are being built in place, and the function itself.
    active: Vec<StmtId>,
    inlined: usize,
    /// True if calls of functions of the module stay calls.
    keeps_calls: bool,
    /// Default values that are no literals, by scope of the function and expression.
    defaults: HashMap<(usize, ExprId), VarId>,
    /// Inner functions that a path may name before it defines them, with a variable that has a value behind the definition.
    late: HashMap<(usize, Source), VarId>,
    /// How many arguments `*args` holds, and whether `f(*args)` made use of that.
    rest_lengths: HashMap<VarId, (usize, bool)>,
    loop_targets: Vec<VarId>,
    free_reads: HashSet<InstId>,
    /// Expressions around the one at hand.
    depth: usize,
    /// The limit of instructions was reached.
    was_full: bool,
    variables: Vec<String>,
    protection: Protection,
    failures: Vec<RaisedFailure>,
    failure_numbers: HashMap<RaisedFailure, u32>,
    errors: Vec<FunctionError>,
}

impl<'m> Builder<'m> {
    fn new(module: &'m FunctionModule) -> Builder<'m> {
        let flow = Flow::new();
        Builder {
            module,
            tree: module.tree(),
            flow,
            block: BlockId(0),
            loop_depth: 0,
            scopes: vec![Scope::default()],
            scope: 0,
            loops: Vec::new(),
            returns: ReturnTo::Caller,
            yields: Vec::new(),
            yields_built: 0,
            active: Vec::new(),
            inlined: 0,
            keeps_calls: false,
            defaults: HashMap::new(),
            late: HashMap::new(),
            rest_lengths: HashMap::new(),
            loop_targets: Vec::new(),
            free_reads: HashSet::new(),
            depth: 0,
            was_full: false,
            variables: Vec::new(),
            protection: Protection::default(),
            failures: Vec::new(),
            failure_numbers: HashMap::new(),
            errors: Vec::new(),
        }
    }

    /// Builds the definition as the function itself; gives its parameters.
    fn function(&mut self, definition: StmtId) -> Vec<(String, Option<Constant>)> {
        let tree = self.tree;
        let StmtKind::FunctionDef { parameters, body, .. } = tree.stmt(definition).kind else {
            unreachable!("a function is a definition")
        };
        self.active.push(definition);
        self.scope = self.new_scope(0, tree.block(body));
        let mut names = Vec::new();
        for (position, parameter) in tree.parameters(parameters).iter().enumerate() {
            let name = tree.name(parameter.name).to_owned();
            let variable = self.variable(&name);
            self.scopes[self.scope].names.insert(name.clone(), Binding::Variable(variable));
            let value = self.operation(FunctionOp::Param(position as u32), vec![], parameter.span);
            self.write(variable, value, parameter.span);
            let default = parameter.default.and_then(|default| self.constant_value(default));
            names.push((name, default));
        }
        // The entry has no predecessors, whatever loops come first.
        let first = self.flow.add_block(0);
        self.end_block(Tail::Jump(first), Span::default());
        self.block = first;
        self.statements(tree.block(body));
        // The end of the body has no place of its own.
        let end = Span::default();
        let none = self.operation(FunctionOp::Constant(Constant::None), vec![], end);
        self.end_block(Tail::Return(none), end);
        names
    }

    /// Appends an operation to the block at hand.
    fn operation(&mut self, op: FunctionOp, args: Vec<InstId>, span: Span) -> InstId {
        self.is_full(span);
        if op.has_effects() {
            self.guard(span);
        }
        self.flow.push(self.block, SsaOp::Do(op), args, span)
    }

    /// True at the limit of instructions, where nothing is built any more: what stands there instead means nothing, so
    /// that the first call that gives true notes the error.
    fn is_full(&mut self, span: Span) -> bool {
        let is_full = self.flow.insts.len() >= MAX_INSTRUCTIONS;
        if is_full && !std::mem::replace(&mut self.was_full, true) {
            let problem = FunctionProblem::Limit { name: "function-instructions", limit: MAX_INSTRUCTIONS };
            self.errors.push(FunctionError::new(problem, span));
        }
        is_full
    }

    fn constant(&mut self, constant: Constant, span: Span) -> InstId {
        self.operation(FunctionOp::Constant(constant), vec![], span)
    }

    fn int(&mut self, value: i64, span: Span) -> InstId {
        self.constant(Constant::Int(value), span)
    }

    fn read(&mut self, variable: VarId, span: Span) -> InstId {
        // What the compiler made has a value.
        let is_named = !self.variables[variable.index()].is_empty();
        if is_named {
            self.guard(span);
        }
        let read = self.flow.push(self.block, SsaOp::Read(variable), vec![], span);
        if is_named && !self.is_local(variable) {
            self.free_reads.insert(read);
        }
        read
    }

    fn write(&mut self, variable: VarId, value: InstId, span: Span) {
        self.flow.push(self.block, SsaOp::Write(variable), vec![value], span);
        self.protection.note_write(self.block);
    }

    /// A variable with a name, or without one.
    fn variable(&mut self, name: &str) -> VarId {
        self.variables.push(name.to_owned());
        self.flow.add_variable()
    }

    fn new_block(&mut self) -> BlockId {
        self.flow.add_block(self.loop_depth)
    }

    /// Ends the block at hand; what follows stands in a block that nothing leads to, until another is begun.
    fn end_block(&mut self, tail: Tail, span: Span) {
        let block = &mut self.flow.blocks[self.block.index()];
        (block.tail, block.tail_span) = (tail, span);
        self.block = self.flow.add_block(self.loop_depth);
        // Only blocks that are begun properly get a tail of their own.
        self.flow.blocks[self.block.index()].tail = Tail::Jump(self.block);
    }

    /// Ends the block at hand with a jump, and goes on in another block.
    fn jump_into(&mut self, block: BlockId, span: Span) {
        self.end_block(Tail::Jump(block), span);
        self.begin(block);
    }

    fn begin(&mut self, block: BlockId) {
        self.block = block;
    }

    /// Ends the block at hand with an error.
    fn fail(&mut self, category: Category, message: String, span: Span) {
        let failure = RaisedFailure { category, message };
        let next = self.failures.len() as u32;
        let number = *self.failure_numbers.entry(failure.clone()).or_insert(next);
        if number == next {
            self.failures.push(failure);
        }
        self.guard(span);
        self.end_block(Tail::Fail(number), span);
    }

    /// Notes an error; the value that stands for what is wrong.
    fn refuse(&mut self, error: FunctionError) -> InstId {
        let span = error.span;
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
        self.constant(Constant::None, span)
    }

    fn unsupported(
        &mut self,
        rule: &'static str,
        message: impl Into<String>,
        hint: &'static str,
        span: Span,
    ) -> InstId {
        self.refuse(FunctionError::unsupported(rule, message, hint, span))
    }

    fn span(&self, expr: ExprId) -> Span {
        self.tree.expr(expr).span
    }

    /// The value of an expression that is a literal, with a sign or not.
    fn constant_value(&self, expr: ExprId) -> Option<Constant> {
        use crate::python::{ExprKind, UnaryOp};
        match self.tree.expr(expr).kind {
            ExprKind::Int(value) => Some(Constant::Int(value)),
            ExprKind::Float(value) => Some(Constant::Float(value)),
            ExprKind::Bool(value) => Some(Constant::Bool(value)),
            ExprKind::None => Some(Constant::None),
            ExprKind::Text(text) => Some(Constant::Text(self.tree.name(text).into())),
            ExprKind::Unary(UnaryOp::Neg, operand) => match self.tree.expr(operand).kind {
                ExprKind::Int(value) => Some(Constant::Int(value.checked_neg()?)),
                ExprKind::Float(value) => Some(Constant::Float(-value)),
                _ => None,
            },
            _ => None,
        }
    }
}
