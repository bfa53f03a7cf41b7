//! 2,000 random programs: the machine and the evaluator index by index have the same bits, or both an error; whatever the
//! strides of the buffers, in strips, when a plan runs again, and after a way through text and JSON.

use crate::field::generate::{Flavor, Generator};
use crate::field::reference::Reference;
use crate::field::{difference, outputs_of, run_case, written};
use cembra::backend::FieldPlan;
use cembra::field::json::{read_field_case, write_field_program};
use cembra::field::{
    FieldBuffer, FieldCells, FieldData, FieldProgram, parse_field_program, print_field_program,
};
use cembra::vm::machine::Strips;
use fastrand::Rng;
use serde_json::Value as Json;
use std::ops::Range;

/// Compares outputs; the first difference with the name of the output.
pub(super) fn compare(expected: &Json, actual: &Json) -> Option<String> {
    let outputs = expected.as_object().expect("outputs by name");
    outputs.iter().find_map(|(name, expected)| {
        let found = difference(&expected["data"], &actual[name]["data"], None)?;
        Some(format!("{name}: {found}"))
    })
}

/// The same values in another order of memory: axes permuted, backwards, with gaps.
pub(super) fn scattered(buffer: &FieldBuffer, rng: &mut Rng) -> FieldBuffer {
    let shape = buffer.shape().to_vec();
    let mut order: Vec<usize> = (0..shape.len()).collect();
    rng.shuffle(&mut order);
    let mut strides = vec![0isize; shape.len()];
    let (mut next, mut start) = (rng.isize(1..3), 0isize);
    for axis in order {
        let size = shape[axis] as isize;
        strides[axis] = if rng.bool() { next } else { -next };
        if strides[axis] < 0 {
            start += (size - 1) * next;
        }
        next = next * size + rng.isize(0..2);
    }
    macro_rules! filled {
        ($variant:ident, $type:ty) => {{
            let mut cells = vec![<$type>::default(); next as usize];
            let values: Vec<$type> = buffer.view().cells::<$type>().collect();
            let mut index = vec![0usize; shape.len()];
            for value in values {
                let at: isize = index.iter().zip(&strides).map(|(i, stride)| *i as isize * stride).sum();
                cells[(start + at) as usize] = value;
                for axis in (0..shape.len()).rev() {
                    index[axis] += 1;
                    if index[axis] < shape[axis] {
                        break;
                    }
                    index[axis] = 0;
                }
            }
            FieldCells::$variant(cells)
        }};
    }
    let cells = match buffer.cells() {
        FieldCells::Bool(_) => filled!(Bool, bool),
        FieldCells::Int32(_) => filled!(Int32, i32),
        FieldCells::Int64(_) => filled!(Int64, i64),
        FieldCells::Float32(_) => filled!(Float32, f32),
        FieldCells::Float64(_) => filled!(Float64, f64),
    };
    let moved = FieldBuffer::strided(cells, buffer.origin(), &shape, &strides, start as usize);
    moved.and_then(|moved| moved.of_dtype(buffer.dtype())).expect("inside")
}

/// The random programs: 2,000, by seed.
pub(super) const PROGRAMS: [(Range<u64>, Flavor); 4] = [
    (0..900, Flavor::Grid),
    (1000..1500, Flavor::Mesh),
    (2000..2300, Flavor::NarrowGrid),
    (3000..3300, Flavor::NarrowMesh),
];

/// How many programs of a kind fulfil a condition.
fn count_of(kinds: &[Flavor], of: impl Fn(u64, Flavor) -> bool) -> usize {
    let programs = PROGRAMS.into_iter().filter(|(_, flavor)| kinds.contains(flavor));
    programs.map(|(seeds, flavor)| seeds.filter(|seed| of(*seed, flavor)).count()).sum()
}

/// Runs a program over and over, from the same data: with strips, and as the machine chooses.
fn check_strips(program: &FieldProgram, data: &FieldData, expected: &Json, context: &dyn Fn() -> String) {
    for strips in [Strips::Always, Strips::Auto] {
        let plan =
            FieldPlan::new(program, data).unwrap_or_else(|errors| panic!("{}\n{}", errors[0], context()));
        let mut plan = plan.strips(strips);
        for run in 0..3 {
            let mut data = data.clone();
            plan.run(&mut data).unwrap_or_else(|error| panic!("{error}\n{}", context()));
            let found = compare(expected, &written(program, &data));
            assert_eq!(found, None, "{strips:?}, run {run}\n{}", context());
        }
    }
}

/// Runs a case on every way; true if it has values, false if it has an error.
fn check(seed: u64, flavor: Flavor) -> bool {
    let case = Generator::new(seed, flavor).case(flavor);
    let context = || format!("seed {seed} {flavor:?}\n{case}");
    let outcome = run_case(&case);
    let expected = match (Reference::new(&case).run(), &outcome) {
        (Ok(expected), Ok(actual)) => {
            let found = compare(&expected, actual);
            assert!(found.is_none(), "{}\n{}", found.unwrap_or_default(), context());
            expected
        }
        (Err(classes), Err(error)) => {
            let class = error.problem.class();
            assert!(classes.contains(class), "{error} ({class}) instead of {classes:?}\n{}", context());
            return false;
        }
        (Ok(_), Err(error)) => panic!("{error}\n{}", context()),
        (Err(classes), Ok(_)) => panic!("values instead of {classes:?}\n{}", context()),
    };
    let (program, data) = read_field_case(&case).expect("it was read before");
    let mut rng = Rng::with_seed(seed);
    let fields = data.fields.iter().map(|(name, buffer)| (name.clone(), scattered(buffer, &mut rng)));
    let mut moved = FieldData { fields: fields.collect(), ..data.clone() };
    moved.complete(&program).expect("it was completed before");
    check_strips(&program, &moved, &expected, &context);

    let text = print_field_program(&program).expect("plain names");
    let read = parse_field_program(&text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    let again = print_field_program(&read).expect("plain names");
    assert_eq!(text, again, "{}", context());
    let actual = outputs_of(&read, data.clone()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(compare(&expected, &actual), None, "by text\n{text}\n{}", context());

    let json = write_field_program(&read, Some(&data));
    let actual = run_case(&json).unwrap_or_else(|error| panic!("{error}\n{json}"));
    assert_eq!(compare(&expected, &actual), None, "by JSON\n{json}");
    true
}

#[test]
fn random_programs_agree_on_grids() {
    let with_values = count_of(&[Flavor::Grid], check);
    assert!((360..880).contains(&with_values), "{with_values} of 900 programs have values");
}

#[test]
fn random_programs_agree_on_meshes() {
    let with_values = count_of(&[Flavor::Mesh], check);
    assert!((200..495).contains(&with_values), "{with_values} of 500 programs have values");
}

#[test]
fn random_programs_agree_on_narrow_integers() {
    let with_values = count_of(&[Flavor::NarrowGrid, Flavor::NarrowMesh], check);
    assert!((240..590).contains(&with_values), "{with_values} of 600 programs have values");
}

/// Statements, not declarations: what the programs of the other tests do.
#[test]
fn random_programs_have_everything() {
    let all = PROGRAMS.map(|(_, flavor)| flavor);
    let with = |words: &[&str]| {
        count_of(&all, |seed, flavor| {
            let statements = Generator::new(seed, flavor).case(flavor)["statements"].to_string();
            words.iter().any(|word| statements.contains(word))
        })
    };
    assert_eq!(count_of(&all, |_, _| true), 2000);
    let counts = [
        ("tables", with(&["\"gather\"", "\"shift_all\""]), 300),
        ("concat_where", with(&["\"concat_where\""]), 100),
        ("shifts", with(&["\"shift\""]), 1000),
        ("scans", with(&["\"scan\""]), 500),
        ("domains", with(&["\"domain\":{", "\"domain\":[{"]), 1900),
        ("bounds of scalars", with(&["[\"add\",[\"ref\",\"n\"]"]), 300),
        ("several outputs", with(&["\"tuple\""]), 300),
    ];
    for (what, count, least) in counts {
        assert!(count >= least, "{count} of 2000 programs have {what}; {least} are wanted");
    }
}

/// All places inside of a JSON value, as paths.
fn paths(json: &Json, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match json {
        // Cells are many and alike.
        Json::Array(list) => {
            list.iter().enumerate().take(6).for_each(|(n, json)| paths(json, &format!("{at}/{n}"), out));
        }
        Json::Object(map) => map.iter().for_each(|(key, json)| paths(json, &format!("{at}/{key}"), out)),
        _ => {}
    }
}

#[test]
fn damaged_cases_do_not_panic() {
    let mut rng = Rng::with_seed(7);
    let (mut values, mut errors) = (0, 0);
    for file in ["cases.json", "cases_v2.json"] {
        let oracle = crate::support::oracle(&format!("gt4py_otf/{file}"));
        for case in oracle["cases"].as_array().expect("a list of cases") {
            let mut all = Vec::new();
            for key in ["dims", "tables", "inputs", "scalars", "outputs", "statements"] {
                if !case[key].is_null() {
                    paths(&case[key], &format!("/{key}"), &mut all);
                }
            }
            for _ in 0..60 {
                let mut damaged = case.clone();
                for _ in 0..rng.usize(1..3) {
                    let words =
                        ["null", "0", "-1", "7", "2147483647", "1e300", "\"x\"", "\"K\"", "[]", "{}", "true"];
                    let new = match rng.bool() {
                        true => serde_json::from_str(rng.choice(&words).expect("a list")).expect("JSON"),
                        false => case.pointer(rng.choice(&all).expect("a list")).cloned().unwrap_or_default(),
                    };
                    if let Some(place) = damaged.pointer_mut(rng.choice(&all).expect("a list")) {
                        *place = new;
                    }
                }
                match run_case(&damaged) {
                    Ok(_) => values += 1,
                    Err(_) => errors += 1,
                }
            }
        }
    }
    assert!(values > 100 && errors > 1000, "{values} damaged cases have values, {errors} errors");
}
