// SPDX-License-Identifier: Apache-2.0
/*
 * Loads the code of its first argument onto a device that cuda_driver.c stands for, and launches
 * its kernels as often as the second one says: axpy from one(), axpy from two(), three times as
 * often, and negate from three(). The third argument: ms between the rounds. At the end it prints
 * how many samples of instructions the profiling library has made of each kernel, and those that it
 * has dropped.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cuda_driver.h"
#include "program.h"

static const struct driver_kernel axpy = {"axpy", 40000}, negate = {"negate", 10000};

static void launch(const struct driver_kernel *kernel)
{
	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
		exit(1);
}

KEPT static void one(void)
{
	launch(&axpy);
	NO_TAIL_CALL();
}

KEPT static void two(void)
{
	for (int i = 0; i < 3; i++)
		launch(&axpy);
	NO_TAIL_CALL();
}

KEPT static void three(void)
{
	launch(&negate);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1, ms = argc > 3 ? atoi(argv[3]) : 0;
	const struct timespec pause = {0, ms * 1000000l};
	struct driver_truth truth;
	void *module, *context;

	if (argc < 2 || cuInit(0) || cuCtxCreate_v2(&context, 0, 0) ||
	    cuModuleLoad(&module, argv[1]))
		return 1;
	for (int i = 0; i < rounds; i++) {
		one();
		two();
		three();
		nanosleep(&pause, NULL);
	}
	driver_truth_of(&truth);
	printf("%" PRIu64 " %" PRIu64 "\n", truth.samples[0], truth.samples[1]);
	return 0;
}
