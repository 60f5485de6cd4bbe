// SPDX-License-Identifier: Apache-2.0
/*
 * run_code calls code in anonymous memory, without unwind tables, that spins with the second
 * argument in rbp: zero, as the outermost frame has it, or any other value that is not a frame
 * pointer.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "program.h"

static uint8_t code[] = {
	0x55,			      /* push %rbp */
	0xbd, 0x00, 0x00, 0x00, 0x00, /* mov $…, %ebp */
	0x48, 0xff, 0xcf,	      /* 1: dec %rdi */
	0x75, 0xfb,		      /* jnz 1b */
	0x5d,			      /* pop %rbp */
	0xc3,			      /* ret */
};

KEPT static void run_code(const void *memory)
{
	void (*function)(unsigned long turns);

	*(const void **)&function = memory;
	while (!program_over())
		function(MILLISECOND);
}

int main(int argc, char **argv)
{
	uint32_t rbp = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	void *memory;

	program_begin(argc, argv);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memcpy(&code[2], &rbp, sizeof(rbp));
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		return 1;
	program_ready();
	run_code(memory);
	return 0;
}
