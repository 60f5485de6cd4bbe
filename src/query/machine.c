// SPDX-License-Identifier: Apache-2.0
#include "query/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/saturated.h"
#include "film/events.h"
#include "film/gauges.h"

/* What covers a moment ends at most this long behind it. */
#define ROW_NS_MAX (20 * SECOND_NS)

/* Rates of what took less are no least, most or last one. */
#define ROW_NS_LEAST 50000000ull

struct adder {
	struct machine *machine;
	const struct film *film;
	const char *host;
	int err;
};

uint32_t machine_event(const struct film *film)
{
	uint32_t event = film_find_event(film, event_type(EVENT_MACHINE)->name);

	return event && film_has_gauges(film, event) ? event : 0;
}

static const char *name_of(const struct film *film, uint32_t frame)
{
	return film->functions[film->frames[frame].function].name;
}

static uint64_t key_of(const struct adder *a, uint32_t kind, const char *object, uint32_t thread)
{
	const struct film_thread *who = &a->film->threads[thread];
	uint64_t key = hash_bytes(object, strlen(object)) ^ hash_u64(kind + 1ull);

	key = hash_u64(key ^ hash_bytes(a->host, strlen(a->host)));
	if (thread)
		key ^= hash_u64((uint64_t)a->film->processes[who->process].pid << 32 | who->tid);
	return hash_u64(key);
}

static int add_note(struct machine *machine, const char *words)
{
	const char *copy;

	vec_foreach (&machine->notes, note)
		if (!strcmp(*note, words))
			return 0;
	if (machine->notes.count >= MACHINE_GAUGES_MAX)
		return 0;
	copy = name_pool_add(&machine->names, words);
	return copy && vec_push(&machine->notes, copy) ? 0 : -ENOMEM;
}

static struct machine_gauge *add_gauge(struct adder *a, uint32_t kind, const char *object,
				       uint32_t thread, uint64_t key)
{
	struct machine *machine = a->machine;
	const struct film_thread *who = &a->film->threads[thread];
	struct machine_gauge gauge = {.type = film_gauge_type(kind), .kind = kind};

	if (machine->all.count >= MACHINE_GAUGES_MAX) {
		machine->is_cut = true;
		return NULL;
	}
	gauge.host = name_pool_add(&machine->names, a->host);
	gauge.object = name_pool_add(&machine->names, object);
	if (thread) {
		gauge.comm = name_pool_add(&machine->names, who->comm);
		gauge.pid = a->film->processes[who->process].pid;
		gauge.tid = who->tid;
	}
	gauge.sums = calloc(machine->steps + 1, sizeof(*gauge.sums));
	gauge.spans = calloc(machine->steps + 1, sizeof(*gauge.spans));
	if (gauge.host && gauge.object && (!thread || gauge.comm) && gauge.sums && gauge.spans &&
	    vec_push(&machine->all, gauge)) {
		if (map_put(&machine->known, key, machine->all.count - 1))
			return vec_last(&machine->all);
		machine->all.count--;
	}
	free(gauge.sums);
	free(gauge.spans);
	a->err = -ENOMEM;
	return NULL;
}

/* Spreads a row over the steps that it has a part in. per_ns: of what flows its value by its ns. */
static void add_steps(const struct machine *machine, struct machine_gauge *gauge, uint64_t start,
		      uint64_t end, double per_ns)
{
	for (size_t i = (start - machine->from) / machine->step; i < machine->steps && start < end;
	     i++) {
		uint64_t until = machine->from + machine->step * (i + 1);

		until = until < end ? until : end;
		gauge->sums[i] += per_ns * (double)(until - start);
		gauge->spans[i] += (double)(until - start);
		start = until;
	}
}

/* A row of which only the part in [start, end) counts. */
static void add_row(struct machine *machine, struct machine_gauge *gauge,
		    const struct film_gauge *row, uint64_t start, uint64_t end)
{
	double part = row->duration ? (double)(end - start) / (double)row->duration : 1;
	double rate = gauge->type->is_level ? (double)row->value
		      : row->duration	    ? (double)row->value * SECOND_NS / (double)row->duration
					    : 0;
	bool is_whole = end - start == row->duration;

	/* a very short one, as at the end of a film, is known to few ticks of the clock */
	if (!gauge->rows || row->duration >= ROW_NS_LEAST) {
		gauge->least = gauge->rows && gauge->least < rate ? gauge->least : rate;
		gauge->most = gauge->rows && gauge->most > rate ? gauge->most : rate;
		gauge->last = rate;
	}
	gauge->rows++;
	gauge->covered += end - start;
	gauge->longest = row->longest > gauge->longest ? row->longest : gauge->longest;
	if (gauge->type->is_level) {
		gauge->average += rate * (double)(end - start);
	} else {
		gauge->total = add_saturated(gauge->total,
					     is_whole ? row->value
						      : (uint64_t)((double)row->value * part));
		gauge->count = add_saturated(gauge->count,
					     is_whole ? row->count
						      : (uint64_t)((double)row->count * part));
		gauge->time = add_saturated(
			gauge->time, is_whole ? row->time : (uint64_t)((double)row->time * part));
	}
	if (machine->steps && end > start)
		add_steps(machine, gauge, start, end,
			  gauge->type->is_level ? rate : rate / SECOND_NS);
	if (gauge->type->is_level)
		gauge->count = row->count;
}

static int handle_row(struct adder *a, const struct film_gauge *row)
{
	struct machine *machine = a->machine;
	uint64_t offset = (uint64_t)a->film->info.wall_offset;
	uint64_t end = row->end + offset, start = end - row->duration, key;
	const char *object = name_of(a->film, row->object);
	struct machine_gauge *gauge;
	const uint64_t *known;

	if (row->kind == FILM_GAUGE_NOTE)
		return add_note(machine, object);
	/* of a later version */
	if (!film_gauge_type(row->kind))
		return 0;
	start = start > machine->from ? start : machine->from;
	end = end < machine->to ? end : machine->to;
	if (start >= end)
		return 0;
	key = key_of(a, row->kind, object, row->thread);
	known = map_get(&machine->known, key);
	gauge = known ? &machine->all.at[*known]
		      : add_gauge(a, row->kind, object, row->thread, key);
	if (gauge)
		add_row(machine, gauge, row, start, end);
	return a->err;
}

static int handle_rows(void *context, const struct film_gauges *rows)
{
	struct adder *a = context;

	for (size_t i = 0; !a->err && i < rows->count; i++) {
		const struct film_gauge row = {
			.end = rows->end[i],
			.duration = rows->duration[i],
			.value = rows->value[i],
			.count = rows->count_of[i],
			.time = rows->time[i],
			.longest = rows->longest[i],
			.object = rows->object[i],
			.thread = rows->thread[i],
			.kind = (uint16_t)rows->kind[i],
		};

		a->err = handle_row(a, &row);
	}
	return a->err;
}

int machine_add(struct machine *machine, struct film *film, const char *host, struct fail *why)
{
	struct adder a = {.machine = machine, .film = film, .host = host};
	uint64_t offset = (uint64_t)film->info.wall_offset;
	uint32_t event = machine_event(film);
	int err;

	if (!event || machine->to <= machine->from)
		return 0;
	if (machine->steps)
		machine->step = (machine->to - machine->from + machine->steps - 1) / machine->steps;
	err = film_each_gauges(film, event, machine->from - offset,
			       machine->to - offset + ROW_NS_MAX, handle_rows, &a, why);
	return a.err ? fail_errno(why, a.err, NULL, "cannot tell what the machine did") : err;
}

static int in_order(const void *x, const void *y)
{
	const struct machine_gauge *a = x, *b = y;
	int order = strcmp(a->host, b->host);

	if (order)
		return order;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	order = strcmp(a->object, b->object);
	if (order)
		return order;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static bool is_by_thread(const struct machine_gauge *gauge, const struct machine_gauge *of_disk)
{
	return gauge->kind - FILM_GAUGE_DISK_READ_BY == of_disk->kind - FILM_GAUGE_DISK_READ &&
	       !strcmp(gauge->object, of_disk->object) && !strcmp(gauge->host, of_disk->host);
}

/*
 * What a disk did for threads that no record names: the kernel counts all requests, but some
 * kernels run no probe while a thread of the machine's init is interrupted by the answer. Returns
 * false without memory.
 */
static bool add_rest(struct machine *machine, size_t disk)
{
	struct machine_gauge rest = machine->all.at[disk], *unknown = NULL;
	uint64_t bytes = 0, count = 0, time = 0;

	vec_foreach (&machine->all, gauge) {
		if (!is_by_thread(gauge, &rest))
			continue;
		bytes = add_saturated(bytes, gauge->total);
		count = add_saturated(count, gauge->count);
		time = add_saturated(time, gauge->time);
		unknown = gauge->comm ? unknown : gauge;
	}
	if (rest.total <= bytes)
		return true;
	rest.total -= bytes;
	rest.count -= count < rest.count ? count : rest.count;
	rest.time -= time < rest.time ? time : rest.time;
	if (unknown) {
		unknown->total = add_saturated(unknown->total, rest.total);
		unknown->count = add_saturated(unknown->count, rest.count);
		unknown->time = add_saturated(unknown->time, rest.time);
		return true;
	}
	rest.kind += FILM_GAUGE_DISK_READ_BY - FILM_GAUGE_DISK_READ;
	rest.type = film_gauge_type(rest.kind);
	rest.longest = 0;
	rest.least = rest.most = rest.last = 0;
	rest.sums = calloc(machine->steps + 1, sizeof(*rest.sums));
	rest.spans = calloc(machine->steps + 1, sizeof(*rest.spans));
	if (rest.sums && rest.spans && vec_push(&machine->all, rest))
		return true;
	free(rest.sums);
	free(rest.spans);
	return false;
}

void machine_end(struct machine *machine)
{
	size_t count = machine->all.count;

	for (size_t i = 0; i < count; i++)
		if (machine->all.at[i].kind == FILM_GAUGE_DISK_READ ||
		    machine->all.at[i].kind == FILM_GAUGE_DISK_WRITE)
			machine->is_cut |= !add_rest(machine, i);
	vec_foreach (&machine->all, gauge) {
		double covered = gauge->covered ? (double)gauge->covered : 1;

		gauge->average = gauge->type->is_level ? gauge->average / covered
						       : (double)gauge->total * SECOND_NS / covered;
	}
	if (machine->all.count)
		qsort(machine->all.at, machine->all.count, sizeof(*machine->all.at), in_order);
	map_free(&machine->known);
}

bool machine_step(const struct machine_gauge *gauge, size_t step, double *value)
{
	double span = gauge->spans[step];

	if (span <= 0)
		return false;
	*value = gauge->type->is_level ? gauge->sums[step] / span
				       : gauge->sums[step] * SECOND_NS / span;
	return true;
}

void machine_free(struct machine *machine)
{
	vec_foreach (&machine->all, gauge) {
		free(gauge->sums);
		free(gauge->spans);
	}
	vec_free(&machine->all);
	vec_free(&machine->notes);
	map_free(&machine->known);
	name_pool_free(&machine->names);
	*machine = (struct machine){0};
}
