//! Calls: of the library, of functions of the module, of inner functions and lambdas.

use super::scope::{Binding, Callable, Resolved, Scope};
use super::{Builder, MAX_INLINE_DEPTH, MAX_INLINED, ReturnTo};
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::library::{self, LibraryFunction, LibraryKind};
use crate::function::op::{FunctionId, FunctionOp};
use crate::python::{ExprId, ExprKind, PyParameter, StmtKind, Stretch};
use crate::ssa::{InstId, SsaOp, VarId};
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;

/// An argument: a value, or a function that is passed on.
#[derive(Clone, Copy)]
enum Argument {
    Value(InstId),
    Function(Callable),
}

impl Builder<'_> {
    pub(super) fn call(&mut self, callee: ExprId, args: Stretch, keywords: Stretch, span: Span) -> InstId {
        match self.resolve_expr(callee) {
            Some(Resolved::Callable(Callable::Library(builtin))) => {
                self.library_call(builtin, args, keywords, span)
            }
            Some(Resolved::Callable(callable)) => self.function_call(callable, args, keywords, span),
            Some(Resolved::Library(name)) if name.contains('.') => {
                let (module, attribute) = name.rsplit_once('.').expect("it has a dot");
                let (of, name) = (format!("module '{module}'"), attribute.to_owned());
                self.refuse(FunctionError::new(FunctionProblem::Attribute { of, name }, span))
            }
            Some(Resolved::Unknown) => {
                let name = self.dotted(callee).unwrap_or_default();
                match &*name {
                    "range" => self.range_value(args, span),
                    "locals" | "eval" | "print" | "open" | "chr" | "ord" | "complex" | "str" | "list"
                    | "dict" | "set" | "sorted" | "map" | "filter" | "isinstance" | "exec" | "input"
                    | "enumerate" | "zip" | "reversed" | "prange" | "iter" | "next" | "type" => self
                        .unsupported(
                            "library",
                            format!("`{name}` cannot be used here"),
                            "see the list of functions in docs/functions.md",
                            span,
                        ),
                    _ => self.refuse(FunctionError::new(FunctionProblem::UnknownName { name }, span)),
                }
            }
            // What a parameter stands for is known at the call of this function.
            Some(Resolved::Variable(variable)) if self.keeps_calls => {
                for argument in self.tree.expr_list(args) {
                    self.argument(*argument);
                }
                self.read(variable, span)
            }
            _ => match self.tree.expr(callee).kind {
                ExprKind::Attribute(base, name) => {
                    let name = self.tree.name(name).to_owned();
                    self.method(base, &name, args, span)
                }
                _ => {
                    self.expr(callee);
                    self.refuse(FunctionError::types("this is not callable", span))
                }
            },
        }
    }

    /// `range(…)` where its length is asked: `len(range(a, b, c))`.
    fn range_value(&mut self, _: Stretch, span: Span) -> InstId {
        self.unsupported("range-value", "a range is iterated over, it is no value", "write a loop", span)
    }

    fn method(&mut self, base: ExprId, name: &str, args: Stretch, span: Span) -> InstId {
        if let ("append", [item]) = (name, self.tree.expr_list(args)) {
            let (base, item) = (self.expr(base), self.expr(*item));
            return self.operation(
                FunctionOp::LibraryFunction(LibraryFunction::named("_append")),
                vec![base, item],
                span,
            );
        }
        let builtin = match (name, args.len()) {
            ("pop", 0) => "_pop",
            ("copy", 0) => "numpy.copy",
            ("sum", 0) => "sum",
            ("min", 0) => "min",
            ("max", 0) => "max",
            _ => {
                let base = self.expr(base);
                return self.operation(FunctionOp::Attribute(name.into()), vec![base], span);
            }
        };
        let base = self.expr(base);
        let builtin = LibraryFunction::find(builtin).expect("the library has it");
        self.operation(FunctionOp::LibraryFunction(builtin), vec![base], span)
    }

    fn library_call(
        &mut self,
        mut builtin: LibraryFunction,
        args: Stretch,
        keywords: Stretch,
        span: Span,
    ) -> InstId {
        let tree = self.tree;
        let args = tree.expr_list(args);
        // The length of a range needs no range.
        if let (LibraryKind::Len, [argument]) = (builtin.kind(), args)
            && let ExprKind::Call { callee, args, .. } = tree.expr(*argument).kind
            && self.dotted(callee).as_deref() == Some("range")
            && (1..=3).contains(&args.len())
        {
            return self.range_length(tree.expr_list(args), span);
        }
        let mut positional: Vec<ExprId> = args.to_vec();
        let makes_array = matches!(
            builtin.kind(),
            LibraryKind::Filled(_) | LibraryKind::Full | LibraryKind::Arange | LibraryKind::ArrayOf
        );
        let least = if matches!(builtin.kind(), LibraryKind::Full) { 2 } else { 1 };
        if makes_array && builtin.kind() != LibraryKind::Arange && positional.len() == least + 1 {
            let dtype = positional.pop().expect("it was counted");
            self.set_dtype(&mut builtin, dtype);
        }
        for keyword in tree.keywords(keywords) {
            match tree.name(keyword.name) {
                "dtype" if makes_array => self.set_dtype(&mut builtin, keyword.value),
                "shape" if makes_array && positional.is_empty() => positional.push(keyword.value),
                "ndigits" if builtin.kind() == LibraryKind::Round => positional.push(keyword.value),
                name => {
                    let message = format!("{}() got an unexpected keyword argument '{name}'", builtin.name());
                    return self.refuse(FunctionError::types(message, keyword.span));
                }
            }
        }
        let mut values: Vec<InstId> = Vec::new();
        for (position, argument) in positional.iter().enumerate() {
            match tree.expr(*argument).kind {
                // A shape, or the elements of an array: one operand each.
                ExprKind::Tuple(parts) | ExprKind::List(parts)
                    if makes_array && position == 0 && builtin.kind() != LibraryKind::Arange =>
                {
                    values.extend(tree.expr_list(parts).iter().map(|part| self.expr(*part)));
                    if builtin.kind() == LibraryKind::ArrayOf && parts.is_empty() {
                        return self.unsupported("empty-array", "an array of nothing", "np.zeros(0)", span);
                    }
                }
                _ => values.push(self.expr(*argument)),
            }
        }
        if builtin.kind() == LibraryKind::Full && values.len() > 1 {
            // The value comes first, the sizes behind it.
            values.rotate_right(1);
        }
        self.operation(FunctionOp::LibraryFunction(builtin), values, span)
    }

    fn range_length(&mut self, args: &[ExprId], span: Span) -> InstId {
        let values: Vec<InstId> = args
            .iter()
            .map(|bound| {
                let (value, span) = (self.expr(*bound), self.span(*bound));
                self.operation(FunctionOp::RangeBound, vec![value], span)
            })
            .collect();
        let (zero, one) = (self.int(0, span), self.int(1, span));
        let bounds = match values[..] {
            [stop] => vec![zero, stop, one],
            [start, stop] => vec![start, stop, one],
            _ => values,
        };
        self.operation(FunctionOp::RangeCount, bounds, span)
    }

    fn set_dtype(&mut self, builtin: &mut LibraryFunction, dtype: ExprId) {
        let span = self.span(dtype);
        match self.dotted(dtype).as_deref().and_then(library::element_named) {
            Some(element) => builtin.dtype = Some(element),
            None => drop(self.unsupported(
                "dtype",
                "arrays have no elements of this type",
                "np.float64, np.float32, np.int64, np.int32 or np.bool_",
                span,
            )),
        }
    }

    fn function_call(&mut self, callable: Callable, args: Stretch, keywords: Stretch, span: Span) -> InstId {
        let tree = self.tree;
        let (parameters, name) = self.parameters(callable);
        let mut given: Vec<Option<Argument>> = vec![None; parameters.len()];
        let positional = tree.expr_list(args);
        if positional.len() > parameters.len() {
            let message = format!(
                "{name}() takes {} positional arguments but {} were given",
                parameters.len(),
                positional.len()
            );
            return self.refuse(FunctionError::types(message, span));
        }
        for (slot, argument) in given.iter_mut().zip(positional) {
            *slot = Some(self.argument(*argument));
        }
        for keyword in tree.keywords(keywords) {
            let position = parameters.iter().position(|p| tree.name(p.name) == tree.name(keyword.name));
            match position {
                Some(at) if given[at].is_none() => given[at] = Some(self.argument(keyword.value)),
                _ => {
                    let word =
                        if position.is_some() { "multiple values for" } else { "an unexpected keyword" };
                    let message = format!("{name}() got {word} argument '{}'", tree.name(keyword.name));
                    return self.refuse(FunctionError::types(message, keyword.span));
                }
            }
        }
        for (slot, parameter) in given.iter_mut().zip(&parameters) {
            if slot.is_none()
                && let Some(default) = parameter.default
            {
                let scope = std::mem::replace(&mut self.scope, 0);
                *slot = Some(Argument::Value(self.expr(default)));
                self.scope = scope;
            }
        }
        let missing: Vec<&str> = given
            .iter()
            .zip(&parameters)
            .filter(|(argument, _)| argument.is_none())
            .map(|(_, parameter)| tree.name(parameter.name))
            .collect();
        if let Some(first) = missing.first() {
            let message = format!("{name}() missing a required argument: '{first}'");
            return self.refuse(FunctionError::types(message, span));
        }
        let given: Vec<Argument> = given.into_iter().flatten().collect();
        self.apply(callable, &parameters, &given, &name, span)
    }

    fn argument(&mut self, expr: ExprId) -> Argument {
        match self.resolve_expr(expr) {
            Some(Resolved::Callable(callable)) => Argument::Function(callable),
            _ => Argument::Value(self.expr(expr)),
        }
    }

    /// Parameters and name of a function.
    fn parameters(&self, callable: Callable) -> (Vec<PyParameter>, String) {
        let tree = self.tree;
        let of_definition = |statement| match tree.stmt(statement).kind {
            StmtKind::FunctionDef { name, parameters, .. } => {
                (tree.parameters(parameters).to_vec(), tree.name(name).to_owned())
            }
            _ => unreachable!("a function is a definition"),
        };
        match callable {
            Callable::Module(id) => of_definition(self.module.definition(id)),
            Callable::Inner(statement, _) => of_definition(statement),
            Callable::Lambda(expr, _) => match tree.expr(expr).kind {
                ExprKind::Lambda { parameters, .. } => {
                    (tree.parameters(parameters).to_vec(), "<lambda>".to_owned())
                }
                _ => unreachable!("a lambda is an expression"),
            },
            Callable::Library(builtin) => (Vec::new(), builtin.name().to_owned()),
        }
    }

    fn apply(
        &mut self,
        callable: Callable,
        parameters: &[PyParameter],
        given: &[Argument],
        name: &str,
        span: Span,
    ) -> InstId {
        let tree = self.tree;
        let passes_functions = given.iter().any(|argument| matches!(argument, Argument::Function(_)));
        if let Callable::Module(id) = callable
            && !passes_functions
            && (self.keeps_calls
                || self.recurses(id)
                || self.inlined >= MAX_INLINED
                || self.depth > MAX_INLINE_DEPTH)
        {
            let values = given.iter().map(|argument| match argument {
                Argument::Value(value) => *value,
                Argument::Function(_) => unreachable!("none is passed"),
            });
            return self.operation(FunctionOp::Call(id), values.collect(), span);
        }
        let (definition, parent) = match callable {
            Callable::Module(id) => (Some(self.module.definition(id)), 0),
            Callable::Inner(statement, scope) => (Some(statement), scope),
            Callable::Lambda(_, scope) => (None, scope),
            Callable::Library(_) => unreachable!("calls of the library are no calls of functions"),
        };
        if definition.is_some_and(|it| self.active.contains(&it)) {
            let message = format!("`{name}` calls itself, and is no function of the module with values only");
            return self.unsupported("inner-recursion", message, "define it at the top of the module", span);
        }
        self.inlined += 1;
        let body = definition.map(|definition| match tree.stmt(definition).kind {
            StmtKind::FunctionDef { body, .. } => tree.block(body),
            _ => unreachable!("a function is a definition"),
        });
        let scope = match body {
            Some(body) => self.new_scope(parent, body),
            None => {
                self.scopes.push(Scope { parent, names: HashMap::new() });
                self.scopes.len() - 1
            }
        };
        let outer = std::mem::replace(&mut self.scope, scope);
        let mut written: Vec<VarId> = Vec::new();
        for (parameter, argument) in parameters.iter().zip(given) {
            let name = tree.name(parameter.name).to_owned();
            let binding = match *argument {
                Argument::Function(callable) => Binding::Callable(callable),
                Argument::Value(value) => {
                    let variable = self.variable(&name);
                    self.write(variable, value, span);
                    written.push(variable);
                    Binding::Variable(variable)
                }
            };
            self.scopes[scope].names.insert(name, binding);
        }
        let result = match (callable, body) {
            (Callable::Lambda(expr, _), _) => match tree.expr(expr).kind {
                ExprKind::Lambda { body, .. } => self.expr(body),
                _ => unreachable!("a lambda is an expression"),
            },
            (_, Some(body)) => {
                self.active.extend(definition);
                self.undefine_locals(scope, &written, span);
                let (result, exit) = (self.merged(), self.new_block());
                let returns = std::mem::replace(&mut self.returns, ReturnTo::Inline { result, exit });
                let loops = std::mem::take(&mut self.loops);
                self.statements(body);
                let nowhere = Span::default();
                let none = self.constant(Constant::None, nowhere);
                self.write(result, none, nowhere);
                self.jump_into(exit, nowhere);
                (self.returns, self.loops) = (returns, loops);
                self.active.pop();
                self.read(result, span)
            }
            (_, None) => unreachable!("a definition has a body"),
        };
        self.scope = outer;
        result
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

    /// True if a function of the module leads back to itself, or is being built.
    fn recurses(&self, id: FunctionId) -> bool {
        self.active.contains(&self.module.definition(id)) || self.module.is_recursive(id)
    }
}
