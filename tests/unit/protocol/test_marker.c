// SPDX-License-Identifier: Apache-2.0
/* Lines written to /dev/null: those that are markers, and all that are not. */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/marker.h"

/* Reads one line out of memory of just its size. */
static enum marker_verb read_bytes(const char *text, size_t size, struct marker *marker)
{
	char *copy = malloc(size + !size);
	const char *at = copy;
	enum marker_verb verb;

	memcpy(copy, text, size);
	verb = marker_read(&at, copy + size, marker);
	if (verb != MARKER_OVER) {
		struct marker more;

		assert_int_equal(marker_read(&at, copy + size, &more), MARKER_OVER);
	}
	free(copy);
	return verb;
}

static enum marker_verb read_text(const char *text, struct marker *marker)
{
	return read_bytes(text, strlen(text), marker);
}

static void test_what_lines_say(void **state)
{
	static const struct {
		const char *line;
		enum marker_verb verb;
		const char *id, *parent, *endpoint;
		uint32_t status;
		bool failed;
	} cases[] = {
		{"stackcam: begin id=ORDER-17", MARKER_BEGIN, "ORDER-17", "", "", 0, false},
		{"stackcam: begin id=ORDER-17 endpoint=\"POST /orders\"\n", MARKER_BEGIN,
		 "ORDER-17", "", "POST /orders", 0, false},
		{"stackcam:   begin\tendpoint=import  parent=\"a b\" id=7 \r\n", MARKER_BEGIN, "7",
		 "a b", "import", 0, false},
		{"stackcam: begin id=\"say \\\"\\\\\\\" =\" later=\"x y\"", MARKER_BEGIN,
		 "say \"\\\" =", "", "", 0, false},
		{"stackcam: begin id=a=b\"c", MARKER_BEGIN, "a=b\"c", "", "", 0, false},
		{"stackcam: begin id=\x01\x1b[2Jx\x7f", MARKER_BEGIN, "??[2Jx?", "", "", 0, false},
		{"\n\n stackcam: end id=1 status=ok\n\n", MARKER_END, "1", "", "", 0, false},
		{"stackcam: end id=1 status=failed", MARKER_END, "1", "", "", 0, true},
		{"stackcam: end id=1 status=0", MARKER_END, "1", "", "", 0, false},
		{"stackcam: end id=1 status=137", MARKER_END, "1", "", "", 137, true},
		{"stackcam: end id=1", MARKER_END, "1", "", "", 0, false},
	};
	struct marker marker;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_text(cases[i].line, &marker), cases[i].verb);
		assert_string_equal(marker.id, cases[i].id);
		assert_string_equal(marker.parent, cases[i].parent);
		assert_string_equal(marker.endpoint, cases[i].endpoint);
		assert_int_equal(marker.status, cases[i].status);
		assert_int_equal(marker.failed, cases[i].failed);
	}
}

static void test_what_is_no_marker(void **state)
{
	static const char *const lines[] = {
		"stackcam",
		"stackcam:",
		"stackcam: ",
		"stackcam: begin",
		"stackcam: begin endpoint=a",
		"stackcam: begin id",
		"stackcam: begin id=",
		"stackcam: begin id=\"\"",
		"stackcam: begin id=\"a",
		"stackcam: begin id=\"a\\",
		"stackcam: begin id=\"a\\\"",
		"stackcam: begin id=\"a\"b",
		"stackcam: begin id=a id=b",
		"stackcam: begin id=a =b",
		"stackcam: begin id=a b",
		"stackcam: beginid=a",
		"stackcam: start id=a",
		"stackcam: end id=a status=fine",
		"stackcam: end id=a status=-1",
		"stackcam: end id=a status=1234567",
		"stackcam: end id=a status=1x",
		"stackcam:begin id=a",
		" not stackcam: begin id=a",
		"STACKCAM: begin id=a",
	};
	static const char zero[] = "stackcam: begin id=a\0b";
	char text[512] = "stackcam: begin id=";
	struct marker marker;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(read_text(lines[i], &marker), MARKER_STRANGE);
	assert_int_equal(read_bytes(zero, sizeof(zero) - 1, &marker), MARKER_STRANGE);
	assert_int_equal(read_text("", &marker), MARKER_OVER);
	assert_int_equal(read_text(" \n\r\n\t", &marker), MARKER_OVER);
	/* the longest id, and one that is longer, which must not be taken for its beginning */
	memset(text + 19, 'x', MARKER_VALUE_MAX - 1);
	assert_int_equal(read_text(text, &marker), MARKER_BEGIN);
	assert_int_equal(strlen(marker.id), MARKER_VALUE_MAX - 1);
	text[19 + MARKER_VALUE_MAX - 1] = 'y';
	assert_int_equal(read_text(text, &marker), MARKER_STRANGE);
	text[18] = '=';
	text[19] = '"';
	text[19 + MARKER_VALUE_MAX] = 'z';
	text[19 + MARKER_VALUE_MAX + 1] = '"';
	assert_int_equal(read_text(text, &marker), MARKER_STRANGE);
}

static void test_several_lines(void **state)
{
	static const char text[] = "stackcam: end id=1\nother words\n\nstackcam: begin id=2\nstack";
	const char *at = text, *end = text + sizeof(text) - 1;
	struct marker marker;

	(void)state;
	assert_int_equal(marker_read(&at, end, &marker), MARKER_END);
	assert_int_equal(marker_read(&at, end, &marker), MARKER_STRANGE);
	assert_int_equal(marker_read(&at, end, &marker), MARKER_BEGIN);
	assert_string_equal(marker.id, "2");
	assert_int_equal(marker_read(&at, end, &marker), MARKER_STRANGE);
	assert_int_equal(marker_read(&at, end, &marker), MARKER_OVER);
}

/* However a line is cut, nothing is read behind it, and no other id is found in it. */
static void test_cut_lines(void **state)
{
	static const char line[] =
		"stackcam: begin id=\"o \\\"1\" endpoint=\"POST /orders\" parent=p";
	struct marker marker;

	(void)state;
	for (size_t size = 1; size < sizeof(line); size++)
		if (read_bytes(line, size, &marker) == MARKER_BEGIN)
			assert_string_equal(marker.id, "o \"1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_lines_say),
		cmocka_unit_test(test_what_is_no_marker),
		cmocka_unit_test(test_several_lines),
		cmocka_unit_test(test_cut_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
