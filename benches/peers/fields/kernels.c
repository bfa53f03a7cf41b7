/* The workloads of fields.py by hand: the same operations in the same order, all in double precision.
 *
 *     gcc -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -shared -fPIC
 *
 * Each runs `times` times. Fields are n x n, the last index fastest; results are written at the points that have the
 * neighbours they need. */

#include <stdint.h>

#define AT(f, i, j) f[(i) * n + (j)]
#define LAP(f, i, j) \
    ((((-4.0 * AT(f, i, j) + AT(f, (i) - 1, j)) + AT(f, (i) + 1, j)) + AT(f, i, (j) - 1)) + AT(f, i, (j) + 1))

/* Keeps the compiler from making one run of many. */
#define AGAIN(out) __asm__ volatile("" : : "r"(out) : "memory")

void laplacian(long times, long n, const double *restrict u, double *restrict out) {
    for (; times > 0; times--) {
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) AT(out, i, j) = LAP(u, i, j);
        AGAIN(out);
    }
}

void gradient(long times, long n, const double *restrict u, double *restrict out) {
    for (; times > 0; times--) {
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) AT(out, i, j) = AT(u, i + 1, j) - AT(u, i, j);
        AGAIN(out);
    }
}

void shifted(long times, long n, const double *restrict u, double *restrict out) {
    for (; times > 0; times--) {
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) AT(out, i, j) = AT(u, i + 1, j);
        AGAIN(out);
    }
}

void limited(long times, long n, double k, double m, const double *restrict u, const double *restrict w,
             double *restrict out) {
    for (; times > 0; times--) {
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) {
                double lap = LAP(u, i, j);
                double flux = lap > m ? m : (lap < -m ? -m : lap);
                AT(out, i, j) = AT(w, i, j) > 0.5 ? AT(u, i, j) + k * flux : AT(u, i, j);
            }
        AGAIN(out);
    }
}

void bilaplacian(long times, long n, double *restrict lap, const double *restrict u, double *restrict out) {
    for (; times > 0; times--) {
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) AT(lap, i, j) = LAP(u, i, j);
        for (long i = 2; i < n - 2; i++)
            for (long j = 2; j < n - 2; j++) AT(out, i, j) = LAP(lap, i, j);
        AGAIN(out);
    }
}

void horizontal_diffusion(long times, long n, double k, double *restrict lap, double *restrict fx,
                          double *restrict fy, const double *restrict u, double *restrict out) {
    for (; times > 0; times--) {
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) AT(lap, i, j) = LAP(u, i, j);
        for (long i = 1; i < n - 2; i++)
            for (long j = 2; j < n - 2; j++) {
                double d = AT(lap, i + 1, j) - AT(lap, i, j);
                AT(fx, i, j) = d * (AT(u, i + 1, j) - AT(u, i, j)) > 0.0 ? 0.0 : d;
            }
        for (long i = 2; i < n - 2; i++)
            for (long j = 1; j < n - 2; j++) {
                double d = AT(lap, i, j + 1) - AT(lap, i, j);
                AT(fy, i, j) = d * (AT(u, i, j + 1) - AT(u, i, j)) > 0.0 ? 0.0 : d;
            }
        for (long i = 2; i < n - 2; i++)
            for (long j = 2; j < n - 2; j++)
                AT(out, i, j) = AT(u, i, j) -
                                k * (((AT(fx, i, j) - AT(fx, i - 1, j)) + AT(fy, i, j)) - AT(fy, i, j - 1));
        AGAIN(out);
    }
}

/* Levels are planes, one behind the other. */
void tridiagonal(long times, long columns, long levels, const double *restrict a, const double *restrict b,
                 const double *restrict c, const double *restrict d, double *restrict cp, double *restrict dp,
                 double *restrict x) {
    for (; times > 0; times--) {
        for (long k = 0; k < levels; k++)
            for (long i = 0; i < columns; i++) {
                long at = k * columns + i;
                double c0 = k > 0 ? cp[at - columns] : 0.0, d0 = k > 0 ? dp[at - columns] : 0.0;
                double pivot = b[at] - a[at] * c0;
                cp[at] = c[at] / pivot;
                dp[at] = (d[at] - a[at] * d0) / pivot;
            }
        for (long k = levels - 1; k >= 0; k--)
            for (long i = 0; i < columns; i++) {
                long at = k * columns + i;
                x[at] = dp[at] - cp[at] * (k < levels - 1 ? x[at + columns] : 0.0);
            }
        AGAIN(x);
    }
}

void edge_sum(long times, long cells, const int64_t *restrict table, const double *restrict e, double *restrict out) {
    for (; times > 0; times--) {
        for (long i = 0; i < cells; i++)
            out[i] = ((0.0 + e[table[3 * i]]) + e[table[3 * i + 1]]) + e[table[3 * i + 2]];
        AGAIN(out);
    }
}
