//! Generators of the stage `norm`: their bodies run where they are gone over, and each value goes to a consumer.
//!
//! ```text
//! for v in g(): body      body of g … yield v ──> v is stored, body ──> back behind the yield
//!                                                  └ break, return ──> out of the body of g, and of the loop
//! ```

use super::norm::{Names, Next, Norm, arithmetic};
use super::norm_library::collected;
use super::norm_values::Thing;
use super::python::{Item, integer, is_true};
use super::{MAX_CALLS, Step, Stop};
use crate::function::reference::Datum;
use cembra::schema::TermValue;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What is done with a value.
pub(super) type Consumer<'d> = Rc<dyn Fn(&mut Norm<'d>, Item) -> Step<Next> + 'd>;

/// A call that yields, its arguments bound.
pub(super) struct Generator {
    pub(super) body: TermValue,
    pub(super) names: Rc<Names>,
    /// The first number of `enumerate`.
    pub(super) first: Option<i64>,
}

impl<'d> Norm<'d> {
    /// Runs a generator; where its consumer went, if it did not come back.
    pub(super) fn drive(&mut self, generator: &Generator, consumer: Consumer<'d>) -> Step<Option<Next>> {
        if self.depth == MAX_CALLS {
            return Err(Stop::Unknown("depth"));
        }
        let consumer = match generator.first {
            None => consumer,
            Some(first) => {
                let number = Cell::new(first);
                let numbered = move |norm: &mut Norm<'d>, value: Item| {
                    let at = number.replace(number.get().wrapping_add(1));
                    consumer(norm, Item::Tuple([Item::Number(Datum::Int(at)), value].into()))
                };
                Rc::new(numbered)
            }
        };
        self.consumers.push(consumer);
        self.depth += 1;
        let next = self.block(generator.body, &generator.names);
        self.depth -= 1;
        self.consumers.pop();
        Ok(match next? {
            Next::Left => self.left.pop(),
            _ => None,
        })
    }

    /// Hands a value to the consumer.
    pub(super) fn yielded(&mut self, value: Item) -> Step<Next> {
        let consumer = self.consumers.pop().ok_or(Stop::Unknown("a generator by itself"))?;
        let next = consumer(self, value);
        self.consumers.push(consumer);
        match next? {
            Next::Below | Next::Continue => Ok(Next::Below),
            next => {
                self.left.push(next);
                Ok(Next::Left)
            }
        }
    }

    /// A call of the library that goes over a generator.
    pub(super) fn use_up(
        &mut self,
        name: &str,
        generator: &Generator,
        rest: &[Thing],
        keywords: &[(&str, Thing)],
    ) -> Step<Thing> {
        if name == "enumerate" {
            let first = rest.first().or(keywords.first().map(|(_, value)| value));
            let first = first.map_or(Ok(0), |first| integer(&first.clone().item()?))?;
            let (body, names) = (generator.body, generator.names.clone());
            return Ok(Thing::Generator(Rc::new(Generator { body, names, first: Some(first) })));
        }
        // A sum is one element, to which each value is added when it comes.
        let is_sum = name == "sum";
        let first = rest.first().or(keywords.first().map(|(_, value)| value));
        let start = match (is_sum, first) {
            (true, Some(first)) => vec![first.clone().item()?],
            (true, None) => vec![Item::Number(Datum::Int(0))],
            _ => Vec::new(),
        };
        let elements = Rc::new(RefCell::new(start));
        let kept = elements.clone();
        let ends_at = match name {
            "any" => Some(true),
            "all" => Some(false),
            _ => None,
        };
        let keep = move |norm: &mut Norm<'d>, value: Item| {
            norm.step()?;
            let is_decided = ends_at == Some(is_true(&value));
            let mut kept = kept.borrow_mut();
            match is_sum {
                true => kept[0] = arithmetic("+", &kept[0], &value)?,
                false => kept.push(value),
            }
            Ok(if is_decided { Next::Break } else { Next::Below })
        };
        self.drive(generator, Rc::new(keep))?;
        let elements = elements.borrow();
        match is_sum {
            true => Ok(Thing::Item(elements[0].clone())),
            false => collected(name, &elements).map(Thing::Item),
        }
    }
}
