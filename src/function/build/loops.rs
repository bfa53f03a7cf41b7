//! Loops.
//!
//! ```text
//! for i in range(a, b):     c = a; stop = b; jump head
//!                     head: branch c < stop ? body : else         a step of 1: nothing can overflow
//!                     body: i = c; …
//!                     next: c = step(c, 1); jump head
//! ```
//!
//! Rounds of a `prange` are numbered from 0, whatever numbers they stand for.
//! Other steps count how many numbers are left. What else is iterated is indexed from 0 to its length, which is
//! asked in every round as Python does.

use super::generators::{Generator, Round};
use super::{Builder, LoopTargets};
use crate::function::library::LibraryFunction;
use crate::function::op::{FunctionOp, IndexPart};
use crate::python::{CompareOp, ExprId, ExprKind, StmtId, Stretch};
use crate::ssa::{BlockId, InstId, Tail, VarId};
use cembra_vm::program::instruction::Span;

/// A value whose elements a loop gets.
#[derive(Clone, Copy)]
pub(super) struct Iterated {
    value: InstId,
    /// Its length when the loop began, where it may be a dictionary, which must not grow meanwhile.
    length: Option<InstId>,
    view: View,
}

/// What a loop gets of a dictionary.
#[derive(Clone, Copy, PartialEq)]
enum View {
    /// Its keys, as of other values their elements.
    Elements,
    Values,
    Items,
}

/// What a loop runs over.
pub(super) enum Iteration {
    /// Numbers from a start on, by a step of one up or down.
    Count { start: InstId, stop: InstId, down: bool },
    /// Numbers by any step.
    Steps { start: InstId, step: InstId, count: InstId },
    /// Numbers of rounds that may run at the same time, from 0 on; they stand for `start + round * step`.
    Rounds { start: Option<InstId>, step: Option<InstId>, count: InstId, span: Span },
    /// Elements of values, perhaps behind a number that starts somewhere.
    Elements { values: Vec<Iterated>, number: Option<InstId>, is_tuple: bool },
    /// What a generator yields.
    Generated(Box<Generator>),
}

impl<'m> Builder<'m> {
    pub(super) fn while_loop(&mut self, test: ExprId, body: Stretch, orelse: Stretch, span: Span) {
        let tree = self.tree;
        self.loop_depth += 1;
        let (head, inside) = (self.new_block(), self.new_block());
        self.loop_depth -= 1;
        let (other, end) = (self.new_block(), self.new_block());
        self.jump_into(head, span);
        self.loop_depth += 1;
        self.branch_on(test, inside, other);
        self.body(tree.block(body), inside, LoopTargets { next: head, end });
        self.end_block(Tail::Jump(head), span);
        self.loop_depth -= 1;
        self.begin(other);
        self.statements(tree.block(orelse));
        self.jump_into(end, span);
    }

    pub(super) fn for_loop(
        &mut self,
        target: ExprId,
        iter: ExprId,
        body: Stretch,
        orelse: Stretch,
        span: Span,
    ) {
        let tree = self.tree;
        let iteration = self.iteration(iter);
        if let ExprKind::Name(name) = tree.expr(target).kind {
            let variable = self.target_variable(tree.name(name));
            self.loop_targets.extend(variable);
        }
        let end = self.new_block();
        self.rounds(&iteration, Round::Body { target, body, end }, span);
        self.statements(tree.block(orelse));
        self.jump_into(end, span);
    }

    /// A loop; goes on behind it, where no `break` leads.
    pub(super) fn rounds(&mut self, iteration: &Iteration, round: Round, span: Span) {
        if let Iteration::Generated(generator) = iteration {
            return self.generate(generator, round, span);
        }
        let (counter, left) = (self.merged(), self.merged());
        self.start(iteration, counter, left, span);
        self.loop_depth += 1;
        let (head, inside, next) = (self.new_block(), self.new_block(), self.new_block());
        self.loop_depth -= 1;
        let other = self.new_block();
        self.jump_into(head, span);
        self.loop_depth += 1;
        let condition = self.goes_on(iteration, counter, left, span);
        self.end_block(Tail::Branch { condition, then: inside, orelse: other }, span);
        self.begin(inside);
        let value = self.element(iteration, counter, span);
        self.round(round, value, next, span);
        self.end_block(Tail::Jump(next), span);
        self.begin(next);
        self.advance(iteration, counter, left, span);
        self.end_block(Tail::Jump(head), span);
        self.loop_depth -= 1;
        self.begin(other);
    }

    pub(super) fn body(&mut self, body: &[StmtId], block: BlockId, targets: LoopTargets) {
        self.begin(block);
        self.loops.push(targets);
        self.statements(body);
        self.loops.pop();
    }

    /// What a loop runs over, computed once.
    pub(super) fn iteration(&mut self, iter: ExprId) -> Iteration {
        let (tree, span) = (self.tree, self.span(iter));
        if let Some(generator) = self.generator(iter) {
            return Iteration::Generated(Box::new(generator));
        }
        if let ExprKind::Call { callee, args, .. } = tree.expr(iter).kind
            && let Some(name) = self.dotted(callee)
        {
            let args = tree.expr_list(args);
            match (&*name, args) {
                ("numba.prange" | "prange", [_] | [_, _] | [_, _, _]) => {
                    return self.rounds_at_once(args, span);
                }
                ("range", [_] | [_, _] | [_, _, _]) => {
                    return self.range(args, false, span);
                }
                ("reversed", [inner]) => return self.reversed(*inner, span),
                ("enumerate", [values, rest @ ..]) if rest.len() < 2 => {
                    let generator = self.generator(*values);
                    let values = match generator {
                        Some(_) => Vec::new(),
                        None => vec![self.iterated(*values)],
                    };
                    let number = match rest {
                        [start] => self.bound(*start),
                        _ => self.int(0, span),
                    };
                    if let Some(generator) = generator {
                        let number = Some(self.counter(number, span));
                        return Iteration::Generated(Box::new(Generator { number, ..generator }));
                    }
                    return Iteration::Elements { values, number: Some(number), is_tuple: false };
                }
                ("zip", [_, ..]) => {
                    let values = args.iter().map(|value| self.iterated(*value)).collect();
                    return Iteration::Elements { values, number: None, is_tuple: true };
                }
                _ => {}
            }
        }
        let values = vec![self.iterated(iter)];
        Iteration::Elements { values, number: None, is_tuple: false }
    }

    /// A value that is gone over; `d.items()` and the like are views of it.
    fn iterated(&mut self, expr: ExprId) -> Iterated {
        let span = self.span(expr);
        let (base, view) = self.view(expr).unwrap_or((expr, View::Elements));
        let value = self.expr(base);
        let length = self.module.has_dictionaries().then(|| self.library("len", vec![value], span));
        Iterated { value, length, view }
    }

    /// `d.items()` and the like: the dictionary, and which view of it.
    fn view(&self, expr: ExprId) -> Option<(ExprId, View)> {
        let tree = self.tree;
        let ExprKind::Call { callee, args, keywords } = tree.expr(expr).kind else { return None };
        let ExprKind::Attribute(base, name) = tree.expr(callee).kind else { return None };
        if !self.module.has_dictionaries() || !args.is_empty() || !keywords.is_empty() {
            return None;
        }
        let view = match tree.name(name) {
            "keys" => View::Elements,
            "values" => View::Values,
            "items" => View::Items,
            _ => return None,
        };
        Some((base, view))
    }

    /// True for `d.items()` and the like.
    pub(super) fn is_view(&self, expr: ExprId) -> bool {
        self.view(expr).is_some()
    }

    fn bound(&mut self, expr: ExprId) -> InstId {
        let (value, span) = (self.expr(expr), self.span(expr));
        self.operation(FunctionOp::RangeBound, vec![value], span)
    }

    fn rounds_at_once(&mut self, args: &[ExprId], span: Span) -> Iteration {
        let (start, stop, step) = match args {
            [stop] => (None, *stop, None),
            [start, stop, rest @ ..] => (Some(*start), *stop, rest.first().copied()),
            [] => unreachable!("callers have counted"),
        };
        let start = start.map(|start| self.bound(start));
        let stop = self.bound(stop);
        let is_one = |step| self.constant_value(step) == Some(crate::function::constant::Constant::Int(1));
        let step = step.filter(|step| !is_one(*step)).map(|step| self.bound(step));
        let count = match (start, step) {
            (None, None) => stop,
            _ => {
                let first = start.unwrap_or_else(|| self.int(0, span));
                let step = step.unwrap_or_else(|| self.int(1, span));
                self.operation(FunctionOp::RangeCount, vec![first, stop, step], span)
            }
        };
        let start = start.or_else(|| step.map(|_| self.int(0, span)));
        Iteration::Rounds { start, step, count, span }
    }

    fn range(&mut self, args: &[ExprId], is_reversed: bool, span: Span) -> Iteration {
        let (start, stop, step) = match args {
            [stop] => (None, *stop, None),
            [start, stop] => (Some(*start), *stop, None),
            [start, stop, step, ..] => (Some(*start), *stop, Some(*step)),
            [] => unreachable!("callers have counted"),
        };
        let start = match start {
            Some(start) => self.bound(start),
            None => self.int(0, span),
        };
        let stop = self.bound(stop);
        let known = match step {
            None => Some(1),
            Some(step) => match self.constant_value(step) {
                Some(crate::function::constant::Constant::Int(step)) => Some(step),
                _ => None,
            },
        };
        if let (Some(1 | -1), false) = (known, is_reversed) {
            return Iteration::Count { start, stop, down: known == Some(-1) };
        }
        let step = match step {
            Some(step) => self.bound(step),
            None => self.int(1, span),
        };
        let count = self.operation(FunctionOp::RangeCount, vec![start, stop, step], span);
        if !is_reversed {
            return Iteration::Steps { start, step, count };
        }
        // The last number, and the same steps back: start + (count - 1) * step, which wraps to the right number.
        let one = self.int(-1, span);
        let before = self.operation(FunctionOp::Step, vec![count, one], span);
        let way = self.operation(
            FunctionOp::LibraryFunction(LibraryFunction::named("_multiply")),
            vec![before, step],
            span,
        );
        let last = self.operation(FunctionOp::Step, vec![start, way], span);
        let back = self.operation(
            FunctionOp::LibraryFunction(LibraryFunction::named("_multiply")),
            vec![step, one],
            span,
        );
        Iteration::Steps { start: last, step: back, count }
    }

    fn reversed(&mut self, inner: ExprId, span: Span) -> Iteration {
        let tree = self.tree;
        if let ExprKind::Call { callee, args, .. } = tree.expr(inner).kind
            && self.dotted(callee).as_deref() == Some("range")
            && (1..=3).contains(&args.len())
        {
            return self.range(tree.expr_list(args), true, span);
        }
        self.unsupported("reversed", "only ranges are reversed", "index from the end", span);
        Iteration::Elements { values: Vec::new(), number: None, is_tuple: true }
    }

    fn start(&mut self, iteration: &Iteration, counter: VarId, left: VarId, span: Span) {
        match iteration {
            Iteration::Count { start, .. } => self.write(counter, *start, span),
            Iteration::Steps { start, count, .. } => {
                self.write(counter, *start, span);
                self.write(left, *count, span);
            }
            Iteration::Rounds { .. } | Iteration::Elements { .. } | Iteration::Generated(_) => {
                let zero = self.int(0, span);
                self.write(counter, zero, span);
            }
        }
    }

    /// The condition that there is another element.
    fn goes_on(&mut self, iteration: &Iteration, counter: VarId, left: VarId, span: Span) -> InstId {
        let compare = |builder: &mut Self, op: CompareOp, a: InstId, b: InstId| {
            builder.operation(FunctionOp::Compare(op), vec![a, b], span)
        };
        match iteration {
            Iteration::Count { stop, down, .. } => {
                let counter = self.read(counter, span);
                compare(self, if *down { CompareOp::Greater } else { CompareOp::Less }, counter, *stop)
            }
            Iteration::Steps { .. } => {
                let (left, zero) = (self.read(left, span), self.int(0, span));
                compare(self, CompareOp::NotEqual, left, zero)
            }
            Iteration::Rounds { count, .. } => {
                let counter = self.read(counter, span);
                compare(self, CompareOp::Less, counter, *count)
            }
            Iteration::Generated(_) => unreachable!("a generator is built in place"),
            Iteration::Elements { values, .. } => {
                let lengths: Vec<InstId> = values
                    .iter()
                    .map(|of| match of.length {
                        None => self.library("len", vec![of.value], span),
                        Some(before) => self.library("_iteration_length", vec![of.value, before], span),
                    })
                    .collect();
                let length = match lengths[..] {
                    [] => self.int(0, span),
                    [one] => one,
                    _ => self.operation(
                        FunctionOp::LibraryFunction(LibraryFunction::named("min")),
                        lengths,
                        span,
                    ),
                };
                let counter = self.read(counter, span);
                compare(self, CompareOp::Less, counter, length)
            }
        }
    }

    fn element(&mut self, iteration: &Iteration, counter: VarId, span: Span) -> InstId {
        let at = self.read(counter, span);
        if let Iteration::Rounds { start, step, span, .. } = iteration {
            let round = self.operation(FunctionOp::Round, vec![at], *span);
            let way = match step {
                Some(step) => self.library("_multiply", vec![round, *step], *span),
                None => round,
            };
            return match start {
                Some(start) => self.operation(FunctionOp::Step, vec![*start, way], *span),
                None => way,
            };
        }
        let Iteration::Elements { values, number, is_tuple } = iteration else { return at };
        let mut parts: Vec<InstId> = Vec::new();
        if let Some(number) = number {
            parts.push(self.operation(FunctionOp::Step, vec![*number, at], span));
        }
        for values in values {
            parts.push(self.element_of(*values, at, span));
        }
        match (parts.len(), is_tuple) {
            (1, false) => parts[0],
            _ => self.operation(FunctionOp::Tuple, parts, span),
        }
    }

    fn element_of(&mut self, of: Iterated, at: InstId, span: Span) -> InstId {
        let args = vec![of.value, at];
        if of.length.is_none() {
            return self.operation(FunctionOp::GetItem(vec![IndexPart::At]), args, span);
        }
        match of.view {
            View::Elements => self.library("_element", args, span),
            View::Values => self.library("_value_at", args, span),
            View::Items => {
                let parts =
                    vec![self.library("_element", args.clone(), span), self.library("_value_at", args, span)];
                self.operation(FunctionOp::Tuple, parts, span)
            }
        }
    }

    fn advance(&mut self, iteration: &Iteration, counter: VarId, left: VarId, span: Span) {
        let step = match iteration {
            Iteration::Count { down: true, .. } => self.int(-1, span),
            Iteration::Steps { step, .. } => *step,
            _ => self.int(1, span),
        };
        let at = self.read(counter, span);
        let next = self.operation(FunctionOp::Step, vec![at, step], span);
        self.write(counter, next, span);
        if let Iteration::Steps { .. } = iteration {
            let (at, one) = (self.read(left, span), self.int(-1, span));
            let next = self.operation(FunctionOp::Step, vec![at, one], span);
            self.write(left, next, span);
        }
    }
}
