//! Lowering of statements: the boxes that a statement is evaluated on, and what each of them takes.
//!
//! ```text
//! out[K=0:8] = concat_where(K == 0, a, b)      stages on K 0:1 (a) and K 1:8 (b)
//! g[I=0:6], h[I=2:5] = d, d[I+1] - d           stages on I 0:6 (g) and I 2:5 (h)
//! p[I=0:6, K=0:9] = scan(K forward; …)         one stage, which runs on the planes K 0, 1, …, 8
//! p[…], q[…] = scan(K forward; …; …)           a stage for each domain, with all that is handed on
//! ```
//!
//! Everything that can be outside is found here, before anything is written.

use crate::field::dimension::DimensionId;
use crate::field::element::held_as;
use crate::field::error::{FieldError, FieldProblem, Stop};
use crate::field::expression::{FieldId, FieldNode, FieldNodeId};
use crate::field::geometry::FieldGeometry;
use crate::field::halo::{FieldReach, field_accesses};
use crate::field::place::{Coordinate, KeptReach};
use crate::field::points::{PointRange, points_text};
use crate::field::program::{
    FieldProgram, FieldScan, FieldStatement, FieldTarget, FieldValue, ScanDirection,
};
use crate::field::stage::{FieldStage, FieldTemporary, StageOutput};
use crate::field::temporaries::worth_keeping;
use crate::field::to_expr::{BoxLowering, MOST_LOWERED};
use crate::field::types::FieldTypes;
use crate::field::written::WrittenFields;
use cembra_vm::value::ScalarValue;
use cembra_vm::value::budget::Account;

/// Boxes that a statement may be cut into.
const MOST_BOXES: usize = 1024;

/// Operations that all statements of a program may need together.
const MOST_OF_PROGRAM: usize = 1_000_000;

/// What a statement has needed so far.
#[derive(Default)]
struct Spent {
    operations: usize,
    boxes: usize,
}

impl Spent {
    /// Operations that are left.
    fn left(&self) -> usize {
        MOST_LOWERED.saturating_sub(self.operations)
    }
}

/// The levels of a scan.
#[derive(Clone, Debug)]
pub struct ScanLevels {
    /// The axis of the box.
    pub axis: usize,
    /// The levels.
    pub levels: PointRange,
    /// Their order.
    pub direction: ScanDirection,
    /// What is handed to the first one.
    pub init: Vec<ScalarValue>,
    /// The targets that are stored, by number; the others have domains of their own.
    pub targets: Vec<usize>,
}

/// A statement on the data at hand.
#[derive(Clone, Debug)]
pub struct LoweredStatement {
    /// Number of the statement, from 0.
    pub number: usize,
    /// The points that are written, by target and axis of the field; nothing if there are none.
    pub domains: Vec<Option<Vec<PointRange>>>,
    /// What is evaluated, in order.
    pub stages: Vec<FieldStage>,
    /// For a scan the levels of each stage, which runs plane by plane; targets with the same domain share one.
    pub scans: Vec<ScanLevels>,
    /// True if the statement reads what it writes.
    pub is_in_place: bool,
}

/// Lowers the statements of a program, which was checked. The points that have values before it become those after it.
///
/// # Errors
/// The first statement that reads or writes points which are not there, reads some that have no values yet, or exceeds a limit;
/// or the account stops it.
pub fn lower_program(
    program: &FieldProgram,
    types: &FieldTypes,
    geometry: &FieldGeometry,
    written: &mut WrittenFields,
    account: &dyn Account,
) -> Result<Vec<LoweredStatement>, FieldError> {
    let mut operations = 0;
    let lower = |(number, statement): (usize, &FieldStatement)| {
        let known = Known { program, types, geometry, written, account };
        let lowered = lower_statement(known, number)
            .and_then(|(lowered, spent)| {
                operations += spent.operations;
                check_operations(operations).map(|()| lowered)
            })
            .map_err(|problem| {
                let problem = whole_need(&known, statement, problem);
                let error = FieldError::at(problem, statement.span);
                error.in_statement(number + 1, program.target_name(statement))
            })?;
        for (target, domain) in statement.targets.iter().zip(&lowered.domains) {
            if let Some(points) = domain {
                written.note(target.field, points, &geometry.extents[target.field.0]);
            }
        }
        Ok(lowered)
    };
    program.statements.iter().enumerate().map(lower).collect()
}

/// What is known while statements are lowered, and the account that is asked.
#[derive(Clone, Copy)]
struct Known<'p> {
    program: &'p FieldProgram,
    types: &'p FieldTypes,
    geometry: &'p FieldGeometry,
    written: &'p WrittenFields,
    account: &'p dyn Account,
}

impl<'p> Known<'p> {
    fn lowering(self, ranges: &[PointRange], scan: Option<usize>, most: usize) -> BoxLowering<'p> {
        let Known { program, types, geometry, written, account } = self;
        let data = (geometry, Some(written));
        BoxLowering::new(program, types, data, ranges.to_vec(), scan, (most, account))
    }
}

/// The problem of a field that does not have some points, with all that the statement needs of it along the dimension, if that is one
/// range.
fn whole_need(known: &Known<'_>, statement: &FieldStatement, mut problem: FieldProblem) -> FieldProblem {
    let program = known.program;
    if let FieldProblem::OutOfDomain { field, dimension, needed_first, needed_end, .. } = &mut problem
        && let Some(dimension) = program.dimension(dimension)
        && let Some(needed) = program.field(field).and_then(|field| need(known, statement, field, dimension))
    {
        *needed_first = needed.first.min(*needed_first);
        *needed_end = needed.end.max(*needed_end);
    }
    problem
}

/// What a statement needs of a field along a dimension, if that is moved by numbers only, and needed on the whole domain.
fn need(
    known: &Known<'_>,
    statement: &FieldStatement,
    field: FieldId,
    dimension: DimensionId,
) -> Option<PointRange> {
    let Known { program, geometry, .. } = *known;
    let needed = program.nodes.needed(statement.value.roots());
    if needed.iter().any(|id| matches!(program.nodes.get(*id), FieldNode::ConcatWhere(..))) {
        return None;
    }
    // Also of a target that does not have its domain.
    let along =
        |target: &FieldTarget| match target.domain.iter().flatten().find(|of| of.dimension == dimension) {
            Some(range) => {
                let [first, end] =
                    [&range.first, &range.end].map(|bound| geometry.bound(program, dimension, bound).ok());
                Some(PointRange { first: first?, end: end? })
            }
            None => {
                let axis = program.fields[target.field.0].dims.iter().position(|dim| *dim == dimension)?;
                Some(geometry.extents[target.field.0][axis])
            }
        };
    let mut domains = statement.targets.iter().map(along);
    let domain = domains.next()??;
    if !domains.all(|other| other == Some(domain)) {
        return None;
    }
    let accesses = field_accesses(program, statement);
    let access = accesses.iter().find(|access| access.field == field)?;
    match access.reach.iter().find(|(dim, _)| *dim == dimension)?.1[..] {
        [FieldReach::Offsets(low, high)] => {
            Some(PointRange { first: domain.first.saturating_add(low), end: domain.end.saturating_add(high) })
        }
        _ => None,
    }
}

fn check_operations(operations: usize) -> Result<(), FieldProblem> {
    match operations > MOST_OF_PROGRAM {
        true => {
            let what =
                format!("this statement and those before it need more than {MOST_OF_PROGRAM} operations");
            Err(FieldProblem::Limit { limit: "field-operations", what })
        }
        false => Ok(()),
    }
}

fn lower_statement(known: Known<'_>, number: usize) -> Result<(LoweredStatement, Spent), FieldProblem> {
    let Known { program, geometry, .. } = known;
    let statement = &program.statements[number];
    let domain = |target| geometry.domain(program, target);
    let domains = statement.targets.iter().map(domain).collect::<Result<Vec<_>, _>>()?;
    check_overlap(program, statement, &domains)?;
    let read = program.fields_read(statement);
    let is_in_place = statement.targets.iter().any(|target| read.contains(&target.field));
    let mut lowered =
        LoweredStatement { number, domains, stages: Vec::new(), scans: Vec::new(), is_in_place };
    let groups = groups(program, statement, &lowered.domains);
    let mut spent = Spent::default();
    match &statement.value {
        FieldValue::Pointwise(roots) => {
            for group in groups {
                lower_group(known, roots, group, (&mut lowered.stages, &mut spent))?;
            }
        }
        FieldValue::Scan(scan) => {
            for group in groups {
                lower_scan(known, scan, group, (&mut lowered, &mut spent))?;
            }
        }
    }
    Ok((lowered, spent))
}

fn check_overlap(
    program: &FieldProgram,
    statement: &FieldStatement,
    domains: &[Option<Vec<PointRange>>],
) -> Result<(), FieldProblem> {
    for (at, (target, domain)) in statement.targets.iter().zip(domains).enumerate() {
        let before = statement.targets[..at].iter().zip(domains).filter(|(b, _)| b.field == target.field);
        for (_, other) in before {
            let (Some(domain), Some(other)) = (domain, other) else { continue };
            let both = |(a, b): (&PointRange, &PointRange)| PointRange {
                first: a.first.max(b.first),
                end: a.end.min(b.end),
            };
            let points: Vec<PointRange> = domain.iter().zip(other).map(both).collect();
            if points.iter().all(|range| !range.is_empty()) {
                let field = program.fields[target.field.0].name.to_string();
                let points = points_text(program, target.field, &points);
                return Err(FieldProblem::Overlap { field, points });
            }
        }
    }
    Ok(())
}

/// Targets that are written on one box.
struct Group {
    /// The axes of the box.
    axes: Vec<DimensionId>,
    ranges: Vec<PointRange>,
    /// Number of a target, and its local dimension with the point.
    targets: Vec<(usize, Option<(DimensionId, i64)>)>,
}

fn groups(
    program: &FieldProgram,
    statement: &FieldStatement,
    domains: &[Option<Vec<PointRange>>],
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (number, (target, domain)) in statement.targets.iter().zip(domains).enumerate() {
        let Some(domain) = domain else { continue };
        let field = &program.fields[target.field.0];
        let local = program.local_of(field.dim_set());
        let range = |dim: DimensionId| {
            domain[field.dims.iter().position(|other| *other == dim).expect("a dimension of the field")]
        };
        let dims = local.map_or(field.dim_set(), |local| field.dim_set().without(local));
        let axes = program.in_order(dims);
        let ranges: Vec<PointRange> = axes.iter().map(|dim| range(*dim)).collect();
        let points: Vec<Option<(DimensionId, i64)>> = match local {
            None => vec![None],
            Some(local) => {
                let PointRange { first, end } = range(local);
                (first..end).map(|point| Some((local, point))).collect()
            }
        };
        let targets = points.into_iter().map(|point| (number, point));
        match groups.iter_mut().find(|group| group.axes == axes && group.ranges == ranges) {
            Some(group) => group.targets.extend(targets),
            None => groups.push(Group { axes, ranges, targets: targets.collect() }),
        }
    }
    groups
}

/// The coordinates of a box: each of its dimensions is an axis.
fn coordinates(
    program: &FieldProgram,
    axes: &[DimensionId],
    local: Option<(DimensionId, i64)>,
) -> Vec<Coordinate> {
    let mut coordinates = vec![Coordinate::Unused; program.dims.len()];
    for (axis, dim) in axes.iter().enumerate() {
        coordinates[dim.0] = Coordinate::Axis { axis, offset: 0 };
    }
    if let Some((dim, point)) = local {
        coordinates[dim.0] = Coordinate::Fixed(point);
    }
    coordinates
}

/// Lowers a group; where a condition changes inside, the box is cut.
fn lower_group(
    known: Known<'_>,
    roots: &[FieldNodeId],
    group: Group,
    (stages, spent): (&mut Vec<FieldStage>, &mut Spent),
) -> Result<(), FieldProblem> {
    let Group { axes, ranges, targets } = group;
    let mut work = vec![ranges];
    while let Some(ranges) = work.pop() {
        let most = spent.left();
        let mut lowering = known.lowering(&ranges, None, most);
        let outputs = lower_targets(known.program, roots, &axes, &targets, &mut lowering);
        spent.operations += lowering.count();
        match outputs {
            Ok(outputs) => {
                spent.boxes += 1;
                if spent.boxes > MOST_BOXES {
                    let what = format!(
                        "the statement goes over more than {MOST_BOXES} boxes: domains and parts of concat_where"
                    );
                    return Err(FieldProblem::Limit { limit: "field-boxes", what });
                }
                let kept = worth_keeping(&lowering);
                stages.push(match kept.is_empty() {
                    true => stage(lowering, &axes, &ranges, outputs),
                    false => {
                        let boxed = StageBox { known, roots, axes: &axes, ranges: &ranges };
                        boxed.with_temporaries(&kept, &targets, most)?
                    }
                });
            }
            Err(Stop::Problem(problem)) => return Err(problem),
            Err(Stop::Split { axis, at }) => {
                let (mut low, mut high) = (ranges.clone(), ranges);
                low[axis].end = at;
                high[axis].first = at;
                work.extend([high, low]);
            }
        }
    }
    Ok(())
}

fn lower_targets(
    program: &FieldProgram,
    roots: &[FieldNodeId],
    axes: &[DimensionId],
    targets: &[(usize, Option<(DimensionId, i64)>)],
    lowering: &mut BoxLowering<'_>,
) -> Result<Vec<StageOutput>, Stop> {
    let mut outputs = Vec::new();
    for (target, local) in targets {
        let result = lowering.lower(roots[*target], coordinates(program, axes, *local))?;
        outputs.push(StageOutput { target: *target, local: local.map(|(_, point)| point), result });
    }
    Ok(outputs)
}

fn stage(
    lowering: BoxLowering<'_>,
    axes: &[DimensionId],
    ranges: &[PointRange],
    outputs: Vec<StageOutput>,
) -> FieldStage {
    FieldStage {
        axes: axes.into(),
        first: ranges.iter().map(|range| range.first).collect(),
        shape: ranges.iter().map(|range| range.len()).collect(),
        graph: lowering.graph,
        inputs: lowering.inputs,
        outputs,
        casts: lowering.casts,
        temporaries: Vec::new(),
    }
}

/// A box that is lowered with temporaries.
struct StageBox<'p> {
    known: Known<'p>,
    roots: &'p [FieldNodeId],
    axes: &'p [DimensionId],
    ranges: &'p [PointRange],
}

impl StageBox<'_> {
    /// The stage with these operations as temporaries, operands first.
    fn with_temporaries(
        &self,
        kept: &[FieldNodeId],
        targets: &[(usize, Option<(DimensionId, i64)>)],
        most: usize,
    ) -> Result<FieldStage, FieldProblem> {
        let StageBox { known, axes, ranges, .. } = *self;
        let Known { program, types, .. } = known;
        let problem = |stop| match stop {
            Stop::Problem(problem) => problem,
            Stop::Split { .. } => unreachable!("the box was lowered before"),
        };
        let unread = vec![None; axes.len()];
        let mut reaches: Vec<Vec<Option<(i64, i64)>>> = vec![unread.clone(); kept.len()];
        let keep = |below: usize| {
            let reach = |number: usize| KeptReach { number, offsets: unread.clone() };
            kept[..below].iter().enumerate().map(|(number, id)| (*id, reach(number))).collect()
        };
        let mut lowering = known.lowering(ranges, None, most).of_checked_reads();
        lowering.kept = keep(kept.len());
        let outputs = lower_targets(program, self.roots, axes, targets, &mut lowering).map_err(problem)?;
        widen(&mut reaches, &lowering, &unread);
        let mut main = stage(lowering, axes, ranges, outputs);
        for (number, id) in kept.iter().enumerate().rev() {
            let reach = reaches[number].clone();
            let of_axis = |(range, reach): (&PointRange, &Option<(i64, i64)>)| match reach {
                Some((least, most)) => PointRange { first: range.first + least, end: range.end + most },
                None => *range,
            };
            let own: Vec<PointRange> = ranges.iter().zip(&reach).map(of_axis).collect();
            let mut lowering = known.lowering(&own, None, most).of_checked_reads();
            lowering.kept = keep(number);
            let result = lowering.lower(*id, coordinates(program, axes, None)).map_err(problem)?;
            widen(&mut reaches, &lowering, &reach);
            let outputs = vec![StageOutput { target: 0, local: None, result }];
            let dtype = held_as(types.get(*id).expect("the program was checked").dtype);
            main.temporaries.push(FieldTemporary {
                stage: stage(lowering, axes, &own, outputs),
                dtype,
                reach,
            });
        }
        main.temporaries.reverse();
        Ok(main)
    }
}

/// Adds what a lowering reads of temporaries to their reach; `own` is how far its box reaches beyond that of the stage.
fn widen(reaches: &mut [Vec<Option<(i64, i64)>>], lowering: &BoxLowering<'_>, own: &[Option<(i64, i64)>]) {
    for KeptReach { number, offsets } in lowering.kept.values() {
        for ((reach, offsets), own) in reaches[*number].iter_mut().zip(offsets).zip(own) {
            let Some((least, most)) = offsets else { continue };
            let (before, behind) = own.unwrap_or((0, 0));
            let (first, last) = reach.get_or_insert((before + least, behind + most));
            (*first, *last) = ((*first).min(before + least), (*last).max(behind + most));
        }
    }
}

fn lower_scan(
    known: Known<'_>,
    scan: &FieldScan,
    group: Group,
    (lowered, spent): (&mut LoweredStatement, &mut Spent),
) -> Result<(), FieldProblem> {
    let Group { axes, ranges, targets } = group;
    let targets: Vec<usize> = targets.into_iter().map(|(target, _)| target).collect();
    // Each value needs all that is handed on.
    let all: Vec<_> = (0..scan.body.len()).map(|number| (number, None)).collect();
    let axis = axes.iter().position(|dim| *dim == scan.axis).expect("the program was checked");
    let levels = ranges[axis];
    let mut lowering = known.lowering(&ranges, Some(axis), spent.left());
    let outputs = lower_targets(known.program, &scan.body, &axes, &all, &mut lowering);
    spent.operations += lowering.count();
    match outputs {
        Ok(outputs) => lowered.stages.push(stage(lowering, &axes, &ranges, outputs)),
        Err(Stop::Problem(problem)) => return Err(problem),
        Err(Stop::Split { .. }) => unreachable!("a scan is not cut"),
    }
    let init = scan.carry.iter().map(|carry| carry.init.value().clone()).collect();
    lowered.scans.push(ScanLevels { axis, levels, direction: scan.direction, init, targets });
    Ok(())
}
