//! A module: its functions, its constants, and what it imports.

use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::library;
use crate::function::op::FunctionId;
use crate::python::{ExprId, ExprKind, PyStmt, PyTree, StmtId, StmtKind, parse_module};
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

/// A parsed module.
#[derive(Clone, Debug)]
pub struct FunctionModule {
    tree: PyTree,
    functions: Vec<StmtId>,
    names: HashMap<String, ModuleName>,
    /// By function, whether it leads back to itself.
    recursive: Vec<bool>,
    /// True if the text makes dictionaries or sets.
    has_dictionaries: bool,
    /// True if the text catches exceptions.
    has_handlers: bool,
}

/// What a name of the module stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModuleName {
    /// A function.
    Function(FunctionId),
    /// The value of an expression.
    Constant(ExprId),
    /// A module of the library, or something in one: a dotted name.
    Library(String),
}

impl FunctionModule {
    /// Reads a module.
    ///
    /// # Errors
    /// Text that is no Python or outside of the subset, and statements that a module cannot have: all of them.
    pub fn parse(text: &str) -> Result<FunctionModule, Vec<FunctionError>> {
        let parsed = parse_module(text);
        let mut errors: Vec<FunctionError> = Vec::new();
        for error in parsed.errors {
            let span = error.span;
            errors.push(FunctionError::new(FunctionProblem::Python(Box::new(error)), span));
        }
        let mut module = FunctionModule {
            tree: parsed.tree,
            functions: Vec::new(),
            names: HashMap::new(),
            recursive: Vec::new(),
            has_dictionaries: false,
            has_handlers: false,
        };
        if errors.is_empty() {
            let body = module.tree.body().to_vec();
            body.into_iter().for_each(|statement| module.statement(statement, &mut errors));
            module.recursive = module.find_recursion();
            module.has_dictionaries = module.find_dictionaries();
            let is_try = |it: &PyStmt| matches!(it.kind, StmtKind::Try { .. });
            module.has_handlers = module.tree.stmts().iter().any(is_try);
        }
        if errors.is_empty() { Ok(module) } else { Err(errors) }
    }

    /// The tree.
    pub fn tree(&self) -> &PyTree {
        &self.tree
    }

    /// Names of the functions, in order of the text.
    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|statement| self.name_of(*statement))
    }

    /// The function of this name; of several the last.
    ///
    /// # Errors
    /// There is none.
    pub fn function(&self, name: &str) -> Result<FunctionId, FunctionError> {
        match self.names.get(name) {
            Some(ModuleName::Function(id)) => Ok(*id),
            _ => {
                let known = self.function_names().map(str::to_owned).collect();
                let problem = FunctionProblem::NoFunction { name: name.to_owned(), known };
                Err(FunctionError::new(problem, Span::default()))
            }
        }
    }

    /// Names of a function's parameters.
    pub fn parameter_names(&self, id: FunctionId) -> Vec<&str> {
        let StmtKind::FunctionDef { parameters, .. } = self.tree.stmt(self.definition(id)).kind else {
            unreachable!("a function is a definition")
        };
        self.tree.parameters(parameters).iter().map(|parameter| self.tree.name(parameter.name)).collect()
    }

    /// The definition of a function.
    pub(crate) fn definition(&self, id: FunctionId) -> StmtId {
        self.functions[id.0 as usize]
    }

    /// True if the text catches exceptions.
    pub(crate) fn has_handlers(&self) -> bool {
        self.has_handlers
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// True without functions.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Name of a function.
    pub fn name(&self, id: FunctionId) -> &str {
        self.name_of(self.definition(id))
    }

    /// True if calls may lead from a function back to it.
    pub(crate) fn is_recursive(&self, id: FunctionId) -> bool {
        self.recursive[id.0 as usize]
    }

    /// True if a value of the module may be a dictionary or a set.
    pub(crate) fn has_dictionaries(&self) -> bool {
        self.has_dictionaries
    }

    fn find_dictionaries(&self) -> bool {
        let makes_one = |kind: ExprKind| match kind {
            ExprKind::Dict(_)
            | ExprKind::Set(_)
            | ExprKind::DictComprehension(..)
            | ExprKind::SetComprehension(..) => true,
            ExprKind::Name(name) => matches!(self.tree.name(name), "dict" | "set"),
            _ => false,
        };
        self.tree.exprs().iter().any(|expr| makes_one(expr.kind))
    }

    /// Functions on circles of names: whoever names a function may call it.
    fn find_recursion(&self) -> Vec<bool> {
        let mut graph = DiGraph::<(), ()>::new();
        let nodes: Vec<_> = self.functions.iter().map(|_| graph.add_node(())).collect();
        let spans: Vec<Span> = self.functions.iter().map(|f| self.tree.stmt(*f).span).collect();
        for expr in self.tree.exprs() {
            let ExprKind::Name(name) = expr.kind else { continue };
            let Some(ModuleName::Function(to)) = self.names.get(self.tree.name(name)) else { continue };
            // Definitions stand one behind the other.
            let around = spans.partition_point(|span| span.end <= expr.span.start);
            if spans.get(around).is_some_and(|span| span.start <= expr.span.start) {
                graph.update_edge(nodes[around], nodes[to.0 as usize], ());
            }
        }
        let mut recursive = vec![false; nodes.len()];
        for component in tarjan_scc(&graph) {
            let is_circle = component.len() > 1 || graph.contains_edge(component[0], component[0]);
            component.iter().for_each(|node| recursive[node.index()] = is_circle);
        }
        recursive
    }

    /// Place of `*args` among the parameters of a function.
    pub(crate) fn rest_parameter(&self, id: FunctionId) -> Option<Span> {
        let StmtKind::FunctionDef { parameters, .. } = self.tree.stmt(self.definition(id)).kind else {
            return None;
        };
        self.tree.parameters(parameters).iter().find(|it| it.is_rest).map(|it| it.span)
    }

    /// Where the text of a function says that it takes an argument of a number; of a number beyond, its definition.
    pub(crate) fn place_of_parameter(&self, id: FunctionId, number: usize) -> Span {
        let definition = self.tree.stmt(self.definition(id));
        let start = definition.span.start;
        match definition.kind {
            StmtKind::FunctionDef { parameters, .. } => {
                let parameter = self.tree.parameters(parameters).get(number);
                parameter.map_or(Span { start, end: start + 3 }, |parameter| parameter.span)
            }
            _ => definition.span,
        }
    }

    /// What a name stands for.
    pub(crate) fn lookup(&self, name: &str) -> Option<&ModuleName> {
        self.names.get(name)
    }

    /// Line of a place, from 1.
    pub fn line(&self, span: Span) -> u32 {
        self.tree.lines().line(span)
    }

    fn name_of(&self, statement: StmtId) -> &str {
        match self.tree.stmt(statement).kind {
            StmtKind::FunctionDef { name, .. } => self.tree.name(name),
            _ => unreachable!("only definitions are in the list of functions"),
        }
    }

    fn statement(&mut self, statement: StmtId, errors: &mut Vec<FunctionError>) {
        let tree = &self.tree;
        let span = tree.stmt(statement).span;
        match tree.stmt(statement).kind {
            StmtKind::FunctionDef { name, .. } => {
                let name = tree.name(name).to_owned();
                self.names.insert(name, ModuleName::Function(FunctionId(self.functions.len() as u32)));
                self.functions.push(statement);
            }
            StmtKind::Assign { targets, value } => {
                for target in tree.expr_list(targets) {
                    match tree.expr(*target).kind {
                        ExprKind::Name(name) => {
                            self.names.insert(tree.name(name).to_owned(), ModuleName::Constant(value));
                        }
                        _ => errors.push(module_statement(tree.expr(*target).span)),
                    }
                }
            }
            StmtKind::AnnAssign { target, value: Some(value), .. } => match tree.expr(target).kind {
                ExprKind::Name(name) => {
                    self.names.insert(tree.name(name).to_owned(), ModuleName::Constant(value));
                }
                _ => errors.push(module_statement(span)),
            },
            StmtKind::Import(aliases) => {
                for alias in tree.aliases(aliases) {
                    let module = tree.name(alias.name).to_owned();
                    let name = alias.alias.map_or(module.clone(), |alias| tree.name(alias).to_owned());
                    match library::is_module(&module) {
                        true => drop(self.names.insert(name, ModuleName::Library(module))),
                        false => errors.push(unknown_module(&module, alias.span)),
                    }
                }
            }
            StmtKind::ImportFrom { module, names } => {
                let module = tree.name(module).to_owned();
                if !library::is_module(&module) {
                    return errors.push(unknown_module(&module, span));
                }
                for alias in tree.aliases(names) {
                    let original = tree.name(alias.name);
                    let name = alias.alias.map_or(original, |alias| tree.name(alias)).to_owned();
                    self.names.insert(name, ModuleName::Library(format!("{module}.{original}")));
                }
            }
            // A documentation string.
            StmtKind::Expr(value) if matches!(tree.expr(value).kind, ExprKind::Text(_)) => {}
            StmtKind::Pass | StmtKind::AnnAssign { value: None, .. } => {}
            _ => errors.push(module_statement(span)),
        }
    }
}

fn module_statement(span: Span) -> FunctionError {
    let message = "a module of functions has definitions, constants and imports only";
    FunctionError::unsupported("module-statement", message, "move the statement into a function", span)
}

fn unknown_module(name: &str, span: Span) -> FunctionError {
    let message = format!("the module `{name}` cannot be imported");
    FunctionError::unsupported("import", message, "functions use `math`, `numpy` and `numba`", span)
}
