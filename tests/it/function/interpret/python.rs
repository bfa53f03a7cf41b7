//! The stages `ussa` and `tssa` as Python means them.

use super::cells::{Cells, Place};
use super::dictionaries::Dict;
use super::{Evaluate, MAX_CALLS, MAX_STEPS, Step, Stop, raise, walk};
use crate::function::reference::{Datum, binary, compares, truth};
use cembra::cli::function_value::python_float;
use cembra::function::FunctionType;
use cembra::function::build::{BuiltFunction, RaisedFailure};
use cembra::function::constant::Constant;
use cembra::function::infer::Instance;
use cembra::function::op::{FunctionOp, IndexPart};
use cembra::python::{BinaryOp, CompareOp, UnaryOp};
use cembra::ssa::InstId;
use cembra::vm::value::{ScalarType, ScalarValue, Value};
use serde_json::{Value as Json, json};
use std::rc::Rc;
use std::sync::Arc;

/// A value of Python.
#[derive(Clone, Debug)]
pub(super) enum Item {
    None,
    Number(Datum),
    Text(Arc<str>),
    Tuple(Rc<[Item]>),
    Array(Cells),
    Dict(Dict),
}

/// Result and arrays after the call.
type Called = Step<(Json, Vec<Json>)>;

/// Calls the first function, without types.
pub(super) fn call_untyped(functions: &[BuiltFunction], args: &[Value]) -> Called {
    let functions: Vec<Callee<'_>> =
        functions.iter().map(|function| Callee { function, typed: None }).collect();
    call_first(&functions, args)
}

/// Calls the first instance.
pub(super) fn call_typed(instances: &[Instance], args: &[Value]) -> Called {
    let mut functions = Vec::new();
    for instance in instances {
        functions.push(Callee { function: &instance.function, typed: Some(instance) });
    }
    call_first(&functions, args)
}

fn call_first(functions: &[Callee<'_>], args: &[Value]) -> Called {
    let mut items: Vec<Item> = args.iter().map(argument).collect::<Step<_>>()?;
    for (_, default) in &functions[0].function.parameters[items.len()..] {
        items.push(constant(default.as_ref().expect("what is left out has a default")));
    }
    let mut steps = MAX_STEPS;
    let value = call(functions, 0, &items, &mut steps, 0)?;
    let arrays = items.iter().filter_map(|item| match item {
        Item::Array(cells) => Some(cells.json()),
        _ => None,
    });
    Ok((json(&value), arrays.collect()))
}

pub(super) fn argument(value: &Value) -> Step<Item> {
    Ok(match value {
        Value::Scalar(ScalarValue::Unit) => Item::None,
        Value::Scalar(ScalarValue::Boolean(value)) => Item::Number(Datum::Bool(*value)),
        Value::Scalar(ScalarValue::Int64(value)) => Item::Number(Datum::Int(*value)),
        Value::Scalar(ScalarValue::Float64(value)) => Item::Number(Datum::Float(*value)),
        Value::Tuple(tuple) => Item::Tuple(tuple.fields().iter().map(argument).collect::<Step<_>>()?),
        value => Item::Array(Cells::argument(value).ok_or(Stop::Unknown("argument"))?),
    })
}

fn constant(constant: &Constant) -> Item {
    match constant {
        Constant::None => Item::None,
        Constant::Bool(value) => Item::Number(Datum::Bool(*value)),
        Constant::Int(value) => Item::Number(Datum::Int(*value)),
        Constant::Float(value) => Item::Number(Datum::Float(*value)),
        Constant::Text(text) => Item::Text(text.clone()),
    }
}

pub(super) fn json(item: &Item) -> Json {
    match item {
        Item::None => json!({ "t": "none", "v": null }),
        Item::Number(Datum::Bool(value)) => json!({ "t": "bool", "v": value }),
        Item::Number(Datum::Int(value)) => json!({ "t": "int", "v": value.to_string() }),
        Item::Number(Datum::Float(value)) => json!({ "t": "float", "v": python_float(*value) }),
        Item::Text(text) => json!({ "t": "str", "v": **text }),
        Item::Tuple(fields) => json!({ "t": "tuple", "v": fields.iter().map(json).collect::<Vec<_>>() }),
        Item::Array(cells) => cells.json(),
        Item::Dict(_) => json!({ "t": "dict" }),
    }
}

/// A function that can be called.
struct Callee<'f> {
    function: &'f BuiltFunction,
    /// The types that values are cast to.
    typed: Option<&'f Instance>,
}

fn call(functions: &[Callee<'_>], at: usize, args: &[Item], steps: &mut u64, depth: usize) -> Step<Item> {
    if depth > MAX_CALLS {
        return raise("RecursionError");
    }
    let callee = &functions[at];
    let mut python = Python { functions, callee, args, steps, depth };
    let value = walk(&callee.function.flow, &mut python)?;
    Ok(match callee.typed.and_then(|instance| instance.result.as_ref()) {
        Some(result) => cast(value, result),
        None => value,
    })
}

/// What is unpacked into so many names.
pub(super) fn unpacked(item: &Item, names: i64) -> Step<Item> {
    match item {
        Item::Array(cells) if cells.sizes()[0] != names => raise("ValueError"),
        other => Ok(other.clone()),
    }
}

/// A value as one of a wider type.
fn cast(item: Item, to: &FunctionType) -> Item {
    match (item, to) {
        (Item::None, _) => Item::None,
        (item, FunctionType::Optional(of)) => cast(item, of),
        (Item::Number(number), FunctionType::Float) => Item::Number(Datum::Float(as_float(number))),
        (Item::Number(Datum::Bool(value)), FunctionType::Int) => Item::Number(Datum::Int(value.into())),
        (Item::Tuple(fields), FunctionType::Tuple(types)) => {
            Item::Tuple(fields.iter().zip(&**types).map(|(field, of)| cast(field.clone(), of)).collect())
        }
        (item, _) => item,
    }
}

pub(super) struct Python<'p> {
    functions: &'p [Callee<'p>],
    callee: &'p Callee<'p>,
    args: &'p [Item],
    steps: &'p mut u64,
    depth: usize,
}

impl Evaluate<FunctionOp> for Python<'_> {
    type Value = Item;

    fn operation(&mut self, inst: InstId, op: &FunctionOp, args: &[Item]) -> Step<Item> {
        Ok(match op {
            FunctionOp::Param(position) => self.args[*position as usize].clone(),
            FunctionOp::Constant(value) => constant(value),
            FunctionOp::Unary(UnaryOp::Not) => Item::Number(Datum::Bool(!is_true(&args[0]))),
            FunctionOp::Unary(op) => Item::Number(unary(*op, number(&args[0])?)?),
            FunctionOp::Binary(op) | FunctionOp::InPlace(op) => self.binary(inst, *op, &args[0], &args[1])?,
            FunctionOp::Compare(op) => Item::Number(Datum::Bool(compare(*op, &args[0], &args[1])?)),
            FunctionOp::Truth => Item::Number(Datum::Bool(is_true(&args[0]))),
            FunctionOp::LibraryFunction(function) => {
                let of = self.callee.typed.map(|instance| instance.types[inst.index()].as_ref());
                let value = super::library::call(*function, args, of.flatten())?;
                of.flatten().map_or(value.clone(), |of| cast(value, of))
            }
            FunctionOp::Call(id) => {
                let mut args = args.to_vec();
                if let Some(instance) = self.functions[id.0 as usize].typed {
                    args = args.into_iter().zip(&instance.args).map(|(arg, of)| cast(arg, of)).collect();
                }
                call(self.functions, id.0 as usize, &args, self.steps, self.depth + 1)?
            }
            FunctionOp::Tuple => Item::Tuple(args.into()),
            FunctionOp::GetItem(parts) => self.item(inst, parts, args)?,
            FunctionOp::SetItem(_) if matches!(args[0], Item::Dict(_)) => {
                store_value(&args[0], &args[2], &args[1])?;
                Item::None
            }
            FunctionOp::SetItem(parts) => {
                let Item::Array(cells) = &args[0] else { return Err(Stop::Unknown("store")) };
                if let Item::Array(values) = &args[1] {
                    cells.part(&places(parts, &args[2..])?)?.assign(values)?;
                    return Ok(Item::None);
                }
                let value = number(&args[1])?;
                // The number becomes an element before its place is looked for.
                let one = Cells::filled(cells.element, &[1], value, false)?;
                cells.part(&places(parts, &args[2..])?)?.fill(one.elements()?[0])?;
                Item::None
            }
            FunctionOp::NotNone(Some(_)) if matches!(args[0], Item::None) => {
                return Err(Stop::Raised("TypeError".into()));
            }
            FunctionOp::Unpack(count) => unpacked(&args[0], *count as i64)?,
            FunctionOp::ModuleConstant | FunctionOp::NotNone(_) => args[0].clone(),
            FunctionOp::Attribute(name) => attribute(name, &args[0])?,
            FunctionOp::RangeBound => Item::Number(Datum::Int(integer(&args[0])?)),
            FunctionOp::RangeCount => {
                let bounds: Vec<i64> = args.iter().map(integer).collect::<Step<_>>()?;
                let count = range_count(bounds[0], bounds[1], bounds[2]);
                Item::Number(Datum::Int(count.ok_or(Stop::Raised("ValueError".into()))?))
            }
            FunctionOp::Round => args[0].clone(),
            FunctionOp::Step => Item::Number(Datum::Int(integer(&args[0])?.wrapping_add(integer(&args[1])?))),
            FunctionOp::Promote => Item::Number(Datum::Float(as_float(number(&args[0])?))),
        })
    }

    fn phi(&mut self, inst: InstId, value: Item) -> Item {
        match self.callee.typed.and_then(|instance| instance.types[inst.index()].as_ref()) {
            Some(of) => cast(value, of),
            None => value,
        }
    }

    fn undefined(&self) -> Item {
        Item::None
    }

    fn holds(&self, value: &Item) -> bool {
        is_true(value)
    }

    fn failure(&self, number: u32) -> &RaisedFailure {
        &self.callee.function.failures[number as usize]
    }

    fn step(&mut self) -> bool {
        *self.steps = self.steps.saturating_sub(1);
        *self.steps > 0
    }
}

impl Python<'_> {
    fn binary(&self, inst: InstId, op: BinaryOp, x: &Item, y: &Item) -> Step<Item> {
        if let (Item::Tuple(x), Item::Tuple(y)) = (x, y) {
            return Ok(Item::Tuple(x.iter().chain(y.iter()).cloned().collect()));
        }
        let (x, y) = (number(x)?, number(y)?);
        if op != BinaryOp::Pow {
            return binary(sign(op), x, y).map(Item::Number).map_err(|class| Stop::Raised(class.to_owned()));
        }
        // An integer to a power that is known to be negative is a float.
        let flow = &self.callee.function.flow;
        let known = flow.operation(flow.inst(inst).args[1]);
        let is_float = matches!(known, Some(FunctionOp::Constant(Constant::Int(..=-1))));
        super::library::power(x, y, is_float).map(Item::Number)
    }

    fn item(&self, inst: InstId, parts: &[IndexPart], args: &[Item]) -> Step<Item> {
        match &args[0] {
            Item::Tuple(fields) => {
                let index = integer(&args[1])?;
                let at = if index < 0 { index.saturating_add(fields.len() as i64) } else { index };
                let field = usize::try_from(at).ok().and_then(|at| fields.get(at)).cloned();
                let field = field.ok_or(Stop::Raised("IndexError".into()))?;
                Ok(match self.callee.typed.and_then(|instance| instance.types[inst.index()].as_ref()) {
                    Some(of) => cast(field, of),
                    None => field,
                })
            }
            Item::Array(cells) => {
                let part = cells.part(&places(parts, &args[1..])?)?;
                match part.sizes().is_empty() {
                    true => Ok(Item::Number(part.elements()?[0])),
                    false => Ok(Item::Array(part)),
                }
            }
            Item::Dict(dict) => value_of(dict, &args[1]),
            _ => Err(Stop::Unknown("item")),
        }
    }
}

/// `dict[key]`.
pub(super) fn value_of(dict: &Dict, key: &Item) -> Step<Item> {
    dict.get(number(key)?)?.map(Item::Number).ok_or(Stop::Raised("KeyError".into()))
}

/// `dict[key] = value`.
pub(super) fn store_value(dict: &Item, key: &Item, value: &Item) -> Step<()> {
    match dict {
        Item::Dict(dict) => dict.put(number(key)?, number(value)?),
        _ => Err(Stop::Unknown("store")),
    }
}

fn places(parts: &[IndexPart], args: &[Item]) -> Step<Vec<Place>> {
    let mut rest = args.iter();
    let mut next = |given: bool| match given {
        true => integer(rest.next().expect("an operand for each place")).map(Some),
        false => Ok(None),
    };
    let place = |part: &IndexPart| {
        Ok(match part {
            IndexPart::At => Place::At(next(true)?.unwrap_or(0)),
            IndexPart::Slice { lower, upper, step } => {
                Place::Slice(next(*lower)?, next(*upper)?, next(*step)?.unwrap_or(1))
            }
        })
    };
    parts.iter().map(place).collect()
}

pub(super) fn attribute(name: &str, of: &Item) -> Step<Item> {
    let Item::Array(cells) = of else { return Ok(Item::Number(plus(number(of)?))) };
    let sizes = cells.sizes();
    let int = |value: i64| Item::Number(Datum::Int(value));
    Ok(match name {
        "ndim" => int(sizes.len() as i64),
        "shape" => Item::Tuple(sizes.into_iter().map(int).collect()),
        _ => int(sizes.iter().product()),
    })
}

pub(super) fn number(item: &Item) -> Step<Datum> {
    match item {
        Item::Number(number) => Ok(*number),
        Item::None => Err(Stop::Raised("TypeError".into())),
        Item::Array(cells) if !cells.is_list => Err(Stop::Unknown("array expression")),
        _ => Err(Stop::Unknown("number")),
    }
}

pub(super) fn integer(item: &Item) -> Step<i64> {
    match number(item)? {
        Datum::Int(value) => Ok(value),
        Datum::Bool(value) => Ok(value.into()),
        Datum::Float(_) => Err(Stop::Unknown("integer")),
    }
}

pub(super) fn as_float(number: Datum) -> f64 {
    match number {
        Datum::Float(value) => value,
        Datum::Int(value) => value as f64,
        Datum::Bool(value) => f64::from(u8::from(value)),
    }
}

/// A truth value as an integer.
pub(super) fn plus(number: Datum) -> Datum {
    match number {
        Datum::Bool(value) => Datum::Int(value.into()),
        other => other,
    }
}

pub(super) fn is_true(item: &Item) -> bool {
    match item {
        Item::None => false,
        Item::Number(number) => truth(*number),
        Item::Text(text) => !text.is_empty(),
        Item::Tuple(fields) => !fields.is_empty(),
        Item::Array(cells) => cells.sizes()[0] != 0,
        Item::Dict(dict) => dict.len() != 0,
    }
}

pub(super) fn unary(op: UnaryOp, x: Datum) -> Step<Datum> {
    Ok(match (op, plus(x)) {
        (UnaryOp::Neg, Datum::Float(value)) => Datum::Float(-value),
        (UnaryOp::Neg, Datum::Int(value)) => {
            Datum::Int(value.checked_neg().ok_or(Stop::Raised("OverflowError".into()))?)
        }
        (UnaryOp::Invert, Datum::Int(value)) => Datum::Int(!value),
        (_, value) => value,
    })
}

fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::FloorDiv => "//",
        BinaryOp::Mod => "%",
        BinaryOp::Pow => "**",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::MatMul => "@",
    }
}

/// Identity, of what there is one of.
fn is_same(x: &Item, y: &Item) -> bool {
    match (x, y) {
        (Item::None, Item::None) => true,
        (Item::Number(Datum::Bool(x)), Item::Number(Datum::Bool(y))) => x == y,
        _ => false,
    }
}

pub(super) fn compare(op: CompareOp, x: &Item, y: &Item) -> Step<bool> {
    let sign = match op {
        CompareOp::Equal => "==",
        CompareOp::NotEqual => "!=",
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
        CompareOp::Is => return Ok(is_same(x, y)),
        CompareOp::IsNot => return Ok(!is_same(x, y)),
        CompareOp::In | CompareOp::NotIn => return Err(Stop::Unknown("in")),
    };
    Ok(match (x, y) {
        (Item::Number(x), Item::Number(y)) => compares(sign, *x, *y),
        (Item::Text(x), Item::Text(y)) => match op {
            CompareOp::Less => x < y,
            CompareOp::LessEqual => x <= y,
            CompareOp::Greater => x > y,
            CompareOp::GreaterEqual => x >= y,
            op => (x == y) == (op == CompareOp::Equal),
        },
        (Item::None, _) | (_, Item::None) if !matches!(op, CompareOp::Equal | CompareOp::NotEqual) => {
            return Err(Stop::Raised("TypeError".into()));
        }
        (x, y) => equal(x, y) == (op == CompareOp::Equal),
    })
}

pub(super) fn equal(x: &Item, y: &Item) -> bool {
    match (x, y) {
        (Item::None, Item::None) => true,
        (Item::Number(x), Item::Number(y)) => compares("==", *x, *y),
        (Item::Text(x), Item::Text(y)) => x == y,
        (Item::Tuple(x), Item::Tuple(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| equal(x, y))
        }
        _ => false,
    }
}

/// How many numbers a range has; none with a step of zero.
pub(super) fn range_count(start: i64, stop: i64, step: i64) -> Option<i64> {
    let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
    let way = if step > 0 { stop - start } else { start - stop };
    let count = if way <= 0 { 0 } else { (way + step.abs() - 1).checked_div(step.abs())? };
    if step == 0 { None } else { Some(i64::try_from(count).unwrap_or(i64::MAX)) }
}

/// The type of the elements of an array of numbers.
pub(super) fn element_of(numbers: &[Datum]) -> ScalarType {
    match numbers {
        numbers if numbers.iter().any(|number| matches!(number, Datum::Float(_))) => ScalarType::Float64,
        numbers if numbers.iter().all(|number| matches!(number, Datum::Bool(_))) => ScalarType::Boolean,
        _ => ScalarType::Int64,
    }
}
