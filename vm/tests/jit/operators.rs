//! Every operator of plain values, on the numbers where operators behave in their own way.

use crate::agree::{Tiers, plain};
use crate::draft::Draft;
use cembra_vm::builtins;
use cembra_vm::operator::Overload;
use cembra_vm::value::qtype::FLOAT64;
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// What operands are tried, for a scalar type; `None` of texts and bytes.
fn scalars(scalar: ScalarType) -> Option<Vec<ScalarValue>> {
    let floats = [
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.5,
        2.5,
        3.0,
        -7.0,
        1e300,
        -1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE / 4.0,
        9_007_199_254_740_993.0,
        -9_223_372_036_854_775_808.0,
        9_223_372_036_854_775_807.0,
        -2_147_483_648.5,
        2_147_483_647.5,
    ];
    let integers =
        [0, 1, -1, 2, -3, 7, 31, 32, 63, 64, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN, -(1 << 31)];
    let narrow = [0, 1, -1, 2, -3, 7, 31, 32, i32::MAX, i32::MIN];
    Some(match scalar {
        ScalarType::Unit => vec![ScalarValue::Unit],
        ScalarType::Boolean => vec![ScalarValue::Boolean(false), ScalarValue::Boolean(true)],
        ScalarType::Int32 => narrow.map(ScalarValue::Int32).into(),
        ScalarType::Int64 => integers.map(ScalarValue::Int64).into(),
        ScalarType::Float32 => floats.map(|x| ScalarValue::Float32(x as f32)).into(),
        ScalarType::Float64 => floats.map(ScalarValue::Float64).into(),
        ScalarType::WeakFloat => floats.map(ScalarValue::WeakFloat).into(),
        _ => return None,
    })
}

fn values(qtype: &QType) -> Option<Vec<Value>> {
    match qtype {
        QType::Scalar(scalar) => Some(scalars(*scalar)?.into_iter().map(Value::Scalar).collect()),
        QType::Optional(scalar) => {
            let present = scalars(*scalar)?.into_iter().map(Value::Present);
            Some(present.chain([Value::Missing(*scalar)]).collect())
        }
        _ => None,
    }
}

/// An operator with inputs as operands; those in `literal` are literals of the program.
fn program(overload: &Overload, literal: Option<(usize, &Value)>) -> Option<Tiers> {
    let mut draft = Draft::new();
    let mut inputs = Vec::new();
    let mut operands = Vec::new();
    let names: Vec<String> = (0..overload.args().len()).map(|number| format!("x{number}")).collect();
    for (number, qtype) in overload.args().iter().enumerate() {
        match literal {
            Some((at, value)) if at == number => operands.push(draft.next_literal(value.clone())),
            _ => {
                let value = draft.next_input(qtype.clone());
                inputs.push((&*names[number], value));
                operands.push(value);
            }
        }
    }
    let out = draft.next_output(overload.result().clone());
    draft.run(overload.name(), &operands, out);
    Tiers::maybe(vec![draft.finish(&inputs, out)]).ok()
}

/// Calls `then` with every choice of a value for each operand, or with every seventh and so on where those are many.
fn choices(of: &[Vec<Value>], then: &mut dyn FnMut(&[Value])) {
    let all: usize = of.iter().map(Vec::len).product();
    let step = (1..).find(|step| all / step <= 4_000 && (*step == 1 || step % 2 == 1 && step % 3 != 0));
    for number in (0..all).step_by(step.expect("some step is large enough")) {
        let mut rest = number;
        let choice = of.iter().map(|values| {
            let value = values[rest % values.len()].clone();
            rest /= values.len();
            value
        });
        then(&choice.collect::<Vec<_>>());
    }
}

#[test]
fn every_operator_of_plain_values() {
    let table = builtins::table();
    let (mut compiled, mut runs) = (0, 0);
    for overload in table.families().flat_map(|family| family.overloads()) {
        let Some(operands) = overload.args().iter().map(values).collect::<Option<Vec<_>>>() else { continue };
        if operands.is_empty() || values(overload.result()).is_none() || overload.updates() {
            continue;
        }
        // The name and types, which a failure shows.
        let what = format!("{}{:?}", overload.name(), overload.args());
        let Some(tiers) = program(overload, None) else { continue };
        compiled += 1;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            choices(&operands, &mut |inputs| {
                runs += 1;
                tiers.agree(inputs, &plain);
            });
            // Literals have rules of their own: those of shifts and powers above all.
            for (at, literals) in operands.iter().enumerate().filter(|_| operands.len() > 1) {
                for literal in literals.iter().step_by(3) {
                    let Some(tiers) = program(overload, Some((at, literal))) else { continue };
                    let mut rest = operands.clone();
                    rest.remove(at);
                    choices(&rest, &mut |inputs| {
                        tiers.agree(inputs, &plain);
                    });
                }
            }
        }));
        assert!(outcome.is_ok(), "{what}");
    }
    assert!(compiled > 250, "only {compiled} overloads have a rule");
    assert!(runs > 20_000, "only {runs} runs were compared");
}

/// A special function is its operations, and the cell is called for rare operands only.
#[test]
fn special_functions_are_computed_in_place() {
    for name in ["math.exp", "python.exp", "math.log", "python.log", "python.sin", "math.log1p", "math.erf"] {
        let mut draft = Draft::new();
        let x = draft.next_input(FLOAT64);
        let out = draft.next_output(FLOAT64);
        draft.run(name, &[x], out);
        let tiers = Tiers::of(vec![draft.finish(&[("x", x)], out)]);
        for x in [0.0, -0.0, 0.5, -1.0, 1e-310, 709.9, -745.2, 3e6, f64::INFINITY, f64::NAN, f64::MIN] {
            tiers.agree(&[Value::from(x)], &plain);
        }
    }
}
