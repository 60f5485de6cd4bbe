/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OWN_H
#define SERVER_OWN_H

#include <stdint.h>

/* What this process takes itself. */
double own_cpu_seconds(void);
uint64_t own_rss_bytes(void); /* 0: the kernel does not say */

#endif
