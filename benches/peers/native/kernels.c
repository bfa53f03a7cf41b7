/* The kernels of functions/kernels.py as one writes them in C: no checks, elements one after the other. */

#include <math.h>
#include <stdint.h>

int64_t hand_mandelbrot(int64_t n, int64_t maxit, int64_t *out)
{
    int64_t total = 0;
    for (int64_t py = 0; py < n; py++) {
        double ci = -1.5 + 3.0 * py / n;
        for (int64_t px = 0; px < n; px++) {
            double cr = -2.0 + 3.0 * px / n, zr = 0, zi = 0;
            int64_t k = 0;
            while (k < maxit) {
                double zr2 = zr * zr, zi2 = zi * zi;
                if (zr2 + zi2 > 4.0) break;
                zi = 2.0 * zr * zi + ci;
                zr = zr2 - zi2 + cr;
                k++;
            }
            out[py * n + px] = k;
            total += k;
        }
    }
    return total;
}

double hand_nbody(double *pos, double *vel, double *mass, int64_t n, int64_t steps, double dt)
{
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i + 1; j < n; j++) {
                double dx = pos[i * 3] - pos[j * 3], dy = pos[i * 3 + 1] - pos[j * 3 + 1], dz = pos[i * 3 + 2] - pos[j * 3 + 2];
                double d2 = dx * dx + dy * dy + dz * dz, mag = dt / (d2 * sqrt(d2));
                double mi = mass[i] * mag, mj = mass[j] * mag;
                vel[i * 3] -= dx * mj;
                vel[i * 3 + 1] -= dy * mj;
                vel[i * 3 + 2] -= dz * mj;
                vel[j * 3] += dx * mi;
                vel[j * 3 + 1] += dy * mi;
                vel[j * 3 + 2] += dz * mi;
            }
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < 3; k++) pos[i * 3 + k] += dt * vel[i * 3 + k];
    }
    return pos[0];
}

double hand_array_sum(double *a, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i];
    return s;
}

double hand_dot(double *a, double *b, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

double hand_matmul(double *a, double *b, double *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double s = 0;
            for (int64_t k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
    }
    return c[n * n - 1];
}

int64_t hand_collatz(int64_t limit)
{
    int64_t best = 0, arg = 0;
    for (int64_t s = 1; s < limit; s++) {
        int64_t n = s, c = 0;
        while (n != 1) {
            n = n % 2 == 0 ? n / 2 : 3 * n + 1;
            c++;
        }
        if (c > best) {
            best = c;
            arg = s;
        }
    }
    return arg * 1000 + best;
}

int64_t hand_sieve(int64_t n, int64_t *flags)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) flags[i] = 1;
    for (int64_t i = 2; i < n; i++) {
        if (flags[i] == 1) {
            count++;
            for (int64_t j = i * i; j < n; j += i) flags[j] = 0;
        }
    }
    return count;
}

double hand_monte_carlo_pi(int64_t n, int64_t seed)
{
    int64_t inside = 0, x = seed;
    for (int64_t i = 0; i < n; i++) {
        x = (x * 1103515245 + 12345) % 2147483648;
        double u = x / 2147483648.0;
        x = (x * 1103515245 + 12345) % 2147483648;
        double v = x / 2147483648.0;
        if (u * u + v * v <= 1.0) inside++;
    }
    return 4.0 * inside / n;
}

int64_t hand_fib(int64_t n)
{
    return n < 2 ? n : hand_fib(n - 1) + hand_fib(n - 2);
}

double hand_jacobi(double *u, double *v, int64_t n, int64_t m, int64_t iters)
{
    for (int64_t t = 0; t < iters; t++) {
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < m - 1; j++)
                v[i * m + j] = 0.25 * (u[(i - 1) * m + j] + u[(i + 1) * m + j] + u[i * m + j - 1] + u[i * m + j + 1]);
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < m - 1; j++) u[i * m + j] = v[i * m + j];
    }
    return u[n / 2 * m + m / 2];
}

double hand_logistic(double r, double x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x = r * x * (1.0 - x);
    return x;
}

static double cnd(double d)
{
    double k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    double p = 0.3989422804014327 * exp(-0.5 * d * d)
        * (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1.0 - p : p;
}

double hand_black_scholes(double *s, double *k, double *t, int64_t n, double r, double v, double *call, double *put)
{
    for (int64_t i = 0; i < n; i++) {
        double sq = sqrt(t[i]);
        double d1 = (log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / (v * sq), d2 = d1 - v * sq;
        double c1 = cnd(d1), c2 = cnd(d2), e = exp(-r * t[i]);
        call[i] = s[i] * c1 - k[i] * e * c2;
        put[i] = k[i] * e * (1.0 - c2) - s[i] * (1.0 - c1);
    }
    return call[0];
}

double hand_gauss_sum(double *x, double *params, double *out, int64_t n)
{
    double chi = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double y = params[9] + params[10] * x[i];
        for (int64_t p = 0; p < 3; p++) {
            double d = (x[i] - params[3 * p + 1]) / params[3 * p + 2];
            y += params[3 * p] * exp(-0.5 * d * d);
        }
        double r = y - out[i];
        chi += r * r;
    }
    return chi;
}
