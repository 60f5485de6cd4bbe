// SPDX-License-Identifier: Apache-2.0
/*
 * Like a JIT compiler that tells of its code in a jitdump, FOLDER/jit-PID.dump: jitdump SECONDS
 * FOLDER [MODE]. run_jitted calls jit_outer, which calls what spins, with frame pointers and
 * without unwind tables. The dump stays when it ends, as theirs do. Modes:
 *
 *     plain  jit_alpha, with lines 10 and 20 of made_up.src
 *     reuse  jit_first for some time, then jit_second at the very same place; says how often each
 *     ran move   jit_mover, which lies elsewhere in the second half
 *     fork   a child runs jit_alpha; its parent then tells that jit_other lies there
 */
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit_code.h"
#include "program.h"

enum {
	OUTER_AT = 0x40,
	HERE = 0x80,
	THERE = 0xc0,
	LOOP = 4, /* in the spinner */
	CODE_SIZE = 4096,
	LOAD = 0,
	MOVE = 1,
	DEBUG_INFO = 2,
};

/* tools/perf/Documentation/jitdump-specification.txt */
struct header {
	uint32_t magic, version, size, machine, reserved, pid;
	uint64_t time, flags;
};

struct record {
	uint32_t id, size;
	uint64_t time;
};

struct load {
	uint32_t pid, tid;
	uint64_t memory, start, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t memory, old_start, new_start, size, index;
};

struct line {
	uint64_t address;
	uint32_t line, column;
};

static FILE *dump;
static uint64_t last_index;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put_record(uint32_t id, size_t size)
{
	struct record record = {id, (uint32_t)(sizeof(record) + size), now()};

	fwrite(&record, sizeof(record), 1, dump);
}

static void told(void)
{
	if (fflush(dump)) {
		perror("jitdump");
		exit(1);
	}
}

static void tell_of_lines(const uint8_t *code)
{
	static const char file[] = "made_up.src";
	struct line lines[] = {
		{(uint64_t)(uintptr_t)code, 10, 0},
		{(uint64_t)(uintptr_t)code + LOOP, 20, 0},
	};
	uint64_t head[] = {(uint64_t)(uintptr_t)code, 2};

	put_record(DEBUG_INFO, sizeof(head) + sizeof(lines) + 2 * sizeof(file));
	fwrite(head, sizeof(head), 1, dump);
	for (int i = 0; i < 2; i++) {
		fwrite(&lines[i], sizeof(lines[i]), 1, dump);
		fwrite(file, sizeof(file), 1, dump);
	}
}

static void tell_of_load(const uint8_t *code, size_t size, const char *name)
{
	uint64_t at = (uint64_t)(uintptr_t)code;
	struct load load = {(uint32_t)getpid(), (uint32_t)getpid(), at, at, size, ++last_index};

	put_record(LOAD, sizeof(load) + strlen(name) + 1 + size);
	fwrite(&load, sizeof(load), 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, size, 1, dump);
	told();
}

static void tell_of_move(const uint8_t *from, const uint8_t *to, size_t size)
{
	uint64_t at = (uint64_t)(uintptr_t)to;
	struct move move = {
		(uint32_t)getpid(), (uint32_t)getpid(), at, (uint64_t)(uintptr_t)from, at, size,
		last_index};

	put_record(MOVE, sizeof(move));
	fwrite(&move, sizeof(move), 1, dump);
	told();
}

/* The dump is mapped executable: that is how it is found. */
static void open_dump(const char *folder)
{
	struct header header = {0x4a695444, 1, sizeof(header), EM_X86_64, 0, (uint32_t)getpid(),
				now(),	    0};
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	dump = fopen(path, "w+");
	if (!dump) {
		perror(path);
		exit(1);
	}
	fwrite(&header, sizeof(header), 1, dump);
	told();
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
}

static uint8_t *write_code(uint8_t *to, const uint8_t *code, size_t size)
{
	uint8_t *page = (uint8_t *)((uintptr_t)to & ~(uintptr_t)(CODE_SIZE - 1));

	if (mprotect(page, CODE_SIZE, PROT_READ | PROT_WRITE))
		exit(1);
	memcpy(to, code, size);
	if (mprotect(page, CODE_SIZE, PROT_READ | PROT_EXEC))
		exit(1);
	return to;
}

KEPT static unsigned long run_jitted(uint8_t *code, const uint8_t *callee)
{
	unsigned long count = 0;
	jitted *function;

	*(void **)&function = code + OUTER_AT;
	for (; !program_over(); count++)
		function(MILLISECOND, callee);
	return count;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "plain";
	uint8_t *code =
		mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long first, second;
	int status = 0;
	pid_t child;

	program_begin(argc, argv);
	if (code == MAP_FAILED || argc < 3)
		return 1;
	open_dump(argv[2]);
	write_code(code + OUTER_AT, outer, sizeof(outer));
	tell_of_load(code + OUTER_AT, sizeof(outer), "jit_outer");
	write_code(code + HERE, spinner, sizeof(spinner));
	if (!strcmp(mode, "plain") || !strcmp(mode, "fork")) {
		tell_of_lines(code + HERE);
		tell_of_load(code + HERE, sizeof(spinner), "jit_alpha");
		program_ready();
		if (!strcmp(mode, "plain")) {
			run_jitted(code, code + HERE);
			return 0;
		}
		child = fork();
		if (!child) {
			run_jitted(code, code + HERE);
			_exit(0);
		}
		/* when a process began is known to a hundredth of a second */
		usleep(50000);
		tell_of_load(code + HERE, sizeof(spinner), "jit_other");
		return waitpid(child, &status, 0) != child || status;
	}
	tell_of_load(code + HERE, sizeof(spinner),
		     strcmp(mode, "reuse") ? "jit_mover" : "jit_first");
	program_ready();
	first = run_jitted(code, code + HERE);
	program_begin(argc, argv);
	if (!strcmp(mode, "reuse")) {
		write_code(code + HERE, spinner, sizeof(spinner));
		tell_of_load(code + HERE, sizeof(spinner), "jit_second");
		second = run_jitted(code, code + HERE);
	} else {
		write_code(code + THERE, spinner, sizeof(spinner));
		tell_of_move(code + HERE, code + THERE, sizeof(spinner));
		second = run_jitted(code, code + THERE);
	}
	printf("turns %lu %lu\n", first, second);
	return 0;
}
