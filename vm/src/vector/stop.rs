//! How long loops are stopped on the way.

/// Asked now and then whether to stop. The result is of no use then.
pub type StopCheck<'s> = &'s dyn Fn() -> bool;

/// Never stops.
#[cfg(test)]
pub fn go_on() -> bool {
    false
}
