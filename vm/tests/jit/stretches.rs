//! Random programs without jumps: operations without effects change their order, what can raise keeps its place.

use crate::agree::{Tiers, plain};
use crate::draft::Draft;
use cembra_vm::builtins;
use cembra_vm::operator::Overload;
use cembra_vm::program::{Routine, ValueId};
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The types of all values here.
const TYPES: [QType; 5] = [
    QType::Scalar(ScalarType::Float64),
    QType::Scalar(ScalarType::Int64),
    QType::Scalar(ScalarType::Boolean),
    QType::Optional(ScalarType::Float64),
    QType::Optional(ScalarType::Unit),
];

fn overloads() -> Vec<Arc<Overload>> {
    let table = builtins::table();
    let all = table.families().flat_map(|family| family.overloads().iter().cloned());
    let is_here = |overload: &Arc<Overload>| {
        let types = overload.args().iter().chain([overload.result()]);
        !overload.args().is_empty()
            && !overload.updates()
            && types.into_iter().all(|qtype| TYPES.contains(qtype))
    };
    let mut overloads: Vec<Arc<Overload>> = all.filter(is_here).collect();
    overloads.sort_by_key(|overload| format!("{}{:?}", overload.name(), overload.args()));
    overloads
}

fn value(qtype: &QType, random: &mut Random) -> Value {
    let floats = [1.5, -2.0, 0.0, -0.0, 1e300, f64::NAN, 0.25, -1e-300];
    let integers = [0, 1, -1, 7, 3, i64::MAX, i64::MIN, 1 << 40];
    let scalar = match qtype.scalar().expect("plain") {
        ScalarType::Float64 => ScalarValue::Float64(floats[random.below(floats.len())]),
        ScalarType::Int64 => ScalarValue::Int64(integers[random.below(integers.len())]),
        ScalarType::Boolean => ScalarValue::Boolean(random.below(2) == 1),
        _ => ScalarValue::Unit,
    };
    match qtype {
        QType::Optional(scalar) if random.below(3) == 0 => Value::Missing(*scalar),
        QType::Optional(_) => Value::Present(scalar),
        _ => Value::Scalar(scalar),
    }
}

/// A program of so many operators on two inputs of each type, and some literals, with the types of the inputs.
fn program(overloads: &[Arc<Overload>], len: usize, random: &mut Random) -> (Routine, Vec<QType>) {
    let mut draft = Draft::new();
    let mut values: Vec<(QType, ValueId)> = Vec::new();
    let inputs: Vec<QType> = TYPES.iter().flat_map(|qtype| [qtype.clone(), qtype.clone()]).collect();
    let names: Vec<String> = (0..inputs.len()).map(|number| format!("x{number}")).collect();
    let ids: Vec<ValueId> = inputs.iter().map(|qtype| draft.next_input(qtype.clone())).collect();
    values.extend(inputs.iter().cloned().zip(ids.iter().copied()));
    for qtype in &TYPES[..3] {
        let literal = value(qtype, random);
        values.push((qtype.clone(), draft.next_literal(literal)));
    }
    for number in 0..len {
        let overload = &overloads[random.below(overloads.len())];
        let mut operand = |qtype: &QType| {
            let of_type: Vec<ValueId> =
                values.iter().filter(|(t, _)| t == qtype).map(|(_, id)| *id).collect();
            // Recent values more often, so that there are long ways.
            let last = of_type.len() - 1;
            of_type[if random.below(2) == 0 {
                last - random.below(4.min(last + 1))
            } else {
                random.below(last + 1)
            }]
        };
        let operands: Vec<ValueId> = overload.args().iter().map(&mut operand).collect();
        let result = overload.result().clone();
        let id = match number + 1 == len {
            true => draft.next_output(result.clone()),
            false => draft.next_temporary(result.clone()),
        };
        draft.run(overload.name(), &operands, id);
        values.push((result, id));
    }
    let output = values.last().expect("there are operators").1;
    let inputs_by_name: Vec<(&str, ValueId)> = names.iter().map(String::as_str).zip(ids).collect();
    (draft.finish(&inputs_by_name, output), inputs)
}

#[test]
fn programs_without_jumps_agree() {
    let (overloads, mut random) = (overloads(), Random(20));
    assert!(overloads.len() > 60, "only {} operators", overloads.len());
    let (mut compiled, mut values) = (0, 0);
    for _ in 0..300 {
        let len = 1 + random.below(160);
        let (routine, inputs) = program(&overloads, len, &mut random);
        let Ok(tiers) = Tiers::maybe(vec![routine]) else { continue };
        compiled += 1;
        for _ in 0..6 {
            let inputs: Vec<Value> = inputs.iter().map(|qtype| value(qtype, &mut random)).collect();
            let (outcome, _) = tiers.agree(&inputs, &plain);
            values += usize::from(outcome.starts_with('['));
        }
    }
    assert!(compiled > 250, "only {compiled} programs are compiled");
    assert!(values > 100, "only {values} runs give a value");
}
