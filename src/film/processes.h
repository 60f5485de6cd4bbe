/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_PROCESSES_H
#define FILM_PROCESSES_H

#include "film/arena.h"
#include "film/column.h"
#include "film/film.h"

/*
 * The layouts of processes and threads in a film that does not grow any more. While a film is
 * recorded they are rows, as what is known of them changes until the end; packed they take a tenth,
 * which is what a machine that starts many short processes needs. Each block is
 *
 *	words		how many; the length of each
 *	processes	pid, parent, start, end - start, comm, command, exe, cgroup, container
 *			and, since version 3, user, resource (words)
 *	threads		process, tid - its pid, start - its start, comm (0: as its process, else a
 *			word + 1)
 *	the words	without separators
 *
 * A word is numbered within its block; there "the same again" takes a byte. Differences are modulo
 * 2^64.
 */
enum {
	FILM_PACKED_ROWS_MAX = 8192, /* of one block */
};

/*
 * Packs the first *packed of count (at least 1) into c->packed, as many as one block holds. 0, or
 * -ENOMEM. processes of threads: the table by id, with its unused 0.
 */
int processes_pack(struct columns *c, const struct film_process *processes, size_t count,
		   size_t *packed);
int threads_pack(struct columns *c, const struct film_process *processes,
		 const struct film_thread *threads, size_t count, size_t *packed);

/*
 * The words are copied to texts; they take at most *text_left bytes, which becomes less. -EBADMSG:
 * the data is not valid, or a thread is of no process.
 */
struct processes_texts {
	struct arena *arena;
	uint64_t *left;
	int version; /* of the film */
};
int processes_unpack(struct column_reader *r, const void *data, size_t size,
		     const struct processes_texts *texts, struct film_process *processes,
		     size_t count);
int threads_unpack(struct column_reader *r, const void *data, size_t size,
		   const struct processes_texts *texts, const struct film_process *processes,
		   size_t process_count, struct film_thread *threads, size_t count);

#endif
