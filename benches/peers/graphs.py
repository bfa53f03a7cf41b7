"""Graphs side by side: Cembra, the published engine and numpy by hand in one run, one thread.

    cargo build --release --manifest-path benches/peers/Cargo.toml --bin graphs
    python3 -m venv venv && venv/bin/pip install civic-digital-twins numpy numexpr
    venv/bin/python benches/peers/graphs.py

Engines take turns within a round. Times are processor microseconds of an evaluation, the smallest and the median of
all rounds; ratios are those of the medians to Cembra's. numpy writes into arrays that are allocated once.
"""

import os
import time

for name in ("OMP_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
    os.environ[name] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numexpr
import numpy as np
from civic_digital_twins.dt_model.engine.frontend import graph, linearize
from civic_digital_twins.dt_model.engine.numpybackend import executor

from program import Program, print_rows, take_turns

T, E, S = 101, 101, 84


def engine_call(roots, values):
    plan = linearize.forest(*roots)

    def call():
        state = executor.State(dict(values))
        executor.evaluate_nodes(state, *plan)
        return [state.get_node_value(root) for root in roots]

    return call


def chain(nodes):
    x, y = np.arange(20.0), 1 / (np.arange(20.0) + 2)
    gx, gy = graph.placeholder("x"), graph.placeholder("y")
    top = gx
    for node in range(nodes):
        top = top * gy if node % 2 == 0 else top + gx
    out = np.empty(20)

    def numpy():
        np.copyto(out, x)
        for node in range(nodes):
            np.multiply(out, y, out=out) if node % 2 == 0 else np.add(out, x, out=out)
        return [out]

    return {"engine": engine_call([top], {gx: x, gy: y}), "numpy": numpy}


def running():
    a, b = np.asarray(4), np.asarray(2)
    ga, gb = graph.placeholder("a"), graph.placeholder("b")
    c = graph.exp(ga) + 55 / ga
    d = c * gb + 1024
    e = graph.power(ga, c) * 144

    def numpy():
        c = np.add(np.exp(a), np.divide(55, a))
        d = np.add(np.multiply(c, b), 1024)
        return [np.multiply(np.power(a, c), 144), d, c]

    return {"engine": engine_call([e, d, c], {ga: a, gb: b}), "numpy": numpy}


def arith6():
    count = 1_000_000
    a, b = np.arange(count) / 1e6, 1 - np.arange(count) / 3e6
    ga, gb = graph.placeholder("a"), graph.placeholder("b")
    root = (ga * gb + 2.0) / (ga + 1.0) - gb * 0.5
    out, scratch = np.empty(count), np.empty(count)

    def numpy():
        np.multiply(a, b, out=out)
        np.add(out, 2.0, out=out)
        np.add(a, 1.0, out=scratch)
        np.divide(out, scratch, out=out)
        np.multiply(b, 0.5, out=scratch)
        return [np.subtract(out, scratch, out=out)]

    def with_numexpr():
        return [numexpr.evaluate("(a*b+2)/(a+1)-b*0.5", {"a": a, "b": b}, out=out)]

    return {"engine": engine_call([root], {ga: a, gb: b}), "numpy": numpy, "numexpr": with_numexpr}


def overtourism():
    tourists, others = (50.0 * np.arange(T)).reshape(T, 1, 1), (40.0 * np.arange(E)).reshape(1, E, 1)
    weather = np.array(["good", "unsettled", "bad"] * S)[:S].reshape(1, 1, S)
    season = np.array(["high", "low"] * S)[:S].reshape(1, 1, S)
    index = (0.5 + np.arange(S) / S).reshape(1, 1, S)
    gt, ge = graph.placeholder("tourists"), graph.placeholder("excursionists")
    gw, gs = graph.placeholder("weather"), graph.placeholder("season")
    values, roots, parameters = {gt: tourists, ge: others, gw: weather, gs: season}, [], []
    for number, (each, share) in enumerate([(2.5, 0.9), (1.0, 0.6), (1.05, 0.3), (3.0, 0.8)]):
        gi = graph.placeholder(f"index {number}")
        values[gi] = index
        good, high = gw == graph.constant("good"), gs == graph.constant("high")
        of_tourists = graph.multi_clause_where([(good, graph.constant(share))], graph.constant(share / 2))
        of_others = graph.multi_clause_where([(high, graph.constant(0.7))], graph.constant(share))
        roots.append((gt * of_tourists * gi + ge * of_others * gi) / each)
        parameters.append((each, share))
    outs, scratch = [np.empty((T, E, S)) for _ in roots], np.empty((1, E, S))

    def numpy():
        good, high = weather == "good", season == "high"
        for out, (each, share) in zip(outs, parameters):
            left = tourists * np.where(good, share, share / 2) * index
            np.multiply(others * np.where(high, 0.7, share), index, out=scratch)
            np.add(left, scratch, out=out)
            np.divide(out, each, out=out)
        return outs

    return {"engine": engine_call(roots, values), "numpy": numpy}


def elapsed(run, times):
    start = time.thread_time_ns()
    for _ in range(times):
        run()
    return time.thread_time_ns() - start


def main():
    workloads = {
        "chain20": chain(20),
        "chain120": chain(120),
        "running": running(),
        "overtourism": overtourism(),
        "arith6": arith6(),
    }
    cembra = Program("graphs")
    print("| workload | engine | smallest | median | x Cembra |")
    print("| --- | --- | --: | --: | --: |")
    for name, peers in workloads.items():
        results = [call() for call in peers.values()]
        for other in results[1:]:
            for left, right in zip(results[0], other):
                np.testing.assert_allclose(left, right, rtol=1e-14)
        engines = {"cembra": lambda times, name=name: cembra.elapsed(name, times)}
        for engine, run in peers.items():
            engines[engine] = lambda times, run=run: elapsed(run, times)
        print_rows(name, take_turns(engines), 1e3)


if __name__ == "__main__":
    main()
