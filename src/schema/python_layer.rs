//! A typed layer for Python: the text of a module with a class for each constructor of a schema.
//!
//! ```text
//! expr = BinOp(expr left, operator op, expr right)      class expr: ...
//!      attributes (posinfo? pos)                        @dataclass(eq=True, kw_only=False)
//!                                                       class BinOp(expr):
//!                                                           left: expr
//!                                                           ...
//! ```
//!
//! Hidden fields and attributes take no part in comparisons; unique objects are compared by identity. The
//! module also reads and writes the flat form, so that tools in Python exchange documents with this crate.

use crate::schema::bind::KEYWORDS;
use crate::schema::definition::Multiplicity;
use crate::schema::model::{Alternative, Constructor, FieldDef, Schema, SortForm};
use crate::schema::print::{constructor_text, schema_id};
use std::fmt::Write;

/// The module of a schema.
pub fn python_layer(schema: &Schema) -> String {
    let mut out = String::new();
    let name = &schema.name;
    push(&mut out, format_args!("\"\"\"Classes of the schema `{name}`; generated from it.\"\"\"\n\n"));
    out.push_str("from __future__ import annotations\n\nimport re\nfrom dataclasses import dataclass, field, fields\nfrom typing import Any, Union\n\n");
    push(&mut out, format_args!("SCHEMA = \"{name}\"\nSCHEMA_HASH = \"{}\"\n", schema_id(schema)));
    let mut aliases = String::new();
    for sort in schema.sorts() {
        match &sort.form {
            SortForm::Builtin(_) => {}
            SortForm::Product(id) => class(schema, schema.constructor(*id), None, &mut out),
            SortForm::Sum(alternatives) => {
                let base = format!("{}_", sort.name);
                push(
                    &mut out,
                    format_args!("\n\nclass {base}:\n    \"\"\"A constructor of `{}`.\"\"\"\n", sort.name),
                );
                let mut parts = vec![base.clone()];
                for alternative in alternatives {
                    match alternative {
                        Alternative::Constructor(id) => {
                            class(schema, schema.constructor(*id), Some(&base), &mut out)
                        }
                        Alternative::Includes(other) => {
                            parts.push(annotation(schema, &schema.sort(*other).name))
                        }
                    }
                }
                push(&mut aliases, format_args!("{} = Union[{}]\n", type_name(&sort.name), quoted(&parts)));
            }
        }
    }
    out.push_str("\n\n");
    out.push_str(&aliases);
    let names: Vec<String> = schema
        .constructors()
        .iter()
        .map(|c| format!("    \"{}\": {},\n", c.name, class_name(&c.name)))
        .collect();
    push(&mut out, format_args!("\nCONSTRUCTORS = {{\n{}}}\n", names.concat()));
    out.push_str(RUNTIME);
    out
}

fn quoted(parts: &[String]) -> String {
    parts.iter().map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(", ")
}

fn class(schema: &Schema, constructor: &Constructor, base: Option<&str>, out: &mut String) {
    let eq = if constructor.is_unique { "False" } else { "True" };
    let base = base.map(|base| format!("({base})")).unwrap_or_default();
    let name = class_name(&constructor.name);
    push(out, format_args!("\n\n@dataclass(eq={eq})\nclass {name}{base}:\n"));
    push(out, format_args!("    r\"\"\"{}\"\"\"\n\n", constructor_text(schema, constructor)));
    for field in &constructor.fields {
        push(out, format_args!("    {}\n", field_text(schema, field)));
    }
    let attributes = constructor.attributes().len();
    push(out, format_args!("    _unique = {}\n", if constructor.is_unique { "True" } else { "False" }));
    push(out, format_args!("    _attributes = {attributes}\n"));
}

fn field_text(schema: &Schema, field: &FieldDef) -> String {
    let one = annotation(schema, &schema.sort(field.sort).name);
    let kind = match field.multiplicity {
        Multiplicity::One => one,
        Multiplicity::Option => format!("{one} | None"),
        Multiplicity::List => format!("list[{one}]"),
    };
    let compared = if field.is_visible() { "" } else { ", compare=False" };
    let default = match field.multiplicity {
        Multiplicity::List => "default_factory=list",
        _ => "default=None",
    };
    format!("{}: {kind} = field({default}{compared})", python_name(&field.name))
}

/// The annotation of a type.
fn annotation(schema: &Schema, name: &str) -> String {
    let is_builtin = schema.find_sort(name).is_none_or(|sort| schema.is_builtin(sort));
    match name {
        "identifier" | "string" | "str" if is_builtin => "str".to_owned(),
        "int" | "float" | "bool" | "bytes" if is_builtin => name.to_owned(),
        _ if is_builtin => "Any".to_owned(),
        _ => match schema.find_sort(name).map(|sort| &schema.sort(sort).form) {
            Some(SortForm::Product(_)) => class_name(name),
            _ => type_name(name),
        },
    }
}

fn type_name(name: &str) -> String {
    format!("{name}_type")
}

fn class_name(name: &str) -> String {
    python_name(name)
}

fn python_name(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all writes");
}

/// Reading and writing of the flat form, the same for every schema.
const RUNTIME: &str = include_str!("runtime.py");
