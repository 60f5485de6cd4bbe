// SPDX-License-Identifier: Apache-2.0
/* Services by the requests that they served and made; the films alone have them. */
#include <errno.h>
#include <string.h>

#include "base/saturated.h"
#include "film/events.h"
#include "query/filter.h"
#include "query/requests.h"
#include "store/ask_private.h"
#include "store/index_series.h"
#include "store/services.h"

struct adder {
	struct store_services *answer;
	const struct ask_film *of;
	struct index *index;
	struct filter_kept kept;
	uint32_t *services; /* by process of the film: a service plus one; 0: not looked up yet */
	uint64_t machine, count;
	struct fail *why;
};

/* SERVICE_NONE: no room. Returns 0 or -ENOMEM. */
static int add_service(struct store_services *answer, const char *host, const char *name,
		       uint32_t *service)
{
	uint64_t key = hash_bytes(host, strlen(host)) ^ hash_u64(hash_bytes(name, strlen(name)));
	const uint64_t *known = map_get(&answer->known_services, key);
	struct store_service one = {0};

	*service = known ? (uint32_t)*known : SERVICE_NONE;
	if (known)
		return 0;
	if (answer->services.count == SERVICES_MAX) {
		answer->is_cut = true;
		return 0;
	}
	one.host = name_pool_add(&answer->names, host);
	one.name = name_pool_add(&answer->names, name);
	*service = (uint32_t)answer->services.count;
	return one.host && one.name && vec_push(&answer->services, one) &&
			       map_put(&answer->known_services, key, *service)
		       ? 0
		       : -ENOMEM;
}

static int service_of(struct adder *t, uint32_t process, uint32_t *service)
{
	char name[INDEX_SERVICE_SIZE];
	int err;

	*service = t->services[process] - 1;
	if (t->services[process])
		return 0;
	index_service_of(t->index, &t->of->film->processes[process], name);
	err = add_service(t->answer, t->of->host, name, service);
	/* one that there was no room for may find some in the next film: it is looked up again */
	t->services[process] = *service + 1;
	return err;
}

/* Calls that differ in one of these are not added up. */
struct alike {
	uint64_t peer[2];
	uint32_t from;
	uint16_t port;
	uint8_t protocol, is_unix;
};

/* *call is null where there is no room. */
static int call_of(struct store_services *answer, const struct request *request, uint32_t from,
		   struct store_service_call **call)
{
	const struct film_request *row = &request->row;
	struct alike alike = {
		.from = from,
		.port = row->peer_port,
		.protocol = row->protocol,
		.is_unix = (row->flags & FILM_REQUEST_UNIX) != 0,
	};
	struct store_service_call one = {.from = from, .protocol = row->protocol};
	const uint64_t *known;
	char peer[REQUEST_PEER_MAX];
	uint64_t key;

	request_peer_place(request, alike.peer);
	key = hash_bytes(&alike, sizeof(alike));
	known = map_get(&answer->known_calls, key);
	*call = known ? &answer->calls.at[*known] : NULL;
	if (known)
		return 0;
	if (answer->calls.count == SERVICE_CALLS_MAX) {
		answer->is_cut = true;
		return 0;
	}
	one.peer = name_pool_add(&answer->names, request_peer(request, peer, sizeof(peer)));
	if (!one.peer || !vec_push(&answer->calls, one) ||
	    !map_put(&answer->known_calls, key, answer->calls.count - 1))
		return -ENOMEM;
	*call = vec_last(&answer->calls);
	return 0;
}

static int add_made(struct adder *t, const struct request *request, uint32_t service)
{
	struct store_service *client = &t->answer->services.at[service];
	struct store_service_call *call;
	int err = call_of(t->answer, request, service, &call);

	client->made++;
	client->made_failed += (request->row.flags & FILM_REQUEST_FAILED) != 0;
	if (err || !call)
		return err;
	if (request->row.parent)
		call->for_served = add_saturated(call->for_served, request->row.duration);
	connection_sample_add(&call->connections, request, t->machine);
	return request_figures_add(&call->made, request) ? 0 : -ENOMEM;
}

static int add_request(void *context, const struct request *request)
{
	struct adder *t = context;
	uint32_t service;
	int err;

	if (!t->kept.threads[request->row.thread])
		return 0;
	t->count++;
	err = service_of(t, t->of->film->threads[request->row.thread].process, &service);
	if (err || service == SERVICE_NONE)
		return err;
	if (request->row.role == FILM_REQUEST_MADE)
		return add_made(t, request, service);
	return request_figures_add(&t->answer->services.at[service].served, request) &&
			       connections_add(&t->answer->connections, request, t->machine,
					       service)
		       ? 0
		       : -ENOMEM;
}

static int add_film(void *context, const struct ask_film *of)
{
	struct adder *t = context;
	uint64_t before = t->count;
	int err;

	t->of = of;
	t->machine = hash_bytes(of->host, strlen(of->host));
	t->services = calloc(of->film->process_count + 1, sizeof(*t->services));
	if (!t->services)
		return fail_errno(t->why, -ENOMEM, NULL, "cannot answer");
	err = asked_requests(of, &t->kept, add_request, t, t->why);
	free(t->services);
	t->services = NULL;
	return err ? err : sum_add(&t->answer->sum, t->count - before, 0, t->why);
}

static void find_servers(struct store_services *answer)
{
	vec_foreach (&answer->calls, call) {
		int64_t server = connections_server(&answer->connections, &call->connections);

		call->is_several = server == CONNECTION_SEVERAL;
		call->to = server < 0 ? SERVICE_NONE : (uint32_t)server;
	}
}

static int most_made_first(const void *left, const void *right)
{
	const struct store_service_call *a = left, *b = right;

	return a->made.total != b->made.total ? (a->made.total > b->made.total ? -1 : 1)
					      : strcmp(a->peer, b->peer);
}

int store_services(struct store *store, const struct store_ask *ask, struct store_services *answer,
		   struct fail *why)
{
	struct adder t = {.answer = answer, .why = why};
	struct store_ask own = *ask;
	struct asked asked = {0};
	int err;

	own.event = event_type(EVENT_REQUESTS)->name;
	err = asked_begin(&asked, store, &own, why);
	t.index = asked.index;
	if (!err)
		err = ask_films(&asked, film_open, &answer->sum, add_film, &t, why);
	find_servers(answer);
	if (answer->calls.count)
		qsort(answer->calls.at, answer->calls.count, sizeof(*answer->calls.at),
		      most_made_first);
	asked_free(&asked);
	return err;
}

void store_services_free(struct store_services *answer)
{
	vec_foreach (&answer->services, service)
		request_figures_free(&service->served);
	vec_foreach (&answer->calls, call)
		request_figures_free(&call->made);
	vec_free(&answer->services);
	vec_free(&answer->calls);
	map_free(&answer->known_services);
	map_free(&answer->known_calls);
	connections_free(&answer->connections);
	name_pool_free(&answer->names);
	*answer = (struct store_services){0};
}
