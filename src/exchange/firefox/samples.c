// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/firefox/tables.h"
#include "exchange/firefox/writer.h"
#include "film/events.h"
#include "query/filter.h"
#include "query/fold.h"
#include "query/view.h"

enum {
	FORMAT_VERSION = 58,
	RAW_VERSION = 31, /* of Gecko's own format, which this never was */
	BUFFER = 64 << 10,
	GECKO_PROCESS = 0,
};

#define NS_PER_MS 1e6

struct sample {
	uint32_t thread, stack;
	uint64_t time, value;
};

struct gathering {
	const struct filter_kept *kept;
	const struct fold *fold;
	vec(struct sample) samples;
	uint64_t from, to;
};

static int add_samples(void *context, const struct film_samples *samples)
{
	struct gathering *g = context;

	for (size_t i = 0; i < samples->count; i++) {
		struct sample sample = {samples->thread[i], samples->stack[i], samples->time[i],
					samples->value[i]};

		if (!g->kept->threads[sample.thread] || !g->kept->stacks[sample.stack])
			continue;
		if (g->fold->into)
			sample.stack = g->fold->into[sample.stack];
		if (!vec_push(&g->samples, sample))
			return -ENOMEM;
	}
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return (one->time > other->time) - (one->time < other->time);
}

/* ms since the film's start; what was before is at 0. */
static double ms_of(const struct film *film, uint64_t time)
{
	return time > film->info.start ? (double)(time - film->info.start) / NS_PER_MS : 0;
}

/* -- meta -------------------------------------------------------------------------------------- */

/* In the order of enum film_frame_kind. */
static void put_categories(struct json *j)
{
	static const char *const colors[] = {"grey",  "blue",	   "orange",   "yellow",
					     "grey",  "green",	   "purple",   "magenta",
					     "brown", "lightblue", "lightred", "red"};
	static_assert(sizeof(colors) / sizeof(colors[0]) == FIREFOX_CATEGORIES,
		      "each kind of frame has a color");

	json_open(j, "categories", '[');
	for (unsigned int kind = 0; kind < FIREFOX_CATEGORIES; kind++) {
		json_open(j, NULL, '{');
		json_text(j, "name", kind ? film_frame_kind_name(kind) : "Other");
		json_text(j, "color", colors[kind]);
		json_open(j, "subcategories", '[');
		json_text(j, NULL, "Other");
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_meta(struct json *j, const struct film *film, const struct film_event *event)
{
	const struct film_info *info = &film->info;

	json_open(j, "meta", '{');
	json_double(j, "interval", 1000.0 / (event->frequency ? event->frequency : 1000));
	json_double(j, "startTime", ((double)info->start + (double)info->wall_offset) / NS_PER_MS);
	json_double(j, "profilingStartTime", 0);
	json_double(j, "profilingEndTime", ms_of(film, info->end));
	json_u64(j, "processType", GECKO_PROCESS);
	json_text(j, "product", event->name);
	json_text(j, "importedFrom", "stackcam " STACKCAM_VERSION);
	json_u64(j, "stackwalk", 1);
	json_bool(j, "debug", false);
	json_u64(j, "version", RAW_VERSION);
	json_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
	json_text(j, "platform", "Linux");
	json_text(j, "oscpu", info->kernel);
	json_text(j, "device", info->hostname);
	json_text(j, "arguments", info->command);
	json_u64(j, "logicalCPUs", info->cpus);
	json_bool(j, "symbolicated", true);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_open(j, "sampleUnits", '{');
	json_text(j, "time", "ms");
	json_text(j, "eventDelay", "ms");
	json_text(j, "threadCPUDelta", "ns");
	json_close(j, '}');
	put_categories(j);
	json_open(j, "markerSchema", '[');
	json_close(j, ']');
	json_close(j, '}');
}

/* -- threads ----------------------------------------------------------------------------------- */

static const char *weight_type(const char *unit)
{
	switch (event_quantity(unit)) {
	case EVENT_TIME:
		return "tracing-ms";
	case EVENT_BYTES:
		return "bytes";
	default:
		return "samples";
	}
}

static void put_weight(struct json *j, const char *unit, uint64_t value)
{
	if (event_quantity(unit) == EVENT_TIME)
		json_double(j, NULL, (double)value / NS_PER_MS);
	else
		json_u64(j, NULL, value);
}

/* ns on CPUs since the sample before, which a sample stands for. */
static void put_cpu_times(struct json *j, const struct sample *samples, size_t count)
{
	json_open(j, "threadCPUDelta", '[');
	for (size_t i = 0; i < count; i++)
		json_u64(j, NULL, samples[i].value);
	json_close(j, ']');
}

static int put_samples(struct json *j, const struct film *film, const struct film_event *event,
		       struct firefox_tables *tables, const struct sample *samples, size_t count)
{
	json_open(j, "samples", '{');
	json_open(j, "stack", '[');
	for (size_t i = 0; i < count; i++) {
		bool is_empty;
		uint32_t stack = firefox_stack(tables, samples[i].stack, &is_empty);

		if (stack == FIREFOX_NONE && !is_empty)
			return -ENOMEM;
		if (is_empty)
			json_null(j, NULL);
		else
			json_u64(j, NULL, stack);
	}
	json_close(j, ']');
	json_open(j, "time", '[');
	for (size_t i = 0; i < count; i++)
		json_double(j, NULL, ms_of(film, samples[i].time));
	json_close(j, ']');
	json_open(j, "weight", '[');
	for (size_t i = 0; i < count; i++)
		put_weight(j, event->unit, samples[i].value);
	json_close(j, ']');
	json_text(j, "weightType", weight_type(event->unit));
	if (event_of(event) == event_type(EVENT_ON_CPU))
		put_cpu_times(j, samples, count);
	json_u64(j, "length", count);
	json_close(j, '}');
	return 0;
}

static void put_thread_head(struct json *j, const struct film *film, uint32_t id)
{
	const struct film_thread *thread = &film->threads[id];
	const struct film_process *process = &film->processes[thread->process];
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", process->pid);
	json_text(j, "processType", "default");
	json_text(j, "processName", process->comm);
	json_double(j, "processStartupTime", ms_of(film, process->start));
	if (process->end)
		json_double(j, "processShutdownTime", ms_of(film, process->end));
	else
		json_null(j, "processShutdownTime");
	json_double(j, "registerTime", ms_of(film, thread->start));
	json_null(j, "unregisterTime");
	json_open(j, "pausedRanges", '[');
	json_close(j, ']');
	json_text(j, "name", thread->comm);
	json_bool(j, "isMainThread", thread->tid == process->pid);
	json_text(j, "pid", pid);
	json_u64(j, "tid", thread->tid);
}

static int put_thread(struct json *j, struct firefox_shared *shared, const struct film_event *event,
		      const struct sample *samples, size_t count)
{
	struct firefox_tables tables = {.shared = shared};
	int err;

	json_open(j, NULL, '{');
	put_thread_head(j, shared->film, samples->thread);
	err = put_samples(j, shared->film, event, &tables, samples, count);
	if (!err)
		firefox_put_tables(j, &tables);
	json_close(j, '}');
	firefox_tables_free(&tables);
	return err;
}

static int put_threads(struct json *j, struct firefox_shared *shared,
		       const struct film_event *event, const struct gathering *g)
{
	const struct sample *all = g->samples.at;
	size_t count = g->samples.count;
	int err = 0;

	json_open(j, "threads", '[');
	for (size_t first = 0, end; !err && first < count; first = end) {
		end = first + 1;
		while (end < count && all[end].thread == all[first].thread)
			end++;
		err = put_thread(j, shared, event, all + first, end - first);
	}
	json_close(j, ']');
	return err;
}

/* The members that the threads' tables refer to come last, as they are complete only then. */
static int put_profile(struct film *film, const struct film_event *event, const struct gathering *g,
		       FILE *out)
{
	struct firefox_shared shared = {
		.film = film,
		.stacks = g->fold->paths ? g->fold->paths : film->stacks,
	};
	struct json j = {.out = out, .buffer = malloc(BUFFER), .room = BUFFER};
	int err = j.buffer ? 0 : -ENOMEM;

	if (!err) {
		json_open(&j, NULL, '{');
		put_meta(&j, film, event);
		err = put_threads(&j, &shared, event, g);
		firefox_put_shared(&j, &shared);
		json_close(&j, '}');
		json_flush(&j);
		fputc('\n', out);
	}
	free(j.buffer);
	firefox_shared_free(&shared);
	return err;
}

static int gather(struct film *film, const struct question *q, uint32_t event, struct gathering *g,
		  struct fail *why)
{
	uint64_t from, to;
	int err = filter_span(&q->filter, &film->info, &from, &to, why);

	if (!err)
		err = film_each_samples(film, event, from, to, add_samples, g, why);
	if (!err && !g->samples.count)
		err = fail(why, -EINVAL, NULL, "the film has no such samples of %s",
			   film->events[event].name);
	if (!err)
		qsort(g->samples.at, g->samples.count, sizeof(*g->samples.at), compare_samples);
	return err;
}

int firefox_write_samples(struct film *film, const struct question *q, FILE *out, uint64_t *samples,
			  struct fail *why)
{
	struct filter_kept kept = {0};
	struct fold fold = {0};
	struct gathering g = {.kept = &kept, .fold = &fold};
	uint32_t event;
	int err = view_event(film, q->event, &event, why);

	*samples = 0;
	if (!err && !event_has_summable_samples(&film->events[event]))
		err = fail(why, -EINVAL, "choose another event with -e",
			   "format firefox shows samples, and %s has none that can be summed",
			   film->events[event].name);
	if (!err)
		err = filter_apply(&q->filter, film, &kept, why);
	if (!err && fold_stacks(film, &q->shape, &fold))
		err = fail_errno(why, -ENOMEM, NULL, "cannot show the samples");
	if (!err)
		err = gather(film, q, event, &g, why);
	if (!err && put_profile(film, &film->events[event], &g, out))
		err = fail_errno(why, -ENOMEM, NULL, "cannot show the samples");
	if (!err)
		*samples = g.samples.count;
	vec_free(&g.samples);
	fold_free(&fold);
	filter_kept_free(&kept);
	return err;
}
