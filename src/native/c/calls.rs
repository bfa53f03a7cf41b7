//! Functions of routines: what they take and return, and calls of them.

use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, Leaf, leaves};
use crate::native::c::writer::Writer;
use crate::native::error::NotTranslated;
use crate::native::stage::is_plain;
use cembra_vm::library::BoundaryArray;
use cembra_vm::program::{Instruction, Program, Routine, ValueId};
use cembra_vm::value::QType;
use std::fmt::Write;

/// The routines that a routine calls, once for each call.
pub(super) fn called(routine: &Routine) -> impl Iterator<Item = usize> + '_ {
    routine.body.instructions().iter().filter_map(|instruction| match instruction {
        Instruction::Call { routine, .. } => Some(*routine as usize),
        _ => None,
    })
}

/// True if a routine calls itself, over others too.
pub(super) fn is_recursive(program: &Program, number: usize) -> bool {
    let mut known = vec![false; program.routines().len()];
    let mut work: Vec<usize> = called(&program.routines()[number]).collect();
    while let Some(callee) = work.pop() {
        if callee == number {
            return true;
        }
        if !std::mem::replace(&mut known[callee], true) {
            work.extend(called(&program.routines()[callee]));
        }
    }
    false
}

/// The parameters of a routine's function, in C.
pub(in crate::native) fn parameters(number: usize, routine: &Routine) -> Result<String, NotTranslated> {
    let mut text = format!("static {} r{number}(cembra_run *run, int32_t depth", returns(routine)?);
    for (position, (name, value)) in routine.inputs.iter().enumerate() {
        let qtype = routine.slot(*value).qtype();
        if BoundaryArray::of(qtype).is_some() {
            let _ = write!(text, ", const cembra_array *p{position}");
            continue;
        }
        if qtype.is_edge() {
            let _ = write!(text, ", const cembra_grouping *p{position}");
            continue;
        }
        for leaf in plain_leaves(qtype, || format!("argument {name}"))? {
            let _ = write!(text, ", {} p{position}_{}", leaf.ctype.name(), leaf.at);
        }
    }
    for (position, result) in results(routine)? {
        match result {
            Through::Leaf(leaf) => drop(write!(text, ", {} *q{position}_{}", leaf.ctype.name(), leaf.at)),
            Through::Array(_) => drop(write!(text, ", cembra_array *q{position}")),
            Through::Edge => drop(write!(text, ", cembra_edge *q{position}")),
        }
    }
    text.push(')');
    Ok(text)
}

/// What a function gives through a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Through {
    /// A plain scalar of a result.
    Leaf(Leaf),
    /// An array, whose memory becomes that of the caller.
    Array(BoundaryArray),
    /// An edge, whose numbers become those of the caller.
    Edge,
}

/// The parts of all results, with the numbers of their results.
fn parts(routine: &Routine) -> Result<Vec<(usize, Through)>, NotTranslated> {
    let mut all = Vec::new();
    for (position, value) in routine.results().enumerate() {
        let qtype = routine.slot(value).qtype();
        match BoundaryArray::of(qtype) {
            Some(array) => all.push((position, Through::Array(array))),
            None if qtype.is_edge() => all.push((position, Through::Edge)),
            None => {
                let leaves = plain_leaves(qtype, || format!("result {position}"))?;
                all.extend(leaves.into_iter().map(|leaf| (position, Through::Leaf(leaf))));
            }
        }
    }
    Ok(all)
}

/// The parts of all results that go through pointers: all, unless there is a single number.
pub(in crate::native) fn results(routine: &Routine) -> Result<Vec<(usize, Through)>, NotTranslated> {
    let all = parts(routine)?;
    Ok(if let [(_, Through::Leaf(_))] = all[..] { Vec::new() } else { all })
}

/// The type that the function of a routine returns: a status, and the result if that is a single number.
pub(in crate::native) fn returns(routine: &Routine) -> Result<&'static str, NotTranslated> {
    let [(_, Through::Leaf(leaf))] = parts(routine)?[..] else { return Ok("cembra_status") };
    Ok(match leaf.ctype {
        CType::U8 => "cembra_u8",
        CType::I32 => "cembra_i32",
        CType::I64 => "cembra_i64",
        CType::F32 => "cembra_f32",
        CType::F64 => "cembra_f64",
    })
}

fn plain_leaves(qtype: &QType, what: impl FnOnce() -> String) -> Result<Vec<Leaf>, NotTranslated> {
    let found = leaves(qtype).filter(|_| is_plain(qtype));
    found.ok_or_else(|| NotTranslated::Type { what: what(), qtype: qtype.to_string() })
}

impl Writer<'_> {
    /// Calls a routine.
    pub(in crate::native) fn call(
        &self,
        ip: usize,
        callee: usize,
        operands: &[ValueId],
        results: &[ValueId],
    ) -> String {
        let (mut text, mut args) = (String::from("{ "), String::from("run, depth"));
        for (position, operand) in operands.iter().enumerate() {
            match self.locals.array(*operand) {
                Some(_) => {
                    let _ = write!(text, "cembra_array a{position} = {}; ", self.descriptor(*operand));
                    let _ = write!(args, ", &a{position}");
                }
                None if self.routine.slot(*operand).qtype().is_edge() => {
                    let edge = self.locals.owner(*operand);
                    let found = self.without_memory(ip, &format!("find_groups(&{edge})"), "");
                    let _ = write!(text, "{{ {found} }} ");
                    let _ = write!(args, ", &{edge}");
                }
                None => self.locals.all(*operand).iter().for_each(|(local, _)| args += &format!(", {local}")),
            }
        }
        let mut moved = String::new();
        let is_number = |value: &ValueId| self.locals.all(*value).len() == 1;
        match results {
            [only] if is_number(only) => moved = format!(" {} = z.value;", self.locals.only(*only)),
            results => {
                for (position, result) in results.iter().enumerate() {
                    if self.locals.array(*result).is_some() {
                        let _ = write!(text, "cembra_array t{position} = {{ 0 }}; ");
                        let _ = write!(args, ", &t{position}");
                        let _ = write!(moved, " {}", self.taken(*result, &format!("t{position}")));
                    }
                    if self.routine.slot(*result).qtype().is_edge() {
                        let _ = write!(text, "cembra_edge t{position} = {{ 0 }}; ");
                        let _ = write!(args, ", &t{position}");
                        let take = format!("take_edge(&t{position}, &{})", self.locals.owner(*result));
                        let free = format!("free(t{position}.numbers.data); ");
                        let _ = write!(moved, " {{ {} }}", self.without_memory(ip, &take, &free));
                    }
                    for (number, (local, ctype)) in self.locals.all(*result).into_iter().enumerate() {
                        let _ = write!(text, "{} z{position}_{number} = 0; ", ctype.name());
                        let _ = write!(args, ", &z{position}_{number}");
                        let _ = write!(moved, " {local} = z{position}_{number};");
                    }
                }
            }
        }
        let returns = returns(&self.program.routines()[callee]).unwrap_or("cembra_status");
        let _ = write!(
            text,
            "{returns} z = r{callee}({args}); if (CEMBRA_RARE(z.status)) {{ int32_t k = z.status; {} }}{moved} }}",
            self.leave(ip)
        );
        debug_assert!(callee < self.program.routines().len());
        text
    }

    /// Statements that take memory, and what follows them in any case; they raise without memory.
    fn without_memory(&self, ip: usize, take: &str, then: &str) -> String {
        let raise = self.raise(ip, &quoted("there is no memory for the edge"), &[]);
        format!("int32_t k = {take}; {then}if (CEMBRA_RARE(k)) {{ {raise} }}")
    }
}
