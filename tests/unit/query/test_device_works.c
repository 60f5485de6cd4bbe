// SPDX-License-Identifier: Apache-2.0
/* What a device ran while threads waited for one of its streams, or for all of them. */
#include "../prelude.h"

#include <stdio.h>
#include <string.h>

#include "film/events.h"
#include "film_build.h"
#include "query/device_works.h"

#define US   1000ull
#define FROM FILM_BUILD_START

static struct film_build build;
static uint32_t waits, lanes, waiter, launcher, other;

static void begin(void)
{
	build = (struct film_build){0};
	film_build_begin(&build, event_type(EVENT_GPU_WAIT)->name, "ns");
	waits = build.event;
	lanes = film_add_event(
		build.w, &(struct film_event){event_type(EVENT_GPU_LANES)->name, "count", "", 0});
	waiter = film_build_thread(&build, 10, "train", 10, "waiter");
	launcher = film_build_thread(&build, 10, "train", 11, "launcher");
	other = film_build_thread(&build, 20, "serve", 20, "serve");
	build.end = FROM + 1000 * US;
}

static void put_wait(uint64_t from, uint64_t to, const char *what)
{
	char stack[200];

	snprintf(stack, sizeof(stack), "main;%s", what);
	film_sample(build.w, waits, FROM + to * US, waiter, film_build_stack(&build, stack),
		    (to - from) * US);
}

/* The row of the wait that ends then: for a stream; UINT32_MAX: for all. */
static void put_stream(uint64_t to, uint32_t stream)
{
	const struct film_work row = {
		.end = FROM + to * US,
		.thread = waiter,
		.stream = stream == UINT32_MAX ? 0 : stream,
		.flags = FILM_WORK_WAIT | (stream == UINT32_MAX ? FILM_WORK_ALL_STREAMS : 0),
	};

	film_work(build.w, waits, &row);
}

static void put_work(uint32_t thread, uint32_t stream, uint64_t from, uint64_t to, const char *name,
		     uint32_t flags)
{
	const struct film_work row = {
		.end = FROM + to * US,
		.duration = (to - from) * US,
		.thread = thread,
		.name = film_build_raw_frame(&build, name),
		.stream = stream,
		.flags = flags,
	};

	film_work(build.w, lanes, &row);
}

struct told {
	const struct film *film;
	char words[500];
};

static int tell(void *context, const struct device_work *work)
{
	struct told *told = context;
	size_t used = strlen(told->words);

	snprintf(told->words + used, sizeof(told->words) - used, "%s%s%s %u %llu-%llu",
		 used ? "; " : "", work->is_copy ? "copy " : "",
		 told->film->functions[told->film->frames[work->name].function].name, work->stream,
		 (unsigned long long)((work->start - FROM) / US),
		 (unsigned long long)((work->end - FROM) / US));
	return 0;
}

static const char *ask(const struct device_works *works, uint32_t thread, uint64_t from,
		       uint64_t to)
{
	static struct told told;

	told = (struct told){.film = works->film};
	assert_int_equal(
		device_works_of_wait(works, thread, FROM + from * US, FROM + to * US, tell, &told),
		0);
	return told.words;
}

static void load(struct device_works *works, struct film **film)
{
	struct fail why = {0};

	*film = film_build_open(&build);
	assert_int_equal(device_works_load(works, *film, FROM, FROM + 1000 * US, &why), 0);
}

static void put_works(void)
{
	put_work(launcher, 5, 50, 150, "gemm", 0);
	put_work(launcher, 5, 150, 180, "reduce", 0);
	put_work(launcher, 5, 260, 280, "late", 0);
	put_work(launcher, 6, 100, 400, "beside", FILM_WORK_COPY);
	put_work(launcher, 6, 120, 130, "short", 0);
	/* of another process, and no work at all */
	put_work(other, 5, 100, 200, "foreign", 0);
	put_work(launcher, 5, 0, 1000, "", FILM_WORK_LOST);
}

static void a_wait_has_what_its_stream_ran(void **state)
{
	struct device_works works;
	struct film *film;

	(void)state;
	begin();
	put_works();
	put_wait(100, 200, "gemm on stream 5");
	put_wait(250, 300, "[no work recorded] on any stream");
	put_wait(400, 500, "[an event of a stream that is not known]");
	put_wait(600, 700, "gemm on stream 5");
	load(&works, &film);
	assert_string_equal(ask(&works, waiter, 100, 200), "gemm 5 100-150; reduce 5 150-180");
	/* a slice within the wait, and one that the wait has more than half of */
	assert_string_equal(ask(&works, waiter, 120, 160), "gemm 5 120-150; reduce 5 150-160");
	assert_string_equal(ask(&works, waiter, 80, 160), "gemm 5 80-150; reduce 5 150-160");
	/* one that began long before, behind one that has ended */
	assert_string_equal(ask(&works, waiter, 250, 300), "late 5 260-280; copy beside 6 250-300");
	/* none is guessed, and nothing ran */
	assert_string_equal(ask(&works, waiter, 400, 500), "");
	assert_string_equal(ask(&works, waiter, 600, 700), "");
	/* of other threads, and without a wait */
	assert_string_equal(ask(&works, launcher, 100, 200), "");
	assert_string_equal(ask(&works, waiter, 200, 250), "");
	device_works_free(&works);
	film_free(film);
}

static uint64_t key(const struct device_works *works, uint64_t from, uint64_t to)
{
	return device_works_key(works, waiter, FROM + from * US, FROM + to * US);
}

static void waits_for_one_stream_have_one_key(void **state)
{
	struct device_works works;
	struct film *film;

	(void)state;
	begin();
	put_works();
	put_wait(0, 100, "gemm on stream 5");
	put_wait(100, 200, "[no work recorded] on stream 5");
	put_wait(200, 300, "gemm on stream 6");
	put_wait(300, 400, "gemm on any stream");
	put_wait(400, 500, "gemm");
	load(&works, &film);
	assert_int_not_equal(key(&works, 0, 100), 0);
	assert_int_equal(key(&works, 0, 100), key(&works, 100, 200));
	assert_int_not_equal(key(&works, 0, 100), key(&works, 200, 300));
	assert_int_not_equal(key(&works, 300, 400), 0);
	assert_int_not_equal(key(&works, 0, 100), key(&works, 300, 400));
	assert_int_equal(key(&works, 400, 500), 0);
	assert_int_equal(key(&works, 500, 600), 0);
	device_works_free(&works);
	film_free(film);
}

/* A program calls its kernels as it likes. */
static void names_of_kernels_may_look_like_streams(void **state)
{
	static const char *const none[] = {
		"x on stream ",
		"x on stream 5 ",
		"x on stream -5",
		"x on stream 4294967296",
		"x on stream +5",
		"on stream 5",
		"x on stream 5 on stream",
		"x on any stream of 5",
	};
	struct device_works works;
	struct film *film;

	(void)state;
	begin();
	put_works();
	put_wait(0, 40, "x on any stream on stream 9");
	put_wait(100, 140, "x on stream 9 on stream 5");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		put_wait(200 + i * 50, 250 + i * 50, none[i]);
	load(&works, &film);
	assert_string_equal(ask(&works, waiter, 0, 40), "");
	assert_string_equal(ask(&works, waiter, 100, 140), "gemm 5 100-140");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(key(&works, 200 + i * 50, 250 + i * 50), 0);
	device_works_free(&works);
	film_free(film);
}

static void a_film_without_one_of_them_has_none(void **state)
{
	struct device_works works;
	struct film *film;

	(void)state;
	begin();
	put_works();
	load(&works, &film);
	assert_int_equal(works.all.count, 0);
	assert_string_equal(ask(&works, waiter, 100, 200), "");
	device_works_free(&works);
	film_free(film);
}

static void rows_of_waits_come_before_words(void **state)
{
	struct device_works works;
	struct film *film;

	(void)state;
	begin();
	put_works();
	put_wait(100, 200, "x on stream 6");
	put_stream(200, 5);
	put_wait(250, 300, "x on stream 5");
	put_stream(300, UINT32_MAX);
	/* the row of another wait */
	put_wait(310, 390, "gemm on stream 6");
	put_stream(391, 5);
	load(&works, &film);
	assert_string_equal(ask(&works, waiter, 100, 200), "gemm 5 100-150; reduce 5 150-180");
	assert_string_equal(ask(&works, waiter, 250, 300), "late 5 260-280; copy beside 6 250-300");
	assert_string_equal(ask(&works, waiter, 310, 390), "copy beside 6 310-390");
	assert_int_equal(works.all.count, 5 + 1);
	device_works_free(&works);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_has_what_its_stream_ran),
		cmocka_unit_test(waits_for_one_stream_have_one_key),
		cmocka_unit_test(names_of_kernels_may_look_like_streams),
		cmocka_unit_test(a_film_without_one_of_them_has_none),
		cmocka_unit_test(rows_of_waits_come_before_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
