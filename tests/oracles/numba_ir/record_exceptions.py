#!/usr/bin/env python3
"""Records what CPython gives for functions with `try`: record_exceptions.py OUT [COUNT [SEED]].

Lines of a table, and COUNT random functions. Integers stay small, so that they fit 64 bits.
"""

import copy
import json
import math
import random
import sys

from record_random import written

IMPORTS = "import math\n"
CASES = []


def case(source, *calls):
    CASES.append((source, calls))


def A(*items):
    return [float(item) for item in items]

case("""
def f(n):
    try:
        x = 1
        y = 10 // n
        x = 2
        y = y // (n - 1)
        x = 3
    except ZeroDivisionError:
        return x, n
    return x, y
""", (0,), (1,), (2,))

case("""
def f(n, a):
    try:
        if n == 0: x = 1 // n
        elif n == 1: x = int(a[n + 5])
        elif n == 2: x = {1: 2}[n]
        elif n == 3: x = 1 << -n
        elif n == 4: x = int(math.sqrt(-n))
        elif n == 5: x = int(float("inf")) if False else int(math.inf)
        elif n == 6: raise RuntimeError("six")
        elif n == 7: raise NotImplementedError
        elif n == 8: assert n < 5, "large"
        elif n == 9: x = y
        elif n == 10: x = ord(chr(-n))
        elif n == 11: raise StopIteration("x")
        else: x = n; y = 1
    except ZeroDivisionError:
        return 100
    except IndexError:
        return 101
    except LookupError:
        return 102
    except OverflowError:
        return 105
    except (ValueError, AssertionError):
        return 103
    except RuntimeError:
        return 106
    except NameError:
        return 109
    except Exception:
        return 111
    else:
        x += 1000
    return x
""", *[(n, A(1.0, 2)) for n in range(13)])

case("""
def f(n):
    t = 0
    for i in range(n):
        try:
            t += 100 // (i - 2)
            if i == 5:
                break
            t += 1
        except ZeroDivisionError:
            t += 1000
            continue
        else:
            t += 7
        finally:
            t += 100000
        t += 3
    else:
        t = -t
    return t
""", (0,), (3,), (4,), (10,))

case("""
def f(n):
    s = 0
    try:
        s += 1
        try:
            s += 10
            s += 10 // n
        except IndexError:
            s += 100
        except ValueError:
            s += 200
        finally:
            s += 1000
        s += 10000
    except ArithmeticError:
        s += 100000
    return s
""", (0,), (3,))

case("""
def f(n):
    try:
        return 10 // n
    finally:
        n += 1
""", (0,), (5,))

case("""
def f(n):
    try:
        return 10 // n
    finally:
        return n + 1
""", (0,), (5,))

case("""
def f(n):
    while True:
        try:
            n -= 1
            if n < 0:
                return n
            if n % 2:
                continue
            if n == 4:
                break
            n //= n - 8
        except ZeroDivisionError as e:
            n = 100 // (n - 8)
        finally:
            n -= 1
    return n * 1000
""", (3,), (6,), (9,), (20,))

case("""
def f(n):
    try:
        try:
            x = 1 // n
        except ZeroDivisionError as e:
            if n == 0:
                raise
            x = 2
    except ArithmeticError:
        return -1
    return x
""", (0,), (1,))

case("""
def f(n):
    try:
        x = [1, 2][n]
    except IndexError as error:
        try:
            x = 1 // (n - 5)
        except ZeroDivisionError:
            x = 7
        raise error
    return x
""", (0,), (5,), (6,))

case("""
def g(n):
    if n == 0:
        raise ValueError("zero")
    if n == 1:
        return 1 // (n - 1)
    return n
def f(n):
    try:
        return g(n)
    except ValueError:
        return -1
""", (0,), (1,), (2,))

case("""
def g(n, a):
    a[n] = float(n)
    if n == 0:
        raise ValueError("zero")
    if n < 0:
        return 5
    return g(n - 1, a) + 1
def f(n, a):
    b = 0
    try:
        b = g(n, a)
        b += 1
    except ValueError:
        return b, a[0] + 100
    except IndexError:
        b = 50
    return b, a[0]
""", (2, A(9.0, 8, 7)), (5, A(9.0, 8, 7)), (-1, A(9.0, 8, 7)))

case("""
def g(n):
    try:
        if n == 0:
            return 1 // n
        return g(n - 1) * 2
    except ZeroDivisionError:
        return 5
    finally:
        n = 3
def h(n):
    try:
        if n == 0:
            return 1 // n
        return h(n - 1) * 2
    except ZeroDivisionError:
        if n > 2:
            return 7
        raise
def f(n):
    return g(n) * 1000 + h(n)
""", (0,), (2,), (5,))

case("""
def g(n):
    if n == 0:
        return 0
    try:
        m = g(n - 1)
        return 12 // (m - 3)
    except ZeroDivisionError:
        try:
            return [4][n]
        except IndexError:
            pass
        raise
    except IndexError:
        return n
def f(n):
    try:
        return g(n)
    except ArithmeticError:
        return -n
""", (0,), (1,), (2,), (3,), (4,), (5,), (6,))

case("""
def f(n):
    try:
        if n:
            x = 1
        return x
    except UnboundLocalError:
        return -1
""", (0,), (1,))

case("""
def f(n):
    x = 1
    try:
        del x
        y = 1 // n
        x = 2
    except ZeroDivisionError:
        x = x
    return x
""", (0,), (1,))

case("""
def f(n):
    e = 5
    try:
        n = 1 // n
    except ZeroDivisionError as e:
        pass
    return e
""", (0,), (1,))

case("""
def f(n, a):
    s = 0.0
    for i in range(n):
        try:
            s += a[i]
            a[i] = s
        except IndexError:
            break
    return s
""", (2, A(1.0, 2, 3)), (9, A(1.0, 2, 3)))

case("""
def f(n, a):
    try:
        a[0] = a[1] + 1
        a[n] = a[0] + 1
    except IndexError:
        return a[0] + a[1]
    return a[0]
""", (1, A(1.0, 2, 3)), (9, A(1.0, 2, 3)), (-9, A(1.0, 2, 3)))

case("""
def f(n):
    count = 0
    total = 0
    d = {}
    for i in range(n):
        k = i % 4
        try:
            d[k] += 1
        except KeyError:
            d[k] = 1
            count += 1
        total += d[k]
    return count, total, len(d)
""", (0,), (3,), (11,))

case("""
def f(n):
    x = 0
    try:
        u = [10 // (i - n) for i in range(4)]
        x = sum(u)
    except ZeroDivisionError:
        x = -1
    except Exception:
        x = -2
    return x
""", (2,), (7,))

case("""
def gen(n):
    for i in range(n):
        yield 10 // (i - 3)
def f(n):
    t = 0
    try:
        for v in gen(n):
            t += v
            if t < -20:
                raise ValueError("low")
    except ZeroDivisionError:
        t += 1000
    except ValueError:
        t += 2000
    return t
""", (2,), (3,), (6,))

case("""
def f(n):
    def inner(k):
        nonlocal n
        n += k
        return 10 // k
    try:
        t = inner(2)
        t += inner(n - 5)
    except ZeroDivisionError:
        t = -n
    return t, n
""", (3,), (5,))

case("""
def f(n):
    try:
        assert n > 0, "positive"
        return 1
    except AssertionError:
        raise ValueError("n")
""", (0,), (1,))

case("""
def f(n):
    try:
        raise SystemError("s")
    except (TypeError, OSError):
        return 1
    except ():
        return 2
""", (0,))

case("""
def f(n):
    try:
        x = 5
    except Exception:
        x = 6
    else:
        x = 10 // n
    return x
""", (0,), (2,))

case("""
def f(n):
    x = 0
    for i in range(3):
        try:
            try:
                if i == n:
                    continue
                x += 10 // (i - 1)
            finally:
                x += 100
                if n == 7:
                    break
        except ZeroDivisionError:
            x += 1000
    return x
""", (0,), (1,), (5,), (7,))

case("""
def f(n, a):
    try:
        t = a[2:][n]
        m = min([x for x in a if x > n])
    except ValueError:
        return -1.0
    except IndexError:
        return -2.0
    return t + m
""", (-1, A(1.0, 2, 3)), (0, A(1.0, 2, 3)), (5, A(1.0, 2, 3)), (2, A(1.0, 1, 2, 2, 2)))

case("""
def f(n):
    a = 1
    b = 2
    for i in range(n):
        try:
            a, b = b, 12 // (a - 2)
        except ZeroDivisionError:
            a, b = b + 1, a
    return a, b
""", (0,), (1,), (2,), (3,), (6,))


class Functions:
    """Random functions."""

    CLASSES = ["ZeroDivisionError", "IndexError", "ValueError", "KeyError", "ArithmeticError", "LookupError", "Exception",
               "NameError", "RuntimeError", "(ValueError, IndexError)", "(KeyError, ZeroDivisionError)", ""]
    RAISED = ["ValueError", "RuntimeError", "KeyError", "ZeroDivisionError", "OSError"]

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []

    def pick(self, *items):
        return self.random.choice(items)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def add(self, depth, line):
        self.lines.append("    " * depth + line)

    def expr(self, level=0):
        kind = self.random.randrange(12 if level < 2 else 3)
        inner = lambda: self.expr(level + 1)
        match kind:
            case 0 | 1:
                return self.pick(*self.names)
            case 2:
                return str(self.random.randrange(-2, 6))
            case 3 | 4:
                return f"({inner()} {self.pick('+', '-')} {inner()})"
            case 5:
                return f"({inner()} {self.pick('//', '%')} {inner()})"
            case 6 if self.has_array:
                return f"int(a[{inner()}])"
            case 7 if self.has_array:
                return f"d[{inner()}]"
            case 8 if self.callees:
                return f"{self.pick(*self.callees)}({inner()} % 5)"
            case 9:
                return f"({inner()} if {self.condition()} else {inner()})"
            case 10:
                return f"(1 << {self.pick(*self.names)} % 7 - 1)"
            case _:
                return f"({inner()} * 3)"

    def condition(self):
        return f"{self.pick(*self.names)} {self.pick('<', '==', '>', '!=')} {self.random.randrange(-2, 6)}"

    def block(self, depth, size, **where):
        for _ in range(self.random.randrange(1, size + 1)):
            self.statement(depth, **where)

    def statement(self, depth, loop=False, handler=False, finish=False):
        where = {"loop": loop, "handler": handler, "finish": finish}
        kind = self.random.randrange(17 if depth < 3 else 8)
        name = self.pick(*self.names)
        match kind:
            case 0 | 1 | 2:
                self.add(depth, f"{name} = {self.expr()} % 50")
            case 3:
                self.add(depth, f"{name} += {self.expr()} % 9")
            case 4 if self.has_array:
                self.add(depth, self.pick(f"a[{self.expr(1)}] = float({self.expr()} % 50)", f"d[{self.expr(1)} % 4] = {self.expr()} % 20"))
            case 5 if handler and not finish and self.chance(60):
                self.add(depth, "raise")
            case 6 if loop and self.chance(60):
                self.add(depth, f"if {self.condition()}: {self.pick('break', 'continue')}")
            case 7:
                self.add(depth, f"if {self.condition()}: raise {self.pick(*self.RAISED)}('r')")
            case 8 | 9:
                self.add(depth, f"if {self.condition()}:")
                self.block(depth + 1, 2, **where)
                if self.chance(50):
                    self.add(depth, "else:")
                    self.block(depth + 1, 2, **where)
            case 10 | 11:
                self.counter += 1
                self.add(depth, f"for i{self.counter} in range({self.pick(*self.names)} % 4):")
                self.names.append(f"i{self.counter}") if self.chance(12) else None
                self.block(depth + 1, 3, loop=True, handler=handler, finish=finish)
            case 12 if self.chance(40):
                self.add(depth, f"if {self.condition()}: return {self.result()}")
            case _ if depth < 3:
                self.attempt(depth, loop, handler, finish)
            case _:
                self.add(depth, f"{name} = {self.expr(1)} % 7")

    def attempt(self, depth, loop, handler, finish):
        self.add(depth, "try:")
        self.block(depth + 1, 4, loop=loop, handler=handler, finish=finish)
        count = self.pick(0, 1, 1, 1, 2, 3)
        classes = sorted((self.pick(*self.CLASSES) for _ in range(count)), key=lambda name: not name)
        for number, name in enumerate(classes):
            if not name and number + 1 < len(classes):
                continue
            self.add(depth, f"except {name}:" if name else "except:")
            self.block(depth + 1, 2, loop=loop, handler=True, finish=False)
        if count and self.chance(30):
            self.add(depth, "else:")
            self.block(depth + 1, 2, loop=loop, handler=handler, finish=finish)
        if not count or self.chance(25):
            self.add(depth, "finally:")
            self.block(depth + 1, 2, loop=loop and self.chance(30), handler=handler, finish=True)

    def result(self):
        return ", ".join(f"{name} % 1000" for name in self.names[:3]) if self.has_array else f"{self.names[0]} % 1000"

    def function(self, name, parameters, callees, has_array):
        self.names, self.callees, self.has_array = [*parameters, "z"], callees, has_array
        self.counter = 0
        self.add(0, f"def {name}({', '.join(parameters)}{', a' if has_array else ''}):")
        self.add(1, f"{'' if self.chance(85) else 'if x > 0: '}z = {self.random.randrange(4)}")
        if has_array:
            self.add(1, "d = {0: 5, 1: 7}")
        if name == "r":
            self.add(1, f"if x < 1: {self.pick('return x', 'raise ValueError(2)', 'return 3 // x', 'return x + 1')}")
            self.add(1, "if x > 100: return 1")
            self.callees = []
            if self.chance(60):
                self.add(1, "try:")
                self.add(2, "x = r(x - 1) + 1")
                self.add(1, f"except {self.pick('ValueError', 'ArithmeticError', 'Exception')}:")
                self.block(2, 2, loop=False, handler=True, finish=False)
            else:
                self.add(1, "x = r(x - 1) + 1")
        self.block(1, 6 if has_array else 3)
        self.add(1, f"return {self.result()}")

    def module(self):
        self.function("g", ["x"], [], False)
        self.function("r", ["x"], [], False)
        self.function("f", ["x", "y"], ["g", "r"], True)
        return "\n".join(self.lines) + "\n"


def record(source, args):
    module = {"math": math}
    exec(source, module)
    run, args = {"args": [written(value) for value in args]}, copy.deepcopy(args)
    try:
        value = module["f"](*args)
    except Exception as error:
        return run | {"cpython": {"outcome": "raise", "exc": type(error).__name__}}
    arrays = [written(value) for value in args if type(value) is list]
    return run | {"cpython": {"outcome": "return", "value": written(value), "arrays_after": arrays}}


def main():
    count, seed = (int(sys.argv[2]) if len(sys.argv) > 2 else 150), (int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    cases = []
    for number, (source, calls) in enumerate(CASES):
        source = IMPORTS + source.lstrip("\n")
        cases.append({"id": f"exception.{number}", "source": source, "runs": [record(source, args) for args in calls]})
    for number in range(count):
        source = Functions(seed * 100_000 + number).module()
        calls = [(x, y, A(1.0, 2.0, 3.0)) for x, y in ((0, 0), (1, 3), (4, 2))]
        cases.append({"id": f"random.{number}", "source": source, "runs": [record(source, args) for args in calls]})
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
