// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "shown.h"

/* What a pprof profile holds, as far as the tests want to know. */
struct profile {
	uint64_t sums[2], samples, locations, functions, strings;
	int64_t base; /* of those with a label: the first value */
	uint64_t based;
	uint8_t has_location[64], used_location[64];
	char *text; /* all strings, a line each */
};

static struct bytes take_message(struct bytes *b)
{
	size_t size = bytes_varint(b);
	const uint8_t *at = bytes_read(b, size);

	assert_false(b->failed);
	return (struct bytes){at, at + size, false};
}

static void read_sample(struct bytes sample, struct profile *p)
{
	uint64_t first = p->sums[0];

	while (bytes_left(&sample)) {
		uint64_t tag = bytes_varint(&sample);
		struct bytes inner = take_message(&sample);

		if (tag >> 3 == 3) {
			p->base += (int64_t)(p->sums[0] - first);
			p->based++;
		}

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

/* A comparison: what was before is negative and marked, and as much as there is now. */
static void test_diff(void **state)
{
	static uint8_t plain[1 << 16];
	struct film *before = film_build_small(), *now, *none;
	struct film_build b;
	struct profile p;
	uint32_t thread;
	size_t size;
	char *packed;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "web", 10, "web");
	film_build_sample(&b, 0, thread, "main;work;libc!memcpy", 52);
	film_build_sample(&b, 600, thread, "main;later", 51);
	now = film_build_open(&b);
	packed = shown_diff(before, now, "pprof", &size);
	size = gunzip(packed, size, plain, sizeof(plain));
	p = read_profile((struct bytes){plain, plain + size, false});
	assert_int_equal(p.samples, 2 + 7);
	assert_int_equal(p.based, 7);
	assert_int_equal(p.base, -103);
	assert_int_equal(p.sums[0], 0);
	assert_non_null(strstr(p.text, "\npprof::base\ntrue\n"));
	assert_non_null(strstr(p.text, "\nbefore: lost: ring full 5\n"));
	for (int i = 0; i < 64; i++)
		assert_true(p.has_location[i] >= p.used_location[i]);
	free(p.text);
	free(packed);
	/* nothing to compare with is nothing less */
	film_build_begin(&b, "on-cpu", "ns");
	none = film_build_open(&b);
	packed = shown_diff(none, now, "pprof", &size);
	size = gunzip(packed, size, plain, sizeof(plain));
	p = read_profile((struct bytes){plain, plain + size, false});
	assert_int_equal(p.samples, 2);
	assert_int_equal(p.sums[0], 103);
	free(p.text);
	free(packed);
	film_free(before);
	film_free(now);
	film_free(none);
}

/* What a program says of its work is a label of the sample, and no function. */
static void test_labels(void **state)
{
	static uint8_t plain[1 << 16];
	struct show_options options = {0};
	struct question q = {0};
	struct film_build b;
	struct film *film;
	struct profile p;
	size_t size;
	char *packed;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	film_build_sample(&b, 1, film_build_thread(&b, 1, "a", 1, "a"),
			  "label!sizes=1,2,user=ann;main;work", 1);
	film = film_build_open(&b);
	packed = shown(film, "pprof", &q, &options, &size);
	size = gunzip(packed, size, plain, sizeof(plain));
	p = read_profile((struct bytes){plain, plain + size, false});
	assert_int_equal(p.samples, 1);
	/* main, work, and two for what is not a function */
	assert_int_equal(p.functions, 4);
	assert_non_null(strstr(p.text, "\nsizes\n1,2\nuser\nann\n"));
	assert_null(strstr(p.text, "sizes="));
	free(p.text);
	free(packed);
	film_free(film);
}

/*
 * Functions without a name: by where they begin. Their addresses stay, for readers that can name
 * them.
 */
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
	size_t size, diff_size;
	char *packed = shown(film, "pprof", &q, &(struct show_options){0}, &size);
	char *diff = shown_diff(film, film, "pprof", &diff_size);
	int verdict = judged("command -v go >/dev/null || exit 127; "
			     "go tool pprof -top %s 2>&1 | grep -q '27ns 52.94%% *memcpy'",
			     packed, size);
	/* percentages are of what was before */
	int of_diff = judged("command -v go >/dev/null || exit 127; "
			     "go tool pprof -top %s 2>&1 | grep -q 'for 0, 0%% of 51ns total'",
			     diff, diff_size);

	(void)state;
	free(packed);
	free(diff);
	film_free(film);
	if (verdict < 0) {
		print_message("skipped: go, which has pprof, is not installed\n");
		skip();
	}
	assert_int_equal(verdict, 0);
	assert_int_equal(of_diff, 0);
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

/* Calls are samples with their own time; those of callers that are missing are there. */
static void test_calls(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 2, 100, 200},
		{"main", 0, 0, 1000, 0, FILM_CALL_GAP},
	};
	static uint8_t plain[1 << 16];
	struct question q = {0};
	struct film_build b;
	struct film *film;
	struct profile p;
	size_t size;
	char *packed;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	film_build_calls(&b, film_build_thread(&b, 1, "a", 1, "a"), calls, 2);
	film = film_build_open(&b);
	packed = shown(film, "pprof", &q, &(struct show_options){0}, &size);
	size = gunzip(packed, size, plain, sizeof(plain));
	p = read_profile((struct bytes){plain, plain + size, false});
	assert_int_equal(p.sums[0], 2);
	assert_int_equal(p.sums[1], 1000);
	for (int i = 0; i < 64; i++)
		assert_true(p.has_location[i] >= p.used_location[i]);
	assert_non_null(strstr(p.text, "\ncalls\n"));
	assert_non_null(strstr(p.text, "\n[lost call]\n"));
	assert_null(strstr(p.text, "\n[call not kept]\n"));
	free(p.text);
	free(packed);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof),	   cmocka_unit_test(test_diff),
		cmocka_unit_test(test_labels),	   cmocka_unit_test(test_places),
		cmocka_unit_test(test_pprof_tool), cmocka_unit_test(test_hostile_names_in_pprof),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
