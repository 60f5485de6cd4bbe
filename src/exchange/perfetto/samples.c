// SPDX-License-Identifier: Apache-2.0
/*
 * The samples of a film as StackSample packets
 * (protos/perfetto/trace/profiling/stack_sample.proto): Perfetto makes flame graphs of them, for
 * any range of time and by thread. Each event is a sequence of packets of its own, which begins
 * with what all of its samples have in common; what a sample is the first to refer to stands in its
 * own packet.
 */
#include "exchange/perfetto/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "exchange/perfetto/trace.h"
#include "film/events.h"
#include "film/names.h"
#include "query/fold.h"
#include "query/view.h"

/* Frames of a stack that are written, from its leaf on; more are an unwind_error. */
#define DEPTH_MAX 2048

/* trace_packet.proto, trace_packet_defaults.proto */
enum {
	PACKET_DEFAULTS = 59,
	PACKET_STACK_SAMPLE = 135,
	DEFAULTS_CLOCK_ID = 58,
	DEFAULTS_STACK_SAMPLE = 100,
};

/* stack_sample.proto */
enum {
	SAMPLES_SOURCE = 1,
	SAMPLES_COUNTER = 2,
	COUNTER_NAME = 2,
	COUNTER_UNIT = 3,
	COUNTER_UNIT_TEXT = 4,
	UNIT_NANOSECONDS = 1,
	UNIT_BYTES = 4,

	SAMPLE_TASK = 1,
	SAMPLE_EXECUTION = 3,
	SAMPLE_CALLSTACK = 6,
	SAMPLE_UNWIND_ERROR = 7,
	SAMPLE_WEIGHT = 11,
	TASK_PID = 2,
	TASK_TID = 3,
	EXECUTION_MODE = 3,
	MODE_USER = 1,
	MODE_KERNEL = 2,
};

/* interned_data.proto, profile_common.proto */
enum {
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_SOURCE_PATHS = 18,
	INTERNED_MAPPINGS = 19,

	STRING_TEXT = 2,
	MAPPING_BUILD_ID = 2,
	MAPPING_PATH = 7,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_ADDRESS = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	FRAME_KIND = 7,
	FRAME_KIND_TEXT = 8,
	KIND_NATIVE = 1,
	KIND_KERNEL = 2,
	KIND_JIT = 4,
	CALLSTACK_FRAMES = 2,
};

/* What packets of the current event have interned. */
struct known {
	uint64_t *frames; /* by frame: the id of its function, innermost first; 0: none yet */
	uint8_t *names, *images; /* by function, and behind them by frame; by image */
	uint8_t *stacks;	 /* by stack: enum known_stack */
	struct map sources;	 /* by a hash of the path: its id */
	uint64_t last_frame;	 /* ids of frames up to this one are taken */
};

enum known_stack {
	STACK_UNKNOWN,
	STACK_HAS_FRAMES,
	STACK_HAS_NONE,
	STACK_IS_CUT,
};

struct writer {
	struct perfetto_trace *trace;
	struct film *film;
	const struct filter_kept *kept;
	struct fold fold; /* without the interpreters' own frames, unless they are asked for */
	const struct film_stack *stacks;
	struct known known;
	struct buf interned, entry;	/* of the next packet, and what is added to it */
	uint64_t frames[DEPTH_MAX + 1]; /* of one stack, leaf first; grows by its inlined ones */
	uint64_t samples;
	int err;
};

/* Ends w->entry as an entry of a table. */
static void intern(struct writer *w, unsigned int table)
{
	proto_message(&w->interned, table, &w->entry);
}

static void intern_text(struct writer *w, unsigned int table, uint64_t id, const char *text)
{
	proto_number(&w->entry, INTERNED_ID, id);
	if (perfetto_put_text(&w->entry, STRING_TEXT, text))
		w->err = -ENOMEM;
	intern(w, table);
}

/* The id of a function's name. */
static uint64_t intern_function(struct writer *w, uint32_t function)
{
	if (!w->known.names[function])
		intern_text(w, INTERNED_FUNCTION_NAMES, function + 1ull,
			    w->film->functions[function].name);
	w->known.names[function] = 1;
	return function + 1ull;
}

/* The same of a frame that has no function: its place. */
static uint64_t intern_place(struct writer *w, uint32_t frame)
{
	uint64_t id = w->film->function_count + frame + 1ull;
	char place[256];

	if (!w->known.names[id - 1])
		intern_text(w, INTERNED_FUNCTION_NAMES, id,
			    name_of_place(w->film, &w->film->frames[frame], place, sizeof(place)));
	w->known.names[id - 1] = 1;
	return id;
}

static uint64_t intern_source(struct writer *w, const char *path)
{
	uint64_t key = hash_bytes(path, strlen(path)), id = w->known.sources.count + 1ull;
	const uint64_t *known = *path ? map_get(&w->known.sources, key) : NULL;

	if (!*path || known)
		return known ? *known : 0;
	intern_text(w, INTERNED_SOURCE_PATHS, id, path);
	if (!map_put(&w->known.sources, key, id))
		w->err = -ENOMEM;
	return id;
}

/* The id of an image's mapping, which is the image's; 0: it has none. */
static uint64_t intern_image(struct writer *w, uint32_t id)
{
	const struct film_image *image = &w->film->images[id];
	char build_id[2 * FILM_BUILD_ID_MAX + 1];

	if (!id || w->known.images[id])
		return id;
	w->known.images[id] = 1;
	text_hex(build_id, sizeof(build_id), image->build_id, image->build_id_size);
	intern_text(w, INTERNED_MAPPING_PATHS, id, image->path);
	if (*build_id)
		intern_text(w, INTERNED_BUILD_IDS, id, build_id);
	proto_number(&w->entry, INTERNED_ID, id);
	if (*build_id)
		proto_number(&w->entry, MAPPING_BUILD_ID, id);
	proto_number(&w->entry, MAPPING_PATH, id);
	intern(w, INTERNED_MAPPINGS);
	return id;
}

static void put_kind(struct buf *to, enum film_frame_kind kind)
{
	static const uint8_t kinds[] = {
		[FILM_FRAME_NATIVE] = KIND_NATIVE,
		[FILM_FRAME_KERNEL] = KIND_KERNEL,
		[FILM_FRAME_JIT] = KIND_JIT,
	};

	if (kind < sizeof(kinds) && kinds[kind])
		proto_number(to, FRAME_KIND, kinds[kind]);
	else
		proto_text(to, FRAME_KIND_TEXT, film_frame_kind_name(kind));
}

static void intern_frame(struct writer *w, uint32_t id, uint64_t name, const char *file,
			 uint32_t line)
{
	const struct film_frame *frame = &w->film->frames[id];
	uint64_t mapping = intern_image(w, frame->image), source = intern_source(w, file);

	proto_number(&w->entry, INTERNED_ID, ++w->known.last_frame);
	proto_number(&w->entry, FRAME_FUNCTION, name);
	proto_number(&w->entry, FRAME_MAPPING, mapping);
	if (mapping)
		proto_number_always(&w->entry, FRAME_ADDRESS, frame->address);
	proto_number(&w->entry, FRAME_SOURCE, source);
	proto_number(&w->entry, FRAME_LINE, line);
	put_kind(&w->entry, frame->kind);
	intern(w, INTERNED_FRAMES);
}

/* Interns a frame and those that its function was inlined into; their ids follow each other. */
static void intern_frames(struct writer *w, uint32_t id)
{
	const struct film_frame *frame = &w->film->frames[id];
	size_t count = 0;
	const struct film_inline *outer = film_inlines_of(w->film, id, &count);

	w->known.frames[id] = w->known.last_frame + 1;
	intern_frame(w, id,
		     frame->function ? intern_function(w, frame->function) : intern_place(w, id),
		     frame->file, frame->line);
	for (size_t i = 0; outer && i < count; i++)
		intern_frame(w, id, intern_function(w, outer[i].function), outer[i].file,
			     outer[i].line);
}

/* The ids of a stack's frames into w->frames, leaf first. Returns how many there are. */
static size_t list_frames(struct writer *w, uint32_t stack, bool *is_cut)
{
	const struct film *film = w->film;
	size_t count = 0, inlined;

	for (; stack && count < DEPTH_MAX; stack = w->stacks[stack].parent) {
		uint32_t frame = w->stacks[stack].frame;

		/* labels are no code */
		if (film->frames[frame].kind == FILM_FRAME_LABEL)
			continue;
		if (!w->known.frames[frame])
			intern_frames(w, frame);
		inlined = 0;
		film_inlines_of(film, frame, &inlined);
		for (size_t i = 0; i <= inlined && count < DEPTH_MAX; i++)
			w->frames[count++] = w->known.frames[frame] + i;
	}
	*is_cut = stack != 0;
	return count;
}

static void intern_stack(struct writer *w, uint32_t stack)
{
	bool is_cut;
	size_t count = list_frames(w, stack, &is_cut);

	w->known.stacks[stack] = is_cut ? STACK_IS_CUT : count ? STACK_HAS_FRAMES : STACK_HAS_NONE;
	if (!count)
		return;
	proto_number(&w->entry, INTERNED_ID, stack);
	/* the root first */
	while (count--)
		proto_number(&w->entry, CALLSTACK_FRAMES, w->frames[count]);
	intern(w, INTERNED_CALLSTACKS);
}

static void put_stack(struct writer *w, uint32_t stack)
{
	struct perfetto_trace *t = w->trace;
	enum film_frame_kind leaf;

	if (w->fold.into)
		stack = w->fold.into[stack];
	if (stack && !w->known.stacks[stack])
		intern_stack(w, stack);
	if (!stack || w->known.stacks[stack] == STACK_HAS_NONE)
		return;
	leaf = w->film->frames[w->stacks[stack].frame].kind;
	if (leaf != FILM_FRAME_MARK) {
		proto_number(&t->inner, EXECUTION_MODE,
			     leaf == FILM_FRAME_KERNEL ? MODE_KERNEL : MODE_USER);
		proto_message(&t->message, SAMPLE_EXECUTION, &t->inner);
	}
	proto_number(&t->message, SAMPLE_CALLSTACK, stack);
	if (w->known.stacks[stack] == STACK_IS_CUT)
		proto_text(&t->message, SAMPLE_UNWIND_ERROR, NAME_TOO_DEEP);
}

static int put_sample(struct writer *w, uint32_t thread_id, uint32_t stack, uint64_t time,
		      uint64_t value)
{
	struct perfetto_trace *t = w->trace;
	const struct film_thread *thread = &w->film->threads[thread_id];
	uint64_t track;

	/* names the thread, before its first sample */
	w->err = perfetto_describe_thread(t, thread_id, &track);
	if (w->err)
		return w->err;
	proto_number(&t->inner, TASK_PID, w->film->processes[thread->process].pid);
	proto_number(&t->inner, TASK_TID, thread->tid);
	proto_message(&t->message, SAMPLE_TASK, &t->inner);
	put_stack(w, stack);
	proto_number_always(&t->message, SAMPLE_WEIGHT, value);
	proto_number_always(&t->packet, PACKET_TIMESTAMP, time);
	if (w->interned.count)
		proto_message(&t->packet, PACKET_INTERNED_DATA, &w->interned);
	proto_message(&t->packet, PACKET_STACK_SAMPLE, &t->message);
	perfetto_put_packet(t, SEQUENCE_IS_NEEDED);
	w->samples++;
	return w->err ? w->err : t->field.failed ? -ENOMEM : 0;
}

static int write_samples(void *context, const struct film_samples *samples)
{
	struct writer *w = context;
	int err = 0;

	for (size_t i = 0; !err && i < samples->count; i++)
		if (w->kept->threads[samples->thread[i]] && w->kept->stacks[samples->stack[i]])
			err = put_sample(w, samples->thread[i], samples->stack[i], samples->time[i],
					 samples->value[i]);
	return err;
}

static void put_unit(struct writer *w, const char *unit)
{
	struct buf *to = &w->trace->inner;

	switch (event_quantity(unit)) {
	case EVENT_TIME:
		proto_number(to, COUNTER_UNIT, UNIT_NANOSECONDS);
		break;
	case EVENT_BYTES:
		proto_number(to, COUNTER_UNIT, UNIT_BYTES);
		break;
	case EVENT_COUNT: /* or a unit of the sender's */
		w->err = perfetto_put_text(to, COUNTER_UNIT_TEXT, unit) ? -ENOMEM : w->err;
		break;
	}
}

/* The packet that begins the sequence of an event: its source, its clock and its unit. */
static int begin_event(struct writer *w, uint32_t event_id)
{
	struct perfetto_trace *t = w->trace;
	const struct film_event *event = &w->film->events[event_id];
	struct buf samples = {0};
	char source[128];

	snprintf(source, sizeof(source), "stackcam.%s", event->name);
	if (perfetto_put_text(&samples, SAMPLES_SOURCE, source) ||
	    perfetto_put_text(&t->inner, COUNTER_NAME, event->name))
		w->err = -ENOMEM;
	put_unit(w, event->unit);
	proto_message(&samples, SAMPLES_COUNTER, &t->inner);
	proto_number(&t->message, DEFAULTS_CLOCK_ID, CLOCK_OF_FILM);
	proto_message(&t->message, DEFAULTS_STACK_SAMPLE, &samples);
	proto_message(&t->packet, PACKET_DEFAULTS, &t->message);
	perfetto_put_packet(t, SEQUENCE_IS_NEW);
	buf_free(&samples);
	return w->err;
}

static void free_known(struct known *known)
{
	free(known->frames);
	free(known->names);
	free(known->images);
	free(known->stacks);
	map_free(&known->sources);
	*known = (struct known){0};
}

static int put_event(struct writer *w, uint32_t event, uint64_t from, uint64_t to, struct fail *why)
{
	const struct film *film = w->film;
	int err;

	w->known = (struct known){
		.frames = calloc(film->frame_count + 1ull, sizeof(*w->known.frames)),
		.names = calloc((uint64_t)film->function_count + film->frame_count + 1, 1),
		.images = calloc(film->image_count + 1ull, 1),
		.stacks = calloc(film->stack_count + 1ull, 1),
	};
	/* that of the other packets is 1, as events count from 1 */
	w->trace->sequence = event + 1ull;
	err = w->known.frames && w->known.names && w->known.images && w->known.stacks
		      ? begin_event(w, event)
		      : -ENOMEM;
	if (!err)
		err = film_each_samples(w->film, event, from, to, write_samples, w, why);
	w->trace->sequence = 1;
	free_known(&w->known);
	return err;
}

/* Whether an event has samples, or (0) any of the film. */
static bool has_any(const struct film *film, uint32_t event)
{
	bool has = event && event_has_summable_samples(&film->events[event]);

	for (uint32_t i = 1; !event && !has && i < film->event_count; i++)
		has = event_has_summable_samples(&film->events[i]);
	return has;
}

int perfetto_put_samples(struct perfetto_trace *t, struct film *film, uint32_t only,
			 const struct question *q, const struct filter_kept *kept,
			 uint64_t *samples, struct fail *why)
{
	struct writer *w = calloc(1, sizeof(*w));
	uint64_t from, to;
	int err = filter_span(&q->filter, &film->info, &from, &to, why);

	*samples = 0;
	if (!w)
		return -ENOMEM;
	w->trace = t;
	w->film = film;
	w->kept = kept;
	if (!err)
		err = fold_stacks(film, &q->shape, &w->fold);
	w->stacks = w->fold.paths ? w->fold.paths : film->stacks;
	for (uint32_t i = 1; !err && i < film->event_count; i++)
		if (event_has_summable_samples(&film->events[i]) && (!only || only == i))
			err = put_event(w, i, from, to, why);
	*samples = w->samples;
	fold_free(&w->fold);
	buf_free(&w->interned);
	buf_free(&w->entry);
	free(w);
	return err;
}

int perfetto_write_samples(struct film *film, const struct question *q, FILE *out,
			   uint64_t *samples, struct fail *why)
{
	struct perfetto_trace trace = {0};
	struct filter_kept kept = {0};
	uint32_t event = 0;
	int err = q->event ? view_event(film, q->event, &event, why) : 0;

	*samples = 0;
	if (!err && !has_any(film, event))
		err = fail(why, -EINVAL,
			   "'stackcam trace' films calls, 'stackcam record' lives and samples",
			   "format perfetto shows calls, the lives of threads and samples; %s has "
			   "none of them",
			   event ? film->events[event].name : "the film");
	if (err)
		return err;
	err = filter_apply(&q->filter, film, &kept, why);
	if (!err)
		err = perfetto_begin(&trace, film, out, NULL, 0);
	if (!err)
		err = perfetto_put_samples(&trace, film, event, q, &kept, samples, why);
	filter_kept_free(&kept);
	perfetto_end(&trace);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot show the samples") : err;
}
