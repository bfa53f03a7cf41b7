//! Reads a case of the JSON form: the program, and the data that stands in it.

use crate::field::buffer::{FieldBuffer, FieldData, TableEntries};
use crate::field::check::check_counts;
use crate::field::dimension::{Dimension, DimensionId, DimensionKind, MOST_DIMENSIONS};
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::FieldNode;
use crate::field::json::read_expression::{Reading, bound};
use crate::field::json::values::{
    dimension, dtype, integer, list, literal_value, read_cells, read_scalar, short, syntax,
};
use crate::field::program::{
    FieldDeclaration, FieldProgram, FieldRange, FieldRole, FieldScan, FieldStatement, FieldTarget,
    FieldValue, ScalarDeclaration, ScanCarry, ScanDirection, TableDeclaration,
};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::ScalarType;
use serde_json::{Map, Value as Json};

/// Reads a case. An input without dimensions is a scalar of the run. Outputs without `init` and inputs without `data` are not in the data; keys that are not known are
/// passed over.
///
/// # Errors
/// The JSON is no program of version 1 or 2. Rules of programs are checked by [`check_program`](crate::field::check_program).
pub fn read_field_case(json: &Json) -> Result<(FieldProgram, FieldData), FieldError> {
    let mut program = FieldProgram::default();
    let mut data = FieldData::default();
    declare(json, &mut program, &mut data)?;
    for (number, statement) in list(&json["statements"], "`statements`")?.iter().enumerate() {
        check_counts(&program)?;
        let target = statement["targets"][0].as_str().unwrap_or_default();
        let read = read_statement(&mut program, statement)
            .map_err(|problem| FieldError::new(problem).in_statement(number + 1, target))?;
        program.statements.push(read);
    }
    Ok((program, data))
}

fn object<'j>(json: &'j Json, key: &str) -> Result<Option<&'j Map<String, Json>>, FieldProblem> {
    match &json[key] {
        Json::Null => Ok(None),
        Json::Object(map) => Ok(Some(map)),
        other => Err(syntax(format!("`{key}` is an object, not {}", short(other)))),
    }
}

fn declare(json: &Json, program: &mut FieldProgram, data: &mut FieldData) -> Result<(), FieldProblem> {
    if !json.is_object() {
        return Err(syntax("a program is a JSON object"));
    }
    let version = &json["version"];
    if !(version.is_null() || *version == 1 || *version == 2) {
        return Err(syntax(format!("version {}; versions 1 and 2 are known", short(version))));
    }
    match object(json, "dims")? {
        Some(dims) => {
            for (name, kind) in dims {
                check_counts(program)?;
                let known = kind.as_str().and_then(DimensionKind::from_name);
                let kind = known.ok_or_else(|| syntax(format!("{} is no kind of dimension", short(kind))))?;
                program.dims.push(Dimension { name: name.as_str().into(), kind });
            }
        }
        None => undeclared_dims(json, program),
    }
    for (name, table) in object(json, "tables")?.into_iter().flatten() {
        check_counts(program)?;
        read_table(program, data, name, table)?;
    }
    for (key, role) in [("inputs", FieldRole::Input), ("outputs", FieldRole::Output)] {
        for (name, field) in object(json, key)?.into_iter().flatten() {
            check_counts(program)?;
            read_field(program, data, name, field, role)
                .map_err(|problem| named(problem, &format!("`{name}`")))?;
        }
    }
    for (name, scalar) in object(json, "scalars")?.into_iter().flatten() {
        check_counts(program)?;
        let (value, dtype, is_static) = match scalar {
            Json::Object(_) => (&scalar["value"], dtype(&scalar["dtype"])?, scalar["static"] == true),
            value => (value, ScalarType::Float64, false),
        };
        let value = match value {
            Json::Null => None,
            value => Some(read_scalar(value, dtype).map_err(|p| named(p, &format!("the scalar `{name}`")))?),
        };
        program.scalars.push(ScalarDeclaration { name: name.as_str().into(), dtype, value, is_static });
    }
    Ok(())
}

/// Puts the name of what is wrong before the message.
fn named(problem: FieldProblem, name: &str) -> FieldProblem {
    match problem {
        FieldProblem::Data { what } => FieldProblem::Data { what: format!("{name}: {what}") },
        FieldProblem::Syntax { what } => FieldProblem::Syntax { what: format!("{name}: {what}") },
        other => other,
    }
}

/// Version 1 declares no dimensions: scans run along vertical ones, all others are horizontal.
fn undeclared_dims(json: &Json, program: &mut FieldProgram) {
    let statements = || json["statements"].as_array().into_iter().flatten();
    let fields = ["inputs", "outputs"].into_iter().flat_map(|key| json[key].as_object()).flatten();
    for dim in fields.flat_map(|(_, field)| field["dims"].as_array()).flatten().filter_map(Json::as_str) {
        if program.dimension(dim).is_none() && program.dims.len() <= MOST_DIMENSIONS {
            let is_axis = statements().any(|statement| statement["scan"]["axis"] == dim);
            let kind = if is_axis { DimensionKind::Vertical } else { DimensionKind::Horizontal };
            program.dims.push(Dimension { name: dim.into(), kind });
        }
    }
}

fn dimension_in(program: &FieldProgram, json: &Json) -> Result<DimensionId, FieldProblem> {
    let name = json.as_str().ok_or_else(|| syntax(format!("{} is no name of a dimension", short(json))))?;
    dimension(program, name)
}

fn point(json: &Json) -> Result<i64, FieldProblem> {
    let value = integer(json).filter(|value| i32::try_from(*value).is_ok());
    value.ok_or_else(|| syntax(format!("{} is no integer of 32 bits", short(json))))
}

fn read_table(
    program: &mut FieldProgram,
    data: &mut FieldData,
    name: &str,
    json: &Json,
) -> Result<(), FieldProblem> {
    let width = json["max_neighbors"].as_u64().and_then(|width| usize::try_from(width).ok());
    let width = width.filter(|width| (1..=1024).contains(width));
    let width = width.ok_or_else(|| syntax(format!("`max_neighbors` of table `{name}` is 1 to 1024")))?;
    let optional = |json: &Json| if json.is_null() { Ok(None) } else { point(json).map(Some) };
    if !json["data"].is_null() {
        let mut entries = Vec::new();
        for row in list(&json["data"], "the data of a table")? {
            let row = list(row, "a row of a table")?;
            if row.len() != width {
                let what = format!("table `{name}` has a row of {} entries, not {width}", row.len());
                return Err(FieldProblem::Data { what });
            }
            for entry in row {
                let wrong =
                    || syntax(format!("table `{name}` has the entry {}, which is no integer", short(entry)));
                entries.push(integer(entry).ok_or_else(wrong)?);
            }
        }
        data.tables.insert(name.to_owned(), TableEntries::new(entries, width)?);
    }
    program.tables.push(TableDeclaration {
        name: name.into(),
        from: dimension_in(program, &json["from"])?,
        to: dimension_in(program, &json["to"])?,
        local: dimension_in(program, &json["local"])?,
        width,
        skip: optional(&json["skip"])?,
        origin: optional(&json["origin"])?.unwrap_or(0),
    });
    Ok(())
}

fn read_field(
    program: &mut FieldProgram,
    data: &mut FieldData,
    name: &str,
    json: &Json,
    role: FieldRole,
) -> Result<(), FieldProblem> {
    let dims = list(&json["dims"], "`dims`")?;
    let dims = dims.iter().map(|dim| dimension_in(program, dim)).collect::<Result<Vec<_>, _>>()?;
    let dtype = dtype(&json["dtype"])?;
    if dims.is_empty() && role == FieldRole::Input {
        let value = match &json["data"] {
            Json::Null => None,
            data => match list(data, "`data`")? {
                [value] => Some(read_scalar(value, dtype)?),
                cells => return Err(syntax(format!("{} cells of a field without dimensions", cells.len()))),
            },
        };
        program.scalars.push(ScalarDeclaration { name: name.into(), dtype, value, is_static: false });
        return Ok(());
    }
    let origin = match &json["origin"] {
        Json::Null => None,
        json => Some(list(json, "`origin`")?.iter().map(point).collect::<Result<Vec<_>, _>>()?),
    };
    let size = |json: &Json| {
        let size = point(json)?;
        usize::try_from(size).map_err(|_| syntax(format!("{size} is no size")))
    };
    let shape = match &json["shape"] {
        Json::Null => None,
        json => Some(list(json, "`shape`")?.iter().map(size).collect::<Result<Vec<_>, _>>()?),
    };
    let fill = match &json["fill"] {
        Json::Null => None,
        json => Some(read_scalar(json, dtype)?),
    };
    let content = if role == FieldRole::Input { &json["data"] } else { &json["init"] };
    if !content.is_null() {
        let shape = shape.as_deref().ok_or_else(|| syntax("data without a shape"))?;
        let origin = origin.clone().unwrap_or_else(|| vec![0; shape.len()]);
        let buffer = FieldBuffer::row_major(read_cells(content, dtype)?, &origin, shape)?.of_dtype(dtype)?;
        data.fields.insert(name.to_owned(), buffer);
    }
    program.fields.push(FieldDeclaration { name: name.into(), role, dtype, dims, origin, shape, fill });
    Ok(())
}

fn read_statement(program: &mut FieldProgram, json: &Json) -> Result<FieldStatement, FieldProblem> {
    let mut targets = Vec::new();
    for target in list(&json["targets"], "`targets`")? {
        let name = target.as_str().ok_or_else(|| syntax(format!("{} is no target", short(target))))?;
        let unknown = || FieldProblem::UnknownName { role: "output", name: name.to_owned() };
        targets.push(FieldTarget { field: program.field(name).ok_or_else(unknown)?, domain: None });
    }
    match &json["domain"] {
        Json::Null => {}
        Json::Array(domains) if domains.len() == targets.len() => {
            for (target, domain) in targets.iter_mut().zip(domains) {
                target.domain = read_domain(program, domain)?;
            }
        }
        Json::Array(domains) => {
            return Err(syntax(format!("{} domains for {} targets", domains.len(), targets.len())));
        }
        domain => {
            for target in &mut targets {
                target.domain = read_domain(program, domain)?;
            }
        }
    }
    if !json["scan"].is_null() && !json["expr"].is_null() {
        return Err(syntax("a statement has `expr` or `scan`, not both"));
    }
    let value = match &json["scan"] {
        Json::Null => {
            let roots = Reading::new(program, &[], None).tuple(&json["expr"])?;
            FieldValue::Pointwise(roots)
        }
        scan => FieldValue::Scan(read_scan(program, scan)?),
    };
    Ok(FieldStatement { targets, value, span: Span::default() })
}

fn read_domain(program: &FieldProgram, json: &Json) -> Result<Option<Vec<FieldRange>>, FieldProblem> {
    if json.is_null() {
        return Ok(None);
    }
    let map = json.as_object().ok_or_else(|| syntax(format!("{} is no domain", short(json))))?;
    let mut ranges = Vec::new();
    for (dim, bounds) in map {
        let [first, end] = list(bounds, "a range")? else {
            return Err(syntax(format!("the range of {dim} has two bounds")));
        };
        let dimension = dimension(program, dim)?;
        ranges.push(FieldRange { dimension, first: bound(program, first)?, end: bound(program, end)? });
    }
    Ok(Some(ranges))
}

fn read_scan(program: &mut FieldProgram, json: &Json) -> Result<FieldScan, FieldProblem> {
    let axis = dimension_in(program, &json["axis"])?;
    let direction = match &json["forward"] {
        Json::Bool(false) => ScanDirection::Backward,
        Json::Bool(true) | Json::Null => ScanDirection::Forward,
        other => return Err(syntax(format!("`forward` is true or false, not {}", short(other)))),
    };
    let (names, inits) = (list(&json["carry"], "`carry`")?, list(&json["init"], "`init`")?);
    if names.len() != inits.len() {
        return Err(syntax(format!("{} values for {} carries", inits.len(), names.len())));
    }
    let mut carry = Vec::new();
    let mut scope = Vec::new();
    for (name, init) in names.iter().zip(inits) {
        let name = name.as_str().ok_or_else(|| syntax(format!("{} is no name", short(name))))?;
        let init = match init {
            Json::Array(literal) => literal_value(literal)?,
            number => read_scalar(number, ScalarType::Float64)?.into(),
        };
        let node = FieldNode::Carry(carry.len(), init.dtype());
        scope.push((name.to_owned(), program.nodes.add(node, Span::default())?));
        carry.push(ScanCarry { name: name.into(), init });
    }
    let mut inputs = Vec::new();
    for input in list(&json["inputs"], "`inputs`")? {
        let name = input.as_str().unwrap_or_default();
        let unknown = || FieldProblem::UnknownName { role: "field", name: name.to_owned() };
        if program.field(name).is_none() && program.scalar(name).is_none() {
            return Err(unknown());
        }
        inputs.push(name);
    }
    let body = Reading::new(program, &scope, Some(&inputs)).tuple(&json["body"])?;
    Ok(FieldScan { axis, direction, carry, body })
}
