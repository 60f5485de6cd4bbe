// SPDX-License-Identifier: Apache-2.0
/* 40 frames of sized(), each of another size that only run time knows; alloca_leaf() spins. */
#include <alloca.h>
#include <string.h>

#include "program.h"

KEPT static void alloca_leaf(char *bytes)
{
	NO_TAIL_CALL();
	bytes[0] = 1;
	while (!program_over())
		spin(MILLISECOND);
}

KEPT static void sized(int frames)
{
	char *bytes = alloca((size_t)(frames * 37 % 400 + 16));

	memset(bytes, frames, 16);
	if (frames > 1)
		sized(frames - 1);
	else
		alloca_leaf(bytes);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	sized(40);
	return 0;
}
