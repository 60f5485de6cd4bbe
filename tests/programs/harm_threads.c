// SPDX-License-Identifier: Apache-2.0
/*
 * Threads and processes that end, or begin, in the midst of functions.
 *
 *	cancel		pthread_cancel() of threads that block below functions of theirs
 *	cancel-now	the same, asynchronous, of threads that compute
 *	exit		pthread_exit() from below
 *	clone		a child with the same memory, on a stack of its own
 *	vfork		children by vfork() that call functions, and children of those
 *	seccomp		strict: each system call but read, write and exit kills
 *	filter		a filter that kills at all that the program itself does not call
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define ROUNDS	   30
#define STACK_SIZE (64 << 10)

KEPT static unsigned long leaf(unsigned long value)
{
	return value * 2862933555777941757ul + 3037000493ul;
}

KEPT static unsigned long below(int depth, unsigned long (*deed)(unsigned long),
				unsigned long value)
{
	value = leaf(value);
	if (depth)
		value = below(depth - 1, deed, value);
	else
		value = deed(value);
	NO_TAIL_CALL();
	return leaf(value);
}

static unsigned long cleaned;
static int waiting[2];

KEPT static void cleans_up(void *thread)
{
	(void)thread;
	cleaned = leaf(cleaned);
}

KEPT static unsigned long blocks(unsigned long value)
{
	char byte = 1;

	pthread_cleanup_push(cleans_up, NULL);
	if (write(waiting[1], &byte, 1) == 1)
		pause();
	pthread_cleanup_pop(0);
	return value;
}

KEPT static unsigned long spins(unsigned long value)
{
	char byte = 1;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	if (write(waiting[1], &byte, 1) != 1)
		return 0;
	for (;;)
		value = leaf(value);
}

KEPT static unsigned long exits(unsigned long value)
{
	pthread_cleanup_push(cleans_up, NULL);
	pthread_exit((void *)leaf(value));
	pthread_cleanup_pop(0);
	return value;
}

KEPT static void *thread(void *deed)
{
	return (void *)below(4, (unsigned long (*)(unsigned long))deed, 1);
}

KEPT static void run_threads(unsigned long (*deed)(unsigned long), int cancel)
{
	void *result;
	pthread_t id;
	char byte;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_create(&id, NULL, thread, (void *)deed);
		if (cancel && read(waiting[0], &byte, 1) == 1)
			pthread_cancel(id);
		pthread_join(id, &result);
		calls_add((unsigned long)result + cleaned);
	}
}

static unsigned long of_child;

KEPT static int child(void *unused)
{
	(void)unused;
	of_child += below(3, leaf, 7);
	return 3;
}

KEPT static void run_clone(void)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	int status;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

		of_child += leaf(1);
		waitpid(pid, &status, 0);
		calls_add((unsigned long)WEXITSTATUS(status));
	}
}

KEPT static void run_vfork(void)
{
	int status;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = vfork();

		if (!pid) {
			of_child = below(3, leaf, (unsigned long)i);
			if (i % 2)
				execl("/bin/true", "true", (char *)NULL);
			_exit(5);
		}
		waitpid(pid, &status, 0);
		calls_add(of_child + (unsigned long)WEXITSTATUS(status));
	}
}

KEPT static void say(void)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "checksum %lx\n", calls_checksum);

	syscall(SYS_exit, write(1, text, (size_t)length) != length);
}

KEPT static void run_seccomp(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	for (int i = 0; i < ROUNDS; i++)
		calls_add(below(5, leaf, (unsigned long)i));
	say();
}

KEPT static void run_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	for (int i = 0; i < ROUNDS; i++)
		calls_add(below(5, leaf, (unsigned long)i));
	say();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "cancel";

	if (pipe(waiting))
		return 1;
	if (!strcmp(how, "cancel"))
		run_threads(blocks, 1);
	else if (!strcmp(how, "cancel-now"))
		run_threads(spins, 1);
	else if (!strcmp(how, "exit"))
		run_threads(exits, 0);
	else if (!strcmp(how, "clone"))
		run_clone();
	else if (!strcmp(how, "vfork"))
		run_vfork();
	else if (!strcmp(how, "seccomp"))
		run_seccomp();
	else if (!strcmp(how, "filter"))
		run_filter();
	else
		return 2;
	return calls_end();
}
