//! The stage `low`: scalars by the machine's operators, one at a time; arrays and calls by the interpreter itself.

use super::library::operator;
use super::{Evaluate, MAX_CALLS, MAX_STEPS, Step, Stop, raise, walk};
use cembra::cli::function_value::recorded;
use cembra::function::build::RaisedFailure;
use cembra::function::low::{LowFunction, LowOp, LowWindow};
use cembra::ssa::InstId;
use cembra::vm::value::nd_type::NdType;
use cembra::vm::value::{NdRows, QType, ScalarType, ScalarValue, Value};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Cells of arrays that a test makes at most.
const MAX_CELLS: i128 = 1 << 20;
/// Cells of arrays that the machine makes at most.
const MACHINE_CELLS: i128 = 134_217_728;

/// A value of the machine; an array is one object, however many names it has.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Value(Value),
    Array(Rc<RefCell<Elements>>),
}

/// An array.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    of: NdType,
    shape: Vec<usize>,
    cells: Vec<ScalarValue>,
}

impl Elements {
    fn value(&self) -> Value {
        let rows = NdRows::from_scalars(self.of, &self.shape, &self.cells);
        Value::NdArray(Arc::new(rows.expect("as many cells as the shape says")))
    }
}

impl Held {
    fn new(value: &Value) -> Held {
        match value {
            Value::NdArray(rows) => Held::Array(Rc::new(RefCell::new(Elements {
                of: rows.qtype(),
                shape: rows.shape().to_vec(),
                cells: rows.view().scalars().collect(),
            }))),
            value => Held::Value(value.clone()),
        }
    }

    fn value(&self) -> Value {
        match self {
            Held::Value(value) => value.clone(),
            Held::Array(elements) => elements.borrow().value(),
        }
    }

    fn is_undefined(&self) -> bool {
        matches!(self, Held::Value(Value::Scalar(ScalarValue::Unit)))
    }

    fn int(&self) -> i64 {
        match self {
            Held::Value(Value::Scalar(ScalarValue::Int64(value))) => *value,
            other => panic!("{other:?} is no INT64"),
        }
    }

    fn scalar(&self) -> ScalarValue {
        match self {
            Held::Value(Value::Scalar(value)) => value.clone(),
            other => panic!("{other:?} is no number"),
        }
    }

    fn elements(&self) -> &Rc<RefCell<Elements>> {
        match self {
            Held::Array(elements) => elements,
            other => panic!("{other:?} is no array"),
        }
    }
}

/// Calls the first function.
pub(super) fn call(functions: &[LowFunction], args: &[Value]) -> Step<(Json, Vec<Json>)> {
    if args.len() < functions[0].parameters.len() {
        return Err(Stop::Unknown("defaults"));
    }
    let args: Vec<Held> = args.iter().map(Held::new).collect();
    let mut steps = MAX_STEPS;
    let value = call_one(functions, 0, &args, &mut steps, 0)?;
    let arrays = args.iter().filter(|arg| matches!(arg, Held::Array(_)));
    Ok((recorded(&value.value()), arrays.map(|arg| recorded(&arg.value())).collect()))
}

fn call_one(
    functions: &[LowFunction],
    at: usize,
    args: &[Held],
    steps: &mut u64,
    depth: usize,
) -> Step<Held> {
    if depth > MAX_CALLS {
        return raise("RecursionError");
    }
    let function = &functions[at];
    walk(&function.flow, &mut Low { functions, function, args, steps, depth })
}

struct Low<'l> {
    functions: &'l [LowFunction],
    function: &'l LowFunction,
    args: &'l [Held],
    steps: &'l mut u64,
    depth: usize,
}

impl Evaluate<LowOp> for Low<'_> {
    type Value = Held;

    fn operation(&mut self, inst: InstId, op: &LowOp, args: &[Held]) -> Step<Held> {
        match op {
            LowOp::Input(position) => Ok(self.args[*position as usize].clone()),
            LowOp::Literal(value) => Ok(Held::Value(value.clone())),
            LowOp::Part(offset) => {
                let of = self.function.types[inst.index()].as_ref().expect("a part has a type");
                Ok(part(&args[0].value(), *offset, of))
            }
            LowOp::Operator("nd.get", _) => {
                let elements = args[0].elements().borrow();
                let at = position(&elements, &args[1..])?;
                Ok(Held::Value(Value::Scalar(elements.cells[at].clone())))
            }
            LowOp::Operator("nd.length", _) => {
                let length = args[0].elements().borrow().shape[args[1].int() as usize];
                Ok(Held::Value(Value::Scalar(ScalarValue::Int64(length as i64))))
            }
            LowOp::Operator(name, _) if name.starts_with("nd.full") => {
                let of = self.function.types[inst.index()].as_ref().and_then(QType::nd);
                filled(of.expect("an array"), &args[0].scalar(), &args[1..])
            }
            LowOp::Operator("core._copy", _) => Ok(match &args[0] {
                Held::Array(elements) => Held::Array(Rc::new(RefCell::new(elements.borrow().clone()))),
                value => value.clone(),
            }),
            // What has no value on the way here is of no use either, where a pass has moved it before its test.
            LowOp::Operator(_, false) if args.iter().any(Held::is_undefined) => Ok(self.undefined()),
            LowOp::Operator(name, _) => {
                let values: Vec<Value> = args.iter().map(Held::value).collect();
                operator(name, &values).map(|value| Held::new(&value))
            }
            LowOp::Update(name @ "nd._assign") => {
                let values: Vec<Value> = args.iter().map(Held::value).collect();
                let changed = Held::new(&operator(name, &values)?);
                args[0].elements().borrow_mut().cells = changed.elements().borrow().cells.clone();
                Ok(self.undefined())
            }
            LowOp::Update(name) => {
                let mut elements = args[0].elements().borrow_mut();
                update(name, &mut elements, &args[1..])?;
                Ok(self.undefined())
            }
            LowOp::Round => Ok(args[0].clone()),
            // One piece: with the windows of all rounds.
            LowOp::Pieces(pieces) => {
                let mut inner = args.to_vec();
                for window in &pieces.windows {
                    let array = args[window.array as usize].elements().borrow();
                    let (cells, shape) = positions(&array, window, args);
                    let cells = cells.iter().map(|at| array.cells[*at].clone()).collect();
                    let part = Elements { of: array.of, shape, cells };
                    inner[window.array as usize] = Held::Array(Rc::new(RefCell::new(part)));
                }
                let result =
                    call_one(self.functions, pieces.callee.0 as usize, &inner, self.steps, self.depth + 1)?;
                for window in &pieces.windows {
                    let mut array = args[window.array as usize].elements().borrow_mut();
                    let cells = positions(&array, window, args).0;
                    let inner = inner[window.array as usize].elements().borrow();
                    cells.iter().zip(&inner.cells).for_each(|(at, cell)| array.cells[*at] = cell.clone());
                }
                Ok(result)
            }
            LowOp::Call(callee) => {
                call_one(self.functions, callee.0 as usize, args, self.steps, self.depth + 1)
            }
        }
    }

    fn phi(&mut self, _: InstId, value: Held) -> Held {
        value
    }

    fn undefined(&self) -> Held {
        Held::Value(Value::Scalar(ScalarValue::Unit))
    }

    fn holds(&self, value: &Held) -> bool {
        value.scalar() == ScalarValue::Boolean(true)
    }

    fn failure(&self, number: u32) -> &RaisedFailure {
        &self.function.failures[number as usize]
    }

    fn step(&mut self) -> bool {
        *self.steps = self.steps.saturating_sub(1);
        *self.steps > 0
    }
}

/// The field of a tuple at an offset.
fn part(whole: &Value, offset: u32, of: &QType) -> Held {
    let (mut at, mut rest) = (whole.clone(), offset);
    while at.qtype() != *of || rest != 0 {
        let (Value::Tuple(fields), Some(tuple)) = (&at, at.qtype().tuple().cloned()) else {
            panic!("{whole} has no {of} at {offset}")
        };
        let field =
            (0..tuple.fields().len()).rev().find(|field| tuple.offset(*field) <= rest).expect("a field");
        rest -= tuple.offset(field);
        at = fields.fields()[field].clone();
    }
    Held::new(&at)
}

/// The cells of a window of all rounds, and their shape.
fn positions(array: &Elements, window: &LowWindow, args: &[Held]) -> (Vec<usize>, Vec<usize>) {
    let (first, step) = (args[window.first as usize].int(), args[window.step as usize].int());
    let (begin, end, axis) = (args[0].int(), args[1].int(), window.axis as usize);
    let mut shape = array.shape.clone();
    shape[axis] = (end - begin).max(0) as usize;
    let mut cells = vec![0];
    for (number, size) in shape.iter().enumerate() {
        let index = |at: usize| match number == axis {
            true => (first + step * (begin + at as i64)) as usize,
            false => at,
        };
        let whole = array.shape[number];
        cells = cells.iter().flat_map(|cell| (0..*size).map(move |at| cell * whole + index(at))).collect();
    }
    (cells, shape)
}

/// The cell of indices, the last axis running fastest.
fn position(elements: &Elements, indices: &[Held]) -> Step<usize> {
    let mut at = 0;
    for (size, index) in elements.shape.iter().zip(indices) {
        let (size, index) = (*size as i64, index.int());
        let index = if index < 0 { index.saturating_add(size) } else { index };
        if !(0..size).contains(&index) {
            return raise("IndexError");
        }
        at = at * size as usize + index as usize;
    }
    Ok(at)
}

fn filled(of: NdType, value: &ScalarValue, sizes: &[Held]) -> Step<Held> {
    let sizes: Vec<i64> = sizes.iter().map(Held::int).collect();
    if sizes.iter().any(|size| *size < 0) {
        return raise("ValueError");
    }
    let count =
        sizes.iter().map(|size| i128::from(*size)).try_fold(1i128, i128::checked_mul).unwrap_or(i128::MAX);
    if count > MACHINE_CELLS {
        return raise("MemoryError");
    }
    if count > MAX_CELLS {
        return Err(Stop::Unknown("memory"));
    }
    let shape = sizes.iter().map(|size| *size as usize).collect();
    let cells = vec![narrowed(of.element(), value); count as usize];
    Ok(Held::Array(Rc::new(RefCell::new(Elements { of, shape, cells }))))
}

fn update(name: &str, elements: &mut Elements, args: &[Held]) -> Step<()> {
    match name {
        "nd.set" => {
            let at = position(elements, &args[1..])?;
            elements.cells[at] = narrowed(elements.of.element(), &args[0].scalar());
        }
        "nd.append" => {
            elements.cells.push(narrowed(elements.of.element(), &args[0].scalar()));
            elements.shape[0] += 1;
        }
        "nd.remove_last" => {
            if elements.cells.pop().is_none() {
                return raise("IndexError");
            }
            elements.shape[0] -= 1;
        }
        "nd.sort" => elements.cells.sort_by(|a, b| {
            let number = |cell: &ScalarValue| cell.as_f64().unwrap_or(f64::NAN);
            match (a, b) {
                (ScalarValue::Int64(a), ScalarValue::Int64(b)) => a.cmp(b),
                (ScalarValue::Boolean(a), ScalarValue::Boolean(b)) => a.cmp(b),
                (a, b) => number(a)
                    .is_nan()
                    .cmp(&number(b).is_nan())
                    .then(number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal)),
            }
        }),
        "python.add_key" => return Err(Stop::Unknown("dictionaries")),
        other => panic!("{other} is no update that the interpreter knows"),
    }
    Ok(())
}

/// What a cell keeps of a number.
fn narrowed(element: ScalarType, value: &ScalarValue) -> ScalarValue {
    let ScalarValue::Int64(number) = value else { return value.clone() };
    ScalarValue::Int64(match element {
        ScalarType::Int8 => i64::from(*number as i8),
        ScalarType::Int16 => i64::from(*number as i16),
        ScalarType::Uint8 => i64::from(*number as u8),
        ScalarType::Uint16 => i64::from(*number as u16),
        ScalarType::Uint32 => i64::from(*number as u32),
        _ => *number,
    })
}
