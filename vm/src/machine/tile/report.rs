//! What a region is made of, for people.

use crate::layout::TypedSlot;
use crate::machine::tile::lowered::Part;
use crate::machine::tile::plan::{Closed, Extent};
use crate::machine::tile::region::{Input, Region};
use crate::machine::tile::scratch::{block_bytes, place_bytes};
use crate::program::ValueId;
use crate::strip::{Code, Operand, Refused};
use std::collections::BTreeSet;

/// A tile region of a bound program.
#[derive(Clone, Debug)]
pub struct RegionReport {
    /// Number of the routine.
    pub routine: usize,
    /// What the members compute.
    pub extent: Extent,
    /// Instructions of the members, in order; the region runs in place of the last.
    pub members: Vec<usize>,
    /// Instructions whose results are not made, because they lie in arrays that members read there, in order.
    pub through: Vec<usize>,
    /// Those whose results stand in registers of strips only.
    pub in_registers: Vec<usize>,
    /// Rows of a block.
    pub block: usize,
    /// Bytes of all that a block reads, computes and writes, with words of presence.
    pub block_bytes: usize,
    /// Arrays with the region's axes, read in place.
    pub arrays: Vec<ValueId>,
    /// Arrays of fewer axes, repeated along the others.
    pub repeated: Vec<ValueId>,
    /// Values that are the same for all rows.
    pub scalars: Vec<ValueId>,
    /// Arrays that are written in place.
    pub outputs: Vec<TypedSlot>,
    /// Why there are no more members.
    pub closed: Closed,
    /// What runs as strips when no input misses a row.
    pub strips: Vec<StripReport>,
}

/// A strip of a region.
#[derive(Clone, Debug)]
pub struct StripReport {
    /// Instructions of the members, in order.
    pub members: Vec<usize>,
    /// The code, or why there is none.
    pub code: Result<Code, Refused>,
    /// What the columns of the region are, in their order.
    pub(super) columns: Vec<ColumnOf>,
    /// The columns that its scalars are, in their order.
    pub(super) scalars: Vec<u16>,
}

/// What a column of a region holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnOf {
    /// A value that the region reads.
    Input(ValueId),
    /// The result of an instruction.
    Member(usize),
}

impl StripReport {
    /// What an instruction of the code finds by the arguments of the call.
    pub fn operand(&self, operand: Operand) -> Option<(Part, ColumnOf)> {
        let (part, column) = match operand {
            Operand::Column(number) => Part::of_number(number)?,
            Operand::Scalar(number) => (Part::Cells, *self.scalars.get(number as usize)?),
        };
        Some((part, *self.columns.get(column as usize)?))
    }
}

impl RegionReport {
    pub(in crate::machine) fn new(routine: usize, region: &Region) -> RegionReport {
        let is_repeated = |input: &&Input| Some(region.extent) != input.extent();
        let through = region.inputs.iter().flat_map(|input| &input.through);
        let through: BTreeSet<usize> = through.map(|through| through.ip as usize).collect();
        let arrays = || region.inputs.iter().filter(|input| input.is_array());
        RegionReport {
            routine,
            extent: region.extent,
            members: region.members.iter().map(|member| member.ip as usize).collect(),
            through: through.into_iter().collect(),
            in_registers: region.in_registers(),
            block: region.passes.block,
            block_bytes: region.passes.scratch / place_bytes(region.passes.block)
                * block_bytes(region.passes.block)
                + region.moving.len() * region.passes.block * 8,
            arrays: arrays().filter(|input| !is_repeated(input)).map(|input| input.value).collect(),
            repeated: arrays().filter(is_repeated).map(|input| input.value).collect(),
            scalars: region.inputs.iter().filter(|i| !i.is_array()).map(|i| i.value).collect(),
            outputs: region.outputs.iter().map(|output| output.slot.clone()).collect(),
            closed: region.closed,
            strips: region.strip_reports(),
        }
    }
}
