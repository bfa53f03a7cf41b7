//! Builds a region from its members: columns, scratch places, the size of blocks.

use crate::layout::TypedSlot;
use crate::machine::code::same_bytes;
use crate::machine::tile::plan::Group;
use crate::machine::tile::region::{
    Input, InputPlace, MAX_BLOCK, MIN_BLOCK, Member, Output, Place, Region, Step,
};
use crate::operator::Kernel;
use crate::operator::block::Column;
use crate::program::{Instruction, Routine, ValueId};
use crate::value::QType;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use hashbrown::HashMap;

/// Bytes that the blocks of a region may fill: half of a first-level cache of 32 KiB.
const WORKING_SET: usize = 16 << 10;
/// Added to each block, so that blocks do not stand at the same distance from a page start.
const PADDING: usize = 64;

/// Builds the region of a group. `reads` counts the readers of each value in the routine.
pub(in crate::machine) fn build(routine: &Routine, group: &Group, reads: &[u32]) -> Region {
    let members = &group.members;
    let mut builder = Builder { routine, inputs: Vec::new(), column_of: HashMap::new(), columns: Vec::new() };
    for ip in members {
        builder.operands(*ip);
    }
    let (first, columns) = (builder.inputs.len(), &builder.columns);
    // The last member that reads each column, and how often members do.
    let mut last_read = vec![0; first + members.len()];
    let mut inside = vec![0; first + members.len()];
    for (number, args) in columns.iter().enumerate() {
        for column in args.iter().map(|column| column.index(first)) {
            last_read[column] = number;
            inside[column] += 1;
        }
    }
    let results: Vec<ValueId> = members.iter().map(|ip| same_bytes(routine, builder.result(*ip))).collect();
    let element = |number: usize| routine.slot(results[number]).qtype().array().map(|t| t.element);
    let is_read_outside = |number: usize| reads[results[number].index()] > inside[first + number];
    let is_output = |number: usize| element(number).is_some() && is_read_outside(number);
    let outputs: Vec<usize> = (0..members.len()).filter(|number| is_output(*number)).collect();
    let is_scratch = |number: usize| element(number).is_some() && !is_read_outside(number);
    let scratch = Scratch::assign(members.len(), |n| is_scratch(n).then(|| last_read[first + n]));
    let block = block_rows(first + outputs.len() + scratch.places);
    let mut reductions: Vec<u16> = Vec::new();
    let mut member = |(number, ip): (usize, &u32)| {
        let mut args = [0; 4];
        for (arg, column) in args.iter_mut().zip(&columns[number]) {
            *arg = column.index(first) as u16;
        }
        let step = match builder.kernel(*ip) {
            Kernel::Pointwise(pointwise) => Step::Rows {
                kernel: pointwise.kernel,
                place: match scratch.place[number] {
                    Some(place) => Place::Scratch((place * place_bytes(block)) as u32),
                    None => Place::Output(outputs.binary_search(&number).expect("it is an output") as u16),
                },
            },
            Kernel::Reduction(kernel) => {
                let offset = routine.slot(results[number]).offset();
                reductions.push(number as u16);
                Step::Reduce { kernel: *kernel, state: reductions.len() as u16 - 1, offset }
            }
            other => unreachable!("{other:?} is no member"),
        };
        Member { ip: *ip, args, arity: columns[number].len() as u8, step }
    };
    let members: Box<[Member]> = members.iter().enumerate().map(&mut member).collect();
    let result =
        |number| Column { step: element(number).map_or(0, cell_size), all: u64::MAX, ..Column::MISSING };
    let is_moving = |column: &usize| match column.checked_sub(first) {
        Some(member) => is_output(member),
        None => builder.inputs[*column].is_array(),
    };
    let moving = (0..first + members.len()).filter(is_moving).map(|column| column as u16);
    let computes_presence =
        |member: &Member| matches!(&member.step, Step::Rows { kernel, .. } if !kernel.is_lifted);
    let output = |number: &usize| Output {
        slot: routine.slot(results[*number]).clone(),
        element: element(*number).expect("an output is an array"),
    };
    Region {
        moving: moving.collect(),
        has_masks: members.iter().any(computes_presence),
        columns: vec![Column::MISSING; first].into_iter().chain((0..members.len()).map(result)).collect(),
        outputs: outputs.iter().map(output).collect(),
        members,
        closed: group.closed,
        reductions: reductions.into(),
        block,
        scratch: scratch.places * place_bytes(block),
        inputs: builder.inputs.into(),
    }
}

/// Rows of a block such that this many of 8 bytes a row fit the working set.
fn block_rows(streams: usize) -> usize {
    let rows = WORKING_SET / (8 * streams.max(1));
    // The power of two at or below.
    let rows = 1 << rows.max(1).ilog2();
    rows.clamp(MIN_BLOCK, MAX_BLOCK)
}

/// Bytes of one block of 8-byte cells, its words of presence and the padding.
fn place_bytes(block: usize) -> usize {
    block * 8 + block / ROWS_OF_A_WORD * 8 + PADDING
}

/// A column, while the number of inputs is not known.
#[derive(Clone, Copy)]
enum Source {
    Input(usize),
    Member(usize),
}

impl Source {
    fn index(self, inputs: usize) -> usize {
        match self {
            Source::Input(input) => input,
            Source::Member(member) => inputs + member,
        }
    }
}

struct Builder<'r> {
    routine: &'r Routine,
    inputs: Vec<Input>,
    column_of: HashMap<ValueId, Source>,
    /// Operands of each member.
    columns: Vec<Vec<Source>>,
}

impl Builder<'_> {
    fn operands(&mut self, ip: u32) {
        let Instruction::Operator { operands, result, .. } = self.instruction(ip) else {
            unreachable!("a member is an operator")
        };
        let operands = self.routine.body.list(operands).iter();
        let operands = operands.map(|value| self.source(same_bytes(self.routine, *value))).collect();
        let member = Source::Member(self.columns.len());
        self.columns.push(operands);
        self.column_of.insert(same_bytes(self.routine, result), member);
    }

    fn instruction(&self, ip: u32) -> Instruction {
        self.routine.body.instructions()[ip as usize]
    }

    fn result(&self, ip: u32) -> ValueId {
        let instructions = self.routine.body.instructions();
        self.routine.body.writes(&instructions[ip as usize])[0]
    }

    fn kernel(&self, ip: u32) -> &Kernel {
        let Instruction::Operator { operator, .. } = self.instruction(ip) else {
            unreachable!("a member is an operator")
        };
        self.routine.body.operators()[operator as usize].kernel()
    }

    fn source(&mut self, value: ValueId) -> Source {
        *self.column_of.entry(value).or_insert_with(|| {
            let place = place(self.routine.slot(value));
            self.inputs.push(Input { value, place });
            Source::Input(self.inputs.len() - 1)
        })
    }
}

fn place(slot: &TypedSlot) -> InputPlace {
    match slot.qtype() {
        QType::Array(t) => InputPlace::Array { offset: slot.offset(), element: t.element },
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
