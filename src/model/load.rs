//! Files and a setup to a model: declares components, attaches profiles and dynamics, checks the whole.
//!
//! Everything that can be found wrong is found in one go; a model is only made if nothing is.

use crate::model::component::{Function, Package, Role, Semantics};
use crate::model::declaration::{Broken, Declaration, DeclarationReader, name_apart, subject};
use crate::model::error::{
    Findings, ModelError, ModelErrorKind, ModelWarning, Subject, WarningKind, some_names,
};
use crate::model::interpret::initial_arguments;
use crate::model::kernel;
use crate::model::library::{AXIS_LIMIT, DynamicsSetup, HEADER, Library, ProfileSetup, Setup};
use crate::model::place::Place;
use crate::model::quantity::Quantity;
use crate::model::references;
use crate::model::subcycle::Subcycles;
use crate::model::tree::{Component, Domain, Dynamics, Model, Parameter, ParameterId, Profile};
use std::collections::HashSet;

/// A model and what is odd about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The model.
    pub model: Model,
    /// What to look at.
    pub warnings: Vec<ModelWarning>,
}

/// Reads files and follows their header.
///
/// # Errors
/// Everything that is wrong with the files and the model.
pub fn read<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<Loaded, Vec<ModelError>> {
    let mut findings = Findings::default();
    let library = Library::read(files, &mut findings);
    let setup = library.setup(&mut findings);
    load_with(&library, &setup, findings)
}

/// Reads files and follows a setup instead of the header.
///
/// # Errors
/// Everything that is wrong with the files and the model.
pub fn read_with<'f>(
    files: impl IntoIterator<Item = (&'f str, &'f str)>,
    setup: &Setup,
) -> Result<Loaded, Vec<ModelError>> {
    let mut findings = Findings::default();
    let library = Library::read(files, &mut findings);
    load_with(&library, setup, findings)
}

/// Makes a model of a library.
///
/// # Errors
/// What was found before, and everything that is wrong with the model.
pub fn load_with(library: &Library, setup: &Setup, findings: Findings) -> Result<Loaded, Vec<ModelError>> {
    // Which model is meant by which formulas is not known: what is said of another one would be false.
    let decides = |entry: &&str| findings.has_header_error(entry);
    if library.is_incomplete() || [HEADER, "semantics", "model", "time_model"].iter().any(decides) {
        return Err(findings.errors);
    }
    let mut loader = Loader {
        library,
        setup,
        findings,
        model: empty(setup),
        broken: Broken::default(),
        declared_wrong: Broken::default(),
    };
    loader.check_axes();
    loader.components();
    setup.profiles.iter().for_each(|profile| loader.profile(profile));
    setup.dynamics.iter().for_each(|dynamics| loader.dynamics(dynamics));
    let Loader { mut findings, mut model, .. } = loader;
    // Expressions of a model with holes would only repeat what is known to be wrong.
    if findings.errors.is_empty() {
        references::check(&mut model, &mut findings);
    }
    if findings.errors.is_empty() {
        check_kernel_sizes(&model, &mut findings);
    }
    // A model that is used twice is wrong once.
    let mut known = HashSet::new();
    findings.errors.retain(|error| known.insert(format!("{:?} {error}", error.place)));
    match findings.errors.is_empty() {
        true => Ok(Loaded { model, warnings: findings.warnings }),
        false => Err(findings.errors),
    }
}

fn empty(setup: &Setup) -> Model {
    let domain = match (&setup.time_model, &setup.time) {
        (Some(_), _) => Domain::Time1D,
        (None, Some(_)) => Domain::EnergyTime2D,
        (None, None) => Domain::Energy1D,
    };
    Model {
        name: setup.time_model.clone().unwrap_or_else(|| setup.model.clone()),
        semantics: setup.semantics,
        domain,
        energy: setup.energy.clone(),
        time: setup.time.clone().unwrap_or_default(),
        aux: setup.aux.clone().unwrap_or_default(),
        ..Model::default()
    }
}

struct Loader<'a> {
    library: &'a Library,
    setup: &'a Setup,
    findings: Findings,
    model: Model,
    /// What could not be read of the model itself.
    broken: Broken,
    /// What could not be read of the models declared last.
    declared_wrong: Broken,
}

impl Loader<'_> {
    fn fail(&mut self, kind: ModelErrorKind, place: Option<&Place>) {
        self.findings.errors.push(ModelError { kind: Box::new(kind), place: place.cloned() });
    }

    fn check_axes(&mut self) {
        let needs_energy = self.model.domain != Domain::Time1D;
        let needs_time = self.model.domain != Domain::Energy1D;
        let axes = [
            ("energy", &self.model.energy, needs_energy),
            ("time", &self.model.time, needs_time),
            ("auxiliary", &self.model.aux, false),
        ];
        for (axis, points, is_needed) in axes {
            let is_missing = is_needed && points.is_empty() && !self.findings.has_header_error(axis);
            let wild = points.iter().position(|p| !p.is_finite());
            let wild = wild.map(|index| format!("has the point {} at index {index}", points[index]));
            for problem in is_missing.then(|| "has no points".to_owned()).into_iter().chain(wild) {
                self.findings.errors.push(ModelErrorKind::Axis { axis, problem }.nowhere());
            }
        }
        let (energies, times, limit) = (self.model.energy.len(), self.model.time.len(), AXIS_LIMIT);
        if self.model.domain == Domain::EnergyTime2D && energies.saturating_mul(times) > limit {
            self.fail(ModelErrorKind::SpectrumValues { energies, times, limit }, None);
        }
    }

    fn components(&mut self) {
        let package = if self.model.domain == Domain::Time1D { Package::Time } else { Package::Energy };
        let name = self.model.name.clone();
        let (declarations, _) = self.declare(&name, package, None);
        self.broken = std::mem::take(&mut self.declared_wrong);
        self.model.components = self.add("", &declarations, 0);
        if package == Package::Time {
            let components = self.model.components.clone();
            self.check_kernel_axis(&components);
        }
    }

    /// Declarations of a model and its place.
    fn declare(
        &mut self,
        name: &str,
        package: Package,
        asked: Option<&Place>,
    ) -> (Vec<Declaration>, Option<Place>) {
        let Some(entry) = self.library.find(name, asked, &mut self.findings) else {
            return (Vec::new(), None);
        };
        let (semantics, findings, broken) = (self.setup.semantics, &mut self.findings, Broken::default());
        let mut reader = DeclarationReader { semantics, package, findings, broken };
        let declarations = reader.read(name, &entry.place, &entry.node);
        self.declared_wrong = reader.broken;
        (declarations, Some(entry.place.clone()))
    }

    /// Adds components, with the name of what they are attached to before theirs.
    fn add(&mut self, target: &str, declarations: &[Declaration], subcycle: usize) -> Vec<Component> {
        let prefix = if target.is_empty() { String::new() } else { format!("{target}_") };
        declarations.iter().map(|d| add_component(&mut self.model, &prefix, d, subcycle)).collect()
    }

    fn profile(&mut self, setup: &ProfileSetup) {
        let target = setup.target.clone();
        let (declarations, place) = {
            let place = setup.place.as_ref();
            self.declare(&setup.model, Package::Profile, place)
        };
        let place = setup.place.clone().or(place);
        let kind = match self.model.find(&target) {
            None if self.broken.may_have(&target) => return,
            None => self.target_missing(&target),
            Some(id) => {
                let parameter = self.model.parameter(id);
                match &parameter.quantity {
                    Quantity::Expression(e) => {
                        ModelErrorKind::AttachedToExpression { target, expression: e.text().to_owned() }
                    }
                    _ if parameter.profile.is_some() => ModelErrorKind::AlreadyProfiled { target },
                    _ if !self.is_of_components(id) => ModelErrorKind::ProfileTarget { target },
                    _ if self.model.aux.is_empty() && self.findings.has_header_error("aux") => return,
                    _ if self.model.aux.is_empty() => ModelErrorKind::NoAuxAxis { target },
                    _ => {
                        let components = self.add(&target, &declarations, 0);
                        let model = setup.model.clone();
                        self.model.parameters[id.0].profile = Some(Profile { model, components });
                        return;
                    }
                }
            }
        };
        self.fail(kind, place.as_ref());
    }

    fn is_of_components(&self, id: ParameterId) -> bool {
        self.model.components.iter().any(|c| c.parameters.contains(&id))
    }

    fn target_missing(&self, target: &str) -> ModelErrorKind {
        let available = some_names(self.model.parameters.iter().map(|p| &*p.name));
        ModelErrorKind::TargetMissing { target: target.to_owned(), available }
    }

    fn dynamics(&mut self, setup: &DynamicsSetup) {
        let mut lists = Vec::new();
        let mut place = setup.place.clone();
        for model in &setup.models {
            let (declarations, at) = self.declare(model, Package::Time, setup.place.as_ref());
            place = place.or(at);
            lists.push(declarations);
        }
        for (model, declaration, first) in name_apart(&mut lists) {
            let subject = subject(&setup.models[model], &declaration.name, "");
            self.fail(ModelErrorKind::DuplicateComponent { subject, first }, Some(&declaration.place));
        }
        let frequency = setup.frequency.filter(|f| *f != -1.0);
        let is_known = self.model.find(&setup.target).is_some();
        if !is_known && self.broken.may_have(&setup.target) {
            return;
        }
        match self.dynamics_target(setup, frequency) {
            Err(ModelErrorKind::NoTimeAxis { .. }) if self.findings.has_header_error("time") => {}
            Ok(id) => self.attach_dynamics(id, setup, frequency, &lists, place.as_ref()),
            Err(kind) => self.fail(kind, place.as_ref()),
        }
    }

    /// The parameter that dynamics can be attached to.
    fn dynamics_target(
        &self,
        setup: &DynamicsSetup,
        frequency: Option<f64>,
    ) -> Result<ParameterId, ModelErrorKind> {
        let target = setup.target.clone();
        let Some(id) = self.model.find(&target) else { return Err(self.target_missing(&target)) };
        let parameter = self.model.parameter(id);
        let subcycles = setup.models.len().saturating_sub(1);
        match (&parameter.quantity, frequency) {
            (Quantity::Expression(e), _) => {
                Err(ModelErrorKind::AttachedToExpression { target, expression: e.text().to_owned() })
            }
            _ if parameter.dynamics.is_some() => Err(ModelErrorKind::AlreadyDynamic { target }),
            _ if parameter.profile.is_some() => Err(ModelErrorKind::DynamicsAndProfile { target }),
            _ if self.model.time.is_empty() => Err(ModelErrorKind::NoTimeAxis { target }),
            _ if setup.models.is_empty() => Err(ModelErrorKind::NoDynamicsModels { target }),
            (_, Some(f)) if !(f.is_finite() && f > 0.0) => {
                Err(ModelErrorKind::Frequency { target, frequency: f })
            }
            (_, Some(f)) if subcycles == 0 => Err(ModelErrorKind::FrequencyOnSingle { target, frequency: f }),
            (_, None) if subcycles > 0 => Err(ModelErrorKind::NoFrequency { target, subcycles }),
            _ => Ok(id),
        }
    }

    fn attach_dynamics(
        &mut self,
        id: ParameterId,
        setup: &DynamicsSetup,
        frequency: Option<f64>,
        lists: &[Vec<Declaration>],
        place: Option<&Place>,
    ) {
        let mut components = Vec::new();
        for (subcycle, declarations) in lists.iter().enumerate() {
            components.extend(self.add(&setup.target, declarations, subcycle));
        }
        self.check_kernel_axis(&components);
        let subcycles = frequency.map(|f| Subcycles::new(&self.model.time, f, lists.len() - 1));
        if let Some(time) = subcycles.as_ref().and_then(|s| s.boundary) {
            let kind = WarningKind::SubcycleBoundary { target: setup.target.clone(), time };
            self.findings.warnings.push(ModelWarning { kind, place: place.cloned() });
        }
        let models = setup.models.clone();
        self.model.parameters[id.0].dynamics = Some(Dynamics { models, components, frequency, subcycles });
    }

    fn check_kernel_axis(&mut self, components: &[Component]) {
        let Some(kernel) = components.iter().find(|c| c.function.role() == Role::Kernel) else { return };
        let time = &self.model.time;
        if time.len() < 2 && self.findings.has_header_error("time") {
            return;
        }
        if time.len() < 2 {
            let problem = "needs at least two points for a convolution".to_owned();
            return self.fail(ModelErrorKind::Axis { axis: "time", problem }, Some(&kernel.place));
        }
        if let Some(before) = time.windows(2).position(|pair| pair[0] >= pair[1]) {
            let kind = ModelErrorKind::AxisNotIncreasing { axis: "time", index: before + 1 };
            self.fail(kind, Some(&kernel.place));
        }
    }
}

/// Checks how much work the convolutions are, before samples are taken.
fn check_kernel_sizes(model: &Model, findings: &mut Findings) {
    let attached = model.parameters.iter().filter_map(|parameter| parameter.dynamics.as_ref());
    let alone = model.components.iter().filter(|_| model.domain == Domain::Time1D);
    let components = alone.chain(attached.flat_map(|dynamics| &dynamics.components));
    for kernel in components.filter(|component| component.function.role() == Role::Kernel) {
        if let Some(kind) = too_much(model, kernel) {
            findings.error(kind, &kernel.place);
        }
    }
}

fn too_much(model: &Model, kernel: &Component) -> Option<ModelErrorKind> {
    let points = model.time.len();
    let subject =
        || Subject { model: model.name.clone(), component: kernel.name.clone(), parameter: String::new() };
    let samples = match model.semantics {
        Semantics::Current => points,
        Semantics::V0_9 => {
            let limit = kernel::SAMPLE_LIMIT;
            let samples =
                kernel::sample_count(kernel.function, &model.time, &initial_arguments(model, kernel));
            // NaN is no number of samples.
            if !(0.0..=limit as f64).contains(&samples) {
                return Some(ModelErrorKind::KernelSamples { subject: subject(), samples, limit });
            }
            samples as usize
        }
    };
    let limit = kernel::PRODUCT_LIMIT;
    (points.saturating_mul(samples) > limit).then(|| ModelErrorKind::KernelProducts {
        subject: subject(),
        points,
        samples,
        limit,
    })
}

fn add_component(model: &mut Model, prefix: &str, declaration: &Declaration, subcycle: usize) -> Component {
    let first = model.parameters.len();
    for parameter in &declaration.parameters {
        let quantity = match &parameter.quantity {
            Quantity::Expression(e) if !prefix.is_empty() => {
                // A name with the prefix already is the full name of a parameter of this list.
                let rename = |name: &str| (!name.starts_with(prefix)).then(|| format!("{prefix}{name}"));
                Quantity::Expression(e.renamed(rename))
            }
            other => other.clone(),
        };
        model.parameters.push(Parameter {
            name: format!("{prefix}{}_{}", declaration.name, parameter.name),
            short: parameter.name.clone(),
            quantity,
            references: Vec::new(),
            dynamics: None,
            profile: None,
            place: parameter.place.clone(),
        });
    }
    let parameters: Vec<ParameterId> = (first..model.parameters.len()).map(ParameterId).collect();
    Component {
        name: declaration.name.clone(),
        function: declaration.function,
        arguments: by_formula(model, declaration.function, &parameters),
        parameters,
        subcycle,
        place: declaration.place.clone(),
    }
}

fn by_formula(model: &Model, function: Function, parameters: &[ParameterId]) -> Vec<ParameterId> {
    let position = |name: &&str| {
        let found = parameters.iter().find(|id| model.parameter(**id).short == **name);
        *found.expect("a declaration has all parameters of its function")
    };
    function.parameters(model.semantics).iter().map(position).collect()
}
