//! Strips against a plain interpreter of their lists, on every level that the machine has.

#![cfg(target_arch = "x86_64")]

mod columns;
mod reference;

use cembra_vm::strip::{BinaryOp, Lane, List};
use columns::{Guard, Inputs, check_all};

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
