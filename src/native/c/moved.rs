//! Elements under other axes: reshaped, repeated, taken, joined and summed up.
//!
//! ```text
//! nd._reshape(v0, AXES_, v1, v2)     reshaped of `moved.c`: a new array, or a category
//! nd._take(v0, v1, AXES_0)           taken_along; of one axis and one place an element
//! nd.shape(v0)                       the sizes, as an array
//! ```

use crate::native::c::fold_kinds::code;
use crate::native::c::locals::{CType, element_name};
use crate::native::c::writer::Writer;
use crate::native::operation::{Operation, text_for};
use cembra_vm::builtins::nd::along::{CONCATENATE, TAKE};
use cembra_vm::builtins::nd::running::{CUMSUM, CUMSUM_BACK, CUMSUM_IN_GROUPS, CUMSUM_IN_GROUPS_BACK};
use cembra_vm::builtins::nd::shape::{BROADCAST_TO, RESHAPE, SHAPE, SIZE};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::{Axes, QType, ScalarType};

/// The text that programs with such operators need.
pub(super) const MOVED: &str = include_str!("moved.c");

/// Names of operators that call functions of [`MOVED`].
const NAMES: [&str; 9] = [
    RESHAPE,
    BROADCAST_TO,
    SHAPE,
    TAKE,
    CONCATENATE,
    CUMSUM,
    CUMSUM_BACK,
    CUMSUM_IN_GROUPS,
    CUMSUM_IN_GROUPS_BACK,
];

/// The text of elements that are moved, if a program needs it.
pub(super) fn moved_functions(program: &Program) -> &'static str {
    text_for(program, MOVED, |overload| NAMES.contains(&&**overload.name()))
}

/// A bit for each axis.
fn bits(axes: impl Iterator<Item = usize>) -> u32 {
    axes.fold(0, |bits, axis| bits | 1 << axis)
}

fn units(array: BoundaryArray) -> u32 {
    bits((0..array.rank()).filter(|axis| array.is_unit(*axis)))
}

fn only(axes: &Axes) -> Option<usize> {
    axes.iter().next().filter(|_| axes.len() == 1)
}

impl Writer<'_> {
    /// Statements of an operator that gives elements under other axes; `None` if it is none.
    pub(super) fn moved(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        let name = operation.name();
        if name == SIZE {
            return self.number_of_elements(overload, operands, result);
        }
        if !NAMES.contains(&name) {
            return None;
        }
        let (before, call) = match overload.args() {
            [_, QType::Axes(units), sizes @ ..] if name == RESHAPE || name == BROADCAST_TO => {
                self.resized(name, *units, operands, sizes.len())?
            }
            [QType::NdArray(array)] => self.shape(array.rank(), operands[0]),
            [_, places, QType::Axes(axis)] => self.taken_along(operands, places, only(axis)?)?,
            [QType::Axes(axis), ..] => self.joined(&operands[1..], only(axis)?)?,
            [_, QType::Axes(axes)] => self.summed(name, operands[0], *axes)?,
            _ => return None,
        };
        match self.locals.array(result) {
            Some(_) => Some(format!("{{ {before}{} }}", self.new_rows_of(ip, result, &call))),
            None => {
                let array = self.locals.array(operands[0])?;
                Some(self.only_element(ip, array.element(), result, &before, &call))
            }
        }
    }

    /// What is declared before a call that gives elements other sizes, and the call.
    fn resized(
        &self,
        name: &str,
        units: Axes,
        operands: &[ValueId],
        rank: usize,
    ) -> Option<(String, String)> {
        let (source, from_rank, from_units, size) = self.source(operands[0])?;
        let sizes: Vec<String> = operands[2..].iter().map(|size| self.locals.only(*size)).collect();
        let list = if sizes.is_empty() { "0".to_owned() } else { sizes.join(", ") };
        let (before, units) = (format!("{source}int64_t n[] = {{ {list} }}; "), bits(units.iter()));
        let call = match name {
            RESHAPE => format!("reshaped(&f, {from_rank}, {size}, {rank}, n, {units}u, &t)"),
            _ => format!("repeated(&f, {from_rank}, {from_units}u, {size}, {rank}, n, {units}u, &t)"),
        };
        Some((before, call))
    }

    /// The array or the scalar that is given other sizes as `f`: its axes, which of them are unit axes, and the bytes of an element.
    fn source(&self, value: ValueId) -> Option<(String, usize, u32, usize)> {
        if let Some(array) = self.locals.array(value) {
            return Some((self.as_f(value), array.rank(), units(array), array.size()));
        }
        let [(local, ctype)] = &self.locals.all(value)[..] else { return None };
        let size = match ctype {
            CType::U8 => 1,
            CType::I32 | CType::F32 => 4,
            CType::I64 | CType::F64 => 8,
        };
        let name = ctype.name();
        let before = format!("{name} e = {local}; cembra_array f = {{ &e, {{ 0 }}, {{ 0 }}, NULL, 0 }}; ");
        Some((before, 0, 0, size))
    }

    fn as_f(&self, array: ValueId) -> String {
        format!("cembra_array f = {}; ", self.descriptor(array))
    }

    fn shape(&self, rank: usize, array: ValueId) -> (String, String) {
        let owner = self.locals.owner(array);
        let sizes: Vec<String> = (0..rank).map(|axis| format!("{owner}_n{axis}")).collect();
        let list = if rank == 0 { "0".to_owned() } else { sizes.join(", ") };
        let before =
            format!("int64_t n[] = {{ {list} }}; cembra_array f = {{ n, {{ {rank} }}, {{ 8 }}, NULL, 0 }}; ");
        (before, "copied_array(&f, 1, 8, &t)".to_owned())
    }

    fn taken_along(&self, operands: &[ValueId], places: &QType, axis: usize) -> Option<(String, String)> {
        let array = self.locals.array(operands[0])?;
        let (rank, places) = match places {
            QType::NdArray(places) => {
                (places.rank(), format!("cembra_array g = {}; ", self.descriptor(operands[1])))
            }
            _ => {
                let place = self.locals.only(operands[1]);
                (0, format!("int64_t p = {place}; cembra_array g = {{ &p, {{ 0 }}, {{ 0 }}, NULL, 0 }}; "))
            }
        };
        let call = format!("taken_along(&f, {}, {}, {axis}, &g, {rank}, &t)", array.rank(), array.size());
        Some((self.as_f(operands[0]) + &places, call))
    }

    fn joined(&self, arrays: &[ValueId], axis: usize) -> Option<(String, String)> {
        let first = self.locals.array(*arrays.first()?)?;
        let numbered = arrays.iter().enumerate();
        let descriptors: String = numbered
            .map(|(number, array)| format!("cembra_array f{number} = {}; ", self.descriptor(*array)))
            .collect();
        let list: Vec<String> = (0..arrays.len()).map(|number| format!("&f{number}")).collect();
        let before = format!("{descriptors}const cembra_array *const all[] = {{ {} }}; ", list.join(", "));
        let (count, rank, size) = (arrays.len(), first.rank(), first.size());
        Some((before, format!("joined_along({count}, all, {rank}, {size}, {axis}, &t)")))
    }

    fn summed(&self, name: &str, array: ValueId, axes: Axes) -> Option<(String, String)> {
        let of = self.locals.array(array)?;
        let (code, rank) = (code(of.element())?, of.rank());
        let is_back = u8::from(name == CUMSUM_BACK || name == CUMSUM_IN_GROUPS_BACK);
        let call = match name {
            CUMSUM | CUMSUM_BACK => {
                format!("running_{code}(&f, {rank}, {}u, {is_back}, &t)", bits(axes.iter()))
            }
            _ => format!("grouped_{code}(&f, {rank}, {is_back}, &t)"),
        };
        Some((self.as_f(array), call))
    }

    /// A result without axes: the only element of what a call makes.
    fn only_element(
        &self,
        ip: usize,
        element: ScalarType,
        result: ValueId,
        before: &str,
        call: &str,
    ) -> String {
        let truth = if element == ScalarType::Boolean { " != 0" } else { "" };
        format!(
            "{{ {before}{} {} z; memcpy(&z, t.data, sizeof z); free(t.data); {} = z{truth}; }}",
            self.made_by(ip, call),
            element_name(element),
            self.locals.only(result)
        )
    }

    fn number_of_elements(
        &self,
        overload: &Overload,
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<String> {
        let [QType::NdArray(_), QType::Axes(axes)] = overload.args() else { return None };
        let owner = self.locals.owner(operands[0]);
        let product = axes
            .iter()
            .fold("INT64_C(1)".to_owned(), |product, axis| format!("mul_i64({product}, {owner}_n{axis})"));
        Some(format!("{} = {product};", self.locals.only(result)))
    }
}
