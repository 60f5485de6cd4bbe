// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "film_build.h"
#include "query/replay.h"

/* A film of calls in the making: times are in us since its start. */
struct maker {
	struct film_build b;
	uint32_t threads[3];
};

static void begin_film(struct maker *m)
{
	*m = (struct maker){0};
	film_build_begin(&m->b, "calls", "ns");
	m->threads[1] = film_build_thread(&m->b, 10, "server", 11, "one");
	m->threads[2] = film_build_thread(&m->b, 20, "client", 22, "two");
}

static void put_flags(struct maker *m, unsigned int thread, const char *name, unsigned int depth,
		      uint64_t start, uint64_t end, uint32_t flags)
{
	film_call(m->b.w, m->b.event,
		  &(struct film_call){.end = FILM_BUILD_START + end * 1000,
				      .duration = (end - start) * 1000,
				      .thread = m->threads[thread],
				      .frame = film_build_frame(&m->b, name),
				      .depth = (uint16_t)depth,
				      .flags = flags});
	if (FILM_BUILD_START + end * 1000 > m->b.end)
		m->b.end = FILM_BUILD_START + end * 1000;
}

static void put(struct maker *m, unsigned int thread, const char *name, unsigned int depth,
		uint64_t start, uint64_t end)
{
	put_flags(m, thread, name, depth, start, end, 0);
}

/* What was replayed, as text: "1:main( " begins, ")3us " ends; thread numbers where they change. */
struct story {
	struct film *film;
	struct buf text;
	uint64_t last;
	bool with_times, in_order;
};

static int tell(void *context, const struct call_event *event)
{
	struct story *s = context;
	char place[256];
	const char *name = replay_name(s->film, event->call->frame, place, sizeof(place));
	uint64_t us = (event->time - FILM_BUILD_START) / 1000;

	buf_printf(&s->text, "%u", s->film->threads[event->call->thread].tid % 10);
	if (!event->is_before)
		s->in_order &= event->time >= s->last;
	s->last = event->time > s->last ? event->time : s->last;
	if (event->kind == CALL_EVENT_BEGIN)
		buf_printf(&s->text, "%s%s(", event->is_before ? "…" : "", name);
	else if (event->kind == CALL_EVENT_END)
		buf_printf(&s->text, ")%s", name);
	else
		buf_printf(&s->text, "gap");
	if (s->with_times)
		buf_printf(&s->text, "@%u+%llu", event->level, (unsigned long long)us);
	if (event->kind == CALL_EVENT_END && event->is_beyond)
		buf_printf(&s->text, "…");
	else if (event->kind == CALL_EVENT_END)
		buf_printf(&s->text, "=%llu", (unsigned long long)event->duration);
	buf_printf(&s->text, " ");
	return 0;
}

/* The story of a film, to be freed. */
static char *story_of(struct film *film, const struct replay_question *q, bool with_times,
		      struct replay_sums *sums)
{
	struct story s = {.film = film, .with_times = with_times, .in_order = true};
	struct fail why = {0};
	struct replay_sums unused;

	buf_printf(&s.text, "%s", "");
	if (replay_film(film, q, tell, &s, sums ? sums : &unused, &why)) {
		fail_print(&why);
		fail_msg("no replay");
	}
	assert_true(s.in_order);
	buf_put_u8(&s.text, 0);
	assert_false(s.text.failed);
	return (char *)s.text.at;
}

static void tells(struct film *film, const struct replay_question *q, const char *wanted)
{
	char *text = story_of(film, q, false, NULL);

	assert_string_equal(text, wanted);
	free(text);
}

static void tells_all(struct film *film, const char *wanted)
{
	/* windows of any size tell the same */
	for (size_t window = 1; window < 10; window++)
		tells(film, &(struct replay_question){.window = window}, wanted);
	tells(film, &(struct replay_question){0}, wanted);
	film_free(film);
}

static void test_order_across_threads(void **state)
{
	struct maker m;

	(void)state;
	begin_film(&m);
	put(&m, 1, "a", 1, 2, 4);
	put(&m, 2, "x", 1, 3, 5);
	put(&m, 1, "b", 1, 6, 8);
	put(&m, 1, "main", 0, 1, 9);
	put(&m, 2, "work", 0, 0, 10);
	tells_all(film_build_open(&m.b),
		  "2work( 1main( 1a( 2x( 1)a=2000 2)x=2000 1b( 1)b=2000 1)main=8000 "
		  "2)work=10000 ");
}

/* Of equal times: a caller begins before and ends behind what it calls. */
static void test_equal_times(void **state)
{
	struct maker m;

	(void)state;
	begin_film(&m);
	put(&m, 1, "h", 2, 1, 5);
	put(&m, 1, "g", 1, 1, 5);
	put(&m, 1, "f", 0, 1, 5);
	put(&m, 1, "zero", 0, 5, 5);
	put(&m, 1, "next", 0, 5, 6);
	tells_all(film_build_open(&m.b), "1f( 1g( 1h( 1)h=4000 1)g=4000 1)f=4000 1zero( 1)zero=0 "
					 "1next( 1)next=1000 ");
}

static void test_recursion(void **state)
{
	struct maker m;

	(void)state;
	begin_film(&m);
	put(&m, 1, "f", 2, 3, 4);
	put(&m, 1, "f", 1, 2, 5);
	put(&m, 1, "f", 1, 6, 7);
	put(&m, 1, "f", 0, 1, 8);
	tells_all(film_build_open(&m.b), "1f( 1f( 1f( 1)f=1000 1)f=3000 1f( 1)f=1000 1)f=7000 ");
}

/* own is of each call; outer is of all that it is called by. */
static void test_cost_is_subtracted(void **state)
{
	struct film *film;
	struct maker m;

	(void)state;
	begin_film(&m);
	put(&m, 1, "leaf", 2, 3, 4);
	put(&m, 1, "leaf", 2, 5, 6);
	put(&m, 1, "mid", 1, 2, 7);
	put(&m, 1, "main", 0, 1, 10);
	put(&m, 1, "short", 0, 11, 11);
	film_probe(m.b.w, m.b.event,
		   &(struct film_probe){film_build_frame(&m.b, "leaf"), 100, 300});
	film_probe(m.b.w, m.b.event, &(struct film_probe){film_build_frame(&m.b, "mid"), 10, 30});
	film_probe(m.b.w, m.b.event, &(struct film_probe){film_build_frame(&m.b, "short"), 1, 3});
	film = film_build_open(&m.b);
	tells(film, &(struct replay_question){.raw = true},
	      "1main( 1mid( 1leaf( 1)leaf=1000 1leaf( 1)leaf=1000 1)mid=5000 1)main=9000 1short( "
	      "1)short=0 ");
	tells(film, &(struct replay_question){.filter.from = {WHEN_SINCE_START, 7000, "7us"}},
	      "1…main( 1…mid( 1)mid=4390 1)main=8370 1short( 1)short=0 ");
	tells_all(film, "1main( 1mid( 1leaf( 1)leaf=900 1leaf( 1)leaf=900 1)mid=4390 "
			"1)main=8370 1short( 1)short=0 ");
}

/* A caller that is not there leaves its level free. Where records were lost, that is reported. */
static void test_gaps(void **state)
{
	struct maker m;
	char *text;
	struct film *film;

	(void)state;
	begin_film(&m);
	put(&m, 1, "a", 1, 2, 3);
	put(&m, 1, "orphan", 2, 4, 5);
	put(&m, 1, "orphan", 2, 6, 7);
	put_flags(&m, 1, "b", 1, 10, 11, FILM_CALL_GAP);
	put_flags(&m, 1, "main", 0, 1, 20, FILM_CALL_GAP);
	put(&m, 2, "alone", 3, 30, 31);
	film = film_build_open(&m.b);
	text = story_of(film, &(struct replay_question){0}, true, NULL);
	assert_string_equal(text, "1main(@0+1 1a(@1+2 1)a@1+3=1000 1gap@2+4 1orphan(@2+4 "
				  "1)orphan@2+5=1000 1orphan(@2+6 1)orphan@2+7=1000 1gap@1+10 "
				  "1b(@1+10 1)b@1+11=1000 1gap@1+20 1)main@0+20=19000 "
				  "2alone(@3+30 2)alone@3+31=1000 ");
	free(text);
	for (size_t window = 1; window < 8; window++) {
		char *same =
			story_of(film, &(struct replay_question){.window = window}, true, NULL);

		text = story_of(film, &(struct replay_question){0}, true, NULL);
		assert_string_equal(same, text);
		free(same);
		free(text);
	}
	film_free(film);
}

/* Calls that cannot be nested are cut short, so that the replay still is a tree. */
static void test_overlaps(void **state)
{
	struct maker m;

	(void)state;
	begin_film(&m);
	put(&m, 1, "first", 0, 1, 5);
	put(&m, 1, "second", 0, 3, 8);
	put(&m, 1, "child", 1, 7, 9);
	tells_all(film_build_open(&m.b), "1first( 1)first=4000 1second( 1)second=5000 1child( "
					 "1)child=2000 ");
}

static void test_filters(void **state)
{
	struct replay_question q = {.min_time = 2000};
	struct replay_sums sums;
	struct film *film;
	struct maker m;
	char *text;

	(void)state;
	begin_film(&m);
	put(&m, 1, "std::sort(int*, int*)", 2, 3, 4);
	put(&m, 1, "mid", 1, 2, 7);
	put(&m, 2, "work", 0, 5, 8);
	put(&m, 1, "main", 0, 1, 10);
	film = film_build_open(&m.b);
	tells(film, &q, "1main( 1mid( 2work( 1)mid=5000 2)work=3000 1)main=9000 ");
	q = (struct replay_question){.max_depth = 1};
	tells(film, &q, "1main( 2work( 2)work=3000 1)main=9000 ");
	q = (struct replay_question){0};
	assert_int_equal(patterns_add(&q.functions, true, "std::*", NULL), 0);
	/* what stands alone stands at the edge */
	text = story_of(film, &q, true, &sums);
	assert_string_equal(text, "1std::sort(int*, int*)(@0+3 1)std::sort(int*, int*)@0+4=1000 ");
	free(text);
	assert_int_equal(sums.film_calls, 4);
	assert_int_equal(sums.told, 2);
	assert_int_equal(patterns_add(&q.functions, true, "re:^(work|mid)$", NULL), 0);
	assert_int_equal(patterns_add(&q.functions, false, "std::sort", NULL), 0);
	tells(film, &q, "1mid( 2work( 1)mid=5000 2)work=3000 ");
	replay_question_free(&q);
	assert_int_equal(patterns_add(&q.functions, false, "m*", NULL), 0);
	tells(film, &q, "1std::sort(int*, int*)( 1)std::sort(int*, int*)=1000 2work( 2)work=3000 ");
	replay_question_free(&q);
	assert_int_equal(patterns_add(&q.under, true, "mid", NULL), 0);
	tells(film, &q, "1mid( 1std::sort(int*, int*)( 1)std::sort(int*, int*)=1000 1)mid=5000 ");
	replay_question_free(&q);
	assert_true(vec_push(&q.filter.tids, 22));
	tells(film, &q, "2work( 2)work=3000 ");
	replay_question_free(&q);
	assert_true(vec_push(&q.filter.pids, 10));
	q.max_depth = 1;
	tells(film, &q, "1main( 1)main=9000 ");
	replay_question_free(&q);
	film_free(film);
}

/* What counts for sums is what is replayed: the same stacks. */
static void test_focus_and_ignore(void **state)
{
	struct replay_question q = {0};
	struct question shared = {0};
	struct film *film;
	struct maker m;

	(void)state;
	begin_film(&m);
	put(&m, 1, "leaf", 2, 2, 3);
	put(&m, 1, "mid", 1, 1, 4);
	put(&m, 1, "leaf", 1, 5, 6);
	put(&m, 1, "main", 0, 0, 9);
	film = film_build_open(&m.b);
	assert_int_equal(question_parse(&shared, QUESTION_FOCUS, "^mid$", NULL), 0);
	q.filter = shared.filter;
	tells(film, &q, "1mid( 1leaf( 1)leaf=1000 1)mid=3000 ");
	question_free(&shared);
	shared = (struct question){0};
	assert_int_equal(question_parse(&shared, QUESTION_IGNORE, "^mid$", NULL), 0);
	q.filter = shared.filter;
	tells(film, &q, "1main( 1leaf( 1)leaf=1000 1)main=9000 ");
	assert_int_equal(question_parse(&shared, QUESTION_FOCUS, "leaf", NULL), 0);
	q.filter = shared.filter;
	tells(film, &q, "1leaf( 1)leaf=1000 ");
	question_free(&shared);
	film_free(film);
}

static void test_bad_pattern(void **state)
{
	struct patterns patterns = {0};
	struct fail why = {0};

	(void)state;
	assert_int_not_equal(patterns_add(&patterns, true, "re:(", &why), 0);
	assert_non_null(strstr(why.what, "'(' is not a regular expression"));
	patterns_free(&patterns);
}

static void test_span(void **state)
{
	struct replay_question q = {.filter = {.from = {WHEN_SINCE_START, 4000, "4us"},
					       .to = {WHEN_SINCE_START, 8000, "8us"}}};
	struct film *film;
	struct maker m;

	(void)state;
	begin_film(&m);
	put(&m, 1, "before", 1, 2, 3);
	put(&m, 1, "in", 2, 5, 6);
	put(&m, 1, "ends", 1, 3, 7);
	put(&m, 1, "begins", 1, 7, 9);
	put(&m, 1, "main", 0, 1, 10);
	put(&m, 2, "all", 0, 0, 11);
	put(&m, 2, "later", 0, 12, 13);
	film = film_build_open(&m.b);
	for (q.window = 1; q.window < 8; q.window++)
		tells(film, &q,
		      "1…main( 1…ends( 1in( 1)in=1000 1)ends=4000 1begins( 2…all( "
		      "1)begins… 1)main… 2)all… ");
	film_free(film);
}

/* A thousand random calls, in small windows and in one: the same story, and a tree. */
static void test_windows_are_not_seen(void **state)
{
	struct maker m;
	struct film *film;
	char *whole, *text;
	size_t depth = 0;

	(void)state;
	begin_film(&m);
	for (unsigned int thread = 1; thread <= 2; thread++) {
		uint64_t now = thread, starts[6] = {0};
		unsigned int open = 0;

		for (uint64_t i = 0; i < 2000; i++) {
			uint64_t dice = hash_u64(i * 2 + thread);

			now += 1 + dice % 5;
			if (open < 6 && (open < 1 || dice >> 32 & 1)) {
				starts[open++] = now;
				continue;
			}
			open--;
			put_flags(&m, thread, dice >> 33 & 1 ? "f" : "g", open, starts[open], now,
				  dice >> 40 & 7 ? 0 : FILM_CALL_GAP);
		}
	}
	film_probe(m.b.w, m.b.event, &(struct film_probe){film_build_frame(&m.b, "f"), 100, 300});
	film = film_build_open(&m.b);
	whole = story_of(film, &(struct replay_question){0}, true, NULL);
	for (const char *at = whole; *at; at++) {
		depth += *at == '(';
		assert_true(*at != ')' || depth--);
	}
	assert_int_equal(depth, 0);
	for (size_t window = 1; window < 2000; window = window * 3 + 1) {
		text = story_of(film, &(struct replay_question){.window = window}, true, NULL);
		assert_string_equal(text, whole);
		free(text);
	}
	free(whole);
	film_free(film);
}

/* Whether the replay of each track is a tree. */
struct tree {
	uint32_t open[3][2][64]; /* frames, by thread and lane */
	unsigned int depth[3][2];
	uint64_t last, calls;
};

static int check_tree(void *context, const struct call_event *event)
{
	struct tree *t = context;
	const struct film_call *call = event->call;
	unsigned int *depth = &t->depth[call->thread][call->lane];
	uint32_t *open = t->open[call->thread][call->lane];

	assert_true(event->time >= t->last && event->start <= event->end);
	t->last = event->time;
	if (event->kind == CALL_EVENT_BEGIN) {
		assert_true(*depth < 64);
		open[(*depth)++] = call->frame;
	} else if (event->kind == CALL_EVENT_END) {
		assert_true(*depth);
		assert_int_equal(open[--*depth], call->frame);
		t->calls++;
	}
	return 0;
}

/* A film may claim anything: calls that overlap, gaps anywhere, depths that make no sense. */
static void test_nonsense(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct tree tree = {0};
		struct replay_sums sums;
		struct fail why = {0};
		struct film *film;
		struct maker m;

		begin_film(&m);
		for (uint64_t i = 0; i < 500; i++) {
			uint64_t dice = hash_u64(seed << 32 | i), end = 1000 + i + (dice & 7);
			struct film_call call = {
				.end = FILM_BUILD_START + end,
				.duration = dice >> 8 & 1 ? dice >> 9 & 7 : dice >> 9 & 511,
				.thread = m.threads[1 + (dice >> 20 & 1)],
				.lane = dice >> 21 & 1,
				.depth = dice >> 22 & 1 ? dice >> 23 & 3 : dice >> 23 & 31,
				.frame = film_build_frame(&m.b, dice >> 30 & 1 ? "f" : "g"),
				.flags = dice >> 31 & 7,
			};

			if (seed % 5 == 0 && i % 100 == 7)
				call.duration = UINT64_MAX - (dice & 1023);
			film_call(m.b.w, m.b.event, &call);
		}
		m.b.end += 10000;
		film_probe(m.b.w, m.b.event,
			   &(struct film_probe){film_build_frame(&m.b, "f"), 100, UINT32_MAX});
		film = film_build_open(&m.b);
		if (replay_film(film, &(struct replay_question){.window = 1 + seed * 20},
				check_tree, &tree, &sums, &why)) {
			fail_print(&why);
			fail_msg("no replay");
		}
		assert_true(sums.film_calls >= 495);
		assert_int_equal(tree.calls, sums.film_calls);
		assert_int_equal(sums.told, 2 * sums.film_calls);
		film_free(film);
	}
}

static void test_film_without_calls(void **state)
{
	struct film *film = film_build_small();
	struct replay_sums sums;
	struct fail why = {0};
	struct story s = {.film = film};

	(void)state;
	assert_true(replay_film(film, &(struct replay_question){0}, tell, &s, &sums, &why) < 0);
	assert_non_null(strstr(why.what, "no calls"));
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_across_threads),
		cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_cost_is_subtracted),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_focus_and_ignore),
		cmocka_unit_test(test_bad_pattern),
		cmocka_unit_test(test_span),
		cmocka_unit_test(test_windows_are_not_seen),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_film_without_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
