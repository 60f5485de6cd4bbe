/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_LIBRARY_H
#define SOURCES_MEMORY_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../inject/memory_places.h"
#include "base/fail.h"
#include "attach/uprobes.h"

/*
 * libstackcam-memory.so or another one of inject/, as it lies beside stackcam: installed, or in the
 * build folder. It is a file that stays, and is not written for a recording: a target may execute
 * programs when the recorder is gone, and the dynamic linker would complain about a library that is
 * gone with it.
 */
#define MEM_PLACES 16
struct mem_library {
	char path[256];
	dev_t device;
	ino_t inode;
	struct uprobe_place places[48]; /* cookie: the number of the place, below MEM_PLACES */
	size_t count;
	/* addresses in it, before it is loaded: MEMORY_ENTRY_…, as many as it has */
	uint64_t entries[MEMORY_ENTRIES];
};

/*
 * name: of its file. Returns 0, or a negative errno with *why filled (-ENOENT: it is not
 * installed).
 */
int mem_library_find(struct mem_library *library, const char *name, struct fail *why);

/* The same of the file of that path, which has no colon and no space. */
int mem_library_open(struct mem_library *library, const char *path, struct fail *why);

#endif
