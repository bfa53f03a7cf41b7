//! Pictures as PNG, which the feature `png` draws.

use crate::support::test_file;
use cembra::plot::PlotError;
use cembra::plot::bitmap::png;
use std::process::Command;

#[test]
fn pictures_become_pixels() {
    let svg =
        "<svg xmlns='http://www.w3.org/2000/svg' width='3' height='2'><rect width='3' height='2'/></svg>";
    match png(svg) {
        Ok(bytes) => {
            assert_eq!((&bytes[1..4], &bytes[16..24]), (&b"PNG"[..], &[0, 0, 0, 6, 0, 0, 0, 4][..]));
        }
        Err(error) => assert_eq!(error, PlotError::NoFont),
    }
    assert!(png("no drawing").is_err());
}

/// The ending of the name says what is written.
#[test]
fn pictures_are_what_their_name_says() {
    let place = tempfile::tempdir().expect("the system has a directory for temporary files");
    let draw = |name: &str| {
        let file = place.path().join(name);
        let arguments = ["model", "fit", "line.yaml", "--data", "line.csv", "--column", "counts", "--plot"];
        let run = Command::new(env!("CARGO_BIN_EXE_cembra"))
            .args(arguments)
            .arg(&file)
            .current_dir(test_file("cases/model"))
            .output()
            .expect("the command runs");
        match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(_) => String::from_utf8_lossy(&run.stderr).into_owned().into_bytes(),
        }
    };
    let (svg, pixels) = (draw("line.svg"), draw("line.png"));
    assert!(svg.starts_with(b"<svg"));
    let is_told = String::from_utf8_lossy(&pixels).contains("the system has no font");
    assert!(pixels.starts_with(b"\x89PNG") || is_told, "{}", String::from_utf8_lossy(&pixels));
}
