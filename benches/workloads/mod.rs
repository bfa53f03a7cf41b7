//! Workloads: the fixed programs that every measurement runs.
//!
//! A workload is a [`Tape`]: steps over earlier steps. One tape gives the expression that is compiled,
//! the text that other engines parse, and the value that both must equal.
//!
//! | name | what it is |
//! | --- | --- |
//! | chainN | N dependent operators: `acc = acc*x; acc = acc + k_i`, `k_i = 0.3 + 0.001 i` |
//! | sharedN | N dependent operators: `acc = acc*x; acc = acc + k`, `x` and `k` inputs |
//! | wideN | eight independent chains of N/8 operators, summed |
//! | randomN | a random DAG of N operators over eight inputs, no value unused |
//! | quadroot | `d = y*y - 4*x*z; d >= 0 ? (-y + sqrt(d)) / (2*x) : 0` |
//! | big_vars | fasteval's benchmark expression of 56 operators, `x`, `y`, `z` for some constants |
//!
//! Inputs are uniform, from a xorshift generator with seed 12345.

#![allow(dead_code, reason = "every bench uses some of the workloads")]

use cembra::compile::{Options, compile};
use cembra::expr::{Expr, ExprBuilder, ExprRef};
use cembra::prepare::{Prepare, Source};
use cembra::vm::frame::Frame;
use cembra::vm::layout::Slot;
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::qtype::FLOAT64;
use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;

/// fasteval's "big" expression; `x`, `y` and `z` replace the constants 87, 31 and 92.
pub const BIG_VARS: &str = "((((x))) - 73.0) + (97.0 + (((15.0 / 55.0 * ((y)) + 35.0))) + (15.0 - (9.0)) \
    - (39.0 / 26.0) / 20.0 / 91.0 + 27.0 / (33.0 * 26.0 + 28.0 - (7.0) / 10.0 + 66.0 * 6.0) + 60.0 / 35.0 \
    - ((29.0) - (69.0) / 44.0 / (z)) / (89.0) + 2.0 + x / 47.0 * ((2.0)) * 83.0 / 98.0 * 42.0 \
    / (((67.0)) * ((97.0))) / (34.0 / 89.0 + 77.0) - 29.0 + 70.0 * (20.0)) + ((((((z))) + 23.0 * (98.0) \
    / (95.0) + (((99.0) * (41.0))) + (5.0 + 41.0) + 10.0) - (36.0) / (6.0 + 80.0 * 52.0 + (90.0))))";

/// The operators of [`BIG_VARS`] as written.
pub const BIG_VARS_OPERATORS: usize = 56;

/// One step of a tape: an input, a constant, or an operator on earlier steps.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Input(usize),
    Constant(f64),
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Min(usize, usize),
    Max(usize, usize),
    Neg(usize),
    Sqrt(usize),
    /// `where(first >= 0, second, third)`.
    IfNotNegative(usize, usize, usize),
}

impl Step {
    /// The value over those of earlier steps.
    fn value(&self, inputs: &[f64], earlier: &[f64]) -> f64 {
        let v = |i: &usize| earlier[*i];
        match self {
            Step::Input(i) => inputs[*i],
            Step::Constant(value) => *value,
            Step::Add(a, b) => v(a) + v(b),
            Step::Sub(a, b) => v(a) - v(b),
            Step::Mul(a, b) => v(a) * v(b),
            Step::Div(a, b) => v(a) / v(b),
            Step::Min(a, b) => v(a).min(v(b)),
            Step::Max(a, b) => v(a).max(v(b)),
            Step::Neg(a) => -v(a),
            Step::Sqrt(a) => v(a).sqrt(),
            Step::IfNotNegative(c, a, b) => v(if v(c) >= 0.0 { a } else { b }),
        }
    }
}

/// Steps over named inputs; the last one is the result.
#[derive(Clone, Debug)]
pub struct Tape {
    pub inputs: Vec<String>,
    pub steps: Vec<Step>,
}

impl Tape {
    fn new(inputs: &[&str]) -> Tape {
        let steps = (0..inputs.len()).map(Step::Input).collect();
        Tape { inputs: inputs.iter().map(|n| (*n).to_owned()).collect(), steps }
    }

    fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn constant(&mut self, value: f64) -> usize {
        self.push(Step::Constant(value))
    }

    /// Number of operators.
    pub fn operators(&self) -> usize {
        self.steps.iter().filter(|s| !matches!(s, Step::Input(_) | Step::Constant(_))).count()
    }

    /// The value of the last step, all computed one after the other.
    pub fn value(&self, inputs: &[f64]) -> f64 {
        let mut values: Vec<f64> = Vec::with_capacity(self.steps.len());
        self.steps.iter().for_each(|step| values.push(step.value(inputs, &values)));
        values.pop().expect("a tape has steps")
    }

    /// The expression to compile.
    pub fn expr(&self) -> Expr {
        let b = ExprBuilder::new();
        let mut nodes: Vec<ExprRef<'_>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let n = |i: &usize| nodes[*i];
            nodes.push(match step {
                Step::Input(i) => b.leaf(&self.inputs[*i]),
                Step::Constant(value) => b.literal(*value),
                Step::Add(a, c) => n(a) + n(c),
                Step::Sub(a, c) => n(a) - n(c),
                Step::Mul(a, c) => n(a) * n(c),
                Step::Div(a, c) => n(a) / n(c),
                Step::Min(a, c) => n(a).minimum(n(c)),
                Step::Max(a, c) => n(a).maximum(n(c)),
                Step::Neg(a) => -n(a),
                Step::Sqrt(a) => n(a).apply("math.sqrt"),
                Step::IfNotNegative(c, yes, no) => b.select(n(c).greater_equal(0.0), n(yes), n(no)),
            });
        }
        nodes.last().expect("a tape has steps").build().expect("room")
    }

    /// The text of the last step, every operator in parentheses. Only for tapes that are trees but for
    /// inputs, and without branches.
    pub fn text(&self) -> String {
        let mut texts: Vec<String> = Vec::new();
        for step in &self.steps {
            let mut text = String::new();
            // The operand built last is taken, not copied: chains stay linear.
            let mut both = |a: &usize, sign: &str, b: &usize| {
                let left =
                    if *a < self.inputs.len() { texts[*a].clone() } else { std::mem::take(&mut texts[*a]) };
                write!(text, "({left} {sign} {})", texts[*b]).expect("memory");
            };
            match step {
                Step::Input(i) => text.push_str(&self.inputs[*i]),
                Step::Constant(value) => text = format!("{value:?}"),
                Step::Add(a, b) => both(a, "+", b),
                Step::Sub(a, b) => both(a, "-", b),
                Step::Mul(a, b) => both(a, "*", b),
                Step::Div(a, b) => both(a, "/", b),
                other => panic!("{other:?} has no common text form"),
            }
            texts.push(text);
        }
        texts.pop().expect("a tape has steps")
    }
}

/// `acc = x; repeat n/2: acc = acc*x; acc = acc + k_i`.
pub fn chain(operators: usize) -> Tape {
    let mut tape = Tape::new(&["x"]);
    let mut acc = 0;
    for i in 0..operators / 2 {
        acc = tape.push(Step::Mul(acc, 0));
        let k = tape.constant(chain_constant(i));
        acc = tape.push(Step::Add(acc, k));
    }
    tape
}

/// The i-th constant of a chain.
pub fn chain_constant(i: usize) -> f64 {
    0.3 + 0.001 * i as f64
}

/// A chain of two inputs: every operator reads `x` or `k`.
pub fn shared(operators: usize) -> Tape {
    let mut tape = Tape::new(&["x", "k"]);
    let mut acc = 0;
    for _ in 0..operators / 2 {
        acc = tape.push(Step::Mul(acc, 0));
        acc = tape.push(Step::Add(acc, 1));
    }
    tape
}

/// Eight chains of n/8 operators over eight inputs, summed.
pub fn wide(operators: usize) -> Tape {
    let mut tape = Tape::new(&EIGHT);
    let mut ends = Vec::new();
    for input in 0..8 {
        let mut acc = input;
        for i in 0..operators / 16 {
            acc = tape.push(Step::Mul(acc, input));
            let k = tape.constant(chain_constant(i));
            acc = tape.push(Step::Add(acc, k));
        }
        ends.push(acc);
    }
    ends.into_iter().reduce(|a, b| tape.push(Step::Add(a, b)));
    tape
}

/// A random DAG over eight inputs in which every value is read. Operands are drawn from all earlier
/// values, until just enough operators are left to join the values that nobody has read. At
/// [`RANDOM_POINT`] every value is of moderate size.
pub fn random(operators: usize) -> Tape {
    let mut values = RANDOM_POINT.to_vec();
    let mut random = Random::new();
    let mut tape = Tape::new(&EIGHT);
    let mut unread: Vec<usize> = (0..8).collect();
    let mut place: Vec<Option<usize>> = (0..8).map(Some).collect();
    let (mut done, mut distinct) = (0, HashSet::new());
    while done < operators {
        let must_join = unread.len() >= operators - done;
        let pick = |random: &mut Random| match must_join {
            true => unread[random.below(unread.len())],
            false => random.below(place.len()),
        };
        let a = pick(&mut random);
        let b = if unread.len() == 1 { random.below(8) } else { pick(&mut random) };
        let kind = random.below(if must_join { 6 } else { 7 });
        let is_negative = matches!(tape.steps[a], Step::Neg(_));
        let step = match kind {
            0 => Step::Add(a, b),
            1 => Step::Sub(a, b),
            2 => Step::Mul(a, b),
            3 => Step::Div(a, b),
            4 => Step::Min(a, b),
            5 => Step::Max(a, b),
            _ => Step::Neg(a),
        };
        let value = step.value(&RANDOM_POINT, &values);
        // Nothing that an optimizer would take away, no overflow, no structural zero.
        let is_trivial =
            a == b || kind == 6 && is_negative || !distinct.insert((kind, a, if kind == 6 { a } else { b }));
        if is_trivial || !(1e-3..1e3).contains(&value.abs()) {
            continue;
        }
        values.push(value);
        done += 1;
        let read = if matches!(step, Step::Neg(_)) { [a, a] } else { [a, b] };
        for operand in read {
            if let Some(at) = place[operand].take() {
                unread.swap_remove(at);
                if let Some(moved) = unread.get(at) {
                    place[*moved] = Some(at);
                }
            }
        }
        place.push(Some(unread.len()));
        unread.push(tape.push(step));
    }
    assert_eq!(unread.len(), 1, "only the result is not read by an operator");
    tape
}

/// The root of a quadratic equation, or 0.
pub fn quadroot() -> Tape {
    let mut tape = Tape::new(&["x", "y", "z"]);
    let (x, y, z) = (0, 1, 2);
    let yy = tape.push(Step::Mul(y, y));
    let four = tape.constant(4.0);
    let four_x = tape.push(Step::Mul(four, x));
    let four_xz = tape.push(Step::Mul(four_x, z));
    let d = tape.push(Step::Sub(yy, four_xz));
    let minus_y = tape.push(Step::Neg(y));
    let sqrt = tape.push(Step::Sqrt(d));
    let numerator = tape.push(Step::Add(minus_y, sqrt));
    let two = tape.constant(2.0);
    let two_x = tape.push(Step::Mul(two, x));
    let root = tape.push(Step::Div(numerator, two_x));
    let zero = tape.constant(0.0);
    tape.push(Step::IfNotNegative(d, root, zero));
    tape
}

/// [`quadroot`] in Rust.
#[inline]
pub fn native_quadroot(x: f64, y: f64, z: f64) -> f64 {
    let d = y * y - 4.0 * x * z;
    if d >= 0.0 { (-y + d.sqrt()) / (2.0 * x) } else { 0.0 }
}

/// A closure that runs a [`chain`] over prepared constants.
pub fn native_chain(operators: usize) -> impl Fn(f64) -> f64 {
    let constants: Vec<f64> = (0..operators / 2).map(chain_constant).collect();
    move |x| constants.iter().fold(x, |acc, k| acc * x + k)
}

/// [`BIG_VARS`] in Rust.
#[rustfmt::skip]
#[inline]
pub fn native_big_vars(x: f64, y: f64, z: f64) -> f64 {
    (x - 73.0) + (97.0 + (15.0 / 55.0 * y + 35.0) + (15.0 - 9.0) - (39.0 / 26.0) / 20.0 / 91.0
        + 27.0 / (33.0 * 26.0 + 28.0 - 7.0 / 10.0 + 66.0 * 6.0) + 60.0 / 35.0 - (29.0 - 69.0 / 44.0 / z) / 89.0
        + 2.0 + x / 47.0 * 2.0 * 83.0 / 98.0 * 42.0 / (67.0 * 97.0) / (34.0 / 89.0 + 77.0) - 29.0 + 70.0 * 20.0)
        + ((z + 23.0 * 98.0 / 95.0 + 99.0 * 41.0 + (5.0 + 41.0) + 10.0) - 36.0 / (6.0 + 80.0 * 52.0 + 90.0))
}

/// An input point of [`random`].
pub const RANDOM_POINT: [f64; 8] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3];

const EIGHT: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// xorshift64*, seed 12345.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator at its start.
    pub fn new() -> Random {
        Random(12345)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// A uniform number.
    pub fn uniform(&mut self, range: Range<f64>) -> f64 {
        range.start + (range.end - range.start) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// Input points of a workload, in the order of its inputs.
pub fn points(ranges: &[Range<f64>], count: usize) -> Vec<Vec<f64>> {
    let mut random = Random::new();
    (0..count).map(|_| ranges.iter().map(|r| random.uniform(r.clone())).collect()).collect()
}

/// Points of [`quadroot`].
pub fn quadroot_points() -> Vec<[f64; 3]> {
    points(&[0.5..1.5, 3.0..5.0, 0.1..1.4], 1024).iter().map(|p| [p[0], p[1], p[2]]).collect()
}

/// An expression of FLOAT64 inputs, prepared and compiled with the standard options.
pub fn compiled(expr: &Expr, inputs: &[String]) -> BoundExpr {
    let inputs = inputs.iter().map(|name| (name.as_str(), FLOAT64));
    let prepared = Prepare::standard().run(Source::new(expr.clone(), inputs)).expect("a valid expression");
    compile(&prepared, &Options::default()).expect("a small frame")
}

/// Equal, or both not a number: far from its point a random DAG may overflow.
pub fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// A compiled workload with a frame and typed slots, checked against a known value.
#[derive(Debug)]
pub struct Ready {
    pub bound: BoundExpr,
    pub frame: Frame,
    pub inputs: Vec<Slot<f64>>,
    pub output: Slot<f64>,
}

impl Ready {
    /// Compiles an expression.
    pub fn new(expr: &Expr, names: &[String]) -> Ready {
        let bound = compiled(expr, names);
        let inputs = names.iter().map(|n| bound.input::<f64>(n).expect("an input")).collect();
        let output = bound.output::<f64>().expect("a FLOAT64 output");
        Ready { frame: bound.new_frame().expect("memory"), bound, inputs, output }
    }

    /// Compiles a tape and leaves the inputs of its first point in the frame.
    ///
    /// # Panics
    /// If the value at any point differs from the tape's.
    pub fn checked(tape: &Tape, points: &[Vec<f64>]) -> Ready {
        let mut ready = Ready::new(&tape.expr(), &tape.inputs);
        for point in points.iter().chain(points.first()) {
            let (actual, expected) = (ready.evaluate(point), tape.value(point));
            assert!(same(actual, expected), "{actual} at {point:?}, not {expected}");
        }
        ready
    }

    /// Stores, executes and loads.
    pub fn evaluate(&mut self, point: &[f64]) -> f64 {
        for (slot, value) in self.inputs.iter().zip(point) {
            self.frame.set(*slot, *value);
        }
        self.bound.execute(&mut self.frame).expect("no operator fails");
        self.frame.get(self.output)
    }
}
