"""Functions with loops: Cembra, Numba and CPython on the kernels of functions/kernels.py, one thread, in one run.

    cargo build --release --bin functions
    python functions.py          # integers are checked, as by default
    python functions.py wrap     # they wrap, as Numba's do

Needs numba and numpy. Prints a row a kernel: milliseconds a call, the ratio of Cembra's time to Numba's, and CPython's to
Cembra's. CPython works on lists, except where a kernel has arrays of two axes, and runs once, on a tenth of the data
where it can.
"""

import math
import statistics
import sys
import time

import numba
import numpy as np

sys.path.insert(0, "functions")
import kernels
from program import Program

ROUNDS = 5
BODIES = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47841760435743],
    [4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.606326392995832, 2.81198684491626016, -0.02521836165988763, 0.03769367487038949],
    [8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -1.01077434617879236, 1.82566237123041186, 0.008415761376584154, 0.011286326131968767],
    [12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 1.08279100644153536, 0.868713018169608219, -0.010832637401363636, 0.0017237240570597112],
    [15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.979090732243897976, 0.594698998647676060, -0.034755955550781037, 0.0020336868699246304],
]


def arguments():
    million = np.arange(1_000_000)
    ramp = (million % 1000) * 0.001 + 0.5
    cells = np.arange(256 * 256)
    plate = np.zeros((512, 512))
    plate[0, :] = 1.0
    plate[:, 0] = 0.5
    bodies = np.array(BODIES)
    x = np.linspace(-5.0, 5.0, 1000)
    wave = (million % 777) * 0.002 - 0.3
    a, b, i = ramp[:100_000], wave[:100_000], million[:100_000] % 1000
    return {
        "mandelbrot": (500, 200, np.zeros((500, 500), np.int64)),
        "nbody": (bodies[:, :3].copy(), bodies[:, 3:6].copy(), bodies[:, 6].copy(), 10_000, 0.001),
        "array_sum": (ramp,),
        "dot": (ramp, wave),
        "matmul": (((cells % 17) * 0.25).reshape(256, 256), ((cells % 13) * 0.5 - 1).reshape(256, 256), np.zeros((256, 256))),
        "collatz": (300_000,),
        "sieve": (2_000_000, np.zeros(2_000_000, np.int64)),
        "monte_carlo_pi": (5_000_000, 12345),
        "fib": (30,),
        "jacobi": (plate, plate.copy(), 50),
        "black_scholes": (10.0 + million % 91, 15.0 + million % 71, 0.25 + (million % 10) * 0.5, 0.02, 0.3, np.zeros(1_000_000), np.zeros(1_000_000)),
        "logistic": (3.9, 0.5, 10_000_000),
        "gauss_sum": (x, np.array([1, -1, 0.5, 2, 0.5, 0.8, 0.7, 2.5, 0.3, 0.1, 0.02]), np.sin(x)),
        "axpb": (a, 1.5, b),
        "quadratic": (a,),
        "lengths": (a, b),
        "clamped": (a,),
        "bell": (a,),
        "mean_square": (a, b),
        "standardised": (a,),
        "index_sums": (i, i),
        "relaxed": (a, 20),
        "accumulated": (a, b, 20),
        "chosen": (a, b),
        "scaled_columns": (a.reshape(1000, 100), a[:100]),
        "spread": (a[:30_000].reshape(10_000, 3), b[:3]),
        "diffused": (a.copy(), 20),
    }


def elapsed(function, args):
    start = time.process_time_ns()
    function(*args)
    return time.process_time_ns() - start


def main():
    compiled = {name: numba.njit(getattr(kernels, name)) for name in ("cnd",)}
    kernels.cnd = compiled["cnd"]
    plain_cnd = compiled["cnd"].py_func
    program = Program("functions", *sys.argv[1:])
    tiers = ("interpreter", "jit")
    ratios = []
    print("| kernel | interpreter ms | jit ms | numba ms | cpython ms | interpreter / numba | jit / numba | jit / interpreter | cpython / interpreter | compile: numba / interpreter | numba / jit |")
    print("| --- |" + " --: |" * 10)
    for name, args in arguments().items():
        plain = getattr(kernels, name)
        kernels.cnd = compiled["cnd"]
        fast = numba.njit(plain)
        if name == "fib":
            kernels.fib = fast
        start = time.process_time_ns()
        fast(*args)
        numba_compile = time.process_time_ns() - start
        ours, theirs = {tier: [] for tier in tiers}, []
        times = max(1, 50_000_000 // max(1, elapsed(fast, args)))
        for _ in range(ROUNDS):
            for tier in tiers:
                ours[tier].append(program.elapsed(name, tier, times) / times)
            theirs.append(statistics.mean(elapsed(fast, args) for _ in range(times)))
        compiles = [statistics.median(program.elapsed(name, tier, "compile") for _ in range(ROUNDS)) for tier in tiers]
        kernels.cnd = plain_cnd
        if name == "fib":
            kernels.fib = plain
        slow = elapsed(plain, args)
        us, jit, them = *(statistics.median(ours[tier]) for tier in tiers), statistics.median(theirs)
        row = [us / them, jit / them, jit / us, slow / us, *(numba_compile / ours for ours in compiles)]
        ratios.append(row)
        times = [f"{ns / 1e6:.2f}" for ns in (us, jit, them)] + [f"{slow / 1e6:.0f}"]
        print(f"| {name} | " + " | ".join([*times, *map("{:.2f}".format, row)]) + " |")
    means = [math.exp(statistics.mean(map(math.log, column))) for column in zip(*ratios)]
    print("| geometric mean | | | | | " + " | ".join(map("{:.2f}".format, means)) + " |")


if __name__ == "__main__":
    main()
