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
    /// What a command prints that is longer than `tail` bytes, and the most memory in kilobytes that it held until these
    /// were left; nothing where the system does not tell.
    #[cfg(target_os = "linux")]
    fn printed_with_peak(command: &mut Command, tail: usize) -> (Vec<u8>, usize) {
        use std::io::Read;
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program is built");
        let mut out = child.stdout.take().expect("it is piped");
        let mut text = vec![0; tail];
        out.read_exact(&mut text).expect("the command prints more");
        // What is left does not fit the pipe and the buffer, so that the command has not ended.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it has memory");
        let peak = line.split_whitespace().nth(1).expect("a number").parse().expect("a number");
        out.read_to_end(&mut text).expect("the command prints");
        assert!(child.wait().expect("it ends").success());
        (text, peak)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_long_result_takes_no_memory_to_print() {
        let place = Place::with("f.py", "import numpy as np\n\ndef f(n):\n    return np.zeros(n)\n");
        let (count, rest) = (4_000_000, 300_000);
        let run = ["function", "run", "f.py", "f", "--args", "[4000000]"];
        let json = [&run[..], &["--json"]].concat();
        let eval = ["eval", "seq.range(4000000)", "--json"];
        let field = ["field", "run", "p.field"];
        place.put("p.field", "horizontal I\noutput u[I=0:4000000]\nu = broadcast(0.0, I)\n");
        let zeros = format!("[0.0{}]", ",0.0".repeat(count - 1));
        for (args, begin) in [
            (&run[..], "[0.0,"),
            (&json, "{\"value\":[0.0,"),
            (&eval, "{\"qtype\":\"SEQUENCE["),
            (&field, "{\"outputs\":{\"u\":{\"origin\":[0],\"shape\":[4000000],\"data\":[0.0,"),
        ] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
            command.args(args).current_dir(place.path("."));
            let (text, peak) = printed_with_peak(&mut command, 4 * count - rest);
            assert!(text.starts_with(begin.as_bytes()), "{args:?}");
            assert!(args.len() > 6 || args[0] != "function" || text == format!("{zeros}\n").as_bytes());
            assert!(peak < 160_000, "{args:?}: {peak} kB");
        }
    }
}
