// SPDX-License-Identifier: Apache-2.0
/*
 * A program in C that loads libraries in C++; an exception of theirs passes its functions. Both
 * libraries lie beside it: libharm_a.so, whose harm_catch() calls back and catches, and
 * libharm_b.so, of the same source, that throws.
 *
 *	at-once	throws right after it has loaded the library
 *	later	loads, waits for 0.5 s, throws
 *	inside	loads the library that throws in functions that were called from the one that
 *		catches
 *	cycles	loads, throws, unloads: 20 times
 *	fault	the library brings a signal handler that throws, out of a function that calls
 *		nothing
 *
 * With the second argument "wait", it says "ready" first and waits for SIGUSR1.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

typedef unsigned long called(unsigned long);

static unsigned long (*harm_catch)(called *, unsigned long);
static void (*harm_throw)(unsigned long);

static void (*harm_handle)(void);

static char folder[PATH_MAX];

KEPT static void *load(const char *name)
{
	char path[PATH_MAX + 32];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return library;
}

KEPT static void *load_catching(const char *name)
{
	void *library = load(name);

	harm_catch = (unsigned long (*)(called *, unsigned long))dlsym(library, "harm_catch");
	return library;
}

KEPT static void *load_throwing(const char *name)
{
	void *library = load(name);

	harm_throw = (void (*)(unsigned long))dlsym(library, "harm_throw");
	harm_handle = (void (*)(void))dlsym(library, "harm_handle");
	return library;
}

KEPT static unsigned long leaf(unsigned long value)
{
	return value * 3 + 1;
}

KEPT static unsigned long passes(unsigned long depth)
{
	unsigned long sum = leaf(depth);

	if (depth)
		sum += passes(depth - 1);
	else
		harm_throw(sum);
	NO_TAIL_CALL();
	return sum;
}

KEPT static unsigned long loads_and_passes(unsigned long depth)
{
	unsigned long sum = leaf(depth);

	if (depth)
		return sum + loads_and_passes(depth - 1);
	if (!harm_throw)
		load_throwing("libharm_b.so");
	return sum + passes(5);
}

KEPT static unsigned long leaf_faults(const volatile unsigned long *place)
{
	return *place * 3 + 1;
}

KEPT static unsigned long faults(unsigned long depth)
{
	unsigned long sum = leaf(depth);

	sum += depth ? faults(depth - 1) : leaf_faults(NULL);
	NO_TAIL_CALL();
	return sum;
}

KEPT static void catches(called *function)
{
	for (unsigned long depth = 0; depth < 10; depth++)
		calls_add(harm_catch(function, depth));
}

KEPT static void loads(const char *how)
{
	void *library = load_catching("libharm_a.so");

	if (strcmp(how, "inside"))
		load_throwing("libharm_a.so");
	if (!strcmp(how, "later"))
		usleep(500000);
	if (!strcmp(how, "fault")) {
		catches(passes);
		harm_handle();
		catches(faults);
	} else {
		catches(strcmp(how, "inside") ? passes : loads_and_passes);
	}
	if (!strcmp(how, "cycles")) {
		dlclose(library);
		dlclose(library);
	}
}

static void waits(void)
{
	sigset_t user;
	int signal;

	sigemptyset(&user);
	sigaddset(&user, SIGUSR1);
	sigprocmask(SIG_BLOCK, &user, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&user, &signal);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "at-once";
	char self[PATH_MAX];

	if (!realpath("/proc/self/exe", self))
		return 1;
	strcpy(folder, dirname(self));
	if (argc > 2)
		waits();
	for (int i = 0; i < (strcmp(how, "cycles") ? 1 : 20); i++)
		loads(how);
	return calls_end();
}
