//! The lazy reading: what is known of a value when errors spoil only what depends on them.
//!
//! ```text
//! has((1 // 0) & m)          is m, although 1 // 0 has no value
//! get_nth((1 // 0, 2), 1)    is 2
//! ```

use crate::reference::strict::{apply, cast, decided};
use crate::reference::{Inputs, Typed, types};
use cembra::expr::{Literal, Node, NodeId};
use cembra::vm::value::fault::Category;
use cembra::vm::value::{QType, ScalarType, ScalarValue, Value};
use std::collections::HashMap;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// A scalar or optional: whether it is present, and the value if it is.
    Optional { present: Option<bool>, value: Option<ScalarValue> },
    /// The fields of a tuple.
    Tuple(Vec<Known>),
    /// Everything, or nothing.
    Whole(Option<Value>),
}

/// Reads an expression lazily: its value, unless that depends on an error, and the errors of all parts.
pub fn evaluate(typed: &Typed<'_>, inputs: &Inputs) -> (Option<Value>, Vec<Category>) {
    let mut lazy = Lazy { typed, inputs, known: HashMap::new(), errors: Vec::new() };
    let root = typed.expr.root();
    (complete(&lazy.node(root), typed.qtype(root)), lazy.errors)
}

struct Lazy<'t> {
    typed: &'t Typed<'t>,
    inputs: &'t Inputs,
    known: HashMap<NodeId, Known>,
    errors: Vec<Category>,
}

impl Lazy<'_> {
    fn node(&mut self, id: NodeId) -> Known {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let known = match self.typed.expr.graph().node(id) {
            Node::Leaf(name) => of_value(&self.inputs[&**self.typed.expr.graph().name(name)]),
            Node::Literal(Literal::Value(value)) => of_value(value),
            Node::Literal(_) => of_value(&Value::Scalar(ScalarValue::Unit)),
            Node::Placeholder(_) => panic!("placeholders have no value"),
            Node::Operator(_, operands) => self.operator(id, operands),
        };
        self.known.insert(id, known.clone());
        known
    }

    fn operator(&mut self, id: NodeId, operands: &[NodeId]) -> Known {
        let operator = self.typed.operator(id);
        let types: Vec<QType> = operands.iter().map(|o| self.typed.qtype(*o).clone()).collect();
        let needed = types::needed(operator, &types);
        let casts = self.typed.casts(id).to_vec();
        let mut args = Vec::new();
        for (index, operand) in operands.iter().enumerate() {
            let zero = || of_value(&Value::zero(&types[index]));
            let literal = self.typed.expr.graph().value(*operand).map(of_value);
            args.push(match needed.contains(&index) {
                true => cast_known(&self.node(*operand), &types[index], &casts[index]),
                false => cast_known(&literal.unwrap_or_else(zero), &types[index], &casts[index]),
            });
        }
        let result = self.typed.qtype(id);
        self.by_presence(operator, &args, &types, result).unwrap_or_else(|| {
            let values: Option<Vec<Value>> = args.iter().zip(&casts).map(|(a, t)| complete(a, t)).collect();
            let outcome = values.map(|values| apply(self.typed, id, &values));
            let value = outcome.and_then(|o| o.map_err(|error| self.errors.push(error)).ok());
            value.as_ref().map_or_else(|| failed(operator, &args, result), of_value)
        })
    }

    /// Operators that need not know everything about their operands.
    fn by_presence(
        &mut self,
        operator: &str,
        args: &[Known],
        types: &[QType],
        result: &QType,
    ) -> Option<Known> {
        Some(match operator {
            "core.to_optional" => Known::Optional { present: present(&args[0]), value: payload(&args[0]) },
            "core.identity" => args[0].clone(),
            "core.has" if types[0].is_optional() => mask(present(&args[0])),
            "core.presence_not" => mask(not(present(&args[0]))),
            "core.presence_and" => {
                let masked = if types[1].is_optional() { present(&args[1]) } else { Some(true) };
                Known::Optional { present: and(present(&args[0]), masked), value: payload(&args[0]) }
            }
            "core.presence_or" if types[0].is_optional() => {
                choose(present(&args[0]), &args[0], &args[1], true)
            }
            "core.where" => choose(present(&args[0]), &args[1], &args[2], false),
            "bool.logical_if" => match (present(&args[0]), payload(&args[0])) {
                (Some(false), _) => args[3].clone(),
                (Some(true), Some(ScalarValue::Boolean(truth))) => args[if truth { 1 } else { 2 }].clone(),
                (Some(true), _) => merge(&args[1], &args[2]),
                _ => merge(&merge(&args[1], &args[2]), &args[3]),
            },
            "core.get_optional_value" | "core.with_assertion" => {
                let condition = if operator == "core.with_assertion" { 1 } else { 0 };
                let holds = !types[condition].is_optional() || present(&args[condition]) == Some(true);
                if !holds {
                    self.errors.extend([Category::Assertion, Category::MissingValue]);
                }
                if holds { args[0].clone() } else { nothing(result) }
            }
            "core.make_tuple" => Known::Tuple(args.to_vec()),
            "core.concat_tuples" => Known::Tuple(args.iter().flat_map(fields).collect()),
            "core.get_nth" => {
                let index = payload(&args[1]).and_then(|i| i.as_i64()).expect("a literal");
                fields(&args[0])[index as usize].clone()
            }
            "bool.logical_and" | "bool.logical_or" => {
                let known: Vec<Value> = args.iter().zip(types).filter_map(|(a, t)| complete(a, t)).collect();
                of_value(&Value::from(decided(operator, &known)?))
            }
            _ => return None,
        })
    }
}

fn of_value(value: &Value) -> Known {
    match value {
        Value::Scalar(v) | Value::Present(v) => {
            Known::Optional { present: Some(true), value: Some(v.clone()) }
        }
        Value::Missing(_) => Known::Optional { present: Some(false), value: None },
        Value::Tuple(tuple) => Known::Tuple(tuple.fields().iter().map(of_value).collect()),
        other => Known::Whole(Some(other.clone())),
    }
}

/// A value of which only the type is known.
fn nothing(qtype: &QType) -> Known {
    let unit = |scalar: &ScalarType| (*scalar == ScalarType::Unit).then_some(ScalarValue::Unit);
    match qtype {
        QType::Scalar(s) => Known::Optional { present: Some(true), value: unit(s) },
        QType::Optional(s) => Known::Optional { present: None, value: unit(s) },
        QType::Tuple(tuple) => Known::Tuple(tuple.fields().iter().map(nothing).collect()),
        _ => Known::Whole(None),
    }
}

/// What an operator without a value still says: casts and arithmetic have one where all arguments do.
fn failed(operator: &str, args: &[Known], result: &QType) -> Known {
    let looked_at = match operator {
        "core.broadcast_like" => Some(&args[1..]),
        "core.cast" => Some(&args[..1]),
        "math.add" | "math.subtract" | "math.multiply" => Some(args),
        _ => operator.starts_with("core.to_").then_some(args),
    };
    let all_present = |args: &[Known]| args.iter().map(present).fold(Some(true), and);
    match nothing(result) {
        Known::Optional { present: known, value } => {
            Known::Optional { present: looked_at.map_or(known, all_present), value }
        }
        known => known,
    }
}

/// The value, if all of it is known.
fn complete(known: &Known, qtype: &QType) -> Option<Value> {
    match (known, qtype) {
        (Known::Optional { value, .. }, QType::Scalar(_)) => value.clone().map(Value::Scalar),
        (Known::Optional { present: Some(false), .. }, QType::Optional(scalar)) => {
            Some(Value::Missing(*scalar))
        }
        (Known::Optional { present: Some(true), value }, QType::Optional(_)) => {
            value.clone().map(Value::Present)
        }
        (Known::Tuple(fields), QType::Tuple(tuple)) => {
            let values: Option<Vec<Value>> =
                fields.iter().zip(tuple.fields()).map(|(f, t)| complete(f, t)).collect();
            Some(Value::of_tuple_type(tuple.clone(), values?))
        }
        (Known::Whole(value), _) => value.clone(),
        _ => None,
    }
}

fn cast_known(known: &Known, from: &QType, to: &QType) -> Known {
    match (known, from == to) {
        (Known::Optional { present, value }, false) => {
            let scalar = to.scalar().expect("scalars are cast to scalars");
            let value = value.clone().and_then(|v| cast(&Value::Scalar(v), &QType::Scalar(scalar)).ok());
            Known::Optional { present: *present, value: value.and_then(|v| v.scalar().cloned()) }
        }
        _ => known.clone(),
    }
}

fn present(known: &Known) -> Option<bool> {
    match known {
        Known::Optional { present, .. } => *present,
        _ => Some(true),
    }
}

fn payload(known: &Known) -> Option<ScalarValue> {
    match known {
        Known::Optional { value, .. } => value.clone(),
        _ => None,
    }
}

fn mask(present: Option<bool>) -> Known {
    Known::Optional { present, value: Some(ScalarValue::Unit) }
}

fn and(x: Option<bool>, y: Option<bool>) -> Option<bool> {
    match (x, y) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn not(x: Option<bool>) -> Option<bool> {
    x.map(|x| !x)
}

fn fields(known: &Known) -> Vec<Known> {
    match known {
        Known::Tuple(fields) => fields.clone(),
        other => panic!("{other:?} is no tuple"),
    }
}

/// One of two values. `falls_through`: the first one if it is present, else the second.
fn choose(condition: Option<bool>, yes: &Known, no: &Known, falls_through: bool) -> Known {
    match condition {
        Some(true) => yes.clone(),
        Some(false) => no.clone(),
        None if falls_through && present(no) == Some(true) => {
            let value = merge(yes, no);
            Known::Optional { present: Some(true), value: payload(&value) }
        }
        None => merge(yes, no),
    }
}

/// What two values have in common.
fn merge(a: &Known, b: &Known) -> Known {
    match (a, b) {
        (Known::Optional { present: p, value: v }, Known::Optional { present: q, value: w }) => {
            let same = v == w;
            // A missing value says nothing about the other.
            let value = match (p, q) {
                (Some(false), _) => w.clone(),
                (_, Some(false)) => v.clone(),
                _ if same => v.clone(),
                _ => None,
            };
            Known::Optional { present: if p == q { *p } else { None }, value }
        }
        (Known::Tuple(a), Known::Tuple(b)) => {
            Known::Tuple(a.iter().zip(b).map(|(a, b)| merge(a, b)).collect())
        }
        _ if a == b => a.clone(),
        _ => Known::Whole(None),
    }
}
