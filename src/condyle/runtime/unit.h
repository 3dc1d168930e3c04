/* Quaternions of configurations have unit length within 1e-3; what a call answers that has another one. */
#ifndef CONDYLE_UNIT_H
#define CONDYLE_UNIT_H
#include <limits.h>

#define LEAST_SQUARE (0.999 * 0.999) /* squares of lengths */
#define MOST_SQUARE (1.001 * 1.001)
#define NOT_UNIT INT_MIN
#endif
