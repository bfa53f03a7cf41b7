//! Function: entry, loops and exit around the bodies of a strip.
//!
//! ```text
//! [ literals ][ entry | rows to a line | streamed loop | main loop: U groups | loop: one group | the rest of rows | exit ]
//!                      ^------------------------------- once a leaf if there are leaves, else once a run ----------------|
//!
//! stack frame    rbp of the caller | registers of the caller | runs left | steps | first row | last row | constants, slots
//! ```
//!
//! Between two runs the pointers of columns move: those in registers there, others in the memory of the caller. So does that of
//! scalars, which are then laid out again. Each list of steps says where that of the next run is.
//!
//! A loop may begin where a result stands at a multiple of what a store writes: rows before that are computed first. Results that are
//! streamed, that is stored past the caches, have to stand so, all of them; if one does not, ordinary loops take all rows.
//!
//! Loops are tested at their end against the end of rows less the rows of an iteration, which rdx is meanwhile.

use crate::strip::x86::constants::{Constants, Laid, REST_BITS, REST_NARROW, REST_WIDE};
use crate::strip::x86::encode::{Allocated, Assembler, Forward, bases};
use crate::strip::x86::folds::FoldsPlan;
use crate::strip::x86::group_shape::GroupShape;
use crate::strip::x86::inst::{Address, Home};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

/// What is encoded.
pub struct Function<'f> {
    pub target: GroupShape,
    /// U groups at a time, if U is not 1.
    pub main: Option<(Allocated<'f>, usize)>,
    /// One group at a time.
    pub single: Allocated<'f>,
    /// Fewer rows than a group.
    pub rest: Allocated<'f>,
    /// What stands in the first vector registers behind the lanes of folds.
    pub pinned: &'f [Home],
    /// Columns of rows that are read or written, the most wanted first.
    pub columns: &'f [u16],
    /// True if there are columns of presence.
    pub has_presence: bool,
    /// Folds.
    pub folds: Option<&'f FoldsPlan>,
    /// Columns that are prefetched: number, bytes of a row, whether they are written.
    pub prefetched: &'f [(u16, usize, bool)],
    /// Columns that are stored past the caches, and bytes of a row, the widest ones first.
    pub streamed: &'f [(u16, usize)],
    /// The column that loops begin at lines with, and bytes of a row.
    pub at_lines: Option<(u16, usize)>,
}

impl Function<'_> {
    /// Folds of which some are sums of leaves, and the column of the ends of these.
    fn leaves(&self) -> Option<(&FoldsPlan, u16)> {
        self.folds.and_then(|folds| Some((folds, folds.ends?)))
    }
}

/// An encoded function with the literals before it.
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub entry: usize,
    pub instructions: usize,
}

/// The function of its bodies.
pub fn encode(function: &Function<'_>, constants: &mut Constants) -> Result<Encoded, IcedError> {
    let table: Vec<u8> = match function.target.is_512 {
        true => (0..16).flat_map(|rows| ((1_u16 << rows) - 1).to_le_bytes()).collect(),
        false => [[0xFF; 64], [0; 64]].concat(),
    };
    let table = constants.bytes(&table);
    let start = constants.pool.len().next_multiple_of(64);
    let slots = constants.frame.next_multiple_of(64);
    let columns = (function.columns, bases(function.has_presence));
    let assembler = Assembler::new(function.target, columns, start as u64, slots);
    let mut layout = Layout { function, assembler, slots };
    layout.function(constants, table)?;
    let (code, instructions) = layout.assembler.finish();
    let mut bytes = constants.pool.clone();
    bytes.resize(start, 0);
    bytes.extend(code);
    Ok(Encoded { bytes, entry: start, instructions })
}

struct Layout<'f> {
    function: &'f Function<'f>,
    assembler: Assembler<'f>,
    /// Where slots begin in the stack frame.
    slots: u32,
}

impl Layout<'_> {
    fn function(&mut self, constants: &Constants, table: Address) -> Result<(), IcedError> {
        let function = self.function;
        let main = function.main.as_ref().map(|(main, _)| main);
        let bodies = [main, Some(&function.single), Some(&function.rest)];
        let slots = bodies.into_iter().flatten().map(|body| body.allocation.slots).max().unwrap_or(0);
        self.enter((self.slots + slots * function.target.slot_bytes()).next_multiple_of(64))?;
        let with_scalars = self.assembler.here();
        self.lay_out(constants)?;
        let lanes = function.folds.map_or(0, |folds| folds.registers);
        for (home, number) in function.pinned.iter().zip(lanes..) {
            self.assembler.load(home, number)?;
        }
        if let Some(folds) = function.folds {
            self.assembler.begin_folds(folds)?;
        }
        match function.leaves() {
            None => {
                let is_scalar = |home: &Home| matches!(home.address, Address::Scalar(_));
                let has_scalars = !constants.laid.is_empty() || function.pinned.iter().any(is_scalar);
                let top = if has_scalars { with_scalars } else { self.assembler.here() };
                self.rows(table)?;
                if function.folds.is_none() {
                    self.next_run(top)?;
                }
            }
            Some((folds, ends)) => {
                self.assembler.begin_leaves(folds)?;
                let top = self.assembler.here();
                self.assembler.begin_leaf(folds, ends)?;
                self.rows(table)?;
                self.assembler.end_leaf(folds, top)?;
            }
        }
        if let Some(folds) = function.folds {
            self.assembler.end_folds(folds)?;
        }
        self.leave()
    }

    /// All rows up to rdx.
    fn rows(&mut self, table: Address) -> Result<(), IcedError> {
        let function = self.function;
        if function.has_presence {
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R15, Register::RSI)?)?;
            self.put(Instruction::with2(Code::Shr_rm64_imm8, Register::R15, 3)?)?;
        }
        let group = function.target.group;
        let mut prefetched = function.prefetched;
        if !function.streamed.is_empty() {
            self.streamed_rows(table)?;
        } else if let Some(column) = function.at_lines {
            let to_loops = self.rows_up_to_line(&[column], table)?;
            to_loops.into_iter().for_each(|jump| self.assembler.land(jump));
        }
        if let Some((main, unroll)) = &function.main {
            self.counted(main, unroll * group, prefetched)?;
            prefetched = &[];
        }
        self.counted(&function.single, group, prefetched)?;
        let done = self.begin_rest(table)?;
        self.assembler.body(&function.rest)?;
        self.assembler.land(done);
        Ok(())
    }

    /// The rows before results stand at multiples of what is stored at once, and jumps from before them if that is not so for all of
    /// these results after the same rows. The first result has the widest rows.
    fn rows_up_to_line(
        &mut self,
        results: &[(u16, usize)],
        table: Address,
    ) -> Result<Vec<Forward>, IcedError> {
        let function = self.function;
        let target = function.target;
        // A group writes no more than that of each result.
        let unit = |row_bytes: usize| (target.slot_bytes() as usize).min(target.group * row_bytes) as i32;
        let (row, place) = (Register::R14, Register::R13);
        let (first, row_bytes) = results[0];
        let mut to_loops = Vec::new();
        let base = self.assembler.base(first)?;
        let at = self.assembler.at(base, Register::RSI, row_bytes as u32, 0);
        self.put(Instruction::with2(Code::Lea_r64_m, row, at)?)?;
        self.put(Instruction::with1(Code::Neg_rm64, row)?)?;
        self.put(Instruction::with2(Code::And_rm64_imm8, row, unit(row_bytes) - 1)?)?;
        self.put(Instruction::with2(Code::Test_rm64_imm32, row, row_bytes as i32 - 1)?)?;
        to_loops.push(self.assembler.jump_forward(Code::Jne_rel32_64)?);
        self.put(Instruction::with2(Code::Shr_rm64_imm8, row, row_bytes.trailing_zeros() as i32)?)?;
        if function.has_presence {
            // Bits of presence are read by bytes.
            self.put(Instruction::with2(Code::Test_rm64_r64, row, row)?)?;
            to_loops.push(self.assembler.jump_forward(Code::Jne_rel32_64)?);
        }
        self.put(Instruction::with2(Code::Add_r64_rm64, row, Register::RSI)?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, row, Register::RDX)?)?;
        to_loops.push(self.assembler.jump_forward(Code::Ja_rel32_64)?);
        for (number, row_bytes) in &results[1..] {
            let base = self.assembler.base(*number)?;
            let at = self.assembler.at(base, row, *row_bytes as u32, 0);
            self.put(Instruction::with2(Code::Lea_r64_m, place, at)?)?;
            self.put(Instruction::with2(Code::Test_rm64_imm32, place, unit(*row_bytes) - 1)?)?;
            to_loops.push(self.assembler.jump_forward(Code::Jne_rel32_64)?);
        }
        if !function.has_presence {
            let last = self.beside_saved(LAST);
            self.put(Instruction::with2(Code::Mov_rm64_r64, last, Register::RDX)?)?;
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RDX, row)?)?;
            let done = self.begin_rest(table)?;
            self.assembler.body(&function.rest)?;
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RSI, Register::RDX)?)?;
            self.assembler.land(done);
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RDX, last)?)?;
        }
        Ok(to_loops)
    }

    /// The rows before streamed results stand where they have to, then all that fill iterations.
    fn streamed_rows(&mut self, table: Address) -> Result<(), IcedError> {
        let function = self.function;
        let to_loops = self.rows_up_to_line(function.streamed, table)?;
        self.assembler.stream(function.streamed);
        let one = (&function.single, 1);
        let (body, unroll) = function.main.as_ref().map_or(one, |(main, unroll)| (main, *unroll));
        self.counted(body, unroll * function.target.group, function.prefetched)?;
        self.assembler.stream(&[]);
        to_loops.into_iter().for_each(|jump| self.assembler.land(jump));
        Ok(())
    }

    /// Moves columns and scalars to their next run, and goes there; falls through behind the last one.
    fn next_run(&mut self, top: u64) -> Result<(), IcedError> {
        let [runs, steps, first] = RUNS.map(|(_, place)| self.beside_saved(place));
        self.put(Instruction::with1(Code::Dec_rm64, runs)?)?;
        let done = self.assembler.jump_forward(Code::Je_rel32_64)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R14, steps)?)?;
        let of_scalars = self.assembler.at(Register::R14, Register::None, 1, 0);
        self.put(Instruction::with2(Code::Add_r64_rm64, Register::RCX, of_scalars)?)?;
        for (place, number) in self.function.columns.iter().enumerate() {
            let offset = 8 * i64::from(*number);
            let step = self.assembler.at(Register::R14, Register::None, 1, offset + 16);
            match bases(self.function.has_presence).get(place) {
                Some(base) => self.put(Instruction::with2(Code::Add_r64_rm64, *base, step)?)?,
                None => {
                    let pointer = self.assembler.at(Register::RDI, Register::None, 1, offset);
                    self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R13, step)?)?;
                    self.put(Instruction::with2(Code::Add_rm64_r64, pointer, Register::R13)?)?;
                }
            }
        }
        let to_next_list = self.assembler.at(Register::R14, Register::None, 1, 8);
        self.put(Instruction::with2(Code::Add_r64_rm64, Register::R14, to_next_list)?)?;
        self.put(Instruction::with2(Code::Mov_rm64_r64, steps, Register::R14)?)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RSI, first)?)?;
        // There are rows in each run.
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RSI, Register::RDX)?)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, top)?)?;
        self.assembler.land(done);
        Ok(())
    }

    /// A word of the stack frame behind the registers of the caller.
    fn beside_saved(&self, place: usize) -> MemoryOperand {
        let words = self.saved().len() + 1 + place;
        self.assembler.at(Register::RBP, Register::None, 1, -8 * words as i64)
    }

    /// Registers that belong to the caller and are written.
    fn saved(&self) -> Vec<Register> {
        let columns = self.function.columns.len();
        let used = [
            (Register::RBX, columns > 4),
            (Register::R12, columns > 5),
            (Register::R13, true),
            (Register::R14, true),
            (Register::R15, columns > 6 || self.function.has_presence),
        ];
        used.into_iter().filter(|(_, is_used)| *is_used).map(|(register, _)| register).collect()
    }

    fn enter(&mut self, frame: u32) -> Result<(), IcedError> {
        self.put(Instruction::with1(Code::Push_r64, Register::RBP)?)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBP, Register::RSP)?)?;
        for register in self.saved() {
            self.put(Instruction::with1(Code::Push_r64, register)?)?;
        }
        if self.function.folds.is_none() {
            for (register, _) in RUNS {
                self.put(Instruction::with1(Code::Push_r64, register)?)?;
            }
            if !self.function.streamed.is_empty() || self.function.at_lines.is_some() {
                self.put(Instruction::with1(Code::Push_r64, Register::RDX)?)?;
            }
        }
        if frame > 0 {
            // The frame is touched in steps below a page, so that the guard page of the stack is met.
            let mut left = frame;
            while left > STEP {
                self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, STEP as i32)?)?;
                let top = self.assembler.at(Register::RSP, Register::None, 1, 0);
                self.put(Instruction::with2(Code::Test_rm64_r64, top, Register::RAX)?)?;
                left -= STEP;
            }
            self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, left as i32)?)?;
            self.put(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -64)?)?;
        }
        self.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX)?)?;
        for (base, number) in bases(self.function.has_presence).iter().zip(self.function.columns) {
            self.assembler.load_base(*base, *number)?;
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), IcedError> {
        if !self.function.streamed.is_empty() {
            // Streaming stores are seen by others before what follows is.
            self.put(Instruction::with(Code::Sfence))?;
        }
        let saved = self.saved();
        let place = self.assembler.at(Register::RBP, Register::None, 1, -8 * saved.len() as i64);
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
            let (Laid::Scalar(number, _) | Laid::IsZero(number)) = *laid;
            let scalar = self.assembler.at(Register::RCX, Register::None, 1, 8 * i64::from(number));
            let load = match laid {
                Laid::Scalar(_, 8) => Code::VEX_Vbroadcastsd_ymm_m64,
                _ => Code::VEX_Vbroadcastss_ymm_m32,
            };
            self.put(Instruction::with2(load, value, scalar)?)?;
            if matches!(laid, Laid::IsZero(_)) {
                self.put(Instruction::with3(Code::VEX_Vpxor_ymm_ymm_ymmm256, zero, zero, zero)?)?;
                self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, value, value, zero)?)?;
            }
            let place = self.assembler.at(Register::RSP, Register::None, 1, i64::from(*offset));
            self.put(Instruction::with2(Code::VEX_Vmovups_ymmm256_ymm, place, value)?)?;
        }
        Ok(())
    }

    /// A loop over so many rows at a time, which prefetches columns.
    fn counted(
        &mut self,
        allocated: &Allocated<'_>,
        count: usize,
        prefetched: &[(u16, usize, bool)],
    ) -> Result<(), IcedError> {
        let rows = count as i32;
        self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RDX, rows)?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RSI, Register::RDX)?)?;
        let none = self.assembler.jump_forward(Code::Jg_rel32_64)?;
        let top = self.assembler.here();
        for (number, row_bytes, is_written) in prefetched {
            self.assembler.prefetch(*number, *row_bytes, count, *is_written)?;
        }
        self.assembler.body(allocated)?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RSI, rows)?)?;
        if self.function.has_presence {
            self.put(Instruction::with2(Code::Add_rm64_imm32, Register::R15, rows / 8)?)?;
        }
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RSI, Register::RDX)?)?;
        self.put(Instruction::with_branch(Code::Jle_rel32_64, top)?)?;
        self.assembler.land(none);
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RDX, rows)?)
    }

    /// Makes the mask of the rows that are left; jumps if there are none.
    fn begin_rest(&mut self, table: Address) -> Result<Forward, IcedError> {
        let Address::Pool(offset) = table else { unreachable!("the table is a literal") };
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R14, Register::RDX)?)?;
        self.put(Instruction::with2(Code::Sub_r64_rm64, Register::R14, Register::RSI)?)?;
        let done = self.assembler.jump_forward(Code::Je_rel32_64)?;
        if let Some((folds, _)) = self.function.leaves() {
            self.assembler.keep_rest(folds)?;
        }
        let is_512 = self.function.target.is_512;
        let middle = if is_512 { 0 } else { 64 };
        let place = self.assembler.at(Register::RIP, Register::None, 1, i64::from(offset + middle));
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R13, place)?)?;
        if is_512 {
            let mask = self.assembler.at(Register::R13, Register::R14, 2, 0);
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K7, mask)?)?;
            return Ok(done);
        }
        // Ones, then zeros: as many ones are read as there are rows.
        self.put(Instruction::with1(Code::Neg_rm64, Register::R14)?)?;
        let lanes = Register::YMM15;
        for (scale, displacement, offset) in [(8, 0, REST_WIDE), (8, 32, REST_WIDE + 32), (4, 0, REST_NARROW)]
        {
            let ones = self.assembler.at(Register::R13, Register::R14, scale, displacement);
            self.put(Instruction::with2(Code::VEX_Vmovups_ymm_ymmm256, lanes, ones)?)?;
            let place = self.assembler.at(Register::RSP, Register::None, 1, i64::from(offset));
            self.put(Instruction::with2(Code::VEX_Vmovups_ymmm256_ymm, place, lanes)?)?;
        }
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R14D, lanes)?)?;
        let place = self.assembler.at(Register::RSP, Register::None, 1, i64::from(REST_BITS));
        self.put(Instruction::with2(Code::Mov_rm32_r32, place, Register::R14D)?)?;
        Ok(done)
    }

    fn put(&mut self, instruction: Instruction) -> Result<(), IcedError> {
        self.assembler.put(instruction)
    }
}

/// What is kept of the call for its next runs, and the word behind the registers of the caller.
const RUNS: [(Register, usize); 3] = [(Register::R8, 0), (Register::R9, 1), (Register::RSI, 2)];

/// The word behind those, for the end of rows while less are computed.
const LAST: usize = 3;

/// Bytes of the stack frame between two that are touched.
const STEP: u32 = 2048;
