// SPDX-License-Identifier: Apache-2.0
#include "record/reel.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/privileges.h"
#include "record/new_film.h"
#include "record/sources.h"

/* How often rings are drained when nothing asks for it sooner. */
#define DRAIN_NS 250000000ull

/*
 * When no film can be written, another is tried after this time, then after twice as long, and so
 * on.
 */
#define RETRY_FIRST_NS (2 * SECOND_NS)
#define RETRY_LAST_NS  (30 * SECOND_NS)
/* Films without trouble for so long show that they can be written again. */
#define GOOD_NS (60 * SECOND_NS)

/*
 * Wall clocks that are slewed differ by less in the time of a film; one that is set differs by
 * more.
 */
#define CLOCK_SET_NS 1000000000

/*
 * A film that becomes large is not closed before this part of its span: where programs start and
 * end all the time, a machine has many films else, and does little but begin them.
 */
#define SHORTEST_PART 60

#define UNWRITTEN     "sample: no film could be written"

/* A film that is to be closed, which takes the disk's time and not that of who records. */
struct closing {
	struct reel *reel;
	struct film_writer *film;
	uint64_t from, now, samples; /* that it was given */
	char path[sizeof(((struct reel_statistics *)0)->path)];
	struct fail why; /* it ended early */
};

/* The film that is being recorded. */
struct reel_film {
	struct film_writer *writer;
	bool is_kept; /* on disk; else it is nowhere, until one can be written again */
	char path[sizeof(((struct reel_statistics *)0)->path)];
	uint64_t start, end; /* end: when the next one is due */
	int64_t wall_offset;
	uint64_t samples; /* that the films before had */
};

struct reel {
	struct reel_options options;
	char *hostname, *labels, *command;
	struct camera *camera;
	int stop, tick, epoll;
	int asked; /* another film is to begin */
	bool is_asked;

	sem_t begun;
	int begin_err;	      /* once that is posted */
	pthread_mutex_t lock; /* of the next two */
	struct reel_statistics shown;
	uint64_t unwritten;

	/* of the thread that records */
	struct reel_film film;
	uint64_t retry_ns, retry_at, last_second;
	uint64_t good_since; /* ns: since when films are written; 0: they are not */
	bool is_told;	     /* that no film can be written */
	uint64_t told_unwritten;
	pthread_t closer;
	bool is_closing;
};

static bool copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static bool copy_options(struct reel *reel, const struct reel_options *options)
{
	reel->options = *options;
	if (!copy_text(&reel->hostname, options->hostname) ||
	    !copy_text(&reel->labels, options->labels) ||
	    !copy_text(&reel->command, options->command))
		return false;
	if (!options->good_ns)
		reel->options.good_ns = GOOD_NS;
	reel->options.hostname = reel->hostname;
	reel->options.labels = reel->labels;
	reel->options.command = reel->command;
	return true;
}

static int watch(struct reel *reel, struct fail *why)
{
	struct itimerspec every = {{0, (long)DRAIN_NS}, {0, (long)DRAIN_NS}};
	struct epoll_event on_stop = {.events = EPOLLIN, .data.fd = reel->stop};
	struct epoll_event on_tick = {.events = EPOLLIN, .data.fd = reel->tick};
	struct epoll_event on_asked = {.events = EPOLLIN, .data.fd = reel->asked};
	struct epoll_event on_samples = {.events = EPOLLIN, .data.fd = -1};

	if (reel->epoll < 0 || reel->stop < 0 || reel->tick < 0 || reel->asked < 0 ||
	    epoll_ctl(reel->epoll, EPOLL_CTL_ADD, reel->asked, &on_asked) ||
	    epoll_ctl(reel->epoll, EPOLL_CTL_ADD, reel->stop, &on_stop) ||
	    epoll_ctl(reel->epoll, EPOLL_CTL_ADD, reel->tick, &on_tick) ||
	    epoll_ctl(reel->epoll, EPOLL_CTL_ADD, camera_fd(reel->camera), &on_samples) ||
	    timerfd_settime(reel->tick, 0, &every, NULL))
		return fail_errno(why, -errno, NULL, "cannot wait for samples");
	return 0;
}

int reel_new(const struct reel_options *options, struct reel **result, struct fail *why)
{
	struct reel *reel = calloc(1, sizeof(*reel));
	int err, nice;

	if (!reel)
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	sem_init(&reel->begun, 0, 0);
	pthread_mutex_init(&reel->lock, NULL);
	reel->epoll = epoll_create1(EPOLL_CLOEXEC);
	reel->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	reel->asked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	reel->tick = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	reel->shown.frequency = (unsigned int)sources_value(options->camera->sources, "frequency");
	if (!copy_options(reel, options)) {
		reel_free(reel);
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	}
	/* the camera raises the priority of who makes it; that is for the thread that records */
	nice = getpriority(PRIO_PROCESS, 0);
	err = camera_new(options->camera, &reel->camera, why);
	setpriority(PRIO_PROCESS, 0, nice);
	if (!err)
		err = watch(reel, why);
	if (err) {
		reel_free(reel);
		return err;
	}
	*result = reel;
	return 0;
}

void reel_free(struct reel *reel)
{
	if (!reel)
		return;
	camera_free(reel->camera);
	if (reel->epoll >= 0)
		close(reel->epoll);
	if (reel->stop >= 0)
		close(reel->stop);
	if (reel->tick >= 0)
		close(reel->tick);
	if (reel->asked >= 0)
		close(reel->asked);
	sem_destroy(&reel->begun);
	pthread_mutex_destroy(&reel->lock);
	free(reel->hostname);
	free(reel->labels);
	free(reel->command);
	free(reel);
}

int reel_await(struct reel *reel)
{
	while (sem_wait(&reel->begun) && errno == EINTR)
		;
	return reel->begin_err;
}

void reel_stop(struct reel *reel)
{
	uint64_t one = 1;

	/* it is full only if it was stopped already */
	if (write(reel->stop, &one, sizeof(one)) < 0)
		return;
}

void reel_turn(struct reel *reel)
{
	eventfd_write(reel->asked, 1);
}

static uint64_t unwritten(struct reel *reel)
{
	uint64_t samples;

	pthread_mutex_lock(&reel->lock);
	samples = reel->unwritten;
	pthread_mutex_unlock(&reel->lock);
	return samples;
}

static void add_unwritten(struct reel *reel, uint64_t samples)
{
	pthread_mutex_lock(&reel->lock);
	reel->unwritten += samples;
	pthread_mutex_unlock(&reel->lock);
}

/* Emits a film in memory; what is not known about it is a loss of the next one. */
static void emit_film(struct closing *closing)
{
	struct reel *reel = closing->reel;
	struct reel_closed_film taken = {.from = closing->from, .to = closing->now};
	int err = film_close_in_memory(closing->film, closing->now, &taken.film, &taken.why);

	if (err)
		add_unwritten(reel, closing->samples);
	reel->options.taken(reel->options.context, &taken);
	free(closing);
}

static void *close_film(void *context)
{
	struct closing *closing = context;
	struct reel *reel = closing->reel;
	struct fail why = {0};
	uint64_t written;
	int err;

	if (reel->options.in_memory) {
		emit_film(closing);
		return NULL;
	}
	err = film_close_counted(closing->film, closing->now, &written, &why);
	if ((closing->why.err || err) && written < closing->samples)
		add_unwritten(reel, closing->samples - written);
	if (closing->why.err) {
		why = closing->why;
		err = why.err;
	}
	if (reel->options.done)
		reel->options.done(reel->options.context, closing->path, err, &why);
	free(closing);
	return NULL;
}

static void *close_film_unprivileged(void *context)
{
	struct fail ignored;

	/* it closes a file that is open */
	privileges_keep(0, &ignored);
	return close_film(context);
}

static void await_closer(struct reel *reel)
{
	if (reel->is_closing)
		pthread_join(reel->closer, NULL);
	reel->is_closing = false;
}

/*
 * Lets go of a film, which got samples up to end; early: why it ends before its time, or null.
 */
static void end_film(struct reel *reel, const struct reel_film *film, uint64_t end,
		     uint64_t samples, const struct fail *early)
{
	struct closing *closing = film->is_kept ? calloc(1, sizeof(*closing)) : NULL;

	if (!film->is_kept)
		add_unwritten(reel, samples - film->samples);
	if (!closing) {
		film_close(film->writer, end, NULL);
		if (film->is_kept && reel->options.done)
			reel->options.done(reel->options.context, film->path, 0, NULL);
		return;
	}
	closing->reel = reel;
	closing->film = film->writer;
	closing->from = film->start;
	closing->now = end;
	closing->samples = samples - film->samples;
	memcpy(closing->path, film->path, sizeof(closing->path));
	if (early)
		closing->why = *early;
	await_closer(reel);
	if (pthread_create(&reel->closer, NULL, close_film_unprivileged, closing))
		close_film(closing);
	else
		reel->is_closing = true;
}

static void report_trouble(struct reel *reel, const struct fail *why)
{
	if (!reel->is_told) {
		reel->told_unwritten = unwritten(reel);
		if (reel->options.trouble)
			reel->options.trouble(reel->options.context, why);
	}
	reel->is_told = true;
	reel->good_since = 0;
}

/* Films may be shorter than the time that shows it. */
static void look_if_it_works(struct reel *reel, uint64_t now)
{
	if (!reel->good_since)
		reel->good_since = now;
	if (now - reel->good_since <= reel->options.good_ns)
		return;
	reel->retry_ns = 0;
	if (reel->is_told && reel->options.works)
		reel->options.works(reel->options.context, unwritten(reel) - reel->told_unwritten);
	reel->is_told = false;
}

/* Each time after twice as long, until a film lasts. */
static void retry_later(struct reel *reel, uint64_t now)
{
	reel->retry_ns = reel->retry_ns ? 2 * reel->retry_ns : RETRY_FIRST_NS;
	if (reel->retry_ns > RETRY_LAST_NS)
		reel->retry_ns = RETRY_LAST_NS;
	reel->retry_at = now + reel->retry_ns;
}

static int make_film_here(struct reel *reel, struct reel_film *film, struct fail *why)
{
	struct new_film options = {
		.path = film->is_kept && !reel->options.in_memory ? film->path : NULL,
		.in_memory = film->is_kept && reel->options.in_memory,
		.hostname = reel->hostname,
		.labels = reel->labels,
		.command = reel->command ? reel->command : "",
	};
	uint64_t span = reel->options.span_ns, wall;
	struct film_info begun;
	int err = new_film(&options, &film->writer, &begun, why);

	if (err)
		return err;
	if (!reel->options.in_memory)
		film_keep_aside(film->writer);
	film->start = begun.start;
	film->wall_offset = begun.wall_offset;
	wall = begun.start + (uint64_t)begun.wall_offset;
	film->end = begun.start + (reel->options.aligned ? span - wall % span : span);
	return 0;
}

struct making {
	struct reel *reel;
	struct reel_film *film;
	struct fail *why;
	int err;
};

static void *make_film_unprivileged(void *context)
{
	struct making *making = context;

	making->err = privileges_keep(0, making->why);
	if (!making->err)
		making->err = make_film_here(making->reel, making->film, making->why);
	return NULL;
}

/*
 * The thread that writes a film is started with it, and must not have what the one that records
 * needs.
 */
static int make_film(struct reel *reel, struct reel_film *film, struct fail *why)
{
	struct making making = {reel, film, why, 0};
	pthread_t maker;

	if (pthread_create(&maker, NULL, make_film_unprivileged, &making))
		return make_film_here(reel, film, why);
	pthread_join(maker, NULL);
	return making.err;
}

/* A film on disk for what comes now. */
static int begin_film(struct reel *reel, struct reel_film *film)
{
	uint64_t wall_now = clock_ns() + (uint64_t)clock_wall_offset();
	struct fail why = {0};
	int err = 0;

	memset(film, 0, sizeof(*film));
	film->is_kept = true;
	if (!reel->options.in_memory)
		err = reel->options.next(reel->options.context, wall_now, film->path,
					 sizeof(film->path), &why);
	if (!err)
		err = make_film(reel, film, &why);
	if (err) {
		report_trouble(reel, &why);
		return err;
	}
	pthread_mutex_lock(&reel->lock);
	reel->shown.films++;
	pthread_mutex_unlock(&reel->lock);
	return 0;
}

/* A film that is kept nowhere: it takes what comes until another can be begun. */
static int begin_without(struct reel *reel, struct reel_film *film, struct fail *why)
{
	memset(film, 0, sizeof(*film));
	return make_film(reel, film, why);
}

/* Reports to the film, and to who asks, how it stands. Returns the number of samples so far. */
static uint64_t report_status(struct reel *reel)
{
	struct reel_statistics *shown = &reel->shown;
	struct camera_statistics camera;
	uint64_t unwritten;
	struct timespec cpu;

	camera_statistics(reel->camera, &camera);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	pthread_mutex_lock(&reel->lock);
	unwritten = reel->unwritten;
	shown->samples = camera.samples;
	shown->unwritten = unwritten;
	if (!reel->film.is_kept)
		shown->unwritten += camera.samples - reel->film.samples;
	shown->lost = camera.lost + shown->unwritten;
	shown->losses = *camera.losses;
	loss_table_set(&shown->losses, sources_name(CAPTURE_SOURCE_NONE), UNWRITTEN,
		       shown->unwritten);
	shown->cpu_seconds = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
	shown->run_ns = camera.run_ns;
	shown->is_writing = reel->film.is_kept;
	shown->hung = camera_hung(reel->camera, &shown->hung_since);
	shown->seen = clock_ns();
	memcpy(shown->path, reel->film.path, sizeof(shown->path));
	pthread_mutex_unlock(&reel->lock);
	if (unwritten)
		camera_loss(reel->camera, UNWRITTEN, unwritten);
	return camera.samples;
}

/* Goes on with another film. What is wrong with the one before must not keep it from that. */
static void turn(struct reel *reel, struct reel_film *next, const struct fail *early)
{
	struct reel_film before = reel->film;
	struct fail ignored;

	camera_turn(reel->camera, next->writer, &next->start, &ignored);
	reel->film = *next;
	reel->film.samples = report_status(reel);
	end_film(reel, &before, next->start, reel->film.samples, early);
	report_status(reel);
}

/* The film's time is over. */
static int turn_in_time(struct reel *reel, uint64_t now, struct fail *why)
{
	struct reel_film next;
	int err = begin_film(reel, &next);

	if (err) {
		retry_later(reel, now);
		err = begin_without(reel, &next, why);
	}
	if (!err)
		turn(reel, &next, NULL);
	return err;
}

/* Gives up a film that cannot be written on. */
static int abandon(struct reel *reel, const struct fail *early, struct fail *why)
{
	struct reel_film next;
	int err = begin_without(reel, &next, why);

	if (err)
		return err;
	report_trouble(reel, early);
	retry_later(reel, clock_ns());
	turn(reel, &next, early);
	return 0;
}

static int retry(struct reel *reel, uint64_t now, struct fail *why)
{
	struct reel_film next;
	int err;

	if (!begin_film(reel, &next)) {
		turn(reel, &next, NULL);
		return 0;
	}
	retry_later(reel, now);
	/* what is kept nowhere is in memory */
	if (now < reel->film.end)
		return 0;
	err = begin_without(reel, &next, why);
	if (!err)
		turn(reel, &next, NULL);
	return err;
}

static bool clock_was_set(const struct reel *reel)
{
	int64_t difference = clock_wall_offset() - reel->film.wall_offset;

	return difference > CLOCK_SET_NS || difference < -CLOCK_SET_NS;
}

static bool has_large_tables(const struct reel *reel, uint64_t now)
{
	const struct film_counts counts = film_row_counts(reel->film.writer);
	uint64_t most = reel->options.tables_max;

	return most && film_tables_size(&counts) > most &&
	       now - reel->film.start >= reel->options.span_ns / SHORTEST_PART;
}

/* It has as much as it may have, or another one is asked for. */
static bool is_enough(struct reel *reel, uint64_t now)
{
	uint64_t bytes = film_size(reel->film.writer);
	bool is_asked = reel->is_asked;

	reel->is_asked = false;
	if (!reel->options.in_memory)
		return is_asked || has_large_tables(reel, now);
	if (reel->options.grows)
		reel->options.grows(reel->options.context, bytes);
	return is_asked || bytes > reel->options.bytes_max;
}

static int each_second(struct reel *reel, uint64_t now, struct fail *why)
{
	report_status(reel);
	if (!reel->film.is_kept)
		return now >= reel->retry_at ? retry(reel, now, why) : 0;
	look_if_it_works(reel, now);
	return is_enough(reel, now) || now >= reel->film.end || clock_was_set(reel)
		       ? turn_in_time(reel, now, why)
		       : 0;
}

static int step(struct reel *reel, struct fail *why)
{
	struct fail early = {0};
	int err = camera_drain(reel->camera, &early);
	uint64_t now = clock_ns();

	if (err && !reel->film.is_kept) {
		*why = early;
		return err;
	}
	if (err)
		return abandon(reel, &early, why);
	if (now - reel->last_second < SECOND_NS && now < reel->film.end && !reel->is_asked)
		return 0;
	reel->last_second = now;
	return each_second(reel, now, why);
}

/* Waits for the next samples, at most for a tick. False: it is to stop. */
static bool await(struct reel *reel)
{
	struct epoll_event events[4];
	int n = epoll_wait(reel->epoll, events, 4, -1);
	uint64_t ticks;

	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == reel->stop)
			return false;
		if (events[i].data.fd == reel->asked)
			reel->is_asked = !eventfd_read(reel->asked, &ticks) || reel->is_asked;
		if (events[i].data.fd == reel->tick &&
		    read(reel->tick, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
			return false;
	}
	return true;
}

static int start(struct reel *reel, struct fail *why)
{
	int err = begin_film(reel, &reel->film);

	if (err) {
		retry_later(reel, clock_ns());
		err = begin_without(reel, &reel->film, why);
	}
	if (err)
		return err;
	pthread_mutex_lock(&reel->lock);
	reel->shown.since = clock_ns() + (uint64_t)clock_wall_offset();
	pthread_mutex_unlock(&reel->lock);
	return camera_start(reel->camera, reel->film.writer, why);
}

int reel_run(struct reel *reel, struct fail *why)
{
	struct fail ignored;
	sigset_t all;
	int err;

	/* signals are for the threads that know what to do about them */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	camera_raise_priority();
	err = start(reel, why);
	reel->begin_err = err;
	sem_post(&reel->begun);
	while (!err && await(reel))
		err = step(reel, why);
	camera_stop(reel->camera, &ignored);
	if (reel->film.writer)
		end_film(reel, &reel->film, camera_stopped(reel->camera), report_status(reel),
			 NULL);
	await_closer(reel);
	reel->film.writer = NULL;
	return err;
}

void reel_statistics(struct reel *reel, struct reel_statistics *statistics)
{
	pthread_mutex_lock(&reel->lock);
	*statistics = reel->shown;
	pthread_mutex_unlock(&reel->lock);
}
