//! Operations that are composed of others: signs, rounding away from zero, integer division by a literal.
//!
//! ```text
//! floor(x / d), x below zero:  !(!x / d)       so that only numbers from 0 to 2^63 - 1 are divided
//! t / d  =  t m >> (63 + s)                    2^s >= d > 2^(s-1),  m = ceil(2^(63+s) / d), which has 64 bits
//! ```
//!
//! The product of 63 and 64 bits is made of four of 32 bits. Source: T. Granlund and P. Montgomery, "Division by invariant
//! integers using multiplication" (1994), theorem 4.2: with `0 <= m d - 2^(63+s) <= 2^s` the quotient is exact.

use crate::strip::list::List;
use crate::strip::op::{BinaryOp, Comparison, Lane, ShiftOp, Term, UnaryOp};

impl List {
    /// -1, 0 or 1; the sign of zero is +0, NaN stays NaN: `vector::float::sign`.
    ///
    /// # Panics
    /// The term is a mask.
    pub fn sign(&mut self, x: Term) -> Term {
        let lane = self.lane(x);
        let [minus, zero, one] = [-1, 0, 1].map(|value| self.number(lane, value));
        let above = self.compare(Comparison::Greater, x, zero);
        let below = self.compare(Comparison::Less, x, zero);
        let other = match lane.is_float() {
            true => {
                let is_nan = self.compare(Comparison::Unordered, x, x);
                self.select(is_nan, x, zero)
            }
            false => zero,
        };
        let negative = self.select(below, minus, other);
        self.select(above, one, negative)
    }

    /// The magnitude of one float with the sign of another.
    ///
    /// # Panics
    /// The terms are not floats of one type.
    pub fn copysign(&mut self, magnitude: Term, sign: Term) -> Term {
        assert!(self.lane(magnitude).is_float(), "the sign of {:?}", self.lane(magnitude));
        let (magnitude, sign) = (self.bits(magnitude), self.bits(sign));
        let lane = self.lane(magnitude);
        let bit = self.literal(lane, 1 << (8 * lane.bytes() - 1));
        let sign = self.binary(BinaryOp::And, sign, bit);
        let magnitude = self.binary(BinaryOp::AndNot, magnitude, bit);
        let both = self.binary(BinaryOp::Or, magnitude, sign);
        self.bits(both)
    }

    /// The nearest integer of a float, halves away from zero: `round` of Rust. The addend is the largest number below a
    /// half, so that nothing below a half is carried to one.
    ///
    /// # Panics
    /// The term is no float.
    pub fn round(&mut self, x: Term) -> Term {
        let half = match self.lane(x) {
            Lane::F64 => self.f64(0.5_f64.next_down()),
            _ => self.f32(0.5_f32.next_down()),
        };
        let half = self.copysign(half, x);
        let sum = self.binary(BinaryOp::Add, x, half);
        self.unary(UnaryOp::Trunc, sum)
    }

    /// The quotient of an integer by a positive literal, rounded down.
    ///
    /// # Panics
    /// The term is no integer, or the divisor is not positive or does not fit its type.
    pub fn floor_div(&mut self, x: Term, divisor: i64) -> Term {
        let lane = self.lane(x);
        let fits = lane == Lane::I64 || lane == Lane::I32 && i32::try_from(divisor).is_ok();
        assert!(fits && divisor > 0, "{lane:?} by {divisor}");
        if divisor & (divisor - 1) == 0 {
            return self.shift(ShiftOp::RightSigned, x, divisor.trailing_zeros() as u8);
        }
        match lane {
            Lane::I64 => {
                let sign = self.shift(ShiftOp::RightSigned, x, 63);
                let magnitude = self.binary(BinaryOp::Xor, x, sign);
                let (factor, shift) = factor_of(divisor);
                let high = self.upper_product(magnitude, factor);
                let quotient = self.shift(ShiftOp::Right, high, shift);
                self.binary(BinaryOp::Xor, quotient, sign)
            }
            _ => {
                // 31 bits by 32 bits are 63.
                let sign = self.shift(ShiftOp::RightSigned, x, 31);
                let magnitude = self.binary(BinaryOp::Xor, x, sign);
                let magnitude = self.cast(magnitude, Lane::I64);
                let shift = ceil_log2(divisor);
                let factor = (1_u64 << (31 + shift)).div_ceil(divisor as u64);
                let factor = self.literal(Lane::I64, factor);
                let product = self.binary(BinaryOp::MulLow, magnitude, factor);
                let quotient = self.shift(ShiftOp::Right, product, 31 + shift);
                let quotient = self.cast(quotient, Lane::I32);
                self.binary(BinaryOp::Xor, quotient, sign)
            }
        }
    }

    /// What [`List::floor_div`] leaves, from 0 to the divisor less 1.
    ///
    /// # Panics
    /// As there.
    pub fn floor_mod(&mut self, x: Term, divisor: i64) -> Term {
        let lane = self.lane(x);
        if divisor > 0 && divisor & (divisor - 1) == 0 {
            let mask = self.literal(lane, divisor as u64 - 1);
            return self.binary(BinaryOp::And, x, mask);
        }
        let quotient = self.floor_div(x, divisor);
        let divisor = self.literal(lane, divisor as u64);
        let product = self.binary(BinaryOp::Mul, quotient, divisor);
        self.binary(BinaryOp::Sub, x, product)
    }

    /// The upper 64 bits of a number that is not negative times a factor.
    fn upper_product(&mut self, x: Term, factor: u64) -> Term {
        let [low, high, mask] = [factor & LOW, factor >> 32, LOW].map(|bits| self.literal(Lane::I64, bits));
        let upper = self.shift(ShiftOp::Right, x, 32);
        let low_low = self.binary(BinaryOp::MulLow, x, low);
        let high_low = self.binary(BinaryOp::MulLow, upper, low);
        let low_high = self.binary(BinaryOp::MulLow, x, high);
        let high_high = self.binary(BinaryOp::MulLow, upper, high);
        let carry = self.shift(ShiftOp::Right, low_low, 32);
        let middle = self.binary(BinaryOp::Add, high_low, carry);
        let part = self.binary(BinaryOp::And, middle, mask);
        let other = self.binary(BinaryOp::Add, low_high, part);
        let middle = self.shift(ShiftOp::Right, middle, 32);
        let other = self.shift(ShiftOp::Right, other, 32);
        let sum = self.binary(BinaryOp::Add, high_high, middle);
        self.binary(BinaryOp::Add, sum, other)
    }
}

/// The lower half of 64 bits.
const LOW: u64 = 0xFFFF_FFFF;

/// The smallest s with `2^s >= divisor`.
fn ceil_log2(divisor: i64) -> u8 {
    (64 - (divisor as u64 - 1).leading_zeros()) as u8
}

/// The factor of a divisor that is no power of two, and by how much its upper product is shifted.
fn factor_of(divisor: i64) -> (u64, u8) {
    let shift = ceil_log2(divisor);
    let power = 1_u128 << (63 + shift);
    (power.div_ceil(divisor as u128) as u64, shift - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_divide_exactly() {
        let divisors = [3, 5, 7, 10, 60, 641, 3_600, 86_400, 1_000_003, 1 << 40 | 1, i64::MAX - 1, i64::MAX];
        for divisor in divisors {
            let (factor, shift) = factor_of(divisor);
            let power = 1_u128 << (64 + u32::from(shift));
            let excess = u128::from(factor) * divisor as u128 - power;
            assert!(excess <= 1 << (shift + 1), "{divisor}");
            let near = [1_i64, 2, divisor, divisor - 1, divisor.wrapping_add(1), i64::MAX, i64::MAX / 2];
            let multiples = [i64::MAX / divisor * divisor, i64::MAX / divisor * divisor - 1];
            for x in near.into_iter().chain(multiples).filter(|x| *x >= 0) {
                let quotient = ((u128::from(factor) * x as u128) >> 64) as u64 >> shift;
                assert_eq!(quotient, (x / divisor) as u64, "{x} by {divisor}");
            }
        }
    }
}
