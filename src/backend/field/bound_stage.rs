//! A stage that can run: band by band along its first axis, with the temporaries that it keeps.
//!
//! ```text
//! band 0     lap on rows 1:19     v on rows 2:18
//! band 1     lap on rows 17:35    v on rows 18:34        rows 17 and 18 of lap are kept, 16 are computed
//! ```
//!
//! Bands are there for the second-level cache: what a temporary or a list of points gives is read again soon. A stage
//! without them is one band.

use crate::backend::field::kept::KeptPart;
use crate::backend::field::results::{Part, Targets, is_full, is_shared};
use crate::backend::field::stage_data::{self, StageData, with_scalar};
use crate::backend::field::stage_program::StageProgram;
use crate::backend::field::tier::{FieldTier, StageLibraries, StageNews};
use crate::expr::NodeId;
use crate::field::buffer::FieldBuffer;
use crate::field::error::FieldProblem;
use crate::field::lines::RowsInLines;
use crate::field::stage::{FieldStage, FieldTemporary, StageInput, StageResult, StageSource};
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::{Room, SweepOrder};
use cembra_vm::value::array::cell_size;
use cembra_vm::value::budget::Account;
use cembra_vm::value::{NdView, ScalarType};

/// Bytes of a band that temporaries and what is read at lists may have: half of a second-level cache.
const BAND_BYTES: usize = 256 << 10;

/// A stage that can run.
#[derive(Debug)]
pub(super) struct BoundStage {
    pub stage: FieldStage,
    /// Nothing if no result needs an operation.
    program: Option<StageProgram>,
    temporaries: Vec<BoundTemporary>,
    /// Where they are kept, by number.
    kept: Vec<FieldBuffer>,
    /// Rows of a band.
    rows: usize,
    /// The part that runs, for its first points and sizes.
    first: Vec<i64>,
    shape: Vec<usize>,
    /// Bytes of temporaries, of lists, and of the elements that these choose.
    bytes: u64,
}

/// A temporary that can be computed.
#[derive(Debug)]
struct BoundTemporary {
    stage: BoundStage,
    reach: Vec<Option<(i64, i64)>>,
}

impl BoundStage {
    /// Compiles a stage. What it keeps is charged, but for lists, which lowering has charged.
    ///
    /// # Errors
    /// The account stops it, there is no memory, or an operation of constants raises.
    pub fn new(
        mut stage: FieldStage,
        scan: Option<usize>,
        account: &dyn Account,
    ) -> Result<BoundStage, FieldProblem> {
        let mut roots: Vec<NodeId> = Vec::new();
        for output in &stage.outputs {
            if let StageResult::Node(node) = output.result
                && !roots.contains(&node)
            {
                roots.push(node);
            }
        }
        let program = if roots.is_empty() { None } else { Some(StageProgram::new(&stage, &roots)?) };
        let declared = std::mem::take(&mut stage.temporaries);
        let rows = rows_of_band(&stage, &declared);
        let (lists, chosen) = bytes_of_lists(&stage, rows, scan);
        account.charge(chosen)?;
        let mut bytes = lists + chosen;
        let (mut temporaries, mut kept) = (Vec::new(), Vec::new());
        for FieldTemporary { stage: of, dtype, reach } in declared {
            let size = |(axis, reach): (usize, &Option<(i64, i64)>)| match reach {
                None => 1,
                Some((least, most)) if axis == 0 => rows + (most - least) as usize,
                Some(_) => of.shape[axis],
            };
            let shape: Vec<usize> = reach.iter().enumerate().map(size).collect();
            let rows = RowsInLines::new(dtype, &shape);
            let own = rows.bytes();
            account.charge(own)?;
            // The first point of the stage along the last axis.
            let ahead =
                reach.last().copied().flatten().map_or(0, |(least, _)| least.min(0).unsigned_abs() as usize);
            kept.push(rows.buffer(&of.first, &shape, ahead)?);
            let stage = BoundStage::new(of, None, account)?;
            bytes += own + stage.bytes;
            temporaries.push(BoundTemporary { stage, reach });
        }
        let (first, shape) = (stage.first.clone(), stage.shape.clone());
        Ok(BoundStage { stage, program, temporaries, kept, rows, first, shape, bytes })
    }

    /// Has a tier run the programs from now on; tells what is made of each, and why the interpreter goes on running one.
    pub fn run_on(
        &mut self,
        tier: &FieldTier,
        libraries: &StageLibraries,
        tell: &mut dyn FnMut(StageNews<'_>),
    ) {
        for temporary in &mut self.temporaries {
            temporary.stage.run_on(tier, libraries, tell);
        }
        if let Some(program) = &mut self.program
            && let Err(reason) = program.run_on(&self.stage, tier, libraries, tell)
        {
            tell(StageNews::Interpreted(reason));
        }
    }

    /// Bytes of what is kept from run to run, but for frames.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The programs, those of temporaries first.
    pub fn programs<'s>(&'s self, all: &mut Vec<(&'s FieldStage, &'s StageProgram)>) {
        self.temporaries.iter().for_each(|temporary| temporary.stage.programs(all));
        all.extend(self.program.as_ref().map(|program| (&self.stage, program)));
    }

    /// True if a library runs the program.
    pub fn is_native(&self) -> bool {
        self.program.as_ref().is_some_and(StageProgram::is_native)
    }

    /// True if no operation may raise, whatever the values are.
    pub fn is_total(&self) -> bool {
        self.program.as_ref().is_none_or(StageProgram::is_total)
    }

    /// True if all of it is one band.
    pub fn is_one_band(&self) -> bool {
        self.temporaries.is_empty() && self.rows >= self.stage.shape.first().copied().unwrap_or(1)
    }

    /// Computes all points and stores them; nothing that is read may be a target, and two outputs go to two targets.
    pub fn run_into(&mut self, from: StageData<'_>, targets: &mut Targets<'_>) -> Result<(), FieldProblem> {
        let all = self.stage.shape.first().copied().unwrap_or(1);
        let begin = self.stage.first.first().copied().unwrap_or(0);
        // Bands keep what lists choose in a cache: a run that takes it where it lies needs none.
        let is_whole = self.rows < all
            && self.temporaries.is_empty()
            && from.limits.threads <= 1
            && self.program.as_ref().is_some_and(StageProgram::takes_where_they_lie);
        if is_whole {
            let BoundStage { stage, program, .. } = self;
            let part = Part { first: &stage.first, shape: &stage.shape };
            if let Some(program) = program
                && program.run_kept(stage, from, part, targets)?
            {
                return Ok(());
            }
        }
        let when = if is_whole { Keeping::No } else { Keeping::EachPart };
        let mut done = 0;
        while done < all {
            let count = self.rows.min(all - done);
            self.keep(from, begin + done as i64, count, done == 0)?;
            self.first.copy_from_slice(&self.stage.first);
            self.shape.copy_from_slice(&self.stage.shape);
            if let (Some(first), Some(size)) = (self.first.first_mut(), self.shape.first_mut()) {
                (*first, *size) = (begin + done as i64, count);
            }
            let part = Part { first: &self.first, shape: &self.shape };
            let from = StageData { temporaries: &self.kept, ..from };
            run_part(&self.stage, self.program.as_mut(), from, part, targets, when)?;
            done += count;
        }
        if let Some(program) = self.program.as_mut().filter(|_| is_whole) {
            let part = Part { first: &self.stage.first, shape: &self.stage.shape };
            let calls = all.div_ceil(self.rows);
            let part = KeptPart { part, order: SweepOrder::Any, init: &[], calls };
            program.keep(&self.stage, from, part, targets);
        }
        Ok(())
    }

    /// Computes all points in one band; results stay in the frame.
    pub fn run(&mut self, from: StageData<'_>) -> Result<(), FieldProblem> {
        let part = Part { first: &self.stage.first, shape: &self.stage.shape };
        match &mut self.program {
            Some(program) => program.run(&self.stage, from, part, |_, _| ()),
            None => Ok(()),
        }
    }

    /// Computes a part of a scan into rooms that a function gives, by number of the output; results that get none are handed to
    /// the function behind as arrays with the axes of the box.
    pub fn run_plane<'r>(
        &'r mut self,
        from: StageData<'_>,
        part: Part<'_>,
        rooms: impl FnOnce(&'r FieldStage, &'r [(NodeId, TypedSlot)], &mut dyn FnMut(Room<'r>)),
    ) -> Result<(), FieldProblem> {
        let BoundStage { stage, program, .. } = self;
        let stage = &*stage;
        match program {
            Some(program) => program.run(stage, from, part, |slots, give| rooms(stage, slots, give)),
            None => Ok(()),
        }
    }

    /// Computes all levels of a scan and stores them by a run that is kept for buffers like these; false if there is none, or it
    /// stopped.
    pub fn run_levels_kept(
        &mut self,
        from: StageData<'_>,
        part: Part<'_>,
        into: &mut Targets<'_>,
    ) -> Result<bool, FieldProblem> {
        match &mut self.program {
            Some(program) => program.run_kept(&self.stage, from, part, into),
            None => Ok(false),
        }
    }

    /// Keeps a run of all levels, if that can be.
    pub fn keep_levels(&mut self, from: StageData<'_>, part: KeptPart<'_>, into: &mut Targets<'_>) {
        let is_taken =
            |input: &StageInput| matches!(&input.source, StageSource::Field(read) if !read.lists.is_empty());
        if let Some(program) = &mut self.program
            && !self.stage.inputs.iter().any(is_taken)
        {
            program.keep(&self.stage, from, part, into);
        }
    }

    /// Computes all levels of a scan at once, if a library does; rooms are as those of [`BoundStage::run_plane`], of all levels.
    /// False if it does not: nothing was written then.
    #[cfg(feature = "native")]
    pub fn sweep_levels<'r>(
        &'r mut self,
        from: StageData<'_>,
        part: Part<'_>,
        order: SweepOrder,
        rooms: impl FnOnce(&'r FieldStage, &'r [(NodeId, TypedSlot)], &mut dyn FnMut(Room<'r>)),
    ) -> Result<bool, FieldProblem> {
        let BoundStage { stage, program, .. } = self;
        let stage = &*stage;
        match program {
            Some(program) => {
                program.sweep_levels(stage, from, part, order, |slots, give| rooms(stage, slots, give))
            }
            None => Ok(false),
        }
    }

    /// Calls a function for a result of the last run, as an array with the axes of the box; axes that the result does not
    /// vary along may have size 1.
    pub fn with_result<R>(
        &self,
        result: &StageResult,
        from: StageData<'_>,
        part: Part<'_>,
        each: impl FnOnce(&NdView<'_>) -> R,
    ) -> Result<R, FieldProblem> {
        with_result(&self.stage, self.program.as_ref(), result, from, part, each)
    }

    /// Computes the temporaries that a band reads.
    fn keep(
        &mut self,
        from: StageData<'_>,
        begin: i64,
        count: usize,
        is_first: bool,
    ) -> Result<(), FieldProblem> {
        for (number, temporary) in self.temporaries.iter_mut().enumerate() {
            let (before, rest) = self.kept.split_at_mut(number);
            let own = &mut rest[..1];
            let BoundTemporary { stage, reach } = temporary;
            let BoundStage { stage, program, first, shape, .. } = stage;
            first.copy_from_slice(own[0].origin());
            shape.copy_from_slice(own[0].shape());
            match reach[0] {
                None if !is_first => continue,
                None => {}
                Some((least, most)) => {
                    let (low, end) = (begin + least, begin + count as i64 + most);
                    if is_first {
                        own[0].begin_at(low);
                        (first[0], shape[0]) = (low, (end - low) as usize);
                    } else {
                        // What the band before has kept of these rows is there.
                        own[0].slide_to(low);
                        (first[0], shape[0]) = (begin + most, count);
                    }
                }
            }
            let from = StageData { temporaries: before, ..from };
            let part = Part { first, shape };
            let mut targets = Targets { buffers: own, destinations: &[] };
            run_part(stage, program.as_mut(), from, part, &mut targets, Keeping::EachPart)?;
        }
        Ok(())
    }
}

/// Whether parts are looked for among the runs that are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// Each part is a run of its own.
    EachPart,
    /// Only the whole is kept.
    No,
}

/// Computes a part and stores it: where it can, the program writes to the targets itself. Without destinations a
/// target has the axes of the box.
fn run_part(
    stage: &FieldStage,
    mut program: Option<&mut StageProgram>,
    from: StageData<'_>,
    part: Part<'_>,
    targets: &mut Targets<'_>,
    keeping: Keeping,
) -> Result<(), FieldProblem> {
    if let Some(program) = program.as_mut().filter(|_| keeping == Keeping::EachPart)
        && program.run_kept(stage, from, part, targets)?
    {
        return Ok(());
    }
    let destinations = targets.destinations;
    let place = |number: usize, buffer: &FieldBuffer| part.place_in(buffer, destinations.get(number));
    let mut is_stored = 0_u64;
    if let Some(program) = &mut program {
        let is_native = program.is_native();
        let buffers = &mut *targets.buffers;
        program.run(stage, from, part, |slots, give| {
            for (number, (output, buffer)) in stage.outputs.iter().zip(buffers).enumerate() {
                let StageResult::Node(node) = output.result else { continue };
                let Some(slot) = slots.iter().find(|(known, _)| *known == node) else { continue };
                let place = place(number, buffer);
                if number < 64
                    && !(is_native && is_shared(stage, number))
                    && is_full(&slot.1, part)
                    && let Some(room) = buffer.room_at(&slot.1, &place)
                {
                    give(room);
                    is_stored |= 1 << number;
                }
            }
        })?;
    }
    for (number, (output, buffer)) in stage.outputs.iter().zip(&mut *targets.buffers).enumerate() {
        if number >= 64 || is_stored & 1 << number == 0 {
            let place = place(number, buffer);
            if let StageResult::Read(read) = &output.result
                && read.lists.is_empty()
            {
                let of_read = stage_data::place(from.buffer(read), stage, read, part);
                buffer.copy_at(&place, from.buffer(read), &of_read);
                continue;
            }
            with_result(stage, program.as_deref(), &output.result, from, part, |values| {
                buffer.store_at(&place, values);
            })?;
        }
    }
    if let Some(program) = program.filter(|_| keeping == Keeping::EachPart) {
        program.keep(stage, from, KeptPart { part, order: SweepOrder::Any, init: &[], calls: 1 }, targets);
    }
    Ok(())
}

fn with_result<R>(
    stage: &FieldStage,
    program: Option<&StageProgram>,
    result: &StageResult,
    from: StageData<'_>,
    part: Part<'_>,
    each: impl FnOnce(&NdView<'_>) -> R,
) -> Result<R, FieldProblem> {
    match result {
        StageResult::Read(read) => from.with_read(stage, read, part, each),
        StageResult::Carry(number) => Ok(each(&from.carries[*number])),
        StageResult::Scalar(id) => Ok(with_scalar(&from.scalars[id.0], each)),
        StageResult::Literal(value) => Ok(with_scalar(value, each)),
        StageResult::Node(node) => {
            program.expect("an operation is computed by a program").with_output(*node, each)
        }
    }
}

/// Bytes of cells with these sizes.
pub(super) fn bytes_of(dtype: ScalarType, shape: &[usize]) -> u64 {
    shape.iter().fold(cell_size(dtype) as u64, |bytes, size| bytes.saturating_mul(*size as u64))
}

/// Bytes of the lists of a stage, and of the elements of a band that they choose. A scan goes level by level.
fn bytes_of_lists(stage: &FieldStage, rows: usize, scan: Option<usize>) -> (u64, u64) {
    let mut band = stage.shape.clone();
    match (scan, band.first_mut()) {
        (Some(axis), _) => band[axis] = 1,
        (None, Some(first)) => *first = rows.min(*first),
        (None, None) => {}
    }
    let (mut of_lists, mut chosen) = (0, 0);
    for input in &stage.inputs {
        let (StageSource::Field(read), Some(qtype)) = (&input.source, input.qtype.nd()) else { continue };
        if !read.lists.is_empty() {
            of_lists += read.lists.iter().map(|list| size_of_val(&**list) as u64).sum::<u64>();
            chosen += bytes_of(qtype.element(), &read.sizes(&band));
        }
    }
    (of_lists, chosen)
}

/// Rows of a band: all, if nothing is kept and nothing taken by lists.
fn rows_of_band(stage: &FieldStage, temporaries: &[FieldTemporary]) -> usize {
    let Some((all, row)) = stage.shape.split_first() else { return 1 };
    let taken = |stage: &FieldStage| {
        let lists =
            |source: &StageSource| matches!(source, StageSource::Field(read) if !read.lists.is_empty());
        stage.inputs.iter().filter(|input| lists(&input.source)).count()
    };
    let count = temporaries.len() + taken(stage);
    if count == 0 {
        return (*all).max(1);
    }
    let bytes = row.iter().product::<usize>().max(1) * count * 8;
    (BAND_BYTES / bytes).clamp(16, (*all).max(16))
}
