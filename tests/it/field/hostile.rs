//! Inputs that somebody made to break something: each gives values or an error, in a time that grows with its size.

use crate::cases::output_of;
use crate::field::run_case;
use cembra::field::json::{read_field_case, write_field_program};
use cembra::field::{
    FieldBuffer, FieldCells, FieldData, FieldProgram, parse_field_program, print_field_builder,
    print_field_program,
};
use serde_json::{Value as Json, json};
use std::fmt::Write;

fn parse(text: &str) -> FieldProgram {
    parse_field_program(text).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

fn ones(count: usize) -> FieldBuffer {
    FieldBuffer::row_major(FieldCells::Float64(vec![1.0; count]), &[0], &[count]).expect("cells")
}

/// A case with the input `x` and the output `y` on I 0:4.
fn case(expression: &Json) -> Json {
    json!({
        "dims": { "I": "horizontal" },
        "inputs": { "x": { "dims": ["I"], "origin": [0], "shape": [4], "data": [1.0, 1.0, 1.0, 1.0] } },
        "outputs": { "y": { "dims": ["I"], "origin": [0], "shape": [4], "fill": 0.0 } },
        "statements": [{ "targets": ["y"], "domain": null, "expr": expression }],
    })
}

/// Each of many definitions gets a name of its own in every spelling, although all are called the same.
#[test]
fn many_definitions_of_one_name_are_printed() {
    let bindings: Vec<Json> = std::iter::once(json!(["a", ["ref", "x"]]))
        .chain((0..20_000).map(|_| json!(["a", ["sub", ["add", ["ref", "a"], ["ref", "a"]], ["ref", "a"]]])))
        .collect();
    let case = case(&json!(["let", bindings, ["ref", "a"]]));
    let (program, _) = read_field_case(&case).expect("a program");
    let text = print_field_program(&program).expect("plain names");
    let built = print_field_builder(&program, "program");
    for printed in [&text, &built] {
        assert!(printed.contains("a_19999 = ") && printed.contains("a_20000 = "), "{}", &printed[..300]);
    }
    assert_eq!(print_field_program(&parse(&text)).expect("plain names"), text);
    let json = write_field_program(&program, None);
    let bindings = json.pointer("/statements/0/expr/1").and_then(Json::as_array).expect("a list");
    assert_eq!((bindings.len(), &bindings[19_999][0]), (20_000, &json!("a_20000")));
}

/// Statements of long programs are read and printed by themselves, not each with all that stands before it.
#[test]
fn ten_thousand_statements_are_checked_and_printed() {
    let mut text = "horizontal I\ninput x[I]\noutput a[I], b[I]\nd = x*x\n".to_owned();
    for number in 0..5_000 {
        let _ = writeln!(text, "a = d + {number}.0*x\nb = d - a[I]");
    }
    let program = parse(&text);
    assert_eq!(program.statements.len(), 10_000);
    let printed = print_field_program(&program).expect("plain names");
    assert_eq!(printed.matches("d = x*x\n").count(), 1);
    assert_eq!(print_field_program(&parse(&printed)).expect("plain names"), printed);
    let error = parse_field_program(&(text + "a = x\n")).expect_err("too many").remove(0).to_string();
    assert_eq!(error, "limit field-statements: the program has 10001 of them; at most 10000 are allowed");
}

#[test]
fn names_of_any_length_and_form_are_told() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    for name in ["n".repeat(100_000), "*/ \u{202e}\0\n`\"\\%s".to_owned(), String::new()] {
        let mut case = case(&json!(["shift", ["ref", &name], { "I": 1 }]));
        case["inputs"] = json!({ &name: case["inputs"]["x"] });
        case["outputs"][format!("{name}2")] = case["outputs"]["y"].clone();
        std::fs::write(place.path().join("a.json"), case.to_string()).expect("a file");
        for command in ["explain", "explain --svg a.svg", "check", "convert --to rust", "convert --to text"] {
            let (command, more) = command.split_once(' ').unwrap_or((command, ""));
            let out = output_of(&format!("cembra field {command} a.json {more}"), place.path(), "here");
            assert!(!out.contains("panicked"), "{}", &out[..300]);
        }
        let out = output_of("cembra field run a.json", place.path(), "here");
        assert!(out.contains("is needed on I 1:5 and has 0:4") && out.ends_with("exit: 1\n"), "{out:.300}");
    }
}

/// Names of a file steer no terminal, and begin no lines.
#[test]
fn control_characters_of_names_are_not_printed() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let name = |what: &str| format!("\u{1b}[31m\u{7}{what}\n\u{9b}2Jz");
    let (dim, x, y, t) = (name("I"), name("x"), name("y"), name("t"));
    let field = |of: Json| {
        let mut field = json!({ "dims": [&dim], "origin": [0], "shape": [4] });
        of.as_object().into_iter().flatten().for_each(|(key, value)| field[key] = value.clone());
        field
    };
    let case = json!({
        "dims": { &dim: "horizontal" },
        "inputs": { &x: field(json!({ "data": [1.0, 1.0, 1.0, 1.0] })) },
        "outputs": { &y: field(json!({ "fill": 0.0 })) },
        "statements": [{
            "targets": [&y],
            "domain": { &dim: [0, 3] },
            "expr": ["let", [[&t, ["mul", ["ref", &x], ["ref", &x]]]], ["add", ["shift", ["ref", &t], { &dim: 1 }], ["ref", &x]]],
        }],
    });
    std::fs::write(place.path().join("a.json"), case.to_string()).expect("a file");
    let run = |command: &str| {
        let out = output_of(&format!("cembra field {command}"), place.path(), "here");
        // JSON has escapes of its own, for the controls of ASCII.
        let is_json = out.starts_with(['[', '{']);
        let hidden = |c: char| c != '\n' && if is_json { c.is_ascii_control() } else { c.is_control() };
        assert!(!out.contains(hidden), "{command}: {out:?}");
        out
    };
    let table = run("explain a.json");
    assert!(table.contains("\\u{1b}[31m\\u{7}x\\u{a}\\u{9b}2Jz") && table.lines().count() < 12, "{table}");
    for command in
        ["explain a.json --json", "explain a.json --tier interpreter", "check a.json", "run a.json"]
    {
        assert!(!run(command).contains("exit: 101"), "{command}");
    }
    run("explain a.json --svg a.svg");
    let picture = std::fs::read_to_string(place.path().join("a.svg")).expect("a picture");
    assert!(picture.contains("\\u{1b}[31m") && picture.chars().all(|c| c == '\n' || !c.is_control()));
    let mut wrong = case.clone();
    wrong["statements"][0]["domain"][&dim] = json!([0, 5]);
    std::fs::write(place.path().join("a.json"), wrong.to_string()).expect("a file");
    assert!(run("run a.json").ends_with("exit: 1\n"));
    #[cfg(feature = "native")]
    for command in ["explain a.json --tier native", "run a.json --tier native --backend rust"] {
        std::fs::write(place.path().join("a.json"), case.to_string()).expect("a file");
        assert!(!run(&format!("{command} --cache process")).contains("exit: 101"), "{command}");
    }
}

/// As many boxes as are documented, each of which needs a few operations.
#[test]
fn a_domain_is_cut_into_a_thousand_boxes() {
    fn parts(first: usize, end: usize) -> String {
        let middle = usize::midpoint(first, end);
        match end - first {
            1 => format!("{first}.0*x"),
            _ => {
                format!("concat_where(I < {}, {}, {})", 2 * middle, parts(first, middle), parts(middle, end))
            }
        }
    }
    let text = |count| format!("horizontal I\ninput x[I]\noutput y[I]\ny = {}\n", parts(0, count));
    let data = || FieldData { fields: [("x".to_owned(), ones(2100))].into(), ..FieldData::default() };
    let mut filled = data();
    cembra::backend::run_field_program(&parse(&text(1024)), &mut filled).expect("values");
    let expected = (0..2100).map(|point| f64::from(point / 2).min(1023.0)).collect();
    assert_eq!(filled.fields["y"].cells(), &FieldCells::Float64(expected));
    let errors = cembra::backend::run_field_program(&parse(&text(1025)), &mut data()).expect_err("too many");
    let expected = "statement 1 (`y`): limit field-boxes: the statement goes over more than 1024 boxes: domains and parts of concat_where";
    assert_eq!(errors[0].to_string(), expected);
}

/// The operations of a statement are counted for all of its domains together.
#[test]
fn operations_are_counted_over_domains() {
    let definitions: String = (0..300).map(|n| format!("a{} = a{n}[I-1] + a{n}[I+1]\n", n + 1)).collect();
    let targets: Vec<String> = (0..5).map(|n| format!("y{n}[I={}:{}]", 300 + n, 302 + n)).collect();
    let values = ["a300"; 5].join(", ");
    let outputs: Vec<String> = (0..5).map(|n| format!("y{n}[I]")).collect();
    let text = format!(
        "horizontal I\ninput x[I]\noutput {}\na0 = x\n{definitions}{} = {values}\n",
        outputs.join(", "),
        targets.join(", ")
    );
    let mut data = FieldData { fields: [("x".to_owned(), ones(700))].into(), ..FieldData::default() };
    let errors = cembra::backend::run_field_program(&parse(&text), &mut data).expect_err("too many");
    let error = errors[0].to_string();
    assert!(
        error.starts_with("statement 1 (`y0`): limit field-operations: the statement needs more than 200000"),
        "{error}"
    );
}

/// What GT4Py has and this form has not is told by its name.
#[test]
fn what_the_form_has_not_is_named() {
    let message = |expression: Json| run_case(&case(&expression)).expect_err("no program").to_string();
    let x = json!(["ref", "x"]);
    assert_eq!(
        message(json!(["concat_where", ["xor", ["dim", "I"], ["lit", 1, "int32"]], x, x])),
        "statement 1 (`y`): `xor` in a condition of concat_where, which has lt, le, gt, ge, eq, ne, and, or"
    );
    assert_eq!(
        message(json!(["neg", ["tuple", x, x]])),
        "statement 1 (`y`): a tuple stands where one value does: only a statement and a scan have several: \
         [\"tuple\",[\"ref\",\"x\"],[\"ref\",\"x\"]]"
    );
    let one = json!({ "I": "horizontal" });
    let mut case = case(&x);
    case["tables"] =
        json!({ "L": { "from": "I", "to": "I", "local": "I", "max_neighbors": 1, "data": [[0.5]] } });
    case["dims"] = one;
    let error = run_case(&case).expect_err("no integer").to_string();
    assert_eq!(error, "table `L` has the entry 0.5, which is no integer");
}

/// Statements share definitions, but each has operations of its own: those of all are counted.
#[test]
fn operations_are_counted_over_statements() {
    let definitions: String = (0..9_000).map(|n| format!("a{} = a{n} - x\n", n + 1)).collect();
    let head = "horizontal I\noutput x[I=0:4] fill 1.0, y[I=0:4] fill 0.0\na0 = x\n";
    let program = parse(&format!("{head}{definitions}{}", "y = a9000\n".repeat(2_000)));
    let mut data = FieldData::default();
    let errors = cembra::backend::run_field_program(&program, &mut data).expect_err("too many");
    let expected = "statement 56 (`y`): limit field-operations: this statement and those before it need more than 1000000 operations";
    assert_eq!(errors[0].to_string(), expected);
}

/// Long lists of declarations end where they are too many, not when they have all been compared.
#[test]
fn long_lists_of_declarations_are_refused() {
    let names = |suffix: &str| (0..40_000).map(|n| format!("n{n}{suffix}")).collect::<Vec<_>>().join(", ");
    for (word, suffix, limit) in [
        ("horizontal", "", "limit field-dimensions: the program has 65 of them; at most 64 are allowed"),
        ("scalar", "", "limit field-declarations: the program has 4097 of them; at most 4096 are allowed"),
        ("input", "[I]", "limit field-declarations: the program has 4097 of them; at most 4096 are allowed"),
    ] {
        let text = format!("horizontal I\n{word} {}\n", names(suffix));
        let error = parse_field_program(&text).expect_err("too many").remove(0).to_string();
        assert_eq!(error, limit, "{word}");
    }
}

/// Dimensions and tables stand where no value stands: a field may have their names, in every spelling.
#[test]
fn fields_have_the_names_of_dimensions_and_tables() {
    let text = "horizontal Edge, Vertex\nvertical K\ntable E2V: Edge -> Vertex width 2\ninput E2V[Vertex, K]\n\
                input K[K]\noutput Edge[Edge, K]\nEdge = concat_where(K == 0, E2V[E2V[1]], E2V[E2V[0]][K-1]*K)\n";
    let program = parse(text);
    assert_eq!(print_field_program(&program).expect("plain names"), text);
    let error = parse_field_program("horizontal I\noutput v[I]\nv[I=0:1, I=1:2] = 1.0\n").expect_err("twice");
    assert_eq!(error[0].to_string(), "statement 1 (`v`): the domain has two ranges of I");
}

/// An input without dimensions is a scalar of the run; an output has at least one.
#[test]
fn fields_without_dimensions() {
    let with = |data: Json| {
        let mut case = case(&json!(["mul", ["ref", "x"], ["ref", "c"]]));
        case["inputs"]["c"] = json!({ "dims": [], "origin": [], "shape": [], "data": data });
        run_case(&case).map_err(|error| error.to_string())
    };
    assert_eq!(with(json!([2.5])).expect("values")["y"]["data"], json!([2.5, 2.5, 2.5, 2.5]));
    assert_eq!(with(json!([1.0, 2.0])), Err("`c`: 2 cells of a field without dimensions".to_owned()));
    let mut case = case(&json!(["ref", "x"]));
    case["outputs"]["z"] = json!({ "dims": [], "origin": [], "shape": [], "fill": 0.0 });
    let error = run_case(&case).expect_err("an output").to_string();
    assert_eq!(error, "`z` has no dimension; a scalar is declared as one");
}
