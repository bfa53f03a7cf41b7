//! The cache under stress: many processes, processes that end at any write, files that cannot be written, equal keys of two
//! programs. There is the right result or a named error, and never another program's library.
//!
//! The processes are this binary with one of the tests below that are ignored.

use crate::native::{fresh, function};
use cembra::native::cache::{clear, entries};
use cembra::native::{
    ArrayLayout, CompileC, Compiler, NativeBuild, NativeCache, NativeError, ProgramCall, call_library,
};
use cembra::vm::value::{ScalarValue, Value};
use fastrand::Rng;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Programs that the processes build.
const KEYS: i64 = 20;

fn call(key: i64) -> ProgramCall {
    let source = format!(
        "def f(n):\n    s = 0\n    for i in range(n):\n        s += i * {key} + {}\n    return s\n",
        key % 7
    );
    function(&source, &[Value::Scalar(ScalarValue::Int64(5))], ArrayLayout::Strided)
}

/// What the library of a key gives for 5.
fn expected(key: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(10 * key + 5 * (key % 7)))
}

/// Uses the library of a key. What it gives is right.
fn check(cache: &NativeCache, key: i64) -> Result<(), NativeError> {
    let library = cache.library(&call(key))?;
    let five = Value::Scalar(ScalarValue::Int64(5));
    assert_eq!(call_library(&library, &[five]).expect("no error").results, [expected(key)], "key {key}");
    Ok(())
}

/// This binary with one of the tests that are ignored.
fn process(test: &str, root: &Path, seed: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--ignored", "--test-threads=1"]);
    command.env("CEMBRA_STRESS", root).env("CEMBRA_STRESS_SEED", seed.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The folder and the random numbers of a process; `None` where nobody has started it.
fn of_process() -> Option<(PathBuf, Rng)> {
    let seed = std::env::var("CEMBRA_STRESS_SEED").ok()?.parse().ok()?;
    Some((PathBuf::from(std::env::var_os("CEMBRA_STRESS")?), Rng::with_seed(seed)))
}

/// A compiler that counts the libraries that it makes: one line each.
fn counting(folder: &Path) -> PathBuf {
    let (path, log) = (folder.join("countingcc"), folder.join("built.txt"));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *.so*) echo built >> '{}';; esac\nexec cc \"$@\"\n",
        log.display()
    );
    fs::write(&path, script).expect("it is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can run");
    path
}

#[test]
#[ignore = "a process of the tests below"]
fn process_of_all_keys() {
    let Some((root, mut rng)) = of_process() else { return };
    let cache = NativeCache::new(root.join("cache"), Some(&root.join("countingcc"))).expect("a compiler");
    let mut keys: Vec<i64> = (0..KEYS).collect();
    rng.shuffle(&mut keys);
    for key in keys {
        check(&cache, key).expect("a library");
    }
}

#[test]
#[ignore = "a process of the tests below"]
fn process_of_one_key() {
    let Some((root, _)) = of_process() else { return };
    let cache = NativeCache::new(root.join("cache"), None);
    if let Err(error) = cache.and_then(|cache| check(&cache, 3)) {
        // Named, and about a file or the compiler, which could not write.
        let is_named = matches!(
            error,
            NativeError::File { .. } | NativeError::Compiler { .. } | NativeError::NoCompiler { .. }
        );
        assert!(is_named, "{error}");
        println!("{error}");
    }
}

#[test]
fn many_processes_build_each_key_once() {
    let (folder, _) = fresh();
    counting(folder.path());
    let processes: Vec<Child> = (0..8)
        .map(|seed| {
            process("native::stress::process_of_all_keys", folder.path(), seed).spawn().expect("it starts")
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().expect("it ends").success());
    }
    let built = fs::read_to_string(folder.path().join("built.txt")).expect("the compiler ran");
    assert_eq!(built.lines().count(), KEYS as usize);
    let entries = entries(&folder.path().join("cache"));
    assert_eq!(entries.len(), KEYS as usize);
    assert!(entries.iter().all(|entry| entry.damage.is_none()));
}

/// What is left in a cache can be used: the key has its result, and all builds are sound.
fn is_usable(root: &Path, what: &str) {
    let cache = NativeCache::new(root.join("cache"), None).expect("a compiler");
    check(&cache, 3).unwrap_or_else(|error| panic!("{what}: {error}"));
    let entries = entries(&root.join("cache"));
    assert!(entries.iter().all(|entry| entry.damage.is_none()), "{what}: {entries:?}");
}

#[test]
fn processes_that_are_killed_leave_nothing_wrong() {
    let (folder, _) = fresh();
    let name = "native::stress::process_of_one_key";
    // How long it takes when nobody ends it.
    let begin = Instant::now();
    assert!(process(name, folder.path(), 0).status().expect("it runs").success());
    let whole = begin.elapsed();
    let rng = &mut Rng::with_seed(5);
    for number in 0..16u32 {
        clear(&folder.path().join("cache")).expect("it goes");
        let mut child = process(name, folder.path(), 0).spawn().expect("it starts");
        let share = (f64::from(number) + rng.f64()) / 16.0;
        std::thread::sleep(Duration::from_secs_f64(whole.as_secs_f64() * share));
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
        is_usable(folder.path(), &format!("killed after {share:.2} of its time"));
    }
}

#[test]
fn files_that_cannot_grow_are_errors() {
    let name = "native::stress::process_of_one_key";
    let mut codes = Vec::new();
    // In blocks of 512 bytes: nothing can be written, a part of the source, of the object, of the library.
    for blocks in [0, 1, 2, 8, 20, 31, 36, 60] {
        // Once the process is ended by the first write that is too long, once the write fails.
        for trap in ["", "trap '' XFSZ; "] {
            let (folder, _) = fresh();
            let process = process(name, folder.path(), 0);
            let mut words = vec![process.get_program().to_string_lossy().into_owned()];
            words.extend(process.get_args().map(|word| word.to_string_lossy().into_owned()));
            let status = Command::new("sh")
                .args(["-c", &format!("{trap}ulimit -f {blocks}; exec \"$@\""), "sh"])
                .args(words)
                .envs(process.get_envs().filter_map(|(name, value)| Some((name, value?))))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("a shell");
            codes.push(status.success());
            assert!(trap.is_empty() || status.success(), "{blocks} blocks: no panic, {status}");
            is_usable(folder.path(), &format!("{blocks} blocks, {trap:?}"));
        }
    }
    assert!(codes.contains(&false), "a process was ended");
}

#[test]
fn a_cache_that_is_no_folder_is_an_error() {
    let (folder, _) = fresh();
    let file = folder.path().join("file");
    fs::write(&file, "taken").expect("it is written");
    let error = NativeCache::new(&file, None).and_then(|cache| check(&cache, 1)).expect_err("it is a file");
    assert!(matches!(&error, NativeError::File { .. }), "{error}");
    assert!(error.to_string().contains("file"), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "taken");
}

#[test]
fn a_cache_that_is_read_only_gives_what_it_has() {
    let (folder, cache) = fresh();
    check(&cache, 1).expect("a library");
    let all: Vec<PathBuf> = folders(folder.path());
    let set = |mode: u32| {
        for path in &all {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        }
    };
    set(0o555);
    let (known, new) = (check(&cache, 1), check(&cache, 2));
    set(0o755);
    known.expect("it is there");
    // The administrator may write everywhere.
    assert!(matches!(new, Ok(()) | Err(NativeError::File { .. })), "{new:?}");
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while next < found.len() {
        let inner = fs::read_dir(&found[next]).expect("a folder").flatten().map(|entry| entry.path());
        let inner: Vec<PathBuf> = inner.filter(|path| path.is_dir()).collect();
        found.extend(inner);
        next += 1;
    }
    found
}

#[test]
fn equal_keys_of_two_programs_are_told_apart() {
    let (_folder, cache) = fresh();
    let place = |key: i64| cache.artifact(&call(key)).expect("a build").folder().to_owned();
    let (first, second) = (place(1), place(2));
    // As if both programs had the key of the second one.
    fs::remove_dir_all(&second).expect("it goes");
    fs::create_dir(&second).expect("a folder");
    for file in fs::read_dir(&first).expect("a folder").flatten() {
        fs::copy(file.path(), second.join(file.file_name())).expect("it is copied");
    }
    check(&cache, 2).expect("a library");
    check(&cache, 1).expect("a library");
    assert_eq!(place(2), second);
}

/// A compiler that begins another process and waits for it, for as long as the test takes; both leave their numbers.
fn hanging(folder: &Path) -> PathBuf {
    let path = folder.join("hangingcc");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *.so*) ;; *) exec cc \"$@\";; esac\nsleep 600 &\necho \"$$ $!\" > '{}'\nwait\n",
        folder.join("numbers").display()
    );
    fs::write(&path, script).expect("it is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can run");
    path
}

/// The processes that a hanging compiler has begun, as soon as there are any.
fn numbers(folder: &Path) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let text = fs::read_to_string(folder.join("numbers")).unwrap_or_default();
        let numbers: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if numbers.len() == 2 {
            return numbers;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "the compiler was not called");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until these processes have ended; whether somebody has asked how does not matter.
fn have_ended(numbers: &[String]) {
    let is_running = |number: &String| {
        let state = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    let begin = Instant::now();
    while numbers.iter().any(is_running) {
        assert!(begin.elapsed() < Duration::from_secs(20), "{numbers:?} still run");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_compiler_that_hangs_is_stopped_with_what_it_has_begun() {
    let (folder, _) = fresh();
    let compiler = Compiler::at(&hanging(folder.path())).expect("it answers");
    let compile = CompileC::new(compiler, "").time_limit(Duration::from_millis(500));
    let cache = NativeCache::of(NativeBuild::c(compile), folder.path().join("cache"));
    let error = cache.library(&call(1)).expect_err("it hangs");
    assert!(matches!(error, NativeError::Time { .. }), "{error}");
    have_ended(&numbers(folder.path()));
    // Nothing is left of it, and another compiler builds the same.
    let left = fs::read_dir(folder.path().join("cache/v1/tmp")).expect("a folder").count();
    assert_eq!((left, entries(&folder.path().join("cache"))), (0, Vec::new()));
    is_usable(folder.path(), "after a compiler that hangs");
}

/// A compiler that makes a library and leaves a process behind, which would write to the log of the build for a minute.
#[test]
#[cfg(target_os = "linux")]
fn what_a_compiler_leaves_behind_is_stopped() {
    let (folder, _) = fresh();
    let path = folder.path().join("leavingcc");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *.so*) ;; *) exec cc \"$@\";; esac\n\
         (for i in $(seq 600); do echo still here; sleep 0.1; done) &\necho \"$! $!\" > '{}'\nexec cc \"$@\"\n",
        folder.path().join("numbers").display()
    );
    fs::write(&path, script).expect("it is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can run");
    let cache = NativeCache::new(folder.path().join("cache"), Some(&path)).expect("it answers");
    check(&cache, 1).expect("a library");
    have_ended(&numbers(folder.path()));
    let entries = entries(&folder.path().join("cache"));
    assert!(entries.len() == 1 && entries[0].damage.is_none(), "{entries:?}");
}

/// Several processes clear one cache: each build is removed by one of them, and nobody fails.
#[test]
fn many_clear_a_cache_at_once() {
    let (folder, _) = fresh();
    let builds = 200;
    for number in 0..builds {
        let build = folder.path().join(format!("v1/{:02x}/{number:032x}", number % 16));
        fs::create_dir_all(&build).expect("a folder");
        for file in ["a", "b", "c"] {
            fs::write(build.join(file), "x").expect("it is written");
        }
    }
    let root = folder.path();
    let removed: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| clear(root).expect("it is cleared"))).collect();
        all.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!((removed, entries(root).len()), (builds, 0));
    assert_eq!(fs::read_dir(root.join("v1/tmp")).expect("a folder").count(), 0);
}

/// What stands where a build or a lock should be is not waited for, and is no reason not to build.
#[test]
fn other_things_in_the_places_of_a_cache() {
    let (folder, cache) = fresh();
    let place = cache.artifact(&call(1)).expect("a build").folder().to_owned();
    clear(folder.path()).expect("it goes");
    fs::write(&place, "no folder").expect("it is written");
    let damage = entries(folder.path())[0].damage.clone();
    assert_eq!(damage.as_deref(), Some("build.json cannot be read"));
    check(&cache, 1).expect("a library");
    assert!(place.is_dir());
    clear(folder.path()).expect("it goes");
    // A link that leads nowhere, and a folder of others that a link leads to, which stays.
    std::os::unix::fs::symlink("nowhere", &place).expect("a link");
    check(&cache, 1).expect("a library");
    clear(folder.path()).expect("it goes");
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    fs::write(folder.path().join("mine/notes"), "mine").expect("it is written");
    std::os::unix::fs::symlink(folder.path().join("mine"), &place).expect("a link");
    check(&cache, 1).expect("a library");
    assert_eq!(fs::read_to_string(folder.path().join("mine/notes")).expect("it is there"), "mine");
    // A pipe that nobody reads.
    clear(folder.path()).expect("it goes");
    let lock = place.with_extension("lock");
    fs::remove_file(&lock).expect("it is there");
    assert!(Command::new("mkfifo").arg(&lock).status().expect("a command").success());
    check(&cache, 1).expect("a library");
    fs::write(place.with_extension("other"), "a file of others").expect("it is written");
    assert_eq!(clear(folder.path()).expect("it goes"), 1);
    // No room for builds under way.
    check(&cache, 1).expect("a library");
    fs::remove_dir(folder.path().join("v1/tmp")).expect("it is empty");
    fs::write(folder.path().join("v1/tmp"), "no folder").expect("it is written");
    check(&cache, 1).expect("it is there");
    assert_eq!(clear(folder.path()).expect("it goes"), 1);
    let error = check(&cache, 1).expect_err("nothing can be built");
    assert!(matches!(error, NativeError::File { .. }), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_build_that_is_interrupted_stops_its_compiler() {
    let (folder, _) = fresh();
    let compiler = hanging(folder.path());
    fs::write(folder.path().join("f.py"), "def f(n):\n    return n\n").expect("it is written");
    for signal in ["INT", "TERM"] {
        let mut build = Command::new(env!("CARGO_BIN_EXE_cembra"));
        build.args(["build", "f.py", "-o", "out", "-e", "f(i64)", "--compiler"]).arg(&compiler);
        build.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut build = build.spawn().expect("it starts");
        let begun = numbers(folder.path());
        let sent = Command::new("kill").args([format!("-{signal}"), build.id().to_string()]).status();
        assert!(sent.expect("a signal is sent").success());
        assert!(!build.wait().expect("it ends").success());
        have_ended(&begun);
        assert!(!folder.path().join("out/libf.so").exists());
        fs::remove_file(folder.path().join("numbers")).expect("it goes");
    }
}

/// Sends a signal to a process.
fn signal(name: &str, process: &Child) {
    let sent = Command::new("kill").args([format!("-{name}"), process.id().to_string()]).status();
    assert!(sent.expect("a signal is sent").success());
}

/// Waits for a file.
fn appears(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Builds that are under way in the cache of a folder, each with the file of its owner.
fn under_way(folder: &Path) -> usize {
    fs::read_dir(folder.join("cache/v1/tmp")).map_or(0, Iterator::count)
}

/// A compiler whose first library waits for a file `go`; it leaves a file `began`.
fn waiting(folder: &Path) {
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *.so*) if mkdir '{0}/began' 2> /dev/null; then\n\
         while [ ! -e '{0}/go' ]; do sleep 0.05; done; fi;; esac\nexec cc \"$@\"\n",
        folder.display()
    );
    let path = folder.join("countingcc");
    fs::write(&path, script).expect("it is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can run");
}

/// A process that is stopped while it builds keeps the lock of its key. Others wait for some time, then build the same; when the
/// process goes on, it takes what is there.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_is_stopped_is_waited_for_for_some_time() {
    let (folder, _) = fresh();
    waiting(folder.path());
    let name = "native::stress::process_of_all_keys";
    let mut first = process(name, folder.path(), 1).spawn().expect("it starts");
    appears(&folder.path().join("began"));
    signal("STOP", &first);
    let mut keys: Vec<i64> = (0..KEYS).collect();
    Rng::with_seed(1).shuffle(&mut keys);
    let compiler = folder.path().join("countingcc");
    let cache = NativeCache::new(folder.path().join("cache"), Some(&compiler)).expect("it answers");
    let limit = Duration::from_millis(300);
    let begin = Instant::now();
    check(&cache.clone().wait_limit(limit), keys[0]).expect("a library");
    assert!(begin.elapsed() >= limit && begin.elapsed() < Duration::from_secs(60));
    let place = cache.artifact(&call(keys[0])).expect("it is there").folder().to_owned();
    let number = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&place).expect("a folder"));
    let built = number();
    // The stopped process is no process that has ended: its folder stays.
    assert_eq!(under_way(folder.path()), 2);
    fs::write(folder.path().join("go"), "").expect("it is written");
    signal("CONT", &first);
    assert!(first.wait().expect("it ends").success());
    assert_eq!((number(), under_way(folder.path())), (built, 0));
    let entries = entries(&folder.path().join("cache"));
    assert!(entries.len() == KEYS as usize && entries.iter().all(|entry| entry.damage.is_none()));
}

/// Where nobody waits, all build the same at once, and the first complete build is that of all.
#[test]
fn builds_without_locks_do_not_meet() {
    let (folder, _) = fresh();
    let cache = NativeCache::new(folder.path().join("cache"), None).expect("a compiler");
    let cache = cache.wait_limit(Duration::ZERO);
    for key in 0..3 {
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| check(&cache, key))).collect();
            all.into_iter().for_each(|thread| thread.join().expect("no panic").expect("a library"));
        });
    }
    assert_eq!((entries(&folder.path().join("cache")).len(), under_way(folder.path())), (3, 0));
}

/// What a process leaves that was killed while it built goes with the next build, or when the cache is cleared; what others build
/// meanwhile stays.
#[test]
#[cfg(target_os = "linux")]
fn a_build_that_was_killed_is_removed_by_the_next_one() {
    let (folder, _) = fresh();
    let root = folder.path().join("cache");
    hanging(folder.path());
    fs::rename(folder.path().join("hangingcc"), folder.path().join("countingcc")).expect("it is there");
    for is_cleared in [false, true] {
        let name = "native::stress::process_of_all_keys";
        let mut killed = process(name, folder.path(), 1).spawn().expect("it starts");
        let begun = numbers(folder.path());
        is_usable(folder.path(), "beside a build that is under way");
        clear(&root).expect("it goes");
        assert_eq!(under_way(folder.path()), 2);
        killed.kill().expect("it runs");
        killed.wait().expect("it ends");
        // Its compiler has a group of its own.
        let _ = Command::new("kill").args(["-KILL", "--"]).args(&begun).status();
        have_ended(&begun);
        assert_eq!(under_way(folder.path()), 2);
        match is_cleared {
            false => is_usable(folder.path(), "after a build that was killed"),
            true => assert_eq!(clear(&root).expect("it goes"), 0),
        }
        assert_eq!(under_way(folder.path()), 0);
        fs::remove_file(folder.path().join("numbers")).expect("it is there");
    }
}
