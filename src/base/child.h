/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* For child processes that go on in this program's code after fork(2). */

/* Its parent's signal handlers must not run in it; the user's ^C is its parent's business. */
void child_forget_handlers(void);

/*
 * Closes all descriptors but those in keep (-1 stands for none); the first three become /dev/null,
 * as their readers wait for the parent only. Returns 0 or -errno.
 */
int child_close_others(const int *keep, size_t keep_count);

/*
 * In the parent: waits for the end of a child, which was killed, for that long at most. What waits
 * in the kernel for a file system ends later; then the child is left behind.
 */
void child_reap(pid_t child, int milliseconds);

#endif
