//! Cells: what an operator on elements of arrays computes of one of them.

use crate::native::c::recipes::{Lowered, operand};
use crate::native::c::rules::{Gives, element_rule};
use crate::native::c::special::special;
use crate::native::c::syntax::CSyntax;
use cembra_vm::builtins::core::HAS_ARRAY;
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::operator::recipe::Recorded;
use cembra_vm::strip::List;
use cembra_vm::value::{QType, ScalarValue};

/// What an operator computes of an element, or of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// Declarations of temporaries.
    pub(super) temporaries: String,
    pub(super) value: CellValue,
    /// Whether a row is there; `None` where it always is.
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

fn locals(overload: &Overload, local: impl Fn(usize, bool) -> String) -> Vec<String> {
    (0..overload.args().len()).map(|number| local(number, false)).collect()
}

/// A value that is there where all operands are.
fn lifted(overload: &Overload, local: impl Fn(usize, bool) -> String, value: CellValue) -> Option<Cell> {
    let numbered = overload.args().iter().enumerate();
    let present = numbered.filter(|(_, qtype)| may_miss(qtype)).map(|(number, _)| local(number, true));
    let present: Vec<String> = present.collect();
    let is_lifted = present.is_empty() || overload.misses_rows();
    let present = (!present.is_empty()).then(|| format!("({})", present.join(" & ")));
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
    let mut list = List::new();
    let recorded = overload.args().iter().zip(0u16..).map(|(qtype, number)| {
        let of_element = BoundaryArray::of(qtype).map(|array| match array.has_rows() {
            true => QType::Optional(array.element()),
            false => QType::Scalar(array.element()),
        });
        operand(&mut list, of_element.as_ref().unwrap_or(qtype), number, literal(usize::from(number)))
    });
    let recorded: Option<Vec<Recorded>> = recorded.collect();
    let Recorded { cells, present } = overload.record(&mut list, &recorded?)?;
    let has_cells = BoundaryArray::of(overload.result()).is_some_and(|array| array.size() > 0);
    if has_cells && cells.is_none() {
        return None;
    }
    let cells = cells.filter(|_| has_cells);
    let lowered = Lowered::new(&CSyntax, &list, cells.into_iter().chain(present), |number, is_presence| {
        local(usize::from(number), is_presence)
    });
    let value = cells.map_or(CellValue::Nothing, |cells| CellValue::Total(lowered.of(cells)));
    Some(Cell {
        present: present.map(|present| lowered.of(present)),
        value,
        temporaries: lowered.temporaries,
    })
}
