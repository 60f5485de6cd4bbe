/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_CODE_H
#define SOURCES_INSPECT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The instructions around a probe of a function, at an offset of the file. */

/* The length of the check for room on the stack with which a function of Go begins; 0: none. */
size_t inspect_code_stack_check(int fd, uint64_t offset);

/*
 * The kernel emulates a "push", but executes "endbr64" as a copy, which costs several times as
 * much. In front of the first push, all is as it was at the beginning, and no jump leads there.
 */
size_t inspect_code_branch_target_size(int fd, uint64_t offset);

/* Is all in front of that place as it is there, but for the flags? */
bool inspect_code_only_compares(int fd, uint64_t offset, size_t size);

/*
 * Of a nop that the kernel would replace by a call (enum isa_cost), or of an instruction that it
 * puts no probe on, and that leaves all registers as they are: behind it all is as before. 0: it is
 * none.
 */
size_t inspect_code_passed_size(int fd, uint64_t offset);

#endif
