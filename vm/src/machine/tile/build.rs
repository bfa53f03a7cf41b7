//! Builds a region from its members: columns, scratch places, the size of blocks.

use crate::layout::TypedSlot;
use crate::machine::tile::plan::{Extent, Group};
use crate::machine::tile::region::{
    Code, Fold, Input, InputPlace, MAX_BLOCK, MIN_BLOCK, Member, Output, Place, Reduction, Region, Step,
};
use crate::operator::Kernel;
use crate::operator::block::{Arithmetic, BlockKernel, BlockRun, Column};
use crate::operator::nd_reduction::NdReductionKernel;
use crate::operator::nd_walk::repeats_by_type;
use crate::operator::pair::{Side, pair, products};
use crate::program::{Instruction, Routine, ValueId};
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::value::nd_view::PerAxis;
use crate::value::{QType, ScalarType};
use crate::vector::Level;
use hashbrown::HashMap;

/// Bytes that the blocks of a region may fill: three quarters of a first-level cache of 32 KiB.
const WORKING_SET: usize = 24 << 10;

/// Builds the region of a group. `reads` counts the readers of each value in the routine.
pub(in crate::machine) fn build(routine: &Routine, group: &Group, reads: &[u32]) -> Region {
    let mut columns = Columns::new(routine);
    group.members.iter().for_each(|ip| columns.add_member(*ip));
    let inside = columns.reads_inside();
    let is_array = |number: usize| columns.element(number).is_some();
    let is_read_outside =
        |number: usize| reads[columns.results[number].index()] > inside[columns.of_member(number)];
    let outputs: Vec<usize> = columns.members().filter(|n| is_array(*n) && is_read_outside(*n)).collect();
    let reads_of = |number: usize| (!is_read_outside(number)).then(|| inside[columns.of_member(number)]);
    let drafts = Drafts::new(&columns, reads_of);
    let last_reader = columns.last_readers(&drafts.steps);
    let scratch = Scratch::assign(&drafts.steps, |number| {
        let is_scratch = is_array(number) && !is_read_outside(number);
        is_scratch.then(|| last_reader[columns.of_member(number)])
    });
    let block = block_rows(columns.streams(group.extent) + outputs.len() + scratch.places);
    let place = |number: usize| match scratch.place.get(&number) {
        Some(place) => Place::Scratch((place * place_bytes(block)) as u32),
        None if drafts.is_half[number] => Place::Registers,
        None if is_array(number) => Place::Output(position(&outputs, &number)),
        None => Place::Value,
    };
    let members: Box<[Member]> = columns
        .members()
        .map(|number| columns.member(number, group.members[number], place(number)))
        .collect();
    let of_kind = |kind: fn(&Kernel) -> bool| -> Vec<usize> {
        columns.members().filter(|number| kind(columns.kernels[*number])).collect()
    };
    let scans = of_kind(|kernel| matches!(kernel, Kernel::Scan(_)));
    let reductions = of_kind(|kernel| matches!(kernel, Kernel::Reduction(_)));
    let folds = of_kind(|kernel| matches!(kernel, Kernel::NdReduction(_)));
    let in_scratch = columns.members().filter_map(|number| match place(number) {
        Place::Scratch(offset) => Some((columns.of_member(number) as u16, offset)),
        _ => None,
    });
    let reduction = |number: &usize| match columns.kernels[*number] {
        Kernel::Reduction(kernel) => {
            Reduction { kernel: *kernel, offset: routine.slot(columns.results[*number]).offset() }
        }
        other => unreachable!("{other:?} reduces no rows"),
    };
    let fold = |number: &usize| match columns.kernels[*number] {
        Kernel::NdReduction(NdReductionKernel { fold, axes, .. }) => Fold {
            ip: group.members[*number],
            kernel: *fold,
            axes: *axes,
            slot: routine.slot(columns.results[*number]).clone(),
        },
        other => unreachable!("{other:?} reduces no elements"),
    };
    let output = |number: &usize| Output {
        column: columns.of_member(*number) as u16,
        slot: routine.slot(columns.results[*number]).clone(),
        element: columns.element(*number).expect("an output is an array"),
    };
    Region {
        extent: group.extent,
        columns: columns.templates(),
        outputs: outputs.iter().map(output).collect(),
        moving: columns.moving(&outputs),
        in_scratch: in_scratch.collect(),
        has_masks: members.iter().any(|member| !member.is_lifted),
        steps: drafts.steps.iter().map(|draft| columns.step(draft, [&scans, &reductions, &folds])).collect(),
        scans: scans.len(),
        direction: group.direction,
        reductions: reductions.iter().map(reduction).collect(),
        folds: folds.iter().map(fold).collect(),
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

/// Rows of a block such that this many of 8 bytes a row fit the working set: whole words of presence.
fn block_rows(streams: usize) -> usize {
    let rows = WORKING_SET / (8 * streams.max(1));
    (rows - rows % ROWS_OF_A_WORD).clamp(MIN_BLOCK, MAX_BLOCK)
}

/// Bytes of one block of 8-byte cells and its words of presence.
pub(super) fn block_bytes(block: usize) -> usize {
    block * 8 + block / ROWS_OF_A_WORD * 8
}

/// Bytes from one place to the next. Blocks at about the same distance from a page start are in each other's way: a load
/// waits for a store to another page, a little before, as if it were to its own.
pub(super) fn place_bytes(block: usize) -> usize {
    let bytes = block_bytes(block);
    bytes + (PLACE_STEP + PAGE - bytes % PAGE) % PAGE
}

/// Bytes of a page.
const PAGE: usize = 4096;
/// How much farther from a page start a place begins than the one before: an odd number of cache lines, not near a
/// small fraction of a page.
const PLACE_STEP: usize = 43 * 64;

/// A column, while the number of inputs is not known.
#[derive(Clone, Copy, PartialEq, Eq)]
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

    /// The code over rows of a member; none of a reduction or a running sum.
    fn block_kernel(&self, number: usize) -> Option<&'r BlockKernel> {
        self.kernels[number].block()
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
            _ if self.kernels[number].reduces() => None,
            QType::Array(t) => Some(t.element),
            QType::NdArray(t) => Some(t.element()),
            _ => None,
        }
    }

    fn args(&self, sources: &[Source]) -> [u16; 4] {
        let mut args = [0; 4];
        for (arg, source) in args.iter_mut().zip(sources) {
            *arg = self.index(*source) as u16;
        }
        args
    }

    fn member(&self, number: usize, ip: u32, place: Place) -> Member {
        let operands = &self.operands[number];
        let is_lifted = self.block_kernel(number).is_none_or(|kernel| kernel.is_lifted);
        Member { ip, args: self.args(operands), arity: operands.len() as u8, is_lifted, place }
    }

    /// The code of a draft; its number is that among the running sums, reductions or folds.
    fn step(&self, draft: &Draft, [scans, reductions, folds]: [&[usize]; 3]) -> Step {
        let code = match (draft.pass, self.block_kernel(draft.member)) {
            (Pass::Joined(run) | Pass::Sum(run), _) => Code::Rows { run, is_lifted: true },
            (Pass::FoldOfSum, _) => Code::FoldOfSum(position(folds, &draft.member)),
            (Pass::Own, Some(kernel)) => {
                Code::Rows { run: kernel.run(Level::best()), is_lifted: kernel.is_lifted }
            }
            (Pass::Own, None) => match self.kernels[draft.member] {
                Kernel::Scan(scan) => Code::Scan(scan.block, position(scans, &draft.member)),
                Kernel::NdReduction(_) => Code::Fold(position(folds, &draft.member)),
                _ => Code::Reduce(position(reductions, &draft.member)),
            },
        };
        let args = self.args(&draft.sources);
        Step { args, arity: draft.sources.len() as u8, member: draft.member as u16, code }
    }

    /// By column: how often members read it.
    fn reads_inside(&self) -> Vec<u32> {
        let mut reads = vec![0; self.inputs.len() + self.results.len()];
        self.operands.iter().flatten().for_each(|source| reads[self.index(*source)] += 1);
        reads
    }

    /// By column: the last step that reads it; 0 if none does.
    fn last_readers(&self, steps: &[Draft]) -> Vec<usize> {
        let mut last = vec![0; self.inputs.len() + self.results.len()];
        for (number, draft) in steps.iter().enumerate() {
            draft.sources.iter().for_each(|source| last[self.index(*source)] = number);
        }
        last
    }

    /// How many inputs have other rows in every block, as far as types tell.
    fn streams(&self, extent: Extent) -> usize {
        let shape: PerAxis = match extent {
            Extent::Elements(axes) => axes.units().map(|is_unit| if is_unit { 1 } else { 2 }).collect(),
            Extent::Rows => PerAxis::default(),
        };
        let is_stream = |input: &&Input| match input.place {
            InputPlace::Array { .. } => true,
            InputPlace::Elements { qtype, .. } => !repeats_by_type(Some(qtype), &shape),
            InputPlace::Scalar { .. } => false,
        };
        self.inputs.iter().filter(is_stream).count()
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

/// A step, while places are not known.
struct Draft {
    /// The member whose result it computes.
    member: usize,
    /// What it reads.
    sources: Vec<Source>,
    /// How it computes it.
    pass: Pass,
    /// Other members, which it computes on the way.
    halves: Vec<usize>,
}

/// How a step computes the result of a member.
#[derive(Clone, Copy)]
enum Pass {
    /// By the code of the member.
    Own,
    /// By the code of several operators.
    Joined(BlockRun),
    /// By the code of two, which add to a product.
    Sum(BlockRun),
    /// By the code of a reduction that computes a sum with a product on the way.
    FoldOfSum,
}

/// The steps of a region: its members in order, but arithmetic whose result only one other operation of arithmetic
/// reads is part of a [pair](crate::operator::pair), or of a sum of two products. Sums with a product that only a
/// reduction of [pairs of elements](crate::operator::nd_pairs) reads are part of that.
struct Drafts {
    steps: Vec<Draft>,
    /// By member: true if the step of another computes it on the way.
    is_half: Vec<bool>,
}

impl Drafts {
    /// `reads` says how often members read the result of one; none, if others do.
    fn new(columns: &Columns<'_>, reads: impl Fn(usize) -> Option<u32>) -> Drafts {
        let mut drafting = Drafting { columns, reads, by_member: Vec::with_capacity(columns.results.len()) };
        columns.members().for_each(|member| drafting.add(member));
        let mut steps = drafting.by_member;
        let mut is_half = vec![false; steps.len()];
        steps.iter().flat_map(|draft| &draft.halves).for_each(|half| is_half[*half] = true);
        steps.retain(|draft| !is_half[draft.member]);
        Drafts { steps, is_half }
    }
}

/// Drafts on their way.
struct Drafting<'c, 'r, R> {
    columns: &'c Columns<'r>,
    reads: R,
    by_member: Vec<Draft>,
}

impl<R: Fn(usize) -> Option<u32>> Drafting<'_, '_, R> {
    fn add(&mut self, member: usize) {
        let joined = self.fold_of_sum(member).or_else(|| self.products(member)).or_else(|| self.pair(member));
        self.by_member.push(joined.unwrap_or_else(|| {
            let sources = self.columns.operands[member].clone();
            Draft { member, sources, pass: Pass::Own, halves: Vec::new() }
        }));
    }

    fn fold_of_sum(&self, member: usize) -> Option<Draft> {
        let Kernel::NdReduction(NdReductionKernel { fold, .. }) = self.columns.kernels[member] else {
            return None;
        };
        fold.step_of_sum()?;
        let operands = &self.columns.operands[member];
        (0..2).find_map(|operand| {
            let sum = self.read_only_here(operands[operand], 1)?;
            let sources = [&*sum.sources, &[operands[1 - operand]]].concat();
            let draft = Draft { member, sources, pass: Pass::FoldOfSum, halves: vec![sum.member] };
            matches!(sum.pass, Pass::Sum(_)).then_some(draft)
        })
    }

    fn products(&self, member: usize) -> Option<Draft> {
        let run = products(self.arithmetic(member)?)?;
        let product = |operand: usize| {
            let (draft, arithmetic) = self.arithmetic_only_here(self.columns.operands[member][operand], 1)?;
            (arithmetic == Arithmetic::Multiply).then_some(draft)
        };
        let (x, y) = (product(0)?, product(1)?);
        let sources = [&*x.sources, &*y.sources].concat();
        Some(Draft { member, sources, pass: Pass::Joined(run), halves: vec![x.member, y.member] })
    }

    fn pair(&self, member: usize) -> Option<Draft> {
        let second = self.arithmetic(member)?;
        let operands = &self.columns.operands[member];
        let with = |operand: usize, side: Side| {
            let reads = if side == Side::Both { 2 } else { 1 };
            let (half, first) = self.arithmetic_only_here(operands[operand], reads)?;
            let run = pair(first, second, side)?;
            let mut sources = half.sources.clone();
            if side != Side::Both {
                sources.push(operands[1 - operand]);
            }
            let pass = match (first, second) {
                (Arithmetic::Multiply, Arithmetic::Add) => Pass::Sum(run),
                _ => Pass::Joined(run),
            };
            Some(Draft { member, sources, pass, halves: vec![half.member] })
        };
        match operands[0] == operands[1] {
            true => with(0, Side::Both),
            false => with(0, Side::Left).or_else(|| with(1, Side::Right)),
        }
    }

    /// The operation on FLOAT64 that a member is.
    fn arithmetic(&self, member: usize) -> Option<Arithmetic> {
        self.columns.block_kernel(member)?.arithmetic
    }

    /// The draft of a member that is an operation on FLOAT64 by its own code, if it is read so often and only inside.
    fn arithmetic_only_here(&self, source: Source, reads: u32) -> Option<(&Draft, Arithmetic)> {
        let draft = self.read_only_here(source, reads)?;
        matches!(draft.pass, Pass::Own).then_some((draft, self.arithmetic(draft.member)?))
    }

    /// The draft of a member, if it is read so often and only inside.
    fn read_only_here(&self, source: Source, reads: u32) -> Option<&Draft> {
        match source {
            Source::Member(member) if (self.reads)(member) == Some(reads) => Some(&self.by_member[member]),
            _ => None,
        }
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

/// Places of the blocks that only steps read.
struct Scratch {
    /// By member.
    place: HashMap<usize, usize>,
    places: usize,
}

impl Scratch {
    /// Gives the result of each step with a last reader a place. A result never takes the place of an operand:
    /// kernels do not expect it.
    fn assign(steps: &[Draft], last_reader: impl Fn(usize) -> Option<usize>) -> Scratch {
        let mut scratch = Scratch { place: HashMap::new(), places: 0 };
        // Places of values whose last reader is this step.
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        let mut free: Vec<usize> = Vec::new();
        for (number, draft) in steps.iter().enumerate() {
            if let Some(last) = last_reader(draft.member) {
                let place = free.pop().unwrap_or_else(|| {
                    scratch.places += 1;
                    scratch.places - 1
                });
                scratch.place.insert(draft.member, place);
                ends[last.max(number)].push(place);
            }
            free.append(&mut ends[number]);
        }
        scratch
    }
}
