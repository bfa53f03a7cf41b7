//! Routines as functions of Rust: a loop over blocks, because there is no jump.
//!
//! ```text
//! fn r0(run: &mut CembraError, depth: i32, p0_0: i64) -> Result<(f64,), i32> {
//!     let mut v0: i64 = p0_0; …                 locals, literals, parameters
//!     let mut at = 0u32;
//!     loop { match at {
//!         0 => { v5 = …; at = 7; continue; }     a block; the instruction that it goes on with
//!         …
//!         _ => break,                            behind the last instruction
//!     } }
//!     Ok((v5,))
//! }
//! ```

use crate::native::c::constants::category_name;
use crate::native::c::locals::{CType, Locals, leaves};
use crate::native::error::NotTranslated;
use crate::native::operation::Operation;
use crate::native::rust::syntax::{bits, constants_of, type_name, zero};
use crate::native::stage::{Language, Rust, is_plain};
use cembra_vm::program::{Instruction, Program, Routine, ValueId, dump};
use cembra_vm::value::{QType, ScalarValue, Value};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bytes of stack that a call is taken to need: calls as deep as they may be take 1 MiB.
const BYTES_OF_A_CALL: usize = 1048;
/// Operands that an error keeps.
const OPERANDS_OF_AN_ERROR: usize = 4;

/// Writes the function of a routine.
pub(super) struct Routines<'p> {
    number: usize,
    pub(super) routine: &'p Routine,
    pub(super) locals: Locals<'p>,
    /// Literals of one scalar.
    pub(super) literals: HashMap<ValueId, ScalarValue>,
    is_explained: bool,
}

/// The function of a routine; one that `is_explained` has the instructions as comments.
///
/// # Errors
/// Something has no form in Rust.
pub(super) fn function(
    number: usize,
    program: &Program,
    is_explained: bool,
) -> Result<String, NotTranslated> {
    let routine = &program.routines()[number];
    if routine.parallel.is_some() {
        return Err(NotTranslated::Parallel { language: Rust::NAME, routine: number });
    }
    let scalars = routine.literals.iter().filter_map(|(value, literal)| match literal {
        Value::Scalar(scalar) => Some((*value, scalar.clone())),
        _ => None,
    });
    Routines { number, routine, locals: Locals::new(routine), literals: scalars.collect(), is_explained }
        .function()
}

/// The types of all results, in order.
pub(super) fn results(routine: &Routine) -> Result<Vec<CType>, NotTranslated> {
    let mut found = Vec::new();
    for (position, value) in routine.results().enumerate() {
        let leaves = plain(routine.slot(value).qtype(), || format!("result {position}"))?;
        found.extend(leaves);
    }
    Ok(found)
}

/// The types of the scalars of a value that crosses between routines.
pub(super) fn plain(qtype: &QType, what: impl FnOnce() -> String) -> Result<Vec<CType>, NotTranslated> {
    let found = leaves(qtype).filter(|_| is_plain(qtype));
    let found = found.ok_or_else(|| NotTranslated::Type { what: what(), qtype: qtype.to_string() })?;
    Ok(found.into_iter().map(|leaf| leaf.ctype).collect())
}

impl Routines<'_> {
    fn function(self) -> Result<String, NotTranslated> {
        let results: String =
            results(self.routine)?.into_iter().map(|ctype| format!("{}, ", type_name(ctype))).collect();
        let (mut parameters, mut taken) = (String::new(), String::new());
        for (position, (name, value)) in self.routine.inputs.iter().enumerate() {
            plain(self.routine.slot(*value).qtype(), || format!("argument {name}"))?;
            for (number, (local, ctype)) in self.locals.all(*value).into_iter().enumerate() {
                let _ = write!(parameters, ", p{position}_{number}: {}", type_name(ctype));
                let _ = writeln!(taken, "    {local} = p{position}_{number};");
            }
        }
        let number = self.number;
        let mut text = format!(
            "fn r{number}(run: &mut CembraError, depth: i32{parameters}) -> Result<({results}), i32> {{\n"
        );
        let bytes = self.declare(&mut text)?;
        text += &taken;
        let _ = write!(
            text,
            "    let depth = depth + {};\n    if depth > CEMBRA_DEPTH {{\n        return Err(cembra_raise(run, CEMBRA_LIMIT, {number}, 0, 0, \
             Some(&b\"calls are nested too deeply\\0\"[..]), [0; 4]));\n    }}\n    let mut at = 0u32;\n    loop {{ match at {{\n",
            bytes.div_ceil(BYTES_OF_A_CALL)
        );
        self.blocks(&mut text)?;
        let values = self.routine.results().flat_map(|value| self.locals.all(value));
        let values: String = values.map(|(local, _)| format!("{local}, ")).collect();
        let _ = write!(text, "    _ => break,\n    }} }}\n    Ok(({values}))\n}}\n");
        Ok(text)
    }

    /// Declares the locals; gives the bytes of stack that they take at most.
    fn declare(&self, text: &mut String) -> Result<usize, NotTranslated> {
        let literals: HashMap<ValueId, &Value> =
            self.routine.literals.iter().map(|(value, literal)| (*value, literal)).collect();
        let mut bytes = 256;
        for (value, info) in (0..).map(ValueId).zip(&self.routine.values) {
            if self.locals.owner(value) != value {
                continue;
            }
            if leaves(info.slot.qtype()).is_none() {
                let (routine, qtype) = (self.number, info.slot.qtype().to_string());
                return Err(NotTranslated::Value { language: Rust::NAME, routine, value, qtype });
            }
            let mut constants = Vec::new();
            literals.get(&value).into_iter().for_each(|literal| constants_of(literal, &mut constants));
            for (position, (local, ctype)) in self.locals.all(value).into_iter().enumerate() {
                let constant = constants.get(position).cloned().unwrap_or_else(|| zero(ctype));
                let _ = writeln!(text, "    let mut {local}: {} = {constant};", type_name(ctype));
                bytes += 8;
            }
        }
        let kept = self.routine.body.catches().iter().filter_map(|catch| catch.keep).max();
        for number in 0..kept.map_or(0, |most| most + 1) {
            let _ = writeln!(text, "    let mut kept{number} = NO_ERROR;");
            bytes += 64;
        }
        Ok(bytes)
    }

    /// The blocks: each begins where a jump leads, or behind one.
    fn blocks(&self, text: &mut String) -> Result<(), NotTranslated> {
        let body = &self.routine.body;
        let instructions = body.instructions();
        let mut firsts: BTreeSet<usize> = [0].into();
        for (ip, instruction) in instructions.iter().enumerate() {
            firsts.extend(body.target(ip));
            let is_jump = matches!(
                instruction,
                Instruction::Jump { .. } | Instruction::JumpIf { .. } | Instruction::JumpIfNot { .. }
            );
            firsts.extend(is_jump.then_some(ip + 1));
        }
        let firsts: Vec<usize> = firsts.into_iter().filter(|first| *first < instructions.len()).collect();
        for (number, first) in firsts.iter().enumerate() {
            let end = firsts.get(number + 1).copied().unwrap_or(instructions.len());
            let _ = writeln!(text, "    {first} => {{");
            for ip in *first..end {
                if self.is_explained {
                    let comment = format!("{ip}: {}", dump::instruction(self.routine, ip));
                    let _ = writeln!(text, "        {}", Rust::comment(&comment));
                }
                let _ = writeln!(text, "        {}", self.instruction(ip)?);
            }
            let _ = writeln!(text, "        at = {end}; continue;\n    }}");
        }
        Ok(())
    }

    fn instruction(&self, ip: usize) -> Result<String, NotTranslated> {
        let body = &self.routine.body;
        let jump = || format!("at = {}; continue;", body.target(ip).unwrap_or_default());
        Ok(match body.instructions()[ip] {
            Instruction::Jump { .. } => jump(),
            Instruction::JumpIf { condition, .. } => {
                format!("if {} != 0 {{ {} }}", self.locals.only(condition), jump())
            }
            Instruction::JumpIfNot { condition, .. } => {
                format!("if {} == 0 {{ {} }}", self.locals.only(condition), jump())
            }
            Instruction::Guard { .. } => String::new(),
            Instruction::Trap { trap } => {
                let trap = &body.traps()[trap as usize];
                let (category, message) = (category_name(trap.category), bytes(&trap.message));
                format!("{{ let mut k = {category}; {} }}", self.raise(ip, Some(&message), &[]))
            }
            Instruction::Again { number } => {
                format!("{{ let k = kept{number}.category; *run = kept{number}; {} }}", self.leave(ip))
            }
            Instruction::Call { routine, operands, results } => {
                let args = body.list(operands).iter().flat_map(|value| self.locals.all(*value));
                let args: String = args.map(|(local, _)| format!(", {local}")).collect();
                let to = body.list(results).iter().flat_map(|value| self.locals.all(*value));
                let to: Vec<String> = to.map(|(local, _)| local).collect();
                let names: String = (0..to.len()).map(|number| format!("z{number}, ")).collect();
                let moved: String =
                    to.iter().enumerate().map(|(number, local)| format!("{local} = z{number}; ")).collect();
                format!(
                    "match r{routine}(run, depth{args}) {{ Ok(({names})) => {{ {moved}}} Err(k) => {{ {} }} }}",
                    self.leave(ip)
                )
            }
            Instruction::Operator { operator, operands, result } => {
                let overload = &body.operators()[operator as usize];
                self.operator(Operation { ip, overload, operands: body.list(operands), result }).ok_or_else(
                    || NotTranslated::Operator {
                        language: Rust::NAME,
                        routine: self.number,
                        instruction: ip,
                        operator: overload.to_string(),
                    },
                )?
            }
        })
    }

    /// What happens where an instruction has raised `k`.
    pub(super) fn raise(&self, ip: usize, message: Option<&str>, operands: &[(String, CType)]) -> String {
        let operands = operands.iter().take(OPERANDS_OF_AN_ERROR).map(|(local, ctype)| bits(*ctype, local));
        let operands: Vec<String> =
            operands.chain(std::iter::repeat("0".to_owned())).take(OPERANDS_OF_AN_ERROR).collect();
        let message = message.map_or("None".to_owned(), |message| format!("Some(&{message}[..])"));
        format!(
            "k = cembra_raise(run, k, {}, {ip}, 0, {message}, [{}]); {}",
            self.number,
            operands.join(", "),
            self.leave(ip)
        )
    }

    /// Goes to the guard that takes what was raised as `k`, or out.
    fn leave(&self, ip: usize) -> String {
        let body = &self.routine.body;
        let mut text = String::new();
        for guard in body.guards(ip) {
            let Instruction::Guard { catch, .. } = body.instructions()[guard] else { continue };
            let catch = &body.catches()[catch as usize];
            let categories =
                catch.categories.iter().map(|category| format!("k == {}", category_name(*category)));
            let classes = catch.classes.iter().map(|class| {
                format!("(k == CEMBRA_RAISED && cembra_is_class(run.message, {}))", name_bytes(class))
            });
            let taken: Vec<String> = categories.chain(classes).collect();
            let taken = if taken.is_empty() { "false".to_owned() } else { taken.join(" || ") };
            let keep = catch.keep.map_or(String::new(), |number| format!("kept{number} = *run; "));
            let target = body.target(guard).unwrap_or_default();
            let _ = write!(text, "if {taken} {{ {keep}at = {target}; continue; }} ");
        }
        text + "return Err(k);"
    }
}

/// A string of bytes that ends with 0.
fn bytes(text: &str) -> String {
    let escaped: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("b\"{escaped}\\0\"")
}

fn name_bytes(text: &str) -> String {
    let escaped: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("b\"{escaped}\"")
}
