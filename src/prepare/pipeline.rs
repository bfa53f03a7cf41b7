//! Prepare: the named sequence of steps from an expression to its prepared form.
//!
//! ```text
//! Source ─join─> ─populate types─> ─fold literals─> ─lower─> ─strip annotations─>
//!        ─insert casts─> ─optimize─> ─guard rows─> ─extend─> ─place branches─> Prepared
//! ```
//!
//! Every step can be replaced by another of the same type (`with_…`), and those that stay at one stage
//! can be switched off. Post-conditions are checked in debug builds and whenever `check` is on.

use crate::expr::NodeId;
use crate::prepare::branches::{RegionId, Regions};
use crate::prepare::cast::insert_casts;
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::prepare::extend::reduce::Reduce;
use crate::prepare::extend::{Extended, Extension, extend};
use crate::prepare::fold::fold_literals;
use crate::prepare::fold_limits::FoldLimits;
use crate::prepare::join::{Source, join};
use crate::prepare::lazy::lazy_nodes;
use crate::prepare::lower::{is_lowest, lower_operators, strip_annotations};
use crate::prepare::optimize::{RuleSet, optimize};
use crate::prepare::populate::populate_types;
use crate::prepare::prepared::Prepared;
use crate::prepare::rows::guard::guard_rows;
use crate::workflow::{SharedStep, step};
use std::fmt;
use std::sync::Arc;

/// A step that stays at the draft stage.
pub type DraftStep = SharedStep<Draft, Draft, PrepareError>;
/// The first step.
pub type JoinStep = SharedStep<Source, Draft, PrepareError>;
/// The step that runs extensions.
pub type ExtendStep = SharedStep<Draft, Extended, PrepareError>;
/// The last step.
pub type PlaceStep = SharedStep<Extended, Prepared, PrepareError>;

/// What happens between two steps: the name of the one that ran, and its result.
pub type StageObserver<'o> = &'o mut dyn FnMut(&str, &Draft);

/// The sequence of preparation steps.
#[derive(Clone)]
pub struct Prepare {
    join: JoinStep,
    populate: DraftStep,
    fold: Option<DraftStep>,
    lower: DraftStep,
    strip: DraftStep,
    casts: DraftStep,
    optimize: Option<DraftStep>,
    guard: DraftStep,
    extend: Option<ExtendStep>,
    extensions: Vec<Arc<dyn Extension>>,
    /// Operators that the extensions transform.
    extended: Arc<[Arc<str>]>,
    place: PlaceStep,
    check: bool,
    fold_limits: FoldLimits,
}

impl fmt::Debug for Prepare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.step_names()).finish()
    }
}

impl Default for Prepare {
    fn default() -> Self {
        Prepare::standard()
    }
}

impl Prepare {
    /// All steps, strict rules, standard extensions.
    pub fn standard() -> Prepare {
        Prepare::with_rules(RuleSet::strict())
    }

    /// All steps with these optimizer rules.
    pub fn with_rules(rules: RuleSet) -> Prepare {
        let reduce = Reduce::new(|body| Prepare::standard().run(body));
        let extensions: Vec<Arc<dyn Extension>> = vec![Arc::new(reduce)];
        Prepare {
            join: Arc::new(step("join", join)),
            populate: Arc::new(step("populate types", populate_types)),
            fold: Some(Arc::new(step("fold literals", fold_literals))),
            lower: Arc::new(step("lower operators", lower_operators)),
            strip: Arc::new(step("strip annotations", strip_annotations)),
            casts: Arc::new(step("insert casts", insert_casts)),
            optimize: Some(Arc::new(step("optimize", move |draft| optimize(draft, &rules)))),
            guard: Arc::new(step("guard rows", guard_rows)),
            extended: operators(&extensions),
            extensions: extensions.clone(),
            extend: Some(Arc::new(step("extend", move |draft| extend(draft, &extensions)))),
            place: Arc::new(step("place branches", place_branches)),
            check: cfg!(debug_assertions),
            fold_limits: FoldLimits::default(),
        }
    }

    /// Replaces the limits of literal folding.
    pub fn fold_limits(mut self, limits: FoldLimits) -> Prepare {
        self.fold_limits = limits;
        self
    }

    /// Replaces the optimizer rules.
    pub fn rules(mut self, rules: RuleSet) -> Prepare {
        self.optimize = Some(Arc::new(step("optimize", move |draft| optimize(draft, &rules))));
        self
    }

    /// Leaves out the optimizer.
    pub fn without_optimizer(mut self) -> Prepare {
        self.optimize = None;
        self
    }

    /// Leaves out literal folding, also of what later steps make.
    pub fn without_folding(mut self) -> Prepare {
        self.fold = None;
        self
    }

    /// Replaces the compiler extensions; without any, operators that need one are errors.
    pub fn extensions(mut self, extensions: Vec<Arc<dyn Extension>>) -> Prepare {
        self.extended = operators(&extensions);
        self.extensions = extensions.clone();
        self.extend = match extensions.is_empty() {
            true => None,
            false => Some(Arc::new(step("extend", move |draft| extend(draft, &extensions)))),
        };
        self
    }

    /// Adds compiler extensions to those there are.
    pub fn add_extensions(self, more: impl IntoIterator<Item = Arc<dyn Extension>>) -> Prepare {
        let extensions = self.extensions.iter().cloned().chain(more).collect();
        self.extensions(extensions)
    }

    /// Checks post-conditions between steps, in release builds too.
    pub fn checked(mut self) -> Prepare {
        self.check = true;
        self
    }

    /// Replaces the step that joins the outputs.
    pub fn with_join(mut self, step: JoinStep) -> Prepare {
        self.join = step;
        self
    }

    /// Replaces the step that types the nodes.
    pub fn with_populate(mut self, step: DraftStep) -> Prepare {
        self.populate = step;
        self
    }

    /// Replaces the step that folds literals.
    pub fn with_fold(mut self, step: DraftStep) -> Prepare {
        self.fold = Some(step);
        self
    }

    /// Replaces the step that lowers operators.
    pub fn with_lower(mut self, step: DraftStep) -> Prepare {
        self.lower = step;
        self
    }

    /// Replaces the step that strips annotations.
    pub fn with_strip(mut self, step: DraftStep) -> Prepare {
        self.strip = step;
        self
    }

    /// Replaces the step that inserts casts.
    pub fn with_casts(mut self, step: DraftStep) -> Prepare {
        self.casts = step;
        self
    }

    /// Replaces the optimizer.
    pub fn with_optimize(mut self, step: DraftStep) -> Prepare {
        self.optimize = Some(step);
        self
    }

    /// Replaces the step that guards rows.
    pub fn with_guard(mut self, step: DraftStep) -> Prepare {
        self.guard = step;
        self
    }

    /// Replaces the step that runs extensions, which transform these operators.
    pub fn with_extend(mut self, step: ExtendStep, operators: &[&str]) -> Prepare {
        self.extended = operators.iter().map(|name| Arc::from(*name)).collect();
        self.extend = Some(step);
        self
    }

    /// Replaces the step that places nodes in branches.
    pub fn with_place(mut self, step: PlaceStep) -> Prepare {
        self.place = step;
        self
    }

    /// Names of the steps in order.
    pub fn step_names(&self) -> Vec<String> {
        let mut names = vec![self.join.name().to_owned()];
        names.extend(self.draft_steps().iter().map(|(s, _)| s.name().to_owned()));
        names.extend(self.extend.iter().map(|step| step.name().to_owned()));
        names.push(self.place.name().to_owned());
        names
    }

    /// Prepares an expression.
    ///
    /// # Errors
    /// What the first failing step reports.
    pub fn run(&self, source: Source) -> Result<Prepared, PrepareError> {
        self.run_observed(source, &mut |_, _| {})
    }

    /// Prepares an expression and shows the draft after each step.
    ///
    /// # Errors
    /// As [`Prepare::run`].
    pub fn run_observed(
        &self,
        source: Source,
        observer: StageObserver<'_>,
    ) -> Result<Prepared, PrepareError> {
        let draft = self.join.run(source)?;
        observer(self.join.name(), &draft);
        self.run_joined(draft, observer)
    }

    /// Prepares a draft that is joined already, as a front makes it that has one graph for all outputs, and
    /// shows it after each step.
    ///
    /// # Errors
    /// What the first failing step reports.
    pub fn run_joined(
        &self,
        mut draft: Draft,
        observer: StageObserver<'_>,
    ) -> Result<Prepared, PrepareError> {
        draft.folding = self.fold.is_some();
        draft.fold_limits = self.fold_limits;
        draft.extended = self.extended.clone();
        for (step, holds) in self.draft_steps() {
            draft = step.run(draft)?;
            self.check_draft(step.name(), &mut draft, holds)?;
            observer(step.name(), &draft);
        }
        let extended = self.run_extensions(draft, observer)?;
        let prepared = self.place.run(extended)?;
        if self.check {
            prepared.verify()?;
        }
        Ok(prepared)
    }

    fn run_extensions(&self, draft: Draft, observer: StageObserver<'_>) -> Result<Extended, PrepareError> {
        let Some(step) = &self.extend else { return Ok(draft.into()) };
        let mut extended = step.run(draft)?;
        self.check_draft(step.name(), &mut extended.draft, all_exact)?;
        observer(step.name(), &extended.draft);
        Ok(extended)
    }

    fn check_draft(&self, step: &str, draft: &mut Draft, holds: PostCondition) -> Result<(), PrepareError> {
        match self.check {
            true => holds(draft).map_err(|what| PrepareError::PostCondition { step: step.to_owned(), what }),
            false => Ok(()),
        }
    }

    /// The steps at the draft stage that are on, each with its post-condition.
    fn draft_steps(&self) -> Vec<(&DraftStep, PostCondition)> {
        let steps: [(Option<&DraftStep>, PostCondition); 7] = [
            (Some(&self.populate), all_typed),
            (self.fold.as_ref(), all_typed),
            (Some(&self.lower), all_lowest),
            (Some(&self.strip), no_annotations),
            (Some(&self.casts), all_exact),
            (self.optimize.as_ref(), all_exact),
            (Some(&self.guard), all_exact),
        ];
        steps.into_iter().filter_map(|(step, holds)| step.map(|s| (s, holds))).collect()
    }
}

/// The operators that extensions transform.
fn operators(extensions: &[Arc<dyn Extension>]) -> Arc<[Arc<str>]> {
    extensions.iter().map(|extension| Arc::from(extension.operator())).collect()
}

type PostCondition = fn(&mut Draft) -> Result<(), String>;

fn each(
    draft: &mut Draft,
    mut check: impl FnMut(&mut Draft, NodeId) -> Result<(), String>,
) -> Result<(), String> {
    let reached = draft.reachable();
    let mut nodes = (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at);
    nodes.try_for_each(|id| check(draft, id))
}

fn all_typed(draft: &mut Draft) -> Result<(), String> {
    each(draft, |draft, id| match draft.type_id(id).is_known() {
        true => Ok(()),
        false => Err(format!("{id:?} has no type")),
    })
}

fn describe(draft: &Draft, id: NodeId) -> String {
    draft.graph.operator(id).map_or_else(|| format!("{id:?}"), |op| draft.graph.name(op).to_string())
}

fn all_lowest(draft: &mut Draft) -> Result<(), String> {
    all_typed(draft)?;
    each(draft, |draft, id| {
        let name = describe(draft, id);
        let annotation = name.starts_with("annotation.");
        let extension = draft.extended.iter().any(|operator| **operator == *name);
        match annotation || extension || is_lowest(draft, id) {
            true => Ok(()),
            false => Err(format!("{name} is not lowered")),
        }
    })
}

fn no_annotations(draft: &mut Draft) -> Result<(), String> {
    each(draft, |draft, id| match describe(draft, id).starts_with("annotation.") {
        true => Err(format!("{} is left", describe(draft, id))),
        false => Ok(()),
    })
}

fn all_exact(draft: &mut Draft) -> Result<(), String> {
    all_typed(draft)?;
    each(draft, |draft, id| match draft.signature(id) {
        Some(signature) if !signature.is_exact() => Err(format!("{} needs casts", describe(draft, id))),
        _ => Ok(()),
    })
}

/// The last step: regions, lazy nodes, and constant faults that every evaluation would reach.
///
/// # Errors
/// An operator of literals outside all branches always fails.
pub fn place_branches(extended: Extended) -> Result<Prepared, PrepareError> {
    let Extended { draft, packed } = extended;
    let mut regions = Regions::new(&draft);
    let lazy = lazy_nodes(&draft, &packed, &regions);
    regions.set_lazy(&draft, lazy);
    reject_constant_faults(&draft, &regions)?;
    Ok(Prepared::new(draft, packed, regions))
}

fn reject_constant_faults(draft: &Draft, regions: &Regions) -> Result<(), PrepareError> {
    let reached = draft.reachable();
    for id in (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at) {
        let Some(fault) = draft.fault(id) else { continue };
        if regions.of(id) == Some(RegionId::ROOT) && !regions.is_lazy(id) {
            return Err(PrepareError::Constant {
                fault: fault.clone(),
                operator: describe(draft, id).into(),
                span: draft.graph.span(id),
            });
        }
    }
    Ok(())
}
