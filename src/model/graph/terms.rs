//! Which term of a profile a parameter belongs to: the name of the parameter says so.

use crate::model::component::{Function, Package};
use crate::model::declaration::without_number;
use crate::model::graph::ir::{GraphIR, NodeId};

/// A term of a profile: name of the component, function, nodes of its parameters by formula.
pub type ProfileTerm = (String, Function, Vec<NodeId>);

/// The terms that the parameters of a profile belong to, by their names.
///
/// # Errors
/// The node and what is wrong with its name.
pub fn profile_terms(
    graph: &GraphIR,
    prefix: &str,
    inputs: &[NodeId],
) -> Result<Vec<ProfileTerm>, (NodeId, String)> {
    let mut terms: Vec<ProfileTerm> = Vec::new();
    for input in inputs {
        let base = graph.base_of(*input);
        let wrong = || (base, format!("a parameter of a profile is called {prefix}FUNCTION_PARAMETER"));
        let name = graph.nodes[base].name.strip_prefix(prefix).ok_or_else(wrong)?;
        let (component, _) = name.rsplit_once('_').ok_or_else(wrong)?;
        match terms.iter_mut().find(|t| t.0 == component) {
            Some(term) => term.2.push(base),
            None => {
                let function = Function::from_name(without_number(component), graph.semantics);
                let function = function.filter(|f| f.package() == Package::Profile).ok_or_else(wrong)?;
                terms.push((component.to_owned(), function, vec![base]));
            }
        }
    }
    Ok(terms)
}
