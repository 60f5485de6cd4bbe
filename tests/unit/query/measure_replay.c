// SPDX-License-Identifier: Apache-2.0
/*
 * How long a replay takes, and how much memory: "measure_replay FILM [WINDOW]" replays all calls of
 * the film (make_calls makes one) without output, with WINDOW calls in memory at a time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/text.h"
#include "query/replay.h"

static int count(void *context, const struct call_event *event)
{
	uint64_t *events = context;

	*events += event->kind != CALL_EVENT_GAP;
	return 0;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct replay_question q = {0};
	struct replay_sums sums = {0};
	struct fail why = {0};
	struct film *film = NULL;
	uint64_t events = 0, window = 0;
	struct rusage usage;
	double start;

	if (argc < 2 || argc > 3 ||
	    (argc == 3 && text_parse_u64(argv[2], 1, UINT32_MAX, &window))) {
		fprintf(stderr, "usage: measure_replay FILM [WINDOW]\n");
		return 2;
	}
	q.window = window;
	if (film_open(argv[1], &film, &why)) {
		fail_print(&why);
		return 1;
	}
	start = seconds();
	if (replay_film(film, &q, count, &events, &sums, &why))
		fail_print(&why);
	start = seconds() - start;
	getrusage(RUSAGE_SELF, &usage);
	printf("%" PRIu64 " calls, %" PRIu64 " events, %.2f s of CPU, %.0f ns a call, %ld MB\n",
	       sums.film_calls, events, start,
	       sums.film_calls ? start * 1e9 / (double)sums.film_calls : 0.0,
	       usage.ru_maxrss / 1024);
	film_free(film);
	return why.err ? 1 : 0;
}
