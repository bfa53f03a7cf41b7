//! The stage `norm` as Python means it: statements of the tree, one after the other.
//!
//! ```text
//! Assign(Name("f"), Lambda(…))     a closure: the tree, and the names around it
//! For(target, iter, …)             elements by their number, as long as there is one
//! Try(body, handlers, …)           by the class of the error
//! ```
//!
//! What the tree has no trace of comes from the text: which names its imports bring.

use super::generators::{Consumer, Generator};
use super::norm_library::{Iterable, Library, imports};
use super::norm_values::Thing;
use super::python::{Item, argument, is_true, json, store_value};
use super::{CAUGHT_LIMIT, MAX_CALLS, MAX_STEPS, Step, Stop, on_a_large_stack, raise};
use crate::function::reference;
use cembra::function::FunctionModule;
use cembra::function::norm::{norm_document, norm_schema};
use cembra::schema::{Datum, Document, TermId, TermValue};
use cembra::vm::value::Value;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Calls a function of a text by its normalised tree.
pub(super) fn call(source: &str, entry: &str, args: &[Value]) -> Step<(Json, Vec<Json>)> {
    on_a_large_stack(|| called(source, entry, args))
}

fn called(source: &str, entry: &str, args: &[Value]) -> Step<(Json, Vec<Json>)> {
    let module = FunctionModule::parse(source).expect("a text that compiled");
    let document = norm_document(module.tree());
    let globals = Names::new(None, imports(source));
    let mut norm = Norm {
        document: &document,
        steps: MAX_STEPS,
        depth: 0,
        handled: Vec::new(),
        consumers: Vec::new(),
        left: Vec::new(),
    };
    let root = norm.parts(document.root()).1[0];
    norm.block(root, &globals)?;
    let items: Vec<Item> = args.iter().map(argument).collect::<Step<_>>()?;
    let function = globals.get(entry)?;
    let given = items.iter().cloned().map(Thing::Item).collect();
    let value = norm.call(&function, given, Vec::new())?.item()?;
    let arrays = items.iter().filter_map(|item| match item {
        Item::Array(cells) => Some(cells.json()),
        _ => None,
    });
    Ok((json(&value), arrays.collect()))
}

/// Where the next statement is.
pub(super) enum Next {
    Below,
    Break,
    Continue,
    Return(Thing),
    /// Out of a generator whose consumer goes elsewhere: see [`Norm::yielded`].
    Left,
}

/// The names of a call, with those around it.
pub(super) struct Names {
    around: Option<Rc<Names>>,
    values: RefCell<HashMap<String, Thing>>,
    locals: HashSet<String>,
}

impl Names {
    fn new(around: Option<Rc<Names>>, values: HashMap<String, Thing>) -> Rc<Names> {
        Rc::new(Names { around, values: RefCell::new(values), locals: HashSet::new() })
    }

    pub(super) fn get(&self, name: &str) -> Step<Thing> {
        self.find(name, "UnboundLocalError")
    }

    /// The value of a name; without one, an error of a class, which is another one in functions around.
    fn find(&self, name: &str, class: &str) -> Step<Thing> {
        if let Some(value) = self.values.borrow().get(name) {
            return Ok(value.clone());
        }
        match &self.around {
            _ if self.locals.contains(name) => raise(class),
            Some(around) => around.find(name, "NameError"),
            None => Library::find(name).ok_or(Stop::Unknown("name")),
        }
    }

    /// The names that an assignment belongs to.
    fn owner(&self, name: &str) -> &Names {
        match &self.around {
            Some(around) if !self.locals.contains(name) => around.owner(name),
            _ => self,
        }
    }

    /// Gives a name of the call itself a value.
    pub(super) fn bind(&self, name: &str, value: Thing) {
        self.values.borrow_mut().insert(name.to_owned(), value);
    }

    fn set(&self, name: &str, value: Thing) {
        self.owner(name).values.borrow_mut().insert(name.to_owned(), value);
    }
}

/// A function of the tree.
pub(super) struct Closure {
    /// Name, whether it takes all that is left, and default value.
    parameters: Vec<(String, bool, Option<Thing>)>,
    body: TermValue,
    locals: HashSet<String>,
    around: Rc<Names>,
    is_generator: bool,
}

pub(super) struct Norm<'d> {
    document: &'d Document,
    steps: u64,
    pub(super) depth: usize,
    /// Classes of the errors that handlers handle.
    handled: Vec<String>,
    /// What is done with the values of the generators that run, innermost last.
    pub(super) consumers: Vec<Consumer<'d>>,
    /// Where consumers went instead of back to their generators.
    pub(super) left: Vec<Next>,
}

impl<'d> Norm<'d> {
    /// Constructor and values of a term.
    pub(super) fn parts(&self, value: TermValue) -> (&'static str, &'d [TermValue]) {
        let term: TermId = self.document.as_term(value).expect("a term stands here");
        let name = &*norm_schema().constructor(self.document.constructor(term)).name;
        (name, self.document.values(term))
    }

    pub(super) fn list(&self, value: &'d TermValue) -> &'d [TermValue] {
        self.document.as_list(*value).expect("a list stands here")
    }

    pub(super) fn text(&self, value: TermValue) -> &'d str {
        match self.document.as_datum(value) {
            Some(Datum::Text(text)) => text,
            other => panic!("{other:?} is no name"),
        }
    }

    pub(super) fn datum(&self, value: TermValue) -> &'d Datum {
        self.document.as_datum(value).expect("a datum stands here")
    }

    pub(super) fn step(&mut self) -> Step<()> {
        self.steps -= 1;
        if self.steps == 0 { Err(Stop::Unknown("steps")) } else { Ok(()) }
    }

    pub(super) fn block(&mut self, block: TermValue, names: &Rc<Names>) -> Step<Next> {
        let document = self.document;
        for statement in document.as_list(block).expect("a list of statements") {
            match self.statement(*statement, names)? {
                Next::Below => {}
                next => return Ok(next),
            }
        }
        Ok(Next::Below)
    }

    /// Runs statements that lead nowhere else.
    pub(super) fn run(&mut self, block: TermValue, names: &Rc<Names>) -> Step<()> {
        self.block(block, names).map(drop)
    }

    fn statement(&mut self, statement: TermValue, names: &Rc<Names>) -> Step<Next> {
        self.step()?;
        let (kind, values) = self.parts(statement);
        match kind {
            "Assign" => {
                let value = self.expr(values[1], names)?;
                self.store(values[0], value, names)?;
            }
            "Discard" => {
                if let ("Yield", of) = self.parts(values[0]) {
                    let value = match of[0] {
                        TermValue::Absent => Item::None,
                        value => self.expr(value, names)?.item()?,
                    };
                    return self.yielded(value);
                }
                self.expr(values[0], names)?;
            }
            "If" => {
                let test = self.truth(values[0], names)?;
                return self.block(values[if test { 1 } else { 2 }], names);
            }
            "While" => {
                while self.truth(values[0], names)? {
                    self.step()?;
                    match self.block(values[1], names)? {
                        Next::Below | Next::Continue => {}
                        Next::Break => return Ok(Next::Below),
                        next => return Ok(next),
                    }
                }
                return self.block(values[2], names);
            }
            "For" => return self.for_loop(values, names),
            "Return" => return Ok(Next::Return(self.expr(values[0], names)?)),
            "Try" => return self.try_statement(values, names),
            "Raise" => return self.raise(values[0], names),
            "Delete" => {
                let (_, name) = self.parts(values[0]);
                let name = self.text(name[0]);
                names.get(name)?;
                names.owner(name).values.borrow_mut().remove(name);
            }
            "Nonlocal" => {}
            "Break" => return Ok(Next::Break),
            "Continue" => return Ok(Next::Continue),
            other => panic!("{other} is no statement"),
        }
        Ok(Next::Below)
    }

    fn for_loop(&mut self, values: &'d [TermValue], names: &Rc<Names>) -> Step<Next> {
        let over = self.expr(values[1], names)?;
        if let Thing::Generator(generator) = &over {
            let (target, body, inside) = (values[0], values[2], names.clone());
            let round = move |norm: &mut Norm<'d>, value: Item| {
                norm.step()?;
                norm.store(target, Thing::Item(value), &inside)?;
                norm.block(body, &inside)
            };
            return match self.drive(generator, Rc::new(round))? {
                None => self.block(values[3], names),
                Some(Next::Break) => Ok(Next::Below),
                Some(next) => Ok(next),
            };
        }
        let over = Iterable::of(over)?;
        let mut number = 0;
        while number < over.length()? {
            self.step()?;
            let element = Thing::Item(over.element(number)?);
            self.store(values[0], element, names)?;
            match self.block(values[2], names)? {
                Next::Below | Next::Continue => number += 1,
                Next::Break => return Ok(Next::Below),
                next => return Ok(next),
            }
        }
        self.block(values[3], names)
    }

    fn try_statement(&mut self, values: &'d [TermValue], names: &Rc<Names>) -> Step<Next> {
        let mut next = match self.block(values[0], names) {
            Ok(Next::Below) => self.block(values[2], names),
            Err(Stop::Raised(class)) => self.handle(&class, self.list(&values[1]), names),
            other => other,
        };
        // Another way out of the last block is taken instead.
        match self.block(values[3], names) {
            Ok(Next::Below) => {}
            other => next = other,
        }
        next
    }

    fn handle(&mut self, class: &str, handlers: &'d [TermValue], names: &Rc<Names>) -> Step<Next> {
        if matches!(class, "MemoryError" | "RecursionError") {
            return Err(Stop::Unknown(CAUGHT_LIMIT));
        }
        for handler in handlers {
            let (_, values) = self.parts(*handler);
            if !self.takes(values[0], class) {
                continue;
            }
            if values[1] != TermValue::Absent {
                names.set(self.text(values[1]), Thing::Exception(class.into()));
            }
            self.handled.push(class.to_owned());
            let next = self.block(values[2], names);
            self.handled.pop();
            // The name has no value behind its handler.
            if values[1] != TermValue::Absent {
                let name = self.text(values[1]);
                names.owner(name).values.borrow_mut().remove(name);
            }
            return next;
        }
        raise(class)
    }

    /// True if a handler takes errors of a class.
    fn takes(&self, wanted: TermValue, class: &str) -> bool {
        if wanted == TermValue::Absent {
            return true;
        }
        let (kind, values) = self.parts(wanted);
        match kind {
            "Tuple" => self.list(&values[0]).iter().any(|one| self.takes(*one, class)),
            _ => is_kind_of(class, self.text(values[0])),
        }
    }

    fn raise(&mut self, exception: TermValue, names: &Rc<Names>) -> Step<Next> {
        let again = |norm: &Self| norm.handled.last().cloned().ok_or(Stop::Unknown("nothing is handled"));
        if exception == TermValue::Absent {
            return Err(Stop::Raised(again(self)?));
        }
        let (kind, values) = self.parts(exception);
        let class = if kind == "Call" { self.parts(values[0]).1[0] } else { values[0] };
        let class = self.text(class);
        match names.get(class) {
            Ok(Thing::Exception(class)) => raise(&class),
            _ => raise(class),
        }
    }

    pub(super) fn store(&mut self, target: TermValue, value: Thing, names: &Rc<Names>) -> Step<()> {
        let (kind, values) = self.parts(target);
        match kind {
            "Name" => {
                names.set(self.text(values[0]), value);
                Ok(())
            }
            "Item" => {
                let of = self.expr(values[0], names)?.item()?;
                let cells = match &of {
                    Item::Array(cells) => cells,
                    of => return store_value(of, &self.expr(values[1], names)?.item()?, &value.item()?),
                };
                let places = self.places(values[1], names)?;
                let value = match value.item()? {
                    Item::Array(values) => return cells.part(&places)?.assign(&values),
                    Item::Number(value) => value,
                    _ => return Err(Stop::Unknown("store")),
                };
                // The number becomes an element before its place is looked for.
                let one = super::cells::Cells::filled(cells.element, &[1], value, false)?;
                cells.part(&places)?.fill(one.elements()?[0])
            }
            _ => Err(Stop::Unknown("attribute")),
        }
    }

    pub(super) fn truth(&mut self, value: TermValue, names: &Rc<Names>) -> Step<bool> {
        Ok(is_true(&self.expr(value, names)?.item()?))
    }

    /// A function with the names around it; default values are computed here.
    pub(super) fn closure(&mut self, values: &'d [TermValue], names: &Rc<Names>) -> Step<Thing> {
        let mut parameters = Vec::new();
        let (mut locals, mut free) = (HashSet::new(), HashSet::new());
        for parameter in self.list(&values[0]) {
            let (_, of) = self.parts(*parameter);
            let name = self.text(of[0]);
            let default = match of[1] {
                TermValue::Absent => None,
                default => Some(self.expr(default, names)?),
            };
            let bare = name.trim_start_matches('*');
            locals.insert(bare.to_owned());
            parameters.push((bare.to_owned(), name != bare, default));
        }
        let is_generator = self.collect(values[1], &mut locals, &mut free);
        let locals = locals.difference(&free).cloned().collect();
        let (body, around) = (values[1], names.clone());
        Ok(Thing::Function(Rc::new(Closure { parameters, body, locals, around, is_generator })))
    }

    /// Notes the names that a body assigns, and those that it takes from around; true for a body that yields.
    fn collect(&self, of: TermValue, locals: &mut HashSet<String>, free: &mut HashSet<String>) -> bool {
        if let Some(list) = self.document.as_list(of) {
            return list.iter().fold(false, |yields, value| self.collect(*value, locals, free) | yields);
        }
        if self.document.as_term(of).is_none() {
            return false;
        }
        let (kind, values) = self.parts(of);
        match kind {
            "Lambda" => {
                // What a comprehension assigns belongs to the function around it.
                let is_comprehension = self
                    .list(&values[0])
                    .first()
                    .is_some_and(|first| self.text(self.parts(*first).1[0]).starts_with('%'));
                if let (true, Some(first)) = (is_comprehension, self.list(&values[1]).first())
                    && let ("Nonlocal", of) = self.parts(*first)
                {
                    locals.extend(self.list(&of[0]).iter().map(|name| self.text(*name).to_owned()));
                }
                return false;
            }
            "Yield" => return true,
            "Assign" | "For" | "Delete" => {
                if let ("Name", of) = self.parts(values[0]) {
                    locals.insert(self.text(of[0]).to_owned());
                }
            }
            "Let" => drop(locals.insert(self.text(values[0]).to_owned())),
            "Handler" if values[1] != TermValue::Absent => {
                locals.insert(self.text(values[1]).to_owned());
            }
            "Nonlocal" => free.extend(self.list(&values[0]).iter().map(|name| self.text(*name).to_owned())),
            _ => {}
        }
        values.iter().fold(false, |yields, value| self.collect(*value, locals, free) | yields)
    }

    pub(super) fn call(
        &mut self,
        function: &Thing,
        given: Vec<Thing>,
        mut keywords: Vec<(&'d str, Thing)>,
    ) -> Step<Thing> {
        let Thing::Function(closure) = function else {
            return match function {
                Thing::Library(library) => match &given[..] {
                    [Thing::Generator(generator), ..] => {
                        self.use_up(&library.0, generator, &given[1..], &keywords)
                    }
                    _ => library.call(given, &keywords),
                },
                _ => Err(Stop::Unknown("call")),
            };
        };
        if self.depth == MAX_CALLS {
            return Err(Stop::Unknown("depth"));
        }
        let (mut given, mut values) = (given.into_iter(), HashMap::new());
        for (name, is_rest, default) in &closure.parameters {
            let named = keywords.iter().position(|(keyword, _)| keyword == name);
            let value = match (is_rest, named) {
                (true, _) => {
                    let rest: Step<Vec<Item>> = given.by_ref().map(|thing| thing.item()).collect();
                    Thing::Item(Item::Tuple(rest?.into()))
                }
                (false, Some(at)) => keywords.remove(at).1,
                (false, None) => match given.next().or_else(|| default.clone()) {
                    Some(value) => value,
                    None => return Err(Stop::Unknown("missing argument")),
                },
            };
            values.insert(name.clone(), value);
        }
        let names = Names {
            around: Some(closure.around.clone()),
            values: RefCell::new(values),
            locals: closure.locals.clone(),
        };
        let names = Rc::new(names);
        if closure.is_generator {
            return Ok(Thing::Generator(Rc::new(Generator { body: closure.body, names, first: None })));
        }
        self.depth += 1;
        let next = self.block(closure.body, &names);
        self.depth -= 1;
        Ok(match next? {
            Next::Return(value) => value,
            _ => Thing::Item(Item::None),
        })
    }
}

/// What Python computes for two numbers.
pub(super) fn arithmetic(sign: &str, x: &Item, y: &Item) -> Step<Item> {
    let (x, y) = (super::python::number(x)?, super::python::number(y)?);
    reference::binary(sign, x, y).map(Item::Number).map_err(|class| Stop::Raised(class.to_owned()))
}

/// True if a class of errors is another one, or a kind of it.
fn is_kind_of(class: &str, wanted: &str) -> bool {
    let parent = match class {
        "ZeroDivisionError" | "OverflowError" | "FloatingPointError" => "ArithmeticError",
        "IndexError" | "KeyError" => "LookupError",
        "UnboundLocalError" => "NameError",
        "NotImplementedError" => "RuntimeError",
        "Exception" => "BaseException",
        "BaseException" => return wanted == class,
        _ => "Exception",
    };
    class == wanted || is_kind_of(parent, wanted)
}
