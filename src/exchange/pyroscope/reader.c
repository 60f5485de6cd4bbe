// SPDX-License-Identifier: Apache-2.0
#include "exchange/pyroscope/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"

/* Profiles of one push, each of which becomes a film. */
#define PROFILES_MAX 256

struct reader {
	pyroscope_profile_function *emit;
	void *context;
	int profiles;
};

static int not_a_push(struct fail *why)
{
	return fail(why, -EBADMSG, "send what Pyroscope calls push.v1.PushRequest",
		    "cannot take this push: it is another message, or damaged");
}

static void read_label_pair(struct bytes message, struct import_origin *origin)
{
	char *texts[3] = {0};
	struct proto_field field;

	while (proto_next(&message, &field)) {
		if (!field.number || field.number > 2 || field.wire != PROTO_BYTES ||
		    texts[field.number])
			continue;
		texts[field.number] =
			strndup((const char *)field.bytes.at, bytes_left(&field.bytes));
	}
	if (texts[1] && texts[2])
		import_origin_label(origin, texts[1], texts[2]);
	free(texts[1]);
	free(texts[2]);
}

/* A RawSample: a profile. */
static int read_sample(const struct reader *r, struct bytes message, struct import_origin *origin,
		       struct fail *why)
{
	struct proto_field field;
	int err = 0;

	while (!err && proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			err = r->emit(r->context, origin, field.bytes.at, bytes_left(&field.bytes),
				      why);
	return !err && message.failed ? not_a_push(why) : err;
}

/* A RawProfileSeries: labels, then profiles that have them. */
static int read_series(struct reader *r, struct bytes series, struct fail *why)
{
	struct import_origin *origin = calloc(1, sizeof(*origin));
	struct bytes message = series;
	struct proto_field field;
	int err = origin ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot take this push");

	while (!err && proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			read_label_pair(field.bytes, origin);
	if (!err && message.failed)
		err = not_a_push(why);
	if (!err && !*origin->service)
		import_origin_label(origin, "service", "unknown");
	while (!err && proto_next(&series, &field)) {
		if (field.number != 2 || field.wire != PROTO_BYTES)
			continue;
		if (++r->profiles > PROFILES_MAX)
			err = fail(why, -E2BIG, "send fewer at once",
				   "cannot take this push: it has more than %d profiles",
				   PROFILES_MAX);
		else
			err = read_sample(r, field.bytes, origin, why);
	}
	free(origin);
	return err;
}

int pyroscope_read_push(const uint8_t *body, size_t size, pyroscope_profile_function *emit,
			void *context, struct fail *why)
{
	struct bytes message = {body, body + size, false};
	struct reader r = {.emit = emit, .context = context};
	struct proto_field field;
	int err = 0;

	while (!err && proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			err = read_series(&r, field.bytes, why);
	return !err && message.failed ? not_a_push(why) : err;
}
