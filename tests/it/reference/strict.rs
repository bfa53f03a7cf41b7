//! The strict reading: a value, or every error that some order of evaluation shows first.

use crate::reference::types::{self, Gives};
use crate::reference::{Inputs, Typed, scalar};
use cembra::expr::{Literal, Node, NodeId};
use cembra::vm::value::fault::Category;
use cembra::vm::value::sequence::SequenceValue;
use cembra::vm::value::{QType, ScalarType, ScalarValue, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A value or a set of errors without order.
pub type Outcome = Result<Value, Vec<Category>>;

/// Reads an expression strictly.
pub fn evaluate(typed: &Typed<'_>, inputs: &Inputs) -> Outcome {
    Strict { typed, inputs, known: HashMap::new() }.node(typed.expr.root())
}

struct Strict<'t> {
    typed: &'t Typed<'t>,
    inputs: &'t Inputs,
    known: HashMap<NodeId, Outcome>,
}

impl Strict<'_> {
    fn node(&mut self, id: NodeId) -> Outcome {
        if let Some(outcome) = self.known.get(&id) {
            return outcome.clone();
        }
        let outcome = match self.typed.expr.graph().node(id) {
            Node::Leaf(name) => Ok(self.inputs[&**self.typed.expr.graph().name(name)].clone()),
            Node::Placeholder(_) => panic!("placeholders have no value"),
            Node::Literal(Literal::Value(value)) => Ok(value.clone()),
            Node::Literal(_) => Ok(Value::Scalar(ScalarValue::Unit)),
            Node::Operator(_, operands) => self.operator(id, operands),
        };
        self.known.insert(id, outcome.clone());
        outcome
    }

    fn operator(&mut self, id: NodeId, operands: &[NodeId]) -> Outcome {
        let operator = self.typed.operator(id);
        if operator == "core.where" {
            let taken = match self.node(operands[0]) {
                Ok(condition) => {
                    if is_present(&condition) {
                        1
                    } else {
                        2
                    }
                }
                Err(errors) => return Err(self.errors_of_all_branches(operands, errors)),
            };
            let value = self.node(operands[taken])?;
            return one(cast(&value, &self.typed.casts(id)[taken]));
        }
        let types: Vec<QType> = operands.iter().map(|o| self.typed.qtype(*o).clone()).collect();
        let needed = types::needed(operator, &types);
        let mut args = Vec::new();
        let mut errors = Vec::new();
        for (index, operand) in operands.iter().enumerate() {
            // A value nobody looks at: the zero of its type.
            let value = match needed.contains(&index) {
                true => self.node(*operand),
                false => Ok(literal_or_zero(self.typed, *operand)),
            };
            match value.and_then(|v| one(cast(&v, &self.typed.casts(id)[index]))) {
                Ok(value) => args.push(value),
                Err(more) => errors.extend(more),
            }
        }
        if errors.is_empty() { one(apply(self.typed, id, &args)) } else { Err(errors) }
    }
}

impl Strict<'_> {
    /// What both branches need may fail before the condition does.
    fn errors_of_all_branches(&mut self, operands: &[NodeId], mut errors: Vec<Category>) -> Vec<Category> {
        if let (Err(yes), Err(no)) = (self.node(operands[1]), self.node(operands[2])) {
            errors.extend(yes.into_iter().filter(|error| no.contains(error)));
        }
        errors
    }
}

fn one<T>(result: Result<T, Category>) -> Result<T, Vec<Category>> {
    result.map_err(|category| vec![category])
}

fn literal_or_zero(typed: &Typed<'_>, id: NodeId) -> Value {
    let known = typed.expr.graph().value(id);
    known.cloned().unwrap_or_else(|| Value::zero(typed.qtype(id)))
}

/// True for anything that is not a missing optional.
pub fn is_present(value: &Value) -> bool {
    !matches!(value, Value::Missing(_))
}

/// A value as another type; casts of what is present only.
pub fn cast(value: &Value, to: &QType) -> Result<Value, Category> {
    if value.qtype() == *to {
        return Ok(value.clone());
    }
    match (value, to) {
        (Value::Missing(_), QType::Optional(scalar)) => Ok(Value::Missing(*scalar)),
        (Value::Scalar(v) | Value::Present(v), QType::Optional(scalar)) => {
            scalar::cast(v, *scalar).map(Value::Present)
        }
        (Value::Scalar(v), QType::Scalar(scalar)) => scalar::cast(v, *scalar).map(Value::Scalar),
        _ => panic!("{value} to {to}"),
    }
}

/// An operator on operands that have been cast.
pub fn apply(typed: &Typed<'_>, id: NodeId, args: &[Value]) -> Result<Value, Category> {
    let (operator, result) = (typed.operator(id), typed.qtype(id));
    if let Some((_, _, gives)) = types::elementwise(operator) {
        return elements(operator, gives, args, result);
    }
    if operator == "seq.reduce" {
        return reduce(typed, id, args);
    }
    let number = |v: i8| {
        let scalar = scalar::cast(&ScalarValue::Int32(i32::from(v)), result.scalar().expect("a number"));
        scalar.and_then(|v| cast(&Value::Scalar(v), result))
    };
    let missing = || Ok(Value::Missing(result.scalar().expect("an optional")));
    match operator {
        "core.has" if !result.is_optional() => Ok(Value::Scalar(ScalarValue::Unit)),
        "core.has" => Ok(presence(is_present(&args[0]))),
        "core.presence_not" => Ok(presence(!is_present(&args[0]))),
        "core.presence_and" if is_present(&args[1]) => cast(&args[0], result),
        "core.presence_and" => missing(),
        "core.presence_or" if is_present(&args[0]) => Ok(unwrapped(&args[0], result)),
        "core.presence_or" => Ok(args[1].clone()),
        "core.get_optional_value" if !is_present(&args[0]) => Err(Category::MissingValue),
        "core.get_optional_value" => Ok(unwrapped(&args[0], result)),
        "core.with_assertion" if !is_present(&args[1]) => Err(Category::Assertion),
        "core.empty_like" => missing(),
        "core.zeros_like" => number(0),
        "core.ones_like" => number(1),
        "core.broadcast_like" => cast(&args[1], result),
        "bool.logical_if" => Ok(args[match args[0].scalar() {
            Some(ScalarValue::Boolean(true)) => 1,
            Some(_) => 2,
            None => 3,
        }]
        .clone()),
        "core.make_tuple" => Ok(Value::tuple(args.to_vec()).expect("the type was made")),
        "core.concat_tuples" => {
            Ok(Value::tuple(args.iter().flat_map(fields).collect::<Vec<_>>()).expect("made"))
        }
        "core.get_nth" => {
            let index = args[1].scalar().and_then(ScalarValue::as_i64).expect("a literal");
            Ok(fields(&args[0])[index as usize].clone())
        }
        "strings.join" if !args.iter().all(is_present) => missing(),
        "strings.join" => cast(&Value::from(args.iter().filter_map(text).collect::<String>()), result),
        "seq.range" => range(args),
        _ => cast(&args[0], result),
    }
}

fn elements(operator: &str, gives: Gives, args: &[Value], result: &QType) -> Result<Value, Category> {
    if let Some(decided) = decided(operator, args) {
        return cast(&Value::from(decided), result);
    }
    if !args.iter().all(is_present) {
        return Ok(Value::Missing(result.scalar().expect("an optional")));
    }
    let scalars: Vec<ScalarValue> = args.iter().filter_map(Value::scalar).cloned().collect();
    let computed = scalar::apply(operator, &scalars)?;
    match (gives, computed) {
        (Gives::Mask, ScalarValue::Boolean(truth)) => Ok(presence(truth)),
        (_, computed) => cast(&Value::Scalar(computed), result),
    }
}

/// What one operand decides in three-valued logic, whatever the others are.
pub fn decided(operator: &str, args: &[Value]) -> Option<bool> {
    let decisive = match operator {
        "bool.logical_and" => false,
        "bool.logical_or" => true,
        _ => return None,
    };
    args.iter().any(|a| a.scalar() == Some(&ScalarValue::Boolean(decisive))).then_some(decisive)
}

fn presence(present: bool) -> Value {
    if present { Value::Present(ScalarValue::Unit) } else { Value::Missing(ScalarType::Unit) }
}

fn unwrapped(value: &Value, result: &QType) -> Value {
    match (value, result) {
        (Value::Present(v), QType::Scalar(_)) => Value::Scalar(v.clone()),
        _ => value.clone(),
    }
}

fn fields(value: &Value) -> Vec<Value> {
    match value {
        Value::Tuple(tuple) => tuple.fields().to_vec(),
        other => panic!("{other} is no tuple"),
    }
}

fn text(value: &Value) -> Option<&str> {
    match value.scalar() {
        Some(ScalarValue::Text(text)) => Some(text),
        _ => None,
    }
}

fn range(args: &[Value]) -> Result<Value, Category> {
    let [start, stop, step] =
        [0, 1, 2].map(|i| args[i].scalar().and_then(ScalarValue::as_i64).expect("INT64"));
    let mut numbers = Vec::new();
    let mut at = start;
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        numbers.push(ScalarValue::Int64(at));
        at += step;
    }
    let sequence = SequenceValue::from_scalars(ScalarType::Int64, &numbers).expect("INT64");
    Ok(Value::Sequence(Arc::new(sequence)))
}

fn reduce(typed: &Typed<'_>, id: NodeId, args: &[Value]) -> Result<Value, Category> {
    let operator = typed.expr.graph().literal(typed.expr.graph().operands(id)[0]);
    let (Some(Literal::Operator(operator)), Value::Sequence(sequence)) = (operator, &args[1]) else {
        panic!("seq.reduce takes an operator and a sequence");
    };
    let mut accumulator = args[2].clone();
    for element in sequence.iter() {
        let operands = [accumulator, Value::Scalar(element)];
        let types = [operands[0].qtype(), operands[1].qtype()];
        let typing = types::typing(operator, &types, &[None, None], typed.dialect).expect("it was typed");
        let (_, _, gives) = types::elementwise(operator).expect("an element-wise operator");
        let cast = [cast(&operands[0], &typing.args[0])?, cast(&operands[1], &typing.args[1])?];
        accumulator = elements(operator, gives, &cast, &typing.result)?;
    }
    Ok(accumulator)
}
