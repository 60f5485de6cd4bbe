// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* before cmocka.h, which has a macro fail() */
#include "answers.h"
#include "film_build.h"
#include "film/go_reasons.h"
#include "arch/system_call_names.h"
#include "query/wait_class.h"

#include <cmocka.h>

/* For each rule, in their order, a wait that it is for, and that none before it takes. */
static const struct {
	struct wait_evidence evidence;
	enum wait_class class;
} examples[] = {
	{{"clone3", 'F'}, WAIT_CHILD},
	{{"futex", 'T'}, WAIT_STOPPED},
	{{"sched_yield", 'R'}, WAIT_READY},
	{{"chan-send", 'G'}, WAIT_CHANNEL},
	{{"select", 'G'}, WAIT_SELECT},
	{{"mutex", 'G'}, WAIT_LOCK},
	{{"cond", 'G'}, WAIT_SYNC},
	{{"io", 'G'}, WAIT_NETWORK},
	{{"sleep", 'G'}, WAIT_SLEEP},
	{{"gc", 'G'}, WAIT_GC},
	{{"runtime-idle", 'G'}, WAIT_NO_WORK},
	{{"other", 'G'}, WAIT_OTHER},
	{{"", 'D', 0, FILM_WAIT_IOWAIT}, WAIT_FAULT},
	{{"read", 'D', FILM_FD_FILE, FILM_WAIT_IOWAIT, WAIT_HAS_FAULT}, WAIT_FAULT},
	{{"io_uring_enter", 'S', FILM_FD_IO_URING, FILM_WAIT_IOWAIT}, WAIT_IO_URING},
	{{"read", 'D', FILM_FD_FILE, FILM_WAIT_IOWAIT}, WAIT_DISK},
	{{"fsync", 'D', FILM_FD_FILE, 0, WAIT_HAS_DISK}, WAIT_DISK},
	{{"", 'I', 0, FILM_WAIT_KERNEL}, WAIT_NO_WORK},
	{{"io_uring_enter", 'D', FILM_FD_IO_URING}, WAIT_IO_URING},
	{{"waitid", 'S'}, WAIT_CHILD},
	{{"clock_nanosleep", 'S'}, WAIT_SLEEP},
	{{"read", 'S', FILM_FD_TIMER}, WAIT_SLEEP},
	{{"ppoll", 'S', 0, 0, WAIT_HAS_NO_POLL}, WAIT_SLEEP},
	{{"pselect6", 'S', 0, 0, WAIT_HAS_NO_SELECT}, WAIT_SLEEP},
	{{"epoll_wait", 'S', FILM_FD_EPOLL}, WAIT_POLL},
	{{"futex", 'S', 0, 0, WAIT_HAS_SLEEP}, WAIT_SLEEP},
	{{"futex", 'S', 0, 0, WAIT_HAS_NO_WORK}, WAIT_NO_WORK},
	{{"futex", 'S'}, WAIT_LOCK},
	{{"fcntl", 'S', FILM_FD_FILE}, WAIT_LOCK},
	{{"munmap", 'D'}, WAIT_LOCK},
	{{"accept4", 'S', FILM_FD_SOCKET}, WAIT_ACCEPT},
	{{"connect", 'S', FILM_FD_SOCKET}, WAIT_CONNECT},
	{{"read", 'S', FILM_FD_PIPE}, WAIT_IPC},
	{{"recvmsg", 'S', FILM_FD_SOCKET}, WAIT_RECEIVE},
	{{"read", 'S', FILM_FD_SOCKET}, WAIT_RECEIVE},
	{{"sendto", 'S', FILM_FD_SOCKET}, WAIT_SEND},
	{{"writev", 'S', FILM_FD_SOCKET}, WAIT_SEND},
	{{"splice", 'S', FILM_FD_PIPE}, WAIT_IPC},
	{{"semtimedop", 'S'}, WAIT_IPC},
	{{"rt_sigtimedwait", 'S'}, WAIT_SIGNAL},
	{{"read", 'S', FILM_FD_SIGNAL}, WAIT_SIGNAL},
	{{"fdatasync", 'D', FILM_FD_FILE}, WAIT_FILE},
	{{"ioctl", 'D', FILM_FD_BLOCK_DEVICE}, WAIT_FILE},
};

static void test_each_rule(void **state)
{
	const struct wait_evidence none = {"personality", 'S'};
	const unsigned int count = sizeof(examples) / sizeof(examples[0]);

	(void)state;
	assert_int_equal(wait_rule_of(&none), count);
	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(wait_rule_of(&examples[i].evidence), i);
		assert_int_equal(wait_rule_class(i), examples[i].class);
	}
}

/* What looks like one of another rule, and is none. */
static void test_traps(void **state)
{
	static const struct {
		struct wait_evidence evidence;
		enum wait_class class;
	} traps[] = {
		/* a kernel thread is in no system call, and in no fault */
		{{"", 'D', 0, FILM_WAIT_KERNEL}, WAIT_OTHER},
		{{"", 'D', 0, FILM_WAIT_KERNEL | FILM_WAIT_IOWAIT}, WAIT_DISK},
		/* what a worker of io_uring does, or the thread as it hands in entries */
		{{"io_uring_enter", 'D', FILM_FD_IO_URING, 0, WAIT_HAS_DISK}, WAIT_DISK},
		{{"io_uring_enter", 'D', FILM_FD_IO_URING, FILM_WAIT_IOWAIT}, WAIT_DISK},
		/* a part of a name is not a name */
		{{"acc", 'S', FILM_FD_SOCKET}, WAIT_OTHER},
		{{"wait", 'S'}, WAIT_OTHER},
		{{"futex_", 'S'}, WAIT_OTHER},
		/* a disk's frames say nothing of a thread that can be interrupted */
		{{"futex", 'S', 0, 0, WAIT_HAS_DISK}, WAIT_LOCK},
		/* what is frozen for another reason, and what waits for the kernel's own locks */
		{{"wait4", 'F'}, WAIT_STOPPED},
		{{"vfork", 'T'}, WAIT_STOPPED},
		{{"clone", 'D'}, WAIT_OTHER},
		/* between processes of one machine, by any call */
		{{"recvfrom", 'S', FILM_FD_UNIX_SOCKET}, WAIT_IPC},
		{{"read", 'S', FILM_FD_DEVICE}, WAIT_OTHER},
		{{"?", 'S'}, WAIT_OTHER},
		{{"read", 0, FILM_FD_OTHER + 1}, WAIT_OTHER},
		{{"read", 'S', 200}, WAIT_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++)
		assert_int_equal(wait_rule_class(wait_rule_of(&traps[i].evidence)), traps[i].class);
}

/* A sleep has a time; a lock that a thread waits for below it has none. */
static void test_sleeps(void **state)
{
	struct wait_decider decider = {.arch = "x86_64"};
	struct film_wait wait = {
		.state = 'S', .call = SYS_futex + 1, .arguments = {4096, 0x189, 0, 8}};

	(void)state;
	assert_int_equal(wait_decide(&decider, &wait, WAIT_HAS_SLEEP), WAIT_SLEEP);
	assert_int_equal(wait_decide(&decider, &wait, 0), WAIT_LOCK);
	wait.arguments[3] = 0;
	assert_int_equal(wait_decide(&decider, &wait, WAIT_HAS_SLEEP), WAIT_LOCK);
	wait_decider_free(&decider);
}

/* What waits for work waits for a condition; Python's GIL is one as well, and has a time. */
static void test_waits_for_work(void **state)
{
	enum {
		WAIT = 128,	    /* FUTEX_WAIT_PRIVATE, */
		WAIT_BITSET = 0x189 /* and FUTEX_WAIT_BITSET_PRIVATE with FUTEX_CLOCK_REALTIME */
	};
	static const struct {
		uint64_t operation, value, time;
		enum wait_class timed, untimed; /* by WAIT_HAS_NO_WORK and …_UNTIMED */
	} waits[] = {
		{WAIT_BITSET, 0, 0, WAIT_NO_WORK, WAIT_NO_WORK},
		{WAIT_BITSET, 0, 4096, WAIT_NO_WORK, WAIT_LOCK},
		{WAIT, 0, 0, WAIT_NO_WORK, WAIT_NO_WORK},
		{WAIT, 2, 0, WAIT_LOCK, WAIT_LOCK},
	};
	struct wait_decider decider = {.arch = "x86_64"};

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		const struct film_wait wait = {
			.state = 'S',
			.call = SYS_futex + 1,
			.arguments = {4096, waits[i].operation, waits[i].value, waits[i].time},
		};

		assert_int_equal(wait_decide(&decider, &wait, WAIT_HAS_NO_WORK), waits[i].timed);
		assert_int_equal(wait_decide(&decider, &wait, WAIT_HAS_NO_WORK_UNTIMED),
				 waits[i].untimed);
		assert_int_equal(wait_decide(&decider, &wait, 0), WAIT_LOCK);
	}
	wait_decider_free(&decider);
}

/* poll(2) and select(2) of no descriptor sleep; without a time, poll(2) waits for a signal. */
static void test_sleeps_by_poll(void **state)
{
	static const struct {
		uint32_t call;
		uint64_t arguments[3];
		enum wait_class class;
	} polls[] = {
		{SYS_poll, {4096, 0, 100}, WAIT_SLEEP},
		{SYS_poll, {0, 0, 100}, WAIT_SLEEP},
		{SYS_poll, {4096, 1, 100}, WAIT_POLL},
		{SYS_poll, {4096, 0, 0xffffffff}, WAIT_POLL},
		{SYS_poll, {4096, 0, (uint64_t)-1}, WAIT_POLL},
		{SYS_ppoll, {0, 0, 0x7ffeffffff00}, WAIT_SLEEP},
		{SYS_ppoll, {0, 0, 0}, WAIT_POLL},
		{SYS_select, {0, 0, 0}, WAIT_SLEEP},
		{SYS_pselect6, {0, 0, 0}, WAIT_SLEEP},
		{SYS_pselect6, {4, 4096, 0}, WAIT_POLL},
		{SYS_epoll_wait, {0, 0, 100}, WAIT_POLL},
	};
	struct wait_decider decider = {.arch = "x86_64"};

	(void)state;
	for (size_t i = 0; i < sizeof(polls) / sizeof(polls[0]); i++) {
		struct film_wait wait = {.state = 'S', .call = (uint16_t)(polls[i].call + 1)};

		for (unsigned int k = 0; k < 3; k++)
			wait.arguments[k] = polls[i].arguments[k];
		assert_int_equal(wait_decide(&decider, &wait, 0), polls[i].class);
	}
	wait_decider_free(&decider);
}

static void test_goroutines(void **state)
{
	static const struct {
		enum film_go_reason reason;
		enum wait_class class;
	} reasons[] = {
		{FILM_GO_CHAN_RECEIVE, WAIT_CHANNEL},
		{FILM_GO_SELECT, WAIT_SELECT},
		{FILM_GO_RWMUTEX, WAIT_LOCK},
		{FILM_GO_SEMACQUIRE, WAIT_SYNC},
		{FILM_GO_IO, WAIT_NETWORK},
		{FILM_GO_SLEEP, WAIT_SLEEP},
		{FILM_GO_GC, WAIT_GC},
		{FILM_GO_IDLE, WAIT_NO_WORK},
		{FILM_GO_OTHER, WAIT_OTHER},
	};
	struct wait_decider decider = {.arch = "x86_64"};

	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const struct film_wait wait = {
			.state = FILM_WAIT_GOROUTINE,
			.call = (uint16_t)(reasons[i].reason + 1),
		};

		assert_int_equal(wait_decide(&decider, &wait, 0), reasons[i].class);
	}
	/* a number of a later version */
	assert_int_equal(wait_decide(&decider,
				     &(struct film_wait){.state = FILM_WAIT_GOROUTINE, .call = 900},
				     0),
			 WAIT_OTHER);
	wait_decider_free(&decider);
}

/* By the arguments of futex(2), with flags or without. */
static void test_conditions(void **state)
{
	enum {
		WAIT = 0,
		LOCK_PI = 6,
		WAIT_BITSET = 9,
		PRIVATE = 128,
		CLOCK_REALTIME = 256
	};

	(void)state;
	assert_false(wait_is_for_condition('S', WAIT | PRIVATE, 2));
	assert_false(wait_is_for_condition('S', LOCK_PI, 0));
	assert_true(wait_is_for_condition('S', WAIT, 0));
	assert_true(wait_is_for_condition('S', WAIT_BITSET | PRIVATE | CLOCK_REALTIME, 2));
	/* a kernel's lock: mmap() of some bytes, to read and write */
	assert_false(wait_is_for_condition('D', 4096, 3));
	/* a goroutine's: its arguments are others */
	assert_false(wait_is_for_condition('G', WAIT, 0));
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < WAIT_CLASSES; i++) {
		const char *name = wait_class_name((enum wait_class)i);

		assert_int_equal(wait_class_named(name, strlen(name)), i);
	}
	assert_int_equal(wait_class_named("loc", 3), WAIT_CLASSES);
	assert_int_equal(wait_class_named("", 0), WAIT_CLASSES);
	assert_string_equal(syscall_name("x86_64", SYS_futex), "futex");
	assert_string_equal(syscall_name("x86_64", SYS_read), "read");
	assert_string_equal(syscall_name("x86_64", SYS_io_uring_enter), "io_uring_enter");
	assert_string_equal(syscall_name("x86_64", SYS_futex_waitv), "futex_waitv");
	assert_null(syscall_name("x86_64", 400));
	assert_null(syscall_name("x86_64", 100000));
	assert_null(syscall_name("aarch64", 0));
}

/*
 * A film of waits of a worker: for a lock that web had, for a socket, for a timer, for a terminal,
 * and short ones.
 */
static struct film *film_of_waits(void)
{
	struct film_build b;
	uint32_t web, worker, unlock;
	struct film_wait wait = {.count = 1, .state = 'S', .context = FILM_WAIT_BY_THREAD};

	film_build_begin(&b, "off-cpu", "ns");
	web = film_build_thread(&b, 10, "web", 10, "web");
	worker = film_build_thread(&b, 10, "web", 11, "worker");
	unlock = film_build_stack(&b, "main;unlock;k!futex_wake");
	b.end += 1000000000;
	wait.thread = worker;
	wait.end = FILM_BUILD_START + 1000000;
	wait.duration = 1000;
	wait.call = SYS_futex + 1;
	wait.stack = film_build_stack(&b, "main;lock;k!futex_wait");
	wait.waker = web;
	wait.waker_stack = unlock;
	film_wait(b.w, b.event, &wait);
	/* the thread that an interrupt came to is not who ended it */
	wait.end += 1000000;
	wait.duration = 200;
	wait.call = SYS_recvfrom + 1;
	wait.descriptor = FILM_FD_SOCKET;
	wait.context = FILM_WAIT_BY_SOFTIRQ;
	wait.stack = film_build_stack(&b, "main;get;k!tcp_recvmsg");
	film_wait(b.w, b.event, &wait);
	wait.end += 1000000;
	wait.duration = 30;
	wait.call = SYS_nanosleep + 1;
	wait.descriptor = 0;
	wait.context = FILM_WAIT_BY_TIMER;
	wait.stack = film_build_stack(&b, "main;k!do_nanosleep");
	film_wait(b.w, b.event, &wait);
	wait.end += 1000000;
	wait.duration = 4;
	wait.call = SYS_ioctl + 1;
	wait.context = FILM_WAIT_BY_NONE;
	wait.waker = wait.waker_stack = 0;
	wait.stack = film_build_stack(&b, "main;k!tty_wait");
	film_wait(b.w, b.event, &wait);
	wait.end += 1000000;
	wait.duration = 50000;
	wait.count = 77;
	wait.flags = FILM_WAIT_SAMPLED;
	wait.call = 501;
	wait.stack = 0;
	film_wait(b.w, b.event, &wait);
	return film_build_open(&b);
}

static void ask(struct film *film, const struct question *q, struct report *report)
{
	struct fail why = {0};

	if (report_make(film, q, false, report, &why)) {
		fail_print(&why);
		fail_msg("no report");
	}
	answer_check(&report->flame, &report->functions);
}

static void node_is(const struct report *report, const char *path, uint64_t self, uint64_t total)
{
	const struct flame_node *node = answer_node(&report->flame, path);

	if (!node)
		fail_msg("no node %s", path);
	assert_int_equal(node->self, self);
	assert_int_equal(node->total, total);
}

/* The rows of a table, largest first. */
static void group_is(const struct report *report, size_t i, const char *wait, const char *waker,
		     uint64_t total)
{
	const struct group *group = &report->groups.at[i];

	assert_true(i < report->groups.count);
	assert_string_equal(group->wait ? group->wait->name : "", wait);
	assert_string_equal(group->waker ? group->waker->name : "", waker);
	assert_int_equal(group->total, total);
	assert_int_equal(group->self, total);
}

static void test_by_wait(void **state)
{
	struct film *film = film_of_waits();
	struct question q = {0};
	struct report report;

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_BY, "wait", NULL), 0);
	ask(film, &q, &report);
	assert_int_equal(report.view.total, 51234);
	assert_int_equal(report.view.stacks.complete, 4);
	assert_int_equal(report.view.stacks.truncated, 1);
	node_is(&report, "[lock];main;lock;futex_wait", 1000, 1000);
	node_is(&report, "[socket-read];main;get;tcp_recvmsg", 200, 200);
	node_is(&report, "[sleep];main", 0, 30);
	node_is(&report, "[ioctl, tty_wait];main;tty_wait", 4, 4);
	node_is(&report, "[system call 500];[unknown]", 50000, 50000);
	assert_int_equal(report.groups.count, 5);
	group_is(&report, 0, "[system call 500]", "", 50000);
	group_is(&report, 1, "[lock]", "", 1000);
	group_is(&report, 4, "[ioctl, tty_wait]", "", 4);
	assert_null(report.groups.at[0].process);
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static void test_by_waker(void **state)
{
	struct film *film = film_of_waits();
	struct question q = {0};
	struct report report;

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_BY, "waker,process", NULL), 0);
	ask(film, &q, &report);
	assert_int_equal(report.view.total, 51234);
	node_is(&report,
		"web (10);[woken by web (10)];main;unlock;futex_wake;[wakes];main;lock;futex_wait",
		1000, 1000);
	node_is(&report, "web (10);[woken by a soft interrupt];main;get;tcp_recvmsg", 200, 200);
	node_is(&report, "web (10);[woken by a timer];main", 0, 30);
	node_is(&report, "web (10);[woken by: not known];main", 0, 4);
	node_is(&report, "web (10);[woken by several: waits summed up];[unknown]", 50000, 50000);
	assert_int_equal(report.groups.count, 5);
	group_is(&report, 1, "", "[woken by web (10)]", 1000);
	assert_int_equal(report.groups.at[1].process->pid, 10);
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static void test_by_both(void **state)
{
	struct film *film = film_of_waits();
	struct question q = {0};
	struct report report;

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_BY, "wait,waker", NULL), 0);
	ask(film, &q, &report);
	assert_int_equal(report.groups.count, 5);
	group_is(&report, 1, "[lock]", "[woken by web (10)]", 1000);
	group_is(&report, 2, "[socket-read]", "[woken by a soft interrupt]", 200);
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static void test_filter(void **state)
{
	struct film *film = film_of_waits();
	struct question q = {0};
	struct report report;
	struct buf words = {0};
	struct fail why = {0};

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_WAIT, "lock,sleep", NULL), 0);
	assert_true(filter_is_set(&q.filter));
	filter_describe(&q.filter, &words);
	buf_put_u8(&words, 0);
	assert_string_equal((const char *)words.at, "--wait sleep,lock");
	buf_free(&words);
	ask(film, &q, &report);
	assert_int_equal(report.view.total, 1030);
	assert_int_equal(report.view.samples, 2);
	node_is(&report, "main;lock", 0, 1000);
	report_free(&report);
	question_free(&q);
	film_free(film);
	assert_int_equal(question_parse(&q, QUESTION_WAIT, "lock,nothing", &why), -EINVAL);
	assert_non_null(strstr(why.what, "nothing"));
	question_free(&q);
}

/* Of what has no waits it is refused, with words. */
static void test_no_waits(void **state)
{
	struct film *films[] = {film_build_small(), film_build_small_calls()};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct question q = {.shape.by_waker = true};
		struct report report;
		struct fail why = {0};

		assert_int_equal(report_make(films[i], &q, false, &report, &why), -EINVAL);
		assert_non_null(strstr(why.what, "has no waits"));
		report_free(&report);
		film_free(films[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rule),      cmocka_unit_test(test_traps),
		cmocka_unit_test(test_sleeps),	       cmocka_unit_test(test_sleeps_by_poll),
		cmocka_unit_test(test_goroutines),     cmocka_unit_test(test_names),
		cmocka_unit_test(test_waits_for_work), cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_by_wait),	       cmocka_unit_test(test_by_waker),
		cmocka_unit_test(test_by_both),	       cmocka_unit_test(test_filter),
		cmocka_unit_test(test_no_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
