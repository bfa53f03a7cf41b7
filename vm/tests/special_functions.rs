//! The special functions: recorded multi-precision points, and the same bits from all instructions.
//!
//! `tests/oracles/math` has 1,000 points of each function and width, hard cases first; `points.py` in
//! `benches/peers/vector_math` made them and describes the format.

use cembra_vm::vector::Level;
use cembra_vm::vector::math::dispatch::Width;
use cembra_vm::vector::math::{BinaryFunction, MathOperand, UnaryFunction, double, single};

/// The errors that `docs/accuracy.md` promises, in units of the last place: FLOAT64, FLOAT32.
const PROMISED: [(&str, f64, f64); 31] = [
    ("exp", 1.0, 0.51),
    ("exp2", 1.0, 0.51),
    ("expm1", 1.15, 0.51),
    ("sigmoid", 1.0, 0.51),
    ("ln", 1.0, 0.51),
    ("log2", 1.15, 0.51),
    ("log10", 1.0, 0.51),
    ("log1p", 1.0, 0.51),
    ("sqrt", 0.51, 0.51),
    ("cbrt", 0.55, 0.51),
    ("cube", 0.76, 0.51),
    ("fourth", 0.76, 0.51),
    ("root", 0.51, 0.51),
    ("sin", 1.0, 0.51),
    ("cos", 1.0, 0.51),
    ("tan", 1.2, 0.51),
    ("asin", 1.0, 0.51),
    ("acos", 1.0, 0.51),
    ("atan", 1.5, 0.51),
    ("sinh", 1.0, 0.51),
    ("cosh", 1.0, 0.51),
    ("tanh", 1.0, 0.51),
    ("asinh", 1.0, 0.51),
    ("acosh", 1.0, 0.51),
    ("atanh", 1.0, 0.51),
    ("erf", 2.0, 0.51),
    ("erfc", 1.1, 0.51),
    ("lgamma", 2.8, 0.51),
    ("pow", 1.0, 0.51),
    ("hypot", 1.0, 0.51),
    ("atan2", 1.7, 0.51),
];

/// A width with its bits.
trait Bits: Width + PartialEq + std::fmt::Debug {
    const SUFFIX: &str;
    fn of_digits(digits: &str) -> Self;
    fn word(self) -> u64;
    /// The unit of the last place.
    fn unit(self) -> f64;
}

impl Bits for f64 {
    const SUFFIX: &str = "f64";
    fn of_digits(digits: &str) -> f64 {
        f64::from_bits(u64::from_str_radix(&format!("{digits:0<16}"), 16).expect("hexadecimal digits"))
    }
    fn word(self) -> u64 {
        self.to_bits()
    }
    fn unit(self) -> f64 {
        let exponent = (self.to_bits() >> 52 & 0x7FF).max(1);
        f64::from_bits(1) * 2f64.powi(exponent as i32 - 1)
    }
}

impl Bits for f32 {
    const SUFFIX: &str = "f32";
    fn of_digits(digits: &str) -> f32 {
        f32::from_bits(u32::from_str_radix(&format!("{digits:0<8}"), 16).expect("hexadecimal digits"))
    }
    fn word(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn unit(self) -> f64 {
        let exponent = (self.to_bits() >> 23 & 0xFF).max(1);
        2f64.powi(exponent as i32 - 150)
    }
}

/// A recorded point: arguments, rounded value, and the rest in units of the last place.
struct Point<T> {
    arguments: Vec<T>,
    value: T,
    rest: f64,
}

fn points<T: Bits>(name: &str) -> Vec<Point<T>> {
    let path = format!("{}/../tests/oracles/math/{name}.{}", env!("CARGO_MANIFEST_DIR"), T::SUFFIX);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let point = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [arguments @ .., value, rest] = &words[..] else { panic!("{path}: {line}") };
        Point {
            arguments: arguments.iter().map(|digits| T::of_digits(digits)).collect(),
            value: if *value == "nan" { T::narrow(f64::NAN) } else { T::of_digits(value) },
            rest: rest.parse::<f64>().expect("hundredths of a unit") / 100.0,
        }
    };
    text.lines().map(point).collect()
}

/// The error of a result in units of the last place; infinite if it is another kind of number.
fn error<T: Bits>(name: &str, point: &Point<T>, result: T) -> f64 {
    let (expected, got) = (point.value.widen(), result.widen());
    // Near its zeros between negative integers lgamma has a small absolute error only.
    let unit = if name == "lgamma" { point.value.unit().max(f64::EPSILON / 2.0) } else { point.value.unit() };
    let same_kind = match expected {
        _ if expected.is_nan() => got.is_nan(),
        _ if expected == 0.0 && point.rest == 0.0 => expected.to_bits() == got.to_bits(),
        _ if expected.is_infinite() => return if expected == got { 0.0 } else { f64::INFINITY },
        _ => got.is_finite(),
    };
    match (same_kind, expected.is_nan()) {
        (false, _) => f64::INFINITY,
        (_, true) => 0.0,
        _ => ((got - expected) / point.value.unit() - point.rest).abs() * (point.value.unit() / unit),
    }
}

/// Compares results with the points of a function; complains of all that are worse than promised.
fn check<T: Bits>(name: &str, how: &str, points: &[Point<T>], results: &[T]) -> Vec<String> {
    let promised = PROMISED.iter().find(|row| row.0 == name).expect("a promise for every function");
    // The rest has two digits.
    let bound = 0.006 + if T::SUFFIX == "f64" { promised.1 } else { promised.2 };
    let worse = |(point, result): (&Point<T>, &T)| {
        let error = error(name, point, *result);
        (error > bound).then(|| {
            let arguments = &point.arguments;
            format!(
                "{name}.{} {how}: {arguments:?} is {result:?}, not {:?}: {error:.2} units",
                T::SUFFIX,
                point.value
            )
        })
    };
    points.iter().zip(results).filter_map(worse).collect()
}

fn column<T: Bits>(points: &[Point<T>], index: usize) -> Vec<T> {
    points.iter().map(|point| point.arguments[index]).collect()
}

fn unary_complaints<T: Bits>(function: &UnaryFunction<T>) -> Vec<String> {
    let points = points::<T>(function.name);
    assert_eq!(points.len(), 1000, "{}", function.name);
    let x = column(&points, 0);
    let ones: Vec<T> = x.iter().map(|x| (function.one)(*x)).collect();
    let mut complaints = check(function.name, "alone", &points, &ones);
    for level in Level::available().iter().copied() {
        let mut out = vec![T::default(); x.len()];
        (function.rows_on)(level, &x, &mut out);
        complaints.extend(differences(function.name, level, &ones, &out));
    }
    complaints
}

fn binary_complaints<T: Bits>(function: &BinaryFunction<T>) -> Vec<String> {
    let points = points::<T>(function.name);
    assert_eq!(points.len(), 1000, "{}", function.name);
    let (x, y) = (column(&points, 0), column(&points, 1));
    let ones: Vec<T> = x.iter().zip(&y).map(|(x, y)| (function.one)(*x, *y)).collect();
    let mut complaints = check(function.name, "alone", &points, &ones);
    for level in Level::available().iter().copied() {
        let mut out = vec![T::default(); x.len()];
        (function.rows_on)(level, MathOperand::Rows(&x), MathOperand::Rows(&y), &mut out);
        complaints.extend(differences(function.name, level, &ones, &out));
        // One operand for all rows.
        let expected: Vec<T> = x.iter().map(|x| (function.one)(*x, y[7])).collect();
        (function.rows_on)(level, MathOperand::Rows(&x), MathOperand::One(y[7]), &mut out);
        complaints.extend(differences(function.name, level, &expected, &out));
        let expected: Vec<T> = y.iter().map(|y| (function.one)(x[500], *y)).collect();
        (function.rows_on)(level, MathOperand::One(x[500]), MathOperand::Rows(&y), &mut out);
        complaints.extend(differences(function.name, level, &expected, &out));
        (function.rows_on)(level, MathOperand::One(x[500]), MathOperand::One(y[7]), &mut out);
        let expected = vec![(function.one)(x[500], y[7]); out.len()];
        complaints.extend(differences(function.name, level, &expected, &out));
    }
    complaints
}

/// Rows of a level that are not those of the function alone; NaN is one value.
fn differences<T: Bits>(name: &str, level: Level, ones: &[T], rows: &[T]) -> Vec<String> {
    let differ =
        |(one, row): &(&T, &T)| one.word() != row.word() && !(one.widen().is_nan() && row.widen().is_nan());
    let pairs = ones.iter().zip(rows).filter(differ);
    pairs.map(|(one, row)| format!("{name}.{} on {level:?}: {row:?}, alone {one:?}", T::SUFFIX)).collect()
}

fn none(complaints: Vec<String>) {
    let shown = complaints.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
    assert!(complaints.is_empty(), "{} complaints\n{shown}", complaints.len());
}

#[test]
fn recorded_points_of_doubles() {
    let unary = double::unary_functions();
    let binary = double::binary_functions();
    assert_eq!(unary.len() + binary.len(), PROMISED.len());
    let mut complaints: Vec<String> = unary.iter().flat_map(unary_complaints).collect();
    complaints.extend(binary.iter().flat_map(binary_complaints));
    none(complaints);
}

#[test]
fn recorded_points_of_singles() {
    let mut complaints: Vec<String> = single::unary_functions().iter().flat_map(unary_complaints).collect();
    complaints.extend(single::binary_functions().iter().flat_map(binary_complaints));
    none(complaints);
}

/// Numbers of all magnitudes, most of them near 1.
fn spread(count: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let number = |bits: u64, kind: u64| match kind % 4 {
        0 => f64::from_bits(bits),
        1 => (bits >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0,
        2 => ((bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 64.0,
        _ => ((bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 1600.0,
    };
    (0..count).map(|i| number(next(), i as u64)).collect()
}

/// All instructions on as many numbers as `CEMBRA_POINTS` says; a million take minutes in software.
#[test]
fn all_instructions_give_the_same_bits() {
    let count = std::env::var("CEMBRA_POINTS").ok().and_then(|count| count.parse().ok()).unwrap_or(3000);
    let (x, mut y) = (spread(count), spread(count));
    y.reverse();
    let mut baseline = vec![0.0; count];
    let mut out = vec![0.0; count];
    let mut complaints = Vec::new();
    for function in double::unary_functions() {
        (function.rows_on)(Level::Baseline, &x, &mut baseline);
        for level in Level::available().iter().copied() {
            (function.rows_on)(level, &x, &mut out);
            complaints.extend(differences(function.name, level, &baseline, &out));
        }
        (function.rows)(&x, &mut out);
        complaints.extend(differences(function.name, Level::best(), &baseline, &out));
    }
    for function in double::binary_functions() {
        (function.rows_on)(Level::Baseline, MathOperand::Rows(&x), MathOperand::Rows(&y), &mut baseline);
        for level in Level::available().iter().copied() {
            (function.rows_on)(level, MathOperand::Rows(&x), MathOperand::Rows(&y), &mut out);
            complaints.extend(differences(function.name, level, &baseline, &out));
        }
    }
    none(complaints);
}

/// One number takes a fast path where there is one, rows do not. `CEMBRA_POINTS` says how many random numbers.
#[test]
fn fast_paths_give_the_bits_of_rows() {
    let count = std::env::var("CEMBRA_POINTS").map_or(100_000, |n| n.parse().expect("a number"));
    let mantissas = [0, 1, 0x5_5555_5555_5555, 0x6_a09e_667f_3bcc, 0x6_a09e_667f_3bcd, 0xf_ffff_ffff_ffff];
    let powers = (0..0x800u64)
        .flat_map(|exponent| mantissas.map(|mantissa| f64::from_bits(exponent << 52 | mantissa)));
    let borders = [700.0f64, 709.782712893384, 745.1332191019412, f64::MIN_POSITIVE, f64::MAX];
    let borders = borders.into_iter().flat_map(|x| [x.next_down(), x, x.next_up()]);
    let both = powers.chain(borders).flat_map(|x| [x, -x]);
    let mut x: Vec<f64> = both.collect();
    x.extend(spread(count));
    let mut rows = vec![0.0; x.len()];
    let mut complaints = Vec::new();
    for function in double::unary_functions().iter().filter(|function| ["exp", "ln"].contains(&function.name))
    {
        let ones: Vec<f64> = x.iter().map(|x| (function.one)(*x)).collect();
        for level in Level::available().iter().copied().filter(|level| *level != Level::Baseline) {
            (function.rows_on)(level, &x, &mut rows);
            complaints.extend(differences(function.name, level, &ones, &rows));
        }
    }
    none(complaints);
}

#[test]
fn exact_cases() {
    for k in -1022..1024i32 {
        let power = 2f64.powi(k);
        assert_eq!(double::exp2(f64::from(k)), power);
        assert_eq!(double::log2(power), f64::from(k));
        assert_eq!(double::pow(2.0, f64::from(k)), power);
    }
    for k in 0..23 {
        assert_eq!(double::log10(10f64.powi(k)), f64::from(k));
        assert_eq!(double::pow(10.0, f64::from(k)), 10f64.powi(k));
    }
    for k in -1000..1000 {
        let x = f64::from(k);
        assert_eq!(double::cbrt(x * x * x), x);
        assert_eq!(double::pow(x, 3.0), x * x * x);
        assert_eq!(double::hypot(3.0 * x, 4.0 * x), (5.0 * x).abs());
    }
}

/// So that a rule may write products for powers.
#[test]
fn first_and_second_powers_are_exact() {
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..100_000 {
        bits = bits.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        let x = f64::from_bits(bits);
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        assert!(same(double::pow(x, 1.0), x) && same(double::pow(x, 2.0), x * x), "{x:e}");
        let x = f32::from_bits((bits >> 32) as u32);
        let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        assert!(same(single::pow(x, 1.0), x) && same(single::pow(x, 2.0), x * x), "{x:e}");
    }
}

/// Points of the whole plane in `tests/oracles/math/faddeeva.f64`: an argument, the function and its slope there,
/// as pairs of numbers.
fn faddeeva_points() -> Vec<[f64; 6]> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/oracles/math/faddeeva.f64");
    let text = std::fs::read_to_string(path).expect("a recorded file");
    let point = |line: &str| {
        let words: Vec<f64> = line.split(' ').map(f64::of_digits).collect();
        words.try_into().unwrap_or_else(|_| panic!("{path}: {line}"))
    };
    text.lines().map(point).collect()
}

/// The error of a complex number, relative to its magnitude.
fn complex_error(got: (f64, f64), expected: (f64, f64)) -> f64 {
    (got.0 - expected.0).hypot(got.1 - expected.1) / expected.0.hypot(expected.1)
}

#[test]
fn recorded_points_of_the_faddeeva_function() {
    let points = faddeeva_points();
    assert_eq!(points.len(), 1000);
    let (mut worst, mut worst_slope, mut worst_real) = (0.0f64, 0.0f64, 0.0f64);
    for [x, y, real, imaginary, slope_real, slope_imaginary] in points {
        let got = (double::faddeeva_real(x, y), double::faddeeva_imag(x, y));
        let error = complex_error(got, (real, imaginary));
        assert!(error <= 1e-14, "w({x} + {y}i) = {got:?}, not {real} + {imaginary}i: {error:e}");
        worst = worst.max(error);
        let got = (double::faddeeva_slope_real(x, y), double::faddeeva_slope_imag(x, y));
        let error = complex_error(got, (slope_real, slope_imaginary));
        let expected = format!("{slope_real} + {slope_imaginary}i");
        assert!(error <= 4e-14, "w'({x} + {y}i) = {got:?}, not {expected}: {error:e}");
        worst_slope = worst_slope.max(error);
        if y >= 0.0 && real > f64::MIN_POSITIVE {
            worst_real = worst_real.max((double::faddeeva_real(x, y) - real).abs() / real);
        }
    }
    assert!(worst > 0.0 && worst_slope > 0.0, "an error of nothing is a test of nothing");
    assert!(worst_real <= 2e-15, "the real part, which Voigt profiles are, errs by {worst_real:e} of itself");
}

/// Parts of the function by all instructions, with rows and with one value for all rows.
#[test]
fn all_instructions_give_the_same_parts_of_the_faddeeva_function() {
    let (mut x, mut y): (Vec<f64>, Vec<f64>) =
        faddeeva_points().iter().map(|point| (point[0], point[1])).unzip();
    let (more, mut reversed) = (spread(1000), spread(1000));
    reversed.reverse();
    x.extend(more);
    y.extend(reversed);
    // Pairs that are large angles below the real axis, and what is no number.
    for (across, down) in [(1e5, -1e5), (-3e7, -3e7), (1e200, -1e200), (f64::NAN, -1.0), (1.0, f64::NAN)] {
        x.push(across);
        y.push(down);
    }
    let mut out = vec![0.0; x.len()];
    let mut complaints = Vec::new();
    for function in double::plane_functions() {
        let ones: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (function.one)(*x, *y)).collect();
        let across: Vec<f64> = x.iter().map(|x| (function.one)(*x, y[0])).collect();
        let up: Vec<f64> = y.iter().map(|y| (function.one)(x[500], *y)).collect();
        for level in Level::available().iter().copied() {
            (function.rows_on)(level, MathOperand::Rows(&x), MathOperand::Rows(&y), &mut out);
            complaints.extend(differences(function.name, level, &ones, &out));
            (function.rows_on)(level, MathOperand::Rows(&x), MathOperand::One(y[0]), &mut out);
            complaints.extend(differences(function.name, level, &across, &out));
            (function.rows_on)(level, MathOperand::One(x[500]), MathOperand::Rows(&y), &mut out);
            complaints.extend(differences(function.name, level, &up, &out));
            (function.rows_on)(level, MathOperand::One(x[500]), MathOperand::One(y[0]), &mut out);
            complaints.extend(differences(function.name, level, &vec![across[500]; out.len()], &out));
        }
    }
    none(complaints);
}

#[test]
fn faddeeva_at_its_limits() {
    let infinity = f64::INFINITY;
    let w = |x, y| (double::faddeeva_real(x, y), double::faddeeva_imag(x, y));
    let slope = |x, y| (double::faddeeva_slope_real(x, y), double::faddeeva_slope_imag(x, y));
    assert_eq!(w(0.0, 0.0), (1.0, 0.0));
    assert_eq!(w(0.0, -40.0), (infinity, 0.0));
    assert_eq!(slope(0.0, -40.0), (0.0, infinity));
    for (x, y) in [(infinity, 1.0), (-infinity, 0.0), (1.0, infinity), (infinity, infinity), (infinity, -1.0)]
    {
        assert_eq!(w(x, y), (0.0, 0.0), "{x} {y}");
        assert_eq!(slope(x, y), (0.0, 0.0), "{x} {y}");
    }
    assert_eq!((w(0.0, -infinity), slope(0.0, -infinity)), ((infinity, 0.0), (0.0, infinity)));
    for (x, y) in [(f64::NAN, 0.0), (0.0, f64::NAN), (f64::NAN, infinity), (infinity, f64::NAN)] {
        for part in [w(x, y).0, w(x, y).1, slope(x, y).0, slope(x, y).1] {
            assert!(part.is_nan(), "{x} {y}");
        }
    }
    // On the real axis real parts are Gaussians, on the imaginary axis all is real, and slopes are imaginary.
    assert_eq!(w(20.0, 0.0).0, double::exp(-400.0));
    assert_eq!(slope(20.0, 0.0).0, -40.0 * double::exp(-400.0));
    assert_eq!((w(0.0, 2.5).1, slope(0.0, 2.5).0), (0.0, 0.0));
    // The largest and the smallest numbers.
    let far = (1.0 / (2.0 * std::f64::consts::PI.sqrt()) / 1e308, w(1e308, 1e308));
    assert!(complex_error(far.1, (far.0, far.0)) < 1e-14, "{far:?}");
    assert_eq!(w(f64::MAX, f64::MAX).0, w(f64::MAX, f64::MAX).1);
    assert_eq!((w(5e-324, 5e-324).0, slope(5e-324, 5e-324).1), (1.0, slope(0.0, 0.0).1));
}

/// Bits of results that are no accident: whoever changes them has changed a function.
const HASHES: [(&str, u64); 35] = [
    ("exp", 0x7FDF_1225_1AD5_CED0),
    ("exp2", 0x5156_C5C3_951E_873D),
    ("expm1", 0x52F6_43CD_809F_8C2F),
    ("sigmoid", 0x632F_E1D8_DF7E_ED35),
    ("ln", 0xD60A_84F5_1A62_69B5),
    ("log2", 0x69F3_9CF8_3F18_215D),
    ("log10", 0xA243_53CD_A148_7689),
    ("log1p", 0xA6FA_0FD4_FB15_2759),
    ("sqrt", 0x0A4C_2A92_E6CB_6103),
    ("cbrt", 0x37A5_194B_331E_D34C),
    ("cube", 0x6896_BC75_5724_C029),
    ("fourth", 0x01C7_F522_5E16_2B2F),
    ("root", 0x0A4C_2A92_E6CB_6103),
    ("sin", 0x8F97_A2F0_1FDC_D227),
    ("cos", 0x4AED_C695_4138_7A84),
    ("tan", 0x474A_F570_30D9_20A1),
    ("asin", 0x7CF7_A79A_F830_BFCD),
    ("acos", 0x14C3_632A_0010_966E),
    ("atan", 0x9EC3_F484_56A1_AA8A),
    ("sinh", 0x4C62_B2A8_FF8E_1EE7),
    ("cosh", 0x89F0_A0E6_AFCA_D7BE),
    ("tanh", 0x10C8_2B5A_16EE_1CDB),
    ("asinh", 0x891B_B9CB_357F_6800),
    ("acosh", 0x4591_A48B_A684_18BB),
    ("atanh", 0x0561_26EC_B909_76EB),
    ("erf", 0xA8DF_C9C3_4BEC_7173),
    ("erfc", 0x692E_40F1_2064_4779),
    ("lgamma", 0x9E5F_61C0_CEA2_8FF7),
    ("pow", 0xD4A9_40FA_2AB3_B1F4),
    ("hypot", 0x50AA_EFEF_A6B3_FBF4),
    ("atan2", 0x121A_4AEC_37FC_C0E0),
    ("faddeeva_real", 0x43BB_4C4F_A9DF_52F3),
    ("faddeeva_imag", 0xCC07_D692_1CEE_9215),
    ("faddeeva_slope_real", 0xFA0A_44E9_CE47_023D),
    ("faddeeva_slope_imag", 0xABF7_BF1D_B641_69A5),
];

/// The bits of rows, one after the other; NaN is one value.
fn hash(rows: &[f64]) -> u64 {
    let bits = rows.iter().map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() });
    bits.fold(0xCBF2_9CE4_8422_2325, |hash, bits| {
        (hash ^ bits).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
    })
}

#[test]
fn no_bit_changes_unnoticed() {
    let (x, mut y) = (spread(20_000), spread(20_000));
    y.reverse();
    let mut out = vec![0.0; x.len()];
    let mut hashes = Vec::new();
    for function in double::unary_functions() {
        (function.rows)(&x, &mut out);
        hashes.push((function.name, hash(&out)));
    }
    for function in double::binary_functions().iter().chain(&double::plane_functions()) {
        (function.rows)(MathOperand::Rows(&x), MathOperand::Rows(&y), &mut out);
        hashes.push((function.name, hash(&out)));
    }
    let lines = hashes.iter().map(|(name, hash)| format!("    (\"{name}\", {hash:#018X}),\n"));
    assert!(hashes == HASHES, "the functions of today have\n{}", lines.collect::<String>());
}
