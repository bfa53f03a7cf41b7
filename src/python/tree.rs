//! The syntax tree: expressions and statements in arenas.
//!
//! ```text
//! s += i * 0.5      e0 Name s   e1 Name i   e2 Float 0.5   e3 Binary(e1 Mul e2)   s0 AugAssign(e0 Add e3)
//! ```
//!
//! Invariants:
//! 1. The parts of an expression have smaller numbers than itself, so passes over expressions are loops over
//!    numbers. The statements of a block have smaller numbers than the statement with the block.
//! 2. Lists (arguments, blocks, …) are stretches of one vector each; a [`Stretch`] names one.
//!
//! Depth is not limited: a sum of a million terms is a chain, and nothing here recurses.

pub use crate::python::ids::{ExprId, NameId, StmtId, Stretch};
use crate::python::lines::SourceLines;
use crate::python::operators::{BinaryOp, BoolOp, CompareOp, UnaryOp};
use cembra_vm::program::instruction::Span;

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyExpr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands, without brackets around it.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExprKind {
    /// A name.
    Name(NameId),
    /// A whole number.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// `None`.
    None,
    /// A text, put together of its parts.
    Text(NameId),
    /// `op operand`.
    Unary(UnaryOp, ExprId),
    /// `left op right`.
    Binary(BinaryOp, ExprId, ExprId),
    /// `a and b and c`: two or more operands.
    Logic(BoolOp, Stretch),
    /// `a < b <= c`: operands, and one operator less.
    Compare {
        /// Operands, in [`PyTree::expr_list`].
        operands: Stretch,
        /// Operators, in [`PyTree::compare_ops`].
        ops: Stretch,
    },
    /// `body if test else orelse`.
    IfElse {
        /// The condition.
        test: ExprId,
        /// The value if it holds.
        body: ExprId,
        /// The value if not.
        orelse: ExprId,
    },
    /// `callee(args, name=value)`.
    Call {
        /// What is called.
        callee: ExprId,
        /// Positional arguments.
        args: Stretch,
        /// Keyword arguments, in [`PyTree::keywords`].
        keywords: Stretch,
    },
    /// `value.name`.
    Attribute(ExprId, NameId),
    /// `value[index]`.
    Subscript(ExprId, ExprId),
    /// `lower:upper:step` in a subscript.
    Slice {
        /// First index.
        lower: Option<ExprId>,
        /// Index behind the last.
        upper: Option<ExprId>,
        /// Distance.
        step: Option<ExprId>,
    },
    /// `a, b`.
    Tuple(Stretch),
    /// `[a, b]`.
    List(Stretch),
    /// `lambda parameters: body`.
    Lambda {
        /// Parameters, in [`PyTree::parameters`].
        parameters: Stretch,
        /// The result.
        body: ExprId,
    },
    /// `[element for … in … if …]`.
    ListComprehension {
        /// One element.
        element: ExprId,
        /// `for` clauses, in [`PyTree::clauses`].
        clauses: Stretch,
    },
    /// `name := value`; the name is an expression, for its place.
    Named(ExprId, ExprId),
    /// `{key: value, …}`: keys and values in turns.
    Dict(Stretch),
    /// `{a, b}`.
    Set(Stretch),
    /// `{element for … in … if …}`: the element and the clauses.
    SetComprehension(ExprId, Stretch),
    /// `{key: value for … in … if …}`: key, value and the clauses.
    DictComprehension(ExprId, ExprId, Stretch),
    /// `(element for … in … if …)`: the element and the clauses.
    Generator(ExprId, Stretch),
    /// `*value` among the arguments of a call.
    Starred(ExprId),
    /// `yield value`, a statement of its own.
    Yield(Option<ExprId>),
    /// What was reported as an error.
    Refused,
}

/// `name=value` in a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyKeyword {
    /// The parameter.
    pub name: NameId,
    /// The argument.
    pub value: ExprId,
    /// Where it stands.
    pub span: Span,
}

/// A parameter of a function or a lambda.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyParameter {
    /// Its name.
    pub name: NameId,
    /// Behind `:`.
    pub annotation: Option<ExprId>,
    /// Behind `=`.
    pub default: Option<ExprId>,
    /// Where it stands, without the default.
    pub span: Span,
    /// True for `*name`, which takes what is left of the arguments.
    pub is_rest: bool,
}

/// `for target in iter if … if …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyClause {
    /// What is assigned.
    pub target: ExprId,
    /// What it runs over.
    pub iter: ExprId,
    /// Conditions.
    pub conditions: Stretch,
}

/// `module as name`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyAlias {
    /// Dotted name of a module, or a name in one.
    pub name: NameId,
    /// Behind `as`.
    pub alias: Option<NameId>,
    /// Where it stands.
    pub span: Span,
}

/// A case of `match`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyCase {
    /// Patterns that `|` joins, in [`PyTree::patterns`].
    pub patterns: Stretch,
    /// Behind `if`.
    pub guard: Option<ExprId>,
    /// Statements.
    pub body: Stretch,
    /// Where the patterns stand.
    pub span: Span,
}

/// `except class as name: body`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyHandler {
    /// What it takes; everything without it.
    pub class: Option<ExprId>,
    /// Behind `as`.
    pub name: Option<NameId>,
    /// Statements.
    pub body: Stretch,
    /// Where it stands, with its block.
    pub span: Span,
}

/// A pattern of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PyPattern {
    /// A literal, with a sign or not.
    Literal(ExprId),
    /// `_`.
    Wildcard(Span),
    /// A name that takes the value.
    Capture(NameId, Span),
}

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyStmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands, from its first word to the end of its last block.
    pub span: Span,
}

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StmtKind {
    /// `def name(parameters) -> returns: body`.
    FunctionDef {
        /// Its name.
        name: NameId,
        /// Parameters, in [`PyTree::parameters`].
        parameters: Stretch,
        /// Behind `->`.
        returns: Option<ExprId>,
        /// Behind `@`, outermost first.
        decorators: Stretch,
        /// Statements.
        body: Stretch,
    },
    /// `return value`.
    Return(Option<ExprId>),
    /// `del a, b`.
    Delete(Stretch),
    /// `a = b = value`.
    Assign {
        /// Targets from left to right.
        targets: Stretch,
        /// The value.
        value: ExprId,
    },
    /// `target op= value`.
    AugAssign {
        /// What is changed.
        target: ExprId,
        /// The operator.
        op: BinaryOp,
        /// The operand.
        value: ExprId,
    },
    /// `target: annotation = value`.
    AnnAssign {
        /// What is declared.
        target: ExprId,
        /// Its type.
        annotation: ExprId,
        /// Its value.
        value: Option<ExprId>,
    },
    /// `for target in iter: body else: orelse`.
    For {
        /// What is assigned.
        target: ExprId,
        /// What it runs over.
        iter: ExprId,
        /// Statements of the loop.
        body: Stretch,
        /// Statements behind a loop without `break`.
        orelse: Stretch,
    },
    /// `while test: body else: orelse`.
    While {
        /// The condition.
        test: ExprId,
        /// Statements of the loop.
        body: Stretch,
        /// Statements behind a loop without `break`.
        orelse: Stretch,
    },
    /// `if test: body else: orelse`; `elif` is an `if` in `orelse`.
    If {
        /// The condition.
        test: ExprId,
        /// Statements if it holds.
        body: Stretch,
        /// Statements if not.
        orelse: Stretch,
    },
    /// `match subject: case …`.
    Match {
        /// What is compared.
        subject: ExprId,
        /// Cases, in [`PyTree::cases`].
        cases: Stretch,
    },
    /// `try: body except …: … else: orelse finally: finish`.
    Try {
        /// Statements whose exceptions are caught.
        body: Stretch,
        /// Handlers, in [`PyTree::handlers`].
        handlers: Stretch,
        /// Statements behind a body that raised nothing.
        orelse: Stretch,
        /// Statements behind everything.
        finish: Stretch,
    },
    /// `raise exception`.
    Raise(Option<ExprId>),
    /// `assert test, message`.
    Assert {
        /// The condition.
        test: ExprId,
        /// The message.
        message: Option<ExprId>,
    },
    /// `import a as b, c`: names in [`PyTree::aliases`].
    Import(Stretch),
    /// `from module import a as b, c`.
    ImportFrom {
        /// The module, dots of a relative import included.
        module: NameId,
        /// Names, in [`PyTree::aliases`].
        names: Stretch,
    },
    /// `nonlocal a, b`: names.
    Nonlocal(Stretch),
    /// An expression.
    Expr(ExprId),
    /// `pass`.
    Pass,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// What was reported as an error; its block, if it has one.
    Refused(Stretch),
}

/// A module.
#[derive(Clone, Debug, PartialEq)]
pub struct PyTree {
    pub(super) exprs: Vec<PyExpr>,
    pub(super) stmts: Vec<PyStmt>,
    pub(super) expr_lists: Vec<ExprId>,
    pub(super) stmt_lists: Vec<StmtId>,
    pub(super) compare_ops: Vec<CompareOp>,
    pub(super) keywords: Vec<PyKeyword>,
    pub(super) parameters: Vec<PyParameter>,
    pub(super) clauses: Vec<PyClause>,
    pub(super) aliases: Vec<PyAlias>,
    pub(super) cases: Vec<PyCase>,
    pub(super) patterns: Vec<PyPattern>,
    pub(super) handlers: Vec<PyHandler>,
    pub(super) names: Vec<Box<str>>,
    pub(super) body: Stretch,
    pub(super) lines: SourceLines,
}

impl PyTree {
    /// Statements of the module.
    pub fn body(&self) -> &[StmtId] {
        self.block(self.body)
    }

    /// All expressions, parts before wholes.
    pub fn exprs(&self) -> &[PyExpr] {
        &self.exprs
    }

    /// All statements, those of blocks before the statements that have them.
    pub fn stmts(&self) -> &[PyStmt] {
        &self.stmts
    }

    /// An expression.
    pub fn expr(&self, id: ExprId) -> &PyExpr {
        &self.exprs[id.index()]
    }

    /// A statement.
    pub fn stmt(&self, id: StmtId) -> &PyStmt {
        &self.stmts[id.index()]
    }

    /// A name, or the characters of a text.
    pub fn name(&self, id: NameId) -> &str {
        &self.names[id.index()]
    }

    /// The number of a name that occurs in the text.
    pub fn find_name(&self, name: &str) -> Option<NameId> {
        self.names.iter().position(|known| **known == *name).map(|at| NameId(at as u32))
    }

    /// Expressions of a list.
    pub fn expr_list(&self, list: Stretch) -> &[ExprId] {
        &self.expr_lists[list.range()]
    }

    /// Statements of a block.
    pub fn block(&self, list: Stretch) -> &[StmtId] {
        &self.stmt_lists[list.range()]
    }

    /// Operators of a comparison.
    pub fn compare_ops(&self, list: Stretch) -> &[CompareOp] {
        &self.compare_ops[list.range()]
    }

    /// Keyword arguments of a call.
    pub fn keywords(&self, list: Stretch) -> &[PyKeyword] {
        &self.keywords[list.range()]
    }

    /// Parameters of a function.
    pub fn parameters(&self, list: Stretch) -> &[PyParameter] {
        &self.parameters[list.range()]
    }

    /// Clauses of a comprehension.
    pub fn clauses(&self, list: Stretch) -> &[PyClause] {
        &self.clauses[list.range()]
    }

    /// Names of an import.
    pub fn aliases(&self, list: Stretch) -> &[PyAlias] {
        &self.aliases[list.range()]
    }

    /// Cases of a `match`.
    pub fn cases(&self, list: Stretch) -> &[PyCase] {
        &self.cases[list.range()]
    }

    /// Statements of the blocks of a statement, in order; of a definition none.
    pub fn blocks_of(&self, kind: StmtKind) -> Vec<StmtId> {
        let blocks = match kind {
            StmtKind::For { body, orelse, .. }
            | StmtKind::While { body, orelse, .. }
            | StmtKind::If { body, orelse, .. } => vec![body, orelse],
            StmtKind::Match { cases, .. } => self.cases(cases).iter().map(|case| case.body).collect(),
            StmtKind::Try { body, handlers, orelse, finish } => {
                let handlers = self.handlers(handlers).iter().map(|handler| handler.body);
                std::iter::once(body).chain(handlers).chain([orelse, finish]).collect()
            }
            _ => Vec::new(),
        };
        blocks.into_iter().flat_map(|block| self.block(block)).copied().collect()
    }

    /// Handlers of a `try`.
    pub fn handlers(&self, list: Stretch) -> &[PyHandler] {
        &self.handlers[list.range()]
    }

    /// Patterns of a case.
    pub fn patterns(&self, list: Stretch) -> &[PyPattern] {
        &self.patterns[list.range()]
    }

    /// Lines and columns of the text.
    pub fn lines(&self) -> &SourceLines {
        &self.lines
    }
}
