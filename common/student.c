/* SPDX-License-Identifier: MIT */
#include "common/student.h"

#include <math.h>

#define STEPS_MAX 300
#define SMALL     1e-300
#define CLOSE     1e-12

static double away_from_zero(double v)
{
    return fabs(v) < SMALL ? SMALL : v;
}

/* Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's
 * method; converges fast for x < (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m <= STEPS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        f *= c * d;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        f *= c * d;
        if (fabs(c * d - 1) < CLOSE)
            break;
    }
    return f;
}

/* Regularised: I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * fraction(a, b, x) / a;
    return 1 - front * fraction(b, a, 1 - x) / b;
}

double student_two_sided(double t, double dof)
{
    if (isinf(t))
        return 0;
    return incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
}
