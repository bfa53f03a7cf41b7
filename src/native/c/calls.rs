//! Functions of routines: what they take and return, and calls of them.

use crate::native::c::locals::{CType, Leaf, leaves};
use crate::native::c::writer::Writer;
use crate::native::error::NotTranslated;
use crate::native::stage::is_plain;
use cembra_vm::program::{Routine, ValueId};
use cembra_vm::value::QType;
use std::fmt::Write;

/// The parameters of a routine's function, in C.
pub(super) fn parameters(number: usize, routine: &Routine) -> Result<String, NotTranslated> {
    let mut text = format!("static {} r{number}(cembra_run *run, int32_t depth", returns(routine)?);
    for (position, (name, value)) in routine.inputs.iter().enumerate() {
        let qtype = routine.slot(*value).qtype();
        if qtype.nd().is_some() {
            let _ = write!(text, ", const cembra_array *p{position}");
            continue;
        }
        for leaf in plain_leaves(qtype, || format!("argument {name}"))? {
            let _ = write!(text, ", {} p{position}_{}", leaf.ctype.name(), leaf.at);
        }
    }
    for (position, leaf) in results(routine)? {
        let _ = write!(text, ", {} *q{position}_{}", leaf.ctype.name(), leaf.at);
    }
    text.push(')');
    Ok(text)
}

/// The leaves of all results that go through pointers, with the number of their result.
pub(super) fn results(routine: &Routine) -> Result<Vec<(usize, Leaf)>, NotTranslated> {
    let mut all = Vec::new();
    for (position, value) in routine.results().enumerate() {
        let leaves = plain_leaves(routine.slot(value).qtype(), || format!("result {position}"))?;
        all.extend(leaves.into_iter().map(|leaf| (position, leaf)));
    }
    if all.len() == 1 {
        all.clear();
    }
    Ok(all)
}

/// The type that the function of a routine returns: a status, and the result if that is a single number.
pub(super) fn returns(routine: &Routine) -> Result<&'static str, NotTranslated> {
    let mut ctypes = Vec::new();
    for (position, value) in routine.results().enumerate() {
        let leaves = plain_leaves(routine.slot(value).qtype(), || format!("result {position}"))?;
        ctypes.extend(leaves.iter().map(|leaf| leaf.ctype));
    }
    Ok(match ctypes[..] {
        [CType::U8] => "cembra_u8",
        [CType::I32] => "cembra_i32",
        [CType::I64] => "cembra_i64",
        [CType::F32] => "cembra_f32",
        [CType::F64] => "cembra_f64",
        _ => "cembra_status",
    })
}

fn plain_leaves(qtype: &QType, what: impl FnOnce() -> String) -> Result<Vec<Leaf>, NotTranslated> {
    let found = leaves(qtype).filter(|_| is_plain(qtype));
    found.ok_or_else(|| NotTranslated::Type { what: what(), qtype: qtype.to_string() })
}

impl Writer<'_> {
    /// Calls a routine.
    pub(super) fn call(&self, ip: usize, callee: usize, operands: &[ValueId], results: &[ValueId]) -> String {
        let (mut text, mut args) = (String::from("{ "), String::from("run, depth"));
        for (position, operand) in operands.iter().enumerate() {
            match self.locals.array(*operand) {
                Some(array) => {
                    let (value, rank) = (self.locals.owner(*operand), array.rank());
                    let list = |what: &str| {
                        let all: Vec<String> =
                            (0..rank).map(|axis| format!("{value}_{what}{axis}")).collect();
                        all.join(", ")
                    };
                    let _ = write!(
                        text,
                        "cembra_array a{position} = {{ {value}, {{ {} }}, {{ {} }} }}; ",
                        list("n"),
                        list("s")
                    );
                    let _ = write!(args, ", &a{position}");
                }
                None => self.locals.all(*operand).iter().for_each(|(local, _)| args += &format!(", {local}")),
            }
        }
        let leaves: Vec<(usize, String, CType)> = results
            .iter()
            .enumerate()
            .flat_map(|(position, result)| {
                self.locals.all(*result).into_iter().map(move |(l, c)| (position, l, c))
            })
            .collect();
        let mut moved = String::new();
        match &leaves[..] {
            [(_, local, _)] => moved = format!(" {local} = z.value;"),
            leaves => {
                for (number, (_, local, ctype)) in leaves.iter().enumerate() {
                    let _ = write!(text, "{} z{number} = 0; ", ctype.name());
                    let _ = write!(args, ", &z{number}");
                    let _ = write!(moved, " {local} = z{number};");
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
}
