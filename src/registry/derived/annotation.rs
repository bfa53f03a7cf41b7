//! Annotations: they say something about a node and do not change its value.

use crate::registry::define::OperatorDef;
use crate::registry::infer::TypeError;

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        OperatorDef::new("annotation.qtype", &["expr", "qtype"], "The value, which has this type.", |cx| {
            let declared = cx.type_literal(1)?;
            cx.check_values()?;
            match cx.types[0] == *declared {
                true => cx.unchanged(declared.clone()),
                false => Err(TypeError::Names {
                    message: format!(
                        "inconsistent annotation.qtype: the value is {}, the annotation says {declared}",
                        cx.types[0]
                    ),
                }),
            }
        })
        .reading_literals(),
        OperatorDef::new("annotation.name", &["expr", "name"], "The value, under a name for people.", |cx| {
            cx.text_literal(1)?;
            cx.unchanged(cx.types[0].clone())
        })
        .reading_literals(),
        OperatorDef::new(
            "annotation.export",
            &["expr", "export_tag"],
            "The value; a host that listens gets it as a side output under the tag.",
            |cx| {
                cx.text_literal(1)?;
                cx.unchanged(cx.types[0].clone())
            },
        )
        .reading_literals(),
        OperatorDef::new(
            "annotation.export_value",
            &["expr", "export_tag", "value"],
            "The first value; a host that listens gets the other one as a side output under the tag.",
            |cx| {
                cx.text_literal(1)?;
                cx.unchanged(cx.types[0].clone())
            },
        )
        .reading_literals(),
        OperatorDef::new(
            "annotation.source_location",
            &["expr", "function_name", "file_name", "line", "column", "line_text"],
            "The value, which comes from this place in a host's source.",
            |cx| cx.unchanged(cx.types[0].clone()),
        )
        .default("function_name", "")
        .default("file_name", "")
        .default("line", 0i32)
        .default("column", 0i32)
        .default("line_text", ""),
    ]
}

/// Names of the annotations, which preparation strips.
pub const ANNOTATIONS: [&str; 5] = [
    "annotation.qtype",
    "annotation.name",
    "annotation.export",
    "annotation.export_value",
    "annotation.source_location",
];
