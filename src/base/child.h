/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* For child processes that keep running this program's code after fork(2). */

/*
 * In the child: resets all signal handlers and the signal mask; ignores SIGPIPE, and SIGINT,
 * because the parent handles ^C.
 */
void child_forget_handlers(void);

/*
 * Closes all descriptors except those in keep (entries of -1 are ignored). Descriptors 0 to 2
 * become /dev/null unless they are kept, because their readers must wait only for the parent.
 * Returns 0 or -errno.
 */
int child_close_others(const int *keep, size_t keep_count);

/*
 * In the parent: waits for a killed child to end, at most that long. A child that waits in the
 * kernel for a file system ends later; it is not awaited then.
 */
void child_reap(pid_t child, int milliseconds);

#endif
