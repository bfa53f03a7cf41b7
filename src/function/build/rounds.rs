//! What a loop gives in its rounds, and what is done with it, whoever gives it.
//!
//! | loop | gives | a round |
//! | --- | --- | --- |
//! | `for a, b in zip(x, y)` | two parts | [`Round::Body`] |
//! | `[v for v in x if v > 0]` | one value | [`Round::Clause`], the innermost into a [`Sink`] |
//! | `sum(g(n))` | what `g` yields | [`Round::Take`] |
//!
//! A tuple that a loop gives is made only if the target takes it whole.

use super::{Builder, LoopTargets};
use crate::function::op::FunctionOp;
use crate::python::tree::PyClause;
use crate::python::{ExprId, ExprKind, Stretch};
use crate::ssa::{BlockId, InstId, VarId};
use cembra_vm::program::instruction::Span;

/// Where the elements of a comprehension go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sink {
    /// Behind the last element of a list.
    List(InstId),
    /// Into a set.
    Set(InstId),
    /// Into a dictionary, keys and values.
    Dict(InstId),
    /// Onto a sum.
    Sum(VarId),
    /// Control goes to `end` with the result `decides` at the first element whose truth it is.
    Decide { decides: bool, result: VarId, end: BlockId },
    /// Where the generator is used.
    Yield,
}

/// What is computed in the innermost clause.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    /// A value.
    One(ExprId),
    /// A key and a value.
    Pair(ExprId, ExprId),
}

/// What is done with each value that a loop gives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Round {
    /// It is assigned to the target of a `for`, and the body runs; `break` leads to `end`.
    Body { target: ExprId, body: Stretch, end: BlockId },
    /// It is assigned to the target of a clause, and the clauses inside of it run.
    Clause { clause: PyClause, inner: Stretch, element: Element, sink: Sink },
    /// It is used as it is.
    Take(Sink),
}

/// What a loop gives in a round: a value, or a tuple whose fields need not become one.
pub(super) enum Given {
    One(InstId),
    Parts(Vec<Given>),
}

impl Builder<'_> {
    /// One round of a loop; `next` is where the next one begins.
    pub(super) fn round(&mut self, round: Round, given: Given, next: BlockId, span: Span) {
        let tree = self.tree;
        match round {
            Round::Body { target, body, end } => {
                self.store_given(target, given, span);
                self.body(tree.block(body), self.block, LoopTargets { next, end });
            }
            Round::Clause { clause, inner, element, sink } => {
                self.store_given(clause.target, given, span);
                for condition in tree.expr_list(clause.conditions) {
                    let holds = self.new_block();
                    self.branch_on(*condition, holds, next);
                    self.begin(holds);
                }
                self.clauses(inner, element, sink, span);
            }
            Round::Take(sink) => {
                let value = self.whole(given, span);
                self.sink(sink, value, span);
            }
        }
    }

    /// Assigns what a loop gives: parts to the parts of a target.
    fn store_given(&mut self, target: ExprId, given: Given, span: Span) {
        let tree = self.tree;
        match (given, tree.expr(target).kind) {
            (Given::Parts(given), ExprKind::Tuple(parts) | ExprKind::List(parts))
                if given.len() == parts.len() =>
            {
                for (part, given) in tree.expr_list(parts).iter().zip(given) {
                    self.store_given(*part, given, span);
                }
            }
            (given, _) => {
                let value = self.whole(given, span);
                self.store(target, value);
            }
        }
    }

    /// One value of all that a loop gives.
    fn whole(&mut self, given: Given, span: Span) -> InstId {
        match given {
            Given::One(value) => value,
            Given::Parts(parts) => {
                let fields = parts.into_iter().map(|part| self.whole(part, span)).collect();
                self.operation(FunctionOp::Tuple, fields, span)
            }
        }
    }
}
