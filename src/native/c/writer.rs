//! The writer of a routine: what it knows, labels, and what happens where an instruction raises.

use crate::native::c::constants::{category_name, quoted};
use crate::native::c::locals::{CType, Locals};
use crate::native::c::loops::Unchecked;
use crate::native::c::regions::Region;
use crate::native::c::speculation::RARE;
use crate::native::stage::ArrayLayout;
use cembra_vm::program::instruction::Span;
use cembra_vm::program::{Catch, Instruction, Program, Routine, ValueId};
use cembra_vm::value::ScalarValue;
use hashbrown::{HashMap, HashSet};
use std::fmt::Write;

/// Operands that an error keeps.
const OPERANDS_OF_AN_ERROR: usize = 4;

/// Finds the line of an instruction by the place of its text; 0 if it is unknown.
pub(super) type LineOf<'l> = &'l dyn Fn(Span) -> u32;

/// Writes the function of a routine.
pub(super) struct Writer<'p> {
    pub(super) number: usize,
    pub(super) program: &'p Program,
    pub(super) routine: &'p Routine,
    pub(super) line: LineOf<'p>,
    pub(super) locals: Locals<'p>,
    /// Literals of one scalar.
    pub(super) literals: HashMap<ValueId, ScalarValue>,
    /// True if routines call this one.
    pub(super) is_called: bool,
    pub(super) layout: ArrayLayout,
    /// The loop that is being written once more, without checks.
    pub(super) without_checks: Option<Unchecked>,
    /// True if what is written is a turn of that loop before it is known whether it raises.
    pub(super) speculates: bool,
    /// The arrays that the routine makes.
    pub(super) made: HashSet<ValueId>,
    /// The parts that are read where they stand, by their instructions.
    pub(super) seen_through: HashSet<usize>,
    /// Arrays that are made in memory of the caller if he lends some, with the numbers of the results that they are.
    pub(super) lent: HashMap<ValueId, usize>,
    /// The edges, which the routine frees.
    pub(super) edges: Vec<ValueId>,
    /// The regions, by their first instructions.
    pub(super) regions: HashMap<usize, Region>,
    /// The components of regions whose functions are written.
    pub(super) written: HashSet<usize>,
    /// The functions of regions.
    pub(super) functions: String,
    /// True if instructions are written as comments.
    pub(super) is_explained: bool,
    pub(super) text: String,
}

impl Writer<'_> {
    /// The label of an instruction, in the loop that is being written.
    pub(super) fn label(&self, ip: usize) -> String {
        let is_inside = |again: &Unchecked| (again.entry + 1..=again.last).contains(&ip);
        let mark = match self.without_checks.as_ref().is_some_and(is_inside) {
            true if self.speculates => "s",
            true => "u",
            false => "",
        };
        format!("L{ip}{mark}")
    }

    /// Goes where a jump leads.
    pub(super) fn go(&self, ip: usize) -> String {
        let target = self.routine.body.target(ip).unwrap_or_default();
        let is_left = |again: &Unchecked| !(again.entry + 1..=again.last).contains(&target);
        if self.speculates && self.without_checks.as_ref().is_some_and(is_left) {
            return RARE.to_owned();
        }
        format!("goto {};", self.label(target))
    }

    /// The jump back of a loop whose turns are computed in stretches as well.
    pub(super) fn back(&self, ip: usize) -> Option<String> {
        let again = self.without_checks.as_ref().filter(|again| ip == again.last)?;
        let to = self.label(again.entry + 1);
        again.speculation.as_ref().map(|speculation| speculation.back(again.condition, &to))
    }

    /// What happens where an instruction has raised `k`; the text behind it is not reached.
    pub(super) fn raise(&self, ip: usize, message: &str, operands: &[(String, CType)]) -> String {
        let bits = operands.iter().take(OPERANDS_OF_AN_ERROR).map(|(local, ctype)| ctype.bits(local));
        let bits: Vec<String> = bits.collect();
        let bits = if bits.is_empty() { "0".to_owned() } else { bits.join(", ") };
        let line = (self.line)(self.routine.body.span(ip));
        let number = self.number;
        format!(
            "k = cembra_raise(run, k, {number}, {ip}, {line}, {message}, CEMBRA_OPERANDS({bits})); {}",
            self.leave(ip)
        )
    }

    /// Goes to the guard that takes what was raised as `k`, or out.
    pub(super) fn leave(&self, ip: usize) -> String {
        let body = &self.routine.body;
        let mut text = String::new();
        let guards: Vec<usize> = body.guards(ip).collect();
        for guard in guards {
            let Instruction::Guard { catch, .. } = body.instructions()[guard] else { continue };
            let catch = &body.catches()[catch as usize];
            let keep = catch.keep.map_or(String::new(), |number| format!("kept{number} = *run->error; "));
            let target = self.label(body.target(guard).unwrap_or_default());
            let _ = write!(text, "if ({}) {{ {keep}goto {target}; }} ", takes(catch));
        }
        text + "status = k; goto out;"
    }
}

/// The condition under which a guard takes `k`.
fn takes(catch: &Catch) -> String {
    let categories = catch.categories.iter().map(|category| format!("k == {}", category_name(*category)));
    let classes = catch.classes.iter().map(|class| {
        format!("(k == CEMBRA_RAISED && cembra_is_class(run->error->message, {}))", quoted(class))
    });
    let all: Vec<String> = categories.chain(classes).collect();
    if all.is_empty() { "0".to_owned() } else { all.join(" || ") }
}
