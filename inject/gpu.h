/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_GPU_H
#define INJECT_GPU_H

/* What the parts of libstackcam-gpu.so share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_places.h"
#include "gpu_stubs.h"

#define GPU_SECOND_NS 1000000000u

/* Functions of the process's C library. */
extern void *dlsym(void *library, const char *name) __attribute__((weak));

/* Fills functions with those of the library, by their names; false: one is missing. */
bool gpu_find_functions(void *library, const char *const *names, void **functions, size_t count);

/* A clock of clock_gettime(), ns; and CLOCK_MONOTONIC. */
uint64_t gpu_clock(int clock);
uint64_t gpu_now(void);

/* Reports the name of a hash (gpu_name_hash()), if that was not reported before. */
void gpu_report_name(uint64_t hash, const char *name);

void gpu_report_state(enum gpu_state state, uint64_t number);

struct gpu_pause {
	int64_t seconds, ns;
};
extern int nanosleep(const struct gpu_pause *pause, void *left) __attribute__((weak));
extern int pthread_sigmask(int how, const void *set, void *before) __attribute__((weak));
#define GPU_SIGNAL_WORDS 16 /* of a set of signals */

/*
 * Acquires a lock, for at most a second: a thread of the program may hold what the profiling library
 * waits for. False: not acquired.
 */
bool gpu_lock(int *lock);
void gpu_unlock(int *lock);

/* Starts a thread of the library's own, with all signals blocked. False: there is none. */
bool gpu_start_thread(void *(*run)(void *));

/* A thread that calls gpu_flush() once a second, for ever. */
void *flush_each_second(void *unused);

/* Whether the C library has what is needed. */
bool gpu_can_run(void);

/* Begins to record. False: it is not possible, which was reported. */
bool gpu_begin(void);

/* Ends what gpu_begin() has begun, which may be called again then. */
void gpu_end(void);

/* Has the profiling library hand over its records of what has ended. */
void gpu_flush(void);

static inline uint32_t read_32(const uint8_t *at)
{
	return *(const uint32_t *)at;
}

static inline uint64_t read_64(const uint8_t *at)
{
	return *(const uint64_t *)at;
}

/* Of records of kernels and copies: where they have that. */
enum {
	RECORD_BEGIN = 16,
	RECORD_END = 24, /* behind the begin */
	COPY_BYTES = 8,
};

/* -- gpu_late.c -------------------------------------------------------------------------------- */

extern struct gpu_injection gpu_injection;

/* A recorder has put the library into a process that ran already. */
bool gpu_is_late(void);

/*
 * The recorder has a thread call these. gpu_arm() makes words lead to the stubs, the first to the
 * first; gpu_disarm() puts them back, unless a call has.
 */
struct memory_slot;
void gpu_arm(struct memory_slot *words, uint64_t most);
void gpu_disarm(void);

/* A stub calls it, with its number. */
uint64_t gpu_first_call(uint64_t number);

/* -- gpu_budget.c ------------------------------------------------------------------------------ */

/* instructions: they are sampled. */
void gpu_budget_start(bool instructions);

/* Around what is measured, which must not contain another one; begin: what the first one returned. */
uint64_t gpu_budget_begin(void);
void gpu_budget_end(uint64_t begin);

/* How long a window of instructions is, ns. */
uint64_t gpu_budget_pause(uint64_t usual);

/* Calls of one kind; every is 1 at first. The call that makes it more than due is a sample. */
struct gpu_sampler {
	uint64_t calls, due, every, window, taken;
	uint64_t weight; /* a sample counts as that many more */
};

/* Behind a sample: how many calls are passed over, and how many there shall be. */
void gpu_sampler_plan(struct gpu_sampler *sampler, uint64_t count);

/* -- gpu_instructions.c ------------------------------------------------------------------------ */

/*
 * Looks for the functions of the profiling library that sample instructions. False: the user does
 * not want that, or it lacks one.
 */
bool gpu_instructions_find(void *library);

/*
 * Begins to read samples; flush() has the profiling library report the kernels until then, which a
 * thread does all the time from here on.
 */
void gpu_instructions_start(int (*flush)(uint32_t flag));

/* Handles a callback of the domain of resources. These are enabled: */
#define GPU_DOMAIN_DRIVER   1 /* CUPTI_CB_DOMAIN_DRIVER_API */
#define GPU_DOMAIN_RESOURCE 3
#define GPU_CONTEXT_CREATED 1
#define GPU_CONTEXT_ENDS    2
#define GPU_MODULE_LOADED   6
void gpu_instructions_resource(uint32_t id, const uint8_t *data);

/* Reads all that is left. */
void gpu_instructions_end(void);

/* -- gpu_sums.c -------------------------------------------------------------------------------- */

/* A kernel or copy that has run. */
struct gpu_ran {
	uint64_t work, ns, end, bytes; /* work: hash of a name, or gpu_copy_work() */
	uint32_t number;	       /* of its launch; 0: that was not reported */
	uint32_t site;		       /* of its capture (GPU_SITE_UNKNOWN); 0: it is of no graph */
};

/* Reports a sum of several; its end is the last one's. */
void gpu_report_rest(const struct gpu_ran *sum, uint64_t count);

/* What the kernels and copies of a buffer took that are reported in sums. */
#define GPU_SUMS 256
struct gpu_sums {
	struct gpu_sum {
		struct gpu_ran of;
		uint64_t count;
	} at[GPU_SUMS];
};
void gpu_sums_begin(struct gpu_sums *sums);

/* Adds one to the sum of its work, launch and site; where all places have others, that is reported. */
void gpu_sums_add(struct gpu_sums *sums, const struct gpu_ran *ran);
void gpu_sums_report(struct gpu_sums *sums);

/* -- gpu_graphs.c ------------------------------------------------------------------------------ */

/* Has the profiling library call when nodes of graphs are made; without that, no site is known. */
void gpu_graphs_start(void *library,
		      int (*enable)(uint32_t on, void *subscriber, int domain, uint32_t id),
		      void *subscriber);

/* Handles a callback of the domain of resources, if it is of a node. False: it is not. */
bool gpu_graphs_resource(uint32_t id, const uint8_t *data);

/* Whether a call of the driver copies graphs; and it begins, or ends. */
bool gpu_graphs_is_copying(uint32_t id);
void gpu_graphs_copies(bool begins);

/* The site of a node, by the number that its records have; GPU_SITE_UNKNOWN: not known. */
uint32_t gpu_graphs_site(uint64_t node);

/* Adds what has run to the sum of its node. False: it could not. */
bool gpu_graphs_add(const struct gpu_ran *ran, uint64_t node);

/* Reports the sums of all nodes: once a second at most, unless it must be now. */
void gpu_graphs_report(bool is_now);

/* -- gpu_lanes.c -------------------------------------------------------------------------------- */

/* Whether the user wants to know when each kernel and copy ran. */
bool gpu_lanes_wanted(void);

/*
 * Adds one to those of a buffer, which are reported where they are GPU_WORKS: its record, where
 * that has the context, its hash or gpu_copy_work(), the number of its launch, 0: not reported; and its site.
 */
struct gpu_lanes {
	struct gpu_work works[GPU_WORKS];
	uint32_t count;
};
void gpu_lanes_add(struct gpu_lanes *lanes, const uint8_t *record, const uint8_t *context,
		   uint64_t work, uint32_t number, uint32_t site);

/* Behind the last one of a buffer; are_lost: others were dropped since the buffer before. */
void gpu_lanes_end(struct gpu_lanes *lanes);
void gpu_lanes_complete(uint64_t time, bool are_lost);

/* -- gpu_waits.c ------------------------------------------------------------------------------- */

/* A call that copies and waits begins, and ends; is_told: it was reported at GPU_PLACE_WAIT. */
void gpu_waits_copy_begins(uint32_t number);
void gpu_waits_copy_ends(uint32_t number, bool is_told);

/* Before the records of a buffer are added. False: they must not be, nor gpu_waits_end() called. */
bool gpu_waits_begin(void);

/*
 * Something ran: its hash or gpu_copy_work(), the number of its call, and where its record has
 * these.
 */
void gpu_waits_add_work(uint64_t work, uint32_t number, const uint8_t *begin_and_end,
			const uint8_t *context_and_stream);

/* A record of an event that the program put into a stream. */
void gpu_waits_add_event(const uint8_t *record);

/* A record of a wait; is_told: its call was reported at GPU_PLACE_WAIT. */
void gpu_waits_add(const uint8_t *record, bool is_told);

/* After them. */
void gpu_waits_end(void);

/* Reports all waits that are left. */
void gpu_waits_finish(void);

#endif
