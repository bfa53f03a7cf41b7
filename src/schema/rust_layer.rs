//! A typed layer for Rust: the text of a module with a view for each type of a schema.
//!
//! ```text
//! expr = BinOp(expr left, operator op, expr right)      pub enum ExprView<'d> {
//!      | Num(int n)                                         BinOp { left: TermId, op: TermId, right: TermId },
//!      attributes (posinfo? pos)                            Num { n: &'d Datum }, …
//! ```
//!
//! Views are checked: a term that is no `expr`, or breaks the schema, has none. The text names the schema's
//! hash, so that a layer of an older schema is found. It is checked in where it is used, and a test
//! generates it again.

use crate::schema::bind::KEYWORDS;
use crate::schema::definition::Multiplicity;
use crate::schema::model::{Alternative, ConstructorId, FieldDef, Schema, Sort, SortForm, SortId};
use crate::schema::print::{constructor_text, schema_id};
use std::fmt::Write;

/// The module of a schema; `path` is how it names the engine, such as `crate::schema`.
pub fn rust_layer(schema: &Schema, path: &str) -> String {
    let mut out = String::new();
    let name = &schema.name;
    push(
        &mut out,
        format_args!(
            "//! Views of the documents of schema `{name}`; generated from it, kept fresh by a test.\n\n"
        ),
    );
    push(&mut out, format_args!("use {path}::{{Datum, Document, TermId, TermValue}};\n\n"));
    push(
        &mut out,
        format_args!(
            "/// Hash of the schema.\npub const SCHEMA_HASH: &str =\n    \"{}\";\n",
            schema_id(schema)
        ),
    );
    for (at, sort) in schema.sorts().iter().enumerate() {
        // Data have no view.
        if admitted(schema, SortId(at as u32)).is_empty() {
            continue;
        }
        match &sort.form {
            SortForm::Builtin(_) => {}
            SortForm::Product(id) => view(schema, sort, &[Alternative::Constructor(*id)], &mut out),
            SortForm::Sum(alternatives) => view(schema, sort, alternatives, &mut out),
        }
    }
    out
}

/// The enum of a type and the function that makes one of a term.
fn view(schema: &Schema, sort: &Sort, alternatives: &[Alternative], out: &mut String) {
    let view = format!("{}View", camel(&sort.name));
    let constructors: Vec<ConstructorId> = alternatives.iter().filter_map(constructor_of).collect();
    let borrows =
        constructors.iter().any(|id| schema.constructor(*id).fields.iter().any(|f| is_borrowed(schema, f)));
    let lifetime = if borrows { "<'d>" } else { "" };
    let document = if borrows { "&'d Document" } else { "&Document" };
    push(
        out,
        format_args!("\n/// A term of type `{}`.\n#[derive(Clone, Copy, Debug, PartialEq)]\n", sort.name),
    );
    push(out, format_args!("pub enum {view}{lifetime} {{\n"));
    for alternative in alternatives {
        variant(schema, alternative, out);
    }
    push(out, format_args!("}}\n\nimpl{lifetime} {view}{lifetime} {{\n"));
    push(out, format_args!("    /// The view of a term, if it is a `{}`.\n", sort.name));
    push(
        out,
        format_args!("    pub fn new(document: {document}, term: TermId) -> Option<{view}{lifetime}> {{\n"),
    );
    out.push_str("        Some(match (document.constructor(term).index(), document.values(term)) {\n");
    for id in constructors {
        arm(schema, &view, id, out);
    }
    for included in alternatives.iter().filter_map(included_in) {
        let indices = admitted(schema, included);
        if !indices.is_empty() {
            let variant = camel(&schema.sort(included).name);
            push(out, format_args!("            ({}, _) => {view}::{variant}(term),\n", indices.join(" | ")));
        }
    }
    out.push_str("            _ => return None,\n        })\n    }\n}\n");
}

fn constructor_of(alternative: &Alternative) -> Option<ConstructorId> {
    match alternative {
        Alternative::Constructor(id) => Some(*id),
        Alternative::Includes(_) => None,
    }
}

fn included_in(alternative: &Alternative) -> Option<SortId> {
    match alternative {
        Alternative::Includes(sort) => Some(*sort),
        Alternative::Constructor(_) => None,
    }
}

/// Numbers of the constructors that a type admits.
fn admitted(schema: &Schema, sort: SortId) -> Vec<String> {
    let ids = (0..schema.constructors().len() as u32).map(ConstructorId);
    ids.filter(|id| schema.admits(sort, *id)).map(|id| id.index().to_string()).collect()
}

fn variant(schema: &Schema, alternative: &Alternative, out: &mut String) {
    let id = match alternative {
        Alternative::Constructor(id) => *id,
        Alternative::Includes(sort) => {
            // Data are no terms; the field with the type gives them.
            if !admitted(schema, *sort).is_empty() {
                let sort = schema.sort(*sort);
                push(
                    out,
                    format_args!("    /// Every `{}`.\n    {}(TermId),\n", sort.name, camel(&sort.name)),
                );
            }
            return;
        }
    };
    let constructor = schema.constructor(id);
    push(
        out,
        format_args!(
            "    /// `{}`.\n    {}",
            constructor_text(schema, constructor),
            camel(&constructor.name)
        ),
    );
    if constructor.fields.is_empty() {
        out.push_str(",\n");
        return;
    }
    out.push_str(" {\n");
    for field in &constructor.fields {
        let (name, kind) = (snake(&field.name), rust_type(schema, field));
        push(out, format_args!("        /// `{}`.\n        {name}: {kind},\n", field.name));
    }
    out.push_str("    },\n");
}

fn arm(schema: &Schema, view: &str, id: ConstructorId, out: &mut String) {
    let constructor = schema.constructor(id);
    let names: Vec<String> = constructor.fields.iter().map(|field| snake(&field.name)).collect();
    let variant = camel(&constructor.name);
    if names.is_empty() {
        return push(out, format_args!("            ({}, []) => {view}::{variant},\n", id.index()));
    }
    push(out, format_args!("            ({}, [{}]) => {view}::{variant} {{\n", id.index(), names.join(", ")));
    for (field, name) in constructor.fields.iter().zip(&names) {
        push(out, format_args!("                {name}: {},\n", getter(schema, field, name)));
    }
    out.push_str("            },\n");
}

/// What a type holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Terms,
    Data,
    Both,
}

fn holds(schema: &Schema, sort: SortId) -> Holds {
    let has_terms = !admitted(schema, sort).is_empty();
    match (has_terms, schema.admits_some_datum(sort)) {
        (true, true) => Holds::Both,
        (true, false) => Holds::Terms,
        _ => Holds::Data,
    }
}

fn is_borrowed(schema: &Schema, field: &FieldDef) -> bool {
    field.multiplicity == Multiplicity::List || holds(schema, field.sort) == Holds::Data
}

fn rust_type(schema: &Schema, field: &FieldDef) -> &'static str {
    match (field.multiplicity, holds(schema, field.sort)) {
        (Multiplicity::List, _) => "&'d [TermValue]",
        (Multiplicity::One, Holds::Terms) => "TermId",
        (Multiplicity::One, Holds::Data) => "&'d Datum",
        (Multiplicity::Option, Holds::Terms) => "Option<TermId>",
        (Multiplicity::Option, Holds::Data) => "Option<&'d Datum>",
        (_, Holds::Both) => "TermValue",
    }
}

fn getter(schema: &Schema, field: &FieldDef, name: &str) -> String {
    match (field.multiplicity, holds(schema, field.sort)) {
        (Multiplicity::List, _) => format!("document.as_list(*{name})?"),
        (_, Holds::Both) => format!("*{name}"),
        (Multiplicity::One, Holds::Terms) => format!("document.as_term(*{name})?"),
        (Multiplicity::One, Holds::Data) => format!("document.as_datum(*{name})?"),
        (Multiplicity::Option, Holds::Terms) => format!("document.as_term(*{name})"),
        (Multiplicity::Option, Holds::Data) => format!("document.as_datum(*{name})"),
    }
}

/// `match_case` as `MatchCase`.
fn camel(name: &str) -> String {
    let part = |part: &str| {
        let mut characters = part.chars();
        let first = characters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(characters.as_str().chars()).collect::<String>()
    };
    name.split('_').map(part).collect()
}

/// A name of a field, with `_` behind keywords.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(character.to_lowercase());
    }
    // A keyword with another case is one only after this.
    if KEYWORDS.contains(&&*out) || KEYWORDS.contains(&name) {
        out.push('_');
    }
    out
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all writes");
}
