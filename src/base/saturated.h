/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SATURATED_H
#define BASE_SATURATED_H

#include <stdint.h>

/* a + b, or UINT64_MAX on overflow: a sum that is too large must not look small */
static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
