// SPDX-License-Identifier: Apache-2.0
/*
 * tail_outer calls tail_first, whose call of tail_second is a jump: the stack truly is
 * main, tail_outer, tail_second, and tail_first isn't on it.
 */
#include "program.h"

KEPT static int tail_second(int value)
{
	spin(MILLISECOND);
	return value + 1;
}

KEPT static int tail_first(int value)
{
	return tail_second(value * 3);
}

KEPT static int tail_outer(void)
{
	int value = 0;

	while (!program_over())
		value += tail_first(value);
	return value;
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	return tail_outer() == 12345;
}
