//! The parser's entry: a text to a tree and all that is wrong with it.

use crate::python::cursor::Parser;
use crate::python::error::{PythonError, PythonProblem};
use crate::python::nonlocal::check_nonlocals;
use crate::python::tree::PyTree;
use cembra_vm::program::instruction::Span;

/// Bytes of a text.
const MAX_SOURCE_BYTES: usize = 1 << 26;

/// What came of parsing a text.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedModule {
    /// The tree; with errors, what could be read.
    pub tree: PyTree,
    /// What is wrong, in order of the text.
    pub errors: Vec<PythonError>,
}

/// Parses a module.
///
/// All errors are gathered: text that is no Python, and Python outside of the subset. A tree with errors has
/// [`ExprKind::Refused`](crate::python::tree::ExprKind) and
/// [`StmtKind::Refused`](crate::python::tree::StmtKind) where they are, or lacks the line.
pub fn parse_module(text: &str) -> ParsedModule {
    if text.len() > MAX_SOURCE_BYTES {
        let problem =
            PythonProblem::Limit { name: "source-bytes", actual: text.len(), limit: MAX_SOURCE_BYTES };
        let errors = vec![PythonError { problem, span: Span::default() }];
        return ParsedModule { tree: Parser::new("").tree, errors };
    }
    let mut parser = Parser::new(text);
    parser.module();
    let mut errors = parser.errors;
    check_nonlocals(&parser.tree, &mut errors);
    errors.sort_by_key(|error| (error.span.start, error.span.end));
    ParsedModule { tree: parser.tree, errors }
}
