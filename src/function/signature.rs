//! Signatures: types of the functions of the library that take numbers and give one.
//!
//! One line a kind of function; what takes arrays, lists or texts has a rule in `infer`.

use crate::function::library::LibraryKind;

/// What a function of numbers takes and gives, where that is all there is to its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The least number of arguments.
    pub least: usize,
    /// The greatest.
    pub most: usize,
    /// True if all of them are integers; else they are numbers.
    pub integers: bool,
    /// What it gives.
    pub gives: Gives,
}

/// The type of what a function of numbers gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// A float.
    Float,
    /// An integer.
    Int,
    /// A truth value.
    Bool,
    /// A character.
    Char,
    /// The type that holds all arguments.
    Joined,
    /// The same, an integer of truth values.
    JoinedNumber,
}

impl LibraryKind {
    /// What the function takes and gives, if it takes numbers and the types of its arguments say it all.
    pub fn signature(self) -> Option<Signature> {
        use Gives::{Bool, Char, Float, Int, Joined, JoinedNumber};
        let of = |least: usize, most: usize, integers: bool, gives: Gives| {
            Some(Signature { least, most, integers, gives })
        };
        match self {
            LibraryKind::Float { arity, .. } => of(arity, arity, false, Float),
            LibraryKind::Rounded(_) | LibraryKind::ToInt => of(1, 1, false, Int),
            LibraryKind::ToFloat => of(1, 1, false, Float),
            LibraryKind::IsNan | LibraryKind::IsInf | LibraryKind::IsFinite | LibraryKind::ToBool => {
                of(1, 1, false, Bool)
            }
            LibraryKind::Greater | LibraryKind::Less => of(2, 2, false, Joined),
            LibraryKind::Log => of(1, 2, false, Float),
            LibraryKind::Gcd => of(2, 2, true, Int),
            LibraryKind::Isqrt => of(1, 1, true, Int),
            LibraryKind::Chr => of(1, 1, true, Char),
            LibraryKind::CounterProduct => of(2, 2, true, Int),
            LibraryKind::Sign | LibraryKind::Square => of(1, 1, false, JoinedNumber),
            LibraryKind::Power => of(2, 2, false, JoinedNumber),
            LibraryKind::Narrow(element) => of(1, 1, false, if element.is_float() { Float } else { Int }),
            _ => None,
        }
    }
}
