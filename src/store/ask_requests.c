// SPDX-License-Identifier: Apache-2.0
/* Requests, one by one: the films have them, the index knows their endpoints alone. */
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "film/events.h"
#include "query/filter.h"
#include "query/requests.h"
#include "store/ask_private.h"
#include "store/requests.h"

struct adder {
	struct store_requests *answer;
	const struct ask_film *of;
	struct filter_kept kept;
	uint64_t from; /* of the map, ns since 1970 */
	uint64_t count;
	struct fail *why;
};

static unsigned int row_of(uint64_t ns)
{
	unsigned int row = REQUEST_ROWS - 1;

	while (row && ns < request_row_least(row))
		row--;
	return row;
}

/* Null: no memory, or no room, which is said. */
static struct store_endpoint *endpoint_of(struct store_requests *answer,
					  const struct request *request)
{
	uint64_t key = hash_bytes(request->endpoint, strlen(request->endpoint)) ^
		       hash_u64(request->row.protocol << 8u | request->row.role);
	const uint64_t *known = map_get(&answer->known, key);
	struct store_endpoint one = {.protocol = request->row.protocol, .role = request->row.role};

	if (known)
		return &answer->endpoints.at[*known];
	answer->is_cut |= answer->endpoints.count >= REQUEST_ENDPOINTS_MAX;
	one.endpoint = answer->is_cut ? NULL : name_pool_add(&answer->names, request->endpoint);
	if (!one.endpoint || !vec_push(&answer->endpoints, one) ||
	    !map_put(&answer->known, key, answer->endpoints.count - 1))
		return NULL;
	return vec_last(&answer->endpoints);
}

static bool add_to_endpoint(struct store_requests *answer, const struct request *request)
{
	struct store_endpoint *one = endpoint_of(answer, request);

	answer->count++;
	answer->failed += (request->row.flags & FILM_REQUEST_FAILED) != 0;
	answer->open += (request->row.flags & FILM_REQUEST_OPEN) != 0;
	return one ? request_figures_add(&one->figures, request) : answer->is_cut;
}

static int slowest_first(const void *left, const void *right)
{
	const struct store_request *a = left, *b = right;
	uint64_t x = a->row.duration, y = b->row.duration;

	return x != y ? (x > y ? -1 : 1) : a->end < b->end ? -1 : a->end > b->end;
}

/* Its strings last as long as the answer. */
static bool fill(struct adder *t, const struct request *request, struct store_request *one)
{
	struct name_pool *names = &t->answer->names;
	const struct film *film = t->of->film;
	const struct film_thread *thread = &film->threads[request->row.thread];
	const struct film_process *process = &film->processes[thread->process];
	char name[REQUEST_NAME_MAX], peer[REQUEST_PEER_MAX];

	request_name(request, name);
	*one = (struct store_request){
		.row = request->row,
		.endpoint = name_pool_add(names, request->endpoint),
		.path = name_pool_add(names, request->path),
		.name = name_pool_add(names, name),
		.peer = name_pool_add(names, request_peer(request, peer, sizeof(peer))),
		.host = name_pool_add(names, t->of->host),
		.process = name_pool_add(names, process->comm),
		.comm = name_pool_add(names, thread->comm),
		.pid = process->pid,
		.tid = thread->tid,
		.end = request->row.end + (uint64_t)film->info.wall_offset,
	};
	return one->endpoint && one->path && one->name && one->peer && one->host && one->process &&
	       one->comm;
}

/* Once there are enough, the root of a heap is the fastest of them. */
static bool keep_slowest(struct adder *t, const struct request *request)
{
	struct store_requests *answer = t->answer;
	struct store_request one;

	if (answer->slowest.count == answer->limit &&
	    (!answer->limit || request->row.duration <= answer->slowest.at[0].row.duration))
		return true;
	if (!fill(t, request, &one))
		return false;
	if (answer->slowest.count == answer->limit) {
		answer->slowest.at[0] = one;
		heap_sink(answer->slowest.at, answer->limit, sizeof(one), slowest_first);
		return true;
	}
	if (!vec_push(&answer->slowest, one))
		return false;
	if (answer->slowest.count == answer->limit)
		heap_make(answer->slowest.at, answer->limit, sizeof(one), slowest_first);
	return true;
}

static void add_to_map(struct adder *t, const struct request *request)
{
	struct store_requests *answer = t->answer;
	uint64_t end = request->row.end + (uint64_t)t->of->film->info.wall_offset;
	uint64_t step = end > t->from ? (end - t->from) / answer->step : 0;

	step = step < answer->steps ? step : answer->steps - 1;
	answer->map[step * REQUEST_ROWS + row_of(request->row.duration)]++;
}

static int add_request(void *context, const struct request *request)
{
	struct adder *t = context;
	struct store_requests *answer = t->answer;
	uint64_t duration = request->row.duration;

	if (!t->kept.threads[request->row.thread] ||
	    (answer->role && request->row.role != answer->role))
		return 0;
	t->count++;
	if (!add_to_endpoint(answer, request))
		return -ENOMEM;
	if (answer->endpoint && strcmp(answer->endpoint, request->endpoint) != 0)
		return 0;
	if (answer->map)
		add_to_map(t, request);
	if (duration < answer->least || (answer->most && duration > answer->most))
		return 0;
	return keep_slowest(t, request) ? 0 : -ENOMEM;
}

int asked_requests(const struct ask_film *of, struct filter_kept *kept,
		   int (*each)(void *context, const struct request *request), void *context,
		   struct fail *why)
{
	uint64_t from, to;
	int err = filter_span(&of->question->filter, &of->film->info, &from, &to, why);

	if (err || !requests_event(of->film))
		return err;
	err = filter_apply(&of->question->filter, of->film, kept, why);
	if (!err)
		err = requests_each(of->film, from, to, each, context, why);
	filter_kept_free(kept);
	*kept = (struct filter_kept){0};
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot answer") : err;
}

static int add_film(void *context, const struct ask_film *of)
{
	struct adder *t = context;
	uint64_t before = t->count;
	int err;

	t->of = of;
	err = asked_requests(of, &t->kept, add_request, t, t->why);
	return err ? err : sum_add(&t->answer->sum, t->count - before, 0, t->why);
}

static int most_first(const void *left, const void *right)
{
	const struct store_endpoint *a = left, *b = right;

	uint64_t x = a->figures.total, y = b->figures.total;

	return x != y ? (x > y ? -1 : 1) : strcmp(a->endpoint, b->endpoint);
}

static int begin_map(struct store_requests *answer, const struct asked *asked, struct fail *why)
{
	if (!answer->steps)
		return 0;
	answer->step = (asked->to - asked->from) / answer->steps + 1;
	answer->map = calloc(answer->steps * REQUEST_ROWS, sizeof(*answer->map));
	return answer->map ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot answer");
}

int store_requests(struct store *store, const struct store_ask *ask, struct store_requests *answer,
		   struct fail *why)
{
	struct adder t = {.answer = answer, .why = why};
	struct store_ask own = *ask;
	struct asked asked = {0};
	int err;

	own.event = event_type(EVENT_REQUESTS)->name;
	err = asked_begin(&asked, store, &own, why);
	t.from = asked.from;
	if (!err)
		err = begin_map(answer, &asked, why);
	if (!err)
		err = ask_films(&asked, film_open, &answer->sum, add_film, &t, why);
	if (answer->endpoints.count)
		qsort(answer->endpoints.at, answer->endpoints.count, sizeof(*answer->endpoints.at),
		      most_first);
	if (answer->slowest.count)
		qsort(answer->slowest.at, answer->slowest.count, sizeof(*answer->slowest.at),
		      slowest_first);
	asked_free(&asked);
	return err;
}

void store_requests_free(struct store_requests *answer)
{
	vec_foreach (&answer->endpoints, one)
		request_figures_free(&one->figures);
	vec_free(&answer->endpoints);
	vec_free(&answer->slowest);
	free(answer->map);
	map_free(&answer->known);
	name_pool_free(&answer->names);
	*answer = (struct store_requests){0};
}
