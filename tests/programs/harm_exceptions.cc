// SPDX-License-Identifier: Apache-2.0
/*
 * What unwinds, or looks at, its own stack, in C++. Built with -fnon-call-exceptions.
 *
 *	sort		a comparison that throws, called by qsort()
 *	cancel		pthread_cancel() of a thread that blocks below destructors
 *	cancel-now	the same, asynchronous, of a thread that computes in a function that calls
 *			nothing
 *	fault		a signal handler throws, out of a function that calls nothing
 *	backtrace	how many frames backtrace() sees, from below and in a signal handler
 *	callers		whether functions see that they were called from this program
 */
#include <csignal>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>

#include "calls.h"

static const int rounds = 30;

KEPT static unsigned long leaf(unsigned long value)
{
	return value * 3 + 1;
}

struct guard {
	~guard();
};

static unsigned long destroyed;

KEPT guard::~guard()
{
	destroyed = leaf(destroyed);
}

typedef unsigned long deed_function(unsigned long);

KEPT static unsigned long below(int depth, deed_function *deed, unsigned long value)
{
	guard here;

	value = leaf(value);
	value = depth ? below(depth - 1, deed, value) : deed(value);
	NO_TAIL_CALL();
	return leaf(value);
}

KEPT static int compares(const void *a, const void *b)
{
	int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);

	if (x + y == 7)
		throw std::runtime_error("enough");
	return x < y ? -1 : x > y;
}

KEPT static unsigned long sorts(unsigned long value)
{
	int numbers[] = {9, 1, 8, 2, 7, 3, 6, 4, 5, static_cast<int>(value % 10)};

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compares);
	return static_cast<unsigned long>(numbers[0]);
}

KEPT static unsigned long catches(int depth, deed_function *deed)
{
	try {
		return below(depth, deed, static_cast<unsigned long>(depth));
	} catch (const std::exception &problem) {
		return strlen(problem.what());
	}
}

static void run_catches(deed_function *deed)
{
	for (int i = 0; i < rounds; i++)
		calls_add(catches(i % 6, deed) + destroyed);
}

static int waiting[2];

KEPT static void tell_waiting()
{
	char byte = 1;

	if (write(waiting[1], &byte, 1) != 1)
		abort();
}

KEPT static unsigned long blocks(unsigned long value)
{
	tell_waiting();
	pause();
	return value;
}

KEPT static unsigned long computes(unsigned long value)
{
	for (;;) {
		value = value * 3 + 1;
		__asm__ volatile("" ::"r"(value));
	}
}

KEPT static unsigned long spins(unsigned long value)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
	tell_waiting();
	return computes(value);
}

KEPT static void *thread(void *deed)
{
	return reinterpret_cast<void *>(below(4, reinterpret_cast<deed_function *>(deed), 1));
}

static void run_cancels(deed_function *deed)
{
	for (int i = 0; i < rounds; i++) {
		pthread_t id;
		char byte;

		pthread_create(&id, nullptr, thread, reinterpret_cast<void *>(deed));
		if (read(waiting[0], &byte, 1) == 1)
			pthread_cancel(id);
		pthread_join(id, nullptr);
		calls_add(destroyed);
	}
}

static void throws_on_fault(int)
{
	sigset_t fault;

	sigemptyset(&fault);
	sigaddset(&fault, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &fault, nullptr);
	throw std::runtime_error("a fault");
}

KEPT static unsigned long faults(unsigned long value)
{
	return value + *reinterpret_cast<volatile unsigned long *>(value & 0xff0);
}

static unsigned long seen;

KEPT static unsigned long sees(unsigned long value)
{
	void *frames[64];

	seen = static_cast<unsigned long>(backtrace(frames, 64));
	return value + seen;
}

static void sees_in_handler(int)
{
	sees(0);
}

KEPT static unsigned long interrupted(unsigned long value)
{
	raise(SIGUSR1);
	return value + seen;
}

extern const char __executable_start[], etext[];

static bool is_here(const void *address)
{
	return address >= __executable_start && address < etext;
}

KEPT static bool sees_caller()
{
	return is_here(__builtin_return_address(0));
}

KEPT static unsigned long called(unsigned long value)
{
	bool is_right = sees_caller() && is_here(__builtin_return_address(0));

	return value + (is_right ? 1 : 1000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "sort";

	if (pipe(waiting))
		return 1;
	if (!strcmp(how, "sort")) {
		run_catches(sorts);
	} else if (!strcmp(how, "cancel")) {
		run_cancels(blocks);
	} else if (!strcmp(how, "cancel-now")) {
		run_cancels(spins);
	} else if (!strcmp(how, "fault")) {
		signal(SIGSEGV, throws_on_fault);
		run_catches(faults);
	} else if (!strcmp(how, "backtrace")) {
		signal(SIGUSR1, sees_in_handler);
		run_catches(sees);
		run_catches(interrupted);
	} else if (!strcmp(how, "callers")) {
		run_catches(called);
	} else {
		return 2;
	}
	return calls_end();
}
