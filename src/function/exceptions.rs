//! Python's classes of exceptions: what a class is a kind of, and which faults of the machine a handler takes.
//!
//! ```text
//! BaseException ── Exception ──┬── ArithmeticError ── ZeroDivisionError      faults DIVISION_BY_ZERO
//!                              ├── LookupError ──┬── IndexError                     INDEX_OUT_OF_RANGE
//!                              │                 └── KeyError                       RAISED, "KeyError: …"
//! ```
//!
//! Functions raise no exception that is no `Exception` where one is caught, so that a handler of `Exception` takes all
//! that a handler without a class takes.

use crate::function::run::category_class;
use cembra_vm::program::Catch;
use cembra_vm::value::Category;
use std::sync::Arc;

/// Classes with the class that each is a kind of; that comes before.
const CLASSES: [(&str, &str); 44] = [
    ("BaseException", ""),
    ("Exception", "BaseException"),
    ("GeneratorExit", "BaseException"),
    ("KeyboardInterrupt", "BaseException"),
    ("SystemExit", "BaseException"),
    ("ArithmeticError", "Exception"),
    ("FloatingPointError", "ArithmeticError"),
    ("OverflowError", "ArithmeticError"),
    ("ZeroDivisionError", "ArithmeticError"),
    ("AssertionError", "Exception"),
    ("AttributeError", "Exception"),
    ("BufferError", "Exception"),
    ("EOFError", "Exception"),
    ("ImportError", "Exception"),
    ("ModuleNotFoundError", "ImportError"),
    ("LookupError", "Exception"),
    ("IndexError", "LookupError"),
    ("KeyError", "LookupError"),
    ("MemoryError", "Exception"),
    ("NameError", "Exception"),
    ("UnboundLocalError", "NameError"),
    ("OSError", "Exception"),
    ("FileExistsError", "OSError"),
    ("FileNotFoundError", "OSError"),
    ("InterruptedError", "OSError"),
    ("PermissionError", "OSError"),
    ("TimeoutError", "OSError"),
    ("ReferenceError", "Exception"),
    ("RuntimeError", "Exception"),
    ("NotImplementedError", "RuntimeError"),
    ("RecursionError", "RuntimeError"),
    ("StopAsyncIteration", "Exception"),
    ("StopIteration", "Exception"),
    ("SyntaxError", "Exception"),
    ("SystemError", "Exception"),
    ("TypeError", "Exception"),
    ("ValueError", "Exception"),
    ("UnicodeError", "ValueError"),
    ("UnicodeDecodeError", "UnicodeError"),
    ("UnicodeEncodeError", "UnicodeError"),
    ("Warning", "Exception"),
    ("DeprecationWarning", "Warning"),
    ("RuntimeWarning", "Warning"),
    ("UserWarning", "Warning"),
];

/// A class that functions may name.
pub(crate) fn known(class: &str) -> Option<&'static str> {
    CLASSES.iter().map(|row| row.0).find(|known| *known == class)
}

/// True if every exception of a class is one of another.
pub(crate) fn is_kind_of(class: &str, other: &str) -> bool {
    let mut at = class;
    loop {
        if at == other {
            return true;
        }
        match CLASSES.iter().find(|row| row.0 == at) {
            Some((_, parent)) => at = parent,
            None => return false,
        }
    }
}

/// What a handler of classes takes; without classes everything.
pub(crate) fn catch_of(classes: &[&str], keep: Option<u32>) -> Catch {
    if classes.is_empty() || classes.iter().any(|class| is_kind_of("Exception", class)) {
        return Catch { categories: Catch::CATEGORIES.to_vec(), classes: Vec::new(), keep };
    }
    let is_taken = |class: &str| classes.iter().any(|other| is_kind_of(class, other));
    let categories = Catch::CATEGORIES.into_iter().filter(|category| is_taken_category(*category, is_taken));
    let names = CLASSES.iter().map(|row| row.0).filter(|class| is_taken(class));
    Catch { categories: categories.collect(), classes: names.map(Arc::from).collect(), keep }
}

fn is_taken_category(category: Category, is_taken: impl Fn(&str) -> bool) -> bool {
    category != Category::Raised && is_taken(category_class(category))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_before_their_classes() {
        for (at, (class, parent)) in CLASSES.iter().enumerate() {
            let known = CLASSES[..at].iter().any(|row| row.0 == *parent);
            assert!(known || *class == "BaseException", "{class}");
        }
    }

    #[test]
    fn a_handler_takes_the_faults_of_its_class_and_of_those_below() {
        let catch = catch_of(&["ArithmeticError"], None);
        let expected = [Category::DivisionByZero, Category::Cast, Category::Overflow];
        assert_eq!(catch.categories, expected);
        let classes: Vec<&str> = catch.classes.iter().map(|class| &**class).collect();
        assert_eq!(classes, ["ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError"]);
        assert_eq!(catch_of(&["KeyError"], None).to_string(), "('KeyError')");
        assert!(catch_of(&["Exception"], None).categories.contains(&Category::Raised));
        assert!(is_kind_of("UnboundLocalError", "NameError") && !is_kind_of("KeyError", "IndexError"));
    }
}
