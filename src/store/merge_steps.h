/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_MERGE_STEPS_H
#define STORE_MERGE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "store/folder.h"

struct store;
struct store_film;

/* The most films that are written at once. */
#define MERGE_JOBS_MAX 4

/* What became of a film's writing. */
struct merge_written {
	uint64_t inode;
	int err;
	size_t bad; /* err: place of the film that cannot be merged; their number: it is none */
	struct fail why;
};

/* Films that are to become one; they must stay as they are until it is over. */
struct merge_job {
	struct store *store;
	char into[FOLDER_NAME_MAX]; /* its name */
	struct store_film *const *films;
	size_t count;
	bool pack;    /* nothing will be added to it */
	size_t place; /* of the job among those that are written at once */
	struct merge_written written;
};

/*
 * Writes the films of at most MERGE_JOBS_MAX jobs, and returns when all are written, or have failed
 * (written.err). Then each one is to be finished in the order of the jobs, or forgotten. No two of
 * them may have the same film, or the same name.
 */
void store_merge_write(struct merge_job *jobs, size_t count);

/*
 * Puts a film that is written in the place of those that it holds. 0, or a negative errno with *why
 * filled.
 */
int store_merge_finish(struct merge_job *job, struct fail *why);

/* Removes what was written of a job. */
void store_merge_forget(const struct merge_job *job);

#endif
