/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_STUDENT_H
#define HAMMER_COMMON_STUDENT_H

/* Chance that a t-distributed value with `dof` > 0 degrees of freedom lies at least as far from 0
 * as t, either side. 0 for an infinite t. Relative error below 1e-8. */
double student_two_sided(double t, double dof);

#endif
