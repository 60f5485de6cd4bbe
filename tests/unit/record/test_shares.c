// SPDX-License-Identifier: Apache-2.0
/*
 * A storm of one source takes no room in the rings from another one: calls come without end, no
 * thread drains, and no sample is lost. Needs root, as all that loads probes.
 */
#include "../prelude.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sources/calls/calls.h"
#include "record/camera.h"
#include "record/new_film.h"
#include "record/sources.h"
#include "film/reader.h"

/* Rings that calls fill soon, and copies of the first stacks do not, on a busy machine, too. */
#define RING_BYTES (1u << 20)

/*
 * So much CPU time the storm has beyond that, ns: with samples in it, which need far less room than
 * their share.
 */
#define STORM_NS  1000000000ull
#define FREQUENCY 11

/* More than there are samples: those that were lost are calls. */
#define CALLS_LOST 1000

unsigned long storm_step(unsigned long x);

__attribute__((noinline, noclone, used, visibility("default"))) unsigned long
storm_step(unsigned long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

static pid_t start_storm(void)
{
	pid_t pid = fork();
	unsigned long x = 1;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		x = storm_step(x);
}

/* What an event lost for want of room in a ring. */
static uint64_t lost(const struct film *film, const char *event)
{
	uint32_t id = film_find_event(film, event);
	uint64_t sum = 0;

	assert_int_not_equal(id, 0);
	for (size_t i = 0; i < film->loss_count; i++)
		if (film->losses[i].event == id && strstr(film->losses[i].reason, "ring full"))
			sum += film->losses[i].count;
	return sum;
}

static uint64_t cpu_time(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &time), 0);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void check(int err, const struct fail *why)
{
	if (err)
		print_error("%s; %s\n", why->what, why->to_do);
	assert_int_equal(err, 0);
}

/*
 * The first samples of a process are larger than others, with a copy of its stack, until the kernel
 * has the rules for its code. Returns what was lost up to then.
 */
static uint64_t take_first_samples(struct camera *camera)
{
	struct camera_statistics statistics;
	struct fail why;

	do {
		usleep(10000);
		check(camera_drain(camera, &why), &why);
		camera_statistics(camera, &statistics);
	} while (statistics.samples == statistics.handed_over);
	return statistics.lost;
}

/* Films both at once, and drains nothing until calls were lost for a while. */
static void film_storm(pid_t storm, const char *path)
{
	struct selection selection = {.pids = &storm, .pid_count = 1};
	struct plan_pattern pattern = {.include = true, .text = "storm_step"};
	struct calls_options tracer = {
		.plan = {.selection = &selection, .patterns = &pattern, .pattern_count = 1},
		.keep = true,
	};
	struct sources_settings sources = sources_settings_usual();
	struct camera_options options = {
		.selection = &selection, .sources = &sources, .ring_limit = RING_BYTES};
	struct new_film of_film = {.path = path, .command = "test"};
	struct camera_statistics statistics;
	struct camera *camera = NULL;
	struct film_writer *film;
	struct calls *calls;
	struct fail why = {0};
	uint64_t full = 0, lost_before;

	check(calls_new(&tracer, &calls, &why), &why);
	assert_true(sources_turn_on(&sources, "on-cpu"));
	assert_true(sources_turn_on(&sources, "calls"));
	sources.at[CAPTURE_SOURCE_CALLS].given = calls;
	sources_set_value(&sources, "frequency", FREQUENCY);
	check(camera_new(&options, &camera, &why), &why);
	check(new_film(&of_film, &film, NULL, &why), &why);
	check(camera_start(camera, film, &why), &why);
	lost_before = take_first_samples(camera);
	do {
		usleep(10000);
		camera_statistics(camera, &statistics);
		if (statistics.lost - lost_before < CALLS_LOST)
			full = cpu_time(storm);
	} while (cpu_time(storm) - full < STORM_NS);
	check(camera_stop(camera, &why), &why);
	check(film_close(film, clock_ns(), &why), &why);
	camera_free(camera);
	calls_free(calls);
}

static void a_storm_leaves_the_others_their_room(void **state)
{
	char path[] = "/tmp/stackcam-shares-XXXXXX";
	int fd = mkstemp(path);
	pid_t storm;
	struct film *film;
	struct fail why;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	if (geteuid())
		skip();
	storm = start_storm();
	assert_true(storm > 0);
	film_storm(storm, path);
	kill(storm, SIGKILL);
	waitpid(storm, NULL, 0);
	check(film_open(path, &film, &why), &why);
	assert_true(lost(film, "calls"));
	assert_int_equal(lost(film, "on-cpu"), 0);
	film_free(film);
	unlink(path);
}

/* Calls at a time, far fewer than the smallest ring has room for. */
#define BATCH	500
#define BATCHES 60

/* Makes a batch of calls for each byte that it reads, and answers it. */
static pid_t start_batches(int *ask, int *answered)
{
	int asks[2], answers[2];
	unsigned long x = 1;
	pid_t pid;
	char byte;

	assert_int_equal(pipe(asks) | pipe(answers), 0);
	*ask = asks[1];
	*answered = answers[0];
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(asks[0], &byte, 1) == 1) {
		for (int i = 0; i < BATCH; i++)
			x = storm_step(x);
		if (write(answers[1], &byte, 1) != 1)
			break;
	}
	_exit((int)(x & 1));
}

static void film_batches(struct camera *camera, int ask, int answered)
{
	struct fail why;
	char byte = 0;

	for (int i = 0; i < BATCHES; i++) {
		assert_int_equal(write(ask, &byte, 1), 1);
		assert_int_equal(read(answered, &byte, 1), 1);
		check(camera_drain(camera, &why), &why);
	}
}

static int count_calls(void *context, const struct film_calls *calls)
{
	size_t *whole = context;

	for (size_t i = 0; i < calls->count; i++)
		*whole += !calls->flags[i];
	return 0;
}

/* The rings go round some dozen times, and their end cuts a record in most of them. */
static void records_that_the_end_of_a_ring_cuts_are_whole(void **state)
{
	struct plan_pattern pattern = {.include = true, .text = "storm_step"};
	struct sources_settings sources = sources_settings_usual();
	char path[] = "/tmp/stackcam-shares-XXXXXX";
	int fd = mkstemp(path), ask, answered;
	pid_t pid = start_batches(&ask, &answered);
	struct selection selection = {.pids = &pid, .pid_count = 1};
	struct calls_options tracer = {
		.plan = {.selection = &selection, .patterns = &pattern, .pattern_count = 1},
		.keep = true,
	};
	struct camera_options options = {
		.selection = &selection, .sources = &sources, .ring_limit = 128u << 10};
	struct new_film of_film = {.path = path, .command = "test"};
	struct film_writer *writer;
	struct camera *camera;
	struct calls *calls;
	struct film *film;
	struct fail why;
	size_t whole = 0;

	(void)state;
	assert_true(fd >= 0 && pid > 0);
	close(fd);
	unlink(path);
	if (geteuid())
		skip();
	check(calls_new(&tracer, &calls, &why), &why);
	assert_true(sources_turn_on(&sources, "calls"));
	sources.at[CAPTURE_SOURCE_CALLS].given = calls;
	check(camera_new(&options, &camera, &why), &why);
	check(new_film(&of_film, &writer, NULL, &why), &why);
	check(camera_start(camera, writer, &why), &why);
	film_batches(camera, ask, answered);
	check(camera_stop(camera, &why), &why);
	check(film_close(writer, clock_ns(), &why), &why);
	camera_free(camera);
	calls_free(calls);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check(film_open(path, &film, &why), &why);
	check(film_each_calls(film, film_find_event(film, "calls"), 0, UINT64_MAX, false,
			      count_calls, &whole, &why),
	      &why);
	assert_int_equal(whole, BATCH * BATCHES);
	assert_int_equal(film->loss_count, 0);
	film_free(film);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_that_the_end_of_a_ring_cuts_are_whole),
		cmocka_unit_test(a_storm_leaves_the_others_their_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
