//! OperatorTable: all families a program can use, by name.

use crate::operator::family::Family;
use crate::operator::signature::Overload;
use crate::value::QType;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Two rows of a table have one name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("operator `{name}` is already defined")]
pub struct DuplicateOperator {
    /// The name defined twice.
    pub name: Arc<str>,
}

/// An immutable set of operators; cheap to clone and extend.
#[derive(Clone, Debug, Default)]
pub struct OperatorTable {
    families: BTreeMap<Arc<str>, Arc<Family>>,
}

impl OperatorTable {
    /// An empty table.
    pub fn new() -> OperatorTable {
        OperatorTable::default()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The name is taken.
    pub fn add(&mut self, family: Family) -> Result<(), DuplicateOperator> {
        let name = family.name().clone();
        match self.families.contains_key(&name) {
            true => Err(DuplicateOperator { name }),
            false => {
                self.families.insert(name, Arc::new(family));
                Ok(())
            }
        }
    }

    /// The family with this name.
    pub fn family(&self, name: &str) -> Option<&Arc<Family>> {
        self.families.get(name)
    }

    /// The overload of a family for exactly these argument types.
    pub fn overload(&self, name: &str, args: &[QType]) -> Option<Arc<Overload>> {
        self.family(name)?.overload(args)
    }

    /// All families by name.
    pub fn families(&self) -> impl Iterator<Item = &Arc<Family>> {
        self.families.values()
    }
}
