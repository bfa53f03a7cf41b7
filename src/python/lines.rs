//! From bytes of a text to lines and columns.

use cembra_vm::program::instruction::Span;

/// Where the lines of a text begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLines {
    starts: Vec<u32>,
}

impl SourceLines {
    /// The lines of a text; `\n`, `\r\n` and `\r` end one.
    pub fn new(text: &str) -> SourceLines {
        let bytes = text.as_bytes();
        // A byte order mark is in no column.
        let mut starts = vec![if text.starts_with('\u{feff}') { 3 } else { 0 }];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
            if ends {
                starts.push(at as u32 + 1);
            }
        }
        SourceLines { starts }
    }

    /// Line from 1, and column from 0 in bytes of UTF-8, as CPython counts.
    pub fn position(&self, at: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        (line as u32, at.saturating_sub(self.starts[line - 1]))
    }

    /// The byte at a line from 1 and a column from 0; `None` of lines that the text does not have.
    pub fn byte(&self, line: u32, column: u32) -> Option<u32> {
        let start = self.starts.get((line as usize).checked_sub(1)?)?;
        start.checked_add(column)
    }

    /// Line of the first byte, from 1.
    pub fn line(&self, span: Span) -> u32 {
        self.position(span.start).0
    }
}
