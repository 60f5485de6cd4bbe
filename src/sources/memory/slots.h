/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_SLOTS_H
#define SOURCES_MEMORY_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../inject/memory_places.h"
#include "base/vec.h"
#include "elf/file.h"
#include "process/procfs.h"

/*
 * The words through which the images of a running process call the functions of its allocator: what
 * the dynamic linker fills in by R_X86_64_JUMP_SLOT and R_X86_64_GLOB_DAT (the psABI of x86-64).
 * Words of other kinds (R_X86_64_64) are data of the program's, and left alone, apart from those by
 * which CPython calls its allocators of small objects (sources/memory/python.h).
 */
struct mem_slot {
	uint64_t address, value;
	uint32_t image;	    /* whose it is, a number in the list */
	uint32_t function;  /* of MEMORY_FUNCTIONS, or MEM_SLOT_NEW */
	int32_t protection; /* of its page, as of mmap(2) */
};

/* operator new, in either form: an allocator that has its own is not seen there */
#define MEM_SLOT_NEW MEMORY_FUNCTIONS

struct mem_slot_image {
	dev_t device;
	ino_t inode;
	uint64_t start, end; /* its code */
	uint64_t bias;
	uint64_t functions[MEMORY_FUNCTIONS + 1]; /* that it defines; 0: it does not */
	bool is_linker;				  /* of glibc, which has a malloc() for itself */
};

struct far_files;

struct mem_slots {
	struct far_files *far;
	vec(struct mem_slot) slots;
	vec(struct mem_slot_image) images;
	uint64_t unread; /* images that could not be read */
};

/*
 * Reads those of a process, but not of the image with that device and inode. far: opens its files,
 * may be null (process/far_files.h). Returns 0 or a
 * negative errno; mem_slots_free() is due after both.
 */
int mem_slots_read(struct mem_slots *slots, struct far_files *far, pid_t pid, dev_t device,
		   ino_t inode);
void mem_slots_free(struct mem_slots *slots);

/* The same of one image, which is mapped there, and whose file is open. */
int mem_slots_add(struct mem_slots *slots, pid_t pid, const struct procfs_mapping *mapping,
		  const struct elf_file *file);

/*
 * The image whose functions are called through most of the words. hooks: addresses that take their
 * place, and call those of next (all 0: not known) behind. Null: none of them is called.
 */
const struct mem_slot_image *mem_slots_provider(const struct mem_slots *slots,
						const uint64_t hooks[MEMORY_FUNCTIONS],
						const uint64_t next[MEMORY_FUNCTIONS]);

/* What a word's value is. */
enum mem_slot_state {
	MEM_SLOT_OTHER,	  /* another allocator's, or not known */
	MEM_SLOT_BOUND,	  /* the provider's function */
	MEM_SLOT_UNBOUND, /* the dynamic linker will fill it in at the first call, with that one */
	MEM_SLOT_HOOKED,
};
enum mem_slot_state mem_slots_state(const struct mem_slots *slots, const struct mem_slot *slot,
				    const struct mem_slot_image *provider,
				    const uint64_t hooks[MEMORY_FUNCTIONS]);

#endif
