// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "base/text.h"
#include "shown.h"

char *shown(struct film *film, const char *format, const struct question *q,
	    const struct show_options *options, size_t *size)
{
	const struct show_format *f = show_format_find(format);
	struct fail why = {0};
	struct report report;
	char *text = NULL;
	FILE *out;

	assert_non_null(f);
	if (f->needs_page && !show_has_page())
		skip();
	if (report_make(film, q, f->by_thread, &report, &why)) {
		fail_print(&why);
		fail_msg("no report");
	}
	out = open_memstream(&text, size);
	assert_int_equal(show_format_report(f, &report, options, out), 0);
	assert_int_equal(fclose(out), 0);
	report_free(&report);
	return text;
}

char *shown_diff(struct film *before, struct film *now, const char *format, size_t *size)
{
	struct question q = {0};
	struct diff diff;
	char *text = NULL;
	FILE *out;

	if (show_format_find(format)->needs_page && !show_has_page())
		skip();
	out = open_memstream(&text, size);
	assert_int_equal(diff_make(before, now, &q, &diff, NULL), 0);
	answer_check(&diff.flame, &diff.functions);
	assert_int_equal(show_format_diff(show_format_find(format), &diff,
					  &(struct show_options){.limit = 3}, out),
			 0);
	assert_int_equal(fclose(out), 0);
	diff_free(&diff);
	return text;
}

void shows_of(struct film *film, const char *format, const struct question *q,
	      const struct show_options *options, const char *wanted)
{
	size_t size;
	char *text = shown(film, format, q, options, &size);

	assert_string_equal(text, wanted);
	free(text);
}

void shows(struct film *film, const char *format, const struct show_options *options,
	   const char *wanted)
{
	shows_of(film, format, &(struct question){0}, options, wanted);
}

int judged(const char *command, const void *bytes, size_t size)
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

const char *const hostile_names[HOSTILE_NAMES] = {
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

struct film *hostile_film(void)
{
	struct film_build b;
	uint32_t thread;

	film_build_begin(&b, "on-cpu\033[1m", "ns");
	for (size_t i = 0; i < HOSTILE_NAMES; i++) {
		const char *name = hostile_names[i];
		uint32_t stack = film_stack(b.w, 0, film_build_raw_frame(&b, "main"), 0);

		thread = film_build_thread(&b, (uint32_t)i + 1, name, (uint32_t)i + 1, name);
		stack = film_stack(b.w, stack, film_build_raw_frame(&b, name), 0);
		film_sample(b.w, b.event, FILM_BUILD_START, thread, stack, i + 1);
		film_loss(b.w, 0, name, i + 1);
	}
	return film_build_open(&b);
}

struct film *hostile_calls(void)
{
	struct film_build b;

	film_build_begin(&b, "calls", "ns");
	for (uint32_t i = 0; i < HOSTILE_NAMES; i++) {
		const char *name = hostile_names[i];
		uint32_t thread = film_build_thread(&b, i + 1, name, i + 1, name);
		struct film_call call = {
			.end = FILM_BUILD_START + 1000 + i,
			.duration = 100,
			.thread = thread,
			.frame = film_build_raw_frame(&b, name),
			.depth = 1,
		};

		film_call(b.w, b.event, &call);
		call.end += 100;
		call.duration = 500;
		call.depth = 0;
		film_call(b.w, b.event, &call);
		film_loss(b.w, 0, name, i + 1);
	}
	b.end = FILM_BUILD_START + 2000;
	return film_build_open(&b);
}

void assert_harmless(const char *text, size_t size)
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
