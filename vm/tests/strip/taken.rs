//! Columns that are taken: cells at positions, beside columns of rows.

use crate::columns::{Guard, Inputs, check_all};
use cembra_vm::strip::{BinaryOp, Lane, List};
use fastrand::Rng;

const LANES: [Lane; 4] = [Lane::F64, Lane::F32, Lane::I64, Lane::I32];

/// Cells and positions for columns that are taken, in turn, and behind them rows of a column.
fn inputs(rng: &mut Rng, lanes: &[Lane], cells: usize, rows: usize) -> Inputs {
    let number = |rng: &mut Rng, lane: Lane| {
        let number = rng.i32(-900..900);
        match lane {
            Lane::F64 => (f64::from(number) * 0.37).to_le_bytes().to_vec(),
            Lane::F32 => (number as f32 * 0.37).to_le_bytes().to_vec(),
            Lane::I64 => (i64::from(number) << 33).to_le_bytes().to_vec(),
            _ => (number << 20).to_le_bytes().to_vec(),
        }
    };
    let mut columns = Vec::new();
    for lane in lanes {
        columns.push((0..cells).flat_map(|_| number(rng, *lane)).collect());
        // The first and the last cell stand beside pages that cannot be read.
        let mut position =
            |row: usize| [0, cells - 1].get(row).copied().unwrap_or_else(|| rng.usize(..cells));
        columns.push((0..rows).flat_map(|row| (position(row) as u32).to_le_bytes()).collect());
    }
    columns.push((0..rows).flat_map(|_| number(rng, Lane::F64)).collect());
    Inputs { columns, scalars: Vec::new() }
}

/// The sum of columns of one type that are taken, and of a column of rows if it is of that type.
fn sum(lanes: &[Lane]) -> List {
    let mut list = List::new();
    let rows = 2 * lanes.len() as u16;
    let mut next = rows + 1;
    for lane in LANES {
        let mut terms = Vec::new();
        for (number, _) in lanes.iter().enumerate().filter(|(_, of)| **of == lane) {
            let column = 2 * number as u16;
            list.take(column, column + 1);
            terms.push(list.column(column, lane));
        }
        if lane == Lane::F64 {
            terms.push(list.column(rows, lane));
        }
        if let Some(sum) = terms.into_iter().reduce(|x, y| list.binary(BinaryOp::Add, x, y)) {
            list.store(next, sum);
            next += 1;
        }
    }
    list
}

#[test]
fn cells_are_those_at_positions() {
    let mut rng = Rng::with_seed(5);
    for lanes in [&LANES[..1], &LANES[1..2], &LANES[2..3], &LANES[3..], &LANES[..], &[Lane::F64; 5]] {
        for rows in (0..40).chain([63, 64, 65, 200]) {
            let cells = 1 + rng.usize(..50);
            let list = sum(lanes);
            let inputs = inputs(&mut rng, lanes, cells, rows);
            let first = rng.usize(..=rows);
            for guard in [Guard::Before, Guard::Behind] {
                let what = format!("{lanes:?}, {rows} rows of {cells} cells");
                check_all(&list, &inputs, &[(0, rows), (first, rows)], guard, &what);
            }
        }
    }
}

/// Lanes behind the last row have a cell, which must not get into the sum.
#[test]
fn sums_take_rows_only() {
    let mut rng = Rng::with_seed(6);
    for lane in [Lane::F64, Lane::I64] {
        for rows in [1, 7, 8, 100, 131] {
            let mut list = List::new();
            list.take(0, 1);
            let taken = list.column(0, lane);
            list.leaves(3);
            list.sum(4, taken);
            let inputs = inputs(&mut rng, &[lane], 30, rows);
            check_all(&list, &inputs, &[(0, rows)], Guard::Behind, &format!("{lane:?}, {rows} rows"));
        }
    }
}
