// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* before cmocka.h, which has a macro fail() */
#include "answers.h"
#include "base/buf.h"
#include "base/text.h"
#include "film_build.h"
#include "show/show.h"
#include "show/words.h"

#include <cmocka.h>

/* What a format makes of a film; to be freed. */
static char *shown(struct film *film, const char *format, const struct question *q,
		   const struct show_options *options, size_t *size)
{
	const struct show_format *f = show_format_find(format);
	struct fail why = {0};
	struct report report;
	char *text = NULL;
	FILE *out;

	assert_non_null(f);
	if (report_make(film, q, f->by_thread, &report, &why)) {
		fail_print(&why);
		fail_msg("no report");
	}
	out = open_memstream(&text, size);
	assert_int_equal(f->report(&report, options, out), 0);
	assert_int_equal(fclose(out), 0);
	report_free(&report);
	return text;
}

static void shows_of(struct film *film, const char *format, const struct question *q,
		     const struct show_options *options, const char *wanted)
{
	size_t size;
	char *text = shown(film, format, q, options, &size);

	assert_string_equal(text, wanted);
	free(text);
}

static void shows(struct film *film, const char *format, const struct show_options *options,
		  const char *wanted)
{
	shows_of(film, format, &(struct question){0}, options, wanted);
}

/* Runs a command on some bytes; 0 if it said that all is well, -1 if it is not installed. */
static int judged(const char *command, const void *bytes, size_t size)
{
	char path[] = "/tmp/stackcam-test-XXXXXX", line[256];
	int fd = mkstemp(path), status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	snprintf(line, sizeof(line), command, path);
	status = system(line);
	unlink(path);
	return WEXITSTATUS(status) == 127 ? -1 : status;
}

#define HEADING                                                                                \
	"on-cpu, 600.000 ms on host7, 2026-01-02 03:04:05\n"                                   \
	"total:  51 ns in 7 samples (cpu-clock, 100 Hz)\n"                                     \
	"stacks: 5 complete (71.4%), 2 truncated (no stack 1, unreadable memory 1), 1 with a " \
	"guessed frame\n"                                                                      \
	"lost:   ring full 5\n\n"

static void test_table(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	/* clang-format off */
	shows(film, "table", &(struct show_options){0}, HEADING
"         Self   Self%         Total  Total%  Function                        Image\n"
"        27 ns  52.94%         27 ns  52.94%  memcpy                          libc\n"
"        10 ns  19.61%         10 ns  19.61%  read                            server\n"
"         5 ns   9.80%         15 ns  29.41%  parse                           server\n"
"         4 ns   7.84%          4 ns   7.84%  libc+0x1234                     libc\n"
"         3 ns   5.88%          3 ns   5.88%  sys_read                        [kernel]\n"
"         2 ns   3.92%          2 ns   3.92%  [unknown]\n"
"         0 ns   0.00%         42 ns  82.35%  main                            server\n"
"         0 ns   0.00%         27 ns  52.94%  work                            server\n"
"         0 ns   0.00%          4 ns   7.84%  db_main                         server\n"
"         0 ns   0.00%          3 ns   5.88%  [truncated: unreadable memory]\n"
"         0 ns   0.00%          3 ns   5.88%  helper ?                        server\n"
"? guessed: some samples came here by following a frame pointer\n");
	shows(film, "table", &(struct show_options){.limit = 1, .color = true, .width = 80}, HEADING
"\033[1m         Self   Self%         Total  Total%  Function          Image\033[0m\n"
"        27 ns  52.94%         27 ns  52.94%  memcpy            \033[2mlibc\033[0m\n"
"… 10 more with 47.06% of self; --limit 0 shows all\n");
	/* clang-format on */
	film_free(film);
}

static void test_table_of_groups(void **state)
{
	struct film *film = film_build_small();
	struct question q = {.shape.by_process = true};
	size_t size;
	char *text;

	(void)state;
	/* clang-format off */
	shows_of(film, "table", &q, &(struct show_options){0}, HEADING
"        Total  Total%   Samples  Process\n"
"        42 ns  82.35%         4  web (10)\n"
"         9 ns  17.65%         3  db (20)\n");
	q.shape.by_thread = true;
	shows_of(film, "table", &q, &(struct show_options){.limit = 2, .color = true}, HEADING
"\033[1m        Total  Total%   Samples  Process   Thread\033[0m\n"
"        27 ns  52.94%         2  web (10)  worker-1 (11)\n"
"        15 ns  29.41%         2  web (10)  web (10)\n"
"… 1 more with 17.65% of self; --limit 0 shows all\n");
	q.shape = (struct shape){.by_process = true, .by_image = true};
	shows_of(film, "table", &q, &(struct show_options){.width = 64}, HEADING
"         Self   Self%         Total  Total%  Process   Image\n"
"        27 ns  52.94%         27 ns  52.94%  web (10)  libc\n"
"        15 ns  29.41%         42 ns  82.35%  web (10)  server\n"
"         4 ns   7.84%          4 ns   7.84%  db (20)   libc\n"
"         3 ns   5.88%          3 ns   5.88%  db (20)   [kernel]\n"
"         2 ns   3.92%          2 ns   3.92%  db (20)   [unknown]\n"
"         0 ns   0.00%          7 ns  13.73%  db (20)   server\n"
"         0 ns   0.00%          3 ns   5.88%  db (20)   [truncat…\n");
	/* clang-format on */
	text = shown(film, "json", &q, &(struct show_options){0}, &size);
	assert_non_null(strstr(text, "\"groups\":[{\"pid\":10,\"process\":\"web\","
				     "\"image\":\"/usr/lib/libc\",\"self\":27,\"total\":27},"));
	free(text);
	q.shape = (struct shape){.by_thread = true};
	text = shown(film, "json", &q, &(struct show_options){0}, &size);
	assert_non_null(strstr(text, "\"groups\":[{\"pid\":10,\"process\":\"web\",\"tid\":11,"
				     "\"thread\":\"worker-1\",\"samples\":2,\"self\":27,"
				     "\"total\":27},"));
	free(text);
	film_free(film);
}

/* On a terminal no line is longer than that; elsewhere no name is, if so asked. */
static void test_widths(void **state)
{
	static const char name[] = "a_name_of_more_than_sixty_columns::that_does_not_fit_on_a_"
				   "terminal::«ümläut»::and_goes_on";
	struct show_options narrow = {.width = 80}, wide = {0}, pipe = {.name_width = 70};
	struct question q = {0};
	struct film_build b;
	struct film *film;
	uint32_t thread;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_sample(b.w, b.event, FILM_BUILD_START, thread,
		    film_stack(b.w, 0, film_build_raw_frame(&b, name), FILM_HOW_EXACT), 1);
	film = film_build_open(&b);
	text = shown(film, "table", &q, &wide, &size);
	assert_non_null(strstr(text, name));
	free(text);
	text = shown(film, "table", &q, &narrow, &size);
	assert_null(strstr(text, name));
	assert_non_null(strstr(text, "…"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, "a_name"))
			assert_true(words_width(line) <= 80);
	free(text);
	text = shown(film, "tree", &q, &narrow, &size);
	assert_null(strstr(text, name));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, "a_name"))
			assert_int_equal(words_width(line), 80);
	free(text);
	for (int i = 0; i < 2; i++) {
		text = shown(film, i ? "table" : "tree", &q, &pipe, &size);
		assert_null(strstr(text, name));
		assert_non_null(strstr(text, "  a_name_of_more_than_"));
		assert_non_null(strstr(text, "::and_goes_on  "));
		free(text);
	}
	text = shown(film, "folded", &q, &narrow, &size);
	assert_non_null(strstr(text, name));
	free(text);
	film_free(film);
}

static void test_tree(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	/* clang-format off */
	shows(film, "tree", &(struct show_options){0}, HEADING
" Total%   Self%         Total  Function\n"
"100.00%                 51 ns  all\n"
" 82.35%                 42 ns  ├─ main  [server]\n"
" 52.94%                 27 ns  │  ├─ work  [server]\n"
" 39.22%  39.22%         20 ns  │  │  ├─ memcpy  [libc]\n"
" 13.73%                  7 ns  │  │  └─ work  [server]\n"
" 13.73%  13.73%          7 ns  │  │     memcpy  [libc]\n"
" 29.41%   9.80%         15 ns  │  └─ parse  [server]\n"
" 19.61%  19.61%         10 ns  │     read  [server]\n"
"  7.84%                  4 ns  ├─ db_main  [server]\n"
"  7.84%   7.84%          4 ns  │  libc+0x1234  [libc]\n"
"  5.88%                  3 ns  ├─ [truncated: unreadable memory]\n"
"  5.88%                  3 ns  │  helper ?  [server]\n"
"  5.88%   5.88%          3 ns  │  sys_read  [kernel]\n"
"  3.92%   3.92%          2 ns  └─ [unknown]\n");
	shows(film, "tree", &(struct show_options){.min_percent = 15}, HEADING
" Total%   Self%         Total  Function\n"
"100.00%                 51 ns  all\n"
" 82.35%                 42 ns  ├─ main  [server]\n"
" 52.94%                 27 ns  │  ├─ work  [server]\n"
" 39.22%  39.22%         20 ns  │  │  ├─ memcpy  [libc]\n"
" 13.73%                  7 ns  │  │  └─ … 1 smaller\n"
" 29.41%   9.80%         15 ns  │  └─ parse  [server]\n"
" 19.61%  19.61%         10 ns  │     read  [server]\n"
" 17.65%                  9 ns  └─ … 3 smaller\n");
	shows(film, "tree", &(struct show_options){.min_percent = 100}, HEADING
" Total%   Self%         Total  Function\n"
"100.00%                 51 ns  all\n"
"100.00%                 51 ns  … 4 smaller\n");
	/* clang-format on */
	film_free(film);
}

static void test_folded(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	shows(film, "folded", &(struct show_options){0},
	      "main;work;memcpy 20\n"
	      "main;work;work;memcpy 7\n"
	      "main;parse 5\n"
	      "main;parse;read 10\n"
	      "db_main;libc+0x1234 4\n"
	      "[truncated: unreadable memory];helper;sys_read 3\n"
	      "[unknown] 2\n");
	film_free(film);
}

static void test_json(void **state)
{
	struct film *film = film_build_small();
	struct question q = {0};
	size_t size;
	char *text = shown(film, "json", &q, &(struct show_options){0}, &size);

	(void)state;
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text, "\"machine\":\"host7\""));
	assert_non_null(strstr(text, "\"start\":\"2026-01-02T03:04:05.000000000Z\""));
	assert_non_null(strstr(text, "\"end\":\"2026-01-02T03:04:05.600000000Z\""));
	assert_non_null(
		strstr(text, "\"event\":{\"name\":\"on-cpu\",\"unit\":\"ns\",\"total\":51,"));
	assert_non_null(strstr(text, "\"loss\":{\"ring full\":5}"));
	assert_non_null(strstr(text, "\"stacks\":{\"samples\":7,\"complete\":5,\"truncated\":2,"
				     "\"reasons\":{\"no stack\":1,\"unreadable memory\":1},"
				     "\"guessed\":1}"));
	assert_non_null(strstr(text, "\"functions\":[{\"name\":\"memcpy\","
				     "\"image\":\"/usr/lib/libc\",\"kind\":\"native\","
				     "\"guessed\":false,\"self\":27,\"total\":27},"));
	assert_non_null(strstr(text, "\"groups\":[]"));
	assert_non_null(strstr(text, "\"processes\":[{\"pid\":10,\"comm\":\"web\","
				     "\"command\":\"web\",\"total\":42},"));
	free(text);
	film_free(film);
}

static void test_speedscope(void **state)
{
	struct film *film = film_build_small();
	struct question q = {0};
	size_t size;
	char *text = shown(film, "speedscope", &q, &(struct show_options){0}, &size);

	(void)state;
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text, "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":51,"));
	assert_non_null(strstr(text, "\"weights\":[20,7,5,10,4,3,2]"));
	free(text);
	film_free(film);
}

/* What a pprof profile holds, as far as the tests want to know. */
struct profile {
	uint64_t sums[2], samples, locations, functions, strings;
	uint8_t has_location[64], used_location[64];
	char *text; /* all strings, a line each */
};

static struct bytes take_message(struct bytes *b)
{
	size_t size = bytes_varint(b);
	const uint8_t *at = bytes_take(b, size);

	assert_false(b->failed);
	return (struct bytes){at, at + size, false};
}

static void read_sample(struct bytes sample, struct profile *p)
{
	while (bytes_left(&sample)) {
		uint64_t tag = bytes_varint(&sample);
		struct bytes inner = take_message(&sample);

		for (int i = 0; tag >> 3 != 3 && bytes_left(&inner); i++) {
			uint64_t value = bytes_varint(&inner);

			if (tag >> 3 == 2)
				p->sums[i] += value;
			else
				p->used_location[value] = 1;
		}
	}
	p->samples++;
}

static void read_location(struct bytes location, struct profile *p)
{
	assert_int_equal(bytes_varint(&location), 1 << 3);
	p->has_location[bytes_varint(&location)] = 1;
	p->locations++;
}

static struct profile read_profile(struct bytes b)
{
	struct profile p = {0};
	size_t size;
	FILE *text = open_memstream(&p.text, &size);

	while (bytes_left(&b)) {
		uint64_t tag = bytes_varint(&b);
		struct bytes message;

		if (!(tag & 7)) {
			bytes_varint(&b);
			continue;
		}
		assert_int_equal(tag & 7, 2);
		message = take_message(&b);
		if (tag >> 3 == 2)
			read_sample(message, &p);
		else if (tag >> 3 == 4)
			read_location(message, &p);
		else if (tag >> 3 == 5)
			p.functions++;
		else if (tag >> 3 == 6) {
			assert_true(p.strings++ || !bytes_left(&message));
			fwrite(message.at, 1, bytes_left(&message), text);
			fputc('\n', text);
		}
	}
	assert_false(b.failed);
	fclose(text);
	return p;
}

/* Unpacks, in one go: the profiles here are small. */
static size_t gunzip(const void *packed, size_t size, uint8_t *to, size_t room)
{
	z_stream z = {.next_in = (void *)packed,
		      .avail_in = (uInt)size,
		      .next_out = to,
		      .avail_out = (uInt)room};

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
	return room - z.avail_out;
}

static void test_pprof(void **state)
{
	static uint8_t plain[1 << 20];
	struct film *film = film_build_small();
	struct question q = {0};
	struct profile p;
	size_t size;
	char *packed = shown(film, "pprof", &q, &(struct show_options){0}, &size);

	(void)state;
	size = gunzip(packed, size, plain, sizeof(plain));
	p = read_profile((struct bytes){plain, plain + size, false});
	assert_int_equal(p.samples, 7);
	assert_int_equal(p.sums[0], 7);
	assert_int_equal(p.sums[1], 51);
	for (int i = 0; i < 64; i++)
		assert_true(p.has_location[i] >= p.used_location[i]);
	assert_non_null(strstr(p.text, "\nmemcpy\n"));
	assert_non_null(strstr(p.text, "\nabcd\n"));
	assert_non_null(strstr(p.text, "\nlost: ring full 5\n"));
	assert_non_null(strstr(p.text, "\nworker-1\n"));
	free(p.text);
	free(packed);
	film_free(film);
}

/* Functions without a name: by where they begin. Their addresses stay, for whoever can name them. */
static void test_places(void **state)
{
	static const uint8_t address[] = {3 << 3, 0xb4, 0x24}; /* 0x1234 */
	static uint8_t plain[1 << 16];
	struct show_options options = {0};
	struct question q = {0};
	struct film_build b;
	struct film *film;
	struct profile p;
	uint32_t thread;
	size_t size;
	char *packed;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_build_sample(&b, 1, thread, "lib!+1234-1200;lib!+1345-1340", 1);
	film_build_sample(&b, 2, thread, "lib!+1238-1200;lib!+1346-1340", 2);
	film_build_sample(&b, 3, thread, "lib!+1238-1200;lib!+1400", 4);
	film = film_build_open(&b);
	shows(film, "folded", &options, "lib+0x1200;lib+0x1400 4\nlib+0x1200;lib+0x1340 3\n");
	packed = shown(film, "pprof", &q, &options, &size);
	size = gunzip(packed, size, plain, sizeof(plain));
	p = read_profile((struct bytes){plain, plain + size, false});
	assert_non_null(strstr(p.text, "\nlib+0x1200\n"));
	assert_non_null(strstr(p.text, "\nlib+0x1340\n"));
	assert_null(strstr(p.text, "1400"));
	assert_non_null(memmem(plain, size, address, sizeof(address)));
	/* beside these two, the words for stacks that are missing or too deep */
	assert_int_equal(p.functions, 4);
	assert_int_equal(p.locations, 5 + 2);
	free(p.text);
	free(packed);
	film_free(film);
}

/* pprof's own tool, where it is installed, must take it. */
static void test_pprof_tool(void **state)
{
	struct film *film = film_build_small();
	struct question q = {0};
	size_t size;
	char *packed = shown(film, "pprof", &q, &(struct show_options){0}, &size);
	int verdict = judged("command -v go >/dev/null || exit 127; "
			     "go tool pprof -top %s 2>&1 | grep -q '27ns 52.94%% *memcpy'",
			     packed, size);

	(void)state;
	free(packed);
	film_free(film);
	if (verdict < 0) {
		print_message("skipped: go, which has pprof, is not installed\n");
		skip();
	}
	assert_int_equal(verdict, 0);
}

static const char *const hostile_names[] = {
	"\033[31mred\033[0m\a",
	"a;b 999\nnext;line 777",
	"</script><script>alert(1)</script>",
	"\"><img src=x onerror=alert(1)>&amp;",
	"\xff\xfe invalid \xc3",
	"\xe2\x80\xaeright to left",
	"c1 \xc2\x9b[31m",
	"%s%n%d",
	"",
	"\\\"'`$(x)",
};

static struct film *hostile_film(void)
{
	struct film_build b;
	uint32_t thread;

	film_build_begin(&b, "on-cpu\033[1m", "ns");
	for (size_t i = 0; i < sizeof(hostile_names) / sizeof(hostile_names[0]); i++) {
		const char *name = hostile_names[i];
		uint32_t stack = film_stack(b.w, 0, film_build_raw_frame(&b, "main"), 0);

		thread = film_build_thread(&b, (uint32_t)i + 1, name, (uint32_t)i + 1, name);
		stack = film_stack(b.w, stack, film_build_raw_frame(&b, name), 0);
		film_sample(b.w, b.event, FILM_BUILD_START, thread, stack, i + 1);
		film_loss(b.w, 0, name, i + 1);
	}
	return film_build_open(&b);
}

/* Control characters, C1 codes, bytes that are no UTF-8, marks that turn the text around. */
static void assert_harmless(const char *text, size_t size)
{
	assert_int_equal(strlen(text), size);
	while (*text) {
		uint32_t point;
		size_t length = text_utf8(text, strlen(text), &point);

		assert_true(length);
		assert_true(point >= 0x20 || point == '\n');
		assert_true(point < 0x7f || point > 0x9f);
		assert_true(point < 0x202a || point > 0x202e);
		text += length;
	}
}

static void test_hostile_names(void **state)
{
	static const char *const formats[] = {"table", "tree", "folded", "svg", "html"};
	struct film *film = hostile_film();
	struct question q = {0};

	(void)state;
	q.shape.by_process = q.shape.by_thread = true;
	for (int i = 0; i < 5; i++) {
		size_t size;
		char *text = shown(film, formats[i], &q, &(struct show_options){0}, &size);

		assert_harmless(text, size);
		if (i >= 3) {
			assert_null(strstr(text, "<script>alert"));
			assert_null(strstr(text, "<img"));
		}
		free(text);
	}
	film_free(film);
}

static void test_hostile_names_in_folded(void **state)
{
	struct film *film = hostile_film();
	struct question q = {0};
	size_t size, lines = 0;
	char *text = shown(film, "folded", &q, &(struct show_options){0}, &size);
	uint64_t total = 0;

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		char *blank = strrchr(line, ' ');

		total += strtoull(blank + 1, NULL, 10);
		assert_true(!strncmp(line, "main;", 5));
		assert_null(strchr(line + 5, ';'));
	}
	assert_int_equal(lines, sizeof(hostile_names) / sizeof(hostile_names[0]));
	assert_int_equal(total, 55);
	free(text);
	film_free(film);
}

static void test_hostile_names_in_json(void **state)
{
	struct film *film = hostile_film();
	struct question q = {0};
	size_t size;
	char *text = shown(film, "json", &q, &(struct show_options){0}, &size);

	(void)state;
	q.shape.by_thread = true;
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	/* what is valid comes back as it was */
	assert_non_null(strstr(text, "\"a;b 999\\u000anext;line 777\""));
	free(text);
	text = shown(film, "speedscope", &q, &(struct show_options){0}, &size);
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_harmless(text, size);
	free(text);
	film_free(film);
}

static void test_hostile_names_in_pprof(void **state)
{
	static uint8_t plain[1 << 20];
	struct film *film = hostile_film();
	struct question q = {0};
	struct profile p;
	size_t size;
	char *packed = shown(film, "pprof", &q, &(struct show_options){0}, &size);

	(void)state;
	size = gunzip(packed, size, plain, sizeof(plain));
	p = read_profile((struct bytes){plain, plain + size, false});
	assert_int_equal(p.sums[1], 55);
	assert_harmless(p.text, strlen(p.text));
	free(p.text);
	free(packed);
	film_free(film);
}

static void test_empty_film(void **state)
{
	static const char *const formats[] = {"table", "tree",	"folded",     "svg",
					      "html",  "pprof", "speedscope", "json"};
	struct question q = {0};
	struct film_build b;
	struct film *film;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	film = film_build_open(&b);
	for (int i = 0; i < 8; i++) {
		size_t size;
		char *text = shown(film, formats[i], &q, &(struct show_options){0}, &size);

		assert_int_equal(!size, !strcmp(formats[i], "folded"));
		if (i >= 6)
			assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size),
					 0);
		free(text);
	}
	film_free(film);
}

static char *shown_diff(struct film *before, struct film *now, const char *format, size_t *size)
{
	struct question q = {0};
	struct diff diff;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_int_equal(diff_make(before, now, &q, &diff, NULL), 0);
	answer_check(&diff.flame, &diff.functions);
	assert_int_equal(
		show_format_find(format)->diff(&diff, &(struct show_options){.limit = 3}, out), 0);
	assert_int_equal(fclose(out), 0);
	diff_free(&diff);
	return text;
}

static void test_diffs(void **state)
{
	struct film *before = film_build_small(), *hostile = hostile_film(), *now;
	struct film_build b;
	uint32_t thread;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "web", 10, "web");
	film_build_sample(&b, 0, thread, "main;work;libc!memcpy", 51);
	film_build_sample(&b, 600, thread, "main;later", 51);
	now = film_build_open(&b);

	text = shown_diff(before, now, "table", &size);
	/* clang-format off */
	assert_non_null(strstr(text,
"   Self%   before   change    Total%   before   change  Function          Image\n"
"  50.00%    0.00%   +50.00    50.00%    0.00%   +50.00  later             server\n"
"   0.00%   19.61%   -19.61     0.00%   19.61%   -19.61  read              server\n"
"   0.00%    9.80%    -9.80     0.00%   29.41%   -29.41  parse             server\n"
"… 9 more"));
	/* clang-format on */
	free(text);

	text = shown_diff(before, now, "folded", &size);
	assert_non_null(strstr(text, "main;later 0 51\n"));
	assert_non_null(strstr(text, "main;parse;read 20 0\n"));
	free(text);

	text = shown_diff(before, now, "json", &size);
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text, "\"name\":\"later\",\"image\":\"/usr/bin/server\","
				     "\"kind\":\"native\",\"guessed\":false,\"before_self\":0,"
				     "\"before_total\":0,\"self\":51,\"total\":51,"
				     "\"self_change\":0.5,\"total_change\":0.5}"));
	free(text);

	for (int i = 0; i < 3; i++) {
		text = shown_diff(hostile, hostile, (const char *[]){"table", "svg", "html"}[i],
				  &size);
		assert_harmless(text, size);
		free(text);
	}
	film_free(before);
	film_free(hostile);
	film_free(now);
}

static void test_formats_of_names(void **state)
{
	static const char *const names[][3] = {
		{"x.svg", "svg"},	{"a/b.c/x.HTML", "html"},
		{"x.pb.gz", "pprof"},	{"x.pprof", "pprof"},
		{"x.json", "json"},	{"x.speedscope.json", "speedscope"},
		{"x.txt", "table"},	{"x.folded", "folded"},
		{"x", "table"},		{"a.b/x", "table"},
		{".x", "table"},	{"a/x.", "table"},
		{"x.y", "table", ".y"}, {"a/x.pb", "table", ".pb"},
	};
	const char *unknown;
	char list[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_string_equal(show_format_of_path(names[i][0], &unknown)->name, names[i][1]);
		assert_string_equal(unknown ? unknown : "", names[i][2] ? names[i][2] : "");
	}
	show_format_names(false, list, sizeof(list));
	assert_string_equal(list, "table, tree, folded, svg, html, pprof, speedscope, json");
	show_format_names(true, list, sizeof(list));
	assert_string_equal(list, "table, folded, svg, html, json");
	assert_null(show_format_find("SVG"));
	assert_null(show_format_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_of_groups),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_speedscope),
		cmocka_unit_test(test_pprof),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_pprof_tool),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_hostile_names_in_folded),
		cmocka_unit_test(test_hostile_names_in_json),
		cmocka_unit_test(test_hostile_names_in_pprof),
		cmocka_unit_test(test_empty_film),
		cmocka_unit_test(test_diffs),
		cmocka_unit_test(test_formats_of_names),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
