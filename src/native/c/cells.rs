//! Cells: what an operator on elements of arrays computes of one of them, as an expression.

use crate::native::c::recipes::{Lowered, operand};
use crate::native::c::special::special;
use cembra_vm::operator::Overload;
use cembra_vm::operator::recipe::Recorded;
use cembra_vm::strip::List;
use cembra_vm::value::{QType, ScalarValue};

/// The declarations of temporaries, and the expression. The functions give the literal and the local of an operand, by its
/// position. `None` if the operator has no form, or may raise.
pub(super) fn cell(
    overload: &Overload,
    literal: impl Fn(usize) -> Option<ScalarValue>,
    local: impl Fn(usize) -> String,
) -> Option<(String, String)> {
    if let Some(special) = special(overload) {
        let call = special.total_call(&(0..overload.args().len()).map(local).collect::<Vec<_>>())?;
        return Some((String::new(), call));
    }
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
    Some((lowered.temporaries.clone(), lowered.of(cells)))
}
