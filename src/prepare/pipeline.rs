//! Prepare: the named sequence of steps from an expression to its prepared form.
//!
//! ```text
//! Source ─join─> ─populate types─> ─fold literals─> ─lower operators─> ─strip annotations─>
//!        ─insert casts─> ─optimize─> ─guard rows─> ─extend─> ─place branches─> Prepared
//! ```
//!
//! Every step can be replaced (`with_…`). One that is made [`shared`](Step::shared) keeps the type `Prepare`, which hosts
//! take; any other makes it a type of its own. Options belong to steps: the limits of folding to `fold literals`,
//! the rules to `optimize`, the extensions to `extend`.
//!
//! [`PostConditions`] observes the sequence in debug builds and with [`Prepare::checked`].

use crate::expr::NodeId;
use crate::expr::print::print_graph;
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
use crate::prepare::lower::{lower_operators, strip_annotations};
use crate::prepare::optimize::{RuleSet, optimize};
use crate::prepare::populate::populate_types;
use crate::prepare::post_conditions::{PostConditions, describe};
use crate::prepare::prepared::Prepared;
use crate::prepare::rows::guard::guard_rows;
use crate::workflow::{Artifact, SharedStep, Step, identity, named_sequence, step};
use std::sync::Arc;

/// A step that stays at the draft stage.
pub type DraftStep = SharedStep<Draft, Draft, PrepareError>;
/// The first step.
pub type JoinStep = SharedStep<Source, Draft, PrepareError>;
/// The step that runs extensions.
pub type ExtendStep = SharedStep<Draft, Extended, PrepareError>;
/// The last step.
pub type PlaceStep = SharedStep<Extended, Prepared, PrepareError>;

named_sequence! {
    /// The sequence of preparation steps.
    #[derive(Clone)]
    pub struct Prepare: error PrepareError, observer PostConditions {
        /// Joins the outputs.
        join: Join = JoinStep => Joined, "join", with_join;
        /// Types the nodes.
        populate: Populate = DraftStep => Typed, "populate types", with_populate;
        /// Folds literals, and lets later steps fold what they make: see [`Draft::folding`].
        fold: Fold = DraftStep => Folded, "fold literals", with_fold;
        /// Lowers operators.
        lower: Lower = DraftStep => Lowered, "lower operators", with_lower;
        /// Strips annotations.
        strip: Strip = DraftStep => Stripped, "strip annotations", with_strip;
        /// Inserts casts.
        casts: Casts = DraftStep => Exact, "insert casts", with_casts;
        /// Rewrites by rules.
        optimize: Optimize = DraftStep => Optimized, "optimize", with_optimize;
        /// Guards rows.
        guard: Guard = DraftStep => Guarded, "guard rows", with_guard;
        /// Runs the compiler extensions.
        extend: Extend = ExtendStep => Packed, "extend", with_extend;
        /// Places nodes in branches.
        place: Place = PlaceStep => Placed, "place branches", with_place;
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
        Prepare::new(
            step("join", join).shared(),
            step("populate types", populate_types).shared(),
            folding(FoldLimits::default()),
            step("lower operators", lower_operators).shared(),
            step("strip annotations", strip_annotations).shared(),
            step("insert casts", insert_casts).shared(),
            step("optimize", move |draft| optimize(draft, &rules)).shared(),
            step("guard rows", guard_rows).shared(),
            extending(extensions.clone()),
            step("place branches", place_branches).shared(),
            PostConditions { check: cfg!(debug_assertions), extensions },
        )
    }

    /// Folds literals within these limits.
    pub fn fold_limits(self, limits: FoldLimits) -> Prepare {
        self.with_fold(folding(limits))
    }

    /// Leaves out the optimizer.
    pub fn without_optimizer(self) -> Prepare {
        self.with_optimize(identity("no optimizer").shared())
    }

    /// Leaves out literal folding, also of what later steps make.
    pub fn without_folding(self) -> Prepare {
        self.with_fold(identity("no folding").shared())
    }

    /// Replaces the compiler extensions; without any, operators that need one are errors.
    pub fn extensions(mut self, extensions: Vec<Arc<dyn Extension>>) -> Prepare {
        self.observer.extensions = extensions.clone();
        self.with_extend(extending(extensions))
    }

    /// Adds compiler extensions to those there are.
    pub fn add_extensions(self, more: impl IntoIterator<Item = Arc<dyn Extension>>) -> Prepare {
        let extensions = self.observer.extensions.iter().cloned().chain(more).collect();
        self.extensions(extensions)
    }

    /// Checks post-conditions between steps, in release builds too.
    pub fn checked(mut self) -> Prepare {
        self.observer.check = true;
        self
    }

    /// Prepares a draft that is joined already, as a front makes it that has one graph for all outputs.
    ///
    /// # Errors
    /// What the first failing step reports.
    pub fn run_joined(self, draft: Draft) -> Result<Prepared, PrepareError> {
        self.with_join(identity::<Draft, PrepareError>("is joined")).run(draft)
    }
}

/// The step that folds literals, and whatever later steps make of them, within limits.
fn folding(limits: FoldLimits) -> DraftStep {
    let fold = move |mut draft: Draft| {
        (draft.folding, draft.fold_limits) = (true, limits);
        fold_literals(draft)
    };
    step("fold literals", fold).shared()
}

fn extending(extensions: Vec<Arc<dyn Extension>>) -> ExtendStep {
    step("extend", move |draft| extend(draft, &extensions)).shared()
}

impl Artifact for Draft {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        vec![(step, print_graph(&self.graph, self.root))]
    }
}

impl Artifact for Extended {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        self.draft.texts(step)
    }
}

impl Artifact for Prepared {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        vec![(step, self.to_string())]
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Expr, Graph};
    use crate::workflow::StepObserver;
    use cembra_vm::value::qtype::{FLOAT64, INT32};
    use std::cell::RefCell;

    /// `x`, an operator, and `n` or the sum `1.0 + 2.0`.
    fn source(operator: &str, with_literals: bool) -> Source {
        let mut graph = Graph::new();
        let apply = |operator: &str, operands: [NodeId; 2], graph: &mut Graph| {
            let operator = graph.symbol(operator);
            graph.apply(operator, &operands).expect("room for a node")
        };
        let (x, n) = (graph.leaf("x").expect("room"), graph.leaf("n").expect("room"));
        let literals = [1.0, 2.0].map(|value| graph.add_literal(value).expect("room"));
        let second = if with_literals { apply("math.add", literals, &mut graph) } else { n };
        let root = apply(operator, [x, second], &mut graph);
        let expr = Expr::new(&graph, root).expect("room");
        Source::new(expr, [("x", FLOAT64), ("n", INT32)])
    }

    /// Names of the steps that have run.
    #[derive(Default)]
    struct Ran(RefCell<Vec<&'static str>>);

    impl<A: Artifact, E> StepObserver<A, E> for Ran {
        fn observe(&self, step: &'static str, _: &A) -> Result<(), E> {
            self.0.borrow_mut().push(step);
            Ok(())
        }
    }

    #[test]
    fn observers_see_every_step() {
        let ran = Ran::default();
        Prepare::standard().observed_by(&ran).run(source("math.add", false)).expect("it prepares");
        assert_eq!(*ran.0.borrow(), <Prepare>::STEPS);
    }

    #[test]
    fn conditions_hold_for_steps_that_are_replaced() {
        let no_casts: DraftStep = identity("no casts").shared();
        let without_casts = Prepare::standard().checked().with_casts(no_casts);
        match without_casts.run(source("math.add", false)) {
            Err(PrepareError::PostCondition { step, what }) => {
                assert_eq!((&*step, &*what), ("insert casts", "math.add needs casts"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_those_of_a_step() {
        let text = |prepare: Prepare| prepare.run(source("math.add", true)).expect("it prepares").to_string();
        assert!(text(Prepare::standard()).contains("float64(3)"));
        assert!(!text(Prepare::standard().without_folding()).contains("float64(3)"));
        let folded_again = Prepare::standard().without_folding().fold_limits(FoldLimits::default());
        assert_eq!(text(folded_again), text(Prepare::standard()));
    }

    #[test]
    fn a_draft_that_is_joined_is_prepared_like_its_source() {
        let draft = join(source("math.multiply", false)).expect("it joins");
        let joined = Prepare::standard().run_joined(draft).expect("it prepares").to_string();
        assert_eq!(
            joined,
            Prepare::standard().run(source("math.multiply", false)).expect("it prepares").to_string()
        );
    }

    #[test]
    fn preparation_is_a_step_of_larger_sequences() {
        let begin = step("begin", |operator: &str| Ok::<_, PrepareError>(source(operator, false)));
        let size = step("size", |prepared: Prepared| Ok(prepared.graph().len()));
        assert!(begin.chain(Prepare::standard()).chain(size).run("math.add").is_ok_and(|nodes| nodes > 2));
    }
}
