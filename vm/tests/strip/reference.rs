//! Reference: what a list computes for one row, by the words of its documentation.
//!
//! Shares no code with the compiler of strips: numbers are Rust's own, one row at a time.

use cembra_vm::strip::{BinaryOp, Comparison, Lane, List, Op, RunningOp, ShiftOp, Sink, Term, UnaryOp};
use std::collections::HashMap;
use std::ops::Range;

/// Where the reference reads rows.
pub trait Rows {
    /// The bits of a row of a column; of a mask, 0 or 1.
    fn row(&self, column: u16, lane: Lane, row: usize) -> u64;

    /// The bit of a row in a column of presence.
    fn presence(&self, column: u16, row: usize) -> bool;

    /// The 8 bytes of a constant.
    fn scalar(&self, number: u16) -> u64;
}

/// By column: running results so far.
pub type Running = HashMap<u16, u64>;

/// The bits of every term in a row; nothing was summed up before it.
pub fn terms(list: &List, rows: &impl Rows, row: usize) -> Vec<u64> {
    terms_behind(list, rows, row, &mut no_rows(list))
}

/// Those of no rows.
pub fn no_rows(list: &List) -> Running {
    list.running_results().map(|(column, op, lane)| (column, op.start(lane))).collect()
}

/// The same of rows one after the other.
pub fn terms_of(list: &List, rows: &impl Rows, range: Range<usize>, sums: &mut Running) -> Vec<Vec<u64>> {
    range.map(|row| terms_behind(list, rows, row, sums)).collect()
}

fn terms_behind(list: &List, rows: &impl Rows, row: usize, sums: &mut Running) -> Vec<u64> {
    let mut bits: Vec<u64> = Vec::new();
    for (_, op, lane) in list.terms() {
        let value = match op {
            Op::Running(op, column, x) => {
                let (known, x) = (sums.get_mut(&column).expect("what came before"), bits[x.index()]);
                let op = if op == RunningOp::Sum { BinaryOp::Add } else { BinaryOp::Max };
                *known = binary(op, lane, *known, x);
                *known
            }
            op => term(list, &bits, op, lane, rows, row),
        };
        bits.push(trimmed(lane, value));
    }
    bits
}

/// By term: true if a sink asks for it.
pub fn is_wanted(list: &List) -> Vec<bool> {
    let mut wanted = vec![false; list.terms().len()];
    list.sinks().iter().for_each(|sink| wanted[sink.term().index()] = true);
    for (term, op, _) in list.terms().rev() {
        if wanted[term.index()] {
            op.operands().for_each(|operand| wanted[operand.index()] = true);
        }
    }
    wanted
}

/// What a sink takes of a row.
pub fn sink(sink: &Sink, terms: &[u64]) -> u64 {
    terms[sink.term().index()]
}

fn trimmed(lane: Lane, bits: u64) -> u64 {
    match lane {
        Lane::F64 | Lane::I64 => bits,
        Lane::F32 | Lane::I32 => bits & 0xFFFF_FFFF,
        Lane::Mask => bits & 1,
    }
}

fn term(list: &List, bits: &[u64], op: Op, lane: Lane, rows: &impl Rows, row: usize) -> u64 {
    let of = |term: Term| bits[term.index()];
    match op {
        Op::Column(number) => match list.positions(number) {
            Some(positions) => rows.row(number, lane, rows.row(positions, Lane::I32, row) as usize),
            None => rows.row(number, lane, row),
        },
        Op::Presence(number) => rows.presence(number, row).into(),
        Op::Scalar(number) if lane == Lane::Mask => u64::from(rows.scalar(number) as u32 != 0),
        Op::Scalar(number) => rows.scalar(number),
        Op::Literal(bits) => bits,
        Op::Unary(op, x) => unary(op, lane, of(x)),
        Op::Binary(op, x, y) => binary(op, lane, of(x), of(y)),
        Op::Compare(comparison, x, y) => compare(comparison, list.lane(x), of(x), of(y)).into(),
        Op::Select(mask, yes, no) => {
            if of(mask) != 0 {
                of(yes)
            } else {
                of(no)
            }
        }
        Op::Shift(op, x, by) => match (op, lane) {
            (ShiftOp::Left, _) => of(x) << by,
            (ShiftOp::Right, _) => of(x) >> by,
            (ShiftOp::RightSigned, Lane::I32) => (of(x) as i32 >> by) as u64,
            (ShiftOp::RightSigned, _) => (of(x) as i64 >> by) as u64,
        },
        Op::Fma(a, b, c) => match lane {
            Lane::F64 => double(of(a)).mul_add(double(of(b)), double(of(c))).to_bits(),
            _ => u64::from(single(of(a)).mul_add(single(of(b)), single(of(c))).to_bits()),
        },
        Op::Cast(x) => cast(list.lane(x), lane, of(x)),
        Op::Bits(x) => of(x),
        Op::Running(..) => unreachable!("it is known of all rows before"),
    }
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn unary(op: UnaryOp, lane: Lane, x: u64) -> u64 {
    fn float64(op: UnaryOp, x: f64) -> f64 {
        match op {
            UnaryOp::Neg => -x,
            UnaryOp::Abs => x.abs(),
            UnaryOp::Sqrt => x.sqrt(),
            UnaryOp::Floor => x.floor(),
            UnaryOp::Ceil => x.ceil(),
            UnaryOp::Trunc => x.trunc(),
            UnaryOp::Nearest => x.round_ties_even(),
            UnaryOp::Not => unreachable!(),
        }
    }
    match (lane, op) {
        (Lane::F64, _) => float64(op, double(x)).to_bits(),
        (Lane::F32, UnaryOp::Sqrt) => single(x).sqrt().to_bits().into(),
        // Exact in either width.
        (Lane::F32, _) => (float64(op, single(x).into()) as f32).to_bits().into(),
        (Lane::I64, UnaryOp::Neg) => (x as i64).wrapping_neg() as u64,
        (Lane::I64, UnaryOp::Abs) => (x as i64).wrapping_abs() as u64,
        (Lane::I32, UnaryOp::Neg) => (x as i32).wrapping_neg() as u64,
        (Lane::I32, UnaryOp::Abs) => (x as i32).wrapping_abs() as u64,
        _ => !x,
    }
}

fn binary(op: BinaryOp, lane: Lane, x: u64, y: u64) -> u64 {
    fn float<T: PartialOrd + Copy>(x: T, y: T, is_max: bool) -> T {
        let is_nan = |x: T| x.partial_cmp(&x).is_none();
        let keeps_left = if is_max { x >= y } else { x <= y };
        if is_nan(x) || keeps_left { x } else { y }
    }
    match (op, lane) {
        (BinaryOp::And, _) => x & y,
        (BinaryOp::Or, _) => x | y,
        (BinaryOp::Xor, _) => x ^ y,
        (BinaryOp::AndNot, _) => x & !y,
        (_, Lane::F64) => {
            let (x, y) = (double(x), double(y));
            let result = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div => x / y,
                BinaryOp::Min => float(x, y, false),
                _ => float(x, y, true),
            };
            result.to_bits()
        }
        (_, Lane::F32) => {
            let (x, y) = (single(x), single(y));
            let result = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div => x / y,
                BinaryOp::Min => float(x, y, false),
                _ => float(x, y, true),
            };
            result.to_bits().into()
        }
        (BinaryOp::MulLow, _) => (x & 0xFFFF_FFFF).wrapping_mul(y & 0xFFFF_FFFF),
        (BinaryOp::Add, _) => x.wrapping_add(y),
        (BinaryOp::Sub, _) => x.wrapping_sub(y),
        (BinaryOp::Mul, _) => x.wrapping_mul(y),
        (BinaryOp::Min, Lane::I64) => (x as i64).min(y as i64) as u64,
        (BinaryOp::Max, Lane::I64) => (x as i64).max(y as i64) as u64,
        (BinaryOp::Min, _) => (x as i32).min(y as i32) as u64,
        (BinaryOp::Max, _) => (x as i32).max(y as i32) as u64,
        (BinaryOp::Div, _) => unreachable!("integers are not divided"),
    }
}

fn compare(comparison: Comparison, lane: Lane, x: u64, y: u64) -> bool {
    let ordering = match lane {
        Lane::F64 => double(x).partial_cmp(&double(y)),
        Lane::F32 => single(x).partial_cmp(&single(y)),
        Lane::I64 => Some((x as i64).cmp(&(y as i64))),
        _ => Some((x as i32).cmp(&(y as i32))),
    };
    match comparison {
        Comparison::Equal => ordering.is_some_and(|o| o.is_eq()),
        Comparison::NotEqual => ordering.is_none_or(|o| o.is_ne()),
        Comparison::Less => ordering.is_some_and(|o| o.is_lt()),
        Comparison::LessEqual => ordering.is_some_and(|o| o.is_le()),
        Comparison::Greater => ordering.is_some_and(|o| o.is_gt()),
        Comparison::GreaterEqual => ordering.is_some_and(|o| o.is_ge()),
        Comparison::Unordered => ordering.is_none(),
    }
}

fn cast(from: Lane, to: Lane, x: u64) -> u64 {
    match (from, to) {
        (Lane::F64, Lane::F32) => (double(x) as f32).to_bits().into(),
        (Lane::F64, Lane::I64) => double(x) as i64 as u64,
        (Lane::F64, Lane::I32) => double(x) as i32 as u64,
        (Lane::F32, Lane::F64) => f64::from(single(x)).to_bits(),
        (Lane::F32, Lane::I64) => single(x) as i64 as u64,
        (Lane::F32, Lane::I32) => single(x) as i32 as u64,
        (Lane::I64, Lane::F64) => (x as i64 as f64).to_bits(),
        (Lane::I64, Lane::F32) => (x as i64 as f32).to_bits().into(),
        (Lane::I64, Lane::I32) => x,
        (Lane::I32, Lane::F64) => f64::from(x as i32).to_bits(),
        (Lane::I32, Lane::F32) => (x as i32 as f32).to_bits().into(),
        (Lane::I32, Lane::I64) => i64::from(x as i32) as u64,
        _ => unreachable!("a cast from {from:?} to {to:?}"),
    }
}
