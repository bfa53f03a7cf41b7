//! Short branches in a loop: both sides are computed and one is chosen, with any fuel, from random sides.

use crate::agree::Tiers;
use crate::draft::Draft;
use crate::stretches::Random;
use cembra_vm::program::{Instruction, Routine, ValueId};
use cembra_vm::value::qtype::{FLOAT64, INT64, OPTIONAL_UNIT};
use cembra_vm::value::{QType, ScalarType, Value};

/// What the branches of a program change.
struct Variables {
    integers: Vec<ValueId>,
    optionals: Vec<ValueId>,
    float: ValueId,
}

impl Variables {
    /// An instruction or some of a side.
    fn side(&self, draft: &mut Draft, literals: &[ValueId], random: &mut Random) {
        for _ in 0..random.below(4) {
            let mut any = |of: &[ValueId]| of[random.below(of.len())];
            let (x, y, z) = (any(&self.integers), any(&self.integers), any(&self.integers));
            let (literal, o, p) = (any(literals), any(&self.optionals), any(&self.optionals));
            let operator = ["math.add", "math.multiply", "math.subtract", "bitwise.bitwise_xor"];
            match random.below(9) {
                0..4 => draft.run(operator[random.below(4)], &[x, literal], y),
                4 => draft.run("core._copy", &[x], y),
                7 => draft.run("python.wrapping_shift_right", &[x, literals[1]], y),
                5 => draft.run("core.to_optional._scalar", &[x], o),
                6 => draft.run("math.add", &[o, p], o),
                _ if random.below(3) == 0 => draft.run("math.add", &[self.float, self.float], self.float),
                // A value of this side only.
                _ => {
                    let only = draft.next_temporary(INT64);
                    draft.run("math.add", &[x, y], only);
                    draft.run("math.subtract", &[only, literal], z);
                }
            }
        }
    }
}

/// `main(n, a, b, f)`: a loop of n turns with some branches.
fn program(random: &mut Random) -> Routine {
    let mut draft = Draft::new();
    let inputs = [INT64, INT64, INT64, FLOAT64].map(|qtype| draft.next_input(qtype));
    let result = draft.next_output(INT64);
    let optional = QType::Optional(ScalarType::Int64);
    let integers = [0; 3].map(|_| draft.next_temporary(INT64));
    let optionals = [0; 2].map(|_| draft.next_temporary(optional.clone()));
    let (float, k) = (draft.next_temporary(FLOAT64), draft.next_temporary(INT64));
    let more = draft.next_temporary(OPTIONAL_UNIT);
    let literals = [0i64, 1, 3, -7].map(|value| draft.next_literal(Value::from(value)));
    let missing = draft.next_literal(Value::Missing(ScalarType::Int64));
    draft.run("core._copy", &[inputs[1]], integers[0]);
    draft.run("core._copy", &[inputs[2]], integers[1]);
    draft.run("core._copy", &[literals[2]], integers[2]);
    draft.run("core._copy", &[missing], optionals[0]);
    draft.run("core.to_optional._scalar", &[inputs[1]], optionals[1]);
    draft.run("core._copy", &[inputs[3]], float);
    draft.run("core._copy", &[literals[0]], k);
    let test = draft.push(Instruction::Jump { offset: 0 });
    let body = draft.body.instructions().len();
    let variables = Variables { integers: integers.into(), optionals: optionals.into(), float };
    for _ in 0..1 + random.below(3) {
        let condition = draft.next_temporary(OPTIONAL_UNIT);
        let low = draft.next_temporary(INT64);
        draft.run("bitwise.bitwise_and", &[integers[random.below(3)], literals[2]], low);
        draft.run(["core.less", "core.equal"][random.below(2)], &[low, literals[random.below(3)]], condition);
        let (offset, is_if) = (0, random.below(2) == 0);
        let branch = draft.push(match is_if {
            true => Instruction::JumpIf { condition, offset },
            false => Instruction::JumpIfNot { condition, offset },
        });
        variables.side(&mut draft, &literals, random);
        let skip = (random.below(2) == 0).then(|| draft.push(Instruction::Jump { offset }));
        draft.body.set_target(branch, draft.body.instructions().len());
        if let Some(skip) = skip {
            variables.side(&mut draft, &literals, random);
            draft.body.set_target(skip, draft.body.instructions().len());
        }
    }
    draft.run("math.add", &[k, literals[1]], k);
    draft.body.set_target(test, draft.body.instructions().len());
    draft.run("core.less", &[k, inputs[0]], more);
    let again = draft.push(Instruction::JumpIf { condition: more, offset: 0 });
    draft.body.set_target(again, body);
    draft.run("core._copy", &[integers[0]], result);
    let names = ["n", "a", "b", "f"];
    let mut routine = draft.finish(&names.into_iter().zip(inputs).collect::<Vec<_>>(), result);
    let others = integers[1..].iter().chain(&optionals).chain([&float]);
    let named = others.zip(0..).map(|(value, number)| (format!("other {number}").into(), *value));
    routine.side_outputs.extend(named);
    routine
}

#[test]
fn short_branches_give_the_same_with_any_fuel() {
    let mut random = Random(30);
    for _ in 0..200 {
        let tiers = Tiers::of(vec![program(&mut random)]);
        for (n, a, b) in [(0i64, 1i64, 2i64), (3, -5, 6), (7, i64::MAX, 9)] {
            tiers.agree_with_fuel(&[n.into(), a.into(), b.into(), Value::from(1.5)]);
        }
    }
}

/// What is chosen is in the code: both a choice and the branch.
#[test]
fn short_branches_are_chosen() {
    let mut random = Random(31);
    let chosen = (0..40).filter(|_| {
        let tiers = Tiers::of(vec![program(&mut random)]);
        let listings = cembra_vm::jit::listing(&tiers.compiled).expect("it is compiled");
        let mut lines = listings.iter().flat_map(|routine| routine.code.iter().flatten());
        lines.any(|line| line.text.contains("cmov"))
    });
    let chosen = chosen.count();
    assert!(!cfg!(target_arch = "x86_64") || chosen > 20, "only {chosen} of 40");
}
