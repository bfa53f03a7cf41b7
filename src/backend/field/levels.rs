//! The loop of a scan: one program for the planes of all levels, one after the other on one frame.
//!
//! ```text
//! plane of level 3  ──carry──>  program  ──results──>  plane of level 4
//! ```

use crate::backend::field::bound_stage::{BoundStage, StageData, with_scalar};
use crate::backend::field::results::{Destination, keep};
use crate::field::buffer::FieldBuffer;
use crate::field::error::FieldProblem;
use crate::field::lower::ScanLevels;
use crate::field::program::ScanDirection;
use crate::field::stage::StageResult;
use cembra_vm::value::{NdView, ScalarValue};

/// Computes all levels; the values of each carry, with the axes of the box.
pub(super) fn run_levels(
    stage: &mut BoundStage,
    scan: &ScanLevels,
    destinations: &[Destination],
    from: StageData<'_>,
) -> Result<Vec<FieldBuffer>, FieldProblem> {
    let mut kept = destinations.iter().map(Destination::room).collect::<Result<Vec<_>, _>>()?;
    let mut level_first = stage.stage.first.clone();
    let shape = stage.stage.shape.clone();
    let step = if scan.direction == ScanDirection::Forward { 1 } else { -1 };
    for number in 0..scan.levels.len() as i64 {
        let level = match scan.direction {
            ScanDirection::Forward => scan.levels.first + number,
            ScanDirection::Backward => scan.levels.end - 1 - number,
        };
        level_first[scan.axis] = level - step;
        let mut results: Vec<Option<FieldBuffer>> = Vec::new();
        {
            let before: Vec<NdView<'_>> = match number {
                0 => Vec::new(),
                _ => kept.iter().map(|room| room.part(&level_first, &shape)).collect(),
            };
            let level = Some((scan.axis, level - scan.levels.first));
            let from = StageData { level, carries: &before, ..from };
            match number {
                0 => with_first(&scan.init, &shape, &mut Vec::new(), &mut |carries| {
                    stage.run(StageData { carries, ..from })
                })?,
                _ => stage.run(from)?,
            }
            // What is handed on unchanged is copied, because it stands where results go.
            for output in &stage.stage.outputs {
                results.push(match &output.result {
                    StageResult::Carry(carry) => {
                        let mut plane =
                            FieldBuffer::filled(&scan.init[*carry], &vec![0; shape.len()], &shape)?;
                        if let Some(values) = before.get(*carry) {
                            keep(&mut plane, &vec![0; shape.len()], &shape, values);
                        }
                        Some(plane)
                    }
                    _ => None,
                });
            }
        }
        level_first[scan.axis] = level;
        let level = Some((scan.axis, level - scan.levels.first));
        let from = StageData { level, ..from };
        for ((output, copied), room) in stage.stage.outputs.iter().zip(&results).zip(&mut kept) {
            match copied {
                Some(plane) => keep(room, &level_first, &shape, &plane.view()),
                None => stage.with_result(&output.result, from, |values| {
                    keep(room, &level_first, &shape, values);
                })?,
            }
        }
    }
    Ok(kept)
}

/// Calls a function with the values that the first level gets, each as a plane.
fn with_first<'v>(
    init: &[ScalarValue],
    shape: &[usize],
    planes: &mut Vec<NdView<'v>>,
    each: &mut dyn FnMut(&[NdView<'_>]) -> Result<(), FieldProblem>,
) -> Result<(), FieldProblem> {
    let Some((first, rest)) = init.split_first() else { return each(planes) };
    with_scalar(first, |value| {
        let mut planes: Vec<NdView<'_>> = planes.to_vec();
        planes.push(value.broadcast_to(shape).expect("a single value repeats"));
        with_first(rest, shape, &mut planes, each)
    })
}
