/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_SANDBOX_CHILD_H
#define SYMBOL_SANDBOX_CHILD_H

#include <stddef.h>

#include "base/buf.h"
#include "symbol/sandbox_files.h"

/* What a child may take. */
struct sandbox_limits {
	size_t memory; /* bytes, on top of what the process had */
	unsigned int cpu_seconds;
};

/*
 * Runs work in a child process that can do nothing but compute and read the descriptors in keep
 * (sandbox.h): it dies with its parent, and any harm that a hostile file does ends there. files:
 * opens what it asks for; null: it gets none. err: what entering the sandbox gave; work is called
 * in any case, and says what it has to say with sandbox_say(). All that it says is put into *said,
 * which may be cut off anywhere. Returns 0; -ETIMEDOUT: it took too long; -E2BIG: it said more than
 * 32 MiB; or another negative errno.
 */
int sandbox_run(const int *keep, size_t keep_count, const struct sandbox_limits *limits,
		const struct sandbox_files *files, void (*work)(void *context, int pipe, int err),
		void *context, struct buf *said);

/* Writes what is in the buffer to the pipe and empties it; ends the child if that fails. */
void sandbox_say(int pipe, struct buf *said);

/* It is better not to say less at a time. */
#define SANDBOX_SAY_AT (64u << 10)

#endif
