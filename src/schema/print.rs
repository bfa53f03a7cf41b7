//! A schema as text, in one canonical form, and its hash.
//!
//! ```text
//! module arithmetic {
//!     expr = Add(expr left, expr right)
//!          | Num(int n)
//!          attributes (posinfo pos)
//! }
//! ```
//!
//! Imports are resolved: the text stands for itself. Reading it gives an equal schema and the same text.

use crate::schema::model::{Alternative, Constructor, FieldDef, Schema, SchemaId, SortForm};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Prints a schema.
pub fn schema_text(schema: &Schema) -> String {
    let mut out = String::new();
    let is_named = !schema.name.is_empty();
    let indent = if is_named { "    " } else { "" };
    if is_named {
        let version = schema.version.as_ref().map(|v| format!(" version \"{v}\"")).unwrap_or_default();
        push(&mut out, format_args!("module {}{version} {{\n", schema.name));
    }
    for sort in schema.sorts().iter().filter(|sort| !matches!(sort.form, SortForm::Builtin(_))) {
        let behind = " ".repeat(sort.name.chars().count() + 1);
        push(&mut out, format_args!("{indent}{} = ", sort.name));
        let attributes = match &sort.form {
            SortForm::Product(id) => {
                let constructor = schema.constructor(*id);
                let sign = if constructor.is_unique { "@" } else { "" };
                push(&mut out, format_args!("{sign}{}\n", fields_text(schema, constructor.own_fields())));
                constructor.attributes()
            }
            SortForm::Sum(alternatives) => sum(schema, alternatives, indent, &behind, &mut out),
            SortForm::Builtin(_) => continue,
        };
        if !attributes.is_empty() {
            push(&mut out, format_args!("{indent}{behind}attributes {}\n", fields_text(schema, attributes)));
        }
    }
    if is_named {
        out.push_str("}\n");
    }
    out
}

fn sum<'s>(
    schema: &'s Schema,
    alternatives: &[Alternative],
    indent: &str,
    behind: &str,
    out: &mut String,
) -> &'s [FieldDef] {
    let mut attributes: &[FieldDef] = &[];
    for (at, alternative) in alternatives.iter().enumerate() {
        if at > 0 {
            push(out, format_args!("{indent}{behind}| "));
        }
        match alternative {
            Alternative::Includes(sort) => out.push_str(&schema.sort(*sort).name),
            Alternative::Constructor(id) => {
                let constructor = schema.constructor(*id);
                attributes = constructor.attributes();
                out.push_str(&constructor_text(schema, constructor));
            }
        }
        out.push('\n');
    }
    attributes
}

/// `@Foo(str name, foo \attr)`: a constructor without its attributes.
pub fn constructor_text(schema: &Schema, constructor: &Constructor) -> String {
    let sign = if constructor.is_unique { "@" } else { "" };
    let fields = constructor.own_fields();
    // A lowercase name without brackets could be read as a type.
    let is_bare = fields.is_empty() && constructor.name.starts_with(char::is_uppercase);
    let is_bare = is_bare && schema.find_sort(&constructor.name).is_none();
    let fields = if is_bare { String::new() } else { fields_text(schema, fields) };
    format!("{sign}{}{fields}", constructor.name)
}

/// `(expr left, expr* \rest)`.
pub fn fields_text(schema: &Schema, fields: &[FieldDef]) -> String {
    let one = |field: &FieldDef| {
        let hidden = if field.is_hidden { "\\" } else { "" };
        format!("{}{} {hidden}{}", schema.sort(field.sort).name, field.multiplicity.sign(), field.name)
    };
    format!("({})", fields.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// The content hash of a schema.
pub fn schema_id(schema: &Schema) -> SchemaId {
    let digest = Sha256::digest(schema_text(schema));
    SchemaId(std::array::from_fn(|i| digest[i]))
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all writes");
}
