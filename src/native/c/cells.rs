//! Cells: what an operator on elements of arrays computes of one of them.

use crate::native::c::recipes::{Lowered, operand};
use crate::native::c::rules::{Gives, element_rule};
use crate::native::c::special::special;
use cembra_vm::operator::Overload;
use cembra_vm::operator::recipe::Recorded;
use cembra_vm::strip::List;
use cembra_vm::value::{QType, ScalarValue};

/// How a cell is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Declarations of temporaries, and an expression.
    Total(String, String),
    /// A call of a function that gives a category, or 0, and the value through a last parameter that is missing here.
    Refusing(String),
}

/// The cell of an operator. The functions give the literal and the local of an operand, by its position. `None` if the
/// operator has no form.
pub(super) fn cell(
    overload: &Overload,
    literal: impl Fn(usize) -> Option<ScalarValue>,
    local: impl Fn(usize) -> String,
) -> Option<Cell> {
    let locals = || (0..overload.args().len()).map(&local).collect::<Vec<_>>();
    if let Some(special) = special(overload) {
        return Some(Cell::Total(String::new(), special.total_call(&locals())?));
    }
    recorded(overload, literal, &local).or_else(|| {
        let (function, gives) = element_rule(overload)?;
        let call = format!("{function}({}", locals().join(", "));
        Some(match gives {
            Gives::Value => Cell::Total(String::new(), call + ")"),
            Gives::ValueOrCategory => Cell::Refusing(call),
        })
    })
}

/// The cell by the recipe, if no row is refused.
fn recorded(
    overload: &Overload,
    literal: impl Fn(usize) -> Option<ScalarValue>,
    local: impl Fn(usize) -> String,
) -> Option<Cell> {
    let mut list = List::new();
    let recorded = overload.args().iter().zip(0u16..).map(|(qtype, number)| {
        let of_element = qtype.nd().map(|array| QType::Scalar(array.element()));
        operand(&mut list, of_element.as_ref().unwrap_or(qtype), number, literal(usize::from(number)))
    });
    let recorded: Option<Vec<Recorded>> = recorded.collect();
    let Recorded { cells: Some(cells), present: None } = overload.record(&mut list, &recorded?)? else {
        return None;
    };
    let lowered = Lowered::new(&list, std::iter::once(cells), |number, _| local(usize::from(number)));
    Some(Cell::Total(lowered.temporaries.clone(), lowered.of(cells)))
}
