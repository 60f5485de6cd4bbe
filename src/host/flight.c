// SPDX-License-Identifier: Apache-2.0
/*
 * Films of some seconds, one after the other, lie in a ring: the oldest go when they are too old or
 * take too much memory. A thread keeps them: it waits until what comes after has been filmed as
 * well, has the film that is under way closed, and gives all of them to where they are kept.
 */
#include "host/flight.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"
#include "host/kept_lately.h"
#include "host/recorder.h"
#include "host/say.h"
#include "host/triggers.h"
#include "host/lookout.h"
#include "store/keep.h"

/*
 * The longest time of a film, and the part of all memory that one may take: what is too old goes a
 * film at a time.
 */
#define FILM_NS	   (10 * SECOND_NS)
#define FILM_PARTS 8

/* How long a film that is asked for may take to be closed: its names are looked up. */
#define CLOSE_NS (30 * SECOND_NS)

enum {
	WANTS_MAX = 64, /* of those that wait to be kept */
	REASON_MAX = 512,
};

/* Something that is a reason to keep what was filmed. */
struct want {
	char reason[REASON_MAX];
	enum happening_kind kind; /* HAPPENINGS: none, it was asked for */
	uint64_t time;		  /* when it happened, ns of the monotonic clock */
	uint64_t after;		  /* up to when is to be filmed */
	/* of a request: the caller's, who waits */
	struct request *request; /* null: none */
};

struct request {
	bool is_done;
	int err;
	struct flight_kept *kept;
	struct fail *why;
};

struct flight {
	struct flight_options options;
	struct recorder *recorder;
	struct lookout *lookout; /* null: there is nothing to look for */
	struct flight_place place;
	pthread_t thread;
	bool runs;

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	vec(struct reel_closed_film) films; /* in order; closed, and not kept */
	struct want wants[WANTS_MAX];
	size_t want_count;
	uint64_t bytes, growing; /* of films; of the one that is recorded */
	uint64_t ended;		 /* the end of the last one that was closed */
	struct flight_state counts;
	struct kept_lately lately;
	struct say_rarely refused[HAPPENINGS]; /* what the log says of those that are not kept */
	bool stop, is_over;		       /* it is to end; the recorder has */
};

/* The ring: with the lock held */

static void drop_oldest(struct flight *flight)
{
	flight->bytes -= flight->films.at[0].film.size;
	film_bytes_free(&flight->films.at[0].film);
	flight->films.count--;
	for (size_t i = 0; i < flight->films.count; i++)
		flight->films.at[i] = flight->films.at[i + 1];
}

/* What is too old, or too much, goes. */
static void make_room(struct flight *flight)
{
	const struct flight_options *options = &flight->options;
	uint64_t now = clock_ns();

	while (flight->films.count && flight->films.at[0].to + options->time < now)
		drop_oldest(flight);
	while (flight->films.count && flight->bytes + flight->growing > options->bytes) {
		flight->counts.crowded++;
		drop_oldest(flight);
	}
	if (flight->bytes + flight->growing > flight->counts.bytes_most)
		flight->counts.bytes_most = flight->bytes + flight->growing;
}

static void keep_film(void *context, const struct reel_closed_film *taken)
{
	struct flight *flight = context;
	struct film_bytes film = taken->film;

	pthread_mutex_lock(&flight->lock);
	flight->ended = taken->to;
	if (!taken->why.err && vec_push(&flight->films, *taken)) {
		flight->bytes += film.size;
		/* its bytes have moved from there to here */
		flight->growing = flight->growing > film.size ? flight->growing - film.size : 0;
	} else {
		film_bytes_free(&film);
	}
	make_room(flight);
	pthread_cond_broadcast(&flight->changed);
	pthread_mutex_unlock(&flight->lock);
	if (taken->why.err)
		host_say_fail(&taken->why, "");
}

static void film_grows(void *context, uint64_t bytes)
{
	struct flight *flight = context;

	pthread_mutex_lock(&flight->lock);
	flight->growing = bytes;
	make_room(flight);
	pthread_mutex_unlock(&flight->lock);
}

/* Keeping */

/* Waits for a change, at most until a time (ns of the monotonic clock). False: it is that time. */
static bool await_until(struct flight *flight, uint64_t time)
{
	struct timespec at = {(time_t)(time / SECOND_NS), (long)(time % SECOND_NS)};

	return pthread_cond_timedwait(&flight->changed, &flight->lock, &at) != ETIMEDOUT;
}

/* Until when the wants that there are have to be filmed. */
static uint64_t latest_end(const struct flight *flight)
{
	uint64_t end = 0;

	for (size_t i = 0; i < flight->want_count; i++)
		if (flight->wants[i].after > end)
			end = flight->wants[i].after;
	return end;
}

/*
 * All that is wanted is filmed, and in films that are closed. With the lock held, which is released
 * meanwhile. Where the recorder has ended, all that there will be is there.
 */
static int await_films(struct flight *flight, struct fail *why)
{
	/* not longer by what happens meanwhile: that is kept with the next film */
	uint64_t end = latest_end(flight), patience;

	while (!flight->is_over && !flight->stop && clock_ns() < end)
		await_until(flight, end);
	recorder_turn(flight->recorder);
	patience = clock_ns() + CLOSE_NS;
	while (flight->ended < end && !flight->is_over)
		if (!await_until(flight, patience))
			return fail(why, -ETIMEDOUT, "try again",
				    "the film that is recorded was not closed in time");
	return 0;
}

/* The wall clock's time of one of the monotonic clock. */
static uint64_t wall_of(uint64_t time)
{
	return time + (uint64_t)clock_wall_offset();
}

/* With the lock released. Frees the films. */
static int deliver(const struct flight *flight, const struct want *want,
		   const struct reel_closed_film *taken, size_t count, struct flight_kept *kept,
		   struct fail *why)
{
	struct film_bytes *films = calloc(count + 1, sizeof(*films));
	const struct event_list recorded =
		event_list_common(flight->options.events, flight->options.recorded);
	struct store_keep keep = {
		.films = films,
		.count = count,
		.host = flight->options.host,
		.labels = flight->options.labels,
		.reason = want->reason,
		.time = wall_of(want->time),
		.recorded = &recorded,
	};
	int err;

	for (size_t i = 0; i < count && films; i++)
		films[i] = taken[i].film;
	for (size_t i = 0; i < count && !films; i++) {
		struct film_bytes film = taken[i].film;

		film_bytes_free(&film);
	}
	if (!films)
		return fail_errno(why, -ENOMEM, NULL, "cannot keep a film");
	if (count) {
		kept->from = wall_of(taken[0].from);
		kept->to = wall_of(taken[count - 1].to);
	}
	keep.start = kept->from;
	err = flight->place.keep(flight->place.context, &keep, kept->path, sizeof(kept->path), why);
	free(films);
	return err;
}

/* What is said in the log of a film that was kept, or was not. */
static void say_kept(const struct want *want, const struct flight_kept *kept, int err,
		     const struct fail *why)
{
	if (err && want->request)
		return; /* its caller gets the error */
	if (err)
		host_say("%s; it cannot be kept: %s", want->reason, why->what);
	else
		host_say("kept: %s; the %.0f s before are in %s", want->reason,
			 (double)(kept->to - kept->from) / 1e9, kept->path);
}

static void answer(struct flight *flight, const struct want *want, int err,
		   const struct flight_kept *kept, const struct fail *why)
{
	struct request *request = want->request;

	if (!request)
		return;
	request->err = err;
	if (err)
		*request->why = *why;
	else
		*request->kept = *kept;
	request->is_done = true;
	pthread_cond_broadcast(&flight->changed);
}

/* Pops those that the films have all of, in their order. Returns how many. */
static size_t pop_due(struct flight *flight, bool all, struct want due[WANTS_MAX])
{
	size_t count = 0, left = 0;

	for (size_t i = 0; i < flight->want_count; i++)
		if (all || flight->wants[i].after <= flight->ended)
			due[count++] = flight->wants[i];
		else
			flight->wants[left++] = flight->wants[i];
	flight->want_count = left;
	return count;
}

/* The first for each kind is said, and how many others: requests may fail by the dozen. */
static void say_due(const struct want *due, size_t count, bool are_marks,
		    const struct flight_kept *kept, int err, const struct fail *why)
{
	bool is_said[HAPPENINGS] = {false};
	size_t others = 0;

	for (size_t i = 0; i < count; i++) {
		bool *said = due[i].kind < HAPPENINGS ? &is_said[due[i].kind] : NULL;

		if (said && *said) {
			others++;
			continue;
		}
		if (said)
			*said = true;
		say_kept(&due[i], kept, err, why);
	}
	if (others && !err)
		host_say("%zu more such things happened meanwhile%s", others,
			 are_marks ? ": marks on the page say which" : "");
}

/* The first is why the film is kept, the others are marks in it. */
static int keep_due(struct flight *flight, const struct want *due, size_t count,
		    const struct reel_closed_film *films, size_t film_count,
		    struct flight_kept *kept, struct fail *why)
{
	const struct flight_place *place = &flight->place;
	int err = deliver(flight, &due[0], films, film_count, kept, why);
	struct fail ignored = {0};

	for (size_t i = 1; i < count && !err && place->mark; i++)
		if (place->mark(place->context, flight->options.host, wall_of(due[i].time),
				due[i].reason, &ignored))
			host_say_fail(&ignored, "");
	return err;
}

/* With the lock held, which is released while the store works. */
static void keep_films(struct flight *flight)
{
	struct want due[WANTS_MAX];
	struct flight_kept kept = {0};
	struct fail why = {0};
	int err = await_films(flight, &why);
	size_t count = pop_due(flight, err || flight->is_over, due), film_count = 0;
	struct reel_closed_film *films = NULL;
	uint64_t bytes = 0;

	if (!count)
		return;
	if (!err) {
		films = flight->films.at;
		film_count = flight->films.count;
		memset(&flight->films, 0, sizeof(flight->films));
	}
	pthread_mutex_unlock(&flight->lock);
	if (!err)
		err = keep_due(flight, due, count, films, film_count, &kept, &why);
	free(films);
	pthread_mutex_lock(&flight->lock);
	/* until then the films counted, as they were in memory */
	vec_foreach (&flight->films, film)
		bytes += film->film.size;
	flight->bytes = bytes;
	flight->counts.kept += !err;
	flight->counts.failed += err != 0 && err != -ENODATA;
	for (size_t i = 0; i < count; i++)
		answer(flight, &due[i], err, &kept, &why);
	/* a reader of the log finds the counts changed */
	pthread_mutex_unlock(&flight->lock);
	say_due(due, count, flight->place.mark, &kept, err, &why);
	pthread_mutex_lock(&flight->lock);
}

static void *keep(void *context)
{
	struct flight *flight = context;

	pthread_setname_np(pthread_self(), "flight");
	pthread_mutex_lock(&flight->lock);
	while (flight->want_count || !flight->is_over)
		if (flight->want_count)
			keep_films(flight);
		else
			pthread_cond_wait(&flight->changed, &flight->lock);
	pthread_mutex_unlock(&flight->lock);
	return NULL;
}

/* Adds a want. With the lock held. False: there are too many, or it is about to end. */
static bool add_want(struct flight *flight, const char *reason, enum happening_kind kind,
		     uint64_t time, uint64_t after, struct request *request)
{
	struct want *want = &flight->wants[flight->want_count];

	if (flight->stop || !flight->runs || flight->want_count == WANTS_MAX)
		return false;
	*want = (struct want){
		.kind = kind, .time = time, .after = time + after, .request = request};
	snprintf(want->reason, sizeof(want->reason), "%s", reason);
	flight->want_count++;
	pthread_cond_broadcast(&flight->changed);
	return true;
}

/* Whether those of one kind take so much room that another kind would find none. */
static bool are_many(const struct flight *flight, enum happening_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < flight->want_count; i++)
		count += flight->wants[i].kind == kind;
	return count >= WANTS_MAX / HAPPENINGS;
}

/*
 * Something happened: it is kept, if not too much was; or is a mark in the film that is about to be
 * kept. With the lock held. Null: one of them; else what is said, in words.
 */
static const char *want_happening(struct flight *flight, const struct trigger *trigger,
				  const struct happening *happening, const char *words)
{
	static const char full[] =
		"not marked in the film that is about to be kept: too much happens";
	const char *refused;

	/* what is about to be kept has it, too */
	if (flight->want_count)
		return !are_many(flight, happening->kind) &&
				       add_want(flight, words, happening->kind, happening->time, 0,
						NULL)
			       ? NULL
			       : full;
	refused = kept_lately_refuses(&flight->lately, happening->kind, happening->time,
				      trigger->cool_ns);
	if (refused)
		return refused;
	return add_want(flight, words, happening->kind, happening->time, flight->options.after,
			NULL)
		       ? NULL
		       : "not kept: the flight recorder ends";
}

static void happened(void *context, const struct happening *happening)
{
	struct flight *flight = context;
	char words[REASON_MAX];
	const struct trigger *trigger = trigger_of(happening, words, sizeof(words));
	const char *refused;
	uint64_t more = 0;
	bool is_said;

	if (!trigger)
		return;
	pthread_mutex_lock(&flight->lock);
	refused = want_happening(flight, trigger, happening, words);
	flight->counts.refused += refused != NULL;
	/* requests may fail by the thousand */
	is_said = refused && say_rarely(&flight->refused[happening->kind], happening->time, &more);
	pthread_mutex_unlock(&flight->lock);
	if (!is_said)
		return;
	if (more)
		host_say("%s; %s; before it %llu more of that kind", words, refused,
			 (unsigned long long)more);
	else
		host_say("%s; %s", words, refused);
}

int flight_keep(struct flight *flight, const char *reason, struct flight_kept *kept,
		struct fail *why)
{
	struct request request = {.kept = kept, .why = why};
	bool is_added;

	pthread_mutex_lock(&flight->lock);
	is_added = add_want(flight, *reason ? reason : "asked for", HAPPENINGS, clock_ns(), 0,
			    &request);
	while (is_added && !request.is_done)
		pthread_cond_wait(&flight->changed, &flight->lock);
	pthread_mutex_unlock(&flight->lock);
	return is_added ? request.err
			: fail(why, -EBUSY, "try again later",
			       "cannot keep what was filmed: too much is being kept, or it ends");
}

/* From start to end */

int flight_new(const struct flight_options *options, struct flight **result, struct fail *why)
{
	struct flight *flight = calloc(1, sizeof(*flight));
	struct recorder_options recorder = {
		.events = options->events,
		.sources = options->sources,
		.requests = options->requests,
		.selection = options->selection,
		.thread = "camera",
		.span_ns = options->time / 2 < FILM_NS ? options->time / 2 : FILM_NS,
		.hostname = options->host,
		.labels = options->labels,
		.command = options->command,
		.in_memory = true,
		.bytes_max = options->bytes / FILM_PARTS,
		.taken = keep_film,
		.grows = film_grows,
		.happened = happened,
		.limits = options->limits,
		/* the one that records all the time says the same */
		.quiet = options->quiet ||
			 (options->recorded && event_list_has(options->recorded, EVENT_REQUESTS)),
		.context = flight,
	};
	pthread_condattr_t monotonic;
	int err;

	*result = NULL;
	if (!flight)
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	flight->options = *options;
	flight->lately.hour = options->hour;
	pthread_mutex_init(&flight->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&flight->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	err = recorder_new(&recorder, &flight->recorder, why);
	if (err) {
		flight_free(flight);
		return err;
	}
	*result = flight;
	return 0;
}

int flight_start(struct flight *flight, const struct flight_place *place, struct fail *why)
{
	const struct lookout_options lookout = {
		.programs = flight->options.selection,
		.queue = flight->options.queue,
		.cpu = flight->options.cpu,
		.pressure = flight->options.pressure,
		.listener = {happened, flight},
	};
	struct fail unwatched = {0};
	int err = recorder_start(flight->recorder, why);

	if (err)
		return err;
	flight->place = *place;
	err = pthread_create(&flight->thread, NULL, keep, flight);
	if (err)
		return fail_errno(why, -err, NULL, "cannot start a thread");
	pthread_mutex_lock(&flight->lock);
	flight->runs = true;
	pthread_mutex_unlock(&flight->lock);
	if (lookout_start(&lookout, &flight->lookout, &unwatched))
		host_say_fail(&unwatched, "; nothing is kept for that");
	/* by now, what happens as the recorder begins can be kept */
	return recorder_await(flight->recorder, why);
}

void flight_stop(struct flight *flight)
{
	if (!flight)
		return;
	pthread_mutex_lock(&flight->lock);
	flight->stop = true;
	pthread_cond_broadcast(&flight->changed);
	pthread_mutex_unlock(&flight->lock);
	recorder_stop(flight->recorder);
}

int flight_ended(const struct flight *flight)
{
	return flight ? recorder_ended(flight->recorder) : -1;
}

/* Those of the last minute, which no line has counted. */
static void say_refused(struct flight *flight)
{
	uint64_t more = 0;

	pthread_mutex_lock(&flight->lock);
	for (size_t i = 0; i < HAPPENINGS; i++)
		more += flight->refused[i].more;
	pthread_mutex_unlock(&flight->lock);
	if (more)
		host_say("other things that happened and were not kept: %llu",
			 (unsigned long long)more);
}

int flight_join(struct flight *flight, struct fail *why)
{
	int err;

	if (!flight)
		return 0;
	lookout_free(flight->lookout);
	flight->lookout = NULL;
	err = recorder_join(flight->recorder, why);
	say_refused(flight);
	pthread_mutex_lock(&flight->lock);
	flight->is_over = true;
	pthread_cond_broadcast(&flight->changed);
	pthread_mutex_unlock(&flight->lock);
	if (flight->runs)
		pthread_join(flight->thread, NULL);
	flight->runs = false;
	return err;
}

void flight_free(struct flight *flight)
{
	if (!flight)
		return;
	recorder_free(flight->recorder);
	vec_foreach (&flight->films, film)
		film_bytes_free(&film->film);
	vec_free(&flight->films);
	kept_lately_free(&flight->lately);
	pthread_cond_destroy(&flight->changed);
	pthread_mutex_destroy(&flight->lock);
	free(flight);
}

void flight_state(struct flight *flight, struct flight_state *state)
{
	struct recorder_state recorder;
	uint64_t now = clock_ns();
	bool is_over;

	*state = (struct flight_state){0};
	if (!flight)
		return;
	recorder_state(flight->recorder, &recorder);
	pthread_mutex_lock(&flight->lock);
	*state = flight->counts;
	is_over = flight->is_over;
	state->bytes = flight->bytes + flight->growing;
	if (flight->films.count)
		state->time = now - flight->films.at[0].from;
	pthread_mutex_unlock(&flight->lock);
	state->is_filming = recorder.is_filming && !is_over;
	state->lost = recorder.lost;
	state->cpu_seconds = recorder.cpu_seconds;
	state->run_ns = recorder.run_ns;
	state->losses = recorder.losses;
}
