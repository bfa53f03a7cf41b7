//! What is said about texts that are not programs: the message of one wrong place each.

use crate::{ARITHMETIC, programs, read, read_sealed};
use cembra_vm::builtins;
use cembra_vm::operator::{Family, OperatorTable};
use cembra_vm::program::text::{Limits, ProgramTextError, parse, parse_within, print};

/// The error after one change to the golden text, under a right hash.
fn error(from: &str, to: &str) -> String {
    assert!(ARITHMETIC.contains(from), "{from}");
    read_sealed(&ARITHMETIC.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn texts_that_do_not_read() {
    for (from, to, message) in [
        ("cembra-program 1", "cembra 1", "line 1, column 1: expected `cembra-program`, found 'cembra'"),
        ("program 1", "program 4", "the program text is of version 4, only versions 1 to 3 can be read"),
        ("program 1", "program 2", "the program text is of version 2, what it says is of version 1"),
        (
            "    output = v1",
            "    updates v0\n    output = v1",
            "the program text is of version 1, what it says is of version 2",
        ),
        (
            "hash 8",
            "hash x",
            "line 2, column 6: expected 64 hexadecimal digits, found 'x95b8d396e31d10b1b7235df4d9a14bc81100042'…",
        ),
        ("routine 0", "routine 7", "line 3, column 9: expected the routine number 0, found '7'"),
        ("align 8", "align 24", "line 4, column 25: expected a power of two up to 64, found '24'"),
        (
            "[0x00]",
            "[0x100000000]",
            "line 5, column 20: expected an offset such as `0x10`, found '0x100000000'",
        ),
        (
            "input F",
            "inptu F",
            "line 5, column 5: expected `input`, `output`, a literal such as `l0:`, `handle` or `values`, found 'inptu'",
        ),
        ("= 1\n", "= 1e999\n", "line 7, column 26: expected a FLOAT64, found '1e999'"),
        ("v2: ", "v3: ", "line 11, column 5: expected `v2:`, found 'v3'"),
        ("v1: FLOAT64", "v1: FLOAT46", "line 10, column 9: expected a type, found 'FLOAT46'"),
        (
            "[0x18]\n  int",
            "[0x18] view v3\n  int",
            "line 12, column 29: expected a value before v3, found 'v3'",
        ),
        ("'x' = v0", "'x = v0", "line 14, column 18: expected a closing quote, found the end of the line"),
        ("    output = v1\n", "", "line 16, column 3: expected `output`, found 'operators'"),
        ("= l0", "= l1", "line 16, column 18: expected a literal before l1, found 'l1'"),
        (
            "total",
            "pure",
            "line 18, column 45: expected `total`, `raises`, `host` or `updates`, found 'pure'",
        ),
        ("o1(v2, v3)", "o2(v2, v3)", "line 22, column 10: expected an operator before o2, found 'o2'"),
        ("o1(v2, v3)", "o1(v2, v4)", "line 22, column 17: expected a value before v4, found 'v4'"),
        ("o1(v2, v3)", "o1(v2; v3)", "line 22, column 15: expected `,` or `)`, found ';'"),
        (
            "v2 = o0(v0)",
            "jump<1>()",
            "line 21, column 10: expected a distance such as `+2` or `-3`, found '1'",
        ),
        (
            "v2 = o0(v0)",
            "trap<BAD>('')",
            "line 21, column 10: expected a category such as `DIVISION_BY_ZERO`, found 'BAD'",
        ),
        ("@0..1", "@5..1", "line 21, column 18: expected a span that ends after its start, found '5..1'"),
        ("@0..1", "0..1", "line 21, column 17: expected the end of the line, found '0..1'"),
        (
            "end\n",
            "",
            "line 23, column 1: expected an instruction, `routine` or `end`, found the end of the text",
        ),
        ("end\n", "end\nend\n", "line 24, column 1: expected the end of the text, found 'end'"),
    ] {
        assert_eq!(error(from, to), message);
    }
    assert_eq!(
        read("\u{1b}[2J").unwrap_err().to_string(),
        "line 1, column 1: expected `cembra-program`, found '\\x1b'"
    );
}

#[test]
fn texts_that_are_not_what_they_say() {
    let changed = ARITHMETIC.replace("@0..5", "@0..6");
    let error = read(&changed).unwrap_err().to_string();
    let stated = "895b8d396e31d10b1b7235df4d9a14bc81100042fce9d81f8ed51d7a8fc5c15f";
    assert!(error.starts_with(&format!("the program states the hash {stated}, its content has ")));
}

/// The hash is right in all of these: the checks of the layout, the verifier and the slot checker
/// have to find what is wrong.
#[test]
fn programs_that_are_not_sound() {
    for (from, to, message) in [
        (
            "size 32",
            "size 24",
            "routine 0: the layout is stated with size 24, align 8; its slots need size 32, align 8",
        ),
        (
            "size 32",
            "size 4294967288",
            "limit program-frame-bytes: 4294967288 bytes in all frames, at most 268435456 are allowed",
        ),
        (
            "size 32",
            "size 20000000",
            "routine 0: limit frame-bytes: the frame needs 20000000 bytes, at most 16777216 are allowed",
        ),
        (
            "output FLOAT64 [0x08]",
            "output FLOAT64 [0x0C]",
            "routine 0: FLOAT64 [0x0C] is not aligned to 8 bytes",
        ),
        (
            "32, align 8\n",
            "56, align 8\n    output TEXT [0x20]\n",
            "routine 0: a slot has a buffer handle at 0x20, which the layout does not list",
        ),
        (
            "    l0:",
            "    handle TEXT [0x08]\n    l0:",
            "routine 0: the buffer handle at 0x08 shares bytes with another slot",
        ),
        (
            "v2: FLOAT64 [0x10]",
            "v2: FLOAT64 [0x20]",
            "routine 0: v2 lies at FLOAT64 [0x20], which the layout does not accept",
        ),
        (
            "v2: FLOAT64 [0x10]",
            "v2: FLOAT64 [0x18]",
            "routine 0, instruction 0: v2 at FLOAT64 [0x18] is written, but it is on a literal",
        ),
        (
            "v2: FLOAT64 [0x10]",
            "v2: INT64 [0x10]",
            "routine 0, instruction 0: v2 is INT64 [0x10], expected FLOAT64",
        ),
        ("= l0", "= FLOAT64 2", "routine 0: the literal v3 = float64{2} is not in the layout"),
        ("v2 = o0(v0)", "jump<+9>()", "routine 0, instruction 0: a jump by 9 leaves the program"),
        ("v2 = o0(v0)", "v2 = call<1>(v0)", "routine 0, instruction 0: routine 1 does not exist"),
        (
            "v2 = o0(v0)",
            "jump<+0>()",
            "routine 0, instruction 1: byte 0x10 of v2 is not written on every path",
        ),
    ] {
        assert_eq!(error(from, to), message);
    }
}

#[test]
fn all_operators_that_do_not_fit_are_listed() {
    let text = print(&programs::compound_values())
        .replace("o0: core.make_tuple", "o0: 'no such'")
        .replace("BYTES) -> tuple<tuple<TEXT,OPTIONAL_FLOAT64>,INT64,BYTES> total", "BYTES) -> INT32 total")
        .replace(
            "core.presence_not(OPTIONAL_UNIT) -> OPTIONAL_UNIT total",
            "core.presence_not(UNIT) -> UNIT total",
        )
        .replace("-> INT64 total", "-> INT64 host");
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "4 of the operators cannot be used here: \
         'no such'(TEXT, OPTIONAL_FLOAT64) is unknown (line 36); \
         seq.size(SEQUENCE[INT64]) is `total`, not `host` (line 37); \
         core.make_tuple(tuple<TEXT,OPTIONAL_FLOAT64>, INT64, BYTES) gives \
         tuple<tuple<TEXT,OPTIONAL_FLOAT64>,INT64,BYTES>, not INT32 (line 38); \
         core.presence_not(UNIT) has no such overload (line 39)"
    );
}

#[test]
fn a_table_whose_operators_have_changed_is_noticed() {
    let mut table = OperatorTable::new();
    let add = Family::new("math.add", &["x", "y"], "A sum that may fail.").raises();
    table.add(add.binary(|x: f64, y: f64| x + y)).expect("the only row");
    let error = parse(ARITHMETIC, &table).unwrap_err().to_string();
    assert_eq!(
        error,
        "2 of the operators cannot be used here: core.to_float64(FLOAT32) is unknown (line 18); \
         math.add(FLOAT64, FLOAT64) is `raises`, not `total` (line 19)"
    );
}

#[test]
fn limits_name_themselves() {
    let within = |text: &str, limits: Limits| match parse_within(text, &builtins::table(), &limits) {
        Err(ProgramTextError::Limit { limit, actual, maximum, .. }) => (limit, actual, maximum),
        other => panic!("{other:?}"),
    };
    let limits = Limits::default;
    let bytes = ARITHMETIC.len() as u64;
    let cases = [
        (
            ARITHMETIC.to_owned(),
            Limits { text_bytes: bytes - 1, ..limits() },
            ("program-bytes", bytes, bytes - 1),
        ),
        (ARITHMETIC.to_owned(), Limits { all_frame_bytes: 31, ..limits() }, ("program-frame-bytes", 32, 31)),
        (print(&programs::all()[1].1), Limits { traps: 0, ..limits() }, ("program-traps", 1, 0)),
        (ARITHMETIC.to_owned(), Limits { check_bytes: 9, ..limits() }, ("program-check-bytes", 1068, 9)),
    ];
    for (text, limits, expected) in cases {
        assert_eq!(within(&text, limits), expected);
    }
    let long = "#".repeat((64 << 20) + 1);
    assert_eq!(
        read(&long).unwrap_err().to_string(),
        "limit program-bytes: 67108865 bytes of text, at most 67108864 are allowed"
    );
}
