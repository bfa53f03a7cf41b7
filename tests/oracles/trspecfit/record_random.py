#!/usr/bin/env python3
"""Random models, with the spectra of the published package: record_random.py COUNT FOLDER.

Needs trspecfit 0.20.0 and Python 3.12. A case has the form of those in `cases/`. Its thetas are the initial values, values near
them, and values that may lie outside of the bounds, which are taken off before. Left out are what the package raises for.
"""

import contextlib
import io
import json
import math
import os
import random
import sys
import tempfile
import warnings

os.environ["MPLBACKEND"] = "Agg"
import numpy as np
from trspecfit import File, Project, eval_1d, eval_2d, graph_ir

PEAKS = {
    "Gauss": ["A", "x0", "SD"],
    "GaussAsym": ["A", "x0", "SD", "ratio"],
    "Lorentz": ["A", "x0", "W"],
    "Voigt": ["A", "x0", "SD", "W"],
    "GLS": ["A", "x0", "F", "m"],
    "GLP": ["A", "x0", "F", "m"],
    "DS": ["A", "x0", "F", "alpha"],
}
BACKGROUNDS = {"Offset": ["y0"], "LinBack": ["m", "b", "xStart", "xStop"], "Shirley": ["pShirley"]}
DYNAMICS = {
    "stepFun": ["A", "t0"],
    "linFun": ["m", "t0"],
    "expFun": ["A", "tau", "t0"],
    "sinFun": ["A", "f", "phi", "t0"],
    "sinDivX": ["A", "f", "t0"],
    "sqrtFun": ["A", "t0"],
    "erfFun": ["A", "SD", "t0"],
}
KERNELS = {
    "gaussCONV": ["SD"],
    "expSymCONV": ["tau"],
    "expDecayCONV": ["tau"],
    "expRiseCONV": ["tau"],
    "boxCONV": ["width"],
}
PROFILES = {"pExpDecay": ["A", "tau"], "pLinear": ["m", "b"], "pGauss": ["A", "x0", "SD"]}
RANGES = {
    "A": (-5, 20), "x0": (80, 92), "SD": (0.1, 3), "ratio": (0.3, 2), "W": (0.1, 3), "F": (0.1, 3), "m": (0, 1),
    "alpha": (0, 0.5), "y0": (0, 5), "b": (-1, 2), "xStart": (80, 83), "xStop": (88, 92), "pShirley": (0, 0.01),
    "tau": (0.1, 10), "t0": (-3, 6), "f": (0.01, 0.5), "phi": (-3, 3), "width": (0.2, 4),
}  # fmt: skip
PROFILE_RANGES = {"A": (-2, 2), "tau": (0.5, 3), "m": (-0.3, 0.3), "b": (-0.2, 0.2), "x0": (0, 3), "SD": (0.3, 2)}
# How much a parameter may change in time; others by a twentieth.
CHANGES = {"A": 5, "x0": 0.5, "SD": 0.1, "W": 0.1, "F": 0.1, "m": 0.1, "y0": 1}
EXPRESSIONS = ["{a}", "3/4*{a}", "-{a} + 2*{b}", "({a}+{b})/2", "{a}**2", "sqrt({a}*{a})", "exp(-{a}/10)", "abs({b})"]


class Case:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed, self.count = seed, 0

    def number(self, low, high):
        return self.random.uniform(low, high)

    def some(self, of, most):
        return [self.random.choice(list(of)) for _ in range(self.random.randint(1, most))]

    def energy_model(self):
        names = [name for name in BACKGROUNDS if self.random.random() < 0.3] + self.some(PEAKS, 3)
        self.random.shuffle(names)
        while names[-1] in BACKGROUNDS:
            self.random.shuffle(names)
        lines, counts, self.numbers = ["m:"], {}, []
        for name in names:
            lines.append(f"  {name}:")
            counts[name] = counts.get(name, 0) + 1
            full = f"{name}_{counts[name]:02d}" if name in PEAKS else name
            for parameter in (PEAKS | BACKGROUNDS)[name]:
                lines.append(f"    {parameter}: {self.energy_parameter(name, parameter)}")
                if '"' not in lines[-1]:
                    self.numbers.append(f"{full}_{parameter}")
        return "\n".join(lines) + "\n"

    def energy_parameter(self, name, parameter):
        if self.numbers and name != "LinBack" and self.random.random() < 0.15:
            a, b = self.random.choice(self.numbers), self.random.choice(self.numbers)
            return '["' + self.random.choice(EXPRESSIONS).format(a=a, b=b) + '"]'
        low, high = RANGES[parameter]
        vary = self.random.choice(["True", "True", "False", "static", "file", "project"])
        bounds = f", {low - 1}, {high + 1}" if self.random.random() < 0.5 else ""
        return f"[{self.number(low, high)!r}, {vary}{bounds}]"

    def profile_model(self, model):
        lines = [f"{model}:"]
        for name in self.some(PROFILES, 2):
            values = [f"    {p}: [{self.number(*PROFILE_RANGES[p])!r}, True]" for p in PROFILES[name]]
            lines += [f"  {name}:", *values]
        return "\n".join(lines) + "\n"

    def time_model(self, model, change, kernels):
        lines, counts, own = [f"{model}:"], {}, []
        for name in kernels + self.some(DYNAMICS, 3):
            lines.append(f"  {name}:")
            counts[name] = counts.get(name, 0) + 1
            for parameter in (DYNAMICS | KERNELS)[name]:
                ranges = RANGES | {"A": (-change, change), "m": (-change / 10, change / 10)}
                low, high = ranges[parameter]
                value, least = self.number(low, high), 1e-6 if name in KERNELS else low - 1
                if name in DYNAMICS and own and self.random.random() < 0.15:
                    lines.append(f'    {parameter}: ["2*{self.random.choice(own)}"]')
                    continue
                vary = self.random.choice(["True", "False"])
                lines.append(f"    {parameter}: [{value!r}, {vary}, {least!r}, {high + 30!r}]")
                if name in DYNAMICS:
                    own.append(f"{name}_{counts[name]:02d}_{parameter}")
        return "\n".join(lines) + "\n"

    def time_models(self, target):
        change = CHANGES.get(target.split("_")[-1], 0.05)
        if self.random.random() < 0.6:
            kernels = [self.random.choice(list(KERNELS))] if self.random.random() < 0.4 else []
            return [self.time_model(self.next(), change, kernels)], {}
        first = self.next()
        whole = f"{first}:\n  none: {{}}\n"
        if self.random.random() < 0.5:
            whole = f"{first}:\n  gaussCONV:\n    SD: [{self.number(0.3, 2)!r}, True, 1.0e-6, 10]\n"
        texts = [whole] + [self.time_model(self.next(), change, []) for _ in range(self.random.randint(1, 3))]
        return texts, {"frequency": self.random.choice([0.02, 0.05, 0.13, 0.5])}

    def next(self):
        self.count += 1
        return f"d{self.count}"

    def make(self):
        files = {"energy.yaml": self.energy_model()}
        targets = [name for name in self.numbers if not name.startswith("LinBack")]
        self.random.shuffle(targets)
        energy = np.linspace(80, 92, 9) if self.random.random() < 0.7 else np.linspace(92, 80, 9)
        time, aux, profiles, dynamics = None, None, [], []
        if targets and self.random.random() < 0.3:
            aux = np.linspace(0, 2, 3)
            files["profile.yaml"] = self.profile_model("p")
            profiles.append({"target": targets.pop(), "model": "p"})
        if self.random.random() < 0.75:
            time = np.linspace(-5, 20, 8)
            if self.random.random() < 0.3:
                time = np.array(sorted(self.number(-10, 30) for _ in range(8)))
            for _ in range(min(len(targets), self.random.randint(0, 2))):
                target = targets.pop()
                texts, more = self.time_models(target)
                files["time.yaml"] = files.get("time.yaml", "") + "".join(texts)
                models = [text.split(":")[0] for text in texts]
                dynamics.append({"target": target, "models": models, **more})
        return {
            "id": f"random_{self.seed:03d}",
            "package": "trspecfit",
            "version": "0.20.0",
            "dim": 1 if time is None else 2,
            "model": "m",
            "files": files,
            "profiles": profiles,
            "dynamics": dynamics,
            "energy": energy.tolist(),
            "time": None if time is None else time.tolist(),
            "aux_axis": None if aux is None else aux.tolist(),
        }


def numbered(number):
    """Three components of one function in two models: the last two are called 03 and 02, whatever they refer to."""
    fun = "  expFun:\n    A: [{}, True]\n    tau: [{}]\n    t0: [0.0, False]\n"
    one, two = fun.format(5.0, "2.0, True"), fun.format(3.0, "7.0, True")
    three = fun.format(1.5, f'"2*expFun_0{number}_A"')
    peak = "m:\n  GLP:\n    A: [20.0, True]\n    x0: [84.5, True]\n    F: [1.0, True]\n    m: [0.3, True]\n"
    dynamics = {"target": "GLP_01_A", "models": ["z", "a", "b"], "frequency": 0.05}
    files = {"energy.yaml": peak, "time.yaml": f"z:\n  none: {{}}\na:\n{one}b:\n{two}{three}"}
    case = Case(0).make() | {"id": f"numbered_{number}", "dim": 2, "files": files, "profiles": [], "aux_axis": None}
    return case | {"dynamics": [dynamics], "time": [-1.0, 0.0, 1.0, 5.0, 12.0, 20.0]}


def load(case):
    arrays = {key: None if case[key] is None else np.array(case[key]) for key in ("energy", "time", "aux_axis")}
    shape = [len(arrays[key]) for key in ("time", "energy") if arrays[key] is not None]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for name, text in case["files"].items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        file = File(parent_project=Project(path=folder), data=np.zeros(shape), **arrays)
        model = file.load_model("energy.yaml", "m")
        for profile in case["profiles"]:
            file.add_par_profile("m", profile["target"], "profile.yaml", profile["model"])
        for dynamics in case["dynamics"]:
            more = {"frequency": dynamics["frequency"]} if "frequency" in dynamics else {}
            file.add_time_dependence("m", dynamics["target"], "time.yaml", dynamics["models"], **more)
    return model


def numbers(array):
    array = np.asarray(array, dtype=float)
    if array.ndim:
        return [numbers(item) for item in array]
    value = float(array)
    return value if math.isfinite(value) else str(value)


def thetas(names, start, chance):
    near = {name: value + chance.gauss(0, 0.1) * (abs(value) + 0.1) for name, value in start.items()}
    far = {name: chance.choice([value, 3 * value, 0.0, -value]) for name, value in start.items()}
    for theta in (start, near, far):
        # Kernels need a width.
        yield [abs(theta[name]) + 1e-6 if "CONV" in name else theta[name] for name in names]


def record(case, seed):
    model = load(case)
    parameters, is_2d = model._lmfit_pars, case["dim"] == 2
    free = [name for name in parameters if parameters[name].vary]
    case["opt_param_names"], case["evals"] = free, []
    ir = graph_ir.build_graph(model)
    plan = None
    if (graph_ir.can_lower_2d if is_2d else graph_ir.can_lower_1d)(ir):
        plan = (graph_ir.schedule_2d if is_2d else graph_ir.schedule_1d)(ir)
    start = {name: float(parameters[name].value) for name in free}
    for name in free:
        parameters[name].set(min=-math.inf, max=math.inf)
    for theta in thetas(free, start, random.Random(seed)):
        values, evaluation = dict(zip(free, theta)), {"theta": numbers(theta)}
        with contextlib.suppress(ZeroDivisionError, ValueError):
            for name, value in values.items():
                parameters[name].value = value
            parameters.update_constraints()
            if is_2d:
                model.create_value_2d()
            spectrum = model.value_2d if is_2d else model.create_value_1d(return_1d=1)
            evaluation["interpreter"] = numbers(np.broadcast_to(spectrum, [len(case["energy"])] if not is_2d else spectrum.shape))
        with contextlib.suppress(ZeroDivisionError, ValueError):
            if plan is not None:
                evaluate = eval_2d.evaluate_2d if is_2d else eval_1d.evaluate_1d
                evaluation["gir"] = numbers(evaluate(plan, np.array([values[name] for name in plan.opt_param_names])))
        case["evals"].append(evaluation)
    return case


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    cases = [Case(seed).make() for seed in range(int(sys.argv[1]))] + [numbered(number) for number in (1, 2, 3)]
    for seed, case in enumerate(cases):
        try:
            case = record(case, seed)
        except ValueError as error:
            # Such as an expression through one that depends on time: refused, and `errors/` has it.
            print(f"{seed}: {error}", file=sys.stderr)
            continue
        with open(os.path.join(sys.argv[2], f"{case['id']}.json"), "w", encoding="utf-8") as file:
            json.dump(case, file)


if __name__ == "__main__":
    main()
