//! Calls: of the library, of functions of the module, of inner functions and lambdas.

use super::arguments::{Argument, PreparedCall};
use super::rounds::Sink;
use super::scope::{Callable, Resolved};
use super::{Builder, MAX_INLINE_DEPTH, MAX_INLINED, ReturnTo};
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::library::{self, LibraryFunction, LibraryKind};
use crate::function::op::{FunctionId, FunctionOp};
use crate::python::{CompareOp, ExprId, ExprKind, Stretch};
use crate::ssa::{InstId, Tail};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Category;

impl Builder<'_> {
    pub(super) fn call(&mut self, callee: ExprId, args: Stretch, keywords: Stretch, span: Span) -> InstId {
        match self.resolve_expr(callee) {
            Some(Resolved::Callable(Callable::Library(builtin))) => {
                self.library_call(builtin, args, keywords, span)
            }
            Some(Resolved::Callable(callable)) => {
                if let ExprKind::Lambda { parameters, .. } = self.tree.expr(callee).kind {
                    self.keep_defaults(parameters);
                }
                self.function_call(callable, args, keywords, span)
            }
            Some(Resolved::Library(name))
                if name == "numpy.sort" && args.len() == 1 && keywords.is_empty() =>
            {
                let array = self.expr(self.tree.expr_list(args)[0]);
                let sorted = self.library("numpy.copy", vec![array], span);
                self.library("_sort", vec![sorted], span);
                sorted
            }
            Some(Resolved::Library(name)) if name.contains('.') => self.library_lacks(&name, span),
            Some(Resolved::Unknown) => {
                let name = self.dotted(callee).unwrap_or_default();
                match &*name {
                    "range" => self.range_value(args, span),
                    "list" if args.len() == 1 && keywords.is_empty() => {
                        let iter = self.tree.expr_list(args)[0];
                        self.list_of(iter, span)
                    }
                    "sorted" if args.len() == 1 && keywords.is_empty() => {
                        let list = self.list_of(self.tree.expr_list(args)[0], span);
                        self.library("_sort", vec![list], span);
                        list
                    }
                    "set" if args.len() == 1 && keywords.is_empty() => {
                        let iter = self.tree.expr_list(args)[0];
                        self.set_of(iter, span)
                    }
                    "dict" if args.is_empty() && keywords.is_empty() => self.library("_dict", vec![], span),
                    "set" if args.is_empty() && keywords.is_empty() => self.library("_set", vec![], span),
                    "list" if args.is_empty() && keywords.is_empty() => self.library("_list", vec![], span),
                    "locals" | "eval" | "print" | "open" | "complex" | "str" | "list" | "dict" | "set"
                    | "sorted" | "map" | "filter" | "isinstance" | "exec" | "input" | "enumerate" | "zip"
                    | "reversed" | "prange" | "iter" | "next" | "type" => self.unsupported(
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
                    self.method(base, &name, (args, keywords), span)
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

    fn method(
        &mut self,
        base: ExprId,
        name: &str,
        (args, keywords): (Stretch, Stretch),
        span: Span,
    ) -> InstId {
        if let [keyword, ..] = self.tree.keywords(keywords) {
            let message = format!("`{name}` takes no `{}` here", self.tree.name(keyword.name));
            let span = keyword.span;
            self.expr(base);
            return self.unsupported("method", message, "see the table of docs/functions.md", span);
        }
        if let ("append", [item]) = (name, self.tree.expr_list(args)) {
            let (base, item) = (self.expr(base), self.expr(*item));
            return self.operation(
                FunctionOp::LibraryFunction(LibraryFunction::named("_append")),
                vec![base, item],
                span,
            );
        }
        if let ("get", [key]) | ("get", [key, _]) = (name, self.tree.expr_list(args)) {
            let default = self.tree.expr_list(args).get(1).copied();
            let mut values = vec![self.expr(base), self.expr(*key)];
            values.extend(default.map(|default| self.expr(default)));
            return self.library("_dict_get", values, span);
        }
        if let ("add", [item]) = (name, self.tree.expr_list(args)) {
            let (base, item) = (self.expr(base), self.expr(*item));
            return self.library("_add", vec![base, item], span);
        }
        if let ("extend", [iter]) = (name, self.tree.expr_list(args)) {
            return self.extend(base, *iter, span);
        }
        if let ("astype", [dtype]) = (name, self.tree.expr_list(args)) {
            let (base, mut builtin) = (self.expr(base), LibraryFunction::named("_astype"));
            self.set_dtype(&mut builtin, *dtype);
            return self.operation(FunctionOp::LibraryFunction(builtin), vec![base], span);
        }
        let base = self.expr(base);
        match method_named(name, args.len()) {
            None => self.operation(FunctionOp::Attribute(name.into()), vec![base], span),
            Some(builtin) => {
                let mut values = vec![base];
                values.extend(self.tree.expr_list(args).iter().map(|arg| self.expr(*arg)));
                self.library(builtin, values, span)
            }
        }
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
        if let ("bool", [value], true) = (builtin.name(), args, keywords.is_empty())
            && !matches!(tree.expr(*value).kind, ExprKind::Starred(_))
        {
            let value = self.expr(*value);
            return self.operation(FunctionOp::Truth, vec![value], span);
        }
        if let (LibraryKind::Chr, [code], true) = (builtin.kind(), args, keywords.is_empty()) {
            return self.character(*code, builtin, span);
        }
        if keywords.is_empty()
            && let Some(value) = self.consume(builtin, args, span)
        {
            return value;
        }
        if let ("sum", [iter], [keyword]) = (builtin.name(), args, tree.keywords(keywords))
            && tree.name(keyword.name) == "start"
            && let Some(value) = self.sum_from(*iter, keyword.value, span)
        {
            return value;
        }
        let given = args.len() + keywords.len();
        if builtin.name() == "sum"
            && given > 2
            && !args.iter().any(|arg| matches!(tree.expr(*arg).kind, ExprKind::Starred(_)))
        {
            return self.refuse(FunctionError::new(FunctionProblem::too_many_for_sum(given), span));
        }
        let mut positional: Vec<ExprId> = args.to_vec();
        let takes_shape = matches!(
            builtin.kind(),
            LibraryKind::Filled(_) | LibraryKind::Full | LibraryKind::Arange | LibraryKind::ArrayOf
        );
        // Where the type of the elements stands, if no name says so.
        let dtype_at = match builtin.kind() {
            LibraryKind::Filled(_) | LibraryKind::ArrayOf | LibraryKind::FilledLike(_) => Some(1),
            LibraryKind::Full | LibraryKind::FullLike => Some(2),
            _ => None,
        };
        let takes_dtype =
            dtype_at.is_some() || matches!(builtin.kind(), LibraryKind::Arange | LibraryKind::Eye);
        let (called, mut like) = (builtin.name(), None);
        if dtype_at.is_some_and(|at| positional.len() == at + 1) {
            let dtype = positional.pop().expect("it was counted");
            like = self.set_dtype(&mut builtin, dtype);
        }
        for keyword in tree.keywords(keywords) {
            match tree.name(keyword.name) {
                "dtype" if takes_dtype => like = self.set_dtype(&mut builtin, keyword.value),
                "shape" if takes_shape && positional.is_empty() => positional.push(keyword.value),
                "ndigits" if builtin.kind() == LibraryKind::Round => positional.push(keyword.value),
                name => {
                    let message = format!("{called}() got an unexpected keyword argument '{name}'");
                    return self.refuse(FunctionError::types(message, keyword.span));
                }
            }
        }
        if let (LibraryKind::ArrayOf, [value]) = (builtin.kind(), &positional[..])
            && !matches!(tree.expr(*value).kind, ExprKind::Tuple(_) | ExprKind::List(_))
        {
            let mut from = LibraryFunction::named("_array");
            from.dtype = builtin.dtype;
            let value = self.expr(*value);
            return self.operation(FunctionOp::LibraryFunction(from), vec![value], span);
        }
        let mut values: Vec<InstId> = like.into_iter().map(|like| self.expr(like)).collect();
        for (position, argument) in positional.iter().enumerate() {
            match tree.expr(*argument).kind {
                // A shape, or the elements of an array: one operand each.
                ExprKind::Tuple(parts) | ExprKind::List(parts)
                    if takes_shape && position == 0 && builtin.kind() != LibraryKind::Arange =>
                {
                    values.extend(tree.expr_list(parts).iter().map(|part| self.row(*part)));
                    if builtin.kind() == LibraryKind::ArrayOf && parts.is_empty() {
                        return self.unsupported("empty-array", "an array of nothing", "np.zeros(0)", span);
                    }
                }
                ExprKind::Starred(tuple) => match self.spread(tuple) {
                    Ok(spread) => values.extend(spread),
                    Err(refused) => return refused,
                },
                _ => values.push(self.expr(*argument)),
            }
        }
        if builtin.kind() == LibraryKind::Full && values.len() > 1 {
            // The value comes first, the sizes behind it.
            values.rotate_right(1);
        }
        self.operation(FunctionOp::LibraryFunction(builtin), values, span)
    }

    /// A row of an array that is written out: a tuple, even if the text has a list.
    fn row(&mut self, expr: ExprId) -> InstId {
        let tree = self.tree;
        let ExprKind::List(parts) = tree.expr(expr).kind else { return self.expr(expr) };
        let fields = tree.expr_list(parts).iter().map(|part| self.row(*part)).collect();
        self.operation(FunctionOp::Tuple, fields, self.span(expr))
    }

    /// `list.extend(iter)`: every element is appended. What may be the list itself is copied first.
    fn extend(&mut self, base: ExprId, iter: ExprId, span: Span) -> InstId {
        let list = self.expr(base);
        let is_new = matches!(
            self.tree.expr(iter).kind,
            ExprKind::List(_)
                | ExprKind::Tuple(_)
                | ExprKind::ListComprehension { .. }
                | ExprKind::Generator(..)
        );
        match is_new || self.is_generator(iter) || self.is_range(iter) {
            true => self.use_up(iter, Sink::List(list), span),
            false => {
                let copy = self.list_of(iter, span);
                self.use_up_value(copy, Sink::List(list), span);
            }
        }
        self.constant(Constant::None, span)
    }

    /// `chr(code)`, which raises outside of the code points there are.
    fn character(&mut self, code: ExprId, builtin: LibraryFunction, span: Span) -> InstId {
        const ENDS: [(i64, i64, &str); 2] = [
            (i32::MIN as i64, i32::MAX as i64, "OverflowError: Python int too large to convert to C int"),
            (0, char::MAX as i64, "ValueError: chr() arg not in range(0x110000)"),
        ];
        let code = self.expr(code);
        let code = self.operation(FunctionOp::RangeBound, vec![code], span);
        for (least, most, message) in ENDS {
            let (fails, inside) = (self.new_block(), self.new_block());
            for (op, bound) in [(CompareOp::GreaterEqual, least), (CompareOp::LessEqual, most)] {
                let bound = self.int(bound, span);
                let condition = self.operation(FunctionOp::Compare(op), vec![code, bound], span);
                let next = if op == CompareOp::LessEqual { inside } else { self.new_block() };
                self.end_block(Tail::Branch { condition, then: next, orelse: fails }, span);
                self.begin(next);
            }
            self.begin(fails);
            self.fail(Category::Raised, message.to_owned(), span);
            self.begin(inside);
        }
        self.operation(FunctionOp::LibraryFunction(builtin), vec![code], span)
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

    /// The type of the elements of a new array. That of `a.dtype` is known with the types only: the function becomes one
    /// that takes the array, which is the result.
    fn set_dtype(&mut self, builtin: &mut LibraryFunction, dtype: ExprId) -> Option<ExprId> {
        let (span, like) = (self.span(dtype), self.array_of_dtype(dtype));
        match (self.dotted(dtype).as_deref().and_then(library::element_named), builtin.kind()) {
            (Some(element), _) => builtin.dtype = Some(element),
            (None, LibraryKind::Filled(value)) if like.is_some() => {
                *builtin = LibraryFunction::named(if value == 0 { "_zeros_as" } else { "_ones_as" });
                return like;
            }
            _ => drop(self.unsupported(
                "dtype",
                "arrays have no elements of this type",
                "np.float64, np.float32, np.int64, np.int32 or np.bool_; np.zeros(n, dtype=a.dtype)",
                span,
            )),
        }
        None
    }

    /// The array of `a.dtype`.
    fn array_of_dtype(&self, dtype: ExprId) -> Option<ExprId> {
        let ExprKind::Attribute(base, name) = self.tree.expr(dtype).kind else { return None };
        (self.tree.name(name) == "dtype" && self.dotted(base).is_none()).then_some(base)
    }

    fn function_call(&mut self, callable: Callable, args: Stretch, keywords: Stretch, span: Span) -> InstId {
        if self.is_generator_function(callable) && !self.keeps_calls {
            return self.unsupported(
                "generator-function",
                "a generator is iterated over, it is no value",
                "for v in g(…), or a list that is returned",
                span,
            );
        }
        match self.prepare_call(callable, args, keywords, span) {
            Ok(call) => self.apply(&call, span),
            Err(refused) => refused,
        }
    }

    fn apply(&mut self, call: &PreparedCall, span: Span) -> InstId {
        let tree = self.tree;
        let callable = call.callable;
        let passes_functions = call.given.iter().any(|argument| matches!(argument, Argument::Function(_)));
        if let Callable::Module(id) = callable
            && !passes_functions
            && (self.keeps_calls
                || self.recurses(id)
                || self.inlined >= MAX_INLINED
                || self.depth > MAX_INLINE_DEPTH)
        {
            let values = call.given.iter().map(|argument| match argument {
                Argument::Value(value) => *value,
                Argument::Function(_) => unreachable!("none is passed"),
            });
            return self.operation(FunctionOp::Call(id), values.collect(), span);
        }
        let definition = self.definition(callable);
        if definition.is_some_and(|it| self.active.contains(&it)) {
            let name = &call.name;
            let message = format!("`{name}` calls itself, and is no function of the module with values only");
            return self.unsupported("inner-recursion", message, "define it at the top of the module", span);
        }
        self.inlined += 1;
        let outer = self.enter(call, span);
        let result = match (callable, definition) {
            (Callable::Lambda(expr, _), _) => match tree.expr(expr).kind {
                ExprKind::Lambda { body, .. } => self.expr(body),
                _ => unreachable!("a lambda is an expression"),
            },
            (_, Some(definition)) => {
                self.active.push(definition);
                let (result, exit) = (self.merged(), self.new_block());
                let returns = std::mem::replace(&mut self.returns, ReturnTo::Inline { result, exit });
                let loops = std::mem::take(&mut self.loops);
                let outer = self.protection.enter();
                self.statements(tree.block(self.body_of(definition)));
                let nowhere = Span::default();
                let none = self.constant(Constant::None, nowhere);
                self.write(result, none, nowhere);
                self.jump_into(exit, nowhere);
                (self.returns, self.loops) = (returns, loops);
                self.protection.outer = outer;
                self.active.pop();
                self.read(result, span)
            }
            (_, None) => unreachable!("a definition has a body"),
        };
        self.scope = outer;
        result
    }

    /// True if a function of the module leads back to itself, or is being built.
    fn recurses(&self, id: FunctionId) -> bool {
        self.active.contains(&self.module.definition(id)) || self.module.is_recursive(id)
    }
}

/// The function of the library that a method with so many arguments is.
fn method_named(name: &str, arguments: usize) -> Option<&'static str> {
    Some(match (name, arguments) {
        ("pop", 0) => "_pop",
        ("pop", 1) => "_pop_at",
        ("insert", 2) => "_insert",
        ("index", 1) => "_index",
        ("count", 1) => "_count",
        ("remove", 1) => "_remove",
        ("reverse", 0) => "_reverse",
        ("clear", 0) => "_clear",
        ("sort", 0) => "_sort",
        ("fill", 1) => "_fill",
        ("copy", 0) => "numpy.copy",
        ("sum", 0) => "sum",
        ("min", 0) => "numpy.min",
        ("max", 0) => "numpy.max",
        ("mean", 0) => "numpy.mean",
        ("prod", 0) => "numpy.prod",
        ("cumsum", 0) => "numpy.cumsum",
        ("argmin", 0) => "numpy.argmin",
        ("argmax", 0) => "numpy.argmax",
        ("any", 0) => "numpy.any",
        ("all", 0) => "numpy.all",
        ("dot", 1) => "numpy.dot",
        _ => return None,
    })
}
