/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_FAR_WORKER_H
#define PROCESS_FAR_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/far_file.h"
#include "process/far_helper.h"

/* A question that touches a file, and its answer. */
struct far_job {
	enum far_job_kind {
		FAR_JOB_OPEN,
		FAR_JOB_WALK,
		FAR_JOB_MEMORY,
		FAR_JOB_READ,
		FAR_JOB_STAT,
		FAR_JOB_CHECK,
		FAR_JOB_CLOSE,
	} kind;
	uint64_t number, deadline;
	struct far_order order;	      /* OPEN, WALK, MEMORY; device of all */
	struct far_request asked;     /* READ */
	int at;			      /* OPEN, WALK: the place; the file of all others */
	struct far_file *file;	      /* whose it is; WALK, MEMORY: none */
	int64_t result;		      /* OPEN, WALK: a descriptor */
	struct stat st;		      /* OPEN, STAT */
	uint8_t bytes[FAR_BYTES_MAX]; /* READ, MEMORY */
};

/* The threads of the helper; what is in them is guarded by mutex. */
struct far_workers {
	pthread_mutex_t mutex;
	int ready; /* an eventfd: one is done */
	size_t count;
	struct far_worker {
		struct far_workers *of;
		pthread_t thread;
		pthread_cond_t wake;
		enum far_worker_state {
			FAR_IDLE,
			FAR_WORKING,
			FAR_DONE,
		} state;
		bool given_up; /* it was not waited for */
		struct far_job job;
	} * at[FAR_WORKERS];
};

/* Returns 0 or -errno. */
int far_workers_begin(struct far_workers *workers);

/* One that is idle, to fill in its job; null: there is none, and no room for more. */
struct far_worker *far_workers_idle(struct far_workers *workers);

/* Lets it do its job. */
void far_worker_start(struct far_worker *worker);

/* Whether it has done its job; it stays so until it is FAR_IDLE. */
bool far_worker_is_done(struct far_worker *worker);

/* False: it has done its job meanwhile. */
bool far_worker_abandon(struct far_worker *worker);

/*
 * Opens the file at a place (a descriptor of O_PATH), in this thread, which waits as long as the
 * file system does. Returns a descriptor, which is the caller's, with *st filled; or a negative
 * errno, -ENXIO: it is not a regular file.
 */
int far_open_place(int place, struct stat *st);

#endif
