//! `cembra run` on files: what goes in comes out, whatever the format and the batches.

#[cfg(feature = "columns")]
use crate::support::test_file;
use std::fmt::Write;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A directory with files, and the command run in it.
pub struct Place {
    directory: TempDir,
}

/// What a command printed.
pub struct Printed {
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// True for exit code 0.
    pub success: bool,
}

impl Place {
    pub fn new() -> Place {
        Place { directory: tempfile::tempdir().expect("the system has a directory for temporary files") }
    }

    pub fn with(name: &str, contents: impl AsRef<[u8]>) -> Place {
        let place = Place::new();
        place.put(name, contents);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn put(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("the directory takes files");
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory is there");
        let mut names: Vec<String> =
            entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.arg("run").current_dir(self.directory.path()).env("NO_COLOR", "1");
        command
    }

    pub fn run(&self, args: &[&str]) -> Printed {
        let output = self.command().args(args).output().expect("the program is built");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        Printed { out: text(output.stdout), err: text(output.stderr), success: output.status.success() }
    }

    /// Runs quietly and gives what it printed.
    pub fn good(&self, args: &[&str]) -> String {
        let printed = self.run(&[args, &["--quiet"]].concat());
        assert!(printed.success, "{args:?}: {}", printed.err);
        assert_eq!(printed.err, "", "{args:?}");
        printed.out
    }

    /// Runs, and gives the first line of the error.
    pub fn bad(&self, args: &[&str]) -> String {
        let printed = self.run(args);
        assert!(!printed.success, "{args:?} succeeds: {}", printed.out);
        printed.err.lines().next().unwrap_or_default().to_owned()
    }
}

/// An NPY file.
pub fn npy(descr: &str, fortran: &str, shape: &str, cells: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(cells);
    bytes
}

/// Rows of every type a CSV column can have, with missing cells and odd texts.
const ALL_TYPES: &str = "\
i,j,f,g,b,t
1,-7,0.1,1.5,true,plain
,,,,,
9223372036854775807,2147483647,1e+300,3.4028235e+38,false,\"quoted, \"\"cell\"\"\"
-9223372036854775808,-2147483648,-0.0,-0.0,true,\"two
lines\"
0,0,NaN,inf,false,größe 木 👍
";

const TYPES: [&str; 8] =
    ["--type", "j=INT32", "--type", "g=FLOAT32", "--type", "t=TEXT", "--data", "all.csv"];

/// Expressions that copy the columns.
fn copies(names: &str) -> Vec<String> {
    names.chars().flat_map(|name| ["-e".to_owned(), format!("{name}={name}")]).collect()
}

fn arguments<'a>(first: &[&'a str], copies: &'a [String], last: &[&'a str]) -> Vec<&'a str> {
    first.iter().copied().chain(copies.iter().map(String::as_str)).chain(last.iter().copied()).collect()
}

#[test]
fn csv_comes_back() {
    let place = Place::with("all.csv", ALL_TYPES);
    let names = copies("ijfgbt");
    assert_eq!(place.good(&arguments(&TYPES, &names, &[])), ALL_TYPES);
    place.good(&arguments(&TYPES, &names, &["--out", "all.tsv"]));
    assert!(place.text("all.tsv").starts_with("i\tj\tf\tg\tb\tt\n1\t-7\t0.1\t1.5\ttrue\tplain\n"));
    let again = ["--type", "j=INT32", "--type", "g=FLOAT32", "--data", "all.tsv"];
    assert_eq!(place.good(&arguments(&again, &names, &["-o", "-"])), ALL_TYPES);
}

/// Copies columns to a file of another format and back to CSV.
fn round_trip(names: &str, file: &str) {
    let place = Place::with("all.csv", ALL_TYPES);
    let copies = copies(names);
    let expected = place.good(&arguments(&TYPES, &copies, &[]));
    for rows in ["1", "3", "65536"] {
        place.good(&arguments(&TYPES, &copies, &["--out", file, "--batch-rows", rows]));
        for rows in ["2", "65536"] {
            let back = place.good(&arguments(&["--data", file, "--batch-rows", rows], &copies, &[]));
            assert_eq!(back, expected, "{file}");
        }
    }
    // The types came along: adding an INT32 to a FLOAT32 gives other digits than a FLOAT64 would.
    if names.contains('g') {
        let sum = "g + 0.1";
        assert_eq!(place.good(&["--data", file, sum]), place.good(&[&TYPES[..], &[sum]].concat()));
    }
}

#[test]
fn npz_comes_back() {
    round_trip("ijfgb", "all.npz");
}

#[test]
fn npy_holds_one_column() {
    let place = Place::with("t.csv", "x,s\n1,a\n,b\n3,c\n");
    assert_eq!(
        place.bad(&["x", "--data", "t.csv", "--out", "x.npy"]),
        "error[MISSING_VALUE]: x.npy, row 2: result `result` is missing, which NPY cannot hold"
    );
    place.good(&["x * 0.5", "--data", "t.csv", "--out", "half.npy"]);
    assert_eq!(place.good(&["half", "--data", "half.npy"]), "result\n0.5\nNaN\n1.5\n");
    assert_eq!(
        place.bad(&["s", "--data", "t.csv", "--out", "s.npy"]),
        "error[TYPE]: s.npy: NPY cannot hold column `result` of TEXT"
    );
    assert_eq!(
        place.bad(&["-e", "a=x", "-e", "b=x", "--data", "t.csv", "--out", "s.npy"]),
        "error[PARSE]: s.npy: an NPY file holds one column, not 2; an NPZ file holds several"
    );
    assert_eq!(place.names(), ["half.npy", "t.csv"]);
}

#[test]
fn npy_cells_of_every_kind() {
    let cases: [(&str, &[u8], &str); 11] = [
        ("<f8", &1.5f64.to_le_bytes(), "1.5"),
        (">f8", &1.5f64.to_be_bytes(), "1.5"),
        (">f4", &(-2.5f32).to_be_bytes(), "-2.5"),
        (">i8", &(-7i64).to_be_bytes(), "-7"),
        ("<i4", &(-7i32).to_le_bytes(), "-7"),
        (">i2", &(-7i16).to_be_bytes(), "-7"),
        ("|i1", &[0xf9], "-7"),
        ("|u1", &[0xf9], "249"),
        ("<u2", &[0xff, 0xff], "65535"),
        (">u4", &[0xff, 0xff, 0xff, 0xfe], "4294967294"),
        ("|b1", &[1], "true"),
    ];
    for (descr, cell, expected) in cases {
        let place = Place::with("x.npy", npy(descr, "False", "(2,)", &[cell, cell].concat()));
        assert_eq!(
            place.good(&["x", "--data", "x.npy"]),
            format!("result\n{expected}\n{expected}\n"),
            "{descr}"
        );
        assert_eq!(place.good(&["x", "--data", "x.npy", "--batch-rows", "1"]).lines().count(), 3);
    }
    // An array of one axis is the same in both orders.
    let place = Place::with("x.npy", npy("<f8", "True", "(1,)", &1.5f64.to_le_bytes()));
    assert_eq!(place.good(&["x", "--data", "x.npy"]), "result\n1.5\n");
}

#[test]
fn npy_files_that_cannot_be_read() {
    let error = |bytes: &[u8]| Place::with("x.npy", bytes).bad(&["x", "--data", "x.npy"]);
    let cells = [0; 48];
    assert_eq!(
        error(&npy("<f8", "True", "(2, 3)", &cells)),
        "error[TYPE]: column `x` of x.npy is an array of 2 axes; a column is an array of one axis; split it into one array for each column"
    );
    let known = "bool, int8, int16, int32, int64, uint8, uint16, uint32, float32 and float64";
    for descr in ["<U3", "|O", "<c16", "<u8", "<f2", "<M8[ns]"] {
        let place = Place::with("x.npy", npy(descr, "False", "(1,)", &cells));
        let expected = format!("error[TYPE]: column `x` of x.npy is {descr}; columns of {known} can be read");
        assert_eq!(place.bad(&["x", "--data", "x.npy"]), expected);
        assert_eq!(place.bad(&["1 + x * 2", "--data", "x.npy"]), expected);
        assert_eq!(place.bad(&["strings.upper(x)", "--data", "x.npy"]), expected);
        assert_eq!(place.good(&["2", "--data", "x.npy"]), "result\n2\n");
    }
    assert_eq!(
        error(&npy("<f8", "False", "(7,)", &cells)),
        "error[PARSE]: x.npy: an array of [7] <f8 has 124 bytes, and there are 116"
    );
    assert_eq!(
        error(&npy("<f8", "False", "(5,)", &cells)),
        "error[PARSE]: x.npy: an array of [5] <f8 has 108 bytes, and there are 116"
    );
    assert_eq!(
        error(&npy("|b1", "False", "(2,)", &[1, 2])),
        "error[PARSE]: x.npy: row 2 is neither false nor true"
    );
    assert_eq!(error(b""), "error[PARSE]: x.npy: no NPY array");
    assert_eq!(
        error(b"a,b\n1,2\n3,4\n"),
        "error[PARSE]: x.npy: no NPY array: it does not begin with \\x93NUMPY"
    );
    assert_eq!(
        error(b"\x93NUMPY\x02\x00\xff\xff\xff\xff"),
        "error[PARSE]: x.npy: the NPY header is longer than 65536 bytes"
    );
    // More cells than memory are no reason to allocate them.
    assert_eq!(
        error(&npy("<f8", "False", "(1000000000000,)", &cells)),
        "error[PARSE]: x.npy: an array of [1000000000000] <f8 has 8000000000080 bytes, and there are 128"
    );
}

#[test]
fn npz_members_may_be_deflated() {
    let place = Place::new();
    let file = std::fs::File::create(place.path("d.npz")).expect("the directory takes files");
    let mut zip = zip::ZipWriter::new(file);
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, value) in [("x.npy", 2i64), ("y.npy", 5)] {
        zip.start_file(name, options).expect("a member");
        let cells: Vec<u8> = (0..1000i64).flat_map(|row| (row * value).to_le_bytes()).collect();
        zip.write_all(&npy("<i8", "False", "(1000,)", &cells)).expect("written");
    }
    zip.finish().expect("written");
    let sums: String = (0..1000).fold("result\n".to_owned(), |text, row| format!("{text}{}\n", row * 7));
    assert_eq!(place.good(&["x + y", "--data", "d.npz", "--batch-rows", "64"]), sums);
    // A damaged member is found by its checksum.
    let mut bytes = std::fs::read(place.path("d.npz")).expect("just written");
    let stored = Place::with("t.csv", "x\n1\n2\n");
    stored.good(&["-e", "x=x", "--data", "t.csv", "--out", "s.npz"]);
    let mut good = std::fs::read(stored.path("s.npz")).expect("just written");
    let at = good.windows(8).position(|w| w == 1i64.to_le_bytes()).expect("the first cell");
    good[at] = 9;
    stored.put("s.npz", &good);
    assert_eq!(
        stored.bad(&["x", "--data", "s.npz"]),
        "error[IO]: cannot read s.npz: a member has a wrong checksum"
    );
    bytes.truncate(100);
    place.put("d.npz", &bytes);
    assert!(place.bad(&["x", "--data", "d.npz"]).starts_with("error[PARSE]: d.npz: "));
}

/// Numbers with a missing one here and there, and a zero in one of `zeros` rows.
fn numbers(rows: usize, zeros: usize) -> String {
    let mut text = "a,b,s\n".to_owned();
    for row in 0..rows {
        let a = if row % 17 == 3 { String::new() } else { (row as f64 * 0.37).to_string() };
        let b = if row % zeros == zeros - 1 { 0 } else { row % 13 + 1 };
        writeln!(text, "{a},{b},\"s{row}\"").expect("text takes any text");
    }
    text
}

#[test]
fn results_do_not_depend_on_batches() {
    let place = Place::with("n.csv", numbers(1000, 50));
    let run = |rows: &str, args: &[&str]| {
        place.run(&[args, &["--data", "n.csv", "--quiet", "--batch-rows", rows]].concat())
    };
    let cases: [&[&str]; 5] = [
        &["math.sqrt(a) + b", "-e", "u=strings.upper(s)", "-e", "m=a > 100.0", "-e", "one=1.0"],
        &["1000 // b"],
        &["1000 // b", "-e", "a=a", "--on-error", "null"],
        &["1000 // b", "-e", "s=s", "--on-error", "skip"],
        &["7 // (b - 5) + 1000 // b", "--on-error", "skip"],
    ];
    for case in cases {
        let [expected, others @ ..] = ["65536", "1", "7", "64"].map(|rows| run(rows, case));
        for other in others {
            assert_eq!((other.success, other.err), (expected.success, expected.err.clone()), "{case:?}");
            // What a failed run has printed before it fails does depend on them.
            assert!(!expected.success || other.out == expected.out, "{case:?}");
        }
    }
}

#[test]
fn rows_that_fail() {
    let place = Place::with("n.csv", numbers(1000, 50));
    let fail = place.run(&["1000 // b", "--data", "n.csv", "--out", "r.csv"]);
    assert!(
        fail.err.starts_with("error[DIVISION_BY_ZERO]: n.csv, row 50 (line 51): division by zero\n"),
        "{}",
        fail.err
    );
    assert!(fail.err.contains("the row has b=0"), "{}", fail.err);
    assert_eq!(place.names(), ["n.csv"]);
    let null = place.run(&["1000 // b", "--data", "n.csv", "--out", "r.csv", "--on-error", "null"]);
    assert!(null.err.contains("; 1,000 rows of 1 column written to r.csv\n"), "{}", null.err);
    assert!(
        null.err.ends_with("20 rows without results, the first: n.csv, row 50 (line 51): division by zero\n")
    );
    assert_eq!(place.text("r.csv").lines().filter(|line| *line == "\"\"").count(), 20);
    let skip = place.run(&["1000 // b", "--data", "n.csv", "--out", "r.csv", "--on-error", "skip"]);
    assert!(skip.err.contains("20 rows left out"), "{}", skip.err);
    assert_eq!(place.text("r.csv").lines().count(), 981);
    // Every row fails: the work stays bounded.
    place.put("z.csv", format!("b\n{}", "0\n".repeat(20_000)));
    let none = place.run(&["1 // b", "--data", "z.csv", "--on-error", "skip", "--json", "--out", "r.csv"]);
    let summary: serde_json::Value = serde_json::from_str(&none.out).expect("JSON");
    assert_eq!((&summary["failed"], &summary["written"]), (&20_000.into(), &0.into()));
    assert_eq!(place.text("r.csv"), "result\n");
}

#[test]
fn cells_that_do_not_read() {
    let place = Place::with("t.csv", "x,y\n1,a\n2\n\"3\n\",b\noops,c\n5,\n6,e\n");
    let run = |mode: &str| {
        place.run(&["-e", "x=x + 1", "-e", "y=y", "--type", "x=INT64", "--data", "t.csv", "--on-error", mode])
    };
    let fail = run("fail");
    assert!(
        fail.err.starts_with("error[PARSE]: t.csv, row 2 (line 3): 1 cell, the header has 2\n"),
        "{}",
        fail.err
    );
    assert_eq!(run("skip").out, "x,y\n2,a\n4,b\n6,\n7,e\n");
    assert_eq!(run("null").out, "x,y\n2,a\n,\n4,b\n,\n6,\n7,e\n");
    place.put("t.csv", "x,y\n1,2\n\n3,oops\n");
    assert_eq!(
        place.bad(&["x + y", "--type", "y=INT32", "--data", "t.csv"]),
        "error[PARSE]: t.csv, row 2 (line 4): column `y`: 'oops' is not INT32"
    );
    place.put("t.csv", b"x,y\n1,\xff\n".as_slice());
    assert_eq!(
        place.bad(&["y", "--data", "t.csv"]),
        "error[PARSE]: t.csv, row 1 (line 2): column `y`: the cell is not UTF-8"
    );
    // A column that nobody uses is not read.
    assert_eq!(place.good(&["x", "--data", "t.csv"]), "result\n1\n");
}

#[test]
fn lines_and_headers() {
    let good = |contents: &str, expected: &str| {
        let place = Place::with("t.csv", contents);
        assert_eq!(place.good(&["x * 2", "--data", "t.csv"]), expected, "{contents:?}");
    };
    good("x\n1\n2\n", "result\n2\n4\n");
    good("x\r\n1\r\n2", "result\n2\n4\n");
    good("\u{feff}x\n1\n\n\n2\n", "result\n2\n4\n");
    good(" x ,\"y\ny\"\n1,\"a\r\nb\"\n2,\n", "result\n2\n4\n");
    good("x\n", "result\n");
    good("x", "result\n");
    good("x,y\n,\n", "result\n\"\"\n");
    let bad = |contents: &str| Place::with("t.csv", contents).bad(&["x", "--data", "t.csv"]);
    assert_eq!(bad(""), "error[PARSE]: t.csv: the file is empty; a first line names the columns");
    assert_eq!(bad("x,y,x\n1,2,3\n"), "error[PARSE]: t.csv has two columns `x`");
    assert_eq!(
        bad("x,,y\n"),
        "error[PARSE]: t.csv: column 2 has no name of UTF-8 characters in the first line"
    );
}

#[test]
fn columns_of_several_files() {
    let place = Place::with("a.csv", "x\n1\n2\n3\n");
    place.put("b.csv", "y\n10\n20\n30\n");
    place.put("c.csv", "z\n1\n2\n3\n4\n5\n");
    place.put("d.csv", "y,x\n1,2\n");
    place.put("n.npy", npy("<i4", "False", "(3,)", &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]));
    for rows in ["2", "65536"] {
        let sum =
            ["x + y + n", "--data", "a.csv", "--data", "b.csv", "--data", "n.npy", "--batch-rows", rows];
        assert_eq!(place.good(&sum), "result\n12\n24\n36\n");
        let unequal = ["x + z", "--data", "a.csv", "--data", "c.csv", "--batch-rows", rows];
        assert_eq!(place.bad(&unequal), "error[SIZE_MISMATCH]: a.csv has 3 rows, c.csv has 5");
    }
    assert_eq!(
        place.bad(&["x", "--data", "a.csv", "--data", "d.csv"]),
        "error[UNKNOWN_NAME]: column `x` is in a.csv and in d.csv"
    );
}

#[test]
fn long_texts_make_short_batches() {
    // 2,000 texts of 100,000 bytes would be 200 MB in one batch.
    let place = Place::new();
    let mut command = place.command();
    command.args(["strings.length(s)", "--data", "-", "--infer-rows", "1", "--quiet"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program is built");
    let mut input = child.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || {
        let line = format!("{}\n", "x".repeat(100_000));
        input.write_all(b"s\n").expect("the child reads");
        (0..2000).for_each(|_| input.write_all(line.as_bytes()).expect("the child reads"));
        input
    });
    let mut out = child.stdout.take().expect("it is piped");
    let input = writer.join().expect("everything is written");
    let peak = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok();
    drop(input);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut out, &mut text).expect("the program prints UTF-8");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(text, format!("result\n{}", "100000\n".repeat(2000)));
    let line = |status: &String| status.lines().find(|l| l.starts_with("VmHWM:")).map(str::to_owned);
    if let Some(line) = peak.as_ref().and_then(line) {
        let kilobytes: usize = line.split_whitespace().nth(1).expect("a number").parse().expect("a number");
        assert!(kilobytes < 180_000, "{line}");
    }
}

#[test]
fn expressions_in_a_file() {
    let place = Place::with("t.csv", "distance,time\n10,2\n9,\n");
    place.put(
        "speed.cembra",
        "# a model\nspeed = distance / time\nnamedtuple.make(speed=speed, square=speed*speed)\n",
    );
    assert_eq!(place.good(&["speed.cembra", "--data", "t.csv"]), "speed,square\n5.0,25.0\n,\n");
    place.put("export.cembra", "s = annotation.export(distance / time, 'speed')\ns * k\n");
    assert_eq!(
        place.good(&["export.cembra", "-i", "k=2.0", "--data", "t.csv", "-e", "t=time"]),
        "result,speed,t\n10.0,5.0,2\n,,\n"
    );
    assert_eq!(
        place.bad(&["export.cembra", "-i", "k=2.0", "-e", "speed=time", "--data", "t.csv"]),
        "error[UNKNOWN_NAME]: two results are named `speed`"
    );
}

#[test]
fn whole_files() {
    let place = Place::with("t.csv", "x,k\n1,a\n2,b\n4,a\n");
    assert_eq!(place.good(&["math.sum(x)", "--data", "t.csv", "--whole"]), "result\n7\n");
    assert_eq!(
        place.good(&["x / math.sum(x) * 7.0", "-e", "s=math.sum(x)", "--data", "t.csv", "--whole"]),
        "result,s\n1.0,7\n2.0,7\n4.0,7\n"
    );
    assert_eq!(
        place.good(&["math.sum(x, into=edge.group_by(k))", "--data", "t.csv", "--whole"]),
        "result\n5\n2\n"
    );
    assert_eq!(
        place.bad(&["array.unique(k)", "-e", "x=x", "--data", "t.csv", "--whole"]),
        "error[SIZE_MISMATCH]: results are columns of one length; one has 2 rows, another 3"
    );
    assert_eq!(
        place.bad(&["x + array.slice(x, 0, 2)", "--data", "t.csv", "--whole", "--on-error", "skip"]),
        "error[TYPE]: `array.slice` does not work row by row, so the result would depend on the batches"
    );
    // No row is still a batch.
    place.put("t.csv", "x,k\n");
    assert_eq!(place.good(&["array.count(x)", "--data", "t.csv", "--whole"]), "result\n0\n");
}

#[test]
fn a_killed_run_leaves_the_old_file() {
    for old in [None, Some("old\n")] {
        let place = Place::new();
        if let Some(old) = old {
            place.put("r.csv", old);
        }
        let mut command = place.command();
        command.args(["x + 1", "--data", "-", "--out", "r.csv", "--batch-rows", "10", "--infer-rows", "1"]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the program is built");
        let mut input = child.stdin.take().expect("it is piped");
        let is_partial = |name: &&String| name.starts_with(".r.csv.") && name.ends_with(".partial");
        let written = || {
            let names = place.names();
            let partial = names.iter().find(is_partial)?;
            std::fs::metadata(place.path(partial)).ok().filter(|found| found.len() > 0)
        };
        // The run is in the middle of its output, and waits for more rows.
        input.write_all(b"x\n").expect("the child reads");
        while written().is_none() {
            input.write_all("1\n".repeat(1000).as_bytes()).expect("the child reads");
        }
        child.kill().expect("it still runs");
        child.wait().expect("it was just killed");
        assert_eq!(std::fs::read_to_string(place.path("r.csv")).ok().as_deref(), old);
        assert_eq!(place.names().iter().filter(is_partial).count(), 1, "{:?}", place.names());
        // The next run is not in the way of what is left.
        place.put("t.csv", "x\n1\n");
        place.good(&["x + 1", "--data", "t.csv", "--out", "r.csv"]);
        assert_eq!(place.text("r.csv"), "result\n2\n");
    }
}

#[test]
fn a_reader_that_has_enough_ends_the_run() {
    let place = Place::with("n.csv", numbers(20_000, 50));
    let mut command = place.command();
    command.args(["a", "--data", "n.csv", "--batch-rows", "100"]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program is built");
    drop(child.stdout.take());
    assert!(child.wait().expect("it ends").success());
}

#[cfg(unix)]
#[test]
fn outputs_have_the_modes_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with("t.csv", "x\n1\n");
    place.good(&["x", "--data", "t.csv", "--out", "r.csv"]);
    let mode = |name: &str| std::fs::metadata(place.path(name)).expect("it is there").permissions().mode();
    assert_eq!(mode("r.csv"), mode("t.csv"));
    // A link goes on pointing where it points.
    std::os::unix::fs::symlink("r.csv", place.path("link.csv")).expect("the directory takes links");
    place.good(&["x + 1", "--data", "t.csv", "--out", "link.csv"]);
    assert_eq!(place.text("r.csv"), "result\n2\n");
    assert!(
        place
            .bad(&["x", "--data", "t.csv", "--out", "missing/r.csv"])
            .starts_with("error[IO]: cannot write missing/r.csv: ")
    );
}

#[cfg(feature = "columns")]
mod arrow {
    use super::*;

    #[test]
    fn parquet_comes_back() {
        round_trip("ijfgbt", "all.parquet");
    }

    #[test]
    fn arrow_comes_back() {
        round_trip("ijfgbt", "all.arrow");
    }

    /// Files of another program: the library of zstd is written in C.
    #[test]
    fn columns_by_zstd_are_refused() {
        let place = Place::new();
        for name in ["zstd.parquet", "zstd.arrow"] {
            let file = test_file("oracles/columns").join(name);
            place.put(name, std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
            let error = "the columns are compressed by zstd, which this program cannot read; write the file with \
                         snappy, lz4, gzip, brotli or no compression";
            assert_eq!(place.bad(&["x + 1.0", "--data", name]), format!("error[PARSE]: {name}: {error}"));
        }
        assert_eq!(place.good(&["y + 1", "--data", "zstd.parquet"]), "result\n11\n21\n31\n");
    }

    #[test]
    fn no_rows_and_no_columns() {
        for file in ["t.parquet", "t.arrow", "t.npz"] {
            let place = Place::with("t.csv", "x\n");
            place.good(&["-e", "x=x", "--data", "t.csv", "--out", file]);
            assert_eq!(place.good(&["x + 1.0", "--data", file]), "result\n");
            place.put("t.csv", "x\n1\n2\n3\n");
            place.good(&["-e", "x=x", "--data", "t.csv", "--out", file]);
            assert_eq!(place.good(&["1.5", "--data", file, "--batch-rows", "2"]), "result\n1.5\n1.5\n1.5\n");
        }
    }
}

#[cfg(not(feature = "columns"))]
#[test]
fn formats_that_are_not_built_say_so() {
    let place = Place::with("t.csv", "x\n1\n");
    let error = "Parquet and Arrow files need a program built with `--features columns`";
    assert_eq!(place.bad(&["x", "--data", "t.parquet"]), format!("error[IO]: t.parquet: {error}"));
    assert_eq!(
        place.bad(&["x", "--data", "t.csv", "--out", "r.arrow"]),
        format!("error[IO]: r.arrow: {error}")
    );
}
