// SPDX-License-Identifier: Apache-2.0
/*
 * A function that calls nothing, in a program that has no signal handler as far as its imports
 * tell: its return may be asked for. Each SIGUSR1 forks a child that installs a handler and calls
 * it: there its return address must stay what it is. Prints "done" then, or "changed".
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

extern const char __executable_start[], etext[];

/* slot: where its return address lies; a function that looks for that itself is never asked. */
__attribute__((used)) KEPT static const char *leaf(const char *const *slot)
{
	return *slot;
}

/* Calls leaf() with the place into which the call itself puts the return address. */
static const char *return_address_of_leaf(void)
{
	const char *result;

	__asm__ volatile("sub $128, %%rsp\n\t" /* the red zone */
			 "lea -8(%%rsp), %%rdi\n\t"
			 "call leaf\n\t"
			 "add $128, %%rsp"
			 : "=a"(result)
			 :
			 : "rdi", "rsi", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

static int changed(void)
{
	int count = 0;

	for (int i = 0; i < 10; i++) {
		const char *returns_to = return_address_of_leaf();

		count += returns_to < __executable_start || returns_to >= etext;
	}
	return count;
}

static void handle(int number)
{
	(void)number;
}

/* As the kernel has it. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

int main(void)
{
	struct kernel_action action = {.handler = handle};
	sigset_t signals;
	int number, status;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	puts("ready");
	fflush(stdout);
	while (!sigwait(&signals, &number) && number == SIGUSR1) {
		pid_t pid;

		changed();
		pid = fork();
		if (!pid) {
			if (syscall(SYS_rt_sigaction, SIGALRM, &action, NULL, 8))
				_exit(100);
			_exit(changed());
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		puts(status ? "changed" : "done");
		fflush(stdout);
	}
	return 0;
}
