// SPDX-License-Identifier: Apache-2.0
/* Marks that clients send: kept through crashes, bounded, and gone with the films of their time. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kept_store.h"
#include "store/marks.h"

#define HOSTILE "%41 a%b \xc3\xbc\xff \"<'\\"

static int send(struct store *store, uint64_t seconds, const char *text)
{
	struct store_mark mark = {.time = seconds * SECOND,
				  .host = "",
				  .service = "shop",
				  .version = "1 2",
				  .text = text};

	return store_mark(store, &mark, NULL);
}

struct walk {
	unsigned int count;
	uint64_t last;
	char texts[256];
};

static int take(void *context, const struct store_mark *mark)
{
	struct walk *walk = context;
	size_t length = strlen(walk->texts);

	assert_true(mark->time >= walk->last);
	assert_string_equal(mark->host, "");
	assert_string_equal(mark->service, "shop");
	assert_string_equal(mark->version, "1 2");
	walk->last = mark->time;
	walk->count++;
	if (length < sizeof(walk->texts) / 2)
		snprintf(walk->texts + length, sizeof(walk->texts) - length, "%s|", mark->text);
	return 0;
}

static struct walk marks(struct store *store)
{
	struct walk walk = {0};

	assert_int_equal(store_each_mark(store, 0, UINT64_MAX, take, &walk), 0);
	return walk;
}

static void append(const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/marks", store_path);
	file = fopen(path, "ae");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void keep_words(void *context, const char *words)
{
	snprintf(context, 512, "%s", words);
}

static void test_kept(void **state)
{
	char words[512] = "";
	const struct store_options options = {
		.path = store_path, .log = keep_words, .context = words};
	struct store *store = open_store(0, 0);

	(void)state;
	assert_int_equal(send(store, BEGIN + 5, HOSTILE), 0);
	assert_int_equal(send(store, BEGIN + 3, "early"), 0);
	assert_string_equal(marks(store).texts, "early|" HOSTILE "|");
	store_free(store);
	/* what a crash has cut, and what is not a mark, is none; what comes behind it is one */
	append("12 % shop 1%202 %G0 .\nx % shop 1%202 y .\n17 % shop .\n12 % shop 1%202 cu");
	assert_int_equal(store_open(&options, &store, NULL), 0);
	assert_non_null(strstr(words, "/marks: 4 lines are not marks"));
	assert_string_equal(marks(store).texts, "early|" HOSTILE "|");
	assert_int_equal(send(store, BEGIN + 9, ""), 0);
	store_free(store);
	store = open_store(0, 0);
	assert_string_equal(marks(store).texts, "early|" HOSTILE "||");
	store_free(store);
}

static void test_refused(void **state)
{
	struct store *store = open_store(0, 0);
	char text[STORE_MARK_TEXT_MAX + 2];

	(void)state;
	assert_int_equal(send(store, BEGIN, "a\nb"), -EINVAL);
	assert_int_equal(send(store, BEGIN, "\x7f"), -EINVAL);
	assert_int_equal(send(store, BEGIN + 1000ull * 365 * 24 * 3600 / 4, "far ahead"), -EINVAL);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(send(store, BEGIN, text), -EINVAL);
	text[sizeof(text) - 2] = 0;
	assert_int_equal(send(store, BEGIN, text), 0);
	assert_int_equal(marks(store).count, 1);
	store_free(store);
}

static void test_go_with_films(void **state)
{
	struct store *store = open_store(0, 10 * HOUR);
	bool again;

	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(send_film(store, "web7", "a", i + 1, BEGIN + i * 18000, &again),
				 0);
	assert_int_equal(send(store, BEGIN + 10, "first"), 0);
	assert_int_equal(send(store, BEGIN + 18000, "second"), 0);
	tick(store, BEGIN + 18010);
	assert_string_equal(marks(store).texts, "first|second|");
	assert_int_equal(send(store, BEGIN - 2 * 3600, "too old"), -EINVAL);
	store_free(store);
	store = open_store(0, 10 * HOUR);
	tick(store, BEGIN + 11 * 3600);
	tick(store, BEGIN + 11 * 3600);
	assert_string_equal(marks(store).texts, "second|");
	store_free(store);
	store = open_store(0, 10 * HOUR);
	assert_string_equal(marks(store).texts, "second|");
	store_free(store);
}

static void test_bounded(void **state)
{
	struct store *store;

	(void)state;
	store_free(open_store(0, 0));
	for (unsigned int i = 0; i < STORE_MARKS_MAX; i++) {
		char line[64];

		snprintf(line, sizeof(line), "%llu000000000 %% shop 1%%202 m%u .\n", BEGIN + i, i);
		append(line);
	}
	store = open_store(0, 0);
	assert_int_equal(marks(store).count, STORE_MARKS_MAX);
	assert_int_equal(send(store, BEGIN + STORE_MARKS_MAX, "one more"), 0);
	assert_int_equal(marks(store).count, STORE_MARKS_MAX - STORE_MARKS_MAX / 10 + 1);
	assert_memory_equal(marks(store).texts, "m1000|", 6);
	store_free(store);
	store = open_store(0, 0);
	assert_int_equal(marks(store).count, STORE_MARKS_MAX - STORE_MARKS_MAX / 10 + 1);
	store_free(store);
	/* of a file that has too many, as one that could not be written anew, the oldest go, too */
	for (unsigned int i = 0; i <= STORE_MARKS_MAX / 10; i++)
		append("4102444800000000000 % shop 1%202 new .\n");
	store = open_store(0, 0);
	assert_int_equal(marks(store).count, STORE_MARKS_MAX - STORE_MARKS_MAX / 10 + 2);
	assert_int_equal(marks(store).last, 4102444800 * SECOND);
	store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_kept),
		KEPT_TEST(test_refused),
		KEPT_TEST(test_go_with_films),
		KEPT_TEST(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
