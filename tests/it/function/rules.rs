//! What is outside has a rule and a place, and the page of functions names the rule.

use crate::function::{Outcome, outcome};
use crate::support::test_file;
use cembra::function::FunctionOptions;
use serde_json::{Value as Json, json};

/// A refusal: text of the module, arguments of `f`, `rule@line`.
fn check(page: &str, source: &str, args: &Json, expected: &str) {
    let found = match outcome(source, "f", args, &FunctionOptions::default()) {
        Outcome::Refused(complaint) => {
            let line = complaint.line.map_or_else(|| "?".to_owned(), |line| line.to_string());
            format!("{}@{line}", complaint.rule.unwrap_or_default())
        }
        other => format!("{other:?}"),
    };
    assert_eq!(found, expected, "{source}");
    let rule = expected.split('@').next().unwrap_or_default();
    assert!(page.contains(&format!("`{rule}`")), "docs/functions.md does not name {rule}");
}

#[test]
fn what_is_outside_has_a_rule_and_a_place() {
    let page = std::fs::read_to_string(test_file("../docs/functions.md")).expect("the page is readable");
    let body = |lines: &str, args: Json, expected: &str| {
        let source = format!("import numpy as np\ndef f(a):\n    {}\n", lines.replace('\n', "\n    "));
        check(&page, &source, &args, expected);
    };
    let (number, array) = (json!([3]), json!([[1.5, 2.5, 3.5]]));
    body("return (a < 1) * (a < 2)", array.clone(), "array-expression@3");
    body("b = np.zeros(3, dtype=np.float32)\nreturn b < 2", array.clone(), "array-expression@4");
    body("a[0:2] = np.zeros((1, 2))\nreturn 0", array.clone(), "array-store@3");
    body("if a:\n    return 1\nreturn 0", array.clone(), "truth-of-array@3");
    body("x, y = {1: 2, 3: 4}\nreturn x", array.clone(), "unpack@3");
    body("return a[True]", array.clone(), "bool-index@3");
    body("n = 1\nn += len(a)\nreturn a[::n]", array.clone(), "slice-step@5");
    body(
        "b = a\nc = a.copy()\nfor i in range(3):\n    if i:\n        b = c\n    b[0] = 1\nreturn 0",
        array,
        "array-alias@5",
    );
    body("return np.array([])", number.clone(), "empty-array@3");
    body("return np.zeros(3, dtype=np.complex128)", number.clone(), "dtype@3");
    body("return np.zeros((1, 1, 1, 1, 1, 1, a))", number.clone(), "array-type@3");
    body("return (1, 2)[0:1]", number.clone(), "tuple-slice@3");
    body("return (1, (2, 3))[a]", number.clone(), "tuple-index@3");
    body("return (1, 2) < (1, a)", number.clone(), "tuple-order@3");
    body("return (None,) == (None,)", number.clone(), "tuple-compare@3");
    body("return a is a", number.clone(), "identity@3");
    body("x = 'aa' if a else 'bb'\nreturn x == 'a'", number.clone(), "text@4");
    body("return chr(a)", number.clone(), "value-type@3");
    body("return chr(a) + 'b' == 'ab'", number.clone(), "text@3");
    body("return 'abc'[a] == 'a'", number.clone(), "text@3");
    body("return {1: 2, 2.5: 3}[a]", number.clone(), "dict-key@3");
    body("return {(1, 2): 3}[1, 2]", number.clone(), "dict-key@3");
    body("return {1: (2, 3)}[1][0]", number.clone(), "dict-value@3");
    body("d = {True: 1}\nreturn len(d)", number.clone(), "dict-key@3");
    body("d = {a: 1}\nreturn d", number.clone(), "value-type@4");
    body("d = {a: 1}\nreturn d == d", number.clone(), "dictionary@4");
    body("d = {a: 1}\nreturn any(d)", number.clone(), "dictionary@4");
    body("d = {a: 1}\nreturn d.pop(a)", number.clone(), "dictionary-method@4");
    body("s = {a}\nfor x in s:\n    a += x\nreturn a", number.clone(), "set-order@4");
    body("d = {a: 1}\ne = {1: 2}\nif a:\n    d = e\nd[1] = 2\nreturn 1", number.clone(), "array-alias@5");
    body("def g(*x):\n    return x\nreturn g(*(x for x in (1, a)))", number.clone(), "starred@5");
    check(&page, "D = {1: 2}\ndef f(a):\n    return D[a]\n", &number, "dictionary@3");
    check(
        &page,
        "def g(*a):\n    return a\ndef f(t):\n    return g(*t)\n",
        &json!([{"tuple": [1]}]),
        "starred@4",
    );
    check(&page, "def f(*a):\n    return 1\n", &number, "parameter-kinds@1");
    check(&page, "def f(a):\n    yield a\n", &number, "generator-function@2");
    body("x = (i for i in (1, a))\nreturn 1", number.clone(), "generator-expression@3");
    body("return f", number.clone(), "function-value@3");
    body("def g(x):\n    return g(x - 1)\nreturn g(a)", number.clone(), "inner-recursion@4");
    body("return range(a)", number.clone(), "range-value@3");
    body("for i in reversed(x for x in (1, a)):\n    pass\nreturn 0", number.clone(), "reversed@3");
    body("raise a.x('b')", number.clone(), "raise-class@3");
    body("raise", number.clone(), "raise-again@3");
    body("return sorted((1, a), reverse=True)", number.clone(), "library@3");
    body("return np", number.clone(), "module-value@3");
    body("if a:\n    x = 1\nelse:\n    x = (a, a)\nreturn x", number.clone(), "unify@6");
    check(&page, "print(1)\ndef f(n):\n    return n\n", &number, "module-statement@1");
    check(&page, "import os\ndef f(n):\n    return n\n", &number, "import@1");
    let written = "def r(t, n):\n    if n < 0:\n        return 0\n    t[0][0] = n\n    return r(t, n - 1)\n";
    let in_tuple = format!("{written}def f(a):\n    return r((a, 1), 3)\n");
    check(&page, &in_tuple, &json!([[5.0]]), "array-in-tuple@4");
}
