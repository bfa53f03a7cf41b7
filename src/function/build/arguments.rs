//! Arguments of calls: which parameter gets what, default values, `*args`.
//!
//! ```text
//! def g(a, b=2, *rest)      g(n, 3, x, y): a = n, b = 3, rest = (x, y)      g(n): a = n, b = 2, rest = ()
//! ```

use super::Builder;
use super::scope::{Binding, Callable, Resolved, Scope};
use crate::function::error::FunctionError;
use crate::function::op::FunctionOp;
use crate::python::{ExprId, ExprKind, PyParameter, StmtId, StmtKind, Stretch};
use crate::ssa::{InstId, SsaOp, VarId};
use cembra_vm::program::instruction::Span;

/// An argument: a value, or a function that is passed on.
#[derive(Clone, Copy)]
pub(super) enum Argument {
    Value(InstId),
    Function(Callable),
}

/// A call whose arguments are computed, one for each parameter.
pub(super) struct PreparedCall {
    pub(super) callable: Callable,
    parameters: Vec<PyParameter>,
    pub(super) given: Vec<Argument>,
    /// Arguments in `*args`.
    rest_length: usize,
    pub(super) name: String,
}

impl Builder<'_> {
    /// Computes the arguments of a call, from left to right.
    ///
    /// # Errors
    /// The value that stands for a call that is refused.
    pub(super) fn prepare_call(
        &mut self,
        callable: Callable,
        args: Stretch,
        keywords: Stretch,
        span: Span,
    ) -> Result<PreparedCall, InstId> {
        let tree = self.tree;
        self.read_function(callable, span);
        let (parameters, name) = self.parameters(callable);
        let rest_at = parameters.iter().position(|parameter| parameter.is_rest);
        let places = rest_at.unwrap_or(parameters.len());
        let mut positional = self.positional(tree.expr_list(args))?;
        let rest = positional.split_off(places.min(positional.len()));
        if rest_at.is_none() && !rest.is_empty() {
            let given = places + rest.len();
            let message = format!("{name}() takes {places} positional arguments but {given} were given");
            return Err(self.refuse(FunctionError::types(message, span)));
        }
        let mut given: Vec<Option<Argument>> = positional.into_iter().map(Some).collect();
        given.resize(parameters.len(), None);
        for keyword in tree.keywords(keywords) {
            let is_named = |p: &PyParameter| !p.is_rest && tree.name(p.name) == tree.name(keyword.name);
            let position = parameters.iter().position(is_named);
            match position {
                Some(at) if given[at].is_none() => given[at] = Some(self.argument(keyword.value)),
                _ => {
                    let word =
                        if position.is_some() { "multiple values for" } else { "an unexpected keyword" };
                    let message = format!("{name}() got {word} argument '{}'", tree.name(keyword.name));
                    return Err(self.refuse(FunctionError::types(message, keyword.span)));
                }
            }
        }
        let rest_length = rest.len();
        if let Some(at) = rest_at {
            given[at] = Some(Argument::Value(self.rest(rest, span)));
        }
        for (slot, parameter) in given.iter_mut().zip(&parameters) {
            if let (None, Some(default)) = (&slot, parameter.default) {
                *slot = Some(Argument::Value(self.default_value(callable, default, span)));
            }
        }
        let is_missing = |argument: &Option<Argument>| argument.is_none();
        if let Some(first) = given.iter().position(is_missing) {
            let missing = tree.name(parameters[first].name);
            let message = format!("{name}() missing a required argument: '{missing}'");
            return Err(self.refuse(FunctionError::types(message, span)));
        }
        let given = given.into_iter().flatten().collect();
        Ok(PreparedCall { callable, parameters, given, rest_length, name })
    }

    /// Positional arguments, with those that `*` unpacks.
    ///
    /// # Errors
    /// As of [`prepare_call`](Self::prepare_call).
    fn positional(&mut self, args: &[ExprId]) -> Result<Vec<Argument>, InstId> {
        let mut positional = Vec::with_capacity(args.len());
        for arg in args {
            match self.tree.expr(*arg).kind {
                ExprKind::Starred(tuple) => {
                    let values = self.spread(tuple)?;
                    positional.extend(values.into_iter().map(Argument::Value));
                }
                _ => positional.push(self.argument(*arg)),
            }
        }
        Ok(positional)
    }

    /// The values that `*tuple` stands for: of a tuple that is written out, or of `*args` of a function that is built
    /// in place.
    ///
    /// # Errors
    /// The value that stands for another tuple, which is refused: its length is known with the types, when the call is
    /// built.
    pub(super) fn spread(&mut self, tuple: ExprId) -> Result<Vec<InstId>, InstId> {
        let (tree, span) = (self.tree, self.span(tuple));
        match tree.expr(tuple).kind {
            ExprKind::Tuple(parts) | ExprKind::List(parts) => {
                return Ok(tree.expr_list(parts).iter().map(|part| self.expr(*part)).collect());
            }
            ExprKind::Name(name) => {
                if let Resolved::Variable(variable) = self.resolve(tree.name(name))
                    && let Some((length, is_used)) = self.rest_lengths.get_mut(&variable)
                {
                    *is_used = true;
                    let length = *length as i64;
                    let whole = self.read(variable, span);
                    return Ok((0..length).map(|index| self.field(whole, index, span)).collect());
                }
            }
            _ => {}
        }
        let message = "how many values `*` unpacks is known of a tuple that is written out in the call, `*(a, b)`, and of \
                       `*args` of a function that is built in place";
        Err(self.unsupported("starred", message, "write the elements out: `f(t[0], t[1])`", span))
    }

    /// The tuple of `*args`.
    fn rest(&mut self, rest: Vec<Argument>, span: Span) -> InstId {
        let mut values = Vec::with_capacity(rest.len());
        for argument in rest {
            match argument {
                Argument::Value(value) => values.push(value),
                Argument::Function(_) => {
                    let message = "a function among the arguments of `*args`";
                    return self.unsupported("function-value", message, "give it a parameter", span);
                }
            }
        }
        self.operation(FunctionOp::Tuple, values, span)
    }

    /// `*args` is assigned: how many values it holds is not known any more.
    pub(super) fn forget_rest_length(&mut self, variable: VarId, span: Span) {
        if let Some((_, true)) = self.rest_lengths.remove(&variable) {
            let message = "`*args` is assigned and unpacked";
            self.unsupported("starred", message, "assign to another name", span);
        }
    }

    pub(super) fn argument(&mut self, expr: ExprId) -> Argument {
        match self.resolve_expr(expr) {
            Some(Resolved::Callable(callable)) => {
                if let ExprKind::Lambda { parameters, .. } = self.tree.expr(expr).kind {
                    self.keep_defaults(parameters);
                }
                self.read_function(callable, self.span(expr));
                Argument::Function(callable)
            }
            _ => Argument::Value(self.expr(expr)),
        }
    }

    /// Computes the default values of a definition that are no literals: they belong to its place.
    pub(super) fn keep_defaults(&mut self, parameters: Stretch) {
        let tree = self.tree;
        for parameter in tree.parameters(parameters) {
            let Some(default) = parameter.default else { continue };
            if self.constant_value(default).is_some() {
                continue;
            }
            let variable = match self.defaults.get(&(self.scope, default)) {
                Some(known) => *known,
                None => self.variable(tree.name(parameter.name)),
            };
            self.defaults.insert((self.scope, default), variable);
            let (value, span) = (self.expr(default), self.span(default));
            self.write(variable, value, span);
        }
    }

    fn default_value(&mut self, callable: Callable, default: ExprId, span: Span) -> InstId {
        let (Callable::Inner(_, scope) | Callable::Lambda(_, scope)) = callable else {
            let scope = std::mem::replace(&mut self.scope, 0);
            let value = self.expr(default);
            self.scope = scope;
            // A list is one for all calls, as those of the module are; a name of the module says so itself.
            return match (self.constant_value(default), self.tree.expr(default).kind) {
                (Some(_), _) | (_, ExprKind::Name(_)) => value,
                _ => self.operation(FunctionOp::ModuleConstant, vec![value], span),
            };
        };
        if self.constant_value(default).is_some() {
            return self.expr(default);
        }
        if let Some(variable) = self.defaults.get(&(scope, default)) {
            return self.read(*variable, span);
        }
        let message = "the function is called before the text that defines it";
        self.unsupported("function-value", message, "define it first", span)
    }

    /// Parameters and name of a function.
    fn parameters(&self, callable: Callable) -> (Vec<PyParameter>, String) {
        let tree = self.tree;
        match (callable, self.definition(callable)) {
            (Callable::Lambda(expr, _), _) => match tree.expr(expr).kind {
                ExprKind::Lambda { parameters, .. } => {
                    (tree.parameters(parameters).to_vec(), "<lambda>".to_owned())
                }
                _ => unreachable!("a lambda is an expression"),
            },
            (_, Some(definition)) => match tree.stmt(definition).kind {
                StmtKind::FunctionDef { name, parameters, .. } => {
                    (tree.parameters(parameters).to_vec(), tree.name(name).to_owned())
                }
                _ => unreachable!("a function is a definition"),
            },
            (Callable::Library(builtin), _) => (Vec::new(), builtin.name().to_owned()),
            (_, None) => unreachable!("a function of a module has a definition"),
        }
    }

    /// The statement that defines a function.
    pub(super) fn definition(&self, callable: Callable) -> Option<StmtId> {
        match callable {
            Callable::Module(id) => Some(self.module.definition(id)),
            Callable::Inner(statement, _) => Some(statement),
            Callable::Lambda(..) | Callable::Library(_) => None,
        }
    }

    /// The body of a definition.
    pub(super) fn body_of(&self, definition: StmtId) -> Stretch {
        match self.tree.stmt(definition).kind {
            StmtKind::FunctionDef { body, .. } => body,
            _ => unreachable!("a function is a definition"),
        }
    }

    /// Enters the scope of a function that is built in place; gives the scope it was called in.
    pub(super) fn enter(&mut self, call: &PreparedCall, span: Span) -> usize {
        let tree = self.tree;
        let parent = match call.callable {
            Callable::Inner(_, scope) | Callable::Lambda(_, scope) => scope,
            Callable::Module(_) | Callable::Library(_) => 0,
        };
        let scope = match self.definition(call.callable) {
            Some(definition) => self.new_scope(parent, tree.block(self.body_of(definition))),
            None => {
                self.scopes.push(Scope::of_lambda(parent));
                self.scopes.len() - 1
            }
        };
        let outer = std::mem::replace(&mut self.scope, scope);
        let mut written: Vec<VarId> = Vec::new();
        for (parameter, argument) in call.parameters.iter().zip(&call.given) {
            let name = tree.name(parameter.name).to_owned();
            let is_assigned = self.scopes[scope].names.contains_key(&name);
            let binding = match *argument {
                Argument::Function(callable) => Binding::Callable(callable),
                Argument::Value(value) => {
                    let variable = self.variable(&name);
                    self.write(variable, value, span);
                    if parameter.is_rest && !is_assigned {
                        self.rest_lengths.insert(variable, (call.rest_length, false));
                    }
                    written.push(variable);
                    Binding::Variable(variable)
                }
            };
            self.scopes[scope].names.insert(name, binding);
        }
        if self.definition(call.callable).is_some() {
            self.undefine_locals(scope, &written, span);
        }
        outer
    }

    /// Takes the values of the round before from the variables of a function that is built in place inside of a loop.
    fn undefine_locals(&mut self, scope: usize, parameters: &[VarId], span: Span) {
        if self.loop_depth == 0 {
            return;
        }
        let mut locals: Vec<_> = self.scopes[scope]
            .names
            .values()
            .filter_map(|binding| match binding {
                Binding::Variable(variable) if !parameters.contains(variable) => Some(*variable),
                _ => None,
            })
            .collect();
        locals.sort_unstable();
        if locals.is_empty() {
            return;
        }
        let undef = self.flow.push(self.block, SsaOp::Undef, vec![], span);
        locals.into_iter().for_each(|variable| self.write(variable, undef, span));
    }
}
