//! Regions as C: a function of a row for each component, and statements that walk over the rows.
//!
//! ```text
//! r0_rows3(n, c0, d0, …, s0, …, o0, e0)    n elements of the columns, which are so many bytes apart, with scalars, to outputs
//! r0_flat3, r0_strided3                    the same with the usual distances, and with any; r0_tree3 by the leaves of folds
//! { shapes; walks }                          the walks are those of `region_walk`
//! ```
//!
//! Functions of a component that may refuse elements give the category, or 0.

use crate::native::c::cells::{Cell, cell};
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
pub(super) struct Column {
    pub(super) array: ValueId,
    pub(super) element: ScalarType,
    /// Bytes to the next element along each axis of the component.
    strides: Vec<String>,
    /// Bytes to the next element of a row that stands in order: 0 where the array repeats.
    pub(super) usual: usize,
    /// True if positions choose its elements along the last axis.
    pub(super) is_taken: bool,
}

impl Column {
    /// What a `cembra_column` begins with.
    pub(super) fn initial(&self) -> String {
        format!("{{ {}, {{ {} }} }}", self.array, self.strides.join(", "))
    }

    /// What follows the column of this number in a list of parameters or arguments: its positions.
    pub(super) fn with_positions(&self, text: String, positions: &str) -> String {
        if self.is_taken { format!("{text}, {positions}") } else { text }
    }
}

/// What a component reads and writes.
pub(super) struct Parts {
    pub(super) columns: Vec<Column>,
    /// Scalars that are no literals: the local and its type.
    pub(super) scalars: Vec<(String, CType)>,
    /// The number of each member in its name: that of its instruction.
    pub(super) members: Vec<Member>,
    /// For each axis its size.
    pub(super) sizes: Vec<String>,
}

impl Parts {
    pub(super) fn array(&self) -> NdType {
        self.members[0].array
    }

    pub(super) fn stored(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_stored)
    }

    pub(super) fn folds(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.fold.is_some())
    }

    /// The member that may refuse elements.
    pub(super) fn refusing(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.refuses)
    }

    /// Columns, distances, scalars and outputs, each as a function says.
    pub(super) fn list(
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
                let functions = self.functions_of(&parts, name, "");
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

    pub(super) fn parts(&self, members: &[Member], sizes: &HashMap<ValueId, Vec<String>>) -> Parts {
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

    /// The functions of a component; their names begin with `of` behind the routine.
    pub(super) fn functions_of(&self, parts: &Parts, name: usize, of: &str) -> String {
        let number = self.number;
        let parameters = |is_strided: bool| {
            parts.list(
                |i, column| {
                    let strided = if is_strided { format!(", int64_t d{i}") } else { String::new() };
                    column.with_positions(
                        format!("const char *c{i}{strided}"),
                        &format!("const uint32_t *l{i}"),
                    )
                },
                |i, (_, ctype)| format!("{} s{i}", ctype.name()),
                |i, _| match is_strided {
                    true => format!("char *restrict o{i}, int64_t e{i}"),
                    false => format!("char *restrict o{i}"),
                },
                |i, _| format!("char *restrict b{i}"),
            )
        };
        let arguments = |is_strided: bool| {
            parts.list(
                |i, column| {
                    let step = if is_strided { format!("d{i}") } else { column.usual.to_string() };
                    column.with_positions(format!("c{i}, {step}"), &format!("l{i}"))
                },
                |i, _| format!("s{i}"),
                |i, of| match is_strided {
                    true => format!("o{i}, e{i}"),
                    false => format!("o{i}, {}", cell_size(of.array.element())),
                },
                |i, _| format!("b{i}"),
            )
        };
        let (gives, begin, end) = match parts.refusing() {
            Some(_) => ("int32_t", "    int32_t k = 0;\n", "    return k;\n"),
            None => ("void", "", ""),
        };
        let mut text = format!(
            "static inline __attribute__((always_inline)) {gives} r{number}_{of}rows{name}(int64_t n{})\n{{\n{begin}    \
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
            let at = if column.is_taken { format!("(int64_t)l{i}[i]") } else { "i".to_owned() };
            let _ = writeln!(
                text,
                "        {element} x{i}; memcpy(&x{i}, c{i} + {at} * d{i}, sizeof x{i});{truth}"
            );
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
            let local = |position: usize| self.cell_name(parts, operands[position]);
            let Some(cell) = cell(overload, literal, local) else { continue };
            let (ctype, ip) = (member.ctype().name(), member.ip);
            let _ = match cell {
                Cell::Total(temporaries, value) if temporaries.is_empty() => {
                    writeln!(text, "        {ctype} m{ip} = {value};")
                }
                Cell::Total(temporaries, value) => {
                    writeln!(text, "        {ctype} m{ip}; {{ {temporaries}m{ip} = {value}; }}")
                }
                Cell::Refusing(call) => writeln!(text, "        {ctype} m{ip}; k |= {call}, &m{ip});"),
            };
            if member.is_stored {
                let _ = writeln!(text, "        memcpy(o{output} + i * e{output}, &m{ip}, sizeof m{ip});");
                output += 1;
            }
        }
        let _ = write!(text, "    }}\n{end}}}\n");
        let returned = if parts.refusing().is_some() { "return " } else { "" };
        for (what, is_strided) in [("flat", false), ("strided", true)] {
            let _ = write!(
                text,
                "static __attribute__((noinline)) {gives} r{number}_{of}{what}{name}(int64_t n{})\n{{\n    \
                 {returned}r{number}_{of}rows{name}(n{});\n}}\n",
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
                |i, of| match is_strided {
                    true => format!("o{i}, {}", cell_size(of.array.element())),
                    false => format!("o{i}"),
                },
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
    Column { array, element: of.element(), strides, usual, is_taken: false }
}
