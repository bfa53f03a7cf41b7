//! Rows that are chosen, joined and numbered, and shapes of rows, which are numbers.
//!
//! ```text
//! array.take(v0, v1)         rows_of_numbers of `chosen.c`: new rows, or a category
//! array.at(v0, v1)           a test of the number, then the cell and its presence
//! array._shape_of(v0)        v0_n0
//! ```

use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, element_name};
use crate::native::c::writer::Writer;
use crate::native::operation::{Operation, text_for};
use cembra_vm::builtins::array::{
    AT, CONCAT, CONST, INVERSE_MAPPING, IOTA, OF_SHAPE, PRESENT_INDICES, PRESENT_VALUES, SEARCHSORTED,
    SELECT, SHAPE_OF, SHAPE_OF_SIZE, SLICE, TAKE, UNIQUE,
};
use cembra_vm::builtins::nd::shape::{TO_DENSE_ARRAY, TO_ND};
use cembra_vm::builtins::scattered::FROM_INDICES_AND_VALUES;
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::{QType, ScalarType};

/// The text that programs with such operators need, behind that of rows.
pub(super) const CHOSEN: &str = include_str!("chosen.c");

/// Names of operators that call functions of [`CHOSEN`].
const NAMES: [&str; 15] = [
    TAKE,
    SLICE,
    SELECT,
    PRESENT_INDICES,
    PRESENT_VALUES,
    CONCAT,
    UNIQUE,
    INVERSE_MAPPING,
    FROM_INDICES_AND_VALUES,
    SEARCHSORTED,
    IOTA,
    OF_SHAPE,
    CONST,
    TO_ND,
    TO_DENSE_ARRAY,
];

/// The text of rows that are chosen, if a program needs it.
pub(super) fn chosen_functions(program: &Program) -> &'static str {
    text_for(program, CHOSEN, |overload| NAMES.contains(&&**overload.name()))
}

/// True for an operator that asks for equal rows, which are found as groups are.
pub(super) fn groups_rows(overload: &Overload) -> bool {
    &**overload.name() == UNIQUE
}

impl Writer<'_> {
    /// Statements of an operator on rows or their shapes; `None` if it is none of them.
    pub(super) fn chosen(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        let name = operation.name();
        if name == AT {
            return self.row_at(ip, operands, result);
        }
        if name == SHAPE_OF {
            self.locals.array(operands[0])?;
            return Some(format!("{} = {}_n0;", self.locals.only(result), self.locals.owner(operands[0])));
        }
        if name == SHAPE_OF_SIZE {
            let size = (self.locals.only(operands[0]), CType::I64);
            let raise = self.raise(ip, &quoted("a shape has a size below 0"), std::slice::from_ref(&size));
            let refused = format!(
                "if (CEMBRA_RARE({} < 0)) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }}",
                size.0
            );
            return Some(format!("{{ {refused} {} = {}; }}", self.locals.only(result), size.0));
        }
        if !NAMES.contains(&name) {
            return None;
        }
        // Texts have no form.
        let is_array = |qtype: &QType| matches!(qtype, QType::Array(_) | QType::NdArray(_));
        let has_form = |qtype: &QType| !is_array(qtype) || BoundaryArray::of(qtype).is_some();
        if !overload.args().iter().chain([overload.result()]).all(has_form) {
            return None;
        }
        let size = operands.iter().find_map(|value| self.locals.array(*value)).map_or(0, BoundaryArray::size);
        let only = |position: usize| self.locals.only(operands[position]);
        if name == SEARCHSORTED {
            let code = match self.locals.array(operands[0])?.element() {
                ScalarType::Int32 => "i32",
                ScalarType::Int64 => "i64",
                ScalarType::Float32 => "f32",
                ScalarType::Float64 => "f64",
                _ => return None,
            };
            return Some(format!(
                "{{ cembra_array f = {}; {} = rows_below_{code}(&f, {}, {}); }}",
                self.descriptor(operands[0]),
                self.locals.only(result),
                only(1),
                only(2)
            ));
        }
        let of_result = self.locals.array(result)?.size();
        let call = match name {
            TAKE => format!("rows_of_numbers(&f0, {size}, &f1, &t)"),
            SLICE => format!("rows_from(&f0, {size}, {}, {}, &t)", only(1), only(2)),
            SELECT => format!("rows_where(&f0, {size}, &f1, &t)"),
            PRESENT_VALUES => format!("rows_where(&f0, {size}, &f0, &t)"),
            PRESENT_INDICES => "numbers_of_present(&f0, &t)".to_owned(),
            CONCAT => format!("rows_of_both(&f0, &f1, {size}, &t)"),
            UNIQUE => {
                let is_float = u8::from(self.locals.array(operands[0])?.element().is_float());
                format!("distinct_rows(&f0, {size}, {is_float}, &t)")
            }
            INVERSE_MAPPING => "inverse_of(&f0, &t)".to_owned(),
            FROM_INDICES_AND_VALUES => format!("rows_at(&f0, &f1, {of_result}, {}, &t)", only(2)),
            IOTA => format!("rows_of_shape({}, 8, NULL, 1, &t)", only(0)),
            OF_SHAPE => format!("rows_in_shape({}, &f1, {size}, &t)", only(0)),
            TO_ND => format!("elements_of_rows(&f0, {size}, &t)"),
            TO_DENSE_ARRAY => format!("rows_of_elements(&f0, {size}, &t)"),
            _ => return self.constant_rows(ip, operands, result, of_result),
        };
        let arrays = operands.iter().enumerate().filter(|(_, value)| self.locals.array(**value).is_some());
        let arrays: String = arrays
            .map(|(position, value)| format!("cembra_array f{position} = {}; ", self.descriptor(*value)))
            .collect();
        Some(format!("{{ {arrays}{} }}", self.new_rows_of(ip, result, &call)))
    }

    /// Statements that make an array by a call, whose category they raise.
    pub(super) fn new_rows_of(&self, ip: usize, result: ValueId, call: &str) -> String {
        format!("{} {}", self.made_by(ip, call), self.taken(result, "t"))
    }

    /// Statements that make an array by a call as `t`, and raise the category of the call.
    pub(super) fn made_by(&self, ip: usize, call: &str) -> String {
        let message = format!(
            "k == CEMBRA_LIMIT ? {} : k == CEMBRA_SIZE_MISMATCH ? {} : k == CEMBRA_MISSING_VALUE ? {} : {}",
            quoted("the array is too large"),
            quoted("arrays have different sizes"),
            quoted("a row is missing"),
            quoted("there is no such row, element or size")
        );
        let raise = self.raise(ip, &message, &[]);
        format!("cembra_array t = {{ 0 }}; int32_t k = {call}; if (CEMBRA_RARE(k)) {{ {raise} }}")
    }

    /// One value in every row of a shape; all are missing if it is.
    fn constant_rows(&self, ip: usize, operands: &[ValueId], result: ValueId, size: usize) -> Option<String> {
        let shape = self.locals.only(operands[0]);
        let cell = match size {
            0 => "uint8_t e = 0;".to_owned(),
            _ => {
                let (local, ctype) = self.locals.all(operands[1]).pop()?;
                format!("{} e = {local};", ctype.name())
            }
        };
        let is = self.locals.presence(operands[1]).unwrap_or_else(|| "1".to_owned());
        let made = self.new_rows_of(ip, result, &format!("rows_of_shape({shape}, {size}, &e, {is}, &t)"));
        Some(format!("{{ {cell} {made} }}"))
    }

    /// A row by its number, which may be missing.
    fn row_at(&self, ip: usize, operands: &[ValueId], result: ValueId) -> Option<String> {
        let array = self.locals.array(operands[0])?;
        let of_array = self.locals.owner(operands[0]);
        let (index, _) = self.locals.all(operands[1]).pop()?;
        let is = self.locals.presence(operands[1]).unwrap_or_else(|| "1".to_owned());
        let sizes = [(index.clone(), CType::I64), (format!("{of_array}_n0"), CType::I64)];
        let raise = self.raise(ip, &quoted("there is no such row"), &sizes);
        let to = self.locals.all(result);
        let (presence, _) = to.first()?;
        let value = match to.get(1) {
            None => String::new(),
            Some((cells, _)) => {
                let element = element_name(array.element());
                let truth = if array.element() == ScalarType::Boolean { " != 0" } else { "" };
                format!(
                    " {element} z = 0; if (is) memcpy(&z, (const char *)f.data + i * f.strides[0], sizeof z); {cells} = z{truth};"
                )
            }
        };
        Some(format!(
            "{{ cembra_array f = {}; int64_t i = {index}; uint8_t is = {is}; \
             if (CEMBRA_RARE(is && (i < 0 || i >= f.shape[0]))) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }} \
             is = is && is_present(&f, i);{value} {presence} = is; }}",
            self.descriptor(operands[0])
        ))
    }
}
