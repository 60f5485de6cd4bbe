// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/go.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "sources/loss_counts.h"
#include "process/targets.h"
#include "runtime/go/heap.h"

/* The most processes that are read. */
#define PROCESSES_MAX 1024

/* To read a bucket takes about 2 us; a process is read again after 50 times what it took. */
#define BUCKET_NS 100000ull
#define PAUSE_MAX (30 * SECOND_NS)

/* Of a program that began less before that, it is not known yet that it does not sample. */
#define BEGINNING_NS 100000000ull

/* What is known of a bucket. */
struct known {
	uint64_t allocated; /* bytes, scaled, that are in the film, or were there before it */
	struct samples_place place;
	uint32_t film; /* that the place is of */
};

struct go_process {
	pid_t pid;
	uint64_t bias, start, next;
	uint64_t met; /* when it was */
	struct go_heap heap;
	bool is_read;
	bool is_off;   /* it takes no samples, or no more: it may say so once it has taken some */
	uint64_t rate; /* the last one that was seen and is not 0 */
	uint32_t told; /* the film that says of its memory in use by which rate it is */
	struct map places; /* address of a bucket to its place in: */
	vec(struct known) buckets;
};

struct mem_go {
	vec(struct go_process) processes;
	vec(pid_t) unread;
	uint32_t film; /* counts films */
	uint64_t unknown, off, unreadable, too_many, refused;
	bool is_ageless; /* this film says that it does not know when memory in use was allocated */
};

/* One reading. */
struct reading {
	struct mem_go *go;
	const struct mem_go_film *to;
	struct go_process *process;
	const struct process *seen;
	uint64_t now, rate;
	uint32_t held; /* rows of what is in use */
	bool is_first, was_before;
};

int mem_go_new(struct mem_go **result)
{
	*result = calloc(1, sizeof(**result));
	return *result ? 0 : -ENOMEM;
}

static void free_process(struct go_process *process)
{
	map_free(&process->places);
	vec_free(&process->buckets);
}

void mem_go_free(struct mem_go *go)
{
	if (!go)
		return;
	vec_foreach (&go->processes, process)
		free_process(process);
	vec_free(&go->processes);
	vec_free(&go->unread);
	free(go);
}

bool mem_go_has(const struct mem_go *go, pid_t pid)
{
	vec_foreach (&go->processes, process)
		if (process->pid == pid)
			return true;
	return false;
}

static void pass_on(struct mem_go *go, pid_t pid)
{
	if (go->unread.count == PROCESSES_MAX || !vec_push(&go->unread, pid))
		go->refused++;
}

pid_t mem_go_next_unread(struct mem_go *go)
{
	return go->unread.count ? go->unread.at[--go->unread.count] : 0;
}

static const struct mapping *mapping_of(const struct process *process, const struct image *image)
{
	for (size_t i = 0; i < process->mapping_count; i++)
		if (process->mappings[i].image == image)
			return &process->mappings[i];
	return NULL;
}

bool mem_go_image(struct mem_go *go, struct samples *samples, pid_t pid, const struct image *image)
{
	const struct process *process = samples_process(samples, pid);
	const struct mapping *mapping = process ? mapping_of(process, image) : NULL;
	struct go_process found = {.pid = pid};
	struct fail why = {0};
	int err;

	if (!mapping || image->kind != IMAGE_FILE || mem_go_has(go, pid))
		return false;
	err = go_heap_of(&found.heap, image, &why);
	if (err == -ENOTSUP) {
		go->unknown++;
		pass_on(go, pid);
	}
	if (err)
		return err == -ENOTSUP;
	found.met = clock_ns();
	found.bias = mapping->bias;
	found.start = process->start;
	if (go->processes.count == PROCESSES_MAX || !vec_push(&go->processes, found))
		go->refused++;
	return true;
}

void mem_go_gone(struct mem_go *go, pid_t pid)
{
	vec_foreach (&go->processes, process) {
		if (process->pid != pid)
			continue;
		free_process(process);
		*process = *vec_last(&go->processes);
		go->processes.count--;
		return;
	}
}

/* -- a reading --------------------------------------------------------------------------------- */

/* What samples of that many objects and bytes stand for. */
static uint64_t scaled(uint64_t count, uint64_t bytes, uint64_t rate)
{
	double size = count ? (double)bytes / (double)count : 0;

	if (!count || rate <= 1)
		return bytes;
	return (uint64_t)((double)bytes / -expm1(-size / (double)rate) + 0.5);
}

/* The runtime keeps return addresses; of the leaf, what is inside of the call is its address. */
static struct samples_place place_of(const struct reading *r, const struct go_heap_bucket *bucket)
{
	struct {
		struct capture_record record;
		uint64_t frames[GO_HEAP_STACK_MAX];
	} one = {
		.record =
			{
				.head = {.time = r->now},
				.identity = {.pid = (uint32_t)r->process->pid,
					     .tid = (uint32_t)r->process->pid,
					     .exec_id = UNWIND_ANY_EXEC},
				.user_frames = (uint16_t)bucket->count,
				.end = UNWIND_END_ROOT,
				.has_user = 1,
			},
	};

	one.record.head.size =
		(uint32_t)(sizeof(one.record) + bucket->count * sizeof(one.frames[0]));
	memcpy(one.record.identity.comm, r->seen->comm, sizeof(one.record.identity.comm));
	memcpy(one.frames, bucket->stack, bucket->count * sizeof(one.frames[0]));
	if (bucket->count)
		one.frames[0]--;
	return samples_resolve(r->to->samples, &one.record, NULL);
}

static struct known *known_of(struct go_process *process, uint64_t address)
{
	uint64_t *at = map_get(&process->places, address);

	if (at)
		return &process->buckets.at[*at];
	if (!vec_push(&process->buckets, (struct known){0}) ||
	    !map_put(&process->places, address, process->buckets.count - 1))
		return NULL;
	return vec_last(&process->buckets);
}

/* Of one that has begun while it was recorded: before, it had nothing. */
static void write_beginning(const struct reading *r, uint32_t thread)
{
	uint64_t time = r->seen->executed;
	struct film_held row = {.thread = thread};

	if (!time)
		return;
	time = time > r->to->begun ? time : r->to->begun;
	row.time = row.born = time;
	if (time < r->now)
		film_held(r->to->film, r->to->inuse, &row);
}

/*
 * What the film says of memory in use, beside the numbers, once: a program that takes samples no
 * more goes on to see the ends of those that it has.
 */
static void report_notes(const struct reading *r)
{
	struct mem_go *go = r->go;
	char words[192];

	if (!go->is_ageless)
		film_loss(
			r->to->film, r->to->inuse,
			"memory in use of programs of Go: its age is not known, and --leaks keeps "
			"everything",
			1);
	go->is_ageless = true;
	if (r->rate || r->process->told == go->film)
		return;
	r->process->told = go->film;
	if (r->process->rate)
		snprintf(
			words, sizeof(words),
			"memory in use of a program of Go without what it allocated since it takes "
			"samples no more: by the last rate that was seen, %llu bytes between "
			"samples",
			(unsigned long long)r->process->rate);
	else
		snprintf(
			words, sizeof(words),
			"memory in use of a program of Go without what it allocated since it takes "
			"samples no more: the samples alone, not scaled, as their rate was not "
			"seen");
	film_loss(r->to->film, r->to->inuse, words, 1);
}

static void hold(struct reading *r, const struct samples_place *place, uint64_t count,
		 uint64_t value)
{
	struct film_held row = {.time = r->now,
				.count = (uint32_t)count,
				.value = value,
				.thread = place->thread,
				.stack = place->stack};

	if (r->is_first && !r->held)
		write_beginning(r, place->thread);
	film_held(r->to->film, r->to->inuse, &row);
	r->held++;
	report_notes(r);
}

static void handle_bucket(void *context, const struct go_heap_bucket *bucket)
{
	struct reading *r = context;
	struct known *known = known_of(r->process, bucket->address);
	uint64_t rate = r->rate ? r->rate : r->process->rate;
	uint64_t allocated = scaled(bucket->allocs, bucket->alloc_bytes, rate);
	uint64_t count = bucket->allocs - bucket->frees;

	if (!known) {
		r->go->refused++;
		return;
	}
	if (known->film != r->go->film) {
		known->place = place_of(r, bucket);
		known->film = r->go->film;
	}
	if (r->is_first && r->was_before)
		known->allocated = allocated;
	if (r->to->alloc && allocated > known->allocated)
		samples_add(r->to->samples, r->to->alloc, r->now, &known->place,
			    allocated - known->allocated);
	known->allocated = allocated > known->allocated ? allocated : known->allocated;
	if (r->to->inuse && count)
		hold(r, &known->place, count,
		     scaled(count, bucket->alloc_bytes - bucket->free_bytes, rate));
}

static void read_one(struct mem_go *go, const struct mem_go_film *to, struct go_process *process,
		     uint64_t now)
{
	struct reading r = {
		.go = go,
		.to = to,
		.process = process,
		.seen = samples_process(to->samples, process->pid),
		.now = now,
		.is_first = !process->is_read,
		.was_before = process->start < to->since,
	};
	const struct runtime_memory memory = {process_read, (void *)r.seen};
	uint64_t pause;
	int got = r.seen && !r.seen->end ? go_heap_read(&process->heap, &memory, process->bias,
							&r.rate, handle_bucket, &r)
					 : -ESRCH;

	if (r.rate)
		process->rate = r.rate;
	process->next = now + SECOND_NS;
	go->too_many += got == -E2BIG;
	go->unreadable += got < 0 && got != -ESRCH && got != -E2BIG;
	if (got < 0)
		return;
	if (!r.rate && !process->is_off) {
		/* exec(2) maps its file where its memory will be, before its memory is there */
		if (!process->is_read && now < process->met + BEGINNING_NS) {
			process->next = process->met + BEGINNING_NS;
			return;
		}
		process->is_off = true;
		go->off++;
		pass_on(go, process->pid);
	}
	process->is_read = true;
	pause = (uint64_t)got * BUCKET_NS;
	if (pause > SECOND_NS)
		process->next = now + (pause < PAUSE_MAX ? pause : PAUSE_MAX);
}

void mem_go_read(struct mem_go *go, const struct mem_go_film *to, uint64_t now, bool all)
{
	vec_foreach (&go->processes, process)
		if (all || process->next <= now)
			read_one(go, to, process, now);
}

void mem_go_turn(struct mem_go *go)
{
	go->film++;
	go->is_ageless = false;
}

void mem_go_report(const struct mem_go *go, struct film_writer *film, uint32_t event)
{
	const struct loss_count losses[] = {
		{"allocations of a program of Go not read: it is of an unknown version",
		 go->unknown},
		{"allocations of a program of Go not read: it does not sample them "
		 "(runtime.MemProfileRate is 0)",
		 go->off},
		{"allocations of a program of Go not read: its memory is not as expected",
		 go->unreadable},
		{"allocations of a program of Go not read: too many stacks", go->too_many},
		{"allocations of a program of Go not read: too many of them", go->refused},
	};

	loss_counts_emit_all(film, event, losses);
}
