//! A statement that can run: all its values are computed from the contents before it, and then stored.
//!
//! ```text
//! straight   reads nothing that it writes, cannot raise     programs write to the targets
//! frame      one box without bands                          results stay in the frame, then they are stored
//! kept       else                                           memory of the statement, then they are stored
//! ```

use crate::backend::field::bound_stage::{BoundStage, bytes_of};
use crate::backend::field::levels::{Levels, has_planes_apart, run_levels};
use crate::backend::field::limits::StageLimits;
use crate::backend::field::results::{Destination, Part, Targets};
use crate::backend::field::stage_data::StageData;
use crate::backend::field::tier::{FieldTier, StageLibraries, StageNews};
use crate::field::buffer::{FieldBuffer, FieldData};
use crate::field::error::FieldProblem;
use crate::field::lower::{LoweredStatement, ScanLevels};
use crate::field::program::FieldProgram;
use crate::field::stage::{FieldStage, StageResult};
use bumpalo::Bump;
use cembra_vm::value::ScalarValue;
use cembra_vm::value::budget::Account;
use cembra_vm::value::shape::{PerAxis, padded};

/// Points of a plane that a scan takes at a time: what it hands on stays in the second-level cache.
const PLANE_POINTS: usize = 8192;

/// The same where the planes of a field are mixed, so that each level reads a cell of every cache line.
const MIXED_PLANE_POINTS: usize = 512;

/// A statement that can run.
#[derive(Debug)]
pub(super) struct BoundStatement {
    pub number: usize,
    pub stages: Vec<(BoundStage, Vec<Destination>)>,
    /// For a scan the levels of each stage.
    scans: Vec<ScanLevels>,
    way: Way,
    /// Memory for the values of all outputs of all stages.
    kept: Vec<Vec<FieldBuffer>>,
    /// The buffers of targets while programs write them.
    targets: Vec<FieldBuffer>,
    arena: Bump,
    bytes: StatementBytes,
}

/// Bytes that a statement keeps from run to run.
#[derive(Clone, Copy, Debug, Default)]
struct StatementBytes {
    /// Those of stages, and of values that are kept.
    own: u64,
    /// Those of results in the frame, which count by themselves while it runs.
    in_frame: u64,
}

/// How values get to their targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Straight,
    Frame,
    Kept,
}

impl BoundStatement {
    /// Compiles a statement. The memory that it keeps is charged before it is made.
    ///
    /// # Errors
    /// The account stops it, there is no memory, or an operation of constants raises.
    pub fn new(
        program: &FieldProgram,
        lowered: LoweredStatement,
        account: &dyn Account,
    ) -> Result<BoundStatement, FieldProblem> {
        let statement = &program.statements[lowered.number];
        let LoweredStatement { number, stages, scans, is_in_place, .. } = lowered;
        let mut bound = Vec::new();
        for (at, stage) in stages.into_iter().enumerate() {
            let destination = |output| Destination::new(program, statement, output);
            let destinations: Vec<Destination> = stage.outputs.iter().map(destination).collect();
            let axis = scans.get(at).map(|scan| scan.axis);
            bound.push((BoundStage::new(stage, axis, account)?, destinations));
        }
        // Scans with several domains compute values that are not stored.
        let is_straight = !is_in_place
            && !stores_less(&scans, statement.targets.len())
            && bound.iter().all(|(stage, destinations)| stage.is_total() && are_distinct(destinations));
        let has_copies = |stage: &BoundStage| {
            stage.stage.outputs.iter().any(|output| matches!(output.result, StageResult::Read(_)))
        };
        let way = match &bound[..] {
            _ if is_straight => Way::Straight,
            [(stage, _)] if scans.is_empty() && stage.is_one_band() && !has_copies(stage) => Way::Frame,
            _ => Way::Kept,
        };
        let stages = bound.iter().map(|(stage, _)| stage.bytes()).sum();
        let (kept, targets, arena) = (Vec::new(), Vec::new(), Bump::new());
        let bytes = StatementBytes { own: stages, in_frame: 0 };
        let mut bound = BoundStatement { number, stages: bound, scans, way, kept, targets, arena, bytes };
        let rooms = bound.bytes_of_rooms();
        account.charge(rooms)?;
        match way {
            Way::Frame => bound.bytes.in_frame = rooms,
            Way::Straight | Way::Kept => bound.bytes.own += rooms,
        }
        bound.make_rooms()?;
        Ok(bound)
    }

    /// Has a tier run all programs from now on; tells what is made of each, and why the interpreter goes on running one.
    ///
    /// # Errors
    /// There is no memory.
    pub fn run_on(
        &mut self,
        tier: &FieldTier,
        libraries: &StageLibraries,
        tell: &mut dyn FnMut(StageNews<'_>),
    ) -> Result<(), FieldProblem> {
        self.stages.iter_mut().for_each(|(stage, _)| stage.run_on(tier, libraries, tell));
        // The frame keeps memory for results; a library would make it for each run.
        if self.way == Way::Frame && self.stages.iter().any(|(stage, _)| stage.is_native()) {
            self.way = Way::Kept;
            self.bytes.own += std::mem::take(&mut self.bytes.in_frame);
            self.make_rooms()?;
        }
        Ok(())
    }

    /// Bytes that the statement keeps from run to run.
    pub fn bytes(&self) -> u64 {
        self.bytes.own + self.bytes.in_frame
    }

    /// Those of them that do not count by themselves while it runs.
    pub fn bytes_beside(&self) -> u64 {
        self.bytes.own
    }

    /// Bytes of values that do not go straight to their fields.
    fn bytes_of_rooms(&self) -> u64 {
        let of_stage = |(stage, destinations): &(BoundStage, Vec<Destination>)| {
            destinations.iter().map(|to| bytes_of(to.dtype, &stage.stage.shape)).sum::<u64>()
        };
        if self.way == Way::Straight { 0 } else { self.stages.iter().map(of_stage).sum() }
    }

    /// Memory for values that are kept.
    fn make_rooms(&mut self) -> Result<(), FieldProblem> {
        if self.way != Way::Kept {
            return Ok(());
        }
        for (at, (stage, destinations)) in self.stages.iter().enumerate() {
            let FieldStage { first, shape, .. } = &stage.stage;
            let room = |to: &Destination| match self.scans.get(at) {
                Some(scan) => FieldBuffer::in_planes(to.dtype, first, shape, scan.axis),
                None => to.room(&stage.stage),
            };
            self.kept.push(destinations.iter().map(room).collect::<Result<_, _>>()?);
        }
        Ok(())
    }

    /// Computes and stores all values.
    pub fn run(
        &mut self,
        program: &FieldProgram,
        scalars: &[ScalarValue],
        limits: StageLimits<'_>,
        data: &mut FieldData,
    ) -> Result<(), FieldProblem> {
        // Copies count as well: a loop of statements without programs ends.
        limits.charge(0)?;
        if self.has_scans_apart() {
            self.run_scans(stage_data(program, scalars, limits, data))?;
            self.store_scans(program, data);
            return Ok(());
        }
        if !self.scans.is_empty() {
            return self.run_scan(program, scalars, limits, data);
        }
        match self.way {
            Way::Straight => {
                for (stage, destinations) in &mut self.stages {
                    with_targets(&mut self.targets, program, destinations, data, |buffers, data| {
                        let mut targets = Targets { buffers, destinations };
                        stage.run_into(stage_data(program, scalars, limits, data), &mut targets)
                    })?;
                }
            }
            Way::Frame => {
                for (stage, destinations) in &mut self.stages {
                    stage.run(stage_data(program, scalars, limits, data))?;
                    let part = Part { first: &stage.stage.first, shape: &stage.stage.shape };
                    for (output, destination) in stage.stage.outputs.iter().zip(&*destinations) {
                        let name = &*program.fields[destination.field.0].name;
                        let mut target = take(data, name);
                        let from = stage_data(program, scalars, limits, data);
                        let stored = stage.with_result(&output.result, from, part, |values| {
                            let place = destination.place(&target, part);
                            target.store_at(&place, values);
                        });
                        give_back(data, name, target);
                        stored?;
                    }
                }
            }
            Way::Kept => {
                for ((stage, _), kept) in self.stages.iter_mut().zip(&mut self.kept) {
                    let mut targets = Targets { buffers: kept, destinations: &[] };
                    stage.run_into(stage_data(program, scalars, limits, data), &mut targets)?;
                }
                for ((_, destinations), kept) in self.stages.iter().zip(&self.kept) {
                    store(program, destinations, kept, data);
                }
            }
        }
        Ok(())
    }

    /// True if the targets of a scan have different domains.
    fn has_scans_apart(&self) -> bool {
        let count = self.stages.first().map_or(0, |(_, destinations)| destinations.len());
        stores_less(&self.scans, count)
    }

    /// Computes a scan on each of its domains.
    fn run_scans(&mut self, from: StageData<'_>) -> Result<(), FieldProblem> {
        let BoundStatement { stages, scans, kept, arena, .. } = self;
        for (((stage, _), scan), kept) in stages.iter_mut().zip(&*scans).zip(kept) {
            let (mut first, mut shape) = (stage.stage.first.clone(), stage.stage.shape.clone());
            shape[scan.axis] = 1;
            let levels = Levels { scan, first: &mut first, shape: &shape, arena };
            run_levels(stage, levels, &mut Targets { buffers: kept, destinations: &[] }, from)?;
        }
        Ok(())
    }

    /// Stores of each domain the targets that have it.
    fn store_scans(&self, program: &FieldProgram, data: &mut FieldData) {
        for (((_, destinations), scan), kept) in self.stages.iter().zip(&self.scans).zip(&self.kept) {
            for target in &scan.targets {
                store(program, &destinations[*target..][..1], &kept[*target..], data);
            }
        }
    }

    fn run_scan(
        &mut self,
        program: &FieldProgram,
        scalars: &[ScalarValue],
        limits: StageLimits<'_>,
        data: &mut FieldData,
    ) -> Result<(), FieldProblem> {
        let BoundStatement { stages, scans, way, kept, targets, arena, bytes, .. } = self;
        let (Some((stage, destinations)), Some(scan)) = (stages.first_mut(), scans.first()) else {
            return Ok(());
        };
        let destinations = &*destinations;
        let rank = stage.stage.shape.len();
        let all: PerAxis = stage.stage.shape.iter().copied().collect();
        let (mut first, mut shape) = (padded(&stage.stage.first, 0), all);
        let first = &mut first[..rank];
        if *way == Way::Straight {
            first[scan.axis] = scan.levels.first;
            shape[scan.axis] = scan.levels.len();
            let part = Part { first, shape: &shape };
            let is_done = with_targets(targets, program, destinations, data, |buffers, data| {
                let mut into = Targets { buffers, destinations };
                stage.run_levels_kept(stage_data(program, scalars, limits, data), part, &mut into)
            })?;
            if is_done {
                return Ok(());
            }
        }
        shape[scan.axis] = 1;
        let is_straight = *way == Way::Straight && {
            let mut levels = Levels { scan, first, shape: &shape, arena };
            with_targets(targets, program, destinations, data, |buffers, _| {
                has_planes_apart(&mut levels, &mut Targets { buffers, destinations })
            })
        };
        // Bands along the first axis; what the statement reads and writes is computed in one.
        let row = shape[1..].iter().product::<usize>().max(1);
        let points = if is_straight { PLANE_POINTS } else { MIXED_PLANE_POINTS };
        let rows = match scan.axis == 0 || *way == Way::Kept {
            true => shape[0],
            false => points.div_ceil(row).clamp(1, all[0]),
        };
        let (begin, end) = (stage.stage.first[0], if scan.axis == 0 { 1 } else { all[0] });
        let mut done = 0;
        while done < end {
            let count = if scan.axis == 0 { 1 } else { rows.min(end - done) };
            first.copy_from_slice(&stage.stage.first);
            if scan.axis != 0 {
                (first[0], shape[0]) = (begin + done as i64, count);
            }
            let band_begin = first[0];
            if is_straight {
                let levels = Levels { scan, first, shape: &shape, arena };
                with_targets(targets, program, destinations, data, |buffers, data| {
                    let mut into = Targets { buffers, destinations };
                    run_levels(stage, levels, &mut into, stage_data(program, scalars, limits, data))
                })?;
            } else {
                let mut whole = shape;
                whole[scan.axis] = scan.levels.len();
                let fits = |kept: &Vec<FieldBuffer>| kept.first().is_some_and(|room| *room.shape() == *whole);
                if !kept.first().is_some_and(fits) {
                    first[scan.axis] = scan.levels.first;
                    if kept.is_empty() {
                        // Bands that follow are not larger.
                        bytes.own += charge_rooms(destinations, &whole, limits)?;
                    }
                    let room = |to: &Destination| FieldBuffer::in_planes(to.dtype, first, &whole, scan.axis);
                    *kept = vec![destinations.iter().map(room).collect::<Result<_, _>>()?];
                }
                kept[0].iter_mut().for_each(|room| room.begin_at(band_begin));
                let levels = Levels { scan, first, shape: &shape, arena };
                let mut into = Targets { buffers: &mut kept[0], destinations: &[] };
                run_levels(stage, levels, &mut into, stage_data(program, scalars, limits, data))?;
                store(program, destinations, &kept[0], data);
            }
            done += count;
        }
        Ok(())
    }
}

/// Charges memory for the values of outputs, which is made while the statement runs and kept; gives its bytes.
fn charge_rooms(
    destinations: &[Destination],
    shape: &[usize],
    limits: StageLimits<'_>,
) -> Result<u64, FieldProblem> {
    let rooms = destinations.iter().map(|to| bytes_of(to.dtype, shape)).sum();
    limits.charge_bytes(rooms)?;
    Ok(rooms)
}

/// True if a scan computes some of so many values only because it hands them on.
fn stores_less(scans: &[ScanLevels], values: usize) -> bool {
    scans.iter().any(|scan| scan.targets.len() < values)
}

/// True if no two results go to one field.
fn are_distinct(destinations: &[Destination]) -> bool {
    destinations
        .iter()
        .enumerate()
        .all(|(at, one)| destinations[..at].iter().all(|other| other.field != one.field))
}

/// What the stages of a statement read.
fn stage_data<'d>(
    program: &'d FieldProgram,
    scalars: &'d [ScalarValue],
    limits: StageLimits<'d>,
    data: &'d FieldData,
) -> StageData<'d> {
    StageData { program, data, scalars, temporaries: &[], carries: &[], limits }
}

/// Stores what was kept.
fn store(program: &FieldProgram, destinations: &[Destination], kept: &[FieldBuffer], data: &mut FieldData) {
    for (destination, values) in destinations.iter().zip(kept) {
        let target = data.fields.get_mut(&*program.fields[destination.field.0].name);
        let target = target.expect("all fields have data");
        let place = destination.place(target, Part { first: values.origin(), shape: values.shape() });
        target.store_at(&place, &values.view());
    }
}

/// Runs with the buffers of the targets taken out of the data, and puts them back.
fn with_targets<R>(
    targets: &mut Vec<FieldBuffer>,
    program: &FieldProgram,
    destinations: &[Destination],
    data: &mut FieldData,
    run: impl FnOnce(&mut [FieldBuffer], &FieldData) -> R,
) -> R {
    let name = |destination: &Destination| &*program.fields[destination.field.0].name;
    targets.clear();
    targets.extend(destinations.iter().map(|destination| take(data, name(destination))));
    let result = run(targets, data);
    let taken = targets.drain(..).zip(destinations);
    taken.for_each(|(target, destination)| give_back(data, name(destination), target));
    result
}

fn take(data: &mut FieldData, name: &str) -> FieldBuffer {
    let buffer = data.fields.get_mut(name).expect("all fields have data");
    std::mem::replace(buffer, FieldBuffer::elsewhere())
}

fn give_back(data: &mut FieldData, name: &str, target: FieldBuffer) {
    *data.fields.get_mut(name).expect("all fields have data") = target;
}
