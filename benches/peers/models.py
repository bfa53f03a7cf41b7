"""Models and fits side by side: Cembra's figures and the published system, one thread.

    cargo bench --bench models
    python3.13 -m venv venv && venv/bin/pip install trspecfit==0.20.0
    venv/bin/python benches/peers/models.py

Cembra's times are the medians that its bench has left behind; run both one after the other on an idle machine.
Those of the published system are medians of processor time. Models, axes, data and starts are those of
benches/models.rs. "warm": memory of earlier evaluations is used again, by Cembra a frame, by Python what its
allocator keeps if it is told to keep large arrays. "fresh": memory is new each time, by Cembra a new frame, by Python
arrays that the system maps and clears. The second regime runs in a process of its own.
"""

import contextlib
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["MPLBACKEND"] = "Agg"

import numpy as np

ROUNDS = 15
PEAKS = """
m:
    Offset:
        y0: [2, True, 0, 5]
    Shirley:
        pShirley: [4.0E-4, False]
    GLP:
        A: [20, True, 5, 25]
        x0: [84.5, True, 82, 88]
        F: [1.0, True, 0.75, 2.5]
        m: [0.3, True, 0, 1]
    GLP:
        A: [17, True, 5, 25]
        x0: [88.1, True, 82, 92]
        F: [1.0, True, 0.75, 2.5]
        m: [0.3, True, 0, 1]
"""
VOIGT = """
    Voigt:
        A: [14, True, 5, 25]
        x0: [86.2, True, 82, 92]
        SD: [0.4, True, 0.05, 2]
        W: [0.5, True, 0.05, 2]
"""
HEADLINE = """
m:
    LinBack:
        m: [0.1, False]
        b: [2.0, False]
        xStart: [81, False]
        xStop: [91, False]
    GLP:
        A: [20, True, 5, 60]
        x0: [84.5, True, 82, 88]
        F: [1.0, False, 0.75, 2.5]
        m: [0.3, False, 0, 1]
"""
RESPONSE = "    gaussCONV:\n        SD: [1.5, True, 0.1, 5]\n"
DECAY = (
    "decay:\n{response}    expFun:\n        A: [{A}]\n        tau: [{tau}, True, 0.05, 200.0]\n        t0: [0.0, False]\n"
)
ENERGY = np.linspace(80, 92, 400)
TIME = np.linspace(-10, 100, 440)


def opened(folder, energy_yaml, decay, target, data):
    """A file of the published system with the model, and the model."""
    from trspecfit import File, Project

    (folder / "energy.yaml").write_text(energy_yaml)
    (folder / "time.yaml").write_text(decay)
    project = Project(path=str(folder), config_file=None)
    project.show_output = 0
    axes = {"energy": ENERGY} if data.ndim == 1 else {"energy": ENERGY, "time": TIME}
    file = File(parent_project=project, path=str(folder), data=data, **axes)
    model = file.load_model("energy.yaml", "m")
    if target:
        file.add_time_dependence("m", target, "time.yaml", "decay")
    return file, model


def evaluator(folder, peaks, response, target):
    from trspecfit import eval_1d, eval_2d, graph_ir

    data = np.zeros((440, 400) if target else 400)
    decay = DECAY.format(response=response, A="1.0, True", tau="10.0")
    model = opened(folder, peaks, decay, target, data)[1]
    graph = graph_ir.build_graph(model)
    if target:
        plan, evaluate = graph_ir.schedule_2d(graph), eval_2d.evaluate_2d
    else:
        plan, evaluate = graph_ir.schedule_1d(graph), eval_1d.evaluate_1d
    initial = {node.name: node.value for node in graph.nodes}
    theta = np.array([initial[name] for name in plan.opt_param_names])
    return lambda: evaluate(plan, theta)


def median_us(call, rounds=ROUNDS):
    call()
    calls = 1
    while True:
        start = time.process_time()
        for _ in range(calls):
            call()
        if time.process_time() - start > 0.05:
            break
        calls *= 2
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            call()
        times.append((time.process_time() - start) / calls * 1e6)
    return statistics.median(times)


MODELS = (
    ("1d", PEAKS, "", None),
    ("2d amplitude", PEAKS, "", "GLP_01_A"),
    ("2d position", PEAKS, "", "GLP_01_x0"),
    ("2d voigt", PEAKS + VOIGT, RESPONSE, "Voigt_01_x0"),
)


def evaluations():
    times = {}
    for name, *model in MODELS:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            times[name] = median_us(evaluator(pathlib.Path(folder), *model))
    return times


def headline_data(folder):
    """The spectrum somewhere else, with multiples of the golden ratio as noise."""
    from trspecfit import eval_2d, graph_ir

    decay = DECAY.format(response="", A="4.0, True, -30, 30", tau="8.0")
    model = opened(folder, HEADLINE, decay, "GLP_01_A", np.zeros((440, 400)))[1]
    plan = graph_ir.schedule_2d(graph_ir.build_graph(model))
    truth = {
        "GLP_01_A": 21.3,
        "GLP_01_x0": 84.42,
        "GLP_01_A_expFun_01_A": 5.5,
        "GLP_01_A_expFun_01_tau": 6.1,
    }
    theta = np.array([truth[name] for name in plan.opt_param_names])
    noise = np.modf(np.arange(176000) * 0.6180339887498949)[0] - 0.5
    data = eval_2d.evaluate_2d(plan, theta) + (0.3 * np.sqrt(12) * noise).reshape(440, 400)
    return data, decay


def fit(algorithm):
    """Seconds of processor time, chi-squared and evaluations of one fit."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        folder = pathlib.Path(folder)
        data, decay = headline_data(folder)
        file, model = opened(folder, HEADLINE, decay, "GLP_01_A", data)
        start = time.process_time()
        file.fit_2d("m", stages=1, seed_source="model", fit_alg_1=algorithm, try_ci=0)
        seconds = time.process_time() - start
        result = model.result.par_fin
        return seconds, float(result.chisqr), int(result.nfev)


def cembra(group, name):
    path = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "criterion" / group / name
    estimates = json.loads((path / "new" / "estimates.json").read_text())
    return estimates["median"]["point_estimate"] / 1e3


def child(**environment):
    done = subprocess.run(
        [sys.executable, __file__, "evaluations"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["evaluations"]:
        print(json.dumps(evaluations()))
        sys.exit()
    keeps = {"MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "10000000000"}
    regimes = {
        "warm": ("spectrum", child(**keeps)),
        "fresh": ("spectrum, new frame", child(MALLOC_MMAP_THRESHOLD_="65536", MALLOC_TRIM_THRESHOLD_="0")),
    }
    for regime, (bench, published) in regimes.items():
        for name, *_ in MODELS:
            own = cembra(f"models {name}", bench)
            ratio = published[name] / own
            print(f"{name:14} {regime:6} cembra {own:10.1f} us  published {published[name]:10.1f} us  {ratio:6.1f}")
    for algorithm, bench in (("leastsq", "levenberg-marquardt"), ("nelder", "nelder-mead")):
        fits = [fit(algorithm) for _ in range(3)]
        seconds = statistics.median(f[0] for f in fits)
        own = cembra("models fit", bench) / 1e6
        print(
            f"{algorithm:14} cembra {own:8.4f} s  published {seconds:8.4f} s  {seconds / own:6.1f}"
            f"  (chi-squared {fits[0][1]:.4f}, {fits[0][2]} evaluations)"
        )
