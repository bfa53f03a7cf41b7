//! Strips against a plain interpreter of their lists, on every level that the machine has.

#![cfg(target_arch = "x86_64")]

mod columns;
mod decoded;
mod operations;
mod random;
mod recorded;
mod reference;
mod runs;
mod sums;
mod taken;

use cembra_vm::strip::{BinaryOp, Lane, List};
use columns::{Guard, Inputs, check_all};
use fastrand::Rng;

fn doubles(count: usize, seed: u64) -> Vec<u8> {
    (0..count as u64).flat_map(|i| (((i * 7 + seed) % 23) as f64 * 0.37 - 3.0).to_le_bytes()).collect()
}

#[test]
fn axpby_of_every_length() {
    let mut list = List::new();
    let (x, y) = (list.column(0, Lane::F64), list.column(1, Lane::F64));
    let (a, b) = (list.f64(2.5), list.f64(-1.25));
    let (x, y) = (list.binary(BinaryOp::Mul, x, a), list.binary(BinaryOp::Mul, y, b));
    let sum = list.binary(BinaryOp::Add, x, y);
    list.store(2, sum);
    for rows in 0..200 {
        let inputs = Inputs { columns: vec![doubles(rows, 1), doubles(rows, 5)], scalars: Vec::new() };
        for guard in [Guard::Before, Guard::Behind] {
            check_all(&list, &inputs, &[(0, rows)], guard, "axpby");
        }
    }
}

/// Has all results that can be stored past the caches.
fn stream(list: &mut List) {
    (0..32).for_each(|number| list.stream(number));
}

/// Random lists, by their seeds, every other one with results that begin at lines, and are streamed.
fn random_lists(from: u64, count: u64) {
    for seed in from..from + count {
        let mut rng = Rng::with_seed(seed);
        let plan = random::Plan::random(&mut rng);
        let (mut list, columns) = random::list(&mut rng, plan);
        match seed % 4 {
            1 => stream(&mut list),
            2 => list.begin_at_lines(),
            _ => {}
        }
        let rows = [1, 7, 8, 15, 16, 17, 63, 64, 65, 100, 131, 200][rng.usize(..12)];
        let inputs = random::inputs(&mut rng, &list, &columns, rows);
        let first = match random::has_presence(&list) {
            true => rng.usize(..=rows / 64) * 64,
            false => rng.usize(..=rows),
        };
        let guard = [Guard::Before, Guard::Behind, Guard::Odd][rng.usize(..3)];
        check_all(&list, &inputs, &[(0, rows), (first, rows)], guard, &format!("seed {seed}, {plan:?}"));
    }
}

#[test]
fn random_lists_equal_the_reference() {
    random_lists(0, 1000);
}
