//! Rooms of any strides: what lies between elements stays, and no two elements share memory.

use crate::draft::Draft;
use crate::{bound, qtype};
use cembra_vm::machine::room::{Room, RoomError};
use cembra_vm::machine::{RunOptions, Strips};
use cembra_vm::value::NdView;

#[test]
fn strided_rooms_get_elements_and_nothing_else() {
    let wide = qtype("NDARRAY_FLOAT64_NN");
    let mut d = Draft::new();
    let (x, y) = (d.input(0, wide.clone()), d.input(24, wide.clone()));
    let (sum, out) = (d.output(48, wide.clone()), d.output(72, wide));
    d.run("math.add", &[x, y], sum);
    d.run("math.multiply", &[sum, x], out);
    let mut routine = d.finish(&[("x", x), ("y", y)], out);
    routine.side_outputs = vec![("sum".into(), sum)];
    let bound = bound(routine);
    let sum = bound.side_output_slot("sum").expect("an output").clone();
    let (x, y) = (bound.input_slot("x").expect("an input"), bound.input_slot("y").expect("an input"));
    let mut frame = bound.new_frame().expect("memory");
    for [rows, columns] in [[300, 40], [5, 9], [3, 60], [2, 1], [1, 7], [4000, 50]] {
        let cells: Vec<f64> = (0..rows * (columns + 2) + 1).map(|at| at as f64 - 70.0).collect();
        let stride = (columns + 2) as isize;
        let bytes = bytemuck::cast_slice(&cells);
        let window = |start: usize| {
            let element = cembra_vm::value::ScalarType::Float64;
            NdView::new(element, bytes, start * 8, &[rows, columns], &[stride * 8, 8]).expect("inside")
        };
        let (left, right) = (window(0), window(2));
        for (strides, threads) in
            [(Strips::Never, 1), (Strips::Always, 1), (Strips::Always, 1), (Strips::Always, 2)]
        {
            // One of a row with gaps, one by columns.
            let mut by_rows = vec![-1.5; 3 + rows * (columns + 2)];
            let mut by_columns = vec![-1.5; columns * (rows + 1)];
            let shape = [rows, columns];
            let rooms = [
                Room::strided(bound.output_slot(), &mut by_rows, 3, &shape, &[stride, 1]),
                Room::strided(&sum, &mut by_columns, 0, &shape, &[1, rows as isize + 1]),
            ];
            let mut rooms = rooms.map(|room| room.expect("room for the elements"));
            let options = RunOptions::new().strips(strides).threads(threads);
            let views = [
                (bound.input_number(x).expect("an input"), left),
                (bound.input_number(y).expect("an input"), right),
            ];
            bound.run_on(&mut frame, &views, &mut rooms, options).expect("no error");
            let at = |row: usize, column: usize| cells[row * (columns + 2) + column];
            for (place, found) in by_rows.iter().enumerate() {
                let (row, column) =
                    (place.wrapping_sub(3) / (columns + 2), place.wrapping_sub(3) % (columns + 2));
                let is_element = place >= 3 && column < columns;
                let expected =
                    if is_element { (at(row, column) + at(row, column + 2)) * at(row, column) } else { -1.5 };
                assert_eq!(*found, expected, "{rows} x {columns}, place {place}");
            }
            for (place, found) in by_columns.iter().enumerate() {
                let (column, row) = (place / (rows + 1), place % (rows + 1));
                let expected = if row < rows { at(row, column) + at(row, column + 2) } else { -1.5 };
                assert_eq!(*found, expected, "{rows} x {columns}, by columns, place {place}");
            }
        }
    }
}

/// A strip that cannot compute some rows has them computed by passes, also where it could be called run by run.
#[test]
fn rare_elements_of_windows() {
    let wide = qtype("NDARRAY_FLOAT64_NN");
    let mut d = Draft::new();
    let (x, sum, out) = (d.input(0, wide.clone()), d.temporary(24, wide.clone()), d.output(48, wide));
    d.run("math.add", &[x, x], sum);
    d.run("math.trig.sin", &[sum], out);
    let bound = bound(d.finish(&[("x", x)], out));
    let number = bound.input_number(bound.input_slot("x").expect("an input")).expect("an input");
    let mut frame = bound.new_frame().expect("memory");
    let [rows, columns, stride] = [50, 60, 62];
    let mut cells: Vec<f64> = (0..rows * stride).map(|at| at as f64 * 0.25).collect();
    for at in [0, 59, stride * 7 + 30, stride * 49 + 59] {
        cells[at] = 1e12 + at as f64;
    }
    let strides = [stride as isize * 8, 8];
    let element = cembra_vm::value::ScalarType::Float64;
    let view =
        NdView::new(element, bytemuck::cast_slice(&cells), 0, &[rows, columns], &strides).expect("inside");
    let mut sines = |strips: Strips| {
        let mut target = vec![-1.5_f64; rows * stride];
        let room =
            Room::strided(bound.output_slot(), &mut target, 0, &[rows, columns], &[stride as isize, 1]);
        let options = RunOptions::new().strips(strips);
        bound.run_on(&mut frame, &[(number, view)], &mut [room.expect("room")], options).expect("no error");
        target
    };
    let expected = sines(Strips::Never);
    assert!(expected.iter().all(|sine| sine.abs() <= 1.5));
    for _ in 0..3 {
        assert_eq!(sines(Strips::Always), expected);
    }
}

#[test]
fn rooms_with_shared_or_missing_memory_are_refused() {
    let mut d = Draft::new();
    let (x, out) = (d.input(0, qtype("NDARRAY_FLOAT64_NN")), d.output(24, qtype("NDARRAY_FLOAT64_NN")));
    d.run("core._copy", &[x], out);
    let bound = bound(d.finish(&[("x", x)], out));
    let mut target = [0.0; 12];
    let mut room = |start: usize, shape: &[usize], strides: &[isize]| {
        Room::strided(bound.output_slot(), &mut target[..], start, shape, strides).map(drop)
    };
    assert_eq!(room(0, &[3, 4], &[4, 1]), Ok(()));
    assert_eq!(room(0, &[0, 4], &[-1, 0]), Ok(()));
    for (start, shape, strides) in [
        (1, [3, 4], [4, 1]),
        (0, [3, 4], [3, 1]),
        (0, [3, 4], [0, 1]),
        (8, [3, 4], [-4, 1]),
        (0, [3, 4], [isize::MAX, 1]),
        (usize::MAX, [1, 1], [1, 1]),
        (0, [usize::MAX, 2], [2, 1]),
    ] {
        let refused = room(start, &shape, &strides);
        assert!(matches!(refused, Err(RoomError::Place { .. })), "{start} {shape:?} {strides:?}");
    }
    assert!(room(0, &[3], &[4, 1]).is_err());
}
