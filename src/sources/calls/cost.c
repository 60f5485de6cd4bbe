// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/cost.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "arch/cost.h"
#include "base/clock.h"
#include "bpf/calls/abi.h"
#include "sources/calls/places.h"
#include "attach/filter.h"
#include "bpf/probes.skel.h"

/*
 * Functions that do nothing but begin with an instruction of each kind (enum probe_cost); one of
 * each for each kind of exit, so that all can be probed at the same time.
 */
#define COST_FUNCTION(name, code)                                                               \
	__asm__(".pushsection .text\n"                                                          \
		".balign 16\n"                                                                  \
		".type " #name ", @function\n" #name ":\n" code ARCH_CODE_RETURN ".size " #name \
		", . - " #name "\n"                                                             \
		".popsection\n");                                                               \
	void name(void)

COST_FUNCTION(stackcam_cost_fast, ARCH_CODE_EMULATED);
COST_FUNCTION(stackcam_cost_slow, ARCH_CODE_STEPPED);
COST_FUNCTION(stackcam_cost_fast_ret, ARCH_CODE_EMULATED);
COST_FUNCTION(stackcam_cost_slow_ret, ARCH_CODE_STEPPED);
COST_FUNCTION(stackcam_cost_fast_inferred, ARCH_CODE_EMULATED);
COST_FUNCTION(stackcam_cost_slow_inferred, ARCH_CODE_STEPPED);

static const struct {
	void (*call[CALLS_COST_EXITS])(void);
	unsigned int ret; /* where its "ret" is */
} functions[CALLS_COST_KINDS] = {
	[PROBE_COST_FAST] = {{stackcam_cost_fast, stackcam_cost_fast_ret,
			      stackcam_cost_fast_inferred},
			     ARCH_CODE_EMULATED_BYTES},
	[PROBE_COST_SLOW] = {{stackcam_cost_slow, stackcam_cost_slow_ret,
			      stackcam_cost_slow_inferred},
			     ARCH_CODE_STEPPED_BYTES},
};

/* The median of several batches: what else happens on the machine hits some of them. */
#define BATCHES		21
#define CALLS_PER_BATCH 16

/*
 * Batches in which a call repeats itself find all that a probe needs in the caches. A real program
 * finds less there: so much memory is gone through before each of some more calls, and most of
 * these are not dearer than …
 */
#define COLD_BYTES (1u << 20)
#define COLD_CALLS 48
#define COLD_MOST  (COLD_CALLS * 3 / 4)

struct segment_search {
	uint64_t address, offset;
	bool found;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *context)
{
	struct segment_search *search = context;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || search->address - start >= segment->p_filesz)
			continue;
		search->offset = search->address - start + segment->p_offset;
		search->found = true;
		return 1;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return count ? values[count / 2] : 0;
}

/* ns of one call, probed or not. */
static uint64_t time_calls(void (*call)(void))
{
	uint64_t batches[BATCHES], begin;
	unsigned int i, k;

	for (i = 0; i < BATCHES; i++) {
		begin = clock_ns();
		for (k = 0; k < CALLS_PER_BATCH; k++)
			call();
		batches[i] = (clock_ns() - begin) / CALLS_PER_BATCH;
	}
	return median(batches, BATCHES);
}

/* ns on the CPU: what else runs on it does not count. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * ns of CPU time that most single calls take, with the reading of the clock, after other work on
 * memory.
 */
static uint64_t time_most(void (*call)(void), volatile uint8_t *memory, size_t size)
{
	uint64_t calls[COLD_CALLS], begin;
	unsigned int i;
	size_t at;

	for (i = 0; i < COLD_CALLS; i++) {
		for (at = 0; at < size; at += 64)
			memory[at]++;
		begin = cpu_ns();
		call();
		calls[i] = cpu_ns() - begin;
	}
	qsort(calls, COLD_CALLS, sizeof(*calls), compare);
	return size ? calls[COLD_MOST] : calls[COLD_CALLS / 2];
}

struct durations {
	uint64_t at[BATCHES * CALLS_PER_BATCH];
	size_t count;
};

static void add_duration(struct durations *durations, const struct calls_record *record,
			 uint32_t function)
{
	if (record->head.kind == CAPTURE_CALL && record->function == function &&
	    durations->count < BATCHES * CALLS_PER_BATCH)
		durations->at[durations->count++] = record->head.time - record->start;
}

/* The durations that the probes reported. */
static uint64_t reported(struct rings *rings, uint32_t function)
{
	struct durations durations = {.count = 0};
	const struct capture_head *head;
	unsigned int ring;
	size_t i;

	while ((head = rings_next(rings, UINT64_MAX, &ring))) {
		const struct calls_record *record = (const void *)head;

		if (head->kind == CAPTURE_CALLS) {
			record = (const void *)(head + 1);
			for (i = 0; i < (head->size - sizeof(*head)) / sizeof(*record); i++)
				add_duration(&durations, &record[i], function);
		} else {
			add_duration(&durations, record, function);
		}
	}
	return median(durations.at, durations.count);
}

/* The places of one function of ours. Returns how many, 0: it cannot be found. */
static size_t add_places(unsigned int kind, unsigned int exit, struct uprobe_place *places)
{
	struct segment_search search = {.address = (uintptr_t)functions[kind].call[exit]};
	uint32_t number = kind * CALLS_COST_EXITS + exit;

	dl_iterate_phdr(find_segment, &search);
	if (!search.found)
		return 0;
	places[0] = calls_entry(search.offset, number,
				exit == PROBE_EXIT_INFERRED ? CALLS_FUNCTION_INFERRED : 0, 0,
				exit == PROBE_EXIT_RETURN);
	places[1] = calls_exit(search.offset + functions[kind].ret, number, 0, 0);
	return exit == PROBE_EXIT_RET ? 2 : 1;
}

/* What is measured with. */
struct meter {
	struct rings *rings;
	struct calls_sums *sums;
	uint64_t plain;	 /* ns of a call without probes */
	uint8_t *memory; /* COLD_BYTES */
};

/* own varies as much as all that a call costs does, in proportion. */
static uint32_t error_of(const struct meter *m, void (*call)(void), uint64_t own, uint64_t outer)
{
	uint64_t warm = time_most(call, m->memory, 0);
	uint64_t cold = time_most(call, m->memory, COLD_BYTES);
	uint64_t more = cold > warm ? cold - warm : 0;

	return (uint32_t)(outer > own ? more * own / outer : more);
}

static void measure(const struct meter *m, unsigned int kind, unsigned int exit,
		    struct calls_cost *cost)
{
	void (*call)(void) = functions[kind].call[exit];
	uint32_t number = kind * CALLS_COST_EXITS + exit;
	uint64_t probed = time_calls(call), own, outer;

	/* of sums there is no median; nothing else makes the shortest one shorter */
	own = m->sums ? calls_sums_least(m->sums, number) : reported(m->rings, number);
	own = own > m->plain ? own - m->plain : 0;
	outer = probed > m->plain ? probed - m->plain : 0;
	cost->own[kind][exit] = (uint32_t)own;
	cost->outer[kind][exit] = (uint32_t)outer;
	cost->error[kind][exit] = error_of(m, call, own, outer);
}

static int measure_all(struct uprobes *uprobes, struct rings *rings, struct calls_sums *sums,
		       const struct calls_cost_kinds *wanted, struct calls_cost *cost,
		       struct fail *why)
{
	struct uprobe_place places[2 * CALLS_COST_FUNCTIONS];
	struct meter meter = {rings, sums, time_calls(functions[PROBE_COST_FAST].call[0]),
			      calloc(1, COLD_BYTES)};
	unsigned int kind, exit;
	size_t count = 0;
	int err;

	if (!meter.memory)
		return fail_errno(why, -ENOMEM, NULL, "cannot measure what probes cost");
	for (kind = 0; kind < CALLS_COST_KINDS; kind++)
		for (exit = 0; exit < CALLS_COST_EXITS; exit++)
			if (wanted->has[kind][exit])
				count += add_places(kind, exit, places + count);
	err = uprobes_attach(uprobes, "/proc/self/exe", getpid(), places, count, why);
	for (kind = 0; !err && kind < CALLS_COST_KINDS; kind++)
		for (exit = 0; exit < CALLS_COST_EXITS; exit++)
			if (wanted->has[kind][exit])
				measure(&meter, kind, exit, cost);
	free(meter.memory);
	return err;
}

/* The recorder was a target for a moment, and must not be one any more. */
static void forget_self(struct probes *probes, uint32_t self)
{
	int task = (int)syscall(SYS_pidfd_open, (int)self, 0);

	bpf_map_delete_elem(bpf_map__fd(probes->maps.filter_wanted), &self);
	if (task < 0)
		return;
	bpf_map_delete_elem(bpf_map__fd(probes->maps.calls_threads), &task);
	close(task);
}

int calls_cost_measure(struct probes *probes, const struct uprobe_ways *ways, struct rings *rings,
		       struct calls_sums *sums, const struct calls_cost_kinds *wanted,
		       struct calls_cost *cost, struct fail *why)
{
	uint32_t self = (uint32_t)getpid();
	struct uprobe_programs programs = calls_programs(probes);
	struct uprobes *uprobes;
	int err = uprobes_new(&programs, ways, &uprobes);

	if (err)
		return fail_errno(why, err, NULL, "cannot measure what probes cost");
	err = filter_add(probes, (pid_t)self, why);
	if (!err)
		err = measure_all(uprobes, rings, sums, wanted, cost, why);
	uprobes_free(uprobes);
	forget_self(probes, self);
	return err;
}
