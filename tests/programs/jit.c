// SPDX-License-Identifier: Apache-2.0
/*
 * Like a JIT compiler: writes code into anonymous memory (with frame pointers, without unwind
 * tables) and names it in /tmp/perf-PID.map, which stays when it ends, as theirs do. run_jitted
 * calls jit_outer, which calls jit_alpha, which spins. With "nomap" as the second argument there is
 * no map.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit_code.h"
#include "program.h"

enum {
	OUTER_AT = 0x40,
	ALPHA_AT = 0x80,
	CODE_SIZE = 4096
};

KEPT static void run_jitted(uint8_t *code)
{
	jitted *function;

	*(void **)&function = code + OUTER_AT;
	while (!program_over())
		function(MILLISECOND, code + ALPHA_AT);
}

int main(int argc, char **argv)
{
	uint8_t *code =
		mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	program_begin(argc, argv);
	if (code == MAP_FAILED)
		return 1;
	memcpy(code + OUTER_AT, outer, sizeof(outer));
	memcpy(code + ALPHA_AT, spinner, sizeof(spinner));
	if (mprotect(code, CODE_SIZE, PROT_READ | PROT_EXEC))
		return 1;
	if (argc < 3 || strcmp(argv[2], "nomap") != 0) {
		char path[64];
		FILE *map;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		map = fopen(path, "w");
		if (!map) {
			perror(path);
			return 1;
		}
		fprintf(map, "%lx %zx jit_outer\n", (unsigned long)(code + OUTER_AT),
			sizeof(outer));
		fprintf(map, "%lx %zx jit_alpha\n", (unsigned long)(code + ALPHA_AT),
			sizeof(spinner));
		fclose(map);
	}
	program_ready();
	run_jitted(code);
	return 0;
}
