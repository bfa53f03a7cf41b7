//! Strings taken apart: operators that give rows for each row, and edges from them.

use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::derived::aggregate::no_edge;
use crate::registry::derived::text::{check_pattern, string};
use cembra_vm::builtins::edge::FROM_SIZES;
use cembra_vm::builtins::strings::pieces::{COUNT_PARTS, COUNT_REGEX, FINDALL_REGEX, REGEX_GROUPS, SPLIT};
use cembra_vm::value::qtype::{TEXT, UNIT};
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{ArrayClass, ArrayType, QType, ScalarType};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![split(), findall_regex()]
}

fn split() -> OperatorDef {
    OperatorDef::new(
        "strings.split",
        &["s", "sep"],
        "The parts of all rows between separators, and the edge from the parts to the rows; between ASCII white space, without empty parts, if sep is missing or not given. An empty sep stands between all units.",
        |cx| {
            let array = cx.types[0].array().filter(|_| string(&cx.types[0]).is_some());
            let array = array.ok_or_else(|| cx.expected("an array of texts or byte strings", 0))?;
            match &cx.types[1] {
                &UNIT => {}
                separator if separator.scalar() == Some(array.element) => {}
                _ => return Err(cx.expected("a separator of the type of the rows", 1)),
            }
            let fields = vec![cx.types[0].clone(), QType::Edge(array.class)];
            cx.unchanged(QType::Tuple(TupleType::new(fields)?))
        },
    )
    .default("sep", no_edge())
    .lowered(|cx, args| {
        let given = if cx.qtype(args[1]) == UNIT { &args[..1] } else { args };
        let (parts, counts) = (cx.make(SPLIT, given)?, cx.make(COUNT_PARTS, given)?);
        let edge = cx.make(FROM_SIZES, &[counts])?;
        Ok(Lowered::To(cx.make("core.make_tuple", &[parts, edge])?))
    })
}

fn findall_regex() -> OperatorDef {
    const NAME: &str = "strings.findall_regex";
    OperatorDef::new(
        NAME,
        &["s", "regex"],
        "What each group of the regular expression (RE2) has in each match, from the left, empty if it has no part in it; the edge from the matches to the rows, and the edge from the groups to the matches. `^` matches behind each match.",
        |cx| {
            if string(&cx.types[0]) != Some(ScalarType::Text) {
                return Err(cx.expected("texts", 0));
            }
            if cx.types[1] != TEXT {
                return Err(cx.expected("a present text, one for all rows", 1));
            }
            check_pattern(cx, NAME)?;
            let class = cx.types[0].array().map(|t| t.class);
            let of = class.unwrap_or(ArrayClass::Dense);
            let rows = QType::Array(ArrayType { class: of, element: ScalarType::Text });
            let to_rows = class.map_or(QType::EdgeToScalar(of), QType::Edge);
            cx.unchanged(QType::Tuple(TupleType::new(vec![rows, to_rows, QType::Edge(of)])?))
        },
    )
    .reading_literals()
    .lowered(|cx, args| {
        let is_array = cx.qtype(args[0]).array().is_some();
        let rows = match is_array {
            true => args[0],
            false => cx.make("array.as_dense_array", &args[..1])?,
        };
        let given = [rows, args[1]];
        let (found, counts) = (cx.make(FINDALL_REGEX, &given)?, cx.make(COUNT_REGEX, &given)?);
        let matches = cx.make("math.sum", &[counts])?;
        let shape = cx.make("core.shape_of", &[rows])?;
        let shape = cx.make("array.resize_array_shape", &[shape, matches])?;
        let to_rows = match is_array {
            true => cx.make(FROM_SIZES, &[counts])?,
            false => cx.make("edge.from_shape", &[shape])?,
        };
        let groups = cx.make(REGEX_GROUPS, &args[1..])?;
        let sizes = cx.make("core.const_with_shape", &[shape, groups])?;
        let to_matches = cx.make(FROM_SIZES, &[sizes])?;
        Ok(Lowered::To(cx.make("core.make_tuple", &[found, to_rows, to_matches])?))
    })
}
