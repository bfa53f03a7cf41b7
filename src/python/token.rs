//! Tokens: what they are, and how messages call them.

use std::fmt;

/// Defines tokens with a fixed text.
macro_rules! tokens {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*; $($word:ident = $spelling:literal,)*) => {
        /// What a token is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "signs and keywords are what their text says")]
        pub enum PyToken {
            /// A name that is no keyword.
            Name,
            /// A number.
            Number,
            /// A string.
            String,
            /// The end of a logical line.
            Newline,
            /// The beginning of a block.
            Indent,
            /// The end of a block.
            Dedent,
            /// The end of the text.
            End,
            /// Something that was reported and stands for an operand.
            Broken,
            $($(#[$doc])* $name,)*
            $($word,)*
        }

        impl PyToken {
            /// The text of a sign or a keyword.
            pub fn text(self) -> Option<&'static str> {
                match self {
                    $(PyToken::$name => Some($text),)*
                    $(PyToken::$word => Some($spelling),)*
                    _ => None,
                }
            }

            /// The keyword of a text.
            pub fn keyword(text: &str) -> Option<PyToken> {
                match text {
                    $($spelling => Some(PyToken::$word),)*
                    _ => None,
                }
            }
        }
    };
}

tokens! {
    ParenOpen = "(",
    ParenClose = ")",
    SquareOpen = "[",
    SquareClose = "]",
    BraceOpen = "{",
    BraceClose = "}",
    Colon = ":",
    ColonEqual = ":=",
    Comma = ",",
    Semicolon = ";",
    Dot = ".",
    Ellipsis = "...",
    Arrow = "->",
    At = "@",
    Equal = "=",
    EqualEqual = "==",
    NotEqual = "!=",
    Less = "<",
    LessEqual = "<=",
    Greater = ">",
    GreaterEqual = ">=",
    Plus = "+",
    Minus = "-",
    Star = "*",
    DoubleStar = "**",
    Slash = "/",
    DoubleSlash = "//",
    Percent = "%",
    Pipe = "|",
    Caret = "^",
    Ampersand = "&",
    Tilde = "~",
    ShiftLeft = "<<",
    ShiftRight = ">>",
    PlusEqual = "+=",
    MinusEqual = "-=",
    StarEqual = "*=",
    DoubleStarEqual = "**=",
    SlashEqual = "/=",
    DoubleSlashEqual = "//=",
    PercentEqual = "%=",
    PipeEqual = "|=",
    CaretEqual = "^=",
    AmpersandEqual = "&=",
    AtEqual = "@=",
    ShiftLeftEqual = "<<=",
    ShiftRightEqual = ">>=",
    ;
    False = "False",
    None = "None",
    True = "True",
    And = "and",
    As = "as",
    Assert = "assert",
    Async = "async",
    Await = "await",
    Break = "break",
    Class = "class",
    Continue = "continue",
    Def = "def",
    Del = "del",
    Elif = "elif",
    Else = "else",
    Except = "except",
    Finally = "finally",
    For = "for",
    From = "from",
    Global = "global",
    If = "if",
    Import = "import",
    In = "in",
    Is = "is",
    Lambda = "lambda",
    Nonlocal = "nonlocal",
    Not = "not",
    Or = "or",
    Pass = "pass",
    Raise = "raise",
    Return = "return",
    Try = "try",
    While = "while",
    With = "with",
    Yield = "yield",
}

impl PyToken {
    /// True for keywords that no expression contains: in brackets they show that one was not closed.
    pub(super) fn begins_only_statements(self) -> bool {
        matches!(
            self,
            PyToken::Def
                | PyToken::Return
                | PyToken::While
                | PyToken::Class
                | PyToken::Import
                | PyToken::With
                | PyToken::Try
                | PyToken::Except
                | PyToken::Finally
                | PyToken::Raise
                | PyToken::Assert
                | PyToken::Pass
                | PyToken::Break
                | PyToken::Continue
                | PyToken::Del
                | PyToken::Global
                | PyToken::Nonlocal
                | PyToken::Elif
        )
    }
}

impl fmt::Display for PyToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PyToken::Name => f.write_str("a name"),
            PyToken::Number => f.write_str("a number"),
            PyToken::String => f.write_str("a string"),
            PyToken::Newline => f.write_str("the end of the line"),
            PyToken::Indent => f.write_str("an indented line"),
            PyToken::Dedent => f.write_str("the end of the block"),
            PyToken::End => f.write_str("the end of the text"),
            PyToken::Broken => f.write_str("a malformed token"),
            other => write!(f, "`{}`", other.text().unwrap_or_default()),
        }
    }
}
