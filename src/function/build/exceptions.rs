//! `try`: what raises in it is guarded, and handlers are blocks.
//!
//! ```text
//! try:                     jump b1
//!     x = a // b     b1:   guard ZERO ? h1 : b2
//!     y = a[x]       b2:   floordiv; x = …; jump b3
//! except Z:          b3:   guard ZERO ? h2 : b4      the handler sees the new x
//!     h              b4:   getitem; y = …
//!                    h1, h2: jump h
//! ```
//!
//! 1. A guarded block holds operations, then writes of variables: an operation behind a write begins a new one, so that
//!    a handler finds variables as they were when something raised.
//! 2. All handlers around are guards of a block; those of the inner `try` are asked first.
//! 3. What is built in place in a `try` is guarded as well. A generator does not yield out of one.
//! 4. The block of `finally` is there once for every way out of the `try`. For what is not caught it is a handler that
//!    raises again.

use super::scope::{Binding, Resolved};
use super::{Builder, LoopTargets};
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::exceptions::{catch_of, is_kind_of, known};
use crate::python::{ExprId, ExprKind, NameId, PyHandler, StmtId, StmtKind, Stretch};
use crate::ssa::{BlockId, SsaOp, Tail};
use cembra_vm::program::Catch;
use cembra_vm::program::instruction::Span;
use std::sync::Arc;

/// Blocks of `finally` that are built in one function.
const MAX_FINISHES: usize = 200;

/// The `try` statements, handlers and `finally` blocks around a place.
#[derive(Debug, Default)]
pub(super) struct Protection {
    /// By `try`, what its handlers take and where they are.
    tries: Vec<Vec<(Arc<Catch>, BlockId)>>,
    /// The block that is guarded by all of them.
    guarded: Option<BlockId>,
    /// True if variables have been written in it.
    is_written: bool,
    /// By handler around, under which number it keeps what is handled.
    handling: Vec<Option<u32>>,
    /// Blocks that run whichever way control leaves a `try`.
    finishes: Vec<Finish>,
    /// How many handlers and `finally` blocks belong to the functions around.
    pub(super) outer: Outer,
    kept: u32,
    built: usize,
}

/// How many handlers and `finally` blocks belong to the functions around one that is built in place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outer {
    handling: usize,
    finishes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Finish {
    body: Stretch,
    tries: usize,
    loops: usize,
    handling: usize,
}

impl Protection {
    /// Begins a function that is built in place; gives what to put back behind it.
    pub(super) fn enter(&mut self) -> Outer {
        let inner = Outer { handling: self.handling.len(), finishes: self.finishes.len() };
        std::mem::replace(&mut self.outer, inner)
    }

    /// How many statements are open.
    pub(super) fn depth(&self) -> usize {
        self.tries.len() + self.handling.len() + self.finishes.len()
    }

    /// Notes that a variable is written in a block.
    pub(super) fn note_write(&mut self, block: BlockId) {
        self.is_written |= self.guarded == Some(block);
    }
}

impl Builder<'_> {
    /// Makes the block at hand one that all handlers around guard, before something that may raise.
    pub(super) fn guard(&mut self, span: Span) {
        if self.protection.tries.is_empty() {
            return;
        }
        let is_guarded = self.protection.guarded == Some(self.block);
        if is_guarded && !self.protection.is_written {
            return;
        }
        if is_guarded {
            let next = self.new_block();
            self.jump_into(next, span);
        }
        let guards: Vec<(Arc<Catch>, BlockId)> =
            self.protection.tries.iter().flat_map(|handlers| handlers.iter().rev()).cloned().collect();
        for (catch, handler) in guards {
            let (then, orelse) = (self.new_block(), self.new_block());
            self.end_block(Tail::Guard { catch, then, orelse }, span);
            self.begin(orelse);
            self.end_block(Tail::Jump(handler), span);
            self.begin(then);
        }
        (self.protection.guarded, self.protection.is_written) = (Some(self.block), false);
    }

    /// Goes on in a block that other handlers guard.
    fn change_guards(&mut self, span: Span) {
        let next = self.new_block();
        self.jump_into(next, span);
        self.protection.guarded = None;
    }

    pub(super) fn try_statement(
        &mut self,
        (body, orelse, finish): (Stretch, Stretch, Stretch),
        handlers: Stretch,
        span: Span,
    ) {
        if finish.is_empty() {
            return self.try_except(body, handlers, orelse, span);
        }
        let number = self.keep_number();
        let (handler, end) = (self.new_block(), self.new_block());
        let all = Arc::new(catch_of(&[], Some(number)));
        let (tries, handling) = (self.protection.tries.len(), self.protection.handling.len());
        let around = Finish { body: finish, tries, loops: self.loops.len(), handling };
        self.protection.finishes.push(around);
        self.protection.tries.push(vec![(all, handler)]);
        self.change_guards(span);
        match handlers.is_empty() {
            true => self.statements(self.tree.block(body)),
            false => self.try_except(body, handlers, orelse, span),
        }
        self.protection.tries.pop();
        self.protection.finishes.pop();
        self.change_guards(span);
        self.finish(finish, span);
        self.end_block(Tail::Jump(end), span);
        self.begin(handler);
        self.finish(finish, span);
        self.guard(span);
        self.end_block(Tail::Again(number), span);
        self.begin(end);
    }

    /// The block of a `finally`.
    fn finish(&mut self, body: Stretch, span: Span) {
        self.protection.built += 1;
        if self.protection.built > MAX_FINISHES {
            let problem = FunctionProblem::Limit { name: "finally-blocks", limit: MAX_FINISHES };
            self.refuse(FunctionError::new(problem, span));
            return;
        }
        // Which exception is handled depends on the way here.
        self.protection.handling.push(None);
        self.statements(self.tree.block(body));
        self.protection.handling.pop();
    }

    /// Builds the blocks of `finally` that run before control leaves the function, or the loop with so many around it.
    pub(super) fn leave_tries(&mut self, loops: Option<usize>, span: Span) {
        let is_left = |finish: &Finish| loops.is_none_or(|loops| finish.loops >= loops);
        let own = &self.protection.finishes[self.protection.outer.finishes..];
        let count = own.iter().rev().take_while(|finish| is_left(finish)).count();
        if count == 0 {
            return;
        }
        let (tries, handling) = (self.protection.tries.clone(), self.protection.handling.clone());
        let (finishes, loops) = (self.protection.finishes.clone(), self.loops.clone());
        for _ in 0..count {
            let Some(finish) = self.protection.finishes.pop() else { break };
            self.protection.tries.truncate(finish.tries);
            self.protection.handling.truncate(finish.handling);
            self.loops.truncate(finish.loops);
            self.change_guards(span);
            self.finish(finish.body, span);
        }
        (self.protection.tries, self.protection.handling) = (tries, handling);
        (self.protection.finishes, self.loops) = (finishes, loops);
        self.protection.guarded = None;
    }

    /// Where `break` and `continue` lead, the blocks of `finally` on the way built.
    pub(super) fn leave_loop(&mut self, span: Span) -> Option<LoopTargets> {
        let targets = self.loops.last().copied()?;
        self.leave_tries(Some(self.loops.len()), span);
        Some(targets)
    }

    fn keep_number(&mut self) -> u32 {
        self.protection.kept += 1;
        self.protection.kept - 1
    }

    fn try_except(&mut self, body: Stretch, handlers: Stretch, orelse: Stretch, span: Span) {
        let tree = self.tree;
        let end = self.new_block();
        let mut caught = Vec::new();
        let mut entries = Vec::new();
        for handler in tree.handlers(handlers) {
            let name = handler.name;
            let keep = self.raises_again(handler.body, name).then(|| self.keep_number());
            let entry = self.new_block();
            entries.push((handler, entry, keep));
            caught.extend(self.catch(handler, keep).map(|catch| (Arc::new(catch), entry)));
        }
        self.protection.tries.push(caught);
        self.change_guards(span);
        self.statements(tree.block(body));
        self.protection.tries.pop();
        self.change_guards(span);
        self.statements(tree.block(orelse));
        self.end_block(Tail::Jump(end), span);
        for (handler, entry, keep) in entries {
            self.begin(entry);
            self.handler(handler, keep);
            self.end_block(Tail::Jump(end), handler.span);
        }
        self.begin(end);
    }

    fn handler(&mut self, handler: &PyHandler, keep: Option<u32>) {
        let hidden = handler.name.map(|name| (name, self.hide(name, handler.span)));
        self.protection.handling.push(keep);
        self.statements(self.tree.block(handler.body));
        self.protection.handling.pop();
        if let Some((name, before)) = hidden {
            let names = &mut self.scopes[self.scope].names;
            match before {
                Some(binding) => drop(names.insert(self.tree.name(name).to_owned(), binding)),
                None => drop(names.remove(self.tree.name(name))),
            }
        }
    }

    /// Lets a name stand for the exception that is handled; a variable of that name has no value any more, as behind the
    /// handler in Python.
    fn hide(&mut self, name: NameId, span: Span) -> Option<Binding> {
        let name = self.tree.name(name).to_owned();
        let before = self.scopes[self.scope].names.insert(name.clone(), Binding::Exception);
        match before {
            Some(Binding::Variable(variable)) => {
                let undef = self.flow.push(self.block, SsaOp::Undef, vec![], span);
                self.write(variable, undef, span);
            }
            _ if before.is_some() || self.is_declared_nonlocal(&name) => {
                let message = format!("`{name}` is something else outside of the handler");
                self.unsupported("exception-value", message, "use another name", span);
            }
            _ => {}
        }
        before
    }

    /// True if statements of a handler raise again what it handles.
    fn raises_again(&self, body: Stretch, name: Option<NameId>) -> bool {
        let tree = self.tree;
        let mut work: Vec<StmtId> = tree.block(body).to_vec();
        while let Some(statement) = work.pop() {
            match tree.stmt(statement).kind {
                StmtKind::Raise(None) => return true,
                StmtKind::Raise(Some(value)) => {
                    let is_own = |id: NameId| Some(tree.name(id)) == name.map(|name| tree.name(name));
                    if matches!(tree.expr(value).kind, ExprKind::Name(id) if is_own(id)) {
                        return true;
                    }
                }
                kind => work.extend(tree.blocks_of(kind)),
            }
        }
        false
    }

    /// What a handler takes; nothing if that is no exception.
    fn catch(&mut self, handler: &PyHandler, keep: Option<u32>) -> Option<Catch> {
        let tree = self.tree;
        let Some(class) = handler.class else { return Some(catch_of(&[], keep)) };
        let single = [class];
        let classes = match tree.expr(class).kind {
            ExprKind::Tuple(classes) => tree.expr_list(classes),
            _ => &single[..],
        };
        let names: Vec<&str> = classes.iter().filter_map(|class| self.class_of(*class)).collect();
        (!names.is_empty()).then(|| catch_of(&names, keep))
    }

    fn class_of(&mut self, class: ExprId) -> Option<&'static str> {
        let name = match self.tree.expr(class).kind {
            ExprKind::Name(name) => self.tree.name(name),
            _ => "",
        };
        let class_name = known(name);
        if class_name.is_none() || self.resolve(name) != Resolved::Unknown {
            let hint = "name a class of Python's: except ValueError";
            self.unsupported(
                "except-class",
                "what is caught is no class that is known",
                hint,
                self.span(class),
            );
            return None;
        }
        class_name
    }

    /// `raise` without an exception, or with the one that is handled.
    pub(super) fn raise_again(&mut self, span: Span) {
        let own = &self.protection.handling[self.protection.outer.handling..];
        match own.last().copied().flatten() {
            Some(number) => {
                self.guard(span);
                self.end_block(Tail::Again(number), span);
            }
            None => {
                self.unsupported(
                    "raise-again",
                    "there is no exception to raise again",
                    "name the exception: raise ValueError(\"…\")",
                    span,
                );
            }
        }
    }

    /// True if a class may be raised: where something is caught, it is known which handlers take it.
    pub(super) fn may_raise(&mut self, class: &str, span: Span) -> bool {
        if !self.module.has_handlers() || known(class).is_some() && is_kind_of(class, "Exception") {
            return true;
        }
        let hint = "raise a class of Python's that is an Exception";
        let message = format!("it is not known which handlers take `{class}`");
        self.unsupported("raise-class", message, hint, span);
        false
    }
}
