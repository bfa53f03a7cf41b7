//! Runs of rows one after the other: columns move by steps between them.

use crate::columns::{Guard, Guarded, ways};
use crate::{decoded, stream};
use cembra_vm::strip::{BinaryOp, Lane, List, compile, load};

/// Columns that are read; with that of the result and that of positions there are more than registers for pointers.
const COLUMNS: usize = 7;

/// Rows of memory; a run is shorter.
const WIDTH: usize = 40;

const LINES: usize = 9;

fn cell(column: usize, at: usize) -> f64 {
    ((at * 31 + column * 17) % 101) as f64 * 0.37 - 20.0
}

/// What the sums of a line are multiplied by.
fn factor(line: usize) -> f64 {
    0.5 + line as f64
}

/// The sum of all columns, of which the first one is taken, and one is the same in all runs, times another number in each of them.
#[test]
fn columns_move_between_runs() {
    let mut list = List::new();
    list.take(0, COLUMNS as u16);
    let columns: Vec<_> = (0..COLUMNS as u16).map(|number| list.column(number, Lane::F64)).collect();
    let k = list.scalar(0, Lane::F64);
    let sum = columns.into_iter().reduce(|x, y| list.binary(BinaryOp::Add, x, y)).expect("columns");
    let scaled = list.binary(BinaryOp::Mul, sum, k);
    list.store(COLUMNS as u16 + 1, scaled);
    let cells =
        |column: usize| (0..WIDTH * LINES).flat_map(move |at| cell(column, at).to_le_bytes()).collect();
    let position = |row: usize| row * 7 % WIDTH;
    let positions: Vec<u8> = (0..WIDTH).flat_map(|row| (position(row) as u32).to_le_bytes()).collect();
    let row_bytes = 8 * WIDTH as isize;
    let (mut streamed, mut at_lines) = (list.clone(), list.clone());
    stream(&mut streamed);
    at_lines.begin_at_lines();
    let lists = [&list, &streamed, &at_lines];
    let all = ways().into_iter().flat_map(|(level, options)| lists.map(|list| (list, level, options)));
    for (list, level, options) in all {
        let what = format!("{} {options:?}", level.name());
        let code = compile(list, level, options).unwrap_or_else(|error| panic!("{what}: {error}"));
        decoded::check(list, &code, &what);
        let strip = load(std::slice::from_ref(&code)).expect("executable memory").remove(0);
        for rows in [0, 1, 7, 8, 33, WIDTH] {
            for (runs, turns) in [0, 1, 2, LINES].into_iter().flat_map(|runs| [(runs, 1), (runs, 3)]) {
                let mut memory: Vec<Vec<u8>> = (0..COLUMNS).map(cells).collect();
                memory.extend([positions.clone(), vec![0; 8 * WIDTH * LINES]]);
                let memory: Vec<Guarded> =
                    memory.iter().map(|bytes| Guarded::of(bytes, Guard::Behind)).collect();
                let mut pointers: Vec<*mut u8> = memory.iter().map(Guarded::pointer).collect();
                // Constants first, then that to the list of the next run.
                const LIST: usize = 2 + COLUMNS + 2;
                let mut steps = [row_bytes; LIST];
                (steps[0], steps[1], steps[2 + 2], steps[2 + COLUMNS]) = (8, 0, 0, 0);
                // The last column that is read goes up.
                pointers[COLUMNS - 1] =
                    pointers[COLUMNS - 1].wrapping_add(8 * WIDTH * runs.saturating_sub(1));
                steps[2 + COLUMNS - 1] = -row_bytes;
                // Results go to as many lines in turn, or to all of them.
                let mut lists = steps.repeat(turns);
                if turns > 1 {
                    for (turn, list) in lists.chunks_exact_mut(LIST).enumerate() {
                        let by = if turn + 1 == turns { 1 - turns as isize } else { 1 };
                        (list[1], list[2 + COLUMNS + 1]) = (by * (8 * LIST) as isize, by * row_bytes);
                    }
                }
                // SAFETY: the machine has the level, and the columns have the rows of all runs.
                let fired = unsafe {
                    let constants: Vec<u64> = (0..LINES).map(|line| factor(line).to_bits()).collect();
                    strip.run_often(pointers.as_mut_ptr(), rows, constants.as_ptr(), runs, lists.as_ptr())
                };
                assert_eq!(fired, 0, "{what}");
                let mut expected = vec![0.0_f64; WIDTH * LINES];
                for (line, at) in (0..runs).flat_map(|line| (0..rows).map(move |row| (line, row))) {
                    let of = |column: usize| match column {
                        0 => cell(0, line * WIDTH + position(at)),
                        2 => cell(2, at),
                        6 => cell(6, (runs - 1 - line) * WIDTH + at),
                        _ => cell(column, line * WIDTH + at),
                    };
                    let sum = (1..COLUMNS).fold(of(0), |sum, column| sum + of(column));
                    let to = if turns > 1 { line % turns } else { line };
                    expected[to * WIDTH + at] = sum * factor(line);
                }
                let (words, _) = memory[COLUMNS + 1].bytes().as_chunks::<8>();
                let found: Vec<f64> = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
                assert_eq!(found, expected, "{what}, {runs} runs of {rows} rows, {turns} in turn");
            }
        }
    }
}
