//! Declarations `nonlocal`: the name is bound by a function around, and not used before.
//!
//! Which function an expression belongs to is known from its place: bodies of functions are stretches of the text
//! that contain each other or have nothing in common.

use crate::python::error::{PythonError, PythonProblem};
use crate::python::pyast::{Context, contexts};
use crate::python::tree::{ExprKind, NameId, PyPattern, PyTree, StmtId, StmtKind, Stretch};
use cembra_vm::program::instruction::Span;
use hashbrown::{HashMap, HashSet};

/// A function of the text.
struct Function {
    /// Its body.
    extent: Span,
    parent: Option<usize>,
    parameters: Vec<NameId>,
    bound: HashSet<NameId>,
    declared: HashSet<NameId>,
    /// First use of each name, and how it is used.
    first_use: HashMap<NameId, (u32, &'static str)>,
}

/// Reports declarations that bind nothing.
pub(super) fn check_nonlocals(tree: &PyTree, errors: &mut Vec<PythonError>) {
    let is_declaration = |id: &StmtId| matches!(tree.stmt(*id).kind, StmtKind::Nonlocal(_));
    let statements: Vec<StmtId> = (0..tree.stmts().len() as u32).map(StmtId).collect();
    if !statements.iter().any(is_declaration) {
        return;
    }
    let mut functions = functions(tree, &statements);
    declarations(tree, &statements, &mut functions);
    uses(tree, &mut functions);
    bindings(tree, &statements, &mut functions);
    for id in statements.iter().filter(|id| is_declaration(id)) {
        let StmtKind::Nonlocal(names) = tree.stmt(*id).kind else { continue };
        let span = tree.stmt(*id).span;
        let at = innermost(&functions, span.start);
        errors.extend(
            each_name(tree, names)
                .filter_map(|(name, span)| Some((problem(tree, &functions, at, name, span)?, span)))
                .map(|(problem, span)| PythonError { problem, span }),
        );
    }
}

/// What is wrong with a declaration of a name at a place in a function.
fn problem(
    tree: &PyTree,
    functions: &[Function],
    at: Option<usize>,
    name: NameId,
    span: Span,
) -> Option<PythonProblem> {
    let Some(at) = at else { return Some(PythonProblem::NonlocalAtTop) };
    let (function, text) = (&functions[at], tree.name(name).to_owned());
    if function.parameters.contains(&name) {
        return Some(PythonProblem::NonlocalParameter { name: text });
    }
    if let Some((start, what)) = function.first_use.get(&name)
        && *start < span.start
    {
        return Some(PythonProblem::LateNonlocal { name: text, what });
    }
    let mut around = function.parent;
    while let Some(outer) = around {
        let outer = &functions[outer];
        if outer.bound.contains(&name) && !outer.declared.contains(&name) {
            return None;
        }
        around = outer.parent;
    }
    Some(PythonProblem::NoBinding { name: text })
}

/// All functions, in order of the text.
fn functions(tree: &PyTree, statements: &[StmtId]) -> Vec<Function> {
    let mut functions = Vec::new();
    for id in statements {
        let StmtKind::FunctionDef { parameters, body, .. } = tree.stmt(*id).kind else { continue };
        let start = tree.block(body).first().map_or(tree.stmt(*id).span.end, |it| tree.stmt(*it).span.start);
        let parameters: Vec<NameId> = tree.parameters(parameters).iter().map(|it| it.name).collect();
        functions.push(Function {
            extent: Span { start, end: tree.stmt(*id).span.end },
            parent: None,
            bound: parameters.iter().copied().collect(),
            parameters,
            declared: HashSet::new(),
            first_use: HashMap::new(),
        });
    }
    functions.sort_by_key(|function| (function.extent.start, std::cmp::Reverse(function.extent.end)));
    let mut open: Vec<usize> = Vec::new();
    for at in 0..functions.len() {
        let start = functions[at].extent.start;
        while open.last().is_some_and(|outer| functions[*outer].extent.end <= start) {
            open.pop();
        }
        functions[at].parent = open.last().copied();
        open.push(at);
    }
    functions
}

/// The function whose body a place is in: the last that begins before it, or one around that.
fn innermost(functions: &[Function], place: u32) -> Option<usize> {
    let before = functions.partition_point(|function| function.extent.start <= place);
    let mut at = before.checked_sub(1);
    while let Some(function) = at
        && functions[function].extent.end <= place
    {
        at = functions[function].parent;
    }
    at
}

fn declarations(tree: &PyTree, statements: &[StmtId], functions: &mut [Function]) {
    for id in statements {
        let statement = tree.stmt(*id);
        if let StmtKind::Nonlocal(names) = statement.kind
            && let Some(at) = innermost(functions, statement.span.start)
        {
            functions[at].declared.extend(each_name(tree, names).map(|name| name.0));
        }
    }
}

/// Names of expressions: which are assigned, and the first use of each.
fn uses(tree: &PyTree, functions: &mut [Function]) {
    let mut declarations: HashSet<u32> = HashSet::new();
    for statement in tree.stmts() {
        if let StmtKind::Nonlocal(names) = statement.kind {
            declarations.extend(each_name(tree, names).map(|name| name.1.start));
        }
    }
    for (expr, context) in tree.exprs().iter().zip(contexts(tree)) {
        let ExprKind::Name(name) = expr.kind else { continue };
        if declarations.contains(&expr.span.start) {
            continue;
        }
        let Some(at) = innermost(functions, expr.span.start) else { continue };
        let what = if context == Context::Load { "used" } else { "assigned to" };
        let first = functions[at].first_use.entry(name).or_insert((expr.span.start, what));
        if expr.span.start < first.0 {
            *first = (expr.span.start, what);
        }
        if context != Context::Load {
            functions[at].bound.insert(name);
        }
    }
}

/// Names that statements bind without an expression.
fn bindings(tree: &PyTree, statements: &[StmtId], functions: &mut [Function]) {
    for id in statements {
        let statement = tree.stmt(*id);
        let names: Vec<NameId> = match statement.kind {
            StmtKind::FunctionDef { name, .. } => vec![name],
            StmtKind::Match { cases, .. } => {
                let patterns = tree.cases(cases).iter().flat_map(|case| tree.patterns(case.patterns));
                let name = |pattern: &PyPattern| match pattern {
                    PyPattern::Capture(name, _) => Some(*name),
                    _ => None,
                };
                patterns.filter_map(name).collect()
            }
            StmtKind::Try { handlers, .. } => {
                tree.handlers(handlers).iter().filter_map(|handler| handler.name).collect()
            }
            _ => continue,
        };
        if let Some(at) = innermost(functions, statement.span.start) {
            functions[at].bound.extend(names);
        }
    }
}

fn each_name(tree: &PyTree, names: Stretch) -> impl Iterator<Item = (NameId, Span)> {
    tree.expr_list(names).iter().filter_map(|expr| match tree.expr(*expr).kind {
        ExprKind::Name(name) => Some((name, tree.expr(*expr).span)),
        _ => None,
    })
}
