//! Outputs: which files may be written, and what is left of them when the run does not end well.

use crate::columns::Place;
use crate::support::test_file;
use std::process::{Command, Stdio};

#[test]
fn a_file_that_is_read_is_not_written() {
    let place = Place::with("t.csv", "x\n1\n2\n");
    let said = place.bad(&["x", "--data", "t.csv", "--out", "./t.csv"]);
    assert_eq!(said, "error[IO]: --out and --data are one file, ./t.csv: it would be overwritten");
    assert_eq!(place.text("t.csv"), "x\n1\n2\n");
    assert_eq!(place.names(), ["t.csv"]);
}

#[test]
fn names_of_results_say_what_they_hold() {
    let place = Place::new();
    let model = test_file("cases/model/simple.yaml");
    place.put("d.csv", "energy,spectrum\n84,1\n85,2\n86,1\n");
    let fit = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
        command.args(["model", "fit"]).arg(&model).args(["--data", "d.csv", "--quiet"]).args(args);
        let output = command.current_dir(place.path(".")).env("NO_COLOR", "1").output().expect("it is built");
        assert!(!output.status.success(), "{args:?}");
        String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        fit(&["--plot", "p.pdf"]),
        "error[IO]: --plot p.pdf: a picture goes to a file named .svg or .png"
    );
    assert_eq!(
        fit(&["--out", "r.csv"]),
        "error[IO]: --out r.csv: a result as JSON goes to a file named .json"
    );
    assert_eq!(
        fit(&["--save-model", "d.csv"]),
        "error[IO]: --save-model d.csv: a model goes to a file named .yaml or .yml"
    );
    assert_eq!(place.names(), ["d.csv"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    #[test]
    fn a_file_written_again_keeps_mode_and_owner() {
        let place = Place::with("t.csv", "x\n1\n");
        for (name, mode) in [("a.csv", 0o600), ("b.csv", 0o640), ("c.npz", 0o664)] {
            place.put(name, "old");
            let path = place.path(name);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("it is ours");
            let before = std::fs::metadata(&path).expect("it is there");
            place.good(&["-e", "x=x", "--data", "t.csv", "--out", name]);
            let after = std::fs::metadata(&path).expect("it is there");
            assert_eq!(after.mode() & 0o7777, mode, "{name}");
            assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()), "{name}");
            assert_ne!(after.ino(), before.ino(), "{name} is another file now");
        }
        // Only the administrator can give a file away.
        place.put("d.csv", "old");
        if std::os::unix::fs::chown(place.path("d.csv"), Some(12345), Some(12346)).is_ok() {
            place.good(&["x", "--data", "t.csv", "--out", "d.csv"]);
            let after = std::fs::metadata(place.path("d.csv")).expect("it is there");
            assert_eq!((after.uid(), after.gid()), (12345, 12346));
        }
    }

    #[test]
    fn signals_remove_the_unfinished_file() {
        for (signal, number) in [("INT", 2), ("TERM", 15)] {
            let place = Place::with("r.csv", "old\n");
            let mut command = place.command();
            command.args([
                "x + 1",
                "--data",
                "-",
                "--out",
                "r.csv",
                "--batch-rows",
                "10",
                "--infer-rows",
                "1",
            ]);
            let mut child = command.stdin(Stdio::piped()).spawn().expect("the program is built");
            let mut input = child.stdin.take().expect("it is piped");
            std::io::Write::write_all(&mut input, b"x\n1\n2\n").expect("the child reads");
            while place.names().len() < 2 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
            assert!(sent.expect("the system can send signals").success());
            assert_eq!(child.wait().expect("it ends").signal(), Some(number));
            assert_eq!(place.names(), ["r.csv"], "SIG{signal}");
            assert_eq!(place.text("r.csv"), "old\n");
        }
    }

    /// Runs a line of the shell with the program as its first argument.
    fn shell(place: &Place, line: &str) -> (Option<i32>, String) {
        let mut command = Command::new("sh");
        command.args(["-c", line]).arg0("sh").arg(env!("CARGO_BIN_EXE_cembra")).current_dir(place.path("."));
        let output = command.env("NO_COLOR", "1").output().expect("the system has a shell");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    #[test]
    fn a_closed_output_is_an_error_and_a_broken_pipe_is_none() {
        let place = Place::with("t.csv", "x\n1\n");
        for command in ["run x --data t.csv", "eval 1+1", "ops", "eval '1+' --json"] {
            let (code, said) =
                shell(&place, &format!("\"$0\" {command} --quiet 2>/dev/null >&-; \"$0\" {command} >&-"));
            assert_eq!(code, Some(1), "{command}");
            assert!(said.contains("standard output is closed"), "{command}: {said}");
        }
        let (code, said) = shell(&place, "\"$0\" run x --data t.csv --out r.csv --quiet >&-");
        assert_eq!((code, &*said), (Some(0), ""), "nothing goes to standard output");
        let (code, said) =
            shell(&place, "\"$0\" eval 1+1 > /dev/null && \"$0\" run x --data t.csv -q <> /dev/null >&0");
        assert_eq!((code, &*said), (Some(0), ""), "a file that swallows everything is open");
        place.put("n.csv", format!("x\n{}", "1\n".repeat(300_000)));
        for command in
            ["run x --data n.csv --quiet", "run x --data n.csv --head 200000 --quiet", "ops --markdown"]
        {
            let (_, said) = shell(&place, &format!("\"$0\" {command} | head -n 1 > /dev/null"));
            assert_eq!(said, "", "{command}");
        }
    }
}
