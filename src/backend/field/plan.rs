//! Plans: a program bound to data.
//!
//! 1. Everything is checked and compiled before anything is written. Only what depends on values is found on the way: a
//!    zero divisor, a number that does not fit the type it is cast to. The statements before are stored then.
//! 2. All values of a statement are computed from the contents before it, and then stored. They stay in frames until
//!    then; where several boxes are evaluated on their own memory, they are copied first.
//! 3. A plan is used again as long as origins, shapes, tables and the scalars in bounds stay; else it is made anew.

use crate::backend::field::bound_stage::{BoundStage, StageData};
use crate::backend::field::levels::run_levels;
use crate::backend::field::results::{Destination, keep};
use crate::field::buffer::{FieldBuffer, FieldData};
use crate::field::check::check_program;
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::{FieldNode, IndexTerm};
use crate::field::geometry::FieldGeometry;
use crate::field::lower::{LoweredStatement, ScanLevels, lower_program};
use crate::field::program::FieldProgram;
use crate::field::stage::StageResult;
use crate::field::types::FieldTypes;

/// A program that is compiled for data of certain sizes.
///
/// ```
/// use cembra::backend::FieldPlan;
/// use cembra::field::{FieldBuffer, FieldCells, FieldData, parse_field_program};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let program = parse_field_program("
///     horizontal I
///     input u[I]
///     output d[I]
///     d[I=0:3] = u[I+1] - u
/// ").map_err(|mut errors| errors.remove(0))?;
/// let mut data = FieldData::default();
/// let u = FieldCells::Float64(vec![1.0, 2.0, 4.0, 8.0]);
/// data.fields.insert("u".to_owned(), FieldBuffer::row_major(u, &[0], &[4])?);
/// data.complete(&program)?;
/// let mut plan = FieldPlan::new(&program, &data).map_err(|mut errors| errors.remove(0))?;
/// plan.run(&mut data)?;
/// assert_eq!(data.fields["d"].cells(), &FieldCells::Float64(vec![1.0, 2.0, 4.0, 0.0]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FieldPlan {
    program: FieldProgram,
    types: FieldTypes,
    geometry: FieldGeometry,
    /// The scalars that are part of what was compiled.
    fixed: Vec<bool>,
    statements: Vec<BoundStatement>,
    compilations: usize,
}

/// A statement that can run.
#[derive(Debug)]
struct BoundStatement {
    number: usize,
    stages: Vec<(BoundStage, Vec<Destination>)>,
    scan: Option<ScanLevels>,
    /// True if results are copied before any is stored.
    is_copied: bool,
}

/// Checks, compiles and runs a program once. Outputs without data are [completed](FieldData::complete) first.
///
/// # Errors
/// As [`FieldPlan::new`] and [`FieldPlan::run`].
pub fn run_field_program(program: &FieldProgram, data: &mut FieldData) -> Result<(), Vec<FieldError>> {
    check_program(program)?;
    data.complete(program).map_err(|problem| vec![problem.into()])?;
    FieldPlan::new(program, data)?.run(data).map_err(|error| vec![error])
}

impl FieldPlan {
    /// Checks a program and compiles it for the data, which is not changed.
    ///
    /// # Errors
    /// Everything that is wrong with the program, or the first thing that is wrong with it on this data: cells that
    /// are needed and not there, entries of tables outside of their fields, data that is missing or of other sizes.
    pub fn new(program: &FieldProgram, data: &FieldData) -> Result<FieldPlan, Vec<FieldError>> {
        let types = check_program(program)?;
        let one = |error: FieldError| vec![error];
        let geometry = FieldGeometry::of(program, data).map_err(|problem| one(problem.into()))?;
        let fixed = fixed_scalars(program);
        let statements = bind(program, &types, &geometry).map_err(one)?;
        Ok(FieldPlan { program: program.clone(), types, geometry, fixed, statements, compilations: 1 })
    }

    /// The program.
    pub fn program(&self) -> &FieldProgram {
        &self.program
    }

    /// How often the program was compiled: once, and again whenever data of other sizes came.
    pub fn compilations(&self) -> usize {
        self.compilations
    }

    /// Number of stages: boxes that a statement is evaluated on, each with a program of its own.
    pub fn stages(&self) -> usize {
        self.statements.iter().map(|statement| statement.stages.len()).sum()
    }

    /// Runs all statements; outputs change in the data.
    ///
    /// # Errors
    /// As [`FieldPlan::new`] if the data has other sizes than before; or an operation raises on its values.
    pub fn run(&mut self, data: &mut FieldData) -> Result<(), FieldError> {
        self.fit(data)?;
        let FieldPlan { program, geometry, statements, .. } = self;
        for statement in statements {
            let number = statement.number;
            statement.run(program, geometry, data).map_err(|problem| {
                let declared = &program.statements[number];
                let error = FieldError::at(problem, declared.span);
                error.in_statement(number + 1, program.target_name(declared))
            })?;
        }
        Ok(())
    }

    /// Compiles again if the data is of other sizes.
    fn fit(&mut self, data: &FieldData) -> Result<(), FieldError> {
        let geometry = FieldGeometry::of(&self.program, data)?;
        let mut scalars = geometry.scalars.iter().zip(&self.geometry.scalars).zip(&self.fixed);
        let fits = geometry.extents == self.geometry.extents
            && geometry.tables == self.geometry.tables
            && scalars.all(|((new, old), is_fixed)| !is_fixed || new == old);
        if !fits {
            self.statements = bind(&self.program, &self.types, &geometry)?;
            self.compilations += 1;
        }
        self.geometry = geometry;
        Ok(())
    }
}

fn bind(
    program: &FieldProgram,
    types: &FieldTypes,
    geometry: &FieldGeometry,
) -> Result<Vec<BoundStatement>, FieldError> {
    let lowered = lower_program(program, types, geometry)?;
    let bind_one = |lowered: LoweredStatement| {
        let number = lowered.number;
        BoundStatement::new(program, lowered).map_err(|problem| {
            let statement = &program.statements[number];
            FieldError::at(problem, statement.span).in_statement(number + 1, program.target_name(statement))
        })
    };
    lowered.into_iter().map(bind_one).collect()
}

/// The scalars in bounds and conditions, and static ones.
fn fixed_scalars(program: &FieldProgram) -> Vec<bool> {
    let mut fixed: Vec<bool> = program.scalars.iter().map(|scalar| scalar.is_static).collect();
    let ranges = program.statements.iter().flat_map(|statement| &statement.targets);
    for range in ranges.flat_map(|target| target.domain.iter().flatten()) {
        range.first.scalars().chain(range.end.scalars()).for_each(|id| fixed[id.0] = true);
    }
    for (_, node) in program.nodes.iter() {
        if let FieldNode::ConcatWhere(condition, ..) = node {
            for term in &condition.terms {
                if let IndexTerm::Compare(_, bound) = term {
                    bound.scalars().for_each(|id| fixed[id.0] = true);
                }
            }
        }
    }
    fixed
}

impl BoundStatement {
    fn new(program: &FieldProgram, lowered: LoweredStatement) -> Result<BoundStatement, FieldProblem> {
        let statement = &program.statements[lowered.number];
        let LoweredStatement { number, stages, scan, is_in_place, .. } = lowered;
        let copies = stages.iter().flat_map(|stage| &stage.outputs);
        let has_copies = copies.into_iter().any(|output| matches!(output.result, StageResult::Read(_)));
        let is_copied = is_in_place && (stages.len() > 1 || has_copies);
        let mut bound = Vec::new();
        for stage in stages {
            let destination = |output| {
                let destination = Destination::new(program, statement, &stage, output);
                match &scan {
                    Some(scan) => destination.over_levels(scan.axis, scan.levels.len()),
                    None => destination,
                }
            };
            let destinations = stage.outputs.iter().map(destination).collect();
            bound.push((BoundStage::new(stage)?, destinations));
        }
        Ok(BoundStatement { number, stages: bound, scan, is_copied })
    }

    fn run(
        &mut self,
        program: &FieldProgram,
        geometry: &FieldGeometry,
        data: &mut FieldData,
    ) -> Result<(), FieldProblem> {
        let mut kept: Vec<(Destination, FieldBuffer)> = Vec::new();
        for (stage, destinations) in &mut self.stages {
            if let Some(scan) = &self.scan {
                let values = run_levels(stage, scan, destinations, stage_data(program, geometry, data))?;
                kept.extend(destinations.iter().cloned().zip(values));
                continue;
            }
            stage.run(stage_data(program, geometry, data))?;
            for (output, destination) in stage.stage.outputs.iter().zip(&*destinations) {
                if self.is_copied {
                    let mut room = destination.room()?;
                    stage.with_result(&output.result, stage_data(program, geometry, data), |values| {
                        keep(&mut room, &destination.box_first, &destination.box_shape, values);
                    })?;
                    kept.push((destination.clone(), room));
                    continue;
                }
                let (name, mut target) = take(program, destination, data);
                let stored =
                    stage.with_result(&output.result, stage_data(program, geometry, data), |values| {
                        destination.store(&mut target, values);
                    });
                data.fields.insert(name, target);
                stored?;
            }
        }
        for (destination, values) in kept {
            let (name, mut target) = take(program, &destination, data);
            destination.store(&mut target, &values.view());
            data.fields.insert(name, target);
        }
        Ok(())
    }
}

/// What the stages of a pointwise statement read.
fn stage_data<'d>(
    program: &'d FieldProgram,
    geometry: &'d FieldGeometry,
    data: &'d FieldData,
) -> StageData<'d> {
    StageData { program, data, scalars: &geometry.scalars, level: None, carries: &[] }
}

/// Takes the buffer of a target out of the data, to write it while others are read.
fn take(program: &FieldProgram, destination: &Destination, data: &mut FieldData) -> (String, FieldBuffer) {
    let name = &program.fields[destination.field.0].name;
    data.fields.remove_entry(&**name).expect("all fields have data")
}
