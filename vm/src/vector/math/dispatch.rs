//! From one lane to numbers and rows: which code of a function runs on this machine.
//!
//! ```text
//!                 one number                  rows
//! x86-64          FMA, or software            AVX-512, AVX2 with FMA, or one by one in software
//! AArch64         FMA                         NEON
//! elsewhere       software                    one by one in software
//! ```
//!
//! All give the same bits (NaN being one value). Functions of FLOAT32 are computed in binary64 and
//! rounded once at the end.

use crate::vector::level::Level;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use crate::vector::math::real::Hardware;
#[cfg(not(target_arch = "aarch64"))]
use crate::vector::math::real::Software;
use crate::vector::math::real::{Binary64, FusedMultiplyAdd, Real};

/// Rows of one pass over a block: few enough to stay in the first cache.
const PASS: usize = 512;

/// A function of one number.
pub trait Unary: 'static {
    /// [`rare_lane`](Unary::rare_lane) gives the value of rare arguments.
    const RARE_IN_LANES: bool = false;

    /// Its value, without branches, wherever the argument is not [rare](Unary::rarity).
    fn lane<N: Real>(x: N) -> N;

    /// A number with the sign bit set where only [`rare`](Unary::rare) gives the value.
    #[inline(always)]
    fn rarity<N: Real>(_: N) -> N::Bits {
        N::Bits::from(0)
    }

    /// The value of a rare argument without branches, if there is [such code](Unary::RARE_IN_LANES).
    #[inline(always)]
    fn rare_lane<N: Real>(x: N) -> N {
        Self::lane(x)
    }

    /// The value of a rare argument.
    #[inline(always)]
    fn rare<A: FusedMultiplyAdd>(x: Binary64<A>) -> Binary64<A> {
        Self::rare_lane(x)
    }

    /// True where the [fast path](Unary::fast) gives the value: a finite one of a finite argument, which no operator refuses.
    #[inline(always)]
    fn is_fast<N: Real>(_: N) -> N::Mask {
        N::Mask::from(false)
    }

    /// The same bits by fewer operations. One number takes it behind a branch; rows have no branches.
    #[inline(always)]
    fn fast<N: Real>(x: N) -> N {
        Self::lane(x)
    }
}

/// A function of two numbers.
pub trait Binary: 'static {
    /// Its value, without branches, wherever the arguments are not [rare](Binary::rarity).
    fn lane<N: Real>(x: N, y: N) -> N;

    /// A number with the sign bit set where only [`rare`](Binary::rare) gives the value.
    #[inline(always)]
    fn rarity<N: Real>(_: N, _: N) -> N::Bits {
        N::Bits::from(0)
    }

    /// The value of rare arguments.
    #[inline(always)]
    fn rare<A: FusedMultiplyAdd>(x: Binary64<A>, y: Binary64<A>) -> Binary64<A> {
        Self::lane(x, y)
    }

    /// Two angles of any size, if cosine and sine of both are all that the value of rare arguments has branches for.
    #[inline(always)]
    fn rare_angles<N: Real>(_: N, _: N) -> Option<[N; 2]> {
        None
    }

    /// The value of rare arguments without branches, given cosine and sine of the [angles](Binary::rare_angles).
    #[inline(always)]
    fn rare_lane<N: Real>(x: N, y: N, _: [(N, N); 2]) -> N {
        Self::lane(x, y)
    }
}

/// A float that functions take and give.
pub trait Width: Copy + Default + 'static {
    /// As binary64, exactly.
    fn widen(self) -> f64;
    /// The nearest number of this width.
    fn narrow(x: f64) -> Self;
}

impl Width for f64 {
    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(x: f64) -> f64 {
        x
    }
}

impl Width for f32 {
    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(x: f64) -> f32 {
        x as f32
    }
}

/// Rows of an operand, or one value for all rows.
#[derive(Clone, Copy, Debug)]
pub enum MathOperand<'a, T> {
    /// A value for each row.
    Rows(&'a [T]),
    /// The same value in every row.
    One(T),
}

/// True if the machine has AVX2 and a fused multiply-add.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_fma() -> bool {
    Level::best() >= Level::Avx2
}

/// The value of a function at one number.
#[inline]
pub fn unary<F: Unary, T: Width>(x: T) -> T {
    #[cfg(target_arch = "aarch64")]
    return unary_baseline::<F, T>(x);
    #[cfg(not(target_arch = "aarch64"))]
    {
        #[cfg(target_arch = "x86_64")]
        if has_fma() {
            // SAFETY: the machine has the features of the callee.
            return unsafe { unary_fma::<F, T>(x) };
        }
        unary_baseline::<F, T>(x)
    }
}

#[inline(always)]
fn is_rare<F: Unary, A: FusedMultiplyAdd>(x: Binary64<A>) -> bool {
    F::rarity(x) >> 63 == 1
}

/// The value of a function at one number, inside another function.
#[inline(always)]
pub fn value<F: Unary, A: FusedMultiplyAdd>(x: Binary64<A>) -> Binary64<A> {
    if F::is_fast(x) {
        F::fast(x)
    } else if is_rare::<F, A>(x) {
        F::rare(x)
    } else {
        F::lane(x)
    }
}

#[inline(always)]
fn unary_any<F: Unary, T: Width, A: FusedMultiplyAdd>(x: T) -> T {
    T::narrow(value::<F, A>(x.widen().into()).get())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn unary_fma<F: Unary, T: Width>(x: T) -> T {
    unary_any::<F, T, Hardware>(x)
}

#[inline(never)]
fn unary_baseline<F: Unary, T: Width>(x: T) -> T {
    #[cfg(target_arch = "aarch64")]
    return unary_any::<F, T, Hardware>(x);
    #[cfg(not(target_arch = "aarch64"))]
    unary_any::<F, T, Software>(x)
}

/// `out[i] = f(x[i])` with the best instructions of this machine.
///
/// Panics if the sizes differ.
pub fn unary_rows<F: Unary, T: Width>(x: &[T], out: &mut [T]) {
    unary_rows_on::<F, T>(Level::best(), x, out);
}

/// `out[i] = f(x[i])` with the instructions of a level.
///
/// Panics if the sizes differ or the machine does not have the level.
pub fn unary_rows_on<F: Unary, T: Width>(level: Level, x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len(), "as many results as rows");
    assert!(level <= Level::best(), "{level:?} on a machine without it");
    for (x, out) in x.chunks(PASS).zip(out.chunks_mut(PASS)) {
        match level {
            // SAFETY: the level is available.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { unary_avx512::<F, T>(x, out) },
            // SAFETY: the level is available.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { unary_avx2::<F, T>(x, out) },
            _ => unary_rows_baseline::<F, T>(x, out),
        }
    }
}

/// A number for the functions, in code for machines with a fused multiply-add.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
#[inline(always)]
fn in_hardware<T: Width>(x: T) -> Binary64<Hardware> {
    Binary64::from(x.widen())
}

/// A pass in lanes; then the rare rows, if there were any, one by one or in lanes too.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
#[inline(always)]
fn unary_pass<F: Unary, T: Width>(x: &[T], out: &mut [T]) {
    let mut rarity = 0;
    let widen = |x: &T| in_hardware(*x);
    for (x, out) in x.iter().map(widen).zip(&mut *out) {
        rarity |= F::rarity(x);
        *out = T::narrow(F::lane(x).get());
    }
    if rarity >> 63 == 0 {
        return;
    }
    if F::RARE_IN_LANES {
        for (x, out) in x.iter().map(widen).zip(out) {
            *out = T::narrow(Binary64::select(is_rare::<F, _>(x), F::rare(x), out.widen()).get());
        }
        return;
    }
    for (x, out) in x.iter().map(widen).zip(out).filter(|(x, _)| is_rare::<F, _>(*x)) {
        *out = T::narrow(F::rare(x).get());
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn unary_avx2<F: Unary, T: Width>(x: &[T], out: &mut [T]) {
    unary_pass::<F, T>(x, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
fn unary_avx512<F: Unary, T: Width>(x: &[T], out: &mut [T]) {
    unary_pass::<F, T>(x, out);
}

fn unary_rows_baseline<F: Unary, T: Width>(x: &[T], out: &mut [T]) {
    #[cfg(target_arch = "aarch64")]
    unary_pass::<F, T>(x, out);
    #[cfg(not(target_arch = "aarch64"))]
    for (x, out) in x.iter().zip(out) {
        *out = unary_baseline::<F, T>(*x);
    }
}

/// The value of a function at two numbers.
#[inline]
pub fn binary<F: Binary, T: Width>(x: T, y: T) -> T {
    #[cfg(target_arch = "x86_64")]
    if has_fma() {
        // SAFETY: the machine has the features of the callee.
        return unsafe { binary_fma::<F, T>(x, y) };
    }
    binary_baseline::<F, T>(x, y)
}

#[inline(always)]
fn binary_any<F: Binary, T: Width, A: FusedMultiplyAdd>(x: T, y: T) -> T {
    let (x, y) = (Binary64::<A>::from(x.widen()), Binary64::from(y.widen()));
    let value = if F::rarity(x, y) >> 63 == 1 { F::rare(x, y) } else { F::lane(x, y) };
    T::narrow(value.get())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn binary_fma<F: Binary, T: Width>(x: T, y: T) -> T {
    binary_any::<F, T, Hardware>(x, y)
}

#[inline(never)]
fn binary_baseline<F: Binary, T: Width>(x: T, y: T) -> T {
    #[cfg(target_arch = "aarch64")]
    return binary_any::<F, T, Hardware>(x, y);
    #[cfg(not(target_arch = "aarch64"))]
    binary_any::<F, T, Software>(x, y)
}

/// `out[i] = f(x[i], y[i])` with the best instructions of this machine.
///
/// Panics if the sizes differ.
pub fn binary_rows<F: Binary, T: Width>(x: MathOperand<'_, T>, y: MathOperand<'_, T>, out: &mut [T]) {
    binary_rows_on::<F, T>(Level::best(), x, y, out);
}

/// `out[i] = f(x[i], y[i])` with the instructions of a level.
///
/// Panics if the sizes differ or the machine does not have the level.
pub fn binary_rows_on<F: Binary, T: Width>(
    level: Level,
    x: MathOperand<'_, T>,
    y: MathOperand<'_, T>,
    out: &mut [T],
) {
    assert!(level <= Level::best(), "{level:?} on a machine without it");
    for operand in [x, y] {
        if let MathOperand::Rows(rows) = operand {
            assert_eq!(rows.len(), out.len(), "as many results as rows");
        }
    }
    match level {
        // SAFETY: the level is available.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { binary_avx512::<F, T>(x, y, out) },
        // SAFETY: the level is available.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { binary_avx2::<F, T>(x, y, out) },
        #[cfg(target_arch = "aarch64")]
        _ => binary_pass::<Inlined<F>, T>(x, y, out),
        #[cfg(not(target_arch = "aarch64"))]
        _ => binary_pass::<Called<F>, T>(x, y, out),
    }
}

/// How the loops over rows come to a value.
trait Point<T> {
    /// The value of arguments that are not rare.
    fn value(x: T, y: T) -> T;

    /// A number with the sign bit set for rare arguments.
    fn rarity(x: T, y: T) -> u64;

    /// The value of rare arguments.
    fn rare(x: T, y: T) -> T;
}

/// The function's code is part of the loop.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
struct Inlined<F>(std::marker::PhantomData<F>);

/// The function is called for each row.
#[cfg(not(target_arch = "aarch64"))]
struct Called<F>(std::marker::PhantomData<F>);

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
impl<F: Binary, T: Width> Point<T> for Inlined<F> {
    #[inline(always)]
    fn value(x: T, y: T) -> T {
        T::narrow(F::lane(in_hardware(x), in_hardware(y)).get())
    }

    #[inline(always)]
    fn rarity(x: T, y: T) -> u64 {
        F::rarity(in_hardware(x), in_hardware(y))
    }

    #[inline(always)]
    fn rare(x: T, y: T) -> T {
        T::narrow(F::rare(in_hardware(x), in_hardware(y)).get())
    }
}

#[cfg(not(target_arch = "aarch64"))]
impl<F: Binary, T: Width> Point<T> for Called<F> {
    #[inline(always)]
    fn value(x: T, y: T) -> T {
        binary_baseline::<F, T>(x, y)
    }

    #[inline(always)]
    fn rarity(_: T, _: T) -> u64 {
        0
    }

    #[inline(always)]
    fn rare(x: T, y: T) -> T {
        Self::value(x, y)
    }
}

#[inline(always)]
fn binary_pass<P: Point<T>, T: Width>(x: MathOperand<'_, T>, y: MathOperand<'_, T>, out: &mut [T]) {
    match (x, y) {
        (MathOperand::Rows(x), MathOperand::Rows(y)) => {
            points::<P, T>(x.iter().copied().zip(y.iter().copied()), out);
        }
        (MathOperand::Rows(x), MathOperand::One(y)) => points::<P, T>(x.iter().map(|x| (*x, y)), out),
        (MathOperand::One(x), MathOperand::Rows(y)) => points::<P, T>(y.iter().map(|y| (x, *y)), out),
        (MathOperand::One(x), MathOperand::One(y)) => {
            let mut value = [T::default()];
            points::<P, T>(std::iter::once((x, y)), &mut value);
            out.fill(value[0]);
        }
    }
}

/// The points in lanes; then the rare ones, if there were any, one by one.
#[inline(always)]
fn points<P: Point<T>, T: Width>(points: impl Iterator<Item = (T, T)> + Clone, out: &mut [T]) {
    let mut rarity = 0;
    for ((x, y), out) in points.clone().zip(&mut *out) {
        rarity |= P::rarity(x, y);
        *out = P::value(x, y);
    }
    if rarity >> 63 == 1 {
        for ((x, y), out) in points.zip(out).filter(|((x, y), _)| P::rarity(*x, *y) >> 63 == 1) {
            *out = P::rare(x, y);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn binary_avx2<F: Binary, T: Width>(x: MathOperand<'_, T>, y: MathOperand<'_, T>, out: &mut [T]) {
    binary_pass::<Inlined<F>, T>(x, y, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
fn binary_avx512<F: Binary, T: Width>(x: MathOperand<'_, T>, y: MathOperand<'_, T>, out: &mut [T]) {
    binary_pass::<Inlined<F>, T>(x, y, out);
}

/// `x * y + z` with one rounding.
pub fn fused<T: Fused>(x: T, y: T, z: T) -> T {
    #[cfg(target_arch = "x86_64")]
    if has_fma() {
        // SAFETY: the machine has the features of the callee.
        return unsafe { fused_fma(x, y, z) };
    }
    #[cfg(target_arch = "aarch64")]
    return x.in_hardware(y, z);
    #[cfg(not(target_arch = "aarch64"))]
    x.in_software(y, z)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fused_fma<T: Fused>(x: T, y: T, z: T) -> T {
    x.in_hardware(y, z)
}

/// A float with a fused multiply-add.
pub trait Fused: Copy {
    /// By an instruction, in code for machines that have it.
    fn in_hardware(self, y: Self, z: Self) -> Self;

    /// In integer arithmetic.
    fn in_software(self, y: Self, z: Self) -> Self;
}

macro_rules! fused {
    ($float:ty, $hardware:path, $software:path) => {
        impl Fused for $float {
            #[inline(always)]
            fn in_hardware(self, y: Self, z: Self) -> Self {
                $hardware(self, y, z)
            }

            #[inline(always)]
            fn in_software(self, y: Self, z: Self) -> Self {
                $software(self, y, z)
            }
        }
    };
}

fused!(f64, Hardware::fma, Software::fma);
fused!(f32, f32::mul_add, libm::fmaf);

#[cfg(test)]
mod tests {
    use super::*;

    /// Halves of last places, cancellation, subnormals, infinities: where two roundings show.
    #[test]
    fn software_fuses_as_processors_do() {
        let parts =
            [0.0, -0.0, 1.0, 1.0 + f64::EPSILON, 0.1, -1e-300, 5e-324, 1e308, f64::INFINITY, f64::NAN];
        for (i, j, k) in (0..1000).map(|n| (n / 100, n / 10 % 10, n % 10)) {
            let (x, y) = (parts[i], parts[j]);
            for z in [parts[k], -(x * y)] {
                let (found, expected) = (x.in_software(y, z), fused(x, y, z));
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x} {y} {z}"
                );
                let [x, y, z] = [x as f32, y as f32, z as f32];
                let (found, expected) = (x.in_software(y, z), fused(x, y, z));
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x} {y} {z}"
                );
            }
        }
    }
}
