//! Recipes: what an operator computes of a row, as operations of a [strip](crate::strip).
//!
//! ```text
//! math.add       |l, x|  x[0] + x[1]                  cells; presence is that of all operands
//! core.where     |l, x|  mask ? x[1] : x[2]           cells and presence
//! ```
//!
//! An operator with a recipe can be computed in registers together with others. It gives the bits that its block
//! kernel gives for that row.

use crate::strip::{List, Term};

/// Rows on their way through a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The cells; none of masks, which have presence only.
    pub cells: Option<Term>,
    /// Where rows are present; `None` for everywhere.
    pub present: Option<Term>,
}

impl Recorded {
    /// A mask that is present where a truth is.
    pub fn mask(truth: Term) -> Recorded {
        Recorded { cells: None, present: Some(truth) }
    }

    /// The same cells where this is true as well.
    pub fn only(self, list: &mut List, present: Option<Term>) -> Recorded {
        Recorded { present: both(list, self.present, present), ..self }
    }
}

/// Where rows are present in both.
pub fn both(list: &mut List, x: Option<Term>, y: Option<Term>) -> Option<Term> {
    match (x, y) {
        (Some(x), Some(y)) => Some(list.and(x, y)),
        (x, y) => x.or(y),
    }
}

/// How an operator computes a row. A recipe gives nothing for operands that it is not for.
#[derive(Clone, Copy, Debug)]
pub enum Recipe {
    /// The cells of a result that is present where all operands are.
    Lifted(fn(&mut List, &[Term]) -> Option<Term>),
    /// Cells and presence.
    Own(fn(&mut List, &[Recorded]) -> Option<Recorded>),
}

impl Recipe {
    /// Adds the operations to a list. A result that `is_lifted` is present where all operands are, whatever else a
    /// recipe would do about missing ones.
    pub fn record(self, list: &mut List, operands: &[Recorded], is_lifted: bool) -> Option<Recorded> {
        let recorded = match self {
            Recipe::Own(record) if !is_lifted => return record(list, operands),
            Recipe::Own(record) => {
                let cells = operands.iter().map(|operand| Recorded { present: None, ..*operand });
                record(list, &cells.collect::<Vec<_>>())?
            }
            Recipe::Lifted(record) => {
                let cells: Option<Vec<Term>> = operands.iter().map(|operand| operand.cells).collect();
                Recorded { cells: Some(record(list, &cells?)?), present: None }
            }
        };
        Some(operands.iter().fold(recorded, |recorded, operand| recorded.only(list, operand.present)))
    }
}
