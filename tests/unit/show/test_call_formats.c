// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "exchange/chrome/writer.h"
#include "exchange/perfetto/writer.h"
#include "shown.h"

#define HEADING                                               \
	"calls, 100.000 us on host7, 2026-01-02 03:04:05\n"   \
	"total:  187.000 us in 5 calls (cpu-clock, 100 Hz)\n" \
	"callers: 5 known (100.0%)\n"                         \
	"lost:   nothing\n\n"

#define NOTES                                                               \
	"the tracer's own cost of 3.000 us is subtracted; --raw shows it\n" \
	"1 call: had not ended; counts in total, self and calls only\n"

#define SUMS_HEADING                                          \
	"calls, 100.000 us on host7, 2026-01-02 03:04:05\n"   \
	"total:  299.400 us in 7 calls (cpu-clock, 100 Hz)\n" \
	"lost:   nothing\n\n"

#define SUMS_NOTES                                                                          \
	"the tracer's own cost of 600 ns within the functions is subtracted, but not what " \
	"calls cost their callers; --raw shows the whole time\n"                            \
	"sums of --summary: quantiles (~) are known to a power of two\n"

/* clang-format off */
static void test_table(void **state)
{
	struct show_options options = {0};
	struct film *film = film_build_small_calls();

	(void)state;
	shows(film, "table", &options, HEADING
"      TOTAL        SELF       CALLS  FUNCTION          IMAGE\n"
"  97.000 us   48.200 us           1  main              server\n"
"  90.000 us   90.000 us           1  work              server\n"
"  48.800 us   18.900 us           2  parse             server\n"
"  29.900 us   29.900 us           1  read              libc\n"
	NOTES);
	assert_int_equal(show_parse_columns(&options, "calls,min,max,percent,on-cpu,p50", NULL), 0);
	assert_int_equal(show_parse_order(&options, "calls", NULL), 0);
	options.limit = 2;
	shows(film, "table", &options, HEADING
"      CALLS         MIN         MAX  TOTAL%      ON-CPU          P50  FUNCTION          IMAGE\n"
"          2    9.900 us   38.900 us  26.10%   28.800 us       9.9 us  parse             server\n"
"          1           -           -  48.13%   90.000 us            -  work              server\n"
"… 2 more with 41.76% of self; --limit 0 shows all\n"
	NOTES);
	film_free(film);
}

static void test_groups(void **state)
{
	struct film *film = film_build_small_calls();
	struct question q = {.is_raw = true};

	(void)state;
	q.shape.by_thread = true;
	shows_of(film, "table", &q, &(struct show_options){0},
"calls, 100.000 us on host7, 2026-01-02 03:04:05\n"
"total:  190.000 us in 5 calls (cpu-clock, 100 Hz)\n"
"callers: 5 known (100.0%)\n"
"lost:   nothing\n"
"\n"
"        Total  Total%     Calls  Process    Thread\n"
"   100.000 us  52.63%         4  app (100)  app (100)\n"
"    90.000 us  47.37%         1  app (100)  worker (101)\n"
"1 call: had not ended; counts in total, self and calls only\n");
	film_free(film);
}

static void test_trees(void **state)
{
	struct film *film = film_build_small_calls();

	(void)state;
	shows(film, "tree", &(struct show_options){0}, HEADING
" Total%   Self%         Total  Function\n"
"100.00%            187.000 us  all\n"
" 51.87%  25.78%     97.000 us  ├─ main  [server]\n"
" 26.10%  10.11%     48.800 us  │  parse  [server]\n"
" 15.99%  15.99%     29.900 us  │  read  [libc]\n"
" 48.13%  48.13%     90.000 us  └─ work  [server]\n"
	NOTES);
	shows(film, "folded", &(struct show_options){0},
"main 48200\n"
"main;parse 18900\n"
"main;parse;read 29900\n"
"work 90000\n");
	film_free(film);
}

static void test_histogram(void **state)
{
	struct show_options options = {.limit = 2, .order = FUNCTIONS_BY_CALLS};
	struct film *film = film_build_small_calls();

	(void)state;
	shows(film, "histogram", &options, HEADING
"parse  [server]: 2 calls, avg 24.400 us, p50 9.9 us, p99 38 us\n"
"  [  8.192 us,  16.384 us)           1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
"  [ 16.384 us,  32.768 us)           0 |                                                  |\n"
"  [ 32.768 us,  65.536 us)           1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
"\n"
"work  [server]: 1 call; 1 of unknown duration\n"
"\n… 2 more functions; --limit 0 shows all\n"
"\n"
	NOTES);
	film_free(film);
}

static void test_graph(void **state)
{
	struct film *film = film_build_small_calls();
	struct question q = {0};

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_FOCUS, "^parse$", NULL), 0);
	shows_of(film, "graph", &q, &(struct show_options){0},
"calls, 100.000 us on host7, 2026-01-02 03:04:05\n"
"total:  48.800 us in 3 calls (cpu-clock, 100 Hz)\n"
"callers: 3 known (100.0%)\n"
"lost (whole film): nothing\n"
"\n"
"      TOTAL       CALLS  FUNCTION, between its callers and its callees\n"
"\n"
"  48.800 us           2    <- main\n"
"  48.800 us           2  parse  [server]\n"
"  29.900 us           1    -> read\n"
"\n"
"the tracer's own cost of 1.200 us is subtracted; --raw shows it\n");
	question_free(&q);
	film_free(film);
}

static void test_sums(void **state)
{
	struct show_options options = {0};
	struct film *film = film_build_small_sums();

	(void)state;
	shows(film, "histogram", &options, SUMS_HEADING
"main  [server]: 1 call, avg 299.400 us, p50 ~299.400 us, p99 ~299.400 us\n"
"  [262.144 us, 524.288 us)           1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
"\n"
"parse  [server]: 6 calls, avg 23.233 us, p50 ~18.3 us, p99 ~31 us\n"
"  [  8.192 us,  16.384 us)           2 |@@@@@@@@@@@@@@@@@@@@@@@@@                         |\n"
"  [ 16.384 us,  32.768 us)           4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
"\n"
"bars are as measured, the tracer's own cost in them\n"
	SUMS_NOTES);
	assert_int_equal(show_parse_columns(&options, "total,self,calls,p50", NULL), 0);
	shows(film, "table", &options, SUMS_HEADING
"      TOTAL        SELF       CALLS          P50  FUNCTION          IMAGE\n"
" 299.400 us  160.000 us           1  ~299.400 us  main              server\n"
" 139.400 us  139.400 us           6     ~18.3 us  parse             server\n"
	SUMS_NOTES);
	film_free(film);
}
/* clang-format on */

static void test_json(void **state)
{
	struct film *film = film_build_small_calls(), *sums = film_build_small_sums();
	struct question q = {0};
	size_t size;
	char *text = shown(film, "json", &q, &(struct show_options){0}, &size);

	(void)state;
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(
		strstr(text, "\"calls\":{\"calls\":5,\"inferred\":0,\"open\":1,\"cut\":0,"
			     "\"subtracted\":3000,\"bounds\":0,\"raw\":false,\"summary\":false}"));
	assert_non_null(strstr(text, "\"functions\":[{\"name\":\"work\","));
	assert_non_null(strstr(text, "\"self\":90000,\"total\":90000,\"calls\":1,\"min\":null,"));
	assert_non_null(strstr(
		text, "\"self\":18900,\"total\":48800,\"calls\":2,\"min\":9900,\"max\":38900,"
		      "\"avg\":24400,\"p50\":9900,\"p99\":38400,\"error\":0,\"on_cpu\":28800,"
		      "\"inferred\":0,"
		      "\"unsure_total\":0,\"unsure_self\":0,"
		      "\"open\":0,\"cut\":0,\"clamped\":0,\"bound\":false}"));
	assert_non_null(strstr(text, "\"pid\":100,\"comm\":\"app\",\"command\":\"/usr/bin/server\","
				     "\"total\":187000}"));
	free(text);
	text = shown(sums, "json", &q, &(struct show_options){0}, &size);
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text, "\"summary\":true}"));
	assert_non_null(strstr(text, "\"processes\":[],"));
	assert_non_null(strstr(text, "\"clamped\":null,\"bound\":false}"));
	free(text);
	film_free(film);
	film_free(sums);
}

/*
 * Functions that are shorter than what tracing them costs: 0 ns that were not measured are no
 * secret.
 */
static void test_bounds(void **state)
{
	static const struct film_build_call calls[] = {
		{"tiny", 1, 1000, 1040},
		{"tiny", 1, 2000, 2140},
		{"leaf", 1, 3000, 3090},
		{"main", 0, 0, 100000},
	};
	struct question q = {0}, raw = {.is_raw = true};
	struct film_build b;
	struct film *film;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	film_build_calls(&b, film_build_thread(&b, 100, "app", 100, "app"), calls, 4);
	film_build_cost(&b, "tiny", 100, 1000);
	film_build_cost(&b, "leaf", 100, 1000);
	film = film_build_open(&b);
	text = shown(film, "table", &q, &(struct show_options){0}, &size);
	assert_non_null(strstr(text,
			       "\n2 functions are so short, at least below some callers, that "
			       "the tracer's cost is more than what was measured: 0 ns there "
			       "is a bound, not a measurement\n"));
	free(text);
	text = shown(film, "json", &q, &(struct show_options){0}, &size);
	assert_non_null(strstr(text, "\"bounds\":2,"));
	assert_non_null(strstr(text, "\"clamped\":1,\"bound\":true}"));
	assert_non_null(strstr(text, "\"clamped\":0,\"bound\":false}"));
	free(text);
	text = shown(film, "table", &raw, &(struct show_options){0}, &size);
	assert_null(strstr(text, "so short"));
	free(text);
	film_free(film);
}

/*
 * Calls of 10 ns, of which the tracer's cost is known to 50: neither is what they take in all known
 * better than to 50 for each.
 */
static void test_less_than_is_known(void **state)
{
	static const struct film_build_call calls[] = {
		{"tiny", 1, 1000, 1110},
		{"tiny", 1, 2000, 2110},
		{"main", 0, 0, 100000},
	};
	struct film_build b;
	struct film *film;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	film_build_calls(&b, film_build_thread(&b, 100, "app", 100, "app"), calls, 3);
	film_probe(b.w, b.event, &(struct film_probe){film_build_frame(&b, "tiny"), 100, 1000, 50});
	film = film_build_open(&b);
	text = shown(film, "table", &(struct question){0}, &(struct show_options){0}, &size);
	/* clang-format off */
	assert_non_null(strstr(text,
"    <100 ns     <100 ns           2  tiny "));
	assert_non_null(strstr(text,
"  98.000 us   97.980 us           1  main "));
	/* clang-format on */
	free(text);
	film_free(film);
}

/* Sums have bounds, too. */
static void test_bounds_of_sums(void **state)
{
	struct film_sum sum = {.calls = 3, .total = 250, .self = 250, .min = 50, .max = 110};
	struct film_build b;
	struct film *film;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	film_build_thread(&b, 100, "app", 100, "app");
	sum.frame = film_build_frame(&b, "tiny");
	sum.buckets[6] = 3;
	film_sum(b.w, b.event, FILM_BUILD_START, FILM_BUILD_START + 50000, &sum);
	film_build_cost(&b, "tiny", 100, 1000);
	film = film_build_open(&b);
	text = shown(film, "histogram", &(struct question){0}, &(struct show_options){0}, &size);
	assert_non_null(strstr(text, "\n1 function is so short,"));
	free(text);
	film_free(film);
}

/* Where the ends of some calls were not seen, times are bounds. */
static void test_unseen_ends(void **state)
{
	struct film_sum sum = {.calls = 4, .total = 400, .self = 100, .inferred = 1};
	struct film_build b;
	struct film *film;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	film_build_thread(&b, 100, "app", 100, "app");
	sum.frame = film_build_frame(&b, "unseen");
	film_sum(b.w, b.event, FILM_BUILD_START, FILM_BUILD_START + 50000, &sum);
	sum = (struct film_sum){.frame = film_build_frame(&b, "seen"), .calls = 1, .total = 350};
	film_sum(b.w, b.event, FILM_BUILD_START, FILM_BUILD_START + 50000, &sum);
	/* all functions by themselves took as long as the longest took in all */
	sum = (struct film_sum){
		.frame = film_build_frame(&b, "leaf"), .calls = 1, .total = 300, .self = 300};
	film_sum(b.w, b.event, FILM_BUILD_START, FILM_BUILD_START + 50000, &sum);
	film = film_build_open(&b);
	text = shown(film, "table", &(struct question){0}, &(struct show_options){0}, &size);
	/* clang-format off */
	assert_non_null(strstr(text,
"     350 ns        0 ns           1  seen "));
	assert_non_null(strstr(text,
"    <400 ns     <100 ns           4  unseen ? "));
	/* clang-format on */
	assert_true(strstr(text, "seen ") < strstr(text, "unseen "));
	assert_non_null(strstr(text, "\n1 call: the return was not seen;"));
	free(text);
	text = shown(film, "json", &(struct question){0}, &(struct show_options){0}, &size);
	assert_non_null(strstr(text, "\"inferred\":1,\"unsure_total\":100,\"unsure_self\":25,"));
	free(text);
	film_free(film);
}

static void test_diff(void **state)
{
	struct film *before = film_build_small_calls(), *now = film_build_small_sums();
	struct question q = {.is_raw = true};
	struct diff diff;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(diff_make(before, now, &q, &diff, NULL), 0);
	assert_int_equal(show_diff_table(&diff, &(struct show_options){0}, out), 0);
	assert_int_equal(show_diff_json(&diff, &(struct show_options){0}, out), 0);
	fclose(out);
	/* clang-format off */
	assert_non_null(strstr(text,
"   Self%   before   change    Total%   before   change       Calls     before  Function          Image\n"
"   0.00%   47.37%   -47.37     0.00%   47.37%   -47.37           0          1  work              server\n"
"  46.67%   10.53%   +36.14    46.67%   26.32%   +20.35           6          2  parse             server\n"));
	/* clang-format on */
	assert_non_null(strstr(text, "\"before_calls\":2,\"calls\":6,"));
	free(text);
	diff_free(&diff);
	film_free(before);
	film_free(now);
}

/* What a format cannot show is refused, with words. */
static void test_fits(void **state)
{
	struct film *films[] = {film_build_small(), film_build_small_calls(),
				film_build_small_sums()};
	static const struct {
		const char *format;
		bool fits[3];
	} rows[] = {
		{"table", {true, true, true}},	 {"json", {true, true, true}},
		{"tree", {true, true, false}},	 {"folded", {true, true, false}},
		{"svg", {true, true, false}},	 {"html", {true, true, false}},
		{"pprof", {true, true, false}},	 {"speedscope", {true, true, false}},
		{"graph", {false, true, false}}, {"histogram", {false, true, true}},
	};
	struct show_options none = {0}, of_calls = {.order = FUNCTIONS_BY_P99};
	struct question q = {0};

	(void)state;
	for (int film = 0; film < 3; film++) {
		struct report report;

		assert_int_equal(report_make(films[film], &q, false, &report, NULL), 0);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct show_format *format = show_format_find(rows[i].format);
			struct fail why = {0};
			int err = show_format_fits(format, &report.view, &none, &why);

			if (format->needs_page && !show_has_page())
				assert_int_equal(err, -ENOTSUP);
			else
				assert_int_equal(err, rows[i].fits[film] ? 0 : -EINVAL);
			assert_int_equal(!*why.what, !err);
		}
		assert_int_equal(
			show_format_fits(show_format_find("table"), &report.view, &of_calls, NULL),
			film ? 0 : -EINVAL);
		report_free(&report);
		film_free(films[film]);
	}
}

/*
 * Formats that show each call by itself: of what they do so, and what they say where they do not.
 */
static void test_stories(void **state)
{
	struct film *samples = film_build_small(), *calls = film_build_small_calls(),
		    *sums = film_build_small_sums(), *empty;
	const struct show_format *chrome = show_format_find("chrome");
	struct fail why = {0};
	struct film_build b;

	(void)state;
	assert_non_null(chrome);
	assert_ptr_equal(show_format_find("perfetto")->story, perfetto_write_calls);
	assert_ptr_equal(chrome->story, chrome_write_calls);
	assert_null(chrome->report);
	film_build_begin(&b, "calls", "ns");
	empty = film_build_open(&b);
	assert_int_equal(show_story_fits(chrome, calls, NULL, NULL), 0);
	assert_int_equal(show_story_fits(chrome, calls, "calls", NULL), 0);
	assert_int_equal(show_story_fits(chrome, empty, NULL, NULL), 0);
	assert_int_equal(show_story_fits(chrome, samples, NULL, &why), -EINVAL);
	assert_non_null(strstr(why.what, "format chrome shows calls, and the film has none"));
	assert_int_equal(show_story_fits(chrome, calls, "on-cpu", &why), -ENOENT);
	assert_non_null(strstr(why.what, "the film has no event 'on-cpu'"));
	assert_int_equal(show_story_fits(chrome, samples, samples->events[1].name, &why), -EINVAL);
	assert_non_null(strstr(why.what, "is not an event of calls"));
	assert_int_equal(show_story_fits(chrome, sums, NULL, &why), -EINVAL);
	assert_non_null(strstr(why.what, "it cannot be shown as chrome"));
	film_free(samples);
	film_free(calls);
	film_free(sums);
	film_free(empty);
}

static void test_names(void **state)
{
	const char *unknown;

	(void)state;
	assert_ptr_equal(show_format_find("flame-svg"), show_format_find("svg"));
	assert_ptr_equal(show_format_find("flame-html"), show_format_find("html"));
	assert_null(show_format_find("flame-json"));
	assert_ptr_equal(show_format_of_path("a.chrome.json", &unknown),
			 show_format_find("chrome"));
	assert_ptr_equal(show_format_of_path("a.json", &unknown), show_format_find("json"));
	assert_ptr_equal(show_format_of_path("a.pftrace", &unknown), show_format_find("perfetto"));
}

static void test_columns_and_orders(void **state)
{
	struct show_options options = {0};

	(void)state;
	assert_int_equal(show_parse_columns(&options, "all", NULL), 0);
	assert_int_equal(options.column_count, SHOW_COLUMNS);
	assert_int_equal(show_parse_columns(&options, "self,p99", NULL), 0);
	assert_int_equal(options.column_count, 2);
	assert_int_equal(options.columns[1], SHOW_P99);
	assert_int_equal(show_parse_columns(&options, "", NULL), -EINVAL);
	assert_int_equal(show_parse_columns(&options, "self,", NULL), -EINVAL);
	assert_int_equal(show_parse_columns(&options, "selfish", NULL), -EINVAL);
	assert_int_equal(show_parse_columns(&options,
					    "p50,p50,p50,p50,p50,p50,p50,p50,p50,p50,p50,p50,p50",
					    NULL),
			 -EINVAL);
	assert_int_equal(show_parse_order(&options, "avg", NULL), 0);
	assert_int_equal(options.order, FUNCTIONS_BY_AVERAGE);
	assert_int_equal(show_parse_order(&options, "p98", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	       cmocka_unit_test(test_groups),
		cmocka_unit_test(test_trees),	       cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_graph),	       cmocka_unit_test(test_sums),
		cmocka_unit_test(test_json),	       cmocka_unit_test(test_diff),
		cmocka_unit_test(test_fits),	       cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_bounds_of_sums), cmocka_unit_test(test_less_than_is_known),
		cmocka_unit_test(test_unseen_ends),    cmocka_unit_test(test_stories),
		cmocka_unit_test(test_names),	       cmocka_unit_test(test_columns_and_orders),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
