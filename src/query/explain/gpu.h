/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_GPU_H
#define QUERY_EXPLAIN_GPU_H

#include "base/vec.h"
#include "query/explain/explain.h"
#include "query/explain/spans.h"

/*
 * Why devices (GPUs) idled. Each ns of a device's time belongs to exactly one of these kinds, so
 * that they add up to the time that is asked about.
 */
enum explain_gpu_kind {
	EXPLAIN_GPU_KERNELS,  /* at least one kernel ran */
	EXPLAIN_GPU_COPIES,   /* no kernel ran, but a copy did */
	EXPLAIN_GPU_SHORT,    /* gaps that are shorter than EXPLAIN_GPU_SHORT_NS */
	EXPLAIN_GPU_LAUNCHED, /* the next kernel or copy was launched, and had not begun */
	EXPLAIN_GPU_CPU,      /* it was not launched yet: the launching thread did something else */
	EXPLAIN_GPU_BEFORE,   /* before the first kernel or copy of the device */
	EXPLAIN_GPU_AFTER,    /* after the last one */
	EXPLAIN_GPU_UNKNOWN,  /* records were lost, or the thread or what it did is not known */
	EXPLAIN_GPU_KINDS,
};

/* What a launch and its begin take is of this order, also where the CPU does nothing else. */
#define EXPLAIN_GPU_SHORT_NS 20000u

/* Copies of one name and stack, while no kernel ran. */
struct explain_gpu_copies {
	uint32_t name, stack;
	uint64_t ns, count;
};

/* What a thread did while a device waited for its next launch. */
struct explain_gpu_launcher {
	uint32_t thread;
	vec(struct explain_span) spans;
	uint64_t ns;	      /* of these */
	uint64_t guessed;     /* of that: the launch was not sampled: it is that of the next one */
	bool is_known;	      /* x is filled: the film has the thread's life */
	struct explanation x; /* its parts add up to ns */
};

struct explain_gpu_device {
	uint32_t process, device;
	uint64_t ns[EXPLAIN_GPU_KINDS];
	uint64_t kernels, copies_count, unsampled; /* how many; whose launch was not sampled */
	uint64_t kernels_ns; /* the sum of all kernels, also of those at once */
	uint64_t shorts, longest_launched;
	vec(struct explain_gpu_copies) copies;	    /* the longest first */
	vec(struct explain_gpu_launcher) launchers; /* the longest first */
};

struct explain_gpu {
	uint64_t from, to;
	vec(struct explain_gpu_device) devices; /* by process and number */
	uint32_t *images; /* by id: whether it has FILM_ROLE_RECORDER, a set of roles */
};

/*
 * Reads what the devices of the processes that the filter selects did in its time. e: the
 * explainer of that time; null: the film has no lives of threads, so what threads did meanwhile is
 * not known. 0, or a negative errno with *why filled: -ENOENT, with what to record, if the film
 * does not have when kernels ran. explain_gpu_free() is needed in either case.
 */
int explain_gpu_make(struct explain_gpu *gpu, struct film *film, struct explainer *e,
		     const struct filter *filter, struct fail *why);
void explain_gpu_free(struct explain_gpu *gpu);

/* "kernels", "copies", "short-gaps", "launched", "not-launched", "before", "after", "unknown" */
const char *explain_gpu_kind_name(enum explain_gpu_kind kind);

#endif
