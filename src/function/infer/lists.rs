//! Types of lists and dictionaries: the common type of everything that is put into them.

use super::instance::Instance;
use crate::function::library::{LibraryKind, ListMethod};
use crate::function::op::FunctionOp;
use crate::function::types::{ArrayOf, DictOf, FunctionType};
use crate::ssa::InstId;
use cembra_vm::value::ScalarType;
use hashbrown::HashSet;

/// The type of a list: its first elements, what is appended to it or to what it may be, and what is assigned there.
pub(super) fn type_of_list(
    instance: &Instance,
    list: InstId,
    own: Option<FunctionType>,
) -> Option<FunctionType> {
    let flow = &instance.function.flow;
    let same = same_values(instance, list);
    let mut of = own;
    for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
        // The list comes first, the number second; what is inserted comes behind its place.
        let number = match flow.operation(*inst) {
            Some(FunctionOp::LibraryFunction(builtin)) => match builtin.kind() {
                LibraryKind::Append => 1,
                LibraryKind::List(ListMethod::Insert) => 2,
                _ => continue,
            },
            Some(FunctionOp::SetItem(_)) => 1,
            _ => continue,
        };
        let args = &flow.inst(*inst).args;
        if args.len() <= number || !same.contains(&args[0]) {
            continue;
        }
        let item = instance.types[args[number].index()].as_ref().and_then(FunctionType::element);
        let item = item.map(|element| FunctionType::Array(ArrayOf::list(element)));
        of = match (of, item) {
            (Some(a), Some(b)) => a.join(&b).or(Some(a)),
            (a, b) => a.or(b),
        };
    }
    of
}

/// The values that an object may be known as: itself, and phis of it.
fn same_values(instance: &Instance, object: InstId) -> HashSet<InstId> {
    let flow = &instance.function.flow;
    let mut same: HashSet<InstId> = HashSet::from([object]);
    loop {
        let before = same.len();
        for block in flow.block_ids() {
            for phi in flow.phis(block) {
                if flow.inst(phi).args.iter().any(|arg| same.contains(arg)) {
                    same.insert(phi);
                }
            }
        }
        if same.len() == before {
            break;
        }
    }
    same
}

/// The type of a dictionary or a set that begins empty: the keys and values that are put into it.
pub(super) fn type_of_dict(instance: &Instance, dict: InstId, kind: LibraryKind) -> Option<FunctionType> {
    let flow = &instance.function.flow;
    let same = same_values(instance, dict);
    let (mut key, mut value): (Option<FunctionType>, Option<FunctionType>) = (None, None);
    let join = |a: Option<FunctionType>, b: Option<&FunctionType>| match (a, b.filter(|it| it.is_number())) {
        (Some(a), Some(b)) => a.join(b).or(Some(a)),
        (a, b) => a.or(b.cloned()),
    };
    for inst in flow.blocks.iter().flat_map(|block| &block.insts) {
        let args = &flow.inst(*inst).args;
        let type_at = |at: usize| args.get(at).and_then(|arg| instance.types[arg.index()].as_ref());
        let is_known = args.first().is_some_and(|first| same.contains(first));
        match flow.operation(*inst) {
            Some(FunctionOp::SetItem(_)) if is_known => {
                key = join(key, type_at(2));
                value = join(value, type_at(1));
            }
            Some(FunctionOp::LibraryFunction(builtin))
                if is_known && builtin.kind() == LibraryKind::AddKey =>
            {
                key = join(key, type_at(1));
            }
            _ => {}
        }
    }
    // Truth values are refused where they are put in.
    let key = match key? {
        FunctionType::Float => ScalarType::Float64,
        _ => ScalarType::Int64,
    };
    let value = match kind {
        LibraryKind::NewSet => None,
        _ => Some(value?.element()?),
    };
    Some(FunctionType::Dict(DictOf { key, value }))
}

/// The type of what begins empty, and gets nothing that has a type.
pub(super) fn type_of_empty(kind: LibraryKind) -> FunctionType {
    let int = ScalarType::Int64;
    match kind {
        LibraryKind::NewDict => FunctionType::Dict(DictOf { key: int, value: Some(int) }),
        LibraryKind::NewSet => FunctionType::Dict(DictOf { key: int, value: None }),
        _ => FunctionType::Array(ArrayOf::list(int)),
    }
}
