//! Sums of strips against the folds of `vector`, whole and leaf by leaf.

use crate::columns::ways;
use cembra_vm::strip::{BinaryOp, Comparison, Lane, List, RunningOp, compile, load};
use cembra_vm::vector::fold::{Fold, Sum, fold, join_leaves};
use cembra_vm::vector::leaves::Leaves;

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

/// Bytes of lanes before the parts of a sum, in words.
const LANES: usize = 8;

/// The parts of leaves, joined.
fn joined<F: Fold>(rows: usize, parts: &[F::Part]) -> F::Out {
    let mut parts = parts.iter();
    join_leaves::<F>(rows, &mut |_| *parts.next().expect("a part for each leaf"))
}

/// What calls have left of a sum.
struct Parts {
    lane: Lane,
    /// Lanes, and the parts of the last call.
    column: Vec<u64>,
    /// Parts of leaves that are complete.
    parts: Vec<u8>,
}

impl Parts {
    fn new(lane: Lane, leaves: usize) -> Parts {
        let column = [vec![lane.lanes_of_no_rows(); LANES], vec![0; leaves]].concat();
        Parts { lane, column, parts: Vec::new() }
    }

    /// Takes the parts of a call; the last leaf may go on.
    fn take(&mut self, leaves: usize, is_complete: bool) {
        let complete = leaves - usize::from(!is_complete);
        let (lanes, parts) = self.column.split_at_mut(LANES);
        let parts: &[u8] = bytemuck::cast_slice(parts);
        self.parts.extend_from_slice(&parts[..complete * self.lane.bytes()]);
        if is_complete {
            lanes.fill(self.lane.lanes_of_no_rows());
        }
    }

    fn joined<F: Fold>(&self, rows: usize) -> F::Out {
        joined::<F>(rows, bytemuck::cast_slice(&self.parts))
    }
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
        let mut ends: Vec<usize> = Vec::new();
        while ends.last().is_none_or(|end| *end < rows) {
            ends.push(ends.last().copied().unwrap_or(0) + leaves.next_size());
        }
        // At a time, all rows, and so few that leaves go on in the next call.
        for ((level, options), at_a_time) in ways().into_iter().flat_map(|way| [(way, rows), (way, 40)]) {
            let code = compile(&list, level, options).expect("sums can be compiled");
            let strip = load(&[code]).expect("executable memory").remove(0);
            let mut sums =
                [Lane::F64, Lane::F64, Lane::I64, Lane::F32].map(|lane| Parts::new(lane, ends.len()));
            let mut stored = vec![f64::NAN; rows];
            for first in (0..rows).step_by(at_a_time) {
                let last = rows.min(first + at_a_time);
                let mut of_call: Vec<usize> =
                    ends.iter().copied().filter(|end| (first + 1..last).contains(end)).collect();
                of_call.push(last);
                let [chosen, doubles, integers, singles] =
                    sums.each_mut().map(|sum| sum.column.as_mut_ptr().cast());
                let columns: [*mut u8; 10] = [
                    x.as_ptr().cast_mut().cast(),
                    n.as_ptr().cast_mut().cast(),
                    single.as_ptr().cast_mut().cast(),
                    chosen,
                    doubles,
                    integers,
                    singles,
                    stored.as_mut_ptr().cast(),
                    std::ptr::null_mut(),
                    of_call.as_mut_ptr().cast(),
                ];
                // SAFETY: the machine has the level, and the columns have the rows and leaves.
                unsafe { strip.run(columns.as_ptr(), first, last, std::ptr::null()) };
                sums.iter_mut().for_each(|sum| sum.take(of_call.len(), ends.contains(&last)));
            }
            let what = format!("{rows} rows, {at_a_time} at a time, {} {options:?}", level.name());
            let same = |found: f64, expected: f64| assert_eq!(found.to_bits(), expected.to_bits(), "{what}");
            same(sums[0].joined::<Sum<f64>>(rows), fold::<Sum<f64>>(&chosen));
            same(sums[1].joined::<Sum<f64>>(rows), fold::<Sum<f64>>(&x));
            assert_eq!(sums[2].joined::<Sum<i64>>(rows), fold::<Sum<i64>>(&n), "{what}");
            let (found, expected) = (sums[3].joined::<Sum<f32>>(rows), fold::<Sum<f32>>(&single));
            assert_eq!(found.to_bits(), expected.to_bits(), "{what}");
            assert_eq!(stored, chosen, "{what}");
        }
    }
}

#[test]
fn running_sums_go_on_in_the_next_call() {
    let mut list = List::new();
    let (x, n, present) = (list.column(0, Lane::F64), list.column(1, Lane::I64), list.presence(2));
    let nothing = list.literal(Lane::F64, Lane::F64.lanes_of_no_rows());
    let added = list.select(present, x, nothing);
    let (sum, count) = (list.running(RunningOp::Sum, 3, added), list.running(RunningOp::Sum, 4, n));
    let count_as_float = list.cast(count, Lane::F64);
    let mean = list.binary(BinaryOp::Div, sum, count_as_float);
    // The sums of one number are its multiples.
    let three = list.i64(3);
    let multiple = list.running(RunningOp::Sum, 5, three);
    list.store(6, mean);
    list.store(7, sum);
    list.store(8, multiple);
    let rows: usize = 1000;
    let x: Vec<f64> = (0..rows).map(|i| ((i * 37 % 101) as f64 - 40.0) * 0.1).collect();
    let n: Vec<i64> = (0..rows as i64).map(|i| i % 5 + 1).collect();
    let words: Vec<u64> =
        (0..rows.div_ceil(64) as u64).map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let (mut sum, mut count) = (-0.0, 0);
    let expected: Vec<[f64; 2]> = (0..rows)
        .map(|row| {
            sum += if words[row / 64] >> (row % 64) & 1 == 1 { x[row] } else { -0.0 };
            count += n[row];
            [sum / count as f64, sum]
        })
        .collect();
    for ((level, options), at_a_time) in ways().into_iter().flat_map(|way| [64, 192, 1000].map(|n| (way, n)))
    {
        let code = compile(&list, level, options).expect("running sums can be compiled");
        let strip = load(std::slice::from_ref(&code)).expect("executable memory").remove(0);
        let (mut before, mut counted) = ([Lane::F64.lanes_of_no_rows(); LANES], [[0_u64; LANES]; 2]);
        let (mut results, mut multiples) = ([vec![0.0; rows], vec![0.0; rows]], vec![0; rows]);
        let [means, sums] = results.each_mut().map(|rows| rows.as_mut_ptr().cast::<u8>());
        let columns = [
            x.as_ptr().cast_mut().cast(),
            n.as_ptr().cast_mut().cast(),
            words.as_ptr().cast_mut().cast(),
            before.as_mut_ptr().cast(),
            counted[0].as_mut_ptr().cast(),
            counted[1].as_mut_ptr().cast(),
            means,
            sums,
            multiples.as_mut_ptr().cast(),
        ];
        for first in (0..rows).step_by(at_a_time) {
            // SAFETY: the machine has the level, columns have the rows, and those of running sums a line.
            unsafe { strip.run(columns.as_ptr(), first, rows.min(first + at_a_time), std::ptr::null()) };
        }
        for (row, expected) in expected.iter().enumerate() {
            let found = [results[0][row], results[1][row]];
            assert_eq!(
                found.map(f64::to_bits),
                expected.map(f64::to_bits),
                "row {row}, {} {options:?}, {at_a_time} at a time",
                level.name()
            );
        }
        assert!(multiples.iter().copied().eq((1..=rows as i64).map(|row| 3 * row)), "{}", level.name());
    }
}
