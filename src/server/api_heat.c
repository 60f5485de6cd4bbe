// SPDX-License-Identifier: Apache-2.0
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"

static void put_heat(struct json *j, const struct store_heat *heat)
{
	const struct heat *map = &heat->map;

	json_open(j, NULL, '{');
	put_sum(j, "sum", &heat->sum);
	json_u64(j, "first", map->first);
	json_u64(j, "seconds", map->seconds);
	json_u64(j, "rows", HEAT_ROWS);
	json_u64(j, "most", map->most);
	json_open(j, "cells", '[');
	for (size_t i = 0; i < (size_t)map->seconds * HEAT_ROWS; i++)
		json_u64(j, NULL, map->cells[i]);
	json_close(j, ']');
	json_close(j, '}');
}

int api_heat(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_heat heat = {0};
	struct server_ask ask;
	int err = ask_request(request, "", &ask, why);

	if (!err)
		err = store_heat(request->store, &ask.ask, &heat, why);
	if (!err)
		put_heat(&j, &heat);
	store_heat_free(&heat);
	ask_free(&ask);
	return err;
}
