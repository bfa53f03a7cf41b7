//! Comprehensions, and calls that use up what they iterate over: `sum(x * x for x in a)`.
//!
//! Clauses are loops inside of each other; the innermost computes the element and hands it to a [`Sink`].

use super::Builder;
use super::rounds::{Element, Round, Sink};
use super::scope::{Binding, Scope};
use crate::function::constant::Constant;
use crate::function::library::{LibraryFunction, LibraryKind};
use crate::function::op::{FunctionOp, IndexPart};
use crate::python::{BinaryOp, ExprId, ExprKind, Stretch};
use crate::ssa::{InstId, Tail};
use cembra_vm::program::instruction::Span;

impl Builder<'_> {
    /// `[element for … if …]`: a list, and loops that append to it.
    pub(super) fn comprehension(&mut self, element: ExprId, clauses: Stretch, span: Span) -> InstId {
        let list = self.library("_list", vec![], span);
        self.in_clauses(Element::One(element), clauses, Sink::List(list), span);
        list
    }

    /// Clauses around an element. Their targets are names of the comprehension only.
    pub(super) fn in_clauses(&mut self, element: Element, clauses: Stretch, sink: Sink, span: Span) {
        self.scopes.push(Scope::of_comprehension(self.scope));
        let inner = self.scopes.len() - 1;
        let outer = std::mem::replace(&mut self.scope, inner);
        self.clauses(clauses, element, sink, span);
        self.scope = outer;
    }

    /// Loops of the clauses, from the outermost on.
    pub(super) fn clauses(&mut self, clauses: Stretch, element: Element, sink: Sink, span: Span) {
        let tree = self.tree;
        let Some(clause) = tree.clauses(clauses).first().copied() else {
            return match (element, sink) {
                (Element::Pair(key, value), Sink::Dict(dict)) => {
                    let (key, value) = (self.expr(key), self.expr(value));
                    self.operation(FunctionOp::SetItem(vec![IndexPart::At]), vec![dict, value, key], span);
                }
                (Element::One(element) | Element::Pair(element, _), sink) => {
                    let value = self.expr(element);
                    self.sink(sink, value, span);
                }
            };
        };
        // What the first clause runs over is computed in the scope around the comprehension.
        let (inside, around) = (self.scope, self.scope_of_iterated());
        self.scope = around;
        let iteration = self.iteration(clause.iter);
        self.scope = inside;
        self.declare(clause.target);
        let inner = clauses.behind_first();
        self.rounds(&iteration, Round::Clause { clause, inner, element, sink }, span);
    }

    /// The scope in which a clause computes what it runs over: the first one, which has no targets before it, around
    /// the comprehension.
    fn scope_of_iterated(&self) -> usize {
        let scope = &self.scopes[self.scope];
        if scope.names.is_empty() { scope.parent } else { self.scope }
    }

    /// Uses one element.
    pub(super) fn sink(&mut self, sink: Sink, value: InstId, span: Span) {
        match sink {
            Sink::List(list) => drop(self.library("_append", vec![list, value], span)),
            Sink::Set(set) | Sink::Dict(set) => drop(self.library("_add", vec![set, value], span)),
            Sink::Sum(sum) => {
                let before = self.read(sum, span);
                let next = self.operation(FunctionOp::Binary(BinaryOp::Add), vec![before, value], span);
                self.write(sum, next, span);
            }
            Sink::Decide { decides, result, end } => {
                let condition = self.operation(FunctionOp::Truth, vec![value], span);
                let (found, next) = (self.new_block(), self.new_block());
                let (then, orelse) = if decides { (found, next) } else { (next, found) };
                self.end_block(Tail::Branch { condition, then, orelse }, span);
                self.begin(found);
                self.write_bool(result, decides, span);
                self.end_block(Tail::Jump(end), span);
                self.begin(next);
            }
            Sink::Yield => self.yield_built(value, span),
        }
    }

    /// Makes the names of a target those of the scope at hand.
    fn declare(&mut self, target: ExprId) {
        let tree = self.tree;
        match tree.expr(target).kind {
            ExprKind::Name(name) => {
                let name = tree.name(name).to_owned();
                let variable = self.variable(&name);
                self.loop_targets.push(variable);
                self.scopes[self.scope].names.insert(name, Binding::Variable(variable));
            }
            ExprKind::Tuple(parts) | ExprKind::List(parts) => {
                tree.expr_list(parts).iter().for_each(|part| self.declare(*part));
            }
            _ => {}
        }
    }

    /// `sum`, `min`, `max`, `any` and `all` of what a generator yields; `None` of other arguments.
    pub(super) fn consume(
        &mut self,
        builtin: LibraryFunction,
        args: &[ExprId],
        span: Span,
    ) -> Option<InstId> {
        if let ("sum", [iter, start]) = (builtin.name(), args) {
            return self.sum_from(*iter, *start, span);
        }
        let ([iter], false) = (args, builtin.name().contains('.')) else { return None };
        let kind = builtin.kind();
        let is_any = kind == LibraryKind::Any;
        match kind {
            LibraryKind::Sum | LibraryKind::Any | LibraryKind::All | LibraryKind::Min | LibraryKind::Max => {}
            _ => return None,
        }
        if !self.is_generator(*iter) && !self.is_view(*iter) && !self.is_range(*iter) {
            return None;
        }
        Some(match kind {
            LibraryKind::Sum => {
                let sum = self.merged();
                let zero = self.int(0, span);
                self.write(sum, zero, span);
                self.use_up(*iter, Sink::Sum(sum), span);
                self.read(sum, span)
            }
            LibraryKind::Any | LibraryKind::All => {
                let (result, end) = (self.merged(), self.new_block());
                self.use_up(*iter, Sink::Decide { decides: is_any, result, end }, span);
                let otherwise = self.constant(Constant::Bool(!is_any), span);
                self.write(result, otherwise, span);
                self.jump_into(end, span);
                self.read(result, span)
            }
            _ => {
                let list = self.list_of(*iter, span);
                self.operation(FunctionOp::LibraryFunction(builtin), vec![list], span)
            }
        })
    }

    /// `sum(iter, start)`; `None` if something is unpacked, or the start would be computed before what a generator
    /// expression begins with.
    pub(super) fn sum_from(&mut self, iter: ExprId, start: ExprId, span: Span) -> Option<InstId> {
        let kind = |expr| self.tree.expr(expr).kind;
        let is_plain = matches!(kind(start), ExprKind::Name(_)) || self.constant_value(start).is_some();
        match (kind(iter), kind(start)) {
            (ExprKind::Starred(_), _) | (_, ExprKind::Starred(_)) => return None,
            (ExprKind::Generator(..), _) if !is_plain => return None,
            _ => {}
        }
        let iteration = self.iteration(iter);
        let (sum, start) = (self.merged(), self.expr(start));
        self.write(sum, start, span);
        self.rounds(&iteration, Round::Take(Sink::Sum(sum)), span);
        Some(self.read(sum, span))
    }

    /// `list(iter)`.
    pub(super) fn list_of(&mut self, iter: ExprId, span: Span) -> InstId {
        let list = self.library("_list", vec![], span);
        self.use_up(iter, Sink::List(list), span);
        list
    }

    /// `set(iter)`.
    pub(super) fn set_of(&mut self, iter: ExprId, span: Span) -> InstId {
        let set = self.library("_set", vec![], span);
        self.use_up(iter, Sink::Set(set), span);
        set
    }

    /// Hands the elements of a value to a sink.
    pub(super) fn use_up_value(&mut self, value: InstId, sink: Sink, span: Span) {
        let iteration = self.iteration_of(value);
        self.rounds(&iteration, Round::Take(sink), span);
    }

    pub(super) fn use_up(&mut self, iter: ExprId, sink: Sink, span: Span) {
        let iteration = self.iteration(iter);
        self.rounds(&iteration, Round::Take(sink), span);
    }

    /// A call of a function that the library has.
    pub(super) fn library(&mut self, name: &'static str, args: Vec<InstId>, span: Span) -> InstId {
        self.operation(FunctionOp::LibraryFunction(LibraryFunction::named(name)), args, span)
    }
}
