//! What a parameter is: a number that may vary between bounds, or an expression.

use crate::model::error::{Findings, ModelError, ModelErrorKind, Subject, WarningKind};
use crate::model::formula::Formula;
use crate::model::yaml::{Node, NodeValue};
use std::cmp::Ordering;

/// Who may change a number in a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vary {
    /// Nobody.
    Static,
    /// The fit of each file for itself.
    File,
    /// A fit of several files, which share the value.
    Project,
}

impl Vary {
    /// True if an optimizer sees the parameter.
    pub fn is_free(self) -> bool {
        self != Vary::Static
    }
}

/// A number with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Initial value.
    pub value: f64,
    /// Whether it is fitted.
    pub vary: Vary,
    /// Lower bound; minus infinity if there is none.
    pub min: f64,
    /// Upper bound; infinity if there is none.
    pub max: f64,
}

impl Number {
    /// Checks that a value is one the parameter may have.
    ///
    /// # Errors
    /// The value is not finite, or outside of the bounds.
    pub fn check(&self, subject: &Subject, value: f64) -> Result<(), ModelErrorKind> {
        let (subject, min, max) = (subject.clone(), self.min, self.max);
        if !value.is_finite() {
            return Err(ModelErrorKind::ValueNotFinite { subject, value });
        }
        match (min..=max).contains(&value) {
            true => Ok(()),
            false => Err(ModelErrorKind::OutsideBounds { subject, value, min, max }),
        }
    }
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// A number.
    Number(Number),
    /// A function of other parameters.
    Expression(Formula),
}

/// Reads `[value, vary, min, max]`, `[value, vary]` or `["expression"]`.
///
/// # Errors
/// Any other form, or numbers that contradict each other.
pub fn read(subject: &Subject, node: &Node, findings: &mut Findings) -> Result<Quantity, ModelError> {
    let form = || {
        let kind = ModelErrorKind::ParameterForm { subject: subject.clone(), found: node.describe() };
        kind.at(node.place.clone())
    };
    match node.list() {
        Some([one]) => expression(subject, one, findings).map(Quantity::Expression),
        Some([value, vary]) => {
            let bounds = (f64::NEG_INFINITY, f64::INFINITY);
            number(subject, value, vary, bounds).map(Quantity::Number)
        }
        Some([value, vary, min, max]) => {
            // The order of upstream's checks: what varies, the value, then the bounds.
            number(subject, value, vary, (f64::NEG_INFINITY, f64::INFINITY))?;
            let min = bound(subject, min, f64::NEG_INFINITY, findings)?;
            let max = bound(subject, max, f64::INFINITY, findings)?;
            let number = number(subject, value, vary, (min, max))?;
            if number.vary.is_free() && min == max {
                findings
                    .warning(WarningKind::EqualBounds { subject: subject.clone(), bound: min }, &node.place);
            }
            Ok(Quantity::Number(number))
        }
        _ => Err(form()),
    }
}

fn expression(subject: &Subject, node: &Node, findings: &mut Findings) -> Result<Formula, ModelError> {
    let Some(text) = node.text() else {
        let kind = ModelErrorKind::SingleNumber { subject: subject.clone(), found: node.describe() };
        return Err(kind.at(node.place.clone()));
    };
    let parameter = format!("{}_{}", subject.component, subject.parameter);
    let expression = text.to_owned();
    match Formula::read(text) {
        Ok(read) => {
            if read.has_truth_values() {
                findings.warning(WarningKind::TruthValue { parameter, expression }, &node.place);
            }
            Ok(read)
        }
        Err(problem) => {
            let (at, problem) = (problem.at, problem.problem);
            Err(ModelErrorKind::ExpressionSyntax { parameter, expression, problem, at }
                .at(node.place.clone()))
        }
    }
}

fn number(subject: &Subject, value: &Node, vary: &Node, bounds: (f64, f64)) -> Result<Number, ModelError> {
    let (min, max) = bounds;
    let vary = match &vary.value {
        NodeValue::Bool(true) => Vary::File,
        NodeValue::Bool(false) => Vary::Static,
        NodeValue::Text(text) if text == "file" => Vary::File,
        NodeValue::Text(text) if text == "project" => Vary::Project,
        NodeValue::Text(text) if text == "static" => Vary::Static,
        _ => {
            let kind = ModelErrorKind::Vary { subject: subject.clone(), found: vary.describe() };
            return Err(kind.at(vary.place.clone()));
        }
    };
    let fail = |kind: ModelErrorKind| Err(kind.at(value.place.clone()));
    let subject = subject.clone();
    let Some(number) = value.number() else {
        return fail(ModelErrorKind::Value { subject, found: value.describe() });
    };
    if number.is_finite() && min.partial_cmp(&max).is_none_or(Ordering::is_gt) {
        return fail(ModelErrorKind::BoundsOrder { subject, min, max });
    }
    let checked = Number { value: number, vary, min, max };
    match checked.check(&subject, number) {
        Ok(()) => Ok(checked),
        Err(kind) => fail(kind),
    }
}

fn bound(subject: &Subject, node: &Node, absent: f64, findings: &mut Findings) -> Result<f64, ModelError> {
    let value = match node.value {
        NodeValue::Null => absent,
        _ => match node.number() {
            Some(value) => value,
            None => {
                let kind = ModelErrorKind::Bound { subject: subject.clone(), found: node.describe() };
                return Err(kind.at(node.place.clone()));
            }
        },
    };
    if value.is_infinite() {
        let found = if node.value == NodeValue::Null { "null".to_owned() } else { node.describe() };
        findings.warning(WarningKind::NoBound { subject: subject.clone(), found }, &node.place);
    }
    Ok(value)
}
