//! Domains and halos of a program, as a table, as JSON and as a picture.

use crate::cli::report::visible_line;
use crate::field::halo::FieldReach;
use crate::field::text::bound_text;
use crate::field::{
    DefinitionAccess, DimensionId, FieldAccess, FieldBound, FieldProgram, FieldSpan, FieldTarget, FieldTypes,
    FieldValue, definition_accesses, field_accesses,
};
use crate::plot::domains::{DomainAxis, DomainBox, DomainFigure};
use serde_json::{Value as Json, json};

/// A row of the table.
struct Row {
    statement: usize,
    verb: &'static str,
    field: String,
    dims: Vec<(String, String)>,
    /// For a read or a need, by dimension: how far before and behind the domain; nothing by a table.
    halos: Vec<Option<(i64, i64)>>,
}

/// The table.
pub(super) fn explain_text(program: &FieldProgram) -> String {
    let rows = rows(program);
    let head = ["statement", "", "field", "dimension", "points"].map(str::to_owned);
    let mut lines: Vec<[String; 5]> = vec![head];
    for row in &rows {
        for (place, (dim, points)) in row.dims.iter().enumerate() {
            let first = place == 0;
            let shown = |text: String| if first { text } else { String::new() };
            let number = shown(row.statement.to_string());
            let cells =
                [number, shown(row.verb.to_owned()), shown(row.field.clone()), dim.clone(), points.clone()];
            lines.push(cells.map(|cell| visible_line(&cell)));
        }
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        // Names may be longer than what a format can be padded to.
        let padded = |(cell, width): (&String, &usize)| {
            let missing = width - cell.chars().count();
            format!("{cell}{}", " ".repeat(missing))
        };
        let cells: Vec<String> = line.iter().zip(&widths).map(padded).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    out
}

/// The same as JSON: a list of rows.
pub(super) fn explain_json(program: &FieldProgram) -> Json {
    let row = |row: Row| {
        let dims: Vec<Json> =
            row.dims.iter().map(|(dim, points)| json!({ "dimension": dim, "points": points })).collect();
        json!({ "statement": row.statement, "access": row.verb, "field": row.field, "dimensions": dims })
    };
    rows(program).into_iter().map(row).collect()
}

fn rows(program: &FieldProgram) -> Vec<Row> {
    let mut types = FieldTypes::default();
    let _ = types.extend(program);
    let mut rows = Vec::new();
    for (number, statement) in program.statements.iter().enumerate() {
        for target in &statement.targets {
            rows.push(Row {
                statement: number + 1,
                verb: if matches!(statement.value, FieldValue::Scan(_)) { "scans" } else { "writes" },
                field: program.fields[target.field.0].name.to_string(),
                dims: written(program, target),
                halos: Vec::new(),
            });
        }
        let accesses = field_accesses(program, statement).into_iter();
        let reads = accesses.map(|FieldAccess { field, reach, spans }| {
            ("reads", program.fields[field.0].name.to_string(), reach, spans)
        });
        let accesses = definition_accesses(program, &types, statement).into_iter();
        let needs = accesses.map(|DefinitionAccess { node, reach, spans }| {
            (
                "needs",
                program.nodes.name(node).map_or_else(String::new, |name| name.to_string()),
                reach,
                spans,
            )
        });
        for (verb, field, reach, spans) in needs.chain(reads) {
            rows.push(Row {
                statement: number + 1,
                verb,
                field,
                dims: read(program, &reach, &spans),
                halos: reach.iter().map(|(_, reaches)| offsets(reaches)).collect(),
            });
        }
    }
    rows
}

/// The picture: a row for each statement.
pub(super) fn figure(program: &FieldProgram) -> DomainFigure {
    let mut rows_of: Vec<Vec<DomainBox>> = program.statements.iter().map(|_| Vec::new()).collect();
    for row in rows(program) {
        let axis = |(at, (dimension, points)): (usize, (String, String))| DomainAxis {
            dimension: visible_line(&dimension),
            points: visible_line(&points),
            halo: match row.halos.get(at) {
                None => Some((0, 0)),
                Some(halo) => *halo,
            },
        };
        let title = visible_line(&format!("{} {}", row.verb, row.field));
        let axes = row.dims.into_iter().enumerate().map(axis).collect();
        rows_of[row.statement - 1].push(DomainBox {
            title,
            is_read: matches!(row.verb, "reads" | "needs"),
            axes,
        });
    }
    DomainFigure { rows: rows_of }
}

/// The least and greatest offset; nothing if a table has a say.
fn offsets(reaches: &[FieldReach]) -> Option<(i64, i64)> {
    match reaches {
        [FieldReach::Offsets(low, high)] => Some((*low, *high)),
        _ => None,
    }
}

fn written(program: &FieldProgram, target: &FieldTarget) -> Vec<(String, String)> {
    let field = &program.fields[target.field.0];
    let points = |dim: &crate::field::DimensionId| {
        let ranges = target.domain.iter().flatten();
        let range = ranges.into_iter().find(|range| range.dimension == *dim);
        match range {
            None => "all".to_owned(),
            Some(range) => {
                format!("{} : {}", bound_text(program, &range.first), bound_text(program, &range.end))
            }
        }
    };
    field.dims.iter().map(|dim| (program.dim_name(*dim).to_owned(), points(dim))).collect()
}

/// Where a field is read, and how far beyond the domain that is.
fn read(
    program: &FieldProgram,
    reach: &[(DimensionId, Vec<FieldReach>)],
    spans: &[Vec<FieldSpan>],
) -> Vec<(String, String)> {
    let mut dims = Vec::new();
    for ((dim, reaches), spans) in reach.iter().zip(spans) {
        let mut parts = Vec::new();
        for reach in reaches {
            parts.push(match reach {
                FieldReach::Table(table) => format!("by table {}", program.tables[table.0].name),
                FieldReach::Offsets(low, high) => {
                    let spans: Vec<String> = spans.iter().map(|span| span_text(program, span)).collect();
                    spans.join(", ") + &halo(*low, *high)
                }
            });
        }
        dims.push((program.dim_name(*dim).to_owned(), parts.join(", ")));
    }
    dims
}

fn span_text(program: &FieldProgram, span: &FieldSpan) -> String {
    let bound = |function: &str, bounds: &[FieldBound]| {
        let texts: Vec<String> = bounds.iter().map(|bound| bound_text(program, bound)).collect();
        match &texts[..] {
            [] => None,
            [text] => Some(text.clone()),
            _ => Some(format!("{function}({})", texts.join(", "))),
        }
    };
    match (bound("max", &span.first), bound("min", &span.end)) {
        (Some(first), Some(end)) => format!("{first} : {end}"),
        (Some(first), None) => format!("as written from {first}"),
        (None, Some(end)) => format!("as written below {end}"),
        (None, None) => "as written".to_owned(),
    }
}

fn halo(low: i64, high: i64) -> String {
    let signed = |offset: i64| if offset == 0 { "0".to_owned() } else { format!("{offset:+}") };
    match (low, high) {
        (0, 0) => String::new(),
        _ => format!("  ({} to {})", signed(low), signed(high)),
    }
}
