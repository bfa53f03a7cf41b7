"""The kernels of functions.py: read by Cembra as they stand, and imported by CPython and Numba."""

import math

import numpy as np


def mandelbrot(n, maxit, out):
    total = 0
    for py in range(n):
        ci = -1.5 + 3.0 * py / n
        for px in range(n):
            cr = -2.0 + 3.0 * px / n
            zr = 0.0
            zi = 0.0
            k = 0
            while k < maxit:
                zr2 = zr * zr
                zi2 = zi * zi
                if zr2 + zi2 > 4.0:
                    break
                zi = 2.0 * zr * zi + ci
                zr = zr2 - zi2 + cr
                k += 1
            out[py, px] = k
            total += k
    return total


def nbody(pos, vel, mass, steps, dt):
    n = mass.shape[0]
    for s in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = pos[i, 0] - pos[j, 0]
                dy = pos[i, 1] - pos[j, 1]
                dz = pos[i, 2] - pos[j, 2]
                d2 = dx * dx + dy * dy + dz * dz
                mag = dt / (d2 * math.sqrt(d2))
                mi = mass[i] * mag
                mj = mass[j] * mag
                vel[i, 0] -= dx * mj
                vel[i, 1] -= dy * mj
                vel[i, 2] -= dz * mj
                vel[j, 0] += dx * mi
                vel[j, 1] += dy * mi
                vel[j, 2] += dz * mi
        for i in range(n):
            pos[i, 0] += dt * vel[i, 0]
            pos[i, 1] += dt * vel[i, 1]
            pos[i, 2] += dt * vel[i, 2]
    e = 0.0
    for i in range(n):
        e += 0.5 * mass[i] * (vel[i, 0] ** 2 + vel[i, 1] ** 2 + vel[i, 2] ** 2)
        for j in range(i + 1, n):
            dx = pos[i, 0] - pos[j, 0]
            dy = pos[i, 1] - pos[j, 1]
            dz = pos[i, 2] - pos[j, 2]
            e -= mass[i] * mass[j] / math.sqrt(dx * dx + dy * dy + dz * dz)
    return e


def array_sum(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    return s


def dot(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


def matmul(a, b, c):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c[n - 1, n - 1]


def collatz(limit):
    best = 0
    arg = 0
    for s in range(1, limit):
        n = s
        c = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            c += 1
        if c > best:
            best = c
            arg = s
    return arg * 1000 + best


def sieve(n, flags):
    for i in range(n):
        flags[i] = 1
    count = 0
    for i in range(2, n):
        if flags[i] == 1:
            count += 1
            j = i * i
            while j < n:
                flags[j] = 0
                j += i
    return count


def monte_carlo_pi(n, seed):
    inside = 0
    x = seed
    for _ in range(n):
        x = (x * 1103515245 + 12345) % 2147483648
        u = x / 2147483648.0
        x = (x * 1103515245 + 12345) % 2147483648
        v = x / 2147483648.0
        if u * u + v * v <= 1.0:
            inside += 1
    return 4.0 * inside / n


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def jacobi(u, v, iters):
    n, m = u.shape
    for t in range(iters):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j]
    return u[n // 2, m // 2]


def cnd(d):
    k = 1.0 / (1.0 + 0.2316419 * abs(d))
    p = 0.3989422804014327 * math.exp(-0.5 * d * d) * (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))))
    if d > 0:
        return 1.0 - p
    return p


def black_scholes(s, k, t, r, v, call, put):
    for i in range(s.shape[0]):
        sq = math.sqrt(t[i])
        d1 = (math.log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / (v * sq)
        d2 = d1 - v * sq
        c1 = cnd(d1)
        c2 = cnd(d2)
        e = math.exp(-r * t[i])
        call[i] = s[i] * c1 - k[i] * e * c2
        put[i] = k[i] * e * (1.0 - c2) - s[i] * (1.0 - c1)
    return call[0] + put[0]


def logistic(r, x, n):
    for i in range(n):
        x = r * x * (1.0 - x)
    return x


def gauss_sum(x, params, out):
    # trspecfit-like model evaluation: 3 gaussians + linear background
    n = x.shape[0]
    chi = 0.0
    for i in range(n):
        y = params[9] + params[10] * x[i]
        for p in range(3):
            d = (x[i] - params[3 * p + 1]) / params[3 * p + 2]
            y += params[3 * p] * math.exp(-0.5 * d * d)
        r = y - out[i]
        chi += r * r
    return chi


def axpb(a, x, b):
    return a * x + b


def quadratic(a):
    return 0.5 * a * a - 3.0 * a + 2.0


def lengths(a, b):
    return np.sqrt(a * a + b * b)


def clamped(a):
    return np.where(a > 1.0, 1.0, np.where(a < 0.6, 0.6, a))


def bell(a):
    return np.exp(-0.5 * ((a - 1.0) / 0.2) ** 2)


def mean_square(a, b):
    return np.sum((a - b) ** 2) / a.size


def standardised(a):
    d = a - np.mean(a)
    return d / np.sqrt(np.mean(d * d))


def index_sums(i, j):
    return i * 3 + j


def relaxed(a, n):
    x = a.copy()
    for k in range(n):
        x = x + 0.01 * (1.0 - x)
    return x


def accumulated(a, b, n):
    x = a.copy()
    for k in range(n):
        x += 0.5 * b
    return x


def chosen(a, b):
    return (a > 0.7) & (b < 0.5) | (a + b > 1.2)


def scaled_columns(m, v):
    return m * v + 1.0


def spread(p, c):
    total = 0.0
    for i in range(len(p)):
        d = p[i] - c
        total += np.sqrt(np.sum(d * d))
    return total


def diffused(u, n):
    for k in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u[5]
