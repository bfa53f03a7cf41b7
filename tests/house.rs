//! The house rules that a machine can check. `docs/ARCHITECTURE.md` has the table of rooms.
//!
//! Each test gathers all violations and prints them as `file:line: what`, so that one run shows
//! everything there is to mend. Rules that need a reader are not here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines a file may have before its tests.
const LONGEST: usize = 500;

/// What may stand at the top, besides dotfiles.
const TOP: [&str; 9] =
    ["Cargo.toml", "Cargo.lock", "LICENSE", "README.md", "src", "vm", "tests", "benches", "docs"];

/// The rooms of the machine that may contain unsafe code.
const UNSAFE: [&str; 9] =
    ["layout", "strip", "array", "frame", "operator", "machine", "jit", "library", "vector"];

/// Files of other rooms with unsafe code, one call each: what runs before `main`, and advice to the system.
const UNSAFE_FILES: [&str; 2] = ["src/main.rs", "vm/src/value/large_pages.rs"];

/// Rooms that may touch files, clocks, the environment and threads. The machine and backends profile, fits
/// of slices run on several threads.
const IMPURE: [&str; 9] = [
    "vm/src/machine",
    "vm/src/library",
    "src/host",
    "src/columns",
    "src/native",
    "src/backend",
    "src/fit",
    "src/cli",
    "src/main.rs",
];

/// Files that may import each other in a circle.
const CIRCLES: [(&[&str], &str); 1] = [(
    &["vm/src/value/qtype.rs", "vm/src/value/tuple.rs"],
    "a tuple type has fields of any type, and is a type",
)];

/// Folders that may name operators as text, and how many times: the symbols of the language, vocabularies of fronts, and
/// translators of programs to C. Numbers only go down: what is no vocabulary takes the constants beside the rows.
const VOCABULARIES: [(&str, usize); 4] =
    [("src/expr/", 38), ("src/field/", 13), ("src/function/", 500), ("src/native/c/", 62)];

/// Files that are compiled for tests only.
const TEST_FILES: [&str; 4] = [
    "vm/src/machine/asks.rs",
    "vm/src/machine/latency.rs",
    "vm/src/machine/peaks.rs",
    "vm/src/machine/stops.rs",
];

/// A source file, read.
struct Source {
    /// From the top, with `/`.
    path: String,
    /// Lines of code: comments are empty, so that numbers stay.
    lines: Vec<String>,
    /// Number of lines before the tests in the file.
    before_tests: usize,
    begins_with_doc: bool,
}

impl Source {
    /// `src/expr`, `vm/src/frame`, `src/main.rs`; nothing for `lib.rs`.
    fn room(&self) -> Option<&str> {
        let below = self.path.strip_prefix("vm/").unwrap_or(&self.path).strip_prefix("src/")?;
        let name = below.split('/').next()?;
        let end = self.path.len() - below.len() + name.len();
        (name != "lib.rs").then(|| &self.path[..end])
    }

    /// The crate's source folder.
    fn base(&self) -> &'static str {
        if self.path.starts_with("vm/") { "vm/src" } else { "src" }
    }

    /// Lines with their numbers, tests included.
    fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }
}

/// The folder that cargo runs the test for; another checkout may have compiled it.
fn top() -> PathBuf {
    let compiled_in = || env!("CARGO_MANIFEST_DIR").into();
    std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(compiled_in).into()
}

fn read(path: &str) -> String {
    fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Files below a folder with an extension, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![folder.to_owned()];
    while let Some(folder) = work.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => work.push(path),
                false if path.extension().is_some_and(|e| e == extension) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    let path = path.strip_prefix(top()).expect("the path lies below the top");
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn sources() -> Vec<Source> {
    let all = ["src", "vm/src"].into_iter().flat_map(|folder| files(&top().join(folder), "rs"));
    let read_one = |path: PathBuf| {
        let (path, text) = (relative(&path), fs::read_to_string(&path).expect("source files are readable"));
        let tests = text.lines().position(|l| l == "#[cfg(test)]");
        Source {
            before_tests: tests.unwrap_or_else(|| text.lines().count()),
            begins_with_doc: text.starts_with("//! "),
            lines: text.lines().map(code).collect(),
            path,
        }
    };
    all.map(read_one).collect()
}

/// A line without its comment.
fn code(line: &str) -> String {
    let comment = if line.trim_start().starts_with("//") { Some(0) } else { line.find(" // ") };
    line[..comment.unwrap_or(line.len())].to_owned()
}

/// The floors of the table in `docs/ARCHITECTURE.md`, by room.
fn floors() -> BTreeMap<String, u32> {
    let mut floors = BTreeMap::new();
    for line in read("docs/ARCHITECTURE.md").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", floor, room, ..] = cells[..] else { continue };
        let Ok(floor) = floor.trim_start_matches("vm ").parse() else { continue };
        floors.insert(room.trim_matches('`').trim_end_matches('/').to_owned(), floor);
    }
    floors
}

/// What follows each `crate::` of a line.
fn crate_paths(line: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: usize| !line[..at].ends_with(word);
    line.match_indices("crate::").filter(|(at, _)| whole(*at)).map(|(at, m)| &line[at + m.len()..]).collect()
}

/// The name at the beginning of a path.
fn first(path: &str) -> &str {
    path.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == word)
}

/// Fails with all violations.
fn none(rule: &str, violations: Vec<String>) {
    assert!(violations.is_empty(), "{rule}\n{}\n", violations.join("\n"));
}

#[test]
fn every_room_has_a_row_and_every_row_a_room() {
    let floors = floors();
    let sources = sources();
    let mut wrong: Vec<String> = Vec::new();
    for room in sources.iter().filter_map(Source::room) {
        if !floors.contains_key(room) {
            wrong.push(format!("{room}: has no row in docs/ARCHITECTURE.md"));
        }
    }
    for room in floors.keys().filter(|room| !sources.iter().any(|s| s.room() == Some(room))) {
        wrong.push(format!("docs/ARCHITECTURE.md: there is no room {room}"));
    }
    wrong.dedup();
    none("rooms and rows differ", wrong);
}

#[test]
fn rooms_import_only_lower_floors() {
    let floors = floors();
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(room) = source.room() else { continue };
        for (number, line) in source.numbered() {
            for path in crate_paths(line) {
                let other = format!("{}/{}", source.base(), first(path));
                let (Some(own), Some(its)) = (floors.get(room), floors.get(&other)) else { continue };
                if other != room && its >= own {
                    wrong.push(format!(
                        "{}:{number}: {room} (floor {own}) imports {other} (floor {its})",
                        source.path
                    ));
                }
            }
        }
    }
    none("a room imports only rooms on lower floors", wrong);
}

#[test]
fn files_import_without_circles() {
    let sources = sources();
    let imports: BTreeMap<&str, Vec<&str>> =
        sources.iter().map(|s| (&*s.path, imported_files(s, &sources))).collect();
    let allowed = |circle: &[&str]| CIRCLES.iter().any(|(files, _)| *files == circle);
    let circles = circles(&imports);
    let mut wrong: Vec<String> =
        circles.iter().filter(|c| !allowed(c)).map(|c| format!("{}:1: {}", c[0], c.join(", "))).collect();
    for (files, _) in CIRCLES.iter().filter(|(files, _)| !circles.iter().any(|c| c == files)) {
        wrong.push(format!("{}:1: is in no circle any more; it needs no permission", files[0]));
    }
    none("files that import each other are one concept or in the wrong order", wrong);
}

/// The files of its crate that a file imports, tests apart.
fn imported_files<'s>(source: &Source, sources: &'s [Source]) -> Vec<&'s str> {
    let lines = source.numbered().take(source.before_tests);
    let defining = |path: &String| defining_file(source.base(), path, sources);
    let mut files = Vec::new();
    for (_, line) in lines {
        let paths = crate_paths(line).into_iter().flat_map(names_in_braces);
        files.extend(paths.filter_map(|path| defining(&path)));
        // A `mod.rs` and what it declares are one thing: a file may use what the one above it has.
        let beside = sibling_paths(source, line).into_iter().filter_map(|path| defining(&path));
        files.extend(beside.filter(|file| !file.ends_with("/mod.rs")));
    }
    files.retain(|file| *file != source.path);
    files
}

/// What a line names by `super::`, from the top of the crate on.
fn sibling_paths(source: &Source, line: &str) -> Vec<String> {
    let module = source.path[source.base().len() + 1..].trim_end_matches(".rs").trim_end_matches("/mod");
    let room = module.rsplit_once('/').map_or("", |(room, _)| room).replace('/', "::");
    let whole = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let found = line.match_indices("super::").filter(|(at, _)| whole(*at));
    found.flat_map(|(at, m)| names_in_braces(&format!("{room}::{}", &line[at + m.len()..]))).collect()
}

/// `a::{b, c}` as `a::b` and `a::c`; any other path as it is.
fn names_in_braces(path: &str) -> Vec<String> {
    match path.split_once("::{") {
        Some((room, names)) => names.split(',').map(|name| format!("{room}::{}", name.trim())).collect(),
        None => vec![path.to_owned()],
    }
}

/// The file that the longest beginning of a path names.
fn defining_file<'s>(base: &str, path: &str, sources: &'s [Source]) -> Option<&'s str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let path = path.split(|c: char| !word(c) && c != ':').next()?;
    let names: Vec<&str> = path.split("::").filter(|name| !name.is_empty()).collect();
    let file = |length: usize| {
        let stem = format!("{base}/{}", names[..length].join("/"));
        let names_it = |s: &&Source| s.path == format!("{stem}.rs") || s.path == format!("{stem}/mod.rs");
        sources.iter().find(names_it)
    };
    (1..=names.len()).rev().find_map(file).map(|source| &*source.path)
}

/// Groups of files that reach each other, each in order.
fn circles<'s>(imports: &BTreeMap<&'s str, Vec<&'s str>>) -> Vec<Vec<&'s str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (*file, reached(file, imports))).collect();
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for (file, from_here) in &reached {
        let circle: Vec<&str> = from_here.iter().copied().filter(|f| reached[f].contains(file)).collect();
        if circle.first() == Some(file) {
            circles.push(circle);
        }
    }
    circles
}

/// The files a file imports, directly or not; itself only by way of others.
fn reached<'s>(file: &str, imports: &BTreeMap<&'s str, Vec<&'s str>>) -> BTreeSet<&'s str> {
    let mut reached = BTreeSet::new();
    let mut work: Vec<&str> = imports[file].clone();
    while let Some(next) = work.pop() {
        if reached.insert(next) {
            work.extend(&imports[next]);
        }
    }
    reached
}

#[test]
fn imports_name_the_defining_file() {
    let floors = floors();
    let mut wrong = Vec::new();
    for source in sources() {
        let own = source.room().map(|room| room[source.base().len() + 1..].to_owned()).unwrap_or_default();
        let is_hub = source.path.ends_with("/mod.rs");
        for (number, line) in source.numbered() {
            let mut blame = |what: &str| wrong.push(format!("{}:{number}: {what}", source.path));
            for path in crate_paths(line) {
                let room = first(path);
                if !floors.contains_key(&format!("{}/{room}", source.base())) {
                    blame("imports from the root of the crate, not from a room");
                }
                let inside = path[room.len()..].strip_prefix("::").unwrap_or_default();
                let inside = inside.trim_start_matches('{').trim_start();
                if room == own && !is_hub && inside.starts_with(|c: char| c.is_uppercase() || c == '*') {
                    blame("imports its own room through mod.rs");
                }
            }
            if line.contains("super::super") {
                blame("climbs with super::super");
            }
            let outside_tests = number <= source.before_tests;
            if outside_tests && line.contains("super::*") {
                blame("imports super::*");
            }
            let is_room = source.path.matches('/').count() == source.base().matches('/').count() + 2;
            if outside_tests && is_hub && is_room && has_word(line, "super") {
                blame("leaves its room with super");
            }
        }
    }
    none("an import names the file that defines", wrong);
}

#[test]
fn every_file_says_what_it_is() {
    let silent = sources().into_iter().filter(|s| !s.begins_with_doc);
    let wrong = silent.map(|s| format!("{}:1: does not begin with `//! `", s.path)).collect();
    none("a file begins with one sentence on what it is", wrong);
}

#[test]
fn files_are_short() {
    let long = sources().into_iter().filter(|s| s.before_tests > LONGEST);
    let wrong =
        long.map(|s| format!("{}:{}: at most {} lines before the tests", s.path, s.before_tests, LONGEST));
    none("one concept, one file", wrong.collect());
}

/// Types of one file may be written twice, for different machines.
#[test]
fn public_types_of_the_machine_have_names_of_their_own() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources().into_iter().filter(|source| source.path.starts_with("vm/")) {
        for line in &source.lines[..source.before_tests] {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            if let ["pub", "struct" | "enum" | "trait" | "type", name, ..] = words[..]
                && !line.starts_with(' ')
            {
                found.entry(name.to_owned()).or_default().insert(source.path.clone());
            }
        }
    }
    let twice = found.into_iter().filter(|(_, files)| files.len() > 1);
    let wrong = twice.map(|(name, files)| format!("{name} is in {files:?}")).collect();
    none("a public type of the machine has a name of its own", wrong);
}

#[test]
fn unsafe_stays_in_its_rooms() {
    let mut wrong = Vec::new();
    for source in sources() {
        let room = source.room().and_then(|room| room.strip_prefix("vm/src/"));
        if room.is_some_and(|room| UNSAFE.contains(&room)) || UNSAFE_FILES.contains(&&*source.path) {
            continue;
        }
        let lines = source.numbered().filter(|(_, line)| has_word(line, "unsafe"));
        wrong.extend(lines.map(|(number, _)| format!("{}:{number}: unsafe", source.path)));
    }
    none("unsafe code stays in the rooms of the machine that touch raw memory", wrong);
}

#[test]
fn the_compiler_is_pure() {
    let worldly = ["std::fs", "std::env", "std::net", "std::process", "std::time", "std::thread"];
    let mut wrong = Vec::new();
    for source in sources() {
        // What the processor has, and what of that may be used, is asked in one file.
        let asks_for_level = source.path == "vm/src/vector/level.rs";
        if asks_for_level || source.room().is_none_or(|room| IMPURE.contains(&room)) {
            continue;
        }
        for (number, line) in source.numbered().take(source.before_tests) {
            let found = worldly.iter().find(|w| line.contains(*w));
            wrong.extend(found.map(|w| format!("{}:{number}: {w}", source.path)));
        }
    }
    none("a compiler touches no files, clocks, environment and threads", wrong);
}

#[test]
fn the_top_is_tidy() {
    let entries = fs::read_dir(top()).expect("the top is readable").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let known = |name: &String| name.starts_with('.') || name == "target" || TOP.contains(&name.as_str());
    none("entries that do not belong at the top", names.filter(|name| !known(name)).collect());
}

#[test]
fn links_lead_somewhere() {
    let mut pages = files(&top().join("docs"), "md");
    pages.push(top().join("README.md"));
    let mut wrong = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("pages are readable");
        for (index, line) in text.lines().enumerate() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let target = link.split('#').next().unwrap_or_default();
                let folder = page.parent().expect("a page lies in a folder");
                if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                    wrong.push(format!("{}:{}: there is no {target}", relative(&page), index + 1));
                }
            }
        }
    }
    none("links between pages", wrong);
}

#[test]
fn the_operator_page_is_fresh() {
    let page = "docs/operators.md";
    let expected = cembra::inspect::operators::markdown(&cembra::registry::Registry::standard());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(top().join(page), &expected).expect("the page can be written");
    }
    let actual = read(page);
    let differs = actual.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let line = 1 + differs.unwrap_or_else(|| actual.lines().count().min(expected.lines().count()));
    assert!(
        actual == expected,
        "{page}:{line}: not fresh; UPDATE_EXPECT=1 cargo test --test house rewrites it"
    );
}

/// Names of all operators, and beginnings of such names.
fn is_of_operators(registry: &cembra::registry::Registry, text: &str) -> bool {
    let (table, space) = (registry.table(), text.split('.').next().unwrap_or_default());
    let is_beginning = || text.contains('.') && (text.ends_with(['.', '_'])) && is_namespace(registry, space);
    registry.get(text).is_some() || table.family(text).is_some() || is_beginning()
}

fn is_namespace(registry: &cembra::registry::Registry, space: &str) -> bool {
    registry.definitions().any(|def| def.name.split_once('.').is_some_and(|(first, _)| first == space))
}

/// Literals of a line of code.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

#[test]
fn operators_are_named_in_rows() {
    let registry = cembra::registry::Registry::standard();
    let mut wrong = Vec::new();
    let mut vocabularies: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources() {
        let is_row =
            source.path.starts_with("vm/src/builtins/") || source.path.starts_with("src/registry/derived/");
        if is_row || TEST_FILES.contains(&&*source.path) {
            continue;
        }
        let listed = VOCABULARIES.iter().find(|(path, _)| source.path.starts_with(path));
        for (number, line) in source.numbered().take(source.before_tests) {
            for name in literals(line).filter(|text| is_of_operators(&registry, text)) {
                match listed {
                    Some((path, _)) => *vocabularies.entry(path).or_default() += 1,
                    None => wrong.push(format!("{}:{number}: names the operator \"{name}\"", source.path)),
                }
            }
        }
    }
    for (path, most) in VOCABULARIES {
        let found = vocabularies.get(path).copied().unwrap_or(0);
        if found > most {
            wrong.push(format!("{path}: names {found} operators as text; tests/house.rs allows {most}"));
        }
    }
    none("a pass names an operator by the constant beside its row", wrong);
}

#[test]
fn operators_have_one_constant() {
    let registry = cembra::registry::Registry::standard();
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for source in sources() {
        for (number, line) in source.numbered().filter(|(_, line)| line.contains(": &str = \"")) {
            for name in literals(line).filter(|text| registry.get(text).is_some()) {
                let here = format!("{}:{number}", source.path);
                if let Some(there) = known.insert(name.to_owned(), here.clone()) {
                    wrong.push(format!("{here}: a constant for {name}, as in {there}"));
                }
            }
        }
    }
    none("an operator's name has one constant", wrong);
}

#[test]
fn owners_of_ideas_are_there() {
    let page = read("docs/ARCHITECTURE.md");
    let table = page.split("## One idea, one file").nth(1).and_then(|rest| rest.split("\n## ").next());
    let table = table.expect("docs/ARCHITECTURE.md has a table of ideas");
    let paths = table.split('`').skip(1).step_by(2).filter(|text| text.contains('/'));
    let missing = paths.filter(|path| !top().join(path).is_file());
    let wrong: Vec<String> =
        missing.map(|path| format!("docs/ARCHITECTURE.md: there is no {path}")).collect();
    none("an idea has an owner", wrong);
}

#[test]
fn the_readme_shows_what_explain_prints() -> Result<(), Box<dyn std::error::Error>> {
    use cembra::prepare::{Prepare, Source};
    use cembra::vm::value::qtype::FLOAT64;
    let text = "(-b + math.sqrt(b*b - 4.0*a*c)) / (2.0*a)";
    let expr = cembra::syntax::parse(text)?;
    let source = Source::new(expr, ["a", "b", "c"].map(|name| (name, FLOAT64)));
    let bound = cembra::compile::compile(&Prepare::standard().run(source)?, &Default::default())?;
    let program = cembra::vm::program::dump::dump(bound.program());
    let map = cembra::inspect::LayoutMap::new(bound.program()).to_string();
    let readme = read("README.md");
    for shown in [text, program.trim_end(), map.trim_end()] {
        assert!(readme.contains(shown), "README.md:1: does not show\n{shown}");
    }
    Ok(())
}
