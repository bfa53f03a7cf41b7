//! How long loops are stopped on the way.

/// Asked now and then whether to stop. The result is of no use then.
pub type Stop<'s> = &'s dyn Fn() -> bool;
