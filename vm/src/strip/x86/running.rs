//! Running sums: the rows of a group are added one after the other, and each sum goes to its lane.
//!
//! ```text
//! rows          a | b   c | d   e | f   g | h       taken apart by pairs
//! sums          s+a, then that + b, …               one chain of additions: nothing else waits for it
//! result        put together by pairs
//! ```
//!
//! The sum of the rows before an iteration stands where lanes of [folds](crate::strip::x86::folds) do. In the last rows what stands in other lanes is added too, and
//! the sum behind them is any number.

use crate::strip::op::Lane;
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
    add_float: Code,
    add_int: Code,
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
    add_float: Code::VEX_Vaddsd_xmm_xmm_xmmm64,
    add_int: Code::VEX_Vpaddq_xmm_xmm_xmmm128,
    upper: Code::VEX_Vunpckhpd_xmm_xmm_xmmm128,
    pair: Code::VEX_Vunpcklpd_xmm_xmm_xmmm128,
    upper_pair: Code::VEX_Vextractf128_xmmm128_ymm_imm8,
    four: Code::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8,
};

const AVX512: Codes = Codes {
    load: Code::EVEX_Vmovsd_xmm_k1z_m64,
    store: Code::EVEX_Vmovsd_m64_k1_xmm,
    copy: Code::EVEX_Vmovapd_xmm_k1z_xmmm128,
    add_float: Code::EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er,
    add_int: Code::EVEX_Vpaddq_xmm_k1z_xmm_xmmm128b64,
    upper: Code::EVEX_Vunpckhpd_xmm_k1z_xmm_xmmm128b64,
    pair: Code::EVEX_Vunpcklpd_xmm_k1z_xmm_xmmm128b64,
    upper_pair: Code::EVEX_Vextractf32x4_xmmm128_k1z_ymm_imm8,
    four: Code::EVEX_Vinsertf32x4_ymm_k1z_ymm_xmmm128_imm8,
};

/// Rows that are added to a sum.
struct Summing {
    codes: &'static Codes,
    lane: Lane,
    /// The sum so far.
    sum: Arg,
}

impl Lower<'_> {
    /// The sums up to each row of a group, one of several that are lowered in their order.
    pub fn running_sum(&mut self, copy: usize, column: u16, lane: Lane, x: Parts) -> Parts {
        let is_of = |fold: &&FoldPlan| fold.column == column && matches!(fold.order, RowOrder::InTurn);
        let lanes = self.folds.iter().find(is_of).expect("a running sum has a place").lanes[0];
        let codes = if self.target.is_512 { &AVX512 } else { &AVX2 };
        let sum = match (self.running.get(&column), lanes) {
            (Some(before), _) => Arg::Use(*before, View::Xmm),
            (None, Lanes::Register(number)) => Arg::General(View::Xmm.register(number)),
            (None, Lanes::Stack(place)) => {
                Arg::Use(self.def(codes.load, View::Xmm, [Arg::Memory(Address::Stack(place))]), View::Xmm)
            }
        };
        let mut summing = Summing { codes, lane, sum };
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
        let add = if summing.lane.is_float() { codes.add_float } else { codes.add_int };
        let two = Arg::Use(two, View::Xmm);
        let second = self.def(codes.upper, View::Xmm, [two, two]);
        let one = Arg::Use(self.def(add, View::Xmm, [summing.sum, two]), View::Xmm);
        summing.sum = Arg::Use(self.def(add, View::Xmm, [one, Arg::Use(second, View::Xmm)]), View::Xmm);
        self.def(codes.pair, View::Xmm, [one, summing.sum])
    }
}
