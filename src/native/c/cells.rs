//! Cells: what an operator on elements of arrays computes of one of them.

use crate::native::c::recipes::{Lowered, is_certain, operand};
use crate::native::c::rules::{Gives, element_rule};
use crate::native::c::special::special;
use crate::native::c::syntax::CSyntax;
use cembra_vm::array::recipe::Recorded;
use cembra_vm::builtins::bools::LOGICAL_IF;
use cembra_vm::builtins::core::HAS_ARRAY;
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::strip::{List, Term};
use cembra_vm::value::{QType, ScalarValue};

/// What an operator computes of an element, or of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// Declarations of temporaries.
    pub(super) temporaries: String,
    pub(super) value: CellValue,
    /// Whether a row is there: [`THERE`] if it is certain; `None` where rows are never missing.
    pub(super) present: Option<String>,
}

/// How a cell is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum CellValue {
    /// A mask has none.
    #[default]
    Nothing,
    /// An expression.
    Total(String),
    /// A call of a function that gives a category, or 0, and the value through a last parameter that is missing here.
    Refusing(String),
}

/// How a function takes which rows are there, and gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// As bitmaps.
    Bits,
    /// As a byte for each row.
    Bytes,
    /// All rows of the operands are there; bytes are given where the results may miss rows all the same.
    All,
}

/// The presence of a row that is there.
pub(super) const THERE: &str = "1";

/// The cell of an operator. The functions give the literal of an operand, by its position, and its local, or with `true` that of
/// its presence. `None` if the operator has no form.
pub(super) fn cell(
    overload: &Overload,
    literal: impl Fn(usize) -> Option<ScalarValue>,
    local: impl Fn(usize, bool) -> String,
) -> Option<Cell> {
    let has_rows = BoundaryArray::of(overload.result())?.has_rows();
    if &**overload.name() == HAS_ARRAY {
        return Some(Cell { present: Some(local(0, true)), ..Cell::default() });
    }
    if &**overload.name() == LOGICAL_IF && BoundaryArray::of(&overload.args()[0]).is_some() {
        return Some(one_of_three(overload, local));
    }
    let found = special(overload).and_then(|special| special.total_call(&locals(overload, &local)));
    if let Some(call) = found {
        return lifted(overload, &local, CellValue::Total(call));
    }
    let recorded = recorded(overload, literal, &local);
    let found = recorded.or_else(|| {
        let (function, gives) = element_rule(overload)?;
        let call = format!("{function}({}", locals(overload, &local).join(", "));
        let value = match gives {
            Gives::Value => CellValue::Total(call + ")"),
            Gives::ValueOrCategory => CellValue::Refusing(call),
        };
        lifted(overload, &local, value)
    });
    found.filter(|cell| has_rows || cell.present.is_none())
}

/// One of three rows by a truth that may be missing.
fn one_of_three(overload: &Overload, local: impl Fn(usize, bool) -> String) -> Cell {
    let (truth, is_known) = (local(0, false), local(0, true));
    let one = |is_presence: bool| {
        let [yes, no, missing] = [1, 2, 3].map(|number| local(number, is_presence));
        let known = format!("({truth} ? {yes} : {no})");
        if is_known == THERE { known } else { format!("({is_known} ? {known} : {missing})") }
    };
    let has_cells = BoundaryArray::of(overload.result()).is_some_and(|array| array.size() > 0);
    let value = if has_cells { CellValue::Total(one(false)) } else { CellValue::Nothing };
    let is_certain = (1..4).all(|number| local(number, true) == THERE);
    let present = if is_certain { THERE.to_owned() } else { one(true) };
    Cell { temporaries: String::new(), value, present: Some(present) }
}

fn locals(overload: &Overload, local: impl Fn(usize, bool) -> String) -> Vec<String> {
    (0..overload.args().len()).map(|number| local(number, false)).collect()
}

/// A value that is there where all operands are.
fn lifted(overload: &Overload, local: impl Fn(usize, bool) -> String, value: CellValue) -> Option<Cell> {
    let numbered = overload.args().iter().enumerate();
    let present = numbered.filter(|(_, qtype)| may_miss(qtype)).map(|(number, _)| local(number, true));
    let present: Vec<String> = present.collect();
    let is_lifted = present.is_empty() || overload.misses_rows();
    let certain = (!present.is_empty()).then(|| THERE.to_owned());
    let unsure: Vec<String> = present.into_iter().filter(|present| present != THERE).collect();
    let present = if unsure.is_empty() { certain } else { Some(format!("({})", unsure.join(" & "))) };
    is_lifted.then_some(Cell { temporaries: String::new(), value, present })
}

/// True for rows and optional values.
pub(super) fn may_miss(qtype: &QType) -> bool {
    qtype.is_optional() || BoundaryArray::of(qtype).is_some_and(BoundaryArray::has_rows)
}

/// The cell by the recipe, if no row is refused.
fn recorded(
    overload: &Overload,
    literal: impl Fn(usize) -> Option<ScalarValue>,
    local: impl Fn(usize, bool) -> String,
) -> Option<Cell> {
    let (mut list, operands) = operands(overload, literal)?;
    let recorded = overload.record(&mut list, &operands)?;
    Some(lowered(overload, &list, recorded, None, local)?.0)
}

/// The cell by a recipe that does not hold for rare rows, and the truth of these; they are there. `None` if it holds for all, or the
/// operator has none.
pub(super) fn usual_cell(
    overload: &Overload,
    literal: impl Fn(usize) -> Option<ScalarValue>,
    local: impl Fn(usize, bool) -> String,
) -> Option<(Cell, String)> {
    BoundaryArray::of(overload.result())?;
    if let Some(special) = special(overload) {
        let (call, rare) = special.usual_call(&locals(overload, &local))?;
        return Some((lifted(overload, &local, CellValue::Total(call))?, rare));
    }
    let (mut list, operands) = operands(overload, literal)?;
    let (recorded, rare) = overload.record_usual(&mut list, &operands)?;
    lowered(overload, &list, recorded, Some(rare), local)
}

/// The operands of an operator on elements as terms of a list.
fn operands(
    overload: &Overload,
    literal: impl Fn(usize) -> Option<ScalarValue>,
) -> Option<(List, Vec<Recorded>)> {
    let mut list = List::new();
    let recorded = overload.args().iter().zip(0u16..).map(|(qtype, number)| {
        let of_element = BoundaryArray::of(qtype).map(|array| match array.has_rows() {
            true => QType::Optional(array.element()),
            false => QType::Scalar(array.element()),
        });
        operand(&mut list, of_element.as_ref().unwrap_or(qtype), number, literal(usize::from(number)))
    });
    let recorded: Option<Vec<Recorded>> = recorded.collect();
    Some((list, recorded?))
}

/// A cell that was recorded, and what another truth of the list is in C.
fn lowered(
    overload: &Overload,
    list: &List,
    recorded: Recorded,
    truth: Option<Term>,
    local: impl Fn(usize, bool) -> String,
) -> Option<(Cell, String)> {
    let Recorded { cells, present } = recorded;
    let has_cells = BoundaryArray::of(overload.result()).is_some_and(|array| array.size() > 0);
    if has_cells && cells.is_none() {
        return None;
    }
    let cells = cells.filter(|_| has_cells);
    let needed = cells.into_iter().chain(present).chain(truth);
    let lowered = Lowered::new(&CSyntax::Loop, list, needed, |number, is_presence| {
        local(usize::from(number), is_presence)
    });
    let value = cells.map_or(CellValue::Nothing, |cells| CellValue::Total(lowered.of(cells)));
    let is_there = |number: u16| local(usize::from(number), true) == THERE;
    let present = present.map(|term| match is_certain(list, term, is_there) {
        true => THERE.to_owned(),
        false => lowered.of(term),
    });
    let truth = truth.map_or(String::new(), |truth| lowered.of(truth));
    Some((Cell { present, value, temporaries: lowered.temporaries }, truth))
}
