//! Arithmetic on lanes: what both levels compute alike.
//!
//! Where a level has no instruction (64-bit integers on AVX2), `avx2.rs` builds one.

use crate::strip::op::{BinaryOp, Lane, ShiftOp, UnaryOp};
use crate::strip::x86::codes::{self, Codes, Form, code};
use crate::strip::x86::group_shape::Parts;
use crate::strip::x86::inst::{Arg, Inst, View, Virtual};
use crate::strip::x86::lower::Lower;

/// Comparison of floats that is true if one is NaN.
pub const UNORDERED: u8 = 0x03;

/// Rounding without the exception for inexact results.
const FLOOR: u8 = 0x09;
const CEIL: u8 = 0x0A;
const TRUNC: u8 = 0x0B;
const NEAREST: u8 = 0x08;

impl Lower<'_> {
    /// An operation of one operand on numbers.
    pub fn unary(&mut self, op: UnaryOp, lane: Lane, x: Parts) -> Parts {
        Parts::new(x.len(), |part| self.unary_part(op, lane, x.part(part)))
    }

    fn unary_part(&mut self, op: UnaryOp, lane: Lane, x: Virtual) -> Virtual {
        let sign = 1 << (8 * lane.bytes() - 1);
        let is_float = lane.is_float();
        match op {
            UnaryOp::Neg if is_float => {
                let sign = self.splat(lane, sign);
                self.op2_swapped(&codes::XOR, lane, x, sign)
            }
            UnaryOp::Neg => {
                let zero = self.splat(lane, 0);
                self.op2(&codes::SUB_INT, lane, zero, x)
            }
            UnaryOp::Abs if is_float => {
                let magnitude = self.splat(lane, sign - 1);
                self.op2_swapped(&codes::AND, lane, x, magnitude)
            }
            UnaryOp::Abs if self.lacks_int64(lane) => self.abs_int64(x),
            UnaryOp::Abs => self.op1(&codes::ABS_INT, lane, x),
            UnaryOp::Sqrt => self.op1(&codes::SQRT, lane, x),
            UnaryOp::Floor => self.round(lane, x, FLOOR),
            UnaryOp::Ceil => self.round(lane, x, CEIL),
            UnaryOp::Trunc => self.round(lane, x, TRUNC),
            UnaryOp::Nearest => self.round(lane, x, NEAREST),
            UnaryOp::Not => {
                let ones = self.splat(lane, u64::MAX);
                self.op2_swapped(&codes::XOR, lane, x, ones)
            }
        }
    }

    /// True if instructions on integers of 64 bits are missing.
    pub fn lacks_int64(&self, lane: Lane) -> bool {
        self.target.form(lane) == Form::Vex64
    }

    /// Rounding to an integer in a way.
    pub fn round(&mut self, lane: Lane, x: Virtual, how: u8) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let operand = Arg::UseOrMemory(x, view, self.target.broadcast(lane));
        self.def(code(&codes::ROUND, form), view, [operand, Arg::Immediate(how)])
    }

    /// An operation of two operands on numbers, of which some are literals.
    pub fn binary(
        &mut self,
        op: BinaryOp,
        lane: Lane,
        x: Parts,
        y: Parts,
        literals: [Option<u64>; 2],
    ) -> Parts {
        let codes = self.binary_codes(op, lane);
        Parts::new(x.len(), |part| {
            let (x, y) = (x.part(part), y.part(part));
            match (codes, op, lane.is_float()) {
                (_, BinaryOp::Min, true) => self.best(&codes::MIN_FLOAT, lane, x, y, literals),
                (_, BinaryOp::Max, true) => self.best(&codes::MAX_FLOAT, lane, x, y, literals),
                (Some(codes), ..) => {
                    let (x, y) = self.in_order(op, x, y);
                    self.op2(codes, lane, x, y)
                }
                (None, BinaryOp::Min, _) => self.best_int64(x, y, false),
                (None, BinaryOp::Max, _) => self.best_int64(x, y, true),
                (None, ..) => match literals {
                    [Some(factor), _] => self.mul_int64_by(y, x, factor),
                    [_, Some(factor)] => self.mul_int64_by(x, y, factor),
                    _ => self.mul_int64(x, y),
                },
            }
        })
    }

    /// The one instruction of an operation on numbers, if there is one.
    pub fn binary_codes(&self, op: BinaryOp, lane: Lane) -> Option<&'static Codes> {
        let codes = match (op, lane.is_float()) {
            (BinaryOp::Min | BinaryOp::Max, true) => return None,
            (BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max, false) if self.lacks_int64(lane) => return None,
            (BinaryOp::Add, true) => &codes::ADD_FLOAT,
            (BinaryOp::Add, false) => &codes::ADD_INT,
            (BinaryOp::Sub, true) => &codes::SUB_FLOAT,
            (BinaryOp::Sub, false) => &codes::SUB_INT,
            (BinaryOp::Mul, true) => &codes::MUL_FLOAT,
            (BinaryOp::Mul, false) => &codes::MUL_INT,
            (BinaryOp::MulLow, _) => &codes::MUL_LOW,
            (BinaryOp::Div, _) => &codes::DIV_FLOAT,
            (BinaryOp::Min, false) => &codes::MIN_INT,
            (BinaryOp::Max, false) => &codes::MAX_INT,
            (BinaryOp::And, _) => &codes::AND,
            (BinaryOp::Or, _) => &codes::OR,
            (BinaryOp::Xor, _) => &codes::XOR,
            (BinaryOp::AndNot, _) => &codes::AND_NOT,
        };
        Some(codes)
    }

    /// Minimum or maximum where NaN wins and a tie keeps the left one. The instruction gives its second operand on ties
    /// and if one is NaN: with the left one there, only a right one that is NaN is left to see to.
    fn best(
        &mut self,
        codes: &Codes,
        lane: Lane,
        left: Virtual,
        right: Virtual,
        literals: [Option<u64>; 2],
    ) -> Virtual {
        let is_number = |bits: u64| match lane {
            Lane::F64 => !f64::from_bits(bits).is_nan(),
            _ => !f32::from_bits(bits as u32).is_nan(),
        };
        let is_zero = |bits: u64| bits << (64 - 8 * lane.bytes() + 1) == 0;
        match literals {
            // Which of two equal numbers comes out can be told of zeros only.
            [Some(bits), _] if is_number(bits) && !is_zero(bits) => self.op2(codes, lane, left, right),
            [_, Some(bits)] if is_number(bits) => self.op2(codes, lane, right, left),
            _ => {
                let best = self.op2(codes, lane, right, left);
                self.or_if_nan(lane, right, best)
            }
        }
    }

    /// The first where it is NaN, else the second.
    fn or_if_nan(&mut self, lane: Lane, x: Virtual, other: Virtual) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let compare = code(&codes::COMPARE_FLOAT, form);
        let operands = [Arg::Use(x, view), Arg::Use(x, view), Arg::Immediate(UNORDERED)];
        match self.target.is_512 {
            true => {
                let mask = self.def(compare, View::Mask, operands);
                self.blend_512(lane, mask, x, other)
            }
            false => {
                let mask = self.def(compare, view, operands);
                self.blend_lanes(lane, mask, x, other)
            }
        }
    }

    /// A shift of numbers.
    pub fn shift(&mut self, op: ShiftOp, lane: Lane, x: Parts, bits: u8) -> Parts {
        Parts::new(x.len(), |part| {
            let x = x.part(part);
            match op {
                ShiftOp::Left => self.shifted(&codes::SHIFT_LEFT, lane, x, bits),
                ShiftOp::Right => self.shifted(&codes::SHIFT_RIGHT, lane, x, bits),
                ShiftOp::RightSigned if self.lacks_int64(lane) => self.shift_signed_int64(x, bits),
                ShiftOp::RightSigned => self.shifted(&codes::SHIFT_SIGNED, lane, x, bits),
            }
        })
    }

    /// A shift of lanes.
    pub fn shifted(&mut self, codes: &Codes, lane: Lane, x: Virtual, bits: u8) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        // In AVX2 the operand is a register.
        let operand = match self.target.is_512 {
            true => Arg::UseOrMemory(x, view, lane.bytes() as u8),
            false => Arg::Use(x, view),
        };
        self.def(code(codes, form), view, [operand, Arg::Immediate(bits)])
    }

    /// `a * b + c`, rounded once, of operands or their opposites. The result takes the register of one operand.
    pub fn fma(&mut self, lane: Lane, a: (Parts, bool), b: (Parts, bool), c: (Parts, bool)) -> Parts {
        let [of_213, of_231] = codes::FUSED[usize::from(a.1 != b.1)][usize::from(c.1)];
        Parts::new(a.0.len(), |part| {
            let (a, b, c) = (a.0.part(part), b.0.part(part), c.0.part(part));
            let has_home = |v: Virtual| self.body.virtuals[v.index()].home.is_some();
            // The operand that may be in memory is the addend if it has a home, as coefficients have; else a factor.
            let (codes, changed, read, last) = match (has_home(a), has_home(b), has_home(c)) {
                (false, _, true) => (of_213, a, b, c),
                (true, false, true) => (of_213, b, a, c),
                (true, _, _) => (of_231, c, b, a),
                (false, ..) => (of_231, c, a, b),
            };
            self.fused(codes, lane, changed, read, last)
        })
    }

    /// A fused instruction, whose first operand becomes the result.
    pub fn fused(
        &mut self,
        codes: &Codes,
        lane: Lane,
        changed: Virtual,
        read: Virtual,
        last: Virtual,
    ) -> Virtual {
        let (form, view) = (self.target.form(lane), self.target.view(lane));
        let result = self.body.fresh(view);
        let args = [
            Arg::Change(changed, result, view),
            Arg::Use(read, view),
            Arg::UseOrMemory(last, view, self.target.broadcast(lane)),
        ];
        self.body.push(Inst::new(code(codes, form), args));
        result
    }
}
