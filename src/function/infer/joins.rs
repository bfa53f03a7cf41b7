//! Values that meet: what has no common type is reported with both places.

use super::{Inference, Instance, InstanceId};
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::types::FunctionType;
use crate::ssa::InstId;
use cembra_vm::program::instruction::Span;
use hashbrown::HashSet;

impl Inference<'_> {
    /// Reports lists of different elements that meet: an array is not cast.
    pub(super) fn check_arrays(
        &self,
        at: InstanceId,
        (phi, args): (InstId, &[InstId]),
        what: &str,
        errors: &mut Vec<FunctionError>,
    ) {
        let instance = &self.instances[at.0 as usize];
        let Some(joined @ (FunctionType::Array(_) | FunctionType::Dict(_))) = &instance.types[phi.index()]
        else {
            return;
        };
        for arg in args {
            let Some(of) = instance.types[arg.index()].as_ref().filter(|of| *of != joined) else { continue };
            let line = |value: InstId| self.lines.line(place_of(instance, value));
            let problem = FunctionProblem::Unify {
                what: what.to_owned(),
                first: of.clone(),
                first_line: line(*arg),
                second: joined.clone(),
                second_line: line(phi),
            };
            errors.push(FunctionError::new(problem, place_of(instance, *arg)));
            return;
        }
    }

    /// Reports two values that have no common type.
    pub(super) fn check_joins(
        &self,
        at: InstanceId,
        values: &[InstId],
        what: &str,
        errors: &mut Vec<FunctionError>,
    ) {
        let instance = &self.instances[at.0 as usize];
        let mut known: Option<(InstId, FunctionType)> = None;
        for value in values {
            let Some(new) = &instance.types[value.index()] else { continue };
            let Some((first, joined)) = &known else {
                known = Some((*value, new.clone()));
                continue;
            };
            match joined.join(new) {
                // The value that gave the type is the one to blame.
                Some(wider) if wider != *joined => known = Some((*value, wider)),
                Some(_) => {}
                None => {
                    let span = |value: InstId| place_of(instance, value);
                    let line = |value: InstId| self.lines.line(span(value));
                    let problem = FunctionProblem::Unify {
                        what: what.to_owned(),
                        first: joined.clone(),
                        first_line: line(*first),
                        second: new.clone(),
                        second_line: line(*value),
                    };
                    errors.push(FunctionError::new(problem, span(*value)));
                    return;
                }
            }
        }
    }
}

/// Where a value comes from: of a phi an operand that has its type, if there is one.
fn place_of(instance: &Instance, value: InstId) -> Span {
    let (flow, types) = (&instance.function.flow, &instance.types);
    let mut seen: HashSet<InstId> = HashSet::from([value]);
    let mut at = value;
    while flow.inst(at).span.is_unknown() {
        let args = flow.inst(at).args.iter().filter(|arg| !seen.contains(*arg));
        let same = |arg: &&InstId| types[arg.index()] == types[at.index()];
        let Some(next) = args.clone().find(same).or(args.clone().next()).copied() else { break };
        seen.insert(next);
        at = next;
    }
    flow.inst(at).span
}
