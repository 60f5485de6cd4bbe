// SPDX-License-Identifier: Apache-2.0
/*
 * A library (-DLIBRARY) that several processes map, and the program that maps it: calls_shared
 * LIBRARY HOW. Each SIGUSR1 lets it do what HOW says, until SIGTERM; it prints "done" when it has.
 *
 *	work	calls work() of the library 10 times
 *	fork	does so in a child
 *	nested	in a child of a child
 *	exec	in a program that a child executes
 *	spawn	in one that is started by posix_spawn()
 *	threads	in 4 threads
 *	later	loads the library before it does so, for the first time
 *	once	does so at once, and ends
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

unsigned long shared_work(unsigned long value);

#ifdef LIBRARY
KEPT unsigned long shared_work(unsigned long value)
{
	return value * 31 + 1;
}
#else
#define TIMES 10

typedef unsigned long function(unsigned long);

static function *work;

static void load(const char *library)
{
	void *loaded = dlopen(library, RTLD_NOW);

	work = loaded ? (function *)dlsym(loaded, "shared_work") : NULL;
	if (work)
		return;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

KEPT static void *call(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		calls_add(work((unsigned long)i));
	return unused;
}

static void in_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, call, NULL))
			exit(1);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* What a child does, which the caller waits for. */
static void in_child(const char *library, const char *how)
{
	char *again[] = {(char *)"calls_shared", (char *)library, (char *)"once", NULL};
	int spawns = !strcmp(how, "spawn");
	pid_t pid;
	int status;

	if (spawns && posix_spawn(&pid, "/proc/self/exe", NULL, NULL, again, environ))
		exit(1);
	if (!spawns)
		pid = fork();
	if (!pid) {
		if (!strcmp(how, "exec"))
			execv("/proc/self/exe", again);
		else if (!strcmp(how, "nested"))
			in_child(library, "fork");
		else
			call(NULL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "work";
	int number = 0;
	sigset_t signals;

	if (argc < 2)
		return 1;
	if (strcmp(how, "later"))
		load(argv[1]);
	if (!strcmp(how, "once")) {
		call(NULL);
		return 0;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	puts("ready");
	fflush(stdout);
	while (!sigwait(&signals, &number) && number == SIGUSR1) {
		if (!work)
			load(argv[1]);
		if (!strcmp(how, "work") || !strcmp(how, "later"))
			call(NULL);
		else if (!strcmp(how, "threads"))
			in_threads();
		else
			in_child(argv[1], how);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
#endif
