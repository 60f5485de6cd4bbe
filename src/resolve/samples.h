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
 * Turns records of the probes into samples of a film: tracks processes, finishes stacks that were
 * handed over, and finds the film's rows for threads, frames and stacks. Records and events must
 * come in one common order of time.
 */
struct samples;
struct probes;
struct walkers;

struct samples_options {
	struct probes *probes;	 /* loaded */
	struct far_files *far;	 /* opens files of targets; may be null */
	struct walkers *walkers; /* of the probes; null: no probe walks stacks */
	uint64_t tables_limit;	 /* most bytes of unwind tables */
	unsigned int rate;	 /* expected samples per second and CPU */
	struct symbol_options symbols;
	/* not the whole machine is recorded, so most process events can be skipped */
	bool few_processes;
	/*
	 * Called when a process maps an image (also for images that it had mapped before it was
	 * known, and maybe several times for one image), executes another program, or ends. Each
	 * may be null.
	 */
	void (*image_new)(void *context, pid_t pid, const struct image *image);
	void (*program_new)(void *context, const struct process *process);
	void (*process_gone)(void *context, const struct process *process);
	void *context;
};

int samples_new(const struct samples_options *options, struct film_writer *film,
		struct samples **samples, struct fail *why);
void samples_free(struct samples *samples);

/* Handles a process event: fork, exec, mmap, exit … */
void samples_event(struct samples *samples, const struct target_event *event);

/*
 * Marks all known mappings as doubtful, to be read again when needed: events were lost, or files
 * that could not be opened can be opened now.
 */
void samples_events_lost(struct samples *samples);

/* The film's ids of a thread and its stack; 0: the film is full. */
struct samples_place {
	uint32_t thread, stack;
};

/*
 * Finds the thread and the stack of a record. handover: the last one from the same ring, or null;
 * its memory is modified. The caller adds the sample, at once, later, or never.
 */
struct samples_place samples_resolve(struct samples *samples, const struct capture_record *record,
				     const struct capture_handover *handover);

struct stack_frames;

/*
 * A resolved stack of user code in words that outlast its film. Not for what a process loads and
 * unloads all the time: whether the same code is still there is known by its file alone.
 */
struct samples_again {
	uint32_t pid;
	enum unwind_end end;
	uint32_t count;
	uint64_t time;	  /* of the record */
	uint64_t context; /* as in struct capture_record */
	uint64_t places;  /* hash of where the code is from */
	const uint64_t *words;
};

/*
 * What samples_resolve() has resolved last, for that record; the words are valid until the next
 * one. False: it has frames of the kernel, or its process is not known.
 */
bool samples_last(const struct samples *samples, const struct capture_record *record,
		  struct samples_again *again);

/*
 * The stack in the present film, and appends its frames, if that is not null. 0: other code is
 * there now, the process is gone, or the film is full.
 */
uint32_t samples_resolve_again(struct samples *samples, const struct samples_again *again,
			       struct stack_frames *frames);

/* Pushes frames of this film towards the leaf of a stack. 0: the film is full. */
uint32_t samples_push_frames(struct samples *samples, uint32_t stack,
			     const struct stack_frames *frames);

/*
 * A resolved stack and everything that it depends on; all zero: none. Not for stacks with frames of
 * a language runtime, whose code moves.
 */
struct samples_known {
	uint32_t stack;
	uint32_t film;	     /* number of the film, from 1 */
	uint32_t generation; /* generation of the process's mappings */
	bool complete;
};

/*
 * samples_resolve() with a cache, for a record whose stack is the same as the one in *known. If
 * nothing about the process has changed, the result is reused. Otherwise, and the first time, the
 * stack is resolved and stored in *known.
 */
struct samples_place samples_resolve_known(struct samples *samples,
					   const struct capture_record *record,
					   const struct capture_handover *handover,
					   struct samples_known *known);

/* A stack with a mark at its leaf, for something that its code does not show. */
uint32_t samples_words(struct samples *samples, uint32_t stack, const char *words);

/* The mark (a frame) with this text; 0: the film is full. */
uint32_t samples_mark(struct samples *samples, const char *words);
/* The same for something at a place, such as a file on a disk; place "": not known. */
uint32_t samples_mark_at(struct samples *samples, const char *words, const char *place);

/* Adds a sample of an event, with a place that was found for the present film. */
void samples_add(struct samples *samples, uint32_t event, uint64_t time,
		 const struct samples_place *place, uint64_t value);

/* Counts a row of the film that has no stack as a complete sample. */
void samples_count_row(struct samples *samples);

/*
 * samples_resolve() and samples_add(), for a record that already has its value. The sample has the
 * record's CPU.
 */
void samples_add_record(struct samples *samples, uint32_t event,
			const struct capture_record *record,
			const struct capture_handover *handover);

/* The film's id of a thread; 0: the film is full. */
uint32_t samples_thread(struct samples *samples, const struct capture_identity *identity);

/* The same for another thread of a process that is filmed: its number and name, and about when it
   was born. */
uint32_t samples_other_thread(struct samples *samples, pid_t pid, pid_t tid, uint64_t start,
			      const char comm[16]);

/*
 * Adds a row for a lane that is not a thread, e.g. a goroutine of a recorded process; 0: the film
 * is full, or the process is not recorded.
 */
uint32_t samples_lane(struct samples *samples, pid_t pid, uint64_t number, uint64_t start,
		      const char *name);

/* The 64-bit words of the user stack that samples_resolve() resolved last, leaf first. */
const uint64_t *samples_last_words(const struct samples *samples, uint32_t *count);

/* From now on remembers the lock functions of language runtimes on the last stack. */
void samples_keep_codes(struct samples *samples);
struct lock_frames samples_last_codes(const struct samples *samples);

/* As targets_has_thread(). */
bool samples_has_thread(struct samples *samples, pid_t pid, pid_t tid, uint64_t since,
			char comm[16]);

/* The film's id of the frame for a variable at an address of an image; 0: the film is full. */
uint32_t samples_variable(struct samples *samples, const struct image *image, uint64_t address,
			  const char *name);

/* As runtimes_vthreads(), for a process. */
int samples_vthreads(struct samples *samples, pid_t pid, uint32_t object,
		     struct vthreads_process *to, struct fail *why);

/*
 * As runtimes_locks(), runtimes_lock_thread(), runtimes_lock_owner() and runtimes_park_class(), for
 * a process.
 */
bool samples_locks(struct samples *samples, pid_t pid, struct runtimes_lock *locks);
bool samples_lock_thread(struct samples *samples, pid_t pid, uint64_t thread);
uint32_t samples_lock_owner(struct samples *samples, pid_t pid, uint64_t owner);
bool samples_park_class(struct samples *samples, pid_t pid, uint64_t klass);

/* As runtimes_class_name(), for a process. */
bool samples_class_name(struct samples *samples, pid_t pid, uint64_t klass, char *to, size_t size);

/* As runtimes_spans(), for a process, whose runtimes are detected first if needed. */
void samples_spans(struct samples *samples, pid_t pid, const struct runtime_memory *memory,
		   struct runtime_spans *spans);

/* What is known about a process; null: it ended before anything was known. */
const struct process *samples_process(struct samples *samples, pid_t pid);

/* Calls emit() for each known process; some have ended. */
void samples_each_process(const struct samples *samples,
			  void (*emit)(void *context, const struct process *process),
			  void *context);

/* The time at which an ended process ended; now, if that is not known. */
uint64_t samples_end_of(struct samples *samples, pid_t pid);

/*
 * Tracks the events of a process and of its children from now on, so that its first sample's stack
 * can be walked.
 */
void samples_follow(struct samples *samples, pid_t pid);

/* Tracks a process and calls emit() for each image that it maps. */
void samples_each_image(struct samples *samples, pid_t pid,
			void (*emit)(void *context, pid_t pid, const struct image *image),
			void *context);

/*
 * Reads which files a process maps and reports them to the listeners, without preparing for its
 * stacks.
 */
void samples_meet(struct samples *samples, pid_t pid);

/*
 * As samples_follow(), and builds the unwind tables of all images of the process now. Use it if
 * more threads will send stacks at the same time than there is room to hand over.
 */
void samples_follow_all(struct samples *samples, pid_t pid);

/*
 * Announces that code at an address of a process will be on stacks, and reads now what unwinding it
 * needs. Otherwise the first stacks would lack the frames of its language, and further ones might
 * find no room meanwhile.
 */
void samples_expect(struct samples *samples, pid_t pid, uint64_t address);

/* Call it about once a second with the time up to which all records were handled. */
void samples_tidy(struct samples *samples, uint64_t now);

/*
 * Announces that a program will be executed from these files. If one of them has a language
 * runtime, they are read now, because the first stacks of a language are handed over without its
 * frames.
 */
void samples_expect_program(struct samples *samples, const struct program *program);

/*
 * Call it repeatedly while a process starts: publishes its mappings to the kernel side at once if
 * it has a language runtime.
 */
void samples_follow_begin(struct samples *samples, pid_t pid);

/*
 * Call it before each batch of records: it starts a new round of the allowance for reading files
 * (allowance.h).
 */
void samples_next_round(struct samples *samples);

/* Names some of the unnamed frames. Call it after each batch of records. */
void samples_name_early(struct samples *samples, uint64_t now);
bool samples_settle_names(struct samples *samples, uint64_t now); /* as names_settle() */

/* Names all unnamed frames, at the film's end. */
void samples_name_all(struct samples *samples);

/* The same after the recording's end, with a fresh allowance for reading files. */
void samples_name_last(struct samples *samples);

/* Continues with another film; all frames of the previous one must be named. */
void samples_turn(struct samples *samples, struct film_writer *film);

#define SAMPLES_REFUSAL_MAX 160

struct samples_statistics {
	uint64_t samples, complete, handed_over;
	uint64_t rows; /* samples without a stack */
	/*
	 * by enum capture_source: samples of processes that ended before anything was known about
	 * them
	 */
	uint64_t strangers[CAPTURE_SOURCE_COUNT];
	uint64_t stale; /* stacks cut because mappings changed during the walk */
	uint64_t unreadable_files, refused;
	uint64_t unanswered; /* requests for files whose file system did not answer */
	uint64_t frames_wanted, frames_named;
	char refusal[SAMPLES_REFUSAL_MAX]; /* see runtimes_refusal() */
	struct spaces_statistics tables;
};
void samples_statistics(const struct samples *samples, struct samples_statistics *statistics);

#endif
