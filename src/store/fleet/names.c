// SPDX-License-Identifier: Apache-2.0
/*
 * Names that were found after their films had come (store/names.h), for all collectors. A stack in
 * ClickHouse keeps the place that its film had; what the place is called lies beside it, so that
 * a name needs no sum to be sent again. The first collector that has a name sends it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/fleet/round.h"
#include "store/room.h"

enum {
	BUILDS_AT_ONCE = 500, /* in a statement: some 30 kB */
	NAMES_BYTES = 16 << 20,
};

struct builds {
	vec(struct film_image) all;
};

/* Those without names in ClickHouse, and with names here. */
static int find_builds(struct round *r, struct builds *builds)
{
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	fleet_sql_unnamed_builds(&sql);
	err = fleet_run_once(&r->client, &sql, &answer, r->why);
	b = buf_bytes(&answer);
	while (!err && bytes_left(&b)) {
		struct film_image image = {.path = ""};

		if (!fleet_read_build(&b, &image))
			err = fleet_not_understood(r->why);
		else if (image.build_id_size && build_names_has(r->e->store->names, &image) &&
			 !vec_push(&builds->all, image))
			err = round_no_memory(r);
	}
	buf_free(&answer);
	return err;
}

static int send_rows(struct round *r, struct buf *rows)
{
	int err = fleet_insert(&r->client, fleet_tables[FLEET_NAMES].name, rows, r->why);

	rows->count = 0;
	return err;
}

/* A place, if it has a name here. */
static int put_name(struct round *r, struct bytes *b, struct buf *rows)
{
	char name[BUILD_NAME_SIZE];
	struct film_image image = {.path = ""};
	uint64_t fn = bytes_u64(b);
	char *place = fleet_read_text(b);
	const char *shown;
	int err = 0;

	if (!place || !fleet_read_build(b, &image)) {
		free(place);
		return fleet_not_understood(r->why);
	}
	shown = build_names_shown(r->e->store->names, &image, place, name);
	if (shown == name) {
		fleet_put_u64(rows, fn);
		fleet_put_text(rows, shown);
		fleet_put_text(rows, ledger_collector(r->e->ledger));
		fleet_put_u64(rows, r->batch);
		if (rows->count >= NAMES_BYTES)
			err = send_rows(r, rows);
	}
	free(place);
	return err;
}

static int send_builds(struct round *r, const struct film_image *builds, size_t count)
{
	struct buf sql = {0}, answer = {0}, rows = {0};
	struct bytes b;
	int err;

	fleet_sql_unnamed(&sql, builds, count);
	err = fleet_run_once(&r->client, &sql, &answer, r->why);
	b = buf_bytes(&answer);
	while (!err && bytes_left(&b))
		err = put_name(r, &b, &rows);
	if (!err)
		err = send_rows(r, &rows);
	buf_free(&answer);
	buf_free(&rows);
	return err;
}

int round_send_names(struct round *r)
{
	struct builds builds = {0};
	int err = r->e->store->names ? find_builds(r, &builds) : 0;

	for (size_t i = 0; !err && i < builds.all.count; i += BUILDS_AT_ONCE) {
		size_t left = builds.all.count - i;

		err = send_builds(r, builds.all.at + i,
				  left < BUILDS_AT_ONCE ? left : BUILDS_AT_ONCE);
	}
	vec_free(&builds.all);
	return err;
}
