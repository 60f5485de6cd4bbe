// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "made_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "query/flame_prune.h"
#include "query/report.h"
#include "store/cache.h"
#include "store/marks.h"

struct store {
	struct index *index;
	struct build_names *names;
	unsigned int partial;
};

struct index *store_index(struct store *store)
{
	return index_share(store->index);
}

void store_count_partial(struct store *store)
{
	store->partial++;
}

unsigned int made_partial(const struct store *store)
{
	return store->partial;
}

struct fleet *store_fleet(const struct store *store)
{
	(void)store;
	return NULL;
}

uint64_t store_complete_until(struct store *store, const struct store_span *span)
{
	(void)store;
	return span->to;
}

uint32_t store_count_later(struct store *store, const char *host, uint64_t from, uint64_t to)
{
	(void)store;
	(void)host;
	(void)from;
	(void)to;
	return 0;
}

int store_each_growing(struct store *store, uint64_t before,
		       int (*emit)(void *context, const struct store_growing *film), void *context)
{
	(void)store;
	(void)before;
	(void)emit;
	(void)context;
	return 0;
}

/* No bucket has films of theirs. */
bool store_has_file(const struct store *store, const char *name)
{
	(void)store;
	(void)name;
	return true;
}

int store_fetch(struct store *store, const char *name, uint64_t deadline, struct fail *why)
{
	(void)store;
	(void)deadline;
	return fail(why, -ENXIO, NULL, "no bucket has %s", name);
}

void store_unfetch(struct store *store, const char *name)
{
	(void)store;
	(void)name;
}

int store_fetched_path(const struct store *store, const char *name, char *to, size_t size)
{
	(void)store;
	(void)name;
	(void)to;
	(void)size;
	return -ENXIO;
}

int store_each_mark(struct store *store, uint64_t from, uint64_t to,
		    int (*emit)(void *context, const struct store_mark *mark), void *context)
{
	(void)store;
	(void)from;
	(void)to;
	(void)emit;
	(void)context;
	return 0;
}

struct build_names *made_names;

struct build_names *store_build_names(struct store *store)
{
	return store->names;
}

struct store *made_store(struct index *index)
{
	static struct store store;

	store.index = index;
	store.names = made_names;
	return &store;
}

static void end_if(bool failed, const struct fail *why)
{
	if (!failed)
		return;
	fail_print(why);
	abort();
}

struct index *made_index(const char *path)
{
	struct index_options options = {.path = path, .folder = "/"};
	struct index *index = NULL;
	struct fail why = {0};

	end_if(index_open(&options, &index, &why), &why);
	return index;
}

void made_add(struct index *index, const struct made_film *made, const char *host)
{
	struct index_film of = {.name = made->path, .host = host};
	struct fail why = {0};

	end_if(index_add(index, &of, made->film, &why), &why);
}

/* A stack of random calls: outer ones are few, so that paths are shared. */
static void random_stack(unsigned int *seed, char *to, size_t size)
{
	static const char *const kinds[] = {"", "libc!", "k!", "py!", "jit!", "?", "?libc!"};
	int depth = rand_r(seed) % 12 + 1;
	size_t n = 0;

	if (rand_r(seed) % 20 == 0) {
		*to = 0;
		return;
	}
	if (rand_r(seed) % 10 == 0)
		n += (size_t)snprintf(to, size, "[truncated: unreadable memory];");
	for (int i = 0; i < depth; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%sf%d", i ? ";" : "",
				      kinds[rand_r(seed) % 7], rand_r(seed) % (2 + 2 * i));
	if (rand_r(seed) % 4 == 0)
		snprintf(to + n, size - n, ";libc!+%x", 0x1000 + 16 * (rand_r(seed) % 4));
}

struct made_film made_film(unsigned int seed, unsigned int samples, unsigned int minutes)
{
	struct made_film made = {0};
	struct film_build b;
	struct fail why = {0};
	uint32_t threads[6];

	film_build_begin(&b, "on-cpu", "ns");
	for (uint32_t i = 0; i < 6; i++) {
		static const char *const names[] = {"web", "db", "queue"};

		threads[i] = film_build_thread(&b, 10 + i / 2, names[i / 2], 100 + i, "worker");
	}
	for (unsigned int i = 0; i < samples; i++) {
		uint64_t ms = (uint64_t)i * minutes * 60000 / samples;
		uint32_t thread = threads[(unsigned int)rand_r(&seed) % 6];
		uint64_t value = (unsigned int)rand_r(&seed) % 1000;
		char stack[512];

		random_stack(&seed, stack, sizeof(stack));
		film_build_sample(&b, ms, thread, stack, value);
	}
	film_loss(b.w, b.event, "ring full", 7);
	film_loss(b.w, 0, "ring full", 2);
	end_if(film_close(b.w, b.end, &why), &why);
	memcpy(made.path, b.path, sizeof(made.path));
	end_if(film_open(made.path, &made.film, &why), &why);
	return made;
}

void made_film_free(struct made_film *made)
{
	film_free(made->film);
	unlink(made->path);
}

struct store_answer made_flame(struct index *index, const struct store_ask *ask)
{
	struct store_answer answer;
	struct fail why = {0};

	end_if(store_flame(made_store(index), ask, &answer, &why), &why);
	made_check(&answer);
	return answer;
}

void made_compare(struct index *index, const struct made_ask *asks, size_t count,
		  struct store_answer (*with)(struct index *other, const struct store_ask *ask),
		  struct index *other)
{
	for (size_t i = 0; i < count; i++) {
		struct store_ask ask = {
			.from = START + asks[i].from * MINUTE,
			.to = START + asks[i].to * MINUTE,
			.host = asks[i].host,
			.service = asks[i].service,
			/* all films are read, however busy the machine is */
			.patience = 100 * MINUTE,
		};
		struct store_answer a = made_flame(index, &ask), b = with(other, &ask);

		assert_false(a.sum.by_films);
		assert_int_equal(a.sum.from, ask.from);
		assert_int_equal(a.sum.to, ask.to);
		/* films know no hours of what they have lost */
		if (!b.sum.by_films)
			assert_int_equal(a.sum.lost, b.sum.lost);
		made_same(&a, &b);
		store_answer_free(&a);
		store_answer_free(&b);
	}
}

/*
 * The place of each child among its siblings can differ where totals are equal: nodes are compared
 * by name.
 */
static void same_nodes(const struct flame *a, uint32_t x, const struct flame *b, uint32_t y)
{
	const struct flame_node *m = &a->nodes[x], *n = &b->nodes[y];
	uint32_t children = 0, others = 0;

	assert_string_equal(m->name, n->name);
	assert_int_equal(m->kind, n->kind);
	assert_int_equal(m->guess, n->guess);
	assert_int_equal(m->inlined, n->inlined);
	assert_int_equal(m->self, n->self);
	assert_int_equal(m->total, n->total);
	for (uint32_t k = n->first_child; k; k = b->nodes[k].next_sibling)
		others++;
	for (uint32_t i = m->first_child; i; i = a->nodes[i].next_sibling, children++) {
		const struct flame_node *child = &a->nodes[i];
		uint32_t k = n->first_child;

		while (k && (strcmp(b->nodes[k].name, child->name) != 0 ||
			     strcmp(b->nodes[k].image, child->image) != 0 ||
			     b->nodes[k].kind != child->kind))
			k = b->nodes[k].next_sibling;
		if (!k)
			print_error("no %s below %s\n", child->name, m->name);
		assert_int_not_equal(k, 0);
		same_nodes(a, i, b, k);
	}
	assert_int_equal(children, others);
}

static void same_functions(const struct functions *a, const struct functions *b)
{
	const struct function **rows = functions_in_order(a, FUNCTIONS_BY_SELF);
	const struct function **others = functions_in_order(b, FUNCTIONS_BY_SELF);

	assert_non_null(rows);
	assert_non_null(others);
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct function *f = rows[i], *g = others[i];

		assert_string_equal(f->label->name, g->label->name);
		assert_int_equal(f->self[0], g->self[0]);
		assert_int_equal(f->total[0], g->total[0]);
		assert_int_equal(f->self[1], g->self[1]);
		assert_int_equal(f->total[1], g->total[1]);
		assert_int_equal(f->guess, g->guess);
	}
	free(rows);
	free(others);
}

void made_check(const struct store_answer *answer)
{
	struct flame sorted;
	uint32_t hidden;

	assert_int_equal(flame_prune(&answer->flame, answer->flame.count + FLAME_PRUNE_MIN, &sorted,
				     &hidden),
			 0);
	assert_int_equal(hidden, 0);
	answer_check(&sorted, &answer->functions);
	flame_free(&sorted);
}

void made_same_flame(const struct store_answer *a, const struct store_answer *b)
{
	assert_int_equal(a->sum.total, b->sum.total);
	assert_int_equal(a->flame.count, b->flame.count);
	same_nodes(&a->flame, 0, &b->flame, 0);
	same_functions(&a->functions, &b->functions);
}

void made_same(const struct store_answer *a, const struct store_answer *b)
{
	assert_int_equal(a->sum.samples, b->sum.samples);
	assert_int_equal(a->sum.truncated, b->sum.truncated);
	assert_int_equal(a->sum.guessed, b->sum.guessed);
	made_same_flame(a, b);
}

void made_same_as_report(const struct store_answer *a, struct film *film,
			 const struct question *question)
{
	struct report report;
	struct fail why = {0};

	end_if(report_make(film, question, false, &report, &why), &why);
	assert_int_equal(a->sum.samples, report.view.samples);
	assert_int_equal(a->sum.total, report.view.total);
	assert_int_equal(a->sum.truncated, report.view.stacks.truncated);
	assert_int_equal(a->sum.guessed, report.view.stacks.guessed);
	assert_int_equal(a->flame.count, report.flame.count);
	same_nodes(&a->flame, 0, &report.flame, 0);
	same_functions(&a->functions, &report.functions);
	report_free(&report);
}

struct store_answer made_by_films(struct index *index, const struct store_ask *ask)
{
	struct question question = ask->question ? *ask->question : (struct question){0};
	struct store_ask same = *ask;
	const char *all = "*";
	struct store_answer answer;

	question.filter.comms.at = &all;
	question.filter.comms.count = 1;
	same.question = &question;
	answer = made_flame(index, &same);
	assert_true(answer.sum.by_films);
	return answer;
}

void made_check_by_films(struct index *index)
{
	static const struct made_ask asks[] = {
		{0, 1000, NULL, NULL}, {0, 1000, NULL, "server"}, {0, 1000, "alpha", NULL},
		{3, 9, NULL, NULL},    {0, 1, "beta", NULL},	  {50, 190, NULL, NULL},
		{7, 70, NULL, NULL},   {60, 120, "alpha", NULL},  {500, 600, NULL, NULL},
	};

	made_compare(index, asks, sizeof(asks) / sizeof(asks[0]), made_by_films, index);
}
