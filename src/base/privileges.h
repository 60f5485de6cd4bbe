/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PRIVILEGES_H
#define BASE_PRIVILEGES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * Giving up what a process may do, step by step. It applies to the calling thread and to the
 * threads and processes that it starts later; those started before keep what they have.
 */

/* As a set of capabilities: privilege(CAP_BPF) | … (linux/capability.h) */
#define privilege(capability) (UINT64_C(1) << (capability))

/*
 * The process becomes that user, with its groups; its capabilities stay permitted until
 * privileges_keep(), which must follow. Before there are other threads.
 */
int privileges_become(uid_t user, gid_t group, const char *name, struct fail *why);

/*
 * Of the capabilities that are there, only those of the set stay; none comes back, whichever
 * program is executed (PR_SET_NO_NEW_PRIVS). Other processes of the user can no longer look into
 * this one, and no core is dumped.
 */
int privileges_keep(uint64_t capabilities, struct fail *why);

/*
 * Files are changed below that folder and nowhere else, and no other process can be looked into
 * (Landlock). Reading stays as it was. Returns 0 also where the kernel has no Landlock.
 */
int privileges_write_below(const char *folder, struct fail *why);

/* The thread has none any more; the others, and what the process may do, stay as they are. */
void privileges_drop_here(void);

/* The capabilities that the thread may use. */
uint64_t privileges_now(void);

#endif
