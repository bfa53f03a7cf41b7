//! Recipes: what an operator computes of a row, as operations of a [strip](crate::strip).
//!
//! ```text
//! math.add       |l, x|  x[0] + x[1]                  cells; presence is that of all operands
//! core.where     |l, x|  mask ? x[1] : x[2]           cells and presence
//! math.sin       Function(sin)                        cells, and which rows are rare
//! ```
//!
//! An operator with a recipe can be computed in registers together with others. It gives the bits that its block
//! kernel gives for that row. For rare rows, of special functions and of what can raise, it does not: these the kernel has
//! to compute.

#[cfg(test)]
use crate::array::block::{Column, clear_missing};
use crate::array::special::{FunctionKind, Refusals, SpecialFunction};
#[cfg(test)]
use crate::strip;
use crate::strip::{
    Comparison, List, RecordedFunction, Term, UnaryOp, record_binary, record_domain, record_unary,
};
#[cfg(feature = "jit")]
use crate::strip::{Lane, record_fast};
#[cfg(test)]
use crate::value::array::ROWS_OF_A_WORD;
#[cfg(test)]
use crate::vector::Level;

/// Rows on their way through a strip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// The same of a function of floats.
    Function(SpecialFunction),
    /// The same, and where they do not hold: there the kernel raises, or gives another value.
    Rare(fn(&mut List, &[Term]) -> Option<RecordedFunction>),
}

/// What an operator computes of a row, and where it does not.
type WithRare = (Recorded, Option<Term>);

impl Recipe {
    /// Adds the operations to a list. A result that `is_lifted` is present where all operands are, whatever else a
    /// recipe would do about missing ones. Nothing if rows can be rare.
    pub fn record(self, list: &mut List, operands: &[Recorded], is_lifted: bool) -> Option<Recorded> {
        let (recorded, rare) = self.record_with_rare(list, operands, is_lifted)?;
        rare.is_none().then_some(recorded)
    }

    /// The same, and which present rows are rare: of these the cells do not hold.
    pub(crate) fn record_with_rare(
        self,
        list: &mut List,
        operands: &[Recorded],
        is_lifted: bool,
    ) -> Option<WithRare> {
        let cells = || operands.iter().map(|operand| operand.cells).collect::<Option<Vec<Term>>>();
        let (recorded, rare) = match self {
            Recipe::Own(record) if !is_lifted => return Some((record(list, operands)?, None)),
            Recipe::Own(record) => {
                let cells = operands.iter().map(|operand| Recorded { present: None, ..*operand });
                (record(list, &cells.collect::<Vec<_>>())?, None)
            }
            Recipe::Lifted(record) => {
                (Recorded { cells: Some(record(list, &cells()?)?), present: None }, None)
            }
            Recipe::Rare(record) => of_present(record(list, &cells()?)?),
            Recipe::Function(function) => of_present(record_function(function, list, &cells()?)?),
        };
        let recorded =
            operands.iter().fold(recorded, |recorded, operand| recorded.only(list, operand.present));
        Some((recorded, rare.and_then(|rare| both(list, Some(rare), recorded.present))))
    }
}

fn of_present(RecordedFunction { value, rare }: RecordedFunction) -> WithRare {
    (Recorded { cells: Some(value), present: None }, rare)
}

/// The [fast path](record_fast) of a function of one plain FLOAT64, and which operands do not take it.
#[cfg(feature = "jit")]
pub(crate) fn fast_path(
    function: SpecialFunction,
    list: &mut List,
    operands: &[Recorded],
) -> Option<(Recorded, Term)> {
    let (FunctionKind::Unary(kind), [Recorded { cells: Some(x), present: None }]) = (function.kind, operands)
    else {
        return None;
    };
    let recorded = if list.lane(*x) == Lane::F64 { record_fast(kind, list, *x)? } else { return None };
    Some((Recorded { cells: Some(recorded.value), present: None }, recorded.rare?))
}

/// The value of a function; rare are the arguments that it refuses as well, and some more.
fn record_function(function: SpecialFunction, list: &mut List, cells: &[Term]) -> Option<RecordedFunction> {
    let lane = list.lane(*cells.first()?);
    if !lane.is_float() || !cells.iter().all(|cells| list.lane(*cells) == lane) {
        return None;
    }
    let RecordedFunction { value, rare } = match (function.kind, cells) {
        (FunctionKind::Unary(kind), [x]) => record_unary(kind, list, *x),
        (FunctionKind::Binary(kind), [x, y]) => record_binary(kind, list, *x, *y),
        _ => return None,
    };
    let mut refused = Vec::from_iter(rare);
    if let Refusals::Outside(domain) | Refusals::OutsideOrOverflow(domain) = function.refusals {
        let is_inside = record_domain(domain, list, cells[0]);
        refused.push(list.not(is_inside));
    }
    if let Refusals::OutsideOrOverflow(_) | Refusals::Power = function.refusals {
        let infinity = list.f64(f64::INFINITY);
        let infinity = list.cast(infinity, lane);
        let size = list.unary(UnaryOp::Abs, value);
        let is_finite = list.compare(Comparison::Less, size, infinity);
        refused.push(list.not(is_finite));
    }
    let rare = refused.into_iter().reduce(|x, y| list.or(x, y));
    Some(RecordedFunction { value, rare })
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
