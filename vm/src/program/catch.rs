//! Catch: which faults a guard takes.
//!
//! ```text
//! guard<+3>(DIVISION_BY_ZERO, OVERFLOW, 'KeyError') keep 0
//! v4 = o7(v0, v1)          if this raises one of them, the run goes on three instructions behind the guard
//! ```
//!
//! A guard holds for the next instruction that is no guard; of several guards the last one is asked first. What the run may use
//! up is no fault of a program, and is never caught: neither limits nor the host's wish to stop.

use crate::value::{Category, Fault};
use std::fmt;
use std::sync::Arc;

/// Which faults are taken, and whether the fault stays known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Catch {
    /// Faults of these categories, each of which [can be caught](Catch::CATEGORIES).
    pub categories: Vec<Category>,
    /// Faults of the category RAISED whose message begins with one of these names and a colon.
    pub classes: Vec<Arc<str>>,
    /// Under which number the fault is kept for [`Again`](crate::program::Instruction::Again).
    pub keep: Option<u32>,
}

impl Catch {
    /// The categories that can be caught.
    pub const CATEGORIES: [Category; 11] = [
        Category::DivisionByZero,
        Category::Cast,
        Category::SizeMismatch,
        Category::IndexOutOfRange,
        Category::MissingValue,
        Category::Parse,
        Category::Assertion,
        Category::Overflow,
        Category::Domain,
        Category::Unbound,
        Category::Raised,
    ];

    /// True if the fault is one of those.
    pub fn takes(&self, fault: &Fault) -> bool {
        let category = fault.category();
        if self.categories.contains(&category) {
            return true;
        }
        if category != Category::Raised || self.classes.is_empty() {
            return false;
        }
        let message = fault.to_string();
        let class = message.split_once(':').map_or(&*message, |(class, _)| class);
        self.classes.iter().any(|known| &**known == class)
    }

    /// The first category that cannot be caught.
    pub fn first_never_caught(&self) -> Option<Category> {
        self.categories.iter().copied().find(|category| !Catch::CATEGORIES.contains(category))
    }
}

/// As in the text of a program, behind `guard` and its distance.
impl fmt::Display for Catch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        let mut between = "";
        for category in &self.categories {
            write!(f, "{between}{category}")?;
            between = ", ";
        }
        for class in &self.classes {
            let mut text = String::new();
            crate::value::repr::write_text(&mut text, class);
            write!(f, "{between}{text}")?;
            between = ", ";
        }
        f.write_str(")")?;
        self.keep.map_or(Ok(()), |number| write!(f, " keep {number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_taken_by_its_category_or_class() {
        let raised = |message: &str| Fault::Trap { category: Category::Raised, message: message.into() };
        let catch = Catch {
            categories: vec![Category::DivisionByZero],
            classes: vec!["KeyError".into()],
            keep: None,
        };
        assert!(catch.takes(&Fault::DivisionByZero));
        assert!(catch.takes(&raised("KeyError: 3")));
        assert!(catch.takes(&raised("KeyError")));
        assert!(!catch.takes(&raised("ValueError: KeyError: 3")));
        assert!(!catch.takes(&Fault::Trap { category: Category::Limit, message: "KeyError: 3".into() }));
        assert_eq!(catch.to_string(), "(DIVISION_BY_ZERO, 'KeyError')");
    }
}
