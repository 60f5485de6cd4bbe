/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stdint.h>

/* What this process takes itself. */
double own_cpu_seconds(void);	      /* of all of its threads */
double own_helpers_cpu_seconds(void); /* of the children that it has awaited */
uint64_t own_rss_bytes(void);	      /* 0: the kernel does not say */

#endif
