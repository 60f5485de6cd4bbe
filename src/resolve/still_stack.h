/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_STILL_STACK_H
#define RESOLVE_STILL_STACK_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/capture/abi.h"

/* A copy of a stack on which no thread runs, and the registers to start the walk with. */
struct still_stack {
	struct capture_handover from;
	uint8_t copy[CAPTURE_COPY_MAX];
};

/*
 * Copies the stack from a process's memory, page by page, because a missing page must not prevent
 * reading the next ones. `from` must have sp, and the thread pointer if that is above the stack.
 */
void still_stack_copy(struct still_stack *stack, pid_t pid);

#endif
