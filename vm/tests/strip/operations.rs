//! Every operation on special numbers, and lists of shapes that random ones rarely have.

use crate::columns::{Guard, Inputs, check, check_all, is_same, ways};
use crate::decoded;
use crate::{random, stream};
use cembra_vm::strip::{
    BinaryOp, Comparison, Lane, List, Op, Options, Refused, ShiftOp, Term, UnaryOp, compile, listing, load,
};
use cembra_vm::vector::Level;
use cembra_vm::vector::float::sign;
use fastrand::Rng;

const NUMBERS: [Lane; 4] = [Lane::F64, Lane::F32, Lane::I64, Lane::I32];

/// Rows of two columns: every pair of some numbers of a type, special ones among them.
fn pairs(lane: Lane) -> Inputs {
    let mut rng = Rng::with_seed(lane.bytes() as u64);
    let values: Vec<[u8; 8]> = (0..48).map(|_| random::value(&mut rng, lane).to_le_bytes()).collect();
    let bytes = |bits: &[u8; 8]| bits[..lane.bytes()].to_vec();
    let first = values.iter().flat_map(|x| values.iter().flat_map(move |_| bytes(x)));
    let second = values.iter().flat_map(|_| values.iter().flat_map(bytes));
    Inputs { columns: vec![first.collect(), second.collect()], scalars: vec![0; 4] }
}

fn check_on_pairs(lane: Lane, what: &str, operation: impl Fn(&mut List, Term, Term) -> Term) {
    let mut list = List::new();
    let (x, y) = (list.column(0, lane), list.column(1, lane));
    let result = operation(&mut list, x, y);
    list.store(2, result);
    check_all(&list, &pairs(lane), &[(0, 48 * 48)], Guard::Behind, what);
}

#[test]
fn operations_on_special_numbers() {
    use BinaryOp::{Add, And, AndNot, Div, Max, Min, Mul, MulLow, Or, Sub, Xor};
    use UnaryOp::{Abs, Ceil, Floor, Nearest, Neg, Not, Sqrt, Trunc};
    for lane in NUMBERS {
        let unary: &[UnaryOp] =
            if lane.is_float() { &[Neg, Abs, Sqrt, Floor, Ceil, Trunc, Nearest] } else { &[Neg, Abs, Not] };
        for op in unary {
            check_on_pairs(lane, &format!("{op:?} of {lane:?}"), |list, x, _| list.unary(*op, x));
        }
        let binary: &[BinaryOp] = match lane.is_float() {
            true => &[Add, Sub, Mul, Div, Min, Max],
            false if lane == Lane::I64 => &[Add, Sub, Mul, MulLow, Min, Max, And, Or, Xor, AndNot],
            false => &[Add, Sub, Mul, Min, Max, And, Or, Xor, AndNot],
        };
        for op in binary {
            check_on_pairs(lane, &format!("{op:?} of {lane:?}"), |list, x, y| list.binary(*op, x, y));
        }
    }
}

#[test]
fn comparisons_and_choices_on_special_numbers() {
    use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Unordered};
    for lane in NUMBERS {
        for comparison in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Unordered] {
            if comparison == Unordered && !lane.is_float() {
                continue;
            }
            let what = format!("{comparison:?} of {lane:?}");
            check_on_pairs(lane, &what, |list, x, y| list.compare(comparison, x, y));
            check_on_pairs(lane, &what, |list, x, y| {
                let mask = list.compare(comparison, x, y);
                list.select(mask, x, y)
            });
            check_on_pairs(lane, &what, |list, x, y| {
                let mask = list.compare(comparison, x, y);
                let mask = list.unary(UnaryOp::Not, mask);
                list.select(mask, x, y)
            });
        }
    }
}

/// Fused operations take the opposites of operands by themselves, wherever these stand; one that others read as well stays.
#[test]
fn fused_operations_on_opposites() {
    for (lane, orders) in [(Lane::F64, 6), (Lane::F32, 2)] {
        for (order, opposites) in (0..orders).flat_map(|order| (0..8).map(move |bits| (order, bits))) {
            let what = format!("fma of {lane:?}, order {order}, opposites {opposites:03b}");
            check_on_pairs(lane, &what, |list, x, y| {
                let literal = match lane {
                    Lane::F64 => list.literal(lane, 1.5f64.to_bits()),
                    _ => list.literal(lane, 1.5f32.to_bits().into()),
                };
                let ordered =
                    [[x, y, literal], [x, literal, y], [literal, x, y], [x, x, y], [x, y, y], [x, x, x]]
                        [order];
                let [a, b, c] = std::array::from_fn(|operand| {
                    let is_opposite = opposites >> operand & 1 == 1;
                    if is_opposite { list.unary(UnaryOp::Neg, ordered[operand]) } else { ordered[operand] }
                });
                let fused = list.fma(a, b, c);
                list.store(3, a);
                fused
            });
        }
    }
}

/// Comparisons that only one `and` reads, of which AVX-512 computes one under the mask of the other operand: either
/// operand, an opposite, a mask that others read as well.
#[test]
fn comparisons_under_masks() {
    use Comparison::{Less, LessEqual, NotEqual};
    for lane in NUMBERS {
        let of = |list: &mut List, x, y| {
            let less = list.compare(Less, x, y);
            let differs = list.compare(NotEqual, x, y);
            (less, differs)
        };
        let what = format!("masks of {lane:?}");
        check_on_pairs(lane, &what, |list, x, y| {
            let (less, differs) = of(list, x, y);
            let both = list.and(less, differs);
            let reversed = list.compare(LessEqual, y, x);
            let all = list.and(reversed, both);
            list.select(all, x, y)
        });
        check_on_pairs(lane, &what, |list, x, y| {
            let (less, differs) = of(list, x, y);
            let not_less = list.not(less);
            let both = list.and(not_less, differs);
            list.select(both, x, y)
        });
        check_on_pairs(lane, &what, |list, x, y| {
            let (less, differs) = of(list, x, y);
            let both = list.and(less, differs);
            let one = list.or(both, less);
            let neither = list.not(both);
            let result = list.and(one, neither);
            list.select(result, x, y)
        });
    }
}

/// With a literal on either side, of which some are special.
#[test]
fn extremes_of_literals() {
    for lane in [Lane::F64, Lane::F32] {
        for value in [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY] {
            for op in [BinaryOp::Min, BinaryOp::Max] {
                let literal = |list: &mut List| match lane {
                    Lane::F64 => list.f64(value),
                    _ => list.f32(value as f32),
                };
                let what = format!("{op:?} of {lane:?} and {value}");
                check_on_pairs(lane, &what, |list, x, _| {
                    let literal = literal(list);
                    list.binary(op, x, literal)
                });
                check_on_pairs(lane, &what, |list, x, _| {
                    let literal = literal(list);
                    list.binary(op, literal, x)
                });
            }
        }
    }
}

#[test]
fn shifts_by_every_number_of_bits() {
    for lane in [Lane::I64, Lane::I32] {
        for op in [ShiftOp::Left, ShiftOp::Right, ShiftOp::RightSigned] {
            for bits in (0..8 * lane.bytes() as u8).step_by(if cfg!(debug_assertions) { 7 } else { 1 }) {
                check_on_pairs(lane, &format!("{op:?} of {lane:?}"), |list, x, _| list.shift(op, x, bits));
            }
        }
    }
}

/// Numbers near the bounds of the other type, and where rounding decides.
#[test]
fn casts_round_once_and_truncate() {
    let mut rng = Rng::with_seed(5);
    let rows = 20_000;
    let integers: Vec<i64> = (0..rows)
        .map(|row| match row % 4 {
            0 => rng.i64(..),
            1 => rng.i64(..) >> rng.u32(..63),
            // Halfway between floats of 24 and of 53 bits, and one beside.
            2 => ((rng.i64(1 << 24..1 << 25) | 1) << rng.u32(..39)) + rng.i64(-1..2),
            _ => (1_i64 << rng.u32(..63)).wrapping_add(rng.i64(-3..3)),
        })
        .collect();
    let doubles: Vec<f64> = (0..rows)
        .map(|row| match row % 3 {
            0 => integers[row] as f64,
            1 => integers[row] as f64 * 2f64.powi(-rng.i32(..40)),
            _ => (rng.f64() - 0.5) * 2f64.powi(rng.i32(..64)),
        })
        .map(|x| if (-(2f64.powi(63))..2f64.powi(63)).contains(&x) { x } else { 0.0 })
        .collect();
    let column = |bytes: Vec<u8>| Inputs { columns: vec![bytes], scalars: Vec::new() };
    let of_integers = column(integers.iter().flat_map(|x| x.to_le_bytes()).collect());
    let of_doubles = column(doubles.iter().flat_map(|x| x.to_le_bytes()).collect());
    let singles = |x: &f64| if *x as f32 >= 9.2e18 { 1.0 } else { *x as f32 };
    let of_singles = column(doubles.iter().flat_map(|x| singles(x).to_le_bytes()).collect());
    let of_ints = column(integers.iter().flat_map(|x| (*x as i32).to_le_bytes()).collect());
    let small: Vec<u8> = doubles.iter().flat_map(|x| (x % 2_147_483_648.0).to_le_bytes()).collect();
    let of_small = column(small);
    let small = doubles.iter().flat_map(|x| ((x % 2_147_480_000.0) as f32).to_le_bytes()).collect();
    let of_small_singles = column(small);
    for (inputs, from, to) in [
        (&of_integers, Lane::I64, Lane::F64),
        (&of_integers, Lane::I64, Lane::F32),
        (&of_integers, Lane::I64, Lane::I32),
        (&of_doubles, Lane::F64, Lane::I64),
        (&of_doubles, Lane::F64, Lane::F32),
        (&of_small, Lane::F64, Lane::I32),
        (&of_singles, Lane::F32, Lane::F64),
        (&of_singles, Lane::F32, Lane::I64),
        (&of_small_singles, Lane::F32, Lane::I32),
        (&of_ints, Lane::I32, Lane::F64),
        (&of_ints, Lane::I32, Lane::F32),
        (&of_ints, Lane::I32, Lane::I64),
        (&of_ints, Lane::I32, Lane::Mask),
        (&of_doubles, Lane::F64, Lane::Mask),
    ] {
        let mut list = List::new();
        let x = list.column(0, from);
        let y = list.cast(x, to);
        list.store(1, y);
        check_all(&list, inputs, &[(0, rows)], Guard::Behind, &format!("{from:?} to {to:?}"));
    }
}

/// Every kind of column, result and mask in one list.
fn mixed() -> (List, Vec<(Op, Lane)>) {
    let mut list = List::new();
    let (x, y) = (list.column(0, Lane::F64), list.column(1, Lane::F32));
    let (n, truth) = (list.column(2, Lane::I32), list.column(3, Lane::Mask));
    let (present, also) = (list.presence(4), list.presence(5));
    let both = list.binary(BinaryOp::And, present, also);
    let zero = list.f64(0.0);
    let is_positive = list.compare(Comparison::Greater, x, zero);
    let wide = list.cast(y, Lane::F64);
    let chosen = list.select(is_positive, x, wide);
    let chosen = list.select(both, chosen, zero);
    let other = list.binary(BinaryOp::Or, truth, is_positive);
    let narrow = list.cast(n, Lane::F32);
    let narrow = list.select(other, narrow, y);
    let kept = list.binary(BinaryOp::AndNot, other, both);
    let fires = list.binary(BinaryOp::And, kept, truth);
    list.store(6, chosen);
    list.store(7, narrow);
    list.store(8, other);
    list.store_presence(9, kept);
    list.store_presence(5, is_positive);
    list.fire(fires);
    let columns = [Lane::F64, Lane::F32, Lane::I32, Lane::Mask, Lane::Mask, Lane::Mask];
    let kind = |(number, lane): (usize, Lane)| match number {
        4 | 5 => (Op::Presence(number as u16), lane),
        _ => (Op::Column(number as u16), lane),
    };
    (list, columns.into_iter().enumerate().map(kind).collect())
}

#[test]
fn mixed_types_of_every_length() {
    let (list, columns) = mixed();
    for rows in 0..200 {
        let mut rng = Rng::with_seed(rows as u64);
        let inputs = random::inputs(&mut rng, &list, &columns, rows);
        let ranges = [(0, rows), (rows / 64 * 64, rows)];
        let guard = if rows % 2 == 0 { Guard::Before } else { Guard::Behind };
        check_all(&list, &inputs, &ranges, guard, "mixed");
    }
}

/// A row fires in each place of the group in turn.
#[test]
fn one_row_fires() {
    let mut list = List::new();
    let (x, y) = (list.column(0, Lane::F64), list.column(1, Lane::I32));
    let (zero, none) = (list.f64(0.0), list.i32(0));
    let wide = list.compare(Comparison::NotEqual, x, zero);
    let narrow = list.compare(Comparison::LessEqual, y, none);
    let narrow = list.unary(UnaryOp::Not, narrow);
    list.fire(wide);
    list.fire(narrow);
    for rows in [0, 1, 8, 21, 70] {
        for fires in 0..=2 * rows {
            let mut columns = vec![vec![0; 8 * rows], vec![0; 4 * rows]];
            match fires.checked_sub(rows) {
                Some(row) if row < rows => columns[1][4 * row] = 1,
                None => columns[0][8 * fires] = 1,
                _ => {}
            }
            let inputs = Inputs { columns, scalars: Vec::new() };
            check_all(&list, &inputs, &[(0, rows)], Guard::Behind, "fires");
        }
    }
}

/// Floats at the ends of an integer type, one of them among others that fit, in each place of a group: conversion tells which do not.
#[test]
fn floats_that_do_not_fit() {
    for (lane, end) in [(Lane::I32, 2_147_483_648.0_f64), (Lane::I64, 9_223_372_036_854_775_808.0)] {
        let mut list = List::new();
        let x = list.column(0, Lane::F64);
        let integer = list.cast(x, lane);
        let (size, limit) = (list.unary(UnaryOp::Abs, x), list.f64(end));
        let fits = list.compare(Comparison::Less, size, limit);
        let is_rare = list.unary(UnaryOp::Not, fits);
        let zero = list.number(lane, 0);
        let known = list.select(fits, integer, zero);
        list.store(1, known);
        list.fire(is_rare);
        let ends = [end, end.next_down(), end.next_up(), end - 0.5, end + 1.0, f64::INFINITY, 1e300];
        let values = ends.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN, -0.0, 0.5, -1.5]);
        for value in values {
            for rows in [1, 8, 13, 70] {
                for place in 0..rows {
                    let cell = |row| if row == place { value } else { row as f64 - 3.5 };
                    let cells: Vec<u8> = (0..rows).flat_map(|row| cell(row).to_le_bytes()).collect();
                    let inputs = Inputs { columns: vec![cells], scalars: Vec::new() };
                    check_all(&list, &inputs, &[(0, rows)], Guard::Behind, &format!("{value} to {lane:?}"));
                }
            }
        }
    }
}

/// More columns than there are registers for pointers.
#[test]
fn many_columns() {
    let mut list = List::new();
    let mut sum = list.column(0, Lane::F64);
    let mut columns = vec![(list.op(sum), Lane::F64)];
    for number in 1..30 {
        let lane = if number % 7 == 0 { Lane::Mask } else { Lane::F64 };
        let x = list.column(number, lane);
        columns.push((list.op(x), lane));
        let x = list.cast(x, Lane::F64);
        sum = list.binary(BinaryOp::Add, sum, x);
        if number % 9 == 0 {
            list.store(number + 30, sum);
        }
    }
    let mask = list.cast(sum, Lane::Mask);
    list.store(29 + 30, sum);
    list.store(70, mask);
    for rows in [3, 40, 77] {
        let inputs = random::inputs(&mut Rng::with_seed(3), &list, &columns, rows);
        check_all(&list, &inputs, &[(0, rows)], Guard::Behind, "many columns");
    }
}

/// Values that are alive all at once: the stack frame has several pages.
#[test]
fn many_values_alive() {
    for lane in [Lane::F64, Lane::I32] {
        let mut list = List::new();
        let x = list.column(0, lane);
        let values: Vec<Term> = (0..56)
            .map(|number| {
                let literal = list.number(lane, number);
                list.binary(BinaryOp::Mul, x, literal)
            })
            .collect();
        let masks: Vec<Term> = values[..20]
            .iter()
            .zip(&values[20..])
            .map(|(x, y)| list.compare(Comparison::Less, *x, *y))
            .collect();
        let mut sum = x;
        for (number, value) in values.iter().enumerate() {
            let chosen = list.select(masks[number % 20], *value, sum);
            sum = list.binary(BinaryOp::Add, chosen, *value);
        }
        list.store(1, sum);
        let inputs = random::inputs(&mut Rng::with_seed(8), &list, &[(list.op(x), lane)], 75);
        check_all(&list, &inputs, &[(0, 75)], Guard::Behind, "many values");
    }
}

#[test]
fn rows_may_be_written_where_they_are_read() {
    let mut list = List::new();
    let (x, y) = (list.column(0, Lane::F64), list.column(1, Lane::F64));
    let (p, q) = (list.presence(2), list.presence(3));
    let (t, u) = (list.column(4, Lane::Mask), list.column(5, Lane::Mask));
    // Each pair changes places.
    list.store(1, x);
    list.store(0, y);
    list.store_presence(3, p);
    list.store_presence(2, q);
    list.store(5, t);
    list.store(4, u);
    let columns =
        [(x, Lane::F64), (y, Lane::F64), (p, Lane::Mask), (q, Lane::Mask), (t, Lane::Mask), (u, Lane::Mask)];
    let columns = columns.map(|(term, lane)| (list.op(term), lane));
    for rows in [1, 13, 64, 100, 129] {
        let inputs = random::inputs(&mut Rng::with_seed(9), &list, &columns, rows);
        check_all(&list, &inputs, &[(0, rows)], Guard::Behind, "exchange");
    }
}

#[test]
fn several_strips_share_a_mapping() {
    let level = Level::best();
    if level == Level::Baseline {
        return;
    }
    let codes: Vec<_> = (0..5)
        .map(|number| {
            let mut list = List::new();
            let (x, one) = (list.column(0, Lane::I64), list.i64(number));
            let sum = list.binary(BinaryOp::Add, x, one);
            list.store(0, sum);
            compile(&list, level, Options::default()).expect("a sum can be compiled")
        })
        .collect();
    let strips = load(&codes).expect("executable memory");
    let mut rows: Vec<i64> = (0..1000).collect();
    for strip in &strips {
        let column = rows.as_mut_ptr().cast::<u8>();
        // SAFETY: the machine has the level, and the column has the rows.
        let fired = unsafe { strip.run(&column, 0, rows.len(), std::ptr::null()) };
        assert_eq!(fired, 0);
    }
    drop(codes);
    assert!(rows.iter().zip(10..).all(|(found, expected)| *found == expected));
}

#[test]
fn refusals() {
    let mut list = List::new();
    assert_eq!(compile(&list, Level::Avx2, Options::default()).err(), Some(Refused::Empty));
    let x = list.column(0, Lane::F64);
    list.store(1, x);
    let refused = compile(&list, Level::Baseline, Options::default()).err();
    assert_eq!(refused, Some(Refused::Level(Level::Baseline)));
    let mut sum = x;
    for number in 0..20_000 {
        let literal = list.f64(f64::from(number));
        sum = list.binary(BinaryOp::Add, sum, literal);
    }
    list.store(2, sum);
    let refused = compile(&list, Level::Avx2, Options::default()).err();
    assert!(matches!(refused, Some(Refused::TooLong { .. })), "{refused:?}");
}

/// The operations that are composed of others, against functions of Rust and of `vector`.
#[test]
fn composed_operations() {
    let bytes = |values: &[f64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let mut rng = Rng::with_seed(77);
    let doubles: Vec<f64> = (0..3000)
        .map(|row| match row % 3 {
            0 => f64::from_bits(random::value(&mut rng, Lane::F64)),
            1 => f64::from(rng.i32(-2000..2000)) * 0.5,
            _ => (f64::from(rng.i32(-5..5)) + 0.5).next_up() - if rng.bool() { 0.0 } else { 1e-16 },
        })
        .collect();
    let singles: Vec<f32> = doubles.iter().map(|x| *x as f32).collect();
    let mut list = List::new();
    let (x, y) = (list.column(0, Lane::F64), list.column(1, Lane::F32));
    let terms = [list.round(x), list.sign(x), list.round(y), list.sign(y)];
    for (number, term) in terms.into_iter().enumerate() {
        list.store(2 + number as u16, term);
    }
    let single_bytes: Vec<u8> = singles.iter().flat_map(|x| x.to_le_bytes()).collect();
    let inputs = Inputs { columns: vec![bytes(&doubles), single_bytes], scalars: Vec::new() };
    check_all(&list, &inputs, &[(0, doubles.len())], Guard::Behind, "composed");
    // The reference runs the same list: what it computes is that of the functions.
    for row in 0..doubles.len() {
        let terms_of_row = crate::reference::terms(&list, &inputs, row);
        let expected = [
            (Lane::F64, doubles[row].round().to_bits()),
            (Lane::F64, sign(doubles[row]).to_bits()),
            (Lane::F32, singles[row].round().to_bits().into()),
            (Lane::F32, sign(singles[row]).to_bits().into()),
        ];
        for (term, (lane, expected)) in terms.into_iter().zip(expected) {
            let found = terms_of_row[term.index()];
            assert!(is_same(lane, found, expected), "{} {term}: {found:x}, not {expected:x}", doubles[row]);
        }
    }
}

/// Quotients and remainders of integers by literals.
#[test]
fn division_by_literals() {
    for lane in [Lane::I64, Lane::I32] {
        let divisors: &[i64] = match lane {
            Lane::I64 => &[1, 2, 3, 7, 10, 60, 86_400, 1 << 33, (1 << 33) + 1, i64::MAX - 1, i64::MAX],
            _ => &[1, 2, 3, 7, 10, 60, 86_400, 1 << 30, i32::MAX as i64 - 1, i32::MAX as i64],
        };
        for divisor in divisors {
            let mut list = List::new();
            let x = list.column(0, lane);
            let (quotient, rest) = (list.floor_div(x, *divisor), list.floor_mod(x, *divisor));
            list.store(1, quotient);
            list.store(2, rest);
            let mut inputs = pairs(lane);
            inputs.columns.truncate(1);
            let mut rng = Rng::with_seed(*divisor as u64);
            let near = (0..200).map(|_| rng.i64(..) / divisor * divisor - rng.i64(-1..2));
            let size = lane.bytes();
            inputs.columns[0].extend(near.flat_map(|x| x.to_le_bytes()[..size].to_vec()));
            let rows = inputs.columns[0].len() / size;
            let what = format!("{lane:?} by {divisor}");
            check_all(&list, &inputs, &[(0, rows)], Guard::Behind, &what);
            for row in 0..rows {
                let terms = crate::reference::terms(&list, &inputs, row);
                let signed = |term: Term| match lane {
                    Lane::I64 => terms[term.index()] as i64,
                    _ => i64::from(terms[term.index()] as i32),
                };
                let (x, quotient, rest) = (signed(x), signed(quotient), signed(rest));
                assert_eq!((quotient, rest), (x.div_euclid(*divisor), x.rem_euclid(*divisor)), "{x} {what}");
            }
        }
    }
}

/// Rows that are asked for before they are wanted, beyond the end too.
#[test]
fn prefetched_columns() {
    let (mut list, columns) = mixed();
    (0..10).for_each(|number| list.prefetch(number));
    for level in Level::available().iter().filter(|level| **level != Level::Baseline) {
        for unroll in [None, Some(1)] {
            let options = Options { unroll, ..Options::default() };
            let code = compile(&list, *level, options).expect("the list can be compiled");
            decoded::check(&list, &code, "prefetched");
            for rows in [1, 8, 100, 300] {
                let inputs = random::inputs(&mut Rng::with_seed(rows as u64), &list, &columns, rows);
                for first in [0, rows / 64 * 64] {
                    check(&list, &code, &inputs, first, rows, Guard::Before, "prefetched");
                }
            }
        }
    }
}

/// Results stored past the caches, or from a line on: whatever their rows begin with, and however many there are.
#[test]
fn streamed_columns() {
    let mut list = List::new();
    let (x, k, z) = (list.column(0, Lane::F64), list.column(1, Lane::I32), list.column(2, Lane::F32));
    let (scaled, shifted) = (list.binary(BinaryOp::Mul, x, x), list.binary(BinaryOp::Add, k, k));
    let (wide, narrow) = (list.cast(z, Lane::F64), list.unary(UnaryOp::Neg, z));
    let both = list.binary(BinaryOp::Add, scaled, wide);
    let is_less = list.compare(Comparison::Less, x, wide);
    let columns = [(Op::Column(0), Lane::F64), (Op::Column(1), Lane::I32), (Op::Column(2), Lane::F32)];
    // Of one type, of several, in the column that is read, and truths.
    let stores: [&[(u16, Term)]; 6] = [
        &[(3, both)],
        &[(3, narrow)],
        &[(3, shifted), (4, narrow)],
        &[(3, narrow), (4, both), (5, scaled)],
        &[(0, both), (3, is_less)],
        &[(0, scaled), (3, shifted), (4, is_less), (5, wide)],
    ];
    for (stores, is_streamed) in stores.iter().flat_map(|stores| [(stores, true), (stores, false)]) {
        let mut list = list.clone();
        stores.iter().for_each(|(number, term)| list.store(*number, *term));
        match is_streamed {
            true => stream(&mut list),
            false => list.begin_at_lines(),
        }
        for (level, options) in ways() {
            let what = format!("streamed {is_streamed}: {stores:?} {} {options:?}", level.name());
            let code = compile(&list, level, options).expect("the list can be compiled");
            decoded::check(&list, &code, &what);
            let streams = listing(&code).iter().any(|line| line.text.contains("vmovnt"));
            let is_new_number = |(number, term): &(u16, Term)| *number > 2 && *term != is_less;
            assert_eq!(streams, is_streamed && stores.iter().any(is_new_number), "{what}");
            for rows in (0..70).chain([300]) {
                let inputs = random::inputs(&mut Rng::with_seed(rows as u64), &list, &columns, rows);
                for first in [0, 3, 64].into_iter().filter(|first| *first <= rows) {
                    for guard in [Guard::Before, Guard::Behind, Guard::Odd] {
                        check(&list, &code, &inputs, first, rows, guard, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn products_with_literals() {
    let powers = (0..64).step_by(9).map(|bits| 1_u64 << bits);
    let sums = [3, 5, 7, 6, 12, 24, 40, 1 << 63 | 1, (1 << 63) - 1, 3 << 62, 7 << 61, u64::MAX - 1];
    let others = [0, 10, 11, 86_400, 0xFFFF_FFFF, 0x1_0000_0000, 0x1234_5678_9ABC_DEF0, u64::MAX];
    for factor in powers.chain(sums).chain(others) {
        let what = format!("product with {factor:x}");
        check_on_pairs(Lane::I64, &what, |list, x, y| {
            let literal = list.literal(Lane::I64, factor);
            let (first, second) =
                (list.binary(BinaryOp::Mul, x, literal), list.binary(BinaryOp::Mul, literal, y));
            list.binary(BinaryOp::Xor, first, second)
        });
    }
}

/// Memory of strips is never written and executed at once, and strips are called from several threads.
#[test]
fn memory_is_executed_or_written() {
    let level = Level::best();
    if level == Level::Baseline {
        return;
    }
    let mut list = List::new();
    let (x, two) = (list.column(0, Lane::F64), list.f64(2.0));
    let product = list.binary(BinaryOp::Mul, x, two);
    list.store(1, product);
    let code = compile(&list, level, Options::default()).expect("a product can be compiled");
    let strip = load(&[code]).expect("executable memory").remove(0);
    if let Ok(maps) = std::fs::read_to_string("/proc/self/maps") {
        let permissions = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
        assert!(maps.lines().any(|line| permissions(line).starts_with("r-x")));
        assert!(!maps.lines().any(|line| permissions(line).contains("wx")), "{maps}");
    }
    let x: Vec<f64> = (0..1000).map(f64::from).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (strip, x) = (strip.clone(), &x);
            scope.spawn(move || {
                let mut y = vec![0.0; x.len()];
                let columns = [x.as_ptr().cast_mut().cast::<u8>(), y.as_mut_ptr().cast()];
                // SAFETY: the machine has the level, and the columns have the rows.
                unsafe { strip.run(columns.as_ptr(), 0, x.len(), std::ptr::null()) };
                assert!(x.iter().zip(&y).all(|(x, y)| 2.0 * x == *y));
            });
        }
    });
}
