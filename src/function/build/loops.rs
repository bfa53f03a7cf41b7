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

use super::generators::Generator;
use super::rounds::{Given, Round};
use super::{Builder, LoopTargets};
use crate::function::error::FunctionError;
use crate::function::library::LibraryFunction;
use crate::function::op::{FunctionOp, IndexPart};
use crate::python::{CompareOp, ExprId, ExprKind, StmtId, Stretch, UnaryOp};
use crate::ssa::{BlockId, InstId, Tail, VarId};
use cembra_vm::program::instruction::Span;

/// What a loop gets elements of, by their number.
pub(super) enum Iterated {
    /// Elements of a value.
    Value {
        value: InstId,
        /// Its length when the loop began, where it may be a dictionary, which must not grow meanwhile.
        length: Option<InstId>,
        view: View,
    },
    /// Elements of a value, from its end.
    Reversed { value: InstId, length: InstId },
    /// `start + number * step`; no step is one.
    Numbers { start: InstId, step: Option<InstId>, count: InstId },
    /// Tuples of an element of each, as long as all have one.
    Together(Vec<Iterated>),
    /// Pairs of a number that counts up from another one, and an element.
    Numbered { first: InstId, of: Box<Iterated> },
}

/// What a loop gets of a dictionary.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum View {
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
    /// Elements by their number, from 0 on.
    Elements(Iterated),
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
        if let ExprKind::Call { callee, args, keywords } = tree.expr(iter).kind
            && let Some(name) = self.dotted(callee)
        {
            let args = tree.expr_list(args);
            match (&*name, args) {
                ("numba.prange" | "prange", [_] | [_, _] | [_, _, _]) if keywords.is_empty() => {
                    return self.rounds_at_once(args, span);
                }
                ("range", [_] | [_, _] | [_, _, _]) if keywords.is_empty() => {
                    return self.range(args, false, span);
                }
                ("reversed", [inner]) if keywords.is_empty() => {
                    if let Some(range) = self.reversed_range(*inner, span) {
                        return range;
                    }
                }
                ("enumerate", [values, rest @ ..]) if rest.len() < 2 => {
                    if let Some(generator) = self.generator(*values) {
                        let first = self.enumerated_from(args, keywords, span);
                        let number = Some(self.counter(first, span));
                        return Iteration::Generated(Box::new(Generator { number, ..generator }));
                    }
                }
                _ => {}
            }
        }
        Iteration::Elements(self.iterated(iter))
    }

    /// What a loop, `zip` or `enumerate` goes over.
    fn iterated(&mut self, expr: ExprId) -> Iterated {
        let (tree, span) = (self.tree, self.span(expr));
        if let ExprKind::Call { callee, args, keywords } = tree.expr(expr).kind
            && let Some(name) = self.dotted(callee)
        {
            let args = tree.expr_list(args);
            match (&*name, args) {
                ("range", [_] | [_, _] | [_, _, _]) if keywords.is_empty() => {
                    let (start, stop) = self.range_ends(args, span);
                    let step = args.get(2).map(|step| self.bound(*step));
                    let by = step.unwrap_or_else(|| self.int(1, span));
                    let count = self.operation(FunctionOp::RangeCount, vec![start, stop, by], span);
                    return Iterated::Numbers { start, step, count };
                }
                ("enumerate", [values, rest @ ..]) if rest.len() < 2 => {
                    let of = Box::new(self.iterated(*values));
                    let first = self.enumerated_from(args, keywords, span);
                    return Iterated::Numbered { first, of };
                }
                ("zip", [_, ..]) if keywords.is_empty() => {
                    return Iterated::Together(args.iter().map(|value| self.iterated(*value)).collect());
                }
                ("reversed", [inner]) if keywords.is_empty() => return self.reversed(*inner, span),
                _ => {}
            }
        }
        if let Some(rule) = self.rule_of_generator(expr) {
            let hint = "make a list of it: `list(…)`, or `[…]` in the place of `(…)`";
            self.unsupported(
                rule,
                "a generator is iterated over alone, not together with others",
                hint,
                span,
            );
            return Iterated::Together(Vec::new());
        }
        let (base, view) = self.view(expr).unwrap_or((expr, View::Elements));
        let value = self.iterated_value(base);
        let length = self.module.has_dictionaries().then(|| self.library("len", vec![value], span));
        Iterated::Value { value, length, view }
    }

    /// The first number of `enumerate(values, start)`.
    fn enumerated_from(&mut self, args: &[ExprId], keywords: Stretch, span: Span) -> InstId {
        let tree = self.tree;
        match (args, tree.keywords(keywords)) {
            ([_], []) => self.int(0, span),
            ([_, start], []) => self.bound(*start),
            ([_], [keyword]) if tree.name(keyword.name) == "start" => self.bound(keyword.value),
            _ => self.refuse(FunctionError::types("enumerate() takes a value, and a start", span)),
        }
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

    /// Going over the elements of a list.
    pub(super) fn iteration_of(&self, value: InstId) -> Iteration {
        Iteration::Elements(Iterated::Value { value, length: None, view: View::Elements })
    }

    /// True for `range(…)`.
    pub(super) fn is_range(&self, expr: ExprId) -> bool {
        let tree = self.tree;
        let ExprKind::Call { callee, args, keywords } = tree.expr(expr).kind else { return false };
        keywords.is_empty()
            && (1..=3).contains(&args.len())
            && self.dotted(callee).as_deref() == Some("range")
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

    /// Start and stop of a range.
    fn range_ends(&mut self, args: &[ExprId], span: Span) -> (InstId, InstId) {
        match args {
            [stop] => (self.int(0, span), self.bound(*stop)),
            [start, stop, ..] => (self.bound(*start), self.bound(*stop)),
            [] => unreachable!("callers have counted"),
        }
    }

    fn range(&mut self, args: &[ExprId], is_reversed: bool, span: Span) -> Iteration {
        let (start, stop) = self.range_ends(args, span);
        let known = match args {
            [_, _, step, ..] => match self.constant_value(*step) {
                Some(crate::function::constant::Constant::Int(step)) => Some(step),
                _ => None,
            },
            _ => Some(1),
        };
        if let (Some(1 | -1), false) = (known, is_reversed) {
            return Iteration::Count { start, stop, down: known == Some(-1) };
        }
        let step = match args.get(2) {
            Some(step) => self.bound(*step),
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

    /// A range from its end.
    fn reversed_range(&mut self, inner: ExprId, span: Span) -> Option<Iteration> {
        let tree = self.tree;
        match tree.expr(inner).kind {
            ExprKind::Call { args, .. } if self.is_range(inner) => {
                Some(self.range(tree.expr_list(args), true, span))
            }
            _ => None,
        }
    }

    fn reversed(&mut self, inner: ExprId, span: Span) -> Iterated {
        if let Some(Iteration::Steps { start, step, count }) = self.reversed_range(inner, span) {
            return Iterated::Numbers { start, step: Some(step), count };
        }
        if self.is_view(inner) || self.is_generator(inner) {
            self.unsupported("reversed", "what has no places is not reversed", "list(…) of it", span);
            return Iterated::Together(Vec::new());
        }
        let value = self.expr(inner);
        Iterated::Reversed { value, length: self.library("len", vec![value], span) }
    }

    fn start(&mut self, iteration: &Iteration, counter: VarId, left: VarId, span: Span) {
        match iteration {
            Iteration::Count { start, .. } => self.write(counter, *start, span),
            Iteration::Steps { start, count, .. } => {
                self.write(counter, *start, span);
                self.write(left, *count, span);
            }
            Iteration::Rounds { .. } | Iteration::Elements(_) | Iteration::Generated(_) => {
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
            Iteration::Elements(of) => {
                let mut lengths = Vec::new();
                self.lengths(of, &mut lengths, span);
                let length = match lengths[..] {
                    [] => self.int(0, span),
                    [one] => one,
                    _ => self.library("min", lengths, span),
                };
                let counter = self.read(counter, span);
                compare(self, CompareOp::Less, counter, length)
            }
        }
    }

    fn element(&mut self, iteration: &Iteration, counter: VarId, span: Span) -> Given {
        let at = self.read(counter, span);
        if let Iteration::Rounds { start, step, span, .. } = iteration {
            let round = self.operation(FunctionOp::Round, vec![at], *span);
            let way = match step {
                Some(step) => self.library("_multiply", vec![round, *step], *span),
                None => round,
            };
            return Given::One(match start {
                Some(start) => self.operation(FunctionOp::Step, vec![*start, way], *span),
                None => way,
            });
        }
        match iteration {
            Iteration::Elements(of) => self.element_of(of, at, span),
            _ => Given::One(at),
        }
    }

    /// How many elements each value has.
    fn lengths(&mut self, of: &Iterated, lengths: &mut Vec<InstId>, span: Span) {
        match of {
            Iterated::Value { value, length: None, .. } => {
                lengths.push(self.library("len", vec![*value], span));
            }
            Iterated::Value { value, length: Some(before), .. } => {
                lengths.push(self.library("_iteration_length", vec![*value, *before], span));
            }
            Iterated::Reversed { length, .. } => lengths.push(*length),
            Iterated::Numbers { count, .. } => lengths.push(*count),
            Iterated::Together(all) => all.iter().for_each(|of| self.lengths(of, lengths, span)),
            Iterated::Numbered { of, .. } => self.lengths(of, lengths, span),
        }
    }

    fn element_of(&mut self, of: &Iterated, at: InstId, span: Span) -> Given {
        Given::One(match of {
            Iterated::Value { value, length: None, .. } => {
                self.operation(FunctionOp::GetItem(vec![IndexPart::At]), vec![*value, at], span)
            }
            Iterated::Value { value, view: View::Elements, .. } => {
                self.library("_element", vec![*value, at], span)
            }
            Iterated::Value { value, view: View::Values, .. } => {
                self.library("_value_at", vec![*value, at], span)
            }
            Iterated::Value { value, view: View::Items, .. } => {
                let key = self.library("_element", vec![*value, at], span);
                let pair = [key, self.library("_value_at", vec![*value, at], span)];
                return Given::Parts(pair.map(Given::One).into());
            }
            Iterated::Reversed { value, length } => {
                // The number of the last element is its place from the end, -1.
                let from_end = self.operation(FunctionOp::Unary(UnaryOp::Invert), vec![at], span);
                let place = self.operation(FunctionOp::Step, vec![*length, from_end], span);
                let op = FunctionOp::GetItem(vec![IndexPart::At]);
                match self.module.has_dictionaries() {
                    true => self.library("_element", vec![*value, place], span),
                    false => self.operation(op, vec![*value, place], span),
                }
            }
            Iterated::Numbers { start, step, .. } => {
                let way = step.map_or(at, |step| self.library("_multiply", vec![at, step], span));
                self.operation(FunctionOp::Step, vec![*start, way], span)
            }
            Iterated::Together(all) => {
                return Given::Parts(all.iter().map(|of| self.element_of(of, at, span)).collect());
            }
            Iterated::Numbered { first, of } => {
                let number = self.operation(FunctionOp::Step, vec![*first, at], span);
                return Given::Parts(vec![Given::One(number), self.element_of(of, at, span)]);
            }
        })
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
