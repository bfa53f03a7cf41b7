//! Post-conditions: what holds behind each step of preparation.
//!
//! | behind | every reachable node |
//! | --- | --- |
//! | `populate types`, `fold literals` | has a type |
//! | `lower operators` | is as low as it gets, an annotation, or what an extension transforms |
//! | `strip annotations` | is no annotation |
//! | `insert casts` and all behind it | needs no cast |
//! | `place branches` | follows the rules of [`Prepared::verify`] |
//!
//! A condition that does not hold is a bug of the step.

use crate::expr::NodeId;
use crate::prepare::draft::Draft;
use crate::prepare::error::PrepareError;
use crate::prepare::extend::{Extended, Extension};
use crate::prepare::lower::is_lowest;
use crate::prepare::prepared::Prepared;
use crate::workflow::StepObserver;
use std::fmt;
use std::sync::Arc;

/// The observer that checks post-conditions, if it is on.
#[derive(Clone)]
pub struct PostConditions {
    pub(super) check: bool,
    /// Their operators need not be low before they are transformed.
    pub(super) extensions: Vec<Arc<dyn Extension>>,
}

impl fmt::Debug for PostConditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostConditions({})", if self.check { "on" } else { "off" })
    }
}

impl StepObserver<Draft, PrepareError> for PostConditions {
    fn observe(&self, step: &'static str, draft: &Draft) -> Result<(), PrepareError> {
        if !self.check {
            return Ok(());
        }
        let holds = match step {
            "join" => Ok(()),
            "populate types" | "fold literals" => all_typed(draft),
            "lower operators" => self.all_lowest(draft),
            "strip annotations" => no_annotations(draft),
            _ => all_exact(draft),
        };
        holds.map_err(|what| PrepareError::PostCondition { step: step.to_owned(), what })
    }
}

impl StepObserver<Extended, PrepareError> for PostConditions {
    fn observe(&self, step: &'static str, extended: &Extended) -> Result<(), PrepareError> {
        self.observe(step, &extended.draft)
    }
}

impl StepObserver<Prepared, PrepareError> for PostConditions {
    fn observe(&self, _: &'static str, prepared: &Prepared) -> Result<(), PrepareError> {
        if self.check { prepared.verify() } else { Ok(()) }
    }
}

impl PostConditions {
    fn all_lowest(&self, draft: &Draft) -> Result<(), String> {
        all_typed(draft)?;
        each(draft, |id| {
            let name = describe(draft, id);
            let extension = self.extensions.iter().any(|extension| extension.operator() == name);
            match draft.is_annotation(id) || extension || is_lowest(draft, id) {
                true => Ok(()),
                false => Err(format!("{name} is not lowered")),
            }
        })
    }
}

fn each(draft: &Draft, check: impl FnMut(NodeId) -> Result<(), String>) -> Result<(), String> {
    let reached = draft.reachable();
    (0..reached.len()).filter(|i| reached[*i]).map(NodeId::at).try_for_each(check)
}

fn all_typed(draft: &Draft) -> Result<(), String> {
    each(draft, |id| match draft.type_id(id).is_known() {
        true => Ok(()),
        false => Err(format!("{id:?} has no type")),
    })
}

fn no_annotations(draft: &Draft) -> Result<(), String> {
    each(draft, |id| match draft.is_annotation(id) {
        true => Err(format!("{} is left", describe(draft, id))),
        false => Ok(()),
    })
}

fn all_exact(draft: &Draft) -> Result<(), String> {
    all_typed(draft)?;
    each(draft, |id| match draft.signature(id) {
        Some(signature) if !signature.is_exact() => Err(format!("{} needs casts", describe(draft, id))),
        _ => Ok(()),
    })
}

/// The operator of a node, or its number.
pub(super) fn describe(draft: &Draft, id: NodeId) -> String {
    draft.graph.operator(id).map_or_else(|| format!("{id:?}"), |op| draft.graph.name(op).to_string())
}
