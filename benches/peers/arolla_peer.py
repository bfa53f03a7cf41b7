"""Arolla's dynamic evaluator on chain100 and chain1000: compilation and frame-only evaluation.

    python3 -m venv venv && venv/bin/pip install arolla && venv/bin/python benches/peers/arolla_peer.py

A call from Python costs far more than a small program. The time per operator is therefore the slope
between a chain of 10 operators and a longer one; the call itself is reported beside it.
"""

import importlib.metadata
import statistics
import time

from arolla import arolla

ROUNDS = 21


def chain(operators):
    """acc = x; repeat: acc = acc*x; acc = acc + k_i."""
    acc = x = arolla.L.x
    for i in range(operators // 2):
        acc = acc * x + arolla.float64(0.3 + 0.001 * i)
    return acc


def native(operators, x):
    acc = x
    for i in range(operators // 2):
        acc = acc * x + (0.3 + 0.001 * i)
    return acc


def median_ns(run, calls):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(calls):
            run()
        times.append((time.perf_counter_ns() - start) / calls)
    return statistics.median(times)


def measure(operators):
    """Nanoseconds of one compilation and of one call."""
    expr = chain(operators)
    types = {"x": arolla.FLOAT64}
    compile_ns = median_ns(lambda: arolla.abc.CompiledExpr(expr, types), 1)
    compiled = arolla.abc.CompiledExpr(expr, types)
    x = arolla.float64(0.7)
    assert float(compiled(x)) == native(operators, 0.7)
    return compile_ns, median_ns(lambda: compiled(x), 20_000 if operators <= 100 else 2_000)


def main():
    print("arolla", importlib.metadata.version("arolla"), "(Apache-2.0)")
    _, base = measure(10)
    print("| workload | call ns | ns/operator | compile ns/operator |")
    print("| --- | --: | --: | --: |")
    for operators in (100, 1000):
        compile_ns, call = measure(operators)
        slope = (call - base) / (operators - 10)
        print(f"| chain{operators} | {call:.0f} | {slope:.1f} | {compile_ns / operators:.0f} |")


if __name__ == "__main__":
    main()
