// SPDX-License-Identifier: Apache-2.0
/* ask_time asks the clock all the time: most samples are in the vDSO. */
#include "program.h"

KEPT static void ask_time(void)
{
	struct timespec now;

	for (int i = 0; i < 100000; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	while (!program_over())
		ask_time();
	return 0;
}
