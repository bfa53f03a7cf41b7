//! What may be registered: an operator that an expression can name, and whose overloads its parameters
//! can reach. A row that is not usable is refused where it was written, not where it is first called.

use crate::expr::print::RESERVED;
use crate::registry::define::{Param, ParamKind};
use cembra_vm::operator::table::DuplicateOperator;
use cembra_vm::operator::{Family, Overload};
use cembra_vm::value::ScalarType;
use std::sync::Arc;
use thiserror::Error;

/// An operator cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RegisterError {
    /// The name is taken.
    #[error(transparent)]
    Duplicate(#[from] DuplicateOperator),
    /// No expression can name it.
    #[error(
        "`{}` is not an operator name: words of letters, digits and underscores with dots between, \
         and no word of the language", name.escape_debug()
    )]
    Name {
        /// The name.
        name: Arc<str>,
    },
    /// A parameter is not a word, or two have one name, or one stands behind a variadic one.
    #[error(
        "operator `{operator}`: `{}` cannot be a parameter: a word that no other parameter has, \
         and the variadic one last", param.escape_debug()
    )]
    Param {
        /// The operator.
        operator: Arc<str>,
        /// The parameter's name.
        param: Arc<str>,
    },
    /// There is nothing to call.
    #[error("operator `{operator}` has no overloads")]
    NoOverloads {
        /// The operator.
        operator: Arc<str>,
    },
    /// An overload takes another number of arguments than there are parameters.
    #[error("operator `{operator}`: the overload {overload} does not fit the parameters ({})", params.join(", "))]
    Arity {
        /// The operator.
        operator: Arc<str>,
        /// The overload.
        overload: String,
        /// The parameters as written.
        params: Vec<String>,
    },
}

/// Checks a name and its parameters.
///
/// # Errors
/// No expression could call the operator.
pub fn check_signature(name: &Arc<str>, params: &[Param]) -> Result<(), RegisterError> {
    if !is_operator_name(name) {
        return Err(RegisterError::Name { name: name.clone() });
    }
    for (position, param) in params.iter().enumerate() {
        let again = params[..position].iter().any(|p| p.name == param.name);
        let inside = param.kind == ParamKind::Variadic && position + 1 < params.len();
        if !is_word(&param.name) || again || inside {
            return Err(RegisterError::Param { operator: name.clone(), param: param.name.clone() });
        }
    }
    Ok(())
}

/// Checks that there are overloads and that their arguments are those that the parameters take.
///
/// # Errors
/// The first overload that no call could choose.
pub fn check_overloads(family: &Family, params: &[Param]) -> Result<(), RegisterError> {
    let operator = family.name().clone();
    if family.overloads().is_empty() && !family.is_generic() {
        return Err(RegisterError::NoOverloads { operator });
    }
    let least = params.iter().filter(|p| p.kind == ParamKind::Required).count();
    let variadic = params.iter().any(|p| p.kind == ParamKind::Variadic);
    let most = if variadic { usize::MAX } else { params.len() };
    let fits = |overload: &&Arc<Overload>| (least..=most).contains(&overload.args().len());
    match family.overloads().iter().find(|o| !fits(o)) {
        None => Ok(()),
        Some(overload) => Err(RegisterError::Arity {
            operator,
            overload: overload.to_string(),
            params: family.params().map(str::to_owned).collect(),
        }),
    }
}

/// A name that the language reads as one operator.
fn is_operator_name(name: &str) -> bool {
    match name.split_once('.') {
        Some((first, _)) => !matches!(first, "L" | "P" | "M" | "arolla") && name.split('.').all(is_word),
        None => is_word(name) && !is_language_word(name),
    }
}

fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// Words that begin or are something else than a call of an operator.
fn is_language_word(name: &str) -> bool {
    let scalar = name.strip_prefix("optional_").unwrap_or(name);
    let other =
        ["L", "P", "M", "tuple", "namedtuple", "sequence", "ndarray", "axes", "qtype", "present", "missing"];
    let arrays = ["array", "array_shape", "array_edge"];
    RESERVED.contains(&name)
        || other.contains(&name)
        || arrays.contains(&name.strip_prefix("dense_").unwrap_or(name))
        || ScalarType::ALL.iter().any(|t| t.to_string().eq_ignore_ascii_case(scalar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::registry::Registry;

    #[test]
    fn the_standard_operators_could_be_registered() {
        for def in Registry::standard().definitions() {
            assert_eq!(check_signature(&def.name, &def.params), Ok(()), "{}", def.name);
        }
    }
}
