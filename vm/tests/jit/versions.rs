//! Counted loops, which are made twice: with any fuel, indices inside and outside, arrays of any strides, ways out.

use crate::agree::{Tiers, plain};
use crate::draft::Draft;
use crate::stretches::Random;
use cembra_vm::program::{Instruction, Routine, ValueId};
use cembra_vm::value::qtype::{FLOAT64, INT64, OPTIONAL_UNIT};
use cembra_vm::value::{NdRows, NdType, QType, Value};
use std::sync::Arc;

fn array_type(name: &str) -> NdType {
    NdType::from_name(name).expect("a type of arrays")
}

fn array(rows: NdRows) -> Value {
    Value::NdArray(Arc::new(rows))
}

/// `main(a, b, w, first, end, step, k)`: a loop over a counter, and what it touches.
struct Loop<'d> {
    draft: &'d mut Draft,
    random: &'d mut Random,
    /// a matrix, floats and integers that are written.
    arrays: [ValueId; 3],
    counter: ValueId,
    literals: Vec<ValueId>,
    k: ValueId,
    sum: ValueId,
    ways_out: Vec<usize>,
}

impl Loop<'_> {
    fn literal(&mut self) -> ValueId {
        self.literals[self.random.below(self.literals.len())]
    }

    /// Mostly of a form that is looked at beforehand.
    fn index(&mut self) -> ValueId {
        let operators = ["math.add", "math.subtract", "python.add", "python.subtract", "math.multiply"];
        let operator = operators[self.random.below(operators.len())];
        let (counter, k, literal) = (self.counter, self.k, self.literal());
        let operands = match self.random.below(8) {
            0 | 1 => return counter,
            2 => return k,
            3 => [counter, literal],
            4 => [literal, counter],
            5 => [counter, k],
            // Where k was added before, the index does not depend on it, but a sum on the way may overflow.
            6 => {
                let of = self.index();
                [of, k]
            }
            _ => {
                let of = self.index();
                [of, literal]
            }
        };
        let index = self.draft.next_temporary(INT64);
        self.draft.run(operator, &operands, index);
        index
    }

    fn statement(&mut self) {
        let [a, b, w] = self.arrays;
        let [i, j] = [self.index(), self.index()];
        match self.random.below(8) {
            0 | 1 => {
                let x = self.draft.next_temporary(FLOAT64);
                self.draft.run("nd.get", &[a, i, j], x);
                self.draft.run("math.add", &[self.sum, x], self.sum);
            }
            2 | 3 => {
                let x = self.draft.next_temporary(FLOAT64);
                self.draft.run("nd.get", &[b, i], x);
                self.draft.run("math.add", &[self.sum, x], self.sum);
            }
            4 | 5 => self.draft.run("nd.set", &[b, self.sum, i], b),
            6 => {
                let x = self.draft.next_temporary(INT64);
                self.draft.run("nd.get", &[w, i], x);
                self.draft.run("python.add", &[x, j], x);
                self.draft.run("nd.set", &[w, x, i], w);
            }
            _ => self.branch(i, j),
        }
    }

    /// A branch around a statement, or a way out.
    fn branch(&mut self, i: ValueId, j: ValueId) {
        let condition = self.draft.next_temporary(OPTIONAL_UNIT);
        self.draft.run("core.less", &[i, j], condition);
        let jump = self.draft.push(Instruction::JumpIf { condition, offset: 0 });
        if self.random.below(3) == 0 {
            self.ways_out.push(jump);
            return;
        }
        self.statement();
        self.draft.body.set_target(jump, self.draft.body.instructions().len());
    }
}

fn program(random: &mut Random) -> Routine {
    let mut draft = Draft::new();
    let names = ["NDARRAY_FLOAT64_NN", "NDARRAY_FLOAT64_N", "NDARRAY_INT64_N"];
    let arrays = names.map(|name| draft.next_input(QType::NdArray(array_type(name))));
    let [first, end, step, k] = [(); 4].map(|()| draft.next_input(INT64));
    let result = draft.next_output(FLOAT64);
    let (counter, sum) = (draft.next_temporary(INT64), draft.next_temporary(FLOAT64));
    let more = draft.next_temporary(OPTIONAL_UNIT);
    let literals = [0i64, 1, -1, 2, -2, 3];
    let literals: Vec<ValueId> = literals.map(|value| draft.next_literal(Value::from(value))).into();
    let half = draft.next_literal(Value::from(0.5));
    draft.run("core._copy", &[half], sum);
    draft.run("core._copy", &[first], counter);
    let into = draft.push(Instruction::Jump { offset: 0 });
    let begin = draft.body.instructions().len();
    let mut turn =
        Loop { draft: &mut draft, random, arrays, counter, literals, k, sum, ways_out: Vec::new() };
    for _ in 0..1 + turn.random.below(4) {
        turn.statement();
    }
    let by = if turn.random.below(3) == 0 { step } else { turn.literal() };
    let add = ["math.add", "python.add", "math.subtract"][turn.random.below(3)];
    turn.draft.run(add, &[counter, by], counter);
    // Something behind the step.
    if turn.random.below(3) == 0 {
        turn.statement();
    }
    let ways_out = turn.ways_out;
    draft.body.set_target(into, draft.body.instructions().len());
    let compared = ["core.less", "core.less_equal"][random.below(2)];
    let operands = if random.below(2) == 0 { [counter, end] } else { [end, counter] };
    draft.run(compared, &operands, more);
    let again = draft.push(match random.below(2) {
        0 => Instruction::JumpIf { condition: more, offset: 0 },
        _ => Instruction::JumpIfNot { condition: more, offset: 0 },
    });
    draft.body.set_target(again, begin);
    let behind = draft.body.instructions().len();
    ways_out.into_iter().for_each(|jump| draft.body.set_target(jump, behind));
    draft.run("core._copy", &[sum], result);
    draft.updated.extend(&arrays[1..]);
    let names = ["a", "b", "w", "first", "end", "step", "k"];
    let inputs = arrays.into_iter().chain([first, end, step, k]);
    let mut routine = draft.finish(&names.into_iter().zip(inputs).collect::<Vec<_>>(), result);
    routine.side_outputs.push(("counter".into(), counter));
    routine
}

/// A matrix of 7 x 9 in one piece, transposed, or every other element of a larger one.
fn matrix(strides: [isize; 2]) -> Value {
    let cells: Vec<f64> = (0..400).map(f64::from).collect();
    let bytes = bytemuck::cast_slice(&cells);
    let strides = strides.map(|stride| stride * 8);
    array(
        NdRows::from_strided(array_type("NDARRAY_FLOAT64_NN"), bytes, 0, &[7, 9], &strides).expect("inside"),
    )
}

fn inputs(random: &mut Random) -> Vec<Value> {
    let integer = |random: &mut Random, low: i64, high: i64| {
        Value::from(low + random.below((high - low) as usize) as i64)
    };
    let floats: Vec<f64> = (0..9).map(|x| f64::from(x) * 1.25).collect();
    let floats = NdRows::from_slice(array_type("NDARRAY_FLOAT64_N"), &[9], &floats);
    let integers: Vec<i64> = (0..8).map(|x| x - 3).collect();
    let integers = NdRows::from_slice(array_type("NDARRAY_INT64_N"), &[8], &integers);
    let far = [i64::MAX, i64::MIN, 1 << 41, -(1 << 40) - 1];
    let far = far[random.below(4)];
    let step = integer(random, -2, 4);
    let (first, end) = match random.below(10) {
        0 => (Value::from(far), integer(random, -2, 11)),
        1 => (integer(random, -2, 11), Value::from(far)),
        2..6 => (integer(random, 0, 2), integer(random, 5, 9)),
        _ => (integer(random, -2, 11), integer(random, -2, 11)),
    };
    let k = if random.below(10) == 0 { Value::from(far) } else { integer(random, -2, 5) };
    let matrix = matrix([[9, 1], [1, 7], [36, 2], [0, 1]][random.below(4)]);
    let [floats, integers] = [floats, integers].map(|rows| array(rows.expect("the shape fits")));
    vec![matrix, floats, integers, first, end, step, k]
}

#[test]
fn both_versions_of_a_loop_give_the_same_with_any_fuel() {
    let mut random = Random(60);
    let programs: usize = std::env::var("CEMBRA_LOOPS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for _ in 0..programs {
        let Ok(tiers) = Tiers::maybe(vec![program(&mut random)]) else { continue };
        for _ in 0..12 {
            let inputs = inputs(&mut random);
            // Loops without an end have none either with more fuel.
            for fuel in (0..40).chain([60, 100, 101, 102, 103, 200, 1_000]) {
                tiers.agree(&inputs, &move |options| options.fuel(fuel));
            }
        }
    }
}

/// Two versions are made of the usual loop, and the one without checks is run.
#[test]
fn the_usual_loop_has_turns_without_checks() {
    let mut draft = Draft::new();
    let a = draft.next_input(QType::NdArray(array_type("NDARRAY_FLOAT64_N")));
    let end = draft.next_input(INT64);
    let sum = draft.next_output(FLOAT64);
    let (x, i) = (draft.next_temporary(FLOAT64), draft.next_temporary(INT64));
    let [zero, one] = [0i64, 1].map(|value| draft.next_literal(Value::from(value)));
    let none = draft.next_literal(Value::from(0.0));
    let more = draft.next_temporary(OPTIONAL_UNIT);
    draft.run("core._copy", &[none], sum);
    draft.run("core._copy", &[zero], i);
    let into = draft.push(Instruction::Jump { offset: 0 });
    let begin = draft.body.instructions().len();
    draft.run("nd.get", &[a, i], x);
    draft.run("math.add", &[sum, x], sum);
    draft.run("math.add", &[i, one], i);
    draft.body.set_target(into, draft.body.instructions().len());
    draft.run("core.less", &[i, end], more);
    let again = draft.push(Instruction::JumpIf { condition: more, offset: 0 });
    draft.body.set_target(again, begin);
    let tiers = Tiers::of(vec![draft.finish(&[("a", a), ("end", end)], sum)]);
    let cells: Vec<f64> = (0..1_000).map(f64::from).collect();
    let rows = NdRows::from_slice(array_type("NDARRAY_FLOAT64_N"), &[1_000], &cells).expect("it fits");
    for end in [0i64, 1, 2, 3, 4, 999, 1_000] {
        tiers.agree(&[array(rows.clone()), end.into()], &plain);
    }
    tiers.agree(&[array(rows), 1_001i64.into()], &plain);
    let listings = cembra_vm::jit::listing(&tiers.compiled).expect("it is compiled");
    let lines = listings.iter().flat_map(|routine| routine.code.iter().flatten());
    let scaled = lines.filter(|line| line.text.contains("*8]")).count();
    assert!(!cfg!(target_arch = "x86_64") || scaled == 1, "{scaled} loads by the counter");
}
