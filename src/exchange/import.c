// SPDX-License-Identifier: Apache-2.0
#include "exchange/import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "film/events.h"
#include "film/frame_kinds.h"

#define HOUR_NS (3600 * SECOND_NS)

/* How wrong a clock may be, and how long the time that one push is about. */
#define FUTURE_MAX (HOUR_NS / 6)
#define SPAN_MAX   (24 * HOUR_NS)
#define YEAR_2000  (946684800 * SECOND_NS)

/*
 * The most that one pushed sample becomes, and all of a push: more would only take room.
 */
#define SPREAD_MAX     1000
#define SPREAD_ALL_MAX 200000

/*
 * Things are found again by a hash of all that they are: a client that pushes two that share one
 * harms only what is pushed with them.
 */
struct import {
	struct film_writer *writer;
	struct import_span span;
	struct map events, processes, threads, images, frames;
	uint64_t samples, spread, lost, told;
	uint32_t turn; /* of spreading: samples do not all begin at the same place */
};

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	/* not in the middle of a character */
	for (size_t end = strlen(to); end && from[end] && ((uint8_t)from[end] & 0xc0) == 0x80;)
		to[--end] = 0;
}

static bool is_one_of(const char *s, const char *const *all)
{
	for (; *all; all++)
		if (!strcmp(s, *all))
			return true;
	return false;
}

static bool is_allowed_in_key(char c)
{
	return film_label_key_ok(&c, 1);
}

static void add_label(struct import_origin *origin, const char *key, const char *value)
{
	char label[FILM_LABEL_KEY_MAX + FILM_LABEL_VALUE_MAX + 2], *at = label;
	char kept[FILM_LABEL_VALUE_MAX + 1];
	struct fail why;

	for (; *key && at < label + FILM_LABEL_KEY_MAX; key++)
		*at++ = is_allowed_in_key(*key) ? *key : '_';
	*at++ = '=';
	copy(kept, sizeof(kept), value);
	for (char *c = kept; *c; c++)
		if (*c == ',' || (unsigned char)*c < ' ' || *c == 0x7f)
			*c = '_';
	if (!*kept)
		return;
	snprintf(at, (size_t)(label + sizeof(label) - at), "%s", kept);
	if (film_labels_add(origin->labels, sizeof(origin->labels), label, &why))
		origin->labels_lost++;
}

void import_origin_label(struct import_origin *origin, const char *key, const char *value)
{
	static const char *const hosts[] = {"hostname", "host", "host.name", "host_name", NULL};
	static const char *const services[] = {"service_name", "service.name", "service", NULL};

	if (is_one_of(key, hosts))
		copy(origin->host, sizeof(origin->host), value);
	else if (is_one_of(key, services))
		copy(origin->service, sizeof(origin->service), value);
	else if (*key && strncmp(key, "__", 2))
		add_label(origin, key, value);
}

int import_check_span(const struct import_span *span, uint64_t now, struct fail *why)
{
	if (span->to < span->from)
		return fail(why, -EINVAL, NULL,
			    "cannot take this profile: it ends before it begins");
	if (span->to > now + FUTURE_MAX)
		return fail(why, -EINVAL, "compare the clocks of both machines",
			    "cannot take this profile: its time has not come yet");
	if (span->from < YEAR_2000)
		return fail(why, -EINVAL, "send its time in seconds since 1970",
			    "cannot take this profile: it is from before the year 2000");
	if (span->to - span->from > SPAN_MAX)
		return fail(why, -EINVAL, "send a part of that time",
			    "cannot take this profile: it is about more than a day");
	return 0;
}

int import_new(const char *path, const struct import_origin *origin, const struct import_span *span,
	       struct import **film, struct fail *why)
{
	const struct film_info info = {
		.version = STACKCAM_VERSION,
		.hostname = origin->host,
		.kernel = "",
		.arch = "",
		.command = "",
		.start = span->from,
		.labels = origin->labels,
	};
	struct import *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return fail_errno(why, -ENOMEM, NULL, "cannot take this profile");
	f->span = *span;
	err = film_create(path, &info, &f->writer, why);
	if (err) {
		free(f);
		return err;
	}
	if (origin->labels_lost)
		film_loss(f->writer, 0, "labels that are too many", origin->labels_lost);
	*film = f;
	return 0;
}

static void free_all(struct import *film)
{
	map_free(&film->events);
	map_free(&film->processes);
	map_free(&film->threads);
	map_free(&film->images);
	map_free(&film->frames);
	free(film);
}

int import_close(struct import *film, struct fail *why)
{
	int err;

	if (film->lost)
		film_loss(film->writer, 0, "pushed samples that make no sense", film->lost);
	err = film_close(film->writer, film->span.to, why);
	free_all(film);
	return err;
}

struct import_type import_event(struct import *film, const char *name, const char *unit)
{
	const struct event_unit *u = event_unit_from(unit);
	struct film_event event = {
		.name = event_name_from(name, unit),
		.unit = u->unit,
		.source = "push",
	};
	uint64_t key = hash_bytes(event.name, strlen(event.name)) ^ hash_bytes(u->unit, 2);
	uint64_t *known = map_get(&film->events, key);
	struct import_type type = {.scale = u->scale, .is_level = event_of(&event)->is_level};

	if (known) {
		type.event = (uint32_t)*known;
		return type;
	}
	type.event = film_add_event(film->writer, &event);
	map_put(&film->events, key, type.event);
	return type;
}

static uint64_t mix(uint64_t hash, const char *s)
{
	return hash_u64(hash ^ hash_bytes(s, strlen(s)));
}

static uint32_t find_process(struct import *film, const struct import_thread *thread)
{
	uint64_t key = hash_u64(thread->pid + 1ull), *known;
	char service[IMPORT_NAME_MAX + sizeof("service:")] = "";
	struct film_process process = {
		.pid = thread->pid,
		.start = film->span.from,
		.comm = *thread->service ? thread->service : thread->comm,
		.command = "",
		.exe = thread->exe,
		.cgroup = service,
		.container = thread->container,
	};
	uint32_t id;

	/*
	 * a path of a control group begins with '/': for query/identity.h this one names the
	 * service
	 */
	if (*thread->service)
		snprintf(service, sizeof(service), "service:%s", thread->service);
	key = mix(mix(mix(key, thread->service), thread->exe), thread->container);
	known = map_get(&film->processes, key);
	if (known)
		return (uint32_t)*known;
	id = film_add_process(film->writer, &process);
	map_put(&film->processes, key, id);
	return id;
}

uint32_t import_thread(struct import *film, const struct import_thread *thread)
{
	struct film_thread row = {
		.process = find_process(film, thread),
		.tid = thread->tid,
		.start = film->span.from,
		.comm = *thread->comm ? thread->comm : thread->service,
	};
	uint64_t key = mix(hash_u64((uint64_t)row.process << 32 | row.tid), row.comm), *known;
	uint32_t id;

	known = map_get(&film->threads, key);
	if (known)
		return (uint32_t)*known;
	id = film_add_thread(film->writer, &row);
	map_put(&film->threads, key, id);
	return id;
}

static uint32_t find_image(struct import *film, const struct import_place *place,
			   enum film_frame_kind kind, const char *file)
{
	struct film_image image = {.kind = FILM_IMAGE_FILE, .path = place->image};
	uint64_t key, *known;
	uint32_t id;

	if (kind == FILM_FRAME_KERNEL)
		image = (struct film_image){.kind = FILM_IMAGE_KERNEL, .path = "[kernel]"};
	else if (!*place->image && *file)
		image = (struct film_image){.kind = FILM_IMAGE_SCRIPT, .path = file};
	else if (!*place->image)
		image = (struct film_image){.kind = FILM_IMAGE_ANON, .path = "[anon]"};
	else if (place->build_id_size <= FILM_BUILD_ID_MAX) {
		image.build_id_size = (uint32_t)place->build_id_size;
		memcpy(image.build_id, place->build_id, place->build_id_size);
	}
	key = mix(hash_bytes(image.build_id, image.build_id_size) + image.kind, image.path);
	known = map_get(&film->images, key);
	if (known)
		return (uint32_t)*known;
	id = film_add_image(film->writer, &image);
	map_put(&film->images, key, id);
	return id;
}

static uint64_t hash_names(const struct film_name *names, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++)
		hash = mix(mix(hash, names[i].function), names[i].file) + names[i].line;
	return hash;
}

/*
 * Names distinguish places without an address, and those that share one, as code
 * made at run time may: a hash of the names stands for it, which is the same in every push.
 */
uint32_t import_frame(struct import *film, const struct import_place *place)
{
	const char *file = place->count ? place->names[0].file : "";
	enum film_frame_kind kind = place->kind ? place->kind : film_frame_kind_of_file(file);
	uint64_t names = hash_names(place->names, place->count), address = place->address;
	uint64_t key, *known;
	uint32_t image, frame;

	if (!kind)
		kind = FILM_FRAME_NATIVE;
	image = find_image(film, place, kind, file);
	if (!address ||
	    (place->count && (!film_frame_kind_of(kind)->has_address || !*place->image)))
		address = names;
	key = hash_u64(address ^ hash_u64((uint64_t)image << 8 | kind));
	known = map_get(&film->frames, key);
	if (known && *known != names) {
		address = names;
		key = hash_u64(address ^ hash_u64((uint64_t)image << 8 | kind));
		known = map_get(&film->frames, key);
	}
	frame = film_frame(film->writer, image, kind, address);
	if (frame && !known) {
		map_put(&film->frames, key, names);
		if (place->count)
			film_name_frame(film->writer, frame, place->names, place->count);
	}
	return frame;
}

uint32_t import_label(struct import *film, const char *text)
{
	const struct film_name name = {text, "", 0};
	const struct import_place place = {
		.image = "",
		.kind = FILM_FRAME_LABEL,
		.names = &name,
		.count = 1,
	};

	return import_frame(film, &place);
}

uint32_t import_stack(struct import *film, uint32_t parent, uint32_t frame)
{
	return film_stack(film->writer, parent, frame, FILM_HOW_EXACT);
}

size_t import_build_id(const char *hex, uint8_t to[FILM_BUILD_ID_MAX])
{
	size_t size = strlen(hex);

	return size <= 2ul * FILM_BUILD_ID_MAX && text_parse_hex(hex, size, to) ? size / 2 : 0;
}

/* Mappings below this are of programs whose addresses are those in their file. */
#define FIXED_MAX 0x10000000ull

void import_place_in(struct import_place *place, uint64_t start, uint64_t offset)
{
	if (start >= FIXED_MAX && place->address >= start)
		place->address = place->address - start + offset;
}

static uint64_t multiplied(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

void import_sample(struct import *film, struct import_type type, uint64_t time, uint32_t thread,
		   uint32_t stack, uint64_t value)
{
	if (!value)
		return;
	if (time >= film->span.to)
		time = film->span.to - (film->span.to > film->span.from);
	if (time < film->span.from)
		time = film->span.from;
	film->samples++;
	film_sample(film->writer, type.event, time, thread, stack, multiplied(value, type.scale));
}

void import_samples(struct import *film, struct import_type type, uint32_t thread, uint32_t stack,
		    uint64_t count, uint64_t value)
{
	uint64_t length = film->span.to - film->span.from, shift;

	if (type.is_level) {
		import_sample(film, type, film->span.to, thread, stack, value);
		return;
	}
	if (count > SPREAD_MAX)
		count = SPREAD_MAX;
	if (count > value || film->spread + count > SPREAD_ALL_MAX)
		count = 1;
	if (!count)
		count = 1;
	film->spread += count;
	/* the golden ratio's multiples lie well apart: where the first of them stands */
	shift = (uint64_t)((unsigned __int128)(film->turn++ * 2654435769u) * length >> 32) / count;
	for (uint64_t i = 0; i < count; i++)
		import_sample(film, type,
			      film->span.from + shift +
				      (uint64_t)((unsigned __int128)length * i / count),
			      thread, stack, value / count + (i < value % count));
}

void import_sender_lost(struct import *film, uint32_t event, const char *reason, uint64_t count)
{
	film->told += count > 0;
	film_loss(film->writer, event, reason, count < INT64_MAX ? count : INT64_MAX);
}

void import_lost(struct import *film, uint64_t samples)
{
	film->lost += samples;
}

bool import_is_empty(const struct import *film)
{
	return !film->samples && !film->lost && !film->told;
}
