//! Running results: sums of the rows up to each, and the greatest of them.
//!
//! ```text
//! sums of       a | b   c | d   e | f   g | h       taken apart by pairs
//! floats        s+a, then that + b, …               one chain of additions: nothing else waits for it
//!               put together by pairs
//!
//! the greatest  a b c d  e f g h
//!               a a b c  e e f g                    of two rows, then
//!               a b a b  e f e f                    of four: rows that are there twice change nothing
//!               . . . .  d d d d                    of eight
//!               m m m m  m m m m                    and of those before, in all lanes
//! ```
//!
//! Sums of integers, which may be added in any order, go as the greatest do, with zeros where there is no row.
//!
//! What came of the rows before an iteration stands where lanes of [folds](crate::strip::x86::folds) do: of a sum of floats in the lowest
//! lane.
//! In the last rows what stands in other lanes counts too, and what comes of all of them is any number.

use crate::strip::op::{BinaryOp, Lane, Op, RunningOp, Term};
use crate::strip::x86::codes::{self, code};
use crate::strip::x86::folds::{FoldPlan, Lanes, RowOrder};
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Address, Arg, Inst, View, Virtual};
use crate::strip::x86::lower::Lower;
use iced_x86::Code;

/// The instructions of a level.
struct Codes {
    load: Code,
    store: Code,
    copy: Code,
    add: Code,
    /// The upper one of a pair, in both places.
    upper: Code,
    /// The lower ones of two pairs.
    pair: Code,
    /// The upper pair of four.
    upper_pair: Code,
    /// Two pairs.
    four: Code,
}

const AVX2: Codes = Codes {
    load: Code::VEX_Vmovsd_xmm_m64,
    store: Code::VEX_Vmovsd_m64_xmm,
    copy: Code::VEX_Vmovaps_xmm_xmmm128,
    add: Code::VEX_Vaddsd_xmm_xmm_xmmm64,
    upper: Code::VEX_Vunpckhpd_xmm_xmm_xmmm128,
    pair: Code::VEX_Vunpcklpd_xmm_xmm_xmmm128,
    upper_pair: Code::VEX_Vextractf128_xmmm128_ymm_imm8,
    four: Code::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8,
};

const AVX512: Codes = Codes {
    load: Code::EVEX_Vmovsd_xmm_k1z_m64,
    store: Code::EVEX_Vmovsd_m64_k1_xmm,
    copy: Code::EVEX_Vmovapd_xmm_k1z_xmmm128,
    add: Code::EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er,
    upper: Code::EVEX_Vunpckhpd_xmm_k1z_xmm_xmmm128b64,
    pair: Code::EVEX_Vunpcklpd_xmm_k1z_xmm_xmmm128b64,
    upper_pair: Code::EVEX_Vextractf32x4_xmmm128_k1z_ymm_imm8,
    four: Code::EVEX_Vinsertf32x4_ymm_k1z_ymm_xmmm128_imm8,
};

/// The last lane of four, in all of them.
const LAST_OF_FOUR: u8 = 0b11_11_11_11;

/// Rows that are added to a sum.
struct Summing {
    codes: &'static Codes,
    /// The sum so far.
    sum: Arg,
}

impl Lower<'_> {
    /// What comes of the rows up to each row of a group, one of several that are lowered in their order.
    pub fn running(&mut self, op: RunningOp, copy: usize, column: u16, x: Term) -> Parts {
        let (lane, rows) = (self.list.lane(x), self.number(copy, x));
        match (op, self.list.op(x)) {
            (RunningOp::Sum, _) if lane.is_float() => self.running_sum(copy, column, rows),
            (RunningOp::Sum, Op::Literal(bits)) => {
                self.running_in_any_order(op, (copy, column), lane, rows, Some(bits))
            }
            _ => self.running_in_any_order(op, (copy, column), lane, rows, None),
        }
    }

    /// Sums of floats.
    fn running_sum(&mut self, copy: usize, column: u16, x: Parts) -> Parts {
        let lanes = self.lanes_of_running(column);
        let codes = if self.target.is_512 { &AVX512 } else { &AVX2 };
        let sum = match (self.running.get(&column), lanes) {
            (Some(before), _) => Arg::Use(*before, View::Xmm),
            (None, Lanes::Register(number)) => Arg::General(View::Xmm.register(number)),
            (None, Lanes::Stack(place)) => {
                Arg::Use(self.def(codes.load, View::Xmm, [Arg::Memory(Address::Stack(place))]), View::Xmm)
            }
        };
        let mut summing = Summing { codes, sum };
        let fours = match self.target.is_512 {
            false => x,
            true => {
                let whole = Arg::Use(x.part(0), View::Zmm);
                let extract = Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8;
                let upper = self.def(extract, View::Ymm, [whole, Arg::Immediate(1)]);
                Parts::new(2, |part| if part == 0 { x.part(0) } else { upper })
            }
        };
        let sums = Parts::new(fours.len(), |part| self.sums_of_four(&mut summing, fours.part(part)));
        let Arg::Use(sum, _) = summing.sum else { unreachable!("a sum of rows is not that of none") };
        self.running.insert(column, sum);
        if copy + 1 == self.extent.copies() {
            let sum = Arg::Use(sum, View::Xmm);
            self.body.push(match lanes {
                Lanes::Register(number) => {
                    Inst::new(codes.copy, [Arg::General(View::Xmm.register(number)), sum])
                }
                Lanes::Stack(place) => Inst::new(codes.store, [Arg::Memory(Address::Stack(place)), sum]),
            });
        }
        if !self.target.is_512 {
            return sums;
        }
        let [lower, upper] =
            [(0, View::Zmm), (1, View::Ymm)].map(|(part, view)| Arg::Use(sums.part(part), view));
        let insert = Code::EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8;
        let all = self.def(insert, View::Zmm, [lower, upper, Arg::Immediate(1)]);
        Parts::new(1, |_| all)
    }

    /// Where the lanes of a running result stand.
    fn lanes_of_running(&self, column: u16) -> Lanes {
        let is_of = |fold: &&FoldPlan| fold.column == column && matches!(fold.order, RowOrder::InTurn);
        self.folds.iter().find(is_of).expect("a running result has a place").lanes[0]
    }

    /// What may be joined in any order. Sums of one integer are the same in all groups, but for what came before.
    fn running_in_any_order(
        &mut self,
        op: RunningOp,
        (copy, column): (usize, u16),
        lane: Lane,
        x: Parts,
        of_one: Option<u64>,
    ) -> Parts {
        let (view, load) = (self.target.view(lane), code(&codes::LOAD, self.target.form(lane)));
        let place = match self.lanes_of_running(column) {
            Lanes::Register(number) => Arg::General(view.register(number)),
            Lanes::Stack(offset) => Arg::Memory(Address::Stack(offset)),
        };
        let mut before = match self.running.get(&column) {
            Some(before) => *before,
            None => self.def(load, view, [place]),
        };
        let results = Parts::new(x.len(), |part| {
            let (so_far, last) = match of_one {
                Some(bits) => self.multiples(column, lane, x.part(part), bits),
                None => self.up_to(op, lane, x.part(part)),
            };
            let result = self.joined(op, lane, before, so_far);
            // Beside the result: the next group waits for one step.
            before = self.joined(op, lane, before, last);
            result
        });
        self.running.insert(column, before);
        if copy + 1 == self.extent.copies() {
            let before = Arg::Use(before, view);
            let store = code(&codes::STORE, self.target.form(lane));
            self.body.push(match place {
                Arg::Memory(_) => Inst::new(store, [place, before]),
                _ => Inst::new(load, [place, before]),
            });
        }
        results
    }

    /// What comes of the rows of a register up to each, and of all of them in all lanes.
    fn up_to(&mut self, op: RunningOp, lane: Lane, x: Virtual) -> (Virtual, Virtual) {
        let so_far = match op {
            RunningOp::Sum => self.sums_up_to(lane, x),
            RunningOp::Greatest => self.greatest_up_to(lane, x),
        };
        let (view, last) = (self.target.view(lane), self.permuted(lane, so_far, LAST_OF_FOUR));
        if !self.target.is_512 {
            return (so_far, last);
        }
        let upper = [Arg::Use(last, view), Arg::Use(last, view), Arg::Immediate(LAST_OF_FOUR)];
        (so_far, self.def(Code::EVEX_Vshuff64x2_zmm_k1z_zmm_zmmm512b64_imm8, view, upper))
    }

    /// The same of an integer in all lanes: its multiples, which all groups share.
    fn multiples(&mut self, column: u16, lane: Lane, x: Virtual, bits: u64) -> (Virtual, Virtual) {
        let sums = match self.multiples.get(&column) {
            Some(sums) => *sums,
            None => {
                let sums = self.sums_up_to(lane, x);
                self.multiples.insert(column, sums);
                sums
            }
        };
        let lanes = if self.target.is_512 { 8 } else { 4 };
        (sums, self.splat(lane, bits.wrapping_mul(lanes)))
    }

    /// The greatest rows of a register up to each.
    fn greatest_up_to(&mut self, lane: Lane, x: Virtual) -> Virtual {
        let (view, greatest, mut so_far) = (self.target.view(lane), RunningOp::Greatest, x);
        for two in [0b10_01_00_00, 0b01_00_01_00] {
            let earlier = self.permuted(lane, so_far, two);
            so_far = self.joined(greatest, lane, earlier, so_far);
        }
        if !self.target.is_512 {
            return so_far;
        }
        let last = self.permuted(lane, so_far, LAST_OF_FOUR);
        let lower = [Arg::Use(so_far, view), Arg::Use(last, View::Ymm), Arg::Immediate(1)];
        let earlier = self.def(Code::EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8, view, lower);
        self.joined(greatest, lane, earlier, so_far)
    }

    /// The sums of the rows of a register up to each, of integers.
    fn sums_up_to(&mut self, lane: Lane, x: Virtual) -> Virtual {
        let (sum, mut so_far) = (RunningOp::Sum, x);
        if self.target.is_512 {
            let zeros = Arg::Use(self.splat(lane, 0), View::Zmm);
            // Lanes of both, from the one on that leaves room for so many zeros.
            for room in [1, 2, 4] {
                let operands = [Arg::Use(so_far, View::Zmm), zeros, Arg::Immediate(8 - room)];
                let earlier = self.def(Code::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8, View::Zmm, operands);
                so_far = self.joined(sum, lane, earlier, so_far);
            }
            return so_far;
        }
        let operands = [Arg::Use(so_far, View::Ymm), Arg::Immediate(8)];
        let earlier = self.def(Code::VEX_Vpslldq_ymm_ymm_imm8, View::Ymm, operands);
        so_far = self.joined(sum, lane, earlier, so_far);
        // The sum of the lower two in the upper two, and zeros in the lower ones.
        let second = Arg::Use(self.permuted(lane, so_far, 0b01_01_01_01), View::Ymm);
        let operands = [second, second, Arg::Immediate(0b0000_1000)];
        let earlier = self.def(Code::VEX_Vperm2f128_ymm_ymm_ymmm256_imm8, View::Ymm, operands);
        self.joined(sum, lane, earlier, so_far)
    }

    /// What comes of lanes of earlier and of later rows.
    fn joined(&mut self, op: RunningOp, lane: Lane, earlier: Virtual, later: Virtual) -> Virtual {
        let [earlier, later] = [earlier, later].map(|lanes| Parts::new(1, |_| lanes));
        let op = if op == RunningOp::Sum { BinaryOp::Add } else { BinaryOp::Max };
        self.binary(op, lane, earlier, later, [None; 2]).part(0)
    }

    /// Lanes of 64 bits in another order: two bits for each of four.
    fn permuted(&mut self, lane: Lane, lanes: Virtual, order: u8) -> Virtual {
        let permute = match self.target.is_512 {
            true => Code::EVEX_Vpermpd_zmm_k1z_zmmm512b64_imm8,
            false => Code::VEX_Vpermpd_ymm_ymmm256_imm8,
        };
        let view = self.target.view(lane);
        self.def(permute, view, [Arg::Use(lanes, view), Arg::Immediate(order)])
    }

    /// The sums up to each of four rows.
    fn sums_of_four(&mut self, summing: &mut Summing, four: Virtual) -> Virtual {
        let Codes { upper_pair, four: join, .. } = *summing.codes;
        let upper = self.def(upper_pair, View::Xmm, [Arg::Use(four, View::Ymm), Arg::Immediate(1)]);
        let lower = self.sums_of_two(summing, four);
        let upper = self.sums_of_two(summing, upper);
        let operands = [Arg::Use(lower, View::Ymm), Arg::Use(upper, View::Xmm), Arg::Immediate(1)];
        self.def(join, View::Ymm, operands)
    }

    /// The same of two.
    fn sums_of_two(&mut self, summing: &mut Summing, two: Virtual) -> Virtual {
        let codes = summing.codes;
        let two = Arg::Use(two, View::Xmm);
        let second = self.def(codes.upper, View::Xmm, [two, two]);
        let one = Arg::Use(self.def(codes.add, View::Xmm, [summing.sum, two]), View::Xmm);
        summing.sum = Arg::Use(self.def(codes.add, View::Xmm, [one, Arg::Use(second, View::Xmm)]), View::Xmm);
        self.def(codes.pair, View::Xmm, [one, summing.sum])
    }
}
