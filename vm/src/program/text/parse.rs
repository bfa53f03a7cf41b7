//! Reads the lines of a program, from the title to `end`.
//!
//! Sections come in a fixed order and every reference points backwards, except that a call may name
//! a later routine. Nothing is allocated by a number in the text: lists grow as lines are read.

use crate::operator::OperatorTable;
use crate::program::body::Body;
use crate::program::instruction::{Trap, ValueId};
use crate::program::parallel::{Parallel, Window};
use crate::program::program::{Program, Routine, ValueInfo};
use crate::program::text::cursor::{Cursor, Lines, Read};
use crate::program::text::error::{Limits, OperatorProblem, ProgramTextError, check_limit};
use crate::program::text::id::{ProgramId, TITLE, VERSION};
use crate::program::text::literal::read_literal;
use crate::program::text::quoted::read_text;
use crate::program::text::types::{read_slot, read_type};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// What is read so far beyond the routine at hand.
pub(super) struct Parser<'a> {
    pub(super) lines: Lines<'a>,
    pub(super) table: &'a OperatorTable,
    pub(super) limits: &'a Limits,
    /// Operators that cannot be resolved, of all routines.
    pub(super) problems: Vec<OperatorProblem>,
    /// Numbers of the traps of the routine at hand.
    traps: HashMap<Trap, u32>,
    all_traps: u64,
    all_frame_bytes: u64,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, table: &'a OperatorTable, limits: &'a Limits) -> Parser<'a> {
        Parser {
            lines: Lines::new(text),
            table,
            limits,
            problems: Vec::new(),
            traps: HashMap::new(),
            all_traps: 0,
            all_frame_bytes: 0,
        }
    }

    /// Reads the whole text; gives the program, not yet verified, and the version and the hash that the text states.
    pub(super) fn program(mut self) -> Read<(Program, u32, ProgramId)> {
        let version = read_title(self.lines.take())?;
        let stated = read_hash(self.lines.take())?;
        let mut routines = vec![self.routine(0)?];
        while self.lines.at_word("routine") {
            let routine = self.routine(routines.len())?;
            routines.push(routine);
        }
        self.end()?;
        match self.problems.is_empty() {
            true => Ok((Program::new(routines), version, stated)),
            false => Err(ProgramTextError::Operators { problems: self.problems }),
        }
    }

    fn routine(&mut self, number: usize) -> Read<Routine> {
        self.routine_heading(number)?;
        self.traps.clear();
        let mut layout = self.layout(number)?;
        let values = self.values()?;
        // The text gives handles of temporaries by their kind; the values on them tell the type.
        let named = Arc::get_mut(&mut layout).expect("the layout has just been built");
        values.iter().for_each(|value| named.name_handles(&value.slot));
        let mut routine = Routine::new(layout, values, Vec::new(), ValueId(0), Body::new());
        self.interface(&mut routine)?;
        let operators = self.operators(&mut routine.body)?;
        self.eval(&mut routine, operators)?;
        Ok(routine)
    }

    fn routine_heading(&mut self, number: usize) -> Read<()> {
        let mut line = self.lines.take();
        line.keyword("routine")?;
        let start = line;
        match line.number("a routine number") {
            Ok(found) if found as usize == number => line.done(),
            _ => Err(start.expected(format!("the routine number {number}"))),
        }
    }

    fn values(&mut self) -> Read<Vec<ValueInfo>> {
        self.heading("values")?;
        let mut values = Vec::new();
        while !self.lines.at_word("interface") {
            let value = read_value(self.lines.take(), values.len())?;
            values.push(value);
        }
        Ok(values)
    }

    fn interface(&mut self, routine: &mut Routine) -> Read<()> {
        self.heading("interface")?;
        let mut output = None;
        while !self.lines.at_word("operators") {
            let mut line = self.lines.take();
            match line.peek() {
                "output" if output.is_none() => output = Some(read_output(&mut line, routine)?),
                _ => read_interface_line(&mut line, routine)?,
            }
            line.done()?;
        }
        routine.output = output.ok_or_else(|| self.lines.current().expected("`output`"))?;
        Ok(())
    }

    /// Passes a heading that must stand here.
    pub(super) fn heading(&mut self, word: &str) -> Read<()> {
        let mut line = self.lines.take();
        line.keyword(word)?;
        line.done()
    }

    /// Counts the frame of a layout that is about to be built.
    pub(super) fn count_frame(&mut self, bytes: u32) -> Read<()> {
        self.all_frame_bytes += u64::from(bytes);
        let maximum = self.limits.all_frame_bytes;
        check_limit("program-frame-bytes", "bytes in all frames", self.all_frame_bytes, maximum)
    }

    /// The number of a trap in the routine's body.
    pub(super) fn trap(&mut self, body: &mut Body, trap: Trap) -> Read<u32> {
        if let Some(number) = self.traps.get(&trap) {
            return Ok(*number);
        }
        self.all_traps += 1;
        check_limit("program-traps", "different traps", self.all_traps, self.limits.traps)?;
        let number = body.add_trap(trap.clone());
        self.traps.insert(trap, number);
        Ok(number)
    }

    fn end(&mut self) -> Read<()> {
        self.heading("end")?;
        match self.lines.at_end() {
            true => Ok(()),
            false => Err(self.lines.current().expected("the end of the text")),
        }
    }
}

/// Reads the first line; gives the version.
fn read_title(mut line: Cursor<'_>) -> Read<u32> {
    line.expect(TITLE)?;
    let found = line.number("a version")?;
    line.done()?;
    match (1..=VERSION).contains(&found) {
        true => Ok(found),
        false => Err(ProgramTextError::Version { found }),
    }
}

fn read_hash(mut line: Cursor<'_>) -> Read<ProgramId> {
    line.keyword("hash")?;
    let start = line;
    let hash = ProgramId::from_hex(line.word()).ok_or_else(|| start.expected("64 hexadecimal digits"))?;
    line.done()?;
    Ok(hash)
}

/// Reads `v4: OPTIONAL_UNIT [0x10] view v2`.
fn read_value(mut line: Cursor<'_>, number: usize) -> Read<ValueInfo> {
    line.numbered('v', number)?;
    let slot = read_slot(&mut line)?;
    let mut view_of = None;
    if !line.is_done() {
        line.keyword("view")?;
        view_of = Some(read_id(&mut line, number)?);
    }
    line.done()?;
    Ok(ValueInfo { slot, view_of })
}

/// Reads the id of one of the first `count` values.
pub(super) fn read_id(line: &mut Cursor<'_>, count: usize) -> Read<ValueId> {
    let start = *line;
    match line.id('v')? {
        id if (id as usize) < count => Ok(ValueId(id)),
        _ => Err(start.expected(format!("a value before v{count}"))),
    }
}

fn read_output(line: &mut Cursor<'_>, routine: &Routine) -> Read<ValueId> {
    line.keyword("output")?;
    line.expect("=")?;
    read_id(line, routine.values.len())
}

fn read_interface_line(line: &mut Cursor<'_>, routine: &mut Routine) -> Read<()> {
    let start = *line;
    match line.word() {
        "input" => routine.inputs.push(read_named(line, routine.values.len())?),
        "side" => {
            line.keyword("output")?;
            routine.side_outputs.push(read_named(line, routine.values.len())?);
        }
        "literal" => {
            let value = read_id(line, routine.values.len())?;
            line.expect("=")?;
            routine.literals.push((value, read_literal_of(line, routine)?));
        }
        "updates" => routine.updated_inputs.push(read_id(line, routine.values.len())?),
        "parallel" if routine.parallel.is_none() => {
            line.keyword("combine")?;
            let combine = line.number("a routine number")?;
            routine.parallel = Some(Parallel { combine, windows: Vec::new() });
        }
        "window" if routine.parallel.is_some() => {
            let window = read_window(line, routine.values.len())?;
            routine.parallel.iter_mut().for_each(|parallel| parallel.windows.push(window));
        }
        "overrides" => {
            line.keyword("inputs")?;
            routine.overrides_inputs = true;
        }
        _ => {
            let what = "`input`, one `output`, `side output`, `literal`, `updates`, one `parallel`, behind it `window`, `overrides inputs` or `operators`";
            return Err(start.expected(what));
        }
    }
    Ok(())
}

/// Reads `v2 axis 0 first v3 step v4`, behind `window`.
fn read_window(line: &mut Cursor<'_>, values: usize) -> Read<Window> {
    let array = read_id(line, values)?;
    line.keyword("axis")?;
    let axis = line.number("the number of an axis")?;
    line.keyword("first")?;
    let first = read_id(line, values)?;
    line.keyword("step")?;
    Ok(Window { array, axis, first, step: read_id(line, values)? })
}

fn read_named(line: &mut Cursor<'_>, values: usize) -> Read<(Arc<str>, ValueId)> {
    let name = read_text(line)?;
    line.expect("=")?;
    Ok((name.into(), read_id(line, values)?))
}

/// Reads the number of a layout's literal, or a literal in full.
fn read_literal_of(line: &mut Cursor<'_>, routine: &Routine) -> Read<Value> {
    if !line.peek().starts_with('l') {
        let qtype = read_type(line)?;
        return read_literal(line, &qtype);
    }
    let (start, literals) = (*line, routine.layout.literals());
    match literals.get(line.id('l')? as usize) {
        Some((_, value)) => Ok(value.clone()),
        None => Err(start.expected(format!("a literal before l{}", literals.len()))),
    }
}
