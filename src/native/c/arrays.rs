//! Arrays that a routine makes: each belongs to one local, which frees it.
//!
//! ```text
//! char *v3; int64_t v3_n0, v3_s0;       where the elements stand
//! void *v3_own; int64_t v3_room;        their memory, if the local has made it; elements that it has room for
//! const uint8_t *v3_valid; …            of rows: the bitmap, which is behind the cells in the memory that a local makes
//! ```
//!
//! Values of a program share no elements that somebody changes, so that a copy is a copy here. A local that gets another array
//! frees the one it has; what a routine returns becomes the caller's; the rest is freed where the routine ends, however it
//! ends.

use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, element_name};
use crate::native::c::writer::Writer;
use crate::native::operation::Operation;
use crate::native::stage::ArrayLayout;
use cembra_vm::builtins::bools::LOGICAL_IF;
use cembra_vm::builtins::core::WHERE;
use cembra_vm::builtins::nd::shape::SQUEEZE;
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::ValueId;
use cembra_vm::value::{QType, ScalarType};

impl Writer<'_> {
    /// The `cembra_array` of an array.
    pub(super) fn descriptor(&self, array: ValueId) -> String {
        let (value, rank) = (self.locals.owner(array), self.rank(array));
        let list =
            |what: &str| (0..rank).map(|axis| format!("{value}_{what}{axis}")).collect::<Vec<_>>().join(", ");
        let rows = match self.has_rows(array) {
            true => format!(", (uint8_t *){value}_valid, {value}_bit"),
            false => ", NULL, 0".to_owned(),
        };
        format!("{{ {value}, {{ {} }}, {{ {} }}{rows} }}", list("n"), list("s"))
    }

    fn rank(&self, array: ValueId) -> usize {
        self.locals.array(array).map_or(0, |array| array.rank())
    }

    fn has_rows(&self, array: ValueId) -> bool {
        self.locals.array(array).is_some_and(BoundaryArray::has_rows)
    }

    /// Makes a new array that of a local.
    pub(super) fn taken(&self, array: ValueId, from: &str) -> String {
        let value = self.locals.owner(array);
        let axes = (0..self.rank(array)).map(|axis| {
            format!(" {value}_n{axis} = {from}.shape[{axis}]; {value}_s{axis} = {from}.strides[{axis}];")
        });
        let rows = match self.has_rows(array) {
            true => format!(" {value}_valid = {from}.validity; {value}_bit = {from}.offset;"),
            false => String::new(),
        };
        format!(
            "free({value}_own); {value} = {value}_own = {from}.data; {value}_room = {from}.shape[0];{}{rows}",
            axes.collect::<String>()
        )
    }

    /// Statements of an operator that makes an array or lets one grow; `None` if it does neither.
    pub(super) fn array_operator(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        let array = self.locals.array(result)?;
        let (element, rank) = (element_name(array.element()), array.rank());
        let message = format!(
            "k == CEMBRA_DOMAIN ? {} : {}",
            quoted("negative dimensions are not allowed"),
            quoted("the array is too large")
        );
        let refused =
            |k: &str| format!("int32_t k = {k}; if (CEMBRA_RARE(k)) {{ {} }}", self.raise(ip, &message, &[]));
        let taken = self.taken(result, "t");
        match &**overload.name() {
            "core._copy" => {
                let made = refused(&match array.has_rows() {
                    true => format!("copied_rows(&f, {}, &t)", array.size()),
                    false => format!("copied_array(&f, {rank}, sizeof({element}), &t)"),
                });
                let from = self.descriptor(operands[0]);
                Some(format!("{{ cembra_array f = {from}, t; {made} {taken} }}"))
            }
            name @ (WHERE | LOGICAL_IF) if self.locals.array(operands[0]).is_none() => {
                let made = refused(&match array.has_rows() {
                    true => format!("copied_rows(chosen, {}, &t)", array.size()),
                    false => format!("copied_array(chosen, {rank}, sizeof({element}), &t)"),
                });
                let (presence, arrays) = (self.locals.presence(operands[0]), &operands[1..]);
                let chosen = match (name, presence) {
                    (WHERE, mask) => format!("{} ? &f1 : &f2", mask?),
                    (_, None) => format!("{} ? &f1 : &f2", self.locals.only(operands[0])),
                    (_, Some(presence)) => {
                        format!("{presence} ? {} ? &f1 : &f2 : &f3", self.locals.only(operands[0]))
                    }
                };
                let of_each = arrays.iter().zip(1..);
                let all: String = of_each
                    .map(|(array, number)| format!("cembra_array f{number} = {}; ", self.descriptor(*array)))
                    .collect();
                Some(format!("{{ {all}cembra_array t, *chosen = {chosen}; {made} {taken} }}"))
            }
            "nd._transpose" | "nd._expand_dims" | SQUEEZE => {
                let axes = self.axes_of(overload, operands[0], rank)?;
                let list = |of: fn(&(String, String)) -> &String| {
                    axes.iter().map(of).map(String::as_str).collect::<Vec<_>>().join(", ")
                };
                let from = self.locals.owner(operands[0]);
                let made = refused(&format!("copied_array(&f, {rank}, sizeof({element}), &t)"));
                Some(format!(
                    "{{ {}cembra_array f = {{ {from}, {{ {} }}, {{ {} }} }}, t; {made} {taken} }}",
                    self.dropped_axes(ip, overload, operands[0]),
                    list(|(size, _)| size),
                    list(|(_, stride)| stride)
                ))
            }
            name if name == "nd.full" || name.starts_with("nd.full_") => {
                let sizes: Vec<String> = operands[1..].iter().map(|size| self.locals.only(*size)).collect();
                let made = refused(&format!("new_array({rank}, sizeof({element}), &t)"));
                let count: Vec<String> = (0..rank).map(|axis| format!("t.shape[{axis}]")).collect();
                Some(format!(
                    "{{ cembra_array t = {{ NULL, {{ {} }} }}; {made} {element} e = ({element}){}, *a = t.data; \
                     for (int64_t i = 0, c = {}; i < c; i++) a[i] = e; {taken} }}",
                    sizes.join(", "),
                    self.locals.only(operands[0]),
                    count.join(" * ")
                ))
            }
            _ => None,
        }
    }

    /// The sizes and strides of the axes of a result that has the elements of an array under other axes.
    fn axes_of(&self, overload: &Overload, array: ValueId, rank: usize) -> Option<Vec<(String, String)>> {
        let [QType::NdArray(of), QType::Axes(axes)] = overload.args() else { return None };
        let value = self.locals.owner(array);
        let own = |axis: usize| (format!("{value}_n{axis}"), format!("{value}_s{axis}"));
        let mut kept = (0..of.rank()).map(own);
        Some(match &**overload.name() {
            "nd._transpose" => axes.iter().map(own).collect(),
            SQUEEZE => (0..of.rank()).filter(|axis| !axes.contains(*axis)).map(own).collect(),
            _ => {
                let new = ("1".to_owned(), "0".to_owned());
                let axis = |axis| if axes.contains(axis) { Some(new.clone()) } else { kept.next() };
                (0..rank).map(axis).collect::<Option<_>>()?
            }
        })
    }

    /// Refuses axes that are dropped and have another size than 1.
    fn dropped_axes(&self, ip: usize, overload: &Overload, array: ValueId) -> String {
        let [_, QType::Axes(axes)] = overload.args() else { return String::new() };
        let value = self.locals.owner(array);
        let dropped = axes.iter().filter(|_| &**overload.name() == SQUEEZE);
        let message = quoted("an axis that is dropped has not the size 1");
        let refuse = |axis: usize| {
            let size = (format!("{value}_n{axis}"), CType::I64);
            let raise = self.raise(ip, &message, std::slice::from_ref(&size));
            format!("if (CEMBRA_RARE({} != 1)) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }} ", size.0)
        };
        dropped.map(refuse).collect()
    }

    /// The only element of an array all of whose axes are dropped; `None` if the operator does not drop them.
    pub(super) fn squeezed(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        if operation.name() != SQUEEZE || self.locals.array(result).is_some() {
            return None;
        }
        let (array, element) = (self.locals.owner(operands[0]), self.locals.array(operands[0])?.element());
        let (name, to) = (element_name(element), self.locals.only(result));
        let value = if element == ScalarType::Boolean { "e != 0" } else { "e" };
        let dropped = self.dropped_axes(ip, overload, operands[0]);
        Some(format!("{{ {dropped}{name} e; memcpy(&e, {array}, sizeof e); {to} = {value}; }}"))
    }

    /// Gives an array to the caller, and a copy of one that is not this routine's own.
    pub(super) fn given(&self, array: ValueId, position: usize) -> String {
        let value = self.locals.owner(array);
        let descriptor = self.descriptor(array);
        let give = self.locals.array(array).map_or(String::new(), |of| match of.has_rows() {
            true => format!("give_rows(&a, {}", of.size()),
            false => format!("give_array(&a, {}, {}", of.rank(), of.size()),
        });
        let own = if self.made.contains(&value) { format!("&{value}_own") } else { "NULL".to_owned() };
        let message = format!(
            "k == CEMBRA_LIMIT ? {} : {}",
            quoted("the array is too large"),
            quoted("the memory for a result has another shape than the result")
        );
        let number = self.number;
        format!(
            "{{ cembra_array a = {descriptor}; int32_t k = {give}, {own}, q{position}); \
             if (CEMBRA_RARE(k)) {{ status = cembra_raise(run, k, {number}, 0, 0, {message}, CEMBRA_OPERANDS(0)); goto out; }} }}"
        )
    }

    /// Memory for an array as `t`: that which the caller has lent for the result that it is, else what `make` makes. For
    /// some, elements have to stand one after the other.
    pub(super) fn lent_or(&self, array: ValueId, t: usize, make: &str, needs_order: bool) -> String {
        let (rank, size) = (self.rank(array), self.locals.array(array).map_or(1, BoundaryArray::size));
        let order = |position: &usize| match needs_order && self.layout == ArrayLayout::Strided {
            true => format!("is_in_order(q{position}, {rank}, {size}) && "),
            false => String::new(),
        };
        match self.lent.get(&self.locals.owner(array)) {
            Some(position) => {
                let takes = match self.has_rows(array) {
                    true => format!("takes_lent_rows(q{position}, &t{t})"),
                    false => format!("takes_lent(q{position}, {rank}, &t{t})"),
                };
                format!("{}{takes} ? 0 : {make}", order(position))
            }
            None => make.to_owned(),
        }
    }

    /// Frees what [`Writer::lent_or`] has given.
    pub(super) fn freed(&self, array: ValueId, t: usize) -> String {
        match self.lent.get(&self.locals.owner(array)) {
            Some(position) => format!("if (t{t}.data != q{position}->data) free(t{t}.data); "),
            None => format!("free(t{t}.data); "),
        }
    }

    /// The same as [`Writer::taken`] of what [`Writer::lent_or`] has given: what is lent is not this routine's own.
    pub(super) fn taken_or_lent(&self, array: ValueId, t: usize) -> String {
        let value = self.locals.owner(array);
        let taken = self.taken(array, &format!("t{t}"));
        match self.lent.get(&value) {
            Some(position) => format!("{taken} if ({value}_own == q{position}->data) {value}_own = NULL; "),
            None => format!("{taken} "),
        }
    }
}
