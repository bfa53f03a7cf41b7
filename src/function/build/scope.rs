//! Scopes: which names a function assigns, and what a name stands for where it is read.

use super::Builder;
use crate::function::constant::Constant;
use crate::function::library::{self, LibraryFunction};
use crate::function::module::ModuleName;
use crate::function::op::FunctionId;
use crate::python::{ExprId, ExprKind, PyPattern, StmtId, StmtKind};
use crate::ssa::VarId;
use cembra_vm::program::instruction::Span;
use hashbrown::{HashMap, HashSet};

/// Names of a function, of one that is built in place, or of a comprehension.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// The scope around it; the first is that of the module.
    pub(super) parent: usize,
    pub(super) names: HashMap<String, Binding>,
    /// Names that belong to a scope around it.
    nonlocals: HashSet<String>,
    /// True of a comprehension, in which `:=` assigns to names of the function around it.
    is_comprehension: bool,
}

impl Scope {
    /// The scope of a lambda inside of a scope.
    pub(super) fn of_lambda(parent: usize) -> Scope {
        Scope { parent, ..Scope::default() }
    }

    /// The scope of a comprehension inside of a scope.
    pub(super) fn of_comprehension(parent: usize) -> Scope {
        Scope { parent, is_comprehension: true, ..Scope::default() }
    }
}

/// What a name of a scope stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Binding {
    /// A variable.
    Variable(VarId),
    /// A function that is known.
    Callable(Callable),
    /// The exception that a handler handles.
    Exception,
}

/// A function that is known where it is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Callable {
    /// Of the module.
    Module(FunctionId),
    /// Defined inside of a function, with the scope around it.
    Inner(StmtId, usize),
    /// A lambda, with the scope around it.
    Lambda(ExprId, usize),
    /// Of the library.
    Library(LibraryFunction),
}

/// What a name stands for where it is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved {
    /// A variable.
    Variable(VarId),
    /// A function.
    Callable(Callable),
    /// The exception that is handled.
    Exception,
    /// The value of an expression of the module.
    Expression(ExprId),
    /// A constant of the library.
    Constant(Constant),
    /// A module of the library.
    Library(String),
    /// Nothing.
    Unknown,
}

impl Builder<'_> {
    /// A scope whose names are those that the statements assign.
    pub(super) fn new_scope(&mut self, parent: usize, body: &[StmtId]) -> usize {
        let mut scope = Scope { parent, ..Scope::default() };
        let mut assigned = Assigned::default();
        self.collect(body, &mut assigned);
        scope.nonlocals = assigned.nonlocals;
        let mut functions = Vec::new();
        let mut late = Vec::new();
        for name in assigned.names {
            if scope.nonlocals.contains(&name) {
                continue;
            }
            functions.extend(assigned.functions.get(&name).map(|known| (name.clone(), known.source)));
            // A name that is only ever one lambda or one inner function is that function.
            let known = assigned.functions.get(&name).filter(|known| known.count == 1);
            let binding = match known {
                Some(known) => {
                    if !known.is_in_body || self.is_named_before(&name, body, known.span) {
                        late.push((name.clone(), known.source));
                    }
                    Binding::Callable(known.source.in_scope(self.scopes.len()))
                }
                None => Binding::Variable(self.variable(&name)),
            };
            scope.names.insert(name, binding);
        }
        self.scopes.push(scope);
        let scope = self.scopes.len() - 1;
        for (name, source) in functions {
            self.declare_defaults(scope, &name, source);
        }
        for (name, source) in late {
            self.declare_late(scope, &name, source);
        }
        scope
    }

    /// True if the text of a body names a function before the place that defines it.
    fn is_named_before(&self, name: &str, body: &[StmtId], definition: Span) -> bool {
        let tree = self.tree;
        let first = body.first().map_or(definition.start, |first| tree.stmt(*first).span.start);
        let is_name = |kind: ExprKind| matches!(kind, ExprKind::Name(other) if tree.name(other) == name);
        tree.exprs()
            .iter()
            .any(|expr| (first..definition.start).contains(&expr.span.start) && is_name(expr.kind))
    }

    /// A variable that has a value behind the definition of a function, which a path may reach before. It is read where the
    /// function is named.
    fn declare_late(&mut self, scope: usize, function: &str, source: Source) {
        let variable = self.variable(function);
        self.loop_targets.push(variable);
        self.late.insert((scope, source), variable);
        self.scopes[scope].names.insert(behind_definition(function), Binding::Variable(variable));
    }

    /// The place that defines a function of the scope at hand.
    pub(super) fn note_definition(&mut self, name: &str, span: Span) {
        if let Some(Binding::Callable(callable)) = self.scopes[self.scope].names.get(name)
            && let Some(variable) = self.late_variable(*callable)
        {
            let defined = self.constant(Constant::None, span);
            self.write(variable, defined, span);
        }
    }

    /// A function is named: it raises on paths that have not defined it.
    pub(super) fn read_function(&mut self, callable: Callable, span: Span) {
        if let Some(variable) = self.late_variable(callable) {
            self.read(variable, span);
        }
    }

    /// True of a variable of the scope at hand, and not of one around it.
    pub(super) fn is_local(&self, variable: VarId) -> bool {
        let (name, names) = (&self.variables[variable.index()], &self.scopes[self.scope].names);
        let is_own = |name: &str| names.get(name) == Some(&Binding::Variable(variable));
        is_own(name) || is_own(&behind_definition(name))
    }

    fn late_variable(&self, callable: Callable) -> Option<VarId> {
        let (scope, source) = match callable {
            Callable::Inner(statement, scope) => (scope, Source::Definition(statement)),
            Callable::Lambda(expr, scope) => (scope, Source::Lambda(expr)),
            Callable::Module(_) | Callable::Library(_) => return None,
        };
        self.late.get(&(scope, source)).copied()
    }

    /// Variables for the default values of an inner function that are no literals; they are locals like others.
    fn declare_defaults(&mut self, scope: usize, function: &str, source: Source) {
        let tree = self.tree;
        let parameters = match source {
            Source::Definition(statement) => match tree.stmt(statement).kind {
                StmtKind::FunctionDef { parameters, .. } => parameters,
                _ => return,
            },
            Source::Lambda(expr) => match tree.expr(expr).kind {
                ExprKind::Lambda { parameters, .. } => parameters,
                _ => return,
            },
        };
        for parameter in tree.parameters(parameters) {
            let Some(default) = parameter.default.filter(|it| self.constant_value(*it).is_none()) else {
                continue;
            };
            let variable = self.variable(function);
            self.loop_targets.push(variable);
            self.defaults.insert((scope, default), variable);
            // No name of a text has brackets.
            let name = format!("{function}({})", tree.name(parameter.name));
            self.scopes[scope].names.insert(name, Binding::Variable(variable));
        }
    }

    /// What a name stands for.
    pub(super) fn resolve(&self, name: &str) -> Resolved {
        let mut at = self.scope;
        while at != 0 {
            match self.scopes[at].names.get(name) {
                Some(Binding::Variable(variable)) => return Resolved::Variable(*variable),
                Some(Binding::Callable(callable)) => return Resolved::Callable(*callable),
                Some(Binding::Exception) => return Resolved::Exception,
                None => at = self.scopes[at].parent,
            }
        }
        match self.module.lookup(name) {
            Some(ModuleName::Function(id)) => Resolved::Callable(Callable::Module(*id)),
            Some(ModuleName::Constant(value)) => Resolved::Expression(*value),
            Some(ModuleName::Library(name)) => library_name(name),
            None if name.contains('.') => Resolved::Unknown,
            None => match LibraryFunction::find(name) {
                Some(builtin) => Resolved::Callable(Callable::Library(builtin)),
                None => Resolved::Unknown,
            },
        }
    }

    /// What an expression stands for, if it is a name or an attribute of a library module.
    pub(super) fn resolve_expr(&self, expr: ExprId) -> Option<Resolved> {
        match self.tree.expr(expr).kind {
            ExprKind::Name(name) => Some(self.resolve(self.tree.name(name))),
            ExprKind::Attribute(base, name) => match self.resolve_expr(base)? {
                Resolved::Library(module) => {
                    Some(library_name(&format!("{module}.{}", self.tree.name(name))))
                }
                _ => None,
            },
            ExprKind::Lambda { .. } => Some(Resolved::Callable(Callable::Lambda(expr, self.scope))),
            _ => None,
        }
    }

    /// Dotted name of an expression that names something of the library or a builtin type.
    pub(super) fn dotted(&self, expr: ExprId) -> Option<String> {
        match self.tree.expr(expr).kind {
            ExprKind::Name(name) => {
                let name = self.tree.name(name);
                if let Resolved::Variable(_) = self.resolve(name) {
                    return None;
                }
                match self.module.lookup(name) {
                    Some(ModuleName::Library(dotted)) => Some(dotted.clone()),
                    Some(_) => None,
                    None => Some(name.to_owned()),
                }
            }
            ExprKind::Attribute(base, name) => {
                Some(format!("{}.{}", self.dotted(base)?, self.tree.name(name)))
            }
            ExprKind::Text(text) => Some(format!("numpy.{}", self.tree.name(text))),
            _ => None,
        }
    }

    /// The variable that a name is assigned to in the scope at hand, or in the one that `nonlocal` leads to; none
    /// if the name is a function.
    pub(super) fn target_variable(&mut self, name: &str) -> Option<VarId> {
        let mut at = self.scope;
        if self.is_declared_nonlocal(name) {
            at = self.scopes[at].parent;
            while at != 0 && !self.scopes[at].names.contains_key(name) {
                at = self.scopes[at].parent;
            }
        }
        if at == 0 {
            return None;
        }
        match self.scopes[at].names.get(name) {
            Some(Binding::Variable(variable)) => Some(*variable),
            Some(Binding::Callable(_) | Binding::Exception) => None,
            None => {
                let variable = self.variable(name);
                self.scopes[at].names.insert(name.to_owned(), Binding::Variable(variable));
                Some(variable)
            }
        }
    }

    /// True if a name of the scope at hand is declared nonlocal.
    pub(super) fn is_declared_nonlocal(&self, name: &str) -> bool {
        self.scopes[self.scope].nonlocals.contains(name)
    }

    /// The scope that `:=` assigns in: that of the function around comprehensions.
    pub(super) fn function_scope(&self) -> usize {
        let mut at = self.scope;
        while self.scopes[at].is_comprehension {
            at = self.scopes[at].parent;
        }
        at
    }

    fn collect(&self, body: &[StmtId], assigned: &mut Assigned) {
        let tree = self.tree;
        let mut work: Vec<StmtId> = body.iter().rev().copied().collect();
        while let Some(statement) = work.pop() {
            match tree.stmt(statement).kind {
                StmtKind::FunctionDef { name, .. } => {
                    let (source, span) = (Source::Definition(statement), tree.stmt(statement).span);
                    assigned.function(tree.name(name), source, span, body.contains(&statement));
                }
                StmtKind::Assign { targets, value } => {
                    for target in tree.expr_list(targets) {
                        match (tree.expr(*target).kind, tree.expr(value).kind) {
                            (ExprKind::Name(name), ExprKind::Lambda { .. }) => {
                                let (source, span) = (Source::Lambda(value), tree.stmt(statement).span);
                                assigned.function(tree.name(name), source, span, body.contains(&statement));
                            }
                            _ => self.collect_target(*target, assigned),
                        }
                    }
                }
                StmtKind::Nonlocal(names) => {
                    for name in tree.expr_list(names) {
                        if let ExprKind::Name(name) = tree.expr(*name).kind {
                            assigned.nonlocals.insert(tree.name(name).to_owned());
                        }
                    }
                }
                StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => {
                    self.collect_target(target, assigned);
                }
                StmtKind::For { target, body, orelse, .. } => {
                    self.collect_target(target, assigned);
                    work.extend(tree.block(body).iter().chain(tree.block(orelse)));
                }
                kind @ (StmtKind::While { .. } | StmtKind::If { .. } | StmtKind::Try { .. }) => {
                    work.extend(tree.blocks_of(kind));
                }
                StmtKind::Delete(targets) => {
                    tree.expr_list(targets).iter().for_each(|target| self.collect_target(*target, assigned));
                }
                StmtKind::Match { cases, .. } => {
                    for case in tree.cases(cases) {
                        for pattern in tree.patterns(case.patterns) {
                            if let PyPattern::Capture(name, _) = pattern {
                                assigned.name(tree.name(*name));
                            }
                        }
                        work.extend(tree.block(case.body));
                    }
                }
                _ => {}
            }
        }
    }

    fn collect_target(&self, target: ExprId, assigned: &mut Assigned) {
        match self.tree.expr(target).kind {
            ExprKind::Name(name) => assigned.name(self.tree.name(name)),
            ExprKind::Tuple(parts) | ExprKind::List(parts) => {
                self.tree.expr_list(parts).iter().for_each(|part| self.collect_target(*part, assigned));
            }
            _ => {}
        }
    }
}

/// Where a function of a name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Definition(StmtId),
    Lambda(ExprId),
}

impl Source {
    /// The function, with the scope around it.
    fn in_scope(self, scope: usize) -> Callable {
        match self {
            Source::Definition(statement) => Callable::Inner(statement, scope),
            Source::Lambda(expr) => Callable::Lambda(expr, scope),
        }
    }
}

/// A name that is a function.
#[derive(Clone, Copy, Debug)]
struct Known {
    source: Source,
    /// How often the name is assigned.
    count: usize,
    /// The statement that defines it.
    span: Span,
    /// True of a statement of the body itself, which every path behind it has run.
    is_in_body: bool,
}

/// Names that statements assign, in order of appearance.
#[derive(Debug, Default)]
struct Assigned {
    names: Vec<String>,
    functions: HashMap<String, Known>,
    counts: HashMap<String, usize>,
    nonlocals: HashSet<String>,
}

impl Assigned {
    fn name(&mut self, name: &str) {
        let count = self.counts.entry(name.to_owned()).or_default();
        if *count == 0 {
            self.names.push(name.to_owned());
        }
        *count += 1;
        if let Some(function) = self.functions.get_mut(name) {
            function.count += 1;
        }
    }

    fn function(&mut self, name: &str, source: Source, span: Span, is_in_body: bool) {
        let before = self.counts.get(name).copied().unwrap_or_default();
        self.name(name);
        self.functions.insert(name.to_owned(), Known { source, count: before + 1, span, is_in_body });
    }
}

/// The name of the variable that has a value behind the definition of a function: no name of a text has brackets.
fn behind_definition(function: &str) -> String {
    format!("{function}()")
}

fn library_name(name: &str) -> Resolved {
    if library::is_module(name) {
        return Resolved::Library(name.to_owned());
    }
    if let Some(constant) = library::constant(name) {
        return Resolved::Constant(constant);
    }
    match LibraryFunction::find(name) {
        Some(builtin) => Resolved::Callable(Callable::Library(builtin)),
        None => Resolved::Library(name.to_owned()),
    }
}
