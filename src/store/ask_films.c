// SPDX-License-Identifier: Apache-2.0
/* What the index does not tell apart is answered by the films themselves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "film/container.h"
#include "film/labels.h"
#include "film/loss_kinds.h"
#include "base/saturated.h"
#include "query/level.h"
#include "store/ask_private.h"
#include "store/index_series.h"

/* Which processes of the film at hand are meant. */
struct chosen {
	const struct asked *asked;
	struct index_series_finder *finder;
	uint8_t *known; /* by process: 0 not yet asked, 1 no, 2 yes */
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_u64(hash ^ hash_bytes(text, strlen(text)));
}

uint64_t asked_process(const struct asked *asked, const char *host, const struct film *film,
		       uint32_t id)
{
	const struct film_process *process = &film->processes[id];
	char service[INDEX_SERVICE_SIZE];
	uint64_t key = hash_text(hash_text(0, host), film->info.labels);

	index_service_of(asked->index, process, service);
	return hash_u64(hash_text(hash_text(key, service), process->comm) ^ process->pid);
}

/* Of a level: a later film, which was read before, has its last state. */
static bool is_over(const struct chosen *c, const struct film *film, uint32_t process)
{
	return c->asked->seen &&
	       map_get(c->asked->seen, asked_process(c->asked, c->finder->host, film, process));
}

static bool keeps(void *context, const struct film *film, uint32_t process)
{
	struct chosen *c = context;
	char service[INDEX_SERVICE_SIZE], version[INDEX_VERSION_SIZE], labels[FILM_LABELS_SIZE];
	const struct dictionary_series series = {
		.host = c->finder->host,
		.service = service,
		.version = version,
		.labels = labels,
	};

	if (!c->known[process]) {
		index_service_of(c->asked->index, &film->processes[process], service);
		index_version_of(c->finder, &film->processes[process], version);
		index_labels_of(c->finder, &film->processes[process], labels);
		c->known[process] =
			1 + (asked_series(c->asked->ask, &series) && !is_over(c, film, process));
	}
	return c->known[process] == 2;
}

/*
 * Where only some services may be seen: processes that are not meant lose their names, and those of
 * their threads, which others may have waited for. Each was asked about before, as that needs them.
 */
static void hide_others(struct chosen *c, struct film *film)
{
	static const char other[] = "another service";

	for (uint32_t i = 1; i < film->process_count; i++)
		keeps(c, film, i);
	for (uint32_t i = 1; i < film->thread_count; i++)
		if (c->known[film->threads[i].process] != 2)
			film->threads[i].comm = other;
	for (uint32_t i = 1; i < film->process_count; i++) {
		struct film_process *process = &film->processes[i];

		if (c->known[i] == 2)
			continue;
		process->comm = process->command = process->exe = process->cgroup =
			process->container = other;
		process->user = process->resource = "";
	}
}

bool ask_film_keeps(const struct ask_film *of, uint32_t thread)
{
	const struct filter *f = &of->question->filter;

	return !f->keeps || f->keeps(f->keeps_context, of->film, of->film->threads[thread].process);
}

struct listed {
	char *name, *host;
	uint64_t first; /* ns since 1970: it begins then, or later */
	uint64_t last;	/* its end, as far as it is known before it is read */
	bool is_growing;
	bool is_read; /* it has what was asked for, and it is in the answer */
};
struct film_list {
	vec(struct listed) all;
};

static void list_free(struct film_list *list)
{
	vec_foreach (&list->all, film) {
		free(film->name);
		free(film->host);
	}
	vec_free(&list->all);
}

static size_t gcd(size_t a, size_t b)
{
	while (b) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int count_film(void *context, const struct sums_film *film)
{
	(void)film;
	++*(int64_t *)context;
	return 0;
}

int64_t ask_count_films(const struct asked *a, struct fail *why)
{
	struct sums_view *view;
	int64_t count = 0;
	int err = index_sums.open(a, &view, why);

	if (err)
		return err;
	err = index_sums.films(a, view, count_film, &count, why);
	index_sums.close(a, view, NULL);
	return err ? err : count;
}

/* Takes a copy of the names. */
static bool list_add(struct film_list *list, struct listed film)
{
	film.name = strdup(film.name);
	film.host = strdup(film.host);
	if (film.name && film.host && vec_push(&list->all, film))
		return true;
	free(film.name);
	free(film.host);
	return false;
}

struct growing {
	const struct asked *asked;
	struct film_list *list;
};

/* A film that grows reaches further than the index knows. */
static int add_growing(void *context, const struct store_growing *found)
{
	struct growing *g = context;
	const char *wanted = g->asked->ask->host;

	if (wanted && strcmp(found->host, wanted) != 0)
		return 0;
	vec_foreach (&g->list->all, film) {
		if (!strcmp(film->name, found->name)) {
			film->is_growing = true;
			film->last = UINT64_MAX;
			return 0;
		}
	}
	return list_add(g->list, (struct listed){(char *)found->name, (char *)found->host,
						 found->first, UINT64_MAX, true, false})
		       ? 0
		       : -ENOMEM;
}

struct film_lister {
	struct film_list *list;
	struct fail *why;
};

static int list_film(void *context, const struct sums_film *film)
{
	struct film_lister *l = context;
	const struct listed listed = {
		(char *)film->name, (char *)film->host, film->first, film->last, false, false};

	return list_add(l->list, listed)
		       ? 0
		       : fail_errno(l->why, -ENOMEM, NULL, "cannot ask the films");
}

static int list_films(const struct asked *a, struct film_list *list, struct store_sum *sum,
		      struct fail *why)
{
	struct film_lister lister = {list, why};
	struct sums_view *view;
	int err = index_sums.open(a, &view, why);

	if (err)
		return err;
	err = index_sums.about(a, view, sum, why);
	/* of the films that are read, the losses are known without the index */
	sum->lost = sum->lost_samples = 0;
	if (!err)
		err = index_sums.films(a, view, list_film, &lister, why);
	index_sums.close(a, view, NULL);
	if (!err && store_each_growing(a->store, a->to, add_growing, &(struct growing){a, list}))
		err = fail_errno(why, -ENOMEM, NULL, "cannot ask the films");
	return err;
}

/* Those that a process may have of its container are asked of each. */
static bool has_labels(const struct asked *a, const struct film *film)
{
	for (size_t i = 0; i < a->ask->label_count; i++)
		if (!film_container_has_key(a->ask->labels[i]) &&
		    !film_labels_have(film->info.labels, a->ask->labels[i]))
			return false;
	return true;
}

/*
 * The time that a film covers: one that is being recorded has what was committed until it was
 * opened.
 */
static void note_time(const struct film *film, struct listed *listed, struct store_sum *sum)
{
	int64_t start, end;

	if (__builtin_add_overflow(film->info.start, film->info.wall_offset, &start) ||
	    __builtin_add_overflow(film->info.end, film->info.wall_offset, &end) || end < 0)
		return;
	listed->first = start < 0 ? 0 : (uint64_t)start;
	listed->last = (uint64_t)end;
	/*
	 * the recorder of a store's film that does not grow, but was not closed, was killed: there
	 * will be no more
	 */
	if (!film->is_open || (!listed->is_growing && !ask_is_single(listed->name)))
		return;
	if ((uint64_t)end < sum->complete_until)
		sum->complete_until = (uint64_t)end < sum->from ? sum->from : (uint64_t)end;
}

/* Those of an event, and those that are counted against none. */
static void add_losses(struct store_sum *sum, const struct film *film, uint32_t event)
{
	for (size_t i = 0; i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		if (loss->event && loss->event != event)
			continue;
		sum->lost = add_saturated(sum->lost, loss->count);
		if (loss->event && film_loss_kind(loss->reason) == FILM_LOSS_SAMPLE)
			sum->lost_samples = add_saturated(sum->lost_samples, loss->count);
	}
}

/* Notes which processes have their last state in a film. */
static int note_states(const struct asked *a, const struct ask_film *of, struct fail *why)
{
	struct film *film = of->film;
	uint64_t from, to, *last;
	int err = filter_span(&of->question->filter, &film->info, &from, &to, why);

	if (err)
		return err;
	last = level_last(film, of->event, from, to, why);
	if (!last)
		return -ENOMEM;
	for (uint32_t i = 1; !err && i < film->process_count; i++)
		if (last[i] && !map_put(a->seen, asked_process(a, of->host, film, i), 1))
			err = fail_errno(why, -ENOMEM, NULL, "cannot ask the films");
	free(last);
	return err;
}

static int ask_film(const struct asked *a, struct film *film, struct listed *listed,
		    struct store_sum *sum, int (*emit)(void *context, const struct ask_film *film),
		    void *context, struct fail *why)
{
	struct question question = a->ask->question ? *a->ask->question : (struct question){0};
	struct index_series_finder finder;
	struct chosen chosen = {.asked = a, .finder = &finder};
	struct ask_film of = {
		.film = film,
		.host = listed->host,
		.question = &question,
		.finder = &finder,
		.event = film_find_event(film, a->event_name),
		.is_limited = a->ask->services,
	};
	int err = 0;

	if (!of.event || !has_labels(a, film))
		return 0;
	listed->is_read = true;
	if (build_names_film(store_build_names(a->store), film))
		return fail_errno(why, -ENOMEM, NULL, "cannot ask the films");
	if (index_series_begin(&finder, a->index, film, listed->host, NULL))
		err = -ENOMEM;
	chosen.known = calloc(film->process_count + 1ull, 1);
	if (err || !chosen.known) {
		err = fail_errno(why, -ENOMEM, NULL, "cannot ask the films");
	} else {
		question.event = a->event_name;
		question.filter.from = (struct when){WHEN_DATE, a->from, "the time"};
		question.filter.to = (struct when){WHEN_DATE, a->to, "its end"};
		if (a->ask->service || a->ask->services || a->ask->version || a->ask->label_count ||
		    a->seen) {
			question.filter.keeps = keeps;
			question.filter.keeps_context = &chosen;
		}
		if (a->ask->services)
			hide_others(&chosen, film);
		sum->unit = a->unit;
		add_losses(sum, film, of.event);
		err = emit(context, &of);
		if (!err && a->seen)
			err = note_states(a, &of, why);
	}
	free(chosen.known);
	index_series_end(&finder);
	return err;
}

/*
 * So that the first n lie evenly in the list, for any n: by steps of the golden section, which
 * share no divisor with its length, and so favour no host. The last comes first.
 */
static int spread(struct film_list *list)
{
	size_t count = list->all.count, step = (size_t)((double)count * 0.6180339887) + 1;
	struct listed *copy;

	if (count < 3)
		return 0;
	while (gcd(step, count) != 1)
		step++;
	copy = malloc(count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, list->all.at, count * sizeof(*copy));
	for (size_t i = 0, from = count - 1; i < count; i++, from = (from + step) % count)
		list->all.at[i] = copy[from];
	free(copy);
	return 0;
}

/* By name where they begin together: so that it is the same each time. */
static int by_begin(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->first != y->first ? (x->first < y->first ? -1 : 1) : strcmp(x->name, y->name);
}

/* By their end: the answer is complete since the last end of those that are not read. */
static int newest_first(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->last != y->last ? (x->last > y->last ? -1 : 1) : by_begin(b, a);
}

static int put_in_order(const struct asked *a, struct film_list *list)
{
	if (list->all.count)
		qsort(list->all.at, list->all.count, sizeof(*list->all.at),
		      a->is_spread && !a->is_level ? by_begin : newest_first);
	return a->is_spread && !a->is_level ? spread(list) : 0;
}

/* It was not read: the answer lacks its time. */
static void leave_unread(const struct asked *a, const struct listed *film, struct store_sum *sum)
{
	uint64_t first = film->first, last = film->last;

	sum->films_unread++;
	first = first > sum->from ? first : sum->from;
	last = last < sum->to ? last + 1 : sum->to;
	if (a->is_spread && first < sum->complete_until)
		sum->complete_until = first;
	if (!a->is_spread && last > sum->complete_from)
		sum->complete_from = last;
	if (sum->complete_until < sum->complete_from)
		sum->complete_until = sum->complete_from;
}

/* The time of the samples that were read. */
static uint64_t filmed_of(const struct asked *a, struct film_list *list,
			  const struct store_sum *sum)
{
	struct filmed filmed = {.until = sum->from, .end = sum->to, .steps = a->steps};

	if (list->all.count)
		qsort(list->all.at, list->all.count, sizeof(*list->all.at), by_begin);
	vec_foreach (&list->all, film)
		if (film->is_read)
			filmed_add(&filmed, film->first, film->last);
	return filmed.sum;
}

/* Only the bucket has it, and it could not be read from there. */
static int leave_away(const struct asked *a, const struct listed *film, struct store_sum *sum)
{
	sum->films_unfetched++;
	leave_unread(a, film, sum);
	return 0;
}

/* Opens one of the list and asks it. */
static int open_listed(const struct asked *a, film_opener *open, const struct ask_away *away,
		       struct listed *listed, struct store_sum *sum,
		       int (*emit)(void *context, const struct ask_film *film), void *context,
		       struct fail *why)
{
	struct film *film = NULL;
	char path[PATH_MAX];
	int err = 0;

	if (!ask_away_path(a, away, listed->name, path))
		return leave_away(a, listed, sum);
	if (open(path, &film, NULL)) {
		/* it made room just now */
		if (ask_is_away(a, listed->name))
			return leave_away(a, listed, sum);
		/* before its first commit, one that grows is none yet */
		sum->films_damaged += !listed->is_growing;
	} else {
		err = ask_film(a, film, listed, sum, emit, context, why);
	}
	if (film)
		note_time(film, listed, sum);
	film_free(film);
	return err;
}

/*
 * What reading may take: CPU time, as on a machine that is overloaded a client would else get a
 * small part of what there is, after the same work; but no client waits for ever.
 */
struct budget {
	uint64_t cpu, wall; /* when it began */
	uint64_t most;
};

static struct budget begin_budget(const struct store_ask *ask)
{
	return (struct budget){clock_thread_ns(), clock_ns(),
			       ask->patience ? ask->patience : STORE_PATIENCE};
}

/* The next one takes about as long as the films before it did. */
static bool has_time(const struct budget *budget, size_t films)
{
	uint64_t cpu = clock_thread_ns() - budget->cpu, wall = clock_ns() - budget->wall;

	return !films || (cpu + cpu / films < budget->most &&
			  (wall + wall / films) / STORE_WAIT < budget->most);
}

int ask_films(const struct asked *whole, film_opener *open, struct store_sum *sum,
	      int (*emit)(void *context, const struct ask_film *film), void *context,
	      struct fail *why)
{
	struct asked asked = *whole;
	const struct asked *a = &asked;
	struct budget budget;
	struct film_list list = {0};
	struct ask_away away = {0};
	struct map seen = {0};
	size_t i = 0;
	int err;

	if (a->is_level && !a->each_state)
		asked.seen = &seen;
	/* of the films that are read in the end, not of all that the index knows */
	asked.steps = NULL;
	err = ask_away_begin(a, &away, why);
	pthread_rwlock_rdlock(&a->index->files);
	if (!err)
		err = list_films(a, &list, sum, why);
	if (!err && put_in_order(a, &list))
		err = fail_errno(why, -ENOMEM, NULL, "cannot ask the films");
	sum->from = sum->complete_from = a->from;
	sum->to = a->to;
	sum->complete_until = a->read_until;
	sum->by_films = true;
	budget = begin_budget(a->ask);
	while (!err && i < list.all.count && has_time(&budget, i)) {
		err = asked_still(a, why);
		if (!err)
			err = open_listed(a, open, &away, &list.all.at[i++], sum, emit, context,
					  why);
	}
	pthread_rwlock_unlock(&a->index->files);
	ask_away_end(a, &away);
	if (!err && (i < list.all.count || sum->films_unfetched))
		store_count_partial(a->store);
	if (err == ASK_ENOUGH)
		err = 0;
	for (; i < list.all.count; i++)
		leave_unread(a, &list.all.at[i], sum);
	/* how far they reach is known at the end */
	sum->filmed = filmed_of(whole, &list, sum);
	map_free(&seen);
	list_free(&list);
	return err;
}
