//! Sums over pairs of elements of two arrays: functions of `pairs.c`, with the machine's order of summation.
//!
//! ```text
//! nd.dot(v0, v1)     v2 = products_f64(&f, &g, 2), behind a comparison of the sizes of all axes
//! ```

use crate::native::c::constants::quoted;
use crate::native::c::fold_kinds::code;
use crate::native::c::locals::CType;
use crate::native::c::writer::Writer;
use crate::native::operation::{Operation, text_for};
use cembra_vm::builtins::nd::dot::{DOT, SQUARED_DISTANCE};
use cembra_vm::program::Program;
use std::fmt::Write;

/// The text that programs with such operators need.
pub(super) const PAIRS: &str = include_str!("pairs.c");

/// The text of sums over pairs, if a program needs it.
pub(super) fn pair_functions(program: &Program) -> &'static str {
    text_for(program, PAIRS, |overload| [DOT, SQUARED_DISTANCE].contains(&&**overload.name()))
}

impl Writer<'_> {
    /// Statements of a sum over pairs of elements; `None` if the operator is none.
    pub(super) fn summed_pairs(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, operands, result, .. } = operation;
        let of = match operation.name() {
            DOT => "products",
            SQUARED_DISTANCE => "distances",
            _ => return None,
        };
        let array = self.locals.array(operands[0])?;
        let [x, y] = [0, 1].map(|position| self.locals.owner(operands[position]));
        let mut text = String::from("{ ");
        for axis in 0..array.rank() {
            let sizes = [x, y].map(|array| (format!("{array}_n{axis}"), CType::I64));
            let message = quoted("arrays that are computed together have different sizes");
            let _ = write!(
                text,
                "if (CEMBRA_RARE({} != {})) {{ int32_t k = CEMBRA_SIZE_MISMATCH; {} }} ",
                sizes[0].0,
                sizes[1].0,
                self.raise(ip, &message, &sizes)
            );
        }
        let [f, g] = [0, 1].map(|position| self.descriptor(operands[position]));
        let (code, rank, result) = (code(array.element())?, array.rank(), self.locals.only(result));
        Some(format!("{text}cembra_array f = {f}, g = {g}; {result} = {of}_{code}(&f, &g, {rank}); }}"))
    }
}
