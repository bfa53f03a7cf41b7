//! Sums of strips against the folds of `vector`, whole and leaf by leaf.

use crate::columns::ways;
use cembra_vm::strip::{BinaryOp, Comparison, Lane, List, compile, load};
use cembra_vm::vector::fold::{Fold, Leaves, Sum, fold, join_leaves};

/// `x > 0 ? 3 x : 0`, and the numbers themselves.
fn list() -> List {
    let mut list = List::new();
    list.leaves(9);
    let (x, n, single) = (list.column(0, Lane::F64), list.column(1, Lane::I64), list.column(2, Lane::F32));
    let (three, zero) = (list.f64(3.0), list.f64(0.0));
    let is_positive = list.compare(Comparison::Greater, x, zero);
    let product = list.binary(BinaryOp::Mul, x, three);
    let chosen = list.select(is_positive, product, zero);
    list.sum(3, chosen);
    list.sum(4, x);
    list.sum(5, n);
    list.sum(6, single);
    list.store(7, chosen);
    list
}

/// The parts of leaves, joined.
fn joined<F: Fold>(rows: usize, parts: &[F::Part]) -> F::Out {
    let mut parts = parts.iter();
    join_leaves::<F>(rows, &mut |_| *parts.next().expect("a part for each leaf"))
}

#[test]
fn sums_are_those_of_the_folds() {
    let list = list();
    for rows in (1..140).chain([200, 256, 257, 1000, 1001, 4095, 10_000]) {
        let x: Vec<f64> = (0..rows).map(|i| ((i * 37 % 101) as f64 - 40.0) * 0.1).collect();
        let n: Vec<i64> = (0..rows as i64).map(|i| i.wrapping_mul(0x7FFF_FFFF_FFFF_0001)).collect();
        let single: Vec<f32> = x.iter().map(|x| (x * x) as f32).collect();
        let chosen: Vec<f64> = x.iter().map(|x| if *x > 0.0 { 3.0 * x } else { 0.0 }).collect();
        let (mut leaves, _) = Leaves::from(rows, 0);
        let mut ends: Vec<u64> = Vec::new();
        while ends.last().is_none_or(|end| *end < rows as u64) {
            let start = ends.last().copied().unwrap_or(0);
            ends.push(start + leaves.next_size() as u64);
        }
        for (level, options) in ways() {
            let code = compile(&list, level, options).expect("sums can be compiled");
            let strip = load(&[code]).expect("executable memory").remove(0);
            let mut doubles = [vec![f64::NAN; ends.len()], vec![f64::NAN; ends.len()]];
            let (mut integers, mut singles) = (vec![0_i64; ends.len()], vec![f32::NAN; ends.len()]);
            let mut stored = vec![f64::NAN; rows];
            let [first, second] = &mut doubles;
            let columns: [*mut u8; 10] = [
                x.as_ptr().cast_mut().cast(),
                n.as_ptr().cast_mut().cast(),
                single.as_ptr().cast_mut().cast(),
                first.as_mut_ptr().cast(),
                second.as_mut_ptr().cast(),
                integers.as_mut_ptr().cast(),
                singles.as_mut_ptr().cast(),
                stored.as_mut_ptr().cast(),
                std::ptr::null_mut(),
                ends.as_mut_ptr().cast(),
            ];
            // SAFETY: the machine has the level, and the columns have the rows and leaves.
            unsafe { strip.run(columns.as_ptr(), 0, rows, std::ptr::null()) };
            let what = format!("{rows} rows, {} {options:?}", level.name());
            let same = |found: f64, expected: f64| assert_eq!(found.to_bits(), expected.to_bits(), "{what}");
            same(joined::<Sum<f64>>(rows, &doubles[0]), fold::<Sum<f64>>(&chosen));
            same(joined::<Sum<f64>>(rows, &doubles[1]), fold::<Sum<f64>>(&x));
            assert_eq!(joined::<Sum<i64>>(rows, &integers), fold::<Sum<i64>>(&n), "{what}");
            let (found, expected) = (joined::<Sum<f32>>(rows, &singles), fold::<Sum<f32>>(&single));
            assert_eq!(found.to_bits(), expected.to_bits(), "{what}");
            assert_eq!(stored, chosen, "{what}");
        }
    }
}
