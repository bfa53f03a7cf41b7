//! Functions of the library. Floats of `math` come from the machine, whose own tests say that they are right.

use super::cells::{Cells, Place};
use super::python::{Item, as_float, element_of, integer, is_true, number, plus, range_count};
use super::{Step, Stop, raise};
use crate::function::reference::{Datum, binary, builtin, compares, truth};
use cembra::function::FunctionType;
use cembra::function::library::{LibraryFunction, LibraryKind};
use cembra::function::run::python_class;
use cembra::vm::builtins;
use cembra::vm::machine::invoke::InvokeError;
use cembra::vm::machine::{RunError, invoke};
use cembra::vm::operator::OperatorTable;
use cembra::vm::value::{QType, ScalarType, ScalarValue, Value};
use std::sync::{Arc, LazyLock};

static TABLE: LazyLock<Arc<OperatorTable>> = LazyLock::new(builtins::table);

/// Applies one operator of the machine.
pub(super) fn operator(name: &str, args: &[Value]) -> Step<Value> {
    let types: Vec<QType> = args.iter().map(Value::qtype).collect();
    let overload = TABLE.overload(name, &types).unwrap_or_else(|| panic!("no {name}({types:?})"));
    invoke(&overload, args).map_err(|error| match error {
        InvokeError::Run(kind) => Stop::Raised(python_class(&RunError { kind, at: None })),
        other => panic!("{name}: {other}"),
    })
}

fn on_numbers(name: &str, args: &[Datum]) -> Step<Datum> {
    let value = |number: &Datum| {
        Value::Scalar(match number {
            Datum::Bool(value) => ScalarValue::Boolean(*value),
            Datum::Int(value) => ScalarValue::Int64(*value),
            Datum::Float(value) => ScalarValue::Float64(*value),
        })
    };
    match operator(name, &args.iter().map(value).collect::<Vec<_>>())? {
        Value::Scalar(ScalarValue::Boolean(value)) => Ok(Datum::Bool(value)),
        Value::Scalar(ScalarValue::Int64(value)) => Ok(Datum::Int(value)),
        Value::Scalar(ScalarValue::Float64(value)) => Ok(Datum::Float(value)),
        other => panic!("{name} gives {other}"),
    }
}

/// `x ** y`.
pub(super) fn power(x: Datum, y: Datum, is_float: bool) -> Step<Datum> {
    let (x, y) = (plus(x), plus(y));
    match is_float || matches!(x, Datum::Float(_)) || matches!(y, Datum::Float(_)) {
        true => on_numbers("python.pow", &[Datum::Float(as_float(x)), Datum::Float(as_float(y))]),
        false => on_numbers("python.pow", &[x, y]),
    }
}

fn apply(op: &'static str, x: Datum, y: Datum) -> Step<Datum> {
    binary(op, x, y).map_err(|class| Stop::Raised(class.to_owned()))
}

fn named(name: &'static str, args: &[Datum]) -> Step<Datum> {
    builtin(name, args).map_err(|class| Stop::Raised(class.to_owned()))
}

/// Numbers that an argument consists of.
fn numbers(item: &Item) -> Step<Vec<Datum>> {
    match item {
        Item::Array(cells) => cells.elements(),
        Item::Tuple(fields) => fields.iter().map(number).collect(),
        _ => Err(Stop::Unknown("numbers")),
    }
}

fn sizes(args: &[Item]) -> Step<Vec<i64>> {
    match args {
        [Item::Tuple(fields)] => fields.iter().map(integer).collect(),
        args => args.iter().map(integer).collect(),
    }
}

/// Calls a function; `of` is the type of its result in `tssa`.
pub(super) fn call(function: LibraryFunction, args: &[Item], of: Option<&FunctionType>) -> Step<Item> {
    let int = |value: i64| Ok(Item::Number(Datum::Int(value)));
    let wanted = match of {
        Some(FunctionType::Array(array)) => Some(array.element),
        _ => None,
    };
    match function.kind() {
        LibraryKind::Len => match &args[0] {
            Item::Tuple(fields) => int(fields.len() as i64),
            Item::Text(text) => int(text.chars().count() as i64),
            Item::Array(cells) => int(cells.sizes()[0]),
            _ => Err(Stop::Unknown("len")),
        },
        LibraryKind::ToBool => Ok(Item::Number(Datum::Bool(is_true(&args[0])))),
        LibraryKind::Min | LibraryKind::Max => {
            let all = match args {
                [one] => numbers(one)?,
                args => args.iter().map(number).collect::<Step<Vec<_>>>()?,
            };
            if all.is_empty() {
                return raise("ValueError");
            }
            let name = if function.kind() == LibraryKind::Min { "min" } else { "max" };
            named(name, &all).map(Item::Number)
        }
        LibraryKind::Sum => {
            let start = match of == Some(&FunctionType::Float) {
                true => Datum::Float(0.0),
                false => Datum::Int(0),
            };
            let add = |sum, value: &Datum| apply("+", sum, *value);
            numbers(&args[0])?.iter().try_fold(start, add).map(Item::Number)
        }
        LibraryKind::Any => Ok(Item::Number(Datum::Bool(numbers(&args[0])?.into_iter().any(truth)))),
        LibraryKind::All => Ok(Item::Number(Datum::Bool(numbers(&args[0])?.into_iter().all(truth)))),
        LibraryKind::Contains => {
            let value = number(&args[1])?;
            let found = numbers(&args[0])?.into_iter().any(|other| compares("==", other, value));
            Ok(Item::Number(Datum::Bool(found)))
        }
        LibraryKind::DivMod => {
            let (x, y) = (plus(number(&args[0])?), plus(number(&args[1])?));
            let fields = [apply("//", x, y)?, apply("%", x, y)?];
            Ok(Item::Tuple(fields.into_iter().map(Item::Number).collect()))
        }
        LibraryKind::NewDict
        | LibraryKind::NewSet
        | LibraryKind::AddKey
        | LibraryKind::DictGet
        | LibraryKind::Element
        | LibraryKind::ValueAt
        | LibraryKind::IterationLength
        | LibraryKind::ArrayFrom
        | LibraryKind::Chr
        | LibraryKind::Ord => Err(Stop::Unknown("dictionaries and characters")),
        LibraryKind::Filled(_)
        | LibraryKind::Full
        | LibraryKind::FilledLike(_)
        | LibraryKind::Arange
        | LibraryKind::ArrayOf
        | LibraryKind::Copy
        | LibraryKind::NewList
        | LibraryKind::Append
        | LibraryKind::Pop
        | LibraryKind::Repeat
        | LibraryKind::Linspace => array(function, args, wanted),
        _ => {
            let numbers: Vec<Datum> = args.iter().map(number).collect::<Step<_>>()?;
            on_scalars(function, &numbers).map(Item::Number)
        }
    }
}

fn on_scalars(function: LibraryFunction, args: &[Datum]) -> Step<Datum> {
    let floats = || args.iter().map(|number| Datum::Float(as_float(*number))).collect::<Vec<_>>();
    let ints = || args.iter().map(|number| plus(*number)).collect::<Vec<_>>();
    let float = as_float(args[0]);
    let is_float = matches!(args[0], Datum::Float(_));
    match function.kind() {
        LibraryKind::Float { .. }
            if function.name() == "math.pow"
                && float == 0.0
                && (f64::MIN..0.0).contains(&as_float(args[1])) =>
        {
            raise("ValueError")
        }
        LibraryKind::Float { checked, plain, .. } => {
            on_numbers(if function.plain { plain } else { checked }, &floats())
        }
        LibraryKind::Greater | LibraryKind::Less => {
            let is_less = function.kind() == LibraryKind::Less;
            match args.iter().any(|number| matches!(number, Datum::Float(_))) {
                true => on_numbers(if is_less { "math.minimum" } else { "math.maximum" }, &floats()),
                false => named(if is_less { "min" } else { "max" }, args),
            }
        }
        LibraryKind::Rounded(name) if is_float => on_numbers(name, args),
        LibraryKind::Rounded(_) => Ok(plus(args[0])),
        LibraryKind::IsNan => Ok(Datum::Bool(float.is_nan())),
        LibraryKind::IsInf => Ok(Datum::Bool(float.is_infinite())),
        LibraryKind::IsFinite => Ok(Datum::Bool(float.is_finite())),
        LibraryKind::Abs => named("abs", &ints()),
        LibraryKind::ToInt => named("int", args),
        LibraryKind::ToFloat => Ok(Datum::Float(float)),
        LibraryKind::Round => match (args, is_float) {
            ([_], true) => on_numbers("python.round", args),
            ([_], false) => Ok(plus(args[0])),
            _ => on_numbers("python.round_digits", &ints()),
        },
        LibraryKind::Pow if args.len() == 3 => on_numbers("python.pow_modulo", &ints()),
        LibraryKind::Pow => power(args[0], args[1], false),
        LibraryKind::Log => {
            let name = if function.plain { "math.log" } else { "python.log" };
            let logs = floats().into_iter().map(|x| on_numbers(name, &[x])).collect::<Step<Vec<_>>>()?;
            match logs[..] {
                [x, base] => apply("/", x, base),
                _ => Ok(logs[0]),
            }
        }
        LibraryKind::Gcd => on_numbers("python.gcd", &ints()),
        LibraryKind::Isqrt => on_numbers("python.isqrt", &ints()),
        LibraryKind::CounterProduct => match ints()[..] {
            [Datum::Int(x), Datum::Int(y)] => Ok(Datum::Int(x.wrapping_mul(y))),
            _ => Err(Stop::Unknown("counters")),
        },
        _ => Err(Stop::Unknown("function")),
    }
}

fn array(function: LibraryFunction, args: &[Item], wanted: Option<ScalarType>) -> Step<Item> {
    let cells = |item: &Item| match item {
        Item::Array(cells) => Ok(cells.clone()),
        _ => Err(Stop::Unknown("array")),
    };
    let value = |one: i8, element: ScalarType| match element.is_float() {
        true => Datum::Float(one.into()),
        false => Datum::Int(one.into()),
    };
    let list = |element: Option<ScalarType>, items: &[Datum], is_list: bool| {
        let made = Cells::filled(element, &[items.len() as i64], Datum::Int(0), is_list)?;
        for (at, item) in items.iter().enumerate() {
            made.set(at, *item)?;
        }
        Ok(Item::Array(made))
    };
    match function.kind() {
        LibraryKind::Filled(one) => {
            let element = function.dtype.unwrap_or(ScalarType::Float64);
            Cells::filled(Some(element), &sizes(args)?, value(one, element), false).map(Item::Array)
        }
        LibraryKind::Full => {
            let filled = number(&args[0])?;
            let element = function.dtype.or(wanted).unwrap_or(element_of(&[filled]));
            Cells::filled(Some(element), &sizes(&args[1..])?, filled, false).map(Item::Array)
        }
        LibraryKind::FilledLike(one) => {
            let like = cells(&args[0])?;
            let element = function.dtype.or(wanted).or(like.element).ok_or(Stop::Unknown("element"))?;
            Cells::filled(Some(element), &like.sizes(), value(one, element), false).map(Item::Array)
        }
        LibraryKind::Arange => {
            let bounds: Vec<i64> = args.iter().map(integer).collect::<Step<_>>()?;
            let (start, stop, step) = match bounds[..] {
                [stop] => (0, stop, 1),
                [start, stop] => (start, stop, 1),
                _ => (bounds[0], bounds[1], bounds[2]),
            };
            let Some(count) = range_count(start, stop, step) else { return raise("ValueError") };
            let made = Cells::filled(
                Some(function.dtype.unwrap_or(ScalarType::Int64)),
                &[count],
                Datum::Int(0),
                false,
            )?;
            (0..count).try_for_each(|at| {
                made.set(at as usize, Datum::Int(start.wrapping_add(at.wrapping_mul(step))))
            })?;
            Ok(Item::Array(made))
        }
        LibraryKind::ArrayOf => match &args[0] {
            Item::Array(known) => {
                let mut copy = known.copied(wanted.or(known.element))?;
                copy.is_list = false;
                Ok(Item::Array(copy))
            }
            _ => {
                let items: Vec<Datum> = args.iter().map(number).collect::<Step<_>>()?;
                list(Some(function.dtype.or(wanted).unwrap_or(element_of(&items))), &items, false)
            }
        },
        LibraryKind::Copy => {
            let known = cells(&args[0])?;
            known.copied(known.element).map(Item::Array)
        }
        LibraryKind::NewList => {
            let items: Vec<Datum> = args.iter().map(number).collect::<Step<_>>()?;
            list(wanted, &items, true)
        }
        LibraryKind::Append => {
            let (list, value) = (cells(&args[0])?, number(&args[1])?);
            let one = Cells::filled(list.element, &[1], value, false)?;
            list.data.borrow_mut().push(one.elements()?[0]);
            Ok(Item::None)
        }
        LibraryKind::Pop => {
            let list = cells(&args[0])?;
            let last = list.data.borrow_mut().pop();
            last.map(Item::Number).ok_or(Stop::Raised("IndexError".into()))
        }
        LibraryKind::Repeat => {
            Cells::filled(wanted, &[integer(&args[1])?.max(0)], number(&args[0])?, true).map(Item::Array)
        }
        _ => {
            let (start, stop) = (as_float(number(&args[0])?), as_float(number(&args[1])?));
            let count = args.get(2).map_or(Ok(50), integer)?;
            let made = Cells::filled(Some(ScalarType::Float64), &[count], Datum::Float(0.0), false)?;
            let step = (stop - start) / count.wrapping_sub(1).max(1) as f64;
            for at in 0..count {
                let is_end = at + 1 == count && count > 1;
                let value = if is_end { stop } else { at as f64 * step + start };
                made.part(&[Place::At(at)])?.fill(Datum::Float(value))?;
            }
            Ok(Item::Array(made))
        }
    }
}
