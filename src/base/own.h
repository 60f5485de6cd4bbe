/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stdint.h>

/* Resource usage of this process. */
double own_cpu_seconds(void);	      /* of all threads */
double own_helpers_cpu_seconds(void); /* of child processes that ended and were awaited */
uint64_t own_rss_bytes(void);	      /* 0: not known */

#endif
