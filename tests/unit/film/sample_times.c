// SPDX-License-Identifier: Apache-2.0

/*
 * Not a test: prints when each sample of a film's first event was taken, in ns of CLOCK_MONOTONIC,
 * and its thread's number. For bench/languages-cost.
 *
 *	sample-times FILM
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "film/reader.h"

static int print(void *context, const struct film_samples *samples)
{
	const struct film *film = context;

	for (size_t i = 0; i < samples->count; i++)
		printf("%" PRIu64 " %" PRIu32 "\n", samples->time[i],
		       film->threads[samples->thread[i]].tid);
	return 0;
}

int main(int argc, char **argv)
{
	struct film *film;
	struct fail why = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: sample-times FILM\n");
		return 2;
	}
	if (film_open(argv[1], &film, &why) ||
	    film_each_samples(film, 1, 0, UINT64_MAX, print, film, &why)) {
		fail_print(&why);
		return EXIT_FAILURE;
	}
	film_free(film);
	return 0;
}
