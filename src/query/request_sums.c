// SPDX-License-Identifier: Apache-2.0
#include "query/request_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/saturated.h"
#include "query/filter.h"

/* What requests are summed up by. */
struct alike {
	uint64_t peer[2];
	uint32_t program, endpoint;
	uint16_t port;
	uint8_t protocol, role;
	uint32_t is_unix;
};

struct summing {
	struct request_sums *sums;
	struct filter_kept kept;
	size_t slowest;			/* the most that are kept */
	struct map endpoints, peers;	/* hash of a struct alike: the place of its sum */
	struct map served;		/* by process: the time of the requests that it served */
	struct connections connections; /* by the process that served on them, */
	struct connections of_programs; /* and by the first one of its name: */
	struct map programs;		/* program_of() */
};

const char *request_sum_program(const struct request_sums *sums, const struct request_sum *sum)
{
	const struct film *film = sums->film;

	return film->processes[film->threads[sum->example.row.thread].process].comm;
}

double request_sum_share(const struct request_sum *sum)
{
	return sum->served && sum->for_served
		       ? 100.0 * (double)sum->for_served / (double)sum->served
		       : -1;
}

static bool add(struct request_sum *sum, const struct request *request, uint32_t process)
{
	const struct film_request *row = &request->row;

	if (!sum->all.count) {
		sum->example = *request;
		sum->process = process;
	} else if (sum->process != process) {
		sum->process = 0;
	}
	sum->received += row->received;
	sum->sent += row->sent;
	sum->for_served += row->parent ? row->duration : 0;
	if (row->role == FILM_REQUEST_MADE)
		connection_sample_add(&sum->connections, request, 0);
	return request_figures_add(&sum->all, request);
}

/* Adds a request to the sum of its key, in one of the vectors of struct request_sums. */
#define add_alike(map, vector, key, request, process)                                    \
	({                                                                               \
		uint64_t hash_ = hash_bytes(&(key), sizeof(key));                        \
		const uint64_t *place_ = map_get(map, hash_);                            \
		bool ok_ = place_ || (vec_push(vector, (struct request_sum){0}) &&       \
				      map_put(map, hash_, (vector)->count - 1));         \
                                                                                         \
		ok_ &&add(place_ ? &(vector)->at[*place_] : vec_last(vector), (request), \
			  (process));                                                    \
	})

static int slowest_first(const void *left, const void *right)
{
	const struct request *a = left, *b = right;

	return a->row.duration > b->row.duration ? -1 : a->row.duration < b->row.duration;
}

/* Once there are enough, the root of a heap is the fastest of them. */
static bool keep_slowest(struct summing *s, const struct request *request)
{
	struct request_sums *sums = s->sums;

	if (sums->slowest.count < s->slowest) {
		if (!vec_push(&sums->slowest, *request))
			return false;
		if (sums->slowest.count == s->slowest)
			heap_make(sums->slowest.at, s->slowest, sizeof(*request), slowest_first);
	} else if (s->slowest && request->row.duration > sums->slowest.at[0].row.duration) {
		sums->slowest.at[0] = *request;
		heap_sink(sums->slowest.at, s->slowest, sizeof(*request), slowest_first);
	}
	return true;
}

/* A program that is started again and again is one. */
static uint32_t program_of(const struct film *film, uint32_t process)
{
	const char *comm = film->processes[process].comm;

	return (uint32_t)hash_bytes(comm, strlen(comm));
}

/* The first process of that name that served something. 0: no memory. */
static uint32_t first_of_program(struct summing *s, uint32_t process)
{
	uint32_t program = program_of(s->sums->film, process);
	const uint64_t *known = map_get(&s->programs, program);

	if (known)
		return (uint32_t)*known;
	return map_put(&s->programs, program, process) ? process : 0;
}

/* What serves a connection, also of processes that the question leaves out. */
static bool add_server(struct summing *s, const struct request *request, uint32_t process)
{
	uint32_t first;

	if (request->row.role != FILM_REQUEST_SERVED)
		return true;
	first = first_of_program(s, process);
	return first && connections_add(&s->connections, request, 0, process) &&
	       connections_add(&s->of_programs, request, 0, first);
}

static bool add_served(struct summing *s, uint32_t process, uint64_t ns)
{
	uint64_t *known = map_get(&s->served, process);

	if (known)
		*known += ns;
	return known || map_put(&s->served, process, ns);
}

/* Only at the end is known how much a program served: one process, or all of that name. */
static void set_served(struct summing *s)
{
	const struct film *film = s->sums->film;

	vec_foreach (&s->sums->peers, sum) {
		uint32_t first = film->threads[sum->example.row.thread].process;
		uint32_t program = program_of(film, first);

		for (uint32_t i = 1; i < film->process_count; i++) {
			const uint64_t *known = map_get(&s->served, i);

			if (known &&
			    (sum->process ? i == sum->process : program_of(film, i) == program))
				sum->served += *known;
		}
	}
}

static void find_servers(struct summing *s)
{
	vec_foreach (&s->sums->peers, sum) {
		int64_t server = connections_server(&s->connections, &sum->connections);
		int64_t program = connections_server(&s->of_programs, &sum->connections);

		sum->server = server > 0 ? (uint32_t)server : 0;
		sum->server_program = program > 0 ? (uint32_t)program : 0;
	}
}

static int add_request(void *context, const struct request *request)
{
	struct summing *s = context;
	struct request_sums *sums = s->sums;
	const struct film_request *row = &request->row;
	uint32_t process = sums->film->threads[row->thread].process;
	struct alike alike = {.protocol = row->protocol, .role = row->role};

	if (!add_server(s, request, process))
		return -ENOMEM;
	if (!s->kept.threads[row->thread])
		return 0;
	sums->count++;
	sums->failed += (row->flags & FILM_REQUEST_FAILED) != 0;
	sums->open += (row->flags & FILM_REQUEST_OPEN) != 0;
	alike.program = program_of(sums->film, process);
	alike.endpoint = row->endpoint;
	if (!add_alike(&s->endpoints, &sums->endpoints, alike, request, process))
		return -ENOMEM;
	alike.endpoint = 0;
	if (row->role == FILM_REQUEST_SERVED && !add_served(s, process, row->duration))
		return -ENOMEM;
	alike.port = row->peer_port;
	alike.is_unix = row->flags & FILM_REQUEST_UNIX;
	request_peer_place(request, alike.peer);
	if (row->role == FILM_REQUEST_MADE &&
	    !add_alike(&s->peers, &sums->peers, alike, request, process))
		return -ENOMEM;
	return keep_slowest(s, request) ? 0 : -ENOMEM;
}

static int most_first(const void *left, const void *right)
{
	const struct request_sum *a = left, *b = right;

	return a->all.total > b->all.total ? -1 : a->all.total < b->all.total;
}

#define sort(vector, by)                                                                   \
	do {                                                                               \
		if ((vector)->count)                                                       \
			qsort((vector)->at, (vector)->count, sizeof(*(vector)->at), (by)); \
	} while (0)

int request_sums_make(struct film *film, const struct filter *filter, size_t slowest,
		      struct request_sums *sums, struct fail *why)
{
	struct summing s = {.sums = sums, .slowest = slowest};
	int err;

	*sums = (struct request_sums){.film = film};
	err = filter_span(filter, &film->info, &sums->from, &sums->to, why);
	if (err)
		return err;
	if (sums->to > film->info.end)
		sums->to = film->info.end;
	if (sums->from < film->info.start)
		sums->from = film->info.start;
	err = filter_apply(filter, film, &s.kept, why);
	/* its last ns belongs to the film */
	if (!err)
		err = requests_each(film, sums->from, sums->to + (sums->to < UINT64_MAX),
				    add_request, &s, why);
	if (!err)
		err = view_count_losses(&sums->losses, film, requests_event(film), 0);
	set_served(&s);
	find_servers(&s);
	sort(&sums->endpoints, most_first);
	sort(&sums->peers, most_first);
	sort(&sums->slowest, slowest_first);
	map_free(&s.endpoints);
	map_free(&s.peers);
	map_free(&s.served);
	map_free(&s.programs);
	connections_free(&s.connections);
	connections_free(&s.of_programs);
	filter_kept_free(&s.kept);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot sum up requests") : err;
}

void request_sums_free(struct request_sums *sums)
{
	vec_foreach (&sums->endpoints, sum)
		request_figures_free(&sum->all);
	vec_foreach (&sums->peers, sum)
		request_figures_free(&sum->all);
	vec_free(&sums->endpoints);
	vec_free(&sums->peers);
	vec_free(&sums->slowest);
	view_free_reasons(&sums->losses);
}

bool request_figures_add(struct request_figures *figures, const struct request *request)
{
	uint64_t ns = request->row.duration;
	bool is_open = request->row.flags & FILM_REQUEST_OPEN;

	figures->count++;
	figures->failed += (request->row.flags & FILM_REQUEST_FAILED) != 0;
	figures->open += is_open;
	figures->total = add_saturated(figures->total, ns);
	figures->longest = ns > figures->longest ? ns : figures->longest;
	return is_open || latency_add(&figures->times, ns, 1);
}

uint64_t request_figures_quantile(const struct request_figures *figures, unsigned int of_thousand)
{
	uint64_t ns = latency_quantile(&figures->times, of_thousand);

	return ns < figures->longest ? ns : figures->longest;
}

void request_figures_free(struct request_figures *figures)
{
	latency_free(&figures->times);
	*figures = (struct request_figures){0};
}
