// SPDX-License-Identifier: Apache-2.0
/* What a user's own ClickHouse says to every statement, with rows whose sums are known. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/fleet/schema.h"

/* The rows are of this hour: 2026-01-01 00:00 UTC. */
#define HOUR	1767225600u
#define HOUR_NS (HOUR * 1000000000ull)

enum {
	FUNCTION = 1,
	STACK = 2,
	VALUE = 7,
};

static const char event[] = "on-cpu", service[] = "web", host[] = "it's a \\host",
		  collector[] = "c";

struct trial {
	struct fleet_client client;
	void (*line)(void *context, const char *what, const struct fail *failed);
	void *context;
	int failures;
};

static void report(struct trial *t, const char *what, int err, const struct fail *why)
{
	t->line(t->context, what, err ? why : NULL);
	t->failures += err != 0;
}

static void put_end(struct buf *b, uint64_t batch)
{
	fleet_put_text(b, collector);
	fleet_put_u64(b, batch);
}

static void put_dictionary(enum fleet_table table, struct buf *b)
{
	switch (table) {
	case FLEET_FUNCTIONS:
		fleet_put_u64(b, FUNCTION);
		fleet_put_text(b, "web+0x10");
		buf_put_u8(b, FILM_FRAME_NATIVE);
		buf_put_u8(b, 1);
		fleet_put_text(b, "/bin/web");
		buf_put_u8(b, 0);
		fleet_put_bytes(b, "\0\1", 2);
		break;
	case FLEET_STACKS:
		fleet_put_text(b, service);
		fleet_put_u64(b, STACK);
		buf_put_varint(b, 1);
		fleet_put_u64(b, FUNCTION);
		fleet_put_bytes(b, "\0", 1);
		break;
	default:
		fleet_put_u64(b, FUNCTION);
		fleet_put_text(b, service);
		fleet_put_u64(b, STACK);
		break;
	}
}

static void put_sums(enum fleet_table table, struct buf *b, uint64_t batch, uint64_t value)
{
	fleet_put_u32(b, HOUR);
	if (table == FLEET_SUMS) {
		fleet_put_text(b, service);
		fleet_put_text(b, event);
		fleet_put_u64(b, STACK);
		fleet_put_u64(b, value);
	} else {
		fleet_put_text(b, host);
		fleet_put_text(b, service);
		fleet_put_text(b, "");
		fleet_put_text(b, "");
		fleet_put_text(b, event);
		for (int i = 0; i < 4; i++)
			fleet_put_u64(b, value);
	}
	put_end(b, batch);
}

/* Batch 1 has less than is true, and batch 2, which replaces it, comes twice. */
static void put_row(enum fleet_table table, struct buf *b, uint64_t batch)
{
	switch (table) {
	case FLEET_FILMED:
		fleet_put_u32(b, HOUR);
		fleet_put_text(b, host);
		fleet_put_text(b, event);
		fleet_put_u64(b, HOUR_NS);
		fleet_put_u64(b, HOUR_NS + batch);
		put_end(b, batch);
		break;
	case FLEET_LOST:
		fleet_put_u32(b, HOUR);
		fleet_put_text(b, host);
		fleet_put_text(b, event);
		buf_put_u8(b, 0);
		fleet_put_u64(b, VALUE);
		put_end(b, batch);
		break;
	case FLEET_SUMS:
	case FLEET_SERIES:
		put_sums(table, b, batch, batch == 1 ? 1 : VALUE);
		break;
	case FLEET_NAMES:
		fleet_put_u64(b, FUNCTION);
		fleet_put_text(b, batch == 1 ? "work" : "work_later");
		put_end(b, batch);
		break;
	case FLEET_COLLECTORS:
		fleet_put_text(b, collector);
		fleet_put_u64(b, HOUR_NS + batch);
		fleet_put_u64(b, batch);
		break;
	default:
		put_dictionary(table, b);
		break;
	}
}

static void try_table(struct trial *t, enum fleet_table table)
{
	const char *name = fleet_tables[table].name;
	struct fail why = {0};
	char what[128];
	int err = 0;

	for (int k = 0; !err && k < 3; k++) {
		struct buf row = {0};

		put_row(table, &row, k ? 2 : 1);
		err = fleet_insert(&t->client, name, &row, &why);
		buf_free(&row);
	}
	snprintf(what, sizeof(what), "insert into %s", name);
	report(t, what, err, &why);
}

static int wrong(struct fail *why)
{
	return fail(why, -EBADMSG, "report it, with the server's version",
		    "the answer is not what was inserted");
}

/* Reads the one row of an answer. */
static bool is_stack(struct bytes *b)
{
	return bytes_u64(b) == VALUE && bytes_varint(b) == 1 && bytes_u64(b) == FUNCTION &&
	       bytes_varint(b) == 1 && bytes_u8(b) == 0;
}

static bool is_text(struct bytes *b, const char *text)
{
	uint64_t size = bytes_varint(b);
	const uint8_t *at = size == strlen(text) ? bytes_read(b, (size_t)size) : NULL;

	return size == strlen(text) && (!size || (at && !memcmp(at, text, (size_t)size)));
}

static bool is_build(struct bytes *b)
{
	return bytes_varint(b) == 2 && bytes_u16(b) == 0x100;
}

static bool is_function(struct bytes *b)
{
	return bytes_u64(b) == FUNCTION && is_text(b, "web+0x10") &&
	       bytes_u8(b) == FILM_FRAME_NATIVE && bytes_u8(b) == 1 && is_text(b, "/bin/web") &&
	       bytes_u8(b) == 0 && is_build(b) && is_text(b, "work_later");
}

static bool is_name(struct bytes *b)
{
	return bytes_u64(b) == FUNCTION && is_text(b, "web+0x10") && bytes_u8(b) == 1 &&
	       is_build(b) && is_text(b, "work_later");
}

static bool is_unnamed(struct bytes *b)
{
	return bytes_u64(b) == FUNCTION && is_text(b, "web+0x10") && is_build(b);
}

static bool is_series(struct bytes *b, uint32_t t)
{
	return is_text(b, host) && is_text(b, service) && is_text(b, "") && is_text(b, "") &&
	       bytes_u32(b) == t && bytes_u64(b) == VALUE && bytes_u64(b) == VALUE &&
	       bytes_u64(b) == VALUE && bytes_u64(b) == VALUE;
}

static bool is_whole(struct bytes *b)
{
	return is_series(b, 0);
}

static bool is_timed(struct bytes *b)
{
	return is_series(b, HOUR);
}

static bool is_filmed(struct bytes *b)
{
	return bytes_u64(b) == HOUR_NS && bytes_u64(b) == HOUR_NS + 2;
}

static bool is_lost(struct bytes *b)
{
	return bytes_u8(b) == 1 && bytes_u8(b) == 0 && bytes_u64(b) == VALUE;
}

static bool is_until(struct bytes *b)
{
	return bytes_u64(b) == HOUR_NS + 2;
}

/* sql is freed. */
static void ask(struct trial *t, const char *what, struct buf *sql,
		bool (*is_right)(struct bytes *))
{
	bool may_repeat = is_right == is_function || is_right == is_name, right;
	struct buf answer = {0};
	struct fail why = {0};
	struct bytes b;
	int err;

	err = fleet_run_once(&t->client, sql, &answer, &why);
	b = buf_bytes(&answer);
	do
		right = !err && is_right(&b) && !b.failed;
	while (right && may_repeat && bytes_left(&b));
	if (!err && (!right || bytes_left(&b)))
		err = wrong(&why);
	report(t, what, err, &why);
	buf_free(&answer);
}

/* While no place has a name. */
static void try_unnamed(struct trial *t)
{
	const struct film_image image = {.build_id = {0, 1}, .build_id_size = 2};
	struct buf sql = {0};

	fleet_sql_unnamed_builds(&sql);
	ask(t, "builds without names", &sql, is_build);
	fleet_sql_unnamed(&sql, &image, 1);
	ask(t, "places without names", &sql, is_unnamed);
}

static void try_tables(struct trial *t)
{
	for (int i = 0; i < FLEET_TABLES; i++) {
		if (i == FLEET_NAMES)
			try_unnamed(t);
		try_table(t, (enum fleet_table)i);
	}
}

static void try_questions(struct trial *t)
{
	static const uint64_t functions[] = {FUNCTION};
	const struct fleet_ask of = {event, HOUR / 60, HOUR / 60 + 60, host, service, "", NULL, 0};
	struct fleet_ask named = of, all = of;
	struct buf sql = {0};

	named.functions = functions;
	named.function_count = 1;
	all.service = NULL;
	fleet_sql_stacks(&sql, &of);
	ask(t, "stacks of a service, a batch sent twice counted once", &sql, is_stack);
	fleet_sql_stacks(&sql, &all);
	ask(t, "stacks of all services", &sql, is_stack);
	fleet_sql_stacks(&sql, &named);
	ask(t, "stacks with a function", &sql, is_stack);
	fleet_sql_functions(&sql, &named);
	ask(t, "functions of stacks", &sql, is_function);
	fleet_sql_functions(&sql, &all);
	ask(t, "all functions", &sql, is_function);
	fleet_sql_names(&sql);
	ask(t, "names of functions, those found later among them", &sql, is_name);
	fleet_sql_series(&sql, &of, FLEET_WHOLE);
	ask(t, "series", &sql, is_whole);
	fleet_sql_series(&sql, &of, FLEET_HOUR);
	ask(t, "series by hour", &sql, is_timed);
	fleet_sql_series(&sql, &of, FLEET_MINUTE);
	ask(t, "series by minute", &sql, is_timed);
	fleet_sql_filmed(&sql, &of);
	ask(t, "time that was filmed", &sql, is_filmed);
	fleet_sql_lost(&sql, &of);
	ask(t, "losses", &sql, is_lost);
	fleet_sql_collectors(&sql);
	ask(t, "collectors", &sql, is_until);
}

int fleet_try(struct fleet *fleet,
	      void (*line)(void *context, const char *what, const struct fail *failed),
	      void *context, struct fail *why)
{
	struct trial t = {.line = line, .context = context};
	struct fail failed = {0};
	int err = fleet_connect(fleet, NULL, &t.client, why);

	if (err)
		return err;
	snprintf(fleet->database, sizeof(fleet->database), "stackcam_doctor_%d", (int)getpid());
	err = fleet_prepare(&t.client, &failed);
	report(&t, "make a database and the tables", err, &failed);
	/* a second start finds them there */
	if (!err) {
		err = fleet_prepare(&t.client, &failed);
		report(&t, "find the tables there", err, &failed);
	}
	if (!err) {
		try_tables(&t);
		try_questions(&t);
	}
	err = fleet_drop(&t.client, &failed);
	report(&t, "drop that database", err, &failed);
	fleet_disconnect(&t.client);
	return t.failures;
}
