//! What was once wrong, and lists, views and names beside CPython: each case is a module, arguments of `f`, and the result
//! or the class of error.

use crate::function::{Outcome, outcome};
use cembra::function::FunctionOptions;
use serde_json::{Value as Json, json};

/// Values as JSON: numbers, truth values, lists for tuples and arrays.
fn plain(value: &Json) -> Json {
    match value["t"].as_str() {
        Some("none") => Json::Null,
        Some("int" | "float") => {
            value["v"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Json::Null)
        }
        Some("tuple") => value["v"].as_array().expect("fields").iter().map(plain).collect(),
        Some("array") => {
            let elements = value["data"].as_array().expect("elements");
            elements
                .iter()
                .map(|e| serde_json::from_str(e.as_str().expect("a text")).unwrap_or(Json::Null))
                .collect()
        }
        _ => value["v"].clone(),
    }
}

#[track_caller]
pub(super) fn check(source: &str, args: Json, expected: Json) {
    let found = match outcome(source, "f", &args, &FunctionOptions::default()) {
        Outcome::Returned { value, .. } => plain(&value),
        Outcome::Raised(complaint) | Outcome::Refused(complaint) => {
            let rule = complaint.rule.filter(|_| complaint.class == "NotImplementedError");
            json!(rule.map_or(complaint.class.clone(), str::to_owned))
        }
    };
    assert_eq!(found, expected, "{source}");
}

#[test]
fn values_meet_in_slots_of_their_own() {
    let early = "def f(n):\n    y = 1.0\n    if n:\n        if n > 1:\n            y = 2.0\n        else:\n            return n, y\n    return n, y\n";
    check(early, json!([1]), json!([1, 1.0]));
    check(early, json!([2]), json!([2, 2.0]));
    let head = "def f(x):\n    while 3 ** 2 <= x - x > False:\n        pass\n    return 1\n";
    check(head, json!([0.5]), json!(1));
    let swaps = "def f(x, a, b):\n    if x: a, b = b, a + 1\n    if x: a, b = b, a + 1\n    if x: a, b = b, a + 1\n    if x: a, b = b, a + 1\n    return a\n";
    check(swaps, json!([1, 2, 3]), json!(4));
    let cases = "def f(a, m, n, x):\n    i = 1\n    j = n\n    match 1:\n        case 0: pass\n        case 1 | 2 if i: s = 1\n        case _: pass\n    if s: s, x = x, s\n    else: x = 0.5 / 0.5\n    return i, j, s, x\n";
    check(cases, json!([1, 2, 3, 4]), json!([1, 3, 4, 1.0]));
}

#[test]
fn names_have_the_values_that_python_gives_them() {
    let inner = "def g(n):\n    if n > 0:\n        k = n\n    return k\ndef f(n):\n    s = 0\n    for i in range(2, -1, -1):\n        s = s * 10 + g(i)\n    return s\n";
    check(inner, json!([0]), json!("UnboundLocalError"));
    let later = "def f(n):\n    for i in range(n):\n        x + 1\n    x = 0\n    return x\n";
    check(later, json!([3]), json!("UnboundLocalError"));
    let module = "import numpy as np\nT = np.array([1.0, 2.0])\ndef f(i):\n    T[0] = 9.0\n    return T[0]\n";
    check(module, json!([0]), json!("module-array"));
    check(
        "import numpy as np\nT = np.array([1.0, 2.0])\ndef f(i):\n    return T[i] + len(T)\n",
        json!([1]),
        json!(4.0),
    );
    check(
        "def f(range):\n    t = 0\n    for i in range:\n        t += i\n    return t\n",
        json!([[1, 2, 3]]),
        json!(6),
    );
    let other = "def f(a, t):\n    b = a if t else a.copy()\n    return b[0]\n";
    check(other, json!([[1.5], false]), json!(1.5));
}

#[test]
fn lists_grow_and_have_the_type_of_what_is_put_into_them() {
    check("def f(n):\n    l = [0]\n    l.append(1.5)\n    return l[1]\n", json!([0]), json!(1.5));
    check("def f(n):\n    l = [0] * 3\n    l[1] = 2.5\n    return sum(l)\n", json!([0]), json!(2.5));
    check("def f(n):\n    l = []\n    return len(l)\n", json!([0]), json!(0));
    let stack = "def f(n):\n    s = [n]\n    t = 0\n    while len(s) > 0:\n        k = s.pop()\n        t += k\n        if k > 1:\n            s.append(k - 1)\n            s.append(k - 2)\n    return t\n";
    check(stack, json!([5]), json!(26));
    check("def f(n):\n    return [1].pop() + [2.5].pop()\n", json!([0]), json!(3.5));
    check("def f(n):\n    l = [1]\n    l.pop()\n    return l.pop()\n", json!([0]), json!("IndexError"));
    check(
        "def f(n):\n    a = [1, 2]\n    b = a\n    b.append(3)\n    return len(a), 3 in a, 4 not in a\n",
        json!([0]),
        json!([3, true, true]),
    );
    let nested = "def f(n):\n    return [i * j for i in range(n) for j in range(i) if j != 1]\n";
    check(nested, json!([4]), json!([0, 0, 0, 6]));
    let grown = "def r(l, n):\n    if n == 0:\n        return 0\n    l.append(n)\n    return r(l, n - 1)\ndef f(n):\n    l = [0]\n    r(l, n)\n    return l\n";
    check(grown, json!([3]), json!([0, 3, 2, 1]));
    let narrow = "def r(l, n):\n    if n == 0:\n        return 0\n    l.append(0.5)\n    return r(l, n - 1)\ndef f(n):\n    l = [0]\n    return r(l, n)\n";
    check(narrow, json!([3]), json!("list-element"));
    check(
        "import numpy as np\ndef f(n):\n    a = np.linspace(0.0, 1.0, n)\n    b = np.ones_like(a)\n    return a[1], b[n - 1], len(a)\n",
        json!([5]),
        json!([0.25, 1.0, 5]),
    );
    check("import numpy as np\ndef f(n):\n    return np.full()\n", json!([5]), json!("TypeError"));
    check("import numpy as np\ndef f(n):\n    return np.zeros(n)\n", json!([-1]), json!("ValueError"));
}

#[test]
fn rows_are_checked_where_they_are_made() {
    let rows = json!([[1.0, 2.0], [3.0, 4.0]]);
    let called = |source: &str, index: i64, expected: Json| check(source, json!([rows, index]), expected);
    let guarded = "def f(a, i):\n    try:\n        r = a[i]\n    except IndexError:\n        return -1.0\n    return r[0]\n";
    for (index, expected) in [(2, -1.0), (-3, -1.0), (1, 3.0), (-2, 1.0)] {
        called(guarded, index, json!(expected));
    }
    let unread = "def f(a, i):\n    r = a[i]\n    return 1\n";
    let column = "def f(a, i):\n    return len(a[:, i])\n";
    let cut = "def f(a, i):\n    b = a[i:, 0]\n    return b[0] + len(b[:1]) + a[i, 1:][0]\n";
    let store = "def f(a, i):\n    a[i] = 5.0\n    return a[0][0]\n";
    let element = "def f(a, i):\n    a[i][1] += 2.0\n    return a[i][1]\n";
    let rounds = "def f(a, i):\n    n = 0\n    try:\n        while True:\n            r = a[n]\n            n += i\n    except IndexError:\n        return n\n";
    let order = "def f(a, i):\n    try:\n        return a[i][int(a[i - 1].copy()[7])]\n    except IndexError:\n        return -1.0\n";
    for (source, index, expected) in [
        (unread, 1, json!(1)),
        (unread, 2, json!("IndexError")),
        (column, 0, json!(2)),
        (column, 20, json!("IndexError")),
        (cut, 1, json!(8.0)),
        (store, -2, json!(5.0)),
        (store, 2, json!("IndexError")),
        (element, 1, json!(6.0)),
        (element, 2, json!("IndexError")),
        (rounds, 1, json!(2)),
        (order, 1, json!(-1.0)),
    ] {
        called(source, index, expected);
    }
    // No element is read of a row that has none.
    let empty =
        "import numpy as np\ndef f(i):\n    a = np.zeros((3, 0))\n    return a[i].sum(), a[:, i:].sum()\n";
    check(empty, json!([2]), json!([0.0, 0.0]));
    check(empty, json!([3]), json!("IndexError"));
}

#[test]
fn tuples_of_tuples_have_limits() {
    let twice = |times: usize| {
        format!("def f(n):\n    t = (n, n)\n{}    return 1\n", "    t = (t, t)\n".repeat(times))
    };
    check(&twice(15), json!([3]), json!(1));
    check(&twice(16), json!([3]), json!("limit"));
    check(&twice(60), json!([3]), json!("limit"));
    let deep =
        |times: usize| format!("def f(n):\n    t = (n,)\n{}    return 1\n", "    t = (t,)\n".repeat(times));
    check(&deep(63), json!([3]), json!(1));
    check(&deep(20_000), json!([3]), json!("limit"));
}

#[test]
fn truth_values_are_no_numbers_where_identity_counts() {
    let source = "def f(x):\n    match x:\n        case True: return 1\n        case None: return 2\n        case 1: return 3\n        case _: return 4\n";
    check(source, json!([true]), json!(1));
    check(source, json!([false]), json!(4));
    check(source, json!([1]), json!(3));
    check(source, json!([1.0]), json!(3));
    check("def f(x):\n    return x is True, x is not False\n", json!([false]), json!([false, false]));
    check("def f(x):\n    return x is True, x is not False\n", json!([1]), json!([false, true]));
}

#[test]
fn the_greatest_of_nothing_is_an_error_of_value() {
    let empty = "def f(n):\n    a = [n]\n    a.pop()\n    return max(a)\n";
    check(empty, json!([4]), json!("ValueError"));
    check("def f(a):\n    return min(a)\n", json!([[1.5, 0.5]]), json!(0.5));
}

#[test]
fn methods_take_no_keywords() {
    for call in
        ["a.sum(axis=0)", "a.min(axis=1)", "a.max(initial=9.0)", "a.copy(order='F')", "a[0].sum(axis=0)"]
    {
        check(&format!("def f(a):\n    return {call}\n"), json!([[[1.0, 2.0], [3.0, 4.0]]]), json!("method"));
    }
    check("def f(a):\n    return a.sum(0)\n", json!([[[1.0, 2.0]]]), json!("array-method"));
    check("def f(a):\n    return a.T\n", json!([[[1.0, 2.0]]]), json!("array-method"));
    check("def f(a):\n    return a.shap\n", json!([[[1.0, 2.0]]]), json!("AttributeError"));
    check("def f(n):\n    l = [n]\n    l.sort(0)\n    return 1\n", json!([1]), json!("list-method"));
    check("def f(n):\n    l = [n]\n    l.push(1)\n    return 1\n", json!([1]), json!("AttributeError"));
    check("import math\ndef f(n):\n    return math.factorial(n)\n", json!([1]), json!("library"));
    check("import math\ndef f(n):\n    return math.factoral(n)\n", json!([1]), json!("AttributeError"));
    check("import numpy as np\ndef f(n):\n    return np.diff(n)\n", json!([1]), json!("library"));
}

#[test]
fn the_greater_of_integers_is_an_integer() {
    let source = "import numpy as np\ndef f(n, x):\n    return np.maximum(n, 0), np.minimum(n, True), np.maximum(n, x), np.minimum(2, x)\n";
    let large = 9_007_199_254_740_993_i64;
    check(source, json!([large, 2.5]), json!([large, 1, 9_007_199_254_740_992.0, 2.0]));
    check(source, json!([-large, 1.5]), json!([0, -large, 1.5, 1.5]));
}

#[test]
fn powers_of_zero_raise_as_their_module_does() {
    let source = "import math\ndef f(x, y):\n    return math.pow(x, y)\n";
    check(source, json!([0.0, -1.0]), json!("ValueError"));
    check(source, json!([0, -2]), json!("ValueError"));
    check(source, json!([0.0, 2.0]), json!(0.0));
    check(source, json!([2, -1]), json!(0.5));
    check(source, json!([-8.0, 0.5]), json!("ValueError"));
    check(source, json!([10.0, 400.0]), json!("OverflowError"));
    check("def f(x, y):\n    return x ** y\n", json!([0.0, -1.0]), json!("ZeroDivisionError"));
}

/// A name that takes another array in every round may be written, as long as no other name of the array is in use.
#[test]
fn names_take_new_arrays_in_loops() {
    let relaxed = "def f(grid, steps):\n    n = len(grid)\n    for _ in range(steps):\n        new = grid.copy()\n        for i in range(1, n - 1):\n            new[i] = 0.5 * (grid[i - 1] + grid[i + 1])\n        grid = new\n    return grid\n";
    check(relaxed, json!([[0.0, 0.0, 4.0, 0.0], 0]), json!([0.0, 0.0, 4.0, 0.0]));
    check(relaxed, json!([[0.0, 0.0, 4.0, 0.0], 1]), json!([0.0, 2.0, 0.0, 0.0]));
    check(relaxed, json!([[0.0, 0.0, 4.0, 0.0], 3]), json!([0.0, 0.5, 0.0, 0.0]));
    let swapped = "import numpy as np\ndef f(u, n):\n    v = np.zeros_like(u)\n    for t in range(n):\n        for i in range(1, len(u) - 1):\n            v[i] = u[i - 1] + u[i + 1]\n        u, v = v, u\n    return u\n";
    check(swapped, json!([[1.0, 0.0, 2.0], 0]), json!([1.0, 0.0, 2.0]));
    check(swapped, json!([[1.0, 0.0, 2.0], 1]), json!([0.0, 3.0, 0.0]));
    check(swapped, json!([[1.0, 0.0, 2.0], 2]), json!([1.0, 0.0, 2.0]));
    let chosen = "def f(a, n):\n    b = a.copy()\n    for i in range(n):\n        c = b if i % 2 else a\n        b = c.copy()\n        b[0] += 1.0\n    return b[0], a[0]\n";
    check(chosen, json!([[1.0], 3]), json!([2.0, 1.0]));
    check(chosen, json!([[1.0], 4]), json!([3.0, 1.0]));
    let copied = "def f(a, n):\n    b = a.copy()\n    for i in range(n):\n        b = b.copy()\n        b[0] += 1.0\n    return b[0], a[0]\n";
    check(copied, json!([[1.0], 3]), json!([4.0, 1.0]));
    // The array has two names in the round after.
    let kept = "def f(a, n):\n    last = a\n    for i in range(n):\n        new = last.copy()\n        last = new\n        new[0] += 1.0\n    return last[0]\n";
    check(kept, json!([[1.0], 3]), json!(4.0));
    let written = "def f(a, n):\n    b = a if n else a.copy()\n    a[0] = 5.0\n    return b[0]\n";
    check(written, json!([[1.0], 1]), json!("array-alias"));
    let later = "def f(a, n):\n    b = a.copy()\n    for i in range(n):\n        s = b[0]\n        if i == 1:\n            b = a\n        a[0] = s + 1.0\n    return b[0]\n";
    check(later, json!([[1.0], 3]), json!("array-alias"));
}

#[test]
fn a_variable_that_is_only_assigned_from_itself_has_no_value() {
    let own = "def f(n):\n    s = 0\n    for i in range(n):\n        if i > 0:\n            s += x\n        x = x\n    return s\n";
    check(own, json!([4]), json!("UnboundLocalError"));
    let round = "def f(n):\n    for i in range(n):\n        x, y = y, x\n    return n\n";
    check(round, json!([4]), json!("UnboundLocalError"));
    let later = "def f(n):\n    for i in range(n):\n        if i:\n            y = x\n        x = y if i else n\n    return x\n";
    check(later, json!([4]), json!(4));
}

#[test]
fn a_slice_of_a_list_is_a_list_of_its_own() {
    let store =
        "def f(n):\n    l = [1, 2, 3, n]\n    m = l[1:3]\n    m[0] = 100\n    l[2] = 50\n    return l, m\n";
    check(store, json!([5]), json!([[1, 2, 50, 5], [100, 3]]));
    let floats = "def f(n):\n    l = [1.5] * n\n    m = l[::-1]\n    m.append(2)\n    m[0] = 0\n    return l, m, len(l[1:-1])\n";
    check(floats, json!([3]), json!([[1.5, 1.5, 1.5], [0.0, 1.5, 1.5, 2.0], 1]));
    let truths = "def f(n):\n    l = [True, n > 0]\n    m = l[:]\n    m[0] = False\n    return l[0], m[0]\n";
    check(truths, json!([5]), json!([true, false]));
    let grows = "def f(n):\n    l = [1, 2, n]\n    for x in l[:]:\n        l.append(x)\n        l[1] = 7\n    s = 0\n    for i, x in enumerate(l[1:]):\n        s += i * x\n    return l, s\n";
    check(grows, json!([5]), json!([[1, 7, 5, 1, 2, 5], 33]));
    let passed = "def g(m):\n    m[0] = 99\n    return sum(m)\ndef f(n):\n    l = [1, 2, n]\n    a = g(l[1:])\n    return a, l\n";
    check(passed, json!([5]), json!([104, [1, 2, 5]]));
    let returned = "def g(l, n):\n    if n == 0:\n        return l[1:]\n    return g(l, n - 1)\ndef f(n):\n    l = [1, 2, n]\n    m = g(l, 2)\n    m[0] = 8\n    return l, m\n";
    check(returned, json!([5]), json!([[1, 2, 5], [8, 5]]));
    let module = "K = [1, 2, 3]\ndef f(n):\n    l = K[1:]\n    l[0] = n\n    return K[1], l[0]\n";
    check(module, json!([5]), json!([2, 5]));
    let assigned = "def f(n):\n    l = [1, 2, n]\n    l[0:2] = [7]\n    return l\n";
    check(assigned, json!([5]), json!("array-store"));
    let number = "def f(n):\n    l = [1, 2, n]\n    l[0:2] = 7\n    return l\n";
    check(number, json!([5]), json!("TypeError"));
    let view = "def f(a):\n    v = a[1:]\n    v[0] = 100\n    return a[1]\n";
    check(view, json!([[1, 2, 3]]), json!(100));
}

#[test]
fn lists_lack_what_arrays_have() {
    for name in ["shape", "size", "ndim"] {
        let source = format!("def f(n):\n    l = [1, n]\n    return l.{name}\n");
        check(&source, json!([5]), json!("AttributeError"));
    }
    check("def f(n):\n    l = [1, n]\n    return l[0, 1]\n", json!([5]), json!("TypeError"));
    check("def f(n):\n    l = [1, n]\n    return l[1.0]\n", json!([5]), json!("TypeError"));
}

#[test]
fn a_default_list_is_one_for_all_calls() {
    let grows = "def g(x, l=[]):\n    l.append(x)\n    return len(l)\ndef f(n):\n    return g(1), g(2)\n";
    check(grows, json!([1]), json!("module-array"));
    let filled = "import numpy as np\ndef g(x, a=np.zeros(2)):\n    a[0] += x\n    return a[0]\ndef f(n):\n    return g(1), g(2)\n";
    check(filled, json!([1]), json!("module-array"));
    let keys = "def g(x, d={}):\n    d[x] = 1\n    return len(d)\ndef f(n):\n    return g(1), g(2)\n";
    check(keys, json!([1]), json!("dictionary"));
    let again = "def g(n, l=[]):\n    l.append(n)\n    return len(l) if n == 0 else g(n - 1)\ndef f(n):\n    return g(n)\n";
    check(again, json!([3]), json!("array-view"));
    let read = "S = 4\ndef g(n, w=[1, 2, 3], k=S * 2, m=S, t=(1, 2)):\n    return w[n % 3] + k + m + t[n % 2]\ndef f(n):\n    return g(n), g(n, [7, 8, 9])\n";
    check(read, json!([4]), json!([15, 21]));
    let inner = "def f(n):\n    def g(x, l=[0]):\n        l.append(x)\n        return len(l)\n    return g(1), g(2)\n";
    check(inner, json!([1]), json!([2, 3]));
}

#[test]
fn what_a_call_returns_may_be_what_it_got() {
    let add = "def g(a, n):\n    if n == 0:\n        return a\n    a[0] += 1\n    return g(a, n - 1)\n";
    let with = |body: &str| format!("{add}def f(a):\n{body}");
    let alias = || json!("array-alias");
    check(&with("    b = g(a, 3)\n    b[0] = 100\n    return a[0]\n"), json!([[0, 1]]), alias());
    check(&with("    b = g(a, 3)\n    a[0] = 100\n    return b[0]\n"), json!([[0, 1]]), alias());
    check(&with("    a = g(a, 3)\n    a[0] = 100\n    return a[1]\n"), json!([[0, 1]]), alias());
    check(&with("    for i in range(2):\n        a = g(a, 3)\n    return a[0]\n"), json!([[0, 1]]), alias());
    check(&with("    b = g(a, 3)\n    return a[0] + b[0]\n"), json!([[0, 1]]), json!(6));
    check(&with("    return g(a, 3)\n"), json!([[0, 1]]), json!([3, 1]));
    check(
        &with("    b = g(a.copy(), 3)\n    a[0] = 7\n    return b[0], a[0]\n"),
        json!([[0, 1]]),
        json!([3, 7]),
    );
    let tuple = "def g(a, n):\n    if n == 0:\n        return a, 1\n    return g(a, n - 1)\ndef f(a):\n    b, k = g(a, 2)\n    a[0] = 50\n    return b[0] + k\n";
    check(tuple, json!([[0, 1]]), alias());
    let list = "def g(l, n):\n    if n == 0:\n        return l\n    l.append(n)\n    return g(l, n - 1)\ndef f(n):\n    l = [1]\n    m = g(l, n)\n    m.append(n)\n    return len(l)\n";
    check(list, json!([3]), alias());
    let fresh = "import numpy as np\ndef g(n):\n    if n == 0:\n        return np.zeros(2)\n    a = g(n - 1)\n    a[0] += n\n    return a\ndef f(n):\n    b = g(n)\n    b[1] = 7\n    return b\n";
    check(fresh, json!([4]), json!([10.0, 7.0]));
    let sorts = "def sort(l):\n    if len(l) < 2:\n        return l\n    m = len(l) // 2\n    a = sort(l[:m])\n    b = sort(l[m:])\n    out = [0]\n    out.pop()\n    i = 0\n    j = 0\n    while i < len(a) or j < len(b):\n        if j == len(b) or (i < len(a) and a[i] <= b[j]):\n            out.append(a[i])\n            i += 1\n        else:\n            out.append(b[j])\n            j += 1\n    return out\ndef f(n):\n    return sort([5, n, 4, 1, 3])\n";
    check(sorts, json!([2]), json!([1, 2, 3, 4, 5]));
}

#[test]
fn new_arrays_have_elements_as_another_one() {
    let scan = "import numpy as np\ndef f(a):\n    s = 0\n    out = np.empty(len(a) + 1, dtype=a.dtype)\n    for i in range(len(a)):\n        s += a[i]\n        out[i + 1] = s\n    return out\n";
    check(scan, json!([[1, 2, 3]]), json!([0, 1, 3, 6]));
    check(scan, json!([[0.5, 0.25]]), json!([0.0, 0.5, 0.75]));
    let sizes = "import numpy as np\ndef f(a):\n    b = np.ones((2, a.shape[1]), a[0].dtype)\n    c = np.zeros(a.shape, a.dtype)\n    return b.sum(), c.size\n";
    check(sizes, json!([[[1, 2, 3]]]), json!([6, 3]));
    let number = "import numpy as np\ndef f(n):\n    return np.zeros(3, dtype=n.dtype)\n";
    check(number, json!([1]), json!("AttributeError"));
    let list = "import numpy as np\ndef f(n):\n    l = [n]\n    return np.zeros(3, dtype=l.dtype)\n";
    check(list, json!([1]), json!("AttributeError"));
    let value = "def f(a):\n    return a.dtype\n";
    check(value, json!([[1]]), json!("array-method"));
}

#[test]
fn the_least_of_numpy_is_nan_if_an_element_is() {
    let least = "import numpy as np\ndef f(a):\n    a[1] = np.nan\n    return np.isnan(a.min()), np.isnan(np.max(a)), min(a), max(a)\n";
    check(least, json!([[1.0, 0.0, 2.0]]), json!([true, true, 1.0, 2.0]));
    let first = "import numpy as np\ndef f(a):\n    a[0] = np.nan\n    return np.isnan(a.max()), np.isnan(np.min((a[0], 1.0)))\n";
    check(first, json!([[1.0, 0.0]]), json!([true, true]));
    let integers = "import numpy as np\ndef f(a):\n    return a.min(), a.max(), np.min(a), np.max(a)\n";
    check(integers, json!([[[3, 1], [7, 5]]]), json!([1, 7, 1, 7]));
    let empty = "import numpy as np\ndef f(n):\n    return np.zeros((n, 0)).min()\n";
    check(empty, json!([3]), json!("ValueError"));
}

#[test]
fn an_array_in_a_tuple_is_not_written_by_a_call() {
    let call = "import numpy as np\ndef made(n):\n    if n == 0:\n        return np.zeros(2), 1\n    return made(n - 1)\ndef write(a, n):\n    if n == 0:\n        return 0\n    a[0] += 1\n    return write(a, n - 1)\ndef f(n):\n    b, k = made(2)\n    write(b, 3)\n    return b[0]\n";
    check(call, json!([1]), json!("array-in-tuple"));
}

#[test]
fn arguments_that_are_left_out_are_none() {
    let out = "import numpy as np\ndef f(a, out=None):\n    if out is None:\n        out = np.zeros(2)\n    for i in range(2):\n        out[i] = a[i] * 2\n    return out\n";
    check(out, json!([[1.0, 2.0]]), json!([2.0, 4.0]));
    check(out, json!([[1.0, 2.0], [0.0, 0.0]]), json!([2.0, 4.0]));
    let list = "def f(x, seen=None):\n    if seen is None:\n        seen = [1.0]\n    seen.append(x)\n    return len(seen)\n";
    check(list, json!([2.0]), json!(2));
    let scale = "def f(x, scale=None, shift=None):\n    if scale is not None:\n        x = x * scale\n    return x if shift is None else x + shift\n";
    check(scale, json!([2.0]), json!(2.0));
    check(scale, json!([2.0, 3.0]), json!(6.0));
    check(scale, json!([2.0, null, 1.0]), json!(3.0));
    let tuples = "def f(c):\n    t = (None, 1) if c > 0 else (2.5, 2)\n    p, q = t\n    return q if p is None else p + q\n";
    check(tuples, json!([1]), json!(1.0));
    check(tuples, json!([0]), json!(4.5));
    let ends = "def f(a):\n    lo = hi = None\n    for x in a:\n        lo = x if lo is None else min(lo, x)\n        hi = x if hi is None or x > hi else hi\n    return lo, hi\n";
    check(ends, json!([[3.0, 1.0, 4.0]]), json!([1.0, 4.0]));
    let matched = "def f(x, y=None):\n    match y:\n        case None: return x\n        case 1: return x + 1\n        case _: return x + y\n";
    check(matched, json!([1]), json!(1));
    check(matched, json!([1, 5]), json!(6));
    let augmented = "def f(x):\n    s = None\n    if x > 0:\n        s = 1.0\n    s += x\n    return s\n";
    check(augmented, json!([1.0]), json!(2.0));
    check(augmented, json!([-1.0]), json!("TypeError"));
}

/// A test behind a test is reached in the same sweep over the function.
#[test]
fn thousands_of_tests_for_none_are_compiled() {
    let mut source = "def f(x=None, c=1):\n    if c > 0:\n        x = 2.0\n".to_owned();
    source += &"    assert x is not None\n".repeat(4_000);
    source += &"    if x is not None:\n        c = c + 1\n".repeat(2_000);
    check(&(source + "    return x, c\n"), json!([]), json!([2.0, 2001]));
}

#[test]
fn arrays_are_assigned_to_parts_of_arrays() {
    let shifted = "def f(a):\n    a[1:] = a[:-1]\n    return a.copy()\n";
    check(shifted, json!([[1, 2, 3, 4]]), json!([1, 1, 2, 3]));
    let reversed = "def f(a):\n    a[:] = a[::-1]\n    return a[::2]\n";
    check(reversed, json!([[1.5, 2.0, 3.0]]), json!([3.0, 1.5]));
    let rows = "import numpy as np\ndef f(a, r):\n    b = np.zeros((2, 3))\n    b[:] = r\n    b[1] = a[0]\n    b[:, 0] = a[0, :1]\n    b[0, 1:] = [7, 8]\n    return b[0, 0], b[0, 1], b[0, 2], b[1, 0], b[1, 1], b[1, 2]\n";
    check(rows, json!([[[1, 2, 3]], [4.0, 5.0, 6.0]]), json!([1.0, 7.0, 8.0, 1.0, 2.0, 3.0]));
    check(rows, json!([[[1, 2, 3]], [4.0]]), json!([1.0, 7.0, 8.0, 1.0, 2.0, 3.0]));
    check(rows, json!([[[1, 2, 3]], [4.0, 5.0]]), json!("ValueError"));
    let narrow = "import numpy as np\ndef f(a):\n    b = np.zeros(len(a), dtype=np.uint8)\n    b[:] = a\n    b[0:0] = a[0:0]\n    b[:1] = a[-1:]\n    return b\n";
    check(narrow, json!([[258, -1, 3]]), json!([3, 255, 3]));
    let place = "def f(a, i):\n    a[i] = a[0]\n    return 1\n";
    check(place, json!([[[1, 2], [3, 4]], 2]), json!("IndexError"));
    let wider = "import numpy as np\ndef f(a):\n    a[:] = np.zeros((1, 3))\n    return 1\n";
    check(wider, json!([[1, 2, 3]]), json!("array-store"));
    let one = "def f(a):\n    a[0] = a\n    return 1\n";
    check(one, json!([[1, 2]]), json!("ValueError"));
}

#[test]
fn arrays_and_lists_are_unpacked() {
    let rows = "def f(a):\n    s = 0.0\n    for x, y in a:\n        s = s * 10 + x - y\n    (p, q), r = a[0], a[1]\n    t, u = r\n    return s, p, q, t + u\n";
    check(rows, json!([[[5.0, 1.0], [3.0, 2.0]]]), json!([41.0, 5.0, 1.0, 5.0]));
    check(rows, json!([[[5.0, 1.0, 2.0], [3.0, 2.0, 2.0]]]), json!("ValueError"));
    check(rows, json!([[[5.0], [3.0]]]), json!("ValueError"));
    let swapped = "def f(a):\n    a[0], a[1] = a[::-1]\n    x, y = [a[0] + 1, a[1]]\n    return x, y\n";
    check(swapped, json!([[1, 2]]), json!([3, 1]));
    let views = "def f(a):\n    p, q = a\n    p[0] = 9\n    q[1] = p[0] + 1\n    return a[0, 0], a[1, 1]\n";
    check(views, json!([[[1, 2], [3, 4]]]), json!([9, 10]));
}

#[test]
fn tuples_of_tuples_are_gone_over() {
    let steps = "WAYS = ((0, 1), (1, 0), (0, -1.5))\ndef f(n):\n    s = 0\n    for y, x in WAYS:\n        for (a, b), c in [((1, 2), 3), ((4, 5), n)]:\n            s += (a + b * y - x) * c\n    return s, WAYS[n % 3]\n";
    check(steps, json!([7]), json!([139.0, [1, 0.0]]));
}

#[test]
fn arrays_have_more_methods() {
    let sorted = "import numpy as np\ndef f(a):\n    b = np.sort(a[1:])\n    a.sort()\n    c = a[:3]\n    c[::-1].sort()\n    return a[0], a[1], a[2], a[3], b[0], b[-1]\n";
    check(sorted, json!([[4, 3, 2, 1]]), json!([3, 2, 1, 4, 1, 3]));
    check(sorted, json!([[4.5, 3.0, 2.0, 1.0]]), json!([3.0, 2.0, 1.0, 4.5, 1.0, 3.0]));
    let narrow = "import numpy as np\ndef f(a):\n    b = a.astype(np.int8)\n    b.sort()\n    return b, b.astype(np.float64)\n";
    check(narrow, json!([[300.7, -1.5, 100]]), json!([[-1, 44, 100], [-1.0, 44.0, 100.0]]));
    let filled = "def f(a, x):\n    a[1:].fill(x)\n    return a[0], a.cumsum()\n";
    check(filled, json!([[1, 2, 3], 5]), json!([1, [1, 6, 11]]));
    let sums = "import numpy as np\ndef f(a):\n    return np.cumsum(a)\n";
    check(sums, json!([[9223372036854775807i64, 1]]), json!("OverflowError"));
    check(sums, json!([[true, true]]), json!([1, 2]));
    let list = "def f(n):\n    l = [1, n]\n    l.fill(0)\n    return l\n";
    check(list, json!([3]), json!("AttributeError"));
    let cast = "import numpy as np\ndef f(n):\n    l = [1, n]\n    return l.astype(np.float64)\n";
    check(cast, json!([3]), json!("AttributeError"));
}

#[test]
fn a_host_gets_rows_and_slices() {
    check(
        "def f(a):\n    if len(a) > 1:\n        return a[1]\n    return a[0]\n",
        json!([[[1, 2], [3, 4]]]),
        json!([3, 4]),
    );
    let module = "import numpy as np\nT = np.array([1.0, 2.0, 4.0])\ndef f(n):\n    return T[n:]\n";
    check(module, json!([1]), json!([2.0, 4.0]));
    let called = "def f(a, n):\n    if n == 0:\n        return a[1:]\n    b = f(a, n - 1)\n    b[0] = 7\n    return a\n";
    check(called, json!([[1, 2], 1]), json!("array-view"));
}

#[test]
fn what_a_value_is_looked_for_in_is_computed_first() {
    let raises = "def f(n):\n    return n in (n, 1 // (n - n))\n";
    check(raises, json!([3]), json!("ZeroDivisionError"));
    let called = "def g(l):\n    l.append(1)\n    return len(l)\ndef f(n):\n    l = [n]\n    a = n in [n, g(l)]\n    b = n not in (g(l), g(l))\n    return a, b, len(l)\n";
    check(called, json!([7]), json!([true, true, 4]));
    let chain = "def f(n):\n    return n in (1, 2) == True, 0 < n in (1, 2), n in (1, 2) != n\n";
    check(chain, json!([1]), json!([false, true, true]));
}

#[test]
fn elements_of_int32_are_more_than_truth_values() {
    let array = |values: [&str; 2]| json!({ "t": "array", "dtype": "int32", "shape": [2], "data": values });
    let product = "def f(a, n):\n    return a[0] * n\n";
    check(product, json!([array(["-2147483648", "1"]), i64::MIN]), json!("OverflowError"));
    check(product, json!([array(["3", "1"]), i64::MAX / 2]), json!("OverflowError"));
    check(product, json!([array(["-2", "1"]), 5]), json!(-10));
    let sum = "def f(a, n):\n    if n > 9223372036854775800:\n        return a[0] + n\n    return -a[1] + (n - 9)\n";
    check(sum, json!([array(["8", "1"]), i64::MAX]), json!("OverflowError"));
    check(sum, json!([array(["8", "100"]), i64::MIN + 9]), json!("OverflowError"));
    let index = "def f(a, b):\n    i = a[0]\n    if i < len(b):\n        return b[i]\n    return 0\n";
    check(index, json!([array(["-3", "1"]), [5, 6]]), json!("IndexError"));
    check(index, json!([array(["-2", "1"]), [5, 6]]), json!(5));
}
