//! Width of the language: `nonlocal`, `*args`, generators, defaults of inner functions. Values are CPython's.

use super::found::check;
use super::{Outcome, outcome};
use cembra::function::check::check_function;
use cembra::function::{FunctionModule, FunctionOptions, FunctionType, compile_function};
use cembra::vm::value::Value;
use serde_json::json;

#[test]
fn inner_functions_assign_to_names_around() {
    let counter = "def f(n):\n    c = 0\n    def inc(k=1):\n        nonlocal c\n        c += k\n        return c\n    for i in range(n):\n        inc()\n    inc(10)\n    return c + n\n";
    check(counter, json!([3]), json!(16));
    let levels = "def f(n):\n    a = b = 0\n    def g():\n        nonlocal a\n        def h():\n            nonlocal a, b\n            a, b = b + 1, a + 2\n        h()\n        a += 10\n    while n > 0:\n        g()\n        n -= 1\n    return a, b\n";
    check(levels, json!([3]), json!([24, 15]));
    let parameter = "def f(n):\n    def g():\n        nonlocal n\n        for n in range(n + 2):\n            pass\n    g()\n    return n\n";
    check(parameter, json!([5]), json!(6));
    let deleted = "def f(n):\n    x = 1\n    def g():\n        nonlocal x\n        del x\n    if n:\n        g()\n    return x\n";
    check(deleted, json!([0]), json!(1));
    check(deleted, json!([1]), json!("UnboundLocalError"));
    let passed = "def twice(h):\n    h(1)\n    h(2)\ndef f(n):\n    t = [0]\n    s = n\n    def add(x):\n        nonlocal s\n        s += x\n        t.append(s)\n    twice(add)\n    return s, len(t), t[2]\n";
    check(passed, json!([5]), json!([8, 3, 8]));
    let recursive = "def fib(n):\n    k = 0\n    def note():\n        nonlocal k\n        k += 1\n    note()\n    if n < 2:\n        note()\n        return k\n    return fib(n - 1) + fib(n - 2) + k\ndef f(n):\n    return fib(n)\n";
    check(recursive, json!([5]), json!(23));
    let function = "def f(n):\n    g = lambda: 1\n    def h():\n        nonlocal g\n        g = lambda: 2\n    h()\n    return g()\n";
    check(function, json!([0]), json!("function-value"));
    check(
        "def f(n):\n    def g():\n        nonlocal x\n        x = 1\n    return n\n",
        json!([0]),
        json!("SyntaxError"),
    );
}

#[test]
fn named_values_of_comprehensions_belong_to_the_function() {
    let last =
        "def f(n):\n    y = 5\n    a = [(y := i * i) for i in range(n) if i != 2]\n    return y, len(a)\n";
    check(last, json!([4]), json!([9, 3]));
    check(last, json!([0]), json!([5, 0]));
}

#[test]
fn defaults_of_inner_functions_belong_to_the_definition() {
    let shadowed = "k = 5\ndef f(k):\n    def g(x, y=k):\n        return x + y\n    h = lambda x, y=k * 2: x * y\n    k = 100\n    return g(1), h(3), (lambda z=k: z)()\n";
    check(shadowed, json!([7]), json!([8, 42, 100]));
    let in_loop = "def f(n):\n    s = 0\n    for i in range(n):\n        def g(j=i + 1):\n            return j * j\n        s += g()\n    return s\n";
    check(in_loop, json!([3]), json!(14));
    check(
        "def f(n):\n    if n:\n        def g(j=n):\n            return j\n    return g()\n",
        json!([0]),
        json!("UnboundLocalError"),
    );
}

#[test]
fn defaults_of_the_call_before_are_gone() {
    let stale = "def h(i):\n    if i == 0:\n        def k(x=i):\n            return x\n    return k()\ndef f(n):\n    s = 0\n    for i in range(n):\n        s += h(i)\n    return s\n";
    check(stale, json!([1]), json!(0));
    check(stale, json!([2]), json!("UnboundLocalError"));
}

#[test]
fn functions_are_there_behind_their_definition() {
    let below = "def f(n):\n    t = g(n)\n    def g(x):\n        return x\n    return t\n";
    check(below, json!([1]), json!("UnboundLocalError"));
    let assigned = "def f(n):\n    t = g(n)\n    g = lambda x: x\n    return t\n";
    check(assigned, json!([1]), json!("UnboundLocalError"));
    let branch = "def f(n):\n    if n:\n        def g(x):\n            return x + 1\n    return g(n)\n";
    check(branch, json!([1]), json!(2));
    check(branch, json!([0]), json!("UnboundLocalError"));
    let next = "def f(n):\n    t = 0\n    for i in range(n):\n        if i:\n            t = t * 10 + g(1)\n        g = lambda x: x + i\n    return t\n";
    check(next, json!([3]), json!(23));
    let first = next.replace("if i:", "if i >= 0:");
    check(&first, json!([3]), json!("UnboundLocalError"));
    check(&first, json!([0]), json!(0));
    let passed = "def h(g, x):\n    return g(x)\ndef f(n):\n    if n:\n        t = h(g, 1)\n    g = lambda x: x\n    return h(g, n)\n";
    // No path gives `g` a value there: it is refused, as a variable is.
    check(passed, json!([0]), json!("UnboundLocalError"));
    check(passed, json!([1]), json!("UnboundLocalError"));
    let generator = "def f(n):\n    if n:\n        def g():\n            yield n\n    return sum(g())\n";
    check(generator, json!([4]), json!(4));
    check(generator, json!([0]), json!("UnboundLocalError"));
    let mutual = "def f(n):\n    def a(x):\n        return b(x) + 1\n    def b(x):\n        return x * 2\n    return a(n)\n";
    check(mutual, json!([5]), json!(11));
    // Each call of `h` begins without `g`.
    let calls = "def h(n):\n    if n == 0:\n        def g():\n            return 7\n    return g()\ndef f(n):\n    s = 0\n    for i in range(n):\n        s += h(i)\n    return s\n";
    check(calls, json!([1]), json!(7));
    check(calls, json!([2]), json!("UnboundLocalError"));
}

#[test]
fn loops_run_over_pairs_and_from_the_end() {
    let sum = |over: &str, targets: &str, value: &str| {
        format!(
            "def f(a, n):\n    s = 0\n    for {targets} in {over}:\n        s = s * 10 + {value}\n    return s\n"
        )
    };
    let run = |over: &str, targets: &str, value: &str, expected: i64| {
        check(&sum(over, targets, value), json!([[1, 2, 3], 2]), json!(expected));
    };
    run("enumerate(a, start=5)", "i, x", "i * x", 5 * 100 + 12 * 10 + 21);
    run("enumerate(zip(a, a), n)", "i, (x, y)", "i * x + y", 300 + 80 + 15);
    run("enumerate(enumerate(a))", "i, (j, x)", "i + j + x", 147);
    run("zip(a, range(n))", "x, i", "x + i", 13);
    run("zip(range(10, 0, -n), a)", "i, x", "i + x", 1100 + 100 + 9);
    run("zip(a, range(3, 100), (7, 8))", "x, i, y", "x + i + y", 110 + 14);
    run("zip(reversed(a), enumerate(a))", "x, (i, y)", "x * 100 + i * 10 + y", 30100 + 2120 + 123);
    run("zip(reversed(range(n)), a)", "i, x", "i + x", 22);
    run("enumerate(range(n, 5))", "i, x", "i + x", 246);
    run("enumerate(reversed(a))", "i, x", "i + x", 333);
    run("reversed(a)", "x", "x", 321);
    run("reversed((4, 5, n))", "x", "x", 254);
    run("reversed([x * 2 for x in a])", "x", "x", 642);
    run("reversed(a[1:])", "x", "x", 32);
    run("zip(a, range(0))", "x, i", "x + i", 0);
    let keys = "def f(n):\n    d = {3: 1, 5: 2}\n    d[n] = 4\n    s = 0\n    for k in reversed(d):\n        s = s * 10 + k\n    for i, (k, v) in enumerate(d.items(), start=n):\n        s += i * k * v\n    return s\n";
    check(keys, json!([7]), json!(753 + 21 + 80 + 9 * 28));
    let pairs = "def f(a):\n    return [i * x for i, x in enumerate(a, start=1)][2], sum(x * y for x, y in zip(a, reversed(a)))\n";
    check(pairs, json!([[1, 2, 3]]), json!([9, 10]));
    let known = "def f(a):\n    for x in enumerate(a, begin=1):\n        pass\n    return 0\n";
    check(known, json!([[1, 2, 3]]), json!("TypeError"));
    let strict = "def f(a):\n    for x, y in zip(a, a, strict=True):\n        pass\n    return 0\n";
    check(strict, json!([[1, 2, 3]]), json!("library"));
}

#[test]
fn lists_are_true_if_they_hold_something() {
    let drained = "def f(n):\n    l = [1.5] * n\n    t = 0\n    while l:\n        t += l.pop()\n    return t, not l, bool([n]), 1 if l else 2\n";
    check(drained, json!([3]), json!([4.5, true, true, 2]));
    check(drained, json!([0]), json!([0.0, true, true, 2]));
}

#[test]
fn functions_take_any_number_of_arguments() {
    check(
        "def g(*args):\n    return args[0] + args[1]\ndef f(n):\n    return g(n, 2)\n",
        json!([3]),
        json!(5),
    );
    let sums = "def g(a, *rest):\n    s = a\n    for x in rest:\n        s = s * 10 + x\n    return s, len(rest), sum(rest)\ndef f(n):\n    return g(n), g(n, 2), g(n, 2, 3)\n";
    check(sums, json!([1]), json!([[1, 0, 0], [12, 1, 2], [123, 2, 5]]));
    let passed = "def h(a, b=5, *c):\n    return a, b, len(c)\ndef g(*args):\n    return h(*args)\ndef f(n):\n    return g(n), g(n, 2), g(n, *(2, 3), 4)\n";
    check(passed, json!([1]), json!([[1, 5, 0], [1, 2, 0], [1, 2, 2]]));
    let library = "def g(*args):\n    return max(*args) - min(*args)\ndef f(n):\n    return g(3, n, 7.5)\n";
    check(library, json!([1]), json!(6.5));
    let recursive = "def g(n, *args):\n    if n == 0:\n        return args[0] + args[1]\n    return g(n - 1, args[1], args[0] + args[1])\ndef f(n):\n    return g(n, 0, 1)\n";
    check(recursive, json!([10]), json!(144));
    let inner = "def f(n):\n    total = lambda *xs: sum(xs) + n\n    def g(*xs):\n        return total(*xs, 1)\n    return g(), g(2), g(2, 3)\n";
    check(inner, json!([10]), json!([11, 13, 16]));
    check("def g(a, *r):\n    return a\ndef f(n):\n    return g()\n", json!([1]), json!("TypeError"));
    check("def g(a, *r):\n    return a\ndef f(n):\n    return g(r=1, a=2)\n", json!([1]), json!("TypeError"));
    check("def g(*r):\n    return r[2]\ndef f(n):\n    return g(1, n)\n", json!([1]), json!("IndexError"));
    check(
        "def g(*r):\n    return r[len(r) - 3]\ndef f(n):\n    return g()\n",
        json!([1]),
        json!("IndexError"),
    );
    check(
        "def g(*a):\n    return a\ndef f(t):\n    return g(*t)\n",
        json!([{"tuple": [1, 2]}]),
        json!("starred"),
    );
    // Nothing is said of arguments that are missing then.
    let local = "def g(a, b):\n    return a - b\ndef f(n):\n    t = (n, 2)\n    return g(*t)\n";
    let module = FunctionModule::parse(local).expect("a module");
    let errors = compile_function(&module, "f", &[FunctionType::Int], &FunctionOptions::default());
    let rules: Vec<_> = errors.expect_err("it is refused").iter().map(|e| e.problem.rule()).collect();
    assert_eq!(rules, ["starred"]);
    check("def f(*a):\n    return len(a)\n", json!([1]), json!("parameter-kinds"));
    let assigned = "def h(*a):\n    return len(a)\ndef g(*a):\n    s = 0\n    for i in range(2):\n        s += h(*a)\n        a = (1,)\n    return s\ndef f(n):\n    return g(n, n)\n";
    check(assigned, json!([1]), json!("starred"));
}

#[test]
fn sums_begin_with_their_start() {
    let of = |value: &str| {
        format!("def g(n):\n    for i in range(n):\n        yield i * 0.5\ndef f(n):\n    return {value}\n")
    };
    check(
        &of("sum(range(n), 10), sum(range(n), start=n), sum((1, n), 0.5)"),
        json!([4]),
        json!([16, 10, 5.5]),
    );
    check(&of("sum(g(n), 10), sum((i for i in range(n)), n), sum([], 7)"), json!([4]), json!([13.0, 10, 7]));
    check(&of("sum([0.1, 0.2, 0.3], 0.3), sum({n: 1}, n)"), json!([4]), json!([0.9000000000000001, 8]));
    check(&of("sum((i for i in range(n)), n + 1)"), json!([4]), json!("generator-expression"));
    check(&of("sum(range(n), 1, 2)"), json!([4]), json!("TypeError"));
    check(&of("sum(range(n), 1, start=2)"), json!([4]), json!("TypeError"));
    check(&of("sum((1, n), 1, 2)"), json!([4]), json!("TypeError"));
}

#[test]
fn generators_are_not_iterated_over_together() {
    let of = |iter: &str| {
        format!(
            "def g(n):\n    yield n\ndef f(n):\n    s = 0\n    for a, b in {iter}:\n        s += b\n    return s\n"
        )
    };
    check(&of("zip((i for i in range(n)), range(n))"), json!([4]), json!("generator-expression"));
    check(&of("zip(range(n), g(n))"), json!([4]), json!("generator-function"));
    check(&of("zip(range(n), list(g(n)))"), json!([4]), json!(4));
    check(&of("enumerate(g(n))"), json!([4]), json!(4));
}

#[test]
fn ranges_of_floats_begin_with_their_start() {
    let range = "import numpy as np\ndef f(a, b):\n    r = np.arange(a, 1.0, b)\n    return len(r), 1.0 / math.copysign(1.0, r[0]), r[1]\n";
    let range = format!("import math\n{range}");
    check(&range, json!([-0.0, 0.25]), json!([4, -1.0, 0.25]));
    check(&range, json!([0.0, 0.25]), json!([4, 1.0, 0.25]));
}

#[test]
fn nothing_is_said_of_what_stands_beyond_the_limit() {
    let doubled =
        (0..17).fold("x + 1".to_owned(), |of, _| format!("(lambda g: g(x) + g(x))(lambda x: {of})"));
    check(&format!("def f(x):\n    return {doubled}\n"), json!([1]), json!("limit"));
}

#[test]
fn generators_are_built_where_they_are_iterated_over() {
    let squares = "def g(n):\n    for i in range(n):\n        yield i * i\n";
    let of = |body: &str| format!("{squares}def f(n):\n    {}\n", body.replace('\n', "\n    "));
    check(&of("s = 0\nfor v in g(n):\n    s += v\nreturn s"), json!([3]), json!(5));
    check(&of("return [v + 1 for v in g(n) if v != 4]"), json!([4]), json!([1, 2, 10]));
    check(&of("return sum(g(n)), max(g(n)), list(g(n))[1]"), json!([4]), json!([14, 9, 1]));
    check(&of("return any(v > 3 for v in g(n)), all(v < 3 for v in g(n))"), json!([3]), json!([true, false]));
    check(
        &of("s = 0\nfor i, v in enumerate(g(n), 10):\n    s += i * v\nreturn s"),
        json!([4]),
        json!(11 + 48 + 117),
    );
    let jumps = of(
        "s = 0\nfor v in g(n):\n    if v == 1:\n        continue\n    if v == 9:\n        break\n    for w in g(v):\n        if w > 3:\n            break\n        s += w\n    s += 100\nelse:\n    s += 1000\nreturn s",
    );
    check(&jumps, json!([3]), json!(1201));
    check(&jumps, json!([10]), json!(201));
    check(&of("for v in g(n):\n    if v > 10:\n        return v\nreturn -1"), json!([9]), json!(16));
    check(&of("for v in g(n):\n    if v > 10:\n        return v\nreturn -1"), json!([2]), json!(-1));
    let several = "def g(a, b):\n    yield a\n    if a > b:\n        return\n    yield b\n    n = a\n    while n < b:\n        n += 1\n        yield n * 0.5\ndef f(a, b):\n    n = 0\n    s = 0\n    for v in g(a, b):\n        n += 1\n        s += v * n\n        if n > 5: break\n    else:\n        n = -n\n    return n, s\n";
    check(several, json!([1, 3]), json!([-4, 16.0]));
    check(several, json!([3, 1]), json!([-1, 3.0]));
    check(several, json!([1, 30]), json!([6, 1.0 + 60.0 + 3.0 + 6.0 + 10.0 + 15.0]));
    let nested = "def pairs(n):\n    for i in range(n):\n        for j in range(i):\n            yield i, j\ndef odd(n):\n    for i, j in pairs(n):\n        if (i + j) % 2:\n            yield i * 10 + j\ndef f(n):\n    t = 0\n    for v in odd(n):\n        t = t * 100 + v\n    return t\n";
    check(nested, json!([4]), json!(10_213_032_i64));
    let state = "def f(n):\n    k = 1\n    def g():\n        nonlocal k\n        while k < n:\n            yield k\n            k *= 2\n    t = 0\n    for v in g():\n        t += v\n        k += 1\n    return t, k\n";
    check(state, json!([20]), json!([1 + 4 + 10, 22]));
    check(
        "def f(a):\n    return sum(x * 2 for x in a if x > 1), sum((x for x in a)), min(x - 1 for x in a)\n",
        json!([[1, 2, 3]]),
        json!([10, 6, 0]),
    );
    check(
        "def f(a):\n    t = 0\n    for v in (x * y for x in a for y in a if x < y):\n        t += v\n    return t, list(a)[2]\n",
        json!([[1, 2, 3]]),
        json!([11, 3]),
    );
    let early = "def f(n):\n    return any(10 // (i - 3) == -5 for i in range(n)), all(i < 2 and 1 // (2 - i) for i in range(n))\n";
    check(early, json!([9]), json!([true, false]));
    check(&of("return g(n)"), json!([3]), json!("generator-function"));
    check(squares.replace("def g", "def f").as_str(), json!([3]), json!("generator-function"));
    check(
        "def f(n):\n    x = (i for i in range(n))\n    return 1\n",
        json!([3]),
        json!("generator-expression"),
    );
    let own = "def g(n):\n    if n > 0:\n        for v in g(n - 1):\n            yield v\n    yield n\ndef f(n):\n    return sum(g(n))\n";
    check(own, json!([3]), json!("generator-function"));
    let unbound = "def g(n):\n    for i in range(n):\n        if i == 1: x = i\n        yield x\ndef f(n):\n    return sum(g(n))\n";
    check(unbound, json!([3]), json!("UnboundLocalError"));
    let fresh = "def g(n):\n    if n != 1: x = n\n    yield x\ndef f(n):\n    s = 0\n    for i in range(n):\n        for v in g(i):\n            s += v\n    return s\n";
    check(fresh, json!([1]), json!(0));
    check(fresh, json!([3]), json!("UnboundLocalError"));
    let many = format!(
        "def g():\n    yield 1\n    yield 2\ndef f(n):\n    s = 0\n{}{}s += 1\n    return s\n",
        (1..=9).map(|d| format!("{}for v{d} in g():\n", "    ".repeat(d))).collect::<String>(),
        "    ".repeat(10)
    );
    check(&many, json!([3]), json!("limit"));
}

#[test]
fn characters_are_compared_and_counted() {
    check("def f(n):\n    return ord(chr(n)) + 1, ord('a'), ord('€')\n", json!([65]), json!([66, 97, 8364]));
    let order = "def f(n):\n    c = chr(n)\n    return c == 'a', c != 'b', c < 'b', 'a' <= c, c > chr(98), 'b' >= c\n";
    check(order, json!([97]), json!([true, true, true, true, false, true]));
    check(order, json!([98]), json!([false, false, false, true, false, true]));
    let longer = "def f(n):\n    c = chr(n)\n    return c < 'ab', c <= 'ab', c > 'ab', 'ab' > c, c == 'ab', '' < c, c <= '', 'ab' < 'b'\n";
    check(longer, json!([97]), json!([true, true, false, true, false, true, false, true]));
    check(longer, json!([98]), json!([false, false, true, false, false, true, false, true]));
    let inside = "def f(n):\n    c = chr(n)\n    return c in 'aeiou', c not in ('x', 'a'), 'b' in 'abc', 'ac' in 'abc', c in c\n";
    check(inside, json!([97]), json!([true, false, true, false, true]));
    let chosen = "def f(n):\n    c = 'a' if n else 'b'\n    d = 'x'\n    for i in range(n):\n        d = c\n    if c:\n        n = len(c)\n    return c == 'a', d == 'x', ord(d), n, not '', bool(c != d)\n";
    check(chosen, json!([3]), json!([true, false, 97, 1, true, false]));
    let recursive = "def g(c, n):\n    if n == 0:\n        return c\n    return g(chr(ord(c) + 1), n - 1)\ndef f(n):\n    return ord(g('a', n))\n";
    check(recursive, json!([25]), json!(122));
    let caesar = "def f(a, k):\n    t = 0\n    for x in a:\n        c = chr(x)\n        if 'a' <= c <= 'z':\n            c = chr((ord(c) - ord('a') + k) % 26 + ord('a'))\n        t = t * 7 % 1000003 + ord(c)\n    return t\n";
    check(caesar, json!([[104, 105, 32, 122], 3]), json!(((107 * 7 + 108) * 7 + 32) * 7 + 99));
    for (n, class) in [
        (-1, "ValueError"),
        (0x11_0000, "ValueError"),
        (1 << 31, "OverflowError"),
        (-(1_i64 << 40), "OverflowError"),
    ] {
        check("def f(n):\n    return ord(chr(n))\n", json!([n]), json!(class));
    }
    check("def f(n):\n    return ord(chr(n))\n", json!([0x10_ffff]), json!(0x10_ffff));
    check("def f(n):\n    return ord(n)\n", json!([1]), json!("TypeError"));
    check("def f(n):\n    return chr(n)\n", json!([1.5]), json!("TypeError"));
    check("def f(n):\n    return ord('ab')\n", json!([1]), json!("TypeError"));
    check("def f(n):\n    return chr(n) < n\n", json!([1]), json!("TypeError"));
    check("def f(n):\n    return chr(n) == n, chr(n) is None\n", json!([1]), json!([false, false]));
}

#[test]
fn dictionaries_keep_keys_and_values() {
    check(
        "def f(n):\n    d = {}\n    for i in range(n):\n        d[i] = i * 1.5\n    return d[n - 1], len(d)\n",
        json!([300]),
        json!([448.5, 300]),
    );
    let counts = "def f(a):\n    d = {}\n    for x in a:\n        d[x] = d.get(x, 0) + 1\n    t = 0\n    for k in d:\n        t = t * 100 + k * 10 + d[k]\n    return t, len(d), 3 in d, 4 in d, 4 not in d\n";
    check(counts, json!([[3, 1, 3, 2, 1, 3]]), json!([331_221, 3, true, false, true]));
    let views = "def f(n):\n    d = {i * i: i / 2 for i in range(n) if i != 1}\n    d[4] += 10\n    s = 0\n    for i, (k, v) in enumerate(d.items()):\n        s += i * k * v\n    return s, sum(d.values()), max(d.keys()), sum(d), list(d)[1], [v for v in d.values()][2], sum(v for k, v in d.items() if k > 4)\n";
    check(views, json!([4]), json!([71.0, 12.5, 9, 13, 4, 1.5, 1.5]));
    let floats = "def f(x):\n    d = {0.5: 1, 1.5: 2}\n    d[x] = 3\n    d[-0.0] = 7\n    d[0.0] = d[0.0] + 1\n    return d[0.5], len(d), d[0.0], 2.5 in d\n";
    check(floats, json!([0.5]), json!([3, 3, 8, false]));
    check(floats, json!([2.5]), json!([1, 4, 8, true]));
    check("def f(n):\n    d = {1: 2}\n    return d[n]\n", json!([3]), json!("KeyError"));
    check("def f(n):\n    d = {}\n    return len(d), n in d, not d\n", json!([3]), json!([0, false, true]));
    check(
        "def f(n):\n    d = dict()\n    d[n] = 1\n    e = d\n    e[n + 1] = 2\n    return len(d), d[n + 1], True in {1: 2}\n",
        json!([3]),
        json!([2, 2, true]),
    );
    check(
        "def f(n):\n    d = {1: 2}\n    x = d.get(n)\n    if x is None:\n        return -1\n    return 0\n",
        json!([3]),
        json!(-1),
    );
    check(
        "def f(n):\n    d = {1: 2.0}\n    return d.get(n), d.get(n, 0.5), d.get(1, 1)\n",
        json!([3]),
        json!([null, 0.5, 2.0]),
    );
    check(
        "def f(n):\n    d = {i: i for i in range(n)}\n    for k in d:\n        d[k + 1] = 0\n    return len(d)\n",
        json!([3]),
        json!("RuntimeError"),
    );
    check(
        "def f(n):\n    d = {i: i for i in range(n)}\n    for k in d:\n        d[k] = 0\n    return sum(d.values())\n",
        json!([3]),
        json!(0),
    );
    check(
        "def f(x):\n    d = {1.5: 1}\n    d[x] = 2\n    return len(d)\n",
        json!([{"t": "float", "v": "nan"}]),
        json!("ValueError"),
    );
    let fresh = "def f(n):\n    s = 0\n    for i in range(n):\n        d = {}\n        for j in range(i):\n            d[j % 3] = j\n        s = s * 10 + len(d)\n    return s\n";
    check(fresh, json!([6]), json!(12333));
    let memo = "def f(n):\n    memo = {0: 0, 1: 1}\n    def fib(k):\n        for i in range(2, k + 1):\n            if i not in memo:\n                memo[i] = memo[i - 1] + memo[i - 2]\n        return memo[k]\n    return fib(n) + fib(n - 1)\n";
    check(memo, json!([50]), json!(20_365_011_074_i64));
    let random = "def f(n):\n    d = {}\n    x = 1\n    for i in range(n):\n        x = (x * 1103515245 + 12345) % 2147483648\n        d[x % 997 - 500] = i\n    t = 0\n    for k, v in d.items():\n        t = (t * 31 + k * 7 + v) % 1000003\n    return t, len(d)\n";
    check(random, json!([5000]), json!([527007, 987]));
}

#[test]
fn sets_know_what_is_in_them() {
    check(
        "def f(n):\n    s = {1, 2, n}\n    return len(s), n in s, 5 in s, max(s), sum(s)\n",
        json!([2]),
        json!([2, true, false, 2, 3]),
    );
    let primes = "def f(n):\n    seen = set()\n    t = 0\n    for i in range(2, n):\n        if i not in seen:\n            t += i\n            for j in range(i * i, n, i):\n                seen.add(j)\n    return t, len(seen)\n";
    check(primes, json!([100]), json!([1060, 73]));
    check(
        "def f(a):\n    return len({x % 3 for x in a}), len(set(a)), len({0.5, 0.5, 1.5}), min({x * x for x in a})\n",
        json!([[1, 4, 6, 7]]),
        json!([2, 4, 2, 1]),
    );
    check("def f(n):\n    s = {n}\n    s[0] = 1\n    return 1\n", json!([1]), json!("TypeError"));
    check("def f(n):\n    d = {n: 1}\n    d.add(1)\n    return 1\n", json!([1]), json!("AttributeError"));
}

#[test]
fn arrays_are_made_of_what_has_axes() {
    let copies = "import numpy as np\ndef f(a):\n    t = (1, 2.5)\n    b = np.array(a)\n    b[0] = 9.0\n    return a[0], b[0], len(np.array(t)), np.array(t)[1], np.array(a, dtype=np.int64)[1], len(np.array([len(a)]))\n";
    check(copies, json!([[1.5, 2.5]]), json!([1.5, 9.0, 2, 2.5, 2, 1]));
    check("import numpy as np\ndef f(n):\n    return np.array(n)[0]\n", json!([3]), json!("array-type"));
    check(
        "def f(n):\n    t = 0\n    for x in ():\n        t += x\n    return t, sum(()), sum([])\n",
        json!([3]),
        json!([0, 0, 0]),
    );
}

#[test]
fn messages_name_the_lines_that_decide() {
    let mixed = "def f(n):\n    if n == 0:\n        x = 1\n    elif n == 1:\n        x = 2.5\n    else:\n        x = (n, n)\n    return x\n";
    let Outcome::Refused(refusal) = outcome(mixed, "f", &json!([3]), &FunctionOptions::default()) else {
        panic!("it has no type")
    };
    assert_eq!(
        refusal.message,
        "cannot unify f64 and (i64, i64) for `x`: f64 on line 5, (i64, i64) on line 7"
    );
}

#[test]
fn errors_do_not_hide_warnings() {
    let source = "def f(n):\n    if n:\n        x = 1\n    y = missing(n)\n    return x\n    return y\n";
    let module = FunctionModule::parse(source).expect("it parses");
    let findings = check_function(&module, "f");
    let errors: Vec<String> = findings.errors.iter().map(ToString::to_string).collect();
    let warnings: Vec<&str> = findings.warnings.iter().map(|it| &*it.message).collect();
    assert_eq!(errors, ["name 'missing' is not defined"]);
    assert_eq!(warnings, ["local variable 'x' might be referenced before assignment", "Unreachable code"]);
}

#[test]
fn hosts_with_a_frame_of_their_own_see_defaults() {
    let module = FunctionModule::parse("def f(a, b=2, c=0.5):\n    return a * b + c\n").expect("it parses");
    let options = FunctionOptions::default();
    let function = compile_function(&module, "f", &[FunctionType::Int], &options).expect("it compiles");
    assert_eq!(function.defaults(), [Value::from(2i64), Value::from(0.5f64)]);
}

#[test]
fn names_are_compared_in_one_form() {
    // A ligature is two letters, the micro sign is a Greek one; a text is as it is written.
    check("def f(x):\n    \u{fb01} = x + 1\n    return fi * 2\n", json!([3]), json!(8));
    check("def f(\u{b5}):\n    return \u{3bc} + 1\n", json!([3]), json!(4));
    check("def f(x):\n    return '\u{b5}' == '\u{3bc}', ord('\u{b5}')\n", json!([3]), json!([false, 0xb5]));
}

/// CPython 3.11: a comprehension is a function of its own, but for what its first clause runs over.
#[test]
fn variables_of_the_function_around_without_a_value_raise_name_errors() {
    let inner = "def f(n):\n    def g():\n        return x + 1\n    if n:\n        x = 1\n    return g()\n";
    check(inner, json!([0]), json!("NameError"));
    check(inner, json!([1]), json!(2));
    let own = "def f(n):\n    def g():\n        return x + 1\n    if n:\n        x = 1\n    return x + g()\n";
    check(own, json!([0]), json!("UnboundLocalError"));
    for (result, class) in [
        ("sum([x for i in range(3)])", "NameError"),
        ("sum(x for i in range(3))", "NameError"),
        ("len([i for i in range(x)])", "UnboundLocalError"),
        ("sum(i for i in range(x))", "UnboundLocalError"),
        ("len([j + i for i in range(2) for j in range(x)])", "NameError"),
        ("(lambda: x)()", "NameError"),
    ] {
        let source = format!("def f(n):\n    if n:\n        x = 1\n    return {result}\n");
        check(&source, json!([0]), json!(class));
    }
    let assigned = "def f(n):\n    if n:\n        x = 1\n    def g():\n        nonlocal x\n        x += 1\n    g()\n    return x\n";
    check(assigned, json!([0]), json!("NameError"));
    check(assigned, json!([1]), json!(2));
    let caught = "def f(n):\n    if n:\n        x = 1\n    try:\n        return (lambda: x)()\n    except UnboundLocalError:\n        return 5\n    except NameError:\n        return 6\n";
    check(caught, json!([0]), json!(6));
    let function = "def f(n):\n    def g():\n        return h()\n    if n:\n        def h():\n            return 2\n    return g()\n";
    check(function, json!([0]), json!("NameError"));
    check(function, json!([1]), json!(2));
    let never = "def f(n):\n    def g():\n        return x\n    r = g()\n    x = 1\n    return r\n";
    check(never, json!([1]), json!("NameError"));
    let nested = "def f(n):\n    x = 5\n    return sum([x for x in (x + y for y in range(n))])\n";
    check(nested, json!([3]), json!(18));
}

/// Functions of numpy that round give floats, as Numba's do; those of `math` give integers.
#[test]
fn rounding_gives_floats_in_numpy_and_integers_in_math() {
    for name in ["floor", "ceil", "trunc", "sqrt", "fabs", "exp", "cbrt", "degrees"] {
        let source = format!("import numpy as np\ndef f(x):\n    return np.{name}(x)\n");
        for args in [json!([3]), json!([true]), json!([2.5])] {
            let Outcome::Returned { value, .. } = outcome(&source, "f", &args, &FunctionOptions::default())
            else {
                panic!("{name} of {args}")
            };
            assert_eq!(value["t"], "float", "{name} of {args}");
        }
    }
    for name in ["floor", "ceil", "trunc"] {
        let source = format!("import math\ndef f(x):\n    return math.{name}(x)\n");
        for args in [json!([3]), json!([true]), json!([2.5])] {
            let Outcome::Returned { value, .. } = outcome(&source, "f", &args, &FunctionOptions::default())
            else {
                panic!("{name} of {args}")
            };
            assert_eq!(value["t"], "int", "{name} of {args}");
        }
    }
}

/// What Numba's users write, and functions lack: a rule and a hint, on the line.
#[test]
fn what_stays_outside_of_the_library_is_refused_with_a_rule() {
    for (line, rule) in [
        ("return np.sqrt(a.astype(np.float32))[0]", "array-expression"),
        ("return (a * np.zeros(2, dtype=np.int32))[0]", "array-expression"),
        ("return (a > 0.0) - (a > 1.0)", "array-expression"),
        ("return a + [1.0, 2.0]", "array-expression"),
        ("b = np.arange(2); b *= 0.5", "array-expression"),
        ("return np.dot(a, np.eye(2))[0]", "array-expression"),
        ("a.ravel()", "array-method"),
        ("return a.argmax(axis=0)", "method"),
        ("return [n, 1] + [2]", "array-expression"),
        ("l = [n]; l += [2]", "array-expression"),
        ("l = [n]; l.sort(reverse=True)", "method"),
        ("return sorted(a, reverse=True)[0]", "library"),
        ("d = {1: n}; d.clear()", "dictionary-method"),
        ("l = [n]; l.insert(0, a)", "list-element"),
        ("l = [n]; l.insert(0, 0.5); l[0] = a", "ValueError"),
        ("return np.array([a, a])[0, 0]", "array-type"),
        ("return np.array([[[[[[[n]]]]]]])", "array-type"),
        ("return np.arange(0.0, 1.0, 0.5, dtype=np.int64)", "dtype"),
        ("return np.uint64(n)", "library"),
        ("return np.linalg.norm(a)", "library"),
        ("return np.diff(a)[0]", "library"),
    ] {
        let source = format!("import numpy as np\ndef f(a, n):\n    {line}\n");
        check(&source, json!([[1.0, 2.0], 3]), json!(rule));
        let values = cembra::cli::function_value::read_arguments(&json!([[1.0, 2.0], 3])).expect("arguments");
        let types: Vec<FunctionType> =
            values.iter().map(|value| FunctionType::of_qtype(&value.qtype()).expect("a type")).collect();
        let module = FunctionModule::parse(&source).expect("it parses");
        let errors = compile_function(&module, "f", &types, &FunctionOptions::default()).map(drop);
        let error = &errors.expect_err("it is refused")[0];
        assert_eq!(module.tree().lines().line(error.span), 3, "{line}");
        assert!(rule == "ValueError" || error.problem.hint().is_some(), "{line}: {error}");
    }
}

/// Rows are views where `enumerate` and `zip` give them, too.
#[test]
fn rows_come_with_numbers_and_with_other_rows() {
    let matrix = json!([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]);
    let sum = |head: &str, term: &str, expected: f64| {
        let source = format!(
            "def f(a):\n    t = 0.0\n    for {head}:\n        t = t * 2 + {term}\n    return t + a[0, 0]\n"
        );
        check(&source, matrix.clone(), json!(expected));
    };
    sum("i, row in enumerate(a)", "row[0] * i", 17.0);
    sum("i, row in enumerate(reversed(a), 2)", "row[1] * i", 81.0);
    sum("r, s in zip(a, a[::-1])", "r[0] * s[1]", 59.0);
    sum("i, (r, s) in enumerate(zip(a, a))", "r[0] * s[1] * i", 85.0);
    let written = "def f(a):\n    for i, row in enumerate(a):\n        row[1] = i\n    for r, s in zip(a, a[1:]):\n        r[0] = s[1]\n    return a[0, 0], a[1, 0], a[2, 0], a[2, 1]\n";
    check(written, matrix, json!([1.0, 2.0, 5.0, 2.0]));
}

/// Values are numpy's.
#[test]
fn arrays_in_expressions_are_new_and_in_place_are_the_same() {
    let numpy = |body: &str, arg: serde_json::Value, expected: serde_json::Value| {
        let source = format!("import numpy as np\ndef f(a):\n    {}\n", body.replace('\n', "\n    "));
        check(&source, json!([arg]), expected);
    };
    let a = || json!([1.0, 2.0, 4.0]);
    numpy("b = a + 1\nc = a + 1\nb[0] = 9\nreturn b[0], c[0], a[0]", a(), json!([9.0, 2.0, 1.0]));
    numpy("b = a\na += 1\nb *= 2\nreturn a[0], b[0]", a(), json!([4.0, 4.0]));
    // What is written is read first.
    numpy("a += a[::-1]\nreturn a[0], a[1], a[2]", a(), json!([5.0, 4.0, 5.0]));
    numpy("a[1:] -= a[:-1]\nreturn a[0], a[1], a[2]", a(), json!([1.0, 1.0, 2.0]));
    numpy("for i in range(3):\n    if i != 1:\n        a += i\nreturn a[0]", a(), json!(3.0));
    numpy("k = 0\nwhile np.sum(a) < 100:\n    a *= 2\n    k += 1\nreturn k, a[0]", a(), json!([4, 16.0]));
    numpy("try:\n    a += np.ones(2)\nexcept ValueError:\n    return 7\nreturn 0", a(), json!(7));
    numpy("return (a / (a - 1))[0], (a // 2)[2]", a(), json!([f64::INFINITY, 2.0]));
    numpy("return (np.arange(2, 4) ** -1)[0]", a(), json!("ValueError"));
    numpy("return (2**62 * np.arange(3))[0]", a(), json!("OverflowError"));
    let shapes = "m = np.ones((2, 3)) * a\nr = m - np.ones((2, 1))\nreturn r[1, 2], r.shape";
    numpy(shapes, a(), json!([3.0, [2, 3]]));
    numpy("l = [1, 2]\nl += [3]\nreturn len(l)", a(), json!("array-expression"));
}

/// Sizes that differ where a program runs, and what is read between an operation and the one that reads it.
#[test]
fn expressions_of_arrays_are_computed_as_a_whole() {
    let numpy = |body: &str, arg: serde_json::Value, expected: serde_json::Value| {
        let source = format!("import numpy as np\ndef f(a):\n    {}\n", body.replace('\n', "\n    "));
        check(&source, json!([arg]), expected);
    };
    let a = || json!([1.0, 2.0, 4.0]);
    // One element is stretched, in the middle of an expression too.
    numpy("r = a * a[1:2] + 1 - a\nreturn r[0], r[1], r[2]", a(), json!([2.0, 3.0, 5.0]));
    numpy("r = a[:1] * a[1:2]\nreturn r[0], len(r)", a(), json!([2.0, 1]));
    numpy("return len(a[:0] * a[1:2])", a(), json!(0));
    numpy("return (a[:0] + a)[0]", a(), json!("ValueError"));
    numpy("m = a[1:2]\nm += a\nreturn m[0]", a(), json!("ValueError"));
    numpy("a += a[2:]\nreturn a[0], a[2]", a(), json!([5.0, 8.0]));
    numpy("b = np.zeros((2, 3))\nb[:, 1:] = a[1:] * 2\nreturn b[1, 0], b[1, 2]", a(), json!([0.0, 8.0]));
    numpy("b = np.zeros((2, 3))\nb[:, 1:] = a * 2\nreturn b[1, 2]", a(), json!("ValueError"));
    numpy("b = np.zeros((2, 3))\nb[-1] = a[::-1]\nreturn b[1, 0], b[0, 0]", a(), json!([4.0, 0.0]));
    numpy("b = np.zeros((2, 3))\nb[2] = a * 2\nreturn 0", a(), json!("IndexError"));
    numpy("b = np.zeros(3, np.int32)\nb[1:] = a[:2] * 2\nreturn b[1], b[2]", a(), json!([2, 4]));
    // Nothing that is written in between is read, and errors come in their order.
    numpy("t = a * 2\na[0] = 50\nr = t + 1\nreturn r[0]", a(), json!(3.0));
    numpy("t = a * 2\na *= 10\nr = t + a\nreturn r[0]", a(), json!(12.0));
    numpy("r = (a + a[1:]) * (1 // 0)\nreturn r[0]", a(), json!("ValueError"));
    numpy("r = a * 2 + a[7]\nreturn r[0]", a(), json!("IndexError"));
    numpy("return (np.arange(3) * 2**62 + (1 // 0))[0]", a(), json!("OverflowError"));
    // Of whole rounds of a loop, a name that gets a new array in each.
    numpy("x = a\nfor k in range(3):\n    x = x + a\nreturn x[0], a[0]", a(), json!([4.0, 1.0]));
    numpy("x = a\nfor k in range(4):\n    x = x * 2 - x[0]\nreturn x[0], x[2]", a(), json!([1.0, 49.0]));
    numpy(
        "x = a.copy()\nfor k in range(3):\n    x = x + 1\nx[0] = 0.5\nreturn x[0], x[1], a[0]",
        a(),
        json!([0.5, 5.0, 1.0]),
    );
    numpy(
        "x = a\nfor k in range(5):\n    y = x + 1\n    if y[0] > 3:\n        break\n    x = y\nreturn x[0], y[0]",
        a(),
        json!([3.0, 4.0]),
    );
    // A sum goes from the first element on.
    numpy("return np.sum(a[::2] * 1e16 - 1e16), sum(a[1:])", a(), json!([3e16, 6.0]));
    numpy("b = np.array([1e16, 1.0, 1.0, -1e16])\nreturn np.sum(b), np.mean(b[1:3])", a(), json!([0.0, 1.0]));
    let long = format!("return ({})[0]", vec!["a"; 3000].join(" + "));
    numpy(&long, a(), json!(3000.0));
}
