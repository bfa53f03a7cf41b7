//! What a fit should be looked at for: starts of steps that vary.
//!
//! A function of time that jumps at `t0` makes the residuals jump wherever `t0` passes a sample, so that
//! derivatives say nothing about it: a method that follows them ends anywhere between two samples.

use crate::fit::method::Method;
use crate::model::component::Function;
use crate::model::tree::{Component, Model, ParameterId};

/// Names of free parameters that are the start of a jump, if the method follows derivatives.
pub fn free_onsets(model: &Model, method: Method) -> Vec<String> {
    if method == Method::NelderMead {
        return Vec::new();
    }
    let dynamics = model.parameters.iter().filter_map(|p| p.dynamics.as_ref());
    let components = dynamics.flat_map(|d| &d.components).chain(&model.components);
    let onsets = components.filter(|c| jumps(c.function)).flat_map(|c| onset(model, c));
    onsets.filter(|id| model.is_free(*id)).map(|id| model.parameter(id).name.clone()).collect()
}

fn onset(model: &Model, component: &Component) -> Option<ParameterId> {
    component.arguments.iter().copied().find(|id| model.parameter(*id).short == "t0")
}

/// True if the function is not zero where it begins.
fn jumps(function: Function) -> bool {
    matches!(function, Function::Step | Function::Exponential | Function::Sine | Function::Sinc)
}
