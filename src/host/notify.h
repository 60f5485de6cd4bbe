/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_NOTIFY_H
#define HOST_NOTIFY_H

#include <stdint.h>

/*
 * What a daemon tells its starter (systemd's Type=notify, sd_notify(3)): "READY=1",
 * "STOPPING=1", "STATUS=…", "WATCHDOG=1". Does nothing where no process listens.
 */
void notify(const char *words);

/* How often at least "WATCHDOG=1" is expected, ns; 0: never. */
uint64_t notify_watchdog(void);

#endif
