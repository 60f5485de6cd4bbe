// SPDX-License-Identifier: Apache-2.0
/*
 * main, before_assembly, a function written in assembly without unwind tables, after_assembly.
 * Second argument: "fp" (the assembly keeps a frame pointer: the way back is known, by a guess),
 * "bare" (it does not: the true answer is a cut stack, not an invented one), "rounded" and "stored"
 * (it rounds its stack down), "unnamed" (nothing tells where it begins).
 */
#include <string.h>

#include "program.h"

void nocfi_with_frame_pointer(void (*function)(void));
void nocfi_bare(void (*function)(void));
void nocfi_rounded(void (*function)(void));
void nocfi_stored(void (*function)(void));
extern void (*const nocfi_unnamed)(void (*function)(void));

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
	const struct {
		const char *name;
		void (*function)(void (*function)(void));
	} kinds[] = {
		{"fp", nocfi_with_frame_pointer}, {"bare", nocfi_bare},
		{"rounded", nocfi_rounded},	  {"stored", nocfi_stored},
		{"unnamed", nocfi_unnamed},
	};
	size_t kind = sizeof(kinds) / sizeof(*kinds) - 1;

	while (kind && (argc < 3 || strcmp(argv[2], kinds[kind].name) != 0))
		kind--;
	program_begin(argc, argv);
	program_ready();
	before_assembly(kinds[kind].function);
	return 0;
}
