/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_HANGS_H
#define SOURCES_SCHED_HANGS_H

#include "sources/sched/lives.h"

/*
 * Which waits should not take long: for a mutex that another thread holds, and for a disk or what
 * else cannot be interrupted. "a lock", "a disk" …, static; null: it may take as long as it wants.
 * arch: of the machine, uname -m.
 */
const char *hang_of(const struct film_wait *wait, const char *arch);

#endif
