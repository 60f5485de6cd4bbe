// SPDX-License-Identifier: Apache-2.0
#include "film/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "film/merge_ids.h"
#include "film/samples.h"
#include "film/schema.h"
#include "film/writing.h"

/*
 * Blocks of a merged film: a minute of samples. They compress better than seconds, and to read one second out of
 * a minute still takes less than opening the film.
 */
#define BLOCK_SPAN 60000000000ull

/*
 * Times of samples are kept to about a microsecond: when a timer fires is known no better, and what is below is noise
 * that takes a quarter of a film. Multiples of a power of two, as planes of bytes are what is compressed.
 */
#define SAMPLE_CLOCK_NS 1024

/* What waits for a commit: a few MB of each. */
#define COMMIT_SAMPLES (1u << 18)
#define COMMIT_CALLS   (1u << 17)
#define COMMIT_SUMS    (1u << 14)

/* Films whose clocks differ by less were made while the machine ran; wall clocks are slewed by less. */
#define SAME_BOOT_NS 10000000000

struct merged_loss {
	uint32_t event;
	const char *reason;
	uint64_t count;
};

struct film_merge {
	char *path;
	struct film_writer *to; /* null: nothing was added yet */
	struct merge_ids ids;
	struct film_info info; /* of the first film, its times and cpus of all */
	struct arena texts;    /* of info */
	vec(int64_t) boots;    /* the latest offset of each */
	vec(struct merged_loss) losses;

	/* of the film that is added */
	uint32_t event; /* its new id */
	struct fail *why;
};

int film_merge_begin(const char *path, struct film_merge **result, struct fail *why)
{
	struct film_merge *merge = calloc(1, sizeof(*merge));

	if (merge && path)
		merge->path = strdup(path);
	if (!merge || (path && !merge->path)) {
		free(merge);
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	}
	*result = merge;
	return 0;
}

static void free_merge(struct film_merge *merge)
{
	merge_ids_free(&merge->ids);
	arena_free(&merge->texts);
	vec_free(&merge->boots);
	vec_free(&merge->losses);
	free(merge->path);
	free(merge);
}

static const char *keep(struct film_merge *merge, const char *s, bool *ok)
{
	const char *copy = arena_text(&merge->texts, s, strlen(s));

	*ok &= copy != NULL;
	return copy;
}

/* What the first film says of its machine, all must say. */
static int begin(struct film_merge *merge, const struct film_info *first, struct fail *why)
{
	bool ok = true;
	int err;

	merge->info = *first;
	merge->info.version = keep(merge, first->version, &ok);
	merge->info.hostname = keep(merge, first->hostname, &ok);
	merge->info.kernel = keep(merge, first->kernel, &ok);
	merge->info.arch = keep(merge, first->arch, &ok);
	merge->info.command = keep(merge, first->command, &ok);
	merge->info.labels = keep(merge, first->labels, &ok);
	if (!ok)
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	err = film_create(merge->path, &merge->info, &merge->to, why);
	if (err)
		return err;
	merge->to->block_span = BLOCK_SPAN;
	film_forget_nothing(merge->to);
	/* their strings are those of ids */
	if (!film_pack_rows(merge->to) || merge_ids_init(&merge->ids, merge->to))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	return 0;
}

static int check(const struct film_merge *merge, const struct film_info *info, struct fail *why)
{
	const char *difference = NULL;

	if (strcmp(info->hostname, merge->info.hostname) || strcmp(info->arch, merge->info.arch))
		difference = "they are of different machines";
	else if (strcmp(info->labels, merge->info.labels))
		difference = "they have different labels";
	if (difference)
		return fail(why, -EINVAL, NULL, "the films cannot become one: %s", difference);
	return 0;
}

/* Which start of the machine a film is of, by the difference of its clocks; UINT32_MAX: no memory. */
static uint32_t boot_of(struct film_merge *merge, int64_t offset)
{
	for (uint32_t i = 0; i < merge->boots.count; i++) {
		int64_t difference;

		if (__builtin_sub_overflow(offset, merge->boots.at[i], &difference) ||
		    difference > SAME_BOOT_NS || difference < -SAME_BOOT_NS)
			continue;
		merge->boots.at[i] = offset;
		return i;
	}
	return vec_push(&merge->boots, offset) ? (uint32_t)merge->boots.count - 1 : UINT32_MAX;
}

/* A film of a time before the clock of the first one began. */
static int too_old(struct film_merge *merge)
{
	return fail(
		merge->why, -ERANGE, NULL,
		"the films cannot become one: the clock of one of them was set back by more than "
		"the time that the machine had run");
}

/* Commits now and then, so that not all of it is in memory. */
static int commit_some(struct film_merge *merge)
{
	struct film_writer *to = merge->to;

	if (to->pending_samples < COMMIT_SAMPLES && to->batch->call_count < COMMIT_CALLS &&
	    to->batch->sums.count < COMMIT_SUMS)
		return 0;
	return film_commit(to, merge->info.end, false, merge->why);
}

static int take_samples(void *context, const struct film_samples *samples)
{
	struct film_merge *merge = context;
	const struct merge_ids *ids = &merge->ids;
	size_t i;

	for (i = 0; i < samples->count; i++) {
		uint64_t time;

		if (!merge_time(ids, samples->time[i], &time))
			return too_old(merge);
		time -= time % SAMPLE_CLOCK_NS;
		/* none comes to lie before the film */
		if (time < merge->info.start)
			time = merge->info.start;
		film_sample(merge->to, merge->event, time, ids->thread_of.at[samples->thread[i]],
			    ids->stack_of.at[samples->stack[i]], samples->value[i]);
	}
	return commit_some(merge);
}

static int take_calls(void *context, const struct film_calls *calls)
{
	struct film_merge *merge = context;
	const struct merge_ids *ids = &merge->ids;
	size_t i;

	for (i = 0; i < calls->count; i++) {
		struct film_call call = {
			.duration = calls->duration[i],
			.waited = calls->waited[i],
			.thread = ids->thread_of.at[calls->thread[i]],
			.frame = ids->frame_of.at[calls->frame[i]],
			.lane = calls->lane[i],
			.depth = (uint16_t)calls->depth[i],
			.cpu = (uint16_t)calls->cpu[i],
			.flags = calls->flags[i],
		};

		if (!merge_time(ids, calls->end[i], &call.end) || call.duration > call.end)
			return too_old(merge);
		film_call(merge->to, merge->event, &call);
	}
	return commit_some(merge);
}

static int take_probe(void *context, const struct film_probe *probe)
{
	struct film_merge *merge = context;
	struct film_probe copy = *probe;

	copy.frame = merge->ids.frame_of.at[probe->frame];
	film_probe(merge->to, merge->event, &copy);
	return 0;
}

static int take_sum(void *context, uint64_t from, uint64_t to, const struct film_sum *sum)
{
	struct film_merge *merge = context;
	struct film_sum copy = *sum;

	if (!merge_time(&merge->ids, from, &from) || !merge_time(&merge->ids, to, &to))
		return too_old(merge);
	copy.frame = merge->ids.frame_of.at[sum->frame];
	film_sum(merge->to, merge->event, from, to, &copy);
	return commit_some(merge);
}

static int add_events(struct film_merge *merge, struct film *film)
{
	uint32_t event;
	int err = 0;

	for (event = 1; !err && event < film->event_count; event++) {
		merge->event = merge->ids.event_of.at[event];
		err = film_each_samples(film, event, 0, UINT64_MAX, take_samples, merge,
					merge->why);
		if (!err)
			err = film_each_calls(film, event, 0, UINT64_MAX, false, take_calls, merge,
					      merge->why);
		if (!err)
			err = film_each_probe(film, event, take_probe, merge, merge->why);
		if (!err)
			err = film_each_timed_sum(film, event, take_sum, merge, merge->why);
	}
	return err;
}

static bool add_loss(struct film_merge *merge, uint32_t event, const char *reason, uint64_t count)
{
	struct merged_loss loss = {event, NULL, 0}, *sum = NULL;

	vec_foreach (&merge->losses, known) {
		if (known->event == event && !strcmp(known->reason, reason))
			sum = known;
	}
	if (!sum) {
		loss.reason = arena_text(&merge->texts, reason, strlen(reason));
		if (!loss.reason || !vec_push(&merge->losses, loss))
			return false;
		sum = vec_last(&merge->losses);
	}
	sum->count = add_saturated(sum->count, count);
	film_loss(merge->to, event, reason, sum->count);
	return true;
}

static bool add_losses(struct film_merge *merge, const struct film *film)
{
	uint64_t refused = merge->ids.refused;
	bool ok = true;

	for (size_t i = 0; i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		ok &= add_loss(merge, merge->ids.event_of.at[loss->event], loss->reason,
			       loss->count);
	}
	if (refused)
		ok &= add_loss(merge, 0, "film: too many frames of one place", refused);
	merge->ids.refused = 0;
	return ok;
}

/* The time that all films cover, by the clock of the first one. */
static int cover(struct film_merge *merge, const struct film_info *info)
{
	uint64_t start, end;

	if (!merge_time(&merge->ids, info->start, &start) ||
	    !merge_time(&merge->ids, info->end, &end))
		return too_old(merge);
	if (start < merge->info.start)
		merge->info.start = start;
	if (end > merge->info.end)
		merge->info.end = end;
	if (info->cpus > merge->info.cpus)
		merge->info.cpus = info->cpus;
	return 0;
}

int film_merge_add(struct film_merge *merge, struct film *film, struct fail *why)
{
	struct merge_ids *ids = &merge->ids;
	int64_t shift;
	uint32_t boot;
	int err = merge->to ? check(merge, &film->info, why) : begin(merge, &film->info, why);

	if (err)
		return err;
	merge->why = why;
	if (__builtin_sub_overflow(film->info.wall_offset, merge->info.wall_offset, &shift))
		return too_old(merge);
	boot = boot_of(merge, film->info.wall_offset);
	ids->shift = shift;
	err = cover(merge, &film->info);
	if (err)
		return err;
	if (boot == UINT32_MAX || merge_ids_add(ids, film, shift, boot) || !add_losses(merge, film))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	return add_events(merge, film);
}

int film_merge_end(struct film_merge *merge, bool keep_it, struct fail *why)
{
	struct film_writer *to = merge->to;
	int err = 0;

	if (to && keep_it) {
		film_put_row(&to->batch->rows, FILM_ROW_META_NUMBER, "start", merge->info.start);
		film_put_row(&to->batch->rows, FILM_ROW_META_NUMBER, "cpus",
			     (uint64_t)merge->info.cpus);
		err = film_close(to, merge->info.end, why);
	} else if (to) {
		film_close(to, merge->info.end, NULL);
	} else if (keep_it) {
		err = fail(why, -EINVAL, NULL, "there are no films to merge");
	}
	if (to && merge->path && (err || !keep_it))
		unlink(merge->path);
	free_merge(merge);
	return err;
}

struct part {
	size_t index;
	uint64_t start; /* ns since 1970 */
};

static int by_start(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The order in which films are to be added. */
static int sort_parts(const char *const *paths, size_t count, struct part *parts, size_t *bad,
		      struct fail *why)
{
	struct film *film;
	int err;

	for (size_t i = 0; i < count; i++) {
		err = film_open_info(paths[i], &film, why);
		if (err) {
			*bad = i;
			return err;
		}
		parts[i] = (struct part){i, film->info.start + (uint64_t)film->info.wall_offset};
		film_free(film);
	}
	qsort(parts, count, sizeof(*parts), by_start);
	return 0;
}

static int add_file(struct film_merge *merge, const char *path, struct fail *why)
{
	struct film *film;
	int err = film_open(path, &film, why);

	if (err)
		return err;
	err = film_merge_add(merge, film, why);
	film_free(film);
	return err;
}

int film_merge_files(const char *const *paths, size_t count, const char *to, size_t *bad,
		     struct fail *why)
{
	struct part *parts = calloc(count ? count : 1, sizeof(*parts));
	struct film_merge *merge = NULL;
	int err;

	*bad = count;
	if (!parts)
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	err = sort_parts(paths, count, parts, bad, why);
	if (!err)
		err = film_merge_begin(to, &merge, why);
	for (size_t i = 0; !err && i < count; i++) {
		err = add_file(merge, paths[parts[i].index], why);
		/* what is wrong with memory or the disk is not the film's fault */
		if (err == -EBADMSG || err == -EINVAL || err == -ERANGE || err == -ENOENT)
			*bad = parts[i].index;
	}
	free(parts);
	if (err) {
		if (merge)
			film_merge_end(merge, false, NULL);
		return err;
	}
	return film_merge_end(merge, true, why);
}
