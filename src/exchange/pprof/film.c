// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/film.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/protobuf.h"
#include "base/text.h"
#include "film/events.h"
#include "film/names.h"

/* Puts p->message as a field of the profile, and hands on what has come together. */
static void put_field(struct pprof *p, enum pprof_field field)
{
	proto_message(&p->out, field, &p->message);
	if (p->out.count > 65536)
		gzip_take(&p->gzip, &p->out);
}

static char *safe_copy(const char *s)
{
	size_t size = text_make_safe(NULL, 0, s) + 1;
	char *copy = malloc(size);

	if (copy)
		text_make_safe(copy, size, s);
	return copy;
}

/* The index of a string in the profile's table, whose first entry must be "". */
static uint64_t string_index(struct pprof *p, const char *s)
{
	char *safe = safe_copy(s);
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

static void put_value_type(struct pprof *p, enum pprof_field field, const char *type,
			   const char *unit)
{
	proto_number(&p->message, 1, string_index(p, type));
	proto_number(&p->message, 2, string_index(p, unit));
	put_field(p, field);
}

static void put_header(struct pprof *p, const struct pprof_header *header)
{
	const char *unit = event_unit_abroad(header->unit);

	string_index(p, "");
	put_value_type(p, PPROF_SAMPLE_TYPE, header->counted, "count");
	put_value_type(p, PPROF_SAMPLE_TYPE, header->name, unit);
	if (header->period) {
		put_value_type(p, PPROF_PERIOD_TYPE, header->name, unit);
		proto_number(&p->out, PPROF_PERIOD, header->period);
	}
	proto_number(&p->out, PPROF_TIME_NANOS, header->time);
	proto_number(&p->out, PPROF_DURATION_NANOS, header->duration);
	proto_number(&p->out, PPROF_DEFAULT_SAMPLE_TYPE, string_index(p, header->name));
}

void pprof_start(struct pprof *p, const struct film *film, const struct pprof_header *header,
		 FILE *out)
{
	*p = (struct pprof){
		.film = film,
		.marks = header->marks,
		.mark_count = header->mark_count,
		.thread_id = UINT32_MAX,
	};
	p->used = calloc(film->frame_count + 1ull + header->mark_count, sizeof(*p->used));
	p->ends = calloc(film->image_count + 1ull, sizeof(*p->ends));
	p->unnamed = calloc(film->image_count + 1ull, sizeof(*p->unnamed));
	p->failed = !p->used || !p->ends || !p->unnamed;
	gzip_start(&p->gzip, out);
	put_header(p, header);
}

void pprof_comment(struct pprof *p, const char *format, ...)
{
	char *text;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0) {
		p->failed = true;
		return;
	}
	proto_number(&p->out, PPROF_COMMENT, string_index(p, text));
	free(text);
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

static uint64_t mark_location(const struct film *film, size_t mark)
{
	return film->frame_count + 3ull + mark;
}

void pprof_frame(struct pprof *p, uint32_t frame)
{
	const struct film *film = p->film;

	if (p->failed)
		return;
	if (frame < film->frame_count && film->frames[frame].kind == FILM_FRAME_LABEL) {
		p->label = frame;
		return;
	}
	buf_put_varint(&p->frames, frame < film->frame_count
					   ? frame
					   : mark_location(film, frame - film->frame_count));
	p->used[frame] = 1;
}

void pprof_too_deep(struct pprof *p)
{
	buf_put_varint(&p->frames, too_deep_location(p->film));
}

/* What a thread's samples share is made once. */
static void make_labels(struct pprof *p, uint32_t thread_id)
{
	const struct film *film = p->film;
	const struct film_thread *thread = &film->threads[thread_id];
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
		{"pid", film->processes[thread->process].pid},
		{"tid", thread->tid},
	};

	p->thread_id = thread_id;
	p->thread.count = 0;
	for (int i = 0; i < 2; i++) {
		proto_number(&p->inner, 1, string_index(p, numbers[i].key));
		proto_number(&p->inner, 3, numbers[i].number);
		proto_message(&p->thread, 3, &p->inner);
	}
	proto_number(&p->inner, 1, string_index(p, "comm"));
	proto_number(&p->inner, 2, string_index(p, thread->comm));
	proto_message(&p->thread, 3, &p->inner);
}

static void put_label(struct pprof *p, const char *key, const char *value)
{
	proto_number(&p->inner, 1, string_index(p, key));
	proto_number(&p->inner, 2, string_index(p, value));
	proto_message(&p->message, 3, &p->inner);
}

/* Those of the frame that stands for them. */
static void put_labels(struct pprof *p, const char *name)
{
	char *text = strdup(name), *rest = text;
	const char *key, *value;

	while (text && name_next_label(&rest, &key, &value))
		put_label(p, key, value);
	p->failed |= !text;
	free(text);
}

void pprof_sample(struct pprof *p, uint32_t thread, uint64_t samples, uint64_t value)
{
	const struct film *film = p->film;

	if (!p->frames.count)
		buf_put_varint(&p->frames, unknown_location(film));
	proto_message(&p->message, 1, &p->frames);
	buf_put_varint(&p->inner, samples);
	buf_put_varint(&p->inner, value);
	proto_message(&p->message, 2, &p->inner);
	if (thread != p->thread_id)
		make_labels(p, thread);
	buf_put(&p->message, p->thread.at, p->thread.count);
	if (p->label)
		put_labels(p, film->functions[film->frames[p->label].function].name);
	p->label = 0;
	put_field(p, PPROF_SAMPLE);
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
	proto_number(&function, 1, p->function_count);
	proto_number(&function, 2, name_index);
	proto_number(&function, 3, name_index);
	proto_number(&function, 4, file_index);
	proto_message(&p->out, PPROF_FUNCTION, &function);
	buf_free(&function);
	if (!map_put(&p->function_of, key, p->function_count))
		p->failed = true;
	return p->function_count;
}

static void put_line(struct pprof *p, const char *name, const char *file, uint32_t line)
{
	proto_number(&p->inner, 1, put_function(p, name, file));
	proto_number(&p->inner, 2, line);
	proto_message(&p->message, 4, &p->inner);
}

/* Lines of a location: the innermost function first, then what it was inlined into. */
static void put_lines(struct pprof *p, uint32_t id)
{
	const struct film *film = p->film;
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
	proto_number(&p->message, 1, location);
	put_line(p, name, "", 0);
	put_field(p, PPROF_LOCATION);
}

static uint64_t page_end(uint64_t address)
{
	address |= 0xfff;
	return address == UINT64_MAX ? address : address + 1;
}

static void put_locations(struct pprof *p)
{
	const struct film *film = p->film;

	for (uint32_t i = 1; i < film->frame_count; i++) {
		const struct film_frame *frame = &film->frames[i];

		if (!p->used[i])
			continue;
		proto_number(&p->message, 1, i);
		proto_number(&p->message, 2, frame->image);
		proto_number(&p->message, 3, frame->address);
		put_lines(p, i);
		put_field(p, PPROF_LOCATION);
		if (frame->address >= p->ends[frame->image])
			p->ends[frame->image] = page_end(frame->address);
		p->unnamed[frame->image] |= !frame->function;
	}
	put_mark(p, unknown_location(film), NAME_UNKNOWN);
	put_mark(p, too_deep_location(film), NAME_TOO_DEEP);
	for (size_t i = 0; i < p->mark_count; i++)
		if (p->used[film->frame_count + i])
			put_mark(p, mark_location(film, i), p->marks[i]);
}

/*
 * Addresses are those in the file, so mappings begin at 0. Where all is named, they tell a reader
 * that there is nothing (no function, file, line or inlined function) to look up; the rest it may
 * name by the build id.
 */
static void put_mappings(struct pprof *p)
{
	const struct film *film = p->film;
	char build_id[2 * FILM_BUILD_ID_MAX + 1];

	for (uint32_t i = 1; i < film->image_count; i++) {
		const struct film_image *image = &film->images[i];

		if (!p->ends[i])
			continue;
		proto_number(&p->message, 1, i);
		proto_number(&p->message, 3, p->ends[i]);
		proto_number(&p->message, 5, string_index(p, image->path));
		proto_number(&p->message, 6,
			     string_index(p, text_hex(build_id, sizeof(build_id), image->build_id,
						      image->build_id_size)));
		for (unsigned int has = 7; has <= 10 && !p->unnamed[i]; has++)
			proto_number(&p->message, has, 1);
		put_field(p, PPROF_MAPPING);
	}
}

static void put_strings(struct pprof *p)
{
	vec_foreach (&p->strings, s) {
		buf_put_text(&p->message, *s);
		put_field(p, PPROF_STRING);
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
	buf_free(&p->frames);
	buf_free(&p->thread);
	free(p->used);
	free(p->ends);
	free(p->unnamed);
}

int pprof_finish(struct pprof *p)
{
	int err;

	if (!p->failed) {
		put_locations(p);
		put_mappings(p);
		put_strings(p);
	}
	gzip_take(&p->gzip, &p->out);
	err = gzip_finish(&p->gzip);
	if (!err && (p->failed || p->message.failed || p->inner.failed || p->frames.failed ||
		     p->thread.failed))
		err = -ENOMEM;
	pprof_free(p);
	return err;
}
