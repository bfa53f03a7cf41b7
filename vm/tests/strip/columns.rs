//! Columns between pages that cannot be accessed, and strips run on them.

use crate::decoded;
use crate::random;
use crate::reference::{self, Rows};
use cembra_vm::strip::{Code, Lane, LaneFold, List, Op, Options, Sink, compile, load};
use cembra_vm::vector::Level;
use region::{Allocation, Protection};

/// On which side of a column the next page cannot be accessed without a byte between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Before,
    Behind,
    /// On none: the column begins at an odd address.
    Odd,
}

/// Memory of exactly some bytes.
pub struct Guarded {
    _pages: Allocation,
    first: *mut u8,
    len: usize,
}

impl Guarded {
    pub fn new(len: usize, guard: Guard) -> Guarded {
        let page = region::page::size();
        let inner = (len + 1).next_multiple_of(page);
        let mut pages = region::alloc(inner + 2 * page, Protection::READ_WRITE).expect("memory for a test");
        let base = pages.as_mut_ptr::<u8>();
        // SAFETY: both pages belong to the allocation, and nothing is in them.
        let first = unsafe {
            region::protect(base, page, Protection::NONE).expect("the page before");
            region::protect(base.add(page + inner), page, Protection::NONE).expect("the page behind");
            match guard {
                Guard::Before => base.add(page),
                Guard::Odd => base.add(page + 1),
                Guard::Behind => base.add(page + inner - len),
            }
        };
        Guarded { _pages: pages, first, len }
    }

    pub fn of(bytes: &[u8], guard: Guard) -> Guarded {
        let mut memory = Guarded::new(bytes.len(), guard);
        memory.bytes_mut().copy_from_slice(bytes);
        memory
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes can be read, and are initialised by the system.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.len) }
    }

    pub fn pointer(&self) -> *mut u8 {
        self.first
    }
}

/// What a list reads.
pub struct Inputs {
    /// By number of the column, rows or words of presence.
    pub columns: Vec<Vec<u8>>,
    pub scalars: Vec<u64>,
}

impl Rows for Inputs {
    fn row(&self, column: u16, lane: Lane, row: usize) -> u64 {
        let mut bits = [0; 8];
        let size = lane.bytes();
        bits[..size].copy_from_slice(&self.columns[column as usize][row * size..][..size]);
        u64::from_le_bytes(bits)
    }

    fn presence(&self, column: u16, row: usize) -> bool {
        self.columns[column as usize][row / 8] >> (row % 8) & 1 == 1
    }

    fn scalar(&self, number: u16) -> u64 {
        self.scalars[number as usize]
    }
}

/// Bytes of lanes of a fold; in a sum of leaves, parts follow.
pub const LANES: usize = 64;

/// Lanes of a spread sum.
const SPREAD: usize = 32;

/// Bytes of a column that a sink writes.
pub fn bytes_of(list: &List, sink: &Sink, rows: usize, leaves: usize) -> usize {
    match sink {
        Sink::Sum(_, term) => LANES + leaves * list.lane(*term).bytes(),
        Sink::Lanes(..) => LANES,
        Sink::Spread(_, term) => SPREAD * list.lane(*term).bytes(),
        Sink::Rows(_, term) => rows * list.lane(*term).bytes(),
        Sink::Presence(..) => rows.div_ceil(64) * 8,
        Sink::Fire(_) => 0,
    }
}

/// Ends of leaves of some rows. With presence, spread or running sums all leaves but the last have whole groups.
fn leaf_ends(list: &List, first: usize, end: usize) -> Vec<usize> {
    let is_spread = list.sinks().iter().any(|sink| matches!(sink, Sink::Spread(..)));
    let is_running = list.running_results().next().is_some();
    let sizes = match random::has_presence(list) || is_spread || is_running {
        true => [128, 8, 64, 120, 72],
        false => [128, 1, 64, 7, 37],
    };
    let mut ends = Vec::new();
    let mut row = first;
    for size in sizes.into_iter().cycle() {
        row = end.min(row + size);
        ends.push(row);
        if row == end {
            break;
        }
    }
    ends
}

/// The sum of the rows of a leaf: eight lanes, joined in pairs, then the rows that are left.
fn sum_of_leaf(lane: Lane, rows: &[u64]) -> u64 {
    fn sum<T: Copy>(rows: &[T], zero: T, plus: impl Fn(T, T) -> T) -> T {
        let (eights, rest) = rows.as_chunks::<8>();
        let Some((first, more)) = eights.split_first() else {
            return rest.iter().fold(zero, |sum, x| plus(sum, *x));
        };
        let s = more.iter().fold(*first, |sums, eight| std::array::from_fn(|i| plus(sums[i], eight[i])));
        let low = plus(plus(s[0], s[1]), plus(s[2], s[3]));
        let high = plus(plus(s[4], s[5]), plus(s[6], s[7]));
        rest.iter().fold(plus(low, high), |sum, x| plus(sum, *x))
    }
    match lane {
        Lane::F64 => {
            let rows: Vec<f64> = rows.iter().map(|bits| f64::from_bits(*bits)).collect();
            sum(&rows, 0.0, |x, y| x + y).to_bits()
        }
        Lane::F32 => {
            let rows: Vec<f32> = rows.iter().map(|bits| f32::from_bits(*bits as u32)).collect();
            sum(&rows, 0.0, |x, y| x + y).to_bits().into()
        }
        _ => sum(rows, 0, u64::wrapping_add),
    }
}

/// What becomes of rows in any order, as words: the start of lanes is one of them, and changes nothing.
fn folded(fold: LaneFold, lane: Lane, rows: impl Iterator<Item = u64>) -> u64 {
    let join = |best: u64, next: u64| {
        let is_better = |best: f64, next: f64| match fold {
            LaneFold::Least => next < best,
            _ => next > best,
        };
        let replaces = match lane {
            Lane::F64 | Lane::F32 => {
                let [best, next] = [best, next].map(|bits| match lane {
                    Lane::F64 => f64::from_bits(bits),
                    _ => f32::from_bits(bits as u32).into(),
                });
                !best.is_nan() && (next.is_nan() || is_better(best, next))
            }
            _ => {
                let [best, next] = [best, next].map(|bits| match lane {
                    Lane::I32 => (bits as i32).into(),
                    _ => bits as i64,
                });
                if fold == LaneFold::Least { next < best } else { next > best }
            }
        };
        if replaces { next } else { best }
    };
    let mask = if lane.bytes() == 4 { u64::from(u32::MAX) } else { u64::MAX };
    match fold {
        LaneFold::Sum => rows.fold(0, u64::wrapping_add) & mask,
        _ => rows.fold(fold.start(lane) & mask, join),
    }
}

/// The ways in which each list is compiled.
pub fn ways() -> Vec<(Level, Options)> {
    let mut ways = Vec::new();
    for level in Level::available().iter().filter(|level| **level != Level::Baseline) {
        for (registers, unroll) in [(32, None), (5, Some(1)), (6, Some(2)), (9, Some(4)), (32, Some(4))] {
            ways.push((*level, Options { registers, unroll }));
        }
    }
    ways
}

/// True if two rows of a type are the same; any NaN is one value.
pub fn is_same(lane: Lane, a: u64, b: u64) -> bool {
    let is_nan = |bits: u64| match lane {
        Lane::F64 => f64::from_bits(bits).is_nan(),
        Lane::F32 => f32::from_bits(bits as u32).is_nan(),
        _ => false,
    };
    a == b || (is_nan(a) && is_nan(b))
}

/// Runs a code on the rows of the inputs, and compares every row that it writes with the reference. Rows from `first`
/// to `end` are computed; the others stay as they are.
pub fn check(list: &List, code: &Code, inputs: &Inputs, first: usize, end: usize, guard: Guard, what: &str) {
    let strip = load(std::slice::from_ref(code)).expect("executable memory").remove(0);
    let mut memory: Vec<Guarded> = inputs.columns.iter().map(|bytes| Guarded::of(bytes, guard)).collect();
    let ends = leaf_ends(list, first, end);
    for sink in list.sinks() {
        if let Sink::Rows(number, _)
        | Sink::Presence(number, _)
        | Sink::Sum(number, _)
        | Sink::Lanes(_, number, _)
        | Sink::Spread(number, _) = sink
        {
            let bytes = bytes_of(list, sink, end, ends.len());
            let is_input = inputs.columns.get(*number as usize).is_some_and(|bytes| !bytes.is_empty());
            if !is_input {
                memory.resize_with(memory.len().max(*number as usize + 1), || Guarded::new(0, guard));
                let mut before = vec![0xA5; bytes];
                let start = match sink {
                    Sink::Sum(_, term) => Some(list.lane(*term).lanes_of_no_rows()),
                    Sink::Lanes(fold, _, term) => Some(fold.start(list.lane(*term))),
                    _ => None,
                };
                if let Sink::Spread(..) = sink {
                    before.fill(0);
                }
                if let Some(start) = start {
                    before[..LANES].copy_from_slice(bytemuck::cast_slice(&[start; LANES / 8]));
                }
                memory[*number as usize] = Guarded::of(&before, guard);
            }
        }
    }
    let mut sums = reference::no_rows(list);
    for (number, (column, _, lane)) in list.running_results().enumerate() {
        // Some go on from rows before.
        if number % 2 == 1 {
            let before = if lane == Lane::F64 { 1.5_f64.to_bits() } else { 7 };
            sums.insert(column, before);
        }
        let bytes = sums[&column].to_le_bytes().repeat(LANES / 8);
        memory.resize_with(memory.len().max(column as usize + 1), || Guarded::new(0, guard));
        memory[column as usize] = Guarded::of(&bytes, guard);
    }
    if let Some(number) = list.leaf_ends() {
        let bytes: Vec<u8> = ends.iter().flat_map(|end| (*end as u64).to_le_bytes()).collect();
        memory.resize_with(memory.len().max(number as usize + 1), || Guarded::new(0, guard));
        memory[number as usize] = Guarded::of(&bytes, guard);
    }
    let before: Vec<Vec<u8>> = memory.iter().map(|memory| memory.bytes().to_vec()).collect();
    let pointers: Vec<*mut u8> = memory.iter().map(Guarded::pointer).collect();
    // SAFETY: the machine has the level, and the columns have the rows.
    let fired = unsafe { strip.run(pointers.as_ptr(), first, end, inputs.scalars.as_ptr()) };
    let rows = reference::terms_of(list, inputs, first..end, &mut sums);
    let wanted = reference::is_wanted(list);
    for (term, op, lane) in list.terms() {
        if let Op::Running(_, column, _) = op
            && wanted[term.index()]
            && (end - first).is_multiple_of(8)
        {
            let bytes = memory[column as usize].bytes();
            let found = u64::from_le_bytes(bytes[..8].try_into().expect("a cell"));
            let expected = sums[&column];
            assert!(
                is_same(lane, found, expected),
                "{what}: {op:?} behind {first}..{end}: {found:x}, not {expected:x}"
            );
        }
    }
    let mut expect_fire = false;
    for sink in list.sinks() {
        let lane = list.lane(sink.term());
        match sink {
            Sink::Fire(_) => expect_fire |= rows.iter().any(|terms| reference::sink(sink, terms) != 0),
            Sink::Rows(number, _) => {
                let found = Inputs {
                    columns: memory.iter().map(|memory| memory.bytes().to_vec()).collect(),
                    scalars: Vec::new(),
                };
                for row in 0..end {
                    let value = found.row(*number, lane, row);
                    let expected = match row.checked_sub(first) {
                        Some(row) => reference::sink(sink, &rows[row]),
                        None => {
                            let size = lane.bytes();
                            let mut bits = [0; 8];
                            bits[..size].copy_from_slice(&before[*number as usize][row * size..][..size]);
                            u64::from_le_bytes(bits)
                        }
                    };
                    assert!(
                        is_same(lane, value, expected),
                        "{what}: {sink:?} {lane:?} row {row} of {first}..{end}: {value:x}, not {expected:x}\n{}",
                        dump(list, &rows[row.saturating_sub(first)])
                    );
                }
            }
            Sink::Sum(number, _) if first < end => {
                let parts = memory[*number as usize].bytes()[LANES..].to_vec();
                let found = Inputs { columns: vec![parts], scalars: Vec::new() };
                let mut start = first;
                for (leaf, end) in ends.iter().enumerate() {
                    let values: Vec<u64> = rows[start - first..end - first]
                        .iter()
                        .map(|terms| reference::sink(sink, terms))
                        .collect();
                    let (value, expected) = (found.row(0, lane, leaf), sum_of_leaf(lane, &values));
                    // -0 and 0 are the same once 0 is added.
                    let is_zero = |bits: u64| lane.is_float() && bits << (65 - 8 * lane.bytes()) == 0;
                    assert!(
                        is_same(lane, value, expected) || is_zero(value) && is_zero(expected),
                        "{what}: {sink:?} {lane:?} leaf {leaf} {start}..{end}: {value:x}, not {expected:x}"
                    );
                    start = *end;
                }
            }
            Sink::Sum(..) => {}
            Sink::Lanes(fold, number, _) => {
                let lanes = memory[*number as usize].bytes();
                let lanes = lanes.chunks_exact(lane.bytes()).map(|lane| {
                    let mut bits = [0; 8];
                    bits[..lane.len()].copy_from_slice(lane);
                    u64::from_le_bytes(bits)
                });
                let found = folded(*fold, lane, lanes);
                let expected = folded(*fold, lane, rows.iter().map(|terms| reference::sink(sink, terms)));
                let is_zero = |bits: u64| lane.is_float() && bits << (65 - 8 * lane.bytes()) == 0;
                assert!(
                    is_same(lane, found, expected) || is_zero(found) && is_zero(expected),
                    "{what}: {sink:?} {lane:?} of {first}..{end}: {found:x}, not {expected:x}"
                );
            }
            Sink::Spread(number, _) => {
                let found =
                    Inputs { columns: vec![memory[*number as usize].bytes().to_vec()], scalars: Vec::new() };
                for place in 0..SPREAD {
                    // Lanes have moved by the whole groups of eight.
                    let number = (place + (end - first) / 8 * 8) % SPREAD;
                    let of_lane = rows.iter().skip(number).step_by(SPREAD);
                    let of_lane = of_lane.map(|terms| reference::sink(sink, terms));
                    let expected = of_lane.fold(0, |sum, next| match lane {
                        Lane::F64 => (f64::from_bits(sum) + f64::from_bits(next)).to_bits(),
                        Lane::F32 => {
                            (f32::from_bits(sum as u32) + f32::from_bits(next as u32)).to_bits().into()
                        }
                        _ => sum.wrapping_add(next),
                    });
                    let value = found.row(0, lane, place);
                    assert!(
                        is_same(lane, value, expected),
                        "{what}: {sink:?} {lane:?} lane {number} of {first}..{end}: {value:x}, not {expected:x}"
                    );
                }
            }
            Sink::Presence(number, _) => {
                let bytes = memory[*number as usize].bytes();
                for row in first..end.next_multiple_of(64) {
                    let bit = bytes[row / 8] >> (row % 8) & 1 == 1;
                    let expected = row < end && reference::sink(sink, &rows[row - first]) != 0;
                    assert_eq!(bit, expected, "{what}: {sink:?} row {row} of {first}..{end}");
                }
            }
        }
    }
    assert_eq!(fired != 0, expect_fire, "{what}: fires in {first}..{end}");
}

/// A list, with the values of a row.
fn dump(list: &List, terms: &[u64]) -> String {
    let line =
        |((term, op, lane), bits): ((_, Op, Lane), &u64)| format!("{term} = {op:?} : {lane:?} = {bits:x}\n");
    list.terms().zip(terms).map(line).collect()
}

/// Compiles a list in every way and checks it.
pub fn check_all(list: &List, inputs: &Inputs, ranges: &[(usize, usize)], guard: Guard, what: &str) {
    for (level, options) in ways() {
        let what = format!("{what}, {} {options:?} {guard:?}", level.name());
        let code = compile(list, level, options).unwrap_or_else(|error| panic!("{what}: {error}"));
        decoded::check(list, &code, &what);
        for (first, end) in ranges {
            check(list, &code, inputs, *first, *end, guard, &what);
        }
    }
}
