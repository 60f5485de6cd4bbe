// SPDX-License-Identifier: Apache-2.0
/* Lines of what threads write, in one piece or in several. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sources/logs/lines.h"
#include "sources/logs/text.h"

struct kept {
	vec(struct logs_line) lines; /* of which the texts are here: */
	vec(char *) texts;
};

static void take(void *context, const struct logs_line *line)
{
	struct kept *kept = context;
	char *text = strndup(line->text, line->bytes);

	assert_true(line->bytes <= FILM_LOG_MAX);
	assert_true(vec_push(&kept->lines, *line) && vec_push(&kept->texts, text));
}

static void forget(struct kept *kept)
{
	vec_foreach (&kept->texts, text)
		free(*text);
	vec_free(&kept->texts);
	vec_free(&kept->lines);
}

/* A call that wrote length bytes, of which those of text are here, behind offset others. */
static void write_part(struct logs_lines *lines, uint8_t kind, uint32_t tid, uint64_t time,
		       const char *text, size_t bytes, uint32_t length, uint32_t offset,
		       bool is_last)
{
	struct logs_record *record = calloc(1, sizeof(*record) + bytes + 1);

	record->head.time = time;
	record->head.size = (uint32_t)(sizeof(*record) + bytes);
	record->identity.tid = tid;
	record->file = 0x1000;
	record->kind = kind;
	record->is_whole = kind == LOGS_JOURNAL || kind == LOGS_SYSLOG;
	record->length = length;
	record->offset = offset;
	record->copied = (uint32_t)bytes;
	record->is_last = is_last;
	memcpy(record + 1, text, bytes);
	logs_lines_add(lines, record);
	free(record);
}

static void write_text(struct logs_lines *lines, uint8_t kind, uint32_t tid, uint64_t time,
		       const char *text)
{
	write_part(lines, kind, tid, time, text, strlen(text), (uint32_t)strlen(text), 0, true);
}

static void lines_are_joined_and_parted(void **state)
{
	struct kept kept = {0};
	const struct logs_lines_to to = {take, &kept};
	struct logs_lines *lines = logs_lines_new(&to);

	(void)state;
	write_text(lines, LOGS_OUTPUT, 1, 10, "one\ntwo\r\n\nthr");
	write_text(lines, LOGS_OUTPUT, 2, 20, "another thread\n");
	write_text(lines, LOGS_ERROR, 1, 30, "another file\n");
	write_text(lines, LOGS_OUTPUT, 1, 40, "ee\n");
	assert_int_equal(kept.lines.count, 5);
	assert_string_equal(kept.texts.at[0], "one");
	assert_string_equal(kept.texts.at[1], "two");
	assert_string_equal(kept.texts.at[2], "another thread");
	assert_int_equal(kept.lines.at[2].identity.tid, 2);
	assert_int_equal(kept.lines.at[3].kind, LOGS_ERROR);
	assert_string_equal(kept.texts.at[4], "three");
	assert_int_equal(kept.lines.at[4].time, 40);
	assert_int_equal(kept.lines.at[4].size, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(kept.lines.at[i].flags, 0);
	logs_lines_free(lines);
	forget(&kept);
}

static void what_has_no_end_is_given_later(void **state)
{
	struct kept kept = {0};
	const struct logs_lines_to to = {take, &kept};
	struct logs_lines *lines = logs_lines_new(&to);

	(void)state;
	write_text(lines, LOGS_FILE, 1, 100, "login: ");
	logs_lines_flush(lines, 99);
	assert_int_equal(kept.lines.count, 0);
	logs_lines_flush(lines, 100);
	assert_int_equal(kept.lines.count, 1);
	assert_string_equal(kept.texts.at[0], "login: ");
	assert_int_equal(kept.lines.at[0].flags, FILM_LOG_UNFINISHED);
	/* and only once */
	logs_lines_flush(lines, UINT64_MAX);
	assert_int_equal(kept.lines.count, 1);
	/* more of them than are open at once: the oldest are given */
	for (uint32_t tid = 1; tid <= 1030; tid++)
		write_text(lines, LOGS_FILE, tid, 1000 + tid, "x");
	assert_int_equal(kept.lines.count, 7);
	assert_int_equal(kept.lines.at[1].identity.tid, 1);
	logs_lines_free(lines);
	forget(&kept);
}

static void what_is_too_long_is_cut_and_counted(void **state)
{
	struct kept kept = {0};
	const struct logs_lines_to to = {take, &kept};
	struct logs_lines *lines = logs_lines_new(&to);
	char text[LOGS_COPY_MAX];

	(void)state;
	memset(text, 'a', sizeof(text));
	/* three pieces of a call, the last of which ends the line */
	for (uint32_t i = 0; i < 3; i++) {
		if (i == 2)
			text[sizeof(text) - 1] = '\n';
		write_part(lines, LOGS_OUTPUT, 1, 10, text, sizeof(text), 3 * LOGS_COPY_MAX,
			   i * LOGS_COPY_MAX, i == 2);
	}
	assert_int_equal(kept.lines.count, 1);
	assert_int_equal(kept.lines.at[0].bytes, FILM_LOG_MAX);
	assert_int_equal(kept.lines.at[0].size, 3 * LOGS_COPY_MAX - 1);
	assert_int_equal(kept.lines.at[0].flags, FILM_LOG_CUT);
	assert_int_equal(logs_lines_counts(lines).cut, 3 * LOGS_COPY_MAX - 1 - FILM_LOG_MAX);
	/* of a call of 1000 bytes only the first five could be read */
	write_part(lines, LOGS_OUTPUT, 1, 20, "ab\ncd", 5, 1000, 0, true);
	assert_int_equal(kept.lines.count, 3);
	assert_string_equal(kept.texts.at[2], "cd");
	assert_int_equal(kept.lines.at[2].flags, FILM_LOG_CUT | FILM_LOG_UNFINISHED);
	assert_int_equal(kept.lines.at[2].size, 997);
	assert_int_equal(logs_lines_counts(lines).unread, 995);
	logs_lines_free(lines);
	forget(&kept);
}

static void data_is_no_line(void **state)
{
	struct kept kept = {0};
	const struct logs_lines_to to = {take, &kept};
	struct logs_lines *lines = logs_lines_new(&to);

	(void)state;
	write_part(lines, LOGS_OUTPUT, 1, 10,
		   "\x7f"
		   "ELF\0\1\n",
		   7, 7, 0, true);
	write_part(lines, LOGS_OUTPUT, 1, 10, "", 0, 0, 0, true);
	logs_lines_flush(lines, UINT64_MAX);
	assert_int_equal(kept.lines.count, 0);
	assert_int_equal(logs_lines_counts(lines).data, 1);
	logs_lines_free(lines);
	forget(&kept);
}

static void messages_stand_by_themselves(void **state)
{
	static const char journal[] = "PRIORITY=3\nMESSAGE=it failed\nSECRET=x\n";
	static const char long_one[] = "MESSAGE\n\x0b\0\0\0\0\0\0\0two\nlines\n\n\nPRIORITY=6\n";
	struct kept kept = {0};
	const struct logs_lines_to to = {take, &kept};
	struct logs_lines *lines = logs_lines_new(&to);

	(void)state;
	write_part(lines, LOGS_JOURNAL, 1, 10, journal, sizeof(journal) - 1, sizeof(journal) - 1, 0,
		   true);
	write_part(lines, LOGS_JOURNAL, 1, 20, long_one, sizeof(long_one) - 1, sizeof(long_one) - 1,
		   0, true);
	write_text(lines, LOGS_SYSLOG, 1, 30, "<30>Nov 26 03:00:00 app[12]: hello\n");
	write_text(lines, LOGS_OUTPUT, 1, 40, "<4>with a level\n");
	write_text(lines, LOGS_OUTPUT, 1, 50, "<html>\n<>\n<12\n<1234>x\n");
	assert_int_equal(kept.lines.count, 8);
	assert_string_equal(kept.texts.at[0], "it failed");
	assert_int_equal(kept.lines.at[0].level, 4);
	assert_int_equal(kept.lines.at[0].size, 9);
	assert_string_equal(kept.texts.at[1], "two\nlines");
	assert_int_equal(kept.lines.at[1].level, 7);
	assert_string_equal(kept.texts.at[2], "Nov 26 03:00:00 app[12]: hello");
	assert_int_equal(kept.lines.at[2].level, 7);
	assert_string_equal(kept.texts.at[3], "with a level");
	assert_int_equal(kept.lines.at[3].level, 5);
	assert_string_equal(kept.texts.at[4], "<html>");
	assert_string_equal(kept.texts.at[7], "<1234>x");
	logs_lines_free(lines);
	forget(&kept);
}

static void nonsense_of_a_journal_is_no_line(void **state)
{
	static const char *const texts[] = {"",
					    "\n",
					    "MESSAGE",
					    "MESSAGE\n",
					    "MESSAGE\n1234567",
					    "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff",
					    "=\n=",
					    "PRIORITY=9\n",
					    "MESSAGE="};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t size = strlen(texts[i]);
		char *copy = malloc(size ? size : 1);
		struct logs_text text;

		memcpy(copy, texts[i], size);
		text = logs_text_journal(copy, size);
		assert_int_equal(text.size, 0);
		assert_int_equal(text.level, 0);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_joined_and_parted),
		cmocka_unit_test(what_has_no_end_is_given_later),
		cmocka_unit_test(what_is_too_long_is_cut_and_counted),
		cmocka_unit_test(data_is_no_line),
		cmocka_unit_test(messages_stand_by_themselves),
		cmocka_unit_test(nonsense_of_a_journal_is_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
