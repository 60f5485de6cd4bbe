/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PRIVILEGES_H
#define BASE_PRIVILEGES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * Drops privileges step by step. Each call applies to the calling thread and to the threads and
 * processes that it starts later; threads that already run keep theirs.
 */

/* A bit in a set of capabilities: privilege(CAP_BPF) | … (linux/capability.h) */
#define privilege(capability) (UINT64_C(1) << (capability))

/*
 * Changes the process to that user and the user's groups. The capabilities stay permitted until
 * privileges_keep(), which must follow. Call it before other threads exist.
 */
int privileges_become(uid_t user, gid_t group, const char *name, struct fail *why);

/*
 * Drops all capabilities that are not in the set; executing a program cannot regain them
 * (PR_SET_NO_NEW_PRIVS). Other processes of the user can no longer trace this process or read its
 * memory, and it dumps no core.
 */
int privileges_keep(uint64_t capabilities, struct fail *why);

/*
 * Uses Landlock to allow writing only below that folder, and below another one unless that is null,
 * and to forbid tracing other processes.
 * Reading files is not restricted. Returns 0 also on a kernel without Landlock.
 */
int privileges_write_below(const char *folder, const char *other, struct fail *why);

/* Drops all capabilities of the calling thread; other threads keep theirs. */
void privileges_drop_here(void);

#endif
