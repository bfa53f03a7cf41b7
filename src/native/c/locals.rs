//! Locals: the plain scalars and the arrays that values of a routine become in C.
//!
//! ```text
//! v3: FLOAT64 [0x10]             double v3;
//! v4: OPTIONAL_INT64 [0x18]      uint8_t v4_0; int64_t v4_8;      by the offset in the value
//! v5: NDARRAY_FLOAT64_NN         char *v5; int64_t v5_n0, v5_n1, v5_s0, v5_s1;
//! v7: DENSE_ARRAY_FLOAT64         the same with const uint8_t *v7_valid; int64_t v7_bit;    its bitmap, and the bit of the first row
//! v6, a view of v4               the locals of v4
//! ```

use cembra_vm::library::BoundaryArray;
use cembra_vm::program::program::Owners;
use cembra_vm::program::{Routine, ValueId};
use cembra_vm::value::{QType, ScalarType};

/// A type of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum CType {
    U8,
    I32,
    I64,
    F32,
    F64,
}

impl CType {
    /// That of a plain scalar.
    pub(in crate::native) fn of(scalar: ScalarType) -> Option<CType> {
        match scalar {
            ScalarType::Unit | ScalarType::Boolean => Some(CType::U8),
            ScalarType::Int32 => Some(CType::I32),
            ScalarType::Int64 => Some(CType::I64),
            ScalarType::Float32 => Some(CType::F32),
            ScalarType::Float64 | ScalarType::WeakFloat => Some(CType::F64),
            _ => None,
        }
    }

    /// Its name in C.
    pub(in crate::native) fn name(self) -> &'static str {
        match self {
            CType::U8 => "uint8_t",
            CType::I32 => "int32_t",
            CType::I64 => "int64_t",
            CType::F32 => "float",
            CType::F64 => "double",
        }
    }

    /// The bits of a local, as an operand of an error.
    pub(in crate::native) fn bits(self, local: &str) -> String {
        match self {
            CType::F64 => format!("bits_f64({local})"),
            CType::F32 => format!("bits_f32({local})"),
            _ => format!("(uint64_t){local}"),
        }
    }
}

/// The name in C of the elements of an array.
pub(in crate::native) fn element_name(element: ScalarType) -> &'static str {
    match element {
        ScalarType::Unit | ScalarType::Boolean | ScalarType::Uint8 => "uint8_t",
        ScalarType::Int8 => "int8_t",
        ScalarType::Int16 => "int16_t",
        ScalarType::Uint16 => "uint16_t",
        ScalarType::Int32 => "int32_t",
        ScalarType::Uint32 => "uint32_t",
        ScalarType::Uint64 => "uint64_t",
        ScalarType::Float32 => "float",
        ScalarType::Float64 => "double",
        _ => "int64_t",
    }
}

/// A plain scalar of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) struct Leaf {
    /// Its offset in the value.
    pub(in crate::native) at: u32,
    pub(in crate::native) ctype: CType,
}

/// The scalars that a type consists of, in order; `None` if it is not plain.
pub(in crate::native) fn leaves(qtype: &QType) -> Option<Vec<Leaf>> {
    let mut found = Vec::new();
    gather(0, qtype, &mut found).then_some(found)
}

fn gather(at: u32, qtype: &QType, found: &mut Vec<Leaf>) -> bool {
    match qtype {
        QType::Scalar(scalar) => {
            let leaf = CType::of(*scalar).map(|ctype| Leaf { at, ctype });
            found.extend(leaf);
            leaf.is_some()
        }
        QType::Optional(scalar) => {
            found.push(Leaf { at, ctype: CType::U8 });
            // A mask has nothing behind its presence.
            let value = qtype.value_offset().filter(|_| *scalar != ScalarType::Unit);
            value.is_none_or(|offset| gather(at + offset, &QType::Scalar(*scalar), found))
        }
        QType::ArrayShape(_) => {
            found.push(Leaf { at, ctype: CType::I64 });
            true
        }
        // They have one value.
        QType::ScalarShape | QType::OptionalScalarShape => true,
        QType::Tuple(tuple) => tuple
            .fields()
            .iter()
            .zip(tuple.offsets())
            .all(|(field, offset)| gather(at + offset, field, found)),
        _ => false,
    }
}

/// Names of locals.
pub(in crate::native) struct Locals<'r> {
    routine: &'r Routine,
    owners: Owners,
}

impl<'r> Locals<'r> {
    pub(in crate::native) fn new(routine: &'r Routine) -> Locals<'r> {
        Locals { routine, owners: routine.owners() }
    }

    /// Whose bytes the values have.
    pub(in crate::native) fn owners(&self) -> &Owners {
        &self.owners
    }

    /// The value whose locals these are.
    pub(in crate::native) fn owner(&self, value: ValueId) -> ValueId {
        self.owners.owner(value)
    }

    /// The local of a leaf of a value.
    pub(in crate::native) fn name(&self, value: ValueId, leaf: Leaf) -> String {
        let owner = self.owners.owner(value);
        let slot = self.routine.slot(owner);
        let at = self.routine.slot(value).offset() - slot.offset() + leaf.at;
        match slot.qtype() {
            QType::Scalar(_) => owner.to_string(),
            _ => format!("{owner}_{at}"),
        }
    }

    /// The locals of a plain value, in order.
    pub(in crate::native) fn all(&self, value: ValueId) -> Vec<(String, CType)> {
        let leaves = leaves(self.routine.slot(value).qtype()).unwrap_or_default();
        leaves.into_iter().map(|leaf| (self.name(value, leaf), leaf.ctype)).collect()
    }

    /// The last local of each of some plain values, which says what it is where it is there.
    pub(in crate::native) fn cells(&self, values: &[ValueId]) -> Vec<(String, CType)> {
        values.iter().filter_map(|value| self.all(*value).pop()).collect()
    }

    /// Whether all of some plain values are there; `None` if they always are.
    pub(in crate::native) fn all_there(&self, values: &[ValueId]) -> Option<String> {
        let present: Vec<String> = values.iter().filter_map(|value| self.presence(*value)).collect();
        (!present.is_empty()).then(|| present.join(" & "))
    }

    /// The only local of a scalar or a mask.
    pub(in crate::native) fn only(&self, value: ValueId) -> String {
        self.all(value).pop().map(|(name, _)| name).unwrap_or_default()
    }

    /// The array type of a value.
    pub(in crate::native) fn array(&self, value: ValueId) -> Option<BoundaryArray> {
        BoundaryArray::of(self.routine.slot(value).qtype())
    }

    /// What says whether a plain value that may be missing is there; `None` of one that always is.
    pub(in crate::native) fn presence(&self, value: ValueId) -> Option<String> {
        let is_optional = self.routine.slot(value).qtype().is_optional();
        self.all(value).into_iter().next().filter(|_| is_optional).map(|(name, _)| name)
    }
}
