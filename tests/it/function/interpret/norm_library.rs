//! What the stage `norm` calls and goes over: the library, ranges, and names that imports bring.

use super::cells::Place;
use super::dictionaries::Dict;
use super::norm::arithmetic;
use super::norm_values::Thing;
use super::python::{Item, element_of, integer, number, range_count, value_of};
use super::{Step, Stop, library, raise};
use crate::function::reference;
use cembra::function::constant::Constant;
use cembra::function::library::{self as functions, LibraryFunction, LibraryKind};
use std::collections::HashMap;
use std::rc::Rc;

/// Elements that are gone over at once at most.
const MAX_ELEMENTS: i64 = 1 << 20;

/// Something of the library, by its dotted name.
#[derive(Clone)]
pub(super) struct Library(pub(super) String);

impl Library {
    pub(super) fn find(name: &str) -> Option<Thing> {
        const FORMS: [&str; 10] =
            ["range", "prange", "enumerate", "zip", "reversed", "list", "bool", "set", "dict", "sorted"];
        let is_known = FORMS.contains(&name) || LibraryFunction::find(name).is_some();
        let is_known = is_known || functions::element_named(name).is_some();
        is_known.then(|| Thing::Library(Library(name.to_owned())))
    }

    pub(super) fn attribute(&self, name: &str) -> Step<Thing> {
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
        match (&*self.0, &args[..]) {
            ("list" | "set" | "sorted", [of]) => {
                let elements = Iterable::of(of.clone())?.elements()?;
                return collected(&self.0, &elements).map(Thing::Item);
            }
            ("numpy.sort", [Thing::Item(array)]) => {
                let sorted = library::call(made("numpy.copy"), std::slice::from_ref(array), None)?;
                library::call(made("_sort"), std::slice::from_ref(&sorted), None)?;
                return Ok(Thing::Item(sorted));
            }
            ("list" | "set", []) => return collected(&self.0, &[]).map(Thing::Item),
            ("dict", []) => return Ok(Thing::Item(Item::Dict(Dict::new()))),
            ("sum", [of, ..]) if args.len() + keywords.len() == 2 => {
                let start = args.get(1).unwrap_or_else(|| &keywords[0].1).clone().item()?;
                let elements = Iterable::of(of.clone())?.elements()?;
                let sum = elements.iter().try_fold(start, |sum, element| arithmetic("+", &sum, element))?;
                return Ok(Thing::Item(sum));
            }
            ("sum" | "min" | "max" | "any" | "all", [Thing::Iterable(of)]) => {
                return collected(&self.0, &of.elements()?).map(Thing::Item);
            }
            _ => {}
        }
        let mut function = LibraryFunction::find(&self.0).ok_or(Stop::Unknown("library"))?;
        let (mut items, mut positional) = (Vec::new(), args);
        let two = matches!(function.kind(), LibraryKind::Full | LibraryKind::FullLike);
        let most = if two { 2 } else { 1 };
        let makes = two
            || matches!(
                function.kind(),
                LibraryKind::Filled(_) | LibraryKind::FilledLike(_) | LibraryKind::ArrayOf
            );
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
                let element = function.dtype.or(cells.element).unwrap_or(element_of(&cells.elements()?));
                let mut copy = cells.copied(Some(element))?;
                copy.is_list = false;
                return Ok(Thing::Item(Item::Array(copy)));
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

/// What a function makes of elements that it goes over.
pub(super) fn collected(name: &str, elements: &[Item]) -> Step<Item> {
    match name {
        "list" => library::call(made("_list"), elements, None),
        "sorted" => {
            let list = library::call(made("_list"), elements, None)?;
            library::call(made("_sort"), std::slice::from_ref(&list), None)?;
            Ok(list)
        }
        "set" => {
            let set = Dict::new();
            elements.iter().try_for_each(|element| set.add(number(element)?))?;
            Ok(Item::Dict(set))
        }
        _ => library::call(made(name), &[Item::Tuple(elements.into())], None),
    }
}

pub(super) fn made(name: &str) -> LibraryFunction {
    LibraryFunction::find(name).expect("the library has it")
}

/// The type of elements that a name or a text stands for.
pub(super) fn element(thing: Thing) -> Option<cembra::vm::value::ScalarType> {
    match thing {
        Thing::Library(Library(name)) => functions::element_named(&name),
        Thing::Item(Item::Text(name)) => functions::element_named(&format!("numpy.{name}")),
        _ => None,
    }
}

/// What of a dictionary a loop goes over.
#[derive(Clone, Copy)]
pub(super) enum View {
    Keys,
    Values,
    Items,
}

/// What a loop goes over, by the number of the element.
pub(super) enum Iterable {
    Numbers {
        start: i64,
        step: i64,
        count: i64,
    },
    Elements(Item),
    /// A dictionary, which had so many keys when the loop began.
    Rows(Dict, View, i64),
    Reversed(Item, i64),
    Together(Vec<Iterable>),
    Numbered(i64, Box<Iterable>),
}

impl Iterable {
    pub(super) fn of(thing: Thing) -> Step<Iterable> {
        match thing {
            Thing::Item(Item::Dict(dict)) => Ok(Iterable::rows(dict, View::Keys)),
            Thing::Item(item @ (Item::Array(_) | Item::Tuple(_))) => Ok(Iterable::Elements(item)),
            Thing::Iterable(of) => of.again(),
            _ => Err(Stop::Unknown("iterable")),
        }
    }

    /// A dictionary, or a view of it.
    pub(super) fn rows(dict: Dict, view: View) -> Iterable {
        let length = dict.len();
        Iterable::Rows(dict, view, length)
    }

    /// All elements.
    pub(super) fn elements(&self) -> Step<Vec<Item>> {
        let (mut elements, mut at) = (Vec::new(), 0);
        while at < self.length()? {
            if at == MAX_ELEMENTS {
                return Err(Stop::Unknown("memory"));
            }
            elements.push(self.element(at)?);
            at += 1;
        }
        Ok(elements)
    }

    fn again(&self) -> Step<Iterable> {
        Ok(match self {
            Iterable::Numbers { start, step, count } => {
                Iterable::Numbers { start: *start, step: *step, count: *count }
            }
            Iterable::Elements(item) => Iterable::Elements(item.clone()),
            Iterable::Rows(dict, view, length) => Iterable::Rows(dict.clone(), *view, *length),
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
                Iterable::Rows(dict, View::Keys, length) => Iterable::Reversed(Item::Dict(dict), length),
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
            Iterable::Rows(dict, _, length) if dict.len() != *length => return raise("RuntimeError"),
            Iterable::Rows(_, _, length) | Iterable::Reversed(_, length) => *length,
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
            Iterable::Rows(dict, View::Keys, _) => Item::Number(dict.key_at(at)?),
            Iterable::Rows(dict, View::Values, _) => Item::Number(dict.value_at(at)?),
            Iterable::Rows(dict, View::Items, _) => {
                Item::Tuple([dict.key_at(at)?, dict.value_at(at)?].map(Item::Number).into())
            }
            Iterable::Reversed(Item::Dict(dict), length) => Item::Number(dict.key_at(length - 1 - at)?),
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
pub(super) fn item_at(of: &Item, places: &[Place]) -> Step<Item> {
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
        (Item::Dict(dict), [Place::At(key)]) => value_of(dict, &Item::Number(reference::Datum::Int(*key))),
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
