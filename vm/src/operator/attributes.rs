//! Attributes of rows: what the row of an operator says of it and of overloads added later, for those who differentiate and
//! compile them.

use crate::array::recipe::Recipe;
use crate::array::special::SpecialFunction;
use crate::operator::facts::{Facts, Linear, Slope};
use crate::operator::family::Family;
use crate::operator::fusible::Fusible;
use crate::operator::primitive::Primitive;
use crate::strip::{List, RecordedFunction, Term};

impl Family {
    /// Sets all facts.
    pub fn with_facts(mut self, facts: Facts) -> Family {
        self.facts = facts;
        self
    }

    /// Sets the partial derivatives: an expression of the operator's own parameters for each parameter.
    pub fn derivative(mut self, partials: &[&'static str]) -> Family {
        self.facts = self.facts.with_slope(Slope::Partials(partials.into()));
        self
    }

    /// Says by which expression of parameters `x`, their slopes `d_x` and the `result` the slope of the result follows:
    /// see [`Slope::Differential`].
    pub fn differential(mut self, text: &'static str) -> Family {
        self.facts = self.facts.differential(text);
        self
    }

    /// Names the operator that makes or takes truth values where this one makes or takes a mask.
    pub fn truths(mut self, operator: &'static str) -> Family {
        self.facts = self.facts.with_truths(operator);
        self
    }

    /// Says which operands the operator is linear in.
    pub fn linear(mut self, linear: Linear) -> Family {
        self.facts = self.facts.with_linear(linear);
        self
    }

    /// Names the operation of the next overload, which there are [pairs](crate::operator::fused) of.
    pub(crate) fn fusible(mut self, operation: Fusible) -> Family {
        self.fusible = Some(operation);
        self
    }

    /// Names the operation of overloads added later, which may raise.
    pub(crate) fn primitive(mut self, operation: Primitive) -> Family {
        self.primitive = Some(operation);
        self
    }

    /// Says what plain code computes of a row, so that strips can compute it. Overloads added later carry it, those
    /// that may raise excepted.
    pub(crate) fn recipe(mut self, recipe: Recipe) -> Family {
        self.recipe = Some(recipe);
        self
    }

    /// The same for cells of results that are present where all operands are.
    pub(crate) fn cells(self, record: fn(&mut List, &[Term]) -> Option<Term>) -> Family {
        self.recipe(Recipe::Lifted(record))
    }

    /// The same for an operator that may raise, in rows that are rare.
    pub(crate) fn rare_cells(mut self, record: fn(&mut List, &[Term]) -> Option<RecordedFunction>) -> Family {
        self.recipe_may_raise = true;
        self.recipe(Recipe::Rare(record))
    }

    /// Says which special function overloads added later are.
    pub(crate) fn special(mut self, function: impl Into<SpecialFunction>) -> Family {
        self.special = Some(function.into());
        self
    }
}
