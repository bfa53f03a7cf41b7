//! `--dump-stages DIR`: one numbered file for each stage.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn cembra(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cembra")).args(args).output().expect("the command starts")
}

/// Names of the files in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("the file is there")
}

const PREPARATION: [&str; 12] = [
    "01-expr.txt",
    "02-join.txt",
    "03-populate-types.txt",
    "04-fold-literals.txt",
    "05-lower-operators.txt",
    "06-strip-annotations.txt",
    "07-insert-casts.txt",
    "08-optimize.txt",
    "09-guard-rows.txt",
    "10-extend.txt",
    "11-place-branches.txt",
    "12-program.txt",
];

#[test]
fn an_evaluation_writes_every_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let stages = folder.path().join("a/b");
    let path = stages.to_str().expect("UTF-8");
    let output = cembra(&["eval", "x > 1 + 1", "-i", "x=3", "--dump-stages", path]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"present\n"[..]));
    assert_eq!(names(&stages), PREPARATION);
    assert_eq!(read(&stages, "02-join.txt"), "x > 1 + 1\n");
    assert_eq!(read(&stages, "04-fold-literals.txt"), "x > 2\n");
    assert!(read(&stages, "05-lower-operators.txt").contains("< x"));
    assert!(read(&stages, "12-program.txt").contains("Eval operations:"));
}

#[test]
fn explain_writes_what_eval_writes() {
    let (eval, explain) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let path = |folder: &tempfile::TempDir| folder.path().to_str().expect("UTF-8").to_owned();
    cembra(&["eval", "x * 2.0", "-i", "x=3.5", "--dump-stages", &path(&eval)]);
    let shown =
        cembra(&["explain", "x * 2.0", "-i", "x=3.5", "--stage", "expr", "--dump-stages", &path(&explain)]);
    assert_eq!(shown.stdout, cembra(&["explain", "x * 2.0", "-i", "x=3.5", "--stage", "expr"]).stdout);
    for name in PREPARATION {
        assert_eq!(read(eval.path(), name), read(explain.path(), name), "{name}");
    }
}

#[test]
fn a_step_that_fails_leaves_those_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let output = cembra(&["eval", "1 // 0 + x", "-i", "x=3", "--dump-stages", path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 // 0 + x"), "the place is shown");
    assert_eq!(names(folder.path()), PREPARATION[..10]);
}

#[test]
fn a_function_writes_every_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, stages) = (folder.path().join("square.py"), folder.path().join("stages"));
    fs::write(&source, "def square(x):\n    return x * x\n").expect("the file can be written");
    let (source, path) = (source.to_str().expect("UTF-8"), stages.to_str().expect("UTF-8"));
    let run = ["function", "run", source, "square", "--args", "[3]"];
    let output = cembra(&[&run[..], &["--dump-stages", path]].concat());
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"9\n"[..]));
    let files = ["pyast", "norm", "ussa", "tssa", "low", "passes", "program"];
    for (number, stage) in files.iter().enumerate() {
        let text = read(&stages, &format!("{:02}-{stage}.txt", number + 1));
        let shown = if *stage == "program" { "code" } else { stage };
        let dump = cembra(&["function", "dump", source, "square", "--args", "[3]", "--stage", shown]);
        assert_eq!(text.trim_end(), String::from_utf8_lossy(&dump.stdout).trim_end(), "{stage}");
    }
    assert_eq!(names(&stages).len(), files.len());
}

/// A function in a folder, and the command there; its cache is in the folder, too.
fn with_square(run: impl FnOnce(&Path, &dyn Fn(&[&str], &str) -> Output)) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("square.py"), "def square(x):\n    return x * x\n").expect("it is written");
    let command = |args: &[&str], compiler: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.args(args).current_dir(folder.path()).env("CEMBRA_CACHE_DIR", folder.path().join("cache"));
        command.env("CEMBRA_CC", compiler).output().expect("the command starts")
    };
    run(folder.path(), &command);
}

const NATIVE: [&str; 3] = ["08-translate.txt", "09-bind.txt", "10-compile.txt"];

#[test]
fn a_native_run_writes_every_stage_built_or_found() {
    with_square(|folder, cembra| {
        let run =
            ["function", "run", "square.py", "square", "--args", "[3]", "--tier", "native", "--dump-stages"];
        for stages in ["built", "found"] {
            let output = cembra(&[&run[..], &[stages]].concat(), "cc");
            assert_eq!(
                (output.status.code(), &output.stdout[..], &output.stderr[..]),
                (Some(0), &b"9\n"[..], &b""[..])
            );
            assert_eq!(names(&folder.join(stages))[7..], NATIVE);
        }
        for file in &NATIVE {
            let (built, found) = (read(&folder.join("built"), file), read(&folder.join("found"), file));
            // The key is written when the build is published.
            let rest = |text: &str| {
                text.split("\"key\"")
                    .next()
                    .expect("a part")
                    .trim_end()
                    .trim_end_matches(['}', ',', '\n'])
                    .to_owned()
            };
            assert_eq!(rest(&built), rest(&found), "{file}");
        }
        let found = folder.join("found");
        assert!(read(&found, NATIVE[0]).contains("int32_t square(int64_t"), "{}", read(&found, NATIVE[0]));
        let bound = read(&found, NATIVE[1]);
        assert!(bound.starts_with("file square.h\n\n") && bound.contains("\nfile square.py\n\n"), "{bound}");
        let compiled = read(&found, NATIVE[2]);
        assert!(
            compiled.starts_with("file build.log\n\n") && compiled.contains("\"state\": \"compiled\""),
            "{compiled}"
        );
        // A step that fails leaves those before it, and the interpreter runs the function.
        let output = cembra(&[&run[..], &["failed"]].concat(), "false");
        assert_eq!(output.stdout, b"9\n");
        assert_eq!(names(&folder.join("failed")).len(), 7);
        fs::write(folder.join("cc.sh"), "#!/bin/sh\ncase \"$*\" in *.so*) exit 1;; esac\nexec cc \"$@\"\n")
            .expect("it is written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.join("cc.sh"), executable).expect("it can run");
        cembra(&[&run[..], &["failed"]].concat(), "./cc.sh");
        assert_eq!(names(&folder.join("failed"))[7..], NATIVE[..2]);
    });
}

#[test]
fn a_build_writes_every_stage() {
    with_square(|folder, cembra| {
        let exports = ["-e", "square(i64)", "-x", "half=y * 0.5", "--type", "y=f64"];
        let build = [&["build", "square.py", "-o", "out"], &exports[..], &["--dump-stages"]].concat();
        let output = cembra(&[&build[..], &["stages"]].concat(), "cc");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let stages = folder.join("stages");
        let all = [
            "01-program-square.txt",
            "02-translate-square.txt",
            "03-program-half.txt",
            "04-translate-half.txt",
            "05-bind.txt",
            "06-compile.txt",
        ];
        assert_eq!(names(&stages), all);
        assert!(read(&stages, all[0]).contains("python.multiply"), "{}", read(&stages, all[0]));
        assert_eq!(read(&stages, all[1]), read(&folder.join("out"), "square.c"));
        assert_eq!(
            read(&stages, all[4]),
            format!(
                "file square.h\n\n{}\nfile square.py\n\n{}\n",
                read(&folder.join("out"), "square.h"),
                read(&folder.join("out"), "square.py")
            )
        );
        assert_eq!(read(&stages, all[5]), "file build.log\n\n\n");
        // The stages of the functions before one that has no form in C.
        let refused = [&build[..], &["refused", "-x", "bad=t", "--type", "t=TEXT"]].concat();
        assert_eq!(cembra(&refused, "cc").status.code(), Some(1));
        assert_eq!(names(&folder.join("refused"))[..4], all[..4]);
        assert_eq!(names(&folder.join("refused"))[4..], ["05-program-bad.txt"]);
    });
}

#[test]
fn fields_write_every_stage_of_every_statement() {
    with_square(|folder, cembra| {
        let source = "horizontal I\noutput u[I=0:6] fill 1.5\noutput v[I=0:6] fill 0.5\n\
            v[I=1:5] = u[I-1] + u[I+1]\nu = v\nu = u*v\n";
        fs::write(folder.join("a.field"), source).expect("it is written");
        let run = |stages: &str, tier: &str, compiler: &str| {
            let args = ["field", "run", "a.field", "--tier", tier, "--dump-stages", stages];
            let output = cembra(&args, compiler);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            (output.stdout, names(&folder.join(stages)))
        };
        let (values, files) = run("plain", "interpreter", "cc");
        assert_eq!(files, ["01-fields.txt", "02-domains.txt", "03-program-1-v.txt", "04-program-3-u.txt"]);
        let plain = folder.join("plain");
        assert_eq!(
            cembra(&["field", "explain", "a.field"], "cc").stdout,
            read(&plain, files[1].as_str()).as_bytes()
        );
        assert!(
            read(&plain, &files[0]).contains("v[I=1:5] = u[I-1] + u[I+1]"),
            "{}",
            read(&plain, &files[0])
        );
        assert!(read(&plain, &files[2]).contains("Eval operations:"), "{}", read(&plain, &files[2]));
        let all = [
            "03-program-1-v.txt",
            "04-translate-1-v.txt",
            "05-bind-1-v.txt",
            "06-compile-1-v.txt",
            "07-program-3-u.txt",
            "08-translate-3-u.txt",
            "09-bind-3-u.txt",
            "10-compile-3-u.txt",
        ];
        for stages in ["built", "found"] {
            let (native, files) = run(stages, "native", "cc");
            assert_eq!((&native, &files[2..]), (&values, &all.map(str::to_owned)[..]));
        }
        assert_eq!(read(&folder.join("built"), all[1]), read(&folder.join("found"), all[1]));
        // A step that fails leaves those before it, and the interpreter runs the statement.
        fs::write(folder.join("cc.sh"), "#!/bin/sh\ncase \"$*\" in *.so*) exit 1;; esac\nexec cc \"$@\"\n")
            .expect("it is written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.join("cc.sh"), executable).expect("it can run");
        let (failed, files) = run("failed", "native", "./cc.sh");
        assert_eq!(
            (&failed, files[2..5].to_vec()),
            (&values, all[..3].to_vec().iter().map(|&s| s.to_owned()).collect())
        );
        assert_eq!((files.len(), files[5].as_str()), (8, "06-program-3-u.txt"));
    });
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let field = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/field/heat.field");
    for command in [&["eval", "1 + 1"][..], &["explain", "1 + 1"], &["field", "run", field]] {
        let output = cembra(&[command, &["--dump-stages", path]].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(shown.contains(path) && shown.contains("it is no folder"), "{shown}");
    }
}
