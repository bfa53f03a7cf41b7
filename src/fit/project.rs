//! Projects: several problems fitted at once, with some parameters in common.
//!
//! ```text
//! theta   GLP_01_x0   a:GLP_01_A   b:GLP_01_A
//! a          *            *
//! b          *                         *          (* = derivatives that are not zero)
//! ```
//!
//! A parameter that varies by `project` is one number for all; any other belongs to its problem.

use crate::autodiff::Dependence;
use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::objective::{Member, Objective};
use crate::fit::residuals::Residuals;
use crate::fit::triangle::{Rows, Triangle};

/// One of the problems.
struct Part<'p> {
    label: String,
    residuals: Residuals<'p>,
    /// For each of its parameters the place in theta.
    places: Vec<usize>,
}

impl Part<'_> {
    fn members(&self) -> Vec<Member<'_>> {
        let members = self.residuals.members().into_iter();
        members.map(|member| Member { label: &self.label, places: self.places.clone(), ..member }).collect()
    }
}

/// Problems that share parameters.
pub struct Project<'p> {
    parts: Vec<Part<'p>>,
    names: Vec<String>,
    bounds: Vec<Bounds>,
    start: Vec<f64>,
}

impl<'p> Project<'p> {
    /// Problems, each with a label that its own parameters are called after. A shared parameter begins
    /// where the first problem has it, within its bounds there.
    pub fn new(problems: impl IntoIterator<Item = (String, Residuals<'p>)>) -> Project<'p> {
        let mut project =
            Project { parts: Vec::new(), names: Vec::new(), bounds: Vec::new(), start: Vec::new() };
        for (label, residuals) in problems {
            let names = project.names_of(&label, &residuals);
            let (bounds, start) = (residuals.bounds(), residuals.start());
            let numbers = names.into_iter().zip(bounds.into_iter().zip(start));
            let places = numbers.map(|(name, (bounds, start))| project.place(name, bounds, start)).collect();
            project.parts.push(Part { label, residuals, places });
        }
        project
    }

    fn names_of(&self, label: &str, residuals: &Residuals<'_>) -> Vec<String> {
        let members = residuals.members();
        let named = |member: &Member<'_>| {
            let member = Member { label, ..member.clone() };
            member.model.free().into_iter().map(|id| member.name_of(id)).collect::<Vec<_>>()
        };
        members.iter().flat_map(named).collect()
    }

    /// The place of a parameter in theta, a new one unless it is shared.
    fn place(&mut self, name: String, bounds: Bounds, start: f64) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.bounds.push(bounds);
            self.start.push(start);
            self.names.len() - 1
        })
    }
}

fn own(places: &[usize], theta: &[f64]) -> Vec<f64> {
    places.iter().map(|place| theta[*place]).collect()
}

impl Objective for Project<'_> {
    fn start(&self) -> Vec<f64> {
        self.start.clone()
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn bounds(&self) -> Vec<Bounds> {
        self.bounds.clone()
    }

    fn count(&self) -> usize {
        self.parts.iter().map(|part| part.residuals.count()).sum()
    }

    fn is_declared(&self) -> bool {
        self.parts.iter().all(|part| part.residuals.is_declared())
    }

    fn members(&self) -> Vec<Member<'_>> {
        self.parts.iter().flat_map(Part::members).collect()
    }

    fn chi_square(&mut self, theta: &[f64]) -> Result<f64, FitError> {
        self.parts.iter_mut().map(|part| part.residuals.chi_square(&own(&part.places, theta))).sum()
    }

    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError> {
        let mut rows = Rows::new(wanted.len());
        for Part { residuals, places, .. } in &mut self.parts {
            // For each wanted parameter of this problem its place there, and its column.
            let own_place = |place: &usize| places.iter().position(|p| p == place);
            let (own_wanted, targets): (Vec<usize>, Vec<usize>) =
                wanted.iter().enumerate().filter_map(|(i, place)| Some((own_place(place)?, i))).unzip();
            let part = residuals.linearize(&own(places, theta), &own_wanted)?;
            rows.push(part.residuals().len(), |place, values| {
                match targets.iter().position(|target| *target == place) {
                    Some(own) => values.copy_from_slice(&part.derivatives()[own]),
                    None if place == wanted.len() => values.copy_from_slice(part.residuals()),
                    None => values.fill(0.0),
                }
            });
        }
        Ok(rows.finish())
    }

    /// A shared parameter is linear if it is in each of the problems that it belongs to.
    fn dependences(&self) -> Result<Vec<Dependence>, FitError> {
        let mut all = vec![Dependence::Absent; self.names.len()];
        for Part { residuals, places, .. } in &self.parts {
            for (place, found) in places.iter().zip(residuals.dependences()?) {
                let known = &mut all[*place];
                if matches!(
                    (&*known, &found),
                    (Dependence::Absent, _)
                        | (Dependence::Linear, Dependence::Through(_) | Dependence::Times(_))
                ) {
                    *known = found;
                }
            }
        }
        Ok(all)
    }

    fn evaluations(&self) -> usize {
        self.parts.iter().map(|part| part.residuals.evaluations()).sum()
    }
}
