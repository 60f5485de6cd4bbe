// SPDX-License-Identifier: Apache-2.0

/*
 * Not a test: makes one film of several, as a store does when their hour is over, and says how long
 * it took; and how long it takes to open a film. For bench/film-bytes and bench/idle-film.
 *
 *	measure-merge TO FILM…		the last time that they are merged
 *	measure-merge --more TO FILM…	as long as more films of their hour are to come
 *	measure-merge --open FILM TIMES	the least CPU of TIMES, in memory that the process has
 *					already: new memory costs the same for all films of these
 *					tables, and whether it is new depends on their sizes
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "film/merge.h"

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int cannot(const struct fail *why)
{
	fail_print(why);
	return EXIT_FAILURE;
}

static int measure_open(const char *path, int times)
{
	struct fail why = {0};
	double least = 0;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (int i = 0; i < times; i++) {
		double begin = now_ms(CLOCK_PROCESS_CPUTIME_ID), took;
		struct film *film;

		if (film_open(path, &film, &why))
			return cannot(&why);
		took = now_ms(CLOCK_PROCESS_CPUTIME_ID) - begin;
		least = !i || took < least ? took : least;
		film_free(film);
	}
	printf("%.2f ms\n", least);
	return 0;
}

static int measure_merge(const char *to, const char *const *films, size_t count, bool is_final)
{
	double begin = now_ms(CLOCK_MONOTONIC);
	struct fail why = {0};
	size_t bad;

	if (film_merge_files(films, count, to, is_final, &bad, &why))
		return cannot(&why);
	printf("%.0f ms\n", now_ms(CLOCK_MONOTONIC) - begin);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const *words = (const char *const *)argv;
	bool is_final = argc < 2 || strcmp(argv[1], "--more");

	if (argc == 4 && !strcmp(argv[1], "--open"))
		return measure_open(argv[2], atoi(argv[3]));
	if (argc < (is_final ? 3 : 4)) {
		fprintf(stderr, "usage: measure-merge [--more] TO FILM...\n"
				"       measure-merge --open FILM TIMES\n");
		return 2;
	}
	words += is_final ? 1 : 2;
	argc -= is_final ? 2 : 3;
	return measure_merge(words[0], words + 1, (size_t)argc, is_final);
}
