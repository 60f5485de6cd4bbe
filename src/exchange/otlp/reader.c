// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/otlp/keys.h"
#include "film/events.h"
#include "exchange/otlp/tables.h"

enum {
	RESOURCES_MAX = 10000,
	ORIGINS_MAX = 64, /* films that one request becomes */
};

/* What its attributes say of a resource; its samples may say more. */
struct resource {
	struct bytes message;
	uint32_t origin;
	struct import_thread who;
	char service[IMPORT_NAME_MAX + 1];
};

struct otlp_reader {
	struct otlp_tables tables;
	vec(struct resource) resources;
	vec(struct import_origin) origins;
};

/*
 * Labels distinguish services, so not all that a resource says of itself becomes
 * one: ids of processes and containers would make as many series.
 */
static const struct {
	const char *key, *label;
} kept_attributes[] = {
	{"service.version", "version"},
	{"service.namespace", "service.namespace"},
	{"deployment.environment.name", "env"},
	{"deployment.environment", "env"},
	{"k8s.cluster.name", "cluster"},
	{"k8s.namespace.name", "namespace"},
	{"cloud.region", "region"},
	{"cloud.availability_zone", "zone"},
};

static void read_resource_attribute(const struct otlp_attribute *a, struct resource *resource,
				    struct import_origin *origin)
{
	if (!strcmp(a->key, "service.name") || !strcmp(a->key, "host.name")) {
		import_origin_label(origin, a->key, a->text);
		return;
	}
	if (!strcmp(a->key, "process.pid"))
		resource->who.pid = (uint32_t)a->number;
	else if (!strcmp(a->key, "process.executable.path"))
		resource->who.exe = a->text;
	else if (!strcmp(a->key, "container.id"))
		resource->who.container = a->text;
	for (size_t i = 0; i < sizeof(kept_attributes) / sizeof(kept_attributes[0]); i++)
		if (!strcmp(a->key, kept_attributes[i].key))
			import_origin_label(origin, kept_attributes[i].label, a->text);
}

static void read_resource(struct otlp_reader *o, struct bytes message, struct resource *resource,
			  struct import_origin *origin)
{
	struct proto_field field;

	while (proto_next(&message, &field)) {
		if (field.number == 1 && field.wire == PROTO_BYTES) {
			struct otlp_attribute a =
				otlp_read_attribute(&o->tables, field.bytes, false);

			read_resource_attribute(&a, resource, origin);
		}
	}
	o->tables.damaged |= message.failed;
}

/* Services of one host with the same labels go into one film. */
static uint32_t find_origin(struct otlp_reader *o, const struct import_origin *origin)
{
	size_t i;

	for (i = 0; i < o->origins.count; i++)
		if (!strcmp(o->origins.at[i].host, origin->host) &&
		    !strcmp(o->origins.at[i].labels, origin->labels))
			return (uint32_t)i;
	OTLP_ADD(o, origins, ORIGINS_MAX, &o->tables, *origin);
	return (uint32_t)i;
}

static int read_resource_profiles(struct otlp_reader *o, struct bytes message)
{
	struct resource resource = {.message = message, .who = {"", 0, 0, "", "", ""}};
	struct import_origin *origin = calloc(1, sizeof(*origin));
	struct proto_field field;

	if (!origin)
		return -ENOMEM;
	while (proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			read_resource(o, field.bytes, &resource, origin);
	o->tables.damaged |= message.failed;
	memcpy(resource.service, origin->service, sizeof(resource.service));
	origin->service[0] = 0;
	resource.origin = find_origin(o, origin);
	free(origin);
	OTLP_ADD(o, resources, RESOURCES_MAX, &o->tables, resource);
	return 0;
}

static int not_a_request(struct fail *why)
{
	return fail(
		why, -EBADMSG, "send what OTLP 1.9 to 1.11 calls ExportProfilesServiceRequest",
		"cannot take these profiles: they are no profiles of OTLP, of another version, or "
		"damaged");
}

static int read_all(struct otlp_reader *o, struct bytes body, struct fail *why)
{
	struct bytes message = body;
	struct proto_field field;
	int err = 0;

	while (proto_next(&message, &field)) {
		if (field.number <= 2 && field.wire != PROTO_BYTES)
			return not_a_request(why);
		if (field.number == 2)
			otlp_tables_read(&o->tables, field.bytes);
	}
	if (message.failed)
		return not_a_request(why);
	message = body;
	while (!err && proto_next(&message, &field))
		if (field.number == 1)
			err = read_resource_profiles(o, field.bytes);
	if (err || o->tables.no_memory)
		return fail_errno(why, -ENOMEM, NULL, "cannot take these profiles");
	if (o->tables.too_many)
		return fail(
			why, -E2BIG, "send profiles of shorter times",
			"cannot take these profiles: they have more than %d rows in a table, or "
			"come from more than %d hosts",
			OTLP_ROWS_MAX, ORIGINS_MAX);
	return o->tables.damaged ? not_a_request(why) : 0;
}

int otlp_reader_open(const uint8_t *body, size_t size, struct otlp_reader **request,
		     struct fail *why)
{
	struct otlp_reader *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return fail_errno(why, -ENOMEM, NULL, "cannot take these profiles");
	err = read_all(o, (struct bytes){body, body + size, false}, why);
	if (err) {
		otlp_reader_free(o);
		return err;
	}
	*request = o;
	return 0;
}

void otlp_reader_free(struct otlp_reader *o)
{
	if (!o)
		return;
	otlp_tables_free(&o->tables);
	vec_free(&o->resources);
	vec_free(&o->origins);
	free(o);
}

size_t otlp_reader_count(const struct otlp_reader *o)
{
	return o->origins.count;
}

const struct import_origin *otlp_reader_origin(const struct otlp_reader *o, size_t i)
{
	return &o->origins.at[i];
}

/* What is done with each profile of a resource. */
typedef int profile_function(void *context, const struct resource *resource, struct bytes profile);

static int each_profile(const struct resource *resource, profile_function *emit, void *context)
{
	struct bytes message = resource->message;
	struct proto_field scope, profile;
	int err = 0;

	while (!err && proto_next(&message, &scope)) {
		if (scope.number != 2 || scope.wire != PROTO_BYTES)
			continue;
		while (!err && proto_next(&scope.bytes, &profile))
			if (profile.number == 2 && profile.wire == PROTO_BYTES)
				err = emit(context, resource, profile.bytes);
		if (scope.bytes.failed)
			err = -EBADMSG;
	}
	return message.failed ? -EBADMSG : err;
}

struct span_of {
	uint64_t from, to;
};

static int read_span(void *context, const struct resource *resource, struct bytes profile)
{
	struct span_of *span = context;
	uint64_t time = 0, duration = 0;
	struct proto_field field;

	(void)resource;
	while (proto_next(&profile, &field)) {
		if (field.number == 3)
			time = field.value;
		else if (field.number == 4)
			duration = field.value;
	}
	if (!time || time > INT64_MAX || duration > INT64_MAX)
		return 0;
	if (!span->from || time < span->from)
		span->from = time;
	if (time + duration > span->to)
		span->to = time + duration;
	return 0;
}

void otlp_reader_span(const struct otlp_reader *o, size_t i, struct import_span *span)
{
	struct span_of of = {0};

	vec_foreach (&o->resources, resource)
		if (resource->origin == i)
			each_profile(resource, read_span, &of);
	if (of.from)
		*span = (struct import_span){of.from, of.to};
}

struct profile {
	struct otlp_reader *o;
	const struct resource *resource;
	struct import_type type;
	uint64_t period; /* what a value is multiplied with */
	bool is_counted; /* a value is that many samples */
};

struct sample {
	uint64_t stack;
	struct bytes attributes, values, stamps;
	uint64_t lone_value, lone_stamp; /* which stand alone */
	bool has_lone_value, has_lone_stamp;
};

static void who_from(const struct otlp_reader *o, struct bytes indices, struct import_thread *who)
{
	while (!indices.failed && bytes_left(&indices)) {
		uint64_t index = bytes_varint(&indices);
		const struct otlp_attribute *a =
			index < o->tables.attributes.count ? &o->tables.attributes.at[index] : NULL;

		if (!a)
			continue;
		if (!strcmp(a->key, "process.pid"))
			who->pid = (uint32_t)a->number;
		else if (!strcmp(a->key, "thread.id"))
			who->tid = (uint32_t)a->number;
		else if (!strcmp(a->key, "thread.name"))
			who->comm = a->text;
		else if (!strcmp(a->key, "process.executable.path"))
			who->exe = a->text;
		else if (!strcmp(a->key, "container.id"))
			who->container = a->text;
	}
}

static bool read_sample(struct bytes *message, struct sample *s)
{
	struct proto_field field;

	*s = (struct sample){0};
	while (proto_next(message, &field)) {
		if (field.number == 1)
			s->stack = field.value;
		else if (field.number == 2)
			otlp_keep_numbers(&field, &s->attributes);
		else if (field.number == 4 && field.wire == PROTO_BYTES)
			s->values = field.bytes;
		else if (field.number == 4) {
			s->has_lone_value = true;
			s->lone_value = field.value;
		} else if (field.number == 5 && field.wire == PROTO_BYTES)
			s->stamps = field.bytes;
		else if (field.number == 5) {
			s->has_lone_stamp = true;
			s->lone_stamp = field.value;
		}
	}
	return !message->failed;
}

static bool next_value(struct sample *s, uint64_t *value)
{
	if (s->has_lone_value) {
		*value = s->lone_value;
		s->has_lone_value = false;
		return true;
	}
	if (s->values.failed || !bytes_left(&s->values))
		return false;
	*value = bytes_varint(&s->values);
	return !s->values.failed;
}

static bool next_stamp(struct sample *s, uint64_t *stamp)
{
	if (s->has_lone_stamp) {
		*stamp = s->lone_stamp;
		s->has_lone_stamp = false;
		return true;
	}
	if (s->stamps.failed || !bytes_left(&s->stamps))
		return false;
	*stamp = bytes_u64(&s->stamps);
	return !s->stamps.failed;
}

static void emit_values(const struct profile *p, struct sample *s, uint32_t thread, uint32_t stack)
{
	bool has_values = s->has_lone_value || bytes_left(&s->values);
	bool has_stamps = s->has_lone_stamp || bytes_left(&s->stamps);
	struct import *film = p->o->tables.film;
	uint64_t value, stamp = 0, weighed;

	for (;;) {
		if (has_stamps && !next_stamp(s, &stamp))
			break;
		if (!next_value(s, &value)) {
			if (has_values || !has_stamps)
				break;
			value = 1; /* stamps alone: each stands for one */
		}
		if ((int64_t)value < 0 || __builtin_mul_overflow(value, p->period, &weighed))
			import_lost(film, 1);
		else if (has_stamps)
			import_sample(film, p->type, stamp, thread, stack, weighed);
		else
			import_samples(film, p->type, thread, stack, p->is_counted ? value : 1,
				       weighed);
	}
}

static int emit_sample(const struct profile *p, struct bytes message)
{
	struct import_thread who = p->resource->who;
	struct sample s;
	uint32_t stack;

	if (!read_sample(&message, &s))
		return -EBADMSG;
	who.service = p->resource->service;
	who_from(p->o, s.attributes, &who);
	stack = otlp_stack(&p->o->tables, s.stack);
	emit_values(p, &s, import_thread(p->o->tables.film, &who), stack);
	return s.values.failed || s.stamps.failed ? -EBADMSG : 0;
}

struct value_type {
	const char *name, *unit;
};

static struct value_type read_type(const struct otlp_reader *o, struct bytes message)
{
	struct value_type type = {"", ""};
	struct proto_field field;

	while (proto_next(&message, &field)) {
		if (field.number == 1)
			type.name = otlp_string(&o->tables, field.value);
		else if (field.number == 2)
			type.unit = otlp_string(&o->tables, field.value);
	}
	return type;
}

/* A count of samples, each of which stands for a period of time, is that time. */
static void choose_event(struct otlp_reader *o, struct bytes message, struct profile *p)
{
	struct value_type type = {"", ""}, period_type = {"", ""};
	struct proto_field field;
	uint64_t period = 0;

	while (proto_next(&message, &field)) {
		if (field.number == 1)
			type = read_type(o, field.bytes);
		else if (field.number == 5)
			period_type = read_type(o, field.bytes);
		else if (field.number == 6)
			period = field.value;
	}
	p->period = 1;
	if (event_counts_samples(type.name, type.unit) && event_is_time_abroad(period_type.unit) &&
	    period && period <= INT64_MAX) {
		type = period_type;
		p->period = period;
		p->is_counted = true;
	}
	p->type = import_event(o->tables.film, type.name, type.unit);
}

/* A sender that is stackcam's agent says what it lost; with a reason, as the sums are of these. */
static void emit_losses(const struct otlp_reader *o, struct import *film, uint32_t event,
			struct bytes indices)
{
	static const char of_event[] = OTLP_LOST ".", of_none[] = OTLP_LOST_OF_NO_EVENT ".";

	while (!indices.failed && bytes_left(&indices)) {
		uint64_t index = bytes_varint(&indices);
		const struct otlp_attribute *a =
			index < o->tables.attributes.count ? &o->tables.attributes.at[index] : NULL;

		if (!a || !a->number)
			continue;
		if (!strncmp(a->key, of_event, strlen(of_event)) && event)
			import_sender_lost(film, event, a->key + strlen(of_event), a->number);
		else if (!strncmp(a->key, of_none, strlen(of_none)))
			import_sender_lost(film, 0, a->key + strlen(of_none), a->number);
	}
}

static int emit_profile(void *context, const struct resource *resource, struct bytes message)
{
	struct otlp_reader *o = context;
	struct profile profile = {.o = o, .resource = resource};
	struct proto_field field;
	int err = 0;

	choose_event(o, message, &profile);
	while (!err && proto_next(&message, &field))
		if (field.number == 2 && field.wire == PROTO_BYTES)
			err = emit_sample(&profile, field.bytes);
		else if (field.number == 11 && field.wire == PROTO_BYTES)
			emit_losses(o, o->tables.film, profile.type.event, field.bytes);
	return message.failed ? -EBADMSG : err;
}

int otlp_reader_import(struct otlp_reader *o, size_t i, struct import *film, struct fail *why)
{
	int err = 0;

	otlp_tables_begin(&o->tables, film);
	vec_foreach (&o->resources, resource) {
		if (resource->origin != i)
			continue;
		err = each_profile(resource, emit_profile, o);
		if (err)
			return not_a_request(why);
	}
	return 0;
}
