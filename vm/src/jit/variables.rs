//! Leaves: the plain scalars that a value consists of, and the types of their variables.
//!
//! ```text
//! FLOAT64 [0x10]                 a leaf at 0x10
//! OPTIONAL_FLOAT64 [0x20]        a leaf of presence at 0x20, one of the value at 0x28
//! tuple (INT64, TEXT) [0x30]     a leaf at 0x30; the text has none, it stays in the frame
//! ```
//!
//! A view has leaves of its owner. A variable is known by the owner and the offset in the frame.

use crate::layout::TypedSlot;
use crate::program::ValueId;
use crate::value::{QType, ScalarType};
use cranelift_codegen::ir::{Type, types};

/// A leaf, by the owner of the value and its offset.
pub(super) type Key = (ValueId, u32);

/// A plain scalar of a value, at an offset of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) offset: u32,
    pub(super) variable: Type,
    /// The offset of the presence of this value, if it is that of an optional.
    pub(super) presence: Option<u32>,
}

/// The leaves of a slot, in the order of their offsets.
pub(super) fn leaves(slot: &TypedSlot) -> Vec<Leaf> {
    let mut found = Vec::with_capacity(2);
    gather(slot.offset(), slot.qtype(), &mut found);
    found
}

/// True if all of a slot is leaves: nothing of it stays in the frame.
pub(super) fn is_all_leaves(qtype: &QType) -> bool {
    match qtype {
        QType::Scalar(scalar) | QType::Optional(scalar) => variable_type(*scalar).is_some(),
        QType::Tuple(tuple) => tuple.fields().iter().all(is_all_leaves),
        _ => false,
    }
}

fn gather(offset: u32, qtype: &QType, found: &mut Vec<Leaf>) {
    match qtype {
        QType::Scalar(scalar) => {
            let leaf = |variable| Leaf { offset, variable, presence: None };
            found.extend(variable_type(*scalar).map(leaf));
        }
        QType::Optional(scalar) => {
            found.push(Leaf { offset, variable: types::I8, presence: None });
            // A mask has nothing behind its presence.
            let variable = variable_type(*scalar).filter(|_| *scalar != ScalarType::Unit);
            let leaf = |(variable, at)| Leaf { offset: offset + at, variable, presence: Some(offset) };
            found.extend(variable.zip(qtype.value_offset()).map(leaf));
        }
        QType::Tuple(tuple) => {
            let fields = tuple.fields().iter().zip(tuple.offsets());
            fields.for_each(|(field, at)| gather(offset + at, field, found));
        }
        _ => {}
    }
}

/// The type of a variable for a scalar; `None` of texts and bytes.
fn variable_type(scalar: ScalarType) -> Option<Type> {
    match scalar {
        ScalarType::Unit | ScalarType::Boolean => Some(types::I8),
        ScalarType::Int32 => Some(types::I32),
        ScalarType::Int64 => Some(types::I64),
        ScalarType::Float32 => Some(types::F32),
        ScalarType::Float64 | ScalarType::WeakFloat => Some(types::F64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::qtype::{INT64, OPTIONAL_UNIT, TEXT};
    use crate::value::tuple::TupleType;

    #[test]
    fn texts_stay_in_the_frame() {
        let optional = QType::Optional(ScalarType::Float64);
        let fields = [INT64, TEXT, optional.clone(), OPTIONAL_UNIT];
        let tuple = QType::Tuple(TupleType::new(fields).expect("few fields"));
        let found = leaves(&TypedSlot::new(0x40, tuple.clone()));
        let types: Vec<Type> = found.iter().map(|leaf| leaf.variable).collect();
        assert_eq!(types, [types::I64, types::I8, types::F64, types::I8]);
        assert_eq!(found[2].presence, Some(found[1].offset));
        assert_eq!(found[3].presence, None);
        assert!(!is_all_leaves(&tuple) && is_all_leaves(&optional));
    }
}
