//! Program and Routine: the finished, immutable form.

use crate::layout::{FrameLayout, TypedSlot};
use crate::program::body::Body;
use crate::program::instruction::ValueId;
use crate::program::parallel::Parallel;
use crate::value::Value;
use std::sync::Arc;

/// A value's place and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Where the value lies while it is alive.
    pub slot: TypedSlot,
    /// The value this one is a view of: a tuple field, a presence byte, or the same bytes under
    /// another type. A view has no life of its own.
    pub view_of: Option<ValueId>,
}

/// One routine: a layout and the instructions that run on frames of it.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Where slots lie.
    pub layout: Arc<FrameLayout>,
    /// Every value, by [`ValueId`].
    pub values: Vec<ValueInfo>,
    /// What the host (or caller) writes, by name.
    pub inputs: Vec<(Arc<str>, ValueId)>,
    /// The result.
    pub output: ValueId,
    /// Further results, sorted by name.
    pub side_outputs: Vec<(Arc<str>, ValueId)>,
    /// Values that hold a literal from the start.
    pub literals: Vec<(ValueId, Value)>,
    /// True if results may take the bytes of inputs that are no longer needed.
    pub overrides_inputs: bool,
    /// Inputs that the routine changes in place, by operators that [update](crate::operator::Overload::updates).
    pub updated_inputs: Vec<ValueId>,
    /// Set if calls of the routine may run in pieces.
    pub parallel: Option<Parallel>,
    /// The instructions.
    pub body: Body,
}

/// Whose bytes the values of a routine have: what [`Routine::owner`] and [`Routine::same_bytes`] give, without a walk
/// along views for each.
#[derive(Clone, Debug)]
pub struct Owners {
    owner: Vec<ValueId>,
    same_bytes: Vec<ValueId>,
}

impl Owners {
    /// As [`Routine::owner`].
    ///
    /// # Panics
    /// If there is no such value.
    pub fn owner(&self, value: ValueId) -> ValueId {
        self.owner[value.index()]
    }

    /// As [`Routine::same_bytes`].
    ///
    /// # Panics
    /// If there is no such value.
    pub fn same_bytes(&self, value: ValueId) -> ValueId {
        self.same_bytes[value.index()]
    }
}

/// A program: the main routine and those it calls.
#[derive(Clone, Debug)]
pub struct Program {
    routines: Vec<Routine>,
}

impl Routine {
    /// A routine without literals and side results, which changes no input.
    pub fn new(
        layout: Arc<FrameLayout>,
        values: Vec<ValueInfo>,
        inputs: Vec<(Arc<str>, ValueId)>,
        output: ValueId,
        body: Body,
    ) -> Routine {
        let (side_outputs, literals, updated_inputs) = (Vec::new(), Vec::new(), Vec::new());
        let (overrides_inputs, parallel) = (false, None);
        Routine {
            layout,
            values,
            inputs,
            output,
            side_outputs,
            literals,
            overrides_inputs,
            updated_inputs,
            parallel,
            body,
        }
    }

    /// Slot of a value.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn slot(&self, value: ValueId) -> &TypedSlot {
        &self.values[value.index()].slot
    }

    /// The value that owns the bytes: the value itself, or what it is a view of, to the end.
    pub fn owner(&self, value: ValueId) -> ValueId {
        let mut owner = value;
        while let Some(parent) = self.values[owner.index()].view_of {
            owner = parent;
        }
        owner
    }

    /// The value whose bytes, all of them, are those of a view: a view under another type is its owner, a
    /// sub-slot is itself.
    pub fn same_bytes(&self, value: ValueId) -> ValueId {
        let mut value = value;
        while let Some(owner) = self.values[value.index()].view_of {
            let (inner, outer) = (self.slot(value), self.slot(owner));
            if inner.offset() != outer.offset() || inner.qtype().storage() != outer.qtype().storage() {
                break;
            }
            value = owner;
        }
        value
    }

    /// Whose bytes the values have, for all of them at once.
    pub fn owners(&self) -> Owners {
        let mut owners = Owners { owner: Vec::new(), same_bytes: Vec::new() };
        for (value, info) in (0..).map(ValueId).zip(&self.values) {
            let (mut owner, mut same_bytes) = (value, value);
            if let Some(of) = info.view_of {
                owner = owners.owner(of);
                let (inner, outer) = (&info.slot, self.slot(of));
                if inner.offset() == outer.offset() && inner.qtype().storage() == outer.qtype().storage() {
                    same_bytes = owners.same_bytes(of);
                }
            }
            owners.owner.push(owner);
            owners.same_bytes.push(same_bytes);
        }
        owners
    }

    /// The same routine with these literals as inputs, behind all others.
    ///
    /// # Panics
    /// One of the values is no literal.
    pub fn opening(&self, literals: &[(Arc<str>, ValueId)]) -> Routine {
        let mut routine = self.clone();
        let slots: Vec<TypedSlot> = literals.iter().map(|(_, value)| self.slot(*value).clone()).collect();
        routine.layout = Arc::new(self.layout.opening(&slots));
        for (name, value) in literals {
            let place = routine.literals.iter().position(|(literal, _)| literal == value);
            routine.literals.remove(place.expect("a literal of the routine"));
            routine.inputs.push((name.clone(), *value));
        }
        routine
    }

    /// The input with this name.
    pub fn input(&self, name: &str) -> Option<ValueId> {
        self.inputs.iter().find(|(n, _)| &**n == name).map(|(_, v)| *v)
    }

    /// Output and side outputs.
    pub fn results(&self) -> impl Iterator<Item = ValueId> + '_ {
        std::iter::once(self.output).chain(self.side_outputs.iter().map(|(_, v)| *v))
    }
}

impl Program {
    /// A program of these routines.
    ///
    /// # Panics
    /// Without a routine.
    pub fn new(routines: Vec<Routine>) -> Program {
        assert!(!routines.is_empty(), "a program has a main routine");
        Program { routines }
    }

    /// The routine that runs first.
    pub fn main(&self) -> &Routine {
        &self.routines[0]
    }

    /// All routines; the main routine is the first.
    pub fn routines(&self) -> &[Routine] {
        &self.routines
    }
}
