/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_WRITER_H
#define FILM_WRITER_H

#include <stdbool.h>

#include "base/fail.h"
#include "film/film.h"

/*
 * Writes a film. All calls are made from one thread. What is given to the writer is in memory until
 * film_commit() hands it to a thread of the writer's own, so that a slow disk never holds up the
 * draining of rings; after kill -9 or a power cut the film opens with everything of the commits
 * that were finished.
 *
 * Functions that return an id return 0 when memory or the limit of a table is exhausted; what is
 * lost that way is counted by the writer and shows up among the film's losses.
 * Strings are copied.
 */
struct film_writer;

/*
 * Creates path, replacing a film (and nothing but a film or an empty file) that is there.
 * Returns 0 or a negative errno with *why filled.
 */
int film_create(const char *path, const struct film_info *info, struct film_writer **w,
		struct fail *why);

uint32_t film_add_event(struct film_writer *w, const struct film_event *event);
uint32_t film_add_process(struct film_writer *w, const struct film_process *process);
uint32_t film_add_thread(struct film_writer *w, const struct film_thread *thread);
uint32_t film_add_image(struct film_writer *w, const struct film_image *image);

/* Writes a row again that became known better, e.g. when a process ended or executed another file. */
void film_set_process(struct film_writer *w, uint32_t id, const struct film_process *process);
void film_set_thread(struct film_writer *w, uint32_t id, const struct film_thread *thread);

/* The frame for this place: the same id for the same place each time. */
uint32_t film_frame(struct film_writer *w, uint32_t image, enum film_frame_kind kind,
		    uint64_t address);

/* The frame that marks why a stack ends early, e.g. "[truncated: unreadable memory]". */
uint32_t film_mark(struct film_writer *w, const char *name);

/* The stack parent plus frame: the same id for the same pair each time. */
uint32_t film_stack(struct film_writer *w, uint32_t parent, uint32_t frame, enum film_how how);

/*
 * Names a frame. names[0] is the innermost function at the frame's address; each next one is the
 * function it was inlined into; the last is the one that stands in the symbol table. file may be
 * null or "". Naming a frame again replaces what it was called.
 */
struct film_name {
	const char *function;
	const char *file;
	uint32_t line;
};
void film_name_frame(struct film_writer *w, uint32_t frame, const struct film_name *names,
		     size_t count);

/*
 * Tells the address where the function of a frame begins: not 0, and not behind the frame's own. A
 * name says more, whichever is told first.
 */
void film_start_frame(struct film_writer *w, uint32_t frame, uint64_t start);

void film_sample(struct film_writer *w, uint32_t event, uint64_t time, uint32_t thread,
		 uint32_t stack, uint64_t value);

/* Sets the count of a loss (a total since the start, not an increment). */
void film_loss(struct film_writer *w, uint32_t event, const char *reason, uint64_t count);

/*
 * Hands everything so far to the disk. now becomes the film's end. Does not wait for the disk, unless
 * wait is set, or the disk is so far behind that 64 MB are queued for it. Returns 0, or the error of
 * this or an earlier commit (a full disk, say); then nothing more is written, what was committed
 * before stays, and film_close() is still needed.
 */
int film_commit(struct film_writer *w, uint64_t now, bool wait, struct fail *why);

/* Commits, makes the film a single file without side files, and frees w, in every case. */
int film_close(struct film_writer *w, uint64_t now, struct fail *why);

/* Bytes of the film on disk at the last commit. */
uint64_t film_size(const struct film_writer *w);

/*
 * Opens an existing film to name its frames ("stackcam resolve"): only film_name_frame(),
 * film_start_frame(), film_commit() and film_close() may be called on the result.
 */
int film_open_for_naming(const char *path, struct film_writer **w, struct fail *why);

#endif
