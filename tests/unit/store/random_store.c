// SPDX-License-Identifier: Apache-2.0
/*
 * A store as the page sees it: a recorder whose films turn each minute, an agent of another host,
 * readers that are in the way when films are closed, crashes, lost indexes, films that are removed,
 * kept films of other events, pauses; and a question at each second. Each answer is checked:
 *
 * - its total is not more than all CPUs could use in the time that it says was filmed, nor that of
 *   any step;
 * - it has all that was committed from complete_from until complete_until, and nothing twice;
 * - complete_until is at most LAG seconds ago while the recorder records.
 *
 * random_store SEED SECONDS
 */
#include "../prelude.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/database.h"
#include "film/writer.h"
#include "kept_store.h"
#include "store/ask.h"
#include "store/room.h"

enum {
	CPUS = 2,
	HZ = 4, /* samples of a busy CPU in a second */
	LAG = 15,
	HOSTS = 2,
	OWN = 0,
	TURN = 60,
	ABANDONED_MAX = 64,
};
#define VALUE	(SECOND / HZ)
#define MINUTE	(60 * SECOND)
#define AGE_MAX (4 * HOUR)

static const char *const hosts[HOSTS] = {"own", "web7"};

struct film_in_work {
	struct film_writer *w;
	char path[256];
	uint64_t begin;	 /* s */
	uint32_t stacks; /* one of them */
};

struct run {
	unsigned int seed;
	uint64_t begin, now, end; /* s since 1970 */
	struct store *store;
	struct film_in_work film;
	uint64_t recording_since;      /* s; 0: it does not */
	uint64_t settled, next_settle; /* s: names are looked up later where there are many */
	/* of recorders that were killed: closed at the end of all */
	struct film_writer *abandoned[ABANDONED_MAX];
	unsigned int abandoned_count;
	uint64_t number; /* of the agent's films */
	/* by host and second: what was committed, and may be in answers; what must be */
	uint64_t *most[HOSTS], *least[HOSTS];
	uint64_t asked, by_films, partial, worst_lag, closed_beside, crashes, removed, kept;
};

/* Nothing waits for a reader in earnest: the recorder tries as often, and at once. */
int __wrap_usleep(useconds_t time);
int __wrap_usleep(useconds_t time)
{
	(void)time;
	return 0;
}

static unsigned int chance(struct run *r, unsigned int of)
{
	return (unsigned int)rand_r(&r->seed) % of;
}

static void failed(const struct run *r, const char *what)
{
	fprintf(stderr, "%s, %llu s after the begin\n", what,
		(unsigned long long)(r->now - r->begin));
	abort();
}

static void check(const struct run *r, bool is_so, const char *what)
{
	if (!is_so)
		failed(r, what);
}

/* Recording */

static struct film_writer *make_writer(const char *path, const char *host, uint64_t begin,
				       const char *event_name, uint32_t *stack)
{
	struct film_info info = {.version = "1",
				 .hostname = host,
				 .kernel = "6.1",
				 .arch = "x86_64",
				 .command = "stackcam serve",
				 .cpus = CPUS,
				 .start = begin * SECOND};
	struct film_event event = {event_name, "ns", "cpu-clock", HZ};
	struct film_process process = {.pid = 7, .start = 5, .comm = "app", .exe = "/usr/bin/app"};
	struct film_thread thread = {.process = 1, .tid = 7, .start = 5, .comm = "app"};
	struct film_image image = {FILM_IMAGE_FILE, "/usr/bin/app", {1, 2}, 2};
	struct film_writer *w = NULL;

	if (film_create(path, &info, &w, NULL))
		return NULL;
	film_add_event(w, &event);
	film_add_process(w, &process);
	film_add_thread(w, &thread);
	film_add_image(w, &image);
	*stack = film_stack(w, 0, film_frame(w, 1, FILM_FRAME_NATIVE, 0x1000), FILM_HOW_EXACT);
	return w;
}

/* A second of busy CPUs, at most all of them. Returns the sum of their samples. */
static uint64_t put_second(struct run *r, struct film_writer *w, uint32_t stack, uint64_t second)
{
	unsigned int busy = chance(r, 4) ? CPUS : chance(r, CPUS + 1);

	for (unsigned int i = 0; i < HZ; i++)
		for (unsigned int cpu = 0; cpu < busy; cpu++)
			film_sample(w, 1, second * SECOND + i * VALUE + VALUE / 2, 1, stack, VALUE);
	return busy * (uint64_t)SECOND;
}

static void begin_film(struct run *r)
{
	struct film_in_work *f = &r->film;

	*f = (struct film_in_work){.begin = r->now};
	check(r,
	      !store_film_path(r->store, hosts[OWN], r->now * SECOND, f->path, sizeof(f->path),
			       NULL),
	      "no path for a film");
	f->w = make_writer(f->path, hosts[OWN], r->now, "on-cpu", &f->stacks);
	check(r, f->w != NULL, "a film cannot be begun");
	film_names_follow(f->w);
	film_keep_aside(f->w);
	r->settled = r->next_settle = r->now;
}

/* At times a reader has the film open meanwhile, and goes later than the recorder waits for it. */
static void close_film(struct run *r)
{
	bool is_beside = !chance(r, 4);
	sqlite3 *reader = NULL;
	int err;

	if (is_beside) {
		sqlite3_open_v2(r->film.path, &reader, SQLITE_OPEN_READONLY, NULL);
		sqlite3_exec(reader, "SELECT * FROM meta", NULL, NULL, NULL);
		r->closed_beside++;
	}
	err = film_close(r->film.w, r->now * SECOND, NULL);
	check(r, is_beside ? err == -EBUSY : !err, "a film cannot be closed");
	store_film_done(r->store, r->film.path);
	sqlite3_close(reader);
	r->film.w = NULL;
}

/* The second before now was recorded. */
static void record_second(struct run *r)
{
	uint64_t second = r->now - 1, at = second - r->begin;
	uint64_t sum = put_second(r, r->film.w, r->film.stacks, second);

	if (r->now >= r->next_settle) {
		film_names_settled(r->film.w);
		r->next_settle = r->now + 1 + chance(r, 6);
	}
	check(r, !film_commit(r->film.w, r->now * SECOND, true, NULL), "a film cannot be written");
	r->most[OWN][at] = r->least[OWN][at] = sum;
}

static void forget(struct run *r, unsigned int host, uint64_t from, uint64_t to)
{
	from = from < r->begin ? r->begin : from;
	for (uint64_t i = from; i < to && i < r->now; i++)
		r->least[host][i - r->begin] = 0;
}

/* A film without the event that is asked for, as the flight recorder keeps them. */
static void keep_film(struct run *r)
{
	uint64_t begin = r->now - 30;
	struct film_writer *w;
	char path[256], *events = calloc(1, sizeof("off-cpu") + 1);
	uint32_t stack;

	check(r, events != NULL, "no memory");
	strcpy(events, "off-cpu");
	check(r,
	      !store_known_path(r->store, hosts[OWN], begin * SECOND, events, path, sizeof(path),
				NULL),
	      "no path for a kept film");
	w = make_writer(path, hosts[OWN], begin, "off-cpu", &stack);
	film_sample(w, 1, begin * SECOND + 1, 1, stack, 1);
	check(r, w && !film_close(w, r->now * SECOND, NULL), "a film cannot be kept");
	store_film_done(r->store, path);
	r->kept++;
}

/* What an agent of another host sends: ten seconds, at times of a part of the time only. */
static void send_agent_film(struct run *r)
{
	struct store_sender sender = {hosts[1], "agent-1", ++r->number};
	uint64_t begin = r->now - 10;
	struct film_writer *w;
	char path[128];
	uint32_t stack;
	bool again;

	snprintf(path, sizeof(path), "%s/sent.film", root);
	w = make_writer(path, hosts[1], begin, "on-cpu", &stack);
	for (uint64_t i = begin; i < r->now; i++) {
		uint64_t sum = put_second(r, w, stack, i);

		r->most[1][i - r->begin] = r->least[1][i - r->begin] = sum;
	}
	check(r, !film_close(w, r->now * SECOND, NULL), "the agent's film cannot be closed");
	check(r, !store_add_film(r->store, path, &sender, &again, NULL) && !again,
	      "the agent's film is not taken");
}

/* What can happen */

static void open_again(struct run *r)
{
	struct store_options options = {.path = store_path, .age_max = AGE_MAX};
	struct fail why = {0};

	if (store_open(&options, &r->store, &why)) {
		fail_print(&why);
		failed(r, "the store cannot be opened");
	}
}

/* kill -9, and another start; at times the index is lost, too. */
static void crash(struct run *r)
{
	char command[160];

	if (r->abandoned_count == ABANDONED_MAX)
		return;
	if (r->film.w)
		r->abandoned[r->abandoned_count++] = r->film.w;
	r->film.w = NULL;
	r->recording_since = 0;
	store_free(r->store);
	snprintf(command, sizeof(command), "rm -f %s/index.db*", store_path);
	if (!chance(r, 3))
		check(r, !system(command), "the index cannot be removed");
	open_again(r);
	/* as each start does */
	check(r, !store_tick(r->store, r->now * SECOND, NULL), "the store fails");
	r->crashes++;
}

/* Someone removes a closed film of this machine. */
static void remove_film(struct run *r)
{
	struct store_film *film;
	char path[256];

	if (!r->store->films.count)
		return;
	film = r->store->films.at[chance(r, (unsigned int)r->store->films.count)];
	if (film->is_growing || film->is_part || !film->is_indexed || !film->last ||
	    strcmp(film->host, hosts[OWN]) != 0)
		return;
	forget(r, OWN, film->start / SECOND, film->last / SECOND + 1);
	snprintf(path, sizeof(path), "%s/%s", store_path, film->name);
	unlink(path);
	database_remove_side_files(path);
	r->store->next_scan = 0;
	r->removed++;
}

static void let_happen(struct run *r)
{
	if (!chance(r, 1800))
		crash(r);
	if (!chance(r, 900))
		remove_film(r);
	if (!chance(r, 300) && r->film.w && r->now - r->begin > 40)
		keep_film(r);
	/* the recorder pauses, or goes on */
	if (!r->film.w && !chance(r, 10)) {
		begin_film(r);
		r->recording_since = r->now;
	} else if (r->film.w && !chance(r, 1200)) {
		close_film(r);
		r->recording_since = 0;
	}
}

static void keep_house(struct run *r)
{
	struct fail why = {0};
	int err = 0;

	if (r->now % 5)
		return;
	/* as on a machine that looks when it is time */
	vec_foreach (&r->store->films, film)
		(*film)->again = 0;
	err = r->now % 10 ? store_follow(r->store, &why)
			  : store_tick(r->store, r->now * SECOND, &why);
	if (err) {
		fail_print(&why);
		failed(r, "the store fails");
	}
	for (unsigned int host = 0; host < HOSTS && r->now - r->begin > AGE_MAX / SECOND; host++)
		if (r->now % 60 == 0)
			forget(r, host, r->now - AGE_MAX / SECOND - 120,
			       r->now - AGE_MAX / SECOND + 3600);
}

/* Questions */

static uint64_t sum_of(const struct run *r, uint64_t *const of[HOSTS], int host, uint64_t from,
		       uint64_t to)
{
	uint64_t sum = 0;

	from = from < r->begin ? r->begin : from;
	to = to > r->now ? r->now : to;
	for (int h = 0; h < HOSTS; h++)
		for (uint64_t i = from; (host < 0 || h == host) && i < to; i++)
			sum += of[h][i - r->begin];
	return sum;
}

/* Of each stretch of time that was filmed one sample of each CPU more than its length. */
static bool is_possible(uint64_t total, uint64_t filmed, int host)
{
	uint64_t cpus = host < 0 ? CPUS * HOSTS : CPUS;

	return total <= cpus * (filmed + VALUE);
}

static void check_sum(struct run *r, const struct store_sum *sum, int host)
{
	uint64_t most = sum_of(r, r->most, host, sum->from / SECOND, (sum->to - 1) / SECOND + 1);
	uint64_t least = sum_of(r, r->least, host, (sum->complete_from + SECOND - 1) / SECOND,
				sum->complete_until / SECOND);

	if (sum->total > most)
		failed(r, "an answer has more than was filmed");
	if (sum->total < least)
		failed(r, "an answer lacks a part, and does not say so");
	if (!is_possible(sum->total, sum->filmed, host))
		failed(r, "an answer has more than the CPUs can do in the time that it says");
	r->asked++;
	r->by_films += sum->by_films;
	r->partial += sum->complete_until < sum->to || sum->complete_from > sum->from;
}

static void check_lag(struct run *r, const struct store_sum *sum, uint64_t to)
{
	uint64_t wanted = to < r->now ? to : r->now, has = sum->complete_until / SECOND;

	if (!r->recording_since || has >= wanted)
		return;
	r->worst_lag = r->now - has > r->worst_lag ? r->now - has : r->worst_lag;
	if (r->now - has > LAG)
		failed(r, "answers are complete until long ago");
}

static void ask_timeline(struct run *r, const struct store_ask *ask, int host)
{
	struct store_timeline t;
	struct fail why = {0};
	uint64_t sum = 0;

	if (store_timeline(r->store, ask, STORE_BY_NOTHING, 1 + chance(r, 200), 10, NULL, &t,
			   &why)) {
		fail_print(&why);
		failed(r, "no answer");
	}
	check_sum(r, &t.sum, host);
	check_lag(r, &t.sum, ask->to / SECOND);
	for (size_t row = 0; row < t.rows; row++)
		for (size_t step = 0; step < t.steps; step++) {
			check(r, is_possible(t.at[row].values[step], t.filmed[step], host),
			      "a step has more than the CPUs can do in the time that it says");
			sum += t.at[row].values[step];
		}
	check(r, sum == t.sum.total, "the steps are not all");
	store_timeline_free(&t);
}

static void ask_series(struct run *r, const struct store_ask *ask, int host)
{
	struct store_series_list list;
	struct fail why = {0};

	if (store_series(r->store, ask, 10, &list, &why)) {
		fail_print(&why);
		failed(r, "no answer");
	}
	check_sum(r, &list.sum, host);
	check_lag(r, &list.sum, ask->to / SECOND);
	store_series_free(&list);
}

static void ask_something(struct run *r)
{
	static const unsigned int lengths[] = {10, 60, 300, 900, 3600, 6 * 3600};
	unsigned int length = 1 + chance(r, lengths[chance(r, 6)]);
	uint64_t to = r->now - (chance(r, 2) ? 0 : chance(r, 3600)), from;
	int host = (int)chance(r, HOSTS + 1) - 1;
	/* at times there is time for one film alone */
	struct store_ask ask = {.host = host < 0 ? NULL : hosts[host],
				.patience = chance(r, 3) ? 0 : 1};

	to = to <= r->begin ? r->now : to;
	from = to - length < r->begin ? r->begin : to - length;
	if (chance(r, 2)) {
		from -= from % 60;
		to = (to + 59) / 60 * 60;
	}
	ask.from = from * SECOND;
	ask.to = to * SECOND;
	if (chance(r, 2))
		ask_timeline(r, &ask, host);
	else
		ask_series(r, &ask, host);
}

static void live(struct run *r)
{
	begin_film(r);
	r->recording_since = r->now;
	while (++r->now < r->end) {
		if (r->film.w)
			record_second(r);
		if (r->film.w && r->now % TURN == 0) {
			close_film(r);
			begin_film(r);
		}
		if (r->now % 10 == 0 && chance(r, 8))
			send_agent_film(r);
		let_happen(r);
		keep_house(r);
		ask_something(r);
	}
	if (r->film.w)
		close_film(r);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 3600;
	struct run r = {
		.seed = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 1,
		.begin = BEGIN,
		.now = BEGIN,
		.end = BEGIN + seconds,
	};

	kept_set_up(NULL);
	for (unsigned int i = 0; i < HOSTS; i++) {
		r.most[i] = calloc(seconds + 1, sizeof(*r.most[i]));
		r.least[i] = calloc(seconds + 1, sizeof(*r.least[i]));
		check(&r, r.most[i] && r.least[i], "no memory");
	}
	open_again(&r);
	live(&r);
	for (unsigned int i = 0; i < r.abandoned_count; i++)
		film_close(r.abandoned[i], r.now * SECOND, NULL);
	store_free(r.store);
	kept_tear_down(NULL);
	for (unsigned int i = 0; i < HOSTS; i++) {
		free(r.most[i]);
		free(r.least[i]);
	}
	printf("%llu questions, %llu read films, %llu said that they are partial; complete until"
	       " at most %llu s ago; %llu films closed beside a reader, %llu crashes, %llu films"
	       " removed, %llu kept\n",
	       (unsigned long long)r.asked, (unsigned long long)r.by_films,
	       (unsigned long long)r.partial, (unsigned long long)r.worst_lag,
	       (unsigned long long)r.closed_beside, (unsigned long long)r.crashes,
	       (unsigned long long)r.removed, (unsigned long long)r.kept);
	return 0;
}
