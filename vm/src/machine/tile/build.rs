//! Builds a region from its members: columns, scratch places, the size of blocks.

use crate::layout::TypedSlot;
use crate::machine::tile::plan::Group;
use crate::machine::tile::region::{
    Input, InputPlace, MAX_BLOCK, MIN_BLOCK, Member, Output, Place, Region, Step,
};
use crate::operator::Kernel;
use crate::operator::block::Column;
use crate::program::{Instruction, Routine, ValueId};
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::value::{QType, ScalarType};
use hashbrown::HashMap;

/// Bytes that the blocks of a region may fill: half of a first-level cache of 32 KiB.
const WORKING_SET: usize = 16 << 10;
/// What places begin at a multiple of.
const CACHE_LINE: usize = 64;

/// Builds the region of a group. `reads` counts the readers of each value in the routine.
pub(in crate::machine) fn build(routine: &Routine, group: &Group, reads: &[u32]) -> Region {
    let mut columns = Columns::new(routine);
    group.members.iter().for_each(|ip| columns.add_member(*ip));
    let uses = Uses::count(&columns);
    let is_array = |number: usize| columns.element(number).is_some();
    let is_read_outside =
        |number: usize| reads[columns.results[number].index()] > uses.inside[columns.of_member(number)];
    let outputs: Vec<usize> = columns.members().filter(|n| is_array(*n) && is_read_outside(*n)).collect();
    let last_reader = |number: usize| {
        let is_scratch = is_array(number) && !is_read_outside(number);
        is_scratch.then(|| uses.last_reader[columns.of_member(number)])
    };
    let scratch = Scratch::assign(columns.members().len(), last_reader);
    let reductions: Vec<u16> = columns.members().filter(|n| !is_array(*n)).map(|n| n as u16).collect();
    let block = block_rows(columns.inputs.len() + outputs.len() + scratch.places);
    let member = |number: usize| {
        let place = || match scratch.place[number] {
            Some(place) => Place::Scratch((place * place_bytes(block)) as u32),
            None => Place::Output(position(&outputs, &number)),
        };
        let step = match columns.kernel(number) {
            Kernel::Pointwise(pointwise) => Step::Rows { kernel: pointwise.kernel, place: place() },
            Kernel::NdPointwise(pointwise) => Step::Rows { kernel: pointwise.kernel, place: place() },
            Kernel::Reduction(kernel) => Step::Reduce {
                kernel: *kernel,
                state: position(&reductions, &(number as u16)),
                offset: routine.slot(columns.results[number]).offset(),
            },
            other => unreachable!("{other:?} is no member"),
        };
        columns.member(number, group.members[number], step)
    };
    let members: Box<[Member]> = columns.members().map(member).collect();
    let output = |number: &usize| Output {
        slot: routine.slot(columns.results[*number]).clone(),
        element: columns.element(*number).expect("an output is an array"),
    };
    Region {
        extent: group.extent,
        columns: columns.templates(),
        outputs: outputs.iter().map(output).collect(),
        moving: columns.moving(&outputs),
        has_masks: members.iter().any(Member::computes_presence),
        reductions: reductions.into(),
        closed: group.closed,
        block,
        scratch: scratch.places * place_bytes(block),
        inputs: columns.inputs.into(),
        members,
    }
}

/// Where an item stands in a sorted list that has it.
fn position<T: Ord>(list: &[T], item: &T) -> u16 {
    list.binary_search(item).expect("the list was made of such items") as u16
}

/// Rows of a block such that this many of 8 bytes a row fit the working set.
fn block_rows(streams: usize) -> usize {
    let rows = WORKING_SET / (8 * streams.max(1));
    // The power of two at or below.
    let rows = 1 << rows.max(1).ilog2();
    rows.clamp(MIN_BLOCK, MAX_BLOCK)
}

/// Bytes of one block of 8-byte cells and its words of presence, with a gap behind: blocks at the same
/// distance from a page start are in each other's way.
fn place_bytes(block: usize) -> usize {
    (block * 8 + block / ROWS_OF_A_WORD * 8).next_multiple_of(CACHE_LINE) + CACHE_LINE
}

/// A column, while the number of inputs is not known.
#[derive(Clone, Copy)]
enum Source {
    Input(usize),
    Member(usize),
}

/// The columns of a region: what members read from the frame, and what they compute.
struct Columns<'r> {
    routine: &'r Routine,
    inputs: Vec<Input>,
    source_of: HashMap<ValueId, Source>,
    /// Operands of each member.
    operands: Vec<Vec<Source>>,
    /// What each member computes.
    results: Vec<ValueId>,
    kernels: Vec<&'r Kernel>,
}

impl<'r> Columns<'r> {
    fn new(routine: &'r Routine) -> Columns<'r> {
        let (inputs, operands, results, kernels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Columns { routine, inputs, source_of: HashMap::new(), operands, results, kernels }
    }

    fn add_member(&mut self, ip: u32) {
        let body = &self.routine.body;
        let Instruction::Operator { operator, operands, result } = body.instructions()[ip as usize] else {
            unreachable!("a member is an operator")
        };
        let values = body.list(operands).iter().map(|value| self.routine.same_bytes(*value));
        let sources = values.map(|value| self.source(value)).collect();
        let result = self.routine.same_bytes(result);
        self.source_of.insert(result, Source::Member(self.results.len()));
        self.operands.push(sources);
        self.results.push(result);
        self.kernels.push(body.operators()[operator as usize].kernel());
    }

    fn source(&mut self, value: ValueId) -> Source {
        *self.source_of.entry(value).or_insert_with(|| {
            let place = place(self.routine.slot(value));
            self.inputs.push(Input { value, place });
            Source::Input(self.inputs.len() - 1)
        })
    }

    fn members(&self) -> std::ops::Range<usize> {
        0..self.results.len()
    }

    fn kernel(&self, number: usize) -> &'r Kernel {
        self.kernels[number]
    }

    /// Number of the column that a member computes.
    fn of_member(&self, number: usize) -> usize {
        self.inputs.len() + number
    }

    /// Number of a column.
    fn index(&self, source: Source) -> usize {
        match source {
            Source::Input(input) => input,
            Source::Member(member) => self.of_member(member),
        }
    }

    /// Type of the rows that a member computes; `None` for a reduction.
    fn element(&self, number: usize) -> Option<ScalarType> {
        match self.routine.slot(self.results[number]).qtype() {
            QType::Array(t) => Some(t.element),
            QType::NdArray(t) => Some(t.element()),
            _ => None,
        }
    }

    fn member(&self, number: usize, ip: u32, step: Step) -> Member {
        let operands = &self.operands[number];
        let mut args = [0; 4];
        for (arg, source) in args.iter_mut().zip(operands) {
            *arg = self.index(*source) as u16;
        }
        Member { ip, args, arity: operands.len() as u8, step }
    }

    /// What is known of the columns before a run.
    fn templates(&self) -> Box<[Column]> {
        let inputs = self.inputs.iter().map(|_| Column::MISSING);
        let computed = self.members().map(|number| {
            let step = self.element(number).map_or(0, cell_size);
            Column { step, all: u64::MAX, ..Column::MISSING }
        });
        inputs.chain(computed).collect()
    }

    /// The columns of arrays outside of the scratch memory.
    fn moving(&self, outputs: &[usize]) -> Box<[u16]> {
        let inputs = (0..self.inputs.len()).filter(|input| self.inputs[*input].is_array());
        let outputs = outputs.iter().map(|number| self.of_member(*number));
        inputs.chain(outputs).map(|column| column as u16).collect()
    }
}

/// How members read the columns of their region.
struct Uses {
    /// By column: the last member that reads it.
    last_reader: Vec<usize>,
    /// By column: how often members read it.
    inside: Vec<u32>,
}

impl Uses {
    fn count(columns: &Columns<'_>) -> Uses {
        let count = columns.inputs.len() + columns.results.len();
        let mut uses = Uses { last_reader: vec![0; count], inside: vec![0; count] };
        for (number, operands) in columns.operands.iter().enumerate() {
            for column in operands.iter().map(|source| columns.index(*source)) {
                uses.last_reader[column] = number;
                uses.inside[column] += 1;
            }
        }
        uses
    }
}

fn place(slot: &TypedSlot) -> InputPlace {
    match slot.qtype() {
        QType::Array(t) => InputPlace::Array { offset: slot.offset(), element: t.element },
        QType::NdArray(t) => InputPlace::Elements { offset: slot.offset(), qtype: *t },
        QType::Optional(_) => InputPlace::Scalar {
            offset: slot.value().map_or(slot.offset(), |value| value.offset()),
            presence: Some(slot.offset()),
        },
        _ => InputPlace::Scalar { offset: slot.offset(), presence: None },
    }
}

/// Places of the blocks that only members read.
struct Scratch {
    place: Vec<Option<usize>>,
    places: usize,
}

impl Scratch {
    /// Gives each member with a last reader a place. A result never takes the place of an operand: kernels
    /// do not expect it.
    fn assign(members: usize, last_reader: impl Fn(usize) -> Option<usize>) -> Scratch {
        let mut scratch = Scratch { place: vec![None; members], places: 0 };
        // Places of values whose last reader is this member.
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); members];
        let mut free: Vec<usize> = Vec::new();
        for number in 0..members {
            if let Some(last) = last_reader(number) {
                let place = free.pop().unwrap_or_else(|| {
                    scratch.places += 1;
                    scratch.places - 1
                });
                scratch.place[number] = Some(place);
                ends[last.max(number)].push(place);
            }
            free.append(&mut ends[number]);
        }
        scratch
    }
}
