//! The ways a statement runs, on boxes that are large enough for them: strips over runs of points, bands with temporaries,
//! points taken by lists, planes of scans that are apart or mixed. Each gives the bits that plain loops give.

use crate::field::tiers::native;
use cembra::backend::FieldPlan;
use cembra::field::{FieldBuffer, FieldCells, FieldData, FieldProgram, TableEntries, parse_field_program};
use cembra::vm::machine::{Budget, CancelToken, SharedBudget};
use cembra::vm::value::ScalarValue;
use std::sync::Arc;

fn parse(text: &str) -> FieldProgram {
    parse_field_program(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]))
}

/// Numbers of both signs, with NaN, infinities and -0 among them.
fn numbers(count: usize) -> Vec<f64> {
    let number = |at: usize| match at * 7919 % 1009 {
        13 => f64::NAN,
        101 => f64::INFINITY,
        500 => -0.0,
        other => (other as f64 - 400.0) / 64.0,
    };
    (0..count).map(number).collect()
}

/// A buffer of two axes: rows after rows, rows with gaps, or columns after columns.
fn plane(cells: &[f64], shape: [usize; 2], layout: usize) -> FieldBuffer {
    let strides = match layout {
        0 => [shape[1], 1],
        1 => [shape[1] + 3, 1],
        _ => [1, shape[0]],
    };
    let mut all = vec![0.0; strides[0] * (shape[0] - 1) + strides[1] * (shape[1] - 1) + 1];
    for (at, cell) in cells.iter().enumerate() {
        all[at / shape[1] * strides[0] + at % shape[1] * strides[1]] = *cell;
    }
    let strides = strides.map(|stride| stride as isize);
    FieldBuffer::strided(FieldCells::Float64(all), &[0, 0], &shape, &strides, 0).expect("the cells are there")
}

fn bits(buffer: &FieldBuffer) -> Vec<u64> {
    // Which NaN an operation gives is not said.
    let bits = |cell: f64| if cell.is_nan() { u64::MAX } else { cell.to_bits() };
    buffer.view().cells::<f64>().map(bits).collect()
}

/// Runs a program often enough for compiled strips, on all layouts of its planes, on one thread and on two.
fn check(text: &str, shape: [usize; 2], target: &str, expected: &[f64]) {
    let program = parse(text);
    // Threads share boxes of many points.
    for (layout, threads) in [(0, 1), (1, 1), (2, 1), (0, 2)] {
        let mut data = FieldData::default();
        for field in &program.fields {
            let is_input = field.role == cembra::field::FieldRole::Input;
            let cells = if is_input { numbers(shape[0] * shape[1]) } else { vec![7.0; shape[0] * shape[1]] };
            data.fields.insert(field.name.to_string(), plane(&cells, shape, layout));
        }
        data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.25));
        let mut plan = FieldPlan::new(&program, &data).expect("a plan").threads(threads);
        let wanted = bits(&plane(expected, shape, 0));
        // As many as make the machine compile strips.
        for run in 0..(400_000 / expected.len()).clamp(4, 1500) {
            plan.run(&mut data).expect("values");
            let found = bits(&data.fields[target]);
            assert!(found == wanted, "layout {layout}, threads {threads}, run {run}\n{text}");
        }
        // The same by libraries, over what the runs before have stored.
        let mut plan = plan.on(native()).expect("memory");
        assert_eq!(plan.interpreted(), [], "{text}");
        plan.run(&mut data).expect("values");
        assert!(bits(&data.fields[target]) == wanted, "layout {layout}, native code\n{text}");
    }
}

const LAP: &str = "lap = -4.0*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\n";

fn lap(u: &[f64], columns: usize, at: usize) -> f64 {
    -4.0 * u[at] + u[at - columns] + u[at + columns] + u[at - 1] + u[at + 1]
}

/// The value of a function at the points inside of a halo, 7 elsewhere.
fn inside([rows, columns]: [usize; 2], halo: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let is_inside = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        (halo..rows - halo).contains(&row) && (halo..columns - halo).contains(&column)
    };
    (0..rows * columns).map(|at| if is_inside(at) { value(at) } else { 7.0 }).collect()
}

#[test]
fn stencils_run_in_strips_over_rows() {
    for shape in [[300, 70], [9, 17], [400, 300]] {
        let [rows, columns] = shape;
        let u = numbers(rows * columns);
        let text = format!(
            "horizontal I, J\ninput u[I, J]\nscalar k\noutput v[I, J]\n{LAP}\
             v[I=1:{}, J=1:{}] = where(lap > 0.5, u + k*lap, u)\n",
            rows - 1,
            columns - 1
        );
        let value = |at: usize| {
            let lap = lap(&u, columns, at);
            if lap > 0.5 { u[at] + 0.25 * lap } else { u[at] }
        };
        check(&text, shape, "v", &inside(shape, 1, value));
    }
}

#[test]
fn intermediates_are_kept_band_by_band() {
    let twice = "-4.0*lap + lap[I-1] + lap[I+1] + lap[J-1] + lap[J+1]";
    for shape in [[300, 70], [37, 2100], [6, 6]] {
        let [rows, columns] = shape;
        let u = numbers(rows * columns);
        let (i, j) = (rows - 2, columns - 2);
        let head = format!("horizontal I, J\ninput u[I, J]\noutput v[I, J]\n{LAP}");
        let inner: Vec<f64> = inside(shape, 1, |at| lap(&u, columns, at));
        let expected = inside(shape, 2, |at| lap(&inner, columns, at));
        check(&format!("{head}v[I=2:{i}, J=2:{j}] = {twice}\n"), shape, "v", &expected);
        // A temporary of a temporary.
        if rows > 6 {
            let text = format!(
                "{head}w = {twice}\nv[I=3:{}, J=3:{}] = -4.0*w + w[I-1] + w[I+1] + w[J-1] + w[J+1]\n",
                i - 1,
                j - 1
            );
            let middle = inside(shape, 2, |at| lap(&inner, columns, at));
            check(&text, shape, "v", &inside(shape, 3, |at| lap(&middle, columns, at)));
        }
    }
}

/// Of a chain of operations at the same places the last one is kept, and none of those that it takes.
#[test]
fn the_last_operation_of_a_chain_is_kept() {
    let programs_of = |size: usize, lines: &str| {
        let program = parse(&format!("horizontal I, J\ninput u[I, J]\noutput v[I, J]\n{lines}\n"));
        let mut data = FieldData::default();
        data.fields.insert("u".to_owned(), plane(&numbers(size * size), [size, size], 0));
        data.complete(&program).expect("an input with both dimensions");
        FieldPlan::new(&program, &data).expect("a plan").programs().len()
    };
    let programs = |lines: &str| programs_of(24, lines);
    let lap = |name: &str, of: &str| {
        format!("{name} = -4.0*{of} + {of}[I-1] + {of}[I+1] + {of}[J-1] + {of}[J+1]\n")
    };
    let (first, second) = (lap("a", "u"), lap("b", "a"));
    assert_eq!(programs(&format!("{first}v[I=3:20, J=3:20] = a - u")), 1);
    assert_eq!(programs(&format!("{first}{second}v[I=3:20, J=3:20] = b")), 2);
    let third = lap("c", "b");
    assert_eq!(programs(&format!("{first}{second}{third}v[I=3:20, J=3:20] = c")), 3);
    assert_eq!(
        programs("r = sqrt(u*u + u[I+1]*u) / u\nv[I=3:20, J=3:20] = r - r[I-1]"),
        2,
        "roots and divisions take long"
    );
    // Of fields that come from memory, additions are done while loads are waited for.
    let inside = format!("{first}{second}v[I=3:1090, J=3:1090] = b");
    assert_eq!((programs_of(1100, &inside), programs_of(1000, &inside.replace("1090", "900"))), (1, 2));
    assert_eq!(
        programs("d = u[I+1] - u\nv[I=3:20, J=3:20] = d - d[I-1]"),
        1,
        "an operation is soon done again"
    );
}

#[test]
fn a_statement_with_temporaries_may_read_its_target() {
    let (shape, columns) = ([300, 70], 70);
    let program = parse(&format!(
        "horizontal I, J\noutput u[I, J]\n{LAP}u[I=2:298, J=2:68] = u - 0.125*(lap[I-1] + lap[I+1] + lap[J+1])\n"
    ));
    let mut expected = numbers(300 * 70);
    let mut data = FieldData::default();
    data.fields.insert("u".to_owned(), plane(&expected, shape, 0));
    let mut plan = FieldPlan::new(&program, &data).expect("a plan");
    for _ in 0..4 {
        plan.run(&mut data).expect("values");
        let before = expected.clone();
        for at in (0..300 * 70).filter(|at| (2..298).contains(&(at / 70)) && (2..68).contains(&(at % 70))) {
            let lap = |at| lap(&before, columns, at);
            expected[at] = before[at] - 0.125 * (lap(at - columns) + lap(at + columns) + lap(at + 1));
        }
        assert!(bits(&data.fields["u"]) == bits(&plane(&expected, shape, 0)));
    }
}

#[test]
fn scans_hand_on_in_planes_apart_and_mixed() {
    for shape in [[700, 12], [3, 1], [9000, 3]] {
        let [columns, levels] = shape;
        let u = numbers(columns * levels);
        let (mut p, mut q) = (vec![7.0; columns * levels], vec![7.0; columns * levels]);
        for column in 0..columns {
            let mut a = 0.5;
            for level in (0..levels).rev() {
                let at = column * levels + level;
                q[at] = a;
                a = u[at] - 0.25 * a;
                p[at] = a;
            }
        }
        let text = "horizontal I\nvertical K\ninput u[I, K]\nscalar k\noutput p[I, K], q[I, K]\n\
                    p, q = scan(K backward; a = 0.5, b = 2.0; u - k*a, a)\n";
        check(text, shape, "p", &p);
        check(text, shape, "q", &q);
        check(&text.replace("vertical K", "horizontal K"), shape, "p", &p);
        // Along the first axis, whose planes are rows.
        for level in 0..levels {
            let mut a = 0.5;
            for column in 0..columns {
                let at = column * levels + level;
                a = 0.25 * a - u[at];
                p[at] = a;
            }
        }
        let text = "horizontal I, J\ninput u[I, J]\nscalar k\noutput p[I, J]\n\
                    p = scan(I forward; a = 0.5; k*a - u)\n";
        check(text, shape, "p", &p);
    }
}

#[test]
fn points_are_taken_band_by_band() {
    let (cells, edges) = (30_000, 20_000);
    let entry = |at: usize| if at % 97 == 5 { -1 } else { (at * 7919 % edges) as i64 };
    let table: Vec<i64> = (0..3 * cells).map(entry).collect();
    let e = numbers(edges);
    let program = parse(
        "horizontal Edge, Cell\ntable C2E: Cell -> Edge width 3 skip -1\ninput e[Edge]\noutput out[Cell]\n\
         out = neighbor_sum(2.0*e[C2E], C2E)\n",
    );
    let expected = (0..cells).map(|cell| {
        let entries = table[3 * cell..][..3].iter().filter(|entry| **entry >= 0);
        entries.fold(0.0, |sum, entry| sum + 2.0 * e[*entry as usize])
    });
    let wanted: Vec<u64> = expected.map(|x| if f64::is_nan(x) { u64::MAX } else { x.to_bits() }).collect();
    let mut data = FieldData::default();
    let buffer = FieldBuffer::row_major(FieldCells::Float64(e.clone()), &[0], &[edges]).expect("cells");
    data.fields.insert("e".to_owned(), buffer);
    data.tables.insert("C2E".to_owned(), TableEntries::new(table.clone(), 3).expect("rows of three"));
    let out = FieldCells::Float64(vec![0.0; cells]);
    data.fields.insert("out".to_owned(), FieldBuffer::row_major(out, &[0], &[cells]).expect("cells"));
    let mut plan = FieldPlan::new(&program, &data).expect("a plan");
    for _ in 0..30 {
        plan.run(&mut data).expect("values");
        assert!(bits(&data.fields["out"]) == wanted);
    }
}

#[test]
fn a_budget_is_used_up_by_all_runs() {
    let program = parse("horizontal I\ninput u[I]\noutput v[I], w[I]\nv = 2.0*u\nw = u\n");
    let mut data = FieldData::default();
    let u = FieldBuffer::row_major(FieldCells::Float64(numbers(100)), &[0], &[100]).expect("cells");
    data.fields.insert("u".to_owned(), u);
    data.complete(&program).expect("one dimension");
    let run = |budget: Budget, data: &mut FieldData| {
        let plan = FieldPlan::new(&program, data).expect("a plan");
        let mut plan = plan.within(Arc::new(SharedBudget::new(budget)));
        (0..100).find_map(|step| plan.run(data).err().map(|error| (step, error.to_string())))
    };
    assert_eq!(run(Budget::default(), &mut data), None);
    let rows = Budget { rows: Some(1000), ..Budget::default() };
    let (step, message) = run(rows, &mut data).expect("an error");
    assert!(step == 10 && message.starts_with("statement 1 (`v`): out of rows"), "step {step}: {message}");
    let cancel = CancelToken::new();
    cancel.cancel();
    let (step, message) =
        run(Budget { cancel: Some(cancel), ..Budget::default() }, &mut data).expect("an error");
    assert!(step == 0 && message.contains("cancelled"), "step {step}: {message}");
}

/// Points of tables count while the plan is made, and a token ends it.
#[test]
fn a_budget_is_used_up_by_planning() {
    let program = parse(
        "horizontal Edge, Cell\ntable C2E: Cell -> Edge width 4\ninput e[Edge]\noutput v[Cell]\nv = neighbor_sum(e[C2E], C2E)\n",
    );
    let mut data = FieldData::default();
    let cells = 1000;
    let e = FieldBuffer::row_major(FieldCells::Float64(numbers(cells)), &[0], &[cells]).expect("cells");
    data.fields.insert("e".to_owned(), e);
    let v = FieldBuffer::row_major(FieldCells::Float64(numbers(cells)), &[0], &[cells]).expect("cells");
    data.fields.insert("v".to_owned(), v);
    let entries = (0..4 * cells as i64).map(|entry| entry / 4).collect();
    data.tables.insert("C2E".to_owned(), TableEntries::new(entries, 4).expect("rows"));
    let plan = |budget: Budget| {
        let plan = FieldPlan::new_within(&program, &data, Some(Arc::new(SharedBudget::new(budget))));
        plan.err().map(|errors| errors[0].to_string())
    };
    assert_eq!(plan(Budget::default()), None);
    let few = plan(Budget { bytes_alive: 10_000, ..Budget::default() }).expect("an error");
    assert!(few.contains("bytes"), "{few}");
    let cancel = CancelToken::new();
    cancel.cancel();
    let ended = plan(Budget { cancel: Some(cancel), ..Budget::default() }).expect("an error");
    assert!(ended.contains("cancelled"), "{ended}");
}

/// What statements keep counts before it is made: temporaries, values of statements that read what they write, elements that
/// tables choose.
#[test]
fn what_statements_keep_are_bytes_that_are_alive() {
    let field = 100 * 100 * 8;
    // Each with the bytes that it keeps.
    let cases = [
        ("v = u*2", 0),
        (
            "l = -4*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\nv[I=2:98, J=2:98] = -4*l + l[I-1] + l[I+1] + l[J-1] + l[J+1]",
            98 * 98 * 8,
        ),
        ("v[I=1:100, J=0:100] = v[I-1] + u", 99 * 100 * 8),
        ("v, w = w, v", 2 * field),
        ("v = scan(J forward; s = 0.0; s + v)", field),
        // Two lists of 100 points, and what they choose: a band could have 163 rows.
        ("v = u[N[0]] + u[N[1]]", 2 * field + 2 * 100 * 4),
        // Statements keep their memory side by side.
        ("v[I=1:100, J=0:100] = v[I-1] + u\nw[I=1:100, J=0:100] = w[I-1] + v", 2 * 99 * 100 * 8),
    ];
    for (statements, kept) in cases {
        let declared = "horizontal I, J\ntable N: I -> I width 2\ninput u[I, J]\noutput v[I, J], w[I, J]\n";
        let program = parse(&format!("{declared}{statements}\n"));
        let mut data = FieldData::default();
        for name in ["u", "v", "w"] {
            let cells = FieldCells::Float64(numbers(10_000));
            data.fields
                .insert(name.to_owned(), FieldBuffer::row_major(cells, &[0, 0], &[100, 100]).expect("cells"));
        }
        let entries = (0..200).map(|entry| entry * 37 % 100).collect();
        data.tables.insert("N".to_owned(), TableEntries::new(entries, 2).expect("rows"));
        let before = data.clone();
        let mut run = |bytes_alive: u64| {
            let budget = Arc::new(SharedBudget::new(Budget { bytes_alive, ..Budget::default() }));
            let mut plan = match FieldPlan::new_within(&program, &data, Some(budget)) {
                Ok(plan) => plan,
                Err(errors) => return Some(format!("planning: {}", errors[0])),
            };
            let runs = (0..3).map(|_| plan.run(&mut data));
            runs.collect::<Result<(), _>>().err().map(|error| format!("running: {error}"))
        };
        if kept > 0 {
            let refused =
                run(before.bytes() + kept - 1).unwrap_or_else(|| panic!("{statements}: there is enough"));
            assert!(
                refused.starts_with("planning: ") && refused.contains("limit bytes-alive"),
                "{statements}: {refused}"
            );
        }
        // Frames have bytes as well: a plane, where operations are no strips.
        assert_eq!(run(before.bytes() + kept + field + 2_000), None, "{statements}");
    }
}

/// Each target has the values of a scan on its own domain: it begins there, and an empty one is not written.
#[test]
fn targets_of_a_scan_have_domains_of_their_own() {
    let declared =
        "horizontal I\nvertical K\ninput u[I, K]\noutput v[I, K] fill 9, w[I, K] fill 9\nscalar n: int32\n";
    let scan = "scan(K forward; s = 0.0, t = 1.0; s + t, t*u)";
    for (domains, v, w) in [
        // `t` is 2, 4, 8 from the first level on, `s` the sum of those before.
        ("v[I=0:2, K=0:3], w[I=1:2, K=1:3]", [1.0, 3.0, 7.0, 1.0, 3.0, 7.0], [9.0, 9.0, 9.0, 9.0, 2.0, 4.0]),
        ("v[I=0:1, K=n:3], w[I=0:2, K=2:2]", [9.0, 1.0, 3.0, 9.0, 9.0, 9.0], [9.0; 6]),
    ] {
        for (statement, before) in [(scan.to_owned(), 2.0), (scan.replace('u', "(u + v - 9)"), 2.0)] {
            let program = parse(&format!("{declared}{domains} = {statement}\n"));
            let mut data = FieldData::default();
            let u = FieldBuffer::row_major(FieldCells::Float64(vec![before; 6]), &[0, 0], &[2, 3])
                .expect("cells");
            data.fields.insert("u".to_owned(), u);
            data.scalars.insert("n".to_owned(), ScalarValue::Int32(1));
            data.complete(&program).expect("extents are known");
            FieldPlan::new(&program, &data).expect("a plan").run(&mut data).expect("values");
            for (name, values) in [("v", v), ("w", w)] {
                assert_eq!(
                    data.fields[name].cells(),
                    &FieldCells::Float64(values.to_vec()),
                    "{domains}: {name}"
                );
            }
        }
    }
}

/// Each part is lowered by a look at its first point.
#[test]
fn many_conditions_cut_a_domain() {
    let nested: String = (0..200)
        .map(|at| format!("a{} = concat_where(I < {}, a{at}, a{at} + 1.0)\n", at + 1, 4 * at))
        .collect();
    let program = parse(&format!("horizontal I\ninput u[I]\noutput v[I]\na0 = u\n{nested}v = a200\n"));
    let mut data = FieldData::default();
    let u = FieldBuffer::row_major(FieldCells::Float64(vec![0.0; 800]), &[0], &[800]).expect("cells");
    data.fields.insert("u".to_owned(), u);
    data.complete(&program).expect("one dimension");
    FieldPlan::new(&program, &data).expect("a plan").run(&mut data).expect("values");
    let expected = (0..800).map(|point| f64::from(point / 4 + 1)).collect();
    assert_eq!(data.fields["v"].cells(), &FieldCells::Float64(expected));
}
