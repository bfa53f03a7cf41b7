//! Writes the lines of a program's routines.

use crate::layout::handle::HandleKind;
use crate::layout::{FrameLayout, TypedSlot};
use crate::program::instruction::{Instruction, Span, ValueId};
use crate::program::parallel::Window;
use crate::program::program::{Program, Routine};
use crate::program::text::literal::write_literal;
use crate::program::text::quoted::write_name;
use crate::value::repr::write_text;
use crate::value::{QType, Value};
use std::collections::HashMap;
use std::fmt::Write;

/// Appends all lines after the hash line to `out`; calls `after_line` with `out` after each.
pub(super) fn write_routines(program: &Program, out: &mut String, after_line: impl FnMut(&mut String)) {
    let mut printer = Printer { out, after_line };
    for (number, routine) in program.routines().iter().enumerate() {
        printer.line(0, |out| push(out, format_args!("routine {number}")));
        printer.layout(&routine.layout);
        printer.values(routine);
        printer.interface(routine);
        printer.operators(routine);
        printer.eval(routine);
    }
    printer.line(0, |out| out.push_str("end"));
}

struct Printer<'o, F> {
    out: &'o mut String,
    after_line: F,
}

impl<F: FnMut(&mut String)> Printer<'_, F> {
    fn line(&mut self, level: usize, write: impl FnOnce(&mut String)) {
        self.out.push_str(["", "  ", "    "][level]);
        write(self.out);
        self.out.push('\n');
        (self.after_line)(self.out);
    }

    fn layout(&mut self, layout: &FrameLayout) {
        let (size, align) = (layout.size(), layout.align());
        self.line(1, |out| push(out, format_args!("layout size {size}, align {align}")));
        for (word, slots) in [("input ", layout.inputs()), ("output ", layout.outputs())] {
            for slot in slots {
                self.line(2, |out| {
                    out.push_str(word);
                    write_slot(out, slot);
                });
            }
        }
        for (number, (at, value)) in layout.literals().iter().enumerate() {
            self.line(2, |out| {
                push(out, format_args!("l{number}: "));
                write_slot(out, &TypedSlot::new(*at, value.qtype()));
                out.push_str(" = ");
                write_literal(out, value);
            });
        }
        for (at, kind) in layout.handles() {
            self.line(2, |out| push(out, format_args!("handle {} [0x{at:02X}]", handle_name(*kind))));
        }
    }

    fn values(&mut self, routine: &Routine) {
        self.line(1, |out| out.push_str("values"));
        for (index, value) in routine.values.iter().enumerate() {
            self.line(2, |out| {
                push(out, format_args!("v{index}: "));
                write_slot(out, &value.slot);
                if let Some(owner) = value.view_of {
                    push(out, format_args!(" view {owner}"));
                }
            });
        }
    }

    fn interface(&mut self, routine: &Routine) {
        self.line(1, |out| out.push_str("interface"));
        for (name, value) in &routine.inputs {
            self.line(2, |out| write_named(out, "input", name, *value));
        }
        self.line(2, |out| push(out, format_args!("output = {}", routine.output)));
        for (name, value) in &routine.side_outputs {
            self.line(2, |out| write_named(out, "side output", name, *value));
        }
        let numbers = literal_numbers(&routine.layout);
        for (value, literal) in &routine.literals {
            let number = literal_number(routine, *value, literal, &numbers);
            self.line(2, |out| write_literal_of(out, *value, literal, number));
        }
        for value in &routine.updated_inputs {
            self.line(2, |out| push(out, format_args!("updates {value}")));
        }
        if let Some(parallel) = &routine.parallel {
            self.line(2, |out| push(out, format_args!("parallel combine {}", parallel.combine)));
            for Window { array, axis, first, step } in &parallel.windows {
                let window = format_args!("window {array} axis {axis} first {first} step {step}");
                self.line(2, |out| push(out, window));
            }
        }
        if routine.overrides_inputs {
            self.line(2, |out| out.push_str("overrides inputs"));
        }
    }

    fn operators(&mut self, routine: &Routine) {
        self.line(1, |out| out.push_str("operators"));
        for (number, operator) in routine.body.operators().iter().enumerate() {
            self.line(2, |out| {
                push(out, format_args!("o{number}: "));
                write_signature(out, operator.name(), operator.args());
                push(out, format_args!(" -> {} {}", operator.result(), operator.effects().name()));
            });
        }
    }

    fn eval(&mut self, routine: &Routine) {
        self.line(1, |out| out.push_str("eval"));
        for (ip, instruction) in routine.body.instructions().iter().enumerate() {
            self.line(2, |out| {
                write_instruction(out, routine, instruction);
                write_span(out, routine.body.span(ip));
            });
        }
    }
}

fn write_instruction(out: &mut String, routine: &Routine, instruction: &Instruction) {
    match instruction {
        Instruction::Operator { operator, operands, result } => {
            push(out, format_args!("{result} = o{operator}"));
            write_operands(out, routine.body.list(*operands));
        }
        Instruction::Jump { offset } => push(out, format_args!("jump<{offset:+}>()")),
        Instruction::JumpIf { condition, offset } => {
            push(out, format_args!("jump_if<{offset:+}>({condition})"))
        }
        Instruction::JumpIfNot { condition, offset } => {
            push(out, format_args!("jump_if_not<{offset:+}>({condition})"));
        }
        Instruction::Trap { trap } => {
            let trap = &routine.body.traps()[*trap as usize];
            push(out, format_args!("trap<{}>(", trap.category));
            write_text(out, &trap.message);
            out.push(')');
        }
        Instruction::Guard { catch, offset } => {
            let catch = &routine.body.catches()[*catch as usize];
            push(out, format_args!("guard<{offset:+}>{catch}"));
        }
        Instruction::Again { number } => push(out, format_args!("again<{number}>()")),
        Instruction::Call { routine: callee, operands, results } => {
            write_values(out, routine.body.list(*results));
            push(out, format_args!(" = call<{callee}>"));
            write_operands(out, routine.body.list(*operands));
        }
    }
}

fn write_operands(out: &mut String, values: &[ValueId]) {
    out.push('(');
    write_values(out, values);
    out.push(')');
}

fn write_values(out: &mut String, values: &[ValueId]) {
    for (i, value) in values.iter().enumerate() {
        push(out, format_args!("{}{value}", if i > 0 { ", " } else { "" }));
    }
}

fn write_span(out: &mut String, span: Span) {
    if !span.is_unknown() {
        push(out, format_args!(" @{}..{}", span.start, span.end));
    }
}

fn write_slot(out: &mut String, slot: &TypedSlot) {
    push(out, format_args!("{slot}"));
}

fn write_named(out: &mut String, word: &str, name: &str, value: ValueId) {
    push(out, format_args!("{word} "));
    write_text(out, name);
    push(out, format_args!(" = {value}"));
}

/// Writes an operator's name and argument types.
pub(super) fn write_signature(out: &mut String, name: &str, args: &[QType]) {
    write_name(out, name);
    out.push('(');
    for (i, arg) in args.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        push(out, format_args!("{arg}"));
    }
    out.push(')');
}

/// A literal of the routine is one of the layout's. In a program that the verifier would refuse it
/// may be another; it is then written in full.
fn write_literal_of(out: &mut String, value: ValueId, literal: &Value, number: Option<usize>) {
    push(out, format_args!("literal {value} = "));
    match number {
        Some(number) => push(out, format_args!("l{number}")),
        None => {
            push(out, format_args!("{} ", literal.qtype()));
            write_literal(out, literal);
        }
    }
}

/// Numbers of the literals at each offset; there can be several only if they have no bytes.
fn literal_numbers(layout: &FrameLayout) -> HashMap<u32, Vec<usize>> {
    let mut numbers: HashMap<u32, Vec<usize>> = HashMap::new();
    for (number, (at, _)) in layout.literals().iter().enumerate() {
        numbers.entry(*at).or_default().push(number);
    }
    numbers
}

fn literal_number(
    routine: &Routine,
    value: ValueId,
    literal: &Value,
    numbers: &HashMap<u32, Vec<usize>>,
) -> Option<usize> {
    let slot = &routine.values.get(value.index())?.slot;
    let candidates = numbers.get(&slot.offset())?;
    candidates.iter().copied().find(|n| routine.layout.literals()[*n].1 == *literal)
}

/// The name of a handle's kind: that of the type it serves.
pub(super) fn handle_name(kind: HandleKind) -> &'static str {
    match kind {
        HandleKind::Text => "TEXT",
        HandleKind::Bytes => "BYTES",
        HandleKind::Sequence => "SEQUENCE",
        HandleKind::Array => "ARRAY",
        HandleKind::Edge => "EDGE",
        HandleKind::NdArray => "NDARRAY",
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all writes");
}
