//! Programs as calls of the builder: `builders.in` is what is printed, and it is compiled here.
//!
//! `UPDATE_EXPECT=1 cargo test --test it rust_form` writes what is printed now; read the difference, and run again.

use crate::field::generate::{Flavor, Generator};
use crate::support::oracle;
use cembra::field::json::{read_field_case, write_field_program};
use cembra::field::{FieldProgram, parse_field_program, print_field_builder, print_field_program};
use serde_json::Value as Json;
use std::fmt::Write;

/// Random programs subtract a value from itself, and their numbers are now and then near known ones.
#[allow(clippy::approx_constant, clippy::eq_op, clippy::type_complexity)]
mod builders {
    include!("builders.in");
}

const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/field");

/// What the other programs do not have.
const MORE: [(&str, &str); 4] = [
    (
        "declarations",
        "horizontal Edge, `Vertex point`\nvertical K, unused\nlocal N\n\
         table E2V: Edge -> `Vertex point` along N width 2 skip -1 origin 3\n\
         table V2V: `Vertex point` -> `Vertex point` width 3\ninput b[Edge=-2:7, K=0:4]: uint16, x[`Vertex point`]\n\
         output `type`[Edge=3:5, K=0:4]: uint16 fill 65535, out[Edge] fill nan, s[Edge, N]\n\
         static m: int32 = -4, on: bool = true\nscalar big: uint64 = 18446744073709551615, f: float32 = 0.1\n\
         `type` = b + uint16(7)\nout = neighbor_sum(x[E2V], N) + x[E2V[1]]\ns = 2*x[E2V]\n",
    ),
    (
        "numbers",
        "horizontal I\noutput a[I=0:4]: int8, c[I=0:4]: uint32, d[I=0:4]: int64, e[I=0:4]: float32, g[I=0:4], h[I=0:4]: bool\n\
         a = broadcast(int8(-128), I)\nc = broadcast(uint32(4294967295), I)\nd = broadcast(int64(-9223372036854775808), I)\n\
         e = broadcast(float32(1e-3), I)\ng = broadcast(-(2.0) + -2.0 - -inf*nan/1e300, I)\n\
         h = broadcast(not true or xor(false, true), I)\ng = g*-1.5 - (g - (g - 1)) - 3/(g/(2*g)) + (-g)**2.0 + -g**2.0\n",
    ),
    (
        "scans",
        "horizontal I\nvertical K\ninput u[I, K]\noutput v[I, K], w[I, K], q[I, K]\nscalar n: int32\nd = u*u + 1\nq = d - d[K+1, I-2]\n\
         v[I=0:n, K=2*n - (n - 1):n + 4], w[I=1:4, K=0:3] = scan(K backward; s = 0.0, t = inf; r = s + d, z = r*r; z + t, z)\n\
         q = scan(I forward; s = 1.0; u)\nq, v = v, q\n",
    ),
    (
        "parts",
        "horizontal I\nvertical K\ninput u[I, K], s[I]\noutput v[I, K]\nscalar n: int32\n\
         v = concat_where(K < 2*(n + 1) and (K > 2 or K == n), u[I+1], broadcast(s, I, K)) + where(u > s and not u == s, u, min(s, u))\n",
    ),
];

/// Programs by name.
fn programs() -> Vec<(String, FieldProgram)> {
    let mut all = Vec::new();
    for file in ["cases.json", "cases_v2.json"] {
        let oracle = oracle(&format!("gt4py_otf/{file}"));
        for case in oracle["cases"].as_array().expect("a list of cases") {
            // One has operands of two element types, which no builder gets past its check.
            if case["expect_error"] != "dtype_mismatch" {
                let name = case["name"].as_str().expect("a name").to_owned();
                all.push((name, read_field_case(case).expect("a recorded program").0));
            }
        }
    }
    let parse =
        |text: &str| parse_field_program(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    for name in ["heat", "mesh", "parts"] {
        let text = std::fs::read_to_string(format!("{PLACE}/{name}.field")).expect("a file");
        all.push((format!("file_{name}"), parse(&text)));
    }
    all.extend(MORE.map(|(name, text)| (format!("text_{name}"), parse(text))));
    let flavors = [Flavor::Grid, Flavor::Mesh, Flavor::NarrowGrid, Flavor::NarrowMesh];
    for seed in 0..12 {
        let flavor = flavors[seed as usize % 4];
        let program = read_field_case(&Generator::new(seed, flavor).case(flavor)).expect("a program").0;
        if cembra::field::check_program(&program).is_ok() {
            all.push((format!("random_{seed}"), program));
        }
    }
    all
}

#[test]
fn programs_print_as_calls_of_the_builder() {
    let mut printed = String::new();
    let mut list = "pub const ALL: &[(&str, fn() -> Result<cembra::field::FieldProgram, Vec<cembra::field::FieldError>>)] = &[\n".to_owned();
    for (name, program) in programs() {
        let _ = write!(printed, "pub mod {name} {{\n{}}}\n\n", print_field_builder(&program, "program"));
        let _ = writeln!(list, "    (\"{name}\", {name}::program),");
    }
    printed += &format!("{list}];\n");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/field/builders.in");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return std::fs::write(file, printed).expect("the file is written");
    }
    let expected = std::fs::read_to_string(file).expect("the file is there");
    assert!(printed == expected, "not fresh; UPDATE_EXPECT=1 cargo test --test it rust_form rewrites it");
}

/// JSON with what a scan reads in order of names.
fn in_order(mut json: Json) -> Json {
    for statement in json["statements"].as_array_mut().expect("a list") {
        if let Some(Json::Array(inputs)) = statement.pointer_mut("/scan/inputs") {
            inputs.sort_by_key(|name| name.as_str().map(str::to_owned));
        }
    }
    json
}

/// What is printed is Rust, and makes the program that was printed: the same text, JSON and Rust.
#[test]
fn printed_calls_make_the_program() {
    let programs = programs();
    assert_eq!(programs.len(), builders::ALL.len());
    assert!(programs.len() >= 55, "{} programs", programs.len());
    for ((name, program), (built_name, build)) in programs.iter().zip(builders::ALL) {
        assert_eq!(name, built_name);
        let built = build().unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
        let text = |program: &FieldProgram| print_field_program(program).expect("names of texts");
        assert_eq!(text(&built), text(program), "{name}");
        let json = |program: &FieldProgram| in_order(write_field_program(program, None));
        assert_eq!(json(&built), json(program), "{name}");
        assert_eq!(print_field_builder(&built, "program"), print_field_builder(program, "program"), "{name}");
        // And from the text, and from JSON.
        let of_text = parse_field_program(&text(program)).expect("it was printed");
        assert_eq!(text(&of_text), text(program), "{name}");
        assert_eq!(
            text(&read_field_case(&json(&of_text)).expect("it was written").0),
            text(program),
            "{name}"
        );
    }
}

/// Recorded programs that Rust makes have the recorded values.
#[test]
fn programs_of_the_builder_have_the_recorded_values() {
    let mut count = 0;
    for file in ["cases.json", "cases_v2.json"] {
        let oracle = oracle(&format!("gt4py_otf/{file}"));
        for case in oracle["cases"].as_array().expect("a list of cases") {
            let Some((_, build)) = builders::ALL.iter().find(|(name, _)| case["name"] == *name) else {
                continue;
            };
            let (_, data) = read_field_case(case).expect("a recorded program");
            let class = |error: cembra::field::FieldError| error.problem.class();
            let built = build().unwrap_or_else(|errors| panic!("{}", errors[0]));
            let found = super::outputs_of(&built, data).map_err(class);
            assert_eq!(found, super::run_case(case).map_err(class), "{}", case["name"]);
            count += 1;
        }
    }
    assert_eq!(count, 41);
}
