//! The text form: ways between the three spellings, what is printed, and where errors are.

use crate::field::{FILES, cases_of, outputs_of, run_case};
use cembra::field::json::{read_field_case, write_field_program};
use cembra::field::{
    FieldBuilder, FieldError, FieldProgram, ScanDirection, parse_field_program, print_field_program,
};
use cembra::vm::value::{ScalarType, ScalarValue};
use fastrand::Rng;
use serde_json::Value as Json;

fn print(program: &FieldProgram) -> String {
    print_field_program(program).expect("the names can stand in a text")
}

fn parse(text: &str) -> FieldProgram {
    parse_field_program(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]))
}

#[test]
fn recorded_programs_go_through_text_and_json() {
    let mut count = 0;
    for file in FILES {
        for case in &cases_of(file) {
            let (program, data) = read_field_case(case).expect("a program");
            let text = print(&program);
            // Some cases have operands of two element types, which no text gets past its check.
            let Ok(read) = parse_field_program(&text) else {
                assert_eq!(case["expect_error"], "dtype_mismatch", "{text}");
                continue;
            };
            assert_eq!(print(&read), text);
            let json = write_field_program(&read, Some(&data));
            let class = |result: Result<Json, FieldError>| result.map_err(|error| error.problem.class());
            let expected = class(run_case(case));
            assert_eq!(class(outputs_of(&read, data)), expected, "{text}");
            assert_eq!(class(run_case(&json)), expected, "{json}");
            count += 1;
        }
    }
    assert_eq!(count, 41 + 106 + 255);
}

/// Declarations for the statements of tests.
const FIELDS: &str = "\
horizontal I, Cell
vertical K
table C2C: Cell -> Cell width 3 skip -1
input u[I, K]
input s[I]
input c[Cell]
input n[I]: int32
input b[I]: bool
input f[I]: float32
output out[I, K]
output si[I]
output ni[I]: int32
output bi[I]: bool
output fi[I]: float32
output ci[Cell]
scalar a
scalar m: int32
";

#[test]
fn statements_print_as_they_are_written() {
    let same = [
        "out = -4.0*u + u[I-1] + u[I+1, K-2]",
        "out = u - (u - u) - u*(u + u) / (u / u)",
        "out = (-u)**2.0 + -u**2.0 + (-2.0)**u + (u[K+1] - u)[I+1]",
        "out = -(4.0) + --u",
        "out[I=0:m - 1, K=m*(m - 2):5] = where(u > 0.0, u, 1.0)",
        "bi = b and not b or si == s and (b or b)",
        "bi = not (b and b) and not s < 1.5",
        "ni = n // 2 % 3 - min(n, m)",
        "ni = int32(s) + int32(float64(2.5))",
        "fi = f*0.1 + float32(a)",
        "si = max(abs(s), sqrt(exp(s))) + s**a",
        "out = concat_where(K == 0, u[K+1], concat_where(K < m and (K > 2 or K <= 7), u, s))",
        "ci = neighbor_sum(c[C2C] - c, C2C) + c[C2C[1]]",
        "si, ni = s, n",
        "out = scan(K forward; acc = 0.0; acc*a + u)",
        "out = scan(K backward; acc = -inf; t = acc*a; max(t, t + u))",
        "out = broadcast(a, I, K)",
    ];
    for statement in same {
        let text = format!("{FIELDS}{statement}\n");
        assert_eq!(print(&parse(&text)), text);
    }
}

#[test]
fn numbers_take_the_type_beside_them() {
    let printed = |statement: &str| {
        let text = print(&parse(&format!("{FIELDS}{statement}")));
        text.strip_prefix(FIELDS).expect("the declarations").trim_end().to_owned()
    };
    assert_eq!(printed("fi = 2*f"), "fi = 2.0*f");
    assert_eq!(printed("ni = 7 + n"), "ni = 7 + n");
    assert_eq!(printed("out = 1e3*u  # a comment"), "out = 1000.0*u");
    assert_eq!(printed("out = u[I, K+0]"), "out = u[K+0]");
    assert_eq!(printed("lap = u[I+1] - u\nout = lap - lap[K-1]"), "lap = u[I+1] - u\nout = lap - lap[K-1]");
}

#[test]
fn what_is_used_twice_gets_a_line() {
    let b = FieldBuilder::new();
    let i = b.horizontal("I");
    let (u, v) = (b.input("u", &[i], ScalarType::Float64), b.output("v", &[i], ScalarType::Float64));
    let difference = u.shift(i, 1) - u;
    b.store(v, &[], difference * difference);
    let text = print(&b.build().expect("a program"));
    assert!(text.ends_with("t = u[I+1] - u\nv = t*t\n"), "{text}");
}

#[test]
fn names_that_are_words_stand_between_backquotes() {
    let text = "\
horizontal `x y`, I
input `min`[I]
output `scan`[I]
scalar `table`
`scan` = `min`*`table` + min(`min`, 0.0)
";
    assert_eq!(print(&parse(text)), text);
}

#[test]
fn errors_say_where() {
    let cases = [
        ("out = u +", "1:10 a value is expected; the line ends"),
        ("out = u[J+1]", "1:9 there is no dimension `J`"),
        ("out = v", "1:7 there is no value `v`"),
        ("ni = int12(n)", "1:6 there is no element type `int12`"),
        ("input w[I]: uint", "1:13 there is no element type `uint`"),
        ("ni = n + int16(n)", "1:6 statement 1 (`ni`): + of int32 and int16"),
        ("ni = int8(200)", "1:11 200 is no int8"),
        ("scalar x: uint16 = -1", "1:20 -1 is no uint16"),
        ("output w[I]: uint8 fill 256", "1:25 256 is no uint8"),
        ("ni = uint8(n) / uint8(2)", "1:6 statement 1 (`ni`): / is not defined for uint8"),
        ("out = 2.0*later\nsi = s\nlater = u", "1:11 `later` is used on line 18, before line 20 defines it"),
        ("ni = later\ninput w[I, later]", "1:6 there is no value `later`"),
        (
            "out[I=0:later, K=0:4] = u\nscalar x, later: int32",
            "1:9 `later` is used on line 18, before line 19 defines it",
        ),
        ("out = 2.5*n", "1:7 2.5 is no int32"),
        ("si = s*1e400", "1:8 1e400 is no float64"),
        ("fi = f*1e39", "1:8 1e39 is no float32"),
        ("si = s*1e-400", "1:8 1e-400 is no float64"),
        ("out = u + f", "1:7 statement 1 (`out`): + of float64 and float32"),
        ("out = u[I+1", "1:8 `[` is not closed"),
        ("s = u", "1:1 statement 1 (`s`): `s` is an input; only outputs are written"),
        (
            "out = s",
            "1:1 statement 1 (`out`): a value with the dimensions [I] does not go to `out` with [I, K]; `broadcast` adds dimensions",
        ),
        ("out[I=0:3] = u", "1:1 statement 1 (`out`): the domain names [I] and `out` has [I, K]"),
        (
            "si = scan(C2C forward; t = 0.0; t + s)",
            "1:1 statement 1 (`si`): a scan along C2C, which is local: `neighbor_sum` and the like go over it",
        ),
        (
            "si = scan(K forward; t = 0.0; t + s)",
            "1:1 statement 1 (`si`): a scan along K, which `si` does not have",
        ),
        (
            "out = scan(K forward; t = 0.0; t[K+1] + u)",
            "1:32 statement 1 (`out`): a shift of what a scan hands on from level to level",
        ),
        ("ci = c[C2C[3]]", "1:6 statement 1 (`ci`): table `C2C` has 3 columns; column 3 is read"),
        (
            "ci = neighbor_sum(c, C2C)",
            "1:6 statement 1 (`ci`): neighbor_sum over C2C of a value with the dimensions [Cell]",
        ),
        ("si = f", "1:1 statement 1 (`si`): the value for `si` is float32, not float64"),
        (
            "ni = n\nout = where(u, u, u)",
            "2:7 statement 2 (`out`): the condition of where is float64, not bool",
        ),
        (
            "ni = n\nsi = scan(I forward; t = int32(0); s)",
            "2:1 statement 2 (`si`): the next value of `t` is float64, not int32",
        ),
        ("si = s / n", "1:6 statement 1 (`si`): / of float64 and int32"),
        ("ni = n / n", "1:6 statement 1 (`ni`): / is not defined for int32"),
        (
            "out = concat_where(I < 3 and K < 2, u, u)",
            "1:30 a condition of concat_where is about one dimension; nest two instead",
        ),
        ("t = u + s\nu = t", "2:1 statement 1 (`u`): `u` is an input; only outputs are written"),
        (
            "t = out + u\nout = t\nout = t[I+1]",
            "3:7 `t` was defined from `out`, which has been written since; define it again",
        ),
        ("input u[I]", "1:7 `u` is declared twice"),
        ("out = u ? 2", "1:9 `?` has no meaning here"),
        ("out, out = u", "1:1 statement 1 (`out`): 1 values for 2 targets"),
        ("a = u", "1:1 `a` is no output; only outputs and new names are written"),
    ];
    for (statements, expected) in cases {
        let text = format!("{FIELDS}{statements}\n");
        let Err(errors) = parse_field_program(&text) else { panic!("no error in {statements}") };
        let error = &errors[0];
        let before = &text[FIELDS.len()..(error.span.start as usize).max(FIELDS.len())];
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().map_or(0, |rest| rest.chars().count());
        assert_eq!(format!("{line}:{column} {error}"), expected, "{statements}");
    }
    let many = parse_field_program("horizontal I\noutput a[I]\na = x\na = y\na = z\n").expect_err("errors");
    assert_eq!(many.len(), 3);
}

#[test]
fn texts_of_any_size_and_shape_end() {
    let deep = |open: &str, close: &str, count: usize| {
        format!("{FIELDS}si = {}s{}", open.repeat(count), close.repeat(count))
    };
    for (open, close) in [("(", ")"), ("-", ""), ("not ", ""), ("s**", ""), ("abs(", ")"), ("s[I+1", "]")] {
        let _ = parse_field_program(&deep(open, close, 50_000));
    }
    let sum = format!("{FIELDS}si = {}", vec!["s"; 20_000].join(" + "));
    let program = parse(&sum);
    let text = print(&program);
    assert_eq!(print(&parse(&text)), text);
    let json = write_field_program(&program, None).to_string();
    let read: Json = serde_json::from_str(&json).expect("no list is too deep");
    assert_eq!(print(&read_field_case(&read).expect("a program").0), text);
    let long = "s".repeat(1 << 21);
    assert!(parse_field_program(&long).expect_err("too long")[0].to_string().starts_with("limit field-text"));
}

/// Texts that somebody damaged give programs or errors.
#[test]
fn damaged_texts_do_not_panic() {
    let good = format!(
        "{FIELDS}t = u[I+1] - 2*u\nout[I=0:m, K=1:m - 1] = where(t > 0, t[K-1], concat_where(K >= 2, u, s))\n\
         out = scan(K forward; q = 0.0; w = q + u; w)\nci = max_over(c[C2C], C2C)\n"
    );
    parse(&good);
    let mut rng = Rng::with_seed(23);
    let mut programs = 0;
    for _ in 0..3000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(0..bytes.len());
            match rng.u32(0..3) {
                0 => drop(bytes.remove(at)),
                1 => bytes[at] = *rng.choice(b"()[],;:=+-*/%<>!`#. \nIKus019e").expect("a list"),
                _ => {
                    let end = (at + rng.usize(1..12)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    let to = rng.usize(0..bytes.len());
                    bytes.splice(to..to, part);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        programs += usize::from(parse_field_program(&text).is_ok());
    }
    assert!(programs > 20, "{programs} of 3000 texts are programs");
}

#[test]
fn the_builder_makes_what_a_text_says() {
    let b = FieldBuilder::new();
    let (i, k) = (b.horizontal("I"), b.vertical("K"));
    let u = b.input("u", &[i, k], ScalarType::Float64);
    let (p, d) = (b.output("p", &[i, k], ScalarType::Float64), b.output("d", &[i, k], ScalarType::Float64));
    let n = b.scalar("n", ScalarType::Int32);
    b.store(d, &[(i, b.bound(0).to(n.bound() - 1)), (k, b.bound(0).to(4))], u.shift(i, 1) - u);
    let init = [("sum", ScalarValue::Float64(0.0))];
    b.scan(&[p], &[], k, ScanDirection::Backward, &init, |carry| vec![carry[0] + u * 0.5]);
    let program = b.build().expect("a program");
    let text = "\
horizontal I
vertical K
input u[I, K]
output p[I, K]
output d[I, K]
scalar n: int32
d[I=0:n - 1, K=0:4] = u[I+1] - u
p = scan(K backward; sum = 0.0; sum + u*0.5)
";
    assert_eq!(print(&program), text);
    assert_eq!(print(&parse(text)), text);
}
