// SPDX-License-Identifier: Apache-2.0
/* 900 frames of deep() (or as many as the second argument says) below main; deep_leaf() spins. */
#include "program.h"

KEPT static void deep_leaf(void)
{
	while (!program_over())
		spin(MILLISECOND);
}

KEPT static void deep(int frames)
{
	if (frames > 1)
		deep(frames - 1);
	else
		deep_leaf();
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	deep(argc > 2 ? atoi(argv[2]) : 900);
	return 0;
}
