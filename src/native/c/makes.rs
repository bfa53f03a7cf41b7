//! Which instructions make arrays, and which change more of them than elements.

use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::primitive::Primitive;
use cembra_vm::program::{Instruction, Routine, ValueId};
use hashbrown::{HashMap, HashSet};

/// The arrays that instructions of a routine make, by their owners; those that are changed only are not among them.
pub(super) fn made(routine: &Routine) -> HashSet<ValueId> {
    let (owners, body) = (routine.owners(), &routine.body);
    let makes = |instruction: &&Instruction| match instruction {
        Instruction::Operator { operator, .. } => !body.operators()[*operator as usize].updates(),
        _ => true,
    };
    let written = body.instructions().iter().filter(makes).flat_map(|instruction| body.writes(instruction));
    let arrays = written.filter(|value| BoundaryArray::of(routine.slot(**value).qtype()).is_some());
    arrays.map(|value| owners.owner(*value)).collect()
}

/// The arrays that one instruction makes once in a call, and that are results, with the numbers of these.
pub(super) fn made_results(routine: &Routine) -> HashMap<ValueId, usize> {
    let (owners, body) = (routine.owners(), &routine.body);
    let goes_back = (0..body.instructions().len()).any(|ip| body.target(ip).is_some_and(|to| to <= ip));
    let mut writes: HashMap<ValueId, usize> = HashMap::new();
    let written = body.instructions().iter().flat_map(|instruction| body.writes(instruction));
    written.for_each(|value| *writes.entry(owners.owner(*value)).or_default() += 1);
    let (made, mut found) = (made(routine), HashMap::new());
    for (position, result) in routine.results().enumerate() {
        let owner = owners.owner(result);
        if !goes_back && writes.get(&owner) == Some(&1) && made.contains(&owner) {
            found.entry(owner).or_insert(position);
        }
    }
    found
}

/// True if an instruction that writes an array changes its memory or its sizes, and not elements alone.
pub(super) fn changes_arrays(routine: &Routine, ip: usize) -> bool {
    match routine.body.instructions()[ip] {
        Instruction::Operator { operator, .. } => {
            let primitive = routine.body.operators()[operator as usize].primitive();
            !matches!(primitive, Some(Primitive::Set(..)))
        }
        _ => true,
    }
}
