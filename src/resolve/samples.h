/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_SAMPLES_H
#define RESOLVE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/capture/abi.h"
#include "resolve/runtimes.h"
#include "resolve/spaces.h"
#include "film/writer.h"
#include "symbol/symbols.h"
#include "process/program.h"
#include "process/targets.h"

/*
 * Turns records of the probes into samples of a film: follows the lives of processes, finishes
 * stacks that were handed over, and finds the film's rows for threads, frames and stacks. Records
 * and events must be given in one common order of time.
 */
struct samples;
struct probes;
struct walkers;

struct samples_options {
	struct probes *probes;	 /* loaded */
	struct far_files *far;	 /* opens files of targets; may be null */
	struct walkers *walkers; /* of them; null: none walks a stack */
	uint64_t tables_limit;	 /* bytes */
	unsigned int rate;	 /* samples that come in per second and CPU */
	struct symbol_options symbols;
	bool few_processes; /* not the whole machine: most events are of no interest */
	/*
	 * Further listeners, for images that a process maps (also of those that it had mapped
	 * when it became known, and again of the same), of processes that run another program, and
	 * of those that end.
	 */
	void (*image_new)(void *context, pid_t pid, const struct image *image);
	void (*program_new)(void *context, const struct process *process);
	void (*process_gone)(void *context, const struct process *process);
	void *context;
};

int samples_new(const struct samples_options *options, struct film_writer *film,
		struct samples **samples, struct fail *why);
void samples_free(struct samples *samples);

/* Something happened in the life of a process. */
void samples_event(struct samples *samples, const struct target_event *event);

/*
 * Events were lost, or files can be opened that could not be: what is known of mappings may be
 * wrong, and is read again when needed.
 */
void samples_events_lost(struct samples *samples);

/* The film's rows for a thread and its stack; 0: the film is full. */
struct samples_place {
	uint32_t thread, stack;
};

/*
 * Finds the place of a record. handover: the last one that came by the same ring, or null; its
 * memory may be changed. What becomes of the place is the caller's: its value may come later, or
 * never.
 */
struct samples_place samples_resolve(struct samples *samples, const struct capture_record *record,
				     const struct capture_handover *handover);

/*
 * The place of a stack, and all that it depends on; all zero: it has none. Without frames of a
 * runtime, whose code comes and goes.
 */
struct samples_known {
	uint32_t stack;
	uint32_t film;	     /* which one, from 1 */
	uint32_t generation; /* of the process's mappings */
	bool complete;
};

/*
 * samples_resolve() of a record with the same stack as before: if nothing that is known of the
 * process has changed, its place is the same, too. Else, and the first time, it is found as always,
 * and kept in *known.
 */
struct samples_place samples_resolve_known(struct samples *samples,
					   const struct capture_record *record,
					   const struct capture_handover *handover,
					   struct samples_known *known);

/* The stack with words on top, as a frame: what no code of its tells. */
uint32_t samples_words(struct samples *samples, uint32_t stack, const char *words);

/* The frame, a mark, with these words; 0: the film is full. */
uint32_t samples_mark(struct samples *samples, const char *words);
/* The same of what lies somewhere, as a file does on a disk; "": it is not known where. */
uint32_t samples_mark_at(struct samples *samples, const char *words, const char *place);

/* One sample of an event of the film: at a place that was found for this film. */
void samples_add(struct samples *samples, uint32_t event, uint64_t time,
		 const struct samples_place *place, uint64_t value);

/* An observation that has no stack to be walked is in the film: counts as a complete one. */
void samples_count_row(struct samples *samples);

/* Both at once, for a record that has its value. */
void samples_take(struct samples *samples, uint32_t event, const struct capture_record *record,
		  const struct capture_handover *handover);

/* The film's row for a thread; 0: the film is full. */
uint32_t samples_thread(struct samples *samples, const struct capture_identity *identity);

/* The same for another thread of a process that is filmed: its number and name, and about when it
   was born. */
uint32_t samples_other_thread(struct samples *samples, pid_t pid, pid_t tid, uint64_t start,
			      const char comm[16]);

/*
 * A new row for what has a lane beside the threads of such a process, a goroutine say; 0: the film
 * is full, or it is not filmed.
 */
uint32_t samples_lane(struct samples *samples, pid_t pid, uint64_t number, uint64_t start,
		      const char *name);

/* The words of the user stack that samples_resolve() has just resolved, leaf first. */
const uint64_t *samples_last_words(const struct samples *samples, uint32_t *count);

/* From now on keeps what functions of language runtimes on the last stack are. */
void samples_keep_codes(struct samples *samples);
struct lock_frames samples_last_codes(const struct samples *samples);

/* targets_has_thread() */
bool samples_has_thread(struct samples *samples, pid_t pid, pid_t tid, uint64_t since,
			char comm[16]);

/* The film's row for a variable of an image, by its address there; 0: the film is full. */
uint32_t samples_variable(struct samples *samples, const struct image *image, uint64_t address,
			  const char *name);

/* runtimes_vthreads() of a process. */
int samples_vthreads(struct samples *samples, pid_t pid, uint32_t object,
		     struct vthreads_process *to, struct fail *why);

/*
 * runtimes_locks(), runtimes_lock_thread(), runtimes_lock_owner() and runtimes_park_class() of a
 * process.
 */
bool samples_locks(struct samples *samples, pid_t pid, struct runtimes_lock *locks);
bool samples_lock_thread(struct samples *samples, pid_t pid, uint64_t thread);
uint32_t samples_lock_owner(struct samples *samples, pid_t pid, uint64_t owner);
bool samples_park_class(struct samples *samples, pid_t pid, uint64_t klass);

/* runtimes_class_name() */
bool samples_class_name(struct samples *samples, pid_t pid, uint64_t klass, char *to, size_t size);

/* runtimes_spans() of a process, whose runtimes are looked for if they were not before. */
void samples_spans(struct samples *samples, pid_t pid, const struct runtime_memory *memory,
		   struct runtime_spans *spans);

/* The process as far as it is known; null: it was gone before. */
const struct process *samples_process(struct samples *samples, pid_t pid);

/* Each process that is known; some have ended. */
void samples_each_process(const struct samples *samples,
			  void (*take)(void *context, const struct process *process),
			  void *context);

/* When a process ended that is seen to have: now, if that is not known. */
uint64_t samples_end_of(struct samples *samples, pid_t pid);

/*
 * The events of this process, and of what it forks, are of interest from now on; its stacks can be
 * walked with the first sample.
 */
void samples_follow(struct samples *samples, pid_t pid);

/* Follows it, and tells of all images that it maps, one by one. */
void samples_each_image(struct samples *samples, pid_t pid,
			void (*take)(void *context, pid_t pid, const struct image *image),
			void *context);

/* Reads which files a process has mapped, and tells of them; of its stacks nothing is read. */
void samples_meet(struct samples *samples, pid_t pid);

/*
 * The same, and the tables of all that the process has mapped are made now: that many of its
 * threads will tell of their stacks at the same time that there would be no room to hand them over.
 */
void samples_follow_all(struct samples *samples, pid_t pid);

/*
 * Code at an address of a process will be in stacks: what must be read to walk through it is read
 * now. A stack for which that is done later lacks the frames of its language, and those that come
 * meanwhile may find no room.
 */
void samples_expect(struct samples *samples, pid_t pid, uint64_t address);

/* To be called about once a second with the time up to which all was given in. */
void samples_tidy(struct samples *samples, uint64_t now);

/*
 * A program will be executed soon, from these files: where one of them has a language runtime, they
 * are read now, as the first stacks of a language are handed over without its frames.
 */
void samples_expect_program(struct samples *samples, const struct program *program);

/*
 * To be called again and again while a process begins: shows the kernel side at once what it has
 * mapped, if it has a language runtime.
 */
void samples_follow_begin(struct samples *samples, pid_t pid);

/* Another batch of records is taken: there is time again to read files for it (allowance.h). */
void samples_next_round(struct samples *samples);

/* Names some of what is not named yet; to be called after each batch of records. */
void samples_name_early(struct samples *samples, uint64_t now);
bool samples_settle_names(struct samples *samples, uint64_t now); /* names_settle() */

/* Names what is not named yet, for the film's end. */
void samples_name_all(struct samples *samples);

/* The same when nothing is filmed any more: time for reading files is as it was at the begin. */
void samples_name_last(struct samples *samples);

/* Goes on with another film; all of the one before has its name. */
void samples_turn(struct samples *samples, struct film_writer *film);

#define SAMPLES_REFUSAL_MAX 160

struct samples_statistics {
	uint64_t samples, complete, handed_over;
	uint64_t rows; /* of the samples those that have no stack of their own */
	/*
	 * by enum capture_source: samples of processes that were gone before anything was known of
	 * them
	 */
	uint64_t strangers[CAPTURE_SOURCE_COUNT];
	uint64_t stale; /* stacks cut since mappings changed under them */
	uint64_t unreadable_files, refused;
	uint64_t unanswered; /* questions about files whose file system did not answer */
	uint64_t frames_wanted, frames_named;
	char refusal[SAMPLES_REFUSAL_MAX]; /* runtimes_refusal() */
	struct spaces_statistics tables;
};
void samples_statistics(const struct samples *samples, struct samples_statistics *statistics);

#endif
