//! Values and expressions of the stage `norm`.

use super::cells::Place;
use super::norm::{Closure, Names, Norm, arithmetic};
use super::python::{Item, attribute, compare, integer, number, range_count, unary};
use super::{Step, Stop, library, raise};
use crate::function::reference;
use cembra::function::constant::Constant;
use cembra::function::library::{self as functions, LibraryFunction, LibraryKind};
use cembra::python::{CompareOp, UnaryOp};
use cembra::schema::{Datum, TermValue};
use std::collections::HashMap;
use std::rc::Rc;

/// What a name or an expression stands for.
#[derive(Clone)]
pub(super) enum Thing {
    Item(Item),
    Function(Rc<Closure>),
    Library(Library),
    Iterable(Rc<Iterable>),
    /// An error that is handled, by its class.
    Exception(Rc<str>),
}

impl Thing {
    pub(super) fn item(self) -> Step<Item> {
        match self {
            Thing::Item(item) => Ok(item),
            _ => Err(Stop::Unknown("no value")),
        }
    }
}

/// Something of the library, by its dotted name.
#[derive(Clone)]
pub(super) struct Library(String);

impl Library {
    pub(super) fn find(name: &str) -> Option<Thing> {
        const FORMS: [&str; 7] = ["range", "prange", "enumerate", "zip", "reversed", "list", "bool"];
        let is_known = FORMS.contains(&name) || LibraryFunction::find(name).is_some();
        let is_known = is_known || functions::element_named(name).is_some();
        is_known.then(|| Thing::Library(Library(name.to_owned())))
    }

    fn attribute(&self, name: &str) -> Step<Thing> {
        let name = format!("{}.{name}", self.0);
        Ok(match functions::constant(&name) {
            Some(Constant::Float(value)) => Thing::Item(Item::Number(reference::Datum::Float(value))),
            _ => Thing::Library(Library(name)),
        })
    }

    pub(super) fn call(&self, args: Vec<Thing>, keywords: &[(&str, Thing)]) -> Step<Thing> {
        if let Some(iterable) = Iterable::made(&self.0, &args, keywords)? {
            return Ok(Thing::Iterable(Rc::new(iterable)));
        }
        if let ("len", [Thing::Iterable(of)]) = (&*self.0, &args[..]) {
            return Ok(Thing::Item(Item::Number(reference::Datum::Int(of.length()?))));
        }
        if self.0 == "list" {
            let [of] = &args[..] else { return Err(Stop::Unknown("list")) };
            let of = Iterable::of(of.clone())?;
            let elements: Step<Vec<Item>> = (0..of.length()?).map(|at| of.element(at)).collect();
            return library::call(made("_list"), &elements?, None).map(Thing::Item);
        }
        let mut function = LibraryFunction::find(&self.0).ok_or(Stop::Unknown("library"))?;
        let (mut items, mut positional) = (Vec::new(), args);
        let most = if function.kind() == LibraryKind::Full { 2 } else { 1 };
        let makes =
            matches!(function.kind(), LibraryKind::Filled(_) | LibraryKind::Full | LibraryKind::ArrayOf);
        if makes && positional.len() > most {
            function.dtype = positional.pop().and_then(element);
        }
        for (name, value) in keywords {
            match *name {
                "dtype" => function.dtype = element(value.clone()),
                "shape" => positional.insert(0, value.clone()),
                "ndigits" => positional.push(value.clone()),
                _ => return Err(Stop::Unknown("keyword")),
            }
        }
        for thing in positional {
            items.push(thing.item()?);
        }
        match (function.kind(), &items[..]) {
            (LibraryKind::ArrayOf, [Item::Tuple(fields)]) => items = fields.to_vec(),
            (LibraryKind::ArrayOf, [Item::Array(cells)]) => {
                if cells.sizes().len() > 1 {
                    return Err(Stop::Unknown("a copy of several axes"));
                }
                items = cells.elements()?.into_iter().map(Item::Number).collect();
            }
            (LibraryKind::Full, [Item::Tuple(sizes), value]) => {
                items = std::iter::once(value).chain(sizes.iter()).cloned().collect();
            }
            (LibraryKind::Full, [size, value]) => items = vec![value.clone(), size.clone()],
            _ => {}
        }
        library::call(function, &items, None).map(Thing::Item)
    }
}

fn made(name: &str) -> LibraryFunction {
    LibraryFunction::find(name).expect("the library has it")
}

/// The type of elements that a name or a text stands for.
fn element(thing: Thing) -> Option<cembra::vm::value::ScalarType> {
    match thing {
        Thing::Library(Library(name)) => functions::element_named(&name),
        Thing::Item(Item::Text(name)) => functions::element_named(&format!("numpy.{name}")),
        _ => None,
    }
}

/// What a loop goes over, by the number of the element.
pub(super) enum Iterable {
    Numbers { start: i64, step: i64, count: i64 },
    Elements(Item),
    Reversed(Item, i64),
    Together(Vec<Iterable>),
    Numbered(i64, Box<Iterable>),
}

impl Iterable {
    pub(super) fn of(thing: Thing) -> Step<Iterable> {
        match thing {
            Thing::Item(item @ (Item::Array(_) | Item::Tuple(_))) => Ok(Iterable::Elements(item)),
            Thing::Iterable(of) => of.again(),
            _ => Err(Stop::Unknown("iterable")),
        }
    }

    fn again(&self) -> Step<Iterable> {
        Ok(match self {
            Iterable::Numbers { start, step, count } => {
                Iterable::Numbers { start: *start, step: *step, count: *count }
            }
            Iterable::Elements(item) => Iterable::Elements(item.clone()),
            Iterable::Reversed(item, length) => Iterable::Reversed(item.clone(), *length),
            Iterable::Together(all) => {
                Iterable::Together(all.iter().map(Iterable::again).collect::<Step<_>>()?)
            }
            Iterable::Numbered(first, of) => Iterable::Numbered(*first, Box::new(of.again()?)),
        })
    }

    /// What `range`, `enumerate` and the like make.
    fn made(name: &str, args: &[Thing], keywords: &[(&str, Thing)]) -> Step<Option<Iterable>> {
        let int = |thing: &Thing| integer(&thing.clone().item()?);
        Ok(Some(match (name, args) {
            ("range" | "prange" | "numba.prange", [_, ..]) => {
                let bounds: Vec<i64> = args.iter().map(int).collect::<Step<_>>()?;
                let (start, stop, step) = match bounds[..] {
                    [stop] => (0, stop, 1),
                    [start, stop] => (start, stop, 1),
                    _ => (bounds[0], bounds[1], bounds[2]),
                };
                let Some(count) = range_count(start, stop, step) else { return raise("ValueError") };
                Iterable::Numbers { start, step, count }
            }
            ("enumerate", [of, rest @ ..]) => {
                let first = rest.first().or(keywords.first().map(|(_, value)| value));
                let first = first.map_or(Ok(0), int)?;
                Iterable::Numbered(first, Box::new(Iterable::of(of.clone())?))
            }
            ("zip", _) => Iterable::Together(args.iter().cloned().map(Iterable::of).collect::<Step<_>>()?),
            ("reversed", [of]) => match Iterable::of(of.clone())? {
                Iterable::Numbers { start, step, count } => Iterable::Numbers {
                    start: start.wrapping_add((count - 1).wrapping_mul(step)),
                    step: step.wrapping_neg(),
                    count,
                },
                Iterable::Elements(item) => {
                    let length = Iterable::Elements(item.clone()).length()?;
                    Iterable::Reversed(item, length)
                }
                _ => return Err(Stop::Unknown("reversed")),
            },
            _ => return Ok(None),
        }))
    }

    pub(super) fn length(&self) -> Step<i64> {
        Ok(match self {
            Iterable::Numbers { count, .. } => *count,
            Iterable::Elements(Item::Array(cells)) => cells.sizes()[0],
            Iterable::Elements(Item::Tuple(fields)) => fields.len() as i64,
            Iterable::Elements(_) => return Err(Stop::Unknown("length")),
            Iterable::Reversed(_, length) => *length,
            Iterable::Together(all) => {
                let lengths: Vec<i64> = all.iter().map(Iterable::length).collect::<Step<_>>()?;
                lengths.into_iter().min().unwrap_or(0)
            }
            Iterable::Numbered(_, of) => of.length()?,
        })
    }

    pub(super) fn element(&self, at: i64) -> Step<Item> {
        let int = |value| Item::Number(reference::Datum::Int(value));
        Ok(match self {
            Iterable::Numbers { start, step, .. } => int(start.wrapping_add(at.wrapping_mul(*step))),
            Iterable::Elements(item) => item_at(item, &[Place::At(at)])?,
            Iterable::Reversed(item, length) => item_at(item, &[Place::At(length - 1 - at)])?,
            Iterable::Together(all) => {
                Item::Tuple(all.iter().map(|of| of.element(at)).collect::<Step<Vec<_>>>()?.into())
            }
            Iterable::Numbered(first, of) => {
                Item::Tuple(vec![int(first.wrapping_add(at)), of.element(at)?].into())
            }
        })
    }
}

/// A field, an element, or a part of an array.
fn item_at(of: &Item, places: &[Place]) -> Step<Item> {
    match (of, places) {
        (Item::Tuple(fields), [Place::At(index)]) => {
            let at = if *index < 0 { index.saturating_add(fields.len() as i64) } else { *index };
            let field = usize::try_from(at).ok().and_then(|at| fields.get(at)).cloned();
            field.ok_or(Stop::Raised("IndexError".into()))
        }
        (Item::Array(cells), places) => {
            let part = cells.part(places)?;
            match part.sizes().is_empty() {
                true => Ok(Item::Number(part.elements()?[0])),
                false => Ok(Item::Array(part)),
            }
        }
        _ => Err(Stop::Unknown("item")),
    }
}

/// Names that the imports of a text bring.
pub(super) fn imports(source: &str) -> HashMap<String, Thing> {
    let mut names = HashMap::new();
    let mut bring = |text: &str, module: &str| {
        for part in text.split(',') {
            let words: Vec<&str> = part.split_whitespace().collect();
            let Some(first) = words.first() else { continue };
            let name = if module.is_empty() { (*first).to_owned() } else { format!("{module}.{first}") };
            let thing = match functions::constant(&name) {
                Some(Constant::Float(value)) => Thing::Item(Item::Number(reference::Datum::Float(value))),
                _ => Thing::Library(Library(name)),
            };
            names.insert((*words.last().unwrap_or(first)).to_owned(), thing);
        }
    };
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("import ") {
            bring(text, "");
        } else if let Some((module, text)) = line.strip_prefix("from ").and_then(|l| l.split_once(" import "))
        {
            bring(text, module.trim());
        }
    }
    names
}

impl<'d> Norm<'d> {
    pub(super) fn expr(&mut self, expr: TermValue, names: &Rc<Names>) -> Step<Thing> {
        let (kind, values) = self.parts(expr);
        let bool = |value: bool| Ok(Thing::Item(Item::Number(reference::Datum::Bool(value))));
        let of = |step: Step<Item>| step.map(Thing::Item);
        match kind {
            "Name" => names.get(self.text(values[0])),
            "Const" => Ok(Thing::Item(constant(self.datum(values[0]))?)),
            "Item" => {
                let base = self.expr(values[0], names)?.item()?;
                let places = self.places(values[1], names)?;
                of(item_at(&base, &places))
            }
            "Attribute" => match self.expr(values[0], names)? {
                Thing::Library(library) => library.attribute(self.text(values[1])),
                base => of(attribute(self.text(values[1]), &base.item()?)),
            },
            "Unary" => {
                let (op, _) = self.parts(values[0]);
                if op == "Not" {
                    let value = self.truth(values[1], names)?;
                    return bool(!value);
                }
                let op = match op {
                    "USub" => UnaryOp::Neg,
                    "Invert" => UnaryOp::Invert,
                    _ => UnaryOp::Pos,
                };
                let value = self.expr(values[1], names)?.item()?;
                of(unary(op, number(&value)?).map(Item::Number))
            }
            "Binary" => {
                let (x, y) = (self.expr(values[1], names)?.item()?, self.expr(values[2], names)?.item()?);
                of(self.binary(self.parts(values[0]).0, (x, y), values[2]))
            }
            "Compare" => {
                let (x, y) = (self.expr(values[1], names)?.item()?, self.expr(values[2], names)?.item()?);
                let op = self.parts(values[0]).0;
                if let "In" | "NotIn" = op {
                    let found = library::call(made("_contains"), &[y, x], None)?;
                    return bool(super::python::is_true(&found) == (op == "In"));
                }
                bool(compare(comparison(op), &x, &y)?)
            }
            "And" | "Or" => {
                let (operands, ends_at) = (self.list(&values[0]), kind == "Or");
                let (last, before) = operands.split_last().expect("an operator has operands");
                for operand in before {
                    let value = self.expr(*operand, names)?.item()?;
                    if super::python::is_true(&value) == ends_at {
                        return Ok(Thing::Item(value));
                    }
                }
                self.expr(*last, names)
            }
            "Choose" => {
                let test = self.truth(values[0], names)?;
                self.expr(values[if test { 1 } else { 2 }], names)
            }
            "Let" => {
                let value = self.expr(values[1], names)?;
                names.bind(self.text(values[0]), value);
                self.expr(values[2], names)
            }
            "Seq" => {
                self.run(values[0], names)?;
                self.expr(values[1], names)
            }
            "Call" => self.call_of(values, names),
            "Tuple" => {
                let mut fields = Vec::new();
                for field in self.list(&values[0]) {
                    fields.push(self.expr(*field, names)?.item()?);
                }
                Ok(Thing::Item(Item::Tuple(fields.into())))
            }
            "List" => {
                let mut elements = Vec::new();
                for element in self.list(&values[0]) {
                    elements.push(self.expr(*element, names)?.item()?);
                }
                of(library::call(made("_list"), &elements, None))
            }
            "Unpack" => {
                let value = self.expr(values[0], names)?.item()?;
                match &value {
                    Item::Tuple(_) => Ok(Thing::Item(value)),
                    _ => Err(Stop::Unknown("unpack")),
                }
            }
            "Field" => {
                let whole = self.expr(values[0], names)?.item()?;
                let Datum::Int(at) = self.datum(values[1]) else { panic!("a number of a field") };
                of(item_at(&whole, &[Place::At(*at)]))
            }
            "Lambda" => self.closure(values, names),
            _ => Err(Stop::Unknown("dictionaries and generators")),
        }
    }

    fn binary(&mut self, op: &str, (x, y): (Item, Item), right: TermValue) -> Step<Item> {
        match (op, &x, &y) {
            ("Add", Item::Tuple(a), Item::Tuple(b)) => {
                Ok(Item::Tuple(a.iter().chain(b.iter()).cloned().collect()))
            }
            ("Mult", Item::Array(list), times) if list.is_list && list.sizes()[0] == 1 => {
                library::call(made("_repeat"), &[Item::Number(list.elements()?[0]), times.clone()], None)
            }
            ("Pow", _, _) => {
                // An integer to a power that is written as a negative literal is a float.
                let (kind, values) = self.parts(right);
                let is_negative = kind == "Unary" && self.parts(values[0]).0 == "USub";
                let is_literal = is_negative && self.parts(values[1]).0 == "Const";
                library::power(number(&x)?, number(&y)?, is_literal).map(Item::Number)
            }
            _ => arithmetic(sign_named(op), &x, &y),
        }
    }

    /// Places along the axes of an array.
    pub(super) fn places(&mut self, index: TermValue, names: &Rc<Names>) -> Step<Vec<Place>> {
        let (kind, values) = self.parts(index);
        match kind {
            "Tuple" => {
                let mut places = Vec::new();
                for part in self.list(&values[0]) {
                    places.extend(self.places(*part, names)?);
                }
                Ok(places)
            }
            "Slice" => {
                let mut bounds = [None; 3];
                for (bound, value) in bounds.iter_mut().zip(values) {
                    if *value != TermValue::Absent {
                        *bound = Some(integer(&self.expr(*value, names)?.item()?)?);
                    }
                }
                Ok(vec![Place::Slice(bounds[0], bounds[1], bounds[2].unwrap_or(1))])
            }
            _ => match self.expr(index, names)?.item()? {
                Item::Tuple(parts) => {
                    parts.iter().map(|part| integer(part).map(Place::At)).collect::<Step<_>>()
                }
                item => Ok(vec![Place::At(integer(&item)?)]),
            },
        }
    }

    fn call_of(&mut self, values: &'d [TermValue], names: &Rc<Names>) -> Step<Thing> {
        let (kind, callee) = self.parts(values[0]);
        if kind == "Attribute" {
            let base = self.expr(callee[0], names)?;
            if let Thing::Item(base) = base {
                return self.method(&base, self.text(callee[1]), self.list(&values[1]), names);
            }
        }
        let function = self.expr(values[0], names)?;
        let mut given = Vec::new();
        for arg in self.list(&values[1]) {
            let (kind, of) = self.parts(*arg);
            match kind {
                "Starred" => match self.expr(of[0], names)?.item()? {
                    Item::Tuple(fields) => given.extend(fields.iter().cloned().map(Thing::Item)),
                    _ => return Err(Stop::Unknown("starred")),
                },
                _ => given.push(self.expr(*arg, names)?),
            }
        }
        let mut named = Vec::new();
        for keyword in self.list(&values[2]) {
            let (_, of) = self.parts(*keyword);
            named.push((self.text(of[0]), self.expr(of[1], names)?));
        }
        self.call(&function, given, named)
    }

    fn method(&mut self, base: &Item, name: &str, args: &'d [TermValue], names: &Rc<Names>) -> Step<Thing> {
        let function = match name {
            "append" => "_append",
            "pop" => "_pop",
            "copy" => "numpy.copy",
            "sum" | "min" | "max" => name,
            _ => return Err(Stop::Unknown("method")),
        };
        let mut items = vec![base.clone()];
        for arg in args {
            items.push(self.expr(*arg, names)?.item()?);
        }
        library::call(made(function), &items, None).map(Thing::Item)
    }
}

fn constant(datum: &Datum) -> Step<Item> {
    Ok(match datum {
        Datum::None => Item::None,
        Datum::Bool(value) => Item::Number(reference::Datum::Bool(*value)),
        Datum::Int(value) => Item::Number(reference::Datum::Int(*value)),
        Datum::Float(value) => Item::Number(reference::Datum::Float(*value)),
        Datum::Text(text) => Item::Text((&**text).into()),
        _ => return Err(Stop::Unknown("constant")),
    })
}

fn comparison(name: &str) -> CompareOp {
    match name {
        "Eq" => CompareOp::Equal,
        "NotEq" => CompareOp::NotEqual,
        "Lt" => CompareOp::Less,
        "LtE" => CompareOp::LessEqual,
        "Gt" => CompareOp::Greater,
        "GtE" => CompareOp::GreaterEqual,
        "Is" => CompareOp::Is,
        _ => CompareOp::IsNot,
    }
}

fn sign_named(name: &str) -> &'static str {
    match name {
        "Add" => "+",
        "Sub" => "-",
        "Mult" => "*",
        "Div" => "/",
        "FloorDiv" => "//",
        "Mod" => "%",
        "LShift" => "<<",
        "RShift" => ">>",
        "BitAnd" => "&",
        "BitOr" => "|",
        _ => "^",
    }
}
