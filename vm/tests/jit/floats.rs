//! More floats than there are registers: before a loop, in it, on both sides of a branch, and behind it.

use crate::agree::Tiers;
use crate::draft::Draft;
use crate::stretches::Random;
use cembra_vm::program::{Instruction, Routine, ValueId};
use cembra_vm::value::Value;
use cembra_vm::value::qtype::{FLOAT64, INT64, OPTIONAL_UNIT};

/// Inputs of the programs that are floats.
const FLOATS: usize = 20;

/// So many operators on any values, whose results are values too.
fn stretch(draft: &mut Draft, values: &mut Vec<ValueId>, count: usize, random: &mut Random) {
    for _ in 0..count {
        let mut any = || values[random.below(values.len())];
        let [x, y] = [any(), any()];
        let result = draft.next_temporary(FLOAT64);
        match random.below(8) {
            0 => draft.run("math.neg", &[x], result),
            1 => draft.run("math.minimum", &[x, y], result),
            2 => draft.run("math.maximum", &[x, y], result),
            3 => draft.run("math.multiply", &[x, y], result),
            4 => draft.run("math.divide", &[x, y], result),
            5 => draft.run("math.subtract", &[x, y], result),
            _ => draft.run("math.add", &[x, y], result),
        }
        values.push(result);
    }
}

/// `main(n, x0, x1, …)`: a loop of n turns, one at least.
fn program(random: &mut Random) -> Routine {
    let mut draft = Draft::new();
    let n = draft.next_input(INT64);
    let mut outer: Vec<ValueId> = (0..FLOATS).map(|_| draft.next_input(FLOAT64)).collect();
    let names: Vec<String> = (0..FLOATS).map(|number| format!("x{number}")).collect();
    let inputs = names.iter().map(String::as_str).zip(outer.iter().copied());
    let inputs: Vec<(&str, ValueId)> = [("n", n)].into_iter().chain(inputs).collect();
    let result = draft.next_output(FLOAT64);
    let [zero, one] = [0i64, 1].map(|value| draft.next_literal(Value::from(value)));
    let (k, sum, chosen) =
        (draft.next_temporary(INT64), draft.next_temporary(FLOAT64), draft.next_temporary(FLOAT64));
    let [is_less, more] = [0; 2].map(|_| draft.next_temporary(OPTIONAL_UNIT));
    let count = random.below(80);
    stretch(&mut draft, &mut outer, count, random);
    draft.run("core._copy", &[zero], k);
    draft.run("core._copy", &[outer[0]], sum);
    let body = draft.body.instructions().len();
    let mut inner = outer.clone();
    let count = 20 + random.below(30);
    stretch(&mut draft, &mut inner, count, random);
    draft.run("core.less", &[inner[random.below(inner.len())], sum], is_less);
    let branch = draft.push(Instruction::JumpIfNot { condition: is_less, offset: 0 });
    let mut side = |draft: &mut Draft| {
        let mut values = inner.clone();
        let count = random.below(40);
        stretch(draft, &mut values, count, random);
        draft.run("core._copy", &[values[values.len() - 1]], chosen);
    };
    side(&mut draft);
    let skip = draft.push(Instruction::Jump { offset: 0 });
    draft.body.set_target(branch, draft.body.instructions().len());
    side(&mut draft);
    draft.body.set_target(skip, draft.body.instructions().len());
    let count = random.below(20);
    stretch(&mut draft, &mut inner, count, random);
    draft.run("math.add", &[sum, chosen], sum);
    draft.run("math.add", &[sum, inner[inner.len() - 1]], sum);
    draft.run("math.add", &[k, one], k);
    draft.run("core.less", &[k, n], more);
    let again = draft.push(Instruction::JumpIf { condition: more, offset: 0 });
    draft.body.set_target(again, body);
    let count = random.below(40);
    stretch(&mut draft, &mut inner, count, random);
    draft.run("math.add", &[sum, inner[inner.len() - 1]], result);
    let mut routine = draft.finish(&inputs, result);
    let others = outer.iter().chain(&inner).skip(FLOATS).step_by(3);
    routine
        .side_outputs
        .extend(others.zip(0..).map(|(value, number)| (format!("o{number:03}").into(), *value)));
    routine
}

#[test]
fn floats_in_memory_are_those_in_registers() {
    let mut random = Random(40);
    let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-310];
    for _ in 0..150 {
        let tiers = Tiers::of(vec![program(&mut random)]);
        for n in [0i64, 1, 5] {
            let mut float = |_| match random.below(12) {
                0 => special[random.below(special.len())],
                _ => random.below(1 << 20) as f64 / 1e5 - 5.0,
            };
            let floats: Vec<f64> = (0..FLOATS).map(&mut float).collect();
            let inputs: Vec<Value> =
                [Value::from(n)].into_iter().chain(floats.into_iter().map(Value::from)).collect();
            tiers.agree_with_fuel(&inputs[..]);
        }
    }
}
