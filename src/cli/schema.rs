//! `cembra schema`: checks schemas, and validates and converts documents that follow them.
//!
//! A schema is a file, whose imports are `NAME.asdl` beside it, or the name of a builtin one: `pyast`,
//! `norm`, `ussa`, `tssa`, `low`.

use crate::cli::eval::{is_standard_input, read_source, read_text, shown};
use crate::cli::report::{Phase, Report, Source};
use crate::cli::schema_args::{
    DocArg, FormArg, SchemaCommand, SchemaConvertArgs, SchemaDocumentArgs, SchemaFile,
};
use crate::cli::{complain, print, usage_error};
use crate::function::norm::NORM;
use crate::function::stage::schemas::{module_text, stage_builtins};
use crate::python::PYAST;
use crate::schema::doc::schema_page;
use crate::schema::import::ModuleTexts;
use crate::schema::{
    Builtins, Document, Schema, SchemaError, Severity, SortId, TextError, aterm_text, flat_text, llvm_text,
    python_layer, read_aterm, read_flat, read_llvm, read_schema, read_table, read_tree, rust_layer,
    schema_id, schema_text, table_text, tree_outline, tree_text,
};
use cembra_vm::value::Category;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

/// Runs a command on a schema.
pub fn run(command: &SchemaCommand) -> ExitCode {
    let file = match command {
        SchemaCommand::Check(args) => &args.file,
        SchemaCommand::Doc(args) => &args.file,
        SchemaCommand::Validate(args) => &args.file,
        SchemaCommand::Convert(args) => &args.document.file,
    };
    let document = match command {
        SchemaCommand::Validate(args) => Some(&args.document),
        SchemaCommand::Convert(args) => Some(&args.document.document),
        SchemaCommand::Check(_) | SchemaCommand::Doc(_) => None,
    };
    if [Some(&file.schema), document].iter().all(|path| path.is_some_and(|path| is_standard_input(path))) {
        return usage_error("schema", "the schema and the document cannot both be standard input");
    }
    let result = load(file).and_then(|schema| match command {
        SchemaCommand::Check(args) => Ok(summary(&schema, args.file.json)),
        SchemaCommand::Doc(args) => Ok(match args.what {
            DocArg::Page => schema_page(&schema),
            DocArg::Asdl => schema_text(&schema),
            DocArg::Rust => rust_layer(&schema, "cembra::schema"),
            DocArg::Python => python_layer(&schema),
        }),
        SchemaCommand::Validate(args) => validate(&schema, args),
        SchemaCommand::Convert(args) => convert(&schema, args),
    });
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(findings) => {
            show(&findings, file.json);
            ExitCode::from(1)
        }
    }
}

/// A finding with the text it stands in.
type Located = (Report, Option<Rc<Source>>);

fn show(findings: &[Located], is_json: bool) {
    if is_json {
        let all: Vec<Json> = findings.iter().map(|(report, source)| report.json(source.as_deref())).collect();
        return print(&format!("{}\n", json!({ "errors": all })));
    }
    findings.iter().for_each(|(report, source)| complain(&report.render(source.as_deref(), true)));
}

/// Reads the schema; its warnings are printed.
fn load(file: &SchemaFile) -> Result<Schema, Vec<Located>> {
    let path = &file.schema;
    let builtin = path.to_str().filter(|_| !path.exists()).and_then(builtin_schema);
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let beside = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.asdl"))).ok();
    let (text, modules, builtins): (String, &ModuleTexts<'_>, Builtins) = match builtin {
        Some(text) => (text, &builtin_schema, stage_builtins()),
        None => (read_text(path).map_err(|report| vec![(report, None)])?, &beside, Builtins::standard()),
    };
    let reading = read_schema(&text, modules, &builtins);
    let file_source = Rc::new(Source { name: shown(path), text: text.clone() });
    let located = |finding: &SchemaError| {
        // The module that was asked for is the file; others lie beside it.
        let root = reading.root.clone();
        let source = match finding.module == root {
            true => Some(file_source.clone()),
            false => {
                let source = |text| Source { name: format!("{}.asdl", finding.module), text };
                modules(&finding.module).map(source).map(Rc::new)
            }
        };
        (schema_report(finding), source)
    };
    let (errors, warnings): (Vec<_>, Vec<_>) =
        reading.findings.iter().partition(|finding| finding.severity() == Severity::Error);
    if !file.json {
        warnings.iter().for_each(|warning| complain(&warning_text(warning, &text)));
    }
    let errors: Vec<Located> = errors.into_iter().map(located).collect();
    reading.schema.ok_or(errors)
}

/// The text of a builtin schema.
fn builtin_schema(name: &str) -> Option<String> {
    match name {
        "pyast" => Some(PYAST.to_owned()),
        "norm" => Some(NORM.to_owned()),
        name => module_text(name),
    }
}

fn warning_text(warning: &SchemaError, text: &str) -> String {
    let line = text.get(..warning.span.start as usize).unwrap_or_default().matches('\n').count() + 1;
    format!("warning[{}]: line {line}: {}", warning.problem.rule(), warning.problem)
}

fn schema_report(finding: &SchemaError) -> Report {
    let mut report = Report::new(Category::Syntax, Phase::Compile, finding.to_string());
    report.labels.push((finding.span, String::new()));
    report.notes.push(format!("rule {}", finding.problem.rule()));
    report.notes.extend(finding.problem.hint().map(|hint| hint.into_owned()));
    report
}

fn text_report(error: &TextError) -> Report {
    let mut report = Report::new(Category::Parse, Phase::Compile, error.to_string());
    report.labels.push((error.span, String::new()));
    report.notes.extend(error.hint());
    report
}

fn summary(schema: &Schema, is_json: bool) -> String {
    let (types, constructors) =
        (schema.sorts().iter().filter(|sort| !sort.is_builtin()).count(), schema.constructors().len());
    let id = schema_id(schema);
    match is_json {
        true => {
            let name = &*schema.name;
            format!(
                "{}\n",
                json!({ "name": name, "types": types, "constructors": constructors, "hash": id.to_string() })
            )
        }
        false => {
            let name = if schema.name.is_empty() { "schema" } else { &schema.name };
            format!("{name}: {types} types, {constructors} constructors\nhash {id}\n")
        }
    }
}

fn validate(schema: &Schema, args: &SchemaDocumentArgs) -> Result<String, Vec<Located>> {
    let document = read_document(schema, args)?;
    let terms = document.len();
    Ok(match args.file.json {
        true => format!("{}\n", json!({ "valid": true, "terms": terms })),
        false => format!("valid: {terms} terms\n"),
    })
}

fn convert(schema: &Schema, args: &SchemaConvertArgs) -> Result<String, Vec<Located>> {
    let document = read_document(schema, &args.document)?;
    let text = match args.to {
        FormArg::Tree => tree_text(schema, &document),
        FormArg::Flat => Ok(flat_text(schema, &document)),
        FormArg::Aterm => aterm_text(schema, &document),
        FormArg::Table => table_text(schema, &document),
        FormArg::Llvm => Ok(llvm_text(schema, &document)),
        FormArg::Outline => tree_outline(schema, &document),
    };
    text.map_err(|error| vec![(text_report(&error), None)])
}

fn read_document(schema: &Schema, args: &SchemaDocumentArgs) -> Result<Document, Vec<Located>> {
    let root = root_sort(schema, args.root.as_deref()).map_err(|report| vec![(report, None)])?;
    let source = Rc::new(read_source(&args.document).map_err(|report| vec![(report, None)])?);
    let form = args.from.unwrap_or_else(|| form_of(&source.text));
    let read = match form {
        FormArg::Tree | FormArg::Outline => read_tree,
        FormArg::Flat => read_flat,
        FormArg::Aterm => read_aterm,
        FormArg::Table => read_table,
        FormArg::Llvm => read_llvm,
    };
    read(schema, root, &source.text)
        .map_err(|errors| errors.iter().map(|error| (text_report(error), Some(source.clone()))).collect())
}

/// The form that the first word of a text tells; ATerms look like trees, and have to be told.
fn form_of(text: &str) -> FormArg {
    match text.split_whitespace().next() {
        Some("flat") => FormArg::Flat,
        Some("table") => FormArg::Table,
        Some(";") => FormArg::Llvm,
        _ => FormArg::Tree,
    }
}

/// The type of the document.
fn root_sort(schema: &Schema, name: Option<&str>) -> Result<SortId, Report> {
    let found = match name {
        Some(name) => schema.find_sort(name),
        None => schema.first_sort(),
    };
    found.ok_or_else(|| {
        let message = match name {
            Some(name) => format!("the schema has no type `{name}`"),
            None => "the schema has no types".to_owned(),
        };
        Report::new(Category::UnknownName, Phase::Compile, message)
    })
}
