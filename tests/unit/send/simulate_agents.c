// SPDX-License-Identifier: Apache-2.0
/*
 * simulate_agents URL COUNT SECONDS SPAN FOLDER TOKENS: COUNT agents, each with a spool and a
 * sender as the real one has them, push films that are made up, one each SPAN seconds, for some
 * time. For bench/agents; prints JSON.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "film/writer.h"
#include "send/to_server.h"

#define SECOND 1000000000ull

enum {
	STACKS = 150, /* of a film */
	SAMPLES = 1000,
	PROCESSES = 20,
	DEPTH = 20,
};

struct agent {
	struct spool *spool;
	struct http *http;
	struct destination destination;
	struct sender *sender;
	char host[32];
	atomic_uint *troubles;
	uint32_t random;
};

static void die(const struct fail *why)
{
	fail_print(why);
	exit(1);
}

static uint32_t draw(struct agent *a, uint32_t below)
{
	a->random = a->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)a->random * below >> 32);
}

static uint32_t make_stack(struct film_writer *w, uint32_t image, uint32_t number)
{
	uint32_t stack = 0;

	/* stacks share what is near their root, as real ones do */
	for (uint32_t depth = 0; depth < DEPTH; depth++) {
		uint32_t which = number % (depth + 2) * DEPTH + depth;
		uint32_t frame = film_frame(w, image, FILM_FRAME_NATIVE, 0x1000 + which * 16);
		struct film_name name = {.file = ""};
		char text[32];

		snprintf(text, sizeof(text), "function_%u", which);
		name.function = text;
		film_name_frame(w, frame, &name, 1);
		stack = film_stack(w, stack, frame, FILM_HOW_EXACT);
	}
	return stack;
}

static void fill(struct agent *a, struct film_writer *w, uint64_t from, uint64_t span)
{
	const struct film_event event = {"on-cpu", "ns", "cpu-clock", 99};
	const struct film_image image = {.kind = FILM_IMAGE_FILE, .path = "/usr/bin/server"};
	uint32_t id = film_add_event(w, &event), file = film_add_image(w, &image);
	uint32_t stacks[STACKS], threads[PROCESSES];

	for (uint32_t i = 0; i < STACKS; i++)
		stacks[i] = make_stack(w, file, i);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		char name[32];
		struct film_process process = {
			.pid = 1000 + i,
			.start = from,
			.comm = name,
			.command = name,
			.exe = "",
			.cgroup = "",
			.container = "",
		};
		struct film_thread thread = {.tid = 1000 + i, .start = from, .comm = name};

		snprintf(name, sizeof(name), "service-%u", i);
		thread.process = film_add_process(w, &process);
		threads[i] = film_add_thread(w, &thread);
	}
	for (uint64_t i = 0; i < SAMPLES; i++)
		film_sample(w, id, from + span * i / SAMPLES, threads[draw(a, PROCESSES)],
			    stacks[draw(a, STACKS)], 10101010);
}

/* The film of the time that is over. */
static void make_film(struct agent *a, uint64_t span)
{
	struct timespec wall;
	struct film_info info = {
		.version = "0",
		.hostname = a->host,
		.kernel = "6.1",
		.arch = "x86_64",
		.command = "agent",
		.cpus = 2,
		.labels = "",
	};
	struct film_writer *w;
	struct fail why;
	uint64_t now;
	char path[4096];

	clock_gettime(CLOCK_REALTIME, &wall);
	now = clock_ns();
	info.wall_offset = (int64_t)((uint64_t)wall.tv_sec * SECOND + (uint64_t)wall.tv_nsec - now);
	info.start = now - span;
	if (spool_next(a->spool, info.start + (uint64_t)info.wall_offset, path, sizeof(path),
		       &why) ||
	    film_create(path, &info, &w, &why))
		die(&why);
	fill(a, w, info.start, span);
	if (film_close(w, now, &why) || spool_done(a->spool, path, &why))
		die(&why);
}

static void have_trouble(void *context, const struct fail *why)
{
	struct agent *a = context;

	/* of many that fail alike, some tell why */
	if (atomic_fetch_add(a->troubles, 1) < 5)
		fail_print(why);
}

static void works(void *context, uint64_t films)
{
	(void)context;
	(void)films;
}

static void useless(void *context, const struct spool_film *film, const struct fail *why)
{
	(void)film;
	have_trouble(context, why);
}

static void start(struct agent *a, unsigned int number, const char *url, const char *folder,
		  const char *tokens, atomic_bool *stop)
{
	char path[4096];
	struct http_options http = {.token_file = tokens, .stop = stop};
	struct to_server_options server = {.url = url, .host = a->host};
	struct sender_options sender = {
		.stop = stop,
		.trouble = have_trouble,
		.works = works,
		.almost = have_trouble,
		.useless = useless,
		.context = a,
	};
	struct fail why;

	a->random = number;
	snprintf(a->host, sizeof(a->host), "host-%03u", number);
	snprintf(path, sizeof(path), "%s/%03u", folder, number);
	if (spool_open(path, 256 << 20, &a->spool, &why) || http_new(&http, &a->http, &why))
		die(&why);
	server.agent = spool_agent(a->spool);
	if (to_server(&server, a->http, &a->destination, &why))
		die(&why);
	sender.spool = a->spool;
	sender.destination = a->destination;
	if (sender_start(&sender, &a->sender, &why))
		die(&why);
}

static void wait_until(uint64_t time)
{
	struct timespec at = {(time_t)(time / SECOND), (long)(time % SECOND)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

int main(int argc, char **argv)
{
	unsigned int count = argc == 7 ? (unsigned int)atoi(argv[2]) : 0;
	uint64_t span = argc == 7 ? (uint64_t)(atof(argv[4]) * 1e9) : 0, begin, made = 0;
	uint64_t end, sent = 0, waiting = 0, set_aside = 0, lost = 0;
	struct agent *agents = calloc(count + 1, sizeof(*agents));
	atomic_uint troubles = 0;
	atomic_bool stop = false;

	if (!count || !span || !agents) {
		fputs("usage: simulate_agents URL COUNT SECONDS SPAN FOLDER\n", stderr);
		return 2;
	}
	for (unsigned int i = 0; i < count; i++) {
		agents[i].troubles = &troubles;
		start(&agents[i], i, argv[1], argv[5], argv[6], &stop);
	}
	begin = clock_ns();
	end = begin + (uint64_t)(atof(argv[3]) * 1e9);
	/* one after the other: they did not begin at the same moment */
	for (uint64_t at = begin; at < end; at += span / count, made++) {
		wait_until(at);
		make_film(&agents[made % count], span);
	}
	for (unsigned int i = 0; i < count; i++) {
		struct spool_status status;

		sender_stop(agents[i].sender, 60 * SECOND);
		spool_status(agents[i].spool, &status);
		sent += status.sent;
		waiting += status.films;
		set_aside += status.set_aside;
		lost += status.lost;
		agents[i].destination.free(agents[i].destination.self);
		http_free(agents[i].http);
		spool_free(agents[i].spool);
	}
	printf("{\"made\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"waiting\": %" PRIu64
	       ", \"set_aside\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"troubles\": %u, \"samples\": %d}\n",
	       made, sent, waiting, set_aside, lost, atomic_load(&troubles), SAMPLES);
	free(agents);
	return 0;
}
