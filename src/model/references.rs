//! What the names in expressions mean, in which order expressions are evaluated, and what they give at
//! the initial values.

use crate::model::component::Function;
use crate::model::declaration::subject;
use crate::model::error::{Findings, ModelErrorKind};
use crate::model::quantity::Quantity;
use crate::model::tree::{Component, Model, ParameterId};
use std::collections::HashMap;

/// Binds names, orders expressions and evaluates them once.
pub fn check(model: &mut Model, findings: &mut Findings) {
    for scope in scopes(model) {
        bind(model, &scope, findings);
    }
    if !findings.errors.is_empty() || !order(model, findings) {
        return;
    }
    check_chains(model, findings);
    check_initial(model, findings);
}

/// Lists of parameters that may refer to each other: the model's own, and one for each attachment.
fn scopes(model: &Model) -> Vec<Vec<ParameterId>> {
    let members = |components: &[Component]| components.iter().flat_map(|c| c.parameters.clone()).collect();
    let mut scopes: Vec<Vec<ParameterId>> = vec![members(&model.components)];
    for parameter in &model.parameters {
        scopes.extend(parameter.dynamics.as_ref().map(|d| members(&d.components)));
        scopes.extend(parameter.profile.as_ref().map(|p| members(&p.components)));
    }
    scopes
}

fn bind(model: &mut Model, scope: &[ParameterId], findings: &mut Findings) {
    let by_name: HashMap<String, ParameterId> =
        scope.iter().map(|id| (model.parameter(*id).name.clone(), *id)).collect();
    for id in scope {
        let parameter = &model.parameters[id.0];
        let Quantity::Expression(expression) = &parameter.quantity else { continue };
        let mut references = Vec::new();
        for name in expression.names() {
            match by_name.get(name) {
                Some(id) => references.push(*id),
                None => {
                    let (expression, name) = (expression.text().to_owned(), name.clone());
                    let kind = ModelErrorKind::UnknownReference {
                        parameter: parameter.name.clone(),
                        expression,
                        name,
                    };
                    findings.error(kind, &parameter.place);
                }
            }
        }
        model.parameters[id.0].references = references;
    }
}

/// Orders expressions after what they refer to; false if they go round in a circle.
fn order(model: &mut Model, findings: &mut Findings) -> bool {
    let is_expression = |id: &ParameterId| matches!(model.parameter(*id).quantity, Quantity::Expression(_));
    let mut waiting: Vec<ParameterId> =
        (0..model.parameters.len()).map(ParameterId).filter(is_expression).collect();
    let mut done: Vec<bool> =
        model.parameters.iter().map(|p| !matches!(p.quantity, Quantity::Expression(_))).collect();
    let mut ordered = Vec::new();
    loop {
        let is_ready = |id: &ParameterId| model.parameter(*id).references.iter().all(|r| done[r.0]);
        let (ready, rest): (Vec<ParameterId>, _) = waiting.into_iter().partition(is_ready);
        waiting = rest;
        if ready.is_empty() {
            break;
        }
        ready.iter().for_each(|id| done[id.0] = true);
        ordered.extend(ready);
    }
    if let Some(first) = waiting.first() {
        let parameters = waiting.iter().map(|id| model.parameter(*id).name.clone()).collect();
        findings.error(ModelErrorKind::Circular { parameters }, &model.parameter(*first).place);
        return false;
    }
    model.expression_order = ordered;
    true
}

/// An expression refers directly to what varies along an axis, not through another expression.
fn check_chains(model: &Model, findings: &mut Findings) {
    for id in &model.expression_order {
        let parameter = model.parameter(*id);
        for via in &parameter.references {
            let varies = |r: &&ParameterId| model.is_dynamic(**r) || model.is_profiled(**r);
            if let Some(reference) = model.parameter(*via).references.iter().find(varies) {
                let name = |id: &ParameterId| model.parameter(*id).name.clone();
                let kind =
                    ModelErrorKind::Chain { parameter: name(id), via: name(via), reference: name(reference) };
                findings.error(kind, &parameter.place);
            }
        }
    }
}

/// Initial values are finite, and those of a straight line in order.
fn check_initial(model: &Model, findings: &mut Findings) {
    let theta = model.theta();
    let values = model.base_values(&theta).expect("theta is the model's own");
    for id in &model.expression_order {
        let parameter = model.parameter(*id);
        let value = values[id.0];
        if let (Quantity::Expression(expression), false) = (&parameter.quantity, value.is_finite()) {
            let expression = expression.text().to_owned();
            let kind =
                ModelErrorKind::InitialNotFinite { parameter: parameter.name.clone(), expression, value };
            findings.error(kind, &parameter.place);
        }
    }
    for component in model.components.iter().filter(|c| c.function == Function::LinBack) {
        let (start, stop) = (values[component.arguments[2].0], values[component.arguments[3].0]);
        if start >= stop {
            let subject = subject(&model.name, &component.name, "");
            let kind = ModelErrorKind::LinBackOrder { subject, start, stop };
            findings.error(kind, &component.place);
        }
    }
}
