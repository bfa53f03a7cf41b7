//! Runs that are kept: steps of a plan on buffers that move, change places and layouts give what a new plan gives for each step.

use cembra::backend::{FieldPlan, run_field_program};
use cembra::field::{FieldBuffer, FieldCells, FieldData, FieldProgram, TableEntries, parse_field_program};
use cembra::vm::machine::{Budget, CancelToken, SharedBudget};
use cembra::vm::value::{ScalarType, ScalarValue};
use std::sync::Arc;

/// Steps after which the machine has compiled strips of small boxes.
const WARM: usize = 600;

fn parse(text: &str) -> FieldProgram {
    parse_field_program(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]))
}

const HEAT: &str = "horizontal I, J\ninput u[I, J]\nscalar k\noutput v[I, J]\n\
                    lap = -4.0*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\nm = k*0.5\n\
                    v[I=1:63, J=1:63] = where(lap < -m, u, u + k*lap)\n";

const TWICE: &str = "horizontal I, J\ninput u[I, J]\noutput v[I, J]\n\
                     lap = -4.0*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\n\
                     v[I=2:62, J=2:62] = -4.0*lap + lap[I-1] + lap[I+1] + lap[J-1] + lap[J+1]\n";

const SCANS: &str = "horizontal I\nvertical J\ninput u[I, J]\nscalar k\noutput p[I, J], q[I, J], v[I, J]\n\
                     p, q = scan(J forward; a = 0.25, b = -1.0; u/(4.0 - k*a), (u - b)*0.125)\n\
                     v = scan(J backward; s = 2.0; q - p*s)\n";

/// A buffer of 64 x 64 points, laid out in one of some ways.
fn laid_out(buffer: &FieldBuffer, way: usize) -> FieldBuffer {
    let (strides, start) = [([64_isize, 1], 0), ([70, 1], 3), ([1, 64], 0), ([1, 67], 5), ([130, 2], 1)][way];
    let mut cells = vec![-9.0; 64 * 130 + 8];
    for (at, value) in buffer.view().cells::<f64>().enumerate() {
        cells[start + at / 64 * strides[0] as usize + at % 64 * strides[1] as usize] = value;
    }
    let cells = FieldCells::Float64(cells);
    FieldBuffer::strided(cells, buffer.origin(), buffer.shape(), &strides, start).expect("inside")
}

fn data_of(program: &FieldProgram, way: usize) -> FieldData {
    let mut data = FieldData::default();
    let cells = (0..64 * 64).map(|at| ((at * 7919 % 1009) as f64 - 500.0) / 512.0).collect();
    let plane =
        FieldBuffer::row_major(FieldCells::Float64(cells), &[0, 0], &[64, 64]).expect("as many cells");
    for field in &program.fields {
        data.fields.insert(field.name.to_string(), laid_out(&plane, way));
    }
    data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.125));
    data
}

fn bits(data: &FieldData) -> Vec<(String, Vec<u64>)> {
    let one = |buffer: &FieldBuffer| buffer.view().cells::<f64>().map(f64::to_bits).collect();
    let floats = data.fields.iter().filter(|(_, buffer)| matches!(buffer.cells(), FieldCells::Float64(_)));
    floats.map(|(name, buffer)| (name.clone(), one(buffer))).collect()
}

/// The plan gives what a new one gives, which has kept nothing.
fn check(plan: &mut FieldPlan, data: &mut FieldData, context: &str) {
    let mut alone = data.clone();
    plan.run(data).unwrap_or_else(|error| panic!("{context}: {error}"));
    run_field_program(plan.program(), &mut alone).unwrap_or_else(|errors| panic!("{context}: {}", errors[0]));
    assert!(bits(data) == bits(&alone), "{context}");
}

fn warm(plan: &mut FieldPlan, data: &mut FieldData) {
    for step in 0..WARM {
        plan.run(data).unwrap_or_else(|error| panic!("step {step}: {error}"));
    }
}

#[test]
fn buffers_move_change_places_and_layouts_between_steps() {
    for text in [HEAT, TWICE, SCANS] {
        let program = parse(text);
        for way in 0..5 {
            let mut data = data_of(&program, way);
            let mut plan = FieldPlan::new(&program, &data).expect("a plan");
            warm(&mut plan, &mut data);
            check(&mut plan, &mut data, "the same buffers");
            for step in 0..12 {
                let (u, v) = (data.fields["u"].clone(), data.fields["v"].clone());
                // Other memory, then the target in place of what was read.
                data.fields.insert("u".to_owned(), v);
                data.fields.insert("v".to_owned(), u);
                check(&mut plan, &mut data, &format!("way {way}, exchange {step}\n{text}"));
                let name = if step % 2 == 0 { "u" } else { "v" };
                let other = laid_out(&data.fields[name], (way + step) % 5);
                data.fields.insert(name.to_owned(), other);
                check(&mut plan, &mut data, &format!("way {way}, layout {step}\n{text}"));
                data.scalars.insert("k".to_owned(), ScalarValue::Float64(0.125 / (step + 1) as f64));
                check(&mut plan, &mut data, &format!("way {way}, scalar {step}\n{text}"));
            }
            assert_eq!(plan.compilations(), 1);
        }
    }
}

#[test]
fn other_sizes_and_types_are_seen_between_steps() {
    let program = parse(HEAT);
    let mut data = data_of(&program, 0);
    let mut plan = FieldPlan::new(&program, &data).expect("a plan");
    warm(&mut plan, &mut data);
    let u = data.fields["u"].clone();
    // As many cells from the same one on, and fewer points.
    let narrow = FieldBuffer::strided(u.cells().clone(), &[0, 0], &[63, 64], &[64, 1], 0).expect("inside");
    let short = FieldBuffer::row_major(FieldCells::Float64(vec![1.0; 63 * 63]), &[0, 0], &[63, 63]);
    let moved = FieldBuffer::strided(u.cells().clone(), &[1, 0], &[64, 64], &[64, 1], 0).expect("inside");
    let single = FieldBuffer::row_major(FieldCells::Float32(vec![1.0; 64 * 64]), &[0, 0], &[64, 64]);
    for (wrong, class) in [
        (narrow, "out_of_domain"),
        (short.expect("cells"), "out_of_domain"),
        (moved, "out_of_domain"),
        (single.expect("cells"), "dtype_mismatch"),
    ] {
        let before = bits(&data);
        let right = data.fields.insert("u".to_owned(), wrong).expect("the field");
        let error = plan.run(&mut data).expect_err("a field of other points or elements");
        assert_eq!(error.problem.class(), class, "{error}");
        data.fields.insert("u".to_owned(), right);
        assert!(bits(&data) == before, "{class}");
        check(&mut plan, &mut data, class);
    }
}

#[test]
fn kept_steps_use_up_what_other_steps_use_up() {
    for text in [HEAT, TWICE, SCANS] {
        let program = parse(text);
        let mut data = data_of(&program, if text == SCANS { 2 } else { 0 });
        let budget = Arc::new(SharedBudget::default());
        let mut plan = FieldPlan::new(&program, &data).expect("a plan").within(budget.clone());
        plan.run(&mut data).expect("values");
        let first = budget.used();
        for step in 2..WARM as u64 {
            plan.run(&mut data).expect("values");
            let used = budget.used();
            assert_eq!(
                (used.instructions, used.rows),
                (step * first.instructions, step * first.rows),
                "{text}"
            );
        }
        // The budget ends inside of a step.
        let rows = budget.used().rows + first.rows / 2;
        let whole = Budget { rows: Some(rows), ..Budget::default() };
        let budget = Arc::new(SharedBudget::new(whole));
        let mut plan = FieldPlan::new(&program, &data).expect("a plan").within(budget);
        let steps = (0..).find_map(|step| plan.run(&mut data).err().map(|error| (step, error)));
        let (step, error) = steps.expect("the budget ends");
        assert_eq!(step, rows / first.rows, "{error}");
        assert!(error.to_string().contains(&format!("more than {rows} rows")), "{error}");
    }
}

#[test]
fn a_token_stops_a_step_that_is_kept() {
    let program = parse(SCANS);
    let mut data = data_of(&program, 2);
    let cancel = CancelToken::new();
    let budget = Budget { cancel: Some(cancel.clone()), ..Budget::default() };
    let mut plan =
        FieldPlan::new(&program, &data).expect("a plan").within(Arc::new(SharedBudget::new(budget)));
    warm(&mut plan, &mut data);
    cancel.cancel();
    let error = plan.run(&mut data).expect_err("a token stops it");
    assert!(error.to_string().contains("cancelled"), "{error}");
}

/// Masks, fields without the vertical axis, bands, tables, and levels of a single point.
#[test]
fn all_kinds_of_reads_are_kept() {
    let texts = [
        "horizontal I, J\ninput u[I, J], w[J], z[I]\noutput v[I, J]\nv = concat_where(J < 9, u*w, u + z*w)\n",
        "horizontal I\nvertical J\ninput u[I, J], z[I]\noutput v[I, J]\n\
         v = scan(J forward; s = 0.5; s*z + where(u > 0.0, u, s))\n",
        "vertical J\ninput w[J]\noutput v[J]\nv = scan(J backward; s = 0.5; s*0.75 + w)\n",
        "horizontal I, J\ninput b[I, J]: int32\ninput u[I, J]\noutput v[I, J]\n\
         v = where((u > 0.0) and (b > 2), u*2.0, -u)\n",
    ];
    for text in texts {
        let program = parse(text);
        let mut data = FieldData::default();
        for field in &program.fields {
            let shape = vec![64; field.dims.len()];
            let count = shape.iter().product();
            let cells = match field.dtype {
                ScalarType::Int32 => FieldCells::Int32((0..count as i32).map(|at| at % 7).collect()),
                _ => FieldCells::Float64((0..count).map(|at: usize| (at * 37 % 101) as f64 - 50.0).collect()),
            };
            let origin = vec![0; shape.len()];
            let buffer = match shape.len() {
                2 => FieldBuffer::strided(cells, &origin, &shape, &[1, 64], 0),
                _ => FieldBuffer::row_major(cells, &origin, &shape),
            };
            data.fields.insert(field.name.to_string(), buffer.expect("as many cells"));
        }
        let mut plan = FieldPlan::new(&program, &data).expect("a plan");
        for step in 0..WARM {
            match step % 50 {
                49 => check(&mut plan, &mut data, &format!("step {step}\n{text}")),
                _ => plan.run(&mut data).expect("values"),
            }
        }
    }
}

const MESH: &str = "horizontal I, Cell, Edge\ntable C2E: Cell -> Edge width 3 skip -1\n";

/// Cells that positions along the last axis choose are read where they lie: in more points than a band has, of each element type,
/// beside other axes, and of fields whose cells do not stand one after the other.
#[test]
fn elements_that_tables_choose_are_read_by_kept_runs() {
    let (many, few) = (24_000, 130);
    let bodies = [
        (many, 1, "input e[Edge]\noutput v[Cell]\nv = neighbor_sum(2.0*e[C2E], C2E)\n"),
        (many, 1, "input e[Edge], w[Cell]\noutput v[Cell]\nv = max_over(e[C2E], C2E)*w - e[C2E[0]]\n"),
        (many, 1, "input g[Edge]: float32\noutput h[Cell]: float32\nh = neighbor_sum(g[C2E], C2E)\n"),
        (
            many,
            1,
            "input i[Edge]: int32, l[Edge]: int64\noutput j[Cell]: int32, m[Cell]: int64\n\
          j, m = i[C2E[0]]*i[C2E[0]] - 1, l[C2E[0]] + int64(i[C2E[0]])\n",
        ),
        (
            few,
            1,
            "input b[Edge]: bool\ninput e[Edge]\noutput v[Cell]\nv = where(b[C2E[0]], e[C2E[0]], 0.5)\n",
        ),
        (many, 2, "input e[Edge]\noutput v[Cell]\nv = neighbor_sum(2.0*e[C2E], C2E)\n"),
        (few, 1, "input x[I, Edge]\noutput y[I, Cell]\ny = neighbor_sum(x[C2E], C2E) - x[C2E[0]]*0.5\n"),
        (
            few,
            1,
            "input x[I, Edge]\noutput y[I, Cell]\ns = x[C2E[0]]\ny[I=1:8, Cell=17:91] = s[I+1] - s[I-1]\n",
        ),
        (
            few,
            1,
            "input e[Edge]\noutput v[Cell]\nd = e[C2E[0]] * e[C2E[0]] - 1.0/(e[C2E[0]] + 9.5)\n\
          v[Cell=1:99] = d[Cell-1] + d[Cell+1]*d\n",
        ),
    ];
    for (cells, step, body) in bodies {
        let program = parse(&format!("{MESH}{body}"));
        let edges = cells / 2;
        let mut data = FieldData::default();
        for field in &program.fields {
            let names = field.dims.iter().map(|dim| program.dim_name(*dim));
            let shape: Vec<usize> = names
                .map(|name| match name {
                    "I" => 9,
                    "Edge" => edges,
                    _ => cells,
                })
                .collect();
            let count = shape.iter().product::<usize>() * step;
            let numbers = || (0..count as i32).map(|at| at % 101 * 37 % 101 - 50);
            let values = match field.dtype {
                ScalarType::Boolean => FieldCells::Bool(numbers().map(|at| at > 0).collect()),
                ScalarType::Int32 => FieldCells::Int32(numbers().collect()),
                ScalarType::Int64 => FieldCells::Int64(numbers().map(|at| i64::from(at) << 33).collect()),
                ScalarType::Float32 => FieldCells::Float32(numbers().map(|at| at as f32 / 8.0).collect()),
                _ => FieldCells::Float64(numbers().map(|at| f64::from(at) / 8.0).collect()),
            };
            let strides = match shape[..] {
                [_] => vec![step as isize],
                _ => vec![shape[1] as isize, 1],
            };
            let buffer = FieldBuffer::strided(values, &vec![0; shape.len()], &shape, &strides, 0);
            data.fields.insert(field.name.to_string(), buffer.expect("as many cells"));
        }
        let missing = |at: usize| !at.is_multiple_of(3) && at % 97 == 5;
        let entry = |at: usize| if missing(at) { -1 } else { (at * 7919 % edges) as i64 };
        let entries = TableEntries::new((0..3 * cells).map(entry).collect(), 3);
        data.tables.insert("C2E".to_owned(), entries.expect("whole rows"));
        let budget = Arc::new(SharedBudget::default());
        let mut plan = FieldPlan::new(&program, &data).expect("a plan").within(budget.clone());
        let mut alone = data.clone();
        run_field_program(&program, &mut alone).expect("values");
        plan.run(&mut data).expect("values");
        let first = budget.used();
        for step in 2..WARM as u64 / if cells == many { 6 } else { 1 } {
            plan.run(&mut data).expect("values");
            assert!(data.fields == alone.fields, "step {step}\n{body}");
            let used = budget.used();
            let expected = (step * first.instructions, step * first.rows);
            assert_eq!((used.instructions, used.rows), expected, "step {step}\n{body}");
        }
    }
}

/// Boxes of few points, of rows that begin at lines of the cache, and of more points than the caches hold.
#[test]
fn boxes_of_any_size_keep_their_runs() {
    let text = "horizontal I, J\ninput u[I, J]\nscalar r: int32, c: int32\noutput v[I, J], w[I, J]\n\
                lap = -4.0*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\n\
                v[I=1:r-1, J=1:c-1], w[I=1:r-1, J=1:c-1] = where(lap < 0.0, u, u + 0.125*lap), lap\n";
    let program = parse(text);
    for (rows, columns, steps) in
        [(3, 3, WARM), (4, 4, WARM), (8, 8, WARM), (9, 5, WARM), (7, 700, WARM), (1000, 1101, 4)]
    {
        // Rows begin anywhere: between two stand some cells, and before all of them.
        for (gap, start) in [(0, 0), (3, 1), (8, 5)] {
            let cells = |seed: usize| {
                let cell = |at: usize| ((at * 7919 + seed) % 1009) as f64 / 512.0 - 1.0;
                FieldCells::Float64((0..start + rows * (columns + gap)).map(cell).collect())
            };
            let strides = [(columns + gap) as isize, 1];
            let field = |seed| FieldBuffer::strided(cells(seed), &[0, 0], &[rows, columns], &strides, start);
            let mut data = FieldData::default();
            for (seed, name) in ["u", "v", "w"].into_iter().enumerate() {
                data.fields.insert(name.to_owned(), field(seed).expect("inside"));
            }
            for (name, size) in [("r", rows), ("c", columns)] {
                data.scalars.insert(name.to_owned(), ScalarValue::Int32(size as i32));
            }
            let context = format!("{rows} x {columns}, gaps of {gap}, from cell {start}");
            let mut plan =
                FieldPlan::new(&program, &data).unwrap_or_else(|errors| panic!("{context}: {}", errors[0]));
            for _ in 0..steps {
                plan.run(&mut data).unwrap_or_else(|error| panic!("{context}: {error}"));
            }
            check(&mut plan, &mut data, &context);
        }
    }
}
