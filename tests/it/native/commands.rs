//! `cembra build` and `cembra cache`, and libraries called from C and from Python without Cembra.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SOURCE: &str = "\
def dot(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s

def split(n):
    if n < 0:
        raise ValueError('below zero')
    return n // 3, n % 3, n > 5

def squares(n):
    found = []
    for i in range(n):
        found.append(i * i)
    return found
";

const MAIN: &str = r#"
#include <stdio.h>
#include "both.h"
int main(void)
{
    double x[3] = { 1.0, 2.0, 3.0 }, y[3] = { 0.5, 0.25, -1.0 }, sum;
    cembra_array a = { x, { 3 }, { 8 } }, b = { y, { 3 }, { 8 } };
    if (dot(&a, &b, &sum, NULL) != 0 || sum != -2.0) return 1;
    split_type1 parts;
    if (split(17, &parts, NULL) != 0 || parts._0 != 5 || parts._1 != 2 || parts._2 != 1) return 2;
    cembra_error error;
    if (split(-1, &parts, &error) != CEMBRA_RAISED || error.line != 9) return 3;
    b.shape[0] = 2;
    if (dot(&a, &b, &sum, &error) != CEMBRA_INDEX_OUT_OF_RANGE || error.operands[2] != 2) return 4;
    cembra_array many = { 0 };
    if (squares(5, &many, NULL) != 0 || many.shape[0] != 5 || ((int64_t *)many.data)[4] != 16) return 6;
    squares_free(&many);
    a.strides[0] = 16;
    if (dot(&a, &b, &sum, &error) != CEMBRA_TYPE) return 5;
    puts(error.message);
    return 0;
}
"#;

const CALLER: &str = r#"
import ctypes, both

class Rows:
    def __init__(self, *rows):
        self.rows = (ctypes.c_double * len(rows))(*rows)
        self.__array_interface__ = {"shape": (len(rows),), "typestr": "<f8", "data": (ctypes.addressof(self.rows), False), "version": 3}

assert both.dot(Rows(1.0, 2.0, 3.0), Rows(0.5, 0.25, -1.0)) == -2.0
assert both.split(17) == (5, 2, True)
assert both.squares(4).tolist() == [0, 1, 4, 9] and both.squares(0).tolist() == []
for call, kind in [
    (lambda: both.split(-1), ValueError),
    (lambda: both.split(2**70), OverflowError),
    (lambda: both.dot(Rows(1.0, 2.0), Rows(1.0)), IndexError),
    (lambda: both.dot([1.0], [1.0]), TypeError),
]:
    try:
        call()
    except kind as error:
        print(type(error).__name__, error)
    else:
        raise SystemExit(f"{kind} was not raised")
"#;

const MAIN_OF_EXPRESSIONS: &str = r#"
#include <stdio.h>
#include "wave.h"
int main(void)
{
    double x[3] = { 1.0, 2.0, 3.0 }, y[3] = { 0.0, 0.0, 0.0 }, z[3], sum;
    cembra_array a = { x, { 3 }, { 8 } }, b = { y, { 3 }, { 8 } }, made = { 0 }, lent = { z, { 3 }, { 8 } };
    cembra_error error;
    if (wave(&a, &b, &made, &error) != 0 || made.shape[0] != 3 || ((double *)made.data)[2] != 7.0) return 1;
    wave_free(&made);
    if (made.data != NULL) return 2;
    if (wave(&a, &b, &lent, &error) != 0 || lent.data != z || z[0] != 3.0) return 3;
    /* The result in the place of an argument: made elsewhere, and copied. */
    cembra_array back = { x + 1, { 2 }, { 8 } };
    a.shape[0] = b.shape[0] = 2;
    if (wave(&a, &b, &back, &error) != 0 || x[0] != 1.0 || x[1] != 3.0 || x[2] != 5.0) return 4;
    if (wave(&a, &b, &lent, &error) != CEMBRA_SIZE_MISMATCH || z[0] != 3.0) return 5;
    puts(error.message);
    lent.strides[0] = 16;
    if (wave(&a, &b, &lent, &error) != CEMBRA_TYPE) return 6;
    b.shape[0] = 1;
    if (wave(&a, &b, &made, &error) != CEMBRA_SIZE_MISMATCH || made.data != NULL) return 7;
    puts(error.message);
    return total(&a, &sum, NULL) == 0 && sum == 4.0 ? 0 : 8;
}
"#;

const CALLER_OF_EXPRESSIONS: &str = r#"
import ctypes, wave

class Rows:
    def __init__(self, *rows):
        self.rows = (ctypes.c_double * len(rows))(*rows)
        self.__array_interface__ = {"shape": (len(rows),), "typestr": "<f8", "data": (ctypes.addressof(self.rows), False), "version": 3}

x, y, out = Rows(1.0, 2.0, 3.0), Rows(0.0, 0.0, 0.0), Rows(0.0, 0.0, 0.0)
assert wave.wave(x, y).tolist() == [3.0, 5.0, 7.0]
assert wave.wave(x, y, out=out) is out and list(out.rows) == [3.0, 5.0, 7.0]
assert wave.total(x) == 6.0
for call, kind in [
    (lambda: wave.wave(x, Rows(1.0)), ValueError),
    (lambda: wave.wave(x, y, out=Rows(1.0)), ValueError),
    (lambda: wave.wave(x, y, out=1.0), TypeError),
    (lambda: wave.total(x, out=out), TypeError),
]:
    try:
        call()
    except kind as error:
        print(type(error).__name__, error)
    else:
        raise SystemExit(f"{kind} was not raised")
"#;

const MAIN_OF_ROWS: &str = r#"
#include "rows.h"
int main(void)
{
    double x[3] = { 1.0, 2.0, 3.0 }, y[3] = { 0.5, 0.25, -1.0 }, z[3];
    uint8_t of_x[1] = { 0x5 << 2 }, of_z[1] = { 0xff };
    cembra_array a = { x, { 3 }, { 8 }, of_x, 2 }, b = { y, { 3 }, { 8 } }, made = { 0 }, lent = { z, { 3 }, { 8 }, of_z };
    cembra_error error;
    rows_type1 o = { 0, 0.0 };
    if (rows(&a, &b, o, &made, &error) != 0 || made.shape[0] != 3 || made.validity[0] != 0x5) return 1;
    if (((double *)made.data)[0] != 0.5 || ((double *)made.data)[2] != -3.0) return 2;
    rows_free(&made);
    o = (rows_type1){ 1, 8.0 };
    if (rows(&a, &b, o, &lent, &error) != 0 || lent.data != z || z[1] != 8.0 || of_z[0] != 0x7) return 3;
    /* A bitmap that begins within a byte, and memory where an argument lies. */
    lent.offset = 3;
    if (rows(&a, &b, (rows_type1){ 0 }, &lent, &error) != 0 || of_z[0] != (0x7 | 0x5 << 3)) return 4;
    lent = (cembra_array){ y, { 3 }, { 8 }, of_x, 0 };
    if (rows(&a, &b, o, &lent, &error) != 0 || y[0] != 0.5 || y[1] != 8.0 || y[2] != -3.0) return 5;
    lent.validity = 0;
    if (rows(&a, &b, o, &lent, &error) != CEMBRA_TYPE) return 6;
    a.offset = -1;
    if (rows(&a, &b, o, &made, &error) != CEMBRA_TYPE) return 7;
    return 0;
}
"#;

const CALLER_OF_ROWS: &str = r#"
import ctypes, rows

class Masked:
    def __init__(self, *rows):
        self.rows = (ctypes.c_double * len(rows))(*(row or 0.0 for row in rows))
        self.mask = [row is None for row in rows]
        self.__array_interface__ = {"shape": (len(rows),), "typestr": "<f8", "data": (ctypes.addressof(self.rows), False), "version": 3}

x, y, out = Masked(1.0, None, 3.0), [0.5, 0.25, -1.0], Masked(0.0, 0.0, 0.0)
made = rows.rows(x, y, None)
assert made.tolist() == [0.5, None, -3.0] and made.present == [True, False, True] and not hasattr(made, "__array_interface__")
assert made.values.__array_interface__["shape"] == (3,)
assert rows.rows(made, [None, 2.0, 1.0], 7.0).tolist() == [7.0, 7.0, -3.0]
assert rows.rows(x, y, 8.0).__array_interface__["typestr"] == "<f8"
assert rows.rows(x, y, None, out=out) is out and list(out.rows)[::2] == [0.5, -3.0] and out.mask == [False, True, False]
assert rows.there(x).tolist() == [True, None, True] and rows.there([]).tolist() == []
assert rows.chosen(x, [True, True, None]).tolist() == [1.0, None, None] and rows.chosen(x, rows.there(x)).tolist() == [1.0, None, 3.0]
assert rows.mean(x) == 2.0 and rows.mean([None]) is None
for call, kind in [
    (lambda: rows.rows(x, [1.0], None), ValueError),
    (lambda: rows.rows(x, y, None, out=y), TypeError),
    (lambda: rows.mean(1.0), TypeError),
]:
    try:
        call()
    except kind:
        pass
    else:
        raise SystemExit(f"{kind} was not raised")
"#;

fn cembra(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(args)
        .current_dir(folder)
        .env("CEMBRA_CACHE_DIR", folder.join("cache"))
        .output()
        .expect("the command starts")
}

/// What a program in Python prints that calls the library of a folder; nothing where there is no Python.
fn called_from_python(folder: &Path, program: &str) -> Option<String> {
    fs::write(folder.join("caller.py"), program).expect("it is written");
    let ran = Command::new("python3").arg("caller.py").current_dir(folder).output().ok()?;
    assert!(ran.status.success(), "{}", text(&ran));
    Some(text(&ran))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A header may be included several times, and from C++, without a warning.
#[test]
fn a_header_is_one_of_c_and_of_cpp() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    let source = "import math\n\ndef pair(n):\n    return n, (n * 0.5, n > 3)\n\ndef maybe(n):\n    x = None\n    if n > 3:\n        x = n\n    return x\n\n\
                  def polynomial(x):\n    return math.sin(x) + math.lgamma(x)\n\ndef delete(n):\n    return n + 1\n";
    fs::write(folder.join("f.py"), source).expect("it is written");
    let exports = ["pair(i64)", "maybe(i64)", "polynomial(f64)", "delete(i64)"];
    let exports: Vec<&str> = exports.iter().flat_map(|export| ["-e", *export]).collect();
    let built = cembra(&[&["build", "f.py", "-o", "out", "--name", "all"], &exports[..]].concat(), folder);
    assert!(built.status.success(), "{}", text(&built));
    let main = "#include \"all.h\"\n#include \"all.h\"\nint main(void)\n{\n    pair_type2 p;\n    maybe_type1 m;\n    double x;\n    int64_t n = 7, d = 0;\n    \
                void *values[2];\n    values[0] = &n;\n    values[1] = &d;\n    \
                return pair(4, &p, 0) == 0 && p._0 == 4 && p._1._0 == 2.0 && p._1._1 == 1 && maybe(4, &m, 0) == 0 && m.present \
                && polynomial(1.5, &x, 0) == 0 && x > 0.8 && delete_call(values, 0) == 0 && d == 8 ? 0 : 1;\n}\n";
    fs::write(folder.join("main.c"), main).expect("it is written");
    fs::write(folder.join("main.cpp"), main).expect("it is written");
    let mut compiled = 0;
    for (compiler, standard, file) in [
        ("cc", "c99", "main.c"),
        ("cc", "c17", "main.c"),
        ("c++", "c++98", "main.cpp"),
        ("c++", "c++20", "main.cpp"),
    ] {
        let warnings = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"];
        let mut command = Command::new(compiler);
        command.args(warnings).arg(format!("-std={standard}")).args([
            file,
            "out/liball.so",
            "-Iout",
            "-o",
            "main",
        ]);
        // Not every machine has a compiler of C++.
        let Ok(ended) = command.current_dir(folder).output() else { continue };
        assert!(ended.status.success(), "{standard}: {}", text(&ended));
        let ran = Command::new(folder.join("main")).env("LD_LIBRARY_PATH", ".").current_dir(folder).status();
        assert!(ran.expect("it runs").success(), "{standard}");
        compiled += 1;
    }
    assert!(compiled >= 2, "cargo needs a C compiler to link");
}

#[test]
fn a_library_is_called_from_c_and_from_python() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let exports = ["-e", "dot(f64[:], f64[:])", "-e", "split(i64)", "-e", "squares(i64)"];
    let built = cembra(&[&["build", "f.py", "-o", "out", "--name", "both"], &exports[..]].concat(), folder);
    assert!(built.status.success(), "{}", text(&built));
    assert_eq!(
        text(&built),
        "out/dot.c\nout/split.c\nout/squares.c\nout/both.h\nout/both.py\nout/libboth.so\n"
    );
    let out = folder.join("out");
    fs::write(out.join("main.c"), MAIN).expect("it is written");
    let compiled = Command::new("cc")
        .args(["-o", "main", "main.c", "libboth.so", "-Wall", "-Werror"])
        .current_dir(&out)
        .output();
    let compiled = compiled.expect("cargo needs a C compiler to link");
    assert!(compiled.status.success(), "{}", text(&compiled));
    let ran = Command::new(out.join("main")).env("LD_LIBRARY_PATH", &out).output().expect("it runs");
    assert!(ran.status.success(), "{:?}", ran.status);
    assert_eq!(text(&ran), "the array a has elements that are not one after the other\n");
    if let Some(printed) = called_from_python(&out, CALLER) {
        let lines = "ValueError below zero (line 9)\nOverflowError 1180591620717411303424 does not fit\n\
                     IndexError index 1 is out of bounds for axis 0 with size 1 (line 4)\n\
                     TypeError a: an array is needed, got list\n";
        assert_eq!(printed, lines);
    }
}

#[test]
fn expressions_on_arrays_are_called_from_c_and_from_python() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    let types = ["--type", "x=f64[:]", "--type", "y=NDARRAY_FLOAT64_N"];
    let expressions = ["-x", "wave=x*2.0 + math.exp(y)", "-x", "total=nd.sum(x)"];
    let built = cembra(&[&["build", "-o", "out"], &expressions[..], &types].concat(), folder);
    assert!(built.status.success(), "{}", text(&built));
    assert_eq!(text(&built), "out/wave.c\nout/total.c\nout/wave.h\nout/wave.py\nout/libwave.so\n");
    let out = folder.join("out");
    fs::write(out.join("main.c"), MAIN_OF_EXPRESSIONS).expect("it is written");
    let compiled = Command::new("cc")
        .args(["-o", "main", "main.c", "libwave.so", "-Wall", "-Werror"])
        .current_dir(&out)
        .output();
    let compiled = compiled.expect("cargo needs a C compiler to link");
    assert!(compiled.status.success(), "{}", text(&compiled));
    let ran = Command::new(out.join("main")).env("LD_LIBRARY_PATH", &out).output().expect("it runs");
    assert!(ran.status.success(), "{:?}", ran.status);
    let shape = "the memory for a result has another shape than the result";
    let sizes = "arrays that are computed together have different sizes";
    assert_eq!(text(&ran), format!("{shape}\n{sizes}\n"));
    if let Some(printed) = called_from_python(&out, CALLER_OF_EXPRESSIONS) {
        let others = "TypeError result: an array is needed, got float\nTypeError total gives no array to be made in out\n";
        assert_eq!(printed, format!("ValueError {sizes}\nValueError {shape}\n{others}"));
    }
    let refused = |args: &[&str]| text(&cembra(&[&["build", "-o", "out"], args].concat(), folder));
    assert!(refused(&["-x", "x*2.0", "--type", "x=f64[:]"]).contains("has not the form NAME=EXPR"));
    assert!(refused(&["-x", "f=x*", "--type", "x=f64[:]"]).contains("error[SYNTAX]"));
    assert!(refused(&["-x", "f=nd.sort(x)", "--type", "x=f64[:]"]).contains("nd.sort"));
    assert!(refused(&["-x", "f=x*2.0", "--type", "x=array"]).contains("array"));
    assert!(
        refused(&["-x", "f=x*2.0"])
            .contains("the leaf x of --expr \"f=x*2.0\" has no type: add --type 'x=f64'")
    );
    assert!(refused(&["-x", "f=x*2.0", "--type", "x=f64[:"]).contains("axes are written x=f64[:]"));
    let unread = refused(&["-x", "f=x*2.0", "--type", "x=f64[:]", "--type", "z=f64"]);
    assert!(unread.contains("--type of z: no expression has a leaf of this name"), "{unread}");
}

#[test]
fn rows_that_may_be_missing_are_called_from_c_and_from_python() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    let types = [
        "--type=x=DENSE_ARRAY_FLOAT64",
        "--type=y=DENSE_ARRAY_FLOAT64",
        "--type=o=OPTIONAL_FLOAT64",
        "--type=m=DENSE_ARRAY_UNIT",
    ];
    let expressions = [
        "--expr=rows=core.presence_or(x*y, o)",
        "--expr=mean=math.mean(x)",
        "--expr=there=core.has(x)",
        "--expr=chosen=core.presence_and(x, m)",
    ];
    let built = cembra(&[&["build", "-o", "out"], &expressions[..], &types].concat(), folder);
    assert!(built.status.success(), "{}", text(&built));
    let out = folder.join("out");
    fs::write(out.join("main.c"), MAIN_OF_ROWS).expect("it is written");
    let compiled = Command::new("cc")
        .args(["-o", "main", "main.c", "librows.so", "-Wall", "-Werror"])
        .current_dir(&out)
        .output();
    let compiled = compiled.expect("cargo needs a C compiler to link");
    assert!(compiled.status.success(), "{}", text(&compiled));
    let ran = Command::new(out.join("main")).env("LD_LIBRARY_PATH", &out).output().expect("it runs");
    assert!(ran.status.success(), "{:?}", ran.status);
    called_from_python(&out, CALLER_OF_ROWS);
}

const STRIDED: &str = "\
def put(a, x):
    a[0] = x

def pair(n):
    return None, n

def first(a):
    return a[0]
";

const CALLER_OF_STRIDED: &str = r#"
import ctypes, lib

class Strided:
    """Every `step`-th of these numbers."""
    def __init__(self, numbers, step=1, shape=None, mask=None, strides=None):
        self.all = (ctypes.c_double * len(numbers))(*numbers)
        count = len(range(0, len(numbers), abs(step)))
        first = 0 if step > 0 else 8 * (len(numbers) - 1)
        self.__array_interface__ = {"shape": shape or (count,), "typestr": "<f8", "data": (ctypes.addressof(self.all) + first, False),
                                    "strides": strides or (8 * step,), "version": 3}
        if mask is not None:
            self.mask = mask

def refused(call, kind, text):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise SystemExit(f"{kind} was not raised: {text}")

# Nothing is None, also inside of a tuple.
x = Strided([1.0, 2.0, 3.0])
assert lib.put(x, 5.0) is None and x.all[0] == 5.0 and lib.pair(3) == (None, 3)
# Results are made in memory with strides; what lies between stays.
x, y = Strided([1.0, 2.0, 3.0, 4.0, 5.0], 2), Strided([10.0, 20.0, 30.0])
for step, expected in [(2, [12.0, -1.0, 26.0, -1.0, 40.0]), (-2, [40.0, -1.0, 26.0, -1.0, 12.0])]:
    out = Strided([-1.0] * 5, step)
    assert lib.wave(x, y, out=out) is out and list(out.all) == expected, list(out.all)
lib.wave(x, y, out=x)
assert list(x.all) == [12.0, 2.0, 26.0, 4.0, 40.0]
out = Strided([-1.0] * 5, 2, mask=[False] * 3)
x = Strided([1.0, 2.0, 3.0, 4.0, 5.0], 2, mask=[False, True, False])
assert lib.rows(x, out=out) is out and list(out.all)[::4] == [2.0, 10.0] and out.mask == [False, True, False] and out.all[1] == -1.0
refused(lambda: lib.wave(y, y, out=Strided([0.0] * 3, shape=(3,), strides=(4,))), ValueError, "result: elements of the array share memory")
refused(lambda: lib.wave(y, y, out=Strided([0.0] * 3, shape=(3,), strides=(0,))), ValueError, "result: elements of the array share memory")
# A mask is not lost in silence.
refused(lambda: lib.first(x), ValueError, "a: elements are masked")
refused(lambda: lib.wave(y, x), ValueError, "y: elements are masked")
refused(lambda: lib.put(Strided([1.0], mask=True), 1.0), ValueError, "a: elements are masked")
refused(lambda: lib.wave(y, y, out=Strided([0.0] * 3, mask=[True, False, False])), ValueError, "result: elements are masked")
assert lib.first(Strided([7.0], mask=[False])) == 7.0 and lib.first(Strided([7.0], mask=False)) == 7.0
try:
    import numpy
except ImportError:
    raise SystemExit
masked = numpy.ma.masked_array([1.0, 2.0], [False, True])
refused(lambda: lib.first(masked), ValueError, "a: elements are masked")
assert lib.first(numpy.ma.masked_array([1.0, 2.0])) == 1.0 and lib.first(numpy.ma.masked_array([1.0, 2.0], [False, False])) == 1.0
assert lib.rows(masked).tolist() == [2.0, None]
out = numpy.zeros((3, 2))
lib.wave(numpy.arange(3.0), numpy.ones(3), out=out[:, 1])
assert out.tolist() == [[0.0, 1.0], [0.0, 3.0], [0.0, 5.0]]
"#;

#[test]
fn strides_masks_and_nothing_reach_python() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), STRIDED).expect("it is written");
    let exports = ["-e", "put(f64[:], f64)", "-e", "pair(i64)", "-e", "first(f64[:])"];
    let expressions = ["-x=wave=x*2.0 + y", "-x=rows=r*2.0"];
    let types = ["--type=x=f64[:]", "--type=y=f64[:]", "--type=r=DENSE_ARRAY_FLOAT64"];
    let build = ["build", "f.py", "-o", "out", "--name", "lib", "--layout", "strided"];
    let built = cembra(&[&build[..], &exports, &expressions, &types].concat(), folder);
    assert!(built.status.success(), "{}", text(&built));
    called_from_python(&folder.join("out"), CALLER_OF_STRIDED);
    // Without `--layout strided` elements stand one after the other, those of results, too.
    let build = ["build", "-o", "dense", "--name", "lib"];
    let built = cembra(&[&build[..], &expressions, &types].concat(), folder);
    assert!(built.status.success(), "{}", text(&built));
    let caller = "import ctypes, lib\n\
        class A:\n    def __init__(self, step):\n        self.all = (ctypes.c_double * 4)()\n        \
        self.__array_interface__ = {'shape': (2,), 'typestr': '<f8', 'data': (ctypes.addressof(self.all), False), 'strides': (step,), 'version': 3}\n\
        try:\n    lib.wave(A(8), A(8), out=A(16))\nexcept ValueError as error:\n    print(error)\n";
    if let Some(printed) = called_from_python(&folder.join("dense"), caller) {
        assert_eq!(printed, "result: the elements have to stand one after the other\n");
    }
}

const CALLER_OF_VALUES: &str = r#"
import ctypes, lib

assert lib.zip_(1) == 2 and lib.lambda_(3) == 2 and lib.sum(2**63 - 2) == 2**63 - 1 and lib.sum(None) is None

cells = (ctypes.c_double * 2)(1.0, 2.0)

class At:
    def __init__(self, **other):
        self.__array_interface__ = {"shape": (2,), "typestr": "<f8", "data": (ctypes.addressof(cells), False), "version": 3, **other}

assert lib.rows([2**31 - 2, None]).tolist() == [2**31 - 1, None]
for call, kind in [
    (lambda: lib.sum(2**63), OverflowError),
    (lambda: lib.rows([2**31]), OverflowError),
    (lambda: lib.rows([-(2**31) - 1, None]), OverflowError),
    (lambda: lib.group(lib.Edge.from_mapping([1, None, 0, 2**64], 2)), OverflowError),
    (lambda: lib.group(lib.Edge("mapping", [0, 0], 2**64 + 1)), OverflowError),
    (lambda: lib.first((2**64 + 7, 2.0)), OverflowError),
    (lambda: lib.first((1,)), TypeError),
    (lambda: lib.first((1, 2.0, 3.0)), TypeError),
    (lambda: lib.total(At(shape=(2**64,))), ValueError),
    (lambda: lib.total(At(shape=(2**61,))), ValueError),
    (lambda: lib.total(At(data=(0, False))), ValueError),
    (lambda: lib.total(At(data=None)), TypeError),
    (lambda: lib.total(At(strides=(2**64,), shape=(1,))), OverflowError),
    (lambda: lib.total(At(strides=(8, 8))), ValueError),
]:
    try:
        call()
    except kind:
        pass
    else:
        raise SystemExit(f"{kind} was not raised")
assert lib.first((7, 2.0)) == 7
assert lib.total(At()) == 3.0 and lib.total(At(data=(0, False), shape=(0,))) == 0.0
"#;

#[test]
fn python_values_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    let types = [
        "--type=n=OPTIONAL_INT64",
        "--type=r=DENSE_ARRAY_INT32",
        "--type=i=i64",
        "--type=e=DENSE_ARRAY_EDGE",
        "--type=t=tuple<INT64,FLOAT64>",
        "--type=a=f64[:]",
    ];
    let expressions = [
        "-x=zip=i + int64(1)",
        "-x=lambda=i - int64(1)",
        "-x=sum=n + int64(1)",
        "-x=rows=r + 1",
        "-x=group=edge.child_size(e)",
        "-x=first=core.get_nth(t, 0)",
        "-x=total=nd.sum(a)",
    ];
    let built =
        cembra(&[&["build", "-o", "out", "--name", "lib"], &expressions[..], &types].concat(), folder);
    assert!(built.status.success(), "{}", text(&built));
    let out = folder.join("out");
    called_from_python(&out, CALLER_OF_VALUES);
}

/// A build that comes to nothing leaves no library of another one beside its module.
#[test]
fn no_module_is_beside_the_library_of_another_build() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let build = |export: &str, more: &[&str]| {
        cembra(&[&["build", "f.py", "-o", "out", "--name", "lib", "-e", export], more].concat(), folder)
    };
    let library = folder.join("out/liblib.so");
    assert!(build("split(i64)", &[]).status.success() && library.is_file());
    let old = fs::read(&library).expect("the library");
    let module = fs::read_to_string(folder.join("out/lib.py")).expect("the module");
    // What answers questions, and makes nothing.
    let idle = folder.join("idle");
    fs::write(&idle, "#!/bin/sh\ncase \"$*\" in *-o*|*.c*) exit 0;; esac\nexec cc \"$@\"\n")
        .expect("it is written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&idle, executable).expect("it can be run");
    let failed = build("dot(f64[:], f64[:])", &["--compiler", idle.to_str().expect("a path")]);
    assert!(!failed.status.success() && text(&failed).contains("made no library"), "{}", text(&failed));
    assert!(!library.exists());
    fs::write(&library, &old).expect("it is written");
    assert!(build("dot(f64[:], f64[:])", &["--source-only"]).status.success() && !library.exists());
    // By hand it may still come to that.
    assert!(build("split(f64)", &[]).status.success());
    fs::write(folder.join("out/lib.py"), module).expect("it is written");
    let import = ["-c", "import lib"];
    if let Ok(ran) = Command::new("python3").args(import).current_dir(folder.join("out")).output() {
        assert!(!ran.status.success() && text(&ran).contains("build both again"), "{}", text(&ran));
    }
}

/// A compiler that answers questions as `cc`, and makes a library by these lines.
fn making(path: &Path, lines: &str) {
    let script = format!("#!/bin/sh\ncase \"$*\" in *.so*) ;; *) exec cc \"$@\";; esac\n{lines}\n");
    fs::write(path, script).expect("it is written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, executable).expect("it can be run");
}

/// A compiler that ends well has not made the library for that: what it made is loaded before that is said.
#[test]
fn what_is_no_library_of_the_functions_is_no_success() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let compiler = folder.join("compiler");
    let cut = "cc \"$@\" && size=$(wc -c < libboth.so) && head -c $((size * 2 / 3)) libboth.so > cut && mv cut libboth.so";
    for (lines, expected) in [
        ("echo no library > libboth.so", ""),
        (": > libboth.so", ""),
        ("echo 'int x;' | cc -shared -fPIC -o libboth.so -x c -", "no symbol split_abi"),
        ("sed -i 's/split_abi = [0-9]*/split_abi = 99/' split.c && cc \"$@\"", "made for version 99"),
        ("sed -i 's/split_signature\\[\\] = \"/&?/' split.c && cc \"$@\"", "takes and gives ?"),
        ("sed -i 's/dot_abi/dot_other/' dot.c && cc \"$@\"", "no symbol dot_abi"),
        (cut, "shorter than its headers say"),
    ] {
        making(&compiler, lines);
        let compiler = compiler.to_str().expect("UTF-8");
        let build =
            ["build", "f.py", "-o", "out/new", "--name", "both", "--makefile", "--compiler", compiler];
        let built =
            cembra(&[&build[..], &["-e", "split(i64)", "-e", "dot(f64[:], f64[:])"]].concat(), folder);
        let shown = text(&built);
        assert_eq!(built.status.code(), Some(1), "{lines}: {shown}");
        assert!(
            shown.contains("compiler made no library of ") && shown.contains(expected),
            "{lines}: {shown}"
        );
        assert!(!folder.join("out/new").exists(), "{lines}: nothing is left");
        // For a run, too; the interpreter runs it then.
        let run = ["function", "run", "f.py", "split", "--args", "[17]", "--tier", "native"];
        making(Path::new(compiler), &lines.replace("libboth", "libsplit").replace("dot", "split"));
        let ran = Command::new(env!("CARGO_BIN_EXE_cembra"))
            .args(run)
            .current_dir(folder)
            .env("CEMBRA_CACHE_DIR", folder.join("cache"))
            .env("CEMBRA_CC", compiler)
            .output()
            .expect("the command starts");
        let shown = text(&ran);
        assert!(
            shown.contains("[5,2,true]") && shown.contains("compiler made no library of split"),
            "{shown}"
        );
        assert_eq!(text(&cembra(&["cache", "list"], folder)), "", "{lines}");
    }
    // What others have in the folder stays.
    fs::create_dir(folder.join("kept")).expect("a folder");
    fs::write(folder.join("kept/notes"), "mine").expect("it is written");
    let build = ["build", "f.py", "-o", "kept", "-e", "split(i64)", "--compiler"];
    let failed = cembra(&[&build[..], &["no-such-compiler"]].concat(), folder);
    assert_eq!(failed.status.code(), Some(1));
    let left: Vec<_> = fs::read_dir(folder.join("kept")).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_budget_is_the_interpreters() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let run = ["function", "run", "f.py", "squares", "--args", "[100]", "--tier", "native", "--fuel", "10"];
    let ran = cembra(&run, folder);
    assert!(!ran.status.success(), "{}", text(&ran));
    assert!(
        text(&ran).contains("a library takes no budget") && text(&ran).contains("FUEL_EXHAUSTED"),
        "{}",
        text(&ran)
    );
}

#[test]
fn a_folder_builds_again_without_cembra() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let built = cembra(&["build", "f.py", "-o", "out dir", "-e", "split(i64)", "--makefile"], folder);
    assert!(built.status.success(), "{}", text(&built));
    assert!(text(&built).ends_with("out dir/build.sh\nout dir/Makefile\nout dir/libsplit.so\n"));
    let out = folder.join("out dir");
    let first = fs::read(out.join("libsplit.so")).expect("the library");
    fs::remove_file(out.join("libsplit.so")).expect("it goes");
    let again = Command::new("sh").arg("build.sh").current_dir(&out).output().expect("a shell");
    assert!(again.status.success(), "{}", text(&again));
    assert_eq!(fs::read(out.join("libsplit.so")).expect("the library"), first);
}

/// Arguments are values of their own: none lies in the memory of one that is changed. Elements of one memory that stand side by
/// side are separate, as columns and halves of a matrix.
#[test]
fn an_argument_in_memory_that_is_changed_is_refused() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    let source = "def shift(u, v):\n    for i in range(u.shape[0] - 1):\n        v[i + 1] = u[i]\n\n\n\
        def both(u, v):\n    for i in range(u.shape[0]):\n        v[i, 0] = u[i, 0]\n        u[i, 0] = 0.0\n";
    fs::write(folder.join("f.py"), source).expect("it is written");
    for layout in ["contiguous", "strided"] {
        let exports = ["-e", "shift(f64[:], f64[:])", "-e", "both(f64[:,:], f64[:,:])"];
        let build = ["build", "f.py", "-o", layout, "--name", "m", "--layout", layout];
        let built = cembra(&[&build[..], &exports].concat(), folder);
        assert!(built.status.success(), "{}", text(&built));
    }
    let program = "import array, m\n\
        memory = array.array('d', range(16))\n\
        class View:\n\
        \x20   def __init__(self, first, shape, strides=None):\n\
        \x20       data = (memory.buffer_info()[0] + 8 * first, False)\n\
        \x20       self.__array_interface__ = dict(shape=shape, typestr='<f8', data=data, version=3, strides=strides)\n\
        def call(function, *views):\n\
        \x20   memory[:] = array.array('d', range(16))\n\
        \x20   try:\n\
        \x20       function(*views)\n\
        \x20       print('called', sum(memory))\n\
        \x20   except TypeError as error: print(error)\n";
    let refused = "the array v shares memory with u, and is changed by the function\n";
    let calls = "call(m.shift, View(0, (4,)), View(0, (4,)))\n\
        call(m.shift, View(0, (4,)), View(3, (4,)))\n\
        call(m.shift, View(0, (4,)), View(4, (4,)))\n\
        call(m.shift, View(5, (0,)), View(4, (4,)))\n\
        call(m.both, View(0, (2, 2)), View(3, (2, 2)))\n";
    let Some(found) = called_from_python(&folder.join("contiguous"), &format!("{program}{calls}")) else {
        return;
    };
    let both = "the array u shares memory with v, and is changed by the function\n";
    assert_eq!(found, format!("{refused}{refused}called 105.0\ncalled 120.0\n{both}"));
    // Columns of a matrix of two, its halves, its odd and even rows; then those that share an element.
    let strided = "call(m.shift, View(0, (8,), (16,)), View(1, (8,), (16,)))\n\
        call(m.shift, View(7, (4,), (-16,)), View(0, (4,), (16,)))\n\
        call(m.both, View(0, (4, 2), (32, 8)), View(2, (4, 2), (32, 8)))\n\
        call(m.both, View(0, (2, 4), (64, 8)), View(4, (2, 4), (64, 8)))\n\
        call(m.both, View(0, (4, 3), (32, 8)), View(2, (4, 2), (32, 8)))\n\
        call(m.shift, View(0, (8,), (16,)), View(2, (7,), (16,)))\n";
    let found = called_from_python(&folder.join("strided"), &format!("{program}{calls}{strided}"));
    let lines = found.expect("Python is there");
    let lines: Vec<&str> = lines.lines().skip(5).collect();
    let is_called: Vec<bool> = lines.iter().map(|line| line.starts_with("called")).collect();
    assert_eq!(is_called, [true, true, true, true, false, false], "{lines:?}");
}

/// A product is rounded before it is added to, unless the caller allows that it is not.
#[test]
fn products_are_contracted_on_request() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), "def f(a, b, c):\n    return a * b - c\n").expect("it is written");
    let of_mode = |mode: &[&str], out: &str| {
        let build = ["build", "f.py", "-e", "f(f64, f64, f64)", "-x", "g=a*b - c", "-o", out, "--name", "m"];
        let types = ["--type", "a=f64", "--type", "b=f64", "--type", "c=f64"];
        let built = cembra(&[&build[..], &types, mode].concat(), folder);
        assert!(built.status.success(), "{}", text(&built));
        // The square of 1 + 2^-27 less all but its last bit.
        let program = "import m; x = 1 + 2.0**-27; print(m.f(x, x, 1 + 2.0**-26), m.g(x, x, 1 + 2.0**-26))";
        called_from_python(&folder.join(out), program)
    };
    let Some(strict) = of_mode(&[], "strict") else { return };
    assert_eq!(strict, "0.0 0.0\n");
    let contracted = of_mode(&["--float-mode", "contract"], "contracted").expect("Python is there");
    let [function, expression] = contracted.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{contracted}")
    };
    // An expression says that it has one rounding; a C compiler makes use of an instruction that there is.
    assert_eq!(expression, "5.551115123125783e-17");
    let has_fma = fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains(" fma "));
    assert_eq!(function, if has_fma { "5.551115123125783e-17" } else { function });
}

/// Sources are laid out by a tool only if somebody asks, and then by that tool or not at all.
#[test]
fn sources_are_formatted_on_request() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let tools = folder.join("tools");
    fs::create_dir(&tools).expect("a folder");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let build = |tool: &str, more: &[&str]| {
        fs::write(tools.join("clang-format"), format!("#!/bin/sh\n{tool}\n")).expect("it is written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(tools.join("clang-format"), executable).expect("it can be run");
        Command::new(env!("CARGO_BIN_EXE_cembra"))
            .args([&["build", "f.py", "-o", "out", "-e", "split(i64)"], more].concat())
            .current_dir(folder)
            .env("PATH", &path)
            .output()
            .expect("the command starts")
    };
    let tool = "echo '/* laid out */'; cat";
    let plain = build(tool, &[]);
    assert!(plain.status.success(), "{}", text(&plain));
    let source = fs::read_to_string(folder.join("out/split.c")).expect("the source");
    let formatted = build(tool, &["--format"]);
    assert!(formatted.status.success(), "{}", text(&formatted));
    let laid_out = fs::read_to_string(folder.join("out/split.c")).expect("the source");
    assert_eq!(laid_out, format!("/* laid out */\n{source}"));
    assert!(folder.join("out/libsplit.so").is_file());
    for (tool, expected) in
        [("echo 'no such style' >&2; exit 1", "no such style"), ("cat > /dev/null", "gave nothing")]
    {
        let failed = build(tool, &["--format"]);
        assert_eq!(failed.status.code(), Some(1));
        assert!(
            text(&failed).contains("clang-format: the formatter") && text(&failed).contains(expected),
            "{}",
            text(&failed)
        );
    }
    let no_tool = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["build", "f.py", "-o", "out", "-e", "split(i64)", "--format"])
        .current_dir(folder)
        .env("PATH", folder)
        .output()
        .expect("the command starts");
    assert!(text(&no_tool).contains("clang-format: the formatter cannot run"), "{}", text(&no_tool));
}

#[test]
fn what_cannot_be_built_is_said() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(
        folder.join("f.py"),
        "def f(n):\n    return n\n\ndef words(n):\n    return [n, n], n\n\ndef log(n):\n    return n\n\ndef r0(n):\n    return n\n\ndef mul_low(n):\n    return n\n",
    )
    .expect("it is written");
    let refused = |args: &[&str]| {
        let output = cembra(&[&["build", "f.py", "-o", "out"], args].concat(), folder);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        text(&output)
    };
    assert!(refused(&[]).contains("no function to build"));
    assert!(refused(&["-e", "g(i64)"]).contains("no file has a function g"));
    assert!(refused(&["-e", "f(text)"]).contains("is no type"));
    assert!(refused(&["-e", "f(i64, i64)"]).contains("f()"));
    for taken in ["log(i64)", "r0(i64)", "mul_low(i64)"] {
        assert!(refused(&["-e", taken]).contains("cannot name a function"), "{taken}");
    }
    assert!(refused(&["-e", "words(i64)"]).contains("has the type"), "a tuple with an array");
    assert!(refused(&["-e", "f(i64)", "--compiler", "no-such-compiler"]).contains("no C compiler"));
    let sources = cembra(&["build", "f.py", "-o", "sources", "-e", "f(i64)", "--source-only"], folder);
    assert_eq!(text(&sources), "sources/f.c\nsources/f.h\nsources/f.py\n");
}

/// A file longer than memory takes no room on a disk, and is not read.
#[test]
fn a_library_without_end_is_not_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let compiler = folder.join("compiler");
    making(&compiler, "truncate -s 1000G libsplit.so");
    let compiler = compiler.to_str().expect("UTF-8");
    let built = cembra(&["build", "f.py", "-o", "out", "-e", "split(i64)", "--compiler", compiler], folder);
    assert_eq!(built.status.code(), Some(1));
    assert!(text(&built).contains("it is longer than"), "{}", text(&built));
    let ran = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["function", "run", "f.py", "split", "--args", "[17]", "--tier", "native"])
        .current_dir(folder)
        .env("CEMBRA_CACHE_DIR", folder.join("cache"))
        .env("CEMBRA_CC", compiler)
        .output();
    let shown = text(&ran.expect("the command starts"));
    assert!(shown.contains("[5,2,true]") && shown.contains("it is longer than"), "{shown}");
}

/// Functions are called as their files are, and people build where their files are.
#[test]
fn no_source_is_replaced_by_what_is_made_of_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("split.py"), SOURCE).expect("it is written");
    for out in [".", "../", "other/.."].map(|out| out.replace("../", &format!("{}/", folder.display()))) {
        fs::create_dir_all(folder.join("other")).expect("a folder");
        let refused = cembra(&["build", "split.py", "-o", &out, "-e", "split(i64)"], folder);
        assert!(text(&refused).contains("this is a source of the build"), "{}", text(&refused));
        assert_eq!(refused.status.code(), Some(1));
        assert_eq!(fs::read_to_string(folder.join("split.py")).expect("it is there"), SOURCE);
        assert!(!folder.join("split.c").exists() && !folder.join("split.h").exists());
    }
    let named = cembra(&["build", "split.py", "-o", ".", "-e", "split(i64)", "--name", "made"], folder);
    assert!(named.status.success() && folder.join("libmade.so").is_file(), "{}", text(&named));
    assert_eq!(fs::read_to_string(folder.join("split.py")).expect("it is there"), SOURCE);
}

/// Whoever may read a cache may read its builds, and share them.
#[test]
fn builds_are_for_whom_the_umask_says() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    for (umask, of_folders, of_files) in [("022", 0o755, 0o644), ("077", 0o700, 0o600), ("002", 0o775, 0o664)]
    {
        let cache = folder.join(umask);
        let run = format!(
            "umask {umask}; exec '{}' function run f.py split --args '[17]' --tier native",
            env!("CARGO_BIN_EXE_cembra")
        );
        let ran = Command::new("sh")
            .args(["-c", &run])
            .current_dir(folder)
            .env("CEMBRA_CACHE_DIR", &cache)
            .output();
        assert_eq!(text(&ran.expect("a shell")), "[5,2,true]\n");
        let (mut next, mut looked_at) = (vec![cache], 0);
        while let Some(path) = next.pop() {
            let data = fs::metadata(&path).expect("it is there");
            let mode = data.permissions().mode() & 0o777;
            if data.is_dir() {
                assert_eq!(mode, of_folders, "{}: {mode:o}", path.display());
                next.extend(fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()));
            } else {
                // Libraries can be executed, as the linker says.
                assert_eq!(mode & 0o666, of_files, "{}: {mode:o}", path.display());
                looked_at += 1;
            }
        }
        assert!(looked_at >= 7, "{looked_at} files");
    }
}

/// A variable that is set and empty says nothing; those that change what a compiler makes are parts of the key.
#[test]
fn the_environment_of_a_compiler_is_known() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let built = |variables: &[(&str, &str)]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_cembra"))
            .args(["function", "run", "f.py", "split", "--args", "[17]", "--tier", "native"])
            .current_dir(folder)
            .env("CEMBRA_CACHE_DIR", folder.join("cache"))
            .envs(variables.iter().copied())
            .output();
        assert_eq!(text(&ran.expect("the command starts")), "[5,2,true]\n", "{variables:?}");
        text(&cembra(&["cache", "list"], folder)).lines().count()
    };
    assert_eq!(built(&[("CEMBRA_CC", ""), ("CC", "")]), 1);
    assert_eq!(built(&[]), 1);
    let headers = folder.join("headers");
    fs::create_dir(&headers).expect("a folder");
    // A header that is found before that of the system.
    fs::write(headers.join("math.h"), "#include_next <math.h>\n#define fmod(x, y) 7.0\n")
        .expect("it is written");
    assert_eq!(built(&[("CPATH", headers.to_str().expect("UTF-8"))]), 2);
    assert_eq!(built(&[("C_INCLUDE_PATH", headers.to_str().expect("UTF-8"))]), 3);
    assert_eq!(built(&[]), 3);
}

#[test]
fn the_cache_is_looked_at() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("f.py"), SOURCE).expect("it is written");
    let ran = cembra(&["function", "run", "f.py", "split", "--args", "[17]", "--tier", "native"], folder);
    assert_eq!(text(&ran), "[5,2,true]\n");
    let path = cembra(&["cache", "path"], folder);
    assert_eq!(text(&path), format!("{}\n", folder.join("cache").display()));
    let list = text(&cembra(&["cache", "list"], folder));
    assert!(list.ends_with(" split (INT64) -> tuple<INT64,INT64,BOOLEAN>\n"), "{list}");
    assert_eq!(text(&cembra(&["cache", "verify"], folder)), "1 of 1 builds are sound\n");
    // Another function, for this process alone.
    let run =
        ["function", "run", "f.py", "squares", "--args", "[3]", "--tier", "native", "--cache", "process"];
    let temporary = folder.join("temporary");
    fs::create_dir(&temporary).expect("a folder");
    let ran = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(run)
        .current_dir(folder)
        .env("CEMBRA_CACHE_DIR", folder.join("cache"))
        .env("TMPDIR", &temporary)
        .output()
        .expect("the command starts");
    assert_eq!(text(&ran), "[0,1,4]\n");
    assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
    assert_eq!(text(&cembra(&["cache", "verify"], folder)), "1 of 1 builds are sound\n");
    let program = fs::read_dir(folder.join("cache/v1")).expect("a folder").flatten().find_map(|group| {
        let builds = fs::read_dir(group.path()).ok()?.flatten();
        builds.map(|build| build.path().join("program.txt")).find(|path| path.is_file())
    });
    let program = program.expect("the program of the build");
    fs::write(&program, "cut").expect("it is written");
    let verified = cembra(&["cache", "verify"], folder);
    let place = program.parent().expect("the build").display();
    assert_eq!(verified.status.code(), Some(1));
    assert_eq!(
        text(&verified),
        format!("damaged: {place}: program.txt: its size differs\n0 of 1 builds are sound\n")
    );
    // What others have written commands no terminal.
    let json = program.with_file_name("build.json");
    let told =
        fs::read_to_string(&json).expect("it is there").replace("\"split\"", "\"\\u001b[31m\\nsplit\"");
    fs::write(&json, told).expect("it is written");
    for command in ["list", "verify"] {
        let shown = text(&cembra(&["cache", command], folder));
        assert!(!shown.contains('\u{1b}') && shown.lines().count() <= 2, "{shown}");
    }
    assert!(text(&cembra(&["cache", "list"], folder)).contains("\u{fffd}[31m\u{fffd}split"));
    assert_eq!(text(&cembra(&["cache", "clear"], folder)), "1 builds removed\n");
    assert_eq!(text(&cembra(&["cache", "list"], folder)), "");
}
