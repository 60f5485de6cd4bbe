/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_WRITER_H
#define FILM_WRITER_H

#include <stdbool.h>

#include "base/fail.h"
#include "film/film.h"
#include "film/logs.h"
#include "film/gauges.h"

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
 * Creates path, replacing a film (and nothing but a film or an empty file) that is there. path
 * null: no file keeps the film; callers that only look at events need none, but what records does.
 * Returns 0 or a negative errno with *why filled.
 */
int film_create(const char *path, const struct film_info *info, struct film_writer **w,
		struct fail *why);

/*
 * The same of a film in memory, which film_close_taking() gives as the bytes that its file would
 * have; film_size() says how many there are by then.
 */
int film_create_in_memory(const struct film_info *info, struct film_writer **w, struct fail *why);

uint32_t film_add_event(struct film_writer *w, const struct film_event *event);
uint32_t film_add_process(struct film_writer *w, const struct film_process *process);
uint32_t film_add_thread(struct film_writer *w, const struct film_thread *thread);
uint32_t film_add_image(struct film_writer *w, const struct film_image *image);

/*
 * To be called before the first of them: processes and threads are kept until film_close(), which
 * packs them; a film that is not closed has none. Their strings are not copied, and must live until
 * then. False: no memory.
 */
bool film_pack_rows(struct film_writer *w);

/*
 * Writes a row again that became known better, e.g. when a process ended or executed another file.
 */
void film_set_process(struct film_writer *w, uint32_t id, const struct film_process *process);
void film_set_thread(struct film_writer *w, uint32_t id, const struct film_thread *thread);

/*
 * The frame for this place: the same id for the same place as long as it is used now and then. A
 * place that was not used for long is forgotten, and is another frame when it comes back, which
 * must be named again; its ids are higher than all before. The same is true of stacks.
 */
uint32_t film_frame(struct film_writer *w, uint32_t image, enum film_frame_kind kind,
		    uint64_t address);

/*
 * The frame that marks why a stack ends early, e.g. "[truncated: unreadable memory]", or what is
 * missing within it.
 */
uint32_t film_mark(struct film_writer *w, const char *name);

/* The same of what lies somewhere, as a file does on a disk; place "": it is not known where. */
uint32_t film_mark_at(struct film_writer *w, const char *name, const char *place);

/* The stack parent plus frame: the same id for the same pair. */
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
 * Tells the address where the function of a frame begins: not 0, and not behind the frame's own,
 * address. A name says more, whichever is given first.
 */
void film_start_frame(struct film_writer *w, uint32_t frame, uint64_t address, uint64_t start);

void film_sample(struct film_writer *w, uint32_t event, uint64_t time, uint32_t thread,
		 uint32_t stack, uint64_t value);

/* A call of a traced function. Those of one thread are given in the order in which they ended. */
void film_call(struct film_writer *w, uint32_t event, const struct film_call *call);

/*
 * A wait. Its event is one of time, and has no samples besides: callers that ask for samples get
 * waits, as such (their end, their duration).
 */
void film_wait(struct film_writer *w, uint32_t event, const struct film_wait *wait);

/* A wait for a lock: the same. */
void film_lock(struct film_writer *w, uint32_t event, const struct film_lock *lock);

/*
 * A turn of a thread, which begins where its last one ended; in order of their end, but for
 * what comes between two commits. What took longer than FILM_TURN_MAX is cut.
 */
void film_turn(struct film_writer *w, uint32_t event, const struct film_turn *turn);

/* A part of what a process holds at a moment. */
void film_held(struct film_writer *w, uint32_t event, const struct film_held *held);

/* A request that is over, or will not be followed any further. */
void film_request(struct film_writer *w, uint32_t event, const struct film_request *request);

/*
 * The values of a call that film_call() is given, too: all its rows together, in the order of
 * their places.
 */
void film_values(struct film_writer *w, uint32_t event, const struct film_value *values,
		 size_t count);

/* A value of the machine. */
void film_gauge(struct film_writer *w, uint32_t event, const struct film_gauge *gauge);

/* The parts of a line of a log, all of them. */
void film_log(struct film_writer *w, uint32_t event, const struct film_log *parts, size_t count);

/* What tracing the function at that frame costs; may be told again. */
void film_probe(struct film_writer *w, uint32_t event, const struct film_probe *probe);

/*
 * Sums of a function since its sums that were given before. from, to: the time that they
 * cover.
 */
void film_sum(struct film_writer *w, uint32_t event, uint64_t from, uint64_t to,
	      const struct film_sum *sum);

/* Sets the count of a loss (a total since the start, not an increment). */
void film_loss(struct film_writer *w, uint32_t event, const char *reason, uint64_t count);
/* The sum of all of them, those that the film itself had no room for included. */
uint64_t film_lost(const struct film_writer *w);
/*
 * Sets for how long something was not seen, ms, as reason says: a loss that film_lost() does not
 * have. film_unseen_ms() is the longest of them.
 */
void film_unseen(struct film_writer *w, uint32_t event, const char *reason, uint64_t ms);
uint64_t film_unseen_ms(const struct film_writer *w);

/*
 * w goes on where the film of before ended: losses are given as totals over both, of which w keeps
 * what is more than before had; if before is kept nowhere, than those before it had. False: no
 * memory.
 */
bool film_continue(struct film_writer *w, const struct film_writer *before);

/*
 * For a film that is read while it grows: its frames get their names some time after the samples
 * that have them. film_names_follow(), once, says so; film_names_settled() says that all frames so
 * far have got theirs, or will have none. The next commit tells the readers; film_close() does it
 * for all.
 */
void film_names_follow(struct film_writer *w);
void film_names_settled(struct film_writer *w);

/*
 * The time (CLOCK_MONOTONIC, ns) from which events can be recorded, once that is known: until then
 * a film begins when it was made. Before the first event.
 */
void film_begins(struct film_writer *w, uint64_t start);

/*
 * The same of the first film of a recording, some of whose probes are in already: what began before
 * that time is left out; of waits and turns, what is before it.
 */
void film_begins_anew(struct film_writer *w, uint64_t start);

/*
 * Before the first commit, of a film that no program copies without its side file while it grows:
 * the last ten commits may stay in that one. To have each in the film's own file takes most of the
 * work of the disk.
 */
void film_keep_aside(struct film_writer *w);

/*
 * Hands everything so far to the disk. now becomes the film's end. Does not wait for the disk,
 * unless wait is set, or the disk is so far behind that 64 MB are queued for it. Returns 0, or the
 * error of this or an earlier commit (a full disk, say); then nothing more is written, what was
 * committed before stays, and film_close() is still needed.
 */
int film_commit(struct film_writer *w, uint64_t now, bool wait, struct fail *why);

/* Commits, makes the film a single file without side files, and frees w, in every case. */
int film_close(struct film_writer *w, uint64_t now, struct fail *why);

/*
 * The same of a film whose recording failed. One in which nothing was observed is removed, or
 * one with data, too, if the caller says so; but not where its file was there before, empty. What
 * it has replaced has its name again.
 */
void film_close_failed(struct film_writer *w, uint64_t now, bool in_any_case);

/*
 * The same. *samples gets how many of the samples that were given stand in the film: those of
 * commits that were finished, none of a film that someone removed.
 */
int film_close_counted(struct film_writer *w, uint64_t now, uint64_t *samples, struct fail *why);

/* A film that is not in a file. */
struct film_bytes {
	void *at;
	size_t size;
};
void film_bytes_free(struct film_bytes *bytes); /* all zero is allowed */

/* As film_close(), of a film in memory: *bytes is the caller's; all zero after an error. */
int film_close_taking(struct film_writer *w, uint64_t now, struct film_bytes *bytes,
		      struct fail *why);

/* Bytes of the film on disk at the last commit. */
uint64_t film_size(const struct film_writer *w);

/*
 * Opens an existing film to name its frames ("stackcam resolve"): only film_name_frame(),
 * film_start_frame(), film_loss() of no event, film_commit() and film_close() may be called on the
 * result.
 */
int film_open_for_naming(const char *path, struct film_writer **w, struct fail *why);

#endif
