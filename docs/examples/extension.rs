//! A host extends the compiler: an operator whose arguments decide what it becomes.
//!
//! `poly.at(x, 2.0, 0.0, 5.0)` is `2 x² + 5`. The prepare half looks at the coefficients, which must be literals, and packs
//! the powers that count; the compile half emits one multiplication or addition for each, by Horner's rule.

use cembra::host::{Accessors, ExecutorOptions, ModelExecutor};
use cembra::prepare::draft::Draft;
use cembra::prepare::emitter::{CompileOperator, Emitter};
use cembra::prepare::extend::{Extension, PackedNode};
use cembra::prepare::prepared::Packed;
use cembra::prepare::{Prepare, PrepareError};
use cembra::registry::{Dialect, OperatorDef, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::operator::Effects;
use cembra::vm::program::ValueId;
use cembra::vm::value::Value;
use cembra::vm::value::qtype::FLOAT64;
use std::sync::Arc;

/// The prepare half.
struct Polynomials;

impl Extension for Polynomials {
    fn name(&self) -> &str {
        "polynomials"
    }

    fn operator(&self) -> &str {
        "poly.at"
    }

    fn transform(
        &self,
        draft: &mut Draft,
        id: cembra::expr::NodeId,
    ) -> Result<Option<PackedNode>, PrepareError> {
        let operands = draft.graph.operands(id).to_vec();
        let number = |node| draft.graph.value(node)?.scalar()?.as_f64();
        let coefficients: Option<Vec<f64>> = operands[1..].iter().map(|node| number(*node)).collect();
        // Without literals nothing is packed; the operator stays, and has no code.
        let Some(coefficients) = coefficients else { return Ok(None) };
        // The name says all that is packed: operators of one name are one.
        let name = format!("poly.at{coefficients:?}");
        let operator = OperatorDef::new(&name, &["x"], "A polynomial with its coefficients.", |cx| {
            cx.unchanged(FLOAT64)
        });
        let packed = Packed { compile: Arc::new(Horner { coefficients }), bodies: Vec::new() };
        Ok(Some(PackedNode { operator, operands: vec![operands[0]], packed }))
    }
}

/// The compile half.
#[derive(Debug)]
struct Horner {
    coefficients: Vec<f64>,
}

impl CompileOperator for Horner {
    fn emit(
        &self,
        emitter: &mut dyn Emitter,
        operands: &[ValueId],
        result: ValueId,
    ) -> Result<(), PrepareError> {
        let [x] = *operands else { return Ok(()) };
        let first = self.coefficients.first().copied().unwrap_or(0.0);
        let mut sum = emitter.literal(Value::from(first));
        for coefficient in self.coefficients.iter().skip(1) {
            let product = emitter.temporary(FLOAT64);
            emitter.operator("math.multiply", &[sum, x], product)?;
            sum = product;
            if *coefficient != 0.0 {
                let addend = emitter.literal(Value::from(*coefficient));
                sum = emitter.temporary(FLOAT64);
                emitter.operator("math.add", &[product, addend], sum)?;
            }
        }
        emitter.operator("core._copy", &[sum], result)
    }

    // Nothing in it raises, so it may run before it is known to be needed.
    fn effects(&self) -> Effects {
        Effects::Total
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The operator of the language: a type rule and no code.
    let operator = OperatorDef::new("poly.at", &["x", "*coefficients"], "A polynomial.", |cx| {
        match cx.types.iter().all(|qtype| qtype.storage() == FLOAT64) {
            true => cx.unchanged(FLOAT64),
            false => Err(cx.expected("FLOAT64", 0)),
        }
    });
    let mut registry = Registry::standard();
    registry.define(operator)?;

    let expr =
        parse_with("poly.at(x, 2.0, 0.0, 5.0) + 1.0", &registry, Dialect::default(), &Limits::default())?;
    let loader = Accessors::new().with("x", |x: &f64| *x);
    let prepare = Prepare::standard().extensions(vec![Arc::new(Polynomials)]);
    let options = ExecutorOptions { registry, prepare, ..ExecutorOptions::default() };
    let model = ModelExecutor::<f64, f64>::compile_with(&expr, &loader, None, options)?;
    assert_eq!(model.execute(&3.0)?, 24.0);
    println!("2 x² + 6 at 3 is {}", model.execute(&3.0)?);
    Ok(())
}
