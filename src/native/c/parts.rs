//! Parts: elements at places of each axis, read and written where they stand.
//!
//! ```text
//! v5 = nd._part(v0, AXES_0, v1, v2, v3)     part_of of `parts.c`; v5 = the address, v5_n0, v5_s0: no memory of its own
//! nd._assign(v0, v5, AXES_0, v1, v2, v3)    part_of, and the elements of v5 there
//! ```
//!
//! A part is a new array unless all that read it are operators that follow in its block, and nothing in between changes what it
//! is of, or is another part of the same name.

use crate::native::c::constants::quoted;
use crate::native::c::locals::element_name;
use crate::native::c::writer::Writer;
use crate::native::operation::{Operation, text_for};
use cembra_vm::builtins::nd::part::{ASSIGN, PART, STRETCH, SUM_IN_ORDER};
use cembra_vm::program::{Instruction, Program, Routine, ValueId};
use cembra_vm::value::{Axes, QType};
use hashbrown::HashSet;

/// The text that programs with parts need, behind that of elements under other axes.
pub(super) const PARTS: &str = include_str!("parts.c");

/// The text of parts, if a program needs it.
pub(super) fn part_functions(program: &Program) -> &'static str {
    text_for(program, PARTS, |overload| [PART, STRETCH, SUM_IN_ORDER, ASSIGN].contains(&&**overload.name()))
}

/// The instructions whose results are parts that nobody needs as arrays of their own.
pub(super) fn seen_through(routine: &Routine) -> HashSet<usize> {
    let (body, owners) = (&routine.body, routine.owners());
    let instructions = body.instructions();
    let is_part = |ip: usize| match &instructions[ip] {
        Instruction::Operator { operator, .. } => &**body.operators()[*operator as usize].name() == PART,
        _ => false,
    };
    let mut found: HashSet<usize> = (0..instructions.len()).filter(|ip| is_part(*ip)).collect();
    if found.is_empty() {
        return found;
    }
    let owner = |value: &ValueId| owners.owner(*value);
    let targets: HashSet<usize> = (0..instructions.len()).filter_map(|ip| body.target(ip)).collect();
    // What is read elsewhere, or written by several, is an array of its own.
    let mut others: HashSet<ValueId> = routine.results().map(|result| owners.owner(result)).collect();
    let mut parts: HashSet<ValueId> = HashSet::new();
    let mut live: Vec<(ValueId, ValueId)> = Vec::new();
    for (ip, instruction) in instructions.iter().enumerate() {
        if targets.contains(&ip) {
            live.clear();
        }
        let is_operator = matches!(instruction, Instruction::Operator { .. });
        for value in body.reads(instruction).iter().map(owner) {
            if !is_operator || !live.iter().any(|(part, _)| *part == value) {
                others.insert(value);
            }
        }
        let written: Vec<ValueId> = body.writes(instruction).iter().map(owner).collect();
        live.retain(|(part, of)| !written.contains(part) && !written.contains(of));
        for value in written {
            match is_part(ip) {
                true if !parts.contains(&owner(&body.reads(instruction)[0])) && parts.insert(value) => {
                    live.push((value, owner(&body.reads(instruction)[0])));
                }
                _ => drop(others.insert(value)),
            }
        }
        if !is_operator {
            live.clear();
        }
    }
    found.retain(|ip| !others.contains(&owner(&body.writes(&instructions[*ip])[0])));
    found
}

impl Writer<'_> {
    /// Statements of an operator on parts; `None` if it is none.
    pub(super) fn part(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        match (operation.name(), overload.args()) {
            (PART, [_, QType::Axes(kept), ..]) => {
                let (of, array) = (self.locals.array(operands[0])?, self.locals.array(result)?);
                let (rank, size) = (of.rank(), of.size());
                let places = self.places(&operands[2..]);
                let source =
                    format!("cembra_array f = {}, p = {{ 0 }}; {places}", self.descriptor(operands[0]));
                let found = format!("part_of(&f, {rank}, {size}, {}u, n, &p)", bits(*kept));
                if !self.seen_through.contains(&ip) {
                    let call = format!(
                        "{found} ? CEMBRA_INDEX_OUT_OF_RANGE : copied_array(&p, {}, {size}, &t)",
                        array.rank()
                    );
                    return Some(format!("{{ {source}{} }}", self.new_rows_of(ip, result, &call)));
                }
                let part = self.locals.owner(result);
                let axes: String = (0..array.rank())
                    .map(|axis| {
                        format!(" {part}_n{axis} = p.shape[{axis}]; {part}_s{axis} = p.strides[{axis}];")
                    })
                    .collect();
                Some(format!("{{ {source}{} {part} = p.data;{axes} }}", self.refused(ip, &found)))
            }
            (SUM_IN_ORDER, [_, QType::Axes(kept), ..]) => {
                let of = self.locals.array(operands[0])?;
                let (rank, size, places) = (of.rank(), of.size(), self.places(&operands[2..]));
                let source =
                    format!("cembra_array f = {}, p = {{ 0 }}; {places}", self.descriptor(operands[0]));
                let found = format!("part_of(&f, {rank}, {size}, {}u, n, &p)", bits(*kept));
                let sum = format!("{} = sum_in_order(&p, {});", self.locals.only(result), kept.len());
                Some(format!("{{ {source}{} {sum} }}", self.refused(ip, &found)))
            }
            (STRETCH, _) => {
                let array = self.locals.array(operands[0])?;
                let sizes: Vec<String> = operands[1..].iter().map(|size| self.locals.only(*size)).collect();
                let source = format!(
                    "cembra_array f = {}, t = {{ 0 }}; int64_t n[] = {{ {} }}; ",
                    self.descriptor(operands[0]),
                    sizes.join(", ")
                );
                let call = format!("stretched(&f, {}, {}, n, &t)", array.rank(), array.size());
                Some(format!("{{ {source}{} {} }}", self.refused(ip, &call), self.taken(result, "t")))
            }
            (ASSIGN, [_, x, QType::Axes(kept), ..]) => {
                let array = self.locals.array(operands[0])?;
                let (rank, size) = (array.rank(), array.size());
                let (source, source_rank) = match x.nd() {
                    Some(x) => (format!("cembra_array g = {}; ", self.descriptor(operands[1])), x.rank()),
                    None => {
                        let (name, value) = (element_name(array.element()), self.locals.only(operands[1]));
                        (
                            format!(
                                "{name} e = {value}; cembra_array g = {{ &e, {{ 0 }}, {{ 0 }}, NULL, 0 }}; "
                            ),
                            0,
                        )
                    }
                };
                let places = self.places(&operands[3..]);
                let found = format!("part_of(&f, {rank}, {size}, {}u, n, &p)", bits(*kept));
                let call = format!("assigned(&g, {source_rank}, {size}, {}, &p)", kept.len());
                Some(format!(
                    "{{ cembra_array f = {}, p = {{ 0 }}; {source}{places}{{ {} }} {} }}",
                    self.descriptor(operands[0]),
                    self.refused(ip, &found),
                    self.refused(ip, &call)
                ))
            }
            _ => None,
        }
    }

    /// The numbers of the places as `n`.
    fn places(&self, numbers: &[ValueId]) -> String {
        let numbers: Vec<String> = numbers.iter().map(|number| self.locals.only(*number)).collect();
        format!("int64_t n[] = {{ {} }}; ", numbers.join(", "))
    }

    fn refused(&self, ip: usize, call: &str) -> String {
        let message = format!(
            "k == CEMBRA_LIMIT ? {} : k == CEMBRA_DOMAIN ? {} : {}",
            quoted("the array is too large"),
            quoted("operands could not be broadcast together"),
            quoted("there is no such element")
        );
        format!("int32_t k = {call}; if (CEMBRA_RARE(k)) {{ {} }}", self.raise(ip, &message, &[]))
    }
}

/// A bit for each axis.
fn bits(axes: Axes) -> u32 {
    axes.iter().fold(0, |bits, axis| bits | 1 << axis)
}
