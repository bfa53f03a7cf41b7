//! Generators: built in place where they are iterated over, with the body of the loop in the place of `yield`.
//!
//! ```text
//! def g(n):                  for v in g(3):        n = 3; i = 0, 1, 2: { v = i * i; print(v) }
//!     for i in range(n):         print(v)
//!         yield i * i
//! ```
//!
//! 1. In the body of the loop, names, `return`, `break` and `continue` are those of the place of the loop: a
//!    [`Consumer`] keeps it, and `yield` goes there and back.
//! 2. `continue` leads behind the `yield`, `break` behind the loop; a `return` of the generator ends the loop.
//! 3. A generator that is not iterated over by a loop, a comprehension or a call that uses it up is refused.

use super::arguments::PreparedCall;
use super::exceptions::Outer;
use super::rounds::{Element, Given, Round, Sink};
use super::scope::{Callable, Resolved};
use super::{Builder, LoopTargets, ReturnTo};
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::op::FunctionOp;
use crate::python::{ExprId, ExprKind, StmtId, StmtKind, Stretch};
use crate::ssa::{BlockId, InstId, VarId};
use cembra_vm::program::instruction::Span;

/// Bodies that are built in the places of `yield` in one function.
const MAX_YIELDS: usize = 200;

/// A generator that is iterated over.
pub(super) struct Generator {
    pub(super) source: Source,
    /// The counter of `enumerate`.
    pub(super) number: Option<VarId>,
    /// The scope of its text.
    pub(super) scope: usize,
}

pub(super) enum Source {
    Function(PreparedCall),
    Expression(ExprId, Stretch),
}

/// The place where a generator is iterated over.
#[derive(Clone, Debug)]
pub(super) struct Consumer {
    round: Round,
    number: Option<VarId>,
    scope: usize,
    returns: ReturnTo,
    loops: Vec<LoopTargets>,
    /// How many definitions are being built around it.
    active: usize,
    outer: Outer,
    /// How many `try` statements, handlers and `finally` blocks are around it.
    tries: usize,
}

impl Builder<'_> {
    /// True if the body of a function yields.
    pub(super) fn is_generator_function(&self, callable: Callable) -> bool {
        let tree = self.tree;
        let Some(definition) = self.definition(callable) else { return false };
        let mut work: Vec<StmtId> = tree.block(self.body_of(definition)).to_vec();
        while let Some(statement) = work.pop() {
            match tree.stmt(statement).kind {
                StmtKind::Expr(value) if matches!(tree.expr(value).kind, ExprKind::Yield(_)) => return true,
                kind => work.extend(tree.blocks_of(kind)),
            }
        }
        false
    }

    /// True for a generator expression, and for a call of a function that yields.
    pub(super) fn is_generator(&self, iter: ExprId) -> bool {
        match self.tree.expr(iter).kind {
            ExprKind::Generator(..) => true,
            ExprKind::Call { callee, .. } => match self.resolve_expr(callee) {
                Some(Resolved::Callable(callable)) => self.is_generator_function(callable),
                _ => false,
            },
            _ => false,
        }
    }

    /// What forbids a generator in `zip`: its values have no places.
    pub(super) fn rule_of_generator(&self, expr: ExprId) -> Option<&'static str> {
        match self.tree.expr(expr).kind {
            ExprKind::Generator(..) => Some("generator-expression"),
            _ if self.is_generator(expr) && !self.keeps_calls => Some("generator-function"),
            _ => None,
        }
    }

    /// The generator that an expression gives, its arguments computed.
    pub(super) fn generator(&mut self, iter: ExprId) -> Option<Generator> {
        if !self.is_generator(iter) {
            return None;
        }
        let source = match self.tree.expr(iter).kind {
            ExprKind::Generator(element, clauses) => Source::Expression(element, clauses),
            ExprKind::Call { callee, args, keywords } => {
                let Some(Resolved::Callable(callable)) = self.resolve_expr(callee) else { return None };
                // What a function of the module yields is of no interest where it is looked at alone.
                if self.keeps_calls && matches!(callable, Callable::Module(_)) {
                    return None;
                }
                Source::Function(self.prepare_call(callable, args, keywords, self.span(iter)).ok()?)
            }
            _ => return None,
        };
        Some(Generator { source, number: None, scope: self.scope })
    }

    /// A counter that begins with a number.
    pub(super) fn counter(&mut self, first: InstId, span: Span) -> VarId {
        let counter = self.merged();
        self.write(counter, first, span);
        counter
    }

    /// Builds a generator with rounds in the place of `yield`; goes on behind it.
    pub(super) fn generate(&mut self, generator: &Generator, round: Round, span: Span) {
        let exit = self.new_block();
        let consumer = Consumer {
            round,
            number: generator.number,
            scope: self.scope,
            returns: self.returns,
            loops: std::mem::take(&mut self.loops),
            active: self.active.len(),
            outer: self.protection.outer,
            tries: self.protection.depth(),
        };
        self.yields.push(consumer);
        match &generator.source {
            Source::Expression(element, clauses) => {
                self.scope = generator.scope;
                self.in_clauses(Element::One(*element), *clauses, Sink::Yield, span);
            }
            Source::Function(call) => self.generator_body(call, exit, span),
        }
        let consumer = self.yields.pop().expect("every yield puts the consumer back");
        (self.scope, self.returns, self.loops) = (consumer.scope, consumer.returns, consumer.loops);
        self.active.truncate(consumer.active);
        self.protection.outer = consumer.outer;
        self.jump_into(exit, span);
    }

    fn generator_body(&mut self, call: &PreparedCall, exit: BlockId, span: Span) {
        let definition = self.definition(call.callable).expect("a lambda does not yield");
        if self.active.contains(&definition) {
            let message = format!("the generator `{}` iterates over itself", call.name);
            self.unsupported("generator-function", message, "keep what is open in a list", span);
            return;
        }
        self.enter(call, span);
        self.active.push(definition);
        self.protection.enter();
        self.returns = ReturnTo::Exhausted(exit);
        self.statements(self.tree.block(self.body_of(definition)));
    }

    /// `yield value`.
    pub(super) fn yield_value(&mut self, value: Option<ExprId>, span: Span) {
        let value = match value {
            Some(value) => self.expr(value),
            None => self.constant(Constant::None, span),
        };
        self.yield_built(value, span);
    }

    /// A round of the place where the generator is iterated over.
    pub(super) fn yield_built(&mut self, value: InstId, span: Span) {
        if self.protection.depth() > self.yields.last().map_or(0, |consumer| consumer.tries) {
            let hint = "compute the value in the `try`, and yield it behind";
            self.unsupported("try-yield", "a generator does not yield out of a `try`", hint, span);
            return;
        }
        let Some(consumer) = self.yields.pop() else {
            if !self.keeps_calls {
                let hint = "call it in a function: for v in g(…)";
                self.unsupported("generator-function", "a generator is iterated over", hint, span);
            }
            return;
        };
        self.yields_built += 1;
        if self.yields_built > MAX_YIELDS {
            let problem = FunctionProblem::Limit { name: "generator-bodies", limit: MAX_YIELDS };
            self.refuse(FunctionError::new(problem, span));
            return self.yields.push(consumer);
        }
        let scope = std::mem::replace(&mut self.scope, consumer.scope);
        let returns = std::mem::replace(&mut self.returns, consumer.returns);
        let loops = std::mem::replace(&mut self.loops, consumer.loops.clone());
        let active = self.active.split_off(consumer.active);
        let outer = std::mem::replace(&mut self.protection.outer, consumer.outer);
        let value = match consumer.number {
            None => value,
            Some(counter) => {
                let (number, one) = (self.read(counter, span), self.int(1, span));
                let next = self.operation(FunctionOp::Step, vec![number, one], span);
                self.write(counter, next, span);
                self.operation(FunctionOp::Tuple, vec![number, value], span)
            }
        };
        let next = self.new_block();
        self.round(consumer.round, Given::One(value), next, span);
        self.jump_into(next, span);
        (self.scope, self.returns, self.loops) = (scope, returns, loops);
        self.active.extend(active);
        self.protection.outer = outer;
        self.yields.push(consumer);
    }
}
