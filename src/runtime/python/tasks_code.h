/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_PYTHON_TASKS_CODE_H
#define RUNTIME_PYTHON_TASKS_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

/* Where functions of asyncio's C part end, by their code, which is hostile input. */

#define TASKS_CODE_PLACES_MAX 40

/* Addresses of the image. */
struct tasks_code_places {
	uint64_t at[TASKS_CODE_PLACES_MAX];
	size_t count;
};

/*
 * Adds the places where a function returns, or one that it jumps to as its last deed. fd: of the
 * image's file. Returns 0; -ENODATA: they are not found; -E2BIG: they are too many; -ENOMEM.
 */
int tasks_code_returns(const struct elf_image *elf, int fd, uint64_t function,
		       struct tasks_code_places *places);

/*
 * Adds places right behind the calls of what runs a coroutine on (task_step_impl()), by the two
 * functions that begin a step, and by those that they call: conditional jumps, since the kernel
 * emulates these, while it single-steps returns, which takes several times as long. As above;
 * -ENODATA also if it is not sure that each end of a step is behind one of them. *impl becomes
 * the address of what runs a coroutine on.
 */
int tasks_code_behind_steps(const struct elf_image *elf, int fd, const uint64_t functions[2],
			    uint64_t *impl, struct tasks_code_places *places);

/*
 * The same of a function that makes a task, and may run it at once (since 3.12): calls are those of
 * impl, and places those behind them.
 */
int tasks_code_behind_making(const struct elf_image *elf, int fd, uint64_t function, uint64_t impl,
			     struct tasks_code_places *calls, struct tasks_code_places *places);

#endif
