//! Files that lie about themselves.

use crate::columns::{Place, npy};
use cembra::columns::csv_source::CsvSource;
use cembra::columns::source::{Rows, Source};
use cembra::columns::whole::read_whole;
use std::io::Write;
use std::path::Path;

/// The members of an NPZ file, stored.
fn npz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in members {
        zip.start_file(*name, options).expect("a new name");
        zip.write_all(bytes).expect("memory takes bytes");
    }
    zip.finish().expect("an end").into_inner()
}

fn floats(values: &[f64]) -> Vec<u8> {
    let cells: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f8", "False", &format!("({},)", values.len()), &cells)
}

/// Replaces bytes by others of the same length, wherever they stand.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(from.len()) {
        if bytes[at..].starts_with(from) {
            changed[at..at + to.len()].copy_from_slice(to);
        }
    }
    assert_ne!(changed, bytes, "there is something to replace");
    changed
}

#[test]
fn quotes_that_stay_open_are_errors() {
    let error = |text: &str| Place::with("q.csv", text).bad(&["x", "--data", "q.csv"]);
    assert_eq!(
        error("x,y\n1,a\n2,\"b\n3,c\n4,d\n"),
        "error[PARSE]: q.csv: line 3: the quote that opens here is never closed"
    );
    assert_eq!(
        error("\"x,y\n1,a\n"),
        "error[PARSE]: q.csv: line 1: the quote that opens here is never closed"
    );
    let far = format!("x,y\n{}7,\"b\n1,2\n", "1,a\n".repeat(100_000));
    assert_eq!(error(&far), "error[PARSE]: q.csv: line 100002: the quote that opens here is never closed");
    let rows_vanish = Place::with("q.csv", "x,y\n1,\"a\n2,b\n3,\"c\"\n4,d\n");
    let said = rows_vanish.bad(&["x", "--data", "q.csv"]);
    let expected = "error[PARSE]: q.csv, row 1 (line 2): the cell whose quote opens in line 2 goes on behind the closing quote";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_csv_file_that_shrinks_is_an_error() {
    let place = Place::with("s.csv", format!("x\n{}", "1234567\n".repeat(200_000)));
    let mut source = CsvSource::open(&place.path("s.csv"), b',', &[], 10).expect("a file of numbers");
    source.select(&[0]).expect("a column");
    let mut rows = Rows::default();
    source.read(10, &mut rows).expect("ten rows");
    let file = std::fs::OpenOptions::new().write(true).open(place.path("s.csv")).expect("it is there");
    file.set_len(800_002).expect("it can be cut");
    let mut read = || -> Result<usize, String> {
        source.read(1_000_000, &mut rows).map_err(|e| e.to_string())?;
        Ok(rows.count)
    };
    let error = read().expect_err("rows are missing");
    assert!(
        error.ends_with("the file was cut while it was read: it had 1600002 bytes, and ends after 800002"),
        "{error}"
    );
}

#[test]
fn presence_is_truth_values_of_the_same_rows() {
    let said = |presence: Vec<u8>| {
        let bytes = npz(&[("x.npy", floats(&[1.0, 2.0])), ("x.present.npy", presence)]);
        let place = Place::with("p.npz", bytes);
        let whole = read_whole(&place.path("p.npz")).map_err(|e| e.to_string());
        (place.run(&["x", "--data", "p.npz", "--quiet"]), whole)
    };
    let (ran, whole) = said(npy("|b1", "False", "(2,)", &[1, 0]));
    assert_eq!(ran.out, "result\n1.0\n\"\"\n");
    let whole = whole.expect("an array");
    assert!(whole.len() == 1 && whole[0].values[0] == 1.0 && whole[0].values[1].is_nan());
    let (ran, whole) = said(floats(&[1.0, 0.0]));
    let expected = "p.npz: x.present.npy says which rows of `x` are present, and holds <f8, not truth values";
    assert_eq!(ran.err.trim_end(), format!("error[PARSE]: {expected}"));
    assert!(whole.expect_err("no truth values").ends_with(expected));
    let (ran, whole) = said(npy("|b1", "False", "(3,)", &[1, 0, 1]));
    assert!(ran.err.starts_with("error[SIZE"), "{}", ran.err);
    assert!(whole.is_err());
}

#[test]
fn members_of_one_name_are_an_error() {
    let twice = npz(&[("x.npy", floats(&[1.0])), ("y.npy", floats(&[2.0]))]);
    let place = Place::with("d.npz", replaced(&twice, b"y.npy", b"x.npy"));
    assert_eq!(place.bad(&["x", "--data", "d.npz"]), "error[PARSE]: d.npz: two members have one name");
    assert!(read_whole(&place.path("d.npz")).is_err());
}

#[test]
fn members_are_no_longer_than_the_file_justifies() {
    let good = npz(&[("x.npy", floats(&[1.0; 100]))]);
    let bad = |bytes: &[u8]| {
        let place = Place::with("l.npz", bytes);
        assert!(read_whole(&place.path("l.npz")).is_err());
        place.bad(&["x", "--data", "l.npz"])
    };
    let longer = replaced(&good, b"'shape': (100,)", b"'shape': (999,)");
    assert!(bad(&longer).contains("an array of [999] <f8 has"), "{}", bad(&longer));
    let shorter = replaced(&good, b"'shape': (100,)", b"'shape': (010,)");
    assert!(bad(&shorter).contains("an array of [10] <f8 has"), "{}", bad(&shorter));
    // Sizes in the directory of the ZIP file.
    let size = u32::try_from(floats(&[1.0; 100]).len()).expect("small").to_le_bytes();
    let huge = replaced(&good, &size, &0x7fff_fff0_u32.to_le_bytes());
    assert!(bad(&huge).starts_with("error[PARSE]: l.npz: "), "{}", bad(&huge));
}

#[test]
fn empty_arrays_of_long_axes_are_empty() {
    let place = Place::with("e.npy", npy("<f8", "True", "(0, 1000000000000, 1000000000000)", &[]));
    let arrays = read_whole(&place.path("e.npy")).expect("an array");
    assert_eq!(arrays[0].values.len(), 0);
}

#[cfg(unix)]
#[test]
fn files_with_sizes_are_regular_files() {
    for name in ["p.npy", "p.npz"] {
        let place = Place::new();
        std::os::unix::fs::symlink("/dev/zero", place.path(name)).expect("the directory takes links");
        assert_eq!(
            place.bad(&["x", "--data", name]),
            format!("error[IO]: cannot read {name}: it is no regular file")
        );
        assert!(read_whole(Path::new(&place.path(name))).is_err());
    }
}
