// SPDX-License-Identifier: Apache-2.0
/* Totals over time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "film/labels.h"
#include "query/filter.h"
#include "query/fold.h"
#include "query/labels.h"
#include "query/view.h"
#include "store/ask_private.h"
#include "store/index_series.h"

struct liner {
	const struct asked *asked;
	enum store_by by;
	uint64_t from, step;
	size_t steps;
	struct filmed_steps filmed;
	vec(struct store_timeline_row) rows;
	struct map row_of_series, row_of_name; /* name: its hash */
	size_t rest; /* the row of all that came when there were ROWS_KEPT, plus one */
	struct store_sum *sum;
	struct store_answer_private *private;
	const char *function; /* null: all */
	uint8_t *within;      /* by path: it is the function, or below it */
	const struct sums_view *view;
	/*
	 * of a level: by process and step, the film that has its last state, counted from 1; films
	 * come newest first
	 */
	struct map state;
	uint64_t films;
	struct fail *why;
};

enum {
	/*
	 * More rows are not told apart: each has a value for each step. A version is one for each
	 * build.
	 */
	ROWS_KEPT = 1024,
};

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot make the timeline");
}

/* The name of the row of a series; value: room for that of a label. */
static const char *key_of(const struct liner *l, const struct dictionary_series *s,
			  char value[FILM_LABEL_VALUE_MAX + 1])
{
	switch (l->by) {
	case STORE_BY_HOST:
		return s->host;
	case STORE_BY_SERVICE:
		return s->service;
	case STORE_BY_VERSION:
		return s->version;
	case STORE_BY_LABEL:
		film_labels_value(s->labels, l->asked->ask->by_label, value);
		return value;
	default:
		return "all";
	}
}

static size_t push_row(struct liner *l, const char *name)
{
	struct store_timeline_row row = {.name = name_pool_add(&l->private->names, name)};

	row.values = calloc(l->steps + 1, sizeof(*row.values));
	if (row.name && row.values && vec_push(&l->rows, row))
		return l->rows.count - 1;
	free(row.values);
	return SIZE_MAX;
}

/* The row of that name, or of all that there is no room for; SIZE_MAX: no memory. */
static size_t row_named(struct liner *l, const char *name)
{
	uint64_t key = hash_bytes(name, strlen(name)), *known = map_get(&l->row_of_name, key);
	size_t row;

	if (known)
		return *known;
	if (l->rest)
		return l->rest - 1;
	row = push_row(l, l->rows.count < ROWS_KEPT ? name : "");
	if (row == ROWS_KEPT)
		l->rest = row + 1;
	else if (row != SIZE_MAX && !map_put(&l->row_of_name, key, row))
		return SIZE_MAX;
	return row;
}

static size_t row_of_series(struct liner *l, uint32_t series)
{
	const struct dictionary_series *s;
	uint64_t *known = map_get(&l->row_of_series, series);
	char value[FILM_LABEL_VALUE_MAX + 1];
	size_t row;

	if (known)
		return *known;
	s = dictionary_series_at(l->view->dictionary, series);
	row = row_named(l, key_of(l, s, value));
	return row != SIZE_MAX && map_put(&l->row_of_series, series, row) ? row : SIZE_MAX;
}

static size_t step_of(const struct liner *l, uint64_t time)
{
	size_t step = time < l->from ? 0 : (size_t)((time - l->from) / l->step);

	return step < l->steps ? step : l->steps - 1;
}

static int add(struct liner *l, size_t row, uint64_t time, uint64_t value)
{
	struct store_timeline_row *at = &l->rows.at[row];
	size_t step = step_of(l, time);

	at->values[step] = add_saturated(at->values[step], value);
	at->total = add_saturated(at->total, value);
	return 0;
}

static int add_row(void *context, const struct sums_row *scanned)
{
	struct liner *l = context;
	size_t row = row_of_series(l, scanned->series);
	uint64_t value = scanned->sum.total;
	int err = sum_add(l->sum, scanned->sum.samples, scanned->sum.total, l->why);

	if (row == SIZE_MAX)
		return no_memory(l->why);
	if (err)
		return err;
	l->sum->truncated += scanned->sum.truncated;
	l->sum->guessed += scanned->sum.guessed;
	if (l->function) {
		value = 0;
		for (size_t i = 0; i < scanned->count; i++)
			value += l->within[scanned->path[i]] ? scanned->value[i] : 0;
	}
	return add(l, row, scanned->minute * NS_MINUTE, value);
}

/* Which paths have the function. */
static int find_within(struct liner *l)
{
	const struct dictionary *d = l->view->dictionary;
	uint32_t functions = dictionary_readable(&d->functions);
	uint8_t *is_it = calloc(functions + 1ull, 1);
	char name[BUILD_NAME_SIZE];

	l->within = calloc(l->view->paths + 1ull, 1);
	if (!is_it || !l->within) {
		free(is_it);
		return no_memory(l->why);
	}
	for (uint32_t i = 1; i < functions; i++)
		is_it[i] = !strcmp(asked_function_name(l->asked, d, i, name), l->function);
	for (uint32_t i = 1; i < l->view->paths; i++) {
		const struct dictionary_path *path = dictionary_path_at(d, i);

		l->within[i] = l->within[path->parent] | is_it[path->function];
	}
	free(is_it);
	return 0;
}

/* Steps of whole minutes, in which hours may lie that are not taken apart. */
static void set_minutes(struct liner *l, size_t steps)
{
	const struct asked *a = l->asked;
	uint64_t minutes = a->end - a->first, step = (minutes + steps - 1) / steps;

	l->from = a->first * NS_MINUTE;
	l->step = (step ? step : 1) * NS_MINUTE;
	l->steps = (size_t)((minutes * NS_MINUTE + l->step - 1) / l->step);
	l->steps = l->steps ? l->steps : 1;
}

static int read_sums(struct asked *asked, struct liner *l, struct fail *why)
{
	struct sums_view *view;
	/* an hour that lies in one step need not be taken apart */
	bool whole = l->step % NS_HOUR == 0 && l->from % NS_HOUR == 0;
	enum sums_what what = l->function ? (whole ? SUMS_PATHS : SUMS_MINUTE_PATHS)
					  : (whole ? SUMS_HOURS : SUMS_MINUTES);
	/* functions over time need stacks by time */
	int err = asked_sums(asked, l->function ? SUMS_MINUTE_PATHS : what, true)
			  ->open(asked, &view, why);

	if (err)
		return err;
	l->view = view;
	asked->one_service &= l->by == STORE_BY_NOTHING || l->by == STORE_BY_SERVICE;
	err = view->verbs->select(asked, view, what, why);
	if (!err)
		err = view->verbs->about(asked, view, l->sum, why);
	if (!err && l->function)
		err = find_within(l);
	if (!err)
		err = view->verbs->each(asked, view, what, add_row, l, why);
	view->verbs->close(asked, view, l->private);
	l->view = NULL;
	return err;
}

/* One film on its way into the rows. */
struct film_liner {
	struct liner *l;
	const struct ask_film *of;
	struct filter_kept kept;
	struct fold fold;
	uint8_t *within; /* by stack, as it is shown; null: all */
	struct map last; /* of a level: by process and step, when its last state in it is taken */
	size_t *rows;	 /* by process, plus one */
	int err;
};

static size_t row_of_process(struct film_liner *f, uint32_t id)
{
	const struct film_process *process = &f->of->film->processes[id];
	char service[INDEX_SERVICE_SIZE], version[INDEX_VERSION_SIZE], labels[FILM_LABELS_SIZE];
	char value[FILM_LABEL_VALUE_MAX + 1];
	const struct dictionary_series s = {f->of->host, service, version, labels};
	size_t row;

	if (f->rows[id])
		return f->rows[id] - 1;
	index_service_of(f->l->asked->index, process, service);
	index_version_of(f->of->finder, process, version);
	index_labels_of(f->of->finder, process, labels);
	row = row_named(f->l, key_of(f->l, &s, value));
	if (row != SIZE_MAX)
		f->rows[id] = row + 1;
	return row;
}

/* A process, over all of the film's that are the same one, in a step. */
static uint64_t state_of(const struct film_liner *f, uint32_t thread, uint64_t time)
{
	const struct film *film = f->of->film;
	uint64_t process =
		asked_process(f->l->asked, f->of->host, film, film->threads[thread].process);

	return hash_u64(process ^ hash_u64(step_of(f->l, time) + 1));
}

static int find_states(void *context, const struct film_samples *samples)
{
	struct film_liner *f = context;

	for (size_t i = 0; i < samples->count; i++) {
		uint64_t time = samples->time[i] + (uint64_t)f->of->film->info.wall_offset;
		uint64_t key = state_of(f, samples->thread[i], time), *film;

		film = map_get(&f->l->state, key);
		if (film && *film != f->l->films)
			continue;
		/* samples come in order of time */
		if (!map_put(&f->last, key, time) || !map_put(&f->l->state, key, f->l->films))
			return f->err = no_memory(f->l->why);
	}
	return 0;
}

/* Whether a sample is none of the last state of its process in its step. */
static bool is_over(const struct film_liner *f, uint32_t thread, uint64_t time)
{
	const uint64_t *last;

	if (!f->l->asked->is_level)
		return false;
	last = map_get(&f->last, state_of(f, thread, time));
	return !last || *last != time;
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct film_liner *f = context;
	const struct film *film = f->of->film;

	for (size_t i = 0; i < samples->count; i++) {
		uint32_t thread = samples->thread[i], stack = samples->stack[i];
		uint64_t time = samples->time[i] + (uint64_t)film->info.wall_offset;
		size_t row;

		if (!f->kept.threads[thread] || !f->kept.stacks[stack] || is_over(f, thread, time))
			continue;
		row = row_of_process(f, film->threads[thread].process);
		if (row == SIZE_MAX)
			return f->err = no_memory(f->l->why);
		f->err = sum_add(f->l->sum, 1, samples->value[i], f->l->why);
		if (f->err)
			return f->err;
		if (f->fold.into)
			stack = f->fold.into[stack];
		add(f->l, row, time, !f->within || f->within[stack] ? samples->value[i] : 0);
	}
	return 0;
}

/* Stacks with the function among the frames that are shown. */
static int find_stacks(struct film_liner *f)
{
	const struct film *film = f->of->film;
	const struct film_stack *stacks = f->fold.paths ? f->fold.paths : film->stacks;
	struct labels labels = {.shape = &f->of->question->shape, .across_films = true};
	struct frame_labels frames;
	int err = frame_labels_init(&frames, &labels, film);

	f->within = calloc(film->stack_count + 1ull, 1);
	if (!f->within)
		err = -ENOMEM;
	for (uint32_t i = 1; !err && i < film->stack_count; i++) {
		uint32_t count = 0;
		const struct label_use *uses = frame_labels_of(&frames, stacks[i].frame, &count);

		f->within[i] = f->within[stacks[i].parent];
		for (uint32_t k = 0; k < count; k++)
			f->within[i] |= !strcmp(labels.all.at[uses[k].label].name, f->l->function);
		err = uses ? 0 : -ENOMEM;
	}
	frame_labels_free(&frames);
	labels_free(&labels);
	return err;
}

static int add_film(void *context, const struct ask_film *of)
{
	struct film_liner f = {.l = context, .of = of};
	struct film *film = of->film;
	uint64_t from, to;
	int err = filter_span(&of->question->filter, &film->info, &from, &to, f.l->why);

	if (err || view_is_calls(&film->events[of->event]))
		return err;
	f.rows = calloc(film->process_count + 1ull, sizeof(*f.rows));
	if (!f.rows || fold_stacks(film, &of->question->shape, &f.fold) ||
	    (f.l->function && find_stacks(&f)))
		err = no_memory(f.l->why);
	if (!err)
		err = filter_apply(&of->question->filter, film, &f.kept, f.l->why);
	f.l->films++;
	if (!err && f.l->asked->is_level)
		err = film_each_samples(film, of->event, from, to, find_states, &f, f.l->why);
	if (!err)
		err = film_each_samples(film, of->event, from, to, add_samples, &f, f.l->why);
	map_free(&f.last);
	filter_kept_free(&f.kept);
	fold_free(&f.fold);
	free(f.within);
	free(f.rows);
	return err;
}

static int largest_first(const void *x, const void *y)
{
	const struct store_timeline_row *a = x, *b = y;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name);
}

/*
 * Of a level the total is what was there at last, as the values of its steps are never summed up.
 */
static void set_last_states(struct liner *l)
{
	l->sum->total = 0;
	vec_foreach (&l->rows, row) {
		row->total = 0;
		for (size_t step = l->steps; step-- && !row->total;)
			row->total = row->values[step];
		l->sum->total = add_saturated(l->sum->total, row->total);
	}
}

/* Sorts the rows, and adds up those beyond the limit. */
static int emit_rows(struct liner *l, size_t limit, struct store_timeline *timeline)
{
	/*
	 * where it is, there are more than any limit, and it is the last one: it stays with those
	 * beyond the limit
	 */
	size_t named = l->rest ? l->rest - 1 : l->rows.count, kept;

	if (named)
		qsort(l->rows.at, named, sizeof(*l->rows.at), largest_first);
	kept = l->rows.count > limit ? limit : l->rows.count;
	if (kept < l->rows.count) {
		/* the first that is not kept becomes the sum of all those */
		for (size_t i = kept + 1; i < l->rows.count; i++) {
			struct store_timeline_row *others = &l->rows.at[kept];

			for (size_t k = 0; k < l->steps; k++)
				others->values[k] =
					add_saturated(others->values[k], l->rows.at[i].values[k]);
			others->total = add_saturated(others->total, l->rows.at[i].total);
			free(l->rows.at[i].values);
		}
		l->rows.at[kept++].name = "";
	}
	timeline->at = l->rows.at;
	timeline->rows = kept;
	timeline->steps = l->steps;
	timeline->step = l->step;
	timeline->filmed = l->filmed.at;
	l->filmed.at = NULL;
	return 0;
}

/* Once the steps are known: how much of each was filmed is added up beside the whole. */
static int begin_filmed(struct asked *asked, struct liner *l, struct fail *why)
{
	l->filmed = (struct filmed_steps){
		.from = l->from,
		.step = l->step,
		.count = l->steps,
		.at = calloc(l->steps, sizeof(*l->filmed.at)),
	};
	asked->steps = &l->filmed;
	return l->filmed.at ? 0 : no_memory(why);
}

/* Seconds of few films are read from them; whole minutes from the index. */
static int read_timeline(struct asked *asked, struct liner *l, size_t steps, struct fail *why)
{
	uint64_t length = asked->to - asked->from, minutes = asked->end - asked->first;
	bool by_films = asked_needs_films(asked);
	int64_t films = 0;
	int err;

	/*
	 * a caller that wants a step per minute does not know how many minutes a time lies in: one
	 * more or less may be
	 */
	if (!by_films && length &&
	    ((steps > minutes + 1 && length <= NS_HOUR) || asked_is_late(asked))) {
		films = ask_count_films(asked, why);
		by_films = films >= 0 && films <= 4;
	}
	if (films < 0)
		return (int)films;
	if (!by_films) {
		set_minutes(l, steps);
		err = begin_filmed(asked, l, why);
		return err ? err : read_sums(asked, l, why);
	}
	l->from = asked->from;
	l->step = length / steps ? (length + steps - 1) / steps : 1;
	l->steps = length ? (size_t)((length + l->step - 1) / l->step) : 1;
	err = begin_filmed(asked, l, why);
	return err ? err : ask_films(asked, film_open, l->sum, add_film, l, why);
}

int store_timeline(struct store *store, const struct store_ask *ask, enum store_by by, size_t steps,
		   size_t rows, const char *function, struct store_timeline *timeline,
		   struct fail *why)
{
	struct asked asked = {0};
	struct liner l = {.asked = &asked, .by = by, .function = function, .why = why};
	int err;

	*timeline = (struct store_timeline){0};
	steps = steps < 1 ? 1 : steps > STORE_STEPS_MAX ? STORE_STEPS_MAX : steps;
	rows = rows < 1 ? 1 : rows > STORE_ROWS_MAX ? STORE_ROWS_MAX : rows;
	timeline->private = answer_private_new(why);
	if (!timeline->private)
		return -ENOMEM;
	l.sum = &timeline->sum;
	l.private = timeline->private;
	err = asked_begin(&asked, store, ask, why);
	asked.each_state = true;
	if (!err)
		err = read_timeline(&asked, &l, steps, why);
	if (!err && asked.is_level)
		set_last_states(&l);
	if (!err) {
		err = emit_rows(&l, rows, timeline);
	} else {
		vec_foreach (&l.rows, row)
			free(row->values);
		vec_free(&l.rows);
	}
	map_free(&l.row_of_series);
	map_free(&l.row_of_name);
	map_free(&l.state);
	free(l.within);
	free(l.filmed.at);
	asked_free(&asked);
	return err;
}

void store_timeline_free(struct store_timeline *timeline)
{
	for (size_t i = 0; i < timeline->rows; i++)
		free(timeline->at[i].values);
	free(timeline->at);
	free(timeline->filmed);
	answer_private_free(timeline->private);
	*timeline = (struct store_timeline){0};
}
