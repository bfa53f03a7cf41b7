//! What became of each routine, for people: machine code by instruction of the program, or why cells run it.

use crate::jit::compiled::Compiler;
use crate::jit::error::{Interpreted, NotCompiled};
use crate::machine::BoundExpr;
use cranelift_codegen::CompiledCode;

/// How a routine is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineListing {
    /// Its number in the program.
    pub routine: usize,
    /// Its machine code, or why cells run it.
    pub code: Result<Vec<CodeLine>, Interpreted>,
}

/// An instruction of the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// Where it begins, in bytes from the first.
    pub offset: usize,
    /// Mnemonic and operands in Intel's notation; on processors other than x86-64 the bytes. Addresses that are known when
    /// the code is loaded are 0.
    pub text: String,
    /// The instruction of the program that it belongs to; `None` for what begins and ends the routine.
    pub instruction: Option<usize>,
}

/// Compiles a program as [`compile`](crate::jit::compile) does, and shows the code instead of having it run.
///
/// # Errors
/// Why the whole program stays on the interpreter.
pub fn listing(bound: &BoundExpr) -> Result<Vec<RoutineListing>, NotCompiled> {
    let mut routines = Vec::new();
    Compiler::new(bound)?.routines(&mut |routine, code| {
        routines.push(RoutineListing { routine, code: code.map(lines) });
    })?;
    routines.sort_by_key(|listing| listing.routine);
    Ok(routines)
}

fn lines(code: &CompiledCode) -> Vec<CodeLine> {
    let places = code.buffer.get_srclocs_sorted();
    let instruction = |offset: usize| {
        let place =
            places.iter().rev().find(|place| (place.start as usize..place.end as usize).contains(&offset))?;
        (!place.loc.is_default()).then(|| place.loc.bits() as usize)
    };
    let line = |(offset, text)| CodeLine { offset, text, instruction: instruction(offset) };
    // Constants stand behind the code.
    let end = places.iter().map(|place| place.end as usize).max().unwrap_or_default();
    decode(&code.buffer.data()[..end]).into_iter().map(line).collect()
}

#[cfg(target_arch = "x86_64")]
fn decode(bytes: &[u8]) -> Vec<(usize, String)> {
    let decoded = crate::strip::x86::listing::decode(bytes, 0);
    decoded.into_iter().map(|(instruction, text)| (instruction.ip() as usize, text)).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn decode(bytes: &[u8]) -> Vec<(usize, String)> {
    let word = |(number, bytes): (usize, &[u8])| {
        (number * 4, bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "))
    };
    bytes.chunks(4).enumerate().map(word).collect()
}
