// SPDX-License-Identifier: Apache-2.0

/*
 * Not a test: says how long a report of many calls takes, and how much memory. The calls are made
 * up, but have the shape of a program's: call trees of some depth whose functions call a few
 * others, again and again, on several threads at once.
 *
 *	measure_calls PATH CALLS [FUNCTIONS [THREADS [wide]]]
 *
 * A film that is there already is used as it is. wide: more paths than a report tells apart.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "film/writer.h"
#include "query/report.h"

#define START 1000000000000ull

enum {
	DEPTH_MAX = 24,
	THREADS_MAX = 256,
	CALLS_PER_COMMIT = 200000
};

struct thread {
	uint32_t id;
	unsigned int depth;
	uint64_t now;
	struct {
		uint64_t start;
		uint32_t function;
	} open[DEPTH_MAX];
};

static uint64_t state = 1;

static uint64_t number(uint64_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

static void end_if(int err, const struct fail *why)
{
	if (!err)
		return;
	fail_print(why);
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* How many functions one of that depth calls. Programs have few paths to what lies deep. */
static uint64_t choices(unsigned int depth, bool wide)
{
	return wide || depth < 4 ? 4 : depth < 9 ? 2 : 1;
}

/* Enters or leaves functions until a call ended. */
static struct film_call next_call(struct thread *t, const uint32_t *frames, uint32_t functions,
				  bool wide)
{
	for (;;) {
		unsigned int top = t->depth;

		t->now += 20 + number(400);
		if (!top || (top < DEPTH_MAX && number(100) < 49)) {
			uint64_t caller = top ? t->open[top - 1].function : functions;

			t->open[top].start = t->now;
			t->open[top].function =
				(uint32_t)(hash_u64(caller * 4 + number(choices(top, wide))) %
					   functions);
			t->depth++;
			continue;
		}
		t->depth = --top;
		return (struct film_call){
			.end = t->now,
			.duration = t->now - t->open[top].start,
			.waited = number(8) ? 0 : (t->now - t->open[top].start) / 2,
			.thread = t->id,
			.frame = frames[t->open[top].function],
			.depth = (uint16_t)top,
			.cpu = (uint16_t)(t->id % 8),
		};
	}
}

static void write_film(const char *path, uint64_t calls, uint32_t functions, uint32_t thread_count,
		       bool wide)
{
	struct film_info info = {.version = "0",
				 .hostname = "host",
				 .kernel = "",
				 .arch = "",
				 .command = "measure_calls",
				 .cpus = 8,
				 .start = START};
	struct film_image image = {.kind = FILM_IMAGE_FILE, .path = "/usr/bin/program"};
	struct film_process process = {.pid = 1,
				       .start = START,
				       .comm = "program",
				       .command = "",
				       .exe = "",
				       .cgroup = "",
				       .container = ""};
	uint32_t *frames = calloc(functions, sizeof(*frames)), event;
	struct thread *threads = calloc(thread_count, sizeof(*threads));
	struct film_writer *w;
	struct fail why = {0};

	end_if(film_create(path, &info, &w, &why), &why);
	event = film_add_event(w, &(struct film_event){"calls", "ns", "uprobes", 0});
	film_add_image(w, &image);
	film_add_process(w, &process);
	for (uint32_t i = 0; i < functions; i++) {
		char name[32];

		snprintf(name, sizeof(name), "function_%u", i);
		frames[i] = film_frame(w, 1, FILM_FRAME_NATIVE, 4096 + 64 * i);
		film_name_frame(w, frames[i], &(struct film_name){name, "", 0}, 1);
		film_probe(w, event, &(struct film_probe){frames[i], 5, 12});
	}
	for (uint32_t i = 0; i < thread_count; i++) {
		threads[i].now = START + i;
		threads[i].id =
			film_add_thread(w, &(struct film_thread){1, i + 1, START, "worker"});
	}
	for (uint64_t i = 0; i < calls; i++) {
		struct thread *t = &threads[i % thread_count];
		struct film_call call = next_call(t, frames, functions, wide);

		film_call(w, event, &call);
		if (i % CALLS_PER_COMMIT == 0)
			end_if(film_commit(w, t->now, false, &why), &why);
	}
	end_if(film_close(w, threads[0].now + 1000000, &why), &why);
	free(frames);
	free(threads);
}

/* In a process of its own, so that its memory is not counted. */
static void make_film(const char *path, uint64_t calls, uint32_t functions, uint32_t threads,
		      bool wide)
{
	double began = seconds();
	int status = 0;

	if (!access(path, R_OK))
		return;
	if (!fork()) {
		write_film(path, calls, functions, threads, wide);
		exit(0);
	}
	wait(&status);
	if (status)
		exit(1);
	printf("written in %.2f s\n", seconds() - began);
}

static int count(void *context, const struct film_calls *calls)
{
	*(uint64_t *)context += calls->count;
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t threads = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 4;
	struct question q = {0};
	struct rusage usage;
	struct report report;
	struct film *film;
	struct fail why = {0};
	double began, opened, read, made;
	uint64_t calls = 0;

	if (argc < 3 || !threads || threads > THREADS_MAX)
		return 2;
	make_film(argv[1], strtoull(argv[2], NULL, 10),
		  argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 500, threads, argc > 5);
	began = seconds();
	end_if(film_open(argv[1], &film, &why), &why);
	opened = seconds();
	end_if(film_each_calls(film, 1, 0, UINT64_MAX, true, count, &calls, &why), &why);
	read = seconds();
	end_if(report_make(film, &q, false, &report, &why), &why);
	made = seconds();
	getrusage(RUSAGE_SELF, &usage);
	printf("%" PRIu64
	       " calls, %zu paths: open %.2f s, read %.2f s (%.0f ns a call), report %.2f s "
	       "(%.0f ns a call), peak %ld MB\n",
	       calls, report.view.calls->paths.all.count, opened - began, read - opened,
	       (read - opened) * 1e9 / (double)calls, made - read,
	       (made - read) * 1e9 / (double)calls, usage.ru_maxrss / 1000);
	report_free(&report);
	film_free(film);
	return 0;
}
