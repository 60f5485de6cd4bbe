// SPDX-License-Identifier: Apache-2.0
/* Calls `indirect`, an IFUNC that resolves to ifunc_chosen, which spins. */
#include "program.h"

void indirect(void);

KEPT static void ifunc_chosen(void)
{
	spin(MILLISECOND);
}

KEPT static void ifunc_other(void)
{
	spin(1);
}

__attribute__((used)) static void (*resolve_indirect(void))(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse2") ? ifunc_chosen : ifunc_other;
}

void indirect(void) __attribute__((ifunc("resolve_indirect")));

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	while (!program_over())
		indirect();
	return 0;
}
