// SPDX-License-Identifier: Apache-2.0
/*
 * simulate_fleet URL AGENTS SECONDS SPAN WORKERS BURST TOKENS FILM...: the films of that many
 * agents, one each SPAN seconds of each agent, for some time, spread evenly. Each is a copy of one
 * of the recorded films, with a host and a time of its own, compressed as an agent compresses it.
 * Those of period BURST (from 0; -1: none) are all sent at its end. A film that is not accepted is
 * sent until it is, before all later ones of its agent. For bench/fleet; prints JSON.
 *
 * Agents share the connections of the workers: one connection each is not simulated.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "base/clock.h"
#include "film/reader.h"
#include "send/http.h"

#define SECOND 1000000000ull
/* Until a film that was not accepted is sent again. */
#define AGAIN (SECOND / 2)

enum {
	LEVEL = 3, /* as src/send/to_server.c */
};

struct recorded {
	unsigned char *bytes;
	sqlite3_int64 size;
	uint64_t start; /* ns, as its info says */
	atomic_ullong sent;
};

struct fleet {
	const char *url, *tokens;
	uint64_t begin, span; /* ns */
	unsigned int agents, periods, workers;
	int burst;
	struct recorded *films;
	unsigned int film_count;
	atomic_ullong bytes, failed;
	atomic_ullong late; /* ns, the most from when a film was due until it was accepted */
};

struct worker {
	struct fleet *fleet;
	unsigned int number;
	pthread_t thread;
	struct http *http;
	ZSTD_CCtx *zstd;
	void *packed; /* of packed_room bytes */
	size_t packed_room;
};

static void die_if(int err, const struct fail *why)
{
	if (!err)
		return;
	fail_print(why);
	exit(1);
}

static void die_of_sql(sqlite3 *db, const char *what)
{
	fprintf(stderr, "simulate_fleet: cannot %s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void wait_until(uint64_t time)
{
	struct timespec at = {(time_t)(time / SECOND), (long)(time % SECOND)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void read_film(struct recorded *film, const char *path)
{
	struct film *info;
	struct fail why = {0};
	sqlite3 *db;

	die_if(film_open_info(path, &info, &why), &why);
	film->start = info->info.start;
	film_free(info);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL))
		die_of_sql(db, "read a film");
	film->bytes = sqlite3_serialize(db, "main", &film->size, 0);
	if (!film->bytes)
		die_of_sql(db, "read a film");
	sqlite3_close(db);
}

static void set_meta(sqlite3 *db, const char *name, const char *text, int64_t number)
{
	sqlite3_stmt *set;

	if (sqlite3_prepare_v2(db, "UPDATE meta SET value = ? WHERE name = ?", -1, &set, NULL))
		die_of_sql(db, "rewrite a film");
	if (text)
		sqlite3_bind_text(set, 1, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_int64(set, 1, number);
	sqlite3_bind_text(set, 2, name, -1, SQLITE_STATIC);
	if (sqlite3_step(set) != SQLITE_DONE || sqlite3_changes(db) != 1)
		die_of_sql(db, "rewrite a film");
	sqlite3_finalize(set);
}

/* The film with another host and another time, into w->packed. Returns its size in bytes. */
static size_t make_film(struct worker *w, const struct recorded *film, const char *host,
			uint64_t starts)
{
	unsigned char *bytes = sqlite3_malloc64((sqlite3_uint64)film->size);
	sqlite3 *db;
	size_t size;

	if (!bytes || sqlite3_open(":memory:", &db))
		die_of_sql(NULL, "rewrite a film");
	memcpy(bytes, film->bytes, (size_t)film->size);
	/* SQLite frees the bytes, also if that fails */
	if (sqlite3_deserialize(db, "main", bytes, film->size, film->size,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE))
		die_of_sql(db, "rewrite a film");
	set_meta(db, "hostname", host, 0);
	set_meta(db, "wall_offset", NULL, (int64_t)(starts - film->start));
	bytes = sqlite3_serialize(db, "main", &(sqlite3_int64){0}, SQLITE_SERIALIZE_NOCOPY);
	size = ZSTD_compressCCtx(w->zstd, w->packed, w->packed_room, bytes, (size_t)film->size,
				 LEVEL);
	if (!bytes || ZSTD_isError(size))
		die_of_sql(db, "compress a film");
	sqlite3_close(db);
	return size;
}

static void note_late(struct fleet *fleet, uint64_t late)
{
	unsigned long long most = atomic_load(&fleet->late);

	while (late > most && !atomic_compare_exchange_weak(&fleet->late, &most, late))
		;
}

/* Until it is accepted, as an agent with a spool does. */
static void post(struct worker *w, const char *host, unsigned int agent, unsigned int number,
		 size_t size)
{
	char of_host[64], of_agent[64], of_number[64];
	const char *headers[] = {"Content-Type: application/vnd.stackcam.film",
				 "Content-Encoding: zstd",
				 of_agent,
				 of_host,
				 of_number,
				 NULL};
	struct http_post post = {
		.url = w->fleet->url, .headers = headers, .body = w->packed, .size = size};

	snprintf(of_host, sizeof(of_host), "X-Stackcam-Host: %s", host);
	snprintf(of_agent, sizeof(of_agent), "X-Stackcam-Agent: fleet-%05u", agent);
	snprintf(of_number, sizeof(of_number), "X-Stackcam-Number: %u", number);
	for (;;) {
		struct http_reply reply = {0};
		struct fail why = {0};
		int err = http_post(w->http, &post, &reply, &why);

		if (!err && reply.status == 200)
			return;
		/* of many that fail alike, some say why; what is refused would be refused again */
		if (!atomic_fetch_add(&w->fleet->failed, 1) && !err)
			fprintf(stderr, "simulate_fleet: status %u: %s\n", reply.status,
				reply.words);
		if (!err && reply.status < 500 && reply.status != 429)
			exit(1);
		wait_until(clock_ns() + AGAIN);
	}
}

static void send_one(struct worker *w, unsigned int agent, unsigned int period)
{
	struct fleet *fleet = w->fleet;
	struct recorded *film = &fleet->films[agent % fleet->film_count];
	uint64_t ends =
		fleet->begin + fleet->span * agent / fleet->agents + fleet->span * (period + 1);
	bool is_held = (int)period == fleet->burst;
	uint64_t due = is_held ? fleet->begin + fleet->span * (period + 2) : ends;
	char host[32];
	size_t size;

	snprintf(host, sizeof(host), "host-%05u", agent);
	wait_until(due);
	size = make_film(w, film, host, ends - fleet->span + (uint64_t)clock_wall_offset());
	post(w, host, agent, period + 1, size);
	note_late(fleet, clock_ns() - due);
	atomic_fetch_add(&fleet->bytes, size);
	atomic_fetch_add(&film->sent, 1);
}

static void *work(void *context)
{
	struct worker *w = context;

	for (unsigned int period = 0; period < w->fleet->periods; period++) {
		for (unsigned int i = w->number; i < w->fleet->agents; i += w->fleet->workers)
			send_one(w, i, period);
	}
	return NULL;
}

static void start(struct fleet *fleet, struct worker *w, unsigned int number)
{
	struct http_options http = {.token_file = fleet->tokens};
	struct fail why = {0};

	w->fleet = fleet;
	w->number = number;
	die_if(http_new(&http, &w->http, &why), &why);
	for (unsigned int i = 0; i < fleet->film_count; i++) {
		size_t room = ZSTD_compressBound((size_t)fleet->films[i].size);

		w->packed_room = room > w->packed_room ? room : w->packed_room;
	}
	w->packed = malloc(w->packed_room);
	w->zstd = ZSTD_createCCtx();
	if (!w->packed || !w->zstd || pthread_create(&w->thread, NULL, work, w)) {
		fputs("simulate_fleet: cannot start a worker\n", stderr);
		exit(1);
	}
}

static void report(struct fleet *fleet)
{
	uint64_t sent = 0;

	printf("{\"films\": [");
	for (unsigned int i = 0; i < fleet->film_count; i++) {
		uint64_t of_film = atomic_load(&fleet->films[i].sent);

		printf("%s%" PRIu64, i ? ", " : "", of_film);
		sent += of_film;
		sqlite3_free(fleet->films[i].bytes);
	}
	printf("], \"sent\": %" PRIu64 ", \"made\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"failed\": %" PRIu64 ", \"late\": %.3f}\n",
	       sent, (uint64_t)fleet->agents * fleet->periods, (uint64_t)atomic_load(&fleet->bytes),
	       (uint64_t)atomic_load(&fleet->failed),
	       (double)atomic_load(&fleet->late) / (double)SECOND);
}

int main(int argc, char **argv)
{
	struct fleet fleet = {0};
	struct worker *workers;
	char url[512];

	if (argc < 9 || atoi(argv[2]) < 1 || atof(argv[4]) <= 0 || atoi(argv[5]) < 1) {
		fputs("usage: simulate_fleet URL AGENTS SECONDS SPAN WORKERS BURST TOKENS "
		      "FILM...\n",
		      stderr);
		return 2;
	}
	snprintf(url, sizeof(url), "%s/api/v1/films", argv[1]);
	fleet.url = url;
	fleet.agents = (unsigned int)atoi(argv[2]);
	fleet.span = (uint64_t)(atof(argv[4]) * 1e9);
	fleet.periods = (unsigned int)(atof(argv[3]) / atof(argv[4]));
	fleet.workers = (unsigned int)atoi(argv[5]);
	fleet.burst = atoi(argv[6]);
	fleet.tokens = argv[7];
	fleet.film_count = (unsigned int)(argc - 8);
	fleet.films = calloc(fleet.film_count, sizeof(*fleet.films));
	workers = calloc(fleet.workers, sizeof(*workers));
	if (!fleet.films || !workers)
		return 1;
	for (unsigned int i = 0; i < fleet.film_count; i++)
		read_film(&fleet.films[i], argv[8 + i]);
	fleet.begin = clock_ns();
	for (unsigned int i = 0; i < fleet.workers; i++)
		start(&fleet, &workers[i], i);
	for (unsigned int i = 0; i < fleet.workers; i++) {
		pthread_join(workers[i].thread, NULL);
		http_free(workers[i].http);
		ZSTD_freeCCtx(workers[i].zstd);
		free(workers[i].packed);
	}
	report(&fleet);
	free(fleet.films);
	free(workers);
	return 0;
}
