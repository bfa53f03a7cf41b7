//! Machine instructions, for people.

use crate::strip::options::{Code, Line, Operand};
use iced_x86::{Decoder, DecoderOptions, FastFormatter, Instruction, OpKind, Register};

/// The instructions of a code, in order.
pub fn lines(code: &Code) -> Vec<Line> {
    let (bytes, entry) = code.bytes();
    let line = |(instruction, text): (Instruction, String)| Line {
        offset: instruction.ip() as usize,
        operand: operand(&instruction),
        text,
    };
    decode(&bytes[entry..], entry).into_iter().map(line).collect()
}

/// Instructions that begin at an offset, with mnemonic and operands in Intel's notation.
pub(crate) fn decode(bytes: &[u8], offset: usize) -> Vec<(Instruction, String)> {
    let decoder = Decoder::with_ip(64, bytes, offset as u64, DecoderOptions::NONE);
    let mut formatter = FastFormatter::new();
    formatter.options_mut().set_use_hex_prefix(true);
    formatter.options_mut().set_space_after_operand_separator(true);
    let text = |instruction: Instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        (instruction, text)
    };
    decoder.into_iter().map(text).collect()
}

/// What an instruction finds by the arguments of the call.
fn operand(instruction: &Instruction) -> Option<Operand> {
    let reads_memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    let number = (instruction.memory_displacement64() / size_of::<usize>() as u64) as u16;
    match instruction.memory_base() {
        Register::RDI if reads_memory => Some(Operand::Column(number)),
        Register::RCX if reads_memory => Some(Operand::Scalar(number)),
        _ => None,
    }
}
