//! Programs over arrays that are inputs, run in all ways that give the same bits.

use crate::draft::Draft;
use cembra_vm::builtins;
use cembra_vm::machine::{BoundExpr, RunOptions, Strips};
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::{ArrayClass, ArrayRows, QType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

pub fn rows(rng: &mut Rng, element: ScalarType, count: usize, is_there: impl Fn(usize) -> bool) -> Value {
    let cell = |x: i32| match element {
        ScalarType::Boolean => ScalarValue::Boolean(x % 2 == 0),
        ScalarType::Int32 => ScalarValue::Int32(x),
        ScalarType::Int64 => ScalarValue::Int64(x.into()),
        ScalarType::Float32 => ScalarValue::Float32(x as f32 / 8.0),
        _ => ScalarValue::Float64(f64::from(x) / 8.0),
    };
    let cells: Vec<_> = (0..count).map(|row| is_there(row).then(|| cell(rng.i32(-99..99)))).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &cells)))
}

/// A draft over arrays and numbers that are inputs.
pub struct Writer {
    pub draft: Draft,
    inputs: Vec<(String, ValueId, Value)>,
}

impl Writer {
    pub fn new() -> Writer {
        Writer { draft: Draft::new(), inputs: Vec::new() }
    }

    pub fn input(&mut self, value: &Value) -> ValueId {
        let id = self.draft.next_input(value.qtype());
        self.inputs.push((format!("i{}", self.inputs.len()), id, value.clone()));
        id
    }

    pub fn int(&mut self, number: i64) -> ValueId {
        self.draft.next_literal(Value::from(number))
    }

    /// An operator, whose result is an output of the routine if it is to be.
    pub fn run(&mut self, name: &str, operands: &[ValueId], is_output: bool) -> ValueId {
        let types: Vec<QType> = operands.iter().map(|v| self.draft.slot(*v).qtype().storage()).collect();
        let overload = builtins::table().overload(name, &types).expect("an operator");
        let qtype = overload.result().clone();
        let result = if is_output { self.draft.next_output(qtype) } else { self.draft.next_temporary(qtype) };
        self.draft.run(name, operands, result);
        result
    }

    pub fn bind(self, outputs: &[ValueId]) -> Bound {
        let named: Vec<(&str, ValueId)> =
            self.inputs.iter().map(|(name, v, _)| (name.as_str(), *v)).collect();
        let mut routine = self.draft.finish(&named, outputs[0]);
        let side = outputs.iter().enumerate().skip(1);
        routine.side_outputs = side.map(|(number, v)| (format!("o{number:03}").into(), *v)).collect();
        let bound = BoundExpr::new(Arc::new(Program::new(vec![routine]))).expect("a verified program");
        let inputs = self.inputs.into_iter().map(|(name, _, value)| (name, value)).collect();
        Bound { bound, inputs, outputs: outputs.len() }
    }
}

pub struct Bound {
    pub bound: BoundExpr,
    inputs: Vec<(String, Value)>,
    outputs: usize,
}

pub type Outcome = Result<Vec<Value>, String>;

impl Bound {
    pub fn run(&self, options: RunOptions<'_>) -> Outcome {
        let mut frame = self.bound.new_frame().expect("memory");
        for (name, value) in &self.inputs {
            frame.write(self.bound.input_slot(name).expect("an input"), value).expect("a value of its type");
        }
        self.bound.execute_with(&mut frame, options).map_err(|error| error.to_string())?;
        let slot = |number: usize| match number {
            0 => self.bound.output_slot(),
            _ => self.bound.side_output_slot(&format!("o{number:03}")).expect("an output"),
        };
        Ok((0..self.outputs).map(|number| frame.read(slot(number)).expect("memory")).collect())
    }

    pub fn by_all(&self) -> Outcome {
        let all = [(Strips::Never, 1), (Strips::Always, 1), (Strips::Never, 3), (Strips::Always, 3)];
        let mut found =
            all.map(|(strips, threads)| self.run(RunOptions::new().strips(strips).threads(threads)));
        for other in &found[1..] {
            assert_eq!(*other, found[0]);
        }
        std::mem::replace(&mut found[0], Err(String::new()))
    }

    /// Instructions that regions see through.
    pub fn through(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.bound.regions().iter().flat_map(|r| r.through.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
