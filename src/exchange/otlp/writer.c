// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "exchange/otlp/keys.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "film/events.h"
#include "film/labels.h"
#include "film/names.h"

/* Frames of a stack that are written, from its leaf on; NAME_TOO_DEEP stands for the others. */
#define DEPTH_MAX 2048

/* Attributes of a sample at most: process, thread, and its labels. */
enum {
	ATTRIBUTES_MAX = 32
};

enum dictionary_field {
	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION,
	DICTIONARY_FUNCTION,
	DICTIONARY_LINK,
	DICTIONARY_STRING,
	DICTIONARY_ATTRIBUTE,
	DICTIONARY_STACK,
};

enum any_value_field {
	VALUE_TEXT = 1,
	VALUE_NUMBER = 3,
};

/*
 * The tables of the dictionary, each as it will stand in the message; the item 0 of each is the
 * zero value, which stands for "none". What is in a table is found again by a hash of all that it
 * is: two that share one would be taken for one another, which 64 bits make unlikely enough for a
 * few seconds of samples.
 */
struct otlp {
	const struct gathered *gathered;
	struct buf tables[DICTIONARY_STACK + 1];
	uint32_t counts[DICTIONARY_STACK + 1];
	struct map strings, attributes, functions, links; /* by hash: index */
	uint32_t *locations;				  /* by frame; 0: not yet */
	uint32_t *mappings;				  /* by image; 0: not yet */
	uint32_t *stacks;				  /* by stack; 0: not yet */
	uint32_t too_deep; /* location that stands for the frames above DEPTH_MAX; 0: not yet */
	struct buf resource, scope, profile, lines, message, inner, value; /* under construction */
	bool failed;
};

/* Adds what o->message holds to a table; returns its index. */
static uint32_t add_row(struct otlp *o, enum dictionary_field table)
{
	proto_message(&o->tables[table], table, &o->message);
	return o->counts[table]++;
}

static void remember(struct otlp *o, struct map *map, uint64_t key, uint32_t index)
{
	if (!map_put(map, key, index))
		o->failed = true;
}

/* Harmless UTF-8, as the format demands, to be freed; null: no memory. */
static char *safe_copy(struct otlp *o, const char *s)
{
	char *copy = text_safe(s, "");

	o->failed |= !copy;
	return copy;
}

static uint32_t string_index(struct otlp *o, const char *s)
{
	char *safe = *s ? safe_copy(o, s) : NULL;
	uint64_t key, *known;
	uint32_t index;

	if (!safe)
		return 0;
	key = hash_bytes(safe, strlen(safe));
	known = map_get(&o->strings, key);
	index = known ? (uint32_t)*known : o->counts[DICTIONARY_STRING];
	if (!known) {
		proto_text(&o->tables[DICTIONARY_STRING], DICTIONARY_STRING, safe);
		o->counts[DICTIONARY_STRING]++;
		remember(o, &o->strings, key, index);
	}
	free(safe);
	return index;
}

/* An attribute with the text, or where that is null the number. */
static uint32_t attribute_index(struct otlp *o, const char *key_text, const char *text,
				uint64_t number)
{
	uint32_t key = string_index(o, key_text);
	char *safe = text ? safe_copy(o, text) : NULL;
	uint64_t hash, *known;
	uint32_t index;

	hash = hash_u64(key ^ (safe ? hash_bytes(safe, strlen(safe)) : hash_u64(number + 1)));
	known = map_get(&o->attributes, hash);
	if (known) {
		free(safe);
		return (uint32_t)*known;
	}
	if (safe)
		proto_text(&o->value, VALUE_TEXT, safe);
	else
		proto_number_always(&o->value, VALUE_NUMBER, number);
	free(safe);
	proto_number(&o->message, 1, key);
	proto_message(&o->message, 2, &o->value);
	index = add_row(o, DICTIONARY_ATTRIBUTE);
	remember(o, &o->attributes, hash, index);
	return index;
}

static uint32_t function_index(struct otlp *o, const char *name, const char *file)
{
	uint32_t name_index = string_index(o, name), file_index = string_index(o, file);
	uint64_t key = (uint64_t)name_index << 32 | file_index,
		 *known = map_get(&o->functions, key);
	uint32_t index;

	if (known)
		return (uint32_t)*known;
	proto_number(&o->message, 1, name_index);
	proto_number(&o->message, 2, name_index);
	proto_number(&o->message, 3, file_index);
	index = add_row(o, DICTIONARY_FUNCTION);
	remember(o, &o->functions, key, index);
	return index;
}

/* Addresses are those in the file: mappings begin at 0. */
static uint32_t mapping_index(struct otlp *o, uint32_t image_id)
{
	const struct film_image *image = &o->gathered->film->images[image_id];
	char hex[2 * FILM_BUILD_ID_MAX + 1];
	uint32_t file, build_id = 0;

	if (!image_id || o->mappings[image_id])
		return o->mappings[image_id];
	text_hex(hex, sizeof(hex), image->build_id, image->build_id_size);
	file = string_index(o, image->path);
	if (*hex)
		build_id = attribute_index(o, OTLP_BUILD_ID, hex, 0);
	proto_number(&o->message, 4, file);
	if (build_id) {
		buf_put_varint(&o->inner, build_id);
		proto_message(&o->message, 5, &o->inner);
	}
	o->mappings[image_id] = add_row(o, DICTIONARY_MAPPING);
	return o->mappings[image_id];
}

static void put_line(struct otlp *o, const char *name, const char *file, uint32_t line)
{
	uint32_t function = function_index(o, name, file);

	proto_number(&o->inner, 1, function);
	proto_number(&o->inner, 2, line);
	proto_message(&o->lines, 3, &o->inner);
}

/* Lets the lines of a location come together in o->lines. */
static void put_lines(struct otlp *o, uint32_t id)
{
	const struct film *film = o->gathered->film;
	const struct film_frame *frame = &film->frames[id];
	size_t count = 0;
	const struct film_inline *outer = film_inlines_of(film, id, &count);
	char place[256];

	if (frame->function)
		put_line(o, film->functions[frame->function].name, frame->file, frame->line);
	else if (frame->start)
		put_line(o, name_of_place(film, frame, place, sizeof(place)), "", 0);
	for (size_t i = 0; outer && i < count; i++)
		put_line(o, film->functions[outer[i].function].name, outer[i].file, outer[i].line);
}

static uint32_t location_index(struct otlp *o, uint32_t id)
{
	const struct film_frame *frame = &o->gathered->film->frames[id];
	const char *type = otlp_frame_type(frame->kind);
	uint32_t mapping, attribute;

	if (o->locations[id])
		return o->locations[id];
	mapping = mapping_index(o, frame->image);
	attribute = type ? attribute_index(o, OTLP_FRAME_TYPE, type, 0) : 0;
	put_lines(o, id);
	proto_number(&o->message, 1, mapping);
	proto_number(&o->message, 2, frame->address);
	buf_put(&o->message, o->lines.at, o->lines.count);
	o->lines.count = 0;
	if (attribute) {
		buf_put_varint(&o->inner, attribute);
		proto_message(&o->message, 4, &o->inner);
	}
	o->locations[id] = add_row(o, DICTIONARY_LOCATION);
	return o->locations[id];
}

static uint32_t too_deep_location(struct otlp *o)
{
	if (o->too_deep)
		return o->too_deep;
	put_line(o, NAME_TOO_DEEP, "", 0);
	buf_put(&o->message, o->lines.at, o->lines.count);
	o->lines.count = 0;
	o->too_deep = add_row(o, DICTIONARY_LOCATION);
	return o->too_deep;
}

/* Leaf first. A frame that stands for labels is none here: they are attributes of the sample. */
static uint32_t stack_index(struct otlp *o, uint32_t id)
{
	const struct film *film = o->gathered->film;
	struct buf locations = {0};
	uint32_t stack = id, depth = 0;

	if (!id || o->stacks[id])
		return o->stacks[id];
	for (; stack && depth < DEPTH_MAX; stack = film->stacks[stack].parent, depth++) {
		uint32_t frame = film->stacks[stack].frame;

		if (film->frames[frame].kind != FILM_FRAME_LABEL)
			buf_put_varint(&locations, location_index(o, frame));
	}
	if (stack)
		buf_put_varint(&locations, too_deep_location(o));
	proto_message(&o->message, 1, &locations);
	buf_free(&locations);
	o->stacks[id] = add_row(o, DICTIONARY_STACK);
	return o->stacks[id];
}

/* The name of the frame that stands for labels, or null. */
static const char *labels_of(const struct film *film, uint32_t stack)
{
	for (uint32_t depth = 0; stack && depth < DEPTH_MAX; depth++) {
		const struct film_frame *frame = &film->frames[film->stacks[stack].frame];

		if (frame->kind == FILM_FRAME_LABEL)
			return film->functions[frame->function].name;
		stack = film->stacks[stack].parent;
	}
	return NULL;
}

static bool parse_id(const char *text, uint8_t *to, size_t size)
{
	return strlen(text) == 2 * size && text_parse_hex(text, 2 * size, to);
}

/* The span that labels name by their trace_id and span_id; 0: they name none. */
static uint32_t link_index(struct otlp *o, const char *trace, const char *span)
{
	uint8_t ids[24];
	uint64_t key, *known;
	uint32_t index;

	if (!parse_id(trace, ids, 16) || !parse_id(span, ids + 16, 8))
		return 0;
	key = hash_bytes(ids, sizeof(ids));
	known = map_get(&o->links, key);
	if (known)
		return (uint32_t)*known;
	proto_bytes(&o->message, 1, ids, 16);
	proto_bytes(&o->message, 2, ids + 16, 8);
	index = add_row(o, DICTIONARY_LINK);
	remember(o, &o->links, key, index);
	return index;
}

/* *link: the span that they name, or 0. */
static size_t label_attributes(struct otlp *o, const char *name, uint32_t *to, size_t room,
			       uint32_t *link)
{
	const char *key, *value, *trace = "", *span = "";
	char *text = strdup(name), *rest = text;
	size_t count = 0;

	o->failed |= !text;
	while (text && name_next_label(&rest, &key, &value)) {
		if (!strcmp(key, "trace_id"))
			trace = value;
		else if (!strcmp(key, "span_id"))
			span = value;
		if (count < room)
			to[count++] = attribute_index(o, key, value, 0);
	}
	*link = link_index(o, trace, span);
	free(text);
	return count;
}

static void put_sample(struct otlp *o, const struct gathered_sum *sum)
{
	const struct film *film = o->gathered->film;
	const struct film_thread *thread = &film->threads[sum->thread];
	const struct film_process *process = &film->processes[thread->process];
	const char *labels = labels_of(film, sum->stack);
	uint32_t attributes[ATTRIBUTES_MAX], stack = stack_index(o, sum->stack), link = 0;
	size_t count = 0;

	attributes[count++] = attribute_index(o, "process.pid", NULL, process->pid);
	attributes[count++] = attribute_index(o, "process.executable.name", process->comm, 0);
	attributes[count++] = attribute_index(o, "thread.id", NULL, thread->tid);
	attributes[count++] = attribute_index(o, "thread.name", thread->comm, 0);
	if (*process->exe)
		attributes[count++] =
			attribute_index(o, "process.executable.path", process->exe, 0);
	if (labels)
		count += label_attributes(o, labels, attributes + count, ATTRIBUTES_MAX - count,
					  &link);
	proto_number(&o->message, 1, stack);
	for (size_t i = 0; i < count; i++)
		buf_put_varint(&o->inner, attributes[i]);
	proto_message(&o->message, 2, &o->inner);
	proto_number(&o->message, 3, link);
	buf_put_varint(&o->inner, sum->value);
	proto_message(&o->message, 4, &o->inner);
	proto_message(&o->profile, 2, &o->message);
}

static void put_type(struct otlp *o, unsigned int field, const struct gathered_part *part)
{
	const char *unit = o->gathered->film->events[part->event].unit;
	uint32_t name = string_index(o, gathered_event(o->gathered, part->event));

	proto_number(&o->message, 1, name);
	proto_number(&o->message, 2, string_index(o, event_unit_abroad(unit)));
	proto_message(&o->profile, field, &o->message);
}

/* The same for the same part of the same film, so that who gets it twice can tell. */
static void put_id(struct otlp *o, const struct gathered_part *part, uint64_t id)
{
	uint64_t halves[2] = {
		hash_u64(id + 1),
		hash_u64(id ^ hash_u64((uint64_t)part->group << 32 | part->event)),
	};

	proto_bytes(&o->profile, 7, halves, sizeof(halves));
}

static void put_count(struct otlp *o, const char *key, uint64_t count)
{
	if (count)
		buf_put_varint(&o->inner, attribute_index(o, key, NULL, count));
}

/*
 * Attributes of a profile, so that who shows it can tell what is missing: of all of the host, thus
 * the same in each profile of an event. What belongs to no event (names, parts of stacks, whole
 * films) is in the profiles of all.
 */
static void put_losses(struct otlp *o, uint32_t event)
{
	const struct film *film = o->gathered->film;
	struct buf key = {0};

	put_count(o, OTLP_LOST, gathered_lost(o->gathered, event));
	put_count(o, OTLP_LOST_OF_NO_EVENT, gathered_lost(o->gathered, 0));
	for (size_t i = 0; i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		if (loss->event && loss->event != event)
			continue;
		key.count = 0;
		buf_put_text(&key, loss->event ? OTLP_LOST "." : OTLP_LOST_OF_NO_EVENT ".");
		buf_put(&key, loss->reason, strlen(loss->reason) + 1);
		o->failed |= key.failed;
		if (!key.failed)
			put_count(o, (const char *)key.at, loss->count);
	}
	buf_free(&key);
	if (o->inner.count)
		proto_message(&o->profile, 11, &o->inner);
}

/* Puts a profile into o->scope. */
static void put_profile(struct otlp *o, const struct gathered_part *part, uint64_t id)
{
	const struct gathered *gathered = o->gathered;
	uint64_t period = gathered_period(gathered, part->event);

	put_type(o, 1, part);
	for (size_t i = 0; i < part->count; i++)
		put_sample(o, &gathered->sums.at[part->first + i]);
	proto_fixed64(&o->profile, 3, gathered->from);
	proto_number(&o->profile, 4, gathered->to - gathered->from);
	if (period) {
		put_type(o, 5, part);
		proto_number(&o->profile, 6, period);
	}
	put_id(o, part, id);
	put_losses(o, part->event);
	proto_message(&o->scope, 2, &o->profile);
}

/* An attribute of a resource has its key as a text: the dictionary is of profiles alone. */
static void put_resource_attribute(struct otlp *o, const char *key, const char *text)
{
	char *safe = *text ? safe_copy(o, text) : NULL;

	if (!safe)
		return;
	proto_text(&o->value, VALUE_TEXT, safe);
	proto_text(&o->inner, 1, key);
	proto_message(&o->inner, 2, &o->value);
	proto_message(&o->message, 1, &o->inner);
	free(safe);
}

static void put_labels(struct otlp *o, const char *labels)
{
	char key[FILM_LABEL_KEY_MAX + 1], text[FILM_LABEL_VALUE_MAX + 1];
	const char *value;
	size_t length;

	while ((value = film_labels_next(&labels, key, &length))) {
		snprintf(text, sizeof(text), "%.*s", (int)length, value);
		put_resource_attribute(o, key, text);
	}
}

static void put_resource(struct otlp *o, const struct gathered_group *group)
{
	const struct film_info *info = &o->gathered->film->info;

	put_resource_attribute(o, "service.name", group->service);
	put_resource_attribute(o, "host.name", info->hostname);
	put_resource_attribute(o, "container.id", group->container);
	put_resource_attribute(o, "os.type", "linux");
	put_labels(o, info->labels);
	proto_message(&o->resource, 1, &o->message);
}

static void put_scope(struct otlp *o)
{
	proto_text(&o->message, 1, "stackcam");
	proto_text(&o->message, 2, o->gathered->film->info.version);
	proto_message(&o->scope, 1, &o->message);
}

/* A resource for each group, with its parts, which follow each other. */
static void put_groups(struct otlp *o, uint64_t id, struct buf *to)
{
	const struct gathered *gathered = o->gathered;
	size_t i = 0;

	while (i < gathered->parts.count) {
		uint32_t group = gathered->parts.at[i].group;

		put_resource(o, &gathered->groups.at[group]);
		put_scope(o);
		for (; i < gathered->parts.count && gathered->parts.at[i].group == group; i++)
			put_profile(o, &gathered->parts.at[i], id);
		proto_message(&o->resource, 2, &o->scope);
		proto_message(to, 1, &o->resource);
	}
}

/*
 * Events of which nothing came through: profiles without samples, of the host alone, tell what was
 * lost.
 */
static void put_silent_events(struct otlp *o, uint64_t id, struct buf *to)
{
	static const struct gathered_group host = {.container = ""};
	const struct gathered *gathered = o->gathered;

	for (uint32_t event = 1; event < gathered->film->event_count; event++) {
		const struct gathered_part part = {.group = GATHERED_NO_GROUP, .event = event};

		if (!gathered_is_silent(gathered, event))
			continue;
		put_resource(o, &host);
		put_scope(o);
		put_profile(o, &part, id);
		proto_message(&o->resource, 2, &o->scope);
		proto_message(to, 1, &o->resource);
	}
}

static void put_dictionary(struct otlp *o, struct buf *to)
{
	struct buf all = {0};

	for (int i = DICTIONARY_MAPPING; i <= DICTIONARY_STACK; i++) {
		buf_put(&all, o->tables[i].at, o->tables[i].count);
		o->failed |= o->tables[i].failed;
	}
	proto_message(to, 2, &all);
	buf_free(&all);
}

static void put_zeros(struct otlp *o)
{
	static const uint8_t zero[16];

	/* ids are of 16 and 8 bytes also where they are none */
	proto_bytes(&o->inner, 1, zero, 16);
	proto_bytes(&o->inner, 2, zero, 8);
	for (int i = DICTIONARY_MAPPING; i <= DICTIONARY_STACK; i++) {
		if (i == DICTIONARY_LINK)
			buf_put(&o->message, o->inner.at, o->inner.count);
		proto_message(&o->tables[i], (unsigned int)i, &o->message);
		o->counts[i] = 1;
	}
	o->inner.count = 0;
}

static void free_all(struct otlp *o)
{
	struct buf *bufs[] = {&o->resource, &o->scope, &o->profile, &o->lines,
			      &o->message,  &o->inner, &o->value};

	for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) {
		o->failed |= bufs[i]->failed;
		buf_free(bufs[i]);
	}
	for (int i = 0; i <= DICTIONARY_STACK; i++)
		buf_free(&o->tables[i]);
	map_free(&o->strings);
	map_free(&o->attributes);
	map_free(&o->functions);
	map_free(&o->links);
	free(o->locations);
	free(o->mappings);
	free(o->stacks);
}

int otlp_write(const struct gathered *gathered, uint64_t id, struct buf *to)
{
	const struct film *film = gathered->film;
	struct otlp o = {
		.gathered = gathered,
		.locations = calloc(film->frame_count + 1ull, sizeof(*o.locations)),
		.mappings = calloc(film->image_count + 1ull, sizeof(*o.mappings)),
		.stacks = calloc(film->stack_count + 1ull, sizeof(*o.stacks)),
	};

	if (o.locations && o.mappings && o.stacks) {
		put_zeros(&o);
		put_groups(&o, id, to);
		put_silent_events(&o, id, to);
		/* without anything to report, no message */
		if (to->count)
			put_dictionary(&o, to);
	} else {
		o.failed = true;
	}
	free_all(&o);
	return o.failed || to->failed ? -ENOMEM : 0;
}

uint64_t otlp_refused(const void *reply, size_t size)
{
	struct bytes message = {reply, (const uint8_t *)reply + size, false};
	struct proto_field field;
	uint64_t refused = 0, length;

	/*
	 * its one field, partial_success: a number, and words, which may go on behind what was kept
	 */
	if (bytes_varint(&message) != (1u << 3 | PROTO_BYTES))
		return 0;
	length = bytes_varint(&message);
	if (message.failed)
		return 0;
	if (length < bytes_left(&message))
		message.end = message.at + length;
	while (proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_VARINT)
			refused = field.value;
	return refused;
}
