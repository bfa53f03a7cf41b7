//! Assembler: steps of an allocation to bytes.
//!
//! ```text
//! rdi columns   rsi row   rdx end   rcx constants   r8 runs   r9 steps      arguments, sysv64; the last two go to the stack
//! r8 r9 r10 r11 rbx r12 r15   pointers of columns; of others, loaded to r13 where they are wanted
//! r14 scratch, positions of cells that are taken   r15 row / 8, if there is presence   rax result   rbp stack of the caller
//! ```
//!
//! Rows are numbers, not moved pointers: one register counts, and every column is addressed by it.

use crate::strip::x86::allocate::{AllocatedStep, Allocation, OperandPlace};
use crate::strip::x86::group_shape::GroupShape;
use crate::strip::x86::inst::{Address, Arg, Bank, Home, Inst, Kind, LoopBody, MAX_ARGS, View, WriteMask};
use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, OpKind, Register};

/// Registers for pointers of columns.
const BASES: [Register; 7] =
    [Register::R8, Register::R9, Register::R10, Register::R11, Register::RBX, Register::R12, Register::R15];

/// Registers that hold pointers of columns; the last one has something else to hold if there is presence.
pub fn bases(has_presence: bool) -> &'static [Register] {
    if has_presence { &BASES[..6] } else { &BASES }
}

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Bytes between the rows of an iteration and those that it prefetches.
const AHEAD: usize = 1024;

/// A body with its places.
pub struct Allocated<'b> {
    pub body: &'b LoopBody,
    pub allocation: &'b Allocation,
}

/// Instructions on the way to bytes.
pub struct Assembler<'f> {
    pub target: GroupShape,
    /// Columns, the most wanted first.
    columns: &'f [u16],
    /// Registers with the pointers of the first ones.
    bases: &'static [Register],
    /// Columns that are stored past the caches for now.
    streamed: &'f [(u16, usize)],
    encoder: Encoder,
    /// Bytes before the code.
    start: u64,
    position: u64,
    /// Where slots begin in the stack frame.
    slots: u32,
    /// Instructions so far.
    instructions: usize,
    /// Where jumps forward end, and how far they go.
    jumps: Vec<(usize, u32)>,
}

/// Where a jump forward is to be filled in.
pub struct Forward(usize);

impl<'f> Assembler<'f> {
    /// Instructions that begin at an offset, with slots that begin at another one of the stack frame, and registers with pointers of
    /// some columns.
    pub fn new(
        target: GroupShape,
        (columns, bases): (&'f [u16], &'static [Register]),
        start: u64,
        slots: u32,
    ) -> Assembler<'f> {
        let (encoder, jumps) = (Encoder::new(64), Vec::new());
        Assembler {
            target,
            columns,
            bases,
            streamed: &[],
            encoder,
            start,
            position: start,
            slots,
            instructions: 0,
            jumps,
        }
    }

    /// The bytes, and how many instructions they are.
    pub fn finish(mut self) -> (Vec<u8>, usize) {
        let mut bytes = self.encoder.take_buffer();
        for (end, distance) in self.jumps {
            bytes[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        (bytes, self.instructions)
    }

    /// Has columns stored past the caches from now on, instead of those that were.
    pub fn stream(&mut self, columns: &'f [(u16, usize)]) {
        self.streamed = columns;
    }

    /// The steps of a body.
    pub fn body(&mut self, allocated: &Allocated<'_>) -> Result<(), IcedError> {
        let body = allocated.body;
        for step in &allocated.allocation.steps {
            match *step {
                AllocatedStep::Run { inst, places, mask } => {
                    self.inst(&body.insts[inst as usize], places, mask)?;
                }
                AllocatedStep::Load(v, register) => {
                    let home = body.virtuals[v.index()].home.expect("what is loaded has a home");
                    self.load(&home, register)?;
                }
                AllocatedStep::Save(v, register, slot) => {
                    let (view, _, store) = self.moves(body.virtuals[v.index()].view.bank());
                    let place = self.slot(slot);
                    self.put(Instruction::with2(store, place, view.register(register))?)?;
                }
                AllocatedStep::Restore(v, slot, register) => {
                    let (view, load, _) = self.moves(body.virtuals[v.index()].view.bank());
                    let place = self.slot(slot);
                    self.put(Instruction::with2(load, view.register(register), place)?)?;
                }
                AllocatedStep::Copy(v, from, to) => {
                    let (view, load, _) = self.moves(body.virtuals[v.index()].view.bank());
                    self.put(Instruction::with2(load, view.register(to), view.register(from))?)?;
                }
            }
        }
        Ok(())
    }

    /// How much of a register is moved, by which instructions.
    fn moves(&self, bank: Bank) -> (View, Code, Code) {
        match (bank, self.target.is_512) {
            (Bank::Mask, _) => (View::Mask, Code::VEX_Kmovw_kr_km16, Code::VEX_Kmovw_m16_kr),
            (Bank::Vector, true) => {
                (View::Zmm, Code::EVEX_Vmovups_zmm_k1z_zmmm512, Code::EVEX_Vmovups_zmmm512_k1z_zmm)
            }
            (Bank::Vector, false) => {
                (View::Ymm, Code::VEX_Vmovups_ymm_ymmm256, Code::VEX_Vmovups_ymmm256_ymm)
            }
        }
    }

    fn slot(&self, slot: u32) -> MemoryOperand {
        let offset = self.slots + slot * self.target.slot_bytes();
        self.at(Register::RSP, Register::None, 1, i64::from(offset))
    }

    /// A value from its home to a vector register.
    pub fn load(&mut self, home: &Home, register: u8) -> Result<(), IcedError> {
        let place = self.address(home.address)?;
        self.put(Instruction::with2(home.load, home.view.register(register), place)?)
    }

    fn inst(&mut self, inst: &Inst, places: [OperandPlace; MAX_ARGS], mask: u8) -> Result<(), IcedError> {
        let code = match inst.kind {
            Kind::Code(code) if self.is_streamed(inst) => past_caches(code),
            Kind::Code(code) => code,
            Kind::LoadRestBytes | Kind::StoreRestBytes => return self.rest_bytes(inst, places),
        };
        for arg in inst.args() {
            if let Arg::Memory(Address::Taken { positions, row, is_rest, .. }) = arg {
                self.position(positions, row, is_rest)?;
            }
        }
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        for (number, (arg, place)) in inst.args().zip(places).enumerate() {
            let number = number as u32;
            match (arg, place) {
                (Arg::General(register), _) => instruction.set_op_register(number, register),
                (Arg::Immediate(value), _) => {
                    instruction.set_op_kind(number, OpKind::Immediate8);
                    instruction.set_immediate8(value);
                }
                (Arg::Memory(address), _) => {
                    let place = self.address(address)?;
                    set_memory(&mut instruction, number, place, false);
                }
                (
                    Arg::Def(_, view)
                    | Arg::Change(_, _, view)
                    | Arg::Use(_, view)
                    | Arg::UseOrMemory(_, view, _),
                    OperandPlace::Register(register),
                ) => instruction.set_op_register(number, view.register(register)),
                (_, OperandPlace::Home(home)) => {
                    let place = self.address(home.address)?;
                    set_memory(&mut instruction, number, place, home.broadcast != 0);
                }
                (_, OperandPlace::Slot(slot)) => set_memory(&mut instruction, number, self.slot(slot), false),
                (arg, OperandPlace::Fixed) => unreachable!("{arg:?} has no place"),
            }
        }
        match inst.mask {
            Some(WriteMask::Rest | WriteMask::RestZero) => instruction.set_op_mask(Register::K7),
            Some(_) => instruction.set_op_mask(View::Mask.register(mask)),
            None => {}
        }
        instruction.set_zeroing_masking(inst.mask.is_some_and(WriteMask::is_zeroing));
        self.put(instruction)
    }

    /// True for what writes to a column that is stored past the caches.
    fn is_streamed(&self, inst: &Inst) -> bool {
        let Some(Arg::Memory(Address::Column { number, .. })) = inst.args().next() else { return false };
        self.streamed.iter().any(|(streamed, _)| *streamed == number)
    }

    /// The position that a row has, to r14.
    fn position(&mut self, positions: u16, row: u16, is_rest: bool) -> Result<(), IcedError> {
        let base = self.base(positions)?;
        let at = match (is_rest, row) {
            // There is a first row.
            (true, 1..) => {
                let row = self.at(Register::RSI, Register::None, 1, row.into());
                self.put(Instruction::with2(Code::Lea_r64_m, Register::R14, row)?)?;
                self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::R14, Register::RDX)?)?;
                self.put(Instruction::with2(Code::Cmovae_r64_rm64, Register::R14, Register::RSI)?)?;
                self.at(base, Register::R14, 4, 0)
            }
            _ => self.at(base, Register::RSI, 4, 4 * i64::from(row)),
        };
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::R14D, at)?)
    }

    /// Bytes of the rest of rows, one after the other.
    fn rest_bytes(&mut self, inst: &Inst, places: [OperandPlace; MAX_ARGS]) -> Result<(), IcedError> {
        let address = inst.args().find_map(|arg| match arg {
            Arg::Memory(Address::Column { number, .. }) => Some(number),
            _ => None,
        });
        let base = self.base(address.expect("bytes of a column"))?;
        let register = places.iter().find_map(|place| match place {
            OperandPlace::Register(register) => Some(View::Xmm.register(*register)),
            _ => None,
        });
        let vector = register.expect("the bytes stand in a register");
        let (bytes, row) = (Register::R14, Register::RDI);
        let cell = self.at(base, row, 1, 0);
        self.put(Instruction::with1(Code::Push_r64, row)?)?;
        if inst.kind == Kind::LoadRestBytes {
            self.put(Instruction::with2(Code::Xor_r32_rm32, Register::R14D, Register::R14D)?)?;
            self.put(Instruction::with2(Code::Mov_r64_rm64, row, Register::RDX)?)?;
            let top = self.position;
            self.put(Instruction::with1(Code::Dec_rm64, row)?)?;
            self.put(Instruction::with2(Code::Shl_rm64_imm8, bytes, 8)?)?;
            self.put(Instruction::with2(Code::Mov_r8_rm8, Register::R14L, cell)?)?;
            self.put(Instruction::with2(Code::Cmp_r64_rm64, row, Register::RSI)?)?;
            self.put(Instruction::with_branch(Code::Ja_rel32_64, top)?)?;
            self.put(Instruction::with2(Code::VEX_Vmovq_xmm_rm64, vector, bytes)?)?;
        } else {
            self.put(Instruction::with2(Code::VEX_Vmovq_rm64_xmm, bytes, vector)?)?;
            self.put(Instruction::with2(Code::Mov_r64_rm64, row, Register::RSI)?)?;
            let top = self.position;
            self.put(Instruction::with2(Code::Mov_rm8_r8, cell, Register::R14L)?)?;
            self.put(Instruction::with2(Code::Shr_rm64_imm8, bytes, 8)?)?;
            self.put(Instruction::with1(Code::Inc_rm64, row)?)?;
            self.put(Instruction::with2(Code::Cmp_r64_rm64, row, Register::RDX)?)?;
            self.put(Instruction::with_branch(Code::Jb_rel32_64, top)?)?;
        }
        self.put(Instruction::with1(Code::Pop_r64, row)?)
    }

    /// The pointer of a column in a register.
    pub fn base(&mut self, number: u16) -> Result<Register, IcedError> {
        let position = self.columns.iter().position(|column| *column == number);
        match position.and_then(|position| self.bases.get(position)) {
            Some(base) => Ok(*base),
            None => {
                self.load_base(Register::R13, number)?;
                Ok(Register::R13)
            }
        }
    }

    /// Asks for so many rows of a column, [`AHEAD`] bytes behind those of the iteration. They need not exist.
    pub fn prefetch(
        &mut self,
        number: u16,
        row_bytes: usize,
        rows: usize,
        is_written: bool,
    ) -> Result<(), IcedError> {
        let base = self.base(number)?;
        let code = if is_written { Code::Prefetchw_m8 } else { Code::Prefetcht0_m8 };
        for offset in (0..rows * row_bytes).step_by(LINE) {
            let place = self.at(base, Register::RSI, row_bytes as u32, (AHEAD + offset) as i64);
            self.put(Instruction::with1(code, place)?)?;
        }
        Ok(())
    }

    /// The pointer of a column to a register.
    pub fn load_base(&mut self, base: Register, number: u16) -> Result<(), IcedError> {
        let pointer = self.at(Register::RDI, Register::None, 1, 8 * i64::from(number));
        self.put(Instruction::with2(Code::Mov_r64_rm64, base, pointer)?)
    }

    fn address(&mut self, address: Address) -> Result<MemoryOperand, IcedError> {
        Ok(match address {
            Address::Column { number, row_bytes, offset } => {
                let base = self.base(number)?;
                self.at(base, Register::RSI, row_bytes.into(), offset.into())
            }
            Address::Taken { number, cell_bytes, .. } => {
                let base = self.base(number)?;
                self.at(base, Register::R14, cell_bytes.into(), 0)
            }
            Address::Presence { number, offset } => {
                let base = self.base(number)?;
                self.at(base, Register::R15, 1, offset.into())
            }
            Address::Scalar(number) => self.at(Register::RCX, Register::None, 1, 8 * i64::from(number)),
            Address::Pool(offset) => self.at(Register::RIP, Register::None, 1, offset.into()),
            Address::Stack(offset) => self.at(Register::RSP, Register::None, 1, offset.into()),
        })
    }

    /// An operand in memory.
    pub fn at(&self, base: Register, index: Register, scale: u32, displacement: i64) -> MemoryOperand {
        let size = u32::from(displacement != 0 || base == Register::RIP);
        MemoryOperand::new(base, index, scale, displacement, size, false, Register::None)
    }

    /// Where the next instruction is going to be.
    pub fn here(&self) -> u64 {
        self.position
    }

    /// Adds an instruction.
    pub fn put(&mut self, instruction: Instruction) -> Result<(), IcedError> {
        self.position += self.encoder.encode(&instruction, self.position)? as u64;
        self.instructions += 1;
        Ok(())
    }

    /// A jump to where it is going to [land](Assembler::land).
    pub fn jump_forward(&mut self, code: Code) -> Result<Forward, IcedError> {
        // Any target far enough away; `land` fills in the right one.
        self.put(Instruction::with_branch(code, self.position + 0x1000)?)?;
        Ok(Forward((self.position - self.start) as usize))
    }

    /// A jump leads here.
    pub fn land(&mut self, forward: Forward) {
        let distance = (self.position - self.start) as usize - forward.0;
        self.jumps.push((forward.0, distance as u32));
    }
}

/// The streaming store of what a store writes; to a place that is a multiple of its size.
fn past_caches(store: Code) -> Code {
    match store {
        Code::VEX_Vmovups_ymmm256_ymm => Code::VEX_Vmovntps_m256_ymm,
        Code::EVEX_Vmovups_ymmm256_k1z_ymm => Code::EVEX_Vmovntps_m256_ymm,
        Code::EVEX_Vmovups_zmmm512_k1z_zmm => Code::EVEX_Vmovntps_m512_zmm,
        Code::EVEX_Vmovupd_zmmm512_k1z_zmm => Code::EVEX_Vmovntpd_m512_zmm,
        other => other,
    }
}

fn set_memory(instruction: &mut Instruction, number: u32, place: MemoryOperand, is_broadcast: bool) {
    instruction.set_op_kind(number, OpKind::Memory);
    instruction.set_memory_base(place.base);
    instruction.set_memory_index(place.index);
    instruction.set_memory_index_scale(place.scale);
    instruction.set_memory_displacement64(place.displacement as u64);
    instruction.set_memory_displ_size(place.displ_size);
    instruction.set_is_broadcast(is_broadcast);
}
