// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/map.h"
#include "exchange/pprof/profile.h"
#include "base/vec.h"
#include "film/events.h"
#include "film/schema.h"

enum {
	ROWS_MAX = 1 << 20, /* of each table */
	TYPES_MAX = 32,
	DEPTH_MAX = 4096, /* frames of a stack */
	LABELS_MAX = 16,  /* of a sample that are kept */
	LABELS_SIZE = 1024,
};

struct value_type {
	uint64_t name, unit; /* strings */
};

struct mapping {
	uint64_t start, offset, file, build_id;
};

struct function {
	uint64_t name, system_name, file;
};

struct line {
	uint64_t function; /* id */
	uint32_t number;
};

struct location {
	uint64_t mapping, address;
	uint32_t first_line, lines;
	uint32_t frame; /* 0: not made yet */
};

struct pprof_reader {
	struct buf unpacked;
	struct bytes message;
	vec(char *) strings;
	vec(struct value_type) types;
	vec(struct mapping) mappings;
	vec(struct function) functions;
	vec(struct location) locations;
	vec(struct line) lines;
	struct map mapping_of, function_of, location_of; /* by id: index */
	struct value_type period_type;
	uint64_t period, time, duration;
	bool too_many, no_memory;

	/* while samples are given */
	struct import *film;
	const char *service;
	struct import_type films[TYPES_MAX];
	int counts;	     /* which type counts samples; -1: none does */
	bool counts_periods; /* no type is in time: its count, and a period, are */
	uint32_t nobody;     /* a thread of which nothing is known */
};

static const char *string_at(const struct pprof_reader *p, uint64_t index)
{
	return index < p->strings.count ? p->strings.at[index] : "";
}

/* Adds an item to a table of p; a table has an end. */
#define ADD(p, table, ...)                                    \
	do {                                                  \
		if ((p)->table.count >= ROWS_MAX)             \
			(p)->too_many = true;                 \
		else if (!vec_push(&(p)->table, __VA_ARGS__)) \
			(p)->no_memory = true;                \
	} while (0)

static void remember(struct pprof_reader *p, struct map *map, uint64_t id, size_t count)
{
	if (count && !map_put(map, id, count - 1))
		p->no_memory = true;
}

static void read_string(struct pprof_reader *p, struct bytes bytes)
{
	char *copy = strndup((const char *)bytes.at, bytes_left(&bytes));
	size_t before = p->strings.count;

	if (copy)
		ADD(p, strings, copy);
	else
		p->no_memory = true;
	if (p->strings.count == before)
		free(copy);
}

static struct value_type read_type(struct bytes *message)
{
	struct value_type type = {0};
	struct proto_field field;

	while (proto_next(message, &field)) {
		if (field.number == 1)
			type.name = field.value;
		else if (field.number == 2)
			type.unit = field.value;
	}
	return type;
}

static void read_mapping(struct pprof_reader *p, struct bytes *message)
{
	struct mapping mapping = {0};
	struct proto_field field;
	uint64_t id = 0;

	while (proto_next(message, &field)) {
		switch (field.number) {
		case 1:
			id = field.value;
			break;
		case 2:
			mapping.start = field.value;
			break;
		case 4:
			mapping.offset = field.value;
			break;
		case 5:
			mapping.file = field.value;
			break;
		case 6:
			mapping.build_id = field.value;
			break;
		}
	}
	ADD(p, mappings, mapping);
	remember(p, &p->mapping_of, id, p->mappings.count);
}

static void read_function(struct pprof_reader *p, struct bytes *message)
{
	struct function function = {0};
	struct proto_field field;
	uint64_t id = 0;

	while (proto_next(message, &field)) {
		switch (field.number) {
		case 1:
			id = field.value;
			break;
		case 2:
			function.name = field.value;
			break;
		case 3:
			function.system_name = field.value;
			break;
		case 4:
			function.file = field.value;
			break;
		}
	}
	ADD(p, functions, function);
	remember(p, &p->function_of, id, p->functions.count);
}

static void read_line(struct pprof_reader *p, struct bytes *message)
{
	struct line line = {0};
	struct proto_field field;

	while (proto_next(message, &field)) {
		if (field.number == 1)
			line.function = field.value;
		else if (field.number == 2 && field.value <= INT32_MAX)
			line.number = (uint32_t)field.value;
	}
	ADD(p, lines, line);
}

static void read_location(struct pprof_reader *p, struct bytes *message)
{
	struct location location = {.first_line = (uint32_t)p->lines.count};
	struct proto_field field;
	uint64_t id = 0;

	while (proto_next(message, &field)) {
		switch (field.number) {
		case 1:
			id = field.value;
			break;
		case 2:
			location.mapping = field.value;
			break;
		case 3:
			location.address = field.value;
			break;
		case 4:
			read_line(p, &field.bytes);
			message->failed |= field.bytes.failed;
			break;
		}
	}
	location.lines = (uint32_t)p->lines.count - location.first_line;
	ADD(p, locations, location);
	remember(p, &p->location_of, id, p->locations.count);
}

/* Samples come last, when all that they refer to is known. */
static void read_field(struct pprof_reader *p, struct proto_field *field)
{
	switch (field->number) {
	case PPROF_SAMPLE_TYPE:
		if (p->types.count >= TYPES_MAX)
			p->too_many = true;
		else
			ADD(p, types, read_type(&field->bytes));
		break;
	case PPROF_MAPPING:
		read_mapping(p, &field->bytes);
		break;
	case PPROF_LOCATION:
		read_location(p, &field->bytes);
		break;
	case PPROF_FUNCTION:
		read_function(p, &field->bytes);
		break;
	case PPROF_STRING:
		read_string(p, field->bytes);
		break;
	case PPROF_TIME_NANOS:
		p->time = field->value;
		break;
	case PPROF_DURATION_NANOS:
		p->duration = field->value;
		break;
	case PPROF_PERIOD_TYPE:
		p->period_type = read_type(&field->bytes);
		break;
	case PPROF_PERIOD:
		p->period = field->value;
		break;
	}
}

static int not_a_profile(struct fail *why)
{
	return fail(why, -EBADMSG, "send a profile in the format of pprof",
		    "cannot take this profile: it is not pprof, or damaged");
}

static bool is_message(const struct proto_field *field)
{
	unsigned int number = field->number;

	return (number >= PPROF_SAMPLE_TYPE && number <= PPROF_STRING) ||
	       number == PPROF_PERIOD_TYPE;
}

static int read_tables(struct pprof_reader *p, struct fail *why)
{
	struct bytes message = p->message;
	struct proto_field field;

	while (proto_next(&message, &field)) {
		if (is_message(&field) != (field.wire == PROTO_BYTES) &&
		    field.number <= PPROF_PERIOD)
			return not_a_profile(why);
		read_field(p, &field);
		if (field.bytes.failed)
			return not_a_profile(why);
		if (p->no_memory)
			return fail_errno(why, -ENOMEM, NULL, "cannot take this profile");
		if (p->too_many)
			return fail(why, -E2BIG, "send profiles of shorter times",
				    "cannot take this profile: it has more than %d rows in a table",
				    ROWS_MAX);
	}
	if (message.failed || !p->types.count || !p->strings.count || *p->strings.at[0])
		return not_a_profile(why);
	return 0;
}

static int unpack(struct pprof_reader *p, const uint8_t *body, size_t size, struct fail *why)
{
	int err;

	p->message = (struct bytes){body, body + size, false};
	if (size < 2 || body[0] != 0x1f || body[1] != 0x8b)
		return 0;
	err = gunzip(body, size, PPROF_READER_MAX, &p->unpacked);
	if (err == -E2BIG)
		return fail(why, err, "send profiles of shorter times",
			    "cannot take this profile: unpacked, it has more than %d MB",
			    PPROF_READER_MAX >> 20);
	if (err == -EBADMSG)
		return not_a_profile(why);
	if (err)
		return fail_errno(why, err, NULL, "cannot take this profile");
	/* packed nothing is nothing */
	p->message = p->unpacked.count ? (struct bytes){p->unpacked.at,
							p->unpacked.at + p->unpacked.count, false}
				       : (struct bytes){body, body, false};
	return 0;
}

int pprof_reader_open(const uint8_t *body, size_t size, struct pprof_reader **profile,
		      struct fail *why)
{
	struct pprof_reader *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return fail_errno(why, -ENOMEM, NULL, "cannot take this profile");
	err = unpack(p, body, size, why);
	if (!err)
		err = read_tables(p, why);
	if (err) {
		pprof_reader_free(p);
		return err;
	}
	*profile = p;
	return 0;
}

void pprof_reader_free(struct pprof_reader *p)
{
	if (!p)
		return;
	vec_foreach (&p->strings, s)
		free(*s);
	vec_free(&p->strings);
	vec_free(&p->types);
	vec_free(&p->mappings);
	vec_free(&p->functions);
	vec_free(&p->locations);
	vec_free(&p->lines);
	map_free(&p->mapping_of);
	map_free(&p->function_of);
	map_free(&p->location_of);
	buf_free(&p->unpacked);
	free(p);
}

void pprof_reader_span(const struct pprof_reader *p, struct import_span *span)
{
	uint64_t length = span->to - span->from;

	if (!p->time || p->time > INT64_MAX)
		return;
	if (p->duration && p->duration <= INT64_MAX)
		length = p->duration;
	*span = (struct import_span){p->time, p->time + length};
}

static size_t read_names(const struct pprof_reader *p, const struct location *location,
			 struct film_name names[FILM_DEPTH_MAX])
{
	size_t count = 0;

	for (uint32_t i = 0; i < location->lines && count < FILM_DEPTH_MAX; i++) {
		const struct line *line = &p->lines.at[location->first_line + i];
		const uint64_t *index = map_get(&p->function_of, line->function);
		const struct function *function = index ? &p->functions.at[*index] : NULL;
		const char *name = function ? string_at(p, function->name) : "";

		if (function && !*name)
			name = string_at(p, function->system_name);
		if (*name)
			names[count++] = (struct film_name){name, string_at(p, function->file),
							    line->number};
	}
	return count;
}

static void make_frame(struct pprof_reader *p, struct location *location)
{
	const uint64_t *index = map_get(&p->mapping_of, location->mapping);
	const struct mapping *mapping = index ? &p->mappings.at[*index] : NULL;
	struct film_name names[FILM_DEPTH_MAX];
	uint8_t build_id[FILM_BUILD_ID_MAX];
	struct import_place place = {
		.image = mapping ? string_at(p, mapping->file) : "",
		.build_id = build_id,
		.address = location->address,
		.names = names,
		.count = read_names(p, location, names),
	};

	if (mapping) {
		place.build_id_size = import_build_id(string_at(p, mapping->build_id), build_id);
		import_place_in(&place, mapping->start, mapping->offset);
	}
	if (!strcmp(place.image, "[kernel]") || !strcmp(place.image, "[kernel.kallsyms]"))
		place.kind = FILM_FRAME_KERNEL;
	location->frame = import_frame(p->film, &place);
}

struct sample {
	vec(uint64_t) locations; /* leaf first */
	uint64_t values[TYPES_MAX];
	size_t count;
	struct import_thread thread;
	char labels[LABELS_SIZE];
	size_t label_count;
};

static bool is_any(const char *key, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(key, *names))
			return true;
	return false;
}

/* Ids of single requests would make every stack one of its own. */
static const char *const dropped_labels[] = {"profile_id", "span_id", "trace_id", NULL};
static const char *const pid_labels[] = {"pid", "process_id", "process.pid", NULL};
static const char *const tid_labels[] = {"tid", "thread_id", "thread.id", NULL};
static const char *const comm_labels[] = {"comm", "thread", "thread_name", "thread.name", NULL};

static void read_text_label(struct sample *s, const char *key, const char *value)
{
	size_t used = strlen(s->labels);

	if (is_any(key, comm_labels)) {
		s->thread.comm = value;
		return;
	}
	if (is_any(key, dropped_labels) || !*key || s->label_count >= LABELS_MAX)
		return;
	/* whole, or not at all */
	if (used + strlen(key) + strlen(value) + 3 > sizeof(s->labels))
		return;
	snprintf(s->labels + used, sizeof(s->labels) - used, "%s%s=%s", used ? "," : "", key,
		 value);
	s->label_count++;
}

static void read_label(const struct pprof_reader *p, struct bytes *message, struct sample *s)
{
	struct proto_field field;
	uint64_t values[4] = {0}; /* key, text, number */
	const char *key;

	while (proto_next(message, &field))
		if (field.number <= 3)
			values[field.number] = field.value;
	key = string_at(p, values[1]);
	if (values[2])
		read_text_label(s, key, string_at(p, values[2]));
	else if (is_any(key, pid_labels))
		s->thread.pid = (uint32_t)values[3];
	else if (is_any(key, tid_labels))
		s->thread.tid = (uint32_t)values[3];
}

/* False: it is more than a sample can be. */
static bool read_sample(const struct pprof_reader *p, struct bytes *message, struct sample *s)
{
	struct proto_field field;
	uint64_t number;

	while (proto_next(message, &field)) {
		if (field.number == 1) {
			while (proto_next_number(&field, &number))
				if (s->locations.count >= DEPTH_MAX ||
				    !vec_push(&s->locations, number))
					return false;
		} else if (field.number == 2) {
			while (proto_next_number(&field, &number))
				if (s->count < p->types.count)
					s->values[s->count++] = number;
		} else if (field.number == 3) {
			read_label(p, &field.bytes, s);
		}
		message->failed |= field.bytes.failed;
	}
	return true;
}

static uint32_t make_stack(struct pprof_reader *p, const struct sample *s)
{
	uint32_t stack = 0;

	if (*s->labels)
		stack = import_stack(p->film, 0, import_label(p->film, s->labels));
	for (size_t i = s->locations.count; i-- > 0;) {
		const uint64_t *index = map_get(&p->location_of, s->locations.at[i]);
		struct location *location = index ? &p->locations.at[*index] : NULL;

		if (location && !location->frame)
			make_frame(p, location);
		if (location && location->frame)
			stack = import_stack(p->film, stack, location->frame);
	}
	return stack;
}

/* The values of a sample go each to its own event. */
static void emit_values(struct pprof_reader *p, const struct sample *s, uint32_t stack)
{
	const struct import_thread *t = &s->thread;
	uint32_t thread = !t->pid && !t->tid && !*t->comm ? p->nobody : import_thread(p->film, t);
	uint64_t samples = p->counts >= 0 ? s->values[p->counts] : 1, value;

	for (size_t i = 0; i < p->types.count; i++) {
		bool counts = (int)i == p->counts;

		if (!s->values[i] || (counts && !p->counts_periods))
			continue;
		if ((int64_t)s->values[i] < 0 ||
		    __builtin_mul_overflow(s->values[i], counts ? p->period : 1, &value)) {
			import_lost(p->film, 1);
			continue;
		}
		/* other values are not of the samples that were counted: bytes, objects */
		import_samples(p->film, p->films[i], thread, stack,
			       counts || event_is_time_abroad(string_at(p, p->types.at[i].unit))
				       ? samples
				       : 1,
			       value);
	}
}

static bool emit_sample(struct pprof_reader *p, struct bytes *message, struct sample *s)
{
	s->locations.count = 0;
	s->count = s->label_count = 0;
	s->labels[0] = 0;
	s->thread = (struct import_thread){
		.service = p->service, .comm = "", .exe = "", .container = ""};
	memset(s->values, 0, sizeof(s->values));
	if (!read_sample(p, message, s) || s->count != p->types.count)
		import_lost(p->film, 1);
	else if (!message->failed)
		emit_values(p, s, make_stack(p, s));
	return !message->failed;
}

/* Which values become which events. */
static void choose_events(struct pprof_reader *p)
{
	const char *period_name = string_at(p, p->period_type.name);
	const char *period_unit = string_at(p, p->period_type.unit);
	bool has_time = false;

	p->counts = -1;
	for (size_t i = 0; i < p->types.count; i++) {
		const char *name = string_at(p, p->types.at[i].name);
		const char *unit = string_at(p, p->types.at[i].unit);

		has_time |= event_is_time_abroad(unit);
		if (event_counts_samples(name, unit) && p->counts < 0)
			p->counts = (int)i;
	}
	p->counts_periods = !has_time && p->counts >= 0 && event_is_time_abroad(period_unit) &&
			    p->period && p->period <= INT64_MAX;
	if (!has_time && !p->counts_periods)
		p->counts = -1;
	for (size_t i = 0; i < p->types.count; i++) {
		bool counts = (int)i == p->counts;

		if (counts && p->counts_periods)
			p->films[i] = import_event(p->film, period_name, period_unit);
		else if (!counts)
			p->films[i] = import_event(p->film, string_at(p, p->types.at[i].name),
						   string_at(p, p->types.at[i].unit));
	}
}

int pprof_reader_import(struct pprof_reader *p, const char *service, struct import *film,
			struct fail *why)
{
	struct bytes message = p->message;
	struct sample *sample = calloc(1, sizeof(*sample));
	struct proto_field field;
	bool good = true;

	if (!sample)
		return fail_errno(why, -ENOMEM, NULL, "cannot take this profile");
	p->film = film;
	p->service = service;
	vec_foreach (&p->locations, location)
		location->frame = 0;
	choose_events(p);
	p->nobody = import_thread(film, &(struct import_thread){service, 0, 0, "", "", ""});
	while (good && proto_next(&message, &field))
		if (field.number == PPROF_SAMPLE)
			good = emit_sample(p, &field.bytes, sample);
	vec_free(&sample->locations);
	free(sample);
	return good ? 0 : not_a_profile(why);
}
