//! A schedule as data: rows of parameters, steps that fill them, operations that add up to a spectrum.
//!
//! ```text
//! rows        0 .. free          theta, in this order
//!             free .. + fixed    numbers that nothing changes
//!             then               resolved parameters and expressions
//! steps       fill the last kind of rows, each after what it reads
//! operations  components, each after the spectra it reads; the outputs are summed
//! ```

use crate::model::component::{Function, Role, Semantics};
use crate::model::formula::Formula;
use crate::model::graph::ir::NodeId;
use crate::model::kernel::{LargeMatrix, check_matrix};
use crate::model::tree::Domain;

/// A row of parameter values, by its number.
pub type Row = usize;

/// How a graph is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// What the spectrum is a function of.
    pub domain: Domain,
    /// The formulas that are meant.
    pub semantics: Semantics,
    /// Energy axis.
    pub energy: Vec<f64>,
    /// Time axis.
    pub time: Vec<f64>,
    /// Axis of profiles.
    pub aux: Vec<f64>,
    /// Names of rows.
    pub row_names: Vec<String>,
    /// Initial values of the rows that are numbers.
    pub numbers: Vec<f64>,
    /// Rows of theta: the first ones.
    pub free: usize,
    /// What fills the rows after those of numbers, in order.
    pub steps: Vec<Step>,
    /// Profiled parameters, each with its terms.
    pub samples: Vec<Sample>,
    /// Expressions that are evaluated at each point of the auxiliary axis.
    pub sample_expressions: Vec<Expression>,
    /// Components in the order of evaluation.
    pub operations: Vec<Operation>,
    /// The operations whose sum is the spectrum.
    pub output: Vec<usize>,
}

impl Schedule {
    /// Names of theta.
    pub fn theta_names(&self) -> &[String] {
        &self.row_names[..self.free]
    }

    /// Checks that no convolution is too large for a program.
    ///
    /// # Errors
    /// The first one that is.
    pub fn check_convolutions(&self) -> Result<(), LargeMatrix> {
        let times = self.time.len();
        let samples = |support: &[f64]| match self.semantics {
            Semantics::V0_9 => support.len(),
            Semantics::Current => times,
        };
        let of_step = |step: &Step| match step {
            Step::Convolution { support, .. } => samples(support),
            _ => 0,
        };
        let of_operation = |operation: &Operation| match operation.function.role() {
            Role::Kernel => samples(&operation.support),
            _ => 0,
        };
        let all = self.steps.iter().map(of_step).chain(self.operations.iter().map(of_operation));
        check_matrix(times, all.max().unwrap_or(0))
    }

    /// Initial theta.
    pub fn theta(&self) -> &[f64] {
        &self.numbers[..self.free]
    }
}

/// Fills one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A parameter plus its traces.
    Group {
        /// The row it fills.
        target: Row,
        /// The row of the parameter.
        base: Row,
        /// What is added.
        traces: Vec<Trace>,
    },
    /// An expression.
    Expression {
        /// The row it fills.
        target: Row,
        /// What it is.
        value: Expression,
    },
    /// A kernel, in place.
    Convolution {
        /// The row it convolves.
        target: Row,
        /// The kernel.
        function: Function,
        /// Its parameters.
        parameters: Vec<Row>,
        /// Where it is sampled, in semantics 0.9.
        support: Vec<f64>,
    },
}

impl Step {
    /// The row that the step fills.
    pub fn target(&self) -> Row {
        match self {
            Step::Group { target, .. }
            | Step::Expression { target, .. }
            | Step::Convolution { target, .. } => *target,
        }
    }
}

/// A function of time that is added to a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The function.
    pub function: Function,
    /// Its parameters.
    pub parameters: Vec<Row>,
    /// The axis it sees.
    pub time: Vec<f64>,
    /// What it is multiplied with.
    pub mask: Vec<f64>,
}

/// A formula of other parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The formula.
    pub formula: Formula,
    /// Where its names come from, in their order.
    pub sources: Vec<Source>,
}

/// Where a parameter of an operation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A row.
    Row(Row),
    /// A profiled parameter, by its number in [`Schedule::samples`].
    Sample(usize),
    /// An expression of profiled parameters, by its number in [`Schedule::sample_expressions`].
    SampleExpression(usize),
}

/// A profiled parameter: its base plus terms of the auxiliary axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The row of the parameter.
    pub base: Row,
    /// Functions with their parameters.
    pub terms: Vec<(Function, Vec<Row>)>,
}

/// A component.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The node it computes.
    pub node: NodeId,
    /// Name of that node.
    pub name: String,
    /// What it computes.
    pub function: Function,
    /// Its parameters by formula.
    pub parameters: Vec<Source>,
    /// Where a kernel is sampled, in semantics 0.9.
    pub support: Vec<f64>,
    /// The operations whose sum it reads: a spectrum, or for a kernel what it convolves.
    pub reads: Vec<usize>,
    /// True if it is an addend of `peak_sum`.
    pub is_peak: bool,
    /// True if it is a mean over the auxiliary axis.
    pub is_profiled: bool,
    /// True if theta and time do not change it.
    pub is_constant: bool,
}

impl Operation {
    /// Name of the component that this computes.
    pub fn component(&self) -> &str {
        match self.is_profiled {
            true => self.name.strip_suffix("_profile_avg").unwrap_or(&self.name),
            false => &self.name,
        }
    }
}
