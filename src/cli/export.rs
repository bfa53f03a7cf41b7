//! A function with types of arguments, as `cembra build` takes it: `dot(f64[:], f64[:])`.

use crate::cli::input::parse_leaf_type;
use crate::cli::report::{Phase, Report};
use crate::function::{ArrayOf, FunctionType};
use cembra_vm::value::nd_type::MAX_RANK;
use cembra_vm::value::{Category, QType, ScalarType};
use std::sync::Arc;

/// A function, and the types of its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Export {
    pub(super) function: String,
    pub(super) types: Vec<FunctionType>,
}

impl Export {
    /// Reads one; an error is told for people.
    pub(super) fn parse(text: &str) -> Result<Export, String> {
        let form =
            || format!("--export {text:?} has not the form FUNCTION(TYPES), such as 'dot(f64[:], f64[:])'");
        let (function, types) =
            text.trim().strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(form)?;
        let mut all = Vec::new();
        let mut rest = types.trim();
        while !rest.is_empty() {
            let end = end_of_type(rest);
            all.push(type_of(rest[..end].trim()).ok_or_else(|| {
                format!(
                    "--export {text:?}: {:?} is no type; types are i64, f64, bool, f64[:], i32[:, :], …",
                    rest[..end].trim()
                )
            })?);
            rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]).trim();
        }
        Ok(Export { function: function.trim().to_owned(), types: all })
    }
}

/// Reads `NAME=TYPE`, where the type is one of a function or of the machine.
///
/// # Errors
/// The text has another form, or there is no such type.
pub(super) fn leaf_type(text: &str) -> Result<(Arc<str>, QType), Report> {
    let of_function =
        text.split_once('=').and_then(|(name, of)| Some((name.trim(), type_of(of.trim())?.qtype()?)));
    match of_function {
        Some((name, qtype)) if !name.is_empty() => Ok((name.into(), qtype)),
        _ if text.contains('[') => {
            let message =
                format!("--type {text:?}: axes are written x=f64[:], or x=f64[:, :] with a colon for each");
            Err(Report::new(Category::Type, Phase::Compile, message))
        }
        _ => parse_leaf_type(text),
    }
}

/// Where the first type ends: at a comma outside of brackets.
fn end_of_type(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

fn type_of(text: &str) -> Option<FunctionType> {
    let Some((element, axes)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) else {
        return match text {
            "i64" | "int64" | "int" => Some(FunctionType::Int),
            "f64" | "float64" | "float" => Some(FunctionType::Float),
            "bool" | "boolean" => Some(FunctionType::Bool),
            _ => None,
        };
    };
    let rank =
        axes.split(',').map(|axis| (axis.trim() == ":").then_some(())).collect::<Option<Vec<()>>>()?.len();
    let element = match element.trim() {
        "bool" | "boolean" => ScalarType::Boolean,
        "i8" | "int8" => ScalarType::Int8,
        "i16" | "int16" => ScalarType::Int16,
        "i32" | "int32" => ScalarType::Int32,
        "i64" | "int64" => ScalarType::Int64,
        "u8" | "uint8" => ScalarType::Uint8,
        "u16" | "uint16" => ScalarType::Uint16,
        "u32" | "uint32" => ScalarType::Uint32,
        "u64" | "uint64" => ScalarType::Uint64,
        "f32" | "float32" => ScalarType::Float32,
        "f64" | "float64" => ScalarType::Float64,
        _ => return None,
    };
    (rank <= MAX_RANK).then(|| FunctionType::Array(ArrayOf::array(element, rank)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_name_types() {
        let export = Export::parse(" f( i64, f64[:, :],u8[:] ) ").expect("an export");
        let array = |element, rank| FunctionType::Array(ArrayOf::array(element, rank));
        assert_eq!(export.function, "f");
        assert_eq!(export.types[1..], [array(ScalarType::Float64, 2), array(ScalarType::Uint8, 1)]);
        assert_eq!(Export::parse("f()").expect("an export").types, []);
        for wrong in ["f", "f(i64", "f(text)", "f(f64[])", "f(f64[:,:,:,:,:,:,:])", "f(f64[1])"] {
            assert!(Export::parse(wrong).is_err(), "{wrong}");
        }
    }
}
