//! Places: the variables that say where the elements of arrays stand.
//!
//! ```text
//! slot 0x40 ──> first, stride of axis 0, size and stride of axis 1, …
//!               readable, writable: the size of axis 0, or 0 where elements may not be read or written like this
//! ```
//!
//! They are loaded where a routine begins, and wherever a cell may have changed them
//! ([`elements`](crate::jit::elements)).

use crate::layout::element_place::key;
use crate::operator::Kernel;
use crate::operator::primitive::Primitive;
use crate::program::counted::ElementAccess;
use crate::program::{Instruction, Routine};
use crate::value::nd_type::MAX_RANK;
use cranelift_codegen::ir::types;
use cranelift_frontend::{FunctionBuilder, Variable};
use hashbrown::{HashMap, HashSet};

/// Where elements stand, by the offset of the array's slot.
#[derive(Default)]
pub(super) struct Places {
    pub(super) of: HashMap<u32, Place>,
}

/// The variables of a place.
#[derive(Clone)]
pub(super) struct Place {
    /// That of the array type.
    pub(super) key: u32,
    /// The size of the first axis where elements may be read; else 0. `None` if the routine reads none.
    pub(super) readable: Option<Variable>,
    /// The same where they may be written.
    pub(super) writable: Option<Variable>,
    /// The first element.
    pub(super) first: Variable,
    /// The sizes of the other axes.
    pub(super) sizes: Vec<Variable>,
    pub(super) strides: Vec<Variable>,
}

/// The arrays of a routine whose elements are read or written: offset of the slot, key, number of axes and what is done.
fn accessed(routine: &Routine) -> impl Iterator<Item = (u32, u32, usize, ElementAccess)> + '_ {
    let body = &routine.body;
    body.instructions().iter().filter_map(move |instruction| {
        let Instruction::Operator { operator, operands, .. } = *instruction else { return None };
        let Kernel::Element(code) = body.operators()[operator as usize].kernel() else { return None };
        let (element, rank, access) = match code.primitive? {
            Primitive::Get(element, rank) => (element, rank, ElementAccess::Read),
            Primitive::Set(element, rank) => (element, rank, ElementAccess::Write),
            _ => return None,
        };
        let slot = routine.slot(body.list(operands)[0]).offset();
        Some((slot, key(element, rank), rank, access))
    })
}

/// How many variables the places of a routine take, at most.
pub(super) fn variables_of_places(routine: &Routine) -> usize {
    let slots: HashSet<u32> = accessed(routine).map(|(slot, ..)| slot).collect();
    slots.len() * (2 * MAX_RANK + 2)
}

impl Places {
    /// Variables for the places of a routine, which have no values yet.
    pub(super) fn of(routine: &Routine, b: &mut FunctionBuilder<'_>) -> Places {
        let mut places = Places::default();
        for (slot, key, rank, access) in accessed(routine) {
            let place = places.of.entry(slot).or_insert_with(|| Place {
                key,
                readable: None,
                writable: None,
                first: b.declare_var(types::I64),
                sizes: (1..rank).map(|_| b.declare_var(types::I64)).collect(),
                strides: (0..rank).map(|_| b.declare_var(types::I64)).collect(),
            });
            let bounds = match access {
                ElementAccess::Read => &mut place.readable,
                ElementAccess::Write => &mut place.writable,
            };
            bounds.get_or_insert_with(|| b.declare_var(types::I64));
        }
        places
    }
}
