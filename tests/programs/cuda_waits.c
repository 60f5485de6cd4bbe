// SPDX-License-Identifier: Apache-2.0
/*
 * Waits for a device that cuda_driver.c stands for: on a CPU in cuCtxSynchronize(), and asleep in
 * cuStreamSynchronize().
 */
#include "cuda_driver.h"
#include "program.h"

KEPT static void work(void)
{
	for (int i = 0; i < 4; i++)
		cuCtxSynchronize();
	cuStreamSynchronize(NULL);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	while (!program_over())
		work();
	return 0;
}
