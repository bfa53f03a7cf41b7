//! What can be wrong with a model: one error type for the room, and the warnings.
//!
//! Every kind carries names and numbers; the place is the line and column that has to be mended. A
//! model that comes from a builder instead of a file has no places.

use crate::model::formula::FormulaError;
use crate::model::kernel::LargeMatrix;
use crate::model::place::Place;
use cembra_vm::value::{Category, Fault};
use std::fmt;
use thiserror::Error;

/// What a message is about, from the model down to the parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Name of the model in its file.
    pub model: String,
    /// Name of the component with its number.
    pub component: String,
    /// Name of the parameter; empty if the whole component is meant.
    pub parameter: String,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.parameter.is_empty() {
            write!(f, "parameter `{}` of ", self.parameter)?;
        }
        write!(f, "`{}` in model `{}`", self.component, self.model)
    }
}

/// Names of a list that a message shows.
const NAMES_SHOWN: usize = 20;

/// The first of some names, and how many more there are: a list in every one of many errors stays short.
pub fn some_names<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> Vec<String> {
    let more = names.len().saturating_sub(NAMES_SHOWN);
    let shown = names.take(NAMES_SHOWN).map(str::to_owned);
    shown.chain((more > 0).then(|| format!("{more} more"))).collect()
}

fn list(names: &[String]) -> String {
    names.join(", ")
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $variant:ident $({ $($field:ident: $type:ty),* })? $code:literal $message:literal $(, $argument:expr)*;)*) => {
        /// Kinds of errors.
        #[derive(Clone, Debug, PartialEq, Error)]
        #[allow(missing_docs)] // Fields are named as the messages use them.
        pub enum ModelErrorKind {
            $($(#[doc = $doc])* #[error($message $(, $argument)*)] $variant $({ $($field: $type),* })?,)*
        }

        impl ModelErrorKind {
            /// The name of the kind in JSON.
            pub fn code(&self) -> &'static str {
                match self { $(ModelErrorKind::$variant { .. } => $code,)* }
            }
        }
    };
}

kinds! {
    /// The text is not YAML.
    Yaml { problem: String } "yaml-syntax" "not YAML: {problem}";
    /// A second `---`.
    Documents "yaml-documents" "a model file is one YAML document";
    /// An alias to a node that has not ended.
    AliasInsideItself "yaml-alias" "the alias names a node that contains it";
    /// More nodes than allowed.
    YamlNodes { limit: usize } "yaml-nodes" "limit yaml-nodes: more than {limit} nodes after aliases are expanded";
    /// Deeper than allowed.
    YamlDepth { limit: usize } "yaml-depth" "limit yaml-depth: more than {limit} levels of lists and maps";
    /// Digits that no number is near.
    NumberRange { number: String } "number-range" "the number {number} does not fit FLOAT64";
    /// A file without content.
    EmptyFile "empty-file" "the file is empty; it maps names of models to their components";
    /// A file that is no map of models.
    TopLevel { found: String } "file-form" "a model file maps names of models to their components, but this is {found}";
    /// A name of a model, component or parameter that is no text.
    Name { found: String } "name" "a name is a text, not {found}";
    /// Two models of one name.
    DuplicateModel { model: String, first: Place } "duplicate-model" "model `{model}` is defined twice, first at {first}";
    /// No model of that name.
    ModelNotFound { model: String, available: Vec<String> } "model-not-found" "there is no model `{model}`; the files define: {}", list(available);
    /// A model that is no map of components.
    ModelForm { model: String, found: String } "model-form" "model `{model}` maps components to their parameters, but this is {found}";
    /// A model without components.
    EmptyModel { model: String } "empty-model" "model `{model}` has no components, so it has no spectrum";
    /// A component that is no map of parameters.
    ComponentForm { subject: Subject, found: String } "component-form" "{subject} maps parameters to their values, but this is {found}";
    /// No such function.
    UnknownComponent { subject: Subject, available: String } "unknown-component" "unknown component type: {subject}; known are {available}";
    /// A function of another axis.
    WrongPackage { subject: Subject, package: &'static str, expected: &'static str } "wrong-package" "{subject} is a function of the {package} axis; this model is used on the {expected} axis";
    /// A kernel at the top level.
    KernelInEnergyModel { subject: Subject } "kernel-in-energy-model" "{subject} is a convolution kernel; kernels belong to dynamics models";
    /// One component twice.
    DuplicateComponent { subject: Subject, first: Place } "duplicate-component" "{subject} is defined twice, first at {first}; one of them would be lost";
    /// Too few or too many parameters.
    ParameterCount { subject: Subject, expected: Vec<String>, found: Vec<String> } "parameter-count" "{subject} has {} parameters ({}), not {} ({})", expected.len(), list(expected), found.len(), list(found);
    /// A parameter that the function has not.
    UnknownParameter { subject: Subject, expected: Vec<String> } "unknown-parameter" "unknown {subject}; expected are {}", list(expected);
    /// One parameter twice.
    DuplicateParameter { subject: Subject } "duplicate-parameter" "{subject} is given twice";
    /// Not one of the three forms.
    ParameterForm { subject: Subject, found: String } "parameter-form" "{subject} is [value, vary, min, max], [value, vary] or [\"expression\"], not {found}";
    /// `[20]`.
    SingleNumber { subject: Subject, found: String } "single-number" "{subject}: a list of one element holds an expression, not {found}; a fixed number is [number, False]";
    /// A second element that says nothing about varying.
    Vary { subject: Subject, found: String } "vary" "{subject}: the second element is True, False, 'file', 'project' or 'static', not {found}";
    /// A value that is no number.
    Value { subject: Subject, found: String } "value" "{subject}: the value is a number, not {found}; an expression stands alone in its list";
    /// A value that is infinite or no number.
    ValueNotFinite { subject: Subject, value: f64 } "value-not-finite" "{subject}: the initial value {value} is not finite";
    /// A bound that is no number.
    Bound { subject: Subject, found: String } "bound" "{subject}: a bound is a number, not {found}";
    /// `min > max`, or a bound that is no number.
    BoundsOrder { subject: Subject, min: f64, max: f64 } "bounds-order" "{subject}: the lower bound {min} is above the upper bound {max}";
    /// A value that its own bounds exclude.
    OutsideBounds { subject: Subject, value: f64, min: f64, max: f64 } "outside-bounds" "{subject}: the value {value} is outside its bounds [{min}, {max}]";
    /// A background without peaks below it.
    BackgroundLast { subject: Subject } "background-last" "{subject} comes last; a background stands above the peaks it belongs to";
    /// A kernel without anything below it.
    KernelLast { subject: Subject } "kernel-last" "{subject} comes last; a kernel stands above what it convolves";
    /// A kernel whose width may become zero.
    KernelWidth { subject: Subject, value: f64, min: f64 } "kernel-width" "{subject} must be positive, and its lower bound too if it varies: value {value}, lower bound {min}; {}", width_hint(*value);
    /// An attachment to a parameter that is not there.
    TargetMissing { target: String, available: Vec<String> } "target-missing" "there is no parameter `{target}` to attach to; there are {}", list(available);
    /// Second dynamics of one parameter.
    AlreadyDynamic { target: String } "already-dynamic" "`{target}` depends on time already; a parameter takes one list of dynamics models";
    /// Second profile of one parameter.
    AlreadyProfiled { target: String } "already-profiled" "`{target}` has a profile already; a parameter takes one profile model";
    /// Dynamics and profile on one parameter.
    DynamicsAndProfile { target: String } "dynamics-and-profile" "`{target}` cannot have a profile and depend on time; attach the dynamics to a parameter of the profile";
    /// An attachment to an expression.
    AttachedToExpression { target: String, expression: String } "attached-to-expression" "`{target}` is the expression '{expression}'; attach to the parameters it refers to";
    /// A profile on a parameter that is not of the energy model.
    ProfileTarget { target: String } "profile-target" "`{target}` is no parameter of the energy model, so it takes no profile";
    /// Profiles need their axis.
    NoAuxAxis { target: String } "no-aux-axis" "the profile of `{target}` needs an auxiliary axis";
    /// Dynamics need their axis.
    NoTimeAxis { target: String } "no-time-axis" "the dynamics of `{target}` need a time axis";
    /// Dynamics without a model.
    NoDynamicsModels { target: String } "no-dynamics-models" "the dynamics of `{target}` name no model";
    /// A frequency that repeats nothing.
    Frequency { target: String, frequency: f64 } "frequency" "the dynamics of `{target}`: a frequency is positive and finite (or -1 for no repetition), not {frequency}";
    /// A frequency without subcycles.
    FrequencyOnSingle { target: String, frequency: f64 } "frequency-on-single" "the dynamics of `{target}` are one model, which nothing repeats with frequency {frequency}; subcycles need a first entry for the whole axis (a kernel or `none`) and one entry a subcycle";
    /// Subcycles without a frequency.
    NoFrequency { target: String, subcycles: usize } "no-frequency" "the dynamics of `{target}` are a list with subcycles ({subcycles}) and need a frequency";
    /// Text that is no expression.
    ExpressionSyntax { parameter: String, expression: String, problem: String, at: usize } "expression-syntax" "`{parameter}`: cannot read the expression '{expression}' at character {at}: {problem}";
    /// A name that is no parameter.
    UnknownReference { parameter: String, expression: String, name: String } "unknown-reference" "`{parameter}`: the expression '{expression}' refers to `{name}`, which is no parameter of this model; expressions reach only parameters of their own model";
    /// Expressions that need each other.
    Circular { parameters: Vec<String> } "circular-expression" "these expressions depend on themselves: {}", list(parameters);
    /// An expression of an expression of something that varies along an axis.
    Chain { parameter: String, via: String, reference: String } "expression-chain" "`{parameter}` reaches `{reference}`, which depends on time or has a profile, only through `{via}`; refer to it directly";
    /// An expression whose first value is useless.
    InitialNotFinite { parameter: String, expression: String, value: f64 } "initial-not-finite" "`{parameter}`: the expression '{expression}' is {value} at the initial values";
    /// `xStart >= xStop`.
    LinBackOrder { subject: Subject, start: f64, stop: f64 } "linback-order" "{subject}: xStart {start} is not below xStop {stop}";
    /// An axis without points, or with points that are no numbers.
    Axis { axis: &'static str, problem: String } "axis" "the {axis} axis {problem}";
    /// A kernel on an axis that goes back.
    AxisNotIncreasing { axis: &'static str, index: usize } "axis-not-increasing" "a convolution needs a strictly increasing {axis} axis; sort axis and data (point {index} is not above the one before)";
    /// A kernel that is sampled too often.
    KernelSamples { subject: Subject, samples: f64, limit: usize } "kernel-samples" "limit kernel-samples: {subject} is so wide on this axis that it has {samples} samples, at most {limit} are allowed";
    /// A convolution that takes too long.
    KernelProducts { subject: Subject, points: usize, samples: usize, limit: usize } "kernel-products" "limit kernel-products: {subject} over {points} points takes {} products, at most {limit} are allowed", points.saturating_mul(*samples);
    /// A spectrum that is too large.
    SpectrumValues { energies: usize, times: usize, limit: usize } "spectrum-values" "limit spectrum-values: {energies} energies at {times} times are more than {limit} values";
    /// Too many or too few values of parameters.
    ThetaLength { expected: usize, actual: usize } "theta-length" "theta has {actual} values; the model has {expected} free parameters";
    /// Two evaluators with different results.
    EvaluatorsDiffer { index: usize, interpreter: f64, compiled: f64 } "evaluators-differ" "the evaluators differ at index {index}: {interpreter} by the interpreter, {compiled} compiled";
    /// A program that cannot be run.
    Run { problem: String } "run" "{problem}";
    /// An evaluation that has used up its budget.
    Exhausted { category: Category, problem: String } "budget" "{problem}";
    /// A recorded case of another form.
    Case { problem: String } "case" "malformed case: {problem}";
    /// An entry of the header that is not understood.
    Header { entry: String, problem: String } "header" "header entry `{entry}`: {problem}";
    /// An edge of a graph that has no such end.
    EdgeEnd { edge: usize, node: usize, nodes: usize } "edge-end" "edge {edge} names node {node}, but the graph has {nodes} nodes";
    /// Two nodes of one name.
    DuplicateNode { name: String } "duplicate-node" "two nodes are called `{name}`";
    /// A node without what its kind needs.
    NodeForm { node: String, problem: String } "node-form" "node `{node}`: {problem}";
    /// A graph with a circle.
    GraphCycle { nodes: Vec<String> } "graph-cycle" "these nodes depend on each other in a circle: {}", list(nodes);
}

impl ModelErrorKind {
    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        use ModelErrorKind as K;
        match self {
            K::YamlNodes { .. }
            | K::YamlDepth { .. }
            | K::KernelSamples { .. }
            | K::KernelProducts { .. }
            | K::SpectrumValues { .. } => Category::Limit,
            K::Exhausted { category, .. } => *category,
            _ => Category::Parse,
        }
    }

    /// A budget that a part of the model, an operator or a component, has used up.
    pub fn exhausted(category: Category, problem: &dyn fmt::Display, part: &str) -> ModelErrorKind {
        ModelErrorKind::Exhausted { category, problem: format!("{problem} (in {part})") }
    }

    /// True for a budget that is used up.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, ModelErrorKind::Exhausted { .. })
    }

    /// The error at a place.
    pub fn at(self, place: Place) -> ModelError {
        ModelError { kind: Box::new(self), place: Some(place) }
    }

    /// The error without a place.
    pub fn nowhere(self) -> ModelError {
        ModelError { kind: Box::new(self), place: None }
    }
}

/// What to write for a kernel of this width, which is not positive, or has no positive lower bound.
fn width_hint(width: f64) -> String {
    match width.abs() {
        0.0 => {
            "write for example [1.0, True, 1.0e-6, 10.0], or leave the kernel out: of no width it changes nothing"
                .to_owned()
        }
        width => format!("write for example [{width}, True, 1.0e-6, {}]", 10.0 * width),
    }
}

impl From<Fault> for ModelErrorKind {
    fn from(fault: Fault) -> ModelErrorKind {
        ModelErrorKind::Exhausted { category: fault.category(), problem: fault.to_string() }
    }
}

impl From<FormulaError> for ModelErrorKind {
    fn from(error: FormulaError) -> ModelErrorKind {
        ModelErrorKind::Exhausted { category: Category::Limit, problem: error.to_string() }
    }
}

impl From<LargeMatrix> for ModelErrorKind {
    fn from(error: LargeMatrix) -> ModelErrorKind {
        ModelErrorKind::Exhausted { category: Category::Limit, problem: error.to_string() }
    }
}

/// An error in a model.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{kind}")]
pub struct ModelError {
    /// What is wrong.
    pub kind: Box<ModelErrorKind>,
    /// Where.
    pub place: Option<Place>,
}

/// What is odd but has a meaning.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // Fields are named as the messages use them.
pub enum WarningKind {
    /// Parameters in another order than the formula.
    #[error(
        "{subject} lists its parameters in another order than {}; they are bound by name",
        list(expected)
    )]
    ParameterOrder { subject: Subject, expected: Vec<String> },
    /// A parameter that varies between equal bounds.
    #[error("{subject} varies, but both bounds are {bound}")]
    EqualBounds { subject: Subject, bound: f64 },
    /// Bounds that bind nothing.
    #[error("{subject}: the bound {found} binds nothing; [value, vary] is the form without bounds")]
    NoBound { subject: Subject, found: String },
    /// A truth value in arithmetic.
    #[error("`{parameter}`: the expression '{expression}' computes with a truth value as a number")]
    TruthValue { parameter: String, expression: String },
    /// A sample on a boundary between subcycles.
    #[error(
        "the dynamics of `{target}`: time {time} lies on a boundary between subcycles; rounding decides which one it belongs to"
    )]
    SubcycleBoundary { target: String, time: f64 },
}

/// A warning about a model.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{kind}")]
pub struct ModelWarning {
    /// What is odd.
    pub kind: WarningKind,
    /// Where.
    pub place: Option<Place>,
}

/// Errors and warnings so far.
#[derive(Debug, Default)]
pub struct Findings {
    /// Errors, in the order of the file.
    pub errors: Vec<ModelError>,
    /// Warnings, in the order of the file.
    pub warnings: Vec<ModelWarning>,
}

impl Findings {
    /// True if the header has this entry, and it could not be read.
    pub fn has_header_error(&self, name: &str) -> bool {
        let is_it = |error: &ModelError| matches!(&*error.kind, ModelErrorKind::Header { entry, .. } if entry == name);
        self.errors.iter().any(is_it)
    }

    /// Notes an error at a place.
    pub fn error(&mut self, kind: ModelErrorKind, place: &Place) {
        self.errors.push(kind.at(place.clone()));
    }

    /// Notes an error at a place, and gives nothing.
    pub fn refuse<T>(&mut self, kind: ModelErrorKind, place: &Place) -> Option<T> {
        self.error(kind, place);
        None
    }

    /// Notes a warning at a place.
    pub fn warning(&mut self, kind: WarningKind, place: &Place) {
        self.warnings.push(ModelWarning { kind, place: Some(place.clone()) });
    }
}
