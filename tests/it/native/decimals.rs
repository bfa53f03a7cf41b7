//! `round` with digits in C: that of the interpreter, for numbers near to halves and of any size.

use crate::native::arrays::{sanitized, shown};
use crate::native::{compiled, function};
use cembra::native::{ArrayLayout, call_library};
use cembra::vm::value::budget::Budget;
use cembra::vm::value::{NdRows, NdType, ScalarType, Value};
use fastrand::Rng;
use std::sync::Arc;

const ROUND: &str = "def f(a, n):
    for i in range(len(a)):
        a[i] = round(a[i], n)
    return round(len(a) * 15 - 7, n)
";

/// Halves of some decimal place, their neighbours, and numbers of any size.
fn numbers(rng: &mut Rng) -> Vec<f64> {
    let near = |rng: &mut Rng| {
        let half = (rng.i32(-40_000..40_000) * 5) as f64 / 10f64.powi(rng.i32(-3..6));
        f64::from_bits(half.to_bits().wrapping_add_signed(rng.i64(-1..2)))
    };
    let any = |rng: &mut Rng| match f64::from_bits(rng.u64(..)) {
        x if x.is_finite() && x.abs() < 1e300 => x,
        _ => 9.5,
    };
    (0..200).map(|number| if number % 4 == 0 { any(rng) } else { near(rng) }).collect()
}

#[test]
fn numbers_are_rounded_to_digits() {
    let (_folder, cache) = sanitized();
    let mut rng = Rng::with_seed(3);
    let mut args = |n: i64| {
        let numbers = numbers(&mut rng);
        let qtype = NdType::new(ScalarType::Float64, 1, 0).expect("a type");
        let rows = NdRows::from_slice(qtype, &[numbers.len()], &numbers).expect("elements");
        [Value::NdArray(Arc::new(rows)), Value::from(n)]
    };
    let first = args(1);
    let interpreted = compiled(ROUND, &first);
    let library =
        cache.library(&function(ROUND, &first, ArrayLayout::Contiguous)).expect("it has a form in C");
    let few = [-400i64, -331, -310, -309, -308, -20, -19, 17, 22, 100, 323, 330, 331, i64::MIN, i64::MAX];
    for n in (-7..8).chain(few) {
        let args = args(n);
        let expected = interpreted.call(&args, &Budget::default()).expect("nothing is too large");
        let found = call_library(&library, &args).expect("nothing is too large");
        assert_eq!(found.results, [expected.value], "{n} digits");
        // As text: zeros have a sign.
        assert_eq!(shown(&found.arrays[0].1), shown(&expected.arrays[0].1), "{n} digits");
    }
}
