//! Operations and types of the stage `low` as terms.

use crate::function::constant::Constant;
use crate::function::infer::InstanceId;
use crate::function::low::{LowOp, LowWindow, Pieces};
use crate::function::stage::error::StageProblem;
use crate::function::stage::form::StageForm;
use crate::function::stage::schemas::{StageName, operator_name};
use crate::function::stage::term_reader::TermReader;
use crate::function::stage::term_writer::TermWriter;
use crate::schema::{TermId, TermValue};
use crate::ssa::InstId;
use cembra_vm::value::{QType, ScalarValue, Value};
use std::str::FromStr;
use std::sync::Arc;

/// The stage of operators of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct LowForm;

/// Bytes of a tuple.
const MAX_OFFSET: usize = 1 << 30;

impl StageForm for LowForm {
    const STAGE: StageName = StageName::Low;
    const HAS_TYPES: bool = true;
    const HAS_DEFAULTS: bool = false;
    type Op = LowOp;
    type Type = QType;

    fn op_term(terms: &mut TermWriter<'_>, op: &LowOp, args: &[TermValue]) -> TermValue {
        let named = |terms: &mut TermWriter<'_>, constructor: &str, name: &str| {
            let values = [terms.text(name), terms.list(args)];
            terms.term(constructor, &values)
        };
        match op {
            LowOp::Input(position) => {
                let position = terms.int(*position);
                terms.term("Input", &[position])
            }
            LowOp::Literal(value) => {
                let value =
                    literal_constant(value).map_or(TermValue::Missing, |value| terms.constant(&value));
                terms.term("Literal", &[value])
            }
            LowOp::Part(offset) => {
                let offset = terms.int(*offset);
                terms.term("Part", &[args[0], offset])
            }
            LowOp::Operator(name, false) => named(terms, "Total", name),
            LowOp::Operator(name, true) => named(terms, "Partial", name),
            LowOp::Update(name) => named(terms, "Update", name),
            LowOp::Call(callee) => {
                let values = [terms.int(callee.0), terms.list(args)];
                terms.term("Call", &values)
            }
            LowOp::Round => terms.term("Round", args),
            LowOp::Pieces(pieces) => {
                let mut windows = Vec::new();
                for LowWindow { array, axis, first, step } in &pieces.windows {
                    let values = [array, axis, first, step].map(|number| terms.int(*number));
                    windows.push(terms.term("Window", &values));
                }
                let numbers = [pieces.callee, pieces.combine].map(|function| terms.int(function.0));
                let values = [numbers[0], numbers[1], terms.list(&windows), terms.list(args)];
                terms.term("Pieces", &values)
            }
        }
    }

    fn read_op(terms: &mut TermReader<'_>, term: TermId) -> Option<(LowOp, Vec<InstId>)> {
        let (name, values) = terms.parts(term);
        let op = match name {
            "Input" => {
                return Some((LowOp::Input(terms.number(values[0], "parameter", 1 << 20, term)), vec![]));
            }
            "Literal" => {
                let constant = terms.constant(values[0], term)?;
                let Some(value) = constant_literal(&constant) else {
                    let what =
                        "a literal of the machine is none, a truth value, a number, or the type of axes"
                            .to_owned();
                    terms.refuse(term, StageProblem::Datum { what });
                    return None;
                };
                return Some((LowOp::Literal(value), vec![]));
            }
            "Part" => {
                let offset = terms.number(values[1], "offset", MAX_OFFSET, term);
                return Some((LowOp::Part(offset), vec![terms.operand(values[0], term)]));
            }
            "Round" => return Some((LowOp::Round, vec![terms.operand(values[0], term)])),
            "Pieces" => {
                let function = |terms: &mut TermReader<'_>, value| {
                    InstanceId(terms.number(value, "function", terms.functions, term))
                };
                let (callee, combine) = (function(terms, values[0]), function(terms, values[1]));
                let windows = terms.terms(values[2]).into_iter().map(|at| window(terms, at)).collect();
                let pieces = Pieces { callee, combine, windows };
                return Some((LowOp::Pieces(Arc::new(pieces)), terms.operands(values[3], term)));
            }
            "Call" => LowOp::Call(InstanceId(terms.number(values[0], "function", terms.functions, term))),
            _ => {
                let operator = operator_name(terms.text(values[0]))?;
                match name {
                    "Update" => LowOp::Update(operator),
                    _ => LowOp::Operator(operator, name == "Partial"),
                }
            }
        };
        Some((op, terms.operands(values[1], term)))
    }

    fn type_term(terms: &mut TermWriter<'_>, of: &QType) -> TermValue {
        terms.text(&of.to_string())
    }

    fn read_type(terms: &mut TermReader<'_>, value: TermValue, _: TermId) -> Option<QType> {
        QType::from_str(terms.text(value)).ok()
    }
}

fn window(terms: &mut TermReader<'_>, term: TermId) -> LowWindow {
    let (_, values) = terms.parts(term);
    let mut number = |at: usize, what| terms.number(values[at], what, 1 << 20, term);
    LowWindow {
        array: number(0, "parameter"),
        axis: number(1, "axis"),
        first: number(2, "parameter"),
        step: number(3, "parameter"),
    }
}

/// The constant that a literal of the machine is; of axes, which have a type of their own, the name of that.
fn literal_constant(value: &Value) -> Option<Constant> {
    Some(match value {
        Value::Scalar(ScalarValue::Unit) => Constant::None,
        Value::Scalar(ScalarValue::Boolean(value)) => Constant::Bool(*value),
        Value::Scalar(ScalarValue::Int64(value)) => Constant::Int(*value),
        Value::Scalar(ScalarValue::Float64(value)) => Constant::Float(*value),
        Value::Axes(_) => Constant::Text(value.qtype().to_string().into()),
        _ => return None,
    })
}

fn constant_literal(constant: &Constant) -> Option<Value> {
    Some(Value::Scalar(match constant {
        Constant::None => ScalarValue::Unit,
        Constant::Bool(value) => ScalarValue::Boolean(*value),
        Constant::Int(value) => ScalarValue::Int64(*value),
        Constant::Float(value) => ScalarValue::Float64(*value),
        Constant::Text(text) => {
            return match QType::from_str(text) {
                Ok(QType::Axes(axes)) => Some(Value::Axes(axes)),
                _ => None,
            };
        }
    }))
}
