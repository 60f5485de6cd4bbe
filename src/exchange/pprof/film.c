// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/film.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "film/events.h"
#include "film/names.h"

static void put_header(struct pprof_profile *out, const struct pprof_header *header)
{
	const char *unit = event_unit_abroad(header->unit);

	pprof_put_type(out, PPROF_SAMPLE_TYPE, header->counted, "count");
	pprof_put_type(out, PPROF_SAMPLE_TYPE, header->name, unit);
	if (header->period) {
		pprof_put_type(out, PPROF_PERIOD_TYPE, header->name, unit);
		pprof_put_number(out, PPROF_PERIOD, header->period);
	}
	pprof_put_number(out, PPROF_TIME_NANOS, header->time);
	pprof_put_number(out, PPROF_DURATION_NANOS, header->duration);
	pprof_put_text(out, PPROF_DEFAULT_SAMPLE_TYPE, header->name);
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
	pprof_begin(&p->out, out);
	put_header(&p->out, header);
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
	pprof_put_text(&p->out, PPROF_COMMENT, text);
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

static void add_frame(struct pprof *p, uint32_t frame)
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

void pprof_stack(struct pprof *p, const struct film_stack *stacks, uint32_t stack, uint32_t most)
{
	/* leaf first, as parents are followed */
	for (uint32_t depth = 0; stack && depth < most; stack = stacks[stack].parent, depth++)
		add_frame(p, stacks[stack].frame);
	if (stack)
		buf_put_varint(&p->frames, too_deep_location(p->film));
}

/* What a thread's samples share is made once. */
static void make_thread_labels(struct pprof *p, uint32_t thread_id)
{
	const struct film_thread *thread = &p->film->threads[thread_id];

	p->thread_id = thread_id;
	p->labels.count = 0;
	pprof_add_number_label(&p->out, &p->labels, "pid", p->film->processes[thread->process].pid);
	pprof_add_number_label(&p->out, &p->labels, "tid", thread->tid);
	pprof_add_label(&p->out, &p->labels, "comm", thread->comm);
	p->thread_labels = p->labels.count;
}

/* Those of the frame that stands for them. */
static void add_labels(struct pprof *p, const char *name)
{
	char *text = strdup(name), *rest = text;
	const char *key, *value;

	while (text && name_next_label(&rest, &key, &value))
		pprof_add_label(&p->out, &p->labels, key, value);
	p->failed |= !text;
	free(text);
}

void pprof_sample(struct pprof *p, uint32_t thread, uint64_t samples, uint64_t value)
{
	const struct film *film = p->film;

	if (!p->frames.count)
		buf_put_varint(&p->frames, unknown_location(film));
	buf_put_varint(&p->values, samples);
	buf_put_varint(&p->values, value);
	if (thread != p->thread_id)
		make_thread_labels(p, thread);
	if (p->label)
		add_labels(p, film->functions[film->frames[p->label].function].name);
	p->label = 0;
	pprof_put_sample(&p->out, &p->frames, &p->values, &p->labels);
	p->labels.count = p->thread_labels;
}

/* A function's id; it is written when it is first asked for. */
static uint64_t put_function(struct pprof *p, const char *name, const char *file)
{
	uint64_t name_index = pprof_string(&p->out, name), file_index = pprof_string(&p->out, file);
	uint64_t key = name_index << 32 | file_index, *known = map_get(&p->function_of, key);

	if (known)
		return *known;
	p->function_count++;
	pprof_put_function(&p->out, p->function_count, name_index, file_index);
	if (!map_put(&p->function_of, key, p->function_count))
		p->failed = true;
	return p->function_count;
}

static void put_line(struct pprof *p, const char *name, const char *file, uint32_t line)
{
	pprof_add_line(&p->out, put_function(p, name, file), line);
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
	put_line(p, name, "", 0);
	pprof_put_location(&p->out, location, 0, 0);
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
		put_lines(p, i);
		pprof_put_location(&p->out, i, frame->image, frame->address);
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
		pprof_put_mapping(&p->out, &(struct pprof_mapping){
						   .id = i,
						   .end = p->ends[i],
						   .file = image->path,
						   .build_id = text_hex(build_id, sizeof(build_id),
									image->build_id,
									image->build_id_size),
						   .is_named = !p->unnamed[i],
					   });
	}
}

int pprof_finish(struct pprof *p)
{
	int err;

	if (!p->failed) {
		put_locations(p);
		put_mappings(p);
	}
	p->out.failed |= p->failed;
	err = pprof_end(&p->out);
	buf_free(&p->frames);
	buf_free(&p->values);
	buf_free(&p->labels);
	map_free(&p->function_of);
	free(p->used);
	free(p->ends);
	free(p->unnamed);
	return err;
}
