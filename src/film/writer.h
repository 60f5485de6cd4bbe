/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_WRITER_H
#define FILM_WRITER_H

#include <stdbool.h>

#include "base/fail.h"
#include "film/film.h"
#include "film/logs.h"
#include "film/gauges.h"
#include "film/works.h"

/*
 * Writes a film. All calls must come from one thread. Rows stay in memory until film_commit()
 * passes them to the writer's own thread, so that a slow disk does not delay the draining of rings.
 * After kill -9 or a power cut, the film opens with everything from the completed commits.
 *
 * Functions that return an id return 0 if memory or a table's limit is exhausted; the writer counts
 * what is lost that way among the film's losses. Strings are copied.
 */
struct film_writer;

/*
 * Creates the file at path. An existing film or empty file is replaced, any other file is refused.
 * path null: the rows are discarded, for callers that only want events. Returns 0 or a negative
 * errno with *why filled.
 */
int film_create(const char *path, const struct film_info *info, struct film_writer **w,
		struct fail *why);

/*
 * Creates a film in memory. film_close_in_memory() returns the bytes that its file would have;
 * film_size() is their present number.
 */
int film_create_in_memory(const struct film_info *info, struct film_writer **w, struct fail *why);

uint32_t film_add_event(struct film_writer *w, const struct film_event *event);
uint32_t film_add_process(struct film_writer *w, const struct film_process *process);
uint32_t film_add_thread(struct film_writer *w, const struct film_thread *thread);
uint32_t film_add_image(struct film_writer *w, const struct film_image *image);

/*
 * Keeps processes and threads in memory until film_close() writes them, compressed; a film that is
 * not closed has none of them. Call it before the first film_add_process(). The strings of these
 * rows are not copied and must live until film_close(). False: no memory.
 */
bool film_pack_rows(struct film_writer *w);

/* Replaces a row after its data changed, e.g. when a process ended or executed another file. */
void film_set_process(struct film_writer *w, uint32_t id, const struct film_process *process);
void film_set_thread(struct film_writer *w, uint32_t id, const struct film_thread *thread);

/*
 * Returns the id of the frame at a place, and adds it if needed. A place keeps its id while it is
 * used now and then. A place that was not used for long is evicted; if it comes back, it gets a
 * new, higher id and must be named again. Stacks behave alike.
 */
uint32_t film_frame(struct film_writer *w, uint32_t image, enum film_frame_kind kind,
		    uint64_t address);

/*
 * The id of a mark: a frame that says why a stack ends early, e.g. "[truncated: unreadable
 * memory]", or what is missing within it.
 */
uint32_t film_mark(struct film_writer *w, const char *name);

/* The id of a mark for something at a place, such as a file on a disk; place "": not known. */
uint32_t film_mark_at(struct film_writer *w, const char *name, const char *place);

/* The id of the stack that consists of parent and frame; the same pair has the same id. */
uint32_t film_stack(struct film_writer *w, uint32_t parent, uint32_t frame, enum film_how how);

/*
 * Names a frame. names[0] is the innermost function at the frame's address; each further one is the
 * function into which the one before was inlined; the last is the symbol's function. file may be
 * null or "". Naming a frame again replaces its names.
 */
struct film_name {
	const char *function;
	const char *file;
	uint32_t line;
};
void film_name_frame(struct film_writer *w, uint32_t frame, const struct film_name *names,
		     size_t count);

/*
 * Sets the address at which the function of a frame (at address) begins: not 0, and not above
 * address. A name overrides it, whichever is set first.
 */
void film_start_frame(struct film_writer *w, uint32_t frame, uint64_t address, uint64_t start);

/* Adds a sample of which it is not known on which CPU it was made. */
void film_sample(struct film_writer *w, uint32_t event, uint64_t time, uint32_t thread,
		 uint32_t stack, uint64_t value);

/* Adds a sample of which more may be known. */
void film_sample_row(struct film_writer *w, uint32_t event, const struct film_sample *sample);

/*
 * Adds a call of a traced function. The calls of one thread must come in the order of their ends.
 */
void film_call(struct film_writer *w, uint32_t event, const struct film_call *call);

/*
 * Adds a wait. The event's unit must be ns, and the event must have no samples: readers see its
 * waits as samples (end, duration).
 */
void film_wait(struct film_writer *w, uint32_t event, const struct film_wait *wait);

/* Adds a wait for a lock, by the same rules. */
void film_lock(struct film_writer *w, uint32_t event, const struct film_lock *lock);

/*
 * Adds a turn of a thread, which begins where the thread's last turn ended. Turns must come in the
 * order of their ends, except that those between two commits may come in any order. A turn longer
 * than FILM_TURN_MAX is cut.
 */
void film_turn(struct film_writer *w, uint32_t event, const struct film_turn *turn);

/* Adds a part of the memory that a process holds at one moment. */
void film_held(struct film_writer *w, uint32_t event, const struct film_held *held);

/* Adds a request that has ended, or that is no longer followed. */
void film_request(struct film_writer *w, uint32_t event, const struct film_request *request);

/*
 * Adds the arguments and results of a call that is also passed to film_call(): all of its rows at
 * once, sorted by place.
 */
void film_values(struct film_writer *w, uint32_t event, const struct film_value *values,
		 size_t count);

/* Adds a gauge of the machine. */
void film_gauge(struct film_writer *w, uint32_t event, const struct film_gauge *gauge);

/* Adds a kernel or copy that a device ran. */
void film_work(struct film_writer *w, uint32_t event, const struct film_work *work);

/* Adds all parts of a log line. */
void film_log(struct film_writer *w, uint32_t event, const struct film_log *parts, size_t count);

/* Adds the cost of tracing the function at a frame; may be called again with a new cost. */
void film_probe(struct film_writer *w, uint32_t event, const struct film_probe *probe);

/*
 * Adds sums of a function's calls since the last call for that function. [from, to) is the time
 * that they cover.
 */
void film_sum(struct film_writer *w, uint32_t event, uint64_t from, uint64_t to,
	      const struct film_sum *sum);

/* Sets the count of a loss: the total since the start, not an increment. */
void film_loss(struct film_writer *w, uint32_t event, const char *reason, uint64_t count);
/* The sum of all losses, including rows for which the film had no room. */
uint64_t film_lost(const struct film_writer *w);
/*
 * Sets for how many ms something was not observed, and why. film_lost() does not include it.
 * film_unseen_ms() returns the longest of these times.
 */
void film_unseen(struct film_writer *w, uint32_t event, const char *reason, uint64_t ms);
uint64_t film_unseen_ms(const struct film_writer *w);

/*
 * Makes w the successor of before. Callers keep passing losses as totals over all films; w stores
 * the increase since before, or, if before is not kept in a file, since its own predecessor. False:
 * no memory.
 */
bool film_continue(struct film_writer *w, const struct film_writer *before);

/*
 * For a film that is read while it grows, and whose frames are named some time after the samples
 * that have them. Call film_names_follow() once at the beginning. film_names_settled() declares the
 * names of all frames so far final; readers see that with the next commit. film_close() declares it
 * for all frames.
 */
void film_names_follow(struct film_writer *w);
void film_names_settled(struct film_writer *w);

/*
 * Sets the time (CLOCK_MONOTONIC, ns) from which events can be recorded; the default is the film's
 * creation. Call it before the first event.
 */
void film_begins(struct film_writer *w, uint64_t start);

/*
 * The same for the first film of a recording some of whose probes are attached already: events
 * before that time are left out, waits and turns are cut to begin then.
 */
void film_begins_anew(struct film_writer *w, uint64_t start);

/*
 * Allows the last ten commits to stay in the side file (the WAL), which saves most of the disk's
 * work. Call it before the first commit, and only for a film that is never copied without its side
 * file while it grows.
 */
void film_keep_aside(struct film_writer *w);

/*
 * Queues everything so far for the disk. now becomes the film's end. Waits for the disk only if
 * wait is set, or if 64 MB are queued. Returns 0, or the error of this or an earlier commit (e.g. a
 * full disk). After an error nothing more is written, earlier commits stay, and film_close() is
 * still required.
 */
int film_commit(struct film_writer *w, uint64_t now, bool wait, struct fail *why);

/* Commits, merges the side files into the film, and frees w, also after an error. */
int film_close(struct film_writer *w, uint64_t now, struct fail *why);

/*
 * The same for a film whose recording failed. A film without observations is removed, and with
 * in_any_case one with observations, too, unless its file existed before, empty. A film that it had
 * replaced gets its name back.
 */
void film_close_failed(struct film_writer *w, uint64_t now, bool in_any_case);

/*
 * The same. *samples gets the number of samples that the film really has: those of completed
 * commits, or 0 if the file was removed meanwhile.
 */
int film_close_counted(struct film_writer *w, uint64_t now, uint64_t *samples, struct fail *why);

/* The bytes of a film that is not in a file. */
struct film_bytes {
	void *at;
	size_t size;
};
void film_bytes_free(struct film_bytes *bytes); /* a struct that is all zero is allowed */

/*
 * As film_close(), for a film in memory. The caller owns *bytes, which is all zero after an error.
 */
int film_close_in_memory(struct film_writer *w, uint64_t now, struct film_bytes *bytes,
			 struct fail *why);

/* Size of the film at the last commit, in bytes. */
uint64_t film_size(const struct film_writer *w);

/* How many processes, threads … were added. */
struct film_counts film_row_counts(const struct film_writer *w);

/*
 * Opens an existing film to name its frames ("stackcam resolve"). Only film_name_frame(),
 * film_start_frame(), film_loss() with event 0, film_commit() and film_close() may be called on the
 * result.
 */
int film_open_for_naming(const char *path, struct film_writer **w, struct fail *why);

#endif
