//! Signatures: an operator for argument types, and what its type rule made of them.
//!
//! Every typed operator node carries the number of its signature. Signatures are shared, so a type rule
//! runs once for each combination of types, not once for each node. A rule that looks at literals gives
//! each node a signature of its own.

use crate::expr::Symbol;
use crate::prepare::types::TypeId;
use cembra_vm::operator::Overload;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Number of a [`Signature`] in a [`SignatureTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureId(u32);

impl SignatureId {
    /// Not an operator, or not typed yet.
    pub const NONE: SignatureId = SignatureId(u32::MAX);
}

/// An operator for argument types.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The operator.
    pub operator: Symbol,
    /// Types the operator is applied to.
    pub given: Vec<TypeId>,
    /// Types its arguments are cast to.
    pub args: Vec<TypeId>,
    /// Type of the result.
    pub result: TypeId,
    /// The machine's overload, once the given types are exact.
    pub overload: Option<Arc<Overload>>,
}

impl Signature {
    /// True if no argument needs a cast.
    pub fn is_exact(&self) -> bool {
        self.given == self.args
    }
}

/// Signatures by number, and numbers by operator and argument types.
#[derive(Clone, Debug, Default)]
pub struct SignatureTable {
    rows: Vec<Signature>,
    shared: HashTable<SignatureId>,
    hasher: DefaultHashBuilder,
}

impl SignatureTable {
    /// An empty table.
    pub fn new() -> SignatureTable {
        SignatureTable::default()
    }

    /// The shared signature of an operator for argument types.
    pub fn find(&self, operator: Symbol, given: &[TypeId]) -> Option<SignatureId> {
        let is_it = |number: &SignatureId| {
            let row = self.get(*number);
            row.operator == operator && row.given == given
        };
        self.shared.find(self.hasher.hash_one((operator, given)), is_it).copied()
    }

    /// Adds a signature that [`find`](SignatureTable::find) will find.
    pub fn add(&mut self, signature: Signature) -> SignatureId {
        let number = self.add_unshared(signature);
        let (rows, hasher) = (&self.rows, &self.hasher);
        let hash = |number: &SignatureId| {
            let row = &rows[number.0 as usize];
            hasher.hash_one((row.operator, &row.given[..]))
        };
        self.shared.insert_unique(hash(&number), number, hash);
        number
    }

    /// Adds a signature for one node only.
    pub fn add_unshared(&mut self, signature: Signature) -> SignatureId {
        self.rows.push(signature);
        SignatureId(self.rows.len() as u32 - 1)
    }

    /// The signature of a number.
    ///
    /// # Panics
    /// If the number is unknown.
    pub fn get(&self, number: SignatureId) -> &Signature {
        &self.rows[number.0 as usize]
    }
}
