// SPDX-License-Identifier: Apache-2.0
#include "query/served_goroutines.h"

#include <errno.h>
#include <stdlib.h>

#include "film/events.h"
#include "query/slices.h"

static int take(void *context, const struct slice *slice)
{
	struct served_goroutines *goroutines = context;
	const struct goroutine_run run = {
		.from = slice->start,
		.to = slice->end,
		.goroutine = slice->thread,
		.on = slice->evidence.on,
	};

	if (slice->kind != SLICE_RUNNING || !run.on)
		return 0;
	return vec_push(&goroutines->by_thread, run) && vec_push(&goroutines->by_goroutine, run)
		       ? 0
		       : -ENOMEM;
}

static int compare(uint32_t a, uint32_t b, const struct goroutine_run *x,
		   const struct goroutine_run *y)
{
	if (a != b)
		return a < b ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_thread_and_time(const void *left, const void *right)
{
	const struct goroutine_run *a = left, *b = right;

	return compare(a->on, b->on, a, b);
}

static int by_goroutine_and_time(const void *left, const void *right)
{
	const struct goroutine_run *a = left, *b = right;

	return compare(a->goroutine, b->goroutine, a, b);
}

/* Of a goroutine's number, of which the table of threads has the lowest 32 bits. */
static uint64_t key_of_number(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

static bool index_numbers(struct served_goroutines *goroutines)
{
	const struct film_thread *threads = goroutines->film->threads;

	vec_foreach (&goroutines->by_thread, run) {
		const struct film_thread *thread = &threads[run->goroutine];

		if (!map_put(&goroutines->by_number, key_of_number(thread->process, thread->tid),
			     run->goroutine))
			return false;
	}
	return true;
}

int served_goroutines_load(struct served_goroutines *goroutines, struct film *film,
			   struct fail *why)
{
	int err = 0;

	*goroutines = (struct served_goroutines){.film = film};
	for (uint32_t event = 0; !err && (event = slices_beside(film, 0, event));)
		err = slices_each(film, event, 0, UINT64_MAX, take, goroutines, why);
	if (err)
		return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read the goroutines")
				      : err;
	if (!goroutines->by_thread.count)
		return 0;
	goroutines->processes = calloc(film->process_count, 1);
	if (!goroutines->processes || !index_numbers(goroutines))
		return fail_errno(why, -ENOMEM, NULL, "cannot read the goroutines");
	vec_foreach (&goroutines->by_thread, run)
		goroutines->processes[film->threads[run->on].process] = 1;
	qsort(goroutines->by_thread.at, goroutines->by_thread.count,
	      sizeof(*goroutines->by_thread.at), by_thread_and_time);
	qsort(goroutines->by_goroutine.at, goroutines->by_goroutine.count,
	      sizeof(*goroutines->by_goroutine.at), by_goroutine_and_time);
	return 0;
}

void served_goroutines_free(struct served_goroutines *goroutines)
{
	vec_free(&goroutines->by_thread);
	vec_free(&goroutines->by_goroutine);
	map_free(&goroutines->by_number);
	free(goroutines->processes);
}

bool served_has_goroutines(const struct served_goroutines *goroutines, const struct film *film,
			   const struct request *request)
{
	return goroutines->processes &&
	       goroutines->processes[film->threads[request->row.thread].process];
}

/*
 * How many of the runs stand before the first one that begins behind a time, in the order of
 * compare; wanted has what they are sorted by, and that time.
 */
static size_t count_up_to(const struct goroutine_run *runs, size_t count,
			  const struct goroutine_run *wanted,
			  int (*compare_runs)(const void *left, const void *right))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_runs(&runs[middle], wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of HTTP/2 one goroutine sends the answers to all requests of a connection. */
static bool has_streams(const struct request *request)
{
	return request->row.protocol == FILM_PROTOCOL_HTTP2 ||
	       request->row.protocol == FILM_PROTOCOL_GRPC;
}

static uint32_t goroutine_of_number(const struct served_goroutines *goroutines,
				    const struct request *request)
{
	const struct film_thread *thread = &goroutines->film->threads[request->row.thread];
	const uint64_t *found =
		map_get(&goroutines->by_number,
			key_of_number(thread->process, (uint32_t)request->row.goroutine));

	return found && request->row.goroutine ? (uint32_t)*found : 0;
}

/*
 * The thread was in the system call that sent the first byte of the answer: no other goroutine ran
 * on it. A marker has no answer.
 */
uint32_t served_goroutine_of(const struct served_goroutines *goroutines,
			     const struct request *request)
{
	const struct goroutine_run wanted = {
		.on = request->row.answerer,
		.from = request_start(request) + request->row.first,
	};
	const struct goroutine_run *run;
	size_t count;

	if (request->row.role != FILM_REQUEST_SERVED || !request->row.first || !wanted.on ||
	    request->row.protocol == FILM_PROTOCOL_MARKER)
		return 0;
	if (has_streams(request))
		return goroutine_of_number(goroutines, request);
	count = count_up_to(goroutines->by_thread.at, goroutines->by_thread.count, &wanted,
			    by_thread_and_time);
	run = count ? &goroutines->by_thread.at[count - 1] : NULL;
	if (run && run->on == wanted.on && run->to >= wanted.from)
		return run->goroutine;
	/* uvloop sends once no task runs */
	return goroutine_of_number(goroutines, request);
}

const struct goroutine_run *served_goroutine_runs(const struct served_goroutines *goroutines,
						  uint32_t goroutine, uint64_t from, uint64_t to,
						  size_t *count)
{
	const struct goroutine_run wanted = {.goroutine = goroutine, .from = from};
	const struct goroutine_run *runs = goroutines->by_goroutine.at;
	size_t all = goroutines->by_goroutine.count, first, end;

	*count = 0;
	first = count_up_to(runs, all, &wanted, by_goroutine_and_time);
	/* the one that begins at or before from may reach into it; those of one do not overlap */
	if (first && runs[first - 1].goroutine == goroutine && runs[first - 1].to > from)
		first--;
	for (end = first; end < all && runs[end].goroutine == goroutine && runs[end].from < to;)
		end++;
	*count = end - first;
	return *count ? &runs[first] : NULL;
}
