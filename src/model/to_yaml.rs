//! A model back to a file.
//!
//! ```text
//! parameter GLP_01_A ── dynamics, one entry a subcycle ──> models GLP_01_A_dynamics_0, GLP_01_A_dynamics_1, …
//!                    └─ profile ──> model GLP_01_A_profile
//! ```
//!
//! Expressions stand in the file with the whole names of what they refer to; axes are lists of their points.

use crate::model::declaration::without_number;
use crate::model::graph::print::quote;
use crate::model::quantity::Quantity;
use crate::model::tree::{Component, Domain, Model};

/// The model file with its header. Reading it gives the same graph.
pub fn yaml(model: &Model) -> String {
    let mut file = File { model, models: String::new(), profiles: String::new(), dynamics: String::new() };
    file.section(&model.name, &model.components);
    file.attachments(&model.components);
    let File { models, profiles, dynamics, .. } = &file;
    let kind = if model.domain == Domain::Time1D { "time_model" } else { "model" };
    let (semantics, name) = (quote(model.semantics.name()), key(&model.name));
    let mut header = format!("cembra:\n  semantics: {semantics}\n  {kind}: {name}\n");
    for (name, axis) in [("energy", &model.energy), ("time", &model.time), ("aux", &model.aux)] {
        if !axis.is_empty() {
            header += &format!("  {name}: [{}]\n", joined(axis.iter().map(|point| number(*point))));
        }
    }
    for (name, items) in [("profiles", profiles), ("dynamics", dynamics)] {
        if !items.is_empty() {
            header += &format!("  {name}:\n{items}");
        }
    }
    header + models
}

/// Parts of the file.
struct File<'m> {
    model: &'m Model,
    /// Models with their components.
    models: String,
    /// Entries of the header.
    profiles: String,
    dynamics: String,
}

impl File<'_> {
    fn section<'c>(&mut self, name: &str, components: impl IntoIterator<Item = &'c Component>) {
        self.models += &format!("{}:\n", key(name));
        for component in components {
            let written = match component.function.is_numbered() {
                true => without_number(&component.name),
                false => &component.name,
            };
            let empty = if component.parameters.is_empty() { " {}" } else { "" };
            self.models += &format!("  {}:{empty}\n", key(written));
            for id in &component.parameters {
                let parameter = self.model.parameter(*id);
                let quantity = quantity(&parameter.quantity);
                self.models += &format!("    {}: {quantity}\n", key(&parameter.short));
            }
        }
    }

    /// Models of what is attached to parameters.
    fn attachments(&mut self, components: &[Component]) {
        for id in components.iter().flat_map(|component| &component.parameters) {
            let parameter = self.model.parameter(*id);
            let (name, target) = (&parameter.name, key(&parameter.name));
            if let Some(profile) = &parameter.profile {
                let model = format!("{name}_profile");
                self.profiles += &format!("    - {{target: {target}, model: {}}}\n", key(&model));
                self.section(&model, &profile.components);
                self.attachments(&profile.components);
            }
            if let Some(dynamics) = &parameter.dynamics {
                let entries = 0..dynamics.models.len();
                let models: Vec<String> = entries.map(|entry| format!("{name}_dynamics_{entry}")).collect();
                for (entry, model) in models.iter().enumerate() {
                    self.section(model, dynamics.components.iter().filter(|c| c.subcycle == entry));
                }
                let models = joined(models.iter().map(|model| key(model)));
                let frequency =
                    dynamics.frequency.map_or(String::new(), |f| format!(", frequency: {}", number(f)));
                self.dynamics += &format!("    - {{target: {target}, models: [{models}]{frequency}}}\n");
            }
        }
    }
}

fn quantity(quantity: &Quantity) -> String {
    match quantity {
        Quantity::Expression(formula) => format!("[{}]", quote(formula.text())),
        Quantity::Number(n) => {
            let is_bounded = n.min > f64::NEG_INFINITY || n.max < f64::INFINITY;
            let (vary, value) = (if n.vary.is_free() { "True" } else { "False" }, number(n.value));
            match n.vary.is_free() && is_bounded {
                true => format!("[{value}, {vary}, {}, {}]", number(n.min), number(n.max)),
                false => format!("[{value}, {vary}]"),
            }
        }
    }
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A number that reads back to the same bits.
fn number(value: f64) -> String {
    match value {
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        _ => format!("{value:?}"),
    }
}

/// A name as a key; quoted unless it is plain.
fn key(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    let is_word = ["true", "false", "null", "yes", "no"].contains(&name.to_lowercase().as_str());
    if is_plain && !is_word && !name.is_empty() { name.to_owned() } else { quote(name) }
}
