//! The stage `pyast`: the tree as a document of the schema `pyast.asdl`.
//!
//! ```text
//! AugAssign(Name("s", Store), Add, BinOp(Name("i", Load), Mult, Num(0.5))) @4:18
//! ```
//!
//! Expressions and statements are converted in the order of their numbers, parts first, so depth costs no
//! stack. Contexts (`Load`, `Store`, `Del`) are found beforehand, from the statements that assign.

use crate::python::operators::{BinaryOp, BoolOp, CompareOp, UnaryOp};
use crate::python::tree::{
    ExprId, ExprKind, NameId, PyParameter, PyPattern, PyTree, StmtId, StmtKind, Stretch,
};
use crate::schema::bind::parse_schema;
use crate::schema::builtin::{Datum, SourcePosition};
use crate::schema::document::{Document, TermValue};
use crate::schema::model::{Schema, SortId};
use cembra_vm::program::instruction::Span;
use std::sync::LazyLock;

/// The text of the schema.
pub const PYAST: &str = include_str!("pyast.asdl");

/// The schema of the stage.
pub fn pyast_schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| parse_schema(PYAST).schema.expect("a test reads the schema without errors"));
    &SCHEMA
}

/// The type of a whole module.
pub fn pyast_root() -> SortId {
    pyast_schema().find_sort("mod").expect("the schema defines it")
}

/// Which nodes have positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// Statements, where they begin: enough for people.
    Statements,
    /// Every node, with its end.
    Everything,
}

/// The tree as a document; what was refused is missing in it.
pub fn pyast_document(tree: &PyTree, positions: Positions) -> Document {
    let mut converter = Converter {
        tree,
        schema: pyast_schema(),
        positions,
        document: Document::new(),
        contexts: contexts(tree),
        exprs: Vec::with_capacity(tree.exprs().len()),
        stmts: Vec::with_capacity(tree.stmts().len()),
    };
    for at in 0..tree.exprs().len() {
        let value = converter.expr(ExprId(at as u32));
        converter.exprs.push(value);
    }
    for at in 0..tree.stmts().len() {
        let value = converter.stmt(StmtId(at as u32));
        converter.stmts.push(value);
    }
    let body: Vec<TermValue> = tree.body().iter().map(|id| converter.stmts[id.index()]).collect();
    let body = converter.document.add_list(&body);
    let root = converter.term("Module", &[body]);
    converter.document.set_root(root);
    converter.document
}

/// How an expression is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Load,
    Store,
    Del,
}

/// The context of each expression.
pub(super) fn contexts(tree: &PyTree) -> Vec<Context> {
    let mut contexts = vec![Context::Load; tree.exprs().len()];
    let mut work: Vec<(ExprId, Context)> = Vec::new();
    for stmt in tree.stmts() {
        match stmt.kind {
            StmtKind::Assign { targets, .. } => {
                work.extend(tree.expr_list(targets).iter().map(|target| (*target, Context::Store)));
            }
            StmtKind::Delete(targets) => {
                work.extend(tree.expr_list(targets).iter().map(|target| (*target, Context::Del)));
            }
            StmtKind::AugAssign { target, .. }
            | StmtKind::AnnAssign { target, .. }
            | StmtKind::For { target, .. } => work.push((target, Context::Store)),
            _ => {}
        }
    }
    for expr in tree.exprs() {
        match expr.kind {
            ExprKind::Named(target, _) => work.push((target, Context::Store)),
            ExprKind::ListComprehension { clauses, .. }
            | ExprKind::SetComprehension(_, clauses)
            | ExprKind::DictComprehension(_, _, clauses)
            | ExprKind::Generator(_, clauses) => {
                work.extend(tree.clauses(clauses).iter().map(|clause| (clause.target, Context::Store)));
            }
            _ => {}
        }
    }
    while let Some((id, context)) = work.pop() {
        contexts[id.index()] = context;
        if let ExprKind::Tuple(list) | ExprKind::List(list) = tree.expr(id).kind {
            work.extend(tree.expr_list(list).iter().map(|element| (*element, context)));
        }
    }
    contexts
}

struct Converter<'t> {
    tree: &'t PyTree,
    schema: &'static Schema,
    positions: Positions,
    document: Document,
    contexts: Vec<Context>,
    exprs: Vec<TermValue>,
    stmts: Vec<TermValue>,
}

impl Converter<'_> {
    fn term(&mut self, name: &str, values: &[TermValue]) -> TermValue {
        let constructor = self.schema.find_constructor(name).expect("a test converts every constructor");
        let term = self.document.add_term(self.schema, constructor, values);
        TermValue::Term(
            term.expect("a test converts every constructor, and a source is far below 2^31 terms"),
        )
    }

    fn word(&mut self, name: &str) -> TermValue {
        self.term(name, &[])
    }

    fn statement_position(&mut self, span: Span) -> TermValue {
        let (line, column) = self.tree.lines().position(span.start);
        let end = (self.positions == Positions::Everything).then(|| self.tree.lines().position(span.end));
        self.document.add_datum(Datum::Position(SourcePosition { line, column, end }))
    }

    fn position(&mut self, span: Span) -> TermValue {
        match self.positions {
            Positions::Statements => TermValue::Absent,
            Positions::Everything => self.statement_position(span),
        }
    }

    fn name(&mut self, id: NameId) -> TermValue {
        self.document.add_text(self.tree.name(id))
    }

    fn value(&self, id: ExprId) -> TermValue {
        self.exprs[id.index()]
    }

    fn option(&self, id: Option<ExprId>) -> TermValue {
        id.map_or(TermValue::Absent, |id| self.value(id))
    }

    fn list(&mut self, list: Stretch) -> TermValue {
        let values: Vec<TermValue> = self.tree.expr_list(list).iter().map(|id| self.value(*id)).collect();
        self.document.add_list(&values)
    }

    /// The names of a declaration.
    fn names(&mut self, list: Stretch) -> TermValue {
        let mut values = Vec::with_capacity(list.len());
        for expr in self.tree.expr_list(list) {
            if let ExprKind::Name(name) = self.tree.expr(*expr).kind {
                values.push(self.name(name));
            }
        }
        self.document.add_list(&values)
    }

    fn block(&mut self, list: Stretch) -> TermValue {
        let values: Vec<TermValue> = self.tree.block(list).iter().map(|id| self.stmts[id.index()]).collect();
        self.document.add_list(&values)
    }

    fn context(&mut self, id: ExprId) -> TermValue {
        self.word(match self.contexts[id.index()] {
            Context::Load => "Load",
            Context::Store => "Store",
            Context::Del => "Del",
        })
    }

    fn expr(&mut self, id: ExprId) -> TermValue {
        let expr = *self.tree.expr(id);
        let pos = self.position(expr.span);
        let (name, mut values) = match expr.kind {
            ExprKind::Refused => return TermValue::Missing,
            ExprKind::Name(name) => ("Name", vec![self.name(name), self.context(id)]),
            ExprKind::Int(value) => ("Num", vec![self.document.add_datum(Datum::Int(value))]),
            ExprKind::Float(value) => ("Num", vec![self.document.add_datum(Datum::Float(value))]),
            ExprKind::Bool(value) => ("NameConstant", vec![self.document.add_datum(Datum::Bool(value))]),
            ExprKind::None => ("NameConstant", vec![self.document.add_datum(Datum::None)]),
            ExprKind::Text(text) => ("Str", vec![self.name(text)]),
            ExprKind::Unary(op, operand) => ("UnaryOp", vec![self.word(unary_name(op)), self.value(operand)]),
            ExprKind::Binary(op, left, right) => {
                ("BinOp", vec![self.value(left), self.word(binary_name(op)), self.value(right)])
            }
            ExprKind::Logic(op, operands) => {
                let op = self.word(if op == BoolOp::And { "And" } else { "Or" });
                ("BoolOp", vec![op, self.list(operands)])
            }
            ExprKind::Compare { operands, ops } => ("Compare", self.compare(operands, ops)),
            ExprKind::IfElse { test, body, orelse } => {
                ("IfExp", vec![self.value(test), self.value(body), self.value(orelse)])
            }
            ExprKind::Call { callee, args, keywords } => {
                ("Call", vec![self.value(callee), self.list(args), self.keywords(keywords)])
            }
            ExprKind::Attribute(value, name) => {
                ("Attribute", vec![self.value(value), self.name(name), self.context(id)])
            }
            ExprKind::Subscript(value, index) => {
                ("Subscript", vec![self.value(value), self.value(index), self.context(id)])
            }
            ExprKind::Slice { lower, upper, step } => {
                ("Slice", vec![self.option(lower), self.option(upper), self.option(step)])
            }
            ExprKind::Tuple(list) => ("Tuple", vec![self.list(list), self.context(id)]),
            ExprKind::List(list) => ("List", vec![self.list(list), self.context(id)]),
            ExprKind::Lambda { parameters, body } => {
                ("Lambda", vec![self.arguments(parameters), self.value(body)])
            }
            ExprKind::ListComprehension { element, clauses } => {
                ("ListComp", vec![self.value(element), self.clauses(clauses)])
            }
            ExprKind::SetComprehension(element, clauses) => {
                ("SetComp", vec![self.value(element), self.clauses(clauses)])
            }
            ExprKind::DictComprehension(key, value, clauses) => {
                ("DictComp", vec![self.value(key), self.value(value), self.clauses(clauses)])
            }
            ExprKind::Generator(element, clauses) => {
                ("GeneratorExp", vec![self.value(element), self.clauses(clauses)])
            }
            ExprKind::Dict(entries) => ("Dict", self.entries(entries)),
            ExprKind::Set(elements) => ("Set", vec![self.list(elements)]),
            ExprKind::Starred(value) => ("Starred", vec![self.value(value), self.word("Load")]),
            ExprKind::Yield(value) => ("Yield", vec![self.option(value)]),
            ExprKind::Named(target, value) => ("NamedExpr", vec![self.value(target), self.value(value)]),
        };
        values.push(pos);
        self.term(name, &values)
    }

    /// Keys and values of a dictionary.
    fn entries(&mut self, entries: Stretch) -> Vec<TermValue> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for entry in self.tree.expr_list(entries).chunks_exact(2) {
            keys.push(self.value(entry[0]));
            values.push(self.value(entry[1]));
        }
        vec![self.document.add_list(&keys), self.document.add_list(&values)]
    }

    fn compare(&mut self, operands: Stretch, ops: Stretch) -> Vec<TermValue> {
        let operands: Vec<TermValue> =
            self.tree.expr_list(operands).iter().map(|id| self.value(*id)).collect();
        let ops: Vec<TermValue> =
            self.tree.compare_ops(ops).iter().map(|op| self.word(compare_name(*op))).collect();
        let (ops, comparators) = (self.document.add_list(&ops), self.document.add_list(&operands[1..]));
        vec![operands[0], ops, comparators]
    }

    fn keywords(&mut self, list: Stretch) -> TermValue {
        let mut values = Vec::with_capacity(list.len());
        for keyword in self.tree.keywords(list) {
            let fields = [self.name(keyword.name), self.value(keyword.value), self.position(keyword.span)];
            values.push(self.term("keyword", &fields));
        }
        self.document.add_list(&values)
    }

    fn arguments(&mut self, list: Stretch) -> TermValue {
        let mut values = Vec::with_capacity(list.len());
        let mut rest = TermValue::Absent;
        for PyParameter { name, annotation, default, span, is_rest } in self.tree.parameters(list) {
            let (annotation, default) = (self.option(*annotation), self.option(*default));
            let fields = [self.name(*name), annotation, default, self.position(*span)];
            let parameter = self.term("arg", &fields);
            match is_rest {
                true => rest = parameter,
                false => values.push(parameter),
            }
        }
        let values = self.document.add_list(&values);
        self.term("arguments", &[values, rest])
    }

    fn clauses(&mut self, list: Stretch) -> TermValue {
        let mut values = Vec::with_capacity(list.len());
        for clause in self.tree.clauses(list) {
            let conditions = self.list(clause.conditions);
            let fields = [self.value(clause.target), self.value(clause.iter), conditions];
            values.push(self.term("comprehension", &fields));
        }
        self.document.add_list(&values)
    }

    fn aliases(&mut self, list: Stretch) -> TermValue {
        let mut values = Vec::with_capacity(list.len());
        for alias in self.tree.aliases(list) {
            let name = self.name(alias.name);
            let alias = alias.alias.map_or(TermValue::Absent, |alias| self.name(alias));
            values.push(self.term("alias", &[name, alias]));
        }
        self.document.add_list(&values)
    }

    fn cases(&mut self, list: Stretch) -> TermValue {
        let mut values = Vec::with_capacity(list.len());
        for case in self.tree.cases(list) {
            let mut patterns = Vec::with_capacity(case.patterns.len());
            for pattern in self.tree.patterns(case.patterns) {
                patterns.push(match pattern {
                    PyPattern::Literal(literal) => {
                        let literal = self.value(*literal);
                        self.term("MatchValue", &[literal])
                    }
                    PyPattern::Capture(name, _) => {
                        let name = self.name(*name);
                        self.term("MatchAs", &[name])
                    }
                    PyPattern::Wildcard(_) => self.word("MatchAny"),
                });
            }
            let patterns = self.document.add_list(&patterns);
            let fields = [patterns, self.option(case.guard), self.block(case.body)];
            values.push(self.term("match_case", &fields));
        }
        self.document.add_list(&values)
    }

    fn handlers(&mut self, list: Stretch) -> TermValue {
        let mut values = Vec::with_capacity(list.len());
        for handler in self.tree.handlers(list) {
            let name = handler.name.map_or(TermValue::Absent, |name| self.name(name));
            let (class, body) = (self.option(handler.class), self.block(handler.body));
            let fields = [class, name, body, self.position(handler.span)];
            values.push(self.term("ExceptHandler", &fields));
        }
        self.document.add_list(&values)
    }

    fn stmt(&mut self, id: StmtId) -> TermValue {
        let stmt = *self.tree.stmt(id);
        let pos = self.statement_position(stmt.span);
        let (name, mut values) = match stmt.kind {
            StmtKind::Refused(_) => return TermValue::Missing,
            StmtKind::FunctionDef { name, parameters, returns, decorators, body } => {
                let (name, args) = (self.name(name), self.arguments(parameters));
                let (body, decorators) = (self.block(body), self.list(decorators));
                ("FunctionDef", vec![name, args, body, decorators, self.option(returns)])
            }
            StmtKind::Return(value) => ("Return", vec![self.option(value)]),
            StmtKind::Delete(targets) => ("Delete", vec![self.list(targets)]),
            StmtKind::Assign { targets, value } => ("Assign", vec![self.list(targets), self.value(value)]),
            StmtKind::AugAssign { target, op, value } => {
                ("AugAssign", vec![self.value(target), self.word(binary_name(op)), self.value(value)])
            }
            StmtKind::AnnAssign { target, annotation, value } => {
                ("AnnAssign", vec![self.value(target), self.value(annotation), self.option(value)])
            }
            StmtKind::For { target, iter, body, orelse } => {
                let (body, orelse) = (self.block(body), self.block(orelse));
                ("For", vec![self.value(target), self.value(iter), body, orelse])
            }
            StmtKind::While { test, body, orelse } => {
                ("While", vec![self.value(test), self.block(body), self.block(orelse)])
            }
            StmtKind::If { test, body, orelse } => {
                ("If", vec![self.value(test), self.block(body), self.block(orelse)])
            }
            StmtKind::Match { subject, cases } => ("Match", vec![self.value(subject), self.cases(cases)]),
            StmtKind::Try { body, handlers, orelse, finish } => {
                let (body, handlers) = (self.block(body), self.handlers(handlers));
                ("Try", vec![body, handlers, self.block(orelse), self.block(finish)])
            }
            StmtKind::Raise(exception) => ("Raise", vec![self.option(exception)]),
            StmtKind::Assert { test, message } => ("Assert", vec![self.value(test), self.option(message)]),
            StmtKind::Import(names) => ("Import", vec![self.aliases(names)]),
            StmtKind::ImportFrom { module, names } => {
                ("ImportFrom", vec![self.name(module), self.aliases(names)])
            }
            StmtKind::Nonlocal(names) => ("Nonlocal", vec![self.names(names)]),
            StmtKind::Expr(value) => ("Expr", vec![self.value(value)]),
            StmtKind::Pass => ("Pass", Vec::new()),
            StmtKind::Break => ("Break", Vec::new()),
            StmtKind::Continue => ("Continue", Vec::new()),
        };
        values.push(pos);
        self.term(name, &values)
    }
}

/// The name of an operator in schemas.
pub(crate) fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "USub",
        UnaryOp::Pos => "UAdd",
        UnaryOp::Invert => "Invert",
        UnaryOp::Not => "Not",
    }
}

/// The name of an operator in schemas.
pub(crate) fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "Add",
        BinaryOp::Sub => "Sub",
        // A matrix product is refused by the parser.
        BinaryOp::Mul | BinaryOp::MatMul => "Mult",
        BinaryOp::Div => "Div",
        BinaryOp::FloorDiv => "FloorDiv",
        BinaryOp::Mod => "Mod",
        BinaryOp::Pow => "Pow",
        BinaryOp::ShiftLeft => "LShift",
        BinaryOp::ShiftRight => "RShift",
        BinaryOp::BitAnd => "BitAnd",
        BinaryOp::BitOr => "BitOr",
        BinaryOp::BitXor => "BitXor",
    }
}

/// The name of a comparison in schemas.
pub(crate) fn compare_name(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "Eq",
        CompareOp::NotEqual => "NotEq",
        CompareOp::Less => "Lt",
        CompareOp::LessEqual => "LtE",
        CompareOp::Greater => "Gt",
        CompareOp::GreaterEqual => "GtE",
        CompareOp::Is => "Is",
        CompareOp::IsNot => "IsNot",
        CompareOp::In => "In",
        CompareOp::NotIn => "NotIn",
    }
}
