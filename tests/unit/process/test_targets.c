// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/targets.h"

/* Numbers that no process can have: nothing of them is found in /proc. */
enum {
	A = 5000001,
	B = 5000002,
	C = 5000003,
	D = 5000004
};

/* What was heard, one word per call, in order. */
static char heard[4096];

static void hear(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void hear(const char *format, ...)
{
	size_t used = strlen(heard);
	va_list args;

	va_start(args, format);
	vsnprintf(heard + used, sizeof(heard) - used, format, args);
	va_end(args);
}

static void image_new(void *context, struct image *image)
{
	(void)context;
	hear("+%s ", image->path);
}

static void image_gone(void *context, struct image *image)
{
	(void)context;
	assert_int_equal(image->users, 0);
	hear("-%s ", image->path);
}

static void process_new(void *context, struct process *process, const struct process *parent)
{
	(void)context;
	hear("new(%d<%d) ", process->pid - A, parent ? parent->pid - A : -1);
}

static void process_executed(void *context, struct process *process)
{
	(void)context;
	hear("executed(%d %s) ", process->pid - A, process->comm);
}

static void process_changed(void *context, struct process *process)
{
	(void)context;
	hear("changed(%d %s) ", process->pid - A, process->comm);
}

static void thread_named(void *context, struct process *process, pid_t tid, const char *comm)
{
	(void)context;
	hear("named(%d/%d %s) ", process->pid - A, tid - A, comm);
}

static void mappings_replaced(void *context, struct process *process, uint64_t time, uint64_t start,
			      uint64_t end)
{
	(void)context;
	(void)time;
	hear("replaced(%d %llx-%llx) ", process->pid - A, (unsigned long long)start,
	     (unsigned long long)end);
}

static void process_gone(void *context, struct process *process)
{
	(void)context;
	hear("gone(%d) ", process->pid - A);
}

static struct targets *all;

static int start(void **state)
{
	static const struct targets_listener listener = {
		.image_new = image_new,
		.image_gone = image_gone,
		.process_new = process_new,
		.process_executed = process_executed,
		.process_changed = process_changed,
		.thread_named = thread_named,
		.mappings_replaced = mappings_replaced,
		.process_gone = process_gone,
	};

	(void)state;
	heard[0] = 0;
	return targets_new(&listener, &all);
}

static int end(void **state)
{
	(void)state;
	targets_free(all);
	return 0;
}

static void expect_heard(const char *words)
{
	assert_string_equal(heard, words);
	heard[0] = 0;
}

static void take_fork(uint64_t time, pid_t parent, pid_t parent_tid, pid_t pid, pid_t tid)
{
	targets_handle(all, &(struct target_event){.kind = TARGET_FORK,
						   .time = time,
						   .pid = pid,
						   .tid = tid,
						   .parent_pid = parent,
						   .parent_tid = parent_tid});
}

static void take_name(uint64_t time, enum target_event_kind kind, pid_t pid, pid_t tid,
		      const char *comm)
{
	struct target_event event = {.kind = kind, .time = time, .pid = pid, .tid = tid};

	strcpy(event.comm, comm);
	targets_handle(all, &event);
}

static void take_exit(uint64_t time, pid_t pid, pid_t tid)
{
	targets_handle(all, &(struct target_event){
				    .kind = TARGET_EXIT, .time = time, .pid = pid, .tid = tid});
}

/* inode 0: memory without a file */
static void take_mmap(uint64_t time, pid_t pid, uint64_t from, uint64_t length, ino_t inode,
		      const char *path)
{
	targets_handle(all, &(struct target_event){.kind = TARGET_MMAP,
						   .time = time,
						   .pid = pid,
						   .tid = pid,
						   .start = from,
						   .length = length,
						   .device = 99,
						   .inode = inode,
						   .path = path});
}

static void life_of_a_program(void **state)
{
	struct process *p;

	(void)state;
	take_name(10, TARGET_EXEC, A, A, "first");
	expect_heard("new(0<-1) executed(0 first) named(0/0 first) ");
	take_mmap(11, A, 0x400000, 0x1000, 1, "/no/first");
	expect_heard("+/no/first changed(0 first) ");
	take_mmap(12, A, 0x7f0000000000, 0x5000, 2, "/no/libc");
	expect_heard("+/no/libc ");
	p = targets_known(all, A);
	assert_non_null(p);
	assert_string_equal(p->exe, "/no/first");
	assert_string_equal(p->command, "");
	assert_int_equal(p->mapping_count, 2);
	assert_int_equal(p->execs, 1);
	assert_string_equal(process_mapping(p, 0x7f0000004fff)->image->path, "/no/libc");
	assert_null(process_mapping(p, 0x7f0000005000));

	/* a child has what its parent has, until it executes something else */
	take_fork(20, A, A, B, B);
	expect_heard("new(1<0) named(1/1 first) ");
	p = targets_known(all, B);
	assert_int_equal(p->parent, A);
	assert_int_equal(p->start, 20);
	assert_int_equal(p->mapping_count, 2);
	assert_string_equal(p->exe, "/no/first");
	assert_int_equal(process_mapping(p, 0x400000)->image->users, 2);
	take_name(30, TARGET_EXEC, B, B, "second");
	expect_heard("replaced(1 0-ffffffffffffffff) executed(1 second) named(1/1 second) ");
	assert_int_equal(p->mapping_count, 0);
	assert_int_equal(process_mapping(targets_known(all, A), 0x400000)->image->users, 1);
	take_mmap(31, B, 0x400000, 0x2000, 3, "/no/second");
	take_mmap(32, B, 0x7f0000000000, 0x5000, 2, "/no/libc");
	expect_heard("+/no/second changed(1 second) ");
	assert_string_equal(p->exe, "/no/second");

	take_exit(40, B, B);
	expect_heard("gone(1) ");
	assert_int_equal(p->end, 40);
	assert_ptr_equal(targets_known(all, B), p);
	assert_ptr_equal(targets_find(all, B), p);
	targets_forget_before(all, 40);
	assert_ptr_equal(targets_known(all, B), p);
	targets_forget_before(all, 41);
	assert_null(targets_known(all, B));
	assert_null(targets_find(all, B));
	expect_heard("");
	/* its program is kept a little longer; the library is still in use */
	targets_forget_before(all, UINT64_MAX);
	expect_heard("-/no/second ");
	take_exit(50, A, A);
	targets_forget_before(all, UINT64_MAX);
	expect_heard("gone(0) -/no/first -/no/libc ");
	assert_int_equal(targets_counts(all).processes, 0);
	assert_int_equal(targets_counts(all).threads, 0);
	assert_int_equal(targets_counts(all).images, 0);
	assert_int_equal(targets_counts(all).unopened_images, 3);
}

static void threads_come_and_go(void **state)
{
	(void)state;
	take_name(10, TARGET_EXEC, A, A, "main");
	take_fork(11, A, A, A, B);
	take_name(12, TARGET_COMM, A, B, "worker");
	take_fork(13, A, B, A, C);
	expect_heard("new(0<-1) executed(0 main) named(0/0 main) named(0/1 main) named(0/1 worker) "
		     "named(0/2 worker) ");
	assert_int_equal(targets_counts(all).threads, 3);
	/* the first thread may end before the others */
	take_exit(20, A, A);
	take_exit(21, A, B);
	take_exit(21, A, B);
	expect_heard("");
	take_exit(22, A, C);
	expect_heard("gone(0) ");
	assert_int_equal(targets_counts(all).threads, 0);
}

/* A child begins with the name of the thread that forked it. */
static void child_of_a_named_thread(void **state)
{
	(void)state;
	take_name(10, TARGET_EXEC, A, A, "main");
	take_fork(11, A, A, A, B);
	take_name(12, TARGET_COMM, A, B, "worker");
	heard[0] = 0;
	take_fork(13, A, B, C, C);
	expect_heard("new(2<0) named(2/2 worker) ");
	assert_string_equal(targets_known(all, C)->comm, "worker");
}

/* What is hung on a process after its end must be freed too. */
static void owner_after_the_end(void **state)
{
	(void)state;
	take_name(10, TARGET_EXEC, A, A, "main");
	take_exit(20, A, A);
	heard[0] = 0;
	targets_known(all, A)->owner = &all;
	targets_forget_before(all, UINT64_MAX);
	expect_heard("gone(0) ");
	take_name(30, TARGET_EXEC, B, B, "main");
	take_exit(40, B, B);
	heard[0] = 0;
	targets_forget_before(all, UINT64_MAX);
	expect_heard("");
}

static void name_of_the_first_thread(void **state)
{
	(void)state;
	take_name(10, TARGET_EXEC, A, A, "main");
	take_fork(11, A, A, A, B);
	heard[0] = 0;
	take_name(12, TARGET_COMM, A, A, "renamed");
	expect_heard("changed(0 renamed) named(0/0 renamed) ");
	take_name(13, TARGET_COMM, A, B, "other");
	expect_heard("named(0/1 other) ");
	assert_string_equal(targets_known(all, A)->comm, "renamed");
}

/*
 * exec from another thread: all but one are dead, and that one takes over the first one's number.
 */
static void exec_with_threads(void **state)
{
	(void)state;
	take_name(10, TARGET_EXEC, A, A, "main");
	take_fork(11, A, A, A, B);
	take_fork(12, A, A, A, C);
	take_exit(20, A, C);
	take_exit(21, A, A);
	take_name(22, TARGET_EXEC, A, A, "next");
	assert_int_equal(targets_counts(all).threads, 1);
	assert_int_equal(targets_known(all, A)->execs, 2);
	heard[0] = 0;
	take_exit(30, A, A);
	expect_heard("gone(0) ");
}

static void mappings_over_others(void **state)
{
	struct process *p;
	uint32_t generation;

	(void)state;
	take_name(10, TARGET_EXEC, A, A, "x");
	take_mmap(11, A, 0x10000, 0x8000, 1, "/no/a");
	heard[0] = 0;
	p = targets_known(all, A);
	generation = p->generation;
	/* the same once more changes nothing */
	take_mmap(12, A, 0x10000, 0x8000, 1, "/no/a");
	take_mmap(12, A, 0x12000, 0, 2, "/no/b");
	take_mmap(12, A, UINT64_MAX - 10, 100, 2, "/no/b");
	assert_int_equal(p->generation, generation);
	expect_heard("");
	take_mmap(13, A, 0x12000, 0x1000, 2, "/no/b");
	expect_heard("+/no/b replaced(0 12000-13000) ");
	assert_int_equal(p->generation, generation + 1);
	assert_int_equal(p->mapping_count, 3);
	assert_int_equal(p->mappings[2].offset, 0x3000);
	/* beside: nothing is replaced */
	take_mmap(14, A, 0x18000, 0x1000, 0, "//anon");
	expect_heard("+//anon ");
	/* the whole process: the images go when the last one of their mappings does */
	take_mmap(15, A, 0x10000, 0x9000, 3, "/no/c");
	expect_heard("+/no/c replaced(0 10000-19000) ");
	targets_forget_before(all, 5000000000);
	expect_heard("-/no/b -/no/a -//anon ");
}

static void number_used_again(void **state)
{
	struct process *old, *new;

	(void)state;
	take_name(10, TARGET_EXEC, A, A, "parent");
	take_fork(20, A, A, B, B);
	old = targets_known(all, B);
	take_exit(30, B, B);
	heard[0] = 0;
	take_fork(40, A, A, B, B);
	expect_heard("new(1<0) named(1/1 parent) ");
	new = targets_known(all, B);
	assert_ptr_not_equal(old, new);
	assert_int_equal(new->start, 40);
	assert_int_equal(old->end, 30);
	/* an end that was lost shows itself at the next birth */
	heard[0] = 0;
	take_fork(50, A, A, B, B);
	expect_heard("gone(1) new(1<0) named(1/1 parent) ");
	assert_int_equal(new->end, 50);
	targets_forget_before(all, 45);
	assert_non_null(targets_known(all, B));
	assert_int_equal(targets_known(all, B)->start, 50);
	/* an exec of a number that has ended is another process, too */
	take_exit(60, B, B);
	heard[0] = 0;
	take_name(70, TARGET_EXEC, B, B, "else");
	expect_heard("new(1<-1) executed(1 else) named(1/1 else) ");
}

static void strangers(void **state)
{
	(void)state;
	targets_ignore_strangers(all, true);
	take_name(10, TARGET_EXEC, A, A, "x");
	take_mmap(11, A, 0x1000, 0x1000, 1, "/no/a");
	take_fork(12, A, A, B, B);
	take_fork(12, A, A, A, C);
	take_exit(13, A, A);
	expect_heard("");
	assert_null(targets_known(all, A));
	/* what is asked for is known from then on, and so is what it forks */
	assert_non_null(targets_find(all, getpid()));
	heard[0] = 0;
	take_fork(14, getpid(), getpid(), A, A);
	assert_non_null(targets_known(all, A));
	assert_int_equal(targets_known(all, A)->mapping_count,
			 targets_known(all, getpid())->mapping_count);
	take_fork(15, A, A, B, B);
	assert_int_equal(targets_known(all, B)->parent, A);
}

static void events_of_other_namespaces(void **state)
{
	(void)state;
	take_fork(10, 0, 0, 0, 0);
	take_fork(10, -1, -1, -1, -1);
	take_exit(10, 0, 0);
	take_mmap(10, -1, 0x1000, 0x1000, 1, "/no/a");
	take_exit(10, A, A);
	expect_heard("");
	/* a child whose parent is outside of ours */
	take_fork(10, 0, 0, A, A);
	expect_heard("new(0<-1) named(0/0 ) ");
}

static void from_proc(void **state)
{
	struct process *p = targets_find(all, getpid());
	struct mapping *m;
	uint32_t generation;
	struct timespec now;
	void *memory;

	(void)state;
	assert_non_null(p);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_int_equal(p->pid, getpid());
	assert_int_equal(p->parent, getppid());
	assert_non_null(strstr(p->exe, "/test-process-targets"));
	assert_non_null(strstr(p->command, "test-process-targets"));
	assert_string_equal(p->comm, "test-process-ta");
	assert_true(p->start > 0 &&
		    p->start <= (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	assert_int_equal(p->cgroup[0], '/');
	m = process_mapping(p, (uintptr_t)from_proc);
	assert_non_null(m);
	assert_int_equal(m->image->kind, IMAGE_FILE);
	assert_true(m->image->is_elf);
	assert_string_equal(m->image->path, p->exe);
	m = process_mapping(p, (uintptr_t)memcpy);
	assert_non_null(m);
	assert_ptr_equal(targets_find(all, getpid()), p);

	/* reread: nothing new, then something new, then something gone */
	heard[0] = 0;
	generation = p->generation;
	assert_true(targets_reread(all, p));
	assert_int_equal(p->generation, generation);
	expect_heard("");
	memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(targets_reread(all, p));
	assert_int_equal(p->generation, generation + 1);
	assert_int_equal(process_mapping(p, (uintptr_t)memory)->image->kind, IMAGE_ANON);
	assert_int_equal(process_mapping(p, (uintptr_t)memory)->bias, 0);
	heard[0] = 0;
	munmap(memory, 4096);
	assert_true(targets_reread(all, p));
	assert_null(process_mapping(p, (uintptr_t)memory));
	assert_non_null(strstr(heard, "replaced("));
	assert_null(targets_find(all, A));
	assert_null(targets_find(all, 0));
	assert_null(targets_find(all, -1));
}

static void gone_while_not_watched(void **state)
{
	pid_t pid = fork();
	struct process *p;

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	p = targets_find(all, pid);
	assert_non_null(p);
	kill(pid, SIGKILL);
	/* a zombie has no mappings any more, but is not to be taken for one that never had any */
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(p->mapping_count > 0);
	targets_distrust_all(all);
	assert_ptr_equal(targets_find(all, pid), p);
	assert_true(p->end > 0);
	assert_true(p->mapping_count > 0);
	waitpid(pid, NULL, 0);

	/* the same, found without being asked for */
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	p = targets_find(all, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	targets_distrust_all(all);
	targets_forget_before(all, 1);
	assert_true(p->end > 0);
}

static void ask_for_it(void *context, struct process *process)
{
	struct targets **targets = context;

	hear("gone(%d) ", process->end != 0);
	if (!process->end)
		targets_reread(*targets, process);
}

/* A listener that hears of the end of all asks about one, which has ended meanwhile. */
static void asked_about_at_the_end(void **state)
{
	static struct targets *targets;
	const struct targets_listener listener = {.context = &targets, .process_gone = ask_for_it};
	pid_t pid = fork();

	(void)state;
	if (!pid)
		for (;;)
			pause();
	assert_true(pid > 0);
	assert_int_equal(targets_new(&listener, &targets), 0);
	assert_non_null(targets_find(targets, pid));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	targets_free(targets);
	expect_heard("gone(0) gone(1) ");
}

static void ask_for_all(void *context, struct process *process)
{
	struct targets **targets = context;

	hear("gone ");
	for (pid_t pid = 1; pid < 5000; pid++)
		targets_find(*targets, pid);
	process->owner = NULL;
}

static void own_it(void *context, struct process *process, const struct process *parent)
{
	(void)parent;
	process->owner = context;
}

/*
 * A listener that hears of the end of one asks about all others, and about processes that it does
 * not know.
 */
static void asked_about_others_at_the_end(void **state)
{
	static struct targets *targets;
	const struct targets_listener listener = {
		.context = &targets, .process_new = own_it, .process_gone = ask_for_all};
	pid_t pids[3];

	(void)state;
	assert_int_equal(targets_new(&listener, &targets), 0);
	for (size_t i = 0; i < 3; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		assert_true(pids[i] > 0);
		assert_non_null(targets_find(targets, pids[i]));
	}
	targets_free(targets);
	expect_heard("gone gone gone ");
	for (size_t i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
}

static void of_threads(void **state)
{
	uint64_t born;
	char comm[16];

	(void)state;
	target_thread_of(getpid(), getpid(), comm, &born);
	assert_string_equal(comm, "test-process-ta");
	assert_true(born > 0);
	target_thread_of(A, A, comm, &born);
	assert_string_equal(comm, "");
	assert_int_equal(born, 0);
}

static void count_pid(void *context, pid_t pid)
{
	if (pid == getpid())
		++*(int *)context;
}

static void every_process(void **state)
{
	struct fail why = {0};
	int found = 0;

	(void)state;
	assert_int_equal(targets_each_pid(count_pid, &found, &why), 0);
	assert_int_equal(found, 1);
}

/* The cost of an event of a process with many mappings, and very many processes and threads. */
static void many(void **state)
{
	(void)state;
	take_name(1, TARGET_EXEC, A, A, "x");
	take_mmap(2, A, 0, 0x1000, 1, "/no/a");
	for (pid_t i = 1; i <= 5000; i++)
		take_fork(3, A, A, A + i * 100000, A + i * 100000);
	for (uint64_t i = 0; i < 5000; i++)
		take_mmap(4, A, i * 0x2000, 0x1000, 1, "/no/a");
	assert_int_equal(targets_known(all, A)->mapping_count, 5000);
	for (pid_t i = 1; i <= 10000; i++)
		take_fork(4, A, A, A, A + i);
	assert_int_equal(targets_counts(all).processes, 5001);
	assert_int_equal(targets_counts(all).threads, 15001);
	for (pid_t i = 1; i <= 5000; i++)
		take_exit(5, A + i * 100000, A + i * 100000);
	assert_int_equal(targets_counts(all).processes, 1);
	assert_int_equal(targets_counts(all).threads, 10001);
	targets_forget_before(all, UINT64_MAX);
	assert_int_equal(targets_known(all, A)->mappings[0].image->users, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(life_of_a_program, start, end),
		cmocka_unit_test_setup_teardown(threads_come_and_go, start, end),
		cmocka_unit_test_setup_teardown(child_of_a_named_thread, start, end),
		cmocka_unit_test_setup_teardown(owner_after_the_end, start, end),
		cmocka_unit_test_setup_teardown(name_of_the_first_thread, start, end),
		cmocka_unit_test_setup_teardown(exec_with_threads, start, end),
		cmocka_unit_test_setup_teardown(mappings_over_others, start, end),
		cmocka_unit_test_setup_teardown(number_used_again, start, end),
		cmocka_unit_test_setup_teardown(strangers, start, end),
		cmocka_unit_test_setup_teardown(events_of_other_namespaces, start, end),
		cmocka_unit_test_setup_teardown(from_proc, start, end),
		cmocka_unit_test_setup_teardown(gone_while_not_watched, start, end),
		cmocka_unit_test_setup_teardown(asked_about_at_the_end, start, end),
		cmocka_unit_test_setup_teardown(asked_about_others_at_the_end, start, end),
		cmocka_unit_test_setup_teardown(of_threads, start, end),
		cmocka_unit_test_setup_teardown(every_process, start, end),
		cmocka_unit_test_setup_teardown(many, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
