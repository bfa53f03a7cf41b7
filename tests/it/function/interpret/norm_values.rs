//! Values and expressions of the stage `norm`.

use super::cells::{Cells, Place};
use super::dictionaries::Dict;
use super::generators::Generator;
use super::norm::{Closure, Names, Norm, arithmetic};
use super::norm_library::{Iterable, Library, View, element, item_at, made};
use super::python::{Item, attribute, compare, integer, number, store_value, unary, unpacked, value_of};
use super::{Step, Stop, library};
use crate::function::reference;
use cembra::python::{CompareOp, UnaryOp};
use cembra::schema::{Datum, TermValue};
use std::rc::Rc;

/// What a name or an expression stands for.
#[derive(Clone)]
pub(super) enum Thing {
    Item(Item),
    Function(Rc<Closure>),
    Library(Library),
    Iterable(Rc<Iterable>),
    Generator(Rc<Generator>),
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
                if let Item::Dict(dict) = &base {
                    return of(value_of(dict, &self.expr(values[1], names)?.item()?));
                }
                let places = self.places(values[1], names)?;
                of(item_at(&base, &places))
            }
            "Attribute" => match self.expr(values[0], names)? {
                Thing::Library(library) => library.attribute(self.text(values[1])),
                base => match (base.item()?, self.text(values[1])) {
                    (Item::Array(Cells { element: Some(element), .. }), "dtype") => {
                        Ok(Thing::Item(Item::Text(element.name().to_ascii_lowercase().into())))
                    }
                    (base, name) => of(attribute(name, &base)),
                },
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
            "Binary" | "InPlace" => {
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
                let is_number = |element: &Item| matches!(element, Item::Number(_));
                if !elements.iter().all(is_number) {
                    // Rows of an array.
                    let rows: Step<Vec<Item>> = elements.into_iter().map(row).collect();
                    return of(rows.map(|rows| Item::Tuple(rows.into())));
                }
                of(library::call(made("_list"), &elements, None))
            }
            "Set" => {
                let set = Dict::new();
                for element in self.list(&values[0]) {
                    set.add(number(&self.expr(*element, names)?.item()?)?)?;
                }
                Ok(Thing::Item(Item::Dict(set)))
            }
            "Dict" => {
                let dict = Item::Dict(Dict::new());
                for (key, value) in self.list(&values[0]).iter().zip(self.list(&values[1])) {
                    let (key, value) = (self.expr(*key, names)?.item()?, self.expr(*value, names)?.item()?);
                    store_value(&dict, &key, &value)?;
                }
                Ok(Thing::Item(dict))
            }
            "Unpack" => {
                let value = self.expr(values[0], names)?.item()?;
                let Datum::Int(count) = self.datum(values[1]) else { panic!("a number of names") };
                match &value {
                    Item::Tuple(_) => Ok(Thing::Item(value)),
                    Item::Array(_) => {
                        let array = unpacked(&value, *count)?;
                        let elements: Step<Vec<Item>> =
                            (0..*count).map(|at| item_at(&array, &[Place::At(at)])).collect();
                        of(elements.map(|elements| Item::Tuple(elements.into())))
                    }
                    _ => Err(Stop::Unknown("unpack")),
                }
            }
            "Field" => {
                let whole = self.expr(values[0], names)?.item()?;
                let Datum::Int(at) = self.datum(values[1]) else { panic!("a number of a field") };
                of(item_at(&whole, &[Place::At(*at)]))
            }
            // A part of an array that an operator changes.
            "Slice" => Err(Stop::Unknown("array expression")),
            "Lambda" => self.closure(values, names),
            other => panic!("{other} is no expression that compiles"),
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
        if let Item::Dict(dict) = base {
            let view = match name {
                "keys" => Some(View::Keys),
                "values" => Some(View::Values),
                "items" => Some(View::Items),
                _ => None,
            };
            if let Some(view) = view {
                return Ok(Thing::Iterable(Rc::new(Iterable::rows(dict.clone(), view))));
            }
        }
        let function = match name {
            "extend" => {
                let [values] = args else { return Err(Stop::Unknown("extend")) };
                let values = match self.expr(*values, names)? {
                    Thing::Generator(generator) => self.use_up("list", &generator, &[], &[])?,
                    values => values,
                };
                let elements = Iterable::of(values)?.elements()?;
                for element in elements {
                    library::call(made("_append"), &[base.clone(), element], None)?;
                }
                return Ok(Thing::Item(Item::None));
            }
            "astype" => {
                let [dtype] = args else { return Err(Stop::Unknown("astype")) };
                let (Item::Array(cells), dtype) = (base, element(self.expr(*dtype, names)?)) else {
                    return Err(Stop::Unknown("astype"));
                };
                return cells.copied(dtype).map(|copy| Thing::Item(Item::Array(copy)));
            }
            "insert" => "_insert",
            "index" => "_index",
            "count" => "_count",
            "remove" => "_remove",
            "reverse" => "_reverse",
            "clear" => "_clear",
            "sort" => "_sort",
            "fill" => "_fill",
            "pop" if !args.is_empty() => "_pop_at",
            "mean" => "numpy.mean",
            "prod" => "numpy.prod",
            "cumsum" => "numpy.cumsum",
            "argmin" => "numpy.argmin",
            "argmax" => "numpy.argmax",
            "any" | "all" => name,
            "dot" => "numpy.dot",
            "add" => "_add",
            "get" => "_dict_get",
            "append" => "_append",
            "pop" => "_pop",
            "copy" => "numpy.copy",
            "sum" => name,
            "min" => "numpy.min",
            "max" => "numpy.max",
            _ => return Err(Stop::Unknown("method")),
        };
        let mut items = vec![base.clone()];
        for arg in args {
            items.push(self.expr(*arg, names)?.item()?);
        }
        library::call(made(function), &items, None).map(Thing::Item)
    }
}

/// A list that stands in another one: a row of an array.
fn row(element: Item) -> Step<Item> {
    match element {
        Item::Array(cells) => Ok(Item::Tuple(cells.elements()?.into_iter().map(Item::Number).collect())),
        other => Ok(other),
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
