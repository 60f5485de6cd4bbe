// SPDX-License-Identifier: Apache-2.0
/*
 * The library is put into a running program and taken out of use, again and again, while all its
 * threads allocate; and the recorder is killed meanwhile. The program checks what it gets
 * (tests/programs/allocates_threads.c). CYCLES says how often; bench/memory-inject has it larger.
 */
#include "../prelude.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sources/memory/inject.h"
#include "sources/memory/map.h"
#include "sources/memory/slots.h"

#define INTERVAL   65536
#define PATIENCE_S 60

struct target {
	pid_t pid;
	int input, output;
};

static struct mem_library library;

static void wait_for_text(int fd, char *text, size_t size, const char *what)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	size_t length = 0;

	while (length + 1 < size && poll(&ready, 1, PATIENCE_S * 1000) == 1) {
		ssize_t got = read(fd, text + length, size - 1 - length);

		if (got <= 0)
			break;
		length += (size_t)got;
		text[length] = 0;
		if (strchr(text, '\n') && strstr(text, what))
			return;
	}
	fail_msg("the program does not say '%s'", what);
}

static void start(struct target *target, const char *variable, char *second)
{
	char *const arguments[] = {getenv(variable), "3", second, NULL};
	int input[2], output[2];
	char text[64] = "";

	assert_non_null(arguments[0]);
	assert_int_equal(pipe(input), 0);
	assert_int_equal(pipe(output), 0);
	target->pid = fork();
	if (!target->pid) {
		dup2(input[0], 0);
		dup2(output[1], 1);
		close(input[1]);
		close(output[0]);
		execv(arguments[0], arguments);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	target->input = input[1];
	target->output = output[0];
	wait_for_text(target->output, text, sizeof(text), "ready");
}

/* Ends it: what it has calculated is right, of at least that many turns. */
static void end(struct target *target, unsigned long least)
{
	unsigned long turns, sum, bad, wrong;
	char text[256] = "";
	int status;

	close(target->input);
	wait_for_text(target->output, text, sizeof(text), "turns");
	assert_int_equal(
		sscanf(text, "turns %lu sum %lu bad %lu wrong %lu", &turns, &sum, &bad, &wrong), 4);
	close(target->output);
	assert_int_equal(waitpid(target->pid, &status, 0), target->pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_true(turns >= least);
	assert_int_equal(bad, 0);
	assert_int_equal(wrong, 0);
}

/* Lines of its mappings that have the library. */
static unsigned int mappings(pid_t pid)
{
	char path[64], line[1024];
	unsigned int count = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, MEMORY_LIBRARY) != NULL;
	fclose(maps);
	return count;
}

static struct memory_state state_of(pid_t pid)
{
	struct memory_state state = {0};
	struct fail why = {0};
	uint64_t bias;

	/* this process is the one that uses it, or none does */
	mem_map_find(pid, &library, 0, &bias, &why);
	assert_true(bias);
	assert_int_equal(
		remote_read(pid, &state, sizeof(state), bias + library.entries[MEMORY_ENTRY_STATE]),
		0);
	return state;
}

static void wait_for_samples(pid_t pid, uint64_t more_than)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t until = clock_ns() + PATIENCE_S * 1000000000ull;

	while (state_of(pid).taken <= more_than) {
		assert_true(clock_ns() < until);
		nanosleep(&pause, NULL);
	}
}

static unsigned int cycles(void)
{
	return getenv("CYCLES") ? (unsigned int)atoi(getenv("CYCLES")) : 30;
}

static void put(struct mem_inject *inject, pid_t pid)
{
	struct fail why = {0};

	if (mem_inject_put(inject, pid, &why))
		fail_msg("%s", why.what);
}

static void in_and_out(char *second)
{
	struct mem_inject *inject;
	struct target target;
	unsigned int mapped = 0;
	uint64_t begin, spent = 0;

	assert_int_equal(mem_inject_new(&library, NULL, INTERVAL, &inject), 0);
	start(&target, "INJECTED", second);
	for (unsigned int i = 0; i < cycles(); i++) {
		begin = clock_ns();
		put(inject, target.pid);
		spent += clock_ns() - begin;
		assert_true(mem_inject_has(inject, target.pid));
		wait_for_samples(target.pid, 0);
		mem_inject_tick(inject);
		begin = clock_ns();
		mem_inject_retract(inject);
		spent += clock_ns() - begin;
		assert_false(mem_inject_has(inject, target.pid));
		/* what is mapped stays so, once */
		mapped = mapped ? mapped : mappings(target.pid);
		assert_int_equal(mappings(target.pid), mapped);
	}
	print_message("cycles %u, ms each %.2f, stopped %.2f\n", cycles(),
		      (double)spent / 1e6 / cycles(),
		      (double)mem_inject_stopped(inject) / 1e6 / cycles());
	mem_inject_free(inject);
	end(&target, 10);
}

static void a_program_calculates_as_before(void **state)
{
	(void)state;
	in_and_out(NULL);
}

static void so_does_one_with_signals(void **state)
{
	(void)state;
	in_and_out("signals");
}

/* No sample is taken any more, though all threads allocate. */
static void what_is_out_takes_no_samples(void **state)
{
	struct mem_inject *inject;
	struct target target;
	uint64_t bias, function;
	struct mem_slots slots;

	(void)state;
	assert_int_equal(mem_inject_new(&library, NULL, INTERVAL, &inject), 0);
	start(&target, "INJECTED", NULL);
	put(inject, target.pid);
	assert_int_equal(mem_map_find(target.pid, &library, 0, &bias, NULL), -EBUSY);
	mem_inject_retract(inject);
	assert_int_equal(mem_map_find(target.pid, &library, 0, &bias, NULL), 0);
	assert_int_equal(mem_slots_read(&slots, NULL, target.pid, library.device, library.inode),
			 0);
	assert_true(slots.slots.count > 5);
	vec_foreach (&slots.slots, slot)
		for (int i = 0; i < MEMORY_FUNCTIONS; i++) {
			function = bias + library.entries[MEMORY_ENTRY_FUNCTIONS + 2 * i];
			assert_true(slot->value != function);
		}
	mem_slots_free(&slots);
	mem_inject_free(inject);
	end(&target, 0);
}

/*
 * The recorder is killed while it puts the library in, or takes it out: at any moment, so the
 * thread that it has stopped may be in anything. The next one finds it in any state.
 */
static void a_recorder_may_be_killed(void **state)
{
	struct mem_inject *inject;
	struct target target;

	(void)state;
	/* what sleeps then ends with EINTR, as after a signal */
	start(&target, "INJECTED", "signals");
	for (unsigned int i = 0; i < 5 * cycles(); i++) {
		const struct timespec life = {.tv_nsec = 200000 + (i * 7919 % 97) * 150000l};
		pid_t recorder = fork();
		int status;

		if (!recorder) {
			if (mem_inject_new(&library, NULL, INTERVAL, &inject))
				_exit(1);
			for (;;) {
				if (!mem_inject_put(inject, target.pid, NULL))
					mem_inject_retract(inject);
			}
		}
		nanosleep(&life, NULL);
		kill(recorder, SIGKILL);
		assert_int_equal(waitpid(recorder, &status, 0), recorder);
		assert_true(WIFSIGNALED(status));
	}
	assert_int_equal(mem_inject_new(&library, NULL, INTERVAL, &inject), 0);
	put(inject, target.pid);
	wait_for_samples(target.pid, 0);
	mem_inject_retract(inject);
	mem_inject_free(inject);
	end(&target, 10);
}

static void without_a_recorder_samples_end(void **state)
{
	struct mem_inject *inject;
	struct memory_state now;
	struct target target;
	uint64_t bias, at;

	(void)state;
	assert_int_equal(mem_inject_new(&library, NULL, INTERVAL, &inject), 0);
	start(&target, "INJECTED", NULL);
	put(inject, target.pid);
	wait_for_samples(target.pid, 100);
	/* as if it had been granted so few */
	mem_map_find(target.pid, &library, 0, &bias, NULL);
	at = bias + library.entries[MEMORY_ENTRY_STATE];
	now = state_of(target.pid);
	now.granted = now.taken;
	assert_int_equal(remote_write(target.pid, &now.granted, sizeof(now.granted), at), 0);
	/* it asks for more now and then, and its threads take none: granted is the most they had */
	wait_for_samples(target.pid, now.taken);
	assert_int_equal(state_of(target.pid).granted, now.granted);
	assert_int_equal(mem_inject_beyond(inject), 0);
	mem_inject_tick(inject);
	assert_true(state_of(target.pid).granted > now.granted);
	/* those are a loss */
	assert_true(mem_inject_beyond(inject) > 0);
	mem_inject_retract(inject);
	mem_inject_free(inject);
	end(&target, 10);
}

static void what_cannot_be_is_refused(void **state)
{
	struct mem_inject *inject;
	struct fail why = {0};
	struct target target;
	int status;

	(void)state;
	assert_int_equal(mem_inject_new(&library, NULL, INTERVAL, &inject), 0);
	start(&target, "INJECTED_STATIC", NULL);
	assert_int_equal(mem_inject_put(inject, target.pid, &why), -ENOTSUP);
	assert_non_null(strstr(why.what, "is linked statically"));
	end(&target, 0);

	/* SIGSTOP ends some calls early, as a signal does */
	start(&target, "INJECTED", "signals");
	kill(target.pid, SIGSTOP);
	assert_int_equal(waitpid(target.pid, &status, WUNTRACED), target.pid);
	assert_int_equal(mem_inject_put(inject, target.pid, &why), -EAGAIN);
	assert_int_equal(mappings(target.pid), 0);
	kill(target.pid, SIGCONT);

	assert_int_equal(ptrace(PTRACE_SEIZE, target.pid, 0, 0), 0);
	assert_int_equal(mem_inject_put(inject, target.pid, &why), -EPERM);
	assert_non_null(strstr(why.what, "has a debugger"));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, target.pid, 0, 0), 0);
	assert_int_equal(waitpid(target.pid, &status, __WALL), target.pid);
	assert_int_equal(ptrace(PTRACE_DETACH, target.pid, 0, 0), 0);
	mem_inject_free(inject);
	end(&target, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_calculates_as_before),
		cmocka_unit_test(so_does_one_with_signals),
		cmocka_unit_test(what_is_out_takes_no_samples),
		cmocka_unit_test(without_a_recorder_samples_end),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_recorder_may_be_killed),
	};
	struct fail why = {0};

	if (mem_library_open(&library, getenv("MEMORY_LIBRARY"), &why)) {
		print_error("%s\n", why.what);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
