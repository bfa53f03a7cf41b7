//! Sweeps: the function that goes over the elements of a program that is one region, where the host says that they stand.
//!
//! ```text
//! r0_planes0(m, n, c0, w0, …, o0, u0)             m rows of n elements, whose first elements are so many bytes apart
//! NAME_sweep(values, rank, first, n, c, lists)    scalars; order and join axes; do { planes, or rows } while (next)
//! ```
//!
//! `c` has the columns of all arrays that the program takes, then those of its results; `lists` the positions of each argument.
//! The first axes are taken in order, so that a column may be a result one step before: a row or plane never goes along them.
//! Whoever calls has compared all shapes.

use crate::native::c::locals::{CType, leaves};
use crate::native::c::region_text::Parts;
use crate::native::c::regions::{Region, operator};
use crate::native::c::routine::writer;
use crate::native::c::writer::Writer;
use crate::native::stage::{ArrayLayout, ProgramCall};
use cembra_vm::program::{Program, ValueId};
use cembra_vm::value::{QType, Value};
use hashbrown::HashMap;
use std::fmt::Write;

/// The sweep of a program; `None` if it is not one region whose members are total and whose results are arrays of their own.
pub(super) fn sweep(call: &ProgramCall, program: &Program) -> Option<String> {
    let [routine] = program.routines() else { return None };
    if call.layout() != ArrayLayout::Strided || routine.parallel.is_some() {
        return None;
    }
    let signature = call.signature();
    let mut writer = writer(0, program, call.layout(), &|_| 0);
    let region = writer.regions.remove(&0)?;
    let Region { end, components, scalars, .. } = &region;
    let [component] = &components[..] else { return None };
    if *end != routine.body.instructions().len() {
        return None;
    }
    let mut parts = writer.parts(component, &HashMap::new());
    let array = parts.array();
    if parts.folds().next().is_some() || parts.refusing().is_some() || array.rank() == 0 || array.has_rows() {
        return None;
    }
    let name = component[0].ip;
    let owner = |value: ValueId| writer.locals.owner(value);
    let inputs: Vec<ValueId> = routine.inputs.iter().map(|(_, value)| *value).collect();
    let arrays: Vec<ValueId> =
        inputs.iter().copied().filter(|value| writer.locals.array(*value).is_some()).collect();
    let results: Vec<ValueId> = routine.results().map(owner).collect();
    // The places of columns in what is handed over.
    let mut places = Vec::new();
    for column in &mut parts.columns {
        places.push(arrays.iter().position(|value| owner(*value) == column.array)?);
        let input = inputs.iter().position(|value| owner(*value) == column.array)?;
        column.is_taken = signature.parameters[input].is_taken;
    }
    for member in parts.stored() {
        let (.., result) = operator(routine, member.ip)?;
        let mut found = results.iter().enumerate().filter(|(_, value)| **value == owner(result));
        places.push(arrays.len() + found.next()?.0);
        if found.next().is_some() {
            return None;
        }
    }
    if parts.stored().count() != results.len() {
        return None;
    }
    let list_of =
        |column: usize| inputs.iter().position(|value| owner(*value) == parts.columns[column].array);
    let lists: Vec<Option<usize>> = (0..parts.columns.len()).map(list_of).collect();
    let is_taken = parts.columns.iter().any(|column| column.is_taken);
    let count = arrays.len() + results.len();
    writer.text = format!(
        "\nvoid {}_sweep(void *const *values, int64_t rank, int64_t first, int64_t *n, cembra_column *c, \
         const uint32_t *const *lists)\n{{\n",
        call.name()
    );
    writer.plain_values(scalars)?;
    let functions = match is_taken {
        true => writer.functions_of(&parts, name, "taken_"),
        false => planes(&parts, name),
    };
    let walked = walked(&parts, name, &places, &lists, count, is_taken);
    Some(format!("\n{functions}{}{walked}}}\n", writer.text))
}

impl Writer<'_> {
    /// The plain arguments, and the instructions on them.
    fn plain_values(&mut self, scalars: &[usize]) -> Option<()> {
        let literals: HashMap<ValueId, &Value> =
            self.routine.literals.iter().map(|(value, literal)| (*value, literal)).collect();
        for (value, info) in (0..).map(ValueId).zip(&self.routine.values) {
            let qtype = info.slot.qtype();
            let is_plain = !matches!(qtype, QType::Axes(_)) && qtype.nd().is_none();
            if is_plain && self.locals.owner(value) == value {
                leaves(qtype)?;
                self.declare_plain(value, literals.get(&value).copied());
            }
        }
        for (position, (_, value)) in self.routine.inputs.iter().enumerate() {
            let qtype = self.routine.slot(*value).qtype();
            for leaf in leaves(qtype).filter(|_| qtype.nd().is_none()).unwrap_or_default() {
                let local = self.locals.name(*value, leaf);
                let _ = write!(
                    self.text,
                    "    memcpy(&{local}, (const char *)values[{position}] + {}, sizeof {local});",
                    leaf.at
                );
                // A truth is 0 or 1 inside.
                let truth =
                    if leaf.ctype == CType::U8 { format!(" {local} = {local} != 0;") } else { String::new() };
                let _ = writeln!(self.text, "{truth}");
            }
        }
        for ip in scalars {
            let statements = self.instruction(*ip).ok()?;
            let _ = writeln!(self.text, "    {statements}");
        }
        Some(())
    }
}

/// The function of rows of rows whose elements stand in order.
fn planes(parts: &Parts, name: usize) -> String {
    let parameters = parts.list(
        |i, _| format!("const char *c{i}, int64_t w{i}"),
        |i, (_, ctype)| format!("{} s{i}", ctype.name()),
        |i, _| format!("char *restrict o{i}, int64_t u{i}"),
        |_, _| String::new(),
    );
    // Blocks are those of the function of a row.
    let of = if parts.has_rare { "strided" } else { "rows" };
    let function = format!("r0_{of}{name}");
    let arguments = parts.list(
        |i, column| format!("c{i} + j * w{i}, {}", column.usual),
        |i, _| format!("s{i}"),
        |i, member| format!("o{i} + j * u{i}, {}", member.array.size()),
        |_, _| String::new(),
    );
    format!(
        "static __attribute__((noinline)) void r0_planes{name}(int64_t m, int64_t n{parameters})\n{{\n    \
         for (int64_t j = 0; j < m; j++) {function}(n{arguments});\n}}\n"
    )
}

/// The walk over planes or rows.
fn walked(
    parts: &Parts,
    name: usize,
    places: &[usize],
    lists: &[Option<usize>],
    count: usize,
    is_taken: bool,
) -> String {
    let inputs = parts.columns.len();
    let usual = parts.columns.iter().map(|column| if column.is_taken { column.size } else { column.usual });
    let usual = usual.chain(parts.stored().map(|member| member.array.size()));
    let is_flat: Vec<String> = places
        .iter()
        .zip(usual)
        .map(|(place, usual)| format!("c[{place}].strides[last] == {usual}"))
        .collect();
    let call = |axis: &str| {
        let step = |place: usize| match axis {
            "" => String::new(),
            axis => format!(", c[{place}].strides[{axis}]"),
        };
        parts.list(
            |i, column| {
                let list = lists[i].map_or("0".to_owned(), |list| format!("lists[{list}]"));
                column.with_positions(format!("c[{0}].data{1}", places[i], step(places[i])), &list)
            },
            |_, (local, _)| local.clone(),
            |i, _| format!("(char *)c[{0}].data{1}", places[inputs + i], step(places[inputs + i])),
            |_, _| String::new(),
        )
    };
    let is_flat = is_flat.join(" && ");
    let rows = |of: &str| {
        format!(
            "    do {{ if (is_flat) r0_{of}flat{name}(n[last]{}); else r0_{of}strided{name}(n[last]{}); }} \
             while (next_row(last + 1, n, index, {count}, c));\n",
            call(""),
            call("last")
        )
    };
    if is_taken {
        // Positions belong to the last axis.
        return format!(
            "    int last = (int)rank - 1; int64_t index[6] = {{ 0 }}; int is_flat = {is_flat}; (void)first;\n{}",
            rows("taken_")
        );
    }
    format!(
        "    order_axes((int)first, (int)rank, n, {count}, c);\n    \
         int last = join_axes((int)first, (int)rank, n, {count}, c) - 1; int64_t index[6] = {{ 0 }}; int is_flat = {is_flat};\n    \
         (void)lists;\n    if (is_flat && last > first) {{\n        \
         do r0_planes{name}(n[last - 1], n[last]{}); while (next_row(last, n, index, {count}, c));\n        return;\n    }}\n{}",
        call("last - 1"),
        rows("")
    )
}
