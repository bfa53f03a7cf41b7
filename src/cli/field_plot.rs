//! The argument `--plot` of `cembra field run`: pictures of fields.

use crate::cli::fit::write;
use crate::cli::fit_plot::{check_name, drawn_as, undrawn};
use crate::cli::report::{Phase, Report};
use crate::cli::targets::check_ending;
use crate::field::element::integer_of;
use crate::field::{FieldData, FieldId, FieldProgram};
use crate::plot::{FieldFigure, FieldFigureAxis};
use cembra_vm::value::{Category, ScalarValue};
use std::path::{Path, PathBuf};

/// The fields of options `NAME=FILE`, with the files that their pictures go to.
///
/// # Errors
/// There is no such field, it has more dimensions than are drawn, or the name of the file says no picture.
pub(super) fn plots(program: &FieldProgram, options: &[String]) -> Result<Vec<(FieldId, PathBuf)>, Report> {
    let wrong = |what: String| Report::new(Category::Parse, Phase::Compile, what);
    let mut plots = Vec::new();
    for option in options {
        let pair = option.split_once('=');
        let (name, file) =
            pair.ok_or_else(|| wrong(format!("--plot {option}: a field and a file, as in u=warm.svg")))?;
        let field = program.field(name);
        let field = field.ok_or_else(|| wrong(format!("--plot {option}: there is no field `{name}`")))?;
        let dims = program.fields[field.0].dims.len();
        if dims > 2 {
            return Err(wrong(format!("--plot {option}: `{name}` has {dims} dimensions; 1 or 2 are drawn")));
        }
        let file = PathBuf::from(file);
        check_ending(("--plot", &file), "a picture", &["svg", "png"])?;
        check_name(&file)?;
        plots.push((field, file));
    }
    Ok(plots)
}

/// Draws a field.
///
/// # Errors
/// Nothing in it is finite, or the file cannot be written.
pub(super) fn draw_field(
    program: &FieldProgram,
    field: FieldId,
    data: &FieldData,
    file: &Path,
) -> Result<(), Report> {
    let declared = &program.fields[field.0];
    let buffer = &data.fields[&*declared.name];
    let points = buffer.origin().iter().zip(buffer.shape());
    let axis = |(dim, (first, count)): (&_, (&i64, &usize))| FieldFigureAxis {
        name: program.dim_name(*dim).to_owned(),
        first: *first,
        count: *count,
    };
    let number = |value: ScalarValue| match value {
        ScalarValue::Boolean(value) => f64::from(u8::from(value)),
        other => match integer_of(&other, declared.dtype) {
            Some(number) => number as f64,
            None => other.as_f64().unwrap_or(f64::NAN),
        },
    };
    let figure = FieldFigure {
        title: declared.name.to_string(),
        axes: declared.dims.iter().zip(points).map(axis).collect(),
        values: buffer.view().scalars().map(number).collect(),
    };
    let of_field =
        |report: Report| Report { message: format!("`{}`: {}", declared.name, report.message), ..report };
    let svg = figure.svg().map_err(|error| of_field(undrawn(error)))?;
    write(file, drawn_as(file, svg)?)
}
