//! Lists: arrays of one axis that a routine has made, and that grow, shrink and are put in order.
//!
//! ```text
//! nd.append(v3, v1)      room_for_one; then the element goes behind the others, and v3_n0 is one more
//! nd.remove_last(v3)     v3_n0 is one less
//! nd.sort(v3)            sorted_f64 of `lists.c`
//! ```
//!
//! Elements that the caller lends have a size that is fixed, so that arguments are no lists.

use crate::native::c::constants::quoted;
use crate::native::c::locals::element_name;
use crate::native::c::writer::Writer;
use crate::native::operation::{Operation, text_for};
use cembra_vm::builtins::nd::element::{APPEND, REMOVE_LAST, SORT};
use cembra_vm::program::Program;
use cembra_vm::value::ScalarType;

/// The text that programs with lists in order need.
pub(super) const LISTS: &str = include_str!("lists.c");

/// The text of lists, if a program needs it.
pub(super) fn list_functions(program: &Program) -> &'static str {
    text_for(program, LISTS, |overload| &**overload.name() == SORT)
}

impl Writer<'_> {
    /// Statements of an operator that changes a list; `None` if it is none, or changes an argument.
    pub(super) fn list(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, operands, result, .. } = operation;
        let name = operation.name();
        if ![APPEND, REMOVE_LAST, SORT].contains(&name) {
            return None;
        }
        let (array, list) = (self.locals.array(result)?, self.locals.owner(result));
        let mut inputs = self.routine.inputs.iter().map(|(_, input)| self.locals.owner(*input));
        if !self.made.contains(&list) || inputs.any(|input| input == list) {
            return None;
        }
        let element = element_name(array.element());
        let refused = |k: &str, message: &str| {
            format!("int32_t k = {k}; if (CEMBRA_RARE(k)) {{ {} }}", self.raise(ip, &quoted(message), &[]))
        };
        Some(match name {
            APPEND => {
                let room = format!("room_for_one(&{list}_own, {list}_n0, &{list}_room, sizeof e)");
                format!(
                    "{{ {element} e = ({element}){}; {} {list} = {list}_own; \
                     memcpy({list} + {list}_n0 * (int64_t)sizeof e, &e, sizeof e); {list}_n0 += 1; }}",
                    self.locals.only(operands[1]),
                    refused(&room, "the array is too large")
                )
            }
            REMOVE_LAST => {
                let k = format!("{list}_n0 == 0 ? CEMBRA_INDEX_OUT_OF_RANGE : 0");
                format!("{{ {} {list}_n0 -= 1; }}", refused(&k, "there is no last element"))
            }
            _ => {
                let code = match array.element() {
                    ScalarType::Float64 => "f64",
                    ScalarType::Int64 => "i64",
                    ScalarType::Boolean => "u8",
                    _ => return None,
                };
                let k = format!("sorted_{code}({list}, {list}_n0)");
                format!("{{ {} }}", refused(&k, "the array is too large"))
            }
        })
    }
}
