// SPDX-License-Identifier: Apache-2.0
/*
 * Spends its time in f70, f20 and f10 as their names say. All three run the same loop; what differs
 * is the number of turns, so the split holds by construction on any machine. The rounds vary in
 * length so that they don't fall in step with the sampling.
 */
#include "program.h"

KEPT static void f70(unsigned long unit)
{
	spin(7 * unit);
}

KEPT static void f20(unsigned long unit)
{
	spin(2 * unit);
}

KEPT static void f10(unsigned long unit)
{
	spin(unit);
}

KEPT static void work(void)
{
	unsigned long seed = 1;

	while (!program_over()) {
		unsigned long unit;

		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		unit = 2 * MILLISECOND + (seed >> 33) % (2 * MILLISECOND);
		f70(unit);
		f20(unit);
		f10(unit);
	}
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	work();
	return 0;
}
