//! The commands on fields: NPZ files in and out, loops, the batch.

use crate::cases::output_of;
use crate::support::test_file;
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::path::Path;

/// An array: name, type of the cells, shape, true in Fortran order, bytes.
type Member<'m> = (&'m str, &'m str, &'m [usize], bool, Vec<u8>);

/// Writes arrays as NPZ.
fn npz(path: &Path, members: &[Member<'_>]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).expect("a file"));
    for (name, descr, shape, is_fortran, bytes) in members {
        let shape: String = shape.iter().map(|size| format!("{size},")).collect();
        let order = if *is_fortran { "True" } else { "False" };
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
        let length = u16::try_from(header.len()).expect("a short header").to_le_bytes();
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).expect("a member");
        let all = [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), bytes].concat();
        zip.write_all(&all).expect("bytes");
    }
    zip.finish().expect("an end");
}

fn floats(values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    values.into_iter().flat_map(f64::to_le_bytes).collect()
}

fn member(path: &Path, name: &str) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path).expect("a file")).expect("an archive");
    let mut bytes = Vec::new();
    zip.by_name(name).expect("the member").read_to_end(&mut bytes).expect("bytes");
    bytes
}

#[test]
fn a_plate_cools() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let path = |name: &str| place.path().join(name);
    let text = "horizontal I, J\noutput u[I, J]\nscalar k, n: int32\n\
        lap = -4*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]\nu[I=1:n-1, J=1:n-1] = u + k*lap\n";
    std::fs::write(path("heat.field"), text).expect("a file");
    let n = 12;
    let start = |i: usize, j: usize| if i == 0 { 1.0 } else { j as f64 / 8.0 };
    // In Fortran order, to be read by strides.
    let cells = (0..n).flat_map(|j| (0..n).map(move |i| start(i, j)));
    let number = |value: f64| floats([value]);
    npz(
        &path("plate.npz"),
        &[
            ("u", "<f8", &[n, n], true, floats(cells)),
            ("k", "<f8", &[], false, number(0.2)),
            ("n", "<i8", &[], false, 12i64.to_le_bytes().to_vec()),
        ],
    );
    // Many steps; no bar, because this is no terminal.
    let command = "cembra field run heat.field --data plate.npz --steps 125 --out out.npz";
    assert_eq!(output_of(command, place.path(), "here"), "");
    let mut u: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| start(i, j)).collect()).collect();
    for _ in 0..125 {
        let old = u.clone();
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let lap = -4.0 * old[i][j] + old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1];
                u[i][j] = old[i][j] + 0.2 * lap;
            }
        }
    }
    let written = member(&path("out.npz"), "u.npy");
    assert_eq!(written[128..], floats(u.into_iter().flatten()));
}

/// Nothing is widened in silence: an element type that fields do not have is refused by name.
#[test]
fn members_of_other_types_are_refused() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let text = "horizontal I\ntable I2I: I -> I width 1\ninput u[I]: int32\nscalar m: int32\noutput v[I]: int32\nv = u[I2I[0]] + m\n";
    std::fs::write(place.path().join("add.field"), text).expect("a file");
    let run = |descr: &str, size: usize| {
        let members = [
            ("u", descr, &[2][..], false, vec![0; 2 * size]),
            ("m", "<i2", &[][..], false, vec![7, 0]),
            ("I2I", "|u1", &[2, 1][..], false, vec![1, 0]),
        ];
        npz(&place.path().join("in.npz"), &members);
        output_of("cembra field run add.field --data in.npz", place.path(), "here")
    };
    // Scalars and the entries of tables are numbers, of whatever type.
    assert!(run("<i4", 4).contains("\"data\":[7,7]"));
    for (descr, size, name) in [("|i1", 1, "int8"), (">u4", 4, "uint32"), ("<u8", 8, "uint64")] {
        let expected = format!("error[TYPE]: the data of `u` is {name}, not int32\n");
        let out = run(descr, size);
        assert!(out.starts_with(&expected) && out.ends_with("exit: 1\n"), "{out}");
    }
    let out = run("<f2", 2);
    let expected = "error[TYPE]: `u` in in.npz has elements of float16; fields have float64, float32, int8,";
    assert!(out.starts_with(expected) && out.ends_with("exit: 1\n"), "{out}");
}

#[test]
fn archives_keep_every_element_type() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let path = |name: &str| place.path().join(name);
    let types = [
        ("bool", "|b1", 1),
        ("int8", "|i1", 1),
        ("int16", "<i2", 2),
        ("int32", "<i4", 4),
        ("int64", "<i8", 8),
        ("uint8", "|u1", 1),
        ("uint16", "<u2", 2),
        ("uint32", "<u4", 4),
        ("uint64", "<u8", 8),
        ("float32", "<f4", 4),
        ("float64", "<f8", 8),
    ];
    for (dtype, descr, size) in types {
        let text = format!("horizontal I, J\ninput u[I, J]: {dtype}\noutput v[I, J]: {dtype}\nv = u\n");
        std::fs::write(path("copy.field"), text).expect("a file");
        // Three rows in Fortran order; the highest bits of the last element are set, but for truth values and NaN.
        let mut cells: Vec<u8> = (0..6 * size).map(|byte| (37 * byte + 5) as u8).collect();
        if dtype == "bool" {
            cells.iter_mut().for_each(|byte| *byte &= 1);
        } else {
            cells[6 * size - 1] = 0xbf;
        }
        npz(&path("in.npz"), &[("u", descr, &[3, 2], true, cells.clone())]);
        let out = output_of("cembra field run copy.field --data in.npz --out out.npz", place.path(), "here");
        assert_eq!(out, "", "{dtype}");
        let member = member(&path("out.npz"), "v.npy");
        let header = String::from_utf8_lossy(&member[..128]).into_owned();
        assert!(header.contains(&format!("'descr': '{descr}'")), "{header}");
        let of_row = |row: usize| [row, row + 3].map(|cell| &cells[cell * size..][..size]).concat();
        assert_eq!(member[128..], (0..3).flat_map(of_row).collect::<Vec<u8>>(), "{dtype}");
    }
}

#[test]
fn steps_exchange_fields_and_origins_are_kept() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let path = |name: &str| place.path().join(name);
    let text = "horizontal I\ninput u[I]\noutput v[I]\nv[I=-1:2] = u[I+1]\n";
    std::fs::write(path("move.field"), text).expect("a file");
    let origin = (-1i64).to_le_bytes().to_vec();
    npz(
        &path("in.npz"),
        &[
            ("u", "<f8", &[4], false, floats([1.0, 2.0, 3.0, 4.0])),
            ("v", "<f8", &[4], false, floats([0.0; 4])),
            ("u.origin", "<i8", &[1], false, origin.clone()),
            ("v.origin", "<i8", &[1], false, origin.clone()),
        ],
    );
    let run = |more: &str| {
        let command = format!("cembra field run move.field --data in.npz --out out.npz {more}");
        assert_eq!(output_of(&command, place.path(), "here"), "");
        member(&path("out.npz"), "v.npy")[128..].to_vec()
    };
    assert_eq!(run(""), floats([2.0, 3.0, 4.0, 0.0]));
    assert_eq!(run("--steps 2 --swap u:v"), floats([3.0, 4.0, 0.0, 4.0]));
    assert_eq!(member(&path("out.npz"), "v.origin.npy")[128..], origin);
}

#[test]
fn the_batch_prints_a_line_for_each_case() {
    let place = test_file("oracles/gt4py_otf");
    let mut names = Vec::new();
    for file in ["cases.json", "cases_v2.json"] {
        let out = output_of(&format!("cembra field run --batch {file}"), &place, file);
        for line in out.lines() {
            let line: Json = serde_json::from_str(line).expect("a line of JSON");
            let is_error = line["error"]["class"].is_string() && line["error"]["message"].is_string();
            assert!(is_error != line["outputs"].is_object(), "{line}");
            names.push(line["name"].as_str().expect("a name").starts_with("error_"));
            assert_eq!(names[names.len() - 1], is_error, "{line}");
        }
    }
    assert_eq!(names.len(), 42);
}

/// A case that nests deeply, has a name twice or has a number out of range is a line with its name; the others run.
#[test]
fn a_case_that_cannot_be_read_ends_no_other() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let case = |name: &str, value: &str| {
        format!(
            r#"{{"name": "{name}", "outputs": {{"v": {{"dims": ["I"], "shape": [2]}}}},
            "statements": [{{"targets": ["v"], "expr": ["broadcast", {value}, ["I"]]}}]}}"#
        )
    };
    let deep = |levels: usize| format!("{}[\"lit\", 1.0]{}", "[\"neg\", ".repeat(levels), "]".repeat(levels));
    let cases = [
        case("plain", &deep(1)),
        case("near", &deep(118)),
        case("deep", &deep(130)),
        case("deeper", &deep(100_000)),
        case("large", "[\"lit\", 1e400]"),
        r#"{"name": "twice", "inputs": {}, "inputs": {}}"#.to_owned(),
        "7".to_owned(),
        case("last", &deep(3)),
    ];
    for text in [format!("[{}]", cases.join(",")), format!("{{\"cases\": [{}]}}", cases.join(", "))] {
        std::fs::write(place.path().join("cases.json"), text).expect("a file");
        let out = output_of("cembra field run --batch cases.json", place.path(), "here");
        let lines: Vec<Json> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let name = |line: &Json| line["name"].as_str().unwrap_or("none").to_owned();
        let names: Vec<String> = lines.iter().map(name).collect();
        assert_eq!(names, ["plain", "near", "deep", "deeper", "large", "twice", "none", "last"]);
        let classes: Vec<&Json> = lines.iter().map(|line| &line["error"]["class"]).collect();
        let null = &Json::Null;
        assert_eq!(
            classes,
            [
                null,
                null,
                &json!("limit"),
                &json!("limit"),
                &json!("syntax"),
                &json!("syntax"),
                &json!("syntax"),
                null
            ]
        );
        assert_eq!(lines[7]["outputs"]["v"]["data"], json!([-1.0, -1.0]));
        let message = lines[3]["error"]["message"].as_str().expect("a message");
        assert!(message.contains("nests too deeply; JSON may to 127 levels"), "{message}");
    }
}

#[test]
fn a_budget_ends_a_long_loop() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    // No statement has a program.
    let text = "horizontal I\noutput u[I=0:3] fill 1.0, v[I=0:3] fill 2.0\nu, v = v, u\n";
    std::fs::write(place.path().join("swap.field"), text).expect("a file");
    let command = "cembra field run swap.field --steps 1000000000000 --fuel 5000";
    let out = output_of(command, place.path(), "here");
    assert!(out.contains("statement 1 (`u`)") && out.contains("5000") && out.contains("exit: 1"), "{out}");
    let out =
        output_of("cembra field run swap.field --steps 20 --threads 2 --fuel 5000", place.path(), "here");
    assert!(out.contains("\"u\""), "{out}");
}

/// Members that are read, outputs without data, and data in JSON are bytes that are alive.
#[test]
fn fields_count_as_bytes() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let text = "horizontal I\ninput u[I]\noutput v[I], w[I]\nv = u[I]\nw = u + v\n";
    std::fs::write(place.path().join("add.field"), text).expect("a file");
    npz(&place.path().join("in.npz"), &[("u", "<f8", &[1000], false, floats([0.5; 1000]))]);
    let run = |bytes: u64| {
        let command = format!("cembra field run add.field --data in.npz --out out.npz --limit-bytes {bytes}");
        output_of(&command, place.path(), "here")
    };
    let expected = [
        (7_999, "`u` in in.npz: limit bytes-alive: 8000 bytes more than the 0 that are alive exceed 7999"),
        (15_999, "`v`: limit bytes-alive: 8000 bytes more than the 8000 that are alive exceed 15999"),
        (23_999, "`w`: limit bytes-alive: 8000 bytes more than the 16000 that are alive exceed 23999"),
    ];
    for (bytes, expected) in expected {
        let out = run(bytes);
        assert!(out.starts_with(&format!("error[LIMIT]: {expected}\n")), "{out}");
        assert!(!place.path().join("out.npz").exists());
    }
    // The program itself needs little besides.
    assert_eq!(run(24_000 + 2_000), "");
    let case = r#"{"cases": [{"name": "a", "dims": {"I": "horizontal"}, "statements": [],
        "inputs": {"u": {"dims": ["I"], "origin": [0], "shape": [3], "data": [1.0, 2.0, 3.0]}}}]}"#;
    std::fs::write(place.path().join("cases.json"), case).expect("a file");
    let batch = |bytes: u64| {
        output_of(&format!("cembra field run --batch cases.json --limit-bytes {bytes}"), place.path(), "here")
    };
    assert!(batch(23).contains("limit bytes-alive: 24 bytes more") && batch(24).contains("\"outputs\":{}"));
}

#[test]
fn domains_are_drawn_with_their_halos() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let path = |name: &str| place.path().join(name);
    let text = "horizontal I, J\ninput u[I, J]\noutput v[I, J]\nv[I=1:7, J=0:8] = u[I-1] + u[I+1]\n";
    std::fs::write(path("a.field"), text).expect("a file");
    output_of("cembra field explain a.field --svg a.svg", place.path(), "here");
    let svg = std::fs::read_to_string(path("a.svg")).expect("a picture");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains("writes v") && svg.contains("reads u") && svg.contains("1 : 7"), "{svg}");
    let out = output_of("cembra field explain a.field --svg a.pdf", place.path(), "here");
    assert!(out.contains("goes to a file named .svg") && out.contains("exit: 1"), "{out}");
}

/// Without a compiler the tier that was named is refused, and another one is named; a compiler that fails leaves it to the interpreter.
#[test]
fn a_compiler_that_is_missing_or_fails_is_told() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let case = json!({
        "dims": { "I": "horizontal" },
        "inputs": { "x": { "dims": ["I"], "origin": [0], "shape": [3], "data": [1.0, 2.0, 4.0] } },
        "outputs": { "y": { "dims": ["I"], "origin": [0], "shape": [3], "fill": 0.0 } },
        "statements": [{ "targets": ["y"], "domain": null, "expr": ["add", ["ref", "x"], ["ref", "x"]] }],
    });
    std::fs::write(place.path().join("a.json"), case.to_string()).expect("a file");
    let failing = place.path().join("failing");
    let script = "#!/bin/sh\ncase \"$*\" in *.so*) echo no room for it >&2; exit 3;; esac\nexec cc \"$@\"\n";
    std::fs::write(&failing, script).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&failing, mode).expect("it can run");
    let run = |compiler: &Path| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.args(["field", "run", "a.json", "--tier", "native", "--cache", "process"]);
        let ended = command.current_dir(place.path()).env("CEMBRA_CC", compiler).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (ended.status.code(), text(ended.stdout), text(ended.stderr))
    };
    let (code, out, error) = run(Path::new("/there/is/none"));
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(error.contains("--tier native: no C compiler: /there/is/none: not found"), "{error}");
    assert!(error.contains("--tier interpreter runs it without a compiler"), "{error}");
    let (code, out, error) = run(&failing);
    assert!(code == Some(0) && out.contains("[2.0,4.0,8.0]"), "{out}{error}");
    assert!(
        error.contains("note: the interpreter runs statement 1 (`y`): ") && error.contains("no room for it")
    );
}
