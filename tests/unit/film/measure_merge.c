// SPDX-License-Identifier: Apache-2.0

/*
 * Not a test: makes one film of several, as a store does when their hour is over, and says how long
 * it took. For bench/film-bytes.
 *
 *	measure-merge TO FILM…
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "film/merge.h"

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct fail why = {0};
	size_t bad;

	if (argc < 3) {
		fprintf(stderr, "usage: measure-merge TO FILM...\n");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (film_merge_files((const char *const *)argv + 2, (size_t)argc - 2, argv[1], true, &bad,
			     &why)) {
		fail_print(&why);
		return EXIT_FAILURE;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.0f ms\n", (double)(end.tv_sec - begin.tv_sec) * 1e3 +
				    (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
	return 0;
}
