//! The normalised tree, for people and tools: what the builder of blocks makes of the syntax tree, as statements.
//!
//! | source | norm |
//! | --- | --- |
//! | `def f(n): …`, `lambda n: …` | `Assign(Name("f"), Lambda([Parameter("n")], […]))` |
//! | `s += x`, `a[i] += x` | one assignment; `a` and `i` are evaluated once, into names `%0`, `%1` |
//! | `x = y = v`, `a, b = v` | an assignment to each target, of a name that holds the value |
//! | `a < b < c` | `Let` names for operands, comparisons in an `And` |
//! | `[x for x in a if x]` | a call of a `Lambda` with loops that append |
//! | `x := v` | `Seq`: the assignment, then the name |
//! | `match`, `assert`, `elif` | `If` |
//!
//! Annotations, decorators, imports, documentation strings and `pass` are gone. Nothing compiles from this form: blocks are
//! built from the syntax tree (docs/decisions/0023-stages-are-documents.md).
//!
//! Expressions and statements are converted in the order of their numbers, parts first, so that depth costs no stack.

mod comprehension;

use crate::python::pyast::{binary_name, compare_name, unary_name};
use crate::python::tree::{PyCase, PyPattern};
use crate::python::{BinaryOp, BoolOp, CompareOp, ExprId, ExprKind, PyTree, StmtId, StmtKind, Stretch};
use crate::schema::{Datum, Document, Schema, SortId, SourcePosition, TermValue, parse_schema};
use cembra_vm::program::instruction::Span;
use comprehension::Collected;
use std::sync::LazyLock;

/// The text of the schema.
pub const NORM: &str = include_str!("../schemas/norm.asdl");

/// The schema of normalised trees.
pub fn norm_schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| parse_schema(NORM).schema.expect("a test reads the schema without errors"));
    &SCHEMA
}

/// The type of a whole module.
pub fn norm_root() -> SortId {
    norm_schema().find_sort("module").expect("the schema defines it")
}

/// The normalised form of a tree that was parsed without errors.
pub fn norm_document(tree: &PyTree) -> Document {
    let mut normaliser =
        Normaliser { tree, document: Document::new(), exprs: Vec::new(), stmts: Vec::new(), temporaries: 0 };
    for at in 0..tree.exprs().len() {
        let value = normaliser.expr(tree.exprs()[at].kind, tree.exprs()[at].span);
        normaliser.exprs.push(value);
    }
    for at in 0..tree.stmts().len() {
        let statements = normaliser.stmt(tree.stmts()[at].kind, tree.stmts()[at].span);
        normaliser.stmts.push(statements);
    }
    let body = normaliser.block(tree.body());
    let root = normaliser.term("Module", &[body]);
    normaliser.document.set_root(root);
    normaliser.document
}

struct Normaliser<'t> {
    tree: &'t PyTree,
    document: Document,
    exprs: Vec<TermValue>,
    /// What each statement becomes.
    stmts: Vec<Vec<TermValue>>,
    temporaries: u32,
}

impl Normaliser<'_> {
    fn term(&mut self, name: &str, values: &[TermValue]) -> TermValue {
        let constructor = norm_schema().find_constructor(name).expect("tests convert every constructor");
        let term = self.document.add_term(norm_schema(), constructor, values);
        TermValue::Term(term.expect("tests convert every constructor, and a source is far below 2^31 terms"))
    }

    /// A statement at a place.
    fn statement(&mut self, name: &str, values: &[TermValue], span: Span) -> TermValue {
        let (line, column) = self.tree.lines().position(span.start);
        let position = SourcePosition { line, column, end: None };
        let position = self.document.add_datum(Datum::Position(position));
        self.term(name, &[values, &[position]].concat())
    }

    fn list(&mut self, values: &[TermValue]) -> TermValue {
        self.document.add_list(values)
    }

    fn constant(&mut self, datum: Datum) -> TermValue {
        let datum = self.document.add_datum(datum);
        self.term("Const", &[datum])
    }

    fn int(&mut self, value: usize) -> TermValue {
        self.document.add_datum(Datum::Int(value as i64))
    }

    fn named(&mut self, name: &str) -> TermValue {
        let name = self.document.add_text(name);
        self.term("Name", &[name])
    }

    /// A name that no source has.
    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%{}", self.temporaries - 1)
    }

    fn value(&self, id: ExprId) -> TermValue {
        self.exprs[id.index()]
    }

    fn option(&self, id: Option<ExprId>) -> TermValue {
        id.map_or(TermValue::Absent, |id| self.value(id))
    }

    fn values(&mut self, list: Stretch) -> TermValue {
        let values: Vec<TermValue> = self.tree.expr_list(list).iter().map(|id| self.value(*id)).collect();
        self.list(&values)
    }

    fn statements(&self, block: &[StmtId]) -> Vec<TermValue> {
        block.iter().flat_map(|id| self.stmts[id.index()].iter().copied()).collect()
    }

    fn block(&mut self, block: &[StmtId]) -> TermValue {
        let statements = self.statements(block);
        self.list(&statements)
    }

    fn expr(&mut self, kind: ExprKind, span: Span) -> TermValue {
        let tree = self.tree;
        match kind {
            ExprKind::Refused => TermValue::Missing,
            ExprKind::Name(name) => self.named(tree.name(name)),
            ExprKind::Int(value) => self.constant(Datum::Int(value)),
            ExprKind::Float(value) => self.constant(Datum::Float(value)),
            ExprKind::Bool(value) => self.constant(Datum::Bool(value)),
            ExprKind::None => self.constant(Datum::None),
            ExprKind::Text(text) => self.constant(Datum::Text(tree.name(text).into())),
            ExprKind::Unary(op, operand) => {
                let op = self.term(unary_name(op), &[]);
                self.term("Unary", &[op, self.value(operand)])
            }
            ExprKind::Binary(op, left, right) => self.binary(op, self.value(left), self.value(right)),
            ExprKind::Logic(op, operands) => {
                let operands = self.values(operands);
                self.term(if op == BoolOp::And { "And" } else { "Or" }, &[operands])
            }
            ExprKind::Compare { operands, ops } => {
                self.compare(tree.expr_list(operands), tree.compare_ops(ops))
            }
            ExprKind::IfElse { test, body, orelse } => {
                self.term("Choose", &[self.value(test), self.value(body), self.value(orelse)])
            }
            ExprKind::Call { callee, args, keywords } => {
                let args = self.values(args);
                let mut named = Vec::new();
                for keyword in tree.keywords(keywords) {
                    let name = self.document.add_text(tree.name(keyword.name));
                    named.push(self.term("Keyword", &[name, self.value(keyword.value)]));
                }
                let named = self.list(&named);
                self.term("Call", &[self.value(callee), args, named])
            }
            ExprKind::Attribute(value, name) => {
                let name = self.document.add_text(tree.name(name));
                self.term("Attribute", &[self.value(value), name])
            }
            ExprKind::Subscript(value, index) => self.term("Item", &[self.value(value), self.value(index)]),
            ExprKind::Slice { lower, upper, step } => {
                self.term("Slice", &[self.option(lower), self.option(upper), self.option(step)])
            }
            ExprKind::Tuple(list) => {
                let fields = self.values(list);
                self.term("Tuple", &[fields])
            }
            ExprKind::List(list) => {
                let elements = self.values(list);
                self.term("List", &[elements])
            }
            ExprKind::Lambda { parameters, body } => {
                let result = self.statement("Return", &[self.value(body)], span);
                self.lambda(parameters, &[result])
            }
            ExprKind::ListComprehension { element, clauses } => {
                self.comprehension(Collected::List(self.value(element)), tree.clauses(clauses), span)
            }
            ExprKind::SetComprehension(element, clauses) => {
                self.comprehension(Collected::Set(self.value(element)), tree.clauses(clauses), span)
            }
            ExprKind::DictComprehension(key, value, clauses) => {
                let pair = Collected::Dict(self.value(key), self.value(value));
                self.comprehension(pair, tree.clauses(clauses), span)
            }
            ExprKind::Generator(element, clauses) => {
                self.comprehension(Collected::Yields(self.value(element)), tree.clauses(clauses), span)
            }
            ExprKind::Dict(pairs) => {
                let pairs: Vec<TermValue> = tree.expr_list(pairs).iter().map(|id| self.value(*id)).collect();
                let keys: Vec<TermValue> = pairs.iter().copied().step_by(2).collect();
                let values: Vec<TermValue> = pairs.iter().copied().skip(1).step_by(2).collect();
                let (keys, values) = (self.list(&keys), self.list(&values));
                self.term("Dict", &[keys, values])
            }
            ExprKind::Set(list) => {
                let elements = self.values(list);
                self.term("Set", &[elements])
            }
            ExprKind::Starred(value) => self.term("Starred", &[self.value(value)]),
            ExprKind::Yield(value) => self.term("Yield", &[self.option(value)]),
            ExprKind::Named(target, value) => {
                let assigned = self.statement("Assign", &[self.value(target), self.value(value)], span);
                let assigned = self.list(&[assigned]);
                self.term("Seq", &[assigned, self.value(target)])
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: TermValue, right: TermValue) -> TermValue {
        let op = self.term(binary_name(op), &[]);
        self.term("Binary", &[op, left, right])
    }

    fn comparison(&mut self, op: CompareOp, left: TermValue, right: TermValue) -> TermValue {
        let op = self.term(compare_name(op), &[]);
        self.term("Compare", &[op, left, right])
    }

    /// Comparisons that chain: each operand once, and the later ones only if those before hold.
    fn compare(&mut self, operands: &[ExprId], ops: &[CompareOp]) -> TermValue {
        if let ([left, right], [op]) = (operands, ops) {
            return self.comparison(*op, self.value(*left), self.value(*right));
        }
        let names: Vec<String> = operands.iter().map(|_| self.temporary()).collect();
        let holders: Vec<TermValue> = names.iter().map(|name| self.named(name)).collect();
        let mut rest: Option<TermValue> = None;
        for (at, op) in ops.iter().enumerate().rev() {
            let holds = self.comparison(*op, holders[at], holders[at + 1]);
            let all = match rest {
                Some(rest) => {
                    let operands = self.list(&[holds, rest]);
                    self.term("And", &[operands])
                }
                None => holds,
            };
            rest = Some(self.bound(&names[at + 1], self.value(operands[at + 1]), all));
        }
        self.bound(&names[0], self.value(operands[0]), rest.unwrap_or(TermValue::Missing))
    }

    fn bound(&mut self, name: &str, value: TermValue, body: TermValue) -> TermValue {
        let name = self.document.add_text(name);
        self.term("Let", &[name, value, body])
    }

    fn lambda(&mut self, parameters: Stretch, body: &[TermValue]) -> TermValue {
        let mut named = Vec::new();
        for parameter in self.tree.parameters(parameters) {
            let stars = if parameter.is_rest { "*" } else { "" };
            let name = self.document.add_text(&format!("{stars}{}", self.tree.name(parameter.name)));
            named.push(self.term("Parameter", &[name, self.option(parameter.default)]));
        }
        let (named, body) = (self.list(&named), self.list(body));
        self.term("Lambda", &[named, body])
    }

    fn for_loop(
        &mut self,
        target: ExprId,
        iter: TermValue,
        body: Vec<TermValue>,
        orelse: Vec<TermValue>,
        span: Span,
    ) -> TermValue {
        let is_tuple = matches!(self.tree.expr(target).kind, ExprKind::Tuple(_) | ExprKind::List(_));
        let (holder, mut statements) = match is_tuple {
            true => {
                let name = self.temporary();
                let holder = self.named(&name);
                (holder, self.store(target, holder, span))
            }
            false => (self.value(target), Vec::new()),
        };
        statements.extend(body);
        let (body, orelse) = (self.list(&statements), self.list(&orelse));
        self.statement("For", &[holder, iter, body, orelse], span)
    }

    /// Assignments of a value to the names, items and tuples of a target, from left to right.
    fn store(&mut self, target: ExprId, value: TermValue, span: Span) -> Vec<TermValue> {
        let (mut out, mut work) = (Vec::new(), vec![(target, value)]);
        while let Some((target, value)) = work.pop() {
            let (ExprKind::Tuple(parts) | ExprKind::List(parts)) = self.tree.expr(target).kind else {
                out.push(self.statement("Assign", &[self.value(target), value], span));
                continue;
            };
            let (name, count) = (self.temporary(), self.int(parts.len()));
            let holder = self.named(&name);
            let fields = self.term("Unpack", &[value, count]);
            out.push(self.statement("Assign", &[holder, fields], span));
            for (number, part) in self.tree.expr_list(parts).iter().enumerate().rev() {
                let number = self.int(number);
                work.push((*part, self.term("Field", &[holder, number])));
            }
        }
        out
    }

    /// A name that holds a value.
    fn held(&mut self, value: TermValue, span: Span, out: &mut Vec<TermValue>) -> TermValue {
        let name = self.temporary();
        let holder = self.named(&name);
        out.push(self.statement("Assign", &[holder, value], span));
        holder
    }

    fn stmt(&mut self, kind: StmtKind, span: Span) -> Vec<TermValue> {
        let tree = self.tree;
        match kind {
            StmtKind::FunctionDef { name, parameters, body, .. } => {
                let body = self.statements(tree.block(body));
                let (name, function) = (self.named(tree.name(name)), self.lambda(parameters, &body));
                vec![self.statement("Assign", &[name, function], span)]
            }
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => self.value(value),
                    None => self.constant(Datum::None),
                };
                vec![self.statement("Return", &[value], span)]
            }
            StmtKind::Delete(targets) => {
                let targets = tree.expr_list(targets).iter();
                targets.map(|target| self.statement("Delete", &[self.value(*target)], span)).collect()
            }
            StmtKind::Assign { targets, value } => {
                let (mut out, mut value) = (Vec::new(), self.value(value));
                if targets.len() > 1 {
                    value = self.held(value, span, &mut out);
                }
                for target in tree.expr_list(targets) {
                    out.extend(self.store(*target, value, span));
                }
                out
            }
            StmtKind::AugAssign { target, op, value } => self.augmented(target, op, value, span),
            StmtKind::AnnAssign { target, value: Some(value), .. } => {
                self.store(target, self.value(value), span)
            }
            StmtKind::For { target, iter, body, orelse } => {
                let (body, orelse) = (self.statements(tree.block(body)), self.statements(tree.block(orelse)));
                vec![self.for_loop(target, self.value(iter), body, orelse, span)]
            }
            StmtKind::While { test, body, orelse } => {
                let (body, orelse) = (self.block(tree.block(body)), self.block(tree.block(orelse)));
                vec![self.statement("While", &[self.value(test), body, orelse], span)]
            }
            StmtKind::If { test, body, orelse } => {
                let (body, orelse) = (self.block(tree.block(body)), self.block(tree.block(orelse)));
                vec![self.statement("If", &[self.value(test), body, orelse], span)]
            }
            StmtKind::Match { subject, cases } => self.cases(subject, tree.cases(cases), span),
            StmtKind::Try { body, handlers, orelse, finish } => {
                vec![self.try_statement([body, orelse, finish], handlers, span)]
            }
            StmtKind::Raise(exception) => vec![self.statement("Raise", &[self.option(exception)], span)],
            StmtKind::Assert { test, message } => vec![self.assertion(test, message, span)],
            StmtKind::Expr(value) if matches!(tree.expr(value).kind, ExprKind::Text(_)) => Vec::new(),
            StmtKind::Expr(value) => vec![self.statement("Discard", &[self.value(value)], span)],
            StmtKind::Nonlocal(names) => {
                let names = tree.expr_list(names).iter().filter_map(|id| match tree.expr(*id).kind {
                    ExprKind::Name(name) => Some(tree.name(name)),
                    _ => None,
                });
                let names: Vec<TermValue> = names.map(|name| self.document.add_text(name)).collect();
                let names = self.list(&names);
                vec![self.statement("Nonlocal", &[names], span)]
            }
            StmtKind::Break => vec![self.statement("Break", &[], span)],
            StmtKind::Continue => vec![self.statement("Continue", &[], span)],
            StmtKind::AnnAssign { value: None, .. }
            | StmtKind::Import(_)
            | StmtKind::ImportFrom { .. }
            | StmtKind::Pass
            | StmtKind::Refused(_) => Vec::new(),
        }
    }

    fn try_statement(&mut self, blocks: [Stretch; 3], handlers: Stretch, span: Span) -> TermValue {
        let tree = self.tree;
        let [body, orelse, finish] = blocks.map(|block| self.block(tree.block(block)));
        let mut caught = Vec::new();
        for handler in tree.handlers(handlers) {
            let class = self.option(handler.class);
            let name = match handler.name {
                Some(name) => self.document.add_text(tree.name(name)),
                None => TermValue::Absent,
            };
            let body = self.block(tree.block(handler.body));
            caught.push(self.term("Handler", &[class, name, body]));
        }
        let caught = self.list(&caught);
        self.statement("Try", &[body, caught, orelse, finish], span)
    }

    /// `target op= value`: an item's base and index are evaluated once, before the value.
    fn augmented(&mut self, target: ExprId, op: BinaryOp, value: ExprId, span: Span) -> Vec<TermValue> {
        let mut out = Vec::new();
        let (place, kind) = match self.tree.expr(target).kind {
            ExprKind::Subscript(base, index) => {
                let base = self.held(self.value(base), span, &mut out);
                let index = self.held(self.value(index), span, &mut out);
                (self.term("Item", &[base, index]), "Binary")
            }
            _ => (self.value(target), "InPlace"),
        };
        let op = self.term(binary_name(op), &[]);
        let result = self.term(kind, &[op, place, self.value(value)]);
        out.push(self.statement("Assign", &[place, result], span));
        out
    }

    fn assertion(&mut self, test: ExprId, message: Option<ExprId>, span: Span) -> TermValue {
        let not = self.term("Not", &[]);
        let fails = self.term("Unary", &[not, self.value(test)]);
        let class = self.named("AssertionError");
        let args: Vec<TermValue> = message.into_iter().map(|message| self.value(message)).collect();
        let (args, none) = (self.list(&args), self.list(&[]));
        let error = self.term("Call", &[class, args, none]);
        let raise = self.statement("Raise", &[error], span);
        let (body, none) = (self.list(&[raise]), self.list(&[]));
        self.statement("If", &[fails, body, none], span)
    }

    /// The first case that fits, as conditions one behind the other.
    fn cases(&mut self, subject: ExprId, cases: &[PyCase], span: Span) -> Vec<TermValue> {
        let mut out = Vec::new();
        let subject = self.held(self.value(subject), span, &mut out);
        let mut rest: Vec<TermValue> = Vec::new();
        for case in cases.iter().rev() {
            let mut tests = Vec::new();
            for pattern in self.tree.patterns(case.patterns) {
                tests.push(self.pattern(*pattern, subject, case.span));
            }
            let mut test = match tests[..] {
                [test] => test,
                _ => {
                    let tests = self.list(&tests);
                    self.term("Or", &[tests])
                }
            };
            if let Some(guard) = case.guard {
                let both = self.list(&[test, self.value(guard)]);
                test = self.term("And", &[both]);
            }
            let (body, orelse) = (self.block(self.tree.block(case.body)), self.list(&rest));
            rest = vec![self.statement("If", &[test, body, orelse], case.span)];
        }
        out.extend(rest);
        out
    }

    fn pattern(&mut self, pattern: PyPattern, subject: TermValue, span: Span) -> TermValue {
        match pattern {
            PyPattern::Literal(literal) => {
                let is_word = matches!(self.tree.expr(literal).kind, ExprKind::None | ExprKind::Bool(_));
                let op = if is_word { CompareOp::Is } else { CompareOp::Equal };
                self.comparison(op, subject, self.value(literal))
            }
            PyPattern::Wildcard(_) => self.constant(Datum::Bool(true)),
            PyPattern::Capture(name, _) => {
                let name = self.named(self.tree.name(name));
                let assigned = self.statement("Assign", &[name, subject], span);
                let (assigned, truth) = (self.list(&[assigned]), self.constant(Datum::Bool(true)));
                self.term("Seq", &[assigned, truth])
            }
        }
    }
}
