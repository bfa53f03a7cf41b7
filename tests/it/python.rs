//! The parser of Python-like text: the trees of CPython, errors with their places, depth, and speed that is linear.

use crate::support::{oracle, test_file};
use cembra::python::{ParsedModule, Positions, parse_module, pyast_document, pyast_root, pyast_schema};
use cembra::schema::equality::same_documents;
use cembra::schema::{parse_schema, read_tree, tree_text};
use std::collections::HashMap;

/// `rule@line:column message` for each error; columns from 0.
fn errors(source: &str, parsed: &ParsedModule) -> Vec<String> {
    let one = |e: &cembra::python::PythonError| {
        assert!(e.span.start <= e.span.end && e.span.end as usize <= source.len(), "{e:?}");
        let (line, column) = parsed.tree.lines().position(e.span.start);
        format!("{}@{line}:{column} {}", e.problem.rule(), e.problem)
    };
    parsed.errors.iter().map(one).collect()
}

fn check(source: &str, expected: &[&str]) {
    assert_eq!(errors(source, &parse_module(source)), expected, "{source}");
}

/// Only the rules and places.
fn check_rules(source: &str, expected: &[&str]) {
    let found = errors(source, &parse_module(source));
    let rules: Vec<&str> = found.iter().map(|e| e.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(rules, expected, "{source}\n{found:#?}");
}

/// Sources and the trees that CPython made of them.
fn recorded() -> Vec<(String, String, Option<String>)> {
    let mut sources = HashMap::new();
    for file in ["numba_ir/cases.json", "numba_ir/kernels.json"] {
        for case in oracle(file).as_array().expect("a list of kernels") {
            let text = |name: &str| case[name].as_str().expect("a text").to_owned();
            sources.insert(text("id"), text("source"));
        }
    }
    let entry = |entry: &serde_json::Value| {
        let id = entry["id"].as_str().expect("a text").to_owned();
        let source = entry["source"].as_str().map_or_else(|| sources[&id].clone(), str::to_owned);
        (id, source, entry["tree"].as_str().map(str::to_owned))
    };
    oracle("python_ast/trees.json").as_array().expect("a list of trees").iter().map(entry).collect()
}

#[test]
fn trees_are_those_of_cpython() {
    let schema = pyast_schema();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (id, source, tree) in recorded() {
        let parsed = parse_module(&source);
        let Some(tree) = tree else {
            // The schema has no such node: a rule says so, and the text is Python.
            let is_outside = parsed.errors.iter().all(|error| error.problem.is_outside());
            if parsed.errors.is_empty() || !is_outside {
                wrong.push(format!("{id}: {:?}", errors(&source, &parsed)));
            }
            continue;
        };
        if !parsed.errors.is_empty() {
            // What the schema has and the subset has not.
            let is_known = parsed.errors.iter().all(|error| error.problem.is_outside());
            if !is_known || !(id.starts_with("snippet") || id == "error.import_inside") {
                wrong.push(format!("{id}: {:?}\n{source}", errors(&source, &parsed)));
            }
            continue;
        }
        let document = pyast_document(&parsed.tree, Positions::Everything);
        let expected =
            read_tree(schema, pyast_root(), &tree).unwrap_or_else(|e| panic!("{id}: {e:?}\n{tree}"));
        compared += 1;
        if !same_documents(schema, &document, &expected) {
            let ours = tree_text(schema, &document).expect("it is small");
            let theirs = tree_text(schema, &expected).expect("it is small");
            let differs = ours.lines().zip(theirs.lines()).find(|(a, b)| a != b);
            wrong.push(format!("{id}\n{source}\n{differs:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 400, "{compared}");
}

#[test]
fn the_schema_of_the_stage_is_right() {
    let reading = parse_schema(cembra::python::PYAST);
    let found: Vec<String> = reading.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, [] as [&str; 0]);
}

#[test]
fn text_that_is_no_python_is_refused_where_it_is() {
    check("x = 012", &["leading-zeros@1:4 leading zeros in decimal integer literals are not permitted"]);
    check(
        "if a:\n\tb\n        c\n",
        &["inconsistent-tabs@3:8 inconsistent use of tabs and spaces in indentation"],
    );
    check(
        "if a:\n        b\n\tc\n",
        &["inconsistent-tabs@3:1 inconsistent use of tabs and spaces in indentation"],
    );
    check(
        "if a:\n    b\n  c\n",
        &["unindent-mismatch@3:2 unindent does not match any outer indentation level"],
    );
    check("a\n  b\n", &["unexpected-indent@2:2 unexpected indent"]);
    check("def f():\nx = 1\n", &["missing-block@2:0 expected an indented block after `def` on line 1"]);
    check("def f():", &["missing-block@1:8 expected an indented block after `def` on line 1"]);
    check(
        "x = (1,\ny = 2\n",
        &[
            "unclosed-bracket@1:4 `(` was never closed",
            "assignment-in-expression@2:2 `=` assigns; a comparison is `==`",
        ],
    );
    check(
        "x = (1,\ndef f():\n    return 1 +\n",
        &[
            "unclosed-bracket@1:4 `(` was never closed",
            "unexpected-token@3:14 expected an expression, found the end of the line",
        ],
    );
    check("x = 1)", &["unmatched-bracket@1:5 unmatched `)`"]);
    check("x = (1]", &["unclosed-bracket@1:4 `(` was never closed", "unmatched-bracket@1:6 unmatched `]`"]);
    check("if x = 3: pass", &["unexpected-token@1:5 expected `:`, found `=`"]);
    check(
        "f(x) = 1\n1 = x\na + b = c\nNone = 1\nx = y + 1 = z",
        &[
            "assignment-target@1:0 cannot assign to function call",
            "assignment-target@2:0 cannot assign to literal",
            "assignment-target@3:0 cannot assign to expression",
            "assignment-target@4:0 cannot assign to None",
            "assignment-target@5:4 cannot assign to expression",
        ],
    );
    check(
        "x = 1_\ny = 0x\nz = 1__0\nw = 12abc\nv = 0b12",
        &[
            "invalid-number@1:4 invalid number literal `1_`",
            "invalid-number@2:4 invalid number literal `0x`",
            "invalid-number@3:4 invalid number literal `1__0`",
            "invalid-number@4:4 invalid number literal `12abc`",
            "invalid-number@5:4 invalid number literal `0b12`",
        ],
    );
    check(
        "x = 'abc\ny = 1\nz = \"\"\"\nend",
        &[
            "unterminated-string@1:4 unterminated string literal",
            "unterminated-string@3:4 unterminated string literal",
        ],
    );
    check(
        "x = 1 \\ 2\ny = a ? b\nz = \u{20ac}",
        &[
            "line-continuation@1:6 unexpected character after line continuation character",
            "unexpected-character@2:6 unexpected character '?'",
            "unexpected-character@3:4 unexpected character '€'",
        ],
    );
    check_rules(
        "return 1\nbreak\nfor a in b:\n    def f():\n        continue\nelse:\n    break",
        &[
            "misplaced-statement@1:0",
            "misplaced-statement@2:0",
            "misplaced-statement@5:8",
            "misplaced-statement@7:4",
        ],
    );
    check_rules("def f(a, a, b=1, c): pass", &["duplicate-parameter@1:9", "non-default-after-default@1:17"]);
    check_rules("f(a=1, 2, a=3)", &["positional-after-keyword@1:7", "repeated-keyword@1:10"]);
    check_rules("match x:\n    case y: pass\n    case 1: pass", &["unreachable-case@2:9"]);
    check_rules(
        "x = a not b\ny = * \nfor in x: pass\nwhile: pass\nx +\n",
        &[
            "unexpected-token@1:6",
            "starred@2:4",
            "unexpected-token@2:6",
            "unexpected-token@3:4",
            "unexpected-token@4:5",
            "unexpected-token@5:3",
        ],
    );
    check_rules(
        "a b\nelse: pass\nelif c: pass\n@d\nx = 1\ndef\n",
        &[
            "unexpected-token@1:2",
            "unexpected-token@2:0",
            "unexpected-token@3:0",
            "unexpected-token@5:0",
            "unexpected-token@6:3",
        ],
    );
    check_rules(
        "1 + not a\na if b\nlambda x\na := 1\n(1 := 2)",
        &[
            "unexpected-token@1:4",
            "unexpected-token@2:6",
            "unexpected-token@3:8",
            "unexpected-token@4:2",
            "assignment-target@5:1",
        ],
    );
}

#[test]
fn literals_beyond_64_bits_are_refused() {
    check(
        "x = 9223372036854775808\ny = -9223372036854775808\nz = -9223372036854775808 ** 2\nw = 0x10000000000000000",
        &[
            "large-integer@1:4 the integer 9223372036854775808 does not fit 64 bits",
            "large-integer@3:5 the integer 9223372036854775808 does not fit 64 bits",
            "large-integer@4:4 the integer 0x10000000000000000 does not fit 64 bits",
        ],
    );
}

#[test]
fn constructs_outside_of_the_subset_have_a_rule_and_a_hint() {
    let page = std::fs::read_to_string(test_file("../docs/python.md")).expect("the page is readable");
    let rule = |source: &str, rule: &str, place: &str| {
        assert!(page.contains(&format!("`{rule}`")), "docs/python.md does not name {rule}");
        let parsed = parse_module(source);
        check_rules(source, &[&format!("{rule}@{place}")]);
        assert!(
            parsed.errors[0].problem.is_outside() && parsed.errors[0].problem.hint().is_some(),
            "{source}"
        );
    };
    rule("try:\n    a\nexcept* E as e:\n    b", "exception-group", "3:6");
    rule("with a as b, c:\n    d", "with-statement", "1:0");
    rule("class A(B):\n    def f(self): return 1", "class-definition", "1:0");
    rule("async def f():\n    return 1", "async", "1:0");
    rule("def f():\n    x = yield", "generator-function", "2:8");
    rule("def f():\n    global a, b", "global-statement", "2:4");
    rule("del a[0]", "delete-item", "1:4");
    rule("def f():\n    import math\n", "import-inside", "2:4");
    rule("from math import *", "import-star", "1:17");
    rule("f(**a)", "starred", "1:2");
    rule("x = [*a]", "starred", "1:5");
    rule("x = {1, *a}", "starred", "1:8");
    rule("x = {1: 2, **a, 3: 4}", "starred", "1:11");
    rule("f(*a for a in b)", "starred", "1:2");
    rule("def f():\n    yield from a", "generator-function", "2:4");
    rule("def f(a, *args, b): pass", "parameter-kinds", "1:16");
    rule("def f(a, *, b): pass", "parameter-kinds", "1:9");
    rule("def f(**a): pass", "parameter-kinds", "1:6");
    rule("x = lambda *a, b: 1", "parameter-kinds", "1:15");
    rule("x = f\"{a}\"", "formatted-string", "1:4");
    rule("x = '\\N{BULLET}'", "string-escape", "1:4");
    rule("x = b'a'", "bytes-literal", "1:4");
    rule("x = 1j", "complex-number", "1:4");
    rule("x = ...", "ellipsis", "1:4");
    rule("x = a @ b", "matrix-product", "1:6");
    rule("a.b = 1", "attribute-target", "1:0");
    rule("match a:\n    case [1, 2]: pass", "match-pattern", "2:9");
    rule("raise A from b", "raise-from", "1:8");
}

#[test]
fn nonlocal_needs_a_binding_around() {
    let inner = |lines: &str| {
        format!("def f(a):\n    b = 1\n    def g(c):\n        {}\n", lines.replace('\n', "\n        "))
    };
    let rules = ["nonlocal-binding@4:17"];
    check_rules(&inner("nonlocal a, b"), &[]);
    check(&inner("nonlocal x"), &["nonlocal-binding@4:17 no binding for nonlocal 'x' found"]);
    check(&inner("nonlocal c"), &["nonlocal-binding@4:17 name 'c' is parameter and nonlocal"]);
    check(
        &inner("b = 2\nnonlocal b\nx = a\nnonlocal a"),
        &[
            "nonlocal-binding@5:17 name 'b' is assigned to before nonlocal declaration",
            "nonlocal-binding@7:17 name 'a' is used before nonlocal declaration",
        ],
    );
    check_rules(&inner("b = b\ndef h():\n    nonlocal b\n    b = 2"), &[]);
    check_rules(&inner("nonlocal b\ndef h():\n    nonlocal b\n    b = 2"), &[]);
    check_rules(&inner("nonlocal f"), &rules);
    check("nonlocal a", &["nonlocal-binding@1:9 nonlocal declaration not allowed at module level"]);
    check_rules("def f():\n    nonlocal a", &["nonlocal-binding@2:13"]);
    check_rules("yield 1", &["misplaced-statement@1:0"]);
    check_rules("x = {1: 2, 3}", &["unexpected-token@1:12"]);
    check_rules("x = {1, 2: 3}", &["unexpected-token@1:9"]);
    check_rules("x = {1: 2: 3}", &["unexpected-token@1:9"]);
    check_rules("x = {1: 2, 3: 4 for a in b}", &["unexpected-token@1:16"]);
}

#[test]
fn a_try_has_its_blocks_in_order() {
    check_rules("try:\n    a\nexcept B as c: d\nexcept (E, F):\n    g\nelse:\n    h\nfinally:\n    i\n", &[]);
    check_rules(
        "def f():\n    for a in b:\n        try: continue\n        except C: break\n        finally: pass\n",
        &[],
    );
    check("try:\n    a\nb\n", &["unexpected-token@3:0 expected `except` or `finally`, found a name"]);
    check_rules("try:\n    a\nfinally:\n    b\nexcept C:\n    d\n", &["unexpected-token@5:0"]);
    check_rules("try:\n    a\nelse:\n    b\n", &["unexpected-token@3:0"]);
    check_rules("except A:\n    b\n", &["unexpected-token@1:0"]);
    check_rules("try:\n    a\nexcept A as 1:\n    b\n", &["unexpected-token@3:12"]);
    check_rules("try:\n    a\nexcept:\n    b\nexcept C:\n    d\n", &["except-order@3:0"]);
    check_rules("try\n    a\nexcept:\n    b\n", &["unexpected-token@1:3", "unexpected-token@3:0"]);
}

#[test]
fn all_errors_of_a_text_are_found_in_one_run() {
    let source = "def f(a:\n    return a\n\ndef g(x):\n    try:\n        y = 012\n    except:\n        z = {}\n    return x +\n\ndef h(: pass\n";
    check_rules(
        source,
        &[
            "unclosed-bracket@1:5",
            "leading-zeros@6:12",
            "unexpected-token@9:14",
            "unclosed-bracket@11:5",
            "unexpected-token@11:6",
        ],
    );
}

#[test]
fn chains_of_any_length_parse_on_a_small_stack() {
    let work = || {
        let n = 40_000;
        let long = [
            format!("x = {}1\n", "a + ".repeat(n)),
            format!("x = {}1\n", "a ** ".repeat(n)),
            format!("x = {}1\n", "-".repeat(n)),
            format!("x = {}1\n", "not ".repeat(n)),
            format!("x = {}1\n", "a if b else ".repeat(n)),
            format!("x = {}1\n", "lambda: ".repeat(n)),
            format!("x = a{}\n", ".b".repeat(n)),
            format!("x = a{}\n", "[0]".repeat(n)),
            format!("x = a{}\n", "()".repeat(n)),
            format!("{}1\n", "x = ".repeat(n)),
            format!("if a: b\n{}", "elif a: b\n".repeat(n)),
            format!("if a:\n    b\n{}else:\n    c\n", "elif a:\n    b\n".repeat(n)),
            format!("x = [{}]\n", "a, ".repeat(n)),
            "x = 1\n".repeat(n),
        ];
        for source in long {
            let parsed = parse_module(&source);
            assert_eq!(errors(&source, &parsed), [] as [&str; 0], "{}", &source[..40]);
            let document = pyast_document(&parsed.tree, Positions::Everything);
            let text = cembra::schema::flat_text(pyast_schema(), &document);
            let read = cembra::schema::read_flat(pyast_schema(), pyast_root(), &text);
            assert!(
                read.is_ok_and(|read| same_documents(pyast_schema(), &read, &document)),
                "{}",
                &source[..40]
            );
        }
        let nested = |open: &str, close: &str, levels: usize| {
            parse_module(&format!("x = {}1{}", open.repeat(levels), close.repeat(levels))).errors
        };
        assert!(nested("(", ")", 250).is_empty() && nested("[", "]", 250).is_empty());
        let rules: Vec<&str> = nested("(", ")", 100_000).iter().map(|e| e.problem.rule()).take(1).collect();
        assert_eq!(rules, ["limit"]);
        let deep: String =
            (0..100_000).map(|level| format!("{}if a:\n", " ".repeat(level.min(300)))).collect();
        assert!(parse_module(&deep).errors.iter().any(|e| e.problem.rule() == "limit"));
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(work).expect("a thread starts");
    thread.join().expect("nothing recurses");
}

#[test]
fn a_function_is_shown_as_its_stage() {
    let source =
        "def f(n):\n    s = 0\n    for i in range(n):\n        if i % 2: s += i * 0.5\n    return s\n";
    let parsed = parse_module(source);
    let document = pyast_document(&parsed.tree, Positions::Statements);
    let text = tree_text(pyast_schema(), &document).expect("it is small");
    let expected = r#"Module([
  FunctionDef("f", arguments([arg("n")]), [
    Assign([Name("s", Store)], Num(0)) @2:4,
    For(Name("i", Store), Call(Name("range", Load), [Name("n", Load)], []), [
      If(BinOp(Name("i", Load), Mod, Num(2)), [
        AugAssign(Name("s", Store), Add, BinOp(Name("i", Load), Mult, Num(0.5))) @4:18,
      ], []) @4:8,
    ], []) @3:4,
    Return(Name("s", Load)) @5:4,
  ], []) @1:0,
])
"#;
    assert_eq!(text, expected);
    let read = read_tree(pyast_schema(), pyast_root(), &text).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(same_documents(pyast_schema(), &document, &read));
}

#[test]
fn changed_sources_are_parsed_without_a_panic() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let sources: Vec<String> = recorded().into_iter().map(|(_, source, _)| source).collect();
    let pieces = [
        "(", ")", "[", "]", ":", "\n", "    ", "\t", "if ", "else", "def ", "0x", "\"", "'''", "\\", "é",
        "=", ",", "*", "lambda ", " for ", " in ", "@", "match ", "case ", "{",
    ];
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut text = sources[rng.usize(..sources.len())].clone();
        for _ in 0..rng.usize(1..6) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let (a, b) = (places[rng.usize(..places.len())], places[rng.usize(..places.len())]);
            match rng.u32(..4) {
                0 if a < text.len() => {
                    text.remove(a);
                }
                1 => {
                    let piece = text[a.min(b)..a.max(b)].to_owned();
                    text.insert_str(places[rng.usize(..places.len())], &piece);
                }
                2 => text.replace_range(a.min(b)..a.max(b), ""),
                _ => text.insert_str(a, pieces[rng.usize(..pieces.len())]),
            }
            text.truncate(text.floor_char_boundary(4000));
        }
        let parsed = parse_module(&text);
        refused += usize::from(!errors(&text, &parsed).is_empty());
        pyast_document(&parsed.tree, Positions::Everything);
    }
    assert!(refused > 5_000, "{refused}");
}
