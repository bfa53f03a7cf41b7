//! Checks that need no sizes: declarations, types of all operations, statements.

use crate::field::dimension::{DimensionId, DimensionKind, DimensionSet, MOST_DIMENSIONS};
use crate::field::element::FIELD_DTYPES;
use crate::field::error::{FieldError, FieldProblem};
use crate::field::expression::FieldNodeId;
use crate::field::numbers::check_numbers;
use crate::field::program::{FieldProgram, FieldRole, FieldScan, FieldStatement, FieldTarget, FieldValue};
use crate::field::types::{FieldTypes, check_bound, has_dtype, one_local};
use cembra_vm::value::nd_type::MAX_RANK;
use hashbrown::HashSet;

/// Fields, scalars and tables that a program may have.
pub(crate) const MOST_DECLARATIONS: usize = 4096;

/// Statements that a program may have.
const MOST_STATEMENTS: usize = 10_000;

/// Targets that a statement may have.
const MOST_TARGETS: usize = 1024;

/// Values that a scan may hand on.
const MOST_CARRIES: usize = 64;

/// Checks a program, and finds the types of its operations.
///
/// # Errors
/// Everything that is wrong, each with its statement and, if there is a text, its place.
pub fn check_program(program: &FieldProgram) -> Result<FieldTypes, Vec<FieldError>> {
    check_declarations(program).map_err(|problem| vec![problem.into()])?;
    let mut types = FieldTypes::default();
    let mut errors = match types.extend(program) {
        Ok(()) => Vec::new(),
        Err(errors) => errors,
    };
    for error in &mut errors {
        assign(program, error);
    }
    for (number, statement) in program.statements.iter().enumerate() {
        if let Err(problem) = check_statement(program, &types, statement) {
            let error = FieldError::at(problem, statement.span);
            errors.push(error.in_statement(number + 1, program.target_name(statement)));
        }
    }
    if errors.is_empty() { Ok(types) } else { Err(errors) }
}

/// Finds the statement that an error of an operation belongs to: the first one that ends behind it in the text, or else
/// the only one.
fn assign(program: &FieldProgram, error: &mut FieldError) {
    let inside = |statement: &FieldStatement| {
        !error.span.is_unknown()
            && statement.span.start <= error.span.start
            && error.span.end <= statement.span.end
    };
    let found = program.statements.iter().position(inside);
    if let Some(place) = found.or((program.statements.len() == 1).then_some(0)) {
        error.statement = Some((place + 1, program.target_name(&program.statements[place]).to_owned()));
    }
}

/// Checks how much a program has of everything.
///
/// # Errors
/// It has too much.
pub(crate) fn check_counts(program: &FieldProgram) -> Result<(), FieldProblem> {
    let declarations = program.fields.len() + program.scalars.len() + program.tables.len();
    let counts = [
        ("field-dimensions", program.dims.len(), MOST_DIMENSIONS),
        ("field-declarations", declarations, MOST_DECLARATIONS),
        ("field-statements", program.statements.len(), MOST_STATEMENTS),
    ];
    match counts.into_iter().find(|(_, count, most)| count > most) {
        Some((limit, count, most)) => {
            let what = format!("the program has {count} of them; at most {most} are allowed");
            Err(FieldProblem::Limit { limit, what })
        }
        None => Ok(()),
    }
}

fn check_declarations(program: &FieldProgram) -> Result<(), FieldProblem> {
    check_counts(program)?;
    check_numbers(program)?;
    distinct(program.dims.iter().map(|dim| &*dim.name))?;
    let names = program.fields.iter().map(|field| &*field.name);
    distinct(names.chain(program.scalars.iter().map(|scalar| &*scalar.name)))?;
    distinct(program.tables.iter().map(|table| &*table.name))?;
    for field in &program.fields {
        let name = &field.name;
        let wrong = |what: String| Err(FieldProblem::Dimensions { what });
        let set = field.dim_set();
        let axes = set.iter().count();
        if axes != field.dims.len() {
            return wrong(format!("`{name}` has a dimension twice"));
        }
        if axes == 0 {
            return wrong(format!("`{name}` has no dimension; a scalar is declared as one"));
        }
        if axes > MAX_RANK {
            return wrong(format!("`{name}` has {axes} dimensions; at most {MAX_RANK} are allowed"));
        }
        one_local(program, set)?;
        if !FIELD_DTYPES.contains(&field.dtype) {
            let operation = format!("the field `{name}`");
            return Err(FieldProblem::NotDefined { operation, dtype: field.dtype });
        }
        let has_axes = |len: Option<usize>| len.is_none_or(|len| len == axes);
        if !has_axes(field.origin.as_ref().map(Vec::len)) || !has_axes(field.shape.as_ref().map(Vec::len)) {
            return wrong(format!("`{name}` has an origin or a shape of another number of axes"));
        }
    }
    if let Some(scalar) = program.scalars.iter().find(|scalar| !FIELD_DTYPES.contains(&scalar.dtype)) {
        let operation = format!("the scalar `{}`", scalar.name);
        return Err(FieldProblem::NotDefined { operation, dtype: scalar.dtype });
    }
    for table in &program.tables {
        let kind = |id: DimensionId| program.dim_kind(id);
        let horizontal = kind(table.from) == DimensionKind::Horizontal
            && kind(table.to) == DimensionKind::Horizontal
            && kind(table.local) == DimensionKind::Local;
        if i32::try_from(table.origin).is_err() {
            let what = format!("table `{}` begins at {}, beyond 32 bits", table.name, table.origin);
            return Err(FieldProblem::Dimensions { what });
        }
        if !horizontal || table.width == 0 {
            let what = format!(
                "table `{}` leads from a horizontal dimension to one, along a local one of at least one column",
                table.name
            );
            return Err(FieldProblem::Dimensions { what });
        }
    }
    Ok(())
}

fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), FieldProblem> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(FieldProblem::DeclaredTwice { name: name.to_owned() });
        }
    }
    Ok(())
}

fn check_statement(
    program: &FieldProgram,
    types: &FieldTypes,
    statement: &FieldStatement,
) -> Result<(), FieldProblem> {
    let roots = statement.value.roots();
    if statement.targets.len() > MOST_TARGETS {
        let what = format!("{} targets; at most {MOST_TARGETS} are allowed", statement.targets.len());
        return Err(FieldProblem::Limit { limit: "field-targets", what });
    }
    if statement.targets.is_empty() || roots.len() != statement.targets.len() {
        let what = format!("{} values for {} targets", roots.len(), statement.targets.len());
        return Err(FieldProblem::Dimensions { what });
    }
    statement.targets.iter().try_for_each(|target| check_target(program, target))?;
    if let FieldValue::Scan(scan) = &statement.value {
        check_scan(program, types, statement, scan)?;
    }
    for (target, root) in statement.targets.iter().zip(roots) {
        check_store(program, types, statement, target, *root)?;
    }
    Ok(())
}

fn check_target(program: &FieldProgram, target: &FieldTarget) -> Result<(), FieldProblem> {
    let field = &program.fields[target.field.0];
    if field.role != FieldRole::Output {
        let what = format!("`{}` is an input; only outputs are written", field.name);
        return Err(FieldProblem::Dimensions { what });
    }
    let Some(domain) = &target.domain else { return Ok(()) };
    let named: DimensionSet = domain.iter().map(|range| range.dimension).collect();
    for (at, range) in domain.iter().enumerate() {
        if domain[..at].iter().any(|before| before.dimension == range.dimension) {
            let what = format!("the domain has two ranges of {}", program.dim_name(range.dimension));
            return Err(FieldProblem::Dimensions { what });
        }
    }
    if named != field.dim_set() {
        let (named, dims) = (program.dim_names(named), program.dim_names(field.dim_set()));
        let what = format!("the domain names {named} and `{}` has {dims}", field.name);
        return Err(FieldProblem::Dimensions { what });
    }
    let mut bounds = domain.iter().flat_map(|range| [&range.first, &range.end]);
    bounds.try_for_each(|bound| check_bound(program, bound))
}

fn check_scan(
    program: &FieldProgram,
    types: &FieldTypes,
    statement: &FieldStatement,
    scan: &FieldScan,
) -> Result<(), FieldProblem> {
    let wrong = |what: String| Err(FieldProblem::Scan { what });
    let axis = program.dim_name(scan.axis);
    if program.dim_kind(scan.axis) == DimensionKind::Local {
        return wrong(format!("a scan along {axis}, which is local: `neighbor_sum` and the like go over it"));
    }
    if scan.carry.len() > MOST_CARRIES {
        let what = format!("a scan hands on {} values; at most {MOST_CARRIES} are allowed", scan.carry.len());
        return Err(FieldProblem::Limit { limit: "field-carries", what });
    }
    if scan.carry.len() != scan.body.len() {
        return wrong(format!("a scan with {} values for {} carries", scan.body.len(), scan.carry.len()));
    }
    for target in &statement.targets {
        let field = &program.fields[target.field.0];
        if !field.dims.contains(&scan.axis) {
            return wrong(format!("a scan along {axis}, which `{}` does not have", field.name));
        }
        if let Some(local) = program.local_of(field.dim_set()) {
            let local = program.dim_name(local);
            return wrong(format!("a scan into `{}`, which has the local dimension {local}", field.name));
        }
        let first = &program.fields[statement.targets[0].field.0];
        if field.dim_set() != first.dim_set() {
            return wrong(format!(
                "a scan into `{}` and `{}`, whose dimensions differ",
                first.name, field.name
            ));
        }
    }
    for (carry, root) in scan.carry.iter().zip(&scan.body) {
        let Some(of) = types.get(*root) else { continue };
        let value = format!("the next value of `{}`", carry.name);
        has_dtype(&value, of.dtype, carry.init.dtype())?;
    }
    Ok(())
}

fn check_store(
    program: &FieldProgram,
    types: &FieldTypes,
    statement: &FieldStatement,
    target: &FieldTarget,
    root: FieldNodeId,
) -> Result<(), FieldProblem> {
    // An operation without a type has an error of its own.
    let Some(of) = types.get(root) else { return Ok(()) };
    let field = &program.fields[target.field.0];
    let is_scan = matches!(statement.value, FieldValue::Scan(_));
    let fits = match is_scan {
        true => of.dims.is_subset(field.dim_set()),
        false => of.dims == field.dim_set() && !of.is_carried,
    };
    if !fits {
        let (value, target) = (program.dim_names(of.dims), program.dim_names(field.dim_set()));
        let missing = match !is_scan && of.dims.is_subset(field.dim_set()) {
            true => "; `broadcast` adds dimensions",
            false => "",
        };
        let name = &field.name;
        let what =
            format!("a value with the dimensions {value} does not go to `{name}` with {target}{missing}");
        let local = |set| program.local_of(set);
        return Err(match local(of.dims) == local(field.dim_set()) {
            true => FieldProblem::Dimensions { what },
            false => FieldProblem::LocalDimension { what },
        });
    }
    has_dtype(&format!("the value for `{}`", field.name), of.dtype, field.dtype)
}
