/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_NOTIFY_H
#define HOST_NOTIFY_H

#include <stdint.h>

/*
 * What a daemon tells who started it (systemd's Type=notify, sd_notify(3)): "READY=1",
 * "STOPPING=1", "STATUS=…", "WATCHDOG=1". Does nothing where nobody listens.
 */
void notify(const char *words);

/* How often at least "WATCHDOG=1" is expected, ns; 0: never. */
uint64_t notify_watchdog(void);

#endif
