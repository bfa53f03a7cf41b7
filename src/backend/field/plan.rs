//! Plans: a program bound to data.
//!
//! 1. Everything is checked and compiled before anything is written. Only what depends on values is found on the way: a
//!    zero divisor, a number that does not fit the type it is cast to. The statements before are stored then.
//! 2. All values of a statement are computed from the contents before it, and then stored: see
//!    `bound_statement`.
//! 3. A plan is used again as long as origins, shapes, tables and the scalars in bounds stay; else it is made anew.

use crate::backend::field::bound_statement::BoundStatement;
use crate::backend::field::limits::StageLimits;
use crate::backend::field::stage_program::StageProgram;
use crate::backend::field::tier::{FieldTier, InterpretedStage, StageLibraries, StageNews, TierObserver};
use crate::field::buffer::FieldData;
use crate::field::check::check_program;
use crate::field::error::FieldError;
use crate::field::expression::{FieldNode, IndexTerm};
use crate::field::geometry::FieldGeometry;
use crate::field::lower::{LoweredStatement, lower_program};
use crate::field::program::FieldProgram;
use crate::field::stage::FieldStage;
use crate::field::types::FieldTypes;
use crate::field::written::WrittenFields;
#[cfg(feature = "native")]
use crate::native::stage::ProgramCall;
use cembra_vm::array::meter::Meter;
use cembra_vm::machine::{BoundExpr, SharedBudget, Strips};
use std::sync::Arc;

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
    /// What runs do with the points that have values.
    written: Vec<WrittenByRun>,
    /// The scalars that are part of what was compiled.
    fixed: Vec<bool>,
    statements: Vec<BoundStatement>,
    compilations: usize,
    budget: Option<Arc<SharedBudget>>,
    /// Bytes of the data that it was compiled for.
    bytes: u64,
    threads: usize,
    strips: Strips,
    tier: FieldTier,
    interpreted: Vec<InterpretedStage>,
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
        FieldPlan::new_within(program, data, None)
    }

    /// The same within a budget, which all runs go on using up: a statement that the budget stops may have stored a part of its
    /// values. Time and the bytes of lists of points are of the budget while the plan is made. Cells and tables of the data are
    /// bytes that are alive, and so is what statements keep: temporaries, values before they are stored, elements that tables
    /// choose.
    ///
    /// # Errors
    /// As [`FieldPlan::new`], or the budget is used up.
    pub fn new_within(
        program: &FieldProgram,
        data: &FieldData,
        budget: Option<Arc<SharedBudget>>,
    ) -> Result<FieldPlan, Vec<FieldError>> {
        let types = check_program(program)?;
        let one = |error: FieldError| vec![error];
        let geometry = FieldGeometry::of(program, data).map_err(|problem| one(problem.into()))?;
        let fixed = fixed_scalars(program);
        let known = Known { program, types: &types, geometry: &geometry, budget: budget.as_deref() };
        let (statements, written) = known.compile(data).map_err(one)?;
        Ok(FieldPlan {
            program: program.clone(),
            types,
            geometry,
            written: vec![written],
            fixed,
            statements,
            compilations: 1,
            budget,
            bytes: data.bytes(),
            threads: 1,
            strips: Strips::Auto,
            tier: FieldTier::Interpreter,
            interpreted: Vec::new(),
        })
    }

    /// The plan on a tier. The values and errors are the same, and so is what is stored. Machine code that was made once stays.
    ///
    /// # Errors
    /// There is no memory for the values of a statement.
    pub fn on(self, tier: FieldTier) -> Result<FieldPlan, FieldError> {
        self.on_observed(tier, &())
    }

    /// The same; an observer is told what is made of each stage.
    ///
    /// # Errors
    /// As [`FieldPlan::on`].
    pub fn on_observed(
        mut self,
        tier: FieldTier,
        observer: &dyn TierObserver,
    ) -> Result<FieldPlan, FieldError> {
        self.tier = tier;
        self.enter_tier(observer)?;
        Ok(self)
    }

    /// The stages that the interpreter runs although the plan is on another tier.
    pub fn interpreted(&self) -> &[InterpretedStage] {
        &self.interpreted
    }

    /// The programs of all stages, each with the number of its statement, counted from 1.
    pub fn programs(&self) -> Vec<(usize, &BoundExpr)> {
        self.stage_programs().into_iter().map(|(number, (_, program))| (number, program.bound())).collect()
    }

    /// What a library of each stage is made of, in the order of [`FieldPlan::programs`]; or why there is none.
    #[cfg(feature = "native")]
    pub fn native_calls(&self) -> Vec<Result<ProgramCall, String>> {
        self.stage_programs().into_iter().map(|(_, (stage, program))| program.native_call(stage)).collect()
    }

    /// All stages with their programs, each with the number of its statement.
    fn stage_programs(&self) -> Vec<(usize, (&FieldStage, &StageProgram))> {
        let mut all = Vec::new();
        for statement in &self.statements {
            let mut programs = Vec::new();
            statement.stages.iter().for_each(|(stage, _)| stage.programs(&mut programs));
            all.extend(programs.into_iter().map(|program| (statement.number + 1, program)));
        }
        all
    }

    /// Libraries that are built side by side, unless somebody watches, or there is one.
    #[cfg_attr(not(feature = "native"), expect(unused_variables, reason = "no tier has libraries"))]
    fn libraries(&self, observer: &dyn TierObserver) -> StageLibraries {
        match &self.tier {
            #[cfg(feature = "native")]
            FieldTier::Native(cache) if !observer.is_watching() && self.stages() > 1 => {
                StageLibraries::begin(cache, self.native_calls().into_iter().flatten().collect())
            }
            _ => StageLibraries::default(),
        }
    }

    /// Has the tier run all statements.
    fn enter_tier(&mut self, observer: &dyn TierObserver) -> Result<(), FieldError> {
        let libraries = self.libraries(observer);
        let FieldPlan { program, statements, tier, interpreted, .. } = self;
        interpreted.clear();
        for statement in statements {
            let number = statement.number;
            let declared = &program.statements[number];
            let target = program.target_name(declared);
            let mut tell = |news: StageNews<'_>| match news {
                StageNews::Ended(step, made) => observer.ended(number + 1, target, step, made),
                StageNews::Interpreted(reason) => interpreted.push(InterpretedStage {
                    statement: number + 1,
                    target: target.to_owned(),
                    reason,
                }),
            };
            statement
                .run_on(tier, &libraries, &mut tell)
                .map_err(|problem| FieldError::at(problem, declared.span).in_statement(number + 1, target))?;
        }
        Ok(())
    }

    /// The plan with a budget that all runs use up together, as [`FieldPlan::new_within`] says.
    pub fn within(self, budget: Arc<SharedBudget>) -> FieldPlan {
        FieldPlan { budget: Some(budget), ..self }
    }

    /// The plan with so many threads, which share the points of large boxes. The values are the same.
    pub fn threads(self, threads: usize) -> FieldPlan {
        FieldPlan { threads: threads.max(1), ..self }
    }

    /// The plan with strips at another time than when they pay: from the first run on, or never. The values are the same.
    pub fn strips(self, strips: Strips) -> FieldPlan {
        FieldPlan { strips, ..self }
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
        let written = self.find_written(data)?;
        let FieldPlan { program, geometry, statements, budget, bytes, threads, strips, .. } = self;
        let mut kept: u64 = statements.iter().map(BoundStatement::bytes).sum();
        for statement in statements {
            let number = statement.number;
            kept -= statement.bytes();
            let beside = *bytes + kept + statement.bytes_beside();
            let (threads, strips) = (*threads, *strips);
            let limits = StageLimits { budget: budget.as_deref(), beside, threads, strips };
            statement.run(program, &geometry.scalars, limits, data).map_err(|problem| {
                let declared = &program.statements[number];
                let error = FieldError::at(problem, declared.span);
                error.in_statement(number + 1, program.target_name(declared))
            })?;
            kept += statement.bytes();
        }
        if let Some(WrittenByRun { after, changes: true, .. }) = written.map(|at| &self.written[at]) {
            after.give_to(program, data);
        }
        Ok(())
    }

    /// What a run does with the points of the data that have values; nothing if all of them do. A run that was not seen
    /// before is checked.
    fn find_written(&mut self, data: &FieldData) -> Result<Option<usize>, FieldError> {
        if !WrittenFields::are_some_missing(data) {
            return Ok(None);
        }
        let is_this = |known: &WrittenByRun| known.before.are_those_of(&self.program, data);
        if let Some(at) = self.written.iter().position(is_this) {
            return Ok(Some(at));
        }
        let FieldPlan { program, types, geometry, budget, .. } = self;
        let known = Known { program, types, geometry, budget: budget.as_deref() };
        let (_, written) = known.metered(data, |meter| known.lower(data, meter))?;
        if self.written.len() == MOST_WRITTEN {
            self.written.remove(0);
        }
        self.written.push(written);
        Ok(Some(self.written.len() - 1))
    }

    /// Compiles again if the data is of other sizes.
    fn fit(&mut self, data: &FieldData) -> Result<(), FieldError> {
        if self.geometry.take_scalars(&self.program, data, &self.fixed) {
            return Ok(());
        }
        let geometry = FieldGeometry::of(&self.program, data)?;
        if !self.geometry.fits(&geometry, &self.fixed) {
            let FieldPlan { program, types, budget, .. } = self;
            let known = Known { program, types, geometry: &geometry, budget: budget.as_deref() };
            let (statements, written) = known.compile(data)?;
            self.statements = statements;
            self.written = vec![written];
            self.bytes = data.bytes();
            self.compilations += 1;
            self.enter_tier(&())?;
        }
        self.geometry = geometry;
        Ok(())
    }
}

/// Runs that a plan remembers by the points that have values before them: fields are exchanged in turn.
const MOST_WRITTEN: usize = 8;

/// What a run does with the points that have values.
#[derive(Debug)]
struct WrittenByRun {
    before: WrittenFields,
    after: WrittenFields,
    changes: bool,
}

/// What is known when a program is compiled.
#[derive(Clone, Copy)]
struct Known<'p> {
    program: &'p FieldProgram,
    types: &'p FieldTypes,
    geometry: &'p FieldGeometry,
    budget: Option<&'p SharedBudget>,
}

impl Known<'_> {
    /// Does work on the budget, with the data as bytes that are alive.
    fn metered<R>(
        self,
        data: &FieldData,
        work: impl FnOnce(&Meter<'_>) -> Result<R, FieldError>,
    ) -> Result<R, FieldError> {
        match self.budget {
            Some(budget) => budget.share().beside(data.bytes()).metered(work),
            None => work(&Meter::of_default()),
        }
    }

    fn compile(self, data: &FieldData) -> Result<(Vec<BoundStatement>, WrittenByRun), FieldError> {
        self.metered(data, |meter| {
            let (lowered, written) = self.lower(data, meter)?;
            Ok((self.bind(lowered, meter)?, written))
        })
    }

    fn lower(
        self,
        data: &FieldData,
        meter: &Meter<'_>,
    ) -> Result<(Vec<LoweredStatement>, WrittenByRun), FieldError> {
        let Known { program, types, geometry, .. } = self;
        let before = WrittenFields::of(program, data);
        let mut after = before.clone();
        let lowered = lower_program(program, types, geometry, &mut after, meter)?;
        let changes = before != after;
        Ok((lowered, WrittenByRun { before, after, changes }))
    }

    fn bind(
        self,
        lowered: Vec<LoweredStatement>,
        meter: &Meter<'_>,
    ) -> Result<Vec<BoundStatement>, FieldError> {
        let program = self.program;
        let bind_one = |lowered: LoweredStatement| {
            let number = lowered.number;
            BoundStatement::new(program, lowered, meter).map_err(|problem| {
                let statement = &program.statements[number];
                let error = FieldError::at(problem, statement.span);
                error.in_statement(number + 1, program.target_name(statement))
            })
        };
        lowered.into_iter().map(bind_one).collect()
    }
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
