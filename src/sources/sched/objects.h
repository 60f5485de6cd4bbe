/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_OBJECTS_H
#define SOURCES_SCHED_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "bpf/sched/object_abi.h"

/*
 * The objects that threads wait for, as the kernel's side tells of them (bpf/sched/object_abi.h):
 * their words, by their number, and their rows in the film. Those that were reported long ago are
 * forgotten: what is still in use is reported again.
 */
struct objects;

struct objects_to {
	/*
	 * The film's row for an object with these words, and the disk that it is on, or ""; 0: it
	 * has no room.
	 */
	uint32_t (*row)(void *context, const char *words, const char *disk);
	void *context;
};

/* Null: no memory. */
struct objects *objects_new(const struct objects_to *to);
void objects_free(struct objects *objects); /* null is allowed */

/* An object; size: the bytes of its record, all of which are there. */
void objects_add(struct objects *objects, const struct object_report *told, size_t size);

/* Its row; 0: it is not known. */
uint32_t objects_row(struct objects *objects, uint32_t number);

/* Another film, in which nothing has a row. */
void objects_turn(struct objects *objects);

/* Records that were damaged, or for which there was no memory. */
uint64_t objects_lost(const struct objects *objects);

/*
 * The words for one: "/var/lib/wal", "tcp 10.0.0.1:40212 -> 10.0.0.7:5432", "unix /run/x.sock",
 * "pipe 1234", "epoll fd 5". Replaces what *words has, which ends with a zero then. False: what
 * describes it is damaged, or there is no memory.
 */
bool object_words(const struct object_report *told, size_t size, struct buf *words);

/*
 * Of an entry of io_uring, what stands before the words for its file ("read of "), which it may
 * not have ("timeout"), and behind them: " and 2 more (in flight)".
 */
void entry_words_before(const struct object_report *told, struct buf *words);
void entry_words_behind(const struct object_report *told, struct buf *words);

#endif
