// SPDX-License-Identifier: Apache-2.0
/*
 * An endless recording, film after film: what was taken is in the films, also if something fails
 * between two.
 */
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/reel.h"
#include "record/sources.h"
#include "film/loss_kinds.h"
#include "film/reader.h"

#define SPAN_NS	  500000000ull
#define HOUR_S	  3600
#define FILMS_MAX 64

static char folder[64];

/* The wall clock that the reel sees: the machine's, set by that many seconds. */
static _Atomic int64_t clock_set_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	long err = syscall(SYS_clock_gettime, clock, now);

	if (!err && clock == CLOCK_REALTIME)
		now->tv_sec += clock_set_s;
	return (int)err;
}

struct films {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int asked, begun, done, failed, troubles, works;
	uint64_t told_unwritten;
	unsigned int refuse_from, refuse_to; /* of asked: no film can be begun */
	unsigned int awaited_works;
	bool is_filled;	     /* the disk */
	uint64_t span_ns;    /* 0: SPAN_NS */
	uint64_t tables_max; /* 0: no limit */
	bool is_hour_late;   /* when the first film begins: it ends with the hour, soon */
	int64_t set_clock_s; /* when the first film is done */
	char paths[FILMS_MAX][128];
};

static int next(void *context, uint64_t wall_now, char *path, size_t size, struct fail *why)
{
	struct films *films = context;
	unsigned int asked = films->asked++;

	assert_true(wall_now > 1600000000000000000);
	if (asked >= films->refuse_from && asked < films->refuse_to)
		return fail_errno(why, -ENOSPC, NULL, "cannot create the film");
	assert_true(films->begun < FILMS_MAX);
	if (!asked && films->is_hour_late)
		clock_set_s = HOUR_S - 2 - time(NULL) % HOUR_S;
	snprintf(path, size, "%s/%u.film", folder, films->begun);
	pthread_mutex_lock(&films->lock);
	films->begun++;
	pthread_cond_signal(&films->changed);
	pthread_mutex_unlock(&films->lock);
	return 0;
}

static void done(void *context, const char *path, int err, const struct fail *why)
{
	struct films *films = context;

	(void)why;
	pthread_mutex_lock(&films->lock);
	snprintf(films->paths[films->done++], sizeof(films->paths[0]), "%s", path);
	films->failed += err != 0;
	if (films->done == 1)
		clock_set_s += films->set_clock_s;
	pthread_cond_signal(&films->changed);
	pthread_mutex_unlock(&films->lock);
}

static void trouble(void *context, const struct fail *why)
{
	struct films *films = context;

	assert_int_equal(why->err, -ENOSPC);
	pthread_mutex_lock(&films->lock);
	films->troubles++;
	pthread_cond_signal(&films->changed);
	pthread_mutex_unlock(&films->lock);
}

static void works(void *context, uint64_t unwritten)
{
	struct films *films = context;

	pthread_mutex_lock(&films->lock);
	films->works++;
	films->told_unwritten += unwritten;
	pthread_cond_signal(&films->changed);
	pthread_mutex_unlock(&films->lock);
}

static void await_trouble(struct films *films)
{
	pthread_mutex_lock(&films->lock);
	while (!films->begun || !films->troubles)
		pthread_cond_wait(&films->changed, &films->lock);
	pthread_mutex_unlock(&films->lock);
}

static void await_done(struct films *films, unsigned int count)
{
	pthread_mutex_lock(&films->lock);
	while (films->done < count || films->works < films->awaited_works)
		pthread_cond_wait(&films->changed, &films->lock);
	pthread_mutex_unlock(&films->lock);
}

__attribute__((noinline)) static unsigned long work_for_the_reel(unsigned long n)
{
	while (n) {
		n = n * 6364136223846793005ull + 1442695040888963407ull;
		/* compilers may leave out a loop that does nothing else */
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}

static pid_t start_worker(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit((int)work_for_the_reel(1));
}

/*
 * What a film holds; each is complete: it has the names of its frames and the process of its
 * threads.
 */
static uint64_t check_film(const char *path, pid_t worker, uint64_t *unwritten)
{
	struct film *film = NULL;
	struct fail why = {0};
	uint64_t samples, total;
	bool worked = false;

	if (film_open(path, &film, &why))
		fail_print(&why);
	assert_non_null(film);
	assert_string_equal(film->info.labels, "env=test");
	assert_string_equal(film->info.hostname, "here");
	film_event_total(film, 1, &samples, &total);
	for (uint32_t i = 1; i < film->function_count; i++)
		worked |= !strncmp(film->functions[i].name, "work_for_the_reel", 17);
	assert_true(worked || !samples);
	for (uint32_t i = 1; i < film->process_count; i++)
		assert_int_equal(film->processes[i].pid, worker);
	for (size_t i = 0; i < film->loss_count; i++) {
		if (strstr(film->losses[i].reason, "no film could be written"))
			*unwritten += film->losses[i].count;
	}
	film_free(film);
	return samples;
}

static void *run(void *context)
{
	struct fail why = {0};

	if (reel_run(context, &why))
		fail_print(&why);
	return NULL;
}

struct recorded {
	struct reel_statistics statistics;
	uint64_t samples, unwritten; /* in all films, and as they say */
};

/* The disk is full until it was noticed. */
static void fill_disk(struct films *films)
{
	char filler[96];
	ssize_t written;
	int fd;

	snprintf(filler, sizeof(filler), "%s/filler", folder);
	fd = open(filler, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	do
		written = write(fd, films->paths, 512);
	while (written > 0);
	close(fd);
	/* no film can be begun, or the one that was cannot be written on */
	await_trouble(films);
	unlink(filler);
}

static struct recorded record(struct films *films, unsigned int wanted)
{
	pid_t worker = start_worker();
	struct selection selection = {.pids = &worker, .pid_count = 1};
	struct sources_settings sources = sources_settings_usual();
	struct camera_options camera = {.selection = &selection, .sources = &sources};
	struct reel_options options = {
		.camera = &camera,
		.span_ns = films->span_ns     ? films->span_ns
			   : films->is_filled ? 3 * SPAN_NS
					      : SPAN_NS,
		.aligned = true,
		.tables_max = films->tables_max,
		.hostname = "here",
		.labels = "env=test",
		.command = "test",
		.next = next,
		.done = done,
		.trouble = trouble,
		.works = works,
		/* longer than each of the films */
		.good_ns = 2 * SPAN_NS,
		.context = films,
	};
	struct recorded recorded = {0};
	struct reel *reel = NULL;
	struct fail why = {0};
	pthread_t thread;

	sources_turn_on(&sources, "on-cpu");
	sources_set_value(&sources, "frequency", 999);
	if (reel_new(&options, &reel, &why))
		fail_print(&why);
	assert_non_null(reel);
	assert_int_equal(pthread_create(&thread, NULL, run, reel), 0);
	if (films->is_filled)
		fill_disk(films);
	await_done(films, wanted);
	reel_stop(reel);
	pthread_join(thread, NULL);
	reel_statistics(reel, &recorded.statistics);
	assert_int_equal(films->done, recorded.statistics.films);
	reel_free(reel);
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	for (unsigned int i = 0; i < films->done; i++)
		recorded.samples += check_film(films->paths[i], worker, &recorded.unwritten);
	return recorded;
}

static void test_nothing_is_lost_between_films(void **state)
{
	struct films films = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
	struct recorded recorded = record(&films, 4);

	(void)state;
	assert_int_equal(recorded.samples, recorded.statistics.samples);
	assert_true(recorded.samples > 100);
	assert_int_equal(films.done, films.begun);
	assert_int_equal(recorded.statistics.lost, 0);
	assert_true(recorded.statistics.cpu_seconds > 0);
	assert_int_equal(films.troubles, 0);
	assert_int_equal(films.failed, 0);
}

static uint64_t samples_of(const struct loss_table *losses)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < losses->count; i++)
		if (film_loss_kind(losses->rows[i].reason) == FILM_LOSS_SAMPLE)
			sum += losses->rows[i].count;
	return sum;
}

/* No second film can be begun for a while: what is lost is known to the last sample. */
static void test_no_film_can_be_begun(void **state)
{
	struct films films = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .refuse_from = 1,
			      .refuse_to = 2, .awaited_works = 1};
	struct recorded recorded = record(&films, 2);

	(void)state;
	assert_true(recorded.statistics.unwritten > 0);
	assert_int_equal(recorded.samples + recorded.statistics.unwritten,
			 recorded.statistics.samples);
	assert_int_equal(recorded.unwritten, recorded.statistics.unwritten);
	assert_int_equal(recorded.statistics.lost, recorded.statistics.unwritten);
	/* the same by reason */
	assert_int_equal(samples_of(&recorded.statistics.losses), recorded.statistics.lost);
	assert_int_equal(films.troubles, 1);
	/* that is over is reported once, also where no film is as long as it takes to see it */
	assert_int_equal(films.works, 1);
	assert_int_equal(films.told_unwritten, recorded.statistics.unwritten);
}

/* A film cannot be written on: it ends, and another one begins when there is room again. */
static void test_full_disk(void **state)
{
	struct films films = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
			      .is_filled = true};
	struct recorded recorded;

	(void)state;
	if (mount("tmpfs", folder, "tmpfs", 0, "size=400k"))
		skip();
	recorded = record(&films, 3);
	assert_true(films.troubles > 0);
	assert_true(recorded.statistics.unwritten > 0);
	assert_int_equal(recorded.samples + recorded.statistics.unwritten,
			 recorded.statistics.samples);
	assert_int_equal(recorded.unwritten, recorded.statistics.unwritten);
}

static int64_t wall_offset_of(const char *path)
{
	struct film *film = NULL;
	struct fail why = {0};
	int64_t offset;

	if (film_open(path, &film, &why))
		fail_print(&why);
	assert_non_null(film);
	offset = film->info.wall_offset;
	film_free(film);
	return offset / 1000000000;
}

/* In seconds. */
static uint64_t length_of(const char *path)
{
	struct film *film = NULL;
	uint64_t length;

	assert_int_equal(film_open(path, &film, NULL), 0);
	length = (film->info.end - film->info.start) / 1000000000;
	film_free(film);
	return length;
}

/*
 * The clock is set: the film that is on ends at once, though it has most of an hour left; the next
 * one has the new time.
 */
static void test_the_clock_is_set(void **state)
{
	static const int64_t set_by[] = {-2 * HOUR_S, 5 * HOUR_S};

	(void)state;
	for (size_t i = 0; i < sizeof(set_by) / sizeof(set_by[0]); i++) {
		struct films films = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
				      .span_ns = HOUR_S * 1000000000ull, .is_hour_late = true,
				      .set_clock_s = set_by[i]};
		struct recorded recorded;
		int64_t before;

		clock_set_s = 0;
		recorded = record(&films, 2);
		assert_int_equal(films.done, 3);
		before = wall_offset_of(films.paths[1]);
		assert_in_range(wall_offset_of(films.paths[2]), before + set_by[i] - 1,
				before + set_by[i] + 1);
		assert_int_equal(recorded.samples, recorded.statistics.samples);
		assert_int_equal(recorded.statistics.lost, 0);
		assert_int_equal(films.failed, 0);
	}
	clock_set_s = 0;
}

/*
 * A film whose tables take more memory than they may ends long before its time, but not at once;
 * nothing is lost.
 */
static void test_large_tables(void **state)
{
	struct films films = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
			      .span_ns = 2 * 60 * 1000000000ull, .tables_max = 1};
	struct recorded recorded = record(&films, 2);
	uint64_t first = length_of(films.paths[0]), second = length_of(films.paths[1]);

	(void)state;
	/* one of them may be shorter, as films are aligned */
	assert_in_range(first > second ? first : second, 2, 60);
	assert_true(recorded.samples > 100);
	assert_int_equal(recorded.samples, recorded.statistics.samples);
	assert_int_equal(recorded.statistics.lost, 0);
	assert_int_equal(films.failed, 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/reel-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	umount2(folder, MNT_DETACH);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_lost_between_films, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_no_film_can_be_begun, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_clock_is_set, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_tables, set_up, tear_down),
	};

	if (geteuid()) {
		fputs("filming needs root here\n", stderr);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
