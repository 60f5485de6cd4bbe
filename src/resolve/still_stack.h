/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_STILL_STACK_H
#define RESOLVE_STILL_STACK_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/capture/abi.h"

/* A stack that no thread runs on, with the registers to walk it from. */
struct still_stack {
	struct capture_handover from;
	uint8_t copy[CAPTURE_COPY_MAX];
};

/*
 * Copies it from the memory of a process, page by page: one that is missing must not cost those
 * behind it. from has sp, and the thread pointer where it is above the stack.
 */
void still_stack_copy(struct still_stack *stack, pid_t pid);

#endif
