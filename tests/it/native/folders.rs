//! Build folders: their files and states, what is left of builds that were killed, and what `cembra cache verify` finds.

use crate::native::{fresh, function};
use cembra::native::cache::entries;
use cembra::native::{
    ArrayLayout, CompileC, Compiler, NativeBuild, NativeCache, ProgramCall, Scripted, call_library, load,
};
use cembra::vm::library::{ABI_VERSION, Digest, Library, LibraryError};
use cembra::vm::program::text;
use cembra::vm::value::{ScalarValue, Value};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn call() -> ProgramCall {
    let seven = [Value::Scalar(ScalarValue::Int64(7))];
    function("def f(n):\n    return n * 3 + 1\n", &seven, ArrayLayout::Strided)
}

/// The library gives what the program gives.
fn check(library: &Library, what: &str) {
    let found = call_library(library, &[Value::Scalar(ScalarValue::Int64(7))]).expect("no error").results;
    assert_eq!(found, [Value::Scalar(ScalarValue::Int64(22))], "{what}");
}

fn folder(cache: &NativeCache) -> PathBuf {
    cache.artifact(&call()).expect("a build").folder().to_owned()
}

fn read_json(folder: &Path) -> Json {
    let text = fs::read_to_string(folder.join("build.json")).expect("it is there");
    serde_json::from_str(&text).expect("it is JSON")
}

fn write_json(folder: &Path, json: &Json) {
    fs::write(folder.join("build.json"), json.to_string()).expect("it is written");
}

/// The states of a build in a folder: the files that there are when `build.json` says so.
const STATES: [(&str, &[&str]); 3] = [
    ("initialized", &["program.txt", "f.c", "f.h", "f.py"]),
    ("configured", &["build.sh", "Makefile"]),
    ("compiled", &["build.log", "libf.so"]),
];

#[test]
fn a_folder_has_the_program_and_digests_of_all_files() {
    let (_root, cache) = fresh();
    let folder = folder(&cache);
    let stored = fs::read_to_string(folder.join("program.txt")).expect("it is there");
    assert_eq!(stored, text::print(call().program()));
    let json = read_json(&folder);
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "build.json")
        .collect();
    names.sort();
    let mut noted: Vec<&String> = json["files"].as_object().expect("an object").keys().collect();
    noted.sort();
    assert_eq!(names.iter().collect::<Vec<_>>(), noted);
    assert_eq!(json["state"], "compiled");
    assert_eq!(json["files"]["program.txt"]["size"], stored.len());
}

/// A compiler that keeps `build.json` as it is when the compiler is called.
#[test]
fn a_build_passes_all_states() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let place = place.path();
    let watching = place.join("cc");
    let script = "#!/bin/sh\ncp build.json seen.json 2>/dev/null\nexec cc \"$@\"\n";
    fs::write(&watching, script).expect("it is written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&watching, executable).expect("it can run");
    let compile = CompileC::new(Compiler::at(&watching).expect("it answers"), place).by(Scripted);
    let build = NativeBuild::c(CompileC::new(Compiler::at(&watching).expect("it answers"), place));
    let artifact = build.with_compile(compile).run(call()).expect("a library");
    check(&load(&artifact).expect("it loads"), "by a script");
    let seen: Json = serde_json::from_str(&fs::read_to_string(place.join("seen.json")).expect("it is kept"))
        .expect("JSON");
    assert_eq!(seen["state"], "configured");
    assert!(seen["files"]["build.sh"]["size"].is_u64() && seen.get("library").is_none(), "{seen}");
    let last = read_json(place);
    for (_, files) in STATES {
        assert!(files.iter().all(|file| last["files"][file]["size"].is_u64()), "{files:?}: {last}");
    }
}

/// Makes a folder as it is when a build was killed behind so many of its writes; the last file is half there.
fn leave(place: &Path, whole: &Path, writes: usize, is_half: bool) -> bool {
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place).expect("a folder");
    let (mut done, mut json) = (0, read_json(whole));
    let all = json["files"].as_object().expect("an object").clone();
    json["files"] = json!({});
    let library = json.as_object_mut().expect("an object").remove("library").expect("its name");
    for (state, files) in STATES {
        for file in files.iter().filter(|file| all.contains_key(**file)) {
            if done == writes {
                return true;
            }
            let bytes = fs::read(whole.join(file)).expect("it is there");
            done += 1;
            let kept = if is_half && done == writes { bytes.len() / 2 } else { bytes.len() };
            fs::write(place.join(file), &bytes[..kept]).expect("it is written");
            json["files"][file] = all[*file].clone();
        }
        if done == writes || state == "compiled" {
            return done == writes;
        }
        done += 1;
        json["state"] = state.into();
        json["library"] = library.clone();
        write_json(place, &json);
    }
    false
}

#[test]
fn what_killed_builds_leave_is_no_build() {
    let (root, cache) = fresh();
    let place = folder(&cache);
    let whole = root.path().join("whole");
    fs::rename(&place, &whole).expect("it moves");
    let mut writes = 0;
    while leave(&place, &whole, writes, false) {
        for is_half in [false, true] {
            let what = format!("killed behind {writes} writes, half {is_half}");
            // In the place of the build, where nothing writes but a rename; and where one is under way.
            leave(&place, &whole, writes, is_half);
            leave(&root.path().join("v1/tmp/left"), &whole, writes, is_half);
            check(&cache.library(&call()).expect("a library"), &what);
            let all = entries(root.path());
            assert!(all.iter().all(|entry| entry.damage.is_none()), "{what}: {all:?}");
            // In a folder of the caller.
            let own = root.path().join("own");
            leave(&own, &whole, writes, is_half);
            let compile = CompileC::new(Compiler::find(None).expect("a compiler"), &own);
            let artifact = NativeBuild::c(compile).run(call()).expect("a library");
            check(&load(&artifact).expect("it loads"), &what);
        }
        writes += 1;
    }
    assert_eq!(writes, 9, "six files and two states before the last one");
}

/// What is wrong with the only build of a cache.
fn damage(root: &Path) -> String {
    let [entry] = &entries(root)[..] else { panic!("one build") };
    entry.damage.clone().unwrap_or_default()
}

#[test]
fn damage_is_found_and_named() {
    let (root, cache) = fresh();
    let place = folder(&cache);
    assert_eq!(damage(root.path()), "");
    for file in ["program.txt", "f.c", "f.h", "f.py", "libf.so"] {
        let path = place.join(file);
        let bytes = fs::read(&path).expect("it is there");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("it is cut");
        assert_eq!(damage(root.path()), format!("{file}: its size differs"));
        let mut other = bytes.clone();
        other[bytes.len() / 2] ^= 1;
        fs::write(&path, other).expect("it is written");
        assert_eq!(damage(root.path()), format!("{file}: its digest differs"));
        fs::remove_file(&path).expect("it goes");
        assert!(damage(root.path()).starts_with(&format!("{file}: ")), "{file}");
        fs::write(&path, bytes).expect("it is written");
    }
    let sound = read_json(&place);
    let with = |name: &str, value: Json| {
        let mut json = sound.clone();
        json[name] = value;
        write_json(&place, &json);
        damage(root.path())
    };
    assert_eq!(
        with("abi", 1.into()),
        format!("made for version 1 of the boundary, this is version {ABI_VERSION}")
    );
    assert_eq!(with("state", "configured".into()), "its build has not ended, its state is configured");
    assert_eq!(with("files", json!({})), "build.json names no library");
    assert_eq!(with("files", json!({ "libf.so": {} })), "build.json has no digest of libf.so");
    fs::write(place.join("build.json"), "{").expect("it is written");
    assert_eq!(damage(root.path()), "build.json cannot be read");
    check(&cache.library(&call()).expect("a library"), "built again");
    assert_eq!(damage(root.path()), "");
}

#[test]
fn a_library_of_another_version_of_the_boundary_is_not_called() {
    let (root, cache) = fresh();
    let place = folder(&cache);
    let source = fs::read_to_string(place.join("f.c")).expect("it is there");
    let other = source.replace(&format!("f_abi = {ABI_VERSION};"), "f_abi = 77;");
    assert_ne!(other, source);
    fs::write(place.join("f.c"), &other).expect("it is written");
    let args = ["-w", "-shared", "-fPIC", "-o", "libf.so", "f.c", "-lm"];
    assert!(Command::new("cc").args(args).current_dir(&place).status().expect("a compiler").success());
    let library = place.join("libf.so");
    let digest = Digest::of(&fs::read(&library).expect("it is there"));
    let error = Library::open(&library, digest, "f", &call().signature()).expect_err("another version");
    assert!(matches!(error, LibraryError::Abi { found: 77, expected: ABI_VERSION, .. }), "{error}");
    // `build.json` knows nothing of it: all files are as it says.
    let mut json = read_json(&place);
    for file in ["f.c", "libf.so"] {
        let digest = Digest::of(&fs::read(place.join(file)).expect("it is there"));
        let hex: String = digest.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        json["files"][file] = json!({ "size": digest.size, "sha256": hex });
    }
    write_json(&place, &json);
    let is_elf = fs::read(&library).expect("it is there").starts_with(b"\x7fELF");
    let found = if is_elf {
        format!("libf.so: made for version 77 of the boundary, this is version {ABI_VERSION}")
    } else {
        String::new()
    };
    assert_eq!(damage(root.path()), found);
    assert!(load(&cache.artifact(&call()).expect("a hit")).is_err());
    check(&cache.library(&call()).expect("a library"), "built again");
    assert_eq!(fs::read_to_string(place.join("f.c")).expect("it is there"), source);
}

/// Whoever keeps a library keeps its code, and the one that is built next in its place is another one: loaders of systems know
/// by the path what they have loaded.
#[test]
fn a_library_that_is_kept_is_not_taken_for_the_next_one() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let build = NativeBuild::c(CompileC::new(Compiler::find(None).expect("a compiler"), folder.path()));
    let seven = [Value::Scalar(ScalarValue::Int64(7))];
    let kept: Vec<Library> = (0..4)
        .map(|n| {
            let source = format!("def f(n):\n    return n * 3 + {n}\n");
            let artifact = build.run(function(&source, &seven, ArrayLayout::Strided)).expect("it is built");
            load(&artifact).expect("it loads")
        })
        .collect();
    for (n, library) in kept.iter().enumerate() {
        let found = call_library(library, &seven).expect("no error").results;
        assert_eq!(found, [Value::Scalar(ScalarValue::Int64(21 + n as i64))]);
        assert_eq!(library.path(), folder.path().join("libf.so"));
    }
}

/// The loader of the system says why it does not load a file.
#[test]
fn what_is_no_library_is_said_by_the_system() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (path, text) = (folder.path().join("libf.so"), [b'x'; 10_000]);
    fs::write(&path, text).expect("it is written");
    let error = Library::open(&path, Digest::of(&text), "f", &call().signature()).expect_err("it is none");
    let error = error.to_string();
    assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
    assert!(
        !error.ends_with("failed") && (cfg!(not(target_os = "linux")) || error.contains("ELF")),
        "{error}"
    );
}

/// A relative path means a file of this folder, not a library of the system.
#[test]
fn a_library_of_the_folder_at_hand_is_no_library_of_the_system() {
    let signature = call().signature();
    let error = Library::open(Path::new("libm.so.6"), Digest::of(b""), "f", &signature);
    assert!(matches!(error, Err(LibraryError::File { .. })), "{error:?}");
}

/// What no build has left is not read to its end, if it has one.
#[test]
fn files_that_no_build_leaves_are_not_read() {
    let (root, cache) = fresh();
    let place = folder(&cache);
    let begin = std::time::Instant::now();
    let files = ["build.json", "libf.so"];
    for file in files {
        let large = fs::File::options().write(true).open(place.join(file)).expect("it is there");
        // It has no blocks on the disk.
        large.set_len(1 << 40).expect("it grows");
        assert_eq!(entries(root.path()).len(), 1);
        assert!(entries(root.path())[0].damage.is_some(), "{file}");
        check(&cache.library(&call()).expect("a library"), file);
    }
    for file in files {
        fs::remove_file(place.join(file)).expect("it is there");
        assert!(Command::new("mkfifo").arg(place.join(file)).status().expect("it runs").success());
        assert!(entries(root.path())[0].damage.is_some(), "{file}");
        check(&cache.library(&call()).expect("a library"), file);
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(60));
}
