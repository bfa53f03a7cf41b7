//! The cache of builds: what is a hit, who builds, and what becomes of damaged folders.

use crate::native::{fresh, function};
use cembra::native::cache::{clear, entries};
use cembra::native::{
    ArrayLayout, CompileC, Compiler, NativeBuild, NativeCache, NativeError, ProgramCall, call_library, load,
};
use cembra::vm::value::{ScalarValue, Value};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SOURCE: &str = "def f(n):\n    return n * 3 + 1\n";

fn seven() -> Vec<Value> {
    vec![Value::Scalar(ScalarValue::Int64(7))]
}

fn call(source: &str) -> ProgramCall {
    function(source, &seven(), ArrayLayout::Strided)
}

fn gives(cache: &NativeCache, source: &str) -> Value {
    let library = cache.library(&call(source)).expect("a library");
    call_library(&library, &seven()).expect("no error").results[0].clone()
}

fn folder(cache: &NativeCache, source: &str) -> PathBuf {
    cache.artifact(&call(source)).expect("a build").folder().to_owned()
}

/// When a build was made: that of its library, which nobody writes again.
fn made(folder: &Path) -> std::time::SystemTime {
    fs::metadata(folder.join("libf.so")).and_then(|data| data.modified()).expect("a library")
}

#[test]
fn what_does_not_matter_is_a_hit() {
    let (_root, cache) = fresh();
    let first = folder(&cache, SOURCE);
    let time = made(&first);
    // Names, comments and lines.
    assert_eq!(folder(&cache, "# moved\n\ndef f(number):\n    return number * 3 + 1\n"), first);
    assert_eq!(made(&first), time);
    // A literal, the function's name, the layout, a flag.
    assert_ne!(folder(&cache, "def f(n):\n    return n * 3 + 2\n"), first);
    let renamed = function("def g(n):\n    return n * 3 + 1\n", &seven(), ArrayLayout::Strided);
    assert_ne!(cache.artifact(&renamed).expect("a build").folder(), first);
    let contiguous = function(SOURCE, &seven(), ArrayLayout::Contiguous);
    assert_ne!(cache.artifact(&contiguous).expect("a build").folder(), first);
    let compiler = Compiler::find(None).expect("a compiler");
    let debug = NativeBuild::c(CompileC::new(compiler, "").flag("-g"));
    let root = first.ancestors().nth(3).expect("the root");
    assert_ne!(folder(&NativeCache::of(debug, root), SOURCE), first);
    // How floats are rounded.
    let contracting =
        NativeBuild::c(CompileC::new(Compiler::find(None).expect("a compiler"), "").contracting());
    let contracted = folder(&NativeCache::of(contracting, root), SOURCE);
    assert_ne!(contracted, first);
    let flags = |folder: &Path| fs::read_to_string(folder.join("build.json")).expect("it is there");
    assert!(flags(&first).contains("-ffp-contract=off") && !flags(&first).contains("-ffp-contract=fast"));
    assert!(
        flags(&contracted).contains("-ffp-contract=fast")
            && !flags(&contracted).contains("-ffp-contract=off")
    );
    assert_eq!(entries(root).len(), 6);
    assert!(entries(root).iter().all(|entry| entry.damage.is_none()));
    assert_eq!(clear(root).expect("it goes"), 6);
    assert_eq!(entries(root), []);
}

#[test]
fn damaged_builds_are_made_again() {
    let (_root, cache) = fresh();
    let expected = Value::Scalar(ScalarValue::Int64(22));
    assert_eq!(gives(&cache, SOURCE), expected);
    let place = folder(&cache, SOURCE);
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 7] = [
        ("the library is cut", |f| truncate(&f.join("libf.so"), 1000)),
        ("the library is empty", |f| truncate(&f.join("libf.so"), 0)),
        ("a bit of the library differs", |f| flip(&f.join("libf.so"), 5000)),
        ("the library is gone", |f| fs::remove_file(f.join("libf.so")).expect("it is there")),
        ("the json is cut", |f| truncate(&f.join("build.json"), 40)),
        ("the json is gone", |f| fs::remove_file(f.join("build.json")).expect("it is there")),
        ("the json is of another key", |f| {
            let text = fs::read_to_string(f.join("build.json")).expect("it is there");
            fs::write(f.join("build.json"), text.replace("\"target\": \"", "\"target\": \"0"))
                .expect("it is written");
        }),
    ];
    for (what, damage) in damage {
        damage(&place);
        assert_eq!(gives(&cache, SOURCE), expected, "{what}");
        assert!(
            entries(place.ancestors().nth(3).expect("the root")).iter().all(|entry| entry.damage.is_none()),
            "{what}"
        );
    }
}

/// Whatever has become of a file of a cache, the result is right, and what could be used again is whole again.
#[test]
fn any_file_of_a_cache_may_be_damaged_anywhere() {
    let (root, cache) = fresh();
    let expected = Value::Scalar(ScalarValue::Int64(22));
    assert_eq!(gives(&cache, SOURCE), expected);
    let place = folder(&cache, SOURCE);
    let files = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let mut all = [files(&place), files(&root.path().join("v1/compilers"))].concat();
    all.sort();
    let rng = &mut fastrand::Rng::with_seed(22);
    for file in &all {
        for _ in 0..8 {
            let whole = fs::read(file).expect("it is there");
            let mut bytes = whole.clone();
            let at = rng.usize(..whole.len().max(1));
            match rng.u8(..4) {
                0 if !whole.is_empty() => bytes[at] ^= 1 << rng.u8(..8),
                1 => bytes.truncate(at),
                2 => drop(bytes.splice(at..at, [0xff; 7])),
                _ => bytes.rotate_left(at),
            }
            // In its place, or as another file.
            if rng.bool() {
                fs::remove_file(file).expect("it is there");
            }
            fs::write(file, &bytes).expect("it is written");
            let again = NativeCache::new(root.path(), None).expect("a compiler");
            assert_eq!(gives(&again, SOURCE), expected, "{}", file.display());
            // A hit reads neither sources nor logs.
            let is_read = !["c", "h", "py", "log", "txt"]
                .iter()
                .any(|end| file.extension().is_some_and(|of| of == *end));
            let sound = entries(root.path()).iter().all(|entry| entry.damage.is_none());
            assert!(sound || !is_read, "{}: {:?}", file.display(), entries(root.path()));
            if !sound {
                fs::write(file, whole).expect("it is written");
            }
        }
    }
}

fn truncate(path: &Path, bytes: u64) {
    let file = fs::File::options().write(true).open(path).expect("it is there");
    file.set_len(bytes).expect("it is cut");
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("it is there");
    bytes[at] ^= 16;
    fs::write(path, bytes).expect("it is written");
}

#[test]
fn a_moved_cache_is_a_hit() {
    let (root, cache) = fresh();
    let place = folder(&cache, SOURCE);
    let moved = root.path().join("moved");
    fs::rename(root.path().join("v1"), root.path().join("moved")).expect("it moves");
    fs::create_dir(root.path().join("there")).expect("a folder");
    fs::rename(&moved, root.path().join("there").join("v1")).expect("it moves");
    let other = NativeCache::new(root.path().join("there"), None).expect("a compiler");
    let artifact = other.artifact(&call(SOURCE)).expect("a build");
    assert_eq!(artifact.folder().file_name(), place.file_name());
    assert!(load(&artifact).is_ok());
    assert_eq!(entries(&root.path().join("there")).len(), 1);
}

#[test]
fn a_cache_of_a_process_goes_with_its_last_handle() {
    let compiler = Compiler::find(None).expect("a compiler");
    let cache = NativeCache::of_process(NativeBuild::c(CompileC::new(compiler, ""))).expect("a folder");
    let place = folder(&cache, SOURCE);
    let root = place.ancestors().nth(3).expect("the root").to_owned();
    let other = cache.clone();
    drop(cache);
    assert_eq!(folder(&other, SOURCE), place);
    let library = other.library(&call(SOURCE)).expect("a library");
    drop(other);
    assert!(!root.exists());
    let found = call_library(&library, &seven()).expect("no error").results;
    assert_eq!(found, [Value::Scalar(ScalarValue::Int64(22))]);
}

#[test]
fn many_threads_build_once() {
    let (root, cache) = fresh();
    let sources: Vec<String> = (0..4).map(|n| format!("def f(n):\n    return n * {n} + 1\n")).collect();
    let folders = std::thread::scope(|scope| {
        let run = || {
            sources
                .iter()
                .map(|source| (folder(&cache, source), made(&folder(&cache, source))))
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    // The same library, not one that was made again.
    assert!(folders.windows(2).all(|pair| pair[0] == pair[1]), "{folders:?}");
    assert_eq!(entries(root.path()).len(), 4);
    assert_eq!(fs::read_dir(root.path().join("v1/tmp")).expect("a folder").count(), 0);
}

#[test]
fn variants_with_fixed_inputs_are_builds_of_their_own() {
    let (root, cache) = fresh();
    let args = [3i64, 0].map(|x| Value::Scalar(ScalarValue::Int64(x)));
    let source = "def f(n, m):\n    s = 0\n    for i in range(n):\n        s += i * m % 8\n    return s\n";
    let call = function(source, &args, ArrayLayout::Strided);
    let fixed = |x: i64| call.clone().fixing("m", Value::Scalar(ScalarValue::Int64(x))).expect("an input");
    let calls: Vec<ProgramCall> = (1..5).map(fixed).collect();
    let built: Vec<_> = calls.iter().map(|call| cache.artifact(call)).collect();
    assert_eq!(entries(root.path()).len(), 4);
    let general = cache.library(&call).expect("a library");
    for (x, (built, call)) in (1..5).zip(built.iter().zip(&calls)) {
        let artifact = built.as_ref().expect("a build");
        assert_eq!(cache.artifact(call).expect("a hit").folder(), artifact.folder());
        let variant = load(artifact).expect("a library");
        assert_eq!(variant.signature().parameters.len(), 1);
        let n = Value::Scalar(ScalarValue::Int64(100));
        let all = [n.clone(), Value::Scalar(ScalarValue::Int64(x))];
        let found = call_library(&variant, &[n]).expect("no error").results;
        assert_eq!(found, call_library(&general, &all).expect("no error").results);
    }
    let refused = |name: &str, value: Value| {
        call.clone().fixing(name, value).expect_err("it cannot be fixed").to_string()
    };
    let one = Value::Scalar(ScalarValue::Int64(1));
    assert_eq!(refused("k", one.clone()), "input \"k\" cannot be fixed: the program has no such input");
    let float = Value::Scalar(ScalarValue::Float64(1.0));
    assert_eq!(refused("m", float), "input \"m\" cannot be fixed: it has the type INT64, not FLOAT64");
    let twice = fixed(1).fixing("m", one).expect_err("it is fixed").to_string();
    assert_eq!(twice, "input \"m\" cannot be fixed: it is fixed already");
}

#[test]
fn a_cache_stays_within_its_limit() {
    let (root, cache) = fresh();
    let one: u64 = {
        folder(&cache, SOURCE);
        entries(root.path())[0].size
    };
    clear(root.path()).expect("it goes");
    let cache = cache.size_limit(2 * one + one / 2);
    for n in 0..4 {
        folder(&cache, &format!("def f(n):\n    return n * 5 + {}\n", 10 + n));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(entries(root.path()).len(), 2);
}

/// A compiler that says who it is, and then does something else.
fn fake(folder: &Path, rest: &str) -> PathBuf {
    let path = folder.join("fakecc");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in --version) echo fake 1;; -march=native) echo x;; -print*) exec cc \"$@\";; *) {rest};; esac\n"
    );
    fs::write(&path, script).expect("it is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can run");
    path
}

#[test]
fn compilers_that_fail_are_named() {
    let (root, _) = fresh();
    let missing =
        NativeCache::new(root.path(), Some(Path::new("no-such-compiler"))).expect_err("there is none");
    assert!(matches!(missing, NativeError::NoCompiler { .. }), "{missing}");
    let words = NativeCache::new(root.path(), Some(Path::new("gcc -O0"))).expect_err("there is none");
    assert!(words.to_string().contains("gcc -O0: not found; arguments are no part of its name"), "{words}");
    let failing = fake(root.path(), "echo no such luck >&2; exit 3");
    let cache = NativeCache::new(root.path(), Some(&failing)).expect("it answers");
    let error = cache.library(&call(SOURCE)).expect_err("it fails");
    assert!(matches!(&error, NativeError::Compiler { log, .. } if log == "no such luck\n"), "{error}");
    let coloured = fake(root.path(), "printf 'no \\033[31mluck\\n'; exit 3");
    let error = NativeCache::new(root.path(), Some(&coloured)).expect("it answers").library(&call(SOURCE));
    let error = error.expect_err("it fails");
    assert!(matches!(&error, NativeError::Compiler { log, .. } if log == "no \u{fffd}[31mluck\n"), "{error}");
    // Nothing is kept of it: another compiler builds.
    let cache = NativeCache::new(root.path(), None).expect("a compiler");
    assert_eq!(gives(&cache, SOURCE), Value::Scalar(ScalarValue::Int64(22)));
    let hanging = fake(root.path(), "sleep 60");
    let compiler = Compiler::at(&hanging).expect("it answers");
    let compile = CompileC::new(compiler, root.path()).time_limit(Duration::from_millis(200));
    let begin = std::time::Instant::now();
    let error = NativeBuild::c(compile).run(call(SOURCE)).expect_err("it hangs");
    assert!(matches!(error, NativeError::Time { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20), "it was not stopped");
    let silent = fake(root.path(), "exit 0");
    let cache = NativeCache::new(root.path(), Some(&silent)).expect("it answers");
    let error = cache.library(&call(SOURCE)).expect_err("it writes no library");
    assert!(error.to_string().contains("made no library"), "{error}");
}

/// A compiler may say more than anybody reads.
#[test]
fn the_beginning_of_a_long_log_is_kept() {
    let (root, _) = fresh();
    let noisy = fake(root.path(), "head -c 3000000 /dev/zero; exec cc \"$@\"");
    let cache = NativeCache::new(root.path(), Some(&noisy)).expect("it answers");
    let log = folder(&cache, SOURCE).join("build.log");
    assert_eq!(fs::metadata(log).expect("it is there").len(), 1 << 20);
    assert!(entries(root.path()).iter().all(|entry| entry.damage.is_none()));
}

/// A compiler that prints without end is stopped before it has filled the disk.
#[test]
fn a_compiler_that_prints_without_end_is_stopped() {
    let (root, _) = fresh();
    let noisy = fake(root.path(), "exec yes");
    let cache = NativeCache::new(root.path(), Some(&noisy)).expect("it answers");
    let error = cache.library(&call(SOURCE)).expect_err("it is stopped").to_string();
    assert!(error.contains("stopped, it printed more than") && error.len() < 100_000, "{}", error.len());
    let endless = root.path().join("endless");
    fs::write(&endless, "#!/bin/sh\nexec yes\n").expect("it is written");
    fs::set_permissions(&endless, fs::Permissions::from_mode(0o755)).expect("it can run");
    let error = Compiler::at(&endless).expect_err("it is no compiler").to_string();
    assert!(error.contains("--version gives an answer without end"), "{error}");
}

#[test]
fn a_replaced_compiler_is_another_key() {
    let (root, cache) = fresh();
    let first = folder(&cache, SOURCE);
    let wrapper = fake(root.path(), "exec cc \"$@\"");
    let of =
        |compiler: &Path| folder(&NativeCache::new(root.path(), Some(compiler)).expect("it answers"), SOURCE);
    let of_wrapper = of(&wrapper);
    assert_ne!(of_wrapper, first);
    assert_eq!(of(&wrapper), of_wrapper);
    // Another version.
    let text = fs::read_to_string(&wrapper).expect("a script");
    fs::write(&wrapper, text.replace("fake 1", "fake number 2")).expect("it is written");
    assert_ne!(of(&wrapper), of_wrapper);
    // Another script of the same version, size and time, by its digest alone.
    let time = fs::metadata(&wrapper).and_then(|data| data.modified()).expect("it is there");
    let before = of(&wrapper);
    let text = fs::read_to_string(&wrapper).expect("a script");
    fs::write(&wrapper, text.replace("exec cc \"$@\";; esac", "exec cc  $@ ;; esac")).expect("it is written");
    assert_ne!(fs::read_to_string(&wrapper).expect("a script"), text);
    fs::File::options().write(true).open(&wrapper).and_then(|file| file.set_modified(time)).expect("a time");
    assert_ne!(of(&wrapper), before);
    // A link that leads to another compiler of the same version.
    let (link, other) = (root.path().join("link"), root.path().join("othercc"));
    fs::copy(&wrapper, &other).expect("it is copied");
    std::os::unix::fs::symlink(&wrapper, &link).expect("a link");
    let of_link = of(&link);
    assert_eq!(of(&link), of_link);
    fs::remove_file(&link).expect("it goes");
    std::os::unix::fs::symlink(&other, &link).expect("a link");
    assert_ne!(of(&link), of_link);
}

/// What another compiler makes is no build under the key of the one before.
#[test]
fn a_compiler_that_is_replaced_while_a_cache_is_open_is_named() {
    let (root, _) = fresh();
    let wrapper = fake(root.path(), "exec cc \"$@\"");
    let cache = NativeCache::new(root.path(), Some(&wrapper)).expect("it answers");
    let there = folder(&cache, SOURCE);
    fake(root.path(), "exec cc -O0 \"$@\"");
    assert_eq!(folder(&cache, SOURCE), there);
    let other = call("def f(n):\n    return n * 4\n");
    let error = cache.artifact(&other).expect_err("another compiler").to_string();
    assert!(error.contains("fakecc: the compiler was replaced"), "{error}");
    let again = NativeCache::new(root.path(), Some(&wrapper)).expect("it answers");
    assert_ne!(again.artifact(&call(SOURCE)).expect("a build").folder(), there);
    assert!(again.artifact(&other).is_ok());
}

/// The same compiler takes another processor for the one at hand, or says another version.
#[test]
fn what_a_compiler_says_is_part_of_the_key() {
    let (root, _) = fresh();
    let says = |what: &str, text: &str| fs::write(root.path().join(what), text).expect("it is written");
    says("version", "one");
    says("processor", "#define FAST 1");
    let script = format!(
        "#!/bin/sh\ncd '{}'\ncase \"$1\" in --version) cat version;; -march=native) cat processor;; -print*) exec cc \"$@\";; \
         *) cd \"$OLDPWD\"; exec cc \"$@\";; esac\n",
        root.path().display()
    );
    let wrapper = root.path().join("saying");
    fs::write(&wrapper, script).expect("it is written");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("it can run");
    let of_wrapper = || folder(&NativeCache::new(root.path(), Some(&wrapper)).expect("it answers"), SOURCE);
    let first = of_wrapper();
    assert_eq!(of_wrapper(), first);
    says("processor", "#define FAST 2");
    let second = of_wrapper();
    says("version", "two");
    let third = of_wrapper();
    assert!(first != second && second != third && first != third);
    says("version", "one");
    assert_eq!(of_wrapper(), second);
}

/// A script stays as it is, and the program that it calls is replaced by another one that says the same about itself.
#[test]
fn a_compiler_behind_a_script_is_part_of_the_key() {
    let (root, _) = fresh();
    let behind = root.path().join("cc1");
    fs::write(&behind, "one").expect("it is written");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in -print*) echo '{}';; *) exec cc \"$@\";; esac\n",
        behind.display()
    );
    let wrapper = root.path().join("wrapper");
    fs::write(&wrapper, script).expect("it is written");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("it can run");
    let of_wrapper = || folder(&NativeCache::new(root.path(), Some(&wrapper)).expect("it answers"), SOURCE);
    let first = of_wrapper();
    assert_eq!(of_wrapper(), first);
    fs::write(&behind, "another").expect("it is written");
    let second = of_wrapper();
    assert_ne!(second, first);
    let json = fs::read_to_string(second.join("build.json")).expect("it is there");
    assert!(
        json.contains(&format!("{}, 7 bytes, time ", behind.canonicalize().expect("it is there").display()))
    );
}

/// A program may do another thing by another name, as those that call compilers by links do.
#[test]
fn a_compiler_is_called_by_its_own_name() {
    let (root, _) = fresh();
    let many = root.path().join("many");
    let script = "#!/bin/sh\ncase \"$0\" in */mycc) exec cc \"$@\";; esac\nexit 1\n";
    fs::write(&many, script).expect("it is written");
    fs::set_permissions(&many, fs::Permissions::from_mode(0o755)).expect("it can run");
    let link = root.path().join("mycc");
    std::os::unix::fs::symlink(&many, &link).expect("a link");
    let cache = NativeCache::new(root.path(), Some(&link)).expect("it answers");
    assert_eq!(gives(&cache, SOURCE), Value::Scalar(ScalarValue::Int64(22)));
    assert!(Compiler::at(&many).is_err());
}

/// What a compiler has said is believed if nobody has changed it, and asked again otherwise: keys stay the same.
#[test]
fn what_a_compiler_has_said_is_kept_whole() {
    let (root, cache) = fresh();
    let place = folder(&cache, SOURCE);
    let of_compilers = root.path().join("v1/compilers");
    let known = || fs::read_dir(&of_compilers).expect("a folder").flatten().next().map(|entry| entry.path());
    let Some(file) = known() else { return }; // `cc` is a script here, which is asked each time
    let whole = fs::read(&file).expect("it is there");
    let again = || folder(&NativeCache::new(root.path(), None).expect("a compiler"), SOURCE);
    assert_eq!((again(), fs::read(&file).expect("it is there")), (place.clone(), whole.clone()));
    for at in [3, whole.len() / 2, whole.len() - 3] {
        flip(&file, at);
        assert_eq!((again(), fs::read(&file).expect("it is there")), (place.clone(), whole.clone()), "{at}");
    }
    truncate(&file, 100);
    assert_eq!((again(), fs::read(&file).expect("it is there")), (place, whole));
    clear(root.path()).expect("it goes");
    assert!(!of_compilers.exists());
}
