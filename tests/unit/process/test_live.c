// SPDX-License-Identifier: Apache-2.0
/*
 * Follows a child that does all that the kernel announces: a thread, a library, a child of its own
 * that executes another program, exits. Needs the right to watch whole CPUs.
 */
#include "../prelude.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/sideband.h"

#define WORD	"-word-of-the-live-test-"
#define SKIPPED 77

static void *work(void *unused)
{
	pthread_setname_np(pthread_self(), "live-worker");
	return unused;
}

/* What the filmed child does; the pipe's end says when to begin. */
static void live(int begin)
{
	pthread_t thread;
	char byte;
	void *memory;
	pid_t pid;

	if (read(begin, &byte, 1) != 0)
		_exit(1);
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		_exit(2);
	if (!dlopen(DLOPENED, RTLD_NOW))
		_exit(3);
	memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		_exit(4);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "test-process-live", WORD, NULL);
		_exit(5);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		_exit(6);
	_exit(0);
}

struct seen {
	struct targets *targets;
	pid_t child, grandchild, worker;
	uint64_t last;
	char order[512];
	bool ordered, worker_ended;
	int others;
};

static void say(struct seen *seen, const char *word)
{
	size_t used = strlen(seen->order);

	snprintf(seen->order + used, sizeof(seen->order) - used, "%s ", word);
}

/* What the event says of a file leads to its virtual addresses. */
static void check_mapping(const struct process *p, const struct target_event *e)
{
	struct mapping *m = process_mapping(p, e->start);
	uint64_t bias;

	assert_non_null(m);
	assert_true(m->image->is_elf);
	assert_true(m->image->fd >= 0);
	assert_true(image_bias(m->image, e->start, e->offset, &bias));
	assert_int_equal(bias, m->bias);
	assert_int_equal(bias & 4095, 0);
}

static void take_of_child(struct seen *seen, const struct target_event *e)
{
	switch (e->kind) {
	case TARGET_FORK:
		if (e->pid == seen->child && e->tid != seen->child) {
			seen->worker = e->tid;
			say(seen, "thread");
		}
		break;
	case TARGET_COMM:
		if (e->tid == seen->worker && !strcmp(e->comm, "live-worker"))
			say(seen, "name");
		break;
	case TARGET_MMAP:
		if (strstr(e->path, "test-process-dlopened")) {
			say(seen, "library");
			check_mapping(targets_known(seen->targets, seen->child), e);
		} else if (!strcmp(e->path, "//anon")) {
			say(seen, "jit");
		}
		break;
	case TARGET_EXIT:
		/* a thread that joins another may go on before the kernel is done with its end */
		if (e->tid == seen->worker)
			seen->worker_ended = true;
		else
			say(seen, "child-ends");
		break;
	default:
		break;
	}
}

static void take_of_grandchild(struct seen *seen, const struct target_event *e)
{
	struct process *p = targets_known(seen->targets, seen->grandchild);

	assert_non_null(p);
	switch (e->kind) {
	case TARGET_EXEC:
		say(seen, "exec");
		assert_string_equal(e->comm, "exe");
		break;
	case TARGET_MMAP:
		if (strstr(e->path, "/test-process-live"))
			say(seen, "program");
		else if (strstr(e->path, "/ld-linux"))
			say(seen, "loader");
		else if (strstr(e->path, "/libc.so"))
			say(seen, "libc");
		if (e->path[0] == '/' && e->inode)
			check_mapping(p, e);
		break;
	case TARGET_EXIT:
		say(seen, "grandchild-ends");
		assert_true(p->end == e->time);
		assert_non_null(strstr(p->exe, "/test-process-live"));
		assert_int_equal(p->execs, 1);
		break;
	default:
		break;
	}
}

static void take(void *context, const struct target_event *event)
{
	struct seen *seen = context;

	if (event->time < seen->last)
		seen->ordered = false;
	seen->last = event->time;
	targets_handle(seen->targets, event);
	if (event->kind == TARGET_FORK && event->pid == seen->child && event->tid == seen->child) {
		say(seen, "child");
		assert_true(targets_known(seen->targets, seen->child)->mapping_count > 0);
	} else if (event->kind == TARGET_FORK && event->parent_pid == seen->child &&
		   event->pid != seen->child) {
		seen->grandchild = event->pid;
		say(seen, "fork");
		assert_int_equal(targets_known(seen->targets, seen->grandchild)->mapping_count,
				 targets_known(seen->targets, seen->child)->mapping_count);
	} else if (event->pid == seen->child) {
		take_of_child(seen, event);
	} else if (seen->grandchild && event->pid == seen->grandchild) {
		take_of_grandchild(seen, event);
	} else {
		seen->others++;
	}
}

static void a_whole_life(void **state)
{
	struct sideband *sideband = *state;
	struct targets_listener listener = {0};
	struct seen seen = {.ordered = true};
	struct fail why = {0};
	int begin[2], status;

	assert_int_equal(targets_new(&listener, &seen.targets), 0);
	assert_int_equal(pipe(begin), 0);
	seen.child = fork();
	if (!seen.child) {
		close(begin[1]);
		live(begin[0]);
	}
	close(begin[0]);
	close(begin[1]);
	assert_int_equal(waitpid(seen.child, &status, 0), seen.child);
	assert_int_equal(status, 0);
	/* all is in the rings by now; no event is older than the start of time */
	assert_int_equal(sideband_read(sideband, 1, take, &seen, &why), 0);
	assert_string_equal(seen.order, "");
	assert_int_equal(sideband_read(sideband, UINT64_MAX, take, &seen, &why), 0);
	assert_string_equal(seen.order, "child thread name library jit fork exec program loader "
					"libc grandchild-ends child-ends ");
	assert_true(seen.ordered);
	assert_true(seen.worker_ended);
	assert_int_equal(sideband_lost(sideband), 0);
	assert_true(sideband_poll_fd(sideband) >= 0);
	targets_free(seen.targets);
}

static void count(void *context, const struct target_event *event)
{
	(void)event;
	++*(uint64_t *)context;
}

/* A small ring overflows: what did not fit is counted. */
static void overflow(void **state)
{
	struct sideband *small;
	struct fail why = {0};
	uint64_t taken = 0, maps = 4000;

	(void)state;
	assert_int_equal(sideband_open(1, &small, &why), 0);
	for (uint64_t i = 0; i < maps; i++) {
		void *memory = mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(memory, 4096);
	}
	assert_int_equal(sideband_read(small, UINT64_MAX, count, &taken, &why), 0);
	assert_true(taken < maps);
	assert_true(sideband_lost(small) > 0);
	assert_true(taken + sideband_lost(small) >= maps);
	sideband_close(small);
}

/* The same when another thread keeps the ring empty: then nothing is lost. */
static void relieved(void **state)
{
	struct seen seen = {.ordered = true};
	struct targets_listener listener = {0};
	struct sideband *small;
	struct fail why = {0};
	uint64_t taken = 0;
	int maps = 4000;

	(void)state;
	assert_int_equal(sideband_open(8, &small, &why), 0);
	assert_int_equal(targets_new(&listener, &seen.targets), 0);
	for (int i = 0; i < maps; i++) {
		void *memory = mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(memory, 4096);
		if (i % 50 == 0)
			sideband_relieve(small);
		/* what is too young stays for the next time */
		if (i == maps / 2)
			assert_int_equal(sideband_read(small, 1, count, &taken, &why), 0);
	}
	assert_int_equal(taken, 0);
	assert_int_equal(sideband_read(small, UINT64_MAX, take, &seen, &why), 0);
	assert_true(seen.ordered);
	assert_true(seen.others >= maps);
	assert_int_equal(sideband_lost(small), 0);
	targets_free(seen.targets);
	sideband_close(small);
}

static void wrong_sizes(void **state)
{
	struct sideband *none;
	struct fail why = {0};

	(void)state;
	assert_int_equal(sideband_open(0, &none, &why), -EINVAL);
	assert_int_equal(sideband_open(3, &none, &why), -EINVAL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(a_whole_life, NULL),
		cmocka_unit_test(overflow),
		cmocka_unit_test(relieved),
		cmocka_unit_test(wrong_sizes),
	};
	struct CMUnitTest live_tests[sizeof(tests) / sizeof(tests[0])];
	struct sideband *sideband;
	struct fail why = {0};
	int status;

	/* the grandchild: it was executed, and that is all */
	if (argc > 1 && !strcmp(argv[1], WORD))
		return 0;
	if (sideband_open(64, &sideband, &why) == -EPERM) {
		fail_print(&why);
		return SKIPPED;
	}
	if (why.err) {
		fail_print(&why);
		return 1;
	}
	memcpy(live_tests, tests, sizeof(tests));
	live_tests[0].initial_state = sideband;
	status = cmocka_run_group_tests(live_tests, NULL, NULL);
	sideband_close(sideband);
	return status;
}
