//! The page of a schema: what people read to know which values there are.

use crate::schema::model::{Alternative, FieldDef, Schema, SortForm};
use crate::schema::print::{constructor_text, fields_text, schema_id};
use std::fmt::Write;

/// A page in Markdown: each type with its constructors and where it is used.
pub fn schema_page(schema: &Schema) -> String {
    let mut out = String::new();
    let name = if schema.name.is_empty() { "Schema" } else { &schema.name };
    let version = schema.version.as_ref().map(|version| format!(", version {version}")).unwrap_or_default();
    push(&mut out, format_args!("# {name}{version}\n\nHash `{}`.\n", schema_id(schema)));
    for (at, sort) in schema.sorts().iter().enumerate() {
        push(&mut out, format_args!("\n## {}\n\n", sort.name));
        match &sort.form {
            SortForm::Builtin(builtin) => push(&mut out, format_args!("Builtin: {}.\n", builtin.meaning)),
            SortForm::Product(id) => {
                let constructor = schema.constructor(*id);
                let kind = if constructor.is_unique { "A unique product" } else { "A product" };
                let fields = fields_text(schema, constructor.own_fields());
                push(&mut out, format_args!("{kind}: `{fields}`.\n"));
                attributes(schema, constructor.attributes(), &mut out);
            }
            SortForm::Sum(alternatives) => sum(schema, alternatives, &mut out),
        }
        let users = users(schema, at);
        if !users.is_empty() {
            push(&mut out, format_args!("\nUsed by {}.\n", users.join(", ")));
        }
    }
    out
}

fn sum(schema: &Schema, alternatives: &[Alternative], out: &mut String) {
    let mut own: &[FieldDef] = &[];
    for alternative in alternatives {
        match alternative {
            Alternative::Includes(sort) => {
                push(out, format_args!("- every `{}`\n", schema.sort(*sort).name));
            }
            Alternative::Constructor(id) => {
                let constructor = schema.constructor(*id);
                own = constructor.attributes();
                push(out, format_args!("- `{}`\n", constructor_text(schema, constructor)));
            }
        }
    }
    attributes(schema, own, out);
}

fn attributes(schema: &Schema, fields: &[FieldDef], out: &mut String) {
    if !fields.is_empty() {
        push(out, format_args!("\nAttributes: `{}`.\n", fields_text(schema, fields)));
    }
}

/// Constructors with a field of the type.
fn users(schema: &Schema, sort: usize) -> Vec<String> {
    let uses = |fields: &[FieldDef]| fields.iter().any(|field| field.sort.index() == sort);
    let using = schema.constructors().iter().filter(|constructor| uses(&constructor.fields));
    using.map(|constructor| format!("`{}`", constructor.name)).collect()
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all writes");
}
