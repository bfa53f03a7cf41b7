//! What a parameter is: a number that may vary between bounds, or an expression.

use crate::model::error::{Findings, ModelErrorKind, Subject, WarningKind};
use crate::model::formula::{Formula, FormulaProblem};
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

impl Quantity {
    /// The initial value of a number; that of an expression is not known yet.
    pub fn initial(&self) -> f64 {
        match self {
            Quantity::Number(number) => number.value,
            Quantity::Expression(_) => f64::NAN,
        }
    }
}

/// Reads `[value, vary, min, max]`, `[value, vary]` or `["expression"]`. Any other form is an error, and so are numbers that
/// contradict each other.
pub fn read(subject: &Subject, node: &Node, findings: &mut Findings) -> Option<Quantity> {
    const UNBOUNDED: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    match node.list() {
        Some([one]) => expression(subject, one, findings).map(Quantity::Expression),
        Some([value, vary]) => number(subject, value, vary, UNBOUNDED, findings).map(Quantity::Number),
        Some([value, vary, min, max]) => {
            // The order of upstream's checks: what varies, the value, then the bounds.
            number(subject, value, vary, UNBOUNDED, findings)?;
            let min = bound(subject, min, f64::NEG_INFINITY, findings)?;
            let max = bound(subject, max, f64::INFINITY, findings)?;
            let number = number(subject, value, vary, (min, max), findings)?;
            if number.vary.is_free() && min == max {
                let kind = WarningKind::EqualBounds { subject: subject.clone(), bound: min };
                findings.warning(kind, &node.place);
            }
            Some(Quantity::Number(number))
        }
        _ => {
            let (subject, found) = (subject.clone(), node.describe());
            findings.refuse(ModelErrorKind::ParameterForm { subject, found }, &node.place)
        }
    }
}

fn expression(subject: &Subject, node: &Node, findings: &mut Findings) -> Option<Formula> {
    let Some(text) = node.text() else {
        let (subject, found) = (subject.clone(), node.describe());
        return findings.refuse(ModelErrorKind::SingleNumber { subject, found }, &node.place);
    };
    let parameter = format!("{}_{}", subject.component, subject.parameter);
    let expression = text.to_owned();
    match Formula::read(text) {
        Ok(read) => {
            if read.has_truth_values() {
                findings.warning(WarningKind::TruthValue { parameter, expression }, &node.place);
            }
            Some(read)
        }
        Err(FormulaProblem { at, problem }) => {
            let kind = ModelErrorKind::ExpressionSyntax { parameter, expression, problem, at };
            findings.refuse(kind, &node.place)
        }
    }
}

fn number(
    subject: &Subject,
    value: &Node,
    vary: &Node,
    (min, max): (f64, f64),
    findings: &mut Findings,
) -> Option<Number> {
    let subject = subject.clone();
    let vary = match &vary.value {
        NodeValue::Bool(true) => Vary::File,
        NodeValue::Bool(false) => Vary::Static,
        NodeValue::Text(text) if text == "file" => Vary::File,
        NodeValue::Text(text) if text == "project" => Vary::Project,
        NodeValue::Text(text) if text == "static" => Vary::Static,
        _ => return findings.refuse(ModelErrorKind::Vary { subject, found: vary.describe() }, &vary.place),
    };
    let Some(number) = value.number() else {
        return findings.refuse(ModelErrorKind::Value { subject, found: value.describe() }, &value.place);
    };
    // A value that is not finite is an error of its own, whatever the bounds are.
    if number.is_finite() && min.partial_cmp(&max).is_none_or(Ordering::is_gt) {
        return findings.refuse(ModelErrorKind::BoundsOrder { subject, min, max }, &value.place);
    }
    let checked = Number { value: number, vary, min, max };
    match checked.check(&subject, number) {
        Ok(()) => Some(checked),
        Err(kind) => findings.refuse(kind, &value.place),
    }
}

fn bound(subject: &Subject, node: &Node, absent: f64, findings: &mut Findings) -> Option<f64> {
    let (is_null, subject) = (node.value == NodeValue::Null, subject.clone());
    let Some(value) = node.number().or(is_null.then_some(absent)) else {
        return findings.refuse(ModelErrorKind::Bound { subject, found: node.describe() }, &node.place);
    };
    if value.is_infinite() {
        let found = if is_null { "null".to_owned() } else { node.describe() };
        findings.warning(WarningKind::NoBound { subject, found }, &node.place);
    }
    Some(value)
}
