//! The walk over the rows of a component of a region.
//!
//! ```text
//! { memory; order and join axes; do { r0_flat3(…); } while (next row); }     row by row: outputs are columns, too
//! { memory; copies where rows are not one; r0_tree3(…); }                    leaf by leaf, where there are folds
//! ```
//!
//! Elements are independent of each other, so that rows may be taken in any order: the axis along which the last output has
//! the shortest steps is the inner one.

use crate::native::c::cells::Presence;
use crate::native::c::constants::quoted;
use crate::native::c::region_text::{Column, Parts};
use crate::native::c::regions::{Member, operator};
use crate::native::c::writer::Writer;
use crate::native::stage::ArrayLayout;
use std::fmt::Write;

impl Writer<'_> {
    /// Memory for what is stored, and the walk over the rows of a component.
    pub(super) fn walk(&self, parts: &Parts, name: usize) -> String {
        let (rank, columns) = (parts.array().rank(), parts.columns.len());
        let sizes = parts.sizes.join(", ");
        let mut text = format!("{{ int64_t n[{rank}] = {{ {sizes} }}, count; ");
        let refused = |ip: usize, freed: &str| {
            let message = quoted("the array is too large");
            format!("if (CEMBRA_RARE(k)) {{ {freed}{} }}", self.raise(ip, &message, &[]))
        };
        let first = parts.members[0].ip;
        let _ = write!(text, "{{ int32_t k = count_of({rank}, n, &count); {} }} ", refused(first, ""));
        let (mut taken, mut freed) = (String::new(), String::new());
        let has_folds = parts.folds().next().is_some();
        for (i, member) in parts.stored().enumerate() {
            let Some((.., result)) = operator(self.routine, member.ip) else { continue };
            let (make, bitmap) = match member.array.has_rows() {
                true => (
                    format!("new_rows({}, &t{i})", member.array.size()),
                    format!("uint8_t *y{i} = t{i}.validity + t{i}.offset / 8; "),
                ),
                false => (format!("new_array({rank}, {}, &t{i})", member.array.size()), String::new()),
            };
            let _ = write!(
                text,
                "cembra_array t{i} = {{ NULL, {{ {sizes} }} }}; {{ int32_t k = {}; {} }} char *o{i} = t{i}.data; {bitmap}",
                self.lent_or(result, i, &make, has_folds),
                refused(member.ip, &freed)
            );
            taken += &self.taken_or_lent(result, i);
            freed += &self.freed(result, i);
        }
        let all: Vec<String> = parts.columns.iter().map(Column::initial).collect();
        let columns = format!("cembra_column c[{columns}] = {{ {} }}; ", all.join(", "));
        text += &match has_folds {
            true => columns + &self.walk_by_leaves(parts, name, &refused(first, &freed)),
            false => self.walk_by_rows(parts, name, &freed),
        };
        text + &taken + "} "
    }

    /// The walk of a component without folds, row by row. Outputs are the last columns.
    fn walk_by_rows(&self, parts: &Parts, name: usize, freed: &str) -> String {
        let (number, rank, inputs) = (self.number, parts.array().rank(), parts.columns.len());
        let stored = parts.stored().count();
        let of_output = |number: usize| {
            let steps: Vec<String> = (0..rank).map(|axis| format!("t{number}.strides[{axis}]")).collect();
            format!("{{ o{number}, {{ {} }} }}", steps.join(", "))
        };
        let all: Vec<String> =
            parts.columns.iter().map(Column::initial).chain((0..stored).map(of_output)).collect();
        let columns = all.len();
        let usual = parts.columns.iter().map(|column| column.usual);
        let usual = usual.chain(parts.stored().map(|member| member.array.size()));
        let is_usual = |(i, usual): (usize, usize)| format!("c[{i}].strides[last] == {usual}");
        let is_flat: Vec<String> = usual.enumerate().map(is_usual).collect();
        let call = |is_strided: bool| {
            parts.list(
                |i, column| match is_strided {
                    true => column.with_bits(format!("c[{i}].data, c[{i}].strides[last]")),
                    false => column.with_bits(format!("c[{i}].data")),
                },
                |_, (local, _)| local.clone(),
                |number, of| {
                    let i = number + inputs;
                    let step = if is_strided { format!(", c[{i}].strides[last]") } else { String::new() };
                    of.with_bits(format!("(char *)c[{i}].data{step}"), &format!("y{number}"), Presence::Bits)
                },
                |_, _| String::new(),
            )
        };
        let ordered = match self.layout == ArrayLayout::Strided && stored > 0 {
            true => format!("order_axes(0, {rank}, n, {columns}, c); "),
            false => String::new(),
        };
        let (begin, taken, end) = match parts.refusing() {
            Some(member) => {
                let raise = self.raise(member.ip, "NULL", &[]);
                ("int32_t k = 0; ", "k |= ", format!("if (CEMBRA_RARE(k)) {{ {freed}{raise} }} "))
            }
            None => ("", "", String::new()),
        };
        format!(
            "cembra_column c[{columns}] = {{ {} }}; if (count > 0) {{ {ordered}int last = join_axes(0, {rank}, n, {columns}, c) - 1; \
             int64_t index[6] = {{ 0 }}; int is_flat = {}; {begin}do {{ if (is_flat) {taken}r{number}_flat{name}(n[last]{}); else \
             {taken}r{number}_strided{name}(n[last]{}); }} while (next_row(last + 1, n, index, {columns}, c)); {end}}} ",
            all.join(", "),
            is_flat.join(" && "),
            call(false),
            call(true)
        )
    }

    /// The walk of a component with folds: all elements in one row, if need be of copies.
    fn walk_by_leaves(&self, parts: &Parts, name: usize, refused: &str) -> String {
        let (number, rank, columns) = (self.number, parts.array().rank(), parts.columns.len());
        let flat = parts.columns.iter().enumerate();
        let flat =
            flat.map(|(i, column)| format!("c[{i}].strides[0] == {}", column.usual)).collect::<Vec<_>>();
        let sizes: Vec<String> = parts.columns.iter().map(|column| column.size.to_string()).collect();
        let none = |_: usize, _: &Member| String::new();
        let arguments = parts.list(
            |i, column| column.with_bits(format!("c[{i}].data, c[{i}].strides[0]")),
            |_, (local, _)| local.clone(),
            |i, of| of.with_bits(format!("o{i}"), &format!("y{i}"), Presence::Bits),
            none,
        );
        let mut text = format!(
            "int64_t joined[6]; memcpy(joined, n, sizeof n); cembra_column w[{columns}]; memcpy(w, c, sizeof c); \
             cembra_array copies[{columns}] = {{ 0 }}; const int64_t bytes[{columns}] = {{ {} }}; \
             if (join_axes(0, {rank}, joined, {columns}, w) == 1) memcpy(c, w, sizeof c); else {{ \
             int32_t k = flatten({rank}, n, {columns}, bytes, c, copies); {refused} }} \
             r{number}_known{name} z = r{number}_tree{name}({}, count{arguments}); \
             for (int i = 0; i < {columns}; i++) free(copies[i].data); ",
            sizes.join(", "),
            flat.join(" && ")
        );
        for (i, member) in parts.folds().enumerate() {
            let Some((fold, (.., result))) = member.fold.zip(operator(self.routine, member.ip)) else {
                continue;
            };
            let value = match fold.has_value() {
                true => fold.call("finish", &format!("z.f{i}, count")),
                false => String::new(),
            };
            let Some(rows) = fold.rows else {
                let _ = write!(text, "{} = {value}; ", self.locals.only(result));
                continue;
            };
            let values = rows.results(&value, &format!("z.p{i}"), "count");
            for ((local, _), value) in self.locals.all(result).into_iter().zip(values) {
                let _ = write!(text, "{local} = {value}; ");
            }
        }
        text
    }
}
