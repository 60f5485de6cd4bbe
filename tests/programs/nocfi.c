// SPDX-License-Identifier: Apache-2.0
/*
 * main, before_assembly, a function written in assembly without unwind tables, after_assembly. Second
 * argument: "fp" (the assembly keeps a frame pointer: the way back is known, by a guess), "bare" (it
 * does not: the true answer is a cut stack, not an invented one).
 */
#include <string.h>

#include "program.h"

void nocfi_with_frame_pointer(void (*function)(void));
void nocfi_bare(void (*function)(void));

KEPT static void after_assembly(void)
{
	while (!program_over())
		spin(MILLISECOND);
}

KEPT static void before_assembly(void (*assembly)(void (*)(void)))
{
	assembly(after_assembly);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	int bare = argc > 2 && !strcmp(argv[2], "bare");

	program_begin(argc, argv);
	program_ready();
	before_assembly(bare ? nocfi_bare : nocfi_with_frame_pointer);
	return 0;
}
