//! Columns of a region that is built: what its members read from the frame, and what they compute.

use crate::array::block::{BlockKernel, Column};
use crate::array::nd_walk::repeats_by_type;
use crate::array::scan::ScanKernel;
use crate::layout::{FrameLayout, TypedSlot};
use crate::machine::tile::plan::{Extent, Planned};
use crate::machine::tile::region::{Input, InputPlace, Through};
use crate::machine::tile::views::Views;
use crate::operator::Kernel;
use crate::program::{Instruction, Routine, ValueId};
use crate::value::array::cell_size;
use crate::value::qtype::INT64;
use crate::value::shape::PerAxis;
use crate::value::{QType, ScalarType};
use hashbrown::HashMap;
use std::ops::Range;

/// A column, while the number of inputs is not known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Input(usize),
    Member(usize),
}

/// The columns of a region: what members read from the frame, and what they compute.
pub(super) struct Columns<'r> {
    routine: &'r Routine,
    pub(super) inputs: Vec<Input>,
    /// By place: what members read from the frame.
    input_of: HashMap<TypedSlot, Source>,
    /// By instruction.
    member_of: HashMap<u32, usize>,
    /// Operands of each member.
    pub(super) operands: Vec<Vec<Source>>,
    /// What each member computes.
    pub(super) results: Vec<ValueId>,
    /// By member: how often members read the result as the value that it is.
    pub(super) own_reads: Vec<u32>,
    pub(super) kernels: Vec<&'r Kernel>,
}

impl<'r> Columns<'r> {
    pub(super) fn new(routine: &'r Routine) -> Columns<'r> {
        let (inputs, operands, results, kernels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (input_of, member_of, own_reads) = (HashMap::new(), HashMap::new(), Vec::new());
        Columns { routine, inputs, input_of, member_of, operands, results, own_reads, kernels }
    }

    /// Adds a member; `same_bytes` is that of the routine's [owners](crate::program::program::Owners).
    pub(super) fn add_member(
        &mut self,
        planned: &Planned,
        views: &Views,
        same_bytes: impl Fn(ValueId) -> ValueId,
    ) {
        let ip = planned.ip;
        let body = &self.routine.body;
        let Instruction::Operator { operator, operands, result } = body.instructions()[ip as usize] else {
            unreachable!("a member is an operator")
        };
        let values = body.list(operands).iter().map(|value| same_bytes(*value));
        let sources =
            values.zip(&planned.sources).enumerate().map(|(number, (value, source))| match source {
                Some(ip) => self.computed(value, *ip),
                None => self.input(value, views.of(ip, number)),
            });
        let sources = sources.collect();
        self.member_of.insert(ip, self.results.len());
        self.operands.push(sources);
        self.results.push(result);
        self.own_reads.push(0);
        self.kernels.push(body.operators()[operator as usize].kernel());
    }

    /// Puts inputs that are [fixed](Input::is_fixed) behind all others, which is what
    /// [signatures](crate::machine::tile::choose::signature) are of.
    pub(super) fn put_fixed_last(&mut self) {
        let mut inputs: Vec<_> = self.inputs.drain(..).enumerate().collect();
        inputs.sort_by_key(|(_, input)| input.is_fixed());
        let mut number_of = vec![0; inputs.len()];
        for (before, input) in inputs {
            number_of[before] = self.inputs.len();
            self.inputs.push(input);
        }
        let sources = self.operands.iter_mut().flatten().chain(self.input_of.values_mut());
        for source in sources {
            if let Source::Input(number) = source {
                *number = number_of[*number];
            }
        }
    }

    /// How many inputs are not fixed.
    pub(super) fn varying(&self) -> usize {
        self.inputs.partition_point(|input| !input.is_fixed())
    }

    /// What a member computes, read under the name of a value.
    fn computed(&mut self, value: ValueId, ip: u32) -> Source {
        let member = self.member_of[&ip];
        self.own_reads[member] += u32::from(self.results[member] == value);
        Source::Member(member)
    }

    /// What stands in the frame while the region runs: one column for a place, whatever values name it, and for a view.
    fn input(&mut self, value: ValueId, views: &[u32]) -> Source {
        let slot = self.routine.slot(value);
        if let Some(known) = self.input_of.get(&slot.storage()) {
            return *known;
        }
        let through: Box<[Through]> = views.iter().map(|ip| self.through(*ip)).collect();
        let place = place(slot, &self.routine.layout);
        self.inputs.push(Input { value, place, through });
        let input = Source::Input(self.inputs.len() - 1);
        self.input_of.insert(slot.storage(), input);
        input
    }

    /// What makes the view of an instruction.
    fn through(&self, ip: u32) -> Through {
        let (body, routine) = (&self.routine.body, self.routine);
        let instruction = &body.instructions()[ip as usize];
        let Instruction::Operator { operator, .. } = instruction else {
            unreachable!("a view is an operator")
        };
        let view = body.operators()[*operator as usize].view().expect("it is a view").clone();
        let slots = || body.reads(instruction).iter().map(|value| routine.slot(*value));
        let array = slots().next().expect("it is of an array").clone();
        let sizes = slots().skip(1).filter(|slot| *slot.qtype() == INT64).map(TypedSlot::offset).collect();
        let chooser = slots().nth(1).filter(|_| view.chooses()).cloned();
        Through { ip, view, array, sizes, chooser }
    }

    pub(super) fn members(&self) -> Range<usize> {
        0..self.results.len()
    }

    /// Type of the cells of an input.
    pub(super) fn input_element(&self, number: usize) -> Option<ScalarType> {
        self.routine.slot(self.inputs[number].value).qtype().scalar_inside()
    }

    /// The code over rows of a member; none of a reduction or a running sum.
    pub(super) fn block_kernel(&self, number: usize) -> Option<&'r BlockKernel> {
        self.kernels[number].block()
    }

    /// True if a row of a member is present where it is in all operands.
    pub(super) fn is_lifted(&self, number: usize) -> bool {
        self.block_kernel(number).is_none_or(|kernel| kernel.is_lifted)
    }

    /// Number of the column that a member computes.
    pub(super) fn of_member(&self, number: usize) -> usize {
        self.inputs.len() + number
    }

    /// Number of the column for the rows that a fold counts, behind those of all members.
    pub(super) fn of_counts(&self, fold: usize) -> usize {
        self.inputs.len() + self.results.len() + fold
    }

    /// Number of the column for what a running sum or result carries, behind those of all folds.
    pub(super) fn carry_of(&self, number: usize) -> usize {
        self.first_carry() + self.scans().take_while(|(member, _)| *member < number).count()
    }

    /// Number of the column for what the first of these carries.
    fn first_carry(&self) -> usize {
        self.of_counts(self.kernels.iter().filter(|kernel| kernel.reduces()).count())
    }

    /// How many there are: inputs, what members compute, and what folds count and running results carry.
    pub(super) fn count(&self) -> usize {
        self.first_carry() + self.scans().count()
    }

    /// The running sums of axes and running results of rows, with their members.
    pub(super) fn scans(&self) -> impl Iterator<Item = (usize, &'r ScanKernel)> {
        self.members().filter_map(|member| match self.kernels[member] {
            Kernel::Scan { scan, .. } => Some((member, scan)),
            _ => None,
        })
    }

    /// Type of an input or of what a member computes.
    pub(super) fn qtype(&self, source: Source) -> &QType {
        let value = match source {
            Source::Input(number) => self.inputs[number].value,
            Source::Member(number) => self.results[number],
        };
        self.routine.slot(value).qtype()
    }

    /// Number of a column.
    pub(super) fn index(&self, source: Source) -> usize {
        match source {
            Source::Input(input) => input,
            Source::Member(member) => self.of_member(member),
        }
    }

    /// Type of the rows that a member computes; `None` for a reduction.
    pub(super) fn element(&self, number: usize) -> Option<ScalarType> {
        match self.routine.slot(self.results[number]).qtype() {
            _ if self.kernels[number].reduces() => None,
            QType::Array(t) => Some(t.element),
            QType::NdArray(t) => Some(t.element()),
            _ => None,
        }
    }

    pub(super) fn args<const N: usize>(&self, sources: &[Source]) -> [u16; N] {
        assert!(sources.len() <= N, "a place for each operand");
        let mut args = [0; N];
        for (arg, source) in args.iter_mut().zip(sources) {
            *arg = self.index(*source) as u16;
        }
        args
    }

    /// How many inputs have other rows in every block, as far as types tell.
    pub(super) fn streams(&self, extent: Extent) -> usize {
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
    pub(super) fn templates(&self) -> Box<[Column]> {
        let inputs = self.inputs.iter().map(|input| {
            let step = match input.place {
                InputPlace::Array { element, .. } => cell_size(element),
                InputPlace::Elements { qtype, .. } => cell_size(qtype.element()),
                InputPlace::Scalar { .. } => 0,
            };
            Column::of_cells(std::ptr::null(), step)
        });
        let computed = self.members().map(|number| {
            let step = self.element(number).map_or(0, cell_size);
            Column { step, all: u64::MAX, ..Column::MISSING }
        });
        let folds = self.members().filter(|number| self.kernels[*number].reduces());
        let carries = self.scans().map(|_| Column::MISSING);
        inputs.chain(computed).chain(folds.map(|_| Column::MISSING)).chain(carries).collect()
    }

    /// The columns of arrays outside of the scratch memory.
    pub(super) fn moving(&self, outputs: &[usize]) -> Box<[u16]> {
        let inputs = (0..self.inputs.len()).filter(|input| self.inputs[*input].is_array());
        let outputs = outputs.iter().map(|number| self.of_member(*number));
        inputs.chain(outputs).map(|column| column as u16).collect()
    }
}

fn place(slot: &TypedSlot, layout: &FrameLayout) -> InputPlace {
    let literal = |offset: u32, scalar: Option<ScalarType>| {
        let bytes = layout.literal_bytes(offset, cell_size(scalar?) as u32)?;
        let mut bits = [0; 8];
        bits.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(bits))
    };
    let scalar = |offset: u32, presence: Option<u32>| {
        let literal = literal(offset, slot.qtype().scalar().filter(|scalar| scalar.is_plain()));
        InputPlace::Scalar { offset, presence, literal }
    };
    match slot.qtype() {
        QType::Array(t) => InputPlace::Array { offset: slot.offset(), element: t.element },
        QType::NdArray(t) => InputPlace::Elements { offset: slot.offset(), qtype: *t },
        QType::Optional(_) => {
            let value = slot.value().map_or(slot.offset(), |value| value.offset());
            scalar(value, Some(slot.offset()))
        }
        _ => scalar(slot.offset(), None),
    }
}
