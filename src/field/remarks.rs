//! Remarks: what is no error of a program, and hardly what was meant.

use crate::field::expression::FieldId;
use crate::field::program::{FieldProgram, FieldRole, FieldStatement};
use crate::field::text::bound_text;
use hashbrown::HashSet;

/// Definitions that nothing reads, domains that have no points whatever scalars are, and outputs that nothing writes or reads: a
/// sentence each.
pub fn field_remarks(program: &FieldProgram) -> Vec<String> {
    let mut remarks = Vec::new();
    let roots: Vec<_> =
        program.statements.iter().flat_map(|statement| statement.value.roots()).copied().collect();
    let needed: HashSet<_> = program.nodes.needed(&roots).into_iter().collect();
    for (id, _) in program.nodes.iter().filter(|(id, _)| !needed.contains(id)) {
        if let Some(name) = program.nodes.name(id) {
            remarks.push(format!("`{name}` is defined and never used; it is no output"));
        }
    }
    for (number, statement) in program.statements.iter().enumerate() {
        remarks.extend(empty_domains(program, number + 1, statement));
    }
    let mut used: HashSet<FieldId> = HashSet::new();
    for statement in &program.statements {
        used.extend(statement.targets.iter().map(|target| target.field));
        used.extend(program.fields_read(statement));
    }
    for (number, field) in program.fields.iter().enumerate() {
        if field.role == FieldRole::Output && !used.contains(&FieldId(number)) {
            remarks.push(format!("no statement writes the output `{}`", field.name));
        }
    }
    remarks
}

/// The domains of a statement that have no points.
fn empty_domains<'p>(
    program: &'p FieldProgram,
    number: usize,
    statement: &'p FieldStatement,
) -> impl Iterator<Item = String> + 'p {
    let ranges = statement
        .targets
        .iter()
        .flat_map(|target| target.domain.iter().flatten().map(move |range| (target, range)));
    ranges.filter_map(move |(target, range)| {
        let points = range.end.beyond(&range.first)?;
        (points <= 0).then(|| {
            let (field, dim) = (&program.fields[target.field.0].name, program.dim_name(range.dimension));
            let [first, end] = [&range.first, &range.end].map(|bound| bound_text(program, bound));
            format!(
                "statement {number} (`{field}`) writes nothing: {dim} {first}:{end} has no points; \
                 both bounds are points, none is counted from the end"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::text::parse_field_program;

    #[test]
    fn what_was_hardly_meant_is_remarked() {
        let remarks = |text: &str| field_remarks(&parse_field_program(text).expect("a program"));
        let head = "horizontal I\ninput u[I]\noutput v[I]\nscalar n: int32\n";
        assert_eq!(remarks(&format!("{head}w = 2*u\nv[I=0:n] = w")), [""; 0]);
        assert_eq!(
            remarks(&format!("{head}V = 2*u")),
            ["`V` is defined and never used; it is no output", "no statement writes the output `v`"]
        );
        let empty = remarks(&format!("{head}v[I=n:n-1] = u\nv[I=1:-1] = u\nv[I=n:1] = u"));
        let begins: Vec<&str> =
            empty.iter().map(|remark| remark.split(';').next().unwrap_or_default()).collect();
        assert_eq!(
            begins,
            [
                "statement 1 (`v`) writes nothing: I n:n - 1 has no points",
                "statement 2 (`v`) writes nothing: I 1:-1 has no points"
            ]
        );
    }
}
