//! The JSON that the command line prints: valid, complete, and true.

use cembra_vm::vector::level::Level;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs a command; its exit code and its output as JSON. Nothing goes to standard error.
fn run(args: &[&str]) -> (i32, Json) {
    let output = Command::new(env!("CARGO_BIN_EXE_cembra")).args(args).output().expect("the command starts");
    assert!(output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"));
    (output.status.code().expect("no signal ends the command"), json)
}

#[test]
fn values_are_what_they_were() {
    let cases = [
        (&["x:FLOAT64=5e-324"][..], json!({ "qtype": "FLOAT64", "value": 5e-324 })),
        (&["x=9223372036854775807"], json!({ "qtype": "INT64", "value": i64::MAX })),
        (&["x=-inf"], json!({ "qtype": "FLOAT64", "value": "-inf" })),
        (&["x:OPTIONAL_TEXT=NA"], json!({ "qtype": "OPTIONAL_TEXT", "value": null })),
        (&["x='\"\\n\\x00\u{1f333}'"], json!({ "qtype": "TEXT", "value": "\"\n\0\u{1f333}" })),
        (&["x:BYTES=b'\\x00\\xff'"], json!({ "qtype": "BYTES", "value": "\0\u{ff}" })),
    ];
    for (inputs, expected) in cases {
        let args: Vec<&str> =
            ["eval", "--json", "x"].into_iter().chain(inputs.iter().flat_map(|i| ["-i", *i])).collect();
        assert_eq!(run(&args), (0, expected), "{inputs:?}");
    }
}

#[cfg(not(feature = "png"))]
#[test]
fn pictures_of_pixels_need_a_feature() {
    let output = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["model", "fit", "line.yaml", "--data", "line.csv", "--column", "counts", "--plot", "line.png"])
        .current_dir(crate::support::test_file("cases/model"))
        .output()
        .expect("the command starts");
    let error = String::from_utf8_lossy(&output.stderr);
    let expected = "line.png would be a PNG picture, which needs a build with the feature `png`; a name in .svg does not";
    assert_eq!((output.status.code(), error.trim_end()), (Some(1), &*format!("error[PARSE]: {expected}")));
}

#[test]
fn negative_zero_keeps_its_sign() {
    let (_, json) = run(&["eval", "--json", "x * 1.0", "-i", "x=-0.0"]);
    let value = json["value"].as_f64().expect("a number");
    assert_eq!(value.to_bits(), (-0.0f64).to_bits());
}

#[test]
fn errors_say_where() {
    let text = "größe = x * 2\nsqrt(größe) + 1";
    let (code, json) = run(&["eval", "--json", text, "-i", "x=1"]);
    assert_eq!(code, 1);
    let error = &json["error"];
    assert_eq!(error["category"], "UNKNOWN_NAME");
    let place = &error["places"][0];
    assert_eq!((&place["line"], &place["column"]), (&json!(2), &json!(1)));
    let bytes = place["start"].as_u64().expect("a number") as usize
        ..place["end"].as_u64().expect("a number") as usize;
    assert_eq!(&text[bytes], "sqrt");
}

#[test]
fn a_batch_is_one_line_of_json_for_each_case() {
    let file = crate::support::test_file("cases/batch/bad_cases.json");
    let file = file.to_str().expect("the path is UTF-8");
    let output = Command::new(env!("CARGO_BIN_EXE_cembra")).args(["eval", "--batch", file]).output();
    let output = String::from_utf8(output.expect("the command starts").stdout).expect("JSON is UTF-8");
    let document: Json = serde_json::from_str(&std::fs::read_to_string(file).expect("the file is there"))
        .expect("the file is JSON");
    let cases = document["cases"].as_array().expect("a list of cases");
    assert_eq!(output.lines().count(), cases.len());
    for (line, case) in output.lines().zip(cases) {
        let line: Json = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(&line["id"], case.get("id").unwrap_or(&Json::Null));
        assert!(line.get("output").is_some() != line.get("error").is_some(), "{line}");
    }
}

#[test]
fn explain_shows_every_stage() {
    let args = ["explain", "x * y + 1.0", "--type", "x=FLOAT32", "--type", "y=INT32", "--format", "json"];
    let (code, json) = run(&args);
    assert_eq!(code, 0);
    for stage in ["expr", "steps", "prepared", "program", "stored", "layout"] {
        assert!(!json[stage].is_null(), "{stage}");
    }
    let names: Vec<&Json> =
        json["program"]["inputs"].as_array().expect("a list").iter().map(|i| &i["name"]).collect();
    assert_eq!(names, ["x", "y"]);
    let stored = json["stored"].as_str().expect("a text");
    let hash = json["program"]["hash"].as_str().expect("a text");
    assert!(stored.contains(&format!("hash {hash}")));
}

#[test]
fn the_layout_covers_the_frame() {
    let (_, json) =
        run(&["explain", "x * y + 1", "-i", "x:INT32=1", "-i", "y=2.5", "--stage", "layout", "--json"]);
    let layout = &json["layout"];
    let size = layout["size"].as_u64().expect("a number") as usize;
    let mut used = vec![false; size];
    for value in layout["values"].as_array().expect("a list") {
        let number = |key: &str| value[key].as_u64().expect("a number") as usize;
        used[number("offset")..number("offset") + number("size")].fill(true);
    }
    let unused = used.iter().filter(|used| !**used).count();
    assert_eq!(json!(unused), layout["unused"]);
}

/// A full disk: every write fails.
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let batch = crate::support::test_file("cases/batch/bad_cases.json");
    let batch = batch.to_str().expect("the path is UTF-8");
    let commands =
        [&["eval", "1 + 1"][..], &["eval", "--batch", batch], &["explain", "1 + 1"], &["ops", "math.add"]];
    for args in commands {
        let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
        let command = Command::new(env!("CARGO_BIN_EXE_cembra")).args(args).stdout(full).output();
        let output = command.expect("the command starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {message}");
        assert!(message.contains("cannot write the result"), "{args:?}: {message}");
    }
}

#[test]
fn a_reader_that_has_enough_ends_the_command_quietly() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command.args(["ops"]).stdout(writer).output().expect("the command starts");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

/// Runs a command with a text at its standard input.
fn run_on(text: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
    let command = command.args(args).env("NO_COLOR", "1").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // A command that has read enough closes the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(text.as_bytes());
    child.wait_with_output().expect("it ends")
}

#[test]
fn an_expression_may_come_from_standard_input() {
    let output = run_on("# the answer\ny = x * 2\ny + 2\n", &["eval", "-f", "-", "-i", "x=20"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"42\n"[..]));
    let output = run_on("1 +\n* 2\n", &["explain", "--file", "-"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("<standard input>:2:1"), "{message}");
    let output = run_on(&"1 + ".repeat(1 << 20), &["eval", "-f", "-"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("limit expression-text: <standard input> has more characters"), "{message}");
}

#[test]
fn any_file_may_come_from_standard_input() {
    let check = |text: &str, args: &[&str], expected: &str| {
        let output = run_on(text, args);
        let printed =
            [output.stdout, output.stderr].map(|out| String::from_utf8_lossy(&out).into_owned()).concat();
        assert!(printed.contains(expected), "{args:?}: {printed}");
    };
    let function = "def f(n):\n    return n * 2\n";
    check(function, &["function", "run", "-", "f", "--args", "[4]"], "8\n");
    check(function, &["function", "check", "-"], "1 functions\n");
    check(function, &["function", "dump", "-", "f", "--stage", "pyast"], "Module(");
    check("def f(n:\n", &["function", "check", "-"], "<standard input>:1:6");
    check(function, &["function", "explain-type", "-", "f", "n", "--args", "[4]"], "n: i64\n");
    check("Module([", &["schema", "validate", "pyast", "-"], "<standard input>:1:9");
    check("Module([])", &["schema", "convert", "pyast", "-", "--to", "flat"], "flat ");
    check("a = A\n", &["schema", "check", "-"], "schema: 1 types");
    check("[1]", &["eval", "--batch", "-"], "<standard input> has no list `cases`");
}

/// All instructions of a strip are listed, and say which values they find.
#[test]
fn code_is_listed() {
    if Level::best() == Level::Baseline {
        return;
    }
    let command = |text: &str, form: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.args(["explain", "--stage", "code", text]).args(form);
        command.args(["--type", "x=DENSE_ARRAY_FLOAT64", "--type", "a=FLOAT64"]).env_remove("CEMBRA_STRIPS");
        let output = command.output().expect("the command starts");
        String::from_utf8(output.stdout).expect("a text")
    };
    let json: Json = serde_json::from_str(&command("x * a + 0.1", &["--json"])).expect("JSON");
    let strip = &json["code"][0];
    let listing = strip["listing"].as_array().expect("instructions");
    assert_eq!(listing.len() as u64, strip["instructions"].as_u64().expect("a number"));
    let find = |found: &str| listing.iter().any(|line| line["finds"].as_str() == Some(found));
    assert!(find("cells of x: DENSE_ARRAY_FLOAT64 [0x00]") && find("a: FLOAT64 [0x18]"), "{json:#}");
    assert!(find("cells of instruction 1") && !find("cells of instruction 0"), "{json:#}");
    let text = command("x * a + 0.1", &[]);
    assert!(text.starts_with("region 0, strip 0 of 0, 1: AVX"), "{text}");
    assert!(text.contains("  0000  0x3fb999999999999a\n"), "the literal is not there: {text}");
    let text = command("core.where(x > 0.0, x, a)", &[]);
    assert!(text.contains("cells of instruction 1\n"), "{text}");
    assert!(!text.contains("presence"), "a choice between values that are there misses none: {text}");
}

/// Strips are there where the machine has the instructions, of columns and of arrays over axes.
#[test]
fn regions_say_what_runs_as_strips() {
    let strips_of = |mode: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.args(["explain", "--stage", "regions", "--json"]).args(arguments).env("CEMBRA_STRIPS", mode);
        let output = command.output().expect("the command starts");
        let json: Json = serde_json::from_slice(&output.stdout).expect("JSON");
        json["regions"]["regions"][0]["strips"].clone()
    };
    let types = ["--type", "x=DENSE_ARRAY_FLOAT64", "--type", "y=DENSE_ARRAY_FLOAT64"];
    let of_columns = [&["math.pow((x*2.0 + y)*math.abs(y), y) + y"], &types[..]].concat();
    let of_pair = [&["math.pow(x*2.0 + y, y) + y"], &types[..]].concat();
    let of_function = [&["math.exp(x*2.0 + y) + y"], &types[..]].concat();
    let of_axes = ["(x - a)*(x - a)*2.0", "--type", "x=NDARRAY_FLOAT64_N", "--type", "a=FLOAT64"];
    assert_eq!(strips_of("never", &of_columns), json!([]));
    assert_eq!(strips_of("never", &of_axes), json!([]));
    if Level::best() == Level::Baseline {
        return;
    }
    let strips = strips_of("auto", &of_columns);
    assert_eq!((&strips[0]["members"], &strips[0]["spills"]), (&json!([0, 1, 2, 3]), &json!(0)), "{strips}");
    assert_eq!(strips.as_array().map(Vec::len), Some(1), "the sum after pow is a pass: {strips}");
    let strips = strips_of("auto", &of_pair);
    assert_eq!(strips[0]["members"], json!([0, 1]), "two operators are a strip: {strips}");
    let strips = strips_of("auto", &of_function);
    assert_eq!(strips[0]["members"], json!([0, 1, 2, 3]), "a short function is in the strip: {strips}");
    let strips = strips_of("auto", &of_axes);
    assert_eq!(strips[0]["members"], json!([0, 1, 2]), "what reads the array is in the strip: {strips}");
}
