//! The published dump: slots, literals and instructions as text.
//!
//! ```text
//! Input slots:
//! x: FLOAT32 [0x00]
//!
//! Output slot:
//! FLOAT64 [0x08]
//!
//! Init operations:
//! FLOAT64 [0x18] = float64{1}
//!
//! Eval operations:
//! FLOAT64 [0x10] = core.to_float64(FLOAT32 [0x00])
//! FLOAT64 [0x08] = math.add(FLOAT64 [0x10], FLOAT64 [0x18])
//! ```
//!
//! It is for people; [`text`](crate::program::text) is the form that reads back.

use crate::program::instruction::{Instruction, ValueId};
use crate::program::program::{Program, Routine};
use crate::value::repr::write_text;
use std::fmt::{self, Display, Write};

/// The dump of the main routine and, under a heading each, of the routines it calls.
pub fn dump(program: &Program) -> String {
    let mut out = String::new();
    for (number, routine) in program.routines().iter().enumerate() {
        if number > 0 {
            push(&mut out, format_args!("\nRoutine {number}:\n\n"));
        }
        dump_routine(&mut out, routine);
    }
    out
}

fn dump_routine(out: &mut String, routine: &Routine) {
    let section = |out: &mut String, title: &str| push(out, format_args!("{title}:\n"));
    section(out, "Input slots");
    for (name, value) in &routine.inputs {
        push(out, format_args!("{name}: {}\n", routine.slot(*value)));
    }
    section(out, "\nOutput slot");
    push(out, format_args!("{}\n", routine.slot(routine.output)));
    if !routine.side_outputs.is_empty() {
        section(out, "\nSide output slots");
        for (name, value) in &routine.side_outputs {
            push(out, format_args!("{name}: {}\n", routine.slot(*value)));
        }
    }
    section(out, "\nInit operations");
    for (value, literal) in &routine.literals {
        push(out, format_args!("{} = {literal}\n", routine.slot(*value)));
    }
    section(out, "\nEval operations");
    for ip in 0..routine.body.instructions().len() {
        push(out, format_args!("{}\n", instruction(routine, ip)));
    }
}

/// One instruction as the dump prints it.
pub fn instruction(routine: &Routine, ip: usize) -> impl Display + '_ {
    fmt::from_fn(move |f| match &routine.body.instructions()[ip] {
        Instruction::Operator { operator, operands, result } => {
            let name = routine.body.operators()[*operator as usize].name();
            write!(f, "{} = {name}({})", routine.slot(*result), slots(routine, routine.body.list(*operands)))
        }
        Instruction::Jump { offset } => write!(f, "jump<{offset:+}>()"),
        Instruction::JumpIf { condition, offset } => {
            write!(f, "jump_if<{offset:+}>({})", routine.slot(*condition))
        }
        Instruction::JumpIfNot { condition, offset } => {
            write!(f, "jump_if_not<{offset:+}>({})", routine.slot(*condition))
        }
        Instruction::Trap { trap } => {
            let trap = &routine.body.traps()[*trap as usize];
            let mut message = String::new();
            write_text(&mut message, &trap.message);
            write!(f, "trap<{}>({message})", trap.category)
        }
        Instruction::Guard { catch, offset } => {
            write!(f, "guard<{offset:+}>{}", routine.body.catches()[*catch as usize])
        }
        Instruction::Again { number } => write!(f, "again<{number}>()"),
        Instruction::Call { routine: callee, operands, results } => {
            let (operands, results) = (routine.body.list(*operands), routine.body.list(*results));
            write!(f, "{} = call<{callee}>({})", slots(routine, results), slots(routine, operands))
        }
    })
}

fn slots<'r>(routine: &'r Routine, values: &'r [ValueId]) -> impl Display + 'r {
    fmt::from_fn(move |f| {
        values
            .iter()
            .enumerate()
            .try_for_each(|(i, v)| write!(f, "{}{}", if i > 0 { ", " } else { "" }, routine.slot(*v)))
    })
}

fn push(out: &mut String, text: fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all writes");
}
