// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "query/names.h"
#include "show/gzip.h"
#include "show/words.h"

/*
 * profile.proto, the format of pprof, written by hand: messages are small, and no generator has to
 * be at hand. Field numbers are those of github.com/google/pprof/proto/profile.proto.
 */
enum {
	WIRE_VARINT = 0,
	WIRE_BYTES = 2
};

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE,
};

struct pprof {
	const struct view *view;
	struct gzip gzip;
	struct buf out;	    /* on its way to gzip */
	struct buf message; /* the message that is being made, … */
	struct buf inner;   /* … and one inside it */
	struct buf labels;  /* of the thread whose samples are being written */
	vec(char *) strings;
	struct map string_of;	/* by hash; the next hash where two share one */
	struct map function_of; /* by function and file */
	uint64_t function_count;
	uint8_t *used;	  /* per frame: a stack that counts has it */
	uint64_t *ends;	  /* per image: behind its highest address that is used */
	uint8_t *unnamed; /* per image: an address that is used has no name */
	bool failed;
};

static void put_tag(struct buf *b, unsigned int field, unsigned int wire)
{
	buf_put_varint(b, field << 3 | wire);
}

/* Zero is what a field has when it is left out. */
static void put_number(struct buf *b, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	put_tag(b, field, WIRE_VARINT);
	buf_put_varint(b, value);
}

/* Puts inner as a field, and empties it. */
static void put_message(struct buf *b, unsigned int field, struct buf *inner)
{
	put_tag(b, field, WIRE_BYTES);
	buf_put_varint(b, inner->count);
	buf_put(b, inner->at, inner->count);
	b->failed |= inner->failed;
	inner->count = 0;
}

/* Puts p->message as a field of the profile, and hands on what has come together. */
static void put_field(struct pprof *p, enum profile_field field)
{
	put_message(&p->out, field, &p->message);
	if (p->out.count > 65536)
		gzip_take(&p->gzip, &p->out);
}

/* The index of a string in the profile's table, whose first entry must be "". */
static uint64_t string_index(struct pprof *p, const char *s)
{
	char *safe = words_safe(s, "");
	uint64_t hash = safe ? hash_bytes(safe, strlen(safe)) : 0, *known;

	if (!safe) {
		p->failed = true;
		return 0;
	}
	while ((known = map_get(&p->string_of, hash))) {
		if (!strcmp(p->strings.at[*known], safe)) {
			free(safe);
			return *known;
		}
		hash++;
	}
	if (!vec_push(&p->strings, safe)) {
		free(safe);
		p->failed = true;
		return 0;
	}
	if (!map_put(&p->string_of, hash, p->strings.count - 1))
		p->failed = true;
	return p->strings.count - 1;
}

static const char *unit_name(const char *unit)
{
	return strcmp(unit, "ns") ? unit : "nanoseconds";
}

static void put_value_type(struct pprof *p, enum profile_field field, const char *type,
			   const char *unit)
{
	put_number(&p->message, 1, string_index(p, type));
	put_number(&p->message, 2, string_index(p, unit));
	put_field(p, field);
}

static void put_comment(struct pprof *p, const char *format, const char *words, uint64_t count)
{
	struct buf text = {0};

	buf_printf(&text, format, words, (unsigned long long)count);
	buf_put_u8(&text, 0);
	if (text.failed)
		p->failed = true;
	else
		put_number(&p->out, PROFILE_COMMENT, string_index(p, (const char *)text.at));
	buf_free(&text);
}

static void put_header(struct pprof *p)
{
	const struct view *view = p->view;
	const struct film_event *event = view->event;
	const char *unit = unit_name(event->unit);
	__int128 start = (__int128)view->from + view->film->info.wall_offset;

	string_index(p, "");
	put_value_type(p, PROFILE_SAMPLE_TYPE, "samples", "count");
	put_value_type(p, PROFILE_SAMPLE_TYPE, event->name, unit);
	if (event->frequency && !strcmp(event->unit, "ns")) {
		put_value_type(p, PROFILE_PERIOD_TYPE, event->name, unit);
		put_number(&p->out, PROFILE_PERIOD, 1000000000ull / event->frequency);
	}
	put_number(&p->out, PROFILE_TIME_NANOS, start > 0 ? (uint64_t)start : 0);
	put_number(&p->out, PROFILE_DURATION_NANOS, view->to - view->from);
	put_number(&p->out, PROFILE_DEFAULT_SAMPLE_TYPE, string_index(p, event->name));
	put_comment(p, "recorded by: %s", view->film->info.command, 0);
	put_comment(p, "host: %s", view->film->info.hostname, 0);
	/* readers show these comments: what is missing must be known there too */
	vec_foreach (&view->losses, loss)
		put_comment(p, "lost: %s %llu", loss->words, loss->count);
	vec_foreach (&view->stacks.reasons, reason)
		put_comment(p, "truncated stacks: %s %llu", reason->words, reason->count);
}

/* Location ids are those of frames; those behind them stand for what is not a frame. */
static uint64_t unknown_location(const struct film *film)
{
	return film->frame_count + 1ull;
}

static uint64_t too_deep_location(const struct film *film)
{
	return film->frame_count + 2ull;
}

/* Weights are sorted by thread: what a thread's samples share is made once. */
static void make_labels(struct pprof *p, uint32_t thread_id)
{
	const struct film *film = p->view->film;
	const struct film_thread *thread = &film->threads[thread_id];
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
		{"pid", film->processes[thread->process].pid},
		{"tid", thread->tid},
	};

	p->labels.count = 0;
	for (int i = 0; i < 2; i++) {
		put_number(&p->inner, 1, string_index(p, numbers[i].key));
		put_number(&p->inner, 3, numbers[i].number);
		put_message(&p->labels, 3, &p->inner);
	}
	put_number(&p->inner, 1, string_index(p, "comm"));
	put_number(&p->inner, 2, string_index(p, thread->comm));
	put_message(&p->labels, 3, &p->inner);
}

static void put_samples(struct pprof *p)
{
	const struct film *film = p->view->film;

	vec_foreach (&p->view->weights, weight) {
		uint32_t stack = weight->stack, depth = 0;

		/* leaf first, as parents are followed */
		for (; stack && depth < TREE_DEPTH_MAX;
		     stack = film->stacks[stack].parent, depth++) {
			buf_put_varint(&p->inner, film->stacks[stack].frame);
			p->used[film->stacks[stack].frame] = 1;
		}
		if (!depth)
			buf_put_varint(&p->inner, unknown_location(film));
		else if (stack)
			buf_put_varint(&p->inner, too_deep_location(film));
		put_message(&p->message, 1, &p->inner);
		buf_put_varint(&p->inner, weight->samples);
		buf_put_varint(&p->inner, weight->value);
		put_message(&p->message, 2, &p->inner);
		if (weight == p->view->weights.at || weight->group != weight[-1].group)
			make_labels(p, weight->group);
		buf_put(&p->message, p->labels.at, p->labels.count);
		put_field(p, PROFILE_SAMPLE);
	}
}

/* A function's id; it is written when it is first asked for. */
static uint64_t put_function(struct pprof *p, const char *name, const char *file)
{
	uint64_t name_index = string_index(p, name), file_index = string_index(p, file);
	uint64_t key = name_index << 32 | file_index, *known = map_get(&p->function_of, key);
	struct buf function = {0};

	if (known)
		return *known;
	p->function_count++;
	put_number(&function, 1, p->function_count);
	put_number(&function, 2, name_index);
	put_number(&function, 3, name_index);
	put_number(&function, 4, file_index);
	put_message(&p->out, PROFILE_FUNCTION, &function);
	buf_free(&function);
	if (!map_put(&p->function_of, key, p->function_count))
		p->failed = true;
	return p->function_count;
}

static void put_line(struct pprof *p, const char *name, const char *file, uint32_t line)
{
	put_number(&p->inner, 1, put_function(p, name, file));
	put_number(&p->inner, 2, line);
	put_message(&p->message, 4, &p->inner);
}

/* Lines of a location: the innermost function first, then what it was inlined into. */
static void put_lines(struct pprof *p, uint32_t id)
{
	const struct film *film = p->view->film;
	const struct film_frame *frame = &film->frames[id];
	char place[256];
	size_t count = 0, i;
	const struct film_inline *outer = film_inlines_of(film, id, &count);

	if (!frame->function) {
		/* without a start, only pprof itself can say more than the address */
		if (frame->start)
			put_line(p, name_of_place(film, frame, place, sizeof(place)), "", 0);
		return;
	}
	put_line(p, film->functions[frame->function].name, frame->file, frame->line);
	for (i = 0; outer && i < count; i++)
		put_line(p, film->functions[outer[i].function].name, outer[i].file, outer[i].line);
}

static void put_mark(struct pprof *p, uint64_t location, const char *name)
{
	put_number(&p->message, 1, location);
	put_line(p, name, "", 0);
	put_field(p, PROFILE_LOCATION);
}

static uint64_t page_end(uint64_t address)
{
	address |= 0xfff;
	return address == UINT64_MAX ? address : address + 1;
}

static void put_locations(struct pprof *p)
{
	const struct film *film = p->view->film;

	for (uint32_t i = 1; i < film->frame_count; i++) {
		const struct film_frame *frame = &film->frames[i];

		if (!p->used[i])
			continue;
		put_number(&p->message, 1, i);
		put_number(&p->message, 2, frame->image);
		put_number(&p->message, 3, frame->address);
		put_lines(p, i);
		put_field(p, PROFILE_LOCATION);
		if (frame->address >= p->ends[frame->image])
			p->ends[frame->image] = page_end(frame->address);
		p->unnamed[frame->image] |= !frame->function;
	}
	put_mark(p, unknown_location(film), NAME_UNKNOWN);
	put_mark(p, too_deep_location(film), TREE_TOO_DEEP);
}

static const char *hex_build_id(const struct film_image *image, char to[2 * FILM_BUILD_ID_MAX + 1])
{
	to[0] = 0;
	for (uint32_t i = 0; i < image->build_id_size && i < FILM_BUILD_ID_MAX; i++)
		snprintf(to + 2 * i, 3, "%02x", image->build_id[i]);
	return to;
}

/*
 * Addresses are those in the file, so mappings begin at 0. Where all is named, a reader is told that
 * there is nothing (no function, file, line or inlined function) to look up; the rest it may name by
 * the build id.
 */
static void put_mappings(struct pprof *p)
{
	const struct film *film = p->view->film;
	char build_id[2 * FILM_BUILD_ID_MAX + 1];

	for (uint32_t i = 1; i < film->image_count; i++) {
		const struct film_image *image = &film->images[i];

		put_number(&p->message, 1, i);
		put_number(&p->message, 3, p->ends[i]);
		put_number(&p->message, 5, string_index(p, image->path));
		put_number(&p->message, 6, string_index(p, hex_build_id(image, build_id)));
		for (unsigned int has = 7; has <= 10 && !p->unnamed[i]; has++)
			put_number(&p->message, has, 1);
		put_field(p, PROFILE_MAPPING);
	}
}

static void put_strings(struct pprof *p)
{
	vec_foreach (&p->strings, s) {
		buf_put_text(&p->message, *s);
		put_field(p, PROFILE_STRING);
	}
}

static void pprof_free(struct pprof *p)
{
	vec_foreach (&p->strings, s)
		free(*s);
	vec_free(&p->strings);
	map_free(&p->string_of);
	map_free(&p->function_of);
	buf_free(&p->out);
	buf_free(&p->message);
	buf_free(&p->inner);
	buf_free(&p->labels);
	free(p->used);
	free(p->ends);
	free(p->unnamed);
}

int show_pprof(const struct report *report, const struct show_options *options, FILE *out)
{
	const struct film *film = report->view.film;
	struct pprof p = {.view = &report->view};
	int err;

	(void)options;
	p.used = calloc(film->frame_count + 1ull, sizeof(*p.used));
	p.ends = calloc(film->image_count + 1ull, sizeof(*p.ends));
	p.unnamed = calloc(film->image_count + 1ull, sizeof(*p.unnamed));
	if (!p.used || !p.ends || !p.unnamed) {
		pprof_free(&p);
		return -ENOMEM;
	}
	gzip_start(&p.gzip, out);
	put_header(&p);
	put_samples(&p);
	put_locations(&p);
	put_mappings(&p);
	put_strings(&p);
	gzip_take(&p.gzip, &p.out);
	err = gzip_finish(&p.gzip);
	if (!err && (p.failed || p.message.failed || p.inner.failed || p.labels.failed))
		err = -ENOMEM;
	pprof_free(&p);
	return err;
}
