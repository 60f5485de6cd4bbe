// SPDX-License-Identifier: Apache-2.0
/* From the samples of a film to sums of minutes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "query/fold.h"
#include "query/labels.h"
#include "query/names.h"
#include "query/slices.h"
#include "query/tree.h"
#include "query/view.h"
#include "store/index_private.h"
#include "store/index_series.h"

enum {
	STACK_TRUNCATED = 1,
	STACK_GUESSED = 2
};

#define TIME_MAX ((1u << KEY_TIME_BITS) - 1)

/* Of a stack. */
struct known_stack {
	uint32_t path;
	/* STACK_*: of all its frames, and of those up to the last one that is shown */
	uint8_t own, shown;
	bool is_known;
};

struct row {
	uint32_t series;
	struct cell cell;
};

/* What is known while one film is added. */
struct adding {
	struct index *index;
	struct film *film;
	const struct index_film *of;
	struct shape shape; /* as reports show stacks that are asked for nothing else */
	struct labels labels;
	struct frame_labels frames;
	struct map image_of;
	vec(uint32_t) function_of; /* by label; 0: not yet looked for */
	struct known_stack *known; /* by stack */
	uint32_t *series_of;	   /* by process; 0: not yet */
	vec(uint32_t) way;
	struct index_series_finder finder;

	uint32_t event; /* at hand, of the index */
	uint64_t minute;
	vec(struct row) rows; /* of that event and minute */
	struct map row_of;    /* by series and path */
	vec(struct cell_sum) sums;
	struct map sum_of; /* by series */
	struct cell_list merged;
	sqlite3_stmt *get, *put;
	struct fail *why;
	int err;
};

/* What a stack says of itself, before those that it has from its parent. */
static uint8_t marks_of(const struct adding *a, const struct film_stack *stack)
{
	const struct film *film = a->film;
	const struct film_frame *frame = &film->frames[stack->frame];
	uint8_t marks = stack->how == FILM_HOW_FRAME_POINTER ? STACK_GUESSED : 0;
	size_t length;

	if (!stack->parent && frame->kind == FILM_FRAME_MARK &&
	    name_truncation(film->functions[frame->function].name, &length))
		marks |= STACK_TRUNCATED;
	return marks;
}

/* By the address of their paths: labels have those. */
static bool find_images(struct adding *a)
{
	const struct film *film = a->film;
	bool done = true;

	for (uint32_t i = 1; done && i < film->image_count; i++)
		done = map_put(&a->image_of, (uintptr_t)film->images[i].path, i);
	return done;
}

/* The number in the dictionary of a label; 0: no room or no memory. */
static uint32_t function_of(struct adding *a, uint32_t label)
{
	const struct label *l = &a->labels.all.at[label];
	struct dictionary *d = &a->index->dictionary;
	struct dictionary_function function = {
		.kind = (uint8_t)l->kind,
		.is_place = l->of_image,
		.name = l->name,
	};

	while (a->function_of.count <= label)
		if (!vec_push(&a->function_of, 0))
			return 0;
	if (a->function_of.at[label])
		return a->function_of.at[label];
	if (l->of_image) {
		function.image = dictionary_image(d, l->of_image);
	} else if (*l->image) {
		/* the build tells nothing apart here, and each would be an entry of its own */
		uint64_t *known = map_get(&a->image_of, (uintptr_t)l->image);
		struct film_image image = {.path = l->image};

		image.kind = known ? a->film->images[*known].kind : FILM_IMAGE_FILE;
		function.image = dictionary_image(d, &image);
	}
	if (*l->image && !function.image)
		return 0;
	return a->function_of.at[label] = dictionary_function(d, &function);
}

/* The path that one more entry of a stack leads to; 0: no room or no memory. */
static uint32_t enter(struct adding *a, uint32_t path, const struct film_stack *stack)
{
	struct dictionary *d = &a->index->dictionary;
	uint32_t count = 0, i;
	const struct label_use *uses = frame_labels_of(&a->frames, stack->frame, &count);

	if (!uses)
		return 0;
	for (i = 0; i < count; i++) {
		uint8_t flags = uses[i].inlined ? PATH_INLINED : 0;
		uint32_t label = uses[i].label, function;
		uint16_t depth = path ? dictionary_path_at(d, path)->depth : 0;

		if (i + 1 == count && stack->how == FILM_HOW_FRAME_POINTER)
			flags |= PATH_GUESS;
		/* as in query/tree.c: one mark for all that lies too deep */
		if (depth >= TREE_DEPTH_MAX)
			return path;
		if (depth == TREE_DEPTH_MAX - 1) {
			label = label_intern_name(&a->labels, TREE_TOO_DEEP, FILM_FRAME_MARK);
			flags = 0;
		}
		function = label == LABEL_NONE ? 0 : function_of(a, label);
		path = function ? dictionary_path(d, path, function, flags) : 0;
		if (!path)
			return 0;
	}
	return path;
}

/*
 * What is known of a stack by what is known of its parent. Frames that reports do not show are left
 * out (query/fold.h): such a stack counts as its parent.
 */
static struct known_stack stack_below(struct adding *a, const struct film_stack *stack,
				      struct known_stack of)
{
	of.own |= marks_of(a, stack);
	if (fold_leaves_out(a->film, stack, &a->shape))
		return of;
	of.shown = of.own;
	if (of.path != PATH_OTHERS)
		of.path = enter(a, of.path, stack);
	if (!of.path)
		of.path = PATH_OTHERS;
	return of;
}

/*
 * The stack with its path: PATH_OTHERS where a table is full, 0 where all its frames are left out.
 * Looks only at those that samples have, and at those above them: a film that grows has many more.
 * Null: no memory.
 */
static const struct known_stack *know(struct adding *a, uint32_t stack)
{
	const struct film_stack *stacks = a->film->stacks;

	a->way.count = 0;
	for (; !a->known[stack].is_known; stack = stacks[stack].parent)
		if (!vec_push(&a->way, stack))
			return NULL;
	while (a->way.count) {
		const struct known_stack above = a->known[stack];

		stack = a->way.at[--a->way.count];
		a->known[stack] = stack_below(a, &stacks[stack], above);
	}
	return &a->known[stack];
}

static int by_series_and_path(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return a->cell.path < b->cell.path ? -1 : a->cell.path > b->cell.path;
}

/*
 * Reads what the index has of that minute into a->merged and *sum; leaves them empty where it has
 * nothing.
 */
static int get_minute(struct adding *a, int64_t key, struct cell_sum *sum)
{
	struct index *index = a->index;
	struct cells_reader *r = &index->cells;
	int rc, err = 0;

	a->merged.count = 0;
	sqlite3_bind_int64(a->get, 1, key);
	rc = sqlite3_step(a->get);
	if (rc == SQLITE_ROW) {
		uint32_t n = (uint32_t)sqlite3_column_int64(a->get, 4);

		*sum = (struct cell_sum){
			.samples = (uint64_t)sqlite3_column_int64(a->get, 0),
			.total = (uint64_t)sqlite3_column_int64(a->get, 1),
			.truncated = (uint64_t)sqlite3_column_int64(a->get, 2),
			.guessed = (uint64_t)sqlite3_column_int64(a->get, 3),
		};
		err = cells_unpack(r, sqlite3_column_blob(a->get, 5),
				   (size_t)sqlite3_column_bytes(a->get, 5), &n, 1,
				   index->dictionary.paths.count, true);
		if (!err && !vec_reserve(&a->merged, n))
			err = -ENOMEM;
		for (uint32_t i = 0; !err && i < n; i++)
			a->merged.at[a->merged.count++] = (struct cell){
				(uint32_t)r->path.at[i], r->samples.at[i], r->value.at[i]};
	}
	sqlite3_reset(a->get);
	if (err == -EBADMSG)
		return index_damaged(index, a->why);
	if (err)
		return fail_errno(a->why, err, NULL, "cannot add to the index of the store");
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0
						     : index_failed(index, index->db, rc, a->why);
}

/* Adds the cells of one series to what is there of the minute. */
static int put_minute(struct adding *a, uint32_t series, struct cell_list *cells)
{
	struct index *index = a->index;
	struct columns *c = &index->columns;
	int64_t key = index_key(a->event, series, a->minute);
	struct cell_sum sum = {0};
	uint32_t n;
	int err = get_minute(a, key, &sum), rc;

	if (err)
		return err;
	cell_sum_add(&sum, &a->sums.at[*map_get(&a->sum_of, series)]);
	err = cells_merge(&a->merged, cells->at, cells->count);
	n = (uint32_t)a->merged.count;
	if (!err)
		err = cells_pack(c, a->merged.at, &n, 1);
	if (err)
		return fail_errno(a->why, err, NULL, "cannot add to the index of the store");
	sql_bind(a->put, "iiiiiib", key, (int64_t)sum.samples, (int64_t)sum.total,
		 (int64_t)sum.truncated, (int64_t)sum.guessed, (int64_t)n, c->packed.at,
		 c->packed.count);
	rc = sql_again(a->put);
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, a->why);
}

/* Writes the minute at hand, and forgets it. */
static int flush(struct adding *a)
{
	struct cell_list cells = {0};
	size_t i = 0;
	int err = 0;

	if (!a->rows.count)
		return 0;
	if (!vec_reserve(&cells, a->rows.count))
		return fail_errno(a->why, -ENOMEM, NULL, "cannot add to the index of the store");
	qsort(a->rows.at, a->rows.count, sizeof(*a->rows.at), by_series_and_path);
	while (!err && i < a->rows.count) {
		uint32_t series = a->rows.at[i].series;

		for (cells.count = 0; i < a->rows.count && a->rows.at[i].series == series; i++)
			cells.at[cells.count++] = a->rows.at[i].cell;
		err = put_minute(a, series, &cells);
	}
	vec_free(&cells);
	if (a->minute / HOUR_MINUTES < a->index->packed_hour)
		a->index->came_late = true;
	a->rows.count = a->sums.count = 0;
	map_free(&a->row_of);
	map_free(&a->sum_of);
	return err;
}

static uint64_t minute_of(const struct film *film, uint64_t time)
{
	__int128 wall = (__int128)time + film->info.wall_offset;

	if (wall < 0)
		return 0;
	return wall / NS_MINUTE > TIME_MAX ? TIME_MAX : (uint64_t)(wall / NS_MINUTE);
}

/*
 * In an hour that the film says to cover: what stood in another one would stay there when the film
 * is forgotten.
 */
static uint64_t minute_within(const struct film *film, uint64_t time)
{
	uint64_t minute = minute_of(film, time);
	uint64_t first = minute_of(film, film->info.start) / HOUR_MINUTES * HOUR_MINUTES;
	uint64_t last = minute_of(film, film->info.end) / HOUR_MINUTES * HOUR_MINUTES;

	last += HOUR_MINUTES - 1;
	return minute < first ? first : minute > last ? last : minute;
}

static struct cell *cell_of(struct adding *a, uint32_t series, uint32_t path)
{
	uint64_t key = (uint64_t)series << 32 | path, *known = map_get(&a->row_of, key);

	if (known)
		return &a->rows.at[*known].cell;
	if (!vec_push(&a->rows, (struct row){series, {.path = path}}) ||
	    !map_put(&a->row_of, key, a->rows.count - 1))
		return NULL;
	return &vec_last(&a->rows)->cell;
}

static struct cell_sum *sum_of(struct adding *a, uint32_t series)
{
	uint64_t *known = map_get(&a->sum_of, series);

	if (known)
		return &a->sums.at[*known];
	if (!vec_push(&a->sums, (struct cell_sum){0}) ||
	    !map_put(&a->sum_of, series, a->sums.count - 1))
		return NULL;
	return vec_last(&a->sums);
}

static bool add_sample(struct adding *a, uint32_t thread, uint32_t stack, uint64_t value)
{
	uint32_t process = a->film->threads[thread].process, path;
	uint32_t *series = &a->series_of[process];
	const struct known_stack *known = know(a, stack);
	struct cell_sum *sum;
	struct cell *cell;

	if (!*series)
		*series = index_series_of(&a->finder, &a->film->processes[process]);
	if (!*series || !known)
		return false;
	path = known->path ? known->path : PATH_UNKNOWN;
	cell = cell_of(a, *series, path);
	sum = sum_of(a, *series);
	if (!cell || !sum)
		return false;
	cell->samples++;
	cell->value = add_saturated(cell->value, value);
	sum->samples++;
	sum->total = add_saturated(sum->total, value);
	sum->truncated += known->shown & STACK_TRUNCATED;
	sum->guessed += (known->shown & STACK_GUESSED) != 0;
	a->index->others += path == PATH_OTHERS || *series == SERIES_OTHERS;
	return true;
}

/* What was spent up to that time, in the minute that it lies in. */
static int add_at(struct adding *a, uint64_t time, uint32_t thread, uint32_t stack, uint64_t value)
{
	uint64_t minute = minute_within(a->film, time);

	if (minute != a->minute) {
		a->err = flush(a);
		if (a->err)
			return a->err;
		a->minute = minute;
	}
	if (!add_sample(a, thread, stack, value))
		a->err = fail_errno(a->why, -ENOMEM, NULL, "cannot add to the index of the store");
	return a->err;
}

static int handle_samples(void *context, const struct film_samples *samples)
{
	int err = 0;

	for (size_t i = 0; !err && i < samples->count; i++)
		err = add_at(context, samples->time[i], samples->thread[i], samples->stack[i],
			     samples->value[i]);
	return err;
}

/* A wait, of which each minute has its part; of one of more than an hour, the last has the rest. */
static int handle_slice(void *context, const struct slice *slice,
			const struct slice_evidence *evidence)
{
	struct adding *a = context;
	uint64_t from = slice->start, to;
	int err = 0;

	(void)evidence;
	for (unsigned int parts = 1; !err && slice_is_wait(slice->kind) && from < slice->end;
	     parts++) {
		to = from + NS_MINUTE - (from + (uint64_t)a->film->info.wall_offset) % NS_MINUTE;
		if (to < from || to > slice->end || parts == HOUR_MINUTES)
			to = slice->end;
		err = add_at(a, to - 1, slice->thread, slice->stack, to - from);
		from = to;
	}
	return err;
}

/*
 * A wait of seconds is several rows, of which only the last has its stack. In a film that comes
 * whole they are one; in one that grows, what came before stays without a stack.
 */
static int add_event(struct adding *a, uint32_t event, uint64_t blocks, uint64_t to)
{
	if (!blocks && !a->of->is_growing && film_has_turns(a->film, event))
		return slices_each(a->film, event, 0, UINT64_MAX, handle_slice, a, a->why);
	return film_each_new_samples(a->film, event, blocks, to, handle_samples, a, a->why);
}

/* The samples of all events behind that many blocks of the film, the first. */
static int add_samples(struct adding *a, uint64_t blocks)
{
	uint64_t to = index_blocks_of(a->of, a->film);
	int err = 0;

	for (uint32_t i = 1; !err && i < a->film->event_count; i++) {
		const struct film_event *event = &a->film->events[i];

		a->event = index_event(a->index, a->film, i, &err);
		if (err)
			return fail_errno(a->why, err, NULL,
					  "cannot add to the index of the store");
		if (!a->event || view_is_calls(event))
			continue;
		err = add_event(a, i, blocks, to);
		if (!err)
			err = flush(a);
	}
	return err;
}

static int adding_init(struct adding *a)
{
	struct film *film = a->film;

	a->labels = (struct labels){.shape = &a->shape, .across_films = true};
	a->known = calloc(film->stack_count + 1ull, sizeof(*a->known));
	a->series_of = calloc(film->process_count + 1ull, sizeof(*a->series_of));
	a->minute = UINT64_MAX;
	if (frame_labels_init(&a->frames, &a->labels, film) || !find_images(a) || !a->known ||
	    !a->series_of ||
	    index_series_begin(&a->finder, a->index, film, a->of->host, a->of->builds))
		return fail_errno(a->why, -ENOMEM, NULL, "cannot add to the index of the store");
	a->known[0] = (struct known_stack){.shown = STACK_TRUNCATED, .is_known = true};
	return 0;
}

static void adding_free(struct adding *a)
{
	index_series_end(&a->finder);
	frame_labels_free(&a->frames);
	labels_free(&a->labels);
	free(a->known);
	free(a->series_of);
	map_free(&a->image_of);
	vec_free(&a->function_of);
	vec_free(&a->way);
	vec_free(&a->rows);
	vec_free(&a->sums);
	vec_free(&a->merged);
	map_free(&a->row_of);
	map_free(&a->sum_of);
	sqlite3_finalize(a->get);
	sqlite3_finalize(a->put);
}

static int add_in_transaction(struct index *index, const struct index_film *of, struct film *film,
			      struct fail *why)
{
	struct adding a = {.index = index, .film = film, .of = of, .why = why};
	uint64_t blocks = 0;
	int64_t id = 0;
	int err = index_film_find(index, of->name, &id, &blocks, why), rc;

	if (err)
		return err;
	rc = sql_open(index->db, &a.get,
		      "SELECT samples, total, truncated, guessed, n, data FROM minute"
		      " WHERE key = ?",
		      "");
	if (rc == SQLITE_OK)
		rc = sql_open(index->db, &a.put,
			      "INSERT OR REPLACE INTO minute VALUES(?, ?, ?, ?, ?, ?, ?)", "");
	err = rc == SQLITE_OK ? adding_init(&a) : index_failed(index, index->db, rc, why);
	if (!err)
		err = add_samples(&a, blocks);
	adding_free(&a);
	if (!err)
		err = index_filmed_add(index, of->host, film, index_blocks_of(of, film), why);
	if (!err)
		err = index_film_set(index, of, film, id, why);
	return err;
}

int index_add(struct index *index, const struct index_film *of, struct film *film, struct fail *why)
{
	int err = index_begin(index, why);

	return err ? err : index_end(index, add_in_transaction(index, of, film, why), why);
}
