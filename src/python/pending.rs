//! What the parser has begun and not ended: operators and brackets of expressions, blocks of statements.
//!
//! Expressions are parsed by precedence with this stack instead of recursion: an operator waits below the
//! operand that is being read, and is applied as soon as one comes that binds less.
//!
//! | binds | |
//! | --: | --- |
//! | 0 | brackets and what ends them |
//! | 1 | `lambda`, `:=` |
//! | 2 | `if else` |
//! | 3, 4, 5, 6 | `or`, `and`, `not`, comparisons |
//! | 7 to 12 | `\|`, `^`, `&`, shifts, `+ -`, `* / // %` |
//! | 13, 14 | signs, `**` |

use crate::python::operators::{BinaryOp, BoolOp, UnaryOp};
use crate::python::tree::{ExprId, NameId, PyCase, PyHandler, PyParameter, Stretch};
use cembra_vm::program::instruction::Span;

/// An expression and the extent of it with its brackets.
pub(super) type Extent = (ExprId, u32, u32);

/// Where an expression ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// With its line; commas make a tuple.
    Line,
    /// At a comma.
    Single,
    /// At a comma; `:=` may stand without brackets.
    Test,
    /// At `in`; commas make a tuple.
    Target,
    /// At `|`, a comma or `if`: a literal of a pattern.
    Pattern,
}

/// Part of a comprehension that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Target,
    Iter,
    Condition,
}

/// `for target in iter if conditions`, as far as it is read.
#[derive(Clone, Debug)]
pub(super) struct ClauseDraft {
    pub target: Option<ExprId>,
    pub iter: Option<ExprId>,
    pub conditions: Vec<ExprId>,
}

/// A comprehension, as far as it is read.
#[derive(Clone, Debug)]
pub(super) struct ComprehensionDraft {
    pub element: ExprId,
    pub clauses: Vec<ClauseDraft>,
    pub stage: Stage,
    /// First name of a target that is a tuple, and where it begins.
    pub items: usize,
    pub target_start: u32,
    pub has_comma: bool,
}

/// The parts of a slice, as far as they are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceDraft {
    pub parts: [Option<ExprId>; 3],
    pub count: usize,
    pub start: u32,
}

/// A lambda before its colon.
#[derive(Clone, Debug)]
pub(super) struct LambdaDraft {
    pub parameters: Vec<PyParameter>,
    pub start: u32,
}

/// Something that waits for an operand or an end.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// The beginning of the expression.
    Base {
        stop: Stop,
        items: usize,
        start: u32,
        has_comma: bool,
    },
    Paren {
        open: u32,
        items: usize,
        has_comma: bool,
    },
    List {
        open: u32,
        items: usize,
        has_comma: bool,
    },
    Brace {
        open: u32,
        items: usize,
        is_dictionary: bool,
        is_refused: bool,
    },
    Call {
        callee: Extent,
        open: u32,
        items: usize,
        keywords: usize,
    },
    Subscript {
        value: Extent,
        items: usize,
        has_comma: bool,
        start: u32,
        slice: Option<SliceDraft>,
    },
    Comprehension(Box<ComprehensionDraft>),
    /// `name=` in a call.
    Keyword {
        name: NameId,
        start: u32,
    },
    /// `name=` in a lambda.
    LambdaDefault(Box<LambdaDraft>),
    /// `body if`.
    IfTest {
        body: Extent,
    },
    Lambda {
        parameters: Stretch,
        start: u32,
    },
    Named {
        target: Extent,
    },
    /// `*` or `**` before an element.
    Unpack {
        start: u32,
    },
    /// `*` before an argument of a call.
    Starred {
        start: u32,
    },
    /// `body if test else`.
    IfElse {
        body: Extent,
        test: ExprId,
    },
    Logic {
        op: BoolOp,
        items: usize,
        start: u32,
    },
    Prefix {
        op: UnaryOp,
        start: u32,
    },
    Compare {
        items: usize,
        ops: usize,
        start: u32,
    },
    Binary {
        op: BinaryOp,
        left: Extent,
    },
}

/// Binding of conditional expressions.
pub(super) const IF_ELSE: u8 = 2;
/// Binding of `or`.
pub(super) const OR: u8 = 3;
/// Binding of `not`.
pub(super) const NOT: u8 = 5;
/// Binding of comparisons.
pub(super) const COMPARE: u8 = 6;
/// Binding of signs.
const SIGN: u8 = 13;
/// Binding of `**`.
pub(super) const POWER: u8 = 14;

impl Pending {
    /// How strongly it binds what stands behind it.
    pub(super) fn binding(&self) -> u8 {
        match self {
            Pending::Lambda { .. } | Pending::Named { .. } | Pending::Starred { .. } => 1,
            Pending::IfElse { .. } => IF_ELSE,
            Pending::Logic { op, .. } => op.binding(),
            Pending::Prefix { op: UnaryOp::Not, .. } => NOT,
            Pending::Prefix { .. } => SIGN,
            Pending::Compare { .. } => COMPARE,
            Pending::Unpack { .. } => COMPARE + 1,
            Pending::Binary { op, .. } => op.binding(),
            _ => 0,
        }
    }

    pub(super) fn is_bracket(&self) -> bool {
        matches!(
            self,
            Pending::Paren { .. }
                | Pending::List { .. }
                | Pending::Brace { .. }
                | Pending::Call { .. }
                | Pending::Subscript { .. }
        )
    }
}

impl BoolOp {
    pub(super) fn binding(self) -> u8 {
        match self {
            BoolOp::Or => OR,
            BoolOp::And => OR + 1,
        }
    }
}

impl BinaryOp {
    pub(super) fn binding(self) -> u8 {
        match self {
            BinaryOp::BitOr => 7,
            BinaryOp::BitXor => 8,
            BinaryOp::BitAnd => 9,
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => 10,
            BinaryOp::Add | BinaryOp::Sub => 11,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::MatMul => 12,
            BinaryOp::Pow => POWER,
        }
    }
}

/// A statement whose block is being read.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub header: Header,
    /// First byte of the statement.
    pub start: u32,
    /// First of its statements on the parser's stack.
    pub statements: usize,
}

/// An `if` or `elif` whose block is complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arm {
    pub start: u32,
    pub test: ExprId,
    pub body: Stretch,
}

/// A `try` before its end.
#[derive(Clone, Debug)]
pub(super) struct TryDraft {
    pub body: Stretch,
    pub handlers: Vec<PyHandler>,
    pub orelse: Stretch,
    /// The block that is being read.
    pub part: TryPart,
}

/// A block of a `try`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TryPart {
    Body,
    /// Without its statements.
    Handler(PyHandler),
    Else,
    Finally,
}

/// What a block belongs to.
#[derive(Clone, Debug)]
pub(super) enum Header {
    Function {
        name: NameId,
        parameters: Stretch,
        returns: Option<ExprId>,
        decorators: Stretch,
    },
    /// `body` is there in the block of `else`.
    For {
        target: ExprId,
        iter: ExprId,
        body: Option<Stretch>,
    },
    While {
        test: ExprId,
        body: Option<Stretch>,
    },
    /// `test` is of the arm that is being read, nothing in the block of `else`.
    If {
        arms: Vec<Arm>,
        arm_start: u32,
        test: Option<ExprId>,
    },
    Match {
        subject: ExprId,
        cases: Vec<PyCase>,
    },
    Case {
        patterns: Stretch,
        guard: Option<ExprId>,
        span: Span,
    },
    Try(Box<TryDraft>),
    /// The block of something that was reported.
    Refused,
}
