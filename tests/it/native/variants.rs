//! Variants that are built by threads of their own: once each, with errors that are told once.

use crate::native::{fresh, function};
use cembra::native::cache::entries;
use cembra::native::variants::Variants;
use cembra::native::{ArrayLayout, NativeCache, NativeError, ProgramCall, call_library};
use cembra::vm::value::{ScalarValue, Value};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn int(n: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(n))
}

/// The program with each of these values for `m`.
fn calls(fixed: std::ops::Range<i64>) -> Vec<ProgramCall> {
    let call = function("def f(n, m):\n    return n * 10 + m\n", &[int(1), int(1)], ArrayLayout::Strided);
    fixed.map(|m| call.clone().fixing("m", int(m)).expect("an input")).collect()
}

/// A compiler that counts what it makes, and fails for some values of `m`.
fn counting(folder: &Path, fails_for: &str) -> PathBuf {
    let (path, log) = (folder.join("countingcc"), folder.join("built.txt"));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *.so*) echo built >> '{}'; \
         if grep -q '{fails_for}' f.c; then echo too odd >&2; exit 1; fi;; esac\nexec cc \"$@\"\n",
        log.display()
    );
    fs::write(&path, script).expect("it is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can run");
    path
}

/// What has been reported.
type Reports = Arc<Mutex<Vec<String>>>;

fn begin(cache: &NativeCache, calls: Vec<ProgramCall>, threads: usize) -> (Variants, Reports) {
    let reports = Reports::default();
    let to = reports.clone();
    let report = move |call: &ProgramCall, error: &NativeError| {
        to.lock().expect("no panic").push(format!("{}: {error}", call.name()));
    };
    (Variants::begin(cache.clone(), calls, threads, report).expect("threads"), reports)
}

#[test]
fn each_is_built_once_ahead_or_when_it_is_called() {
    for threads in [0, 2, 16] {
        let (root, _) = fresh();
        let compiler = counting(root.path(), "no such text");
        let cache = NativeCache::new(root.path().join("cache"), Some(&compiler)).expect("a compiler");
        let (variants, reports) = begin(&cache, calls(0..5), threads);
        assert_eq!(variants.calls().len(), 5);
        std::thread::scope(|scope| {
            for first in 0..3 {
                let variants = &variants;
                scope.spawn(move || {
                    for number in (0..4).map(|at| (at + first) % 4) {
                        let library = variants.library(number).expect("a library");
                        let found = call_library(&library, &[int(7)]).expect("no error").results;
                        assert_eq!(found, [int(70 + number as i64)]);
                    }
                });
            }
        });
        if threads == 0 {
            assert_eq!(entries(&root.path().join("cache")).len(), 4, "nobody has called the last one");
        }
        drop(variants);
        let built = fs::read_to_string(root.path().join("built.txt")).expect("it was called").lines().count();
        assert_eq!(built, entries(&root.path().join("cache")).len(), "{threads} threads");
        assert!(reports.lock().expect("no panic").is_empty());
    }
}

#[test]
fn an_error_is_told_to_its_callers_or_reported_once() {
    let (root, _) = fresh();
    let odd = "INT64_C(3)";
    let compiler = counting(root.path(), odd);
    let cache = NativeCache::new(root.path().join("cache"), Some(&compiler)).expect("a compiler");
    let built = || fs::read_to_string(root.path().join("built.txt")).map_or(0, |text| text.lines().count());
    // The variants of 2, 3 and 4: that of 3 fails.
    for is_called in [true, false] {
        let (variants, reports) = begin(&cache, calls(2..5), 2);
        variants.library(0).expect("a library");
        variants.library(2).expect("a library");
        let told = |variants: &Variants| {
            let error = variants.library(1).expect_err("it fails");
            assert!(error.to_string().contains("too odd"), "{error}");
        };
        match is_called {
            true => (0..2).for_each(|_| told(&variants)),
            // As soon as a thread has begun it: the others are there, and build nothing.
            false => {
                while built() == 3 {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
        drop(variants);
        let reports = reports.lock().expect("no panic").clone();
        assert_eq!(reports.len(), usize::from(!is_called), "{reports:?}");
        assert!(reports.iter().all(|report| report.starts_with("f: ") && report.contains("too odd")));
    }
}
