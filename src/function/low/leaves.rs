//! Leaves of types: the numbers and arrays that a value of the machine is made of, and the ways there and back.

use super::{LowOp, Lower, Lowering};
use crate::function::types::{ArrayOf, FunctionType};
use crate::ssa::InstId;
use cembra_vm::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

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

impl Lowering<'_> {
    /// Takes the leaves of a value of the first type, and gives those of the same value under the second, wider one.
    pub(super) fn widen(
        &mut self,
        leaves: &mut std::vec::IntoIter<InstId>,
        (of, wanted): (&FunctionType, &FunctionType),
        out: &mut Vec<InstId>,
    ) {
        match (of, wanted) {
            (FunctionType::Tuple(fields), FunctionType::Tuple(wider)) => {
                let pairs = fields.iter().zip(&**wider);
                pairs.for_each(|pair| self.widen(leaves, pair, out));
            }
            (of, FunctionType::Optional(number)) => {
                let flag = match of {
                    FunctionType::Optional(_) => leaves.next(),
                    of => Some(self.boolean(*of != FunctionType::None)),
                };
                let (leaf, of) = match of {
                    FunctionType::None => (Some(self.boolean(false)), &FunctionType::Bool),
                    of => (leaves.next(), of.without_none()),
                };
                out.extend(flag);
                out.extend(leaf.map(|leaf| self.cast(leaf, of, number)));
            }
            _ => {
                let mut types = Vec::new();
                leaf_types(of, &mut types);
                let own = leaves.by_ref().take(types.len());
                out.extend(own.map(|leaf| self.cast(leaf, of, wanted)));
            }
        }
    }

    /// One value of a type, from its leaves.
    pub(super) fn assemble(&mut self, leaves: Vec<InstId>, of: &FunctionType) -> Lower<InstId> {
        let qtype = self.qtype(of)?;
        match of {
            FunctionType::None => Ok(self.literal(Value::Scalar(ScalarValue::Unit))),
            FunctionType::Tuple(fields) => {
                let mut rest = leaves.into_iter();
                let mut parts = Vec::new();
                for field in &**fields {
                    let mut types = Vec::new();
                    leaf_types(field, &mut types);
                    let of_field = rest.by_ref().take(types.len()).collect();
                    parts.push(self.assemble(of_field, field)?);
                }
                Ok(self.total("core.make_tuple", parts, qtype))
            }
            FunctionType::Optional(_) => {
                let truth = self.boolean(true);
                let mask = self.total("core.equal", vec![leaves[0], truth], OPTIONAL_UNIT);
                Ok(self.total("core.presence_and", vec![leaves[1], mask], qtype))
            }
            _ => Ok(leaves[0]),
        }
    }

    /// The leaves of a parameter or of the result of a call.
    pub(super) fn parts(&mut self, whole: InstId, of: &FunctionType) -> Lower<Vec<InstId>> {
        let mut places = Vec::new();
        leaf_places(of, &self.qtype(of)?, 0, &mut places);
        let mut leaves = Vec::new();
        for (offset, qtype) in places {
            let part = match of {
                FunctionType::Tuple(_) => self.push(LowOp::Part(offset), vec![whole], qtype.clone()),
                _ => whole,
            };
            match qtype {
                QType::Optional(scalar) => {
                    leaves.extend(self.parts_of_optional((whole, offset), part, scalar))
                }
                _ => leaves.push(part),
            }
        }
        Ok(leaves)
    }

    /// A truth value, whether an optional value is there, and its number; it stands in another value from an offset on.
    fn parts_of_optional(
        &mut self,
        (whole, offset): (InstId, u32),
        part: InstId,
        scalar: ScalarType,
    ) -> [InstId; 2] {
        let mask = self.push(LowOp::Part(offset), vec![whole], OPTIONAL_UNIT);
        let [yes, no] = [true, false].map(|truth| self.boolean(truth));
        let flag = self.total("core.presence_and", vec![yes, mask], QType::Optional(ScalarType::Boolean));
        let flag = self.total("core.presence_or", vec![flag, no], BOOLEAN);
        let zero = match scalar {
            ScalarType::Boolean => no,
            ScalarType::Int64 => self.int(0),
            _ => self.float(0.0),
        };
        [flag, self.total("core.presence_or", vec![part, zero], QType::Scalar(scalar))]
    }
}
