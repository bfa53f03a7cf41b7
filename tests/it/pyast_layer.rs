//! Views of the documents of schema `pyast`; generated from it, kept fresh by a test.

use cembra::schema::{Datum, Document, TermId, TermValue};

/// Hash of the schema.
pub const SCHEMA_HASH: &str =
    "272ee1a96fe45787e30a61cedb5e3d66a585a229f9788e02f7ab42d4f8e1b36d";

/// A term of type `mod`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ModView<'d> {
    /// `Module(stmt* body)`.
    Module {
        /// `body`.
        body: &'d [TermValue],
    },
}

impl<'d> ModView<'d> {
    /// The view of a term, if it is a `mod`.
    pub fn new(document: &'d Document, term: TermId) -> Option<ModView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (0, [body]) => ModView::Module {
                body: document.as_list(*body)?,
            },
            _ => return None,
        })
    }
}

/// A term of type `stmt`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StmtView<'d> {
    /// `FunctionDef(identifier name, arguments args, stmt* body, expr* decorators, expr? returns)`.
    FunctionDef {
        /// `name`.
        name: &'d Datum,
        /// `args`.
        args: TermId,
        /// `body`.
        body: &'d [TermValue],
        /// `decorators`.
        decorators: &'d [TermValue],
        /// `returns`.
        returns: Option<TermId>,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Return(expr? value)`.
    Return {
        /// `value`.
        value: Option<TermId>,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Delete(expr* targets)`.
    Delete {
        /// `targets`.
        targets: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Assign(expr* targets, expr value)`.
    Assign {
        /// `targets`.
        targets: &'d [TermValue],
        /// `value`.
        value: TermId,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `AugAssign(expr target, operator op, expr value)`.
    AugAssign {
        /// `target`.
        target: TermId,
        /// `op`.
        op: TermId,
        /// `value`.
        value: TermId,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `AnnAssign(expr target, expr annotation, expr? value)`.
    AnnAssign {
        /// `target`.
        target: TermId,
        /// `annotation`.
        annotation: TermId,
        /// `value`.
        value: Option<TermId>,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `For(expr target, expr iter, stmt* body, stmt* orelse)`.
    For {
        /// `target`.
        target: TermId,
        /// `iter`.
        iter: TermId,
        /// `body`.
        body: &'d [TermValue],
        /// `orelse`.
        orelse: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `While(expr test, stmt* body, stmt* orelse)`.
    While {
        /// `test`.
        test: TermId,
        /// `body`.
        body: &'d [TermValue],
        /// `orelse`.
        orelse: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `If(expr test, stmt* body, stmt* orelse)`.
    If {
        /// `test`.
        test: TermId,
        /// `body`.
        body: &'d [TermValue],
        /// `orelse`.
        orelse: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Match(expr subject, match_case* cases)`.
    Match {
        /// `subject`.
        subject: TermId,
        /// `cases`.
        cases: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Try(stmt* body, excepthandler* handlers, stmt* orelse, stmt* finalbody)`.
    Try {
        /// `body`.
        body: &'d [TermValue],
        /// `handlers`.
        handlers: &'d [TermValue],
        /// `orelse`.
        orelse: &'d [TermValue],
        /// `finalbody`.
        finalbody: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Raise(expr? exc)`.
    Raise {
        /// `exc`.
        exc: Option<TermId>,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Assert(expr test, expr? msg)`.
    Assert {
        /// `test`.
        test: TermId,
        /// `msg`.
        msg: Option<TermId>,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Import(alias* names)`.
    Import {
        /// `names`.
        names: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `ImportFrom(string module, alias* names)`.
    ImportFrom {
        /// `module`.
        module: &'d Datum,
        /// `names`.
        names: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Nonlocal(identifier* names)`.
    Nonlocal {
        /// `names`.
        names: &'d [TermValue],
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Expr(expr value)`.
    Expr {
        /// `value`.
        value: TermId,
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Pass`.
    Pass {
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Break`.
    Break {
        /// `pos`.
        pos: &'d Datum,
    },
    /// `Continue`.
    Continue {
        /// `pos`.
        pos: &'d Datum,
    },
}

impl<'d> StmtView<'d> {
    /// The view of a term, if it is a `stmt`.
    pub fn new(document: &'d Document, term: TermId) -> Option<StmtView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (1, [name, args, body, decorators, returns, pos]) => StmtView::FunctionDef {
                name: document.as_datum(*name)?,
                args: document.as_term(*args)?,
                body: document.as_list(*body)?,
                decorators: document.as_list(*decorators)?,
                returns: document.as_term(*returns),
                pos: document.as_datum(*pos)?,
            },
            (2, [value, pos]) => StmtView::Return {
                value: document.as_term(*value),
                pos: document.as_datum(*pos)?,
            },
            (3, [targets, pos]) => StmtView::Delete {
                targets: document.as_list(*targets)?,
                pos: document.as_datum(*pos)?,
            },
            (4, [targets, value, pos]) => StmtView::Assign {
                targets: document.as_list(*targets)?,
                value: document.as_term(*value)?,
                pos: document.as_datum(*pos)?,
            },
            (5, [target, op, value, pos]) => StmtView::AugAssign {
                target: document.as_term(*target)?,
                op: document.as_term(*op)?,
                value: document.as_term(*value)?,
                pos: document.as_datum(*pos)?,
            },
            (6, [target, annotation, value, pos]) => StmtView::AnnAssign {
                target: document.as_term(*target)?,
                annotation: document.as_term(*annotation)?,
                value: document.as_term(*value),
                pos: document.as_datum(*pos)?,
            },
            (7, [target, iter, body, orelse, pos]) => StmtView::For {
                target: document.as_term(*target)?,
                iter: document.as_term(*iter)?,
                body: document.as_list(*body)?,
                orelse: document.as_list(*orelse)?,
                pos: document.as_datum(*pos)?,
            },
            (8, [test, body, orelse, pos]) => StmtView::While {
                test: document.as_term(*test)?,
                body: document.as_list(*body)?,
                orelse: document.as_list(*orelse)?,
                pos: document.as_datum(*pos)?,
            },
            (9, [test, body, orelse, pos]) => StmtView::If {
                test: document.as_term(*test)?,
                body: document.as_list(*body)?,
                orelse: document.as_list(*orelse)?,
                pos: document.as_datum(*pos)?,
            },
            (10, [subject, cases, pos]) => StmtView::Match {
                subject: document.as_term(*subject)?,
                cases: document.as_list(*cases)?,
                pos: document.as_datum(*pos)?,
            },
            (11, [body, handlers, orelse, finalbody, pos]) => StmtView::Try {
                body: document.as_list(*body)?,
                handlers: document.as_list(*handlers)?,
                orelse: document.as_list(*orelse)?,
                finalbody: document.as_list(*finalbody)?,
                pos: document.as_datum(*pos)?,
            },
            (12, [exc, pos]) => StmtView::Raise {
                exc: document.as_term(*exc),
                pos: document.as_datum(*pos)?,
            },
            (13, [test, msg, pos]) => StmtView::Assert {
                test: document.as_term(*test)?,
                msg: document.as_term(*msg),
                pos: document.as_datum(*pos)?,
            },
            (14, [names, pos]) => StmtView::Import {
                names: document.as_list(*names)?,
                pos: document.as_datum(*pos)?,
            },
            (15, [module, names, pos]) => StmtView::ImportFrom {
                module: document.as_datum(*module)?,
                names: document.as_list(*names)?,
                pos: document.as_datum(*pos)?,
            },
            (16, [names, pos]) => StmtView::Nonlocal {
                names: document.as_list(*names)?,
                pos: document.as_datum(*pos)?,
            },
            (17, [value, pos]) => StmtView::Expr {
                value: document.as_term(*value)?,
                pos: document.as_datum(*pos)?,
            },
            (18, [pos]) => StmtView::Pass {
                pos: document.as_datum(*pos)?,
            },
            (19, [pos]) => StmtView::Break {
                pos: document.as_datum(*pos)?,
            },
            (20, [pos]) => StmtView::Continue {
                pos: document.as_datum(*pos)?,
            },
            _ => return None,
        })
    }
}

/// A term of type `expr`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExprView<'d> {
    /// `BoolOp(boolop op, expr* values)`.
    BoolOp {
        /// `op`.
        op: TermId,
        /// `values`.
        values: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `NamedExpr(expr target, expr value)`.
    NamedExpr {
        /// `target`.
        target: TermId,
        /// `value`.
        value: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `BinOp(expr left, operator op, expr right)`.
    BinOp {
        /// `left`.
        left: TermId,
        /// `op`.
        op: TermId,
        /// `right`.
        right: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `UnaryOp(unaryop op, expr operand)`.
    UnaryOp {
        /// `op`.
        op: TermId,
        /// `operand`.
        operand: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Lambda(arguments args, expr body)`.
    Lambda {
        /// `args`.
        args: TermId,
        /// `body`.
        body: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `IfExp(expr test, expr body, expr orelse)`.
    IfExp {
        /// `test`.
        test: TermId,
        /// `body`.
        body: TermId,
        /// `orelse`.
        orelse: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Dict(expr* keys, expr* values)`.
    Dict {
        /// `keys`.
        keys: &'d [TermValue],
        /// `values`.
        values: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Set(expr* elts)`.
    Set {
        /// `elts`.
        elts: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `ListComp(expr elt, comprehension* generators)`.
    ListComp {
        /// `elt`.
        elt: TermId,
        /// `generators`.
        generators: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `SetComp(expr elt, comprehension* generators)`.
    SetComp {
        /// `elt`.
        elt: TermId,
        /// `generators`.
        generators: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `DictComp(expr key, expr value, comprehension* generators)`.
    DictComp {
        /// `key`.
        key: TermId,
        /// `value`.
        value: TermId,
        /// `generators`.
        generators: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `GeneratorExp(expr elt, comprehension* generators)`.
    GeneratorExp {
        /// `elt`.
        elt: TermId,
        /// `generators`.
        generators: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Yield(expr? value)`.
    Yield {
        /// `value`.
        value: Option<TermId>,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Compare(expr left, cmpop* ops, expr* comparators)`.
    Compare {
        /// `left`.
        left: TermId,
        /// `ops`.
        ops: &'d [TermValue],
        /// `comparators`.
        comparators: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Call(expr func, expr* args, keyword* keywords)`.
    Call {
        /// `func`.
        func: TermId,
        /// `args`.
        args: &'d [TermValue],
        /// `keywords`.
        keywords: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Num(number n)`.
    Num {
        /// `n`.
        n: &'d Datum,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Str(string s)`.
    Str {
        /// `s`.
        s: &'d Datum,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `NameConstant(singleton value)`.
    NameConstant {
        /// `value`.
        value: &'d Datum,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Attribute(expr value, identifier attr, expr_context ctx)`.
    Attribute {
        /// `value`.
        value: TermId,
        /// `attr`.
        attr: &'d Datum,
        /// `ctx`.
        ctx: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Subscript(expr value, expr slice, expr_context ctx)`.
    Subscript {
        /// `value`.
        value: TermId,
        /// `slice`.
        slice: TermId,
        /// `ctx`.
        ctx: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Starred(expr value, expr_context ctx)`.
    Starred {
        /// `value`.
        value: TermId,
        /// `ctx`.
        ctx: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Name(identifier id, expr_context ctx)`.
    Name {
        /// `id`.
        id: &'d Datum,
        /// `ctx`.
        ctx: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `List(expr* elts, expr_context ctx)`.
    List {
        /// `elts`.
        elts: &'d [TermValue],
        /// `ctx`.
        ctx: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Tuple(expr* elts, expr_context ctx)`.
    Tuple {
        /// `elts`.
        elts: &'d [TermValue],
        /// `ctx`.
        ctx: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
    /// `Slice(expr? lower, expr? upper, expr? step)`.
    Slice {
        /// `lower`.
        lower: Option<TermId>,
        /// `upper`.
        upper: Option<TermId>,
        /// `step`.
        step: Option<TermId>,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
}

impl<'d> ExprView<'d> {
    /// The view of a term, if it is a `expr`.
    pub fn new(document: &'d Document, term: TermId) -> Option<ExprView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (21, [op, values, pos]) => ExprView::BoolOp {
                op: document.as_term(*op)?,
                values: document.as_list(*values)?,
                pos: document.as_datum(*pos),
            },
            (22, [target, value, pos]) => ExprView::NamedExpr {
                target: document.as_term(*target)?,
                value: document.as_term(*value)?,
                pos: document.as_datum(*pos),
            },
            (23, [left, op, right, pos]) => ExprView::BinOp {
                left: document.as_term(*left)?,
                op: document.as_term(*op)?,
                right: document.as_term(*right)?,
                pos: document.as_datum(*pos),
            },
            (24, [op, operand, pos]) => ExprView::UnaryOp {
                op: document.as_term(*op)?,
                operand: document.as_term(*operand)?,
                pos: document.as_datum(*pos),
            },
            (25, [args, body, pos]) => ExprView::Lambda {
                args: document.as_term(*args)?,
                body: document.as_term(*body)?,
                pos: document.as_datum(*pos),
            },
            (26, [test, body, orelse, pos]) => ExprView::IfExp {
                test: document.as_term(*test)?,
                body: document.as_term(*body)?,
                orelse: document.as_term(*orelse)?,
                pos: document.as_datum(*pos),
            },
            (27, [keys, values, pos]) => ExprView::Dict {
                keys: document.as_list(*keys)?,
                values: document.as_list(*values)?,
                pos: document.as_datum(*pos),
            },
            (28, [elts, pos]) => ExprView::Set {
                elts: document.as_list(*elts)?,
                pos: document.as_datum(*pos),
            },
            (29, [elt, generators, pos]) => ExprView::ListComp {
                elt: document.as_term(*elt)?,
                generators: document.as_list(*generators)?,
                pos: document.as_datum(*pos),
            },
            (30, [elt, generators, pos]) => ExprView::SetComp {
                elt: document.as_term(*elt)?,
                generators: document.as_list(*generators)?,
                pos: document.as_datum(*pos),
            },
            (31, [key, value, generators, pos]) => ExprView::DictComp {
                key: document.as_term(*key)?,
                value: document.as_term(*value)?,
                generators: document.as_list(*generators)?,
                pos: document.as_datum(*pos),
            },
            (32, [elt, generators, pos]) => ExprView::GeneratorExp {
                elt: document.as_term(*elt)?,
                generators: document.as_list(*generators)?,
                pos: document.as_datum(*pos),
            },
            (33, [value, pos]) => ExprView::Yield {
                value: document.as_term(*value),
                pos: document.as_datum(*pos),
            },
            (34, [left, ops, comparators, pos]) => ExprView::Compare {
                left: document.as_term(*left)?,
                ops: document.as_list(*ops)?,
                comparators: document.as_list(*comparators)?,
                pos: document.as_datum(*pos),
            },
            (35, [func, args, keywords, pos]) => ExprView::Call {
                func: document.as_term(*func)?,
                args: document.as_list(*args)?,
                keywords: document.as_list(*keywords)?,
                pos: document.as_datum(*pos),
            },
            (36, [n, pos]) => ExprView::Num {
                n: document.as_datum(*n)?,
                pos: document.as_datum(*pos),
            },
            (37, [s, pos]) => ExprView::Str {
                s: document.as_datum(*s)?,
                pos: document.as_datum(*pos),
            },
            (38, [value, pos]) => ExprView::NameConstant {
                value: document.as_datum(*value)?,
                pos: document.as_datum(*pos),
            },
            (39, [value, attr, ctx, pos]) => ExprView::Attribute {
                value: document.as_term(*value)?,
                attr: document.as_datum(*attr)?,
                ctx: document.as_term(*ctx)?,
                pos: document.as_datum(*pos),
            },
            (40, [value, slice, ctx, pos]) => ExprView::Subscript {
                value: document.as_term(*value)?,
                slice: document.as_term(*slice)?,
                ctx: document.as_term(*ctx)?,
                pos: document.as_datum(*pos),
            },
            (41, [value, ctx, pos]) => ExprView::Starred {
                value: document.as_term(*value)?,
                ctx: document.as_term(*ctx)?,
                pos: document.as_datum(*pos),
            },
            (42, [id, ctx, pos]) => ExprView::Name {
                id: document.as_datum(*id)?,
                ctx: document.as_term(*ctx)?,
                pos: document.as_datum(*pos),
            },
            (43, [elts, ctx, pos]) => ExprView::List {
                elts: document.as_list(*elts)?,
                ctx: document.as_term(*ctx)?,
                pos: document.as_datum(*pos),
            },
            (44, [elts, ctx, pos]) => ExprView::Tuple {
                elts: document.as_list(*elts)?,
                ctx: document.as_term(*ctx)?,
                pos: document.as_datum(*pos),
            },
            (45, [lower, upper, step, pos]) => ExprView::Slice {
                lower: document.as_term(*lower),
                upper: document.as_term(*upper),
                step: document.as_term(*step),
                pos: document.as_datum(*pos),
            },
            _ => return None,
        })
    }
}

/// A term of type `expr_context`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExprContextView {
    /// `Load`.
    Load,
    /// `Store`.
    Store,
    /// `Del`.
    Del,
}

impl ExprContextView {
    /// The view of a term, if it is a `expr_context`.
    pub fn new(document: &Document, term: TermId) -> Option<ExprContextView> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (46, []) => ExprContextView::Load,
            (47, []) => ExprContextView::Store,
            (48, []) => ExprContextView::Del,
            _ => return None,
        })
    }
}

/// A term of type `boolop`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoolopView {
    /// `And`.
    And,
    /// `Or`.
    Or,
}

impl BoolopView {
    /// The view of a term, if it is a `boolop`.
    pub fn new(document: &Document, term: TermId) -> Option<BoolopView> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (49, []) => BoolopView::And,
            (50, []) => BoolopView::Or,
            _ => return None,
        })
    }
}

/// A term of type `operator`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperatorView {
    /// `Add`.
    Add,
    /// `Sub`.
    Sub,
    /// `Mult`.
    Mult,
    /// `Div`.
    Div,
    /// `Mod`.
    Mod,
    /// `Pow`.
    Pow,
    /// `LShift`.
    LShift,
    /// `RShift`.
    RShift,
    /// `BitOr`.
    BitOr,
    /// `BitXor`.
    BitXor,
    /// `BitAnd`.
    BitAnd,
    /// `FloorDiv`.
    FloorDiv,
}

impl OperatorView {
    /// The view of a term, if it is a `operator`.
    pub fn new(document: &Document, term: TermId) -> Option<OperatorView> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (51, []) => OperatorView::Add,
            (52, []) => OperatorView::Sub,
            (53, []) => OperatorView::Mult,
            (54, []) => OperatorView::Div,
            (55, []) => OperatorView::Mod,
            (56, []) => OperatorView::Pow,
            (57, []) => OperatorView::LShift,
            (58, []) => OperatorView::RShift,
            (59, []) => OperatorView::BitOr,
            (60, []) => OperatorView::BitXor,
            (61, []) => OperatorView::BitAnd,
            (62, []) => OperatorView::FloorDiv,
            _ => return None,
        })
    }
}

/// A term of type `unaryop`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnaryopView {
    /// `Invert`.
    Invert,
    /// `Not`.
    Not,
    /// `UAdd`.
    UAdd,
    /// `USub`.
    USub,
}

impl UnaryopView {
    /// The view of a term, if it is a `unaryop`.
    pub fn new(document: &Document, term: TermId) -> Option<UnaryopView> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (63, []) => UnaryopView::Invert,
            (64, []) => UnaryopView::Not,
            (65, []) => UnaryopView::UAdd,
            (66, []) => UnaryopView::USub,
            _ => return None,
        })
    }
}

/// A term of type `cmpop`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CmpopView {
    /// `Eq`.
    Eq,
    /// `NotEq`.
    NotEq,
    /// `Lt`.
    Lt,
    /// `LtE`.
    LtE,
    /// `Gt`.
    Gt,
    /// `GtE`.
    GtE,
    /// `Is`.
    Is,
    /// `IsNot`.
    IsNot,
    /// `In`.
    In,
    /// `NotIn`.
    NotIn,
}

impl CmpopView {
    /// The view of a term, if it is a `cmpop`.
    pub fn new(document: &Document, term: TermId) -> Option<CmpopView> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (67, []) => CmpopView::Eq,
            (68, []) => CmpopView::NotEq,
            (69, []) => CmpopView::Lt,
            (70, []) => CmpopView::LtE,
            (71, []) => CmpopView::Gt,
            (72, []) => CmpopView::GtE,
            (73, []) => CmpopView::Is,
            (74, []) => CmpopView::IsNot,
            (75, []) => CmpopView::In,
            (76, []) => CmpopView::NotIn,
            _ => return None,
        })
    }
}

/// A term of type `comprehension`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ComprehensionView<'d> {
    /// `comprehension(expr target, expr iter, expr* ifs)`.
    Comprehension {
        /// `target`.
        target: TermId,
        /// `iter`.
        iter: TermId,
        /// `ifs`.
        ifs: &'d [TermValue],
    },
}

impl<'d> ComprehensionView<'d> {
    /// The view of a term, if it is a `comprehension`.
    pub fn new(document: &'d Document, term: TermId) -> Option<ComprehensionView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (77, [target, iter, ifs]) => ComprehensionView::Comprehension {
                target: document.as_term(*target)?,
                iter: document.as_term(*iter)?,
                ifs: document.as_list(*ifs)?,
            },
            _ => return None,
        })
    }
}

/// A term of type `arguments`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgumentsView<'d> {
    /// `arguments(arg* args, arg? vararg)`.
    Arguments {
        /// `args`.
        args: &'d [TermValue],
        /// `vararg`.
        vararg: Option<TermId>,
    },
}

impl<'d> ArgumentsView<'d> {
    /// The view of a term, if it is a `arguments`.
    pub fn new(document: &'d Document, term: TermId) -> Option<ArgumentsView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (78, [args, vararg]) => ArgumentsView::Arguments {
                args: document.as_list(*args)?,
                vararg: document.as_term(*vararg),
            },
            _ => return None,
        })
    }
}

/// A term of type `arg`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgView<'d> {
    /// `arg(identifier name, expr? annotation, expr? default)`.
    Arg {
        /// `name`.
        name: &'d Datum,
        /// `annotation`.
        annotation: Option<TermId>,
        /// `default`.
        default: Option<TermId>,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
}

impl<'d> ArgView<'d> {
    /// The view of a term, if it is a `arg`.
    pub fn new(document: &'d Document, term: TermId) -> Option<ArgView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (79, [name, annotation, default, pos]) => ArgView::Arg {
                name: document.as_datum(*name)?,
                annotation: document.as_term(*annotation),
                default: document.as_term(*default),
                pos: document.as_datum(*pos),
            },
            _ => return None,
        })
    }
}

/// A term of type `keyword`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeywordView<'d> {
    /// `keyword(identifier name, expr value)`.
    Keyword {
        /// `name`.
        name: &'d Datum,
        /// `value`.
        value: TermId,
        /// `pos`.
        pos: Option<&'d Datum>,
    },
}

impl<'d> KeywordView<'d> {
    /// The view of a term, if it is a `keyword`.
    pub fn new(document: &'d Document, term: TermId) -> Option<KeywordView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (80, [name, value, pos]) => KeywordView::Keyword {
                name: document.as_datum(*name)?,
                value: document.as_term(*value)?,
                pos: document.as_datum(*pos),
            },
            _ => return None,
        })
    }
}

/// A term of type `alias`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AliasView<'d> {
    /// `alias(string name, identifier? asname)`.
    Alias {
        /// `name`.
        name: &'d Datum,
        /// `asname`.
        asname: Option<&'d Datum>,
    },
}

impl<'d> AliasView<'d> {
    /// The view of a term, if it is a `alias`.
    pub fn new(document: &'d Document, term: TermId) -> Option<AliasView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (81, [name, asname]) => AliasView::Alias {
                name: document.as_datum(*name)?,
                asname: document.as_datum(*asname),
            },
            _ => return None,
        })
    }
}

/// A term of type `match_case`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MatchCaseView<'d> {
    /// `match_case(pattern* patterns, expr? guard, stmt* body)`.
    MatchCase {
        /// `patterns`.
        patterns: &'d [TermValue],
        /// `guard`.
        guard: Option<TermId>,
        /// `body`.
        body: &'d [TermValue],
    },
}

impl<'d> MatchCaseView<'d> {
    /// The view of a term, if it is a `match_case`.
    pub fn new(document: &'d Document, term: TermId) -> Option<MatchCaseView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (82, [patterns, guard, body]) => MatchCaseView::MatchCase {
                patterns: document.as_list(*patterns)?,
                guard: document.as_term(*guard),
                body: document.as_list(*body)?,
            },
            _ => return None,
        })
    }
}

/// A term of type `excepthandler`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExcepthandlerView<'d> {
    /// `ExceptHandler(expr? exc, identifier? name, stmt* body)`.
    ExceptHandler {
        /// `exc`.
        exc: Option<TermId>,
        /// `name`.
        name: Option<&'d Datum>,
        /// `body`.
        body: &'d [TermValue],
        /// `pos`.
        pos: Option<&'d Datum>,
    },
}

impl<'d> ExcepthandlerView<'d> {
    /// The view of a term, if it is a `excepthandler`.
    pub fn new(document: &'d Document, term: TermId) -> Option<ExcepthandlerView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (83, [exc, name, body, pos]) => ExcepthandlerView::ExceptHandler {
                exc: document.as_term(*exc),
                name: document.as_datum(*name),
                body: document.as_list(*body)?,
                pos: document.as_datum(*pos),
            },
            _ => return None,
        })
    }
}

/// A term of type `pattern`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PatternView<'d> {
    /// `MatchValue(expr value)`.
    MatchValue {
        /// `value`.
        value: TermId,
    },
    /// `MatchAs(identifier name)`.
    MatchAs {
        /// `name`.
        name: &'d Datum,
    },
    /// `MatchAny`.
    MatchAny,
}

impl<'d> PatternView<'d> {
    /// The view of a term, if it is a `pattern`.
    pub fn new(document: &'d Document, term: TermId) -> Option<PatternView<'d>> {
        Some(match (document.constructor(term).index(), document.values(term)) {
            (84, [value]) => PatternView::MatchValue {
                value: document.as_term(*value)?,
            },
            (85, [name]) => PatternView::MatchAs {
                name: document.as_datum(*name)?,
            },
            (86, []) => PatternView::MatchAny,
            _ => return None,
        })
    }
}
