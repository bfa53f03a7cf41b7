//! A model: components with parameters, dynamics and profiles attached to them.
//!
//! ```text
//! Model ── components of the energy axis (or of the time axis, for a dynamics model by itself)
//!            └── parameters ── number or expression
//!                   ├── dynamics: components of the time axis, added to the parameter
//!                   └── profile:  components of the auxiliary axis, added at each of its points
//! ```
//!
//! All parameters, wherever they belong, stand in one list; a [`ParameterId`] is a place in it.

use crate::model::component::{Function, Semantics};
use crate::model::error::{ModelErrorKind, Subject};
use crate::model::named::named;
use crate::model::place::Place;
use crate::model::quantity::Quantity;
use crate::model::subcycle::Subcycles;

/// A parameter of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterId(pub usize);

named! {
    /// What a spectrum is a function of.
    #[derive(Default)]
    Domain {
        /// Energy.
        #[default]
        Energy1D "ENERGY_1D",
        /// Time: a dynamics model by itself.
        Time1D "TIME_1D",
        /// Time and energy; rows are times.
        EnergyTime2D "ENERGY_TIME_2D",
    }
}

/// A component.
#[derive(Clone, Debug)]
pub struct Component {
    /// Name with its number, without the name of what it is attached to.
    pub name: String,
    /// What it computes.
    pub function: Function,
    /// Parameters in the order of the file.
    pub parameters: Vec<ParameterId>,
    /// Parameters in the order of the formula.
    pub arguments: Vec<ParameterId>,
    /// The subcycle it belongs to; 0 for the whole axis.
    pub subcycle: usize,
    /// Its key in the file.
    pub place: Place,
}

/// A parameter with what is attached to it.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Full name, unique in the model.
    pub name: String,
    /// Name in its formula.
    pub short: String,
    /// Value or expression.
    pub quantity: Quantity,
    /// What the names of its expression mean, in their order.
    pub references: Vec<ParameterId>,
    /// What is added along the time axis.
    pub dynamics: Option<Dynamics>,
    /// What is added along the auxiliary axis.
    pub profile: Option<Profile>,
    /// Its key in the file.
    pub place: Place,
}

/// Dynamics of a parameter.
#[derive(Clone, Debug)]
pub struct Dynamics {
    /// Names of the models, one for the whole axis and then one a subcycle.
    pub models: Vec<String>,
    /// The components of all models, in order.
    pub components: Vec<Component>,
    /// Repetitions per unit of time.
    pub frequency: Option<f64>,
    /// The folded axis, if there are subcycles.
    pub subcycles: Option<Subcycles>,
}

/// Profile of a parameter.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name of the model.
    pub model: String,
    /// Its components.
    pub components: Vec<Component>,
}

/// A model with its axes.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Name in its file.
    pub name: String,
    /// The formulas that are meant.
    pub semantics: Semantics,
    /// What the spectrum is a function of.
    pub domain: Domain,
    /// Energy axis; empty for a dynamics model by itself.
    pub energy: Vec<f64>,
    /// Time axis; empty for a one-dimensional spectrum.
    pub time: Vec<f64>,
    /// Axis of profiles; empty without profiles.
    pub aux: Vec<f64>,
    /// Components in the order of the file.
    pub components: Vec<Component>,
    /// All parameters.
    pub parameters: Vec<Parameter>,
    /// Parameters that are expressions, each after those it refers to.
    pub expression_order: Vec<ParameterId>,
}

impl Model {
    /// A parameter.
    pub fn parameter(&self, id: ParameterId) -> &Parameter {
        &self.parameters[id.0]
    }

    /// The parameter of that name.
    pub fn find(&self, name: &str) -> Option<ParameterId> {
        self.parameters.iter().position(|p| p.name == name).map(ParameterId)
    }

    /// True if the parameter is a number that an optimizer sees.
    pub fn is_free(&self, id: ParameterId) -> bool {
        matches!(&self.parameter(id).quantity, Quantity::Number(number) if number.vary.is_free())
    }

    /// All parameters: those of components in the order of the file, each followed by those of its
    /// dynamics, then those of profiles.
    pub fn order(&self) -> Vec<ParameterId> {
        let mut order = Vec::new();
        self.push_with_dynamics(&self.components, &mut order);
        for component in &self.components {
            for id in &component.parameters {
                if let Some(profile) = &self.parameter(*id).profile {
                    self.push_with_dynamics(&profile.components, &mut order);
                }
            }
        }
        order
    }

    fn push_with_dynamics(&self, components: &[Component], order: &mut Vec<ParameterId>) {
        for id in components.iter().flat_map(|c| &c.parameters) {
            order.push(*id);
            let dynamics = self.parameter(*id).dynamics.as_ref();
            for component in dynamics.into_iter().flat_map(|d| &d.components) {
                order.extend(&component.parameters);
            }
        }
    }

    /// The free parameters: theta, in this order.
    pub fn free(&self) -> Vec<ParameterId> {
        self.order().into_iter().filter(|id| self.is_free(*id)).collect()
    }

    /// Names of theta.
    pub fn theta_names(&self) -> Vec<&str> {
        self.free().into_iter().map(|id| self.parameter(id).name.as_str()).collect()
    }

    /// The initial values of theta.
    pub fn theta(&self) -> Vec<f64> {
        self.free().into_iter().map(|id| self.parameter(id).quantity.initial()).collect()
    }

    /// Checks a value for a place of theta as the model file's own value is checked.
    ///
    /// # Errors
    /// The value is not finite, or outside of the parameter's bounds.
    pub fn check_value(&self, place: usize, value: f64) -> Result<(), ModelErrorKind> {
        let free = self.free();
        let Some(id) = free.get(place).copied() else {
            return Err(ModelErrorKind::ThetaLength { expected: free.len(), actual: place + 1 });
        };
        let Parameter { name, short, quantity, .. } = self.parameter(id);
        let component = name.strip_suffix(short.as_str()).and_then(|rest| rest.strip_suffix('_'));
        let subject = Subject {
            model: self.name.clone(),
            component: component.unwrap_or(name).to_owned(),
            parameter: short.clone(),
        };
        match quantity {
            Quantity::Number(number) => number.check(&subject, value),
            Quantity::Expression(_) => unreachable!("free parameters are numbers"),
        }
    }

    /// One value a parameter: numbers with theta in them, expressions of these. What is attached is left out.
    ///
    /// # Errors
    /// Theta has another length than [`theta`](Self::theta).
    pub fn base_values(&self, theta: &[f64]) -> Result<Vec<f64>, ModelErrorKind> {
        let free = self.free();
        if free.len() != theta.len() {
            return Err(ModelErrorKind::ThetaLength { expected: free.len(), actual: theta.len() });
        }
        let mut values: Vec<f64> = self.parameters.iter().map(|p| p.quantity.initial()).collect();
        for (id, value) in free.iter().zip(theta) {
            values[id.0] = *value;
        }
        self.evaluate_expressions(&mut values);
        Ok(values)
    }

    /// Overwrites the values of expressions.
    pub fn evaluate_expressions(&self, values: &mut [f64]) {
        for id in &self.expression_order {
            let parameter = self.parameter(*id);
            if let Quantity::Expression(expression) = &parameter.quantity {
                values[id.0] = expression.evaluate(|name| values[parameter.references[name].0]);
            }
        }
    }

    /// True if the value depends on time: by dynamics, or through the parameters it refers to.
    pub fn is_dynamic(&self, id: ParameterId) -> bool {
        self.reaches(id, |parameter| parameter.dynamics.is_some())
    }

    /// True if the value has a profile, or refers to one that has.
    pub fn is_profiled(&self, id: ParameterId) -> bool {
        self.reaches(id, |parameter| parameter.profile.is_some())
    }

    fn reaches(&self, id: ParameterId, wanted: impl Fn(&Parameter) -> bool) -> bool {
        let parameter = self.parameter(id);
        if parameter.references.is_empty() {
            return wanted(parameter);
        }
        let mut work = vec![id];
        let mut seen = vec![false; self.parameters.len()];
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut seen[id.0], true) {
                continue;
            }
            if wanted(self.parameter(id)) {
                return true;
            }
            work.extend(&self.parameter(id).references);
        }
        false
    }
}
