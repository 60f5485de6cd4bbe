// SPDX-License-Identifier: Apache-2.0
/* What the machine did, as counters of a trace of Perfetto: a track for each gauge. */
#include "exchange/perfetto/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "film/events.h"
#include "film/gauges.h"
#include "query/machine.h"

/* protos/perfetto/trace/track_event: counter_descriptor.proto, track_descriptor.proto */
enum {
	TRACK_COUNTER = 8,
	COUNTER_UNIT_NAME = 6,
	TYPE_COUNTER = 4,
	EVENT_COUNTER_VALUE = 30,
	EVENT_COUNTER_DOUBLE = 44,
};

struct writer {
	struct perfetto_trace *trace;
	const struct film *film;
	struct map tracks; /* of kind and object, a hash: the track */
	int err;
};

static const char *object_of(const struct film *film, uint32_t frame)
{
	return film->functions[film->frames[frame].function].name;
}

static const char *unit_of(const struct gauge_type *type)
{
	enum event_quantity of = event_quantity(type->unit);

	if (type->is_level)
		return of == EVENT_COUNT ? "" : type->unit;
	return of == EVENT_TIME ? "of a second" : of == EVENT_BYTES ? "bytes/s" : "/s";
}

static int describe(struct writer *w, const struct gauge_type *type, const char *object,
		    uint64_t *uuid)
{
	struct perfetto_trace *t = w->trace;
	char *name = NULL;
	int err;

	if (asprintf(&name, "%s %s%s%s", type->group, type->name, *object ? ", " : "", object) < 0)
		return -ENOMEM;
	*uuid = ++t->uuids;
	proto_number(&t->message, TRACK_UUID, *uuid);
	err = perfetto_put_text(&t->message, TRACK_NAME, name);
	proto_text(&t->inner, COUNTER_UNIT_NAME, unit_of(type));
	proto_message(&t->message, TRACK_COUNTER, &t->inner);
	proto_message(&t->packet, PACKET_TRACK_DESCRIPTOR, &t->message);
	perfetto_put_packet(t, 0);
	free(name);
	return err;
}

static void put_value(struct writer *w, uint64_t track, uint64_t time, double value)
{
	struct perfetto_trace *t = w->trace;
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_number(&t->message, EVENT_TYPE, TYPE_COUNTER);
	proto_number(&t->message, EVENT_TRACK, track);
	/* a field of zero bits would be left out */
	if (bits)
		proto_fixed64(&t->message, EVENT_COUNTER_DOUBLE, bits);
	else
		proto_number_always(&t->message, EVENT_COUNTER_VALUE, 0);
	perfetto_put_event(t, time);
}

/* Of what flows the amount a second; of time the part of a second, so 1 is the whole second. */
static double value_of(const struct gauge_type *type, uint64_t value, uint64_t duration)
{
	if (type->is_level)
		return (double)value;
	if (!duration)
		return 0;
	return event_quantity(type->unit) == EVENT_TIME
		       ? (double)value / (double)duration
		       : (double)value * SECOND_NS / (double)duration;
}

static int write_row(struct writer *w, const struct film_gauges *rows, size_t i)
{
	const struct gauge_type *type = film_gauge_type(rows->kind[i]);
	const char *object = object_of(w->film, rows->object[i]);
	uint64_t key = hash_bytes(object, strlen(object)) ^ hash_u64(rows->kind[i] + 1ull), uuid;
	const uint64_t *known;

	/* threads come and go: what they did is in the table of the film, not in counters */
	if (!type || rows->kind[i] == FILM_GAUGE_NOTE || rows->kind[i] == FILM_GAUGE_DISK_READ_BY ||
	    rows->kind[i] == FILM_GAUGE_DISK_WRITE_BY)
		return 0;
	known = map_get(&w->tracks, key);
	if (!known) {
		int err = describe(w, type, object, &uuid);

		if (err || !map_put(&w->tracks, key, uuid))
			return err ? err : -ENOMEM;
	} else {
		uuid = *known;
	}
	put_value(w, uuid, rows->end[i] - rows->duration[i],
		  value_of(type, rows->value[i], rows->duration[i]));
	return w->trace->field.failed ? -ENOMEM : 0;
}

static int write_rows(void *context, const struct film_gauges *rows)
{
	struct writer *w = context;

	for (size_t i = 0; !w->err && i < rows->count; i++)
		w->err = write_row(w, rows, i);
	return w->err;
}

int perfetto_put_machine(struct perfetto_trace *t, struct film *film, uint64_t from, uint64_t to,
			 struct fail *why)
{
	struct writer w = {.trace = t, .film = film};
	uint32_t event = machine_event(film);
	int err = event ? film_each_gauges(film, event, from, to, write_rows, &w, why) : 0;

	map_free(&w.tracks);
	return w.err ? fail_errno(why, w.err, NULL, "cannot tell what the machine did") : err;
}
