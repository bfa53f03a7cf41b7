//! Recipes: what an operator computes of a row, as operations of a [strip](crate::strip).
//!
//! ```text
//! math.add       |l, x|  x[0] + x[1]                  cells; presence is that of all operands
//! core.where     |l, x|  mask ? x[1] : x[2]           cells and presence
//! ```
//!
//! An operator with a recipe can be computed in registers together with others. It gives the bits that its block
//! kernel gives for that row.

#[cfg(test)]
use crate::operator::block::{Column, clear_missing};
#[cfg(test)]
use crate::strip;
use crate::strip::{List, Term};
#[cfg(test)]
use crate::value::array::ROWS_OF_A_WORD;
#[cfg(test)]
use crate::vector::Level;

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

/// Rows of a strip with the cells and the presence of these columns, then those of the result, for a level of this
/// machine: cells of present rows, and words of presence. For columns of the list's types with at least so many rows.
#[cfg(test)]
pub(crate) fn strip_rows(
    list: &List,
    level: Level,
    columns: &[Column],
    size: usize,
    rows: usize,
) -> (Vec<u8>, Vec<u64>) {
    let code = strip::compile(list, level, strip::Options::default()).expect("code for the level");
    let strip = &strip::load(&[code]).expect("memory for code")[0];
    let mut cells = vec![0u64; rows + 1];
    let mut words = vec![0u64; rows.div_ceil(ROWS_OF_A_WORD)];
    let of_cells = columns.iter().map(|column| column.data.cast_mut());
    let of_presence = columns.iter().map(|column| column.presence.cast_mut().cast());
    let results = [cells.as_mut_ptr().cast(), words.as_mut_ptr().cast()];
    let columns: Vec<*mut u8> = of_cells.chain(of_presence).chain(results).collect();
    // SAFETY: the machine has the level; columns have so many rows, and the results room for them.
    unsafe { strip.run(columns.as_ptr(), 0, rows, std::ptr::null()) };
    let mut bytes = bytemuck::cast_slice(&cells)[..size * rows].to_vec();
    clear_missing(&mut bytes, &words, size, rows);
    (bytes, words)
}
