// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that wait for locks of which it is known who holds them. For each kind of lock, one after
 * the other, a thread holds one and another one waits for it, for HELD_NS. Prints a line for each:
 *
 *	KIND WAITER HOLDER
 *
 * both thread ids; HOLDER 0: it is not a lock, or has no holder. Threads are called hold-KIND and
 * wait-KIND.
 *
 * With a second argument, "kept", no thread ends before the program does, which SIGUSR1 or its time
 * brings: what looks at them late finds them. It prints a line "pid PID" first.
 *
 * With "deadlock", two threads wait for each other's mutexes from before "ready" until a signal
 * ends the program. With "held", one waits from before "ready" until SIGUSR1, and the
 * program ends.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "program.h"

#define HELD_NS 20000000L

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, recursive, checked, inheriting, robust,
		       timed = PTHREAD_MUTEX_INITIALIZER, first = PTHREAD_MUTEX_INITIALIZER,
		       second = PTHREAD_MUTEX_INITIALIZER, of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *allocated; /* in the heap, behind which nothing is of any lock */
static pthread_rwlock_t to_read = PTHREAD_RWLOCK_INITIALIZER, to_write = PTHREAD_RWLOCK_INITIALIZER,
			read_by_one = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t is_held;
static volatile int is_signalled, is_kept;
static volatile sig_atomic_t is_asked;

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void init(pthread_mutex_t *mutex, int type, int protocol, int robustness)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutexattr_setrobust(&attributes, robustness);
	pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

static void lock(void *mutex)
{
	pthread_mutex_lock(mutex);
}

static void lock_in_time(void *mutex)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 100;
	pthread_mutex_timedlock(mutex, &until);
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void read_lock(void *rwlock)
{
	pthread_rwlock_rdlock(rwlock);
}

static void write_lock(void *rwlock)
{
	pthread_rwlock_wrlock(rwlock);
}

static void rw_unlock(void *rwlock)
{
	pthread_rwlock_unlock(rwlock);
}

/* The others are no locks: what their "holder" does ends the wait. */
static void wait_for_condition(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&of_condition);
	while (!is_signalled)
		pthread_cond_wait(&condition, &of_condition);
	pthread_mutex_unlock(&of_condition);
}

static void signal_condition(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&of_condition);
	is_signalled = 1;
	pthread_mutex_unlock(&of_condition);
	pthread_cond_signal(&condition);
}

static void wait_for_semaphore(void *unused)
{
	(void)unused;
	sem_wait(&semaphore);
}

static void post(void *unused)
{
	(void)unused;
	sem_post(&semaphore);
}

static void nothing(void *unused)
{
	(void)unused;
}

static struct kind {
	const char *name;
	void (*hold)(void *lock), (*release)(void *lock), (*wait)(void *lock), (*leave)(void *lock);
	void *lock;
	int has_holder;
	volatile pid_t waiter, holder;
	volatile int ended; /* of its threads */
} kinds[] = {
	{"normal", lock, unlock, lock, unlock, &normal, 1, 0, 0, 0},
	{"recursive", lock, unlock, lock, unlock, &recursive, 1, 0, 0, 0},
	{"checked", lock, unlock, lock, unlock, &checked, 1, 0, 0, 0},
	{"pi", lock, unlock, lock, unlock, &inheriting, 1, 0, 0, 0},
	{"robust", lock, unlock, lock, unlock, &robust, 1, 0, 0, 0},
	{"timed", lock, unlock, lock_in_time, unlock, &timed, 1, 0, 0, 0},
	{"heap", lock, unlock, lock, unlock, NULL, 1, 0, 0, 0},
	{"read", write_lock, rw_unlock, read_lock, rw_unlock, &to_read, 1, 0, 0, 0},
	{"write", write_lock, rw_unlock, write_lock, rw_unlock, &to_write, 1, 0, 0, 0},
	{"readers", read_lock, rw_unlock, write_lock, rw_unlock, &read_by_one, 1, 0, 0, 0},
	{"condition", nothing, signal_condition, wait_for_condition, nothing, NULL, 0, 0, 0, 0},
	{"semaphore", nothing, post, wait_for_semaphore, nothing, NULL, 0, 0, 0, 0},
};

/* Whether a thread is in futex(2). */
static int waits(pid_t tid)
{
	char path[64], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		*text = 0;
	fclose(f);
	return !strncmp(text, "202 ", 4);
}

static void name_thread(const char *what, const char *kind)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%s", what, kind);
	name[15] = 0;
	pthread_setname_np(pthread_self(), name);
}

static void end(struct kind *kind)
{
	__atomic_fetch_add(&kind->ended, 1, __ATOMIC_SEQ_CST);
	while (is_kept)
		pause();
}

static void *hold(void *of)
{
	struct kind *kind = of;
	struct timespec held = {0, HELD_NS};

	name_thread("hold", kind->name);
	kind->holder = own_tid();
	kind->hold(kind->lock);
	pthread_barrier_wait(&is_held);
	while (!kind->waiter || !waits(kind->waiter))
		sched_yield();
	nanosleep(&held, NULL);
	kind->release(kind->lock);
	end(kind);
	return NULL;
}

static void *wait_for_it(void *of)
{
	struct kind *kind = of;

	name_thread("wait", kind->name);
	pthread_barrier_wait(&is_held);
	kind->waiter = own_tid();
	kind->wait(kind->lock);
	kind->leave(kind->lock);
	end(kind);
	return NULL;
}

static void run(struct kind *kind)
{
	pthread_t holder, waiter;

	pthread_create(&holder, NULL, hold, kind);
	pthread_create(&waiter, NULL, wait_for_it, kind);
	if (is_kept) {
		while (kind->ended < 2)
			sched_yield();
	} else {
		pthread_join(holder, NULL);
		pthread_join(waiter, NULL);
	}
	printf("%s %d %d\n", kind->name, (int)kind->waiter,
	       kind->has_holder ? (int)kind->holder : 0);
	fflush(stdout);
}

struct pair {
	const char *name;
	pthread_mutex_t *own, *other;
	volatile pid_t tid;
};

static void *embrace(void *of)
{
	struct pair *pair = of;

	pthread_setname_np(pthread_self(), pair->name);
	pthread_mutex_lock(pair->own);
	pair->tid = own_tid();
	pthread_barrier_wait(&is_held);
	pthread_mutex_lock(pair->other);
	return NULL;
}

static void deadlock(void)
{
	struct pair one = {"one", &first, &second, 0}, two = {"two", &second, &first, 0};
	pthread_t thread;

	pthread_create(&thread, NULL, embrace, &one);
	pthread_create(&thread, NULL, embrace, &two);
	while (!one.tid || !two.tid || !waits(one.tid) || !waits(two.tid))
		sched_yield();
	printf("one %d %d\ntwo %d %d\n", (int)one.tid, (int)two.tid, (int)two.tid, (int)one.tid);
	program_ready();
}

static void take_signal(int number)
{
	(void)number;
	is_asked = 1;
}

/* Until it is asked to end, or its time is over. */
static void stay(void)
{
	const struct timespec moment = {0, 10000000L};

	while (!is_asked && !program_over())
		nanosleep(&moment, NULL);
}

static void *wait_for_main(void *tid)
{
	*(volatile pid_t *)tid = own_tid();
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	return NULL;
}

/* The main thread comes and goes, so that a film has some of its samples. */
static void hold_until_asked(void)
{
	const struct timespec moment = {0, 1000000L};
	volatile pid_t waiter = 0;
	pthread_t thread;

	signal(SIGUSR1, take_signal);
	pthread_mutex_lock(&first);
	pthread_create(&thread, NULL, wait_for_main, (void *)&waiter);
	while (!waiter || !waits(waiter))
		sched_yield();
	printf("held %d %d\n", (int)waiter, (int)own_tid());
	program_ready();
	while (!is_asked)
		nanosleep(&moment, NULL);
	pthread_mutex_unlock(&first);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	pthread_barrier_init(&is_held, NULL, 2);
	if (argc > 2 && !strcmp(argv[2], "deadlock")) {
		deadlock();
		for (;;)
			pause();
	}
	if (argc > 2 && !strcmp(argv[2], "held")) {
		hold_until_asked();
		return 0;
	}
	if (argc > 2 && !strcmp(argv[2], "kept")) {
		is_kept = 1;
		signal(SIGUSR1, take_signal);
		printf("pid %d\n", (int)getpid());
	}
	init(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	init(&checked, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	init(&inheriting, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	init(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
	sem_init(&semaphore, 0, 0);
	allocated = malloc(sizeof(*allocated));
	init(allocated, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	kinds[6].lock = allocated;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		run(&kinds[i]);
	if (is_kept)
		stay();
	return 0;
}
