//! Rules by primitive: operators that may refuse their operands. The cell of the instruction raises.

use crate::jit::emitter::{Emitter, Instructed};
use crate::operator::Overload;
use crate::operator::primitive::Primitive;
use crate::value::qtype::{FLOAT32, FLOAT64, INT32, INT64};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// Computes an operator by its primitive; false if it has none, or not for these types.
pub(super) fn emit(
    e: &mut Emitter<'_, '_>,
    primitive: Option<Primitive>,
    overload: &Overload,
    instructed: Instructed<'_>,
) -> bool {
    let Some(primitive) = primitive else { return false };
    let is_integer = overload.args().iter().all(|qtype| *qtype == INT64);
    let is_narrow = overload.args().iter().all(|qtype| *qtype == INT32);
    let is_float = overload.args().iter().all(|qtype| *qtype == FLOAT64);
    let fits = match primitive {
        Primitive::FloorDivide | Primitive::Modulo => is_integer || is_narrow,
        Primitive::Divide => is_integer || is_float,
        Primitive::Sqrt => is_float,
        Primitive::Floor | Primitive::Ceil | Primitive::RoundEven => is_float && e.abilities.rounds,
        Primitive::Truncate => is_float || overload.args() == [FLOAT32],
        Primitive::Get(..) | Primitive::Set(..) | Primitive::Length => false,
        _ => is_integer,
    };
    if !fits {
        return false;
    }
    let operands: Vec<Value> = instructed.operands.iter().map(|value| e.scalar(*value)).collect();
    let mut rule = Rule { e, instructed };
    match (primitive, &operands[..]) {
        (Primitive::CheckedAdd, &[x, y]) => rule.checked(|e| e.b.ins().sadd_overflow(x, y)),
        (Primitive::CheckedSubtract, &[x, y]) => rule.checked(|e| e.b.ins().ssub_overflow(x, y)),
        (Primitive::CheckedMultiply, &[x, y]) => rule.checked(|e| e.b.ins().smul_overflow(x, y)),
        (Primitive::CheckedNeg, &[x]) => rule.checked(|e| {
            let zero = e.b.ins().iconst(types::I64, 0);
            e.b.ins().ssub_overflow(zero, x)
        }),
        (Primitive::CheckedAbs, &[x]) => rule.checked(|e| {
            let size = e.b.ins().iabs(x);
            (size, e.b.ins().icmp_imm_s(IntCC::SignedLessThan, size, 0))
        }),
        (Primitive::CheckedShiftLeft, &[x, n]) => rule.checked(|e| {
            let shifted = e.b.ins().ishl(x, n);
            let back = e.b.ins().sshr(shifted, n);
            let is_far = e.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, n, 64);
            let is_lost = e.b.ins().icmp(IntCC::NotEqual, back, x);
            (shifted, e.b.ins().bor(is_far, is_lost))
        }),
        (Primitive::ShiftRight, &[x, n]) => rule.checked(|e| {
            let most = e.b.ins().iconst(types::I64, 63);
            let bits = e.b.ins().umin(n, most);
            (e.b.ins().sshr(x, bits), e.b.ins().icmp_imm_s(IntCC::SignedLessThan, n, 0))
        }),
        (Primitive::WrappingShiftLeft, &[x, n]) => rule.always(|e| e.b.ins().ishl(x, n)),
        (Primitive::WrappingShiftRight, &[x, n]) => rule.always(|e| e.b.ins().sshr(x, n)),
        (Primitive::Index, &[index, size]) => rule.checked(|e| {
            let from_end = e.b.ins().iadd(index, size);
            let is_negative = e.b.ins().icmp_imm_s(IntCC::SignedLessThan, index, 0);
            let place = e.b.ins().select(is_negative, from_end, index);
            let is_outside = e.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, place, size);
            let is_no_size = e.b.ins().icmp_imm_s(IntCC::SignedLessThan, size, 0);
            (place, e.b.ins().bor(is_outside, is_no_size))
        }),
        (Primitive::FloorDivide, &[x, y]) => rule.floor_divide(x, y),
        (Primitive::Modulo, &[x, y]) => rule.modulo(x, y),
        (Primitive::Divide, &[x, y]) if is_float => {
            let zero = rule.e.b.ins().f64const(0.0);
            let refused = rule.e.b.ins().fcmp(FloatCC::Equal, y, zero);
            rule.unless(refused, |e| e.b.ins().fdiv(x, y));
        }
        (Primitive::Divide, &[x, y]) => rule.divide_integers(x, y),
        (Primitive::Truncate, &[x]) => {
            let wide = match overload.args() == [FLOAT32] {
                true => rule.e.b.ins().fpromote(types::F64, x),
                false => x,
            };
            let is_narrow = *overload.result() == INT32;
            rule.cut(wide, is_narrow);
        }
        (Primitive::Floor, &[x]) => {
            let x = rule.e.b.ins().floor(x);
            rule.cut(x, false);
        }
        (Primitive::Ceil, &[x]) => {
            let x = rule.e.b.ins().ceil(x);
            rule.cut(x, false);
        }
        (Primitive::RoundEven, &[x]) => {
            let x = rule.e.b.ins().nearest(x);
            rule.cut(x, false);
        }
        (Primitive::Narrow, &[x]) => rule.checked(|e| {
            let narrow = e.b.ins().ireduce(types::I32, x);
            let wide = e.b.ins().sextend(types::I64, narrow);
            (narrow, e.b.ins().icmp(IntCC::NotEqual, wide, x))
        }),
        (Primitive::Sqrt, &[x]) => {
            let zero = rule.e.b.ins().f64const(0.0);
            let refused = rule.e.b.ins().fcmp(FloatCC::LessThan, x, zero);
            rule.unless(refused, |e| e.b.ins().sqrt(x));
        }
        (Primitive::RangeCount, &[start, stop, step]) => rule.range_count(start, stop, step),
        _ => return false,
    }
    true
}

/// True of a shift of INT64 that refuses no operands.
pub(super) fn is_wrapping_shift(overload: &Overload) -> bool {
    let is_shift =
        matches!(overload.primitive(), Some(Primitive::WrappingShiftLeft | Primitive::WrappingShiftRight));
    is_shift && overload.args().iter().all(|qtype| *qtype == INT64)
}

struct Rule<'i, 'e, 'r, 'f> {
    e: &'e mut Emitter<'r, 'f>,
    instructed: Instructed<'i>,
}

impl<'r, 'f> Rule<'_, '_, 'r, 'f> {
    /// A result that is there whether or not it is refused.
    fn checked(&mut self, compute: impl FnOnce(&mut Emitter<'r, 'f>) -> (Value, Value)) {
        let (value, refused) = compute(self.e);
        self.unless(refused, |_| value);
    }

    /// A result for all operands.
    fn always(&mut self, compute: impl FnOnce(&mut Emitter<'r, 'f>) -> Value) {
        let value = compute(self.e);
        let result = self.instructed.results[0];
        let leaf = self.e.leaves(result)[0];
        self.e.define(result, leaf, value);
    }

    fn unless(&mut self, refused: Value, usual: impl FnOnce(&mut Emitter<'r, 'f>) -> Value) {
        self.e.unless(&[refused], self.instructed, |e| Some(usual(e)));
    }

    /// Where a quotient of integers is refused: by zero, and of the smallest one by -1.
    fn no_quotient(&mut self, x: Value, y: Value) -> Value {
        let ty = self.e.b.func.dfg.value_type(x);
        let smallest = if ty == types::I64 { i64::MIN } else { i64::from(i32::MIN) & 0xFFFF_FFFF };
        let smallest = self.e.b.ins().iconst(ty, smallest);
        let is_smallest = self.e.b.ins().icmp(IntCC::Equal, x, smallest);
        let is_minus_one = self.e.b.ins().icmp_imm_s(IntCC::Equal, y, -1);
        let is_zero = self.e.b.ins().icmp_imm_s(IntCC::Equal, y, 0);
        let overflows = self.e.b.ins().band(is_smallest, is_minus_one);
        self.e.b.ins().bor(is_zero, overflows)
    }

    fn floor_divide(&mut self, x: Value, y: Value) {
        let refused = self.no_quotient(x, y);
        self.unless(refused, |e| {
            let quotient = e.b.ins().sdiv(x, y);
            let product = e.b.ins().imul(quotient, y);
            let remainder = e.b.ins().isub(x, product);
            let is_other = is_of_other_sign(e, remainder, y);
            let ty = e.b.func.dfg.value_type(x);
            let one = e.b.ins().uextend(ty, is_other);
            e.b.ins().isub(quotient, one)
        });
    }

    fn modulo(&mut self, x: Value, y: Value) {
        let refused = self.no_quotient(x, y);
        self.unless(refused, |e| {
            let remainder = e.b.ins().srem(x, y);
            let is_other = is_of_other_sign(e, remainder, y);
            let moved = e.b.ins().iadd(remainder, y);
            e.b.ins().select(is_other, moved, remainder)
        });
    }

    /// The quotient of integers that floats have exactly.
    fn divide_integers(&mut self, x: Value, y: Value) {
        const EXACT: i64 = 1 << 53;
        let is_large = |e: &mut Emitter<'r, 'f>, x: Value| {
            let moved = e.b.ins().iadd_imm_s(x, EXACT);
            e.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, moved, 2 * EXACT)
        };
        let (x_is_large, y_is_large) = (is_large(self.e, x), is_large(self.e, y));
        let is_zero = self.e.b.ins().icmp_imm_s(IntCC::Equal, y, 0);
        let is_large = self.e.b.ins().bor(x_is_large, y_is_large);
        let refused = self.e.b.ins().bor(is_large, is_zero);
        self.unless(refused, |e| {
            let [x, y] = [x, y].map(|x| e.b.ins().fcvt_from_sint(types::F64, x));
            e.b.ins().fdiv(x, y)
        });
    }

    /// A FLOAT64 cut to an INT64, or an INT32 if `is_narrow`.
    fn cut(&mut self, x: Value, is_narrow: bool) {
        // Both bounds of INT64 are floats; those of INT32 are one beyond, and excluded.
        let (low, above, high, ty) = match is_narrow {
            false => (-(2f64.powi(63)), FloatCC::GreaterThanOrEqual, 2f64.powi(63), types::I64),
            true => (f64::from(i32::MIN) - 1.0, FloatCC::GreaterThan, 2f64.powi(31), types::I32),
        };
        let (low, high) = (self.e.b.ins().f64const(low), self.e.b.ins().f64const(high));
        let is_above = self.e.b.ins().fcmp(above, x, low);
        let is_below = self.e.b.ins().fcmp(FloatCC::LessThan, x, high);
        let fits = self.e.b.ins().band(is_above, is_below);
        let refused = self.e.b.ins().bxor_imm_u(fits, 1);
        self.unless(refused, |e| e.b.ins().fcvt_to_sint_sat(ty, x));
    }

    /// That of a step above zero.
    fn range_count(&mut self, start: Value, stop: Value, step: Value) {
        let refused = self.e.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, step, 0);
        let distance = self.e.b.ins().isub(stop, start);
        // A distance beyond INT64.
        let is_below = self.e.b.ins().icmp(IntCC::SignedLessThan, start, stop);
        let is_negative = self.e.b.ins().icmp_imm_s(IntCC::SignedLessThan, distance, 0);
        let is_far = self.e.b.ins().band(is_below, is_negative);
        let refused = self.e.b.ins().bor(refused, is_far);
        self.unless(refused, |e| {
            let before = e.b.ins().iadd_imm_s(distance, -1);
            let steps = e.b.ins().udiv(before, step);
            let count = e.b.ins().iadd_imm_s(steps, 1);
            let none = e.b.ins().iconst(types::I64, 0);
            e.b.ins().select(is_below, count, none)
        });
    }
}

/// True if a remainder is not zero, and below zero where the divisor is not, or the other way round.
fn is_of_other_sign(e: &mut Emitter<'_, '_>, remainder: Value, divisor: Value) -> Value {
    let is_rest = e.b.ins().icmp_imm_s(IntCC::NotEqual, remainder, 0);
    let signs = e.b.ins().bxor(remainder, divisor);
    let differ = e.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
    e.b.ins().band(is_rest, differ)
}
