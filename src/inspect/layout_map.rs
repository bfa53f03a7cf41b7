//! The frame map: what lies where, and when.
//!
//! ```text
//! frame of 32 bytes, align 8
//!   inputs 4, output 8, literals 8, temporaries 8, unused 4
//!
//! 0x00 iiii....oooooooo
//! 0x10 ttttttttllllllll
//!
//! bytes        type     life    value
//! 0x00..0x04   FLOAT32  always  input x
//! 0x08..0x10   FLOAT64  1..end  output = math.add(v2, v3)
//! 0x10..0x18   FLOAT64  0..1    v2 = core.to_float64(x)
//! 0x18..0x20   FLOAT64  always  literal float64{1}
//! ```
//!
//! A life is the stretch of instructions from the first that writes a value to the last that reads it;
//! values whose lives do not meet may share bytes.

use cembra_vm::layout::TypedSlot;
use cembra_vm::program::{Instruction, Program, Routine, ValueId};
use std::fmt;

/// The part a slot plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Written by the host.
    Input,
    /// Read by the host.
    Output,
    /// Read by the host too, if it listens.
    SideOutput,
    /// There from the start.
    Literal,
    /// Written and read by the program.
    Temporary,
    /// Another value seen as something else.
    View,
}

impl Part {
    /// Name in dumps.
    pub fn name(self) -> &'static str {
        match self {
            Part::Input => "input",
            Part::Output => "output",
            Part::SideOutput => "side output",
            Part::Literal => "literal",
            Part::Temporary => "temporary",
            Part::View => "view",
        }
    }

    fn letter(self) -> char {
        match self {
            Part::Input => 'i',
            Part::Output => 'o',
            Part::SideOutput => 's',
            Part::Literal => 'l',
            Part::Temporary | Part::View => 't',
        }
    }
}

/// One value of the map.
#[derive(Clone, Debug)]
pub struct Row {
    /// The value.
    pub value: ValueId,
    /// Where it lies.
    pub slot: TypedSlot,
    /// What it is.
    pub part: Part,
    /// Name of an input or side output.
    pub name: Option<String>,
    /// What it holds: a literal, or the operator that writes it.
    pub holds: Option<String>,
    /// First instruction that writes it; `None` if it is there from the start.
    pub first: Option<usize>,
    /// Last instruction that reads it; `None` if it is kept to the end.
    pub last: Option<usize>,
}

/// The map of a program's frame.
#[derive(Clone, Debug)]
pub struct LayoutMap {
    /// Bytes of the frame.
    pub size: u32,
    /// Alignment of the frame.
    pub align: u32,
    /// Number of instructions.
    pub instructions: usize,
    /// Values by offset and life.
    pub rows: Vec<Row>,
}

impl LayoutMap {
    /// The map of the main routine.
    pub fn new(program: &Program) -> LayoutMap {
        let routine = program.main();
        let mut rows: Vec<Row> = (0..routine.values.len() as u32).map(|v| row(routine, ValueId(v))).collect();
        extend_lives(routine, &mut rows);
        rows.sort_by_key(|r| (r.slot.offset(), r.part == Part::View, r.first, r.value));
        LayoutMap {
            size: routine.layout.size(),
            align: routine.layout.align(),
            instructions: routine.body.instructions().len(),
            rows,
        }
    }

    /// The part that each byte plays; `None` for bytes nobody uses. Bytes of several values play the
    /// part of the first.
    pub fn bytes(&self) -> Vec<Option<Part>> {
        let mut bytes = vec![None; self.size as usize];
        for row in self.rows.iter().filter(|r| r.part != Part::View) {
            for byte in row.slot.offset()..row.slot.end() as u32 {
                bytes[byte as usize].get_or_insert(row.part);
            }
        }
        bytes
    }

    /// Bytes that play a part.
    pub fn count(&self, part: Option<Part>) -> usize {
        self.bytes().into_iter().filter(|b| *b == part).count()
    }
}

fn row(routine: &Routine, value: ValueId) -> Row {
    let input = routine.inputs.iter().find(|i| i.1 == value);
    let literal = routine.literals.iter().find(|l| l.0 == value);
    let side = routine.side_outputs.iter().find(|s| s.1 == value);
    let (part, name) = match (input, literal) {
        (Some((name, _)), _) => (Part::Input, Some(name.to_string())),
        (_, Some(_)) => (Part::Literal, None),
        _ if value == routine.output => (Part::Output, None),
        _ if routine.values[value.index()].view_of.is_some() => (Part::View, None),
        _ => match side {
            Some((name, _)) => (Part::SideOutput, Some(name.to_string())),
            None => (Part::Temporary, None),
        },
    };
    let holds = match (part, literal) {
        (Part::Literal, Some((_, literal))) => Some(literal.to_string()),
        (Part::View, _) => {
            routine.values[value.index()].view_of.map(|of| format!("view of {}", label(routine, of)))
        }
        _ => None,
    };
    Row { value, slot: routine.slot(value).clone(), part, name, holds, first: None, last: None }
}

/// How a value is called in the map.
fn label(routine: &Routine, value: ValueId) -> String {
    if let Some((name, _)) = routine.inputs.iter().find(|i| i.1 == value) {
        return name.to_string();
    }
    if let Some((_, literal)) = routine.literals.iter().find(|l| l.0 == value) {
        return literal.to_string();
    }
    if value == routine.output { "output".to_owned() } else { value.to_string() }
}

fn extend_lives(routine: &Routine, rows: &mut [Row]) {
    let (body, owners) = (&routine.body, routine.owners());
    for (ip, instruction) in body.instructions().iter().enumerate() {
        for value in body.reads(instruction) {
            for reader in [*value, owners.owner(*value)] {
                rows[reader.index()].last = Some(ip);
            }
        }
        for value in body.writes(instruction) {
            let row = &mut rows[value.index()];
            row.first.get_or_insert(ip);
            if let (Instruction::Operator { operator, operands, .. }, None) = (instruction, &row.holds) {
                let operands: Vec<String> = body.list(*operands).iter().map(|v| label(routine, *v)).collect();
                let name = body.operators()[*operator as usize].name();
                row.holds = Some(format!("{name}({})", operands.join(", ")));
            }
        }
    }
    for row in rows.iter_mut() {
        if !matches!(row.part, Part::Temporary | Part::View) {
            row.last = None;
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.part, &self.name) {
            (Part::Temporary | Part::View, _) => self.value.to_string(),
            (part, Some(name)) => format!("{} {name}", part.name()),
            (part, None) => part.name().to_owned(),
        };
        match (&self.holds, self.part) {
            (Some(holds), Part::Literal) => write!(f, "{what} {holds}"),
            (Some(holds), _) => write!(f, "{what} = {holds}"),
            (None, _) => f.write_str(&what),
        }
    }
}

impl fmt::Display for LayoutMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "frame of {} bytes, align {}", self.size, self.align)?;
        let parts = [Part::Input, Part::Output, Part::SideOutput, Part::Literal, Part::Temporary];
        let counts: Vec<String> = parts
            .into_iter()
            .map(|p| (p.name(), self.count(Some(p))))
            .chain(std::iter::once(("unused", self.count(None))))
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| format!("{name} {n}"))
            .collect();
        if !counts.is_empty() {
            writeln!(f, "  {}\n", counts.join(", "))?;
        }
        for (line, bytes) in self.bytes().chunks(32).enumerate() {
            let letters: String = bytes.iter().map(|b| b.map_or('.', Part::letter)).collect();
            writeln!(f, "0x{:02X} {letters}", line * 32)?;
        }
        let life = |row: &Row| match (row.first, row.last) {
            _ if matches!(row.part, Part::Input | Part::Literal) => "always".to_owned(),
            (Some(first), Some(last)) => format!("{first}..{last}"),
            (Some(first), None) => format!("{first}..end"),
            (None, Some(last)) => format!("..{last}"),
            (None, None) => "never".to_owned(),
        };
        let place = |row: &Row| format!("0x{:02X}..0x{:02X}", row.slot.offset(), row.slot.end());
        let width = |cells: &dyn Fn(&Row) -> String, title: &str| {
            self.rows.iter().map(|r| cells(r).len()).max().unwrap_or(0).max(title.len())
        };
        let qtype = |row: &Row| row.slot.qtype().to_string();
        let (a, b, c) = (width(&place, "bytes"), width(&qtype, "type"), width(&life, "life"));
        writeln!(f, "\n{:a$}  {:b$}  {:c$}  value", "bytes", "type", "life")?;
        for row in &self.rows {
            writeln!(f, "{:a$}  {:b$}  {:c$}  {row}", place(row), qtype(row), life(row))?;
        }
        Ok(())
    }
}
