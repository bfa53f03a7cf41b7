//! The text form of programs, as hosts see it: round trips, hashes, damage, malice.

mod damage;
#[path = "../support/draft.rs"]
mod draft;
mod messages;
mod programs;

use cembra_vm::builtins;
use cembra_vm::program::Program;
use cembra_vm::program::dump::dump;
use cembra_vm::program::text::{ProgramTextError, content_hash, parse, print};

/// The text of the published example. It may only change together with the version.
const ARITHMETIC: &str = "\
cembra-program 1
hash 895b8d396e31d10b1b7235df4d9a14bc81100042fce9d81f8ed51d7a8fc5c15f
routine 0
  layout size 32, align 8
    input FLOAT32 [0x00]
    output FLOAT64 [0x08]
    l0: FLOAT64 [0x18] = 1
  values
    v0: FLOAT32 [0x00]
    v1: FLOAT64 [0x08]
    v2: FLOAT64 [0x10]
    v3: FLOAT64 [0x18]
  interface
    input 'x' = v0
    output = v1
    literal v3 = l0
  operators
    o0: core.to_float64(FLOAT32) -> FLOAT64 total
    o1: math.add(FLOAT64, FLOAT64) -> FLOAT64 total
  eval
    v2 = o0(v0) @0..1
    v1 = o1(v2, v3) @0..5
end
";

/// A text of version 2: a loop on a truth value, in which a routine called updates an array.
const UPDATES: &str = "\
cembra-program 2
hash ff848cf34fc7b904e299f2b7a60e3dd1eed637dd8ce81df7f34a1b9cbb0c6d38
routine 0
  layout size 72, align 8
    input NDARRAY_INT64_N [0x00]
    output INT64 [0x18]
    l0: INT64 [0x30] = 0
    l1: INT64 [0x38] = 1
    handle NDARRAY [0x00]
  values
    v0: NDARRAY_INT64_N [0x00]
    v1: INT64 [0x18]
    v2: INT64 [0x20]
    v3: BOOLEAN [0x28]
    v4: INT64 [0x30]
    v5: INT64 [0x38]
    v6: INT64 [0x40]
  interface
    input 'a' = v0
    output = v1
    literal v4 = l0
    literal v5 = l1
    updates v0
  operators
    o0: core._copy(INT64) -> INT64 total
    o1: nd.length(NDARRAY_INT64_N, INT64) -> INT64 raises
    o2: math.add(INT64, INT64) -> INT64 total
    o3: bool.less(INT64, INT64) -> BOOLEAN total
  eval
    v1 = o0(v4)
    v2 = o1(v0, v4)
    jump<+2>()
    v6 = call<1>(v0, v1)
    v1 = o2(v1, v5)
    v3 = o3(v1, v2)
    jump_if<-4>(v3)
routine 1
  layout size 40, align 8
    input NDARRAY_INT64_N [0x00]
    input INT64 [0x18]
    output INT64 [0x20]
    handle NDARRAY [0x00]
  values
    v0: NDARRAY_INT64_N [0x00]
    v1: INT64 [0x18]
    v2: INT64 [0x20]
  interface
    input 'a' = v0
    input 'i' = v1
    output = v2
    updates v0
  operators
    o0: nd.set(NDARRAY_INT64_N, INT64, INT64) -> NDARRAY_INT64_N updates
    o1: core._copy(INT64) -> INT64 total
  eval
    v0 = o0(v0, v1, v1)
    v2 = o1(v1)
end
";

fn read(text: &str) -> Result<Program, ProgramTextError> {
    parse(text, &builtins::table())
}

/// Reads a text under the hash of its content, as one who means harm would write it.
fn read_sealed(text: &str) -> Result<Program, ProgramTextError> {
    match read(text) {
        Err(ProgramTextError::Hash { stated, actual }) => {
            read(&text.replacen(&stated.to_string(), &actual.to_string(), 1))
        }
        other => other,
    }
}

#[test]
fn programs_read_back() {
    for (name, program) in programs::all() {
        let text = print(&program);
        let back = read(&text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        assert_eq!(print(&back), text, "{name}");
        assert_eq!(content_hash(&back), content_hash(&program), "{name}");
        assert_eq!(dump(&back), dump(&program), "{name}");
        for (a, b) in back.routines().iter().zip(program.routines()) {
            assert_eq!(a.layout.id(), b.layout.id(), "{name}");
            assert_eq!(a.layout.literals(), b.layout.literals(), "{name}");
            assert_eq!(a.layout.template(), b.layout.template(), "{name}");
            assert_eq!((&a.values, &a.inputs, a.output), (&b.values, &b.inputs, b.output), "{name}");
            assert_eq!((&a.side_outputs, &a.literals), (&b.side_outputs, &b.literals), "{name}");
            assert_eq!(a.overrides_inputs, b.overrides_inputs, "{name}");
            assert_eq!(a.updated_inputs, b.updated_inputs, "{name}");
        }
    }
}

#[test]
fn the_golden_texts_are_stable() {
    for (program, text) in [(programs::arithmetic(), ARITHMETIC), (programs::updates(), UPDATES)] {
        assert_eq!(print(&program), text);
        assert!(read(text).is_ok());
    }
}

#[test]
fn the_documented_example_reads() {
    let page = include_str!("../../../docs/program-text.md");
    let example = page.split("```").find_map(|block| block.strip_prefix("text\n")).expect("an example");
    let program = read(example).unwrap_or_else(|e| panic!("{e}"));
    let without_comments = |line: &str| line.split("  #").next().map(|l| l.trim_end().to_owned());
    let stripped: Option<Vec<String>> = example.lines().map(without_comments).collect();
    assert_eq!(stripped, Some(print(&program).lines().map(str::to_owned).collect()));
}

#[test]
fn different_programs_have_different_hashes() {
    let mut hashes: Vec<_> = programs::all().iter().map(|(_, p)| content_hash(p)).collect();
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn comments_and_blanks_do_not_matter() {
    let spaced = ARITHMETIC
        .replace('\n', "   # a comment, 'quoted' or not\r\n\n\t# another\n")
        .replace("o1(v2, v3)", "o1 ( v2,v3 )")
        .replace("[0x08]", "[ 0x8 ]");
    let back = read(&spaced).expect("the same program");
    assert_eq!(print(&back), ARITHMETIC);
}

/// Texts that nest or repeat more than any program are refused on a small stack.
#[test]
fn deep_texts_do_not_overflow_the_stack() {
    let shapes = [
        ("FLOAT64 [0x18] = 1", format!("{} [0x18] = 1", "tuple<".repeat(1_000_000))),
        ("= 1\n", format!("= {}\n", "(".repeat(1_000_000))),
        ("o1(v2, v3)", format!("o1({})", "v2,".repeat(1_000_000))),
        ("'x'", format!("'{}", "\\x41".repeat(1_000_000))),
        ("routine 0", format!("{}routine 0", "\n".repeat(1_000_000))),
    ];
    let texts: Vec<String> = shapes.into_iter().map(|(from, to)| ARITHMETIC.replacen(from, &to, 1)).collect();
    let deepest = format!("{}{}", "tuple<".repeat(64), ">".repeat(64));
    let literal = format!("l0: {deepest} [0x18] = {}{}", "(".repeat(64), ")".repeat(64));
    let deep = ARITHMETIC.replace("    l0:", &format!("    {literal}\n    l1:")).replace("= l0", "= l1");
    let on_small_stack = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        assert_eq!(
            texts.iter().map(|text| read(text).is_err()).collect::<Vec<_>>(),
            [true, true, true, true, false]
        );
        let program = read_sealed(&deep).expect("tuples nest to the limit");
        assert!(print(&program).contains(&literal));
    });
    on_small_stack.expect("a thread").join().expect("no overflow");
}
