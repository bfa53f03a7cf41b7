//! Type numbers: every type of one preparation has a small number, so that passes compare numbers.

use cembra_vm::value::{QType, ScalarType};
use hashbrown::HashMap;

/// Number of a type in a [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub(crate) u32);

impl TypeId {
    /// No type yet.
    pub const UNKNOWN: TypeId = TypeId(u32::MAX);

    /// True if the type is known.
    pub fn is_known(self) -> bool {
        self != TypeId::UNKNOWN
    }
}

/// Types by number and numbers by type.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    types: Vec<QType>,
    numbers: HashMap<QType, TypeId>,
}

impl TypeTable {
    /// A table of the scalar and optional types, whose numbers follow from their declaration.
    pub fn new() -> TypeTable {
        let mut table = TypeTable::default();
        for scalar in ScalarType::ALL {
            table.intern(&QType::Scalar(scalar));
            table.intern(&QType::Optional(scalar));
        }
        table
    }

    /// Number of a type.
    pub fn intern(&mut self, qtype: &QType) -> TypeId {
        if let Some(number) = self.find(qtype) {
            return number;
        }
        let number = TypeId(self.types.len() as u32);
        self.types.push(qtype.clone());
        self.numbers.insert(qtype.clone(), number);
        number
    }

    fn find(&self, qtype: &QType) -> Option<TypeId> {
        let known = match qtype {
            QType::Scalar(t) => TypeId(*t as u32 * 2),
            QType::Optional(t) => TypeId(*t as u32 * 2 + 1),
            other => return self.numbers.get(other).copied(),
        };
        (known.0 < self.types.len() as u32).then_some(known)
    }

    /// The type of a number.
    ///
    /// # Panics
    /// If the number is unknown.
    pub fn get(&self, number: TypeId) -> &QType {
        &self.types[number.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_stable() {
        let mut table = TypeTable::new();
        for scalar in ScalarType::ALL {
            for qtype in [QType::Scalar(scalar), QType::Optional(scalar)] {
                let number = table.intern(&qtype);
                assert_eq!(table.get(number), &qtype);
            }
        }
        let shape = table.intern(&QType::ScalarShape);
        assert_eq!(table.intern(&QType::ScalarShape), shape);
    }
}
