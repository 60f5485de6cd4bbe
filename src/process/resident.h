/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_RESIDENT_H
#define PROCESS_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The memory of a process that is in RAM: what is not there is never read, since reading would
 * bring it in.
 */
#define RESIDENT_PAGE 4096u

/* Pages that are read at once. */
#define RESIDENT_WINDOW_PAGES 256u

struct resident {
	/* where it comes from; tests have their own */
	void *context;
	/* reads all size bytes, or returns a negative errno */
	int (*read)(void *context, void *to, size_t size, uint64_t address);
	/* sets is[i] for each of count pages from an address on; a negative errno: nothing is known
	 */
	int (*present)(void *context, uint64_t address, size_t count, bool *is);

	/* the window: present pages that follow each other, read before */
	uint8_t *bytes;
	uint64_t at;
	size_t count; /* bytes */
	/* the pages that were last looked at */
	bool is_present[RESIDENT_WINDOW_PAGES];
	uint64_t looked_at;
	size_t looked;
	uint64_t end; /* nothing from here on is read, but by resident_read() */
	/*
	 * How many pages may still be looked at, and how many of them read; is_spent: it was more,
	 * and what is behind is taken for absent. Until resident_allow() is called, any number.
	 */
	uint64_t looks, reads;
	bool is_limited, is_spent;
};

/* Opens those of a process. Returns 0 or a negative errno; then there is nothing to close. */
int resident_open(struct resident *resident, pid_t pid);
void resident_close(struct resident *resident);

/* From now on, at most that many pages may be looked at, and read. */
void resident_allow(struct resident *resident, uint64_t looks, uint64_t reads);

/* From now on nothing is known of what was read. end: of what will be looked at. */
void resident_forget(struct resident *resident, uint64_t end);

/* The 8 bytes at an address, which is a multiple of 8. False: they are not there. */
bool resident_word(struct resident *resident, uint64_t address, uint64_t *word);

/* Is the page of an address there? */
bool resident_has(struct resident *resident, uint64_t address);

/* How many bytes between two addresses lie in pages that are there. */
uint64_t resident_bytes(struct resident *resident, uint64_t from, uint64_t to);

/* Reads a range; what is not there becomes zeros. Returns how many of its bytes are there. */
size_t resident_piece(struct resident *resident, void *to, size_t size, uint64_t address);

/* Some bytes, if the pages that they begin and end in are there. */
bool resident_read(struct resident *resident, void *to, size_t size, uint64_t address);

#endif
