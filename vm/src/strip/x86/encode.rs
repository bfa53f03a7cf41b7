//! Encoding: bodies become one function.
//!
//! ```text
//! rdi columns   rsi row   rdx end   rcx constants        arguments, sysv64
//! r8 r9 r10 r11 rbx r12   pointers of columns; of others, loaded to r13 where they are wanted
//! r14 scratch   r15 row / 8, of presence   rax result   rbp stack of the caller
//!
//! [ literals ][ entry | main loop: U groups | loop: one group | the rest of rows | exit ]
//! ```
//!
//! Rows are numbers, not moved pointers: one register counts, and every column is addressed by it. Loops are tested at
//! their end against `end` less the rows of an iteration, which `rdx` is meanwhile.

use crate::strip::x86::allocate::{Allocation, Place, Step};
use crate::strip::x86::constants::{Constants, Laid, REST_BITS, REST_NARROW, REST_WIDE};
use crate::strip::x86::inst::{Address, Arg, Bank, Body, Home, Inst, Kind, View, WriteMask};
use crate::strip::x86::target::Target;
use iced_x86::{Code, Encoder, IcedError, Instruction, OpKind, Register};

/// Registers that hold pointers of columns.
const BASES: [Register; 6] =
    [Register::R8, Register::R9, Register::R10, Register::R11, Register::RBX, Register::R12];

/// A body with its places.
pub struct Allocated<'b> {
    pub body: &'b Body,
    pub allocation: &'b Allocation,
}

/// What is encoded.
pub struct Function<'f> {
    pub target: Target,
    /// U groups at a time, if U is not 1.
    pub main: Option<(Allocated<'f>, usize)>,
    /// One group at a time.
    pub single: Allocated<'f>,
    /// Fewer rows than a group.
    pub rest: Allocated<'f>,
    /// What stands in the first vector registers.
    pub pinned: &'f [Home],
    /// Columns that are read or written, the most wanted first.
    pub columns: &'f [u16],
    /// True if there are columns of presence.
    pub has_presence: bool,
}

/// Encoded functions with the literals before them.
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub entry: usize,
    pub instructions: usize,
}

struct Assembler<'f> {
    function: &'f Function<'f>,
    encoder: Encoder,
    /// Bytes before the code.
    start: u64,
    position: u64,
    /// Where slots begin in the stack frame.
    slots: u32,
    instructions: usize,
    /// Where jumps forward end, and how far they go.
    jumps: Vec<(usize, u32)>,
}

/// The function of its bodies.
pub fn encode(function: &Function<'_>, constants: &mut Constants) -> Result<Encoded, IcedError> {
    let rest_table = match function.target.is_512 {
        true => {
            constants.bytes(&(0..16).flat_map(|rows| ((1_u16 << rows) - 1).to_le_bytes()).collect::<Vec<_>>())
        }
        false => constants.bytes(&[[0xFF; 64], [0; 64]].concat()),
    };
    let start = constants.pool.len().next_multiple_of(64) as u64;
    let slots = constants.frame.next_multiple_of(64);
    let mut assembler = Assembler {
        function,
        encoder: Encoder::new(64),
        start,
        position: start,
        slots,
        instructions: 0,
        jumps: Vec::new(),
    };
    assembler.function(constants, rest_table)?;
    let mut bytes = constants.pool.clone();
    bytes.resize(start as usize, 0);
    bytes.append(&mut assembler.encoder.take_buffer());
    for (end, distance) in assembler.jumps {
        bytes[start as usize + end - 4..][..4].copy_from_slice(&distance.to_le_bytes());
    }
    Ok(Encoded { bytes, entry: start as usize, instructions: assembler.instructions })
}

/// Where a jump forward is to be filled in.
struct Forward(usize);

impl Assembler<'_> {
    fn function(&mut self, constants: &Constants, rest_table: Address) -> Result<(), IcedError> {
        let function = self.function;
        let allocations =
            [function.main.as_ref().map(|(main, _)| main), Some(&function.single), Some(&function.rest)];
        let slots = allocations.into_iter().flatten().map(|body| body.allocation.slots).max().unwrap_or(0);
        let frame = (self.slots + slots * function.target.slot_bytes()).next_multiple_of(64);
        self.enter(frame)?;
        self.lay_out(constants)?;
        for (number, home) in function.pinned.iter().enumerate() {
            self.load(home, number as u8)?;
        }
        let group = function.target.group;
        if let Some((main, unroll)) = &function.main {
            self.counted(main, unroll * group)?;
        }
        self.counted(&function.single, group)?;
        let done = self.begin_rest(rest_table)?;
        self.body(&function.rest)?;
        self.land(done);
        self.leave()
    }

    fn saved(&self) -> Vec<Register> {
        let bases = self.function.columns.len();
        let used = [
            (Register::RBX, bases > 4),
            (Register::R12, bases > 5),
            (Register::R13, true),
            (Register::R14, true),
            (Register::R15, self.function.has_presence),
        ];
        used.into_iter().filter(|(_, is_used)| *is_used).map(|(register, _)| register).collect()
    }

    fn enter(&mut self, frame: u32) -> Result<(), IcedError> {
        self.put(Instruction::with1(Code::Push_r64, Register::RBP)?)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBP, Register::RSP)?)?;
        for register in self.saved() {
            self.put(Instruction::with1(Code::Push_r64, register)?)?;
        }
        if frame > 0 {
            // Each page is touched in turn, so that the guard page of the stack is met.
            let mut left = frame;
            while left > 4096 {
                self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, 4096)?)?;
                let top = self.at(Register::RSP, Register::None, 1, 0);
                self.put(Instruction::with2(Code::Test_rm64_r64, top, Register::RAX)?)?;
                left -= 4096;
            }
            self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, left as i32)?)?;
            self.put(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -64)?)?;
        }
        self.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX)?)?;
        for (base, number) in BASES.iter().zip(self.function.columns) {
            self.load_base(*base, *number)?;
        }
        if self.function.has_presence {
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R15, Register::RSI)?)?;
            self.put(Instruction::with2(Code::Shr_rm64_imm8, Register::R15, 3)?)?;
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), IcedError> {
        let saved = self.saved();
        let place = self.at(Register::RBP, Register::None, 1, -8 * saved.len() as i64);
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RSP, place)?)?;
        for register in saved.into_iter().rev() {
            self.put(Instruction::with1(Code::Pop_r64, register)?)?;
        }
        self.put(Instruction::with1(Code::Pop_r64, Register::RBP)?)?;
        self.put(Instruction::with(Code::VEX_Vzeroupper))?;
        self.put(Instruction::with(Code::Retnq))
    }

    /// Lays out scalars of AVX2 in the stack frame.
    fn lay_out(&mut self, constants: &Constants) -> Result<(), IcedError> {
        let (value, zero) = (Register::YMM0, Register::YMM1);
        for (laid, offset) in &constants.laid {
            let scalar = |number: u16| self.at(Register::RCX, Register::None, 1, 8 * i64::from(number));
            match *laid {
                Laid::Scalar(number, 8) => {
                    let scalar = scalar(number);
                    self.put(Instruction::with2(Code::VEX_Vbroadcastsd_ymm_m64, value, scalar)?)?;
                }
                Laid::Scalar(number, _) => {
                    let scalar = scalar(number);
                    self.put(Instruction::with2(Code::VEX_Vbroadcastss_ymm_m32, value, scalar)?)?;
                }
                Laid::IsZero(number) => {
                    let scalar = scalar(number);
                    self.put(Instruction::with2(Code::VEX_Vpbroadcastd_ymm_xmmm32, value, scalar)?)?;
                    self.put(Instruction::with3(Code::VEX_Vpxor_ymm_ymm_ymmm256, zero, zero, zero)?)?;
                    self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, value, value, zero)?)?;
                }
            }
            let place = self.at(Register::RSP, Register::None, 1, i64::from(*offset));
            self.put(Instruction::with2(Code::VEX_Vmovups_ymmm256_ymm, place, value)?)?;
        }
        Ok(())
    }

    /// A loop over so many rows at a time.
    fn counted(&mut self, allocated: &Allocated<'_>, rows: usize) -> Result<(), IcedError> {
        let rows = rows as i32;
        self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RDX, rows)?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RSI, Register::RDX)?)?;
        let none = self.jump_forward(Code::Jg_rel32_64)?;
        let top = self.position;
        self.body(allocated)?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RSI, rows)?)?;
        if self.function.has_presence {
            self.put(Instruction::with2(Code::Add_rm64_imm32, Register::R15, rows / 8)?)?;
        }
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RSI, Register::RDX)?)?;
        self.put(Instruction::with_branch(Code::Jle_rel32_64, top)?)?;
        self.land(none);
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RDX, rows)?)
    }

    /// Makes the mask of the rows that are left; jumps if there are none.
    fn begin_rest(&mut self, table: Address) -> Result<Forward, IcedError> {
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R14, Register::RDX)?)?;
        self.put(Instruction::with2(Code::Sub_r64_rm64, Register::R14, Register::RSI)?)?;
        let done = self.jump_forward(Code::Je_rel32_64)?;
        let Address::Pool(offset) = table else { unreachable!("the table is a literal") };
        let middle = if self.function.target.is_512 { 0 } else { 64 };
        let place = self.at(Register::RIP, Register::None, 1, i64::from(offset + middle));
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R13, place)?)?;
        if self.function.target.is_512 {
            let mask = self.at(Register::R13, Register::R14, 2, 0);
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K7, mask)?)?;
            return Ok(done);
        }
        // Ones, then zeros: as many ones are read as there are rows.
        self.put(Instruction::with1(Code::Neg_rm64, Register::R14)?)?;
        let lanes = Register::YMM15;
        for (scale, displacement, offset) in [(8, 0, REST_WIDE), (8, 32, REST_WIDE + 32), (4, 0, REST_NARROW)]
        {
            let ones = self.at(Register::R13, Register::R14, scale, displacement);
            self.put(Instruction::with2(Code::VEX_Vmovups_ymm_ymmm256, lanes, ones)?)?;
            let place = self.at(Register::RSP, Register::None, 1, i64::from(offset));
            self.put(Instruction::with2(Code::VEX_Vmovups_ymmm256_ymm, place, lanes)?)?;
        }
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R14D, lanes)?)?;
        let place = self.at(Register::RSP, Register::None, 1, i64::from(REST_BITS));
        self.put(Instruction::with2(Code::Mov_rm32_r32, place, Register::R14D)?)?;
        Ok(done)
    }

    fn body(&mut self, allocated: &Allocated<'_>) -> Result<(), IcedError> {
        let body = allocated.body;
        for step in &allocated.allocation.steps {
            match *step {
                Step::Run { inst, places, mask } => {
                    self.inst(body, &body.insts[inst as usize], places, mask)?;
                }
                Step::Load(v, register) => {
                    let home = body.virtuals[v.index()].home.expect("what is loaded has a home");
                    self.load(&home, register)?;
                }
                Step::Save(v, register, slot) => {
                    let (view, _, store) = self.moves(body.virtuals[v.index()].view.bank());
                    let place = self.slot(slot);
                    self.put(Instruction::with2(store, place, view.register(register))?)?;
                }
                Step::Restore(v, slot, register) => {
                    let (view, load, _) = self.moves(body.virtuals[v.index()].view.bank());
                    let place = self.slot(slot);
                    self.put(Instruction::with2(load, view.register(register), place)?)?;
                }
                Step::Copy(v, from, to) => {
                    let (view, load, _) = self.moves(body.virtuals[v.index()].view.bank());
                    self.put(Instruction::with2(load, view.register(to), view.register(from))?)?;
                }
            }
        }
        Ok(())
    }

    /// How much of a register is moved, by which instructions.
    fn moves(&self, bank: Bank) -> (View, Code, Code) {
        match (bank, self.function.target.is_512) {
            (Bank::Mask, _) => (View::Mask, Code::VEX_Kmovw_kr_km16, Code::VEX_Kmovw_m16_kr),
            (Bank::Vector, true) => {
                (View::Zmm, Code::EVEX_Vmovups_zmm_k1z_zmmm512, Code::EVEX_Vmovups_zmmm512_k1z_zmm)
            }
            (Bank::Vector, false) => {
                (View::Ymm, Code::VEX_Vmovups_ymm_ymmm256, Code::VEX_Vmovups_ymmm256_ymm)
            }
        }
    }

    fn slot(&self, slot: u32) -> iced_x86::MemoryOperand {
        let offset = self.slots + slot * self.function.target.slot_bytes();
        self.at(Register::RSP, Register::None, 1, i64::from(offset))
    }

    fn load(&mut self, home: &Home, register: u8) -> Result<(), IcedError> {
        let place = self.address(home.address)?;
        self.put(Instruction::with2(home.load, home.view.register(register), place)?)
    }

    fn inst(
        &mut self,
        body: &Body,
        inst: &Inst,
        places: [Place; crate::strip::x86::inst::MAX_ARGS],
        mask: u8,
    ) -> Result<(), IcedError> {
        let code = match inst.kind {
            Kind::Code(code) => code,
            Kind::LoadRestBytes | Kind::StoreRestBytes => return self.rest_bytes(inst, places),
        };
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
                    Place::Register(register),
                ) => instruction.set_op_register(number, view.register(register)),
                (_, Place::Home(home)) => {
                    let place = self.address(home.address)?;
                    set_memory(&mut instruction, number, place, home.broadcast != 0);
                }
                (_, Place::Slot(slot)) => set_memory(&mut instruction, number, self.slot(slot), false),
                (arg, Place::Fixed) => unreachable!("{arg:?} has no place"),
            }
        }
        let _ = body;
        match inst.mask {
            Some(WriteMask::Rest | WriteMask::RestZero) => instruction.set_op_mask(Register::K7),
            Some(_) => instruction.set_op_mask(View::Mask.register(mask)),
            None => {}
        }
        instruction.set_zeroing_masking(inst.mask.is_some_and(WriteMask::is_zeroing));
        self.put(instruction)
    }

    /// Bytes of the rest of rows, one after the other.
    fn rest_bytes(
        &mut self,
        inst: &Inst,
        places: [Place; crate::strip::x86::inst::MAX_ARGS],
    ) -> Result<(), IcedError> {
        let address = inst.args().find_map(|arg| match arg {
            Arg::Memory(Address::Column { number, .. }) => Some(number),
            _ => None,
        });
        let base = self.base(address.expect("bytes of a column"))?;
        let register = places.iter().find_map(|place| match place {
            Place::Register(register) => Some(View::Xmm.register(*register)),
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
    fn base(&mut self, number: u16) -> Result<Register, IcedError> {
        let position = self.function.columns.iter().position(|column| *column == number);
        match position.and_then(|position| BASES.get(position)) {
            Some(base) => Ok(*base),
            None => {
                self.load_base(Register::R13, number)?;
                Ok(Register::R13)
            }
        }
    }

    fn load_base(&mut self, base: Register, number: u16) -> Result<(), IcedError> {
        let pointer = self.at(Register::RDI, Register::None, 1, 8 * i64::from(number));
        self.put(Instruction::with2(Code::Mov_r64_rm64, base, pointer)?)
    }

    fn address(&mut self, address: Address) -> Result<iced_x86::MemoryOperand, IcedError> {
        Ok(match address {
            Address::Column { number, row_bytes, offset } => {
                let base = self.base(number)?;
                self.at(base, Register::RSI, row_bytes.into(), offset.into())
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

    fn at(&self, base: Register, index: Register, scale: u32, displacement: i64) -> iced_x86::MemoryOperand {
        let size = u32::from(displacement != 0 || base == Register::RIP);
        iced_x86::MemoryOperand::new(base, index, scale, displacement, size, false, Register::None)
    }

    fn put(&mut self, instruction: Instruction) -> Result<(), IcedError> {
        self.position += self.encoder.encode(&instruction, self.position)? as u64;
        self.instructions += 1;
        Ok(())
    }

    fn jump_forward(&mut self, code: Code) -> Result<Forward, IcedError> {
        // Any target far enough away; `land` fills in the right one.
        self.put(Instruction::with_branch(code, self.position + 0x1000)?)?;
        Ok(Forward((self.position - self.start) as usize))
    }

    fn land(&mut self, forward: Forward) {
        let distance = (self.position - self.start) as usize - forward.0;
        self.jumps.push((forward.0, distance as u32));
    }
}

fn set_memory(
    instruction: &mut Instruction,
    number: u32,
    place: iced_x86::MemoryOperand,
    is_broadcast: bool,
) {
    instruction.set_op_kind(number, OpKind::Memory);
    instruction.set_memory_base(place.base);
    instruction.set_memory_index(place.index);
    instruction.set_memory_index_scale(place.scale);
    instruction.set_memory_displacement64(place.displacement as u64);
    instruction.set_memory_displ_size(place.displ_size);
    instruction.set_is_broadcast(is_broadcast);
}
