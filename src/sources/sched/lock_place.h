/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_LOCK_PLACE_H
#define SOURCES_SCHED_LOCK_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "process/targets.h"

/* The longest name of a variable, with its end. */
#define LOCK_NAME_MAX 128

/* A static variable of an image. */
struct lock_place {
	const struct image *image;
	uint64_t address;	  /* virtual, in the image */
	char name[LOCK_NAME_MAX]; /* demangled; "": it has none */
};

/*
 * Whether an address of a process is data of an image that it has mapped, and of which variable.
 * Reads the image's symbols: the caller remembers the answer.
 */
bool lock_place_find(const struct process *process, uint64_t address, struct lock_place *place);

#endif
