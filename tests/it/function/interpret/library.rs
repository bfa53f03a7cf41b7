//! Functions of the library. Floats of `math` come from the machine, whose own tests say that they are right.

use super::cells::{Cells, Place};
use super::dictionaries::Dict;
use super::python::{Item, as_float, element_of, equal, integer, is_true, number, plus, range_count};
use super::{Step, Stop, lists, raise};
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
        Item::Dict(dict) => Ok(dict.keys()),
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
            Item::Dict(dict) => int(dict.len()),
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
            let is_nan = |number: &Datum| matches!(number, Datum::Float(value) if value.is_nan());
            match all.iter().any(is_nan) && function.plain {
                true => Ok(Item::Number(Datum::Float(f64::NAN))),
                false => named(name, &all).map(Item::Number),
            }
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
            if let (Item::Text(whole), Item::Text(part)) = (&args[0], &args[1]) {
                return Ok(Item::Number(Datum::Bool(whole.contains(&**part))));
            }
            if let Item::Dict(dict) = &args[0] {
                return Ok(Item::Number(Datum::Bool(dict.get(number(&args[1])?)?.is_some())));
            }
            if let Item::Tuple(fields) = &args[0] {
                let found = fields.iter().any(|field| equal(field, &args[1]));
                return Ok(Item::Number(Datum::Bool(found)));
            }
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
        | LibraryKind::IterationLength => of_dictionary(function.kind(), args),
        LibraryKind::Chr => {
            let code = u32::try_from(integer(&args[0])?).ok();
            let letter = code.and_then(char::from_u32).ok_or(Stop::Unknown("half of a surrogate pair"))?;
            Ok(Item::Text(letter.to_string().into()))
        }
        LibraryKind::Ord => match &args[0] {
            Item::Text(text) => int(text.chars().next().map_or(0, |letter| i64::from(u32::from(letter)))),
            _ => Err(Stop::Unknown("ord")),
        },
        LibraryKind::List(method) => lists::method(method, args),
        LibraryKind::Dot
        | LibraryKind::Mean
        | LibraryKind::Product
        | LibraryKind::CumulativeSum
        | LibraryKind::ArgMin
        | LibraryKind::ArgMax => lists::reduction(function.kind(), args),
        LibraryKind::Where => {
            let chosen = number(&args[if is_true(&args[0]) { 1 } else { 2 }])?;
            let is_float =
                matches!((number(&args[1])?, number(&args[2])?), (Datum::Float(_), _) | (_, Datum::Float(_)));
            Ok(Item::Number(if is_float { Datum::Float(as_float(chosen)) } else { chosen }))
        }
        LibraryKind::Filled(_)
        | LibraryKind::FilledAs(_)
        | LibraryKind::Full
        | LibraryKind::FullLike
        | LibraryKind::Eye
        | LibraryKind::FilledLike(_)
        | LibraryKind::Arange
        | LibraryKind::ArrayOf
        | LibraryKind::ArrayFrom
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

/// Calls that are about dictionaries, or may be.
fn of_dictionary(kind: LibraryKind, args: &[Item]) -> Step<Item> {
    let Some(Item::Dict(dict)) = args.first() else {
        return match (kind, args) {
            (LibraryKind::NewDict | LibraryKind::NewSet, _) => Ok(Item::Dict(Dict::new())),
            (LibraryKind::Element, [of, at]) => super::norm_library::item_at(of, &[Place::At(integer(at)?)]),
            (LibraryKind::IterationLength, [of, _]) => {
                call(LibraryFunction::find("len").expect("a row"), std::slice::from_ref(of), None)
            }
            _ => Err(Stop::Unknown("a dictionary")),
        };
    };
    match kind {
        LibraryKind::AddKey => dict.add(number(&args[1])?).map(|()| Item::None),
        LibraryKind::DictGet => Ok(match dict.get(number(&args[1])?)? {
            Some(value) => Item::Number(value),
            None => args.get(2).cloned().unwrap_or(Item::None),
        }),
        LibraryKind::Element => dict.key_at(integer(&args[1])?).map(Item::Number),
        LibraryKind::ValueAt => dict.value_at(integer(&args[1])?).map(Item::Number),
        _ if integer(&args[1])? != dict.len() => raise("RuntimeError"),
        _ => Ok(Item::Number(Datum::Int(dict.len()))),
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
        LibraryKind::Sign => Ok(match plus(args[0]) {
            Datum::Float(x) if x.is_nan() => Datum::Float(x),
            Datum::Float(x) => Datum::Float(if x == 0.0 { 0.0 } else { x.signum() }),
            Datum::Int(x) => Datum::Int(x.signum()),
            other => other,
        }),
        LibraryKind::Square => apply("*", plus(args[0]), plus(args[0])),
        LibraryKind::Power => match args.iter().any(|number| matches!(number, Datum::Float(_))) {
            true => on_numbers("math.pow", &floats()),
            false => power(args[0], args[1], false),
        },
        LibraryKind::Narrow(ScalarType::Float32) => Ok(Datum::Float(f64::from(float as f32))),
        LibraryKind::Narrow(element) => {
            let whole = named("int", args)?;
            let one = Cells::filled(Some(element), &[1], whole, false)?.elements()?[0];
            if one == whole { Ok(whole) } else { raise("OverflowError") }
        }
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
        LibraryKind::FilledAs(one) => {
            let element = cells(&args[0])?.element.ok_or(Stop::Unknown("element"))?;
            Cells::filled(Some(element), &sizes(&args[1..])?, value(one, element), false).map(Item::Array)
        }
        LibraryKind::Full => {
            let filled = number(&args[0])?;
            let element = function.dtype.or(wanted).unwrap_or(element_of(&[filled]));
            Cells::filled(Some(element), &sizes(&args[1..])?, filled, false).map(Item::Array)
        }
        LibraryKind::FullLike => {
            let like = cells(&args[0])?;
            let element = function.dtype.or(wanted).or(like.element).ok_or(Stop::Unknown("element"))?;
            Cells::filled(Some(element), &like.sizes(), number(&args[1])?, false).map(Item::Array)
        }
        LibraryKind::Eye => {
            let element = function.dtype.unwrap_or(ScalarType::Float64);
            let mut sizes = sizes(args)?;
            if sizes.len() == 1 {
                sizes.push(sizes[0]);
            }
            let made = Cells::filled(Some(element), &sizes, value(0, element), false)?;
            for at in 0..sizes[0].min(sizes[1]) {
                made.part(&[Place::At(at), Place::At(at)])?.fill(value(1, element))?;
            }
            Ok(Item::Array(made))
        }
        LibraryKind::Arange if args.iter().any(|arg| matches!(arg, Item::Number(Datum::Float(_)))) => {
            let bounds: Vec<f64> = args.iter().map(|arg| number(arg).map(as_float)).collect::<Step<_>>()?;
            let (start, stop, step) = match bounds[..] {
                [stop] => (0.0, stop, 1.0),
                [start, stop] => (start, stop, 1.0),
                _ => (bounds[0], bounds[1], bounds[2]),
            };
            if step == 0.0 {
                return raise("ZeroDivisionError");
            }
            let Datum::Int(count) = on_numbers("python.ceil", &[Datum::Float((stop - start) / step)])? else {
                return Err(Stop::Unknown("count"));
            };
            let element = function.dtype.unwrap_or(ScalarType::Float64);
            let made = Cells::filled(Some(element), &[count.max(0)], Datum::Float(0.0), false)?;
            let second = start + step;
            for at in 0..count {
                let value = match at {
                    0 => start,
                    1 => second,
                    at => start + at as f64 * (second - start),
                };
                made.set(at as usize, Datum::Float(value))?;
            }
            Ok(Item::Array(made))
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
            let Some(count) = range_count(start, stop, step) else { return raise("ZeroDivisionError") };
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
        LibraryKind::ArrayOf | LibraryKind::ArrayFrom => match &args[0] {
            Item::Array(known) => {
                let mut copy = known.copied(function.dtype.or(wanted).or(known.element))?;
                copy.is_list = false;
                Ok(Item::Array(copy))
            }
            first => {
                let is_whole = function.kind() == LibraryKind::ArrayFrom;
                let rows = if let (true, Item::Tuple(fields)) = (is_whole, first) { fields } else { args };
                let (mut sizes, mut items) = (vec![rows.len() as i64], rows.to_vec());
                while let Some(Item::Tuple(fields)) = items.first().cloned() {
                    sizes.push(fields.len() as i64);
                    let inner = items.iter().flat_map(|row| match row {
                        Item::Tuple(fields) => fields.to_vec(),
                        _ => Vec::new(),
                    });
                    items = inner.collect();
                }
                let items: Vec<Datum> = items.iter().map(number).collect::<Step<_>>()?;
                let element = function.dtype.or(wanted).unwrap_or(element_of(&items));
                let made = Cells::filled(Some(element), &sizes, Datum::Int(0), false)?;
                let converted: Step<Vec<Datum>> = items
                    .iter()
                    .map(|item| Ok(Cells::filled(Some(element), &[1], *item, false)?.elements()?[0]))
                    .collect();
                *made.data.borrow_mut() = converted?;
                Ok(Item::Array(made))
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
