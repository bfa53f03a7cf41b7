//! Regions as C: what each component reads and writes, and its statements.
//!
//! ```text
//! r0_flat3(…), r0_strided3(…), r0_tree3(…)   functions of a component: those of `region_functions`
//! { shapes; walks }                          the walks are those of `region_walk`
//! ```
//!
//! Functions of a component that may refuse elements give the category, or 0.

use crate::native::c::constants::quoted;
use crate::native::c::locals::CType;
use crate::native::c::regions::{Member, Region, operator};
use crate::native::c::writer::Writer;
use cembra_vm::library::BoundaryArray;
use cembra_vm::program::ValueId;
use cembra_vm::value::ScalarType;
use hashbrown::HashMap;
use std::fmt::Write;

/// The text that programs with regions or folds need.
pub(super) const REGIONS: &str = include_str!("regions.c");

/// An array from outside.
pub(super) struct Column {
    pub(super) array: ValueId,
    pub(super) element: ScalarType,
    /// Bytes of a cell.
    pub(super) size: usize,
    /// True if rows may be missing.
    pub(super) has_rows: bool,
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

    /// What follows the column in a list of arguments: its bitmap, and the bit of the first row.
    pub(super) fn with_bits(&self, text: String) -> String {
        self.with(text, &format!("{0}_valid, {0}_bit", self.array))
    }

    /// What follows the column in any list if rows may be missing.
    pub(super) fn with(&self, text: String, presence: &str) -> String {
        if self.has_rows && !presence.is_empty() { format!("{text}, {presence}") } else { text }
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
    /// True if there are functions of usual elements.
    pub(super) has_rare: bool,
}

impl Parts {
    pub(super) fn array(&self) -> BoundaryArray {
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
        let arrays: Vec<(BoundaryArray, Vec<String>)> = operands
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
            let has_axis = |(array, _): &&(BoundaryArray, Vec<String>)| {
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
        // Of a fold they are those of its operand.
        sizes.insert(self.locals.owner(result), of_result);
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
            has_rare: false,
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
                    let mut all = self.locals.all(*value);
                    all.retain(|local| !parts.scalars.contains(local));
                    parts.scalars.extend(all);
                }
            }
        }
        parts.has_rare = self.has_rare(&parts);
        for number in 0..parts.members.len() {
            parts.members[number].is_certain = self.is_certain(&parts, &parts.members[number]);
        }
        parts
    }

    fn is_constant(&self, value: ValueId) -> bool {
        self.literals.contains_key(&value)
    }
}

fn column(array: ValueId, of: BoundaryArray, whole: BoundaryArray) -> Column {
    let stride = |axis: usize| {
        let back = whole.rank() - axis;
        let has_axis = of.rank() >= back && !of.is_unit(of.rank() - back);
        has_axis.then(|| format!("{array}_s{}", of.rank() - back))
    };
    let last = (0..whole.rank()).rev().find(|axis| !whole.is_unit(*axis));
    let usual = last.and_then(stride).map_or(0, |_| of.size());
    // A mask has no cells to walk over.
    let stride = |axis| stride(axis).filter(|_| of.size() > 0).unwrap_or_else(|| "0".to_owned());
    let strides = (0..whole.rank()).map(stride).collect();
    let (element, size, has_rows) = (of.element(), of.size(), of.has_rows());
    Column { array, element, size, has_rows, strides, usual, is_taken: false }
}
