//! Reduction of angles of any size to an eighth of a turn (Payne and Hanek).
//!
//! ```text
//! |x| = M 2^E,  M an integer of 53 bits
//! 2/π = 0.1010 0010 1111 …                    in binary
//!           └── 192 bits from bit E - 2 on ──┘  = W
//! M W mod 2^192, as a fraction of four quarter turns: two bits of quadrant, 190 of the rest
//! ```
//!
//! Bits of 2/π before the window make whole turns. No binary64 is closer than 2^-62 to a multiple of a quarter
//! turn, so that 75 bits of the rest are good. All of it is integer arithmetic but the last product.

use crate::vector::math::arithmetic::Double;
use crate::vector::math::real::{Binary64, FusedMultiplyAdd, Real};

/// π/2 in twice the precision.
const HALF_PI: Double<f64> = Double { high: std::f64::consts::FRAC_PI_2, low: 6.123233995736766e-17 };

/// A word of zeros, then the bits of 2/π.
const TWO_OVER_PI: [u64; 20] = [
    0,
    0xA2F9_836E_4E44_1529,
    0xFC27_57D1_F534_DDC0,
    0xDB62_9599_3C43_9041,
    0xFE51_63AB_DEBB_C561,
    0xB724_6E3A_424D_D2E0,
    0x0649_2EEA_09D1_921C,
    0xFE1D_EB1C_B129_A73E,
    0xE882_35F5_2EBB_4484,
    0xE99C_7026_B45F_7E41,
    0x3991_D639_8353_39F4,
    0x9C84_5F8B_BDF9_283B,
    0x1FF8_97FF_DE05_980F,
    0xEF2F_118B_5A0A_6D1F,
    0x6D36_7ECF_27CB_09B7,
    0x4F46_3F66_9E5F_EA2D,
    0x7527_BAC7_EBE5_F17B,
    0x3D07_39F7_8A52_92EA,
    0x6BFB_5FB1_1F8D_5D08,
    0x5603_3046_FC7B_6BAB,
];

/// The number of quarter turns nearest to a finite angle of at least 1, modulo 4, and the rest in radians.
pub fn quarter_turns<A: FusedMultiplyAdd>(x: Binary64<A>) -> (u64, Double<Binary64<A>>) {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7FF) as i32 - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
    let turn = times(window((exponent + 62) as usize), mantissa);
    let quadrant = turn[0] >> 62;
    let fraction = shift_left(turn, 2);
    match fraction[0] >> 63 {
        0 => (quadrant, radians(fraction, 1.0)),
        _ => ((quadrant + 1) & 3, radians(fraction.map(|word| !word), -1.0)),
    }
}

/// 192 bits of the table.
fn window(bit: usize) -> [u64; 3] {
    let (word, shift) = (bit / 64, bit % 64);
    std::array::from_fn(|i| {
        let next = TWO_OVER_PI.get(word + i + 1).copied().unwrap_or(0);
        TWO_OVER_PI[word + i] << shift | next >> 1 >> (63 - shift)
    })
}

/// The product modulo 2^192; the highest word is the first.
fn times(window: [u64; 3], factor: u64) -> [u64; 3] {
    let mut product = [0; 3];
    let mut carry = 0;
    for (word, result) in window.iter().zip(&mut product).rev() {
        let wide = u128::from(*word) * u128::from(factor) + carry;
        *result = wide as u64;
        carry = wide >> 64;
    }
    product
}

/// Bits moved up by 0 to 63.
fn shift_left(words: [u64; 3], bits: u32) -> [u64; 3] {
    let joined = |high: u64, low: u64| high << bits | low >> 1 >> (63 - bits);
    [joined(words[0], words[1]), joined(words[1], words[2]), words[2] << bits]
}

/// A fraction of a quarter turn below one half, in radians.
fn radians<N: Real>(fraction: [u64; 3], sign: f64) -> Double<N> {
    let mut exponent = -64;
    let mut words = fraction;
    if words[0] == 0 {
        (words, exponent) = ([words[1], words[2], 0], exponent - 64);
    }
    let zeros = words[0].leading_zeros();
    let words = shift_left(words, zeros.min(63));
    let unit = f64::from_bits(((1023 + exponent - zeros as i32) as u64) << 52) * sign;
    // 53 bits, then the 64 behind them.
    let high = (words[0] >> 11) as f64 * 2048.0;
    let low = (words[0] << 53 | words[1] >> 11) as f64 / 9_007_199_254_740_992.0;
    let fraction = Double::fast_sum(high * unit, N::from(low * unit));
    let product = fraction.times(HALF_PI.operand());
    Double::fast_sum(product.high, product.low)
}
