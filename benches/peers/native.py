"""Functions as libraries in C: Cembra, C by hand with the same flags, and Numba, on the kernels of functions/kernels.py.

    cargo build --release --bin cembra          (in the project's own folder)
    python native.py ../../target/release/cembra

Needs numba, numpy and a C compiler. Integers wrap around, arrays have their elements one after the other. Prints a row a
kernel: milliseconds of processor time a call, and ratios; libraries are called by their C functions. Results are compared first.
"""

import ctypes
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numba
import numpy as np

from functions import arguments, kernels

ROUNDS = 9
FLAGS = "-std=gnu11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC -shared".split()
EXPORTS = [
    "mandelbrot(i64, i64, i64[:,:])",
    "nbody(f64[:,:], f64[:,:], f64[:], i64, f64)",
    "array_sum(f64[:])",
    "dot(f64[:], f64[:])",
    "matmul(f64[:,:], f64[:,:], f64[:,:])",
    "collatz(i64)",
    "sieve(i64, i64[:])",
    "monte_carlo_pi(i64, i64)",
    "fib(i64)",
    "jacobi(f64[:,:], f64[:,:], i64)",
    "black_scholes(f64[:], f64[:], f64[:], f64, f64, f64[:], f64[:])",
    "logistic(f64, f64, i64)",
    "gauss_sum(f64[:], f64[:], f64[:])",
]
INTEGERS = {"mandelbrot", "collatz", "sieve", "fib"}


def built(cembra, folder):
    exports = [word for export in EXPORTS for word in ("--export", export)]
    command = [cembra, "build", "functions/kernels.py", "--overflow", "wrap", "--name", "built", "-o", folder]
    subprocess.run(command + exports, check=True, stdout=subprocess.DEVNULL)
    spec = importlib.util.spec_from_file_location("built", os.path.join(folder, "built.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_library(module, name, args):
    """A call of the library's function by its header, with arrays described beforehand: what a C program does."""
    function = getattr(module._library, name)
    function.restype = ctypes.c_int32
    result = ctypes.c_int64() if name in INTEGERS else ctypes.c_double()
    error, plain, kept = module._Error(), [], []
    for arg in args:
        if isinstance(arg, np.ndarray):
            array = module._Array(arg.ctypes.data)
            for axis, (size, stride) in enumerate(zip(arg.shape, arg.strides)):
                array.shape[axis], array.strides[axis] = size, stride
            kept.append(array)
            plain.append(ctypes.byref(array))
        else:
            plain.append(ctypes.c_double(arg) if isinstance(arg, float) else ctypes.c_int64(arg))
    plain += [ctypes.byref(result), ctypes.byref(error)]

    def call():
        if function(*plain) != 0:
            raise error.exception()
        return result.value

    call.kept = kept
    return call


def by_hand(library, name, args):
    function = getattr(library, "hand_" + name)
    function.restype = ctypes.c_int64 if name in INTEGERS else ctypes.c_double
    plain = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            plain.append(ctypes.c_void_p(arg.ctypes.data))
        else:
            plain.append(ctypes.c_double(arg) if isinstance(arg, float) else ctypes.c_int64(arg))
    sizes = {"nbody": 3, "array_sum": 1, "dot": 2, "matmul": 3, "jacobi": 2, "black_scholes": 3, "gauss_sum": 3}
    if name in sizes:
        shape = args[2].shape if name == "nbody" else args[0].shape[:1] if name == "matmul" else args[0].shape
        at = sizes[name]
        plain[at:at] = [ctypes.c_int64(size) for size in shape]
    return lambda: function(*plain)


def copied(args):
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


def main():
    with tempfile.TemporaryDirectory() as folder:
        module = built(sys.argv[1], folder)
        path = os.path.join(folder, "libhand.so")
        subprocess.run(["cc", *FLAGS, "-o", path, "native/kernels.c", "-lm"], check=True)
        library = ctypes.CDLL(path)
        print("| kernel | Cembra ms | C by hand ms | Numba ms | Cembra / C | Cembra / Numba |")
        print("| --- |" + " --: |" * 5)
        ratios = []
        for name, args in arguments().items():
            if not hasattr(module, name):
                continue
            fast = numba.njit(getattr(kernels, name))
            if name == "fib":
                kernels.fib = fast
            kernels.cnd = numba.njit(kernels.cnd) if name == "black_scholes" else kernels.cnd
            ours, hands, theirs = copied(args), copied(args), copied(args)
            calls = [by_library(module, name, ours), by_hand(library, name, hands), lambda: fast(*theirs)]
            results = [call() for call in calls]
            if name not in ("nbody", "black_scholes"):
                assert all(math.isclose(results[0], other, rel_tol=1e-12) for other in results[1:]), (name, results)
            for a, b, c in zip(ours, hands, theirs):
                if isinstance(a, np.ndarray):
                    assert np.allclose(a, b, rtol=1e-12, atol=1e-12) and np.allclose(a, c, rtol=1e-12, atol=1e-12), name
            times = [[], [], []]
            for _ in range(ROUNDS):
                for call, list_of in zip(calls, times):
                    start = time.process_time_ns()
                    call()
                    list_of.append(time.process_time_ns() - start)
            us, hand, them = (statistics.median(list_of) / 1e6 for list_of in times)
            ratios.append((us / hand, us / them))
            print(f"| {name} | {us:.2f} | {hand:.2f} | {them:.2f} | {us / hand:.2f} | {us / them:.2f} |")
        means = [math.exp(statistics.mean(map(math.log, column))) for column in zip(*ratios)]
        print(f"| geometric mean | | | | {means[0]:.2f} | {means[1]:.2f} |")


if __name__ == "__main__":
    main()
