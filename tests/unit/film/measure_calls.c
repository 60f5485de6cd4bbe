// SPDX-License-Identifier: Apache-2.0

/*
 * Not a test: says how large a film of calls is and how long it takes.
 *
 *	measure-calls PATH CALLS THREADS FUNCTIONS DEPTH
 *
 * One function in a loop: measure-calls PATH 1000000 1 1 1
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sqlite3.h>

#include "film/blocks.h"
#include "make.h"
#include "tree.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void record(const char *path, const struct film_call *calls, uint64_t count,
		   unsigned int threads, unsigned int functions)
{
	struct film_writer *w = create(path);
	double began, appended = 0, before;
	uint64_t i;

	for (i = 1; i < threads; i++)
		film_add_thread(w, &(struct film_thread){1, (uint32_t)(100 + i), 1, "worker"});
	for (i = 0; i < functions; i++)
		native(w, 0x400000 + 310 * i);
	began = now_ms();
	for (i = 0; i < count;) {
		uint64_t end = calls[i].end + SECOND;

		before = now_ms();
		for (; i < count && calls[i].end < end; i++)
			film_call(w, 1, &calls[i]);
		appended += now_ms() - before;
		commit(w, calls[i - 1].end);
	}
	printf("write %.0f ns per call, of that %.0f in film_call()\n",
	       (now_ms() - began) * 1e6 / (double)count, appended * 1e6 / (double)count);
	close_film(w, calls[count - 1].end);
}

/* Packing alone, without the disk. */
static void pack(const struct film_call *calls, uint64_t count)
{
	struct film_blocks b = {0};
	struct film_span span;
	double began = now_ms();
	uint64_t i, bytes = 0;

	for (i = 0; i < count; i += span.count) {
		uint64_t n = count - i < FILM_BLOCK_MAX ? count - i : FILM_BLOCK_MAX;

		if (film_block_pack(&b, film_kind(FILM_BLOCK_CALLS), calls + i, n, &span))
			abort();
		bytes += b.columns.packed.count;
	}
	printf("pack %.0f ns per call, %.2f bytes per call\n",
	       (now_ms() - began) * 1e6 / (double)count, (double)bytes / (double)count);
	film_blocks_free(&b);
}

static int add_calls(void *context, const struct film_calls *calls)
{
	uint64_t *sum = context;
	size_t i;

	for (i = 0; i < calls->count; i++)
		*sum += calls->duration[i] + calls->frame[i];
	return 0;
}

static void read_all(const char *path, uint64_t count)
{
	struct film *film = open_film(path);
	unsigned int round;

	for (round = 0; round < 4; round++) {
		uint64_t sum = 0;
		double began = now_ms();

		if (film_each_calls(film, 1, 0, UINT64_MAX, round & 1, add_calls, &sum, NULL))
			abort();
		printf("read %.1f ns per call%s\n", (now_ms() - began) * 1e6 / (double)count,
		       round & 1 ? ", backwards" : "");
	}
	printf("%llu calls\n", (unsigned long long)film_call_count(film, 1));
	film_free(film);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000, i;
	unsigned int threads = argc > 3 ? (unsigned int)atoi(argv[3]) : 1;
	unsigned int functions = argc > 4 ? (unsigned int)atoi(argv[4]) : 1;
	unsigned int depth = argc > 5 ? (unsigned int)atoi(argv[5]) : 1;
	struct film_call *calls = calloc(count, sizeof(*calls));
	struct tree tree;

	if (argc < 2 || !calls || !count || threads < 1 || threads > 16 || depth < 1 || depth > 64)
		return 2;
	tree_begin(&tree, threads, functions, depth, 5 * SECOND);
	for (i = 0; i < count; i++)
		calls[i] = tree_next(&tree);
	pack(calls, count);
	pack(calls, count);
	record(argv[1], calls, count, threads, functions);
	read_all(argv[1], count);
	free(calls);
	return 0;
}
