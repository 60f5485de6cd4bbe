// SPDX-License-Identifier: Apache-2.0
#include "query/device_works.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "film/events.h"
#include "query/objects.h"

struct loading {
	struct device_works *works;
	uint64_t from, to;
};

static int add_streams(void *context, const struct film_works *rows)
{
	struct device_works *works = context;

	for (size_t i = 0; i < rows->count; i++) {
		const bool is_all = rows->flags[i] & FILM_WORK_ALL_STREAMS;
		const struct device_streams new = {
			.end = rows->end[i],
			.thread = rows->thread[i],
			.first = is_all ? 0 : rows->stream[i],
			.last = is_all ? UINT32_MAX : rows->stream[i],
		};

		if (rows->flags[i] & FILM_WORK_WAIT && !vec_push(&works->streams, new))
			return -ENOMEM;
	}
	return 0;
}

static int compare_streams(const void *left, const void *right)
{
	const struct device_streams *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Films of older versions have none. */
static int load_streams(struct device_works *works, struct film *film, uint64_t from,
			struct fail *why)
{
	uint32_t event = film_find_event(film, event_type(EVENT_GPU_WAIT)->name);
	int err =
		event ? film_each_works(film, event, from, UINT64_MAX, add_streams, works, why) : 0;

	if (works->streams.count)
		qsort(works->streams.at, works->streams.count, sizeof(*works->streams.at),
		      compare_streams);
	return err;
}

static int add_works(void *context, const struct film_works *rows)
{
	struct loading *l = context;
	const struct film *film = l->works->film;

	for (size_t i = 0; i < rows->count; i++) {
		const struct device_work new = {
			.start = rows->end[i] - rows->duration[i],
			.end = rows->end[i],
			.process = film->threads[rows->thread[i]].process,
			.stream = rows->stream[i],
			.device = rows->device[i],
			.name = rows->name[i],
			.is_copy = rows->flags[i] & FILM_WORK_COPY,
		};

		if (rows->flags[i] & FILM_WORK_LOST || new.end <= l->from || new.start >= l->to)
			continue;
		if (!vec_push(&l->works->all, new))
			return -ENOMEM;
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct device_work *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static bool is_of_stream(const struct device_work *work, const struct device_work *other)
{
	return work->process == other->process && work->stream == other->stream;
}

static void find_untils(struct device_works *works)
{
	const struct device_work *before = NULL;

	vec_foreach (&works->all, work) {
		work->until = work->end;
		if (before && is_of_stream(before, work) && before->until > work->end)
			work->until = before->until;
		before = work;
	}
}

int device_works_load(struct device_works *works, struct film *film, uint64_t from, uint64_t to,
		      struct fail *why)
{
	struct loading loading = {works, from, to};
	uint32_t event = film_find_event(film, event_type(EVENT_GPU_LANES)->name);
	int err;

	*works = (struct device_works){.film = film};
	if (!event)
		return 0;
	err = device_waits_load(&works->waits, film, from, why);
	if (err || !works->waits.all.count)
		return err;
	err = load_streams(works, film, from, why);
	if (!err)
		err = film_each_works_in(film, event, from, to, add_works, &loading, why);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot read what devices ran");
	if (!err && works->all.count)
		qsort(works->all.at, works->all.count, sizeof(*works->all.at), compare);
	find_untils(works);
	return err;
}

void device_works_free(struct device_works *works)
{
	device_waits_free(&works->waits);
	vec_free(&works->streams);
	vec_free(&works->all);
}

/* Of older films: "gemm on stream 5", "gemm on any stream"; false: for which is not known. */
static bool streams_of(const char *words, struct device_streams *streams)
{
	static const char one[] = " on stream ", any[] = " on any stream";
	const char *at = NULL;
	size_t length = strlen(words);
	unsigned long long number;
	char *end;

	*streams = (struct device_streams){.last = UINT32_MAX};
	if (length >= sizeof(any) - 1 && !strcmp(words + length - (sizeof(any) - 1), any))
		return true;
	/* the name of a kernel may have such words, too: the last ones are its stream */
	for (const char *next = strstr(words, one); next; next = strstr(next + 1, one))
		at = next + sizeof(one) - 1;
	if (!at || *at < '0' || *at > '9')
		return false;
	number = strtoull(at, &end, 10);
	streams->first = streams->last = (uint32_t)number;
	return !*end && number <= UINT32_MAX;
}

/* The first work of a process that is of a stream or of a later one. */
static size_t first_of(const struct device_works *works, uint32_t process, uint64_t stream)
{
	const struct device_work *all = works->all.at;

	return search_first(works->all.count, i,
			    all[i].process < process ||
				    (all[i].process == process && all[i].stream < stream));
}

static bool has_streams(const struct device_works *works, const struct device_wait *wait,
			struct device_streams *streams)
{
	const struct device_streams *all = works->streams.at;
	size_t i = search_first(works->streams.count, k,
				all[k].thread < wait->thread ||
					(all[k].thread == wait->thread && all[k].end < wait->end));

	if (i == works->streams.count || all[i].thread != wait->thread || all[i].end != wait->end)
		return false;
	*streams = all[i];
	return true;
}

/* The streams for which a thread waited then; false: for none, or that is not known. */
static bool find_streams(const struct device_works *works, uint32_t thread, uint64_t start,
			 uint64_t end, struct device_streams *streams)
{
	const struct device_wait *wait =
		works->all.count ? device_waits_find(&works->waits, thread, start, end) : NULL;

	return wait && (has_streams(works, wait, streams) ||
			streams_of(object_name(works->film, wait->frame), streams));
}

uint64_t device_works_key(const struct device_works *works, uint32_t thread, uint64_t start,
			  uint64_t end)
{
	struct device_streams streams;

	if (!find_streams(works, thread, start, end, &streams))
		return 0;
	return (uint64_t)streams.first + streams.last + 1;
}

int device_works_of_wait(const struct device_works *works, uint32_t thread, uint64_t start,
			 uint64_t end, int (*emit)(void *context, const struct device_work *work),
			 void *context)
{
	const uint32_t process = works->film->threads[thread].process;
	const struct device_work *all = works->all.at;
	struct device_streams streams;
	int result = 0;

	if (!find_streams(works, thread, start, end, &streams))
		return 0;
	for (size_t i = first_of(works, process, streams.first); !result && i < works->all.count &&
								 all[i].process == process &&
								 all[i].stream <= streams.last;) {
		const size_t next = first_of(works, process, (uint64_t)all[i].stream + 1);

		i += search_first(next - i, k, all[i + k].until <= start);
		for (; !result && i < next && all[i].start < end; i++) {
			struct device_work work = all[i];

			if (work.end <= start)
				continue;
			work.start = work.start > start ? work.start : start;
			work.end = work.end < end ? work.end : end;
			result = emit(context, &work);
		}
		i = next;
	}
	return result;
}

struct adding {
	struct device_rans *rans;
	uint32_t of;
};

static int add_ran(void *context, const struct device_work *work)
{
	struct adding *adding = context;

	return vec_push(adding->rans, (struct device_ran){*work, adding->of}) ? 0 : -ENOMEM;
}

int device_rans_add(struct device_rans *rans, const struct device_works *works, uint32_t thread,
		    uint64_t start, uint64_t end, uint32_t of)
{
	struct adding adding = {rans, of};

	return device_works_of_wait(works, thread, start, end, add_ran, &adding);
}

/* Those of one number and name lie together. */
static int by_name(const struct device_ran *a, const struct device_ran *b)
{
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	if (a->work.device != b->work.device)
		return a->work.device < b->work.device ? -1 : 1;
	if (a->work.stream != b->work.stream)
		return a->work.stream < b->work.stream ? -1 : 1;
	if (a->work.is_copy != b->work.is_copy)
		return a->work.is_copy ? 1 : -1;
	return a->work.name < b->work.name ? -1 : a->work.name > b->work.name;
}

static int by_name_and_start(const void *left, const void *right)
{
	const struct device_ran *a = left, *b = right;
	int order = by_name(a, b);

	return order ? order : a->work.start < b->work.start ? -1 : a->work.start > b->work.start;
}

static void keep(struct device_share *shares, struct device_share share)
{
	for (size_t i = 0; i < DEVICE_SHARES; i++) {
		struct device_share before = shares[i];

		if (share.ns <= before.ns)
			continue;
		shares[i] = share;
		share = before;
	}
}

void device_rans_sum(struct device_rans *rans,
		     struct device_share *(*shares)(void *context, uint32_t of), void *context)
{
	size_t i, k;

	if (rans->count)
		qsort(rans->at, rans->count, sizeof(*rans->at), by_name_and_start);
	for (i = 0; i < rans->count; i = k) {
		const struct device_work *first = &rans->at[i].work;
		struct device_share sum = {.name = first->name,
					   .device = first->device,
					   .stream = first->stream,
					   .is_copy = first->is_copy};
		uint64_t until = 0;

		/* a stream may run several at once, as of a graph: each ns counts once */
		for (k = i; k < rans->count && !by_name(&rans->at[i], &rans->at[k]); k++) {
			const struct device_work *work = &rans->at[k].work;
			uint64_t start = work->start > until ? work->start : until;

			if (work->end <= start)
				continue;
			sum.ns += work->end - start;
			until = work->end;
		}
		keep(shares(context, rans->at[i].of), sum);
	}
}
