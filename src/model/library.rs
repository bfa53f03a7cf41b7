//! The models that some files define, by name, and the header that says how they are used.
//!
//! ```yaml
//! cembra:                                 # the header, in any one of the files
//!   semantics: current                    # or "0.9"
//!   model: m                              # the energy model
//!   energy: {from: 80, to: 92, points: 40}
//!   time: [-1.0, 0.0, 1.0, 2.0]           # without it the spectrum is one-dimensional
//!   aux: [0, 1, 2]
//!   profiles: [{target: GLP_01_x0, model: p}]
//!   dynamics: [{target: GLP_01_A, models: [irf, decay], frequency: 0.02}]
//! m:
//!   GLP: …
//! ```

use crate::model::component::Semantics;
use crate::model::error::{Findings, ModelError, ModelErrorKind, some_names};
use crate::model::place::Place;
use crate::model::yaml::{self, Node, NodeValue};
use std::sync::Arc;

/// The name that no model may have.
pub(crate) const HEADER: &str = "cembra";

/// Points an axis may have.
pub const AXIS_LIMIT: usize = 4_000_000;

/// How models become one spectrum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// The formulas that are meant.
    pub semantics: Semantics,
    /// Name of the energy model; empty for the only one, or for `time_model`.
    pub model: String,
    /// Name of a dynamics model to be used by itself, on the time axis.
    pub time_model: Option<String>,
    /// Energy axis.
    pub energy: Vec<f64>,
    /// Time axis; without it the spectrum is one-dimensional.
    pub time: Option<Vec<f64>>,
    /// Axis of profiles.
    pub aux: Option<Vec<f64>>,
    /// Profiles, attached before the dynamics.
    pub profiles: Vec<ProfileSetup>,
    /// Dynamics.
    pub dynamics: Vec<DynamicsSetup>,
}

/// A profile model on a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileSetup {
    /// Name of the parameter.
    pub target: String,
    /// Name of the profile model.
    pub model: String,
    /// Where the header says so.
    pub place: Option<Place>,
}

/// Dynamics models on a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicsSetup {
    /// Name of the parameter.
    pub target: String,
    /// Names of the dynamics models: one for the whole axis, or a global one and one a subcycle.
    pub models: Vec<String>,
    /// Repetitions per unit of time.
    pub frequency: Option<f64>,
    /// Where the header says so.
    pub place: Option<Place>,
}

/// A model as it stands in a file.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub place: Place,
    /// Its components.
    pub node: Node,
}

/// All models of some files.
#[derive(Clone, Debug, Default)]
pub struct Library {
    entries: Vec<Entry>,
    header: Option<(Place, Node)>,
    first_file: Option<Arc<str>>,
    /// True if a file could not be read as models, so that some may be missing.
    is_incomplete: bool,
}

impl Library {
    /// Reads files, each a name and a text.
    pub fn read<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>, findings: &mut Findings) -> Library {
        let mut library = Library::default();
        let before = findings.errors.len();
        for (name, text) in files {
            library.file(&name.into(), text, findings);
        }
        library.is_incomplete = findings.errors.len() > before;
        library
    }

    fn file(&mut self, file: &Arc<str>, text: &str, findings: &mut Findings) {
        self.first_file.get_or_insert_with(|| file.clone());
        let node = match yaml::read(file, text) {
            Ok(Some(Node { value: NodeValue::Null, .. }) | None) => {
                return findings.error(ModelErrorKind::EmptyFile, &Place::start(file));
            }
            Ok(Some(node)) => node,
            Err(error) => return findings.errors.push(error),
        };
        let Some(entries) = node.map() else {
            let found = node.describe();
            return findings.error(ModelErrorKind::TopLevel { found }, &node.place);
        };
        for (key, value) in entries {
            self.entry(key, value, findings);
        }
    }

    fn entry(&mut self, key: &Node, value: &Node, findings: &mut Findings) {
        let place = key.place.clone();
        let Some(name) = key.text() else {
            return findings.error(ModelErrorKind::Name { found: key.describe() }, &place);
        };
        let known = self.entries.iter().find(|e| e.name == name).map(|e| &e.place);
        let first = if name == HEADER { self.header.as_ref().map(|h| &h.0) } else { known };
        if let Some(first) = first.cloned() {
            return findings.error(ModelErrorKind::DuplicateModel { model: name.to_owned(), first }, &place);
        }
        match name {
            HEADER => self.header = Some((place, value.clone())),
            _ => self.entries.push(Entry { name: name.to_owned(), place, node: value.clone() }),
        }
    }

    /// The model of that name; a finding if there is none.
    pub fn find(&self, name: &str, asked: Option<&Place>, findings: &mut Findings) -> Option<&Entry> {
        let found = self.entries.iter().find(|e| e.name == name);
        if found.is_none() {
            let available = some_names(self.entries.iter().map(|e| &*e.name));
            let kind = ModelErrorKind::ModelNotFound { model: name.to_owned(), available };
            let place = asked.cloned().or_else(|| self.first_file.as_ref().map(Place::start));
            findings.errors.push(ModelError { kind: Box::new(kind), place });
        }
        found
    }

    /// True if a file could not be read as models, so that some may be missing.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// What the header says; the defaults if there is none.
    pub fn setup(&self, findings: &mut Findings) -> Setup {
        let mut setup = Setup::default();
        if let Some((place, header)) = &self.header {
            match header.map() {
                Some(entries) => {
                    entries.iter().for_each(|(key, value)| header_entry(&mut setup, key, value, findings));
                }
                None => {
                    let problem = format!("it is a map, not {}", header.describe());
                    findings.error(ModelErrorKind::Header { entry: HEADER.to_owned(), problem }, place);
                }
            }
        }
        if setup.model.is_empty() && setup.time_model.is_none() {
            setup.model = self.entries.first().map(|e| e.name.clone()).unwrap_or_default();
        }
        setup
    }
}

fn header_entry(setup: &mut Setup, key: &Node, value: &Node, findings: &mut Findings) {
    let name = key.text().unwrap_or_default();
    let read: Result<(), String> = match name {
        "semantics" => semantics(value).map(|s| setup.semantics = s),
        "model" => text(value).map(|m| setup.model = m),
        "time_model" => text(value).map(|m| setup.time_model = Some(m)),
        "energy" => axis(value).map(|a| setup.energy = a),
        "time" => axis(value).map(|a| setup.time = Some(a)),
        "aux" => axis(value).map(|a| setup.aux = Some(a)),
        "profiles" => items(value, profile).map(|p| setup.profiles = p),
        "dynamics" => items(value, dynamics).map(|d| setup.dynamics = d),
        _ => Err("it is semantics, model, time_model, energy, time, aux, profiles or dynamics".to_owned()),
    };
    if let Err(problem) = read {
        let entry = key.text().map_or_else(|| key.describe(), str::to_owned);
        findings.error(ModelErrorKind::Header { entry, problem }, &value.place);
    }
}

fn semantics(node: &Node) -> Result<Semantics, String> {
    let name = match node.value {
        NodeValue::Float(number) => number.to_string(),
        _ => text(node)?,
    };
    Semantics::from_name(&name).ok_or_else(|| format!("it is `current` or `0.9`, not {}", node.describe()))
}

fn text(node: &Node) -> Result<String, String> {
    node.text().map(str::to_owned).ok_or_else(|| format!("it is a text, not {}", node.describe()))
}

fn number(node: &Node) -> Result<f64, String> {
    node.number().ok_or_else(|| format!("it is a number, not {}", node.describe()))
}

fn items<T>(node: &Node, read: impl Fn(&Node) -> Result<T, String>) -> Result<Vec<T>, String> {
    let list = node.list().ok_or_else(|| format!("it is a list, not {}", node.describe()))?;
    list.iter().map(read).collect()
}

/// A list of numbers, or evenly spaced ones.
fn axis(node: &Node) -> Result<Vec<f64>, String> {
    if node.list().is_some() {
        return items(node, number);
    }
    only(node, &["from", "to", "points"])?;
    let (from, to, points) = (field(node, "from")?, field(node, "to")?, field(node, "points")?);
    let (from, to, points) = (number(from)?, number(to)?, number(points)?);
    if !(2.0..=AXIS_LIMIT as f64).contains(&points) || points.fract() != 0.0 {
        return Err(format!("an axis has 2 to {AXIS_LIMIT} points, not {points}"));
    }
    // What is infinite by itself is told with the axis.
    if from.is_finite() && to.is_finite() && !(to - from).is_finite() {
        return Err(format!("the distance from {from:?} to {to:?} does not fit FLOAT64"));
    }
    Ok(evenly_spaced(from, to, points as usize))
}

/// `points` numbers from the first to the last, both included.
pub fn evenly_spaced(from: f64, to: f64, points: usize) -> Vec<f64> {
    let step = (to - from) / (points - 1) as f64;
    let mut axis: Vec<f64> = (0..points).map(|index| from + index as f64 * step).collect();
    axis[points - 1] = to;
    axis
}

fn field<'n>(node: &'n Node, name: &str) -> Result<&'n Node, String> {
    optional(node, name)?.ok_or_else(|| format!("`{name}` is missing"))
}

fn optional<'n>(node: &'n Node, name: &str) -> Result<Option<&'n Node>, String> {
    let entries = node.map().ok_or_else(|| format!("it is a map, not {}", node.describe()))?;
    Ok(entries.iter().find(|(key, _)| key.text() == Some(name)).map(|(_, value)| value))
}

/// Checks that a map has no entries but these.
fn only(node: &Node, names: &[&str]) -> Result<(), String> {
    let mut keys = node.map().unwrap_or_default().iter().map(|(key, _)| key);
    let unknown = keys.find(|key| !key.text().is_some_and(|text| names.contains(&text)));
    unknown.map_or(Ok(()), |key| {
        let found = key.text().map_or_else(|| key.describe(), |text| format!("`{text}`"));
        Err(format!("{found} is none of its entries: {}", names.join(", ")))
    })
}

fn profile(node: &Node) -> Result<ProfileSetup, String> {
    only(node, &["target", "model"])?;
    let (target, model) = (text(field(node, "target")?)?, text(field(node, "model")?)?);
    Ok(ProfileSetup { target, model, place: Some(node.place.clone()) })
}

fn dynamics(node: &Node) -> Result<DynamicsSetup, String> {
    only(node, &["target", "models", "frequency"])?;
    let target = text(field(node, "target")?)?;
    let models = items(field(node, "models")?, text)?;
    let frequency = optional(node, "frequency")?.map(number).transpose()?;
    Ok(DynamicsSetup { target, models, frequency, place: Some(node.place.clone()) })
}
