//! What is wrong with a Python text: each finding has a rule, a place and, where one exists, a hint.
//!
//! Two kinds: text that is no Python, and Python outside of the subset ([`Outside`]).

use crate::python::token::PyToken;
use cembra_vm::program::instruction::Span;
use std::borrow::Cow;
use thiserror::Error;

/// A finding about a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct PythonError {
    /// What it is.
    pub problem: PythonProblem,
    /// Where, in bytes of the text.
    pub span: Span,
}

/// What can be wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PythonProblem {
    /// The text or its nesting is beyond a limit.
    #[error("limit {name}: {actual}, at most {limit} are allowed")]
    Limit {
        /// Name of the limit.
        name: &'static str,
        /// What the text has.
        actual: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A character that begins no token.
    #[error("unexpected character {character:?}")]
    Character {
        /// The character.
        character: char,
    },
    /// A backslash that does not end its line.
    #[error("unexpected character after line continuation character")]
    Continuation,
    /// A string without its closing quotes.
    #[error("unterminated string literal")]
    UnterminatedString,
    /// An escape that stands for no character.
    #[error("invalid escape `{escape}` in a string")]
    Escape {
        /// The escape.
        escape: String,
    },
    /// Digits that make no number.
    #[error("invalid number literal `{text}`")]
    Number {
        /// The digits.
        text: String,
    },
    /// `012`.
    #[error("leading zeros in decimal integer literals are not permitted")]
    LeadingZeros,
    /// A whole number beyond 64 bits.
    #[error("the integer {text} does not fit 64 bits")]
    LargeInteger {
        /// The digits.
        text: String,
    },
    /// Lines whose indentation depends on the width of a tab.
    #[error("inconsistent use of tabs and spaces in indentation")]
    InconsistentTabs,
    /// A line that ends blocks and begins none of those around it.
    #[error("unindent does not match any outer indentation level")]
    Unindent,
    /// A block where none was announced.
    #[error("unexpected indent")]
    UnexpectedIndent,
    /// No block behind `:`.
    #[error("expected an indented block after `{statement}` on line {line}")]
    MissingBlock {
        /// The word that begins the statement.
        statement: &'static str,
        /// Its line.
        line: u32,
    },
    /// A bracket that nothing closes.
    #[error("`{bracket}` was never closed")]
    Unclosed {
        /// The opening bracket.
        bracket: char,
    },
    /// A closing bracket that nothing opened, or of another kind.
    #[error("unmatched `{bracket}`")]
    Unopened {
        /// The closing bracket.
        bracket: char,
    },
    /// Another token was expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: PyToken,
    },
    /// `=` where an expression stands.
    #[error("`=` assigns; a comparison is `==`")]
    AssignmentInExpression,
    /// Something that cannot be assigned to.
    #[error("cannot assign to {what}")]
    Target {
        /// What stands there.
        what: &'static str,
    },
    /// A positional argument behind a keyword argument.
    #[error("positional argument follows keyword argument")]
    PositionalAfterKeyword,
    /// A keyword that is given twice.
    #[error("keyword argument repeated: {name}")]
    RepeatedKeyword {
        /// The keyword.
        name: String,
    },
    /// A parameter that stands twice.
    #[error("duplicate argument '{name}' in function definition")]
    DuplicateParameter {
        /// The parameter.
        name: String,
    },
    /// A parameter without default behind one with.
    #[error("non-default argument follows default argument")]
    NonDefaultAfterDefault,
    /// `return` outside of a function, `break` or `continue` outside of a loop.
    #[error("'{statement}' outside {place}")]
    Misplaced {
        /// The statement.
        statement: &'static str,
        /// Where it belongs.
        place: &'static str,
    },
    /// A pattern that matches everything before other cases.
    #[error("this pattern makes the remaining cases unreachable")]
    UnreachableCase,
    /// A handler behind one that takes everything.
    #[error("default 'except:' must be last")]
    BareExcept,
    /// `nonlocal` where no function is around.
    #[error("nonlocal declaration not allowed at module level")]
    NonlocalAtTop,
    /// A name that no function around binds.
    #[error("no binding for nonlocal '{name}' found")]
    NoBinding {
        /// The name.
        name: String,
    },
    /// A parameter that is declared nonlocal.
    #[error("name '{name}' is parameter and nonlocal")]
    NonlocalParameter {
        /// The parameter.
        name: String,
    },
    /// A name that is used before it is declared nonlocal.
    #[error("name '{name}' is {what} before nonlocal declaration")]
    LateNonlocal {
        /// The name.
        name: String,
        /// How it is used.
        what: &'static str,
    },
    /// Python that is not in the subset.
    #[error("{}", .0.message())]
    Outside(Outside),
}

/// A construct of Python that functions cannot use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outside {
    /// `except*`.
    ExceptionGroup,
    /// `with`.
    With,
    /// `class`.
    Class,
    /// `async` and `await`.
    Async,
    /// `yield` in an expression, and `yield from`.
    Yield,
    /// `global`.
    Global,
    /// `del` of something else than names.
    DeleteItem,
    /// `import` in a function.
    ImportInside,
    /// `from m import *`.
    ImportStar,
    /// `**kwargs`, `*` and `/` among parameters, and parameters behind `*args`.
    ParameterKinds,
    /// `f(**d)`, `[*a]`, `*a, b = c`.
    Starred,
    /// `f"…"`.
    FormattedString,
    /// `"\N{…}"`, and halves of surrogate pairs.
    Escape,
    /// `b"…"`.
    Bytes,
    /// `1j`.
    Complex,
    /// `...`.
    Ellipsis,
    /// `a @ b`.
    MatrixProduct,
    /// `a.b = c`.
    AttributeTarget,
    /// A pattern that is no literal.
    Pattern,
    /// `raise … from …`.
    RaiseFrom,
}

impl Outside {
    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Outside::ExceptionGroup => {
                ("exception-group", "there are no groups of exceptions", "write `except` without `*`")
            }
            Outside::With => {
                ("with-statement", "there are no context managers", "write the body of the `with` without it")
            }
            Outside::Class => (
                "class-definition",
                "classes cannot be defined",
                "pass the fields as arguments, or as an array",
            ),
            Outside::Async => {
                ("async", "functions run to their end; nothing is awaited", "leave out `async` and `await`")
            }
            Outside::Yield => (
                "generator-function",
                "a generator gives values and takes none",
                "write `yield value` as a statement; `yield from g()` is `for v in g(): yield v`",
            ),
            Outside::Global => (
                "global-statement",
                "a function cannot assign to a name of the module",
                "pass the value as an argument and return the new one",
            ),
            Outside::DeleteItem => {
                ("delete-item", "elements cannot be deleted", "assign to the element, or build a new list")
            }
            Outside::ImportInside => (
                "import-inside",
                "modules are imported at the top of the file",
                "move the import out of the function",
            ),
            Outside::ImportStar => (
                "import-star",
                "`import *` does not say which names it brings",
                "name what is imported: `from math import sqrt`",
            ),
            Outside::ParameterKinds => (
                "parameter-kinds",
                "parameters are positional or by keyword, and `*args` comes last",
                "write every parameter out; several values can be one tuple or array",
            ),
            Outside::Starred => {
                ("starred", "`*` and `**` do not unpack here", "write the elements out: `f(t[0], t[1])`")
            }
            Outside::FormattedString => {
                ("formatted-string", "texts are fixed", "write the message without values")
            }
            Outside::Escape => (
                "string-escape",
                "this escape stands for no character here",
                "write the character itself, or `\\u` with its number",
            ),
            Outside::Bytes => ("bytes-literal", "there are no bytes", "use an array of uint8"),
            Outside::Complex => (
                "complex-number",
                "there are no complex numbers",
                "compute with the real and the imaginary part",
            ),
            Outside::Ellipsis => (
                "ellipsis",
                "`...` stands for nothing here",
                "write an index for each axis, or `pass` for an empty body",
            ),
            Outside::MatrixProduct => {
                ("matrix-product", "`@` multiplies no matrices", "write the loops over rows and columns")
            }
            Outside::AttributeTarget => {
                ("attribute-target", "attributes cannot be assigned", "return the new value")
            }
            Outside::Pattern => (
                "match-pattern",
                "a case matches literals, a name or `_`",
                "match a number, or compare with `if` and `elif`",
            ),
            Outside::RaiseFrom => ("raise-from", "an exception has no cause", "leave out `from …`"),
        }
    }

    /// The rule's name, the same in every version.
    pub fn rule(self) -> &'static str {
        self.row().0
    }

    /// What does not exist.
    pub fn message(self) -> &'static str {
        self.row().1
    }

    /// What to write instead.
    pub fn hint(self) -> &'static str {
        self.row().2
    }
}

impl PythonProblem {
    /// The rule's name, the same in every version.
    pub fn rule(&self) -> &'static str {
        match self {
            PythonProblem::Limit { .. } => "limit",
            PythonProblem::Character { .. } => "unexpected-character",
            PythonProblem::Continuation => "line-continuation",
            PythonProblem::UnterminatedString => "unterminated-string",
            PythonProblem::Escape { .. } => "invalid-escape",
            PythonProblem::Number { .. } => "invalid-number",
            PythonProblem::LeadingZeros => "leading-zeros",
            PythonProblem::LargeInteger { .. } => "large-integer",
            PythonProblem::InconsistentTabs => "inconsistent-tabs",
            PythonProblem::Unindent => "unindent-mismatch",
            PythonProblem::UnexpectedIndent => "unexpected-indent",
            PythonProblem::MissingBlock { .. } => "missing-block",
            PythonProblem::Unclosed { .. } => "unclosed-bracket",
            PythonProblem::Unopened { .. } => "unmatched-bracket",
            PythonProblem::Expected { .. } => "unexpected-token",
            PythonProblem::AssignmentInExpression => "assignment-in-expression",
            PythonProblem::Target { .. } => "assignment-target",
            PythonProblem::PositionalAfterKeyword => "positional-after-keyword",
            PythonProblem::RepeatedKeyword { .. } => "repeated-keyword",
            PythonProblem::DuplicateParameter { .. } => "duplicate-parameter",
            PythonProblem::NonDefaultAfterDefault => "non-default-after-default",
            PythonProblem::Misplaced { .. } => "misplaced-statement",
            PythonProblem::UnreachableCase => "unreachable-case",
            PythonProblem::BareExcept => "except-order",
            PythonProblem::NonlocalAtTop
            | PythonProblem::NoBinding { .. }
            | PythonProblem::NonlocalParameter { .. }
            | PythonProblem::LateNonlocal { .. } => "nonlocal-binding",
            PythonProblem::Outside(outside) => outside.rule(),
        }
    }

    /// True for Python that is not in the subset, false for text that is no Python.
    pub fn is_outside(&self) -> bool {
        matches!(self, PythonProblem::Outside(_) | PythonProblem::LargeInteger { .. })
    }

    /// What could be done about it.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            PythonProblem::LeadingZeros => Some("an octal number begins with 0o: 0o12".into()),
            PythonProblem::LargeInteger { .. } => {
                Some("integers are -9223372036854775808 to 9223372036854775807; write a float: 1e19".into())
            }
            PythonProblem::InconsistentTabs => Some("indent with spaces only".into()),
            PythonProblem::MissingBlock { .. } => Some("indent the next line, or write `pass`".into()),
            PythonProblem::Expected { expected: "`:`", found: PyToken::Equal } => {
                Some("a comparison is `==`".into())
            }
            PythonProblem::Outside(outside) => Some(outside.hint().into()),
            _ => None,
        }
    }
}
