// SPDX-License-Identifier: Apache-2.0
/* Locks that threads waited for, and the threads that held them. */
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "store/locks.h"

static void put_lock(struct json *j, const struct store_lock *lock)
{
	size_t shown = 0;

	json_open(j, NULL, '{');
	json_text(j, "name", lock->name);
	json_u64(j, "waits", lock->waits);
	json_u64(j, "total", lock->total);
	json_u64(j, "longest", lock->longest);
	json_open(j, "holders", '[');
	vec_foreach (&lock->holders, holder) {
		if (shown == LOCK_HOLDERS_SHOWN)
			break;
		shown++;
		json_open(j, NULL, '{');
		json_text(j, "name", holder->name);
		json_u64(j, "waits", holder->waits);
		json_u64(j, "total", holder->total);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_u64(j, "holders_hidden", lock->holders.count - shown);
	json_close(j, '}');
}

static void put_answer(struct json *j, const struct store_locks *locks, uint64_t limit)
{
	size_t shown = 0;

	json_open(j, NULL, '{');
	put_sum(j, "sum", &locks->sum);
	json_bool(j, "cut", locks->is_cut);
	json_open(j, "locks", '[');
	vec_foreach (&locks->all, lock) {
		if (shown == limit)
			break;
		shown++;
		put_lock(j, lock);
	}
	json_close(j, ']');
	json_u64(j, "locks_hidden", locks->all.count - shown);
	json_close(j, '}');
}

int api_locks(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_locks locks = {0};
	struct server_ask ask;
	uint64_t limit = 0;
	int err = ask_request(request, "limit", &ask, why);

	if (!err)
		err = ask_number(request->url, "limit", 1, LOCK_LIST_MAX, 100, &limit, why);
	if (!err)
		err = store_locks(request->store, &ask.ask, &locks, why);
	if (!err)
		put_answer(&j, &locks, limit);
	store_locks_free(&locks);
	ask_free(&ask);
	return err;
}
