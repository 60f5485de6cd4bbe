/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_DISK_H
#define FILM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "film/batch.h"
#include "film/writer.h"

/*
 * The writer's end towards the disk: takes batches from the one thread that fills them and writes
 * each as one transaction on a thread of its own. Only
 * writer.c uses it.
 */

struct film_disk;

/*
 * Takes over fd (a lock on the film, and its way to reserve room) and path's database, which has
 * its tables already; starts the thread. On failure nothing was taken over.
 */
int film_disk_start(const char *path, int fd, struct film_disk **disk, struct fail *why);

/* The same of a film that is in memory, as a database without a file. */
int film_disk_start_in_memory(struct film_disk **disk, struct fail *why);

/*
 * Takes over batch and returns, without waiting for the disk unless wait is set or so much is
 * queued already that memory would grow without bound. Returns the error of an earlier batch (this
 * one when waiting); then nothing more is written.
 */
int film_disk_queue(struct film_disk *disk, struct film_batch *batch, bool wait, struct fail *why);

/* Memory for the rows of the next batch, which the caller owns; null: there is none. */
struct film_spare film_disk_spare(struct film_disk *disk);

/* As film_keep_aside(). */
void film_disk_keep_aside(struct film_disk *disk);

/*
 * Writes what is queued, makes the film a single file, ends the thread and frees disk. *samples, if
 * not null, gets how many samples stand in the film.
 */
int film_disk_close(struct film_disk *disk, uint64_t *samples, struct fail *why);

/* The same of one in memory: *bytes gets what the file would hold. */
int film_disk_close_in_memory(struct film_disk *disk, struct film_bytes *bytes, struct fail *why);

/*
 * film_disk_close() will remove the film, if it holds nothing that was observed, or in any case.
 * Only for a film whose file this recording has made. replaces: a film, which then has its name
 * again.
 */
void film_disk_drop(struct film_disk *disk, bool in_any_case, bool replaces);

/* Bytes of the film after the last commit. */
uint64_t film_disk_size(const struct film_disk *disk);

#endif
