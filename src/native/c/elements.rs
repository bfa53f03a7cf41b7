//! Elements of arrays: where one stands, and what happens where there is none.

use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, element_name};
use crate::native::c::writer::Writer;
use cembra_vm::program::ValueId;
use cembra_vm::value::{ScalarType, ScalarValue};
use std::fmt::Write;

impl Writer<'_> {
    /// Statements that compute `a`, the place of an element; they raise outside.
    fn place(&self, ip: usize, array: ValueId, indices: &[ValueId]) -> String {
        let array = self.locals.owner(array);
        let (mut text, mut place) = (String::new(), array.to_string());
        let is_inside = self.without_checks.as_ref().is_some_and(|again| again.elements.contains(&ip));
        for (axis, index) in indices.iter().enumerate() {
            let (index, size) = (self.locals.only(*index), format!("{array}_n{axis}"));
            if is_inside {
                let _ = write!(place, " + {index} * {array}_s{axis}");
                continue;
            }
            let axis_number = ("INT64_C(".to_owned() + &axis.to_string() + ")", CType::I64);
            let operands = [(index.clone(), CType::I64), axis_number, (size.clone(), CType::I64)];
            let _ = write!(
                text,
                "int64_t i{axis} = place_along({index}, {size}); if (CEMBRA_RARE((uint64_t)i{axis} >= (uint64_t){size})) \
                 {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {} }} ",
                self.raise(ip, "NULL", &operands)
            );
            let _ = write!(place, " + i{axis} * {array}_s{axis}");
        }
        text + "char *a = " + &place + ";"
    }

    /// Reads an element.
    pub(super) fn get(
        &self,
        ip: usize,
        element: ScalarType,
        operands: &[ValueId],
        result: ValueId,
    ) -> String {
        let (name, to) = (element_name(element), self.locals.only(result));
        let value = match element {
            ScalarType::Boolean => "e != 0".to_owned(),
            _ => "e".to_owned(),
        };
        let beyond = match element {
            ScalarType::Uint64 => {
                let message = quoted("an element of UINT64 is larger than any INT64");
                format!(
                    " if (CEMBRA_RARE(e > INT64_MAX)) {{ int32_t k = CEMBRA_CAST; {} }}",
                    self.raise(ip, &message, &[])
                )
            }
            _ => String::new(),
        };
        let place = self.place(ip, operands[0], &operands[1..]);
        format!("{{ {place} {name} e; memcpy(&e, a, sizeof e);{beyond} {to} = {value}; }}")
    }

    /// Writes an element.
    pub(super) fn set(&self, ip: usize, element: ScalarType, operands: &[ValueId]) -> String {
        let (name, value) = (element_name(element), self.locals.only(operands[1]));
        if self.speculates {
            return format!("e{ip} = ({name}){value}; is{ip} = 1;");
        }
        let place = self.place(ip, operands[0], &operands[2..]);
        format!("{{ {place} {name} e = ({name}){value}; memcpy(a, &e, sizeof e); }}")
    }

    /// The size of an axis; a negative one counts from the last.
    pub(super) fn length(&self, ip: usize, operands: &[ValueId], result: ValueId) -> Option<String> {
        let (array, rank) = (self.locals.owner(operands[0]), self.locals.array(operands[0])?.rank());
        let result = self.locals.only(result);
        if let Some(ScalarValue::Int64(axis)) = self.literals.get(&operands[1])
            && let Some(axis) = usize::try_from(*axis).ok().filter(|axis| *axis < rank)
        {
            return Some(format!("{result} = {array}_n{axis};"));
        }
        let axis = self.locals.only(operands[1]);
        let sizes: String = (0..rank).map(|axis| format!("{array}_n{axis}, ")).collect();
        let operands = [axis.clone(), "INT64_C(0)".to_owned(), format!("INT64_C({rank})")];
        let raise = self.raise(ip, "NULL", &operands.map(|operand| (operand, CType::I64)));
        Some(format!(
            "{{ int64_t sizes[] = {{ {sizes}0 }}, i = place_along({axis}, {rank}); \
             if (CEMBRA_RARE((uint64_t)i >= {rank})) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }} {result} = sizes[i]; }}"
        ))
    }
}
