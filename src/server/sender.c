// SPDX-License-Identifier: Apache-2.0
#include "server/sender.h"

#include <errno.h>
#include <string.h>

#include "server/internal.h"

static bool is_one_of_ours(struct server_state *state, uint64_t id)
{
	bool is = false;

	pthread_mutex_lock(&state->lock);
	vec_foreach (&state->tokens.all, token)
		is |= token->id == id;
	pthread_mutex_unlock(&state->lock);
	return is;
}

static int check_host(const struct http_request *request, struct store_sender *sender,
		      struct fail *why)
{
	const struct access_grant *grant = request->grant;
	bool is_bound = grant->host[0], is_taken;
	struct store_host of;

	if (is_bound && strcmp(grant->host, sender->host) != 0)
		return fail(why, -EPERM, "name the machine so, or use another token",
			    "this token sends films of %.64s only, and not of %.64s", grant->host,
			    sender->host);
	store_host(request->store, sender->host, &of);
	if (of.is_own && !is_bound)
		return fail(why, -EPERM,
			    "send them under another name, or with a token that has "
			    "'host=' and this name",
			    "%.64s is the machine that is filmed here", sender->host);
	is_taken =
		of.owner && of.owner != grant->sender && is_one_of_ours(request->state, of.owner);
	if (is_taken && !is_bound)
		return fail(why, -EPERM,
			    "send them under another name, or with a token that has "
			    "'host=' and this name",
			    "films of %.64s come with another token", sender->host);
	sender->owner = is_taken ? of.owner : grant->sender;
	return 0;
}

int sender_add_film(const struct http_request *request, const char *path,
		    struct store_sender *sender, bool *again, struct fail *why)
{
	int err = check_host(request, sender, why);

	return err ? err : store_add_film(request->store, path, sender, again, why);
}
