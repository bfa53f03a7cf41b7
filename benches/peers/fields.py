"""Field programs side by side: Cembra by strips and by native code, C by hand, numpy and Numba in one run, one thread.

    cargo build --release --manifest-path benches/peers/Cargo.toml --bin fields
    python3 -m venv venv && venv/bin/pip install numpy numba
    venv/bin/python benches/peers/fields.py [size ...]

Results of Cembra and C are compared bit by bit first. Engines take turns within a round; times are processor nanoseconds
per point, the medians of the rounds, and ratios are Cembra's time to that of the peer; the last one is that of native code to
C. Without Numba its column is empty.
"""

import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
# numpy asks for large pages, which the fields of Cembra do not have: all engines work on memory of one kind.
os.environ["NUMPY_MADVISE_HUGEPAGE"] = "0"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

try:
    import numba
except ImportError:
    numba = None

from program import Program

ROUNDS = 9
SLICE_NS = 15_000_000
FLAGS = "-O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -shared -fPIC".split()
LEVELS = 64
K, M = 0.1, 0.75


def numbers(seed, count):
    return (np.arange(count) * 7919 + seed * 104729) % 1009 / 1009.0


def lap(f):
    return -4.0*f[1:-1, 1:-1] + f[:-2, 1:-1] + f[2:, 1:-1] + f[1:-1, :-2] + f[1:-1, 2:]


def lap_at(f, i, j):
    return -4.0*f[i, j] + f[i-1, j] + f[i+1, j] + f[i, j-1] + f[i, j+1]


if numba is not None:
    lap_at = numba.njit(lap_at)


class Planes:
    """Arrays of n x n points for workloads: each gives the arguments of its C function, what numpy does, a loop for Numba with
    its arguments, and the result."""

    def __init__(self, n):
        self.n = n
        self.u, self.w = numbers(0, n*n).reshape(n, n), numbers(1, n*n).reshape(n, n)
        self.made = [np.zeros((n, n)) for _ in range(4)]
        self.out = self.made[0]
        _, self.lap, self.fx, self.fy = self.made


def laplacian(p):
    def numpy():
        p.out[1:-1, 1:-1] = lap(p.u)

    def loop(u, out):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                out[i, j] = lap_at(u, i, j)

    return (p.n, p.u, p.out), numpy, (loop, p.u, p.out), p.out


def gradient(p):
    def numpy():
        np.subtract(p.u[2:, 1:-1], p.u[1:-1, 1:-1], out=p.out[1:-1, 1:-1])

    def loop(u, out):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                out[i, j] = u[i+1, j] - u[i, j]

    return (p.n, p.u, p.out), numpy, (loop, p.u, p.out), p.out


def shifted(p):
    def numpy():
        p.out[1:-1, 1:-1] = p.u[2:, 1:-1]

    def loop(u, out):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                out[i, j] = u[i+1, j]

    return (p.n, p.u, p.out), numpy, (loop, p.u, p.out), p.out


def limited(p):
    def numpy():
        inner = p.u[1:-1, 1:-1]
        flux = np.clip(lap(p.u), -M, M)
        p.out[1:-1, 1:-1] = np.where(p.w[1:-1, 1:-1] > 0.5, inner + K*flux, inner)

    def loop(u, w, out):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                value = lap_at(u, i, j)
                flux = M if value > M else (-M if value < -M else value)
                out[i, j] = u[i, j] + K*flux if w[i, j] > 0.5 else u[i, j]

    return (p.n, K, M, p.u, p.w, p.out), numpy, (loop, p.u, p.w, p.out), p.out


def bilaplacian(p):
    def numpy():
        p.out[2:-2, 2:-2] = lap(lap(p.u))

    def loop(u, inner, out):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                inner[i, j] = lap_at(u, i, j)
        for i in range(2, u.shape[0] - 2):
            for j in range(2, u.shape[1] - 2):
                out[i, j] = lap_at(inner, i, j)

    return (p.n, p.lap, p.u, p.out), numpy, (loop, p.u, p.lap, p.out), p.out


def horizontal_diffusion(p):
    def numpy():
        inner = lap(p.u)
        dx, dy = inner[1:, 1:-1] - inner[:-1, 1:-1], inner[1:-1, 1:] - inner[1:-1, :-1]
        fx = np.where(dx*(p.u[2:-1, 2:-2] - p.u[1:-2, 2:-2]) > 0.0, 0.0, dx)
        fy = np.where(dy*(p.u[2:-2, 2:-1] - p.u[2:-2, 1:-2]) > 0.0, 0.0, dy)
        p.out[2:-2, 2:-2] = p.u[2:-2, 2:-2] - K*(fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])

    def loop(u, inner, fx, fy, out):
        n = u.shape[0]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                inner[i, j] = lap_at(u, i, j)
        for i in range(1, n - 2):
            for j in range(2, n - 2):
                d = inner[i+1, j] - inner[i, j]
                fx[i, j] = 0.0 if d*(u[i+1, j] - u[i, j]) > 0.0 else d
        for i in range(2, n - 2):
            for j in range(1, n - 2):
                d = inner[i, j+1] - inner[i, j]
                fy[i, j] = 0.0 if d*(u[i, j+1] - u[i, j]) > 0.0 else d
        for i in range(2, n - 2):
            for j in range(2, n - 2):
                out[i, j] = u[i, j] - K*(fx[i, j] - fx[i-1, j] + fy[i, j] - fy[i, j-1])

    return (p.n, K, p.lap, p.fx, p.fy, p.u, p.out), numpy, (loop, p.u, p.lap, p.fx, p.fy, p.out), p.out


def tridiagonal(p):
    columns = p.n * p.n // LEVELS
    a, b, c, d = (numbers(seed, p.n*p.n).reshape(LEVELS, columns) for seed in range(4))
    b = b + 4.0
    cp, dp, x = (made.reshape(LEVELS, columns) for made in p.made[:3])

    def numpy():
        c0, d0 = 0.0, 0.0
        for k in range(LEVELS):
            pivot = b[k] - a[k]*c0
            cp[k] = c0 = c[k] / pivot
            dp[k] = d0 = (d[k] - a[k]*d0) / pivot
        above = 0.0
        for k in range(LEVELS - 1, -1, -1):
            x[k] = above = dp[k] - cp[k]*above

    def loop(a, b, c, d, cp, dp, x):
        levels, columns = a.shape
        for k in range(levels):
            for i in range(columns):
                c0, d0 = (cp[k-1, i], dp[k-1, i]) if k > 0 else (0.0, 0.0)
                pivot = b[k, i] - a[k, i]*c0
                cp[k, i] = c[k, i] / pivot
                dp[k, i] = (d[k, i] - a[k, i]*d0) / pivot
        for k in range(levels - 1, -1, -1):
            for i in range(columns):
                x[k, i] = dp[k, i] - cp[k, i]*(x[k+1, i] if k < levels - 1 else 0.0)

    arrays = (a, b, c, d, cp, dp, x)
    return (columns, LEVELS, *arrays), numpy, (loop, *arrays), x


def edge_sum(p):
    cells = p.n * p.n
    edges = cells * 3 // 2
    e, at = numbers(0, edges), np.arange(3 * cells)
    table = ((at // 2 + at * 7919 % 61) % edges).reshape(cells, 3)
    out = p.out.reshape(cells)

    def numpy():
        out[:] = e[table].sum(axis=1)

    def loop(table, e, out):
        for i in range(table.shape[0]):
            out[i] = e[table[i, 0]] + e[table[i, 1]] + e[table[i, 2]]

    return (cells, table, e, out), numpy, (loop, table, e, out), out


def compiled():
    source = pathlib.Path(__file__).parent / "fields" / "kernels.c"
    library = pathlib.Path(tempfile.mkdtemp()) / "kernels.so"
    subprocess.run(["gcc", *FLAGS, source, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def argument(value):
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_long(value)


def timed(function):
    def measure(times):
        start = time.process_time_ns()
        for _ in range(times):
            function()
        return time.process_time_ns() - start

    return measure


def main():
    sizes = [int(size) for size in sys.argv[1:]] or [64, 512, 2048]
    library, program, native = compiled(), Program("fields"), Program("fields")
    print("| workload | size | Cembra, ns/point | beside C | beside numpy | beside Numba | native, ns/point | beside C |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for work in (laplacian, gradient, shifted, limited, bilaplacian, horizontal_diffusion, tridiagonal, edge_sum):
        for size in sizes:
            arguments, numpy, (loop, *arrays), out = work(Planes(size))
            arguments = [argument(value) for value in arguments]
            function = getattr(library, work.__name__)

            def c(times):
                start = time.process_time_ns()
                function(ctypes.c_long(times), *arguments)
                return time.process_time_ns() - start

            c(1)
            for process, tier in ((program, "interpreter"), (native, "native")):
                with tempfile.NamedTemporaryFile() as file:
                    process.ask("open", work.__name__, size, file.name, tier)
                    found = np.fromfile(file.name).reshape(out.shape)
                assert found.tobytes() == out.tobytes(), f"{work.__name__} {size}, {tier}: other results than C"
            engines = {
                "cembra": lambda times: program.elapsed("run", times),
                "native": lambda times: native.elapsed("run", times),
                "c": c,
                "numpy": timed(numpy),
            }
            if numba is not None:
                by_numba = numba.njit(loop)
                engines["numba"] = timed(lambda: by_numba(*arrays))
            times = {}
            for engine, measure in engines.items():
                measure(2)
                times[engine] = max(1, SLICE_NS // max(1, measure(1)))
            rounds = {engine: [] for engine in engines}
            for _ in range(ROUNDS):
                for engine, measure in engines.items():
                    rounds[engine].append(measure(times[engine]) / times[engine])
            median = {engine: statistics.median(found) for engine, found in rounds.items()}
            beside = [f"{median['cembra'] / median[peer]:.2f}" if peer in median else "" for peer in ("c", "numpy", "numba")]
            beside += [f"{median['native'] / size**2:.3f}", f"{median['native'] / median['c']:.2f}"]
            print(f"| {work.__name__} | {size} | {median['cembra'] / size**2:.3f} | {' | '.join(beside)} |", flush=True)


if __name__ == "__main__":
    main()
