// SPDX-License-Identifier: Apache-2.0
#include "server/spent.h"

#include <stdlib.h>

enum {
	SPENT_MAX = 1024, /* that wait to be freed */
};

struct spent {
	struct server *server;
	struct MHD_Response *response;
	uint64_t bytes; /* of server->answer_bytes */
};

static void free_spent(void *context, void *item)
{
	struct spent *spent = item;

	(void)context;
	MHD_destroy_response(spent->response);
	atomic_fetch_sub(&spent->server->answer_bytes, spent->bytes);
	free(spent);
}

int spent_start(struct server *server, struct fail *why)
{
	const struct workers_options options = {
		.count = 1,
		.queue = SPENT_MAX,
		.work = free_spent,
		.name = "free",
	};

	return workers_start(&options, &server->freeing, why);
}

static void release(struct server *server, struct spent *spent)
{
	if (!spent)
		return;
	if (server->freeing && workers_reserve(server->freeing))
		workers_put(server->freeing, spent);
	else
		free_spent(NULL, spent);
}

void spent_leave(struct call *call)
{
	struct server *server = call->server;
	struct spent *spent = call->response ? malloc(sizeof(*spent)) : NULL;

	if (spent) {
		*spent = (struct spent){server, call->response, call->sent};
		release(server, atomic_exchange(&server->spent, spent));
	} else {
		if (call->response)
			MHD_destroy_response(call->response);
		atomic_fetch_sub(&server->answer_bytes, call->sent);
	}
	call->response = NULL;
	call->sent = 0;
}

void spent_go_on(struct server *server)
{
	release(server, atomic_exchange(&server->spent, NULL));
}

void spent_stop(struct server *server)
{
	workers_end(server->freeing);
}

void spent_free(struct server *server)
{
	spent_go_on(server);
	workers_free(server->freeing);
}
