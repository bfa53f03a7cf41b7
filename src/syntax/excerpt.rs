//! A message with the line of the source that it is about, for hosts that have no terminal to style.
//!
//! ```
//! # use cembra::syntax::excerpt;
//! # use cembra::vm::program::instruction::Span;
//! let text = excerpt("expected numerics", "amount + tier", Span { start: 9, end: 13 });
//! assert_eq!(text, "expected numerics\n --> 1:10\n  |\n1 | amount + tier\n  |          ^^^^");
//! ```

use cembra_vm::program::instruction::Span;

/// Characters of a line that are shown before the place, and after its begin.
const SHOWN: (usize, usize) = (60, 100);

/// The message, and if the place is known, line and column (from 1) and the line with a caret under each character of
/// the place.
pub fn excerpt(message: &str, source: &str, span: Span) -> String {
    if span.is_unknown() {
        return message.to_owned();
    }
    let inside = |at: u32| (0..=source.len().min(at as usize)).rev().find(|at| source.is_char_boundary(*at));
    let start = inside(span.start).unwrap_or(0);
    let end = inside(span.end).unwrap_or(start).max(start);
    let line_start = source[..start].rfind('\n').map_or(0, |before| before + 1);
    let line_end = source[start..].find('\n').map_or(source.len(), |after| start + after);
    let line = source[..line_start].matches('\n').count() + 1;
    let column = source[line_start..start].chars().count() + 1;
    let skipped = column.saturating_sub(1 + SHOWN.0);
    let before: String = source[line_start..start].chars().skip(skipped).map(plain).collect();
    let after: String = source[start..line_end].chars().take(SHOWN.1).map(plain).collect();
    let marked = source[start..end.min(line_end)].chars().take(SHOWN.1).count().max(1);
    let (pad, number) = (" ".repeat(line.to_string().len()), line);
    let (space, carets) = (" ".repeat(before.chars().count()), "^".repeat(marked));
    format!(
        "{message}\n{pad}--> {line}:{column}\n{pad} |\n{number} | {before}{after}\n{pad} | {space}{carets}"
    )
}

/// A character as wide as others, that steers nothing.
fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let at = |source: &str, start, end| excerpt("wrong", source, Span { start, end });
        assert_eq!(at("a\nbé + c", 2, 5), "wrong\n --> 2:1\n  |\n2 | bé + c\n  | ^^");
        // Beyond the end, inside of a character, and over several lines.
        assert_eq!(at("ab", 7, 9), "wrong\n --> 1:3\n  |\n1 | ab\n  |   ^");
        assert_eq!(at("é+b", 1, 2), "wrong\n --> 1:1\n  |\n1 | é+b\n  | ^");
        assert_eq!(at("(a +\n b)", 0, 8), "wrong\n --> 1:1\n  |\n1 | (a +\n  | ^^^^");
        let long = "x + ".repeat(1000);
        assert!(at(&long, 2000, 3000).lines().all(|line| line.chars().count() < 180));
    }
}
