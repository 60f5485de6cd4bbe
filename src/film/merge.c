// SPDX-License-Identifier: Apache-2.0
#include "film/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/saturated.h"
#include "film/load.h"
#include "film/merging.h"
#include "film/schema.h"
#include "film/writing.h"

/*
 * Blocks of a merged film: a minute of what is sorted. They compress better than seconds, and to
 * read one second out of a minute still takes less than opening the film.
 */
#define BLOCK_SPAN 60000000000ull

/* What waits for a commit, of all kinds together. */
#define COMMIT_BYTES (2u << 20)

/*
 * If a single film's tables take more memory, its frames and stacks are copied as they are, with
 * the few that its writer wrote twice: finding those takes as much memory as reading the film.
 */
#define COPIED_TABLES (4u << 20)

/*
 * Blocks of a film that is final have at least this many rows, so that a minute of an idle machine
 * is not a block of its own with tables of its own.
 */
#define FINAL_ROWS 4096

/*
 * Films whose clocks differ by less were made while the machine ran; wall clocks are slewed by
 * less.
 */
#define SAME_BOOT_NS 10000000000

/* Between reading one clock and the other, a thread may lose its CPU. */
#define READING_NS 100000

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

void film_merge_label(struct film_merge *merge, const char *labels)
{
	merge->labels = labels;
}

void film_merge_one_clock(struct film_merge *merge)
{
	merge->one_clock = true;
}

static void free_merge(struct film_merge *merge)
{
	merge_ids_free(&merge->ids);
	arena_free(&merge->texts);
	vec_free(&merge->boots);
	vec_free(&merge->losses);
	vec_free(&merge->rows);
	vec_free(&merge->numbers);
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
static int begin(struct film_merge *merge, const struct film *film, struct fail *why)
{
	const struct film_info *first = &film->info;
	struct film_info info;
	bool ok = true;
	int err;

	merge->info = *first;
	merge->info.version = keep(merge, first->version, &ok);
	merge->info.hostname = keep(merge, first->hostname, &ok);
	merge->info.kernel = keep(merge, first->kernel, &ok);
	merge->info.arch = keep(merge, first->arch, &ok);
	merge->info.command = keep(merge, first->command, &ok);
	merge->info.labels = keep(merge, first->labels, &ok);
	merge->info.roles = keep(merge, first->roles, &ok);
	if (!ok)
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	info = merge->info;
	if (merge->labels)
		info.labels = merge->labels;
	err = film_create(merge->path, &info, &merge->to, why);
	if (err)
		return err;
	merge->to->block_span = BLOCK_SPAN;
	if (merge->is_final) {
		merge->to->block_rows = FINAL_ROWS;
		merge->to->is_final = true;
	}
	film_forget_nothing(merge->to);
	/* their strings are those of ids */
	if (!film_pack_rows(merge->to) || merge_ids_init(&merge->ids, merge->to))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	if (merge->is_only && film_tables_of(film) > COPIED_TABLES)
		merge->to->all_is_new = true;
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

/*
 * Which start of the machine a film is of, by the difference of its clocks; UINT32_MAX: no memory.
 */
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

/* The disk is slower than this, and what is queued for it is memory, too. */
int merge_commit(struct film_merge *merge)
{
	return film_commit(merge->to, merge->info.end, true, merge->why);
}

/* Commits now and then, so that memory does not hold all. */
static int commit_some(struct film_merge *merge)
{
	size_t piled = 0;

	for (size_t i = 0; i < FILM_BLOCK_KINDS; i++)
		piled += merge->to->batch->piled[i];
	return piled >= COMMIT_BYTES ? merge_commit(merge) : 0;
}

/* Makes times those of the film that is made: as exact as they are known. False: one is too old. */
static bool shift_times(const struct film_merge *merge, uint64_t *times, size_t count,
			uint32_t clock)
{
	for (size_t i = 0; i < count; i++) {
		if (!merge_time(&merge->ids, times[i], &times[i]))
			return false;
		if (!clock)
			continue;
		times[i] -= times[i] % clock;
		/* none comes to lie before the film */
		if (times[i] < merge->info.start)
			times[i] = merge->info.start;
	}
	return true;
}

/* What no row says as its length is longer than its time. */
static bool lengths_ok(const struct film_kind *kind, const uint8_t *rows, size_t count)
{
	for (; kind->length && count; count--, rows += kind->layout.row_size)
		if (layout_number_in(kind->length, rows) > layout_number_in(kind->time, rows))
			return false;
	return true;
}

/* Copies a column into rows: ids become those of the film that is made, times are by its clock. */
static int move_column(struct film_merge *merge, const struct film_unpacked *block, unsigned int i)
{
	const struct layout_column *column = &block->kind->layout.columns[i];
	const uint32_t *of = merge_ids_of(&merge->ids, column->id_of);
	struct layout_cells from = film_unpacked_cells(block, i);
	struct layout_cells to = layout_of_rows(&block->kind->layout, i, merge->rows.at);
	uint64_t *numbers = merge->numbers.at;
	size_t count = film_unpacked_count(block);

	layout_gather(&from, numbers, count);
	for (size_t k = 0; of && k < count; k++)
		numbers[k] = of[numbers[k]];
	if (column == block->kind->time && !shift_times(merge, numbers, count, block->kind->clock))
		return too_old(merge);
	layout_scatter(&to, numbers, count);
	return 0;
}

static int merge_block(void *context, const struct film_unpacked *block)
{
	struct film_merge *merge = context;
	const struct film_kind *kind = block->kind;
	size_t size = kind->layout.row_size, count = film_unpacked_count(block);
	uint64_t from = 0, to = 0;
	int err = 0;

	if (!vec_reserve(&merge->rows, count * size) || !vec_reserve(&merge->numbers, count))
		return fail_errno(merge->why, -ENOMEM, NULL, "cannot merge films");
	/* what lies between the columns, and is not a column of this kind */
	memset(merge->rows.at, 0, count * size);
	if (kind->span == FILM_SPAN_GIVEN && (!merge_time(&merge->ids, block->span.t0, &from) ||
					      !merge_time(&merge->ids, block->span.t1, &to)))
		return too_old(merge);
	for (unsigned int column = 0; !err && column < kind->layout.count; column++)
		err = move_column(merge, block, column);
	if (!err && !lengths_ok(kind, merge->rows.at, count))
		err = too_old(merge);
	if (!err)
		film_put(merge->to, merge->kind, merge->event, from, to, merge->rows.at, count);
	return err ? err : commit_some(merge);
}

int merge_add_blocks(struct film_merge *merge, struct film *film)
{
	uint32_t event;
	int err = 0;

	for (event = 1; !err && event < film->event_count; event++) {
		merge->event = merge->ids.maps.event_of.at[event];
		for (merge->kind = FILM_BLOCK_SAMPLES; !err && merge->kind < FILM_BLOCK_KINDS;
		     merge->kind++) {
			if (!film_kind(merge->kind)->beside)
				err = film_each_block(film, event, merge->kind, merge_block, merge,
						      merge->why);
		}
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

		ok &= add_loss(merge, merge->ids.maps.event_of.at[loss->event], loss->reason,
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

int merge_add_tables(struct film_merge *merge, struct film *film, struct fail *why)
{
	struct merge_ids *ids = &merge->ids;
	int64_t shift;
	uint32_t boot;
	int err = merge->to ? check(merge, &film->info, why) : begin(merge, film, why);

	if (err)
		return err;
	merge->why = why;
	if (__builtin_sub_overflow(film->info.wall_offset, merge->info.wall_offset, &shift))
		return too_old(merge);
	/*
	 * two readings of the same offset differ by that: lives that go on from film to film have
	 * no gap
	 */
	if (merge->one_clock || (shift > -READING_NS && shift < READING_NS))
		shift = 0;
	boot = merge->one_clock ? 0 : boot_of(merge, film->info.wall_offset);
	ids->maps.shift = shift;
	err = cover(merge, &film->info);
	if (err)
		return err;
	if (boot == UINT32_MAX || merge_ids_add(ids, film, shift, boot) || !add_losses(merge, film))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	return 0;
}

int film_merge_add(struct film_merge *merge, struct film *film, struct fail *why)
{
	int err = merge_add_tables(merge, film, why);

	/* a large catalogue does not wait for the first blocks */
	if (!err && film_batch_size(merge->to->batch) >= COMMIT_BYTES)
		err = merge_commit(merge);
	return err ? err : merge_add_blocks(merge, film);
}

int film_merge_add_file(struct film_merge *merge, const char *path, struct fail *why)
{
	struct film *film;
	int err = film_open(path, &film, why);

	if (err)
		return err;
	err = film_merge_add(merge, film, why);
	film_free(film);
	return err;
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
