//! Bad inputs: each is named with statement, dimension and numbers, before anything is written.

use cembra::backend::{FieldPlan, run_field_program};
use cembra::field::json::read_field_case;
use cembra::field::{
    FieldBuffer, FieldCells, FieldData, FieldError, FieldProgram, TableEntries, check_program,
    parse_field_program,
};
use cembra::vm::value::ScalarValue;
use serde_json::json;

fn floats(values: &[f64], origin: &[i64], shape: &[usize]) -> FieldBuffer {
    FieldBuffer::row_major(FieldCells::Float64(values.to_vec()), origin, shape).expect("as many cells")
}

fn counted(origin: &[i64], shape: &[usize]) -> FieldBuffer {
    let count: usize = shape.iter().product();
    floats(&(0..count).map(|n| n as f64).collect::<Vec<_>>(), origin, shape)
}

fn parse(text: &str) -> FieldProgram {
    parse_field_program(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]))
}

/// Fields I 0:6, K 0:4, Cell 0:4 with tables.
fn data() -> FieldData {
    let mut data = FieldData::default();
    data.fields.insert("u".to_owned(), counted(&[0, 0], &[6, 4]));
    data.fields.insert("s".to_owned(), counted(&[0], &[6]));
    data.fields.insert("c".to_owned(), counted(&[0], &[4]));
    let int = |value| ScalarValue::Int32(value);
    data.scalars.insert("m".to_owned(), int(6));
    let entries = vec![1, 2, 0, -1, 3, 1, -1, -1];
    data.tables.insert("C2C".to_owned(), TableEntries::new(entries, 2).expect("rows of two"));
    data
}

const FIELDS: &str = "\
horizontal I, Cell
vertical K
table C2C: Cell -> Cell width 2 skip -1
input u[I, K]
input s[I]
input c[Cell]
output out[I, K]
output other[I, K]
output si[I]
output ci[Cell]
output ni[I]: int32
scalar m: int32
";

fn run(statements: &str) -> Result<FieldData, FieldError> {
    let program = parse(&format!("{FIELDS}{statements}\n"));
    let mut data = data();
    data.complete(&program).expect("every dimension has a field");
    let before = data.clone();
    match run_field_program(&program, &mut data) {
        Ok(()) => Ok(data),
        Err(mut errors) => {
            assert_eq!(data, before, "something was written although there is an error");
            Err(errors.remove(0))
        }
    }
}

#[test]
fn what_is_outside_is_named_with_numbers() {
    let cases = [
        ("out = u[I+1]", "statement 1 (`out`): `u` is needed on I 1:7 and has 0:6"),
        ("si = s\nout = u[K-1]", "statement 2 (`out`): `u` is needed on K -1:3 and has 0:4"),
        ("out[I=0:7, K=0:4] = u", "statement 1 (`out`): `out` is needed on I 0:7 and has 0:6"),
        ("out[I=0:m + 1, K=0:4] = u", "statement 1 (`out`): `out` is needed on I 0:7 and has 0:6"),
        (
            "out[I=0:1, K=0:4] = u[I-2147483647]",
            "statement 1 (`out`): `u` is needed on I -2147483647:-2147483646 and has 0:6",
        ),
        ("ni = fmod(where(s > 0, int32(2), 1), 0)", "statement 1 (`ni`): division by zero, at I = 0"),
        ("out = concat_where(K == 0, u, u[K+1])", "statement 1 (`out`): `u` is needed on K 2:5 and has 0:4"),
        (
            "ci = c[C2C[0]]",
            "statement 1 (`ci`): table `C2C` has no neighbour 0 in row 3, whose value is needed",
        ),
        ("ci = max_over(c[C2C], C2C)", "statement 1 (`ci`): max_over over `C2C`: row 3 has no neighbour"),
        (
            "out = scan(K forward; t = 0.0; t + u[K+1])",
            "statement 1 (`out`): `u` is needed on K 1:5 and has 0:4",
        ),
        (
            "out[I=0:3, K=0:4], out[I=2:6, K=0:4] = u, u",
            "statement 1 (`out`): `out` is written twice on I 2:3, K 0:4",
        ),
        (
            "out[I=0:6, K=0:m*m*m*m*m*m*m*m*m*m*m*m*m] = u",
            "statement 1 (`out`): the bound `m*m*m*m*m*m*m*m*m*m*m*m*m` on K comes to 2176782336, which does not fit 32 bits",
        ),
        (
            "out = concat_where(K < m*2000000000, u, u)",
            "statement 1 (`out`): the bound `m*2000000000` on K comes to 12000000000, which does not fit 32 bits",
        ),
    ];
    for (statements, expected) in cases {
        let error = run(statements).expect_err(statements);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn columns_and_powers_that_there_are_not_are_refused() {
    let cases = [
        (
            "ci = c[C2C[0]]\nci = c[C2C][C2C=2]",
            "statement 2 (`ci`): table `C2C` has 2 columns; column 2 is read",
        ),
        ("ci = c[C2C=0]", "statement 1 (`ci`): a column of C2C of a value with the dimensions [Cell]"),
        ("ci = c[Cell=0]", "statement 1 (`ci`): a column of Cell of a value with the dimensions [Cell]"),
        ("ni = broadcast(int32(3), I)**-1", "statement 1 (`ni`): ** is not defined for int32"),
        ("ni = broadcast(m, I)**m", "statement 1 (`ni`): ** is not defined for int32"),
        ("ni = isnan(s)", "statement 1 (`ni`): the value for `ni` is bool, not int32"),
    ];
    for (statements, expected) in cases {
        let errors = parse_field_program(&format!("{FIELDS}{statements}\n")).expect_err(statements);
        assert_eq!(errors[0].to_string(), expected);
    }
}

#[test]
fn tables_are_checked_where_they_are_read() {
    let program = parse(&format!("{FIELDS}ci[Cell=0:2] = c[C2C[0]]\n"));
    let with = |entries: Vec<i64>| {
        let mut data = data();
        data.tables.insert("C2C".to_owned(), TableEntries::new(entries, 2).expect("rows of two"));
        run_field_program(&program, &mut data).map(|()| data).map_err(|errors| errors[0].to_string())
    };
    let error = with(vec![1, 2, 4, -1, 3, 1, -1, -1]).expect_err("no such cell");
    let expected = "statement 1 (`ci`): table `C2C` has 4 in row 1, column 0; `c` has Cell 0:4";
    assert_eq!(error, expected);
    // A bad row outside of the domain is nobody's.
    let data = with(vec![1, 2, 3, -1, 99, 1, -1, -1]).expect("rows 0 and 1 are good");
    assert_eq!(data.fields["ci"].cells(), &FieldCells::Float64(vec![1.0, 3.0, 0.0, 0.0]));
    let error = with(vec![1, 2]).expect_err("a row is missing");
    assert_eq!(error, "statement 1 (`ci`): `table C2C` is needed on Cell 0:2 and has 0:1");
}

#[test]
fn what_a_program_does_with_its_data_is_allowed() {
    let values = |data: &FieldData, name: &str| match data.fields[name].cells() {
        FieldCells::Float64(values) => values.clone(),
        other => panic!("{other:?}"),
    };
    // Domains without points, wherever they lie.
    let empty = run("out[I=9:9, K=0:4] = u[I+5]\nout[I=0:6, K=3:-3] = u[I+9]").expect("nothing is written");
    assert!(values(&empty, "out").iter().all(|value| *value == 0.0));
    // One output twice, on domains apart.
    let twice = run("si[I=0:2], si[I=4:6] = s*10, s").expect("the domains are apart");
    assert_eq!(values(&twice, "si"), [0.0, 10.0, 0.0, 0.0, 4.0, 5.0]);
    // A sum over no neighbours is zero; a part that is not needed is not read.
    let sums = run("ci = neighbor_sum(c[C2C], C2C)").expect("sums");
    assert_eq!(values(&sums, "ci"), [3.0, 0.0, 4.0, 0.0]);
    let parts = run("si = concat_where(I < 5, s[I+1], s)").expect("the last point reads itself");
    assert_eq!(values(&parts, "si"), [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]);
}

#[test]
fn values_that_do_not_fit_stop_a_statement() {
    let fault = |statement: &str| {
        let program = parse(&format!("{FIELDS}{statement}\n"));
        let mut data = data();
        data.complete(&program).expect("every dimension has a field");
        run_field_program(&program, &mut data).map_err(|mut errors| errors.remove(0))
    };
    let error = fault("ni = int32(s) // int32(s)").expect_err("0 // 0");
    assert_eq!((error.problem.class(), error.statement), ("run", Some((1, "ni".to_owned()))));
    assert_eq!(fault("ni = int32(s*1e300)").expect_err("too large").problem.class(), "run");
    // What a choice rules out does not raise.
    fault("ni = where(int32(s) == 0, 7, 100 // int32(s))").expect("the zero is not chosen");
}

#[test]
fn data_is_compared_with_declarations() {
    let program = parse("horizontal I\ninput u[I=0:3]\nscalar a\noutput v[I]\nv = a*u\n");
    let message = |data: &FieldData| FieldPlan::new(&program, data).expect_err("bad data")[0].to_string();
    let mut data = FieldData::default();
    assert_eq!(message(&data), "there is no data for `u`");
    data.fields.insert("u".to_owned(), floats(&[1.0, 2.0], &[0], &[2]));
    data.fields.insert("v".to_owned(), floats(&[0.0; 3], &[0], &[3]));
    assert_eq!(
        message(&data),
        "the data of `u` has shape [2] from [0], which is not what the program declares"
    );
    data.fields.insert("u".to_owned(), floats(&[1.0, 2.0, 3.0], &[0], &[3]));
    assert_eq!(message(&data), "there is no value for the scalar `a`");
    data.scalars.insert("a".to_owned(), ScalarValue::Float32(1.0));
    assert_eq!(message(&data), "the scalar `a` is float64 and its value float32");
    data.fields.insert("u".to_owned(), floats(&[1.0; 4], &[0, 0], &[2, 2]));
    assert_eq!(message(&data), "the data of `u` has 2 axes and the field 1");
    let ints = FieldBuffer::row_major(FieldCells::Int32(vec![1, 2, 3]), &[0], &[3]).expect("three cells");
    data.fields.insert("u".to_owned(), ints);
    assert_eq!(message(&data), "the data of `u` is int32, not float64");
}

/// An output without data takes its extent from data; what is wrong with that is named first.
#[test]
fn outputs_without_extent_name_the_data_that_is_wrong() {
    let text = "horizontal I, J, Cell\ntable C2I: Cell -> I width 1\ninput u[I, J]\noutput v[I, J]\noutput c[Cell]\n\
                v = u\nc = broadcast(1.0, Cell)\n";
    let program = parse(text);
    let message = |data: FieldData| {
        let mut data = data;
        data.complete(&program).expect_err("no extent").to_string()
    };
    let mut data = FieldData::default();
    assert_eq!(message(data.clone()), "there is no data for `u`");
    data.fields.insert("u".to_owned(), floats(&[1.0], &[0], &[1]));
    assert_eq!(message(data.clone()), "the data of `u` has 1 axes and the field 2");
    data.fields.insert("u".to_owned(), floats(&[1.0], &[0, 0], &[1, 1]));
    assert_eq!(message(data), "there is no data for the table `C2I`");
}

/// A value that is refused is found by the point where it stands, whatever box, band or level it was computed in.
#[test]
fn refused_values_have_points() {
    let message = |statement: &str, values: &[f64]| {
        let text = format!(
            "horizontal I\nvertical K\ninput a[I], c[I, K]\noutput o[I]: int32, p[I, K]: int32\n{statement}\n"
        );
        let program = parse(&text);
        let mut data = FieldData::default();
        data.fields.insert("a".to_owned(), floats(values, &[100], &[10]));
        let mut cells = vec![1.0; 40];
        cells[6 * 4 + 2] = f64::NAN;
        data.fields.insert("c".to_owned(), floats(&cells, &[100, 0], &[10, 4]));
        data.complete(&program).expect("every dimension has a field");
        run_field_program(&program, &mut data).expect_err("it is refused")[0].to_string()
    };
    let mut values = [1.0; 10];
    values[6] = 0.0;
    let found = message("o[I=102:109] = 7 // int32(a)", &values);
    assert_eq!(found, "statement 1 (`o`): division by zero, at I = 106");
    let found = message("p[I=103:108, K=1:4] = scan(K forward; s = int32(0); s + int32(c))", &values);
    assert!(found.ends_with("at I = 106, K = 2"), "{found}");
    let found = message("p = concat_where(I < 104, int32(2), int32(c))", &values);
    assert!(found.ends_with("at I = 106, K = 2"), "{found}");
}

/// An output without data begins with nothing that a statement could read.
#[test]
fn outputs_are_written_before_they_are_read() {
    let run = |statements: &str, output: &str| {
        let text = format!(
            "horizontal I, J\nscalar n: int32 = 4\ntable I2I: I -> I width 2 skip -1\ninput u[I, J]\n\
             output t[I, J]{output}, v[I, J]\n{statements}\n"
        );
        let mut data = FieldData::default();
        data.fields.insert("u".to_owned(), counted(&[0, 0], &[6, 4]));
        let rows = vec![1, 2, 2, -1, 3, 1, 4, 4, 3, 3, 0, 0];
        data.tables.insert("I2I".to_owned(), TableEntries::new(rows, 2).expect("rows of two"));
        run_field_program(&parse(&text), &mut data).map_err(|mut errors| errors.remove(0).to_string())
    };
    let inner = "t[I=1:n + 1, J=0:4] = u\n";
    let cases = [
        ("v = t\nt = u".to_owned(), "statement 1 (`v`): `t` is read on I 0:6, J 0:4"),
        ("v = u\nt = t + v".to_owned(), "statement 2 (`t`): `t` is read on I 0:6, J 0:4"),
        (format!("{inner}v[I=1:5, J=0:4] = t[I-1]"), "statement 2 (`v`): `t` is read on I 0:1, J 0:4"),
        (format!("{inner}v[I=1:5, J=0:4] = t[I+1]"), "statement 2 (`v`): `t` is read on I 5:6, J 0:4"),
        (format!("{inner}v[I=0:2, J=0:4] = t[I2I[0]]\nv = t[I2I[1]]"), "statement 3 (`v`): "),
        (
            format!("{inner}t[I=0:1, J=0:3] = u\nv[I=0:5, J=0:4] = t"),
            "statement 3 (`v`): `t` is read on I 0:1, J 3:4",
        ),
        (format!("{inner}t[I=9:n, J=0:4] = u\nv = t"), "statement 3 (`v`): `t` is read on "),
        (format!("{inner}v = concat_where(I <= 5, t, u)"), "statement 2 (`v`): `t` is read on "),
    ];
    for (statements, expected) in &cases {
        let error = run(statements, "").expect_err(statements);
        assert!(error.starts_with(expected), "{error}\n{statements}");
        if !statements.contains("I2I") {
            assert!(error.ends_with(", where nothing was written: give it data, or `fill`"), "{error}");
            run(statements, " fill 0.5").expect("`fill` says what is there");
        }
    }
    for statements in [
        "v[I=1:5, J=0:4] = t".to_owned(),
        "t[I=0:1, J=0:4] = u\nt[I=5:6, J=0:4] = u\nv = t".to_owned(),
        "v = concat_where(I >= 1 and I < 5, t, u)".to_owned(),
        "v[I=0:2, J=0:4] = t[I2I[0]]".to_owned(),
        "v[I=9:n, J=0:4] = t[I-1]".to_owned(),
        // What is kept as a temporary has corners that nobody reads.
        "t[I=0:1, J=1:3] = u\nt[I=5:6, J=1:3] = u\nh = 2*t*t + 3*t + u*t - u*u + 1\n\
         v[I=1:5, J=1:3] = h[I-1] + h[I+1] + h[J-1] + h[J+1] + h"
            .to_owned(),
    ] {
        run(&format!("{inner}{statements}"), "").unwrap_or_else(|error| panic!("{error}\n{statements}"));
    }
}

/// What is written in a run has values in the next one, whatever the field is called then.
#[test]
fn what_was_written_stays_so_between_runs() {
    let program = parse("horizontal I\ninput u[I]\noutput v[I]\nscalar n: int32\nv[I=n:5] = u[I+1] - u\n");
    let run = |n: i32, fill: bool| {
        let mut data = FieldData::default();
        data.fields.insert("u".to_owned(), counted(&[0], &[6]));
        if fill {
            data.fields.insert("v".to_owned(), counted(&[0], &[6]));
        }
        data.scalars.insert("n".to_owned(), ScalarValue::Int32(n));
        data.complete(&program).expect("one dimension");
        let mut plan = FieldPlan::new(&program, &data).expect("a plan");
        for _ in 0..5 {
            plan.run(&mut data).map_err(|error| error.to_string())?;
            let (u, v) = (data.fields.remove("u"), data.fields.remove("v"));
            data.fields.insert("u".to_owned(), v.expect("a field"));
            data.fields.insert("v".to_owned(), u.expect("a field"));
        }
        assert_eq!(plan.compilations(), 1);
        Ok(())
    };
    assert_eq!(run(0, true), Ok(()));
    let expected =
        "statement 1 (`v`): `u` is read on I 5:6, where nothing was written: give it data, or `fill`";
    assert_eq!(run(0, false), Err(expected.to_owned()));
    let part = parse("horizontal I\ninput u[I]\noutput v[I]\nv[I=1:5] = 2*u\n");
    let mut data = FieldData::default();
    data.fields.insert("u".to_owned(), counted(&[0], &[6]));
    data.complete(&part).expect("one dimension");
    let mut plan = FieldPlan::new(&part, &data).expect("a plan");
    for _ in 0..5 {
        plan.run(&mut data).expect("only what was written is read");
        let (u, v) = (data.fields.remove("u"), data.fields.remove("v"));
        data.fields.insert("u".to_owned(), v.expect("a field"));
        data.fields.insert("v".to_owned(), u.expect("a field"));
    }
    assert_eq!(plan.compilations(), 1);
}

#[test]
fn buffers_are_checked() {
    let cells = || FieldCells::Float64(vec![0.0; 6]);
    let strided = |shape: &[usize], strides: &[isize], start| {
        FieldBuffer::strided(cells(), &vec![0; shape.len()], shape, strides, start).is_ok()
    };
    assert!(strided(&[2, 3], &[3, 1], 0) && strided(&[3, 2], &[1, 3], 0) && strided(&[3], &[-2], 5));
    assert!(!strided(&[2, 3], &[3, 1], 1) && !strided(&[4], &[-2], 5), "outside of the cells");
    assert!(!strided(&[2, 3], &[0, 1], 0) && !strided(&[2, 2], &[1, 1], 0), "two points share a cell");
    assert!(FieldBuffer::row_major(cells(), &[0], &[7]).is_err());
    assert!(FieldBuffer::row_major(FieldCells::Float64(Vec::new()), &[i64::MAX], &[0]).is_err());
    assert!(FieldBuffer::row_major(FieldCells::Float64(Vec::new()), &[i64::MIN], &[0]).is_err());
    assert!(FieldBuffer::filled(&ScalarValue::Int32(1), &[0, 0], &[1 << 20, 1 << 20]).is_err());
    assert!(TableEntries::new(vec![1, 2, 3], 2).is_err());
}

/// An operation of constants that raises is found while the program is compiled, and is the error that the run would be.
#[test]
fn constants_that_raise_are_errors_of_runs() {
    for (statement, expected) in [
        ("si = s\nni = broadcast(int32(float64(nan)), I)", "cannot cast nan to int32"),
        ("si = s\nni = broadcast(1 // int32(float64(0)), I)", "division by zero"),
        (
            "si = s\nout = scan(K forward; t = 0.0; t + float64(int64(float64(inf))))",
            "cannot cast inf to int64",
        ),
    ] {
        let error = run(statement).expect_err(statement);
        assert_eq!(error.to_string().split_once(": ").expect("a statement").1, expected);
        assert_eq!(error.problem.class(), "run", "{statement}");
    }
    run("ni = where(s < 0.0, int32(float64(nan)), 1)").expect("nobody needs it");
}

/// A tuple in a tuple gives its values where it stands.
#[test]
fn tuples_nest() {
    let case = json!({
        "dims": { "I": "horizontal" },
        "inputs": { "x": { "dims": ["I"], "origin": [0], "shape": [2], "data": [1.0, 2.0] } },
        "outputs": {
            "a": { "dims": ["I"], "origin": [0], "shape": [2], "fill": 0.0 },
            "b": { "dims": ["I"], "origin": [0], "shape": [2], "fill": 0.0 },
            "c": { "dims": ["I"], "origin": [0], "shape": [2], "fill": 0.0 },
        },
        "statements": [{ "targets": ["a", "b", "c"], "domain": null, "expr": ["tuple",
            ["let", [["n", ["neg", ["ref", "x"]]]], ["tuple", ["ref", "n"], ["ref", "x"]]],
            ["add", ["ref", "x"], ["ref", "x"]],
        ] }],
    });
    let (program, mut data) = read_field_case(&case).expect("a program");
    data.complete(&program).expect("shapes are declared");
    run_field_program(&program, &mut data).expect("values");
    for (name, values) in [("a", [-1.0, -2.0]), ("b", [1.0, 2.0]), ("c", [2.0, 4.0])] {
        assert_eq!(data.fields[name].cells(), &FieldCells::Float64(values.to_vec()), "{name}");
    }
}

#[test]
fn json_that_is_no_program_is_refused() {
    let cases = [
        (json!([]), "a program is a JSON object"),
        (json!({ "version": 99 }), "version 99; versions 1 and 2 are known"),
        (json!({ "dims": { "I": "round" } }), "\"round\" is no kind of dimension"),
        (
            json!({ "inputs": { "u": { "dims": ["I"], "origin": [0], "shape": [2], "data": [1.0, "x"] } } }),
            "`u`: \"x\" is no float64",
        ),
        (
            json!({ "inputs": { "u": { "dims": ["I"], "origin": [0], "shape": [3], "data": [1.0] } } }),
            "`u`: 1 cells for the shape [3]",
        ),
        (
            json!({ "statements": [{ "targets": ["v"], "domain": null, "expr": ["lit", 1.0] }] }),
            "statement 1 (`v`): there is no output `v`",
        ),
        (
            json!({
                "outputs": { "v": { "dims": ["I"], "origin": [0], "shape": [2], "fill": 0.0 } },
                "statements": [{ "targets": ["v"], "domain": null, "expr": ["frobnicate", 1, 2] }],
            }),
            "statement 1 (`v`): there is no operation `frobnicate`",
        ),
        (
            json!({
                "outputs": { "v": { "dims": ["I"], "origin": [0], "shape": [2], "fill": 0.0 } },
                "statements": [{ "targets": ["v"], "domain": null, "expr": ["add", ["ref", "v"]] }],
            }),
            "statement 1 (`v`): `add` does not take 1 parts: [\"add\",[\"ref\",\"v\"]]",
        ),
        (json!({ "inputs": {} }), "`statements` is a list, not null"),
    ];
    for (json, expected) in cases {
        assert_eq!(read_field_case(&json).expect_err(expected).to_string(), expected);
    }
    // A shift that is too long is told as one.
    let far = json!({
        "outputs": { "v": { "dims": ["I"], "origin": [0], "shape": [2], "fill": 0.0 } },
        "statements": [{ "targets": ["v"], "domain": null, "expr": ["shift", ["ref", "v"], { "I": 2147483648_i64 }] }],
    });
    let (program, _) = read_field_case(&far).expect("a program");
    let error = check_program(&program).expect_err("too far").remove(0).to_string();
    assert_eq!(error, "statement 1 (`v`): limit field-shift: a shift by 2147483648 along I");
    // Lists that nest without end.
    let mut deep = json!(["ref", "v"]);
    for _ in 0..400 {
        deep = json!(["neg", deep]);
    }
    let case = json!({
        "outputs": { "v": { "dims": ["I"], "origin": [0], "shape": [2], "fill": 0.0 } },
        "statements": [{ "targets": ["v"], "domain": null, "expr": deep }],
    });
    let error = read_field_case(&case).expect_err("too deep").to_string();
    assert_eq!(error, "statement 1 (`v`): limit field-nesting: the expression has more than 250 levels");
    let huge = json!({
        "outputs": { "v": { "dims": ["I", "J"], "origin": [0, 0], "shape": [2000000000, 2000000000], "fill": 0.0 } },
        "statements": [],
    });
    let (program, mut data) = read_field_case(&huge).expect("a program");
    let error = data.complete(&program).expect_err("too large").to_string();
    assert!(error.starts_with("limit field-cells"), "{error}");
}
