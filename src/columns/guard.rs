//! The one boundary at which panics of other crates end.
//!
//! The crates that read Arrow and Parquet files trust what a file says about itself in places, and panic when that is
//! wrong. Such a panic is an error of the file. Nothing is said of it on standard error, and nothing that has
//! panicked is used again.

use crate::columns::error::ColumnsError;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// True while this thread is inside of the boundary.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Characters of a panic's message that an error shows.
const SHOWN: usize = 200;

/// Runs a reader of another crate on a file; its panics are errors. The caller uses nothing again that the reader has
/// had in its hands when it panicked.
///
/// # Errors
/// The reader fails or panics.
pub fn guarded<T>(file: &str, read: impl FnOnce() -> Result<T, ColumnsError>) -> Result<T, ColumnsError> {
    silence_guarded_panics();
    let outer = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(outer);
    outcome.unwrap_or_else(|payload| {
        Err(ColumnsError::malformed(file, format!("the file is damaged: {}", message(&*payload))))
    })
}

/// Panics inside of the boundary print nothing; all others print what they would have printed.
fn silence_guarded_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let line = text.and_then(|text| text.lines().next()).unwrap_or("its reader gives up");
    line.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors_of_the_file() {
        let wrong = guarded("a.arrow", || -> Result<(), _> { panic!("a wrong offset\nand more") });
        assert_eq!(wrong.expect_err("a panic").to_string(), "a.arrow: the file is damaged: a wrong offset");
        assert_eq!(guarded("a.arrow", || Ok(7)).expect("no panic"), 7);
        assert!(!GUARDED.get());
    }
}
