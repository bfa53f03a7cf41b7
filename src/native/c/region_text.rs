//! Regions as C: a function of a row for each component, and statements that walk over the rows.
//!
//! ```text
//! r0_rows3(n, c0, d0, …, s0, …, o0)    n elements of the columns, which are so many bytes apart, with scalars, to outputs
//! r0_flat3, r0_strided3                the same with the usual distances, and with any; r0_tree3 by the leaves of folds
//! { shapes; memory; join axes; do { r0_flat3(…); } while (next row); }
//! ```

use crate::native::c::cells::cell;
use crate::native::c::constants::{constants_of, quoted};
use crate::native::c::locals::{CType, element_name};
use crate::native::c::regions::{Member, Region, operator};
use crate::native::c::writer::Writer;
use cembra_vm::program::ValueId;
use cembra_vm::value::array::cell_size;
use cembra_vm::value::{NdType, ScalarType, Value};
use hashbrown::HashMap;
use std::fmt::Write;

/// The text that programs with regions or folds need.
pub(super) const REGIONS: &str = include_str!("regions.c");

/// An array from outside.
struct Column {
    array: ValueId,
    element: ScalarType,
    /// Bytes to the next element along each axis of the component.
    strides: Vec<String>,
    /// Bytes to the next element of a row that stands in order: 0 where the array repeats.
    usual: usize,
}

/// What a component reads and writes.
struct Parts {
    columns: Vec<Column>,
    /// Scalars that are no literals: the local and its type.
    scalars: Vec<(String, CType)>,
    /// The number of each member in its name: that of its instruction.
    members: Vec<Member>,
    /// For each axis its size.
    sizes: Vec<String>,
}

impl Parts {
    fn array(&self) -> NdType {
        self.members[0].array
    }

    fn stored(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_stored)
    }

    fn folds(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.fold.is_some())
    }

    /// Columns, distances, scalars and outputs, each as a function says.
    fn list(
        &self,
        column: impl Fn(usize, &Column) -> String,
        scalar: impl Fn(usize, &(String, CType)) -> String,
        output: impl Fn(usize, &Member) -> String,
        operand: impl Fn(usize, &Member) -> String,
    ) -> String {
        let columns = self.columns.iter().enumerate().map(|(number, of)| column(number, of));
        let scalars = self.scalars.iter().enumerate().map(|(number, of)| scalar(number, of));
        let outputs = self.stored().enumerate().map(|(number, of)| output(number, of));
        let operands = self.folds().enumerate().map(|(number, of)| operand(number, of));
        let all: Vec<String> = columns.chain(scalars).chain(outputs).chain(operands).collect();
        all.into_iter().filter(|text| !text.is_empty()).map(|text| format!(", {text}")).collect()
    }
}

impl Writer<'_> {
    /// Statements of a region; the functions that it calls are added to those of the routine.
    pub(super) fn region(&mut self, region: &Region) -> String {
        let mut sizes: HashMap<ValueId, Vec<String>> = HashMap::new();
        let mut text = String::from("{ ");
        let mut members: Vec<Member> = region.components.iter().flatten().copied().collect();
        members.sort_by_key(|member| member.ip);
        for member in &members {
            text += &self.shapes(member, &mut sizes);
        }
        for component in &region.components {
            let parts = self.parts(component, &sizes);
            let name = parts.members[0].ip;
            if self.written.insert(name) {
                let functions = self.functions_of(&parts, name);
                self.functions += &functions;
            }
            text += &self.walk(&parts, name);
        }
        text + "}"
    }

    /// Compares the sizes of the axes that the operands of an instruction share, and notes those of its result.
    fn shapes(&self, member: &Member, sizes: &mut HashMap<ValueId, Vec<String>>) -> String {
        let Some((_, operands, result)) = operator(self.routine, member.ip) else { return String::new() };
        let rank = member.array.rank();
        let arrays: Vec<(NdType, Vec<String>)> = operands
            .iter()
            .filter_map(|value| {
                let (array, owner) = (self.locals.array(*value)?, self.locals.owner(*value));
                let own = || (0..array.rank()).map(|axis| format!("{owner}_n{axis}")).collect();
                Some((array, sizes.get(&owner).cloned().unwrap_or_else(own)))
            })
            .collect();
        let (mut text, mut of_result) = (String::new(), Vec::new());
        for axis in 0..rank {
            let back = rank - axis;
            let has_axis = |(array, _): &&(NdType, Vec<String>)| {
                array.rank() >= back && !array.is_unit(array.rank() - back)
            };
            let mut found = arrays.iter().filter(has_axis).map(|(array, sizes)| &sizes[array.rank() - back]);
            let Some(first) = found.next() else {
                of_result.push("1".to_owned());
                continue;
            };
            let mut others: Vec<&String> = found.filter(|other| *other != first).collect();
            others.sort();
            others.dedup();
            for other in others {
                let operands = [(first.clone(), CType::I64), (other.clone(), CType::I64)];
                let message = quoted("arrays that are computed together have different sizes");
                let _ = write!(
                    text,
                    "if (CEMBRA_RARE({first} != {other})) {{ int32_t k = CEMBRA_SIZE_MISMATCH; {} }} ",
                    self.raise(member.ip, &message, &operands)
                );
            }
            of_result.push(first.clone());
        }
        if member.fold.is_some_and(|fold| fold.needs_elements) {
            let is_empty: Vec<String> = of_result.iter().map(|size| format!("{size} == 0")).collect();
            let message = quoted("there is no least or greatest one of no elements");
            let _ = write!(
                text,
                "if (CEMBRA_RARE({})) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {} }} ",
                is_empty.join(" || "),
                self.raise(member.ip, &message, &[])
            );
        }
        if member.fold.is_none() {
            sizes.insert(self.locals.owner(result), of_result);
        }
        text
    }

    fn parts(&self, members: &[Member], sizes: &HashMap<ValueId, Vec<String>>) -> Parts {
        let own =
            |member: &Member| operator(self.routine, member.ip).map(|(.., result)| self.locals.owner(result));
        let inside: Vec<ValueId> = members.iter().filter_map(own).collect();
        let array = members[0].array;
        let mut parts = Parts {
            columns: Vec::new(),
            scalars: Vec::new(),
            members: members.to_vec(),
            sizes: sizes.get(&inside[0]).cloned().unwrap_or_default(),
        };
        let operands = members.iter().filter_map(|member| operator(self.routine, member.ip));
        for value in operands.flat_map(|(_, operands, _)| operands) {
            let owner = self.locals.owner(*value);
            if inside.contains(&owner) {
                continue;
            }
            match self.locals.array(*value) {
                Some(of) if !parts.columns.iter().any(|column| column.array == owner) => {
                    parts.columns.push(column(owner, of, array));
                }
                Some(_) => {}
                None if self.is_constant(*value) => {}
                None => {
                    let local = self.locals.all(*value).pop();
                    parts.scalars.extend(local.filter(|local| !parts.scalars.contains(local)));
                }
            }
        }
        parts
    }

    fn is_constant(&self, value: ValueId) -> bool {
        self.literals.contains_key(&value)
    }

    /// The functions of a component.
    fn functions_of(&self, parts: &Parts, name: usize) -> String {
        let number = self.number;
        let parameters = |is_strided: bool| {
            parts.list(
                |i, _| {
                    if is_strided {
                        format!("const char *c{i}, int64_t d{i}")
                    } else {
                        format!("const char *c{i}")
                    }
                },
                |i, (_, ctype)| format!("{} s{i}", ctype.name()),
                |i, _| format!("char *restrict o{i}"),
                |i, _| format!("char *restrict b{i}"),
            )
        };
        let arguments = |is_strided: bool| {
            parts.list(
                |i, column| {
                    if is_strided { format!("c{i}, d{i}") } else { format!("c{i}, {}", column.usual) }
                },
                |i, _| format!("s{i}"),
                |i, _| format!("o{i}"),
                |i, _| format!("b{i}"),
            )
        };
        let mut text = format!(
            "static inline __attribute__((always_inline)) void r{number}_rows{name}(int64_t n{})\n{{\n    \
             for (int64_t i = 0; i < n; i++) {{\n",
            parameters(true)
        );
        for (i, column) in parts.columns.iter().enumerate() {
            let element = element_name(column.element);
            let truth = if column.element == ScalarType::Boolean {
                format!(" x{i} = x{i} != 0;")
            } else {
                String::new()
            };
            let _ =
                writeln!(text, "        {element} x{i}; memcpy(&x{i}, c{i} + i * d{i}, sizeof x{i});{truth}");
        }
        let (mut output, mut buffer) = (0, 0);
        for member in &parts.members {
            let Some((overload, operands, _)) = operator(self.routine, member.ip) else { continue };
            if member.fold.is_some() {
                let from = self.cell_name(parts, operands[0]);
                let _ = writeln!(
                    text,
                    "        memcpy(b{buffer} + i * (int64_t)sizeof {from}, &{from}, sizeof {from});"
                );
                buffer += 1;
                continue;
            }
            let literal = |position: usize| self.literals.get(&operands[position]).cloned();
            let Some((temporaries, value)) =
                cell(overload, literal, |position| self.cell_name(parts, operands[position]))
            else {
                continue;
            };
            let (ctype, ip) = (member.ctype().name(), member.ip);
            let _ = match temporaries.is_empty() {
                true => writeln!(text, "        {ctype} m{ip} = {value};"),
                false => writeln!(text, "        {ctype} m{ip}; {{ {temporaries}m{ip} = {value}; }}"),
            };
            if member.is_stored {
                let _ = writeln!(
                    text,
                    "        memcpy(o{output} + i * (int64_t)sizeof m{ip}, &m{ip}, sizeof m{ip});"
                );
                output += 1;
            }
        }
        text.push_str("    }\n}\n");
        for (what, is_strided) in [("flat", false), ("strided", true)] {
            let _ = write!(
                text,
                "static __attribute__((noinline)) void r{number}_{what}{name}(int64_t n{})\n{{\n    \
                 r{number}_rows{name}(n{});\n}}\n",
                parameters(is_strided),
                arguments(is_strided)
            );
        }
        if parts.folds().next().is_some() {
            text += &self.tree_of(parts, name);
        }
        text
    }

    /// What stands for an operand in the function of a row.
    fn cell_name(&self, parts: &Parts, value: ValueId) -> String {
        let owner = self.locals.owner(value);
        if let Some(number) = parts.columns.iter().position(|column| column.array == owner) {
            return format!("x{number}");
        }
        let is_result = |member: &&Member| {
            operator(self.routine, member.ip).is_some_and(|(.., result)| self.locals.owner(result) == owner)
        };
        if let Some(member) = parts.members.iter().find(is_result) {
            return format!("m{}", member.ip);
        }
        if let Some(literal) = self.literals.get(&value) {
            let mut constants = Vec::new();
            constants_of(&Value::Scalar(literal.clone()), &mut constants);
            return constants.pop().unwrap_or_default();
        }
        let local = self.locals.only(value);
        let number = parts.scalars.iter().position(|(scalar, _)| *scalar == local);
        format!("s{}", number.unwrap_or_default())
    }

    /// The function that computes a component leaf by leaf, and what is known of its folds.
    fn tree_of(&self, parts: &Parts, name: usize) -> String {
        let number = self.number;
        let [tree, leaf, known] = ["tree", "leaf", "known"].map(|what| format!("r{number}_{what}{name}"));
        let none = |_: usize, _: &Member| String::new();
        let parameters = parts.list(
            |i, _| format!("const char *c{i}, int64_t d{i}"),
            |i, (_, ctype)| format!("{} s{i}", ctype.name()),
            |i, _| format!("char *o{i}"),
            none,
        );
        let further = |by: &str| {
            parts.list(
                |i, _| match by {
                    "" => format!("c{i}, d{i}"),
                    by => format!("c{i} + {by} * d{i}, d{i}"),
                },
                |i, _| format!("s{i}"),
                |i, of| match by {
                    "" => format!("o{i}"),
                    by => format!("o{i} + {by} * {}", cell_size(of.array.element())),
                },
                none,
            )
        };
        let (mut fields, mut joins, mut buffers, mut leaves) = <(String, String, String, String)>::default();
        for (i, member) in parts.folds().enumerate() {
            let Some(fold) = member.fold else { continue };
            let element = element_name(member.array.element());
            let _ = write!(fields, "{} f{i}; ", fold.part.name());
            let _ = write!(joins, "z.f{i} = {}; ", fold.call("join", &format!("x.f{i}, y.f{i}")));
            let _ = write!(buffers, "_Alignas(64) {element} b{i}[128]; ");
            let _ = write!(leaves, "z.f{i} = {}; ", fold.call("leaf", &format!("(const char *)b{i}, n")));
        }
        let call = |is_strided: bool| {
            parts.list(
                |i, _| if is_strided { format!("c{i}, d{i}") } else { format!("c{i}") },
                |i, _| format!("s{i}"),
                |i, _| format!("o{i}"),
                |i, _| format!("(char *)b{i}"),
            )
        };
        // The buffers of a leaf stand in a frame of their own, not in those of the tree above.
        format!(
            "typedef struct {{ {fields}}} {known};\n\
             static __attribute__((noinline)) {known} {leaf}(int is_flat, int64_t n{parameters})\n{{\n    {known} z;\n    \
             {buffers}\n    if (is_flat) r{number}_flat{name}(n{}); else r{number}_strided{name}(n{});\n    \
             {leaves}\n    return z;\n}}\n\
             static {known} {tree}(int is_flat, int64_t n{parameters})\n{{\n    \
             if (n <= 128) return {leaf}(is_flat, n{});\n    int64_t left = left_half(n);\n    \
             {known} z, x = {tree}(is_flat, left{}), y = {tree}(is_flat, n - left{});\n    {joins}\n    return z;\n}}\n",
            call(false),
            call(true),
            further(""),
            further(""),
            further("left")
        )
    }

    /// Memory for what is stored, and the walk over the rows of a component.
    fn walk(&self, parts: &Parts, name: usize) -> String {
        let (number, rank, columns) = (self.number, parts.array().rank(), parts.columns.len());
        let sizes = parts.sizes.join(", ");
        let mut text = format!("{{ int64_t n[{rank}] = {{ {sizes} }}, count; ");
        let refused = |ip: usize, freed: &str| {
            let message = quoted("the array is too large");
            format!("if (CEMBRA_RARE(k)) {{ {freed}{} }}", self.raise(ip, &message, &[]))
        };
        let first = parts.members[0].ip;
        let _ = write!(text, "{{ int32_t k = count_of({rank}, n, &count); {} }} ", refused(first, ""));
        let (mut taken, mut freed) = (String::new(), String::new());
        for (i, member) in parts.stored().enumerate() {
            let Some((.., result)) = operator(self.routine, member.ip) else { continue };
            let element = element_name(member.array.element());
            let make = format!("new_array({rank}, sizeof({element}), &t{i})");
            let _ = write!(
                text,
                "cembra_array t{i} = {{ NULL, {{ {sizes} }} }}; {{ int32_t k = {}; {} }} char *o{i} = t{i}.data; ",
                self.lent_or(result, i, &make),
                refused(member.ip, &freed)
            );
            taken += &self.taken_or_lent(result, i);
            freed += &self.freed(result, i);
        }
        let of_column =
            |column: &Column| format!("{{ {}, {{ {} }} }}", column.array, column.strides.join(", "));
        let all: Vec<String> = parts.columns.iter().map(of_column).collect();
        let _ = write!(text, "cembra_column c[{columns}] = {{ {} }}; ", all.join(", "));
        if parts.folds().next().is_some() {
            text += &self.walk_by_leaves(parts, name, &refused(first, &freed));
        } else {
            let usual = |last: &str| {
                let is =
                    |(i, column): (usize, &Column)| format!("c[{i}].strides[{last}] == {}", column.usual);
                parts.columns.iter().enumerate().map(is).collect::<Vec<_>>().join(" && ")
            };
            let none = |_: usize, _: &Member| String::new();
            let call = |is_strided: bool| {
                parts.list(
                    |i, _| match is_strided {
                        true => format!("c[{i}].data, c[{i}].strides[last]"),
                        false => format!("c[{i}].data"),
                    },
                    |_, (local, _)| local.clone(),
                    |i, _| format!("o{i}"),
                    none,
                )
            };
            let on = parts
                .stored()
                .enumerate()
                .map(|(i, of)| format!(" o{i} += n[last] * {};", cell_size(of.array.element())));
            let _ = write!(
                text,
                "if (count > 0) {{ int last = join_axes({rank}, n, {columns}, c) - 1; int64_t index[6] = {{ 0 }}; \
                 int is_flat = {}; do {{ if (is_flat) r{number}_flat{name}(n[last]{}); else \
                 r{number}_strided{name}(n[last]{});{} }} while (next_row(last + 1, n, index, {columns}, c)); }} ",
                usual("last"),
                call(false),
                call(true),
                on.collect::<String>()
            );
        }
        text + &taken + "} "
    }

    /// The walk of a component with folds: all elements in one row, if need be of copies.
    fn walk_by_leaves(&self, parts: &Parts, name: usize, refused: &str) -> String {
        let (number, rank, columns) = (self.number, parts.array().rank(), parts.columns.len());
        let flat = parts.columns.iter().enumerate();
        let flat =
            flat.map(|(i, column)| format!("c[{i}].strides[0] == {}", column.usual)).collect::<Vec<_>>();
        let sizes: Vec<String> =
            parts.columns.iter().map(|column| cell_size(column.element).to_string()).collect();
        let none = |_: usize, _: &Member| String::new();
        let arguments = parts.list(
            |i, _| format!("c[{i}].data, c[{i}].strides[0]"),
            |_, (local, _)| local.clone(),
            |i, _| format!("o{i}"),
            none,
        );
        let mut text = format!(
            "int64_t joined[6]; memcpy(joined, n, sizeof n); cembra_column w[{columns}]; memcpy(w, c, sizeof c); \
             cembra_array copies[{columns}] = {{ 0 }}; const int64_t bytes[{columns}] = {{ {} }}; \
             if (join_axes({rank}, joined, {columns}, w) == 1) memcpy(c, w, sizeof c); else {{ \
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
            let value = fold.call("finish", &format!("z.f{i}, count"));
            let _ = write!(text, "{} = {value}; ", self.locals.only(result));
        }
        text
    }
}

fn column(array: ValueId, of: NdType, whole: NdType) -> Column {
    let stride = |axis: usize| {
        let back = whole.rank() - axis;
        let has_axis = of.rank() >= back && !of.is_unit(of.rank() - back);
        has_axis.then(|| format!("{array}_s{}", of.rank() - back))
    };
    let last = (0..whole.rank()).rev().find(|axis| !whole.is_unit(*axis));
    let usual = last.and_then(stride).map_or(0, |_| cell_size(of.element()));
    let strides = (0..whole.rank()).map(|axis| stride(axis).unwrap_or_else(|| "0".to_owned())).collect();
    Column { array, element: of.element(), strides, usual }
}
