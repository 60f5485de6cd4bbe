/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_DISK_H
#define FILM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/vec.h"
#include "film/catalogue.h"
#include "film/film.h"
#include "film/samples.h"
#include "film/schema.h"

/*
 * The writer's end towards the disk: takes batches from the one thread that fills them and writes
 * each as one transaction on a thread of its own. Only writer.c and create.c use it.
 */

/* What can be done to a row. The parameters of each are in disk.c, beside its SQL. */
enum film_row {
	FILM_ROW_META_NUMBER,
	FILM_ROW_META_TEXT,
	FILM_ROW_EVENT,
	FILM_ROW_PROCESS,
	FILM_ROW_THREAD,
	FILM_ROW_IMAGE,
	FILM_ROW_FILE,
	FILM_ROW_LOSS,
	FILM_ROW_FUNCTIONS,
	FILM_ROW_FRAMES,
	FILM_ROW_NAMES,
	FILM_ROW_STACKS,
	FILM_ROW_BLOCK,
	FILM_ROW_KINDS,
};

struct film_sample_list {
	struct film_sample *at;
	size_t count, room;
};

/* One row of naming a frame. A frame's rows of the call that comes last are those that count. */
struct film_named {
	struct film_naming row;
	uint32_t call;
};

/* What one commit writes: of functions, frames and stacks the new ones, ids from first on. */
struct film_batch {
	struct film_batch *next;
	struct buf rows; /* operations on rows, from film_put_row() */
	struct film_first {
		uint32_t function, frame, stack;
	} first;
	vec(struct film_function) functions; /* the names live until the disk is closed */
	vec(struct film_place) frames;
	vec(struct film_stack) stacks;
	vec(struct film_named) names;
	struct film_sample_list samples[FILM_EVENTS_MAX]; /* by event */
};

/*
 * Appends one operation. The parameters are, in the order of its SQL: uint64_t for a number, const
 * char * for a string, const void * and size_t for bytes.
 */
void film_put_row(struct buf *rows, enum film_row kind, ...);

size_t film_batch_size(const struct film_batch *batch);
void film_batch_free(struct film_batch *batch);

struct film_disk;

/*
 * Takes over fd (a lock on the film, and its way to reserve room) and path's database, which has its
 * tables already; starts the thread. On failure nothing was taken over.
 */
int film_disk_start(const char *path, int fd, struct film_disk **disk, struct fail *why);

/*
 * Takes over batch and returns, without waiting for the disk unless wait is set or so much is queued
 * already that memory would grow without bound. Returns the error of an earlier batch (this one when
 * waiting); then nothing more is written.
 */
int film_disk_give(struct film_disk *disk, struct film_batch *batch, bool wait, struct fail *why);

/* Writes what is queued, makes the film a single file, ends the thread and frees disk. */
int film_disk_close(struct film_disk *disk, struct fail *why);

/* Bytes of the film after the last commit. */
uint64_t film_disk_size(const struct film_disk *disk);

#endif
