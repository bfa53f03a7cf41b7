//! Annotations: they say something about a node and do not change its value.

use crate::registry::define::OperatorDef;
use crate::registry::infer::TypeError;
use cembra_vm::operator::Facts;

/// Name of `annotation.export`.
pub const EXPORT: &str = "annotation.export";
/// Name of `annotation.export_value`.
pub const EXPORT_VALUE: &str = "annotation.export_value";
/// Name of `annotation.qtype`.
pub const QTYPE: &str = "annotation.qtype";

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    let all = [
        OperatorDef::new(QTYPE, &["expr", "qtype"], "The value, which has this type.", |cx| {
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
            EXPORT,
            &["expr", "export_tag"],
            "The value; a host that listens gets it as a side output under the tag.",
            |cx| {
                cx.text_literal(1)?;
                cx.unchanged(cx.types[0].clone())
            },
        )
        .reading_literals(),
        OperatorDef::new(
            EXPORT_VALUE,
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
    ];
    all.into_iter().map(|def| def.with_facts(Facts::annotation())).collect()
}
