//! [Affine forms](cembra_vm::program::affine) in C.

use crate::native::c::locals::Locals;
use cembra_vm::program::affine::Affine;
use std::fmt::Write;

/// A form with a number as the counter.
pub(super) fn form(locals: &Locals<'_>, index: &Affine, counter: &str) -> String {
    let mut text = String::new();
    let values = index.values.iter().map(|(value, factor)| (locals.only(*value), *factor));
    for (local, factor) in std::iter::once((counter.to_owned(), index.scale)).chain(values) {
        let _ = match factor {
            0 => Ok(()),
            1 => write!(text, "{local} + "),
            factor => write!(text, "INT64_C({factor}) * {local} + "),
        };
    }
    let _ = write!(text, "INT64_C({})", index.constant);
    text
}
