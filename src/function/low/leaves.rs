//! Leaves of types: the numbers and arrays that a value of the machine is made of.

use crate::function::types::{ArrayOf, FunctionType};
use cembra_vm::value::{QType, ScalarType};

/// True if a part of the type may be None.
pub(super) fn has_optional(of: &FunctionType) -> bool {
    match of {
        FunctionType::Optional(_) => true,
        FunctionType::Tuple(fields) => fields.iter().any(has_optional),
        _ => false,
    }
}

/// Types of the leaves: numbers and arrays, from left to right.
pub(super) fn leaf_types(of: &FunctionType, out: &mut Vec<FunctionType>) {
    match of {
        FunctionType::None | FunctionType::Text => {}
        FunctionType::Dict(dict) => {
            let lists = [Some(dict.keys()), dict.values(), Some(ArrayOf::list(ScalarType::Int64))];
            out.extend(lists.into_iter().flatten().map(FunctionType::Array));
        }
        FunctionType::Tuple(fields) => fields.iter().for_each(|field| leaf_types(field, out)),
        FunctionType::Optional(of) => out.extend([FunctionType::Bool, (**of).clone()]),
        leaf => out.push(leaf.clone()),
    }
}

/// Offsets and types of the leaves in a value of the machine.
pub(super) fn leaf_places(of: &FunctionType, qtype: &QType, base: u32, out: &mut Vec<(u32, QType)>) {
    match (of, qtype.tuple()) {
        (FunctionType::Tuple(fields), Some(tuple)) => {
            for (index, field) in fields.iter().enumerate() {
                leaf_places(field, &tuple.fields()[index], base + tuple.offset(index), out);
            }
        }
        (FunctionType::None | FunctionType::Text, _) => {}
        _ => out.push((base, qtype.clone())),
    }
}

/// True if a part of the type is an array.
pub(super) fn has_array(of: &FunctionType) -> bool {
    match of {
        FunctionType::Array(_) | FunctionType::Dict(_) => true,
        FunctionType::Tuple(fields) => fields.iter().any(has_array),
        _ => false,
    }
}
