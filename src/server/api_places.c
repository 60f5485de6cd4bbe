// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"

enum {
	PLACES = 10,
	PLACES_MAX = 1000,
};

static void put_build(struct json *j, const struct place *place)
{
	char build_id[2 * FILM_BUILD_ID_MAX + 1];

	json_text(j, "image", place->image);
	json_text(j, "build_id",
		  text_hex(build_id, sizeof(build_id), place->build_id, place->build_id_size));
}

static void put_line(struct json *j, const struct place *place)
{
	json_text(j, "file", place->file);
	json_u64(j, "line", place->line);
}

static int put_places(struct json *j, const char *key, const struct places *places,
		      enum places_by by, uint64_t limit)
{
	size_t count;
	struct place *at = places_sum(places, by, &count);

	json_open(j, key, '[');
	for (size_t i = 0; at && i < count && i < limit; i++) {
		json_open(j, NULL, '{');
		if (by == PLACES_BY_BUILD)
			put_build(j, &at[i]);
		else
			put_line(j, &at[i]);
		json_u64(j, "self", at[i].self);
		json_u64(j, "total", at[i].total);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(at);
	return at ? 0 : -ENOMEM;
}

static int put_answer(struct json *j, const struct store_places *found, uint64_t limit)
{
	uint64_t self = 0, total = 0;
	int err;

	vec_foreach (&found->places.all, place) {
		self += place->self;
		total += place->total;
	}
	json_open(j, NULL, '{');
	put_sum(j, "sum", &found->sum);
	json_u64(j, "self", self);
	json_u64(j, "total", total);
	err = put_places(j, "builds", &found->places, PLACES_BY_BUILD, limit);
	if (!err)
		err = put_places(j, "lines", &found->places, PLACES_BY_LINE, limit);
	json_close(j, '}');
	return err;
}

int api_places(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *name = request_parameter(request, "name");
	const char *image = request_parameter(request, "image");
	struct json j = {.out = answer->out};
	struct store_places found = {0};
	struct server_ask ask;
	uint64_t limit;
	int err = ask_request(request, "name image limit request", &ask, why);

	if (!err)
		err = ask_of_request(request->url, &ask, why);
	if (!err && (!name || !*name))
		err = fail(why, -EINVAL, NULL, "name, of the function, is missing");
	if (!err)
		err = ask_number(request->url, "limit", 1, PLACES_MAX, PLACES, &limit, why);
	if (!err)
		err = store_places(request->store, &ask.ask, name, image, &found, why);
	if (!err && put_answer(&j, &found, limit))
		err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
	store_places_free(&found);
	ask_free(&ask);
	return err;
}
