//! Reads the layout of a routine and builds it again.
//!
//! ```text
//!   layout size 56, align 8
//!     input FLOAT32 [0x00]            in the order of the written-bits
//!     output TEXT [0x20]
//!     l0: FLOAT64 [0x18] = 1          in the order of placement
//!     handle TEXT [0x20]              every buffer handle, those of temporaries included
//! ```
//!
//! A layout may be shared with other programs, so it can have more inputs, outputs, literals and
//! handles than its routine names. All of them are in the text: the layout that is built has the
//! identity of the one that was printed, and frames can be exchanged.

use crate::layout::handle::HandleKind;
use crate::layout::{FrameLayout, LayoutBuilder};
use crate::program::text::cursor::{Cursor, Read};
use crate::program::text::error::ProgramTextError;
use crate::program::text::literal::read_literal;
use crate::program::text::parse::Parser;
use crate::program::text::print::handle_name;
use crate::program::text::types::read_slot;
use std::collections::HashSet;
use std::sync::Arc;

/// Frames start at a multiple of this, so a layout cannot ask for more.
const LARGEST_ALIGN: u32 = 64;

/// A layout while its lines are read.
struct Draft {
    builder: LayoutBuilder,
    literals: usize,
    handles: HashSet<u32>,
}

impl Parser<'_> {
    /// Reads the lines of a layout.
    pub(super) fn layout(&mut self, routine: usize) -> Read<Arc<FrameLayout>> {
        let (size, align) = read_heading(self.lines.take())?;
        self.count_frame(size)?;
        let mut builder = FrameLayout::builder().frame_limit(self.limits.frame_bytes);
        builder.reserve(size, align);
        let mut draft = Draft { builder, literals: 0, handles: HashSet::new() };
        while !self.lines.at_word("values") {
            draft.line(self.lines.take())?;
        }
        let layout = draft.builder.build().map_err(|error| ProgramTextError::Layout { routine, error })?;
        let (actual_size, actual_align) = (layout.size(), layout.align());
        if (actual_size, actual_align) != (size, align) {
            return Err(ProgramTextError::LayoutSize { routine, size, align, actual_size, actual_align });
        }
        match layout.handles().iter().find(|(at, _)| !draft.handles.contains(at)) {
            Some((at, _)) => Err(ProgramTextError::UnlistedHandle { routine, at: *at }),
            None => Ok(layout),
        }
    }
}

impl Draft {
    fn line(&mut self, mut line: Cursor<'_>) -> Read<()> {
        match line.peek() {
            "input" => {
                line.keyword("input")?;
                self.builder.place_input(&read_slot(&mut line)?);
            }
            "output" => {
                line.keyword("output")?;
                self.builder.place_output(&read_slot(&mut line)?);
            }
            "handle" => {
                line.keyword("handle")?;
                let (at, kind) = read_handle(&mut line)?;
                self.handles.insert(at);
                self.builder.place_handle(at, kind);
            }
            word if word.starts_with('l') => {
                line.numbered('l', self.literals)?;
                self.literals += 1;
                let slot = read_slot(&mut line)?;
                line.expect("=")?;
                self.builder.place_literal(slot.offset(), read_literal(&mut line, slot.qtype())?);
            }
            _ => {
                return Err(line.expected("`input`, `output`, a literal such as `l0:`, `handle` or `values`"));
            }
        }
        line.done()
    }
}

/// Reads `layout size 32, align 8`.
fn read_heading(mut line: Cursor<'_>) -> Read<(u32, u32)> {
    line.keyword("layout")?;
    line.keyword("size")?;
    let size = line.number("a size in bytes")?;
    line.expect(",")?;
    line.keyword("align")?;
    let start = line;
    let align = line.number("an alignment")?;
    if !align.is_power_of_two() || align > LARGEST_ALIGN {
        return Err(start.expected("a power of two up to 64"));
    }
    line.done()?;
    Ok((size, align))
}

/// Reads the kind of a handle, and where it stands. The types of handles are those of the slots that have them.
fn read_handle(line: &mut Cursor<'_>) -> Read<(u32, HandleKind)> {
    let start = *line;
    let word = line.word();
    let found = HandleKind::ALL.into_iter().find(|kind| handle_name(*kind) == word);
    let kind = found.ok_or_else(|| start.expected("`TEXT`, `BYTES` or `SEQUENCE`"))?;
    Ok((line.offset()?, kind))
}
