//! Numbers of AVX2: what it lacks for 64-bit integers, and casts between lanes of different widths.
//!
//! Each is built of a few instructions with the same bits as the one that AVX-512 has.

use crate::strip::op::Lane;
use crate::strip::x86::codes;
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Arg, View, Virtual};
use crate::strip::x86::lower::Lower;
use iced_x86::Code;

const YMM: View = View::Ymm;
const XMM: View = View::Xmm;

impl Lower<'_> {
    /// Lanes of ones where the integer is below zero.
    fn is_negative_int64(&mut self, x: Virtual) -> Virtual {
        let zero = self.splat(Lane::I64, 0);
        self.op2(&codes::GREATER_INT, Lane::I64, zero, x)
    }

    /// The absolute value of 64-bit integers: with a sign of all ones, `-x` is `!x + 1`.
    pub fn abs_int64(&mut self, x: Virtual) -> Virtual {
        let sign = self.is_negative_int64(x);
        let flipped = self.op2(&codes::XOR, Lane::I64, sign, x);
        self.op2(&codes::SUB_INT, Lane::I64, flipped, sign)
    }

    /// The smaller or the larger one of 64-bit integers.
    pub fn best_int64(&mut self, x: Virtual, y: Virtual, is_max: bool) -> Virtual {
        let greater = self.op2(&codes::GREATER_INT, Lane::I64, x, y);
        let (yes, no) = if is_max { (x, y) } else { (y, x) };
        self.blend_lanes(Lane::I64, greater, yes, no)
    }

    /// A shift of 64-bit integers to the right that keeps the sign: of what the sign has flipped, and flipped back.
    pub fn shift_signed_int64(&mut self, x: Virtual, bits: u8) -> Virtual {
        let sign = self.is_negative_int64(x);
        let flipped = self.op2(&codes::XOR, Lane::I64, sign, x);
        let shifted = self.shifted(&codes::SHIFT_RIGHT, Lane::I64, flipped, bits);
        self.op2(&codes::XOR, Lane::I64, shifted, sign)
    }

    /// The lower half of the product by a literal, which stands in a register as well: shifts for one or two powers of
    /// two, no product with an upper half that is zero.
    pub fn mul_int64_by(&mut self, x: Virtual, literal: Virtual, factor: u64) -> Virtual {
        const LANE: Lane = Lane::I64;
        let low = factor.trailing_zeros() as u8;
        let odd = factor.checked_shr(low.into()).unwrap_or(0);
        match odd {
            1 => self.times_power(x, low),
            // 2^a + 2^b
            _ if odd.count_ones() == 2 => {
                let (high, low) = (self.times_power(x, low + odd.ilog2() as u8), self.times_power(x, low));
                self.op2_swapped(&codes::ADD_INT, LANE, high, low)
            }
            // 2^a - 2^b
            _ if odd != 0 && odd != u64::MAX && (odd + 1).is_power_of_two() => {
                let high = self.times_power(x, low + (odd + 1).ilog2() as u8);
                let low = self.times_power(x, low);
                self.op2(&codes::SUB_INT, LANE, high, low)
            }
            _ if factor >> 32 == 0 => {
                let upper = self.shifted(&codes::SHIFT_RIGHT, LANE, x, 32);
                let upper = self.op2(&codes::MUL_LOW, LANE, upper, literal);
                let upper = self.shifted(&codes::SHIFT_LEFT, LANE, upper, 32);
                let lower = self.op2_swapped(&codes::MUL_LOW, LANE, x, literal);
                self.op2(&codes::ADD_INT, LANE, lower, upper)
            }
            _ => self.mul_int64(x, literal),
        }
    }

    /// The product by a power of two.
    fn times_power(&mut self, x: Virtual, power: u8) -> Virtual {
        if power == 0 { x } else { self.shifted(&codes::SHIFT_LEFT, Lane::I64, x, power) }
    }

    /// The lower half of the product of 64-bit integers: `xl yl + 2^32 (xh yl + xl yh)`.
    pub fn mul_int64(&mut self, x: Virtual, y: Virtual) -> Virtual {
        let x_high = self.shifted(&codes::SHIFT_RIGHT, Lane::I64, x, 32);
        let y_high = self.shifted(&codes::SHIFT_RIGHT, Lane::I64, y, 32);
        let first = self.op2(&codes::MUL_LOW, Lane::I64, x_high, y);
        let second = self.op2(&codes::MUL_LOW, Lane::I64, x, y_high);
        let sum = self.op2(&codes::ADD_INT, Lane::I64, first, second);
        let high = self.shifted(&codes::SHIFT_LEFT, Lane::I64, sum, 32);
        let low = self.op2(&codes::MUL_LOW, Lane::I64, x, y);
        self.op2(&codes::ADD_INT, Lane::I64, low, high)
    }

    /// Numbers in another type.
    pub fn cast_lanes(&mut self, from: Lane, to: Lane, x: Parts) -> Parts {
        match (from, to) {
            (Lane::F64, Lane::F32) => self.halved(Code::VEX_Vcvtpd2ps_xmm_ymmm256, x),
            (Lane::F64, Lane::I32) => self.halved(Code::VEX_Vcvttpd2dq_xmm_ymmm256, x),
            (Lane::F64, Lane::I64) => Parts::new(2, |part| self.float_to_int64(x.part(part))),
            (Lane::F32, Lane::F64) => self.doubled(Code::VEX_Vcvtps2pd_ymm_xmmm128, x.part(0)),
            (Lane::F32, Lane::I32) => self.one_to_one(Code::VEX_Vcvttps2dq_ymm_ymmm256, x.part(0)),
            (Lane::F32, Lane::I64) => {
                let wide = self.cast_lanes(Lane::F32, Lane::F64, x);
                self.cast_lanes(Lane::F64, Lane::I64, wide)
            }
            (Lane::I32, Lane::F64) => self.doubled(Code::VEX_Vcvtdq2pd_ymm_xmmm128, x.part(0)),
            (Lane::I32, Lane::F32) => self.one_to_one(Code::VEX_Vcvtdq2ps_ymm_ymmm256, x.part(0)),
            (Lane::I32, Lane::I64) => self.widened(x.part(0)),
            (Lane::I64, Lane::F64) => Parts::new(2, |part| self.int64_to_double(x.part(part))),
            (Lane::I64, Lane::F32) => {
                let odd = Parts::new(2, |part| self.rounded_to_odd(x.part(part)));
                let double = self.cast_lanes(Lane::I64, Lane::F64, odd);
                self.cast_lanes(Lane::F64, Lane::F32, double)
            }
            (Lane::I64, Lane::I32) => {
                let narrow = self.narrowed(x, 0x88);
                Parts::new(1, |_| narrow)
            }
            (from, to) => unreachable!("a cast from {from:?} to {to:?}"),
        }
    }

    fn one_to_one(&mut self, code: Code, x: Virtual) -> Parts {
        let v = self.def(code, YMM, [Arg::UseOrMemory(x, YMM, 0)]);
        Parts::new(1, |_| v)
    }

    /// Two registers to halves of one.
    fn halved(&mut self, code: Code, x: Parts) -> Parts {
        let [low, high] = [0, 1].map(|part| self.def(code, XMM, [Arg::UseOrMemory(x.part(part), YMM, 0)]));
        let operands = [Arg::Use(low, YMM), Arg::Use(high, XMM), Arg::Immediate(1)];
        let both = self.def(Code::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8, YMM, operands);
        Parts::new(1, |_| both)
    }

    /// Halves of one register to two.
    fn doubled(&mut self, code: Code, x: Virtual) -> Parts {
        let low = self.def(code, YMM, [Arg::UseOrMemory(x, XMM, 0)]);
        let high = self.upper_half(x);
        let high = self.def(code, YMM, [Arg::Use(high, XMM)]);
        Parts::new(2, |part| [low, high][part])
    }

    /// 64-bit integers to floats, rounded once. The halves are made floats by putting them below an exponent:
    /// `2^52 + low` and `2^84 + 2^63 + high 2^32`; the second loses its excess exactly before the one sum that rounds.
    fn int64_to_double(&mut self, x: Virtual) -> Virtual {
        let magic_low = self.splat(Lane::I64, 0x4330_0000_0000_0000);
        let magic_high = self.splat(Lane::I64, 0x4530_0000_8000_0000);
        let excess = self.splat(Lane::I64, 0x4530_0000_8010_0000);
        let operands = [Arg::Use(x, YMM), Arg::UseOrMemory(magic_low, YMM, 0), Arg::Immediate(0b1010_1010)];
        let low = self.def(Code::VEX_Vpblendd_ymm_ymm_ymmm256_imm8, YMM, operands);
        let high = self.shifted(&codes::SHIFT_RIGHT, Lane::I64, x, 32);
        let high = self.op2(&codes::XOR, Lane::I64, high, magic_high);
        let high = self.op2(&codes::SUB_FLOAT, Lane::F64, high, excess);
        self.op2(&codes::ADD_FLOAT, Lane::F64, high, low)
    }

    /// Floats to 64-bit integers, truncated: `t = high 2^32 + low`, where the upper half fits a conversion to 32 bits and
    /// the lower half stands below the exponent of 2^52.
    fn float_to_int64(&mut self, x: Virtual) -> Virtual {
        const TRUNC: u8 = 0x0B;
        const FLOOR: u8 = 0x09;
        let whole = self.round(Lane::F64, x, TRUNC);
        let scale = self.splat(Lane::F64, 2f64.powi(-32).to_bits());
        let scaled = self.op2(&codes::MUL_FLOAT, Lane::F64, whole, scale);
        let high = self.round(Lane::F64, scaled, FLOOR);
        let upper = self.def(Code::VEX_Vcvttpd2dq_xmm_ymmm256, XMM, [Arg::Use(high, YMM)]);
        let upper = self.def(Code::VEX_Vpmovsxdq_ymm_xmmm128, YMM, [Arg::Use(upper, XMM)]);
        let upper = self.shifted(&codes::SHIFT_LEFT, Lane::I64, upper, 32);
        // Exact: the product is a power of two away, and the difference has no more bits than the number.
        let back = self.splat(Lane::F64, (-(2f64.powi(32))).to_bits());
        let low = self.fused(&codes::FMA_213, Lane::F64, high, back, whole);
        let magic = self.splat(Lane::F64, 2f64.powi(52).to_bits());
        let low = self.op2(&codes::ADD_FLOAT, Lane::F64, low, magic);
        let low = self.op2(&codes::XOR, Lane::I64, low, magic);
        self.op2(&codes::ADD_INT, Lane::I64, upper, low)
    }

    /// 64-bit integers that a float of 53 bits holds, and that round to the same float of 24 bits: below 2^53 as they are,
    /// else without the last 11 bits, of which the lowest that is left says whether one was set.
    fn rounded_to_odd(&mut self, x: Virtual) -> Virtual {
        const LANE: Lane = Lane::I64;
        let lost = self.splat(LANE, 0x7FF);
        let low = self.op2(&codes::AND, LANE, x, lost);
        let carry = self.op2(&codes::ADD_INT, LANE, low, lost);
        let sticky = self.splat(LANE, 0x800);
        let sticky = self.op2(&codes::AND, LANE, carry, sticky);
        let kept = self.splat(LANE, !0x7FF);
        let kept = self.op2(&codes::AND, LANE, x, kept);
        let odd = self.op2(&codes::OR, LANE, kept, sticky);
        // From -2^53 to 2^53 - 1 the sum has no bit above the 54th.
        let half = self.splat(LANE, 1 << 53);
        let sum = self.op2(&codes::ADD_INT, LANE, x, half);
        let above = self.shifted(&codes::SHIFT_RIGHT, LANE, sum, 54);
        let zero = self.splat(LANE, 0);
        let is_exact = self.op2(&codes::EQUAL_INT, LANE, above, zero);
        self.blend_lanes(LANE, is_exact, x, odd)
    }
}
