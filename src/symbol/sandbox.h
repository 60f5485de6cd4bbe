/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_SANDBOX_H
#define SYMBOL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * For a child process, just forked, that will read a hostile file: gives up everything but the
 * descriptors in keep (-1 stands for none), memory and the processor. memory: bytes that it may
 * take on top of what it has; seconds: of CPU time. System calls that are not allowed fail with
 * EACCES; exit() ends the process without the parent's handlers and buffers. asks: openat() is left
 * to the parent (sandbox_files.h), by a descriptor that is SANDBOX_LISTENER from then on. Returns 0
 * or a negative errno; then the process must not go on.
 */
int sandbox_enter(const int *keep, size_t keep_count, size_t memory, unsigned int seconds,
		  bool asks);

#endif
