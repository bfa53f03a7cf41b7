//! Components with a profile: one sample a point of the auxiliary axis, and their mean.
//!
//! ```text
//! base ─┬─> x0_profile_sample_0 ──> GLP_01_sample_0 ─┐
//! m, b ─┼─> x0_profile_sample_1 ──> GLP_01_sample_1 ─┼─> GLP_01_profile_avg
//!       └─> x0_profile_sample_2 ──> GLP_01_sample_2 ─┘
//! ```

use crate::model::graph::ir::NodeId;
use crate::model::graph::maker::Maker;
use crate::model::quantity::Quantity;
use crate::model::tree::{Component, ParameterId};
use std::collections::{HashMap, HashSet};

/// Samples that exist, so that expressions of other components can read them.
#[derive(Default)]
pub(super) struct Samples {
    nodes: HashMap<(ParameterId, usize), NodeId>,
    /// Parameters whose profile has its parameters in the graph.
    profiles: HashSet<ParameterId>,
}

/// Makes the samples of a component and their mean; `made` takes the sampled components.
pub(super) fn average(
    maker: &mut Maker<'_>,
    component: &Component,
    samples: &mut Samples,
    made: &mut Vec<NodeId>,
) -> NodeId {
    let model = maker.model;
    for id in &component.parameters {
        let references = model.parameter(*id).references.iter();
        std::iter::once(id).chain(references).for_each(|id| samples.prepare(maker, *id));
    }
    for point in 0..model.aux.len() {
        for id in component.parameters.iter().filter(|id| model.parameter(**id).profile.is_some()) {
            samples.of(maker, *id, point);
        }
        let arguments: Vec<NodeId> =
            component.arguments.iter().map(|id| argument(maker, samples, *id, point)).collect();
        let name = format!("{}_sample_{point}", component.name);
        made.push(maker.component(&name, component, &arguments));
    }
    maker.graph.profile_average(&format!("{}_profile_avg", component.name), made)
}

/// What a sampled component reads for one of its parameters.
fn argument(maker: &mut Maker<'_>, samples: &mut Samples, id: ParameterId, point: usize) -> NodeId {
    let model = maker.model;
    let parameter = model.parameter(id);
    match &parameter.quantity {
        _ if parameter.profile.is_some() => samples.of(maker, id, point),
        Quantity::Expression(expression) if model.is_profiled(id) => {
            let name = format!("{}_profile_expr_{point}", parameter.name);
            let sources: Vec<NodeId> =
                parameter.references.iter().map(|r| argument(maker, samples, *r, point)).collect();
            let node = maker.graph.expression(&name, expression.text(), maker.value(id));
            sources.into_iter().for_each(|source| maker.graph.refer(source, node));
            node
        }
        _ => maker.output(id),
    }
}

impl Samples {
    /// Makes the parameters of a parameter's profile.
    fn prepare(&mut self, maker: &mut Maker<'_>, id: ParameterId) {
        let model = maker.model;
        if let Some(profile) = model.parameter(id).profile.as_ref().filter(|_| self.profiles.insert(id)) {
            let parameters = profile.components.iter().flat_map(|c| &c.parameters);
            parameters.for_each(|id| maker.parameter(*id));
        }
    }

    /// The sample of a parameter at a point.
    fn of(&mut self, maker: &mut Maker<'_>, id: ParameterId, point: usize) -> NodeId {
        if let Some(node) = self.nodes.get(&(id, point)) {
            return *node;
        }
        let model = maker.model;
        let parameter = model.parameter(id);
        let components = parameter.profile.iter().flat_map(|p| &p.components);
        let inputs: Vec<NodeId> = components.flat_map(|c| &c.arguments).map(|id| maker.output(*id)).collect();
        let name = format!("{}_profile_sample_{point}", parameter.name);
        let node = maker.graph.profile_sample(&name, maker.base(id), &inputs, &model.aux);
        self.nodes.insert((id, point), node);
        node
    }
}
