// SPDX-License-Identifier: Apache-2.0
/*
 * Divides the time of each device: works in the order of their begins, and what is between them.
 *
 *	device	  kernel A ......gap...... kernel B
 *	thread		      ^ launch of B
 *
 * Up to the launch of B, the thread did something else: that is explained from its own history.
 * From there on, B was under way. A gap in which records were lost is not known to be one.
 */
#include "query/explain/gpu.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/saturated.h"
#include "film/events.h"
#include "query/device_losses.h"

/* The most works of a question: of 56 bytes each. */
#define WORKS_MAX (64u << 20)

struct work {
	uint64_t start, end;
	uint64_t launch; /* when it was launched; 0: not known */
	uint32_t process, device;
	uint32_t thread, stack, name;
	bool is_copy, is_unsampled;
};

struct loading {
	const struct film *film;
	const struct explain_gpu *gpu;
	const uint8_t *threads; /* that are selected */
	vec(struct work) works;
	struct device_losses lost;
	bool is_full;
};

/* One device while it is divided. */
struct dividing {
	struct explain_gpu_device *device;
	const struct work *works;
	size_t count;
	const struct device_loss *lost; /* of its process */
	size_t lost_count;
	vec(struct explain_span) kernels; /* times in which any ran, in order */
};

const char *explain_gpu_kind_name(enum explain_gpu_kind kind)
{
	static const char *const names[EXPLAIN_GPU_KINDS] = {
		"kernels",	"copies", "short-gaps", "launched",
		"not-launched", "before", "after",	"unknown",
	};

	return names[kind];
}

/* -- reading ----------------------------------------------------------------------------------- */

static int add_works(void *context, const struct film_works *rows)
{
	struct loading *l = context;

	for (size_t i = 0; i < rows->count; i++) {
		const uint64_t begin = rows->end[i] - rows->duration[i];
		const uint32_t flags = rows->flags[i];
		struct work new = {
			.start = begin,
			.end = rows->end[i],
			.launch = rows->launched[i] && rows->launched[i] < begin
					  ? begin - rows->launched[i]
					  : 0,
			.process = l->film->threads[rows->thread[i]].process,
			.device = rows->device[i],
			.thread = rows->thread[i],
			.stack = rows->stack[i],
			.name = rows->name[i],
			.is_copy = flags & FILM_WORK_COPY,
			.is_unsampled = flags & FILM_WORK_UNSAMPLED,
		};

		if (!l->threads[new.thread] || new.end <= l->gpu->from || new.start >= l->gpu->to)
			continue;
		if (new.start < l->gpu->from)
			new.start = l->gpu->from;
		if (new.end > l->gpu->to)
			new.end = l->gpu->to;
		l->is_full |= l->works.count + l->lost.all.count >= WORKS_MAX;
		if (l->is_full)
			return -E2BIG;
		if (flags & FILM_WORK_LOST
			    ? !vec_push(&l->lost.all,
					(struct device_loss){new.start, new.end, new.process})
			    : !vec_push(&l->works, new))
			return -ENOMEM;
	}
	return 0;
}

static int by_device_and_start(const void *left, const void *right)
{
	const struct work *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* -- dividing ---------------------------------------------------------------------------------- */

static struct explain_gpu_launcher *launcher_of(struct explain_gpu_device *device, uint32_t thread)
{
	vec_foreach (&device->launchers, launcher)
		if (launcher->thread == thread)
			return launcher;
	if (!vec_push(&device->launchers, (struct explain_gpu_launcher){.thread = thread}))
		return NULL;
	return vec_last(&device->launchers);
}

static int add_not_launched(struct explain_gpu_device *device, uint32_t thread, bool is_guess,
			    uint64_t start, uint64_t end)
{
	struct explain_gpu_launcher *launcher;

	if (start >= end)
		return 0;
	launcher = launcher_of(device, thread);
	if (!launcher || !vec_push(&launcher->spans, (struct explain_span){start, end}))
		return -ENOMEM;
	launcher->ns += end - start;
	launcher->guessed += is_guess ? end - start : 0;
	device->ns[EXPLAIN_GPU_CPU] += end - start;
	return 0;
}

/* The work itself, or the next one, if its launch is known; null: none. */
static const struct work *launch_of(const struct dividing *d, const struct work *next)
{
	while (next < d->works + d->count && next->is_unsampled)
		next++;
	return next < d->works + d->count ? next : NULL;
}

/* A part of a gap in which no records were lost; next: what ran behind the gap. */
static int divide_piece(struct dividing *d, const struct work *next, bool is_short, uint64_t start,
			uint64_t end)
{
	struct explain_gpu_device *device = d->device;
	const struct work *launch;
	uint64_t launched = next->launch ? next->launch : end;

	if (is_short) {
		device->ns[EXPLAIN_GPU_SHORT] += end - start;
		return 0;
	}
	launch = launch_of(d, next);
	if (!launch) {
		device->ns[EXPLAIN_GPU_UNKNOWN] += end - start;
		return 0;
	}
	launched = launched < start ? start : launched > end ? end : launched;
	device->ns[EXPLAIN_GPU_LAUNCHED] += end - launched;
	if (end - launched > device->longest_launched)
		device->longest_launched = end - launched;
	return add_not_launched(device, launch->thread, launch != next, start, launched);
}

/* Nothing ran in [start, end); next: what ran then; null: it is of that kind. */
static int divide_gap(struct dividing *d, const struct work *next, enum explain_gpu_kind kind,
		      uint64_t start, uint64_t end)
{
	const bool is_short = end - start < EXPLAIN_GPU_SHORT_NS;
	int err = 0;

	/* gaps come in order */
	while (d->lost_count && d->lost->end <= start) {
		d->lost++;
		d->lost_count--;
	}
	d->device->shorts += next && is_short;
	for (size_t i = 0; !err && i <= d->lost_count && start < end; i++) {
		const struct device_loss none = {.start = end, .end = end};
		const struct device_loss *lost = i < d->lost_count ? &d->lost[i] : &none;
		uint64_t until = lost->start < start ? start
				 : lost->start > end ? end
						     : lost->start;

		if (next && until > start)
			err = divide_piece(d, next, is_short, start, until);
		else if (!next)
			d->device->ns[kind] += until - start;
		start = until;
		until = lost->end < start ? start : lost->end > end ? end : lost->end;
		d->device->ns[EXPLAIN_GPU_UNKNOWN] += until - start;
		start = until;
	}
	return err;
}

/* When kernels ran. */
static int find_kernels(struct dividing *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct work *work = &d->works[i];
		struct explain_span *last = d->kernels.count ? vec_last(&d->kernels) : NULL;

		if (work->is_copy)
			continue;
		d->device->kernels++;
		d->device->kernels_ns =
			add_saturated(d->device->kernels_ns, work->end - work->start);
		if (last && last->end >= work->start) {
			last->end = last->end > work->end ? last->end : work->end;
			continue;
		}
		if (!vec_push(&d->kernels, (struct explain_span){work->start, work->end}))
			return -ENOMEM;
	}
	vec_foreach (&d->kernels, span)
		d->device->ns[EXPLAIN_GPU_KERNELS] += span->end - span->start;
	return 0;
}

/* ns of [start, end) in which no kernel ran; *at: the first one that may, which only grows. */
static uint64_t beside_kernels(const struct dividing *d, size_t *at, uint64_t start, uint64_t end)
{
	uint64_t ns = end - start;

	while (*at < d->kernels.count && d->kernels.at[*at].end <= start)
		(*at)++;
	for (size_t i = *at; i < d->kernels.count && d->kernels.at[i].start < end; i++) {
		uint64_t from = d->kernels.at[i].start, to = d->kernels.at[i].end;

		from = from > start ? from : start;
		to = to < end ? to : end;
		ns -= to - from;
	}
	return ns;
}

static int longest_copies_first(const void *left, const void *right)
{
	const struct explain_gpu_copies *a = left, *b = right;

	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

/* Copies while no kernel ran: of several at once, the time is that of the first one. */
static int divide_copies(struct dividing *d)
{
	struct explain_gpu_device *device = d->device;
	struct map known = {0};
	uint64_t until = 0;
	size_t at = 0;
	int err = 0;

	for (size_t i = 0; !err && i < d->count; i++) {
		const struct work *work = &d->works[i];
		uint64_t start = work->start > until ? work->start : until, ns, key;
		const uint64_t *place;

		if (!work->is_copy)
			continue;
		device->copies_count++;
		if (start >= work->end)
			continue;
		until = work->end;
		ns = beside_kernels(d, &at, start, work->end);
		device->ns[EXPLAIN_GPU_COPIES] += ns;
		if (!ns)
			continue;
		key = (uint64_t)work->name << 32 | work->stack;
		place = map_get(&known, key);
		if (!place &&
		    (!vec_push(&device->copies,
			       (struct explain_gpu_copies){work->name, work->stack, 0, 0}) ||
		     !map_put(&known, key, device->copies.count - 1))) {
			err = -ENOMEM;
			break;
		}
		place = map_get(&known, key);
		device->copies.at[*place].ns += ns;
		device->copies.at[*place].count++;
	}
	map_free(&known);
	if (device->copies.count)
		qsort(device->copies.at, device->copies.count, sizeof(*device->copies.at),
		      longest_copies_first);
	return err;
}

static int divide(struct dividing *d, const struct explain_gpu *gpu)
{
	uint64_t until = gpu->from;
	int err = find_kernels(d);

	if (!err)
		err = divide_copies(d);
	for (size_t i = 0; !err && i < d->count; i++) {
		const struct work *work = &d->works[i];

		d->device->unsampled += work->is_unsampled;
		if (work->start > until)
			err = divide_gap(d, i ? work : NULL, EXPLAIN_GPU_BEFORE, until,
					 work->start);
		if (work->end > until)
			until = work->end;
	}
	if (!err && gpu->to > until)
		err = divide_gap(d, NULL, EXPLAIN_GPU_AFTER, until, gpu->to);
	vec_free(&d->kernels);
	return err;
}

/* -- threads ----------------------------------------------------------------------------------- */

static int longest_launchers_first(const void *left, const void *right)
{
	const struct explain_gpu_launcher *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* What the film does not have of the thread is not known. */
static int explain_launchers(struct explain_gpu_device *device, struct explainer *e)
{
	int err = 0;

	vec_foreach (&device->launchers, launcher) {
		uint64_t known;

		if (err || !e)
			break;
		err = explain_spans(e, launcher->thread, launcher->spans.at, launcher->spans.count,
				    &launcher->x);
		if (err)
			break;
		known = launcher->x.to - launcher->x.from;
		launcher->is_known = known;
		device->ns[EXPLAIN_GPU_UNKNOWN] += launcher->ns - known;
		device->ns[EXPLAIN_GPU_CPU] -= launcher->ns - known;
		launcher->ns = known;
	}
	if (device->launchers.count)
		qsort(device->launchers.at, device->launchers.count, sizeof(*device->launchers.at),
		      longest_launchers_first);
	return err;
}

static int make_devices(struct explain_gpu *gpu, const struct loading *l, struct explainer *e)
{
	size_t i, end;
	int err = 0;

	for (i = 0; !err && i < l->works.count; i = end) {
		const struct work *first = &l->works.at[i];
		struct dividing d = {.works = first};

		for (end = i; end < l->works.count && l->works.at[end].process == first->process &&
			      l->works.at[end].device == first->device;)
			end++;
		d.count = end - i;
		d.lost = device_losses_of(&l->lost, first->process, &d.lost_count);
		if (!vec_push(&gpu->devices, (struct explain_gpu_device){.process = first->process,
									 .device = first->device}))
			return -ENOMEM;
		d.device = vec_last(&gpu->devices);
		err = divide(&d, gpu);
		if (!err)
			err = explain_launchers(d.device, e);
	}
	return err;
}

/* -- the whole --------------------------------------------------------------------------------- */

static int no_works(const struct film *film, struct fail *why)
{
	if (film_find_event(film, event_type(EVENT_GPU_LANES)->name))
		return fail(why, -ENOENT, NULL,
			    "cannot explain GPUs: no kernel or copy of the selected processes ran "
			    "in that time, or none was recorded");
	return fail(why, -ENOENT,
		    "record with 'stackcam record -e gpu-lanes,threads,on-cpu -p PID', or with "
		    "'-- COMMAND'",
		    "cannot explain GPUs: the film does not have when kernels ran");
}

int explain_gpu_make(struct explain_gpu *gpu, struct film *film, struct explainer *e,
		     const struct filter *filter, struct fail *why)
{
	uint32_t event = film_find_event(film, event_type(EVENT_GPU_LANES)->name);
	struct loading l = {.film = film, .gpu = gpu};
	struct filter_kept kept = {0};
	int err;

	*gpu = (struct explain_gpu){0};
	if (!event)
		return no_works(film, why);
	err = filter_span(filter, &film->info, &gpu->from, &gpu->to, why);
	if (!err)
		err = filter_apply(filter, film, &kept, why);
	if (!err)
		err = roles_of_images(film, roles_bit(FILM_ROLE_RECORDER), &gpu->images);
	if (gpu->from < film->info.start)
		gpu->from = film->info.start;
	if (gpu->to > film->info.end)
		gpu->to = film->info.end;
	l.threads = kept.threads;
	if (!err && gpu->from < gpu->to)
		err = film_each_works_in(film, event, gpu->from, gpu->to, add_works, &l, why);
	if (l.is_full)
		err = fail(why, -E2BIG, "use --from and --to",
			   "cannot explain GPUs: more than %u kernels and copies", WORKS_MAX);
	if (!err && !l.works.count)
		err = no_works(film, why);
	if (!err && l.works.count) {
		qsort(l.works.at, l.works.count, sizeof(*l.works.at), by_device_and_start);
		device_losses_join(&l.lost);
		err = make_devices(gpu, &l, e);
	}
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot explain GPUs");
	filter_kept_free(&kept);
	vec_free(&l.works);
	device_losses_free(&l.lost);
	return err;
}

void explain_gpu_free(struct explain_gpu *gpu)
{
	vec_foreach (&gpu->devices, device) {
		vec_foreach (&device->launchers, launcher) {
			vec_free(&launcher->spans);
			explanation_free(&launcher->x);
		}
		vec_free(&device->launchers);
		vec_free(&device->copies);
	}
	vec_free(&gpu->devices);
	free(gpu->images);
}
