//! Leaves: the loop over leaves of rows, and what becomes of the lanes of folds at the end of each, and of all.
//!
//! ```text
//! column of a sum of leaves    | lanes, 64 bytes | part of leaf 0 | part of leaf 1 | …
//!                                loaded before the first leaf, stored at the end of each
//! of a fold in any order       | lanes, 64 bytes |                  of a spread sum, 32 lanes
//!                                loaded before the first row, stored behind the last one
//! ```

use crate::strip::op::Lane;
use crate::strip::x86::codes::{self, code};
use crate::strip::x86::encode::Assembler;
use crate::strip::x86::folds::{FoldPlan, FoldsPlan, Lanes, RowOrder};
use crate::strip::x86::inst::{Home, View};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

// In the stack frame, from `FoldsPlan::frame` on.
const END: u32 = 0;
const LEAF: u32 = 8;
const REST: u32 = 16;

/// Where the parts of leaves begin in the column of a sum, behind its lanes.
const LANES_BYTES: i64 = 64;

/// Registers that are free between bodies.
const SUM: u8 = 14;
const OTHER: u8 = 15;

impl Assembler<'_> {
    fn in_frame(&self, offset: u32) -> MemoryOperand {
        self.at(Register::RSP, Register::None, 1, i64::from(offset))
    }

    /// Before the first row: the lanes that folds have in their columns.
    pub fn begin_folds(&mut self, plan: &FoldsPlan) -> Result<(), IcedError> {
        for fold in &plan.folds {
            let load = code(&codes::LOAD, self.target.form(fold.lane));
            self.each_lanes(fold, |this, register, place, lanes| {
                this.put(Instruction::with2(load, register, lanes)?)?;
                this.keep(fold, register, place)
            })?;
        }
        Ok(())
    }

    /// Behind the last row: lanes that went on all the time go to the columns of their folds.
    pub fn end_folds(&mut self, plan: &FoldsPlan) -> Result<(), IcedError> {
        let goes_on = |fold: &&FoldPlan| !matches!(fold.order, RowOrder::Leaves { .. });
        plan.folds.iter().filter(goes_on).try_for_each(|fold| self.store_lanes_of(fold))
    }

    /// The lanes of a fold go to its column.
    fn store_lanes_of(&mut self, fold: &FoldPlan) -> Result<(), IcedError> {
        let form = self.target.form(fold.lane);
        self.each_lanes(fold, |this, register, place, lanes| {
            if let Some(place) = place {
                let place = this.in_frame(place);
                this.put(Instruction::with2(code(&codes::LOAD, form), register, place)?)?;
            }
            this.put(Instruction::with2(code(&codes::STORE, form), lanes, register)?)
        })
    }

    /// Calls for all registers full of lanes of a fold with a register, the place in the stack frame if they stand there,
    /// and their place in the column of the fold, which r13 has.
    fn each_lanes(
        &mut self,
        fold: &FoldPlan,
        each: impl Fn(&mut Self, Register, Option<u32>, MemoryOperand) -> Result<(), IcedError>,
    ) -> Result<(), IcedError> {
        self.load_base(Register::R13, fold.column)?;
        let view = self.target.view(fold.lane);
        for (number, lanes) in (0..).zip(&fold.lanes) {
            let (register, place) = match *lanes {
                Lanes::Register(number) => (number, None),
                Lanes::Stack(place) => (OTHER, Some(place)),
            };
            let lanes = self.at(Register::R13, Register::None, 1, number * view.bytes() as i64);
            each(self, view.register(register), place, lanes)?;
        }
        Ok(())
    }

    /// Stores lanes that stand in the stack frame.
    fn keep(&mut self, fold: &FoldPlan, register: Register, place: Option<u32>) -> Result<(), IcedError> {
        let Some(place) = place else { return Ok(()) };
        let store = code(&codes::STORE, self.target.form(fold.lane));
        let place = self.in_frame(place);
        self.put(Instruction::with2(store, place, register)?)
    }

    /// Before the first leaf.
    pub fn begin_leaves(&mut self, plan: &FoldsPlan) -> Result<(), IcedError> {
        let (end, leaf) = (self.in_frame(plan.frame + END), self.in_frame(plan.frame + LEAF));
        self.put(Instruction::with2(Code::Mov_rm64_r64, end, Register::RDX)?)?;
        self.put(Instruction::with2(Code::Mov_rm64_imm32, leaf, 0)?)
    }

    /// The end of the next leaf becomes the end of rows.
    pub fn begin_leaf(&mut self, plan: &FoldsPlan, ends: u16) -> Result<(), IcedError> {
        self.load_base(Register::R13, ends)?;
        let leaf = self.in_frame(plan.frame + LEAF);
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R14, leaf)?)?;
        let end = self.at(Register::R13, Register::R14, 8, 0);
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RDX, end)?)?;
        let rest = self.in_frame(plan.frame + REST);
        self.put(Instruction::with2(Code::Mov_rm64_imm32, rest, 0)?)
    }

    /// Keeps the number of rows of the rest, which is in r14.
    pub fn keep_rest(&mut self, plan: &FoldsPlan) -> Result<(), IcedError> {
        let rest = self.in_frame(plan.frame + REST);
        self.put(Instruction::with2(Code::Mov_rm64_r64, rest, Register::R14)?)
    }

    /// Writes lanes and parts of a leaf, and goes back for the next one, which begins anew.
    pub fn end_leaf(&mut self, plan: &FoldsPlan, top: u64) -> Result<(), IcedError> {
        for (sum, ..) in sums(plan) {
            self.store_lanes_of(sum)?;
        }
        for (sum, _, rest) in sums(plan) {
            self.join(sum)?;
            self.add_rest(sum, rest, plan)?;
            self.load_base(Register::R13, sum.column)?;
            let leaf = self.in_frame(plan.frame + LEAF);
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R14, leaf)?)?;
            let place = self.at(Register::R13, Register::R14, sum.lane.bytes() as u32, LANES_BYTES);
            let store = match sum.lane {
                Lane::F32 => Code::VEX_Vmovss_m32_xmm,
                _ => Code::VEX_Vmovsd_m64_xmm,
            };
            self.put(Instruction::with2(store, place, View::Xmm.register(SUM))?)?;
        }
        for (sum, start, _) in sums(plan) {
            for lanes in &sum.lanes {
                let (register, place) = match *lanes {
                    Lanes::Register(number) => (number, None),
                    Lanes::Stack(place) => (OTHER, Some(place)),
                };
                self.load(&start, register)?;
                self.keep(sum, start.view.register(register), place)?;
            }
        }
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RSI, Register::RDX)?)?;
        let leaf = self.in_frame(plan.frame + LEAF);
        self.put(Instruction::with1(Code::Inc_rm64, leaf)?)?;
        let end = self.in_frame(plan.frame + END);
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RSI, end)?)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, top)?)
    }

    /// The lower and the upper half of eight lanes, in registers.
    fn halves(&mut self, sum: &FoldPlan) -> Result<(Register, Register), IcedError> {
        let half = if sum.lane == Lane::F32 { View::Xmm } else { View::Ymm };
        let upper = half.register(OTHER);
        match (sum.lanes[0], sum.lanes.get(1).copied()) {
            (Lanes::Register(low), Some(Lanes::Register(high))) => {
                Ok((half.register(low), half.register(high)))
            }
            (Lanes::Register(low), Some(Lanes::Stack(offset))) => {
                let place = self.in_frame(offset);
                self.put(Instruction::with2(Code::VEX_Vmovups_ymm_ymmm256, upper, place)?)?;
                Ok((half.register(low), upper))
            }
            (Lanes::Register(number), None) if sum.lane == Lane::F32 => {
                let whole = View::Ymm.register(number);
                self.put(Instruction::with3(Code::VEX_Vextractf128_xmmm128_ymm_imm8, upper, whole, 1)?)?;
                Ok((half.register(number), upper))
            }
            (Lanes::Register(number), None) => {
                let whole = View::Zmm.register(number);
                let extract = Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8;
                self.put(Instruction::with3(extract, upper, whole, 1)?)?;
                Ok((half.register(number), upper))
            }
            (Lanes::Stack(low), high) => {
                let high = match high {
                    Some(Lanes::Stack(high)) => high,
                    _ => low + half.bytes() as u32,
                };
                let lower = half.register(SUM);
                let load = match half {
                    View::Xmm => Code::VEX_Vmovups_xmm_xmmm128,
                    _ => Code::VEX_Vmovups_ymm_ymmm256,
                };
                for (register, offset) in [(lower, low), (upper, high)] {
                    let place = self.in_frame(offset);
                    self.put(Instruction::with2(load, register, place)?)?;
                }
                Ok((lower, upper))
            }
        }
    }

    /// The lanes of a sum become one.
    fn join(&mut self, sum: &FoldPlan) -> Result<(), IcedError> {
        let (low, high) = self.halves(sum)?;
        let [x, other] = [SUM, OTHER].map(|number| View::Xmm.register(number));
        let y = View::Ymm.register(SUM);
        match sum.lane {
            Lane::F32 => {
                self.put(Instruction::with3(Code::VEX_Vhaddps_xmm_xmm_xmmm128, x, low, high)?)?;
                self.put(Instruction::with3(Code::VEX_Vhaddps_xmm_xmm_xmmm128, x, x, x)?)?;
                self.put(Instruction::with2(Code::VEX_Vmovshdup_xmm_xmmm128, other, x)?)?;
                self.put(Instruction::with3(Code::VEX_Vaddss_xmm_xmm_xmmm32, x, x, other)?)
            }
            Lane::F64 => {
                // 0+1, 4+5, 2+3, 6+7
                self.put(Instruction::with3(Code::VEX_Vhaddpd_ymm_ymm_ymmm256, y, low, high)?)?;
                self.put(Instruction::with3(Code::VEX_Vextractf128_xmmm128_ymm_imm8, other, y, 1)?)?;
                self.put(Instruction::with3(Code::VEX_Vaddpd_xmm_xmm_xmmm128, x, x, other)?)?;
                self.put(Instruction::with3(Code::VEX_Vunpckhpd_xmm_xmm_xmmm128, other, x, x)?)?;
                self.put(Instruction::with3(Code::VEX_Vaddsd_xmm_xmm_xmmm64, x, x, other)?)
            }
            _ => {
                self.put(Instruction::with3(Code::VEX_Vpaddq_ymm_ymm_ymmm256, y, low, high)?)?;
                self.put(Instruction::with3(Code::VEX_Vextracti128_xmmm128_ymm_imm8, other, y, 1)?)?;
                self.put(Instruction::with3(Code::VEX_Vpaddq_xmm_xmm_xmmm128, x, x, other)?)?;
                self.put(Instruction::with3(Code::VEX_Vpunpckhqdq_xmm_xmm_xmmm128, other, x, x)?)?;
                self.put(Instruction::with3(Code::VEX_Vpaddq_xmm_xmm_xmmm128, x, x, other)?)
            }
        }
    }

    /// Adds the rows of the rest, one after the other.
    fn add_rest(&mut self, sum: &FoldPlan, rest: u32, plan: &FoldsPlan) -> Result<(), IcedError> {
        let (row, count) = (Register::R13, Register::R14);
        let [x, other] = [SUM, OTHER].map(|number| View::Xmm.register(number));
        let rows = self.in_frame(plan.frame + REST);
        self.put(Instruction::with2(Code::Mov_r64_rm64, count, rows)?)?;
        self.put(Instruction::with2(Code::Xor_r32_rm32, Register::R13D, Register::R13D)?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, row, count)?)?;
        let done = self.jump_forward(Code::Je_rel32_64)?;
        let top = self.here();
        let place = self.at(Register::RSP, row, sum.lane.bytes() as u32, i64::from(rest));
        match sum.lane {
            Lane::F32 => self.put(Instruction::with3(Code::VEX_Vaddss_xmm_xmm_xmmm32, x, x, place)?)?,
            Lane::F64 => self.put(Instruction::with3(Code::VEX_Vaddsd_xmm_xmm_xmmm64, x, x, place)?)?,
            _ => {
                self.put(Instruction::with2(Code::VEX_Vmovq_xmm_xmmm64, other, place)?)?;
                self.put(Instruction::with3(Code::VEX_Vpaddq_xmm_xmm_xmmm128, x, x, other)?)?;
            }
        }
        self.put(Instruction::with1(Code::Inc_rm64, row)?)?;
        self.put(Instruction::with2(Code::Cmp_r64_rm64, row, count)?)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, top)?)?;
        self.land(done);
        Ok(())
    }
}

/// The sums of leaves, what their lanes begin with, and where the stack frame has rows of the rest.
fn sums(plan: &FoldsPlan) -> impl Iterator<Item = (&FoldPlan, Home, u32)> {
    plan.folds.iter().filter_map(|fold| match fold.order {
        RowOrder::Leaves { start, rest } => Some((fold, start, rest)),
        RowOrder::Any(_) | RowOrder::Spread | RowOrder::InTurn => None,
    })
}
