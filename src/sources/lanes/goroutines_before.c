// SPDX-License-Identifier: Apache-2.0
/*
 * Goroutines that wait since before the recording. No probe has seen them, so they are looked for
 * in the runtime's own list of all goroutines (runtime/proc.go: allgptr, allglen). One that waits
 * and is not known to the kernel's side began to wait before there were probes: each one that began
 * later is in its map, unless that was full.
 *
 * But the list of those that are known is older than what is read here: what was born in between
 * looks the same. So one is taken that two looks have found, each with a list of its own: what the
 * first look has found was born, and the second list does not know it.
 */
#include <string.h>

#include "attach/filter.h"
#include "sources/lanes/goroutines.h"
#include "process/remote.h"

/* Of a goroutine's atomicstatus (runtime/runtime2.go): it waits; the collector looks at it. */
#define STATUS_READY   1
#define STATUS_RUNNING 2
#define STATUS_CALL    3 /* in a system call */
#define STATUS_WAITING 4
#define STATUS_SCAN    0x1000

/* From its status on: the goroutine's number, and why it waits. */
#define GOID_AT	  8
#define REASON_AT (GOID_AT + 24)

/* This many pointers are read at a time. */
#define POINTERS 512

struct record {
	uint32_t status;
	uint64_t goid;
	uint8_t reason;
};

struct visit {
	struct source *source;
	const struct map *known;
	goroutines_emit *emit;
	void *context;
	bool has_new; /* some were found for the first time */
};

static bool read_record(uint32_t pid, const struct go_waits *waits, uint64_t g,
			struct record *record)
{
	uint8_t bytes[REASON_AT + 1];

	if (remote_read((pid_t)pid, bytes, sizeof(bytes), g + waits->image.goid - GOID_AT))
		return false;
	memcpy(&record->status, bytes, sizeof(record->status));
	memcpy(&record->goid, bytes + GOID_AT, sizeof(record->goid));
	record->reason = bytes[REASON_AT];
	return true;
}

static bool is_waiting(const struct record *record)
{
	return (record->status & ~STATUS_SCAN) == STATUS_WAITING && record->goid;
}

bool goroutines_before_waits(struct source *source, const struct lane_key *key,
			     const struct goroutines_state *state)
{
	const struct goroutines *goroutines = source->state;
	const struct go_waits *waits = probed_images_facts(goroutines->images, state->image);
	struct record record;

	return waits && read_record(key->pid, waits, key->at, &record) && is_waiting(&record);
}

/* Of lanes: one that does not wait, and had nothing happen to it since there are probes. */
static bool state_of_busy(const struct record *record, uint64_t since,
			  struct goroutines_state *state)
{
	uint32_t status = record->status & ~STATUS_SCAN;

	if (status < STATUS_READY || status > STATUS_CALL || !record->goid)
		return false;
	state->turn.flags = LANE_BEFORE;
	if (status != STATUS_READY) {
		state->turn.since = since;
		state->turn.out = 0;
		return true;
	}
	state->turn.flags |= LANE_GAVE_WAY;
	state->turn.woken = since;
	return true;
}

static bool find_bias(const struct goroutines *goroutines, const struct process *process,
		      uint32_t program, uint64_t *bias)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct mapping *mapping = &process->mappings[i];

		*bias = mapping->bias;
		if (probed_files_is(&goroutines->images->files, program, mapping->image))
			return true;
	}
	return false;
}

/* Whether an earlier look has found it, too. */
static bool is_found_again(struct visit *v, uint32_t pid, uint64_t g, uint64_t goid)
{
	struct goroutines *goroutines = v->source->state;
	const uint64_t key = goroutines_place_key(pid, g),
		       *found = map_get(&goroutines->found, key);

	if (found && *found == goid)
		return true;
	if (goroutines->found.count >= GOROUTINES_MAX)
		map_free(&goroutines->found);
	/* without memory it is found for the first time again */
	v->has_new |= map_put(&goroutines->found, key, goid);
	return false;
}

static void visit_one(struct visit *v, uint32_t pid, uint32_t program, const struct go_waits *waits,
		      uint64_t g)
{
	const struct lane_key key = {.at = g, .pid = pid, .exec_id = UNWIND_ANY_EXEC};
	const struct goroutines *goroutines = v->source->state;
	struct record record;
	struct goroutines_state state;

	if (!g || map_get(v->known, goroutines_place_key(pid, g)) ||
	    !read_record(pid, waits, g, &record))
		return;
	state = (struct goroutines_state){
		/* as execute_unknown() of goroutines.bpf.c has it, of a process older than that */
		.turn = {.out = waits->image.since, .reason = record.reason},
		.image = program,
		.is_before = 1,
	};
	if (!is_waiting(&record) &&
	    (!goroutines->film.lives || !state_of_busy(&record, waits->image.since, &state)))
		return;
	if (is_found_again(v, pid, g, record.goid))
		v->emit(v->source, &key, &state, v->context);
}

static void visit_process(void *context, pid_t pid, uint32_t program)
{
	struct visit *v = context;
	struct goroutines *goroutines = v->source->state;
	const struct source_host *host = v->source->host;
	const struct go_waits *waits = probed_images_facts(goroutines->images, program);
	const struct process *process = samples_process(v->source->host->samples, pid);
	uint64_t bias, list, count, pointers[POINTERS];

	/* all goroutines of one that began later are known */
	if (!waits || !waits->all || !process || process->end ||
	    process->start >= waits->image.since ||
	    !filter_is_target(host->probes, host->selection, pid) ||
	    !find_bias(goroutines, process, program, &bias))
		return;
	if (remote_read(pid, &count, sizeof(count), bias + waits->all_count) ||
	    remote_read(pid, &list, sizeof(list), bias + waits->all))
		return;
	if (count > GOROUTINES_MAX) {
		goroutines->open_lost += count - GOROUTINES_MAX;
		count = GOROUTINES_MAX;
	}
	for (uint64_t i = 0; i < count; i += POINTERS) {
		uint64_t some = count - i < POINTERS ? count - i : POINTERS;

		if (remote_read(pid, pointers, 8 * some, list + 8 * i))
			return;
		for (uint64_t k = 0; k < some; k++)
			visit_one(v, (uint32_t)pid, program, waits, pointers[k]);
	}
}

bool goroutines_before_each(struct source *source, const struct map *known, goroutines_emit *emit,
			    void *context)
{
	struct visit v = {source, known, emit, context, false};
	const struct goroutines *goroutines = source->state;

	/* a full map does not know them all */
	if (known->count < GOROUTINES_MAX)
		probed_images_each(goroutines->images, visit_process, &v);
	return v.has_new;
}
