//! The instructions of a strip, decoded: what it may touch, where it may jump, how it ends.

use cembra_vm::strip::{Code, CodeReport, List, Sink};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

/// Registers with pointers of columns.
const BASES: [Register; 8] = [
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::RBX,
    Register::R12,
    Register::R13,
    Register::R15,
];

/// Checks the code of the strip of a list.
pub fn check(list: &List, code: &Code, what: &str) {
    let (bytes, entry) = code.bytes();
    let mut decoder = Decoder::with_ip(64, &bytes[entry..], entry as u64, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.iter().collect();
    let report = code.report();
    assert_eq!(instructions.len(), report.instructions, "{what}: instructions");
    assert_eq!(bytes.len(), report.bytes, "{what}: bytes");
    let [.., before, last] = &instructions[..] else { panic!("{what}: too short") };
    assert_eq!(
        (before.mnemonic(), last.mnemonic()),
        (Mnemonic::Vzeroupper, Mnemonic::Ret),
        "{what}: the end"
    );
    let frame: u64 =
        instructions.iter().filter(|i| is_of_stack(i, Mnemonic::Sub)).map(|i| i.immediate(1)).sum();
    let mut factory = InstructionInfoFactory::new();
    let (mut loops, mut outer, mut runs) = (0, 0, 0);
    for (number, instruction) in instructions.iter().enumerate() {
        let fail =
            |why: &str| -> ! { panic!("{what}: {why}: {:?} {:?}", instruction.mnemonic(), instruction) };
        match instruction.flow_control() {
            FlowControl::Next => {}
            FlowControl::Return if number + 1 == instructions.len() => {}
            FlowControl::ConditionalBranch => {
                let target = instruction.near_branch_target();
                if !instructions.iter().any(|i| i.ip() == target) {
                    fail("jumps between instructions");
                }
                if target <= instruction.ip() {
                    loops += 1;
                    // The counter is compared right before, and moves in the loop.
                    let compared = &instructions[number - 1];
                    if is_of_runs(&instructions[number - 2], compared) {
                        runs += 1;
                        continue;
                    }
                    let counter = compared.op0_register();
                    let moves = |i: &Instruction| {
                        matches!(i.mnemonic(), Mnemonic::Add | Mnemonic::Inc | Mnemonic::Dec)
                            && i.op0_register() == counter
                    };
                    let body = instructions[..number].iter().filter(|i| i.ip() >= target);
                    // The loop over leaves ends with the rows, which other loops count.
                    let is_of_leaves = compared.memory_base() == Register::RSP && counter == Register::RSI;
                    outer += usize::from(is_of_leaves);
                    if is_of_leaves {
                        continue;
                    }
                    if compared.mnemonic() != Mnemonic::Cmp || body.filter(|i| moves(i)).count() != 1 {
                        fail("no counted loop");
                    }
                }
            }
            _ => fail("leaves the strip"),
        }
        let info = factory.info(instruction);
        for used in info.used_registers() {
            let is_written = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            if is_written && !may_write(used.register().full_register(), instruction.mnemonic()) {
                fail("writes a register that it must not");
            }
        }
        for operand in 0..instruction.op_count() {
            let is_memory = instruction.op_kind(operand) == OpKind::Memory;
            let before = &instructions[number.saturating_sub(1)];
            let is_known = may_access(instruction, report, entry as u64, frame)
                || is_of_positions(instruction, before, report);
            if is_memory && !is_known {
                fail("memory that it must not touch");
            }
        }
    }
    let most = if report.unroll > 1 { 2 } else { 1 } + usize::from(list.streamed().next().is_some());
    let bytes_in_turn = instructions.iter().filter(|i| i.memory_index() == Register::RDI).count();
    let rests_of_sums = instructions
        .iter()
        .filter(|i| i.memory_base() == Register::RSP && i.memory_index() != Register::None);
    assert_eq!(loops, most + bytes_in_turn + rests_of_sums.count() + outer + runs, "{what}: loops");
    let has_leaves = list.sinks().iter().any(|sink| matches!(sink, Sink::Sum(..)));
    let has_runs = !list.has_carries();
    let expected = (usize::from(has_leaves), usize::from(has_runs));
    assert_eq!((outer, runs), expected, "{what}: loops over leaves, and over runs");
}

/// True for what stands before the jump to the next run: the first row is fetched, and compared with the end.
fn is_of_runs(fetched: &Instruction, compared: &Instruction) -> bool {
    fetched.mnemonic() == Mnemonic::Mov
        && fetched.op0_register() == Register::RSI
        && fetched.memory_base() == Register::RBP
        && compared.mnemonic() == Mnemonic::Cmp
        && (compared.op0_register(), compared.op1_register()) == (Register::RSI, Register::RDX)
}

fn is_of_stack(instruction: &Instruction, mnemonic: Mnemonic) -> bool {
    instruction.mnemonic() == mnemonic && instruction.op0_register() == Register::RSP
}

fn may_write(register: Register, mnemonic: Mnemonic) -> bool {
    match register {
        // To the constants of the next run.
        Register::RCX => mnemonic == Mnemonic::Add,
        // With `mov`, to the next leaf of rows.
        Register::RSI => matches!(mnemonic, Mnemonic::Add | Mnemonic::Mov),
        Register::RDX => matches!(mnemonic, Mnemonic::Add | Mnemonic::Sub | Mnemonic::Mov),
        // Saved around the loops over bytes.
        Register::RDI => {
            matches!(mnemonic, Mnemonic::Mov | Mnemonic::Inc | Mnemonic::Dec | Mnemonic::Pop)
        }
        Register::RSP => {
            use Mnemonic::{And, Lea, Pop, Push, Ret, Sub};
            matches!(mnemonic, Push | Pop | Sub | And | Lea | Ret)
        }
        Register::RBP => matches!(mnemonic, Mnemonic::Mov | Mnemonic::Pop),
        _ => true,
    }
}

/// True for what takes a cell, or the position before it.
fn is_of_positions(instruction: &Instruction, before: &Instruction, report: &CodeReport) -> bool {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    let is_position =
        |of: &Instruction| of.mnemonic() == Mnemonic::Mov && of.op0_register() == Register::R14D;
    let reloads = before.memory_base() == Register::RDI && before.op0_register() == Register::R13;
    let (scale, size) = (instruction.memory_index_scale() as usize, instruction.memory_size().size());
    match (base, index) {
        // The row of the rest, or the first one.
        (Register::RSI, Register::None) => {
            instruction.mnemonic() == Mnemonic::Lea
                && instruction.memory_displacement64() < report.group as u64
        }
        (base, Register::R14) if BASES.contains(&base) && is_position(instruction) => {
            before.mnemonic() == Mnemonic::Cmovae && (scale, size) == (4, 4)
        }
        (base, Register::R14) if BASES.contains(&base) => {
            (is_position(before) || reloads) && scale == size && matches!(size, 4 | 8)
        }
        _ => false,
    }
}

fn may_access(instruction: &Instruction, report: &CodeReport, entry: u64, frame: u64) -> bool {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    let scale = instruction.memory_index_scale() as u64;
    let displacement = instruction.memory_displacement64();
    let size = instruction.memory_size().size() as u64;
    let rows = (report.unroll * report.group) as u64;
    let is_prefetch = matches!(instruction.mnemonic(), Mnemonic::Prefetcht0 | Mnemonic::Prefetchw);
    match (base, index) {
        // Nothing comes of it, or no more than an address.
        (base, Register::RSI) if BASES.contains(&base) && is_prefetch => true,
        (base, Register::R14) if BASES.contains(&base) && instruction.mnemonic() == Mnemonic::Lea => true,
        (base, Register::RSI) if BASES.contains(&base) => {
            // A mask leaves bytes beyond the group alone.
            let is_masked = instruction.op_mask() == Register::K7 && displacement == 0;
            displacement + size <= rows * scale || is_masked
        }
        (base, Register::RDI) if BASES.contains(&base) => scale == 1 && size == 1 && displacement == 0,
        (base, Register::R15) if BASES.contains(&base) => displacement + size <= rows / 8 && scale == 1,
        // Masks of the rest of rows, among the literals.
        (Register::R13, Register::R14) if scale != size => displacement + size <= 64,
        // Ends of leaves and, behind lanes, their parts; lanes; rows of the rest of a leaf.
        (Register::R13, Register::R14) if matches!(displacement, 0 | 64) => size == scale,
        (Register::R13, Register::None) => displacement + size <= 256,
        (Register::RSP, Register::R13) => size == scale && displacement + 64 <= frame,
        (Register::RCX, Register::None) => displacement.is_multiple_of(8) && size <= 8,
        (Register::RDI, Register::None) => displacement.is_multiple_of(8) && size == 8,
        (Register::RIP, Register::None) => displacement + size <= entry,
        (Register::RSP, Register::None) => displacement + size <= frame,
        // What is kept of the call, behind at most five registers of the caller.
        (Register::RBP, Register::None) => {
            instruction.mnemonic() == Mnemonic::Lea || size == 8 && (-72..0).contains(&(displacement as i64))
        }
        // Steps from one run to the next.
        (Register::R14, Register::None) => {
            let reads = matches!(instruction.mnemonic(), Mnemonic::Add | Mnemonic::Mov);
            reads && instruction.op0_kind() == OpKind::Register && displacement.is_multiple_of(8) && size == 8
        }
        _ => false,
    }
}
