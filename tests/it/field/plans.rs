//! Plans: what is compiled once, and what a statement does with the contents before it.

use cembra::backend::{FieldPlan, run_field_program};
use cembra::field::{
    FieldBuffer, FieldCells, FieldData, FieldProgram, FieldReach, field_accesses, parse_field_program,
};
use cembra::vm::value::ScalarValue;

fn floats(values: &[f64]) -> FieldBuffer {
    let cells = FieldCells::Float64(values.to_vec());
    FieldBuffer::row_major(cells, &[0], &[values.len()]).expect("as many cells")
}

fn values(data: &FieldData, name: &str) -> Vec<f64> {
    data.fields[name].view().cells::<f64>().collect()
}

fn parse(text: &str) -> FieldProgram {
    parse_field_program(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]))
}

fn with(fields: &[(&str, &[f64])]) -> FieldData {
    let fields = fields.iter().map(|(name, values)| ((*name).to_owned(), floats(values)));
    FieldData { fields: fields.collect(), ..FieldData::default() }
}

#[test]
fn values_come_from_the_contents_before() {
    let run = |statement: &str| {
        let program = parse(&format!("horizontal I\noutput x[I], y[I]\n{statement}\n"));
        let mut data = with(&[("x", &[1.0, 2.0, 3.0, 4.0]), ("y", &[5.0, 6.0, 7.0, 8.0])]);
        run_field_program(&program, &mut data).unwrap_or_else(|errors| panic!("{}", errors[0]));
        (values(&data, "x"), values(&data, "y"))
    };
    assert_eq!(run("x, y = y, x"), (vec![5.0, 6.0, 7.0, 8.0], vec![1.0, 2.0, 3.0, 4.0]));
    assert_eq!(run("x[I=0:3] = x[I+1]").0, [2.0, 3.0, 4.0, 4.0]);
    assert_eq!(run("x[I=1:4] = x[I-1] + x").0, [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(
        run("x[I=0:3], y[I=1:4] = y[I+1], x[I-1]"),
        (vec![6.0, 7.0, 8.0, 4.0], vec![5.0, 1.0, 2.0, 3.0])
    );
    assert_eq!(run("x = concat_where(I < 2, x*0 + y, x[I-2])").0, [5.0, 6.0, 1.0, 2.0]);
}

#[test]
fn scans_in_place_read_the_contents_before() {
    let program = parse(
        "horizontal I\nvertical K\noutput x[I, K]\nx[I=0:2, K=1:4] = scan(K forward; s = 0.0; s + x[K-1])\n",
    );
    let cells = FieldCells::Float64((1..9).map(f64::from).collect());
    let mut data = FieldData::default();
    data.fields.insert("x".to_owned(), FieldBuffer::row_major(cells, &[0, 0], &[2, 4]).expect("eight cells"));
    run_field_program(&program, &mut data).expect("a scan");
    assert_eq!(values(&data, "x"), [1.0, 1.0, 3.0, 6.0, 5.0, 5.0, 11.0, 18.0]);
}

#[test]
fn a_carry_that_is_no_result_of_an_operation_is_handed_on() {
    let program = parse(
        "vertical K\ninput x[K]\noutput a[K], b[K], c[K]\n\
         a, b, c = scan(K backward; p = 1.0, q = 2.0, r = 3.0; q, x, 7.0)\n",
    );
    let mut data = with(&[("x", &[10.0, 20.0, 30.0])]);
    data.complete(&program).expect("one dimension");
    run_field_program(&program, &mut data).expect("a scan");
    assert_eq!(values(&data, "a"), [20.0, 30.0, 2.0]);
    assert_eq!(values(&data, "b"), [10.0, 20.0, 30.0]);
    assert_eq!(values(&data, "c"), [7.0; 3]);
}

#[test]
fn plans_are_used_again_while_sizes_stay() {
    let program = parse(
        "horizontal I\nscalar k, n: int32\ninput u[I]\noutput v[I] fill 0.0\nv[I=1:n - 1] = u + k*(u[I-1] - 2*u + u[I+1])\n",
    );
    let mut data = with(&[("u", &[0.0, 1.0, 0.0, 0.0, 0.0])]);
    data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.25));
    data.scalars.insert("n".to_owned(), ScalarValue::Int32(5));
    data.complete(&program).expect("one dimension");
    let mut plan = FieldPlan::new(&program, &data).expect("a plan");
    for _ in 0..10 {
        plan.run(&mut data).expect("values");
        let (u, v) = (data.fields["u"].clone(), data.fields["v"].clone());
        data.fields.insert("u".to_owned(), v);
        data.fields.insert("v".to_owned(), u);
    }
    data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.5));
    plan.run(&mut data).expect("values");
    assert_eq!((plan.compilations(), plan.stages()), (1, 1));
    data.scalars.insert("n".to_owned(), ScalarValue::Int32(4));
    plan.run(&mut data).expect("values");
    assert_eq!(plan.compilations(), 2);
    data.scalars.insert("n".to_owned(), ScalarValue::Int32(7));
    let error = plan.run(&mut data).expect_err("the field has five points");
    assert_eq!(error.to_string(), "statement 1 (`v`): `v` is needed on I 1:6 and has 0:5");
}

#[test]
fn parts_of_concat_where_are_boxes_of_their_own() {
    let program = parse(
        "vertical K\ninput u[K]\noutput v[K]\n\
         v = concat_where(K == 0, u, concat_where(K < 3, u[K-1], 0.5*(u[K-1] + u)))\n",
    );
    let mut data = with(&[("u", &[1.0, 2.0, 4.0, 8.0, 16.0])]);
    data.complete(&program).expect("one dimension");
    let mut plan = FieldPlan::new(&program, &data).expect("a plan");
    plan.run(&mut data).expect("values");
    assert_eq!(plan.stages(), 3);
    assert_eq!(values(&data, "v"), [1.0, 1.0, 2.0, 6.0, 12.0]);
}

#[test]
fn sparse_fields_are_written_column_by_column() {
    let program = parse(
        "horizontal Edge, Cell\ntable E2C: Edge -> Cell width 2\ninput c[Cell]\noutput w[Edge, E2C]\nw = 2*c[E2C]\n",
    );
    let mut data = with(&[("c", &[1.0, 2.0, 3.0])]);
    let table = cembra::field::TableEntries::new(vec![0, 1, 2, 0], 2).expect("two rows");
    data.tables.insert("E2C".to_owned(), table);
    let w = FieldBuffer::filled(&ScalarValue::Float64(-1.0), &[0, 0], &[2, 2]).expect("four cells");
    data.fields.insert("w".to_owned(), w);
    run_field_program(&program, &mut data).unwrap_or_else(|errors| panic!("{}", errors[0]));
    assert_eq!(values(&data, "w"), [2.0, 4.0, 6.0, 2.0]);
}

/// An output along the rows of a table has as many points.
#[test]
fn outputs_may_have_the_rows_of_a_table() {
    let program = parse(
        "horizontal Edge, Cell\ntable E2C: Edge -> Cell width 2 origin 3\ninput c[Cell]\noutput d[Edge], w[Edge, E2C]\n\
         d = c[E2C[1]] - c[E2C[0]]\nw = 2*c[E2C]\n",
    );
    let mut data = with(&[("c", &[1.0, 2.0, 4.0])]);
    data.tables
        .insert("E2C".to_owned(), cembra::field::TableEntries::new(vec![0, 1, 2, 0], 2).expect("two rows"));
    run_field_program(&program, &mut data).unwrap_or_else(|errors| panic!("{}", errors[0]));
    assert_eq!((values(&data, "d"), data.fields["d"].origin()), (vec![1.0, -3.0], &[3][..]));
    assert_eq!((values(&data, "w"), data.fields["w"].origin()), (vec![2.0, 4.0, 8.0, 2.0], &[3, 0][..]));
}

#[test]
fn halos_are_known_before_sizes() {
    let program = parse(
        "horizontal I, J\nscalar n: int32\ninput u[I, J]\noutput v[I, J]\n\
         lap = u[I-1] + u[I+1] - 4*u + u[J+1]\nv[I=2:n, J=0:n - 3] = lap - lap[I-1, J+2]\n",
    );
    let accesses = field_accesses(&program, &program.statements[0]);
    assert_eq!(accesses.len(), 1);
    let reach: Vec<&[FieldReach]> = accesses[0].reach.iter().map(|(_, reach)| &reach[..]).collect();
    assert_eq!(reach, [&[FieldReach::Offsets(-2, 1)][..], &[FieldReach::Offsets(0, 3)][..]]);
}

/// An expression of many shifted intermediates is as large as the places that it is needed at, not as the paths there.
#[test]
fn nested_shifts_stay_small() {
    let mut text = "horizontal I\ninput u[I]\noutput v[I]\nt0 = u\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        text += &format!("t{level} = t{below}[I-1] + t{below}[I+1]\n");
    }
    text += "v[I=60:64] = t39\n";
    let program = parse(&text);
    let mut data = with(&[("u", &[1.0; 128])]);
    data.complete(&program).expect("one dimension");
    run_field_program(&program, &mut data).expect("values");
    assert_eq!(values(&data, "v")[60..64], [2.0_f64.powi(39); 4]);
    // Beyond a limit there is an error.
    let paths = (0..60)
        .map(|n| format!("t{} = t{n}[I-{}] + t{n}[I+{}] + t{n}\n", n + 1, 1 << (n % 20), 3 << (n % 20)));
    let text = format!(
        "horizontal I\ninput u[I]\noutput v[I]\nt0 = u + 0\n{}v[I=0:1] = t60\n",
        paths.collect::<String>()
    );
    let mut data = with(&[("u", &[1.0])]);
    let program = parse(&text);
    data.complete(&program).expect("one dimension");
    let errors = run_field_program(&program, &mut data).expect_err("too many or outside");
    assert!(["limit", "out_of_domain"].contains(&errors[0].problem.class()), "{}", errors[0]);
}
